"""Moments at which something durable has just happened or is about to: counted, or the process ends at one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

Patch = Callable[[Any, str, Any], None]
"""Sets an attribute: ``setattr``, or ``monkeypatch.setattr``."""


class Moments:
    """Counts the moments of a process, and ends it at one of them as ``kill -9`` or another signal does.

    Parameters
    ----------
    kill_at : the moment, counted from 1; 0: none
    """

    def __init__(self, kill_at: int = 0, *, by: signal.Signals = signal.SIGKILL) -> None:
        self.count = 0
        self._kill_at, self._by = kill_at, by

    def pass_one(self) -> None:
        self.count += 1
        if self.count == self._kill_at:
            os.kill(os.getpid(), self._by)

    def arm(self, patch: Patch) -> None:
        """Before and after each transaction, each write of vectors, of a backup, and of the files beside a store."""
        from hlgraph.extract.quarantine import Quarantine
        from hlgraph.models.sqlite_file import DiskFile
        from hlgraph.stores.embedded import backup, mirror, vector_files
        from hlgraph.stores.embedded.database import Database
        from hlgraph.stores.embedded.migrations import SqliteTarget

        for owner, name in ((Database, "transaction"), (SqliteTarget, "lock")):
            patch(owner, name, self._around(getattr(owner, name)))
        for owner, name in (
            (vector_files, "write_rows"),
            (vector_files, "zero_rows"),
            (mirror.Mirror, "_write"),
            (mirror.Mirror, "_cut"),
            (mirror.Mirror, "_tidy"),
            (mirror._Previous, "save"),
            (mirror._Previous, "drop"),
            (mirror, "_unpack"),
            (mirror, "sync_folder"),
            (backup, "_exchange"),
            (backup.shutil, "rmtree"),
            (DiskFile, "attempt"),
            (Quarantine, "keep"),
            (Quarantine, "release"),
        ):
            patch(owner, name, self._both(getattr(owner, name)))

    def _both(self, real: Callable[..., object]) -> Callable[..., object]:
        @wraps(real)
        def call(*args: object, **named: object) -> object:
            self.pass_one()
            found = real(*args, **named)
            self.pass_one()
            return found

        return call

    def _around(self, real: Callable[..., AbstractContextManager[object]]) -> Callable[..., object]:
        moments = self

        class Around:
            def __init__(self, inner: AbstractContextManager[object]) -> None:
                self._inner = inner

            def __enter__(self) -> object:
                moments.pass_one()
                return self._inner.__enter__()

            def __exit__(self, *error: Any) -> object:
                done = self._inner.__exit__(*error)
                moments.pass_one()
                return done

        return wraps(real)(lambda *args: Around(real(*args)))
