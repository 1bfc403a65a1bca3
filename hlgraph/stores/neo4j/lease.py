"""A lease on a node: an exclusive right, renewed while it is held, and checked in every write.

It is a lease and not an open transaction, because servers end long transactions. Every writing transaction first locks the
lease node and checks that the token is still its own (fencing). A writer that lost its lease, for example after a long
sleep, can therefore no longer change anything.

A lease may stand under another one: it is taken only while that one is free, in a transaction that locks both nodes, its own
first. Which leases there are is told in :mod:`hlgraph.stores.neo4j.leases`.
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
from collections.abc import Iterator

from hlgraph.errors import HLGraphError, StoreLockedError
from hlgraph.stores.neo4j.foreign_errors import LOCK_STOPPED, TIMED_OUT
from hlgraph.stores.neo4j.server import LONGEST, Row, Server, Transaction, Value
from hlgraph.stores.waiting import Patience, take_in_turn

_LOG = logging.getLogger(__name__)
SECONDS = 30
"""Seconds until a lease expires without renewal; then the lease of a process that died on another machine is free."""

WAIT = 10.0
"""Seconds to wait for the transaction of a holder whose lease has expired."""

_LEFT: set[str] = set()
"""Tokens of this process that it could not release because the server was away; it never writes with them again."""


class Lease:
    """A named lease of one database; the thread that holds it may enter it again.

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
        """Holds the lease during a block, in turn with others, see :func:`hlgraph.stores.waiting.take_in_turn`.

        Parameters
        ----------
        wait : seconds to wait while another holds it; default: one attempt

        Raises
        ------
        StoreLockedError
            Another one, which is named, held it for all of that time.
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
    def _turn(self, patience: Patience) -> Iterator[None]:
        """Holds the right to be the next holder, once it is free."""
        turn = Lease(self._server, f"turn {self.name}", seconds=self._seconds)
        patience.repeat(functools.partial(turn._take, threading.get_ident()))
        try:
            yield
        finally:
            turn._let_go()

    def check(self, transaction: Transaction) -> None:
        """Checks, in a writing transaction, that the lease is still held; then it cannot be taken until the transaction ends.

        Raises StoreLockedError when the lease is lost.
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
        """One attempt to take the lease; where ``turn`` is given, one that fails while another one waits with that lease."""
        with self._guard:
            if self._owner is not None:
                raise StoreLockedError(
                    f"{self._server.url}: another thread of this process is writing to this store; wait until it has "
                    "finished"
                )
            names = [name for name in (self.name, self._under, turn) if name]
            rows = self._server.read(lambda transaction: transaction.rows("admin/read_leases", ids=names))
            held = {str(row["id"]): row for row in rows}
            dead: list[str] = []
            for name in names:  # the holder before the one that waits: it is named
                row = held.get(name)
                if row is not None and row["is_running"]:
                    if not is_gone(row):
                        raise locked(self._server, row["holder"], seconds=self._seconds)
                    dead.append(str(row["token"]))
            self._claim(held.get(self.name), dead)
            self._owner, self._depth = me, 1
            self._ended = threading.Event()
            threading.Thread(
                target=self._renew, args=(self._token, self._ended), daemon=True, name="hlgraph-lease"
            ).start()

    def _claim(self, held: Row | None, dead: list[str]) -> None:
        """Takes the lease on the server, from holders that are dead or have let it expire."""
        start = time.monotonic()
        token, host, pid = uuid.uuid4().hex, socket.gethostname(), os.getpid()
        values: dict[str, Value] = {"id": self.name, "token": token, "host": host, "pid": pid, "dead": [token, *dead]}
        values |= {"holder": f"process {pid} on {host}", "seconds": self._seconds}
        name = "admin/take_lease"
        if self._under:
            name, values = "admin/take_lease_under", {**values, "under": self._under}
        try:
            found = self._server.write(
                lambda transaction: transaction.rows(name, **values), longest=WAIT, is_repeatable=True
            )
        except HLGraphError as error:
            _LEFT.add(token)  # the server may have it, though its answer was lost
            if held is not None and is_stuck(error, start):
                raise stuck(self._server, held["holder"]) from error
            raise
        if not found[0]["is_taken"]:
            raise locked(self._server, found[0]["holder"], seconds=self._seconds)
        self._token = token

    def _renew(self, token: str, ended: threading.Event) -> None:
        while not ended.wait(self._seconds / 3):
            try:
                held = self._server.write(
                    lambda transaction: transaction.rows(
                        "admin/renew_lease", id=self.name, token=token, seconds=self._seconds
                    ),
                    is_repeatable=True,
                )
            except HLGraphError as error:
                _LOG.warning("the right to write could not be renewed: %s", error)
                continue
            if not held:
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
    """Whether the holder of a lease will never write with it again: it is dead, or this process gave it up.

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


def is_stuck(error: HLGraphError, start: float) -> bool:
    """Whether a transaction of at most :data:`WAIT` seconds ended because another one holds the lease node.

    Parameters
    ----------
    error : what it ended with
    start : when it began, by the monotonic clock
    """
    code = getattr(error.__cause__, "code", "")
    return time.monotonic() - start >= WAIT and code in {TIMED_OUT, LOCK_STOPPED}


def stuck(server: Server, holder: object) -> StoreLockedError:
    """The error that names who stopped in the middle of a transaction.

    Parameters
    ----------
    server : the database
    holder : the holder, in words
    """
    return StoreLockedError(
        f"{server.url}: {holder} does not answer, in the middle of a transaction; end that "
        f"process, or wait until the server ends the transaction ({LONGEST:g} s)"
    )


def _is_dead(host: object, pid: object) -> bool:
    """Whether the holder was a process of this machine that no longer exists."""
    if host != socket.gethostname() or not isinstance(pid, int) or os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
