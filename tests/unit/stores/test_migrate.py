"""Migrations against a real SQLite file: order, history, races, crashes."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from schemas import verify

from hlgraph.errors import MigrationError, StoreCorruptError, StoreLockedError, UnknownNameError
from hlgraph.stores import migrate
from hlgraph.stores.embedded.migrations import SqliteTarget, statements

REPOSITORY = Path(__file__).parents[3]
CHILD = """
import sys, time
from pathlib import Path
from hlgraph.stores import migrate
from hlgraph.stores.embedded.migrations import SqliteTarget
store, root, gate = map(Path, sys.argv[1:])
print("ready", flush=True)
while not gate.exists():
    time.sleep(0.001)
print(len(migrate.apply(SqliteTarget(store), root=root).applied), flush=True)
"""
# 40 MB: more than SQLite's cache, so the file grows while the transaction is open, and about half a second of work.
SLOW = """
CREATE TABLE big (x BLOB);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO big SELECT randomblob(1000) FROM n;
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of two migrations."""
    write(
        tmp_path / "migrations", 1, "create_words", "CREATE TABLE word (text TEXT);\nINSERT INTO word VALUES ('one');\n"
    )
    write(tmp_path / "migrations", 2, "add_length", "ALTER TABLE word ADD COLUMN length INTEGER;")
    return tmp_path / "migrations"


@pytest.fixture
def target(tmp_path: Path) -> SqliteTarget:
    return SqliteTarget(tmp_path / "store.db", lock_seconds=0.1)


def write(root: Path, version: int, name: str, text: str) -> Path:
    (root / "embedded").mkdir(parents=True, exist_ok=True)
    path = root / "embedded" / f"V{version:03d}__{name}.sql"
    path.write_text(text, encoding="utf-8")
    return path


def rows(target: SqliteTarget, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(target.path)) as connection:
        return connection.execute(sql).fetchall()


def child(*arguments: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, *map(str, arguments)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


# Files


def test_migrations_are_found_in_order(root: Path) -> None:
    found = migrate.discover("embedded", root)
    assert [item.label for item in found] == ["V001__create_words", "V002__add_length"]
    assert found[1].text == "ALTER TABLE word ADD COLUMN length INTEGER;"


def test_line_ends_do_not_change_a_checksum(root: Path) -> None:
    before = migrate.discover("embedded", root)
    path = root / "embedded" / "V001__create_words.sql"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert migrate.discover("embedded", root) == before
    path.write_bytes(path.read_bytes() + b" ")
    assert migrate.discover("embedded", root)[0].checksum != before[0].checksum


@pytest.mark.parametrize(
    ("store", "name"), [("neo4j", "V001__add_keys.cypher"), ("opensearch", "V001__create_index.json")]
)
def test_each_kind_of_store_has_its_own_files(root: Path, store: str, name: str) -> None:
    (root / store).mkdir()
    (root / store / name).write_text("{}", encoding="utf-8")
    assert [item.label for item in migrate.discover(store, root)] == [name.partition(".")[0]]


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "V3__x.sql",
        "V003_x.sql",
        "V003__X.sql",
        "V003__.sql",
        "V003__x.cypher",
        "V003__x.sql.orig",
        "R__x.sql",
    ],
)
def test_an_unknown_file_is_refused(root: Path, name: str) -> None:
    (root / "embedded" / name).write_text("", encoding="utf-8")
    with pytest.raises(MigrationError, match="not a migration"):
        migrate.discover("embedded", root)


def test_a_hidden_file_is_nobodys_migration(root: Path) -> None:
    (root / "embedded" / ".DS_Store").write_bytes(b"\0")
    assert len(migrate.discover("embedded", root)) == 2


@pytest.mark.parametrize(("version", "due"), [(2, "003"), (4, "003"), (0, "001")])
def test_gaps_and_duplicates_are_refused(root: Path, version: int, due: str) -> None:
    write(root, version, "other", "SELECT 1;")
    with pytest.raises(MigrationError, match=f"but {due} is expected"):
        migrate.discover("embedded", root)


def test_no_migrations_and_no_such_store_are_errors(root: Path) -> None:
    with pytest.raises(MigrationError, match="holds no migrations"):
        migrate.discover("neo4j", root)
    with pytest.raises(UnknownNameError, match="embedded, neo4j, opensearch"):
        migrate.discover("../embedded", root)


def test_a_file_that_is_not_utf8_is_refused(root: Path) -> None:
    (root / "embedded" / "V001__create_words.sql").write_bytes(b"-- \xff")
    with pytest.raises(MigrationError, match="not UTF-8"):
        migrate.discover("embedded", root)


def test_the_migrations_of_hlgraph_make_a_store(target: SqliteTarget) -> None:
    found = migrate.discover("embedded")
    assert migrate.apply(target).applied == found
    verify(target)


def test_an_empty_store_gets_at_once_what_the_migrations_make_one_by_one(target: SqliteTarget, tmp_path: Path) -> None:
    slow = SqliteTarget(tmp_path / "slow.db")
    migrate.apply(target)
    with slow.lock():
        for migration in migrate.discover("embedded"):
            slow.apply(migration)
    verify(slow)
    schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    assert rows(target, schema) == rows(slow, schema)
    filled = []
    for (name,) in rows(target, "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'migration'"):
        query = f'SELECT * FROM "{name}"'  # noqa: S608 - a name of ours
        assert rows(target, query) == rows(slow, query), name
        filled += [name] * bool(rows(target, query))
    assert filled == ["sqlite_sequence", "vector_source_version"]


# Plan, apply, verify


def test_a_plan_changes_nothing(root: Path, target: SqliteTarget) -> None:
    plan = migrate.plan(target, root=root)
    assert plan.applied == ()
    assert [item.version for item in plan.pending] == [1, 2]
    assert not target.path.exists()


def test_applying_twice_changes_nothing(root: Path, target: SqliteTarget) -> None:
    report = migrate.apply(target, root=root)
    assert ([item.version for item in report.applied], report.version) == ([1, 2], 2)
    before = target.path.read_bytes()
    assert migrate.apply(target, root=root) == migrate.Report((), 2)
    assert target.path.read_bytes() == before
    assert rows(target, "SELECT text, length FROM word") == [("one", None)]


def test_the_history_says_what_ran_when_and_by_whom(root: Path, target: SqliteTarget) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    migrate.apply(target, root=root)
    first = migrate.plan(target, root=root).applied[0]
    assert first.label == "V001__create_words"
    assert before <= datetime.fromisoformat(first.applied_at) <= datetime.now(UTC)
    assert first.checksum == migrate.discover("embedded", root)[0].checksum
    assert first.hlgraph_version == migrate.running_version()


def test_verify_names_what_is_pending(root: Path, target: SqliteTarget) -> None:
    migrate.apply(target, root=root)
    verify(target, root=root)
    write(root, 3, "add_kind", "ALTER TABLE word ADD COLUMN kind TEXT;")
    with pytest.raises(MigrationError, match="lacks V003__add_kind"):
        verify(target, root=root)
    assert [item.version for item in migrate.apply(target, root=root).applied] == [3]
    verify(target, root=root)


@pytest.mark.parametrize("action", [migrate.plan, migrate.apply, verify])
def test_a_changed_file_is_refused(root: Path, target: SqliteTarget, action: object) -> None:
    migrate.apply(target, root=root)
    write(root, 1, "create_words", "CREATE TABLE word (text TEXT NOT NULL);")
    write(root, 3, "add_kind", "ALTER TABLE word ADD COLUMN kind TEXT;")
    with pytest.raises(
        MigrationError, match=r"V001__create_words.sql is not the V001__create_words that this store ran"
    ):
        action(target, root=root)  # type: ignore[operator]
    assert len(target.history()) == 2


@pytest.mark.parametrize("action", [migrate.plan, migrate.apply, verify])
def test_a_store_of_a_newer_hlgraph_is_refused(root: Path, target: SqliteTarget, action: object) -> None:
    newer = write(root, 3, "add_kind", "ALTER TABLE word ADD COLUMN kind TEXT;")
    migrate.apply(target, root=root)
    newer.unlink()
    with pytest.raises(MigrationError, match=r"newer hlgraph .* it has V003__add_kind, .* upgrade hlgraph"):
        action(target, root=root)  # type: ignore[operator]


def test_a_history_with_a_hole_is_refused(root: Path, target: SqliteTarget) -> None:
    migrate.apply(target, root=root)
    with closing(sqlite3.connect(target.path)) as connection, connection:
        connection.execute("DELETE FROM migration WHERE version = 1")
    with pytest.raises(MigrationError, match="it holds 2"):
        migrate.plan(target, root=root)


# The embedded target


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE other (x); INSERT INTO nowhere VALUES (1);",
        "CREATE TABLE other (x PRIMARY KEY); INSERT INTO other VALUES (1), (1);",
        "CREATE TABLE other (x); INSERT INTO other VALUES (?);",
        "CREATE TABLE other (x); COMMIT; CREATE TABLE another (x);",
        "CREATE TABLE other (x); /* so */ -- or so\n pragma user_version = 3;",
        "CREATE TABLE other (x); CREATE TABLE another (x)",
    ],
)
def test_a_migration_that_fails_leaves_nothing(root: Path, target: SqliteTarget, text: str) -> None:
    write(root, 3, "break_it", text)
    with pytest.raises(MigrationError, match=r"V003__break_it.*statement"):
        migrate.apply(target, root=root)
    assert rows(target, "SELECT name FROM sqlite_master") == []
    write(root, 3, "break_it", "CREATE TABLE other (x);")
    assert len(migrate.apply(target, root=root).applied) == 3


def test_statements_end_where_sqlite_says() -> None:
    texts = [
        "-- a comment; with a semicolon\nCREATE TABLE a (x DEFAULT 'it''s; ');",
        "/* ; */ CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END;",
        'CREATE TABLE "b;" (y);',
    ]
    found = statements(migrate.Migration(1, "x", "", "\n".join([*texts, "-- the end; really", "/* ; */"])))
    assert found == texts


def test_a_migration_needs_the_lock(root: Path, target: SqliteTarget) -> None:
    with pytest.raises(MigrationError, match="needs the lock"):
        target.apply(migrate.discover("embedded", root)[0])


def test_another_writer_is_waited_for_and_then_named(root: Path, target: SqliteTarget) -> None:
    with (
        SqliteTarget(target.path).lock(),
        pytest.raises(StoreLockedError, match=re.escape(f"{root.parent}: another")) as caught,
    ):
        migrate.apply(target, root=root)
    assert caught.value.retryable
    assert len(migrate.apply(target, root=root).applied) == 2


def test_a_file_that_is_no_database_is_refused(root: Path, target: SqliteTarget) -> None:
    target.path.write_bytes(b"no database " * 1000)
    with pytest.raises(StoreCorruptError, match=re.escape(f"--store hlgraph://{target.path.parent} doctor")):
        migrate.plan(target, root=root)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that a user without rights may enter; tmp_path is closed to others."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_the_history_of_a_read_only_store_can_be_read(root: Path, public_folder: Path) -> None:
    target = SqliteTarget(public_folder / "store.db")
    migrate.apply(target, root=root)
    with closing(sqlite3.connect(target.path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert {path.name for path in public_folder.iterdir()} == {"store.db", "store.db-wiped"}
    target.path.chmod(0o444)
    public_folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:  # root may write anywhere: look with the eyes of nobody
        os.seteuid(65534)
    try:
        history = target.history()
    finally:
        os.seteuid(user)
    assert [item.version for item in history] == [1, 2]


# Several processes


def test_processes_that_race_run_each_migration_once(root: Path, target: SqliteTarget, tmp_path: Path) -> None:
    racers = [child(target.path, root, tmp_path / "gate") for _ in range(3)]
    assert [racer.stdout.readline() for racer in racers if racer.stdout] == ["ready\n"] * 3
    (tmp_path / "gate").touch()
    applied = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert sorted(applied) == [0, 0, 2]
    assert rows(target, "SELECT count(*) FROM word") == [(1,)]
    verify(target, root=root)


@pytest.mark.parametrize("already", [0, 2])
def test_a_killed_migration_leaves_the_store_as_it_was(
    root: Path, target: SqliteTarget, tmp_path: Path, already: int
) -> None:
    if already:
        migrate.apply(target, root=root)
    write(root, 3, "fill", SLOW)
    (tmp_path / "gate").touch()
    process = child(target.path, root, tmp_path / "gate")
    while not target.path.exists() or target.path.stat().st_size < 4_000_000:
        assert process.poll() is None, "the migration was over before it could be killed"
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert [item.version for item in target.history()] == [1, 2][:already]
    assert rows(target, "SELECT count(*) FROM sqlite_master WHERE name = 'big'") == [(0,)]
    assert len(migrate.apply(target, root=root).applied) == 3 - already
    assert rows(target, "SELECT count(*) FROM big") == [(40_000,)]


def test_summaries_of_communities_stay_when_those_of_sources_are_added(target: SqliteTarget, tmp_path: Path) -> None:
    home = tmp_path / "old" / "embedded"
    home.mkdir(parents=True)
    for path in sorted((REPOSITORY / "migrations" / "embedded").glob("V00[1-5]__*.sql")):
        shutil.copy(path, home)
    migrate.apply(target, root=tmp_path / "old")
    with closing(sqlite3.connect(target.path)) as connection, connection:
        connection.execute("INSERT INTO corpus (c, name, version) VALUES (1, 'c', 3)")
        connection.execute("INSERT INTO run VALUES (1, 1, 'hierarchy', 3, 'p', 2, 'by', 'stamp')")
        connection.execute("INSERT INTO community VALUES (5, 'm', 1, 0, 2, NULL)")
        connection.execute("INSERT INTO summary VALUES (7, 'id', 1, 5, 'Text.', 'hash', x'0000803f')")
        connection.execute("INSERT INTO rests_on VALUES (7, 11)")
    assert [item.label for item in migrate.apply(target).applied][:1] == ["V006__add_summaries_of_sources"]
    found = rows(target, "SELECT s, id, r, community, source, text, input_hash, hex(vector) FROM summary")
    assert found == [(7, "id", 1, 5, None, "Text.", "hash", "0000803F")]
    assert rows(target, "SELECT * FROM rests_on") == [(7, 11)]
    with closing(sqlite3.connect(target.path)) as connection, connection:
        insert = "INSERT INTO summary (id, r, community, source, text, input_hash, vector) VALUES ('x', 1, ?, ?, '', '', x'')"
        assert connection.execute(insert, (6, None)).lastrowid == 8  # a number is never given out twice
        for about in ((None, None), (9, 9)):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(insert, about)


# What was changed since the migrations ran


def test_indexes_that_are_gone_or_other_are_named_and_made_again(tmp_path: Path) -> None:
    target = SqliteTarget(tmp_path / "hlgraph.db")
    assert migrate.differences(target) == ()
    assert migrate.repair(target) == ()
    migrate.apply(target)
    assert migrate.differences(target) == ()
    with closing(sqlite3.connect(target.path)) as connection:
        (lost, _), (other, table) = connection.execute(
            "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name LIMIT 2"
        )
        connection.execute(f"DROP INDEX {lost}")
        connection.execute(f"DROP INDEX {other}")
        connection.execute(f"CREATE INDEX {other} ON {table}(abs(1))")
        connection.commit()
    found = migrate.differences(target)
    assert [(item.name, item.seen, item.is_mendable) for item in found] == [
        (lost, "index, missing", True),
        (other, "index, not as it was made", True),
    ]
    with pytest.raises(MigrationError, match=rf"{lost}: index, missing; .*run: hlgraph migrate repair"):
        verify(target)
    assert migrate.repair(target) == found
    verify(target)


def test_a_table_that_is_gone_is_named_and_cannot_be_made_again(tmp_path: Path) -> None:
    target = SqliteTarget(tmp_path / "hlgraph.db")
    migrate.apply(target)
    with closing(sqlite3.connect(target.path)) as connection:
        connection.execute("DROP TABLE journal")
        connection.commit()
    assert migrate.repair(target) == ()
    (found,) = (item for item in migrate.differences(target) if item.name == "journal")
    assert (
        str(found) == "journal: table, missing; bring a copy of the store back, or ingest the documents into a new one"
    )
