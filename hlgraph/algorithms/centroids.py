"""Vectors of groups of texts, from the vectors of their members and of their names: no encoder is asked."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

NAME_WEIGHT = 0.4
"""Share of the name in the vector of a group: more of it helps ``topic_graph``, less of it ``topic``."""


def named_centroids(
    names: NDArray[np.float32],
    members: NDArray[np.float32],
    *,
    group: NDArray[np.intp],
    member: NDArray[np.intp],
    name_weight: float = NAME_WEIGHT,
) -> NDArray[np.float32]:
    """The unit vector of each group: its name and the mean direction of its members, weighted.

    For a group with name ``n`` and members ``v``: ``unit(w * n + (1 - w) * unit(sum(v)))``. A group without members, or with
    members that cancel out, has the vector of its name. Sums are of double precision and in the order of the rows of
    ``members``, so the order of the pairs does not matter, nor do the other groups.

    Parameters
    ----------
    names : shape (n, d), unit rows
    members : shape (m, d), unit rows
    group, member : pairs of a row of ``names`` and a row of ``members``; a pair that comes twice counts once
    name_weight : share of the name, from 0 to 1

    Returns
    -------
    numpy.ndarray
        Shape (n, d), float32.

    Notes
    -----
    O(p d) time for p pairs.

    Examples
    --------
    >>> east, north = np.eye(2, dtype=np.float32)
    >>> pairs = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
    >>> named_centroids(np.stack([east, north]), north[None], group=pairs[0], member=pairs[1], name_weight=0.5).round(3)
    array([[0.707, 0.707],
           [0.   , 1.   ]], dtype=float32)
    """
    wide = names.astype(np.float64)
    if len(members) and len(group):
        links = sp.csr_array((np.ones(len(group)), (group, member)), shape=(len(names), len(members)))
        links.sum_duplicates()
        links.data[:] = 1.0
        sums = links @ members.astype(np.float64)
        is_grouped = np.linalg.norm(sums, axis=1) > _CANCELLED
        wide[is_grouped] = name_weight * wide[is_grouped] + (1 - name_weight) * _unit(sums[is_grouped])
    return _unit(wide).astype(np.float32)


_CANCELLED = 1e-6  # sums below this are rounding errors of members that cancel out


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1.0)
    return found
