"""A growing float32 matrix in a file, read through a memory map: the vectors of one kind of one corpus."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def matrix_path(folder: Path, file: int, *, generation: int) -> Path:
    """Where the matrix lies; a new generation is written when most slots of the old one are free."""
    return folder / "vectors" / f"{file}-{generation}.f32"


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


def read_rows(path: Path, slots: int, *, dimensions: int) -> NDArray[np.float32]:
    """The first ``slots`` rows as a read-only memory map (an empty array when there are none)."""
    if not slots:
        return np.empty((0, dimensions), dtype=np.float32)
    return np.memmap(path, dtype="<f4", mode="r", shape=(slots, dimensions))
