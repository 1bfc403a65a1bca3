"""How long `path` takes beside PropRAG's own code, and `statement_graph` on each kind of store, with its round trips.

`path` runs with the parameters of the paper, with those tuned for a small embedder and with those of the preset `fast`, each
with nothing cached (the question and the paths are embedded anew) and with no encoder call (each question was asked before).
PropRAG's figures are constants: they were measured on two idle cores, with the same sets, questions and embedder. On a busy
machine the ratios by the clock are too low; those by the processor (which count both cores of an encoder) are nearer.

On the real sets, where igraph is installed, PropRAG's graph is made again and igraph's PageRank runs on it before, between
and after the timings of `path` (see peer_graph.py). Its time was noted along with PropRAG's, so it says how fast the machine
is now: the calibrated ratios have PropRAG's times multiplied by that. `statement_graph` has the width 50 and the depth 3 of
its paper, once with one beam for all seeds, which has a limit, and once with a beam for each, as in the paper.

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
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evaluation_sets import BenchmarkSet, data_folder, open_set, origin_line
from ingest_keywords import keywords
from measure import say, seconds_of, table
from peer_graph import THEIRS, TWO_THREADS, PageRankClock, Times, peer_graph

import hlgraph
from hlgraph.models.cache import CachedEmbedder, cache_file
from hlgraph.models.install import load_local
from hlgraph.models.protocols import Embedder
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.strategies.statement_graph import StatementGraphRetriever
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import Settings, cache_folder, load

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
    if not any(found.corpus == f"eval-{item.name}" for found in graph.stats(everything=True)):
        files = tuple(str(path) for path in item.dataset.extractions)
        options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
        documents = [hlgraph.Document(one.id, one.text, one.title, key=one.id) for one in item.passages]
        say(f"{item.name}: ingested in {seconds_of(lambda: graph.ingest(documents, **keywords(options))):.0f} s")
    return graph


class PathTimes(NamedTuple):
    """One line of the comparison; ``machine``: by what PropRAG's times are multiplied for this machine, now."""

    name: str
    preset: str
    is_cached: bool
    found: Timed
    machine: Times | None

    def row(self) -> list[str]:
        """Its cells."""
        found = self.found
        kind = "no encoder call" if self.is_cached else "nothing cached"
        cells = [self.name, self.preset, kind, f"{found.p50:.1f}", f"{found.p95:.1f}", f"{found.cpu:.1f}"]
        peer = PROPRAG.get(self.name)
        if peer is None:
            return cells
        p50, p95 = (1000 * seconds for seconds in (peer.no_encoder if self.is_cached else peer.nothing))
        ratio, by_cpu = p50 / found.p50, p50 / found.cpu
        cells += [f"{p50:.0f}", f"{ratio:.1f}", f"{p95 / found.p95:.1f}", f"{by_cpu:.1f}"]
        cells.append("ok" if ratio >= TIMES_FASTER else "SLOWER")
        if self.machine is not None:
            cells += [f"{ratio * self.machine.clock:.1f}", f"{by_cpu * self.machine.cpu:.1f}"]
        return cells


HEAD = ("path", "preset", "", "p50 ms", "p95", "cpu", "PropRAG", "times", "at p95", "by cpu", f"{TIMES_FASTER:g} times")
CALIBRATED = ("times, calibrated", "by cpu, calibrated")


def compare_paths(
    cached: HLGraph, plain: HLGraph, *, name: str, questions: Sequence[str], clock: PageRankClock | None
) -> list[PathTimes]:
    """All presets, with nothing cached and with no encoder call; presets and kinds, and igraph, take turns."""
    rows = []
    for preset in ("paper", "tuned", "fast"):
        strategy = retriever("path", preset)
        timed(cached, questions, strategy)  # now every text of theirs is in the cache, and the graph in memory
        for graph in (plain, cached):
            if clock is not None:
                clock.run()
            rows.append(PathTimes(name, preset, graph is cached, timed(graph, questions, strategy), None))
    if clock is None:
        return rows
    clock.run()
    machine = clock.median.over(THEIRS[name], threads=2)
    return [row._replace(machine=machine) for row in rows]


