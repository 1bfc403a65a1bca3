"""The embedded store as a migration target: SQLite, with all pending migrations in one transaction."""

from __future__ import annotations

import functools
import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple

from hlgraph import progress
from hlgraph.errors import MigrationError
from hlgraph.stores import files
from hlgraph.stores.embedded.sqlite import add_functions, mapped, split, totals, without_comments, write_seals
from hlgraph.stores.embedded.text_rows import entries, index_rows, packed_entries, packed_texts
from hlgraph.stores.freed_bytes import Wiping
from hlgraph.stores.migrate import Applied, Difference, Migration, MigrationTarget

_SHADOWS = ("data", "idx", "content", "docsize", "config")  # what FTS5 keeps a table in
_INDEXED = 20_000  # rows that are indexed together
_HISTORY = """\
CREATE TABLE IF NOT EXISTS migration (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at TEXT NOT NULL,
  hlgraph_version TEXT NOT NULL
) STRICT"""
# Statements that would end or leave the transaction of a migration, or have no effect inside one.
_REFUSED = {"ATTACH", "BEGIN", "COMMIT", "DETACH", "END", "PRAGMA", "RELEASE", "ROLLBACK", "SAVEPOINT", "VACUUM"}
# Error codes of a wrong statement; every other error concerns the file or the machine.
_WRONG_STATEMENT = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE}


class SqliteTarget(MigrationTarget):
    """The database of an embedded store.

    :meth:`lock` is SQLite's own write lock: an immediate transaction that commits when the block ends. Any interruption,
    even ``kill -9``, therefore leaves the store unchanged. Readers see the old schema until the commit.

    Parameters
    ----------
    path : the database file; created, with its folder, when a migration is applied
    lock_seconds : maximum time to wait for another process, in seconds
    """

    kind = "embedded"

    def __init__(self, path: Path, *, lock_seconds: float = 30.0) -> None:
        self.path = path
        self._lock_seconds = lock_seconds
        self._writer: sqlite3.Connection | None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Run a block as a transaction that excludes other writers; it commits at its end and rolls back on an error."""
        with mapped(self.path.parent):
            files.make_folder(self.path.parent)
            files.reserve(self.path)  # SQLite gives its other files the mode of this one
        wiping = Wiping(self.path)
        with mapped(self.path.parent), closing(self._connect("rwc")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._writer = connection
            try:
                yield
            finally:
                self._writer = None
            # A migration may have written rows, and the rows before it may be older than checksums.
            if connection.total_changes:
                _seal(connection, self.path.parent)
                _index_words(connection)
                wiping.distrust()
            connection.execute("COMMIT")
            if not wiping.is_finished:
                wiping.finish(connection)

    def history(self) -> list[Applied]:
        """The migrations that ran in this database, by ascending version; inside :meth:`lock` with those just applied."""
        if self._writer is not None:
            return _history(self._writer)
        if not self.path.exists():
            return []
        with mapped(self.path.parent):
            try:
                with closing(self._connect("rw")) as connection:
                    return _history(connection)
            except sqlite3.OperationalError as error:
                # Errors of Python itself (text that is not UTF-8) carry no code.
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (
                    sqlite3.SQLITE_CANTOPEN,
                    sqlite3.SQLITE_READONLY,
                ):
                    raise
            # A database in WAL mode on a read-only medium, where SQLite cannot create its shared memory.
            with closing(self._connect("ro&immutable=1")) as connection:
                return _history(connection)

    def apply(self, migration: Migration) -> None:
        """Run the statements of one migration in order, and record it. Needs :meth:`lock`."""
        if self._writer is None:
            raise MigrationError(f"{self.path}: {migration.label} needs the lock; use hlgraph.stores.migrate.apply")
        for number, statement in enumerate(statements(migration), 1):
            try:
                self._writer.execute(statement)
            except (sqlite3.OperationalError, sqlite3.IntegrityError, sqlite3.ProgrammingError) as error:
                # Errors of Python itself (a statement with placeholders) carry no code.
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _WRONG_STATEMENT:
                    raise
                raise MigrationError(
                    f"{self.path}: {migration.label}, statement {number}: {error};"
                    " nothing was changed, correct the migration"
                ) from error
        self._record(migration)

    def apply_all(self, pending: Sequence[Migration]) -> None:
        """Run migrations in order. Needs :meth:`lock`.

        An empty database gets their result at once, which each process works out once: a third of the time.
        """
        if self._writer is None or _schema(self._writer) or (result := _result_on_nothing(tuple(pending))) is None:
            super().apply_all(pending)
            return
        result.write(self._writer)
        for migration in pending:
            self._record(migration)
        progress.advance("migrate", len(pending))

    def _record(self, migration: Migration) -> None:
        if self._writer is not None:
            self._writer.execute(_HISTORY)
            self._writer.execute("INSERT INTO migration VALUES (?, ?, ?, ?, ?)", astuple(Applied.now(migration)))

    def differences(self, ran: Sequence[Migration]) -> list[Difference]:
        """Tables, indexes and triggers that are missing or other than the migrations make them; a table cannot be mended."""
        wanted = _result(tuple(ran)).schema
        with (
            mapped(self.path.parent),
            nullcontext(self._writer) if self._writer else closing(self._connect("rw")) as connection,
        ):
            stored = _schema(connection)
        differences: list[Difference] = []
        for key, text in sorted(wanted.items()):
            form, name = key
            if stored.get(key) != text:
                seen = f"{form}, missing" if key not in stored else f"{form}, not as it was made"
                if form == "table":
                    seen += "; bring a copy of the store back, or ingest the documents into a new one"
                differences.append(Difference(name, seen, is_mendable=form != "table"))
        return differences

    def mend(self, found: Sequence[Difference], ran: Sequence[Migration]) -> None:
        """See :class:`MigrationTarget`. Makes indexes and triggers again."""
        if self._writer is None:
            raise MigrationError(f"{self.path}: a repair needs the lock; use hlgraph.stores.migrate.repair")
        wanted = {name: (form, text) for (form, name), text in _result(tuple(ran)).schema.items()}
        for item in found:
            form, text = wanted[item.name]
            self._writer.execute(f'DROP {form} IF EXISTS "{item.name}"')
            self._writer.execute(text)

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=self._lock_seconds, isolation_level=None)
        connection.execute("PRAGMA secure_delete = ON")  # a table that is dropped leaves nothing in free pages
        _add_functions(connection)
        return connection


class _PackedTexts:
    """An aggregate of SQL: the block of the entries of some rows."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def step(self, n: int, text: str) -> None:
        """Add a row."""
        self._texts[n] = text

    def finalize(self) -> bytes:
        """The block."""
        return packed_texts(self._texts)


