"""Run functions in other threads, retry with waits and deadlines, and take locks in turn."""

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

from hlgraph import progress, telemetry
from hlgraph.errors import HLGraphError, StoreLockedError

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_MOST = 16
"""Maximum number of threads that are kept."""


class _Threads:
    """A pool of reusable threads, since starting a thread costs a search more than the work itself.

    Work never waits for a thread: if all are busy, the caller does it.
    """

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(_MOST)
        self._pool = ThreadPoolExecutor(_MOST, thread_name_prefix="hlgraph-beside")

    def begin(self, work: Callable[[], T]) -> Future[T] | None:
        """Start work in a thread. Returns None if all threads are busy."""
        if not self._free.acquire(blocking=False):
            return None
        running = self._pool.submit(copy_context().run, work)
        running.add_done_callback(lambda _: self._free.release())
        return running


@functools.lru_cache(maxsize=1)
def _threads(_process: int) -> _Threads:
    """The threads of a process; a forked process needs its own."""
    return _Threads()


@contextlib.contextmanager
def side_by_side(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Run a function in another thread, in a copy of the caller's context, while the block runs.

    If all threads are busy, the function runs in the caller's thread when its result is needed. If the block fails, the
    other thread is awaited, and its own error is logged.

    Parameters
    ----------
    work : the function

    Yields
    ------
    Callable
        Returns the result of the function, or raises its error; may be called several times.
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
    """Run functions concurrently, each in its own thread and in a copy of the caller's context, and wait for all of them.

    If any fail, the first error is raised and the others are logged.

    Parameters
    ----------
    works : the functions

    Returns
    -------
    list
        The results, in the order of the functions.
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
    """The waits between the attempts of an operation, up to a time limit.

    A wait is random, so that many workers do not return at the same time: between half of and all of ``min(longest, first *
    2^n)`` seconds after ``n`` waits.

    Parameters
    ----------
    seconds : time limit of all attempts and waits together
    first, longest : upper bounds of the first wait and of each wait, in seconds
    given_up : event that ends the time early when another thread sets it

    Attributes
    ----------
    waits : number of waits so far
    seconds : as given
    """

    def __init__(
        self, seconds: float, *, first: float = 0.1, longest: float = 0.5, given_up: threading.Event | None = None
    ) -> None:
        self.waits = 0
        self.seconds = seconds
        self._until = time.monotonic() + seconds
        self._bounds = first, longest
        self._given_up = given_up

    @property
    def left(self) -> float:
        """Seconds left; always above 0."""
        return max(0.001, self._until - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether no time is left for another attempt."""
        return time.monotonic() >= self._until or (self._given_up is not None and self._given_up.is_set())

    def goes_on(self, asked: float = 0.0) -> bool:
        """Wait before the next attempt. Returns False at once if no time is left.

        Parameters
        ----------
        asked : seconds that the server asked for; 0: the next random wait
        """
        if self.is_over:
            return False
        first, longest = self._bounds
        wait = min(longest, first * 2.0 ** min(self.waits, 30))
        wait = min(asked or random.uniform(wait / 2, wait), self.left)  # noqa: S311 - no secret
        self.waits += 1
        time.sleep(wait) if self._given_up is None else self._given_up.wait(wait)
        return True


def read_in_time(
    read: Callable[[float | None], T],
    *,
    ping: Callable[[float], object],
    retry: Retry,
    lost: tuple[type[Exception], ...],
    is_away: Callable[[Exception], bool] = lambda _: True,
    unanswered: Callable[[Exception], HLGraphError],
) -> T:
    """The result of a read from a server, with a deadline for a server that is away, not for one that is slow.

    The first attempt has half of the time. If it fails, the server is pinged until it answers, and may then take its time.

    Parameters
    ----------
    read : reads; its argument is the time limit in seconds, None: without limit
    ping : asks the server whether it is there, with a time limit
    retry : the waits between two pings, until the deadline
    lost : kinds of errors of a server that is away
    is_away : whether such an error says that the server is away; else it is raised
    unanswered : the error to raise after the deadline, from the last error of the server
    """
    try:
        return read(retry.seconds / 2)
    except lost as error:
        if not is_away(error):
            raise
        last: Exception = error
    while retry.goes_on():
        try:
            ping(retry.left)
        except lost as error:
            if not is_away(error):
                raise
            last = error
        else:
            return read(None)
    raise unanswered(last) from last


# Every store has two exclusive locks: the write lock and the lock to be next. A writer that finds the write lock taken first
# takes the lock to be next, and releases it when it gets the write lock. So a writer that has just written cannot overtake
# one that was waiting. If several wait to be next, chance decides.


WITHOUT_LIMIT = math.inf
"""Waits as long as it takes."""
_FIRST, _LONGEST = 0.02, 0.3
"""Seconds of the first and of the longest wait between two attempts."""
_TOLD, _AGAIN = 3.0, 60.0
"""Seconds until the log first names the holder, and between two such log records."""
_GIVEN_UP: ContextVar[threading.Event | None] = ContextVar("hlgraph_given_up", default=None)


def given_up_by(event: threading.Event) -> AbstractContextManager[None]:
    """End every wait in the block, and in copies of its context, once an event is set.

    Such a wait raises the StoreLockedError that names the holder, as if its time limit had passed.

    Parameters
    ----------
    event : set by another thread
    """
    return telemetry.within(_GIVEN_UP, event)


class LockWait:
    """Repeats attempts while they raise a retryable StoreLockedError, up to a total time limit.

    Parameters
    ----------
    seconds : time limit; 0: a single attempt
    """

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._seconds = seconds
        self._told = _TOLD

    def repeat(self, attempt: Callable[[], object]) -> None:
        """Call a function until it raises no StoreLockedError. Raises the last one if it is final or no time is left."""
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
    """Take a lock, after the writers that already wait for it.

    Parameters
    ----------
    take : one attempt; raises StoreLockedError, naming the holder
    turn : holds the lock to be next during a block; gets the wait of the caller
    seconds : how long to wait: :data:`WITHOUT_LIMIT`, or a number above 0

    Raises
    ------
    StoreLockedError
        Another writer held the lock all that time.
    """
    wait = LockWait(seconds)
    with turn(wait):
        wait.repeat(take)
