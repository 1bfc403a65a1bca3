"""The right to write to a database: one holder at a time, free when its process died, lost when it does not answer."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from live_stores import neo4j_of
from tcp_proxy import passed_on

from hlgraph.errors import StoreLockedError, StoreUnavailableError
from hlgraph.stores.neo4j.lease import Lease
from hlgraph.stores.neo4j.server import Server

# A process that holds the right to write. It reads the password, then words: `write` checks the right in a writing
# transaction, `stay` does too and stays inside, `end` gives it back.
_HOLDER = """
import sys, time
from hlgraph.errors import HLGraphError
from hlgraph.settings import Neo4jSettings
from hlgraph.stores.neo4j.lease import Lease
from hlgraph.stores.neo4j.server import Server

url, user, database, seconds = sys.argv[1:5]
password = sys.stdin.readline().strip()
server = Server(url, Neo4jSettings(user=user, password=password, database=database, timeout=20, retry_seconds=20))
lease = Lease(server, "writer", seconds=int(seconds))

def stay(transaction):
    lease.check(transaction)
    print("inside", flush=True)
    time.sleep(60)

with lease.held():
    print("held", flush=True)
    for word in map(str.strip, sys.stdin):
        if word == "end":
            break
        try:
            server.write(stay if word == "stay" else lease.check)
            print("written", flush=True)
        except HLGraphError as error:
            print(f"{type(error).__name__}: {error}", flush=True)
print("ended", flush=True)
server.close()
"""
Holder = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def holder(graph_server: Server) -> Iterator[Holder]:
    """Starts a process that holds the right to write, and returns when it has it."""
    started: list[subprocess.Popen[str]] = []

    def start(seconds: int = 30) -> subprocess.Popen[str]:
        settings = graph_server.settings
        process = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, graph_server.url, settings.user, settings.database, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdin
        process.stdin.write(f"{settings.password}\n")
        process.stdin.flush()
        assert said(process) == "held"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def ask(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdin
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    return said(process)


def test_the_second_writer_is_told_who_the_first_is(graph_server: Server, holder: Holder) -> None:
    first = holder()
    with pytest.raises(StoreLockedError, match=rf"process {first.pid} on \S+ is writing.*wait until") as error:
        Lease(graph_server, "writer").held().__enter__()
    assert error.value.retryable
    assert ask(first, "write") == "written"
    assert ask(first, "end") == "ended"
    with Lease(graph_server, "writer").held():
        pass


def test_the_right_of_a_killed_process_of_this_machine_is_free_at_once(graph_server: Server, holder: Holder) -> None:
    first = holder()
    first.kill()
    first.wait()
    with Lease(graph_server, "writer").held():  # it waits for nobody
        pass


def test_who_does_not_answer_loses_the_right_and_cannot_write_any_more(graph_server: Server, holder: Holder) -> None:
    first = holder(seconds=2)
    first.send_signal(signal.SIGSTOP)
    second = Lease(graph_server, "writer")
    while True:
        try:
            held = second.held()
            held.__enter__()
            break
        except StoreLockedError:
            time.sleep(0.2)
    first.send_signal(signal.SIGCONT)
    answer = ask(first, "write")
    assert answer.startswith("StoreLockedError")
    assert "was lost to another process" in answer
    graph_server.write(second.check)
    assert ask(first, "end") == "ended"
    graph_server.write(second.check)  # the first one gave nothing back that is not its own
    held.__exit__(None, None, None)


def test_who_does_not_answer_in_the_middle_of_a_transaction_is_named(
    graph_server: Server, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlgraph.stores.neo4j.lease.WAIT", 2.0)
    first = holder(seconds=1)
    assert ask(first, "stay") == "inside"
    first.send_signal(signal.SIGSTOP)
    while graph_server.ask("admin/read_leases", ids=["writer"])[0]["is_running"]:
        time.sleep(0.1)
    with pytest.raises(
        StoreLockedError, match=rf"process {first.pid} on \S+ does not answer, in the middle of a trans"
    ):
        Lease(graph_server, "writer").held().__enter__()
    first.kill()
    first.wait()
    with Lease(graph_server, "writer").held():
        pass


def test_the_right_is_renewed_while_the_work_lasts(graph_server: Server) -> None:
    first, second = Lease(graph_server, "writer", seconds=1), Lease(graph_server, "writer", seconds=1)
    with first.held():
        end = time.monotonic() + 2.2
        while time.monotonic() < end:
            with pytest.raises(StoreLockedError):
                second.held().__enter__()
            time.sleep(0.1)
        graph_server.write(first.check)
    with second.held():
        pass


def test_two_threads_of_a_process(graph_server: Server) -> None:
    lease = Lease(graph_server, "writer")
    seen: list[BaseException] = []

    def other() -> None:
        try:
            lease.held().__enter__()
        except StoreLockedError as error:
            seen.append(error)

    with lease.held(), lease.held():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "another thread of this process" in str(seen[0])


def test_a_right_that_could_not_be_given_back_is_still_that_of_the_process(servers: Any, graph_server: Server) -> None:
    with passed_on(graph_server.url) as proxy:
        far = Server(proxy.url, neo4j_of(servers))
        far = Server(proxy.url, type(far.settings)(password=far.settings.password, timeout=0.5, retry_seconds=1))
        lease = Lease(far, "writer")
        with lease.held():
            proxy.cut()
            with pytest.raises(StoreUnavailableError):
                far.write(lease.check)
        proxy.mend()
        with lease.held():
            pass
        with Lease(graph_server, "writer").held():
            pass
        far.close()
