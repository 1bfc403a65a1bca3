"""The rows of the vector store, ready for searches: columns in the order of slots, over a memory-mapped matrix.

A view is refreshed when rows were written or deleted. Up to ``row_files.LEAST_ROWS`` rows are held in memory; beyond that,
the first rows are in mapped files (:mod:`row_files`), and only later rows in memory.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.similarity import ThresholdIndex
from hlgraph.records import Kind
from hlgraph.stores.embedded import row_files
from hlgraph.stores.embedded.array_files import State, matrix_path, read_rows
from hlgraph.stores.embedded.coarse import CoarseRows
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.row_files import Columns, RowFiles, no_rows, read_columns
from hlgraph.stores.embedded.sqlite import corrupt, mapped, reading

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class View:
    """The rows of one kind of one corpus, in the order of their slots.

    ``index`` and ``coarse`` only grow, and the next view takes them over. They identify rows by slot, and a slot is used
    only once in a generation, so they stay valid after deletions.

    Attributes
    ----------
    state : state of the matrix
    matrix : shape (slots, d), memory-mapped
    first : rows in mapped files
    rest : rows in memory
    names : position of each source and change of ``rest``, counted from the end of the names of ``first``
    index : at most one index, for neighbours
    coarse : 8-bit codes for the first pass of a search, part by part
    """

    state: State
    matrix: NDArray[np.float32]
    first: Columns
    rest: Columns
    names: dict[str, int]
    index: list[ThresholdIndex]
    coarse: list[CoarseRows]

    def __len__(self) -> int:
        return len(self.first.slots) + len(self.rest.slots)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self.state.dimensions

    @property
    def slots(self) -> NDArray[np.int64]:
        """The slot of each row in the matrix, ascending."""
        found: NDArray[np.int64] = _joined(self.first.slots, self.rest.slots)
        return found

    def altered(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of some rows do not hold the vector that was written: one checksum a row.

        Parameters
        ----------
        rows : positions in this view
        """
        wanted = _joined(self.first.checksums, self.rest.checksums)[rows].tolist()
        vectors = np.ascontiguousarray(self.matrix[self.slots[rows]])
        pairs = zip(vectors, wanted, strict=True)
        return np.array([zlib.crc32(vector.data) != checksum for vector, checksum in pairs], dtype=bool)

    def ids(self, rows: NDArray[np.integer] | None = None) -> NDArray[np.bytes_]:
        """The ids of some rows (None: of all), as bytes."""
        if rows is None or not len(self.rest.ids):
            every: NDArray[np.bytes_] = _joined(self.first.ids, self.rest.ids)
            return every if rows is None else every[rows]
        found = np.empty(len(rows), dtype=self.rest.ids.dtype)
        is_first = rows < len(self.first.ids)
        found[is_first] = self.first.ids[rows[is_first]]
        found[~is_first] = self.rest.ids[rows[~is_first] - len(self.first.ids)]
        return found

    def is_of(self, sources: Collection[str]) -> NDArray[np.bool_]:
        """Which rows belong to one of these sources."""
        found: NDArray[np.bool_] = self._among(sources)[_joined(self.first.sources, self.rest.sources)]
        return found

    def is_from(self, changes: Collection[str]) -> NDArray[np.bool_]:
        """Which rows one of these changes wrote."""
        found: NDArray[np.bool_] = self._among(changes)[_joined(self.first.changes, self.rest.changes)]
        return found

    def _among(self, names: Collection[str]) -> NDArray[np.bool_]:
        """For each position of a name, whether it is one of these."""
        wanted = np.array([name.encode() for name in names] or [b""], dtype=np.bytes_)
        held = np.isin(self.first.names, wanted) & (len(names) > 0)
        rest = np.fromiter((name in names for name in self.names), dtype=bool, count=len(self.names))
        return np.concatenate([held, rest])


