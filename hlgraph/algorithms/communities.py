"""Communities of a weighted undirected graph by the Leiden algorithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hlgraph.algorithms import check
from hlgraph.errors import InputError, MissingExtraError
from hlgraph.subgraph import Csr


class CommunityLevels(NamedTuple):
    """``levels``: shape (levels, n), int64; row 0 the coarsest partition, each next one inside the one before.

    A community is named by its smallest node, so equal partitions are equal arrays.
    """

    levels: NDArray[np.int64]

    @property
    def coarsest(self) -> NDArray[np.int64]:
        """One label a node."""
        found: NDArray[np.int64] = self.levels[0]
        return found

    @property
    def finest(self) -> NDArray[np.int64]:
        """One label a node."""
        found: NDArray[np.int64] = self.levels[-1]
        return found


def leiden(
    adjacency: Csr, *, resolution: float = 1.0, max_size: int | None = None, iterations: int = 2, seed: int = 0
) -> CommunityLevels:
    """Partitions that make modularity large; communities above ``max_size`` are divided again, level by level.

    One above it that the algorithm leaves whole, such as a clique, is cut into parts of nearly equal size.

    A node without edges is a community of its own. The same graph, parameters and seed give the same result. Time nearly
    linear in the number of edges for each iteration.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric, weights not negative
    resolution : above 1 more and smaller communities
    max_size : the most nodes of a community of the finest level; None: one level

    Raises
    ------
    InputError
        The adjacency is not symmetric, or a parameter is out of its bounds.
    MissingExtraError
        graspologic-native is not installed.

    References
    ----------
    Traag, Waltman and van Eck, From Louvain to Leiden, 2019.
    """
    check.positive("resolution", resolution)
    matrix = _checked(adjacency)
    labels = [_partition(matrix, resolution=resolution, iterations=iterations, seed=seed)]
    while max_size is not None:
        check.positive("max_size", max_size)
        finer = _divide(matrix, labels[-1], max_size=max_size, resolution=resolution, iterations=iterations, seed=seed)
        if np.array_equal(finer, labels[-1]):
            break
        labels.append(finer)
    return CommunityLevels(np.stack(labels))


def modularity(adjacency: Csr, labels: NDArray[np.integer], *, resolution: float = 1.0) -> float:
    """``Q = sum_c (w_c / m - r (k_c / 2m)^2)``: ``w_c`` the weight inside community c, ``k_c`` the degrees of its nodes.

    0 for a graph without edges. References: Newman and Girvan, 2004; Reichardt and Bornholdt, 2006 (resolution).

    Examples
    --------
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


def by_smallest_node(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The same partition, each community named by its smallest node.

    Examples
    --------
    >>> by_smallest_node(np.array([7, 3, 7]))
    array([0, 1, 0])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)


