"""Personalised PageRank in process, over any graph store, and how an explanation names the ranker that was used."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.communities import CommunityLevels, at_most, leiden
from hlgraph.algorithms.fusion import top_k
from hlgraph.algorithms.ppr import Precision, Space, Walk, exact_pagerank, local_pagerank, precision_for, prepare
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, ingredients, project
from hlgraph.errors import InputError, StoreError
from hlgraph.records import Chunk, Hit, Kind, Record, Relationship, Source, Statement, Topic
from hlgraph.stores.derived import Clustered, ClusterQuery
from hlgraph.stores.protocols import CorpusStats, GraphStore, Matched, MatchQuery, PullShape, Ranker, RankQuery, Scope
from hlgraph.subgraph import KINDS, Subgraph
from hlgraph.where import matches, source_values

_WIDTH = 32  # length of an id


class Seeds(NamedTuple):
    """The seeds that a graph holds: their positions in the graph, ascending, and their weights, all above 0."""

    places: NDArray[np.intp]
    weights: NDArray[np.float64]


class WalkedNodes(NamedTuple):
    """The nodes of a walk, by number. A patch appends new nodes; a node that was removed keeps its number.

    Attributes
    ----------
    ids : shape (n,), bytes of length 32; the first ``base`` ascend
    kinds : shape (n,), indices into KINDS
    base : number of nodes that no patch appended
    order : numbers of the nodes that are there, by id; None: all of them as they are numbered
    """

    ids: NDArray[np.bytes_]
    kinds: NDArray[np.uint8]
    base: int
    order: NDArray[np.intp] | None = None

    def find(self, ids: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """The number of each id; -1 for one that never was there."""
        found = np.full(len(ids), -1, dtype=np.intp)
        fresh = np.argsort(self.ids[self.base :]) + self.base
        for held, numbers in ((self.ids[: self.base], None), (self.ids[fresh], fresh)):
            if len(held):
                at = np.minimum(np.searchsorted(held, ids), len(held) - 1)
                found = np.where(held[at] == ids, at if numbers is None else numbers[at], found)
        return found


class WalkedGraph:
    """The graph of one shape, prepared once for many rankings. Thread-safe.

    Parameters
    ----------
    nodes : its nodes
    walk : the walk on them
    version : version of the corpus
    mark : see :class:`hlgraph.stores.image.image.Image`

    Attributes
    ----------
    version, mark : as given
    edges : number of entries of its matrix, from which callers bound memory
    """

    def __init__(self, nodes: WalkedNodes, walk: Walk, *, version: int, mark: Hashable = None) -> None:
        self.version = version
        self.mark = mark
        self.nodes = nodes
        self.walk = walk
        self.edges = int(walk.steps.nnz) + (0 if walk.over is None else len(walk.over.weights))
        self._spaces: list[Space] = []

    @classmethod
    def of(
        cls,
        graph: Subgraph,
        shape: ProjectionShape,
        *,
        precision: Precision = "single",
        synonyms: float | None = None,
        mark: Hashable = None,
    ) -> WalkedGraph:
        """The graph of a shape, projected from a subgraph.

        Parameters
        ----------
        graph : subgraph with the ingredients of the shape
        shape : which graph
        precision : see :func:`hlgraph.algorithms.ppr.prepare`
        synonyms : see :func:`hlgraph.algorithms.projection.project`
        mark : see :class:`hlgraph.stores.image.image.Image`
        """
        made = project(graph, shape, synonyms=synonyms)
        nodes = WalkedNodes(graph.ids[made.nodes].astype("S32"), graph.kinds[made.nodes], len(made.nodes))
        return cls(nodes, prepare(made.adjacency, precision=precision), version=graph.version, mark=mark)

    def rank(self, query: RankQuery) -> list[Hit]:
        """The best nodes for a query; see :meth:`hlgraph.stores.protocols.Ranker.rank`."""
        seeds = self._seeds(query)
        if not len(seeds.places):
            return []
        nodes, scores = self._exact(query, seeds) if query.epsilon is None else self._local(query, seeds)
        wanted = scores > 0
        if query.kinds is not None:
            may = np.zeros(len(KINDS), dtype=bool)
            may[[KINDS.index(kind) for kind in query.kinds]] = True
            wanted &= may[self.nodes.kinds[nodes]]
        nodes, scores = nodes[wanted], scores[wanted]
        # Nodes are in the order of their ids, so ties break by id.
        best = top_k(scores, min(query.k, len(nodes)))
        ids = self.nodes.ids[nodes[best]].astype("U32").tolist()
        return [Hit(*item) for item in zip(ids, scores[best].tolist(), strict=True)]

    def _seeds(self, query: RankQuery) -> Seeds:
        held = {key.encode(): weight for key, weight in query.seed_weights.items() if weight > 0}
        wanted = sorted(key for key in held if len(key) <= _WIDTH)
        places = self.nodes.find(np.array(wanted, dtype=f"S{_WIDTH}"))
        weights = np.array([held[key] for key in wanted], dtype=np.float64)
        is_there = places >= 0
        if self.nodes.order is not None:
            is_there &= np.isin(places, self.nodes.order)
        places, weights = places[is_there], weights[is_there]
        order = np.argsort(places)
        return Seeds(places[order], weights[order])

    def _exact(self, query: RankQuery, seeds: Seeds) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        found = exact_pagerank(
            self.walk, seeds.places, weights=seeds.weights, damping=query.damping, tolerance=query.tolerance
        )
        if not found.has_converged:
            raise InputError(
                f"the scores did not converge to {query.tolerance} at damping {query.damping} within {found.iterations} "
                "iterations; lower the damping, or raise the tolerance"
            )
        order = self.nodes.order
        return (np.arange(len(self.nodes.ids)), found.scores) if order is None else (order, found.scores[order])

    def _local(self, query: RankQuery, seeds: Seeds) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        # pop and append are atomic, so no two threads share a work space.
        space = self._spaces.pop() if self._spaces else Space(self.walk)
        found = local_pagerank(
            self.walk,
            seeds.places,
            weights=seeds.weights,
            damping=query.damping,
            epsilon=query.epsilon or 0.0,
            space=space,
        )
        self._spaces.append(space)
        if self.nodes.order is None:
            return found.nodes, found.scores
        by_id = np.argsort(self.nodes.ids[found.nodes])
        return found.nodes[by_id], found.scores[by_id]


def precision_of(query: RankQuery) -> Precision:
    """The floating-point precision that the scores of a query need."""
    return "single" if query.epsilon is not None else precision_for(query.tolerance, query.damping)


def check_query(query: RankQuery) -> None:
    """Checks a query before anything is read. Raises InputError for weights, a damping or a bound out of range."""
    weights = query.seed_weights.values()
    if weights and not (all(0 <= weight < math.inf for weight in weights) and any(weights)):
        raise InputError("seed_weights must be finite and not negative, and at least one must be above 0")
    if not 0 <= query.damping < 1:
        raise InputError(f"damping is {query.damping}; it must be from 0 to below 1")
    check.not_negative("k", query.k)
    check.positive("tolerance", query.tolerance)
    if query.epsilon is not None:
        check.positive("epsilon", query.epsilon)
    if query.synonyms is not None:
        check.positive("synonyms", query.synonyms)
        if query.shape is not ProjectionShape.STATEMENT_ENTITY_CHUNK:
            raise InputError(
                f"synonyms is {query.synonyms}; the shape {query.shape} has no such parameter, leave it at None"
            )


@runtime_checkable
class HasServer(Protocol):
    """A ranker that ranks on a server, and in process where the server cannot."""

    def why_in_process(self, scope: Scope) -> str:
        """The reason why the server does not rank in this scope; empty when it does."""


class ServerRanker(Ranker, HasServer, Protocol):
    """A ranker on a server that also names its projections for other uses."""

    def projection(self, shape: ProjectionShape, corpus: str) -> str:
        """The name of the projection of a corpus; creates it if it does not exist, and keeps it until the ranker closes.

        Parameters
        ----------
        shape : nodes and relationships of the projection
        corpus : name of the corpus
        """


@runtime_checkable
class HasBound(Protocol):
    """A ranker in process that holds the whole graph up to a size limit; beyond it, it only looks around the seeds."""

    def why_around(self, shape: ProjectionShape, scope: Scope) -> str:
        """The reason why it only looks around the seeds; empty when it ranks the whole graph.

        Parameters
        ----------
        shape : graph to rank
        scope : corpus and sources that may be seen
        """


@runtime_checkable
class HasImage(Protocol):
    """A graph store on a server that pulls in process where it has an image of the corpus."""

    def walked_by(self, scope: Scope) -> str:
        """What answered the last pull: ``image``, ``server``, or ``server:`` and the reason why there was no image."""


def walked_by(graph: GraphStore, scope: Scope) -> str:
    """What answered the last pull, for explanations; empty for a store that has one way only.

    Parameters
    ----------
    graph : store of the graph
    scope : corpus and sources that may be seen
    """
    return graph.walked_by(scope) if isinstance(graph, HasImage) else ""


@runtime_checkable
class PlansAhead(Protocol):
    """A graph store on a server that plans queries before it runs them."""

    def plan_ahead(self) -> None:
        """Has the server plan what a search will ask, in the background, once; returns at once and never raises."""


def plan_ahead(graph: GraphStore) -> None:
    """Tells a store that a search begins: without an image, its server needs some seconds to plan the first one.

    Parameters
    ----------
    graph : store of the graph
    """
    if isinstance(graph, PlansAhead):
        graph.plan_ahead()


@runtime_checkable
class Remembers(Protocol):
    """A graph store that keeps what it last read of each corpus."""

    def known(self, corpus: str) -> CorpusStats | None:
        """What the last :meth:`GraphStore.stats` without counts found of a corpus; None: nothing, or there was none.

        Parameters
        ----------
        corpus : name of the corpus
        """


def presumed(graph: GraphStore, corpus: str) -> CorpusStats | None:
    """What is probably true of a corpus, at no cost; None if nothing is known. The caller checks it afterwards.

    Parameters
    ----------
    graph : store of the graph
    corpus : name of the corpus
    """
    return graph.known(corpus) if isinstance(graph, Remembers) else None


@runtime_checkable
class HasChoice(Protocol):
    """A ranker that chooses for each query where to rank."""

    def chosen(self, scope: Scope, shape: ProjectionShape | None) -> str:
        """Where it ranks, as :func:`ranked_by` returns it.

        Parameters
        ----------
        scope : corpus and sources that may be seen
        shape : graph to rank; None: any
        """


def ranked_by(ranker: Ranker, scope: Scope, *, shape: ProjectionShape | None = None) -> str:
    """Where a ranking runs, for explanations: ``server``, ``process``, or ``process:`` and a reason.

    The reason says why the server does not rank, or why a ranking in process only looks around the seeds.

    Parameters
    ----------
    ranker : ranker of the stores
    scope : corpus and sources that may be seen
    shape : graph to rank; None: leaves out the second reason
    """
    if isinstance(ranker, HasChoice):
        return ranker.chosen(scope, shape)
    if isinstance(ranker, HasServer):
        why = ranker.why_in_process(scope)
        return f"process: {why}" if why else "server"
    why = ranker.why_around(shape, scope) if shape is not None and isinstance(ranker, HasBound) else ""
    return f"process: {why}" if why else "process"


class PulledRanker:
    """Ranks the subgraph that a pull around the seeds reaches; see :class:`hlgraph.stores.protocols.Ranker`.

    Caches nothing, because the subgraph depends on the seeds.

    Parameters
    ----------
    graph : store to pull from
    hops, fan_out, node_cap : bounds of the pull; the walk stays inside the subgraph
    """

    def __init__(self, graph: GraphStore, *, hops: int = 4, fan_out: int = 100, node_cap: int = 20_000) -> None:
        self._graph = graph
        self._bounds = (hops, fan_out, node_cap)

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`Ranker.rank`."""
        check_query(query)
        relationships, kinds = ingredients(query.shape, synonyms=query.synonyms)
        hops, fan_out, node_cap = self._bounds
        shape = PullShape(relationships, kinds, hops=hops, fan_out=fan_out, node_cap=node_cap)
        seeds = sorted(key for key, weight in query.seed_weights.items() if weight > 0)
        graph = self._graph.pull(seeds, shape, scope=scope)
        walked = WalkedGraph.of(graph, query.shape, precision=precision_of(query), synonyms=query.synonyms)
        return walked.rank(query)


