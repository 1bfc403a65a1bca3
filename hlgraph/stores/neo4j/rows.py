"""From a change to the rows that Cypher writes, and from the rows that Cypher reads to records. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from hlgraph.change import Change
from hlgraph.records import Chunk, Entity, Fact, Kind, Metadata, MetadataValue, Record, Source, Statement, Topic
from hlgraph.stores.neo4j.server import Row

PLURAL: Mapping[Kind, str] = {
    Kind.SOURCE: "sources",
    Kind.CHUNK: "chunks",
    Kind.TOPIC: "topics",
    Kind.STATEMENT: "statements",
    Kind.FACT: "facts",
    Kind.ENTITY: "entities",
}
"""The kinds that the server stores, as the names of queries spell them."""

_Named = TypeVar("_Named", Topic, Statement)


def metadata(text: str) -> Metadata:
    """The metadata that this JSON text is; lists are tuples again."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(text).items()}


def _texts(value: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(value or ())


_MAKE: Mapping[Kind, Callable[..., Record]] = {
    Kind.SOURCE: Source,
    Kind.CHUNK: Chunk,
    Kind.TOPIC: Topic,
    Kind.STATEMENT: Statement,
    Kind.FACT: Fact,
    Kind.ENTITY: Entity,
}
_CONVERTED: Mapping[Kind, tuple[int, Callable[[Any], object]]] = {
    Kind.SOURCE: (5, metadata),
    Kind.CHUNK: (7, _texts),
    Kind.STATEMENT: (6, _texts),
    Kind.ENTITY: (4, _texts),
}
"""Which value is stored in another form than the record has it in."""


def records(kind: Kind, rows: Iterable[Row]) -> dict[str, Record]:
    """The records by id that ``retrieve/read_<kind>`` gives: lists of the values of their fields, many in a row."""
    make, lists = _MAKE[kind], list[list[Any]]()
    for row in rows:
        lists += row["records"] if isinstance(row["records"], list) else []
    if kind in _CONVERTED:
        at, convert = _CONVERTED[kind]
        for values in lists:
            values[at] = convert(values[at])
    return {values[0]: make(*values) for values in lists}


def source_rows(change: Change) -> list[Row]:
    """Sources: metadata exactly, as JSON, and again as properties ``meta_<field>`` for analysts where Neo4j can hold them."""
    rows: list[Row] = []
    for item in sorted(change.sources, key=lambda source: source.id):
        shown = {f"meta_{key}": _shown(value) for key, value in item.metadata.items()}
        properties = {
            **{key: value for key, value in shown.items() if value is not None},
            "id": item.id,
            "corpus": change.corpus,
            "uri": item.uri,
            "title": item.title,
            "checksum": item.checksum,
            "version": item.version,
            "valid_from": item.valid_from,
            "valid_to": item.valid_to,
            "metadata": json.dumps(dict(item.metadata), ensure_ascii=False, sort_keys=True),
            "metadata_keys": sorted(item.metadata),
        }
        rows.append({"id": item.id, "properties": properties})
    return rows


def _shown(value: MetadataValue) -> object:
    """A value as a property: 64-bit numbers, texts, truths, and lists of one of them; None for what is none of these."""
    if not isinstance(value, tuple):
        fits = not isinstance(value, int) or -(1 << 63) <= value < 1 << 63
        return value if fits else None
    items = [_shown(item) for item in value]
    return items if len({type(item) for item in items}) == 1 and None not in items else None


def chunk_rows(change: Change) -> list[Row]:
    """New chunks and those extracted again."""
    return [
        {
            "id": item.id,
            "source": item.source_id,
            "text": item.text,
            "start": item.start,
            "end": item.end,
            "position": item.position,
            "tokens": item.tokens,
            "headings": list(item.headings),
            "page": item.page,
            "fingerprint": item.fingerprint,
        }
        for item in sorted(change.chunks, key=lambda chunk: chunk.id)
    ]


def topic_rows(change: Change) -> list[Row]:
    """Topics."""
    return [{"id": item.id, "source_id": item.source_id, "name": item.name} for item in _by_id(change.topics)]


def statement_rows(change: Change) -> list[Row]:
    """Statements."""
    return [{"id": item.id, "source_id": item.source_id, "text": item.text} for item in _by_id(change.statements)]


def fact_rows(change: Change) -> list[Row]:
    """Facts, with the entity that is their subject."""
    return [
        {"id": name, "subject_id": item.subject_id, "predicate": item.predicate, "complement": item.complement}
        for name, item in sorted({fact.fact_id: fact for fact in change.facts}.items())
    ]


def object_rows(change: Change) -> list[Row]:
    """Facts whose object is an entity."""
    found = {item.fact_id: item.object_id for item in change.facts if item.object_id}
    return [{"id": name, "object_id": found[name]} for name in sorted(found)]


class Link(NamedTuple):
    """What to call the two ends of a relationship in rows."""

    start: str
    end: str


def asserted_rows(link: Link, found: Iterable[tuple[str, str, str]]) -> list[Row]:
    """One row a relationship, with the chunks that assert it; ``found``: start, end, chunk."""
    chunks: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for start, end, chunk in found:
        chunks[start, end][chunk] = None
    return [{link.start: start, link.end: end, "chunks": list(chunks[start, end])} for start, end in sorted(chunks)]


def mention_rows(change: Change) -> list[Row]:
    """One row a statement and entity: the chunks that assert it, and the surface and kind that each uses (the first counts)."""
    found: defaultdict[tuple[str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    for item in change.mentions:
        found[item.statement_id, item.entity_id].setdefault(item.chunk_id, (item.surface, item.kind))
    rows: list[Row] = []
    for statement, entity in sorted(found):
        said = found[statement, entity]
        rows.append(
            {
                "statement_id": statement,
                "entity_id": entity,
                "chunks": list(said),
                "surfaces": [surface for surface, _ in said.values()],
                "kinds": [kind for _, kind in said.values()],
            }
        )
    return rows


def _by_id(items: Sequence[_Named]) -> list[_Named]:
    return sorted({item.id: item for item in items}.values(), key=lambda item: item.id)
