"""A store of an older version, whose topics were embedded by their names, after an upgrade: applied, interrupted, resumed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from older_store import undo_words_fields_and_lists
from topic_contract import make_older

import hlgraph
from hlgraph.cli import main
from hlgraph.errors import StoreUnavailableError
from hlgraph.persist.journal import resume
from hlgraph.records import Document
from hlgraph.stores import migrate
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores, VectorBatch, VectorStore
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_DOCUMENTS = [
    Document(
        f"doc:{at}",
        f"# Bridges\n\nMara Quill designed the Aldane Bridge in 19{at}0. Ivo Brandt wrote about the Orne.\n\n"
        f"# Rivers\n\nThe Orne froze in 18{at}0. Tessing lies on the Orne.",
        f"Title {at}",
    )
    for at in range(1, 6)
]


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, Mapping[str, list[object]]]:
    """A folder with a store as version 0.1 left it, and what it should hold after the upgrade."""
    folder = tmp_path / "store"
    with hlgraph.connect(f"hlgraph://{folder}", corpus="c", embedder=WordEmbedder()) as graph:
        graph.ingest(_DOCUMENTS)
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        wanted = snapshot(opened.stores, "c")
        make_older(opened.stores, "c")
        assert snapshot(opened.stores, "c") != wanted
    with closing(sqlite3.connect(folder / "hlgraph.db")) as connection, connection:
        undo_words_fields_and_lists(connection)
        connection.executescript(
            "ALTER TABLE corpus DROP COLUMN renewed_to; ALTER TABLE corpus DROP COLUMN calibration;"
            "ALTER TABLE summary DROP COLUMN level; ALTER TABLE vector DROP COLUMN checksum; DROP TABLE seal;"
            "CREATE TABLE co_occurs (a INTEGER, b INTEGER, chunks INTEGER);"
            "DELETE FROM migration WHERE version >= 7;"
        )
    return folder, wanted


def test_migrate_apply_renews_the_topics_without_a_model(store: tuple[Path, Mapping[str, list[object]]]) -> None:
    folder, wanted = store
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main(["--store", f"hlgraph://{folder}", "migrate", "apply"])
        assert not ended.value.code
        opened = open_stores(f"hlgraph://{folder}")
        with opened.closing:
            assert snapshot(opened.stores, "c") == wanted
            assert [item.renewed_to for item in opened.stores.graph.stats(has_counts=False)] == [None]
            assert not [item for item in opened.check() if not item.is_fine]


class _Failing:
    """A vector store of which one write fails, before it is done or after."""

    def __init__(self, inner: VectorStore, fails_at: int, *, is_done: bool) -> None:
        self._inner, self._left, self._is_done = inner, fails_at, is_done

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def upsert(self, batch: VectorBatch) -> None:
        self._left -= 1
        if self._left or self._is_done:
            self._inner.upsert(batch)
        if not self._left:
            raise StoreUnavailableError("the disk is away")


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("fails_at", [1, 2, 4])
def test_an_interrupted_renewal_goes_on_where_it_was(
    store: tuple[Path, Mapping[str, list[object]]], monkeypatch: pytest.MonkeyPatch, fails_at: int, is_done: bool
) -> None:
    monkeypatch.setattr("hlgraph.persist.journal._BATCH", 2)
    monkeypatch.setattr("hlgraph.persist.journal._PULLED", 3)
    folder, wanted = store
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        migrate.apply(opened.targets[0])
        failing = Stores(
            opened.stores.graph, cast("VectorStore", _Failing(opened.stores.vectors, fails_at, is_done=is_done))
        )
        with opened.stores.graph.lock() as pending, pytest.raises(StoreUnavailableError):
            resume(pending, failing)
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        with opened.stores.graph.lock() as pending:
            assert resume(pending, opened.stores) == 1
        assert snapshot(opened.stores, "c") == wanted
        assert not [item for item in opened.check() if not item.is_fine]


def test_an_ingest_renews_first_what_it_does_not_touch(store: tuple[Path, Mapping[str, list[object]]]) -> None:
    folder, wanted = store
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        migrate.apply(opened.targets[0])
    with hlgraph.connect(f"hlgraph://{folder}", corpus="c", embedder=WordEmbedder()) as graph:
        graph.ingest([Document("doc:new", "Lake Vessel is deep.", "Lake Vessel")])
        graph.delete("doc:new")
        assert snapshot(graph._opened.stores, "c") == wanted
