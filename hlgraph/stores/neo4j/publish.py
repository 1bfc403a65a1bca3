"""Publish a change in one transaction of batched statements, in the order of the sections of the embedded ``publish.sql``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from hlgraph import progress
from hlgraph.change import Change, LargeChange, Outcome
from hlgraph.ids import scheme_of
from hlgraph.records import Kind
from hlgraph.stores.in_process import most_common
from hlgraph.stores.neo4j import image_changes, rows
from hlgraph.stores.neo4j.server import Row, Transaction, Value

# Counts of the names of entities, as in the embedded store: an entity gets the name that most mentions use, ties in
# alphabetical order.


class Said(NamedTuple):
    """Number of mentions of an entity in a chunk under one name and kind."""

    chunk_id: str
    entity_id: str
    surface: str
    kind: str
    mentions: int


def said_by(rows: Iterable[Row]) -> list[Said]:
    """The counts of new chunks, computed from the rows of their mentions."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        for chunk, surface, kind in zip(row["chunks"], row["surfaces"], row["kinds"], strict=True):
            counts[chunk, row["entity_id"], surface, kind] += 1
    return [Said(*key, count) for key, count in counts.items()]


def name_changes(old: Iterable[Said], new: Iterable[Said]) -> dict[str, Counter[tuple[str, str]]]:
    """Changes in the count of each name and kind of each entity.

    Parameters
    ----------
    old : counts of the chunks before the change
    new : counts of the chunks after the change
    """
    changes: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for said, sign in ((old, -1), (new, 1)):
        for item in said:
            changes[item.entity_id][item.surface, item.kind] += sign * item.mentions
    return dict(changes)


def name_rows(stored: Iterable[Row], changes: Mapping[str, Counter[tuple[str, str]]]) -> list[Row]:
    """The rows of entities after a change: their counts, and the resulting name and kind.

    An entity without mentions keeps its name, because a fact may still refer to it.

    Parameters
    ----------
    stored : entities with their present counts, from ``index/read_names``
    changes : changes of the counts, by id, from :func:`name_changes`
    """
    rows: list[Row] = []
    for row in stored:
        counts: Counter[tuple[str, str]] = Counter()
        for surface, kind, count in zip(row["surfaces"], row["kinds"], row["counts"], strict=True):
            counts[surface, kind] = count
        counts.update(changes[row["id"]])
        kept = sorted((key, count) for key, count in counts.items() if count > 0)
        names: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        for (surface, kind), count in kept:
            names[surface] += count
            if kind:
                kinds[kind] += count
        rows.append(
            {
                "id": row["id"],
                "name": most_common(names) or None,
                "kind": most_common(kinds),
                "aliases": sorted(names),
                "surfaces": [surface for (surface, _), _ in kept],
                "kinds": [kind for (_, kind), _ in kept],
                "counts": [count for _, count in kept],
            }
        )
    return rows


def uncounted(ids: Iterable[str]) -> list[Row]:
    """Entities without counts, for :func:`name_rows`."""
    return [{"id": name, "surfaces": [], "kinds": [], "counts": []} for name in ids]


# Changes that only add sources: records are created without a look-up, and connected by the integers of element ids.
#
# Most of the cost of MERGE is to look up both ends of a relationship, and whether it exists. Nothing of a new
# source is in the graph, so its records need neither. Entities and facts belong to the whole corpus: each is looked up once.
#
# The integers are valid within the transaction. A crash leaves all of the change or nothing of it, so a change that is published
# again finds nothing of its sources, and creates them once.


Numbers = dict[str, int]
"""The integers of element ids, by the ids of records."""


def is_new(transaction: Transaction, change: Change) -> bool:
    """Whether a change in memory only adds sources of which the graph stores nothing yet.

    Parameters
    ----------
    transaction : the writing transaction
    change : the staged change
    """
    if not change.sources or any(change.base_versions) or isinstance(change, LargeChange):
        return False
    others = (change.removed_sources, change.removed_chunks, change.moves, change.recounted, change.doubted)
    names = {item.id for item in change.sources}
    owners = {item.source_id for records in (change.chunks, change.topics, change.statements) for item in records}
    if any(others) or not owners <= names:
        return False
    return not any(row["left"] for row in transaction.collect("persist/find_left", sorted(names)))


