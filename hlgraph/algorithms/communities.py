"""Partitions of graphs and of vectors.

:func:`leiden` finds communities of a weighted undirected graph; other functions measure, limit and extend such partitions.
:func:`partition` divides vectors into a few groups of similar direction, by average linkage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError, needs_extra
from hlgraph.subgraph import Csr

_ITERATIONS = 2  # of the Leiden algorithm, per partition


class CommunityLevels(NamedTuple):
    """Nested partitions of the nodes.

    A community is named by its smallest node, so equal partitions are equal arrays.

    Attributes
    ----------
    levels : shape (l, n), int64; row 0 is the coarsest partition and each row refines the one before it
    """

    levels: NDArray[np.int64]

    @property
    def finest(self) -> NDArray[np.int64]:
        """The label of each node in the finest partition, shape (n,)."""
        labels: NDArray[np.int64] = self.levels[-1]
        return labels


def leiden(adjacency: Csr, *, resolution: float = 1.0, max_size: int | None = None, seed: int = 0) -> CommunityLevels:
    """Partitions of high modularity; communities above ``max_size`` are divided again, level by level.

    A community above ``max_size`` that the algorithm leaves whole, such as a clique, is cut into parts of nearly equal size.
    A node without edges is a community of its own. The same graph, parameters and seed give the same result. Each iteration
    takes time nearly linear in the number of edges.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric, weights not negative
    resolution : above 0, default 1; a higher value gives more and smaller communities
    max_size : largest number of nodes of a community on the finest level; None (default): one level
    seed : seed of the random number generator, default 0

    Returns
    -------
    CommunityLevels
        One row per level, the coarsest first.

    Raises
    ------
    InputError
        The adjacency is not square and symmetric, a weight is negative or not finite, or a parameter is out of its bounds.
    MissingExtraError
        graspologic-native is not installed.

    References
    ----------
    Traag, Waltman and van Eck, From Louvain to Leiden, 2019.
    """
    check.positive("resolution", resolution)
    matrix = _checked(adjacency)
    partitioned = partial(_partition, resolution=resolution, seed=seed)
    labels = [partitioned(matrix)]
    while max_size is not None:
        check.positive("max_size", max_size)
        finer = _divide(matrix, labels[-1], max_size, partitioned)
        if np.array_equal(finer, labels[-1]):
            break
        labels.append(finer)
    return CommunityLevels(np.stack(labels))


def by_smallest_node(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The same partition with each community named by its smallest node; O(n log n).

    Parameters
    ----------
    labels : shape (n,), any integers

    Examples
    --------
    >>> by_smallest_node(np.array([7, 3, 7]))
    array([0, 1, 0])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)


def capped(levels: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
    """Nested levels in which only communities above ``max_size`` are divided further, along the given levels.

    A community above ``max_size`` is divided into its intersections with the communities of the next given level, so the
    given levels need not be nested. A level that changes nothing is left out. Some communities may stay above ``max_size`` in
    the last row. Time O(l n log n) for l levels of n nodes.

    Parameters
    ----------
    levels : shape (l, n), the coarsest first
    max_size : a community of at most this many nodes is not divided, above 0

    Returns
    -------
    NDArray
        Shape (at most l, n), int64; each community is named by its smallest node.

    Raises
    ------
    InputError
        ``max_size`` is not above 0.

    Examples
    --------
    >>> capped(np.array([[0, 0, 0, 3], [0, 1, 1, 3], [0, 1, 2, 3]]), 2).tolist()
    [[0, 0, 0, 3], [0, 1, 1, 3]]
    """
    check.positive("max_size", max_size)
    refined = [by_smallest_node(levels[0])]
    for row in levels[1:]:
        last = refined[-1]
        is_large = np.bincount(last, minlength=len(last))[last] > max_size if len(last) else last.astype(bool)
        both = last * (int(row.max(initial=0)) + 1) + row
        finer = by_smallest_node(np.where(is_large, both, -1 - last))
        if not np.array_equal(finer, last):
            refined.append(finer)
    return np.stack(refined)


def extended(adjacency: Csr, labels: NDArray[np.integer], *, max_size: int, seed: int = 0) -> NDArray[np.int64]:
    """A partition extended by new nodes; every old node keeps its community.

    New nodes are placed one after the other. Each joins the community to which its edges weigh most (ties: the lower label),
    among communities of fewer than ``2 max_size`` nodes. New nodes without such an edge are partitioned among themselves by
    :func:`leiden`. Time linear in the edges of the new nodes.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; the edges of the new nodes suffice
    labels : shape (n,), the community of each old node, 0 or above; -1 for a new node
    max_size : largest size of a new community, above 0; an old one takes new nodes up to twice this size
    seed : seed of the random number generator of :func:`leiden`, default 0

    Returns
    -------
    NDArray
        Shape (n,), int64. Old communities keep their labels; the labels of new communities are above all given ones.

    Raises
    ------
    InputError
        ``max_size`` is not above 0.
    MissingExtraError
        graspologic-native is not installed and new nodes have to be partitioned.

    Examples
    --------
    >>> path = sp.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    >>> extended(path, np.array([5, 5, -1, -1]), max_size=10).tolist()
    [5, 5, 5, 5]
    """
    check.positive("max_size", max_size)
    partition_of = np.asarray(labels, dtype=np.int64).copy()
    top = int(partition_of.max(initial=-1))
    sizes = np.bincount(partition_of[partition_of >= 0], minlength=top + 1)
    for node in np.flatnonzero(partition_of < 0):
        row = slice(adjacency.indptr[node], adjacency.indptr[node + 1])
        near, weights = partition_of[adjacency.indices[row]], adjacency.data[row]
        is_open = near >= 0
        is_open[is_open] = sizes[near[is_open]] < 2 * max_size
        if is_open.any():
            names, inverse = np.unique(near[is_open], return_inverse=True)
            best = int(names[np.argmax(np.bincount(inverse, weights=weights[is_open]))])
            partition_of[node] = best
            sizes[best] += 1
    rest = np.flatnonzero(partition_of < 0)
    if len(rest):
        inside = leiden(sp.csr_array(adjacency[rest][:, rest]), max_size=max_size, seed=seed)
        partition_of[rest] = inside.finest + top + 1
    return partition_of


def at_most(levels: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """At most ``count`` levels: the coarsest ``count - 1`` and the finest.

    Parameters
    ----------
    levels : shape (l, n), the coarsest first
    count : largest number of levels, 1 or more; 1 keeps the finest

    Returns
    -------
    NDArray
        Shape (min(l, count), n).

    Raises
    ------
    InputError
        ``count`` is not above 0.

    Examples
    --------
    >>> at_most(np.array([[0, 0, 0], [0, 0, 2], [0, 1, 2]]), 2).tolist()
    [[0, 0, 0], [0, 1, 2]]
    """
    check.positive("count", count)
    return levels if len(levels) <= count else np.concatenate([levels[: count - 1], levels[-1:]])


def _checked(adjacency: Csr) -> Csr:
    check.square(adjacency)
    check.finite("adjacency", adjacency.data)
    if (adjacency.data < 0).any():
        raise InputError("the adjacency has negative weights; modularity needs weights of 0 or above")
    matrix = sp.csr_array(adjacency, dtype=np.float64)
    matrix.sum_duplicates()
    if matrix.nnz and abs(matrix - matrix.T).max() > 1e-6 * abs(matrix).max():
        raise InputError(
            "the adjacency is not symmetric; add its transpose, so that each edge is there in both directions"
        )
    return matrix


def _partition(matrix: Csr, *, resolution: float, seed: int) -> NDArray[np.int64]:
    size = matrix.shape[0]
    labels = np.arange(size, dtype=np.int64)
    if not matrix.nnz:  # the library rejects a graph without edges
        return labels
    with needs_extra("communities", "the Leiden algorithm in process"):
        from graspologic_native import leiden_csr
    _, clusters = leiden_csr(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
        size,
        resolution=resolution,
        iterations=_ITERATIONS,
        seed=seed,
    )
    nodes = np.fromiter(clusters.keys(), dtype=np.int64, count=len(clusters))
    labels[nodes] = np.fromiter(clusters.values(), dtype=np.int64, count=len(clusters)) + size
    return by_smallest_node(labels)


def _divide(
    matrix: Csr, labels: NDArray[np.int64], max_size: int, partitioned: Callable[[Csr], NDArray[np.int64]]
) -> NDArray[np.int64]:
    finer = labels.copy()
    names, sizes = np.unique(labels, return_counts=True)
    for name in names[sizes > max_size]:
        members = np.flatnonzero(labels == name)
        inside = sp.csr_array(matrix[members][:, members])
        labels_inside = partitioned(inside)
        if not labels_inside.any():
            labels_inside = _cut(inside, max_size)
        finer[members] = members[labels_inside]
    return finer


def _cut(matrix: Csr, max_size: int) -> NDArray[np.int64]:
    """Parts of nearly equal size, at most ``max_size``: nodes in an order that keeps neighbours close, cut evenly."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    size = matrix.shape[0]
    order = reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=True)
    labels = np.empty(size, dtype=np.int64)
    labels[order] = np.arange(size) * -(-size // max_size) // size
    return by_smallest_node(labels)


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
    from scipy.cluster.hierarchy import linkage  # with it comes much that no other function needs

    check.at_least(1, groups=groups)
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
    clusters: dict[int, list[int]] = {at: [at] for at in range(count)}
    for number, (one, other) in enumerate(merges[: count - groups, :2].astype(int).tolist()):
        clusters[count + number] = clusters.pop(one) + clusters.pop(other)
    return sorted(
        (np.array(sorted(members), dtype=np.intp) for members in clusters.values()), key=lambda members: int(members[0])
    )
