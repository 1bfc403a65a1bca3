"""Patches an image by the list of a published change: an image of the next version, equal to one that is made from nothing.

Time and memory are linear in the rows that the change touches and in what was patched before; the arrays of the older image are
shared. :func:`is_heavy` tells when so much was patched that new arrays should be made.
"""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.change import Change, LargeChange, Synonym
from hlgraph.records import Kind, Relationship
from hlgraph.stores.image.arrays import (
    NO_NODES,
    NO_SOURCE,
    Links,
    Nodes,
    NodesOver,
    NodeTable,
    Numbering,
    OneWay,
    Pairs,
    Rows,
    WayOver,
    find,
    is_among,
    joined,
    laid_over,
    unchanged,
)
from hlgraph.stores.image.image import SAID, Image, Touched, paired, related
from hlgraph.stores.protocols import Altered
from hlgraph.subgraph import KINDS, spans

# A list holds the new rows of the chunks, statements and facts that a change touches, and the patch compares them with the rows of
# the image. Counted relationships are not listed. Nodes are named by their ids, which are hashes; a list holds no text.

KEPT = 64
"""Number of versions of a corpus whose lists are kept."""
FAR = KEPT // 2
"""A process that patches files writes them anew if they are more versions old than this."""
MOST = 50_000
"""Maximum number of links, and of removed records, of a change that is listed. After a larger one the image is filled anew."""
KNOWN = 255
"""The kind of a node that the list mentions but does not add."""


class Row(NamedTuple):
    """The links of one relationship, of some nodes, as they are after the change.

    Attributes
    ----------
    name : the relationship
    is_back : whether ``owners`` are the ends of the links
    owners, counts : positions of the nodes in the ids of the list, and the number of links of each, int32
    targets : positions of the other ends, int32
    weights : float32; empty if all are 1
    """

    name: str
    is_back: bool
    owners: bytes
    counts: bytes
    targets: bytes
    weights: bytes


class Put(NamedTuple):
    """Single links of a relationship: their ends, and their weights, float32. A NaN weight removes the link."""

    name: str
    a: bytes
    b: bytes
    weights: bytes


class ChangeList(msgspec.Struct, frozen=True, array_like=True):
    """What a change did.

    Attributes
    ----------
    ids : of all nodes that it mentions, 32 bytes each
    kinds : of those that it adds, indices into KINDS; of the others ``KNOWN``
    sources : the position of the source of each, int32; -1: none
    removed : positions of the nodes that vanished, int32
    rows, links : what it did to relationships
    new_statements : positions of the statements that its chunks did not assert before, int32; only in Neo4j, for analysts
    removed_kinds : indices into KINDS of the nodes that vanished; fewer in a list of an older version
    """

    ids: bytes
    kinds: bytes
    sources: bytes
    removed: bytes
    rows: list[Row]
    links: list[Put]
    new_statements: bytes = b""
    removed_kinds: bytes = b""


def pack(change: ChangeList) -> bytes:
    """A list as bytes."""
    return zlib.compress(msgspec.msgpack.encode(change), 1)


def unpack(data: bytes) -> ChangeList:
    """The list that :func:`pack` wrote."""
    return msgspec.msgpack.decode(zlib.decompress(data), type=ChangeList)


def touched(change: ChangeList) -> frozenset[str]:
    """The ids of the sources that a change added, edited or gave new metadata, and of all records that vanished."""
    ids = np.frombuffer(change.ids, dtype="S32")
    is_source = np.frombuffer(change.kinds, dtype=np.uint8) == KINDS.index(Kind.SOURCE)
    both = (ids[is_source], ids[_ints(change.removed)])
    return frozenset(item.decode() for item in np.concatenate(both).tolist())


def explained(change: ChangeList, *, old: Iterable[str]) -> ChangeList:
    """A list that also tells which statements are new.

    Parameters
    ----------
    change : the list
    old : ids of the statements that the chunks of the change asserted before
    """
    ids = np.frombuffer(change.ids, dtype="S32")
    is_statement = np.frombuffer(change.kinds, dtype=np.uint8) == KINDS.index(Kind.STATEMENT)
    is_old = np.isin(ids, np.array([name.encode() for name in old], dtype="S32"))
    new = np.flatnonzero(is_statement & ~is_old).astype("<i4").tobytes()
    return msgspec.structs.replace(change, new_statements=new)


