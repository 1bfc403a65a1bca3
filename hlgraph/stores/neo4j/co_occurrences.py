"""Stores CO_OCCURS of a corpus as relationships, for queries of analysts; nothing of hlgraph reads them."""

from __future__ import annotations

from collections.abc import Iterator

from hlgraph.errors import UnknownNameError
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.leases import Leases
from hlgraph.stores.neo4j.server import Server, Transaction

_PAGE = 500
"""Entities of one transaction."""


class Neo4jMaterialiser:
    """Stores derived relationships; see :class:`hlgraph.stores.derived.Materialiser`.

    The corpus records the version that they were counted from, once all are there.
    """

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases

    def write(self, corpus: str) -> int:
        """See :meth:`Materialiser.write`."""
        with self._leases.held(corpus):
            version = self._version(corpus)
            self._mark(corpus, 0)
            self._change(corpus, "index/drop_co_occurrences")
            count = self._change(corpus, "index/write_co_occurrences")
            self._mark(corpus, version)
        return count

    def drop(self, corpus: str) -> int:
        """See :meth:`Materialiser.drop`."""
        with self._leases.held(corpus):
            self._version(corpus)
            count = self._change(corpus, "index/drop_co_occurrences")
            self._mark(corpus, None)
        return count

    def _version(self, corpus: str) -> int:
        for row in self._server.ask("retrieve/read_state", corpus=corpus):
            return whole(row, "version")
        raise UnknownNameError(f"there is no corpus {corpus!r}; ingest something first")

    def _mark(self, corpus: str, version: int | None) -> None:
        def work(transaction: Transaction) -> None:
            self._leases.check(transaction)
            transaction.rows("index/mark_co_occurrences", corpus=corpus, version=version)

        self._server.write(work)

    def _change(self, corpus: str, query: str) -> int:
        """Runs a query over all entities, page by page; returns how many relationships it changed."""
        count = 0
        for ids in self._pages(corpus):

            def work(transaction: Transaction, ids: list[str] = ids) -> int:
                self._leases.check(transaction)
                return whole(transaction.rows(query, ids=ids)[0], "relationships")

            count += self._server.write(work)
        return count

    def _pages(self, corpus: str) -> Iterator[list[str]]:
        after = ""
        while True:
            rows = self._server.ask("retrieve/page_entities", corpus=corpus, after=after, size=_PAGE)
            ids = [str(row["id"]) for row in rows]
            if ids:
                yield ids
                after = ids[-1]
            if len(ids) < _PAGE:
                return
