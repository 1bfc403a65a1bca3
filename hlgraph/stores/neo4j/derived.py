"""Communities and their summaries in Neo4j: a run is written hidden, in batches, then made visible in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec
import numpy as np

from hlgraph.algorithms.merging import Pair
from hlgraph.errors import StoreConflictError, UnknownNameError
from hlgraph.ids import content_id
from hlgraph.records import Community, Domain, Kind, Relationship, Summary
from hlgraph.stores.batches import batched
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
from hlgraph.stores.neo4j.image_changes import record_merges, record_rebinding
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.lease import Leases
from hlgraph.stores.neo4j.rows import records
from hlgraph.stores.neo4j.server import BATCH, Row, Server, Transaction
from hlgraph.stores.protocols import Decider, Decision, DomainStore, MergeStore, VectorSets, Verdict

_LINKS = 20_000
"""Maximum number of MEMBER_OF relationships per transaction."""
_DROPPED = 500
"""Maximum number of hidden communities that one transaction deletes."""
_SUMMARIES = 500
"""Maximum number of summaries per transaction; each has a vector of a few hundred numbers."""
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
        super().__init__()

    def runs(self, corpus: str) -> tuple[Run, ...]:
        """See :meth:`DerivedStore.runs`."""
        return tuple(Run(corpus=corpus, **row) for row in self._server.ask("index/list_runs", corpus=corpus))

    def save(self, run: Run, tier: Made) -> Saved:
        """See :meth:`DerivedStore.save`."""
        self._drop_hidden(run.corpus)
        key = _run_id(run.corpus, run.name)
        sizes = {row["id"]: row["size"] for row in self._server.ask("index/list_community_ids", run=key)}
        existing = set(sizes)
        known = {row["id"]: row["input_hash"] for row in self._server.ask("index/list_summary_ids", run=key)}
        written = [item for item in tier.summaries if item.summary.id not in known]
        added = [item for item in tier.communities if item.id not in existing]
        # A community that lost a member keeps its id; if the run has the member again, it is repaired in place.
        lost = [item for item in tier.communities if sizes.get(item.id, item.size) != item.size]
        # Summaries of sources come before the communities that have them as members.
        self._stage_summaries(key, [item for item in written if item.source_id])
        stages: list[Row] = [
            {"id": item.id, "corpus": item.corpus, "run": key, "level": item.level, "size": item.size} for item in added
        ]
        self._write("index/stage_communities", stages, size=BATCH)
        self._write("index/link_members", _links(added, tier), size=_LINKS)
        self._stage_summaries(key, [item for item in written if not item.source_id])
        wanted = {item.id for item in tier.communities}
        hashes = {item.summary.id: item.summary.input_hash for item in tier.summaries}
        mended = [
            {"id": name, "input_hash": hashes[name]} for name in known if hashes.get(name, known[name]) != known[name]
        ]

        def flip(transaction: Transaction) -> None:
            transaction.write("index/hide_summaries", sorted(known.keys() - hashes.keys()), key="ids")
            transaction.write("index/mend_hashes", mended)
            transaction.write("index/show_summaries", [item.summary.id for item in written], key="ids")
            transaction.write("index/hide_communities", sorted(existing - wanted), key="ids")
            transaction.write("index/unlink_communities", sorted(existing & wanted), key="ids")
            transaction.write("index/mend_members", _links(lost, tier))
            transaction.write("index/mend_sizes", [{"id": item.id, "size": item.size} for item in lost])
            transaction.write("index/show_communities", [item.id for item in added], key="ids")
            parts = [{"id": item.id, "parent": item.parent_id} for item in tier.communities if item.parent_id]
            transaction.write("index/link_communities", parts)
            properties = msgspec.to_builtins(run)
            del properties["corpus_version"]
            if not transaction.rows(
                "index/merge_run", id=key, corpus=run.corpus, version=run.version, properties=properties
            ):
                raise StoreConflictError(
                    f"corpus {run.corpus!r} was changed while {run.name!r} was derived from version {run.version}; "
                    "run the same command again"
                )
            self._leases.check(transaction)

        self._leases.write(flip)
        self._drop_hidden(run.corpus)
        return Saved(len(added) + len(lost), len(existing - wanted), len(existing & wanted) - len(lost))

    def _stage_summaries(self, run: str, written: Sequence[Summarised]) -> None:
        rows: list[Row] = [
            {
                **msgspec.to_builtins(item.summary),
                "run": run,
                "vector": item.vector.astype(float).tolist(),
                "community": item.community_id,
                "source": item.source_id or None,
                "parts": list(item.parts),
            }
            for item in written
        ]
        self._write("index/stage_summaries", rows, size=_SUMMARIES)
        parts: list[Row] = [{"summary": item.summary.id, "id": part} for item in written for part in item.parts]
        self._write("index/link_parts", parts, size=_LINKS)

    def _write(self, name: str, rows: list[Row], *, size: int) -> None:
        for batch in batched(rows, size):
            self._leases.write(lambda transaction, rows=batch: transaction.write(name, rows))  # type: ignore[misc]

    def _drop_hidden(self, corpus: str) -> None:
        def work(transaction: Transaction) -> int:
            summaries = transaction.rows("index/drop_hidden_summaries", corpus=corpus, size=_DROPPED)
            communities = transaction.rows("index/drop_hidden_communities", corpus=corpus, size=_DROPPED)
            return sum(row["dropped"] for row in (*summaries, *communities))

        while self._leases.write(work):
            pass

    def count_communities(self, corpus: str, name: str, *, level: int | None = None) -> int:
        """See :meth:`DerivedStore.count_communities`."""
        level = -1 if level is None else level
        (row,) = self._server.ask("retrieve/count_communities", run=_run_id(corpus, name), level=level)
        return int(row["total"])

    def communities(
        self, corpus: str, name: str, *, level: int | None = None, k: int | None = None, skip: int = 0
    ) -> list[Community]:
        """See :meth:`DerivedStore.communities`."""
        chosen = {"level": -1 if level is None else level, "k": _ALL if k is None else k, "skip": skip}
        rows = self._server.ask("retrieve/rank_communities", run=_run_id(corpus, name), **chosen)
        return [Community(corpus=corpus, **row) for row in rows]

    def _read_summaries(self, run: Run) -> Iterator[Summarised]:
        for row in self._server.ask("retrieve/read_summaries", run=_run_id(run.corpus, run.name)):
            yield Summarised(
                Summary(row["id"], run.corpus, row["text"], row["level"], row["input_hash"]),
                row["community"] or "",
                np.array(row["vector"], dtype=np.float32),
                tuple(sorted(row["parts"])),
                row["source"] or "",
                tuple(sorted(row["chunks"])),
            )

    def members(self, ids: Sequence[str], *, most: int | None = None) -> dict[str, tuple[Member, ...]]:
        """See :meth:`DerivedStore.members`."""
        members: dict[str, list[Member]] = {}
        for batch in batched(ids, BATCH):
            for row in self._server.ask("retrieve/read_members", ids=batch, most=_ALL if most is None else most):
                members.setdefault(row["community"], []).append(Member(row["id"], Kind(row["kind"])))
        return {item: tuple(members[item]) for item in ids if item in members}

    def _read_memberships(self, corpus: str, name: str, ids: Sequence[str]) -> Iterator[tuple[str, int, int, str]]:
        rows = self._server.ask("retrieve/read_memberships", run=_run_id(corpus, name), ids=list(ids))
        return ((row["id"], row["level"], row["size"], row["member"]) for row in rows)


def _links(communities: Sequence[Community], tier: Made) -> list[Row]:
    return [
        {"community": item.id, "id": member, "level": item.level}
        for item in communities
        for member in tier.members[item.id]
    ]


def _run_id(corpus: str, name: str) -> str:
    return content_id("run", corpus, name)


# CO_OCCURS as relationships, for queries of analysts; hlgraph does not read them.


_PAGE = 500
"""Number of entities per transaction."""


class Neo4jMaterialiser:
    """Stores derived relationships; see :meth:`hlgraph.stores.protocols.GraphStore.write_co_occurs`.

    After all are stored, the corpus records the version from which they were counted.
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
            return int(row["version"])
        raise UnknownNameError(f"there is no corpus {corpus!r}; ingest something first")

    def _mark(self, corpus: str, version: int | None) -> None:
        self._leases.write(
            lambda transaction: transaction.rows("index/mark_co_occurrences", corpus=corpus, version=version)
        )

    def _change(self, corpus: str, query: str) -> int:
        """Run a query over all entities, page by page; return how many relationships it changed."""
        count = 0
        for page in self._server.pages("retrieve/page_entities", corpus=corpus, size=_PAGE):
            ids = [row["id"] for row in page]
            rows = self._leases.write(lambda transaction, ids=ids: transaction.rows(query, ids=ids))  # type: ignore[misc]
            count += rows[0]["relationships"]
        return count


