"""Reconcile finds what one of the two stores lost, and mends it: the stores are then as before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from live_stores import neo4j_of, opened
from topic_contract import ingest_text, topic_vectors

import hlgraph
from hlgraph.change import VectorBlock
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.cli import main
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.records import Document, Entity, Kind, Source, Statement
from hlgraph.sdk.health import findings
from hlgraph.sdk.reconcile import find_drift, mend
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import Scope, Stores, VectorBatch
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder()
_STEPS = pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), _EMBEDDER)
_DOCUMENTS = [
    Document(
        f"doc:{at}",
        f"# Bridges of Tessing\n\nMara Quill designed the Aldane Bridge in 19{at}0. Ivo Brandt wrote about the Orne. "
        f"Mara Quill met Ivo Brandt in Tessing. The Aldane Bridge crosses the Orne near mile {at}. " * 3,
        f"Title {at}",
        {"year": at},
    )
    for at in range(1, 6)
]


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Opened]:
    found = open_stores(f"hlgraph://{tmp_path}/store")
    with found.closing:
        yield found


@pytest.fixture
def live(servers: Any) -> Iterator[Opened]:
    with opened(servers) as found:
        yield found


def _fill(stores: Stores) -> Mapping[str, list[object]]:
    pipeline.ingest(_DOCUMENTS, "c", stores=stores, steps=_STEPS)
    assert find_drift("c", stores=stores).is_none
    return snapshot(stores, "c")


def _lose(stores: Stores, kind: Kind, count: int) -> tuple[str, ...]:
    """Take rows out of the vector store behind the journal's back."""
    ids = tuple(sorted(stores.vectors.ids(kind, "c"))[:count])
    stores.vectors.delete("c", {kind.value: ids})
    return ids


@pytest.mark.parametrize("kind", [Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY])
def test_lost_vectors_are_found_and_made_again(embedded: Opened, kind: Kind) -> None:
    stores = embedded.stores
    before = _fill(stores)
    lost = _lose(stores, kind, 3)
    assert find_drift("c", stores=stores).without_vector == {kind: lost}
    assert snapshot(stores, "c") != before
    found, left = mend("c", stores=stores, extractor=LocalExtractor(), embedder=_EMBEDDER)
    assert (found.without_vector, left.is_none) == ({kind: lost}, True)
    assert snapshot(stores, "c") == before


def test_topics_that_a_change_renewed_without_a_lost_statement_are_made_again(embedded: Opened) -> None:
    stores = embedded.stores
    text = "rivers: The Orne is long. It is deep.\nbridges: It opened late."
    ingest_text(stores, f"{text}\nrivers: The Orne froze.", corpus="fresh")
    ingest_text(stores, text, corpus="c")
    before = stores.vectors.ids(Kind.STATEMENT, "c")
    stores.vectors.delete("c", {"statement": sorted(before)})
    ingest_text(stores, f"{text}\nrivers: The Orne froze.", corpus="c")
    assert topic_vectors(stores, "c")["rivers"] != topic_vectors(stores, "fresh")["rivers"]
    _, left = mend("c", stores=stores, extractor=LocalExtractor(), embedder=_EMBEDDER)
    assert left.is_none
    assert topic_vectors(stores, "c") == topic_vectors(stores, "fresh")


def test_vectors_of_nothing_are_removed(embedded: Opened) -> None:
    stores = embedded.stores
    before = _fill(stores)
    stray = Source("f" * 32, "c", "doc:stray", "Stray", "sum")
    stores.vectors.upsert(VectorBatch("c", "by hand", (stray,)))
    assert find_drift("c", stores=stores).without_record == {Kind.SOURCE: (stray.id,)}
    _, left = mend("c", stores=stores, extractor=LocalExtractor(), embedder=_EMBEDDER)
    assert left.is_none
    assert snapshot(stores, "c") == before


def test_a_corpus_of_another_model_does_not_keep_the_others_from_being_mended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"hlgraph://{tmp_path}/store"
    for corpus, embedder in (("a", _EMBEDDER), ("b", None)):
        with hlgraph.connect(store, corpus=corpus, embedder=embedder) as graph:
            graph.ingest(_DOCUMENTS[:1])
    code, said = _run(capsys, "--store", store, "reconcile", "--repair")
    assert (code, said.count("hold the same")) == (0, 2)  # where nothing is to be mended no model is needed
    found = open_stores(store)
    with found.closing:
        for corpus in ("a", "b"):
            found.stores.vectors.delete(corpus, {"chunk": sorted(found.stores.vectors.ids(Kind.CHUNK, corpus))[:1]})
    code, said = _run(capsys, "--store", store, "reconcile", "--repair")
    assert code == 1
    assert "corpus b: graph and vectors differ" in said
    assert "  repaired" in said
    assert "corpus a: not repaired: " in said
    assert _EMBEDDER.fingerprint in said
    code, said = _run(capsys, "--store", store, "reconcile", "--repair", "--json")
    tree = json.loads(said)
    assert (code, tree["is_fine"], tree["corpora"]["b"]["left"]["without_vector"]) == (1, False, {})
    assert list(tree["corpora"]["a"]) == ["error"]
    code, _ = _run(capsys, "--store", store, "reconcile", "--repair", "--corpus", "a")
    assert code == 5


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0), capsys.readouterr().out


def _statement(stores: Stores) -> str:
    return min(item.id for item in stores.graph.find(Kind.STATEMENT, Scope("c")) if isinstance(item, Statement))


