"""The graph in SQLite: the GraphStore of the embedded store."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, ingredients
from hlgraph.change import Change, ChangeState, LargeChange, Outcome, Pending
from hlgraph.errors import StoreError
from hlgraph.ids import scheme_of
from hlgraph.records import Calibration, Hit, Kind, Record, Relationship, Source
from hlgraph.stores.derived import Clustered, ClusterQuery
from hlgraph.stores.embedded import image_changes
from hlgraph.stores.embedded.copying import EmbeddedCopies
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.derived import (
    EmbeddedDerivedStore,
    EmbeddedDomainStore,
    EmbeddedMergeStore,
    EmbeddedRebindingStore,
    EmbeddedRetentionStore,
    EmbeddedSeals,
)
from hlgraph.stores.embedded.images import Graphs
from hlgraph.stores.embedded.rows import OF_CORPUS, STORED, RecentRecords, publish, select
from hlgraph.stores.embedded.sqlite import STORE, mapped, reading
from hlgraph.stores.embedded.vector_files import drop_old_graphs
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.files import scratch_file
from hlgraph.stores.image.image import Image, empty, needed, one_kind
from hlgraph.stores.image.ranker import ImageRanker
from hlgraph.stores.in_process import MENTIONED, ProcessClusterer, Said, admitted, check_match, renamed
from hlgraph.stores.protocols import (
    Altered,
    CorpusStats,
    GraphStore,
    IdPage,
    Matched,
    MatchQuery,
    PullShape,
    RankQuery,
    Remnants,
    Scope,
    VectorSets,
    by_id,
    check_base,
)
from hlgraph.stores.trace import pulling
from hlgraph.subgraph import KINDS, Subgraph

BUILT_IN_FIELDS = ("source_id", "title", "uri")
"""Fields of every source that a filter can name, besides its metadata."""
_LARGE_CACHE = 32 * 1024
"""Pages of the database that a large change may hold in memory, KiB."""
_COUNTS = {
    Relationship.FROM_SOURCE: "SELECT count(*) FROM node WHERE c = :c AND kind = 1",
    Relationship.IN_CHUNK: "SELECT count(*) FROM in_chunk AS l JOIN node ON node.n = l.chunk AND c = :c",
    Relationship.ABOUT: """
        SELECT count(*) FROM (SELECT DISTINCT statement, topic FROM about AS l JOIN node ON node.n = l.topic AND c = :c)""",
    Relationship.MENTIONS: """
        SELECT count(*) FROM (SELECT DISTINCT statement, entity FROM mentions AS l JOIN node ON node.n = l.chunk AND c = :c)""",
    Relationship.SUPPORTS: """
        SELECT count(*) FROM (SELECT DISTINCT statement, fact FROM supports AS l JOIN node ON node.n = l.chunk AND c = :c)""",
    Relationship.SUBJECT: "SELECT count(*) FROM fact JOIN node USING (n) WHERE c = :c",
    Relationship.OBJECT: "SELECT count(*) FROM fact JOIN node USING (n) WHERE c = :c AND object IS NOT NULL",
    Relationship.RELATES: "SELECT count(*) FROM relates AS l JOIN node ON node.n = l.subject AND c = :c",
    Relationship.SYNONYM: "SELECT count(*) FROM synonym AS l JOIN node ON node.n = l.a AND c = :c",
    Relationship.SAME_AS: """
        SELECT count(*) FROM decision AS l JOIN node ON node.n = l.alias AND c = :c WHERE verdict = 'same'""",
}
_PENDING = """
    SELECT payload, state, outcome FROM journal JOIN journal_change USING (id)
    WHERE :corpus IS NULL OR corpus = :corpus ORDER BY seq"""


class EmbeddedGraphStore(GraphStore):
    """Graph of the store in one directory; see :class:`hlgraph.stores.protocols.GraphStore`."""

    name = "the embedded store"

    def __init__(self, database: Database) -> None:
        self.ranker = ImageRanker(self)
        self.derived = EmbeddedDerivedStore(database)
        self.merges = EmbeddedMergeStore(database)
        self.domains = EmbeddedDomainStore(database)
        self.retention = EmbeddedRetentionStore(database)
        self.seals = EmbeddedSeals(database)
        self.copies = EmbeddedCopies(database)
        self.rebinding = EmbeddedRebindingStore(database)
        self._database = database
        self._stats: dict[str, CorpusStats] = {}
        self._graphs = Graphs(database)
        self._recent = RecentRecords(database)
        self._staged: Change | None = None  # the last staged change, so that it need not be read from the journal

    def close(self) -> None:
        """Close the files."""
        self._graphs.close()
        self._database.close()

    @contextlib.contextmanager
    def lock(self, corpus: str | None = None, *, wait: float | None = None) -> Iterator[tuple[Pending, ...]]:
        """See :meth:`GraphStore.lock`. SQLite has one writer, so the right to one corpus is that to all of the store."""
        with self._database.lock(wait=wait):
            yield self._pending(self._database.writer(), corpus)

    def remnants(self, corpus: str) -> Remnants:  # noqa: ARG002
        """See :meth:`GraphStore.remnants`."""
        from hlgraph.stores.embedded.doctor import remnants

        return remnants(self._database)

    def unfinished(self, corpus: str | None = None) -> tuple[Pending, ...]:
        """See :meth:`GraphStore.unfinished`."""
        return self._pending(self._database.reader(), corpus) if self._database.exists() else ()

    def _pending(self, connection: sqlite3.Connection, corpus: str | None) -> tuple[Pending, ...]:
        with reading(self._database.path):
            rows = connection.execute(_PENDING, {"corpus": corpus}).fetchall()
        return tuple(
            Pending(
                msgspec.msgpack.decode(payload, type=Change),
                ChangeState(state),
                msgspec.msgpack.decode(outcome, type=Outcome),
            )
            for payload, state, outcome in rows
        )

    def stage(self, change: Change) -> None:
        """See :meth:`GraphStore.stage`."""
        if isinstance(change, LargeChange):  # it changes more pages than memory should hold
            self._database.writer().execute(f"PRAGMA cache_size = -{_LARGE_CACHE}")
        with self._database.transaction() as connection:
            if connection.execute("SELECT 1 FROM journal WHERE id = ?", (change.id,)).fetchone():
                return
            ids = json.dumps([source.id for source in change.sources])
            versions = dict(connection.execute(_VERSIONS, (ids,)).fetchall())
            query = "SELECT embedding, dimensions FROM corpus WHERE name = ?"
            model = connection.execute(query, (change.corpus,)).fetchone()
            check_base(change, versions=versions, model=model or ("", 0))
            connection.execute(
                "INSERT INTO journal (id, corpus, state, outcome) VALUES (?, ?, ?, ?)",
                (change.id, change.corpus, ChangeState.STAGED, msgspec.msgpack.encode(Outcome())),
            )
            journaled = change.journaled()
            if journaled.part_count:  # its rows are written in the transaction that publishes it, so none can be left
                journaled = replace(journaled, vectors=(), replacements=())
            connection.execute(
                "INSERT INTO journal_change VALUES (?, ?)", (change.id, msgspec.msgpack.encode(journaled))
            )
        self._staged = change

    def advance(self, change_id: str, to: ChangeState, *, beside: Callable[[], object] = tuple) -> Outcome:
        """See :meth:`GraphStore.advance`."""
        if to is ChangeState.PUBLISHED:
            beside()
        if to is ChangeState.DONE:  # before the change is forgotten: after a kill in between, it is done again
            self._staged = None
            drop_old_graphs(self._database)
        with self._database.transaction() as connection:
            row = connection.execute("SELECT state, outcome FROM journal WHERE id = ?", (change_id,)).fetchone()
            if row is None:
                if to is ChangeState.DONE:
                    return Outcome()
                raise StoreError(f"change {change_id} is not in the journal; run the same command again")
            outcome = msgspec.msgpack.decode(row[1], type=Outcome)
            if to is ChangeState.DONE:
                connection.execute("DELETE FROM journal WHERE id = ?", (change_id,))
                connection.execute("DELETE FROM journal_change WHERE id = ?", (change_id,))
            elif ChangeState(row[0]) is ChangeState.STAGED:
                change = self._journaled(change_id)
                connection.execute(
                    "INSERT OR IGNORE INTO corpus (name, ids) VALUES (?, ?)",
                    (change.corpus, scheme_of(change.corpus, change.sources)),
                )
                if change.embedding:
                    connection.execute(
                        "UPDATE corpus SET embedding = ?, dimensions = ? WHERE name = ?",
                        (change.embedding, change.dimensions, change.corpus),
                    )
                outcome = publish(connection, change)
                connection.execute(
                    "UPDATE journal SET state = ?, outcome = ? WHERE id = ?",
                    (ChangeState.PUBLISHED, msgspec.msgpack.encode(outcome), change_id),
                )
        if to is ChangeState.DONE:
            self._recent.forget(outcome.vanished)
        return outcome

    def _journaled(self, change_id: str) -> Change:
        """A change from the journal; the one staged last comes from memory, but only once."""
        staged, self._staged = self._staged, None
        if staged is not None and staged.id == change_id:
            return staged
        query = "SELECT payload FROM journal_change WHERE id = ?"
        (payload,) = self._database.writer().execute(query, (change_id,)).fetchone()
        return msgspec.msgpack.decode(payload, type=Change).whole()

    def records(self, kind: Kind, ids: Sequence[str], *, scope: Scope) -> list[Record]:
        """See :meth:`GraphStore.records`."""
        if kind not in STORED or not ids or not self._database.exists():
            return []
        records = self._recent.read(kind, ids, corpus=scope.corpus)
        if scope.where is None and scope.sources is None:
            return records
        if kind in (Kind.ENTITY, Kind.FACT):
            return renamed(records, scope, graph=self, said=functools.partial(self._said, scope))
        return admitted(records, scope, read=lambda names: self.records(Kind.SOURCE, names, scope=Scope(scope.corpus)))

    def entities(self, scope: Scope) -> tuple[str, ...]:
        """See :meth:`GraphStore.entities`."""
        return tuple(self.whole(one_kind(Kind.ENTITY), scope=scope).ids.tolist())

    def page(self, kind: Kind, scope: Scope, *, after: str = "", size: int) -> IdPage:
        """See :meth:`GraphStore.page`."""
        with pulling(STORE, "page", seeds=(), shape=one_kind(kind), scope=scope) as call:
            image, sources = self._image(one_kind(kind), scope)
            page = image.page(kind, after=after, size=size, sources=sources)
            call.rows = len(page.ids)
        return page

    def _said(self, scope: Scope, ids: list[str]) -> Iterator[Said]:
        """The names that mentions in a scope give to entities."""
        condition, values = _inside(scope)
        values |= {"ids": json.dumps(ids)}
        rows = self._database.select("read names", _SAID.format(inside=condition), values=values)
        return itertools.starmap(Said, rows)

    def find(self, kind: Kind, scope: Scope) -> Iterator[Record]:
        """See :meth:`GraphStore.find`."""
        if kind not in STORED or not self._database.exists():
            return iter(())
        has_source = kind not in (Kind.FACT, Kind.ENTITY)
        has_filter = scope.where is not None or scope.sources is not None
        if not has_source and has_filter:
            raise StoreError(f"{kind} records belong to the whole corpus; find them without a filter or sources")
        # The + keeps SQLite from reading the whole corpus by its index: the sources find the rows.
        condition, values = _inside(scope)
        values |= {"corpus": scope.corpus, "kind": KINDS.index(kind)}
        of_corpus = f"+{OF_CORPUS}" if has_filter else OF_CORPUS
        with reading(self._database.path):
            wanted = f"{of_corpus} AND node.kind = :kind AND {condition}"
            return iter(select(self._database.reader(), kind, condition=wanted, values=values))

    def sources_inside(self, corpus: str, names: Sequence[str]) -> list[Source]:
        """See :meth:`GraphStore.sources_inside`."""
        if not names or not self._database.exists():
            return []
        ranges = json.dumps([(name, f"{name[:-1]}{chr(ord(name[-1]) + 1)}") for name in names])
        condition = f"node.n IN ({_INSIDE}) AND +{OF_CORPUS}"
        with reading(self._database.path):
            rows = select(
                self._database.reader(), Kind.SOURCE, condition=condition, values={"ranges": ranges, "corpus": corpus}
            )
        return list(by_id(rows, Source).values())

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """See :meth:`GraphStore.pull`."""
        with reading(self._database.path), pulling(STORE, "pull", seeds=seeds, shape=shape, scope=scope) as call:
            image, sources = self._image(shape, scope)
            graph = image.pull(seeds, shape, sources=sources)
            call.rows = len(graph)
        return graph

    def own_entities(self, corpus: str, source_ids: Sequence[str]) -> list[str]:
        """See :meth:`GraphStore.own_entities`."""
        values = {"sources": json.dumps(list(source_ids)), "corpus": corpus}
        rows = self._database.select("own entities", _OWN_ENTITIES, values=values) if source_ids else []
        return [name for (name,) in rows]

    def match(self, query: MatchQuery, *, scope: Scope) -> list[Matched]:
        """See :meth:`GraphStore.match`."""
        check_match(query)
        seeds = [item for name in query.names for item in name]
        with reading(self._database.path), pulling(STORE, "match", seeds=seeds, shape=MENTIONED, scope=scope) as call:
            image, sources = self._image(MENTIONED, scope)
            matches = image.match(query, sources=sources)
            call.rows = sum(len(item.ids) for item in matches)
        return matches

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`GraphStore.rank`."""
        image, _ = self._image(PullShape(*ingredients(query.shape, synonyms=query.synonyms)), Scope(scope.corpus))
        return self.ranker.rank_on(image, query, scope=scope, whole=lambda shape: self.whole(shape, scope=scope))

    def ranked_by(self, scope: Scope, *, shape: ProjectionShape | None = None) -> str:
        """See :meth:`GraphStore.ranked_by`."""
        if shape is not None:
            image, _ = self._image(PullShape(*INGREDIENTS[shape]), Scope(scope.corpus))
            if self.ranker.is_large(image, shape):
                return f"process: {self.ranker.why_large()}"
        return "process"

    def _image(self, shape: PullShape, scope: Scope) -> tuple[Image, NDArray[np.int64] | None]:
        """The image of a corpus, with the relationships that a read needs, and the nodes of the sources in a scope; None: all."""
        has_filter = scope.where is not None or scope.sources is not None
        with reading(self._database.path):
            adjacency = self._graphs.current(scope.corpus, needed(shape, has_filter=has_filter))
            return (empty(), None) if adjacency is None else (adjacency.image(), adjacency.sources(scope))

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """See :meth:`GraphStore.cluster`."""
        return ProcessClusterer(lambda shape, scope: self.whole(shape, scope=scope)).cluster(query, corpus=corpus)

    def scratch_file(self) -> IO[bytes]:
        """See :meth:`GraphStore.scratch_file`. On the disk of the store."""
        with mapped(self._database.path):
            return scratch_file(self._database.path)

    def snapshot(self) -> contextlib.AbstractContextManager[bool]:
        """See :meth:`GraphStore.snapshot`."""
        return self._database.snapshot()

    def transaction(self) -> contextlib.AbstractContextManager[object]:
        """See :meth:`GraphStore.transaction`."""
        return self._database.transaction()

    def whole(self, shape: PullShape, *, scope: Scope) -> Subgraph:
        """All nodes and edges of some kinds and relationships in a scope, without bounds.

        Parameters
        ----------
        shape : kinds and relationships; its bounds are ignored
        scope : corpus and sources that may be seen
        """
        with reading(self._database.path), pulling(STORE, "whole", seeds=(), shape=shape, scope=scope) as call:
            image, sources = self._image(shape, scope)
            graph = image.whole(shape, sources=sources)
            call.rows = len(graph)
        return graph

    def stats(
        self, corpus: str | None = None, *, has_counts: bool = True, has_relationships: bool = True
    ) -> tuple[CorpusStats, ...]:
        """See :meth:`GraphStore.stats`."""
        query, values = (_CORPORA, {}) if corpus is None else (_CORPUS, {"corpus": corpus})
        rows = self._database.select("read corpora", query, values=values)
        with reading(self._database.path):
            return tuple(
                self._corpus_stats(row, has_counts, has_relationships=has_counts and has_relationships) for row in rows
            )

    def vector_sets(self, corpus: str) -> VectorSets | None:
        """See :meth:`GraphStore.vector_sets`."""
        if not self._database.exists():
            return None
        with reading(self._database.path):
            row = self._database.reader().execute("SELECT vector_sets FROM corpus WHERE name = ?", (corpus,)).fetchone()
            return None if row is None or row[0] is None else msgspec.json.decode(row[0], type=VectorSets)

    def altered(self, corpus: str, since: str) -> Altered:
        """See :meth:`GraphStore.altered`."""
        if not self._database.exists():
            return Altered("", None)
        with reading(self._database.path):
            return image_changes.altered_sources(self._database.reader(), corpus, since=since)

    def _corpus_stats(self, row: tuple[Any, ...], has_counts: bool, *, has_relationships: bool) -> CorpusStats:
        """The statistics of a corpus, with counts as wanted; counts are cached until the version changes."""
        c, name, version, embedding, dimensions, renewed_to, calibration, ids, sets = row
        connection = self._database.reader()
        stats = self._stats.get(name)
        if stats is None or stats.version != version:
            fields = {key: frozenset({"text"}) for key in BUILT_IN_FIELDS}
            for key, kinds in connection.execute(_FIELDS, {"c": c}):
                types = [_TYPES.get(kind) for kind in json.loads(kinds)]
                fields[key] = frozenset() if None in types else frozenset(kind for kind in types if kind)
            stats = CorpusStats(name, version, embedding, dimensions, fields=fields)
        if has_counts and not stats.records:
            counts = dict(connection.execute("SELECT kind, count(*) FROM node WHERE c = ? GROUP BY kind", (c,)))
            records = {kind: counts.get(index, 0) for index, kind in enumerate(KINDS) if kind in STORED}
            stats = replace(stats, records=records)
        if has_relationships and not stats.relationships:
            links = {kind: connection.execute(query, {"c": c}).fetchone()[0] for kind, query in _COUNTS.items()}
            stats = replace(stats, relationships=links)
        self._stats[name] = stats
        return replace(
            stats,
            pending=tuple(change for (change,) in connection.execute(_STAGED, (name,))),
            renewed_to=renewed_to,
            ids=ids,
            calibration=None if calibration is None else msgspec.json.decode(calibration, type=Calibration),
            sets=None if sets is None else msgspec.json.decode(sets, type=VectorSets),
        )


