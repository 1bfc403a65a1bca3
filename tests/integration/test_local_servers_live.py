"""The launcher and a real server: started on a port that is taken, asked by others, and stopped.

The tests go on from each other: a server takes its time to start. That a killed one comes back on the same ports, data and
passwords, ``tests/faults/test_killed_servers.py`` sees on the servers of all tests.
"""

from __future__ import annotations

import contextlib
import http.client
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from thoroughness import cases

from local_servers import neo4j_server, opensearch_server, operate, process, state, web

LAUNCHER = Path(__file__).parents[2] / "docker" / "local" / "servers.py"
# One by default: what is tested is the same code, and each starts twice.
NAMES = cases(("opensearch",), operate.NAMES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder whose servers end with the module."""
    found = tmp_path_factory.mktemp("servers")
    with process.afterwards([sys.executable, LAUNCHER, "stop", "--remove", "--state", found]):
        yield found


def launch(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(LAUNCHER), *arguments, "--state", str(folder)], capture_output=True, text=True, check=False
    )


def test_the_servers_start_and_answer(folder: Path) -> None:
    """The tests below go on with these servers."""
    answer(operate.start(folder, NAMES))


def answer(running: state.Servers) -> None:
    assert running.opensearch
    assert opensearch_server.ask(running.opensearch, "/_cluster/health")[0] == http.client.OK
    if "neo4j" in NAMES:
        assert running.neo4j
        assert neo4j_server.ask(running.neo4j, "RETURN 1") == [[1]]


@pytest.mark.thorough  # tests/unit/house/test_local_servers.py has the same decision without a server
def test_servers_whose_ports_are_taken_while_they_start_move_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ports are free when they are chosen and checked, and taken when the server comes to listen."""
    spawn, taken = process.spawn, dict[str, socket.socket]()

    def take_first(command: Sequence[str | Path], *, log: Path, cwd: Path) -> int:
        if cwd.name not in taken:
            servers = state.read(tmp_path)
            endpoint = servers.neo4j if cwd.name == "neo4j" else servers.opensearch
            assert endpoint
            other = taken[cwd.name] = socket.create_server(("127.0.0.1", process.port_of(endpoint.url)))
            other.listen()
        return spawn(command, log=log, cwd=cwd)

    monkeypatch.setattr(process, "spawn", take_first)
    with contextlib.ExitStack() as ended:
        ended.enter_context(process.afterwards([sys.executable, LAUNCHER, "stop", "--remove", "--state", tmp_path]))
        servers = operate.start(tmp_path, NAMES)
        for one in taken.values():
            ended.enter_context(one)
        answer(servers)
        assert set(taken) == set(NAMES)
        assert servers.opensearch
        assert process.port_of(servers.opensearch.url) != taken["opensearch"].getsockname()[1]
        if servers.neo4j:
            assert process.port_of(servers.neo4j.url) != taken["neo4j"].getsockname()[1]


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


def test_a_port_that_was_taken_meanwhile_is_named(folder: Path) -> None:
    endpoint = state.read(folder).opensearch
    assert endpoint, "the first test starts it"
    assert launch(folder, "kill", "opensearch").returncode == 0
    assert operate.running(folder) == dict.fromkeys(NAMES, True) | {"opensearch": False}
    assert (
        launch(folder, "stop").stdout
        == f"stopped: {', '.join(name for name in NAMES if name != 'opensearch') or 'nothing ran'}\n"
    )
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


@pytest.mark.parametrize(
    ("command", "how"),
    [
        ("start", signal.SIGINT),
        ("start", signal.SIGTERM),
        ("run", signal.SIGKILL),
        pytest.param("run", signal.SIGINT, marks=pytest.mark.thorough),
        pytest.param("run", signal.SIGTERM, marks=pytest.mark.thorough),
    ],
)
def test_a_server_that_is_starting_ends_with_whoever_starts_it(
    tmp_path: Path, command: str, how: signal.Signals
) -> None:
    """Java runs and does not answer yet."""
    more = ("--", "sleep", "600") if command == "run" else ()
    # A run in the background ignores SIGINT, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    starter = subprocess.Popen(
        [sys.executable, LAUNCHER, command, "--only", "opensearch", "--state", tmp_path / "servers", *more]
    )
    signal.signal(signal.SIGINT, before)
    while not (found := state.read(tmp_path / "servers").opensearch) or not found.pid:
        assert starter.poll() is None
        time.sleep(0.02)
    starter.send_signal(how)
    assert starter.wait() == (-how if how == signal.SIGKILL else 130)
    mark = opensearch_server.mark(tmp_path / "servers")
    while command == "run" and (tmp_path / "servers").exists():  # by another process, a little later
        time.sleep(0.02)
    assert not process.is_running(found.pid, mark)


def test_servers_that_run_end_with_the_process_that_runs_a_command_on_them(folder: Path) -> None:
    """Killed while the command waits: no process of it is left that could end them."""
    shutil.rmtree(folder / "opensearch" / "data")
    command = [sys.executable, LAUNCHER, "run", "--only", "opensearch", "--state", folder]
    done = subprocess.run([*command, "--", "sh", "-c", 'kill -9 "$PPID"'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    assert " (pid " in done.stdout, "it ran"
    while folder.exists():
        time.sleep(0.02)
    assert not process.is_running(int(done.stdout.partition(" (pid ")[2].partition(")")[0]), "-Dhlgraph.server=")
