"""Reader of manual pages (roff with the man or mdoc macros): headings, paragraphs and tags as Markdown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile

from hlgraph.errors import ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean_title, decode
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Document

_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^\]]*\]|\(..|.)|s(?:[+-]?\d+|\[[^\]]*\])|[mMFkR](?:\[[^\]]*\]|\(..|.)|[hvwDlLoNbzx]'[^']*'|\*?\[([^\]]*)\]|\*?\((..)"
    r"|\*(.)|n(?:\[[^\]]*\]|\(..|.)|(.|$))",
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# fmt: off
_SIGNS = {
    "em": "—", "en": "–", "hy": "-", "mi": "-", "aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "bu": "•",
    "co": "©", "rg": "®", "tm": "™", "ha": "^", "ti": "~", "rs": "\\", "ga": "`", "->": "→", "<-": "←", "de": "°", "mu": "×",
    "la": "<", "ra": ">", 'L"': "“", 'R"': "”", "C'": "'", "C`": "`", "bv": "|", "ss": "ß", "S": "®", "Tm": "™",
}
# fmt: on
_ONE = {"-": "-", "e": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "'": "'", "`": "`", "\\": "\\", ".": ".", '"': ""}
_BREAKS = _names("PP P LP sp TP IP HP RS RE nf fi Pp It Bl El Bd Ed EX EE in ti ad na ta")
_BULLET = re.compile(r"[•*o-]|\d{1,3}[.)]")  # of an item
_TAG, _AS_IS = "\1", "\2"  # before what names an item, and before a line that is not filled
_FORM = re.compile(r"[lrcnasLRCNAS^][^lrcnasLRCNAS^\s|,]*")  # of a column
_UNFILLED, _REFILLED = _names("nf EX Bd"), _names("fi EE Ed")
_FONTS = _names("B I BI BR IB IR RB RI SM SB")
_DROPPED = _names("de de1 am ig")
_INLINE = _names(
    "Ns Ar Op Cm Pa Nm Sy Em Li Ic Va Vt Fa Fn Ft Ev Er Dv Oo Oc Ao Ac Bo Bc Do Dc Po Pc Qo Qc So Sc Xo Xc An Aq Bq Brq Dq Pq Ql "
    "Qq Sq Tn Ux Lk Mt No Bf Ef Ap Sm D1 Dl"
)


def read_man(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a manual page: ``# `` headings, paragraphs and the tags of its lists, without fonts and layout.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the encoding

    Raises
    ------
    ReadError
        The file is not text, or holds no text between its macros.
    """
    source, warnings = decode(origin, data, encoding=options.encoding)
    lines = [*_lines(source, Produced(origin, len(data), options.max_bytes))]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(_filled(lines))).strip()
    if not text:
        raise ReadError(origin.uri, "is empty: it holds macros alone", "read it with --format text to keep all of it")
    named = re.search(r"^[.']\s*(?:TH|Dt)\s+(.+)$", source, re.MULTILINE)
    words = _words(named[1]) if named else []
    is_section = len(words) > 1 and re.fullmatch(r"\d\w{0,9}|[ln]", words[1]) is not None
    title = f"{words[0].lower()}({words[1]})" if is_section else words[0] if words else origin.stem
    return Document(origin.uri, text, clean_title(title), warnings=warnings)


def _lines(source: str, produced: Produced) -> Iterator[str]:
    """The lines of the text, an empty one at the end of a paragraph, with signs before tags and lines that are not filled."""
    skipped = ""  # the macro that ends the skipped lines; blanks may precede its name
    is_filled, is_tag = True, False
    lines = iter(source.splitlines())
    for line in lines:
        is_macro = line[:1] in (".", "'")
        name, _, rest = line[1:].lstrip().partition(" ") if is_macro else ("", "", "")
        if skipped:
            skipped = "" if is_macro and name == skipped else skipped
        elif name in _DROPPED:
            named = rest.split()[0 if name == "ig" else 1 :]
            skipped = named[0] if named else "."
        elif name == "TS":
            yield from ("", _table(takewhile(lambda each: not re.match(r"[.']\s*TE\b", each), lines), produced), "")
        else:
            if name in _UNFILLED or name in _REFILLED:
                is_filled = name in _REFILLED
            for text in _macro(name, rest) if is_macro else [_plain(line).strip()]:
                sign = _TAG if is_tag else "" if is_filled or text[:1] in ("#", _TAG) else _AS_IS
                yield f"{sign}{text}" if text else ""
                is_tag = is_tag and not text
            is_tag = is_tag or name in ("TP", "TQ")


def _filled(lines: Iterable[str]) -> Iterator[str]:
    """The lines with those of a paragraph joined, and an item with what names it in front: ``- --keep: Keep finished jobs.``."""
    tag, words = "", list[str]()
    for line, below in _with_next(chain(lines, [""])):
        is_tag = line.startswith(_TAG)
        if not line and not words and tag.startswith("-") and below.startswith(f"{_TAG}-"):
            continue  # two names of an option
        if line and not is_tag and line[0] not in ("#", "|", _AS_IS):
            words.append(line)
            continue
        if is_tag and tag and not words:
            tag = f"{tag}, {line[1:]}"
            continue
        if tag or words:
            body = " ".join(words)
            mark = "-" if not tag[:1].isdigit() else tag
            named = f"- {tag}: {body}".rstrip(": ")
            yield (f"{mark} {body}" if _BULLET.fullmatch(tag) else named) if tag else body
        tag, words = line[1:] if is_tag else "", []
        if not is_tag:
            yield line.removeprefix(_AS_IS)


