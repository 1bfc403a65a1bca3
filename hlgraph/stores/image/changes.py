"""What one published change did to the graph of a corpus, as a compact list, from which an image of the version before is patched.

Every asserted link names the chunk that asserts it. So the list holds the new rows of the chunks, statements and facts that the
change touches, as they are after it, and the patch compares them with the rows of the image. Counted relationships are not
listed. The list names nodes by their ids, which are hashes, and holds no text.
"""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from hlgraph.change import Change, Synonym
from hlgraph.records import Kind, Relationship
from hlgraph.stores.image.counted import SAID
from hlgraph.subgraph import KINDS

KEPT = 64
"""For so many versions of a corpus the lists are kept."""
FAR = KEPT // 2
"""Files that are older by more versions are written anew by the process that patches them."""
MOST = 50_000
"""Maximum number of links, and of removed records, of a change that is listed. After a larger one the image is filled anew."""
KNOWN = 255
"""The kind of a node that the list mentions and does not add."""


class Row(NamedTuple):
    """The links of one relationship, of some nodes, as they are after the change.

    Attributes
    ----------
    name : the relationship
    is_back : whether they are told from the end of the link
    owners, counts : places of the nodes in the ids of the list, and the number of links of each, int32
    targets : places of the other ends, int32
    weights : float32; empty where all are 1
    """

    name: str
    is_back: bool
    owners: bytes
    counts: bytes
    targets: bytes
    weights: bytes


class Put(NamedTuple):
    """Single links of a relationship: their ends, and their weights, float32. A weight that is no number removes the link."""

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
    sources : the place of the source of each, int32; -1: none
    removed : places of the nodes that vanished, int32
    rows, links : what it did to relationships
    """

    ids: bytes
    kinds: bytes
    sources: bytes
    removed: bytes
    rows: list[Row]
    links: list[Put]


def pack(found: ChangeList) -> bytes:
    """A list as bytes."""
    return zlib.compress(msgspec.msgpack.encode(found), 1)


def unpack(data: bytes) -> ChangeList:
    """The list that :func:`pack` wrote."""
    return msgspec.msgpack.decode(zlib.decompress(data), type=ChangeList)


def touched(found: ChangeList) -> frozenset[str]:
    """The ids of the sources that a change added, edited or gave new metadata, and of all records that vanished."""
    ids = np.frombuffer(found.ids, dtype="S32")
    is_source = np.frombuffer(found.kinds, dtype=np.uint8) == KINDS.index(Kind.SOURCE)
    both = (ids[is_source], ids[np.frombuffer(found.removed, dtype="<i4")])
    return frozenset(item.decode() for item in np.concatenate(both).tolist())


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
    """Whether a change gets a list: it is not a repair, which alters sources that it does not name, and not too large.

    Parameters
    ----------
    change : the change
    vanished : ids of the records that vanished, by kind
    """
    links = (change.placements, change.abouts, change.mentions, change.supports, change.synonyms, change.moves)
    size = max(sum(map(len, links)), sum(map(len, vanished.values())))
    is_repair = change.recounted or change.doubted or (change.removed_chunks and not change.sources)
    return not is_repair and size <= MOST


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
    """The places of ids in a list, in the order in which they are first mentioned."""

    def __init__(self) -> None:
        self.held: dict[str, int] = {}

    def of(self, ids: Iterable[str]) -> bytes:
        held = self.held
        return np.array([held.setdefault(item, len(held)) for item in ids], dtype="<i4").tobytes()


def listed(change: Change, stored: Stored) -> ChangeList:
    """The list of a change.

    Parameters
    ----------
    change : the change, as it was published
    stored : what the store has after it
    """
    places = _Places()
    gone = {name for names in stored.vanished.values() for name in names}
    rows = [_row(places, name, is_back=is_back, rows=found) for (name, is_back), found in _rows(change, stored).items()]
    nodes = {key: value for key, value in _nodes(change).items() if key not in gone}
    places.of(nodes)
    places.of(source for _, source in nodes.values() if source)
    links = [_synonyms(places, stored.synonyms)]
    removed = places.of(sorted(gone))
    return _made(places, nodes, rows=rows, links=links, removed=removed)


def merged(*, cut: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]) -> ChangeList:
    """The list of decisions about entities.

    Parameters
    ----------
    cut : pairs that are merged no more, in either direction
    added : pairs that are merged: the alias and the canonical entity
    """
    places = _Places()
    held = {**{pair: np.nan for a, b in cut for pair in ((a, b), (b, a))}, **dict.fromkeys(added, 1.0)}
    ends = places.of(a for a, _ in held), places.of(b for _, b in held)
    links = [Put(Relationship.SAME_AS, *ends, np.array(list(held.values()), dtype="<f4").tobytes())]
    return _made(places, {}, rows=[], links=links, removed=b"")


def _made(
    places: _Places,
    nodes: Mapping[str, tuple[Kind, str]],
    *,
    rows: list[Row],
    links: list[Put],
    removed: bytes,
) -> ChangeList:
    held = places.held
    kinds = [KINDS.index(nodes[name][0]) if name in nodes else KNOWN for name in held]
    sources = [held.get(nodes[name][1], -1) if name in nodes else -1 for name in held]
    return ChangeList(
        np.array([name.encode() for name in held], dtype="S32").tobytes(),
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
    found: _Found = {}

    def row(name: str, owner: str, *, is_back: bool = False) -> dict[str, float]:
        return found.setdefault((name, is_back), {}).setdefault(owner, {})

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
        held = row(SAID, chunk_id)
        held[entity_id] = held.get(entity_id, 0) + 1
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
            found.setdefault((name, is_back), {})[asserted.statement_id] = dict.fromkeys(sorted(ids), 1.0)
    for chunk_id, after in (*_in_order(change), *stored.following):
        found.setdefault((Relationship.NEXT, False), {})[chunk_id] = {} if after is None else {after: 1}
    return found


def _in_order(change: Change) -> Iterable[tuple[str, str]]:
    """The chunks of new sources, each with the next one."""
    new = {item.id for item, base in zip(change.sources, change.base_versions, strict=True) if not base}
    by_source: dict[str, list[tuple[int, str]]] = {}
    for item in change.chunks:
        if item.source_id in new:
            by_source.setdefault(item.source_id, []).append((item.position, item.id))
    for held in by_source.values():
        held.sort()
        yield from ((a, b) for (_, a), (_, b) in itertools.pairwise(held))


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


def _synonyms(places: _Places, synonyms: Iterable[Synonym]) -> Put:
    held = {(min(item.a, item.b), max(item.a, item.b)): item.similarity for item in synonyms if item.a != item.b}
    ends = places.of(a for a, _ in held), places.of(b for _, b in held)
    return Put(Relationship.SYNONYM, *ends, np.array(list(held.values()), dtype="<f4").tobytes())
