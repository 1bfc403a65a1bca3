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
    whole, rest = divmod(size, _GROUP)
    bits = np.unpackbits(np.ascontiguousarray(rows), axis=1)
    at = 8 * _GROUP * whole
    parts = [_sevens(bits[:, :at])]
    if rest:
        parts += [_sevens(bits[:, at : at + _GROUP * rest]), _narrow(bits[:, at + _GROUP * rest :], 1)]
    head = _BINARY + _variable(size)
    return [Encoded(head + row.tobytes()) for row in np.concatenate(parts, axis=1).reshape(count, -1)]


def _sevens(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bytes of seven bits each."""
    return _narrow(bits, bits.shape[1] // _GROUP)


def _narrow(bits: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Divides bits into ``size`` bytes, each with an equal number of them on its right."""
    inside = bits.reshape(len(bits), size, -1 if size else 1)
    padded = np.zeros((*inside.shape[:2], 8), dtype=np.uint8)
    padded[:, :, 8 - inside.shape[2] :] = inside
    return np.packbits(padded, axis=2).reshape(len(bits), size)


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
