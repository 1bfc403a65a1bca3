"""The rows of the vector store in memory: arrays in the order of slots over a memory-mapped matrix, refreshed by version."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.similarity import ThresholdIndex
from hlgraph.records import Kind
from hlgraph.stores.embedded.coarse import CoarseRows
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.mapped import mapped
from hlgraph.stores.embedded.matrix import matrix_path, read_rows


@dataclass(frozen=True, slots=True)
class View:
    """One kind of one corpus in memory: row arrays in the order of their slots, over the memory-mapped matrix.

    ``names`` (codes of sources and changes), ``index`` (at most one, for neighbours) and ``coarse`` (at most one, the first
    pass of a search) only grow and are handed on. The last two know rows by slot, and a slot is used once in a generation:
    they outlive deletions.
    """

    file: int
    generation: int
    writes: int
    deletes: int
    last_n: int
    dimensions: int
    matrix: NDArray[np.float32]
    slots: NDArray[np.int64]
    ids: NDArray[np.str_]
    sources: NDArray[np.int64]
    changes: NDArray[np.int64]
    names: dict[str, int]
    index: list[ThresholdIndex]
    coarse: list[CoarseRows]


class Views:
    """One view a kind and corpus, shared by all readers of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._views: dict[tuple[Kind, str], View] = {}
        self._guard = threading.Lock()

    def clear(self) -> None:
        """Let go of the memory maps."""
        self._views.clear()

    def view(self, kind: Kind, corpus: str) -> View | None:
        """The present state in memory; only rows written since the last look are read, unless some were deleted."""
        connection = self._database.reader()
        with self._guard, mapped(self._database.path):
            connection.execute("BEGIN")
            try:
                row = connection.execute(
                    "SELECT file, generation, writes, deletes, dimensions, slots FROM vector_file WHERE corpus = ? AND kind = ?",
                    (corpus, kind),
                ).fetchone()
                if row is None:
                    return None
                file, generation, writes, deletes, _, slots = row
                view = self._views.get((kind, corpus))
                if view is None or (view.file, view.generation, view.deletes) != (file, generation, deletes):
                    view = _empty(row, view)
                if view.writes != writes:
                    view = self._extended(view, slots, writes)
                    self._views[kind, corpus] = view
                return view
            finally:
                connection.execute("COMMIT")

    def _extended(self, view: View, slots: int, writes: int) -> View:
        rows = (
            self._database.reader()
            .execute(
                "SELECT n, slot, id, source, change FROM vector WHERE +file = ? AND n > ? ORDER BY n",
                (view.file, view.last_n),
            )
            .fetchall()
        )
        codes = np.array(
            [[view.names.setdefault(name, len(view.names)) for name in row[3:5]] for row in rows], dtype=np.int64
        ).reshape(-1, 2)
        return replace(
            view,
            writes=writes,
            last_n=rows[-1][0] if rows else view.last_n,
            matrix=read_rows(
                matrix_path(self._database.path, view.file, generation=view.generation),
                slots,
                dimensions=view.dimensions,
            ),
            slots=np.concatenate([view.slots, np.array([row[1] for row in rows], dtype=np.int64)]),
            ids=np.concatenate([view.ids, np.array([row[2] for row in rows], dtype="<U32")]),
            sources=np.concatenate([view.sources, codes[:, 0]]),
            changes=np.concatenate([view.changes, codes[:, 1]]),
        )


def _empty(row: tuple[int, int, int, int, int, int], held: View | None) -> View:
    """A view without rows; what only knows slots is taken over from the one held for the same file."""
    file, generation, _, deletes, dimensions, _ = row
    none = np.empty(0, dtype=np.int64)
    matrix = np.empty((0, dimensions), dtype=np.float32)
    is_same = held is not None and (held.file, held.generation) == (file, generation)
    index, coarse = (held.index, held.coarse) if held is not None and is_same else ([], [])
    ids = np.empty(0, "<U32")
    return View(file, generation, -1, deletes, 0, dimensions, matrix, none, ids, none, none, {}, index, coarse)