class Edits(NamedTuple):
    """What a change did: ids of the sources that it touched, of its new statements, and of what vanished, with the kind."""

    sources: frozenset[str]
    statements: frozenset[str]
    removed: frozenset[tuple[Kind, str]]


def edits(change: ChangeList) -> Edits:
    """What the change of a list that :func:`explained` made added and removed."""
    ids = np.frombuffer(change.ids, dtype="S32").astype("U32")
    is_source = np.frombuffer(change.kinds, dtype=np.uint8) == KINDS.index(Kind.SOURCE)
    gone = zip(change.removed_kinds, ids[_ints(change.removed)].tolist(), strict=False)
    return Edits(
        frozenset(ids[is_source].tolist()),
        frozenset(ids[_ints(change.new_statements)].tolist()),
        frozenset((KINDS[kind], name) for kind, name in gone),
    )


class State(NamedTuple):
    """The state of a corpus; ``stamp`` is empty if a version of hlgraph without images wrote it last."""

    version: int
    stamp: str

    @classmethod
    def named(cls, name: str) -> State | None:
        """The state with a name; None for an empty one."""
        version, _, stamp = name.partition("-")
        return cls(int(version), stamp) if stamp and version.isdecimal() else None

    @property
    def name(self) -> str:
        """See :attr:`CorpusStats.state`."""
        return f"{self.version}-{self.stamp}" if self.stamp else ""


class Step(NamedTuple):
    """From one state to the next; ``data`` is the packed list of the change between them."""

    before: State
    after: State
    data: bytes


def leading_to(state: State, steps: Iterable[Step]) -> list[Step]:
    """The steps that lead to a state without a gap, the oldest first; each has its list.

    Parameters
    ----------
    state : the state
    steps : steps of a corpus, the newest first
    """
    chain: list[Step] = []
    for step in steps:
        if step.after.version > state.version:
            continue  # the corpus has changed again
        if step.after != state or not step.data:
            break
        chain.append(step)
        state = step.before
    return chain[::-1]


def touched_since(before: State, steps: Sequence[Step]) -> frozenset[str] | None:
    """The ids of the sources that were altered since a state, and of all records that vanished; None: it is not known.

    Parameters
    ----------
    before : the state
    steps : steps that lead to the later state without a gap, the oldest first
    """
    if not steps or steps[0].before != before:
        return None
    return frozenset[str]().union(*(touched(unpack(item.data)) for item in steps))


def altered_since(since: str, steps: Sequence[Step], *, to: State) -> Altered:
    """See :meth:`hlgraph.stores.protocols.GraphStore.altered`.

    Parameters
    ----------
    since : name of the state
    steps : steps that lead to the present state without a gap, the oldest first, from that state on
    to : the present state
    """
    if since == to.name or not steps or steps[0].before.name != since:
        return Altered(to.name, frozenset() if since and since == to.name else None)
    sources: set[str] = set()
    removed: set[str] = set()
    for change in (unpack(step.data) for step in steps):
        gone, kinds = _ints(change.removed), np.frombuffer(change.removed_kinds, dtype=np.uint8)
        if len(kinds) < len(gone):
            return Altered(to.name, None)  # a list of an older version
        ids = np.frombuffer(change.ids, dtype="S32")
        is_source = np.frombuffer(change.kinds, dtype=np.uint8) == KINDS.index(Kind.SOURCE)
        sources.update(item.decode() for item in ids[is_source].tolist())
        removed.update(item.decode() for item in ids[gone[kinds == KINDS.index(Kind.SOURCE)]].tolist())
    return Altered(to.name, frozenset(sources), frozenset(removed))


class Asserted(NamedTuple):
    """What all chunks together assert of one statement: the ids at the other ends of its links."""

    statement_id: str
    topic_ids: Sequence[str]
    entity_ids: Sequence[str]
    fact_ids: Sequence[str]


