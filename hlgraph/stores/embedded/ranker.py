"""Personalised PageRank for the embedded store: on the image of a corpus, in process."""

from __future__ import annotations

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.records import Hit
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.image.ranker import ImageRanker
from hlgraph.stores.protocols import RankQuery, Scope


class EmbeddedRanker(ImageRanker):
    """Ranks in process; see :class:`hlgraph.stores.protocols.Ranker`."""

    def __init__(self, graph: EmbeddedGraphStore, **limits: int) -> None:
        super().__init__(graph, **limits)
        self._graph = graph

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`Ranker.rank`."""
        return self.rank_on(self._graph, query, scope=scope)

    def why_around(self, shape: ProjectionShape, scope: Scope) -> str:
        """See :meth:`HasBound.why_around`."""
        return self.why_large() if self.is_large(self._graph, shape, scope=scope) else ""
