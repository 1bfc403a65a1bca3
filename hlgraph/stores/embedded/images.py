"""The image of one version of one corpus: filled from SQL, in memory or in mapped files if it is large, or patched.

A relationship is loaded when it is first needed. The next version is patched by the lists of the changes since
(:mod:`hlgraph.stores.embedded.image_changes`), also on files that another process made for an older version.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import Context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import StoreError
from hlgraph.records import Relationship
from hlgraph.stores.embedded import image_changes
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.vector_files import drop_older_graphs, folder_of
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.image.arrays import Links, Nodes, NodesOver, NodeTable, Pairs, in_memory, places, to_matrix
from hlgraph.stores.image.graph_files import GraphFiles, log_level, pairs_of
from hlgraph.stores.image.image import COUNTED, EVEN, SAID, Image, Touched, co_occurs, relates
from hlgraph.stores.image.patching import FAR, State, Step, folded, is_heavy, patched
from hlgraph.stores.protocols import Scope

_ROW = np.dtype([("n", "<i8"), ("kind", "u1"), ("source", "<i8"), ("id", "S32")])
_BATCH = 20_000
_LOOSE = "nodes.loose"  # removed with the other unfinished files after a failure


class Placed(NamedTuple):
    """The nodes of a corpus, and the node with each database number; -1 for a number outside this corpus.

    Of patched nodes the second array is that of the older nodes that they are laid over.
    """

    nodes: NodeTable
    places: NDArray[np.int32]

    def of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes with some database numbers that the array holds, ascending; others are left out."""
        nodes = self.places[numbers].astype(np.int64)
        nodes = nodes[nodes >= 0]
        if isinstance(self.nodes, NodesOver):
            nodes = self.nodes.numbering.places(nodes[self.nodes.numbering.has(nodes)])
        return np.sort(nodes)


def read_nodes(connection: sqlite3.Connection, c: int) -> Placed:
    """All nodes of a corpus, in memory.

    Parameters
    ----------
    connection : connection to read with
    c : number of the corpus
    """
    table = np.concatenate([np.empty(0, dtype=_ROW), *_rows(connection, c)])
    places = np.full(int(table["n"].max(initial=0)) + 1, -1, dtype=np.int32)
    places[table["n"]] = np.arange(len(table))
    return Placed(Nodes(table["id"].copy(), table["kind"].copy(), places[table["source"]]), places)