# Domains: one node without relationships per corpus that has a domain.


class Neo4jDomainStore(DomainStore):
    """Domains of one database; see :class:`hlgraph.stores.protocols.DomainStore`."""

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases

    def read(self, corpus: str) -> Domain | None:
        """See :meth:`DomainStore.read`."""
        rows = self._server.ask("index/read_domain", corpus=corpus)
        return next((Domain(tuple(row["kinds"]), tuple(row["topics"]), row["made_by"]) for row in rows), None)

    def write(self, corpus: str, domain: Domain) -> None:
        """See :meth:`DomainStore.write`."""
        values = {"kinds": list(domain.kinds), "topics": list(domain.topics), "made_by": domain.made_by}
        self._leases.write(lambda transaction: transaction.rows("index/merge_domain", corpus=corpus, **values))

    def drop(self, corpus: str) -> None:
        """See :meth:`DomainStore.drop`."""
        self._leases.write(lambda transaction: transaction.rows("index/drop_domain", corpus=corpus))


# Holds and last receipts: nodes without relationships.


class Neo4jRetentionStore(RetentionStore):
    """Holds and last receipts of one database; see :class:`hlgraph.stores.derived.RetentionStore`."""

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases

    def holds(self, corpus: str) -> tuple[Hold, ...]:
        """See :meth:`RetentionStore.holds`."""
        rows = self._server.ask("persist/list_holds", corpus=corpus)
        return tuple(
            Hold(corpus, row["name"], tuple(row["uris"]), row["filter"], tuple(row["ids"]), row["at"]) for row in rows
        )

    def add(self, hold: Hold) -> None:
        """See :meth:`RetentionStore.add`."""
        lists = {"uris": list(hold.uris), "ids": list(hold.ids)}
        values = {"id": hold.id, "corpus": hold.corpus, "name": hold.name, "filter": hold.where, "at": hold.at}
        self._leases.write(lambda transaction: transaction.rows("persist/merge_hold", **values, **lists))

    def release(self, hold: Hold) -> None:
        """See :meth:`RetentionStore.release`."""
        self._leases.write(lambda transaction: transaction.rows("persist/drop_hold", id=hold.id))

    def last_receipt(self, corpus: str) -> ReceiptMark:
        """See :meth:`RetentionStore.last_receipt`."""
        rows = self._server.ask("persist/read_receipt", corpus=corpus)
        return next((ReceiptMark(row["number"], row["hash"]) for row in rows), ReceiptMark())

    def record_receipt(self, corpus: str, mark: ReceiptMark) -> None:
        """See :meth:`RetentionStore.record_receipt`."""
        values = {"number": mark.number, "hash": mark.hash}
        self._leases.write(lambda transaction: transaction.rows("persist/merge_receipt", corpus=corpus, **values))


