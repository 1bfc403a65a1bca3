"""The steps of an ingest: read, chunk, extract, resolve, index, persist.

:func:`ingest` runs them batch by batch. :func:`batches`, :func:`compared`, :func:`planned`, :func:`extract` and
:func:`ready` prepare a batch, and :func:`write` writes prepared batches. With servers it writes one batch in another thread
(:class:`BackgroundWorker`) while the next one is prepared. :func:`look` runs only the steps that change nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.change import Change, LargeChange, Outcome, Parts
from hlgraph.chunk import Chunker
from hlgraph.errors import AccessError, HoldError, ReadError
from hlgraph.extract import Extractor, Metered
from hlgraph.ids import scheme_of, source_ids
from hlgraph.index.embed import (
    PrecomputedVectors,
    calibrating,
    check_model,
    embed_change,
    embed_part,
    is_due,
    precomputed_vectors,
)
from hlgraph.ingest.report import Failure, Report, note_kept, record_counts
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import Extracted, assemble, assemble_parts
from hlgraph.persist.compare import ChunkPlan, Comparison, chunk_plans, compare, plan_chunks
from hlgraph.persist.journal import check_left, persist, resume
from hlgraph.progress import Work
from hlgraph.read import Files, ReadFailure, inadmissible, unheard_groups
from hlgraph.records import Calibration, Chunk, Document, Extraction, Kind, Source
from hlgraph.stores.batches import filled
from hlgraph.stores.concurrency import given_up_by
from hlgraph.stores.protocols import CorpusStats, Scope, Stores, by_id, by_source, read_records
from hlgraph.text import ACL
from hlgraph.where import Caller

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
BATCH_CHARACTERS = 100_000
"""Largest number of characters of documents per change, unless a single document has more: about 200 chunks, or ten seconds of a
small local model on one core. A killed run loses at most this much work."""
BATCH_SOURCES = 1_000
"""Maximum number of documents per change."""
_LARGE = 1.5
"""A batch with this many times the characters of a batch, because of one document, is prepared and written in parts."""
_NONE_KNOWN: Mapping[tuple[str, str], Extraction] = {}
StoredChunks: TypeAlias = dict[str, dict[str, Chunk]]
"""Chunks by id, grouped by the id of their source."""


@dataclass(frozen=True, slots=True)
class LookSteps:
    """The parts of an ingest that determine what has to be done.

    Attributes
    ----------
    chunker : chunks documents
    extractor : extracts statements; to determine what has to be done, only its fingerprints are used
    acl : groups of sources that name none and have none; default none
    seen_by : groups that a stored source must name to be replaced; default: any source is
    """

    chunker: Chunker
    extractor: Extractor
    acl: tuple[str, ...] | None = field(default=None, kw_only=True)
    seen_by: tuple[str, ...] | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Steps(LookSteps):
    """All parts of an ingest, and the size of its batches.

    Attributes
    ----------
    chunker, extractor, embedder : do the work
    batch_characters, batch_sources : limits of one batch (default 100,000 characters, 1,000 documents)
    before_writing : called before each change is written, under the lock of the corpus; default does nothing
    """

    embedder: Embedder
    batch_characters: int = field(default_factory=lambda: BATCH_CHARACTERS)
    batch_sources: int = BATCH_SOURCES
    before_writing: Callable[[], object] = tuple


class Ready(NamedTuple):
    """A batch of sources that is read, chunked and extracted. It remains to embed it and to write its change.

    Attributes
    ----------
    change : the change of all its sources, without vectors
    known : ids of its chunks that are already stored
    extracted : its sources, with their documents and the stored states that they were compared with
    vectors : precomputed vectors of its texts; the embedder of the steps computes the others. None for a change in parts
    work : its share of the ingest, for progress
    """

    change: Change
    known: frozenset[str]
    extracted: tuple[Extracted, ...]
    vectors: PrecomputedVectors | None = None
    work: Work | None = None


class Large(NamedTuple):
    """A batch of sources that is too large for one change in memory, and is prepared part by part; see :class:`Ready`.

    Attributes
    ----------
    changed : its sources
    stored : their stored chunks
    work : its share of the ingest, for progress
    """

    changed: tuple[Comparison, ...]
    stored: StoredChunks
    work: Work


def ingest(
    items: Iterable[Document | ReadFailure], corpus: str, *, stores: Stores, steps: Steps, files: Files | None = None
) -> Report:
    """Bring the corpus to the state of these documents, batch by batch. Other sources stay unchanged.

    A failure of one source is reported and does not stop the rest. After a crash, the same call completes the work.

    Parameters
    ----------
    items : documents and read failures
    corpus : the corpus
    stores : the open stores
    steps : the parts that do the work
    files : the files that the items are read from; None if they do not come from files

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


