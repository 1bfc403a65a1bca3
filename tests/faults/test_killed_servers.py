"""The worker or a server of an ingest into Neo4j and OpenSearch is killed at a random moment; the same command again completes it.

The stores then equal those of an uninterrupted run. ``HLGRAPH_FAULT_ROUNDS`` is how often each is killed. A server of hlgraph says
what is away, and goes on when it is back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import itertools
import json
import multiprocessing.process
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from command_worker import start_script
from killed_rows import edited, rows
from live_stores import empty, settings_for
from opensearch_fixture import opened as opened_vectors
from server_process import ServerProcess, running
from thoroughness import cases

from hlgraph.errors import StoreLockedError
from hlgraph.settings import Settings
from hlgraph.stores.open import open_stores
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.testing.corpus import snapshot
from local_servers import neo4j_server, opensearch_server
from local_servers import state as local_state

# Ingests a file of JSON lines in small batches, and deletes what is missing from it. Prints `ready` when it may write, and
# waits for no other writer. `lease=SECONDS` makes its right to write last so long.
_WORKER = """
import sys
from dataclasses import replace
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import HLGraphError
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import Remover, delete_missing
from hlgraph.read import covered, read
from hlgraph.settings import load
from hlgraph.stores.neo4j.lease import Lease
from hlgraph.stores.open import open_stores
from hlgraph.testing.embedder import WordEmbedder

settings, path, *how = sys.argv[1:]
if how:
    Lease.__init__.__kwdefaults__["seconds"] = int(how[0].removeprefix("lease="))
opened = open_stores(replace(load(settings), wait=0))
steps = pipeline.Steps(ContentDefinedChunker(80, 0.2), LocalExtractor(), WordEmbedder(), batch_sources=5)
seen = set()

def noted():
    for item in read([path]):
        seen.add(item.uri)
        yield item

try:
    with opened.closing:
        with opened.stores.graph.lock("c"):
            pass
        print("ready", flush=True)
        report = pipeline.ingest(noted(), "c", stores=opened.stores, steps=steps)
        delete_missing(report, covered([path]), corpus="c", keep=seen, remover=Remover(opened.stores))
except HLGraphError as error:
    sys.stderr.write(f"{type(error).__name__}: {error}\\n")
    sys.exit(3)