# Sets of vectors: a property of the corpus.


class Neo4jRebindingStore(RebindingStore):
    """Sets of vectors of one database; see :class:`hlgraph.stores.derived.RebindingStore`.

    Parameters
    ----------
    leases : the leases of this process
    changed : called after the sets of a corpus have changed
    """

    def __init__(self, leases: Leases, *, changed: Callable[[], object]) -> None:
        self._leases = leases
        self._changed = changed

    def save(self, corpus: str, sets: VectorSets) -> None:
        """See :meth:`RebindingStore.save`."""
        packed = msgspec.json.encode(sets).decode()
        self._leases.write(lambda transaction: transaction.rows("index/write_vector_sets", name=corpus, sets=packed))
        self._changed()

    def rebind(self, rebindings: Sequence[Rebinding]) -> None:
        """See :meth:`RebindingStore.rebind`."""

        def work(transaction: Transaction) -> None:
            for rebinding in rebindings:
                self._rebind(transaction, rebinding)
            self._leases.check(transaction)

        self._leases.write(work)
        self._changed()

    def _rebind(self, transaction: Transaction, rebinding: Rebinding) -> None:
        calibration = None if rebinding.calibration is None else msgspec.json.encode(rebinding.calibration).decode()
        current = {"embedding": rebinding.sets.current.embedding, "dimensions": rebinding.sets.current.dimensions}
        packed = msgspec.json.encode(rebinding.sets).decode()
        if not transaction.rows(
            "index/rebind_corpus",
            name=rebinding.corpus,
            version=rebinding.version,
            calibration=calibration,
            sets=packed,
            **current,
        ):
            raise StoreConflictError(f"corpus {rebinding.corpus!r} was changed meanwhile; run the same command again")
        transaction.rows("index/drop_synonyms", corpus=rebinding.corpus)
        transaction.write("index/merge_synonyms", [pair._asdict() for pair in rebinding.synonyms])
        vectors: list[Row] = [
            {"id": name, "vector": vector.astype(float).tolist()} for name, vector in rebinding.summaries.items()
        ]
        transaction.write("index/write_summary_vectors", vectors)
        transaction.rows("index/outdate_runs", corpus=rebinding.corpus, embedding=rebinding.before)
        record_rebinding(transaction, rebinding.corpus)


