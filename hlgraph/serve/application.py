"""The server as an ASGI application: bounds, headers, metrics and problem documents around the routes; and its process."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import gzip
import hashlib
import itertools
import multiprocessing
import os
import re
import signal
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hlgraph import __version__, telemetry
from hlgraph.errors import (
    AccessError,
    HLGraphError,
    InputError,
    LimitError,
    SettingsError,
    needs_extra,
)
from hlgraph.sdk.client import HLGraph
from hlgraph.serve import completions
from hlgraph.serve.access import Keys, StateFile
from hlgraph.serve.routes import Gate, Server, add_routes, problem_response, who_asks
from hlgraph.serve.service import Service, opened
from hlgraph.settings import Settings, server_folder, variables

with needs_extra("server", "hlgraph serve"):
    import prometheus_client
    import uvicorn
    from fastapi import FastAPI, Request, Response
    from prometheus_client import multiprocess
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.routing import Route
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.supervisors import Multiprocess

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_CHUNK_SECONDS: Final = 30.0  # that a client may take to send the head of a request, or the next part of a body
_LEAST_RATE: Final = 1_024  # bytes in a second that a client must send or read, after the first seconds
_HEAD_BYTES: Final = 1 << 16  # of a request besides its body
_ONCE_HEADERS: Final = (b"authorization", b"content-type", b"host", b"idempotency-key", b"origin")
_GRACE_SECONDS: Final = 30  # that the running calls have when the server stops
_END_SECONDS: Final = 5.0  # that a job which waits for its store then keeps the process
_IDLE_SECONDS: Final = 75  # that a connection stays open between two requests
_WORKER_SECONDS: Final = 60  # that a worker may take to start, or to answer its parent, before it is replaced
_FORM_BYTES: Final = 1 << 20  # of an upload besides its files
_ALLOCATOR: Final = {-1: 256 << 20, -3: 32 << 20}  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes
_COLLECTION: Final = (20_000, 20, 50)  # thresholds of the collector: 700, 10, 10 without them
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NO_CONTENT: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_PAGE: Final = Path(__file__).parent / "explorer" / "dist"
_PAGE_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_LOOPBACK: Final = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?", re.IGNORECASE)


class Metrics:
    """Counts and times of requests, in the text format of Prometheus.

    Parameters
    ----------
    folder : folder that the workers of a server share; None: it has one process
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._registry = registry = prometheus_client.CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = prometheus_client.Counter("hlgraph_requests", "Requests.", labels, registry=registry)
        self.seconds = prometheus_client.Histogram(
            "hlgraph_request_seconds", "Seconds from a request to the end of its answer.", ("route",), registry=registry
        )
        self.calls = prometheus_client.Gauge(
            "hlgraph_calls", "Calls at work or waiting.", registry=registry, multiprocess_mode="livesum"
        )

    def text(self, calls: int) -> bytes:
        """All metrics, of all workers."""
        self.calls.set(calls)
        registry = self._registry
        if self._folder is not None:
            registry = prometheus_client.CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, path=str(self._folder))  # type: ignore[no-untyped-call]
        return prometheus_client.generate_latest(registry)


