"""The request of a search, and its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Literal, get_args, overload

from hlgraph.errors import InputError
from hlgraph.records import EVIDENCE_COLUMNS, SEARCH_K, Calibration, ChatUse, Evidence, Listing, Scalar, evidence_row
from hlgraph.retrieve.explain.parts import (
    EvidenceGraph,
    HopTrace,
    NodeTrace,
    PathTrace,
    ResultTrace,
    SeedTrace,
    StoreCost,
)
from hlgraph.stores.trace import Call
from hlgraph.where import Caller, Where, narrowed

Unit = Literal["statement", "chunk", "summary", "mixed"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Mode = Literal["vector", "text", "hybrid"]
MAX_K = 10_000


@dataclass(frozen=True, slots=True)
class View:
    """What a read of a corpus may see.

    Attributes
    ----------
    corpus, where, as_of, caller : as for :class:`SearchRequest`; ``where`` is narrowed to what the others admit
    """

    corpus: str
    where: Where | None = None
    as_of: Where | None = None
    caller: Caller | None = None

    def __post_init__(self) -> None:
        """Narrow the filter."""
        object.__setattr__(self, "where", _narrowed(self.where, self.as_of, self.caller))

    @property
    def is_of_groups(self) -> bool:
        """Whether the caller may see only what names one of its groups."""
        return self.caller is not None and not self.caller.operates


def _narrowed(where: Where | None, as_of: Where | None, caller: Caller | None) -> Where | None:
    of_moment = where if as_of is None else narrowed(where, as_of)
    return of_moment if caller is None else caller.narrowed(of_moment)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One question to one corpus.

    Attributes
    ----------
    question : the question
    corpus : the corpus
    k : number of pieces of evidence (1 to 10,000; default 10)
    unit : ``statement`` or ``chunk``; for a strategy that finds summaries also ``summary``, or ``mixed``: chunks and summaries in
        one ranking. None leaves it to the strategy
    mode : how seeds are searched: by vector (default), by full text, or hybrid (rank fusion of both)
    where : filter over the metadata of sources; it holds on every hop
    diversity : drops evidence whose words repeat better evidence, and takes other evidence in its place: TF-IDF cosine above
        1 - diversity (0 to 1; 0 keeps all). None (default): that of the strategy (HLG 4.3.1); for ``auto`` that of the strategy
        that it picks
    tabular : gives statements with numbers the labels of their tables (default False; HLG 4.3.2)
    explain : records seeds, hops, paths and every query (default False); costs up to seven more round trips at the end
    communities : also return the whole communities of a strategy that collects statements (``global``), for a report (default
        False); costs up to three more round trips at the end
    as_of : admits the versions of sources of one moment, if the corpus is a history (:mod:`hlgraph.ingest.history`); the request
        narrows ``where`` to it. None (default): the present
    caller : who asks; the request narrows ``where`` to what the caller may see. None (default): no caller is named, which a
        corpus with groups refuses

    Raises
    ------
    InputError : a value that cannot be used
    """

    question: str
    corpus: str
    k: int = SEARCH_K
    unit: Unit | None = None
    mode: Mode = "vector"
    where: Where | None = None
    diversity: float | None = None
    tabular: bool = False
    explain: bool = False
    communities: bool = False
    as_of: Where | None = None
    caller: Caller | None = None

    def __post_init__(self) -> None:
        """Reject a request with invalid values before any work is done."""
        if not self.question.strip():
            raise InputError("the question is empty; ask something")
        if not 1 <= self.k <= MAX_K:
            raise InputError(f"k is {self.k}; choose a number from 1 to {MAX_K}")
        if self.unit is not None and self.unit not in UNITS:
            raise InputError(f"unit is {self.unit!r}; choose {', '.join(map(repr, UNITS[:-1]))} or {UNITS[-1]!r}")
        if self.mode not in ("vector", "text", "hybrid"):
            raise InputError(f"mode is {self.mode!r}; choose 'vector', 'text' or 'hybrid'")
        check_diversity(self.diversity)
        object.__setattr__(self, "where", _narrowed(self.where, self.as_of, self.caller))

    @property
    def is_of_groups(self) -> bool:
        """Whether the caller may see only what names one of its groups."""
        return self.caller is not None and not self.caller.operates

    @property
    def is_alone(self) -> bool:
        """Whether the result must be that of a store which never held what the request does not admit."""
        return self.as_of is not None or self.is_of_groups


def check_diversity(diversity: float | None) -> None:
    """Raise InputError for a diversity outside 0 to 1."""
    if diversity is not None and not 0 <= diversity <= 1:
        raise InputError(f"diversity is {diversity}; choose a number from 0 (keep all) to 1, such as 0.005")


