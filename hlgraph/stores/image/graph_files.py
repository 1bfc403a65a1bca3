"""The graph of one version of a corpus in memory-mapped files: its nodes, and each relationship as :class:`Links`.

The folder is a cache, for one state of one corpus. The embedded store keeps it beside the database, in
``graph/<format>-<corpus>-<version>-<stamp>``: the first reader that needs it writes it if it can, later versions are patched
on it, and a writer removes it when no later version can be. A reader creates the folder before it checks that its version is
still the present one, so that a removed folder is never filled afterwards. Ids of deleted nodes, which are hashes, stay until the
next reader has written the patched graph to new files. The folder of a Neo4j server is described in
:mod:`hlgraph.stores.neo4j.images`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from filelock import FileLock
from numpy.typing import DTypeLike, NDArray

from hlgraph.stores import files
from hlgraph.stores.image.arrays import BLOCK, Links, Nodes, OneWay, Pairs, Way, blocks
from hlgraph.stores.image.image import EVEN, FOLLOWED, SAID, Image
from hlgraph.subgraph import Csr

_UNFINISHED = frozenset({".new", ".loose", ".cursor"})


class ArrayFiles:
    """Named arrays in one folder: a rebuildable cache, which another process may remove at any moment.

    One process at a time writes a folder, and a file appears under its name only when it is complete.

    Parameters
    ----------
    folder : folder of the files; :meth:`making` creates it
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def making(self, *, wait: float | None = None) -> Iterator[None]:
        """Create the folder, and hold the exclusive right to write to it.

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
        with contextlib.suppress(OSError):
            return self.mapped(name, dtype)
        return None

    def mapped(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """A memory-mapped array. Raises OSError if its file does not exist.

        Parameters
        ----------
        name : name of the array
        dtype : type of its elements
        """
        return mapped_file(self.folder / name, dtype)

    def arrays(self, dtypes: Mapping[str, DTypeLike]) -> list[NDArray[Any]] | None:
        """Several memory-mapped arrays, by name and type; None if any of their files does not exist."""
        with contextlib.suppress(OSError):
            return [self.mapped(name, dtype) for name, dtype in dtypes.items()]
        return None

    def write(self, name: str, blocks: Iterable[NDArray[Any]]) -> None:
        """Write an array block by block.

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
        """Yield an array to fill in any order; its file appears under its name after the block.

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
        yield mapped_file(path, dtype, mode="r+")
        files.sync(path)
        path.replace(self.folder / name)


def log_level(error: Exception) -> int:
    """The level of a message that arrays stay in memory: a warning on a full disk, else information.

    Parameters
    ----------
    error : why they were not written
    """
    return logging.WARNING if isinstance(error, OSError) and error.errno in files.FULL else logging.INFO


def mapped_file(path: Path, dtype: DTypeLike, *, mode: Literal["r", "r+"] = "r") -> NDArray[Any]:
    """A file as a memory-mapped array.

    Parameters
    ----------
    path : path of the file
    dtype : type of its elements
    mode : ``r+`` to write to the file
    """
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode=mode))


_NODES = {"ids": "S32", "kinds": "u1", "sources": "<i4"}
_COPIED = 20_000
"""Number of links copied at once, in less than a millisecond."""
_RESTS = 4.0
"""How many times as long as it works a thread rests that copies links behind searches."""
_COO = np.dtype([("a", "<i4"), ("b", "<i4"), ("weight", "<f4")])


class GraphFiles(ArrayFiles):
    """The files of the graph of one version of one corpus."""

    def nodes(self) -> Nodes | None:
        """The nodes, mapped; None if they are not in the files."""
        arrays = self.arrays(_NODES)
        return None if arrays is None else Nodes(*arrays)

    def image(self, version: int, *, mark: Hashable = None) -> Image | None:
        """All of the graph, mapped; None if any part is not in the files.

        Parameters
        ----------
        version, mark : see :class:`hlgraph.stores.image.image.Image`
        """
        nodes = self.nodes()
        if nodes is None:
            return None
        links: dict[str, Links] = {}
        for name in (*FOLLOWED, SAID):
            stored = self.links(name, nodes.size)
            if stored is None:
                return None
            links[name] = stored
        return Image(nodes, links, version=version, mark=mark)

    def write_image(self, image: Image, *, hurry: threading.Event | None = None) -> None:
        """Write all that an image holds, a block at a time; the nodes appear last.

        Its links are in order in both directions: they are copied, in time linear in their number.

        Parameters
        ----------
        image : the image
        hurry : until it is set, the thread rests four times as long as it works, because searches run meanwhile; None: no rest
        """
        for name, item in image.links.items():
            with self._laid_out(name, item.there.total, size=image.nodes.size) as ways:
                for target, way in zip(ways, (item.there, item.back), strict=True):
                    _copy(way, to=target, hurry=hurry)
        nodes = image.nodes.plain()
        for name, dtype in reversed(_NODES.items()):
            self.write(name, [getattr(nodes, name).astype(dtype, copy=False)])

    def links(self, name: str, size: int) -> Links | None:
        """The links of a relationship; None if they are not in the files.

        Parameters
        ----------
        name : name of the relationship
        size : number of nodes of the graph
        """
        array = self.array(name, np.uint8)
        return None if array is None else Links(*_ways(array, size), name in EVEN)

    def write_links(self, name: str, rows: Iterable[Pairs], *, size: int) -> None:
        """Write a relationship from blocks of its links.

        Time is linear in the number of links, apart from sorting inside a block. Memory is that of one block, and file pages
        that the system may evict at any time.

        Parameters
        ----------
        name : name of the relationship
        rows : blocks of links, each pair of nodes at most once
        size : number of nodes of the graph

        Raises
        ------
        OSError
            The folder is not writable, or the disk is full.
        """
        loose, cursor = (self.folder / f"{name}.{part}" for part in ("loose", "cursor"))
        count = 0
        with files.write_bytes(loose) as out:
            for block in rows:
                out.write(np.rec.fromarrays(block, dtype=_COO).tobytes())
                count += len(block[0])
        files.allocate(cursor, 8 * size)
        place = mapped_file(cursor, np.int64, mode="r+")
        table = mapped_file(loose, _COO)
        with self._laid_out(name, count, size=size) as (there, back):
            for one, end in ((there, "a"), (back, "b")):
                for start in range(0, count, BLOCK):
                    nodes, number = np.unique(table[end][start : start + BLOCK], return_counts=True)
                    one.starts[nodes + 1] += number
                np.cumsum(one.starts, out=one.starts)
            _scatter(back, ((part["b"], part["a"], part["weight"]) for part in cut(table)), place)
            _scatter(there, _turned(back), place)  # visiting the nodes in order leaves the targets ascending
            _scatter(back, _turned(there), place)

    @contextlib.contextmanager
    def _laid_out(self, name: str, count: int, *, size: int) -> Iterator[tuple[OneWay, OneWay]]:
        """Both directions of a relationship in a new file of zeros, which the block fills; it appears when the block ends."""
        with self.filling(name, np.uint8, size=2 * (8 * (size + 1) + 8 * count)) as array:
            yield _ways(array, size)


def _ways(array: NDArray[np.uint8], size: int) -> tuple[OneWay, OneWay]:
    """Both directions from one file, one after the other: starts of rows, targets, weights."""

    def way(part: NDArray[np.uint8]) -> OneWay:
        first = 8 * (size + 1)
        middle = first + (len(part) - first) // 2
        return OneWay(part[:first].view("<i8"), part[first:middle].view("<i4"), part[middle:].view("<f4"))

    half = len(array) // 2
    return way(array[:half]), way(array[half:])


def _copy(way: Way, *, to: OneWay, hurry: threading.Event | None) -> None:
    """Copy the links of one direction into arrays of their length."""
    counts = way.counts(np.arange(way.size))
    np.cumsum(counts, out=to.starts[1:])
    for first, last in blocks(counts, _COPIED):
        start = time.perf_counter()
        some = way.of(np.arange(first, last))
        part = slice(to.starts[first], to.starts[last])
        to.targets[part], to.weights[part] = some.target, some.weight
        if hurry is not None:
            hurry.wait(_RESTS * (time.perf_counter() - start))


def pairs_of(matrix: Csr) -> Iterator[Pairs]:
    """All entries of a matrix, in blocks."""
    entries = sp.coo_array(matrix)
    for first in range(0, len(entries.data), BLOCK):
        part = slice(first, first + BLOCK)
        yield entries.row[part], entries.col[part], entries.data[part]


def cut(table: NDArray[np.void]) -> Iterator[NDArray[np.void]]:
    """The rows of a table, in blocks."""
    for start in range(0, len(table), BLOCK):
        yield table[start : start + BLOCK]


def _turned(way: OneWay) -> Iterator[Pairs]:
    """The links of one direction, turned into the other: owner, target, weight."""
    for start in range(0, len(way.targets), BLOCK):
        last = min(start + BLOCK, len(way.targets))
        first_row, last_row = np.searchsorted(way.starts, (start, last - 1), side="right") - 1
        cuts = np.clip(way.starts[first_row : last_row + 2], start, last)
        owner = np.repeat(np.arange(first_row, last_row + 1, dtype=np.int32), np.diff(cuts))
        yield way.targets[start:last], owner, way.weights[start:last]


def _scatter(way: OneWay, parts: Iterable[Pairs], cursor: NDArray[np.int64]) -> None:
    """Put links into their rows, in the order of arrival."""
    cursor[:] = way.starts[:-1]
    for owner, target, weight in parts:
        order = np.argsort(owner, kind="stable")
        nodes, first, number = np.unique(owner[order], return_index=True, return_counts=True)
        at = np.arange(len(order)) + np.repeat(cursor[nodes] - first, number)
        way.targets[at] = target[order]
        way.weights[at] = weight[order]
        cursor[nodes] += number
