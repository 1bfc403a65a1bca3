"""The way of the data as a readable list of steps: read, chunk, extract, resolve, index, persist."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hlgraph.change import Pending
from hlgraph.chunk import Chunker
from hlgraph.errors import ReadError
from hlgraph.extract import Extractor, Metered
from hlgraph.ids import source_id
from hlgraph.index import check_model, embed_change
from hlgraph.models.seams import Embedder
from hlgraph.models.usage import Usage
from hlgraph.persist import finish, persist
from hlgraph.read import ReadFailure, inadmissible, is_covered
from hlgraph.records import Chunk, Document, Extraction, Kind, Source
from hlgraph.resolve import ChunkPlan, Comparison, Extracted, assemble, compare, plan_chunks, removal
from hlgraph.stores.protocols import Scope, Stores

_LOG = logging.getLogger(__name__)
BATCH_CHARACTERS = 1_000_000
REMOVED = 500
"""Sources that one change removes, where the store does not ask for fewer."""


class Progress(NamedTuple):
    """Where an ingest stands: the step just done, and how many sources, chunks and statements so far."""

    step: str
    sources: int
    chunks: int
    statements: int


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


class Failure(NamedTuple):
    """A source that could not be ingested, or not completely."""

    uri: str
    error: str


@dataclass(slots=True)
class Report:
    """What an ingest did. ``kept``: records that were there before and were left as they are.

    ``usage``: calls and tokens of the chat model, where one extracted.
    """

    sources_added: int = 0
    sources_changed: int = 0
    sources_unchanged: int = 0
    sources_removed: int = 0
    failed: list[Failure] = field(default_factory=list)
    problems: list[Failure] = field(default_factory=list)
    added: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    resumed: int = 0
    usage: Usage | None = None

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of a block to a step."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    def count(self, added: dict[str, int], vanished: dict[str, tuple[str, ...]]) -> None:
        """Add the outcome of one change."""
        for kind, number in added.items():
            self.added[kind] = self.added.get(kind, 0) + number
        for kind, items in vanished.items():
            self.removed[kind] = self.removed.get(kind, 0) + len(items)


def ingest(items: Iterable[Document | ReadFailure], corpus: str, *, stores: Stores, steps: Steps) -> Report:
    """Bring the corpus to the state of these documents, batch by batch; sources not among them stay as they are.

    A failure of one source is reported and never stops the rest. Killed at any moment, the same call again completes it.
    """
    report = Report()
    with stores.graph.lock() as pending:
        report.resumed = resume(pending, stores)
        check_model(stores.graph.stats(corpus, has_counts=False), steps.embedder)
        before = _counts(corpus, stores)
        seen: set[str] = set()
        for batch in _batches(items, report, seen=seen, steps=steps):
            _ingest_batch(batch, corpus, report=report, stores=stores, steps=steps)
        report.problems.extend(Failure("extractions", problem) for problem in steps.extractor.problems)
        report.usage = steps.extractor.usage if isinstance(steps.extractor, Metered) else None
        _keep(report, before)
    return report


def delete(source_ids: Sequence[str], corpus: str, *, stores: Stores, batch_sources: int = REMOVED) -> Report:
    """Remove sources and all that only they assert, from both stores, so many in one change."""
    report = Report()
    with stores.graph.lock() as pending:
        report.resumed = resume(pending, stores)
        before = _counts(corpus, stores)
        _remove(source_ids, corpus, report=report, stores=stores, batch_sources=batch_sources)
        _keep(report, before)
    return report


def delete_missing(
    seen: Report,
    prefixes: Sequence[str],
    *,
    corpus: str,
    keep: set[str],
    stores: Stores,
    batch_sources: int = REMOVED,
) -> None:
    """Remove the stored sources under these URI prefixes that were not read; add what that did to the report.

    Parameters
    ----------
    keep : URIs that were read; those of failures, and what lies under them (``uri#...``), are protected too
    """
    names, protected = set(prefixes), {item.uri for item in seen.failed}
    with stores.graph.lock():
        before = _counts(corpus, stores)
        missing = [
            record.id
            for record in stores.graph.find(Kind.SOURCE, Scope(corpus))
            if isinstance(record, Source)
            and record.uri not in keep
            and is_covered(record.uri, names)
            and not is_covered(record.uri, protected)
        ]
        removed = Report()
        _remove(missing, corpus, report=removed, stores=stores, batch_sources=batch_sources)
        _keep(removed, before)
    seen.sources_removed += removed.sources_removed
    for kind, number in removed.removed.items():
        seen.removed[kind] = seen.removed.get(kind, 0) + number
    seen.kept = {kind: number - removed.removed.get(kind, 0) for kind, number in seen.kept.items()}


def resume(pending: Sequence[Pending], stores: Stores) -> int:
    """Finish what interrupted runs left; the caller holds the lock. Returns how many changes there were."""
    for item in pending:
        _LOG.info("finishing change %s of an interrupted run", item.change.id)
        finish(item, stores)
    return len(pending)


def _counts(corpus: str, stores: Stores) -> dict[str, int]:
    found = stores.graph.stats(corpus, has_relationships=False)
    return {kind.value: count for kind, count in found[0].records.items()} if found else {}


def _keep(report: Report, before: dict[str, int]) -> None:
    report.kept = {kind: count - report.removed.get(kind, 0) for kind, count in before.items()}


def _batches(
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


def _ingest_batch(batch: list[Document], corpus: str, *, report: Report, stores: Stores, steps: Steps) -> None:
    with report.timed("resolve"):
        changed = _compare(batch, corpus, report=report, stores=stores, steps=steps)
        _say("compare", report, steps)
        if not changed:
            return
    planned = _planned(changed, corpus, report=report, stores=stores, steps=steps)
    with report.timed("extract"):
        extracted = _extract(planned, report, steps)
    _say("extract", report, steps)
    with report.timed("resolve"):
        change = assemble(corpus, extracted)
    with report.timed("embed"):
        known = frozenset(name for item in extracted for name in item.plan.known)
        change = embed_change(change, known, embedder=steps.embedder, stores=stores)
    _say("embed", report, steps)
    with report.timed("persist"):
        outcome = persist(change, stores)
    report.sources_added += sum(item.is_new for item in changed)
    report.sources_changed += sum(not item.is_new for item in changed)
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
    for batch in _batches(items, report, seen=set(), steps=steps):
        changed = _compare(batch, corpus, report=report, stores=stores, steps=steps)
        yield from _planned(changed, corpus, report=report, stores=stores, steps=steps)


def _planned(
    changed: list[Comparison], corpus: str, *, report: Report, stores: Stores, steps: Looking
) -> list[Extracted]:
    """Which chunks of these sources are to be extracted."""
    with report.timed("resolve"):
        stored = _stored_chunks([item for item in changed if not item.is_new], corpus, stores)
    planned: list[Extracted] = []
    for item in changed:
        with report.timed("chunk"):
            spans = steps.chunker.chunk(item.document) if item.has_new_text else []
        with report.timed("resolve"):
            plan = (
                plan_chunks(item, spans, stored=stored.get(item.source.id, {}), extractor=steps.extractor)
                if item.has_new_text
                else None
            )
        planned.append(Extracted(item, plan or ChunkPlan(), ()))
    return planned


def _say(step: str, report: Report, steps: Steps) -> None:
    if steps.on_progress is not None:
        done = report.sources_added + report.sources_changed + report.sources_unchanged
        chunks, statements = report.added.get(Kind.CHUNK, 0), report.added.get(Kind.STATEMENT, 0)
        steps.on_progress(Progress(step, done, chunks, statements))


def _compare(batch: list[Document], corpus: str, *, report: Report, stores: Stores, steps: Looking) -> list[Comparison]:
    names = [source_id(corpus, document.uri) for document in batch]
    stored = {record.id: record for record in stores.graph.records(Kind.SOURCE, names) if isinstance(record, Source)}
    processing = (steps.chunker.fingerprint, steps.extractor.fingerprint)
    compared = [
        compare(document, corpus, stored=stored.get(name), processing=processing)
        for document, name in zip(batch, names, strict=True)
    ]
    changed = [item for item in compared if item is not None]
    report.sources_unchanged += len(batch) - len(changed)
    return changed


def _stored_chunks(changed: Sequence[Comparison], corpus: str, stores: Stores) -> dict[str, dict[str, Chunk]]:
    found: dict[str, dict[str, Chunk]] = {}
    if changed:
        scope = Scope(corpus, sources=tuple(item.source.id for item in changed))
        for record in stores.graph.find(Kind.CHUNK, scope):
            if isinstance(record, Chunk):
                found.setdefault(record.source_id, {})[record.id] = record
    return found


def _extract(planned: list[Extracted], report: Report, steps: Steps) -> list[Extracted]:
    inputs = [context for item in planned for _, context in item.plan.to_extract]
    results = iter(steps.extractor.extract(inputs) if inputs else [])
    extracted: list[Extracted] = []
    for item in planned:
        own: list[Extraction] = [next(results) for _ in item.plan.to_extract]
        extracted.append(Extracted(item.comparison, item.plan, tuple(own)))
        report.problems.extend(Failure(item.comparison.source.uri, found.problem) for found in own if found.problem)
    return extracted


def _remove(source_ids: Sequence[str], corpus: str, *, report: Report, stores: Stores, batch_sources: int) -> None:
    found = [record for record in stores.graph.records(Kind.SOURCE, source_ids) if isinstance(record, Source)]
    for start in range(0, len(found), batch_sources):
        part = found[start : start + batch_sources]
        with report.timed("persist"):
            change = removal(corpus, [item.id for item in part], versions=[item.version for item in part])
            outcome = persist(change, stores)
        report.count(outcome.added, outcome.vanished)
        report.sources_removed += len(part)
