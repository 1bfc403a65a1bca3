"""Publishes a change: one transaction of batched statements, in the order of the sections of the embedded ``publish.sql``."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from hlgraph.change import Change, Outcome
from hlgraph.ids import scheme_of
from hlgraph.records import Kind
from hlgraph.stores.neo4j import image_changes, rows
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.server import Row, Transaction, Value

# Reference counts behind the names of entities. Pure functions.
#
# The rules are those of the embedded store, so that both build the same graph. An entity gets the name that most mentions
# use, ties in alphabetical order.


class Said(NamedTuple):
    """How often a chunk mentions an entity by one name and kind."""

    chunk_id: str
    entity_id: str
    surface: str
    kind: str
    mentions: int


def said_by(rows: Iterable[Row]) -> list[Said]:
    """The counts of new chunks, from the rows of their mentions."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        entity = str(row["entity_id"])
        for chunk, surface, kind in zip(
            _texts(row["chunks"]), _texts(row["surfaces"]), _texts(row["kinds"]), strict=True
        ):
            counts[chunk, entity, surface, kind] += 1
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
    """Entities with their counts after a change, and the name and kind that follow from these.

    An entity without mentions keeps its name, because a fact may still refer to it.

    Parameters
    ----------
    stored : entities with their present counts
    changes : changes of the counts, by id, from :func:`name_changes`
    """
    rows: list[Row] = []
    for row in stored:
        name = str(row["id"])
        counts = Counter(
            dict(
                zip(
                    zip(_texts(row["surfaces"]), _texts(row["kinds"]), strict=True),
                    _numbers(row["counts"]),
                    strict=True,
                )
            )
        )
        for key, change in changes[name].items():
            counts[key] += change
        kept = sorted((key, count) for key, count in counts.items() if count > 0)
        rows.append(
            {
                "id": name,
                "name": _most((surface, count) for (surface, _), count in kept) if kept else None,
                "kind": _most((kind, count) for (_, kind), count in kept if kind),
                "aliases": sorted({surface for (surface, _), _ in kept}),
                "surfaces": [surface for (surface, _), _ in kept],
                "kinds": [kind for (_, kind), _ in kept],
                "counts": [count for _, count in kept],
            }
        )
    return rows


def _most(counted: Iterable[tuple[str, int]]) -> str:
    total: Counter[str] = Counter()
    for text, count in counted:
        total[text] += count
    return min(total, key=lambda text: (-total[text], text), default="")


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _numbers(value: object) -> list[int]:
    return [int(item) for item in value] if isinstance(value, list) else []


# Writes a change of new sources: their records are created, and joined by the integers of the server's element ids.
#
# Looking both ends of a relationship up by their keys, and whether it is there, is most of the cost of MERGE. Nothing of a new
# source is in the graph, so its records need neither. Entities and facts belong to the whole corpus: each is looked up once.
#
# The integers hold within the transaction that publishes the change, and are forgotten with it. A crash leaves all of the change
# or nothing: a change that is published again after a crash finds nothing of its sources, and creates them once.


Numbers = dict[str, int]
"""The integers of element ids, by the ids of records."""


