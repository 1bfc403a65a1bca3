"""What a process holds in memory of the records of a Neo4j server: what the server has, and read no more often than needed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Document, Kind, Record
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.rows import PLURAL
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

_STEPS = pipeline.Steps(ContentDefinedChunker(40, 0.2), LocalExtractor(), WordEmbedder(), batch_sources=3)
_PEOPLE = ("Mara Quill", "Ivo Brandt", "Sela Orne")


@pytest.fixture(params=["image", "server"])
def stores(request: pytest.FixtureRequest, graph_server: Server, tmp_path: Path) -> Stores:
    """The server with images, or without."""
    images = Images(graph_server, tmp_path / "images", most=10**6, waits=True) if request.param == "image" else None
    return Stores(Neo4jGraphStore(graph_server, images=images), EmbeddedVectorStore(Database(tmp_path / "vectors")))


def _document(at: int, rng: random.Random) -> Document:
    text = " ".join(f"{rng.choice(_PEOPLE)} built bridge {rng.randint(1, 9)} of town {at}." for _ in range(6))
    return Document(f"doc:{at}", text, f"Title {at}", {"year": rng.randint(1, 4)})


def _scope(stores: Stores) -> Scope:
    return Scope("c", state=stores.graph.stats("c", has_counts=False)[0].state)


def _ids(stores: Stores, kind: Kind) -> list[str]:
    return [item.id for item in stores.graph.find(kind, Scope("c"))]


def _read(stores: Stores, kind: Kind, ids: Sequence[str], server: Server) -> tuple[list[Record], int, int]:
    """The records in the present state, and how many exchanges and rows it took to read them."""
    scope = _scope(stores)
    before = server.round_trips, server.row_count
    found = stores.graph.records(kind, ids, scope=scope)
    return found, server.round_trips - before[0], server.row_count - before[1]


def test_an_edit_leaves_the_records_of_other_sources_where_they_are(stores: Stores, graph_server: Server) -> None:
    rng = random.Random(1)
    documents = [_document(at, rng) for at in range(9)]
    pipeline.ingest(documents, "c", stores=stores, steps=_STEPS)
    statements = _ids(stores, Kind.STATEMENT)
    whole, trips, rows = _read(stores, Kind.STATEMENT, statements, graph_server)
    assert (trips, rows) == (1, len(statements))
    assert _read(stores, Kind.STATEMENT, statements, graph_server) == (whole, 0, 0)

    documents[4] = Document("doc:4", documents[4].text + " Mara Quill sold it.", "Title 4", {"year": 9})
    pipeline.ingest([documents[4]], "c", stores=stores, steps=_STEPS)
    edited = source_id("c", "doc:4")
    own = [item.id for item in whole if getattr(item, "source_id", "") == edited]
    found, trips, rows = _read(stores, Kind.STATEMENT, statements, graph_server)
    assert found == stores.graph.records(Kind.STATEMENT, statements, scope=Scope("c"))
    assert [item.id for item in found] == statements
    assert own
    assert (trips, rows) == (2, 1 + len(own))  # the list of the change, and what it altered
    everything = _ids(stores, Kind.STATEMENT)
    assert len(_read(stores, Kind.STATEMENT, everything, graph_server)[0]) == len(statements) + 1

    assert delete_sources([edited], "c", stores=stores).sources_removed == 1
    found, trips, rows = _read(stores, Kind.STATEMENT, everything, graph_server)
    assert {item.id for item in found} == set(statements) - set(own)
    assert (trips, rows) == (2, 1)


def test_what_is_held_is_what_the_server_has_through_a_history(stores: Stores, graph_server: Server) -> None:
    """A second process reads, too, and less often: it passes over some states."""
    rng = random.Random(7)
    other = Stores(Neo4jGraphStore(Server(graph_server.url, graph_server.settings)), stores.vectors)
    documents = [_document(at, rng) for at in range(12)]
    seen: dict[Kind, set[str]] = {kind: set() for kind in PLURAL}
    with other.graph:
        for step in range(16):
            kind_of_step = step % 4
            at = rng.randrange(len(documents))
            if kind_of_step == 1:  # metadata alone
                documents[at] = Document(
                    documents[at].uri, documents[at].text, documents[at].title, {"year": 10 + step}
                )
            elif kind_of_step == 2:  # what follows moves
                documents[at] = Document(
                    documents[at].uri, f"Sela Orne opened it in {step}. {documents[at].text}", f"Title {step}"
                )
            if kind_of_step == 3:
                delete_sources([source_id("c", documents[at].uri)], "c", stores=stores)
            else:
                pipeline.ingest(documents, "c", stores=stores, steps=_STEPS)
            for kind, ids in seen.items():
                ids.update(_ids(stores, kind))
                asked = rng.sample(sorted(ids), len(ids) // 2)
                there = stores.graph.records(kind, asked, scope=Scope("c"))
                assert stores.graph.records(kind, asked, scope=_scope(stores)) == there
                if step % 3 == 0:
                    assert other.graph.records(kind, asked, scope=_scope(other)) == there
    assert all(seen[kind] for kind in (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY, Kind.TOPIC))
