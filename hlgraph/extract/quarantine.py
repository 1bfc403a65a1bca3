"""Keeps on disk what a model replied and could not be used: raw, with the reason, until the chunk is extracted or gone."""

from __future__ import annotations

import datetime as dt
import logging
import shutil
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from hlgraph.errors import StoreUnavailableError
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum, content_id, source_id
from hlgraph.settings import Settings, place_of, quarantine_folder

_log = logging.getLogger(__name__)
_SHORT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A chunk whose extraction failed, with all that was said about it.

    Attributes
    ----------
    id : made of the source and the text of the chunk, so it stays while both do
    chunk : with the title and the headings that the model was shown
    model : that replied last
    extractor : fingerprint of the extractor that the ingest was to use; another model may have tried since
    call : the version of the prompt that failed, such as ``propositions/1``
    reason : why the last reply could not be used
    replies : of both calls, in order, as they came
    tries : how often this extractor failed; a retry counts too
    at : when it failed last, UTC, ISO 8601
    """

    id: str
    chunk: ChunkInput
    model: str
    extractor: str
    call: str
    reason: str
    replies: tuple[str, ...]
    tries: int = 1
    at: str = ""


class _Row(msgspec.Struct):
    """A file; what older files lack has a default."""

    uri: str
    position: int
    model: str
    reason: str
    replies: list[str]
    text: str
    title: str = ""
    headings: list[str] = []
    key: str | None = None
    chunk_count: int = 1
    extractor: str = ""
    call: str = ""
    tries: int = 1
    at: str = ""


def failure_id(source: str, text: str) -> str:
    """What a failed chunk is called: equal texts of one source are one failure."""
    return content_id("failure", source, text)[:_SHORT]


class Quarantine:
    """One folder a source, one JSON file a failed chunk, named by its id: see :class:`Quarantined`.

    It holds text of documents, so what is gone from the store has to leave it too: see :meth:`retain`.

    Parameters
    ----------
    folder : made when something is kept
    store, corpus : what the sources belong to; nothing of another store or corpus is looked at
    """

    def __init__(self, folder: Path, *, store: str, corpus: str) -> None:
        self.folder = folder / checksum(store, corpus)
        self._corpus = corpus
        self._lock = threading.Lock()

    def keep(
        self, chunk: ChunkInput, *, model: str, extractor: str, call: str, reason: str, replies: Sequence[str]
    ) -> Path | None:
        """Keep what was replied for a chunk; None where the disk does not take it, which is logged."""
        entry = Quarantined(
            id="",
            chunk=chunk,
            model=model,
            extractor=extractor,
            call=call,
            reason=reason,
            replies=tuple(replies),
            at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        with self._lock:  # two chunks of a source may have one text, and so one file
            held = self.find(chunk)
            is_again = held is not None and held.extractor == extractor
            return self._put(replace(entry, tries=held.tries + 1) if held is not None and is_again else entry)

    def expect(self, entry: Quarantined, extractor: str) -> None:
        """Note that another extractor is to be used for a failed chunk, which has not tried it yet."""
        self._put(replace(entry, extractor=extractor, tries=0))

    def _put(self, entry: Quarantined) -> Path | None:
        path = self._path(entry.chunk)
        part = path.with_suffix(".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(_row(entry))))
            part.replace(path)
        except OSError as error:
            _log.warning(
                "quarantine %s cannot be written (%s): a raw reply is lost; make room, or choose another", path, error
            )
            return None
        return path

    def find(self, chunk: ChunkInput) -> Quarantined | None:
        """What is kept for a chunk; None: nothing."""
        path = self._path(chunk)
        return _read(path) if path.is_file() else None

    def entries(self) -> list[Quarantined]:
        """All that is kept, by uri and position; a file that cannot be read is logged and left out."""
        found = (entry for path in sorted(self._files()) if (entry := _read(path)) is not None)
        return sorted(found, key=lambda entry: (entry.chunk.uri, entry.chunk.position, entry.id))

    def release(self, chunk: ChunkInput) -> None:
        """Drop what is kept for a chunk that was extracted."""
        try:
            self._path(chunk).unlink(missing_ok=True)
        except OSError as error:
            _log.debug("quarantine: %s; what an ingest drops at its end is tried again then", error)

    def held(self) -> list[str]:
        """Ids of the sources that something is kept for."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if path.is_dir())

    def retain(self, failures: Mapping[str, Collection[str]]) -> None:
        """Drop all but these ids of failures, by the id of their source; also what a killed run half wrote.

        Raises StoreUnavailableError when something cannot be deleted: text of documents that are gone must not stay.
        """
        for source in self.held():
            folder, wanted = self.folder / source, failures.get(source, ())
            try:
                if not wanted:
                    shutil.rmtree(folder)
                    continue
                for path in folder.iterdir():
                    if path.suffix != ".json" or path.stem not in wanted:
                        path.unlink(missing_ok=True)
            except OSError as error:
                raise StoreUnavailableError(
                    f"the quarantine {folder} still holds text that is gone from the store ({error}); make it deletable, "
                    "and run the same again, or delete the folder"
                ) from error

    def _path(self, chunk: ChunkInput) -> Path:
        source = source_id(self._corpus, chunk.uri)
        return self.folder / source / f"{failure_id(source, chunk.text)}.json"

    def _files(self) -> Iterator[Path]:
        for source in self.held():
            yield from (self.folder / source).glob("*.json")


def _row(entry: Quarantined) -> _Row:
    chunk = entry.chunk
    return _Row(
        uri=chunk.uri,
        position=chunk.position,
        model=entry.model,
        reason=entry.reason,
        replies=list(entry.replies),
        text=chunk.text,
        title=chunk.title,
        headings=list(chunk.headings),
        key=chunk.key,
        chunk_count=chunk.chunk_count,
        extractor=entry.extractor,
        call=entry.call,
        tries=entry.tries,
        at=entry.at,
    )


def _read(path: Path) -> Quarantined | None:
    try:
        row = msgspec.json.decode(path.read_bytes(), type=_Row)
    except (OSError, msgspec.MsgspecError) as error:
        _log.warning("%s cannot be read (%s); delete the file, and ingest its source again", path, error)
        return None
    chunk = ChunkInput(
        row.text, row.title, tuple(row.headings), row.uri, row.key, row.position, chunk_count=row.chunk_count
    )
    return Quarantined(
        id=path.stem,
        chunk=chunk,
        model=row.model,
        extractor=row.extractor,
        call=row.call,
        reason=row.reason,
        replies=tuple(row.replies),
        tries=row.tries,
        at=row.at,
    )


def quarantine(settings: Settings, corpus: str) -> Quarantine:
    """The quarantine of one corpus of the store that the settings name."""
    return Quarantine(quarantine_folder(settings), store=place_of(settings), corpus=corpus)
