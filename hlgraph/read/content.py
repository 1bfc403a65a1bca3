"""The content of one source, from raw bytes to clean text: decompression, size limit, decoding, cleaning, lines of rows.

Also holds the check that a document can be stored (:func:`inadmissible`).
"""

from __future__ import annotations

import codecs
import gzip
import io
import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath

from hlgraph.errors import ReadError
from hlgraph.records import Document


def without_gz(name: str) -> str:
    """The file name without a trailing ``.gz``."""
    return name[:-3] if name.lower().endswith(".gz") else name


ByteStream = io.BufferedReader | gzip.GzipFile

PIECE = 1 << 20
NAME_ENCODING = "give its encoding, for example --encoding latin-1"
_GZIP_MAGIC = b"\x1f\x8b"
# UTF-32 comes first: its little-endian mark begins with the UTF-16 mark.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where bytes come from.

    Attributes
    ----------
    uri : URI of the source
    name : file name with its suffixes, empty for standard input
    """

    uri: str
    name: str = ""

    @property
    def stem(self) -> str:
        """The file name without its suffixes; the title of a document that states none."""
        return PurePath(without_gz(self.name)).stem if self.name else ""


def clean(text: str) -> str:
    r"""Text in the form that documents and metadata values use: lines end in ``\n``, no NUL, no lone surrogate.

    Examples
    --------
    >>> clean("a\r\nb\rc\0")
    'a\nb\nc'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:  # PDF, YAML and some encodings can produce half a surrogate pair
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@contextmanager
def plain_bytes(origin: Origin, raw: io.BufferedReader, *, is_gzip: bool) -> Iterator[ByteStream]:
    """The stream, decompressed if it is gzip data.

    Parameters
    ----------
    origin : the source, named in errors
    raw : the stream as stored
    is_gzip : decompress even when the stream does not begin with the gzip magic number

    Raises
    ------
    ReadError
        The gzip data is damaged or truncated; raised while the stream is read.
    """
    try:
        if is_gzip or raw.peek(2)[:2] == _GZIP_MAGIC:
            with gzip.GzipFile(fileobj=raw) as unzipped:
                yield unzipped
        else:
            yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(origin.uri, f"the gzip data is damaged or cut off ({error})", "fetch it again") from error


def read_bounded(origin: Origin, stream: io.BufferedIOBase, *, limit: int) -> bytes:
    """All bytes of a stream that holds at most ``limit`` bytes.

    Parameters
    ----------
    origin : the source, named in errors
    stream : the stream to read
    limit : largest size, bytes

    Raises
    ------
    ReadError
        The stream is longer; reading stops one byte past the limit.
    """
    pieces: list[bytes] = []
    size = 0
    while piece := stream.read(min(PIECE, limit + 1 - size)):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise ReadError(origin.uri, f"is larger than {limit:,} bytes", "split it, or raise --max-bytes")
    return b"".join(pieces)


def decode(origin: Origin, data: bytes, *, encoding: str | None) -> str:
    """The text that bytes encode, cleaned.

    Parameters
    ----------
    origin : the source, named in errors
    data : the bytes
    encoding : name of the encoding; None takes it from the byte order mark, else UTF-8

    Raises
    ------
    ReadError
        The bytes are not valid in that encoding, are binary, or hold only white space.
    """
    if encoding is None and b"\0" in data[:PIECE] and not marked_encoding(data):
        raise ReadError(origin.uri, "is binary, not text", "give its format with --format, or its --encoding")
    chosen = encoding or marked_encoding(data) or "utf-8"
    try:
        text = data.decode(chosen).lstrip("\ufeff")
    except UnicodeError as error:
        where = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        mend = f"give another --encoding than {encoding}" if encoding else NAME_ENCODING
        raise ReadError(origin.uri, f"is not {chosen} text ({where})", mend) from error
    if "\0" in text:
        raise ReadError(origin.uri, "is binary, not text: it holds NUL characters", "give its format with --format")
    if not text or text.isspace():
        raise ReadError(origin.uri, "is empty")
    return clean(text)


