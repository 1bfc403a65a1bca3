"""Reads paths into a stream of documents.

Formats: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, EPUB, OpenDocument, RTF, mail, subtitles, notebooks, JATS, TEI,
reStructuredText, AsciiDoc, Org, LaTeX, wikitext, pages of manuals, CSV, JSON, JSON lines, Parquet and Arrow, each optionally
gzipped. Sources: files, folders, globs, S3 objects, results of SQL queries and standard input. A source or row
that cannot be read becomes a :class:`ReadFailure` in the stream; reading continues with the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlgraph.read import formats
from hlgraph.read.content import ReadFailure, covering, inadmissible, is_covered, unheard_groups
from hlgraph.read.discover import covered, source_uri
from hlgraph.read.options import ReadOptions
from hlgraph.read.outcomes import Files
from hlgraph.read.stream import read

if TYPE_CHECKING:
    from hlgraph.read.formats import FORMATS

__all__ = [
    "FORMATS",
    "Files",
    "ReadFailure",
    "ReadOptions",
    "covered",
    "covering",
    "inadmissible",
    "is_covered",
    "read",
    "source_uri",
    "unheard_groups",
]


def __getattr__(name: str) -> object:
    """``FORMATS``, whose readers are imported at first use."""
    if name == "FORMATS":
        return formats.FORMATS
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
