"""The lines of files of rows, bounded in length, with their encoding."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import NamedTuple

from hlgraph.errors import ReadError
from hlgraph.read.content import PIECE, Origin, read_bounded
from hlgraph.read.encodings import NAME_ENCODING, decode, found_encoding, guessed, marked_encoding


class Lines(NamedTuple):
    """The lines of a file of rows.

    Attributes
    ----------
    lines : the lines as bytes, with None in place of one that is too long
    encoding : of the bytes
    warnings : what the reader of the file should know: an encoding that was found by the bytes
    """

    lines: Iterator[bytes | None]
    encoding: str
    warnings: tuple[str, ...] = ()


def bounded_lines(stream: io.BufferedIOBase, limit: int) -> Iterator[bytes | None]:
    """The lines of a stream, with None in place of a line longer than ``limit``.

    A long line is held in memory up to ``limit`` plus one piece (1 MiB); the rest of it is skipped.

    Parameters
    ----------
    stream : the stream to read
    limit : longest line, bytes without the line break
    """
    while line := stream.readline(PIECE):
        if line.endswith(b"\n") and len(line) <= limit:
            yield line
        else:
            yield _long_line(stream, line, limit)


def _long_line(stream: io.BufferedIOBase, line: bytes, limit: int) -> bytes | None:
    pieces = [line]
    size = len(line)
    while not line.endswith(b"\n") and (line := stream.readline(PIECE)):
        size += len(line)
        if size <= limit + 1:  # + 1 for the line break, which does not count
            pieces.append(line)
        else:
            pieces.clear()
    return b"".join(pieces) if size - line.endswith(b"\n") <= limit else None


def row_lines(origin: Origin, stream: io.BufferedReader, *, limit: int, encoding: str | None) -> Lines:
    """The lines of a file of rows as bytes, and their encoding.

    A file whose encoding does not spell a line break as the byte 10 (UTF-16) is held whole and converted to UTF-8.

    Parameters
    ----------
    origin : the file, named in errors
    stream : its decompressed bytes
    limit : longest line, bytes; for a converted file also the largest file
    encoding : name of the encoding; None finds it from the first megabyte, see :func:`hlgraph.read.encodings.decode`

    Returns
    -------
    Lines

    Raises
    ------
    ReadError
        The file is binary, or a file that is converted is too large or not text.
    """
    head = stream.peek(PIECE)
    given = encoding or marked_encoding(head)
    found = given or found_encoding(head, is_cut=True) or "utf-8"
    if codecs.lookup(found).name == "utf-8-sig":
        found = "utf-8"
    warnings = (guessed(found),) if given is None and found != "utf-8" else ()
    if "\n{".encode(found) != b"\n{":
        text = decode(origin, read_bounded(origin, stream, limit=limit), encoding=found).text
        return Lines(bounded_lines(io.BytesIO(text.encode()), limit), "utf-8", warnings)
    if b"\0" in head:
        raise ReadError(origin.uri, "is binary, not text", "give its --encoding, for example utf-16-le")
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    return Lines(bounded_lines(stream, limit), found, warnings)


def too_long(limit: int, hint: str = "") -> tuple[str, str]:
    """The reason and the remedy for a row beyond the limit.

    Parameters
    ----------
    limit : the largest row, bytes
    hint : a likely cause, appended to the reason; default none
    """
    return f"is longer than {limit:,} bytes{hint}", "split it, or raise --max-bytes"


def not_text(line: bytes, encoding: str) -> tuple[str, str]:
    """The reason and the remedy for a line that cannot be decoded.

    Parameters
    ----------
    line : the bytes of the line
    encoding : name of the encoding
    """
    try:
        line.decode(encoding)
    except UnicodeDecodeError as error:
        return f"is not {encoding} text (byte {error.start} of the line)", NAME_ENCODING
    except UnicodeError:  # some codecs raise an error without a position
        pass
    return f"is not {encoding} text", NAME_ENCODING
