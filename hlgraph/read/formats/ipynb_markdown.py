"""Readers of Markdown (without front matter and hidden HTML, with bars around rows of tables) and of Jupyter notebooks.

The title of a Markdown file comes from the front matter, else from the first heading, else from the stem of the file name.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby

import msgspec
import yaml

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean, clean_title, decode, parser_errors
from hlgraph.read.formats._blocks import Unread, code, document_of, heading
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import metadata_of
from hlgraph.records import Document, MetadataValue
from hlgraph.text import is_separator, plain

_FRONT_MATTER = re.compile(
    r"\s*^(?:---[ \t]*\n(?P<yaml>.{0,65536}?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>.{0,65536}?)^\+\+\+)[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_FENCE = re.compile(r" {0,3}(```|~~~)")
_CODE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)|(?<!`)(`{1,3})(?!`)[^`\n]{1,500}\2", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r" {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*")
_PICTURE = re.compile(r"!\[[^\[\]\n]{0,300}\]\([^()\n]{0,1000}\)(?!\])")
_HIDDEN = re.compile(r"<(!--|(?:svg|style|script)\b)", re.IGNORECASE)
_DRAWN = re.compile(r"\+(?:[-=:]+\+)+|\|?[-=]+(?:\+[-=]+)+\|?")
_DASHES = re.compile(r"[ \t]*(?:-{2,}(?: +-{2,})+|={2,}(?: +={2,})+)[ \t]*")
_LONG_DASH = re.compile(r"[ \t]*-{5,}[ \t]*")
_END_OF_COLUMNS = re.compile(rf"\s*|{_DASHES.pattern}|{_LONG_DASH.pattern}")
_DEFINITION = re.compile(r" {0,3}:[ \t]+(?=\S)")
_TERM = re.compile(
    r"(?! {0,3}(?:#|\||>|[-+*]\s|[-=*~_]{3,}\s*$|\d{1,3}[.)]\s))"
)  # no heading, row, quotation, item or rule
_MOST_LABELS = 4  # lines of a header
_HTML_HEADING = re.compile(r" {0,8}<h1(?:\s[^<>]{0,300})?>(.{1,1000}?)</h1>[ \t]*", re.IGNORECASE | re.DOTALL)


def read_markdown(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a Markdown file; its text begins after the front matter, which becomes metadata.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the encoding

    Raises
    ------
    ReadError
        The file is not text, holds nothing after the front matter, or the front matter is neither YAML nor TOML, or too large.
    """
    whole, warnings = decode(origin, data, encoding=options.encoding)
    match = _FRONT_MATTER.match(whole)
    front, flaws = _front_matter(origin, match) if match else (None, ())
    text = without_note_marks(whole[match.end() :] if match and front is not None else whole)
    text = with_definitions(with_drawn_tables(shown(text)))
    if not text.strip():
        raise ReadError(origin.uri, "is empty: there is no text after its front matter")
    try:
        metadata = metadata_of(front or {})
    except ValueError as error:
        raise ReadError(origin.uri, f"its front matter {error}") from error
    title = "" if isinstance(metadata.get("title"), tuple) else str(metadata.pop("title", ""))
    return Document(
        uri=origin.uri,
        text=text,
        title=clean_title(title) or first_heading(text) or clean_title(origin.stem),
        metadata=metadata,
        warnings=(*warnings, *flaws),
    )


# Marks of programs for notes: Obsidian, Logseq, Notion, Roam.
_QUERY = re.compile(
    r"^ {0,3}(```|~~~)(?:dataview|tasks|query)\b.*\n(?:(?! {0,3}\1).*\n)*+ {0,3}\1[ \t]*$", re.MULTILINE
)
_UNSHOWN = re.compile(
    r"%%[^%\n]{1,999}%%|\(\([0-9a-f-]{36}\)\)|(?:^[ \t]*- )?\{\{(?:query|embed|renderer)\b[^\n{}]{0,500}\}\}"
    r"|^[ \t]*</?aside>[ \t]*$|(?<=\S) \^[a-zA-Z\d][\w-]{3,40}$|^[ \t]*(?:collapsed|id):: .*$"
    r"|^[ \t]*(?::LOGBOOK:|CLOCK: |:END:).*$|(?<=^- )#{1,6} |(?<=\t- )#{1,6} "
    r"|!\[\[[^\[\]\n]{1,200}\.(?i:gif|jpe?g|png|svg|webp)(?:\|[^\[\]\n]*)?\]\]",
    re.MULTILINE,
)
_WIKI_LINK = re.compile(r"!?\[\[(?=\S)(?:[^\[\]\n|\\]{1,300}\\?\|)?([^\[\]\n|]{1,300})\]\](?!\()")
_INLINE_FIELD = re.compile(r"\[(\w[\w -]{0,30}:): ([^\[\]\n]{1,200})\]|^(\w[\w -]{0,30}:): (?=\S)", re.MULTILINE)
_BOX_TITLE = re.compile(r"^(> ?\[!\w+\])[-+]?[ \t]++(.*[^\s:.!?])[ \t]*$", re.MULTILINE)
_BRIGHT = re.compile(r"(?<![=\w])==(?=[^\s=])([^=\n]{1,300})(?<=\S)==(?![=\w])")


