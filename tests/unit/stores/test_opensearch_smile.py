"""Smile, read back by a plain decoder that follows the specification token by token."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hlgraph.stores.opensearch import wire


def variable(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    while data[at] < 0x80:
        found = found << 7 | data[at]
        at += 1
    return found << 6 | data[at] & 0x3F, at + 1


def value(data: bytes, at: int) -> tuple[object, int]:  # noqa: PLR0911 - one a kind of token
    token, at = data[at], at + 1
    if token == 0x20:
        return "", at
    if 0x40 <= token <= 0x7F:
        return data[at : at + token - 0x3F].decode("ascii"), at + token - 0x3F
    if token in (0xE0, 0xE4):
        end = data.index(b"\xfc", at)
        return data[at:end].decode("ascii" if token == 0xE0 else "utf-8"), end + 1
    if token == 0x24:
        found, at = variable(data, at)
        return (found >> 1) ^ -(found & 1), at
    if token == 0x28:
        bits = 0
        for byte in data[at : at + 5]:
            bits = bits << 7 | byte
        return struct.unpack(">f", bits.to_bytes(4, "big"))[0], at + 5
    if token == 0xE8:
        size, at = variable(data, at)
        made = bytearray()
        while len(made) < size:
            some = min(7, size - len(made))
            bits = 0
            for number, byte in enumerate(data[at : at + some + 1]):
                bits = bits << (7 if number < some else some) | byte
            made += bits.to_bytes(some, "big")
            at += some + 1
        return bytes(made), at
    if token == 0xF8:
        items = []
        while data[at] != 0xF9:
            item, at = value(data, at)
            items.append(item)
        return items, at + 1
    assert token == 0xFA
    fields = {}
    while data[at] != 0xFB:
        end = at + data[at] - 0x7E
        name = data[at + 1 : end].decode("ascii")
        fields[name], at = value(data, end)
    return fields, at + 1


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5, 6, 7, 384])
def test_vectors_and_texts_round_trip_bit_for_bit(dimensions: int) -> None:
    matrix = np.random.default_rng(dimensions).normal(size=(5, dimensions)).astype(np.float32)
    matrix[0] = -0.0
    numbers, data = wire.number_arrays(matrix), wire.binaries(matrix.view(np.uint8))
    texts = ["", "a", "x" * 32, "x" * 65, "Brücke 橋 \x00\n"]
    for text, row, one, two in zip(texts, matrix, numbers, data, strict=True):
        fields: dict[str, wire.Value] = {
            "words": text,
            "n": -len(text),
            "large": 1 << 40,
            "vector": one,
            "data": two,
            "in": {"_id": text},
        }
        made = wire.document(fields)
        assert made.startswith(wire.HEAD)
        assert made.index(b"\xff") == len(made) - 1  # the end mark, and nothing else
        read, end = value(made, len(wire.HEAD))
        assert end == len(made) - 1
        assert read == {**fields, "vector": row.tolist(), "data": row.tobytes()}