def write(prepared: Iterable[Ready | Large], corpus: str, *, report: Report, stores: Stores, steps: Steps) -> None:
    """Write prepared batches, one change after the other, in order: the last steps of an ingest.

    The corpus is locked once before the first batch, to complete changes of interrupted runs, and then for each batch while
    it is written. Other writers take turns in between. If they changed sources of a batch, these are compared and extracted
    again.

    If the stores are servers, a batch is written in a separate thread while the caller's thread takes the next one from
    ``prepared`` and embeds it. At most one batch is prepared ahead.

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
    with BackgroundWorker[Turn](is_apart=stores.graph.is_remote) as worker:
        shared = replace(steps, embedder=OneAtATime(steps.embedder)) if stores.graph.is_remote else steps
        _Batches(corpus, report, stores, shared, names, worker).write(prepared)
    with report.timed("persist"):
        _calibrate(corpus, names, since=stats[0].calibration if stats else None, stores=stores)
    note_kept(report, before)


@dataclass(frozen=True, slots=True)
class _Batches:
    """The two stages of an ingest: while one batch is written, only the next one is prepared.

    Attributes
    ----------
    corpus, stores, steps : see :func:`write`
    report : receives the counts; only this thread writes to it
    names : the number of names of the corpus; only the thread that writes a batch uses it
    worker : the thread in which batches are written
    """

    corpus: str
    report: Report
    stores: Stores
    steps: Steps
    names: Names
    worker: BackgroundWorker[Turn]

    def write(self, prepared: Iterable[Ready | Large]) -> None:
        """Write all batches, in order."""
        before: Ready | None = None
        for batch in prepared:
            size = self.report.files.size
            if self.worker.has_failed:  # stop before paying for more
                self._end(before)
            embedded = self._embedded(batch, before)
            self._end(before)
            self.worker.begin(partial(self._write, embedded, size=size))
            before = embedded
        self._end(before)

    def _end(self, batch: Ready | None) -> None:
        """Wait until a batch is written. If another writer overtook it, prepare it again and write it here."""
        if batch is None:
            return
        turn = self.worker.end()
        self._note(batch, turn)
        left = batch
        while not turn.is_written:
            unchanged = self.report.sources_unchanged
            again = _prepared_again(left, self.corpus, report=self.report, stores=self.stores, steps=self.steps)
            size = self.report.files.size
            progress.count(sources=self.report.sources_unchanged - unchanged, size=size)
            if again is None:
                return
            left = self._embedded(again, left)
            turn = self._write(left, size=size)
            self._note(left, turn)

    def _note(self, batch: Ready, turn: Turn) -> None:
        self.report.include(turn.report)
        for source in batch.change.sources if turn.is_written else ():
            self.report.files.store(source.uri, is_new=True)

    def _embedded(self, batch: Ready | Large, before: Ready | None) -> Ready:
        """A batch with its vectors. Reuses the vectors of the previous batch, which may not be stored yet."""
        if isinstance(batch, Large):
            batch = _in_parts(batch, self.corpus, report=self.report, stores=self.stores, steps=self.steps)
        if isinstance(batch.change, LargeChange):
            return batch
        embedder: Embedder = self.steps.embedder
        for vectors in (None if before is None else before.vectors, batch.vectors):
            embedder = embedder if vectors is None else vectors.with_rest(embedder)
        with self.report.timed("embed"):
            vectors = precomputed_vectors(
                batch.change, batch.known, embedder=embedder, stores=self.stores, work=batch.work
            )
        return batch._replace(vectors=vectors.with_rest(self.steps.embedder))

    def _write(self, batch: Ready, *, size: int) -> Turn:
        """Write a batch with its vectors under the lock of the corpus, unless another writer has overtaken it.

        Parameters
        ----------
        batch : the batch
        size : size of all files and documents up to its last one, for progress
        """
        report = Report()
        with self.stores.graph.lock(self.corpus) as pending:
            if pending:
                report.resumed = resume(pending, self.stores, corpus=self.corpus)
            is_current = self._is_current(batch)
            if is_current:
                self._publish(batch, report, size=size)
        return Turn(report, is_current)

    def _is_current(self, batch: Ready) -> bool:
        """Whether the stored sources of a batch are still those that it was compared with, and no hold was added on them."""
        wanted = {one.comparison.source.id: one.comparison.stored for one in batch.extracted}
        current = read_records(self.stores.graph, Source, ids=list(wanted), scope=Scope(self.corpus))
        if any(current.get(name) != stored for name, stored in wanted.items()):
            return False
        return not _refused([one.comparison for one in batch.extracted], self.corpus, stores=self.stores)

    def _publish(self, batch: Ready, report: Report, *, size: int) -> None:
        embedder = batch.vectors or self.steps.embedder
        with report.timed("embed"):
            change = embed_change(batch.change, batch.known, embedder=embedder, stores=self.stores, names=self.names.of)
        number, unit = len(change.sources), "sources"
        if isinstance(change, LargeChange):
            number, unit = number + change.content.steps, "parts"
        with progress.step("persist", number, unit=unit, work=batch.work):
            self.steps.before_writing()
            with report.timed("persist"):
                outcome = persist(change, self.stores)
            self.names.count(outcome)
            report.sources_added = sum(one.comparison.is_new for one in batch.extracted)
            report.sources_changed = len(change.sources) - report.sources_added
            report.count(outcome.added, outcome.vanished)
            progress.count(
                sources=len(change.sources),
                chunks=outcome.added.get(Kind.CHUNK, 0),
                statements=outcome.added.get(Kind.STATEMENT, 0),
                size=size,
            )


def _calibrate(corpus: str, names: Names, *, since: Calibration | None, stores: Stores) -> None:
    """End an ingest with the scale of the cosines of the whole corpus, if it has grown enough."""
    if not is_due(since, names.number):
        return
    calibration = stores.graph.stats(corpus, has_counts=False)[0].calibration
    if calibration is not None and calibration.names == names.number:
        return  # the last change has already measured the whole corpus
    with stores.graph.lock(corpus) as pending:
        resume(pending, stores, corpus=corpus)
        number = names.of(stores.graph.stats(corpus, has_counts=False)[0])
        last = calibrating(corpus, number, since=since, stores=stores)
        if last is not None:
            persist(last, stores)


def batches(
    items: Iterable[Document | ReadFailure],
    report: Report,
    *,
    seen: set[str],
    characters: int = BATCH_CHARACTERS,
    sources: int = BATCH_SOURCES,
) -> Iterator[list[Document]]:
    """Documents in batches of bounded size.

    Parameters
    ----------
    items : documents and read failures
    report : receives the failures, including repeated uris
    seen : the uris of this run so far, which receives new ones
    characters, sources : limits of a batch

    Returns
    -------
    Iterator of lists of Document
    """
    batch: list[Document] = []
    size = 0
    iterator = iter(items)
    while True:
        with report.timed("read"):
            entry = next(iterator, None)
        if entry is None:
            break
        if isinstance(entry, ReadFailure):
            report.failed.append(Failure(entry.uri, str(entry.error), entry.error.extra))
            continue
        refused = inadmissible(entry)
        if refused is None and entry.uri in seen:
            refused = ReadError(entry.uri, "it was read before in this run", "give each source one uri")
        if refused is not None:
            report.failed.append(Failure(entry.uri, str(refused)))
            report.files.fail(entry.uri)
            continue
        seen.add(entry.uri)
        report.warnings.extend(Failure(entry.uri, warning) for warning in (*entry.warnings, *unheard_groups(entry)))
        batch.append(entry)
        size += len(entry.text)
        if size >= characters or len(batch) >= sources:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _prepared(
    items: Iterable[Document | ReadFailure], corpus: str, *, report: Report, stores: Stores, steps: Steps
) -> Iterator[Ready | Large]:
    """The first steps of an ingest, batch by batch."""
    unchanged, start = report.sources_unchanged, report.files.size
    limits = {"characters": steps.batch_characters, "sources": steps.batch_sources}
    documents = batches(items, report, seen=set(), **limits)
    for changed in _changed(documents, corpus, report=report, stores=stores, steps=steps):
        end = report.files.size
        progress.count(sources=report.sources_unchanged - unchanged, size=None if changed else end)
        if changed:
            stored = stored_chunks(changed, corpus, report=report, stores=stores)
            yield _prepare(changed, stored, corpus, report=report, steps=steps, work=Work(start, end))
        unchanged, start = report.sources_unchanged, end


def _prepare(
    changed: Sequence[Comparison], stored: StoredChunks, corpus: str, *, report: Report, steps: Steps, work: Work
) -> Ready | Large:
    """Plan and extract a batch; a large one is prepared later, part by part."""
    size = sum(len(one.document.text) for one in changed if one.has_new_text)
    if size > _LARGE * steps.batch_characters:
        return Large(tuple(changed), stored, work)
    plan = planned(changed, stored, report=report, steps=steps)
    extracted = extract(plan, report, extractor=steps.extractor, work=work)
    return ready(corpus, extracted, report=report)._replace(work=work)


def _in_parts(batch: Large, corpus: str, *, report: Report, stores: Stores, steps: Steps) -> Ready:
    """Prepare a large batch: each part is chunked, extracted, embedded, and kept on disk until all are written."""
    parts = Parts(stores.graph.scratch_file)
    known, failed, removed = set[str](), set[str](), list[str]()
    taken, total = 0, sum(len(one.document.text) for one in batch.changed)
    groups = _groups(batch, report, steps=steps)
    group, following = next(groups), next(groups, None)
    if following is None:  # few chunks of a large document changed
        extracted = extract(group, report, extractor=steps.extractor, work=batch.work)
        return ready(corpus, extracted, report=report)._replace(work=batch.work)
    while group:
        before, taken = (
            taken,
            min(total, taken + sum(len(chunk.text) for one in group for chunk, _ in one.plan.to_extract)),
        )
        work = batch.work._replace(begin=before / total, stop=taken / total if following else 1.0)
        extracted = extract(group, report, extractor=steps.extractor, work=work)
        part = ready(corpus, extracted, report=report)
        with report.timed("embed"):
            embed_part(part.change, part.known, parts=parts, embedder=steps.embedder, stores=stores, work=work)
        known |= part.known
        removed += part.change.removed_chunks
        failed |= {one.comparison.source.id for one in extracted if any(item.is_failed for item in one.extractions)}
        group, following = following or [], next(groups, None)
    change = assemble_parts(corpus, batch.changed, content=parts, failed=failed, removed=removed)
    bare = tuple(Extracted(comparison, ChunkPlan(), ()) for comparison in batch.changed)
    return Ready(change, frozenset(known), bare, work=batch.work)


def _groups(batch: Large, report: Report, *, steps: Steps) -> Iterator[list[Extracted]]:
    """The sources of a large batch with their chunks, without extractions, in groups of the size of a batch; at least one."""
    most = steps.batch_characters

    def plans(comparison: Comparison) -> Iterator[ChunkPlan]:
        if not comparison.has_new_text:
            return iter([ChunkPlan()])
        with report.timed("chunk"):
            spans = steps.chunker.chunk(comparison.document)
        own = batch.stored.get(comparison.source.id, {})
        return chunk_plans(comparison, spans, stored=own, extractor=steps.extractor, characters=most)

    parts = (Extracted(one, plan, ()) for one in batch.changed for plan in plans(one))
    return filled(parts, most, measured=lambda part: sum(len(chunk.text) for chunk, _ in part.plan.to_extract))


def _changed(
    reading: Iterator[list[Document]], corpus: str, *, report: Report, stores: Stores, steps: LookSteps
) -> Iterator[list[Comparison]]:
    """The sources of each batch that are new or changed."""
    while True:
        with progress.step("read", unit="files"):
            batch = next(reading, None)
        if batch is None:
            break
        with progress.step("compare", len(batch), unit="sources"):
            changed = compared(batch, corpus, report=report, stores=stores, steps=steps)
        yield changed


def _prepared_again(batch: Ready, corpus: str, *, report: Report, stores: Stores, steps: Steps) -> Ready | Large | None:
    """A batch that another writer overtook, compared with the current state; None if nothing is left to change.

    Chunks are not extracted twice, except those of a change in parts, whose extractions are not in memory.
    """
    documents = [one.comparison.document for one in batch.extracted]
    changed = compared(documents, corpus, report=report, stores=stores, steps=steps)
    if not changed:
        return None
    stored = stored_chunks(changed, corpus, report=report, stores=stores)
    if isinstance(batch.change, LargeChange) and batch.work is not None:
        return Large(tuple(changed), stored, batch.work)
    known = {
        (chunk.id, chunk.fingerprint): extraction
        for one in batch.extracted
        for (chunk, _), extraction in zip(one.plan.to_extract, one.extractions, strict=True)
    }
    plan = planned(changed, stored, report=report, steps=steps)
    return ready(corpus, extract(plan, report, extractor=steps.extractor, known=known), report=report)


def look(
    items: Iterable[Document | ReadFailure], corpus: str, *, report: Report, stores: Stores, steps: LookSteps
) -> Iterator[Extracted]:
    """The chunks that an ingest of these documents would extract, source by source. Changes nothing.

    Parameters
    ----------
    items : documents and read failures
    corpus : the corpus
    report : counts sources that did not change or failed
    stores : the open stores
    steps : the chunker and the extractor

    Returns
    -------
    Iterator of Extracted
    """
    documents = batches(items, report, seen=set())
    for changed in _changed(documents, corpus, report=report, stores=stores, steps=steps):
        stored = stored_chunks(changed, corpus, report=report, stores=stores)
        yield from planned(changed, stored, report=report, steps=steps)


def planned(
    changed: Sequence[Comparison], stored: StoredChunks, *, report: Report, steps: LookSteps
) -> list[Extracted]:
    """Chunk these sources and decide which of their chunks to extract. Reads no store.

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
    result: list[Extracted] = []
    for comparison in changed:
        plan = ChunkPlan()
        if comparison.has_new_text:
            with report.timed("chunk"):
                spans = steps.chunker.chunk(comparison.document)
            with report.timed("resolve"):
                own = stored.get(comparison.source.id, {})
                plan = plan_chunks(comparison, spans, stored=own, extractor=steps.extractor)
        result.append(Extracted(comparison, plan, ()))
    return result


