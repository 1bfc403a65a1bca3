"""Remembers what commands were told to remove, so that the same command, repeated after a kill, is not refused.

A command that removes by name writes down which ids each name stands for before it removes the first. Killed in between, the
names that are gone stand for those ids, not for a spelling mistake. Names are kept as hashes, beside the ledger of the store.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.ids import checksum
from hlgraph.models.sqlite_file import DiskFile, writing
from hlgraph.settings import accounts_folder

if TYPE_CHECKING:
    from hlgraph.settings import Settings

_FILE = "removed-1.sqlite"  # 1 is the version of its schema
_SCHEMA = """
CREATE TABLE removed (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    ids TEXT NOT NULL,
    is_done INTEGER NOT NULL
)
"""
_LOSS = "a command that removes something, killed in the middle, may refuse names that are gone; free disk space"
_MOST_NAMES = 10_000
"""Names of commands that were completed; those of the oldest are dropped."""


class Noted(NamedTuple):
    """What a name stood for when a command was told to remove it.

    Attributes
    ----------
    ids : ids of what it named
    is_done : the command removed all of them; False: it was killed before it had
    """

    ids: frozenset[str]
    is_done: bool


class Removals:
    """The names that commands were told to remove from one corpus. A context manager, which closes the file.

    Parameters
    ----------
    settings : name the store, the corpus, and the folder of the accounts
    what : what is removed: ``source``, ``failure`` or ``decision``
    """

    def __init__(self, settings: Settings, what: str) -> None:
        self._scope = (settings.corpus, what)
        self._file = DiskFile(accounts_folder(settings) / _FILE, _SCHEMA, name="list of removals", loss=_LOSS)

    def __enter__(self) -> Removals:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, names: Sequence[str]) -> dict[str, Noted]:
        """What these names stood for; a name that no command was told to remove is left out."""
        keys = {self._key(name): name for name in names}

        def select(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
            statement = "SELECT name, ids, is_done FROM removed WHERE name IN (SELECT value FROM json_each(?))"
            return connection.execute(statement, (json.dumps(list(keys)),)).fetchall()

        found = (self._file.attempt(select) or []) if self._file.path.exists() else []
        return {keys[key]: Noted(frozenset(ids.split()), bool(is_done)) for key, ids, is_done in found}

    @contextmanager
    def removing(self, chosen: Mapping[str, Collection[str]]) -> Iterator[None]:
        """Note what each name stands for, run the block, and note that it removed all of it.

        What a name stood for in a command that was killed is kept with it.

        Parameters
        ----------
        chosen : for each name the ids of what is stored of it
        """
        held = self.of(list(chosen))
        before = {name: frozenset() if noted.is_done else noted.ids for name, noted in held.items()}
        rows = [
            (self._key(name), " ".join(sorted(before.get(name, frozenset()).union(ids))))
            for name, ids in chosen.items()
            if ids  # nothing to add to what is noted of it
        ]
        self._file.attempt(lambda connection: _begin(connection, rows))
        yield
        keys = [self._key(name) for name in chosen]
        self._file.attempt(lambda connection: _end(connection, keys))

    def _key(self, name: str) -> str:
        return checksum(*self._scope, name)


def _begin(connection: sqlite3.Connection, rows: Sequence[tuple[str, str]]) -> None:
    with writing(connection):
        connection.executemany("INSERT OR REPLACE INTO removed (name, ids, is_done) VALUES (?, ?, 0)", rows)


def _end(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    with writing(connection):
        connection.executemany("UPDATE removed SET is_done = 1 WHERE name = ?", ((key,) for key in keys))
        connection.execute(
            "DELETE FROM removed WHERE is_done AND id NOT IN (SELECT id FROM removed ORDER BY id DESC LIMIT ?)",
            (_MOST_NAMES,),
        )
