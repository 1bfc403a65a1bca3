"""What any graph store can do in process: personalised PageRank, Leiden communities, and counts of mentions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.communities import CommunityLevels, at_most, leiden
from hlgraph.algorithms.fusion import top_k
from hlgraph.algorithms.ppr import Precision, Space, Walk, exact_pagerank, local_pagerank, precision_for, prepare
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, ingredients, project
from hlgraph.errors import InputError, StoreError
from hlgraph.records import Chunk, Entity, Fact, Hit, Kind, Record, Relationship, Source, Statement, Topic
from hlgraph.stores.derived import Clustered, ClusterQuery
from hlgraph.stores.reads import IdPage, Matched, MatchQuery, PullShape, RankQuery, Scope
from hlgraph.subgraph import KINDS, Subgraph
from hlgraph.where import matches, source_values

if TYPE_CHECKING:
    from hlgraph.stores.protocols import GraphStore

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
        positions = np.full(len(ids), -1, dtype=np.intp)
        fresh = np.argsort(self.ids[self.base :]) + self.base
        for sorted_ids, numbers in ((self.ids[: self.base], None), (self.ids[fresh], fresh)):
            if len(sorted_ids):
                at = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
                positions = np.where(sorted_ids[at] == ids, at if numbers is None else numbers[at], positions)
        return positions


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
        projected = project(graph, shape, synonyms=synonyms)
        nodes = WalkedNodes(
            graph.ids[projected.nodes].astype("S32"), graph.kinds[projected.nodes], len(projected.nodes)
        )
        return cls(nodes, prepare(projected.adjacency, precision=precision), version=graph.version, mark=mark)

    def rank(self, query: RankQuery) -> list[Hit]:
        """The best nodes for a query; see :meth:`hlgraph.stores.protocols.GraphStore.rank`."""
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
        seed_weights = {key.encode(): weight for key, weight in query.seed_weights.items() if weight > 0}
        wanted = sorted(key for key in seed_weights if len(key) <= _WIDTH)
        places = self.nodes.find(np.array(wanted, dtype=f"S{_WIDTH}"))
        weights = np.array([seed_weights[key] for key in wanted], dtype=np.float64)
        is_there = places >= 0
        if self.nodes.order is not None:
            is_there &= np.isin(places, self.nodes.order)
        places, weights = places[is_there], weights[is_there]
        order = np.argsort(places)
        return Seeds(places[order], weights[order])

    def _exact(self, query: RankQuery, seeds: Seeds) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        pagerank = exact_pagerank(
            self.walk, seeds.places, weights=seeds.weights, damping=query.damping, tolerance=query.tolerance
        )
        if not pagerank.has_converged:
            raise InputError(
                f"the scores did not converge to {query.tolerance} at damping {query.damping} within {pagerank.iterations} "
                "iterations; lower the damping, or raise the tolerance"
            )
        order = self.nodes.order
        return (np.arange(len(self.nodes.ids)), pagerank.scores) if order is None else (order, pagerank.scores[order])

    def _local(self, query: RankQuery, seeds: Seeds) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        # pop and append are atomic, so no two threads share a work space.
        space = self._spaces.pop() if self._spaces else Space(self.walk)
        pagerank = local_pagerank(
            self.walk,
            seeds.places,
            weights=seeds.weights,
            damping=query.damping,
            epsilon=query.epsilon or 0.0,
            space=space,
        )
        self._spaces.append(space)
        if self.nodes.order is None:
            return pagerank.nodes, pagerank.scores
        by_id = np.argsort(self.nodes.ids[pagerank.nodes])
        return pagerank.nodes[by_id], pagerank.scores[by_id]


def precision_of(query: RankQuery) -> Precision:
    """The floating-point precision that the scores of a query need."""
    return "single" if query.epsilon is not None else precision_for(query.tolerance, query.damping)


def check_query(query: RankQuery) -> None:
    """Check a query before anything is read. Raises InputError for weights, a damping or a bound out of range."""
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


class PulledRanker:
    """Ranks the subgraph that a pull around the seeds reaches; see :meth:`hlgraph.stores.protocols.GraphStore.rank`.

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
        """See :meth:`GraphStore.rank`."""
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
    """Clusters in process; see :meth:`hlgraph.stores.protocols.GraphStore.cluster`. Needs twice the memory of the corpus's graph.

    Parameters
    ----------
    read : returns the whole graph of a corpus: the kinds and relationships of a shape, without bounds
    """

    def __init__(self, read: Callable[[PullShape, Scope], Subgraph]) -> None:
        self._read = read

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """See :meth:`GraphStore.cluster`."""
        relationships, kinds = INGREDIENTS[query.shape]
        graph = self._read(PullShape(relationships, kinds, hops=0), Scope(corpus))
        projected = project(graph, query.shape)
        joined = np.flatnonzero(np.diff(projected.adjacency.indptr))
        if not len(joined):
            return Clustered([], CommunityLevels(np.empty((1, 0), dtype=np.int64)))
        communities = leiden(
            projected.adjacency[joined][:, joined],
            resolution=query.resolution,
            max_size=query.max_size,
            seed=query.seed,
        )
        ids = [str(item) for item in graph.ids[projected.nodes[joined]]]
        return Clustered(ids, CommunityLevels(at_most(communities.levels, query.max_levels)))