def write_nodes(files: GraphFiles, connection: sqlite3.Connection, *, c: int) -> None:
    """Write all nodes of a corpus to files, a block at a time.

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
        files.write("sources", (places[block["source"]] for _, block in _cut(table)))  # no node has the number 0
    (files.folder / _LOOSE).unlink()


def map_nodes(files: GraphFiles) -> Placed | None:
    """The nodes that :func:`write_nodes` wrote, mapped; None if they are not there."""
    nodes, places = files.nodes(), files.array("places", "<i4")
    return None if nodes is None or places is None else Placed(nodes, places)


def _rows(connection: sqlite3.Connection, c: int) -> Iterator[NDArray[np.void]]:
    rows = connection.execute("SELECT n, kind, coalesce(source, 0), id FROM node WHERE c = ? ORDER BY id", (c,))
    while batch := rows.fetchmany(_BATCH):
        yield np.array(batch, dtype=_ROW)


def _cut(table: NDArray[np.void]) -> Iterator[tuple[int, NDArray[np.void]]]:
    for first in range(0, len(table), _BATCH):
        yield first, table[first : first + _BATCH]


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


LEAST_NODES = 50_000
"""Minimum number of nodes before a graph is kept in files; a smaller one takes a few megabytes of memory."""

_log = logging.getLogger(__name__)


class OutdatedError(Exception):
    """The corpus has a newer version, which must be loaded instead."""


class Adjacency:
    """The graph of one version of one corpus. Thread-safe once it is loaded.

    Parameters
    ----------
    database : database of the store
    corpus : name of the corpus
    present : number and state of the corpus
    trail : see :class:`hlgraph.stores.image.image.Image`

    Attributes
    ----------
    is_in_files : whether the arrays are mapped
    state : state of the corpus
    """

    def __init__(
        self, database: Database, corpus: str, *, present: tuple[int, State], trail: tuple[Touched, ...] = ()
    ) -> None:
        self.is_in_files = False
        self._c, self.state = present
        self._database = database
        self._corpus = corpus
        self._base = self.version  # of the arrays, on which later versions are patched
        self._placed: Placed | None = None
        self._links: dict[str, Links] = {}
        self._trail = trail

    @property
    def version(self) -> int:
        """The version of the corpus."""
        return self.state.version

    @property
    def names(self) -> frozenset[str]:
        """The relationships that are loaded."""
        return frozenset(self._links)

    @property
    def is_patched(self) -> bool:
        """Whether the version was patched on the arrays of an older one, so that no relationship can be loaded any more."""
        return self._placed is not None and isinstance(self._placed.nodes, NodesOver)

    def load(self, names: Iterable[str], *, is_in_files: bool = True) -> None:
        """Load the nodes and these links from one state of the database, unless they are loaded already.

        Parameters
        ----------
        names : relationships to load, those that they are counted from, and :data:`~hlgraph.stores.image.image.SAID`
        is_in_files : whether a large graph may be kept in files

        Raises
        ------
        OutdatedError
            The corpus has changed since this version.
        """
        missing = [item for item in ORDER if item in set(names).difference(self._links)]
        if self._placed is not None and not missing:
            return
        connection = self._database.reader()
        if is_in_files and self._is_large(connection):
            files = GraphFiles(self.folder())
            if self._has_mapped(files, missing) or (self._placed is None and self._map_older(connection, missing)):
                return
            try:
                with files.making(), self._at_version(connection):
                    self._write(files, missing, connection)
            except OSError as error:
                _log.log(log_level(error), "the graph of corpus %s is kept in memory: %s", self._corpus, error)
            if self._has_mapped(files, missing):
                return
        with self._at_version(connection):
            self._placed = self._placed or read_nodes(connection, self._c)
            for item in missing:
                links = in_memory(to_matrix(self._pairs(item, connection), self._placed.nodes.size))
                self._links[item] = links._replace(is_even=item in EVEN)

    def folder(self) -> Path:
        """The folder of the files of this version."""
        return folder_of(self._database, self._c, state=self.state)

    @contextlib.contextmanager
    def _at_version(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Run a block on one state of the database: that of this version. Raises OutdatedError if it is over."""
        with self._database.snapshot():
            if image_changes.state_of(connection, self._corpus) != (self._c, self.state):
                raise OutdatedError
            yield

    def _is_large(self, connection: sqlite3.Connection) -> bool:
        if self._placed is not None:
            return self._placed.nodes.size >= LEAST_NODES
        rows = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM node WHERE c = ? LIMIT ?)", (self._c, LEAST_NODES)
        )
        return bool(rows.fetchone()[0] >= LEAST_NODES)

    def _map_older(self, connection: sqlite3.Connection, missing: Sequence[str]) -> bool:
        """Map the files of the newest version that has them all, and patch them; returns whether there are any."""
        with self._at_version(connection):
            steps = image_changes.steps(connection, self._c, to=self.state)
        for first in range(len(steps) - 1, -1, -1):
            older = Adjacency(self._database, self._corpus, present=(self._c, steps[first].before))
            if older._has_mapped(GraphFiles(older.folder()), missing):
                self._take(older, steps[first:])
                return True
        return False

    def patched(self) -> Adjacency | None:
        """The graph of the present version; None if no lists lead to it from this one."""
        connection = self._database.reader()
        with self._database.snapshot():
            present = image_changes.state_of(connection, self._corpus)
            if present is None or present[0] != self._c:
                return None
            steps = image_changes.steps(connection, self._c, to=present[1], after=self.version)
        if not steps or steps[0].before != self.state:
            return None
        graph = Adjacency(self._database, self._corpus, present=present)
        graph._take(self, steps)
        return graph

    def _take(self, older: Adjacency, steps: Sequence[Step]) -> None:
        self.is_in_files, self._base = older.is_in_files, older._base
        image = functools.reduce(patched, steps, older.image())
        self._placed = Placed(image.nodes, older._loaded().places)
        self._links, self._trail = dict(image.links), image.trail

    def is_to_be_folded(self) -> bool:
        """Whether new arrays should be made: much was patched, or the files are old."""
        is_old = self.is_in_files and self.version - self._base > FAR
        return self.is_patched and (is_old or is_heavy(self.image()))

    def folded(self) -> Adjacency:
        """The same graph in new arrays, in memory."""
        graph = self._unloaded()
        image = folded(self.image())
        graph._placed, graph._links = Placed(image.nodes, self._places(image.nodes)), dict(image.links)
        return graph

    def _unloaded(self) -> Adjacency:
        """A graph of the same state, without nodes and links."""
        return Adjacency(self._database, self._corpus, present=(self._c, self.state), trail=self._trail)

    def written(self, hurry: threading.Event) -> Adjacency:
        """The same graph in new files, in place of those of older versions; another process may have written them.

        Parameters
        ----------
        hurry : see :meth:`GraphFiles.write_image`

        Raises
        ------
        OSError
            The files cannot be written, or a writer has removed them, or another process is writing them.
        """
        files = GraphFiles(self.folder())
        with files.making(wait=0.0):
            graph = self._unloaded()
            if not graph._has_mapped(files, sorted(self._links)):
                image = self.image()
                places = self._places(image.nodes)
                files.write_image(image, hurry=hurry)
                files.write("places", [places])
                if not graph._has_mapped(files, sorted(self._links)):
                    raise FileNotFoundError(files.folder)
            drop_older_graphs(self._database, self._c, state=self.state)
            return graph

    def _places(self, nodes: NodeTable) -> NDArray[np.int32]:
        """The node with each database number, of patched nodes; ``nodes`` has them all."""
        placed = self._loaded()
        rows = self._database.reader().execute(
            "SELECT n, id FROM node WHERE n >= ? AND +c = ?", (len(placed.places), self._c)
        )
        new = np.array([(n, name.encode()) for n, name in rows], dtype=[("n", "<i8"), ("id", "S32")])
        at = nodes.find(new["id"])
        by_number = np.full(max([len(placed.places), *(new["n"][at >= 0] + 1)]), -1, dtype=np.int32)
        old = np.flatnonzero(placed.places >= 0)
        if isinstance(placed.nodes, NodesOver):
            numbers = placed.places[old].astype(np.int64)
            stays = placed.nodes.numbering.has(numbers)
            by_number[old[stays]] = placed.nodes.numbering.places(numbers[stays])
        by_number[new["n"][at >= 0]] = at[at >= 0]
        return by_number

    def _has_mapped(self, files: GraphFiles, missing: Sequence[str]) -> bool:
        """Map all files that exist, so that none is lost when they are written anew; returns whether nothing is missing."""
        self._placed = self._placed or map_nodes(files)
        if self._placed is None:
            return False
        self.is_in_files = True
        for item in ORDER:
            links = None if item in self._links else files.links(item, self._placed.nodes.size)
            if links is not None:
                self._links[item] = links
        return all(item in self._links for item in missing)

    def _write(self, files: GraphFiles, missing: Sequence[str], connection: sqlite3.Connection) -> None:
        if map_nodes(files) is None:
            write_nodes(files, connection, c=self._c)
        self._placed = self._placed or map_nodes(files)
        if self._placed is None:
            raise FileNotFoundError(files.folder)
        for item in missing:
            if files.links(item, self._placed.nodes.size) is None:
                files.write_links(item, self._pairs(item, connection), size=self._placed.nodes.size)
            self._has_mapped(files, [item])

    def _pairs(self, name: str, connection: sqlite3.Connection) -> Iterator[Pairs]:
        """The links of a relationship: from SQL, or counted from those that are loaded."""
        if name == Relationship.CO_OCCURS:
            return co_occurs(self._links, None)
        if name == Relationship.RELATES:
            return pairs_of(relates(self._links, None))
        rows = connection.execute(EDGES[name], {"c": self._c})
        return read_pairs(rows, self._loaded().places, is_sorted=name == Relationship.SYNONYM)

    def image(self) -> Image:
        """What is loaded, for reads; call :meth:`load` with the links of :func:`~hlgraph.stores.image.image.needed` first."""
        return Image(self._loaded().nodes, self._links, version=self.version, mark=self.state, trail=self._trail)

    def sources(self, scope: Scope) -> NDArray[np.int64] | None:
        """The nodes of the sources in a scope, ascending; None: all are visible.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        """
        conditions: list[str] = []
        values: dict[str, str | int | float] = {}
        if scope.where is not None:
            condition, values = to_sql(scope.where)
            conditions.append(condition)
        if scope.sources is not None:
            conditions.append("source.key IN (SELECT hlgraph_key(value) FROM json_each(:sources))")
            values = {**values, "sources": json.dumps(list(scope.sources))}
        if not conditions:
            return None
        placed = self._loaded()
        values = {**values, "scope_c": self._c, "known": len(placed.places)}
        # Numbers of the sources in the scope, and the ids of those that are newer than the arrays.
        query = (
            "SELECT source.n, CASE WHEN source.n >= :known THEN source.id END "
            f"FROM ({_SOURCES}) AS source WHERE {' AND '.join(conditions)}"
        )
        rows = self._database.reader().execute(query, values).fetchall()
        numbers = np.array([n for n, name in rows if name is None], dtype=np.int64)
        return np.union1d(placed.of(numbers), places(placed.nodes, (name for _, name in rows if name is not None)))

    def _loaded(self) -> Placed:
        if self._placed is None:
            raise OutdatedError
        return self._placed


