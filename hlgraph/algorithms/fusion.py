"""One ranking out of several. Ties break by id."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hlgraph.algorithms import check
from hlgraph.errors import InputError


def reciprocal_rank(
    rankings: Sequence[Sequence[str]], k: float = 60, *, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    r"""Fuse rankings by their ranks alone: :math:`\sum_i w_i / (k + r_i)`, :math:`r_i` the rank in ranking i from 1.

    O(n log n) in the number of ranked ids.

    Parameters
    ----------
    rankings
        Ids, best first; where one ranking holds an id twice, its first place counts.
    k
        How little the first ranks stand out.
    weights
        One weight a ranking, 0 or more; without, all are 1.

    Returns
    -------
    list
        Each id with its fused score, best first.

    Raises
    ------
    InputError
        k is not positive, a weight is negative, or the lengths differ.

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
    """Fuse scores: the weighted sum of each list's scores, moved to 0..1 by its own lowest and highest.

    An id that a list does not hold has 0 there; a list whose scores are all equal gives 1 to each. O(n log n).

    Parameters
    ----------
    score_lists
        Scores by id, higher is better; finite.
    weights
        One weight a list, 0 or more; without, all are 1.

    Returns
    -------
    list
        Each id with its fused score, best first.

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
                raise InputError(f"the score of {item!r} is {score}; fusing needs finite scores")
        low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        for item, score in scores.items():
            parts[item].append(weight * ((score - low) / (high - low) if high > low else 1.0))
    return _best_first(parts)


def _weights(count: int, weights: Sequence[float] | None) -> Iterable[float]:
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise InputError(f"{len(weights)} weights for {count} lists; give one a list")
    for weight in weights:
        check.not_negative("a weight", weight)
    return weights


def _best_first(parts: Mapping[str, Sequence[float]]) -> list[tuple[str, float]]:
    # fsum: the same parts in another order are the same sum to the last bit, else a tie would break by rounding.
    fused = [(item, math.fsum(values)) for item, values in parts.items()]
    return sorted(fused, key=lambda entry: (-entry[1], entry[0]))
