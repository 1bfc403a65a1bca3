"""Files and folders that their owner alone may read: modes 0600 and 0700, whatever the umask.

Whatever keeps text of a corpus is made here: stores, caches, stored replies, ledgers, the quarantine. A file or folder that
exists keeps its mode, since its owner may have widened it on purpose. Windows ignores the modes: there the folder of the user
protects what is in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import IO, Literal

FILE = 0o600
"""Mode of a file; libraries that make files by themselves, such as filelock, take it."""
FOLDER = 0o700
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Numbers of the errors of a disk, a quota or a file system without more room."""
_UNABLE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})  # of file systems that cannot
_BLOCK = 1 << 20


def make_folder(path: Path) -> None:
    """Make a folder and all folders above it that are missing. Raises OSError if that is not possible."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with contextlib.suppress(FileExistsError):  # another process was faster; if it is a file, its use tells
        path.mkdir(mode=FOLDER)
        path.chmod(FOLDER)


def write_bytes(path: Path, mode: Literal["wb", "w+b"] = "wb") -> IO[bytes]:
    """A file for writing, emptied if it exists. Raises OSError if that is not possible.

    Parameters
    ----------
    path : path of the file
    mode : as for ``open``
    """
    reserve(path)
    return path.open(mode)


def allocate(path: Path, size: int) -> None:
    """Make a file of zeros whose blocks are on disk, for a memory map: a full disk would end the process at a write to a hole.

    Parameters
    ----------
    path : path of the file; one that exists is emptied first
    size : number of bytes

    Raises
    ------
    OSError
        The file cannot be made; on a full disk the error names the file and the bytes that it needs, and the file is removed.
    """
    try:
        with write_bytes(path) as out:
            _fill(out, size)
    except OSError as error:
        path.unlink(missing_ok=True)
        if error.errno not in FULL:
            raise
        what = f"the disk is full: this file needs {size:,} bytes; free some space, then try again"
        raise OSError(error.errno, what, str(path)) from error


def _fill(out: IO[bytes], size: int) -> None:
    if size and hasattr(os, "posix_fallocate"):
        try:
            return os.posix_fallocate(out.fileno(), 0, size)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
    for start in range(0, size, _BLOCK):
        out.write(bytes(min(_BLOCK, size - start)))
    return None


def sync(path: Path) -> None:
    """Wait until a file is on disk, with what was written through a mapping of it.

    Other threads go on meanwhile: ``flush`` of a mapping would hold the interpreter until the disk has answered.

    Parameters
    ----------
    path : path of the file

    Raises
    ------
    OSError
        The file cannot be opened or written.
    """
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until it is on disk which files a folder holds. Raises OSError if that is not possible.

    Parameters
    ----------
    path : path of the folder
    """
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def reserve(path: Path) -> None:
    """Make an empty file, for a library that then opens it by its name; one that exists stays as it is.

    Raises OSError if that is not possible.
    """
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, FILE)
        finally:
            os.close(descriptor)
