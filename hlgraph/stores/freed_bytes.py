"""Overwrite the unused bytes of a SQLite file with zeros, so that nothing of a deleted row remains in them.

``PRAGMA secure_delete`` overwrites freed cells and freed pages, with one exception: when a B-tree is balanced, cells move to
neighbour pages, and a rebuilt page keeps old cells in its gap, the bytes between the array of cell pointers and the first
cell. A row that is deleted from its new page remains in the gap of its former page, whatever change moved it. So the gaps of
*every* page that a writer wrote are emptied, not only those of deletions.

No SQL reaches these bytes short of ``VACUUM``, which rewrites the whole file (few builds of SQLite have the table
``sqlite_dbpage``). They are therefore overwritten in the file itself. That is safe because

- SQLite never reads unused bytes: readers, their memory maps and a backup in progress see the same rows before and after;
- the log is empty and the writer holds SQLite's write lock, so no other writer changes the file, the log has no newer version
  of a page, and a page is zeroed only where the file says that it is unused;
- the file is written through the descriptor that SQLite has open. Opening and closing another one would drop the locks that
  this process has on the file (POSIX), and with them the protection of its readers;
- an interrupted write only zeroes fewer unused bytes.

The log tells which pages were written, so the cost is proportional to the change. A file ``hlgraph.db-wiped`` says that all
other pages are clean. A writer removes it before it writes, and makes it again after it has emptied the gaps. If it is missing,
after a kill or in a store of an older version, the next writer checks every page (3 s for a million).
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import struct
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from hlgraph.stores import files

_HEADER: Final = {2: 12, 5: 12, 10: 8, 13: 8}  # bytes before the cell pointers, by the kind of a B-tree page
_LOG_HEADER, _FRAME_HEADER = 32, 24
_AT_ONCE = 256  # pages that are read together
_MOST_PAGES = 1 << 25
"""Limit for B-tree pages: in a longer file (128 GiB of 4 KiB pages) an overflow page can begin like one."""

_BITS = 256
_Pages = defaultdict[int, int]
"""Numbers of pages: a bit for each, by the number divided by ``_BITS``."""
_kept: dict[tuple[int, int], int] = {}


class Span(NamedTuple):
    """Unused bytes of a file that are not all zero: the number of the page, and their offset and size in the file."""

    page: int
    start: int
    size: int


class Wiping:
    """Empties the gaps of the pages that a writer wrote, from its first transaction to :meth:`finish`.

    Parameters
    ----------
    file : the database, in WAL mode
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._mark = file.with_name(f"{file.name}-wiped")
        self._log = file.with_name(f"{file.name}-wal")
        self._forget()

    def _forget(self) -> None:
        self._pages = _Pages(int)
        self._seen = (b"", 0)
        self._is_whole: bool | None = None

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Record the pages that a block writes in one transaction. Raises OSError if the marker file cannot be removed."""
        if self._is_whole is None:
            is_clean = self._mark.exists()
            self.distrust()
            self._is_whole = not is_clean
        try:
            yield
        finally:
            self._note()  # the next transaction may begin the log anew

    @property
    def is_finished(self) -> bool:
        """Whether the last writer has emptied the log and the gaps of the pages that it wrote."""
        return self._mark.exists()

    def trust(self) -> None:
        """Mark all pages as clean. Raises OSError if the marker file cannot be made."""
        files.reserve(self._mark)

    def distrust(self) -> None:
        """Make :meth:`finish` check every page. Raises OSError if the marker file cannot be removed."""
        self._is_whole = True
        if self._mark.exists():
            self._mark.unlink()
            files.sync_folder(self._mark.parent)

    def _note(self) -> None:
        with contextlib.suppress(FileNotFoundError), self._log.open("rb", buffering=0) as log:
            head = log.read(_LOG_HEADER)
            size, salts = int.from_bytes(head[8:12], "big"), head[16:24]
            at = self._seen[1] if self._seen[0] == salts else _LOG_HEADER
            while size:
                log.seek(at)
                frame = log.read(_FRAME_HEADER)
                if len(frame) < _FRAME_HEADER or frame[8:16] != salts:
                    break
                number = int.from_bytes(frame[:4], "big")
                self._pages[number // _BITS] |= 1 << number % _BITS
                at += _FRAME_HEADER + size
            self._seen = (salts, at)

    def finish(self, connection: sqlite3.Connection) -> None:
        """Move the log into the file, empty the log and then the gaps. The next writer does what cannot be done now.

        Parameters
        ----------
        connection : the writer, outside a transaction; close it next, since it caches the former gaps
        """
        with contextlib.suppress(sqlite3.Error, OSError):
            is_clean = self._is_whole is None and self._mark.exists()
            pages = None if self._is_whole is not False else self._pages
            if empty_log(connection) and not is_clean and wipe(connection, self._file, pages=pages):
                self.trust()
        self._forget()


def empty_log(connection: sqlite3.Connection) -> bool:
    """Move the log into the file and empty it. Returns False if a reader or another writer prevents it.

    Parameters
    ----------
    connection : a connection that may write, outside a transaction
    """
    (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


def wipe(
    connection: sqlite3.Connection, file: Path, *, pages: Mapping[int, int] | None = None, is_shared: bool = False
) -> bool:
    """Overwrite the unused bytes of pages; call :func:`empty_log` first. Returns False if another writer was faster.

    A connection that has cached such a page writes the old bytes again when it changes the page.

    Parameters
    ----------
    connection : a connection that may write, outside a transaction
    file : its file
    pages : numbers of pages, as :class:`Wiping` has them; default: all
    is_shared : make all connections drop their caches, by a transaction that changes ``user_version``; default: only readers
        are connected, and the caller closes ``connection``

    Raises
    ------
    OSError
        The file cannot be written.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        log = file.with_name(f"{file.name}-wal")
        if log.exists() and log.stat().st_size:
            return False
        with _opened(file) as descriptor:
            has_found = wipe_opened(descriptor, pages=pages)
            if has_found:
                os.fsync(descriptor)
        if has_found and is_shared:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {(version + 1) % (1 << 31)}")
            connection.execute("COMMIT")
            connection.execute("PRAGMA shrink_memory")
        return True
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def wipe_opened(descriptor: int, *, pages: Mapping[int, int] | None = None) -> bool:
    """Overwrite the unused bytes of a file that no other program writes; returns whether there were any.

    Parameters
    ----------
    descriptor : the file, opened to read and write
    pages : see :func:`wipe`

    Raises
    ------
    OSError
        The file cannot be read or written.
    """
    has_found = False
    for span in _spans(functools.partial(_read, descriptor), pages):
        has_found = True
        _write(descriptor, span.start, bytes(span.size))
    return has_found


