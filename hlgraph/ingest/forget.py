"""Forgets what is kept about removed text: replies of chat models, those in quarantine, and vectors in the embedding cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from hlgraph.ids import checksum, normalise_name
from hlgraph.index.embed import chunk_text
from hlgraph.records import Chunk, Entity, Kind, Source, Statement, Topic
from hlgraph.settings import REPLIES_FILE, accounts_folder, quarantine_folder
from hlgraph.stores.protocols import Scope

if TYPE_CHECKING:
    from hlgraph.ingest.report import Report
    from hlgraph.models.accounts.replies import Replies
    from hlgraph.models.choose import ChosenModels
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore

Forget: TypeAlias = Callable[[Sequence[str]], None]
"""Deletes what a cache holds about texts."""

_SOURCES_AT_ONCE = 500


def forgetter(settings: Settings, models: ChosenModels) -> Forget | None:
    """What deletes the vectors of texts from the embedding cache; None where there is no cache.

    The cache of a model that is named needs no model to forget: what is deleted is deleted though the model is not there.

    Parameters
    ----------
    settings : name the folder of the cache
    models : the embedder, made only if it was given as an object
    """
    if not isinstance(models.embedder_asked_for, str):
        return models.embedder.forget
    from hlgraph.models.cache import forget_texts
    from hlgraph.models.local.load import cache_file

    path = cache_file(settings.models.cache)
    return partial(forget_texts, path) if path.exists() else None


def embedded_texts(sources: Sequence[Source], corpus: str, *, graph: GraphStore) -> list[str]:
    """The texts that were embedded for these sources, without the names of entities that other sources mention, too.

    Parameters
    ----------
    sources : stored sources
    corpus : their corpus
    graph : the graph store

    Returns
    -------
    list of str
        As the embedder was given them.
    """
    titles = {item.id: item.title for item in sources}
    scope = Scope(corpus, sources=tuple(titles))
    texts: list[str] = []
    for kind in (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC):
        for record in graph.find(kind, scope):
            if isinstance(record, Chunk):
                texts.append(chunk_text(titles[record.source_id], record.text))
            elif isinstance(record, Statement):
                texts.append(record.text)
            elif isinstance(record, Topic):
                texts.append(normalise_name(record.name))
    own = graph.own_entities(corpus, list(titles))
    entities = graph.records(Kind.ENTITY, own, scope=Scope(corpus))
    return [*texts, *(normalise_name(item.name) for item in entities if isinstance(item, Entity))]


@contextmanager
def forgetting(
    settings: Settings, corpus: str, *, graph: GraphStore, is_filled: bool = False, everything: bool = False
) -> Iterator[Forgetting]:
    """Drop the replies, kept and quarantined, about what a change removes.

    Killed in between, the next change does it. Only a change that removed something costs a look at all chunks that
    replies are kept for; others look at the chunks that are new. Where nothing was ever kept, nothing is looked at.

    Parameters
    ----------
    settings : name the store and the folders
    corpus : the corpus that changes
    graph : the graph store; its lock is held at the end
    is_filled : replies will be kept within, so there will be a file
    everything : the whole corpus is removed
    """
    sweep = _Sweep(settings, corpus, graph=graph) if is_filled or _has_kept(settings) else None
    try:
        if sweep is not None:
            sweep.begin(create=is_filled)
        found = Forgetting(sweep)
        yield found
        if sweep is None and _has_kept(settings):  # another process began to pay meanwhile
            sweep = _Sweep(settings, corpus, graph=graph)
        if sweep is not None:
            with graph.lock(corpus):
                sweep.end(found.reports, everything=everything)
    finally:
        if sweep is not None:
            sweep.close()


class Forgetting:
    """What :func:`forgetting` is told by those who change something.

    Parameters
    ----------
    sweep : the sweep; None: nothing was ever kept
    """

    def __init__(self, sweep: _Sweep | None) -> None:
        self._sweep = sweep
        self.reports: list[Report] = []

    def append(self, report: Report) -> None:
        """Add the report of a change, before the block ends."""
        self.reports.append(report)

    def remind(self) -> None:
        """Note again that texts may go, before a change is written: another writer may have swept meanwhile."""
        if self._sweep is not None:
            self._sweep.remind()


def _has_kept(settings: Settings) -> bool:
    """Whether a chat model was ever paid for this store, or a reply of one lies in quarantine."""
    return (accounts_folder(settings) / REPLIES_FILE).exists() or quarantine_folder(settings).exists()


class _Sweep:
    """One sweep of the stored replies of a corpus."""

    def __init__(self, settings: Settings, corpus: str, *, graph: GraphStore) -> None:
        from hlgraph.models.accounts.open import kept_replies

        self._settings = settings
        self._corpus = corpus
        self._graph = graph
        self._replies: Replies = kept_replies(settings)
        self._is_overdue = False

    def begin(self, *, create: bool) -> None:
        """Note that texts may go from now on; ``create``: make the file of replies where it is missing."""
        self._is_overdue = self._replies.begin_sweep(self._corpus, create=create)
        self._mark()

    def remind(self) -> None:
        """Note again that texts may go; another writer may have ended this sweep, too."""
        self._is_overdue |= self._replies.begin_sweep(self._corpus, create=False)

    def end(self, reports: list[Report], *, everything: bool) -> None:
        """Drop what is about removed text."""
        _release_removed(self._settings, self._corpus, graph=self._graph)
        self._mark()
        replies, corpus = self._replies, self._corpus
        if everything or self._is_overdue or any(_has_removed(item) for item in reports):
            replies.retain(corpus, _parts(corpus, replies.sources(corpus), self._graph), everything=everything)
        else:
            replies.end_sweep(corpus)

    def close(self) -> None:
        """Close the file of replies."""
        self._replies.close()

    def _mark(self) -> None:
        unmarked = self._replies.sources(self._corpus, is_unmarked=True)
        self._replies.mark(self._corpus, _parts(self._corpus, unmarked, self._graph))


def _has_removed(report: Report) -> bool:
    return bool(report.resumed or report.sources_removed or report.removed.get(Kind.CHUNK, 0))


def _release_removed(settings: Settings, corpus: str, *, graph: GraphStore) -> None:
    """Drop what the quarantine holds of sources and chunks that are not stored any more, or lack nothing now.

    Raises StoreUnavailableError when that cannot be deleted.
    """
    from hlgraph.extract.quarantine import failure_id, quarantine
    from hlgraph.persist import awaited_hash, is_incomplete, is_same_extraction

    kept = quarantine(settings, corpus)
    held = kept.held()
    if not held:
        return
    awaited = {item.id: awaited_hash(item.extractor, item.chunk) for item in kept.entries()}
    wanted: dict[str, set[str]] = {}
    for start in range(0, len(held), _SOURCES_AT_ONCE):
        part = tuple(held[start : start + _SOURCES_AT_ONCE])
        found = graph.records(Kind.SOURCE, part, scope=Scope(corpus))
        sources = {item.id: item for item in found if isinstance(item, Source)}
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
