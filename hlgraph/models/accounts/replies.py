"""Store the replies of chat models on disk, so that no call is paid for twice. Deleting a source deletes its replies."""

from __future__ import annotations

import logging
import sqlite3
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hlgraph.models.protocols import Completion
from hlgraph.models.sqlite_file import DiskFile, pruned, writing
from hlgraph.stores.freed_bytes import empty_log, wipe

_log = logging.getLogger(__name__)
_LOSS = "repeated calls are paid for again; free disk space, or set HLGRAPH_LEDGER to a writable folder"
_SCHEMA = """
CREATE TABLE replies (
    id INTEGER PRIMARY KEY,
    request TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL
);
CREATE TABLE origins (
    request TEXT NOT NULL,
    corpus TEXT NOT NULL,
    source TEXT NOT NULL,
    part TEXT NOT NULL,
    is_stored INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (request, corpus, source, part)
) WITHOUT ROWID;
CREATE INDEX origins_by_source ON origins (corpus, source);
CREATE TABLE unswept (corpus TEXT PRIMARY KEY)
"""


class Origin(NamedTuple):
    """Where the text in a request comes from: corpus, source id and part. An empty source means unknown."""

    corpus: str
    source: str = ""
    part: str = ""


class Replies:
    """A file of chat replies, by the hash of their requests. Safe for use by several threads and processes.

    A reply may quote documents, so each is linked to the parts of sources that its request sent. :meth:`mark` records which
    parts are in the graph store, and :meth:`retain` deletes the replies whose parts have left it. Replies whose parts have
    not reached the store yet are kept, because they were paid for. A reply with unknown sources is deleted whenever anything
    in its corpus is deleted.

    If the file cannot be used, it is disabled after one warning, as the embedding cache is.

    Parameters
    ----------
    path : the file; created at the first reply
    max_bytes : maximum size of the file in bytes; if it grows larger, the oldest tenth of the replies is deleted; default 1 GiB
    """

    def __init__(self, path: Path, *, max_bytes: int = 1 << 30) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._file = DiskFile(path, _SCHEMA, name="file of stored replies", loss=_LOSS)
        self._run = uuid.uuid4().hex
        self._other_sweeps: set[str] = set()

    def find(self, request: str, *, origin: Origin | None = None) -> Completion | None:
        """The stored reply to a request; None if there is none.

        Parameters
        ----------
        request : key of the request
        origin : recorded as a further origin of the reply; by default none is recorded

        Returns
        -------
        Completion or None
            The reply, with ``is_kept`` set.
        """

        def select(connection: sqlite3.Connection) -> Completion | None:
            row = connection.execute(
                "SELECT text, input_tokens, output_tokens FROM replies WHERE request = ?", (request,)
            ).fetchone()
            if row is None:
                return None
            if origin is not None and not _is_recorded(connection, request, origin):
                with writing(connection):
                    _record(connection, request, origin)
            return Completion(row[0], row[1], row[2], is_kept=True)

        return self._file.read(select)

    def keep(self, request: str, completion: Completion, *, origin: Origin) -> None:
        """Store a reply. It replaces an earlier reply to the same request.

        Parameters
        ----------
        request : key of the request
        completion : the reply
        origin : the text that the request sends
        """
        values = (request, completion.text, completion.input_tokens, completion.output_tokens)

        def insert(connection: sqlite3.Connection) -> None:
            statement = (
                "INSERT OR REPLACE INTO replies (request, text, input_tokens, output_tokens) VALUES (?, ?, ?, ?)"
            )
            connection.execute(statement, values)
            _record(connection, request, origin)
            while pruned(connection, self._max_bytes, table="replies", order="id"):
                connection.execute("DELETE FROM origins WHERE request NOT IN (SELECT request FROM replies)")

        self._file.write(insert)

    def begin_sweep(self, corpus: str, *, create: bool = True) -> bool:
        """Record that texts of a corpus may be deleted from now on. Calling it again changes nothing.

        Each object keeps a record of its own. Another object removes that record only when it completes a sweep itself, so
        several writers can sweep concurrently.

        Parameters
        ----------
        corpus : the corpus
        create : create the file if it is missing, since replies will follow; default True

        Returns
        -------
        bool
            Whether other sweeps of the corpus are recorded, from runs that are active or were interrupted. :meth:`retain` also
            does what they have left to do, and removes their records.
        """
        first, last = f"{corpus}\0", f"{corpus}\1"

        def insert(connection: sqlite3.Connection) -> bool:
            connection.execute("INSERT OR IGNORE INTO unswept VALUES (?)", (self._sweep(corpus),))
            statement = "SELECT corpus FROM unswept WHERE corpus = ? OR corpus >= ? AND corpus < ?"
            rows = connection.execute(statement, (corpus, first, last))
            self._other_sweeps = {row[0] for row in rows} - {self._sweep(corpus)}
            return bool(self._other_sweeps)

        return (create or self.path.exists()) and bool(self._file.write(insert))

    def _sweep(self, corpus: str) -> str:
        """The name of this object's record in the table; corpus names contain no NUL."""
        return f"{corpus}\0{self._run}"

    def sources(self, corpus: str, *, is_unmarked: bool = False) -> list[str]:
        """Ids of the sources that have stored replies, ascending.

        Parameters
        ----------
        corpus : the corpus
        is_unmarked : only sources with parts that are not marked as being in the graph store; default False

        Returns
        -------
        list
            Source ids.
        """
        statement = (
            "SELECT DISTINCT source FROM origins WHERE corpus = ? AND source <> '' AND is_stored < ? ORDER BY source"
        )
        values = (corpus, 1 if is_unmarked else 2)
        rows = self._file.read(lambda connection: connection.execute(statement, values).fetchall())
        return [row[0] for row in rows or []]

    def mark(self, corpus: str, parts: Mapping[str, Collection[str]]) -> None:
        """Record that these parts of sources are in the graph store.

        Parameters
        ----------
        corpus : the corpus
        parts : hashes of parts, by source id
        """

        def update(connection: sqlite3.Connection) -> None:
            with _listed(connection, parts):
                connection.execute(
                    "UPDATE origins SET is_stored = 1 WHERE corpus = ? AND NOT is_stored AND "
                    "(source, part) IN (SELECT source, part FROM alive)",
                    (corpus,),
                )

        if parts and self.path.exists():
            self._file.write(update)

    def retain(self, corpus: str, parts: Mapping[str, Collection[str]], *, everything: bool = False) -> None:
        """Delete the replies whose parts have left the graph store, and overwrite their bytes in the file.

        Replies with unknown sources are deleted too. This ends the sweep that :meth:`begin_sweep` began.

        Parameters
        ----------
        corpus : the corpus
        parts : hashes of the parts that are in the graph store, by source id
        everything : also delete the replies whose parts have not reached the store yet; default False
        """

        def delete(connection: sqlite3.Connection) -> bool:
            self._file.broken.unlink(missing_ok=True)
            with writing(connection), _listed(connection, parts):
                # Deleting a source also deletes the replies for its parts that were never stored.
                connection.execute(
                    """
                    DELETE FROM origins WHERE corpus = :corpus AND (
                        source = '' OR :all AND (source, part) NOT IN (SELECT source, part FROM alive)
                        OR is_stored AND (source, part) NOT IN (SELECT source, part FROM alive)
                        OR source NOT IN (SELECT source FROM alive)
                        AND source IN (SELECT source FROM origins WHERE corpus = :corpus AND is_stored))
                    """,
                    {"corpus": corpus, "all": everything},
                )
                connection.execute("DELETE FROM replies WHERE request NOT IN (SELECT request FROM origins)")
            is_wiped = empty_log(connection) and wipe(connection, self.path, is_shared=True)
            with writing(connection):  # last, so that an interrupted sweep is repeated
                ended = ((name,) for name in sorted({*self._other_sweeps, self._sweep(corpus)}))
                connection.executemany("DELETE FROM unswept WHERE corpus = ?", ended)
            return is_wiped

        if self.path.exists() and not self._file.attempt(delete):
            _log.warning("%s may still hold replies about deleted text; delete the file", self.path)

    def end_sweep(self, corpus: str) -> None:
        """End a sweep in which nothing of the corpus was deleted."""
        if self.path.exists():
            values = (self._sweep(corpus),)
            self._file.write(lambda connection: connection.execute("DELETE FROM unswept WHERE corpus = ?", values))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()


@contextmanager
def _listed(connection: sqlite3.Connection, parts: Mapping[str, Collection[str]]) -> Iterator[None]:
    """Provide the parts as the temporary table ``alive``."""
    connection.execute("CREATE TEMP TABLE alive (source TEXT, part TEXT, PRIMARY KEY (source, part)) WITHOUT ROWID")
    rows = ((source, part) for source, hashes in parts.items() for part in hashes)
    connection.executemany("INSERT OR IGNORE INTO alive VALUES (?, ?)", rows)
    yield
    connection.execute("DROP TABLE alive")


def _is_recorded(connection: sqlite3.Connection, request: str, origin: Origin) -> bool:
    statement = "SELECT 1 FROM origins WHERE (request, corpus, source, part) = (?, ?, ?, ?)"
    return connection.execute(statement, (request, *origin)).fetchone() is not None


def _record(connection: sqlite3.Connection, request: str, origin: Origin) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO origins (request, corpus, source, part) VALUES (?, ?, ?, ?)", (request, *origin)
    )
