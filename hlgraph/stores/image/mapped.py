"""Memory-mapped arrays in files, for caches that any process may make and any process may map.

One process at a time writes a folder, and a file appears under its name only when it is complete. :class:`ArrayFiles` is the
base of the files of graphs (:mod:`hlgraph.stores.image.graph_files`) and of rows (``row_files`` of the embedded store).
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import DTypeLike, NDArray

from hlgraph.stores import files

_UNFINISHED = frozenset({".new", ".loose", ".cursor"})


class ArrayFiles:
    """Named arrays in one folder: a rebuildable cache, which another process may remove at any moment.

    Parameters
    ----------
    folder : folder of the files; :meth:`making` creates it
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def making(self, *, wait: float | None = None) -> Iterator[None]:
        """Creates the folder, and holds the exclusive right to write to it.

        Parameters
        ----------
        wait : seconds to wait while another process has the right; None: as long as it takes

        Raises
        ------
        OSError
            The folder is not writable, or a writer has just removed it, or another process had the right for all of that time.
        """
        files.make_folder(self.folder)
        with FileLock(str(self.folder / "making.lock"), mode=files.FILE, timeout=-1 if wait is None else wait):
            try:
                yield
            finally:  # also removes what a killed process left behind
                for path in self.folder.iterdir() if self.folder.is_dir() else ():
                    if path.suffix in _UNFINISHED:
                        path.unlink(missing_ok=True)

    def array(self, name: str, dtype: DTypeLike) -> NDArray[Any] | None:
        """A memory-mapped array; None if its file does not exist.

        Parameters
        ----------
        name : name of the array
        dtype : type of its elements
        """
        try:
            return self.mapped(name, dtype)
        except OSError:
            return None

    def mapped(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """A memory-mapped array. Raises OSError if its file does not exist.

        Parameters
        ----------
        name : name of the array
        dtype : type of its elements
        """
        return mapped_file(self.folder / name, dtype)

    def write(self, name: str, blocks: Iterable[NDArray[Any]]) -> None:
        """Writes an array block by block.

        Parameters
        ----------
        name : name of the array
        blocks : consecutive parts of the array
        """
        path = self.folder / f"{name}.new"
        with files.write_bytes(path) as out:
            for block in blocks:
                out.write(np.ascontiguousarray(block).tobytes())
            out.flush()
            os.fsync(out.fileno())
        path.replace(self.folder / name)

    @contextlib.contextmanager
    def filling(self, name: str, dtype: DTypeLike, *, size: int) -> Iterator[NDArray[Any]]:
        """Yields an array to fill in any order; its file appears under its name after the block.

        Parameters
        ----------
        name : name of the array
        dtype : type of its elements
        size : number of its elements

        Raises
        ------
        OSError
            The folder is not writable, or the disk is full: before anything is written.
        """
        path = self.folder / f"{name}.new"
        files.allocate(path, size * np.dtype(dtype).itemsize)
        # An empty file cannot be mapped.
        held = np.memmap(path, dtype=dtype, mode="r+", shape=(size,)) if size else None
        yield np.empty(0, dtype=dtype) if held is None else np.asarray(held)
        files.sync(path)
        path.replace(self.folder / name)

    def remove(self, name: str) -> None:
        """Removes an intermediate array."""
        (self.folder / name).unlink()


def log_level(error: Exception) -> int:
    """The level of a message that arrays stay in memory: a warning on a full disk, else information.

    Parameters
    ----------
    error : why they were not written
    """
    return logging.WARNING if isinstance(error, OSError) and error.errno in files.FULL else logging.INFO


def mapped_file(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    """A file as a read-only array.

    Parameters
    ----------
    path : path of the file
    dtype : type of its elements
    """
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))
