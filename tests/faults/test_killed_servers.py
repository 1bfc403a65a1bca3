"""The worker or a server of an ingest into Neo4j and OpenSearch is killed at a random moment; the same command again completes it.

The stores then equal those of an uninterrupted run. ``HLGRAPH_FAULT_ROUNDS`` is how often each is killed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ingest_worker
import pytest
from killed_rows import edited, rows, write
from live_stores import empty, settings_for
from opensearch_fixture import opened as opened_vectors
from thoroughness import cases

from hlgraph.errors import StoreLockedError
from hlgraph.settings import Settings
from hlgraph.stores.open import open_stores
from hlgraph.testing.snapshot import snapshot

_WORKER = Path(ingest_worker.__file__)
_LAUNCHER = Path(__file__).parents[2] / "docker" / "local" / "servers.py"
_ROUNDS = int(os.environ.get("HLGRAPH_FAULT_ROUNDS", "0"))
_GAVE_UP = 3
_SERVERS = ("neo4j", "opensearch")


@dataclasses.dataclass
class Rig:
    """Both servers, the settings of a worker, and the two states of the file that it reads."""

    servers: Any
    settings: Settings
    folder: Path
    whole: list[Mapping[str, list[object]]] = dataclasses.field(default_factory=list)
    seconds: list[float] = dataclasses.field(default_factory=list)

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

    def start(self, stage: int, *more: str) -> subprocess.Popen[str]:
        """A worker that has begun to bring the stores to this state of the file."""
        write(self.path, self.states[stage])
        worker = subprocess.Popen(
            [sys.executable, str(_WORKER), str(self.config), str(self.path), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout
        if worker.stdout.readline() != "ready\n":
            _, errors = worker.communicate()
            if "StoreLockedError" in errors:
                raise StoreLockedError(errors)
            pytest.fail(errors)
        return worker

    def run(self, stage: int) -> None:
        """An ingest that nothing interrupts."""
        worker = self.start(stage)
        _, errors = worker.communicate()
        assert worker.returncode == 0, errors

    def state(self) -> Mapping[str, list[object]]:
        """What both stores hold; the doctor finds everything fine."""
        found = open_stores(self.settings)
        with found.closing:
            assert not [item for item in found.check() if not item.is_fine]
            return snapshot(found.stores, "c")

    def launch(self, *words: str) -> None:
        """A command of the launcher of the servers."""
        command = [sys.executable, str(_LAUNCHER), *words, "--state", str(self.servers.folder)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def rig(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Both servers, after an ingest and an edit that nothing interrupted; ``whole`` is what was stored after each."""
    found = Rig(servers, settings_for(servers), tmp_path_factory.mktemp("rig"))
    found.clear()
    for stage in (0, 1):
        worker = found.start(stage)
        start = time.perf_counter()
        _, errors = worker.communicate()
        assert worker.returncode == 0, errors
        found.seconds.append(time.perf_counter() - start)
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
        worker.kill()
        worker.communicate()
        rig.run(stage)
    assert rig.state() == rig.whole[1]


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(_ROUNDS or 1))
def test_a_worker_that_sleeps_longer_than_its_right_lasts(rig: Rig, seed: int) -> None:
    rig.clear()
    rng = random.Random(seed)
    sleeper = rig.start(0, "lease=2")
    time.sleep(rng.uniform(0, rig.seconds[0]))
    sleeper.send_signal(signal.SIGSTOP)
    end = time.monotonic() + 60
    is_done = False
    while not is_done and time.monotonic() < end:
        try:
            rig.run(0)
            is_done = True
        except StoreLockedError as error:
            if "in the middle of a transaction" in str(error):  # then its server would wait for it: it must go on first
                break
    sleeper.send_signal(signal.SIGCONT)
    _, errors = sleeper.communicate()
    assert sleeper.returncode == 0 or (sleeper.returncode == _GAVE_UP and "StoreLockedError" in errors), errors
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
    rig.launch("kill", name)
    rig.launch("restart", name)
    _, errors = worker.communicate()
    # It waits for a server for some time: it may have come through, or given up with one error.
    assert worker.returncode in {0, _GAVE_UP}, errors
    assert "Traceback" not in errors
    for word in (rig.servers.neo4j.password, rig.servers.opensearch.password):
        assert word not in errors
    rig.run(stage)
    assert rig.state() == rig.whole[stage]
