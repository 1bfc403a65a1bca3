"""Backups of the embedded store: one committed state, copied while others write; and the store that is made from one.

A copy holds zeros where its state has removed something, whether or not the writer has overwritten it yet. So a restored store is
wiped, and says so (:mod:`hlgraph.stores.freed_bytes`).

The truth of a store is its database, the matrices of vectors, and the SQLite files of the ledger and of stored replies. The
other files are caches that are made again.

A read transaction pins a state of the database. The matrices are not in it: a writer overwrites a row at its end, after the
commit that removed it. So rows are copied first, then a state is pinned, and what was written since is copied again. If no row
was removed between the pinning and the end of that, the rows belong to the state; otherwise the next state is tried. After some
tries the last one holds the lock of the writer, for as long as it takes to copy what was written since the try before.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime as dt
import errno
import functools
import io
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import HLGraphError, InputError, StoreError, StoreUnavailableError
from hlgraph.stores import files, migrate
from hlgraph.stores.embedded.database import DATABASE, Database
from hlgraph.stores.embedded.mirror import BLOCK, Manifest, Mirror, locked, read_manifest, unpack
from hlgraph.stores.embedded.sqlite import corrupt, mapped
from hlgraph.stores.embedded.vector_files import clean_files, matrix_path
from hlgraph.stores.freed_bytes import Wiping, wipe_opened
from hlgraph.stores.protocols import Backup

_TRIES = 20
_SHORT = 1_000  # maximum number of blocks that are copied while a state is pinned
_MATRICES = "SELECT file, generation, deletes, dimensions, slots FROM vector_file ORDER BY file"
_FREE = "SELECT slot FROM vector_free WHERE file = ? ORDER BY slot"
_PRESENT = "SELECT file, generation, deletes FROM vector_file ORDER BY file"
_OF_LOCK = ("writer.lock", "writer.json", "turn.lock")
_OURS = (*_OF_LOCK, "vectors", "graph")
_SUFFIXES = ("", "-wal", "-shm", "-wiped", ".lock", ".broken")
_NO_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


Check = Callable[[Path], bool]
"""A check of a copy of a store: returns whether it has unfinished changes; raises StoreCorruptError if it is damaged."""


class _Matrix(NamedTuple):
    """A matrix as a state has it."""

    deletes: int
    dimensions: int
    slots: int
    free: NDArray[np.int64]

    def blocks(self, before: _Matrix | None) -> NDArray[np.int64]:
        """The blocks that may differ since an older state was read, and copied afterwards."""
        width = 4 * self.dimensions
        if before is None:
            return np.arange(-(-self.slots * width // BLOCK))
        slots = np.setdiff1d(self.free, before.free)
        slots = slots[slots < self.slots]
        spans = [np.arange(start // BLOCK, -(-(start + width) // BLOCK)) for start in (slots * width).tolist()]
        if self.slots > before.slots:
            spans.append(np.arange(before.slots * width // BLOCK, -(-self.slots * width // BLOCK)))
        return np.unique(np.concatenate(spans)) if spans else np.empty(0, dtype=np.int64)


_Matrices = dict[tuple[int, int], _Matrix]


class _Wiped(io.FileIO):
    """A file of a matrix, in which freed rows read as zeros: its writer overwrites them only at its end.

    Parameters
    ----------
    path : the file
    matrix : names the rows
    """

    def __init__(self, path: Path, matrix: _Matrix) -> None:
        super().__init__(path)
        self._matrix = matrix

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes."""
        at, width = self.tell(), 4 * self._matrix.dimensions
        data = bytearray(super().read(size) or b"")
        free = self._matrix.free
        first, last = np.searchsorted(free, (at // width, -(-(at + len(data)) // width)))
        for start in (free[first:last] * width - at).tolist():
            end = min(start + width, len(data))
            data[max(start, 0) : end] = bytes(end - max(start, 0))
        return bytes(data)


class Backups:
    """Backups of an embedded store: made, and restored.

    Parameters
    ----------
    database : the store
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        database.at_end.append(functools.partial(clean_files, database))
        self._folder = database.path.absolute().resolve()
        self._locked = self._pinned = 0.0

    def make(self, target: Path, *, check: Check) -> Backup:
        """Bring a backup to the present state of the store. If it is killed, the previous backup stays; the next run resumes.

        Parameters
        ----------
        target : folder of the backup
        check : checks the copy before the backup is complete

        Raises
        ------
        InputError
            There is no store, or the folder cannot be used.
        StoreLockedError
            Another backup or restore uses the folder.
        StoreCorruptError
            The store or its copy is damaged. The backup before stays.
        StoreUnavailableError
            A disk is full, or a file cannot be read or written.
        """
        target = target.expanduser().absolute().resolve()
        if target == self._folder or self._folder in target.parents or target in self._folder.parents:
            raise InputError(
                f"{target}: the backup and the store {self._folder} must not lie in each other; give another folder"
            )
        if not self._database.exists():
            raise InputError(f"{self._folder}: there is no store here to back up; ingest something first")
        with locked(target, create=True):
            mirror = Mirror(target)
            if mirror.last is not None and mirror.last.store != str(self._folder):
                raise InputError(
                    f"{target}: this folder holds the backup of another store, {mirror.last.store}; give another folder"
                )
            with progress.step("copy"):
                at = self._copy(mirror)
            mirror.tidy()
            with progress.step("check"):
                for name in mirror.names():
                    _check_file(mirror.folder / name, self._folder)
                is_unfinished = check(mirror.folder)
                mirror.verify()
            made_by = uuid.uuid4().hex, migrate.running_version()
            manifest = mirror.publish(store=self._folder, at=at, made_by=made_by, unfinished=is_unfinished)
        return _backup(target, manifest, written=mirror.written, seconds=(self._locked, self._pinned))

    def _copy(self, mirror: Mirror) -> str:
        self._locked = self._pinned = 0.0
        with (
            mapped(self._folder),
            contextlib.closing(_connect(self._database.file)) as pinned,
            contextlib.closing(_connect(self._database.file)) as present,
        ):
            began = self._copy_matrices(mirror, pinned, present)
            at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            with _staged(pinned) as copy:
                self._pinned += time.perf_counter() - began
                _put(mirror, self._database.file, copy)
            for path in sorted(self._folder.glob("*.sqlite")):
                with contextlib.closing(_connect(path)) as beside, _staged(beside) as copy:
                    _put(mirror, path, copy)
        if not self._database.wiping.is_finished:  # a writer has waited for the pinned state in vain
            with contextlib.suppress(HLGraphError), self._database.lock(wait=0):
                pass  # the end of a writer overwrites what is freed
        return at

    def _copy_matrices(self, mirror: Mirror, pinned: sqlite3.Connection, present: sqlite3.Connection) -> float:
        """Pin a state and copy its matrices; returns when it was pinned."""
        before: _Matrices = {}
        for number in range(1, _TRIES + 1):
            is_last = number == _TRIES
            with self._writer_stopped() if is_last else contextlib.nullcontext():
                began = time.perf_counter()
                pinned.execute("BEGIN")
                now = _matrices(pinned)
                blocks = {key: item.blocks(before.get(key)) for key, item in now.items()}
                is_short = sum(map(len, blocks.values())) <= _SHORT
                if not is_short and not is_last:
                    pinned.execute("COMMIT")
                lost = self._copy_blocks(mirror, now, blocks)
                if pinned.in_transaction:
                    states = [(*key, item.deletes) for key, item in now.items()]
                    if present.execute(_PRESENT).fetchall() == states:
                        if lost:
                            raise corrupt(self._folder, f"{lost} is gone or too short")
                        mirror.leave_out(set(mirror.names()) - set(map(_name, now)))
                        return began
                    pinned.execute("COMMIT")
                    self._pinned += time.perf_counter() - began
                before = {} if lost else {**before, **now}
        raise StoreError(f"{self._folder}: the store changed while its writer was locked; make the backup again")

    def _copy_blocks(self, mirror: Mirror, now: _Matrices, blocks: dict[tuple[int, int], NDArray[np.int64]]) -> str:
        """Copy blocks of matrices; returns the name of one that is gone or too short."""
        for key, item in now.items():
            path = matrix_path(self._folder, key[0], generation=key[1])
            size = 4 * item.dimensions * item.slots
            if not size:
                continue
            try:
                with _Wiped(path, item) as source:
                    mode = os.fstat(source.fileno()).st_mode
                    mirror.put(_name(key), source, form=(size, mode), blocks=blocks[key].tolist())
            except (FileNotFoundError, EOFError):
                return path.name
        return ""

    @contextlib.contextmanager
    def _writer_stopped(self) -> Iterator[None]:
        with self._database.lock(create=False):
            began = time.perf_counter()
            yield
            self._locked = time.perf_counter() - began

    def restore(self, backup: Path, *, replace: bool) -> Backup:
        """Restore the store from a backup. If it is killed, the store is all of the old one or all of the new one.

        Parameters
        ----------
        backup : folder of the backup
        replace : replace the store that is there

        Raises
        ------
        InputError
            The folder holds no complete backup, or there is a store already, or something else.
        StoreLockedError
            Another process writes to the store, or uses the backup.
        StoreCorruptError
            The backup is damaged; the message names the files. The store stays as it was.
        MigrationError
            A newer hlgraph made the backup.
        StoreUnavailableError
            A disk is full, or a file cannot be read or written.
        """
        backup = backup.expanduser().absolute().resolve()
        if backup == self._folder or self._folder in backup.parents or backup in self._folder.parents:
            raise InputError(f"{backup}: the backup and the store {self._folder} must not lie in each other")
        with locked(backup, create=False):
            manifest = read_manifest(backup)
            if manifest is None:
                raise InputError(
                    f"{backup}: the first backup here was not completed; make it again, or use another one"
                )
            self._check_replaceable(replace)
            with self._database.lock(create=False):
                self._check_replaceable(replace)  # another process may have made it
                with progress.step("restore"):
                    self._switch_to(backup, manifest)
        return _backup(backup, manifest, written=manifest.size, seconds=(0.0, 0.0))

    def _check_replaceable(self, replace: bool) -> None:
        with mapped(self._folder):
            if self._folder.exists() and not self._folder.is_dir():
                raise InputError(f"{self._folder} is a file; give the path of a folder for the store")
            names = sorted(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []
        strange = [name for name in names if not _is_ours(name)]
        if strange:
            raise InputError(f"{self._folder}: {strange[0]} is no part of a store; move it away, or restore elsewhere")
        if not replace and any(name not in _OF_LOCK for name in names):
            raise InputError(
                f"{self._folder}: there is a store here already; restore elsewhere, or replace it: restore --replace "
                "(replace=True)"
            )

    def _switch_to(self, backup: Path, manifest: Manifest) -> None:
        """Make the new folder beside the old one, and put it in its place; the caller holds the lock of the old one."""
        restored = self._folder.with_name(f".{self._folder.name}.restored")
        with mapped(restored):
            if restored.exists():
                shutil.rmtree(restored)
            files.make_folder(restored)
        try:
            unpack(backup, manifest, folder=restored)
            with mapped(restored):
                Wiping(restored / DATABASE).trust()  # its copy was wiped, and is what was copied
            with mapped(self._folder):
                if any(path.name not in _OF_LOCK for path in self._folder.iterdir()):
                    _exchange(restored, self._folder)
                else:
                    shutil.rmtree(self._folder)
                    restored.rename(self._folder)
                files.sync_folder(self._folder.parent)
        finally:  # what is there now is the old store, or an unfinished new one
            shutil.rmtree(restored, ignore_errors=True)


def _is_ours(name: str) -> bool:
    return name in _OURS or any(name.endswith((f".sqlite{end}", f"{DATABASE}{end}")) for end in _SUFFIXES)


def _backup(target: Path, manifest: Manifest, *, written: int, seconds: tuple[float, float]) -> Backup:
    store, count = Path(manifest.store), len(manifest.files)
    return Backup(target, store, manifest.at, count, manifest.size, written, manifest.unfinished, *seconds)


def _name(key: tuple[int, int]) -> str:
    return matrix_path(Path(), key[0], generation=key[1]).as_posix()


def _matrices(connection: sqlite3.Connection) -> _Matrices:
    matrices = {}
    for file, generation, deletes, dimensions, slots in connection.execute(_MATRICES).fetchall():
        free = np.array(connection.execute(_FREE, (file,)).fetchall(), dtype=np.int64).reshape(-1)
        matrices[file, generation] = _Matrix(deletes, dimensions, slots, free)
    return matrices


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=30)
    connection.execute("PRAGMA mmap_size = 268435456")
    return connection


@contextlib.contextmanager
def _staged(source: sqlite3.Connection) -> Iterator[IO[bytes]]:
    """A copy of a database in the temporary folder, as the transaction of a connection sees it; ends that transaction.

    The file has no name while it is filled, if the system allows that, so that a kill leaves nothing of it.
    """
    with tempfile.TemporaryDirectory(prefix="hlgraph-") as folder, contextlib.ExitStack() as stack:
        path = Path(folder) / "copy"
        with mapped(path):
            files.reserve(path)
            file = stack.enter_context(path.open("r+b"))
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as copy:
                copy.execute("PRAGMA journal_mode = OFF")
                copy.execute("PRAGMA synchronous = OFF")
                with contextlib.suppress(OSError):
                    path.unlink()
                source.backup(copy)
                if source.in_transaction:
                    source.execute("COMMIT")
        yield file


def _put(mirror: Mirror, path: Path, copy: IO[bytes]) -> None:
    """Wipe the copy of a database, whose writer may not have wiped that state yet, and put it into the backup."""
    with mapped(path):
        wipe_opened(copy.fileno())
    mirror.put(path.name, copy, form=(os.fstat(copy.fileno()).st_size, path.stat().st_mode))


def _check_file(path: Path, store: Path) -> None:
    """Raise StoreCorruptError for a database that SQLite cannot read."""
    if path.suffix == ".f32":
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as connection:
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        answer = str(error)
    if answer != "ok":
        raise corrupt(store, f"{path.name} is damaged ({' '.join(answer.split())}), and no backup was made of it")


def _exchange(one: Path, other: Path) -> None:
    """Exchange two folders atomically. Raises StoreUnavailableError if the system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        failed = library.renamex_np(*names, 2)  # RENAME_SWAP
    elif hasattr(library, "renameat2"):
        here = -100  # AT_FDCWD
        failed = library.renameat2(here, names[0], here, names[1], 2)  # RENAME_EXCHANGE
    else:
        failed = -1
        ctypes.set_errno(errno.ENOSYS)
    if failed:
        number = ctypes.get_errno()
        if number not in _NO_EXCHANGE:
            raise OSError(number, os.strerror(number), str(other))
        raise StoreUnavailableError(
            f"{other}: this file system cannot exchange two folders at one moment; restore to a new path, or move the old "
            "store away first",
            retryable=False,
        )
