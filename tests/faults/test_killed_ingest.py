"""A killed ingest, run again, ends in the store of an uninterrupted one: at every step, and at random moments."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import ingest_worker
import pytest
from killed_rows import edited, rows, write
from thoroughness import cases

from hlgraph.stores.open import open_stores
from hlgraph.testing.snapshot import snapshot

_ROUNDS = int(os.environ.get("HLGRAPH_FAULT_ROUNDS", str(cases(2, 4))))
_DOCUMENTS = cases(20, 40)
# Each worker is a process of its own, forked from one that has imported most of what it needs.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["hlgraph.extract", "hlgraph.ingest.pipeline", "hlgraph.read", "hlgraph.stores.open"])


def _start(store: str, path: Path, *more: str) -> multiprocessing.process.BaseProcess:
    worker = _FORKS.Process(target=ingest_worker.main, args=(store, str(path), *more))
    worker.start()
    return worker


def _run(store: str, path: Path, *more: str) -> int | None:
    worker = _start(store, path, *more)
    worker.join()
    return worker.exitcode


def _state(store: str) -> Mapping[str, list[object]]:
    opened = open_stores(store)
    with opened.closing:
        assert not [item for item in opened.check() if not item.is_fine]
        return snapshot(opened.stores, "c")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Mapping[str, list[object]], float]:
    """Two states of a file, the store after both without interruption, and how long the second ingest takes."""
    folder = tmp_path_factory.mktemp("reference")
    documents = rows(7, _DOCUMENTS)
    data = folder / "data"
    data.mkdir()
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    write(first, documents)
    write(second, edited(documents))
    path = data / "rows.jsonl"
    store = f"hlgraph://{folder}/store"
    path.write_bytes(first.read_bytes())
    assert _run(store, path) == 0
    path.write_bytes(second.read_bytes())
    start = time.perf_counter()
    assert _run(store, path) == 0
    return first, second, _state(store), time.perf_counter() - start


def _prepare(reference: tuple[Path, Path, object, float], folder: Path) -> tuple[Path, str]:
    """The same file at the same place (uris hold it), back in its first state, in a new store."""
    path = reference[0].parent / "data" / "rows.jsonl"
    path.write_bytes(reference[0].read_bytes())
    return path, f"hlgraph://{folder}/store"


@pytest.mark.faults
def test_killed_at_any_step_of_the_journal(
    reference: tuple[Path, Path, Mapping[str, list[object]], float], tmp_path: Path
) -> None:
    path, store = _prepare(reference, tmp_path)
    rng = random.Random(11)
    kills = 0
    for stage in (reference[0], reference[1]):
        path.write_bytes(stage.read_bytes())
        step = 1
        while (code := _run(store, path, str(step))) != 0:
            assert code == -signal.SIGKILL
            kills += 1
            step = rng.randint(1, 8)
            if kills > 60:
                break
        assert _run(store, path) == 0
    assert kills >= 10
    assert _state(store) == reference[2]


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(_ROUNDS))
def test_killed_at_random_moments(
    reference: tuple[Path, Path, Mapping[str, list[object]], float], tmp_path: Path, seed: int
) -> None:
    path, store = _prepare(reference, tmp_path)
    rng = random.Random(seed)
    for stage in (reference[0], reference[1]):
        path.write_bytes(stage.read_bytes())
        worker = _start(store, path)
        time.sleep(rng.uniform(0, reference[3]))
        worker.kill()
        worker.join()
        assert _run(store, path) == 0
    assert _state(store) == reference[2]
