"""Documents in Smile, the binary form of JSON that OpenSearch reads: vectors travel as bytes, not as decimal numbers.

A document is a header, tokens and an end mark, which no token contains, so that several documents can follow one another. See
the `specification <https://github.com/FasterXML/smile-format-specification>`_. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

HEAD = b":)\n\x00"
"""The beginning of a document, by which it is told from JSON; its last byte says that no name or value is abbreviated."""

_END = b"\xff"
_OBJECT, _OBJECT_END = b"\xfa", b"\xfb"
_ARRAY, _ARRAY_END = b"\xf8", b"\xf9"
_ASCII, _UNICODE, _TEXT_END = b"\xe0", b"\xe4", b"\xfc"
_WHOLE, _FLOAT, _BINARY = b"\x24", 0x28, b"\xe8"
_GROUP = 7  # bytes that become eight of seven bits


class Encoded(NamedTuple):
    """A value whose tokens are made already."""

    tokens: bytes


Value: TypeAlias = "str | int | Encoded | Mapping[str, Value]"


def document(fields: Mapping[str, Value]) -> bytes:
    """One document.

    Parameters
    ----------
    fields : values by name; names are ASCII, of 1 to 64 characters

    Examples
    --------
    >>> document({"id": "a", "length": 3})
    b':)\\n\\x00\\xfa\\x81id@a\\x85length$\\x86\\xfb\\xff'
    """
    return HEAD + _value(fields) + _END


def number_arrays(matrix: NDArray[np.float32]) -> list[Encoded]:
    """Each row as an array of 32-bit numbers.

    Parameters
    ----------
    matrix : shape (n, d)
    """
    bits = np.ascontiguousarray(matrix, dtype="<f4").view("<u4")
    made = np.empty((*bits.shape, 6), dtype=np.uint8)
    made[..., 0] = _FLOAT
    for at in range(5):
        made[..., 1 + at] = (bits >> (7 * (4 - at))) & 0x7F
    return [Encoded(_ARRAY + row.tobytes() + _ARRAY_END) for row in made]


def binaries(rows: NDArray[np.uint8]) -> list[Encoded]:
    """Each row of bytes as one binary value.

    Parameters
    ----------
    rows : shape (n, bytes)
    """
    count, size = rows.shape
    cut = size - size % _GROUP
    parts = [_sevens(rows[:, :cut].reshape(count, -1, _GROUP))]
    if cut < size:
        parts.append(_sevens(rows[:, None, cut:]))
    head = _BINARY + _variable(size)
    return [Encoded(head + row.tobytes()) for row in np.concatenate(parts, axis=1)]


def _sevens(groups: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each group of w bytes, up to seven, as w bytes of seven bits and one of the last w bits.

    Parameters
    ----------
    groups : shape (n, g, w)

    Returns
    -------
    numpy.ndarray
        Shape (n, g (w + 1)).
    """
    count, number, width = groups.shape
    wide = np.zeros((count, number, 8), dtype=np.uint8)
    wide[:, :, 8 - width :] = groups
    bits = wide.view(">u8")[:, :, 0].astype(np.uint64)
    made = np.empty((count, number, width + 1), dtype=np.uint8)
    for at in range(width):
        made[:, :, at] = (bits >> np.uint64(8 * width - 7 * (at + 1))) & np.uint64(0x7F)
    made[:, :, width] = bits & np.uint64((1 << width) - 1)
    return made.reshape(count, -1)


def _value(value: Value) -> bytes:
    if isinstance(value, str):
        return _text(value.encode())
    if isinstance(value, Encoded):
        return value.tokens
    if isinstance(value, int):
        return _WHOLE + _variable(2 * value if value >= 0 else -2 * value - 1)
    return _OBJECT + b"".join(_name(name) + _value(item) for name, item in value.items()) + _OBJECT_END


def _text(data: bytes) -> bytes:
    size = len(data)
    if not size:
        return b"\x20"
    if not data.isascii():
        return _UNICODE + data + _TEXT_END
    if size > 64:
        return _ASCII + data + _TEXT_END
    return bytes([0x3F + size]) + data  # 0x40 for one character to 0x7f for 64


@cache
def _name(name: str) -> bytes:
    data = name.encode("ascii")
    return bytes([0x7F + len(data)]) + data


def _variable(value: int) -> bytes:
    """A number of as many bytes as it needs: six bits in the last one, which has the high bit, and seven in the others."""
    made = [0x80 | (value & 0x3F)]
    value >>= 6
    while value:
        made.append(value & 0x7F)
        value >>= 7
    return bytes(reversed(made))
