"""What an ingest costs the servers: processor time, bytes and round trips a statement, and the relationships that it stores.

Passages are ingested into live servers, with made-up vectors (so that what is measured is writing), in two halves: the
first warms the servers, the second is measured. Processor time is that of the server's processes, and is known on Linux alone;
bytes are those that clients send. Run with HLGRAPH_TEST_SERVERS naming the state folder of servers that are up
(`make servers`); the graph database is emptied first.

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_persist.py [--set musique_oie] [--passages 600]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import resource
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from bench_image import server_cpu
from evaluation_sets import open_set, origin_line
from ingest_keywords import keywords
from live_stores import EMPTY
from measure import say, table
from numpy.typing import NDArray
from opensearch_fixture import remove
from tcp_proxy import passed_on

import hlgraph
from hlgraph.sdk.client import IngestOptions
from hlgraph.settings import Settings, load
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore

CORPUS = "bench-persist"
_COUNT = "MATCH ()-[r]->() RETURN type(r) AS type, count(r) AS number ORDER BY number DESC, type"


class DenseTexts:
    """Embeds every text as a direction of its own: as many bytes as the vectors of a model, and hardly a synonym."""

    fingerprint = "dense texts"
    dimensions = 384

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors."""
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
        found = np.array([np.random.default_rng(seed).normal(size=self.dimensions) for seed in seeds], dtype=np.float32)
        found = found.reshape(-1, self.dimensions)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def forget(self, texts: Sequence[str]) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class Used:
    """What was used up to a moment: seconds of processors and of the clock, bytes that clients sent."""

    neo4j: float
    opensearch: float
    own: float
    clock: float
    to_neo4j: int
    to_opensearch: int

    def since(self, before: Used) -> Used:
        """The difference."""
        names = self.__slots__
        return Used(*(getattr(self, name) - getattr(before, name) for name in names))


@contextlib.contextmanager
def counted_ways(settings: Settings, found: dict[str, Any]) -> Iterator[tuple[Settings, Any]]:
    """Settings whose urls lead through proxies that count, and a function that tells what was used."""
    with contextlib.ExitStack() as closing:
        graph = closing.enter_context(passed_on(settings.store))
        vectors = closing.enter_context(passed_on(str(settings.vectors)))

        def used() -> Used:
            own = resource.getrusage(resource.RUSAGE_SELF)
            return Used(
                server_cpu(found["neo4j"]["pid"]),
                server_cpu(found["opensearch"]["pid"]),
                own.ru_utime + own.ru_stime,
                time.perf_counter(),
                graph.sent,
                vectors.sent,
            )

        yield replace(settings, store=graph.url, vectors=vectors.url), used


def rows_of(used: Used, statements: int) -> list[list[str]]:
    """The figures a statement."""
    return [
        ["Neo4j, CPU-ms", f"{1000 * used.neo4j / statements:.2f}"],
        ["OpenSearch, CPU-ms", f"{1000 * used.opensearch / statements:.2f}"],
        ["this process, CPU-ms (with the proxies)", f"{1000 * used.own / statements:.2f}"],
        ["kilobytes to Neo4j", f"{used.to_neo4j / statements / 1000:.2f}"],
        ["kilobytes to OpenSearch", f"{used.to_opensearch / statements / 1000:.2f}"],
        ["statements a second", f"{statements / used.clock:.0f}"],
    ]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="musique_oie")
    parser.add_argument("--passages", type=int, default=600)
    chosen = parser.parse_args()
    state = Path(os.environ["HLGRAPH_TEST_SERVERS"])
    found = json.loads((state / "servers.json").read_text())
    settings = load(state / "hlgraph.yaml")
    settings = replace(settings, opensearch=replace(settings.opensearch, prefix=f"b{uuid.uuid4().hex[:8]}"))
    server = Server(settings.store, settings.neo4j)
    server.schema(EMPTY)
    say(origin_line())
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as folder, counted_ways(settings, found) as (ways, used):
        item = open_set(chosen.set, Path(folder) / "data", passages=chosen.passages, questions=1)
        files = tuple(str(path) for path in item.dataset.extractions)
        options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
        documents = [hlgraph.Document(one.id, one.text, one.title, key=one.id) for one in item.passages]
        half = len(documents) // 2
        with hlgraph.connect(ways, corpus=CORPUS, embedder=DenseTexts()) as graph:
            graph.ingest(documents[:half], **keywords(options))
            time.sleep(5)  # what the servers do afterwards
            before = used()
            report = graph.ingest(documents[half:], **keywords(options))
            last = used()
            time.sleep(5)
            after = replace(used(), clock=last.clock)
    statements, seconds = report.added["statement"], report.seconds["persist"]
    say(f"{len(documents) - half:,} passages of {chosen.set}, {statements:,} statements; persisting {seconds:.1f} s")
    table(["a statement", ""], rows_of(after.since(before), statements))
    with server.driver().session(database=found["neo4j"]["database"]) as session:
        counts = [(row["type"], row["number"]) for row in session.run(_COUNT)]
    table(
        ["relationships", "", "share"],
        [[name, f"{number:,}", f"{number / sum(n for _, n in counts):.0%}"] for name, number in counts],
    )
    server.close()
    with OpenSearchVectorStore(str(settings.vectors), settings.opensearch) as store:
        remove(store)


if __name__ == "__main__":
    main()
