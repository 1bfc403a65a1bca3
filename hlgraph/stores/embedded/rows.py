"""Records in the embedded database: read by one SELECT per kind, kept while they are right, and published.

``records`` of the graph store reads through :class:`RecentRecords`, and ``find`` through :func:`select`. :func:`publish` applies
a staged change, piece by piece, with the statements of ``sql/publish_piece.sql`` and ``sql/publish.sql``.
"""

from __future__ import annotations

import functools
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from operator import attrgetter
from typing import Any

import msgspec

from hlgraph import progress
from hlgraph.change import Change, Outcome
from hlgraph.records import Chunk, Entity, Fact, Kind, Metadata, Record, Source, Statement, Topic
from hlgraph.stores.cache import KeptRecords
from hlgraph.stores.embedded import image_changes, sqlite
from hlgraph.stores.embedded.database import CommitMark, Database
from hlgraph.stores.embedded.sqlite import key_of, reading
from hlgraph.stores.image.patching import State
from hlgraph.subgraph import KINDS

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
"""The kinds of records that this store reads by id."""
OF_CORPUS = "node.c = (SELECT c FROM corpus WHERE name = :corpus)"
"""The condition that a row of ``node`` is of a corpus."""
_CHUNK = attrgetter("id", "source_id", "text", "start", "end", "position", "tokens")
_Row = tuple[Any, ...]
_Present = tuple[int, State]  # number and state of a corpus


