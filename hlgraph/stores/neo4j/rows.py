"""Convert a change into rows for Cypher, and rows from Cypher into records. Pure functions."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from hlgraph.change import Change
from hlgraph.records import RECORD_TYPES, Kind, Metadata, MetadataValue, Record, Statement, Topic
from hlgraph.stores.neo4j.server import Row
from hlgraph.text import ACL

PLURAL: Mapping[Kind, str] = {
    Kind.SOURCE: "sources",
    Kind.CHUNK: "chunks",
    Kind.TOPIC: "topics",
    Kind.STATEMENT: "statements",
    Kind.FACT: "facts",
    Kind.ENTITY: "entities",
}
"""The kinds of records that the server stores, with the names of their query parameters."""


def metadata(text: str) -> Metadata:
    """Metadata from JSON text, with lists as tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(text).items()}


def _tuple(value: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(value or ())


_CONVERTED: Mapping[Kind, tuple[int, Callable[[Any], object]]] = {
    Kind.SOURCE: (5, metadata),
    Kind.CHUNK: (7, _tuple),
    Kind.STATEMENT: (6, _tuple),
    Kind.ENTITY: (4, _tuple),
}
"""The position of a value whose stored form differs from the record's, and its conversion."""


def records(kind: Kind, rows: Iterable[Row]) -> dict[str, Record]:
    """Records by id, from the rows of ``retrieve/read_<kind>``.

    Parameters
    ----------
    kind : kind of the records
    rows : rows with a column ``records``: lists of the field values of many records
    """
    make, lists = RECORD_TYPES[kind], [values for row in rows for values in row["records"]]
    if kind in _CONVERTED:
        at, convert = _CONVERTED[kind]
        for values in lists:
            values[at] = convert(values[at])
    return {values[0]: make(*values) for values in lists}


def source_rows(change: Change) -> list[Row]:
    """Rows of sources; metadata is stored as JSON and, if Neo4j supports the value, as properties ``meta_<field>`` for analysts.

    Sources with groups have ``has_acl``, by which :class:`hlgraph.stores.neo4j.graph.Fields` tells a corpus with groups.
    """
    rows: list[Row] = []
    for item in sorted(change.sources, key=lambda source: source.id):
        shown = {f"meta_{key}": _shown(value) for key, value in item.metadata.items()}
        properties = {key: value for key, value in shown.items() if value is not None}
        properties |= msgspec.to_builtins(item) | {
            "corpus": change.corpus,
            "metadata": json.dumps(dict(item.metadata), ensure_ascii=False, sort_keys=True),
            "metadata_keys": sorted(item.metadata),
        }
        if ACL in item.metadata:
            properties["has_acl"] = True
        rows.append({"id": item.id, "properties": properties})
    return rows


def _shown(value: MetadataValue) -> object:
    """A value as a Neo4j property: a 64-bit number, text, boolean, or a list of one type; None for any other value."""
    if not isinstance(value, tuple):
        fits = not isinstance(value, int) or -(1 << 63) <= value < 1 << 63
        return value if fits else None
    items = [_shown(item) for item in value]
    return items if len({type(item) for item in items}) == 1 and None not in items else None


def chunk_rows(change: Change) -> list[Row]:
    """Rows of new chunks, and of chunks extracted again.

    The source column is not called ``source_id``: a query that reads and sets a property of the same name buffers all rows.
    """
    rows: list[Row] = [msgspec.to_builtins(item) for item in sorted(change.chunks, key=lambda chunk: chunk.id)]
    for row in rows:
        row["source"], row["headings"] = row.pop("source_id"), list(row["headings"])
    return rows


def next_rows(change: Change) -> list[Row]:
    """One row per chunk that has a successor in its source."""
    following: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for item in change.chunks:
        following[item.source_id].append((item.position, item.id))
    pairs = (pair for name in sorted(following) for pair in itertools.pairwise(sorted(following[name])))
    return [{"id": one, "next": other} for (_, one), (_, other) in pairs]


def topic_rows(change: Change) -> list[Row]:
    """Rows of topics."""
    return _by_id(change.topics, "id", "source_id", "name")


def statement_rows(change: Change) -> list[Row]:
    """Rows of statements."""
    return _by_id(change.statements, "id", "source_id", "text")


def fact_rows(change: Change) -> list[Row]:
    """Rows of facts, with the entity that is their subject."""
    return [
        {"id": name, "subject_id": item.subject_id, "predicate": item.predicate, "complement": item.complement}
        for name, item in sorted({fact.fact_id: fact for fact in change.facts}.items())
    ]


def object_rows(change: Change) -> list[Row]:
    """Rows of the facts whose object is an entity."""
    objects = {item.fact_id: item.object_id for item in change.facts if item.object_id}
    return [{"id": name, "object_id": objects[name]} for name in sorted(objects)]


def placement_rows(change: Change) -> list[Row]:
    """One row per chunk and statement."""
    placements = {(item.chunk_id, item.statement_id): item for item in reversed(change.placements)}
    return [{**placements[key]._asdict(), "details": list(placements[key].details)} for key in sorted(placements)]


def naming_rows(change: Change) -> list[Row]:
    """One row per chunk and topic, with the spelling of the chunk."""
    names = {(item.chunk_id, item.topic_id): item.name for item in reversed(change.abouts)}
    return [{"chunk_id": key[0], "topic_id": key[1], "name": names[key]} for key in sorted(names)]


def about_rows(change: Change) -> list[Row]:
    """One row per statement and topic."""
    triples = ((item.statement_id, item.topic_id, item.chunk_id) for item in change.abouts if item.statement_id)
    return _asserted("statement_id", "topic_id", triples=triples)


def support_rows(change: Change) -> list[Row]:
    """One row per fact and statement."""
    triples = ((item.fact_id, item.statement_id, item.chunk_id) for item in change.supports)
    return _asserted("fact_id", "statement_id", triples=triples)


def _asserted(start: str, end: str, *, triples: Iterable[tuple[str, str, str]]) -> list[Row]:
    """One row per relationship, with the chunks that assert it.

    Parameters
    ----------
    start, end : columns of its two ends
    triples : ids of the start, the end and a chunk
    """
    chunks: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for *ends, chunk in triples:
        chunks[ends[0], ends[1]][chunk] = None
    return [{start: key[0], end: key[1], "chunks": list(chunks[key])} for key in sorted(chunks)]


def mention_rows(change: Change) -> list[Row]:
    """One row per statement and entity: the chunks that assert the mention, and the first surface and kind in each."""
    mentions: defaultdict[tuple[str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    for item in change.mentions:
        mentions[item.statement_id, item.entity_id].setdefault(item.chunk_id, (item.surface, item.kind))
    rows: list[Row] = []
    for statement, entity in sorted(mentions):
        by_chunk = mentions[statement, entity]
        surfaces, kinds = map(list, zip(*by_chunk.values(), strict=True))
        rows.append(
            {
                "statement_id": statement,
                "entity_id": entity,
                "chunks": list(by_chunk),
                "surfaces": surfaces,
                "kinds": kinds,
            }
        )
    return rows


def _by_id(items: Iterable[Topic | Statement], *fields: str) -> list[Row]:
    by_id = {item.id: item for item in items}
    return [{name: getattr(by_id[key], name) for name in fields} for key in sorted(by_id)]
