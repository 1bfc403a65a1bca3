"""The rows of one kind of one corpus as columns in memory-mapped files: ids, slots, sources, changes.

Readers write them into a folder ``vectors/<file>-<generation>-<deletes>`` beside the matrix. It holds the first rows, in
the order in which they were written, and the quantised codes of the first slots. It never keeps deleted data: deleting rows
changes the name of the folder, and the writer then removes the old one. A reader creates the folder before it checks that
its state is still the present one, so that a folder of an old state is never filled afterwards.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores import files
from hlgraph.stores.embedded.array_files import State, rows_folder
from hlgraph.stores.embedded.coarse import BLOCK, CoarseRows, encoded
from hlgraph.stores.image.mapped import ArrayFiles

LEAST_ROWS = 50_000
"""Maximum number of rows held in memory; beyond it, all rows go to files."""

_BATCH = 10_000
_FIELDS = {
    "names": "S32",
    "slots": "<i8",
    "sources": "<i4",
    "changes": "<i4",
    "numbers": "<i8",
    "checksums": "<u4",
    "ids": "S32",
}
_CODES = {"codes": "i1", "scales": "<f4", "lengths": "<f4", "rests": "<f4"}
_LAST_CODE = "rests"
_ROWS = "SELECT n, slot, id, source, change, checksum FROM vector WHERE +file = ? AND n > ? ORDER BY n"
_LONGEST = 32


class Columns(NamedTuple):
    """Rows in the order in which they were written.

    Attributes
    ----------
    names : ids of sources and changes, bytes of length 32
    slots : slot of each row in the matrix, ascending
    sources, changes : positions in ``names``
    numbers : number of each row in the database, ascending
    checksums : CRC-32 of the bytes of each vector as it was written
    ids : bytes of length 32
    """

    names: NDArray[np.bytes_]
    slots: NDArray[np.int64]
    sources: NDArray[np.int32]
    changes: NDArray[np.int32]
    numbers: NDArray[np.int64]
    checksums: NDArray[np.uint32]
    ids: NDArray[np.bytes_]

    def then(self, more: Columns) -> Columns:
        """These rows followed by more, in memory, with the names of these."""
        parts = (np.concatenate([getattr(self, name), getattr(more, name)]) for name in list(_FIELDS)[1:])
        return Columns(self.names, *parts)

    @property
    def last(self) -> int:
        """The number of the last row; 0 if there is none."""
        return int(self.numbers[-1]) if len(self.numbers) else 0

    @property
    def end(self) -> int:
        """The slot after the last row."""
        return int(self.slots[-1]) + 1 if len(self.slots) else 0


def no_rows() -> Columns:
    """Columns without rows."""
    return Columns(*(np.empty(0, dtype=dtype) for dtype in _FIELDS.values()))


class RowFiles(ArrayFiles):
    """The files for the rows of one state."""

    def __init__(self, path: Path, state: State) -> None:
        super().__init__(rows_folder(path, state))
        self.file = state.file
        self.writes = state.writes

    def columns(self) -> Columns:
        """The longest set of rows in the files that is not newer than the state; no rows if there are no files."""
        for part in sorted(self._parts(), reverse=True):
            found = [self.array(f"{part}.{name}", dtype) for name, dtype in _FIELDS.items()]
            if part <= self.writes and all(item is not None for item in found):
                return Columns(*found)  # type: ignore[arg-type]
        return no_rows()

    def write_columns(self, connection: sqlite3.Connection, *, held: Columns, file: int) -> None:
        """Writes all rows, a batch at a time, and removes the files with fewer rows.

        Parameters
        ----------
        connection : connection to read with
        held : the rows already in memory; only later ones are read from the database
        file : number of the matrix

        Raises
        ------
        OSError
            The folder is not writable, or was removed.
        ValueError
            An id is longer than 32 bytes or not ASCII.
        """
        names = {str(name, "ascii"): at for at, name in enumerate(held.names)}
        rows = self.folder / "rows.loose"
        with files.write_bytes(rows) as out:
            for batch in _batches(connection, file=file, last=held.last):
                out.write(_table(batch, names).tobytes())
        table = np.empty(0, dtype=_ROW) if not rows.stat().st_size else np.memmap(rows, dtype=_ROW, mode="r")
        for field in _FIELDS:  # the ids come last: once they exist, the set is complete
            if field == "names":
                self.write(f"{self.writes}.names", [_texts(list(names))])
            else:
                parts = (table[field][at : at + _BATCH] for at in range(0, len(table), _BATCH))
                self.write(f"{self.writes}.{field}", _both(getattr(held, field), parts))
        for part in self._parts():
            if part < self.writes:
                for field in _FIELDS:
                    (self.folder / f"{part}.{field}").unlink(missing_ok=True)

    def codes(self, dimensions: int) -> CoarseRows | None:
        """The codes of as many slots as the files hold; None if they hold none."""
        for part in sorted(self._parts(_LAST_CODE), reverse=True):
            found = [self.array(f"{part}.{name}", dtype) for name, dtype in _CODES.items()]
            if all(item is not None for item in found):
                codes, scales, lengths, rests = found
                return CoarseRows(codes.reshape(-1, dimensions), scales, lengths, rests)  # type: ignore[union-attr,arg-type]
        return None

    def write_codes(self, matrix: NDArray[np.float32]) -> None:
        """Writes the codes of all slots of a matrix, a block at a time.

        Raises
        ------
        OSError
            The folder is not writable, or was removed.
        """
        count, dimensions = matrix.shape
        older = self._parts(_LAST_CODE) - {count}
        with contextlib.ExitStack() as stack:
            made = [
                stack.enter_context(
                    self.filling(f"{count}.{name}", dtype, size=count * (dimensions if name == "codes" else 1))
                )
                for name, dtype in reversed(_CODES.items())  # the stack unwinds in reverse: _LAST_CODE appears last
            ][::-1]
            for start in range(0, count, BLOCK):
                found: tuple[NDArray[Any], ...] = encoded(np.asarray(matrix[start : start + BLOCK]))
                for one, item in zip(made, found, strict=True):
                    width = item[0].size
                    one[start * width : start * width + item.size] = item.ravel()
        for part in older:
            for name in _CODES:
                (self.folder / f"{part}.{name}").unlink(missing_ok=True)

    def _parts(self, last: str = "ids") -> set[int]:
        return {int(path.stem) for path in self.folder.glob(f"*.{last}")} if self.folder.is_dir() else set()


_ROW = np.dtype([(name, _FIELDS[name]) for name in ("numbers", "slots", "ids", "sources", "changes", "checksums")])


def read_columns(connection: sqlite3.Connection, *, file: int, last: int, names: dict[str, int]) -> Columns:
    """The rows after a given one, in memory, with empty ``names``.

    Parameters
    ----------
    connection : connection to read with
    file : number of the matrix
    last : number of the last row that the caller has; 0: read all
    names : position of each id of a source or change; new ids are added to it
    """
    parts = [_table(batch, names) for batch in _batches(connection, file=file, last=last)]
    table = np.concatenate(parts) if parts else np.empty(0, dtype=_ROW)
    return Columns(np.empty(0, "S32"), *(table[name].copy() for name in list(_FIELDS)[1:]))


def _batches(connection: sqlite3.Connection, *, file: int, last: int) -> Iterator[list[tuple[Any, ...]]]:
    rows = connection.execute(_ROWS, (file, last))
    while batch := rows.fetchmany(_BATCH):
        yield batch


def _table(batch: list[tuple[Any, ...]], names: dict[str, int]) -> NDArray[np.void]:
    found = np.empty(len(batch), dtype=_ROW)
    numbers, slots, ids, sources, changes, checksums = zip(*batch, strict=True)
    found["numbers"], found["slots"], found["ids"], found["checksums"] = numbers, slots, _texts(ids), checksums
    found["sources"] = [names.setdefault(name, len(names)) for name in sources]
    found["changes"] = [names.setdefault(name, len(names)) for name in changes]
    return found


def _texts(names: list[str] | tuple[str, ...]) -> NDArray[np.bytes_]:
    if any(len(name) > _LONGEST for name in names):
        raise ValueError("an id is longer than 32 characters")
    return np.array(names, dtype="S32")  # raises UnicodeEncodeError, a ValueError, for a name that is not ASCII


def _both(held: NDArray[Any], parts: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    for at in range(0, len(held), _BATCH):
        yield held[at : at + _BATCH]
    yield from parts
