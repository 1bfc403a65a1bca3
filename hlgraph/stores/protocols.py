"""The two kinds of storage that hlgraph needs. Domain types only; a contract suite in ``hlgraph.testing`` checks both.

Visibility: what a change stages is invisible until ``advance(..., PUBLISHED)`` flips it in one transaction of the graph
store. The vector store is written before that; its rows carry the id of the change, and a search leaves out the rows of
the changes named in ``VectorQuery.hidden`` (those that ``CorpusStats.pending`` lists). What a change removed stays in the
vector store until after the flip: a search result whose record the graph no longer has is dropped by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.change import Change, ChangeState, Outcome, Pending, VectorBlock
from hlgraph.records import Hit, Kind, Record, Relationship, Source
from hlgraph.where import Where

if TYPE_CHECKING:
    from types import TracebackType

    from hlgraph.stores.derived import Clusterer, DerivedStore
    from hlgraph.stores.domains import DomainStore
    from hlgraph.stores.merges import MergeStore
    from hlgraph.subgraph import Subgraph


@dataclass(frozen=True, slots=True)
class Scope:
    """What a read may see: one corpus, the sources that the filter admits, and, if given, only these sources."""

    corpus: str
    where: Where | None = None
    sources: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PullShape:
    """Which part of the graph to pull: breadth-first from the seeds, both directions of ``relationships``.

    Only nodes of ``kinds`` are entered, at most ``fan_out`` neighbours are followed from one node (heaviest first, then by
    id), at most ``hops`` steps, at most ``node_cap`` nodes (nearer first, then by id). All edges of ``relationships``
    between the nodes reached are part of the result.
    """

    relationships: frozenset[Relationship]
    kinds: frozenset[Kind]
    hops: int = 1
    fan_out: int = 100
    node_cap: int = 10_000


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """What a corpus holds. ``version`` grows with every published change; ``fields`` are what filters can name."""

    corpus: str
    version: int = 0
    embedding: str = ""
    dimensions: int = 0
    records: Mapping[Kind, int] = field(default_factory=dict)
    relationships: Mapping[Relationship, int] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


class GraphStore(Protocol):
    """Sources, chunks, topics, statements, facts, entities, and how they are joined."""

    def lock(self) -> AbstractContextManager[tuple[Pending, ...]]:
        """The exclusive right to change the store; yields what an interrupted run left unfinished, oldest first.

        Raises StoreLockedError, naming the holder, when another process has it; entering twice in one thread is allowed.
        """

    def stage(self, change: Change) -> None:
        """Record the change, invisibly and durably. Staging the same change again changes nothing.

        Raises StoreConflictError when a source is not at its base version, ModelMismatchError when the corpus holds vectors
        of another model. Needs the lock.
        """

    def advance(self, change_id: str, to: ChangeState) -> Outcome:
        """PUBLISHED: flip everything to its new state in one transaction. DONE: forget the change.

        Advancing to a state already reached changes nothing and gives the same outcome. Needs the lock.
        """

    def records(self, kind: Kind, ids: Sequence[str]) -> list[Record]:
        """The visible records of these ids, in the order of ``ids``; those that are not there are left out."""

    def find(self, kind: Kind, scope: Scope) -> Iterator[Record]:
        """All visible records of a kind in a scope, by ascending id (facts and entities only without filter or sources)."""

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """One bounded part of the visible graph; no node or edge that only sources outside the scope assert."""

    def stats(
        self, corpus: str | None = None, *, has_counts: bool = True, has_relationships: bool = True
    ) -> tuple[CorpusStats, ...]:
        """What each corpus (or this one; nothing if there is none of that name) holds.

        Without counts it is cheap. Counts without those of relationships, which every ingest asks for, cost little more.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Rows to write: the sources whose metadata filters look at, and blocks of rows that belong to them."""

    corpus: str
    change_id: str
    sources: tuple[Source, ...] = ()
    blocks: tuple[VectorBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A search by vector, by text, or by both (reciprocal rank fusion of the two rankings, each filtered inside)."""

    kind: Kind
    corpus: str
    k: int
    vector: NDArray[np.float32] | None = None
    text: str | None = None
    where: Where | None = None
    hidden: tuple[str, ...] = ()


class Neighbours(NamedTuple):
    """Pairs at or above a threshold: index of the given vector, id of the stored row, cosine."""

    queries: NDArray[np.intp]
    ids: list[str]
    similarities: NDArray[np.float32]


class VectorStore(Protocol):
    """Vectors and full text of chunks, statements, topics and entities."""

    def upsert(self, batch: VectorBatch) -> None:
        """Write sources and rows; the same batch twice changes nothing. Raises ModelMismatchError on other dimensions."""

    def search(self, query: VectorQuery) -> list[Hit]:
        """The ``k`` best rows, best first, ties by id; the filter holds inside the search, never after it."""

    def neighbours(self, kind: Kind, corpus: str, *, vectors: NDArray[np.float32], threshold: float) -> Neighbours:
        """All stored rows whose cosine to a given vector is at or above the threshold, in bounded memory."""

    def vectors(self, kind: Kind, corpus: str, *, ids: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
        """The ids that are there, in the order given, and their vectors."""

    def ids(self, kind: Kind, corpus: str, *, among: Sequence[str] | None = None) -> set[str]:
        """Ids that the store holds (of those given); for ``Kind.SOURCE`` the described sources."""

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        """Remove rows by kind (and descriptions of sources); returns how many there were. Nothing of them stays on disk."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class RankQuery:
    """What a ranker is asked: the graph, where the walk begins and how long it goes on.

    Attributes
    ----------
    shape : the graph to walk on
    seed_weights : by id, not negative, not all 0; ids that the graph does not hold count nothing
    k : how many nodes to give
    damping : the probability to go on, from 0 to below 1
    kinds : give nodes of these kinds only; None: of all
    tolerance : the scores are exact to this sum of absolute differences
    epsilon : None: exact scores. A number above 0 allows a ranker to look around the seeds only, in time that does not grow
        with the graph: no score is then above the exact one, nor below it by more than ``epsilon`` times the sum of the
        weights of the node's edges. 1e-5 finds nearly all of the best 50; a ranker may give scores exact to
        ``tolerance`` all the same
    """

    shape: ProjectionShape
    seed_weights: Mapping[str, float]
    k: int = 1_000
    damping: float = 0.85
    kinds: frozenset[Kind] | None = None
    tolerance: float = 1e-6
    epsilon: float | None = None


class Ranker(Protocol):
    """Personalised PageRank over a graph of one corpus, on the server or in process, with the same result."""

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """Nodes best first, ties by id; the scores of all nodes of the graph would sum to 1.

        Nothing that only sources outside the scope assert is walked on, on no hop. Empty when no seed is in the graph.
        A seed without edges keeps a score. Raises InputError for weights or a damping that cannot be used.
        """


class Stores(NamedTuple):
    """The pair that holds a corpus, what ranks its nodes (None: in process, around the seeds), what clusters them, and what
    keeps the communities, what was decided about entities, and the domains of corpora (None: nothing does).
    """

    graph: GraphStore
    vectors: VectorStore
    ranker: Ranker | None = None
    clusterer: Clusterer | None = None
    derived: DerivedStore | None = None
    merges: MergeStore | None = None
    domains: DomainStore | None = None
