"""The one place where errors of SQLite and of the file system become those of hlgraph."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from hlgraph.errors import StoreCorruptError, StoreError, StoreLockedError, StoreUnavailableError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into those of hlgraph, naming the store and the mend."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise StoreLockedError(
                f"{path}: another process is writing to this store; try again when it is done"
            ) from error
        if "full" in text or "disk I/O" in text:
            raise StoreUnavailableError(
                f"{path}: cannot write ({text}); free some space and run the same command again: it goes on where it stopped"
            ) from error
        if "readonly" in text or "unable to open" in text:
            raise StoreUnavailableError(f"{path}: {text}; check that the directory exists and is writable") from error
        raise StoreError(f"{path}: {text}") from error
    except sqlite3.DatabaseError as error:
        raise StoreCorruptError(f"{path}: {error}; restore a copy, or delete the directory and ingest again") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        mend = (
            "free some space and run the same command again: it goes on where it stopped"
            if error.errno in _FULL
            else "check that the directory exists and is writable"
        )
        raise StoreUnavailableError(f"{path}: {reason}; {mend}") from error
