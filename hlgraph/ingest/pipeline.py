"""The way of the data as a list of steps: read, chunk, extract, resolve, index, persist."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.change import Change, Outcome
from hlgraph.chunk import Chunker
from hlgraph.errors import ReadError
from hlgraph.extract import Extractor, Metered
from hlgraph.ids import scheme_of, source_ids
from hlgraph.index import MadeVectors, calibrating, check_model, embed_change, is_due, made_vectors
from hlgraph.ingest.report import Failure, Report, note_kept, record_counts
from hlgraph.models.protocols import Embedder
from hlgraph.persist import (
    ChunkPlan,
    Comparison,
    Extracted,
    assemble,
    check_left,
    compare,
    persist,
    plan_chunks,
    resume,
)
from hlgraph.read import Files, ReadFailure, inadmissible
from hlgraph.records import Calibration, Chunk, Document, Extraction, Kind, Source
from hlgraph.stores.concurrency import given_up_by
from hlgraph.stores.protocols import CorpusStats, Scope, Stores

# Writes prepared batches, each as one change under the lock of the corpus.


@dataclass(slots=True)
class Names:
    """How many names of entities a corpus has, counted again after another writer.

    Attributes
    ----------
    stores : the open stores
    version : the version of the corpus for which ``number`` holds
    number : of names
    """

    stores: Stores
    version: int
    number: int

    def of(self, stats: CorpusStats) -> int:
        """The number of names in a corpus with these statistics; the caller holds the lock of the corpus."""
        if stats.version != self.version:
            counts = record_counts(stats.corpus, self.stores)
            self.version, self.number = stats.version, counts.get(Kind.ENTITY, 0)
        return self.number

    def count(self, outcome: Outcome) -> None:
        """Add what one published change did."""
        kind = Kind.ENTITY.value
        self.version += 1
        self.number += outcome.added.get(kind, 0) - len(outcome.vanished.get(kind, ()))


class Turn(NamedTuple):
    """What became of one batch.

    Attributes
    ----------
    report : what was done: the counts of the change, if it was written, and the seconds
    is_written : False: another writer has changed its sources since it was compared, and nothing of it was written
    """

    report: Report
    is_written: bool


class Writer:
    """Writes the batches of one ingest; one thread at a time may call it.

    Parameters
    ----------
    corpus : the corpus
    names : the number of its names
    stores : the open stores
    steps : the embedder, and what is called before each change
    """

    def __init__(self, corpus: str, *, names: Names, stores: Stores, steps: Steps) -> None:
        self._corpus = corpus
        self._names = names
        self._stores = stores
        self._steps = steps

    def write(self, item: Ready, *, size: int) -> Turn:
        """Writes a batch that has its vectors, unless another writer has overtaken it; holds the lock of the corpus meanwhile.

        Parameters
        ----------
        item : the batch
        size : of all files and documents up to its last one, for those who listen to the progress
        """
        report = Report()
        with self._stores.graph.lock(self._corpus) as pending:
            if pending:
                report.resumed = resume(pending, self._stores, corpus=self._corpus)
            is_current = self._is_current(item)
            if is_current:
                self._publish(item, report, size=size)
        return Turn(report, is_current)

    def _is_current(self, item: Ready) -> bool:
        """Whether the stored sources of a batch are those that it was compared with."""
        wanted = {one.comparison.source.id: one.comparison.stored for one in item.extracted}
        found = self._stores.graph.records(Kind.SOURCE, list(wanted), scope=Scope(self._corpus))
        held = {record.id: record for record in found}
        return all(held.get(name) == stored for name, stored in wanted.items())

    def _publish(self, item: Ready, report: Report, *, size: int) -> None:
        embedder = item.made or self._steps.embedder
        with report.timed("embed"):
            change = embed_change(item.change, item.known, embedder=embedder, stores=self._stores, names=self._names.of)
        with progress.step("persist", len(change.sources), unit="sources"):
            self._steps.before_writing()
            with report.timed("persist"):
                outcome = persist(change, self._stores)
            self._names.count(outcome)
            report.sources_added = sum(one.comparison.is_new for one in item.extracted)
            report.sources_changed = len(change.sources) - report.sources_added
            report.count(outcome.added, outcome.vanished)
            progress.count(
                sources=len(change.sources),
                chunks=outcome.added.get(Kind.CHUNK, 0),
                statements=outcome.added.get(Kind.STATEMENT, 0),
                size=size,
            )


# A thread in which one piece of work runs while its caller prepares the next.


_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class Beside(Generic[T]):
    """Runs one piece of work at a time in a thread of its own, in a copy of the caller's context.

    A context manager. Its block ends when the work has ended. Where the block fails while work runs, the error of the work
    is raised, if it has one, since it was begun first. An interrupt (KeyboardInterrupt, SystemExit) is raised as it is; then
    the work is not waited for any longer than it takes: it ends its wait for the right to write at once.

    Parameters
    ----------
    is_apart : False: the caller's own thread does the work when it begins
    """

    def __init__(self, *, is_apart: bool = True) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="hlgraph-writer") if is_apart else None
        self._running: Future[T] | None = None
        self._given_up = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Exception):
            self._given_up.set()
        try:
            other = None if self._running is None else self._running.exception()
        finally:
            self._given_up.set()
            if self._threads is not None:
                self._threads.shutdown()
        if other is None:
            return
        if isinstance(error, Exception) or error is None:
            raise other
        _LOG.warning("the change that was being written failed, too: %s", other)

    @property
    def has_failed(self) -> bool:
        """Whether the work that was begun last has ended by an error."""
        return self._running is not None and self._running.done() and self._running.exception() is not None

    def begin(self, work: Callable[[], T]) -> None:
        """Begins a piece of work; that before it has ended.

        Parameters
        ----------
        work : a function
        """
        if self._threads is None:
            result = work()
            self._running = Future()
            self._running.set_result(result)
            return
        with given_up_by(self._given_up):
            self._running = self._threads.submit(copy_context().run, work)

    def end(self) -> T:
        """Waits for the work that was begun last: its result. Raises what it raised, once."""
        if self._running is None:
            raise RuntimeError("no work was begun")
        wait([self._running])  # an interrupt of this wait leaves the work to the end of the block
        running, self._running = self._running, None
        return running.result()


class OneAtATime:
    """An embedder that two threads may call: one waits for the other.

    Parameters
    ----------
    inner : does the work
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._turn = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """That of the embedder."""
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        """That of the embedder."""
        with self._turn:
            return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the embedder."""
        with self._turn:
            return self._inner.embed(texts)

    def forget(self, texts: Sequence[str]) -> None:
        """Makes the embedder forget."""
        with self._turn:
            self._inner.forget(texts)


__all__ = [
    "BATCH_CHARACTERS",
    "Failure",
    "Looking",
    "Ready",
    "Report",
    "Steps",
    "StoredChunks",
    "batches",
    "compared",
    "extract",
    "ingest",
    "look",
    "planned",
    "ready",
    "stored_chunks",
    "write",
]
BATCH_CHARACTERS = 100_000
"""Characters of documents of one change, unless one document has more: some 200 chunks, or ten seconds of a small local model on
one core. What a killed run had not stored yet is at most so much."""
_NOTHING_HELD: Mapping[tuple[str, str], Extraction] = {}
StoredChunks: TypeAlias = dict[str, dict[str, Chunk]]
"""Chunks by id, grouped by the id of their source."""


class Looking(Protocol):
    """The parts of an ingest that find out what has to be done; :class:`Steps` has them."""

    @property
    def chunker(self) -> Chunker:
        """Cuts documents."""

    @property
    def extractor(self) -> Extractor:
        """Finds statements; only its fingerprints are asked for here."""

    @property
    def batch_characters(self) -> int:
        """Maximum number of characters of documents that are looked at together."""

    @property
    def batch_sources(self) -> int:
        """Maximum number of documents that are looked at together."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The parts of an ingest, and how much it does at a time.

    Attributes
    ----------
    chunker, extractor, embedder : do the work
    batch_characters, batch_sources : limits of one batch (default 100,000 characters, 1,000 documents)
    before_writing : called before each change is written, under the lock of the corpus; default: nothing
    """

    chunker: Chunker
    extractor: Extractor
    embedder: Embedder
    batch_characters: int = BATCH_CHARACTERS
    batch_sources: int = 1_000
    before_writing: Callable[[], object] = tuple


class Ready(NamedTuple):
    """A batch of sources that is read, chunked and extracted; to embed it and to write its change is left.

    Attributes
    ----------
    change : the change of all of them, without vectors
    known : ids of its chunks that are stored already
    extracted : its sources, with their documents and what they were compared with
    made : vectors of its texts that were computed elsewhere; the embedder of the steps computes the others
    """

    change: Change
    known: frozenset[str]
    extracted: tuple[Extracted, ...]
    made: MadeVectors | None = None


def ingest(
    items: Iterable[Document | ReadFailure], corpus: str, *, stores: Stores, steps: Steps, files: Files | None = None
) -> Report:
    """Bring the corpus to the state of these documents, batch by batch; sources not among them stay as they are.

    A failure of one source is reported and does not stop the rest. After a crash, the same call completes the work.

    Parameters
    ----------
    items : documents and read failures
    corpus : the corpus
    stores : the open stores
    steps : the parts that do the work
    files : what the items are read from; None: they are not read from files

    Returns
    -------
    Report
    """
    report = Report() if files is None else Report(files=files)
    write(
        _prepared(items, corpus, report=report, stores=stores, steps=steps),
        corpus,
        report=report,
        stores=stores,
        steps=steps,
    )
    report.problems.extend(Failure("extractions", problem) for problem in steps.extractor.problems)
    report.usage = steps.extractor.usage if isinstance(steps.extractor, Metered) else None
    return report


def write(prepared: Iterable[Ready], corpus: str, *, report: Report, stores: Stores, steps: Steps) -> None:
    """Write prepared batches, one change after the other, in order: the last steps of an ingest.

    The lock of the corpus is held once before the first batch is asked for, when changes of interrupted runs are completed,
    and then for each batch while it is written. Other writers take turns in between: what they changed of the sources of a
    batch is compared, and extracted, again.

    Where the stores are servers, a batch is written in a thread of its own while the next one is prepared: asked for, which
    runs in the thread of the caller, and embedded. At most one batch is prepared ahead.

    Parameters
    ----------
    prepared : the batches
    corpus : the corpus
    report : receives the counts
    stores : the open stores
    steps : the parts that do the work
    """
    with stores.graph.lock(corpus) as pending:
        report.resumed = resume(pending, stores, corpus=corpus)
        stats = stores.graph.stats(corpus, has_counts=False)
        check_model(stats, steps.embedder)
        if not stats:
            check_left(corpus, stores)
        before = record_counts(corpus, stores)
    names = Names(stores, stats[0].version if stats else 0, before.get(Kind.ENTITY, 0))
    with Beside[Turn](is_apart=stores.is_remote) as beside:
        held = replace(steps, embedder=OneAtATime(steps.embedder)) if stores.is_remote else steps
        writer = Writer(corpus, names=names, stores=stores, steps=held)
        _Batches(corpus, report, stores, held, writer, beside).write(prepared)
    with report.timed("persist"):
        _calibrate(corpus, names, since=stats[0].calibration if stats else None, stores=stores)
    note_kept(report, before)


@dataclass(frozen=True, slots=True)
class _Batches:
    """The two stages of an ingest: while one batch is written, the next one is prepared, and no more than that one.

    Attributes
    ----------
    corpus, stores, steps : see :func:`write`
    report : receives the counts; this thread alone writes to it
    writer : writes a batch
    beside : where it does so
    """

    corpus: str
    report: Report
    stores: Stores
    steps: Steps
    writer: Writer
    beside: Beside[Turn]

    def write(self, prepared: Iterable[Ready]) -> None:
        """Write all batches, in order."""
        before: Ready | None = None
        for item in prepared:
            size = self.report.files.size
            if self.beside.has_failed:  # nothing more is paid for
                self._end(before)
            made = self._embedded(item, before)
            self._end(before)
            self.beside.begin(partial(self.writer.write, made, size=size))
            before = made
        self._end(before)

    def _end(self, item: Ready | None) -> None:
        """Wait until a batch is written. Where another writer overtook it, prepare it again, and write it here."""
        if item is None:
            return
        turn = self.beside.end()
        self._note(item, turn)
        left = item
        while not turn.is_written:
            unchanged = self.report.sources_unchanged
            again = _prepared_again(left, self.corpus, report=self.report, stores=self.stores, steps=self.steps)
            size = self.report.files.size
            progress.count(sources=self.report.sources_unchanged - unchanged, size=size)
            if again is None:
                return
            left = self._embedded(again, left)
            turn = self.writer.write(left, size=size)
            self._note(left, turn)

    def _note(self, item: Ready, turn: Turn) -> None:
        self.report.include(turn.report)
        for source in item.change.sources if turn.is_written else ():
            self.report.files.store(source.uri, is_new=True)

    def _embedded(self, item: Ready, before: Ready | None) -> Ready:
        """A batch with its vectors. Those of the batch before, which may not be stored yet, are not made again."""
        embedder: Embedder = self.steps.embedder
        for made in (None if before is None else before.made, item.made):
            embedder = embedder if made is None else made.with_rest(embedder)
        with self.report.timed("embed"):
            made = made_vectors(item.change, item.known, embedder=embedder, stores=self.stores)
        return item._replace(made=made.with_rest(self.steps.embedder))


def _calibrate(corpus: str, names: Names, *, since: Calibration | None, stores: Stores) -> None:
    """End an ingest with the scale of the cosines of the whole corpus, where it has grown enough since."""
    if not is_due(since, names.number):
        return
    held = stores.graph.stats(corpus, has_counts=False)[0].calibration
    if held is not None and held.names == names.number:  # the last change has measured all of it
        return
    with stores.graph.lock(corpus) as pending:
        resume(pending, stores, corpus=corpus)
        number = names.of(stores.graph.stats(corpus, has_counts=False)[0])
        last = calibrating(corpus, number, since=since, stores=stores)
        if last is not None:
            persist(last, stores)


def batches(
    items: Iterable[Document | ReadFailure], report: Report, *, seen: set[str], steps: Looking
) -> Iterator[list[Document]]:
    """Documents in batches of bounded size.

    Parameters
    ----------
    items : documents and read failures
    report : receives the failures, and uris that come twice
    seen : the uris of this run so far; new ones are added
    steps : the limits of a batch

    Returns
    -------
    Iterator of lists of Document
    """
    batch: list[Document] = []
    size = 0
    iterator = iter(items)
    while True:
        with report.timed("read"):
            item = next(iterator, None)
        if item is None:
            break
        if isinstance(item, ReadFailure):
            report.failed.append(Failure(item.uri, str(item.error), item.error.extra))
            continue
        refused = inadmissible(item)
        if refused is None and item.uri in seen:
            refused = ReadError(item.uri, "it was read before in this run", "give each source one uri")
        if refused is not None:
            report.failed.append(Failure(item.uri, str(refused)))
            report.files.fail(item.uri)
            continue
        seen.add(item.uri)
        report.warnings.extend(Failure(item.uri, warning) for warning in item.warnings)
        batch.append(item)
        size += len(item.text)
        if size >= steps.batch_characters or len(batch) >= steps.batch_sources:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _prepared(
    items: Iterable[Document | ReadFailure], corpus: str, *, report: Report, stores: Stores, steps: Steps
) -> Iterator[Ready]:
    """The first steps of an ingest, batch by batch."""
    unchanged = report.sources_unchanged
    for changed in _changed(items, corpus, report=report, stores=stores, steps=steps):
        progress.count(sources=report.sources_unchanged - unchanged, size=None if changed else report.files.size)
        if changed:
            stored = stored_chunks(changed, corpus, report=report, stores=stores)
            plan = planned(changed, stored, report=report, steps=steps)
            yield ready(corpus, extract(plan, report, extractor=steps.extractor), report=report)
        unchanged = report.sources_unchanged


def _changed(
    items: Iterable[Document | ReadFailure], corpus: str, *, report: Report, stores: Stores, steps: Looking
) -> Iterator[list[Comparison]]:
    """The sources of each batch that are new or changed."""
    reading = batches(items, report, seen=set(), steps=steps)
    while True:
        with progress.step("read", unit="files"):
            batch = next(reading, None)
        if batch is None:
            break
        progress.take(report.files.size)
        with progress.step("compare", len(batch), unit="sources"):
            changed = compared(batch, corpus, report=report, stores=stores, steps=steps)
        yield changed


def _prepared_again(item: Ready, corpus: str, *, report: Report, stores: Stores, steps: Steps) -> Ready | None:
    """A batch that another writer overtook, compared with what is stored now; None if nothing is left to change.

    Chunks that were extracted are not extracted again.
    """
    documents = [one.comparison.document for one in item.extracted]
    changed = compared(documents, corpus, report=report, stores=stores, steps=steps)
    if not changed:
        return None
    stored = stored_chunks(changed, corpus, report=report, stores=stores)
    held = {
        (chunk.id, chunk.fingerprint): found
        for one in item.extracted
        for (chunk, _), found in zip(one.plan.to_extract, one.extractions, strict=True)
    }
    plan = planned(changed, stored, report=report, steps=steps)
    return ready(corpus, extract(plan, report, extractor=steps.extractor, held=held), report=report)


def look(
    items: Iterable[Document | ReadFailure], corpus: str, *, report: Report, stores: Stores, steps: Looking
) -> Iterator[Extracted]:
    """What an ingest of these documents would extract, source by source: its first steps, which change nothing.

    Parameters
    ----------
    items : documents and read failures
    corpus : the corpus
    report : counts sources that did not change or failed
    stores : the open stores
    steps : the parts that look

    Returns
    -------
    Iterator of Extracted
    """
    for changed in _changed(items, corpus, report=report, stores=stores, steps=steps):
        stored = stored_chunks(changed, corpus, report=report, stores=stores)
        yield from planned(changed, stored, report=report, steps=steps)


def planned(changed: Sequence[Comparison], stored: StoredChunks, *, report: Report, steps: Looking) -> list[Extracted]:
    """Cut these sources, and decide which of their chunks are to be extracted. No store is asked.

    Parameters
    ----------
    changed : sources that are new or changed
    stored : their stored chunks, see :func:`stored_chunks`
    report : receives the seconds
    steps : the chunker and the extractor

    Returns
    -------
    list of Extracted
        Without extractions.
    """
    found: list[Extracted] = []
    for item in changed:
        with report.timed("chunk"):
            spans = steps.chunker.chunk(item.document) if item.has_new_text else []
        with report.timed("resolve"):
            plan = (
                plan_chunks(item, spans, stored=stored.get(item.source.id, {}), extractor=steps.extractor)
                if item.has_new_text
                else None
            )
        found.append(Extracted(item, plan or ChunkPlan(), ()))
    return found


def compared(
    batch: Sequence[Document], corpus: str, *, report: Report, stores: Stores, steps: Looking
) -> list[Comparison]:
    """The documents whose sources are new or changed; the others are counted.

    Parameters
    ----------
    batch : documents
    corpus : the corpus
    report : counts unchanged sources
    stores : the open stores
    steps : their fingerprints decide, too

    Returns
    -------
    list of Comparison
    """
    with report.timed("resolve"):
        names = [name for document in batch for name in source_ids(corpus, document.uri)]
        found = stores.graph.records(Kind.SOURCE, names, scope=Scope(corpus))
        stored = {record.uri: record for record in found if isinstance(record, Source)}
        held = () if stored else stores.graph.stats(corpus, has_counts=False)
        scheme = held[0].ids if held else scheme_of(corpus, stored.values())
        processing = (steps.chunker.fingerprint, steps.extractor.fingerprint)
        pairs = [
            compare(document, corpus, stored=stored.get(document.uri), processing=processing, scheme=scheme)
            for document in batch
        ]
    changed = [item for item in pairs if item is not None]
    for document, item in zip(batch, pairs, strict=True):
        if item is None:
            report.files.store(document.uri, is_new=False)
    report.sources_unchanged += len(batch) - len(changed)
    return changed


def stored_chunks(changed: Sequence[Comparison], corpus: str, *, report: Report, stores: Stores) -> StoredChunks:
    """The stored chunks of changed sources.

    Parameters
    ----------
    changed : the sources
    corpus : the corpus
    report : receives the seconds
    stores : the open stores

    Returns
    -------
    StoredChunks
    """
    found: StoredChunks = {}
    known = tuple(item.source.id for item in changed if not item.is_new)
    if known:
        with report.timed("resolve"):
            for record in stores.graph.find(Kind.CHUNK, Scope(corpus, sources=known)):
                if isinstance(record, Chunk):
                    found.setdefault(record.source_id, {})[record.id] = record
    return found


def extract(
    planned: Sequence[Extracted],
    report: Report,
    *,
    extractor: Extractor,
    held: Mapping[tuple[str, str], Extraction] = _NOTHING_HELD,
) -> list[Extracted]:
    """Extract the chunks that need it.

    Parameters
    ----------
    planned : sources with their chunks
    report : receives the chunks that could not be extracted, as problems
    extractor : does the work
    held : extractions that were made before, by the id and the fingerprint of their chunk; default none

    Returns
    -------
    list of Extracted
        With one extraction for each chunk that needed one.

    Raises
    ------
    What ends an extraction by a chat model: see :class:`hlgraph.extract.chat.ChatExtractor`.
    """
    asked = [pair for item in planned for pair in item.plan.to_extract]
    inputs = [context for chunk, context in asked if (chunk.id, chunk.fingerprint) not in held]
    extracted: list[Extracted] = []
    with report.timed("extract"), progress.step("extract", len(inputs), unit="chunks"):
        results = iter(extractor.extract(inputs) if inputs else [])
    for item in planned:
        own: list[Extraction] = []
        for chunk, _ in item.plan.to_extract:
            found = held.get((chunk.id, chunk.fingerprint))
            if found is None:
                found = next(results)
                if found.problem:
                    report.problems.append(Failure(item.comparison.source.uri, found.problem))
            own.append(found)
        extracted.append(Extracted(item.comparison, item.plan, tuple(own)))
    return extracted


def ready(corpus: str, extracted: Sequence[Extracted], *, report: Report) -> Ready:
    """Assemble the change of these sources.

    Parameters
    ----------
    corpus : the corpus
    extracted : its sources
    report : receives the seconds

    Returns
    -------
    Ready
    """
    with report.timed("resolve"):
        change = assemble(corpus, extracted)
    known = frozenset(name for item in extracted for name in item.plan.known)
    return Ready(change, known, tuple(extracted))
