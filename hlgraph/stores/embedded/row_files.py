"""The rows of one kind of one corpus as columns in mapped files, for readers of many: ids, slots, sources, changes.

A folder ``vectors/<file>-<generation>-<deletes>`` beside the matrix, made by readers: it holds the first rows, in the order
in which they were written, and the codes of the first slots. Nothing of what was deleted stays in it: deleting rows gives
another folder, and the writer removes the old one after that. A reader makes the folder before it looks whether it is still
the present one, so that none of an old state is filled after that.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores.embedded.array_files import ArrayFiles, State, rows_folder
from hlgraph.stores.embedded.coarse import BLOCK, CoarseRows, encoded

LEAST_ROWS = 50_000
"""So many rows are held in memory at most; when there are more, all go to files."""

_BATCH = 10_000
_FIELDS = {"names": "S32", "slots": "<i8", "sources": "<i4", "changes": "<i4", "numbers": "<i8", "ids": "S32"}
_CODES = {"codes": "i1", "scales": "<f4", "lengths": "<f4", "rests": "<f4"}
_LAST_CODE = "rests"
_ROWS = "SELECT n, slot, id, source, change FROM vector WHERE +file = ? AND n > ? ORDER BY n"
_LONGEST = 32


class Columns(NamedTuple):
    """Rows in the order in which they were written; ``sources`` and ``changes`` are places in ``names``.

    Attributes
    ----------
    names : ids of sources and changes, bytes of length 32
    numbers : of the rows in the database, ascending, as ``slots`` are
    ids : bytes of length 32
    """

    names: NDArray[np.bytes_]
    slots: NDArray[np.int64]
    sources: NDArray[np.int32]
    changes: NDArray[np.int32]
    numbers: NDArray[np.int64]
    ids: NDArray[np.bytes_]

    def then(self, more: Columns) -> Columns:
        """These rows and more of them, in memory, with the names of these."""
        parts = (np.concatenate([getattr(self, name), getattr(more, name)]) for name in list(_FIELDS)[1:])
        return Columns(self.names, *parts)

    @property
    def last(self) -> int:
        """The number of the last row; 0 for none."""
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
        """The most rows that are there, none younger than the state; none where there are no files."""
        for part in sorted(self._parts(), reverse=True):
            found = [self.array(f"{part}.{name}", dtype) for name, dtype in _FIELDS.items()]
            if part <= self.writes and all(item is not None for item in found):
                return Columns(*found)  # type: ignore[arg-type]
        return no_rows()

    def write_columns(self, connection: sqlite3.Connection, *, held: Columns, file: int) -> None:
        """Write those held and all rows after them, a batch at a time, and remove the files with fewer.

        Raises
        ------
        OSError
            The folder cannot be written to, or was removed.
        ValueError
            An id is longer than 32 bytes or not of ASCII.
        """
        names = {str(name, "ascii"): at for at, name in enumerate(held.names)}
        rows = self.folder / "rows.loose"
        with rows.open("wb") as out:
            for batch in _batches(connection, file=file, last=held.last):
                out.write(_table(batch, names).tobytes())
        table = np.empty(0, dtype=_ROW) if not rows.stat().st_size else np.memmap(rows, dtype=_ROW, mode="r")
        for field in _FIELDS:  # the ids last: with them all is there
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
        """The codes of the most slots that are there; None for none."""
        for part in sorted(self._parts(_LAST_CODE), reverse=True):
            found = [self.array(f"{part}.{name}", dtype) for name, dtype in _CODES.items()]
            if all(item is not None for item in found):
                codes, scales, lengths, rests = found
                return CoarseRows(codes.reshape(-1, dimensions), scales, lengths, rests)  # type: ignore[union-attr,arg-type]
        return None

    def write_codes(self, matrix: NDArray[np.float32]) -> None:
        """Write the codes of all slots of a matrix, a block at a time.

        Raises
        ------
        OSError
            The folder cannot be written to, or was removed.
        """
        count, dimensions = matrix.shape
        older = self._parts(_LAST_CODE) - {count}
        with contextlib.ExitStack() as stack:
            made = [
                stack.enter_context(
                    self.filling(f"{count}.{name}", dtype, size=count * (dimensions if name == "codes" else 1))
                )
                for name, dtype in reversed(_CODES.items())  # left in the opposite order: the last one last
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


_ROW = np.dtype([(name, _FIELDS[name]) for name in ("numbers", "slots", "ids", "sources", "changes")])


def read_columns(connection: sqlite3.Connection, *, file: int, last: int, names: dict[str, int]) -> Columns:
    """The rows after one, in memory; ``names`` grows, and is not part of the result."""
    parts = [_table(batch, names) for batch in _batches(connection, file=file, last=last)]
    table = np.concatenate(parts) if parts else np.empty(0, dtype=_ROW)
    return Columns(np.empty(0, "S32"), *(table[name].copy() for name in list(_FIELDS)[1:]))


def _batches(connection: sqlite3.Connection, *, file: int, last: int) -> Iterator[list[tuple[Any, ...]]]:
    rows = connection.execute(_ROWS, (file, last))
    while batch := rows.fetchmany(_BATCH):
        yield batch


def _table(batch: list[tuple[Any, ...]], names: dict[str, int]) -> NDArray[np.void]:
    found = np.empty(len(batch), dtype=_ROW)
    numbers, slots, ids, sources, changes = zip(*batch, strict=True)
    found["numbers"], found["slots"], found["ids"] = numbers, slots, _texts(ids)
    found["sources"] = [names.setdefault(name, len(names)) for name in sources]
    found["changes"] = [names.setdefault(name, len(names)) for name in changes]
    return found


def _texts(names: list[str] | tuple[str, ...]) -> NDArray[np.bytes_]:
    if any(len(name) > _LONGEST for name in names):
        raise ValueError("an id is longer than 32 characters")
    return np.array(names, dtype="S32")  # raises UnicodeEncodeError, a ValueError, for what is not of ASCII


def _both(held: NDArray[Any], parts: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    for at in range(0, len(held), _BATCH):
        yield held[at : at + _BATCH]
    yield from parts