class Stored(NamedTuple):
    """What the store has after a change, and the change alone does not tell.

    Attributes
    ----------
    vanished : ids of the records that vanished, by kind
    asserted : the statements of :func:`shared`
    following : the chunks of the sources of :func:`edited`, each with the next one; None after the last
    synonyms : SYNONYM of the change
    """

    vanished: Mapping[str, Sequence[str]]
    asserted: Iterable[Asserted] = ()
    following: Iterable[tuple[str, str | None]] = ()
    synonyms: Iterable[Synonym] = ()


def is_listed(change: Change, vanished: Mapping[str, Sequence[str]]) -> bool:
    """Whether a change gets a list: it is no repair, which alters sources that it does not name, and neither large nor in parts.

    An import gets none: its corpus is new, so there is no image to patch.

    Parameters
    ----------
    change : the change
    vanished : ids of the records that vanished, by kind
    """
    links = (change.placements, change.abouts, change.mentions, change.supports, change.synonyms, change.moves)
    size = max(sum(map(len, links)), sum(map(len, vanished.values())))
    is_repair = change.recounted or change.doubted or (change.removed_chunks and not change.sources)
    return not (is_repair or change.is_arrival) and size <= MOST and not isinstance(change, LargeChange)


def shared(change: Change, *, old: Iterable[str], vanished: Mapping[str, Sequence[str]]) -> list[str]:
    """The ids of the statements that other chunks than those of the change may assert too.

    Parameters
    ----------
    change : the change
    old : statements that a chunk asserted before the change
    vanished : ids of the records that vanished, by kind
    """
    known = {item.id for item, base in zip(change.sources, change.base_versions, strict=True) if base}
    again = {item.id for item in change.statements if item.source_id in known}
    return sorted(again.union(old).difference(vanished.get(Kind.STATEMENT.value, ())))


def edited(change: Change, *, removed: Sequence[str]) -> list[str]:
    """The ids of the known sources whose chunks may follow each other in another way.

    Parameters
    ----------
    change : the change
    removed : ids of removed chunks
    """
    if not (change.chunks or change.moves or removed):
        return []
    return sorted(item.id for item, base in zip(change.sources, change.base_versions, strict=True) if base)


class _Places:
    """The positions of ids in a list, in the order in which they are first mentioned."""

    def __init__(self) -> None:
        self.by_id: dict[str, int] = {}

    def of(self, ids: Iterable[str]) -> bytes:
        places = self.by_id
        return np.array([places.setdefault(item, len(places)) for item in ids], dtype="<i4").tobytes()


def listed(change: Change, stored: Stored) -> ChangeList:
    """The list of a change.

    Parameters
    ----------
    change : the change, as it was published
    stored : what the store has after it
    """
    places = _Places()
    gone = {name: KINDS.index(Kind(kind)) for kind, names in stored.vanished.items() for name in names}
    rows = [
        _row(places, name, is_back=is_back, rows=by_owner)
        for (name, is_back), by_owner in _rows(change, stored).items()
    ]
    nodes = {key: value for key, value in _nodes(change).items() if key not in gone}
    places.of(nodes)
    places.of(source for _, source in nodes.values() if source)
    pairs = ((sorted((item.a, item.b)), item.similarity) for item in stored.synonyms if item.a != item.b)
    links = [_put(places, Relationship.SYNONYM, {(a, b): similarity for (a, b), similarity in pairs})]
    removed = places.of(sorted(gone))
    changes = _made(places, nodes, rows=rows, links=links, removed=removed)
    return msgspec.structs.replace(changes, removed_kinds=bytes(gone[name] for name in sorted(gone)))


def merged(*, cut: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]) -> ChangeList:
    """The list of decisions about entities.

    Parameters
    ----------
    cut : pairs that are merged no more, in either direction
    added : pairs that are merged: the alias and the canonical entity
    """
    places = _Places()
    weights = {**{pair: np.nan for a, b in cut for pair in ((a, b), (b, a))}, **dict.fromkeys(added, 1.0)}
    return _made(places, {}, rows=[], links=[_put(places, Relationship.SAME_AS, weights)], removed=b"")


