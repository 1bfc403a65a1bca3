"""The two storage protocols of hlgraph, in domain types only; a contract suite in ``hlgraph.testing`` checks both.

Visibility: staged data stays invisible until ``advance(..., PUBLISHED)`` publishes it in one transaction of the graph
store. The vector store is written before that. Its rows carry the id of their change, and a search leaves out the rows of
the changes named in ``VectorQuery.hidden`` (those that ``CorpusStats.pending`` lists). Rows that a change removes stay in
the vector store until the change is published: the caller drops a hit whose record the graph no longer has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.merging import Groups, Pair
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.change import Change, ChangeState, Outcome, Pending, VectorBlock
from hlgraph.errors import InputError, ModelMismatchError, StoreConflictError, StoreError, UnknownNameError
from hlgraph.ids import WITHOUT_NAME, content_id
from hlgraph.records import (
    KIND_OF,
    Calibration,
    Chunk,
    Domain,
    Hit,
    Kind,
    Record,
    Relationship,
    Source,
    Statement,
    Topic,
)
from hlgraph.stores.files import scratch_file
from hlgraph.stores.reads import IdPage as IdPage
from hlgraph.stores.reads import Matched as Matched
from hlgraph.stores.reads import MatchQuery as MatchQuery
from hlgraph.stores.reads import PullShape as PullShape
from hlgraph.stores.reads import RankQuery as RankQuery
from hlgraph.stores.reads import Scope as Scope
from hlgraph.where import Where

if TYPE_CHECKING:
    from hlgraph.stores.bulk_copies import Copies
    from hlgraph.stores.closing import Calls
    from hlgraph.stores.derived import Clustered, ClusterQuery, DerivedStore, RebindingStore, RetentionStore
    from hlgraph.stores.queries import Limits, ParameterValue, Query, Table
    from hlgraph.subgraph import Subgraph

_SET = "@vectors-"
"""Between the name of a corpus and the id of a set of its vectors, in the name by which the vector store keeps the set."""

T = TypeVar("T", bound=Record)
T_Part = TypeVar("T_Part", Chunk, Topic, Statement)


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The vectors of all records of a corpus by one embedding model.

    Attributes
    ----------
    id : distinguishes it from the other sets of the corpus; empty: the first one
    embedding, dimensions : fingerprint of the model, and length of the vectors
    model : name by which the model can be chosen; empty: it was given as an object
    at : when the set was begun, ISO 8601 in UTC
    """

    id: str
    embedding: str
    dimensions: int
    model: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class VectorSets:
    """The sets of vectors of a corpus that has, or had, more than one.

    Attributes
    ----------
    current : the set that searches use
    other : the set beside it; None: there is none
    is_previous : whether the other set was current before
    past : fingerprints of all models that the corpus had before
    """

    current: VectorSet
    other: VectorSet | None = None
    is_previous: bool = False
    past: tuple[str, ...] = ()


class PlaceOfRows(NamedTuple):
    """Where a vector store finds the rows of a corpus.

    Attributes
    ----------
    base : name of the corpus, under which its sources are
    name : name under which the rows of the set are
    others : the same for other sets, from which rows that are removed or replaced are removed as well
    """

    base: str
    name: str
    others: tuple[str, ...] = ()


def base_of(name: str) -> str:
    """The name of the corpus that a set of vectors belongs to."""
    return name.partition(_SET)[0]


