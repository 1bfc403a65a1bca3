"""The nodes of an image: ids, kinds and sources, numbered in the order of their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.subgraph import Csr

NO_SOURCE = -1
"""The source of a node that belongs to no single source: of a fact or an entity."""
_WIDTH = 32


NodeTable: TypeAlias = "Nodes | NodesOver"
"""The nodes of a corpus; a node is its place in the order of ids."""


class Nodes(NamedTuple):
    """The nodes of a corpus as arrays, in the order of their ids.

    Attributes
    ----------
    ids : shape (n,), bytes of length 32
    kinds : shape (n,), indices into KINDS
    sources : shape (n,), the node of each node's source, or ``NO_SOURCE``
    """

    ids: NDArray[np.bytes_]
    kinds: NDArray[np.uint8]
    sources: NDArray[np.int32]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.ids)

    def ids_of(self, at: NDArray[np.int64]) -> NDArray[np.bytes_]:
        """The ids of some nodes, bytes of length 32."""
        return self.ids[at]

    def kinds_of(self, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The kinds of some nodes, indices into KINDS."""
        return self.kinds[at]

    def sources_of(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The node of the source of each of some nodes, or ``NO_SOURCE``."""
        return self.sources[at].astype(np.int64)

    def find(self, ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """The node of each of some ids, bytes of length 32; -1 for an unknown id."""
        return find(self.ids, ids)

    def plain(self) -> Nodes:
        """All nodes, as arrays."""
        return self


def find(held: NDArray[np.bytes_], ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """The place of each of some ids in ascending ids; -1 for one that is not there.

    Parameters
    ----------
    held : ids to search, ascending
    ids : ids to find, of the same item size: otherwise numpy copies all of ``held`` to compare them
    """
    if not len(held) or not len(ids):
        return np.full(len(ids), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(held, ids), len(held) - 1)
    result: NDArray[np.int64] = np.where(held[at] == ids, at, -1)
    return result


def places(nodes: NodeTable, ids: Iterable[str]) -> NDArray[np.int64]:
    """The nodes with these ids, ascending and distinct; unknown ids are left out.

    Parameters
    ----------
    nodes : nodes of a corpus
    ids : ids of any length
    """
    wanted = [item.encode() for item in ids]
    at = nodes.find(np.array([item for item in wanted if len(item) <= _WIDTH], dtype=f"S{_WIDTH}"))
    return np.unique(at[at >= 0])


# The links of one relationship in both directions, as arrays in memory or in mapped files; a pull reads only what it visits.


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


Way: TypeAlias = "OneWay | WayOver"
"""Links in one direction; the targets of a node are ascending and distinct."""


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
        """The number of links of each of these nodes."""
        counts: NDArray[np.int64] = self.starts[nodes + 1] - self.starts[nodes]
        return counts

    def of(self, nodes: NDArray[np.int64], *, most: int | None = None) -> Gathered:
        """The links of these nodes, in their order. Time and memory are linear in the result.

        Parameters
        ----------
        nodes : nodes whose links are wanted
        most : maximum number of links of one node, by ascending target; None: all
        """
        count = self.counts(nodes) if most is None else np.minimum(self.counts(nodes), most)
        ends = np.cumsum(count)
        total = int(ends[-1]) if len(ends) else 0
        at = np.arange(total) + np.repeat(self.starts[nodes] - ends + count, count)
        return Gathered(np.repeat(np.arange(len(nodes)), count), self.targets[at].astype(np.int64), self.weights[at])

    def plain(self) -> OneWay:
        """All links, as arrays."""
        return self

    def matrix(self) -> Csr:
        """All links as a sparse matrix, copied."""
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
        gathered: list[Gathered] = []
        for first, last in blocks(counts[is_back]):
            some = (self.back if is_back else self.there).of(nodes[first:last])
            at = np.minimum(np.searchsorted(nodes, some.target), size - 1)
            keep = nodes[at] == some.target
            gathered.append(Gathered(some.owner[keep] + first, at[keep], some.weight[keep]))
        if not gathered:
            return sp.csr_array((size, size), dtype=np.float32)
        one, other, weight = (np.concatenate(part) for part in zip(*gathered, strict=True))
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
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + (most or BLOCK), side="right")), first + 1)
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
    hubs, is_cut = _of_hubs(links, nodes, fan_out=fan_out, may=may)
    counts = np.sum([way.counts(hubs.left) for way in ways], axis=0)
    parts = [hubs.targets]
    for first, last in blocks(counts):
        each = zip(*(way.of(hubs.left[first:last]) for way in ways), strict=True)
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


# An image of one version laid over the arrays of an older one: new nodes, removed nodes, and replaced rows.
#
# A node has a *place*, which it shares with the nodes of an image that is made from nothing (its rank among the ids of this
# version), and a *number*, which it keeps from version to version: its place in the older arrays, or a number beyond them.
# Rows are stored by numbers. Both orders agree, so a row of the older arrays is in order in every later version.


_Numbers = NDArray[np.int64]


class Numbering:
    """The numbers of the nodes of one version, and their places.

    Parameters
    ----------
    base : number of nodes of the older arrays
    removed : numbers of the nodes that the version lacks, of the older arrays alone, ascending
    fresh : numbers of the nodes that the older arrays lack, by id
    before : for each of ``fresh``, the place in the older arrays before which its id belongs
    """

    def __init__(self, base: int, *, removed: _Numbers, fresh: _Numbers, before: _Numbers) -> None:
        self.base = base
        self.removed = removed
        self.fresh = fresh
        self.before = before
        self.size = base - len(removed) + len(fresh)
        self._fresh_at = before - np.searchsorted(removed, before) + np.arange(len(fresh))
        self._kept = removed - np.arange(len(removed))
        self._place_of_fresh = np.full(int(fresh.max()) + 1 - base if len(fresh) else 0, -1, dtype=np.int64)
        self._place_of_fresh[fresh - base] = self._fresh_at

    def places(self, numbers: NDArray[np.integer]) -> _Numbers:
        """The places of nodes that the version has."""
        positions = (
            numbers - np.searchsorted(self.removed, numbers) + np.searchsorted(self.before, numbers, side="right")
        )
        is_fresh = numbers >= self.base
        if is_fresh.any():
            positions[is_fresh] = self._place_of_fresh[numbers[is_fresh] - self.base]
        return positions.astype(np.int64, copy=False)

    def numbers(self, places: NDArray[np.integer]) -> _Numbers:
        """The numbers of the nodes at some places."""
        before = np.searchsorted(self._fresh_at, places)
        rank = places - before
        numbers = rank + np.searchsorted(self._kept, rank, side="right")
        if len(self.fresh):
            at = np.minimum(before, len(self.fresh) - 1)
            numbers = np.where(self._fresh_at[at] == places, self.fresh[at], numbers)
        return numbers.astype(np.int64, copy=False)

    def has(self, numbers: _Numbers) -> NDArray[np.bool_]:
        """Whether the version has nodes with these numbers."""
        mask = np.zeros(len(numbers), dtype=bool)
        is_old = numbers < self.base
        old = numbers[is_old]
        at = np.searchsorted(self.removed, old)
        is_gone = np.zeros(len(old), dtype=bool)
        if len(self.removed):
            is_gone = self.removed[np.minimum(at, len(self.removed) - 1)] == old
        mask[is_old] = (old >= 0) & ~is_gone
        new = numbers[~is_old] - self.base
        mask[~is_old] = (new < len(self._place_of_fresh)) & (
            self._place_of_fresh[np.minimum(new, len(self._place_of_fresh) - 1)] >= 0
            if len(self._place_of_fresh)
            else False
        )
        return mask


class NodesOver(NamedTuple):
    """Nodes laid over older ones; see :class:`hlgraph.stores.image.arrays.NodeTable`.

    Attributes
    ----------
    base : the older nodes
    numbering : numbers and places of this version
    added : the nodes that the older ones lack, by id; their sources are numbers
    """

    base: Nodes
    numbering: Numbering
    added: Nodes

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.numbering.size

    def ids_of(self, at: NDArray[np.int64]) -> NDArray[np.bytes_]:
        """See :meth:`Nodes.ids_of`."""
        return self.ids_of_numbers(self.numbering.numbers(at))

    def ids_of_numbers(self, numbers: _Numbers) -> NDArray[np.bytes_]:
        """The ids of nodes by their numbers."""
        return self._of(self.base.ids, self.added.ids, numbers=numbers)

    def kinds_of(self, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        """See :meth:`Nodes.kinds_of`."""
        return self._of(self.base.kinds, self.added.kinds, numbers=self.numbering.numbers(at))

    def sources_of(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :meth:`Nodes.sources_of`."""
        sources = self._of(self.base.sources, self.added.sources, numbers=self.numbering.numbers(at)).astype(np.int64)
        return np.where(sources == NO_SOURCE, NO_SOURCE, self.numbering.places(sources))

    def _of(self, base: NDArray[Any], added: NDArray[Any], *, numbers: _Numbers) -> NDArray[Any]:
        is_fresh = numbers >= self.numbering.base
        if not len(added):
            return base[numbers]
        values = np.empty(len(numbers), dtype=added.dtype)
        values[~is_fresh] = base[numbers[~is_fresh]]
        order = np.argsort(self.numbering.fresh)
        values[is_fresh] = added[order[np.searchsorted(self.numbering.fresh[order], numbers[is_fresh])]]
        return values

    def find(self, ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """See :meth:`Nodes.find`."""
        numbers = self.numbers(ids)
        return np.where(numbers < 0, -1, self.numbering.places(numbers))

    def numbers(self, ids: NDArray[np.bytes_]) -> _Numbers:
        """The number of each of some ids; -1 for one that this version lacks."""
        numbers = find(self.base.ids, ids)
        numbers[~self.numbering.has(numbers)] = -1
        new = find(self.added.ids, ids)
        return np.where(new < 0, numbers, self.numbering.fresh[new]) if len(self.added.ids) else numbers

    def plain(self) -> Nodes:
        """See :meth:`Nodes.plain`."""
        every = np.arange(self.size)
        return Nodes(self.ids_of(every), self.kinds_of(every), self.sources_of(every).astype(np.int32))


class Rows(NamedTuple):
    """Rows that replace those of older arrays, by the numbers of their nodes.

    Attributes
    ----------
    owners : shape (k,), numbers, ascending
    links : row ``i`` is that of ``owners[i]``; its targets are numbers
    """

    owners: _Numbers
    links: OneWay


NO_ROWS = Rows(
    np.empty(0, dtype=np.int64),
    OneWay(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)),
)


class WayOver(NamedTuple):
    """Links in one direction, laid over older ones; see :class:`hlgraph.stores.image.arrays.Way`.

    Attributes
    ----------
    base : the older links
    numbering : numbers and places of this version
    rows : what replaces rows of ``base``
    """

    base: OneWay
    numbering: Numbering
    rows: Rows

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.numbering.size

    @property
    def total(self) -> int:
        """The number of links."""
        old = self.rows.owners[self.rows.owners < self.numbering.base]
        return self.base.total - int(self.base.counts(old).sum()) + self.rows.links.total

    def counts(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :meth:`OneWay.counts`."""
        return self._found(self.numbering.numbers(nodes))[1]

    def of(self, nodes: NDArray[np.int64], *, most: int | None = None) -> Gathered:
        """See :meth:`OneWay.of`."""
        gathered = self.of_numbers(self.numbering.numbers(nodes), most=most)
        return gathered._replace(target=self.numbering.places(gathered.target))

    def of_numbers(self, numbers: _Numbers, *, most: int | None = None) -> Gathered:
        """The links of nodes by their numbers; the targets are numbers.

        Parameters
        ----------
        numbers : numbers of the nodes whose links are wanted
        most : maximum number of links of one node; None: all
        """
        first, count, is_replaced = self._found(numbers)
        count = count if most is None else np.minimum(count, most)
        ends = np.cumsum(count)
        total = int(ends[-1]) if len(ends) else 0
        at = np.arange(total) + np.repeat(first - ends + count, count)
        from_rows = np.repeat(is_replaced, count)
        target, weight = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.float32)
        for links, mask in ((self.base, ~from_rows), (self.rows.links, from_rows)):
            target[mask], weight[mask] = links.targets[at[mask]], links.weights[at[mask]]
        return Gathered(np.repeat(np.arange(len(numbers)), count), target, weight)

    def _found(self, numbers: _Numbers) -> tuple[_Numbers, _Numbers, NDArray[np.bool_]]:
        """Where the row of each node begins, its length, and whether it is one of ``rows``."""
        first, count = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
        owners = self.rows.owners
        at = np.minimum(np.searchsorted(owners, numbers), max(len(owners) - 1, 0))
        is_replaced = owners[at] == numbers if len(owners) else np.zeros(len(numbers), dtype=bool)
        is_old = ~is_replaced & (numbers < self.numbering.base)
        for links, mask, rows in ((self.base, is_old, numbers), (self.rows.links, is_replaced, at)):
            some = rows[mask]
            first[mask], count[mask] = links.starts[some], links.counts(some)
        return first, count, is_replaced

    def plain(self) -> OneWay:
        """See :meth:`OneWay.plain`."""
        every = np.arange(self.size)
        gathered = self.of(every)
        starts = np.concatenate([[0], np.cumsum(self.counts(every))]).astype(np.int64)
        return OneWay(starts, gathered.target.astype(np.int32), gathered.weight)

    def matrix(self) -> Csr:
        """See :meth:`OneWay.matrix`."""
        return self.plain().matrix()


def laid_over(way: Way, size: int) -> WayOver:
    """Links that can be edited: those of ``way``, with nothing replaced yet if they are plain arrays.

    Parameters
    ----------
    way : links of one direction
    size : number of nodes of ``way``, if it is plain
    """
    return way if isinstance(way, WayOver) else WayOver(way.plain(), unchanged(size), NO_ROWS)


def unchanged(size: int) -> Numbering:
    """The numbering of nodes that are as their arrays are."""
    none = np.empty(0, dtype=np.int64)
    return Numbering(size, removed=none, fresh=none, before=none)
