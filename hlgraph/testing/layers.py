"""The hierarchy that the strategy of that name needs, in one line."""

from __future__ import annotations

from hlgraph.index.hierarchy import BuiltHierarchy, HierarchyQuery, build_hierarchy
from hlgraph.index.summaries import ExtractiveSummariser
from hlgraph.models.seams import Embedder
from hlgraph.stores.protocols import Stores


def with_hierarchy(
    stores: Stores, *corpora: str, embedder: Embedder, query: HierarchyQuery | None = None
) -> list[BuiltHierarchy]:
    """Build the hierarchies of corpora, with their defaults and without a chat model."""
    return [
        build_hierarchy(
            corpus, query or HierarchyQuery(), stores=stores, embedder=embedder, summariser=ExtractiveSummariser()
        )
        for corpus in corpora
    ]
