"""What a history costs: an edit of one source, and searches of the present, beside the same corpus without a history.

``python tests/benchmarks/bench_history.py [SOURCES ...]``: by default 1,000 and 10,000 sources of two statements, in the store of
``HLGRAPH_CONFIG``; without it in an embedded store.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measure import say

import hlgraph
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings, load
from hlgraph.testing.embedder import WordEmbedder

_EDITS, _SEARCHES, _ROUNDS = 7, 40, 5


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


def searches(graphs: dict[str, HLGraph], strategy: str) -> dict[str, float]:
    """Milliseconds a search, the least of the rounds, alternating."""
    best = dict.fromkeys(graphs, float("inf"))
    for _ in range(_ROUNDS):
        for name, graph in graphs.items():
            start = time.perf_counter()
            for number in range(_SEARCHES):
                graph.search(f"Who led Orne {11 * number}?", strategy=strategy)
            best[name] = min(best[name], (time.perf_counter() - start) * 1000 / _SEARCHES)
    return best


def compared(settings: Settings | str, sources: int) -> None:
    graphs = {
        name: hlgraph.connect(settings, corpus=f"bench-{name}", embedder=WordEmbedder()) for name in ("bare", "kept")
    }
    try:
        for graph in graphs.values():
            if graph.stats():
                graph.delete(everything=True)
            graph.ingest(map(document, range(sources)))
        graphs["kept"].history.keep()
        for strategy in ("statement", "auto"):
            bare, kept = searches(graphs, strategy).values()
            say(
                f"{sources} sources, search {strategy}: {bare:.2f} ms bare, {kept:.2f} ms with a history: {kept / bare:.2f}"
            )
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
