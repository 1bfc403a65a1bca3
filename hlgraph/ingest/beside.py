"""A thread in which one piece of work runs while its caller prepares the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from types import TracebackType
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.models.seams import Embedder
from hlgraph.stores.waiting import given_up_by

_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class Beside(Generic[T]):
    """Runs one piece of work at a time in a thread of its own, in a copy of the caller's context.

    A context manager. Its block ends when the work has ended. Where the block fails while work runs, the error of the work
    is raised, if it has one, since it was begun first. An interrupt (KeyboardInterrupt, SystemExit) is raised as it is; then
    the work is not waited for any longer than it takes: it ends its wait for the right to write at once.

    Parameters
    ----------
    is_apart : False: the caller's own thread does the work when it begins
    """

    def __init__(self, *, is_apart: bool = True) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="hlgraph-writer") if is_apart else None
        self._running: Future[T] | None = None
        self._given_up = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Exception):
            self._given_up.set()
        try:
            other = None if self._running is None else self._running.exception()
        finally:
            self._given_up.set()
            if self._threads is not None:
                self._threads.shutdown()
        if other is None:
            return
        if isinstance(error, Exception) or error is None:
            raise other
        _LOG.warning("the change that was being written failed, too: %s", other)

    @property
    def has_failed(self) -> bool:
        """Whether the work that was begun last has ended by an error."""
        return self._running is not None and self._running.done() and self._running.exception() is not None

    def begin(self, work: Callable[[], T]) -> None:
        """Begins a piece of work; that before it has ended.

        Parameters
        ----------
        work : a function
        """
        if self._threads is None:
            result = work()
            self._running = Future()
            self._running.set_result(result)
            return
        with given_up_by(self._given_up):
            self._running = self._threads.submit(copy_context().run, work)

    def end(self) -> T:
        """Waits for the work that was begun last: its result. Raises what it raised, once."""
        if self._running is None:
            raise RuntimeError("no work was begun")
        wait([self._running])  # an interrupt of this wait leaves the work to the end of the block
        running, self._running = self._running, None
        return running.result()


class OneAtATime:
    """An embedder that two threads may call: one waits for the other.

    Parameters
    ----------
    inner : does the work
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._turn = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """That of the embedder."""
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        """That of the embedder."""
        with self._turn:
            return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the embedder."""
        with self._turn:
            return self._inner.embed(texts)

    def forget(self, texts: Sequence[str]) -> None:
        """Makes the embedder forget."""
        with self._turn:
            self._inner.forget(texts)