def compared(
    batch: Sequence[Document], corpus: str, *, report: Report, stores: Stores, steps: LookSteps
) -> list[Comparison]:
    """The documents whose sources are new or changed; the others are counted.

    Parameters
    ----------
    batch : documents
    corpus : the corpus
    report : counts unchanged sources
    stores : the open stores
    steps : their fingerprints also decide

    Returns
    -------
    list of Comparison
    """
    with report.timed("resolve"):
        uris = dict.fromkeys(document.uri for document in batch)
        names = [name for uri in dict.fromkeys((*uris, *map(_whole, uris))) for name in source_ids(corpus, uri)]
        sources = read_records(stores.graph, Source, ids=names, scope=Scope(corpus)).values()
        groups = {source.uri: source.metadata[ACL] for source in sources if ACL in source.metadata}
        stored = {source.uri: source for source in sources if source.uri in uris}
        hidden = _hidden(stored, steps.seen_by)
        batch = [document for document in batch if document.uri not in hidden]
        stats = () if stored else stores.graph.stats(corpus, has_counts=False)
        scheme = stats[0].ids if stats else scheme_of(corpus, stored.values())
        processing = (steps.chunker.fingerprint, steps.extractor.fingerprint)
        pairs = [
            compare(
                document,
                corpus,
                stored=stored.get(document.uri),
                processing=processing,
                scheme=scheme,
                acl=groups[whole] if (whole := _whole(document.uri)) in groups else steps.acl,
            )
            for document in batch
        ]
        changed = [comparison for comparison in pairs if comparison is not None]
        refused = {**hidden, **_refused(changed, corpus, stores=stores)}
    for document, comparison in zip(batch, pairs, strict=True):
        if comparison is None:
            report.files.store(document.uri, is_new=False)
    report.sources_unchanged += len(batch) - len(changed)
    for uri, error in refused.items():
        report.failed.append(Failure(uri, str(error)))
        report.files.fail(uri)
    return [comparison for comparison in changed if comparison.document.uri not in refused]