def application(
    service: Service, *, metrics_folder: Path | None = None, is_local: bool = False, is_process: bool = False
) -> FastAPI:
    """The application of a service. Starting it begins the jobs; its end closes the service.

    Parameters
    ----------
    service : the service layer
    metrics_folder : see :class:`Metrics`
    is_local : see :class:`Server`
    is_process : whether the process ends with it
    """
    settings = service.settings
    running = settings.concurrency or max(8, 2 * (os.cpu_count() or 1))
    server = Server(service, Gate(running, settings.waiting), Metrics(metrics_folder), is_local)
    agents = AgentsEndpoint(server)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(service.start)
        try:
            yield
        finally:
            await asyncio.to_thread(server.gate.close)
            await asyncio.to_thread(service.close, _end_soon if is_process else None)

    app = FastAPI(
        title="hlgraph",
        version=__version__,
        description="Cited answers from a graph of your documents.",
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.server = server
    add_routes(app, server, more=completions.ROUTES, examples=completions.EXAMPLES)
    completions.add_routes(app, server)
    app.router.routes.append(Route(agents.path, agents, methods=["POST"]))
    for path in sorted(_PAGE.iterdir()):
        app.router.routes.append(
            Route("/" if path.name == "index.html" else f"/{path.name}", PageFile(path), methods=["GET"])
        )
    app.add_exception_handler(HLGraphError, _refuse)
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(ClientDisconnect, _forsake)
    app.add_middleware(Shell, server=server)
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    """The problem document of any error of a route."""
    return problem_response(error, request.scope)


async def _forsake(_: Request, __: Exception) -> Response:
    """The end of a request that its client did not finish; nothing is sent."""
    return Response(status_code=499)


class AgentsEndpoint:
    """Tools and resources for agents (MCP) over HTTP; a request stands alone, so that any worker can answer it.

    Parameters
    ----------
    server : what the routes work with

    Attributes
    ----------
    path : where it is
    """

    path: Final = "/mcp"

    def __init__(self, server: Server) -> None:
        self._server = server
        self._agents = cache(self._imported)

    def _imported(self) -> Callable[[], StreamableHTTPSessionManager]:
        """What runs one request: imported by the first, because it takes as long as all else that a server imports."""
        from hlgraph.serve.mcp import Agents  # isort: skip - it says what to install
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        agents, most = Agents(self._server.service, self._server.run), self._server.service.settings.max_body
        return partial(StreamableHTTPSessionManager, agents.server, stateless=True, max_request_body_size=most)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the protocol of ASGI."""
        scope["route"] = self
        request = Request(scope, receive)
        await who_asks(self._server, request)
        # Read here: the library takes a client that went away for an error.
        messages = iter([{"type": "http.request", "body": await request.body(), "more_body": False}])

        async def again() -> Message:
            return next(messages, None) or await receive()

        sessions = (await asyncio.to_thread(self._agents))()
        async with sessions.run():
            await sessions.handle_request(scope, again, send)


class PageFile:
    """A file of the page at ``/``, which needs no key: the page asks ``/v1`` for all that it shows.

    Parameters
    ----------
    path : the file, which esbuild wrote (``make explorer``)
    """

    def __init__(self, path: Path) -> None:
        self._content = path.read_bytes()
        self._packed = gzip.compress(self._content, mtime=0)
        self._tag = hashlib.sha256(self._content).hexdigest()[:32]
        self._kind = _PAGE_KINDS[path.suffix]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the protocol of ASGI."""
        request = Request(scope)
        is_packed = "gzip" in request.headers.get("accept-encoding", "")
        tag = f'"{self._tag}-gzip"' if is_packed else f'"{self._tag}"'
        headers = {
            "etag": tag,
            "cache-control": "no-cache",
            "vary": "accept-encoding",
            "content-security-policy": _PAGE_POLICY,
        }
        is_known = tag in re.split(r"\s*,\s*", request.headers.get("if-none-match", "").replace("W/", ""))
        if is_packed and not is_known:
            headers["content-encoding"] = "gzip"
        content = b"" if is_known else self._packed if is_packed else self._content
        await Response(content, 304 if is_known else 200, headers, self._kind)(scope, receive, send)


class Shell:
    """Around every request: an id, the bounds of its body, the check of its host and origin, headers, and metrics.

    Parameters
    ----------
    app : the application inside
    server : what the routes work with
    """

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server
        self._process, self._numbers = uuid.uuid4().hex[:20], itertools.count()

    def _new(self) -> str:
        """An id of a request, which no other process gives."""
        return f"{self._process}{next(self._numbers):012x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the protocol of ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        identity = given if 1 <= len(given) <= 128 and given.isascii() and given.isprintable() else self._new()
        start, status, is_begun = time.perf_counter(), 500, False

        async def sent(message: Message) -> None:
            nonlocal status, is_begun
            if message["type"] == "http.response.start":
                status, is_begun = message["status"], True
                own = {name for name, _ in message["headers"]}
                added = (*_HEADERS, _NO_CONTENT, (b"x-request-id", identity.encode()))
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in own)]
            await send(message)

        with telemetry.correlated(identity):
            try:
                refusal = _twice(headers, scope) or self._refusal(headers)
                if refusal is not None:
                    await problem_response(refusal, {})(scope, receive, sent)
                else:
                    await self._app(scope, self._bounded(headers, receive), sent)
            except Exception as error:
                if not is_begun:
                    await problem_response(error, scope)(scope, receive, sent)
                raise
            finally:
                route = getattr(scope.get("route"), "path", "none")
                self._server.metrics.requests.labels(scope["method"], route, status).inc()
                self._server.metrics.seconds.labels(route).observe(time.perf_counter() - start)

    def _refusal(self, headers: dict[bytes, bytes]) -> HLGraphError | None:
        """Why a request is refused before it is read: a page of another site sent it, it is ambiguous, or too large."""
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and origin.partition("://")[2] != host:
            return AccessError(
                "pages of other sites may not call this server; call it from a program, or from its own page"
            )
        is_open = self._server.is_local and not self._server.service.needs_credentials
        if is_open and not _LOOPBACK.fullmatch(host):
            return AccessError(
                f"without keys this server is for this machine alone, not for {host!r:.100}; call it at 127.0.0.1, or run "
                "hlgraph keys add"
            )
        length = headers.get(b"content-length", b"0")
        most = self._most(headers)
        return _too_large(most) if length.isdigit() and int(length) > most else None

    def _most(self, headers: dict[bytes, bytes]) -> int:
        settings = self._server.service.settings
        is_form = headers.get(b"content-type", b"").lower().startswith(b"multipart/")
        return settings.max_upload + _FORM_BYTES if is_form else settings.max_body

    def _bounded(self, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """Receive the parts of a body within the bounds of size, time and speed."""
        most, size, is_read, start = self._most(headers), 0, False, time.monotonic()

        async def bounded() -> Message:
            nonlocal size, is_read
            if is_read:
                return await receive()  # waits for the client to go away
            left = start + _CHUNK_SECONDS + size / _LEAST_RATE - time.monotonic()
            try:
                async with asyncio.timeout(min(left, _CHUNK_SECONDS)):
                    message = await receive()
            except TimeoutError as error:
                raise HTTPException(
                    408,
                    f"the body came too slowly; send a part within {_CHUNK_SECONDS:g} s, and {_LEAST_RATE} bytes a second",
                ) from error
            size += len(message.get("body", b""))
            is_read = not message.get("more_body", False)
            if size > most:
                raise _too_large(most)
            return message

        return bounded


def _twice(headers: dict[bytes, bytes], scope: Scope) -> InputError | None:
    """Why a request is refused whose headers say two things, of which a proxy may read the one and this server the other."""
    if len(headers) == len(scope["headers"]):
        return None
    names = [name for name, _ in scope["headers"]]
    twice = next((name for name in _ONCE_HEADERS if names.count(name) > 1), None)
    return None if twice is None else InputError(f"the header {twice.decode()} came twice; send it once")


def _too_large(most: int) -> LimitError:
    return LimitError(f"the body has more than {most:,} bytes, which is what this server accepts; send less at once")


# Connections.


class _Client:
    """The transport of a connection, which drops what is written to a client that has gone: that of uvloop raises an error."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """See :class:`asyncio.WriteTransport`."""
        if not self._transport.is_closing():
            self._transport.write(data)


class Connection(HttpToolsProtocol):
    """A connection that no client keeps for nothing: the head of a request has bounds of size and time, and an answer is read.

    What is no request of HTTP gets a problem document, too.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See :class:`asyncio.Protocol`."""
        super().connection_made(cast("asyncio.Transport", _Client(transport)))
        self._since: float | None = (
            self.loop.time()
        )  # when the client began to send; None: it has sent all of its requests
        self._is_head = True
        self._overhead = 0  # bytes of the present request: those of its body are taken away twice
        self._unread, self._is_drained = 0, False
        self._timer = self.loop.call_later(_CHUNK_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._since is None:
            self._since = self.loop.time()
        self._overhead += len(data)
        super().data_received(data)
        if self._overhead > _HEAD_BYTES and not self.transport.is_closing():
            self._refuse(
                HTTPException(
                    431, f"the head of the request has more than {_HEAD_BYTES:,} bytes; send less in its headers"
                )
            )

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        self._is_drained = True
        super().resume_writing()

    def on_header(self, name: bytes, value: bytes) -> None:
        """See :class:`HttpToolsProtocol`."""
        if self._is_head:  # those after the body would have no bound
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """See :class:`HttpToolsProtocol`."""
        self._is_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See :class:`HttpToolsProtocol`."""
        self._overhead -= 2 * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See :class:`HttpToolsProtocol`."""
        self._since, self._is_head, self._overhead = None, True, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """See :class:`HttpToolsProtocol`."""
        self._refuse(InputError(f"{msg.rstrip('.')}; call the server with a client of HTTP/1.1"))

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: the request is answered as one that asks for no upgrade."""

    def _look(self) -> None:
        """End the connection of a client that neither sends nor reads."""
        self._timer = self.loop.call_later(_CHUNK_SECONDS, self._look)
        unread = self.transport.get_write_buffer_size()
        least = round(_LEAST_RATE * _CHUNK_SECONDS)
        if self._unread and not self._is_drained and unread > self._unread - least:
            self.transport.abort()
            return
        self._unread, self._is_drained = unread, False
        if self._since is None or self.loop.time() - self._since < _CHUNK_SECONDS or self.transport.is_closing():
            return
        if self._is_head:
            self._refuse(HTTPException(408, f"the request did not come within {_CHUNK_SECONDS:g} s; send it faster"))
        elif self.cycle.response_complete:  # the rest of a request that was refused
            self.transport.close()

    def _refuse(self, error: Exception) -> None:
        """Send the problem document of an error, if no answer is on the wire, and end the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            response = problem_response(error, {})
            lines = [f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}".encode()]
            lines += [b": ".join(pair) for pair in (*response.raw_headers, *_HEADERS, (b"connection", b"close"))]
            self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))
        self.transport.close()


# The process.


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Where a server listens, and what it serves.

    Attributes
    ----------
    host, port : address to bind; port 0: any free one
    corpora : the corpora that it serves; None: all of the store
    workers : number of processes
    """

    host: str = "127.0.0.1"
    port: int = 8080
    corpora: tuple[str, ...] | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.port <= 65_535:
            raise InputError(f"port is {self.port}; choose a number from 0 to 65,535")
        if not 1 <= self.workers <= 64:
            raise InputError(f"workers is {self.workers}; choose a number from 1 to 64")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def check_protected(settings: Settings, options: ServeOptions) -> None:
    """Raise SettingsError if others could reach the server, and no key protects it.

    Raises StoreUnavailableError if its state cannot be used.

    Parameters
    ----------
    settings : of the store and the server
    options : where it listens
    """
    with contextlib.closing(StateFile(server_folder(settings))) as state:
        has_key = any(key.revoked is None for key in Keys(state).list())
    if has_key or options.is_local or settings.serve.issuer:
        return
    raise SettingsError(
        f"{options.host} can be reached from other machines, and this server has no key; run hlgraph keys add NAME, or listen "
        "at 127.0.0.1"
    )


def bound(options: ServeOptions) -> socket.socket:
    """The socket of a server. Raises InputError if the address cannot be used."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sends at once on TCP alone
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except OSError as error:
        listener.close()
        raise InputError(
            f"{options.host}:{options.port} cannot be used ({error.strerror or error}); choose another --host or --port"
        ) from error
    listener.set_inheritable(True)
    return listener


def made(settings: Settings, options: ServeOptions, *, metrics_folder: Path | None = None) -> FastAPI:
    """The application of one process, with its store.

    Parameters
    ----------
    settings : of the store and the server
    options : what it serves
    metrics_folder : see :class:`Metrics`
    """
    if options.workers > 1:
        threading.Thread(target=_end_with_parent, name="hlgraph-parent", daemon=True).start()
    _keep_memory()
    service = Service(opened(settings), corpora=options.corpora, is_open=options.is_local)
    return application(service, metrics_folder=metrics_folder, is_local=options.is_local, is_process=True)


def _keep_memory() -> None:
    """Let this process keep what it frees, and look for unreachable objects less often: both cost each search milliseconds.

    The arrays of a search are below the size from which the allocator of glibc takes pages from the system and gives them back.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        allocator = ctypes.CDLL(None).mallopt
        for option, value in _ALLOCATOR.items():
            allocator(option, value)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTION)


