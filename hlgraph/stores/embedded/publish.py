"""Publishing a change: its rows into temporary tables, then the script ``sql/publish.sql``, in one transaction."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Iterator
from importlib.resources import files

from hlgraph.change import Change, Outcome
from hlgraph.records import Source
from hlgraph.subgraph import KINDS

_TABLES = (
    "t_source", "t_removed_source", "t_removed_chunk", "t_chunk", "t_move", "t_topic", "t_statement", "t_entity", "t_fact",
    "t_placement", "t_about", "t_mention", "t_support", "t_synonym", "t_old", "t_new", "t_gone", "t_dirty", "t_pair", "t_co",
    "t_alias", "t_added", "t_dead", "t_recounted", "t_recounted_chunk", "t_left", "t_untrue",
)  # fmt: skip


@functools.cache
def script(name: str) -> tuple[str, ...]:
    """The statements of ``sql/<name>.sql``, one by one."""
    text = files("hlgraph.stores.embedded").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    return tuple(_statements(text))


def _statements(text: str) -> Iterator[str]:
    held: list[str] = []
    for line in text.splitlines():
        if not held and (not line.strip() or line.lstrip().startswith("--")):
            continue
        held.append(line)
        if line.rstrip().endswith(";") and sqlite3.complete_statement("\n".join(held)):
            yield "\n".join(held)
            held = []


def metadata_json(source: Source) -> str:
    """The metadata of a source as JSON text."""
    return json.dumps(dict(source.metadata), ensure_ascii=False, sort_keys=True)


def publish(connection: sqlite3.Connection, change: Change) -> Outcome:
    """Apply the change; the caller holds the transaction."""
    for statement in script("temporary"):
        connection.execute(statement)
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table}")
    _load(connection, change)
    for statement in script("publish"):
        connection.execute(statement, {"corpus": change.corpus} if ":corpus" in statement else {})
    added = {KINDS[kind].value: count for kind, count in connection.execute("SELECT kind, count FROM t_added")}
    vanished: dict[str, list[str]] = {}
    for kind, name in connection.execute("SELECT kind, id FROM t_dead ORDER BY kind, id"):
        vanished.setdefault(KINDS[kind].value, []).append(name)
    return Outcome(added=added, vanished={kind: tuple(ids) for kind, ids in vanished.items()})


def _load(connection: sqlite3.Connection, change: Change) -> None:
    def insert(table: str, width: int, rows: Iterator[tuple[object, ...]]) -> None:
        marks = ", ".join("?" * width)
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)

    insert(
        "t_source",
        8,
        (
            (s.id, s.uri, s.title, s.checksum, metadata_json(s), s.version, s.valid_from, s.valid_to)
            for s in change.sources
        ),
    )
    insert("t_removed_source", 1, ((item,) for item in change.removed_sources))
    insert("t_removed_chunk", 1, ((item,) for item in change.removed_chunks))
    insert(
        "t_chunk",
        10,
        (
            (
                c.id,
                c.source_id,
                c.text,
                c.start,
                c.end,
                c.position,
                c.tokens,
                json.dumps(c.headings),
                c.page,
                c.fingerprint,
            )
            for c in change.chunks
        ),
    )
    insert("t_move", 5, iter(change.moves))
    insert("t_topic", 3, ((t.id, t.source_id, t.name) for t in change.topics))
    insert("t_statement", 3, ((s.id, s.source_id, s.text) for s in change.statements))
    insert("t_entity", 1, ((item,) for item in change.entities))
    insert("t_fact", 5, iter(change.facts))
    insert("t_placement", 6, ((*p[:5], json.dumps(p.details)) for p in change.placements))
    insert("t_about", 4, iter(change.abouts))
    insert("t_mention", 5, iter(change.mentions))
    insert("t_support", 3, iter(change.supports))
    insert("t_synonym", 3, iter(change.synonyms))
    insert("t_recounted", 1, ((item,) for item in change.recounted))
