"""The server on the wire: slow clients, requests that are not HTTP, heads without an end, and clients that go away."""

from __future__ import annotations

import json
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.serve import application as module
from hlgraph.serve.application import application, configured
from hlgraph.serve.service import Service
from hlgraph.settings import ServeSettings, Settings
from hlgraph.testing.embedder import WordEmbedder

SECONDS = 0.3
JSON = "content-type: application/json\r\n"
FORM = "content-type: multipart/form-data; boundary=x\r\n"
PART = b'--x\r\ncontent-disposition: form-data; name="files"; filename="a.md"\r\n\r\n'
SEARCH, INGEST = "/v1/corpora/default/search", "/v1/corpora/default/ingest"
ASKED = b'{"question": "Who designed the Aldane Bridge?"}'


class Wire:
    """A server with a socket, in a thread of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = Settings(store=f"hlgraph://{folder}/store", serve=ServeSettings(state=str(folder / "state")))
        graph = HLGraph(settings, embedder=WordEmbedder())
        text = "Mara Quill designed the Aldane Bridge. " * 2_000
        graph.ingest([Document("notes/bridge", "Mara Quill designed the Aldane Bridge."), Document("notes/long", text)])
        self.service = Service(graph, is_open=True)
        self.server = uvicorn.Server(configured(application(self.service, is_local=True)))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self.server.server_state.connections)

    def head(self, method: str, path: str, more: str = "") -> bytes:
        """The head of a request."""
        return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.address[1]}\r\n{more}\r\n".encode("latin-1")

    def sent(self, *parts: bytes, pause: float = 0) -> bytes:
        """All that the server answers to some bytes until it ends the connection."""
        with socket.create_connection(self.address, timeout=10) as connection:
            received = b""
            try:
                for part in parts:
                    connection.sendall(part)
                    if select.select([connection], [], [], pause)[0]:
                        break  # the answer comes before the end of the request
                while part := connection.recv(1 << 16):
                    received += part
            except ConnectionError:
                pass
            return received


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server that waits for a client for a third of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK_SECONDS", SECONDS)
        wire = Wire(tmp_path_factory.mktemp("wire"))
        thread = threading.Thread(target=wire.server.run, args=([wire.listener],))
        thread.start()
        until(lambda: wire.server.started)
        try:
            yield wire
        finally:
            wire.server.should_exit = True
            thread.join()


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing that a client does is an error of the server."""
    yield
    assert [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR] == []


def until(is_so: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def problem(answer: bytes, status: int) -> dict[str, Any]:
    """The problem document of an answer on the wire."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), answer[:500]
    assert b"content-type: application/problem+json" in head.lower()
    tree: dict[str, Any] = json.loads(body)
    assert tree["status"] == status
    assert tree["mend"]
    return tree


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/\x00 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"POST /v1/corpora HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/corpora HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/corpora HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\n{}",
    ],
)
def test_what_is_no_request_is_one_problem_document(wire: Wire, sent: bytes) -> None:
    assert problem(wire.sent(sent), 400)["title"] == "The request cannot be used"


def test_a_head_without_an_end_is_refused(wire: Wire) -> None:
    for many in (
        [b"GET /v1/health HTTP/1.1\r\nx: ", *[b"a" * 10_000] * 10],
        [b"GET /v1/health HTTP/1.1\r\n", *[b"x: y\r\n" * 2_000] * 10],
        [wire.head("POST", SEARCH, f"{JSON}transfer-encoding: chunked\r\n"), b"0\r\n", *[b"x: y\r\n" * 2_000] * 10],
    ):
        assert problem(wire.sent(*many, pause=0.005), 431)["title"] == "Too large"
    ended = wire.sent(wire.head("POST", SEARCH, f"{JSON}content-length: {len(ASKED)}\r\nconnection: close\r\n") + ASKED)
    assert ended.startswith(b"HTTP/1.1 200")


def test_a_slow_client_is_not_waited_for(wire: Wire) -> None:
    slowly = [b"x: y\r\n"] * 8
    assert problem(wire.sent(pause=0), 408)["retryable"]  # it says nothing
    assert problem(wire.sent(b"GET /v1/health HTTP/1.1\r\n", *slowly, pause=0.1), 408)
    body = wire.head("POST", SEARCH, f"{JSON}content-length: 500\r\n")
    assert problem(wire.sent(body, *[b" "] * 8, pause=0.1), 408)["retryable"]
    assert problem(wire.sent(wire.head("POST", "/v1/nowhere", f"{JSON}content-length: 500\r\n")), 404)
    until(lambda: wire.connections == 0)


def test_a_client_that_does_not_read_is_not_waited_for(wire: Wire) -> None:
    source = wire.service.graph.sources.open("notes/long").source.id
    asked = wire.head("GET", f"/v1/corpora/default/sources/{source}")
    for _ in range(4):  # an answer may be under way to it when it is given up
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(wire.address)
            connection.sendall(asked * 40)
            until(lambda: wire.connections == 1)
            until(lambda: wire.connections == 0)


def test_an_upload_that_is_cut_leaves_nothing_behind(wire: Wire) -> None:
    jobs = len(wire.service.jobs.list("default", owner=None, limit=100))
    for parts in (
        [wire.head("POST", INGEST, f"{FORM}content-length: 5000000\r\n"), PART, b"a" * 2_000_000],
        [wire.head("POST", INGEST, f"{FORM}transfer-encoding: chunked\r\n"), b"%x\r\n%s\r\n" % (len(PART), PART)],
        [wire.head("POST", INGEST, f"{JSON}content-length: 500\r\n"), b'{"documents": [{"uri": "a", "text": "b'],
    ):
        with socket.create_connection(wire.address) as connection:
            for part in parts:
                connection.sendall(part)
            until(lambda: wire.connections == 1)
        until(lambda: wire.connections == 0)
    (process,) = [path for path in (wire.folder / "state" / "incoming").iterdir() if path.is_dir()]
    until(lambda: list(process.iterdir()) == [])
    assert len(wire.service.jobs.list("default", owner=None, limit=100)) == jobs


def test_a_call_of_an_agent_that_is_cut_is_no_error(wire: Wire) -> None:
    more = f"{JSON}accept: application/json, text/event-stream\r\ncontent-length: 99\r\n"
    with socket.create_connection(wire.address) as connection:
        connection.sendall(wire.head("POST", "/mcp", more) + b'{"jsonrpc"')
    until(lambda: wire.connections == 0)
    problem(wire.sent(wire.head("POST", "/mcp", more) + b'{"jsonrpc"'), 408)


@pytest.mark.parametrize("name", ["authorization", "content-type", "host", "idempotency-key", "origin"])
def test_a_header_that_says_two_things_is_refused(wire: Wire, name: str) -> None:
    sent = wire.head("GET", "/v1/corpora", f"{name}: 127.0.0.1:{wire.address[1]}\r\n" * 2 + "connection: close\r\n")
    assert problem(wire.sent(sent), 400)["detail"] == f"the header {name} came twice; send it once"


def test_a_websocket_is_not_opened(wire: Wire) -> None:
    more = "upgrade: websocket\r\nconnection: upgrade, close\r\nsec-websocket-key: dGhlIHNhbXBsZQ==\r\n"
    assert problem(wire.sent(wire.head("GET", "/v1/nowhere", more)), 404)