def _end_soon() -> None:
    """End this process after some seconds, as a kill would, which a job that waits for an absent server would keep for minutes."""
    timer = threading.Timer(_END_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _end_with_parent() -> None:
    """End this worker if the process that started it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def configured(app: Callable[..., Any], **process: Any) -> uvicorn.Config:
    """How the process of HTTP runs an application.

    Parameters
    ----------
    app : the application, or what makes it
    process : options of uvicorn about the process
    """
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=True,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_worker_healthcheck=_WORKER_SECONDS,
        **process,
    )


def serve(settings: Settings, options: ServeOptions, *, listener: socket.socket) -> None:
    """Serve until the process is told to end (SIGINT, SIGTERM); running calls end first, and jobs begin again with the next start.

    Parameters
    ----------
    settings : of the store and the server
    options : what it serves
    listener : see :func:`bound`
    """
    if options.workers == 1:
        uvicorn.Server(configured(partial(made, settings, options), factory=True)).run(sockets=[listener])
        return
    with tempfile.TemporaryDirectory() as folder, variables({"PROMETHEUS_MULTIPROC_DIR": folder}):
        make = partial(made, settings, options, metrics_folder=Path(folder))
        Multiprocess(configured(make, factory=True, workers=options.workers), sockets=[listener]).run()


def served(graph: HLGraph, corpora: Sequence[str] | None = None) -> FastAPI:
    """The application of an open graph, without a key, for programs that run it themselves and for tests.

    Parameters
    ----------
    graph : the open store; the end of the application closes it
    corpora : the corpora that it serves; None: all of the store
    """
    return application(Service(graph, corpora=corpora, is_open=True), is_local=True)
