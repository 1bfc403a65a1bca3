"""An ingest within a budget, killed between calls: the ledger holds what was paid, and no later run pays it again."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from chat_server import Asked, ChatServer
from command_worker import start_script
from thoroughness import cases

import hlgraph
from hlgraph import HLGraph
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_ROUNDS = max(1, int(os.environ.get("HLGRAPH_FAULT_ROUNDS", str(cases(2, 4)))) // 2)
_WORKERS = 4
_BUDGET = 8_000
_DOCUMENTS = sorted((Path(hlgraph.__file__).parent / "samples").glob("*.md"))[:2]
_WORKER = """
import sys
import hlgraph
from hlgraph import HLGraph
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.embedder import WordEmbedder

folder, url, budget, *paths = sys.argv[1:]
models = ModelSettings(chat="openai:m", chat_url=url, concurrency=4, quarantine=f"{folder}/quarantine")
given = hlgraph.Budget(max_tokens=int(budget))
with hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder()) as graph:
    try:
        report = graph.ingest(paths, extract="chat", budget=given)
    except hlgraph.errors.BudgetError as error:
        sys.exit(6)
    print(len(report.problems), len(report.failed))
"""


def _start(folder: Path, server: ChatServer) -> BaseProcess:
    return start_script(_WORKER, folder, server.url, _BUDGET, *_DOCUMENTS, out=folder.with_name("said"))


def _rows(folder: Path) -> list[tuple[str, str, int]]:
    path = folder / "store" / "ledger-1.sqlite"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT state, request, input_tokens + output_tokens FROM calls").fetchall()


def _opened(folder: Path, **models: str) -> HLGraph:
    settings = ModelSettings(quarantine=str(folder / "quarantine"), **models)
    return hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=settings), embedder=WordEmbedder())


def _state(folder: Path) -> object:
    with _opened(folder) as graph:
        assert not [item for item in graph.check() if not item.is_fine]
        return snapshot(graph._opened.stores, "default")


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(_ROUNDS))
def test_killed_within_a_budget(tmp_path: Path, server: ChatServer, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with _opened(tmp_path / "straight", chat="openai:m", chat_url=server.url) as graph:
        report = graph.ingest(_DOCUMENTS, extract="chat")
    assert (report.problems, report.failed) == ([], [])
    needed = len(server.paid)
    assert needed == len(set(server.paid)) > 20
    rng = random.Random(seed)
    folder, workers = tmp_path / "killed", list[BaseProcess]()
    server.paid.clear()
    server.tokens = server.calls = kill_at = 0

    def kill(number: int, asked: Asked) -> None:
        if number == kill_at:
            workers[-1].kill()  # the reply is on its way, and billed

    server.fault = kill
    kills, codes = 0, []
    for _ in range(40):
        kill_at = server.calls + rng.randint(4, 12) if kills < 2 else 0
        workers.append(_start(folder, server))
        workers[-1].join()
        code = workers[-1].exitcode
        kills += code not in (0, 6)
        codes.append(code)
        if code == 0:
            break
    assert (codes[-1], folder.with_name("said").read_text().split()) == (0, ["0", "0"])
    assert kills == 2
    assert 6 in codes
    rows = _rows(folder)
    paid = [request for state, request, _ in rows if state == "paid"]
    unfinished = [request for state, request, _ in rows if state == "begun"]
    # Nothing in the ledger was paid twice, and all that was paid and is not in it was under way when it was killed.
    assert len(paid) == len(set(paid)) == needed
    assert len(unfinished) <= kills * _WORKERS
    assert needed <= len(server.paid) <= needed + len(unfinished)
    assert sum(tokens for state, _, tokens in rows if state == "paid") <= server.tokens
    assert _state(folder) == _state(tmp_path / "straight")