def _metadata(text: str) -> Metadata:
    values = {} if text == "{}" else msgspec.json.decode(text)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _texts(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


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
    """The records of a kind that meet a condition, by ascending id.

    Parameters
    ----------
    connection : connection to read with
    kind : kind of the records
    condition : SQL condition on the row in ``node``
    values : parameters of the condition
    """
    make = _MAKE[kind]
    statement = f"{_SELECT[kind]} WHERE {condition} ORDER BY node.id"
    with sqlite.sql(f"read {kind}", statement, values=values) as call:
        rows = connection.execute(
            statement, values
        ).fetchall()  # first: a row that cannot be read must end the statement
        records = [make(row) for row in rows]
        call.rows = len(records)
    return records


class RecentRecords:
    """The records of one store by id; those that were read are kept while they are right. Thread-safe.

    SQLite itself reports a commit (``PRAGMA data_version``). After one, the state of a corpus is read again; see
    :class:`hlgraph.stores.cache.KeptRecords`.

    Parameters
    ----------
    database : database of the store
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept = KeptRecords[_Present](STORED, altered=self._altered, is_older=_is_older)
        self._seen: dict[str, tuple[CommitMark, _Present | None]] = {}

    def read(self, kind: Kind, ids: Sequence[str], *, corpus: str) -> list[Record]:
        """The records with these ids, in their order; unknown ids are left out.

        Parameters
        ----------
        kind : kind of the records
        ids : ids of the records
        corpus : name of the corpus
        """
        wanted = list(dict.fromkeys(ids))
        with reading(self._database.path):
            commit = self._database.state()
            present = self._present(corpus, commit)
            if present is None:
                return []
            records = self._kept.get(kind, wanted, corpus=corpus, state=present)
            missing = [item for item in wanted if item not in records]
            if missing:
                # The + keeps SQLite from reading the whole corpus by its index: the ids find the rows.
                condition = f"node.key IN (SELECT hlgraph_key(value) FROM json_each(:ids)) AND +{OF_CORPUS}"
                values = {"ids": json.dumps(missing), "corpus": corpus}
                rows = select(self._database.reader(), kind, condition=condition, values=values)
                fresh = {record.id: record for record in rows}
                if self._database.state() == commit:  # otherwise they may be of a later state
                    self._kept.keep(kind, fresh, corpus=corpus, state=present)
                records |= fresh
        return [records[item] for item in wanted if item in records]

    def forget(self, vanished: Mapping[str, Sequence[str]]) -> None:
        """Drop records that vanished, by kind; see :meth:`hlgraph.stores.cache.KeptRecords.forget`."""
        self._kept.forget(itertools.chain(*vanished.values()))

    def _present(self, corpus: str, commit: CommitMark) -> _Present | None:
        seen = self._seen.get(corpus)
        if seen is None or seen[0] != commit:
            seen = self._seen[corpus] = commit, image_changes.state_of(self._database.reader(), corpus)
        return seen[1]

    def _altered(self, corpus: str, before: _Present, to: _Present) -> frozenset[str] | None:  # noqa: ARG002 - has a number
        (c, old), (now, new) = before, to
        return image_changes.altered(self._database.reader(), c, before=old, to=new) if c == now else None


def _is_older(present: _Present, other: _Present) -> bool:
    return present[0] == other[0] and present[1].version < other[1].version


@functools.cache
def script(name: str) -> tuple[str, ...]:
    """The statements of ``sql/<name>.sql``, in order, without the comments before them."""
    text = files("hlgraph.stores.embedded").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    return tuple(sqlite.without_comments(statement) for statement in sqlite.split(text)[0])


def metadata_json(source: Source) -> str:
    """The metadata of a source as JSON text."""
    return json.dumps(dict(source.metadata), ensure_ascii=False, sort_keys=True)


def publish(connection: sqlite3.Connection, change: Change) -> Outcome:
    """Apply a change to the database; the caller holds the transaction.

    Parameters
    ----------
    connection : connection of the writer
    change : the staged change

    Returns
    -------
    Outcome
        How many records were added, and the ids of those that vanished.
    """
    for statement in script("temporary"):
        connection.execute(statement)
    _empty(connection, [name for (name,) in connection.execute(_TEMPORARY).fetchall()])
    _load(connection, _of_change(change))
    for piece in change.pieces():
        _empty(connection, _OF_PIECE)
        _load(connection, _of_piece(piece))
        _run(connection, "publish_piece", corpus=change.corpus)
        progress.advance("persist", len(piece.sources) or 1)
    _run(connection, "publish", corpus=change.corpus)
    added = {KINDS[kind].value: count for kind, count in connection.execute("SELECT kind, count FROM t_added")}
    vanished: dict[str, list[str]] = {}
    for kind, name in connection.execute("SELECT kind, id FROM t_dead ORDER BY kind, id"):
        vanished.setdefault(KINDS[kind].value, []).append(name)
    image_changes.record(connection, change, vanished=vanished)
    connection.executemany(
        "UPDATE chunk SET fingerprint = '' WHERE n = (SELECT n FROM node WHERE key = hlgraph_key(?))",
        ((item,) for item in change.doubted),
    )
    if change.renewal is not None:
        mark = None if change.renewal.is_complete else change.renewal.last_id
        connection.execute("UPDATE corpus SET renewed_to = ? WHERE name = ?", (mark, change.corpus))
    if change.calibration is not None:
        packed = msgspec.json.encode(change.calibration).decode()
        connection.execute("UPDATE corpus SET calibration = ? WHERE name = ?", (packed, change.corpus))
    return Outcome(
        added=added, vanished={kind: tuple(ids) for kind, ids in vanished.items()}, about=_about(connection, change)
    )


def _about(connection: sqlite3.Connection, change: Change) -> dict[str, tuple[str, ...]]:
    if change.topic_names is None:
        return {}
    statements: dict[str, list[str]] = {}
    (query,) = script("touched_topics")
    for topic, statement in connection.execute(query, {"ids": json.dumps(change.topic_names.ids)}):
        statements.setdefault(topic, []).extend(() if statement is None else (statement,))
    return {topic: tuple(ids) for topic, ids in statements.items()}


_Tables = Mapping[str, Iterable[tuple[object, ...]]]
_TEMPORARY = "SELECT name FROM sqlite_temp_master WHERE type = 'table'"
_OF_PIECE = (
    *("t_chunk", "t_move", "t_topic", "t_statement", "t_entity", "t_fact"),
    *("t_placement", "t_about", "t_mention", "t_support", "t_synonym"),
    *("t_old", "t_alias"),
)
"""The temporary tables that hold one piece of a change, and what only it needs."""


def _of_change(change: Change) -> _Tables:
    return {
        "t_source": (
            (key_of(s.id), s.uri, s.title, s.checksum, metadata_json(s), s.version, s.valid_from, s.valid_to)
            for s in change.sources
        ),
        "t_removed_source": zip(map(key_of, change.removed_sources)),
        "t_removed_chunk": zip(map(key_of, change.removed_chunks)),
        "t_recounted": zip(map(key_of, change.recounted)),
    }


def _of_piece(piece: Change) -> _Tables:
    return {
        "t_chunk": (
            (*_keyed(_CHUNK(chunk), 2), json.dumps(chunk.headings), chunk.page, chunk.fingerprint)
            for chunk in piece.chunks
        ),
        "t_move": (_keyed(item, 1) for item in piece.moves),
        "t_topic": ((key_of(topic.id), key_of(topic.source_id), topic.name) for topic in piece.topics),
        "t_statement": ((key_of(item.id), key_of(item.source_id), item.text) for item in piece.statements),
        "t_entity": zip(map(key_of, piece.entities)),
        "t_fact": (
            (key_of(item.fact_id), key_of(item.subject_id), item.predicate, key_of(item.object_id), item.complement)
            for item in piece.facts
        ),
        "t_placement": ((*_keyed(item[:5], 2), json.dumps(item.details)) for item in piece.placements),
        "t_about": (_keyed(item, 3) for item in piece.abouts),
        "t_mention": (_keyed(item, 3) for item in piece.mentions),
        "t_support": (_keyed(item, 3) for item in piece.supports),
        "t_synonym": (_keyed(item, 2) for item in piece.synonyms),
    }


def _keyed(row: _Row, count: int) -> _Row:
    """A row with its first ids as they are stored."""
    return *map(key_of, row[:count]), *row[count:]


def _empty(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    for table in tables:
        connection.execute(f"DELETE FROM {table}")


def _load(connection: sqlite3.Connection, tables: _Tables) -> None:
    for table, rows in tables.items():
        columns = connection.execute(f"SELECT * FROM {table} LIMIT 0").description
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)


def _run(connection: sqlite3.Connection, name: str, *, corpus: str) -> None:
    for statement in script(name):
        connection.execute(statement, {"corpus": corpus} if ":corpus" in statement else {})
