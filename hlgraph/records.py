"""The records that stages pass to each other: frozen, slotted, independent of any store.

A *proposition* is what an extractor proposes; a *statement* is what is stored. Offsets count Unicode code points of the text
of the source, with an exclusive end: ``text[start:end]``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from hlgraph.errors import needs_extra

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_Key = TypeVar("T_Key", bound=Hashable)

Scalar = str | int | float | bool
MetadataValue = Scalar | tuple[Scalar, ...]
Metadata = Mapping[str, MetadataValue]
AnyScalar = Scalar | date | Decimal
"""A metadata value as callers may pass it; a :class:`datetime.datetime` is a date, too."""
_PLAIN = frozenset({str, int, float, bool, type(None)})
_MISSING = frozenset({"NAType", "NaTType"})  # of pandas
_FLOAT_DIGITS = 15  # that a float keeps


def plain_scalar(value: object) -> object:
    """A scalar of a library, or of a subclass of a text or number, as a plain one; any other value unchanged.

    Decimals are floats, or texts if a float lacks their digits or they are infinite. What is missing is None; a NaN that is a float
    stays one.

    Parameters
    ----------
    value : a scalar of numpy, pandas or Arrow, or anything else

    Examples
    --------
    >>> import numpy as np
    >>> plain_scalar(np.float32(0.5)), plain_scalar(np.datetime64("2024-03-05", "ns")), plain_scalar(Decimal("1.50"))
    (0.5, datetime.datetime(2024, 3, 5, 0, 0), 1.5)
    """
    if type(value) in _PLAIN:
        return value
    scalar: Any = value.as_py() if hasattr(value, "as_py") else value
    if hasattr(scalar, "dtype") and getattr(scalar, "shape", None) == ():
        plain = scalar.item()
        if getattr(scalar.dtype, "kind", "") in ("m", "M") and isinstance(plain, int):  # nanoseconds
            plain = scalar.astype(f"{scalar.dtype.kind}8[us]").item()
            plain = str(scalar) if isinstance(plain, int) else plain  # beyond the year 9999
        scalar = plain if type(plain) is not type(scalar) else float(plain)
    if isinstance(scalar, Decimal):
        is_kept = scalar.is_finite() and len(scalar.as_tuple().digits) <= _FLOAT_DIGITS
        return float(scalar) if is_kept else None if scalar.is_nan() else str(scalar)
    if isinstance(scalar, str):
        return str.__str__(scalar)
    if isinstance(scalar, int | float) and not isinstance(scalar, bool):
        return int(scalar) if isinstance(scalar, int) else float(scalar)
    if type(scalar).__name__ in _MISSING:
        return None
    return scalar.replace(nanosecond=0) if hasattr(scalar, "nanosecond") else scalar


class Kind(StrEnum):
    """The kind of a node of the graph."""

    SOURCE = "source"
    CHUNK = "chunk"
    TOPIC = "topic"
    STATEMENT = "statement"
    FACT = "fact"
    ENTITY = "entity"
    COMMUNITY = "community"
    SUMMARY = "summary"


class Relationship(StrEnum):
    """The type of an edge of the graph: first the asserted types, then the derived ones."""

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


PAGE_BREAK = "\f"
"""Separates the pages in the text of a document, so that a chunk of several pages shows where each page begins."""


class Detail(NamedTuple):
    """What a file says about a part of its text but does not display, such as the unit of a number in inline XBRL."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read, before it becomes a source.

    Attributes
    ----------
    uri : permanent identifier of the document
    text : its text; readers write headings as Markdown (``#``)
    title : its title; may be empty
    metadata : values by key, for filters; dates and times are compared as such (:func:`hlgraph.text.canonical_time`)
    key : identifier in the row that it was read from (JSON lines, CSV), if any
    page_starts : offset at which each page begins (PDF, PPTX), with a :data:`PAGE_BREAK` before every page but the first; empty for
        formats without pages
    warnings : warnings of the reader, for the report of an ingest; neither stored nor compared
    details : what the file says about parts of the text, in order; statements that cover a part carry it in their details
    """

    uri: str
    text: str
    title: str = ""
    metadata: Mapping[str, AnyScalar | Sequence[AnyScalar | None] | None] = field(default_factory=dict)
    key: str | None = None
    page_starts: tuple[int, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
    details: tuple[Detail, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a document that becomes a chunk: its offsets, its size in tokens, the headings above it, and the lines
    that are needed to read its first block, such as the header of a table (:class:`hlgraph.text.Context`).
    """

    start: int
    end: int
    tokens: int
    headings: tuple[str, ...] = ()
    above: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as a text names it; ``kind`` is a lower-case word such as ``person`` or ``date``, or empty."""

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Triple:
    """Subject, predicate and object as words; ``is_literal`` means that the object is a literal, not an entity."""

    subject: str
    predicate: str
    object: str
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class Proposition:
    """An assertion that an extractor proposes; ``start`` and ``end`` are offsets in the text of the chunk."""

    text: str
    start: int
    end: int
    topics: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of extracting one chunk.

    Attributes
    ----------
    propositions : assertions, in the order of the text
    topics : names of topics of the chunk
    problem : why the result is empty or partial, for the report; otherwise empty
    is_failed : the extraction failed; the stored records of the chunk stay, and the next ingest retries
    dropped : number of entries, or parts of entries, in a model's replies that could not be read
    ungrounded : number of propositions that were left out because the chunk does not support them
    """

    propositions: tuple[Proposition, ...] = ()
    topics: tuple[str, ...] = ()
    problem: str = ""
    is_failed: bool = False
    dropped: int = 0
    ungrounded: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A source in the graph; ``version`` counts the states of its text from 1."""

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

    Attributes
    ----------
    id : content id
    source_id : its source
    text : its text
    start : offset of its first character in the text of the source
    end : offset after its last character
    position : its index among the chunks of the source, from 0
    tokens : its size in tokens
    headings : titles of the headings above it
    page : number of its first page, from 1; None for formats without pages
    fingerprint : hash of the inputs of its extraction, then the extractor (for a chat model: versions of the prompts, model)
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
    """A self-contained assertion, the unit of evidence; its span covers the words that it was extracted from."""

    id: str
    source_id: str
    text: str
    start: int = 0
    end: int = 0
    chunk_id: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """Subject, predicate and object, stored once per corpus. ``object_id`` is None if the object is a literal."""

    id: str
    corpus: str
    subject_id: str
    predicate: str
    object_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity after resolution: its most frequent name and kind, and all names that mention it."""

    id: str
    corpus: str
    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Community:
    """A cluster of nodes found by Leiden; level 0 is the finest, ``size`` the number of members."""

    id: str
    corpus: str
    level: int
    size: int
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a community or a long source, with the hash of its inputs and of the states of its sources."""

    id: str
    corpus: str
    text: str
    level: int
    input_hash: str
    is_stale: bool = False


Record = Source | Chunk | Topic | Statement | Fact | Entity | Community | Summary
RECORD_TYPES: Mapping[Kind, type[Source | Chunk | Topic | Statement | Fact | Entity]] = {
    Kind.SOURCE: Source,
    Kind.CHUNK: Chunk,
    Kind.TOPIC: Topic,
    Kind.STATEMENT: Statement,
    Kind.FACT: Fact,
    Kind.ENTITY: Entity,
}
"""The classes of the records that a graph store reads by id."""
KIND_OF: Mapping[type, Kind] = {record_type: kind for kind, record_type in RECORD_TYPES.items()}
"""Their kinds."""


_CELL = 60  # characters of a cell of a printed table


class Tabular:
    """Records that convert to pandas or Arrow (extra ``frames``). A subclass must define :meth:`_rows`."""

    __slots__ = ()

    def _rows(self) -> Iterable[Mapping[str, object]]:
        """Each record as a flat mapping from column to value."""
        raise NotImplementedError

    def _columns(self) -> tuple[str, ...]:
        """The first columns of the table; an empty table has them, too."""
        return ()

    def to_pandas(self) -> DataFrame:
        """A pandas data frame with one row per record. Raises MissingExtraError without the extra ``frames``."""
        with needs_extra("frames", "a data frame"):
            import pandas as pd
        rows = list(self._rows())
        return pd.DataFrame(rows, columns=self._all_columns(rows))

    def to_arrow(self) -> Table:
        """An Arrow table with one row per record. A column with values of several types becomes text.

        Raises MissingExtraError without the extra ``frames``.
        """
        with needs_extra("frames", "an Arrow table"):
            import pyarrow as pa
        rows = list(self._rows())
        columns = {}
        for name in self._all_columns(rows):
            values = [row.get(name) for row in rows]
            try:
                columns[name] = pa.array(values)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                columns[name] = pa.array([None if value is None else _text(value) for value in values])
        return pa.table(columns)

    def _all_columns(self, rows: Sequence[Mapping[str, object]]) -> list[str]:
        return list(dict.fromkeys((*self._columns(), *(name for row in rows for name in row))))


class Listing(Tabular, Sequence[T_co], Generic[T_co]):
    """A sequence of records that prints as a table, renders in notebooks, and converts to pandas or Arrow.

    A subclass must define :meth:`_rows` and may override the rest.
    """

    __slots__ = ()

    def _printed(self) -> tuple[str, ...]:
        """The columns that are printed."""
        return self._columns()

    def _footer(self) -> str:
        """A line below the printed table, or an empty string."""
        return ""

    def __str__(self) -> str:
        head, rows = self._printed(), list(self._rows())
        cells = [head, *(tuple(_cell(row.get(name)) for name in head) for row in rows)] if rows else []
        widths = [max(len(row[at]) for row in cells) for at in range(len(head))] if rows else []
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join(line.rstrip() for line in (*lines, self._footer()) if line)

    def _repr_html_(self) -> str:
        head = self._printed()
        rows = [[_cell(row.get(name)) for name in head] for row in self._rows()]
        return f"{as_html_table(head, rows)}<p>{escape(self._footer())}</p>"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _cell(value: object) -> str:
    """A value on one line, shortened if it is long."""
    if value is None:
        return ""
    text = f"{value:.3f}" if isinstance(value, float) else " ".join(_text(value).split())
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def as_html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML; every cell is escaped.

    Parameters
    ----------
    head : names of the columns
    rows : cells of each row

    Examples
    --------
    >>> as_html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True, slots=True)
class Hit:
    """A node found by a search, with its score; higher is better."""

    id: str
    score: float


SEARCH_K, ANSWER_K, REPORT_K, TOOL_K = 10, 20, 200, 8
"""Default ``k``, the number of pieces of evidence, for a search, an answer, a report, and one call of an agent's tool."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A result of retrieval: a text with its provenance, its score, and the reasons for the score.

    It is a chunk, a statement or a summary, see ``kind``. The text of a summary is not part of a source. It rests on the
    chunks and statements in ``rests_on``, and takes ``chunk_id``, ``start``, ``end``, ``source`` and ``page`` from the first.

    Attributes
    ----------
    text : the text that is cited
    score : higher is better
    chunk_id : its chunk
    start : offset of its first character in the text of the source
    end : offset after its last character
    source : its source
    statement_id : its statement; empty for a chunk or a summary
    page : page number, from 1; None for formats without pages
    headings : titles of the headings above it
    why : figures and words, by name, that explain its score
    labels : labels of its numbers from the tables of its chunk, if requested; not part of ``text``
    summary_id : its summary; empty for a part of a source
    is_stale : whether a source that the summary rests on has changed since the build; False for a part of a source
    rests_on : for a summary, all chunks that it rests on, then the statements that it quotes, the most similar to the question
        first, each with its cosine as score
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
    summary_id: str = ""
    is_stale: bool = False
    rests_on: tuple[Evidence, ...] = ()

    @property
    def kind(self) -> Kind:
        """Kind of the evidence: ``summary``, ``statement`` or ``chunk``."""
        return Kind.SUMMARY if self.summary_id else Kind.STATEMENT if self.statement_id else Kind.CHUNK

    @property
    def id(self) -> str:
        """The id of the summary, the statement or the chunk."""
        return self.summary_id or self.statement_id or self.chunk_id

    @property
    def place(self) -> str:
        """Where it is: title, page, nearest heading and characters; for a summary, how many chunks and sources it rests on."""
        if self.summary_id:
            sources = len({part.source.id for part in self.opened})
            stale = " (STALE: a source below has changed since; next: hlgraph hierarchy build)" if self.is_stale else ""
            return f"summary of {counted(len(self.opened), 'chunk')} of {counted(sources, 'source')}{stale}"
        parts = [self.source.title or self.source.uri]
        if self.page is not None:
            parts.append(f"page {self.page}")
        parts.extend(heading for heading in self.headings[-1:] if heading != self.source.title)
        return f"{', '.join(parts)}; characters {self.start}-{self.end} of {self.source.uri}"

    @property
    def opened(self) -> tuple[Evidence, ...]:
        """The parts of sources behind it: the chunks of a summary, otherwise the evidence itself."""
        return tuple(part for part in self.rests_on if not part.statement_id) if self.summary_id else (self,)


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the singular or the plural.

    Parameters
    ----------
    count : the number
    noun : the noun, in the singular

    Examples
    --------
    >>> counted(1, "chunk"), counted(2_431, "source")
    ('1 chunk', '2,431 sources')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Domain:
    """The subject of a corpus, as the prompts of a chat extraction name it (HLG, section 6.2, step 2).

    Attributes
    ----------
    kinds : kinds of entities that matter, such as ``financial ratio``; may be empty
    topics : recurring topics, such as ``market risk``; may be empty
    made_by : prompt and model that inferred it; empty if a person wrote it
    """

    kinds: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scale of the cosines of a corpus, measured on its own vectors; see :mod:`hlgraph.algorithms.calibration`.

    Attributes
    ----------
    names : number of names in the corpus when it was measured
    spread : cosine of a name and its nearest name, minus the cosine of two random names
    entity, statement, chunk : median cosine of two random rows of that kind
    """

    names: int
    spread: float
    entity: float
    statement: float
    chunk: float

    def median(self, kind: Kind) -> float:
        """The median cosine of two random rows of a kind; for kinds that are not measured, the median of statements."""
        return {Kind.ENTITY: self.entity, Kind.CHUNK: self.chunk}.get(kind, self.statement)


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation ``[n]`` of an answer and the evidence that it cites."""

    number: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer and whether the evidence that it cites supports it.

    Attributes
    ----------
    text : the sentence, with its citation marks
    citations : numbers of the citations
    is_supported : whether the cited evidence supports it
    reason : why it is not supported; otherwise empty
    """

    text: str
    citations: tuple[int, ...]
    is_supported: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The one of several given answers that the evidence supports best.

    Attributes
    ----------
    index : its index among the given answers, from 0
    text : its text
    margin : difference between the two best scores; None if a chat model chose
    scores : support of each answer, from 0 to 1; empty if a chat model chose, because it returns only a letter
    """

    index: int
    text: str
    margin: float | None = None
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatUse:
    """Whether rules or a chat model made the decisions that a paper leaves to a model, and the cost of the calls.

    Attributes
    ----------
    by : ``rules`` or ``chat``; empty for a strategy without such steps
    calls : paid calls of the chat model
    kept_calls : calls that were answered by stored replies and cost nothing
    input_tokens, output_tokens : tokens of the paid calls
    fallbacks : number of unusable replies in whose place rules decided, by reason
    """

    by: str = ""
    calls: int = 0
    kept_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    fallbacks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """The evidence that a report by communities was written from, and its cost.

    Attributes
    ----------
    communities : number of communities that were read
    anchors : collected statements
    shown_anchors : collected statements that were read
    statements, passages, summaries : number of pieces of evidence of each kind that were read
    divided : communities that were too large for one call and took several
    calls, kept_calls : paid calls of the chat model, and calls answered by stored replies
    input_tokens, output_tokens : tokens of the paid calls
    points : points in the replies with a usable citation
    used_points : points that the report was written from; the others did not fit or had a score of 0
    rejected_points : points without a citation of the evidence that their call showed
    foreign_citations : removed citations of evidence that the call did not show, such as evidence of another community
    """

    communities: int = 0
    anchors: int = 0
    shown_anchors: int = 0
    statements: int = 0
    passages: int = 0
    summaries: int = 0
    divided: int = 0
    calls: int = 0
    kept_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    points: int = 0
    used_points: int = 0
    rejected_points: int = 0
    foreign_citations: int = 0


EVIDENCE_COLUMNS = (
    *("number", "score", "text", "kind", "id", "uri", "title", "start", "end", "page"),
    *("chunk_id", "source_id", "place"),
)
"""The columns of a table of evidence."""


def evidence_row(number: int, piece: Evidence) -> dict[str, object]:
    """A piece of evidence as a row of a table.

    Parameters
    ----------
    number : its number, from 1
    piece : the evidence
    """
    source = piece.source
    values = (number, piece.score, piece.text, piece.kind.value, piece.id, source.uri, source.title)
    where = (piece.start, piece.end, piece.page, piece.chunk_id, source.id, piece.place)
    return dict(zip(EVIDENCE_COLUMNS, (*values, *where), strict=True))


@dataclass(frozen=True, slots=True)
class Answer(Tabular):
    """An answer with its citations, and whether the evidence supports it. Its table has one row per citation.

    Attributes
    ----------
    question : the question
    text : the text of the answer
    citations : the cited evidence, by number
    is_supported : whether the cited evidence supports at least one sentence; without a model also whether the sentences are
        about the question
    uncited : sentences of a chat model's answer without a citation
    dropped_citations : number of citations of evidence that does not exist; they were removed from the text
    made_by : version of the prompt, and the model that wrote the answer; empty without a model
    sentences : sentences of the text, each checked against the evidence that it cites
    dropped : unsupported sentences that were removed from the text; their citation numbers are those of the reply
    checked_by : ``lexical``, or version of the prompt and model of the judge; ``rows`` for a number computed from table rows;
        empty if nothing was checked
    left_out : number of pieces of evidence that did not fit into the context
    cut : number of pieces of which the context contains only the beginning
    choice : the chosen answer of a question with choices; None if the evidence supports none of them
    search : how the search for the evidence made its decisions, and its calls of the chat model
    report : the evidence of a report; None for other answers, and for reports without a chat model
    is_truncated : a reply of the chat model stopped at its length limit, even at twice the limit; the answer is incomplete
    uncovered : words of the question that no cited piece contains, for an answer without a chat model
    reason : why an answer without a chat model is not supported, as its text says it; empty for others and for refusals
    evidence : all pieces of evidence that were retrieved, best first; ``left_out`` of them did not fit into the context
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
    search: ChatUse = field(default_factory=ChatUse, compare=False)  # answers that differ only in cost are equal
    report: ReportFigures | None = field(default=None, compare=False)
    is_truncated: bool = False
    uncovered: tuple[str, ...] = ()
    reason: str = ""
    evidence: tuple[Evidence, ...] = field(default=(), compare=False, repr=False)

    def _columns(self) -> tuple[str, ...]:
        return EVIDENCE_COLUMNS

    def _rows(self) -> Iterator[Mapping[str, object]]:
        return (evidence_row(each.number, each.evidence) for each in self.citations)

    def __str__(self) -> str:
        """The text, and below it the places that it cites."""
        cited = [f"[{citation.number}] {citation.evidence.place}" for citation in self.citations]
        return "\n".join((self.text, "", *cited) if cited else (self.text,))

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{escape(part)}</p>" for part in self.text.split("\n\n"))
        rows = [(str(each.number), each.evidence.text, each.evidence.place) for each in self.citations]
        mark = "" if self.is_supported else "<p>The evidence does not support it.</p>"
        return f"<h4>{escape(self.question)}</h4>{paragraphs}{mark}{as_html_table(('', 'cites', 'where'), rows) if rows else ''}"


def group_by(items: Iterable[T], key: Callable[[T], T_Key]) -> dict[T_Key, list[T]]:
    """The items by key; keys and items keep their order.

    Parameters
    ----------
    items : the items to group
    key : computes the key of an item

    Examples
    --------
    >>> group_by(["bb", "a", "cc"], len)
    {2: ['bb', 'cc'], 1: ['a']}
    """
    groups: dict[T_Key, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def plain(value: object) -> object:
    """What JSON does not know, as JSON data: a record, a mapping, a path, a number of numpy."""
    if is_dataclass(value):
        import msgspec

        return msgspec.to_builtins(value, enc_hook=plain)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} is no JSON data")
