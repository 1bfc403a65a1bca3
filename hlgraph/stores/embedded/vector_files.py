"""The rows of one kind of one corpus as columns in memory-mapped files: ids, sources, changes, checksums, and 8-bit codes.

Readers write them into a folder ``vectors/<file>-<generation>`` beside the matrix. All columns are in the order of slots, as
the matrix is, so an edit changes the places of its own rows only: new slots come at the end, and are read from the database
until they are many; the writer overwrites the places of deleted rows (:meth:`RowFiles.wipe`), so that nothing of them stays.

A file is complete when it appears. A reader holds the lock of the folder from before it reads the database until its files are
there, and the writer wipes under the same lock after its commit. So a deleted row is either wiped or was never written.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.errors import ModelMismatchError
from hlgraph.records import Kind
from hlgraph.stores import files
from hlgraph.stores.embedded import image_changes
from hlgraph.stores.embedded.sqlite import corrupt, key_of, mapped
from hlgraph.stores.embedded.text_rows import entries, forget_file, index_rows, remove_rows
from hlgraph.stores.image import patching
from hlgraph.stores.image.graph_files import ArrayFiles, mapped_file
from hlgraph.stores.protocols import VectorBatch

if TYPE_CHECKING:
    from hlgraph.stores.embedded.database import Database

# A matrix is part of the store, and only the writer changes it. The other files are a cache that readers make: one folder per
# state of a graph and one per generation of a matrix. The writer removes the folders that are of no use any more.

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


def folder_of(database: Database, c: int, *, state: patching.State) -> Path:
    """The folder of the graph of one state of a corpus.

    Parameters
    ----------
    database : database of the store
    c : number of the corpus
    state : state of the corpus
    """
    return database.path / _GRAPH / _name(c, state)


def drop_old_graphs(database: Database) -> None:
    """Remove the files of all graphs that are neither of a present version nor can be patched to one.

    The caller has the lock of the writer.
    """
    folder = database.path / _GRAPH
    if not folder.is_dir():
        return
    used = {_name(c, state) for c, state in image_changes.bases(database.writer())}
    for path in folder.iterdir():
        if path.name not in used:
            shutil.rmtree(path, ignore_errors=True)  # on Windows a reader may have it open: the next change removes it


def drop_older_graphs(database: Database, c: int, *, state: patching.State) -> None:
    """Remove the files of the graphs of a corpus before a state, whose own files are complete.

    Parameters
    ----------
    database : database of the store
    c : number of the corpus
    state : state of the corpus
    """
    for path in (database.path / _GRAPH).glob(f"{FORMAT}-{c}-*-*"):
        if int(path.name.split("-")[2]) < state.version:
            shutil.rmtree(path, ignore_errors=True)


def _name(c: int, state: patching.State) -> str:
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
    """Remove the folders of all generations of a matrix but one, and what an older hlgraph stored beside it.

    Parameters
    ----------
    path : folder of the store
    file : number of the matrix
    kept : state whose folder stays; None: remove all
    """
    for child in (path / "vectors").glob(f"{file}-*"):
        if child.is_dir():
            if kept is None or child != rows_folder(path, kept):
                shutil.rmtree(child, ignore_errors=True)
        elif child.suffix == _OLD_INDEX:
            child.unlink(missing_ok=True)


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
    """Write rows into consecutive slots, and wait until they are on disk.

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
    """Overwrite rows with zeros, and wait until they are on disk.

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


# A first pass with 8-bit codes excludes most rows of a large matrix: memory bandwidth limits a search over 10^5 rows and more.
# The rounding error is bounded row by row, so the remaining rows include all that a float32 product ranks among the k best.
# Only these are multiplied in float32, and the result is identical to the last bit. Without ``simsimd`` (extra ``local``),
# every row is multiplied in float32.

COARSE_LEAST_ROWS = 20_000
"""Minimum number of rows before the first pass saves more time than it costs."""

BLOCK = 8_192
"""Number of rows encoded at once."""
_LEVELS: Final = 127
# Twice the unit roundoff: once for the product, once for the arithmetic of the bounds.
_ROUNDING: Final = float(np.finfo(np.float32).eps)


def is_wanted(rows: int) -> bool:
    """Whether this number of rows is worth a first pass, and simsimd is available."""
    return rows >= COARSE_LEAST_ROWS and _has_exact_products()


@functools.cache
def _has_exact_products() -> bool:
    """Whether simsimd is installed and multiplies codes exactly on this processor, as the bounds assume."""
    if importlib.util.find_spec("simsimd") is None:
        return False
    from simsimd import inner

    codes = np.random.default_rng(0).integers(-_LEVELS, _LEVELS + 1, size=(64, 1_003)).astype(np.int8)
    codes[:2] = [[_LEVELS], [-_LEVELS]]
    wanted = codes.astype(np.int64) @ codes[0].astype(np.int64)
    return bool((np.asarray(inner(codes[0], codes)).reshape(-1) == wanted).all())


class CoarseRows(NamedTuple):
    """Rows as 8-bit codes: ``row = scale * code + rest``. Immutable: a search may use it while another thread adds rows.

    Attributes
    ----------
    codes : shape (n, d)
    scales : shape (n,)
    lengths : shape (n,), Euclidean length of ``scale * code``, rounded up
    rests : shape (n,), Euclidean length of ``rest``, rounded up

    Examples
    --------
    >>> rows = np.eye(4, dtype=np.float32)
    >>> candidates([CoarseRows.of(4).grown(rows)], rows[2], k=1)
    array([2])
    """

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    lengths: NDArray[np.float32]
    rests: NDArray[np.float32]

    @classmethod
    def of(cls, dimensions: int) -> CoarseRows:
        """Codes of no rows."""
        return encoded(np.empty((0, dimensions), dtype=np.float32))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.codes)

    def grown(self, rows: NDArray[np.float32]) -> CoarseRows:
        """The codes of all rows of a matrix, whose first ``size`` rows have codes already (or were zeroed since).

        O(n d) for n new rows.
        """
        starts = range(self.size, len(rows), BLOCK)
        parts = [self, *(encoded(np.asarray(rows[start : start + BLOCK])) for start in starts)]
        return CoarseRows(*map(np.concatenate, zip(*parts, strict=True))) if starts else self

    def bounds(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """An estimate of the product of each row with a vector, and a bound on its error; see :func:`candidates`."""
        from simsimd import inner

        codes, scales, lengths, rests = encoded(vector[np.newaxis].astype(np.float32))
        products = np.asarray(inner(codes[0], self.codes)).reshape(-1).astype(np.float32)
        reach = float(lengths[0] + rests[0])
        rounding = (len(vector) + 8) * _ROUNDING * reach
        with np.errstate(invalid="ignore", over="ignore"):  # a NaN bound keeps its row
            estimates = products * (self.scales * scales[0])
            errors = self.rests * np.float32(reach + rounding) + self.lengths * np.float32(float(rests[0]) + rounding)
        return estimates, errors


def candidates(
    parts: Sequence[CoarseRows],
    vector: NDArray[np.float32],
    *,
    k: int,
    slots: NDArray[np.int64] | None = None,
    without: NDArray[np.int64] | None = None,
) -> NDArray[np.intp]:
    """The positions of the rows that can be among the k highest products with a vector, ascending.

    With ``x = s c + r`` and ``q = t d + u`` the product differs from ``s t c.d`` by ``s c.u + r.q``, which is at most
    ``|s c| |u| + |r| |q|`` (Cauchy and Schwarz); the float32 product also differs by its rounding. The result has the rows
    whose upper bound reaches the k-th highest lower bound. At least k rows are above any other row, whatever the rounding.

    Parameters
    ----------
    parts : the rows, one part after the other
    vector : shape (d,)
    k : number of rows wanted
    slots : rows to look at, and the result counts positions in ``slots``; None: all rows
    without : rows that are left out; without effect if ``slots`` are given
    """
    bounds = [part.bounds(vector) for part in parts if part.size]
    if not bounds:
        return np.empty(0, dtype=np.intp)
    estimates, errors = (np.concatenate(item) if len(item) > 1 else item[0] for item in zip(*bounds, strict=True))
    gone = np.empty(0, dtype=np.int64) if without is None or slots is not None else without
    with np.errstate(invalid="ignore", over="ignore"):
        if slots is not None:
            estimates, errors = estimates[slots], errors[slots]
        estimates[gone], errors[gone] = -np.inf, 0.0
        least = -np.inf
        if k < len(estimates) - len(gone):
            lowest = np.fmax(estimates - errors, -np.inf)  # NaN: not known to be above any row
            least = np.partition(lowest, len(lowest) - k)[len(lowest) - k]
        is_left = ~(estimates + errors < least)
        is_left[gone] = False
        return np.flatnonzero(is_left)


def encoded(rows: NDArray[np.float32]) -> CoarseRows:
    """The codes of some rows."""
    with np.errstate(invalid="ignore", over="ignore"):  # a value that is not finite gives NaN bounds
        scales = np.abs(rows).max(axis=1, initial=0.0) / _LEVELS
        scales[scales < np.finfo(np.float32).tiny] = 0.0
        divisors = np.where(scales == 0.0, 1.0, scales)[:, np.newaxis].astype(np.float32)
        codes = np.nan_to_num(np.rint(rows / divisors)).clip(-_LEVELS, _LEVELS).astype(np.int8)
        coded = codes * scales[:, np.newaxis]
        return CoarseRows(codes, scales, _length(coded), _length(rows - coded))


def _length(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of each row, rounded up; an upper bound even if squares underflow in float32."""
    least = np.float32(np.sqrt(np.finfo(np.float32).tiny) * 2 * rows.shape[1])
    lengths: NDArray[np.float32] = np.sqrt(np.vecdot(rows, rows)) * np.float32(1 + rows.shape[1] * _ROUNDING) + least
    return lengths


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
_ROWS = """
    SELECT n, slot, id, source, change, checksum FROM vector JOIN vector_origin ON o = origin
    WHERE +file = ? AND n > ? ORDER BY n"""
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
    columns = (np.full(slots, _NOTHING[name], dtype=_FIELDS[name]) for name in _NOTHING)
    return Columns(np.empty(0, "S32"), np.empty(0, "<i8"), *columns)


