"""The domains of corpora in SQLite: the DomainStore of the embedded store."""

from __future__ import annotations

import json

from hlgraph.records import Domain
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.sqlite import reading


class EmbeddedDomainStore:
    """Domains of the store in one directory; see :class:`hlgraph.stores.domains.DomainStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, corpus: str) -> Domain | None:
        """See :meth:`DomainStore.read`."""
        if not self._database.exists():
            return None
        with reading(self._database.path):
            row = (
                self._database.reader()
                .execute("SELECT kinds, topics, made_by FROM domain WHERE corpus = ?", (corpus,))
                .fetchone()
            )
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
