"""Arrays in the files of one folder: written by one process at a time, complete under their names or not there, mapped."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import DTypeLike, NDArray

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
