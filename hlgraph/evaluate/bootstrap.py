"""The paired bootstrap: confidence intervals of means over questions and of differences of means. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError

RESAMPLES = 10_000
CONFIDENCE = 0.95
_BLOCK = 1_000_000  # draws held in memory at once
_DIGITS = 12  # rounding that makes sums of the same values in another order equal


class Interval(NamedTuple):
    """A mean and the bounds of its confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two means with its confidence interval and p value.

    Attributes
    ----------
    mean : mean of the first minus mean of the second
    low, high : bounds of the confidence interval
    p : two-sided p value, from 2 / (resamples + 1) to 1
    """

    mean: float
    low: float
    high: float
    p: float

    @property
    def is_noise(self) -> bool:
        """Whether the interval contains 0, so that the questions do not tell which of the two is better."""
        return self.low <= 0 <= self.high


class Resamples:
    """Means of columns of values over questions drawn with replacement, with the same draws for every column.

    Each resample draws as many questions as there are. Because all columns share the draws, the difference of two columns
    in a resample is a difference over the same questions, which makes the test a paired one.

    Parameters
    ----------
    values : array of shape (questions, columns)
    resamples : number of resamples, at least 100, default 10,000
    seed : seed of the draws, default 0; the same seed and number of questions give the same draws

    Raises
    ------
    InputError
        There is no question or no column, or fewer than 100 resamples.

    Notes
    -----
    Time is O(resamples * questions), drawn in blocks; memory is O(resamples * columns).

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
            raise InputError(f"{resamples} resamples are too few; use at least 100")
        self._means = values.mean(axis=0)
        self._drawn = _drawn_means(values, resamples, seed=seed)

    def interval(self, column: int, *, confidence: float = CONFIDENCE) -> Interval:
        """The mean of a column with its percentile interval.

        Parameters
        ----------
        column : index of the column
        confidence : share of resamples within the interval, between 0 and 1, default 0.95

        Raises
        ------
        InputError
            The confidence is not between 0 and 1.
        """
        low, high = _bounds(self._drawn[:, column], confidence)
        return Interval(float(self._means[column]), low, high)

    def difference(self, a: int, b: int, *, confidence: float = CONFIDENCE) -> Difference:
        """Column ``a`` minus column ``b``: the mean, its percentile interval and its p value.

        With B resamples and d the difference in one of them, p is twice the smaller of (#(d <= 0) + 1) / (B + 1) and
        (#(d >= 0) + 1) / (B + 1), at most 1. One minus p is the confidence at which the interval begins to contain 0.

        Parameters
        ----------
        a : index of the first column
        b : index of the second column
        confidence : share of resamples within the interval, between 0 and 1, default 0.95

        Raises
        ------
        InputError
            The confidence is not between 0 and 1.
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
