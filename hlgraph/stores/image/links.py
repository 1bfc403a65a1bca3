"""The links of one relationship in both directions, as arrays in memory or in mapped files; a pull reads only what it visits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.subgraph import Csr

BLOCK = 1_000_000
"""Number of links processed at once, so that the working memory of a pull does not grow with the graph."""

_WINDOW = 8  # links of a hub that are read first, as a multiple of the fan-out


NeighbourCheck: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Tells which of some nodes a pull may enter."""


Pairs: TypeAlias = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.float32]]
"""Links as three arrays: start, end, weight."""


class Gathered(NamedTuple):
    """The links of some nodes.

    Attributes
    ----------
    owner : position of the start node in the nodes asked for
    target : end node
    weight : weight of the link
    """

    owner: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float32]


class Way(Protocol):
    """Links in one direction; the targets of a node are ascending and distinct."""

    @property
    def size(self) -> int:
        """The number of nodes."""

    @property
    def total(self) -> int:
        """The number of links."""

    def counts(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of links of each of these nodes."""

    def of(self, nodes: NDArray[np.int64], *, most: int | None = None) -> Gathered:
        """The links of these nodes, in their order. Time and memory are linear in the result.

        Parameters
        ----------
        nodes : nodes whose links are wanted
        most : maximum number of links of one node, by ascending target; None: all
        """

    def plain(self) -> OneWay:
        """All links, as arrays."""

    def matrix(self) -> Csr:
        """All links as a sparse matrix, copied."""


class OneWay(NamedTuple):
    """Links in one direction, as CSR: node ``i`` has ``starts[i]`` to ``starts[i + 1]``, targets ascending and distinct.

    Attributes
    ----------
    starts : shape (n + 1,), int64
    targets : shape (m,), int32
    weights : shape (m,), float32
    """

    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.float32]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.starts) - 1

    @property
    def total(self) -> int:
        """The number of links."""
        return len(self.targets)

    def counts(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :meth:`Way.counts`."""
        found: NDArray[np.int64] = self.starts[nodes + 1] - self.starts[nodes]
        return found

    def of(self, nodes: NDArray[np.int64], *, most: int | None = None) -> Gathered:
        """See :meth:`Way.of`."""
        count = self.counts(nodes) if most is None else np.minimum(self.counts(nodes), most)
        ends = np.cumsum(count)
        total = int(ends[-1]) if len(ends) else 0
        at = np.arange(total) + np.repeat(self.starts[nodes] - ends + count, count)
        return Gathered(np.repeat(np.arange(len(nodes)), count), self.targets[at].astype(np.int64), self.weights[at])

    def plain(self) -> OneWay:
        """See :meth:`Way.plain`."""
        return self

    def matrix(self) -> Csr:
        """See :meth:`Way.matrix`."""
        parts = (np.array(self.weights), np.array(self.targets), np.array(self.starts))
        return sp.csr_array(parts, shape=(self.size, self.size))


class Links(NamedTuple):
    """The links of one relationship.

    Attributes
    ----------
    there : in the direction of the relationship
    back : in the opposite direction
    is_even : whether all weights are equal
    """

    there: Way
    back: Way
    is_even: bool = False

    def induced(self, nodes: NDArray[np.int64]) -> Csr:
        """The links between these nodes, as a matrix in their order; ``nodes`` must be ascending.

        Reads the direction in which the nodes have fewer links, a block at a time.
        """
        size = len(nodes)
        counts = self.there.counts(nodes), self.back.counts(nodes)
        is_back = int(counts[1].sum()) < int(counts[0].sum())
        found: list[Gathered] = []
        for first, last in blocks(counts[is_back]):
            some = (self.back if is_back else self.there).of(nodes[first:last])
            at = np.minimum(np.searchsorted(nodes, some.target), size - 1)
            keep = nodes[at] == some.target
            found.append(Gathered(some.owner[keep] + first, at[keep], some.weight[keep]))
        if not found:
            return sp.csr_array((size, size), dtype=np.float32)
        one, other, weight = (np.concatenate(part) for part in zip(*found, strict=True))
        ends = np.zeros(size + 1, dtype=np.int32)
        np.cumsum(np.bincount(one, minlength=size), out=ends[1:])
        parts = (weight, other.astype(np.int32), ends)  # already ordered by row, without duplicates
        return sp.csc_array(parts, shape=(size, size)).tocsr() if is_back else sp.csr_array(parts, shape=(size, size))


def in_memory(matrix: Csr) -> Links:
    """The links that a node-by-node matrix describes."""
    ways = []
    for one in (matrix, sp.csr_array(matrix.T)):
        one.sum_duplicates()
        ways.append(OneWay(one.indptr.astype(np.int64), one.indices.astype(np.int32), one.data.astype(np.float32)))
    return Links(ways[0], ways[1])


def blocks(counts: NDArray[np.int64], most: int | None = None) -> Iterator[tuple[int, int]]:
    """Half-open ranges of rows that together have about ``most`` links; a larger row is a range of its own.

    Parameters
    ----------
    counts : links of each row
    most : number of links; None: ``BLOCK``
    """
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        held = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, held + (most or BLOCK), side="right")), first + 1)
        yield first, last
        first = last


