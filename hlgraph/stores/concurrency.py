"""Work in other threads, while a block runs or beside each other."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from hlgraph import progress
from hlgraph.errors import StoreLockedError

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


# Waits for the right to write while another writer has it, in turn: a writer that comes again queues behind those that wait.
#
# Every kind of store has two exclusive rights for this: the one to write, and the one to be next. A writer that finds the
# right to write taken first gets the right to be next, and gives it back when it writes. So a writer that has just written
# cannot pass one that was waiting meanwhile. Where several wait to be next, chance decides.


WITHOUT_LIMIT = math.inf
"""As long as it takes."""
_FIRST, _LONGEST = 0.02, 0.3
"""Seconds between two attempts: the first pause, and the longest."""
_TOLD, _AGAIN = 3.0, 60.0
"""Seconds after which the log names the holder for the first time, and between two times."""
_GIVEN_UP: ContextVar[threading.Event | None] = ContextVar("hlgraph_given_up", default=None)


@contextlib.contextmanager
def given_up_by(event: threading.Event) -> Iterator[None]:
    """Ends every wait of the block, and of what runs in copies of its context, once an event is set.

    A wait that ends so raises the StoreLockedError that names the holder, as one whose time is over.

    Parameters
    ----------
    event : set by another thread
    """
    token = _GIVEN_UP.set(event)
    try:
        yield
    finally:
        _GIVEN_UP.reset(token)


class Patience:
    """Repeats attempts while they raise a retryable StoreLockedError, and for some seconds in all.

    Parameters
    ----------
    seconds : how long; 0: one attempt each
    """

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._seconds = seconds
        self._told = _TOLD

    def repeat(self, attempt: Callable[[], object]) -> None:
        """Calls a function until it raises no StoreLockedError. Raises the last one, if it is final or time is over."""
        pause, given_up = _FIRST, _GIVEN_UP.get() or threading.Event()
        with contextlib.ExitStack() as shown:
            while True:
                try:
                    attempt()
                except StoreLockedError as error:
                    waited = time.monotonic() - self._began
                    if not error.retryable or waited >= self._seconds or given_up.is_set():
                        raise
                    if pause == _FIRST:
                        shown.enter_context(progress.step("wait"))
                    if waited >= self._told:
                        self._told = waited + _AGAIN
                        _LOG.warning("waiting for %.0f s by now: %s", waited, error)
                    given_up.wait(min(pause * random.uniform(0.5, 1.0), self._seconds - waited))  # noqa: S311 - no secret
                    pause = min(2 * pause, _LONGEST)
                else:
                    return


def take_in_turn(
    take: Callable[[], None], *, turn: Callable[[Patience], AbstractContextManager[None]], seconds: float
) -> None:
    """Takes a right, behind the writers that wait already.

    Parameters
    ----------
    take : one attempt; raises StoreLockedError, naming the holder
    turn : holds the right to be next during a block, with the patience of the caller
    seconds : how long to wait, :data:`WITHOUT_LIMIT` or a number from 0; 0: one attempt, which passes those that wait

    Raises
    ------
    StoreLockedError
        Another writer had the right for all of that time.
    """
    if not seconds:
        take()
        return
    patience = Patience(seconds)
    with turn(patience):
        patience.repeat(take)
