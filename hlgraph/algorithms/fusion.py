"""Fusion of several rankings into one, and the k best of one ranking, both in a reproducible order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError


def reciprocal_rank(
    rankings: Sequence[Sequence[str]], k: float = 60, *, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    r"""Fuse rankings by their ranks only: :math:`\sum_i w_i / (k + r_i)`, where :math:`r_i` is the rank in ranking i, from 1.

    O(n log n) time for n ranked ids.

    Parameters
    ----------
    rankings : each a sequence of ids, best first; if an id occurs twice in a ranking, its first rank counts
    k : constant that damps the advantage of the first ranks; above 0, default 60
    weights : one weight per ranking, 0 or more; default: all are 1

    Returns
    -------
    list
        Each id with its fused score, best first. Ties are ordered by rank in the first ranking, then in the next one; ids are
        never compared.

    Raises
    ------
    InputError
        ``k`` is not above 0, a weight is negative, or the lengths differ.

    Examples
    --------
    >>> [name for name, _ in reciprocal_rank([["a", "b", "c"], ["c", "b", "d"]])]
    ['c', 'b', 'a', 'd']

    References
    ----------
    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods.
    SIGIR 2009.
    """
    check.positive("k", k)
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise InputError(f"got {len(weights)} weights for {len(rankings)} rankings; give one weight per ranking")
    terms: defaultdict[str, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, weights, strict=True):
        check.not_negative("a weight", weight)
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            terms[key].append(weight / (k + rank))
    # fsum gives the same sum to the last bit in any order of the terms; otherwise rounding could break a tie.
    fused = [(key, math.fsum(values)) for key, values in terms.items()]
    return sorted(fused, key=lambda entry: -entry[1])  # stable: ties keep the order of ``terms``


def top_k(
    scores: NDArray[np.floating],
    k: int,
    *,
    tie_break: NDArray[np.str_] | NDArray[np.bytes_] | NDArray[np.integer] | None = None,
) -> NDArray[np.intp]:
    """Indices of the k highest scores, best first; equal scores are ordered by ``tie_break``.

    The result equals that of a full sort, in O(n + t log t) time, where t is k plus the number of ties at the k-th score: a
    partition separates the scores above the k-th, and only those and the ties are sorted.

    Parameters
    ----------
    scores : shape (n,), may contain infinities, but not NaN
    k : number of indices, 0 or more; all indices if there are fewer
    tie_break : shape (n,), one sort key per score, such as an id; lower keys come first. Without keys, or if keys are equal,
        lower indices come first

    Returns
    -------
    NDArray
        ``min(k, n)`` indices into ``scores``.

    Raises
    ------
    InputError
        A score is NaN, ``k`` is negative, or the lengths differ.

    Examples
    --------
    >>> top_k(np.array([0.5, 0.9, 0.5]), 2, tie_break=np.array(["b", "c", "a"]))
    array([1, 2])
    """
    check.not_negative("k", k)
    check.not_nan("scores", scores)
    if tie_break is not None:
        check.same_length(scores=scores, tie_break=tie_break)
    count = len(scores)
    if k == 0:
        return np.empty(0, dtype=np.intp)
    candidates = np.arange(count)
    if k < count:
        boundary = np.partition(scores, count - k)[count - k]
        above, ties = np.flatnonzero(scores > boundary), np.flatnonzero(scores == boundary)
        if tie_break is not None:
            ties = ties[np.argsort(tie_break[ties], kind="stable")]
        candidates = np.concatenate([above, ties[: k - len(above)]])
    # The sort is stable and candidates of equal score are in the order of their index, so equal keys keep that order.
    keys = (-scores[candidates],) if tie_break is None else (tie_break[candidates], -scores[candidates])
    return candidates[np.lexsort(keys)]
