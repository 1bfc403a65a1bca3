"""What an ingest and a search cost on the wire, by count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hlgraph.chunk import WholeChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.records import Document, Kind, Relationship
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

_STEPS = pipeline.Steps(WholeChunker(), LocalExtractor(), WordEmbedder())


def _documents(count: int) -> list[Document]:
    return [
        Document(
            f"doc:{at}",
            f"Mara Quill {at} designed the Aldane Bridge {at} in 19{at % 90 + 10}. Ivo Brandt visited Tessing {at}. "
            f"The Orne {at} flooded Tessing {at}. Emeric Vaude {at} wrote about the Orne {at}.",
            f"Title {at}",
        )
        for at in range(count)
    ]


@pytest.fixture
def stores(graph_server: Server, tmp_path: Path) -> Stores:
    return Stores(Neo4jGraphStore(graph_server), EmbeddedVectorStore(Database(tmp_path / "vectors")))


def _ingest(documents: list[Document], server: Server, stores: Stores, *, corpus: str) -> tuple[int, int]:
    """Round trips of one ingest, and statements."""
    before = server.round_trips
    report = pipeline.ingest(documents, corpus, stores=stores, steps=_STEPS)
    return server.round_trips - before, report.added["statement"]


def test_round_trips_do_not_grow_with_the_rows_of_a_change(graph_server: Server, stores: Stores) -> None:
    _ingest(_documents(3), graph_server, stores, corpus="first")  # looks at the schema
    few, some = _ingest(_documents(10), graph_server, stores, corpus="few")
    many, more = _ingest(_documents(250), graph_server, stores, corpus="many")
    assert more >= 25 * some >= 1_000
    assert (
        many <= few + 8
    )  # a statement without rows is not sent, and only many names have a scale, for which four kinds are read
    assert many * 1_000 / more <= 70  # one change of a thousand statements


def test_an_ingest_that_changes_nothing_asks_little(graph_server: Server, stores: Stores) -> None:
    documents = _documents(100)
    _ingest(documents, graph_server, stores, corpus="c")
    before = graph_server.round_trips
    report = pipeline.ingest(documents, "c", stores=stores, steps=_STEPS)
    assert report.sources_unchanged == 100
    assert graph_server.round_trips - before <= 12


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_a_pull_is_one_query_a_hop(graph_server: Server, stores: Stores, hops: int) -> None:
    _ingest(_documents(40), graph_server, stores, corpus="c")
    seeds = [item.id for item in stores.graph.find(Kind.CHUNK, Scope("c"))][:20]
    shape = PullShape(
        frozenset({Relationship.IN_CHUNK, Relationship.MENTIONS}),
        frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY}),
        hops=hops,
    )
    stores.graph.stats("c", has_counts=False)
    before: Any = graph_server.round_trips
    assert len(stores.graph.pull(seeds, shape, scope=Scope("c"))) >= 20
    # Seeds, one a hop, edges; the first and the last of them read the version of the corpus, too.
    assert graph_server.round_trips - before == hops + 2
