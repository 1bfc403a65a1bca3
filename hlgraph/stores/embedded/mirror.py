"""A backup on disk: a copy of every file of a store, a manifest of checksums, and what an unfinished backup has overwritten.

::

    hlgraph-backup.json    the manifest of the last complete backup: files, sizes, modes, a checksum of each block
    hlgraph-backup.lock    held by the backup or restore that runs
    previous               blocks of the last complete backup that an unfinished one has overwritten
    store/                 the files

A backup overwrites only the blocks that differ. It first saves the old block in ``previous``, and waits until that is on disk.
The rename of a new manifest completes the backup. Before the rename, the files and ``previous`` together are the last complete
backup; after it ``previous`` is of an older manifest, and does not count.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final

import msgspec
from filelock import FileLock, Timeout

from hlgraph.errors import InputError, MigrationError, StoreCorruptError, StoreLockedError
from hlgraph.stores import files
from hlgraph.stores.embedded.sqlite import mapped

FORMAT = 1
"""Version of the layout of a backup."""
BLOCK: Final = 16 * 1024
"""Bytes that are compared, saved and checked together."""

_MANIFEST, _LOCK, _PREVIOUS, _STORE = "hlgraph-backup.json", "hlgraph-backup.lock", "previous", "store"
_PART = f"{_MANIFEST}.part"
_DIGEST: Final = 16
_PAGE: Final = 4096  # bytes that are written together: a page of SQLite
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
_PATH = re.compile(r"hlgraph\.db|[\w-][\w.-]*\.sqlite|vectors/\d+-\d+\.f32")
_BATCH = 32 * 1024 * 1024  # maximum number of bytes held before they are written


class File(msgspec.Struct, frozen=True):
    """One file of a backup: its path in the store, its size, its mode, and the checksum of each block, one after another."""

    path: str
    size: int
    mode: int
    checksums: bytes

    def blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Number, length and checksum of each block."""
        for block in range(len(self.checksums) // _DIGEST):
            length = min(BLOCK, self.size - block * BLOCK)
            yield block, length, self.checksums[block * _DIGEST : (block + 1) * _DIGEST]


class Manifest(msgspec.Struct, frozen=True):
    """What a complete backup holds.

    Attributes
    ----------
    id : unique to this backup
    store : path of the store
    at : time of the state, UTC, ISO 8601
    hlgraph : version of the program
    mode : mode of the folder of the store
    unfinished : whether the state has changes that the next ingest or deletion finishes
    files : the files
    """

    id: str
    store: str
    at: str
    hlgraph: str
    mode: int
    unfinished: bool
    files: list[File]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(item.size for item in self.files)


class _Envelope(msgspec.Struct):
    format: int
    checksum: str
    manifest: msgspec.Raw


def checksum(data: bytes) -> bytes:
    """The checksum of a block."""
    return blake2b(data, digest_size=_DIGEST).digest()


def read_manifest(target: Path) -> Manifest | None:
    """The manifest of the last complete backup in a folder; None if there is none.

    Parameters
    ----------
    target : folder of the backup

    Raises
    ------
    MigrationError
        A newer hlgraph made the backup.
    StoreCorruptError
        The manifest is damaged.
    """
    path = target / _MANIFEST
    with mapped(target):
        if not path.exists():
            return None
        data = path.read_bytes()
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
        manifest = msgspec.json.decode(envelope.manifest, type=Manifest) if envelope.format <= FORMAT else None
    except msgspec.MsgspecError as error:
        raise _damaged(path, str(error)) from error
    if manifest is None:
        raise MigrationError(
            f"{path}: this backup has format {envelope.format}, and this hlgraph reads formats up to {FORMAT}; "
            "install the version of hlgraph that made it, or a newer one"
        )
    if envelope.checksum != checksum(bytes(envelope.manifest)).hex():
        raise _damaged(path, "its checksum is wrong")
    for item in manifest.files:
        if not _PATH.fullmatch(item.path) or len(item.checksums) != -(-item.size // BLOCK) * _DIGEST:
            raise _damaged(path, f"{item.path!r} is no file of a store")
    return manifest


def _damaged(path: Path, why: str) -> StoreCorruptError:
    return StoreCorruptError(f"{path}: the manifest of the backup is damaged ({why}); use another backup")


@contextlib.contextmanager
def locked(target: Path, *, create: bool) -> Iterator[None]:
    """Hold the right to use a backup; a backup on a read-only medium needs none.

    Parameters
    ----------
    target : folder of the backup
    create : make the folder

    Raises
    ------
    InputError
        The folder is something else than a backup.
    StoreLockedError
        Another process holds the right.
    """
    lock = target / _LOCK
    with mapped(target):
        if target.exists() and not target.is_dir():
            raise InputError(f"{target} is a file; give a folder for the backup")
        if not lock.exists():
            if target.is_dir() and any(target.iterdir()):
                raise InputError(
                    f"{target}: this folder is not empty, and holds no backup of hlgraph; give an empty folder, or the "
                    "folder of an earlier backup"
                )
            if not create:
                raise InputError(f"{target}: there is no backup here; give the folder that hlgraph backup wrote to")
            files.make_folder(target)
        file_lock = FileLock(str(lock), mode=files.FILE, timeout=0)
        try:
            file_lock.acquire()
        except Timeout:
            raise StoreLockedError(
                f"{target}: another backup or restore uses this folder; wait until it has finished"
            ) from None
        except OSError as error:
            if create or error.errno not in _UNWRITABLE:
                raise
    try:
        yield
    finally:
        file_lock.release()


class _Previous:
    """The blocks of the last complete backup that an unfinished one has overwritten, in one file that only grows.

    Parameters
    ----------
    target : folder of the backup
    manifest : the last complete backup; None: nothing is worth saving
    """

    def __init__(self, target: Path, manifest: Manifest | None) -> None:
        self._path = target / _PREVIOUS
        self._id = "" if manifest is None else manifest.id
        self._end = 0
        self.offsets: dict[tuple[str, int], int] = {}  # of each block in the file, by name and number
        if manifest is not None and self._path.exists():
            self._read()

    def _read(self) -> None:
        with self._path.open("rb") as file:
            if file.readline() != self._head():
                return
            while True:
                self._end = file.tell()
                head = file.readline()
                try:
                    name, block, size, digest = json.loads(head)
                except (ValueError, TypeError):
                    return  # the end, or an entry that was not written whole: its block is not overwritten yet
                offset = file.tell()
                if checksum(file.read(size)).hex() != digest:
                    return
                self.offsets[name, block] = offset

    def _head(self) -> bytes:
        return json.dumps(["hlgraph backup", self._id]).encode() + b"\n"

    def save(self, name: str, blocks: Iterable[tuple[int, bytes]]) -> None:
        """Save blocks of a file that are not saved yet, and wait until they are on disk."""
        with self._path.open("r+b") if self._end else files.write_bytes(self._path, "w+b") as file:
            file.seek(self._end)
            if not self._end:
                file.write(self._head())
            file.truncate()
            for block, data in blocks:
                file.write(json.dumps([name, block, len(data), checksum(data).hex()]).encode() + b"\n")
                self.offsets[name, block] = file.tell()
                file.write(data)
            self._end = file.tell()
        files.sync(self._path)
        files.sync_folder(self._path.parent)

    def open(self) -> IO[bytes] | None:
        """The file with the saved blocks; None if nothing is saved."""
        return self._path.open("rb") if self.offsets else None

    def drop(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)
        self.offsets.clear()
        self._end = 0


class Mirror:
    """A backup that is being written; the caller holds the lock of its folder.

    Attributes
    ----------
    folder : the copies of the files
    last : the last complete backup
    written : bytes of the copies that were written
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.folder = target / _STORE
        self.last = read_manifest(target)
        self.written = 0
        self._sizes = {} if self.last is None else {item.path: item.size for item in self.last.files}
        self._checksums: dict[str, bytearray] = {}
        self._entries: dict[str, tuple[int, int]] = {}
        with mapped(target):
            self._previous = _Previous(target, self.last)
            if not self._previous.offsets:
                self._previous.drop()

    def put(self, name: str, source: IO[bytes], *, form: tuple[int, int], blocks: Iterable[int] | None = None) -> None:
        """Copy the blocks of a file that differ.

        Parameters
        ----------
        name : path of the file in the store
        source : the file
        form : number of bytes that belong to the state, and the mode of the file
        blocks : the blocks to compare, each of ``BLOCK`` bytes; None: all

        Raises
        ------
        EOFError
            The file is shorter.
        """
        path, size = self.folder / name, form[0]
        count = -(-size // BLOCK)
        sums = self._checksums.setdefault(name, bytearray())
        sums[:] = sums[: count * _DIGEST].ljust(count * _DIGEST, b"\0")
        self._entries[name] = (size, stat.S_IMODE(form[1]))
        with mapped(self.target):
            files.make_folder(path.parent)
            files.reserve(path)
        with path.open("r+b") as copy:
            changed: list[tuple[int, bytes, bytes]] = []
            changed_size = 0
            for block in range(count) if blocks is None else sorted(set(blocks)):
                length = min(BLOCK, size - block * BLOCK)
                source.seek(block * BLOCK)
                data = source.read(length)
                if len(data) != length:
                    raise EOFError(name)
                sums[block * _DIGEST : (block + 1) * _DIGEST] = checksum(data)
                with mapped(self.target):
                    copy.seek(block * BLOCK)
                    old = copy.read(BLOCK)
                    if old[:length] != data or (
                        len(old) > length and block * BLOCK + length < self._sizes.get(name, 0)
                    ):
                        changed.append((block, old, data))
                        changed_size += len(data)
                    if changed_size >= _BATCH:
                        self._write(name, copy, changed)
                        changed, changed_size = [], 0
            with mapped(self.target):
                self._write(name, copy, changed)
                self._cut(name, copy, size=size)

    def _write(self, name: str, copy: IO[bytes], changed: list[tuple[int, bytes, bytes]]) -> None:
        self._save(name, ((block, old) for block, old, _ in changed))
        for block, old, data in changed:
            for at in range(0, len(data), _PAGE):
                piece = data[at : at + _PAGE]
                if piece != old[at : at + len(piece)]:
                    copy.seek(block * BLOCK + at)
                    self.written += copy.write(piece)
        copy.flush()

    def _save(self, name: str, blocks: Iterable[tuple[int, bytes]]) -> None:
        """Save what the last complete backup has in some blocks."""
        whole = self._sizes.get(name, 0)
        wanted = [
            (block, old[: whole - block * BLOCK])
            for block, old in blocks
            if block * BLOCK < whole and (name, block) not in self._previous.offsets
        ]
        if wanted:
            self._previous.save(name, wanted)

    def _cut(self, name: str, copy: IO[bytes], *, size: int) -> None:
        """Truncate a copy that is longer than the file."""
        if os.fstat(copy.fileno()).st_size <= size:
            return
        for first in range(-(-size // BLOCK), -(-self._sizes.get(name, 0) // BLOCK), _BATCH // BLOCK):
            copy.seek(first * BLOCK)
            data = copy.read(_BATCH)
            self._save(name, ((first + at // BLOCK, data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)))
        copy.truncate(size)

    def leave_out(self, names: Iterable[str]) -> None:
        """Leave out files that were copied but do not belong to the state."""
        for name in names:
            self._entries.pop(name, None)

    def names(self) -> list[str]:
        """The files that belong to the state."""
        return sorted(self._entries)

    def verify(self) -> None:
        """Read all copies again. Raises StoreCorruptError if one does not hold what was copied."""
        self.tidy()
        wrong = []
        for item in self._files():
            with mapped(self.target), (self.folder / item.path).open("rb") as copy:
                if any(checksum(copy.read(length)) != wanted for _, length, wanted in item.blocks()):
                    wrong.append(str(self.folder / item.path))
        if wrong:
            raise StoreCorruptError(
                f"{', '.join(wrong)}: the copy does not hold what was written; check the disk, then make the backup again"
            )

    def publish(self, *, store: Path, at: str, made_by: tuple[str, str], unfinished: bool) -> Manifest:
        """Complete the backup, and remove what belongs only to the one before it.

        Parameters
        ----------
        store : path of the store
        at : time of the state
        made_by : a new id, and the version of the program
        unfinished : see :class:`Manifest`
        """
        mode = stat.S_IMODE(store.stat().st_mode)
        manifest = Manifest(made_by[0], str(store), at, made_by[1], mode, unfinished, list(self._files()))
        with mapped(self.target):
            for item in manifest.files:
                files.sync(self.folder / item.path)
            for folder in {(self.folder / item.path).parent for item in manifest.files} | {self.folder, self.target}:
                files.sync_folder(folder)
            raw = msgspec.json.encode(manifest)
            part = self.target / _PART
            with files.write_bytes(part) as out:
                out.write(msgspec.json.encode(_Envelope(FORMAT, checksum(raw).hex(), msgspec.Raw(raw))))
            files.sync(part)
            part.replace(self.target / _MANIFEST)
            files.sync_folder(self.target)
            self._previous.drop()
            self._tidy(self._entries)
        return manifest

    def _files(self) -> Iterator[File]:
        for name, (size, mode) in sorted(self._entries.items()):
            yield File(name, size, mode, bytes(self._checksums[name]))

    def tidy(self) -> None:
        """Remove what belongs to neither this backup nor the last complete one, such as what a check or a kill left."""
        self._tidy({*self._entries, *self._sizes})

    def _tidy(self, wanted: Collection[str]) -> None:
        with mapped(self.target):
            for path in sorted(self.folder.rglob("*"), reverse=True) if self.folder.is_dir() else ():
                name = path.relative_to(self.folder).as_posix()
                if path.is_dir() and not path.is_symlink():
                    if not any(item.startswith(f"{name}/") for item in wanted):
                        shutil.rmtree(path)
                elif name not in wanted:
                    path.unlink(missing_ok=True)


def unpack(target: Path, manifest: Manifest, *, folder: Path) -> None:
    """Write the files of a backup into a new folder, and wait until they are on disk; the caller holds the lock.

    Parameters
    ----------
    target : folder of the backup
    manifest : its manifest
    folder : an empty folder

    Raises
    ------
    StoreCorruptError
        The message names each file that does not hold what was copied, with the first byte of a damaged block.
    """
    wrong = []
    with mapped(target):
        previous = _Previous(target, manifest)
        saved = previous.open()
    with saved or contextlib.nullcontext():
        for item in manifest.files:
            source, restored = target / _STORE / item.path, folder / item.path
            with mapped(folder):
                files.make_folder(restored.parent)
            damaged = _unpack(item, source, restored, saved=saved, offsets=previous.offsets)
            if damaged is not None:
                wrong.append(f"{source} (from byte {damaged:,})")
    if wrong:
        raise StoreCorruptError(
            f"{target}: the backup is damaged: {', '.join(wrong)}; nothing was restored; use another backup, or make a new "
            "one while the store exists"
        )
    with mapped(folder):
        for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
            path.chmod(manifest.mode)
            files.sync_folder(path)


def _unpack(
    item: File, source: Path, target: Path, *, saved: IO[bytes] | None, offsets: dict[tuple[str, int], int]
) -> int | None:
    """Write one file; returns the position of the first damaged block."""
    with mapped(source):
        if not source.exists():
            return 0
        with source.open("rb") as copy, mapped(target), files.write_bytes(target) as out:
            for block, length, wanted in item.blocks():
                offset = offsets.get((item.path, block))
                file, start = (copy, block * BLOCK) if offset is None or saved is None else (saved, offset)
                file.seek(start)
                data = file.read(length)
                if checksum(data) != wanted:
                    return block * BLOCK
                out.write(data)
            out.flush()
            os.fsync(out.fileno())
            target.chmod(item.mode)
    return None
