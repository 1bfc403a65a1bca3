"""The links of one relationship, both ways, as plain arrays in memory or in mapped files: a pull reads the rows it visits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.subgraph import Csr

BLOCK = 1_000_000
"""So many links are worked on at once: what a pull holds beside its result does not grow with the graph."""

_WINDOW = 8  # times the fan-out: what is read of a hub at first


NeighbourCheck: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Which of some nodes may be entered."""


class Gathered(NamedTuple):
    """The links of some nodes: ``owner`` counts places in what was asked for, ``target`` nodes."""

    owner: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float32]


class OneWay(NamedTuple):
    """Links in one direction: those of node ``i`` are ``starts[i]`` to ``starts[i + 1]``, targets ascending, each once.

    Attributes
    ----------
    starts : shape (n + 1,), int64
    targets : shape (m,), int32
    weights : shape (m,), float32
    """

    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.float32]

    def counts(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many links each of these nodes has."""
        found: NDArray[np.int64] = self.starts[nodes + 1] - self.starts[nodes]
        return found

    def of(self, nodes: NDArray[np.int64], *, most: int | None = None) -> Gathered:
        """The links of these nodes, in their order, the first ``most`` of each; time and memory are linear in what is given."""
        count = self.counts(nodes) if most is None else np.minimum(self.counts(nodes), most)
        ends = np.cumsum(count)
        total = int(ends[-1]) if len(ends) else 0
        at = np.arange(total) + np.repeat(self.starts[nodes] - ends + count, count)
        return Gathered(np.repeat(np.arange(len(nodes)), count), self.targets[at].astype(np.int64), self.weights[at])

    def matrix(self) -> Csr:
        """All of them as a matrix, copied."""
        size = len(self.starts) - 1
        parts = (np.array(self.weights), np.array(self.targets), np.array(self.starts))
        return sp.csr_array(parts, shape=(size, size))


class Links(NamedTuple):
    """One relationship: as it is directed, and the other way round; ``is_even``: all its weights are the same."""

    there: OneWay
    back: OneWay
    is_even: bool = False

    def __bool__(self) -> bool:
        return len(self.there.targets) > 0

    def induced(self, nodes: NDArray[np.int64]) -> Csr:
        """The links between some nodes, ascending; shape (len(nodes), len(nodes)), in their order.

        Reads the links of the nodes that lead the way with fewer of them, a block at a time.
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
        parts = (weight, other.astype(np.int32), ends)  # by rows already: no need to sort and to add up
        return sp.csc_array(parts, shape=(size, size)).tocsr() if is_back else sp.csr_array(parts, shape=(size, size))


def in_memory(matrix: Csr) -> Links:
    """The links of a matrix from node to node."""
    ways = []
    for one in (matrix, sp.csr_array(matrix.T)):
        one.sum_duplicates()
        ways.append(OneWay(one.indptr.astype(np.int64), one.indices.astype(np.int32), one.data.astype(np.float32)))
    return Links(ways[0], ways[1])


def blocks(counts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Runs of rows that hold about ``BLOCK`` links together, or one row that holds more: first, and one after the last."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        held = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, held + BLOCK, side="right")), first + 1)
        yield first, last
        first = last


def strongest(
    links: list[Links], nodes: NDArray[np.int64], *, fan_out: int, may: NeighbourCheck
) -> tuple[NDArray[np.int64], bool]:
    """Neighbours that may be entered, at most ``fan_out`` of each node: heaviest first, then in the order of ids.

    Links of several relationships between the same two nodes, and of both directions, add up.

    Returns
    -------
    tuple
        The neighbours, ascending, each once; and whether the fan-out left some out.
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
    """Neighbours of the nodes that were worked off, and the nodes that are left."""

    targets: NDArray[np.int64]
    left: NDArray[np.int64]


def _of_hubs(links: list[Links], nodes: NDArray[np.int64], *, fan_out: int, may: NeighbourCheck) -> tuple[_Hubs, bool]:
    """The neighbours of nodes with very many links of one kind and weight: so many from the first on as are needed.

    Such links are in order already, so the whole of a hub, which grows with the graph, need not be read.
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
    if not len(links.owner) or np.bincount(links.owner).max() <= fan_out:  # the usual case: nothing to choose from
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
    # Owners are in order: each begins where it first occurs.
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    return target[rank < fan_out], bool((rank >= fan_out).any())
