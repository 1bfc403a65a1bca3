"""Sampled personalised PageRank: how often random walks with restart visit each node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


def visit_shares(
    adjacency: Csr,
    seeds: NDArray[np.integer],
    *,
    rng: np.random.Generator,
    damping: float = 0.85,
    steps: int = 20_000,
) -> NDArray[np.float64]:
    """Shares of visits of random walks with restart to each node; they sum to 1.

    A walk starts at a seed drawn uniformly. With probability ``damping`` it moves to a neighbour drawn uniformly; otherwise,
    and at a node without neighbours, it ends. ``steps (1 - damping)`` walks run side by side, so they make about ``steps``
    visits in all. The expectation is the personalised PageRank of :func:`hlgraph.algorithms.ppr.exact_pagerank` with equal
    weights, and the error falls with the square root of ``steps``. :func:`hlgraph.algorithms.push.local_pagerank` computes
    the same without randomness in less time. Time linear in ``steps``.

    Parameters
    ----------
    adjacency : CSR of shape (n, n); every stored entry is an edge, weights are ignored
    seeds : shape (m,), indices of nodes, at least one
    rng : random number generator; the same state gives the same shares
    damping : from 0 to below 1, default 0.85; the paper's restart probability is ``1 - damping``, 0.15 in its authors' code
    steps : expected number of visits, above 0, default 20,000

    Returns
    -------
    NDArray
        Shape (n,), float64.

    Raises
    ------
    InputError
        There is no seed, or a seed, the damping or the steps are out of their bounds.

    References
    ----------
    ToPG, section 2.2, "Subgraph Extraction" (GExtract).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> visit_shares(line, np.array([0]), rng=np.random.default_rng(5), damping=0.5, steps=100_000).round(2)
    array([0.58, 0.33, 0.08])
    """
    size = adjacency.shape[0]
    if adjacency.shape != (size, size):
        raise InputError(f"the adjacency has the shape {adjacency.shape}; it must be square, (n, n)")
    if not len(seeds) or seeds.min() < 0 or seeds.max() >= size:
        raise InputError(f"seeds must be at least one index from 0 to below {size}")
    if not 0 <= damping < 1:
        raise InputError(f"damping is {damping}; it must be from 0 to below 1")
    check.positive("steps", steps)
    visits = np.zeros(size, dtype=np.int64)
    starts, degrees = adjacency.indptr[:-1].astype(np.intp), np.diff(adjacency.indptr)
    here = np.asarray(seeds, dtype=np.intp)[rng.integers(len(seeds), size=max(1, round(steps * (1 - damping))))]
    while len(here):
        visits += np.bincount(here, minlength=size)
        here = here[(rng.random(len(here)) < damping) & (degrees[here] > 0)]
        place = (rng.random(len(here)) * degrees[here]).astype(np.intp)
        here = adjacency.indices[starts[here] + place].astype(np.intp)
    shares: NDArray[np.float64] = visits / visits.sum()
    return shares
