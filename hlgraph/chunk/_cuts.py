"""Where to cut a row of units: at gaps that are better than all others near them.

Gaps between units are compared by rank (heading, paragraph, sentence) and then by a hash of the unit behind them. The
*reach* of a gap is the distance, in tokens, within which no other is better. A gap whose reach is at least a window is a
cut. So cuts are a window apart or more, and an edit changes the cuts within a window of itself only, whatever came
before; it touches two of them at most, hence three cores.

That leaves a few stretches (one in a hundred, in prose) that are too long for a chunk. They are cut again at the gap of
the largest reach.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right

from hlgraph.chunk._units import Rank, Units

# Shares of the largest chunk. The smaller the window, the rarer the long stretches, whose cuts may move together with
# those beside them: with 0.22 one edit in some 10,000 changes four chunks, with 0.25 one in 4,000.
_WINDOW = 0.22
_MARGIN = 0.2
_CONTEXTS = (1, 2, 4, 8)  # so many units on each side tell equal gaps apart, the nearest first


def cut(units: Units, max_tokens: int) -> list[int]:
    """Indices of the units that begin a core, in order; the first is 0 if there are any units.

    A core has at most ``max_tokens`` tokens, which no unit may exceed, and at least a fifth of that wherever the sizes
    of the units allow it. Time is linear in the number of units.
    """
    reaches = _reaches(units)
    window = int(max_tokens * _WINDOW)
    starts: list[int] = []
    begin = 0
    for end in range(1, len(units) + 1):
        if end < len(units) and (reaches[end] < window or units.ranks[end] == Rank.UNDER_HEADING):
            continue
        while units.before[end] - units.before[begin] > max_tokens:
            starts.append(begin)
            begin = _widest_reach(units, reaches, begin, end, max_tokens)
        starts.append(begin)
        begin = end
    return starts


class _Gaps:
    """The gaps of a row of units, comparable; gap ``i`` is the one before unit ``i``."""

    def __init__(self, units: Units) -> None:
        self._marks = memoryview(units.marks)
        self._keys = array("Q", [0] * len(units))
        for i, (mark, rank) in enumerate(zip(units.marks, units.ranks, strict=True)):
            self._keys[i] = rank << 32 | (mark * 0xC2B2AE3D27D4EB4F) >> 40 & 0xFFFFFFFF

    def is_better(self, gap: int, other: int) -> bool:
        """Whether ``gap`` is the better place to cut; neither is if all that is near them is equal."""
        key, other_key = self._keys[gap], self._keys[other]
        return key > other_key or (key == other_key and self._context(gap) > self._context(other))

    def _context(self, gap: int) -> tuple[int, ...]:
        return tuple(zlib.crc32(self._marks[max(0, gap - reach) : gap + reach]) for reach in _CONTEXTS)


def _reaches(units: Units) -> array[int]:
    """For each gap the distance to the nearest that is better, or the end; to the left also to one that is as good."""
    gaps = _Gaps(units)
    before, count = units.before, len(units)
    reaches = array("q", [0] * count)
    falling: list[int] = []  # gaps than which no other to their right, up to here, is better
    for gap in range(1, count):
        here = before[gap]
        while falling and gaps.is_better(gap, falling[-1]):
            last = falling.pop()
            reaches[last] = min(reaches[last], here - before[last])
        reaches[gap] = here - (before[falling[-1]] if falling else 0)
        falling.append(gap)
    for last in falling:
        reaches[last] = min(reaches[last], before[count] - before[last])
    return reaches


def _widest_reach(units: Units, reaches: array[int], begin: int, end: int, max_tokens: int) -> int:
    """Where to end a core that begins at ``begin``, in a stretch up to ``end`` that is too long.

    Preferably not under a heading, and not near either end. Of equals the last, so that lines that repeat make chunks
    that repeat.
    """
    before, ranks = units.before, units.ranks
    margin = int(max_tokens * _MARGIN)
    low = before[begin] + margin
    high = min(before[begin] + max_tokens - margin, before[end] - margin)
    fitting = bisect_right(before, before[begin] + max_tokens, begin + 1, end)
    return max(
        range(begin + 1, fitting),
        key=lambda gap: (ranks[gap] != Rank.UNDER_HEADING, low <= before[gap] <= high, reaches[gap], gap),
    )
