"""Partition of vectors into a few groups of similar direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from hlgraph.algorithms import check
from hlgraph.errors import InputError


def partition(vectors: NDArray[np.floating], groups: int) -> list[NDArray[np.intp]]:
    """Exactly ``min(groups, n)`` groups of vectors, by average linkage over cosine distances.

    The two closest groups are joined until ``groups`` are left. The distance of two groups is the mean of ``1 - cosine`` over
    their pairs; it is 1 for a vector of zeros. The paper does not say how its pool is divided; this is what its authors' code
    does. O(n^2) time and memory.

    Parameters
    ----------
    vectors : shape (n, d), finite
    groups : m, at least 1

    Returns
    -------
    list
        Ascending indices of each group; the groups are ordered by their first index.

    Raises
    ------
    InputError
        ``groups`` is below 1, the vectors do not have two dimensions, or a number is NaN or infinite.

    References
    ----------
    ToPG, section 2.3.3, step 4, and Algorithm 2, line 13.

    Examples
    --------
    >>> partition(np.array([[1, 0], [0, 1], [1, 0.1], [0.1, 1]]), 2)
    [array([0, 2]), array([1, 3])]
    """
    if groups < 1:
        raise InputError(f"groups is {groups}; it must be at least 1")
    if vectors.ndim != 2:
        raise InputError(f"the vectors have the shape {vectors.shape}; it must be (n, d)")
    check.finite("vectors", vectors)
    count = len(vectors)
    if count <= groups:
        return [np.array([at], dtype=np.intp) for at in range(count)]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0)
    # Rounded, so that distances that should be equal are equal on every machine, and ties follow the order of the vectors.
    distances = np.clip(1 - unit @ unit.T, 0, 2).round(9)
    merges = linkage(distances[np.triu_indices(count, 1)], method="average")
    held: dict[int, list[int]] = {at: [at] for at in range(count)}
    for number, (one, other) in enumerate(merges[: count - groups, :2].astype(int).tolist()):
        held[count + number] = held.pop(one) + held.pop(other)
    return sorted(
        (np.array(sorted(members), dtype=np.intp) for members in held.values()), key=lambda item: int(item[0])
    )
