"""Where the embedded store keeps arrays: the matrices of vectors, and the folders of cached graphs and rows.

A matrix is part of the store, and only the writer changes it. The other files are a cache that readers make: one folder per
version of a graph and one per state of a matrix (:mod:`hlgraph.stores.image.mapped`). The writer removes the folders of old
versions and states.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores import files
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.sqlite import corrupt

FORMAT = 1
"""Version of the file layout; folders of another format are removed like those of an old version."""

_GRAPH = "graph"


class State(NamedTuple):
    """The state of a matrix: a deletion changes one of the first three fields, a write the others."""

    file: int
    generation: int
    deletes: int
    writes: int
    dimensions: int
    slots: int


def folder_of(database: Database, c: int, *, version: int) -> Path:
    """The folder of the graph of one version of a corpus.

    Parameters
    ----------
    database : database of the store
    c : number of the corpus
    version : version of the corpus
    """
    return database.path / _GRAPH / _name(c, version)


def drop_old_graphs(database: Database) -> None:
    """Removes the files of all graphs except those of the present versions; the caller has the lock of the writer."""
    folder = database.path / _GRAPH
    if not folder.is_dir():
        return
    rows = database.writer().execute("SELECT c, version FROM corpus")
    present = {_name(c, version) for c, version in rows}
    for path in folder.iterdir():
        if path.name not in present:
            shutil.rmtree(path, ignore_errors=True)  # on Windows a reader may have it open: the next change removes it


def _name(c: int, version: int) -> str:
    return f"{FORMAT}-{c}-{version}"


def rows_folder(path: Path, state: State) -> Path:
    """The folder of the rows of one state of a matrix.

    Parameters
    ----------
    path : folder of the store
    state : state of the matrix
    """
    return path / "vectors" / f"{state.file}-{state.generation}-{state.deletes}"


def drop_old_rows(path: Path, file: int, *, kept: State | None) -> None:
    """Removes the folders of all states of a matrix but one.

    Parameters
    ----------
    path : folder of the store
    file : number of the matrix
    kept : state whose folder stays; None: remove all
    """
    for folder in (path / "vectors").glob(f"{file}-*-*"):
        if folder.is_dir() and (kept is None or folder != rows_folder(path, kept)):
            shutil.rmtree(folder, ignore_errors=True)


def matrix_path(folder: Path, file: int, *, generation: int) -> Path:
    """The path of a matrix file.

    Parameters
    ----------
    folder : folder of the store
    file : number of the matrix
    generation : increases each time the matrix is rewritten without its free slots
    """
    return folder / "vectors" / f"{file}-{generation}.f32"


def read_rows(path: Path, slots: int, *, dimensions: int) -> NDArray[np.float32]:
    """The first rows of a matrix, as a read-only memory map of shape (slots, dimensions).

    Parameters
    ----------
    path : path of the matrix
    slots : number of rows; 0 gives an empty array
    dimensions : length of a row

    Raises
    ------
    StoreCorruptError
        The file is gone or too short.
    """
    if not slots:
        return np.empty((0, dimensions), dtype=np.float32)
    if not path.exists() or path.stat().st_size < 4 * slots * dimensions:
        raise corrupt(path.parents[1], f"{path.name} holds fewer than {slots} rows of {dimensions} numbers")
    return np.memmap(path, dtype="<f4", mode="r", shape=(slots, dimensions))


def write_rows(path: Path, first: int, *, rows: NDArray[np.float32]) -> None:
    """Writes rows into consecutive slots, and waits until they are on disk.

    Parameters
    ----------
    path : path of the matrix
    first : slot of the first row
    rows : shape (n, d)
    """
    files.make_folder(path.parent)
    data = np.ascontiguousarray(rows, dtype="<f4")
    is_new = not path.exists()
    with files.write_bytes(path, "w+b") if is_new else path.open("r+b") as out:
        out.seek(first * data.shape[1] * 4)
        out.write(data.tobytes())
        out.flush()
        os.fsync(out.fileno())
    if is_new and os.name == "posix":  # the directory entry must survive a power cut, too
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def zero_rows(path: Path, slots: NDArray[np.int64], *, dimensions: int) -> None:
    """Overwrites rows with zeros, and waits until they are on disk.

    Parameters
    ----------
    path : path of the matrix
    slots : slots to overwrite; slots beyond the end of the file are ignored
    dimensions : length of a row
    """
    if not path.exists() or not len(slots):
        return
    matrix = np.memmap(path, dtype="<f4", mode="r+", shape=(path.stat().st_size // (4 * dimensions), dimensions))
    matrix[slots[slots < len(matrix)]] = 0.0
    matrix.flush()
    del matrix
