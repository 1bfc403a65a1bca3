"""SQLite at the edge of the embedded store: its errors become those of hlgraph, its calls are traced, its records are sealed.

A seal is the sum of the hashes of some rows, modulo 2^64: of a source or chunk, of the links of a chunk, of a summary, or of the
synonyms of an entity. A writer adds the hash of each row that it writes, and takes away that of each row that it removes, so
that an edit costs no more than what it writes. Rows that anything else altered do not have the sum any more.
"""

from __future__ import annotations

import contextlib
import heapq
import inspect
import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

from hlgraph.errors import StoreCorruptError, StoreError, StoreLockedError, StoreUnavailableError
from hlgraph.stores import files
from hlgraph.stores.trace import Running, traced

STORE = "embedded"
"""The name of this store in a trace."""
_WRITABLE = "check that the directory exists, and that {} may write to it"
_GONE = ("no such table", "no such column", "vtable constructor failed", "Could not decode", "malformed")
_WORD: Final = 1 << 64
_ID: Final = 32
RECORD, LINKS, SUMMARY, SYNONYMS = range(4)
"""What a seal is of: a source or chunk, the links that a chunk asserts, a summary, the synonyms of an entity."""
# The column with the number of the owner, what the seal is of, and the columns that the hash is of. What ids prove already
# (texts of statements, words of facts) and what is counted from other rows needs no seal.
SEALED: Final[Mapping[str, tuple[str, int, tuple[str, ...]]]] = {
    "source": ("n", RECORD, ("uri", "title", "checksum", "metadata", "version", "valid_from", "valid_to")),
    "chunk": ("n", RECORD, ("text", "start", "end", "position", "tokens", "headings", "page", "fingerprint")),
    "in_chunk": ("chunk", LINKS, ("statement", "ordinal", "start", "end", "details")),
    "chunk_topic": ("chunk", LINKS, ("topic", "name")),
    "about": ("chunk", LINKS, ("statement", "topic")),
    "mentions": ("chunk", LINKS, ("statement", "entity", "surface", "kind")),
    "supports": ("chunk", LINKS, ("statement", "fact")),
    "summary": ("s", SUMMARY, ("id", "community", "source", "text", "input_hash", "vector", "level")),
    "rests_on": ("summary", SUMMARY, ("node",)),
    "synonym": ("a", SYNONYMS, ("b", "similarity")),
}
"""Tables whose rows are sealed."""


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Map errors of SQLite and of the file system in a block to hlgraph errors that name the store and the remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise StoreLockedError(
                f"{path}: another process is writing to this store; try again when it has finished"
            ) from error
        if "full" in text or "disk I/O" in text:
            raise StoreUnavailableError(
                f"{path}: cannot write ({text}); free some space and run the same command again; it continues where it stopped"
            ) from error
        if "readonly" in text or "unable to open" in text:
            raise StoreUnavailableError(f"{path}: {text}; {_WRITABLE.format(files.writer())}") from error
        if any(item in text for item in _GONE):
            raise corrupt(path, text) from error
        raise StoreError(f"{path}: {text}") from error
    except sqlite3.DatabaseError as error:
        raise corrupt(path, str(error)) from error
    except UnicodeDecodeError as error:
        raise corrupt(path, f"stored text cannot be read ({error})") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        remedy = (
            "free some space and run the same command again; it continues where it stopped"
            if error.errno in files.FULL
            else _WRITABLE.format(files.writer())
        )
        raise StoreUnavailableError(f"{path}: {reason}; {remedy}") from error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """As :func:`mapped`, for a block that reads stored data only: values that cannot be understood are corruption, too.

    Not for a block that runs code of callers.
    """
    try:
        with mapped(path):
            yield
    except (ValueError, TypeError, LookupError, OverflowError, msgspec.MsgspecError) as error:
        raise corrupt(path, f"stored data cannot be read ({type(error).__name__}: {error})") from error


def corrupt(path: Path, what: str) -> StoreCorruptError:
    """The error for a store that holds something else than was written, with the mend.

    Parameters
    ----------
    path : folder of the store
    what : what is wrong
    """
    store = f"hlgraph --store hlgraph://{path}"
    return StoreCorruptError(
        f"{path}: {what}; run: {store} doctor, which says what is damaged, then: {store} reconcile --repair, which makes "
        "vectors, full text and links again from the records; if the database itself is damaged, restore a copy, or delete "
        "the directory and ingest again"
    )


