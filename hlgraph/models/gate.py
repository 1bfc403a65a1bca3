"""Adaptive limit on concurrent calls to a provider: lower when it is busy or slow, higher again when it recovers."""

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
_FEWEST_CALLS = 8  # calls needed before the usual duration is known
_LONGEST_PAUSE = 60.0
_LOOK_SECONDS = 0.1


class Gate:
    """Limits the number of concurrent calls, and adapts the limit. Thread-safe.

    The limit grows by one for each round of successful calls (additive increase). It is halved when the provider is
    unavailable, and cut by a quarter when recent calls took twice as long as usual (multiplicative decrease). Calls that
    began before the last cut carry no new information and do not cut it again. The limit is never below 1 or above ``most``.
    While a provider asks callers to wait, no call begins, for at most 60 s.

    Parameters
    ----------
    most : maximum number of concurrent calls, and the initial limit
    clock : current time in seconds; default: the monotonic clock

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
        """Current maximum number of concurrent calls."""
        return int(self._limit)

    @property
    def pause(self) -> float:
        """Seconds until a call may begin; 0 unless the provider asked callers to wait."""
        return max(0.0, self._open_at - self._clock())

    @contextmanager
    def slot(self, check: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Waits for a slot and holds it for the duration of the block, whose outcome and duration adapt the limit.

        ``check`` is called while waiting; it ends the wait by raising an error.
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
