"""Rows of the embedded database as records: one SELECT a kind, shared by ``records`` and ``find``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from hlgraph.records import Chunk, Entity, Fact, Kind, Metadata, Record, Source, Statement, Topic
from hlgraph.stores.embedded import told

_SELECT: Mapping[Kind, str] = {
    Kind.SOURCE: """
        SELECT node.id, corpus.name, r.uri, r.title, r.checksum, r.metadata, r.version, r.valid_from, r.valid_to
        FROM source AS r JOIN node USING (n) JOIN corpus USING (c)""",
    Kind.CHUNK: """
        SELECT node.id, s.id, r.text, r.start, r."end", r.position, r.tokens, r.headings, r.page, r.fingerprint
        FROM chunk AS r JOIN node USING (n) JOIN node AS s ON s.n = node.source""",
    Kind.TOPIC: "SELECT node.id, s.id, r.name FROM topic AS r JOIN node USING (n) JOIN node AS s ON s.n = node.source",
    Kind.STATEMENT: """
        SELECT node.id, s.id, r.text, c.start + p.start, c.start + p."end", cn.id, p.details
        FROM statement AS r JOIN node USING (n) JOIN node AS s ON s.n = node.source
        JOIN in_chunk AS p ON p.statement = r.n AND p.chunk = (
          SELECT i.chunk FROM in_chunk AS i JOIN chunk AS k ON k.n = i.chunk WHERE i.statement = r.n ORDER BY k.position LIMIT 1)
        JOIN chunk AS c ON c.n = p.chunk JOIN node AS cn ON cn.n = p.chunk""",
    Kind.FACT: """
        SELECT node.id, corpus.name, s.id, r.predicate, o.id, es.name, coalesce(eo.name, r.complement)
        FROM fact AS r JOIN node USING (n) JOIN corpus USING (c)
        JOIN node AS s ON s.n = r.subject JOIN entity AS es ON es.n = r.subject
        LEFT JOIN node AS o ON o.n = r.object LEFT JOIN entity AS eo ON eo.n = r.object""",
    Kind.ENTITY: """
        SELECT node.id, corpus.name, r.name, r.kind,
          (SELECT json_group_array(surface) FROM (SELECT DISTINCT surface FROM alias WHERE entity = r.n ORDER BY surface))
        FROM entity AS r JOIN node USING (n) JOIN corpus USING (c)""",
}
STORED = frozenset(_SELECT)
_HOLDING = 300


def _metadata(text: str) -> Metadata:
    return (
        {}
        if text == "{}"
        else {key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(text).items()}
    )


def _texts(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


_Row = tuple[Any, ...]
_MAKE: Mapping[Kind, Callable[[_Row], Record]] = {
    Kind.SOURCE: lambda r: Source(r[0], r[1], r[2], r[3], r[4], _metadata(r[5]), r[6], r[7], r[8]),
    Kind.CHUNK: lambda r: Chunk(r[0], r[1], r[2], r[3], r[4], r[5], r[6], _texts(r[7]), r[8], r[9]),
    Kind.TOPIC: lambda r: Topic(*r),
    Kind.STATEMENT: lambda r: Statement(r[0], r[1], r[2], r[3], r[4], r[5], _texts(r[6])),
    Kind.FACT: lambda r: Fact(r[0], r[1], r[2], r[3], r[4], f"{r[5]} {r[3]} {r[6]}"),
    Kind.ENTITY: lambda r: Entity(r[0], r[1], r[2], r[3], _texts(r[4])),
}


def select(
    connection: sqlite3.Connection, kind: Kind, *, condition: str, values: Mapping[str, str | int | float]
) -> list[Record]:
    """Records of a kind whose ``node`` row meets a condition, by ascending id."""
    make = _MAKE[kind]
    statement = f"{_SELECT[kind]} WHERE {condition} ORDER BY node.id"
    with told.sql(f"read {kind}", statement, values=values) as call:
        found = [make(row) for row in connection.execute(statement, values)]
        call.rows = len(found)
    return found


def size_of(record: Record) -> int:
    """About how many characters a record has; a few hundred more for what holds them."""
    metadata = len(str(record.metadata)) if isinstance(record, Source) else 0
    return _HOLDING + metadata + len(getattr(record, "text", ""))
