"""Zeros in the bytes that no row uses: nothing else changes, no lock is lost, and what a killed writer left is found."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import hlgraph
from hlgraph.sdk.client import HLGraph
from hlgraph.stores import freed_bytes
from hlgraph.stores.freed_bytes import empty_log, unwiped, wipe
from hlgraph.testing.embedder import WordEmbedder

_WORD = "quillwright"
_CHILD = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], timeout=0)
held.execute("PRAGMA locking_mode = EXCLUSIVE")
try:
    held.execute("SELECT count(*) FROM t").fetchone()
except sqlite3.OperationalError as error:
    print(error)
"""


def _random_file(path: Path, *, pages: int, vacuum: str, seed: int) -> sqlite3.Connection:
    """A file in which rows came, moved and went, without ``secure_delete``: it is full of old bytes."""
    rng = random.Random(seed)
    made = sqlite3.connect(path, isolation_level=None)
    for name, value in (
        ("page_size", pages),
        ("auto_vacuum", vacuum),
        ("journal_mode", "WAL"),
        ("secure_delete", "OFF"),
    ):
        made.execute(f"PRAGMA {name} = {value}")
    made.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
    made.execute("CREATE INDEX by_text ON t (text)")
    made.execute("CREATE TABLE k (word TEXT, n INTEGER, data BLOB, PRIMARY KEY (word, n)) WITHOUT ROWID")
    made.execute("CREATE TABLE dropped (text TEXT)")
    made.executemany("INSERT INTO dropped VALUES (?)", [(f"{_WORD} {n}" * 9,) for n in range(400)])
    for step in range(60):
        made.execute("BEGIN")
        for _ in range(rng.choice((1, 20))):
            n = rng.randrange(300)
            text = f"{_WORD} {step} " * rng.choice((1, 3, 10, 40, 700))
            made.execute("INSERT OR REPLACE INTO t VALUES (?, ?)", (n, text[rng.randrange(9) :]))
            made.execute(
                "INSERT OR REPLACE INTO k VALUES (?, ?, ?)", (text[:30], n, rng.randbytes(rng.choice((0, 9, 900))))
            )
            made.execute("DELETE FROM t WHERE n BETWEEN ? AND ?", (n - 2, n - 1))
            made.execute("DELETE FROM k WHERE n = ?", (rng.randrange(300),))
        made.execute("COMMIT")
    made.execute("DROP TABLE dropped")
    return made


@pytest.mark.parametrize("pages", [512, 4096, 65_536])
@pytest.mark.parametrize("vacuum", ["NONE", "INCREMENTAL"])
def test_every_unused_byte_becomes_zero_and_every_row_stays(tmp_path: Path, pages: int, vacuum: str) -> None:
    path = tmp_path / "file.db"
    with closing(_random_file(path, pages=pages, vacuum=vacuum, seed=pages)) as connection:
        assert empty_log(connection)
        before = list(connection.iterdump())
        assert len(unwiped(path)) > 4
        assert wipe(connection, path)
        assert unwiped(path) == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert list(connection.iterdump()) == before
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("DELETE FROM t")
        connection.execute("DELETE FROM k")
        connection.commit()
        assert empty_log(connection)
        assert wipe(connection, path)
    assert _WORD.encode() not in path.read_bytes()