def pulled(graph: GraphStore) -> Callable[[PullShape, Scope], Subgraph]:
    """A reader of the whole graph of a corpus for any graph store: a pull with all nodes as seeds and no hops."""

    def read(shape: PullShape, scope: Scope) -> Subgraph:
        ids = sorted(record.id for kind in shape.kinds for record in graph.find(kind, scope))
        whole = PullShape(shape.relationships, shape.kinds, hops=0, node_cap=max(len(ids), 1))
        return graph.pull(ids, whole, scope=scope)

    return read


def entities_by_pull(graph: GraphStore, scope: Scope) -> tuple[str, ...]:
    """See :meth:`hlgraph.stores.protocols.GraphStore.entities`; by a pull from the statements of the scope."""
    return tuple(_asserted(graph, Kind.ENTITY, Relationship.MENTIONS, scope=scope))


def _asserted(graph: GraphStore, kind: Kind, by: Relationship, *, scope: Scope) -> list[str]:
    """The ids of the entities or facts that the statements of a scope assert, ascending."""
    statements = [record.id for record in graph.find(Kind.STATEMENT, scope)]
    shape = PullShape.along(by, fan_out=_UNBOUNDED, node_cap=_UNBOUNDED)
    pulled = graph.pull(statements, shape, scope=scope)
    return sorted(pulled.ids[pulled.nodes(kind)].tolist())


def page_of_all(graph: GraphStore, kind: Kind, *, scope: Scope, after: str, size: int) -> IdPage:
    """See :meth:`hlgraph.stores.protocols.GraphStore.page`; reads the ids of all records of the kind.

    Parameters
    ----------
    graph : store of the graph
    kind, scope, after, size : see there
    """
    if kind is Kind.ENTITY:
        ids = list(graph.entities(scope))
    elif kind is Kind.FACT and (scope.where is not None or scope.sources is not None):
        ids = _asserted(graph, kind, Relationship.SUPPORTS, scope=scope)
    else:
        ids = [record.id for record in graph.find(kind, scope)]
    first = bisect_right(ids, after)
    return IdPage(tuple(ids[first : first + size]), len(ids))


# What the stores share: checks of a match, counts of mentions grouped as a result, and which records a scope admits.


MENTIONED = PullShape.along(Relationship.MENTIONS)
"""The relationship and the kinds that a match reads."""


_UNBOUNDED = 2**31 - 1


def check_match(query: MatchQuery) -> None:
    """Check a query before anything is read. Raises InputError for a negative ``k`` or a bound below 1."""
    check.not_negative("k", query.k)
    check.positive("most", query.most)


