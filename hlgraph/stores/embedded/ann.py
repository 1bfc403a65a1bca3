"""Approximate search for very many vectors: an HNSW graph (usearch, an extra) beside the matrix file, made from it.

The index is a cache over the first rows of the matrix: rows written since are scored exactly, and it can be deleted at any
time. Candidates are always scored again from the matrix, so scores are exact and only recall is approximate. It is used
when there are at least ``LEAST_ROWS`` rows, the extra ``ann`` is installed, and no filter narrows the search (a filtered
search is exact: what the filter leaves out costs nothing there).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hlgraph.models.local.runtime import load_runtime

if TYPE_CHECKING:
    from usearch.index import Index

LEAST_ROWS = 200_000
"""From so many rows on an index is made; below, a product with the whole matrix is as fast."""

_LEAST_TAIL = 20_000
_CONNECTIVITY = 16
_EXPANSION_ADD = 128
_EXPANSION_SEARCH = 256


def index_path(matrix: Path) -> Path:
    """Where the index of a matrix file lies."""
    return matrix.with_suffix(".usearch")


def is_wanted(rows: int) -> bool:
    """Whether so many rows are worth an index, and usearch is there to make it."""
    return rows >= LEAST_ROWS and importlib.util.find_spec("usearch") is not None


def extend(matrix: Path, rows: NDArray[np.float32]) -> int:
    """Bring the index to cover all rows, if enough are missing; returns how many it covers.

    Written beside the old one and moved into its place: a reader has the one or the other.
    """
    index_class = _index_class()
    path = index_path(matrix)
    index = None
    if path.exists():
        with contextlib.suppress(RuntimeError, ValueError, OSError):  # a broken cache is made anew
            index = index_class.restore(str(path))
    if index is None or index.ndim != rows.shape[1] or len(index) > len(rows):
        index = index_class(
            ndim=rows.shape[1],
            metric="ip",
            dtype="f32",
            connectivity=_CONNECTIVITY,
            expansion_add=_EXPANSION_ADD,
            expansion_search=_EXPANSION_SEARCH,
        )
    covered = len(index)
    if len(rows) - covered >= (_LEAST_TAIL if covered else 1):
        index.add(np.arange(covered, len(rows), dtype=np.uint64), np.ascontiguousarray(rows[covered:]))
        fresh = path.with_suffix(".usearch.new")
        index.save(str(fresh))
        fresh.replace(path)
        covered = len(rows)
    return covered


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
    from usearch.index import Index

    made: type[Index] = Index
    return made
