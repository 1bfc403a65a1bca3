"""Keeps the replies of chat models on disk, so that no call is paid twice; what is deleted leaves them too."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hlgraph.models.seams import Completion
from hlgraph.models.sqlite_file import DiskFile, erase_traces, used_bytes, writing

_log = logging.getLogger(__name__)
_LOSS = "every reply is paid anew; make room, or set HLGRAPH_LEDGER to a folder that can be written"
_PRUNED_SHARE = 0.1
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
    """Corpus, source and part of it whose text a request shows; an empty source: nobody can tell."""

    corpus: str
    source: str = ""
    part: str = ""


class Replies:
    """A file of replies by the hash of their request. Safe for threads and many processes.

    A reply holds what documents say, so each knows the parts of sources that its request shows: :meth:`mark` notes which of
    them are in the store by now, and :meth:`retain` drops those that were and are no more. What was paid for and is not stored
    yet stays. A reply whose sources nobody can tell goes whenever something of its corpus goes.

    A file that cannot be used is left alone after one warning, as that of the embedding cache is.

    Parameters
    ----------
    path : the file; made when the first reply is kept
    max_bytes : bound of its size; beyond it the tenth that was kept first goes
    """

    def __init__(self, path: Path, *, max_bytes: int = 1 << 30) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._file = DiskFile(path, _SCHEMA, name="file of kept replies", loss=_LOSS)

    def held(self, request: str, *, origin: Origin | None = None) -> Completion | None:
        """The reply to a request, None where there is none; who asks for it now is noted as another origin of it."""
        if not self.path.exists():
            return None

        def select(connection: sqlite3.Connection) -> Completion | None:
            row = connection.execute(
                "SELECT text, input_tokens, output_tokens FROM replies WHERE request = ?", (request,)
            ).fetchone()
            if row is None:
                return None
            if origin is not None and not _is_noted(connection, request, origin):
                with writing(connection):
                    _note(connection, request, origin)
            return Completion(row[0], row[1], row[2], is_kept=True)

        return self._file.attempt(select)

    def keep(self, request: str, completion: Completion, *, origin: Origin) -> None:
        """Keep a reply; the last one to a request counts."""
        values = (request, completion.text, completion.input_tokens, completion.output_tokens)

        def insert(connection: sqlite3.Connection) -> None:
            with writing(connection):
                connection.execute(
                    "INSERT OR REPLACE INTO replies (request, text, input_tokens, output_tokens) VALUES (?, ?, ?, ?)",
                    values,
                )
                _note(connection, request, origin)
                self._prune(connection)

        self._file.attempt(insert)

    def begin_sweep(self, corpus: str, *, is_made: bool = True) -> bool:
        """Note that texts of a corpus may go from now on; returns whether an earlier sweep never came to its end.

        ``is_made``: the file is made where it is missing, since replies will come.
        """

        def insert(connection: sqlite3.Connection) -> bool:
            with writing(connection):
                return not connection.execute("INSERT OR IGNORE INTO unswept VALUES (?)", (corpus,)).rowcount

        return (is_made or self.path.exists()) and bool(self._file.attempt(insert))

    def sources(self, corpus: str, *, is_unmarked: bool = False) -> list[str]:
        """Ids of the sources that replies are kept for; only of those with parts that are not marked as stored."""

        def select(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(
                "SELECT DISTINCT source FROM origins WHERE corpus = ? AND source <> '' AND is_stored < ? ORDER BY source",
                (corpus, 1 if is_unmarked else 2),
            )
            return [row[0] for row in rows]

        return (self._file.attempt(select) or []) if self.path.exists() else []

    def mark(self, corpus: str, parts: Mapping[str, Collection[str]]) -> None:
        """Note that these parts of sources are in the store, by the id of the source."""

        def update(connection: sqlite3.Connection) -> None:
            with writing(connection), _listed(connection, parts):
                connection.execute(
                    "UPDATE origins SET is_stored = 1 WHERE corpus = ? AND NOT is_stored AND "
                    "(source, part) IN (SELECT source, part FROM alive)",
                    (corpus,),
                )

        if parts and self.path.exists():
            self._file.attempt(update)

    def retain(self, corpus: str, parts: Mapping[str, Collection[str]], *, is_all: bool = False) -> None:
        """Drop the replies about what was in the store and is not among these parts any more; overwrite their place.

        Replies without a source go too. It ends what :meth:`begin_sweep` began.

        Parameters
        ----------
        parts : that are in the store, by the id of the source
        is_all : drop what is not stored yet as well
        """

        def delete(connection: sqlite3.Connection) -> bool:
            self._file.broken.unlink(missing_ok=True)
            with writing(connection), _listed(connection, parts):
                # A source that is gone takes along what was never stored of it.
                connection.execute(
                    """
                    DELETE FROM origins WHERE corpus = :corpus AND (
                        source = '' OR :all AND (source, part) NOT IN (SELECT source, part FROM alive)
                        OR is_stored AND (source, part) NOT IN (SELECT source, part FROM alive)
                        OR source NOT IN (SELECT source FROM alive)
                        AND source IN (SELECT source FROM origins WHERE corpus = :corpus AND is_stored))
                    """,
                    {"corpus": corpus, "all": is_all},
                )
                connection.execute("DELETE FROM replies WHERE request NOT IN (SELECT request FROM origins)")
                connection.execute("DELETE FROM unswept WHERE corpus = ?", (corpus,))
            return erase_traces(connection)

        if self.path.exists() and not self._file.attempt(delete):
            _log.warning("%s may still hold replies about text that is deleted; delete the file", self.path)

    def end_sweep(self, corpus: str) -> None:
        """Note that nothing of the corpus went."""

        def delete(connection: sqlite3.Connection) -> None:
            with writing(connection):
                connection.execute("DELETE FROM unswept WHERE corpus = ?", (corpus,))

        if self.path.exists():
            self._file.attempt(delete)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    def _prune(self, connection: sqlite3.Connection) -> None:
        while used_bytes(connection) > self._max_bytes:
            (count,) = connection.execute("SELECT count(*) FROM replies").fetchone()
            if not count:
                return
            connection.execute(
                "DELETE FROM replies WHERE id IN (SELECT id FROM replies ORDER BY id LIMIT ?)",
                (max(1, int(count * _PRUNED_SHARE)),),
            )
            connection.execute("DELETE FROM origins WHERE request NOT IN (SELECT request FROM replies)")


@contextmanager
def _listed(connection: sqlite3.Connection, parts: Mapping[str, Collection[str]]) -> Iterator[None]:
    """The parts as the table ``alive``."""
    connection.execute("CREATE TEMP TABLE alive (source TEXT, part TEXT, PRIMARY KEY (source, part)) WITHOUT ROWID")
    rows = ((source, part) for source, known in parts.items() for part in known)
    connection.executemany("INSERT OR IGNORE INTO alive VALUES (?, ?)", rows)
    yield
    connection.execute("DROP TABLE alive")


def _is_noted(connection: sqlite3.Connection, request: str, origin: Origin) -> bool:
    statement = "SELECT 1 FROM origins WHERE (request, corpus, source, part) = (?, ?, ?, ?)"
    return connection.execute(statement, (request, *origin)).fetchone() is not None


def _note(connection: sqlite3.Connection, request: str, origin: Origin) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO origins (request, corpus, source, part) VALUES (?, ?, ?, ?)", (request, *origin)
    )
