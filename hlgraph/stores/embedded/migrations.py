"""The embedded store as a target of migrations: SQLite, all pending ones in one transaction."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hlgraph.errors import MigrationError
from hlgraph.stores.embedded.sqlite import mapped
from hlgraph.stores.migrate import Applied, Migration, running_version

_HISTORY = """\
CREATE TABLE IF NOT EXISTS migration (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at TEXT NOT NULL,
  hlgraph_version TEXT NOT NULL
) STRICT"""
_LEADING_COMMENTS = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
# These end or leave the transaction that makes a migration all or nothing, or do nothing inside one.
_REFUSED = {"ATTACH", "BEGIN", "COMMIT", "DETACH", "END", "PRAGMA", "RELEASE", "ROLLBACK", "SAVEPOINT", "VACUUM"}
# SQLite's word that the statement is wrong; every other error is about the file and the machine.
_WRONG_STATEMENT = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE}


def _now() -> datetime:
    return datetime.now(UTC)


class SqliteTarget:
    """The database of an embedded store.

    :meth:`lock` is SQLite's own write lock: an immediate transaction that is committed when the block ends, so that
    whatever interrupts a run, be it ``kill -9``, leaves the store as it was. Readers see the old schema until then.

    Parameters
    ----------
    path : the database file; made, with its folder, when something is applied
    clock : gives the time for the history
    lock_seconds : how long to wait for another process
    """

    kind = "embedded"

    def __init__(self, path: Path, *, clock: Callable[[], datetime] = _now, lock_seconds: float = 30.0) -> None:
        self.path = path
        self._clock = clock
        self._lock_seconds = lock_seconds
        self._writer: sqlite3.Connection | None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Begin a transaction that excludes other writers; commit it at the end of the block, drop it on an error."""
        with mapped(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with mapped(self.path), closing(self._connect("rwc")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._writer = connection
            try:
                yield
            finally:
                self._writer = None
            connection.execute("COMMIT")

    def history(self) -> list[Applied]:
        """What ran in this database, by ascending version; inside :meth:`lock` with what the block itself applied."""
        if self._writer is not None:
            return _history(self._writer)
        if not self.path.exists():
            return []
        with mapped(self.path):
            try:
                with closing(self._connect("rw")) as connection:
                    return _history(connection)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                    raise
            # A database in WAL mode on a read-only medium: SQLite cannot make its shared memory there.
            with closing(self._connect("ro&immutable=1")) as connection:
                return _history(connection)

    def apply(self, migration: Migration) -> None:
        """Run the statements of one migration, one by one, and record it; needs :meth:`lock`."""
        if self._writer is None:
            raise MigrationError(f"{self.path}: {migration.label} needs the lock; use hlgraph.stores.migrate.apply")
        for number, statement in enumerate(statements(migration), 1):
            try:
                self._writer.execute(statement)
            except (sqlite3.OperationalError, sqlite3.IntegrityError, sqlite3.ProgrammingError) as error:
                # Python's own complaints (a statement with placeholders) carry no code.
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _WRONG_STATEMENT:
                    raise
                raise MigrationError(
                    f"{self.path}: {migration.label}, statement {number}: {error};"
                    " nothing was changed, mend the migration"
                ) from error
        self._writer.execute(_HISTORY)
        applied_at = self._clock().astimezone(UTC).isoformat(timespec="seconds")
        row = (migration.version, migration.name, migration.checksum, applied_at, running_version())
        self._writer.execute("INSERT INTO migration VALUES (?, ?, ?, ?, ?)", row)

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, timeout=self._lock_seconds, isolation_level=None)


def statements(migration: Migration) -> list[str]:
    """The statements of a migration, each with its semicolon.

    Raises
    ------
    MigrationError
        When the last one is not ended, and for one that would break the migration's transaction.

    Examples
    --------
    >>> statements(Migration(1, "two", "", "CREATE TABLE a (x DEFAULT ';'); -- both\\nCREATE TABLE b (y);"))
    ["CREATE TABLE a (x DEFAULT ';');", '-- both\\nCREATE TABLE b (y);']
    """
    found: list[str] = []
    begin = end = 0
    # A semicolon ends a statement unless it stands in a string, a comment or a trigger: SQLite itself knows.
    while (end := migration.text.find(";", end) + 1) > 0:
        if sqlite3.complete_statement(migration.text[begin:end]):
            found.append(migration.text[begin:end].strip())
            begin = end
    if _code(migration.text[begin:]):
        raise MigrationError(f"{migration.label}: its last statement is not ended; write a ';' behind it")
    for number, statement in enumerate(found, 1):
        verb = re.split(r"\W", _code(statement), maxsplit=1)[0].upper()
        if verb in _REFUSED:
            raise MigrationError(
                f"{migration.label}, statement {number}: {verb} has no place in a migration, which is one transaction;"
                " leave it out"
            )
    return found


def _code(text: str) -> str:
    """The text from its first code on."""
    comments = _LEADING_COMMENTS.match(text)
    return text[comments.end() :] if comments else text


def _history(connection: sqlite3.Connection) -> list[Applied]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migration'").fetchone():
        return []
    rows = connection.execute(
        "SELECT version, name, checksum, applied_at, hlgraph_version FROM migration ORDER BY version"
    )
    return [Applied(*row) for row in rows]
