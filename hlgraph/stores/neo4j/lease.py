"""The exclusive right to write to a database: a lease on a node, renewed while it is held, and checked in every write.

It is a lease and not an open transaction, because servers end long transactions. Every writing transaction first locks the
lease node and checks that the token is still its own (fencing). A writer that lost its lease, for example after a long
sleep, can therefore no longer change anything.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator

from hlgraph.errors import HLGraphError, StoreLockedError
from hlgraph.stores.neo4j.foreign_errors import LOCK_STOPPED, TIMED_OUT
from hlgraph.stores.neo4j.server import LONGEST, Server, Transaction

_LOG = logging.getLogger(__name__)
SECONDS = 30
"""Seconds until a lease expires without renewal; then the lease of a process that died on another machine is free."""

_WAIT = 10.0
"""Seconds to wait for the transaction of a holder whose lease has expired."""

_LEFT: set[str] = set()
"""Tokens of this process that it could not release because the server was away; it never writes with them again."""


class Lease:
    """A named lease of one database; the thread that holds it may enter it again.

    Parameters
    ----------
    server : the database
    name : name of the lease
    seconds : time until it expires without renewal
    """

    def __init__(self, server: Server, name: str, *, seconds: int = SECONDS) -> None:
        self._server = server
        self._name = name
        self._seconds = seconds
        self._guard = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        self._token = ""
        self._ended = threading.Event()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lease during a block. Raises StoreLockedError, naming the holder, without waiting."""
        me = threading.get_ident()
        with self._guard:
            if self._owner == me:
                self._depth += 1
            else:
                self._take(me)
        try:
            yield
        finally:
            with self._guard:
                self._depth -= 1
                if self._depth == 0:
                    self._let_go()

    def check(self, transaction: Transaction) -> None:
        """Checks, in a writing transaction, that the lease is still held; then it cannot be taken until the transaction ends.

        Raises StoreLockedError when the lease is lost.
        """
        if self._owner != threading.get_ident():
            raise StoreLockedError(
                f"{self._server.url}: writing needs the lock of the store; call it inside lock()", retryable=False
            )
        if not transaction.rows("admin/renew_lease", id=self._name, token=self._token, seconds=self._seconds):
            raise StoreLockedError(
                f"{self._server.url}: the right to write was lost to another process (this one did not answer for "
                f"{self._seconds} s); run the same command again"
            )

    def _take(self, me: int) -> None:
        if self._owner is not None:
            raise StoreLockedError(
                f"{self._server.url}: another thread of this process is writing to this store; wait until it has finished"
            )
        held = self._server.read(lambda transaction: transaction.rows("admin/read_lease", id=self._name))
        dead = ""
        if held:
            row = held[0]
            if row["is_running"]:
                dead = str(row["token"])
                if dead not in _LEFT and not _is_dead(row["host"], row["pid"]):
                    raise self._locked(row["holder"])
        start = time.monotonic()
        token, host, pid = uuid.uuid4().hex, socket.gethostname(), os.getpid()
        holder = f"process {pid} on {host}"
        try:
            found = self._server.write(
                lambda transaction: transaction.rows(
                    "admin/take_lease",
                    id=self._name,
                    token=token,
                    holder=holder,
                    host=host,
                    pid=pid,
                    seconds=self._seconds,
                    dead=dead,
                ),
                longest=_WAIT,
            )
        except HLGraphError as error:
            _LEFT.add(token)  # the server may have it, though its answer was lost
            has_waited = time.monotonic() - start >= _WAIT
            if held and has_waited and getattr(error.__cause__, "code", "") in {TIMED_OUT, LOCK_STOPPED}:
                raise StoreLockedError(
                    f"{self._server.url}: {held[0]['holder']} does not answer, in the middle of a transaction; end that "
                    f"process, or wait until the server ends the transaction ({LONGEST:g} s)"
                ) from error
            raise
        if not found[0]["is_taken"]:
            raise self._locked(found[0]["holder"])
        self._owner, self._depth, self._token = me, 1, token
        self._ended = threading.Event()
        threading.Thread(target=self._renew, args=(token, self._ended), daemon=True, name="hlgraph-lease").start()

    def _locked(self, holder: object) -> StoreLockedError:
        return StoreLockedError(
            f"{self._server.url}: {holder} is writing to this store; wait until it has finished, or stop it "
            f"(its right to write expires {self._seconds} s after it died)"
        )

    def _renew(self, token: str, ended: threading.Event) -> None:
        while not ended.wait(self._seconds / 3):
            try:
                held = self._server.write(
                    lambda transaction: transaction.rows(
                        "admin/renew_lease", id=self._name, token=token, seconds=self._seconds
                    )
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
            self._server.write(lambda transaction: transaction.rows("admin/drop_lease", id=self._name, token=token))
        except HLGraphError as error:  # the outcome of the work is already known, and the lease expires by itself
            _LEFT.add(token)
            _LOG.warning("the right to write could not be released, it expires in %s s: %s", self._seconds, error)


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