def without_note_marks(text: str) -> str:
    """A text whose links between notes show their words, without queries, comments and ids. Code stays as it is.

    Examples
    --------
    >>> without_note_marks("rate:: 4\\nThe [[Old weir#Crest|crest]] is ==high==. %%ask%% ^a1b2")
    '- rate: 4\\nThe crest is high. '
    """
    text = _QUERY.sub("", text)
    parts: list[str] = []
    at = 0
    for span in (*_CODE.finditer(text), None):
        part = _UNSHOWN.sub("", text[at : span.start() if span else None])
        part = _WIKI_LINK.sub(lambda link: link[1].lstrip("#").replace("#", " > "), part)
        part = _INLINE_FIELD.sub(lambda field: f"{field[1]} {field[2]}" if field[1] else f"- {field[3]} ", part)
        part = _BOX_TITLE.sub(r"\1 \2:", part)
        parts += [_BRIGHT.sub(r"\1", part), span[0] if span else ""]
        at = span.end() if span else at
    return "".join(parts)


class _FrontMatter(yaml.SafeLoader):
    """Loads YAML; a date that does not exist stays text, and is noted in ``flaws``."""

    def __init__(self, block: str) -> None:
        super().__init__(block)
        self.flaws: list[str] = []

    def date(self, node: yaml.ScalarNode) -> object:
        """The date or time of a node, or its text."""
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError as error:
            self.flaws.append(f"its front matter has {node.value!r}, which is no date ({error}); kept as text")
            return node.value


_FrontMatter.add_constructor("tag:yaml.org,2002:timestamp", _FrontMatter.date)


def _front_matter(origin: Origin, match: re.Match[str]) -> tuple[Mapping[str, object] | None, tuple[str, ...]]:
    """The mapping between two ``---`` or ``+++`` lines and the flaws in it; None if they enclose text instead of a mapping."""
    if match["yaml"] is None:
        with parser_errors(origin.uri, "TOML", part="its front matter", mend="correct it"):
            return tomllib.loads(match["toml"]), ()
    block, loader = match["yaml"], None
    try:
        with parser_errors(origin.uri, "YAML", part="its front matter", mend="correct it"):
            loader = _FrontMatter(block)
            loaded: object = loader.get_single_data()
    finally:
        if loader is not None:
            loader.dispose()
    if not isinstance(loaded, dict):
        return None, ()
    return {str(key): value for key, value in loaded.items()}, tuple(loader.flaws)


_VERSION = re.compile(r"\[?(?:(?:[A-Za-z][\w.-]{0,30} )?[vV]?\d+(?:\.\w+)+|Unreleased)\]?(?: [-–—(\d].{0,30})?")


def first_heading(text: str) -> str:
    """The first heading outside fenced code that has words, as ``# `` or ``<h1>``, without markup; empty if there is none.

    A version above others, as in a list of changes, is no title.

    Examples
    --------
    >>> first_heading("```sh\\n# a comment\\n```\\n# The title #\\n")
    'The title'
    """
    fence = version = ""
    for line in _HTML_HEADING.sub(_on_one_line, text).splitlines():
        if opening := _FENCE.match(line):
            if fence in ("", opening.group(1)):
                fence = "" if fence else opening.group(1)
        elif not fence and (heading := _HEADING.fullmatch(line) or _HTML_HEADING.fullmatch(line)):
            words = clean(heading.group(1))
            if title := clean_title(plain(_PICTURE.sub("", words))) or clean_title(plain(words)):
                is_version = _VERSION.fullmatch(title) is not None
                if version or not is_version:
                    return "" if version and is_version else version or title
                version = title
    return version


