"""How much faster two workers on Ray extract than one process does, when the chat model is what takes the time.

The model is a local server of OpenAI's interface that answers after a fixed time, in a process of its own; every process
makes the same number of calls at once. Required: two workers are at least 1.6 times as fast as one process, and write the
identical graph. The ratio counts the cluster's start and end, too; without them it stands beside.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import say, table

import hlgraph
from hlgraph.client import HLGraph, IngestOptions
from hlgraph.integrations.ray import ingest, local_cluster
from hlgraph.models.ledger import total
from hlgraph.pipeline import Report
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.testing.snapshot import snapshot

RATIO = 1.6
WORKERS = 2
_OPTIONS = IngestOptions(extract="chat", is_chunked=True)
_SERVER = """
import sys, time
from pytest_httpserver import HTTPServer
from chat_server import ChatServer
with HTTPServer(threaded=True) as server:
    chat = ChatServer(server, seconds=float(sys.argv[1]))
    print(chat.url, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def chat_model(seconds: float) -> Iterator[str]:
    """The url of a server that answers after so many seconds."""
    command = [sys.executable, "-c", _SERVER, str(seconds)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process.stdout.readline().strip()  # type: ignore[union-attr]
        finally:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait()


def documents(count: int) -> list[hlgraph.Document]:
    """Passages of one chunk each."""
    filler = "The ferry crosses the river at dawn, and the keeper notes the level of the water. " * 12
    return [
        hlgraph.Document(f"passage:{n}", f"Station {n} is on the line of Velm. {filler}", "Line") for n in range(count)
    ]


def run(folder: Path, url: str, bring: Callable[[HLGraph], Report], concurrency: int) -> tuple[float, object, int]:
    """Seconds of an ingest, the graph, and the calls that it paid."""
    models = ModelSettings(
        chat="openai:m", chat_url=url, concurrency=concurrency, cache=str(folder), quarantine=str(folder / "quarantine")
    )
    with hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder()) as graph:
        start = time.perf_counter()
        report = bring(graph)
        seconds = time.perf_counter() - start
        if report.failed or report.problems:
            raise SystemExit(f"the ingest failed: {[*report.failed, *report.problems][:3]}")
        return seconds, snapshot(graph._opened.stores, "default"), total(graph.ledger()).calls


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=240, metavar="N", help="one chunk, so two calls, each")
    parser.add_argument("--seconds", type=float, default=3.0, metavar="S", help="time of a call of the model")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="calls at once of one process")
    chosen = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "none is needed"
    given = documents(chosen.passages)
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name, chat_model(chosen.seconds) as url:
        folder = Path(name)
        here, want, calls = run(
            folder / "one", url, lambda graph: graph.ingest(given, options=_OPTIONS), chosen.concurrency
        )
        whole, got, whole_calls = run(
            folder / "whole",
            url,
            lambda graph: ingest(graph, given, options=_OPTIONS, workers=WORKERS),
            chosen.concurrency,
        )
        with local_cluster(WORKERS):
            on_ray, _, _ = run(
                folder / "up",
                url,
                lambda graph: ingest(graph, given, options=_OPTIONS, workers=WORKERS),
                chosen.concurrency,
            )
    say(
        f"{chosen.passages:,} passages, {calls:,} calls of {chosen.seconds:g} s, {chosen.concurrency} at once a process"
    )
    rows = [
        ("one process", f"{here:.1f}", ""),
        (f"Ray, {WORKERS} workers, with the cluster's start", f"{whole:.1f}", f"{here / whole:.2f}"),
        (f"Ray, {WORKERS} workers, in a cluster that is there", f"{on_ray:.1f}", f"{here / on_ray:.2f}"),
    ]
    table(("", "seconds", "times as fast"), rows)
    say(f"times as fast, at least {RATIO}: {'ok' if here / whole >= RATIO else 'UNDER'}")
    say(f"the identical graph: {'yes' if got == want else 'NO'}; calls paid {calls:,} and {whole_calls:,}")


if __name__ == "__main__":
    main()
