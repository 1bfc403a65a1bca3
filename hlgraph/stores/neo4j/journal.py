"""The journal in Neo4j: each change is stored in nodes of bounded size, with its state and its outcome.

The journal stores only the ids of new rows of the vector store. Their vectors, which make up most of a change, are written
directly to the vector store, where they are hidden until the change is published.
"""

from __future__ import annotations

import zlib
from dataclasses import replace

import msgspec

from hlgraph.change import Change, ChangeState, Outcome, Pending
from hlgraph.errors import StoreCorruptError
from hlgraph.stores.batches import batched
from hlgraph.stores.neo4j.lease import lease_of
from hlgraph.stores.neo4j.server import Transaction

_PART = 1 << 20
_PARTS_AT_ONCE = 8
_LEVEL = 1
_COMPRESSED = b"\x78"
"""The first byte of zlib data; entries of older versions of hlgraph are not compressed."""


def record(transaction: Transaction, change: Change) -> None:
    """Record a change as staged. Recording it twice has no further effect.

    Parameters
    ----------
    transaction : the writing transaction
    change : change to record
    """
    hollow = replace(change.journaled(), vectors=tuple(block.hollow() for block in change.vectors))
    data = zlib.compress(msgspec.msgpack.encode(hollow), _LEVEL)
    parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    rows = [{"id": name, "data": part} for name, part in zip(part_ids(change.id, len(parts)), parts, strict=True)]
    for batch in batched(rows, _PARTS_AT_ONCE):
        transaction.write("persist/record_change_parts", batch)
    transaction.rows(
        "persist/record_change",
        id=change.id,
        lease=lease_of(change.corpus),
        corpus=change.corpus,
        state=ChangeState.STAGED.value,
        outcome=msgspec.msgpack.encode(Outcome()),
        parts=len(parts),
    )


def load(transaction: Transaction, name: str, *, parts: int) -> Change:
    """Read a recorded change.

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
    batches = (transaction.rows("persist/read_change_parts", ids=batch) for batch in batched(names, _PARTS_AT_ONCE))
    part_bytes: dict[str, bytes] = {row["id"]: row["data"] for rows in batches for row in rows}
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
    unfinished = []
    for row in transaction.rows("persist/list_changes", corpus=corpus):
        outcome = msgspec.msgpack.decode(row["outcome"], type=Outcome)
        change = load(transaction, row["id"], parts=row["parts"])
        unfinished.append(Pending(change, ChangeState(row["state"]), outcome))
    return tuple(unfinished)


def find(transaction: Transaction, name: str) -> Change:
    """Read the recorded change with this id.

    Parameters
    ----------
    transaction : transaction to read with
    name : id of an unfinished change
    """
    parts = {row["id"]: row["parts"] for row in transaction.rows("persist/list_changes", corpus=None)}
    return load(transaction, name, parts=parts[name])


def forget(transaction: Transaction, name: str) -> None:
    """Remove a change, if it exists.

    Parameters
    ----------
    transaction : the writing transaction
    name : id of the change
    """
    for row in transaction.rows("persist/forget_change", id=name):
        transaction.write("persist/forget_change_parts", part_ids(name, row["parts"]), key="ids")


def part_ids(name: str, parts: int) -> list[str]:
    """The keys of the parts of a change, in order.

    Parameters
    ----------
    name : id of the change
    parts : number of its parts
    """
    return [f"{name}/{index:06d}" for index in range(parts)]
