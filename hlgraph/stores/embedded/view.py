"""The rows of the vector store, ready for searches: columns in the order of slots, over a memory-mapped matrix.

A view is refreshed when rows were written or deleted, by what was written and deleted since. Up to ``row_files.LEAST_ROWS``
rows are held in memory; beyond that, the first rows are in mapped files (:mod:`row_files`), and only later rows in memory.
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
from hlgraph.stores.embedded.row_files import NO_ROW, Columns, Places, RowFiles, no_rows, read_columns
from hlgraph.stores.embedded.sqlite import mapped, reading
from hlgraph.stores.image.mapped import log_level

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class View:
    """The rows of one kind of one corpus, as one state of the matrix has them. A row is named by its slot.

    ``index`` and ``coarse`` only grow, and the next view takes them over. A slot is used only once in a generation, so they
    stay valid after deletions.

    Attributes
    ----------
    state : state of the matrix
    matrix : shape (slots, d), memory-mapped
    first : rows of the first slots, in mapped files
    rest : rows of the other slots, in memory
    names : position of each source and change of ``rest``, counted from the end of the names of ``first``
    gone : slots without a row, ascending
    index : at most one index, for neighbours
    coarse : 8-bit codes for the first pass of a search, part by part
    """

    state: State
    matrix: NDArray[np.float32]
    first: Columns
    rest: Columns
    names: Places
    gone: NDArray[np.int64]
    index: list[ThresholdIndex]
    coarse: list[CoarseRows]

    def __len__(self) -> int:
        return len(self.matrix) - len(self.gone)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self.state.dimensions

    def is_there(self) -> NDArray[np.bool_]:
        """Which slots have a row."""
        found = np.ones(len(self.matrix), dtype=bool)
        found[self.gone] = False
        return found

    def altered(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of some rows do not hold the vector that was written: one checksum a row.

        Parameters
        ----------
        rows : slots
        """
        wanted = self._of("checksums", rows).tolist()
        pairs = zip(np.ascontiguousarray(self.matrix[rows]), wanted, strict=True)
        return np.array([zlib.crc32(vector.data) != checksum for vector, checksum in pairs], dtype=bool)

    def ids(self, rows: NDArray[np.integer] | None = None) -> NDArray[np.bytes_]:
        """The ids of some rows (None: of all slots), as bytes."""
        found: NDArray[np.bytes_] = self._of("ids", rows)
        return found

    def is_of(self, sources: Collection[str]) -> NDArray[np.bool_]:
        """Which rows belong to one of these sources."""
        found: NDArray[np.bool_] = self._among(sources)[self._of("sources", None)]
        return found

    def is_from(self, changes: Collection[str]) -> NDArray[np.bool_]:
        """Which rows one of these changes wrote."""
        found: NDArray[np.bool_] = self._among(changes)[self._of("changes", None)]
        return found

    def _of(self, column: str, rows: NDArray[np.integer] | None) -> NDArray[Any]:
        first: NDArray[Any] = getattr(self.first, column)
        rest: NDArray[Any] = getattr(self.rest, column)
        if not len(rest) or not len(first):
            every = rest if len(rest) else first
            return every if rows is None else every[rows]
        if rows is None:
            return np.concatenate([first, rest])
        found = np.empty(len(rows), dtype=rest.dtype)
        is_first = rows < len(first)
        found[is_first] = first[rows[is_first]]
        found[~is_first] = rest[rows[~is_first] - len(first)]
        return found

    def _among(self, names: Collection[str]) -> NDArray[np.bool_]:
        """For each position of a name, whether it is one of these; the last place is for slots without a row."""
        wanted = np.array([name.encode() for name in names] or [b""], dtype=np.bytes_)
        held = np.isin(self.first.names, wanted) & (len(names) > 0)
        rest = np.fromiter((name in names for name in self.names), dtype=bool, count=len(self.names))
        return np.concatenate([held, rest, [False]])


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
        with self._guard, reading(self._database.path):
            for is_in_files in (True, False):
                with self._database.snapshot():
                    state = self._state(kind, corpus)
                    if state is None:
                        return None
                    held = self._views.get((kind, corpus))
                    is_older = held is not None and _is_older(state, held.state)  # this reader began before another one
                    view = self._begun(state, None if is_older else held)
                    if view.state == state:
                        return view
                    if not is_in_files or state.slots - view.first.end < row_files.LEAST_ROWS:
                        view = self._extended(view, state)
                        if not is_older:
                            self._views[kind, corpus] = view
                        return view
                self._make(state, lambda files: files.write_columns(self._database.reader()))
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
        """The rows in files and those in memory that fit them; the cached view if nothing was written or deleted since."""
        if held is not None and held.state == state:
            return held
        if held is not None and held.state[:2] != state[:2]:
            held = None  # of another generation
        if held is not None and len(held.matrix) == state.slots:
            matrix = held.matrix  # a deletion wipes rows in place, and to map a gigabyte again takes ten milliseconds
        else:
            path = matrix_path(self._database.path, state.file, generation=state.generation)
            matrix = read_rows(path, state.slots, dimensions=state.dimensions)  # before anything is made of that length
        first = RowFiles(self._database.path, state).columns()  # mapped again: another process may have made them again
        index, coarse = ([], []) if held is None else (held.index, held.coarse)
        rest, names = no_rows(), Places(start=len(first.names))
        if held is not None and held.first.end == first.end and len(held.first.names) == len(first.names):
            rest, names = held.rest, held.names.copy()
        gone = np.empty(0, dtype=np.int64)
        return View(state._replace(writes=-1), matrix, first, rest, names, gone, index, coarse)

    def _extended(self, view: View, state: State) -> View:
        connection = self._database.reader()
        rest = read_columns(connection, view.rest, state=state, first=view.first, names=view.names)
        # The writer has wiped the other free slots in the files.
        query = "SELECT slot FROM vector_free WHERE file = ? AND (slot >= ? OR is_zeroed = 0) ORDER BY slot"
        freed = np.array([slot for (slot,) in connection.execute(query, (state.file, view.first.end))], dtype=np.int64)
        later = freed[(freed >= view.first.end) & (freed < state.slots)] - view.first.end
        rest.sources[later] = NO_ROW
        gone = [np.flatnonzero(part.sources == NO_ROW) for part in (view.first, rest)]
        gone = [np.union1d(gone[0], freed[(freed >= 0) & (freed < view.first.end)]), gone[1] + view.first.end]
        return replace(view, state=state, rest=rest, gone=np.concatenate(gone).astype(np.int64))

    def _make(self, state: State, make: Callable[[RowFiles], None]) -> None:
        """Writes files for a state, unless its generation is over; on failure the rows stay in memory."""
        files = RowFiles(self._database.path, state)
        try:
            with files.making(), self._database.snapshot():  # the lock before the state, see row_files
                query = "SELECT writes, slots FROM vector_file WHERE (file, generation) = (?, ?)"
                row = self._database.reader().execute(query, state[:2]).fetchone()
                if row is not None:
                    files.writes, files.slots = row
                    make(files)
        except (OSError, ValueError) as error:
            _log.log(log_level(error), "the rows of vector file %d are held in memory: %s", state.file, error)


def _is_older(state: State, other: State) -> bool:
    """Whether a state of a matrix came before another one of the same matrix; all its numbers only grow."""
    return state.file == other.file and state != other and max(state, other) == other