def _entity(stores: Stores) -> str:
    return next(
        item.id
        for item in stores.graph.find(Kind.ENTITY, Scope("c"))
        if isinstance(item, Entity) and item.name == "Mara Quill"
    )


def _topic(stores: Stores) -> str:
    return next(item.id for item in stores.graph.find(Kind.TOPIC, Scope("c")))


def test_nodes_and_a_vector_deleted_on_the_servers_come_back(servers: Any, live: Opened) -> None:
    stores = live.stores
    before = _fill(stores)
    nodes = {Kind.STATEMENT: _statement(stores), Kind.TOPIC: _topic(stores), Kind.ENTITY: _entity(stores)}
    server = Server(servers.neo4j.url, neo4j_of(servers))
    server.schema(
        f"MATCH (n:{kind.value.capitalize()} {{id: '{name}'}}) DETACH DELETE n" for kind, name in nodes.items()
    )
    server.close()
    lost = _lose(stores, Kind.CHUNK, 1)
    drift = find_drift("c", stores=stores)
    assert drift.without_record == {kind: (name,) for kind, name in nodes.items()}
    assert drift.without_vector == {Kind.CHUNK: lost}
    _, left = mend("c", stores=stores, extractor=LocalExtractor(), embedder=_EMBEDDER)
    assert left.is_none
    after = snapshot(stores, "c")
    for name in before:
        assert after[name] == before[name], name
    assert not [item for item in live.check() if not item.is_fine]


def test_content_that_was_altered_on_the_servers_is_found_and_mended(servers: Any, live: Opened) -> None:
    stores = live.stores
    before = _fill(stores)
    assert [item for item in findings(live) if not item.is_fine] == []
    server = Server(servers.neo4j.url, neo4j_of(servers))
    server.schema(
        [
            f"MATCH (n:Statement {{id: '{_statement(stores)}'}}) SET n.text = 'Ivo Brandt stole it.'",
            f"MATCH (n:Entity {{id: '{_entity(stores)}'}}) SET n.name = 'Mara Quilt'",
            f"MATCH (n:Topic {{id: '{_topic(stores)}'}}) SET n.name = 'Lies'",
        ]
    )
    server.close()
    chunk = min(stores.vectors.ids(Kind.CHUNK, "c"))
    _, matrix = stores.vectors.vectors(Kind.CHUNK, "c", ids=[chunk])
    block = VectorBlock(Kind.CHUNK, (chunk,), ("lies",), ("none",), matrix.shape[1], (matrix * 3).tobytes())
    stores.vectors.upsert(VectorBatch("c", "by hand", (), (block,)))
    wrong = {item.check for item in findings(live) if not item.is_fine}
    assert wrong >= {"content of statements", "content of entities", "content of topics", "vectors and text of chunks"}
    found, left = mend("c", stores=stores, extractor=LocalExtractor(), embedder=_EMBEDDER)
    assert found.altered_vectors == {Kind.CHUNK: (chunk,)}
    assert left.is_none
    after = snapshot(stores, "c")
    for name in before:
        assert after[name] == before[name], name
    assert [item for item in findings(live) if not item.is_fine] == []


def test_a_lost_chunk_is_named_and_comes_back_with_its_document(servers: Any, live: Opened) -> None:
    stores = live.stores
    before = _fill(stores)
    chunks = [item for item in stores.graph.find(Kind.CHUNK, Scope("c")) if getattr(item, "position", 9) == 0]
    server = Server(servers.neo4j.url, neo4j_of(servers))
    server.schema([f"MATCH (n:Chunk {{id: '{chunks[0].id}'}}) DETACH DELETE n"])
    server.close()
    drift = find_drift("c", stores=stores)
    assert len(drift.sources_to_ingest) == 1
    _, left = mend("c", stores=stores, extractor=LocalExtractor(), embedder=_EMBEDDER)
    assert left.sources_to_ingest == drift.sources_to_ingest
    report = pipeline.ingest(_DOCUMENTS, "c", stores=stores, steps=_STEPS)
    assert report.sources_changed == 1
    assert find_drift("c", stores=stores).is_none
    after = snapshot(stores, "c")
    for name in ("chunk", "statement", "vectors of chunk", "in_chunk"):
        assert after[name] == before[name], name


class _Another(LocalExtractor):
    """Says the same under another name, as a model that is paid would say something else."""

    @property
    def fingerprint(self) -> str:
        return "another/1"

    def input_fingerprint(self, chunk: Any) -> str:
        return f"another/1|{chunk.text}"


def test_what_another_extractor_said_is_neither_replaced_nor_dropped(servers: Any, live: Opened) -> None:
    stores = live.stores
    steps = pipeline.Steps(ContentDefinedChunker(60, 0.2), _Another(), _EMBEDDER)
    pipeline.ingest(_DOCUMENTS, "c", stores=stores, steps=steps)
    node = _statement(stores)
    server = Server(servers.neo4j.url, neo4j_of(servers))
    server.schema([f"MATCH (n:Statement {{id: '{node}'}}) DETACH DELETE n"])
    server.close()
    before = snapshot(stores, "c")
    _, left = mend("c", stores=stores, extractor=LocalExtractor(), embedder=_EMBEDDER)
    assert left.without_record == {Kind.STATEMENT: (node,)}
    assert snapshot(stores, "c") == before
