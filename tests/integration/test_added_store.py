"""A store that has no code but that of docs/how-to/add-a-store.md passes the contract, and runs every strategy and command."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pages import DOCS, REPOSITORY, Reader, blocks
from sample_vectors import copied

from hlgraph.chunk import WholeChunker
from hlgraph.cli import main
from hlgraph.errors import InputError, StoreError
from hlgraph.index.communities import derived_store
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.retrieve import STRATEGIES, SearchRequest, search
from hlgraph.stores import open as opening
from hlgraph.stores.protocols import Stores, domain_store
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.testing.graph_contract import GraphStoreContract
from hlgraph.testing.vector_contract import VectorStoreContract

PAGE = DOCS / "how-to" / "add-a-store.md"
_MEMORY = "hlgraph --store memory://here --vectors memory://here"
_COMMANDS = (
    "stats", "health", "doctor", "reconcile --repair", "journal", "migrate plan", "migrate verify", "config", "ledger",
    "search 'Who designed the bridge?'", "quality coverage", "failures list", "models list", "cypher list",
)  # fmt: skip
_LACKING = {
    "communities build": "no derived data", "hierarchy build": "no derived data", "merges list": "no merges",
    "cypher run rank_entities": "has no Cypher", "materialise co_occurs": "has no Cypher",
    "backup copy": "no copies of corpora",
}  # fmt: skip


@pytest.fixture(scope="module")
def names() -> Iterator[dict[str, Any]]:
    """What the blocks of the page define."""
    found: dict[str, Any] = {"__name__": "__main__"}
    with patch.dict(opening.GRAPHS), patch.dict(opening.VECTORS):
        for block in blocks(PAGE, "python"):
            exec(compile(block.text, block.place, "exec", dont_inherit=True), found)  # noqa: S102 - the page is ours
        yield found


@pytest.fixture
def stores(names: dict[str, Any]) -> Stores:
    return Stores(names["MemoryGraph"](), names["MemoryVectors"]())


class TestGraph(GraphStoreContract):
    """The graph store of the page."""


class TestVectors(VectorStoreContract):
    """The vector store of the page."""


def test_every_strategy_runs(stores: Stores) -> None:
    steps = pipeline.Steps(WholeChunker(), TinyExtractor(), WordEmbedder())
    pipeline.ingest(DOCUMENTS, CORPUS, stores=stores, steps=steps)
    request = SearchRequest("Who designed the Aldane Bridge?", CORPUS, explain=True)
    for strategy in STRATEGIES:
        expected = pytest.raises(InputError, match="no hierarchy") if strategy == "hierarchy" else nullcontext()
        with expected:
            result = search(request, strategy, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
            assert result.evidence, strategy


def test_what_the_page_says_that_it_lacks_is_said(stores: Stores) -> None:
    with pytest.raises(StoreError, match="keeps no derived data"):
        derived_store(stores)
    with pytest.raises(StoreError, match="keep no domains"):
        domain_store(stores)
    with pytest.raises(InputError, match="has no Cypher"):
        stores.graph.write_co_occurs(CORPUS)


def test_every_command_runs_or_says_what_the_store_lacks(
    names: dict[str, Any], tmp_path: Path, sample_vectors: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(REPOSITORY / "hlgraph" / "samples", tmp_path / "library")
    reader = Reader(tmp_path, {"HLGRAPH_CACHE": copied(sample_vectors, tmp_path / "cache")})
    reader.run(f"{_MEMORY} ingest library", *(f"{_MEMORY} {command}" for command in _COMMANDS))
    for command, lack in _LACKING.items():
        with pytest.raises(SystemExit) as end:
            main(shlex.split(f"{_MEMORY} {command}")[1:])
        assert end.value.code, command
        assert lack in capsys.readouterr().err, command
    reader.run(f"{_MEMORY} delete --all")
