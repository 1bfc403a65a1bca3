"""The domains of corpora in Neo4j: one node, without relationships, for each corpus that has a domain."""

from __future__ import annotations

from typing import Any

from hlgraph.records import Domain
from hlgraph.stores.neo4j.leases import Leases
from hlgraph.stores.neo4j.server import Server, Transaction


class Neo4jDomainStore:
    """Domains of one database; see :class:`hlgraph.stores.domains.DomainStore`."""

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases

    def read(self, corpus: str) -> Domain | None:
        """See :meth:`DomainStore.read`."""
        rows: list[dict[str, Any]] = self._server.ask("index/read_domain", corpus=corpus)
        return next((Domain(tuple(row["kinds"]), tuple(row["topics"]), row["made_by"]) for row in rows), None)

    def write(self, corpus: str, domain: Domain) -> None:
        """See :meth:`DomainStore.write`."""
        values = {"kinds": list(domain.kinds), "topics": list(domain.topics), "made_by": domain.made_by}

        def work(transaction: Transaction) -> None:
            self._leases.check(transaction)
            transaction.rows("index/merge_domain", corpus=corpus, **values)
            self._leases.check(transaction)

        self._server.write(work)

    def drop(self, corpus: str) -> None:
        """See :meth:`DomainStore.drop`."""

        def work(transaction: Transaction) -> None:
            self._leases.check(transaction)
            transaction.rows("index/drop_domain", corpus=corpus)
            self._leases.check(transaction)

        self._server.write(work)
