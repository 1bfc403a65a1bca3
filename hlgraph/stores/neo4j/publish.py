"""Publishes a change: one transaction of batched statements, in the order of the sections of the embedded ``publish.sql``."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from hlgraph.change import Change, Outcome
from hlgraph.ids import scheme_of
from hlgraph.records import Kind
from hlgraph.stores.neo4j import image_changes, rows
from hlgraph.stores.neo4j.counts import Said, name_changes, name_rows, said_by
from hlgraph.stores.neo4j.creation import Creation, is_new
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.server import Row, Transaction

_DERIVED = (
    "delete_source_summaries",
    "delete_summaries",
    "count_communities",
    "delete_communities",
    "delete_hidden_summaries",
    "delete_hidden_communities",
    "delete_runs",
)
"""Queries to run when something vanished, in this order: outdated summaries are found by the old sizes of communities, before
these are counted again, and summaries of sources are members too."""


@dataclass(slots=True)
class _Old:
    """What the chunks that lose their links asserted, and the records that may lose their last reference with them."""

    chunk_ids: list[str] = field(default_factory=list)
    gone_chunk_ids: list[str] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    statement_ids: set[str] = field(default_factory=set)
    topic_ids: set[str] = field(default_factory=set)
    fact_ids: set[str] = field(default_factory=set)


def publish(transaction: Transaction, change: Change) -> Outcome:
    """Applies a change in one transaction; the caller holds the lease.

    Parameters
    ----------
    transaction : the writing transaction
    change : the staged change

    Returns
    -------
    Outcome
        How many records were added, and the ids of those that vanished.
    """
    old, mentions, vanished = _Old(), rows.mention_rows(change), dict[str, tuple[str, ...]]()
    if is_new(transaction, change):
        added = Creation(transaction, change).write(mentions)
    else:
        old = _read_old(transaction, change)
        added, vanished = _merge(transaction, change, old=old, mentions=mentions)
    _join(transaction, change)
    binding = {"embedding": change.embedding, "dimensions": change.dimensions}
    scheme = scheme_of(change.corpus, change.sources)
    transaction.rows("persist/merge_corpus", name=change.corpus, ids=scheme, **binding)
    image_changes.record(transaction, change, old=old.statement_ids, vanished=vanished)
    if change.removed_sources:
        transaction.rows("persist/unbind_corpus", name=change.corpus)
    if change.renewal is not None:
        mark = None if change.renewal.is_complete else change.renewal.last_id
        transaction.rows("persist/mark_renewal", name=change.corpus, renewed_to=mark)
    if change.calibration is not None:
        packed = msgspec.json.encode(change.calibration).decode()
        transaction.rows("persist/write_calibration", name=change.corpus, calibration=packed)
    about = _about(transaction, change, old)
    return Outcome(added={kind.value: count for kind, count in added.items()}, vanished=vanished, about=about)


def _merge(
    transaction: Transaction, change: Change, *, old: _Old, mentions: list[Row]
) -> tuple[dict[Kind, int], dict[str, tuple[str, ...]]]:
    """Writes a change over what is stored; returns how many records are new, and the ids of those that vanished, by kind."""
    _unlink(transaction, old)
    added = _merge_nodes(transaction, change)
    _link(transaction, change, mentions)
    _count(transaction, change, old=old, new=said_by(mentions))
    if change.recounted:
        _recount(transaction, sorted(change.recounted))
    transaction.write("persist/doubt_chunks", sorted(change.doubted), key="ids")
    vanished = _remove(transaction, change, old)
    sources = sorted(item.id for item in change.sources)
    outgrown = transaction.collect("persist/delete_outgrown_summaries", sources if change.chunks else [], key="ids")
    if vanished or any(whole(row, "removed") for row in outgrown):
        for name in _DERIVED:
            transaction.rows(f"persist/{name}", corpus=change.corpus)
    if change.chunks or change.moves or old.gone_chunk_ids:
        transaction.write("index/unlink_next_chunks", sources, key="source_ids")
        transaction.write("index/link_next_chunks", sources, key="source_ids")
    return added, vanished


def _about(transaction: Transaction, change: Change, old: _Old) -> dict[str, tuple[str, ...]]:
    """The statements of those topics of ``topic_names`` that a chunk of the change names, or named."""
    touched = old.topic_ids | {item.topic_id for item in change.abouts}
    wanted = () if change.topic_names is None else sorted(touched.intersection(change.topic_names.ids))
    found = transaction.collect("persist/list_topic_statements", wanted, key="ids")
    return {str(row["id"]): tuple(sorted(_ids(row, "statement_ids"))) for row in found}


def _read_old(transaction: Transaction, change: Change) -> _Old:
    """The chunks that are removed, also with their source, or extracted again, and everything that they asserted."""
    removed = [
        str(row["id"])
        for source_ids, chunk_ids in ((list(change.removed_sources), []), ([], list(change.removed_chunks)))
        if source_ids or chunk_ids
        for row in transaction.rows("persist/find_old_chunks", chunk_ids=chunk_ids, source_ids=source_ids)
    ]
    again = [
        str(row["id"])
        for row in transaction.collect(
            "persist/find_old_chunks", sorted(item.id for item in change.chunks), key="chunk_ids", source_ids=[]
        )
    ]
    old = _Old(sorted({*removed, *again}), sorted(set(removed)))
    old.said = _said(transaction, old.chunk_ids)
    for row in transaction.collect("persist/list_asserted", old.chunk_ids, key="chunk_ids"):
        {"statement": old.statement_ids, "topic": old.topic_ids, "fact": old.fact_ids}[str(row["kind"])].add(
            str(row["id"])
        )
    return old


def _said(transaction: Transaction, chunk_ids: list[str]) -> list[Said]:
    found = transaction.collect("persist/list_mentions", chunk_ids, key="chunk_ids")
    return [Said(*(row[name] for name in Said._fields)) for row in found]  # type: ignore[arg-type]


def _ids(row: Row, name: str) -> set[str]:
    value = row[name]
    return {str(item) for item in value} if isinstance(value, list) else set()


def _unlink(transaction: Transaction, old: _Old) -> None:
    for name in ("mentions", "abouts", "supports", "chunks"):
        transaction.write(f"persist/unlink_{name}", old.chunk_ids, key="chunk_ids")


def _merge_nodes(transaction: Transaction, change: Change) -> dict[Kind, int]:
    """Writes the nodes of a change; returns how many are new, by kind."""
    entities: list[Row] = [{"id": name} for name in sorted(set(change.entities))]
    added = {
        Kind.SOURCE: transaction.write("persist/merge_sources", rows.source_rows(change)),
        Kind.CHUNK: transaction.write("persist/merge_chunks", rows.chunk_rows(change), corpus=change.corpus),
        Kind.TOPIC: transaction.write("persist/merge_topics", rows.topic_rows(change), corpus=change.corpus),
        Kind.STATEMENT: transaction.write(
            "persist/merge_statements", rows.statement_rows(change), corpus=change.corpus
        ),
        Kind.ENTITY: transaction.write("persist/merge_entities", entities, corpus=change.corpus),
        Kind.FACT: transaction.write("persist/merge_facts", rows.fact_rows(change), corpus=change.corpus),
    }
    transaction.write("persist/link_objects", rows.object_rows(change))
    moves = [
        {"id": item.chunk_id, "start": item.start, "end": item.end, "position": item.position, "page": item.page}
        for item in sorted(change.moves)
    ]
    transaction.write("persist/move_chunks", moves)
    return added


def _link(transaction: Transaction, change: Change, mentions: list[Row]) -> None:
    transaction.write("persist/link_statements", rows.placement_rows(change))
    transaction.write("persist/link_topics", rows.naming_rows(change))
    transaction.write("persist/link_abouts", rows.about_rows(change))
    transaction.write("persist/link_mentions", mentions)
    transaction.write("persist/link_supports", rows.support_rows(change))


def _count(transaction: Transaction, change: Change, *, old: _Old, new: list[Said]) -> None:
    """Updates the derived data that is counted: names, RELATES."""
    topics = old.topic_ids | {item.topic_id for item in change.abouts} | set(change.recounted)
    transaction.write("index/name_topics", sorted(topics), key="ids")
    names = name_changes(old.said, new)
    stored = transaction.collect("index/read_names", sorted(names))
    transaction.write("index/write_names", name_rows(stored, names))
    facts = old.fact_ids | {item.fact_id for item in change.supports}
    transaction.write("index/count_relations", sorted(facts), key="fact_ids")
    transaction.write("index/delete_relations", sorted(old.fact_ids), key="fact_ids")


def _recount(transaction: Transaction, names: list[str]) -> None:
    """Counts the names of some entities again, for repairs."""
    chunks = (str(row["id"]) for row in transaction.collect("index/list_chunks", names))
    said = _said(transaction, sorted(set(chunks)))
    inside = set(names)
    counts = name_changes((), (item for item in said if item.entity_id in inside))
    empty: list[Row] = [{"id": name, "surfaces": [], "kinds": [], "counts": []} for name in sorted(counts)]
    transaction.write("index/write_names", name_rows(empty, counts))


def _remove(transaction: Transaction, change: Change, old: _Old) -> dict[str, tuple[str, ...]]:
    """Deletes the records that lost their last reference; returns their ids, by kind."""
    facts = transaction.collect("persist/delete_facts", sorted(old.fact_ids))
    entities = {item.entity_id for item in old.said}.union(*(_ids(row, "entity_ids") for row in facts))
    gone = {
        Kind.SOURCE: transaction.collect("persist/delete_sources", sorted(change.removed_sources)),
        Kind.TOPIC: transaction.collect("persist/delete_topics", sorted(old.topic_ids)),
        Kind.STATEMENT: transaction.collect("persist/delete_statements", sorted(old.statement_ids)),
        Kind.FACT: facts,
        Kind.ENTITY: transaction.collect("persist/delete_entities", sorted(entities)),
    }
    transaction.write("persist/delete_chunks", old.gone_chunk_ids, key="ids")
    vanished = {kind: tuple(sorted(str(row["id"]) for row in found)) for kind, found in gone.items()}
    vanished[Kind.CHUNK] = tuple(old.gone_chunk_ids)
    return {kind.value: vanished[kind] for kind in Kind if vanished.get(kind)}


def _join(transaction: Transaction, change: Change) -> None:
    """Writes SYNONYM of the new entities."""
    found = {
        (min(item.a, item.b), max(item.a, item.b)): item.similarity for item in change.synonyms if item.a != item.b
    }
    pairs = [{"a": a, "b": b, "similarity": found[a, b]} for a, b in sorted(found)]
    transaction.write("index/merge_synonyms", pairs)