class RowFiles(ArrayFiles):
    """The files for the rows of one generation, as one state knows them."""

    def __init__(self, path: Path, state: State) -> None:
        super().__init__(rows_folder(path, state))
        self._state = state

    def columns(self) -> Columns:
        """The longest columns in the files that are not newer than the state; no rows if there are no files."""
        for part in sorted(self._parts(), reverse=True):
            columns = self.arrays({f"{part}.{name}": dtype for name, dtype in _FIELDS.items()})
            if part <= self._state.writes and columns is not None:
                return Columns(*columns)
        return no_rows()

    def write_columns(self, connection: sqlite3.Connection) -> None:
        """Write all rows, a batch at a time, and remove the files with fewer rows; the caller has the lock of the folder.

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
        stored, (file, _, _, writes, _, slots) = self.columns(), self._state
        names = {str(name, "ascii"): at for at, name in enumerate(stored.names) if name}
        known = len(names)
        rows = self.folder / "rows.loose"
        with files.write_bytes(rows) as out:
            for batch in _batches(connection, file=file, last=stored.number):
                out.write(_table(batch, names, wiped=len(stored.names) - known).tobytes())
        table = self.mapped(rows.name, _ROW)
        self.write(f"{writes}.names", [stored.names, _texts(list(names)[known:])])
        self.write(f"{writes}.last", [_newest(connection, stored.number)])
        for field, nothing in _NOTHING.items():  # the ids come last: once they exist, the set is complete
            with self.filling(f"{writes}.{field}", _FIELDS[field], size=slots) as column:
                column[: stored.end] = getattr(stored, field)
                column[stored.end :] = nothing
                for at in range(0, len(table), _BATCH):
                    column[_slots(table[at : at + _BATCH], first=0, end=slots)] = table[field][at : at + _BATCH]
        for part in self._parts() - {writes}:
            for field in _FIELDS:
                (self.folder / f"{part}.{field}").unlink(missing_ok=True)

    def wipe(self, slots: NDArray[np.int64]) -> None:
        """Overwrite what the files hold of some slots, and ids of sources and changes that no row has any more.

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
                    with self._changing(f"{part}.{name}", dtype) as codes:
                        codes.reshape(part, -1)[slots[slots < part]] = 0

    def _wipe_columns(self, part: int, slots: NDArray[np.int64]) -> None:
        with contextlib.ExitStack() as stack:
            columns = {
                name: stack.enter_context(self._changing(f"{part}.{name}", dtype)) for name, dtype in _FIELDS.items()
            }
            places = slots[slots < len(columns["ids"])]
            users = (columns["sources"], columns["changes"])
            touched = np.unique(np.concatenate([column[places] for column in users]))
            for name, nothing in _NOTHING.items():
                columns[name][places] = nothing
            is_used = np.isin(touched, users[0]) | np.isin(touched, users[1]) | (touched == NO_ROW)
            columns["names"][touched[~is_used]] = b""

    @contextlib.contextmanager
    def _changing(self, name: str, dtype: str) -> Iterator[NDArray[Any]]:
        """A file to change in place, in the pages that it shares with all readers; on disk after the block."""
        yield mapped_file(self.folder / name, dtype, mode="r+")
        files.sync(self.folder / name)

    def codes(self, dimensions: int) -> CoarseRows | None:
        """The codes of as many slots as the files hold; None if they hold none."""
        for part in sorted(self._parts(_LAST_CODE), reverse=True):
            arrays = self.arrays({f"{part}.{name}": dtype for name, dtype in _CODES.items()})
            if arrays is not None:
                return CoarseRows(arrays[0].reshape(-1, dimensions), *arrays[1:])
        return None

    def write_codes(self, matrix: NDArray[np.float32]) -> None:
        """Write the codes of all slots of a matrix, a block at a time; those in files are copied.

        Raises
        ------
        OSError
            The folder is not writable, or was removed.
        """
        count, dimensions = matrix.shape
        older = self._parts(_LAST_CODE) - {count}
        stored = self.codes(dimensions) or CoarseRows.of(dimensions)
        with contextlib.ExitStack() as stack:
            arrays = [
                stack.enter_context(
                    self.filling(f"{count}.{name}", dtype, size=count * (dimensions if name == "codes" else 1))
                )
                for name, dtype in reversed(_CODES.items())  # the stack unwinds in reverse: _LAST_CODE appears last
            ][::-1]
            for start in range(0, count, BLOCK):
                part = slice(start, start + BLOCK)
                is_stored = start + BLOCK <= stored.size
                block = [item[part] for item in stored] if is_stored else encoded(np.asarray(matrix[part]))
                for array, item in zip(arrays, block, strict=True):
                    array.reshape(count, -1)[part] = item.reshape(len(item), -1)
        for last in older:
            for name in _CODES:
                (self.folder / f"{last}.{name}").unlink(missing_ok=True)

    def _parts(self, last: str = "ids") -> set[int]:
        return {int(path.stem) for path in self.folder.glob(f"*.{last}")} if self.folder.is_dir() else set()


