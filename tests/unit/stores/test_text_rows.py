"""Full text in lists of rows: the ranking of FTS5, a page of the database for each word of an edit, nothing of what was deleted."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from older_store import undo_packing

from hlgraph.change import VectorBlock
from hlgraph.records import Kind
from hlgraph.stores.embedded import text_rows
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.embedded.text_rows import (
    best_first,
    entries,
    index_rows,
    is_broken,
    query_words,
    ranked,
    remove_rows,
)
from hlgraph.stores.migrate import apply
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores, VectorBatch, VectorQuery
from hlgraph.text import words

_WORDS = [
    "mill",
    "mills",
    "harbour",
    "U.S.",
    "1,000.50",
    "café",
    "東京都",
    "running",
    "runs",
    "the",
    "well-known",
    *"abcdefgh",
]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as found:
        found.executescript(
            "CREATE TABLE vector_file (file INTEGER PRIMARY KEY, texts INTEGER DEFAULT 0, length INTEGER DEFAULT 0);"
            "INSERT INTO vector_file (file) VALUES (1), (2);"
            "CREATE TABLE text (first INTEGER PRIMARY KEY, file INTEGER NOT NULL, words BLOB NOT NULL);"
            "CREATE TABLE posting (file INTEGER, word TEXT, first INTEGER, entries BLOB, PRIMARY KEY (file, word, first));"
        )
        yield found


def _search(connection: sqlite3.Connection, file: int, question: str) -> dict[int, float]:
    wanted = query_words(list(dict.fromkeys(words(question))))
    blocks = connection.execute(
        "SELECT word, first, entries FROM posting WHERE file = ? AND word IN (SELECT value FROM json_each(?))",
        (file, json.dumps(wanted)),
    ).fetchall()
    totals = connection.execute("SELECT texts, length FROM vector_file WHERE file = ?", (file,)).fetchone()
    rows, scores = ranked(wanted, blocks, texts=totals[0], length=totals[1])
    return dict(zip(rows.tolist(), scores.tolist(), strict=True))


def test_any_history_ranks_as_fts5_does(connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_rows, "_BLOCK", 12)
    monkeypatch.setattr(text_rows, "_SHORT", 8)
    monkeypatch.setattr(text_rows, "_TEXT_BLOCK", 100)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (words, tokenize = 'porter unicode61')")
    rng = random.Random(1)
    held: dict[int, str] = {}
    for step in range(60):
        if held and rng.random() < 0.4:
            gone = rng.sample(sorted(held), min(len(held), rng.randint(1, 9)))
            remove_rows(connection, 1, rows=gone)
            connection.executemany("DELETE FROM t WHERE rowid = ?", [(n,) for n in gone])
            for n in gone:
                del held[n]
        else:  # now and then a row that is older than others, as a repair writes it
            fresh = {
                n: " ".join(rng.choices(_WORDS, k=rng.randint(0, 9)))
                for n in {rng.randint(1, 400) for _ in range(7)} - held.keys()
            }
            index_rows(connection, 1, rows=list(zip(fresh, entries(list(fresh.values())), strict=True)))
            connection.executemany(
                "INSERT INTO t (rowid, words) VALUES (?, ?)", [(n, " ".join(words(text))) for n, text in fresh.items()]
            )
            held |= fresh
        for question in ("the mill", "U.S. harbour", "running 1,000.50", "東京 a b c", "nothing"):
            terms = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(question)))
            wanted = dict(connection.execute("SELECT rowid, -bm25(t) FROM t WHERE t MATCH ?", (terms,)).fetchall())
            assert _search(connection, 1, question) == pytest.approx(wanted, rel=1e-12), step
        assert not is_broken(connection, 1)
    remove_rows(connection, 1, rows=sorted(held))
    assert connection.execute("SELECT count(*) FROM posting").fetchone() == (0,)
    assert connection.execute("SELECT texts, length FROM vector_file").fetchall() == [(0, 0), (0, 0)]


def test_lists_of_two_matrices_are_apart(connection: sqlite3.Connection) -> None:
    for n, file in ((1, 1), (2, 2), (3, 2)):
        index_rows(connection, file, rows=[(n, "old\nmill")])
    assert (sorted(_search(connection, 1, "mill")), sorted(_search(connection, 2, "mill"))) == ([1], [2, 3])
    connection.execute("UPDATE posting SET entries = CAST(entries || entries AS BLOB) WHERE file = 2 AND word = 'mill'")
    assert (is_broken(connection, 1), is_broken(connection, 2)) == (False, True)


def test_the_best_come_first_and_ties_together() -> None:
    scores = np.array([1.0, 3.0, 2.0, 2.0, 3.0, 0.5, 2.0, 1.0])
    parts = [part.tolist() for part in best_first(scores, 1)]
    assert parts[0] == [1, 4]
    assert sorted(at for part in parts for at in part) == list(range(8))
    assert [sorted({scores[at] for at in part}) for part in parts] == [[3.0], [2.0], [0.5, 1.0]]
    assert [part.tolist() for part in best_first(np.empty(0), 4)] == [[]]


def _write(stores: Stores, first: int, count: int, *, change: str, text: str = "") -> None:
    rng = random.Random(first)
    names = tuple(f"{at:032x}" for at in range(first, first + count))
    texts = tuple(text or " ".join(f"word{int(300 ** rng.random())}" for _ in range(12)) for _ in names)
    matrix = np.eye(8, dtype=np.float32)[np.arange(count) % 8]
    block = VectorBlock(Kind.STATEMENT, names, texts, ("",) * count, 8, matrix.tobytes())
    stores.vectors.upsert(VectorBatch("c", change, (), (block,)))


def test_a_deletion_writes_a_page_for_each_word_and_leaves_no_word(tmp_path: Path) -> None:
    """A deletion merged the whole index of FTS5: 25 MB where 100,000 statements were."""
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        _write(opened.stores, 0, 5_000, change="one")
        _write(opened.stores, 5_000, 1, change="two", text="Quillwright zanthoxylum")
        with opened.stores.graph.lock():
            opened.stores.vectors.delete("c", {"statement": [f"{5_000:032x}", f"{2_500:032x}"]})
            assert (tmp_path / "store" / "hlgraph.db-wal").stat().st_size < 180_000
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [word for word in (b"quillwright", b"zanthoxylum") if word in held.lower()]


def test_a_store_with_fts5_is_indexed_when_it_is_migrated(tmp_path: Path) -> None:
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        _write(opened.stores, 0, 60, change="one")
        query = VectorQuery(Kind.STATEMENT, "c", 9, text="word1 word7 word20")
        expected = opened.stores.vectors.search(query)
    assert len(expected) == 9
    path = tmp_path / "store" / "hlgraph.db"
    with closing(sqlite3.connect(path)) as connection:
        undo_packing(connection)
        connection.executescript(
            "CREATE VIRTUAL TABLE text_1 USING fts5 (words, tokenize = 'porter unicode61');"
            "INSERT INTO text_1 (rowid, words) SELECT n, replace(words, char(10), ' ') FROM text;"
            "DROP TRIGGER field_insert; DROP TRIGGER field_delete; DROP TRIGGER field_before; DROP TRIGGER field_after;"
            "DROP VIEW field_of; DROP TABLE field; DROP TABLE text; DROP TABLE posting; ALTER TABLE vector_file DROP COLUMN texts;"
            "ALTER TABLE vector_file DROP COLUMN length; DROP TABLE image_change; ALTER TABLE corpus DROP COLUMN stamp;"
            "ALTER TABLE corpus DROP COLUMN ids;"
            "DELETE FROM migration WHERE version >= 12;"
        )
    apply(SqliteTarget(path))
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        assert opened.stores.vectors.search(query) == expected
        opened.stores.vectors.delete("c", {"statement": [f"{at:032x}" for at in range(60)]})
    with closing(sqlite3.connect(path)) as connection:
        assert (
            connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'text#_1%' ESCAPE '#'").fetchall() == []
        )
    assert b"word20" not in path.read_bytes()


def test_blocks_are_as_narrow_as_their_numbers_and_are_read_back(connection: sqlite3.Connection) -> None:
    """A word of one row takes 2 bytes, a frequent one 2 a row; wide numbers, of rows, counts and lengths, are kept."""
    texts = {3: "mill", 4: "mill mill", 300: "mill " * 300, 70_000: "mill", 70_001: "harbour", 5_000_000: "mill"}
    for n, text in texts.items():
        index_rows(connection, 1, rows=[(n, entries([text])[0])])
    blocks = connection.execute("SELECT word, first, entries FROM posting WHERE file = 1").fetchall()
    assert [len(block) for word, _, block in blocks if word == "harbour"] == [2]
    found = [entry for word, first, block in blocks if word == "mill" for entry in text_rows._unpacked(first, block)]
    assert found == [(3, 1, 1), (4, 2, 2), (300, 300, 300), (70_000, 1, 1), (5_000_000, 1, 1)]
    for n in range(100_000, 100_400):
        index_rows(connection, 2, rows=[(n, "the")])
    size = connection.execute("SELECT sum(length(entries)), count(*) FROM posting WHERE file = 2").fetchone()
    assert size[0] < 3 * 400
    assert size[1] <= 4
    assert not is_broken(connection, 1)
    assert not is_broken(connection, 2)


def test_a_store_of_version_16_is_packed_and_searched_and_edited_as_before(tmp_path: Path) -> None:
    url = f"hlgraph://{tmp_path}/store"
    opened = open_stores(url)
    with opened.closing:
        _write(opened.stores, 0, 3_000, change="one")
        _write(opened.stores, 3_000, 1, change="two", text="Quillwright zanthoxylum")
        with opened.stores.graph.lock():
            opened.stores.vectors.delete("c", {"statement": [f"{at:032x}" for at in range(0, 3_000, 7)]})
        opened.stores.vectors.upsert(
            VectorBatch("c", "three", (), (VectorBlock(Kind.TOPIC, ("no id",), ("the mill",), ("s",), 8, bytes(32)),))
        )
        queries = [
            VectorQuery(Kind.STATEMENT, "c", 50, text=f"word{a} word{b}") for a, b in ((1, 7), (20, 2), (0, 290))
        ]
        queries += [VectorQuery(Kind.STATEMENT, "c", 50, text="word1", hidden=("one",))]
        expected = [opened.stores.vectors.search(query) for query in queries]
        ids = opened.stores.vectors.ids(Kind.STATEMENT, "c")
    path = tmp_path / "store" / "hlgraph.db"
    with closing(sqlite3.connect(path)) as connection:
        newest = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vector'").fetchone()
        undo_packing(connection)
    apply(SqliteTarget(path))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vector'").fetchone() == newest
        assert connection.execute("SELECT change, source, rows FROM vector_origin ORDER BY 1").fetchall() == [
            ("one", "", 2_571),
            ("three", "s", 1),
            ("two", "", 1),
        ]
        assert connection.execute("SELECT count(*) FROM vector WHERE typeof(key) = 'blob'").fetchone() == (2_572,)
    opened = open_stores(url)
    with opened.closing:
        assert [opened.stores.vectors.search(query) for query in queries] == expected
        assert opened.stores.vectors.ids(Kind.STATEMENT, "c") == ids
        assert opened.stores.vectors.ids(Kind.TOPIC, "c", among=["no id", "another"]) == {"no id"}
        opened.stores.vectors.delete("c", {"statement": [f"{3_000:032x}"], "topic": ["no id"]})
        # These rows were written without records.
        assert [item.check for item in opened.check() if not item.is_fine] == ["vectors without a record"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT change FROM vector_origin").fetchall() == [("one",)]
        texts = [text for file in (1, 2) for _, text in text_rows.all_texts(connection, file)]
    assert len(texts) == 2_571
    assert not [text for text in texts if "zanthoxylum" in text]
    assert b"zanthoxylum" not in b"".join(item.read_bytes() for item in tmp_path.rglob("*") if item.is_file())


def test_rows_cost_as_much_in_a_large_index_as_in_a_small_one(connection: sqlite3.Connection) -> None:
    """The blocks to change were looked for in the whole index, as SQLite orders a join by itself."""
    counts = []
    for file, words_before in ((1, 100), (2, 5_000)):
        rows = [(1_000_000 * file + at, f"before{at}") for at in range(words_before)]
        index_rows(connection, file, rows=rows)
        steps = [0]

        def count(steps: list[int] = steps) -> int:
            steps[0] += 1
            return 0

        connection.set_progress_handler(count, 10)
        fresh = [(1_500_000 * file + at, f"fresh{at}\nbefore{at}") for at in range(20)]
        index_rows(connection, file, rows=fresh)
        remove_rows(connection, file, rows=[n for n, _ in fresh])
        connection.set_progress_handler(None, 0)
        counts.append(steps[0])
    assert counts[1] < 1.3 * counts[0]
