"""Searches on the servers with the image of a corpus and without it, beside the embedded store, on interleaved questions.

The same passages are ingested into the embedded store and into the servers. Each question is asked of the embedded store, of
the servers with `neo4j.ranking: auto` and of the servers with `neo4j.ranking: server`, in turns, and in the opposite order
every other time. Round trips and rows are
those of Neo4j; its processor time is that of its process, and is known on Linux alone. Run with HLGRAPH_TEST_SERVERS naming
the state folder of servers that are up (`make servers`).

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_image.py [--set musique_oie] [--passages 1500] [--questions 12]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluation_sets import open_set, origin_line
from ingest_keywords import keywords
from measure import MEGABYTE, say, seconds_of, table

import hlgraph
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.install import load_local
from hlgraph.models.local.load import cache_file
from hlgraph.models.seams import Embedder
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import Settings, load
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.server import Server
from hlgraph.testing.embedder import WordEmbedder

STRATEGIES = ("statement", "statement_graph", "path", "local", "diameter", "fused", "auto")
CORPUS = "bench-image"
K = 20
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Cost:
    """What the questions of one strategy cost in one way: milliseconds each, and sums over all of them."""

    times: list[float] = field(default_factory=list)
    cpu: float = 0.0
    trips: int = 0
    rows: int = 0


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
    for question in questions[:4]:
        for name, graph in graphs.items():
            for cost in graph.search(question, strategy=strategy, k=K, explain=True).explain.stores:
                if cost.store == "neo4j":
                    found[name].trips += cost.round_trips
                    found[name].rows += cost.rows
    return found, same


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


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="musique_oie")
    parser.add_argument("--passages", type=int, default=1_500)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--words", action="store_true", help="embed by words, without a model")
    chosen = parser.parse_args()
    state = Path(os.environ["HLGRAPH_TEST_SERVERS"])
    pid = json.loads((state / "servers.json").read_text())["neo4j"]["pid"]
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as folder, contextlib.ExitStack() as closing:
        scratch, choice = Path(folder), load().models
        say(origin_line())
        embedder: Embedder = WordEmbedder(384)
        if not chosen.words:
            encoder = load_local(choice.embedder, root=Path(choice.root) if choice.root else None)
            embedder = closing.enter_context(contextlib.closing(CachedEmbedder(encoder, cache_file(choice.cache))))
        item = open_set(chosen.set, scratch / "data", passages=chosen.passages, questions=chosen.questions)
        servers = load(state / "hlgraph.yaml")
        ways = {
            way: replace(servers, neo4j=replace(servers.neo4j, ranking=ranking, images=str(scratch / "images")))
            for way, ranking in (("image", "auto"), ("server", "server"))
        }
        targets: dict[str, str | Settings] = {"embedded": f"hlgraph://{scratch}/store", **ways}
        graphs = {
            name: closing.enter_context(hlgraph.connect(target, corpus=CORPUS, embedder=embedder))
            for name, target in targets.items()
        }
        files = tuple(str(path) for path in item.dataset.extractions)
        options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
        documents = [hlgraph.Document(one.id, one.text, one.title, key=one.id) for one in item.passages]
        for name in ("embedded", "server"):
            graph = graphs[name]
            say(f"{name}: ingested in {seconds_of(lambda g=graph: g.ingest(documents, **keywords(options))):.0f} s")
        say(fill_line(servers, scratch))
        rows = []
        questions = [one.text for one in item.dataset.questions]
        for strategy in STRATEGIES:
            costs, same = compare(graphs, questions, strategy=strategy, pid=pid)
            median = {name: statistics.median(cost.times) for name, cost in costs.items()}
            one, two = costs["image"], costs["server"]
            count, told = len(questions), min(4, len(questions))
            rows.append(
                [
                    strategy,
                    *(f"{median[name]:.0f}" for name in ("embedded", "image", "server")),
                    f"{median['image'] / median['embedded']:.1f}",
                    f"{median['server'] / median['image']:.1f}",
                    *(f"{each.trips / told:.0f}" for each in (one, two)),
                    *(f"{each.rows / told:,.0f}" for each in (one, two)),
                    *(f"{1000 * each.cpu / count:.0f}" for each in (one, two)),
                    f"{same['embedded']}, {same['server']} of {count}",
                ]
            )
        head = ("p50 ms", "embedded", "image", "server", "image/embedded", "server/image")
        table((*head, "trips", "trips", "rows", "rows", "cpu ms", "cpu ms", "same as embedded, server"), rows)
        say("trips, rows and cpu ms a question are those of Neo4j: with the image, then by the server")


if __name__ == "__main__":
    main()
