"""What an embedded store holds in memory of what it read: never other than the database has it."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import hlgraph
from hlgraph.change import Change
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.persist.journal import persist
from hlgraph.records import Chunk, Document, Kind, Record
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.embedded.rows import STORED
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.stores.trace import listening
from hlgraph.testing.embedder import WordEmbedder


def test_a_record_that_another_handle_deleted_is_gone_at_once(tmp_path: Path) -> None:
    with (
        hlgraph.connect(f"hlgraph://{tmp_path}/store") as graph,
        hlgraph.connect(f"hlgraph://{tmp_path}/store") as other,
    ):
        graph.ingest([hlgraph.Document("ferry", "The ferry crosses the Arrel. Ada built it.", "Ferry", key="ferry")])
        store = EmbeddedGraphStore(Database(tmp_path / "store"))
        with store:
            ids = [found.id for found in store.find(Kind.STATEMENT, Scope("default"))]
            assert len(ids) == 2
            assert [item.id for item in store.records(Kind.STATEMENT, ids, scope=Scope("default"))] == ids
            other.delete(["ferry"])
            assert store.records(Kind.STATEMENT, ids, scope=Scope("default")) == []


def test_looking_for_a_commit_does_not_wait_for_the_end_of_a_writer(tmp_path: Path) -> None:
    """A writer holds the guard of the database while its log is written back, which may take long."""
    database = Database(tmp_path)
    with contextlib.closing(database):
        with database.lock():
            pass  # makes the store
        is_ready, is_locked = threading.Event(), threading.Event()
        states: list[object] = []

        def read() -> None:
            database.state()  # now this thread has its connection
            is_ready.set()
            is_locked.wait(60)
            states.append(database.state())

        thread = threading.Thread(target=read)
        thread.start()
        assert is_ready.wait(60)
        with database._guard:
            is_locked.set()
            thread.join(60)
            assert len(states) == 1
        thread.join()


_STEPS = pipeline.Steps(ContentDefinedChunker(40, 0.2), LocalExtractor(), WordEmbedder(), batch_sources=3)
_PEOPLE = ("Mara Quill", "Ivo Brandt", "Sela Orne")


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    made = _opened(tmp_path / "store")
    with made.graph:
        yield made


def _opened(path: Path) -> Stores:
    """A handle of its own, as another process has it."""
    database = Database(path)
    return Stores(EmbeddedGraphStore(database), EmbeddedVectorStore(database))


def _document(at: int, rng: random.Random) -> Document:
    text = " ".join(f"{rng.choice(_PEOPLE)} built bridge {rng.randint(1, 9)} of town {at}." for _ in range(6))
    return Document(f"doc:{at}", text, f"Title {at}", {"year": rng.randint(1, 4)})


def _ids(stores: Stores, kind: Kind, corpus: str = "c") -> list[str]:
    return [item.id for item in stores.graph.find(kind, Scope(corpus))]


def _read(stores: Stores, kind: Kind, ids: Sequence[str], corpus: str = "c") -> tuple[list[Record], int]:
    """The records, and how many rows of them were read from the database."""
    with listening() as heard:
        found = stores.graph.records(kind, ids, scope=Scope(corpus))
    return found, sum(call.rows or 0 for call in heard.calls)


def test_an_edit_leaves_the_records_of_other_sources_and_corpora_where_they_are(stores: Stores) -> None:
    rng = random.Random(1)
    documents = [_document(at, rng) for at in range(9)]
    for corpus in ("c", "d"):
        pipeline.ingest(documents, corpus, stores=stores, steps=_STEPS)
    statements = _ids(stores, Kind.STATEMENT)
    whole, rows = _read(stores, Kind.STATEMENT, statements)
    assert rows == len(statements)
    assert _read(stores, Kind.STATEMENT, statements) == (whole, 0)
    others = _ids(stores, Kind.STATEMENT, "d")
    _read(stores, Kind.STATEMENT, others, "d")

    documents[4] = Document("doc:4", documents[4].text + " Mara Quill sold it.", "Title 4", {"year": 9})
    pipeline.ingest([documents[4]], "c", stores=stores, steps=_STEPS)
    own = [item.id for item in whole if getattr(item, "source_id", "") == source_id("c", "doc:4")]
    assert own
    assert _read(stores, Kind.STATEMENT, statements)[1] == len(own)
    assert _read(stores, Kind.STATEMENT, others, "d")[1] == 0
    everything = _ids(stores, Kind.STATEMENT)
    assert len(_read(stores, Kind.STATEMENT, everything)[0]) == len(statements) + 1

    delete_sources([source_id("c", "doc:4")], "c", stores=stores)
    found, rows = _read(stores, Kind.STATEMENT, everything)
    assert [item.id for item in found] == [name for name in statements if name not in own]
    assert rows == 0


def test_a_chunk_that_a_repair_doubts_is_read_again(stores: Stores) -> None:
    pipeline.ingest([_document(1, random.Random(3))], "c", stores=stores, steps=_STEPS)
    chunks = _ids(stores, Kind.CHUNK)
    first, *_ = stores.graph.records(Kind.CHUNK, chunks, scope=Scope("c"))
    assert isinstance(first, Chunk)
    assert first.fingerprint
    with stores.graph.lock("c"):
        persist(Change("doubt", "c", doubted=(first.id,)), stores)
    again, *_ = stores.graph.records(Kind.CHUNK, chunks, scope=Scope("c"))
    assert isinstance(again, Chunk)
    assert (again.id, again.fingerprint) == (first.id, "")


def test_what_is_held_is_what_the_database_has_through_a_history(stores: Stores, tmp_path: Path) -> None:
    """A second process reads, too, and less often: it passes over some states."""
    rng = random.Random(7)
    other = _opened(tmp_path / "store")
    documents = [_document(at, rng) for at in range(12)]
    seen: dict[Kind, set[str]] = {kind: set() for kind in STORED}
    with other.graph:
        for step in range(48):
            at = rng.randrange(len(documents))
            if step % 6 == 1:  # metadata alone
                documents[at] = Document(
                    documents[at].uri, documents[at].text, documents[at].title, {"year": 10 + step}
                )
            elif step % 6 == 2:  # what follows moves
                documents[at] = Document(
                    documents[at].uri, f"Sela Orne opened it in {step}. {documents[at].text}", f"Title {step}"
                )
            if step % 6 == 3:
                delete_sources([source_id("c", documents[at].uri)], "c", stores=stores)
            elif step % 6 == 4:  # a repair
                with stores.graph.lock("c"):
                    persist(Change(f"repair {step}", "c", removed_chunks=tuple(_ids(stores, Kind.CHUNK)[:1])), stores)
            else:
                pipeline.ingest(documents, "c", stores=stores, steps=_STEPS)
            for kind, ids in seen.items():
                there = {item.id: item for item in stores.graph.find(kind, Scope("c"))}
                ids.update(there)
                asked = rng.sample(sorted(ids), len(ids) // 2)
                wanted = [there[name] for name in asked if name in there]
                assert stores.graph.records(kind, asked, scope=Scope("c")) == wanted
                if step % 5 == 0:
                    assert other.graph.records(kind, asked, scope=Scope("c")) == wanted
    assert all(seen[kind] for kind in (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY, Kind.TOPIC))
