"""The graphs of the corpora of one store: the present version of each, patched from the one before where that is possible."""

from __future__ import annotations

import itertools
import logging
import sqlite3
import threading
from contextvars import Context
from typing import TYPE_CHECKING

from hlgraph.errors import StoreError
from hlgraph.stores.embedded import image_changes
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.image.mapped import log_level

if TYPE_CHECKING:
    from hlgraph.stores.embedded.adjacency import Adjacency

_HELD = 2  # graphs of a corpus that are kept: of the present version, and of the one that searches under way read
_ATTEMPTS = 2  # attempts to keep a large graph in files, before it is kept in memory
_log = logging.getLogger(__name__)


class Graphs:
    """The graphs of one store. Thread-safe: a reader keeps the graph that it was given, and no graph changes.

    Parameters
    ----------
    database : database of the store
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[str, list[Adjacency]] = {}  # the newest last
        self._guard = threading.Lock()
        self._written: dict[str, Adjacency] = {}
        self._folding: dict[str, threading.Thread] = {}
        self._is_closed = threading.Event()

    def current(self, corpus: str, names: frozenset[str]) -> Adjacency | None:
        """The graph of the present version of a corpus, with some relationships; None if there is no such corpus.

        Parameters
        ----------
        corpus : name of the corpus
        names : the relationships
        """
        from hlgraph.stores.embedded.adjacency import Adjacency, OutdatedError

        for attempt in itertools.count():
            state = image_changes.state_of(self._database.reader(), corpus) if self._database.exists() else None
            if state is None:
                return None
            present = state[1].version
            with self._guard:
                found = self._patched(corpus, names, present)
                is_new = found is None
                if found is None:
                    found = Adjacency(self._database, corpus, version=present)
                    names = names.union(*(held.names for held in self._held.get(corpus, ())))
                try:  # if changes arrive faster than files are written, it is kept in memory
                    found.load(names, is_in_files=attempt < _ATTEMPTS)
                except OutdatedError:
                    continue
                return self._kept(corpus, self._folded(corpus, found) if is_new else found)
        return None

    def _kept(self, corpus: str, found: Adjacency) -> Adjacency:
        others = [item for item in self._held.get(corpus, ()) if item.version != found.version]
        self._held[corpus] = sorted([*others, found], key=lambda item: item.version)[-_HELD:]
        return found

    def _patched(self, corpus: str, names: frozenset[str], version: int) -> Adjacency | None:
        """The graph that is held, or what it is patched to; None where it must be loaded."""
        written = self._written.pop(corpus, None)
        for held in ([] if written is None else [written]) + self._held.get(corpus, [])[::-1]:
            found = held if held.version == version else held.patched() if held.version < version else None
            if found is not None and (names <= found.names or not found.is_patched):
                return found if found is held else self._folded(corpus, found)
        return None

    def _folded(self, corpus: str, found: Adjacency) -> Adjacency:
        """A graph in new arrays, if it needs them: now in memory, or in files that are written while the old ones are used."""
        if not found.is_to_be_folded():
            return found
        if not found.is_in_files:
            return found.folded()
        thread = self._folding.get(corpus)
        if thread is None or not thread.is_alive():
            thread = threading.Thread(target=Context().run, args=(self._write, corpus, found), daemon=True)
            self._folding[corpus] = thread
            thread.start()
        return found

    def _write(self, corpus: str, found: Adjacency) -> None:
        try:
            self._written[corpus] = found.written(self._is_closed)
        except (OSError, StoreError, sqlite3.Error) as error:
            _log.log(log_level(error), "the graph of corpus %s was not written anew: %s", corpus, error)

    def close(self) -> None:
        """Waits for files that are being written, now without rests."""
        self._is_closed.set()
        for thread in list(self._folding.values()):
            thread.join()
