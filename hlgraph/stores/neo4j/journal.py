"""The journal in Neo4j: each change as nodes of bounded size, with its state and its outcome.

Of the rows of new records it holds the ids alone. Their vectors, which are most of the weight of a change, go straight to the
vector store, where they are hidden until the change is published.
"""

from __future__ import annotations

import zlib
from dataclasses import replace

import msgspec

from hlgraph.change import Change, ChangeState, Outcome, Pending
from hlgraph.errors import StoreCorruptError
from hlgraph.stores.neo4j.lease import lease_of
from hlgraph.stores.neo4j.server import Row, Transaction

_PART = 1 << 20
_PARTS_AT_ONCE = 8
_LEVEL = 1
_COMPRESSED = b"\x78"
"""The first byte of what zlib writes; entries that an older hlgraph left are plain."""


def record(transaction: Transaction, change: Change) -> None:
    """Writes a change as staged; writing it twice has no further effect.

    Parameters
    ----------
    transaction : the writing transaction
    change : change to record
    """
    hollow = replace(change, vectors=tuple(block.hollow() for block in change.vectors))
    data = zlib.compress(msgspec.msgpack.encode(hollow), _LEVEL)
    parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    names = part_ids(change.id, len(parts))
    for start in range(0, len(parts), _PARTS_AT_ONCE):
        some = slice(start, start + _PARTS_AT_ONCE)
        rows = [{"id": name, "data": part} for name, part in zip(names[some], parts[some], strict=True)]
        transaction.write("persist/record_change_parts", rows)
    transaction.rows(
        "persist/record_change",
        id=change.id,
        lease=lease_of(change.corpus),
        corpus=change.corpus,
        state=ChangeState.STAGED.value,
        outcome=pack(Outcome()),
        parts=len(parts),
    )


def load(transaction: Transaction, name: str, *, parts: int) -> Change:
    """A recorded change.

    Parameters
    ----------
    transaction : transaction to read with
    name : id of the change
    parts : number of its parts

    Raises
    ------
    StoreCorruptError
        A part is missing.
    """
    names = part_ids(name, parts)
    part_bytes: dict[str, bytes] = {}
    for start in range(0, parts, _PARTS_AT_ONCE):
        rows = transaction.rows("persist/read_change_parts", ids=names[start : start + _PARTS_AT_ONCE])
        part_bytes |= {str(row["id"]): _bytes(row["data"]) for row in rows}
    if len(part_bytes) != parts:
        raise StoreCorruptError(
            f"change {name}: {parts - len(part_bytes)} of {parts} parts are missing; restore a backup"
        )
    data = b"".join(part_bytes[item] for item in names)
    plain = zlib.decompress(data) if data.startswith(_COMPRESSED) else data
    return msgspec.msgpack.decode(plain, type=Change)


def pending(transaction: Transaction, corpus: str | None) -> tuple[Pending, ...]:
    """The unfinished changes of a corpus, oldest first; None: of all.

    Parameters
    ----------
    transaction : transaction to read with
    corpus : the corpus
    """
    return tuple(
        Pending(
            load(transaction, str(row["id"]), parts=whole(row, "parts")),
            ChangeState(str(row["state"])),
            unpack(row["outcome"]),
        )
        for row in transaction.rows("persist/list_changes", corpus=corpus)
    )


def forget(transaction: Transaction, name: str) -> None:
    """Removes a change, if it exists.

    Parameters
    ----------
    transaction : the writing transaction
    name : id of the change
    """
    for row in transaction.rows("persist/forget_change", id=name):
        transaction.write("persist/forget_change_parts", part_ids(name, whole(row, "parts")), key="ids")


def part_ids(name: str, parts: int) -> list[str]:
    """The keys of the parts of a change, in order.

    Parameters
    ----------
    name : id of the change
    parts : number of its parts
    """
    return [f"{name}/{index:06d}" for index in range(parts)]


def pack(outcome: Outcome) -> bytes:
    """Encodes an outcome."""
    return msgspec.msgpack.encode(outcome)


def unpack(data: object) -> Outcome:
    """Decodes an outcome."""
    return msgspec.msgpack.decode(_bytes(data), type=Outcome)


def whole(row: Row, name: str) -> int:
    """The value of a column of whole numbers.

    Parameters
    ----------
    row : a row
    name : name of the column

    Raises
    ------
    StoreCorruptError
        The value is not a whole number.
    """
    value = row[name]
    if not isinstance(value, int):
        raise StoreCorruptError(
            f"the column {name} holds {type(value).__name__}, not a whole number; run: hlgraph doctor"
        )
    return value


def _bytes(data: object) -> bytes:
    if not isinstance(data, bytes | bytearray):
        raise StoreCorruptError("a journal entry is not of the form that hlgraph writes; run: hlgraph doctor")
    return bytes(data)
