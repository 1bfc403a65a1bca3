"""Types of file formats: a name, the suffixes of its files, and a reader of one document or of many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from hlgraph.read.content import ReadFailure
from hlgraph.read.rows import Table
from hlgraph.records import Document

FileReader: TypeAlias = Callable[..., Document]
"""``read(origin, data, options=...)`` turns the bytes of a file into one document, or raises ReadError or MissingExtraError.

Whatever its parser raises besides becomes a ReadError in :func:`hlgraph.read.read`.
"""
RowsReader: TypeAlias = Callable[..., Iterator[Document | ReadFailure]]
"""``read(origin, stream, options=...)`` turns each row of a stream into a document or a failure; a ReadError ends the file."""
TableReader: TypeAlias = Callable[..., Table]
"""``table(origin, stream, options=...)`` gives the rows of a stream for a mapping of tables; a ReadError ends the file."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format whose files hold one document each.

    Attributes
    ----------
    name : its name for ``--format``, and the name of the module that defines it
    suffixes : suffixes of its files, in lower case, with the dot
    read : reads the document
    mend : what to do about a damaged file, default empty
    table : reads the rows for a mapping of tables; None if the format has no rows
    """

    name: str
    suffixes: tuple[str, ...]
    read: FileReader
    mend: str = ""
    table: TableReader | None = None


@dataclass(frozen=True, slots=True)
class RowsFormat:
    """A format whose files hold rows, each a document. Attributes as in :class:`FileFormat`."""

    name: str
    suffixes: tuple[str, ...]
    read: RowsReader
    mend: str = ""
    table: TableReader | None = None


Format = FileFormat | RowsFormat
