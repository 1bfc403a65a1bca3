"""What HTTP adds to the calls of the SDK: time of one caller, throughput and spread of 32 callers, and the first sentence.

The server runs in a process of its own, on the samples. The calls of both take turns, on the same questions. Memory and open files
of the server are compared before and after all calls. ``--minutes N`` also asks for so long, mixed with ingests.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from server_process import ServerProcess, running

import hlgraph

SAMPLES = Path(hlgraph.__file__).parent / "samples"
QUESTIONS = Path(__file__).parents[1] / "data" / "sample_questions.jsonl"
CLIENTS = 32
ROUNDS = {"chunk": 20, "auto": 2}
CALLS = {"chunk": 320, "auto": 96}  # of all clients together
STRATEGIES = ("chunk", "auto")
_NEW = itertools.count()


class Client:
    """One connection to the server."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def post(self, route: str, body: object, accept: str = "application/json", until: bytes = b"") -> None:
        """Ask, and read the answer to its end; ``until`` is what is waited for first."""
        headers = {"content-type": "application/json", "accept": accept}
        self._connection.request("POST", f"/v1/corpora/default/{route}", json.dumps(body), headers)
        reply = self._connection.getresponse()
        assert reply.status == 200, reply.read()
        while until and until not in reply.readline():
            pass
        if not until:
            reply.read()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of a call."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1_000


def spread(times: Sequence[float]) -> tuple[float, float, float]:
    """Median, 95th percentile and maximum."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[-1]


def processor_time(pid: int) -> float:
    """Milliseconds of processor time that a process has used, which other processes on the machine hardly change."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


def one_caller(graph: hlgraph.HLGraph, server: ServerProcess, questions: Sequence[str], *, strategy: str) -> None:
    """Both by turns, one call at a time; then each alone, for the processor time of a call."""
    client = Client(server.url)
    own: list[float] = []
    over: list[float] = []
    for number in range(ROUNDS[strategy] + 1):
        for question in questions:
            asked = {"question": question, "strategy": strategy}
            both = [
                timed(lambda: graph.search(question, strategy=strategy)),  # noqa: B023
                timed(lambda: client.post("search", asked)),  # noqa: B023
            ]
            if number:  # the first round warms both
                own.append(both[0])
                over.append(both[1])
    (p50, p95, _), (http50, http95, _) = spread(own), spread(over)
    said = f"{strategy:6} one caller: SDK p50 {p50:.1f} p95 {p95:.1f} ms; HTTP p50 {http50:.1f} p95 {http95:.1f} ms; "
    costs = []
    for pid, call in (
        (os.getpid(), lambda question: graph.search(question, strategy=strategy)),
        (server.process.pid, lambda question: client.post("search", {"question": question, "strategy": strategy})),
    ):
        start = processor_time(pid)
        for _ in range(ROUNDS[strategy]):
            for question in questions:
                call(question)
        costs.append((processor_time(pid) - start) / (ROUNDS[strategy] * len(questions)))
    client.close()
    said += f"processor: SDK {costs[0]:.2f} ms, server {costs[1]:.2f} ms; "
    say(said + f"HTTP adds {http50 - p50:.2f} ms to the p50 (at most 3), {http95 - p95:.2f} ms to the p95 (at most 10)")


def many(
    ask: Callable[[int], Callable[[str], object]], questions: Sequence[str], *, calls: int
) -> tuple[float, list[float]]:
    """Calls per second of 32 threads, and the time of each call. Each question is new, so that its vector is in no cache."""
    times: list[float] = []

    def run(number: int) -> None:
        call = ask(number)
        for at in range(calls // CLIENTS):
            question = f"{questions[(number + at) % len(questions)]} ({next(_NEW)})"
            times.append(timed(lambda: call(question)))  # noqa: B023

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return calls / (time.perf_counter() - start), times


def many_callers(graph: hlgraph.HLGraph, url: str, questions: Sequence[str], *, strategy: str) -> None:
    """32 callers at once: of the SDK in this process, then of the server."""

    def over_http(_: int) -> Callable[[str], object]:
        client = Client(url)
        return lambda question: client.post("search", {"question": question, "strategy": strategy})

    rates: list[float] = []
    for _ in range(2):  # the first run warms both
        own, _ = many(
            lambda _: lambda question: graph.search(question, strategy=strategy), questions, calls=CALLS[strategy]
        )
        over, times = many(over_http, questions, calls=CALLS[strategy])
        rates.append(over / own)
    p50, p95, worst = spread(times)
    said = f"{strategy:6} {CLIENTS} callers: SDK {own:.0f}/s, HTTP {over:.0f}/s, ratio {rates[-1]:.2f} (at least .9); "
    say(said + f"p50 {p50:.0f} p95 {p95:.0f} max {worst:.0f} ms, max/p50 {worst / p50:.1f} (at most 5)")


def first_sentence(url: str, questions: Sequence[str]) -> None:
    """From the request to the first words of an answer on the wire, beside a search."""
    client = Client(url)
    own: list[float] = []
    over: list[float] = []
    for number in range(ROUNDS["auto"] + 1):
        for question in questions:
            search = timed(lambda: client.post("search", {"question": question, "k": 20}))  # noqa: B023
            listener = Client(url)
            first = timed(
                lambda: listener.post("answer", {"question": question}, "text/event-stream", until=b"event: text")  # noqa: B023
            )
            listener.close()
            if number:
                own.append(search)
                over.append(first)
    (p50, _, _), (first50, _, _) = spread(own), spread(over)
    say(
        f"first sentence: search p50 {p50:.1f} ms, first words p50 {first50:.1f} ms, ratio {first50 / p50:.2f} (at most 1.3)"
    )


def held_by(server: ServerProcess) -> tuple[float, int]:
    """Resident MiB and open files of the server."""
    folder = Path(f"/proc/{server.process.pid}")
    lines = (folder / "status").read_text().splitlines()
    resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return resident / 1_024, len(list((folder / "fd").iterdir()))


def mixed(server: ServerProcess, questions: Sequence[str], *, minutes: float) -> None:
    """Searches, answers and ingests, until the minutes are over."""
    client, end, number = Client(server.url), time.monotonic() + minutes * 60, 0
    while time.monotonic() < end:
        question = questions[number % len(questions)]
        client.post("answer" if number % 5 == 0 else "search", {"question": question})
        if number % 50 == 0:
            server.done(server.ingest("load", [{"uri": f"load/{number % 500}", "text": f"Ada left Bremen {number}."}]))
        number += 1
    client.close()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0)
    minutes = parser.parse_args().minutes
    questions = [json.loads(line)["question"] for line in QUESTIONS.read_text().splitlines()][:12]
    with tempfile.TemporaryDirectory() as folder, hlgraph.connect(f"hlgraph://{folder}/store") as graph:
        graph.ingest([SAMPLES])
        with running(Path(folder)) as server:
            for strategy in STRATEGIES:
                one_caller(graph, server, questions, strategy=strategy)
            before = held_by(server)
            for strategy in STRATEGIES:
                many_callers(graph, server.url, questions, strategy=strategy)
            first_sentence(server.url, questions)
            if minutes:
                mixed(server, questions, minutes=minutes / 10)
                before = held_by(server)
                mixed(server, questions, minutes=minutes * 0.9)
            after = held_by(server)
            say(f"server: {before[0]:.0f} MiB, {before[1]} files; at the end {after[0]:.0f} MiB, {after[1]} files")


if __name__ == "__main__":
    main()
