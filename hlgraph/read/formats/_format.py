"""Types of file formats: a name, the suffixes of its files, and a reader of one document or of many rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hlgraph.read.content import Origin, ReadFailure
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document


class FileReader(Protocol):
    """Turns the bytes of a file into one document, or raises ReadError or MissingExtraError.

    Whatever its parser raises besides becomes a ReadError in :func:`hlgraph.read.read`.
    """

    def __call__(self, origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
        """The document of a file."""


class RowsReader(Protocol):
    """Turns each row of a stream into a document or a failure; a ReadError ends the file."""

    def __call__(
        self, origin: Origin, stream: io.BufferedReader, *, options: ReadOptions
    ) -> Iterator[Document | ReadFailure]:
        """The documents and failures of a stream, in order."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format whose files hold one document each.

    Attributes
    ----------
    name : its name for ``--format``, and the name of the module that defines it
    suffixes : suffixes of its files, in lower case, with the dot
    read : reads the document
    mend : what to do about a damaged file, default nothing
    """

    name: str
    suffixes: tuple[str, ...]
    read: FileReader
    mend: str = ""


@dataclass(frozen=True, slots=True)
class RowsFormat:
    """A format whose files hold rows, each of them a document; the attributes are those of :class:`FileFormat`."""

    name: str
    suffixes: tuple[str, ...]
    read: RowsReader
    mend: str = ""


Format = FileFormat | RowsFormat