class Creation:
    """The writing of one change of new sources.

    Parameters
    ----------
    transaction : the writing transaction
    change : a change for which :func:`is_new` holds
    """

    def __init__(self, transaction: Transaction, change: Change) -> None:
        self._transaction = transaction
        self._change = change
        self._prefix = ""

    def write(self, mentions: list[Row]) -> dict[Kind, int]:
        """Write the nodes and relationships, and all counted data.

        Parameters
        ----------
        mentions : the rows of :func:`rows.mention_rows`

        Returns
        -------
        dict
            Number of new nodes by kind.
        """
        change = self._change
        sources = self._sources()
        chunk_rows = [{**row, "source_number": sources[row["source"]]} for row in rows.chunk_rows(change)]
        chunks = self._create("persist/create_chunks", chunk_rows, prefix=self._prefix)
        self._link("persist/create_next_chunks", rows.next_rows(change), id=chunks, next=chunks)
        topics = self._create("persist/create_topics", _named(change))
        statements = self._create("persist/create_statements", rows.statement_rows(change))
        entities, new_entities = self._entities(mentions)
        placements, namings = rows.placement_rows(change), rows.naming_rows(change)
        self._link("persist/create_placements", placements, statement_id=statements, chunk_id=chunks)
        self._link("persist/create_namings", namings, topic_id=topics, chunk_id=chunks)
        self._link("persist/create_abouts", rows.about_rows(change), statement_id=statements, topic_id=topics)
        self._link("persist/create_mentions", mentions, statement_id=statements, entity_id=entities)
        new_facts = self._facts(entities, statements)
        created = {Kind.SOURCE: sources, Kind.CHUNK: chunks, Kind.TOPIC: topics, Kind.STATEMENT: statements}
        return {kind: len(item) for kind, item in created.items()} | {Kind.ENTITY: new_entities, Kind.FACT: new_facts}

    def _sources(self) -> Numbers:
        created = self._transaction.collect("persist/create_sources", rows.source_rows(self._change), key="rows")
        elements = {row["id"]: row["element"].rpartition(":") for row in created}
        self._prefix = next(before + colon for before, colon, _ in elements.values())
        return {name: int(number) for name, (_, _, number) in elements.items()}

    def _entities(self, mentions: list[Row]) -> tuple[Numbers, int]:
        """Write the entities of the change and count their names; return the number of new entities."""
        names = sorted(set(self._change.entities))
        existing = _numbers(self._transaction.collect("persist/find_entities", names))
        changes = name_changes((), said_by(mentions))
        renamed = [name for name in names if name in existing and name in changes]
        stored = self._transaction.collect("index/read_names", renamed)
        self._transaction.write("index/write_names", name_rows(stored, changes))
        new = uncounted(name for name in names if name not in existing)
        created = self._create("persist/create_entities", name_rows(new, defaultdict(Counter, changes)))
        return {**existing, **created}, len(created)

    def _facts(self, entities: Numbers, statements: Numbers) -> int:
        """Write facts with all their relationships; return the number of new facts."""
        change, transaction = self._change, self._transaction
        fact_rows, object_rows, supports = rows.fact_rows(change), rows.object_rows(change), rows.support_rows(change)
        existing = _numbers(transaction.collect("persist/find_facts", [row["id"] for row in fact_rows]))
        known = [
            {**row, "subject": entities[row["subject_id"]]}
            for row in fact_rows
            if row["id"] not in existing and row["subject_id"] in entities
        ]
        created = self._create("persist/create_facts", known, prefix=self._prefix)
        self._link("persist/create_supports", supports, fact_id={**existing, **created}, statement_id=statements)
        self._link("persist/create_objects", object_rows, object_id=entities, id=created)
        objects = {row["id"]: row["object_id"] for row in object_rows}
        counted = Counter(row["fact_id"] for row in supports)
        relations = {
            (row["subject_id"], objects[row["id"]], row["predicate"]): counted[row["id"]]
            for row in known
            if row["id"] in objects and counted[row["id"]]
        }
        relation_rows = [{"subject": a, "object": b, "predicate": c, "facts": n} for (a, b, c), n in relations.items()]
        self._link("persist/create_relations", relation_rows, subject=entities, object=entities)
        if existing:  # facts of older sources, which get more statements
            older = [[row for row in some if row["id"] in existing] for some in (fact_rows, object_rows)]
            transaction.write("persist/merge_facts", older[0], corpus=change.corpus)
            transaction.write("persist/link_objects", older[1])
            transaction.write("index/count_relations", sorted(existing.keys() & counted), key="fact_ids")
        return len(created)

    def _create(self, name: str, records: Sequence[Row], **params: Value) -> Numbers:
        return _numbers(self._transaction.collect(name, records, key="rows", corpus=self._change.corpus, **params))

    def _link(self, name: str, links: Iterable[Row], **ends: Numbers) -> None:
        """Create relationships from rows; rows with an unknown end are left out.

        Parameters
        ----------
        name : name of the query; it takes the integers of both ends, then the other values of the row
        links : rows
        ends : the integers of the nodes, by the columns of the start and the end
        """
        (start, starts), (end, stops) = ends.items()
        relationships = [
            [starts[row[start]], stops[row[end]], *(value for key, value in row.items() if key not in ends)]
            for row in links
            if row[start] in starts and row[end] in stops
        ]
        self._transaction.write(name, relationships, prefix=self._prefix)