_ROW = np.dtype(
    [
        ("numbers", "<i8"),
        ("slots", "<i8"),
        *((name, _FIELDS[name]) for name in ("ids", "sources", "changes", "checksums")),
    ]
)


def read_columns(
    connection: sqlite3.Connection, known: Columns, *, state: State, first: Columns, names: dict[str, int]
) -> Columns:
    """The rows of all slots of a state after those in files, in memory, with empty ``names``.

    Parameters
    ----------
    connection : connection to read with
    known : these rows, as an older state knew them; later ones are read
    state : state of the matrix
    first : the rows in files
    names : position of each id of a source or change, counted from the end of the names of ``first``; new ids are added

    Raises
    ------
    IndexError
        A row has a slot that the state does not have.
    """
    last = max(known.number, first.number)
    columns = no_rows(state.slots - first.end)
    for name in _NOTHING:
        getattr(columns, name)[: known.end] = getattr(known, name)
    for batch in _batches(connection, file=state.file, last=last):
        table = _table(batch, names, wiped=len(first.names))
        places = _slots(table, first=first.end, end=state.slots) - first.end
        for name in _NOTHING:
            getattr(columns, name)[places] = table[name]
    return columns._replace(last=_newest(connection, last))


def _newest(connection: sqlite3.Connection, last: int) -> NDArray[np.int64]:
    """The highest number of a row, which was ``last``. A number is used only once."""
    (newest,) = connection.execute(_NEWEST, (last,)).fetchone()
    return np.array([last if newest is None else newest], dtype="<i8")


