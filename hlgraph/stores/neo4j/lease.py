"""The exclusive right to write to a database: a lease on a node, renewed while it is held, checked in every write.

A lease instead of an open transaction, because servers end transactions that last. Every transaction that writes locks the
lease node first and looks whether the token is still the own one (fencing): a writer that lost its lease, after a long
sleep say, can no longer change anything.
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
"""How long a lease runs without being renewed: after so long the lease of a process that died elsewhere is free."""

_WAIT = 10.0
"""Seconds to wait for the transaction of a holder whose lease ran out."""

_LEFT: set[str] = set()
"""Tokens that this process had and could not give back, since the server was away: nothing of it writes with them."""


class Lease:
    """The lease named ``name`` of one database; may be entered again by the thread that holds it."""

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
        """Hold the lease; not waited for. Raises StoreLockedError, naming the holder, when another one has it."""
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
        """Make sure, in a writing transaction, that the lease is still held; nobody can take it until the transaction ends.

        Raises StoreLockedError when it is not.
        """
        if self._owner != threading.get_ident():
            raise StoreLockedError(f"{self._server.url}: writing needs the store's lock", retryable=False)
        if not transaction.rows("admin/renew_lease", id=self._name, token=self._token, seconds=self._seconds):
            raise StoreLockedError(
                f"{self._server.url}: the right to write was lost to another process (this one did not answer for "
                f"{self._seconds} s); run the same command again"
            )

    def _take(self, me: int) -> None:
        if self._owner is not None:
            raise StoreLockedError(
                f"{self._server.url}: another thread of this process is writing to this store; wait until it is done"
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
            f"{self._server.url}: {holder} is writing to this store; wait until it is done, or stop it "
            f"(its right runs out {self._seconds} s after it died)"
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
        except HLGraphError as error:  # the work is done or has failed by itself: the lease runs out
            _LEFT.add(token)
            _LOG.warning("the right to write could not be given back, it runs out in %s s: %s", self._seconds, error)


def _is_dead(host: object, pid: object) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    if host != socket.gethostname() or not isinstance(pid, int) or os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
