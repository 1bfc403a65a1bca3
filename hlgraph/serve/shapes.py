"""What the server takes and gives, as data: requests, results and problems. Their JSON schemas describe every face of the server.

A request refuses unknown fields and values out of bounds before any work is done. :func:`problem_of` makes a problem document
(RFC 9457) from any error of :mod:`hlgraph.errors`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from hlgraph import errors
from hlgraph.records import SEARCH_K, plain

if TYPE_CHECKING:
    from hlgraph.ingest.report import Report
    from hlgraph.records import Answer, Entity, Evidence, Source
    from hlgraph.retrieve import Explanation, SearchResult
    from hlgraph.sdk.contents import EntityDetails, SourceDetails, SupportedFact

_log = logging.getLogger(__name__)
T = TypeVar("T")
S = TypeVar("S", bound=Struct)
Right = Literal["read", "write", "operate"]
Where = Annotated[
    str | dict[str, Any],
    Meta(
        description="A filter over the metadata of sources: a text, or a mapping of fields to values.",
        examples=["year >= 2023", {"category": ["tech", "science"]}],
    ),
]
Named = Annotated[str, Meta(min_length=1, max_length=500)]
Skip = Annotated[int, Meta(ge=0, le=10_000_000)]
Id = Annotated[str, Meta(min_length=1, max_length=200, examples=["0f7a94f6dcbde7d5038038302d3113bf"])]


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to a corpus, and how its evidence is found.

    Attributes
    ----------
    question : in natural language
    strategy : how evidence is found; ``auto`` chooses by the question
    unit : of the evidence; without it that of the strategy
    where : filter over the metadata of sources
    diversity : drops evidence that repeats better evidence: word cosine above 1 - diversity
    tabular : gives statements with numbers the labels of their tables
    as_of : what was in the corpus then, if its history is kept: a date, a time or the number of a version
    """

    question: Annotated[str, Meta(min_length=1, max_length=100_000, examples=["Who designed the bridge?"])]
    strategy: Annotated[str, Meta(max_length=100, examples=["auto", "chunk", "path"])] = "auto"
    unit: Literal["statement", "chunk", "summary", "mixed"] | None = None
    where: Where | None = None
    diversity: Annotated[float, Meta(ge=0, le=1)] | None = None
    tabular: bool = False
    as_of: Annotated[str, Meta(max_length=100)] | Annotated[int, Meta(ge=0)] | None = None


