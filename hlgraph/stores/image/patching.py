"""Patches an image by the list of a published change: an image of the next version, equal to one that is made from nothing.

Time and memory are linear in the rows that the change touches and in what was patched before; the arrays of the older image are
shared. :func:`is_heavy` tells when so much was patched that new arrays should be made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.records import Relationship
from hlgraph.stores.image.changes import KEPT, KNOWN, ChangeList
from hlgraph.stores.image.counted import SAID, paired, related
from hlgraph.stores.image.image import Image, Touched
from hlgraph.stores.image.links import Links, OneWay, Pairs
from hlgraph.stores.image.nodes import NO_SOURCE, Nodes
from hlgraph.stores.image.overlay import NodesOver, Numbering, Rows, WayOver, laid_over, unchanged

SHARE = 0.1
"""An image with more replaced than this share of its nodes or links is to be made of new arrays."""
LEAST = 20_000
"""Number of replaced nodes and links up to which an image is not heavy, however small it is."""
_Numbers = NDArray[np.int64]


class _Edits(NamedTuple):
    """Links to write, by the numbers of their nodes, the last one of a pair counts; a weight that is no number removes it."""

    a: _Numbers
    b: _Numbers
    weight: NDArray[np.float32]


class _Ways(NamedTuple):
    there: WayOver
    back: WayOver


def patched(image: Image, change: ChangeList, *, version: int, mark: Hashable = None) -> Image:
    """The image of the next version. The given one stays as it is.

    Parameters
    ----------
    image : image of the version before; the links of its counted relationships, and those that these are counted from
    change : what the change did
    version : the next version
    mark : what tells its state from all others; None: the image has no trail
    """
    old = _nodes_over(image.nodes)
    numbers, nodes = _renumbered(old, change)
    links = {
        name: _Ways(laid_over(item.there, old.size), laid_over(item.back, old.size))
        for name, item in image.links.items()
    }
    gone = numbers[_ints(change.removed)]
    edits = _edits(links, change, numbers=numbers, gone=gone[gone >= 0])
    fresh = {name: _edited(links[name], edits[name], nodes.numbering) for name in links if name not in _COUNT}
    for name, count in _COUNT.items():
        if name in links:
            edits[name] = _joined([edits[name], *count(links, fresh, edits)])
            fresh[name] = _edited(links[name], edits[name], nodes.numbering)
    made = {name: Links(fresh[name].there, fresh[name].back, item.is_even) for name, item in image.links.items()}
    if mark is None or image.mark is None:
        return Image(nodes, made, version=version, mark=mark)
    ends = {name: _ids_of(old, nodes, np.concatenate([item.a, item.b])) for name, item in edits.items()}
    came = _ids_of(old, nodes, np.concatenate([gone, numbers[np.frombuffer(change.kinds, np.uint8) != KNOWN]]))
    step = Touched(image.mark, mark, came, ends)
    return Image(nodes, made, version=version, mark=mark, trail=(*image.trail[1 - KEPT :], step))


def _ids_of(old: NodesOver, new: NodesOver, numbers: _Numbers) -> NDArray[np.bytes_]:
    """The ids of nodes that an image has before or after a change, ascending and distinct."""
    numbers = np.unique(numbers)
    numbers = numbers[numbers >= 0]
    is_new = new.numbering.has(numbers)
    return np.unique(np.concatenate([new.ids_of_numbers(numbers[is_new]), old.ids_of_numbers(numbers[~is_new])]))


def is_heavy(image: Image) -> bool:
    """Whether so much of an image was patched that new arrays should be made."""
    nodes = image.nodes
    if not isinstance(nodes, NodesOver):
        return False
    replaced = len(nodes.numbering.fresh) + len(nodes.numbering.removed)
    rows = base = 0
    for item in image.links.values():
        if isinstance(item.there, WayOver):
            rows += item.there.rows.links.total
            base += item.there.base.total
    return replaced > max(LEAST, SHARE * nodes.numbering.base) or rows > max(LEAST, SHARE * base)


def folded(image: Image) -> Image:
    """The same image in new arrays, in memory."""
    links = {name: Links(item.there.plain(), item.back.plain(), item.is_even) for name, item in image.links.items()}
    return Image(image.nodes.plain(), links, version=image.version, mark=image.mark, trail=image.trail)


def _ints(data: bytes) -> NDArray[np.int32]:
    return np.frombuffer(data, dtype="<i4")


def _nodes_over(nodes: object) -> NodesOver:
    if isinstance(nodes, NodesOver):
        return nodes
    if not isinstance(nodes, Nodes):
        raise TypeError(f"{type(nodes).__name__}: not the nodes of an image")
    none = Nodes(np.empty(0, dtype="S32"), np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32))
    return NodesOver(nodes, unchanged(nodes.size), none)


def _renumbered(old: NodesOver, change: ChangeList) -> tuple[_Numbers, NodesOver]:
    """The number of each id of the change, -1 for an unknown one; and the nodes after it."""
    ids = np.frombuffer(change.ids, dtype="S32")
    kinds = np.frombuffer(change.kinds, dtype=np.uint8)
    numbers = old.numbers(ids)
    gone = numbers[_ints(change.removed)]
    gone = gone[gone >= 0]
    held = old.numbering
    stays = ~np.isin(held.fresh, gone)
    new = np.flatnonzero((kinds != KNOWN) & (numbers < 0))
    first = int(held.fresh.max()) + 1 if len(held.fresh) else held.base
    numbers[new] = first + np.arange(len(new))
    at = _ints(change.sources)[new]
    sources = np.where(at < 0, NO_SOURCE, numbers[at]) if len(numbers) else at
    added = Nodes(
        np.concatenate([old.added.ids[stays], ids[new]]),
        np.concatenate([old.added.kinds[stays], kinds[new]]),
        np.concatenate([old.added.sources[stays], sources]).astype(np.int32),
    )
    order = np.argsort(added.ids)
    before = np.concatenate([held.before[stays], np.searchsorted(old.base.ids, ids[new])])
    numbering = Numbering(
        held.base,
        removed=np.union1d(held.removed, gone[gone < held.base]),
        fresh=np.concatenate([held.fresh[stays], numbers[new]])[order],
        before=before[order],
    )
    return numbers, NodesOver(old.base, numbering, Nodes(added.ids[order], added.kinds[order], added.sources[order]))


def _edits(links: dict[str, _Ways], change: ChangeList, *, numbers: _Numbers, gone: _Numbers) -> dict[str, _Edits]:
    """The links that differ after the change, of the relationships that the image has."""
    found: dict[str, list[_Edits]] = {}
    for name, ways in links.items():
        there, back = ways.there.of_numbers(gone), ways.back.of_numbers(gone)
        cut = _cut(np.concatenate([gone[there.owner], back.target]), np.concatenate([there.target, gone[back.owner]]))
        found[name] = [cut]
    for row in change.rows:
        if row.name in links:
            owners = numbers[_ints(row.owners)]
            counts, targets = _ints(row.counts), numbers[_ints(row.targets)]
            weights = np.frombuffer(row.weights, dtype="<f4") if row.weights else np.ones(len(targets), dtype="<f4")
            new = _Edits(np.repeat(owners, counts), targets, weights)
            known = np.unique(owners[owners >= 0])
            held = (links[row.name].back if row.is_back else links[row.name].there).of_numbers(known)
            differ = _difference(_Edits(known[held.owner], held.target, held.weight), new)
            found[row.name] += [_Edits(b, a, weight) for a, b, weight in differ] if row.is_back else differ
    for put in change.links:
        if put.name in links:
            weights = np.frombuffer(put.weights, dtype="<f4")
            found[put.name].append(_Edits(numbers[_ints(put.a)], numbers[_ints(put.b)], weights))
    return {name: _known(_joined(parts), gone=gone) for name, parts in found.items()}


def _known(edits: _Edits, *, gone: _Numbers) -> _Edits:
    """Without links to nodes that are not there after the change."""
    keep = (edits.a >= 0) & (edits.b >= 0)
    keep &= np.isnan(edits.weight) | ~(np.isin(edits.a, gone) | np.isin(edits.b, gone))
    return _Edits(edits.a[keep], edits.b[keep], edits.weight[keep])


def _difference(old: _Edits, new: _Edits) -> list[_Edits]:
    """What makes the old links the new ones; both hold each pair once."""
    keys = [_keys(item.a, item.b) for item in (old, new)]
    order = np.argsort(keys[0], kind="stable")
    at = (
        order[np.minimum(np.searchsorted(keys[0], keys[1], sorter=order), max(len(order) - 1, 0))]
        if len(order)
        else None
    )
    if at is None:
        return [new]
    is_same = (keys[0][at] == keys[1]) & (old.weight[at] == new.weight)
    left = np.setdiff1d(np.arange(len(old.a)), at[is_same])
    return [_cut(old.a[left], old.b[left]), _Edits(new.a[~is_same], new.b[~is_same], new.weight[~is_same])]


def _cut(a: _Numbers, b: _Numbers) -> _Edits:
    return _Edits(a, b, np.full(len(a), np.nan, dtype=np.float32))


def _joined(parts: Iterable[_Edits]) -> _Edits:
    return _Edits(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _edited(ways: _Ways, edits: _Edits, numbering: Numbering) -> _Ways:
    if not len(edits.a):
        return _Ways(*(way._replace(numbering=numbering) for way in ways))
    turned = _Edits(edits.b, edits.a, edits.weight)
    return _Ways(
        *(
            WayOver(way.base, numbering, _replaced(way, some, numbering))
            for way, some in zip(ways, (edits, turned), strict=True)
        )
    )


def _replaced(way: WayOver, edits: _Edits, numbering: Numbering) -> Rows:
    """The rows that replace those of the arrays: those of before, and the rows of the nodes that are edited."""
    touched = np.unique(edits.a)
    keys = _keys(np.searchsorted(touched, edits.a), edits.b)
    last, first = np.unique(keys[::-1], return_index=True)  # of a pair, the last edit counts
    puts = len(keys) - 1 - first
    puts = puts[~np.isnan(edits.weight[puts])]
    old = way.of_numbers(touched)
    stays = ~_is_among(_keys(old.owner, old.target), last)
    row = np.concatenate([old.owner[stays], np.searchsorted(touched, edits.a[puts])])
    target = np.concatenate([old.target[stays], edits.b[puts]])
    weight = np.concatenate([old.weight[stays], edits.weight[puts]])
    order = np.argsort(_keys(row, numbering.places(target)), kind="stable")  # almost in order, which makes it linear
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(touched)))]).astype(np.int64)
    fresh = OneWay(starts, target[order].astype(np.int32), weight[order].astype(np.float32))
    return _merged(way.rows, Rows(touched, fresh))


def _merged(held: Rows, fresh: Rows) -> Rows:
    """Rows of before and new ones, which replace those of the same nodes."""
    stays = np.flatnonzero(~_is_among(held.owners, fresh.owners))
    owners = np.concatenate([held.owners[stays], fresh.owners])
    counts = np.concatenate([held.links.counts(stays), np.diff(fresh.links.starts)])
    first = np.concatenate([held.links.starts[stays], fresh.links.starts[:-1] + held.links.total])
    order = np.argsort(owners)
    counts, first = counts[order], first[order]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
    target, weight = (
        np.concatenate([getattr(part.links, name) for part in (held, fresh)]) for name in ("targets", "weights")
    )
    return Rows(owners[order], OneWay(starts, target[at], weight[at]))


def _keys(a: NDArray[np.integer], b: NDArray[np.integer]) -> _Numbers:
    """One number a pair, in the order of the pairs."""
    found: _Numbers = (a.astype(np.int64, copy=False) << 32) + b
    return found


def _is_among(values: _Numbers, held: _Numbers) -> NDArray[np.bool_]:
    """Which values occur in ``held``, which is ascending."""
    if not len(held):
        return np.zeros(len(values), dtype=bool)
    found: NDArray[np.bool_] = held[np.minimum(np.searchsorted(held, values), len(held) - 1)] == values
    return found


def _co_occurs(old: dict[str, _Ways], new: dict[str, _Ways], edits: dict[str, _Edits]) -> list[_Edits]:
    """Around the chunks that say other things than before."""
    chunks = np.unique(edits[SAID].a)

    def pairs(way: WayOver) -> Iterator[Pairs]:
        places = np.sort(way.numbering.places(chunks[way.numbering.has(chunks)]))
        for a, b, weight in paired(way, places):
            yield way.numbering.numbers(a), way.numbering.numbers(b), weight

    return _recounted(old[Relationship.CO_OCCURS].there, pairs(old[SAID].there), new=pairs(new[SAID].there))


def _relates(old: dict[str, _Ways], new: dict[str, _Ways], edits: dict[str, _Edits]) -> list[_Edits]:
    """Of the subjects and objects of the facts that other statements support than before."""
    ends = (edits[Relationship.SUPPORTS].a, edits[Relationship.SUBJECT].b, edits[Relationship.OBJECT].b)
    facts = np.unique(np.concatenate(ends))

    def pairs(links: dict[str, _Ways]) -> Iterator[Pairs]:
        way = links[Relationship.SUPPORTS].there
        numbering = way.numbering
        places = np.sort(numbering.places(facts[numbering.has(facts)]))
        counts = way.counts(places)
        a, b, weight = related(
            places[counts > 0],
            links[Relationship.SUBJECT].back,
            objects=links[Relationship.OBJECT].back,
            counts=counts[counts > 0],
        )
        yield numbering.numbers(a), numbering.numbers(b), weight

    return _recounted(old[Relationship.RELATES].there, pairs(old), new=pairs(new))


_COUNT: Mapping[str, Callable[[dict[str, _Ways], dict[str, _Ways], dict[str, _Edits]], list[_Edits]]] = {
    Relationship.CO_OCCURS: _co_occurs,
    Relationship.RELATES: _relates,
}
"""The relationships that are counted again, from the links before the change and after it."""


def _recounted(way: WayOver, old: Iterable[Pairs], *, new: Iterable[Pairs]) -> list[_Edits]:
    """The new weights of pairs: those of before, less what was counted before, plus what is counted now."""
    parts = [
        (a, b, sign * weight.astype(np.float64)) for sign, found in ((-1, old), (1, new)) for a, b, weight in found
    ]
    if not parts:
        return []
    a, b, change = (np.concatenate(part) for part in zip(*parts, strict=True))
    keys, place = np.unique(_keys(a, b), return_inverse=True)
    total = np.bincount(place, weights=change, minlength=len(keys))
    keys, total = keys[total != 0], total[total != 0]
    owners, targets = keys >> 32, keys & 0xFFFFFFFF
    known = np.unique(owners)
    held = way.of_numbers(known)
    order = np.argsort(held_keys := _keys(known[held.owner], held.target), kind="stable")
    held_keys, weights = held_keys[order], held.weight[order]
    if len(held_keys):
        at = np.minimum(np.searchsorted(held_keys, keys), len(held_keys) - 1)
        total = total + np.where(held_keys[at] == keys, weights[at], 0)
    return [_Edits(owners, targets, np.where(total > 0, total, np.nan).astype(np.float32))]
