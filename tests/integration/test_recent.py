"""What an embedded store holds in memory of what it read: never other than the database has it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlgraph
from hlgraph.records import Kind
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.embedded.rows import Recent
from hlgraph.stores.protocols import Scope


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A store with one table to play with."""
    made = Database(tmp_path)
    with made.lock(), made.transaction() as connection:
        connection.execute("CREATE TABLE toy (id TEXT PRIMARY KEY, value INTEGER)")
        connection.executemany("INSERT INTO toy VALUES (?, ?)", [("a", 1), ("b", 2), ("c", 3)])
    yield made
    made.close()


class Asked:
    """Reads the table, and knows what it was asked for."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.keys: list[list[str]] = []

    def __call__(self, keys: list[str]) -> dict[str, int]:
        self.keys.append(keys)
        rows = self.database.reader().execute("SELECT id, value FROM toy").fetchall()
        return {key: value for key, value in rows if key in keys}


def write(path: Path, statement: str) -> None:
    """By another handle, as another process has it."""
    other = Database(path)
    with other.lock(), other.transaction() as connection:
        connection.execute(statement)
    other.close()


def test_what_was_read_is_not_read_again(database: Database) -> None:
    recent, asked = Recent[str, int](database, most=10, size=lambda _: 1), Asked(database)
    assert recent.read(["b", "a", "b"], asked) == {"b": 2, "a": 1}
    assert list(recent.read(["c", "a", "nothing"], asked).items()) == [("c", 3), ("a", 1)]
    assert asked.keys == [["b", "a"], ["c", "nothing"]]


@pytest.mark.parametrize("is_own", [True, False])
def test_a_commit_of_anyone_makes_all_be_read_again(database: Database, is_own: bool) -> None:
    recent, asked = Recent[str, int](database, most=10, size=lambda _: 1), Asked(database)
    recent.read(["a", "b"], asked)
    if is_own:
        with database.lock(), database.transaction() as connection:
            connection.execute("UPDATE toy SET value = 7 WHERE id = 'a'")
            connection.execute("DELETE FROM toy WHERE id = 'b'")
    else:
        write(database.path, "UPDATE toy SET value = 7 WHERE id = 'a'")
        write(database.path, "DELETE FROM toy WHERE id = 'b'")
    assert recent.read(["a", "b"], asked) == {"a": 7}


def test_what_was_read_while_another_committed_is_not_held(database: Database) -> None:
    recent, asked = Recent[str, int](database, most=10, size=lambda _: 1), Asked(database)

    def read_before_a_commit(keys: list[str]) -> dict[str, int]:
        found = asked(keys)
        write(database.path, "DELETE FROM toy WHERE id = 'a'")
        return found

    assert recent.read(["a"], read_before_a_commit) == {"a": 1}
    assert recent.read(["a"], asked) == {}


def test_room_is_bounded_and_what_was_asked_for_last_stays(database: Database) -> None:
    recent, asked = Recent[str, int](database, most=1, size=lambda _: 1), Asked(database)
    for key in ("a", "b"):
        recent.read([key], asked)
    recent.read(["a"], asked)  # from what is about to go, to what stays
    recent.read(["c"], asked)
    recent.read(["a"], asked)
    recent.read(["b"], asked)
    assert asked.keys == [["a"], ["b"], ["c"], ["b"]]


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


def test_looking_for_a_commit_does_not_wait_for_the_end_of_a_writer(database: Database) -> None:
    """A writer holds the guard of the database while its log is written back, which may take long."""
    recent, asked = Recent[str, int](database, most=10, size=lambda _: 1), Asked(database)
    is_ready, is_held = threading.Event(), threading.Event()
    found: list[dict[str, int]] = []

    def read() -> None:
        recent.read(["a"], asked)  # now this thread has its connection
        is_ready.set()
        is_held.wait(60)
        found.append(recent.read(["a"], asked))

    thread = threading.Thread(target=read)
    thread.start()
    assert is_ready.wait(60)
    with database._guard:
        is_held.set()
        thread.join(60)
        assert found == [{"a": 1}]
    thread.join()
