"""Approximate nearest neighbours for very many vectors: an HNSW index (usearch, an extra) in a file beside the matrix.

The index is a cache over the first rows of the matrix: later rows are scored exactly, and the file can be deleted at any
time. Candidates are always scored again from the matrix, so that scores are exact and only recall is approximate. A search
uses the index if there are at least ``LEAST_ROWS`` rows, the extra ``ann`` is installed, and it has no filter: a filtered
search is exact, because the rows that the filter excludes cost nothing.

:class:`Growing` writes the indices, :func:`candidates` searches them, :func:`overwrite` erases deleted rows in a file.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hlgraph.models.local.runtime import load_runtime
from hlgraph.stores import files

if TYPE_CHECKING:
    from usearch.index import Index

LEAST_ROWS = 200_000
"""Minimum number of rows before an ANN index is built; below it, a product with the whole matrix is as fast."""

_LEAST_TAIL = 20_000  # minimum number of new rows before the index is saved again,
_SAVED_SHARE = 10  # or one in this many of the rows already saved, if that is more
_BLOCK = 50_000
_PRECISION = "bf16"
"""Candidates are scored again, so half the bits find the same ones, in a third of the time to add a row."""
_CONNECTIVITY = 16
_EXPANSION_ADD = 128
_EXPANSION_SEARCH = 256

# The layout of an index file of usearch 2, in bytes.
_COUNTS = 8
_MAGIC = b"usearch"
_FORMAT = 2
_KEY_AND_PLACE = (0x0E, 0x0F)
"""Type codes: keys of 8 bytes, neighbours of 4."""
_HEADER = 64
_GRAPH = 5
_KEY, _LEVEL, _DEGREE, _NEIGHBOUR = 8, 2, 4, 4


def overwrite(path: Path, keys: NDArray[np.int64]) -> None:
    """Overwrites rows with zeros in the file of an index.

    Parameters
    ----------
    path : file of the index
    keys : keys of the rows; keys that the index does not hold are ignored

    Raises
    ------
    ValueError
        The file has another layout than that of usearch 2 with the keys 0 to n - 1; nothing was written.
    OSError
        The file cannot be read or written.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    count, width = _numbers(data, 0, count=2, dtype="<u4").tolist()
    places = _places(data, count, start=_COUNTS + count * width, path=path)
    wanted = np.sort(places[keys[keys < count]])
    with path.open("r+b") as file:
        for place in wanted.tolist():
            file.seek(_COUNTS + place * width)
            file.write(bytes(width))
        file.flush()
        os.fsync(file.fileno())


def _numbers(data: NDArray[np.uint8], start: int, *, count: int, dtype: str) -> NDArray[Any]:
    size = np.dtype(dtype).itemsize * count
    if start + size > len(data):
        raise ValueError("the index file is truncated")
    return data[start : start + size].view(dtype)


def _places(data: NDArray[np.uint8], count: int, *, start: int, path: Path) -> NDArray[np.int64]:
    """The row of each key, from key 0 on."""
    header = bytes(data[start : start + _HEADER])
    major = int.from_bytes(header[7:9], "little")
    if header[:7] != _MAGIC or major != _FORMAT or tuple(header[15:17]) != _KEY_AND_PLACE:
        raise ValueError(f"{path} does not have the layout of an index of usearch {_FORMAT}")
    start += _HEADER
    size, links, base_links, _, _ = _numbers(data, start, count=_GRAPH, dtype="<u8").tolist()
    start += 8 * _GRAPH
    levels = _numbers(data, start, count=count, dtype="<i2").astype(np.int64)
    start += _LEVEL * count
    lengths = _KEY + _LEVEL + (_DEGREE + _NEIGHBOUR * base_links) + levels * (_DEGREE + _NEIGHBOUR * links)
    ends = start + np.cumsum(lengths)
    if size != count or (count and int(ends[-1]) != len(data)):
        raise ValueError(f"the index {path} holds {size} nodes for {count} rows, or its length does not fit them")
    keys = data[(ends - lengths)[:, None] + np.arange(_KEY)].view("<u8").ravel()
    places = np.full(count, -1, dtype=np.int64)
    places[keys[keys < count].astype(np.int64)] = np.arange(count)[keys < count]
    if count and places.min() < 0:
        raise ValueError(f"{path} does not hold the keys 0 to {count - 1} once each")
    return places


def index_path(matrix: Path) -> Path:
    """The path of the index of a matrix file."""
    return matrix.with_suffix(".usearch")


def is_installed() -> bool:
    """Whether usearch, the extra ``ann``, is installed."""
    return importlib.util.find_spec("usearch") is not None