def is_new(transaction: Transaction, change: Change) -> bool:
    """Whether a change only adds sources of which the graph has nothing.

    Parameters
    ----------
    transaction : the writing transaction
    change : the staged change
    """
    if not change.sources or any(change.base_versions):
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
        """Writes the nodes and the relationships, with everything that is counted.

        Parameters
        ----------
        mentions : the rows of :func:`rows.mention_rows`

        Returns
        -------
        dict
            How many nodes are new, by kind.
        """
        change = self._change
        sources = self._sources()
        chunks = self._chunks(sources)
        topics = self._create("persist/create_topics", _named(rows.topic_rows(change), change))
        statements = self._create("persist/create_statements", rows.statement_rows(change))
        entities, new_entities = self._entities(mentions)
        self._place(chunks, topics, statements)
        self._link("persist/create_mentions", statements, entities, _values(mentions, "statement_id", "entity_id"))
        new_facts = self._facts(entities, statements)
        created = {Kind.SOURCE: sources, Kind.CHUNK: chunks, Kind.TOPIC: topics, Kind.STATEMENT: statements}
        return {kind: len(item) for kind, item in created.items()} | {Kind.ENTITY: new_entities, Kind.FACT: new_facts}

    def _sources(self) -> Numbers:
        created = self._transaction.collect("persist/create_sources", rows.source_rows(self._change), key="rows")
        elements = {str(row["id"]): str(row["element"]).rpartition(":") for row in created}
        self._prefix = next(before + colon for before, colon, _ in elements.values())
        return {name: int(number) for name, (_, _, number) in elements.items()}

    def _chunks(self, sources: Numbers) -> Numbers:
        chunk_rows = [{**row, "source_number": sources[str(row["source"])]} for row in rows.chunk_rows(self._change)]
        chunks = self._create("persist/create_chunks", chunk_rows, prefix=self._prefix)
        following: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for item in self._change.chunks:
            following[item.source_id].append((item.position, item.id))
        pairs = [
            (one, other, ())
            for name in sorted(following)
            for (_, one), (_, other) in itertools.pairwise(sorted(following[name]))
        ]
        self._link("persist/create_next_chunks", chunks, chunks, pairs)
        return chunks

    def _entities(self, mentions: list[Row]) -> tuple[Numbers, int]:
        """All entities of the change, and how many of them are new; their names are counted."""
        names = sorted(set(self._change.entities))
        existing = self._find("persist/find_entities", names)
        changes = name_changes((), said_by(mentions))
        stored = self._transaction.collect(
            "index/read_names", [name for name in names if name in existing and name in changes]
        )
        self._transaction.write("index/write_names", name_rows(stored, changes))
        nothing = Counter[tuple[str, str]]()
        empty: list[Row] = [
            {"id": name, "surfaces": [], "kinds": [], "counts": []} for name in names if name not in existing
        ]
        created = self._create(
            "persist/create_entities", name_rows(empty, {name: changes.get(name, nothing) for name in names})
        )
        return {**existing, **created}, len(created)

    def _place(self, chunks: Numbers, topics: Numbers, statements: Numbers) -> None:
        """IN_CHUNK and ABOUT."""
        placed = rows.placement_rows(self._change)
        self._link("persist/create_placements", statements, chunks, _values(placed, "statement_id", "chunk_id"))
        named = rows.naming_rows(self._change)
        self._link("persist/create_namings", topics, chunks, _values(named, "topic_id", "chunk_id"))
        self._link(
            "persist/create_abouts",
            statements,
            topics,
            _values(rows.about_rows(self._change), "statement_id", "topic_id"),
        )

    def _facts(self, entities: Numbers, statements: Numbers) -> int:
        """Facts with all their relationships; returns how many facts are new."""
        change, transaction = self._change, self._transaction
        fact_rows = rows.fact_rows(change)
        existing = self._find("persist/find_facts", [str(row["id"]) for row in fact_rows])
        new = [row for row in fact_rows if row["id"] not in existing]
        known = [{**row, "subject": entities[str(row["subject_id"])]} for row in new if row["subject_id"] in entities]
        created = self._create("persist/create_facts", known, prefix=self._prefix)
        supports = rows.support_rows(change)
        self._link(
            "persist/create_supports", {**existing, **created}, statements, _values(supports, "fact_id", "statement_id")
        )
        objects = {str(row["id"]): str(row["object_id"]) for row in rows.object_rows(change)}
        pairs = [(objects[name], name, ()) for name in sorted(created) if name in objects]
        self._link("persist/create_objects", entities, created, pairs)
        counted = Counter(str(row["fact_id"]) for row in supports)
        relations = {
            (str(row["subject_id"]), objects[str(row["id"])], str(row["predicate"])): counted[str(row["id"])]
            for row in known
            if row["id"] in objects and counted[str(row["id"])]
        }
        self._link(
            "persist/create_relations",
            entities,
            entities,
            [(a, b, (word, facts)) for (a, b, word), facts in relations.items()],
        )
        if existing:  # facts of older sources, which get more statements
            transaction.write(
                "persist/merge_facts", [row for row in fact_rows if row["id"] in existing], corpus=change.corpus
            )
            transaction.write(
                "persist/link_objects", [row for row in rows.object_rows(change) if row["id"] in existing]
            )
            transaction.write("index/count_relations", sorted(existing.keys() & counted), key="fact_ids")
        return len(created)

    def _find(self, name: str, ids: list[str]) -> Numbers:
        return _numbers_to_create(self._transaction.collect(name, ids))

    def _create(self, name: str, found: Sequence[Row], **params: Value) -> Numbers:
        created = self._transaction.collect(name, found, key="rows", corpus=self._change.corpus, **params)
        return _numbers_to_create(created)

    def _link(
        self, name: str, starts: Numbers, ends: Numbers, found: Iterable[tuple[str, str, Sequence[Value]]]
    ) -> None:
        """Creates relationships: ends by id, then their values; those of a record that the change does not have are left out."""
        relationships = [[starts[a], ends[b], *values] for a, b, values in found if a in starts and b in ends]
        self._transaction.write(name, relationships, prefix=self._prefix)