"""
_LAUNCHER = Path(__file__).parents[2] / "docker" / "local" / "servers.py"
_ROUNDS = int(os.environ.get("HLGRAPH_FAULT_ROUNDS", "0"))
_GAVE_UP = 3
_SERVERS = ("neo4j", "opensearch")


class Worker(NamedTuple):
    """A process that ingests, and the file with its errors."""

    process: multiprocessing.process.BaseProcess
    errors: Path

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        assert self.process.pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def ended(self) -> tuple[int | None, str]:
        """Its exit code and what it wrote to standard error, once it has ended."""
        self.process.join()
        return self.process.exitcode, self.errors.read_text(encoding="utf-8")


@dataclasses.dataclass
class Rig:
    """Both servers, the settings of a worker, and the two states of the file that it reads."""

    servers: Any
    settings: Settings
    folder: Path
    whole: list[Mapping[str, list[object]]] = dataclasses.field(default_factory=list)
    seconds: list[float] = dataclasses.field(default_factory=list)
    numbers: Iterator[int] = dataclasses.field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        documents = rows(7, cases(12, 24))
        self.states = (documents, edited(documents))
        self.path = self.folder / "rows.jsonl"
        self.config = self.folder / "settings.json"
        tree = dataclasses.asdict(self.settings)
        self.config.write_text(json.dumps({name: tree[name] for name in ("store", "vectors", "neo4j", "opensearch")}))
        self.config.chmod(0o600)

    def clear(self) -> None:
        """Both stores empty."""
        empty(self.servers)
        with opened_vectors(self.servers.opensearch, prefix=self.settings.opensearch.prefix):
            pass

    def start(self, stage: int, *more: str) -> Worker:
        """A worker that has begun to bring the stores to this state of the file."""
        self.path.write_text("".join(f"{json.dumps(row)}\n" for row in self.states[stage]), encoding="utf-8")
        said, errors = (self.folder / f"{name}-{next(self.numbers)}" for name in ("said", "errors"))
        process = start_script(_WORKER, self.config, self.path, *more, out=said, errors=errors)
        is_alive = True
        while not (said.exists() and said.read_text(encoding="utf-8")):
            if not is_alive:
                text = errors.read_text(encoding="utf-8")
                if "StoreLockedError" in text:
                    raise StoreLockedError(text)
                pytest.fail(text)
            is_alive = process.is_alive()
            time.sleep(0.005)
        return Worker(process, errors)

    def run(self, stage: int) -> None:
        """An ingest that nothing interrupts."""
        code, errors = self.start(stage).ended()
        assert code == 0, errors

    def state(self) -> Mapping[str, list[object]]:
        """What both stores hold; the doctor finds everything fine."""
        found = open_stores(self.settings)
        with found.closing:
            assert not [item for item in found.check() if not item.is_fine]
            return snapshot(found.stores, "c")

    def launch(self, *words: str) -> None:
        """A command of the launcher of the servers; it shows no password."""
        command = [sys.executable, str(_LAUNCHER), *words, "--state", str(self.servers.folder)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for word in self.passwords:
            assert word not in done.stdout + done.stderr

    @property
    def passwords(self) -> tuple[str, str]:
        return self.servers.neo4j.password, self.servers.opensearch.password

    def endpoint(self, name: str) -> Any:
        """The ports, the password and the version of a server, as its folder has them."""
        return dataclasses.replace(getattr(local_state.read(self.servers.folder), name), pid=0)

    def keep(self, name: str) -> None:
        """Write something into a server that no ingest would write again."""
        if name == "neo4j":
            neo4j_server.ask(self.servers.neo4j, "CREATE (:Kept {text: 'still here'})")
        else:
            made = opensearch_server.ask(self.servers.opensearch, "/kept/_doc?refresh=true", {"text": "still here"})
            assert made[0] == http.client.CREATED

    def kept(self, name: str) -> bool:
        """Whether it is there, once; it goes."""
        if name == "neo4j":
            found = neo4j_server.ask(self.servers.neo4j, "MATCH (n:Kept) WITH n, n.text AS text DELETE n RETURN text")
            return found == [["still here"]]
        _, count = opensearch_server.ask(self.servers.opensearch, "/kept/_count")
        with contextlib.closing(Connection(self.settings.vectors, self.settings.opensearch)) as connection:
            connection.send("DELETE", "/kept")
        return isinstance(count, dict) and count["count"] == 1


@pytest.fixture(scope="module")
def rig(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Both servers, after an ingest and an edit that nothing interrupted; ``whole`` is what was stored after each."""
    found = Rig(servers, settings_for(servers), tmp_path_factory.mktemp("rig"))
    found.clear()
    for stage in (0, 1):
        worker = found.start(stage)
        start = time.perf_counter()
        code, errors = worker.ended()
        assert code == 0, errors
        found.seconds.append((time.perf_counter() - start) / 2)  # the servers have planned its queries now
        found.whole.append(found.state())
    assert len(found.whole[1]["source"]) > 8
    yield found
    found.clear()


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(_ROUNDS or cases(1, 2)))
def test_a_killed_worker(rig: Rig, seed: int) -> None:
    rig.clear()
    rng = random.Random(seed)
    for stage in (0, 1):
        worker = rig.start(stage)
        time.sleep(rng.uniform(0, rig.seconds[stage]))
        worker.process.kill()
        worker.ended()
        rig.run(stage)
    assert rig.state() == rig.whole[1]


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(_ROUNDS or 1))
def test_a_worker_that_sleeps_longer_than_its_right_lasts(rig: Rig, seed: int) -> None:
    rig.clear()
    rng = random.Random(seed)
    sleeper = rig.start(0, "lease=2")
    time.sleep(rng.uniform(0, rig.seconds[0]))
    sleeper.send(signal.SIGSTOP)
    end = time.monotonic() + 60
    is_done = False
    try:
        while not is_done and time.monotonic() < end:
            try:
                rig.run(0)
                is_done = True
            except StoreLockedError as error:
                if "in the middle of a transaction" in str(
                    error
                ):  # then its server would wait for it: it must go on first
                    break
    finally:
        sleeper.send(signal.SIGCONT)
    code, errors = sleeper.ended()
    assert code == 0 or (code == _GAVE_UP and "StoreLockedError" in errors), errors
    rig.run(0)
    assert rig.state() == rig.whole[0]


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(_ROUNDS or 1))
@pytest.mark.parametrize("name", _SERVERS)
def test_a_killed_server(rig: Rig, name: str, seed: int) -> None:
    rig.clear()
    rng = random.Random(f"{name} {seed}")
    stage = seed % 2
    if stage == 1:
        rig.run(0)
    worker = rig.start(stage)
    time.sleep(rng.uniform(0, rig.seconds[stage]))
    before = rig.endpoint(name)
    rig.launch("start", "--only", name)  # it runs: started twice is started once
    rig.keep(name)
    rig.launch("kill", name)
    with pytest.raises(ConnectionRefusedError):
        rig.kept(name)
    rig.launch("restart", name)
    assert rig.endpoint(name) == before
    assert rig.kept(name)
    code, errors = worker.ended()
    # It waits for a server for some time: it may have come through, or given up with one error.
    assert code in {0, _GAVE_UP}, errors
    assert "Traceback" not in errors
    for word in rig.passwords:
        assert word not in errors
    rig.run(stage)
    assert rig.state() == rig.whole[stage]