# Leiden communities found in process, over the whole graph of a corpus.


class ProcessClusterer:
    """Clusters in process; see :class:`hlgraph.stores.derived.Clusterer`. Needs twice the memory of the corpus's graph.

    Parameters
    ----------
    read : returns the whole graph of a corpus: the kinds and relationships of a shape, without bounds
    """

    def __init__(self, read: Callable[[PullShape, Scope], Subgraph]) -> None:
        self._read = read

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """See :meth:`Clusterer.cluster`."""
        relationships, kinds = INGREDIENTS[query.shape]
        graph = self._read(PullShape(relationships, kinds, hops=0), Scope(corpus))
        made = project(graph, query.shape)
        joined = np.flatnonzero(np.diff(made.adjacency.indptr))
        if not len(joined):
            return Clustered([], CommunityLevels(np.empty((1, 0), dtype=np.int64)))
        found = leiden(
            made.adjacency[joined][:, joined], resolution=query.resolution, max_size=query.max_size, seed=query.seed
        )
        ids = [str(item) for item in graph.ids[made.nodes[joined]]]
        return Clustered(ids, CommunityLevels(at_most(found.levels, query.max_levels)))


def pulled(graph: GraphStore) -> Callable[[PullShape, Scope], Subgraph]:
    """A reader of the whole graph of a corpus for any graph store: a pull with all nodes as seeds and no hops."""

    def read(shape: PullShape, scope: Scope) -> Subgraph:
        ids = sorted(record.id for kind in shape.kinds for record in graph.find(kind, scope))
        whole = PullShape(shape.relationships, shape.kinds, hops=0, node_cap=max(len(ids), 1))
        return graph.pull(ids, whole, scope=scope)

    return read


