"""What a file format is: a name, the suffixes of its files, and a reader of one document or of many rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hlgraph.read.content import ByteStream, Origin
from hlgraph.read.failure import ReadFailure
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document


class FileReader(Protocol):
    """Makes one document of the bytes of a file, or raises ReadError or MissingExtraError."""

    def __call__(self, origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
        """The document."""


class RowsReader(Protocol):
    """Makes a document or a failure of each row of a stream; a ReadError ends it."""

    def __call__(self, origin: Origin, stream: ByteStream, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
        """The documents and failures."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format whose files are one document each.

    Attributes
    ----------
    name : what ``--format`` calls it; the name of the file that holds the reader
    suffixes : of its files, in lower case, with the dot
    read : makes the document
    """

    name: str
    suffixes: tuple[str, ...]
    read: FileReader


@dataclass(frozen=True, slots=True)
class RowsFormat:
    """A format whose files hold rows, each a document; the attributes are those of :class:`FileFormat`."""

    name: str
    suffixes: tuple[str, ...]
    read: RowsReader


Format = FileFormat | RowsFormat
