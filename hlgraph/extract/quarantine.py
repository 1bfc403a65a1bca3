"""Keep unusable model replies on disk, raw and with the reason, until their chunk is extracted or deleted."""

from __future__ import annotations

import datetime as dt
import logging
import shutil
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from hlgraph.errors import StoreUnavailableError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import checksum, content_id
from hlgraph.settings import Settings, place_of, quarantine_folder
from hlgraph.stores import files

_log = logging.getLogger(__name__)
_SHORT = 16


@dataclass(frozen=True, slots=True)
class Dropped:
    """A part of a reply that is not in the graph: an item that could not be read, or a proposition that its chunk does not say.

    Attributes
    ----------
    text : the item as the model wrote it, or the text of the proposition
    reason : why it was dropped
    """

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A chunk whose extraction failed, or is incomplete, with all replies about it.

    Attributes
    ----------
    id : derived from the source and the text of the chunk; stable while both are unchanged
    chunk : the chunk, with the title and the headings that the model got
    model : the model that replied last
    extractor : fingerprint of the extractor that the next ingest uses; a retry may have used another model since
    call : version of the prompt that failed, such as ``propositions/1``
    reason : why the last reply could not be used
    replies : raw replies of both calls, in order
    tries : number of failures of this extractor, retries included
    at : time of the last failure, UTC, ISO 8601
    dropped : what alone was lost; the rest of the chunk's extraction is in the graph. Empty: all of it is lost
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
    dropped: tuple[Dropped, ...] = ()


class _Row(msgspec.Struct):
    """The content of a file; fields that older files lack have defaults."""

    uri: str
    position: int
    model: str
    reason: str
    replies: list[str]
    text: str
    title: str = ""
    headings: list[str] = []
    above: str = ""
    key: str | None = None
    chunk_count: int = 1
    extractor: str = ""
    call: str = ""
    tries: int = 1
    at: str = ""
    dropped: tuple[Dropped, ...] = ()


def failure_id(source: str, text: str) -> str:
    """Id of a failed chunk; chunks of one source with equal texts share one.

    Parameters
    ----------
    source : id of the source
    text : text of the chunk

    Returns
    -------
    str
        The id, 16 characters.
    """
    return content_id("failure", source, text)[:_SHORT]


class Quarantine:
    """The failed chunks of one corpus: a folder per source, with one JSON file per failed chunk, named by its id.

    The files hold text of documents, so text that is deleted from the store must be deleted here, too: see :meth:`retain`.

    Parameters
    ----------
    folder : the folder; created when the first chunk fails
    store, corpus : owner of the sources; files of other stores and corpora are never read
    """

    def __init__(self, folder: Path, *, store: str, corpus: str) -> None:
        self.folder = folder / checksum(store, corpus)
        self._lock = threading.Lock()

    def keep(
        self,
        chunk: ChunkInput,
        *,
        model: str,
        extractor: str,
        call: str,
        reason: str | Sequence[Dropped],
        replies: Sequence[str],
    ) -> Path | None:
        """Save a failed chunk with its replies.

        Parameters
        ----------
        chunk : the chunk
        model : the model that replied last
        extractor : fingerprint of the extractor that the next ingest uses
        call : version of the prompt that failed
        reason : why the last reply could not be used, so that the whole extraction is lost; or what alone was lost
        replies : raw replies, in order

        Returns
        -------
        Path or None
            The file; None if it could not be written, which is logged.
        """
        entry = Quarantined(
            id="",
            chunk=chunk,
            model=model,
            extractor=extractor,
            call=call,
            reason=reason if isinstance(reason, str) else "; ".join(dropped.reason for dropped in reason),
            replies=tuple(replies),
            dropped=() if isinstance(reason, str) else tuple(reason),
            at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        with self._lock:  # two chunks of a source may have the same text, and so the same file
            previous = self.find(chunk)
            if previous is not None and previous.extractor == extractor:
                entry = replace(entry, tries=previous.tries + 1)
            return self._put(entry)

    def expect(self, entry: Quarantined, extractor: str) -> None:
        """Record that the next ingest uses another extractor for a failed chunk, which has not tried it yet.

        Parameters
        ----------
        entry : the failed chunk
        extractor : fingerprint of that extractor
        """
        self._put(replace(entry, extractor=extractor, tries=0))

    def _put(self, entry: Quarantined) -> Path | None:
        path = self._path(entry.chunk)
        part = path.with_suffix(".part")
        try:
            files.make_folder(path.parent)
            with files.write_bytes(part) as out:
                fields = msgspec.to_builtins(entry)
                row = msgspec.convert({**fields["chunk"], **fields}, _Row)
                out.write(msgspec.json.format(msgspec.json.encode(row)))
            part.replace(path)
        except OSError as error:
            message = (
                "quarantine %s cannot be written (%s): a raw reply is lost; free disk space, or choose another folder"
            )
            _log.warning(message, path, error)
            return None
        return path

    def find(self, chunk: ChunkInput) -> Quarantined | None:
        """The failure of a chunk; None if there is none."""
        path = self._path(chunk)
        return _read(path) if path.is_file() else None

    def entries(self) -> list[Quarantined]:
        """All failures, sorted by uri and position; files that cannot be read are logged and skipped."""
        paths = (path for source in self.sources() for path in (self.folder / source).glob("*.json"))
        failures = (entry for path in sorted(paths) if (entry := _read(path)) is not None)
        return sorted(failures, key=lambda entry: (entry.chunk.uri, entry.chunk.position, entry.id))

    def release(self, chunk: ChunkInput) -> None:
        """Delete the failure of a chunk that has been extracted."""
        try:
            self._path(chunk).unlink(missing_ok=True)
        except OSError as error:
            _log.debug("quarantine: %s; the deletion is retried at the end of an ingest", error)

    def sources(self) -> list[str]:
        """Ids of the sources with failed chunks, sorted."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if path.is_dir())

    def retain(self, failures: Mapping[str, Collection[str]]) -> None:
        """Delete all failures except these ids, by source id; also deletes partial files of a killed run.

        Raises StoreUnavailableError if a file cannot be deleted, since text of deleted documents must not remain.
        """
        for source in self.sources():
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
                    f"the quarantine {folder} still holds text that was deleted from the store ({error}); fix its "
                    "permissions and repeat the command, or delete the folder"
                ) from error

    def _path(self, chunk: ChunkInput) -> Path:
        # A chunk in no corpus has a folder, too: a file outside folders would never be deleted.
        return self.folder / (chunk.source or "none") / f"{failure_id(chunk.source, chunk.text)}.json"


def _read(path: Path) -> Quarantined | None:
    try:
        row = msgspec.structs.asdict(msgspec.json.decode(path.read_bytes(), type=_Row))
    except (OSError, msgspec.MsgspecError) as error:
        _log.warning("%s cannot be read (%s); delete the file, and ingest its source again", path, error)
        return None
    chunk = {**row, "source": path.parent.name}
    return msgspec.convert({**row, "id": path.stem, "chunk": chunk}, Quarantined)


def quarantine(settings: Settings, corpus: str) -> Quarantine:
    """The quarantine of one corpus in the store that the settings name.

    Parameters
    ----------
    settings : all settings; the store and the quarantine folder are read
    corpus : the corpus

    Returns
    -------
    Quarantine
        The quarantine.
    """
    return Quarantine(quarantine_folder(settings), store=place_of(settings), corpus=corpus)