def _slots(table: NDArray[np.void], *, first: int, end: int) -> NDArray[np.int64]:
    slots: NDArray[np.int64] = table["slots"]
    if len(slots) and not first <= slots.min() <= slots.max() < end:
        raise IndexError(f"rows of vectors have slots beyond {first} to {end - 1}")
    return slots


def _batches(connection: sqlite3.Connection, *, file: int, last: int) -> Iterator[list[tuple[Any, ...]]]:
    rows = connection.execute(_ROWS, (file, last))
    while batch := rows.fetchmany(_BATCH):
        yield batch


def _table(batch: list[tuple[Any, ...]], names: dict[str, int], *, wiped: int) -> NDArray[np.void]:
    """Rows of the database as an array; new names get the positions after ``names`` and as many more positions."""
    table = np.empty(len(batch), dtype=_ROW)
    numbers, slots, ids, sources, changes, checksums = zip(*batch, strict=True)
    for name in dict.fromkeys((*sources, *changes)):
        names.setdefault(name, wiped + len(names))
    table["numbers"], table["slots"], table["ids"], table["checksums"] = numbers, slots, _texts(ids), checksums
    table["sources"] = [names[name] for name in sources]
    table["changes"] = [names[name] for name in changes]
    return table


def _texts(names: list[str] | tuple[str, ...]) -> NDArray[np.bytes_]:
    if any(len(name) > _LONGEST for name in names):
        raise ValueError("an id is longer than 32 characters")
    return np.array(names, dtype="S32")  # raises UnicodeEncodeError, a ValueError, for a name that is not ASCII


