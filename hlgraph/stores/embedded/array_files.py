"""Arrays in the files of one folder: written by one process at a time, complete under their names or not there, mapped."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import DTypeLike, NDArray

from hlgraph.stores.embedded.database import Database

_UNFINISHED = frozenset({".new", ".loose", ".cursor"})


class ArrayFiles:
    """Arrays by name; a cache that can be made anew, in a folder that its maker may lose at any moment.

    Parameters
    ----------
    folder : made by :meth:`making`
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def making(self) -> Iterator[None]:
        """Make the folder, and be the only process that writes to it.

        Raises
        ------
        OSError
            The folder cannot be written to, or a writer has just removed it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(str(self.folder / "making.lock")):
            try:
                yield
            finally:  # also what a maker left that was killed before
                for path in self.folder.iterdir() if self.folder.is_dir() else ():
                    if path.suffix in _UNFINISHED:
                        path.unlink(missing_ok=True)

    def array(self, name: str, dtype: DTypeLike) -> NDArray[Any] | None:
        """A mapped array; None where it is not there."""
        try:
            return self.mapped(name, dtype)
        except OSError:
            return None

    def mapped(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """A mapped array that is there."""
        return mapped_file(self.folder / name, dtype)

    def write(self, name: str, blocks: Iterable[NDArray[Any]]) -> None:
        """Write an array block by block."""
        path = self.folder / f"{name}.new"
        with path.open("wb") as out:
            for block in blocks:
                out.write(np.ascontiguousarray(block).tobytes())
            out.flush()
            os.fsync(out.fileno())
        path.replace(self.folder / name)

    @contextlib.contextmanager
    def filling(self, name: str, dtype: DTypeLike, *, size: int) -> Iterator[NDArray[Any]]:
        """An array to fill in any order; it is there under its name after the block."""
        path = self.folder / f"{name}.new"
        held = np.memmap(path, dtype=dtype, mode="w+", shape=(size,))
        yield np.asarray(held)
        held.flush()
        path.replace(self.folder / name)

    def remove(self, name: str) -> None:
        """Remove an array that was needed to make others."""
        (self.folder / name).unlink()


def mapped_file(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    """A file as an array, to read; an empty file cannot be mapped."""
    if not path.stat().st_size:
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


FORMAT = 1
"""Grows when the layout of the files changes: those of another format are removed like those of an old version."""

_GRAPH = "graph"


def folder_of(database: Database, c: int, *, version: int) -> Path:
    """The folder of one version of the corpus of this number."""
    return database.path / _GRAPH / _name(c, version)


def drop_old_graphs(database: Database) -> None:
    """Remove the files of all versions but the present ones; the caller has the lock of the writer."""
    folder = database.path / _GRAPH
    if not folder.is_dir():
        return
    rows = database.writer().execute("SELECT c, version FROM corpus")
    present = {_name(c, version) for c, version in rows}
    for path in folder.iterdir():
        if path.name not in present:
            shutil.rmtree(path, ignore_errors=True)  # a reader on Windows may hold it: the next change removes it


def _name(c: int, version: int) -> str:
    return f"{FORMAT}-{c}-{version}"


class State(NamedTuple):
    """What a matrix holds: a deletion changes the first three, a writing the rest."""

    file: int
    generation: int
    deletes: int
    writes: int
    dimensions: int
    slots: int


def rows_folder(path: Path, state: State) -> Path:
    """The folder of the files for the rows of a state; ``path`` is that of the store."""
    return path / "vectors" / f"{state.file}-{state.generation}-{state.deletes}"


def drop_old_rows(path: Path, file: int, *, kept: State | None) -> None:
    """Remove the folders of all states of a matrix but the present one."""
    for folder in (path / "vectors").glob(f"{file}-*-*"):
        if folder.is_dir() and (kept is None or folder != rows_folder(path, kept)):
            shutil.rmtree(folder, ignore_errors=True)


def matrix_path(folder: Path, file: int, *, generation: int) -> Path:
    """Where the matrix lies; a new generation is written when most slots of the old one are free."""
    return folder / "vectors" / f"{file}-{generation}.f32"


def read_rows(path: Path, slots: int, *, dimensions: int) -> NDArray[np.float32]:
    """The first ``slots`` rows as a read-only memory map (an empty array when there are none)."""
    if not slots:
        return np.empty((0, dimensions), dtype=np.float32)
    return np.memmap(path, dtype="<f4", mode="r", shape=(slots, dimensions))


def write_rows(path: Path, first: int, *, rows: NDArray[np.float32]) -> None:
    """Write rows from slot ``first`` on, and wait until they are on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = np.ascontiguousarray(rows, dtype="<f4")
    is_new = not path.exists()
    with path.open("w+b" if is_new else "r+b") as out:
        out.seek(first * data.shape[1] * 4)
        out.write(data.tobytes())
        out.flush()
        os.fsync(out.fileno())
    if is_new and os.name == "posix":  # the name of the file, too, must survive a power cut
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def zero_rows(path: Path, slots: NDArray[np.int64], *, dimensions: int) -> None:
    """Overwrite rows with zeros, and wait until they are on the disk."""
    if not path.exists() or not len(slots):
        return
    matrix = np.memmap(path, dtype="<f4", mode="r+", shape=(path.stat().st_size // (4 * dimensions), dimensions))
    matrix[slots[slots < len(matrix)]] = 0.0
    matrix.flush()
    del matrix