class Sealing:
    """The seals of the rows that one connection writes; :meth:`flush` writes them, before the commit.

    Parameters
    ----------
    connection : connection of the writer; its triggers are its own, so what another program writes is not sealed
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sums: Counter[int] = Counter()
        connection.execute("PRAGMA recursive_triggers = ON")  # a row that REPLACE removes is a removed row
        connection.create_function("hlgraph_seal", -1, self._add)
        for table in SEALED:
            fresh, old = _called(table, "new"), _called(table, "old")
            for name, body in (("insert", fresh), ("delete", old), ("update", f"{old} {fresh}")):
                connection.execute(
                    f"CREATE TEMP TRIGGER seal_{table}_{name} AFTER {name.upper()} ON {table} BEGIN {body} END"
                )

    def _add(self, table: str, sign: int, owner: int, *values: object) -> None:
        self._sums[owner] += sign * _hash(table, values)

    def flush(self, *, beyond: int = 0) -> None:
        """Add what was written since the last call to the stored seals, if these are more than ``beyond``."""
        if len(self._sums) <= beyond:
            return
        changed = {owner: total for owner, total in self._sums.items() if total % _WORD}
        self._sums.clear()
        rows = self._connection.execute(
            "SELECT owner, total FROM seal WHERE owner IN (SELECT value FROM json_each(?))",
            (json.dumps(list(changed)),),
        )
        for owner, total in rows:
            changed[owner] += total
        write_seals(self._connection, changed)

    def clear(self) -> None:
        """Forget what was written since the last call of :meth:`flush`, after a rollback."""
        self._sums.clear()


def _called(table: str, row: str) -> str:
    number, part, columns = SEALED[table]
    values = ", ".join(f'{row}."{column}"' for column in columns)
    return f"SELECT hlgraph_seal('{table}', {1 if row == 'new' else -1}, 4 * {row}.{number} + {part}, {values});"


def _hash(table: str, values: Sequence[object]) -> int:
    return int.from_bytes(blake2b(msgspec.msgpack.encode((table, values)), digest_size=8).digest(), "big")


def write_seals(connection: sqlite3.Connection, sums: Mapping[int, int]) -> None:
    """Write seals; a sum of 0 belongs to an owner without rows, and is removed.

    Parameters
    ----------
    connection : connection of the writer
    sums : by owner
    """
    totals = {owner: total % _WORD for owner, total in sums.items()}
    connection.executemany(
        "DELETE FROM seal WHERE owner = ?", ((owner,) for owner, total in totals.items() if not total)
    )
    connection.executemany(
        "INSERT OR REPLACE INTO seal VALUES (?, ?)",  # SQLite has signed numbers of 64 bits
        ((owner, total - _WORD if total >= _WORD // 2 else total) for owner, total in totals.items() if total),
    )


def totals(connection: sqlite3.Connection) -> dict[int, int]:
    """The seals that the stored rows should have, by owner. Reads every sealed row.

    Parameters
    ----------
    connection : connection to read with
    """
    sums: Counter[int] = Counter()
    for owner, value in chain.from_iterable(_hashes(connection)):
        sums[owner] += value
    return {owner: total % _WORD for owner, total in sums.items()}


def _hashes(connection: sqlite3.Connection) -> list[Iterator[tuple[int, int]]]:
    """For each table the owner and the hash of each row, by owner."""

    def of(table: str, number: str, part: int, columns: Sequence[str]) -> Iterator[tuple[int, int]]:
        values = ", ".join((f"4 * {number} + {part}", *(f'"{column}"' for column in columns)))
        for row in connection.execute(f"SELECT {values} FROM {table} ORDER BY {number}"):
            yield row[0], _hash(table, row[1:])

    return [of(table, *sealed) for table, sealed in SEALED.items()]


def broken_seals(connection: sqlite3.Connection) -> list[int]:
    """The owners whose rows are not those that were written, ascending. Reads every sealed row.

    Parameters
    ----------
    connection : connection to read with
    """
    seals = ((owner, -total) for owner, total in connection.execute("SELECT owner, total FROM seal ORDER BY owner"))
    of_owners = groupby(heapq.merge(seals, *_hashes(connection), key=itemgetter(0)), key=itemgetter(0))
    return [owner for owner, some in of_owners if sum(map(itemgetter(1), some)) % _WORD]


def key_of(name: str | None) -> bytes | str | None:
    """An id as it is stored: 32 hexadecimal digits as 16 bytes, any other text as it is.

    Parameters
    ----------
    name : the id

    Examples
    --------
    >>> key_of("0" * 31 + "a")[-1], key_of("a"), key_of("0" * 31 + "A")[-1]
    (10, 'a', 'A')
    """
    if name is None or len(name) != _ID:
        return name
    try:
        key = bytes.fromhex(name)
    except ValueError:
        return name
    return key if key.hex() == name else name  # else it has capitals or blanks


def add_functions(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Let SQL look rows up by their ids, with ``hlgraph_key``, see :func:`key_of`; returns the connection.

    Parameters
    ----------
    connection : a new connection
    """
    connection.create_function("hlgraph_key", 1, key_of, deterministic=True)
    return connection


def split(script: str) -> tuple[list[str], str]:
    """The statements of an SQL script, each with its semicolon and the comments before it; and what follows the last one."""
    parts: list[str] = []
    begin = end = 0
    # A semicolon ends a statement unless it is in a string, a comment or a trigger; SQLite itself can tell.
    while (end := script.find(";", end) + 1) > 0:
        if sqlite3.complete_statement(script[begin:end]):
            parts.append(script[begin:end].strip())
            begin = end
    return parts, script[begin:]


def without_comments(statement: str) -> str:
    """A statement without leading comments and blank space."""
    return re.sub(r"^(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", "", statement, flags=re.DOTALL)


def sql(name: str, text: str, *, values: Mapping[str, object] | None = None) -> AbstractContextManager[Running]:
    """Trace a SELECT.

    Parameters
    ----------
    name : name of the call
    text : the statement
    values : its parameters; a list is sent as JSON text, and the trace shows it as a list
    """
    # Without the indentation of the statement in the source code.
    return traced(
        STORE, name, text=lambda: inspect.cleandoc(text.strip()), language="sql", params=lambda: _listed(values or {})
    )


def _listed(values: Mapping[str, object]) -> dict[str, object]:
    decoded: dict[str, object] = {}
    for key, value in values.items():
        is_list = isinstance(value, str) and value.startswith('["') and value.endswith('"]')
        decoded[key] = json.loads(str(value)) if is_list else value
    return decoded