def set_name(corpus: str, set_id: str) -> str:
    """The name that stands for one set of vectors wherever a vector store takes the name of a corpus.

    Parameters
    ----------
    corpus : name of the corpus
    set_id : id of the set
    """
    return f"{corpus}{_SET}{set_id}"


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """Statistics of a corpus.

    Attributes
    ----------
    version : grows with every published change
    embedding : name of the embedding model; empty before the first vector
    dimensions : length of the vectors; 0 before the first vector
    records, relationships : counts; empty unless requested
    fields : metadata fields that a filter can name, each with the types of its values: ``text``, ``number``, ``truth``; empty
        if the store does not know them. Not compared: they may be read later than the rest
    pending : ids of the changes that are staged but not done
    renewed_to : in a corpus of an older version, the id up to which topics have vectors with their statements in them;
        None: all have
    calibration : the scale of the cosines; None: not measured, since there are too few names or the corpus is of an older version
    state : unique name of this state of the corpus; empty if the store detects changes itself, or if an older hlgraph wrote the
        corpus last
    ids : scheme of the ids, see :mod:`hlgraph.ids`
    sets : its sets of vectors; None: it has one, and never had another
    co_occurs : version of the corpus in which the stored CO_OCCURS were counted, 0 if a kill left only some; None: none are stored
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
    sets: VectorSets | None = None

    @property
    def vectors(self) -> str:
        """The name of its current set of vectors, see :func:`set_name`; that of the corpus if it has one set."""
        return self.corpus if self.sets is None else set_name(self.corpus, self.sets.current.id)


class Altered(NamedTuple):
    """Which sources of a corpus changed since a state.

    Attributes
    ----------
    state : name of the present state; empty: the store does not name states
    sources : ids of the sources that were added, edited or given new metadata; None: it is not known
    removed : ids of the sources that were removed; some may be there again
    """

    state: str
    sources: frozenset[str] | None
    removed: frozenset[str] = frozenset()


class Remnants(NamedTuple):
    """What a store can say about bytes of deleted rows on its disk.

    Attributes
    ----------
    store : kind of the store; empty: it does not tell
    files : files of this machine that may hold text of sources; empty: the store is on a server
    unwiped : what holds freed bytes that are not overwritten yet; empty: nothing
    awaiting : by index, number of deleted rows whose segments are not rewritten yet; None: the store does not tell
    """

    store: str = ""
    files: tuple[Path, ...] = ()
    unwiped: str = ""
    awaiting: Mapping[str, int] | None = None


class _Closed(Protocol):
    """A store that is closed at the end of a ``with`` block."""

    def remnants(self, corpus: str) -> Remnants:  # noqa: ARG002
        """What is known of bytes of deleted rows on the disk. Default: nothing.

        Parameters
        ----------
        corpus : name of the corpus
        """
        return Remnants()

    def close(self) -> None:
        """Release the resources of the store. Default: do nothing."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class GraphStore(_Closed, Protocol):
    """Sources, chunks, topics, statements, facts and entities, and the relationships between them.

    A store is a subclass. It defines the methods from :meth:`lock` to :meth:`stats`. The others have defaults, which use these in
    process, or raise an error that names what the store lacks; a store overrides what it can do better.

    Attributes
    ----------
    name : name of the store in messages
    is_remote : whether a server does the writing, so that this process can prepare the next change meanwhile
    derived : communities and summaries; None: the store keeps none
    merges : decisions about entities; None: the store keeps none
    domains : domains of corpora; None: the store keeps none
    retention : holds on sources, and the last receipt of each corpus; None: the store keeps none
    seals : checksums of records; None: the store has none
    copies : reading and writing of whole corpora; None: the store has none
    rebinding : a second set of vectors, and its exchange for the first; None: a corpus has one set
    """

    name: str = "this store"
    is_remote: bool = False
    derived: DerivedStore | None = None
    merges: MergeStore | None = None
    domains: DomainStore | None = None
    retention: RetentionStore | None = None
    seals: Seals | None = None
    copies: Copies | None = None
    rebinding: RebindingStore | None = None

    def lock(
        self, corpus: str | None = None, *, wait: float | None = None
    ) -> AbstractContextManager[tuple[Pending, ...]]:
        """Hold the write lock of a corpus; yields its unfinished changes of interrupted runs, oldest first.

        The ``vectors`` of these changes may be hollow, with only the ids of their rows.

        Writers take turns: a writer that asks again queues behind the waiting writers. A thread may lock its corpus again, but
        no other corpus; a thread that has locked the whole store may lock any corpus.

        Parameters
        ----------
        corpus : the corpus; None: the whole store, once no writer has locked any of its corpora
        wait : seconds to wait while another writer holds the lock; None: as the store was opened

        Raises
        ------
        StoreLockedError
            Another writer held the lock all that time; the message names it.
        """

    def stage(self, change: Change) -> None:
        """Record a change durably but invisibly; staging the same change again has no effect. Needs the lock.

        Raises StoreConflictError if a source is not at its base version, and ModelMismatchError if the corpus has vectors of
        another model.
        """

    def advance(self, change_id: str, to: ChangeState, *, beside: Callable[[], object] = tuple) -> Outcome:
        """Publish a staged change, or delete a published one from the journal. Needs the lock.

        Advancing to a state already reached has no effect and returns the same outcome.

        Parameters
        ----------
        change_id : id of the staged change
        to : PUBLISHED makes the whole change visible in one transaction; DONE deletes it from the journal
        beside : writes elsewhere what must exist before the change becomes visible; called once, for PUBLISHED only. A store
            on a server calls it in another thread while it writes. If it raises, the change stays staged; default nothing

        Returns
        -------
        Outcome
            The added records, the vanished records, and the statements of the affected topics.
        """

    def records(self, kind: Kind, ids: Sequence[str], *, scope: Scope) -> list[Record]:
        """The visible records with these ids in a scope, in the order of ``ids``.

        Parameters
        ----------
        kind : kind of the records
        ids : ids that are unknown or outside the scope are left out of the result
        scope : with a filter or sources, entities and facts have the names that mentions in the scope give them
        """

    def find(self, kind: Kind, scope: Scope) -> Iterator[Record]:
        """All visible records of a kind in a scope, by ascending id.

        Parameters
        ----------
        kind : kind of the records
        scope : for facts and entities a whole corpus, without filter or sources
        """

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """A bounded part of the visible graph, without nodes and edges that only sources outside the scope assert.

        Parameters
        ----------
        seeds : ids of the nodes to start from; unknown ids are ignored
        shape : relationships to follow, kinds to enter and bounds
        scope : corpus and sources that may be seen
        """

    def own_entities(self, corpus: str, source_ids: Sequence[str]) -> list[str]:
        """The ids of the visible entities that these sources mention, and no others, ascending.

        Reads what these sources assert, not an image of the corpus; called by a deletion.

        Parameters
        ----------
        corpus : name of the corpus
        source_ids : ids of sources; unknown ids are ignored
        """

    def stats(
        self, corpus: str | None = None, *, has_counts: bool = True, has_relationships: bool = True
    ) -> tuple[CorpusStats, ...]:
        """Statistics of each corpus.

        Parameters
        ----------
        corpus : name of one corpus, empty result if it does not exist; None: all corpora
        has_counts : whether to count records and relationships; without counts the call is cheap
        has_relationships : whether to count relationships as well; record counts alone, which every ingest asks for,
            cost little
        """

    # Defaults

    def vector_sets(self, corpus: str) -> VectorSets | None:
        """The sets of vectors of a corpus, as this thread sees it; None: it has one, and never had another.

        Parameters
        ----------
        corpus : name of the corpus
        """
        return next((stats.sets for stats in self.stats(corpus, has_counts=False)), None)

    def altered(self, corpus: str, since: str) -> Altered:  # noqa: ARG002
        """Which sources changed since a state. Default: it is not known.

        Parameters
        ----------
        corpus : name of the corpus
        since : the state, as an earlier call named it; empty: unknown
        """
        return Altered("", None)

    def sources_inside(self, corpus: str, names: Sequence[str]) -> list[Source]:
        """The sources whose uri begins with one of these names. Default: from all. A store reads these alone, by an index.

        Parameters
        ----------
        corpus : name of the corpus
        names : uris of folders, ending in ``/``, and of files with rows, ending in ``#``
        """
        sources = by_id(self.find(Kind.SOURCE, Scope(corpus)), Source) if names else {}
        return [source for source in sources.values() if source.uri.startswith(tuple(names))]

    def entities(self, scope: Scope) -> tuple[str, ...]:
        """The ids of the entities that statements in a scope mention, ascending. Default: by a pull from all these statements.

        Parameters
        ----------
        scope : corpus and sources that may be seen
        """
        from hlgraph.stores.in_process import entities_by_pull

        return entities_by_pull(self, scope)

    def page(self, kind: Kind, scope: Scope, *, after: str = "", size: int) -> IdPage:
        """The ids of the first records of a kind in a scope after an id, ascending, and how many records the scope has.

        Default: from the ids of all of them. A store reads one page by an index.

        Parameters
        ----------
        kind : source, chunk, topic, statement, fact or entity
        scope : corpus and sources that may be seen; a fact or an entity is in it if a statement in it asserts it
        after : id before the first one; it need not exist. Empty: begin with the first
        size : maximum number of ids
        """
        from hlgraph.stores.in_process import page_of_all

        return page_of_all(self, kind, scope=scope, after=after, size=size)

    def unfinished(self, corpus: str | None = None) -> tuple[Pending, ...]:
        """The unfinished changes of active writers and of interrupted runs, oldest first, for callers that do not write.

        Default: those that :meth:`lock` yields, once no other writer holds the lock.

        Parameters
        ----------
        corpus : name of the corpus; None: all corpora
        """
        with self.lock(corpus) as pending:
            return pending

    def scratch_file(self) -> IO[bytes]:
        """An empty file without a name for parts of a large change. Default: on the disk of the system's temporary files."""
        return scratch_file()

    def snapshot(self) -> AbstractContextManager[bool]:
        """Pin one published state for all reads of this thread in the block; yields whether it is pinned.

        Default: False; the caller then compares ``CorpusStats.state`` before and after.
        """
        return nullcontext(enter_result=False)

    def transaction(self) -> AbstractContextManager[object]:
        """Make all writes of the block visible at once. Default: each by itself."""
        return nullcontext()

    def known(self, corpus: str) -> CorpusStats | None:  # noqa: ARG002
        """The probable statistics of a corpus, without a query; the caller verifies them afterwards. Default: None, unknown.

        Parameters
        ----------
        corpus : name of the corpus
        """
        return None

    def plan_ahead(self) -> None:
        """Start to plan the first queries of a search in the background. Never raises. Default: do nothing."""
        return

    def walked_by(self, scope: Scope) -> str:  # noqa: ARG002
        """How the last pull was answered, for explanations; default: empty, since there is only one way.

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

        Counts are exact over all statements of the scope. The list ends with the entry at which the total size reaches ``k``; if
        fewer than ``k`` statements mention any name, all are returned. Default: counted on a pull of all mentions of the names; a
        store can count without reading the statements of hubs.

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
        """Run a query in a read-only transaction that ends after ``limits.timeout``. Default: InputError.

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
        """Store CO_OCCURS as relationships, replacing stored ones; returns their number. Default: InputError.

        They are for queries of analysts; hlgraph itself counts them when it needs them. A later change of the corpus does not
        update them; :attr:`CorpusStats.co_occurs` then shows that they are outdated. After a kill the same call starts again.

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
        """Remove the stored CO_OCCURS of a corpus; returns their number. Raises the same errors.

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
    among : ids of the only rows that may be returned; None: all
    is_alone : whether frequencies and lengths of words are counted in the rows that may be returned, and in no others; the mean
        length is that of the rows with a word of the query
    """

    kind: Kind
    corpus: str
    k: int
    vector: NDArray[np.float32] | None = None
    text: str | None = None
    where: Where | None = None
    hidden: tuple[str, ...] = ()
    state: str = ""
    among: tuple[str, ...] | None = None
    is_alone: bool = False


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
    """A row of the vector store without its vector: the id of a record, its text, and the id of its source or ""."""

    id: str
    text: str
    source_id: str


class Damage(NamedTuple):
    """Rows of the vector store that differ from what was written.

    Attributes
    ----------
    vectors : ids of rows whose vector was altered or is missing
    texts : ids of rows whose text or source was altered, or that no full-text search finds
    strays : number of full-text entries without a row
    """

    vectors: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    strays: int = 0

    @property
    def is_none(self) -> bool:
        """Whether every row is as it was written."""
        return not (self.vectors or self.texts or self.strays)


class VectorStore(_Closed, Protocol):
    """Vectors and full text of chunks, statements, topics and entities.

    A store is a subclass. It defines the methods up to :meth:`examine`; the others have defaults.

    Wherever a method takes the name of a corpus, it means the current set of its vectors; the name of a set (:func:`set_name`)
    means that set. Rows of the current set that are replaced or removed are removed from the other sets.

    Attributes
    ----------
    sets : tells the sets of a corpus that has, or had, more than one; set by whoever opens both stores
    """

    sets: Callable[[str], VectorSets | None] = staticmethod(lambda _: None)

    def place_of(self, corpus: str) -> PlaceOfRows:
        """Where the rows of a corpus, or of one of its sets, are.

        Parameters
        ----------
        corpus : name of the corpus, or of a set
        """
        base, mark, set_id = corpus.partition(_SET)
        sets = None if mark else self.sets(corpus)
        if sets is not None:
            others = () if sets.other is None else (self._stored_name(base, sets.other.id),)
            return PlaceOfRows(base, self._stored_name(base, sets.current.id), others)
        return PlaceOfRows(base, self._stored_name(base, set_id))

    @staticmethod
    def _stored_name(corpus: str, set_id: str) -> str:
        """The first set is stored under the name of the corpus, as it was before there could be others."""
        return set_name(corpus, set_id) if set_id else corpus

    def upsert(self, batch: VectorBatch) -> None:
        """Write sources and rows; writing the same batch twice has no further effect.

        Raises ModelMismatchError if the vectors differ in length from those of the corpus.
        """

    def search(self, query: VectorQuery) -> list[Hit]:
        """The ``k`` best rows, best first, ties by id; the filter applies inside the search, never to its result."""

    def search_many(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """The results of :meth:`search` for several queries, in order. Default: one by one; a server can answer all at once."""
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
        """Remove rows, and the metadata of sources, so that nothing of them stays on disk.

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
        """Compare stored rows with what they were made of: vectors with checksums or norms, full text with the records.

        Parameters
        ----------
        kind : kind of the rows
        corpus : name of the corpus
        rows : the expected rows, consumed once; a missing row does not count as damage
        dimensions : length of the vectors of the corpus: stored vectors of another length are damaged; 0: unknown
        repair : write the texts again, and remove the rows whose vectors are damaged, so that they can be embedded again;
            the caller holds the lock of the graph store

        Returns
        -------
        Damage
            The damage; with ``repair`` it has been repaired when the method returns.
        """

    # Defaults

    def loading(self, corpus: str, *, dimensions: int) -> AbstractContextManager[object]:  # noqa: ARG002
        """Context of a bulk write, whose rows need not be searchable before its end, even if it ends with an error.

        Default: every row is searchable when :meth:`upsert` returns.

        Parameters
        ----------
        corpus : the corpus
        dimensions : length of its vectors
        """
        return nullcontext()


