"""Reader of Markdown files: the text after the YAML front matter, without hidden HTML, with bars around each row of a table.

The title comes from the front matter, else from the first heading, else from the stem of the file name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

import yaml

from hlgraph.errors import ReadError
from hlgraph.read.content import Origin, clean, clean_title, decode, parser_errors
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import metadata_of
from hlgraph.records import Document
from hlgraph.text import is_separator, plain

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,65536}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r" {0,3}(```|~~~)")
_CODE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)|(?<!`)(`{1,3})(?!`)[^`\n]{1,500}\2", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r" {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*")
_PICTURE = re.compile(r"!\[[^\[\]\n]{0,300}\]\([^()\n]{0,1000}\)(?!\])")
_HIDDEN = re.compile(r"<(!--|(?:svg|style|script)\b)", re.IGNORECASE)
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
        The file is not text, holds nothing after the front matter, or the front matter is not YAML or too large.
    """
    whole, warnings = decode(origin, data, encoding=options.encoding)
    match = _FRONT_MATTER.match(whole)
    front, flaws = _front_matter(origin, match.group(1)) if match else (None, ())
    text = shown(whole[match.end() :] if match and front is not None else whole)
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


def _front_matter(origin: Origin, block: str) -> tuple[Mapping[str, object] | None, tuple[str, ...]]:
    """The mapping between two ``---`` lines and the flaws in it; None if they enclose text instead of a mapping."""
    loader = None
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


def first_heading(text: str) -> str:
    """The first heading outside fenced code that has words, as ``# `` or ``<h1>``, without markup; empty if there is none.

    Examples
    --------
    >>> first_heading("```sh\\n# a comment\\n```\\n# The title #\\n")
    'The title'
    """
    fence = ""
    for line in _HTML_HEADING.sub(_on_one_line, text).splitlines():
        if opening := _FENCE.match(line):
            if fence in ("", opening.group(1)):
                fence = "" if fence else opening.group(1)
        elif not fence and (heading := _HEADING.fullmatch(line) or _HTML_HEADING.fullmatch(line)):
            words = clean(heading.group(1))
            if title := clean_title(plain(_PICTURE.sub("", words))) or clean_title(plain(words)):
                return title
    return ""


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


FORMAT = FileFormat("markdown", suffixes=(".markdown", ".md", ".qmd", ".rmd"), read=read_markdown)
