"""Which records are not as they were written, by the seals of :mod:`hlgraph.stores.embedded.sqlite`: the Seals of the store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from hlgraph.records import Kind
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.derived import remove_summaries
from hlgraph.stores.embedded.sqlite import LINKS, SUMMARY, SYNONYMS, broken_seals, reading, totals, write_seals
from hlgraph.stores.protocols import AlteredRecord
from hlgraph.subgraph import KINDS

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
    values = {"owners": json.dumps(broken_seals(connection))}
    return [
        (
            owner,
            AlteredRecord(
                Kind.SUMMARY if kind < 0 else KINDS[kind],
                name,
                corpus,
                where or "",
                is_links=owner % 4 in (LINKS, SYNONYMS),
            ),
        )
        for owner, name, kind, corpus, where in connection.execute(_NAMES, values)
    ]


class EmbeddedSeals:
    """The seals of the store in one directory; see :class:`hlgraph.stores.protocols.Seals`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def altered(self, corpus: str) -> tuple[AlteredRecord, ...]:
        """See :meth:`Seals.altered`."""
        if not self._database.exists():
            return ()
        connection = self._database.reader()
        with reading(self._database.path):
            found = {item for _, item in altered_records(connection) if item.corpus == corpus}
            for kind, which in ((Kind.ENTITY, NAMES_OF_ENTITIES), (Kind.TOPIC, NAMES_OF_TOPICS)):
                query = f"SELECT id FROM node JOIN corpus USING (c) WHERE name = ? AND n IN (SELECT n {which})"
                found |= {
                    AlteredRecord(kind, name, corpus, "", is_links=False)
                    for (name,) in connection.execute(query, (corpus,))
                }
        return tuple(sorted(found, key=lambda item: (item.kind, item.id, item.is_links)))

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
            found = totals(connection)
            write_seals(connection, {owner: found.get(owner, 0) for owner in owners})