def _numbers(batches: Iterable[Row]) -> Numbers:
    numbers: Numbers = {}
    for row in batches:
        numbers.update(zip(row["ids"], row["numbers"], strict=True))
    return numbers


def _named(change: Change) -> list[Row]:
    """Name topics by the spelling that most of their chunks use, see ``index/name_topics``."""
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in rows.naming_rows(change):
        if item["name"]:
            used[item["topic_id"]][item["name"]] += 1
    return [{**row, "name": most_common(used[row["id"]]) or row["name"]} for row in rows.topic_rows(change)]


_UNLINKING = ("persist/unlink_mentions", "persist/unlink_abouts", "persist/unlink_supports", "persist/unlink_chunks")
_DERIVED = (
    "persist/delete_source_summaries",
    "persist/delete_summaries",
    "persist/count_communities",
    "persist/delete_communities",
    "persist/delete_hidden_summaries",
    "persist/delete_hidden_communities",
    "persist/delete_runs",
)
"""Queries to run when something vanished, in this order: outdated summaries are found by the old sizes of communities, before
these are counted again, and summaries of sources are members too."""


@dataclass(slots=True)
class _Old:
    """The previous assertions of the chunks of a change, the records that may lose their last reference, and the topics that the
    change names.
    """

    chunk_ids: list[str] = field(default_factory=list)
    gone_chunk_ids: list[str] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    statement_ids: set[str] = field(default_factory=set)
    topic_ids: set[str] = field(default_factory=set)
    fact_ids: set[str] = field(default_factory=set)
    named_ids: set[str] = field(default_factory=set)

    def include(self, other: _Old) -> None:
        """Add what the chunks of another piece of the change asserted."""
        self.chunk_ids += other.chunk_ids
        self.gone_chunk_ids += other.gone_chunk_ids
        self.said += other.said
        self.statement_ids |= other.statement_ids
        self.topic_ids |= other.topic_ids
        self.fact_ids |= other.fact_ids


def publish(transaction: Transaction, change: Change) -> Outcome:
    """Apply a change in one transaction; the caller holds the lease.

    Parameters
    ----------
    transaction : the writing transaction
    change : the staged change

    Returns
    -------
    Outcome
        The number of records added, and the ids of the records removed.
    """
    old, vanished = _Old(), dict[str, tuple[str, ...]]()
    if is_new(transaction, change):
        added = Creation(transaction, change).write(rows.mention_rows(change))
        _join(transaction, change)
    else:
        added, vanished = _merge(transaction, change, old)
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


