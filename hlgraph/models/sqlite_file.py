"""A SQLite file for data kept beside the stores; safe for threads, forks, and several processes on one file."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import filelock

from hlgraph.stores import files

_log = logging.getLogger(__name__)
_WAIT_SECONDS = 10.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRUNED_SHARE = 0.1
_LOG_BYTES = 4_096_000  # the log is copied into the file once it is longer
_SIDE_FILES = ("-wal", "-shm")

_Result = TypeVar("_Result")


class DiskFile:
    """A SQLite file that is created at its first use and that the caller can do without.

    A file that cannot be used (read-only, disk full) is disabled after one warning. A corrupt file is renamed to ``broken``
    and replaced by a new one. Neither raises an error.

    Parameters
    ----------
    path : the file; created at its first use, with its parent folders
    schema : SQL statements, separated by ``;``, that create its tables
    name : name of the file in warnings
    loss : for the warning: the consequence while the file cannot be used, and the remedy
    page_bytes : page size of a new file; an existing file keeps its own

    Attributes
    ----------
    broken : path to which a corrupt file is moved
    """

    def __init__(self, path: Path, schema: str, *, name: str, loss: str, page_bytes: int = 4096) -> None:
        self.path = path
        self.broken = path.with_name(f"{path.name}.broken")
        self.connection: sqlite3.Connection | None = None
        self._schema = schema
        self._name = name
        self._loss = loss
        self._page_bytes = page_bytes
        self._lock = threading.RLock()
        self._inode = 0
        self._process = os.getpid()
        self._is_disabled = False

    def attempt(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        """The result of ``action``; None if the file is busy, or cannot be used."""
        with self._lock:
            for _ in range(2):  # the second time on the file that replaces a corrupt one
                if self._is_disabled:
                    return None
                try:
                    return action(self._opened())
                except (sqlite3.Error, OSError) as error:
                    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the extended part
                    if code in _BUSY:
                        _log.info("%s %s is skipped: other processes are writing to it", self._name, self.path)
                        return None
                    if code in _CORRUPT and self._put_aside(error):
                        continue
                    self._disable(error)
            return None

    def read(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        """:meth:`attempt` on an existing file; None if there is no file, which is not created."""
        return self.attempt(action) if self.path.exists() else None

    def write(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        """The result of ``action`` in one write transaction; None if the file is busy, or cannot be used."""

        def write(connection: sqlite3.Connection) -> _Result:
            with writing(connection):
                return action(connection)

        return self.attempt(write)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            connection, self.connection = self.connection, None
            if connection is not None and self._process == os.getpid():
                connection.close()

    def __del__(self) -> None:
        """Close the file."""
        if getattr(self, "connection", None) is not None:
            self.close()

    def _opened(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            # After a fork, only one side may use or close a connection.
            _inherited.append(self.connection)
            self.connection, self._process = None, os.getpid()
        if self.connection is None:
            files.make_folder(self.path.parent)
            with self._exclusively():
                files.reserve(self.path)  # SQLite gives its other files the mode of this one
                self.connection = _connect(self.path)
                self._inode = self.path.stat().st_ino
                self._prepare(self.connection)
        return self.connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA page_size = {self._page_bytes}")  # before the first page is written
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_BYTES // self._page_bytes}").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table'").fetchone():
            with writing(connection):
                for statement in self._schema.split(";"):
                    connection.execute(statement)

    def _exclusively(self) -> filelock.BaseFileLock:
        """Lock held while the file is created or moved; reads and writes need SQLite's own locks only."""
        return filelock.FileLock(self.path.with_name(f"{self.path.name}.lock"), mode=files.FILE, timeout=_WAIT_SECONDS)

    def _put_aside(self, reason: Exception) -> bool:
        """Rename a corrupt file, unless another process has done so already; return whether a new one may be created."""
        self.close()
        try:
            with self._exclusively():
                if self.path.exists() and self.path.stat().st_ino == self._inode:
                    self.path.replace(self.broken)
                    for suffix in _SIDE_FILES:
                        self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
                    _log.warning(
                        "%s %s was corrupt (%s): it was renamed to %s, and a new one is created",
                        self._name,
                        self.path,
                        reason,
                        self.broken.name,
                    )
        except OSError:
            return False
        return True

    def _disable(self, reason: Exception) -> None:
        self.close()
        self._is_disabled = True
        _log.warning("%s %s cannot be used (%s): %s", self._name, self.path, reason, self._loss)


_inherited: list[sqlite3.Connection | None] = []


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction; it takes the write lock at its beginning, so that it never waits in the middle."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def pruned(connection: sqlite3.Connection, max_bytes: int, *, table: str, order: str) -> bool:
    """Delete the first tenth of a table if the file exceeds its limit; SQLite reuses the freed pages.

    Parameters
    ----------
    connection : the open file, inside a write transaction
    max_bytes : the limit
    table : the table, with a column ``id``
    order : columns by which the rows are ordered

    Returns
    -------
    bool
        Whether rows were deleted; call again until it is False.
    """
    if _used_bytes(connection) <= max_bytes:
        return False
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    statement = f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} ORDER BY {order} LIMIT ?)"  # noqa: S608
    connection.execute(statement, (max(1, int(count * _PRUNED_SHARE)),))
    return bool(count)


def _used_bytes(connection: sqlite3.Connection) -> int:
    """Bytes of the file in use, without its free pages."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
