"""Nodes of an undirected graph that have the same neighbours: walks treat them alike, so one can stand for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from hlgraph.subgraph import Csr


class Twins(NamedTuple):
    """Classes of nodes with equal weights to all other nodes, and to each other; most classes are of one node.

    Attributes
    ----------
    of : shape (n,), the class of each node
    sizes : shape (c,), how many nodes a class has
    loops : shape (c,), the weight between two nodes of a class over the degree of one; 0 where nothing joins them
    members : shape (n,), the nodes ordered by class, ascending in each
    starts : shape (c + 1,), where each class begins in ``members``
    """

    of: NDArray[np.intp]
    sizes: NDArray[np.float64]
    loops: NDArray[np.float64]
    members: NDArray[np.intp]
    starts: NDArray[np.intp]

    def merged(self, adjacency: Csr) -> Csr:
        """The graph of the classes: the weights between all nodes of two classes, and inside a class as a loop."""
        rows = np.repeat(self.of, np.diff(adjacency.indptr))
        made = sp.coo_array((adjacency.data, (rows, self.of[adjacency.indices])), shape=(len(self.sizes),) * 2)
        return sp.csr_array(made.tocsr())

    def ordered(self, order: NDArray[np.intp]) -> Twins:
        """The same classes in another order: ``order[i]`` is the class that comes to stand at ``i``."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        of = place[self.of]
        starts = np.concatenate([[0], np.cumsum(self.sizes[order])]).astype(np.intp)
        members = np.argsort(of, kind="stable").astype(np.intp)
        return Twins(of, self.sizes[order], self.loops[order], members, starts)

    def nodes(self, classes: NDArray[np.intp]) -> NDArray[np.intp]:
        """All nodes of some classes, in time linear in their number."""
        count = self.starts[classes + 1] - self.starts[classes]
        ends = np.cumsum(count)
        total = int(ends[-1]) if len(ends) else 0
        found: NDArray[np.intp] = self.members[np.arange(total) + np.repeat(self.starts[classes] - ends + count, count)]
        return found


def find_twins(adjacency: Csr) -> Twins:
    """The classes of twins, in time linear in the edges; nodes without edges stay by themselves.

    Rows are compared by sums of 64-bit hashes of their entries: two different rows are taken for equal with a chance of
    about the number of edges over 2^64.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric, no duplicates, float64

    Examples
    --------
    A star: its ends are twins. Merged, they weigh as much.

    >>> star = sp.csr_array(np.array([[0, 1.0, 1.0], [1.0, 0, 0], [1.0, 0, 0]]))
    >>> find_twins(star).of
    array([0, 1, 1])
    >>> find_twins(star).merged(star).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    size = adjacency.shape[0]
    rows = np.repeat(np.arange(size), np.diff(adjacency.indptr))
    columns = adjacency.indices
    weights = _mixed(adjacency.data.view(np.uint64))
    there, back = _mixed(weights ^ columns.astype(np.uint64)), _mixed(weights ^ rows.astype(np.uint64))
    has_edges = np.diff(adjacency.indptr) > 0
    sums = np.zeros(size, dtype=np.uint64)
    if has_edges.any():
        sums[has_edges] = np.add.reduceat(there, adjacency.indptr[:-1][has_edges])
    # Joined twins: without each other, their rows are equal. Others: their rows are.
    is_joined = (rows != columns) & (sums[rows] - there == sums[columns] - back)
    order = np.flatnonzero(has_edges)[np.argsort(sums[has_edges], kind="stable")]
    is_equal = sums[order[1:]] == sums[order[:-1]]
    a = np.concatenate([rows[is_joined], order[1:][is_equal]])
    b = np.concatenate([columns[is_joined], order[:-1][is_equal]])
    links = sp.csr_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(size, size))
    count, of = csgraph.connected_components(links, directed=False)
    of = of.astype(np.intp)
    loops = np.zeros(count)
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    loops[of[rows[is_joined]]] = adjacency.data[is_joined] / degrees[rows[is_joined]]
    sizes = np.bincount(of, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    return Twins(of, sizes.astype(np.float64), loops, np.argsort(of, kind="stable").astype(np.intp), starts)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each number: the finaliser of splitmix64 (Steele, Lea and Flood, 2014)."""
    found = values + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = found ^ (found >> np.uint64(31))
    return mixed
