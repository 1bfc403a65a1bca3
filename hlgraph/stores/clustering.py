"""Leiden communities found in process, over the whole graph of a corpus."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hlgraph.algorithms.communities import CommunityLevels, at_most, leiden
from hlgraph.algorithms.projection import INGREDIENTS, project
from hlgraph.stores.derived import Clustered, ClusterQuery
from hlgraph.stores.protocols import GraphStore, PullShape, Scope
from hlgraph.subgraph import Subgraph


class ProcessClusterer:
    """Clusters in process; see :class:`hlgraph.stores.derived.Clusterer`. Needs twice the memory of the corpus's graph.

    Parameters
    ----------
    read : returns the whole graph of a corpus: the kinds and relationships of a shape, without bounds
    """

    def __init__(self, read: Callable[[PullShape, Scope], Subgraph]) -> None:
        self._read = read

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """See :meth:`Clusterer.cluster`."""
        relationships, kinds = INGREDIENTS[query.shape]
        graph = self._read(PullShape(relationships, kinds, hops=0), Scope(corpus))
        made = project(graph, query.shape)
        joined = np.flatnonzero(np.diff(made.adjacency.indptr))
        if not len(joined):
            return Clustered([], CommunityLevels(np.empty((1, 0), dtype=np.int64)))
        found = leiden(
            made.adjacency[joined][:, joined], resolution=query.resolution, max_size=query.max_size, seed=query.seed
        )
        ids = [str(item) for item in graph.ids[made.nodes[joined]]]
        return Clustered(ids, CommunityLevels(at_most(found.levels, query.max_levels)))


def pulled(graph: GraphStore) -> Callable[[PullShape, Scope], Subgraph]:
    """A reader of the whole graph of a corpus for any graph store: a pull with all nodes as seeds and no hops."""

    def read(shape: PullShape, scope: Scope) -> Subgraph:
        ids = sorted(record.id for kind in shape.kinds for record in graph.find(kind, scope))
        whole = PullShape(shape.relationships, shape.kinds, hops=0, node_cap=max(len(ids), 1))
        return graph.pull(ids, whole, scope=scope)

    return read
