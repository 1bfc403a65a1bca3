"""Takes an embedded database back to what an older version left."""

from __future__ import annotations

import sqlite3
import struct
from collections import Counter, defaultdict

from hlgraph.stores.embedded.text_rows import all_texts
from hlgraph.text import words

_TEXTS = """
    SELECT v.n, coalesce(chunk.text, topic.name, statement.text, entity.name, '') FROM vector AS v LEFT JOIN node USING (id)
    LEFT JOIN chunk ON chunk.n = node.n LEFT JOIN topic ON topic.n = node.n LEFT JOIN statement ON statement.n = node.n
    LEFT JOIN entity ON entity.n = node.n WHERE v.file = ?"""


_BLOCK = 112  # entries


def undo_packing(connection: sqlite3.Connection) -> None:
    """Nodes and rows of vectors with their ids as text, cosines as numbers, and lists by word of numbers of fixed width.

    So it was before the migrations V017 and V018.

    Parameters
    ----------
    connection : connection to the database of a store, which nobody has open
    """
    files = [file for (file,) in connection.execute("SELECT file FROM vector_file")]
    texts = [(n, file, text) for file in files for n, text in all_texts(connection, file)]
    lists: defaultdict[tuple[int, str], list[bytes]] = defaultdict(list)
    for n, file, text in texts:
        lines = text.split("\n") if text else []
        length = sum(" " not in line for line in lines)
        for word, count in Counter(lines).items():
            lists[file, word].append(struct.pack("<IHH", n, count, length))
    connection.executescript(
        "DROP INDEX source_uri; ALTER TABLE corpus DROP COLUMN vector_sets; DROP TABLE hold; DROP TABLE receipt;"
    )
    fields = "FROM sqlite_master WHERE name LIKE 'field#_%' ESCAPE '#' AND type IN ('view', 'trigger')"
    made = connection.execute(f"SELECT type, name, sql {fields} ORDER BY type DESC").fetchall()
    connection.commit()
    for form, name, _ in reversed(made):
        connection.execute(f"DROP {form} {name}")
    connection.executescript(
        "CREATE TABLE old (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL,"
        "  c INTEGER NOT NULL REFERENCES corpus (c), source INTEGER) STRICT;"
        "INSERT INTO old SELECT n, id, kind, c, source FROM node;"
        "UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'node') WHERE name = 'old';"
        "DROP TABLE node; ALTER TABLE old RENAME TO node;"
        "CREATE INDEX node_source ON node (source, kind); CREATE INDEX node_corpus ON node (c, kind);"
        "CREATE TABLE old (a INTEGER NOT NULL, b INTEGER NOT NULL, similarity REAL NOT NULL, PRIMARY KEY (a, b))"
        "  STRICT, WITHOUT ROWID;"
        "INSERT INTO old SELECT a, b, similarity FROM synonym; DROP TABLE synonym; ALTER TABLE old RENAME TO synonym;"
        "CREATE INDEX synonym_b ON synonym (b);"
    )
    for _, _, text in made:
        connection.execute(text)
    connection.executescript(
        "CREATE TABLE old (n INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL,"
        "  change TEXT NOT NULL, slot INTEGER NOT NULL, checksum INTEGER NOT NULL DEFAULT 0, UNIQUE (file, id)) STRICT;"
        "INSERT INTO old SELECT n, file, id, source, change, slot, checksum FROM vector JOIN vector_origin ON o = origin;"
        "UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'vector') WHERE name = 'old';"
        "DROP TABLE vector; DROP TABLE vector_origin; ALTER TABLE old RENAME TO vector; DROP TABLE text; DELETE FROM posting;"
        "CREATE TABLE text (n INTEGER PRIMARY KEY, file INTEGER NOT NULL, words TEXT NOT NULL) STRICT;"
    )
    connection.executemany("INSERT INTO text VALUES (?, ?, ?)", texts)
    for (file, word), rows in lists.items():
        parts = [rows[at : at + _BLOCK] for at in range(0, len(rows), _BLOCK)]
        connection.executemany(
            "INSERT INTO posting VALUES (?, ?, ?, ?)",
            ((file, word, struct.unpack("<IHH", part[0])[0], b"".join(part)) for part in parts),
        )
    connection.execute("DELETE FROM migration WHERE version >= 17")
    connection.commit()


def undo_words_fields_and_lists(connection: sqlite3.Connection) -> None:
    """Full text in tables of FTS5, no counts of fields and no lists of changes, as before the migrations V012 to V017.

    Parameters
    ----------
    connection : connection to the database of a store, which nobody has open
    """
    undo_packing(connection)
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