class Finding(NamedTuple):
    """The result of one check of a store: its name, whether it passed, and what it saw."""

    check: str
    is_fine: bool
    seen: str

    @classmethod
    def of_journal(cls, count: int) -> Self:
        """The finding of this number of unfinished changes."""
        unfinished = f"{count} unfinished changes; run any ingest or delete again to finish them"
        return cls("journal", not count, unfinished if count else "nothing unfinished")


class AlteredRecord(NamedTuple):
    """A record whose rows were altered since they were written.

    Attributes
    ----------
    kind, id : of the source, chunk, summary, entity or topic
    corpus : its corpus
    where : uri of its source; empty if it has none
    is_links : whether its links were altered: statements, topics and mentions of a chunk, synonyms of an entity
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
        """Make the records readable: rebuild the indexes of a damaged database, and empty values that cannot be parsed.

        Needs the lock. Returns whether the database was damaged. Raises StoreCorruptError if its rows cannot be read.
        """

    @abstractmethod
    def accept(self, corpus: str, records: Collection[AlteredRecord]) -> None:
        """Seal records in their current state after a repair; removes altered summaries, which are rebuilt. Needs the lock.

        Parameters
        ----------
        corpus : name of the corpus
        records : records that :meth:`altered` returned
        """


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup of an embedded store, or of servers.

    Attributes
    ----------
    target : folder of the backup
    store : folder of the store, or URL of the graph server
    at : time of the state, UTC, ISO 8601
    files, bytes : number of files, and their size
    written : bytes that were written: those that differ from the previous backup
    is_unfinished : the state has changes that the next ingest or deletion finishes, as after a kill
    locked_seconds : how long all other writers had to wait; mostly 0
    pinned_seconds : how long one state was pinned. Writers may continue, but each waits at the end of its turn for up to 5 s
        until the state is unpinned, so that no deleted text remains in the log
    corpora : the corpora of a backup of servers; empty for an embedded store
    """

    target: Path
    store: Path | str
    at: str
    files: int
    bytes: int
    written: int
    is_unfinished: bool
    locked_seconds: float = 0.0
    pinned_seconds: float = 0.0
    corpora: tuple[str, ...] = ()


