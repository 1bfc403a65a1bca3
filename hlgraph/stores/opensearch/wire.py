"""Typed answers of an OpenSearch server, limited to the fields that hlgraph reads; other fields are skipped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""A JSON value, for bodies of requests."""


class Cause(msgspec.Struct):
    """The reason why a request or an item was refused, with its own causes."""

    type: str = ""
    reason: str | None = None
    root_cause: list[Cause] = []
    caused_by: Cause | None = None

    def words(self) -> str:
        """Type and reason of the refusal and of its causes, in one line."""
        parts: list[str] = []
        cause: Cause | None = self
        while cause is not None:
            text = f"{cause.type}: {cause.reason}" if cause.reason else cause.type
            if text and not any(text in part for part in parts):
                parts.append(text)
            cause = cause.caused_by or (cause.root_cause[0] if cause.root_cause else None)
        return "; ".join(parts)


class Failure(msgspec.Struct):
    """Why one shard failed. ``primary`` is False for a copy that missed a write, which the server replaces itself."""

    reason: Cause | None = None
    status: str = ""
    primary: bool = True


class Shards(msgspec.Struct):
    """The shards that failed, of those that a request was sent to. The status of the answer is 200 all the same, or an error."""

    failures: list[Failure] = []


class Refusal(msgspec.Struct):
    """The body of an error: from OpenSearch (``error``), or from an AWS gateway in front of it (``message``)."""

    error: Cause | str = ""
    message: str = ""
    shards: Shards = msgspec.field(name="_shards", default_factory=Shards)


class Anything(msgspec.Struct):
    """An answer whose content is ignored, except for shards that failed."""

    shards: Shards = msgspec.field(name="_shards", default_factory=Shards)


class Row(msgspec.Struct):
    """One document found."""

    fields: dict[str, list[str | int | float]] = {}
    matched_queries: dict[str, float] | list[str] = {}
    key: str = msgspec.field(name="_id", default="")
    number_of_write: int = msgspec.field(name="_seq_no", default=-1)
    source: dict[str, object] = msgspec.field(name="_source", default={})

    def number(self, name: str) -> float:
        """The single value of a numeric field."""
        return float(self.fields[name][0])

    def text(self, name: str) -> str:
        """The single value of a text field."""
        return str(self.fields[name][0])


class Total(msgspec.Struct):
    """The number of documents that matched, or a lower bound of it."""

    value: int


class Hits(msgspec.Struct):
    """The documents found."""

    hits: list[Row] = []
    total: Total | None = None


class Bucket(msgspec.Struct):
    """The number of documents that a filter matches."""

    doc_count: int


class Aggregation(msgspec.Struct):
    """A number, a count, or counts by name."""

    value: float | None = None
    doc_count: int = 0
    buckets: dict[str, Bucket] = {}
    length: Aggregation | None = None


class Found(msgspec.Struct):
    """The answer to a search; within a multi-search it may contain the reason of a refusal."""

    hits: Hits = msgspec.field(default_factory=Hits)
    aggregations: dict[str, Aggregation] = {}
    status: int = 200
    error: Cause | str | None = None

    @property
    def count(self) -> int:
        """The number of documents that matched, as far as the server counted."""
        return self.hits.total.value if self.hits.total else 0


class Parts(msgspec.Struct):
    """The answer to several searches, in the order of the request."""

    responses: list[Found] = []


class Written(msgspec.Struct):
    """The result of one item of a bulk request."""

    status: int
    result: str = ""
    error: Cause | str | None = None


class Bulk(msgspec.Struct):
    """The answer to a bulk request, with items in the order of the request."""

    items: list[dict[str, Written]]


class Meta(msgspec.Struct):
    """The metadata that hlgraph stores in the mapping of an index.

    Attributes
    ----------
    corpus : name of the corpus; empty: the index is shared by corpora
    schema : number of the migration that defines the index
    made : unique mark of each index, also of one that was created again under its old name
    shards : number of primary shards
    moving : whether rows of this index are being copied to another one, which then takes its place
    """

    corpus: str = ""
    kind: str = ""
    dimensions: int = 0
    schema: int = 0
    language: str = ""
    made: str = ""
    shards: int = 1
    moving: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether the index holds rows of several corpora."""
        return not self.corpus

    @property
    def spread(self) -> int:
        """The number of shards over which the rows of one corpus are spread."""
        return 1 if self.is_shared else self.shards


class Method(msgspec.Struct):
    """How a field of vectors is indexed."""

    name: str = ""
    engine: str = ""
    space_type: str = ""
    parameters: dict[str, object] = {}


class Property(msgspec.Struct):
    """The parts of a field's mapping that the doctor compares."""

    type: str = "object"
    dimension: int = 0
    analyzer: str = ""
    method: Method | None = None


class Mappings(msgspec.Struct):
    """The mapping of an index."""

    meta: Meta = msgspec.field(name="_meta", default_factory=Meta)
    properties: dict[str, Property] = {}


class Mapped(msgspec.Struct):
    """One index in an answer about mappings."""

    mappings: Mappings


class Version(msgspec.Struct):
    """The version of a server."""

    number: str = ""
    distribution: str = ""


class Root(msgspec.Struct):
    """A server's description of itself."""

    version: Version = msgspec.field(default_factory=Version)


class Plugin(msgspec.Struct):
    """A plugin of a node."""

    component: str
    version: str = ""


