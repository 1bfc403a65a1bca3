"""The rows of one kind of one corpus as columns in memory-mapped files: ids, sources, changes, checksums, and 8-bit codes.

Readers write them into a folder ``vectors/<file>-<generation>`` beside the matrix. All columns are in the order of slots, as
the matrix is, so an edit changes the places of its own rows only: new slots come at the end, and are read from the database
until they are many; the writer overwrites the places of deleted rows (:meth:`RowFiles.wipe`), so that nothing of them stays.

A file is complete when it appears. A reader holds the lock of the folder from before it reads the database until its files are
there, and the writer wipes under the same lock after its commit. So a deleted row is either wiped or was never written.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
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

NO_ROW = -1
"""The source of a slot without a row."""

_BATCH = 10_000
_FIELDS = {"names": "S32", "last": "<i8", "sources": "<i4", "changes": "<i4", "checksums": "<u4", "ids": "S32"}
_NOTHING: dict[str, Any] = {"sources": NO_ROW, "changes": NO_ROW, "checksums": 0, "ids": b""}
_CODES = {"codes": "i1", "scales": "<f4", "lengths": "<f4", "rests": "<f4"}
_LAST_CODE = "rests"
_NEWEST = "SELECT max(n) FROM vector WHERE n > ?"
_ROWS = "SELECT n, slot, id, source, change, checksum FROM vector WHERE +file = ? AND n > ? ORDER BY n"
_LONGEST = 32


class Columns(NamedTuple):
    """What the rows of consecutive slots are; a slot without a row has the source ``NO_ROW``.

    Attributes
    ----------
    names : ids of sources and changes, bytes of length 32
    last : the highest number of a row in the database, of any kind and corpus, as an array of one element or of none: rows
        with higher numbers were written later
    sources, changes : positions in ``names``
    checksums : CRC-32 of the bytes of each vector as it was written
    ids : bytes of length 32
    """

    names: NDArray[np.bytes_]
    last: NDArray[np.int64]
    sources: NDArray[np.int32]
    changes: NDArray[np.int32]
    checksums: NDArray[np.uint32]
    ids: NDArray[np.bytes_]

    @property
    def end(self) -> int:
        """The number of slots."""
        return len(self.ids)

    @property
    def number(self) -> int:
        """The highest number of a row in the database; 0 if there is none."""
        return int(self.last[-1]) if len(self.last) else 0


def no_rows(slots: int = 0) -> Columns:
    """Columns of some slots without rows, in memory."""
    found = (np.full(slots, _NOTHING[name], dtype=_FIELDS[name]) for name in _NOTHING)
    return Columns(np.empty(0, "S32"), np.empty(0, "<i8"), *found)


class RowFiles(ArrayFiles):
    """The files for the rows of one generation, as one state knows them."""

    def __init__(self, path: Path, state: State) -> None:
        super().__init__(rows_folder(path, state))
        self.file = state.file
        self.writes = state.writes
        self.slots = state.slots

    def columns(self) -> Columns:
        """The longest columns in the files that are not newer than the state; no rows if there are no files."""
        for part in sorted(self._parts(), reverse=True):
            found = [self.array(f"{part}.{name}", dtype) for name, dtype in _FIELDS.items()]
            if part <= self.writes and all(item is not None for item in found):
                return Columns(*found)  # type: ignore[arg-type]
        return no_rows()

    def write_columns(self, connection: sqlite3.Connection) -> None:
        """Writes all rows, a batch at a time, and removes the files with fewer rows; the caller has the lock of the folder.

        Parameters
        ----------
        connection : connection to read with; only rows that the files lack are read

        Raises
        ------
        OSError
            The folder is not writable, or was removed.
        ValueError
            An id is longer than 32 bytes or not ASCII.
        """
        held = self.columns()
        names = Places((str(name, "ascii") for name in held.names), start=0)
        rows = self.folder / "rows.loose"
        with files.write_bytes(rows) as out:
            for batch in _batches(connection, file=self.file, last=held.number):
                out.write(_table(batch, names).tobytes())
        table = np.empty(0, dtype=_ROW) if not rows.stat().st_size else np.memmap(rows, dtype=_ROW, mode="r")
        self.write(f"{self.writes}.names", [held.names, _texts(names.fresh)])
        self.write(f"{self.writes}.last", [_newest(connection, held.number)])
        for field, nothing in _NOTHING.items():  # the ids come last: once they exist, the set is complete
            with self.filling(f"{self.writes}.{field}", _FIELDS[field], size=self.slots) as made:
                made[: held.end] = getattr(held, field)
                made[held.end :] = nothing
                for at in range(0, len(table), _BATCH):
                    made[_slots(table[at : at + _BATCH], first=0, end=self.slots)] = table[field][at : at + _BATCH]
        for part in self._parts() - {self.writes}:
            for field in _FIELDS:
                (self.folder / f"{part}.{field}").unlink(missing_ok=True)

    def wipe(self, slots: NDArray[np.int64]) -> None:
        """Overwrites what the files hold of some slots, and ids of sources and changes that no row has any more.

        Waits until it is on disk. For the writer, after the commit that freed the slots.

        Parameters
        ----------
        slots : slots to overwrite
        """
        if not len(slots):
            return
        with self.making():
            for part in self._parts():
                self._wipe_columns(part, slots)
            for part in self._parts(_LAST_CODE):
                for name, dtype in _CODES.items():
                    with self._changing(f"{part}.{name}", dtype) as found:
                        rows = found.reshape(part, -1)
                        rows[slots[slots < part]] = 0

    def _wipe_columns(self, part: int, slots: NDArray[np.int64]) -> None:
        with contextlib.ExitStack() as stack:
            found = {
                name: stack.enter_context(self._changing(f"{part}.{name}", dtype)) for name, dtype in _FIELDS.items()
            }
            places = slots[slots < len(found["ids"])]
            users = (found["sources"], found["changes"])
            touched = np.unique(np.concatenate([column[places] for column in users]))
            for name, nothing in _NOTHING.items():
                found[name][places] = nothing
            is_used = np.isin(touched, users[0]) | np.isin(touched, users[1]) | (touched == NO_ROW)
            found["names"][touched[~is_used]] = b""

    @contextlib.contextmanager
    def _changing(self, name: str, dtype: str) -> Iterator[NDArray[Any]]:
        """A file to change in place, in the pages that it shares with all readers; on disk after the block."""
        path = self.folder / name
        if not path.stat().st_size:  # an empty file cannot be mapped
            yield np.empty(0, dtype=dtype)
            return
        yield np.asarray(np.memmap(path, dtype=dtype, mode="r+"))
        files.sync(path)

    def codes(self, dimensions: int) -> CoarseRows | None:
        """The codes of as many slots as the files hold; None if they hold none."""
        for part in sorted(self._parts(_LAST_CODE), reverse=True):
            found = [self.array(f"{part}.{name}", dtype) for name, dtype in _CODES.items()]
            if all(item is not None for item in found):
                codes, scales, lengths, rests = found
                return CoarseRows(codes.reshape(-1, dimensions), scales, lengths, rests)  # type: ignore[union-attr,arg-type]
        return None

    def write_codes(self, matrix: NDArray[np.float32]) -> None:
        """Writes the codes of all slots of a matrix, a block at a time; those in files are copied.

        Raises
        ------
        OSError
            The folder is not writable, or was removed.
        """
        count, dimensions = matrix.shape
        older = self._parts(_LAST_CODE) - {count}
        held = self.codes(dimensions) or CoarseRows.of(dimensions)
        with contextlib.ExitStack() as stack:
            made = [
                stack.enter_context(
                    self.filling(f"{count}.{name}", dtype, size=count * (dimensions if name == "codes" else 1))
                )
                for name, dtype in reversed(_CODES.items())  # the stack unwinds in reverse: _LAST_CODE appears last
            ][::-1]
            for start in range(0, count, BLOCK):
                end = start + BLOCK
                found = held.part(start, end) if end <= len(held) else encoded(np.asarray(matrix[start:end]))
                columns: list[NDArray[Any]] = [*found]
                for one, item in zip(made, columns, strict=True):
                    width = item[0].size
                    one[start * width : start * width + item.size] = item.ravel()
        for part in older:
            for name in _CODES:
                (self.folder / f"{part}.{name}").unlink(missing_ok=True)

    def _parts(self, last: str = "ids") -> set[int]:
        return {int(path.stem) for path in self.folder.glob(f"*.{last}")} if self.folder.is_dir() else set()


_ROW = np.dtype(
    [
        ("numbers", "<i8"),
        ("slots", "<i8"),
        *((name, _FIELDS[name]) for name in ("ids", "sources", "changes", "checksums")),
    ]
)


class Places(dict[str, int]):
    """The position of each id of a source or change; an id that is not there takes the next position.

    Parameters
    ----------
    held : ids that have the first positions; an empty one is a position whose id was wiped
    start : position of the first id
    """

    def __init__(self, held: Iterable[str] = (), *, start: int) -> None:
        super().__init__()
        self._next = start
        self.fresh: list[str] = []
        for name in held:
            if name:
                self[name] = self._next
            self._next += 1

    def copy(self) -> Places:
        """The same positions, for more ids to be added to."""
        made = Places(start=self._next)
        made.update(self)
        return made

    def __missing__(self, name: str) -> int:
        """The next position."""
        self[name] = place = self._next
        self._next += 1
        self.fresh.append(name)
        return place


def read_columns(
    connection: sqlite3.Connection, held: Columns, *, state: State, first: Columns, names: Places
) -> Columns:
    """The rows of all slots of a state after those in files, in memory, with empty ``names``.

    Parameters
    ----------
    connection : connection to read with
    held : these rows, as an older state knew them; later ones are read
    state : state of the matrix
    first : the rows in files
    names : position of each id of a source or change; new ids are added to it

    Raises
    ------
    IndexError
        A row has a slot that the state does not have.
    """
    last = max(held.number, first.number)
    parts = [_table(batch, names) for batch in _batches(connection, file=state.file, last=last)]
    found = no_rows(state.slots - first.end)
    for name in _NOTHING:
        getattr(found, name)[: held.end] = getattr(held, name)
    for table in parts:
        places = _slots(table, first=first.end, end=state.slots) - first.end
        for name in _NOTHING:
            getattr(found, name)[places] = table[name]
    return found._replace(last=_newest(connection, last))


def _newest(connection: sqlite3.Connection, last: int) -> NDArray[np.int64]:
    """The highest number of a row, which was ``last``. A number is used only once."""
    (found,) = connection.execute(_NEWEST, (last,)).fetchone()
    return np.array([last if found is None else found], dtype="<i8")


def _slots(table: NDArray[np.void], *, first: int, end: int) -> NDArray[np.int64]:
    slots: NDArray[np.int64] = table["slots"]
    if len(slots) and not first <= slots.min() <= slots.max() < end:
        raise IndexError(f"rows of vectors have slots beyond {first} to {end - 1}")
    return slots


def _batches(connection: sqlite3.Connection, *, file: int, last: int) -> Iterator[list[tuple[Any, ...]]]:
    rows = connection.execute(_ROWS, (file, last))
    while batch := rows.fetchmany(_BATCH):
        yield batch


def _table(batch: list[tuple[Any, ...]], names: Places) -> NDArray[np.void]:
    found = np.empty(len(batch), dtype=_ROW)
    numbers, slots, ids, sources, changes, checksums = zip(*batch, strict=True)
    found["numbers"], found["slots"], found["ids"], found["checksums"] = numbers, slots, _texts(ids), checksums
    found["sources"] = [names[name] for name in sources]
    found["changes"] = [names[name] for name in changes]
    return found


def _texts(names: list[str] | tuple[str, ...]) -> NDArray[np.bytes_]:
    if any(len(name) > _LONGEST for name in names):
        raise ValueError("an id is longer than 32 characters")
    return np.array(names, dtype="S32")  # raises UnicodeEncodeError, a ValueError, for a name that is not ASCII
