"""Takes an embedded database back to what an older version left."""

from __future__ import annotations

import sqlite3

from hlgraph.text import words

_TEXTS = """
    SELECT v.n, coalesce(chunk.text, topic.name, statement.text, entity.name, '') FROM vector AS v LEFT JOIN node USING (id)
    LEFT JOIN chunk ON chunk.n = node.n LEFT JOIN topic ON topic.n = node.n LEFT JOIN statement ON statement.n = node.n
    LEFT JOIN entity ON entity.n = node.n WHERE v.file = ?"""


def undo_words_fields_and_lists(connection: sqlite3.Connection) -> None:
    """Full text in tables of FTS5, no counts of fields and no lists of changes, as before the migrations V012 to V014.

    Parameters
    ----------
    connection : connection to the database of a store, which nobody has open
    """
    for (file,) in connection.execute("SELECT file FROM vector_file").fetchall():
        connection.execute(f"CREATE VIRTUAL TABLE text_{file} USING fts5 (words, tokenize = 'porter unicode61')")
        rows = [(n, " ".join(words(text))) for n, text in connection.execute(_TEXTS, (file,))]
        connection.executemany(f"INSERT INTO text_{file} (rowid, words) VALUES (?, ?)", rows)  # noqa: S608 - a number
    connection.commit()
    connection.executescript(
        "DROP TRIGGER field_insert; DROP TRIGGER field_delete; DROP TRIGGER field_before; DROP TRIGGER field_after;"
        "DROP VIEW field_of; DROP TABLE field; DROP TABLE text; DROP TABLE posting;"
        "ALTER TABLE vector_file DROP COLUMN texts; ALTER TABLE vector_file DROP COLUMN length;"
        "DROP TABLE image_change; ALTER TABLE corpus DROP COLUMN stamp; ALTER TABLE corpus DROP COLUMN ids;"
        "DELETE FROM migration WHERE version >= 12;"
    )