def _add_functions(connection: sqlite3.Connection) -> None:
    """The functions that migrations call."""
    add_functions(connection)
    connection.create_function("hlgraph_entries", 1, packed_entries, deterministic=True)
    # Its type says that an aggregate is of numbers.
    connection.create_aggregate("hlgraph_words", 2, _PackedTexts)  # type: ignore[arg-type]


def _seal(connection: sqlite3.Connection, folder: Path) -> None:
    """Seal what a migration wrote, and what is older than checksums: rows of vectors without one, and all records."""
    from hlgraph.stores.embedded.vector_files import matrix_path

    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'seal'").fetchone():
        return
    connection.execute("DELETE FROM seal")
    write_seals(connection, totals(connection))
    for file, generation, dimensions in connection.execute("SELECT file, generation, dimensions FROM vector_file"):
        path = matrix_path(folder, file, generation=generation)
        if not path.exists():
            continue
        width = 4 * dimensions
        rows = connection.execute("SELECT n, slot FROM vector WHERE file = ? AND checksum = 0", (file,)).fetchall()
        with path.open("rb") as matrix:
            for n, slot in rows:
                matrix.seek(slot * width)
                connection.execute("UPDATE vector SET checksum = ? WHERE n = ?", (zlib.crc32(matrix.read(width)), n))