@pytest.mark.faults
@pytest.mark.model
@pytest.mark.parametrize("how", ["SIGSTOP", "SIGTERM", "SIGKILL"] if _ROUNDS else ["SIGSTOP"])
@pytest.mark.parametrize("name", _SERVERS if _ROUNDS else _SERVERS[:1])
def test_a_served_store_outlives_its_server(rig: Rig, name: str, how: str, tmp_path: Path) -> None:
    rig.clear()
    documents = [
        {"uri": f"notes/{at}", "text": f"Ada {at} left Bremen. She built the mill of {at}."} for at in range(40)
    ]
    with running(tmp_path, store=rig.settings.store, variables={"HLGRAPH_CONFIG": str(rig.config)}) as server:
        assert server.done(server.ingest("served", documents[:3]))["state"] == "done"
        assert _found(server).status_code == 200
        location = server.ingest("served", documents)
        time.sleep(random.uniform(0, 2))
        process = getattr(local_state.read(rig.servers.folder), name).pid
        os.kill(process, signal.Signals[how])
        try:
            refused = _found(server)
            assert refused.status_code == 503, refused.text
            assert refused.headers["retry-after"]
            assert refused.json()["retryable"]
            assert "start the server" in refused.json()["detail"]
            assert httpx.get(f"{server.url}/v1/ready", timeout=30).status_code == 503
            assert httpx.get(f"{server.url}/v1/health", timeout=30).status_code == 200
        finally:
            if how == "SIGSTOP":
                os.kill(process, signal.SIGCONT)
            else:
                rig.launch("restart", name)
        job = server.done(location)
        assert job["state"] == "done" or job["problem"]["retryable"], job
        assert _found(server).status_code == 200
        again = server.done(server.ingest("served", documents))["report"]["sources"]
        assert (again["added"] + again["unchanged"], again["changed"], again["removed"]) == (40, 0, 0)
    rig.state()


@pytest.mark.faults
@pytest.mark.model
def test_a_server_ends_while_a_job_waits_for_its_store(rig: Rig, tmp_path: Path) -> None:
    rig.clear()
    given: Any = {"store": rig.settings.store, "variables": {"HLGRAPH_CONFIG": str(rig.config)}}
    with running(tmp_path, **given) as server:
        process = local_state.read(rig.servers.folder).neo4j.pid
        os.kill(process, signal.SIGSTOP)
        try:
            location = server.ingest("served", [{"uri": "notes/mill", "text": "Ada built the mill of Bremen."}])
            while httpx.get(f"{server.url}{location}").json()["state"] != "running":
                time.sleep(0.05)
            time.sleep(1)
            server.process.terminate()
            assert server.process.wait(30) == 0
        finally:
            os.kill(process, signal.SIGCONT)
    with running(tmp_path, **given) as server:
        job = server.done(location)
        assert (job["state"], job["attempts"]) == ("done", 1), job
    rig.state()


def _found(server: ServerProcess) -> httpx.Response:
    """The answer of a server to a search."""
    asked = {"question": "Who built the mill of 1?", "k": 1}
    return httpx.post(f"{server.url}/v1/corpora/served/search", json=asked, timeout=60)
