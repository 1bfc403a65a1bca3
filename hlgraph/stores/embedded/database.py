"""The directory of an embedded store: its database, the connections of readers and of the writer, and the writer's lock."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from hlgraph.errors import MigrationError, StoreClosedError, StoreError, StoreLockedError
from hlgraph.stores import files, migrate
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.embedded.sqlite import Sealing, mapped
from hlgraph.stores.waiting import WITHOUT_LIMIT, Patience, take_in_turn

DATABASE = "hlgraph.db"


class Database:
    """The directory of one store. Nothing is created before the first write; readers see the last commit during one.

    Parameters
    ----------
    path : the directory
    wait : seconds to wait for the right to write while another writer has it; default: without limit
    """

    def __init__(self, path: Path, *, wait: float = WITHOUT_LIMIT) -> None:
        self.path = path
        self._wait = wait
        self.file = path / DATABASE
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._guard = threading.RLock()
        self._writer: sqlite3.Connection | None = None
        self._sealing: Sealing | None = None
        self._owner: int | None = None
        self._depth = 0
        self._is_checked = False
        self._is_closed = False
        self._watch: sqlite3.Connection | None = None
        self._watches = 0
        self._watching = threading.Lock()  # not the guard, which is held while a writer truncates its log
        self._file_lock = FileLock(str(path / "writer.lock"), mode=files.FILE, timeout=0, thread_local=False)

    def exists(self) -> bool:
        """Whether the directory holds a database with a schema. Raises StoreClosedError after :meth:`close`.

        There is a file without a schema while another process makes the store, and after a kill at that moment.
        """
        self._check_open()
        if self._is_checked or not self.file.exists():
            return self.file.exists()
        with mapped(self.path):
            return bool(SqliteTarget(self.file).history())

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreClosedError(f"{self.path}: the store was closed; open it again")

    def reader(self) -> sqlite3.Connection:
        """The reading connection of this thread. Raises StoreError if the store does not exist yet."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is not None:
            return found
        if not self.exists():
            raise StoreError(
                f"{self.path}: there is no store here yet; run: hlgraph --store hlgraph://{self.path} ingest PATH"
            )
        with mapped(self.path):
            connection = self._connect_reading()
            self._check_schema()
        self._local.connection = connection
        with self._guard:
            self._open.append(connection)
        return connection

    def state(self) -> tuple[int, int]:
        """A value that changes as soon as any connection commits. Raises StoreError if the store does not exist yet."""
        self.reader()  # checks that the store exists, and its schema
        with self._watching, mapped(self.path):
            if self._watch is None:  # one connection for all threads: each connection counts changes on its own
                self._watch = self._connect_reading()
                self._watches += 1
            return self._watches, self._watch.execute("PRAGMA data_version").fetchone()[0]

    def _connect_reading(self) -> sqlite3.Connection:
        """A read-only connection; immutable on a read-only medium, where SQLite cannot create its shared memory."""
        for option in ("mode=ro", "mode=ro&immutable=1"):
            connection = sqlite3.connect(
                f"{self.file.absolute().as_uri()}?{option}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=30,
            )
            try:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            except sqlite3.OperationalError as error:
                connection.close()
                if "unable to open" not in str(error) and "readonly" not in str(error):
                    raise
                failure = error
                continue
            connection.execute("PRAGMA cache_size = -65536")
            connection.execute("PRAGMA mmap_size = 268435456")
            return connection
        raise failure

    def _check_schema(self) -> None:
        if self._is_checked:
            return
        plan = migrate.plan(SqliteTarget(self.file))
        if plan.pending:
            names = ", ".join(f"V{item.version:03d}" for item in plan.pending)
            raise MigrationError(
                f"{self.path}: the store needs migration {names}; run: hlgraph --store hlgraph://{self.path} migrate apply"
            )
        self._is_checked = True

    def create(self) -> None:
        """Creates the directory and the database with the present schema; only checks an existing store."""
        with mapped(self.path):
            target = SqliteTarget(self.file)
            if not self.exists():
                files.make_folder(self.path / "vectors")
                migrate.apply(target)
            self._check_schema()

    @contextlib.contextmanager
    def lock(self, *, wait: float | None = None, create: bool = True) -> Iterator[None]:
        """Holds the exclusive right to write, across processes and threads; the thread that has it may enter again.

        Parameters
        ----------
        wait : seconds to wait while another writer has it; None: those of this object
        create : make the store, or check its schema; False: for those who change the schema

        Raises
        ------
        StoreLockedError
            Another writer had it for all of that time.
        """
        me = threading.get_ident()
        with self._guard:
            is_mine = self._owner == me
            self._depth += is_mine
        if not is_mine:
            seconds = self._wait if wait is None else wait
            try:
                with self._next() if seconds else contextlib.nullcontext():
                    self._take(me, create)
            except StoreLockedError:
                if not seconds:
                    raise
                take_in_turn(functools.partial(self._take, me, create), turn=self._turn, seconds=seconds)
        try:
            yield
        finally:
            with self._guard:
                self._depth -= 1
                if self._depth == 0:
                    self._let_go()

    @contextlib.contextmanager
    def _turn(self, patience: Patience) -> Iterator[None]:
        """Holds the right to be the next writer, once it is free."""
        with contextlib.ExitStack() as held:
            patience.repeat(lambda: held.enter_context(self._next()))
            yield

    @contextlib.contextmanager
    def _next(self) -> Iterator[None]:
        """Holds the right to be the next writer. Raises StoreLockedError while another one waits."""
        self._check_open()
        lock = FileLock(str(self.path / "turn.lock"), mode=files.FILE, timeout=0, thread_local=False)
        with mapped(self.path):
            files.make_folder(self.path)
            try:
                lock.acquire()
            except Timeout:
                raise self._locked() from None
        try:
            yield
        finally:
            lock.release()

    def _locked(self) -> StoreLockedError:
        holder = _holder(self.path / "writer.json")
        return StoreLockedError(
            f"{self.path}: {holder} is writing to this store; wait until it has finished, or stop it"
        )

    def _take(self, me: int, create: bool) -> None:
        self._check_open()
        note = self.path / "writer.json"
        with self._guard, mapped(self.path):
            if self._owner is not None:
                raise StoreLockedError(
                    f"{self.path}: another thread of this process is writing to this store; wait until it has finished"
                )
            files.make_folder(self.path)
            try:
                self._file_lock.acquire()
            except Timeout:
                raise self._locked() from None
            try:
                files.reserve(note)
                note.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
                if create:
                    self.create()
            except BaseException:
                self._file_lock.release()
                raise
            self._owner, self._depth = me, 1

    def _let_go(self) -> None:
        if self._writer is not None:
            # Deleted data must not stay in the log; after a failure, the next writer tries again.
            with contextlib.suppress(sqlite3.Error):
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._writer.close()
            self._writer = self._sealing = None
        self._owner = None
        self._file_lock.release()

    def writer(self) -> sqlite3.Connection:
        """The writing connection. Raises StoreError outside :meth:`lock`."""
        if self._owner != threading.get_ident():
            raise StoreError(f"{self.path}: writing needs the lock of the store; call it inside lock()")
        if self._writer is None:
            with mapped(self.path):
                connection = sqlite3.connect(self.file, isolation_level=None, timeout=30, check_same_thread=False)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute("PRAGMA cache_size = -131072")
                self._sealing = Sealing(connection)
                self._writer = connection
        return self._writer

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Runs a block as one transaction of the writer, which commits all of it or nothing."""
        connection = self.writer()
        with mapped(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                if self._sealing is not None:
                    self._sealing.flush()
                connection.execute("COMMIT")
            except BaseException:
                if self._sealing is not None:
                    self._sealing.clear()
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Closes all connections; whatever is asked of the store afterwards raises StoreClosedError."""
        self._is_closed = True
        with self._guard:
            for connection in self._open:
                connection.close()
            self._open.clear()
            self._local = threading.local()
        with self._watching:
            if self._watch is not None:
                self._watch.close()
                self._watch = None


def _holder(note: Path) -> str:
    try:
        found = json.loads(note.read_text())
        return f"process {found['pid']} on {found['host']}"
    except (OSError, ValueError, KeyError):
        return "another process"
