"""What the command line says of a server that is down or refuses: one line, and nothing of the driver's own log."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

import pytest


def call(*arguments: str, **environment: str) -> tuple[int, list[str]]:
    """The exit code, and the lines of standard error, of a command in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HLGRAPH_")}
    done = subprocess.run(
        [sys.executable, "-m", "hlgraph", *arguments],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(("command", "scheme"), [("stats", "bolt"), ("journal", "neo4j")])
def test_a_graph_server_that_is_down(scheme: str, command: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        code, lines = call("--store", url, "--vectors", "https://127.0.0.1:1", command, "--json")
    [line] = lines
    error = json.loads(line)["error"]
    assert (code, error["type"], error["retryable"]) == (3, "StoreUnavailableError", True)
    assert error["message"].startswith(f"{url}: no Neo4j server answers ([Errno 111] Connection refused); start it")


def test_a_vector_server_that_is_down(servers: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{taken.getsockname()[1]}"
        found = servers.neo4j
        user = {"HLGRAPH_NEO4J_USER": found.user, "HLGRAPH_NEO4J_PASSWORD": found.password}
        code, lines = call("--store", found.url, "--vectors", url, "migrate", **user)
    [line] = lines
    assert code == 3
    assert f"{url}: the server cannot be reached" in line
    assert found.password not in line


def test_a_wrong_password(servers: Any) -> None:
    code, lines = call(
        "--store", servers.neo4j.url, "--vectors", "https://127.0.0.1:1", "stats", HLGRAPH_NEO4J_PASSWORD="a-secret"
    )
    [line] = lines
    assert code == 5
    assert "refused the user or the password" in line
    assert "a-secret" not in line
