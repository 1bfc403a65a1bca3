"""Every strategy on the servers with the image of a corpus, beside the embedded store, on interleaved questions.

The same passages are ingested into the embedded store and into the servers. Each question is asked of the embedded store and of
the servers (`neo4j.ranking: auto`), with `--without-image` also of the servers with `neo4j.ranking: server`, in turns, and in
the opposite order every other time. Round trips, rows and bytes are those that an explanation counts: with what the process has
kept (median and most), and of a process that has kept nothing (most). With `--keep FOLDER` what was ingested stays for the next
run: the embedded store in the folder, the corpus on the servers. `--first` prints what the first question of a process takes that
finds an image, and its memory. Run with HLGRAPH_TEST_SERVERS naming the state folder of servers that are up (`make servers`).

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_image.py [--set musique_oie] [--passages 1500] [--questions 12]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluation_sets import BenchmarkSet, open_set, origin_line
from ingest_keywords import keywords
from measure import MEGABYTE, say, seconds_of, table

import hlgraph
from hlgraph.evaluate.bench import memory
from hlgraph.models.cache import CachedEmbedder, cache_file
from hlgraph.models.install import load_local
from hlgraph.models.protocols import Embedder
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import Settings, load
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.server import Server
from hlgraph.testing.embedder import WordEmbedder

STRATEGIES = (
    *("chunk", "chunk_rerank", "chunk_entity", "statement", "statement_graph", "topic", "topic_graph"),
    *("path", "local", "diameter", "fused", "auto", "global"),
)
CORPUS = "bench-image"
K = 20
_TICK = os.sysconf("SC_CLK_TCK")
_WARMING = ("chunk_entity", "topic", "fused")
_TOLD = 6  # questions whose requests are counted


@dataclass(slots=True)
class Cost:
    """What the questions of one strategy cost in one way.

    Attributes
    ----------
    times : milliseconds of each question
    cpu : seconds of Neo4j's processor time, of all questions
    trips : round trips of each question that was explained, by store
    rows, bytes : rows and bytes of the answers of both servers, of all questions that were explained
    """

    times: list[float] = field(default_factory=list)
    cpu: float = 0.0
    trips: dict[str, list[int]] = field(default_factory=lambda: {"neo4j": [], "opensearch": []})
    rows: int = 0
    bytes: int = 0


def server_cpu(pid: int) -> float:
    """Seconds of processor time that a process has used; 0 where the system does not tell."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return 0.0
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def compare(
    graphs: dict[str, HLGraph], questions: Sequence[str], *, strategy: str, pid: int
) -> tuple[dict[str, Cost], dict[str, int]]:
    """The cost in each way, and how many questions had the same evidence in the same order with the image as in each other."""
    found = {name: Cost() for name in graphs}
    same = dict.fromkeys(graphs, 0)
    for round_ in range(2):  # the first one warms plans and caches
        for number, question in enumerate(questions):
            ids: dict[str, list[str]] = {}
            for name in list(graphs)[:: -1 if number % 2 else 1]:
                graph = graphs[name]
                before, start = server_cpu(pid), time.perf_counter()
                result = graph.search(question, strategy=strategy, k=K)
                milliseconds = 1000 * (time.perf_counter() - start)
                ids[name] = [item.statement_id or item.chunk_id for item in result.evidence]
                if round_:
                    found[name].times.append(milliseconds)
                    found[name].cpu += server_cpu(pid) - before
            for name, found_ids in ids.items():
                same[name] += bool(round_) and ids["image"] == found_ids
    for question in questions[:_TOLD]:
        for name, graph in graphs.items():
            count(found[name], graph, question, strategy=strategy)
    return found, same


def warm(graphs: Sequence[HLGraph], questions: Sequence[str]) -> None:
    """Asks the servers other questions: a server that has just started interprets what one in use has compiled."""
    for question in questions:
        for graph in graphs:
            for strategy in _WARMING:
                graph.search(question, strategy=strategy, k=K)


