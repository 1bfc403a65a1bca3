"""Chooses where a ranking runs: on the image of the corpus, or on the server."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.records import Hit
from hlgraph.stores.image.ranker import ImageRanker
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.ranker import GdsRanker
from hlgraph.stores.protocols import RankQuery, Scope
from hlgraph.stores.ranking import PulledRanker, ranked_by


class ChoosingRanker:
    """Ranks on the image where it is there, else on the server; see :class:`hlgraph.stores.protocols.Ranker`.

    A graph that is too large to rank it whole in process is ranked on the image around the seeds, as on the embedded store.

    Parameters
    ----------
    graph : the graph, with its images
    server : ranks on the server
    is_in_process : never rank on the server
    """

    def __init__(self, graph: Neo4jGraphStore, *, server: GdsRanker, is_in_process: bool) -> None:
        self._graph = graph
        self._server = server
        self._is_in_process = is_in_process
        self._image = ImageRanker(graph)
        self._pulled = PulledRanker(graph)
        self._chosen: dict[tuple[str, bool, ProjectionShape], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the ranker on the server."""
        self._server.__exit__(kind, error, trace)

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`Ranker.rank`."""
        held = self._graph.image(scope)
        has_filter = scope.where is not None or scope.sources is not None
        key = (scope.corpus, has_filter, query.shape)
        if held is not None:
            is_large = self._image.is_large(held, query.shape, scope=scope)
            self._chosen[key] = f"process: on the image{f', {self._image.why_large()}' if is_large else ''}"
            return self._image.rank_on(held, query, scope=scope)
        if self._is_in_process:
            self._chosen[key] = f"process: around the seeds, pulled from the server, since {self._why(scope)}"
            return self._pulled.rank(query, scope=scope)
        self._chosen.pop(key, None)
        return self._server.rank(query, scope=scope)

    def projection(self, shape: ProjectionShape, corpus: str) -> str:
        """See :meth:`ServerRanker.projection`."""
        return self._server.projection(shape, corpus)

    def why_in_process(self, scope: Scope) -> str:
        """See :meth:`HasServer.why_in_process`."""
        return self._server.why_in_process(scope)

    def chosen(self, scope: Scope, shape: ProjectionShape | None) -> str:
        """See :meth:`HasChoice.chosen`."""
        has_filter = scope.where is not None or scope.sources is not None
        found = None if shape is None else self._chosen.get((scope.corpus, has_filter, shape))
        return found or ranked_by(self._server, scope, shape=shape)

    def _why(self, scope: Scope) -> str:
        return self._graph.walked_by(scope).partition(": ")[2] or "there is no image"
