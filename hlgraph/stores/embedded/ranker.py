"""Personalised PageRank in memory: over the whole graph of a corpus up to a size limit, and around the seeds beyond it.

The whole graph is built once per version. A larger graph is pulled around the seeds of each query, within the bounds of
:class:`hlgraph.stores.ranking.PulledRanker`, which then limit the memory of a ranking.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from hlgraph.algorithms.ppr import Precision
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, ingredients
from hlgraph.records import Hit
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.protocols import PullShape, RankQuery, Scope
from hlgraph.stores.ranking import PulledRanker, WalkedGraph, check_query, precision_of

_EDGES = 20_000_000
"""Maximum number of edges of all cached graphs, about 160 MiB in single precision. The last one used always stays."""
_GRAPHS = 16
WHOLE_LINKS = 2_000_000
"""Maximum number of links, over all relationships of a graph, to rank it whole: about 500,000 statements."""
_Key = tuple[ProjectionShape, Scope, Precision, float | None]


class EmbeddedRanker:
    """Ranks in process; see :class:`hlgraph.stores.protocols.Ranker`. Exact, or local if the query sets ``epsilon``.

    Graphs are cached by version of the corpus, shape, scope and precision; the least recently used is dropped first. The
    graph holds nothing outside the scope, so a filtered walk never sees the rest. Thread-safe: threads share the graphs,
    and one of them builds each.

    Parameters
    ----------
    graph : store of the graph
    edges : maximum number of edges of all cached graphs together
    links : maximum number of links, over all relationships of a shape, to rank the whole graph. A larger corpus is ranked
        around the seeds, under any filter; a score is then exact on the subgraph that was pulled
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
        return self._walked(query, scope).rank(query)

    def why_around(self, shape: ProjectionShape, scope: Scope) -> str:
        """See :meth:`HasBound.why_around`."""
        relationships, kinds = INGREDIENTS[shape]
        # The message does not state the number: under a filter it would reveal what the filter hides.
        is_large = self._graph.links(PullShape(relationships, kinds), scope=scope) > self._links
        return f"around the seeds, since the graph has over {self._links:,} links" if is_large else ""

    def _walked(self, query: RankQuery, scope: Scope) -> WalkedGraph:
        stats = self._graph.stats(scope.corpus, has_counts=False)
        version = stats[0].version if stats else 0
        precision = precision_of(query)
        key = (query.shape, scope, precision, query.synonyms)
        with self._guard:
            held = self._held.get(key)
            if held is None or held.version != version:
                shape = PullShape(*ingredients(query.shape, synonyms=query.synonyms))
                graph = self._graph.whole(shape, scope=scope)
                held = self._held[key] = WalkedGraph(graph, query.shape, precision=precision, synonyms=query.synonyms)
            self._held.move_to_end(key)
            while len(self._held) > 1 and (len(self._held) > _GRAPHS or self._sum() > self._edges):
                self._held.popitem(last=False)
            return held

    def _sum(self) -> int:
        return sum(item.edges for item in self._held.values())
