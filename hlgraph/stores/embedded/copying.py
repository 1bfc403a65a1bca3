"""Reads a corpus of the embedded store in pieces of bounded size, for an export or a bulk load, and writes an imported one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from hlgraph.change import About, Change, FactRow, MentionLink, Placement, Support, Synonym
from hlgraph.records import Kind
from hlgraph.stores.batches import batched
from hlgraph.stores.bulk_copies import Arrival, BulkReader, Copies, CorpusWriter, NamedEntity, Relation, check_counts
from hlgraph.stores.embedded.database import ONCE, Database, reading_once
from hlgraph.stores.embedded.derived import EmbeddedDomainStore
from hlgraph.stores.embedded.rows import publish, select
from hlgraph.stores.embedded.sqlite import reading
from hlgraph.subgraph import KINDS

_NODES = 2_500
"""Nodes of the sources that are read together; a larger source is read alone."""
_ROWS = 2_000

_C = "(SELECT c FROM corpus WHERE name = :corpus)"
_SIZED = "SELECT s.n, (SELECT count(*) FROM node AS x WHERE x.source = s.n) FROM node AS s WHERE"
_SIZES = f"{_SIZED} s.c = {_C} AND s.kind = 0 ORDER BY s.key"
_SIZES_AMONG = (
    f"{_SIZED} s.key IN (SELECT hlgraph_key(value) FROM json_each(:among)) AND s.c = {_C} AND s.kind = 0 ORDER BY s.key"
)
_OF_SOURCES = "SELECT value FROM json_each(:sources)"
# The chunks of some sources, in the order of their positions, lead to the links that they assert.
_CHUNKS = f"""
    FROM (SELECT node.n, node.id, node.source, chunk.position FROM node JOIN chunk USING (n)
      WHERE node.kind = 1 AND node.source IN ({_OF_SOURCES})) AS c"""
_IN_ORDER = "ORDER BY c.source, c.position, c.id"
_PLACEMENTS = f"""
    SELECT c.id, s.id, l.ordinal, l.start, l."end", l.details {_CHUNKS}
    CROSS JOIN in_chunk AS l ON l.chunk = c.n CROSS JOIN node AS s ON s.n = l.statement {_IN_ORDER}, l.ordinal, s.id"""
_NAMINGS = f"""
    SELECT c.id, '', t.id, l.name {_CHUNKS}
    CROSS JOIN chunk_topic AS l ON l.chunk = c.n CROSS JOIN node AS t ON t.n = l.topic {_IN_ORDER}, t.id"""
_ABOUTS = f"""
    SELECT c.id, s.id, t.id, '' {_CHUNKS} CROSS JOIN about AS l ON l.chunk = c.n
    CROSS JOIN node AS s ON s.n = l.statement CROSS JOIN node AS t ON t.n = l.topic {_IN_ORDER}"""
_MENTIONS = f"""
    SELECT c.id, s.id, e.id, l.surface, l.kind {_CHUNKS} CROSS JOIN mentions AS l ON l.chunk = c.n
    CROSS JOIN node AS s ON s.n = l.statement CROSS JOIN node AS e ON e.n = l.entity {_IN_ORDER}"""
_SUPPORTS = f"""
    SELECT c.id, s.id, f.id {_CHUNKS} CROSS JOIN supports AS l ON l.chunk = c.n
    CROSS JOIN node AS s ON s.n = l.statement CROSS JOIN node AS f ON f.n = l.fact {_IN_ORDER}"""
_ASSERTED = f"""
    SELECT DISTINCT f.id, s.id, r.predicate, coalesce(o.id, ''), r.complement {_CHUNKS}
    CROSS JOIN supports AS l ON l.chunk = c.n CROSS JOIN node AS f ON f.n = l.fact CROSS JOIN fact AS r ON r.n = f.n
    CROSS JOIN node AS s ON s.n = r.subject LEFT JOIN node AS o ON o.n = r.object"""
_FACTS = f"""
    SELECT node.id, s.id, r.predicate, coalesce(o.id, ''), r.complement FROM node CROSS JOIN fact AS r ON r.n = node.n
    CROSS JOIN node AS s ON s.n = r.subject LEFT JOIN node AS o ON o.n = r.object
    WHERE node.c = {_C} AND node.kind = 4 ORDER BY node.n"""
# Numbers alone are sorted over the whole corpus, and their rows are read in batches.
_BY_ID = f"SELECT n FROM node WHERE c = {_C} AND kind = 5 ORDER BY key"
_SOME = "json_each(:entities) AS w CROSS JOIN node ON node.n = w.value"
_ENTITIES = f"""
    SELECT node.id, r.name, r.kind, a.surface, a.kind, a.mentions FROM {_SOME} CROSS JOIN entity AS r ON r.n = node.n
    LEFT JOIN alias AS a ON a.entity = node.n ORDER BY w.key, a.surface, a.kind"""
_RELATIONS = f"""
    SELECT s.id, o.id, l.predicate, l.facts FROM relates AS l CROSS JOIN node AS s ON s.n = l.subject AND s.c = {_C}
    CROSS JOIN node AS o ON o.n = l.object ORDER BY l.subject, l.object, l.predicate"""
_SYNONYMS = " UNION ALL ".join(
    f"""
    SELECT node.id, o.id, l.similarity FROM {_SOME} CROSS JOIN synonym AS l ON l.{one} = node.n
    CROSS JOIN node AS o ON o.n = l.{other} AND o.id > node.id"""
    for one, other in (("a", "b"), ("b", "a"))
)

_Item = TypeVar("_Item")


class EmbeddedCorpusReader(BulkReader):
    """One corpus of an embedded store; see :class:`hlgraph.stores.bulk_copies.CorpusReader`.

    Nobody writes to the store while it is read.

    Parameters
    ----------
    database : the store
    corpus : name of the corpus
    """

    def __init__(self, database: Database, corpus: str) -> None:
        self._database = database
        self._corpus = corpus

    def sources(self, *, has_facts: bool = True, among: Sequence[str] | None = None) -> Iterator[Change]:
        """See :meth:`CorpusReader.sources`."""
        numbers: list[int] = []
        nodes = 0
        sizes = (
            self._rows(_SIZES, {}) if among is None else self._rows(_SIZES_AMONG, {"among": json.dumps(list(among))})
        )
        for source, size in sizes:
            if numbers and nodes + size > _NODES:
                yield self._slice(numbers, has_facts=has_facts)
                numbers, nodes = [], 0
            numbers.append(source)
            nodes += size
        if numbers:
            yield self._slice(numbers, has_facts=has_facts)

    def _slice(self, sources: list[int], *, has_facts: bool) -> Change:
        values = {"sources": json.dumps(sources)}

        def links(statement: str, make: Callable[[tuple[Any, ...]], _Item]) -> tuple[_Item, ...]:
            return tuple(map(make, self._rows(statement, values)))

        def records(kind: Kind) -> tuple[Any, ...]:
            condition = f"node.kind = {KINDS.index(kind)} AND node.source IN ({_OF_SOURCES})"
            with reading(self._database.path):
                return tuple(select(self._database.reader(), kind, condition=condition, values=values))

        return Change(
            "",
            self._corpus,
            sources=records(Kind.SOURCE),
            chunks=records(Kind.CHUNK),
            topics=records(Kind.TOPIC),
            statements=records(Kind.STATEMENT),
            placements=links(_PLACEMENTS, lambda row: Placement._make((*row[:5], tuple(json.loads(row[5]))))),
            abouts=links(_NAMINGS, About._make) + links(_ABOUTS, About._make),
            mentions=links(_MENTIONS, MentionLink._make),
            supports=links(_SUPPORTS, Support._make),
            facts=links(_ASSERTED, FactRow._make) if has_facts else (),
        )

    def facts(self) -> Iterator[Change]:
        """See :meth:`BulkReader.facts`."""
        for rows in batched(self._rows(_FACTS, {}), _ROWS):
            yield Change("", self._corpus, facts=tuple(map(FactRow._make, rows)))

    def entities(self) -> Iterator[list[NamedEntity]]:
        """See :meth:`CorpusReader.entities`."""
        for some in self._entities():
            groups = itertools.groupby(self._rows(_ENTITIES, some), key=itemgetter(0, 1, 2))
            yield [
                NamedEntity(name, shown, kind, tuple(row[3:] for row in rows if row[3] is not None))
                for (name, shown, kind), rows in groups
            ]

    def _entities(self) -> Iterator[dict[str, str]]:
        for numbers in batched(self._rows(_BY_ID, {}), _ROWS):
            yield {"entities": json.dumps([n for (n,) in numbers])}

    def relations(self) -> Iterator[list[Relation]]:
        """See :meth:`BulkReader.relations`."""
        yield from batched(map(Relation._make, self._rows(_RELATIONS, {})), _ROWS)

    def synonyms(self) -> Iterator[list[Synonym]]:
        """See :meth:`CorpusReader.synonyms`."""
        for some in self._entities():
            yield [Synonym(*row) for row in sorted(self._rows(_SYNONYMS, some))]

    def _rows(self, statement: str, values: dict[str, str]) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement, a few thousand at a time."""
        with reading(self._database.path):
            cursor = reading_once(self._database).execute(statement, {"corpus": self._corpus, **values})
            rows = cursor.fetchmany(_ROWS)
        while rows:
            yield from rows
            with reading(self._database.path):
                rows = cursor.fetchmany(_ROWS)


