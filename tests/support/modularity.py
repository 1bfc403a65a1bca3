"""The modularity of a partition, by which tests compare communities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlgraph.subgraph import Csr


def modularity(adjacency: Csr, labels: NDArray[np.integer], *, resolution: float = 1.0) -> float:
    """``Q = sum_c (w_c / m - r (k_c / 2m)^2)``; a graph without edges has the modularity 0.

    ``w_c`` is the weight of the edges inside community c, ``k_c`` the sum of the degrees of its nodes, ``m`` the weight of all
    edges and ``r`` the resolution (Newman and Girvan, 2004; Reichardt and Bornholdt, 2006).

    >>> import scipy.sparse as sp
    >>> two = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2)) - np.eye(2)))
    >>> modularity(two, np.array([0, 0, 2, 2]))
    0.5
    """
    total = float(adjacency.sum())
    if total == 0:
        return 0.0
    edges = adjacency.tocoo()
    inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    sums = np.bincount(np.unique(labels, return_inverse=True)[1], weights=degrees)
    return inside / total - resolution * float(((sums / total) ** 2).sum())
