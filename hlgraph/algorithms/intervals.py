"""Confidence interval of a share that was counted on a sample."""

from __future__ import annotations

import math
from typing import NamedTuple

from hlgraph.errors import InputError

_Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution


class Share(NamedTuple):
    """A share from 0 to 1, and the bounds of its 95 % confidence interval."""

    share: float
    low: float
    high: float


def wilson(successes: float, trials: int) -> Share:
    """The share of successes with its 95 % Wilson score interval; O(1).

    With n trials, p = successes / n and z = 1.96 the interval is centered at ``(p + z²/2n) / (1 + z²/n)`` and its half width
    is ``z / (1 + z²/n) · sqrt(p (1 - p) / n + z²/4n²)``. It stays inside [0, 1] even if p is 0 or 1. Without trials the result
    is ``(0, 0, 1)``.

    Parameters
    ----------
    successes : number of successes, from 0 to ``trials``; a tie may count as half of one, which widens the interval
    trials : number of trials, 0 or more

    Returns
    -------
    Share
        The share and its bounds, all from 0 to 1.

    Raises
    ------
    InputError
        A count is negative, or there are more successes than trials.

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
            f"there are {successes} successes in {trials} trials; give counts with 0 <= successes <= trials"
        )
    if not trials:
        return Share(0.0, 0.0, 1.0)
    share, z2 = successes / trials, _Z95**2 / trials
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z95 / (1 + z2) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials))
    # In exact arithmetic the interval contains the share; rounding may break that if the share is 0 or 1.
    return Share(share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)))