@dataclass(frozen=True, slots=True)
class StepTrace:
    """One step of a retrieval: its name, the number of resulting nodes, and its time."""

    name: str
    count: int
    milliseconds: float
    details: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """How the evidence was found.

    The attributes from ``question`` on are filled in when the request asks to explain, else they are empty. The cost of the
    explanation itself (its pull, its names) is not included in the figures.

    Attributes
    ----------
    strategy, unit, mode, parameters : as requested
    steps : the steps in order, with counts and times
    round_trips : calls to a store as the strategy makes them; ``stores`` counts the requests over the wire
    milliseconds : from the request to the evidence
    version : of the corpus: the one published state that all reads refer to; 0 for a caller with groups, and for the past
    question : as it was asked
    seeds, hops, paths : where the walk began, the kept and pruned nodes of each depth, the best walks
    results : for each piece of evidence, whether a search found it directly, and the paths that reached it
    calls : every call to a store with its parameters and cost, in the order in which they ended
    stores : sum of the calls of each store
    graph : nodes and edges of the picture
    chat : who decided in the steps that a paper gives to a model, the calls of the chat model, and replies that could not be
        used; always filled in
    """

    strategy: str
    unit: str
    mode: str
    parameters: Mapping[str, Scalar]
    steps: tuple[StepTrace, ...]
    round_trips: int
    milliseconds: float
    version: int = 0
    question: str = ""
    seeds: tuple[SeedTrace, ...] = ()
    hops: tuple[HopTrace, ...] = ()
    paths: tuple[PathTrace, ...] = ()
    results: tuple[ResultTrace, ...] = ()
    calls: tuple[Call, ...] = ()
    stores: tuple[StoreCost, ...] = ()
    graph: EvidenceGraph = field(default_factory=EvidenceGraph)
    chat: ChatUse = field(default_factory=ChatUse)

    def __str__(self) -> str:
        """What :meth:`to_text` says; one line, and how to learn more, if the request did not ask to explain."""
        if self.question:
            return self.to_text()
        return (
            f"strategy {self.strategy}, unit {self.unit}, mode {self.mode}: {self.milliseconds:.1f} ms, {self.round_trips} round "
            "trips; explain=True says why each piece was chosen"
        )

    def seed_words(self, node: NodeTrace) -> str:
        """Whether a node was a seed, in words; empty if no node of its kind was one."""
        if node.seed_rank is not None:
            return f"seed {node.seed_rank}"
        return "not among the seeds" if any(seeds.kind is node.kind for seeds in self.seeds) else ""

    def to_text(self) -> str:
        """Why each piece of evidence was chosen, and how it was found, in plain words: seeds, hops and paths.

        Raises InputError when the request did not ask to explain.
        """
        from hlgraph.retrieve.explain.page import as_words

        return as_words(self)

    def to_html(self) -> str:
        """The evidence subgraph and the explanation as one page of HTML. It needs no network and no script.

        Raises InputError when the request did not ask to explain.
        """
        from hlgraph.retrieve.explain.page import page

        return page(self)

    def to_svg(self) -> str:
        """Only the picture of :meth:`to_html`, as an SVG document for a notebook or a report.

        Raises InputError when the request did not ask to explain.
        """
        from hlgraph.retrieve.explain.page import picture

        return picture(self)


@dataclass(frozen=True, slots=True)
class CommunityEvidence:
    """A community around collected statements, whole, as a report reads it.

    Attributes
    ----------
    number : as ``why["community"]`` of its pieces, from 1; 0: collected statements outside all communities
    statements : the collected ones first, then by relevance
    passages : its chunks, those with the most statements for their length first (ToPG: statements / log(tokens))
    entities : names, those that most of its statements mention first
    anchors : number of its statements that were collected
    size : number of all nodes of the community
    """

    number: int
    statements: tuple[Evidence, ...]
    passages: tuple[Evidence, ...] = ()
    entities: tuple[str, ...] = ()
    anchors: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult(Listing[Evidence]):
    """Evidence, best first, and how it was found. It has the length of the evidence, and iterates over it.

    Attributes
    ----------
    evidence : best first
    explain : how it was found
    calibration : the scale of the cosines of the corpus; None if it is not measured
    communities : if the request asks for them and the strategy has them: those of the best statements first
    version : of the corpus, to tell whether two searches saw one state. Nothing prints it: a caller may not see the version
    """

    evidence: tuple[Evidence, ...]
    explain: Explanation
    calibration: Calibration | None = None
    communities: tuple[CommunityEvidence, ...] = ()
    version: int = field(default=0, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.evidence)

    @overload
    def __getitem__(self, at: int) -> Evidence: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Evidence, ...]: ...
    def __getitem__(self, at: int | slice) -> Evidence | tuple[Evidence, ...]:
        return self.evidence[at]

    def __str__(self) -> str:
        """Each piece with its number, score and place."""
        lines = (
            line
            for number, piece in enumerate(self.evidence, 1)
            for line in (f"[{number}] {piece.score:.3f}  {' '.join(piece.text.split())}", f"    {piece.place}")
        )
        return "\n".join(lines) or "no evidence"

    def _columns(self) -> tuple[str, ...]:
        return EVIDENCE_COLUMNS

    def _printed(self) -> tuple[str, ...]:
        return "number", "score", "text", "place"

    def _rows(self) -> Iterator[Mapping[str, object]]:
        return starmap(evidence_row, enumerate(self.evidence, 1))
