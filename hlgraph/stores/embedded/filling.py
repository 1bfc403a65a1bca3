"""Reads the nodes and the relationships of a corpus from SQL, for the arrays of its image."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.records import Relationship
from hlgraph.stores.image.counted import SAID
from hlgraph.stores.image.graph_files import GraphFiles
from hlgraph.stores.image.image import COUNTED
from hlgraph.stores.image.links import Pairs
from hlgraph.stores.image.nodes import Nodes, NodeTable
from hlgraph.stores.image.overlay import NodesOver

_ROW = np.dtype([("n", "<i8"), ("kind", "u1"), ("source", "<i8"), ("id", "S32")])
_BATCH = 20_000
_LOOSE = "nodes.loose"  # removed with the other unfinished files where something fails


class Placed(NamedTuple):
    """The nodes of a corpus, and the node with each database number; -1 for a number outside this corpus.

    Of patched nodes the second array is that of the older nodes that they are laid over.
    """

    nodes: NodeTable
    places: NDArray[np.int32]

    def of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes with some database numbers that the array holds, ascending; others are left out."""
        found = self.places[numbers].astype(np.int64)
        found = found[found >= 0]
        if isinstance(self.nodes, NodesOver):
            found = self.nodes.numbering.places(found[self.nodes.numbering.has(found)])
        return np.sort(found)


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
    files.write(_LOOSE, _rows(connection, c))
    table = files.mapped(_LOOSE, _ROW)
    most = connection.execute("SELECT coalesce(max(n), 0) FROM node WHERE c = ?", (c,)).fetchone()[0]
    with files.filling("places", "<i4", size=most + 1) as places:
        places[:] = -1
        for first, block in _cut(table):
            places[block["n"]] = np.arange(first, first + len(block))
        files.write("ids", (block["id"] for _, block in _cut(table)))
        files.write("kinds", (block["kind"] for _, block in _cut(table)))
        files.write("sources", (_sources(block, places) for _, block in _cut(table)))
    files.remove(_LOOSE)


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
EDGES: Mapping[str, str] = {
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
    Relationship.SYNONYM: "SELECT a, b, similarity FROM synonym JOIN node ON n = a WHERE c = :c",
    Relationship.SAME_AS: "SELECT alias, canonical, 1 FROM decision JOIN node ON n = alias WHERE c = :c AND verdict = 'same'",
    SAID: "SELECT chunk, entity, count(*) FROM mentions JOIN node ON n = chunk WHERE c = :c GROUP BY chunk, entity",
}


ORDER = (*sorted(EDGES), *sorted(COUNTED))
"""All relationships; those that are counted come after those that they are counted from."""


def read_pairs(rows: sqlite3.Cursor, places: NDArray[np.int32], *, is_sorted: bool) -> Iterator[Pairs]:
    """Links from rows of the database, with nodes instead of database numbers.

    Parameters
    ----------
    rows : database numbers of both ends, and the weight
    places : the node with each database number
    is_sorted : whether the smaller id comes first
    """
    while batch := rows.fetchmany(_BATCH):
        table = np.array(batch, dtype=np.float64)
        ends = table[:, :2].astype(np.int64)
        is_known = (ends < len(places)).all(axis=1)  # other nodes are newer than this version
        a, b = places[ends[is_known, 0]], places[ends[is_known, 1]]
        both = (a >= 0) & (b >= 0)
        a, b = (np.minimum(a, b), np.maximum(a, b)) if is_sorted else (a, b)
        yield a[both], b[both], table[is_known, 2][both].astype(np.float32)