def count(cost: Cost, graph: HLGraph, question: str, *, strategy: str) -> None:
    """Adds the requests of one question."""
    told = {item.store: item for item in graph.search(question, strategy=strategy, k=K, explain=True).explain.stores}
    for store, trips in cost.trips.items():
        trips.append(told[store].round_trips if store in told else 0)
        cost.rows += told[store].rows if store in told else 0
        cost.bytes += told[store].bytes if store in told else 0


def fill_line(settings: Settings, scratch: Path) -> str:
    """How long the image takes to fill, its bytes, and what it holds."""
    pid = json.loads((Path(os.environ["HLGRAPH_TEST_SERVERS"]) / "servers.json").read_text())["neo4j"]["pid"]
    server = Server(settings.store, settings.neo4j)
    images = Images(server, scratch / "filled", most=settings.neo4j.image_links)
    before, trips = server_cpu(pid), server.round_trips
    seconds = seconds_of(lambda: images.current(CORPUS))
    cpu, trips = server_cpu(pid) - before, server.round_trips - trips
    held = images.current(CORPUS)
    size = sum(path.stat().st_size for path in (scratch / "filled").rglob("*") if path.is_file())
    server.close()
    nodes, links = (0, 0) if held is None else (held.image.nodes.size, held.image.count(hlgraph.Relationship))
    return (
        f"image: {nodes:,} nodes, {links:,} links, {size / MEGABYTE:.1f} MB, filled in {seconds:.1f} s "
        f"({cpu:.1f} s of Neo4j's processor time, {trips} round trips)"
    )


def first_line(question: str, *, folder: Path, strategy: str, is_by_words: bool) -> str:
    """What the first question of a new process takes with an image there, and its memory."""
    script = [sys.executable, __file__, "--first", question, "--keep", str(folder), "--strategy", strategy]
    return subprocess.run(
        [*script, *(["--words"] if is_by_words else [])], check=True, capture_output=True, text=True
    ).stdout.strip()


def ask_first(chosen: argparse.Namespace, settings: Settings) -> None:
    """What a new process does for :func:`first_line`."""
    with contextlib.ExitStack() as closing:
        embedder = embedder_of(chosen, closing)
        embedder.embed(["warm"])
        opened = time.perf_counter()
        graph = closing.enter_context(hlgraph.connect(settings, corpus=CORPUS, embedder=embedder))
        graph.search(chosen.first, strategy=chosen.strategy, k=K)
        seconds, held = time.perf_counter() - opened, memory()
        again = seconds_of(lambda: graph.search(chosen.first, strategy=chosen.strategy, k=K))
    mapped = sum(path.stat().st_size for path in (Path(chosen.keep) / "images").rglob("*") if path.is_file()) / MEGABYTE
    say(
        f"first {chosen.strategy} of a process: {seconds:.2f} s, again {1000 * again:.0f} ms; memory: "
        f"{held.own or 0:.0f} MB of its own, {held.peak or 0:.0f} MB at most with mapped files; files of the image {mapped:.1f} MB"
    )


def embedder_of(chosen: argparse.Namespace, closing: contextlib.ExitStack) -> Embedder:
    """The embedder that the options name."""
    if chosen.words:
        return WordEmbedder(384)
    choice = load().models
    encoder = load_local(choice.embedder, root=Path(choice.root) if choice.root else None)
    return closing.enter_context(contextlib.closing(CachedEmbedder(encoder, cache_file(choice.cache))))


def row_of(strategy: str, costs: dict[str, Cost], unkept: Cost, *, told: str) -> list[str]:
    """One row of the table."""
    median = {name: statistics.median(cost.times) for name, cost in costs.items()}
    shown = costs["image"]
    questions = len(shown.trips["neo4j"])
    return [
        strategy,
        *(f"{median[name]:.1f}" for name in costs),
        f"{median['image'] / median['embedded']:.1f}",
        *(f"{statistics.median(some):.0f}, {max(some)}" for some in shown.trips.values()),
        f"{shown.rows / questions:,.0f}",
        f"{shown.bytes / questions / 1024:,.0f}",
        ", ".join(str(max(some)) for some in unkept.trips.values()),
        f"{1000 * shown.cpu / len(shown.times):.1f}",
        told,
    ]


