"""The reading connections of a database: a bounded number of them, which threads have in turn."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

POOL: Final = 32
"""Connections that are lent at a time; a thread that finds none waits for one."""
# Seconds to wait; then one more is opened, since a thread that has one of the others may wait for this thread.
_PATIENCE = 20.0
_INHERITED: list[sqlite3.Connection] = []  # of the parent of a fork: SQLite forbids to close them here
CommitMark = tuple[int, int]
"""A state of a database, as one process sees it."""


class Lent:
    """A reading connection, as long as one thread has it: until it gives it back, or ends.

    Attributes
    ----------
    connection : the connection
    state : the state that it reads in a snapshot; None: outside of one
    """

    def __init__(self, readers: Readers, open_one: Callable[[], sqlite3.Connection]) -> None:
        self._readers = readers
        self._is_out = False
        self.state: CommitMark | None = None
        self._has_room = readers.room.acquire(timeout=_PATIENCE)
        try:
            self.connection = readers.idle.pop()
        except IndexError:
            self.connection = open_one()
        self._is_out = True

    def give_back(self) -> None:
        """Return the connection to the pool; close it if the pool is closed or full."""
        readers, is_out, has_room = self._readers, self._is_out, self._has_room
        self._is_out = self._has_room = False
        if is_out and os.getpid() != readers.process:
            _INHERITED.append(self.connection)
        elif is_out:
            readers.idle.append(self.connection)  # first, since another thread may close them at any moment
            readers.drop(down_to=0 if readers.is_closed else POOL // 2)
        if has_room:
            readers.room.release()

    def drop(self) -> None:
        """Close the connection; the thread gets another one."""
        self._is_out = False
        self.connection.close()
        self._readers.forget()
        self.give_back()

    def __del__(self) -> None:
        self.give_back()


class Readers:
    """The reading connections of a database. Thread-safe: each operation on the idle ones is atomic.

    Attributes
    ----------
    idle : those that no thread has
    room : how many more can be lent
    process : id of the process that opened them
    is_closed : set once they are closed
    """

    def __init__(self) -> None:
        self.idle: deque[sqlite3.Connection] = deque()
        self.room = threading.Semaphore(POOL)
        self.process = os.getpid()
        self.is_closed = False
        self._local = threading.local()

    def lent(self, open_one: Callable[[], sqlite3.Connection]) -> Lent:
        """The connection of this thread, which it has from its first call on.

        Parameters
        ----------
        open_one : opens a connection
        """
        lent: Lent | None = getattr(self._local, "lent", None)
        if lent is None:
            lent = self._local.lent = Lent(self, open_one)
        return lent

    def release(self, has_failed: bool = False) -> None:
        """Give the connection of this thread back, unless it reads a snapshot; see :meth:`Database.release`."""
        lent: Lent | None = getattr(self._local, "lent", None)
        if lent is None or lent.state is not None:
            return
        if has_failed:
            lent.drop()
        else:
            self.forget()
            lent.give_back()

    def forget(self) -> None:
        """Let this thread get another connection next."""
        self._local.lent = None

    def drop(self, *, down_to: int = 0) -> None:
        """Close idle connections until at most ``down_to`` are left."""
        while len(self.idle) > down_to:
            with contextlib.suppress(IndexError):  # another thread took it
                self.idle.popleft().close()

    def close(self) -> None:
        """Close the idle connections; the others are closed when they are given back."""
        self.is_closed = True
        self.release()
        self.drop()