# Decisions about entities: relationships between two entities.


class Neo4jMergeStore(MergeStore):
    """Decisions of one database; see :class:`hlgraph.stores.protocols.MergeStore`.

    Parameters
    ----------
    server : the database
    leases : the leases of this process
    images : images of its corpora, which know the merged entities without a query; None: no images
    """

    def __init__(self, server: Server, leases: Leases, *, images: Images | None) -> None:
        self._server = server
        self._leases = leases
        self._images = images
        super().__init__()

    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """See :meth:`MergeStore.decisions`."""
        decisions = (_decision(corpus, row) for row in self._server.ask("index/list_decisions", corpus=corpus))
        return tuple(sorted(decisions, key=lambda item: item.id))

    def page(
        self, corpus: str, *, verdict: Verdict | None = None, entity: str | None = None, k: int, skip: int = 0
    ) -> tuple[tuple[Decision, ...], int]:
        """See :meth:`MergeStore.page`."""
        chosen = {"corpus": corpus, "verdict": verdict and verdict.value, "entity": entity}
        page = tuple(
            map(partial(_decision, corpus), self._server.ask("retrieve/page_decisions", **chosen, k=k, skip=skip))
        )
        (row,) = self._server.ask("retrieve/count_decisions", **chosen)
        return page, int(row["total"])

    def _pairs(self, corpus: str, version: int) -> tuple[Pair, ...]:
        loaded = None if self._images is None else self._images.loaded(corpus, version=version)
        return super()._pairs(corpus, version) if loaded is None else tuple(loaded.image.joined(Relationship.SAME_AS))

    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """See :meth:`MergeStore.save`."""

        def work(transaction: Transaction) -> None:
            ends = sorted({name for item in decisions for name in item.pair})
            rows = transaction.rows("retrieve/read_entities", lists={"ids": ends}, corpus=corpus)
            if len(records(Kind.ENTITY, rows)) != len(ends):
                raise StoreConflictError(
                    f"corpus {corpus!r} no longer has all entities of these decisions; run the same command again"
                )
            transaction.write("index/drop_decisions", _pairs(decisions))
            judged = [item for item in decisions if item.verdict is not Verdict.SAME]
            merged = [item for item in decisions if item.verdict is Verdict.SAME]
            transaction.write("index/merge_same_as", _rows(merged), corpus=corpus)
            transaction.write("index/merge_judged", _rows(judged), corpus=corpus)
            if decisions:
                added = [(item.alias, item.canonical) for item in merged]
                record_merges(transaction, corpus, cut=[item.pair for item in decisions], added=added)
            self._leases.check(transaction)

        self._leases.write(work)

    def drop(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """See :meth:`MergeStore.drop`."""
        wanted = {item.id for item in decisions}
        existing = [item for item in self.decisions(corpus) if item.id in wanted]

        def work(transaction: Transaction) -> None:
            transaction.write("index/drop_decisions", _pairs(existing))
            if existing:
                record_merges(transaction, corpus, cut=[item.pair for item in existing], added=[])
            self._leases.check(transaction)

        self._leases.write(work)


def _decision(corpus: str, row: Row) -> Decision:
    return Decision(**{**row, "verdict": Verdict(row["verdict"]), "by": Decider(row["by"])}, corpus=corpus)


def _pairs(decisions: Sequence[Decision]) -> list[Row]:
    return [{"a": item.alias, "b": item.canonical} for item in decisions]


def _rows(decisions: Sequence[Decision]) -> list[Row]:
    return [{"id": item.id, **msgspec.to_builtins(item)} for item in decisions]
