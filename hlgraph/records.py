"""The records that stages hand to each other: frozen, slotted, free of any store.

Words are those of the glossary: a *proposition* is what an extractor proposes, a *statement* is what is stored.
Offsets are counted in Unicode code points of the text of the source, end exclusive: ``text[start:end]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Scalar = str | int | float | bool
MetadataValue = Scalar | tuple[Scalar, ...]
Metadata = Mapping[str, MetadataValue]


class Kind(StrEnum):
    """What a node of the graph is."""

    SOURCE = "source"
    CHUNK = "chunk"
    TOPIC = "topic"
    STATEMENT = "statement"
    FACT = "fact"
    ENTITY = "entity"
    COMMUNITY = "community"
    SUMMARY = "summary"


class Relationship(StrEnum):
    """How two nodes of the graph are joined; the first ten are asserted, the rest derived."""

    FROM_SOURCE = "from_source"
    NEXT = "next"
    IN_CHUNK = "in_chunk"
    ABOUT = "about"
    SUPPORTS = "supports"
    SUBJECT = "subject"
    OBJECT = "object"
    MENTIONS = "mentions"
    RELATES = "relates"
    CO_OCCURS = "co_occurs"
    SYNONYM = "synonym"
    SAME_AS = "same_as"
    SIMILAR = "similar"
    MEMBER_OF = "member_of"
    PART_OF = "part_of"
    SUMMARISES = "summarises"


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that was read, before it is a source.

    ``uri`` names it for good; ``key`` is the identifier that the row itself carried (JSON lines, CSV), if any.
    Headings in ``text`` are written as Markdown (``# ``) by the readers of formats that have them.
    ``page_starts`` holds the offset at which each page begins (PDF), else nothing.
    """

    uri: str
    text: str
    title: str = ""
    metadata: Metadata = field(default_factory=dict)
    key: str | None = None
    page_starts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a document that becomes a chunk: offsets, size in tokens and the headings that it stands under."""

    start: int
    end: int
    tokens: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as a text names it; ``kind`` is a lower-case word such as ``person``, ``date``, or empty."""

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Triple:
    """Subject, predicate, object as words. ``is_literal``: the object is a complement, not an entity."""

    subject: str
    predicate: str
    object: str
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class Proposition:
    """One assertion that an extractor proposes; ``start`` and ``end`` are relative to the text of the chunk."""

    text: str
    start: int
    end: int
    topics: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in one chunk; ``problem`` says why it is empty or partial (reported, never dropped).

    ``is_failed``: nothing was found out about the chunk, so what is stored of it stays, and the next ingest tries again.
    """

    propositions: tuple[Proposition, ...] = ()
    topics: tuple[str, ...] = ()
    problem: str = ""
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """One thing that we read, as the graph knows it; ``version`` counts the states of its text from 1."""

    id: str
    corpus: str
    uri: str
    title: str
    checksum: str
    metadata: Metadata = field(default_factory=dict)
    version: int = 1
    valid_from: str | None = None
    valid_to: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of one source.

    ``fingerprint`` tells what its extraction was made from: a hash, then who made it (for a chat model: the versions of the
    prompts, and the model).
    """

    id: str
    source_id: str
    text: str
    start: int
    end: int
    position: int
    tokens: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """A theme inside one source."""

    id: str
    source_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One self-contained assertion, the unit of evidence; its span is that of the words it was made from."""

    id: str
    source_id: str
    text: str
    start: int = 0
    end: int = 0
    chunk_id: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """Subject, predicate, object: one record for the whole corpus. ``object_id`` is None for a literal complement."""

    id: str
    corpus: str
    subject_id: str
    predicate: str
    object_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing after resolution: its most frequent name and kind, and all names that mention it."""

    id: str
    corpus: str
    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Community:
    """A cluster found by Leiden."""

    id: str
    corpus: str
    level: int
    size: int
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Text written about a community or a long source, with the hash of what it was made from."""

    id: str
    corpus: str
    text: str
    level: int
    input_hash: str
    is_stale: bool = False


Record = Source | Chunk | Topic | Statement | Fact | Entity | Community | Summary


@dataclass(frozen=True, slots=True)
class Hit:
    """A node that a search found. Higher scores are better, always."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What retrieval gives: a text with its provenance down to the character span, a score, and why it is here.

    ``statement_id`` is empty when the unit of retrieval is the chunk. ``labels``: what the tables of its chunk say about its
    numbers, where the request asked for that; they are no part of ``text``, which is what the source is cited for.
    """

    text: str
    score: float
    chunk_id: str
    start: int
    end: int
    source: Source
    statement_id: str = ""
    page: int | None = None
    headings: tuple[str, ...] = ()
    why: Mapping[str, float | str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Domain:
    """What a corpus is about, as the prompts of an extraction by a chat model name it; see HLG, section 6.2, step 2.

    Attributes
    ----------
    kinds : of entities that matter in it, such as ``financial ratio``; empty: none are named
    topics : that its texts come back to, such as ``market risk``; empty: none are named
    made_by : prompt and model that inferred it; empty: a person
    """

    kinds: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """The ``[n]`` of an answer and the evidence behind it."""

    number: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer, with its marks, the numbers that it cites, and whether the cited evidence supports it.

    ``reason`` says why it is not supported, else it is empty.
    """

    text: str
    citations: tuple[int, ...]
    is_supported: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The one of several given answers that the evidence speaks for; ``index`` counts from 0, as they were given.

    ``scores``: how far evidence supports each, from 0 to 1, and ``margin``: by how much the best is ahead of the second;
    empty and None where a chat model chose, since it gives a letter and no figures.
    """

    index: int
    text: str
    margin: float | None = None
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, its citations, and whether the corpus supports one at all.

    Attributes
    ----------
    is_supported : the cited evidence supports at least one sentence of it
    uncited : sentences of a chat model's answer that cite nothing
    dropped_citations : how many it cited that there are not, which were taken out of the text
    made_by : version of the prompt and model, where a model wrote it
    sentences : of the text, each checked against the evidence that it cites
    dropped : sentences that were taken out of the text because nothing supports them; their numbers are those of the reply
    checked_by : ``lexical``, or version of the prompt and model of the judge; empty: nothing was checked
    left_out : pieces of evidence that had no room in the context
    cut : pieces of which the context has the beginning only
    choice : where the question came with choices; None: nothing speaks for any of them
    """

    question: str
    text: str
    citations: tuple[Citation, ...]
    is_supported: bool
    uncited: tuple[str, ...] = ()
    dropped_citations: int = 0
    made_by: str = ""
    sentences: tuple[AnswerSentence, ...] = ()
    dropped: tuple[AnswerSentence, ...] = ()
    checked_by: str = ""
    left_out: int = 0
    cut: int = 0
    choice: Choice | None = None
