"""Writes and removes rows of the vector store: vectors in a matrix file, and slot numbers and text in the database.

Writing appends to the matrix file first and then commits the slot numbers in one transaction. Removing frees slots in a
transaction; at its end, when no search reads an older state, the writer overwrites them with zeros.
A new generation of the file is written when most slots are free.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.errors import ModelMismatchError
from hlgraph.stores.embedded.array_files import (
    State,
    drop_old_rows,
    matrix_path,
    read_rows,
    rows_folder,
    write_rows,
    zero_rows,
)
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.row_files import RowFiles
from hlgraph.stores.embedded.sqlite import mapped
from hlgraph.stores.embedded.text_rows import entries, forget_file, index_rows, remove_rows
from hlgraph.stores.protocols import VectorBatch

_COMPACT = 1_000  # minimum number of free slots before the matrix is rewritten
_STATE = "SELECT file, generation, deletes, writes, dimensions, slots FROM vector_file"


def write_block(database: Database, block: VectorBlock, *, batch: VectorBatch) -> None:
    """Writes the rows of one kind; the caller holds the transaction.

    A row with an id that the store holds replaces the old row, unless the same change wrote it.

    Parameters
    ----------
    database : database of the store
    block : rows of one kind
    batch : the batch that the block belongs to

    Raises
    ------
    ModelMismatchError
        The vectors have another length than those of the corpus.
    """
    connection = database.writer()
    connection.execute(
        "INSERT OR IGNORE INTO vector_file (corpus, kind, dimensions) VALUES (?, ?, ?)",
        (batch.corpus, block.kind, block.dimensions),
    )
    file, generation, dimensions, slots = connection.execute(
        "SELECT file, generation, dimensions, slots FROM vector_file WHERE corpus = ? AND kind = ?",
        (batch.corpus, block.kind),
    ).fetchone()
    if dimensions != block.dimensions:
        raise ModelMismatchError(
            f"corpus {batch.corpus!r} holds {block.kind} vectors of {dimensions} dimensions, these have "
            f"{block.dimensions}; use the embedding model of the corpus, or another corpus"
        )
    held = dict(
        connection.execute(
            "SELECT id, change FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))",
            (file, json.dumps(block.ids)),
        )
    )
    fresh = [at for at, item in enumerate(block.ids) if held.get(item) != batch.change_id]
    if not fresh:
        return
    replaced = [block.ids[at] for at in fresh if block.ids[at] in held]
    if replaced:
        free_rows(database, file, wanted=json.dumps(replaced))
    rows = np.ascontiguousarray(block.matrix()[fresh], dtype="<f4")
    write_rows(matrix_path(database.path, file, generation=generation), slots, rows=rows)
    last = connection.execute("SELECT coalesce(max(n), 0) FROM vector").fetchone()[0]
    connection.executemany(
        "INSERT INTO vector (file, id, source, change, slot, checksum) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (file, block.ids[at], block.source_ids[at], batch.change_id, slots + place, zlib.crc32(rows[place]))
            for place, at in enumerate(fresh)
        ),
    )
    n = dict(connection.execute("SELECT id, n FROM vector WHERE n > ? AND +file = ?", (last, file)))
    texts = entries([block.texts[at] for at in fresh])
    index_rows(connection, file, rows=[(n[block.ids[at]], text) for at, text in zip(fresh, texts, strict=True)])
    connection.execute(
        "UPDATE vector_file SET slots = slots + ?, writes = writes + 1 WHERE file = ?", (len(fresh), file)
    )


def free_rows(database: Database, file: int, *, wanted: str) -> int:
    """Removes rows and frees their slots; the caller holds the transaction. The end of the writer overwrites them.

    Parameters
    ----------
    database : database of the store
    file : number of the matrix
    wanted : ids as a JSON array

    Returns
    -------
    int
        How many rows were removed.
    """
    connection = database.writer()
    rows = connection.execute(
        "SELECT n, slot FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))", (file, wanted)
    ).fetchall()
    if not rows:
        return 0
    _note_zeroed(database, State(*connection.execute(f"{_STATE} WHERE file = ?", (file,)).fetchone()))
    remove_rows(connection, file, rows=[n for n, _ in rows])
    connection.executemany("DELETE FROM vector WHERE n = ?", ((n,) for n, _ in rows))
    connection.executemany(
        "INSERT OR IGNORE INTO vector_free (file, slot) VALUES (?, ?)", ((file, slot) for _, slot in rows)
    )
    connection.execute("UPDATE vector_file SET deletes = deletes + 1 WHERE file = ?", (file,))
    return len(rows)


def clean_files(database: Database) -> None:
    """Overwrites all freed rows on disk, and drops cached files of old states; at the end of a writer, when the log is empty.

    That a row is zero is noted by the next writer that frees one (:func:`free_rows`), since to write it here would fill the log.

    Parameters
    ----------
    database : database of the store
    """
    connection = database.writer()
    unclean = "WHERE file IN (SELECT file FROM vector_free WHERE is_zeroed = 0)"
    with mapped(database.path):
        for row in connection.execute(f"{_STATE} {unclean}").fetchall():
            _clean(database, State(*row))


def _clean(database: Database, state: State) -> None:
    """Overwrites the freed rows of a matrix; rewrites it if most of its slots are free."""
    connection, file, slots = database.writer(), state.file, state.slots
    drop_old_rows(database.path, file, kept=state)
    free = connection.execute("SELECT slot, is_zeroed FROM vector_free WHERE file = ?", (file,)).fetchall()
    path = matrix_path(database.path, file, generation=state.generation)
    for other in path.parent.glob(f"{file}-*{path.suffix}"):
        if other != path:
            _remove(other)
    freed = np.array([slot for slot, done in free if not done], dtype=np.int64)
    if rows_folder(database.path, state).is_dir():
        RowFiles(database.path, state).wipe(freed)
    zero_rows(path, freed, dimensions=state.dimensions)  # last: where a row is zero, nothing else holds it
    if len(free) < max(_COMPACT, slots // 2) and len(free) < slots:
        return
    matrix = (
        np.empty((0, state.dimensions), np.float32)
        if len(free) == slots
        else read_rows(path, slots, dimensions=state.dimensions)
    )
    move_rows(database, state, matrix=matrix)


def _note_zeroed(database: Database, state: State) -> None:
    """Notes which freed rows an earlier writer has overwritten; the caller holds the transaction."""
    connection = database.writer()
    query = "SELECT slot FROM vector_free WHERE file = ? AND is_zeroed = 0 AND slot < ?"
    freed = [slot for (slot,) in connection.execute(query, (state.file, state.slots))]
    path = matrix_path(database.path, state.file, generation=state.generation)
    if not freed or not path.exists():
        return
    matrix = read_rows(path, state.slots, dimensions=state.dimensions)
    zeroed = [slot for slot in freed if not matrix[slot].any()]
    connection.execute(
        "UPDATE vector_free SET is_zeroed = 1 WHERE file = ? AND slot IN (SELECT value FROM json_each(?))",
        (state.file, json.dumps(zeroed)),
    )


def move_rows(database: Database, state: State, *, matrix: NDArray[np.float32]) -> None:
    """Moves the rows of a matrix to a new file without free slots; forgets the matrix if no row is left.

    Parameters
    ----------
    database : database of the store
    state : state of the matrix
    matrix : the rows by slot
    """
    connection, file = database.writer(), state.file
    path = matrix_path(database.path, file, generation=state.generation)
    kept = connection.execute("SELECT n, slot FROM vector WHERE file = ? ORDER BY slot", (file,)).fetchall()
    if not kept:  # forget the dimensions, so that another model may fill it
        with database.transaction():
            connection.execute("DELETE FROM vector_free WHERE file = ?", (file,))
            forget_file(connection, file)
            connection.execute("DELETE FROM vector_file WHERE file = ?", (file,))
        _remove(path)
        drop_old_rows(database.path, file, kept=None)
        return
    with mapped(database.path):
        fresh = matrix_path(database.path, file, generation=state.generation + 1)
        fresh.unlink(missing_ok=True)
        write_rows(fresh, 0, rows=matrix[[slot for _, slot in kept]])
    with database.transaction():
        connection.executemany(
            "UPDATE vector SET slot = ? WHERE n = ?", ((place, n) for place, (n, _) in enumerate(kept))
        )
        connection.execute("DELETE FROM vector_free WHERE file = ?", (file,))
        connection.execute(
            "UPDATE vector_file SET generation = generation + 1, slots = ?, deletes = deletes + 1 WHERE file = ?",
            (len(kept), file),
        )
    if database.drain():  # else the next writer removes it
        _remove(path)
    drop_old_rows(database.path, file, kept=None)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # on Windows a reader may have it open
        path.unlink(missing_ok=True)
