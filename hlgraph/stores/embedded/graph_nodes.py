"""The nodes of one version of a corpus as arrays, in memory or in mapped files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores.embedded.graph_files import GraphFiles

NO_SOURCE = -1
_ROW = np.dtype([("n", "<i8"), ("kind", "u1"), ("source", "<i8"), ("id", "S32")])
_BATCH = 20_000
_FIELDS = {"ids": "S32", "kinds": "u1", "sources": "<i4", "places": "<i4"}


class Nodes(NamedTuple):
    """Nodes in the order of their ids.

    Attributes
    ----------
    ids : shape (n,), bytes of length 32
    kinds : shape (n,), indices into KINDS
    sources : shape (n,), the node of each one's source, ``NO_SOURCE`` for none
    places : the node of each number of the database, -1 where it is not of this corpus
    """

    ids: NDArray[np.bytes_]
    kinds: NDArray[np.uint8]
    sources: NDArray[np.int32]
    places: NDArray[np.int32]

    def at(self, ids: Iterable[str]) -> NDArray[np.int64]:
        """The nodes of these ids that are there, ascending, each once."""
        wanted = np.unique(np.array([item.encode() for item in ids], dtype=np.bytes_))
        if not len(self.ids) or not len(wanted):
            return np.empty(0, dtype=np.int64)
        # Of the same length: otherwise numpy would copy all ids to compare them.
        wanted = wanted[np.char.str_len(wanted) <= self.ids.itemsize].astype(self.ids.dtype)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        found: NDArray[np.int64] = at[self.ids[at] == wanted]
        return found

    def numbers(self) -> NDArray[np.int64]:
        """The number of each node in the database; in time linear in all of them."""
        found = np.empty(len(self.ids), dtype=np.int64)
        there = np.flatnonzero(self.places >= 0)
        found[self.places[there]] = there
        return found


def read_nodes(connection: sqlite3.Connection, c: int) -> Nodes:
    """All nodes of a corpus, in memory."""
    parts = list(_rows(connection, c))
    table = np.concatenate(parts) if parts else np.empty(0, dtype=_ROW)
    places = np.full(int(table["n"].max()) + 1 if len(table) else 1, -1, dtype=np.int32)
    places[table["n"]] = np.arange(len(table))
    return Nodes(table["id"].copy(), table["kind"].copy(), _sources(table, places), places)


def write_nodes(files: GraphFiles, connection: sqlite3.Connection, *, c: int) -> None:
    """Write all nodes of a corpus, a block at a time; the places last, so that all is there when they are."""
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
    """The node of each row's source. No node has the number 0."""
    found: NDArray[np.int32] = places[table["source"]]
    return found