def _numbers_to_create(found: Iterable[Row]) -> Numbers:
    numbers: Numbers = {}
    for row in found:
        ids, integers = row["ids"], row["numbers"]
        if isinstance(ids, list) and isinstance(integers, list):
            numbers.update(zip(ids, integers, strict=True))
    return numbers


def _values(found: Iterable[Row], start: str, end: str) -> Iterable[tuple[str, str, Sequence[Value]]]:
    """The ends of each row, and its other values in their order."""
    for row in found:
        yield str(row[start]), str(row[end]), [value for name, value in row.items() if name not in (start, end)]


def _named(topics: list[Row], change: Change) -> list[Row]:
    """Topics under the name that most of their chunks use, see ``index/name_topics``."""
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows.naming_rows(change):
        if row["name"]:
            used[str(row["topic_id"])][str(row["name"])] += 1
    return [{**row, "name": _most_created(used.get(str(row["id"]), {}), str(row["name"]))} for row in topics]


def _most_created(counts: Mapping[str, int], otherwise: str) -> str:
    return min(counts, key=lambda name: (-counts[name], name), default=otherwise)


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
            transaction.rows(name, corpus=change.corpus)
    if change.chunks or change.moves or old.gone_chunk_ids:
        transaction.write("index/unlink_next_chunks", sources, key="source_ids")
        transaction.write("index/link_next_chunks", sources, key="source_ids")
    return added, vanished


def _about(transaction: Transaction, change: Change, old: _Old) -> dict[str, tuple[str, ...]]:
    """The statements of those topics of ``topic_names`` that a chunk of the change names, or named."""
    touched = old.topic_ids | {item.topic_id for item in change.abouts}
    wanted = () if change.topic_names is None else sorted(touched.intersection(change.topic_names.ids))
    topic_rows = transaction.collect("persist/list_topic_statements", wanted, key="ids")
    return {str(row["id"]): tuple(sorted(_ids(row, "statement_ids"))) for row in topic_rows}


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
    mentions = transaction.collect("persist/list_mentions", chunk_ids, key="chunk_ids")
    return [Said(*(row[name] for name in Said._fields)) for row in mentions]  # type: ignore[arg-type]


def _ids(row: Row, name: str) -> set[str]:
    value = row[name]
    return {str(item) for item in value} if isinstance(value, list) else set()


def _unlink(transaction: Transaction, old: _Old) -> None:
    for name in (
        "persist/unlink_mentions",
        "persist/unlink_abouts",
        "persist/unlink_supports",
        "persist/unlink_chunks",
    ):
        transaction.write(name, old.chunk_ids, key="chunk_ids")


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
    vanished = {kind: tuple(sorted(str(row["id"]) for row in deleted)) for kind, deleted in gone.items()}
    vanished[Kind.CHUNK] = tuple(old.gone_chunk_ids)
    return {kind.value: vanished[kind] for kind in Kind if vanished.get(kind)}


def _join(transaction: Transaction, change: Change) -> None:
    """Writes SYNONYM of the new entities."""
    similarities = {
        (min(item.a, item.b), max(item.a, item.b)): item.similarity for item in change.synonyms if item.a != item.b
    }
    pairs = [{"a": a, "b": b, "similarity": similarities[a, b]} for a, b in sorted(similarities)]
    transaction.write("index/merge_synonyms", pairs)
