"""Leiden communities found on the server (GDS), or in process if the server cannot."""

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
"""Maximum number of levels that GDS is asked for; more than it makes with a cap of 100 nodes."""


class GdsClusterer:
    """Clusters on the server; see :class:`hlgraph.stores.derived.Clusterer`.

    Runs ``gds.leiden`` on a projection of the shape. It has no cap on sizes, so larger communities are divided in the way
    of its finer levels. If that does not suffice, the plugin is missing, or memory is short, ``fallback`` clusters in
    process, and the result and a warning state the reason.

    Parameters
    ----------
    server : the database
    fallback : clusters where the server cannot
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
        """Drops the projections that this object created; those of a lost server are gone with it."""
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
        """The communities, or the reason why the server cannot find them."""
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
