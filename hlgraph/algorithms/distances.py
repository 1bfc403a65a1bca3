"""Compute hop distances between nodes, and nearest-neighbour graphs of vectors.

Hop distances come from a breadth-first search of bounded depth that starts from many nodes at once.
:func:`articulation_nodes` finds the articulation nodes of a small graph. :func:`similarity_graph` joins each vector to its
nearest neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr

_BLOCK = 64  # start nodes per block; memory is proportional to nodes x block


def hops_from(adjacency: Csr, starts: NDArray[np.integer], *, max_hops: int) -> NDArray[np.int16]:
    """Compute the hop distance from each start node to every node, up to ``max_hops``.

    Takes O(s m h) time for s start nodes, m edges and h hops.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    starts : shape (s,), indices of the start nodes
    max_hops : largest distance to compute, at least 0

    Returns
    -------
    NDArray
        Shape (s, n), int16; ``max_hops + 1`` means farther away or unreachable.

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
    distances = np.full((edges.shape[0], len(wanted)), max_hops + 1, dtype=np.int16)
    distances[wanted, np.arange(len(wanted))] = 0
    for at in range(0, len(wanted), _BLOCK):
        _spread(edges, distances[:, at : at + _BLOCK], max_hops)
    return distances.T


def _spread(edges: Csr | NDArray[np.float32], distances: NDArray[np.int16], max_hops: int, *, first: int = 1) -> None:
    """Fill each column in place with the hop distances from its nodes at distance 0; those below ``first`` are known."""
    for hops in range(first, max_hops + 1):
        is_new = (edges @ (distances < hops).astype(np.float32) > 0) & (distances > max_hops)
        if not is_new.any():
            break
        distances[is_new] = hops