def _merge(transaction: Transaction, change: Change, old: _Old) -> tuple[dict[Kind, int], dict[str, tuple[str, ...]]]:
    """Write a change over what is stored, piece by piece.

    Parameters
    ----------
    transaction : the writing transaction
    change : the staged change
    old : receives what was there, and the topics that the change names

    Returns
    -------
    tuple
        The number of new records and the ids of removed records, by kind.
    """
    added: Counter[Kind] = Counter()
    for piece in change.pieces():
        before, mentions = _read_old(transaction, piece), rows.mention_rows(piece)
        for name in _UNLINKING:
            transaction.write(name, before.chunk_ids, key="chunk_ids")
        added.update(_merge_nodes(transaction, piece))
        _link(transaction, piece, mentions)
        _count(transaction, piece, old=before, new=said_by(mentions))
        _join(transaction, piece)
        old.include(before)
        old.named_ids.update(item.topic_id for item in piece.abouts)
        progress.advance("persist", len(piece.sources) or 1)
    if change.recounted:
        _recount(transaction, sorted(change.recounted))
    transaction.write("persist/doubt_chunks", sorted(change.doubted), key="ids")
    vanished = _remove(transaction, change, old)
    sources = sorted(item.id for item in change.sources)
    has_chunks = bool(change.chunks) or isinstance(change, LargeChange)
    outgrown = transaction.collect("persist/delete_outgrown_summaries", sources if has_chunks else [], key="ids")
    if vanished or any(row["removed"] for row in outgrown):
        for name in _DERIVED:
            transaction.rows(name, corpus=change.corpus)
    if has_chunks or change.moves or old.gone_chunk_ids:
        transaction.write("index/unlink_next_chunks", sources, key="source_ids")
        transaction.write("index/link_next_chunks", sources, key="source_ids")
    return dict(added), vanished


def _about(transaction: Transaction, change: Change, old: _Old) -> dict[str, tuple[str, ...]]:
    """The statements of the topics in ``topic_names`` that a chunk of the change names or named before."""
    touched = old.topic_ids | old.named_ids | {item.topic_id for item in change.abouts}
    wanted = () if change.topic_names is None else sorted(touched.intersection(change.topic_names.ids))
    topic_rows = transaction.collect("persist/list_topic_statements", wanted, key="ids")
    return {row["id"]: tuple(sorted(set(row["statement_ids"]))) for row in topic_rows}


def _read_old(transaction: Transaction, change: Change) -> _Old:
    """Read the chunks that are removed, alone or with their source, or extracted again, with everything that they asserted."""
    removed: list[Row] = []
    if change.removed_sources or change.removed_chunks:
        gone = {"source_ids": list(change.removed_sources), "chunk_ids": list(change.removed_chunks)}
        removed = transaction.rows("persist/find_old_chunks", **gone)
    extracted = sorted(item.id for item in change.chunks)
    again = transaction.collect("persist/find_old_chunks", extracted, key="chunk_ids", source_ids=[])
    gone_ids = {row["id"] for row in removed}
    old = _Old(sorted(gone_ids.union(row["id"] for row in again)), sorted(gone_ids))
    old.said = _said(transaction, old.chunk_ids)
    by_kind = {"statement": old.statement_ids, "topic": old.topic_ids, "fact": old.fact_ids}
    for row in transaction.collect("persist/list_asserted", old.chunk_ids, key="chunk_ids"):
        by_kind[row["kind"]].add(row["id"])
    return old


def _said(transaction: Transaction, chunk_ids: list[str]) -> list[Said]:
    return [Said(**row) for row in transaction.collect("persist/list_mentions", chunk_ids, key="chunk_ids")]