def _made(
    places: _Places,
    nodes: Mapping[str, tuple[Kind, str]],
    *,
    rows: list[Row],
    links: list[Put],
    removed: bytes,
) -> ChangeList:
    by_id = places.by_id
    kinds = [KINDS.index(nodes[name][0]) if name in nodes else KNOWN for name in by_id]
    sources = [by_id.get(nodes[name][1], -1) if name in nodes else -1 for name in by_id]
    return ChangeList(
        np.array([name.encode() for name in by_id], dtype="S32").tobytes(),
        bytes(kinds),
        np.array(sources, dtype="<i4").tobytes(),
        removed,
        [item for item in rows if item.owners],
        [item for item in links if item.a],
    )


def _nodes(change: Change) -> dict[str, tuple[Kind, str]]:
    """The nodes that a change asserts, by id: the kind, and the id of the source; empty: none."""
    return {
        **{item.id: (Kind.SOURCE, item.id) for item in change.sources},
        **{item.id: (Kind.CHUNK, item.source_id) for item in change.chunks},
        **{item.id: (Kind.TOPIC, item.source_id) for item in change.topics},
        **{item.id: (Kind.STATEMENT, item.source_id) for item in change.statements},
        **{item.fact_id: (Kind.FACT, "") for item in change.facts},
        **dict.fromkeys(change.entities, (Kind.ENTITY, "")),
    }


_Found = dict[tuple[str, bool], dict[str, dict[str, float]]]
"""By relationship and direction: the node at one end, and the nodes at the other ends with their weights."""


def _rows(change: Change, stored: Stored) -> _Found:
    rows: _Found = {}

    def row(name: str, owner: str, *, is_back: bool = False) -> dict[str, float]:
        return rows.setdefault((name, is_back), {}).setdefault(owner, {})

    for chunk in change.chunks:
        row(Relationship.FROM_SOURCE, chunk.id)[chunk.source_id] = 1
        row(Relationship.IN_CHUNK, chunk.id, is_back=True)
        row(SAID, chunk.id)
    for item in change.statements:
        row(Relationship.ABOUT, item.id)
        row(Relationship.MENTIONS, item.id)
        row(Relationship.SUPPORTS, item.id, is_back=True)
    for placement in change.placements:
        row(Relationship.IN_CHUNK, placement.chunk_id, is_back=True)[placement.statement_id] = 1
    for about in change.abouts:
        row(Relationship.IN_CHUNK, about.chunk_id, is_back=True)[about.topic_id] = 1
        if about.statement_id:
            row(Relationship.ABOUT, about.statement_id)[about.topic_id] = 1
    said = Counter({(item.chunk_id, item.statement_id, item.entity_id) for item in change.mentions})
    for chunk_id, statement_id, entity_id in sorted(said):
        row(Relationship.MENTIONS, statement_id)[entity_id] = 1
        counts = row(SAID, chunk_id)
        counts[entity_id] = counts.get(entity_id, 0) + 1
    for support in change.supports:
        row(Relationship.SUPPORTS, support.statement_id, is_back=True)[support.fact_id] = 1
    for fact in change.facts:
        row(Relationship.SUBJECT, fact.fact_id, is_back=True)[fact.subject_id] = 1
        if fact.object_id:
            row(Relationship.OBJECT, fact.fact_id, is_back=True)[fact.object_id] = 1
    for asserted in stored.asserted:  # of other chunks too
        for name, ids, is_back in (
            (Relationship.ABOUT, asserted.topic_ids, False),
            (Relationship.MENTIONS, asserted.entity_ids, False),
            (Relationship.SUPPORTS, asserted.fact_ids, True),
        ):
            rows.setdefault((name, is_back), {})[asserted.statement_id] = dict.fromkeys(sorted(ids), 1.0)
    for chunk_id, after in (*_in_order(change), *stored.following):
        rows.setdefault((Relationship.NEXT, False), {})[chunk_id] = {} if after is None else {after: 1}
    return rows


def _in_order(change: Change) -> Iterable[tuple[str, str]]:
    """The chunks of new sources, each with the next one."""
    new = {item.id for item, base in zip(change.sources, change.base_versions, strict=True) if not base}
    by_source: dict[str, list[tuple[int, str]]] = {}
    for item in change.chunks:
        if item.source_id in new:
            by_source.setdefault(item.source_id, []).append((item.position, item.id))
    for chunks in by_source.values():
        chunks.sort()
        yield from ((a, b) for (_, a), (_, b) in itertools.pairwise(chunks))