class Stores(NamedTuple):
    """The two stores of a corpus.

    Attributes
    ----------
    graph, vectors : the two stores
    is_one : whether both are one database, so that a snapshot and a transaction of the graph store hold for both
    calls : the calls in progress; see :class:`hlgraph.stores.closing.Calls`
    """

    graph: GraphStore
    vectors: VectorStore
    is_one: bool = False
    calls: Calls | None = None

    def snapshot(self) -> AbstractContextManager[bool]:
        """See :meth:`GraphStore.snapshot`; holds for both stores if they are one database, else it yields False."""
        return self.graph.snapshot() if self.is_one else nullcontext(enter_result=False)

    def together(self) -> AbstractContextManager[object]:
        """Make all writes of the block visible at once, if both stores are one database."""
        return self.graph.transaction() if self.is_one else nullcontext()


# Domains are stored with the graph, so that all processes and machines use the same ones.


class DomainStore(ABC):
    """The domains of corpora. A domain can exist before its corpus, and is not part of the searched graph."""

    @abstractmethod
    def read(self, corpus: str) -> Domain | None:
        """The domain of a corpus; None if it has none."""

    @abstractmethod
    def write(self, corpus: str, domain: Domain) -> None:
        """Set the domain of a corpus, replacing the previous one. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        domain : its new domain
        """

    @abstractmethod
    def drop(self, corpus: str) -> None:
        """Remove the domain of a corpus, if it has one. Needs the lock of the graph store."""


