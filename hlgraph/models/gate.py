"""How many calls go to a provider at once: fewer when it is busy or grows slow, more again when it is well."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hlgraph.errors import ModelUnavailableError

_BUSY_SHARE = 0.5
_SLOW_SHARE = 0.75
_SLOW = 2.0  # times the usual duration of a call
_RECENT, _USUAL = 0.3, 0.05  # weights of the newest call in the two running means
_FEWEST_CALLS = 8  # before so many calls nobody knows what is usual
_LONGEST_PAUSE = 60.0
_LOOK_SECONDS = 0.1


class Gate:
    """Lets a bounded number of calls through, and adapts the bound. Safe for threads.

    The bound grows by one for each round of calls that went well (additive increase). It is halved when the provider
    answers that it is busy, and cut by a quarter when calls of late took twice as long as usual (multiplicative decrease);
    calls that began before the last cut say nothing new and cut nothing. It is never below 1 or above ``most``. While a
    provider asks to wait, no call begins, for a minute at most.

    Parameters
    ----------
    most : calls at once, and the bound to begin with
    clock : seconds

    Examples
    --------
    >>> gate = Gate(8)
    >>> try:
    ...     with gate.slot():
    ...         raise ModelUnavailableError("busy")
    ... except ModelUnavailableError:
    ...     gate.limit
    4
    """

    def __init__(self, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._limit = float(most)
        self._inside = 0
        self._last_cut = -1.0
        self._open_at = 0.0
        self._usual = self._recent = 0.0
        self._calls = 0
        self._turn = threading.Condition()

    @property
    def limit(self) -> int:
        """Calls that may be under way now."""
        return int(self._limit)

    @property
    def pause(self) -> float:
        """Seconds until the next call may begin."""
        return max(0.0, self._open_at - self._clock())

    @contextmanager
    def slot(self, check: Callable[[], None] = lambda: None) -> Iterator[None]:
        """The right to make one call, for as long as the block lasts; its outcome and its duration move the bound.

        ``check`` is asked while it is waited for, and ends the waiting by raising.
        """
        with self._turn:
            while self._inside >= self.limit or self.pause:
                check()
                self._turn.wait(_LOOK_SECONDS)
            check()
            self._inside += 1
        begun = self._clock()
        try:
            yield
        except ModelUnavailableError as error:
            self._leave(begun, error)
            raise
        except BaseException:
            self._leave(begun, None, is_telling=False)
            raise
        self._leave(begun, None)

    def _leave(self, begun: float, error: ModelUnavailableError | None, *, is_telling: bool = True) -> None:
        with self._turn:
            self._inside -= 1
            now = self._clock()
            if error is not None:
                self._cut(begun, now, _BUSY_SHARE)
                if error.retry_after:
                    self._open_at = max(self._open_at, now + min(error.retry_after, _LONGEST_PAUSE))
            elif is_telling and self._is_slow(now - begun):
                self._cut(begun, now, _SLOW_SHARE)
            elif is_telling:
                self._limit = min(float(self.most), self._limit + 1 / self._limit)
            self._turn.notify_all()

    def _cut(self, begun: float, now: float, share: float) -> None:
        if begun >= self._last_cut:
            self._limit = max(1.0, self._limit * share)
            self._last_cut = now

    def _is_slow(self, seconds: float) -> bool:
        self._calls += 1
        if self._calls == 1:
            self._usual = self._recent = seconds
        self._usual += _USUAL * (seconds - self._usual)
        self._recent += _RECENT * (seconds - self._recent)
        return self._calls > _FEWEST_CALLS and self._recent > _SLOW * self._usual
