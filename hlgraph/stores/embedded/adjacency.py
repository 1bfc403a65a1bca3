"""The image of one version of one corpus: filled from SQL, in memory or in mapped files if it is large, or patched.

A relationship is loaded when it is first needed. The next version is patched by the lists of the changes since
(:mod:`hlgraph.stores.embedded.image_changes`), also on files that another process made for an older version.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Relationship
from hlgraph.stores.embedded import image_changes
from hlgraph.stores.embedded.array_files import drop_older_graphs, folder_of
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.filling import EDGES, ORDER, Placed, map_nodes, read_nodes, read_pairs, write_nodes
from hlgraph.stores.embedded.image_changes import State, Step
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.image.changes import FAR
from hlgraph.stores.image.counted import co_occurs, relates
from hlgraph.stores.image.graph_files import GraphFiles, pairs_of
from hlgraph.stores.image.image import EVEN, Image, Touched
from hlgraph.stores.image.links import Links, Pairs, in_memory
from hlgraph.stores.image.mapped import log_level
from hlgraph.stores.image.nodes import NodeTable, places
from hlgraph.stores.image.overlay import NodesOver
from hlgraph.stores.image.patching import folded, is_heavy, patched
from hlgraph.stores.protocols import Scope
from hlgraph.subgraph import Csr

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
    version : version of the corpus

    Attributes
    ----------
    is_in_files : whether the arrays are mapped
    """

    def __init__(self, database: Database, corpus: str, *, version: int) -> None:
        self.version = version
        self.is_in_files = False
        self._database = database
        self._corpus = corpus
        self._c = 0
        self._base = version  # that of the arrays, which versions after it are patched on
        self._state: State | None = None
        self._placed: Placed | None = None
        self._links: dict[str, Links] = {}
        self._trail: tuple[Touched, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The relationships that are loaded."""
        return frozenset(self._links)

    @property
    def is_patched(self) -> bool:
        """Whether the version was patched on the arrays of an older one, so that no relationship can be loaded any more."""
        return self._placed is not None and isinstance(self._placed.nodes, NodesOver)

    def load(self, names: Iterable[str], *, is_in_files: bool = True) -> None:
        """Loads the nodes and these links from one state of the database, unless they are loaded already.

        Parameters
        ----------
        names : relationships to load, those that they are counted from, and :data:`~hlgraph.stores.image.counted.SAID`
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
        self._present(connection)
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
            if self._placed is None:
                self._placed = read_nodes(connection, self._c)
            for item in missing:
                links = in_memory(self._matrix(self._found(item, connection)))
                self._links[item] = links._replace(is_even=item in EVEN)

    def _present(self, connection: sqlite3.Connection) -> State:
        found = image_changes.state_of(connection, self._corpus)
        if found is None or found[1].version != self.version or self._state not in (None, found[1]):
            raise OutdatedError
        self._c, self._state = found
        return found[1]

    def folder(self) -> Path:
        """The folder of the files of this version."""
        if self._state is None:
            raise OutdatedError
        return folder_of(self._database, self._c, state=self._state)

    @contextlib.contextmanager
    def _at_version(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Runs a block on one state of the database, that of this version."""
        with self._database.snapshot():
            self._present(connection)
            yield

    def _is_large(self, connection: sqlite3.Connection) -> bool:
        if self._placed is not None:
            return self._placed.nodes.size >= LEAST_NODES
        rows = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM node WHERE c = ? LIMIT ?)", (self._c, LEAST_NODES)
        )
        return bool(rows.fetchone()[0] >= LEAST_NODES)

    def _map_older(self, connection: sqlite3.Connection, missing: Sequence[str]) -> bool:
        """Maps the files of the newest version that has them all, and patches them; returns whether there are any."""
        with self._at_version(connection):
            present = self._present(connection)
            steps = image_changes.steps(connection, self._c, to=present)
        for first in range(len(steps) - 1, -1, -1):
            files = GraphFiles(folder_of(self._database, self._c, state=steps[first].before))
            older = Adjacency(self._database, self._corpus, version=steps[first].before.version)
            older._state = steps[first].before
            if older._has_mapped(files, missing):
                self._take(older, steps[first:])
                return True
        return False

    def patched(self) -> Adjacency | None:
        """The graph of the present version; None where no lists lead to it from this one."""
        connection = self._database.reader()
        with self._database.snapshot():
            found = image_changes.state_of(connection, self._corpus)
            if found is None or self._state is None or found[0] != self._c:
                return None
            steps = image_changes.steps(connection, self._c, to=found[1], after=self.version)
        if not steps or steps[0].before != self._state:
            return None
        made = Adjacency(self._database, self._corpus, version=found[1].version)
        made._c, made._state = found
        made._take(self, steps)
        return made

    def _take(self, older: Adjacency, steps: Sequence[Step]) -> None:
        self.is_in_files, self._base = older.is_in_files, older._base
        image = older.image()
        for step in steps:
            image = patched(image, step.change(), version=step.after.version, mark=step.after)
        self._placed = Placed(image.nodes, older._held().places)
        self._links, self._trail = dict(image.links), image.trail

    def is_to_be_folded(self) -> bool:
        """Whether new arrays should be made: much was patched, or files are old."""
        is_old = self.is_in_files and self.version - self._base > FAR
        return self.is_patched and (is_old or is_heavy(self.image()))

    def folded(self) -> Adjacency:
        """The same graph in new arrays, in memory."""
        made = Adjacency(self._database, self._corpus, version=self.version)
        made._c, made._state, made._trail = self._c, self._state, self._trail
        image = folded(self.image())
        made._placed, made._links = Placed(image.nodes, self._places(image.nodes)), dict(image.links)
        return made

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
            made = Adjacency(self._database, self._corpus, version=self.version)
            made._c, made._state, made._trail = self._c, self._state, self._trail
            if not made._has_mapped(files, sorted(self._links)):
                image = self.image()
                places = self._places(image.nodes)
                files.write_image(image, hurry=hurry)
                files.write("places", [places])
            if self._state is None or not made._has_mapped(files, sorted(self._links)):
                raise FileNotFoundError(files.folder)
            drop_older_graphs(self._database, self._c, state=self._state)
            return made

    def _places(self, nodes: NodeTable) -> NDArray[np.int32]:
        """The node with each database number, of patched nodes; ``nodes`` has them all."""
        held = self._held()
        rows = self._database.reader().execute(
            "SELECT n, id FROM node WHERE n >= ? AND +c = ?", (len(held.places), self._c)
        )
        new = np.array([(n, name.encode()) for n, name in rows], dtype=[("n", "<i8"), ("id", "S32")])
        at = nodes.find(new["id"])
        found = np.full(max([len(held.places), *(new["n"][at >= 0] + 1)]), -1, dtype=np.int32)
        old = np.flatnonzero(held.places >= 0)
        if isinstance(held.nodes, NodesOver):
            numbers = held.places[old].astype(np.int64)
            stays = held.nodes.numbering.has(numbers)
            found[old[stays]] = held.nodes.numbering.places(numbers[stays])
        found[new["n"][at >= 0]] = at[at >= 0]
        return found

    def _has_mapped(self, files: GraphFiles, missing: Sequence[str]) -> bool:
        """Maps all files that exist, so that none is lost where they are written anew; returns whether nothing is missing."""
        if self._placed is None:
            self._placed = map_nodes(files)
        if self._placed is None:
            return False
        self.is_in_files = True
        for item in ORDER:
            links = None if item in self._links else files.links(item, self._placed.nodes.size)
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
            if files.links(item, self._placed.nodes.size) is None:
                files.write_links(item, self._found(item, connection), size=self._placed.nodes.size)
            self._has_mapped(files, [item])

    def _found(self, name: str, connection: sqlite3.Connection) -> Iterator[Pairs]:
        """The links of a relationship: from SQL, or counted from those that are loaded."""
        if name == Relationship.CO_OCCURS:
            return co_occurs(self._links, None)
        if name == Relationship.RELATES:
            return pairs_of(in_memory(relates(self._links, None)).there)
        rows = connection.execute(EDGES[name], {"c": self._c})
        return read_pairs(rows, self._held().places, is_sorted=name == Relationship.SYNONYM)

    def image(self) -> Image:
        """What is loaded, for reads; call :meth:`load` with the links of :func:`~hlgraph.stores.image.image.needed` first."""
        return Image(self._held().nodes, self._links, version=self.version, mark=self._state, trail=self._trail)

    def sources(self, scope: Scope) -> NDArray[np.int64] | None:
        """The nodes of the sources in a scope, ascending; None: all are visible.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        """
        query, values = self._source_query(scope)
        if not query:
            return None
        held = self._held()
        rows = self._database.reader().execute(query, {**values, "known": len(held.places)}).fetchall()
        numbers = np.array([n for n, name in rows if name is None], dtype=np.int64)
        return np.union1d(held.of(numbers), places(held.nodes, (name for _, name in rows if name is not None)))

    def _held(self) -> Placed:
        if self._placed is None:
            raise OutdatedError
        return self._placed

    def _source_query(self, scope: Scope) -> tuple[str, dict[str, str | int | float]]:
        """An SQL query for the numbers of the sources in the scope, and the ids of new ones; empty if all are visible."""
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
            "SELECT source.n, CASE WHEN source.n >= :known THEN source.id END "
            f"FROM ({rows}) AS source WHERE {' AND '.join(conditions)}",
            {**values, "scope_c": self._c},
        )

    def _matrix(self, parts: Iterable[Pairs]) -> Csr:
        size = self._held().nodes.size
        held = list(parts)
        if not held:
            return sp.csr_array((size, size), dtype=np.float32)
        a, b, weights = (np.concatenate(part) for part in zip(*held, strict=True))
        return sp.csr_array((weights, (a, b)), shape=(size, size))
