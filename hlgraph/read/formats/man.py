"""Reader of manual pages (roff with the man or mdoc macros): headings, paragraphs and tags as Markdown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from hlgraph.errors import ReadError
from hlgraph.read.content import Origin, clean_title, decode
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
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
_BREAKS = _names("PP P LP sp TP TQ IP HP RS RE nf fi Pp It Bl El Bd Ed EX EE in ti ad na ta")
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
    lines = [*_lines(source)]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    if not text:
        raise ReadError(origin.uri, "is empty: it holds macros alone", "read it with --format text to keep all of it")
    named = re.search(r"^[.']\s*(?:TH|Dt)\s+(.+)$", source, re.MULTILINE)
    words = _words(named[1]) if named else []
    title = f"{words[0].lower()}({words[1]})" if len(words) > 1 else origin.stem
    return Document(origin.uri, text, clean_title(title), warnings=warnings)


def _lines(source: str) -> Iterator[str]:
    """The lines of the text, with an empty line at the end of each paragraph."""
    skipped = ""  # the macro that ends the skipped lines; blanks may precede its name
    for line in source.splitlines():
        if skipped:
            if line[:1] in (".", "'") and line[1:].split(maxsplit=1)[:1] == [skipped]:
                skipped = ""
            continue
        if line[:1] not in (".", "'"):
            yield _plain(line).strip()
            continue
        name, _, rest = line[1:].lstrip().partition(" ")
        if name in _DROPPED:
            named = rest.split()[0 if name == "ig" else 1 :]
            skipped = named[0] if named else "."
        elif name == "TS":
            skipped = "TE" if "T{" in rest else ""
        else:
            yield from _macro(name, rest)


def _macro(name: str, rest: str) -> Iterator[str]:
    words = _words(rest)
    if name in ("SH", "Sh", "SS", "Ss"):
        yield from ("", f"{'#' if name in ('SH', 'Sh') else '##'} {' '.join(words)}", "")
    elif name in _FONTS:
        yield ("" if len(name) == 2 and name not in ("SM", "SB") else " ").join(words)
    elif name in _BREAKS:
        yield ""
        if name in ("IP", "It") and words:
            yield _running(words[:1] if name == "IP" else words)
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
