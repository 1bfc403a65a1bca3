"""The hierarchy of a corpus, without a chat model."""

from __future__ import annotations

from hlgraph.index.hierarchy import BuiltHierarchy, HierarchyQuery, build_hierarchy
from hlgraph.index.summaries import ExtractiveSummariser
from hlgraph.models.protocols import Embedder
from hlgraph.stores.protocols import Stores


def with_hierarchy(
    stores: Stores, *corpora: str, embedder: Embedder, query: HierarchyQuery | None = None
) -> list[BuiltHierarchy]:
    """Build the hierarchies of corpora with extractive summaries.

    Parameters
    ----------
    stores : the stores that hold the corpora
    corpora : names of the corpora
    embedder : embeds the summaries
    query : parameters of the hierarchy, default ``HierarchyQuery()``

    Returns
    -------
    list[BuiltHierarchy]
        One per corpus, in the order given.
    """
    return [
        build_hierarchy(
            corpus, query or HierarchyQuery(), stores=stores, embedder=embedder, summariser=ExtractiveSummariser()
        )
        for corpus in corpora
    ]
