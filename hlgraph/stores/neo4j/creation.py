"""Writes a change of new sources: their records are created, and joined by the integers of the server's element ids.

Looking both ends of a relationship up by their keys, and whether it is there, is most of the cost of MERGE. Nothing of a new
source is in the graph, so its records need neither. Entities and facts belong to the whole corpus: each is looked up once.

The integers hold within the transaction that publishes the change, and are forgotten with it. A crash leaves all of the change
or nothing: a change that is published again after a crash finds nothing of its sources, and creates them once.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hlgraph.change import Change
from hlgraph.records import Kind
from hlgraph.stores.neo4j import rows
from hlgraph.stores.neo4j.counts import name_changes, name_rows, said_by
from hlgraph.stores.neo4j.server import Row, Transaction, Value

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
    owners = {item.source_id for found in (change.chunks, change.topics, change.statements) for item in found}
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
        topics = self._create("topics", _named(rows.topic_rows(change), change))
        statements = self._create("statements", rows.statement_rows(change))
        entities, new_entities = self._entities(mentions)
        self._place(chunks, topics, statements)
        self._link("mentions", statements, entities, _values(mentions, "statement_id", "entity_id"))
        new_facts = self._facts(entities, statements)
        found = {Kind.SOURCE: sources, Kind.CHUNK: chunks, Kind.TOPIC: topics, Kind.STATEMENT: statements}
        return {kind: len(item) for kind, item in found.items()} | {Kind.ENTITY: new_entities, Kind.FACT: new_facts}

    def _sources(self) -> Numbers:
        found = self._transaction.collect("persist/create_sources", rows.source_rows(self._change), key="rows")
        elements = {str(row["id"]): str(row["element"]).rpartition(":") for row in found}
        self._prefix = next(before + colon for before, colon, _ in elements.values())
        return {name: int(number) for name, (_, _, number) in elements.items()}

    def _chunks(self, sources: Numbers) -> Numbers:
        found = [{**row, "source_number": sources[str(row["source"])]} for row in rows.chunk_rows(self._change)]
        chunks = self._create("chunks", found, prefix=self._prefix)
        following: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for item in self._change.chunks:
            following[item.source_id].append((item.position, item.id))
        pairs = [
            (one, other, ())
            for name in sorted(following)
            for (_, one), (_, other) in itertools.pairwise(sorted(following[name]))
        ]
        self._link("next_chunks", chunks, chunks, pairs)
        return chunks

    def _entities(self, mentions: list[Row]) -> tuple[Numbers, int]:
        """All entities of the change, and how many of them are new; their names are counted."""
        names = sorted(set(self._change.entities))
        held = self._find("entities", names)
        changes = name_changes((), said_by(mentions))
        stored = self._transaction.collect(
            "index/read_names", [name for name in names if name in held and name in changes]
        )
        self._transaction.write("index/write_names", name_rows(stored, changes))
        nothing = Counter[tuple[str, str]]()
        empty: list[Row] = [
            {"id": name, "surfaces": [], "kinds": [], "counts": []} for name in names if name not in held
        ]
        made = self._create("entities", name_rows(empty, {name: changes.get(name, nothing) for name in names}))
        return {**held, **made}, len(made)

    def _place(self, chunks: Numbers, topics: Numbers, statements: Numbers) -> None:
        """IN_CHUNK and ABOUT."""
        placed = rows.placement_rows(self._change)
        self._link("placements", statements, chunks, _values(placed, "statement_id", "chunk_id"))
        named = rows.naming_rows(self._change)
        self._link("namings", topics, chunks, _values(named, "topic_id", "chunk_id"))
        self._link("abouts", statements, topics, _values(rows.about_rows(self._change), "statement_id", "topic_id"))

    def _facts(self, entities: Numbers, statements: Numbers) -> int:
        """Facts with all their relationships; returns how many facts are new."""
        change, transaction = self._change, self._transaction
        found = rows.fact_rows(change)
        held = self._find("facts", [str(row["id"]) for row in found])
        new = [row for row in found if row["id"] not in held]
        known = [{**row, "subject": entities[str(row["subject_id"])]} for row in new if row["subject_id"] in entities]
        made = self._create("facts", known, prefix=self._prefix)
        supports = rows.support_rows(change)
        self._link("supports", {**held, **made}, statements, _values(supports, "fact_id", "statement_id"))
        objects = {str(row["id"]): str(row["object_id"]) for row in rows.object_rows(change)}
        pairs = [(objects[name], name, ()) for name in sorted(made) if name in objects]
        self._link("objects", entities, made, pairs)
        counted = Counter(str(row["fact_id"]) for row in supports)
        relations = {
            (str(row["subject_id"]), objects[str(row["id"])], str(row["predicate"])): counted[str(row["id"])]
            for row in known
            if row["id"] in objects and counted[str(row["id"])]
        }
        self._link(
            "relations", entities, entities, [(a, b, (word, facts)) for (a, b, word), facts in relations.items()]
        )
        if held:  # facts of older sources, which get more statements
            transaction.write("persist/merge_facts", [row for row in found if row["id"] in held], corpus=change.corpus)
            transaction.write("persist/link_objects", [row for row in rows.object_rows(change) if row["id"] in held])
            transaction.write("index/count_relations", sorted(held.keys() & counted), key="fact_ids")
        return len(made)

    def _find(self, name: str, ids: list[str]) -> Numbers:
        return _numbers(self._transaction.collect(f"persist/find_{name}", ids))

    def _create(self, name: str, found: Sequence[Row], **params: Value) -> Numbers:
        made = self._transaction.collect(
            f"persist/create_{name}", found, key="rows", corpus=self._change.corpus, **params
        )
        return _numbers(made)

    def _link(
        self, name: str, starts: Numbers, ends: Numbers, found: Iterable[tuple[str, str, Sequence[Value]]]
    ) -> None:
        """Creates relationships: ends by id, then their values; those of a record that the change does not have are left out."""
        made = [[starts[a], ends[b], *values] for a, b, values in found if a in starts and b in ends]
        self._transaction.write(f"persist/create_{name}", made, prefix=self._prefix)


def _numbers(found: Iterable[Row]) -> Numbers:
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
    return [{**row, "name": _most(used.get(str(row["id"]), {}), str(row["name"]))} for row in topics]


def _most(counts: Mapping[str, int], otherwise: str) -> str:
    return min(counts, key=lambda name: (-counts[name], name), default=otherwise)
