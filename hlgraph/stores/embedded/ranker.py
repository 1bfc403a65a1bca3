"""Personalised PageRank over the whole graph of a corpus in memory, up to a size; beyond it, around the seeds.

The graph of a version is made once. One that is too large to hold is pulled around the seeds of every query, within the
bounds of :class:`hlgraph.stores.ranking.PulledRanker`: what a ranking holds is then set by these, not by the graph.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from hlgraph.algorithms.ppr import Precision
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape
from hlgraph.records import Hit
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.protocols import PullShape, RankQuery, Scope
from hlgraph.stores.ranking import PulledRanker, WalkedGraph, check_query, precision_of

_EDGES = 20_000_000
"""Graphs are kept up to so many edges in all: some 160 MiB in single precision. The last one stays in any case."""
_GRAPHS = 16
WHOLE_LINKS = 2_000_000
"""The relationships that a graph is made of may have so many links in all (some 500,000 statements) for it to be held whole."""
_Key = tuple[ProjectionShape, Scope, Precision]


class EmbeddedRanker:
    """See :class:`hlgraph.stores.protocols.Ranker`. Exact, or local where the query names an ``epsilon``.

    A graph is kept for a version of its corpus, a shape, a scope and a precision; the longest unused goes first. The scope
    is that of the graph itself: a filtered walk never sees the rest. Safe for threads: they share the graphs, and one of
    them makes each.

    Parameters
    ----------
    edges : how many edges of all graphs together are kept
    links : a corpus with more links of the relationships of a shape is ranked around the seeds, under any filter; a score is
        then exact on what was pulled, where mass that would leave it comes back
    """

    def __init__(self, graph: EmbeddedGraphStore, *, edges: int = _EDGES, links: int = WHOLE_LINKS) -> None:
        self._graph = graph
        self._edges = edges
        self._links = links
        self._around = PulledRanker(graph)
        self._held: OrderedDict[_Key, WalkedGraph] = OrderedDict()
        self._guard = threading.Lock()

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`Ranker.rank`."""
        check_query(query)
        if self.why_around(query.shape, scope):
            return self._around.rank(query, scope=scope)
        return self._walked(query.shape, scope, precision_of(query)).rank(query)

    def why_around(self, shape: ProjectionShape, scope: Scope) -> str:
        """See :class:`hlgraph.stores.ranking.HasBound`."""
        relationships, kinds = INGREDIENTS[shape]
        # How many it has is not told: under a filter it would tell of what the filter hides.
        is_large = self._graph.links(PullShape(relationships, kinds), scope=scope) > self._links
        return f"around the seeds, since the graph has over {self._links:,} links" if is_large else ""

    def _walked(self, shape: ProjectionShape, scope: Scope, precision: Precision) -> WalkedGraph:
        stats = self._graph.stats(scope.corpus, has_counts=False)
        version = stats[0].version if stats else 0
        key = (shape, scope, precision)
        with self._guard:
            held = self._held.get(key)
            if held is None or held.version != version:
                relationships, kinds = INGREDIENTS[shape]
                graph = self._graph.whole(PullShape(relationships, kinds), scope=scope)
                held = self._held[key] = WalkedGraph(graph, shape, precision=precision)
            self._held.move_to_end(key)
            while len(self._held) > 1 and (len(self._held) > _GRAPHS or self._sum() > self._edges):
                self._held.popitem(last=False)
            return held

    def _sum(self) -> int:
        return sum(item.edges for item in self._held.values())
