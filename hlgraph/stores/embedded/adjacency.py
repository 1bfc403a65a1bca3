"""The graph of one corpus in memory, as CSR matrices: made at the first pull after a change, one a relationship."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Kind, Relationship
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.protocols import PullShape, Scope
from hlgraph.subgraph import KINDS, Csr, Subgraph, block, entries

# From, to, weight. Every link is anchored on one node of the corpus; the other end is in the same corpus by construction.
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
    Relationship.RELATES: "SELECT subject, object, facts FROM relates JOIN node ON n = subject WHERE c = :c",
    Relationship.CO_OCCURS: "SELECT a, b, chunks FROM co_occurs JOIN node ON n = a WHERE c = :c",
    Relationship.SYNONYM: "SELECT a, b, similarity FROM synonym JOIN node ON n = a WHERE c = :c",
}
# What each derived relationship is derived from, for a pull under a filter: only what visible sources assert may be seen,
# and it is counted as publish.sql counts it, a fact a row and the first hundred entities of a chunk.
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
_ASSERTED = """
    SELECT entity FROM mentions JOIN node ON node.n = mentions.chunk WHERE node.source IN ({sources})
    UNION SELECT fact FROM supports JOIN node ON node.n = supports.chunk WHERE node.source IN ({sources})"""
_BATCH = 100_000


class Adjacency:
    """One version of one corpus: nodes in the order of their ids, relationships loaded when first needed."""

    def __init__(self, database: Database, corpus: str, *, version: int) -> None:
        self.version = version
        self._database = database
        connection = database.reader()
        row = connection.execute("SELECT c FROM corpus WHERE name = ?", (corpus,)).fetchone()
        self._c: int = row[0] if row else 0
        rows = connection.execute(
            "SELECT n, kind, coalesce(source, 0), id FROM node WHERE c = ? ORDER BY id", (self._c,)
        ).fetchall()
        self._n = np.array([item[0] for item in rows], dtype=np.int64)
        self._kinds = np.array([item[1] for item in rows], dtype=np.uint8)
        self._sources = np.array([item[2] for item in rows], dtype=np.int64)
        self._ids: NDArray[np.str_] = np.array([item[3] for item in rows], dtype="<U32")
        self._place = np.full(int(self._n.max()) + 1 if len(rows) else 1, -1, dtype=np.int64)
        self._place[self._n] = np.arange(len(rows))
        self._edges: dict[Relationship, Csr] = {}
        self._both: dict[Relationship, Csr] = {}

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """Breadth-first search from the seeds within shape and scope."""
        may = self._visible(shape, scope)
        edges = {item: self._scoped(item, scope) for item in sorted(shape.relationships) if item in _EDGES}
        both = [self._symmetric(item, matrix) for item, matrix in edges.items()]
        wanted = np.unique(np.asarray(list(seeds), dtype=np.str_))
        at = np.minimum(np.searchsorted(self._ids, wanted), max(len(self._ids) - 1, 0))
        frontier = at[self._ids[at] == wanted] if len(self._ids) else at[:0]
        frontier = frontier[may[frontier]]
        is_cut = len(frontier) > shape.node_cap
        reached = frontier[: shape.node_cap]
        is_seen = np.zeros(len(self._ids), dtype=bool)
        is_seen[reached] = True
        frontier = reached
        for _ in range(shape.hops):
            found, was_cut = _expand(both, frontier, may & ~is_seen, shape.fan_out)
            room = shape.node_cap - len(reached)
            is_cut = is_cut or was_cut or len(found) > room
            frontier = found[:room]
            if not len(frontier):
                break
            is_seen[frontier] = True
            reached = np.concatenate([reached, frontier])
        reached = np.sort(reached)
        inside = {item: block(matrix, reached, columns=reached) for item, matrix in edges.items()}
        return Subgraph(self._ids[reached], self._kinds[reached], inside, self.version, is_cut)

    def whole(self, shape: PullShape, *, scope: Scope) -> Subgraph:
        """All nodes of the kinds of a shape that the scope admits, and all edges between them."""
        nodes = np.flatnonzero(self._visible(shape, scope))
        inside = {
            item: block(self._scoped(item, scope), nodes, columns=nodes)
            for item in sorted(shape.relationships)
            if item in _EDGES
        }
        return Subgraph(self._ids[nodes], self._kinds[nodes], inside, self.version)

    def _visible(self, shape: PullShape, scope: Scope) -> NDArray[np.bool_]:
        """Which nodes may be entered: of the kinds asked for, and of a source in the scope (or of none)."""
        wanted = np.zeros(len(KINDS), dtype=bool)
        wanted[[KINDS.index(kind) for kind in shape.kinds]] = True
        may: NDArray[np.bool_] = wanted[self._kinds]
        query, values = self._source_query(scope)
        if query:
            allowed = [n for (n,) in self._database.reader().execute(query, values)]
            asserted = [n for (n,) in self._database.reader().execute(_ASSERTED.format(sources=query), values)]
            has_source = ~np.isin(self._kinds, [KINDS.index(Kind.FACT), KINDS.index(Kind.ENTITY)])
            may &= np.where(has_source, np.isin(self._sources, allowed), np.isin(self._n, asserted))
        return may

    def _source_query(self, scope: Scope) -> tuple[str, dict[str, str | int | float]]:
        """The sources of the scope as a query for their numbers; empty when all are visible."""
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

    def _scoped(self, relationship: Relationship, scope: Scope) -> Csr:
        query, values = self._source_query(scope)
        if not query or relationship not in _DERIVED:
            return self._load(relationship)
        rows = self._database.reader().execute(_DERIVED[relationship].format(sources=query), {**values, "c": self._c})
        found = self._matrix(rows)
        return self._pairs(found) if relationship is Relationship.CO_OCCURS else found

    def _pairs(self, mentions: Csr) -> Csr:
        """From chunk x entity to the number of chunks of each two entities, as the table ``co_occurs`` has them."""
        both = sp.coo_array(mentions.T @ mentions)
        keep = self._n[both.row] < self._n[both.col]
        return sp.csr_array((both.data[keep], (both.row[keep], both.col[keep])), shape=both.shape)

    def _symmetric(self, relationship: Relationship, matrix: Csr) -> Csr:
        """Both directions; kept for the whole graph, made anew for the part that a filter admits."""
        is_whole = matrix is self._edges.get(relationship)
        if is_whole and relationship in self._both:
            return self._both[relationship]
        both = sp.csr_array(matrix + matrix.T)
        if is_whole:
            self._both[relationship] = both
        return both

    def _load(self, relationship: Relationship) -> Csr:
        found = self._edges.get(relationship)
        if found is None:
            rows = self._database.reader().execute(_EDGES[relationship], {"c": self._c})
            found = self._edges[relationship] = self._matrix(rows)
        return found

    def _matrix(self, rows: sqlite3.Cursor) -> Csr:
        parts: list[NDArray[np.float64]] = []
        while batch := rows.fetchmany(_BATCH):
            parts.append(np.array(batch, dtype=np.float64))
        table = np.concatenate(parts) if parts else np.empty((0, 3))
        size = len(self._ids)
        ends = table[:, :2].astype(np.int64)
        inside = (ends < len(self._place)).all(axis=1)  # a node younger than this view, written since it was made
        a, b = self._place[ends[inside, 0]], self._place[ends[inside, 1]]
        both = (a >= 0) & (b >= 0)
        weights = table[inside, 2][both].astype(np.float32)
        return sp.csr_array((weights, (a[both], b[both])), shape=(size, size))


def nothing(shape: PullShape) -> Subgraph:
    """The subgraph of a corpus that is not there."""
    none = sp.csr_array((0, 0), dtype=np.float32)
    return Subgraph(np.empty(0, "<U32"), np.empty(0, np.uint8), dict.fromkeys(shape.relationships, none))


def _expand(
    matrices: Sequence[Csr], frontier: NDArray[np.int64], may: NDArray[np.bool_], fan_out: int
) -> tuple[NDArray[np.int64], bool]:
    """Neighbours that may be entered, at most ``fan_out`` of each node: heaviest first, then in the order of ids."""
    if not len(frontier) or not matrices:
        return frontier[:0], False
    found = [entries(matrix, frontier) for matrix in matrices]
    owner = np.concatenate([item.owner for item in found])
    target = np.concatenate([item.columns for item in found])
    weight = np.concatenate([item.values for item in found])
    keep = may[target]
    owner, target, weight = owner[keep], target[keep], weight[keep]
    if np.bincount(owner, minlength=1).max() <= fan_out:  # the usual case: nothing to choose from
        return _distinct(target, len(may)), False
    if len(matrices) > 1:
        owner, target, weight = _summed(owner, target, weight)
    order = np.lexsort((target, -weight, owner))
    owner, target = owner[order], target[order]
    starts = np.searchsorted(owner, np.arange(len(frontier)))
    rank = np.arange(len(owner)) - starts[owner] if len(owner) else owner
    is_cut = bool((rank >= fan_out).any())
    return _distinct(target[rank < fan_out], len(may)), is_cut


def _distinct(nodes: NDArray[np.integer], size: int) -> NDArray[np.int64]:
    """The different nodes of these, ascending; ``size`` of the graph."""
    is_there = np.zeros(size, dtype=bool)
    is_there[nodes] = True
    return np.flatnonzero(is_there)


def _summed(
    owner: NDArray[np.intp], target: NDArray[np.integer], weight: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.integer], NDArray[np.float32]]:
    """Each pair once, with the sum of its weights: two nodes may be joined by several relationships."""
    order = np.lexsort((target, owner))
    owner, target, weight = owner[order], target[order], weight[order]
    is_first = np.r_[True, (owner[1:] != owner[:-1]) | (target[1:] != target[:-1])]
    first = np.flatnonzero(is_first)
    return owner[first], target[first], np.add.reduceat(weight, first)
