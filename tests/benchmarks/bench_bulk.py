"""A bulk load beside an ordinary ingest of the same made-up corpus: seconds of CPU by phase, and bytes in each store.

Both go to the servers of a state folder that `docker/local/servers.py start` made; Neo4j is emptied before each. CPU is that of
this process, of both servers and of the import tool. `--statements 1000000` needs about 30 GB of disk and 4 GB of memory beside the
servers. `--only bulk` leaves the ordinary ingest out. Starting Java for the import tool and for Neo4j costs some 40 s of CPU
whatever the size. With `--leave PREFIX` the corpus stays; `--only ask --leave PREFIX` then asks it questions.

    HLGRAPH_TEST_SERVERS=FOLDER PYTHONPATH=tests/support:docker/local python tests/benchmarks/bench_bulk.py [--statements 100000]
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from bulk_worker import importing
from live_stores import empty, neo4j_of
from measure import memory_line, say, table
from opensearch_fixture import opened as opened_vectors
from opensearch_fixture import settings_of

import hlgraph
from hlgraph.chunk import WholeChunker
from hlgraph.evaluate.bench import MadeUpCorpus, MadeUpExtractor, corpus_name, questions_for
from hlgraph.ingest import pipeline
from hlgraph.ingest.bulk_load import BulkOptions, bulk_load
from hlgraph.ingest.options import IngestOptions
from hlgraph.ingest.report import Report
from hlgraph.ingest.run import Job
from hlgraph.settings import Settings
from hlgraph.testing.corpus import SeededEmbedder
from local_servers import state

ASKED = ("chunk", "statement", "path", "local", "fused", "auto")
_QUESTIONS, _WARMING = 40, 5
_INGEST = {"look", "read", "compare", "extract", "embed", "persist"}


class Meter:
    """CPU seconds of this process, its children and both servers, by phase."""

    def __init__(self, folder: Path) -> None:
        self.spent: Counter[tuple[str, str]] = Counter()
        self._folder = folder
        self._phase = ""
        self._last = self._now()

    def enter(self, phase: str) -> None:
        """Count what was used since the last call for the phase that ends."""
        now = self._now()
        for name, (mark, seconds) in now.items():
            before, used = self._last[name]
            self.spent[self._phase, name] += seconds - (used if mark == before else 0.0)
        self._last, self._phase = now, phase

    def _now(self) -> dict[str, tuple[int, float]]:
        own, tools = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        found = state.read(self._folder)
        servers = {"Neo4j": found.neo4j, "OpenSearch": found.opensearch}
        return {
            "hlgraph": (0, own.ru_utime + own.ru_stime),
            "import tool": (0, tools.ru_utime + tools.ru_stime),
            **{name: _of_process(server.pid if server else 0) for name, server in servers.items()},
        }


def _of_process(pid: int) -> tuple[int, float]:
    try:
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0.0
    return pid, (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measured(servers: SimpleNamespace, settings: Settings, work: Callable[[Meter], object], *, statements: int) -> None:
    """Run on empty servers, and print."""
    empty(servers)
    before = _size(servers.folder / "opensearch" / "data")
    meter, start = Meter(servers.folder), time.perf_counter()
    work(meter)
    meter.enter("")
    seconds = time.perf_counter() - start
    phases = list(dict.fromkeys(phase for phase, _ in meter.spent if phase))
    names = ("hlgraph", "import tool", "Neo4j", "OpenSearch")
    rows = [
        [phase, *(f"{meter.spent[phase, name]:.1f}" for name in names), f"{_sum(meter, phase):.1f}"] for phase in phases
    ]
    total = [sum(meter.spent[phase, name] for phase in phases) for name in names]
    rows.append(["all", *(f"{part:.1f}" for part in total), f"{sum(total):.1f}"])
    table(("phase, CPU s", *names, "all"), rows)
    with hlgraph.connect(settings, embedder=SeededEmbedder()) as graph:
        (stats,) = graph.stats()
        assert stats.records["statement"] == statements
    neo4j = _size(servers.folder / "neo4j" / "data" / "databases" / "neo4j")
    vectors = _size(servers.folder / "opensearch" / "data") - before
    say(
        f"{seconds:.0f} s by the clock, {1e3 * sum(total) / statements:.2f} CPU ms a statement, Neo4j "
        f"{neo4j / statements:,.0f} and OpenSearch {vectors / statements:,.0f} bytes a statement; {memory_line()}\n"
    )


def ask(settings: Settings, questions: Sequence[str]) -> None:
    """Print milliseconds by the clock of each strategy, and those of the first question; the first few are not counted."""
    rows = []
    with hlgraph.connect(settings, embedder=SeededEmbedder()) as graph:
        for strategy in ASKED:
            times = []
            for question in questions:
                start = time.perf_counter()
                graph.search(question, strategy=strategy, k=20)
                times.append(1e3 * (time.perf_counter() - start))
            kept = sorted(times[_WARMING:])
            rows.append((strategy, f"{times[0]:,.0f}", *(f"{np.quantile(kept, part):,.1f}" for part in (0.5, 0.95))))
    table(("strategy", "first, ms", "p50, ms", "p95, ms"), rows)
    say(memory_line())


def _sum(meter: Meter, phase: str) -> float:
    return sum(seconds for (name, _), seconds in meter.spent.items() if name == phase)


def show(servers: SimpleNamespace, given: argparse.Namespace, *, folder: Path) -> None:
    """Both ways, one after the other."""
    statements = given.statements
    corpus = MadeUpCorpus(statements)
    index = replace(settings_of(servers.opensearch), prefix=given.leave or f"bench-{uuid.uuid4().hex[:8]}")
    settings = Settings(
        store=servers.neo4j.url,
        vectors=servers.opensearch.url,
        corpus=corpus_name(statements),
        neo4j=neo4j_of(servers),
        opensearch=index,
    )

    def run(job: Job) -> Report:
        steps = pipeline.Steps(WholeChunker(), MadeUpExtractor(corpus), SeededEmbedder())
        return pipeline.ingest(corpus.documents(), job.corpus, stores=job.stores, steps=steps)

    def in_bulk(meter: Meter) -> object:
        def told(at: hlgraph.Progress) -> None:
            names = {**dict.fromkeys(_INGEST, "ingest"), "re-index": "migrate"}
            meter.enter("verify" if at.step.startswith("check") else names.get(at.step, at.step))

        bulk = BulkOptions(folder, importing(servers))
        with hlgraph.connect(settings, embedder=SeededEmbedder()) as graph:
            return bulk_load(graph.ingestion, (), options=IngestOptions(), bulk=bulk, on_progress=told, run=run)

    def ordinary(meter: Meter) -> object:
        meter.enter("ingest")
        with hlgraph.connect(settings, embedder=SeededEmbedder()) as graph:
            return graph.ingestion.bring((), IngestOptions(), run=run)

    if given.only == "ask":
        ask(settings, questions_for(statements, _QUESTIONS))
        return
    for name, work in (("bulk", in_bulk), ("ordinary", ordinary)):
        if given.only not in ("", name):
            continue
        say(f"{name}: {statements:,} statements")
        if given.leave:
            measured(servers, settings, work, statements=statements)
            return
        with opened_vectors(servers.opensearch, prefix=index.prefix):
            measured(servers, settings, work, statements=statements)
    empty(servers)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=100_000, help="size of the corpus, a multiple of 10")
    parser.add_argument("--only", choices=("bulk", "ordinary", "ask"), default="", help="leave the others out")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the bulk load keeps its files")
    parser.add_argument(
        "--leave", default="", metavar="PREFIX", help="leave the first corpus there, under this prefix of indexes"
    )
    given = parser.parse_args()
    servers = Path(os.environ["HLGRAPH_TEST_SERVERS"]).absolute()
    found = state.read(servers)
    both = SimpleNamespace(folder=servers, neo4j=found.neo4j, opensearch=found.opensearch)
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as made:
        show(both, given, folder=(given.folder or Path(made)) / "load")


if __name__ == "__main__":
    main()
