"""How processor time grows with the size of what is worked on."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

_TRIES = 3
_LEAST = 0.004  # seconds; below them the clock and the caches decide


def assert_linear(work: Callable[[int], object], small: int, *, times: int, slack: float) -> None:
    """The time of ``times * small`` is at most ``times * slack`` that of ``small``, in one of three tries.

    Work that grows with the square takes ``times`` squared: choose ``slack`` well below ``times``. The collector is off,
    because it would count what other tests hold.
    """

    def seconds(size: int) -> float:
        start = time.process_time()
        work(size)
        return time.process_time() - start

    was_on = gc.isenabled()
    gc.disable()
    try:
        tries: list[tuple[float, float]] = []
        for _ in range(_TRIES):
            few, many = max(_LEAST, seconds(small), seconds(small)), seconds(times * small)
            if many < few * times * slack:
                return
            tries.append((few, many))
    finally:
        if was_on:
            gc.enable()
    raise AssertionError(f"{times} times the size takes (seconds, small and large): {tries}")