def check_base(change: Change, *, versions: Mapping[str, int], model: tuple[str, int]) -> None:
    """Check that a change still applies to its corpus.

    Parameters
    ----------
    change : the change to stage
    versions : present versions of its sources; sources that do not exist are left out
    model : embedding model and dimensions of the corpus; an empty name: no vectors yet

    Raises
    ------
    StoreConflictError
        A source is not at its base version.
    ModelMismatchError
        The corpus has vectors of another model.
    """
    for source, base in zip(change.sources, change.base_versions, strict=True):
        version = versions.get(source.id, 0)
        if version != base:
            raise StoreConflictError(
                f"{source.uri}: it was changed by someone else since this change was planned "
                f"(version {version}, expected {base}); run the same command again"
            )
    if change.embedding and model[0] and model != (change.embedding, change.dimensions):
        raise ModelMismatchError(
            f"corpus {change.corpus!r} holds vectors of {model[0]} ({model[1]} dimensions), these are of "
            f"{change.embedding} ({change.dimensions}); use the embedding model of the corpus, or another corpus; if the "
            "model was switched meanwhile (hlgraph embeddings list), run the same command again"
        )


def existing(graph: GraphStore, corpus: str) -> CorpusStats:
    """The statistics of a corpus, without counts. Raises UnknownNameError if there is no such corpus.

    Parameters
    ----------
    graph : store of the graph
    corpus : name of the corpus
    """
    for stats in graph.stats(corpus, has_counts=False):
        return stats
    raise UnknownNameError(f"there is no corpus {corpus!r}; ingest something first")


