"""The nodes of an image: ids, kinds and sources, numbered in the order of their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.subgraph import Csr, spans

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


NO_NODES = Nodes(np.empty(0, "S32"), np.empty(0, np.uint8), np.empty(0, np.int32))


def find(stored: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each value in a sorted array; -1 if it is not there.

    Parameters
    ----------
    stored : array to search, ascending
    values : values to find; ids must have the item size of ``stored``, otherwise numpy copies all of it to compare them
    """
    if not len(stored) or not len(values):
        return np.full(len(values), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(stored, values), len(stored) - 1)
    return np.where(stored[at] == values, at, -1)


def is_among(values: NDArray[Any], stored: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values occur in a sorted array.

    Parameters
    ----------
    values, stored : see :func:`find`
    """
    return find(stored, values) >= 0


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


# Links, as arrays in memory or in mapped files; a pull reads only what it visits.

BLOCK = 1_000_000
"""Number of links processed at once, so that the working memory of a pull does not grow with the graph."""

_WINDOW = 8  # links of a hub that are read first, as a multiple of the fan-out


NeighbourCheck: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""A check of which nodes a pull may enter."""


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


_NOTHING = Gathered(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))


def joined(parts: Iterable[Gathered | Pairs]) -> Gathered:
    """The links of several parts, one after the other."""
    return Gathered(*(np.concatenate(part) for part in zip(_NOTHING, *parts, strict=True)))


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
        return self.starts[nodes + 1] - self.starts[nodes]

    def of(self, nodes: NDArray[np.int64], *, most: int | None = None) -> Gathered:
        """The links of these nodes, in their order. Time and memory are linear in the result.

        Parameters
        ----------
        nodes : nodes whose links are wanted
        most : maximum number of links of one node, by ascending target; None: all
        """
        count = self.counts(nodes) if most is None else np.minimum(self.counts(nodes), most)
        at = spans(self.starts[nodes], count)
        return Gathered(np.repeat(np.arange(len(nodes)), count), self.targets[at].astype(np.int64), self.weights[at])

    def plain(self) -> OneWay:
        """All links, as arrays."""
        return self


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
            at = find(nodes, some.target)
            keep = at >= 0
            gathered.append(Gathered(some.owner[keep] + first, at[keep], some.weight[keep]))
        one, other, weight = joined(gathered)
        ends = np.zeros(size + 1, dtype=np.int32)
        np.cumsum(np.bincount(one, minlength=size), out=ends[1:])
        parts = (weight, other.astype(np.int32), ends)  # already ordered by row, without duplicates
        return sp.csc_array(parts, shape=(size, size)).tocsr() if is_back else sp.csr_array(parts, shape=(size, size))


def to_matrix(parts: Iterable[Pairs], size: int) -> Csr:
    """Blocks of links as one matrix.

    Parameters
    ----------
    parts : blocks of links, each pair of nodes at most once
    size : number of nodes
    """
    a, b, weights = joined(parts)
    return sp.csr_array((weights, (a, b)), shape=(size, size))


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
    of_hubs, left, is_cut = _of_hubs(links, nodes, fan_out=fan_out, may=may)
    counts = np.sum([way.counts(left) for way in ways], axis=0)
    parts = [of_hubs]
    for first, last in blocks(counts):
        gathered = joined(way.of(left[first:last]) for way in ways)
        best, was_cut = _best(_admitted(gathered, may), fan_out)
        parts.append(best)
        is_cut = is_cut or was_cut
    return np.unique(np.concatenate(parts)), is_cut


def _of_hubs(
    links: list[Links], nodes: NDArray[np.int64], *, fan_out: int, may: NeighbourCheck
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """The neighbours of hubs, the nodes that are no hubs, and whether the fan-out left any neighbours out.

    A hub has very many links, all of one relationship, direction and weight. They are already in order, so only their
    beginning is read; the full list grows with the graph.
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
    return np.unique(np.concatenate(parts)), nodes[~is_done], is_cut


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
        # The last element stays -1, for numbers beyond all of ``fresh``.
        self._place_of_fresh = np.full(int(fresh.max(initial=base - 1)) + 2 - base, -1, dtype=np.int64)
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
        mask[is_old] = (old >= 0) & ~is_among(old, self.removed)
        new = np.minimum(numbers[~is_old] - self.base, len(self._place_of_fresh) - 1)
        mask[~is_old] = self._place_of_fresh[new] >= 0
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
        return self._rows_of(self.numbering.numbers(nodes))[1]

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
        first, count, is_replaced = self._rows_of(numbers)
        count = count if most is None else np.minimum(count, most)
        at = spans(first, count)
        from_rows = np.repeat(is_replaced, count)
        target, weight = np.empty(len(at), dtype=np.int64), np.empty(len(at), dtype=np.float32)
        for links, mask in ((self.base, ~from_rows), (self.rows.links, from_rows)):
            target[mask], weight[mask] = links.targets[at[mask]], links.weights[at[mask]]
        return Gathered(np.repeat(np.arange(len(numbers)), count), target, weight)

    def _rows_of(self, numbers: _Numbers) -> tuple[_Numbers, _Numbers, NDArray[np.bool_]]:
        """Where the row of each node begins, its length, and whether it is one of ``rows``."""
        first, count = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
        at = find(self.rows.owners, numbers)
        is_replaced = at >= 0
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


def laid_over(way: Way) -> WayOver:
    """The links of one direction in a form that can be edited: plain arrays have no replaced rows yet."""
    return way if isinstance(way, WayOver) else WayOver(way, unchanged(way.size), NO_ROWS)


def unchanged(size: int) -> Numbering:
    """The numbering of nodes that are as their arrays are."""
    none = np.empty(0, dtype=np.int64)
    return Numbering(size, removed=none, fresh=none, before=none)
