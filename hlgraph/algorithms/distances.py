"""Distances in hops, by breadth-first search to a bounded depth, many nodes at once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr

_BLOCK = 64  # start nodes at once: what is held is nodes x block


def hops_from(adjacency: Csr, starts: NDArray[np.integer], *, max_hops: int) -> NDArray[np.int16]:
    """The distance from each start to every node, as far as ``max_hops``; ``max_hops + 1`` stands for all that is farther.

    Only whether there is an edge counts, not its weight. O(s m h) time for s starts, m edges and h hops; never all pairs.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric
    starts : shape (s,), nodes
    max_hops : 0 or more

    Returns
    -------
    NDArray
        Shape (s, n), int16.

    Raises
    ------
    InputError
        The adjacency is not square, a start is no node of it, or ``max_hops`` is negative.

    Examples
    --------
    >>> line = sp.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    >>> hops_from(line, np.array([0]), max_hops=2)
    array([[0, 1, 2, 3]], dtype=int16)
    """
    edges = checked_edges(adjacency)
    check.not_negative("max_hops", max_hops)
    wanted = checked_nodes("starts", starts, size=edges.shape[0])
    found = np.full((len(wanted), edges.shape[0]), max_hops + 1, dtype=np.int16)
    for at in range(0, len(wanted), _BLOCK):
        block = found[at : at + _BLOCK]
        frontier = np.zeros((edges.shape[0], len(block)), dtype=np.float32)
        frontier[wanted[at : at + _BLOCK], np.arange(len(block))] = 1
        block[frontier.T > 0] = 0
        for hops in range(1, max_hops + 1):
            is_new = ((edges @ frontier).T > 0) & (block > max_hops)
            block[is_new] = hops
            frontier = np.ascontiguousarray(is_new.T, dtype=np.float32)
    return found


def hops_to_any(adjacency: Csr, targets: NDArray[np.integer], *, max_hops: int) -> NDArray[np.int16]:
    """The distance from every node to the nearest target; parameters, bound and errors as for :func:`hops_from`.

    One search from all targets together: O(m h) time. Without targets every node is farther than ``max_hops``.

    Examples
    --------
    >>> line = sp.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    >>> hops_to_any(line, np.array([0, 3]), max_hops=3)
    array([0, 1, 1, 0], dtype=int16)
    """
    edges = checked_edges(adjacency)
    check.not_negative("max_hops", max_hops)
    found = np.full(edges.shape[0], max_hops + 1, dtype=np.int16)
    found[checked_nodes("targets", targets, size=edges.shape[0])] = 0
    for hops in range(1, max_hops + 1):
        is_new = (edges @ (found < hops).astype(np.float32) > 0) & (found > max_hops)
        if not is_new.any():
            break
        found[is_new] = hops
    return found


def hops_within(inside: NDArray[np.bool_], *, max_hops: int) -> NDArray[np.int16]:
    """All distances of a small graph given as a dense matrix; ``max_hops + 1`` for all that is farther.

    O(s^3 h) time for s nodes and h hops: for the few nodes of a result, not for a graph.

    Parameters
    ----------
    inside : shape (s, s), symmetric: whether there is an edge

    Examples
    --------
    >>> hops_within(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool), max_hops=2)
    array([[0, 1, 2],
           [1, 0, 1],
           [2, 1, 0]], dtype=int16)
    """
    size = len(inside)
    found = np.full((size, size), max_hops + 1, dtype=np.int16)
    np.fill_diagonal(found, 0)
    step = inside.astype(np.float32)
    for hops in range(1, max_hops + 1):
        is_new = ((found < hops).astype(np.float32) @ step > 0) & (found > max_hops)
        if not is_new.any():
            break
        found[is_new] = hops
    return found


def articulation_nodes(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which nodes of a small graph would, if taken out, leave more connected parts than there are.

    Depth-first search with the lowest place that each branch reaches back to. O(s^2) time for s nodes.

    Parameters
    ----------
    inside : shape (s, s), symmetric: whether there is an edge

    References
    ----------
    Hopcroft and Tarjan, Efficient algorithms for graph manipulation, 1973.

    Examples
    --------
    >>> articulation_nodes(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool))
    array([False,  True, False])
    """
    size = len(inside)
    neighbours = [np.flatnonzero(row).tolist() for row in inside]
    place, lowest = [-1] * size, [0] * size
    is_cut = np.zeros(size, dtype=bool)
    count = 0
    for root in range(size):
        if place[root] >= 0:
            continue
        branches = 0
        path = [(root, -1, iter(neighbours[root]))]
        place[root] = lowest[root] = count
        count += 1
        while path:
            node, parent, rest = path[-1]
            other = next(rest, None)
            if other is None:
                path.pop()
                if parent == root:
                    branches += 1
                elif parent >= 0 and lowest[node] >= place[parent]:
                    is_cut[parent] = True
                if parent >= 0:
                    lowest[parent] = min(lowest[parent], lowest[node])
            elif place[other] < 0:
                place[other] = lowest[other] = count
                count += 1
                path.append((other, node, iter(neighbours[other])))
            elif other != parent:
                lowest[node] = min(lowest[node], place[other])
        is_cut[root] = branches > 1
    return is_cut


def checked_edges(adjacency: Csr) -> Csr:
    """The edges of a graph, each 1. Raises InputError when the adjacency is not square."""
    rows, columns = adjacency.shape
    if rows != columns:
        raise InputError(f"the adjacency has the shape {adjacency.shape}; (n, n) is needed")
    if adjacency.dtype == np.float32 and (not adjacency.nnz or adjacency.data.min() > 0):
        return adjacency  # the sign of a sum of weights above 0 is that of a count
    edges = sp.csr_array(adjacency != 0, dtype=np.float32)
    edges.eliminate_zeros()
    return edges


def checked_nodes(name: str, nodes: NDArray[np.integer], *, size: int) -> NDArray[np.intp]:
    """The same nodes as indices. Raises InputError when one is none of a graph of this size."""
    found = np.asarray(nodes, dtype=np.intp)
    is_wrong = (found < 0) | (found >= size)
    if is_wrong.any():
        raise InputError(f"{name}: {found[is_wrong][0]} is no node of a graph of {size}; give indices from 0")
    return found
