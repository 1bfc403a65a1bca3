"""The way of the data as a readable list of steps: read, chunk, extract, resolve, index, persist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from hlgraph.change import Change
from hlgraph.chunk import Chunker
from hlgraph.errors import ReadError
from hlgraph.extract import Extractor, Metered
from hlgraph.ids import source_id
from hlgraph.index import check_model, embed_change
from hlgraph.ingest.report import Failure, Progress, Report, note_kept, record_counts
from hlgraph.models.seams import Embedder
from hlgraph.persist import ChunkPlan, Comparison, Extracted, assemble, compare, persist, plan_chunks, resume
from hlgraph.read import ReadFailure, inadmissible
from hlgraph.records import Chunk, Document, Extraction, Kind, Source
from hlgraph.stores.protocols import Scope, Stores

__all__ = [
    "BATCH_CHARACTERS",
    "Failure",
    "Looking",
    "Progress",
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
BATCH_CHARACTERS = 1_000_000
StoredChunks: TypeAlias = dict[str, dict[str, Chunk]]
"""Chunks by their id, by the id of their source."""


class Looking(Protocol):
    """The parts of an ingest that find out what there is to do; :class:`Steps` has them."""

    @property
    def chunker(self) -> Chunker:
        """What cuts documents."""

    @property
    def extractor(self) -> Extractor:
        """What finds statements; only its fingerprints are asked for."""

    @property
    def batch_characters(self) -> int:
        """Characters of documents that are looked at together."""

    @property
    def batch_sources(self) -> int:
        """Documents that are looked at together."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The parts that an ingest is made of, and how much it does at a time."""

    chunker: Chunker
    extractor: Extractor
    embedder: Embedder
    batch_characters: int = BATCH_CHARACTERS
    batch_sources: int = 1_000
    on_progress: Callable[[Progress], None] | None = None


class Ready(NamedTuple):
    """Sources that are read, cut and extracted: what is left to do is to embed and to write their change.

    Attributes
    ----------
    change : of all of them, without vectors
    known : those of its chunks that are stored already
    added : how many of its sources are new
    embedder : has the vectors of its texts where they were made already; None: that of the steps makes them
    """

    change: Change
    known: frozenset[str]
    added: int
    embedder: Embedder | None = None


def ingest(items: Iterable[Document | ReadFailure], corpus: str, *, stores: Stores, steps: Steps) -> Report:
    """Bring the corpus to the state of these documents, batch by batch; sources not among them stay as they are.

    A failure of one source is reported and never stops the rest. Killed at any moment, the same call again completes it.
    """
    report = Report()
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
    """Write what comes of sources, one change after the other, in order: the last steps of an ingest.

    The right to write is held, and what interrupted runs left is finished, before the first is asked for.
    """
    with stores.graph.lock() as pending:
        report.resumed = resume(pending, stores)
        check_model(stores.graph.stats(corpus, has_counts=False), steps.embedder)
        before = record_counts(corpus, stores)
        for item in prepared:
            _write(item, report=report, stores=stores, steps=steps)
        note_kept(report, before)


def batches(
    items: Iterable[Document | ReadFailure], report: Report, *, seen: set[str], steps: Looking
) -> Iterator[list[Document]]:
    """Documents in batches of bounded size; failures, and a uri that comes twice, go to the report."""
    batch: list[Document] = []
    size = 0
    iterator = iter(items)
    while True:
        with report.timed("read"):
            item = next(iterator, None)
        if item is None:
            break
        if isinstance(item, ReadFailure):
            report.failed.append(Failure(item.uri, str(item.error)))
            continue
        refused = inadmissible(item)
        if refused is not None:
            report.failed.append(Failure(item.uri, str(refused)))
            continue
        if item.uri in seen:
            error = ReadError(item.uri, "it was read before in this run", "give each source one uri")
            report.failed.append(Failure(item.uri, str(error)))
            continue
        seen.add(item.uri)
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
    for batch in batches(items, report, seen=set(), steps=steps):
        changed = compared(batch, corpus, report=report, stores=stores, steps=steps)
        _say("compare", report, steps)
        if not changed:
            continue
        stored = stored_chunks(changed, corpus, report=report, stores=stores)
        extracted = extract(planned(changed, stored, report=report, steps=steps), report, extractor=steps.extractor)
        _say("extract", report, steps)
        yield ready(corpus, extracted, report=report)


