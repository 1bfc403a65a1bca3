"""Communities and their summaries in Neo4j: a run is written hidden, in batches, and becomes visible in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hlgraph.algorithms.merging import Groups
from hlgraph.errors import StoreConflictError, UnknownNameError
from hlgraph.ids import content_id
from hlgraph.records import Community, Domain, Entity, Kind, Relationship, Summary
from hlgraph.stores.derived import DerivedStore, Kept, Made, Member, Run, Saved, Summaries, Summarised, run_named
from hlgraph.stores.neo4j.image_changes import record_merges
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.lease import Leases
from hlgraph.stores.neo4j.rows import records
from hlgraph.stores.neo4j.server import BATCH, Row, Server, Transaction
from hlgraph.stores.protocols import Aliases, Decider, Decision, DomainStore, KeptAliases, MergeStore, Verdict, grouped

_LINKS = 20_000
"""Maximum number of members that one transaction joins to their communities."""
_DROPPED = 500
"""Maximum number of hidden communities that one transaction deletes."""
_SUMMARIES = 500
"""Maximum number of summaries that one transaction writes, each with a vector of a few hundred numbers."""
_ALL = 1 << 31


class Neo4jDerivedStore(DerivedStore):
    """Derived data of one database; see :class:`hlgraph.stores.derived.DerivedStore`.

    New data of a run is written first, hidden under labels that no query reads, in any number of transactions. One
    transaction then shows it, hides what the run removes, and records the run. Hidden data is deleted last; after a kill,
    the next run deletes it.
    """

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases
        self._kept = Kept()

    def runs(self, corpus: str) -> tuple[Run, ...]:
        """See :meth:`DerivedStore.runs`."""
        return tuple(
            Run(
                corpus,
                str(row["name"]),
                whole(row, "version"),
                str(row["parameters"]),
                whole(row, "levels"),
                str(row["by"]),
                str(row["stamp"]),
                corpus_version=whole(row, "corpus_version"),
            )
            for row in self._server.ask("index/list_runs", corpus=corpus)
        )

    def save(self, run: Run, made: Made) -> Saved:
        """See :meth:`DerivedStore.save`."""
        self._drop_hidden(run.corpus)
        key = _run_id(run.corpus, run.name)
        sizes = {str(row["id"]): whole(row, "size") for row in self._server.ask("index/list_community_ids", run=key)}
        existing = set(sizes)
        known = {str(row["id"]) for row in self._server.ask("index/list_summary_ids", run=key)}
        written = [item for item in made.summaries if item.summary.id not in known]
        added = [item for item in made.communities if item.id not in existing]
        # A community that lost a member keeps its id; if the run has the member again, it is repaired in place.
        lost = [item for item in made.communities if sizes.get(item.id, item.size) != item.size]
        self._stage_summaries(
            key, [item for item in written if item.source_id]
        )  # before the communities that have them as members
        self._stage(key, added, made=made)
        self._stage_summaries(key, [item for item in written if not item.source_id])
        wanted = {item.id for item in made.communities}
        kept = {item.summary.id for item in made.summaries}

        def flip(transaction: Transaction) -> None:
            self._leases.check(transaction)
            transaction.write("index/hide_summaries", sorted(known - kept), key="ids")
            transaction.write("index/show_summaries", [item.summary.id for item in written], key="ids")
            transaction.write("index/hide_communities", sorted(existing - wanted), key="ids")
            transaction.write("index/unlink_communities", sorted(existing & wanted), key="ids")
            transaction.write("index/mend_members", _links(lost, made))
            transaction.write("index/mend_sizes", [{"id": item.id, "size": item.size} for item in lost])
            transaction.write("index/show_communities", [item.id for item in added], key="ids")
            parts = [{"id": item.id, "parent": item.parent_id} for item in made.communities if item.parent_id]
            transaction.write("index/link_communities", parts)
            if not transaction.rows("index/merge_run", id=key, corpus=run.corpus, **_run_row(run)):
                raise StoreConflictError(
                    f"corpus {run.corpus!r} was changed while {run.name!r} was derived from version {run.version}; "
                    "run the same command again"
                )
            self._leases.check(transaction)

        self._server.write(flip)
        self._drop_hidden(run.corpus)
        return Saved(len(added) + len(lost), len(existing - wanted), len(existing & wanted) - len(lost))

    def _stage(self, run: str, added: Sequence[Community], *, made: Made) -> None:
        rows: list[Row] = [
            {"id": item.id, "corpus": item.corpus, "run": run, "level": item.level, "size": item.size} for item in added
        ]
        self._write("index/stage_communities", rows, batch=BATCH)
        self._write("index/link_members", _links(added, made), batch=_LINKS)

    def _stage_summaries(self, run: str, written: Sequence[Summarised]) -> None:
        rows: list[Row] = [
            {
                "id": item.summary.id,
                "corpus": item.summary.corpus,
                "run": run,
                "level": item.summary.level,
                "text": item.summary.text,
                "input_hash": item.summary.input_hash,
                "vector": [float(number) for number in item.vector],
                "community": item.community_id,
                "source": item.source_id or None,
                "parts": list(item.parts),
            }
            for item in written
        ]
        self._write("index/stage_summaries", rows, batch=_SUMMARIES)
        parts: list[Row] = [{"summary": item.summary.id, "id": part} for item in written for part in item.parts]
        self._write("index/link_parts", parts, batch=_LINKS)

    def _write(self, name: str, rows: list[Row], *, batch: int) -> None:
        for start in range(0, len(rows), batch):
            part = rows[start : start + batch]

            def work(transaction: Transaction, part: list[Row] = part) -> None:
                self._leases.check(transaction)
                transaction.write(name, part)

            self._server.write(work)

    def _drop_hidden(self, corpus: str) -> None:
        def work(transaction: Transaction) -> int:
            self._leases.check(transaction)
            return sum(
                whole(transaction.rows(name, corpus=corpus, size=_DROPPED)[0], "dropped")
                for name in ("index/drop_hidden_summaries", "index/drop_hidden_communities")
            )

        while self._server.write(work):
            pass

    def communities(self, corpus: str, name: str, *, level: int | None = None, k: int | None = None) -> list[Community]:
        """See :meth:`DerivedStore.communities`."""
        chosen = {"level": -1 if level is None else level, "k": _ALL if k is None else k}
        rows = self._server.ask("retrieve/rank_communities", run=_run_id(corpus, name), **chosen)
        return [
            Community(
                str(row["id"]),
                corpus,
                whole(row, "level"),
                whole(row, "size"),
                None if row["parent_id"] is None else str(row["parent_id"]),
            )
            for row in rows
        ]

    def summaries(self, corpus: str, name: str) -> Summaries:
        """See :meth:`DerivedStore.summaries`."""
        run = run_named(self, corpus, name=name)
        if run is None:
            return Summaries((), np.empty((0, 0), dtype=np.float32))
        cached = self._kept.get(run)
        if cached is not None:
            return cached
        rows = self._server.ask("retrieve/read_summaries", run=_run_id(corpus, name))
        return self._kept.put(run, (_summarised(corpus, row) for row in rows))

    def members(self, ids: Sequence[str], *, most: int | None = None) -> dict[str, tuple[Member, ...]]:
        """See :meth:`DerivedStore.members`."""
        members: dict[str, list[Member]] = {}
        wanted = list(ids)
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            for row in self._server.ask("retrieve/read_members", ids=part, most=_ALL if most is None else most):
                members.setdefault(str(row["community"]), []).append(Member(str(row["id"]), Kind(str(row["kind"]))))
        return {item: tuple(members[item]) for item in wanted if item in members}


def _links(communities: Sequence[Community], made: Made) -> list[Row]:
    return [
        {"community": item.id, "id": member, "level": item.level}
        for item in communities
        for member in made.members[item.id]
    ]


def _run_id(corpus: str, name: str) -> str:
    return content_id("run", corpus, name)


def _run_row(run: Run) -> Row:
    names = ("corpus", "name", "version", "parameters", "levels", "by", "stamp")
    return {"version": run.version, "properties": {name: getattr(run, name) for name in names}}


def _summarised(corpus: str, row: Row) -> Summarised:
    vector = row["vector"]
    return Summarised(
        Summary(str(row["id"]), corpus, str(row["text"]), whole(row, "level"), str(row["input_hash"])),
        str(row["community"] or ""),
        np.array(vector, dtype=np.float32),
        _sorted(row, "parts"),
        str(row["source"] or ""),
        _sorted(row, "chunks"),
    )


def _sorted(row: Row, name: str) -> tuple[str, ...]:
    values = row[name]
    return tuple(sorted(str(item) for item in values)) if isinstance(values, list) else ()


# Stores CO_OCCURS of a corpus as relationships, for queries of analysts; nothing of hlgraph reads them.


_PAGE = 500
"""Entities of one transaction."""


class Neo4jMaterialiser:
    """Stores derived relationships; see :meth:`hlgraph.stores.protocols.GraphStore.write_co_occurs`.

    The corpus records the version that they were counted from, once all are there.
    """

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases

    def write(self, corpus: str) -> int:
        """See :meth:`GraphStore.write_co_occurs`."""
        with self._leases.held(corpus):
            version = self._version(corpus)
            self._mark(corpus, 0)
            self._change(corpus, "index/drop_co_occurrences")
            count = self._change(corpus, "index/write_co_occurrences")
            self._mark(corpus, version)
        return count

    def drop(self, corpus: str) -> int:
        """See :meth:`GraphStore.drop_co_occurs`."""
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


# The domains of corpora in Neo4j: one node, without relationships, for each corpus that has a domain.


class Neo4jDomainStore(DomainStore):
    """Domains of one database; see :class:`hlgraph.stores.protocols.DomainStore`."""

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


# Decisions about entities in Neo4j: relationships between two entities, deleted with either of them.


class Neo4jMergeStore(MergeStore):
    """Decisions of one database; see :class:`hlgraph.stores.protocols.MergeStore`.

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
        decisions = [_decision(corpus, row) for row in self._server.ask("index/list_decisions", corpus=corpus)]
        return tuple(sorted(decisions, key=lambda item: item.id))

    def aliases(self, corpus: str, *, version: int) -> Aliases:
        """See :meth:`MergeStore.aliases`."""
        return self._kept.get(corpus, version=version, read=lambda: self._groups(corpus, version))

    def _groups(self, corpus: str, version: int) -> Groups:
        loaded = None if self._images is None else self._images.held(corpus, version=version)
        if loaded is None:
            return grouped(self.decisions(corpus))
        return Groups(loaded.image.joined(Relationship.SAME_AS))

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
        existing = [item for item in self.decisions(corpus) if item.id in wanted]

        def work(transaction: Transaction) -> None:
            self._leases.check(transaction)
            transaction.write("index/drop_decisions", _pairs(existing))
            if existing:
                record_merges(transaction, corpus, cut=[item.pair for item in existing], added=[])
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