def _inside(scope: Scope) -> tuple[str, dict[str, str | int | float]]:
    """The condition that a row of ``node`` belongs to a source of a scope, and its parameters."""
    conditions: list[str] = []
    values: dict[str, str | int | float] = {}
    if scope.sources is not None:
        conditions.append(
            "node.source IN (SELECT n FROM node WHERE key IN (SELECT hlgraph_key(value) FROM json_each(:sources)))"
        )
        values["sources"] = json.dumps(list(scope.sources))
    if scope.where is not None:
        condition, more = to_sql(scope.where)
        values.update(more)
        conditions.append(f"node.source IN (SELECT n FROM ({_SOURCE_ROWS}) AS source WHERE {condition})")
    return " AND ".join(conditions) or "true", values


_SAID = """
    SELECT e.id, m.surface, m.kind, count(*) FROM json_each(:ids) AS w
    CROSS JOIN node AS e ON e.key = hlgraph_key(w.value) CROSS JOIN mentions AS m ON m.entity = e.n
    CROSS JOIN node ON node.n = m.chunk WHERE {inside} GROUP BY e.id, m.surface, m.kind"""
_VERSIONS = (
    "SELECT id, version FROM source JOIN node USING (n) WHERE key IN (SELECT hlgraph_key(value) FROM json_each(?))"
)
_CORPORA = """
    SELECT c, name, version, embedding, dimensions, renewed_to, calibration, ids, vector_sets FROM corpus ORDER BY name"""