class Views:
    """The views of a store, one per kind and corpus, shared by all readers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._views: dict[tuple[Kind, str], View] = {}
        self._guard = threading.Lock()

    def clear(self) -> None:
        """Releases the memory maps."""
        self._views.clear()

    def view(self, kind: Kind, corpus: str) -> View | None:
        """The present rows; None if the store has none. Reads only new rows, unless rows were deleted.

        Parameters
        ----------
        kind : kind of the rows
        corpus : name of the corpus
        """
        connection = self._database.reader()
        with self._guard, reading(self._database.path):
            for is_in_files in (True, False):
                connection.execute("BEGIN")
                try:
                    state = self._state(kind, corpus)
                    if state is None:
                        return None
                    view = self._begun(state, self._views.get((kind, corpus)))
                    if view.state.writes == state.writes:
                        return view
                    if not is_in_files or state.slots - view.first.end < row_files.LEAST_ROWS:
                        view = self._views[kind, corpus] = self._extended(view, state)
                        return view
                finally:
                    connection.execute("COMMIT")
                held = view.first
                self._make(state, lambda files, held=held: files.write_columns(connection, held=held, file=files.file))  # type: ignore[misc]
            return None

    def codes(self, view: View) -> list[CoarseRows]:
        """The codes of all slots: from files, and computed for later slots. The view keeps them."""
        count = len(view.matrix)
        files = RowFiles(self._database.path, view.state)
        parts = list(view.coarse)
        if not parts or count - len(parts[0]) >= row_files.LEAST_ROWS:
            made = files.codes(view.dimensions)
            if count - (0 if made is None else len(made)) >= row_files.LEAST_ROWS:
                with mapped(self._database.path):
                    self._make(view.state, lambda files: files.write_codes(view.matrix))
                made = files.codes(view.dimensions)
            if made is not None and len(made) <= count and (not parts or len(made) > len(parts[0])):
                parts = [made]
        first = parts[0] if parts else CoarseRows.of(view.dimensions)
        if len(first) < row_files.LEAST_ROWS:
            parts = [first.grown(view.matrix)]
        elif len(first) < count:
            rest = parts[1] if len(parts) > 1 else CoarseRows.of(view.dimensions)
            parts = [first, rest.grown(view.matrix[len(first) :])]
        view.coarse[:] = parts
        return parts

    def _state(self, kind: Kind, corpus: str) -> State | None:
        query = (
            "SELECT file, generation, deletes, writes, dimensions, slots FROM vector_file WHERE corpus = ? AND kind = ?"
        )
        row = self._database.reader().execute(query, (corpus, kind)).fetchone()
        return None if row is None else State(*row)

    def _begun(self, state: State, held: View | None) -> View:
        """The cached view if it lacks nothing but new rows; otherwise a view of the rows in files."""
        if held is not None and held.state[:3] == state[:3]:
            files = RowFiles(self._database.path, state).columns()
            if len(files.ids) <= len(held.first.ids):
                return held
        else:
            files = RowFiles(self._database.path, state).columns()
        is_same = held is not None and held.state[:2] == state[:2]
        index, coarse = (held.index, held.coarse) if held is not None and is_same else ([], [])
        matrix = np.empty((0, state.dimensions), dtype=np.float32)
        return View(state._replace(writes=-1), matrix, files, no_rows(), {}, index, coarse)

    def _extended(self, view: View, state: State) -> View:
        names = view.names
        start = len(view.first.names)
        fresh = read_columns(
            self._database.reader(),
            file=state.file,
            last=view.rest.last or view.first.last,
            names=names,
        )
        if len(fresh.slots) and not 0 <= fresh.slots.min() <= fresh.slots.max() < state.slots:
            raise corrupt(self._database.path, f"rows of vectors {state.file} have slots beyond its {state.slots}")
        fresh = fresh._replace(sources=fresh.sources + start, changes=fresh.changes + start)
        path = matrix_path(self._database.path, state.file, generation=state.generation)
        return replace(
            view,
            state=state,
            matrix=read_rows(path, state.slots, dimensions=state.dimensions),
            rest=view.rest.then(fresh),
        )

    def _make(self, state: State, make: Callable[[RowFiles], None]) -> None:
        """Writes files for a state, unless rows were deleted since; on failure the rows stay in memory."""
        files = RowFiles(self._database.path, state)
        connection = self._database.reader()
        try:
            with files.making():  # before checking the state, see row_files
                connection.execute("BEGIN")
                try:
                    query = "SELECT writes FROM vector_file WHERE (file, generation, deletes) = (?, ?, ?)"
                    row = connection.execute(query, state[:3]).fetchone()
                    if row is not None:
                        files.writes = row[0]
                        make(files)
                finally:
                    connection.execute("COMMIT")
        except (OSError, ValueError) as error:
            _log.info("the rows of vector file %d are held in memory: %s", state.file, error)


def _joined(one: NDArray[Any], two: NDArray[Any]) -> NDArray[Any]:
    if not len(two):
        return one
    return np.concatenate([one, two]) if len(one) else two