def unwiped(file: Path) -> list[Span]:
    """The unused bytes of a file that are not zero; a connection to the file must be open.

    Ignores newer versions of pages in the log.

    Parameters
    ----------
    file : the database

    Raises
    ------
    OSError
        The file cannot be read.
    """
    if sys.platform == "win32":
        with _opened(file) as descriptor:
            return list(_spans(functools.partial(_read, descriptor), None))
    key = _key(file.stat())
    descriptor = next(_descriptors(key), -1)

    def read(at: int, size: int) -> bytes:
        data = _read(descriptor, at, size)
        if _key(os.fstat(descriptor)) != key:
            raise OSError(f"{file}: it was closed while it was checked; run the same command again")
        return data

    return list(_spans(read, None))


_Reader = Callable[[int, int], bytes]


def _spans(read: _Reader, pages: Mapping[int, int] | None) -> Iterator[Span]:
    head = read(0, 100)
    size = int.from_bytes(head[16:18], "big")
    size = 65_536 if size == 1 else size
    if len(head) < 100 or size < 512:
        return
    usable, count = size - head[20], int.from_bytes(head[28:32], "big")
    trunks, leaves = _free_pages(read, size, head=head, wanted=pages)
    has_maps, between = any(head[52:56]), usable // 5 + 1  # pages of pointers, in a file with auto_vacuum
    for number, page in _pages(read, size, count=count, wanted=pages):
        parts: Iterable[tuple[int, int]] = ()
        if number in trunks:
            parts = ((min(8 + 4 * trunks[number], usable), usable),)
        elif number in leaves:
            parts = ((0, size),)
        elif count < _MOST_PAGES and not (has_maps and (number - 2) % between < 2):
            parts = _unused(page, 100 if number == 1 else 0, usable)
        for start, end in _not_zero(page, parts):
            yield Span(number, (number - 1) * size + start, end - start)