def _row(places: _Places, name: str, *, is_back: bool, rows: Mapping[str, Mapping[str, float]]) -> Row:
    weights = np.array([weight for row in rows.values() for weight in row.values()], dtype="<f4")
    return Row(
        name,
        is_back,
        places.of(rows),
        np.array([len(row) for row in rows.values()], dtype="<i4").tobytes(),
        places.of(target for row in rows.values() for target in row),
        b"" if (weights == 1).all() else weights.tobytes(),
    )


def _put(places: _Places, name: str, weights: Mapping[tuple[str, str], float]) -> Put:
    ends = places.of(a for a, _ in weights), places.of(b for _, b in weights)
    return Put(name, *ends, np.array(list(weights.values()), dtype="<f4").tobytes())


SHARE = 0.1
"""An image with more than this share of its nodes or links replaced is copied to new arrays."""
LEAST = 20_000
"""Number of replaced nodes and links up to which an image is not heavy, however small it is."""
_Numbers = NDArray[np.int64]


class _Edits(NamedTuple):
    """Links to write, by the numbers of their nodes. The last one of a pair counts; a NaN weight removes the link."""

    a: _Numbers
    b: _Numbers
    weight: NDArray[np.float32]


class _Ways(NamedTuple):
    there: WayOver
    back: WayOver


def patched(image: Image, step: Step) -> Image:
    """The image of the next version. The given one stays as it is.

    Parameters
    ----------
    image : image of the version before; if it has counted relationships, it has those that they are counted from
    step : leads from its state to the next
    """
    change, old = unpack(step.data), _nodes_over(image.nodes)
    numbers, nodes = _renumbered(old, change)
    links = {name: _Ways(laid_over(item.there), laid_over(item.back)) for name, item in image.links.items()}
    gone = numbers[_ints(change.removed)]
    edits = _edits(links, change, numbers=numbers, gone=gone[gone >= 0])
    fresh = {name: _edited(links[name], edits[name], nodes.numbering) for name in links if name not in _COUNT}
    for name, count in _COUNT.items():
        if name in links:
            edits[name] = _Edits._make(joined([edits[name], count(links, fresh, edits)]))
            fresh[name] = _edited(links[name], edits[name], nodes.numbering)
    new_links = {name: Links(fresh[name].there, fresh[name].back, item.is_even) for name, item in image.links.items()}
    ends = {name: _ids_of(old, nodes, np.concatenate([item.a, item.b])) for name, item in edits.items()}
    came = _ids_of(old, nodes, np.concatenate([gone, numbers[np.frombuffer(change.kinds, np.uint8) != KNOWN]]))
    trail = (*image.trail[1 - KEPT :], Touched(image.mark, step.after, came, ends))
    return Image(nodes, new_links, version=step.after.version, mark=step.after, trail=trail)


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
    return replace(image, nodes=image.nodes.plain(), links=links)


def _ints(data: bytes) -> NDArray[np.int32]:
    return np.frombuffer(data, dtype="<i4")


def _nodes_over(nodes: NodeTable) -> NodesOver:
    return nodes if isinstance(nodes, NodesOver) else NodesOver(nodes, unchanged(nodes.size), NO_NODES)