def read_records(graph: GraphStore, record_type: type[T], *, ids: Sequence[str], scope: Scope) -> dict[str, T]:
    """Records of one class by id, in the order of the ids; see :meth:`GraphStore.records`.

    Parameters
    ----------
    graph : the store
    record_type : class of the records
    ids : of the records
    scope : the corpus, and what may be seen of it
    """
    return by_id(graph.records(KIND_OF[record_type], ids, scope=scope), record_type)


def find_records(graph: GraphStore, record_type: type[T], *, scope: Scope) -> Iterator[T]:
    """All records of one class, by ascending id; see :meth:`GraphStore.find`.

    Parameters
    ----------
    graph : the store
    record_type : class of the records
    scope : the corpus, and what may be seen of it
    """
    return (record for record in graph.find(KIND_OF[record_type], scope) if isinstance(record, record_type))


def by_id(records: Iterable[Record], kind: type[T]) -> dict[str, T]:
    """The records of one class by id, in their order.

    Parameters
    ----------
    records : records of any kind
    kind : class of the records to keep
    """
    return {record.id: record for record in records if isinstance(record, kind)}


def by_source(records: Iterable[Record], kind: type[T_Part]) -> dict[str, list[T_Part]]:
    """The records of one class by the id of their source, in their order.

    Parameters
    ----------
    records : records of any kind
    kind : class of the records to keep
    """
    groups: dict[str, list[T_Part]] = {}
    for record in records:
        if isinstance(record, kind):
            groups.setdefault(record.source_id, []).append(record)
    return groups


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