_CORPUS = _CORPORA.replace("ORDER BY name", "WHERE name = :corpus")
_STAGED = "SELECT id FROM journal WHERE corpus = ? AND state = 'staged' ORDER BY seq"
_FIELDS = "SELECT key, json_group_array(type) FROM field WHERE c = :c GROUP BY key ORDER BY key"
# Types of JSON as a filter names them. Those of a list of several types, and of an empty one, are unknown, as on a server.
_TYPES = {"text": "text", "integer": "number", "real": "number", "true": "truth", "false": "truth"}
_OWN_ENTITIES = f"""
    WITH own AS (SELECT n FROM node WHERE key IN (SELECT hlgraph_key(value) FROM json_each(:sources)) AND +{OF_CORPUS}),
    named AS (
      SELECT DISTINCT m.entity FROM own CROSS JOIN node AS x ON x.source = own.n AND x.kind = 1
      CROSS JOIN mentions AS m ON m.chunk = x.n)
    SELECT e.id FROM named CROSS JOIN node AS e ON e.n = named.entity
    WHERE NOT EXISTS (
      SELECT 1 FROM mentions AS o CROSS JOIN node AS x ON x.n = o.chunk
      WHERE o.entity = named.entity AND x.source NOT IN (SELECT n FROM own))
    ORDER BY e.id"""
_INSIDE = """
    SELECT s.n FROM json_each(:ranges) AS w CROSS JOIN source AS s
    ON s.uri >= json_extract(w.value, '$[0]') AND s.uri < json_extract(w.value, '$[1]')"""
_SOURCE_ROWS = "SELECT node.n, node.id, r.uri, r.title, r.metadata FROM source AS r JOIN node USING (n)"
