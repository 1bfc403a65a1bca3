"""The part of a graph around seeds, by random walks with restart: the sampled form of personalised PageRank."""

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
    """How often random walks with restart visit each node, as shares that sum to 1.

    A walk begins at a seed, each as probable; it goes on with the probability ``damping`` to a neighbour, each as probable,
    and ends otherwise, or where there is no neighbour; then the next one begins. ``steps (1 - damping)`` walks are made, all
    side by side, so about ``steps`` nodes are visited. The expectation is the personalised PageRank of
    :func:`hlgraph.algorithms.ppr.exact_pagerank` with equal weights; the error falls with the root of ``steps``, while
    :func:`hlgraph.algorithms.push.local_pagerank` gives the same without chance, in less time. Time linear in ``steps``.

    Parameters
    ----------
    adjacency : CSR of shape (n, n); entries that are not 0 are edges, all alike
    seeds : shape (m,), indices of nodes, at least one
    rng : where chance comes from; the same state gives the same shares
    damping : from 0 to below 1; the paper's probability of a restart is ``1 - damping``, 0.15 in its authors' code

    Returns
    -------
    NDArray
        Shape (n,).

    Raises
    ------
    InputError
        There is no seed, or one, the damping or the steps are out of their bounds.

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
        raise InputError(f"the adjacency has the shape {adjacency.shape}; (n, n) is needed")
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
