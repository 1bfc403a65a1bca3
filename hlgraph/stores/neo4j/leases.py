"""The rights to write to a database: to one corpus of it, or to all of it.

Each corpus has a lease, and the database has one. A corpus is taken only while the database is free. The database is taken
in two steps: first its own lease, from when on no corpus can be taken; then it waits until no writer has a corpus.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from hlgraph.errors import HLGraphError, StoreLockedError
from hlgraph.stores.neo4j.lease import SECONDS, WAIT, Lease, is_gone, is_stuck, locked, stuck
from hlgraph.stores.neo4j.server import Server, Transaction
from hlgraph.stores.waiting import WITHOUT_LIMIT, Patience

DATABASE = "writer"
"""The lease of the database."""
_OF_CORPUS = "corpus "


def lease_of(corpus: str) -> str:
    """The name of the lease of a corpus."""
    return f"{_OF_CORPUS}{corpus}"


class Leases:
    """The rights of this process to write to a database.

    Parameters
    ----------
    server : the database
    wait : seconds to wait for a right; default: without limit
    """

    def __init__(self, server: Server, *, wait: float = WITHOUT_LIMIT) -> None:
        self._server = server
        self._wait = wait
        self._guard = threading.Lock()
        self._made: dict[str, Lease] = {}
        self._held = threading.local()

    @contextlib.contextmanager
    def held(self, corpus: str | None, *, wait: float | None = None) -> Iterator[None]:
        """Holds the right to a corpus, or to all of the database, see :meth:`GraphStore.lock`.

        Parameters
        ----------
        corpus : the corpus; None: all
        wait : seconds to wait; None: those of this object
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
                self._wait_for_writers(Patience(seconds))
            self._held.lease = self._lease(name)
            try:
                yield
            finally:
                self._held.lease = None

    def check(self, transaction: Transaction, corpus: str | None = None) -> None:
        """Checks, in a writing transaction, that the right of this thread is still held, see :meth:`Lease.check`.

        Parameters
        ----------
        transaction : the writing transaction
        corpus : the corpus that it writes to; None: that of the right

        Raises
        ------
        StoreLockedError
            The right was lost, or is that to another corpus.
        """
        lease: Lease | None = getattr(self._held, "lease", None)
        if lease is None or (corpus is not None and lease.name not in (DATABASE, lease_of(corpus))):
            raise StoreLockedError(
                f"{self._server.url}: writing needs the lock of the store; call it inside lock()", retryable=False
            )
        lease.check(transaction)

    def _lease(self, name: str) -> Lease:
        with self._guard:
            if name not in self._made:
                self._made[name] = Lease(self._server, name, under="" if name == DATABASE else DATABASE)
            return self._made[name]

    def _wait_for_writers(self, patience: Patience) -> None:
        """Waits until no corpus has a writer."""

        def look() -> None:
            rows = self._server.read(lambda transaction: transaction.rows("admin/list_leases", prefix=_OF_CORPUS))
            for row in rows:
                is_dead = is_gone(row)
                if row["is_running"] and not is_dead:
                    raise locked(self._server, row["holder"], seconds=SECONDS)
                self._free(str(row["id"]), str(row["token"]), holder=row["holder"], is_dead=is_dead)

        patience.repeat(look)

    def _free(self, name: str, token: str, *, holder: object, is_dead: bool) -> None:
        start = time.monotonic()
        try:
            self._server.write(
                lambda transaction: transaction.rows("admin/free_lease", id=name, token=token, is_dead=is_dead),
                longest=WAIT,
            )
        except HLGraphError as error:
            if is_stuck(error, start):
                raise stuck(self._server, holder) from error
            raise
