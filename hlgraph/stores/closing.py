"""Count the calls in progress on open stores: closing refuses new calls and waits for the running ones.

Also the errors of calls whose store was closed meanwhile, or whose server does not answer.
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
"""Errors that clients raise if another thread closes their connection during a call."""
_AT_EXIT = 5.0  # seconds that the end of the interpreter waits for the calls of threads that are daemons
_LOG = logging.getLogger(__name__)
_OPEN: weakref.WeakSet[Calls] = weakref.WeakSet()


def closed(url: str) -> StoreClosedError:
    """The error of a call on a store that was closed before or during it."""
    return StoreClosedError(f"{url}: the store was closed; open it again")


@contextlib.contextmanager
def mapped_if_closed(
    url: str, is_closed: Callable[[], bool], *, errors: tuple[type[Exception], ...] = CLOSING
) -> Iterator[None]:
    """Raise errors of a block as StoreClosedError if the connection was closed.

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
    """The error of a read that exceeded its deadline; see :func:`hlgraph.stores.trace.hasty`.

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
    """The calls in progress on a pair of open stores. Thread-safe.

    Parameters
    ----------
    name : URL of the store, for messages
    ended : called by a thread at the end of its outermost call, with whether it raised, to release resources of the thread
    is_replaced : whether the URL now leads to other stores
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
        """Whether this thread has no call in progress."""
        return not getattr(self._local, "depth", 0)

    def check(self) -> None:
        """Raise StoreClosedError if the stores were opened before a fork or, outside of a call, if they were closed."""
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
        """Count a block as a call. Raises the errors of :meth:`check`."""
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
        """Refuse new calls, and wait for the running calls of other threads.

        Parameters
        ----------
        timeout : seconds to wait

        Returns
        -------
        int
            The number of calls that are still running.
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
    """Register :func:`_close_all` once, when the first stores are opened."""
    atexit.register(_close_all)


def _close_all() -> None:
    """Close all stores before the interpreter exits: a daemon thread must not be stopped inside a library being unloaded."""
    until = time.monotonic() + _AT_EXIT
    for calls in list(_OPEN):
        calls.close(max(0.0, until - time.monotonic()))
