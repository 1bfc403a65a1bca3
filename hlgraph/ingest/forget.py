"""Deletes cached data about removed text: replies of chat models, quarantined replies, and vectors in the embedding cache.

:func:`forgetting` wraps a change and sweeps the stored replies after it. :func:`forgetter` deletes cached vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from hlgraph.ids import checksum
from hlgraph.index.embed import indexed
from hlgraph.records import Chunk, Kind, Source
from hlgraph.settings import REPLIES_FILE, accounts_folder, quarantine_folder
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import Scope, by_id, by_source, read_records

if TYPE_CHECKING:
    from hlgraph.ingest.report import Report
    from hlgraph.models.accounts.replies import Replies
    from hlgraph.models.choose import ChosenModels
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore

Forget: TypeAlias = Callable[[Sequence[str]], None]
"""Deletes texts from a cache."""

_SOURCES_AT_ONCE = 500


def forgetter(settings: Settings, models: ChosenModels) -> Forget | None:
    """A function that deletes the vectors of texts from the embedding cache; None if there is no cache.

    For a model given by name the model itself is not needed: its cache is cleared even if the model is not installed.

    Parameters
    ----------
    settings : the folder of the cache
    models : the embedder, created only if it was given as an object
    """
    if not isinstance(models.embedder_asked_for, str):
        return models.embedder.forget
    from hlgraph.models.cache import cache_file, forget_texts

    path = cache_file(settings.models.cache)
    return partial(forget_texts, path) if path.exists() else None


def embedded_texts(sources: Sequence[Source], corpus: str, *, graph: GraphStore) -> list[str]:
    """The texts that were embedded for these sources, without the names of entities that other sources also mention.

    Parameters
    ----------
    sources : stored sources
    corpus : their corpus
    graph : the graph store

    Returns
    -------
    list of str
        Exactly as they were embedded.
    """
    titles = {source.id: source.title for source in sources}
    scope = Scope(corpus, sources=tuple(titles))
    records = [record for kind in (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC) for record in graph.find(kind, scope)]
    own = graph.own_entities(corpus, list(titles))
    records += graph.records(Kind.ENTITY, own, scope=Scope(corpus))
    return [row.text for row in indexed(records, titles)]


@contextmanager
def forgetting(
    settings: Settings, corpus: str, *, graph: GraphStore, is_filled: bool = False, everything: bool = False
) -> Iterator[Forgetting]:
    """Drop the stored and quarantined replies about text that a change removes.

    If the process is killed before that, the next change does it. Only a change that removed something reads all chunks
    with stored replies. Other changes read the new chunks. If no reply was ever stored, nothing is read.

    Parameters
    ----------
    settings : the store and the folders
    corpus : the corpus that changes
    graph : the graph store, which is locked at the end
    is_filled : whether the block will store replies, so that there will be a file
    everything : whether the whole corpus is removed
    """
    sweep = Forgetting(settings, corpus, graph=graph)
    try:
        if is_filled or _has_kept(settings):
            sweep.begin(create=is_filled)
        yield sweep
        if sweep.is_begun or _has_kept(settings):  # meanwhile another process may have stored replies
            with graph.lock(corpus):
                sweep.end(everything=everything)
    finally:
        sweep.close()


def _has_kept(settings: Settings) -> bool:
    """Whether there are stored replies for this store, or quarantined ones."""
    return (accounts_folder(settings) / REPLIES_FILE).exists() or quarantine_folder(settings).exists()


class Forgetting:
    """One sweep of the stored replies of a corpus. Receives the reports of the changes inside a :func:`forgetting` block.

    Parameters
    ----------
    settings, corpus, graph : see :func:`forgetting`

    Attributes
    ----------
    is_begun : whether it is noted that texts may be removed
    """

    def __init__(self, settings: Settings, corpus: str, *, graph: GraphStore) -> None:
        self.is_begun = False
        self._settings = settings
        self._corpus = corpus
        self._graph = graph
        self._reports: list[Report] = []
        self._is_overdue = False

    @cached_property
    def _replies(self) -> Replies:
        from hlgraph.models.choose import kept_replies

        return kept_replies(self._settings)

    def append(self, report: Report) -> None:
        """Add the report of a change, before the block ends."""
        self._reports.append(report)

    def begin(self, *, create: bool) -> None:
        """Note that texts may be removed from now on. With ``create`` a missing file of replies is created."""
        self.is_begun = True
        self._is_overdue = self._replies.begin_sweep(self._corpus, create=create)
        self._mark()

    def remind(self) -> None:
        """Note again, before a change is written, that texts may be removed: another writer may have swept meanwhile."""
        if self.is_begun:
            self._is_overdue |= self._replies.begin_sweep(self._corpus, create=False)

    def end(self, *, everything: bool) -> None:
        """Drop the replies about removed text."""
        _release_removed(self._settings, self._corpus, graph=self._graph)
        self._mark()
        replies, corpus = self._replies, self._corpus
        if everything or self._is_overdue or any(_has_removed(report) for report in self._reports):
            replies.retain(corpus, _parts(corpus, replies.sources(corpus), self._graph), everything=everything)
        else:
            replies.end_sweep(corpus)

    def close(self) -> None:
        """Close the file of replies, if it was opened."""
        if "_replies" in self.__dict__:
            self._replies.close()

    def _mark(self) -> None:
        unmarked = self._replies.sources(self._corpus, is_unmarked=True)
        self._replies.mark(self._corpus, _parts(self._corpus, unmarked, self._graph))


def _has_removed(report: Report) -> bool:
    return bool(report.resumed or report.sources_removed or report.removed.get(Kind.CHUNK, 0))


def _release_removed(settings: Settings, corpus: str, *, graph: GraphStore) -> None:
    """Drop quarantined replies about sources and chunks that are no longer stored or have since been extracted.

    Raises StoreUnavailableError if a file cannot be deleted.
    """
    from hlgraph.extract.quarantine import failure_id, quarantine
    from hlgraph.persist.compare import awaited_hash, is_incomplete, is_same_extraction

    kept = quarantine(settings, corpus)
    failed = kept.sources()
    if not failed:
        return
    entries = kept.entries()
    awaited = {failure.id: awaited_hash(failure.extractor, failure.chunk) for failure in entries}
    incomplete = {failure.id for failure in entries if failure.dropped}
    wanted: dict[str, set[str]] = {}
    for part in batched(failed, _SOURCES_AT_ONCE):
        sources = read_records(graph, Source, ids=part, scope=Scope(corpus))
        chunks = graph.find(Kind.CHUNK, Scope(corpus, sources=tuple(sources))) if sources else ()
        for record in by_id(chunks, Chunk).values():
            source, name = sources[record.source_id], failure_id(record.source_id, record.text)
            # A source that another extractor has processed since is complete, whichever extractor made its records.
            is_extracted = is_same_extraction(record.fingerprint, awaited.get(name, ""))
            # What was left out of an extraction is kept for as long as that extraction is.
            is_mended = not is_extracted if name in incomplete else is_extracted or not is_incomplete(source.checksum)
            if not (record.fingerprint and is_mended):
                wanted.setdefault(source.id, set()).add(name)
    kept.retain(wanted)


def _parts(corpus: str, sources: list[str], graph: GraphStore) -> dict[str, set[str]]:
    """Hashes of the texts of the stored chunks of these sources."""
    parts: dict[str, set[str]] = {}
    for part in batched(sources, _SOURCES_AT_ONCE):
        scope = Scope(corpus, sources=tuple(part))
        for source, chunks in by_source(graph.find(Kind.CHUNK, scope), Chunk).items():
            parts[source] = {checksum(chunk.text) for chunk in chunks}
    return parts
