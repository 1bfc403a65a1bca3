"""How sure a share is that was counted on a sample."""

from __future__ import annotations

import math
from typing import NamedTuple

from hlgraph.errors import InputError

_Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution


class Share(NamedTuple):
    """A share between 0 and 1, and the bounds of its 95 % interval."""

    share: float
    low: float
    high: float


def wilson(successes: int, trials: int) -> Share:
    """The share of successes with the 95 % interval of Wilson's score; O(1).

    With n trials, p = successes / n and z = 1.96 its middle is ``(p + z²/2n) / (1 + z²/n)`` and its half width is
    ``z / (1 + z²/n) · sqrt(p (1 - p) / n + z²/4n²)``. It stays inside [0, 1], also where p is 0 or 1. Without a trial
    nothing is known: ``(0, 0, 1)``.

    Raises
    ------
    InputError : a count is negative, or there are more successes than trials

    Examples
    --------
    >>> [round(each, 3) for each in wilson(193, 200)]
    [0.965, 0.93, 0.983]

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if not 0 <= successes <= trials:
        raise InputError(
            f"there are {successes} successes of {trials} trials; give counts with 0 <= successes <= trials"
        )
    if not trials:
        return Share(0.0, 0.0, 1.0)
    share, z2 = successes / trials, _Z95**2 / trials
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z95 / (1 + z2) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials))
    # In exact arithmetic the bounds hold the share; rounding may lose that where the share is 0 or 1.
    return Share(share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)))
