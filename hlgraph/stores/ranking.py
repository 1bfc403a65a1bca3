"""Personalised PageRank in process over any graph store: around the seeds, within bounds."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.ppr import Precision, Walk, exact_pagerank, precision_for, prepare
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.algorithms.push import Space, local_pagerank
from hlgraph.algorithms.topk import top_k
from hlgraph.errors import InputError
from hlgraph.records import Hit
from hlgraph.stores.protocols import GraphStore, PullShape, Ranker, RankQuery, Scope
from hlgraph.subgraph import KINDS, Subgraph


class Seeds(NamedTuple):
    """The seeds that a graph holds: their places, ascending, and weights above 0."""

    places: NDArray[np.intp]
    weights: NDArray[np.float64]


class WalkedGraph:
    """The graph of one shape, ready for many rankings; safe for threads.

    Attributes
    ----------
    version : of the corpus
    edges : how many entries its matrix has, for who bounds memory
    """

    def __init__(self, graph: Subgraph, shape: ProjectionShape, *, precision: Precision = "single") -> None:
        made = project(graph, shape)
        self.version = graph.version
        self.edges = int(made.adjacency.nnz)
        self._ids = graph.ids[made.nodes]
        self._kinds = graph.kinds[made.nodes]
        self._walk: Walk = prepare(made.adjacency, precision=precision)
        self._spaces: list[Space] = []

    def rank(self, query: RankQuery) -> list[Hit]:
        """The nodes that a query asks for; see :meth:`hlgraph.stores.protocols.Ranker.rank`."""
        seeds = self._seeds(query)
        if not len(seeds.places):
            return []
        if query.epsilon is None:
            nodes, scores = np.arange(len(self._ids)), self._exact(query, seeds)
        else:
            nodes, scores = self._local(query, seeds)
        wanted = scores > 0
        if query.kinds is not None:
            may = np.zeros(len(KINDS), dtype=bool)
            may[[KINDS.index(kind) for kind in query.kinds]] = True
            wanted &= may[self._kinds[nodes]]
        nodes, scores = nodes[wanted], scores[wanted]
        # Places are in the order of ids: so the lower place goes first among equal scores.
        best = top_k(scores, min(query.k, len(nodes)))
        return [Hit(*item) for item in zip(self._ids[nodes[best]].tolist(), scores[best].tolist(), strict=True)]

    def _seeds(self, query: RankQuery) -> Seeds:
        weights = np.fromiter(query.seed_weights.values(), dtype=np.float64, count=len(query.seed_weights))
        if not len(self._ids) or not len(weights):
            return Seeds(np.empty(0, dtype=np.intp), np.empty(0))
        wanted = np.array(list(query.seed_weights), dtype=np.str_)
        places = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        is_there = (self._ids[places] == wanted) & (weights > 0)
        order = np.argsort(places[is_there])
        return Seeds(places[is_there][order], weights[is_there][order])

    def _exact(self, query: RankQuery, seeds: Seeds) -> NDArray[np.float64]:
        found = exact_pagerank(
            self._walk, seeds.places, weights=seeds.weights, damping=query.damping, tolerance=query.tolerance
        )
        if not found.has_converged:
            raise InputError(
                f"the scores did not settle within {query.tolerance} at damping {query.damping} in {found.iterations} "
                "iterations; lower the damping, or raise the tolerance"
            )
        return found.scores

    def _local(self, query: RankQuery, seeds: Seeds) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        # A list gives and takes in one step: no two threads get the same work space.
        space = self._spaces.pop() if self._spaces else Space(self._walk)
        found = local_pagerank(
            self._walk,
            seeds.places,
            weights=seeds.weights,
            damping=query.damping,
            epsilon=query.epsilon or 0.0,
            space=space,
        )
        self._spaces.append(space)
        return found.nodes, found.scores


def precision_of(query: RankQuery) -> Precision:
    """The precision that the scores of a query need."""
    return "single" if query.epsilon is not None else precision_for(query.tolerance, query.damping)


def check_query(query: RankQuery) -> None:
    """Raise InputError for weights, a damping or a bound that cannot be used, before anything is read."""
    weights = query.seed_weights.values()
    if weights and not (all(0 <= weight < math.inf for weight in weights) and any(weights)):
        raise InputError("seed_weights must be finite and not negative, and at least one must be above 0")
    if not 0 <= query.damping < 1:
        raise InputError(f"damping is {query.damping}; it must be from 0 to below 1")
    check.not_negative("k", query.k)
    check.positive("tolerance", query.tolerance)
    if query.epsilon is not None:
        check.positive("epsilon", query.epsilon)


@runtime_checkable
class HasServer(Protocol):
    """A ranker that leaves its work to a server, and does it in process where the server cannot."""

    def why_in_process(self, scope: Scope) -> str:
        """Why the server does not rank in this scope; empty when it does."""


class ServerRanker(Ranker, HasServer, Protocol):
    """A ranker whose graphs on the server others can use."""

    def projection(self, shape: ProjectionShape, corpus: str) -> str:
        """The name of the projection of a corpus, made where it is not there; it is kept until the ranker is closed."""


@runtime_checkable
class HasBound(Protocol):
    """A ranker in process that holds a graph whole up to a size, and looks around the seeds only beyond it."""

    def why_around(self, shape: ProjectionShape, scope: Scope) -> str:
        """Why it looks around the seeds only on the graph of this shape; empty when it does not."""


def ranked_by(ranker: Ranker, scope: Scope, *, shape: ProjectionShape | None = None) -> str:
    """Who ranks in a scope, for explanations: ``server``, ``process``, or ``process:`` and why not on the server.

    With a shape also why a ranking in process looks around the seeds only.
    """
    if isinstance(ranker, HasServer):
        why = ranker.why_in_process(scope)
        return f"process: {why}" if why else "server"
    why = ranker.why_around(shape, scope) if shape is not None and isinstance(ranker, HasBound) else ""
    return f"process: {why}" if why else "process"


class PulledRanker:
    """Ranks what a pull around the seeds reaches; see :class:`hlgraph.stores.protocols.Ranker`.

    Nothing is kept: what is pulled depends on the seeds.

    Parameters
    ----------
    hops, fan_out, node_cap : bounds of the pull; mass that would leave it comes back
    """

    def __init__(self, graph: GraphStore, *, hops: int = 4, fan_out: int = 100, node_cap: int = 20_000) -> None:
        self._graph = graph
        self._bounds = (hops, fan_out, node_cap)

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`Ranker.rank`."""
        check_query(query)
        relationships, kinds = INGREDIENTS[query.shape]
        hops, fan_out, node_cap = self._bounds
        shape = PullShape(relationships, kinds, hops=hops, fan_out=fan_out, node_cap=node_cap)
        seeds = sorted(key for key, weight in query.seed_weights.items() if weight > 0)
        graph = self._graph.pull(seeds, shape, scope=scope)
        return WalkedGraph(graph, query.shape, precision=precision_of(query)).rank(query)
