"""What a history costs: an edit of one source, and searches of the present, beside the same corpus without a history.

``python tests/benchmarks/bench_history.py [SOURCES ...]``: by default 1,000 and 10,000 sources of two statements, in the store of
``HLGRAPH_CONFIG``; without it in embedded stores. Searches are compared pair by pair, embedded by processor time.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import say

import hlgraph
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings, load
from hlgraph.testing.embedder import WordEmbedder

_EDITS, _SEARCHES, _PAIRS, _FIRST = 7, 40, 400, 40


def document(number: int, year: int = 1900) -> Document:
    return Document(f"doc:{number}", f"Mara Quill {number} led Orne {number} in {year}. Ivo Brandt saw Orne {number}.")


def edits(graph: HLGraph) -> float:
    """Median milliseconds of an ingest that edits one source."""
    times = []
    for turn in range(_EDITS):
        start = time.perf_counter()
        assert graph.ingest([document(7 * turn, 1901)]).sources_changed == 1
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def searches(graphs: dict[str, HLGraph], strategy: str, clock: Callable[[], float]) -> tuple[dict[str, float], float]:
    """Median milliseconds of a search in each corpus, and the median ratio of the pairs: each question is asked in turn."""
    took: dict[str, list[float]] = {name: [] for name in graphs}
    for turn in range(_PAIRS + _FIRST):
        for name, graph in sorted(graphs.items(), reverse=bool(turn % 2)):
            start = clock()
            graph.search(f"Who led Orne {11 * (turn % _SEARCHES)}?", strategy=strategy)
            if turn >= _FIRST:
                took[name].append((clock() - start) * 1000)
    ratios = [kept / bare for bare, kept in zip(took["bare"], took["kept"], strict=True)]
    return {name: statistics.median(times) for name, times in took.items()}, statistics.median(ratios)


def compared(settings: Settings | str, sources: int) -> None:
    is_embedded = isinstance(settings, str)
    graphs = {
        name: hlgraph.connect(
            f"{settings}-{name}" if is_embedded else settings, corpus=f"bench-{name}", embedder=WordEmbedder()
        )
        for name in ("bare", "kept")
    }
    try:
        for graph in graphs.values():
            if graph.stats():
                graph.delete(everything=True)
            graph.ingest(map(document, range(sources)))
        graphs["kept"].history.keep()
        for strategy in ("statement", "auto"):
            median, ratio = searches(graphs, strategy, time.process_time if is_embedded else time.perf_counter)
            bare, kept = median["bare"], median["kept"]
            say(f"{sources} sources, search {strategy}: {bare:.2f} ms bare, {kept:.2f} ms with a history: {ratio:.3f}")
        bare, kept = (edits(graph) for graph in graphs.values())
        say(f"{sources} sources, edit: {bare:.0f} ms bare, {kept:.0f} ms with a history: {kept / bare:.1f}")
    finally:
        for graph in graphs.values():
            graph.delete(everything=True)
            graph.close()


def main() -> None:
    config = os.environ.get("HLGRAPH_CONFIG")
    for sources in map(int, sys.argv[1:] or ("1000", "10000")):
        with tempfile.TemporaryDirectory() as folder:
            compared(load(Path(config)) if config else f"hlgraph://{folder}/store", sources)


if __name__ == "__main__":
    main()
