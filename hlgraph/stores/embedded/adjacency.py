"""Fills the image of one version of one corpus from SQL: in memory, or in mapped files if it is large.

A relationship is loaded when it is first needed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Relationship
from hlgraph.stores.embedded.array_files import folder_of
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.image.counted import SAID
from hlgraph.stores.image.graph_files import GraphFiles
from hlgraph.stores.image.image import EVEN, Image, Nodes
from hlgraph.stores.image.links import Links, Pairs, in_memory
from hlgraph.stores.protocols import Scope
from hlgraph.subgraph import Csr

LEAST_NODES = 50_000
"""Minimum number of nodes before a graph is kept in files; a smaller one takes a few megabytes of memory."""

_log = logging.getLogger(__name__)
_ROW = np.dtype([("n", "<i8"), ("kind", "u1"), ("source", "<i8"), ("id", "S32")])
_BATCH = 20_000


class Placed(NamedTuple):
    """The nodes of a corpus, and the node with each database number; -1 for a number outside this corpus."""

    nodes: Nodes
    places: NDArray[np.int32]


def read_nodes(connection: sqlite3.Connection, c: int) -> Placed:
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
    return Placed(Nodes(table["id"].copy(), table["kind"].copy(), _sources(table, places)), places)


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


def map_nodes(files: GraphFiles) -> Placed | None:
    """The nodes that :func:`write_nodes` wrote, mapped; None where they are not there."""
    nodes, places = files.nodes(), files.array("places", "<i4")
    return None if nodes is None or places is None else Placed(nodes, places)


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
_EDGES: Mapping[str, str] = {
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
    SAID: "SELECT chunk, entity, count(*) FROM mentions JOIN node ON n = chunk WHERE c = :c GROUP BY chunk, entity",
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
        self._placed: Placed | None = None
        self._links: dict[str, Links] = {}

    def load(self, names: Iterable[str], *, is_in_files: bool = True) -> None:
        """Loads the nodes and these links from one state of the database, unless they are loaded already.

        Parameters
        ----------
        names : relationships to load, and :data:`~hlgraph.stores.image.counted.SAID`
        is_in_files : whether a large graph may be kept in files

        Raises
        ------
        OutdatedError
            The corpus has changed since this version.
        """
        missing = [item for item in sorted(names) if item in _EDGES and item not in self._links]
        if self._placed is not None and not missing:
            return
        connection = self._database.reader()
        self._c = self._present(connection)
        if is_in_files and self._is_large(connection):
            files = GraphFiles(folder_of(self._database, self._c, version=self.version))
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
            if self._placed is None:
                self._placed = read_nodes(connection, self._c)
            for item in missing:
                links = in_memory(self._matrix(connection.execute(_EDGES[item], {"c": self._c})))
                self._links[item] = links._replace(is_even=item in EVEN)

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
        if self._placed is not None:
            return len(self._placed.nodes.ids) >= LEAST_NODES
        rows = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM node WHERE c = ? LIMIT ?)", (self._c, LEAST_NODES)
        )
        return bool(rows.fetchone()[0] >= LEAST_NODES)

    def _has_mapped(self, files: GraphFiles, missing: Sequence[str]) -> bool:
        """Maps the files that exist; returns whether nothing is missing."""
        if self._placed is None:
            self._placed = map_nodes(files)
        if self._placed is None:
            return False
        for item in missing:
            links = files.links(item, len(self._placed.nodes.ids))
            if links is not None:
                self._links[item] = links._replace(is_even=item in EVEN)
        return all(item in self._links for item in missing)

    def _write(self, files: GraphFiles, missing: Sequence[str], connection: sqlite3.Connection) -> None:
        if map_nodes(files) is None:
            write_nodes(files, connection, c=self._c)
        self._placed = self._placed or map_nodes(files)
        if self._placed is None:
            raise FileNotFoundError(files.folder)
        for item in missing:
            if files.links(item, len(self._placed.nodes.ids)) is None:
                rows = self._pairs(connection.execute(_EDGES[item], {"c": self._c}))
                files.write_links(item, rows, size=len(self._placed.nodes.ids))

    def image(self) -> Image:
        """What is loaded, for reads; call :meth:`load` with the links of :func:`~hlgraph.stores.image.image.needed` first."""
        return Image(self._held().nodes, self._links, version=self.version)

    def sources(self, scope: Scope) -> NDArray[np.int64] | None:
        """The nodes of the sources in a scope, ascending; None: all are visible.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        """
        query, values = self._source_query(scope)
        if not query:
            return None
        places = self._held().places
        rows = np.array([n for (n,) in self._database.reader().execute(query, values)], dtype=np.int64)
        return np.sort(places[rows[rows < len(places)]]).astype(np.int64)

    def _held(self) -> Placed:
        if self._placed is None:
            raise OutdatedError
        return self._placed

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

    def _matrix(self, rows: sqlite3.Cursor) -> Csr:
        size = len(self._held().nodes.ids)
        parts = list(self._pairs(rows))
        if not parts:
            return sp.csr_array((size, size), dtype=np.float32)
        a, b, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sp.csr_array((weights, (a, b)), shape=(size, size))

    def _pairs(self, rows: sqlite3.Cursor) -> Iterator[Pairs]:
        """Links from rows of the database, with node positions instead of database numbers."""
        places = self._held().places
        while batch := rows.fetchmany(_BATCH):
            table = np.array(batch, dtype=np.float64)
            ends = table[:, :2].astype(np.int64)
            is_known = (ends < len(places)).all(axis=1)  # other nodes are newer than this version
            a, b = places[ends[is_known, 0]], places[ends[is_known, 1]]
            both = (a >= 0) & (b >= 0)
            yield a[both], b[both], table[is_known, 2][both].astype(np.float32)
