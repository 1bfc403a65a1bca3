"""Reads a corpus of the embedded store out in pieces of bounded size, for a bulk load."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, TypeVar

from hlgraph.change import About, Change, FactRow, MentionLink, Placement, Support, Synonym
from hlgraph.records import Kind
from hlgraph.stores.batches import batched
from hlgraph.stores.bulk_copies import CorpusReader, NamedEntity, Relation
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.rows import select
from hlgraph.stores.embedded.sqlite import reading
from hlgraph.subgraph import KINDS

_NODES = 20_000
"""Nodes of the sources that are read together; a larger source is read alone."""
_ROWS = 20_000

_C = "(SELECT c FROM corpus WHERE name = :corpus)"
_SIZES = f"SELECT source, count(*) FROM node WHERE c = {_C} AND source IS NOT NULL GROUP BY source ORDER BY source"
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
_FACTS = f"""
    SELECT node.id, s.id, r.predicate, coalesce(o.id, ''), r.complement FROM node CROSS JOIN fact AS r ON r.n = node.n
    CROSS JOIN node AS s ON s.n = r.subject LEFT JOIN node AS o ON o.n = r.object
    WHERE node.c = {_C} AND node.kind = 4 ORDER BY node.n"""
_ENTITIES = f"""
    SELECT node.id, r.name, r.kind, a.surface, a.kind, a.mentions FROM node CROSS JOIN entity AS r ON r.n = node.n
    LEFT JOIN alias AS a ON a.entity = node.n
    WHERE node.c = {_C} AND node.kind = 5 ORDER BY node.n, a.surface, a.kind"""
_RELATIONS = f"""
    SELECT s.id, o.id, l.predicate, l.facts FROM relates AS l CROSS JOIN node AS s ON s.n = l.subject AND s.c = {_C}
    CROSS JOIN node AS o ON o.n = l.object ORDER BY l.subject, l.object, l.predicate"""
_SYNONYMS = f"""
    SELECT min(a.id, b.id), max(a.id, b.id), l.similarity FROM synonym AS l CROSS JOIN node AS a ON a.n = l.a AND a.c = {_C}
    CROSS JOIN node AS b ON b.n = l.b ORDER BY l.a, l.b"""

_Item = TypeVar("_Item")


class EmbeddedCorpusReader(CorpusReader):
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

    def sources(self) -> Iterator[Change]:
        """See :meth:`CorpusReader.sources`."""
        numbers: list[int] = []
        nodes = 0
        for source, size in self._rows(_SIZES, {}):
            if numbers and nodes + size > _NODES:
                yield self._slice(numbers)
                numbers, nodes = [], 0
            numbers.append(source)
            nodes += size
        if numbers:
            yield self._slice(numbers)

    def _slice(self, sources: list[int]) -> Change:
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
        )

    def facts(self) -> Iterator[Change]:
        """See :meth:`CorpusReader.facts`."""
        for rows in batched(self._rows(_FACTS, {}), _ROWS):
            yield Change("", self._corpus, facts=tuple(map(FactRow._make, rows)))

    def entities(self) -> Iterator[list[NamedEntity]]:
        """See :meth:`CorpusReader.entities`."""
        groups = itertools.groupby(self._rows(_ENTITIES, {}), key=itemgetter(0, 1, 2))
        entities = (
            NamedEntity(name, shown, kind, tuple(row[3:] for row in rows if row[3] is not None))
            for (name, shown, kind), rows in groups
        )
        yield from batched(entities, _ROWS)

    def relations(self) -> Iterator[list[Relation]]:
        """See :meth:`CorpusReader.relations`."""
        yield from batched(map(Relation._make, self._rows(_RELATIONS, {})), _ROWS)

    def synonyms(self) -> Iterator[list[Synonym]]:
        """See :meth:`CorpusReader.synonyms`."""
        yield from batched(map(Synonym._make, self._rows(_SYNONYMS, {})), _ROWS)

    def _rows(self, statement: str, values: dict[str, str]) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement, a few thousand at a time."""
        with reading(self._database.path):
            cursor = self._database.reader().execute(statement, {"corpus": self._corpus, **values})
            rows = cursor.fetchmany(_ROWS)
        while rows:
            yield from rows
            with reading(self._database.path):
                rows = cursor.fetchmany(_ROWS)
