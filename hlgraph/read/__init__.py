"""From paths to a stream of documents.

Formats: text, Markdown, HTML, PDF, DOCX, CSV, JSON and JSON lines, each also gzipped; folders, globs, objects of
S3 and standard input. One bad source or row becomes a :class:`ReadFailure` in the stream; the others go on.
"""

from hlgraph.read.content import inadmissible
from hlgraph.read.failure import ReadFailure, is_covered
from hlgraph.read.formats import FORMATS
from hlgraph.read.options import ReadOptions
from hlgraph.read.stream import covered, read, source_uri

__all__ = ["FORMATS", "ReadFailure", "ReadOptions", "covered", "inadmissible", "is_covered", "read", "source_uri"]
