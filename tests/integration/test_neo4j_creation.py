"""New sources, which are created, make the same graph as by merging; what is left of a source is merged with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import StoreUnavailableError
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.ingest.report import Report
from hlgraph.persist.journal import resume
from hlgraph.records import Document, Kind
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.neo4j import publish
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import Stores
from hlgraph.testing.embedder import WordEmbedder

_STEPS = pipeline.Steps(ContentDefinedChunker(40, 0.2), LocalExtractor(), WordEmbedder(), batch_sources=4)
_DOCUMENTS = [
    Document(
        f"doc:{at}",
        f"# Bridges\n\nMara Quill designed the Aldane Bridge. Ivo Brandt {at % 3} visited Tessing. MARA QUILL left Tessing.\n\n"
        f"# bridges\n\nMara Quill designed the Aldane Bridge. The Orne flooded Tessing {at} in 1897.\n\n"
        "# Notes\n\nEmeric Vaude wrote about the Orne. The Orne is a river.",
        "Tessing",
        {"year": 1900 + at},
    )
    for at in range(8)
]
_ROWS = (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
_NODES = "MATCH (n) WHERE n.corpus = 'c' AND n.id IS NOT NULL RETURN labels(n) AS labels, properties(n) AS properties"
_LINKS = (
    "MATCH (a)-[r]->(b) WHERE a.corpus = 'c' AND b.id IS NOT NULL "
    "RETURN a.id AS a, type(r) AS type, b.id AS b, properties(r) AS properties"
)


_LARGE = Document(
    "doc:large",
    "\n\n".join(
        f"# Bridges {at // 6}\n\nMara Quill designed the Aldane Bridge {at}. Ivo Brandt visited Tessing in {1800 + at}. "
        f"Una Moss {at % 7} left the Orne Hall. The Orne flooded Quarrick {at % 5} in {1700 + at}."
        for at in range(14)
    ),
    "Tessing",
)


def opened(server: Server, folder: Path) -> Stores:
    return Stores(Neo4jGraphStore(server), EmbeddedVectorStore(Database(folder)))


def ingested(server: Server, folder: Path) -> Report:
    return pipeline.ingest(_DOCUMENTS, "c", stores=opened(server, folder), steps=_STEPS)


def stored(server: Server) -> list[str]:
    """Every node and every relationship with all its properties, whatever order the server gives these in."""
    with server.driver().session(database=server.settings.database) as session:
        rows = [row.data() for query in (_NODES, _LINKS) for row in session.run(query)]
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def test_new_sources_are_written_as_by_merging(
    graph_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = ingested(graph_server, tmp_path / "created")
    created = stored(graph_server)
    assert report.added["statement"] > 20
    graph_server.schema(["MATCH (n:Source) DETACH DELETE n"])  # their chunks and statements are left
    assert ingested(graph_server, tmp_path / "created").added["source"] == len(_DOCUMENTS)
    assert stored(graph_server) == created
    graph_server.schema(["MATCH (n) WHERE NOT n:Migration DETACH DELETE n"])
    monkeypatch.setattr(publish, "is_new", lambda *_: False)
    assert ingested(graph_server, tmp_path / "merged").added == report.added
    assert stored(graph_server) == created


def test_a_document_in_parts_makes_the_graph_of_one_change(
    graph_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New, extracted again under another title, and shortened. A failure while it is published leaves nothing of it."""

    def history(bound: int) -> list[object]:
        stores, steps = opened(graph_server, tmp_path / str(bound)), replace(_STEPS, batch_characters=bound)
        states: list[object] = []
        shorter = replace(_LARGE, title="Orne", text=_LARGE.text[400:2_000])
        for documents in (_DOCUMENTS[:2], [_LARGE], [replace(_LARGE, title="Orne")], [shorter]):
            report = pipeline.ingest(documents, "c", stores=stores, steps=steps)
            rows = {kind.value: sorted(stores.vectors.ids(kind, "c")) for kind in _ROWS}
            states.append((report.added, report.removed, rows, stored(graph_server)))
        return states

    whole = history(10**6)
    graph_server.schema(["MATCH (n) WHERE NOT n:Migration DETACH DELETE n"])
    stores, steps = opened(graph_server, tmp_path / "failed"), replace(_STEPS, batch_characters=500)
    with monkeypatch.context() as broken:
        broken.setattr(publish, "_remove", _stop)
        with pytest.raises(StoreUnavailableError, match="stop"):
            pipeline.ingest([_LARGE], "c", stores=stores, steps=steps)
    (left,) = stores.graph.unfinished("c")
    assert left.change.part_count > 3
    assert stores.graph.stats("c") == ()
    with stores.graph.lock("c") as pending:
        assert resume(pending, stores, corpus="c") == 0
    assert (stores.graph.unfinished("c"), {name for kind in _ROWS for name in stores.vectors.ids(kind, "c")}) == (
        (),
        set(),
    )
    for one, other in zip(whole, history(500), strict=True):
        assert one == other


def _stop(*_: object) -> None:
    raise StoreUnavailableError("stop")