def _renumbered(old: NodesOver, change: ChangeList) -> tuple[_Numbers, NodesOver]:
    """The number of each id of the change, -1 for an unknown one; and the nodes after it."""
    ids = np.frombuffer(change.ids, dtype="S32")
    kinds = np.frombuffer(change.kinds, dtype=np.uint8)
    numbers = old.numbers(ids)
    gone = numbers[_ints(change.removed)]
    gone = gone[gone >= 0]
    old_numbering = old.numbering
    stays = ~np.isin(old_numbering.fresh, gone)
    new = np.flatnonzero((kinds != KNOWN) & (numbers < 0))
    first = int(old_numbering.fresh.max()) + 1 if len(old_numbering.fresh) else old_numbering.base
    numbers[new] = first + np.arange(len(new))
    at = _ints(change.sources)[new]
    sources = np.where(at < 0, NO_SOURCE, numbers[at]) if len(numbers) else at
    added = Nodes(
        np.concatenate([old.added.ids[stays], ids[new]]),
        np.concatenate([old.added.kinds[stays], kinds[new]]),
        np.concatenate([old.added.sources[stays], sources]).astype(np.int32),
    )
    order = np.argsort(added.ids)
    before = np.concatenate([old_numbering.before[stays], np.searchsorted(old.base.ids, ids[new])])
    numbering = Numbering(
        old_numbering.base,
        removed=np.union1d(old_numbering.removed, gone[gone < old_numbering.base]),
        fresh=np.concatenate([old_numbering.fresh[stays], numbers[new]])[order],
        before=before[order],
    )
    return numbers, NodesOver(old.base, numbering, Nodes(added.ids[order], added.kinds[order], added.sources[order]))


def _edits(links: dict[str, _Ways], change: ChangeList, *, numbers: _Numbers, gone: _Numbers) -> dict[str, _Edits]:
    """The links that differ after the change, of the relationships that the image has."""
    edits: dict[str, list[_Edits]] = {}
    for name, ways in links.items():
        there, back = ways.there.of_numbers(gone), ways.back.of_numbers(gone)
        cut = _cut(np.concatenate([gone[there.owner], back.target]), np.concatenate([there.target, gone[back.owner]]))
        edits[name] = [cut]
    for row in change.rows:
        if row.name in links:
            owners = numbers[_ints(row.owners)]
            counts, targets = _ints(row.counts), numbers[_ints(row.targets)]
            weights = np.frombuffer(row.weights, dtype="<f4") if row.weights else np.ones(len(targets), dtype="<f4")
            new = _Edits(np.repeat(owners, counts), targets, weights)
            known = np.unique(owners[owners >= 0])
            stored = (links[row.name].back if row.is_back else links[row.name].there).of_numbers(known)
            differ = _difference(_Edits(known[stored.owner], stored.target, stored.weight), new)
            edits[row.name] += [_Edits(b, a, weight) for a, b, weight in differ] if row.is_back else differ
    for put in change.links:
        if put.name in links:
            weights = np.frombuffer(put.weights, dtype="<f4")
            edits[put.name].append(_Edits(numbers[_ints(put.a)], numbers[_ints(put.b)], weights))
    return {name: _known(_Edits._make(joined(parts)), gone=gone) for name, parts in edits.items()}


def _known(edits: _Edits, *, gone: _Numbers) -> _Edits:
    """Without links to nodes that are not there after the change."""
    keep = (edits.a >= 0) & (edits.b >= 0)
    keep &= np.isnan(edits.weight) | ~(np.isin(edits.a, gone) | np.isin(edits.b, gone))
    return _Edits(edits.a[keep], edits.b[keep], edits.weight[keep])


def _difference(old: _Edits, new: _Edits) -> list[_Edits]:
    """What makes the old links the new ones; both hold each pair once."""
    old_keys, new_keys = _keys(old.a, old.b), _keys(new.a, new.b)
    if not len(old_keys):
        return [new]
    order = np.argsort(old_keys, kind="stable")
    at = order[find(old_keys[order], new_keys)]  # any position for a new pair
    is_same = (old_keys[at] == new_keys) & (old.weight[at] == new.weight)
    left = np.setdiff1d(np.arange(len(old.a)), at[is_same])
    return [_cut(old.a[left], old.b[left]), _Edits(new.a[~is_same], new.b[~is_same], new.weight[~is_same])]


def _cut(a: _Numbers, b: _Numbers) -> _Edits:
    return _Edits(a, b, np.full(len(a), np.nan, dtype=np.float32))


def _edited(ways: _Ways, edits: _Edits, numbering: Numbering) -> _Ways:
    pairs = zip(ways, (edits, _Edits(edits.b, edits.a, edits.weight)), strict=True)
    return _Ways(*(WayOver(way.base, numbering, _replaced(way, some, numbering)) for way, some in pairs))