def marked_encoding(head: bytes) -> str | None:
    """The encoding that a byte order mark declares; None without a mark."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


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


_LARGEST = 2**63


def inadmissible(document: Document) -> ReadError | None:
    """Why a document cannot be stored, or None if it can.

    Every document that a reader yields can be stored; one that a caller of the SDK built may not.

    Examples
    --------
    >>> print(inadmissible(Document("doc:1", "text", metadata={"weight": float("nan")})))
    doc:1: metadata 'weight' is nan; use text, a finite number, a boolean, or leave it out
    """
    uri = document.uri
    wrong = _wrong_kind(document)
    if wrong:
        return ReadError(ascii(uri), wrong, "give texts, and a mapping of names to values")
    if not uri.strip():
        return ReadError(repr(uri), "the uri is empty", "give each document its own uri")
    for name, text in (("uri", uri), ("text", document.text), ("title", document.title)):
        if not _is_clean(text):
            return ReadError(ascii(uri), f"the {name} holds a NUL or half of a surrogate pair", "remove that character")
    if not document.text.strip():
        return ReadError(uri, "the text is empty", "leave the document out")
    for key, value in document.metadata.items():
        for item in value if isinstance(value, tuple | list) else (value,):
            problem = _problem(item) if isinstance(key, str) and _is_clean(key) else "has a name that is not clean text"
            if problem:
                return ReadError(
                    uri, f"metadata {key!r} {problem}", "use text, a finite number, a boolean, or leave it out"
                )
    return None


def _wrong_kind(document: Document) -> str:
    """The first attribute that is not of its type, with its value, since callers need not be type-checked; else empty."""
    for name, kind in (("uri", str), ("text", str), ("title", str), ("metadata", Mapping)):
        value = getattr(document, name)
        if not isinstance(value, kind):
            return f"the {name} is {value!a:.60}"
    return ""


def _is_clean(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _problem(value: object) -> str:
    if isinstance(value, str):
        return "" if _is_clean(value) else "holds a NUL or half of a surrogate pair"
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return "" if -_LARGEST <= value < _LARGEST else "is beyond 64 bits"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"is {value}"
    return f"is a {type(value).__name__}, not text, a number, a boolean, or a list of these"


def clean_title(title: str) -> str:
    """A title with each run of white space replaced by one space."""
    return " ".join(title.split())


def row_lines(
    origin: Origin, stream: ByteStream, *, limit: int, encoding: str | None
) -> tuple[Iterator[bytes | None], str]:
    """The lines of a file of rows as bytes, and their encoding.

    A file whose encoding does not spell a line break as the byte 10 (UTF-16) is held whole and converted to UTF-8.

    Parameters
    ----------
    origin : the file, named in errors
    stream : its decompressed bytes
    limit : longest line, bytes; for a converted file also the largest file
    encoding : name of the encoding; None takes it from the byte order mark, else UTF-8

    Returns
    -------
    tuple[Iterator[bytes | None], str]
        The lines, with None in place of one that is too long, and the encoding of the bytes.

    Raises
    ------
    ReadError
        The file is binary, or a file that is converted is too large or not text.
    """
    head = stream.peek(4096)
    encoding = encoding or marked_encoding(head) or "utf-8"
    if codecs.lookup(encoding).name == "utf-8-sig":
        encoding = "utf-8"
    if "\n{".encode(encoding) != b"\n{":
        text = decode(origin, read_bounded(origin, stream, limit=limit), encoding=encoding)
        return bounded_lines(io.BytesIO(text.encode()), limit), "utf-8"
    if b"\0" in head:
        raise ReadError(origin.uri, "is binary, not text", "give its --encoding, for example utf-16-le")
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    return bounded_lines(stream, limit), encoding


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
