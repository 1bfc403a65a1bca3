"""Personalised PageRank over the whole graph of a corpus in memory; the graph of a version is made once."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.ppr import personalised_pagerank
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.algorithms.topk import top_k
from hlgraph.records import Hit, Kind
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.protocols import PullShape, RankQuery, Scope
from hlgraph.subgraph import KINDS, Csr

_HELD = 4


class _Held(NamedTuple):
    version: int
    ids: NDArray[np.str_]
    kinds: NDArray[np.uint8]
    adjacency: Csr


class EmbeddedRanker:
    """See :class:`hlgraph.stores.protocols.Ranker`."""

    def __init__(self, graph: EmbeddedGraphStore) -> None:
        self._graph = graph
        self._held: OrderedDict[tuple[ProjectionShape, Scope], _Held] = OrderedDict()

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See the protocol."""
        held = self._projected(query.shape, scope)
        weights = np.zeros(len(held.ids))
        for key, weight in query.seed_weights.items():
            at = int(np.searchsorted(held.ids, key)) if len(held.ids) else 0
            if at < len(held.ids) and held.ids[at] == key:
                weights[at] = weight
        if not weights.any():
            return []
        ranking = personalised_pagerank(held.adjacency, weights, damping=query.damping, tolerance=query.tolerance)
        wanted = np.arange(len(held.ids))
        if query.kinds is not None:
            wanted = np.flatnonzero(np.isin(held.kinds, [KINDS.index(Kind(kind)) for kind in query.kinds]))
        scores = ranking.scores[wanted]
        best = wanted[top_k(scores.astype(np.float32), min(query.k, len(wanted)), tie_break=held.ids[wanted])]
        return [Hit(str(held.ids[at]), float(ranking.scores[at])) for at in best if ranking.scores[at] > 0]

    def _projected(self, shape: ProjectionShape, scope: Scope) -> _Held:
        stats = self._graph.stats(scope.corpus, has_counts=False)
        version = stats[0].version if stats else 0
        held = self._held.get((shape, scope))
        if held is None or held.version != version:
            relationships, kinds = INGREDIENTS[shape]
            graph = self._graph.whole(PullShape(relationships, kinds), scope=scope)
            made = project(graph, shape)
            held = _Held(graph.version, graph.ids[made.nodes], graph.kinds[made.nodes], made.adjacency)
        self._held[shape, scope] = held
        self._held.move_to_end((shape, scope))
        while len(self._held) > _HELD:
            self._held.popitem(last=False)
        return held
