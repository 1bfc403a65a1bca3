"""A server of hlgraph in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx


@dataclass
class ServerProcess:
    """A running server: its address, and its process, which leads a group."""

    url: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """End all its processes at once, as a crash does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ingest(self, corpus: str, documents: list[dict[str, Any]], **headers: str) -> str:
        """Start a job; returns where it is."""
        route = f"{self.url}/v1/corpora/{corpus}/ingest"
        started = httpx.post(route, json={"documents": documents}, headers=headers, timeout=60)
        assert started.status_code == 202, started.text
        return str(started.headers["location"])

    def done(self, location: str, *, seconds: float = 120) -> dict[str, Any]:
        """A job, once it is over."""
        end = time.monotonic() + seconds
        while True:
            job: dict[str, Any] = httpx.get(f"{self.url}{location}").json()
            if job["state"] not in ("queued", "running"):
                return job
            assert time.monotonic() < end, job
            time.sleep(0.05)


@contextmanager
def running(
    folder: Path, *options: str, store: str = "", variables: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    """A server of a store, by default that in ``folder``, with its state in the folder, until the block ends."""
    command = [sys.executable, "-m", "hlgraph", "--store", store or f"hlgraph://{folder}/store", "serve", "--json"]
    command += ["--port", "0", "--state", str(folder / "state"), *options]
    environment = {**os.environ, **(variables or {})}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            server = ServerProcess(json.loads(process.stdout.readline())["url"], process)
            _wait(server.url)
            yield server
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _wait(url: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            httpx.get(f"{url}/v1/health", timeout=5).raise_for_status()
        except httpx.TransportError:
            assert time.monotonic() < end
            time.sleep(0.05)
        else:
            return