def test_a_damaged_file_is_looked_at_without_an_error_and_pages_in_use_are_not_taken_for_free_ones(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file.db"
    _random_file(path, pages=4096, vacuum="NONE", seed=1).close()
    data = path.read_bytes()
    rng = random.Random(2)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute("PRAGMA freelist_count").fetchone()[0] > 4
        for first, last in ((16, 18), (28, 40), (4097, 4105), (4096, len(data)), (0, 0)):
            for _ in range(20):
                size = min(last - first, 40)
                at = first + rng.randrange(max(last - first - size, 1))
                path.write_bytes(data[:at] + rng.randbytes(size) + data[at + size :])
                assert all(item.size > 0 for item in unwiped(path))
        path.write_bytes(data)
        trunk = int.from_bytes(data[32:36], "big")
        held = {item.page for item in unwiped(path) if item.size == 4096}
        assert held
        for value in ((trunk - 1) * 4096, (trunk - 1) * 4096 + 4):  # the next list, and the length of this one
            path.write_bytes(data[:value] + (2).to_bytes(4, "big") + data[value + 4 :])
            assert not [item for item in unwiped(path) if item.size == 4096]
        for size in (0, 99, 5_000, len(data) - 4_096):
            path.write_bytes(data[:size])
            assert {item.page for item in unwiped(path)} <= set(range(1, 1 + size // 4096))


@pytest.mark.parametrize("others", [0, 3])
def test_the_locks_of_a_process_stay(tmp_path: Path, others: int) -> None:
    path = tmp_path / "file.db"
    with closing(_random_file(path, pages=4096, vacuum="NONE", seed=3)) as connection:
        more = [sqlite3.connect(path) for _ in range(others)]
        for item in more:
            item.execute("SELECT count(*) FROM t").fetchone()
        assert empty_log(connection)
        assert wipe(connection, path)
        assert unwiped(path) == []
        child = subprocess.run([sys.executable, "-c", _CHILD, path], capture_output=True, text=True, check=True)
        assert child.stdout == "database is locked\n"
        for item in more:
            item.close()


def test_connections_with_pages_in_their_caches_do_not_write_them_again(tmp_path: Path) -> None:
    path = tmp_path / "file.db"
    with closing(_random_file(path, pages=4096, vacuum="NONE", seed=4)) as connection:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            for item in (other, connection):
                item.execute("PRAGMA secure_delete = ON")
                assert item.execute("SELECT sum(length(text)) FROM t").fetchone()[0]
            assert empty_log(connection)
            assert wipe(connection, path, is_shared=True)
            for item in (other, connection):
                item.execute("UPDATE t SET text = upper(text) WHERE length(text) < 200")
        assert empty_log(connection)
        found = [
            item for item in unwiped(path) if _WORD.encode() in path.read_bytes()[item.start : item.start + item.size]
        ]
        assert found == []


@pytest.fixture
def graph(graph: HLGraph) -> HLGraph:
    graph.ingest([hlgraph.Document(f"doc:{n}", f"Mara Quill left Tessing in {1800 + n}.") for n in range(5)])
    return graph


def _leave_words(folder: Path) -> Path:
    """Leaves a word in the gap of a page, and in free pages, as a program without ``secure_delete`` does."""
    path = folder / "store" / "hlgraph.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("INSERT INTO domain VALUES (?, '[]', '[]', '')", (_WORD,))
        connection.execute("DELETE FROM domain WHERE corpus = ?", (_WORD,))
        connection.execute("CREATE TABLE other AS SELECT ? AS text", (_WORD * 2_000,))
        connection.execute("DROP TABLE other")
        assert empty_log(connection)
    assert _is_held(path)
    return path


def _is_held(path: Path) -> bool:
    return any(_WORD.encode() in item.read_bytes() for item in path.parent.rglob("*") if item.is_file())


def _wrong(graph: HLGraph) -> list[str]:
    return [item.check for item in graph.check() if not item.is_fine]


def test_doctor_reports_leftover_bytes_and_repair_removes_them(graph: HLGraph, tmp_path: Path) -> None:
    path = _leave_words(tmp_path)
    assert _wrong(graph) == ["freed bytes"]
    graph.delete(["doc:1"])  # looks at the pages that it wrote
    assert _wrong(graph) == ["freed bytes"]
    assert _is_held(path)
    graph.reconcile(repair=True)
    assert not _is_held(path)
    assert _wrong(graph) == []


def test_first_writer_wipes_an_older_store(graph: HLGraph, tmp_path: Path) -> None:
    path = _leave_words(tmp_path)
    path.with_name("hlgraph.db-wiped").unlink()
    graph.delete(["doc:1"])
    assert not _is_held(path)
    assert _wrong(graph) == []


def _delete_and_die(folder: Path) -> None:
    freed_bytes.wipe = lambda *_, **__: os._exit(9)  # type: ignore[assignment]
    with hlgraph.connect(f"hlgraph://{folder}/store", embedder=WordEmbedder()) as graph:
        graph.delete(["doc:1"])


def test_a_deletion_that_was_killed_before_it_wiped_is_finished_when_it_is_repeated(
    graph: HLGraph, tmp_path: Path
) -> None:
    path = _leave_words(tmp_path)
    killed = multiprocessing.get_context("spawn").Process(target=_delete_and_die, args=(tmp_path,))
    killed.start()
    killed.join()
    assert killed.exitcode == 9
    assert _is_held(path)
    assert "freed bytes" in _wrong(graph)
    graph.delete(["doc:1"])
    assert not _is_held(path)
    assert _wrong(graph) == []
