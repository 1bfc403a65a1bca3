"""Communities by Leiden on the server (GDS), and in process where the server cannot."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

import numpy as np

from hlgraph.algorithms.communities import CommunityLevels, at_most, capped
from hlgraph.errors import StoreError, StoreUnavailableError
from hlgraph.stores.derived import Clustered, Clusterer, ClusterQuery
from hlgraph.stores.neo4j.gds import GraphDataScience, ShapeProjection
from hlgraph.stores.neo4j.ranker import PLUGIN
from hlgraph.stores.neo4j.server import Server

_log = logging.getLogger(__name__)
_LEVELS = 10
"""Levels that GDS is asked for: with a cap of a hundred nodes it makes fewer."""


class GdsClusterer:
    """See :class:`hlgraph.stores.derived.Clusterer`.

    ``gds.leiden`` over a projection of the shape. It knows no cap on sizes: communities above the cap are divided as its
    finer levels divide them. Where that is not enough, without the plugin, or with too little memory, ``fallback`` clusters
    in process, and the result and a warning say why.
    """

    def __init__(self, server: Server, *, fallback: Clusterer) -> None:
        self._server = server
        self._gds = GraphDataScience(server)
        self._fallback = fallback

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop the projections that were made here; those of a server that went away went with it."""
        try:
            self._gds.close()
        except StoreError as lost:
            _log.info("projections were not dropped: %s", lost)

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """See :meth:`Clusterer.cluster`."""
        found = self._on_server(query, corpus)
        if isinstance(found, Clustered):
            return found
        _log.warning("clustering in process: %s", found)
        return self._fallback.cluster(query, corpus=corpus)._replace(by=f"process: {found}")

    def _on_server(self, query: ClusterQuery, corpus: str) -> Clustered | str:
        """The communities, or why the server cannot find them."""
        if not self._server.ask("admin/find_plugin_functions", function=PLUGIN):
            return "the server has no Graph Data Science plugin (GDS)"
        projection = ShapeProjection(corpus, query.shape)
        try:
            found = self._gds.cluster(projection, resolution=query.resolution, max_levels=_LEVELS, seed=query.seed)
        except StoreUnavailableError as error:
            return str(error)
        levels = capped(found.communities.levels, query.max_size)
        if levels.shape[1] and int(np.bincount(levels[-1]).max()) > query.max_size:
            return f"the levels of the server's Leiden leave communities above {query.max_size} nodes"
        return found._replace(communities=CommunityLevels(at_most(levels, query.max_levels)))