def _merge_nodes(transaction: Transaction, change: Change) -> dict[Kind, int]:
    """Write the nodes of a change; return the number of new nodes by kind."""
    corpus, entities = change.corpus, [{"id": name} for name in sorted(set(change.entities))]
    added = {
        Kind.SOURCE: transaction.write("persist/merge_sources", rows.source_rows(change)),
        Kind.CHUNK: transaction.write("persist/merge_chunks", rows.chunk_rows(change), corpus=corpus),
        Kind.TOPIC: transaction.write("persist/merge_topics", rows.topic_rows(change), corpus=corpus),
        Kind.STATEMENT: transaction.write("persist/merge_statements", rows.statement_rows(change), corpus=corpus),
        Kind.ENTITY: transaction.write("persist/merge_entities", entities, corpus=corpus),
        Kind.FACT: transaction.write("persist/merge_facts", rows.fact_rows(change), corpus=corpus),
    }
    transaction.write("persist/link_objects", rows.object_rows(change))
    transaction.write("persist/move_chunks", [item._asdict() for item in sorted(change.moves)])
    return added


def _link(transaction: Transaction, change: Change, mentions: list[Row]) -> None:
    transaction.write("persist/link_statements", rows.placement_rows(change))
    transaction.write("persist/link_topics", rows.naming_rows(change))
    transaction.write("persist/link_abouts", rows.about_rows(change))
    transaction.write("persist/link_mentions", mentions)
    transaction.write("persist/link_supports", rows.support_rows(change))


def _count(transaction: Transaction, change: Change, *, old: _Old, new: list[Said]) -> None:
    """Update the counted data: names and RELATES."""
    topics = old.topic_ids | {item.topic_id for item in change.abouts} | set(change.recounted)
    transaction.write("index/name_topics", sorted(topics), key="ids")
    names = name_changes(old.said, new)
    stored = transaction.collect("index/read_names", sorted(names))
    transaction.write("index/write_names", name_rows(stored, names))
    facts = old.fact_ids | {item.fact_id for item in change.supports}
    transaction.write("index/count_relations", sorted(facts), key="fact_ids")
    transaction.write("index/delete_relations", sorted(old.fact_ids), key="fact_ids")


def _recount(transaction: Transaction, names: list[str]) -> None:
    """Count the names of some entities again, for repairs."""
    inside, chunks = set(names), {row["id"] for row in transaction.collect("index/list_chunks", names)}
    said = [item for item in _said(transaction, sorted(chunks)) if item.entity_id in inside]
    counts = name_changes((), said)
    transaction.write("index/write_names", name_rows(uncounted(sorted(counts)), counts))


def _remove(transaction: Transaction, change: Change, old: _Old) -> dict[str, tuple[str, ...]]:
    """Delete the records that lost their last reference; return their ids by kind."""
    facts = transaction.collect("persist/delete_facts", sorted(old.fact_ids))
    entities = {item.entity_id for item in old.said}.union(*(row["entity_ids"] for row in facts))
    gone = {
        Kind.SOURCE: transaction.collect("persist/delete_sources", sorted(change.removed_sources)),
        Kind.TOPIC: transaction.collect("persist/delete_topics", sorted(old.topic_ids)),
        Kind.STATEMENT: transaction.collect("persist/delete_statements", sorted(old.statement_ids)),
        Kind.FACT: facts,
        Kind.ENTITY: transaction.collect("persist/delete_entities", sorted(entities)),
    }
    transaction.write("persist/delete_chunks", old.gone_chunk_ids, key="ids")
    vanished = {kind: tuple(sorted(row["id"] for row in deleted)) for kind, deleted in gone.items()}
    vanished[Kind.CHUNK] = tuple(old.gone_chunk_ids)
    return {kind.value: vanished[kind] for kind in Kind if vanished.get(kind)}


def _join(transaction: Transaction, change: Change) -> None:
    """Write the SYNONYM relationships of new entities."""
    synonyms = (item._replace(a=min(item.a, item.b), b=max(item.a, item.b)) for item in change.synonyms)
    pairs = {(item.a, item.b): item for item in synonyms if item.a != item.b}
    transaction.write("index/merge_synonyms", [pairs[key]._asdict() for key in sorted(pairs)])