def _with_next(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each line with the next one that is not empty."""
    every = [*lines]
    following = [""] * len(every)
    for at in range(len(every) - 2, -1, -1):
        following[at] = every[at + 1] or following[at + 1]
    return zip(every, following, strict=True)


def _table(source: Iterable[str], produced: Produced) -> str:
    """A table of tbl as Markdown. Its header is the row above the first line, or the first one if all of it is bold.

    References
    ----------
    M. E. Lesk, "Tbl - A Program to Format Tables".
    """
    lines = iter(source)
    line = next(lines, "")
    sign = "\t"
    if line.rstrip().endswith(";"):
        named = re.search(r"tab\s*\(?(.)\)?", line)
        sign, line = named[1] if named else sign, next(lines, "")
    forms: list[list[str]] = []
    while line:
        forms += [_FORM.findall(part) for part in line.split(",") if _FORM.search(part)]
        if line.rstrip().endswith("."):
            break
        line = next(lines, "")
    rows: list[list[Cell]] = []
    heads = 0
    for line in lines:
        if line.strip() in ("_", "="):
            heads = heads or len(rows)
        elif not line.startswith(".") or line[1:2].isdigit():
            rows.append(_row(_texts(line, lines, sign), forms[min(len(rows), len(forms) - 1)] if forms else []))
    is_bold = bool(forms) and all(re.search("[bB]", form) for form in forms[0])
    heads = heads if 0 < heads < len(rows) else int(is_bold)
    marked = [
        [cell._replace(is_head=at < heads or not (heads or cell.column)) for cell in row] for at, row in enumerate(rows)
    ]
    return Grid(marked, produced=produced).markdown()


def _texts(line: str, lines: Iterator[str], sign: str) -> list[str]:
    """The cells of a row; one between T{ and T} has several lines."""
    texts: list[str] = []
    parts = line.split(sign)
    while parts:
        part = parts.pop(0)
        if part.strip() == "T{" and not parts:
            inner: list[str] = []
            for below in lines:
                if below.startswith("T}"):
                    parts = below[2:].split(sign)[1:]
                    break
                inner.append(below)
            part = " ".join(each for each in inner if each[:1] not in (".", "'"))
        texts.append(" ".join(_plain(part).split()))
    return texts


def _row(texts: Sequence[str], forms: Sequence[str]) -> list[Cell]:
    cells: list[Cell] = []
    at = 0
    for number, text in enumerate(texts):
        width = 1
        while at + width < len(forms) and forms[at + width][0] in "sS" and len(texts) - number < len(forms) - at:
            width += 1
        cells.append(Cell(text, width, column=at))
        at += width
    return cells


def _macro(name: str, rest: str) -> Iterator[str]:
    words = _words(rest)
    if name in ("SH", "Sh", "SS", "Ss"):
        yield from ("", f"{'#' if name in ('SH', 'Sh') else '##'} {' '.join(words)}", "")
    elif name in _FONTS:
        yield ("" if len(name) == 2 and name not in ("SM", "SB") else " ").join(words)
    elif name in _BREAKS:
        yield ""
        if name in ("IP", "It") and words:
            yield _TAG + _running(words[:1] if name == "IP" else words)
    elif name in ("UR", "MT", "TP", "Nd", "Xr", "Fl", "Ar", "Op") or name in _INLINE:
        yield f"— {' '.join(words)}" if name == "Nd" else _running([name, *words])


def _running(words: list[str]) -> str:
    """The words of an mdoc inline macro, without the names of nested macros."""
    kept: list[str] = []
    sign = ""
    for at, word in enumerate(words):
        if word == "Fl":
            sign = "-"
        elif word == "Xr":
            if len(words) > at + 2:
                words[at + 2] = f"({words[at + 2]})"
        elif word not in _INLINE and word not in ("Op", "Ar", "UR", "MT"):
            kept.append(sign + word)
            sign = ""
    return re.sub(r" \((\d\w*)\)", r"(\1)", " ".join(kept))


def _words(rest: str) -> list[str]:
    """The arguments of a macro; double quotes group words into one."""
    lexer = shlex.shlex(rest, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape, lexer.quotes = True, "", "", '"'
    try:
        words = list(lexer)
    except ValueError:  # an unclosed quote
        words = rest.split()
    return [_plain(word) for word in words if _plain(word)]


def _plain(text: str) -> str:
    r"""Text without escapes.

    Examples
    --------
    >>> _plain(r"\fBcargo\-clean\fR \[em] it\(aqs \e")
    "cargo-clean — it's \\"
    """
    return _ESCAPE.sub(_sign, text.partition('\\"')[0]) if "\\" in text else text


def _sign(match: re.Match[str]) -> str:
    long, pair, star, one = match.groups()
    if long is not None:
        unicode = re.fullmatch(r"u([0-9A-F]{4,6})", long)
        return chr(int(unicode[1], 16)) if unicode and int(unicode[1], 16) < 0x110000 else _SIGNS.get(long, "")
    if pair is not None or star is not None:
        return _SIGNS.get(pair or star, "")
    return _ONE.get(one, "") if one is not None else ""


FORMAT = FileFormat("man", suffixes=(".man", ".mdoc"), read=read_man)