# Writing appends to the matrix first and then commits the slot numbers in one transaction. Removing frees slots in a
# transaction; at its end, when no search reads an older state, the writer overwrites them with zeros.
# A new generation of the matrix is written when most slots are free.

_COMPACT = 1_000  # minimum number of free slots before the matrix is rewritten


def states(
    connection: sqlite3.Connection, condition: str, *, values: Sequence[str | int] = ()
) -> list[tuple[str, Kind, State]]:
    """Corpus, kind and state of some matrices.

    Parameters
    ----------
    connection : connection to read with
    condition : the end of the statement
    values : its parameters
    """
    rows = connection.execute(
        f"SELECT corpus, kind, file, generation, deletes, writes, dimensions, slots FROM vector_file {condition}",
        values,
    )
    return [(corpus, Kind(kind), State(*rest)) for corpus, kind, *rest in rows]


def write_block(database: Database, block: VectorBlock, *, batch: VectorBatch) -> None:
    """Write the rows of one kind; the caller holds the transaction.

    A row with an id that the store holds replaces the old row, unless the same change wrote it.

    Parameters
    ----------
    database : database of the store
    block : rows of one kind
    batch : the batch that the block belongs to

    Raises
    ------
    ModelMismatchError
        The vectors have another length than those of the corpus.
    """
    connection = database.writer()
    connection.execute(
        "INSERT OR IGNORE INTO vector_file (corpus, kind, dimensions) VALUES (?, ?, ?)",
        (batch.corpus, block.kind, block.dimensions),
    )
    ((_, _, state),) = states(connection, "WHERE corpus = ? AND kind = ?", values=(batch.corpus, block.kind))
    file, slots = state.file, state.slots
    if state.dimensions != block.dimensions:
        raise ModelMismatchError(
            f"corpus {batch.corpus!r} holds {block.kind} vectors of {state.dimensions} dimensions, these have "
            f"{block.dimensions}; use the embedding model of the corpus, or another corpus"
        )
    known_changes = dict(
        connection.execute(
            "SELECT id, change FROM vector JOIN vector_origin ON o = origin "
            "WHERE file = ? AND key IN (SELECT hlgraph_key(value) FROM json_each(?))",
            (file, json.dumps(block.ids)),
        )
    )
    fresh = [at for at, item in enumerate(block.ids) if known_changes.get(item) != batch.change_id]
    if not fresh:
        return
    replaced = [block.ids[at] for at in fresh if block.ids[at] in known_changes]
    if replaced:
        free_rows(database, file, wanted=json.dumps(replaced))
    rows = np.ascontiguousarray(block.matrix()[fresh], dtype="<f4")
    write_rows(matrix_path(database.path, file, generation=state.generation), slots, rows=rows)
    last = connection.execute("SELECT coalesce(max(n), 0) FROM vector").fetchone()[0]
    origins = _added_origins(connection, Counter(block.source_ids[at] for at in fresh), change=batch.change_id)
    connection.executemany(
        "INSERT INTO vector (file, key, origin, slot, checksum) VALUES (?, ?, ?, ?, ?)",
        (
            (file, key_of(block.ids[at]), origins[block.source_ids[at]], slots + place, zlib.crc32(rows[place]))
            for place, at in enumerate(fresh)
        ),
    )
    n = dict(connection.execute("SELECT id, n FROM vector WHERE n > ? AND +file = ?", (last, file)))
    texts = entries([block.texts[at] for at in fresh])
    index_rows(connection, file, rows=[(n[block.ids[at]], text) for at, text in zip(fresh, texts, strict=True)])
    connection.execute(
        "UPDATE vector_file SET slots = slots + ?, writes = writes + 1 WHERE file = ?", (len(fresh), file)
    )


