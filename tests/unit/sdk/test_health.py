"""Whether stores answer: what is up, what is down, what hangs, what needs a migration, in bounded time."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import hlgraph
from hlgraph.errors import InputError, SettingsError
from hlgraph.sdk import health as probing
from hlgraph.sdk.health import Health, ImageLag, health
from hlgraph.settings import Settings
from hlgraph.stores.embedded.database import DATABASE
from hlgraph.stores.protocols import Finding
from hlgraph.testing.corpus import SeededEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    settings = Settings(store=f"hlgraph://{tmp_path}/store")
    (tmp_path / "a.md").write_text("Jonas Querl was born in Wendlecote.\n", encoding="utf-8")
    with hlgraph.HLGraph(settings, embedder=SeededEmbedder()) as graph:
        graph.ingest([str(tmp_path / "a.md")])
    return settings


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that takes connections and says nothing."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        made.listen()
        yield made.getsockname()[1]


def test_an_embedded_store_is_ready(store: Settings) -> None:
    with hlgraph.connect(store) as graph:
        found = graph.health()
    assert (found.is_live, found.is_ready, found.image) == (True, True, None)
    assert [item.check for item in found.checks] == ["store", "schema of the store"]
    assert found.checks[0].seen.startswith(f"SQLite {sqlite3.sqlite_version}, ")


def test_a_store_that_is_not_there_yet_is_ready_and_is_not_made(tmp_path: Path) -> None:
    found = health(Settings(store=f"hlgraph://{tmp_path}/none"), timeout=5)
    assert found.is_ready
    assert not (tmp_path / "none").exists()


def test_a_pending_migration_is_live_and_not_ready(store: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    older = probing.migrate.plan
    monkeypatch.setattr(
        probing.migrate, "plan", lambda target: replace(older(target), pending=older(target).applied[:1])
    )
    found = health(store, timeout=5)
    assert (found.is_live, found.is_ready) == (True, False)
    assert found.checks[-1].seen == "V001__create_tables pending; run: hlgraph migrate apply"


def test_a_damaged_store_is_not_live(store: Settings) -> None:
    folder = Path(store.store.removeprefix("hlgraph://"))
    (folder / DATABASE).write_bytes(b"no database at all" * 100)
    found = health(store, timeout=5)
    assert (found.is_live, found.is_ready) == (False, False)
    assert str(folder) in found.checks[0].seen


def test_each_unreachable_server_is_one_finding() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        settings = Settings(store=f"bolt://127.0.0.1:{port}", vectors=f"http://127.0.0.1:{port}")
        found = health(settings, timeout=5)
    assert not found.is_live
    assert [item.check for item in found.checks] == ["graph store", "vector store"]
    assert all("\n" not in item.seen and str(port) in item.seen for item in found.checks)


def test_hanging_servers_time_out(silent_port: int) -> None:
    settings = Settings(store=f"bolt://127.0.0.1:{silent_port}", vectors=f"http://127.0.0.1:{silent_port}")
    found = health(settings, timeout=0.5)
    assert (found.is_live, len(found.checks)) == (False, 2)


def test_invalid_timeout_is_rejected() -> None:
    with pytest.raises(InputError, match="timeout is 0"):
        health(Settings(), timeout=0)
    with pytest.raises(SettingsError, match="set the vector store"):
        health(Settings(store="neo4j://localhost:7687"), timeout=1)


def test_the_lag_of_an_image_is_counted_in_changes() -> None:
    made = Health(True, True, (Finding("store", True, "fine"),), ImageLag("c", 7, 5), "1.0")
    assert list(probing.lines(made))[1:] == [
        "ok   graph image of corpus c (version 7): 2 changes behind",
        "hlgraph 1.0: ready",
    ]
    none = replace(made, image=ImageLag("c", 7, None), is_ready=False)
    assert list(probing.lines(none))[1:] == [
        "ok   graph image of corpus c (version 7): none; the server answers",
        "hlgraph 1.0: live, but not ready",
    ]
    assert none.image is not None
    assert none.image.behind is None