def _replaced(way: WayOver, edits: _Edits, numbering: Numbering) -> Rows:
    """The rows that replace those of the arrays: those of before, and the rows of the nodes that are edited."""
    if not len(edits.a):
        return way.rows
    touched = np.unique(edits.a)
    keys = _keys(np.searchsorted(touched, edits.a), edits.b)
    last, first = np.unique(keys[::-1], return_index=True)  # of a pair, the last edit counts
    puts = len(keys) - 1 - first
    puts = puts[~np.isnan(edits.weight[puts])]
    old = way.of_numbers(touched)
    stays = ~is_among(_keys(old.owner, old.target), last)
    row = np.concatenate([old.owner[stays], np.searchsorted(touched, edits.a[puts])])
    target = np.concatenate([old.target[stays], edits.b[puts]])
    weight = np.concatenate([old.weight[stays], edits.weight[puts]])
    order = np.argsort(_keys(row, numbering.places(target)), kind="stable")  # almost in order, which makes it linear
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(touched)))]).astype(np.int64)
    fresh = OneWay(starts, target[order].astype(np.int32), weight[order].astype(np.float32))
    return _merged(way.rows, Rows(touched, fresh))


def _merged(old: Rows, new: Rows) -> Rows:
    """Old rows and new ones, which replace those of the same nodes."""
    stays = np.flatnonzero(~is_among(old.owners, new.owners))
    owners = np.concatenate([old.owners[stays], new.owners])
    counts = np.concatenate([old.links.counts(stays), np.diff(new.links.starts)])
    first = np.concatenate([old.links.starts[stays], new.links.starts[:-1] + old.links.total])
    order = np.argsort(owners)
    counts = counts[order]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = spans(first[order], counts)
    target = np.concatenate([old.links.targets, new.links.targets])
    weight = np.concatenate([old.links.weights, new.links.weights])
    return Rows(owners[order], OneWay(starts, target[at], weight[at]))


def _keys(a: NDArray[np.integer], b: NDArray[np.integer]) -> _Numbers:
    """One number a pair, in the order of the pairs."""
    return (a.astype(np.int64, copy=False) << 32) + b


def _co_occurs(old: dict[str, _Ways], new: dict[str, _Ways], edits: dict[str, _Edits]) -> _Edits:
    """Around the chunks that say other things than before."""
    chunks = np.unique(edits[SAID].a)

    def pairs(way: WayOver) -> Iterator[Pairs]:
        places = np.sort(way.numbering.places(chunks[way.numbering.has(chunks)]))
        for a, b, weight in paired(way, places):
            yield way.numbering.numbers(a), way.numbering.numbers(b), weight

    return _recounted(old[Relationship.CO_OCCURS].there, pairs(old[SAID].there), new=pairs(new[SAID].there))


def _relates(old: dict[str, _Ways], new: dict[str, _Ways], edits: dict[str, _Edits]) -> _Edits:
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


_COUNT: Mapping[str, Callable[[dict[str, _Ways], dict[str, _Ways], dict[str, _Edits]], _Edits]] = {
    Relationship.CO_OCCURS: _co_occurs,
    Relationship.RELATES: _relates,
}
"""The relationships that are counted again, from the links before the change and after it."""


def _recounted(way: WayOver, old: Iterable[Pairs], *, new: Iterable[Pairs]) -> _Edits:
    """The new weights of pairs: those of before, less what was counted before, plus what is counted now."""
    before, after = joined(old), joined(new)
    a, b, weights = joined([before._replace(weight=-before.weight), after])
    keys, place = np.unique(_keys(a, b), return_inverse=True)
    total = np.bincount(place, weights=weights, minlength=len(keys)).astype(np.float64)
    keys, total = keys[total != 0], total[total != 0]
    owners, targets = keys >> 32, keys & 0xFFFFFFFF
    known = np.unique(owners)
    gathered = way.of_numbers(known)
    old_keys = _keys(known[gathered.owner], gathered.target)
    order = np.argsort(old_keys, kind="stable")
    at = find(old_keys[order], keys)
    total[at >= 0] += gathered.weight[order][at[at >= 0]]
    return _Edits(owners, targets, np.where(total > 0, total, np.nan).astype(np.float32))
