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
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                names = {name.lower(): value for name, value in self.headers.items()}
                reply = proxy.answer(Request(self.command, self.path, names, body))
                if not reply.status:
                    self.close_connection = True
                    return
                with contextlib.suppress(OSError):  # the client gave up
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer  # noqa: N815 - names of http.server

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def answer(self, request: Request) -> Reply:
        """What the behaviour says, else what the real server says."""
        self.requests.append(request)
        found = self.behaviour(request, lambda body: self._forward(request, body)) if self.behaviour else None
        return found or self._forward(request, request.body)

    def _forward(self, request: Request, body: bytes) -> Reply:
        if self._target is None:
            return Reply(200, b"{}", {"content-type": "application/json"})
        dropped = {"host", "content-length", *(["authorization"] if self._user else [])}
        names = {name: value for name, value in request.headers.items() if name not in dropped}
        names |= self._user
        found = self._pool.request(
            request.method, self._target.url + request.path, body=body or None, headers=names, retries=False
        )
        return Reply(found.status, found.data, {"content-type": found.headers.get("content-type", "application/json")})

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._pool.clear()


@contextlib.contextmanager
def proxied(target: SimpleNamespace | None = None, *, as_user: bool = False) -> Iterator[Proxy]:
    """A proxy to a server, or (None) one that answers everything itself. ``as_user``: it logs in by itself."""
    proxy = Proxy(target, as_user=as_user)
    try:
        yield proxy
    finally:
        proxy.close()


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