def _whole(uri: str) -> str:
    """The uri of a file whose part a source is: what was read as one source may be read as parts once it has grown."""
    return uri.partition("#")[0]


def _hidden(stored: Mapping[str, Source], seen_by: Sequence[str] | None) -> dict[str, AccessError]:
    """The stored sources that a writer in these groups does not see, by uri, each with the reason."""
    caller = Caller(operates=True) if seen_by is None else Caller.of(seen_by)
    why = "a source of this name has groups that you are not in; choose another name"
    hidden = [uri for uri, source in stored.items() if not caller.sees(source.metadata.get(ACL))]
    return {uri: AccessError(f"{uri}: {why}") for uri in hidden}


def _refused(changed: Sequence[Comparison], corpus: str, *, stores: Stores) -> dict[str, HoldError]:
    """The edits that a hold refuses, by uri. Reads no store if no source is stored yet."""
    edits = [(comparison.document, comparison.stored) for comparison in changed if comparison.stored is not None]
    if not edits:
        return {}
    from hlgraph.ingest.delete import refused_edits

    return refused_edits(edits, corpus, stores=stores)


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
    known = tuple(comparison.source.id for comparison in changed if not comparison.is_new)
    if not known:
        return {}
    with report.timed("resolve"):
        chunks = by_source(stores.graph.find(Kind.CHUNK, Scope(corpus, sources=known)), Chunk)
    return {source: by_id(own, Chunk) for source, own in chunks.items()}


