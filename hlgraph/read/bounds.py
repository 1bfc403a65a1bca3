"""Limits on the output of a source: text, cells, elements and unpacked bytes, per source and per run.

The size of a file says little about its content. A kilobyte of a packed format can unpack to a thousand times as much, and
one attribute of a table can ask for sixty million cells. So every limit here counts the output, if possible before it is
produced. A source that exceeds a limit is refused with an error that names the limit and the remedy. :func:`plain_bytes`
applies the same limit to gzip streams.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from xml.parsers import expat

from hlgraph.errors import ReadError
from hlgraph.read.content import PIECE, Origin

MOST_CELLS = 1_000_000
MOST_ELEMENTS = 1_000_000
MOST_MEMBERS = 10_000
MOST_DEPTH = 255  # lxml's limit; parsers that accept more overflow the stack
TIMES = 100  # largest growth of a packed format, as in Apache POI; text packs to a tenth, tables to a thirtieth
GRACE = 8 << 20  # allowed for any source whatever its size, bytes or characters
RUN_GRACE = 64 << 20  # allowed for all sources of a run together beyond TIMES their sizes, characters
_SPLIT = "split it, or save the part that matters as plain text or CSV"
_SUSPECT = "if it is not an attack, unpack it, or save it as plain text or CSV"
_OLE_MAGIC = b"\xd0\xcf\x11\xe0"
_XML = (".rels", ".vml", ".xml")
_MARKUP = (".htm", ".html", ".ncx", ".opf", ".rels", ".vml", ".xhtml", ".xml")


def refused(origin: Origin, what: str, *, limit: int) -> ReadError:
    """The error for a source that holds more than it may.

    Parameters
    ----------
    origin : the source
    what : what is counted, in the plural ("cells")
    limit : the largest number of them

    Examples
    --------
    >>> print(refused(Origin("file:///a.xlsx"), "cells", limit=1_000_000))
    file:///a.xlsx: holds more than 1,000,000 cells; split it, or save the part that matters as plain text or CSV
    """
    return ReadError(origin.uri, f"holds more than {limit:,} {what}", _SPLIT)


# Pictures are not read; drawings shrink 200 times.
_PICTURES = (*(".bmp", ".emf", ".gif", ".jpeg", ".jpg"), *(".png", ".tif", ".tiff", ".wmf"))


def largest(size: int) -> int:
    """The most bytes or characters that a packed source of ``size`` bytes may hold: 100 times its size, at least 8 MiB."""
    return max(GRACE, TIMES * size)


def overgrown(origin: Origin, size: int) -> ReadError:
    """The error for a packed source that grows beyond :func:`largest`.

    Parameters
    ----------
    origin : the source
    size : its size as stored, bytes
    """
    reason = f"is a packed file of {size:,} bytes that holds more than {largest(size):,}, as a zip bomb does"
    return ReadError(origin.uri, reason, _SUSPECT)


@dataclass(slots=True)
class Produced:
    """Counts the text and the cells that a reader produces from one source, and refuses too many of them.

    Attributes
    ----------
    origin : the source
    size : its size as stored, bytes
    limit : the largest text, characters; ``ReadOptions.max_bytes``
    text, cells : counts so far
    groups : the groups that the columns ``acl`` of its sheets name
    acl_columns : the columns ``acl`` of the last table of a sheet, and its last column
    """

    origin: Origin
    size: int
    limit: int
    text: int = 0
    cells: int = 0
    groups: set[str] = field(default_factory=set)
    acl_columns: tuple[list[int], int] = ([], -1)

    def add(self, text: str) -> str:
        """Count a part of the text and return it. Raises ReadError beyond the limits."""
        self.text += len(text) + 1
        if self.text > self.limit:
            raise ReadError(
                self.origin.uri, f"holds more than {self.limit:,} characters", "split it, or raise --max-bytes"
            )
        if self.text > largest(self.size):
            raise overgrown(self.origin, self.size)
        return text

    def add_cells(self, count: int) -> None:
        """Count the cells of a table before it is built. Raises ReadError beyond a million."""
        self.cells += count
        if self.cells > MOST_CELLS:
            raise refused(self.origin, "cells", limit=MOST_CELLS)


def check_package(origin: Origin, data: bytes, *, limit: int, most: int = MOST_ELEMENTS) -> None:
    """Check what a zip file (DOCX, XLSX, PPTX, EPUB) unpacks to, without holding it in memory, and that it has no password.

    Parameters
    ----------
    origin : the file
    data : its bytes
    limit : the largest unpacked size, bytes
    most : the largest number of elements in its XML, default 1,000,000

    Raises
    ------
    ReadError
        It is protected by a password, unpacks to more than ``limit``, or without pictures to more than 100 times its size, has more
        than 10,000 members or more than ``most`` elements, or nests elements more than 255 levels deep.
    zipfile.BadZipFile
        It is not a zip file.
    """
    if data.startswith(_OLE_MAGIC):
        reason = "is protected by a password, or is a file of Office 2003 or older"
        raise ReadError(origin.uri, reason, "save it in the present format without a password")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        members = package.infolist()
        if len(members) > MOST_MEMBERS:
            raise refused(origin, "members", limit=MOST_MEMBERS)
        size = sum(member.file_size for member in members)  # zipfile never reads more than these sizes
        if size > limit:
            reason = f"unpacks to {size:,} bytes, more than {limit:,}"
            raise ReadError(origin.uri, reason, "split it, or raise --max-bytes")
        pictures = sum(each.file_size for each in members if each.filename.lower().endswith(_PICTURES))
        if size - pictures > largest(len(data)):
            raise overgrown(origin, len(data))
        elements = 0
        for member in members:
            if not member.filename.lower().endswith(_MARKUP):
                continue
            depth = _Depth(origin) if member.filename.lower().endswith(_XML) else None
            with package.open(member) as stream:
                while piece := stream.read(PIECE):
                    elements += piece.count(b"<") - piece.count(b"</")
                    if elements <= most and depth is not None:
                        depth.feed(piece)
            if elements > most:
                raise refused(origin, "elements", limit=most)


class _Depth:
    """Tracks how deep the elements of an XML part nest, without holding it in memory."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._open = 0
        self._parser: expat.XMLParserType | None = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def feed(self, piece: bytes) -> None:
        """Parse the next bytes. Raises ReadError beyond the limit. Invalid XML is left to the reader of the format."""
        try:
            if self._parser is not None:
                self._parser.Parse(piece, False)
        except expat.ExpatError:
            self._parser = None

    def _start(self, _name: str, _attributes: dict[str, str]) -> None:
        self._open += 1
        if self._open > MOST_DEPTH:
            raise refused(self._origin, "elements inside of each other", limit=MOST_DEPTH)

    def _end(self, _name: str) -> None:
        self._open -= 1


