"""The way of the data as a list of steps: read, chunk, extract, resolve, index, persist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from hlgraph import progress
from hlgraph.change import Change
from hlgraph.chunk import Chunker
from hlgraph.errors import ReadError
from hlgraph.extract import Extractor, Metered
from hlgraph.ids import source_id
from hlgraph.index import MadeVectors, calibrating, check_model, embed_change
from hlgraph.ingest.report import Failure, Report, note_kept, record_counts
from hlgraph.models.seams import Embedder
from hlgraph.persist import ChunkPlan, Comparison, Extracted, assemble, compare, persist, plan_chunks, resume
from hlgraph.read import Files, ReadFailure, inadmissible
from hlgraph.records import Chunk, Document, Extraction, Kind, Source
from hlgraph.stores.protocols import Scope, Stores

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
    """

    chunker: Chunker
    extractor: Extractor
    embedder: Embedder
    batch_characters: int = BATCH_CHARACTERS
    batch_sources: int = 1_000


class Ready(NamedTuple):
    """A batch of sources that is read, chunked and extracted; to embed it and to write its change is left.

    Attributes
    ----------
    change : the change of all of them, without vectors
    known : ids of its chunks that are stored already
    added : number of its sources that are new
    made : vectors of its texts that were computed elsewhere; the embedder of the steps computes the others
    """

    change: Change
    known: frozenset[str]
    added: int
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

    The write lock is held, and changes of interrupted runs are completed, before the first batch is asked for.

    Parameters
    ----------
    prepared : the batches
    corpus : the corpus
    report : receives the counts
    stores : the open stores
    steps : the embedder
    """
    with stores.graph.lock() as pending:
        report.resumed = resume(pending, stores)
        stats = stores.graph.stats(corpus, has_counts=False)
        check_model(stats, steps.embedder)
        before = record_counts(corpus, stores)
        for item in prepared:
            _write(item, _names(before, report), report=report, stores=stores, steps=steps)
        with report.timed("persist"):
            since = stats[0].calibration if stats else None
            last = calibrating(corpus, _names(before, report), since=since, stores=stores)
            if last is not None:
                persist(last, stores)
        note_kept(report, before)


def _names(before: Mapping[str, int], report: Report) -> int:
    """How many names of entities the corpus has by now."""
    kind = Kind.ENTITY.value
    return before.get(kind, 0) + report.added.get(kind, 0) - report.removed.get(kind, 0)


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


def _write(item: Ready, names: int, *, report: Report, stores: Stores, steps: Steps) -> None:
    embedder = steps.embedder if item.made is None else item.made.with_rest(steps.embedder)
    with report.timed("embed"):
        change = embed_change(item.change, item.known, embedder=embedder, stores=stores, names=names)
    with progress.step("persist", len(change.sources), unit="sources"):
        with report.timed("persist"):
            outcome = persist(change, stores)
        report.sources_added += item.added
        report.sources_changed += len(change.sources) - item.added
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


def extract(planned: Sequence[Extracted], report: Report, *, extractor: Extractor) -> list[Extracted]:
    """Extract the chunks that need it.

    Parameters
    ----------
    planned : sources with their chunks
    report : receives the chunks that could not be extracted, as problems
    extractor : does the work

    Returns
    -------
    list of Extracted
        With one extraction for each chunk that needed one.

    Raises
    ------
    What ends an extraction by a chat model: see :class:`hlgraph.extract.chat.ChatExtractor`.
    """
    inputs = [context for item in planned for _, context in item.plan.to_extract]
    extracted: list[Extracted] = []
    with report.timed("extract"), progress.step("extract", len(inputs), unit="chunks"):
        results = iter(extractor.extract(inputs) if inputs else [])
    for item in planned:
        own: list[Extraction] = [next(results) for _ in item.plan.to_extract]
        extracted.append(Extracted(item.comparison, item.plan, tuple(own)))
        report.problems.extend(Failure(item.comparison.source.uri, found.problem) for found in own if found.problem)
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
    return Ready(change, known, sum(item.comparison.is_new for item in extracted))
