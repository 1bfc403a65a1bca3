"""Three corpora in one store: seconds by step, memory, size on disk; then what an edit and a search cost.

Required: musique, hotpotqa and 2wikimultihopqa together (23,610 passages, one chunk each, local extraction) in under 120 s
without the embedder's own time, and under 2 GB; `statement` search in under 15 ms (median) after the embedding of the
question. "embed" as the pipeline times it includes the search for synonyms, so the embedder is timed by itself here.
Seconds "of processors" are those that this process computed: on a machine that others use too, they are the fairer ones.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from evaluation_sets import BenchmarkSet, open_set, origin_line
from ingest_keywords import keywords
from measure import TimedEmbedder, megabytes_on_disk, memory_line, peak_megabytes, say, table, verdict

import hlgraph
from hlgraph.ingest.options import IngestOptions
from hlgraph.models.choose import cached_embedder
from hlgraph.settings import load

if TYPE_CHECKING:
    from hlgraph.ingest.report import Report
    from hlgraph.progress import Progress
    from hlgraph.retrieve import SearchResult
    from hlgraph.sdk.client import HLGraph

SETS = ("musique", "hotpotqa", "2wikimultihopqa")
STRATEGIES = ("statement", "chunk", "topic", "chunk_entity")
QUESTIONS = 200
EDITS = 3
PASSAGES = 23_610
SECONDS, MEGABYTES, MILLISECONDS = 120.0, 2048.0, 15.0
_OPTIONS = IngestOptions(is_chunked=True)


@dataclass(frozen=True, slots=True)
class Run:
    """One ingest: its report, its seconds by the clock and of all processors, and those of them that the embedder took."""

    report: Report
    seconds: float
    cpu_seconds: float
    embedder_seconds: float
    embedder_cpu_seconds: float
    texts: int

    @property
    def without_embedding(self) -> float:
        """Everything but the embedder."""
        return self.seconds - self.embedder_seconds


def documents(sets: Sequence[BenchmarkSet]) -> Iterator[hlgraph.Document]:
    """One document a passage, set after set."""
    for item in sets:
        for passage in item.passages:
            yield hlgraph.Document(f"{item.name}/{passage.id}", passage.text, passage.title)


def ingest(graph: HLGraph, embedder: TimedEmbedder, sets: Sequence[BenchmarkSet]) -> Run:
    """Ingest all sets, timed."""
    start, cpu_start = time.perf_counter(), time.process_time()
    before = (embedder.seconds, embedder.cpu_seconds, embedder.texts)

    def note(at: Progress) -> None:
        if at.step != "persist" or at.done != at.total:
            return
        passed = time.perf_counter() - start
        say(f"  {at.sources:,} passages, {at.statements:,} statements after {passed:.0f} s, {memory_line()}")

    report = graph.ingest(documents(sets), **keywords(_OPTIONS), on_progress=note)
    return Run(
        report,
        time.perf_counter() - start,
        time.process_time() - cpu_start,
        embedder.seconds - before[0],
        embedder.cpu_seconds - before[1],
        embedder.texts - before[2],
    )


def show_ingest(run: Run, passages: int, *, is_first: bool) -> None:
    """Seconds by step, and the ratios."""
    report = run.report
    say(f"\n{'first' if is_first else 'second'} ingest: {passages:,} passages")
    rows = [(step, f"{seconds:.1f}", "") for step, seconds in report.seconds.items()]
    if "embed" in report.seconds:
        rows.append(
            ("embed without the embedder (synonyms)", f"{report.seconds['embed'] - run.embedder_seconds:.1f}", "")
        )
    cpu = run.cpu_seconds - run.embedder_cpu_seconds
    rows.extend(
        (
            (f"embedder ({run.texts:,} texts)", f"{run.embedder_seconds:.1f}", f"{run.embedder_cpu_seconds:.1f}"),
            ("all", f"{run.seconds:.1f}", f"{run.cpu_seconds:.1f}"),
            ("all without the embedder", f"{run.without_embedding:.1f}", f"{cpu:.1f}"),
        )
    )
    table(("step", "seconds", "of processors"), rows)
    say(
        f"added {report.sources_added:,}, changed {report.sources_changed:,}, unchanged {report.sources_unchanged:,}, "
        f"failed {len(report.failed)}, problems {len(report.problems)}"
    )
    if is_first:
        if passages < PASSAGES:
            say(f"the limits are for {PASSAGES:,} passages, on a machine that does nothing else")
        statements = report.added.get("statement", 0)
        say(
            f"without the embedder: {passages / run.without_embedding:,.0f} passages/s, "
            f"{statements / run.without_embedding:,.0f} statements/s"
        )
        say(f"limit {SECONDS:.0f} s: {verdict(run.without_embedding, SECONDS)}")
    say(f"{memory_line()}; limit {MEGABYTES:.0f} MB: {verdict(peak_megabytes(), MEGABYTES)}")


def show_edits(graph: HLGraph, embedder: TimedEmbedder, sets: Sequence[BenchmarkSet]) -> None:
    """What it costs to edit one source of the whole corpus: it should not depend on how large that is."""
    times: list[str] = []
    for document in islice(documents(sets), EDITS):
        start, before = time.perf_counter(), embedder.seconds
        report = graph.ingest([replace(document, text=f"{document.text} It was edited later.")], **keywords(_OPTIONS))
        passed = time.perf_counter() - start - (embedder.seconds - before)
        times.append(f"{1000 * passed:.0f} ms" if report.sources_changed == 1 else "NOT EDITED")
    say(f"\nediting one passage, without the embedder, {EDITS} times: {', '.join(times)}")


def show_store(graph: HLGraph, folder: Path) -> None:
    """What is in the store, and what it takes on disk."""
    (stats,) = graph.stats()
    say("\nrecords: " + ", ".join(f"{kind} {count:,}" for kind, count in stats.records.items()))
    say("relationships: " + ", ".join(f"{kind} {count:,}" for kind, count in stats.relationships.items()))
    sizes = megabytes_on_disk(folder)
    parts = ", ".join(f"{name} {size:,.1f}" for name, size in sizes.items() if size >= 0.05)
    say(f"on disk: {sum(sizes.values()):,.1f} MB ({parts})")


def show_searches(graph: HLGraph, embedder: TimedEmbedder, questions: Sequence[str]) -> None:
    """Time of a search without the embedding of its question, by strategy; then by step."""
    say(f"\nsearch, {len(questions)} questions, k = 10, milliseconds without the embedding of the question")
    steps: dict[str, dict[str, list[float]]] = {}
    rows: list[tuple[str, ...]] = []
    for strategy in STRATEGIES:
        times: list[float] = []
        cpu_times: list[float] = []
        for question in questions:
            start, cpu_start, before = time.perf_counter(), time.process_time(), embedder.cpu_seconds
            found = graph.search(question, strategy=strategy)
            cpu_times.append(1000 * (time.process_time() - cpu_start - embedder.cpu_seconds + before))
            times.append(1000 * (time.perf_counter() - start) - _add_steps(found, steps.setdefault(strategy, {})))
        later = times[1:] or times
        median = np.quantile(later, 0.5)
        figures = (times[0], median, np.quantile(later, 0.95), max(later), np.quantile(cpu_times, 0.5))
        limit = verdict(median, MILLISECONDS) if strategy == "statement" else ""
        rows.append((strategy, *(f"{value:.1f}" for value in figures), limit))
    table(("strategy", "first", "p50", "p95", "max", "p50 of processors", f"limit {MILLISECONDS:.0f}"), rows)
    for strategy, found_steps in steps.items():
        parts = ", ".join(f"{name} {np.quantile(times, 0.5):.1f}" for name, times in found_steps.items())
        say(f"p50 of the steps of {strategy}: {parts}")
    say(memory_line())


def _add_steps(found: SearchResult, steps: dict[str, list[float]]) -> float:
    """Note the steps; returns the milliseconds that the embedding took."""
    for step in found.explain.steps:
        steps.setdefault(step.name, []).append(step.milliseconds)
    return sum(step.milliseconds for step in found.explain.steps if step.name == "embed")


def interleaved(sets: Sequence[BenchmarkSet], count: int) -> list[str]:
    """The first questions of the sets in turn."""
    turns = zip_longest(*(item.dataset.questions for item in sets))
    return [question.text for question in islice((q for q in chain.from_iterable(turns) if q is not None), count)]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N passages of each set")
    parser.add_argument("--fresh", action="store_true", help="do not use the cache of vectors: embed everything")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name:
        scratch = Path(name)
        say(origin_line())
        sets = [open_set(item, scratch / "data", passages=chosen.limit) for item in SETS]
        passages = sum(len(item.passages) for item in sets)
        models = load().models
        if chosen.fresh:
            models = replace(models, cache=str(scratch / "cache"))
        cache = cached_embedder(models)
        embedder = TimedEmbedder(cache)
        store = scratch / "store"
        with hlgraph.connect(f"hlgraph://{store}", corpus="bench", embedder=embedder) as graph:
            show_ingest(ingest(graph, embedder, sets), passages, is_first=True)
            say(f"texts in the cache of vectors: {cache.hits:,} of {cache.hits + cache.misses:,}")
            show_store(graph, store)
            show_ingest(ingest(graph, embedder, sets), passages, is_first=False)
            show_edits(graph, embedder, sets)
            show_searches(graph, embedder, interleaved(sets, QUESTIONS))
        cache.close()


if __name__ == "__main__":
    main()
