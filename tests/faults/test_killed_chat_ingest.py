"""An ingest by a chat model, killed between calls: the next run ends in the same store and pays for one batch again at most."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import threading
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from command_worker import start_script
from pytest_httpserver import HTTPServer
from thoroughness import cases
from werkzeug import Request, Response

import hlgraph
from hlgraph import HLGraph
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_ROUNDS = max(1, int(os.environ.get("HLGRAPH_FAULT_ROUNDS", str(cases(2, 4)))) // 2)
_DOCUMENTS, _CHARACTERS = 40, 9_000
_BATCH = 12  # documents of so many characters that are stored together, the last one of which may overshoot
_WORKER = """
import sys
import hlgraph
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.embedder import WordEmbedder

folder, url, rows = sys.argv[1:]
models = ModelSettings(chat="openai:m", chat_url=url, quarantine=f"{folder}/quarantine")
with hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder()) as graph:
    report = graph.ingest([rows], extract="chat", is_chunked=True)
    print(report.usage.calls, len(report.problems), len(report.failed))
"""


class _Provider:
    """A chat model by HTTP that kills the worker at the call that it is told."""

    def __init__(self, server: HTTPServer) -> None:
        self.calls = 0
        self.kill_at = 0
        self.worker: BaseProcess | None = None
        self._lock = threading.Lock()
        self.url = server.url_for("/v1")
        server.expect_request("/v1/chat/completions").respond_with_handler(self._reply)

    def _reply(self, request: Request) -> Response:
        with self._lock:
            self.calls += 1
            if self.calls == self.kill_at and self.worker is not None:
                self.worker.kill()
        system, user = (message["content"] for message in json.loads(request.get_data())["messages"])
        number = re.findall(r"Station (\d+) ", user)[-1]
        name = f"Station {number}"
        if system.startswith("You list"):
            said = json.dumps({"entities": [{"name": name, "kind": "place"}]})
        else:
            said = json.dumps({"propositions": [{"text": f"{name} is on the line.", "entities": [name]}]})
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        return Response(json.dumps(body), content_type="application/json")


def _rows(folder: Path) -> Path:
    path = folder / "rows.jsonl"
    filler = "It stands by the water. " * (_CHARACTERS // 24)
    rows = [
        {"id": f"r{n}", "title": "Line", "text": f"Station {n} is on the line. {filler}"} for n in range(_DOCUMENTS)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def _start(folder: Path, provider: _Provider, rows: Path) -> BaseProcess:
    return start_script(_WORKER, folder, provider.url, rows, out=folder.with_name("said"))


def _opened(folder: Path, **models: str) -> HLGraph:
    settings = ModelSettings(quarantine=str(folder / "quarantine"), **models)
    return hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=settings), embedder=WordEmbedder())


def _state(folder: Path) -> Mapping[str, list[object]]:
    with _opened(folder) as graph:
        assert not [item for item in graph.check() if not item.is_fine]
        return snapshot(graph._opened.stores, "default")


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(_ROUNDS))
def test_killed_between_calls(
    tmp_path: Path, httpserver: HTTPServer, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    provider = _Provider(httpserver)
    rows = _rows(tmp_path)
    with _opened(tmp_path / "straight", chat="openai:m", chat_url=provider.url) as graph:
        report = graph.ingest(rows, extract="chat", is_chunked=True)
    assert report.usage is not None
    assert (report.usage.calls, report.problems, report.failed) == (2 * _DOCUMENTS, [], [])
    assert provider.calls == 2 * _DOCUMENTS
    rng = random.Random(seed)
    provider.calls, kills = 0, 2
    for _ in range(kills):
        provider.kill_at = provider.calls + rng.randint(5, 30)
        provider.worker = _start(tmp_path / "killed", provider, rows)
        provider.worker.join()
        assert provider.worker.exitcode == -signal.SIGKILL
    provider.worker = None
    last = _start(tmp_path / "killed", provider, rows)
    last.join()
    calls, problems, failed = map(int, (tmp_path / "said").read_text().split())
    assert (last.exitcode, problems, failed) == (0, 0, 0)
    assert calls <= 2 * _DOCUMENTS
    assert provider.calls <= 2 * (_DOCUMENTS + kills * _BATCH)
    assert _state(tmp_path / "killed") == _state(tmp_path / "straight")