def extract(
    planned: Sequence[Extracted],
    report: Report,
    *,
    extractor: Extractor,
    known: Mapping[tuple[str, str], Extraction] = _NONE_KNOWN,
    work: Work | None = None,
) -> list[Extracted]:
    """Extract the chunks that need it.

    Parameters
    ----------
    planned : sources with their chunks
    report : receives the chunks that could not be extracted, as problems, and counts of what was left out
    extractor : does the work
    known : earlier extractions, by id and fingerprint of their chunk; default none
    work : the share of the ingest that this is, for progress

    Returns
    -------
    list of Extracted
        With one extraction for each chunk that needed one.

    Raises
    ------
    The errors of :class:`hlgraph.extract.chat.ChatExtractor`.
    """
    asked = [pair for source in planned for pair in source.plan.to_extract]
    inputs = [context for chunk, context in asked if (chunk.id, chunk.fingerprint) not in known]
    extracted: list[Extracted] = []
    with report.timed("extract"), progress.step("extract", len(inputs), unit="chunks", work=work):
        results = iter(extractor.extract(inputs) if inputs else [])
    for source in planned:
        own: list[Extraction] = []
        for chunk, _ in source.plan.to_extract:
            extraction = known.get((chunk.id, chunk.fingerprint))
            if extraction is None:
                extraction = next(results)
                report.dropped += extraction.dropped
                report.ungrounded += extraction.ungrounded
                if extraction.problem:
                    report.problems.append(Failure(source.comparison.source.uri, extraction.problem))
            own.append(extraction)
        extracted.append(Extracted(source.comparison, source.plan, tuple(own)))
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
    known = frozenset(name for source in extracted for name in source.plan.known)
    return Ready(change, known, tuple(extracted))


