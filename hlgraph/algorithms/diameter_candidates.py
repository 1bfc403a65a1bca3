"""Candidates of a search under a diameter bound: traversal guided by similarity, and pruning by radius (TopoRAG)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.distances import checked_edges, checked_nodes, hops_from
from hlgraph.subgraph import Csr


class Pruned(NamedTuple):
    """The candidates within the radius of all centers, in their given order, and the centers in the order of their use."""

    nodes: NDArray[np.intp]
    centers: NDArray[np.intp]


def guided_traversal(
    adjacency: Csr, similarities: NDArray[np.floating], *, entries: NDArray[np.integer], limit: int
) -> NDArray[np.intp]:
    """Nodes in best-first order: the next node is always the most similar one seen so far, ties by index.

    O(limit (n + degree)) time.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    similarities : shape (n,), finite
    entries : nodes at which the traversal begins
    limit : largest number of visited nodes, 1 or more

    Returns
    -------
    NDArray
        Distinct nodes in the order of their visits, at most ``limit``.

    Raises
    ------
    InputError
        The adjacency is not square, an entry is not a node of the graph, or the limit is below 1.

    References
    ----------
    TopoRAG, appendix B (the traversal that gives the candidates).
    """
    check.positive("limit", limit)
    edges = checked_edges(adjacency)
    seen = np.full(edges.shape[0], -np.inf)
    is_open = np.ones(edges.shape[0], dtype=bool)
    first = checked_nodes("entries", entries, size=edges.shape[0])
    seen[first] = similarities[first]
    order: list[int] = []
    while len(order) < limit and len(seen):
        node = int(seen.argmax())
        if seen[node] == -np.inf:
            break
        order.append(node)
        is_open[node] = False
        seen[node] = -np.inf
        others = edges.indices[edges.indptr[node] : edges.indptr[node + 1]]
        others = others[is_open[others]]
        seen[others] = similarities[others]
    return np.array(order, dtype=np.intp)


def prune_by_radius(
    adjacency: Csr,
    candidates: NDArray[np.integer],
    *,
    max_diameter: int,
    centers: int,
    rng: np.random.Generator | None = None,
) -> Pruned:
    """Algorithm 2: for each center, remove the candidates farther than D/2 from it, in hops of the whole graph.

    Each center is drawn from the candidates that the earlier ones left; without ``rng`` it is the first of them. The
    remaining candidates, centers included, are within D/2 of every center and so within D of each other in the whole graph
    (Lemma 1). For odd D the radius is (D - 1) / 2. O(R m D) time for m edges.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    candidates : shape (c,), nodes, the preferred centers first
    max_diameter : D, in hops, 1 or more
    centers : R, 1 or more
    rng : draws the centers; None: the first remaining candidate is the center

    Returns
    -------
    Pruned
        The remaining candidates and the centers, which are fewer than R when no unused candidate is left.

    Raises
    ------
    InputError
        The adjacency is not square, a candidate is not a node of the graph, or a number is below 1.

    References
    ----------
    TopoRAG, Algorithm 2 and Lemma 1.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> prune_by_radius(line, np.array([1, 4, 0, 2]), max_diameter=2, centers=1).nodes
    array([1, 0, 2])
    """
    check.positive("max_diameter", max_diameter)
    check.positive("centers", centers)
    left = checked_nodes("candidates", candidates, size=adjacency.shape[0])
    used: list[int] = []
    for _ in range(centers):
        fresh = left[~np.isin(left, used)]
        if not len(fresh):
            break
        center = int(fresh[0] if rng is None else rng.choice(fresh))
        used.append(center)
        radius = max_diameter // 2
        left = left[hops_from(adjacency, np.array([center]), max_hops=radius)[0, left] <= radius]
    return Pruned(left, np.array(used, dtype=np.intp))
