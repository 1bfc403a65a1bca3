"""The server of LightRAG beside ``hlgraph serve``: the same documents and embedder, its naive query beside ``chunk`` and ``auto``.

``--lightrag FILE`` is the ``lightrag-server`` of an environment of its own (``pip install 'lightrag-hku[api]'``). It asks a model
server in this process, over HTTP: the embeddings are hlgraph's, and its chat model finds nothing in a text, so that its graph stays
empty. Queries ask for data only, which needs no chat model. The calls of both take turns.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from bench_serve import over_http, processor_time, say, spread, timed
from server_process import ServerProcess, running

from hlgraph.models.install import load_local

ROUNDS, CALLS, TURNS = 2, 160, 3
EMBEDDER = load_local()
REPLY = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "<|COMPLETE|>"}, "finish_reason": "stop"}]
}


class Models(BaseHTTPRequestHandler):
    """The embedder of hlgraph, and a chat model that finds nothing, by the protocol of OpenAI."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a call."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 0, "model": "none", **REPLY}
        if self.path.endswith("/embeddings"):
            vectors = EMBEDDER.embed(asked["input"])
            is_packed = asked.get("encoding_format") == "base64"
            rows = [base64.b64encode(row.tobytes()).decode() if is_packed else row.tolist() for row in vectors]
            data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
            said = {"object": "list", "data": data, "model": "local"}
        content = json.dumps(said | {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Be silent."""


class ModelServer(ThreadingHTTPServer):
    """Serves the models to many connections at once."""

    request_queue_size = 256


@contextmanager
def lightrag(command: str, folder: Path, models: str) -> Iterator[ServerProcess]:
    """A server of LightRAG in an empty folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    given = {"LLM_BINDING": "openai", "LLM_BINDING_HOST": models, "LLM_BINDING_API_KEY": "none", "LLM_MODEL": "none"}
    given |= {"EMBEDDING_BINDING": "openai", "EMBEDDING_BINDING_HOST": models, "EMBEDDING_BINDING_API_KEY": "none"}
    given |= {"EMBEDDING_MODEL": "local", "EMBEDDING_DIM": str(EMBEDDER.dimensions), "CHUNK_SIZE": "300"}
    given |= {"CHUNK_OVERLAP_SIZE": "0", "COSINE_THRESHOLD": "-1", "LOG_LEVEL": "ERROR"}
    options = ["--host", "127.0.0.1", "--port", str(port), "--working-dir", str(folder), "--input-dir", str(folder)]
    environment = {**os.environ, **given}
    log = (folder / "log").open("wb")
    with (
        log,
        subprocess.Popen(
            [command, *options],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        server = ServerProcess(f"http://127.0.0.1:{port}", process)
        try:
            for _ in range(600):
                if process.poll() is not None:
                    raise SystemExit((folder / "log").read_text()[-2_000:])
                try:
                    httpx.get(f"{server.url}/health").raise_for_status()
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            yield server
        finally:
            if process.poll() is None:
                server.kill()


def documents(file: Path) -> list[dict[str, str]]:
    """The documents of an evaluation set."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [{"uri": row["id"], "title": row["title"], "text": row["text"]} for row in rows]


def ingested_by_lightrag(server: ServerProcess, rows: Sequence[dict[str, str]]) -> None:
    """Ingest, and wait for the end."""
    body = {"texts": [row["text"] for row in rows], "file_sources": [f"{row['uri']}.txt" for row in rows]}
    started = httpx.post(f"{server.url}/documents/texts", json=body, timeout=600)
    started.raise_for_status()
    while True:
        counts = httpx.get(f"{server.url}/documents/status_counts", timeout=60).json()["status_counts"]
        if counts.get("processed", counts.get("PROCESSED", 0)) >= len(rows):
            return
        if counts.get("failed", counts.get("FAILED", 0)):
            raise SystemExit(f"LightRAG failed: {counts}")
        time.sleep(0.2)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lightrag", required=True)
    parser.add_argument("--set", type=Path, required=True, help="the folder of multihop_rag_70")
    given = parser.parse_args()
    rows = documents(given.set / "documents.jsonl.gz")
    with gzip.open(given.set / "questions.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        questions = [json.loads(line)["question"] for line in lines][:60]
    models = ModelServer(("127.0.0.1", 0), Models)
    threading.Thread(target=models.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{models.server_port}/v1"
    with (
        tempfile.TemporaryDirectory() as folder,
        lightrag(given.lightrag, Path(folder), url) as theirs,
        running(Path(folder) / "hlgraph", variables={"HLGRAPH_CACHE": f"{folder}/cache"}) as ours,  # no vector is known
    ):
        compare(theirs, ours, rows=rows, questions=questions)
    models.shutdown()


def compare(
    theirs: ServerProcess, ours: ServerProcess, *, rows: list[dict[str, str]], questions: Sequence[str]
) -> None:
    """Ingest into both; then one caller, and 32 callers, by turns."""
    ended: dict[str, Any] = {}
    times = (
        timed(lambda: ingested_by_lightrag(theirs, rows)),
        timed(lambda: ended.update(ours.done(ours.ingest("default", rows), seconds=600))),
    )
    assert ended["state"] == "done", ended
    say(
        f"ingest of {len(rows)} documents: LightRAG {times[0] / 1e3:.1f} s (no facts), hlgraph {times[1] / 1e3:.1f} s (whole graph)"
    )
    path = "/v1/corpora/default/search"
    naive: Callable[[str], dict[str, Any]] = lambda text: {"query": text, "mode": "naive", "chunk_top_k": 10}  # noqa: E731
    asks: dict[str, tuple[ServerProcess, str, Callable[[str], dict[str, Any]]]] = {
        "LightRAG naive": (theirs, "/query/data", naive),
        "hlgraph chunk": (ours, path, lambda text: {"question": text, "strategy": "chunk", "k": 10}),
        "hlgraph auto": (ours, path, lambda text: {"question": text, "strategy": "auto", "k": 10}),
    }
    alone: dict[str, list[float]] = {name: [] for name in asks}
    with httpx.Client(timeout=60) as client:
        for number in range(ROUNDS + 1):
            for question in questions:
                for name, (server, route, body) in asks.items():
                    sent = body(f"{question} ({number})")  # no vector is in a cache
                    took = timed(lambda: client.post(f"{server.url}{route}", json=sent).raise_for_status())  # noqa: B023
                    if number:
                        alone[name].append(took)
    embedding = spread([timed(lambda: EMBEDDER.embed([f"{question} (e)"])) for question in questions])[0]  # noqa: B023
    say(f"one caller; the embedding alone takes {embedding:.1f} ms")
    for name, (server, route, body) in asks.items():
        p50, p95, _ = spread(alone[name])
        rates, costs = list[float](), list[float]()
        for turn in range(TURNS + 1):
            sent_all = [(route, body(f"{questions[at % len(questions)]} ({turn}, {at})")) for at in range(CALLS)]
            before = processor_time(server.process.pid)
            rate, _ = over_http(server.url, sent_all)
            if turn:
                rates.append(rate)
                costs.append((processor_time(server.process.pid) - before) / CALLS)
        rate, cost = spread(rates)[0], spread(costs)[0]
        say(
            f"{name:14} p50 {p50:.1f} ms, p95 {p95:.1f} ms; 32 callers {rate:.0f}/s, {cost:.1f} ms of processor time a call"
        )


if __name__ == "__main__":
    main()