def _on_one_line(match: re.Match[str]) -> str:
    return match[0].replace("\n", " ")


def shown(text: str) -> str:
    """The text without hidden HTML; a table whose rows do not begin with a bar gets bars around its rows. Code stays as it is.

    Examples
    --------
    >>> shown("<!-- a note -->Name | Port\\n--- | ---\\nalpha | 80")
    '| Name | Port |\\n| --- | --- |\\n| alpha | 80 |'
    """
    if "<" not in text and "|" not in text:
        return text
    lines: list[str] = []
    fence = ""
    rows = 0  # lines of the table so far
    for line in _without_hidden(text).split("\n"):
        if (opening := _FENCE.match(line)) and fence in ("", opening.group(1)):
            fence = "" if fence else opening.group(1)
        is_row = not fence and "|" in line and not line.lstrip().startswith("|")
        if rows or not is_row or not lines or not is_separator(line.strip()):
            rows = rows + 1 if rows and is_row else 0
        elif "|" in lines[-1] and not lines[-1].lstrip().startswith("|"):
            lines[-1], rows = _with_bars(lines[-1]), 1
        lines.append(_with_bars(line) if rows else line)
    return "\n".join(lines)


def with_drawn_tables(text: str) -> str:
    """A text whose tables that are drawn with dashes are those of Markdown: grids, output of databases, columns over dashes.

    A table with cells that span columns, and one in fenced code, stays as it is.

    Examples
    --------
    >>> print(with_drawn_tables("Part   Price\\n-----  -----\\nAxle    4.50\\nBig\\n"))
    | Part | Price |
    | --- | --- |
    | Axle | 4.50 |
    | Big |  |
    <BLANKLINE>
    """
    from hlgraph.read.content import markdown_rows

    if "---" not in text and "==" not in text:
        return text
    lines = text.split("\n")
    shown: list[str] = []
    at, fence = 0, ""
    while at < len(lines):
        if (mark := _FENCE.match(lines[at])) and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        rows, size = ([], 0) if fence else _drawn_rows(lines, at)
        size = size or 1
        shown += [markdown_rows(rows[0], rows[1:])] if rows else lines[at : at + size]
        at += size
    return "\n".join(shown)


def with_definitions(text: str) -> str:
    """A text whose definitions, which begin with a colon below their term, are indented paragraphs below it.

    Examples
    --------
    >>> with_definitions("Pump\\n:   Moves water.\\n\\n    It is red.")
    'Pump\\n\\n    Moves water.\\n\\n    It is red.'
    """
    if "\n:" not in text:
        return text
    shown: list[str] = []
    fence = last = ""  # the last line with words
    for line in text.split("\n"):
        if (mark := _FENCE.match(line)) and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        is_definition = (
            not fence and last != "" and _DEFINITION.match(line) is not None and _TERM.match(last) is not None
        )
        shown += [""] if is_definition and shown[-1].strip() else []
        shown.append(line.replace(":", " ", 1) if is_definition else line)
        last = line if line.strip() else last
    return "\n".join(shown)


def _drawn_rows(lines: Sequence[str], at: int) -> tuple[list[list[str]], int]:
    """The rows of the drawn table that begins at a line, none if it stays as it is, and the number of its lines."""
    is_rule = [_DRAWN.fullmatch(line.strip()) is not None for line in lines[at : at + 2]]
    if lines[at].strip() and True in is_rule:
        end = next(
            (end for end in range(at + 1, len(lines)) if not lines[end].strip() or not {"|", "+"} & {*lines[end]}),
            len(lines),
        )
        return _rows_of_grid([line.strip() for line in lines[at:end]]), end - at
    is_open = _DASHES.fullmatch(lines[at]) is not None or _LONG_DASH.fullmatch(lines[at]) is not None
    first = at + is_open
    below = range(first + 1, min(first + 1 + _MOST_LABELS, len(lines)))
    rule = next((number for number in below if _DASHES.fullmatch(lines[number])), first)
    if rule == first or not all(line.strip() for line in lines[first:rule]):
        return [], 0
    is_apart = _LONG_DASH.fullmatch(lines[at]) is not None  # blank lines between the rows
    last = _LONG_DASH if is_apart else _END_OF_COLUMNS
    end = next((number for number in range(rule + 1, len(lines)) if last.fullmatch(lines[number])), len(lines))
    starts = [match.start() for match in re.finditer(r"\S+", lines[rule])]
    heads = _cells_under(starts, lines[first:rule])
    body = _cells_under(starts, lines[rule + 1 : end])
    if not heads or not body or any(sum(map(bool, cells)) < 2 for cells in heads):
        return [], 0
    rows = [[" ".join(filter(None, texts)) for texts in zip(*heads, strict=True)]]
    is_new = True
    for cells in body:
        if any(cells) and (is_new or (cells[0] and not is_apart)):
            rows.append(cells)
        elif any(cells):
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        is_new = not any(cells)
    return rows, end + (end < len(lines) and lines[end].strip() != "") - at


