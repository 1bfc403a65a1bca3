"""The contract suites on the embedded store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hlgraph.stores.embedded import adjacency, coarse, row_files
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores
from hlgraph.testing.derived_contract import DerivedStoreContract
from hlgraph.testing.domain_contract import DomainStoreContract
from hlgraph.testing.graph_contract import GraphStoreContract
from hlgraph.testing.merge_contract import MergeStoreContract
from hlgraph.testing.topic_contract import TopicContract
from hlgraph.testing.vector_contract import VectorStoreContract


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        yield opened.stores
        findings = list(opened.check())
    wrong = [item for item in findings if not item.is_fine and item.check in ("database file", "vector files")]
    assert not wrong


class TestEmbeddedGraphStore(GraphStoreContract):
    pass


class TestEmbeddedGraphStoreInFiles(GraphStoreContract):
    """The same with the graph of every corpus in mapped files, not of large ones only."""

    @pytest.fixture(autouse=True)
    def _in_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adjacency, "LEAST_NODES", 0)


class TestEmbeddedVectorStore(VectorStoreContract):
    pass


class TestEmbeddedDerivedStore(DerivedStoreContract):
    pass


class TestEmbeddedDomainStore(DomainStoreContract):
    pass


class TestEmbeddedMergeStore(MergeStoreContract):
    pass


class TestEmbeddedMergeStoreInFiles(MergeStoreContract):
    """The same with the graph of every corpus in mapped files."""

    @pytest.fixture(autouse=True)
    def _in_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adjacency, "LEAST_NODES", 0)


class TestEmbeddedVectorStoreInFiles(VectorStoreContract):
    """The same with the rows of every matrix in mapped files, and their codes."""

    @pytest.fixture(autouse=True)
    def _in_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(row_files, "LEAST_ROWS", 2)
        monkeypatch.setattr(row_files, "_BATCH", 3)
        monkeypatch.setattr(coarse, "LEAST_ROWS", 3)


class TestEmbeddedTopics(TopicContract):
    pass
