"""What the SDK needs for calls that cost: the executor of a chat model, its ledger and kept replies, and what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from hlgraph.errors import BudgetError, InputError
from hlgraph.ids import checksum
from hlgraph.models.executor import Accounts, Executor
from hlgraph.models.ledger import GROUPS, GroupBy, Ledger, Spent
from hlgraph.models.prices import price_of
from hlgraph.models.replies import Replies
from hlgraph.records import Chunk, Kind, Source
from hlgraph.stores.protocols import Scope

if TYPE_CHECKING:
    from hlgraph.extract import Extractor, Quarantine
    from hlgraph.models.seams import ChatModel
    from hlgraph.pipeline import Report
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore

LEDGER_FILE, REPLIES_FILE = "ledger-1.sqlite", "replies-1.sqlite"  # the numbers are those of their layouts
_SHORT = 16
_SOURCES_AT_ONCE = 500
_DEADLINES = 2  # times the time-out of a client: it counts the silence between two packets, and a call has many


def place_of(settings: Settings) -> str:
    """The store as a name that does not depend on the folder in which the process runs."""
    scheme, _, rest = settings.store.partition("://")
    return str(Path(rest).expanduser().resolve()) if scheme == "hlgraph" else settings.store


def folder_of(settings: Settings) -> Path:
    """Where the ledger and the kept replies of a store are."""
    place = place_of(settings)
    if settings.models.ledger:
        return Path(settings.models.ledger) / checksum(place)[:_SHORT]
    if settings.store.startswith("hlgraph://"):
        return Path(place)
    return platformdirs.user_data_path("hlgraph") / "ledger" / checksum(place)[:_SHORT]


def executor_of(chat: ChatModel, settings: Settings, *, corpus: str) -> Executor:
    """The executor for a chat model, with the ledger of the store and the replies that are kept.

    Replies of a model that does not say which one it is (an object of LangChain with no name of a model) are not kept: those
    of two would be mixed up.
    """
    models, folder = settings.models, folder_of(settings)
    is_known = ":" in chat.fingerprint or not hasattr(chat, "patience")
    if not models.structured and hasattr(chat, "has_forms"):
        chat.has_forms = False
    accounts = Accounts(
        corpus=corpus,
        ledger=Ledger(folder / LEDGER_FILE),
        replies=Replies(folder / REPLIES_FILE) if models.keep_replies and is_known else None,
        price=price_of(chat.fingerprint, models.prices),
    )
    return Executor(chat, accounts=accounts, most=models.concurrency, deadline=_DEADLINES * models.timeout)


def spent(settings: Settings, by: GroupBy, *, corpus: str, graph: GraphStore) -> list[Spent]:
    """The lines of the ledger, the dearest first; see :meth:`hlgraph.client.HLGraph.ledger`."""
    if by not in GROUPS:
        raise InputError(f"a ledger has no lines by {by!r}; choose one of: {', '.join(GROUPS)}")
    ledger = Ledger(folder_of(settings) / LEDGER_FILE)
    try:
        lines = ledger.spent(by, corpus=None if by == "corpus" else corpus)
    finally:
        ledger.close()
    if by != "source":
        return lines
    names = [line.name for line in lines if line.name]
    held = graph.records(Kind.SOURCE, names) if names and graph.stats(corpus, has_counts=False) else []
    uris = {record.id: record.uri for record in held if isinstance(record, Source)}
    return [replace(line, name=uris.get(line.name, line.name)) for line in lines]


def check_budget(extractor: Extractor) -> None:
    """Raise BudgetError when the budget ended the extraction before all was extracted."""
    end = getattr(extractor, "end", None)
    if isinstance(end, BudgetError):
        raise end


@contextmanager
def forgetting(
    settings: Settings, corpus: str, *, graph: GraphStore, is_filled: bool = False, is_all: bool = False
) -> Iterator[list[Report]]:
    """Drop the replies, kept and quarantined, about what a change removes; the report of the change goes into the list.

    Killed in between, the next change does it. Only a change that removed something costs a look at all chunks that
    replies are kept for; others look at the chunks that are new.

    Parameters
    ----------
    is_filled : replies will be kept within, so there will be a file
    is_all : the whole corpus is removed
    """
    replies = Replies(folder_of(settings) / REPLIES_FILE)
    try:
        is_overdue = replies.begin_sweep(corpus, is_made=is_filled)
        replies.mark(corpus, _parts(corpus, replies.sources(corpus, is_unmarked=True), graph))
        reports: list[Report] = []
        yield reports
        _release_removed(settings, corpus, graph=graph)
        replies.mark(corpus, _parts(corpus, replies.sources(corpus, is_unmarked=True), graph))
        if is_all or is_overdue or any(_has_removed(item) for item in reports):
            replies.retain(corpus, _parts(corpus, replies.sources(corpus), graph), is_all=is_all)
        else:
            replies.end_sweep(corpus)
    finally:
        replies.close()


def _has_removed(report: Report) -> bool:
    return bool(report.resumed or report.sources_removed or report.removed.get(Kind.CHUNK, 0))


def quarantine(settings: Settings, corpus: str) -> Quarantine:
    """Where the replies go that could not be used for this corpus of this store."""
    from hlgraph.extract.quarantine import Quarantine
    from hlgraph.models.local.load import cache_folder

    models = settings.models
    folder = Path(models.quarantine) if models.quarantine else cache_folder(models.cache) / "quarantine"
    return Quarantine(folder, store=place_of(settings), corpus=corpus)


def _release_removed(settings: Settings, corpus: str, *, graph: GraphStore) -> None:
    """Drop what the quarantine holds of sources and chunks that are not stored any more, or lack nothing now.

    Raises StoreUnavailableError when that cannot be deleted.
    """
    from hlgraph.extract.quarantine import failure_id
    from hlgraph.resolve import awaited_hash, is_incomplete, is_same_extraction

    kept = quarantine(settings, corpus)
    held = kept.held()
    if not held:
        return
    awaited = {item.id: awaited_hash(item.extractor, item.chunk) for item in kept.entries()}
    wanted: dict[str, set[str]] = {}
    for start in range(0, len(held), _SOURCES_AT_ONCE):
        part = tuple(held[start : start + _SOURCES_AT_ONCE])
        sources = {item.id: item for item in graph.records(Kind.SOURCE, part) if isinstance(item, Source)}
        for record in graph.find(Kind.CHUNK, Scope(corpus, sources=tuple(sources))) if sources else ():
            if not isinstance(record, Chunk):
                continue
            source, name = sources[record.source_id], failure_id(record.source_id, record.text)
            # A source that another extractor read since lacks nothing, whoever said what stands in the graph.
            is_mended = is_same_extraction(record.fingerprint, awaited.get(name, "")) or not is_incomplete(
                source.checksum
            )
            if not (record.fingerprint and is_mended):
                wanted.setdefault(source.id, set()).add(name)
    kept.retain(wanted)


def _parts(corpus: str, sources: list[str], graph: GraphStore) -> dict[str, set[str]]:
    """Hashes of the texts of the stored chunks of these sources."""
    found: dict[str, set[str]] = {}
    for start in range(0, len(sources), _SOURCES_AT_ONCE):
        scope = Scope(corpus, sources=tuple(sources[start : start + _SOURCES_AT_ONCE]))
        for record in graph.find(Kind.CHUNK, scope):
            if isinstance(record, Chunk):
                found.setdefault(record.source_id, set()).add(checksum(record.text))
    return found