def _cells_under(starts: Sequence[int], lines: Sequence[str]) -> list[list[str]]:
    """The cells of lines in columns that begin at places; none if a word stands in two of them."""
    wide = [line.expandtabs() for line in lines]
    edges = [slice(0, starts[0]), *(slice(start - 1, start) for start in starts[1:])]
    if any(line[edge].strip() for line in wide for edge in edges):
        return []
    return [
        [line[start:stop].strip() for start, stop in zip(starts, [*starts[1:], None], strict=True)] for line in wide
    ]


def _rows_of_grid(lines: Sequence[str]) -> list[list[str]]:
    """The rows of a table between lines of dashes; none if it has no header, or cells that span."""
    bar = lines[0][:1].replace("+", "|")  # a table of psql has none around its rows
    inside = [line if _is_drawn(line) or bar != "|" else line.removeprefix("|").removesuffix("|") for line in lines]
    parts = [[line.split("|") for line in part] for is_rule, part in groupby(inside, key=_is_drawn) if not is_rule]
    body = parts[1:]
    if len(parts) < 2 or len({len(cells) for part in parts for cells in part}) > 1:
        return []
    is_grid = len(body) > 1 or any("=" in line for line in lines if _is_drawn(line))
    rows = [parts[0], *(body if is_grid else ([cells] for cells in body[0]))]
    return [[" ".join(" ".join(texts).split()) for texts in zip(*row, strict=True)] for row in rows]


def _is_drawn(line: str) -> bool:
    return _DRAWN.fullmatch(line) is not None


def _with_bars(line: str) -> str:
    return f"{line[: len(line) - len(line.lstrip())]}| {line.strip()} |"


def _without_hidden(text: str) -> str:
    """The text without comments, drawings, styles and scripts in HTML; what is open or stands in code stays."""
    parts: list[str] = []
    at = 0
    code = [match.span() for match in _CODE.finditer(text)] if _HIDDEN.search(text) else []
    starts = [start for start, _ in code]
    unclosed: set[str] = set()
    while opening := _HIDDEN.search(text, at):
        place = bisect_right(starts, opening.start()) - 1
        name = opening[1].lower()
        closing = "-->" if name == "!--" else f"</{name}>"
        end = -1 if name in unclosed else text.find(closing, opening.end())
        if place >= 0 and opening.start() < code[place][1]:
            parts.append(text[at : code[place][1]])
            at = code[place][1]
        elif end < 0:
            unclosed.add(name)
            parts.append(text[at : opening.end()])
            at = opening.end()
        else:
            parts.append(text[at : opening.start()])
            at = end + len(closing)
    return "".join([*parts, text[at:]])


# Notebooks: text cells as they are, code cells and text that they printed as fenced code.


_OBJECT = re.compile(r"<[^<>\n]*>")  # what Python shows in place of a figure
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_TEXTS = ("text/markdown", "text/plain", "text/latex")
_OLD_KEYS = {
    "text": "text/plain",
    "latex": "text/latex",
    "html": "text/html",
    "png": "image/png",
    "svg": "image/svg+xml",
}