def page_rank_clock(item: BenchmarkSet, embedder: Embedder, *, cache: Path, scratch: Path) -> PageRankClock | None:
    """igraph on PropRAG's graph of a real set; None where that cannot be made, or is another graph."""
    theirs = THEIRS.get(item.name)
    if data_folder() is None or theirs is None or find_spec("igraph") is None:
        return None
    made = peer_graph(item, embedder, cache=cache)
    say(
        f"{item.name}: PropRAG's graph, made again: {made.nodes:,} nodes (theirs {theirs.nodes:,}), "
        f"{len(made.edges):,} edges (theirs {theirs.edges:,})"
    )
    if not made.is_like(theirs):
        say(f"{item.name}: these are not the same graph, so nothing is calibrated")
        return None
    return PageRankClock(made, scratch)


def machine_row(name: str, clock: PageRankClock) -> list[str]:
    """The time of igraph, and how many times as long that is as then."""
    theirs, found = THEIRS[name], clock.median
    two, one = (found.over(theirs, threads=threads) for threads in (2, 1))
    times = [1000 * theirs.seconds, 1000 * found.clock, 1000 * found.cpu]
    return [name, *(f"{each:.0f}" for each in times), *(f"{each:.2f}" for each in (*two, *one))]


MACHINE = ("igraph's PageRank", "then, ms", "now", "cpu", "machine", "by cpu", "had it one thread", "by cpu")


def statement_graph_rows(graph: HLGraph, label: str, *, questions: Sequence[str], limit: float) -> Iterator[list[str]]:
    """For one beam and for a beam a seed: times, and round trips to each store, the mean of some questions."""
    strategies = {"one beam": StatementGraphRetriever(beams="shared"), "a beam a seed": StatementGraphRetriever()}
    for beams, strategy in strategies.items():
        timed(graph, questions, strategy)
        found = timed(graph, questions, strategy)
        trips: defaultdict[str, list[int]] = defaultdict(list)
        for question in questions[:_EXPLAINED]:
            for cost in graph.search(question, strategy=strategy, k=K, explain=True).explain.stores:
                trips[cost.store].append(cost.round_trips)
        asked = ", ".join(f"{store} {statistics.mean(counts):.1f}" for store, counts in sorted(trips.items()))
        verdict = [f"{limit:.0f}", "ok" if found.p50 < limit else "SLOWER"] if beams == "one beam" else ["", ""]
        yield [f"{label}, {beams}", *(f"{each:.1f}" for each in (found.p50, found.p95, found.cpu)), *verdict, asked]


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
        paths: list[PathTimes] = []
        walks, machines = [], []
        for name in chosen.sets.split(","):
            item = open_set(name, scratch / "data", questions=chosen.questions)
            questions = [one.text for one in item.dataset.questions]
            cached = opened(store, item, cache, closing=closing)
            plain = opened(store, item, encoder, closing=closing)
            kept = cache_folder(choice.cache) / "benchmarks"
            clock = page_rank_clock(item, encoder, cache=kept, scratch=scratch)
            with clock or contextlib.nullcontext():
                paths += compare_paths(cached, plain, name=name, questions=questions, clock=clock)
            if clock is not None:
                machines.append(machine_row(name, clock))
            has_servers = not walks
            walks += statement_graph_rows(cached, f"{name}, embedded", questions=questions, limit=EMBEDDED_MS)
            settings = server_settings() if has_servers else None
            if settings is not None:
                graph = opened(settings, item, cache, closing=closing)
                walks += statement_graph_rows(graph, f"{name}, servers", questions=questions, limit=SERVERS_MS)
    show(paths, machines, walks)


def show(paths: Sequence[PathTimes], machines: Sequence[Sequence[str]], walks: Sequence[Sequence[str]]) -> None:
    """The tables."""
    head = (*HEAD, *CALIBRATED) if machines else HEAD
    rows = [one.row() for one in paths]
    table(head, [[*row, *[""] * (len(head) - len(row))] for row in rows])
    say()
    if machines:
        means = [
            f"{statistics.geometric_mean(float(row[at]) for row in machines):.2f}" for at in range(4, len(MACHINE))
        ]
        table(MACHINE, [*machines, ["geometric mean", "", "", "", *means]])
        say(
            "machine: PropRAG's times are multiplied by this in the calibrated columns. It takes igraph to have had two threads "
            f"then (its default),\nso only {TWO_THREADS:g} of its time in one thread counts. The figure of then of one set is "
            "uncertain by some 40 %: the mean of all says more.\n"
            "Where texts are embedded, the encoder takes most of the time, and PageRank says less of how fast that is."
        )
        say()
    table(("statement_graph", "p50 ms", "p95", "cpu", "limit", "", "round trips a query"), walks)


if __name__ == "__main__":
    main()
