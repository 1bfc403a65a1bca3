"""What the embedded store keeps beside the graph: communities, summaries, domains, holds, merges, and the seals of rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict

import msgspec
import numpy as np

from hlgraph.errors import StoreConflictError, StoreError
from hlgraph.records import Community, Domain, Kind, Summary
from hlgraph.stores.derived import (
    DerivedStore,
    Hold,
    Made,
    Member,
    Rebinding,
    RebindingStore,
    ReceiptMark,
    RetentionStore,
    Run,
    Saved,
    Summarised,
)
from hlgraph.stores.embedded import image_changes
from hlgraph.stores.embedded.database import Database, reading_once
from hlgraph.stores.embedded.sqlite import LINKS, SUMMARY, SYNONYMS, broken_seals, key_of, reading, totals, write_seals
from hlgraph.stores.protocols import (
    AlteredRecord,
    Decider,
    Decision,
    DomainStore,
    MergeStore,
    Seals,
    VectorSets,
    Verdict,
)
from hlgraph.subgraph import KINDS

_RUNS = """
    SELECT run.name, run.version, run.parameters, run.levels, run.made_by, run.stamp, corpus.version
    FROM run JOIN corpus USING (c) WHERE corpus.name = ? ORDER BY run.name"""
_COMMUNITIES = """
    SELECT m.id, m.level, m.size, p.id FROM corpus JOIN run USING (c) JOIN community AS m USING (r)
    LEFT JOIN community AS p ON p.m = m.parent
    WHERE corpus.name = :corpus AND run.name = :name AND (:level IS NULL OR m.level = :level)
    ORDER BY m.level, m.size DESC, m.id LIMIT :k OFFSET :skip"""
_COMMUNITY_COUNT = """
    SELECT COUNT(*) FROM corpus JOIN run USING (c) JOIN community AS m USING (r)
    WHERE corpus.name = :corpus AND run.name = :name AND (:level IS NULL OR m.level = :level)"""
_MEMBERS = """
    SELECT m.id AS community, node.id AS id, node.kind AS kind
    FROM json_each(:ids) AS wanted CROSS JOIN community AS m ON m.id = wanted.value
    CROSS JOIN member_of ON member_of.community = m.m CROSS JOIN node ON node.n = member_of.node
    UNION ALL
    SELECT m.id, s.id, :summary FROM json_each(:ids) AS wanted CROSS JOIN community AS m ON m.id = wanted.value
    CROSS JOIN summary_member_of AS o ON o.community = m.m CROSS JOIN summary AS s ON s.s = o.summary"""
_FIRST_MEMBERS = f"""
    SELECT community, id, kind FROM (
      SELECT community, id, kind, row_number() OVER (PARTITION BY community ORDER BY id) AS place FROM ({_MEMBERS}))
    WHERE place <= :most ORDER BY community, id"""
_MEMBERSHIPS = """
    SELECT m.id, m.level, m.size, node.id
    FROM json_each(:ids) AS wanted CROSS JOIN node ON node.key = hlgraph_key(wanted.value)
    CROSS JOIN member_of ON member_of.node = node.n CROSS JOIN community AS m ON m.m = member_of.community
    WHERE m.r = (SELECT r FROM run JOIN corpus USING (c) WHERE corpus.name = :corpus AND run.name = :name)
    ORDER BY m.level DESC, m.id, node.id"""
_SUMMARIES = """
    SELECT s.id, s.text, coalesce(m.level, s.level), s.input_hash, coalesce(m.id, ''), s.vector,
      (SELECT json_group_array(id) FROM (
        SELECT node.id FROM rests_on JOIN node ON node.n = rests_on.node WHERE rests_on.summary = s.s ORDER BY node.id)),
      coalesce(x.id, ''),
      (SELECT json_group_array(id) FROM (
        SELECT node.id FROM rests_on JOIN node ON node.n = rests_on.node
        WHERE rests_on.summary = s.s AND s.source IS NOT NULL AND node.kind = :chunk ORDER BY node.id))
    FROM corpus JOIN run USING (c) JOIN summary AS s USING (r) LEFT JOIN community AS m ON m.m = s.community
    LEFT JOIN node AS x ON x.n = s.source
    WHERE corpus.name = :corpus AND run.name = :name ORDER BY s.id"""


class EmbeddedDerivedStore(DerivedStore):
    """Derived data of the store in one directory; see :class:`hlgraph.stores.derived.DerivedStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        super().__init__()

    def runs(self, corpus: str) -> tuple[Run, ...]:
        """See :meth:`DerivedStore.runs`."""
        if not self._database.exists():
            return ()
        with reading(self._database.path):
            rows = self._database.reader().execute(_RUNS, (corpus,)).fetchall()
        return tuple(Run(corpus, *row) for row in rows)

    def save(self, run: Run, tier: Made) -> Saved:
        """See :meth:`DerivedStore.save`."""
        with self._database.transaction() as connection:
            r = _put_run(connection, run)
            community_sizes = dict(connection.execute("SELECT id, size FROM community WHERE r = ?", (r,)).fetchall())
            wanted = {item.id: item.size for item in tier.communities}
            # A community that lost a member keeps its id; if the run has the member again, it is written again.
            kept = {name for name in wanted if community_sizes.get(name) == wanted[name]}
            _remove(connection, sorted(community_sizes.keys() - kept))
            stored = dict(connection.execute("SELECT id, input_hash FROM summary WHERE r = ?", (r,)).fetchall())
            gone = stored.keys() - {item.summary.id for item in tier.summaries}
            _remove_summaries(connection, "id IN (SELECT value FROM json_each(?))", sorted(gone))
            new = [item for item in tier.summaries if item.summary.id not in stored]
            _put_summaries(
                connection, r, [item for item in new if item.source_id]
            )  # before the communities that have them as members
            for item in tier.communities:
                if item.id not in kept:
                    _add(connection, r, community=item, members=tier.members[item.id])
            _put_summaries(connection, r, [item for item in new if not item.source_id])
            hashes = {item.summary.id: item.summary.input_hash for item in tier.summaries}
            connection.executemany(
                "UPDATE summary SET input_hash = ? WHERE id = ?",
                [(hashes[name], name) for name in stored if hashes.get(name, stored[name]) != stored[name]],
            )
            connection.executemany(
                "UPDATE community SET parent = (SELECT m FROM community WHERE id = ?) WHERE id = ?",
                ((item.parent_id, item.id) for item in tier.communities),
            )
            return Saved(len(wanted) - len(kept), len(community_sizes.keys() - wanted.keys()), len(kept))

    def count_communities(self, corpus: str, name: str, *, level: int | None = None) -> int:
        """See :meth:`DerivedStore.count_communities`."""
        values = {"corpus": corpus, "name": name, "level": level}
        return sum(row[0] for row in self._database.select("count communities", _COMMUNITY_COUNT, values=values))

    def communities(
        self, corpus: str, name: str, *, level: int | None = None, k: int | None = None, skip: int = 0
    ) -> list[Community]:
        """See :meth:`DerivedStore.communities`."""
        values = {"corpus": corpus, "name": name, "level": level, "k": -1 if k is None else k, "skip": skip}
        rows = self._database.select("list communities", _COMMUNITIES, values=values)
        return [Community(row[0], corpus, row[1], row[2], row[3]) for row in rows]

    def _read_summaries(self, run: Run) -> Iterator[Summarised]:
        values = {"corpus": run.corpus, "name": run.name, "chunk": KINDS.index(Kind.CHUNK)}
        rows = self._database.select("read summaries", _SUMMARIES, values=values)
        for summary_id, text, level, input_hash, community, vector, parts, source, chunks in rows:
            summary = Summary(summary_id, run.corpus, text, level, input_hash)
            numbers = np.frombuffer(vector, dtype=np.float32)
            quoted, summarised = tuple(json.loads(parts)), tuple(json.loads(chunks))
            yield Summarised(summary, community, numbers, quoted, source, summarised)

    def members(self, ids: Sequence[str], *, most: int | None = None) -> dict[str, tuple[Member, ...]]:
        """See :meth:`DerivedStore.members`."""
        if not ids:
            return {}
        members: dict[str, list[Member]] = {}
        values = {"ids": json.dumps(list(ids)), "summary": KINDS.index(Kind.SUMMARY)}
        query = f"{_MEMBERS} ORDER BY community, id" if most is None else _FIRST_MEMBERS
        if most is not None:
            values["most"] = most
        for community, name, kind in self._database.select("read members", query, values=values):
            members.setdefault(community, []).append(Member(name, KINDS[kind]))
        return {item: tuple(members[item]) for item in ids if item in members}

    def _read_memberships(self, corpus: str, name: str, ids: Sequence[str]) -> Iterable[tuple[str, int, int, str]]:
        values = {"corpus": corpus, "name": name, "ids": json.dumps(list(ids))}
        return self._database.select("read memberships", _MEMBERSHIPS, values=values)


def _put_run(connection: sqlite3.Connection, run: Run) -> int:
    row = connection.execute("SELECT c, version FROM corpus WHERE name = ?", (run.corpus,)).fetchone()
    if row is None or row[1] != run.version:
        raise StoreConflictError(
            f"corpus {run.corpus!r} was changed while {run.name!r} was derived from version {run.version}; "
            "run the same command again"
        )
    connection.execute(
        "INSERT INTO run (c, name, version, parameters, levels, made_by, stamp) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (c, name) "
        "DO UPDATE SET version = excluded.version, parameters = excluded.parameters, levels = excluded.levels, "
        "made_by = excluded.made_by, stamp = excluded.stamp",
        (row[0], run.name, run.version, run.parameters, run.levels, run.by, run.stamp),
    )
    number: int = connection.execute("SELECT r FROM run WHERE c = ? AND name = ?", (row[0], run.name)).fetchone()[0]
    return number


def _remove(connection: sqlite3.Connection, ids: list[str]) -> None:
    _remove_summaries(
        connection, "community IN (SELECT m FROM community WHERE id IN (SELECT value FROM json_each(?)))", ids
    )
    gone = "SELECT m FROM community WHERE id IN (SELECT value FROM json_each(?))"
    for table in ("member_of", "summary_member_of"):
        connection.execute(f"DELETE FROM {table} WHERE community IN ({gone})", (json.dumps(ids),))
    connection.execute("DELETE FROM community WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),))


def _add(connection: sqlite3.Connection, r: int, *, community: Community, members: Sequence[str]) -> None:
    cursor = connection.execute(
        "INSERT INTO community (id, r, level, size) VALUES (?, ?, ?, ?)",
        (community.id, r, community.level, community.size),
    )
    values = (cursor.lastrowid, json.dumps(list(members)))
    count = sum(
        connection.execute(
            f"INSERT INTO {table} SELECT ?, t.{key} FROM json_each(?) AS wanted CROSS JOIN {kind} AS t ON {wanted}",
            values,
        ).rowcount
        for table, kind, key, wanted in (
            ("member_of", "node", "n", "t.key = hlgraph_key(wanted.value)"),
            ("summary_member_of", "summary", "s", "t.id = wanted.value"),
        )
    )
    if count != len(members):
        raise StoreError(f"community {community.id} has members that the corpus lacks; run the same command again")


def _remove_summaries(connection: sqlite3.Connection, condition: str, ids: list[str]) -> None:
    values = (json.dumps(ids),)
    for table in ("rests_on", "summary_member_of"):
        connection.execute(f"DELETE FROM {table} WHERE summary IN (SELECT s FROM summary WHERE {condition})", values)
    connection.execute(f"DELETE FROM summary WHERE {condition}", values)


def remove_summaries(connection: sqlite3.Connection, ids: list[str]) -> None:
    """Remove summaries with these ids; the next build of the hierarchy or of the communities makes them again.

    Parameters
    ----------
    connection : connection of the writer
    ids : ids of the summaries
    """
    query = (
        "SELECT o.community FROM summary_member_of AS o JOIN summary ON s = o.summary "
        "WHERE id IN (SELECT value FROM json_each(?))"
    )
    communities = [m for (m,) in connection.execute(query, (json.dumps(ids),))]
    _remove_summaries(connection, "id IN (SELECT value FROM json_each(?))", ids)
    connection.executemany(
        "UPDATE community SET size = (SELECT count(*) FROM member_of WHERE community = m)"
        " + (SELECT count(*) FROM summary_member_of WHERE community = m) WHERE m = ?",
        ((m,) for m in communities),
    )


def _put_summaries(connection: sqlite3.Connection, r: int, summaries: Sequence[Summarised]) -> None:
    for item in summaries:
        summary, vector = item.summary, np.asarray(item.vector, dtype=np.float32).tobytes()
        ends = (item.community_id, item.source_id)
        cursor = connection.execute(
            "INSERT INTO summary (id, r, community, source, text, input_hash, vector, level) VALUES (?, ?, "
            "(SELECT m FROM community WHERE id = ?), (SELECT n FROM node WHERE key = hlgraph_key(?)), ?, ?, ?, ?)",
            (summary.id, r, *ends, summary.text, summary.input_hash, vector, summary.level),
        )
        connection.execute(
            "INSERT INTO rests_on SELECT ?, node.n FROM json_each(?) AS wanted "
            "CROSS JOIN node ON node.key = hlgraph_key(wanted.value)",
            (cursor.lastrowid, json.dumps(list(item.parts))),
        )


class EmbeddedDomainStore(DomainStore):
    """Domains of the store in one directory; see :class:`hlgraph.stores.protocols.DomainStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, corpus: str) -> Domain | None:
        """See :meth:`DomainStore.read`."""
        if not self._database.exists():
            return None
        query = "SELECT kinds, topics, made_by FROM domain WHERE corpus = ?"
        with reading(self._database.path):
            row = self._database.reader().execute(query, (corpus,)).fetchone()
        return None if row is None else Domain(tuple(json.loads(row[0])), tuple(json.loads(row[1])), row[2])

    def write(self, corpus: str, domain: Domain) -> None:
        """See :meth:`DomainStore.write`."""
        kinds, topics = (json.dumps(names, ensure_ascii=False) for names in (domain.kinds, domain.topics))
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO domain VALUES (?, ?, ?, ?)", (corpus, kinds, topics, domain.made_by)
            )

    def drop(self, corpus: str) -> None:
        """See :meth:`DomainStore.drop`."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM domain WHERE corpus = ?", (corpus,))


class EmbeddedRetentionStore(RetentionStore):
    """Holds and last receipts of the store in one directory; see :class:`hlgraph.stores.derived.RetentionStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def holds(self, corpus: str) -> tuple[Hold, ...]:
        """See :meth:`RetentionStore.holds`."""
        query = "SELECT name, uris, filter, ids, at FROM hold WHERE corpus = :corpus ORDER BY name"
        rows = self._database.select("list holds", query, values={"corpus": corpus})
        return tuple(
            Hold(corpus, name, tuple(json.loads(uris)), where, tuple(json.loads(ids)), at)
            for name, uris, where, ids, at in rows
        )

    def add(self, hold: Hold) -> None:
        """See :meth:`RetentionStore.add`."""
        values = (hold.corpus, hold.name, json.dumps(hold.uris), hold.where, json.dumps(hold.ids), hold.at)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO hold (corpus, name, uris, filter, ids, at) VALUES (?, ?, ?, ?, ?, ?)", values
            )

    def release(self, hold: Hold) -> None:
        """See :meth:`RetentionStore.release`."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM hold WHERE corpus = ? AND name = ?", (hold.corpus, hold.name))

    def last_receipt(self, corpus: str) -> ReceiptMark:
        """See :meth:`RetentionStore.last_receipt`."""
        query = "SELECT number, hash FROM receipt WHERE corpus = :corpus"
        rows = self._database.select("read last receipt", query, values={"corpus": corpus})
        return ReceiptMark(*rows[0]) if rows else ReceiptMark()

    def record_receipt(self, corpus: str, mark: ReceiptMark) -> None:
        """See :meth:`RetentionStore.record_receipt`."""
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO receipt VALUES (?, ?, ?)", (corpus, *mark))


_SYNONYM = """
    INSERT OR REPLACE INTO synonym (a, b, value)
    SELECT min(a.n, b.n), max(a.n, b.n), iif(round(1e5 * t.s) / 1e5 = t.s, CAST(round(1e5 * t.s) AS INTEGER), t.s)
    FROM (SELECT ? AS a, ? AS b, ? AS s) AS t CROSS JOIN node AS a ON a.key = t.a CROSS JOIN node AS b ON b.key = t.b"""
_OF_CORPUS = "SELECT n FROM node WHERE c = (SELECT c FROM corpus WHERE name = ?) AND kind = 5"


class EmbeddedRebindingStore(RebindingStore):
    """Sets of vectors of the store in one directory; see :class:`hlgraph.stores.derived.RebindingStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, corpus: str, sets: VectorSets) -> None:
        """See :meth:`RebindingStore.save`."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE corpus SET vector_sets = ? WHERE name = ?", (_packed(sets), corpus))

    def rebind(self, rebindings: Sequence[Rebinding]) -> None:
        """See :meth:`RebindingStore.rebind`."""
        with self._database.transaction() as connection:
            for rebinding in rebindings:
                row = connection.execute("SELECT version FROM corpus WHERE name = ?", (rebinding.corpus,)).fetchone()
                if row is None or row[0] != rebinding.version:
                    raise StoreConflictError(
                        f"corpus {rebinding.corpus!r} was changed meanwhile; run the same command again"
                    )
                calibration = (
                    None if rebinding.calibration is None else msgspec.json.encode(rebinding.calibration).decode()
                )
                current = rebinding.sets.current
                connection.execute(
                    "UPDATE corpus SET embedding = ?, dimensions = ?, calibration = ?, vector_sets = ? WHERE name = ?",
                    (current.embedding, current.dimensions, calibration, _packed(rebinding.sets), rebinding.corpus),
                )
                connection.execute(f"DELETE FROM synonym WHERE a IN ({_OF_CORPUS})", (rebinding.corpus,))
                connection.executemany(
                    _SYNONYM, ((*map(key_of, pair[:2]), pair.similarity) for pair in rebinding.synonyms)
                )
                connection.executemany(
                    "UPDATE summary SET vector = ? WHERE id = ?",
                    ((vector.tobytes(), name) for name, vector in rebinding.summaries.items()),
                )
                connection.execute(
                    "UPDATE run SET parameters = parameters || ' vectors=' || ? WHERE c = (SELECT c FROM corpus WHERE name = ?)",
                    (rebinding.before, rebinding.corpus),
                )
                image_changes.record_rebinding(connection, rebinding.corpus)


def _packed(sets: VectorSets) -> str:
    return msgspec.json.encode(sets).decode()


_DECISIONS = """
    SELECT a.id, b.id, d.verdict, d.decider, d.made_by, d.why, d.score, d.at
    FROM decision AS d CROSS JOIN node AS a ON a.n = d.alias CROSS JOIN node AS b ON b.n = d.canonical
    WHERE +a.c = (SELECT c FROM corpus WHERE name = :corpus) ORDER BY d.id"""
"""CROSS JOIN makes SQLite start from the decisions, which are few, and not from all nodes of the corpus."""
_OF_PAGE = """
    FROM decision AS d CROSS JOIN node AS a ON a.n = d.alias CROSS JOIN node AS b ON b.n = d.canonical
    WHERE +a.c = (SELECT c FROM corpus WHERE name = :corpus) AND (:verdict IS NULL OR d.verdict = :verdict)
      AND (:entity IS NULL OR a.id = :entity OR b.id = :entity)"""
_DECISION_PAGE = f"""
    SELECT a.id, b.id, d.verdict, d.decider, d.made_by, d.why, d.score, d.at {_OF_PAGE}
    ORDER BY d.at DESC, a.id, b.id LIMIT :k OFFSET :skip"""
_DECISION_COUNT = f"SELECT COUNT(*) {_OF_PAGE}"
_SAVE = """
    INSERT OR REPLACE INTO decision
    SELECT :id, a.n, b.n, :verdict, :by, :made_by, :why, :score, :at
    FROM corpus JOIN node AS a ON a.key = hlgraph_key(:alias) AND a.c = corpus.c AND a.kind = 5
    JOIN node AS b ON b.key = hlgraph_key(:canonical) AND b.c = corpus.c AND b.kind = 5 WHERE corpus.name = :corpus"""


class EmbeddedMergeStore(MergeStore):
    """Decisions of the store in one directory; see :class:`hlgraph.stores.protocols.MergeStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        super().__init__()

    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """See :meth:`MergeStore.decisions`."""
        rows = self._database.select("list decisions", _DECISIONS, values={"corpus": corpus})
        return tuple(Decision(corpus, row[0], row[1], Verdict(row[2]), Decider(row[3]), *row[4:]) for row in rows)

    def page(
        self, corpus: str, *, verdict: Verdict | None = None, entity: str | None = None, k: int, skip: int = 0
    ) -> tuple[tuple[Decision, ...], int]:
        """See :meth:`MergeStore.page`."""
        values = {"corpus": corpus, "verdict": verdict, "entity": entity}
        rows = self._database.select("page decisions", _DECISION_PAGE, values={**values, "k": k, "skip": skip})
        total = sum(row[0] for row in self._database.select("count decisions", _DECISION_COUNT, values=values))
        page = (Decision(corpus, row[0], row[1], Verdict(row[2]), Decider(row[3]), *row[4:]) for row in rows)
        return tuple(page), total

    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """See :meth:`MergeStore.save`."""
        with self._database.transaction() as connection:
            for item in decisions:
                if not connection.execute(_SAVE, {**asdict(item), "corpus": corpus, "id": item.id}).rowcount:
                    raise StoreConflictError(
                        f"corpus {corpus!r} no longer has both of the entities {item.alias} and {item.canonical}; "
                        "run the same command again"
                    )
            merged = [(item.alias, item.canonical) for item in decisions if item.verdict is Verdict.SAME]
            if decisions:
                image_changes.record_merges(connection, corpus, cut=[item.pair for item in decisions], added=merged)

    def drop(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """See :meth:`MergeStore.drop`."""
        with self._database.transaction() as connection:
            gone = [connection.execute("DELETE FROM decision WHERE id = ?", (item.id,)).rowcount for item in decisions]
            if any(gone):
                image_changes.record_merges(connection, corpus, cut=[item.pair for item in decisions], added=[])


# The seals: checksums of what was written.


# What is gone from the graph has no name here: it is missing elsewhere, or was rightly deleted.
_NAMES = f"""
    SELECT e.value, node.id, node.kind, corpus.name, source.uri FROM json_each(:owners) AS e JOIN node ON node.n = e.value / 4
    JOIN corpus USING (c) LEFT JOIN source ON source.n = node.source WHERE e.value % 4 <> {SUMMARY}
    UNION ALL
    SELECT e.value, summary.id, -1, corpus.name, run.name FROM json_each(:owners) AS e JOIN summary ON summary.s = e.value / 4
    JOIN run USING (r) JOIN corpus USING (c) WHERE e.value % 4 = {SUMMARY}
    ORDER BY 2, 1"""
_JSON = (("source", "metadata", "{}"), ("chunk", "headings", "[]"), ("in_chunk", "details", "[]"))
NAMES_OF_ENTITIES = """
    FROM entity WHERE name <> (
      SELECT surface FROM alias WHERE entity = entity.n GROUP BY surface ORDER BY sum(mentions) DESC, surface LIMIT 1)
    OR kind <> coalesce((
      SELECT kind FROM alias WHERE entity = entity.n AND kind <> '' GROUP BY kind ORDER BY sum(mentions) DESC, kind LIMIT 1), '')"""
"""Entities that are not called, or not of the kind, that most of their mentions say."""
NAMES_OF_TOPICS = """
    FROM topic WHERE name <> (
      SELECT t.name FROM chunk_topic AS t WHERE t.topic = topic.n AND t.name <> '' GROUP BY t.name
      ORDER BY count(*) DESC, t.name LIMIT 1)"""
"""Topics that are not called what most of their chunks call them."""


def altered_records(connection: sqlite3.Connection) -> list[tuple[int, AlteredRecord]]:
    """The owners of broken seals that the store still has, by ascending id. Reads every sealed row.

    Parameters
    ----------
    connection : connection to read with
    """
    records = []
    for owner, name, k, corpus, where in connection.execute(_NAMES, {"owners": json.dumps(broken_seals(connection))}):
        kind = Kind.SUMMARY if k < 0 else KINDS[k]
        is_links = owner % 4 in (LINKS, SYNONYMS)
        records.append((owner, AlteredRecord(kind, name, corpus, where or "", is_links=is_links)))
    return records


class EmbeddedSeals(Seals):
    """The seals of the store in one directory; see :class:`hlgraph.stores.protocols.Seals`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def altered(self, corpus: str) -> tuple[AlteredRecord, ...]:
        """See :meth:`Seals.altered`."""
        if not self._database.exists():
            return ()
        with reading(self._database.path):
            connection = reading_once(self._database)
            records = {item for _, item in altered_records(connection) if item.corpus == corpus}
            for kind, which in ((Kind.ENTITY, NAMES_OF_ENTITIES), (Kind.TOPIC, NAMES_OF_TOPICS)):
                query = f"SELECT id FROM node JOIN corpus USING (c) WHERE name = ? AND n IN (SELECT n {which})"
                records |= {
                    AlteredRecord(kind, name, corpus, "", is_links=False)
                    for (name,) in connection.execute(query, (corpus,))
                }
        return tuple(sorted(records, key=lambda item: (item.kind, item.id, item.is_links)))

    def restore(self) -> bool:
        """See :meth:`Seals.restore`."""
        if not self._database.exists():
            return False
        with self._database.lock():
            connection = self._database.writer()
            with reading(self._database.path):
                is_whole = bool(connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
                if not is_whole:  # both read the rows alone: indexes are made again, and what no row uses is dropped
                    connection.execute("REINDEX")
                    connection.execute("VACUUM")
            with self._database.transaction():
                self._database.wiping.distrust()
                for table, column, nothing in _JSON:
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE NOT json_valid({column})", (nothing,))
                connection.execute("DELETE FROM field")
                connection.execute(
                    "INSERT INTO field SELECT c, key, type, count(*) FROM field_of GROUP BY c, key, type"
                )
        return not is_whole

    def accept(self, corpus: str, records: Collection[AlteredRecord]) -> None:
        """See :meth:`Seals.accept`."""
        with self._database.lock(), self._database.transaction() as connection:
            remove_summaries(connection, sorted(item.id for item in records if item.kind is Kind.SUMMARY))
        with self._database.lock(), self._database.transaction() as connection:
            wanted = {item.id for item in records}
            owners = [
                owner for owner, item in altered_records(connection) if item.id in wanted and item.corpus == corpus
            ]
            seals = totals(connection)
            write_seals(connection, {owner: seals.get(owner, 0) for owner in owners})
