"""The graph of one version of one corpus: nodes and relationships as arrays in memory, or in mapped files if it is large.

Nodes are numbered in the order of their ids; a relationship is loaded when it is first needed. A pull reads only the rows
of the nodes that it visits, so that its cost depends on its shape and not on the size of a graph in files.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Relationship
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.graph_files import GraphFiles, Pairs
from hlgraph.stores.embedded.links import Links, NeighbourCheck, blocks, in_memory, strongest
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.matching import MENTIONED, matched
from hlgraph.stores.protocols import Matched, MatchQuery, PullShape, Scope
from hlgraph.subgraph import KINDS, Csr, Subgraph

LEAST_NODES = 50_000
"""Minimum number of nodes before a graph is kept in files; a smaller one takes a few megabytes of memory."""
NO_SOURCE = -1
"""The source of a node that belongs to no single source: of a fact or an entity."""

_log = logging.getLogger(__name__)
_ROW = np.dtype([("n", "<i8"), ("kind", "u1"), ("source", "<i8"), ("id", "S32")])
_BATCH = 20_000
_FIELDS = {"ids": "S32", "kinds": "u1", "sources": "<i4", "places": "<i4"}


class Nodes(NamedTuple):
    """The nodes of a corpus, in the order of their ids.

    Attributes
    ----------
    ids : shape (n,), bytes of length 32
    kinds : shape (n,), indices into KINDS
    sources : shape (n,), the node of each node's source, or ``NO_SOURCE``
    places : the node with each database number; -1 for a number outside this corpus
    """

    ids: NDArray[np.bytes_]
    kinds: NDArray[np.uint8]
    sources: NDArray[np.int32]
    places: NDArray[np.int32]

    def at(self, ids: Iterable[str]) -> NDArray[np.int64]:
        """The nodes with these ids, ascending and distinct; unknown ids are left out."""
        wanted = np.unique(np.array([item.encode() for item in ids], dtype=np.bytes_))
        if not len(self.ids) or not len(wanted):
            return np.empty(0, dtype=np.int64)
        # Give both the same item size: otherwise numpy copies all ids to compare them.
        wanted = wanted[np.char.str_len(wanted) <= self.ids.itemsize].astype(self.ids.dtype)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        found: NDArray[np.int64] = at[self.ids[at] == wanted]
        return found

    def numbers(self) -> NDArray[np.int64]:
        """The database number of each node, in linear time."""
        found = np.empty(len(self.ids), dtype=np.int64)
        there = np.flatnonzero(self.places >= 0)
        found[self.places[there]] = there
        return found


def read_nodes(connection: sqlite3.Connection, c: int) -> Nodes:
    """All nodes of a corpus, in memory.

    Parameters
    ----------
    connection : connection to read with
    c : number of the corpus
    """
    parts = list(_rows(connection, c))
    table = np.concatenate(parts) if parts else np.empty(0, dtype=_ROW)
    places = np.full(int(table["n"].max()) + 1 if len(table) else 1, -1, dtype=np.int32)
    places[table["n"]] = np.arange(len(table))
    return Nodes(table["id"].copy(), table["kind"].copy(), _sources(table, places), places)


def write_nodes(files: GraphFiles, connection: sqlite3.Connection, *, c: int) -> None:
    """Writes all nodes of a corpus to files, a block at a time.

    ``places`` appears last: once it exists, the nodes are complete.

    Parameters
    ----------
    files : files to write
    connection : connection to read with
    c : number of the corpus
    """
    files.write("nodes", _rows(connection, c))
    table = files.mapped("nodes", _ROW)
    most = connection.execute("SELECT coalesce(max(n), 0) FROM node WHERE c = ?", (c,)).fetchone()[0]
    with files.filling("places", "<i4", size=most + 1) as places:
        places[:] = -1
        for first, block in _cut(table):
            places[block["n"]] = np.arange(first, first + len(block))
        files.write("ids", (block["id"] for _, block in _cut(table)))
        files.write("kinds", (block["kind"] for _, block in _cut(table)))
        files.write("sources", (_sources(block, places) for _, block in _cut(table)))
    files.remove("nodes")


def map_nodes(files: GraphFiles) -> Nodes | None:
    """The nodes that :func:`write_nodes` wrote, mapped; None where they are not there."""
    found = [files.array(name, dtype) for name, dtype in _FIELDS.items()]
    return None if any(item is None for item in found) else Nodes(*found)  # type: ignore[arg-type]


def _rows(connection: sqlite3.Connection, c: int) -> Iterator[NDArray[np.void]]:
    rows = connection.execute("SELECT n, kind, coalesce(source, 0), id FROM node WHERE c = ? ORDER BY id", (c,))
    while batch := rows.fetchmany(_BATCH):
        yield np.array(batch, dtype=_ROW)


def _cut(table: NDArray[np.void]) -> Iterator[tuple[int, NDArray[np.void]]]:
    for first in range(0, len(table), _BATCH):
        yield first, table[first : first + _BATCH]


def _sources(table: NDArray[np.void], places: NDArray[np.int32]) -> NDArray[np.int32]:
    """The node of each row's source. No node has the database number 0."""
    found: NDArray[np.int32] = places[table["source"]]
    return found


