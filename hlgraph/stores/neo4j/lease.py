"""Write leases: exclusive rights stored in nodes, renewed while they are held, and checked in every write.

A lease is used instead of an open transaction, because servers end long transactions. Every writing transaction first locks
the lease node and checks that the token is still its own (fencing). A writer that lost its lease, for example after a long
sleep, can therefore no longer change anything.

A lease may be subordinate to another one: it can be acquired only while the other is free, in a transaction that locks both
nodes, its own first.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TypeVar

from hlgraph.errors import HLGraphError, StoreLockedError
from hlgraph.stores.concurrency import WITHOUT_LIMIT, LockWait, take_in_turn
from hlgraph.stores.neo4j.server import LOCK_STOPPED, LONGEST, TIMED_OUT, Row, Server, Transaction

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
SECONDS = 30
"""Seconds until a lease expires without renewal, which frees the lease of a process that died on another machine."""

WAIT = 10.0
"""Seconds to wait for an open transaction of a holder whose lease has expired."""

_LEFT: set[str] = set()
"""Tokens that this process could not release because the server was unavailable; it never writes with them again."""


class Lease:
    """A named, reentrant lease of one database.

    Parameters
    ----------
    server : the database
    name : name of the lease
    under : name of the lease that must be free; empty: none
    seconds : time until it expires without renewal
    """

    def __init__(self, server: Server, name: str, *, under: str = "", seconds: int = SECONDS) -> None:
        self.name = name
        self._server = server
        self._under = under
        self._seconds = seconds
        self._guard = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        self._token = ""
        self._ended = threading.Event()

    @contextlib.contextmanager
    def held(self, *, wait: float = 0.0) -> Iterator[None]:
        """Hold the lease during a block; waiting writers get it in turn (:func:`hlgraph.stores.concurrency.take_in_turn`).

        Parameters
        ----------
        wait : seconds to wait while another holds it; default: one attempt

        Raises
        ------
        StoreLockedError
            Another holder, which the message names, kept it for all of that time.
        """
        me = threading.get_ident()
        with self._guard:
            is_mine = self._owner == me
            self._depth += is_mine
        if not is_mine:
            try:
                self._take(me, turn=f"turn {self.name}" if wait else "")
            except StoreLockedError:
                if not wait:
                    raise
                take_in_turn(functools.partial(self._take, me), turn=self._turn, seconds=wait)
        try:
            yield
        finally:
            with self._guard:
                self._depth -= 1
                if self._depth == 0:
                    self._let_go()

    @contextlib.contextmanager
    def _turn(self, wait: LockWait) -> Iterator[None]:
        """Hold the right to acquire the lease next."""
        turn = Lease(self._server, f"turn {self.name}", seconds=self._seconds)
        wait.repeat(functools.partial(turn._take, threading.get_ident()))
        try:
            yield
        finally:
            turn._let_go()

    def check(self, transaction: Transaction) -> None:
        """Check, in a writing transaction, that the lease is still held, and lock it until the transaction ends.

        Raises StoreLockedError if the lease was lost.
        """
        if self._owner != threading.get_ident():
            raise StoreLockedError(
                f"{self._server.url}: writing needs the lock of the store; call it inside lock()", retryable=False
            )
        if not transaction.rows("admin/renew_lease", id=self.name, token=self._token, seconds=self._seconds):
            raise StoreLockedError(
                f"{self._server.url}: the right to write was lost to another process (this one did not answer for "
                f"{self._seconds} s); run the same command again"
            )

    def _take(self, me: int, turn: str = "") -> None:
        """Try to acquire the lease once; with ``turn``, fail while another writer holds that turn."""
        with self._guard:
            if self._owner is not None:
                raise StoreLockedError(
                    f"{self._server.url}: another thread of this process is writing to this store; wait until it has "
                    "finished"
                )
            names = [name for name in (self.name, self._under, turn) if name]
            rows = self._server.read(lambda transaction: transaction.rows("admin/read_leases", ids=names))
            leases = {row["id"]: row for row in rows}
            # The holder comes before the waiting writer, so the error names the holder.
            running = [leases[name] for name in names if name in leases and leases[name]["is_running"]]
            for row in running:
                if not is_gone(row):
                    raise locked(self._server, row["holder"], seconds=self._seconds)
            self._claim(leases.get(self.name, {}).get("holder"), dead=[row["token"] for row in running])
            self._owner, self._depth = me, 1
            self._ended = threading.Event()
            threading.Thread(
                target=self._renew, args=(self._token, self._ended), daemon=True, name="hlgraph-lease"
            ).start()

    def _claim(self, holder: str | None, *, dead: list[str]) -> None:
        """Acquire the lease on the server; ``dead`` lists the tokens of dead holders."""
        token, host, pid = uuid.uuid4().hex, socket.gethostname(), os.getpid()
        values: Row = {"id": self.name, "token": token, "host": host, "pid": pid, "dead": [token, *dead]}
        values |= {"holder": f"process {pid} on {host}", "seconds": self._seconds}
        try:
            if self._under:
                rows = change_lease(
                    self._server, "admin/take_lease_under", params={**values, "under": self._under}, holder=holder
                )
            else:
                rows = change_lease(self._server, "admin/take_lease", params=values, holder=holder)
        except HLGraphError:
            _LEFT.add(token)  # the server may have granted it, although its reply was lost
            raise
        if not rows[0]["is_taken"]:
            raise locked(self._server, rows[0]["holder"], seconds=self._seconds)
        self._token = token

    def _renew(self, token: str, ended: threading.Event) -> None:
        while not ended.wait(self._seconds / 3):
            try:
                rows = self._server.write(
                    lambda transaction: transaction.rows(
                        "admin/renew_lease", id=self.name, token=token, seconds=self._seconds
                    ),
                    is_repeatable=True,
                )
            except HLGraphError as error:
                _LOG.warning("the right to write could not be renewed: %s", error)
                continue
            if not rows:
                _LOG.warning("the right to write to %s was lost", self._server.url)
                return

    def _let_go(self) -> None:
        self._ended.set()
        token, self._owner, self._token = self._token, None, ""
        try:
            self._server.write(
                lambda transaction: transaction.rows("admin/drop_lease", id=self.name, token=token), is_repeatable=True
            )
        except HLGraphError as error:  # the outcome of the work is already known, and the lease expires by itself
            _LEFT.add(token)
            _LOG.warning("the right to write could not be released, it expires in %s s: %s", self._seconds, error)


def is_gone(row: Row) -> bool:
    """Whether the holder of a lease will never write with it again: it is dead, or this process abandoned the lease.

    Parameters
    ----------
    row : the lease, see ``admin/read_leases``
    """
    return row["token"] in _LEFT or _is_dead(row["host"], row["pid"])


def locked(server: Server, holder: object, *, seconds: int) -> StoreLockedError:
    """The error that names who holds a lease.

    Parameters
    ----------
    server : the database
    holder : the holder, in words
    seconds : time until the lease expires without renewal
    """
    return StoreLockedError(
        f"{server.url}: {holder} is writing to this store; wait until it has finished, or stop it "
        f"(its right to write expires {seconds} s after it died)"
    )


def change_lease(server: Server, name: str, *, params: Row, holder: str | None) -> list[Row]:
    """Run an idempotent query that writes to a lease node, and return its rows.

    Parameters
    ----------
    server : the database
    name : name of the query
    params : its parameters
    holder : the last holder of the lease, in words

    Raises
    ------
    StoreLockedError
        The holder stopped in the middle of a transaction, which still locks the node.
    """
    start = time.monotonic()
    try:
        return server.write(lambda transaction: transaction.rows(name, **params), longest=WAIT, is_repeatable=True)
    except HLGraphError as error:
        is_stuck = getattr(error.__cause__, "code", "") in {TIMED_OUT, LOCK_STOPPED}
        if holder is None or not is_stuck or time.monotonic() - start < WAIT:
            raise
        raise StoreLockedError(
            f"{server.url}: {holder} does not answer, in the middle of a transaction; end that "
            f"process, or wait until the server ends the transaction ({LONGEST:g} s)"
        ) from error


def _is_dead(host: str, pid: int) -> bool:
    """Whether the holder was a process of this machine that no longer exists."""
    if host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


# Each corpus has a lease, and so has the database. The lease of a corpus can be acquired only while that of the database is
# free. The database is locked in two steps: its lease is acquired, after which no lease of a corpus can be; then the writer
# waits until all leases of corpora are free.


DATABASE = "writer"
"""The lease of the database."""
_OF_CORPUS = "corpus "


def lease_of(corpus: str) -> str:
    """The name of the lease of a corpus."""
    return f"{_OF_CORPUS}{corpus}"


class Leases:
    """The write leases of this process on a database.

    Parameters
    ----------
    server : the database
    wait : seconds to wait for a lease; default: no limit
    """

    def __init__(self, server: Server, *, wait: float = WITHOUT_LIMIT) -> None:
        self._server = server
        self._wait = wait
        self._guard = threading.Lock()
        self._made: dict[str, Lease] = {}
        self._held = threading.local()

    @contextlib.contextmanager
    def held(self, corpus: str | None, *, wait: float | None = None) -> Iterator[None]:
        """Hold the lease of a corpus, or of the whole database; see :meth:`GraphStore.lock`.

        Parameters
        ----------
        corpus : the corpus; None: all
        wait : seconds to wait; None: the default of this object
        """
        name = DATABASE if corpus is None else lease_of(corpus)
        outer: Lease | None = getattr(self._held, "lease", None)
        if outer is not None:
            if outer.name not in (DATABASE, name):
                raise StoreLockedError(
                    f"{self._server.url}: this thread has the right to write to another corpus; leave that lock() first",
                    retryable=False,
                )
            yield
            return
        seconds = self._wait if wait is None else wait
        with self._lease(name).held(wait=seconds):
            if corpus is None:
                self._wait_for_writers(LockWait(seconds))
            self._held.lease = self._lease(name)
            try:
                yield
            finally:
                self._held.lease = None

    def check(self, transaction: Transaction, corpus: str | None = None) -> None:
        """Check, in a writing transaction, that this thread still holds its lease; see :meth:`Lease.check`.

        Parameters
        ----------
        transaction : the writing transaction
        corpus : the corpus that it writes to; None: the one that is locked

        Raises
        ------
        StoreLockedError
            The lease was lost, or belongs to another corpus.
        """
        lease: Lease | None = getattr(self._held, "lease", None)
        if lease is None or (corpus is not None and lease.name not in (DATABASE, lease_of(corpus))):
            raise StoreLockedError(
                f"{self._server.url}: writing needs the lock of the store; call it inside lock()", retryable=False
            )
        lease.check(transaction)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run a function in one writing transaction, after :meth:`check`; see :meth:`Server.write`."""

        def checked(transaction: Transaction) -> T:
            self.check(transaction)
            return work(transaction)

        return self._server.write(checked)

    def _lease(self, name: str) -> Lease:
        with self._guard:
            if name not in self._made:
                self._made[name] = Lease(self._server, name, under="" if name == DATABASE else DATABASE)
            return self._made[name]

    def _wait_for_writers(self, wait: LockWait) -> None:
        """Wait until no corpus has a writer."""

        def look() -> None:
            rows = self._server.read(lambda transaction: transaction.rows("admin/list_leases", prefix=_OF_CORPUS))
            for row in rows:
                is_dead = is_gone(row)
                if row["is_running"] and not is_dead:
                    raise locked(self._server, row["holder"], seconds=SECONDS)
                params = {"id": row["id"], "token": row["token"], "is_dead": is_dead}
                change_lease(self._server, "admin/free_lease", params=params, holder=row["holder"])

        wait.repeat(look)
