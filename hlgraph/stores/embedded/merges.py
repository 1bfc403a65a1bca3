"""Decisions about entities in SQLite: the MergeStore of the embedded store."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.errors import StoreConflictError
from hlgraph.stores.embedded import image_changes, sqlite
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.sqlite import reading
from hlgraph.stores.merges import Aliases, Decider, Decision, KeptAliases, Verdict, grouped

_DECISIONS = """
    SELECT a.id, b.id, d.verdict, d.decider, d.made_by, d.why, d.score, d.at
    FROM decision AS d CROSS JOIN node AS a ON a.n = d.alias CROSS JOIN node AS b ON b.n = d.canonical
    WHERE +a.c = (SELECT c FROM corpus WHERE name = :corpus) ORDER BY d.id"""
"""CROSS JOIN makes SQLite begin with the decisions, which are few, and not with all nodes of the corpus."""
_SAVE = """
    INSERT OR REPLACE INTO decision
    SELECT :id, a.n, b.n, :verdict, :decider, :made_by, :why, :score, :at
    FROM corpus JOIN node AS a ON a.id = :alias AND a.c = corpus.c AND a.kind = 5
    JOIN node AS b ON b.id = :canonical AND b.c = corpus.c AND b.kind = 5 WHERE corpus.name = :corpus"""


class EmbeddedMergeStore:
    """Decisions of the store in one directory; see :class:`hlgraph.stores.merges.MergeStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept = KeptAliases()

    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """See :meth:`MergeStore.decisions`."""
        if not self._database.exists():
            return ()
        values = {"corpus": corpus}
        with reading(self._database.path), sqlite.sql("list decisions", _DECISIONS, values=values) as call:
            rows = self._database.reader().execute(_DECISIONS, values).fetchall()
            call.rows = len(rows)
        return tuple(Decision(corpus, row[0], row[1], Verdict(row[2]), Decider(row[3]), *row[4:]) for row in rows)

    def aliases(self, corpus: str, *, version: int) -> Aliases:
        """See :meth:`MergeStore.aliases`."""
        return self._kept.get(corpus, version=version, read=lambda: grouped(self.decisions(corpus)))

    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """See :meth:`MergeStore.save`."""
        with self._database.transaction() as connection:
            for item in decisions:
                values = {
                    "corpus": corpus,
                    "id": item.id,
                    "alias": item.alias,
                    "canonical": item.canonical,
                    "verdict": item.verdict,
                    "decider": item.by,
                    "made_by": item.made_by,
                    "why": item.why,
                    "score": item.score,
                    "at": item.at,
                }
                if not connection.execute(_SAVE, values).rowcount:
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
