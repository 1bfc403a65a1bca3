"""The k highest scores, exactly and always in the same order."""

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
    """The indices of the k highest scores, best first; among equal scores the lower key comes first.

    A partition around the k-th score finds everything above it; only the ties at that boundary and the k winners are
    sorted, so the result is that of a full sort: O(n + t log t), t = k + the ties at the boundary.

    Parameters
    ----------
    scores
        One score an item; infinities are allowed, NaN is not.
    k
        How many, 0 or more; all items when there are fewer.
    tie_break
        One key an item (its id); without, or among equal keys, the lower index comes first.

    Returns
    -------
    NDArray
        ``min(k, n)`` indices into ``scores``.

    Raises
    ------
    InputError
        A score is NaN, k is negative, or the lengths differ.

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
    # Stable, and the candidates of one score stand in the order of their index: equal keys keep it.
    keys = (-scores[candidates],) if tie_break is None else (tie_break[candidates], -scores[candidates])
    return candidates[np.lexsort(keys)]
