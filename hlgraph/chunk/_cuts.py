"""Where to cut a row of units: at gaps that are better than all others near them.

A gap is compared by its rank (heading, paragraph, sentence) and then by a hash of the two units beside it. It is a cut if
it is the best within a window of tokens on both sides. So cuts are at least a window apart, and an edit changes the
cuts within a window of itself only, whatever came before.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from hlgraph.chunk._units import Units

_CONTEXTS = (2, 4, 8, 16)  # so many units on each side tell equal gaps apart, the nearest first


class _Gaps:
    """The gaps of a row of units, comparable; gap ``i`` is the one before unit ``i``."""

    def __init__(self, units: Units) -> None:
        self._marks = memoryview(units.marks)
        marks, ranks = units.marks, units.ranks
        self._keys = [0] + [
            ranks[i] << 32
            | ((marks[i - 1] * 0x9E3779B1 + marks[i] * 0x85EBCA77) * 0xC2B2AE3D27D4EB4F >> 40) & 0xFFFFFFFF
            for i in range(1, len(units))
        ]

    def is_better(self, gap: int, other: int) -> bool:
        """Whether ``gap`` is the better place to cut; neither is, if all that is near them is equal."""
        key, other_key = self._keys[gap], self._keys[other]
        return key > other_key or (key == other_key and self._context(gap) > self._context(other))

    def _context(self, gap: int) -> tuple[int, ...]:
        return tuple(zlib.crc32(self._marks[max(0, gap - reach) : gap + reach]) for reach in _CONTEXTS)


def cut(units: Units, *, window: int, max_tokens: int) -> list[int]:
    """Indices of the units that begin a core, in order: the first is 0, if there are any units.

    Every core has at least ``window`` tokens, where units are small enough for that, and at most ``max_tokens``, which
    no unit may exceed. Linear in the number of units.
    """
    gaps = _Gaps(units)
    starts: list[int] = []
    begin = 0
    for end in [*_local_maxima(units, gaps, window), len(units)]:
        while units.before[end] - units.before[begin] > max_tokens:
            starts.append(begin)
            begin = _best_within(units, gaps, begin, end, window=window, max_tokens=max_tokens)
        if begin < end:
            starts.append(begin)
        begin = end
    return starts


def _local_maxima(units: Units, gaps: _Gaps, window: int) -> list[int]:
    """The gaps that are better than all within ``window`` tokens to their left, and than none to their right is."""
    before, count = units.before, len(units)
    found = []
    falling: list[int] = []  # gaps that nothing to their right, up to here, is better than
    far_left = bytearray(count)  # whether the nearest gap to the left that is as good is a window away
    for gap in range(1, count):
        while falling and gaps.is_better(gap, falling[-1]):
            last = falling.pop()
            if far_left[last] and before[gap] - before[last] >= window:
                found.append(last)
        far_left[gap] = before[gap] - (before[falling[-1]] if falling else 0) >= window
        falling.append(gap)
    found.extend(gap for gap in falling if far_left[gap] and before[count] - before[gap] >= window)
    return sorted(found)


def _best_within(units: Units, gaps: _Gaps, begin: int, end: int, *, window: int, max_tokens: int) -> int:
    """The best gap to cut units ``begin`` to ``end``, which are too many: the last of equals, so that lines that repeat
    give chunks that repeat.
    """
    before = units.before
    last = bisect_right(before, before[begin] + max_tokens, begin + 1, end) - 1
    low = bisect_left(before, before[begin] + window, begin + 1, end)
    high = min(last, bisect_right(before, before[end] - window, begin + 1, end) - 1)
    candidates = range(low, high + 1) or range(begin + 1, last + 1)
    best = candidates[0]
    for gap in candidates[1:]:
        if not gaps.is_better(best, gap):
            best = gap
    return best