# Writing: each batch is one change under the lock of the corpus.


@dataclass(slots=True)
class Names:
    """The number of entity names of a corpus, counted again after another writer.

    Attributes
    ----------
    stores : the open stores
    version : the version of the corpus that ``number`` belongs to
    number : the number of names
    """

    stores: Stores
    version: int
    number: int

    def of(self, stats: CorpusStats) -> int:
        """The number of names in a corpus with these statistics. The caller must hold the lock of the corpus."""
        if stats.version != self.version:
            counts = record_counts(stats.corpus, self.stores)
            self.version, self.number = stats.version, counts.get(Kind.ENTITY, 0)
        return self.number

    def count(self, outcome: Outcome) -> None:
        """Add the outcome of a published change."""
        kind = Kind.ENTITY.value
        self.version += 1
        self.number += outcome.added.get(kind, 0) - len(outcome.vanished.get(kind, ()))


class Turn(NamedTuple):
    """The result of writing one batch.

    Attributes
    ----------
    report : the counts of the change, if it was written, and the seconds
    is_written : False if another writer changed its sources after it was compared; then nothing was written
    """

    report: Report
    is_written: bool


# A thread that runs one piece of work while its caller prepares the next.


class BackgroundWorker(Generic[T]):
    """Runs one piece of work at a time in its own thread, in a copy of the caller's context.

    A context manager that waits for the work at the end of its block. If the block fails while work runs and the work fails,
    too, the error of the work is raised, because it started first. An interrupt (KeyboardInterrupt, SystemExit) is raised
    unchanged, and the work then stops waiting for the write lock at once.

    Parameters
    ----------
    is_apart : if False, :meth:`begin` does the work in the caller's own thread
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
        """Whether the last piece of work has failed."""
        return self._running is not None and self._running.done() and self._running.exception() is not None

    def begin(self, work: Callable[[], T]) -> None:
        """Start work. The previous piece must have finished.

        Parameters
        ----------
        work : the function to run
        """
        if self._threads is None:
            result = work()
            self._running = Future()
            self._running.set_result(result)
            return
        with given_up_by(self._given_up):
            self._running = self._threads.submit(copy_context().run, work)

    def end(self) -> T:
        """Wait for the last piece of work and return its result. Raises its error, once."""
        if self._running is None:
            raise RuntimeError("no work was begun")
        wait([self._running])  # if this wait is interrupted, __exit__ handles the work
        running, self._running = self._running, None
        return running.result()


class OneAtATime:
    """An embedder for two threads: one call waits for the other.

    Parameters
    ----------
    inner : the wrapped embedder
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._turn = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """The wrapped embedder's fingerprint."""
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        """The wrapped embedder's vector length."""
        with self._turn:
            return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The wrapped embedder's vectors."""
        with self._turn:
            return self._inner.embed(texts)

    def forget(self, texts: Sequence[str]) -> None:
        """Delete texts from the wrapped embedder's cache."""
        with self._turn:
            self._inner.forget(texts)