class SearchAsked(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search; ``mode`` says how seeds are found, ``k`` is the number of pieces of evidence."""

    k: Annotated[int, Meta(ge=1, le=10_000)] = SEARCH_K
    mode: Literal["vector", "text", "hybrid"] = "vector"


class AnswerAsked(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to answer.

    Attributes
    ----------
    k : pieces of evidence that are considered
    mode : ``short``, or ``report`` from many pieces
    search_mode : how seeds are found
    context_tokens : tokens of evidence that one call of the chat model reads
    unsupported : ``flag`` marks sentences that their evidence does not support, ``drop`` removes them
    verify : who decides that: ``lexical`` compares words, ``chat`` asks the chat model
    least_support : evidence that covers a smaller share of the question is ignored
    choices : texts from which the answer is chosen
    style : ``reason`` asks the chat model for its reason before the answer
    """

    k: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    mode: Literal["short", "report"] = "short"
    search_mode: Literal["vector", "text", "hybrid"] = "vector"
    context_tokens: Annotated[int, Meta(ge=200, le=1_000_000)] = 8_000
    unsupported: Literal["flag", "drop"] = "flag"
    verify: Literal["lexical", "chat"] = "lexical"
    least_support: Annotated[float, Meta(ge=0, le=1)] | None = None
    choices: Annotated[list[Named], Meta(min_length=2, max_length=26)] | None = None
    style: Literal["plain", "reason", "aligned"] = "plain"


class SourceNamed(Struct, frozen=True, kw_only=True):
    """A source as evidence names it."""

    id: str
    uri: str
    title: str
    metadata: dict[str, Any] = {}


class Piece(Struct, frozen=True, kw_only=True):
    """A piece of evidence: its text, and the characters ``start`` to ``end`` of its source."""

    number: int
    id: str
    kind: str
    text: str
    score: float
    chunk_id: str
    start: int
    end: int
    source: SourceNamed
    page: int | None = None
    headings: tuple[str, ...] = ()
    why: dict[str, Any] = {}
    labels: tuple[str, ...] = ()
    is_stale: bool = False
    rests_on: tuple[Piece, ...] = ()


class Plan(Struct, frozen=True, kw_only=True):
    """How the evidence was found: the strategy with its parameters, and the cost."""

    strategy: str
    unit: str
    mode: str
    parameters: dict[str, Any]
    milliseconds: float
    round_trips: int


class Found(Struct, frozen=True, kw_only=True):
    """Evidence, best first, and how it was found."""

    evidence: tuple[Piece, ...]
    plan: Plan


class Explained(Struct, frozen=True, kw_only=True):
    """Evidence with the whole explanation: in plain words, as data, and as a picture (SVG)."""

    evidence: tuple[Piece, ...]
    plan: Plan
    text: str
    explanation: dict[str, Any]
    picture: str


class Sentence(Struct, frozen=True, kw_only=True):
    """A sentence of an answer, the numbers that it cites, and whether that evidence supports it."""

    text: str
    citations: tuple[int, ...]
    is_supported: bool
    reason: str = ""


class Answered(Struct, frozen=True, kw_only=True):
    """An answer with its citations.

    Attributes
    ----------
    answer : the text, with citation numbers in brackets
    is_supported : whether the cited evidence supports at least one sentence
    citations : the cited evidence, by number
    sentences, dropped : the checked sentences, and unsupported ones that were removed
    uncited : sentences without a citation
    left_out : pieces of evidence that did not fit into the context
    is_truncated : the chat model reached its length limit
    made_by : the prompt and the model; empty without a chat model
    reason : why an answer without a chat model is not supported
    """

    question: str
    answer: str
    is_supported: bool
    citations: tuple[Piece, ...]
    sentences: tuple[Sentence, ...] = ()
    dropped: tuple[Sentence, ...] = ()
    uncited: tuple[str, ...] = ()
    choice: dict[str, Any] | None = None
    uncovered: tuple[str, ...] = ()
    reason: str = ""
    left_out: int = 0
    is_truncated: bool = False
    made_by: str = ""
    checked_by: str = ""
    usage: dict[str, Any] = {}


class Corpus(Struct, frozen=True, kw_only=True):
    """A corpus that the caller may ask. Counts are given to callers who may see every source."""

    name: str
    records: dict[str, int] | None = None
    embedding: str | None = None
    fields: dict[str, list[str]] | None = None


class Corpora(Struct, frozen=True, kw_only=True):
    """The corpora that the caller may ask, by name."""

    corpora: tuple[Corpus, ...]


class GivenDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document to ingest; ``uri`` identifies it for good, and a later document of the same uri replaces it."""

    uri: Annotated[str, Meta(min_length=1, max_length=2_000, examples=["notes/bridge"])]
    text: Annotated[str, Meta(examples=["Mara Quill designed the Aldane Bridge."])]
    title: Annotated[str, Meta(max_length=2_000)] = ""
    metadata: dict[str, str | int | float | bool | list[str | int | float | bool]] = {}


class IngestOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How sources are read and extracted.

    Attributes
    ----------
    acl : groups of new sources that name none
    extract : ``local`` by rules, ``chat`` by the chat model
    is_chunked : each document is one chunk
    format, mapping, encoding : how files are read
    max_tokens, max_usd : budget of the chat model
    """

    acl: Annotated[list[Named], Meta(max_length=100)] | None = None
    extract: Literal["local", "spacy", "chat"] = "local"
    is_chunked: bool = False
    format: Annotated[str, Meta(max_length=50)] | None = None
    mapping: dict[str, str] = {}
    encoding: Annotated[str, Meta(max_length=50)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_usd: Annotated[float, Meta(gt=0)] | None = None


class IngestAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Documents to ingest, or paths of the server: files, folders and ``s3://`` addresses under its roots. One of the two."""

    documents: Annotated[list[GivenDocument], Meta(max_length=10_000)] = []
    paths: Annotated[list[Annotated[str, Meta(min_length=1, max_length=4_000)]], Meta(max_length=1_000)] = []
    options: IngestOptions = IngestOptions()


JobState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request failed (RFC 9457), what mends it, and whether the same request may succeed later."""

    type: str
    title: str
    status: int
    detail: str
    mend: str = ""
    retryable: bool = msgspec.field(default=False)
    id: str = ""

    def to_tree(self) -> dict[str, Any]:
        """The members, with ``mend`` and ``retryable`` in any case."""
        return {**msgspec.to_builtins(self), "mend": self.mend, "retryable": self.retryable}

    def public(self) -> Problem:
        """For callers who do not operate: errors of stores, models and settings name addresses and folders of the server."""
        kind = getattr(errors, self.type.rpartition(":")[2], Exception)
        if not issubclass(kind, _OF_OPERATORS):
            return self
        mend = next(row[3] for row in _PROBLEMS if issubclass(kind, row[0]))
        return msgspec.structs.replace(self, detail=f"{self.title[:1].lower()}{self.title[1:]}; {mend}", mend=mend)


class Job(Struct, frozen=True, kw_only=True):
    """An ingest that goes on behind the answer 202.

    Attributes
    ----------
    state : ``queued``, ``running``, then ``done``, ``failed``, ``cancelled``, or ``interrupted``: the server was killed, and what
        the job needs is gone; ``problem`` has the mend
    progress : the step, and the counts so far
    report : what was ingested, once the job is done
    attempts : how often it was begun: a killed server begins it again. A begin that a stop of the server ended is not counted
    """

    id: str
    corpus: str
    state: JobState
    created: str
    updated: str
    attempts: int = 0
    progress: dict[str, Any] | None = None
    report: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        """Whether it will not change any more."""
        return self.state not in ("queued", "running")


class Jobs(Struct, frozen=True, kw_only=True):
    """Jobs, the newest first."""

    jobs: tuple[Job, ...]


class Health(Struct, frozen=True, kw_only=True):
    """Whether the process answers (``health``), or its stores can be used (``ready``)."""

    status: Literal["ok", "unavailable"]
    version: str
    checks: tuple[dict[str, Any], ...] = ()


class PageAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many entries are listed."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


class ListAsked(PageAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which records are listed: those that sources within a filter assert, from a page on (``after`` of the page before)."""

    where: Annotated[str, Meta(max_length=10_000, examples=["year >= 2023"])] | None = None
    after: Annotated[str, Meta(min_length=1, max_length=200, examples=["0f7a94f6dcbde7d5038038302d3113bf"])] | None = (
        None
    )
    as_of: Annotated[str, Meta(max_length=100, examples=["2024-03-05"])] | None = None


class EntitiesAsked(ListAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entities are listed; ``name``: those whose name has these words, the best match first.

    A page looks at 20,000 entities at most.
    """

    name: Annotated[str, Meta(min_length=1, max_length=500, examples=["bridge"])] | None = None


class OpenAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is shown of an entity or a fact: what sources within a filter assert, ``limit`` facts, neighbours or statements.

    ``skip``: the number of the first of them that are left out.
    """

    where: Annotated[str, Meta(max_length=10_000, examples=["year >= 2023"])] | None = None
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 20
    skip: Skip = 0
    as_of: Annotated[str, Meta(max_length=100, examples=["2024-03-05"])] | None = None


class SourceAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The moment of which a source, or the counts of a corpus, are shown."""

    as_of: Annotated[str, Meta(max_length=100, examples=["2024-03-05"])] | None = None


class PathAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    """Two entities, by id or name, and how many facts may lead from one to the other."""

    start: Annotated[Named, Meta(examples=["Mara Quill"])]
    end: Annotated[Named, Meta(examples=["Aldane Bridge"])]
    hops: Annotated[int, Meta(ge=1, le=6)] = 4
    where: Annotated[str, Meta(max_length=10_000, examples=["year >= 2023"])] | None = None


class Span(Struct, frozen=True, kw_only=True):
    """A chunk or a statement of a source: the characters ``start`` to ``end`` of its text."""

    id: str
    text: str
    start: int
    end: int
    chunk_id: str = ""
    page: int | None = None
    headings: tuple[str, ...] = ()


class SourcesListed(Struct, frozen=True, kw_only=True):
    """Sources by id; ``after`` is where the next page begins, ``total`` the number of all."""

    sources: tuple[SourceNamed, ...]
    total: int
    after: str | None = None


class SourceOpened(Struct, frozen=True, kw_only=True):
    """A source with its text, its chunks and its statements, by place."""

    source: SourceNamed
    text: str
    chunks: tuple[Span, ...]
    statements: tuple[Span, ...]


class EntityNamed(Struct, frozen=True, kw_only=True):
    """An entity: its most frequent name, its kind, and all names that mention it."""

    id: str
    name: str
    kind: str = ""
    names: tuple[str, ...] = ()


class EntitiesListed(Struct, frozen=True, kw_only=True):
    """Entities by id, those of a name by relevance; ``total`` is the number of all, if no name was asked for."""

    entities: tuple[EntityNamed, ...]
    total: int | None = None
    after: str | None = None


class FactNamed(Struct, frozen=True, kw_only=True):
    """A fact in words, and the entities at its ends; a literal has no ``object_id``."""

    id: str
    text: str
    subject_id: str
    subject: str
    predicate: str
    object: str
    object_id: str | None = None


class FactsListed(Struct, frozen=True, kw_only=True):
    """Facts by id."""

    facts: tuple[FactNamed, ...]
    total: int
    after: str | None = None


class Said(Struct, frozen=True, kw_only=True):
    """A statement that supports a fact, and the characters of its source."""

    id: str
    text: str
    start: int
    end: int
    chunk_id: str
    source: SourceNamed | None


class FactOpened(Struct, frozen=True, kw_only=True):
    """A fact, some of the statements that support it, and the number of all."""

    fact: FactNamed
    statements: tuple[Said, ...]
    total: int


class NeighbourNamed(Struct, frozen=True, kw_only=True):
    """An entity, and the number of statements that mention it together with another one."""

    entity: EntityNamed
    statements: int


class EntityOpened(Struct, frozen=True, kw_only=True):
    """An entity with the facts about it, its neighbours, and the entities that were merged with it, most supported first.

    ``is_cut``: the counts are lower bounds.
    """

    entity: EntityNamed
    merged: tuple[EntityNamed, ...]
    facts: tuple[FactOpened, ...]
    fact_count: int
    neighbours: tuple[NeighbourNamed, ...]
    neighbour_count: int
    statement_count: int
    is_cut: bool = False


class PathFound(Struct, frozen=True, kw_only=True):
    """The facts that lead from one entity to the other, and the entities on the way; both are empty if there is no such path.

    ``is_complete``: every fact was looked at, so that there is no shorter path.
    """

    entities: tuple[EntityNamed, ...]
    facts: tuple[FactOpened, ...]
    is_complete: bool


class CommunitiesAsked(PageAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which communities are listed: ``level`` 0 is the finest, ``names`` the number of members that are named.

    ``skip``: the number of the first communities that are left out.
    """

    skip: Skip = 0

    level: Annotated[int, Meta(ge=0, le=100, examples=[0])] | None = None
    names: Annotated[int, Meta(ge=0, le=100)] = 10


class CommunityNamed(Struct, frozen=True, kw_only=True):
    """A community: its level from 0 (the finest), its size, and the names of its first members."""

    id: str
    level: int
    size: int
    parent_id: str | None = None
    names: tuple[str, ...] = ()


class CommunitiesFound(Struct, frozen=True, kw_only=True):
    """Communities, the finest level first, the largest first within a level; ``total`` of all.

    ``is_stale``: the corpus has changed since.
    """

    communities: tuple[CommunityNamed, ...]
    total: int
    is_stale: bool = False
    has_more: bool = False


class MapAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many entities and links are on the map; ``community``: only the entities of this one."""

    community: Id | None = None
    limit: Annotated[int, Meta(ge=1, le=2_000)] = 500
    edges: Annotated[int, Meta(ge=0, le=10_000)] = 5_000


class MapNode(Struct, frozen=True, kw_only=True):
    """An entity of the map: its community of the finest level, and the number of entities that it is linked with."""

    id: str
    name: str
    kind: str
    community_id: str
    degree: int


class MapEdge(Struct, frozen=True, kw_only=True):
    """A link of two entities; ``weight`` is the number of their facts and of their common chunks."""

    start: str
    end: str
    weight: float


class MapFound(Struct, frozen=True, kw_only=True):
    """The most linked entities, and the links between them, the heaviest first; the totals are those of all."""

    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
    node_total: int
    edge_total: int
    is_stale: bool = False


class SummariesAsked(PageAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which summaries are listed: those of one ``level``, or all."""

    level: Annotated[int, Meta(ge=0, le=100, examples=[0])] | None = None


class SummaryNamed(Struct, frozen=True, kw_only=True):
    """A summary of the hierarchy."""

    id: str
    level: int
    text: str
    size: int


class SummariesFound(Struct, frozen=True, kw_only=True):
    """Summaries, the highest layer first; ``waiting`` communities have none until the next build."""

    summaries: tuple[SummaryNamed, ...]
    waiting: int = 0
    is_stale: bool = False
    has_more: bool = False


class MergesAsked(PageAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which decisions are listed; ``entity``: those about this one; ``skip``: the number of the first that are left out."""

    entity: Id | None = None
    skip: Skip = 0
    verdict: Literal["same", "different", "open"] | None = None


class MergeAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pairs of entities, by name or id: the first of each becomes an alias of the second, or both are kept apart."""

    pairs: Annotated[
        list[tuple[Named, Named]], Meta(min_length=1, max_length=1_000, examples=[[["M. Quill", "Mara Quill"]]])
    ]
    keep_apart: bool = False
    why: Annotated[str, Meta(max_length=2_000)] = ""


class DecisionNamed(Struct, frozen=True, kw_only=True):
    """A decision about two entities; ``verdict`` is ``same``, ``different`` or ``open``."""

    id: str
    alias: str
    canonical: str
    verdict: str
    by: str
    made_by: str
    why: str
    at: str
    names: dict[str, str] = {}


class Merged(Struct, frozen=True, kw_only=True):
    """Decisions, the newest first, and the number of all."""

    decisions: tuple[DecisionNamed, ...]
    total: int | None = None
    has_more: bool = False


class Stats(Struct, frozen=True, kw_only=True):
    """Counts of a corpus, and its embedding model."""

    corpus: str
    version: int
    embedding: str
    dimensions: int
    records: dict[str, int]
    relationships: dict[str, int]
    fields: dict[str, list[str]]


class Removed(Struct, frozen=True, kw_only=True):
    """What a deletion removed."""

    report: dict[str, Any]


# From records to data.


def encoded(value: object) -> bytes:
    """The JSON of data."""
    return msgspec.json.encode(value, enc_hook=plain)


def decoded(data: bytes, kind: type[T]) -> T:
    """The request in the body.

    Parameters
    ----------
    data : the body
    kind : the class of the request

    Raises
    ------
    InputError
        It is not JSON, has an unknown field, or a value that cannot be used.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(error) from error


def converted(values: Mapping[str, object], kind: type[T]) -> T:
    """The request in the query string.

    Parameters
    ----------
    values : texts by name
    kind : the class of the request

    Raises
    ------
    InputError
        A name is unknown, or a value cannot be used.
    """
    try:
        return msgspec.convert(values, type=kind, strict=False)
    except msgspec.ValidationError as error:
        raise _refused(error) from error


def _refused(error: Exception) -> errors.InputError:
    said = str(error) or "the nesting is too deep"
    return errors.InputError(f"{said}; compare it with the schema in /v1/openapi.json")


def shaped(kind: type[S], record: object, /, **others: Any) -> S:
    """A record as data of a class, which has the attributes of the record by the same names.

    Parameters
    ----------
    kind : the class
    record : the record
    others : fields that are not attributes of the record, or differ from them

    Examples
    --------
    >>> shaped(EntityNamed, _QUILL, names=("M. Quill",))
    EntityNamed(id='22bb', name='Mara Quill', kind='person', names=('M. Quill',))
    """
    names = _shared(kind, type(record))  # type: ignore[arg-type] # mypy takes the class of any record for unhashable
    return kind(**{name: getattr(record, name) for name in names if name not in others}, **others)


@cache
def _shared(kind: type[Struct], of: type) -> tuple[str, ...]:
    """The fields of a class that records of another class have."""
    own = getattr(of, "__dataclass_fields__", {})
    return tuple(name for name in kind.__struct_fields__ if name in own or hasattr(of, name))


def piece_of(evidence: Evidence, number: int) -> Piece:
    """A piece of evidence as data.

    Parameters
    ----------
    evidence : the evidence
    number : its number in the result, from 1
    """
    return shaped(
        Piece,
        evidence,
        number=number,
        kind=evidence.kind.value,
        score=float(evidence.score),
        source=source_of(evidence.source),
        why=dict(evidence.why),
        rests_on=pieces_of(evidence.rests_on),
    )


def source_of(source: Source) -> SourceNamed:
    """A source as data. The number of its version is left out: it counts edits that a caller may not see."""
    return shaped(SourceNamed, source, metadata=dict(source.metadata))


def opened_source_of(details: SourceDetails) -> SourceOpened:
    """A source with its text as data."""
    return shaped(
        SourceOpened,
        details,
        source=source_of(details.source),
        chunks=tuple(shaped(Span, chunk) for chunk in details.chunks),
        statements=tuple(shaped(Span, statement) for statement in details.statements),
    )


def entity_of(entity: Entity) -> EntityNamed:
    """An entity as data."""
    return shaped(EntityNamed, entity, names=entity.aliases)


def opened_fact_of(details: SupportedFact) -> FactOpened:
    """A fact with its statements as data."""
    sources = {name: source_of(source) for name, source in details.sources.items()}
    statements = tuple(shaped(Said, said, source=sources.get(said.source_id)) for said in details.statements)
    return FactOpened(fact=shaped(FactNamed, details.fact), statements=statements, total=details.total)


def opened_entity_of(details: EntityDetails) -> EntityOpened:
    """An entity with what is around it as data."""
    return shaped(
        EntityOpened,
        details,
        entity=entity_of(details.entity),
        merged=tuple(map(entity_of, details.merged)),
        facts=tuple(map(opened_fact_of, details.facts)),
        neighbours=tuple(shaped(NeighbourNamed, near, entity=entity_of(near.entity)) for near in details.neighbours),
    )


def pieces_of(evidence: Sequence[Evidence]) -> tuple[Piece, ...]:
    """Pieces of evidence as data, numbered from 1."""
    return tuple(piece_of(part, number) for number, part in enumerate(evidence, 1))


def plan_of(explain: Explanation) -> Plan:
    """How the evidence was found, in short."""
    return shaped(Plan, explain, parameters=dict(explain.parameters))


def found_of(result: SearchResult) -> Found:
    """The result of a search as data."""
    return Found(evidence=pieces_of(result.evidence), plan=plan_of(result.explain))


def explained_of(result: SearchResult) -> Explained:
    """The result of an explained search as data."""
    explain = result.explain
    tree = msgspec.to_builtins(explain, enc_hook=plain)
    picture = explain.to_svg() if result.evidence else ""
    return shaped(Explained, found_of(result), text=explain.to_text(), explanation=tree, picture=picture)


def answered_of(answer: Answer) -> Answered:
    """An answer as data."""
    return shaped(
        Answered,
        answer,
        answer=answer.text,
        citations=tuple(piece_of(citation.evidence, citation.number) for citation in answer.citations),
        sentences=tuple(shaped(Sentence, part) for part in answer.sentences),
        dropped=tuple(shaped(Sentence, part) for part in answer.dropped),
        choice=None if answer.choice is None else msgspec.to_builtins(answer.choice, enc_hook=plain),
        usage=msgspec.to_builtins(answer.search, enc_hook=plain),
    )


def report_of(report: Report) -> dict[str, Any]:
    """The report of an ingest or a deletion as data."""
    counts = ("added", "changed", "unchanged", "removed", "gone")
    return {
        "sources": {name: getattr(report, f"sources_{name}") for name in counts},
        "failed": [{"uri": failure.uri, "error": failure.error} for failure in report.failed],
        "problems": [{"uri": problem.uri, "error": problem.error} for problem in report.problems],
        "warnings": [{"uri": warning.uri, "warning": warning.error} for warning in report.warnings],
        "added": dict(report.added),
        "removed": dict(report.removed),
        "resumed": report.resumed,
        "kept_in_history": report.kept_in_history,
        "usage": None if report.usage is None else msgspec.to_builtins(report.usage, enc_hook=plain),
        "seconds": {step: round(seconds, 3) for step, seconds in report.seconds.items()},
    }


# Problems.


def error_of(problem: Problem) -> dict[str, Any]:
    """A problem in the shape of OpenAI, whose clients show the message."""
    kind = "invalid_request_error" if problem.status < 500 else "server_error"
    code = problem.type.rpartition(":")[2]
    return {"message": problem.detail, "type": kind, "param": None, "code": code}


_PROBLEMS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (errors.CredentialError, 401, "No valid key", "send a key in the header Authorization: Bearer KEY"),
    (errors.AccessError, 403, "Not allowed", "ask with a key that has the right"),
    (errors.LimitError, 413, "Too large", "send less at once"),
    (errors.UnknownNameError, 404, "Not found", "list what there is, and choose one of it"),
    (errors.HoldError, 409, "Under a hold", "release the hold first"),
    (errors.InputError, 400, "The request cannot be used", "change the request"),
    (errors.BusyError, 429, "Too many calls", "send the same request again later"),
    (errors.DeadlineError, 504, "Took too long", "ask for less, or send the same request again later"),
    (errors.StoreLockedError, 409, "Another process is writing", "send the same request again later"),
    (errors.StoreConflictError, 409, "The corpus was changed meanwhile", "send the same request again"),
    (errors.StoreUnavailableError, 503, "The store is unavailable", "send the same request again later"),
    (errors.ModelUnavailableError, 503, "The model is unavailable", "send the same request again later"),
    (errors.BudgetError, 402, "The budget is spent", "raise the budget, then send the same request again"),
    (errors.ModelFilterError, 422, "The provider of the model refused", "change the question"),
    (errors.ModelError, 502, "The model failed", "tell the operator of the server"),
    (errors.MissingExtraError, 501, "Not installed on the server", "tell the operator of the server"),
    (errors.HLGraphError, 500, "The server failed", "tell the operator of the server"),
)

_ROUTES_OF_COMMANDS: Mapping[str, str] = {
    "hlgraph sources lists them": "GET /v1/corpora/CORPUS/sources lists them",
    "hlgraph entities lists them": "GET /v1/corpora/CORPUS/entities lists them",
    "hlgraph show ENTITY lists those": "GET /v1/corpora/CORPUS/entities/ENTITY lists those",
}

_OF_OPERATORS = (
    errors.ClusterError,
    errors.MigrationError,
    errors.ModelError,
    errors.SettingsError,
    errors.StoreError,
)


def problem_of(error: Exception, *, operates: bool = False, id: str = "") -> Problem:  # noqa: A002
    """The problem document of an error. What it does not say to its caller is in the log.

    Parameters
    ----------
    error : the error; one that is not of hlgraph is a bug, of which nothing is said
    operates : whether the caller may operate; others get :meth:`Problem.public`
    id : id of the request, which the log of the server has too

    Examples
    --------
    >>> problem = problem_of(errors.UnknownNameError("there is no corpus 'x'; ingest something first"))
    >>> problem.status, problem.type, problem.mend, problem.retryable
    (404, 'urn:hlgraph:error:UnknownNameError', 'ingest something first', False)
    >>> problem_of(ZeroDivisionError("division by zero")).detail
    'the server failed; this is a bug in hlgraph'
    >>> problem_of(errors.StoreUnavailableError("bolt://graph.internal:7687: no answer; start it")).detail
    'the store is unavailable; send the same request again later'
    """
    for kind, status, title, mend in _PROBLEMS:
        if isinstance(error, kind):
            said = str(error)
            for command, route in _ROUTES_OF_COMMANDS.items():
                said = said.replace(command, route)
            problem = Problem(
                type=f"urn:hlgraph:error:{type(error).__name__}",
                title=title,
                status=status,
                detail=said,
                mend=said.rpartition("; ")[2] if "; " in said else mend,
                retryable=bool(getattr(error, "retryable", False)),
                id=id,
            )
            if isinstance(error, _OF_OPERATORS):
                _log.warning("%s: %s", type(error).__name__, said)
                return problem if operates else problem.public()
            return problem
    return Problem(
        type="urn:hlgraph:error:internal",
        title="The server failed",
        status=500,
        detail="the server failed; this is a bug in hlgraph",
        mend="report it with the id of this problem",
        id=id,
    )


_SOURCE = SourceNamed(id="1f0c2a", uri="notes/bridge", title="Bridge", metadata={"year": 1931})
_PIECE = Piece(
    number=1,
    id="7be31d",
    kind="statement",
    text="Mara Quill designed the Aldane Bridge.",
    score=0.82,
    chunk_id="90aa4f",
    start=0,
    end=38,
    source=_SOURCE,
)
_PLAN = Plan(strategy="statement", unit="statement", mode="vector", parameters={}, milliseconds=4.2, round_trips=3)
_JOB = Job(id="5c1e", corpus="default", state="queued", created="2026-11-29T01:00:00Z", updated="2026-11-29T01:00:00Z")
_MERGE = DecisionNamed(
    id="c0ffee",
    alias="11aa",
    canonical="22bb",
    verdict="same",
    by="person",
    made_by="key:0a1b2c3d4e5f",
    why="the same person",
    at="2026-11-29T01:00:00Z",
    names={"11aa": "M. Quill", "22bb": "Mara Quill"},
)
_QUILL, _BRIDGE = EntityNamed(id="22bb", name="Mara Quill", kind="person"), EntityNamed(id="33cc", name="Aldane Bridge")
_FACT = FactNamed(
    id="5d5d",
    text="Mara Quill designed Aldane Bridge",
    subject_id="22bb",
    subject="Mara Quill",
    predicate="designed",
    object="Aldane Bridge",
    object_id="33cc",
)
_SUPPORTED = FactOpened(
    fact=_FACT,
    statements=(Said(id="7be31d", text=_PIECE.text, start=0, end=38, chunk_id="90aa4f", source=_SOURCE),),
    total=1,
)
EXAMPLES: Mapping[str, Struct] = {
    "EntitiesListed": EntitiesListed(entities=(_QUILL, _BRIDGE), total=2),
    "EntityOpened": EntityOpened(
        entity=_QUILL,
        merged=(),
        facts=(_SUPPORTED,),
        fact_count=1,
        neighbours=(NeighbourNamed(entity=_BRIDGE, statements=1),),
        neighbour_count=1,
        statement_count=1,
    ),
    "FactOpened": _SUPPORTED,
    "FactsListed": FactsListed(facts=(_FACT,), total=1),
    "PathFound": PathFound(entities=(_QUILL, _BRIDGE), facts=(_SUPPORTED,), is_complete=True),
    "SourceOpened": SourceOpened(
        source=_SOURCE,
        text=_PIECE.text,
        chunks=(Span(id="90aa4f", text=_PIECE.text, start=0, end=38),),
        statements=(Span(id="7be31d", text=_PIECE.text, start=0, end=38, chunk_id="90aa4f"),),
    ),
    "SourcesListed": SourcesListed(sources=(_SOURCE,), total=1),
    "AnswerAsked": AnswerAsked(question="Who designed the bridge?"),
    "Answered": Answered(
        question="Who designed the bridge?",
        answer="Mara Quill designed the Aldane Bridge. [1]",
        is_supported=True,
        citations=(_PIECE,),
        sentences=(Sentence(text="Mara Quill designed the Aldane Bridge. [1]", citations=(1,), is_supported=True),),
    ),
    "CommunitiesFound": CommunitiesFound(
        communities=(CommunityNamed(id="4d2e", level=0, size=12, names=("Mara Quill", "Aldane Bridge")),), total=1
    ),
    "MapFound": MapFound(
        nodes=tuple(
            MapNode(id=each.id, name=each.name, kind=each.kind, community_id="4d2e", degree=1)
            for each in (_QUILL, _BRIDGE)
        ),
        edges=(MapEdge(start="22bb", end="33cc", weight=2),),
        node_total=2,
        edge_total=1,
    ),
    "Corpora": Corpora(corpora=(Corpus(name="default"),)),
    "Explained": Explained(
        evidence=(_PIECE,),
        plan=_PLAN,
        text="The statement was seed 1.",
        explanation={"strategy": "statement"},
        picture="<svg/>",
    ),
    "Found": Found(evidence=(_PIECE,), plan=_PLAN),
    "Health": Health(status="ok", version="0.2.0"),
    "IngestAsked": IngestAsked(
        documents=[
            GivenDocument(uri="notes/bridge", text="Mara Quill designed the Aldane Bridge.", metadata={"year": 1931})
        ]
    ),
    "Job": _JOB,
    "Jobs": Jobs(jobs=(_JOB,)),
    "MergeAsked": MergeAsked(pairs=[("M. Quill", "Mara Quill")], why="the same person"),
    "Merged": Merged(decisions=(_MERGE,)),
    "Problem": problem_of(
        errors.UnknownNameError("there is no corpus 'x'; GET /v1/corpora lists those that you may ask")
    ),
    "Removed": Removed(report={"sources": {"removed": 1}}),
    "SearchAsked": SearchAsked(question="Who designed the bridge?", k=5),
    "Stats": Stats(
        corpus="default",
        version=3,
        embedding="all-MiniLM-L6-v2",
        dimensions=384,
        records={"source": 8, "statement": 210},
        relationships={"SUPPORTS": 300},
        fields={"year": ["number"]},
    ),
    "SummariesFound": SummariesFound(
        summaries=(SummaryNamed(id="9e8d", level=1, text="The bridge and those who built it.", size=6),)
    ),
}
"""An example of each request and answer, for the documents of the faces."""
