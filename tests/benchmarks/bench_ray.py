"""How much faster two workers on Ray extract than one process does, when the chat model is what takes the time.

The model is a local server of OpenAI's interface that answers after a fixed time, in a process of its own; every process
makes the same number of calls at once. Required: two workers are at least 1.6 times as fast as one process, and write the
identical graph. The time of the whole ingest counts the start and the end of the cluster, some ten seconds of two
processors, too; that from the first call to the end of the last does not.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ingest_keywords import keywords
from measure import memory_line, say, table

import hlgraph
from hlgraph.ingest.report import Report
from hlgraph.integrations.ray import ingest
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

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


class Run(NamedTuple):
    """Seconds of an ingest, those of them from its first call to the end of its last, the graph, and the calls paid."""

    seconds: float
    calling: float
    graph: object
    calls: int


def run(folder: Path, url: str, bring: Callable[[HLGraph], Report], concurrency: int) -> Run:
    """Ingest, timed."""
    models = ModelSettings(
        chat="openai:m", chat_url=url, concurrency=concurrency, cache=str(folder), quarantine=str(folder / "quarantine")
    )
    with hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder()) as graph:
        start = time.perf_counter()
        report = bring(graph)
        seconds = time.perf_counter() - start
        if report.failed or report.problems:
            raise SystemExit(f"the ingest failed: {[*report.failed, *report.problems][:3]}")
        made = snapshot(graph._opened.stores, "default")
    with contextlib.closing(sqlite3.connect(folder / "store" / "ledger-1.sqlite")) as ledger:
        rows = ledger.execute("SELECT at, seconds FROM calls WHERE state = 'paid'").fetchall()
    paid = [(dt.datetime.fromisoformat(at).timestamp(), took) for at, took in rows]
    return Run(seconds, max(at + took for at, took in paid) - min(at for at, _ in paid), made, len(paid))


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
        one = run(Path(name) / "one", url, lambda graph: graph.ingest(given, **keywords(_OPTIONS)), chosen.concurrency)
        two = run(
            Path(name) / "two",
            url,
            lambda graph: ingest(graph, given, options=_OPTIONS, workers=WORKERS),
            chosen.concurrency,
        )
    say(
        f"{chosen.passages:,} passages, {one.calls:,} calls of {chosen.seconds:g} s, {chosen.concurrency} at once a process"
    )
    rows = [
        ("whole ingest, with the cluster's start and end", f"{one.seconds:.1f}", f"{two.seconds:.1f}"),
        ("from the first call to the end of the last", f"{one.calling:.1f}", f"{two.calling:.1f}"),
    ]
    table(("seconds", "one process", f"Ray, {WORKERS} workers"), rows)
    for name, ratio in (("whole", one.seconds / two.seconds), ("extraction", one.calling / two.calling)):
        say(f"{name}: {ratio:.2f} times as fast, at least {RATIO}: {'ok' if ratio >= RATIO else 'UNDER'}")
    say(f"the identical graph: {'yes' if one.graph == two.graph else 'NO'}; calls paid {one.calls:,} and {two.calls:,}")
    say(memory_line())


if __name__ == "__main__":
    main()