def matched(
    ids: NDArray[np.str_] | NDArray[np.bytes_], counts: NDArray[np.integer], *, query: MatchQuery
) -> list[Matched]:
    """Statements grouped by their counts, as :meth:`GraphStore.match` returns them.

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
    groups: list[Matched] = []
    wanted = query.k
    for count in np.unique(counts)[::-1].tolist():
        if wanted <= 0:
            break
        some = ids[counts == count]
        group_ids = tuple(some.astype(np.str_).tolist()) if len(some) <= query.most else ()
        groups.append(Matched(int(count), len(some), group_ids))
        wanted -= len(some)
    return groups


def matched_by_pull(graph: GraphStore, query: MatchQuery, *, scope: Scope) -> list[Matched]:
    """What :meth:`hlgraph.stores.protocols.GraphStore.match` returns, counted on all mentions of the names.

    Parameters
    ----------
    graph : store of the graph
    query : names and bounds
    scope : corpus and sources that may be seen
    """
    check_match(query)
    seeds = sorted({item for name in query.names for item in name})
    shape = replace(MENTIONED, fan_out=_UNBOUNDED, node_cap=_UNBOUNDED)
    pulled_graph = graph.pull(seeds, shape, scope=scope)
    mentions = pulled_graph.edges[Relationship.MENTIONS].tocsc()
    counts = np.zeros(len(pulled_graph), dtype=np.int64)
    for name in query.names:
        nodes = pulled_graph.index(list(name))
        counts[np.unique(mentions[:, nodes[nodes >= 0]].indices)] += 1
    if query.among is not None:
        counts[~np.isin(pulled_graph.ids, np.array(query.among, dtype=np.str_))] = 0
    return matched(pulled_graph.ids[counts > 0], counts[counts > 0], query=query)


def admitted(records: list[Record], scope: Scope, *, read: Callable[[list[str]], list[Record]]) -> list[Record]:
    """The records that the filter and the sources of a scope admit, in their order.

    Parameters
    ----------
    records : records of one kind of the corpus of the scope
    scope : a filter, sources, or both
    read : reads sources of the corpus by id

    Raises
    ------
    StoreError
        Facts and entities, which belong to the whole corpus: :func:`renamed` filters them.
    """
    owners = [_owner(item) for item in records]
    names = set(owners) if scope.sources is None else set(owners).intersection(scope.sources)
    if scope.where is not None:
        sources = [item for item in read(sorted(names)) if isinstance(item, Source)]
        names = {item.id for item in sources if matches(scope.where, source_values(item))}
    return [item for item, owner in zip(records, owners, strict=True) if owner in names]


def _owner(record: Record) -> str:
    """The id of the source that a record belongs to."""
    if isinstance(record, Source):
        return record.id
    if isinstance(record, Chunk | Statement | Topic):
        return record.source_id
    raise StoreError("facts and entities belong to the whole corpus; read them without a filter or sources")


class Said(NamedTuple):
    """How often mentions in a scope call an entity by a surface and a kind."""

    entity_id: str
    surface: str
    kind: str
    mentions: int


def renamed(
    records: Sequence[Record], scope: Scope, *, graph: GraphStore, said: Callable[[list[str]], Iterable[Said]]
) -> list[Record]:
    """Entities and facts with the names that mentions in a scope give them, without those that nothing in the scope asserts.

    Parameters
    ----------
    records : of the whole corpus
    scope : a filter, sources, or both
    graph : the store
    said : counts the names of entities, by id, in the scope
    """
    shape = PullShape(frozenset(), frozenset({Kind.FACT}), hops=0, node_cap=max(len(records), 1))
    facts = [record for record in records if isinstance(record, Fact)]
    asserted = set(graph.pull([record.id for record in facts], shape, scope=scope).ids.tolist()) if facts else set()
    # Every statement that supports a fact mentions its ends.
    ends = sorted({end for record in facts if record.id in asserted for end in _ends(record)})
    entities = [record for record in records if isinstance(record, Entity)]
    whole = graph.records(Kind.ENTITY, ends, scope=Scope(scope.corpus))
    before = {record.id: record.name for record in whole if isinstance(record, Entity)}
    names = _names(said([record.id for record in entities] + ends))
    result: list[Record] = []
    for record in records:
        if isinstance(record, Entity) and record.id in names:
            counts, kinds = names[record.id]
            named = replace(record, name=most_common(counts), kind=most_common(kinds), aliases=tuple(sorted(counts)))
            result.append(named)
        elif isinstance(record, Fact) and record.id in asserted and names.keys() >= {*_ends(record)}:
            complement = record.text[len(before[record.subject_id]) + len(record.predicate) + 2 :]
            thing = most_common(names[record.object_id][0]) if record.object_id else complement
            text = f"{most_common(names[record.subject_id][0])} {record.predicate} {thing}"
            result.append(replace(record, text=text))
    return result


def _ends(fact: Fact) -> tuple[str, ...]:
    return (fact.subject_id,) if fact.object_id is None else (fact.subject_id, fact.object_id)


def _names(said: Iterable[Said]) -> dict[str, tuple[Counter[str], Counter[str]]]:
    """The counts of the surfaces and of the kinds of each entity."""
    names: dict[str, tuple[Counter[str], Counter[str]]] = {}
    for entity, surface, kind, mentions in said:
        counts, kinds = names.setdefault(entity, (Counter(), Counter()))
        counts[surface] += mentions
        if kind:
            kinds[kind] += mentions
    return names


def most_common(counts: Mapping[str, int]) -> str:
    """The text with the highest count, ties in alphabetical order; empty if there are no counts."""
    return min(counts, key=lambda text: (-counts[text], text), default="")
