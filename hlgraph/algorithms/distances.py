"""Distances in hops, by breadth-first search of bounded depth from many nodes at once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr

_BLOCK = 64  # start nodes per block: memory is nodes x block


def hops_from(adjacency: Csr, starts: NDArray[np.integer], *, max_hops: int) -> NDArray[np.int16]:
    """The distance in hops from each start to every node, up to ``max_hops``.

    O(s m h) time for s starts, m edges and h hops; never all pairs.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    starts : shape (s,), nodes
    max_hops : largest distance that is told apart, 0 or more

    Returns
    -------
    NDArray
        Shape (s, n), int16; ``max_hops + 1`` stands for every larger distance.

    Raises
    ------
    InputError
        The adjacency is not square, a start is not a node of the graph, or ``max_hops`` is negative.

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
    """The distance in hops from every node to its nearest target, up to ``max_hops``.

    One search runs from all targets together: O(m h) time for m edges and h hops.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    targets : shape (t,), nodes; without targets every node is farther than ``max_hops``
    max_hops : largest distance that is told apart, 0 or more

    Returns
    -------
    NDArray
        Shape (n,), int16; ``max_hops + 1`` stands for every larger distance.

    Raises
    ------
    InputError
        The adjacency is not square, a target is not a node of the graph, or ``max_hops`` is negative.

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
    """All pairwise distances in hops of a small graph, given as a dense matrix.

    O(s^3 h) time for s nodes and h hops: meant for the few nodes of a result, not for a whole graph.

    Parameters
    ----------
    inside : shape (s, s), symmetric; True where there is an edge
    max_hops : largest distance that is told apart, 0 or more

    Returns
    -------
    NDArray
        Shape (s, s), int16; ``max_hops + 1`` stands for every larger distance.

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
    """The articulation nodes of a small graph: those whose removal increases the number of connected components.

    Depth-first search that tracks the lowest discovery number reachable from each branch. O(s^2) time for s nodes.

    Parameters
    ----------
    inside : shape (s, s), symmetric; True where there is an edge

    Returns
    -------
    NDArray
        Shape (s,), bool.

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
    """The adjacency in float32 with positive entries alone, whose sums tell whether there is an edge.

    Raises
    ------
    InputError
        The adjacency is not square.
    """
    rows, columns = adjacency.shape
    if rows != columns:
        raise InputError(f"the adjacency has the shape {adjacency.shape}; it must be square, (n, n)")
    if adjacency.dtype == np.float32 and (not adjacency.nnz or adjacency.data.min() > 0):
        return adjacency  # a sum of positive weights is positive exactly where a count of edges is
    edges = sp.csr_array(adjacency != 0, dtype=np.float32)
    edges.eliminate_zeros()
    return edges


def checked_nodes(name: str, nodes: NDArray[np.integer], *, size: int) -> NDArray[np.intp]:
    """The nodes as indices of type intp, checked.

    Parameters
    ----------
    name : the argument, for the message
    nodes : of any integer type
    size : number of nodes of the graph

    Returns
    -------
    NDArray
        Shape of ``nodes``.

    Raises
    ------
    InputError
        A node is negative, or not below ``size``.
    """
    found = np.asarray(nodes, dtype=np.intp)
    is_wrong = (found < 0) | (found >= size)
    if is_wrong.any():
        raise InputError(f"{name}: {found[is_wrong][0]} is not a node of a graph of {size} nodes; indices start at 0")
    return found
