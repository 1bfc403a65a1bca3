"""Backups of servers: all corpora of a database in one state, as exports in one folder; and the store that is made from one.

::

    hlgraph-corpora.json    names the exports, with holds, last receipts and domains, all of one state, and a checksum
    hlgraph-corpora.lock    held by the backup or restore that runs
    corpora/STATE/          the export of a corpus in one state, see :mod:`hlgraph.ingest.exports`

Corpora are exported one after another, while others write. Those that changed meanwhile are exported again, the last time under the
lock of the whole store. An export is named by the state of its corpus, so a backup that is repeated keeps what did not change, and
one that was killed goes on. The rename of the new manifest completes a backup; until then all that the old one names stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import filelock
import msgspec

from hlgraph import progress
from hlgraph.errors import InputError, MigrationError, StoreCorruptError, StoreLockedError, UnknownNameError
from hlgraph.ids import content_id
from hlgraph.ingest import exports
from hlgraph.ingest.exports import copies_of, export_corpus, full_disk
from hlgraph.ingest.imports import CorpusImport, check_parts
from hlgraph.ingest.receipts import retention_of
from hlgraph.persist.journal import resume
from hlgraph.records import Domain
from hlgraph.stores import files
from hlgraph.stores.derived import Hold, ReceiptMark
from hlgraph.stores.migrate import running_version
from hlgraph.stores.protocols import Backup, CorpusStats, Stores, domain_of, domain_store

FORMAT = 1
MANIFEST, LOCK, CORPORA = "hlgraph-corpora.json", "hlgraph-corpora.lock", "corpora"
_ROUNDS = 3  # before the writers of all corpora have to wait
_PART = f"{MANIFEST}.part"


class Entry(msgspec.Struct, frozen=True):
    """A corpus of a backup.

    Attributes
    ----------
    corpus : its name
    folder : folder of its export in ``corpora``; empty: it has no records, and may have what follows
    digest : digest of the manifest of the export
    version : its version
    holds, receipt, domain : its holds, its last receipt and its domain
    """

    corpus: str
    folder: str = ""
    digest: str = ""
    version: int = 0
    holds: tuple[Hold, ...] = ()
    receipt: ReceiptMark = ReceiptMark()
    domain: Domain | None = None


class Manifest(msgspec.Struct, frozen=True):
    """What a complete backup holds.

    Attributes
    ----------
    format : version of the layout
    hlgraph : version of the program
    store : URL of the graph store
    at : time of the state, UTC, ISO 8601
    corpora : the corpora, by name
    digest : SHA-256 of everything else
    """

    format: int
    hlgraph: str
    store: str
    at: str
    corpora: tuple[Entry, ...]
    digest: str = ""

    def sealed(self) -> Manifest:
        """The manifest with its digest."""
        plain = msgspec.json.encode(msgspec.structs.replace(self, digest=""), order="deterministic")
        return msgspec.structs.replace(self, digest=hashlib.sha256(plain).hexdigest())


def is_of_servers(target: Path) -> bool:
    """Whether a folder holds a backup of servers."""
    return (target.expanduser() / MANIFEST).is_file()


def read_backup(target: Path) -> Manifest:
    """The manifest of the backup in a folder.

    Parameters
    ----------
    target : folder of the backup

    Raises
    ------
    InputError
        There is no complete backup.
    MigrationError
        A newer hlgraph made it.
    StoreCorruptError
        It was altered.
    """
    path = target / MANIFEST
    try:
        data = path.read_bytes()
    except OSError:
        raise InputError(
            f"{target}: there is no complete backup here; give the folder that hlgraph backup wrote to"
        ) from None
    try:
        number = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get("format", b"0")
        if int(bytes(number)) > FORMAT:
            raise MigrationError(
                f"{path}: this backup has format {int(bytes(number))}, and this hlgraph reads up to {FORMAT}; update hlgraph"
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(
            f"{path}: the manifest was altered ({error}); use another copy of the backup"
        ) from error
    if manifest.sealed() != manifest:
        raise StoreCorruptError(f"{path}: the manifest was altered; use another copy of the backup")
    return manifest


def back_up(stores: Stores, *, store: str, target: Path) -> Backup:
    """Bring a backup to one state of all corpora. If it is killed, the previous backup stays, and the next run goes on.

    Searches go on. Writers of a corpus wait while it is exported, and those of all corpora at the end, mostly for moments.

    Parameters
    ----------
    stores : the stores
    store : URL of the graph store
    target : folder of the backup

    Raises
    ------
    InputError
        There is nothing to back up, or the folder cannot be used.
    StoreLockedError
        Another backup or restore uses the folder, or another process writes to the store.
    StoreCorruptError
        The store or the previous backup is damaged.
    StoreUnavailableError
        A disk is full, or a server does not answer.
    """
    target = target.expanduser().absolute()
    if not copies_of(stores).names():
        raise InputError(f"{store}: there is nothing here to back up; ingest something first")
    with full_disk(target), _claimed(target, create=True):
        if is_of_servers(target) and (last := read_backup(target)).store != store:
            raise InputError(
                f"{target}: this folder holds the backup of another store, {last.store}; give another folder"
            )
        work = _Work(stores, target)
        for _ in range(_ROUNDS):
            if not work.update():
                break
        with stores.graph.lock(None) as pending:
            began = time.perf_counter()
            resume([one for one in pending if not one.change.is_arrival], stores)
            work.update()
            entries = work.entries()
            at = datetime.now(UTC).isoformat(timespec="seconds")
            locked = time.perf_counter() - began
        manifest = Manifest(FORMAT, running_version(), store, at, entries).sealed()
        _publish(target, manifest)
    sizes = [part.size for export in work.exports.values() for part in export.parts.values()]
    names = tuple(entry.corpus for entry in entries)
    return Backup(target, store, at, len(sizes), sum(sizes), work.written, False, locked, corpora=names)


class _Work:
    """The exports of a backup that is being made.

    Attributes
    ----------
    exports : the manifest of the export of each corpus
    written : bytes that were written
    """

    def __init__(self, stores: Stores, target: Path) -> None:
        self.exports: dict[str, exports.Manifest] = {}
        self.written = 0
        self._stores = stores
        self._folder = target / CORPORA
        self._states: dict[str, str] = {}
        self._run = uuid.uuid4().hex
        self._versions: dict[str, int] = {}
        files.make_folder(self._folder)

    def update(self) -> int:
        """Export the corpora whose export is not of their present state; returns how many these are."""
        present = {stats.corpus: stats for stats in self._stores.graph.stats(has_counts=False)}
        for gone in self._states.keys() - present.keys():
            del self._states[gone], self.exports[gone], self._versions[gone]
        due = [name for name, stats in present.items() if self._states.get(name) != self._state(stats)]
        with progress.step("back up", len(due), unit="corpora"):
            for name in due:
                with contextlib.suppress(UnknownNameError):  # it was deleted meanwhile
                    self._export(name)
                progress.advance("back up")
        return len(due)

    def _state(self, stats: CorpusStats) -> str:
        """A hash of the state of a corpus, and of what can change without a new state."""
        graph, corpus = self._stores.graph, stats.corpus
        decisions = graph.merges.decisions(corpus) if graph.merges is not None else ()
        runs = graph.derived.runs(corpus) if graph.derived is not None else ()
        beside = msgspec.json.encode([sorted(decisions, key=lambda one: one.id), runs, domain_of(self._stores, corpus)])
        # Of a corpus that an older hlgraph wrote last, no export of an earlier run is used.
        state = (str(stats.version), stats.state or self._run, stats.embedding, stats.ids, stats.calibration)
        return content_id("backup", corpus, *map(str, state), beside.decode())

    def _export(self, corpus: str) -> None:
        with self._stores.graph.lock(corpus) as pending:
            resume(pending, self._stores, corpus=corpus)
            for stats in self._stores.graph.stats(corpus, has_counts=False):
                state = self._state(stats)
                folder = self._folder / state
                export = _complete(folder)
                if export is None:
                    shutil.rmtree(folder, ignore_errors=True)
                    self.written += export_corpus(self._stores, corpus, folder=folder).bytes
                    export = exports.read_manifest(folder)
                self.exports[corpus], self._states[corpus], self._versions[corpus] = export, state, stats.version

    def entries(self) -> tuple[Entry, ...]:
        """All corpora. Needs the lock of the whole store."""
        retention = self._stores.graph.retention
        return tuple(
            Entry(
                name,
                self._states.get(name, ""),
                self.exports[name].digest if name in self.exports else "",
                self._versions.get(name, 0),
                retention.holds(name) if retention is not None else (),
                retention.last_receipt(name) if retention is not None else ReceiptMark(),
                domain_of(self._stores, name),
            )
            for name in sorted(copies_of(self._stores).names())
        )


def _complete(folder: Path) -> exports.Manifest | None:
    """The manifest of an export that is complete and as it was written."""
    try:
        manifest = exports.read_manifest(folder)
        check_parts(folder, manifest)
    except (InputError, StoreCorruptError):
        return None
    return manifest


def _publish(target: Path, manifest: Manifest) -> None:
    """Complete a backup, and remove the exports that it does not name."""
    part = target / _PART
    with files.write_bytes(part) as out:
        out.write(msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=2))
    files.sync(part)
    files.sync_folder(target / CORPORA)
    part.replace(target / MANIFEST)
    files.sync_folder(target)
    named = {entry.folder for entry in manifest.corpora}
    for path in (target / CORPORA).iterdir():
        if path.name not in named:
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _claimed(target: Path, *, create: bool) -> Iterator[None]:
    """Hold the right to use a backup; one on a read-only medium needs none."""
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; give a folder for the backup")
    if create and target.is_dir() and any(target.iterdir()) and not (target / LOCK).exists():
        raise InputError(
            f"{target}: this folder is not empty, and holds no backup of servers; give an empty folder, or the folder of an "
            "earlier backup of these servers"
        )
    if create:
        files.make_folder(target)
    lock = filelock.FileLock(target / LOCK, mode=files.FILE, timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise StoreLockedError(
            f"{target}: another backup or restore uses this folder; wait until it has finished"
        ) from error
    except OSError:
        if create:
            raise
    try:
        yield
    finally:
        lock.release()


def restore(stores: Stores, backup: Path) -> Backup:
    """Make all corpora of a backup in empty stores. Nothing is visible before all of it is written; a repeated call continues.

    In an embedded store all of it is one transaction. On servers the corpora become visible one after another at the end.

    Parameters
    ----------
    stores : the stores
    backup : folder of the backup

    Raises
    ------
    InputError
        There is no complete backup, or the stores are not empty.
    MigrationError
        A newer hlgraph made the backup.
    StoreCorruptError
        The backup is damaged. Nothing was written.
    StoreLockedError
        Another process uses the backup, or writes to the store.
    StoreUnavailableError
        A disk is full, or a server does not answer.
    """
    backup = backup.expanduser().absolute()
    with _claimed(backup, create=False):
        manifest = read_backup(backup)
        works: dict[str, CorpusImport] = {}
        sizes: list[int] = []
        for entry in manifest.corpora:
            if entry.folder:
                export = _checked(backup / CORPORA / entry.folder, entry)
                sizes += [part.size for part in export.parts.values()]
                folder = backup / CORPORA / entry.folder
                works[entry.corpus] = CorpusImport(
                    stores, entry.corpus, folder=folder, manifest=export, version=entry.version
                )
        with stores.graph.lock(None) as pending:
            ours = {work.arrival.id for work in works.values()}
            begun = {one.change.id for one in pending} & ours
            resume([one for one in pending if one.change.id not in begun], stores)
            left = {name: work for name, work in works.items() if not work.is_done()}
            _check_empty(stores, manifest.corpora, works=works, backup=backup)
            for work in left.values():
                work.check(is_begun=work.arrival.id in begun)
            with stores.together():
                for work in left.values():
                    work.write()
                _write_beside(stores, manifest.corpora)
                for work in left.values():
                    work.reveal()
    names = tuple(entry.corpus for entry in manifest.corpora)
    return Backup(backup, manifest.store, manifest.at, len(sizes), sum(sizes), sum(sizes), False, corpora=names)


def _checked(folder: Path, entry: Entry) -> exports.Manifest:
    """The manifest of the export of a corpus. Raises StoreCorruptError unless it is what the backup names, unaltered."""
    try:
        export = exports.read_manifest(folder)
    except InputError as error:
        raise StoreCorruptError(
            f"{folder}: this part of the backup is missing; use another copy of the backup"
        ) from error
    if (export.digest, export.corpus) != (entry.digest, entry.corpus):
        raise StoreCorruptError(f"{folder}: this part of the backup was replaced; use another copy of the backup")
    check_parts(folder, export)
    return export


def _check_empty(stores: Stores, entries: Sequence[Entry], *, works: dict[str, CorpusImport], backup: Path) -> None:
    """Refuse stores that have something else than what an earlier call of the same restore has written."""
    known = {entry.corpus: entry for entry in entries}
    others: list[str] = []
    for name in copies_of(stores).names():
        entry, retention = known.get(name, Entry(name)), stores.graph.retention
        holds = retention.holds(name) if retention is not None else ()
        receipt = retention.last_receipt(name) if retention is not None else ReceiptMark()
        has_records = any(any(stats.records.values()) for stats in stores.graph.stats(name, has_relationships=False))
        is_ours = (
            set(holds) <= set(entry.holds)
            and receipt in (ReceiptMark(), entry.receipt)
            and domain_of(stores, name) in (None, entry.domain)
            and not (has_records and (name not in works or not works[name].is_done()))
        )
        if name not in known or not is_ours:
            others.append(name)
    if others:
        shown = ", ".join(map(repr, others[:5])) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        raise InputError(
            f"the store is not empty, and {backup} is the state of a whole store: it has corpus {shown}; restore to an empty "
            "store, or import single corpora: hlgraph import"
        )


def _write_beside(stores: Stores, entries: Sequence[Entry]) -> None:
    """Write holds, receipts, and the domains of corpora without records."""
    for entry in entries:
        if entry.holds or entry.receipt.number:
            retention = retention_of(stores)
            present = retention.holds(entry.corpus)
            for hold in entry.holds:
                if hold not in present:
                    retention.add(hold)
            retention.record_receipt(entry.corpus, entry.receipt)
        if entry.domain is not None and not entry.folder:
            domain_store(stores).write(entry.corpus, entry.domain)
