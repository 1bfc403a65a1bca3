"""Writes and removes rows of the vector store: vectors in a matrix file, and slot numbers and text in the database.

Writing appends to the matrix file first and then commits the slot numbers in one transaction. Removing frees slots in a
transaction and then overwrites them with zeros. A new generation of the file is written when most slots are free.
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
_UNCLEAN = "SELECT 1 FROM vector_free WHERE file = ? AND is_zeroed = 0 LIMIT 1"
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
    """Removes rows and frees their slots; the caller holds the transaction, and calls :func:`clean_file` after it.

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
    remove_rows(connection, file, rows=[n for n, _ in rows])
    connection.executemany("DELETE FROM vector WHERE n = ?", ((n,) for n, _ in rows))
    connection.executemany(
        "INSERT OR IGNORE INTO vector_free (file, slot) VALUES (?, ?)", ((file, slot) for _, slot in rows)
    )
    connection.execute("UPDATE vector_file SET deletes = deletes + 1 WHERE file = ?", (file,))
    return len(rows)


def finish_write(database: Database, batch: VectorBatch) -> None:
    """Finishes an upsert after its commit: wipes replaced rows, and drops cached files of old states.

    Parameters
    ----------
    database : database of the store
    batch : the batch that was committed
    """
    connection = database.writer()
    for block in batch.blocks:
        row = connection.execute(f"{_STATE} WHERE corpus = ? AND kind = ?", (batch.corpus, block.kind)).fetchone()
        if row is None:
            continue
        state = State(*row)
        drop_old_rows(database.path, state.file, kept=state)  # replacing a row also deletes one
        if connection.execute(_UNCLEAN, (state.file,)).fetchone():
            clean_file(database, state.file)


def clean_file(database: Database, file: int) -> None:
    """Overwrites the freed rows on disk; rewrites the matrix if most of its slots are free.

    Waits for searches that may still find these rows. While one of them runs on, the rows are left to the next writer.

    Parameters
    ----------
    database : database of the store
    file : number of the matrix
    """
    connection = database.writer()
    row = connection.execute(f"{_STATE} WHERE file = ?", (file,)).fetchone()
    if row is None:  # its last rows were moved out of it by another call after the same commit
        return
    state = State(*row)
    generation, dimensions, slots = state.generation, state.dimensions, state.slots
    drop_old_rows(database.path, file, kept=state)
    if not database.drain():
        return
    free = connection.execute("SELECT slot, is_zeroed FROM vector_free WHERE file = ?", (file,)).fetchall()
    path = matrix_path(database.path, file, generation=generation)
    for other in path.parent.glob(f"{file}-*{path.suffix}"):
        if other != path:
            _remove(other)
    with mapped(database.path):
        freed = np.array([slot for slot, done in free if not done], dtype=np.int64)
        zero_rows(path, freed, dimensions=dimensions)
        if rows_folder(database.path, state).is_dir():
            RowFiles(database.path, state).wipe(freed)
    if len(free) < max(_COMPACT, slots // 2) and len(free) < slots:
        with database.transaction():
            connection.execute("UPDATE vector_free SET is_zeroed = 1 WHERE file = ? AND is_zeroed = 0", (file,))
        return
    with mapped(database.path):
        matrix = (
            np.empty((0, dimensions), np.float32)
            if len(free) == slots
            else read_rows(path, slots, dimensions=dimensions)
        )
    move_rows(database, state, matrix=matrix)


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