# Decisions whether two entities of a corpus are the same.
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

    _aliases: dict[str, tuple[int, tuple[Pair, ...], Aliases]]

    def __init__(self) -> None:
        self._aliases = {}

    @abstractmethod
    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """All decisions of a corpus, by id."""

    @abstractmethod
    def page(
        self, corpus: str, *, verdict: Verdict | None = None, entity: str | None = None, k: int, skip: int = 0
    ) -> tuple[tuple[Decision, ...], int]:
        """Some decisions of a corpus, the newest first, then by the ids of their entities; and the number of all.

        Parameters
        ----------
        corpus : name of the corpus
        verdict : only decisions of this verdict; None: all
        entity : only decisions about this entity; None: all
        k : maximum number of decisions
        skip : number of the first decisions that are left out
        """

    def aliases(self, corpus: str, *, version: int, among: Set[str] | None = None) -> Aliases:
        """The groups of merged entities of a corpus, cached for one version. Thread-safe: the last read wins.

        Parameters
        ----------
        corpus : name of the corpus
        version : version of the corpus that the caller reads
        among : join only these entities, so that no other one is between them; None: all
        """
        cached = self._aliases.get(corpus)
        if cached is None or cached[0] != version:
            pairs = self._pairs(corpus, version)
            cached = self._aliases[corpus] = (version, pairs, _aliases_of(pairs))
        return cached[2] if among is None else _aliases_of(pair for pair in cached[1] if among >= set(pair))

    def _pairs(self, corpus: str, version: int) -> tuple[Pair, ...]:  # noqa: ARG002
        return tuple(item.pair for item in self.decisions(corpus) if item.verdict is Verdict.SAME)

    @abstractmethod
    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """Write decisions in one transaction; each replaces an earlier one about its pair. Needs the lock.

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
        """Remove decisions; ignores those that do not exist. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        decisions : decisions to remove
        """


def grouped(decisions: Iterable[Decision]) -> Groups:
    """The groups of entities that these decisions merge."""
    return Groups(item.pair for item in decisions if item.verdict is Verdict.SAME)


def _aliases_of(pairs: Iterable[Pair]) -> Aliases:
    return {name: group for group in Groups(pairs).all() for name in group}
