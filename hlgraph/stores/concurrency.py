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


class Retry:
    """The waits between the attempts of an operation, until its time is over.

    A wait is random, so that many workers do not return at the same time: between half of and all of ``min(longest, first *
    2^n)`` seconds after ``n`` waits.

    Parameters
    ----------
    seconds : time limit of all attempts and waits together
    first, longest : upper bounds of the first wait and of each wait, in seconds
    given_up : set by another thread, it ends the time
    """

    def __init__(
        self, seconds: float, *, first: float = 0.1, longest: float = 0.5, given_up: threading.Event | None = None
    ) -> None:
        self.waits = 0
        self._until = time.monotonic() + seconds
        self._bounds = first, longest
        self._given_up = given_up

    @property
    def left(self) -> float:
        """Seconds until the time is over, a little above 0 at least."""
        return max(0.001, self._until - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether there is no time for another attempt."""
        return time.monotonic() >= self._until or (self._given_up is not None and self._given_up.is_set())

    def goes_on(self, asked: float = 0.0) -> bool:
        """Waits before the next attempt; returns False, without waiting, when the time is over.

        Parameters
        ----------
        asked : seconds that the server asks for; 0: the next random wait
        """
        if self.is_over:
            return False
        first, longest = self._bounds
        wait = min(longest, first * 2.0 ** min(self.waits, 30))
        wait = min(asked or random.uniform(wait / 2, wait), self.left)  # noqa: S311 - no secret
        self.waits += 1
        time.sleep(wait) if self._given_up is None else self._given_up.wait(wait)
        return True


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


class LockWait:
    """Repeats attempts while they raise a retryable StoreLockedError, and for some seconds in all.

    Parameters
    ----------
    seconds : time limit; 0: one attempt each
    """

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._seconds = seconds
        self._told = _TOLD

    def repeat(self, attempt: Callable[[], object]) -> None:
        """Calls a function until it raises no StoreLockedError. Raises the last one, if it is final or time is over."""
        left = self._began + self._seconds - time.monotonic()
        retry = Retry(left, first=_FIRST, longest=_LONGEST, given_up=_GIVEN_UP.get())
        with contextlib.ExitStack() as shown:
            while True:
                try:
                    attempt()
                except StoreLockedError as error:
                    if not error.retryable or retry.is_over:
                        raise
                    if not retry.waits:
                        shown.enter_context(progress.step("wait"))
                    if (waited := time.monotonic() - self._began) >= self._told:
                        self._told = waited + _AGAIN
                        _LOG.warning("waiting for %.0f s by now: %s", waited, error)
                    retry.goes_on()
                else:
                    return


def take_in_turn(
    take: Callable[[], None], *, turn: Callable[[LockWait], AbstractContextManager[None]], seconds: float
) -> None:
    """Takes a right, behind the writers that wait already.

    Parameters
    ----------
    take : one attempt; raises StoreLockedError, naming the holder
    turn : holds the right to be next during a block, with the wait of the caller
    seconds : how long to wait, :data:`WITHOUT_LIMIT` or a number from 0; 0: one attempt, which passes those that wait

    Raises
    ------
    StoreLockedError
        Another writer had the right for all of that time.
    """
    if not seconds:
        take()
        return
    wait = LockWait(seconds)
    with turn(wait):
        wait.repeat(take)