def _index_words(connection: sqlite3.Connection) -> None:
    """Index the words of rows that an older hlgraph stored in FTS5, and drop those tables."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for name in sorted(name for name in tables if re.fullmatch(r"text_\d+", name)):
        if f"{name}_content" in tables:
            file = int(name.removeprefix("text_"))
            rows = connection.execute(
                f"SELECT v.n, t.c0 FROM {name}_content AS t JOIN vector AS v ON v.n = t.id WHERE v.file = ?", (file,)
            )
            while batch := rows.fetchmany(_INDEXED):
                texts = entries([text for _, text in batch])
                index_rows(connection, file, rows=[(n, text) for (n, _), text in zip(batch, texts, strict=True)])
        # A table of FTS5 of which a part is missing cannot be dropped as a whole.
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = ? AND type = 'table'", (name,))
        connection.execute("PRAGMA writable_schema = RESET")  # reads the schema again
        for shadow in _SHADOWS:
            connection.execute(f"DROP TABLE IF EXISTS {name}_{shadow}")


class _Result(NamedTuple):
    """What migrations make of an empty database.

    Attributes
    ----------
    schema : see :func:`_schema`
    tables : the statements that create the tables, in order
    rows : the rows in them, each with the statement that inserts it
    others : the statements that create indexes, views and triggers, in order
    """

    schema: dict[tuple[str, str], str]
    tables: list[str]
    rows: list[tuple[str, tuple[object, ...]]]
    others: list[str]

    def write(self, connection: sqlite3.Connection) -> None:
        """Make the same in an empty database; triggers come last, since the rows are what they left."""
        for statement in self.tables:
            connection.execute(statement)
        for statement, values in self.rows:
            connection.execute(statement, values)
        for statement in self.others:
            connection.execute(statement)


def _result_on_nothing(migrations: tuple[Migration, ...]) -> _Result | None:
    """What migrations make of an empty database; None if they are not all, or one fails: then it is run to say where."""
    if not migrations or migrations[0].version != 1:
        return None
    try:
        return _result(migrations)
    except sqlite3.Error:
        return None


@functools.lru_cache(maxsize=4)
def _result(ran: tuple[Migration, ...]) -> _Result:
    """What these migrations make, found in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _add_functions(connection)
        for migration in ran:
            for statement in statements(migration):
                connection.execute(statement)
        everything: list[tuple[str, str, str]] = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        ).fetchall()
        own = [(form, name, text) for form, name, text in everything if not name.startswith("sqlite_")]
        names = [name for form, name, _ in own if form == "table"]
        rows = [row for name in names for row in _rows(connection, name)]
        if len(own) < len(everything):  # sequences; to insert rows counts some of them on
            rows += [("DELETE FROM sqlite_sequence", ()), *_rows(connection, "sqlite_sequence")]
        return _Result(
            _schema(connection),
            [text for form, _, text in own if form == "table"],
            rows,
            [text for form, _, text in own if form != "table"],
        )


def _rows(connection: sqlite3.Connection, table: str) -> list[tuple[str, tuple[object, ...]]]:
    """The rows of a table, each with the statement that inserts it."""
    columns = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    named = ", ".join(f'"{name}"' for name in columns)
    insert = f'INSERT INTO "{table}" ({named}) VALUES ({", ".join("?" * len(columns))})'
    return [(insert, row) for row in connection.execute(f'SELECT {named} FROM "{table}"')]


def _schema(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """The text of each table, index and trigger by kind and name, without those that SQLite makes by itself."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(form, name): " ".join(text.split()) for form, name, text in rows}


def statements(migration: Migration) -> list[str]:
    """The statements of a migration, each with its semicolon.

    Raises
    ------
    MigrationError
        The last statement has no semicolon, or a statement would break the transaction of the migration.

    Examples
    --------
    >>> statements(Migration(1, "two", "", "CREATE TABLE a (x DEFAULT ';'); -- both\\nCREATE TABLE b (y);"))
    ["CREATE TABLE a (x DEFAULT ';');", '-- both\\nCREATE TABLE b (y);']
    """
    parts, rest = split(migration.text)
    if without_comments(rest):
        raise MigrationError(f"{migration.label}: its last statement is not terminated; add a ';' after it")
    for number, statement in enumerate(parts, 1):
        verb = re.split(r"\W", without_comments(statement), maxsplit=1)[0].upper()
        if verb in _REFUSED:
            raise MigrationError(
                f"{migration.label}, statement {number}: {verb} is not allowed, because a migration is one transaction;"
                " remove it"
            )
    return parts


def _history(connection: sqlite3.Connection) -> list[Applied]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migration'").fetchone():
        return []
    rows = connection.execute(
        "SELECT version, name, checksum, applied_at, hlgraph_version FROM migration ORDER BY version"
    )
    return [Applied(*row) for row in rows]
