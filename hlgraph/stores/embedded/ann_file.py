"""The file of a saved approximate index (usearch, format 2): where the row of a key lies, and zeros in its place.

The file begins with the number of rows and the bytes of one; then the rows, a header of 64 bytes, five numbers of the
graph, the level of each node, and the nodes, each beginning with its key. Rows and nodes stand in one order, that in which
they were added: threads add them, so it is not that of the keys.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
