"""What is damaged in the vector store: vectors beside their checksums, full text beside the records; and its repair.

A repair keeps every vector that is as it was written, in a new file, so that only the others are embedded again. An index of
full text that is broken is made anew, from the texts of the records.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from hlgraph.records import Kind
from hlgraph.stores.embedded.array_files import State, matrix_path, read_rows
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.sqlite import mapped
from hlgraph.stores.embedded.vector_rows import create_text, free_rows, move_rows, text_table
from hlgraph.stores.protocols import Damage, Row
from hlgraph.text import words

_BATCH = 1_000
_TOLERANCE = 1e-3  # of the length of a vector, which is 1
_SHADOWS = ("data", "idx", "content", "docsize", "config")
_WRITTEN = """
    SELECT v.id, v.source, t.c0 FROM vector AS v LEFT JOIN {table}_content AS t ON t.id = v.n
    WHERE v.file = ? AND v.id IN (SELECT value FROM json_each(?))"""
_STRAYS = "FROM {table}_content WHERE id NOT IN (SELECT n FROM vector WHERE file = ?)"


def _altered_vectors(connection: sqlite3.Connection, state: State, matrix: NDArray[np.float32]) -> tuple[set[str], int]:
    """The ids of rows without a slot in the file, with other bytes than were written, or of another length than 1.

    Also returns the last slot of the others; -1 if there is no other.
    """
    rows = connection.execute("SELECT id, slot, checksum FROM vector WHERE file = ? ORDER BY slot", (state.file,))
    found: set[str] = set()
    last = -1
    while batch := rows.fetchmany(_BATCH):
        for name, slot, checksum in batch:
            if not (
                0 <= slot < len(matrix)
                and zlib.crc32(matrix[slot].data) == checksum
                and abs(float(np.linalg.norm(matrix[slot].astype(np.float64))) - 1) <= _TOLERANCE
            ):
                found.add(name)
            else:
                last = slot
    return found, last


def _matrix(database: Database, state: State) -> NDArray[np.float32]:
    """As many whole rows as the file holds; none if it is gone."""
    path = matrix_path(database.path, state.file, generation=state.generation)
    width = max(state.dimensions, 1)
    if not path.exists():
        return np.empty((0, width), dtype=np.float32)
    count = path.stat().st_size // (4 * width)
    return read_rows(path, count, dimensions=width)


def _broken_text(database: Database, file: int) -> bool:
    """Whether FTS5 finds the full-text index of a matrix broken. Waits while another process writes."""
    table = text_table(file)
    with closing(
        sqlite3.connect(f"{database.file.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    ) as own:
        own.execute("PRAGMA busy_timeout = 30000")
        try:
            own.execute("BEGIN IMMEDIATE")  # FTS5 takes the check as a write, which is rolled back
            own.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except sqlite3.OperationalError as error:
            if "readonly" in str(error) or "unable to open" in str(
                error
            ):  # a read-only medium: searches alone can tell
                return False
            if "locked" in str(error) or "busy" in str(error):
                raise
            return True
        except sqlite3.DatabaseError:
            return True
        finally:
            if own.in_transaction:
                own.execute("ROLLBACK")
    return False


def examine(database: Database, state: State, *, rows: Iterable[Row], repair: bool) -> Damage:
    """What :meth:`VectorStore.examine` does for one matrix.

    Parameters
    ----------
    database : database of the store
    state : state of the matrix
    rows : what its rows should hold
    repair : mend what is found
    """
    with mapped(database.path):
        reader = database.reader()
        matrix = _matrix(database, state)
        altered, last = _altered_vectors(reader, state, matrix)
        found = altered
        if not last < state.slots <= len(matrix):  # then no row can be read, as intact as it may be
            found = {name for (name,) in reader.execute("SELECT id FROM vector WHERE file = ?", (state.file,))}
        is_broken = _broken_text(database, state.file)
        with contextlib.nullcontext(reader) if not repair else database.transaction() as connection:
            if is_broken and repair:
                _remake_text(connection, state.file)
            texts, strays = _compare(connection, state.file, rows=rows, has_texts=not is_broken, is_repair=repair)
        if found and repair:
            _drop(database, state, altered, matrix=matrix)
    return Damage(frozenset(found), frozenset(texts), strays)


def _compare(
    connection: sqlite3.Connection, file: int, *, rows: Iterable[Row], has_texts: bool, is_repair: bool
) -> tuple[set[str], int]:
    """The ids of rows with another text or source, written again in a repair; and the number of stray entries."""
    table = text_table(file)
    wrong: set[str] = set()
    for batch in _batches(rows):
        wanted = {item.id: item for item in batch}
        query = _WRITTEN.format(table=table) if has_texts or is_repair else _UNREADABLE
        found = connection.execute(query, (file, json.dumps(list(wanted)))).fetchall()
        here = {
            name
            for name, source, text in found
            if (text, source) != (_entry(wanted[name].text), wanted[name].source_id)
        }
        wrong |= here
        if is_repair and here:
            _write_again(connection, file, {name: wanted[name] for name in sorted(here)})
    if not has_texts and not is_repair:
        return wrong, 0
    strays = f"{_STRAYS.format(table=table)}"
    count = connection.execute(f"SELECT count(*) {strays}", (file,)).fetchone()[0]
    if count and is_repair:
        connection.execute(f"DELETE FROM {table} WHERE rowid IN (SELECT id {strays})", (file,))
    return wrong, count


_UNREADABLE = "SELECT id, source, NULL FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))"


def _write_again(connection: sqlite3.Connection, file: int, rows: Mapping[str, Row]) -> None:
    table = text_table(file)
    places = connection.execute(
        "SELECT n, id FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))",
        (file, json.dumps(list(rows))),
    ).fetchall()
    connection.executemany(
        "UPDATE vector SET source = ? WHERE n = ?", ((rows[name].source_id, n) for n, name in places)
    )
    connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((n,) for n, _ in places))
    connection.executemany(
        f"INSERT INTO {table} (rowid, words) VALUES (?, ?)", ((n, _entry(rows[name].text)) for n, name in places)
    )
    connection.execute(
        "UPDATE vector_file SET deletes = deletes + 1 WHERE file = ?", (file,)
    )  # caches hold the sources


def _entry(text: str) -> str:
    return " ".join(words(text))


def _remake_text(connection: sqlite3.Connection, file: int) -> None:
    """An empty full-text table in the place of one that may not even be dropped."""
    table = text_table(file)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("DELETE FROM sqlite_master WHERE name = ? AND type = 'table'", (table,))
    connection.execute("PRAGMA writable_schema = RESET")  # reads the schema again
    for shadow in _SHADOWS:
        connection.execute(f"DROP TABLE IF EXISTS {table}_{shadow}")
    create_text(connection, file)


def _drop(database: Database, state: State, altered: Iterable[str], *, matrix: NDArray[np.float32]) -> None:
    """Removes rows, and moves the others to a new file, where each has a slot of its own."""
    with database.transaction() as connection:
        free_rows(database, state.file, wanted=json.dumps(list(altered)))
        connection.execute(  # a slot that was altered may be that of another row, whose vector is not to be overwritten
            "DELETE FROM vector_free WHERE file = ?1 AND (slot < 0 OR slot IN (SELECT slot FROM vector WHERE file = ?1))",
            (state.file,),
        )
    move_rows(database, state, matrix=matrix)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    left = iter(rows)
    while batch := list(itertools.islice(left, _BATCH)):
        yield batch


def states(connection: sqlite3.Connection) -> list[tuple[str, Kind, State]]:
    """Corpus, kind and state of every matrix.

    Parameters
    ----------
    connection : connection to read with
    """
    rows = connection.execute(
        "SELECT corpus, kind, file, generation, deletes, writes, dimensions, slots FROM vector_file ORDER BY corpus, kind"
    )
    return [(corpus, Kind(kind), State(*rest)) for corpus, kind, *rest in rows]
