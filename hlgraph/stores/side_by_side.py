"""Work in other threads, while a block runs or beside each other."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_MOST = 16
"""Maximum number of threads that are kept."""


class _Threads:
    """Threads that are kept for the next work, since starting one costs a search more than what it does.

    Work never waits for a thread: where all of them are busy, the caller does it.
    """

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(_MOST)
        self._pool = ThreadPoolExecutor(_MOST, thread_name_prefix="hlgraph-beside")

    def begin(self, work: Callable[[], T]) -> Future[T] | None:
        """Begins work in a thread; None: all are busy."""
        if not self._free.acquire(blocking=False):
            return None
        running = self._pool.submit(copy_context().run, work)
        running.add_done_callback(lambda _: self._free.release())
        return running


@functools.lru_cache(maxsize=1)
def _threads(_process: int) -> _Threads:
    """The threads of a process; a fork has none of those of its parent."""
    return _Threads()


@contextlib.contextmanager
def side_by_side(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Runs a function in another thread, in the context of the caller, while the block runs.

    Where many callers do so at once, the function runs in the thread of the caller, when it is waited for. Where the block
    fails, the other thread is waited for, and an error of its own is logged.

    Parameters
    ----------
    work : the function

    Yields
    ------
    Callable
        Waits for the function, and raises what it raised; may be called several times.
    """
    running = _threads(os.getpid()).begin(work)
    if running is None:
        later = functools.cache(work)
        yield later
        later()
        return
    try:
        yield running.result
    except BaseException as error:
        other = running.exception()
        if other is not None and other is not error:
            _LOG.warning("what ran beside it failed, too: %s", other)
        raise
    running.exception()


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """Runs functions beside each other, each in a thread of its own and in the context of the caller; waits for all of them.

    Where some fail, the error of the first of them is raised, and those of the others are logged.

    Parameters
    ----------
    works : the functions

    Returns
    -------
    list
        The result of each, in their order.
    """
    if len(works) < 2:
        return [work() for work in works]
    with ThreadPoolExecutor(len(works), thread_name_prefix="hlgraph-at-once") as threads:
        running = [threads.submit(copy_context().run, work) for work in works]
    errors = [error for error in (one.exception() for one in running) if error is not None]
    for other in errors[1:]:
        _LOG.warning("what ran beside it failed, too: %s", other)
    if errors:
        raise errors[0]
    return [one.result() for one in running]
