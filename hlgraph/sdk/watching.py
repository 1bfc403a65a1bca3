"""Keeps a corpus equal to a folder: reads it once, and then what changes in it (watchfiles, extra ``watch``).

A folder in S3 is listed again and again, and only objects whose ETag has changed are read (boto3, extra ``aws``).

The first pass makes up for what happened while nothing was watching, so a watcher that was killed is started again. A file that
cannot be read is an event, and so is a store that does not answer; what a store did not take is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Literal, NamedTuple

from hlgraph.errors import HLGraphError, HoldError, InputError, ReadError, UnknownNameError, needs_extra
from hlgraph.ingest.options import IngestOptions
from hlgraph.ingest.report import Report
from hlgraph.read.discover import Input, discover, is_s3, source_uri
from hlgraph.read.outcomes import EMPTY, Files
from hlgraph.read.s3 import objects, place_of
from hlgraph.sdk.client import HLGraph

_TICK = 500  # milliseconds without a change after which it is looked whether to stop, or to try again
_AGAIN = 5.0  # seconds before what a store did not take is tried again
_LOWEST, _HIGHEST = 0.05, 3_600.0
_GONE = "the folder went away, or another one is in its place; nothing is removed before there are files again"
_DEBOUNCE, _BETWEEN_LISTINGS = 1.6, 30.0


class WatchEvent(NamedTuple):
    """What happened to a file or folder.

    Attributes
    ----------
    action : ``synchronised`` (the folder, at the start), ``read``, ``removed``, ``left_out`` (a file that is empty) or ``failed``
    uri : uri of the file or the folder
    text : counts of the first pass, or why it was left out or failed
    """

    action: Literal["synchronised", "read", "removed", "left_out", "failed"]
    uri: str
    text: str = ""


def watch(
    graph: HLGraph,
    folder: str | Path,
    *,
    options: IngestOptions,
    debounce: float | None = None,
    stop: Event | None = None,
) -> Iterator[WatchEvent]:
    """Keep a corpus equal to a folder until it is interrupted. Sources of files that are removed are deleted.

    Parameters
    ----------
    graph : the corpus
    folder : the folder, or ``s3://bucket/folder/``
    options : how its files are read
    debounce : seconds during which changes are collected (0.05 to 3,600); in S3 those between two listings. None: 1.6, and in S3 30
    stop : ends the watch when it is set; None: only an interrupt does

    Raises
    ------
    InputError : it is no folder, or a value is out of bounds; before anything is read
    MissingExtraError : watchfiles, or boto3, is not installed
    ReadError : the folder in S3 cannot be listed; before anything is read
    HLGraphError : the first pass cannot be done, or the store is damaged
    """
    if debounce is not None and not _LOWEST <= debounce <= _HIGHEST:
        raise InputError(f"debounce is {debounce}; choose a number of seconds from {_LOWEST} to {_HIGHEST:,.0f}")
    stop, chosen = stop or Event(), replace(options, delete_missing=True)
    if is_s3(str(folder)):
        yield from _watch_s3(graph, str(folder), options=chosen, every=debounce or _BETWEEN_LISTINGS, stop=stop)
    else:
        yield from _watch_files(graph, Path(folder), options=chosen, debounce=debounce or _DEBOUNCE, stop=stop)


def _watch_files(
    graph: HLGraph, folder: Path, *, options: IngestOptions, debounce: float, stop: Event
) -> Iterator[WatchEvent]:
    if not folder.is_dir():
        raise InputError(f"{folder}: it is no folder; name one that exists")
    with needs_extra("watch", "watching a folder"):
        import watchfiles
    folder, events = folder.absolute(), _Folder(graph, folder.absolute(), options)
    while not stop.is_set():
        place = _place(folder, has_files=events.is_begun)
        if place is None:
            stop.wait(_TICK / 1_000)
            continue
        with suppress(FileNotFoundError):  # it went away a moment ago
            # The first changes come when the watch has begun: what happens during the pass over all files is in the next ones.
            for changes in watchfiles.watch(
                folder,
                watch_filter=None,
                debounce=round(debounce * 1000),
                rust_timeout=_TICK,
                yield_on_timeout=True,
                stop_event=stop,
            ):
                if _place(folder) != place:  # its watcher looks at the folder that was there
                    events.is_whole = True
                    yield WatchEvent("failed", source_uri(str(folder)), _GONE)
                    break
                yield from events.after({Path(path) for _, path in changes})


@dataclass(slots=True)
class _Folder:
    """A folder and what of it is not in the corpus yet.

    Attributes
    ----------
    graph, folder, options : see :func:`watch`
    waiting : paths that changed
    is_whole : whether all of it is to be read
    is_begun : whether it was read once
    """

    graph: HLGraph
    folder: Path
    options: IngestOptions
    waiting: set[Path] = field(default_factory=set)
    is_whole: bool = True
    is_begun: bool = False
    next_try: float = 0.0

    def after(self, changed: Set[Path]) -> Iterator[WatchEvent]:
        """Bring the corpus to the state of what changed, unless the store has just refused it."""
        self.waiting |= changed
        if not (self.is_whole or self.waiting) or time.monotonic() < self.next_try:
            return
        try:
            if self.is_whole:
                yield from _synchronised(self.graph, str(self.folder), options=self.options)
            else:
                yield from _changed_files(self.graph, self.folder, self.waiting, options=self.options)
            self.waiting.clear()
            self.is_whole, self.is_begun = False, True
        except HLGraphError as error:
            if not (self.is_begun and (error.retryable or _place(self.folder) is None)):
                raise
            self.next_try = time.monotonic() + _AGAIN
            yield WatchEvent("failed", source_uri(str(self.folder)), str(error))


def _place(folder: Path, *, has_files: bool = False) -> tuple[int, int] | None:
    """What tells a folder from another one that is put in its place; None if there is none, or no file in it if it has some."""
    try:
        status = folder.stat()
        return (status.st_dev, status.st_ino) if not has_files or any(folder.iterdir()) else None
    except OSError:
        return None


def _watch_s3(
    graph: HLGraph, folder: str, *, options: IngestOptions, every: float, stop: Event
) -> Iterator[WatchEvent]:
    place = place_of(folder)
    path = folder if place.is_folder else f"{folder}/"
    listed = _listed(path)
    yield from _synchronised(graph, path, options=options)
    while not stop.wait(every):
        try:
            present = _listed(path)
            changed = {name for name in listed.keys() | present.keys() if listed.get(name) != present.get(name)}
            if changed:
                yield from _changed_objects(graph, path, changed, options=options)
            listed = present
        except HLGraphError as error:
            if not (error.retryable or isinstance(error, ReadError)):
                raise
            yield WatchEvent("failed", source_uri(path), str(error))


def _listed(path: str) -> dict[str, str]:
    """The ETag of each object, by path."""
    return {each.place.path: each.etag for each in objects(path)}


def _synchronised(graph: HLGraph, folder: str, *, options: IngestOptions) -> Iterator[WatchEvent]:
    """Bring the corpus to the state of the whole folder."""
    report = graph.ingestion.bring([folder], options)
    yield from _of_report(
        report, WatchEvent("synchronised", source_uri(folder), _counts(report)), *_empty(report.files)
    )


def _changed_files(
    graph: HLGraph, folder: Path, paths: Iterable[Path], *, options: IngestOptions
) -> Iterator[WatchEvent]:
    """Read the files that changed, and delete the sources of those that are not read any more."""
    touched, files = set(paths), Files()
    entries = discover([str(folder)], options.format, follow_links=options.follow_links, files=files)
    readable = [entry.path for entry in entries if isinstance(entry, Input) and entry.path is not None]
    read = [path for path in readable if not touched.isdisjoint((path, *path.parents))]
    gone = sorted(path for path in touched.difference(read) if not path.is_dir() and not _is_hidden(path, folder))
    yield from _caught_up(graph, [str(path) for path in read], gone=map(str, gone), options=options)
    changed = {path.as_uri() for path in touched}
    yield from (event for event in _empty(files) if event.uri in changed)


def _changed_objects(graph: HLGraph, folder: str, touched: Set[str], *, options: IngestOptions) -> Iterator[WatchEvent]:
    """Read the objects that changed, and delete the sources of those that are not read any more."""
    entries = [entry for entry in discover([folder], options.format) if isinstance(entry, Input)]
    readable = [entry.s3_object.place.path for entry in entries if entry.s3_object is not None]
    read = [path for path in readable if path in touched]
    yield from _caught_up(graph, read, gone=sorted(touched - set(read)), options=options)


def _caught_up(
    graph: HLGraph, read: Sequence[str], *, gone: Iterable[str], options: IngestOptions
) -> Iterator[WatchEvent]:
    for path in gone:
        try:
            graph.delete(path)
        except UnknownNameError:
            continue  # it had no source
        except HoldError as error:
            yield WatchEvent("failed", source_uri(path), str(error))
        else:
            yield WatchEvent("removed", source_uri(path))
    if read:
        report = graph.ingestion.bring(list(read), options)
        failed = {failure.uri.partition("#")[0] for failure in report.failed}
        events = (WatchEvent("read", uri) for uri in map(source_uri, read) if uri not in failed)
        yield from _of_report(report, *events)


def _is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file was never read, such as what an editor keeps beside it."""
    return any(part.startswith((".", "~$")) for part in path.relative_to(folder).parts)


def _of_report(report: Report, *events: WatchEvent) -> Iterator[WatchEvent]:
    yield from events
    for failure in report.failed:
        yield WatchEvent("failed", failure.uri, failure.error.removeprefix(f"{failure.uri}: "))


def _empty(files: Files) -> Iterator[WatchEvent]:
    """The files that are left out because they are empty; those that have no reader, or are hidden, are no news."""
    return (WatchEvent("left_out", uri, reason) for uri, reason in files.left_out if reason == EMPTY)


def _counts(report: Report) -> str:
    return (
        f"{report.sources_added} added, {report.sources_changed} changed, {report.sources_unchanged} unchanged, "
        f"{report.sources_removed} removed, {len(report.failed)} failed"
    )