def _added_origins(connection: sqlite3.Connection, sources: Mapping[str, int], *, change: str) -> dict[str, int]:
    """The number of the origin of the rows of each source that a change writes, with their counts added."""
    connection.executemany(
        "INSERT INTO vector_origin (change, source, rows) VALUES (?, ?, ?) "
        "ON CONFLICT (change, source) DO UPDATE SET rows = rows + excluded.rows",
        ((change, source, count) for source, count in sources.items()),
    )
    query = "SELECT source, o FROM vector_origin WHERE change = ? AND source IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(query, (change, json.dumps(list(sources)))))


def _drop_from_origins(connection: sqlite3.Connection, counts: Mapping[int, int]) -> None:
    """Take rows from the counts of their origins; those without rows go."""
    connection.executemany("UPDATE vector_origin SET rows = rows - ? WHERE o = ?", ((n, o) for o, n in counts.items()))
    connection.executemany("DELETE FROM vector_origin WHERE o = ? AND rows < 1", ((o,) for o in counts))


def set_sources(connection: sqlite3.Connection, sources: Mapping[int, str]) -> None:
    """Write the sources of some rows again; the caller holds the transaction.

    Parameters
    ----------
    connection : connection of the writer
    sources : by number of the row
    """
    rows = connection.execute(
        "SELECT n, origin, coalesce(change, '') FROM vector LEFT JOIN vector_origin ON o = origin "
        "WHERE n IN (SELECT value FROM json_each(?))",
        (json.dumps(list(sources)),),
    ).fetchall()
    for n, old, change in rows:
        origin = _added_origins(connection, {sources[n]: 1}, change=change)[sources[n]]
        connection.execute("UPDATE vector SET origin = ? WHERE n = ?", (origin, n))
        _drop_from_origins(connection, {old: 1})


def free_rows(database: Database, file: int, *, wanted: str) -> int:
    """Remove rows and free their slots; the caller holds the transaction. The writer overwrites the slots at its end.

    Parameters
    ----------
    database : database of the store
    file : number of the matrix
    wanted : ids as a JSON array

    Returns
    -------
    int
        How many rows were removed.
    """
    connection = database.writer()
    rows = connection.execute(
        "SELECT n, slot, origin FROM vector WHERE file = ? AND key IN (SELECT hlgraph_key(value) FROM json_each(?))",
        (file, wanted),
    ).fetchall()
    if not rows:
        return 0
    ((_, _, state),) = states(connection, "WHERE file = ?", values=(file,))
    _note_zeroed(database, state)
    remove_rows(connection, file, rows=[n for n, _, _ in rows])
    connection.executemany("DELETE FROM vector WHERE n = ?", ((n,) for n, _, _ in rows))
    _drop_from_origins(connection, Counter(origin for _, _, origin in rows))
    connection.executemany(
        "INSERT OR IGNORE INTO vector_free (file, slot) VALUES (?, ?)", ((file, slot) for _, slot, _ in rows)
    )
    connection.execute("UPDATE vector_file SET deletes = deletes + 1 WHERE file = ?", (file,))
    return len(rows)