def capped(levels: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
    """Levels of which each next one divides only the communities above ``max_size`` of the one before, as the given ones do.

    Levels that change nothing are left out. The given levels need not lie inside each other: what two of them divide is
    divided. Some communities may stay above ``max_size``: the last row tells. Time linear in levels and nodes.

    Parameters
    ----------
    levels : shape (levels, n), the coarsest first

    Examples
    --------
    >>> capped(np.array([[0, 0, 0, 3], [0, 1, 1, 3], [0, 1, 2, 3]]), 2).tolist()
    [[0, 0, 0, 3], [0, 1, 1, 3]]
    """
    check.positive("max_size", max_size)
    found = [by_smallest_node(levels[0])]
    for row in levels[1:]:
        last = found[-1]
        is_large = np.bincount(last, minlength=len(last))[last] > max_size if len(last) else last.astype(bool)
        both = last * (int(row.max(initial=0)) + 1) + row
        finer = by_smallest_node(np.where(is_large, both, -1 - last))
        if not np.array_equal(finer, last):
            found.append(finer)
    return np.stack(found)


def extended(adjacency: Csr, labels: NDArray[np.integer], *, max_size: int, seed: int = 0) -> NDArray[np.int64]:
    """A partition kept as it is, with the nodes that are new in it: what is not new stays where it was.

    One after the other, each new node joins the community to which its edges weigh most (ties: the lower label), among those
    below twice ``max_size``. The new nodes without such an edge are partitioned among themselves by :func:`leiden`. Time
    linear in the edges of the new nodes.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; the edges of the new nodes are enough
    labels : shape (n,), not negative; -1: a new node

    Returns
    -------
    Shape (n,). Labels of old communities are the given ones; those of new communities are above all given ones.

    Examples
    --------
    >>> path = sp.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    >>> extended(path, np.array([5, 5, -1, -1]), max_size=10).tolist()
    [5, 5, 5, 5]
    """
    check.positive("max_size", max_size)
    found = np.asarray(labels, dtype=np.int64).copy()
    top = int(found.max(initial=-1))
    sizes = np.bincount(found[found >= 0], minlength=top + 1)
    for node in np.flatnonzero(found < 0):
        row = slice(adjacency.indptr[node], adjacency.indptr[node + 1])
        near, weights = found[adjacency.indices[row]], adjacency.data[row]
        is_open = near >= 0
        is_open[is_open] = sizes[near[is_open]] < 2 * max_size
        if is_open.any():
            names, inverse = np.unique(near[is_open], return_inverse=True)
            best = int(names[np.argmax(np.bincount(inverse, weights=weights[is_open]))])
            found[node] = best
            sizes[best] += 1
    rest = np.flatnonzero(found < 0)
    if len(rest):
        inside = leiden(sp.csr_array(adjacency[rest][:, rest]), max_size=max_size, seed=seed)
        found[rest] = inside.finest + top + 1
    return found


def at_most(levels: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first levels and the last, ``count`` in all where there are more; of one level it is the finest.

    Examples
    --------
    >>> at_most(np.array([[0, 0, 0], [0, 0, 2], [0, 1, 2]]), 2).tolist()
    [[0, 0, 0], [0, 1, 2]]
    """
    check.positive("count", count)
    return levels if len(levels) <= count else np.concatenate([levels[: count - 1], levels[-1:]])


def _checked(adjacency: Csr) -> Csr:
    rows, columns = adjacency.shape
    if rows != columns:
        raise InputError(f"the adjacency has the shape {adjacency.shape}; (n, n) is needed")
    check.finite("adjacency", adjacency.data)
    if (adjacency.data < 0).any():
        raise InputError("the adjacency has negative weights; modularity knows none")
    matrix = sp.csr_array(adjacency, dtype=np.float64)
    matrix.sum_duplicates()
    if matrix.nnz and abs(matrix - matrix.T).max() > 1e-6 * abs(matrix).max():
        raise InputError("the adjacency is not symmetric; give the graph in both directions")
    return matrix


def _partition(matrix: Csr, *, resolution: float, iterations: int, seed: int) -> NDArray[np.int64]:
    size = matrix.shape[0]
    labels = np.arange(size, dtype=np.int64)
    if not matrix.nnz:  # the library refuses a graph without edges
        return labels
    try:
        from graspologic_native import leiden_csr
    except ImportError as error:
        raise MissingExtraError("communities", "the Leiden algorithm in process") from error
    _, found = leiden_csr(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
        size,
        resolution=resolution,
        iterations=iterations,
        seed=seed,
    )
    nodes = np.fromiter(found.keys(), dtype=np.int64, count=len(found))
    labels[nodes] = np.fromiter(found.values(), dtype=np.int64, count=len(found)) + size
    return by_smallest_node(labels)


def _divide(
    matrix: Csr, labels: NDArray[np.int64], *, max_size: int, resolution: float, iterations: int, seed: int
) -> NDArray[np.int64]:
    finer = labels.copy()
    names, sizes = np.unique(labels, return_counts=True)
    for name in names[sizes > max_size]:
        members = np.flatnonzero(labels == name)
        inside = sp.csr_array(matrix[members][:, members])
        labels_inside = _partition(inside, resolution=resolution, iterations=iterations, seed=seed)
        if not labels_inside.any():
            labels_inside = _cut(inside, max_size)
        finer[members] = members[labels_inside]
    return finer


def _cut(matrix: Csr, max_size: int) -> NDArray[np.int64]:
    """Parts of nearly equal size, none above ``max_size``: nodes in an order that keeps neighbours close, cut evenly."""
    size = matrix.shape[0]
    order = reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=True)
    labels = np.empty(size, dtype=np.int64)
    labels[order] = np.arange(size) * -(-size // max_size) // size
    return by_smallest_node(labels)
