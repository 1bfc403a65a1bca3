"""The content of one source: its origin, its bytes up to a limit, clean text, and the check that it can be stored."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from hlgraph.errors import ReadError
from hlgraph.records import Document


def without_gz(name: str) -> str:
    """The file name without a trailing ``.gz``."""
    return name[:-3] if name.lower().endswith(".gz") else name


PIECE = 1 << 20


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
