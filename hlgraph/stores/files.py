"""Files and folders that their owner alone may read: modes 0600 and 0700, whatever the umask.

Whatever keeps text of a corpus is made here: stores, caches, stored replies, ledgers, the quarantine. A file or folder that
exists keeps its mode, since its owner may have widened it on purpose. Windows ignores the modes: there the folder of the user
protects what is in it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import IO, Literal

FILE = 0o600
"""Mode of a file; libraries that make files by themselves, such as filelock, take it."""
FOLDER = 0o700


def make_folder(path: Path) -> None:
    """Make a folder and all folders above it that are missing. Raises OSError where that is not possible."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with contextlib.suppress(FileExistsError):  # another process was faster; if it is a file, its use tells
        path.mkdir(mode=FOLDER)
        path.chmod(FOLDER)


def write_bytes(path: Path, mode: Literal["wb", "w+b"] = "wb") -> IO[bytes]:
    """A file for writing, emptied if it exists. Raises OSError where that is not possible.

    Parameters
    ----------
    path : path of the file
    mode : as for ``open``
    """
    reserve(path)
    return path.open(mode)


def reserve(path: Path) -> None:
    """Make an empty file, for a library that then opens it by its name; one that exists stays as it is.

    Raises OSError where that is not possible.
    """
    with contextlib.suppress(FileExistsError):
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(made, FILE)
        finally:
            os.close(made)