def ingested(graphs: dict[str, HLGraph], item: BenchmarkSet) -> None:
    """Ingests the passages of a set into both; what is there already is left alone."""
    files = tuple(str(path) for path in item.dataset.extractions)
    options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
    documents = [hlgraph.Document(one.id, one.text, one.title, key=one.id) for one in item.passages]
    for name in ("embedded", "image"):
        seconds = seconds_of(lambda g=graphs[name]: g.ingest(documents, **keywords(options)))
        say(f"{name}: {len(documents):,} passages ingested, or found, in {seconds:.0f} s")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="musique_oie")
    parser.add_argument("--passages", type=int, default=1_500)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--warm", type=int, default=40, help="other questions, asked of the servers before")
    parser.add_argument("--words", action="store_true", help="embed by words, without a model")
    parser.add_argument("--keep", help="keep what was ingested in this folder")
    parser.add_argument("--without-image", action="store_true", help="also ask the servers without an image")
    parser.add_argument("--first", help="ask this question in a new process, and no other")
    parser.add_argument("--strategy", action="append", help="this strategy alone; may be given several times")
    chosen = parser.parse_args()
    state = Path(os.environ["HLGRAPH_TEST_SERVERS"])
    pid = json.loads((state / "servers.json").read_text())["neo4j"]["pid"]
    with contextlib.ExitStack() as closing:
        scratch = Path(chosen.keep or closing.enter_context(tempfile.TemporaryDirectory(prefix="hlgraph-bench-")))
        servers = load(state / "hlgraph.yaml")
        ways = {
            way: replace(servers, neo4j=replace(servers.neo4j, ranking=ranking, images=str(scratch / "images")))
            for way, ranking in (("image", "auto"), ("server", "server"))[: 2 if chosen.without_image else 1]
        }
        if chosen.first:
            chosen.keep, chosen.strategy = str(scratch), chosen.strategy[0]
            ask_first(chosen, ways["image"])
            return
        say(origin_line())
        item = open_set(
            chosen.set, scratch / "data", passages=chosen.passages, questions=chosen.questions + chosen.warm
        )
        targets: dict[str, str | Settings] = {"embedded": f"hlgraph://{scratch}/store", **ways}
        embedder = embedder_of(chosen, closing)

        def opened(target: str | Settings, stack: contextlib.ExitStack) -> HLGraph:
            return stack.enter_context(hlgraph.connect(target, corpus=CORPUS, embedder=embedder))

        graphs = {name: opened(target, closing) for name, target in targets.items()}
        ingested(graphs, item)
        say(fill_line(servers, scratch))
        rows = []
        questions = [one.text for one in item.dataset.questions[: chosen.questions]]
        others = [one.text for one in item.dataset.questions[chosen.questions :]]
        warm([graphs[way] for way in ways], others)
        for strategy in chosen.strategy or STRATEGIES:
            costs, same = compare(graphs, questions, strategy=strategy, pid=pid)
            unkept = Cost()
            for question in questions[:2]:
                with contextlib.ExitStack() as stack:
                    count(unkept, opened(ways["image"], stack), question, strategy=strategy)
            told = ", ".join(str(same[name]) for name in graphs if name != "image") + f" of {len(questions)}"
            rows.append(row_of(strategy, costs, unkept, told=told))
            say(" ".join(rows[-1]))
        head = [
            "p50 ms",
            *graphs,
            "image/embedded",
            "Neo4j trips",
            "OpenSearch trips",
            "rows",
            "KiB",
            "kept nothing",
            "cpu ms",
        ]
        table([*head, "same as " + ", ".join(name for name in graphs if name != "image")], rows)
        say(
            "trips: median, most; with nothing kept: most to Neo4j, to OpenSearch, with the look at the schema; cpu is Neo4j's"
        )
        for strategy in ("statement", "path"):
            say(first_line(questions[0], folder=scratch, strategy=strategy, is_by_words=chosen.words))


if __name__ == "__main__":
    main()
