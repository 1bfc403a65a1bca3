"""The calls that are under way on open stores: refused once the stores are closed, and waited for before they are.

Also the errors of calls to servers that were closed meanwhile or do not answer.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator

from hlgraph.errors import StoreClosedError, StoreError, StoreUnavailableError

CLOSING: tuple[type[Exception], ...] = (StoreError, OSError, BufferError, AttributeError, ValueError, TypeError)
CLOSING += (LookupError, AssertionError, RuntimeError)
"""Errors of a call to a server if another thread closes its connection meanwhile: clients do not guard against that."""
_AT_EXIT = 5.0  # seconds that the end of the interpreter waits for the calls of threads that are daemons
_LOG = logging.getLogger(__name__)
_OPEN: weakref.WeakSet[Calls] = weakref.WeakSet()


def closed(url: str) -> StoreClosedError:
    """The error of a call after, or during, the closing of the store."""
    return StoreClosedError(f"{url}: the store was closed; open it again")


@contextlib.contextmanager
def mapped_if_closed(
    url: str, is_closed: Callable[[], bool], *, errors: tuple[type[Exception], ...] = CLOSING
) -> Iterator[None]:
    """Raises errors of a block as StoreClosedError if the connection was closed.

    Parameters
    ----------
    url : URL of the server
    is_closed : whether the connection was closed
    errors : kinds of errors
    """
    try:
        yield
    except errors as error:
        if is_closed():
            raise closed(url) from error
        raise


def unanswered(
    url: str, server: str, *, seconds: float, reason: str, check: str = "the network"
) -> StoreUnavailableError:
    """The error of a read whose deadline is over, see :func:`hlgraph.stores.trace.hasty`.

    Parameters
    ----------
    url : URL of the server
    server : ``Neo4j`` or ``OpenSearch``
    seconds : the deadline, setting ``read_seconds``
    reason : what happened last
    check : what to check besides whether the server runs
    """
    return StoreUnavailableError(
        f"{url}: no answer from {server} within {seconds:g} s ({reason}); start the server, or check {check}, and ask again; "
        f"{server.lower()}.read_seconds sets how long a search waits"
    )


class Calls:
    """The calls under way on some open stores. Thread-safe.

    Parameters
    ----------
    name : URL of the store, for messages
    ended : called by a thread when its outermost call ends, with whether it raised, to give back what the thread holds
    is_replaced : whether other stores lie at the URL now
    """

    def __init__(
        self,
        name: str,
        *,
        ended: Callable[[bool], object] = bool,
        is_replaced: Callable[[], bool] = lambda: False,
    ) -> None:
        self.is_replaced = is_replaced
        self._name = name
        self._ended = ended
        self._process = os.getpid()
        self._is_closed = False
        self._count = 0
        self._changed = threading.Condition()
        self._local = threading.local()
        _close_at_exit()
        _OPEN.add(self)

    @property
    def is_outermost(self) -> bool:
        """Whether this thread has no call under way."""
        return not getattr(self._local, "depth", 0)

    def check(self) -> None:
        """Raises StoreClosedError if the stores were closed, or opened before a fork; not inside of a call."""
        if self._process != os.getpid():
            raise StoreClosedError(
                f"{self._name} was opened in process {self._process}, of which this one is a fork; open it again here with "
                "hlgraph.connect"
            )
        if self._is_closed and self.is_outermost:
            if self.is_replaced():
                raise StoreClosedError(f"{self._name} was replaced by another store; take this part of the graph again")
            raise StoreClosedError(f"{self._name} was closed; open it again with hlgraph.connect")

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Counts a block as a call; raises what :meth:`check` raises."""
        depth = getattr(self._local, "depth", 0)
        with self._changed:
            self.check()
            self._count += 1
        self._local.depth = depth + 1
        has_failed = True
        try:
            yield
            has_failed = False
        finally:
            self._local.depth = depth
            try:
                if not depth:
                    self._ended(has_failed)
            finally:
                with self._changed:
                    self._count -= 1
                    self._changed.notify_all()

    def close(self, timeout: float) -> int:
        """Refuses new calls, and waits for those under way in other threads.

        Parameters
        ----------
        timeout : seconds to wait

        Returns
        -------
        int
            The number of calls that are still under way.
        """
        own: int = getattr(self._local, "depth", 0)
        until = time.monotonic() + timeout
        if self._process != os.getpid():
            return 0
        with self._changed:
            self._is_closed = True
            while self._count > own and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            left_over = self._count - own
        if left_over:
            _LOG.warning(
                "%s is closed with %d calls under way after %g s; they end with StoreClosedError",
                self._name, left_over, timeout,
            )  # fmt: skip
        return left_over


@functools.cache
def _close_at_exit() -> None:
    """Registers :func:`_close_all` once, with the first stores that are opened."""
    atexit.register(_close_all)


def _close_all() -> None:
    """At the end of the interpreter, a thread that is a daemon must not be stopped inside a library that is taken down."""
    until = time.monotonic() + _AT_EXIT
    for calls in list(_OPEN):
        calls.close(max(0.0, until - time.monotonic()))
