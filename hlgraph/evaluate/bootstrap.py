"""The paired bootstrap: how far a mean over questions, or a difference of two means, may be chance. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError

RESAMPLES = 10_000
CONFIDENCE = 0.95
_BLOCK = 1_000_000  # draws held at once
_DIGITS = 12  # means of the same values, added in another order, are the same


class Interval(NamedTuple):
    """A mean, and the bounds that hold it with the confidence asked for."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of one minus the mean of the other, its bounds, and how likely so large a difference is by chance.

    Attributes
    ----------
    p : two-sided, from 2 / (resamples + 1) to 1
    """

    mean: float
    low: float
    high: float
    p: float

    @property
    def is_noise(self) -> bool:
        """Whether the interval holds 0: the questions do not tell which of the two is better."""
        return self.low <= 0 <= self.high


class Resamples:
    """Means of columns of values over questions drawn with replacement, the same draws for every column.

    Each resample draws as many questions as there are. Because all columns share the draws, the difference of two columns
    of a resample is the difference over the same questions: the pairing of the test.

    Parameters
    ----------
    values : array of shape (questions, columns)
    resamples : how many; default 10,000
    seed : of the draws; the same seed and the same number of questions give the same draws

    Raises
    ------
    InputError
        There is no question or no column, or fewer than 100 resamples are asked for.

    Notes
    -----
    Time and memory: O(resamples * questions) draws, in blocks; O(resamples * columns) is held.

    Examples
    --------
    >>> drawn = Resamples(np.array([[1.0, 0.0], [1.0, 1.0]] * 8))
    >>> drawn.interval(0)
    Interval(mean=1.0, low=1.0, high=1.0)
    >>> drawn.difference(0, 1).is_noise
    False

    References
    ----------
    Efron, Tibshirani: An Introduction to the Bootstrap (1993), chapters 13 (percentile interval) and 16 (tests).
    """

    def __init__(self, values: NDArray[np.float64], *, resamples: int = RESAMPLES, seed: int = 0) -> None:
        if values.ndim != 2 or not values.size:
            raise InputError(f"the bootstrap needs questions and measures; the values have the shape {values.shape}")
        if resamples < 100:
            raise InputError(f"{resamples} resamples say too little; ask for 100 at least")
        self._means = values.mean(axis=0)
        self._drawn = _drawn_means(values, resamples, seed=seed)

    def interval(self, column: int, *, confidence: float = CONFIDENCE) -> Interval:
        """The mean of a column and its percentile interval."""
        low, high = _bounds(self._drawn[:, column], confidence)
        return Interval(float(self._means[column]), low, high)

    def difference(self, a: int, b: int, *, confidence: float = CONFIDENCE) -> Difference:
        """Column ``a`` minus column ``b``: the mean, its percentile interval and p.

        With B resamples and d the difference in one of them, p is twice the smaller of (#(d <= 0) + 1) / (B + 1) and
        (#(d >= 0) + 1) / (B + 1), at most 1: the confidence at which the interval begins to hold 0.
        """
        drawn = np.round(self._drawn[:, a] - self._drawn[:, b], _DIGITS)
        low, high = _bounds(drawn, confidence)
        fewer = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
        p = min(1.0, 2 * (fewer + 1) / (len(drawn) + 1))
        return Difference(float(np.round(self._means[a] - self._means[b], _DIGITS)), low, high, p)


def _drawn_means(values: NDArray[np.float64], resamples: int, *, seed: int) -> NDArray[np.float64]:
    count = len(values)
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, values.shape[1]))
    size = max(1, _BLOCK // count)
    for start in range(0, resamples, size):
        rows = min(size, resamples - start)
        chosen = rng.integers(count, size=(rows, count))
        places = (chosen + count * np.arange(rows)[:, None]).ravel()
        times = np.bincount(places, minlength=rows * count).reshape(rows, count)
        means[start : start + rows] = times @ values / count
    return means


def _bounds(drawn: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; choose a share between 0 and 1, such as 0.95")
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
