"""Fusion of several rankings into one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError


def reciprocal_rank(
    rankings: Sequence[Sequence[str]], k: float = 60, *, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    r"""Fuse rankings by their ranks alone: :math:`\sum_i w_i / (k + r_i)`, where :math:`r_i` is the rank in ranking i, from 1.

    O(n log n) time for n ranked ids.

    Parameters
    ----------
    rankings : ids, best first; if a ranking contains an id twice, the first place counts
    k : damps the advantage of the first ranks, above 0, default 60
    weights : one weight per ranking, 0 or more; None: all are 1

    Returns
    -------
    list
        Each id with its fused score, best first; ties break by the rank in the first ranking, then in the next one, so that they
        are as independent of ids as the rankings are.

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
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, _weights(len(rankings), weights), strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            parts[item].append(weight / (k + rank))
    return _best_first(parts)


def weighted_sum(
    score_lists: Sequence[Mapping[str, float]], weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    """Fuse scores: the weighted sum of the scores of each list, scaled to 0..1 by the list's minimum and maximum.

    An id that a list lacks scores 0 there. A list with equal scores gives 1 to each of its ids. O(n log n) time for n scores.

    Parameters
    ----------
    score_lists : finite scores by id, higher is better
    weights : one weight per list, 0 or more; None: all are 1

    Returns
    -------
    list
        Each id with its fused score, best first; ties break by id.

    Raises
    ------
    InputError
        A score is not finite, a weight is negative, or the lengths differ.

    Examples
    --------
    >>> weighted_sum([{"a": 3.0, "b": 1.0, "c": 2.0}, {"b": 0.9}], [1.0, 0.25])
    [('a', 1.0), ('c', 0.5), ('b', 0.25)]
    """
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for scores, weight in zip(score_lists, _weights(len(score_lists), weights), strict=True):
        for item, score in scores.items():
            if not math.isfinite(score):
                raise InputError(f"the score of {item!r} is {score}; fusion needs finite scores")
        low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        for item, score in scores.items():
            parts[item].append(weight * ((score - low) / (high - low) if high > low else 1.0))
    return _best_first(dict(sorted(parts.items())))


def _weights(count: int, weights: Sequence[float] | None) -> Iterable[float]:
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise InputError(f"there are {len(weights)} weights for {count} lists; give one per list")
    for weight in weights:
        check.not_negative("a weight", weight)
    return weights


def _best_first(parts: Mapping[str, Sequence[float]]) -> list[tuple[str, float]]:
    # fsum gives the same sum to the last bit in any order of the parts; otherwise rounding would break a tie.
    fused = [(item, math.fsum(values)) for item, values in parts.items()]
    return sorted(fused, key=lambda entry: -entry[1])  # stable: of a tie the first one of ``parts``


# The k highest scores, exact and in a reproducible order.


def top_k(
    scores: NDArray[np.floating],
    k: int,
    *,
    tie_break: NDArray[np.str_] | NDArray[np.bytes_] | NDArray[np.integer] | None = None,
) -> NDArray[np.intp]:
    """The indices of the k highest scores, best first; equal scores are ordered by their key.

    A partition around the k-th score finds everything above it. Only the ties at that boundary and the k winners are sorted,
    so the result equals that of a full sort in O(n + t log t) time, where t is k plus the ties at the boundary.

    Parameters
    ----------
    scores : shape (n,), one score per item; infinities are allowed, NaN is not
    k : number of items, 0 or more; all items if there are fewer
    tie_break : shape (n,), one key per item (its id), the lower first; without keys, or for equal keys, the lower index first

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
