"""The two storage protocols of hlgraph, in domain types only; a contract suite in ``hlgraph.testing`` checks both.

Visibility: staged data stays invisible until ``advance(..., PUBLISHED)`` publishes it in one transaction of the graph
store. The vector store is written before that. Its rows carry the id of their change, and a search leaves out the rows of
the changes named in ``VectorQuery.hidden`` (those that ``CorpusStats.pending`` lists). Rows that a change removes stay in
the vector store until the change is published: the caller drops a hit whose record the graph no longer has.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.merging import Groups
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.change import Change, ChangeState, Outcome, Pending, VectorBlock
from hlgraph.errors import InputError, StoreError
from hlgraph.ids import WITHOUT_NAME, content_id
from hlgraph.records import Calibration, Domain, Hit, Kind, Record, Relationship, Source
from hlgraph.where import Where

if TYPE_CHECKING:
    from types import TracebackType

    from hlgraph.stores.closing import Calls
    from hlgraph.stores.cypher import Limits, Table
    from hlgraph.stores.derived import Clustered, ClusterQuery, DerivedStore
    from hlgraph.stores.queries import ParameterValue, Query
    from hlgraph.subgraph import Subgraph


@dataclass(frozen=True, slots=True)
class Scope:
    """What a read may see: one corpus, restricted to the sources that match a filter and to a list of sources.

    Attributes
    ----------
    corpus : name of the corpus
    where : metadata filter on sources; None admits all
    sources : ids of sources; None admits all
    state : ``CorpusStats.state`` of the corpus as the reader found it first. A store may answer from what it holds of that
        state; a read without one always sees the present state
    """

    corpus: str
    where: Where | None = None
    sources: tuple[str, ...] | None = None
    state: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PullShape:
    """Which part of the graph to pull: breadth-first from the seeds, along ``relationships`` in both directions.

    The result also holds every edge of ``relationships`` between the nodes reached.

    Attributes
    ----------
    relationships : relationships to follow
    kinds : kinds of nodes that the search may enter
    hops : maximum number of steps from a seed
    fan_out : maximum number of neighbours followed from one node, heaviest first, then by id
    node_cap : maximum number of nodes in the result, nearest first, then by id
    """

    relationships: frozenset[Relationship]
    kinds: frozenset[Kind]
    hops: int = 1
    fan_out: int = 100
    node_cap: int = 10_000


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """What a corpus holds.

    Attributes
    ----------
    version : grows with every published change
    embedding : name of the embedding model; empty before the first vector
    dimensions : length of the vectors; 0 before the first vector
    records, relationships : counts; empty unless they were asked for
    fields : metadata fields that a filter can name, each with the types of its values: ``text``, ``number``, ``truth``; none
        where the store does not know. Not compared: they may be read later than the rest
    pending : ids of the changes that are staged but not done
    renewed_to : in a corpus of an older version, the id up to which topics have vectors with their statements in them;
        None: all have
    calibration : the scale of the cosines; None: not measured, since there are too few names or the corpus is of an older version
    state : names what the corpus holds, as no other state of any corpus is named; empty where the store sees by itself that
        it was changed, or where an older hlgraph wrote the corpus last
    ids : scheme of the ids, see :mod:`hlgraph.ids`
    co_occurs : version that the stored CO_OCCURS were counted from, 0 where a kill left only some; None: none are stored
    """

    corpus: str
    version: int = 0
    embedding: str = ""
    dimensions: int = 0
    records: Mapping[Kind, int] = field(default_factory=dict)
    relationships: Mapping[Relationship, int] = field(default_factory=dict)
    fields: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    pending: tuple[str, ...] = ()
    renewed_to: str | None = None
    calibration: Calibration | None = None
    state: str = ""
    co_occurs: int | None = None
    ids: int = WITHOUT_NAME


class GraphStore(Protocol):
    """Sources, chunks, topics, statements, facts and entities, and the relationships between them.

    A store is a subclass. It defines the methods from :meth:`lock` to :meth:`stats`. Those after them have defaults, which work
    in process over the others or raise an error that names what the store lacks; a store overrides what it can do better.

    Attributes
    ----------
    name : how messages call the store
    is_remote : whether a server does the work of a write, so that this process can prepare the next one meanwhile
    derived : communities and summaries; None: the store keeps none
    merges : decisions about entities; None: the store keeps none
    domains : domains of corpora; None: the store keeps none
    seals : checksums of records; None: the store has none
    """

    name: str = "this store"
    is_remote: bool = False
    derived: DerivedStore | None = None
    merges: MergeStore | None = None
    domains: DomainStore | None = None
    seals: Seals | None = None

    def lock(
        self, corpus: str | None = None, *, wait: float | None = None
    ) -> AbstractContextManager[tuple[Pending, ...]]:
        """Holds the exclusive right to change a corpus; yields its unfinished changes of interrupted runs, oldest first.

        The ``vectors`` of these changes may be hollow: with the ids of their rows alone.

        Writers take turns: one that comes again queues behind those that wait. The thread that holds a corpus may enter it
        again, but no other one; the thread that holds all of the store may enter any.

        Parameters
        ----------
        corpus : the corpus; None: all of the store, while no writer has a corpus of it
        wait : seconds to wait while another writer has the right; None: as long as the store was opened to wait

        Raises
        ------
        StoreLockedError
            Another writer, which is named, had the right for all of that time.
        """

    def stage(self, change: Change) -> None:
        """Records a change durably but invisibly; staging the same change again has no effect. Needs the lock.

        Raises StoreConflictError when a source is not at its base version, and ModelMismatchError when the corpus holds
        vectors of another model.
        """

    def advance(self, change_id: str, to: ChangeState, *, beside: Callable[[], object] = tuple) -> Outcome:
        """Publishes a staged change, or forgets a published one. Needs the lock.

        Advancing to a state already reached has no effect and returns the same outcome.

        Parameters
        ----------
        change_id : id of the staged change
        to : PUBLISHED makes all of the change visible in one transaction; DONE forgets the change
        beside : what has to be written elsewhere before the change becomes visible; called once, for PUBLISHED only. A store
            on a server calls it in another thread while it writes. What it raises leaves the change as it is; default nothing

        Returns
        -------
        Outcome
            What the change added, what vanished with it, and the statements of the topics that it touched.
        """

    def records(self, kind: Kind, ids: Sequence[str], *, scope: Scope) -> list[Record]:
        """The visible records with these ids in a scope, in the order of ``ids``.

        Parameters
        ----------
        kind : kind of the records
        ids : ids that are unknown or outside the scope are left out of the result
        scope : for facts and entities a whole corpus, without filter or sources
        """

    def find(self, kind: Kind, scope: Scope) -> Iterator[Record]:
        """All visible records of a kind in a scope, by ascending id.

        Parameters
        ----------
        kind : kind of the records
        scope : for facts and entities a whole corpus, without filter or sources
        """

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """One bounded part of the visible graph, without nodes and edges that only sources outside the scope assert.

        Parameters
        ----------
        seeds : ids of the nodes to start from; unknown ids are ignored
        shape : relationships to follow, kinds to enter and bounds
        scope : corpus and sources that may be seen
        """

    def own_entities(self, corpus: str, source_ids: Sequence[str]) -> list[str]:
        """The ids of the visible entities that these sources mention, and no others, ascending.

        Reads what these sources assert, and no image of the corpus: a deletion asks for it.

        Parameters
        ----------
        corpus : name of the corpus
        source_ids : ids of sources; unknown ids are ignored
        """

    def stats(
        self, corpus: str | None = None, *, has_counts: bool = True, has_relationships: bool = True
    ) -> tuple[CorpusStats, ...]:
        """What each corpus holds.

        Parameters
        ----------
        corpus : name of one corpus, empty result if it does not exist; None: all corpora
        has_counts : whether to count records and relationships; without counts the call is cheap
        has_relationships : whether to count relationships as well; record counts alone, which every ingest asks for,
            cost little
        """

    # Defaults

    def unfinished(self, corpus: str | None = None) -> tuple[Pending, ...]:
        """The unfinished changes of active writers and of interrupted runs, oldest first, for callers that do not write.

        Default: those that :meth:`lock` yields, once no other writer has the right.

        Parameters
        ----------
        corpus : of this corpus; None: of all
        """
        with self.lock(corpus) as pending:
            return pending

    def snapshot(self) -> AbstractContextManager[bool]:
        """All reads of a thread in the block are of one published state, if it yields True.

        Default: False; the caller compares ``CorpusStats.state`` before and after.
        """
        return nullcontext(enter_result=False)

    def transaction(self) -> AbstractContextManager[object]:
        """All writes of the block become visible at once. Default: each by itself."""
        return nullcontext()

    def known(self, corpus: str) -> CorpusStats | None:  # noqa: ARG002
        """What is probably true of a corpus, at no cost; the caller checks it afterwards. Default: None, nothing is known.

        Parameters
        ----------
        corpus : name of the corpus
        """
        return None

    def plan_ahead(self) -> None:
        """Called when a search begins: a server may plan its first queries in the background. Never raises. Default: nothing."""
        return

    def walked_by(self, scope: Scope) -> str:  # noqa: ARG002
        """What answered the last pull, for explanations; default: empty, since there is one way only.

        Parameters
        ----------
        scope : corpus and sources that may be seen

        Returns
        -------
        str
            ``image``, ``server``, or ``server:`` and the reason why there was no image.
        """
        return ""

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """The nodes with the highest scores of personalised PageRank, best first, ties by id; all scores of a graph sum to 1.

        No step of the walk uses nodes or edges that only sources outside the scope assert. A seed without edges keeps a
        score. Default: in process, on what a pull around the seeds reaches.

        Parameters
        ----------
        query : graph, seeds and precision
        scope : corpus and sources that may be seen

        Returns
        -------
        list of Hit
            Empty when the graph holds none of the seeds.

        Raises
        ------
        InputError
            The weights, the damping or a bound is out of range.
        """
        from hlgraph.stores.in_process import PulledRanker

        return PulledRanker(self).rank(query, scope=scope)

    def ranked_by(self, scope: Scope, *, shape: ProjectionShape | None = None) -> str:  # noqa: ARG002
        """Where :meth:`rank` runs, for explanations: ``server``, ``process``, or ``process:`` and a reason.

        The reason says why the server does not rank, or why a ranking in process only looks around the seeds.

        Parameters
        ----------
        scope : corpus and sources that may be seen
        shape : graph to rank; None: leaves out the second reason
        """
        return "process"

    def match(self, query: MatchQuery, *, scope: Scope) -> list[Matched]:
        """Statements by the number of names that they mention, highest count first.

        Counts are exact over all statements of the scope. The last entry is the one that brings the sizes to ``k`` or more;
        where fewer than ``k`` statements mention any name, all are there. Default: counted on a pull of all mentions of the
        names; a store can count without reading the statements of hubs.

        Parameters
        ----------
        query : names and bounds
        scope : corpus and sources that may be seen
        """
        from hlgraph.stores.in_process import matched_by_pull

        return matched_by_pull(self, query, scope=scope)

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """Leiden communities of every node that has an edge.

        Row 0 is the coarsest level, and each level divides the one before it. No community of the last level has more than
        ``query.max_size`` nodes. Default: in process, on a pull of the whole graph.

        Parameters
        ----------
        query : graph and parameters
        corpus : name of the corpus
        """
        from hlgraph.stores.in_process import ProcessClusterer, pulled

        return ProcessClusterer(pulled(self)).cluster(query, corpus=corpus)

    def cypher(self, query: Query, params: Mapping[str, ParameterValue], *, corpus: str, limits: Limits) -> Table:  # noqa: ARG002
        """Runs a query in a read-only transaction that ends after ``limits.timeout``. Default: InputError.

        Parameters
        ----------
        query : statement and the description of its parameters
        params : values by name; those of the kinds ``entity`` and ``source`` are looked up in the corpus by name first
        corpus : name of the corpus; it must exist if the query takes ``$corpus``
        limits : maximum time and rows

        Raises
        ------
        InputError
            The store has no Cypher, the query writes, the server does not understand it, or a name fits several records.
        UnknownNameError
            The corpus, an entity or a source does not exist.
        StoreUnavailableError
            The query exceeded its time, or the server does not answer.
        """
        raise InputError(
            f"{self.name} has no Cypher; ingest into a Neo4j server and name it, such as "
            "hlgraph --store neo4j://localhost:7687 cypher run ... (hlgraph init --servers writes settings for one)"
        )

    def write_co_occurs(self, corpus: str) -> int:  # noqa: ARG002
        """Stores CO_OCCURS as relationships, in place of those that are stored; returns their number. Default: InputError.

        They serve the queries of analysts; hlgraph counts them where it needs them. A later change of the corpus leaves them as
        they are; :attr:`CorpusStats.co_occurs` then tells that they are outdated. After a kill the same call begins anew.

        Parameters
        ----------
        corpus : name of the corpus

        Raises
        ------
        InputError
            The store has no Cypher.
        UnknownNameError
            The corpus does not exist.
        StoreLockedError
            Another process is writing.
        """
        raise InputError(f"{self.name} has no Cypher; relationships are stored for queries on Neo4j")

    def drop_co_occurs(self, corpus: str) -> int:  # noqa: ARG002
        """Removes the stored CO_OCCURS of a corpus; returns their number. Raises the same errors.

        Parameters
        ----------
        corpus : name of the corpus
        """
        raise InputError(f"{self.name} has no Cypher; relationships are stored for queries on Neo4j")

    def projection(self, shape: ProjectionShape, corpus: str) -> str:  # noqa: ARG002
        """The name of a projection of a corpus on the server; it exists until the store is closed. Default: InputError.

        Parameters
        ----------
        shape : nodes and relationships of the projection
        corpus : name of the corpus
        """
        raise InputError(f"{self.name} has no projections; they live on a Neo4j server with GDS")

    def __enter__(self) -> Self:
        """Default: the store itself, which needs no closing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes what the store holds. Default: nothing."""
        return


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Rows to write: blocks of rows, and the sources whose metadata the filters of a search read."""

    corpus: str
    change_id: str
    sources: tuple[Source, ...] = ()
    blocks: tuple[VectorBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A search by vector, by text, or by both: reciprocal rank fusion of two rankings, each of which is filtered.

    Attributes
    ----------
    k : number of hits
    vector : shape (d,); None: search by text only
    text : full-text query; None: search by vector only
    where : metadata filter on the sources of the rows
    hidden : ids of changes whose rows are left out
    state : see :class:`Scope`
    """

    kind: Kind
    corpus: str
    k: int
    vector: NDArray[np.float32] | None = None
    text: str | None = None
    where: Where | None = None
    hidden: tuple[str, ...] = ()
    state: str = ""


class Neighbours(NamedTuple):
    """Pairs at or above a similarity threshold, as three arrays of one length.

    Attributes
    ----------
    queries : index of the given vector
    ids : id of the stored row
    similarities : cosine of the two
    """

    queries: NDArray[np.intp]
    ids: list[str]
    similarities: NDArray[np.float32]


class Row(NamedTuple):
    """The data of a row of the vector store besides its vector: the id of a record, its text, and its source or ""."""

    id: str
    text: str
    source_id: str


class Damage(NamedTuple):
    """Rows of the vector store that do not hold what was written.

    Attributes
    ----------
    vectors : ids of rows whose vector was altered or is gone
    texts : ids of rows whose text or source is another one, or which no full-text search finds
    strays : full-text entries of no row
    """

    vectors: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    strays: int = 0

    @property
    def is_none(self) -> bool:
        """Whether every row holds what was written."""
        return not (self.vectors or self.texts or self.strays)


class VectorStore(Protocol):
    """Vectors and full text of chunks, statements, topics and entities.

    A store is a subclass. It defines the methods up to :meth:`examine`; the others have defaults.
    """

    def upsert(self, batch: VectorBatch) -> None:
        """Writes sources and rows; writing the same batch twice has no further effect.

        Raises ModelMismatchError when the vectors have another length than those of the corpus.
        """

    def search(self, query: VectorQuery) -> list[Hit]:
        """The ``k`` best rows, best first, ties by id; the filter applies inside the search, never to its result."""

    def search_many(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """The results of :meth:`search` for several queries, in their order. Default: one by one; a server can take all at once."""
        return [self.search(query) for query in queries]

    def neighbours(self, kind: Kind, corpus: str, *, vectors: NDArray[np.float32], threshold: float) -> Neighbours:
        """All stored rows whose cosine to one of the given vectors reaches a threshold, found in bounded memory.

        Parameters
        ----------
        kind : kind of the rows
        corpus : name of the corpus
        vectors : shape (n, d)
        threshold : lowest cosine, inclusive
        """

    def vectors(
        self, kind: Kind, corpus: str, *, ids: Sequence[str], state: str = ""
    ) -> tuple[list[str], NDArray[np.float32]]:
        """The ids that the store holds, in the order given, and their vectors: shape (n, d), float32.

        Parameters
        ----------
        kind : kind of the rows
        corpus : name of the corpus
        ids : unknown ids are left out of the result
        state : see :class:`Scope`
        """

    def vectors_many(
        self, corpus: str, ids: Mapping[Kind, Sequence[str]], *, state: str = ""
    ) -> dict[Kind, tuple[list[str], NDArray[np.float32]]]:
        """The results of :meth:`vectors` for several kinds. Default: one by one; a server can take all at once.

        Parameters
        ----------
        corpus : name of the corpus
        ids : by kind
        state : see :class:`Scope`
        """
        return {kind: self.vectors(kind, corpus, ids=some, state=state) for kind, some in ids.items()}

    def ids(self, kind: Kind, corpus: str, *, among: Sequence[str] | None = None) -> set[str]:
        """The ids that the store holds.

        Parameters
        ----------
        kind : kind of the rows; ``Kind.SOURCE``: the sources whose metadata the store holds
        corpus : name of the corpus
        among : look for these ids only; None: all
        """

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        """Removes rows, and the metadata of sources, so that nothing of them stays on disk.

        Parameters
        ----------
        corpus : name of the corpus
        ids : by kind

        Returns
        -------
        int
            How many rows were removed.
        """

    def examine(
        self, kind: Kind, corpus: str, *, rows: Iterable[Row], dimensions: int = 0, repair: bool = False
    ) -> Damage:
        """Compares stored rows with what they were made of: vectors with checksums or norms, full text with the records.

        Parameters
        ----------
        kind : kind of the rows
        corpus : name of the corpus
        rows : what the rows should hold, consumed once; a row that the store does not hold is no damage
        dimensions : length of the vectors of the corpus: stored vectors of another length are damaged; 0: it is not known
        repair : write the texts again, and remove the rows whose vectors are damaged, so that they can be embedded again;
            the caller holds the lock of the graph store

        Returns
        -------
        Damage
            What was found; with ``repair`` it is mended when the method returns.
        """

    # Defaults

    def loading(self, corpus: str, *, dimensions: int) -> AbstractContextManager[object]:  # noqa: ARG002
        """A block that writes many rows, which need not be searchable before its end; by an error, too, all are then.

        Default: every row is searchable when :meth:`upsert` returns.

        Parameters
        ----------
        corpus : the corpus
        dimensions : length of its vectors
        """
        return nullcontext()

    def __enter__(self) -> Self:
        """Default: the store itself, which needs no closing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes what the store holds. Default: nothing."""
        return


@dataclass(frozen=True, slots=True)
class RankQuery:
    """One question to a ranker: the graph, the seeds of the walk, and the precision of the scores.

    Attributes
    ----------
    shape : the graph to walk on
    seed_weights : by id, not negative, not all 0; ids outside the graph are ignored
    k : number of nodes to return
    damping : the probability to go on, from 0 to below 1
    kinds : kinds of the nodes to return; None: all
    tolerance : bound on the sum of absolute errors of the scores
    epsilon : None: exact scores. A number above 0 allows a ranker to look around the seeds only, in time that does not grow
        with the graph: a score is then never above the exact one, nor below it by more than ``epsilon`` times the sum of
        the weights of the node's edges. 1e-5 finds nearly all of the best 50. A ranker may still return scores exact to
        ``tolerance``
    synonyms : shape ``statement_entity_chunk`` only: least similarity of the SYNONYM edges that the walk crosses; None: none
    """

    shape: ProjectionShape
    seed_weights: Mapping[str, float]
    k: int = 1_000
    damping: float = 0.85
    kinds: frozenset[Kind] | None = None
    tolerance: float = 1e-6
    epsilon: float | None = None
    synonyms: float | None = None


@dataclass(frozen=True, slots=True)
class MatchQuery:
    """A query for the statements that mention the most of some names.

    Attributes
    ----------
    names : ids of the entities of each name; a statement that mentions several entities of one name mentions one name
    k : number of statements wanted
    most : maximum number of ids that are returned of statements with equal counts, at least 1
    among : ids of the statements to count for; None: all
    """

    names: tuple[tuple[str, ...], ...]
    k: int
    most: int = 1_000
    among: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """The statements that mention the same number of names.

    Attributes
    ----------
    count : number of names that each of them mentions
    size : number of these statements
    ids : their ids, ascending; empty where there are more than ``MatchQuery.most``
    """

    count: int
    size: int
    ids: tuple[str, ...]


class AlteredRecord(NamedTuple):
    """A record whose rows were altered since they were written.

    Attributes
    ----------
    kind, id : of the source, chunk, summary, entity or topic
    corpus : its corpus
    where : uri of its source; empty if it has none
    is_links : whether what it links to was altered: statements, topics and mentions of a chunk, synonyms of an entity
    """

    kind: Kind
    id: str
    corpus: str
    where: str
    is_links: bool


class Seals(ABC):
    """Checksums of records as the store wrote them, for stores whose files anyone can alter."""

    @abstractmethod
    def altered(self, corpus: str) -> tuple[AlteredRecord, ...]:
        """The records of a corpus that were altered, or whose links were, ordered by kind and id: reads all of them.

        Parameters
        ----------
        corpus : name of the corpus
        """

    @abstractmethod
    def restore(self) -> bool:
        """Makes the records readable: rebuilds indexes of a damaged database, and empties unparseable values.

        Needs the lock. Returns whether the database was damaged. Raises StoreCorruptError if its rows cannot be read.
        """

    @abstractmethod
    def accept(self, corpus: str, records: Collection[AlteredRecord]) -> None:
        """Seals records in their current state, after a repair; removes altered summaries, which are rebuilt. Needs the lock.

        Parameters
        ----------
        corpus : name of the corpus
        records : records that :meth:`altered` returned
        """


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup of an embedded store.

    Attributes
    ----------
    target : folder of the backup
    store : folder of the store that it is of
    at : time of the state, UTC, ISO 8601
    files, bytes : what it holds
    written : bytes that were written, which are those that differ from the backup before
    is_unfinished : the state has changes that the next ingest or deletion finishes, as after a kill
    locked_seconds : how long other writers were kept waiting; mostly 0
    pinned_seconds : how long one state was pinned. Writers may write, but one that ends its turn meanwhile waits for the end of
        that (at most 5 s), so that no deleted text stays in the log
    """

    target: Path
    store: Path
    at: str
    files: int
    bytes: int
    written: int
    is_unfinished: bool
    locked_seconds: float = 0.0
    pinned_seconds: float = 0.0


class Stores(NamedTuple):
    """The two stores that hold a corpus.

    Attributes
    ----------
    graph, vectors : the two stores
    is_one : whether both are one database, so that a snapshot and a transaction of the graph store hold for both
    calls : the calls that are under way; see :class:`hlgraph.stores.closing.Calls`
    """

    graph: GraphStore
    vectors: VectorStore
    is_one: bool = False
    calls: Calls | None = None

    def snapshot(self) -> AbstractContextManager[bool]:
        """All reads of a thread in the block are of one published state, if it yields True; see :meth:`GraphStore.snapshot`."""
        return self.graph.snapshot() if self.is_one else nullcontext(enter_result=False)

    def together(self) -> AbstractContextManager[object]:
        """All writes of the block become visible at once, if both stores are one database."""
        return self.graph.transaction() if self.is_one else nullcontext()


# The store of the domain of each corpus: kept with the graph, so that all processes and machines use the same one.


class DomainStore(ABC):
    """The domains of corpora. A domain can exist before its corpus, and is no part of the graph that is searched."""

    @abstractmethod
    def read(self, corpus: str) -> Domain | None:
        """The domain of a corpus; None if it has none."""

    @abstractmethod
    def write(self, corpus: str, domain: Domain) -> None:
        """Sets the domain of a corpus, replacing the previous one. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        domain : its new domain
        """

    @abstractmethod
    def drop(self, corpus: str) -> None:
        """Removes the domain of a corpus, if it has one. Needs the lock of the graph store."""


def domain_store(stores: Stores) -> DomainStore:
    """The store that keeps the domains. Raises StoreError if these stores have none."""
    if stores.graph.domains is None:
        raise StoreError("these stores keep no domains; open them with hlgraph.connect")
    return stores.graph.domains


def domain_of(stores: Stores, corpus: str) -> Domain | None:
    """The domain of a corpus; None if it has none or if the stores keep no domains.

    Parameters
    ----------
    stores : stores of the corpus
    corpus : name of the corpus
    """
    domains = stores.graph.domains
    return None if domains is None else domains.read(corpus)


# Decisions that two entities of a corpus are the same, or are not, and the protocol of the store that keeps them.
#
# A merge never changes extracted data: entities, statements and facts stay as they are. A decision is a relationship between
# two entities (SAME_AS, or JUDGED when they were not merged), and every read applies it. Undoing a merge therefore only
# removes the relationship, and a later ingest that mentions an alias finds it merged. A decision is deleted together with
# the first of its two entities.


Aliases = Mapping[str, tuple[str, ...]]
"""The group of each merged entity, by its id: the ids of all entities of the group, itself included, ascending."""


class Verdict(StrEnum):
    """What was decided: the same, different, or judged the same but held back because another decision contradicts it."""

    SAME = "same"
    DIFFERENT = "different"
    OPEN = "open"


class Decider(StrEnum):
    """Who decided."""

    PERSON = "person"
    RULE = "rule"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about two entities.

    Attributes
    ----------
    alias, canonical : ids; the merged entity takes its name from the second. Without a merge the order has no meaning
    by : person, rule or model
    made_by : the rule, the prompt and model, or the name of the person
    why : the evidence in a few words, never the words of a document
    score : cosine of the two names; 0 if it was not computed
    at : time of the decision, ISO 8601 in UTC
    """

    corpus: str
    alias: str
    canonical: str
    verdict: Verdict
    by: Decider
    made_by: str = ""
    why: str = ""
    score: float = 0.0
    at: str = ""

    @property
    def id(self) -> str:
        """The same id for both orders of the pair, so that a later decision replaces the earlier one."""
        return content_id("merge", self.corpus, *self.pair)

    @property
    def pair(self) -> tuple[str, str]:
        """Both ids, ascending."""
        return min(self.alias, self.canonical), max(self.alias, self.canonical)


class MergeStore(ABC):
    """Decisions about the entities of a corpus. Saving or dropping one raises the version of the corpus."""

    @abstractmethod
    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """All decisions of a corpus, by id."""

    @abstractmethod
    def aliases(self, corpus: str, *, version: int) -> Aliases:
        """The groups of merged entities of a corpus; read once per version and kept in memory.

        Parameters
        ----------
        corpus : name of the corpus
        version : version of the corpus that the caller reads
        """

    @abstractmethod
    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """Writes all decisions in one transaction; each replaces an earlier one about its pair. Needs the lock.

        Parameters
        ----------
        corpus : name of the corpus
        decisions : decisions to write

        Raises
        ------
        StoreConflictError
            An entity is not in the corpus.
        """

    @abstractmethod
    def drop(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """Removes decisions; one that does not exist is ignored. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        decisions : decisions to remove
        """


def grouped(decisions: Iterable[Decision]) -> Groups:
    """The groups of entities that these decisions merge."""
    return Groups(item.pair for item in decisions if item.verdict is Verdict.SAME)


class KeptAliases:
    """A cache of the aliases of corpora, one version of each. Thread-safe: the last read wins."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, Aliases]] = {}
        self._guard = threading.Lock()

    def get(self, corpus: str, *, version: int, read: Callable[[], Groups]) -> Aliases:
        """The aliases of a corpus at a version; reads them if they are not cached.

        Parameters
        ----------
        corpus : name of the corpus
        version : version of the corpus
        read : reads the groups of the corpus
        """
        with self._guard:
            cached = self._held.get(corpus)
        if cached is None or cached[0] != version:
            cached = (version, {name: some for some in read().all() for name in some})
            with self._guard:
                self._held[corpus] = cached
        return cached[1]
