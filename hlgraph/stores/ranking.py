"""Personalised PageRank in process over any graph store: around the seeds, within bounds."""

from __future__ import annotations

import numpy as np

from hlgraph.algorithms.ppr import personalised_pagerank
from hlgraph.algorithms.projection import INGREDIENTS, project
from hlgraph.algorithms.topk import top_k
from hlgraph.records import Hit
from hlgraph.stores.protocols import GraphStore, PullShape, RankQuery, Scope
from hlgraph.subgraph import KINDS


class PulledRanker:
    """Ranks what a pull around the seeds reaches; see :class:`hlgraph.stores.protocols.Ranker`.

    Parameters
    ----------
    hops, fan_out, node_cap : bounds of the pull; mass that would leave it comes back
    """

    def __init__(self, graph: GraphStore, *, hops: int = 4, fan_out: int = 100, node_cap: int = 20_000) -> None:
        self._graph = graph
        self._bounds = (hops, fan_out, node_cap)

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See the protocol."""
        relationships, kinds = INGREDIENTS[query.shape]
        hops, fan_out, node_cap = self._bounds
        shape = PullShape(relationships, kinds, hops=hops, fan_out=fan_out, node_cap=node_cap)
        seeds = sorted(key for key, weight in query.seed_weights.items() if weight > 0)
        graph = self._graph.pull(seeds, shape, scope=scope)
        made = project(graph, query.shape)
        ids = graph.ids[made.nodes]
        weights = np.array([query.seed_weights.get(str(key), 0.0) for key in ids], dtype=np.float64)
        if not weights.any():
            return []
        ranking = personalised_pagerank(made.adjacency, weights, damping=query.damping, tolerance=query.tolerance)
        wanted = np.arange(len(ids))
        if query.kinds is not None:
            wanted = np.flatnonzero(np.isin(graph.kinds[made.nodes], [KINDS.index(kind) for kind in query.kinds]))
        best = wanted[top_k(ranking.scores[wanted], min(query.k, len(wanted)), tie_break=ids[wanted])]
        return [Hit(str(ids[at]), float(ranking.scores[at])) for at in best if ranking.scores[at] > 0]
