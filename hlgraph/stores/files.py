"""Create files and folders that only their owner can read: modes 0600 and 0700, whatever the umask.

Everything that holds text of a corpus is created here: stores, caches, stored replies, ledgers, the quarantine. An existing
file or folder keeps its mode, since its owner may have widened it on purpose. Windows ignores the modes; there the folder of
the user protects its content.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import IO, Literal

FILE = 0o600
"""Mode of a file, also for libraries that create files themselves, such as filelock."""
FOLDER = 0o700
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers of a full disk, quota or file system."""
_UNABLE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})  # file systems that cannot allocate
_BLOCK = 1 << 20


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents. Raises OSError if that is not possible."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with contextlib.suppress(FileExistsError):  # another process was faster; if it is a file, using it fails
        path.mkdir(mode=FOLDER)
        path.chmod(FOLDER)


def write_bytes(path: Path, mode: Literal["wb", "w+b"] = "wb") -> IO[bytes]:
    """Open a file for writing, truncated if it exists. Raises OSError if that is not possible.

    Parameters
    ----------
    path : path of the file
    mode : as for ``open``
    """
    reserve(path)
    return path.open(mode)


def scratch_file(folder: Path | None = None) -> IO[bytes]:
    """Open an empty file without a name, to write and read. The system deletes it when it is closed, or its process ends.

    Parameters
    ----------
    folder : a folder of the disk to use; None: that of the system for temporary files
    """
    return tempfile.TemporaryFile(dir=folder)


def allocate(path: Path, size: int) -> None:
    """Make a file of zeros with allocated blocks, for a memory map: on a full disk, writing to a hole would kill the process.

    Parameters
    ----------
    path : path of the file; one that exists is emptied first
    size : number of bytes

    Raises
    ------
    OSError
        The file cannot be made. On a full disk the error names the file and the bytes that it needs, and the file is removed.
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
    """Wait until a file is on disk, including what was written through a memory map.

    Releases the interpreter lock meanwhile, unlike ``flush`` of a memory map.

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
    """Wait until the entries of a folder are on disk. Raises OSError if that is not possible.

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


def writer() -> str:
    """The user of this process, for errors about files that another one owns."""
    return f"the user of this process (uid {os.getuid()})" if hasattr(os, "getuid") else "the user of this process"


def reserve(path: Path) -> None:
    """Make an empty file, for a library that then opens it by name; an existing file stays as it is.

    Raises OSError if that is not possible.
    """
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, FILE)
        finally:
            os.close(descriptor)
