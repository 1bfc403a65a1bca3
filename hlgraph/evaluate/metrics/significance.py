"""Paired tests of two systems on the same questions: permutation test, Holm's correction, and the questions that a test needs.

References
----------
Smucker, Allan, Carterette: A Comparison of Statistical Significance Tests for Information Retrieval Evaluation. CIKM (2007).
Holm: A Simple Sequentially Rejective Multiple Test Procedure. Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError

PERMUTATIONS = 10_000
_EXACT = 13  # maximum number of questions that differ for which all assignments of signs are tried
_BLOCK = 1_000_000
_DIGITS = 12


def permutation_test(differences: NDArray[np.float64], *, permutations: int = PERMUTATIONS, seed: int = 0) -> float:
    """The two-sided p value of the paired permutation test (Fisher's randomisation test) for a mean difference of 0.

    If the two systems were alike, each difference could as well have the other sign. p is the share of assignments of
    signs whose mean is at least as far from 0: of all of them for up to 13 questions that differ, else of
    ``permutations`` drawn ones, of which the observed one is one more.

    Parameters
    ----------
    differences : value of one system minus that of the other, one a question
    permutations : number of drawn assignments, at least 100, default 10,000
    seed : seed of the draws, default 0

    Raises
    ------
    InputError
        There is no difference, one is not finite, or there are fewer than 100 permutations.

    Examples
    --------
    >>> permutation_test(np.array([1.0, 1.0, 1.0, 0.0]))
    0.25
    """
    if permutations < 100:
        raise InputError(f"{permutations} permutations are too few; use at least 100")
    if differences.ndim != 1 or not len(differences) or not np.isfinite(differences).all():
        raise InputError(f"a test needs one finite difference a question; got the shape {differences.shape}")
    some = differences[differences != 0].astype(np.float64)
    if not len(some):
        return 1.0
    observed = np.round(abs(some.sum()), _DIGITS)
    if len(some) <= _EXACT:
        signs = 1 - 2.0 * ((np.arange(2 ** len(some))[:, None] >> np.arange(len(some))) & 1)
        return float(np.mean(np.round(np.abs(signs @ some), _DIGITS) >= observed))
    rng = np.random.default_rng(seed)
    as_far, size = 0, max(1, _BLOCK // len(some))
    for start in range(0, permutations, size):
        rows = min(size, permutations - start)
        signs = 1 - 2.0 * rng.integers(2, size=(rows, len(some)))
        as_far += int((np.round(np.abs(signs @ some), _DIGITS) >= observed).sum())
    return (as_far + 1) / (permutations + 1)


def holm(values: Sequence[float]) -> tuple[float, ...]:
    """p values of several tests, corrected so that one false finding among them stays as rare as in one test (Holm).

    Parameters
    ----------
    values : p values, each from 0 to 1

    Returns
    -------
    tuple of float
        In the same order, at most 1.

    Raises
    ------
    InputError
        A value is not from 0 to 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    if not all(0 <= value <= 1 for value in values):
        raise InputError("p values are from 0 to 1")
    found = [0.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        found[place] = highest
    return tuple(found)


def needed_questions(difference: float, deviation: float, *, significance: float = 0.05, power: float = 0.8) -> int:
    """How many questions a paired test needs to find a mean difference, in the normal approximation.

    Parameters
    ----------
    difference : the mean difference that is to be found, not 0
    deviation : standard deviation of the differences of single questions, in the same unit
    significance : two-sided level of the test, default 0.05
    power : chance to find the difference if it is there, default 0.8

    Raises
    ------
    InputError
        The difference is 0, the deviation is negative, or a share is not between 0 and 1.

    Examples
    --------
    >>> needed_questions(0.02, 0.3)
    1766
    """
    if not difference or deviation < 0 or not (0 < significance < 1 and 0 < power < 1):
        raise InputError(
            f"difference {difference}, deviation {deviation}, significance {significance}, power {power}: give a "
            "difference other than 0, a deviation of at least 0, and shares between 0 and 1"
        )
    normal = NormalDist()
    reach = normal.inv_cdf(1 - significance / 2) + normal.inv_cdf(power)
    return max(1, math.ceil((reach * deviation / difference) ** 2))
