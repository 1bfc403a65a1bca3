"""The way of the data as a list of steps: read, chunk, extract, resolve, index, persist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from hlgraph import progress
from hlgraph.change import Change, Outcome
from hlgraph.chunk import Chunker
from hlgraph.errors import ReadError
from hlgraph.extract import Extractor, Metered
from hlgraph.ids import source_id
from hlgraph.index import MadeVectors, calibrating, check_model, embed_change, is_due, made_vectors
from hlgraph.ingest.report import Failure, Report, note_kept, record_counts
from hlgraph.models.seams import Embedder
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
from hlgraph.stores.protocols import CorpusStats, Scope, Stores

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
    names = _Names(stores, stats[0].version if stats else 0, before.get(Kind.ENTITY, 0))
    for item in prepared:
        _write(item, names, report=report, stores=stores, steps=steps)
    with report.timed("persist"):
        _calibrate(corpus, names, since=stats[0].calibration if stats else None, stores=stores)
    note_kept(report, before)


@dataclass(slots=True)
class _Names:
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


def _calibrate(corpus: str, names: _Names, *, since: Calibration | None, stores: Stores) -> None:
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
    for changed in _changed(items, corpus, report=report, stores=stores, steps=steps):
        if not changed:
            _count(report)
            continue
        stored = stored_chunks(changed, corpus, report=report, stores=stores)
        extracted = extract(planned(changed, stored, report=report, steps=steps), report, extractor=steps.extractor)
        yield ready(corpus, extracted, report=report)


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


def _write(item: Ready, names: _Names, *, report: Report, stores: Stores, steps: Steps) -> None:
    """Embed a batch without the lock of the corpus, and write it with the lock."""
    corpus, left = item.change.corpus, item
    while True:
        embedder = steps.embedder if left.made is None else left.made.with_rest(steps.embedder)
        with report.timed("embed"):
            made = made_vectors(left.change, left.known, embedder=embedder, stores=stores)
        with stores.graph.lock(corpus) as pending:
            if pending:
                report.resumed += resume(pending, stores, corpus=corpus)
            if _is_current(left, corpus, stores):
                _publish(left._replace(made=made), names, report=report, stores=stores, steps=steps)
                return
        again = _prepared_again(left, corpus, report=report, stores=stores, steps=steps)
        if again is None:
            _count(report)
            return
        left = again._replace(made=made)


def _is_current(item: Ready, corpus: str, stores: Stores) -> bool:
    """Whether the stored sources of a batch are those that it was compared with."""
    wanted = {one.comparison.source.id: one.comparison.stored for one in item.extracted}
    held = {record.id: record for record in stores.graph.records(Kind.SOURCE, list(wanted), scope=Scope(corpus))}
    return all(held.get(name) == stored for name, stored in wanted.items())


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


def _publish(item: Ready, names: _Names, *, report: Report, stores: Stores, steps: Steps) -> None:
    """Write a batch; the caller holds the lock of the corpus."""
    embedder = item.made or steps.embedder
    with report.timed("embed"):
        change = embed_change(item.change, item.known, embedder=embedder, stores=stores, names=names.of)
    with progress.step("persist", len(change.sources), unit="sources"):
        steps.before_writing()
        with report.timed("persist"):
            outcome = persist(change, stores)
        names.count(outcome)
        added = sum(one.comparison.is_new for one in item.extracted)
        report.sources_added += added
        report.sources_changed += len(change.sources) - added
        report.count(outcome.added, outcome.vanished)
        for source in change.sources:
            report.files.store(source.uri, is_new=True)
        _count(report)


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


def _count(report: Report) -> None:
    """Tell whoever listens what is done so far."""
    progress.count(
        sources=report.sources_added + report.sources_changed + report.sources_unchanged,
        chunks=report.added.get(Kind.CHUNK, 0),
        statements=report.added.get(Kind.STATEMENT, 0),
        size=report.files.size,
    )


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
        names = [source_id(corpus, document.uri) for document in batch]
        found = stores.graph.records(Kind.SOURCE, names, scope=Scope(corpus))
        stored = {record.id: record for record in found if isinstance(record, Source)}
        processing = (steps.chunker.fingerprint, steps.extractor.fingerprint)
        pairs = [
            compare(document, corpus, stored=stored.get(name), processing=processing)
            for document, name in zip(batch, names, strict=True)
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
