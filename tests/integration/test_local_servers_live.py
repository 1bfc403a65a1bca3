"""The launcher and its two real servers: started twice, killed, started again on the same ports, data and passwords.

The tests go on from each other: a server takes its time to start.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from local_servers import neo4j_server, opensearch_server, operate, pins, process, state, web
from local_servers.errors import ServerError

LAUNCHER = Path(__file__).parents[2] / "docker" / "local" / "servers.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder whose servers end with the module."""
    found = tmp_path_factory.mktemp("servers")
    yield found
    operate.stop(found, force=True)


def launch(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(LAUNCHER), *arguments, "--state", str(folder)], capture_output=True, text=True, check=False
    )


def test_servers_whose_ports_are_taken_while_they_start_move_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ports are free when they are chosen and checked, and taken when the server comes to listen.

    The tests below go on with these servers.
    """
    spawn, taken = process.spawn, dict[str, socket.socket]()

    def take_first(command: Sequence[str | Path], *, log: Path, cwd: Path) -> int:
        if cwd.name not in taken:
            servers = state.read(folder)
            endpoint = servers.neo4j if cwd.name == "neo4j" else servers.opensearch
            assert endpoint
            other = taken[cwd.name] = socket.create_server(("127.0.0.1", process.port_of(endpoint.url)))
            other.listen()
        return spawn(command, log=log, cwd=cwd)

    monkeypatch.setattr(process, "spawn", take_first)
    try:
        servers = operate.start(folder)
        assert servers.neo4j
        assert servers.opensearch
        assert neo4j_server.ask(servers.neo4j, "RETURN 1") == [[1]]
        assert opensearch_server.ask(servers.opensearch, "/_cluster/health")[0] == http.client.OK
        held = {name: one.getsockname()[1] for name, one in taken.items()}
        assert set(held) == set(operate.NAMES)
        assert process.port_of(servers.neo4j.url) != held["neo4j"]
        assert process.port_of(servers.opensearch.url) != held["opensearch"]
    finally:
        for one in taken.values():
            one.close()


def test_opensearch_comes_back_as_it_was(folder: Path) -> None:
    endpoint = state.read(folder).opensearch
    assert endpoint, "the first test starts it"
    again = launch(folder, "start", "--only", "opensearch")
    assert again.returncode == 0, again.stderr
    assert endpoint.password not in again.stdout + again.stderr
    assert state.read(folder).opensearch == endpoint, "started twice is started once"

    status, made = opensearch_server.ask(endpoint, "/kept/_doc?refresh=true", {"text": "still here"})
    assert status == http.client.CREATED, made
    assert launch(folder, "kill", "opensearch").returncode == 0
    assert operate.running(folder) == {"neo4j": True, "opensearch": False}
    with pytest.raises(ConnectionRefusedError):
        opensearch_server.ask(endpoint, "/")
    again = launch(folder, "restart", "opensearch")
    assert again.returncode == 0, again.stderr
    assert endpoint.password not in again.stdout + again.stderr
    back = state.read(folder).opensearch
    assert back
    assert back.pid != endpoint.pid
    assert replace(back, pid=endpoint.pid) == endpoint
    status, count = opensearch_server.ask(back, "/kept/_count")
    assert isinstance(count, dict)
    assert count["count"] == 1


def test_opensearch_lets_nobody_else_in(folder: Path) -> None:
    endpoint = state.read(folder).opensearch
    assert endpoint, "the first test starts it"
    ca = Path(endpoint.ca)
    for path in ("/", "/_cat/indices", "/kept/_doc"):
        body = {"text": "intruder"} if path.endswith("_doc") else None
        status, answer = web.ask(endpoint.url + path, body, user="admin", password="wrong", ca=ca)
        assert (status, answer) == (http.client.UNAUTHORIZED, "Unauthorized")
        assert opensearch_server.ask(replace(endpoint, user="other"), path, body)[0] == http.client.UNAUTHORIZED
    with pytest.raises(ssl.SSLCertVerificationError):
        web.ask(endpoint.url, user=endpoint.user, password=endpoint.password)
    with pytest.raises((http.client.HTTPException, OSError)):
        web.ask(endpoint.url.replace("https", "http"), user=endpoint.user, password=endpoint.password)


def test_neo4j_comes_back_as_it_was(folder: Path) -> None:
    endpoint = state.read(folder).neo4j
    assert endpoint, "the first test starts it"
    again = launch(folder, "start", "--only", "neo4j")
    assert again.returncode == 0, again.stderr
    assert endpoint.password not in again.stdout + again.stderr
    assert state.read(folder).neo4j == endpoint, "started twice is started once"
    for wrong in ("neo4j", "wrong"):
        with pytest.raises(ServerError, match="401"):
            neo4j_server.ask(replace(endpoint, password=wrong), "RETURN 1")
    neo4j_server.ask(endpoint, "CREATE (:Kept {text: 'still here'})")
    assert launch(folder, "kill", "neo4j").returncode == 0
    with pytest.raises(ConnectionRefusedError):
        neo4j_server.ask(endpoint, "RETURN 1")
    again = launch(folder, "restart", "neo4j")
    assert again.returncode == 0, again.stderr
    back = state.read(folder).neo4j
    assert back
    assert replace(back, pid=endpoint.pid) == endpoint
    assert neo4j_server.ask(back, "MATCH (n:Kept) RETURN n.text") == [["still here"]]
    assert neo4j_server.ask(back, "RETURN gds.version()") == [[pins.pin("neo4j").answers["gds"]]]


def test_a_port_that_was_taken_meanwhile_is_named(folder: Path) -> None:
    endpoint = state.read(folder).opensearch
    assert endpoint, "the first test starts it"
    assert launch(folder, "stop").stdout == "stopped: neo4j, opensearch\n"
    assert launch(folder, "stop").stdout == "stopped: nothing ran\n"
    port = process.port_of(endpoint.url)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        refused = launch(folder, "start", "--only", "opensearch")
    assert refused.returncode == 1
    assert f"port {port} of 127.0.0.1 is taken" in refused.stderr
    assert refused.stderr.count("\n") == 1
