"""The directory of an embedded store: its database, the connections of readers and of the writer, and the writer's lock."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import socket
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from filelock import FileLock, Timeout

from hlgraph.errors import MigrationError, StoreClosedError, StoreError, StoreLockedError, StoreUnavailableError
from hlgraph.stores import files, migrate
from hlgraph.stores.closing import closed
from hlgraph.stores.concurrency import WITHOUT_LIMIT, LockWait, take_in_turn
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.embedded.sqlite import Sealing, add_functions, mapped, reading, sql
from hlgraph.stores.freed_bytes import Wiping, empty_log

DATABASE = "hlgraph.db"
_Identity: TypeAlias = tuple[int, int]
_DRAIN = 5_000  # milliseconds to wait for readers of older states, before bytes that they may read are overwritten
_LOOKS = 100  # at the state, before a transaction gets one of its own
_SUMS = 10_000  # seals in memory in a transaction of many parts
ONCE = 8 * 1024
"""Pages in memory of what reads or writes a whole corpus, KiB."""
_OWN_STATES = itertools.count()
_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "cache_size = -131072",
)


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
        self._readers, self._guard = Readers(), threading.RLock()
        self._writer: sqlite3.Connection | None = None
        self._sealing: Sealing | None = None
        self.wiping = Wiping(self.file)
        self._owner: int | None = None
        self._depth = self._watches = 0
        self.at_end: list[Callable[[], object]] = []  # what a writer does last, once no reader has an older state
        self._checked: int | None = None
        self._identity: _Identity | None = None
        self._watch: sqlite3.Connection | None = None
        # Not the guard, which is held while a writer truncates its log.
        self._watching, self._checking = threading.Lock(), threading.Lock()
        self._file_lock = FileLock(str(path / "writer.lock"), mode=files.FILE, timeout=0, thread_local=False)

    def exists(self) -> bool:
        """Whether the directory holds a database with a schema. Raises StoreClosedError after :meth:`close`.

        There is a file without a schema while another process makes the store, and after a kill at that moment.
        """
        self._check_open()
        with mapped(self.path):
            if not (is_there := self.file.exists()) or self._checked is not None:
                return is_there
            with self._checking:  # one thread looks, and the others wait for what it finds
                return self._checked is not None or bool(SqliteTarget(self.file).history())

    def _check_open(self) -> None:
        if self._readers.is_closed:
            raise closed(str(self.path))
        if self._readers.process != os.getpid():
            raise StoreClosedError(
                f"{self.path}: the store was opened in process {self._readers.process}, of which this one is a fork; open it "
                "again here with hlgraph.connect"
            )

    def is_replaced(self) -> bool:
        """Whether another database lies at the path than the one that this object has read, such as a restored backup.

        Raises StoreUnavailableError if none lies there: a write would begin a new store where the disk of the old one is missing.
        """
        return self._identity is not None and self._identity != _present(self.file)

    def reader(self) -> sqlite3.Connection:
        """The reading connection of this thread, which has it until :meth:`release`, or until it ends.

        Raises
        ------
        StoreError
            The store does not exist yet.
        StoreClosedError
            The store was closed, or opened before a fork.
        """
        self._check_open()
        return self._readers.lent(self._first).connection

    def _first(self) -> sqlite3.Connection:
        """A new reading connection. Raises StoreError if the store does not exist yet."""
        if not self.exists():
            raise StoreError(
                f"{self.path}: there is no store here yet; run: hlgraph --store hlgraph://{self.path} ingest PATH"
            )
        with mapped(self.path):
            return self._connect_reading()

    def select(self, name: str, query: str, *, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """The rows of a traced SELECT; none if the store does not exist yet.

        Parameters
        ----------
        name : name of the call in the trace
        query : the statement
        values : its parameters; a list is JSON text
        """
        if not self.exists():
            return []
        with reading(self.path), sql(name, query, values=values) as call:
            rows = self.reader().execute(query, values).fetchall()
            call.rows = len(rows)
        return rows

    def release(self, has_failed: bool = False) -> None:
        """Give the reading connection of this thread back, unless it reads a snapshot.

        Parameters
        ----------
        has_failed : close it: what was raised may hold a statement that reads on, and with it an old state
        """
        self._readers.release(has_failed)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[bool]:
        """All that this thread reads during the block is of one state of the database; yields True. Blocks may be nested.

        Writers go on meanwhile. They overwrite what they deleted once no reader has an older state (:meth:`drain`).
        """
        if not self.exists():
            yield True
            return
        connection = self.reader()
        lent = self._readers.lent(self._first)
        if lent.state is not None or connection.in_transaction:
            yield True
            return
        with mapped(self.path):
            lent.state = self._begun(connection)
        try:
            yield True
        finally:
            lent.state = None
            try:
                connection.execute("COMMIT")
            except sqlite3.Error:  # what was read is right; the connection may not be
                lent.drop()

    def _begun(self, connection: sqlite3.Connection) -> CommitMark:
        """Begin a reading transaction; returns the state that it reads: the same before and after the transaction began.

        On a read-only medium SQLite sees a commit at each look: then the state is one that no other transaction has.
        """
        state = self.state()
        for _ in range(_LOOKS):
            connection.execute("BEGIN")
            try:
                self._check_schema(connection)
                now = self.state()
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            if now == state:
                return state
            connection.execute("ROLLBACK")
            state = now
        connection.execute("BEGIN")
        self._check_schema(connection)  # the transaction begins with the first read
        return -1, next(_OWN_STATES)

    def state(self) -> CommitMark:
        """A value that changes as soon as any connection commits; in a snapshot, that of its state.

        Raises
        ------
        StoreError
            The store does not exist yet.
        """
        self.reader()  # checks that the store exists
        mark = self._readers.lent(self._first).state
        if mark is not None:
            return mark
        with self._watching, mapped(self.path):
            if self._watch is None:  # one connection for all threads: each connection counts changes on its own
                self._watch = self._connect_reading()
                self._watches += 1
            return self._watches, self._watch.execute("PRAGMA data_version").fetchone()[0]

    def _connect_reading(self) -> sqlite3.Connection:
        """A read-only connection; immutable on a read-only medium, where SQLite cannot create its shared memory."""
        before = _identity(self.file)
        for option in ("mode=ro", "mode=ro&immutable=1"):
            uri = f"{self.file.absolute().as_uri()}?{option}"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
            try:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            except sqlite3.OperationalError as error:
                connection.close()
                if "unable to open" not in str(error) and "readonly" not in str(error):
                    raise
                failure = error
                continue
            with contextlib.ExitStack() as refused:
                refused.callback(connection.close)
                add_functions(connection).execute("PRAGMA cache_size = -65536")
                connection.execute("PRAGMA mmap_size = 268435456")
                with self._checking:
                    # If another store was put in its place meanwhile, the connection may be to either: this object is of neither.
                    self._identity = _common(self._identity, before, _identity(self.file))
                    if self._checked is None:
                        self._check_schema(connection)
                refused.pop_all()
            return connection
        raise failure

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        """Raise MigrationError unless the schema is that of this program. It is checked again after each migration."""
        version: int = connection.execute("SELECT max(version) FROM migration").fetchone()[0]
        if version == self._checked:
            return
        plan = migrate.plan(SqliteTarget(self.file))
        if plan.pending:
            names = ", ".join(f"V{item.version:03d}" for item in plan.pending)
            raise MigrationError(
                f"{self.path}: the store needs migration {names}; run: hlgraph --store hlgraph://{self.path} migrate apply"
            )
        self._checked = version

    def create(self) -> None:
        """Create the directory and the database with the present schema; an existing store is only checked."""
        if self.is_replaced():
            raise StoreClosedError(f"{self.path}: another store was put in its place; open it again")
        with mapped(self.path):
            if not self.exists():
                files.make_folder(self.path / "vectors")
                migrate.apply(SqliteTarget(self.file))
            self._check_schema(self.reader())

    @contextlib.contextmanager
    def lock(self, *, wait: float | None = None, create: bool = True) -> Iterator[None]:
        """Hold the exclusive right to write, across processes and threads; the thread that has it may enter again.

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
                    try:
                        self._finish()
                    finally:  # the right must not stay with a writer that has ended
                        self._writer, self._sealing, self._owner = None, None, None
                        self._file_lock.release()

    @contextlib.contextmanager
    def _turn(self, wait: LockWait) -> Iterator[None]:
        """Hold the right to be the next writer, once it is free."""
        with contextlib.ExitStack() as locks:
            wait.repeat(lambda: locks.enter_context(self._next()))
            yield

    @contextlib.contextmanager
    def _next(self) -> Iterator[None]:
        """Hold the right to be the next writer. Raises StoreLockedError while another one waits."""
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

    def _finish(self) -> None:
        if self._writer is not None or (self.file.exists() and not self.wiping.is_finished):
            # Deleted data must stay neither in the log nor in files beside it; after a failure, the next writer tries again.
            with contextlib.suppress(StoreError):
                if self.drain():
                    for work in self.at_end:
                        work()
                    self.wiping.finish(self.writer())
            if self._writer is not None:
                self._writer.close()

    def writer(self) -> sqlite3.Connection:
        """The writing connection. Raises StoreError outside :meth:`lock`."""
        if self._owner != threading.get_ident():
            raise StoreError(f"{self.path}: writing needs the lock of the store; call it inside lock()")
        if self._writer is None:
            with mapped(self.path):
                connection = sqlite3.connect(self.file, isolation_level=None, timeout=30, check_same_thread=False)
                for pragma in _PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
                self._sealing = Sealing(add_functions(connection))
                self._writer = connection
        return self._writer

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction of the writer, which commits all of it or nothing; a nested block is part of it."""
        connection = self.writer()
        is_part = connection.in_transaction
        if is_part:
            yield connection
            if self._sealing is not None:
                self._sealing.flush(beyond=_SUMS)
            return
        with mapped(self.path), self.wiping.noting():
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

    def drain(self) -> bool:
        """Wait until no reader, of any process, has a state before the last commit; returns False after 5 seconds.

        A reader that begins later sees the last commit. SQLite empties its log only when all readers have left it.
        """
        connection = self.writer()
        with mapped(self.path):
            connection.execute(f"PRAGMA busy_timeout = {_DRAIN}")
            is_drained = empty_log(connection)
            connection.execute("PRAGMA busy_timeout = 30000")
        return is_drained

    def close(self) -> None:
        """Close the connections that no thread uses, and the others when they are given back.

        Whatever is asked of the store afterwards raises StoreClosedError.
        """
        if self._readers.process != os.getpid():
            return
        self._readers.close()
        with self._watching:
            if self._watch is not None:
                self._watch.close()
                self._watch = None


def _identity(file: Path) -> _Identity | None:
    """What tells a file from another one at the same path: its device and its number there; None if there is none.

    An open file keeps its number.
    """
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _common(known: _Identity | None, before: _Identity | None, after: _Identity | None) -> _Identity:
    """The file of the earlier connections and of one that was opened between two looks; ``(0, 0)``, no file, if they differ."""
    return before if before is not None and before == after and known in (None, before) else (0, 0)


def _present(file: Path) -> _Identity:
    """What tells the file of a store that was read from another one at its path; StoreUnavailableError if there is none."""
    present = _identity(file)
    if present is None:
        mend = "put it back or mount its disk, or open it again to begin a new one"
        raise StoreUnavailableError(f"{file.parent}: the store that was read here is gone; {mend}")
    return present


def _holder(note: Path) -> str:
    try:
        holder = json.loads(note.read_text())
        return f"process {holder['pid']} on {holder['host']}"
    except (OSError, ValueError, KeyError):
        return "another process"


# The reading connections of a database: a bounded number of them, which threads have in turn.


POOL: Final = 32
"""Connections that are lent at a time; a thread that finds none waits for one."""
# Seconds to wait; then one more is opened, since a thread that has one of the others may wait for this thread.
_PATIENCE = 20.0
_INHERITED: list[sqlite3.Connection] = []  # of the parent of a fork: SQLite forbids to close them here
CommitMark = tuple[int, int]
"""A state of a database, as one process sees it."""


class Lent:
    """A reading connection, as long as one thread has it: until it gives it back, or ends.

    Attributes
    ----------
    connection : the connection
    state : the state that it reads in a snapshot; None: outside of one
    """

    def __init__(self, readers: Readers, open_one: Callable[[], sqlite3.Connection]) -> None:
        self._readers = readers
        self._is_out = False
        self.state: CommitMark | None = None
        self._has_room = readers.room.acquire(timeout=_PATIENCE)
        try:
            self.connection = readers.idle.pop()
        except IndexError:
            self.connection = open_one()
        self._is_out = True

    def give_back(self) -> None:
        """Return the connection to the pool; close it if the pool is closed or full."""
        readers, is_out, has_room = self._readers, self._is_out, self._has_room
        self._is_out = self._has_room = False
        if is_out and os.getpid() != readers.process:
            _INHERITED.append(self.connection)
        elif is_out:
            readers.idle.append(self.connection)  # first, since another thread may close them at any moment
            readers.drop(down_to=0 if readers.is_closed else POOL // 2)
        if has_room:
            readers.room.release()

    def drop(self) -> None:
        """Close the connection; the thread gets another one."""
        self._is_out = False
        self.connection.close()
        self._readers.forget()
        self.give_back()

    def __del__(self) -> None:
        self.give_back()


class Readers:
    """The reading connections of a database. Thread-safe: each operation on the idle ones is atomic.

    Attributes
    ----------
    idle : those that no thread has
    room : how many more can be lent
    process : id of the process that opened them
    is_closed : set once they are closed
    """

    def __init__(self) -> None:
        self.idle: deque[sqlite3.Connection] = deque()
        self.room = threading.Semaphore(POOL)
        self.process = os.getpid()
        self.is_closed = False
        self._local = threading.local()

    def lent(self, open_one: Callable[[], sqlite3.Connection]) -> Lent:
        """The connection of this thread, which it has from its first call on.

        Parameters
        ----------
        open_one : opens a connection
        """
        lent: Lent | None = getattr(self._local, "lent", None)
        if lent is None:
            lent = self._local.lent = Lent(self, open_one)
        return lent

    def release(self, has_failed: bool = False) -> None:
        """Give the connection of this thread back, unless it reads a snapshot; see :meth:`Database.release`."""
        lent: Lent | None = getattr(self._local, "lent", None)
        if lent is None or lent.state is not None:
            return
        if has_failed:
            lent.drop()
        else:
            self.forget()
            lent.give_back()

    def forget(self) -> None:
        """Let this thread get another connection next."""
        self._local.lent = None

    def drop(self, *, down_to: int = 0) -> None:
        """Close idle connections until at most ``down_to`` are left."""
        while len(self.idle) > down_to:
            with contextlib.suppress(IndexError):  # another thread took it
                self.idle.popleft().close()

    def close(self) -> None:
        """Close the idle connections; the others are closed when they are given back."""
        self.is_closed = True
        self.release()
        self.drop()


def reading_once(database: Database) -> sqlite3.Connection:
    """The reader of this thread, from now on with few pages in memory: what reads all of a corpus needs each page once."""
    connection = database.reader()
    connection.execute(f"PRAGMA cache_size = -{ONCE}")
    return connection