def clean_files(database: Database) -> None:
    """Overwrite all freed rows on disk, and drop cached files of old states; at the end of a writer, when the log is empty.

    The next writer that frees a row (:func:`free_rows`) records which rows are zero: to write that here would fill the log.

    Parameters
    ----------
    database : database of the store
    """
    unclean = "WHERE file IN (SELECT file FROM vector_free WHERE is_zeroed = 0)"
    with mapped(database.path):
        for _, _, state in states(database.writer(), unclean):
            _clean(database, state)


def _clean(database: Database, state: State) -> None:
    """Overwrite the freed rows of a matrix; rewrite it if most of its slots are free."""
    connection, file, slots = database.writer(), state.file, state.slots
    drop_old_rows(database.path, file, kept=state)
    free = connection.execute("SELECT slot, is_zeroed FROM vector_free WHERE file = ?", (file,)).fetchall()
    path = matrix_path(database.path, file, generation=state.generation)
    for other in path.parent.glob(f"{file}-*{path.suffix}"):
        if other != path:
            _remove(other)
    freed = np.array([slot for slot, done in free if not done], dtype=np.int64)
    if rows_folder(database.path, state).is_dir():
        RowFiles(database.path, state).wipe(freed)
    zero_rows(path, freed, dimensions=state.dimensions)  # last: if a row is zero, nothing else holds it
    if len(free) == slots or len(free) >= max(_COMPACT, slots // 2):
        rows = 0 if len(free) == slots else slots
        move_rows(database, state, matrix=read_rows(path, rows, dimensions=state.dimensions))


def _note_zeroed(database: Database, state: State) -> None:
    """Record which freed rows an earlier writer has overwritten; the caller holds the transaction."""
    connection = database.writer()
    query = "SELECT slot FROM vector_free WHERE file = ? AND is_zeroed = 0 AND slot < ?"
    freed = [slot for (slot,) in connection.execute(query, (state.file, state.slots))]
    path = matrix_path(database.path, state.file, generation=state.generation)
    if not freed or not path.exists():
        return
    matrix = read_rows(path, state.slots, dimensions=state.dimensions)
    zeroed = [slot for slot in freed if not matrix[slot].any()]
    connection.execute(
        "UPDATE vector_free SET is_zeroed = 1 WHERE file = ? AND slot IN (SELECT value FROM json_each(?))",
        (state.file, json.dumps(zeroed)),
    )


def move_rows(database: Database, state: State, *, matrix: NDArray[np.float32]) -> None:
    """Move the rows of a matrix to a new file without free slots; drop the matrix if no row is left.

    Parameters
    ----------
    database : database of the store
    state : state of the matrix
    matrix : the rows by slot
    """
    connection, file = database.writer(), state.file
    path = matrix_path(database.path, file, generation=state.generation)
    kept = connection.execute("SELECT n, slot FROM vector WHERE file = ? ORDER BY slot", (file,)).fetchall()
    if not kept:  # forget the dimensions, so that another model may fill it
        with database.transaction():
            connection.execute("DELETE FROM vector_free WHERE file = ?", (file,))
            forget_file(connection, file)
            connection.execute("DELETE FROM vector_file WHERE file = ?", (file,))
        _remove(path)
        drop_old_rows(database.path, file, kept=None)
        return
    with mapped(database.path):
        fresh = matrix_path(database.path, file, generation=state.generation + 1)
        fresh.unlink(missing_ok=True)
        write_rows(fresh, 0, rows=matrix[[slot for _, slot in kept]])
    with database.transaction():
        connection.executemany(
            "UPDATE vector SET slot = ? WHERE n = ?", ((place, n) for place, (n, _) in enumerate(kept))
        )
        connection.execute("DELETE FROM vector_free WHERE file = ?", (file,))
        connection.execute(
            "UPDATE vector_file SET generation = generation + 1, slots = ?, deletes = deletes + 1 WHERE file = ?",
            (len(kept), file),
        )
    if database.drain():  # else the next writer removes it
        _remove(path)
    drop_old_rows(database.path, file, kept=None)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # on Windows a reader may have the file open
        path.unlink(missing_ok=True)