def _pages(read: _Reader, size: int, *, count: int, wanted: Mapping[int, int] | None) -> Iterator[tuple[int, bytes]]:
    """The numbers of the wanted pages (None: all) of a file, and their bytes."""
    if wanted is not None:
        bits = (_BITS * at + bit for at in sorted(wanted) for bit in range(_BITS) if wanted[at] >> bit & 1)
        pages = ((number, read((number - 1) * size, size)) for number in bits if number <= count)
        yield from ((number, page) for number, page in pages if len(page) == size)
        return
    for first in range(0, count, _AT_ONCE):
        block = read(first * size, _AT_ONCE * size)
        if not block:  # the file was cut off
            return
        for at in range(min(len(block) // size, count - first)):
            yield first + at + 1, block[at * size : (at + 1) * size]


def _not_zero(page: bytes, parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(start, end) for start, end in parts if page.count(0, start, end) < end - start]


def _unused(page: bytes, start: int, usable: int) -> list[tuple[int, int]]:
    """The gap and free blocks of a B-tree page that are not zero; none for another page, or if a cell overlaps one."""
    header = _HEADER.get(page[start])
    if header is None:
        return []
    block, cells, content = struct.unpack_from(">HHH", page, start + 1)
    content = content or 65_536
    gap = start + header + 2 * cells
    if not gap <= content <= usable:
        return []
    spans, last = [(gap, content)], content
    while block:
        if not last <= block <= usable - 4:
            return []
        following, length = struct.unpack_from(">HH", page, block)
        last = block + length
        if length < 4 or last > usable:
            return []
        spans.append((block + 4, last))
        block = following
    wrong = _not_zero(page, spans)
    pointers = struct.unpack_from(f">{cells}H", page, start + header) if wrong else ()
    if (pointers and min(pointers) < content) or any(
        a - 4 <= at < b for a, b in wrong if a > content for at in pointers
    ):
        return []
    return wrong


def _free_pages(
    read: _Reader, size: int, *, head: bytes, wanted: Mapping[int, int] | None
) -> tuple[dict[int, int], set[int]]:
    """The trunk pages of the free list with the lengths of their lists, and the wanted ones of the listed leaf pages.

    Both are empty if a list is damaged, since a page that it names may be in use.
    """
    trunks: dict[int, int] = {}
    leaves: set[int] = set()
    first, total = struct.unpack_from(">II", head, 32)
    while first:
        page = read((first - 1) * size, size)
        if first in trunks or len(page) < size:
            return {}, set()
        following, trunks[first] = struct.unpack_from(">II", page)
        if trunks[first] > size // 4 - 2:
            return {}, set()
        listed = array("I", page[8 : 8 + 4 * trunks[first]])
        if sys.byteorder == "little":
            listed.byteswap()
        leaves.update(n for n in listed if wanted is None or wanted.get(n // _BITS, 0) >> n % _BITS & 1)
        first = following
    if len(trunks) + sum(trunks.values()) != total or leaves & trunks.keys():
        return {}, set()
    return trunks, leaves


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[int]:
    """A writable descriptor of the file whose use drops no lock of this process on it."""
    if sys.platform == "win32":  # there, locks belong to a handle
        descriptor = os.open(file, os.O_RDWR | os.O_BINARY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        return
    # The caller's connection has the file open. If only one descriptor can write it, it is that of the connection, and no thread
    # closes it meanwhile. If there are several, another thread may close one at any time, and its number may be reused.
    key = _key(file.stat())
    descriptors = [] if key in _kept else list(_descriptors(key, is_written=True))
    if len(descriptors) != 1 and key not in _kept:
        _kept[key] = os.open(file, os.O_RDWR)  # stays open: see the top of this file
    yield descriptors[0] if len(descriptors) == 1 else _kept[key]


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _descriptors(key: tuple[int, int], *, is_written: bool = False) -> Iterator[int]:
    """The descriptors of a file in this process."""
    import fcntl

    folder = Path("/dev/fd")
    for number in [int(item.name) for item in folder.iterdir()] if folder.is_dir() else ():
        with contextlib.suppress(OSError):  # the descriptor of the listing itself is closed
            if _key(os.fstat(number)) == key and (
                not is_written or fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
            ):
                yield number


def _read(descriptor: int, at: int, size: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.read(descriptor, size)
    return os.pread(descriptor, size, at)


def _write(descriptor: int, at: int, data: bytes) -> None:
    if sys.platform == "win32":
        os.lseek(descriptor, at, os.SEEK_SET)
        os.write(descriptor, data)
    else:
        os.pwrite(descriptor, data, at)
