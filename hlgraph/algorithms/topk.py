"""The k highest scores, exact and in a reproducible order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check


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
