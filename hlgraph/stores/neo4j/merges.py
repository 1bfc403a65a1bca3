"""Decisions about entities in Neo4j: relationships between two entities, deleted with either of them."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.algorithms.merging import Groups
from hlgraph.errors import StoreConflictError
from hlgraph.records import Entity, Kind, Relationship
from hlgraph.stores.merges import Aliases, Decider, Decision, KeptAliases, Verdict, grouped
from hlgraph.stores.neo4j.image_changes import record_merges
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.leases import Leases
from hlgraph.stores.neo4j.rows import records
from hlgraph.stores.neo4j.server import Row, Server, Transaction


class Neo4jMergeStore:
    """Decisions of one database; see :class:`hlgraph.stores.merges.MergeStore`.

    Parameters
    ----------
    server : the database
    leases : the leases of this process
    images : images of its corpora, which tell what is merged without a query; None: there are none
    """

    def __init__(self, server: Server, leases: Leases, *, images: Images | None) -> None:
        self._server = server
        self._leases = leases
        self._images = images
        self._kept = KeptAliases()

    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """See :meth:`MergeStore.decisions`."""
        found = [_decision(corpus, row) for row in self._server.ask("index/list_decisions", corpus=corpus)]
        return tuple(sorted(found, key=lambda item: item.id))

    def aliases(self, corpus: str, *, version: int) -> Aliases:
        """See :meth:`MergeStore.aliases`."""
        return self._kept.get(corpus, version=version, read=lambda: self._groups(corpus, version))

    def _groups(self, corpus: str, version: int) -> Groups:
        held = None if self._images is None else self._images.held(corpus, version=version)
        if held is None:
            return grouped(self.decisions(corpus))
        return Groups(held.image.joined(Relationship.SAME_AS))

    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """See :meth:`MergeStore.save`."""

        def work(transaction: Transaction) -> None:
            self._leases.check(transaction)
            ends = sorted({name for item in decisions for name in item.pair})
            there = records(
                Kind.ENTITY, transaction.rows("retrieve/read_entities", lists={"ids": ends}, corpus=corpus)
            ).values()
            if sum(isinstance(item, Entity) and item.corpus == corpus for item in there) != len(ends):
                raise StoreConflictError(
                    f"corpus {corpus!r} no longer has all entities of these decisions; run the same command again"
                )
            transaction.write("index/drop_decisions", _pairs(decisions))
            for name, is_merged in (("index/merge_same_as", True), ("index/merge_judged", False)):
                rows = [_row(item) for item in decisions if (item.verdict is Verdict.SAME) is is_merged]
                transaction.write(name, rows, corpus=corpus)
            if decisions:
                merged = [(item.alias, item.canonical) for item in decisions if item.verdict is Verdict.SAME]
                record_merges(transaction, corpus, cut=[item.pair for item in decisions], added=merged)
            self._leases.check(transaction)

        self._server.write(work)

    def drop(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """See :meth:`MergeStore.drop`."""
        wanted = {item.id for item in decisions}
        held = [item for item in self.decisions(corpus) if item.id in wanted]

        def work(transaction: Transaction) -> None:
            self._leases.check(transaction)
            transaction.write("index/drop_decisions", _pairs(held))
            if held:
                record_merges(transaction, corpus, cut=[item.pair for item in held], added=[])
            self._leases.check(transaction)

        self._server.write(work)


def _pairs(decisions: Sequence[Decision]) -> list[Row]:
    return [{"a": item.alias, "b": item.canonical} for item in decisions]


def _row(item: Decision) -> Row:
    return {
        "id": item.id,
        "a": item.alias,
        "b": item.canonical,
        "verdict": item.verdict.value,
        "by": item.by.value,
        "made_by": item.made_by,
        "why": item.why,
        "score": item.score,
        "at": item.at,
    }


def _decision(corpus: str, row: Row) -> Decision:
    score = row["score"]
    return Decision(
        corpus,
        str(row["alias"]),
        str(row["canonical"]),
        Verdict(str(row["verdict"])),
        Decider(str(row["by"])),
        str(row["made_by"]),
        str(row["why"]),
        float(score) if isinstance(score, int | float) else 0.0,
        str(row["at"]),
    )