def read_ipynb(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a notebook of version 3 or 4.

    Parameters
    ----------
    origin : the file; its stem is the title if there is neither a title in the metadata nor a heading
    data : its bytes
    options : the encoding and the size limit

    Raises
    ------
    ReadError
        It is not JSON, not a notebook, or holds no text.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    try:
        book: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReadError(origin.uri, f"is not JSON ({error})", "open it in Jupyter and save it again") from error
    cells = list(_cells(book))
    if not isinstance(book, dict) or ("cells" not in book and "worksheets" not in book):
        raise ReadError(origin.uri, "is JSON, but not a notebook: it has no cells", "add --format json")
    about = _mapping(book.get("metadata"))
    language = _language(about, cells)
    unread = Unread()
    produced = Produced(origin, len(data), options.max_bytes)
    blocks = [block for cell in cells for block in _blocks(cell, language, unread, produced)]
    authors = tuple(clean(str(each.get("name"))) for each in map(_mapping, _listed(about.get("authors"))) if each)
    metadata: dict[str, MetadataValue] = {"language": clean(language), "author": authors}
    title = str(about.get("title") or "") or next(filter(None, map(first_heading, blocks)), "")
    return document_of(
        produced,
        blocks,
        title=clean_title(title),
        metadata=metadata,
        warnings=(*warnings, *unread.warnings()),
        part="none of its cells",
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _joined(value: object) -> str:
    """The text of a value that is a text or a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _cells(book: object) -> Iterator[Mapping[str, object]]:
    whole = _mapping(book)
    for sheet in (whole, *map(_mapping, _listed(whole.get("worksheets")))):
        yield from filter(None, map(_mapping, _listed(sheet.get("cells"))))


def _language(about: Mapping[str, object], cells: list[Mapping[str, object]]) -> str:
    named = _mapping(about.get("language_info")).get("name") or _mapping(about.get("kernelspec")).get("language")
    return str(named or next((cell["language"] for cell in cells if cell.get("language")), ""))


def _blocks(cell: Mapping[str, object], language: str, unread: Unread, produced: Produced) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "code":
        yield code(source, language)
        for output in map(_mapping, _listed(cell.get("outputs"))):
            yield from _output(output, unread, produced)
    elif kind == "heading":  # version 3
        level = cell.get("level")
        yield heading(source, level if isinstance(level, int) else 1)
    elif isinstance(kind, str):
        yield (shown(source) if kind == "markdown" else source).strip("\n")
    if cell.get("attachments"):
        unread["image attached to a cell"] += len(_mapping(cell["attachments"]))


def _output(output: Mapping[str, object], unread: Unread, produced: Produced) -> Iterator[str]:
    """The text of an output. Of several forms of one output, the first that is text counts; a table counts before its text."""
    if output.get("output_type") in ("stream", "error", "pyerr"):
        said = _joined(output.get("text")) or "\n".join(map(str, _listed(output.get("traceback"))))
        yield _printed(said or f"{output.get('ename', '')}: {output.get('evalue', '')}")
        return
    forms = {_OLD_KEYS.get(name, name): value for name, value in output.items()} | dict(_mapping(output.get("data")))
    text = next((name for name in _TEXTS if _joined(forms.get(name)).strip()), None)
    table = _table(_joined(forms.get("text/html")), produced) if text != "text/markdown" else ""
    is_drawn = any(name.startswith("image/") for name in forms)
    if table:
        yield f"Output:\n\n{table}"
    elif text == "text/markdown":
        yield _joined(forms[text]).strip("\n")
    elif text is not None and not (is_drawn and _OBJECT.fullmatch(_joined(forms[text]).strip())):
        yield _printed(_joined(forms[text]))
    shown = [name for name in forms if "/" in name and name not in _TEXTS]
    is_copy = text is not None and not any(name.startswith("image/") for name in shown)
    if shown and not is_copy:
        unread[f"output of type {shown[0]}"] += 1


def _table(page: str, produced: Produced) -> str:
    """The tables of an output as Markdown; empty without one, and if the reader of HTML is not installed."""
    if "<table" not in page:
        return ""
    with suppress(MissingExtraError, ImportError):
        from hlgraph.read.formats.html import main_text

        return main_text(produced.origin, page.encode(), encoding="utf-8", produced=produced, is_whole=True).text
    return ""


def _printed(text: str) -> str:
    body = code(_ANSI.sub("", text))
    return f"Output:\n\n{body}" if body else ""


FORMATS = (
    FileFormat("ipynb", suffixes=(".ipynb",), read=read_ipynb, mend="open it in Jupyter and save it again"),
    FileFormat("markdown", suffixes=(".markdown", ".md", ".qmd", ".rmd"), read=read_markdown),
)