class Growing:
    """The indices that a writer extends; it keeps them in memory between writes, and readers use the saved files.

    Saving and loading take time linear in the index. An index is therefore loaded once, and saved only after enough rows
    were added. Readers score the unsaved rows exactly.
    """

    def __init__(self) -> None:
        self._held: dict[Path, tuple[Index, tuple[int, int], int]] = {}

    def extend(self, matrix: Path, rows: NDArray[np.float32]) -> int:
        """Adds the new rows of a matrix to its index, and saves it if they are many.

        Parameters
        ----------
        matrix : path of the matrix file
        rows : all rows of the matrix

        Returns
        -------
        int
            How many rows the saved file covers.
        """
        path = index_path(matrix)
        index, state, saved = self._held.get(path, (None, (0, 0), 0))
        if index is None or state != _state(path):  # another writer may have saved it since
            index = _restored(path, rows)
            saved = len(index)
        if len(rows) > len(index):
            _add(index, rows)
        if len(index) - saved >= (max(_LEAST_TAIL, saved // _SAVED_SHARE) if saved else 1):
            saved = _save(index, path)
        self._held[path] = (index, _state(path), saved)
        return saved

    def forget(self, matrix: Path, slots: NDArray[np.int64]) -> None:
        """Overwrites rows with zeros in the index of a matrix, in memory and in its file.

        Merely removing a row would leave its data in the file. A file that cannot be overwritten is deleted, and a later
        write builds it again.

        Parameters
        ----------
        matrix : path of the matrix file
        slots : rows to overwrite
        """
        if not len(slots):
            return
        path = index_path(matrix)
        index, state, saved = self._held.get(path, (None, (0, 0), 0))
        if index is not None:
            if state == _state(path):
                known = slots[slots < len(index)].astype(np.uint64)
                index.remove(known)
                index.add(known, np.zeros((len(known), index.ndim), dtype=np.float32))
            else:  # another writer has saved it since: the next write continues from its file
                del self._held[path]
        if path.exists():
            try:
                overwrite(path, slots)
            except (ValueError, OSError):
                path.unlink(missing_ok=True)
        if index is not None and path in self._held:
            if path.exists():
                self._held[path] = (index, _state(path), saved)
            else:
                del self._held[path]

    def is_ahead(self) -> bool:
        """Whether an index has enough unsaved rows to be worth saving."""
        return any(len(index) - saved >= _LEAST_TAIL for index, _, saved in self._held.values())

    def save(self) -> None:
        """Saves the indices with many unsaved rows, and releases all of them; the caller has the lock of the writer."""
        for path, (index, state, saved) in self._held.items():
            if state == _state(path) and len(index) - saved >= _LEAST_TAIL:
                _save(index, path)
        self._held.clear()


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _restored(path: Path, rows: NDArray[np.float32]) -> Index:
    """The saved index, or an empty one if no saved index fits the rows."""
    index_class = _index_class()
    if path.exists():
        with contextlib.suppress(RuntimeError, ValueError, OSError):  # a broken cache is rebuilt
            index = index_class.restore(str(path))
            if index is not None and index.ndim == rows.shape[1] and len(index) <= len(rows):
                return index
    return index_class(
        ndim=rows.shape[1],
        metric="ip",
        dtype=_PRECISION,
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
    )


def _add(index: Index, rows: NDArray[np.float32]) -> None:
    for start in range(len(index), len(rows), _BLOCK):
        part = np.ascontiguousarray(rows[start : start + _BLOCK])
        index.add(np.arange(start, start + len(part), dtype=np.uint64), part)


def _save(index: Index, path: Path) -> int:
    """Saves an index beside the old file and then replaces that file, so that a reader opens one or the other."""
    fresh = path.with_suffix(".usearch.new")
    files.reserve(fresh)
    index.save(str(fresh))
    fresh.replace(path)
    return len(index)


def candidates(matrix: Path, vector: NDArray[np.float32], *, k: int) -> tuple[NDArray[np.int64], int]:
    """The rows that the index of a matrix ranks highest.

    Parameters
    ----------
    matrix : path of the matrix file
    vector : shape (d,)
    k : number of rows

    Returns
    -------
    tuple
        The rows, best first, and how many rows of the matrix the index covers; 0 if there is no index.
    """
    path = index_path(matrix)
    try:
        found = path.stat()
    except OSError:
        return np.empty(0, dtype=np.int64), 0
    index = _opened(str(path), found.st_mtime_ns, found.st_size)
    matches = index.search(vector.astype(np.float32), min(k, len(index)))
    return np.asarray(matches.keys, dtype=np.int64), len(index)


@lru_cache(maxsize=8)
def _opened(path: str, _changed: int, _size: int) -> Index:
    index = _index_class().restore(path, view=os.name != "nt")
    index.expansion_search = _EXPANSION_SEARCH
    return index


def _index_class() -> type[Index]:
    # Loading onnxruntime after usearch crashes the process (usearch 2.26, onnxruntime 1.31); the other order is fine. A
    # local model may be loaded later than this, because vectors of questions may come from a cache.
    with contextlib.suppress(ImportError):
        load_runtime()
    # If usearch is loaded before simsimd (6.5), simsimd rejects 8-bit rows such as the codes of `coarse`.
    with contextlib.suppress(ImportError):
        importlib.import_module("simsimd")
    from usearch.index import Index

    made: type[Index] = Index
    return made