# Start, end, weight; each pair once. One end of each link is checked against the corpus; the other end shares its corpus.
_EDGES = {
    Relationship.FROM_SOURCE: "SELECT n, source, 1 FROM node WHERE c = :c AND kind = 1",
    Relationship.NEXT: """
        SELECT a.n, b.n, 1 FROM node AS x JOIN chunk AS a ON a.n = x.n JOIN node AS y ON y.source = x.source AND y.kind = 1
        JOIN chunk AS b ON b.n = y.n AND b.position = a.position + 1 WHERE x.c = :c AND x.kind = 1""",
    Relationship.IN_CHUNK: """
        SELECT statement, chunk, 1 FROM in_chunk JOIN node ON n = chunk WHERE c = :c
        UNION ALL SELECT topic, chunk, 1 FROM chunk_topic JOIN node ON n = chunk WHERE c = :c""",
    Relationship.ABOUT: "SELECT DISTINCT statement, topic, 1 FROM about JOIN node ON n = chunk WHERE c = :c",
    Relationship.MENTIONS: "SELECT DISTINCT statement, entity, 1 FROM mentions JOIN node ON n = chunk WHERE c = :c",
    Relationship.SUPPORTS: "SELECT DISTINCT fact, statement, 1 FROM supports JOIN node ON n = chunk WHERE c = :c",
    Relationship.SUBJECT: "SELECT subject, n, 1 FROM fact JOIN node USING (n) WHERE c = :c",
    Relationship.OBJECT: "SELECT object, n, 1 FROM fact JOIN node USING (n) WHERE c = :c AND object IS NOT NULL",
    Relationship.RELATES: """
        SELECT subject, object, sum(facts) FROM relates JOIN node ON n = subject WHERE c = :c GROUP BY subject, object""",
    Relationship.CO_OCCURS: "SELECT a, b, chunks FROM co_occurs JOIN node ON n = a WHERE c = :c",
    Relationship.SYNONYM: "SELECT a, b, similarity FROM synonym JOIN node ON n = a WHERE c = :c",
    Relationship.SAME_AS: "SELECT alias, canonical, 1 FROM decision JOIN node ON n = alias WHERE c = :c AND verdict = 'same'",
}
_EVEN = frozenset(_EDGES) - {Relationship.RELATES, Relationship.CO_OCCURS, Relationship.SYNONYM}  # every weight is 1
# The data behind each derived relationship, for a pull under a filter, which may see only what visible sources assert.
# It is counted as in publish.sql: one row per fact, and the first 100 entities of a chunk.
_DERIVED = {
    Relationship.RELATES: """
        SELECT f.subject, f.object, count(DISTINCT s.statement) FROM supports AS s JOIN fact AS f ON f.n = s.fact
        JOIN node AS x ON x.n = s.chunk WHERE x.c = :c AND f.object IS NOT NULL AND x.source IN ({sources}) GROUP BY f.n""",
    Relationship.CO_OCCURS: """
        SELECT chunk, entity, 1 FROM (
          SELECT m.chunk, m.entity, row_number() OVER (PARTITION BY m.chunk ORDER BY count(*) DESC, e.id) AS place
          FROM mentions AS m JOIN node AS x ON x.n = m.chunk JOIN node AS e ON e.n = m.entity
          WHERE x.c = :c AND x.source IN ({sources}) GROUP BY m.chunk, m.entity) WHERE place <= 100""",
}


