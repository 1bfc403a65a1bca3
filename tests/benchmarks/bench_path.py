"""How long `path` takes beside PropRAG's own code, and `statement_graph` on each kind of store, with its round trips.

`path` runs with the parameters of the paper and with those tuned for a small embedder, each with nothing cached (the question
and the paths are embedded anew) and with no encoder call (each question was asked before). PropRAG's figures are constants:
they were measured on two idle cores, with the same sets, questions and embedder. On a busy machine the ratios by the clock
are too low; those by the processor (which count both cores of an encoder) are nearer. `statement_graph` has the width 50
and the depth 3 of its paper.

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_path.py [--store hlgraph://folder] [--sets names] [--questions 40]

A store that holds the corpora of `hlgraph eval` already is used as it is; otherwise the sets are ingested. The servers are
those of the state folder that HLGRAPH_TEST_SERVERS names, with the first set.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evaluation_sets import BenchmarkSet, open_set, origin_line
from measure import say, seconds_of, table

import hlgraph
from hlgraph.client import HLGraph, IngestOptions
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.install import load_local
from hlgraph.models.local.load import cache_file
from hlgraph.models.seams import Embedder
from hlgraph.retrieve.presets import retriever
from hlgraph.retrieve.retriever import Retriever
from hlgraph.settings import Settings, load

SETS = "musique_oie,2wikimultihopqa,hotpotqa"
TIMES_FASTER = 5.0
EMBEDDED_MS, SERVERS_MS = 60.0, 150.0
K = 20
_EXPLAINED = 5


class Peer(NamedTuple):
    """Seconds a query of PropRAG, median and 95th percentile: with nothing cached, and with no encoder call."""

    nothing: tuple[float, float]
    no_encoder: tuple[float, float]


PROPRAG: Mapping[str, Peer] = {
    "musique_oie": Peer((0.53, 0.79), (0.088, 0.147)),
    "2wikimultihopqa": Peer((0.56, 0.78), (0.145, 0.164)),
    "hotpotqa": Peer((0.65, 1.20), (0.207, 0.237)),
}
"""PropRAG's own code (commit dd90210, its defaults), all-MiniLM-L6-v2, two cores."""


class Timed(NamedTuple):
    """Milliseconds a query: median and 95th percentile by the clock, median of the processor."""

    p50: float
    p95: float
    cpu: float


def timed(graph: HLGraph, questions: Sequence[str], strategy: Retriever) -> Timed:
    """Ask every question once."""
    by_clock, by_processor = [], []
    for question in questions:
        start, busy = time.perf_counter(), time.process_time()
        graph.search(question, strategy=strategy, k=K)
        by_clock.append(1000 * (time.perf_counter() - start))
        by_processor.append(1000 * (time.process_time() - busy))
    return Timed(statistics.median(by_clock), float(np.percentile(by_clock, 95)), statistics.median(by_processor))


def opened(target: str | Settings, item: BenchmarkSet, embedder: Embedder, *, closing: contextlib.ExitStack) -> HLGraph:
    """The set in a store, ingested where it is not."""
    graph = closing.enter_context(hlgraph.connect(target, corpus=f"eval-{item.name}", embedder=embedder))
    if not any(found.corpus == f"eval-{item.name}" for found in graph.stats()):
        files = tuple(str(path) for path in item.dataset.extractions)
        options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
        documents = [hlgraph.Document(one.id, one.text, one.title, key=one.id) for one in item.passages]
        say(f"{item.name}: ingested in {seconds_of(lambda: graph.ingest(documents, options=options)):.0f} s")
    return graph


def compare_paths(cached: HLGraph, plain: HLGraph, *, name: str, questions: Sequence[str]) -> list[list[str]]:
    """Both presets, with nothing cached and with no encoder call; presets and kinds take turns."""
    rows = []
    for preset in ("paper", "tuned"):
        strategy = retriever("path", preset)
        timed(cached, questions, strategy)  # now every text of theirs is in the cache, and the graph in memory
        for kind, graph in (("nothing cached", plain), ("no encoder call", cached)):
            found = timed(graph, questions, strategy)
            row = [name, preset, kind, f"{found.p50:.1f}", f"{found.p95:.1f}", f"{found.cpu:.1f}"]
            peer = PROPRAG.get(name)
            if peer is not None:
                p50, p95 = peer.nothing if graph is plain else peer.no_encoder
                ratio = 1000 * p50 / found.p50
                row += [f"{1000 * p50:.0f}", f"{ratio:.1f}", f"{1000 * p95 / found.p95:.1f}"]
                row.append(f"{1000 * p50 / found.cpu:.1f}")
                row.append("ok" if ratio >= TIMES_FASTER else "SLOWER")
            rows.append(row)
    return rows


def statement_graph_row(graph: HLGraph, label: str, *, questions: Sequence[str], limit: float) -> list[str]:
    """Times, and round trips to each store, the mean of some questions."""
    strategy = retriever("statement_graph", "paper")
    timed(graph, questions, strategy)
    found = timed(graph, questions, strategy)
    trips: defaultdict[str, list[int]] = defaultdict(list)
    for question in questions[:_EXPLAINED]:
        for cost in graph.search(question, strategy=strategy, k=K, explain=True).explain.stores:
            trips[cost.store].append(cost.round_trips)
    asked = ", ".join(f"{store} {statistics.mean(counts):.1f}" for store, counts in sorted(trips.items()))
    verdict = "ok" if found.p50 < limit else "SLOWER"
    return [label, f"{found.p50:.1f}", f"{found.p95:.1f}", f"{found.cpu:.1f}", f"{limit:.0f}", verdict, asked]


def server_settings() -> Settings | None:
    """Those of the servers that the environment names."""
    named = os.environ.get("HLGRAPH_TEST_SERVERS")
    return load(Path(named) / "hlgraph.yaml") if named else None


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="an embedded store, which may hold the corpora already")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--questions", type=int, default=40)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as folder, contextlib.ExitStack() as closing:
        scratch, choice = Path(folder), load().models
        say(origin_line())
        encoder = load_local(choice.embedder, root=Path(choice.root) if choice.root else None)
        cache = closing.enter_context(contextlib.closing(CachedEmbedder(encoder, cache_file(choice.cache))))
        store = chosen.store or f"hlgraph://{scratch}/store"
        paths, walks = [], []
        for name in chosen.sets.split(","):
            item = open_set(name, scratch / "data", questions=chosen.questions)
            questions = [one.text for one in item.dataset.questions]
            cached = opened(store, item, cache, closing=closing)
            plain = opened(store, item, encoder, closing=closing)
            paths += compare_paths(cached, plain, name=name, questions=questions)
            walks.append(statement_graph_row(cached, f"{name}, embedded", questions=questions, limit=EMBEDDED_MS))
            settings = server_settings() if len(walks) == 1 else None
            if settings is not None:
                graph = opened(settings, item, cache, closing=closing)
                codec = "compiled Bolt codec" if find_spec("neo4j._rust") else "plain Bolt codec"
                label = f"{name}, servers, {codec}"
                walks.append(statement_graph_row(graph, label, questions=questions, limit=SERVERS_MS))
    table(
        (
            "path",
            "preset",
            "",
            "p50 ms",
            "p95",
            "cpu",
            "PropRAG",
            "times",
            "at p95",
            "by cpu",
            f"{TIMES_FASTER:g} times",
        ),
        paths,
    )
    say()
    table(("statement_graph", "p50 ms", "p95", "cpu", "limit", "", "round trips a query"), walks)


if __name__ == "__main__":
    main()
