"""Reads gzip streams, up to a limit on how much they grow."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from hlgraph.errors import ReadError
from hlgraph.read.bounds import largest, overgrown
from hlgraph.read.content import PIECE, Origin

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
        self._made = 0

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Unpack into a buffer. Raises ReadError when the stream is damaged, or has grown too much."""
        try:
            piece = self._stream.read1(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"the gzip data is damaged or cut off ({error})"
            raise ReadError(self._origin.uri, reason, "fetch it again") from error
        buffer[: len(piece)] = piece
        self._made += len(piece)
        if self._made > largest(self._packed.size):
            raise overgrown(self._origin, self._packed.size)
        return len(piece)


class _Counted(io.RawIOBase):
    """Passes a stream on, and counts its bytes."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer)
        self.size += count
        return count