_SOURCES = """
    SELECT node.n, node.id, node.key, r.uri, r.title, r.metadata FROM source AS r JOIN node USING (n) WHERE node.c = :scope_c"""
_CACHED = 2  # graphs of a corpus that are kept: of the present version, and of the one that running searches read
_ATTEMPTS = 2  # attempts to keep a large graph in files, before it is kept in memory


class Graphs:
    """The graphs of the corpora of one store: the present version of each, patched from the one before if possible.

    Thread-safe: a reader keeps the graph that it got, and no graph changes.

    Parameters
    ----------
    database : database of the store
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cached: dict[str, list[Adjacency]] = {}  # the newest last
        self._guard = threading.Lock()
        self._written: dict[str, Adjacency] = {}
        self._folding: dict[str, threading.Thread] = {}
        self._is_closed = threading.Event()

    def current(self, corpus: str, names: frozenset[str]) -> Adjacency | None:
        """The graph of the present version of a corpus, with some relationships; None if there is no such corpus.

        Parameters
        ----------
        corpus : name of the corpus
        names : the relationships
        """
        for attempt in itertools.count():
            present = image_changes.state_of(self._database.reader(), corpus) if self._database.exists() else None
            if present is None:
                return None
            with self._guard:
                graph = self._patched(corpus, names, present[1])
                is_new = graph is None
                if graph is None:
                    graph = Adjacency(self._database, corpus, present=present)
                    names = names.union(*(cached.names for cached in self._cached.get(corpus, ())))
                try:  # if changes arrive faster than files are written, it is kept in memory
                    graph.load(names, is_in_files=attempt < _ATTEMPTS)
                except OutdatedError:
                    continue
                graph = self._folded(corpus, graph) if is_new else graph
                others = [item for item in self._cached.get(corpus, ()) if item.version != graph.version]
                self._cached[corpus] = sorted([*others, graph], key=lambda item: item.version)[-_CACHED:]
                return graph
        return None

    def _patched(self, corpus: str, names: frozenset[str], state: State) -> Adjacency | None:
        """The graph in memory, or what it is patched to; None if it must be loaded."""
        written = self._written.pop(corpus, None)
        for cached in ([] if written is None else [written]) + self._cached.get(corpus, [])[::-1]:
            graph = cached if cached.state == state else cached.patched() if cached.version < state.version else None
            if graph is not None and (names <= graph.names or not graph.is_patched):
                return graph if graph is cached else self._folded(corpus, graph)
        return None

    def _folded(self, corpus: str, graph: Adjacency) -> Adjacency:
        """A graph in new arrays, if it needs them: now in memory, or in files that are written while the old ones are used."""
        if not graph.is_to_be_folded():
            return graph
        if not graph.is_in_files:
            return graph.folded()
        thread = self._folding.get(corpus)
        if thread is None or not thread.is_alive():
            thread = threading.Thread(target=Context().run, args=(self._write, corpus, graph), daemon=True)
            self._folding[corpus] = thread
            thread.start()
        return graph

    def _write(self, corpus: str, graph: Adjacency) -> None:
        try:
            self._written[corpus] = graph.written(self._is_closed)
        except (OSError, StoreError, sqlite3.Error) as error:
            _log.log(log_level(error), "the graph of corpus %s was not written anew: %s", corpus, error)

    def close(self) -> None:
        """Wait for files that are being written, now without pauses."""
        self._is_closed.set()
        for thread in list(self._folding.values()):
            thread.join()