def hops_to_any(adjacency: Csr, targets: NDArray[np.integer], *, max_hops: int) -> NDArray[np.int16]:
    """Compute the hop distance from every node to its nearest target, up to ``max_hops``.

    A single search starts from all targets at once. It takes O(m h) time for m edges and h hops.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    targets : shape (t,), node indices; if empty, every node is farther than ``max_hops``
    max_hops : largest distance to compute, at least 0

    Returns
    -------
    NDArray
        Shape (n,), int16; ``max_hops + 1`` means farther away or unreachable.

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
    distances = np.full(edges.shape[0], max_hops + 1, dtype=np.int16)
    distances[checked_nodes("targets", targets, size=edges.shape[0])] = 0
    _spread(edges, distances, max_hops)
    return distances


def hops_within(inside: NDArray[np.bool_], *, max_hops: int) -> NDArray[np.int16]:
    """Compute all pairwise hop distances of a small graph, given as a dense matrix.

    Takes O(s^3 h) time for s nodes and h hops. It is meant for the few nodes of a result, not for a whole graph.

    Parameters
    ----------
    inside : shape (s, s), symmetric; True if there is an edge
    max_hops : largest distance to compute, at least 0

    Returns
    -------
    NDArray
        Shape (s, s), int16; ``max_hops + 1`` means farther away or unreachable.

    Examples
    --------
    >>> hops_within(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool), max_hops=2)
    array([[0, 1, 2],
           [1, 0, 1],
           [2, 1, 0]], dtype=int16)
    """
    distances = np.where(inside, np.int16(1), np.int16(max_hops + 1))
    np.fill_diagonal(distances, 0)
    _spread(inside.astype(np.float32), distances, max_hops, first=2)
    return distances


def articulation_nodes(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find the articulation nodes of a small graph: those whose removal increases the number of connected components.

    A depth-first search tracks the lowest discovery number reachable from each subtree. It takes O(s^2) time for s nodes.

    Parameters
    ----------
    inside : shape (s, s), symmetric; True if there is an edge

    Returns
    -------
    NDArray
        Shape (s,), bool; True for an articulation node.

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
    """Return the adjacency as float32 with positive entries only, so that a sum above 0 means that there is an edge.

    Raises
    ------
    InputError
        The adjacency is not square.
    """
    check.square(adjacency)
    if adjacency.dtype == np.float32 and (not adjacency.nnz or adjacency.data.min() > 0):
        return adjacency  # a sum of positive weights is above 0 if and only if it has a term
    edges = sp.csr_array(adjacency != 0, dtype=np.float32)
    edges.eliminate_zeros()
    return edges


def checked_nodes(name: str, nodes: NDArray[np.integer], *, size: int) -> NDArray[np.intp]:
    """Validate node indices and return them as intp.

    Parameters
    ----------
    name : name of the argument, for the error message
    nodes : node indices of any integer type
    size : number of nodes in the graph

    Returns
    -------
    NDArray
        Same shape as ``nodes``.

    Raises
    ------
    InputError
        An index is negative, or not below ``size``.
    """
    indices = np.asarray(nodes, dtype=np.intp)
    is_wrong = (indices < 0) | (indices >= size)
    if is_wrong.any():
        raise InputError(f"{name}: {indices[is_wrong][0]} is not a node of a graph of {size} nodes; indices start at 0")
    return indices


EXACT = 10_000
"""Maximum number of rows for which all pairs are compared."""
_PAIR_BLOCK = 512  # rows compared at a time
_PROBES = 24  # cells whose rows a row is compared with
_SAMPLE = 64  # rows sampled per cell for k-means
_ROUNDS = 4  # iterations of k-means


class _Nearest(NamedTuple):
    """Pairs of a row and one of its nearest rows, with their cosine similarity."""

    rows: NDArray[np.intp]
    near: NDArray[np.intp]
    cosines: NDArray[np.float32]


def similarity_graph(
    rows: NDArray[np.float32],
    *,
    k: int = 10,
    threshold: float = 0.5,
    only: NDArray[np.intp] | None = None,
    rng: np.random.Generator | None = None,
    exact: int = EXACT,
) -> Csr:
    """Build the graph that joins each row to its ``k`` nearest rows.

    The weight is the cosine similarity, ``w_ij = s_ij``, if it is at least tau. Two rows are joined if either is among the
    nearest rows of the other.

    Up to ``exact`` rows, the nearest rows are exact. This takes O(n^2 d) time and bounded memory. Beyond that, k-means divides
    the rows into about sqrt(n) cells, and each row is compared with the rows of 24 nearby cells. This takes O(n sqrt(n) d)
    time. It finds most of the nearest rows, and nearly all of them if clusters are tight.

    Parameters
    ----------
    rows : unit vectors, shape (n, d)
    k : number of nearest rows, above 0, default 10
    threshold : tau, the minimum cosine of an edge, at least 0, default 0.5; orthogonal rows are never joined
    only : indices of rows to join (to any row); None: all rows
    rng : random generator for k-means; required beyond ``exact`` rows
    exact : maximum number of rows for which all pairs are compared, default 10,000

    Returns
    -------
    Csr
        Shape (n, n), float32, symmetric, without self-loops.

    Raises
    ------
    InputError
        ``k`` is not above 0, ``threshold`` is below 0, or ``rng`` is required and missing.

    Examples
    --------
    >>> similarity_graph(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]

    References
    ----------
    GraphMPA, section 3.1, Eq. 1 and 3, Algorithm 1.
    """
    check.positive("k", k)
    check.not_negative("threshold", threshold)
    wanted = np.arange(len(rows)) if only is None else np.unique(only)
    if len(rows) <= exact:
        pairs = _nearest(rows, wanted, np.arange(len(rows)), k=k, threshold=threshold)
    else:
        if rng is None:
            raise InputError(f"{len(rows)} rows are more than the {exact} whose pairs are all compared; pass rng")
        pairs = _by_cells(rows, wanted, k=k, threshold=threshold, rng=rng)
    shape = (len(rows), len(rows))
    half = sp.csr_array((pairs.cosines, (pairs.rows, pairs.near)), shape=shape, dtype=np.float32)
    graph = sp.csr_array(half.maximum(half.T))
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def _nearest(
    rows: NDArray[np.float32], wanted: NDArray[np.intp], among: NDArray[np.intp], *, k: int, threshold: float
) -> _Nearest:
    """Find the ``k`` nearest rows in ``among`` for each row of ``wanted``; ties go to the lower index."""
    parts = [_Nearest(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))]
    base = rows[among]
    for start in range(0, len(wanted), _PAIR_BLOCK):
        block = wanted[start : start + _PAIR_BLOCK]
        cosines = rows[block] @ base.T
        cosines[block[:, None] == among[None, :]] = -np.inf
        if cosines.shape[1] > k:
            # Keep all cosines at or above the k-th highest. Ties are resolved below.
            least = np.partition(cosines, -k, axis=1)[:, -k][:, None]
            cosines[cosines < least] = -np.inf
        row, column = np.nonzero(cosines >= threshold)
        values = cosines[row, column]
        order = np.lexsort((column, -values, row))
        row, column, values = row[order], column[order], values[order]
        place = np.arange(len(row)) - np.searchsorted(row, row)
        keep = place < k
        parts.append(_Nearest(block[row[keep]], among[column[keep]], values[keep].astype(np.float32)))
    return _Nearest(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _by_cells(
    rows: NDArray[np.float32], wanted: NDArray[np.intp], *, k: int, threshold: float, rng: np.random.Generator
) -> _Nearest:
    """Find the nearest rows within the nearest cells. A cell consists of the rows closest to one centre."""
    count = max(2, round(len(rows) ** 0.5))
    centres = _centres(rows, count, rng)
    cell = _closest(rows, centres, 1)[:, 0]
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(count + 1))
    reach = _closest(rows[wanted], centres, min(_PROBES, count))
    parts = [_Nearest(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))]
    # One matrix product compares all rows of a cell with the cells that are most often among the nearest cells of these rows.
    own = cell[wanted]
    for name in np.unique(own):
        inside = np.flatnonzero(own == name)
        cells, votes = np.unique(reach[inside], return_counts=True)
        chosen = cells[np.lexsort((cells, -votes))][:_PROBES]
        among = np.sort(
            np.concatenate(
                [order[starts[neighbour] : starts[neighbour + 1]] for neighbour in {*chosen.tolist(), int(name)}]
            )
        )
        parts.append(_nearest(rows, wanted[inside], among, k=k, threshold=threshold))
    return _Nearest(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _centres(rows: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Compute cell centres by a few iterations of spherical k-means on a sample of the rows."""
    sample = rows[np.sort(rng.choice(len(rows), size=min(len(rows), count * _SAMPLE), replace=False))]
    centres = sample[np.sort(rng.choice(len(sample), size=count, replace=False))].copy()
    for _ in range(_ROUNDS):
        nearest = _closest(sample, centres, 1)[:, 0]
        ones = sp.csr_array(
            (np.ones(len(sample), np.float32), (nearest, np.arange(len(sample)))), shape=(count, len(sample))
        )
        sums = np.asarray(ones @ sample, dtype=np.float32)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(length > 0, sums / np.maximum(length, 1e-12), centres).astype(np.float32)
    return centres


def _closest(rows: NDArray[np.float32], centres: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Find the ``count`` closest centres of each row, shape (rows, count)."""
    closest = np.empty((len(rows), count), dtype=np.intp)
    for start in range(0, len(rows), _PAIR_BLOCK):
        cosines = rows[start : start + _PAIR_BLOCK] @ centres.T
        closest[start : start + _PAIR_BLOCK] = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
    return closest
