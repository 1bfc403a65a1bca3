"""Keeps a corpus equal to a folder: reads it once, and then what changes in it (watchfiles, extra ``watch``).

The first pass makes up for what happened while nothing was watching, so a watcher that was killed is started again. A file that
cannot be read is an event, and so is a store that does not answer; what a store did not take is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Literal, NamedTuple

from hlgraph.errors import HLGraphError, HoldError, InputError, UnknownNameError, needs_extra
from hlgraph.ingest.options import IngestOptions
from hlgraph.ingest.report import Report
from hlgraph.read.discover import Input, discover, source_uri
from hlgraph.sdk.client import HLGraph

__all__ = ["WatchEvent", "watch"]

_TICK = 500  # milliseconds without a change after which it is looked whether to stop, or to try again
_AGAIN = 5.0  # seconds before what a store did not take is tried again
_LOWEST, _HIGHEST = 0.05, 3_600.0


class WatchEvent(NamedTuple):
    """What happened to a file or folder.

    Attributes
    ----------
    action : ``synchronised`` (the folder, at the start), ``read``, ``removed`` or ``failed``
    uri : uri of the file or the folder
    text : counts of the first pass, or why it failed
    """

    action: Literal["synchronised", "read", "removed", "failed"]
    uri: str
    text: str = ""


def watch(
    graph: HLGraph, folder: Path, *, options: IngestOptions, debounce: float = 1.6, stop: Event | None = None
) -> Iterator[WatchEvent]:
    """Keep a corpus equal to a folder until it is interrupted. Sources of files that are removed are deleted.

    Parameters
    ----------
    graph : the corpus
    folder : the folder
    options : how its files are read
    debounce : seconds during which changes are collected (0.05 to 3,600)
    stop : ends the watch when it is set; None: only an interrupt does

    Raises
    ------
    InputError : it is no folder, or a value is out of bounds; before anything is read
    MissingExtraError : watchfiles is not installed
    HLGraphError : the first pass cannot be done, or the store is damaged
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: it is no folder; name one that exists")
    if not _LOWEST <= debounce <= _HIGHEST:
        raise InputError(f"debounce is {debounce}; choose a number of seconds from {_LOWEST} to {_HIGHEST:,.0f}")
    with needs_extra("watch", "watching a folder"):
        import watchfiles
    waiting: set[Path] = set()
    is_first, next_try = True, 0.0
    folder = folder.absolute()
    # The first set of changes comes when the watch has begun: what happens during the first pass is in the next one.
    for changes in watchfiles.watch(
        folder,
        watch_filter=None,
        debounce=round(debounce * 1000),
        rust_timeout=_TICK,
        yield_on_timeout=True,
        stop_event=stop,
    ):
        if is_first:
            is_first = False
            report = graph.ingestion.bring([str(folder)], replace(options, delete_missing=True))
            yield from _of_report(report, WatchEvent("synchronised", source_uri(str(folder)), _counts(report)))
        waiting |= {Path(path) for _, path in changes}
        if waiting and time.monotonic() >= next_try:
            try:
                yield from _caught_up(graph, folder, waiting, options=options)
                waiting.clear()
            except HLGraphError as error:
                if not error.retryable:
                    raise
                next_try = time.monotonic() + _AGAIN
                yield WatchEvent("failed", source_uri(str(folder)), str(error))


def _caught_up(graph: HLGraph, folder: Path, paths: Iterable[Path], *, options: IngestOptions) -> Iterator[WatchEvent]:
    """Read the files that changed, and delete the sources of those that are not read any more."""
    touched = set(paths)
    entries = discover([str(folder)], options.format, follow_links=options.follow_links)
    readable = [entry.path for entry in entries if isinstance(entry, Input) and entry.path is not None]
    read = [path for path in readable if not touched.isdisjoint((path, *path.parents))]
    gone = sorted(path for path in touched.difference(read) if not path.is_dir() and not _is_hidden(path, folder))
    for path in gone:
        try:
            graph.delete(str(path))
        except UnknownNameError:
            continue  # it had no source
        except HoldError as error:
            yield WatchEvent("failed", source_uri(str(path)), str(error))
        else:
            yield WatchEvent("removed", source_uri(str(path)))
    if read:
        report = graph.ingestion.bring([str(path) for path in read], replace(options, delete_missing=True))
        failed = {failure.uri.partition("#")[0] for failure in report.failed}
        events = (WatchEvent("read", uri) for uri in map(source_uri, map(str, read)) if uri not in failed)
        yield from _of_report(report, *events)


def _is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file was never read, such as what an editor keeps beside it."""
    return any(part.startswith((".", "~$")) for part in path.relative_to(folder).parts)


def _of_report(report: Report, *events: WatchEvent) -> Iterator[WatchEvent]:
    yield from events
    for failure in report.failed:
        yield WatchEvent("failed", failure.uri, failure.error.removeprefix(f"{failure.uri}: "))


def _counts(report: Report) -> str:
    return (
        f"{report.sources_added} added, {report.sources_changed} changed, {report.sources_unchanged} unchanged, "
        f"{report.sources_removed} removed, {len(report.failed)} failed"
    )