# What the stores share: checks of a match, counts of mentions grouped as a result, and which records a scope admits.


MENTIONED = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}))
"""The relationship and the kinds that a match reads."""


def check_match(query: MatchQuery) -> None:
    """Checks a query before anything is read. Raises InputError for a negative ``k`` or a bound below 1."""
    check.not_negative("k", query.k)
    check.positive("most", query.most)


def matched(
    ids: NDArray[np.str_] | NDArray[np.bytes_], counts: NDArray[np.integer], *, query: MatchQuery
) -> list[Matched]:
    """Statements grouped by their counts, as :meth:`Matcher.match` returns them.

    Parameters
    ----------
    ids : shape (n,), of all statements that mention a name, ascending
    counts : shape (n,), number of names that each mentions
    query : bounds

    Returns
    -------
    list of Matched
        Highest count first.

    Examples
    --------
    >>> matched(np.array(["a", "b", "c"]), np.array([1, 2, 1]), query=MatchQuery((), k=2, most=1))
    [Matched(count=2, size=1, ids=('b',)), Matched(count=1, size=2, ids=())]
    """
    found: list[Matched] = []
    wanted = query.k
    for count in np.unique(counts)[::-1].tolist():
        if wanted <= 0:
            break
        some = ids[counts == count]
        held = tuple(some.astype(np.str_).tolist()) if len(some) <= query.most else ()
        found.append(Matched(int(count), len(some), held))
        wanted -= len(some)
    return found


def admitted(found: list[Record], scope: Scope, *, read: Callable[[list[str]], list[Record]]) -> list[Record]:
    """The records that the filter and the sources of a scope admit, in their order.

    Parameters
    ----------
    found : records of one kind of the corpus of the scope
    scope : a filter, sources, or both
    read : reads sources of the corpus by id

    Raises
    ------
    StoreError
        Facts and entities, which belong to the whole corpus, are to be filtered.
    """
    owners = [_owner(item) for item in found]
    names = set(owners) if scope.sources is None else set(owners).intersection(scope.sources)
    if scope.where is not None:
        held = [item for item in read(sorted(names)) if isinstance(item, Source)]
        names = {item.id for item in held if matches(scope.where, source_values(item))}
    return [item for item, owner in zip(found, owners, strict=True) if owner in names]


def _owner(record: Record) -> str:
    """The id of the source that a record belongs to."""
    if isinstance(record, Source):
        return record.id
    if isinstance(record, Chunk | Statement | Topic):
        return record.source_id
    raise StoreError("facts and entities belong to the whole corpus; read them without a filter or sources")