class Health(msgspec.Struct):
    """The health of some indexes: green, yellow (replicas are missing) or red (data is missing)."""

    status: str = ""
    unassigned_shards: int = 0


class Stored(msgspec.Struct, Generic[T]):
    """The source of a document with one field."""

    json: T


class Document(msgspec.Struct, Generic[T]):
    """One document, and the numbers that a conditional write needs."""

    source: Stored[T] | None = msgspec.field(name="_source", default=None)
    seq_no: int = msgspec.field(name="_seq_no", default=0)
    primary_term: int = msgspec.field(name="_primary_term", default=0)

    @property
    def json(self) -> T | None:
        """The content of the document; None if it does not exist."""
        return None if self.source is None else self.source.json


# Documents in Smile, the binary form of JSON, in which vectors are bytes and not decimal numbers. A document is a header, tokens
# and an end mark, which no token contains. See the `specification <https://github.com/FasterXML/smile-format-specification>`_.


HEAD = b":)\n\x00"
"""The beginning of a document, which JSON never has; its last byte says that no name or value is abbreviated."""

_END = b"\xff"
_OBJECT, _OBJECT_END = b"\xfa", b"\xfb"
_ARRAY, _ARRAY_END = b"\xf8", b"\xf9"
_ASCII, _UNICODE, _TEXT_END = b"\xe0", b"\xe4", b"\xfc"
_WHOLE, _FLOAT, _BINARY = b"\x24", 0x28, b"\xe8"
_GROUP = 7  # bytes that become eight of seven bits


class Encoded(NamedTuple):
    """A value that is already encoded as tokens."""

    tokens: bytes


Value: TypeAlias = "str | int | Encoded | Mapping[str, Value]"


def document(fields: Mapping[str, Value]) -> bytes:
    """One document.

    Parameters
    ----------
    fields : values by name; names are ASCII, of 1 to 64 characters

    Examples
    --------
    >>> document({"id": "a", "length": 3})
    b':)\\n\\x00\\xfa\\x81id@a\\x85length$\\x86\\xfb\\xff'
    """
    return HEAD + _value(fields) + _END


def number_arrays(matrix: NDArray[np.float32]) -> list[Encoded]:
    """Each row as an array of 32-bit numbers.

    Parameters
    ----------
    matrix : shape (n, d)
    """
    bits = np.ascontiguousarray(matrix, dtype="<f4").view("<u4")
    encoded = np.empty((*bits.shape, 6), dtype=np.uint8)
    encoded[..., 0] = _FLOAT
    for at in range(5):
        encoded[..., 1 + at] = (bits >> (7 * (4 - at))) & 0x7F
    return [Encoded(_ARRAY + row.tobytes() + _ARRAY_END) for row in encoded]


def binaries(rows: NDArray[np.uint8]) -> list[Encoded]:
    """Each row of bytes as one binary value.

    Parameters
    ----------
    rows : shape (n, bytes)
    """
    count, size = rows.shape
    cut = size - size % _GROUP
    parts = [_sevens(rows[:, :cut].reshape(count, -1, _GROUP))]
    if cut < size:
        parts.append(_sevens(rows[:, None, cut:]))
    head = _BINARY + _variable(size)
    return [Encoded(head + row.tobytes()) for row in np.concatenate(parts, axis=1)]


def _sevens(groups: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Encode each group of w bytes (at most seven) as w bytes of seven bits and one byte of the remaining w bits.

    Parameters
    ----------
    groups : shape (n, g, w)

    Returns
    -------
    numpy.ndarray
        Shape (n, g (w + 1)).
    """
    count, number, width = groups.shape
    wide = np.zeros((count, number, 8), dtype=np.uint8)
    wide[:, :, 8 - width :] = groups
    bits = wide.view(">u8")[:, :, 0].astype(np.uint64)
    encoded = np.empty((count, number, width + 1), dtype=np.uint8)
    for at in range(width):
        encoded[:, :, at] = (bits >> np.uint64(8 * width - 7 * (at + 1))) & np.uint64(0x7F)
    encoded[:, :, width] = bits & np.uint64((1 << width) - 1)
    return encoded.reshape(count, -1)


def _value(value: Value) -> bytes:
    if isinstance(value, str):
        return _text(value.encode())
    if isinstance(value, Encoded):
        return value.tokens
    if isinstance(value, int):
        return _WHOLE + _variable(2 * value if value >= 0 else -2 * value - 1)
    return _OBJECT + b"".join(_name(name) + _value(item) for name, item in value.items()) + _OBJECT_END


def _text(data: bytes) -> bytes:
    size = len(data)
    if not size:
        return b"\x20"
    if not data.isascii():
        return _UNICODE + data + _TEXT_END
    if size > 64:
        return _ASCII + data + _TEXT_END
    return bytes([0x3F + size]) + data  # 0x40 for one character to 0x7f for 64


@cache
def _name(name: str) -> bytes:
    data = name.encode("ascii")
    return bytes([0x7F + len(data)]) + data


def _variable(value: int) -> bytes:
    """Encode a number of variable length: six bits in the last byte, which has the high bit set, and seven in the others."""
    encoded = [0x80 | (value & 0x3F)]
    value >>= 6
    while value:
        encoded.append(value & 0x7F)
        value >>= 7
    return bytes(reversed(encoded))
