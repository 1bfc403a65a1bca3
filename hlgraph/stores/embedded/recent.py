"""What was read from the database lately, in memory until anything is written to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from hlgraph.stores.embedded.database import Database

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """Values by key, each as the database has it now: all are forgotten once any connection of any process has committed.

    SQLite tells of a commit by itself (``PRAGMA data_version``), so nothing that changes the database can forget to say so:
    what was deleted is never read again. Safe for threads.

    Parameters
    ----------
    most : the room for values, by ``size``; twice that is held at most, and what was not asked for since goes first
    size : of one value
    """

    def __init__(self, database: Database, *, most: int, size: Callable[[_Value], int]) -> None:
        self._database = database
        self._most = most
        self._size = size
        self._guard = threading.Lock()
        self._state: tuple[int, int] | None = None
        self._young: dict[_Key, _Value] = {}
        self._old: dict[_Key, _Value] = {}
        self._room = most

    def read(self, keys: Iterable[_Key], fetch: Callable[[list[_Key]], Mapping[_Key, _Value]]) -> dict[_Key, _Value]:
        """The values of those keys that have one, in the order of the keys; ``fetch`` reads those that are not held."""
        wanted = dict.fromkeys(keys)
        with self._guard:
            state = self._current()
            found = {key: self._young[key] for key in wanted if key in self._young}
            if len(found) == len(wanted):
                return found
            again = {key: self._old[key] for key in wanted if key in self._old and key not in found}
            self._keep(again)
        found |= again
        missing = [key for key in wanted if key not in found]
        if missing:
            fresh = fetch(missing)
            with self._guard:
                if self._current() == state:  # else what was read may be of before a commit
                    self._keep(fresh)
            found |= fresh
        return {key: found[key] for key in wanted if key in found}

    def _current(self) -> tuple[int, int]:
        """The state of the database; everything is forgotten when it is another one."""
        state = self._database.state()
        if state != self._state:
            self._state = state
            self._young, self._old, self._room = {}, {}, self._most
        return state

    def _keep(self, values: Mapping[_Key, _Value]) -> None:
        for key, value in values.items():
            size = self._size(value)
            if size > self._room:
                self._old, self._young, self._room = self._young, {}, self._most
            self._young[key] = value
            self._room -= size
