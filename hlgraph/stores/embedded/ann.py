"""Approximate search for very many vectors: an HNSW graph (usearch, an extra) beside the matrix file, made from it.

The index is a cache over the first rows of the matrix: rows written since are scored exactly, and it can be deleted at any
time. Candidates are always scored again from the matrix, so scores are exact and only recall is approximate. It is used
when there are at least ``LEAST_ROWS`` rows, the extra ``ann`` is installed, and no filter narrows the search (a filtered
search is exact: what the filter leaves out costs nothing there).
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

if TYPE_CHECKING:
    from usearch.index import Index

_COUNTS = 8
_MAGIC = b"usearch"
_FORMAT = 2
_KEY_AND_PLACE = (0x0E, 0x0F)
"""Keys of eight bytes, neighbours of four."""
_HEADER = 64
_GRAPH = 5
_KEY, _LEVEL, _DEGREE, _NEIGHBOUR = 8, 2, 4, 4


def overwrite(path: Path, keys: NDArray[np.int64]) -> None:
    """Zero the rows of these keys in the file of an index; keys that it does not hold are passed over.

    Raises
    ------
    ValueError : the file is not laid out as usearch 2 lays it out, with the keys 0 to n - 1; nothing was written
    OSError : it cannot be read or written
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
        raise ValueError("the file of the index ends too early")
    return data[start : start + size].view(dtype)


def _places(data: NDArray[np.uint8], count: int, *, start: int, path: Path) -> NDArray[np.int64]:
    """For each key from 0 on, which row is its own."""
    header = bytes(data[start : start + _HEADER])
    major = int.from_bytes(header[7:9], "little")
    if header[:7] != _MAGIC or major != _FORMAT or tuple(header[15:17]) != _KEY_AND_PLACE:
        raise ValueError(f"{path} is not laid out as usearch {_FORMAT} lays out an index")
    start += _HEADER
    size, links, base_links, _, _ = _numbers(data, start, count=_GRAPH, dtype="<u8").tolist()
    start += 8 * _GRAPH
    levels = _numbers(data, start, count=count, dtype="<i2").astype(np.int64)
    start += _LEVEL * count
    lengths = _KEY + _LEVEL + (_DEGREE + _NEIGHBOUR * base_links) + levels * (_DEGREE + _NEIGHBOUR * links)
    ends = start + np.cumsum(lengths)
    if size != count or (count and int(ends[-1]) != len(data)):
        raise ValueError(f"the index {path} holds {size} nodes for {count} rows, or is not as long as they are")
    keys = data[(ends - lengths)[:, None] + np.arange(_KEY)].view("<u8").ravel()
    places = np.full(count, -1, dtype=np.int64)
    places[keys[keys < count].astype(np.int64)] = np.arange(count)[keys < count]
    if count and places.min() < 0:
        raise ValueError(f"{path} does not hold the keys 0 to {count - 1} once each")
    return places


LEAST_ROWS = 200_000
"""From so many rows on an index is made; below, a product with the whole matrix is as fast."""

_LEAST_TAIL = 20_000
_SAVED_SHARE = 10
_BLOCK = 50_000
_PRECISION = "bf16"
"""Candidates are scored again, so half the bits find the same ones, in a third of the time to add a row."""
_CONNECTIVITY = 16
_EXPANSION_ADD = 128
_EXPANSION_SEARCH = 256


def index_path(matrix: Path) -> Path:
    """Where the index of a matrix file lies."""
    return matrix.with_suffix(".usearch")


def is_installed() -> bool:
    """Whether usearch, the extra ``ann``, is installed."""
    return importlib.util.find_spec("usearch") is not None


class Growing:
    """The indices that one writer extends, kept in its memory between writes; readers have what was last saved.

    Saving and loading take time linear in the index: it is loaded once, and saved when enough was added since. The rows in
    between are scored exactly.
    """

    def __init__(self) -> None:
        self._held: dict[Path, tuple[Index, tuple[int, int], int]] = {}

    def extend(self, matrix: Path, rows: NDArray[np.float32]) -> int:
        """Bring the index to cover all rows, and save it if many were added; returns how many the file covers."""
        path = index_path(matrix)
        index, state, saved = self._held.get(path, (None, (0, 0), 0))
        if index is None or state != _state(path):  # another writer has saved it since
            index = _restored(path, rows)
            saved = len(index)
        if len(rows) > len(index):
            _add(index, rows)
        if len(index) - saved >= (max(_LEAST_TAIL, saved // _SAVED_SHARE) if saved else 1):
            saved = _save(index, path)
        self._held[path] = (index, _state(path), saved)
        return saved

    def forget(self, matrix: Path, slots: NDArray[np.int64]) -> None:
        """Overwrite with zeros what the index of a matrix holds of these rows, in memory and in its file.

        A row that is only removed would stay where it lies. The file is deleted where it cannot be overwritten; it is made
        anew by a later write.
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
            else:  # another writer has saved it since: that is what the next write goes on from
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
        """Whether there is something worth saving."""
        return any(len(index) - saved >= _LEAST_TAIL for index, _, saved in self._held.values())

    def save(self) -> None:
        """Save what is worth it, and let go of all; the caller has the lock of the writer."""
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
    """The saved index, or an empty one where there is none that fits."""
    index_class = _index_class()
    if path.exists():
        with contextlib.suppress(RuntimeError, ValueError, OSError):  # a broken cache is made anew
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
    """Written beside the old one and moved into its place: a reader has the one or the other."""
    fresh = path.with_suffix(".usearch.new")
    index.save(str(fresh))
    fresh.replace(path)
    return len(index)


def candidates(matrix: Path, vector: NDArray[np.float32], *, k: int) -> tuple[NDArray[np.int64], int]:
    """Rows likely to be among the ``k`` best of those that the index covers, and how many it covers (0: no index)."""
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
    # Where usearch is loaded before onnxruntime, loading that ends the process (usearch 2.26, onnxruntime 1.31); the other
    # order is fine. A local model may be loaded later, since vectors of questions may come from the cache.
    with contextlib.suppress(ImportError):
        load_runtime()
    # Where usearch is loaded before simsimd (6.5), simsimd refuses rows of eight bits, which the codes of `coarse` are.
    with contextlib.suppress(ImportError):
        importlib.import_module("simsimd")
    from usearch.index import Index

    made: type[Index] = Index
    return made
