"""A proxy in front of the OpenSearch server of the tests that misbehaves as told, and writes down what it was sent."""

from __future__ import annotations

import contextlib
import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import NamedTuple

import urllib3


class Request(NamedTuple):
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Reply(NamedTuple):
    """What the client gets; with status 0, a connection that breaks."""

    status: int
    body: bytes
    headers: dict[str, str]


Forward = Callable[[bytes], Reply]
"""Sends a body (that of the request, or another) on to the real server."""

Behaviour = Callable[[Request, Forward], Reply | None]
"""Answers a request, or leaves it (None) to the real server."""


class Proxy:
    """Listens on a free port of this machine; ``behaviour`` may be changed at any time."""

    def __init__(self, target: SimpleNamespace | None, *, as_user: bool = False) -> None:
        self.behaviour: Behaviour | None = None
        self.requests: list[Request] = []
        self._target = target
        context = ssl.create_default_context(cafile=target.ca) if target is not None and target.ca else None
        self._pool = urllib3.PoolManager(ssl_context=context, maxsize=8)
        self._user = urllib3.make_headers(basic_auth=f"{target.user}:{target.password}") if target and as_user else {}
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def answer(self, request: Request) -> Reply:
        """What the behaviour says, else what the real server says."""
        self.requests.append(request)
        reply = self.behaviour(request, lambda body: self._forward(request, body)) if self.behaviour else None
        return reply or self._forward(request, request.body)

    def _forward(self, request: Request, body: bytes) -> Reply:
        if self._target is None:
            return Reply(200, b"{}", {"content-type": "application/json"})
        dropped = {"host", "content-length", *(["authorization"] if self._user else [])}
        headers = {name: value for name, value in request.headers.items() if name not in dropped} | self._user
        url = self._target.url + request.path
        reply = self._pool.request(request.method, url, body=body or None, headers=headers, retries=False)
        return Reply(reply.status, reply.data, {"content-type": reply.headers.get("content-type", "application/json")})

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._pool.clear()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.proxy.answer(Request(self.command, self.path, headers, body))
        if not reply.status:
            self.close_connection = True
            return
        with contextlib.suppress(OSError):  # the client gave up
            self.send_response(reply.status)
            for name, value in {**reply.headers, "content-length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def proxied(target: SimpleNamespace | None = None, *, as_user: bool = False) -> Iterator[Proxy]:
    """A proxy to a server, or (None) one that answers everything itself. ``as_user``: it logs in by itself."""
    with contextlib.closing(Proxy(target, as_user=as_user)) as proxy:
        yield proxy


def times(count: int, reply: Reply, *, path: str = "") -> Behaviour:
    """The reply to the first ``count`` requests whose path holds ``path``."""
    left = [count]
    guard = threading.Lock()

    def behave(request: Request, _: Forward) -> Reply | None:
        with guard:
            if path not in request.path or left[0] == 0:
                return None
            left[0] -= 1
            return reply

    return behave
