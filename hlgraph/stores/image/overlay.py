"""An image of one version laid over the arrays of an older one: new nodes, removed nodes, and replaced rows.

A node has a *place*, which it shares with the nodes of an image that is made from nothing (its rank among the ids of this
version), and a *number*, which it keeps from version to version: its place in the older arrays, or a number beyond them.
Rows are stored by numbers. Both orders agree, so a row of the older arrays is in order in every later version.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores.image.links import Gathered, OneWay, Way
from hlgraph.stores.image.nodes import NO_SOURCE, Nodes, find
from hlgraph.subgraph import Csr

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
        found = numbers - np.searchsorted(self.removed, numbers) + np.searchsorted(self.before, numbers, side="right")
        is_fresh = numbers >= self.base
        if is_fresh.any():
            found[is_fresh] = self._place_of_fresh[numbers[is_fresh] - self.base]
        return found.astype(np.int64, copy=False)

    def numbers(self, places: NDArray[np.integer]) -> _Numbers:
        """The numbers of the nodes at some places."""
        before = np.searchsorted(self._fresh_at, places)
        rank = places - before
        found = rank + np.searchsorted(self._kept, rank, side="right")
        if len(self.fresh):
            at = np.minimum(before, len(self.fresh) - 1)
            found = np.where(self._fresh_at[at] == places, self.fresh[at], found)
        return found.astype(np.int64, copy=False)

    def has(self, numbers: _Numbers) -> NDArray[np.bool_]:
        """Whether the version has nodes with these numbers."""
        found = np.zeros(len(numbers), dtype=bool)
        is_old = numbers < self.base
        old = numbers[is_old]
        at = np.searchsorted(self.removed, old)
        is_gone = np.zeros(len(old), dtype=bool)
        if len(self.removed):
            is_gone = self.removed[np.minimum(at, len(self.removed) - 1)] == old
        found[is_old] = (old >= 0) & ~is_gone
        new = numbers[~is_old] - self.base
        found[~is_old] = (new < len(self._place_of_fresh)) & (
            self._place_of_fresh[np.minimum(new, len(self._place_of_fresh) - 1)] >= 0
            if len(self._place_of_fresh)
            else False
        )
        return found


class NodesOver(NamedTuple):
    """Nodes laid over older ones; see :class:`hlgraph.stores.image.nodes.NodeTable`.

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
        """See :meth:`NodeTable.ids_of`."""
        return self.ids_of_numbers(self.numbering.numbers(at))

    def ids_of_numbers(self, numbers: _Numbers) -> NDArray[np.bytes_]:
        """The ids of nodes by their numbers."""
        return self._of(self.base.ids, self.added.ids, numbers=numbers)

    def kinds_of(self, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        """See :meth:`NodeTable.kinds_of`."""
        return self._of(self.base.kinds, self.added.kinds, numbers=self.numbering.numbers(at))

    def sources_of(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :meth:`NodeTable.sources_of`."""
        held = self._of(self.base.sources, self.added.sources, numbers=self.numbering.numbers(at)).astype(np.int64)
        return np.where(held == NO_SOURCE, NO_SOURCE, self.numbering.places(held))

    def _of(self, base: NDArray[Any], added: NDArray[Any], *, numbers: _Numbers) -> NDArray[Any]:
        is_fresh = numbers >= self.numbering.base
        if not len(added):
            return base[numbers]
        found = np.empty(len(numbers), dtype=added.dtype)
        found[~is_fresh] = base[numbers[~is_fresh]]
        order = np.argsort(self.numbering.fresh)
        found[is_fresh] = added[order[np.searchsorted(self.numbering.fresh[order], numbers[is_fresh])]]
        return found

    def find(self, ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """See :meth:`NodeTable.find`."""
        numbers = self.numbers(ids)
        return np.where(numbers < 0, -1, self.numbering.places(numbers))

    def numbers(self, ids: NDArray[np.bytes_]) -> _Numbers:
        """The number of each of some ids; -1 for one that this version lacks."""
        found = find(self.base.ids, ids)
        found[~self.numbering.has(found)] = -1
        new = find(self.added.ids, ids)
        return np.where(new < 0, found, self.numbering.fresh[new]) if len(self.added.ids) else found

    def plain(self) -> Nodes:
        """See :meth:`NodeTable.plain`."""
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
    """Links in one direction, laid over older ones; see :class:`hlgraph.stores.image.links.Way`.

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
        """See :meth:`Way.counts`."""
        return self._found(self.numbering.numbers(nodes))[1]

    def of(self, nodes: NDArray[np.int64], *, most: int | None = None) -> Gathered:
        """See :meth:`Way.of`."""
        found = self.of_numbers(self.numbering.numbers(nodes), most=most)
        return found._replace(target=self.numbering.places(found.target))

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
        """See :meth:`Way.plain`."""
        every = np.arange(self.size)
        found = self.of(every)
        starts = np.concatenate([[0], np.cumsum(self.counts(every))]).astype(np.int64)
        return OneWay(starts, found.target.astype(np.int32), found.weight)

    def matrix(self) -> Csr:
        """See :meth:`Way.matrix`."""
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