def _write(item: Ready, *, report: Report, stores: Stores, steps: Steps) -> None:
    with report.timed("embed"):
        change = embed_change(item.change, item.known, embedder=item.embedder or steps.embedder, stores=stores)
    _say("embed", report, steps)
    with report.timed("persist"):
        outcome = persist(change, stores)
    report.sources_added += item.added
    report.sources_changed += len(change.sources) - item.added
    report.count(outcome.added, outcome.vanished)
    _say("persist", report, steps)


def look(
    items: Iterable[Document | ReadFailure], corpus: str, *, report: Report, stores: Stores, steps: Looking
) -> Iterator[Extracted]:
    """What an ingest of these documents would extract, source by source: the first steps of it, which change nothing.

    Parameters
    ----------
    report : is told of sources that did not change or failed
    """
    for batch in batches(items, report, seen=set(), steps=steps):
        changed = compared(batch, corpus, report=report, stores=stores, steps=steps)
        stored = stored_chunks(changed, corpus, report=report, stores=stores)
        yield from planned(changed, stored, report=report, steps=steps)


def planned(changed: Sequence[Comparison], stored: StoredChunks, *, report: Report, steps: Looking) -> list[Extracted]:
    """Cut these sources, and say which chunks of them are to be extracted; no store is asked.

    Parameters
    ----------
    stored : of those that are not new; see :func:`stored_chunks`
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


def _say(step: str, report: Report, steps: Steps) -> None:
    if steps.on_progress is not None:
        done = report.sources_added + report.sources_changed + report.sources_unchanged
        chunks, statements = report.added.get(Kind.CHUNK, 0), report.added.get(Kind.STATEMENT, 0)
        steps.on_progress(Progress(step, done, chunks, statements))


def compared(
    batch: Sequence[Document], corpus: str, *, report: Report, stores: Stores, steps: Looking
) -> list[Comparison]:
    """The documents whose sources are new or changed; the others are counted."""
    with report.timed("resolve"):
        names = [source_id(corpus, document.uri) for document in batch]
        found = stores.graph.records(Kind.SOURCE, names)
        stored = {record.id: record for record in found if isinstance(record, Source)}
        processing = (steps.chunker.fingerprint, steps.extractor.fingerprint)
        pairs = [
            compare(document, corpus, stored=stored.get(name), processing=processing)
            for document, name in zip(batch, names, strict=True)
        ]
    changed = [item for item in pairs if item is not None]
    report.sources_unchanged += len(batch) - len(changed)
    return changed


def stored_chunks(changed: Sequence[Comparison], corpus: str, *, report: Report, stores: Stores) -> StoredChunks:
    """The chunks that the store holds of changed sources."""
    found: StoredChunks = {}
    known = tuple(item.source.id for item in changed if not item.is_new)
    if known:
        with report.timed("resolve"):
            for record in stores.graph.find(Kind.CHUNK, Scope(corpus, sources=known)):
                if isinstance(record, Chunk):
                    found.setdefault(record.source_id, {})[record.id] = record
    return found


def extract(planned: Sequence[Extracted], report: Report, *, extractor: Extractor) -> list[Extracted]:
    """The same with one extraction for each chunk to extract; what could not be extracted is a problem of the report.

    Raises what ends an extraction by a chat model: see :class:`hlgraph.extract.chat.ChatExtractor`.
    """
    inputs = [context for item in planned for _, context in item.plan.to_extract]
    extracted: list[Extracted] = []
    with report.timed("extract"):
        results = iter(extractor.extract(inputs) if inputs else [])
    for item in planned:
        own: list[Extraction] = [next(results) for _ in item.plan.to_extract]
        extracted.append(Extracted(item.comparison, item.plan, tuple(own)))
        report.problems.extend(Failure(item.comparison.source.uri, found.problem) for found in own if found.problem)
    return extracted


def ready(corpus: str, extracted: Sequence[Extracted], *, report: Report) -> Ready:
    """The change that all of these are."""
    with report.timed("resolve"):
        change = assemble(corpus, extracted)
    known = frozenset(name for item in extracted for name in item.plan.known)
    return Ready(change, known, sum(item.comparison.is_new for item in extracted))
