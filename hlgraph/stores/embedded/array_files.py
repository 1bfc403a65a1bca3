"""Where the embedded store keeps arrays: the matrices of vectors, and the folders of cached graphs and rows.

A matrix is part of the store, and only the writer changes it. The other files are a cache that readers make: one folder per
state of a graph and one per generation of a matrix (:mod:`hlgraph.stores.image.mapped`). The writer removes the folders of
old states and generations that are of no use any more.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores import files
from hlgraph.stores.embedded import image_changes
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.sqlite import corrupt

FORMAT = 2
"""Version of the file layout; folders of another format are removed like those of an old version."""

_GRAPH = "graph"
_OLD_INDEX = ".usearch"  # approximate indices, which hlgraph 0.1 made; they hold vectors


class State(NamedTuple):
    """The state of a matrix: a deletion changes ``deletes``, a write ``writes`` and ``slots``.

    Within a generation a slot is used once, and keeps its vector until its row is deleted.
    """

    file: int
    generation: int
    deletes: int
    writes: int
    dimensions: int
    slots: int


def folder_of(database: Database, c: int, *, state: image_changes.State) -> Path:
    """The folder of the graph of one state of a corpus.

    Parameters
    ----------
    database : database of the store
    c : number of the corpus
    state : state of the corpus
    """
    return database.path / _GRAPH / _name(c, state)


def drop_old_graphs(database: Database) -> None:
    """Removes the files of all graphs that are of no use: neither of a present version nor to be patched to one.

    The caller has the lock of the writer.
    """
    folder = database.path / _GRAPH
    if not folder.is_dir():
        return
    used = {_name(c, state) for c, state in image_changes.bases(database.writer())}
    for path in folder.iterdir():
        if path.name not in used:
            shutil.rmtree(path, ignore_errors=True)  # on Windows a reader may have it open: the next change removes it


def drop_older_graphs(database: Database, c: int, *, state: image_changes.State) -> None:
    """Removes the files of the graphs of a corpus before a state, whose files are complete.

    Parameters
    ----------
    database : database of the store
    c : number of the corpus
    state : state of the corpus
    """
    for path in (database.path / _GRAPH).glob(f"{FORMAT}-{c}-*-*"):
        if int(path.name.split("-")[2]) < state.version:
            shutil.rmtree(path, ignore_errors=True)


def _name(c: int, state: image_changes.State) -> str:
    return f"{FORMAT}-{c}-{state.version}-{state.stamp}"


def rows_folder(path: Path, state: State) -> Path:
    """The folder of the rows of one generation of a matrix.

    Parameters
    ----------
    path : folder of the store
    state : state of the matrix
    """
    return path / "vectors" / f"{state.file}-{state.generation}"


def drop_old_rows(path: Path, file: int, *, kept: State | None) -> None:
    """Removes the folders of all generations of a matrix but one, and what an older hlgraph kept beside it.

    Parameters
    ----------
    path : folder of the store
    file : number of the matrix
    kept : state whose folder stays; None: remove all
    """
    for found in (path / "vectors").glob(f"{file}-*"):
        if found.is_dir():
            if kept is None or found != rows_folder(path, kept):
                shutil.rmtree(found, ignore_errors=True)
        elif found.suffix == _OLD_INDEX:
            found.unlink(missing_ok=True)


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
    if is_new:  # the directory entry must survive a power cut, too
        files.sync_folder(path.parent)


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
    files.sync(path)
