"""The contract suites on the embedded store."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest
from topic_contract import TopicContract

from hlgraph.ingest import pipeline
from hlgraph.records import Kind
from hlgraph.settings import Settings
from hlgraph.stores import migrate
from hlgraph.stores.embedded import images, vector_files
from hlgraph.stores.embedded.database import DATABASE
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.derived_contract import DerivedStoreContract, DomainStoreContract, RetentionStoreContract
from hlgraph.testing.graph_contract import GraphStoreContract
from hlgraph.testing.merge_contract import MergeStoreContract
from hlgraph.testing.vector_contract import VectorStoreContract
from hlgraph.testing.writers_contract import WORDS, WritersContract, documents, empty, ingest_into, steps_of


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        yield opened.stores
        findings = list(opened.check())
    wrong = [item for item in findings if not item.is_fine and item.check in ("database file", "vector files")]
    assert not wrong


class TestEmbeddedGraphStore(GraphStoreContract):
    def test_a_store_that_another_process_is_making_is_empty_until_it_is_made(
        self, stores: Stores, tmp_path: Path
    ) -> None:
        target = SqliteTarget(tmp_path / "store" / DATABASE)
        with target.lock():
            assert target.path.exists()
            assert (stores.graph.stats("c"), stores.vectors.ids(Kind.CHUNK, "c")) == ((), set())
            for migration in migrate.discover("embedded"):
                target.apply(migration)
            assert (stores.graph.stats("c"), stores.vectors.ids(Kind.CHUNK, "c")) == ((), set())
        assert stores.graph.stats("c") == ()
        with stores.graph.lock("c") as pending:
            assert pending == ()


class TestEmbeddedGraphStoreInFiles(GraphStoreContract):
    """The same with the graph of every corpus in mapped files, not of large ones only."""

    @pytest.fixture(autouse=True)
    def _in_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(images, "LEAST_NODES", 0)


class TestEmbeddedVectorStore(VectorStoreContract):
    pass


class TestEmbeddedDerivedStore(DerivedStoreContract):
    pass


class TestEmbeddedDomainStore(DomainStoreContract):
    pass


class TestEmbeddedRetentionStore(RetentionStoreContract):
    pass


class TestEmbeddedMergeStore(MergeStoreContract):
    pass


class TestEmbeddedMergeStoreInFiles(MergeStoreContract):
    """The same with the graph of every corpus in mapped files."""

    @pytest.fixture(autouse=True)
    def _in_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(images, "LEAST_NODES", 0)


class TestEmbeddedVectorStoreInFiles(VectorStoreContract):
    """The same with the rows of every matrix in mapped files, and their codes."""

    @pytest.fixture(autouse=True)
    def _in_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector_files, "LEAST_ROWS", 2)
        monkeypatch.setattr(vector_files, "_BATCH", 3)
        monkeypatch.setattr(vector_files, "LEAST_ROWS", 3)


class TestEmbeddedTopics(TopicContract):
    pass


class TestEmbeddedWriters(WritersContract):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Settings:
        return Settings(store=f"hlgraph://{tmp_path}/store")

    def test_two_processes_at_once(self, place: Settings) -> None:
        make = multiprocessing.get_context("fork").Process
        both = [
            make(target=ingest_into, args=(place, "c"), kwargs={"given": documents(*WORDS[at::2])}) for at in range(2)
        ]
        for process in both:
            process.start()
        for process in both:
            process.join(60)
        assert [process.exitcode for process in both] == [0, 0]
        with (opened := open_stores(place)).closing:
            at_once = snapshot(opened.stores, "c")
            empty(opened.stores, "c")
            pipeline.ingest(documents(*WORDS), "c", stores=opened.stores, steps=steps_of())
            assert snapshot(opened.stores, "c") == at_once