@dataclass(slots=True)
class Growth:
    """How much the sources of one run have grown beyond 100 times their sizes, together."""

    excess: int = 0

    def check(self, origin: Origin, *, size: int, text: int) -> None:
        """Count a source.

        Parameters
        ----------
        origin : the source
        size : its size as stored, bytes
        text : the length of its text, characters

        Raises
        ------
        ReadError
            With this source, the run holds more than 64 MiB of text beyond 100 times the sizes of its sources.
        """
        excess = max(0, text - TIMES * size)
        if excess and self.excess + excess > RUN_GRACE:
            reason = f"and others of this run hold {RUN_GRACE:,} characters more than {TIMES} times their sizes, as zip bombs do"
            raise ReadError(origin.uri, reason, _SUSPECT)
        self.excess += excess


_MAGIC = b"\x1f\x8b"


@contextmanager
def plain_bytes(origin: Origin, raw: io.BufferedReader, *, is_gzip: bool) -> Iterator[io.BufferedReader]:
    """The stream, decompressed if it is gzip data.

    Parameters
    ----------
    origin : the source, named in errors
    raw : the stream as stored
    is_gzip : decompress even when the stream does not begin with the gzip magic number

    Raises
    ------
    ReadError
        The gzip data is damaged or truncated, or unpacks to more than 100 times its size; raised while the stream is read.
    """
    if is_gzip or raw.peek(2)[:2] == _MAGIC:
        unzipped: io.BufferedReader = io.BufferedReader(Unzipped(origin, raw), PIECE)
        with unzipped:
            yield unzipped
    else:
        yield raw


class Unzipped(io.RawIOBase):
    """A gzip stream that ends with an error when it is damaged or grows beyond :func:`largest`.

    Parameters
    ----------
    origin : the source, named in the error
    raw : the stream as stored
    """

    def __init__(self, origin: Origin, raw: io.BufferedReader) -> None:
        self._origin = origin
        self._packed = _Counted(raw)
        self._stream = gzip.GzipFile(fileobj=self._packed, mode="rb")
        self._unpacked = 0

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Unpack into a buffer. Raises ReadError if the stream is damaged or has grown too much."""
        try:
            piece = self._stream.read1(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"the gzip data is damaged or cut off ({error})"
            raise ReadError(self._origin.uri, reason, "fetch it again") from error
        buffer[: len(piece)] = piece
        self._unpacked += len(piece)
        if self._unpacked > largest(self._packed.size):
            raise overgrown(self._origin, self._packed.size)
        return len(piece)


class _Counted(io.RawIOBase):
    """Passes a stream through and counts its bytes."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer)
        self.size += count
        return count
