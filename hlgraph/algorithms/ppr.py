"""Personalised PageRank by power iteration on a sparse adjacency."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


class Ranking(NamedTuple):
    """Scores of nodes that sum to 1; ``has_converged`` is False when the iterations ran out first."""

    scores: NDArray[np.float64]
    iterations: int
    has_converged: bool


def personalised_pagerank(
    adjacency: Csr,
    seed_weights: NDArray[np.floating],
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    max_iterations: int = 100,
) -> Ranking:
    """The stationary distribution of a walk that follows edges by weight and goes back to the seeds.

    ``p = (1 - d) s + d (W' p + m s)``: ``s`` the seed weights over their sum, ``W`` the adjacency with rows that sum to 1,
    ``m`` the mass on nodes without edges, which goes back to the seeds too. Iterated from ``p = s`` until the sum of
    absolute changes is at most ``tolerance``. Each iteration takes time linear in the number of edges.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), weights not negative; row to column is the direction of the walk
    seed_weights : shape (n,), not negative, not all zero
    damping : the probability to go on, from 0 to below 1

    Raises
    ------
    InputError
        A shape, weight or parameter is out of its bounds.

    References
    ----------
    Haveliwala, Topic-Sensitive PageRank, 2002. PropRAG (stage 1), ToPG (Eq. 4) and HippoRAG walk on the same chain.

    Examples
    --------
    >>> line = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32))
    >>> personalised_pagerank(line, np.array([1.0, 0, 0]), damping=0.5).scores.round(3)
    array([0.583, 0.333, 0.083])
    """
    _check(adjacency, seed_weights, damping)
    check.positive("tolerance", tolerance)
    seeds = np.asarray(seed_weights, dtype=np.float64)
    seeds = seeds / seeds.sum()
    sums = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    is_dangling = sums == 0
    weights = np.repeat(1 / np.where(is_dangling, 1, sums), np.diff(adjacency.indptr)) * adjacency.data
    # Rows of the one are columns of the other: nothing is moved.
    backwards = sp.csc_array((weights, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    scores = seeds
    for iteration in range(1, max_iterations + 1):
        back = 1 - damping + damping * scores[is_dangling].sum()
        following = back * seeds + damping * (backwards @ scores)
        change = float(np.abs(following - scores).sum())
        scores = following
        if change <= tolerance:
            return Ranking(scores, iteration, has_converged=True)
    return Ranking(scores, max_iterations, has_converged=False)


def _check(adjacency: Csr, seed_weights: NDArray[np.floating], damping: float) -> None:
    rows, columns = adjacency.shape
    if rows != columns or seed_weights.shape != (rows,):
        raise InputError(
            f"the adjacency has the shape {adjacency.shape} and seed_weights {seed_weights.shape}; (n, n) and (n,) are needed"
        )
    check.finite("seed_weights", seed_weights)
    check.finite("adjacency", adjacency.data)
    if (adjacency.data < 0).any():
        raise InputError("the adjacency has negative weights; a walk cannot follow them")
    if (seed_weights < 0).any() or not seed_weights.sum() > 0:
        raise InputError("seed_weights must not be negative, and at least one must be above 0")
    if not 0 <= damping < 1:
        raise InputError(f"damping is {damping}; it must be from 0 to below 1")
