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

import numpy as np
from numpy.typing import NDArray

from hlgraph.records import Kind
from hlgraph.stores.embedded.array_files import State, matrix_path, read_rows
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.sqlite import mapped
from hlgraph.stores.embedded.text_rows import entries, forget_file, index_rows, is_broken, remove_rows
from hlgraph.stores.embedded.vector_rows import free_rows, move_rows
from hlgraph.stores.protocols import Damage, Row

_BATCH = 1_000
_TOLERANCE = 1e-3  # of the length of a vector, which is 1
_WRITTEN = """
    SELECT v.id, v.source, t.words FROM vector AS v LEFT JOIN text AS t ON t.n = v.n AND t.file = v.file
    WHERE v.file = ? AND v.id IN (SELECT value FROM json_each(?))"""
_STRAYS = "SELECT n FROM text WHERE file = ?1 AND n NOT IN (SELECT n FROM vector WHERE file = ?1)"


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


def examine(database: Database, state: State, *, rows: Iterable[Row], dimensions: int, repair: bool) -> Damage:
    """What :meth:`VectorStore.examine` does for one matrix.

    Parameters
    ----------
    database : database of the store
    state : state of the matrix
    rows : what its rows should hold
    dimensions : length of the vectors of the corpus; 0: it is not known
    repair : mend what is found
    """
    with mapped(database.path):
        reader = database.reader()
        matrix = _matrix(database, state)
        fitting = matrix if dimensions in (0, state.dimensions) else matrix[:0]
        altered, last = _altered_vectors(reader, state, fitting)
        found = altered
        if not last < state.slots <= len(matrix):  # then no row can be read, as intact as it may be
            found = {name for (name,) in reader.execute("SELECT id FROM vector WHERE file = ?", (state.file,))}
        has_index = not is_broken(reader, state.file)
        with contextlib.nullcontext(reader) if not repair else database.transaction() as connection:
            if repair and not has_index:
                forget_file(connection, state.file)
            texts, strays = _compare(connection, state.file, rows=rows, has_index=has_index, is_repair=repair)
        if repair and (found or texts):  # cached files hold the sources: those of the next generation are made anew
            _drop(database, state, altered, matrix=matrix)
    return Damage(frozenset(found), frozenset(texts), strays)


def _compare(
    connection: sqlite3.Connection, file: int, *, rows: Iterable[Row], has_index: bool, is_repair: bool
) -> tuple[set[str], int]:
    """The ids of rows with another text or source, written again in a repair; and the number of stray texts.

    If the index is broken, all rows are named: no search can be trusted to find them.
    """
    wrong: set[str] = set()
    for batch in _batches(rows):
        texts = dict(zip([item.id for item in batch], entries([item.text for item in batch]), strict=True))
        wanted = {item.id: item for item in batch}
        found = connection.execute(_WRITTEN, (file, json.dumps(list(wanted)))).fetchall()
        here = {
            name
            for name, source, text in found
            if not has_index or (text, source) != (texts[name], wanted[name].source_id)
        }
        wrong |= here
        if is_repair and here:
            _write_again(connection, file, {name: (wanted[name].source_id, texts[name]) for name in sorted(here)})
    strays = [n for (n,) in connection.execute(_STRAYS, (file,))]
    if strays and is_repair:
        remove_rows(connection, file, rows=strays)
    return wrong, len(strays)


def _write_again(connection: sqlite3.Connection, file: int, rows: Mapping[str, tuple[str, str]]) -> None:
    places = connection.execute(
        "SELECT n, id FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))",
        (file, json.dumps(list(rows))),
    ).fetchall()
    connection.executemany("UPDATE vector SET source = ? WHERE n = ?", ((rows[name][0], n) for n, name in places))
    remove_rows(connection, file, rows=[n for n, _ in places])
    index_rows(connection, file, rows=[(n, rows[name][1]) for n, name in places])


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
