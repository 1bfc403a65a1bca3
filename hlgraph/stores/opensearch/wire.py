"""Typed answers of an OpenSearch server, limited to the fields that hlgraph reads; other fields are skipped."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

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


class Refusal(msgspec.Struct):
    """The body of an error: from OpenSearch (``error``), or from an AWS gateway in front of it (``message``)."""

    error: Cause | str = ""
    message: str = ""


class Anything(msgspec.Struct):
    """An answer whose content is ignored."""


class Row(msgspec.Struct):
    """One document found."""

    fields: dict[str, list[str | int | float]] = {}
    sort: list[str | int | float | None] = []
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
    """The number of documents that matched: exact ("eq") or a lower bound ("gte")."""

    value: int
    relation: str = "eq"


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


class Found(msgspec.Struct):
    """The answer to a search."""

    hits: Hits
    aggregations: dict[str, Aggregation] = {}

    @property
    def count(self) -> int:
        """The number of documents that matched, as far as the server counted."""
        return self.hits.total.value if self.hits.total else 0


class Part(msgspec.Struct):
    """The answer to one of several searches: what was found, or why it was refused."""

    status: int = 200
    error: Cause | str | None = None
    hits: Hits = msgspec.field(default_factory=Hits)
    aggregations: dict[str, Aggregation] = {}


class Parts(msgspec.Struct):
    """The answer to several searches, in the order of the request."""

    responses: list[Part] = []


class Written(msgspec.Struct):
    """The result of one item of a bulk request."""

    status: int
    result: str = ""
    id: str = msgspec.field(name="_id", default="")
    error: Cause | str | None = None


class Bulk(msgspec.Struct):
    """The answer to a bulk request, with items in the order of the request."""

    errors: bool
    items: list[dict[str, Written]]


class Meta(msgspec.Struct):
    """The metadata that hlgraph stores in the mapping of an index.

    Attributes
    ----------
    corpus : name of the corpus; empty: the index is shared by corpora
    schema : number of the migration that defines the index
    made : unique for each index, so that an index created again under its old name can be told apart
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
    """The parts of the mapping of a field that the doctor checks for drift."""

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


class Document(msgspec.Struct):
    """One document, with its source as raw JSON and the numbers that a conditional write needs."""

    found: bool = False
    source: msgspec.Raw = msgspec.field(name="_source", default=msgspec.Raw(b"{}"))
    seq_no: int = msgspec.field(name="_seq_no", default=0)
    primary_term: int = msgspec.field(name="_primary_term", default=0)
