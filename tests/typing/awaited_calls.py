"""What a type checker must see of AsyncHLGraph; mypy reads this file in ``make check``, nothing runs it."""

from __future__ import annotations

from typing import assert_type

import hlgraph
from hlgraph.index.communities import BuiltCommunities
from hlgraph.ingest.report import Report
from hlgraph.records import Answer
from hlgraph.retrieve import SearchResult
from hlgraph.sdk.communities import FoundCommunities
from hlgraph.sdk.hierarchy import FoundHierarchy
from hlgraph.settings import Settings


async def calls(graph: hlgraph.AsyncHLGraph) -> None:
    """Every kind of member."""
    assert_type(await graph.search("Who?", k=3, explain=True), SearchResult)
    assert_type(await graph.ingest(["docs/"]), Report)
    assert_type(await graph.in_corpus("other").answer("Who?", mode="short"), Answer)
    assert_type(await graph.communities.build(resolution=2.0), BuiltCommunities)
    assert_type(await graph.communities.find(level=0), FoundCommunities)
    assert_type(await graph.hierarchy.find(k=1), FoundHierarchy)
    assert_type(graph.settings, Settings)
    assert_type(graph.graph, hlgraph.HLGraph)
    await graph.search("Who?", k="three")  # type: ignore[arg-type]
    await graph.communities.found()  # type: ignore[attr-defined]
    _ = graph.search("Who?").evidence  # type: ignore[attr-defined]