def strongest(
    links: list[Links], nodes: NDArray[np.int64], *, fan_out: int, may: NeighbourCheck
) -> tuple[NDArray[np.int64], bool]:
    """The heaviest neighbours of each node that may be entered, ties by id.

    The weights of all links between two nodes, of several relationships and of both directions, are added up.

    Parameters
    ----------
    links : links of the relationships to follow
    nodes : nodes whose neighbours are wanted, ascending
    fan_out : maximum number of neighbours of one node
    may : tells which nodes may be entered

    Returns
    -------
    tuple
        The neighbours, ascending and distinct; and whether the fan-out left any out.
    """
    ways = [way for item in links for way in (item.there, item.back)]
    if not len(nodes) or not ways:
        return nodes[:0], False
    found, is_cut = _of_hubs(links, nodes, fan_out=fan_out, may=may)
    counts = np.sum([way.counts(found.left) for way in ways], axis=0)
    parts = [found.targets]
    for first, last in blocks(counts):
        each = zip(*(way.of(found.left[first:last]) for way in ways), strict=True)
        best, was_cut = _best(_admitted(Gathered(*(np.concatenate(part) for part in each)), may), fan_out)
        parts.append(best)
        is_cut = is_cut or was_cut
    return np.unique(np.concatenate(parts)), is_cut


class _Hubs(NamedTuple):
    """Neighbours of the nodes that are done, and the nodes that remain."""

    targets: NDArray[np.int64]
    left: NDArray[np.int64]


def _of_hubs(links: list[Links], nodes: NDArray[np.int64], *, fan_out: int, may: NeighbourCheck) -> tuple[_Hubs, bool]:
    """The neighbours of hubs: nodes with very many links, all of one relationship, direction and weight.

    Such links are already in order, so only their beginning is read; the full list grows with the graph.
    """
    ways = [(way, item.is_even) for item in links for way in (item.there, item.back)]
    counts = np.array([way.counts(nodes) for way, _ in ways])
    is_long = ((counts > 0).sum(axis=0) == 1) & (counts.max(axis=0) > _WINDOW * fan_out)
    parts, is_cut, is_done = [nodes[:0]], False, np.zeros(len(nodes), dtype=bool)
    for (way, is_even), count in zip(ways, counts, strict=True):
        some = np.flatnonzero(is_long & (count > 0)) if is_even else nodes[:0]
        is_done[some] = True
        window = _WINDOW * fan_out
        while len(some):
            read = _admitted(way.of(nodes[some], most=window), may)
            number = np.bincount(read.owner, minlength=len(some))
            is_cut = is_cut or bool((number > fan_out).any())
            is_ready = (number > fan_out) | (count[some] <= window)
            starts = np.cumsum(number) - number
            is_kept = is_ready[read.owner] & (np.arange(len(read.owner)) - starts[read.owner] < fan_out)
            parts.append(read.target[is_kept])
            some = some[~is_ready]
            window *= 4
    return _Hubs(np.unique(np.concatenate(parts)), nodes[~is_done]), is_cut


def _admitted(links: Gathered, may: NeighbourCheck) -> Gathered:
    distinct, place = np.unique(links.target, return_inverse=True)
    keep = may(distinct)[place]
    return Gathered(links.owner[keep], links.target[keep], links.weight[keep])


def _best(links: Gathered, fan_out: int) -> tuple[NDArray[np.int64], bool]:
    if not len(links.owner) or np.bincount(links.owner).max() <= fan_out:  # the usual case: all links fit
        return links.target, False
    order = np.lexsort((links.target, links.owner))
    owner, target, weight = links.owner[order], links.target[order], links.weight[order]
    is_first = np.ones(len(owner), dtype=bool)
    is_first[1:] = (owner[1:] != owner[:-1]) | (target[1:] != target[:-1])
    if not is_first.all():
        weight = np.add.reduceat(weight, np.flatnonzero(is_first))
        owner, target = owner[is_first], target[is_first]
    order = np.lexsort((target, -weight, owner))
    owner, target = owner[order], target[order]
    # Owners are sorted, so searchsorted finds where each begins.
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    return target[rank < fan_out], bool((rank >= fan_out).any())
