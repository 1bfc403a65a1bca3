"""Reader of Markdown files: the text after the YAML front matter.

The title comes from the front matter, else from the first heading, else from the stem of the file name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from hlgraph.errors import ReadError
from hlgraph.read.content import Origin, clean, clean_title, decode, parser_errors
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import metadata_of
from hlgraph.records import Document

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,65536}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*")


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
    text = whole[match.end() :] if match and front is not None else whole
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
    """The first ``# `` heading outside fenced code; empty if there is none.

    Examples
    --------
    >>> first_heading("```sh\\n# a comment\\n```\\n# The title #\\n")
    'The title'
    """
    fence = ""
    for line in text.splitlines():
        if opening := _FENCE.match(line):
            if fence in ("", opening.group(1)):
                fence = "" if fence else opening.group(1)
        elif not fence and (heading := _HEADING.fullmatch(line)):
            return clean_title(clean(heading.group(1)))
    return ""


FORMAT = FileFormat("markdown", suffixes=(".markdown", ".md"), read=read_markdown)