class OutdatedError(Exception):
    """The corpus has a newer version, which must be loaded instead."""


class Adjacency:
    """The graph of one version of one corpus. Thread-safe once it is loaded.

    Parameters
    ----------
    database : database of the store
    corpus : name of the corpus
    version : version of the corpus
    """

    def __init__(self, database: Database, corpus: str, *, version: int) -> None:
        self.version = version
        self._database = database
        self._corpus = corpus
        self._c = 0
        self._nodes: Nodes | None = None
        self._links: dict[Relationship, Links] = {}

    def load(self, relationships: Iterable[Relationship], *, is_in_files: bool = True) -> None:
        """Loads the nodes and these relationships from one state of the database, unless they are loaded already.

        Parameters
        ----------
        relationships : relationships to load
        is_in_files : whether a large graph may be kept in files

        Raises
        ------
        OutdatedError
            The corpus has changed since this version.
        """
        missing = [item for item in sorted(relationships) if item in _EDGES and item not in self._links]
        if self._nodes is not None and not missing:
            return
        connection = self._database.reader()
        self._c = self._present(connection)
        if is_in_files and self._is_large(connection):
            files = GraphFiles(self._database, self._c, version=self.version)
            if self._has_mapped(files, missing):
                return
            try:
                with files.making(), self._state(connection):
                    self._write(files, missing, connection)
            except OSError as error:
                _log.info("the graph of corpus %s is kept in memory: %s", self._corpus, error)
            if self._has_mapped(files, missing):
                return
        with self._state(connection):
            if self._nodes is None:
                self._nodes = read_nodes(connection, self._c)
            for item in missing:
                links = in_memory(self._matrix(connection.execute(_EDGES[item], {"c": self._c})))
                self._links[item] = links._replace(is_even=item in _EVEN)

    def _present(self, connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT c, version FROM corpus WHERE name = ?", (self._corpus,)).fetchone()
        if row is None or row[1] != self.version:
            raise OutdatedError
        return int(row[0])

    @contextlib.contextmanager
    def _state(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Runs a block on one state of the database, that of this version."""
        connection.execute("BEGIN")
        try:
            self._present(connection)
            yield
        finally:
            connection.execute("COMMIT")

    def _is_large(self, connection: sqlite3.Connection) -> bool:
        if self._nodes is not None:
            return len(self._nodes.ids) >= LEAST_NODES
        rows = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM node WHERE c = ? LIMIT ?)", (self._c, LEAST_NODES)
        )
        return bool(rows.fetchone()[0] >= LEAST_NODES)

    def _has_mapped(self, files: GraphFiles, missing: Sequence[Relationship]) -> bool:
        """Maps the files that exist; returns whether nothing is missing."""
        if self._nodes is None:
            self._nodes = map_nodes(files)
        if self._nodes is None:
            return False
        for item in missing:
            links = files.links(item, len(self._nodes.ids))
            if links is not None:
                self._links[item] = links._replace(is_even=item in _EVEN)
        return all(item in self._links for item in missing)

    def _write(self, files: GraphFiles, missing: Sequence[Relationship], connection: sqlite3.Connection) -> None:
        if map_nodes(files) is None:
            write_nodes(files, connection, c=self._c)
        self._nodes = self._nodes or map_nodes(files)
        if self._nodes is None:
            raise FileNotFoundError(files.folder)
        for item in missing:
            if files.links(item, len(self._nodes.ids)) is None:
                rows = self._placed(connection.execute(_EDGES[item], {"c": self._c}))
                files.write_links(item, rows, size=len(self._nodes.ids))

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """Breadth-first search from the seeds; call :meth:`load` with the relationships of :func:`needed` first.

        Parameters
        ----------
        seeds : ids of the nodes to start from
        shape : relationships, kinds and bounds
        scope : corpus and sources that may be seen
        """
        nodes = self._held()
        may = self._check(shape, scope)
        edges = {item: self._scoped(item, scope) for item in sorted(shape.relationships) if item in _EDGES}
        frontier = nodes.at(seeds)
        frontier = frontier[may(frontier)]
        is_cut = len(frontier) > shape.node_cap
        frontier = reached = frontier[: shape.node_cap]
        for _ in range(shape.hops):
            found, was_cut = strongest(
                list(edges.values()),
                frontier,
                fan_out=shape.fan_out,
                may=lambda at, seen=reached: ~_among(at, seen) & may(at),  # type: ignore[misc]
            )
            room = shape.node_cap - len(reached)
            is_cut = is_cut or was_cut or len(found) > room
            frontier = found[:room]
            if not len(frontier):
                break
            reached = np.union1d(reached, frontier)
        inside = {item: links.induced(reached) for item, links in edges.items()}
        return Subgraph(nodes.ids[reached].astype("<U32"), np.array(nodes.kinds[reached]), inside, self.version, is_cut)

    def whole(self, shape: PullShape, *, scope: Scope) -> Subgraph:
        """All nodes of some kinds in a scope, and all edges between them; call :meth:`load` first.

        Parameters
        ----------
        shape : kinds and relationships; its bounds are ignored
        scope : corpus and sources that may be seen
        """
        nodes = self._held()
        at = np.flatnonzero(self._check(shape, scope)(np.arange(len(nodes.ids))))
        inside = {item: self._scoped(item, scope).induced(at) for item in sorted(shape.relationships) if item in _EDGES}
        return Subgraph(nodes.ids[at].astype("<U32"), np.array(nodes.kinds[at]), inside, self.version)

    def match(self, query: MatchQuery, *, scope: Scope) -> list[Matched]:
        """Statements by the number of names that they mention; call :meth:`load` with MENTIONS first.

        Time and memory are linear in the statements that mention a name, of the largest hub one number a statement.

        Parameters
        ----------
        query : names and bounds
        scope : corpus and sources that may be seen
        """
        nodes = self._held()
        back = self._links[Relationship.MENTIONS].back
        parts = [np.unique(back.of(nodes.at(name)).target) for name in query.names]
        found, counts = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]), return_counts=True)
        may = self._check(MENTIONED, scope)(found)
        if query.among is not None:
            may &= _among(found, nodes.at(query.among))
        return matched(nodes.ids[found[may]], counts[may], query=query)

    def count(self, relationships: Iterable[Relationship]) -> int:
        """The total number of links of these relationships."""
        return sum(len(self._links[item].there.targets) for item in relationships if item in self._links)

    def _held(self) -> Nodes:
        if self._nodes is None:
            raise OutdatedError
        return self._nodes

    def _check(self, shape: PullShape, scope: Scope) -> NeighbourCheck:
        """Tells which nodes may be entered: nodes of the wanted kinds that belong to a source in the scope.

        Facts and entities have no source: they may be entered if a statement of such a source asserts them.
        """
        nodes = self._held()
        is_kind = np.zeros(len(KINDS), dtype=bool)
        is_kind[[KINDS.index(kind) for kind in shape.kinds]] = True
        query, values = self._source_query(scope)
        if not query:
            return lambda at: is_kind[nodes.kinds[at]]
        rows = np.array([n for (n,) in self._database.reader().execute(query, values)], dtype=np.int64)
        allowed = np.sort(nodes.places[rows[rows < len(nodes.places)]])

        def may(at: NDArray[np.int64]) -> NDArray[np.bool_]:
            is_wanted = is_kind[nodes.kinds[at]]
            sources = nodes.sources[at]
            found = is_wanted & _among(sources, allowed)
            is_shared = is_wanted & (sources == NO_SOURCE)
            found[is_shared] = self._is_asserted(at[is_shared], allowed)
            return found

        return may

    def _is_asserted(self, at: NDArray[np.int64], allowed: NDArray[np.int32]) -> NDArray[np.bool_]:
        found = np.zeros(len(at), dtype=bool)
        for way in (self._links[Relationship.MENTIONS].back, self._links[Relationship.SUPPORTS].there):
            for first, last in blocks(way.counts(at)):
                some = way.of(at[first:last])
                is_inside = _among(self._held().sources[some.target], allowed)
                found[first + some.owner[is_inside]] = True
        return found

    def _source_query(self, scope: Scope) -> tuple[str, dict[str, str | int | float]]:
        """An SQL query for the numbers of the sources in the scope; empty if all sources are visible."""
        conditions: list[str] = []
        values: dict[str, str | int | float] = {}
        if scope.where is not None:
            condition, values = to_sql(scope.where)
            conditions.append(condition)
        if scope.sources is not None:
            conditions.append("source.id IN (SELECT value FROM json_each(:sources))")
            values = {**values, "sources": json.dumps(list(scope.sources))}
        if not conditions:
            return "", {}
        rows = "SELECT node.n, node.id, r.uri, r.title, r.metadata FROM source AS r JOIN node USING (n) WHERE node.c = :scope_c"
        return (
            f"SELECT source.n FROM ({rows}) AS source WHERE {' AND '.join(conditions)}",
            {**values, "scope_c": self._c},
        )

    def _scoped(self, relationship: Relationship, scope: Scope) -> Links:
        """The links of a relationship in a scope; under a filter, a derived relationship is counted again in memory."""
        query, values = self._source_query(scope)
        if not query or relationship not in _DERIVED:
            return self._links[relationship]
        rows = self._database.reader().execute(_DERIVED[relationship].format(sources=query), {**values, "c": self._c})
        found = self._matrix(rows)
        return in_memory(self._pairs(found) if relationship is Relationship.CO_OCCURS else found)

    def _pairs(self, mentions: Csr) -> Csr:
        """The number of common chunks of each pair of entities, as in the table ``co_occurs``, from chunk x entity."""
        both = sp.coo_array(mentions.T @ mentions)
        numbers = self._held().numbers()
        keep = numbers[both.row] < numbers[both.col]
        return sp.csr_array((both.data[keep], (both.row[keep], both.col[keep])), shape=both.shape)

    def _matrix(self, rows: sqlite3.Cursor) -> Csr:
        size = len(self._held().ids)
        parts = list(self._placed(rows))
        if not parts:
            return sp.csr_array((size, size), dtype=np.float32)
        a, b, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sp.csr_array((weights, (a, b)), shape=(size, size))

    def _placed(self, rows: sqlite3.Cursor) -> Iterator[Pairs]:
        """Links from rows of the database, with node positions instead of database numbers."""
        places = self._held().places
        while batch := rows.fetchmany(_BATCH):
            table = np.array(batch, dtype=np.float64)
            ends = table[:, :2].astype(np.int64)
            is_known = (ends < len(places)).all(axis=1)  # other nodes are newer than this version
            a, b = places[ends[is_known, 0]], places[ends[is_known, 1]]
            both = (a >= 0) & (b >= 0)
            yield a[both], b[both], table[is_known, 2][both].astype(np.float32)


def needed(shape: PullShape, scope: Scope) -> frozenset[Relationship]:
    """The relationships that a pull reads: those of its shape, and under a filter those that show what is asserted.

    Parameters
    ----------
    shape : shape of the pull
    scope : scope of the pull
    """
    if scope.where is None and scope.sources is None:
        return shape.relationships
    return shape.relationships | {Relationship.MENTIONS, Relationship.SUPPORTS}


def nothing(shape: PullShape) -> Subgraph:
    """The empty subgraph, for a corpus that does not exist."""
    none = sp.csr_array((0, 0), dtype=np.float32)
    return Subgraph(np.empty(0, "<U32"), np.empty(0, np.uint8), dict.fromkeys(shape.relationships, none))


def _among(values: NDArray[np.integer], held: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which values occur in ``held``, which is ascending."""
    if not len(held):
        return np.zeros(len(values), dtype=bool)
    found: NDArray[np.bool_] = held[np.minimum(np.searchsorted(held, values), len(held) - 1)] == values
    return found
