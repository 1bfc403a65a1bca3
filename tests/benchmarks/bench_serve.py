"""What HTTP adds to the calls of the SDK: time of one caller, throughput and spread of 32 callers, and the first sentence.

The server runs in a process of its own, on the samples. The calls of both take turns, on the same questions. Memory and open files
of the server are compared before and after all calls. ``--minutes N`` also asks for so long, mixed with ingests.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
from server_process import ServerProcess, running

import hlgraph

SAMPLES = Path(hlgraph.__file__).parent / "samples"
QUESTIONS = Path(__file__).parents[1] / "data" / "sample_questions.jsonl"
CLIENTS = 32
ROUNDS = {"chunk": 20, "auto": 6}
CALLS = {"chunk": 320, "auto": 64}  # of all clients together, in one turn
TURNS = 5
STRATEGIES = ("chunk", "auto")
_NEW = itertools.count(time.time_ns() // 1_000)


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
    pairs = statistics.median(each - alone for each, alone in zip(over, own, strict=True))
    said += f"HTTP adds {http50 - p50:.2f} ms to the p50 (at most 3; pair by pair {pairs:.2f}), "
    say(f"{said}{http95 - p95:.2f} ms to the p95 (at most 10)")


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


async def _client(url: str, requests: Iterator[bytes], times: list[float]) -> None:
    """One connection, which sends the next request as soon as it has the answer to the last."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1 << 20)
    for request in requests:
        start = time.perf_counter()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r")[0]))
        times.append((time.perf_counter() - start) * 1_000)
    writer.close()


def clients(url: str) -> None:
    """Send the requests on standard input from 32 connections; print the calls per second, and the time of each call."""
    given = json.load(sys.stdin)
    host, times = urlsplit(url).netloc, list[float]()
    requests = []
    for path, body in given:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        )
        requests.append(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
    left = iter(requests)

    async def run() -> float:
        start = time.perf_counter()
        await asyncio.gather(*(_client(url, left, times) for _ in range(CLIENTS)))
        return len(requests) / (time.perf_counter() - start)

    say(json.dumps((uvloop.run(run()), times)))


def over_http(url: str, requests: Sequence[tuple[str, object]]) -> tuple[float, list[float]]:
    """Calls per second of 32 connections of another process, and the time of each call."""
    command = [sys.executable, __file__, "--clients", url]
    ran = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=True)
    rate, times = json.loads(ran.stdout)
    return rate, times


def many_callers(graph: hlgraph.HLGraph, server: ServerProcess, questions: Sequence[str], *, strategy: str) -> None:
    """32 callers at once, by turns: of the SDK in this process, then of the server, whose clients are a process of their own."""
    path, calls = "/v1/corpora/default/search", CALLS[strategy]
    ratios, costs, times, slowest = list[float](), [[0.0], [0.0]], list[float](), list[float]()
    for number in range(TURNS + 1):
        before = processor_time(os.getpid()), processor_time(server.process.pid)
        own, _ = many(lambda _: lambda question: graph.search(question, strategy=strategy), questions, calls=calls)
        asked = [f"{questions[at % len(questions)]} ({next(_NEW)})" for at in range(calls)]
        after = processor_time(os.getpid())
        over, times = over_http(server.url, [(path, {"question": text, "strategy": strategy}) for text in asked])
        if number:  # the first turn warms both
            ratios.append(over / own)
            costs[0].append((after - before[0]) / calls)
            costs[1].append((processor_time(server.process.pid) - before[1]) / calls)
            slowest.append(max(times) / statistics.median(times))
    floor, _ = over_http(server.url, [("/v1/health", None)] * 2_000)
    said = f"{strategy:6} {CLIENTS} callers: SDK {own:.0f}/s, HTTP {over:.0f}/s, ratio p50 of {TURNS} turns "
    said += f"{statistics.median(ratios):.2f} (at least .9), {min(ratios):.2f} to {max(ratios):.2f}; "
    said += f"slowest/p50 {statistics.median(slowest):.1f}, at most {max(slowest):.1f} (at most 5); processor: SDK "
    say(
        f"{said}{statistics.median(costs[0][1:]):.1f} ms, server {statistics.median(costs[1][1:]):.1f} ms; /v1/health {floor:.0f}/s"
    )


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
            text = f"Ada left Bremen at {time.time_ns()}."  # new, so that the embedder is loaded
            server.done(server.ingest("load", [{"uri": f"load/{number % 500}", "text": text}]))
        number += 1
    client.close()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--clients", metavar="URL", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.clients:
        clients(given.clients)
        return
    minutes = given.minutes
    questions = [json.loads(line)["question"] for line in QUESTIONS.read_text().splitlines()][:12]
    with tempfile.TemporaryDirectory() as folder, hlgraph.connect(f"hlgraph://{folder}/store") as graph:
        graph.ingest([SAMPLES])
        with running(Path(folder)) as server:
            for strategy in STRATEGIES:
                one_caller(graph, server, questions, strategy=strategy)
            before = held_by(server)
            for strategy in STRATEGIES:
                many_callers(graph, server, questions, strategy=strategy)
            first_sentence(server.url, questions)
            if minutes:
                mixed(server, questions, minutes=minutes / 10)
                before = held_by(server)
                mixed(server, questions, minutes=minutes * 0.9)
            after = held_by(server)
            say(f"server: {before[0]:.0f} MiB, {before[1]} files; at the end {after[0]:.0f} MiB, {after[1]} files")


if __name__ == "__main__":
    main()