_NAMES = """
    SELECT name FROM corpus UNION SELECT corpus FROM domain UNION SELECT corpus FROM hold UNION SELECT corpus FROM receipt
    ORDER BY 1"""


class EmbeddedCorpusWriter(CorpusWriter):
    """Writes a corpus in the transaction that the caller holds: nothing of it is visible before the commit.

    Parameters
    ----------
    database : the store
    arrival : the corpus
    """

    def __init__(self, database: Database, arrival: Arrival) -> None:
        self._database = database
        self._arrival = arrival

    def is_there(self) -> bool:
        """See :meth:`CorpusWriter.is_there`."""
        query = "SELECT stamp FROM corpus WHERE name = ?"
        row = self._database.writer().execute(query, (self._arrival.corpus,)).fetchone()
        return row is not None and str(row[0]).startswith(self._arrival.mark)

    def begin(self) -> int:
        """See :meth:`CorpusWriter.begin`. After a kill there is nothing to continue from."""
        arrival, connection = self._arrival, self._database.writer()
        connection.execute(f"PRAGMA cache_size = -{ONCE}")  # it changes more pages than memory should hold
        connection.execute("INSERT OR IGNORE INTO corpus (name, ids) VALUES (?, ?)", (arrival.corpus, arrival.ids))
        packed = None if arrival.calibration is None else msgspec.json.encode(arrival.calibration).decode()
        connection.execute(
            "UPDATE corpus SET version = max(version, ?), ids = ?, embedding = ?, dimensions = ?, calibration = ? WHERE name = ?",
            (arrival.version, arrival.ids, arrival.embedding, arrival.dimensions, packed, arrival.corpus),
        )
        return 0

    def write(self, change: Change, place: int, *, beside: Callable[[], object] = tuple) -> None:  # noqa: ARG002 - begins at 0
        """See :meth:`CorpusWriter.write`."""
        beside()
        with self._database.transaction() as connection:
            publish(connection, change)

    def version(self) -> int:
        """See :meth:`CorpusWriter.version`."""
        query = "SELECT version FROM corpus WHERE name = ?"
        (version,) = self._database.writer().execute(query, (self._arrival.corpus,)).fetchone()
        return int(version)

    def reveal(self, records: Mapping[Kind, int]) -> None:
        """See :meth:`CorpusWriter.reveal`. The caller commits."""
        arrival, connection = self._arrival, self._database.writer()
        (c,) = connection.execute("SELECT c FROM corpus WHERE name = ?", (arrival.corpus,)).fetchone()
        rows = connection.execute("SELECT kind, count(*) FROM node WHERE c = ? GROUP BY kind", (c,))
        check_counts(arrival.corpus, wanted=records, present={KINDS[kind]: number for kind, number in rows})
        # There is no image of an earlier state to patch.
        connection.execute("DELETE FROM image_change WHERE c = ?", (c,))
        connection.execute("UPDATE corpus SET stamp = ? WHERE c = ?", (arrival.new_mark(), c))
        if arrival.domain is not None:
            EmbeddedDomainStore(self._database).write(arrival.corpus, arrival.domain)


class EmbeddedCopies(Copies):
    """Whole corpora of the store in one directory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reader(self, corpus: str) -> EmbeddedCorpusReader:
        """See :meth:`Copies.reader`."""
        return EmbeddedCorpusReader(self._database, corpus)

    def writer(self, arrival: Arrival) -> EmbeddedCorpusWriter:
        """See :meth:`Copies.writer`."""
        return EmbeddedCorpusWriter(self._database, arrival)

    def drop(self, corpus: str) -> None:
        """See :meth:`Copies.drop`. An import that did not end has left nothing."""

    def names(self) -> tuple[str, ...]:
        """See :meth:`Copies.names`."""
        return tuple(name for (name,) in self._database.select("list names", _NAMES, values={}))
