"""Receipts of deletions: what was removed, what was verified afterwards, and what a receipt cannot cover.

A file of receipts is JSON lines, the receipts of one corpus by number. Each holds the hash of the one before it and its own, so
:func:`read_receipts` notices every change of the file without a store. The store records the number and the hash of the last
receipt of each corpus: a file that ends too early, or of another store, shows as well. The hash has no key: who can write both the
file and the store can write a chain of their own.

A :class:`ReceiptDraft` accompanies a deletion. It notes what each change removed before the journal forgets the change, in a file
beside the ledger, as ids and hashes. If the deletion is killed, the same command again completes it, and its receipt counts what
both runs removed. A receipt is written only if nothing of what it lists is left.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlgraph import progress
from hlgraph.errors import InputError, StoreCorruptError, StoreError, StoreUnavailableError
from hlgraph.ids import HISTORY, checksum
from hlgraph.models.sqlite_file import DiskFile
from hlgraph.persist.journal import resume
from hlgraph.records import Chunk, Kind, Record, Source
from hlgraph.settings import accounts_folder, quarantine_folder
from hlgraph.stores.batches import batched
from hlgraph.stores.derived import ReceiptMark, RetentionStore
from hlgraph.stores.migrate import running_version
from hlgraph.stores.protocols import Scope, find_records, set_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlgraph.change import Change, Outcome
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore, Remnants, Stores

FORMAT = "hlgraph-receipt/1"
_KEYS = (
    "format number previous corpus hlgraph deletion begun at asked sources gone_before uncounted removed before after left disk "
    "not_covered hash"
)
_STORED = (Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY)
_WITH_ROWS = (Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.ENTITY)
_LOOKED_UP = 5_000  # ids at once
_ATTEMPTS = 8  # to see all freed bytes overwritten; each waits 5 s for searches of older states
_NOT_COVERED = (
    "the documents themselves, where they were read from",
    "backups that were made before, until they are made again",
    "what a provider of models was sent and keeps",
    "snapshots of file systems, disks and machines",
    "ids of removed records, which are hashes: in the lists of the last changes, and in graph images, also on other machines",
)
_OF_GRAPH_SERVERS = "the files and transaction logs of the graph server, where freed space is reused, and its snapshots"
_OF_VECTOR_SERVERS = (
    "deleted rows of the vector server that await a merge (disk.awaiting_merge), its logs, and its snapshots"
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of one deletion.

    Attributes
    ----------
    number : 1 for the first receipt of a corpus; receipts are ordered by it, not by their times
    corpus : the corpus
    at : when the deletion was verified, ISO 8601 in UTC, by the clock of that machine
    hash : SHA-256 of everything else
    ids : ids of the removed sources
    content : the whole receipt, as it is in the file
    """

    number: int
    corpus: str
    at: str
    hash: str
    ids: tuple[str, ...]
    content: Mapping[str, Any] = field(repr=False, hash=False)

    @property
    def mark(self) -> ReceiptMark:
        """Its number and hash."""
        return ReceiptMark(self.number, self.hash)


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _hash(content: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "hash"}
    return _digest(_canonical(rest))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_receipts(path: Path) -> tuple[Receipt, ...]:
    """The receipts of a file, after their chain is verified. Needs no store.

    Parameters
    ----------
    path : a file of receipts; an empty one has none

    Raises
    ------
    InputError
        The file cannot be read, is no file of receipts, or is not as it was written; names the first wrong receipt.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the receipts cannot be read ({error.strerror}); give a file of receipts") from error
    receipts: list[Receipt] = []
    lines = data.splitlines(keepends=True) if b"\r" not in data else [data]
    for at, line in enumerate(lines, 1):
        receipts.append(_receipt(path, line, at=at, before=receipts[-1] if receipts else None))
    return tuple(receipts)


def _receipt(path: Path, line: bytes, *, at: int, before: Receipt | None) -> Receipt:
    """The receipt on a line, which follows another one. Raises InputError if it is not as it was written."""
    where = f"{path}: line {at}" if before is None else f"{path}: receipt {before.number + 1} (line {at})"
    try:
        text = line.decode()
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "was cut off or altered" if before or line.startswith(b'{"after"') else "is no receipt of hlgraph"
        raise InputError(f"{where} {what}: it is not JSON; nothing was changed, give another file") from error
    form = content.get("format") if isinstance(content, dict) else None
    if form != FORMAT:
        newer = isinstance(form, str) and form.startswith("hlgraph-receipt/")
        reason = f"has the format {form!r}, not {FORMAT!r}" if newer else "is no receipt of hlgraph"
        raise InputError(f"{where} {reason}; nothing was changed, give another file")
    number, sources = content.get("number"), content.get("sources")
    is_as_written = f"{_canonical(content)}\n" == text and content.get("hash") == _hash(content)
    if not is_as_written or content.keys() != set(_KEYS.split()):
        named = f"{path}: receipt {number} (line {at})" if before is None else where
        raise InputError(f"{named} was altered: it is not as it was written; restore the file from a copy")
    if not isinstance(number, int) or not isinstance(sources, list) or not isinstance(content["corpus"], str):
        raise InputError(f"{where} is no receipt of hlgraph; nothing was changed, give another file")
    if before is not None and content["corpus"] != before.corpus:
        raise InputError(f"{where} is of corpus {content['corpus']!r}, those before it are of {before.corpus!r}")
    if before is not None and (number, content["previous"]) != (before.number + 1, before.hash):
        raise InputError(
            f"{where} does not follow receipt {before.number}: one was removed, inserted or replaced; restore the file from a copy"
        )
    ids = tuple(source["id"] for source in sources)
    return Receipt(number, content["corpus"], content["at"], content["hash"], ids, content)


def joined(receipts: Sequence[Receipt], last: ReceiptMark, *, path: Path, corpus: str) -> bool:
    """Whether a chain ends with the last receipt that the store knows, or goes on from it; False: the store knows later ones.

    A chain is ahead of its store after a backup was restored, or a kill between the file and the store.

    Parameters
    ----------
    receipts : the receipts of a file
    last : the last receipt that the store knows
    path, corpus : the file and the corpus

    Raises
    ------
    InputError
        The receipts are those of another corpus, or of another store.
    """
    if receipts and receipts[0].corpus != corpus:
        raise InputError(
            f"{path}: the receipts are of corpus {receipts[0].corpus!r}, not of {corpus!r}; give another file"
        )
    if not receipts or last in {receipt.mark for receipt in receipts}:
        return True
    if (receipts[0].number, receipts[0].content["previous"]) == (last.number + 1, last.hash):
        return True
    if receipts[-1].number < last.number:
        return False
    raise InputError(
        f"{path}: the receipts do not belong to this store, whose last receipt of corpus {corpus!r} is number {last.number}; give "
        "another file"
    )


def retention_of(stores: Stores) -> RetentionStore:
    """The store of holds and last receipts. Raises StoreError if these stores have none."""
    if stores.graph.retention is None:
        raise StoreError("these stores keep no holds and no receipts; open them with hlgraph.connect")
    return stores.graph.retention


# Notes of a deletion in progress, as ids and hashes: a kill must not lose what was removed before it.


_FILE = "receipts-1.sqlite"  # 1 is the version of its schema
_SCHEMA = """
CREATE TABLE note (
    id INTEGER PRIMARY KEY,
    deletion TEXT NOT NULL,
    change TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (deletion, change)
)
"""
_LOSS = "the receipt of a deletion that is killed in the middle may not count all that it removed; free disk space"


class _Notes:
    """The notes of one deletion, which the same command finds again.

    Parameters
    ----------
    settings : the store, the corpus and the folder of the accounts
    asked : what is to be deleted
    """

    def __init__(self, settings: Settings, asked: str) -> None:
        self._key = checksum(settings.corpus, asked)
        self._file = DiskFile(accounts_folder(settings) / _FILE, _SCHEMA, name="notes of receipts", loss=_LOSS)

    def read(self) -> dict[str, Any]:
        """The notes by the id of their change; that of the deletion by an empty id."""
        query = "SELECT change, content FROM note WHERE deletion = ? ORDER BY id"
        rows = self._file.read(lambda connection: connection.execute(query, (self._key,)).fetchall()) or []
        return {change: json.loads(content) for change, content in rows}

    def write(self, change: str, content: object) -> None:
        query = "INSERT OR REPLACE INTO note (deletion, change, content) VALUES (?, ?, ?)"
        self._file.write(lambda connection: connection.execute(query, (self._key, change, json.dumps(content))))

    def clear(self) -> None:
        query = "DELETE FROM note WHERE deletion = ?"

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute(query, (self._key,))

        self._file.read(delete)

    def close(self) -> None:
        self._file.close()


class ReceiptOptions(NamedTuple):
    """Where the receipt of a deletion is written.

    Attributes
    ----------
    path : the file, to which the receipt is appended
    has_uris : whether it holds uris and filters as text, which may be personal data; False: hashes of them
    """

    path: Path
    has_uris: bool = False


class ReceiptDraft:
    """Accompanies one deletion, and writes its receipt. A context manager that closes the notes.

    Call :meth:`begin` before anything is written, :meth:`include` before anything is removed, :meth:`verify` after it, all under
    the lock of the corpus, and :meth:`seal` once the lock is released and its freed bytes are overwritten.

    Parameters
    ----------
    options : where the receipt is written
    settings, stores : the corpus, and the stores that hold it
    by : how the sources are named: ``uris``, ``where``, ``everything`` or ``missing``
    names : uris, or the text of the filter
    """

    def __init__(
        self, options: ReceiptOptions, settings: Settings, *, stores: Stores, by: str, names: Sequence[str]
    ) -> None:
        self._path = Path(os.path.realpath(options.path))
        self._has_uris = options.has_uris
        self._settings = settings
        self._stores = stores
        self._retention = retention_of(stores)
        self._names = list(dict.fromkeys(names))
        self._asked = {"by": by, "sha256": [_digest(name) for name in self._names]}
        self._notes = _Notes(settings, _canonical(self._asked | {"sha256": sorted(map(_digest, self._names))}))
        self._uris = {_digest(name): name for name in self._names}
        self._changes: dict[str, Any] = {}
        self._returned: set[str] = set()
        self._now: list[dict[str, list[str]]] = []
        self._written: Receipt | None = None
        self._content: dict[str, Any] = {}

    def __enter__(self) -> ReceiptDraft:
        return self

    def __exit__(self, *_: object) -> None:
        self._notes.close()

    def begin(self) -> None:
        """Check the file, and read what a killed run of the same deletion noted.

        Raises InputError if the file cannot be continued or written.
        """
        receipts = self.check()
        last = self._retention.last_receipt(self._settings.corpus)
        notes = self._notes.read()
        begun = notes.pop("", None)
        if begun is not None and receipts and receipts[-1].content["deletion"] == begun["deletion"]:
            # Killed after the receipt was written: what is found to be removed now would be of another deletion.
            self._written, begun, notes = receipts[-1], None, {}
            if last != self._written.mark:
                self._retention.record_receipt(self._settings.corpus, self._written.mark)
            self._notes.clear()
        if (
            begun is None or not notes
        ):  # a run that was refused, or killed before it removed anything, is no part of this one
            begun = {"deletion": secrets.token_hex(16), "begun": _now(), "before": self._state()}
        self._content = {**begun}
        self._changes = notes

    def resume(self) -> None:
        """Complete the changes of killed runs before another step does it, which would not note what they removed."""
        graph, corpus = self._stores.graph, self._settings.corpus
        if graph.unfinished(corpus):
            with graph.lock(corpus) as pending:
                self._changes = self._notes.read()
                resume(pending, self._stores, corpus=corpus, noted=self.published)

    def check(self) -> tuple[Receipt, ...]:
        """The receipts of the file, before anything is deleted.

        Raises InputError unless the next receipt of the corpus can be appended to them.
        """
        try:
            return self._read()
        except InputError as error:
            beside = "; the versions of the sources have a receipt of their own, FILE.history"
            is_past = self._settings.corpus.endswith(HISTORY)
            raise InputError(f"{error}{beside if is_past else ''}; nothing was deleted") from error

    def _read(self) -> tuple[Receipt, ...]:
        path, corpus = self._path, self._settings.corpus
        if not path.parent.is_dir():
            raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")
        is_there = os.path.lexists(path)
        if is_there and not path.is_file():
            raise InputError(f"{path}: not a file; give another name for the receipt")
        if not os.access(path.parent, os.W_OK) or (is_there and not os.access(path, os.W_OK)):
            raise InputError(f"{path}: cannot be written; give another name for the receipt")
        receipts = read_receipts(path) if is_there else ()
        last = self._retention.last_receipt(corpus)
        if not joined(receipts, last, path=path, corpus=corpus):
            raise InputError(
                f"{path}: ends with receipt {receipts[-1].number}, but the last one of corpus {corpus!r} is number {last.number}; "
                "give the file that ends with it, or a new one"
            )
        return receipts

    def _state(self) -> dict[str, Any]:
        for stats in self._stores.graph.stats(self._settings.corpus, has_counts=False):
            return {"version": stats.version, "state": stats.state}
        return {"version": None, "state": ""}

    def include(self, gone: Iterable[str]) -> None:
        """Take over what killed runs removed: of the named sources, and of the changes that were just completed.

        Parameters
        ----------
        gone : ids of sources that are named, but were removed before
        """
        self._notes.write("", {key: self._content[key] for key in ("deletion", "begun", "before")})
        corpus, graph = self._settings.corpus, self._stores.graph
        names = set(gone)
        for change, note in list(self._changes.items()):
            ids = [source["id"] for source in note["sources"]]
            if note.get("is_resumed") and not names.issuperset(ids):
                del self._changes[change]  # of another deletion
            elif "vanished" not in note:  # it did not take place, or another command completed it
                stored = {record.id for record in _stored(Kind.SOURCE, ids, corpus=corpus, graph=graph)}
                note["sources"] = [source for source in note["sources"] if source["id"] not in stored]
        stored = {record.id for record in _stored(Kind.SOURCE, sorted(names), corpus=corpus, graph=graph)}
        self._content["gone_before"] = sorted(names - stored)
        for kind, ids in self._vanished().items():  # meanwhile other sources may assert the same
            self._returned |= {record.id for record in _stored(kind, ids, corpus=corpus, graph=graph)}

    def note(self, change: Change, sources: Sequence[Source]) -> None:
        """Note sources that a change is about to remove.

        Parameters
        ----------
        change : the change
        sources : its sources, which are still stored
        """
        corpus = self._settings.corpus
        self._uris |= {_digest(source.uri): source.uri for source in sources}
        scope = Scope(corpus, sources=tuple(source.id for source in sources))
        texts = [chunk.text for chunk in find_records(self._stores.graph, Chunk, scope=scope)]
        content = {
            "sources": [{"id": source.id, "uri_sha256": _digest(source.uri)} for source in sources],
            "windows": _windows([*texts, *(source.uri for source in sources)]),
        }
        self._changes[change.id] = content
        self._notes.write(change.id, content)

    def published(self, change: Change, outcome: Outcome) -> None:
        """Note what a published change removed; see :data:`hlgraph.persist.journal.Noted`.

        Parameters
        ----------
        change : the change
        outcome : the records that it removed
        """
        if not change.removed_sources:
            return
        noted = self._changes.get(change.id)
        vanished = {str(kind): list(ids) for kind, ids in outcome.vanished.items() if ids}
        sources = [{"id": source, "uri_sha256": None} for source in change.removed_sources]
        content = noted or {"sources": sources, "windows": [], "is_resumed": True}
        self._changes[change.id] = content | {"vanished": vanished}
        self._now.append(vanished)
        if noted:
            self._notes.write(change.id, self._changes[change.id])

    def _vanished(self) -> dict[str, list[str]]:
        """The ids of all removed records by kind."""
        ids: dict[str, dict[str, None]] = {}
        for note in self._changes.values():
            for kind, names in note.get("vanished", {}).items():
                ids.setdefault(kind, {}).update(dict.fromkeys(names))
        return {kind: list(names) for kind, names in ids.items()}

    def verify(self) -> None:
        """Count what was removed, and look for what is left of it.

        Raises StoreCorruptError if a record or a row is left.
        """
        corpus, graph = self._settings.corpus, self._stores.graph
        sources = {source["id"]: source for note in self._changes.values() for source in note["sources"]}
        counted = {source["id"] for note in self._changes.values() if "vanished" in note for source in note["sources"]}
        vanished = self._vanished()
        returned = self._returned.difference(*(ids for change in self._now for ids in change.values()))
        removed = {kind: len(ids) for kind, ids in sorted(vanished.items())} | {Kind.SOURCE.value: len(sources)}
        wanted = {kind: [name for name in ids if name not in returned] for kind, ids in vanished.items()}
        wanted[Kind.SOURCE.value] = [*sources, *self._content["gone_before"]]
        with progress.step("verify", sum(map(len, wanted.values())), unit="records"):
            left = {"graph": {}, "vectors": {}}  # type: dict[str, dict[str, int]]
            for kind, ids in sorted(wanted.items()):
                if kind in _STORED:
                    left["graph"][kind] = sum(1 for _ in _stored(kind, ids, corpus=corpus, graph=graph))
                if kind in _WITH_ROWS:
                    left["vectors"][kind] = self._rows_left(kind, ids)
                progress.advance("verify", len(ids))
            for part in batched(wanted[Kind.SOURCE.value], _LOOKED_UP):
                scope = Scope(corpus, sources=tuple(part))
                left["graph"][Kind.CHUNK] = left["graph"].get(Kind.CHUNK, 0) + sum(
                    1 for _ in graph.find(Kind.CHUNK, scope)
                )
        if any(count for counts in left.values() for count in counts.values()):
            found_left = {
                name: {kind: count for kind, count in counts.items() if count} for name, counts in left.items()
            }
            raise StoreCorruptError(
                f"corpus {corpus!r}: records of deleted sources are left ({found_left}), so there is no receipt; run: hlgraph "
                "reconcile --repair, then the same command again"
            )
        named = [self._entry(source) for source in sources.values()]
        self._content |= {
            "sources": sorted(named, key=lambda source: str(source["id"])),
            "gone_before": [name for name in self._content["gone_before"] if name not in sources],
            "uncounted": len(sources.keys() - counted),
            "removed": removed,
            "after": self._state(),
            "left": left,
            "at": _now(),
        }

    def _entry(self, source: Mapping[str, Any]) -> dict[str, Any]:
        uri = self._uris.get(str(source["uri_sha256"]))
        return {**source, "uri": uri} if self._has_uris else dict(source)

    def _rows_left(self, kind: str, ids: Sequence[str]) -> int:
        vectors, sets = self._stores.vectors, self._stores.graph.vector_sets(self._settings.corpus)
        names = [self._settings.corpus]
        if sets is not None and sets.other is not None and kind != Kind.SOURCE:
            names.append(set_name(self._settings.corpus, sets.other.id))
        parts = list(batched(ids, _LOOKED_UP))
        return sum(len(vectors.ids(Kind(kind), name, among=part)) for name in names for part in parts)

    def seal(self) -> Receipt:
        """Search the files of this machine for removed text, and write the receipt.

        Raises
        ------
        StoreCorruptError
            A file holds text that was removed.
        StoreUnavailableError
            Freed bytes cannot be overwritten while a search of an older state is under way, or the file cannot be written.
        """
        if self._written is not None and not self._changes:
            return self._written
        corpus, unwiped = self._settings.corpus, ""
        for _ in range(_ATTEMPTS):
            with self._stores.graph.lock(corpus):
                parts = [self._stores.graph.remnants(corpus)]
                if not self._stores.is_one:
                    parts.append(self._stores.vectors.remnants(corpus))
                unwiped = "; ".join(part.unwiped for part in parts if part.unwiped)
                if not unwiped:
                    return self._append(self._disk(parts))
        raise StoreUnavailableError(
            f"corpus {corpus!r}: the sources are deleted, but {unwiped}, as long as an earlier search or a backup is under way; "
            "run the same command again for the receipt"
        )

    def _disk(self, parts: Sequence[Remnants]) -> dict[str, Any]:
        """What the disks still have of deleted rows, of which all bytes that no row uses are overwritten."""
        paths = sorted({*(path for part in parts for path in part.files), *_beside(self._settings)} - {self._path})
        windows = [tuple(window) for note in self._changes.values() for window in note["windows"]]
        hits = _search(paths, windows)
        unexplained = hits.keys() - _stored_texts(hits.keys(), self._stores.graph)
        if unexplained:
            names = ", ".join(sorted({str(hits[window]) for window in unexplained}))
            raise StoreCorruptError(
                f"{names}: holds text of a source that was deleted, so there is no receipt; run: hlgraph reconcile --repair, then "
                "the same command again"
            )
        urls = (self._settings.store, self._settings.vectors)
        of_servers = [
            line
            for part, line in zip(parts, (_OF_GRAPH_SERVERS, _OF_VECTOR_SERVERS), strict=False)
            if part.store != "embedded"
        ]
        self._content["not_covered"] = [*_NOT_COVERED, *of_servers]
        return {
            "stores": [part.store or url.partition(":")[0] for part, url in zip(parts, urls, strict=False)],
            "files": len(paths),
            "bytes": sum(path.stat().st_size for path in paths if path.exists()),
            "windows": len(windows),
            "with_removed_text": 0,
            "freed_bytes_overwritten": True if any(part.files for part in parts) else None,
            "awaiting_merge": _awaiting(parts),
        }

    def _append(self, disk: Mapping[str, Any]) -> Receipt:
        corpus = self._settings.corpus
        receipts, last = self._read(), self._retention.last_receipt(corpus)
        before = receipts[-1].mark if receipts else last
        asked: dict[str, Any] = {**self._asked, "names": self._names} if self._has_uris else self._asked
        content = {
            **self._content,
            "format": FORMAT,
            "number": before.number + 1,
            "previous": before.hash,
            "corpus": corpus,
            "hlgraph": running_version(),
            "asked": asked,
            "disk": dict(disk),
        }
        content["hash"] = _hash(content)
        ids = tuple(source["id"] for source in content["sources"])
        receipt = Receipt(before.number + 1, corpus, content["at"], content["hash"], ids, content)
        _write(self._path, [*receipts, receipt])
        self._retention.record_receipt(corpus, receipt.mark)
        self._notes.clear()
        return receipt


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _stored(kind: str, ids: Sequence[str], *, corpus: str, graph: GraphStore) -> Iterator[Record]:
    """The records with these ids that the graph has."""
    for part in batched(ids, _LOOKED_UP) if kind in _STORED else ():
        yield from graph.records(Kind(kind), part, scope=Scope(corpus))


def _awaiting(parts: Sequence[Remnants]) -> dict[str, int] | None:
    known = [part.awaiting for part in parts if part.awaiting is not None]
    return {name: count for counts in known for name, count in counts.items()} if known else None


def _write(path: Path, receipts: Sequence[Receipt]) -> None:
    """Replace a file of receipts. A kill leaves the old one or the new one."""
    text = "".join(f"{_canonical(receipt.content)}\n" for receipt in receipts)
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    name = ""
    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as out:
            name = out.name
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        if mode is not None:
            Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise StoreUnavailableError(
            f"{path}: the sources are deleted, but the receipt cannot be written ({error.strerror}); free disk space, and run the "
            "same command again for the receipt"
        ) from error


# The search of files for removed text, by hashes of windows of it: the notes of a deletion must not hold text.


_WINDOW = 24  # bytes; long enough that no other text has the same by chance
_OF_EACH = 8  # windows of a text
_MOST = 8_192  # windows of a change
_BLOCK = 1 << 20
_SLOTS, _LIKELY = 24, 18  # bits
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def _windows(texts: Iterable[str]) -> list[tuple[int, str]]:
    """Windows of texts, evenly spread, as hashes: a slot, which is fast to compute, and a digest."""
    pieces: dict[bytes, None] = {}
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        room = len(data) - _WINDOW
        count = min(_OF_EACH, room // _WINDOW + 1) if room >= 0 else 0
        starts = {room * at // max(1, count - 1) for at in range(count)}
        pieces.update(dict.fromkeys(data[start : start + _WINDOW] for start in sorted(starts)))
    step = max(1, -(-len(pieces) // _MOST))
    chosen = list(pieces)[::step]
    return [(int(_slots(piece)[0]), _window_digest(piece)) for piece in chosen]


def _window_digest(window: bytes) -> str:
    return hashlib.blake2b(window, digest_size=12).hexdigest()


def _slots(data: bytes, start: int = 0) -> NDArray[np.uint64]:
    """The slots of the windows at every eighth position of some bytes, from a start on."""
    count = (len(data) - start) // 8
    parts = np.frombuffer(data, "<u8", count=max(count, 0), offset=start)
    mixed: NDArray[np.uint64] = parts[:-2] * _FACTORS[0] + parts[1:-1] * _FACTORS[1] + parts[2:] * _FACTORS[2]
    return np.right_shift(mixed, np.uint64(64 - _SLOTS))


def _search(paths: Sequence[Path], windows: Sequence[tuple[int, str]]) -> dict[bytes, Path]:
    """The windows that stand in a file, each with the first such file. Reads all of the files."""
    if not windows:
        return {}
    slots = np.array(sorted({slot for slot, _ in windows}), dtype=np.uint64)
    # Few places pass the small table, which fits into the cache of a processor.
    is_likely = np.zeros(1 << _LIKELY, dtype=np.bool_)
    is_likely[slots >> np.uint64(_SLOTS - _LIKELY)] = True
    digests = {digest for _, digest in windows}
    hits: dict[bytes, Path] = {}
    with progress.step("search files", len(paths), unit="files"):
        for path in paths:
            for block in _blocks(path):
                for start in range(8):
                    found_slots = _slots(block, start)
                    places = np.flatnonzero(is_likely[found_slots >> np.uint64(_SLOTS - _LIKELY)])
                    for at in places[np.isin(found_slots[places], slots)].tolist():
                        window = block[start + 8 * at : start + 8 * at + _WINDOW]
                        if len(window) == _WINDOW and _window_digest(window) in digests:
                            hits.setdefault(window, path)
            progress.advance("search files")
    return hits


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks that overlap by a window; none if it is gone."""
    try:
        with path.open("rb") as file:
            block = file.read(_BLOCK)
            while block:
                yield block
                more = file.read(_BLOCK)
                block = block[-_WINDOW + 1 :] + more if more else b""
    except FileNotFoundError:
        return


def _beside(settings: Settings) -> Iterator[Path]:
    """The files of this machine beside the stores that may hold text: stored replies, ledger, notes and quarantine."""
    yield from accounts_folder(settings).glob("*.sqlite*")
    yield from (path for path in quarantine_folder(settings).rglob("*") if path.is_file())


def _stored_texts(windows: Iterable[bytes], graph: GraphStore) -> set[bytes]:
    """The windows that are in texts of sources that are stored, of any corpus."""
    left = set(windows)
    seen: set[bytes] = set()
    for stats in graph.stats(has_counts=False) if left else ():
        for kind in (Kind.CHUNK, Kind.SOURCE):
            for record in graph.find(kind, Scope(stats.corpus)):
                text = record.text if isinstance(record, Chunk) else record.uri if isinstance(record, Source) else ""
                data = text.encode("utf-8", "surrogatepass")
                seen |= {window for window in left - seen if window in data}
    return seen
