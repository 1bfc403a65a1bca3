"""A killed ingest, run again, ends in the store of an uninterrupted one: at every step, and at random moments."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from hlgraph.stores.open import open_stores
from hlgraph.testing.snapshot import snapshot

_WORKER = Path(__file__).with_name("ingest_worker.py")
_ROUNDS = int(os.environ.get("HLGRAPH_FAULT_ROUNDS", "4"))
_PEOPLE = ("Mara Quill", "Ivo Brandt", "Sela Orne", "Tobin Arkwright", "Una Vessel", "Karel Moss")
_PLACES = ("Tessing", "Aldane", "Port Verrin", "Hallow Mere", "Quarrick", "Low Fenton")
_DEEDS = ("was born in", "designed the bridge of", "wrote about", "left", "returned to", "measured the river at")


def _rows(seed: int, count: int) -> list[dict[str, object]]:
    rng = random.Random(seed)
    rows: list[dict[str, object]] = []
    for number in range(count):
        sentences = [
            f"{rng.choice(_PEOPLE)} {rng.choice(_DEEDS)} {rng.choice(_PLACES)} in {rng.randint(1850, 1950)}."
            for _ in range(rng.randint(3, 14))
        ]
        rows.append({"id": f"r{number}", "title": rng.choice(_PLACES), "text": " ".join(sentences), "year": number})
    return rows


def _edited(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Every third row edited, every seventh gone, two new ones."""
    kept = [dict(row) for number, row in enumerate(rows) if number % 7]
    for row in kept[::3]:
        row["text"] = f"{row['text']} {_PEOPLE[0]} saw it."
    return [*kept, {"id": "n1", "title": "New", "text": "Una Vessel opened the Orne Hall in 1951."}]


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _run(store: str, path: Path, *more: str) -> int:
    return subprocess.run([sys.executable, str(_WORKER), store, str(path), *more], check=False).returncode


def _state(store: str) -> Mapping[str, list[object]]:
    opened = open_stores(store)
    with opened.closing:
        assert not [item for item in opened.check() if not item.is_fine]
        return snapshot(opened.stores, "c")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Mapping[str, list[object]], float]:
    """Two states of a file, the store after both without interruption, and how long the second ingest takes."""
    folder = tmp_path_factory.mktemp("reference")
    rows = _rows(7, 40)
    data = folder / "data"
    data.mkdir()
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    _write(first, rows)
    _write(second, _edited(rows))
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
        worker = subprocess.Popen([sys.executable, str(_WORKER), store, str(path)])
        time.sleep(rng.uniform(0.3, max(reference[3], 0.5)))
        worker.kill()
        worker.wait()
        assert _run(store, path) == 0
    assert _state(store) == reference[2]
