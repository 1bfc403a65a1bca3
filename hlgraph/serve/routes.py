"""The routes under ``/v1``, and their OpenAPI document.

A route of the table names what it takes and gives as classes of :mod:`hlgraph.serve.shapes`. From that follow the check of the
request, the answer, and its description.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import re
import shutil
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Struct

from hlgraph import __version__, telemetry
from hlgraph.errors import (
    BusyError,
    DeadlineError,
    HLGraphError,
    InputError,
    StoreConflictError,
    StoreLockedError,
    needs_extra,
)
from hlgraph.records import plain
from hlgraph.serve import shapes
from hlgraph.serve.access import Principal, stored_at
from hlgraph.serve.jobs import Once, Replayed
from hlgraph.serve.service import Event, Ingests, Records, Service
from hlgraph.serve.shapes import Problem, encoded, problem_of
from hlgraph.stores import files

with needs_extra("server", "hlgraph serve"):
    from fastapi import FastAPI, Request, Response
    from sse_starlette import EventSourceResponse, ServerSentEvent
    from starlette.datastructures import FormData, UploadFile
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException, MultiPartParser
    from starlette.routing import Match
    from starlette.routing import Route as StarletteRoute

if TYPE_CHECKING:
    from hlgraph.serve.application import Metrics

T = TypeVar("T")
JSON: Final = "application/json"
FORM: Final = "multipart/form-data"
EVENTS: Final = "text/event-stream"
PROBLEM: Final = "application/problem+json"
_ANSWERS: Final = 5.0  # times as long as another call an answer may take
_MOST_FILES: Final = 1_000
_MOST_FIELDS: Final = 10
_ONCE: Final = re.compile(r"[\x21-\x7e]{1,200}")
_POLL_SECONDS: Final = 0.25  # between two looks at a job whose events a client reads
_KEY_SECONDS: Final = 1.0  # between two looks at the key of a request whose answer is a stream
_RETRIED: Final = (BusyError, StoreLockedError, StoreConflictError)
_REFUSALS: Final = {
    400: "The request cannot be used.",
    401: "No valid key.",
    402: "The budget of the chat model is spent.",
    403: "The caller may not do this.",
    404: "There is no such thing, or the caller may not know of it.",
    408: "The body came too slowly.",
    409: "Another writer, or a hold, is in the way.",
    413: "The body is too large.",
    415: "The body is of another kind.",
    422: "The provider of the chat model refused the request.",
    429: "Too many calls; see Retry-After.",
    500: "The server failed.",
    502: "The model failed.",
    503: "The store or a model is unavailable; see Retry-After.",
    504: "The call took too long.",
}


class Gate:
    """The threads in which calls run. A bounded number of calls waits for a thread; others are refused at once.

    Parameters
    ----------
    running : number of threads
    waiting : maximum number of calls that wait for one
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(running, thread_name_prefix="hlgraph-serve")
        self._most = running + waiting
        self.calls = 0

    def begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run a call in a thread, in the context of its caller. Raises BusyError if too many calls wait."""
        if self.calls >= self._most:
            raise BusyError(f"{self.calls} calls are at work or wait; send the same request again in a second")
        self.calls += 1
        future = asyncio.wrap_future(self._pool.submit(copy_context().run, work))
        future.add_done_callback(self._end)
        return future

    async def run(self, work: Callable[[], T], *, seconds: float) -> T:
        """The result of a call.

        Parameters
        ----------
        work : the call
        seconds : after which it is abandoned; its thread goes on to its end

        Raises
        ------
        BusyError : too many calls wait
        DeadlineError : it took too long
        """
        future = self.begin(work)
        # The call goes on, also if the wait is cancelled.
        done, _ = await asyncio.wait((future,), timeout=seconds)
        if not done:
            raise DeadlineError(f"the call took longer than {seconds:g} s; ask for less, or ask again later")
        return future.result()

    def _end(self, future: asyncio.Future[Any]) -> None:
        self.calls -= 1
        if not future.cancelled():
            future.exception()  # which nothing else asks of an abandoned call

    def close(self) -> None:
        """Wait for the running calls."""
        self._pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class Server:
    """What the routes work with: the service, the threads, and the metrics.

    Attributes
    ----------
    service : the service layer
    gate : the threads
    metrics : the metrics
    is_local : whether requests must name this machine as their host, since no key protects the server
    """

    service: Service
    gate: Gate
    metrics: Metrics
    is_local: bool

    async def run(self, work: Callable[[], T], *, seconds: float | None = None) -> T:
        """The result of a call, within the time that the settings allow.

        Parameters
        ----------
        work : the call
        seconds : another time
        """
        return await self.gate.run(work, seconds=seconds or self.service.settings.max_seconds)


def problem_response(error: Exception, scope: Mapping[str, Any]) -> Response:
    """The answer that an error is.

    Parameters
    ----------
    error : the error
    scope : of the request: clients of OpenAI read the member ``error``, and who operates sees more
    """
    if isinstance(error, HTTPException):
        title = {
            404: "Not found",
            405: "Method not allowed",
            408: "Too slow",
            415: "Unknown kind of content",
            431: "Too large",
        }
        problem = Problem(
            type="about:blank",
            title=title.get(error.status_code, "The request cannot be used"),
            status=error.status_code,
            detail=str(error.detail),
            mend="GET /v1/openapi.json describes every route",
            retryable=error.status_code == 408,
            id=telemetry.correlation_id(),
        )
        headers = dict(error.headers or {})
    else:
        who: Principal | None = scope.get("state", {}).get("who")
        operates = who is not None and who.has("operate")
        problem, headers = problem_of(error, operates=operates, id=telemetry.correlation_id()), {}
    if isinstance(error, _RETRIED) or (problem.retryable and problem.status == 503):
        headers["retry-after"] = str(math.ceil(getattr(error, "retry_after", 1.0) or 1.0))
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    more = {"error": shapes.error_of(problem)} if scope.get("path", "").startswith(("/v1/chat/", "/v1/models")) else {}
    return Response(encoded({**problem.to_tree(), **more}), problem.status, headers, PROBLEM)


# The table.


class Call(NamedTuple):
    """A request that was checked: who asks, the names in the path, and the query string or the body."""

    service: Service
    who: Principal
    path: Mapping[str, str]
    asked: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route: how it is called, what it takes and gives, and the call of the service that it is.

    Attributes
    ----------
    method, path : as HTTP names it; ``path`` is below ``/v1``
    about : one line for the document
    call : the method of the service that is called, in a thread; empty: its endpoint does something else
    takes, query, gives : classes of the body, the query string, and the answer
    tag : its group in the document
    etag : what its ETag identifies: the state of the corpus, or the answer where that changes without the corpus; empty: none
    is_write : whether it may be repeated with an ``Idempotency-Key``
    status, content : of its answer
    """

    method: str
    path: str
    about: str
    gives: type[Struct]
    call: str = ""
    takes: type[Struct] | None = None
    query: type[Struct] | None = None
    tag: str = "corpora"
    etag: Literal["", "corpus", "answer"] = ""
    is_write: bool = False
    status: int = 200
    content: tuple[str, ...] = (JSON,)

    def result(self, call: Call) -> object:
        """What the method of the service returns: it takes who asks, the names in the path, and the query or the body."""
        names = {"corpus" if name == "corpus" else "id": value for name, value in call.path.items()}
        return attrgetter(self.call)(call.service)(call.who, **names, **call.asked)


_PARTS: Final = {"": Service, "records": Records, "ingests": Ingests}


def _called(line: str, call: str, about: str, **others: Any) -> Route:
    """A route that is a call of a method of the service, whose types say what the route takes and gives."""
    method, path = line.split()
    part, _, name = call.rpartition(".")
    hints = get_type_hints(getattr(_PARTS[part], name))
    asked: dict[str, Any] = {"query" if method == "GET" else "takes": hints.get("asked")}
    return Route(method=method, path=path, call=call, about=about, gives=hints["return"], **asked, **others)


ROUTES: Final[tuple[Route, ...]] = (
    _called("GET /corpora", "corpora", "The corpora that you may ask."),
    _called("GET /corpora/{corpus}/stats", "stats", "Counts of a corpus.", etag="corpus"),
    _called("POST /corpora/{corpus}/search", "search", "Find evidence for a question.", tag="questions"),
    _called(
        "POST /corpora/{corpus}/explain",
        "explain",
        "Find evidence, and explain how it was found: in words, as data, and as a picture.",
        tag="questions",
    ),
    _called(
        "GET /corpora/{corpus}/sources",
        "records.sources",
        "The sources of a corpus, page by page.",
        tag="sources",
        etag="corpus",
    ),
    _called(
        "GET /corpora/{corpus}/sources/{source:path}",
        "records.source",
        "A source with its text, its chunks and its statements.",
        tag="sources",
        etag="corpus",
    ),
    _called(
        "GET /corpora/{corpus}/entities",
        "records.entities",
        "The entities of a corpus, page by page, or those of a name.",
        tag="graph",
        etag="corpus",
    ),
    _called(
        "GET /corpora/{corpus}/entities/{entity:path}",
        "records.entity",
        "An entity, by id or name, with the facts about it, its neighbours and its merges.",
        tag="graph",
        etag="corpus",
    ),
    _called(
        "GET /corpora/{corpus}/facts",
        "records.facts",
        "The facts of a corpus, page by page.",
        tag="graph",
        etag="corpus",
    ),
    _called(
        "GET /corpora/{corpus}/facts/{fact}",
        "records.fact",
        "A fact with the statements that support it.",
        tag="graph",
        etag="corpus",
    ),
    _called(
        "GET /corpora/{corpus}/path",
        "records.path",
        "The facts that lead from one entity to another.",
        tag="graph",
        etag="corpus",
    ),
    _called(
        "GET /corpora/{corpus}/communities",
        "records.communities",
        "The communities of a corpus.",
        tag="derived",
        etag="answer",
    ),
    _called(
        "GET /corpora/{corpus}/map",
        "records.map",
        "The most linked entities of the communities, and the links between them.",
        tag="derived",
    ),
    _called(
        "GET /corpora/{corpus}/summaries",
        "records.summaries",
        "The summaries of a corpus.",
        tag="derived",
        etag="answer",
    ),
    _called(
        "GET /corpora/{corpus}/merges",
        "records.merges",
        "Decisions about entities, the newest first.",
        tag="derived",
        etag="corpus",
    ),
    _called(
        "POST /corpora/{corpus}/merges",
        "records.merge",
        "Decide that pairs of entities are the same, or keep them apart.",
        tag="derived",
        is_write=True,
    ),
    _called(
        "DELETE /corpora/{corpus}/merges/{merge}",
        "records.undo_merge",
        "Undo a decision about entities.",
        tag="derived",
        is_write=True,
    ),
    _called(
        "DELETE /corpora/{corpus}/sources/{source}",
        "records.delete_source",
        "Remove a source, and everything that only it asserts.",
        tag="sources",
        is_write=True,
    ),
    _called("GET /corpora/{corpus}/jobs", "ingests.list", "The jobs of a corpus, the newest first.", tag="jobs"),
    _called("GET /jobs/{job}", "ingests.find", "A job.", tag="jobs"),
    _called("POST /jobs/{job}/cancel", "ingests.cancel", "Cancel a job; what it has ingested stays.", tag="jobs"),
)


# Requests and answers.


async def who_asks(server: Server, request: Request) -> Principal:
    """Who sent a request, which has it as ``state.who`` from then on. Raises CredentialError.

    Parameters
    ----------
    server : what the routes work with
    request : the request
    """
    kind, _, credential = request.headers.get("authorization", "").partition(" ")
    given = credential.strip() if kind.lower() == "bearer" else None
    if given is None or given.startswith("hlg_"):
        who = server.service.principal(given)
    else:
        who = await server.run(partial(server.service.principal, given))  # the keys of an issuer may have to be fetched
    request.state.who = who
    return who


async def body_of(request: Request, kind: type[T]) -> T:
    """The JSON in the body of a request. Raises InputError, or HTTPException 415.

    Parameters
    ----------
    request : the request
    kind : the class of the body
    """
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content != JSON:
        raise HTTPException(415, f"the content type is {content!r:.100}; send {JSON}")
    return shapes.decoded(await request.body(), kind)


def _query_of(request: Request, kind: type[T]) -> T:
    names = [name for name, _ in request.query_params.multi_items()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{twice!r:.100} is in the query string twice; give it once")
    return shapes.converted(dict(request.query_params), kind)


def answered(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer with data.

    Parameters
    ----------
    value : the data
    status : of the answer
    headers : more headers
    """
    return Response(encoded(value), status, dict(headers or {}), JSON)


def _fingerprint(*parts: bytes | str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()


def _once(request: Request, who: Principal, content: bytes | str) -> Once | None:
    """The repeatable write that a request is; None without an ``Idempotency-Key``."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not _ONCE.fullmatch(key):
        raise InputError("the Idempotency-Key cannot be used; give 1 to 200 printable characters without blanks")
    return Once(who.name, key, _fingerprint(request.method, request.url.path, content))


def _written(service: Service, once: Once | None, work: Callable[[], tuple[int, bytes]]) -> Response:
    """The answer of a write, which is done once for each ``Idempotency-Key``. It runs in a thread."""
    if once is None:
        status, body = work()
        return Response(body, status, None, JSON)
    replayed = service.jobs.once(once)
    if replayed is not None:
        return Response(replayed.body, replayed.status, {"idempotent-replayed": "true"}, JSON)
    try:
        status, body = work()
        service.jobs.settle(once, Replayed(status, body))
    except BaseException:
        service.jobs.forget(once)
        raise
    return Response(body, status, None, JSON)


def _endpoint(server: Server, route: Route) -> Callable[[Request], Any]:
    """The function that answers the requests of a route."""

    async def answer(request: Request) -> Response:
        who = await who_asks(server, request)
        asked: dict[str, Any] = {}
        if route.query is not None:
            asked["asked"] = _query_of(request, route.query)
        elif request.scope["query_string"] and (name := next(iter(request.query_params), "")):
            raise InputError(f"{name!a:.100} is no parameter of this route; leave it out")
        elif route.takes is not None:
            asked["asked"] = await body_of(request, route.takes)
        call = Call(server.service, who, request.path_params, asked)
        if route.is_write:
            once = _once(request, who, b"" if route.takes is None else await request.body())
            return await server.run(partial(_written, server.service, once, lambda: (200, encoded(route.result(call)))))
        if not route.etag:
            return await server.run(lambda: answered(route.result(call)))
        return await server.run(partial(_cached, call, route, request.headers.get("if-none-match", "")))

    answer.__doc__ = route.about
    return answer


def _cached(call: Call, route: Route, known: str) -> Response:
    """The answer with its ETag; without a body if the caller knows it. It runs in a thread."""
    if route.etag == "answer":
        body = encoded(route.result(call))
        state: bytes | str = body
    else:
        body, state = b"", call.service.state(call.who, call.path["corpus"])
    if not state:
        return answered(route.result(call), headers={"cache-control": "private, no-store"})
    tag = f'W/"{_fingerprint(call.path["corpus"], state)[:32]}"'
    headers = {"etag": tag, "cache-control": "private, no-cache", "vary": "authorization"}
    if tag in [each.strip() for each in known.split(",")]:
        return Response(None, 304, headers)
    return Response(body or encoded(route.result(call)), 200, headers, JSON)


# Answers and jobs as events.

_END: Final = object()


async def events_of(server: Server, make: Callable[[], Iterator[T]]) -> AsyncIterator[T | Exception]:
    """The items of an iterator that runs in a thread; an error is the last item. Closing the result ends the iterator.

    Parameters
    ----------
    server : what the routes work with
    make : makes the iterator
    """
    loop, queue, is_gone = asyncio.get_running_loop(), asyncio.Queue[Any](), threading.Event()

    def put(item: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop ended
            loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        try:
            with contextlib.closing(make()) as events:  # type: ignore[type-var]
                for event in events:
                    put(event)
                    if is_gone.is_set():
                        return
        except HLGraphError as error:
            put(error)
        except Exception as error:
            put(error)
            raise
        finally:
            put(_END)

    server.gate.begin(work)
    seconds = _ANSWERS * server.service.settings.max_seconds
    try:
        while True:
            try:
                async with asyncio.timeout(seconds):
                    item = await queue.get()
            except TimeoutError:
                item = DeadlineError(f"nothing came for {seconds:g} s; ask for less, or ask again later")
            if item is _END:
                return
            yield item
    finally:
        is_gone.set()


async def admitted(
    events: AsyncIterator[T | Exception], *, server: Server, request: Request
) -> AsyncIterator[T | Exception]:
    """The same items, as long as the key of the request is valid: it may be revoked or expire before the last of them.

    Parameters
    ----------
    events : the items
    server : what the routes work with
    request : the request
    """
    last = time.monotonic()
    async with contextlib.aclosing(cast("AsyncGenerator[T | Exception]", events)) as items:
        async for item in items:
            if time.monotonic() - last >= _KEY_SECONDS:
                last = time.monotonic()
                try:
                    await who_asks(server, request)
                except HLGraphError as error:
                    yield error
                    return
            yield item


async def begun(events: AsyncIterator[T | Exception]) -> tuple[T, AsyncIterator[T | Exception]]:
    """The first item, and the iterator over the others. Raises the error if it is the first."""
    async for first in events:
        if isinstance(first, Exception):
            raise first
        return first, events
    raise DeadlineError("the answer ended before it began; ask again")


def _sent(event: Event | Exception, who: Principal) -> ServerSentEvent:
    if isinstance(event, Exception):
        problem = problem_of(event, operates=who.has("operate"), id=telemetry.correlation_id())
        return ServerSentEvent(encoded(problem.to_tree()).decode(), event="problem")
    return ServerSentEvent(encoded(event.data).decode(), event=event.name)


def _answer_endpoint(server: Server) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        who = await who_asks(server, request)
        asked = await body_of(request, shapes.AnswerAsked)
        service, corpus = server.service, request.path_params["corpus"]
        if EVENTS not in request.headers.get("accept", ""):
            seconds = _ANSWERS * service.settings.max_seconds
            return await server.run(lambda: answered(service.answer(who, corpus, asked=asked)), seconds=seconds)
        first, rest = await begun(events_of(server, lambda: service.answer_events(who, corpus, asked=asked)))

        async def stream() -> AsyncIterator[ServerSentEvent]:
            yield _sent(first, who)
            async for event in admitted(rest, server=server, request=request):
                yield _sent(event, who)

        return EventSourceResponse(stream())

    return answer


def _job_events_endpoint(server: Server) -> Callable[[Request], Any]:
    async def events(request: Request) -> Response:
        who = await who_asks(server, request)
        look = partial(server.service.ingests.find, who, request.path_params["job"])
        job = await server.run(look)

        async def looks() -> AsyncIterator[shapes.Job | Exception]:
            current = job
            while True:
                yield current
                if current.is_over:
                    return
                await asyncio.sleep(_POLL_SECONDS)
                try:
                    current = await asyncio.to_thread(look)
                except HLGraphError as error:
                    yield error
                    return

        async def stream() -> AsyncIterator[ServerSentEvent]:
            last: shapes.Job | None = None
            async for seen in admitted(looks(), server=server, request=request):
                if isinstance(seen, Exception):
                    yield _sent(seen, who)
                elif seen != last:  # by the clock, the end might be as old as the progress before it
                    last = seen
                    yield _sent(Event(seen.state if seen.is_over else "progress", seen), who)

        return EventSourceResponse(stream())

    return events


# Ingests.


def _ingest_endpoint(server: Server) -> Callable[[Request], Any]:
    async def ingest(request: Request) -> Response:
        who = await who_asks(server, request)
        corpus = request.path_params["corpus"]
        content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        with server.service.jobs.incoming() as folder:
            if content == FORM:
                asked, uploads, digest = await _form_of(request, folder)
            else:
                asked, uploads = await body_of(request, shapes.IngestAsked), {}
                digest = _fingerprint(await request.body())
            once = _once(request, who, digest)

            def work() -> tuple[int, bytes]:
                job = server.service.ingests.start(who, corpus, asked=asked, folder=folder, uploads=uploads, once=once)
                return 202, encoded(job)

            response = await server.run(partial(_written, server.service, once, work))
        response.headers["location"] = f"/v1/jobs/{msgspec.json.decode(response.body)['id']}"
        return response

    return ingest


class _Form(MultiPartParser):
    """A form that notes its end: the parser drops the part that a form without one ends in, such as the groups of its files."""

    is_whole = False

    def on_end(self) -> None:
        """See :class:`MultiPartParser`."""
        self.is_whole = True


@contextlib.asynccontextmanager
async def _read_form(request: Request) -> AsyncIterator[FormData]:
    """The form in the body of a request. Raises HTTPException 400."""

    async def body() -> AsyncGenerator[bytes]:
        async for part in request.stream():
            yield part
        if not form.is_whole:
            raise MultiPartException("the form has no end, so a part of it may be missing; send all of it")

    form = _Form(request.headers, body(), max_files=_MOST_FILES, max_fields=_MOST_FIELDS)
    try:
        data = await form.parse()
    except MultiPartException as error:
        raise HTTPException(400, error.message) from error
    try:
        yield data
    finally:
        await data.close()


async def _form_of(request: Request, folder: Path) -> tuple[shapes.IngestAsked, dict[str, str], str]:
    """The options of an upload, its files in a folder with their uris, and the hash of all."""
    options, uploads, digests = shapes.IngestOptions(), dict[str, str](), [""]
    async with _read_form(request) as form:
        for name, value in form.multi_items():
            if name == "options" and isinstance(value, str):
                if digests[0]:
                    raise InputError("options came twice; send them once")
                options = shapes.decoded(value.encode(), shapes.IngestOptions)
                digests[0] = value
            elif name == "files" and isinstance(value, UploadFile):
                path, uri = _place_of(value.filename or "", len(uploads))
                if uri in uploads.values():
                    raise InputError(f"two files are called {uri!r:.200}; send each once")
                digests += [uri, await asyncio.to_thread(_stored, value, folder / path)]
                uploads[path] = uri
            else:
                raise InputError(f"the part {name!r:.100} cannot be used; send files, and options as JSON")
    if not uploads:
        raise InputError("the form has no files; send each as a part named files, with its file name")
    return shapes.IngestAsked(options=options), uploads, _fingerprint(*digests)


def _place_of(name: str, number: int) -> tuple[str, str]:
    """Where an uploaded file lies in its folder, and the uri of its source.

    Examples
    --------
    >>> _place_of("../notes/a b.md", 3)
    ('3/a b.md', 'upload:notes/a b.md')
    """
    parts = [part for part in re.split(r"[/\\]", name) if part not in ("", ".", "..")]
    if not parts or any(not part.isprintable() for part in parts) or len(name) > 1_000:
        raise InputError(f"the file name {name!r:.100} cannot be used; give one that can be printed")
    last = parts[-1]
    stem, dot, suffix = last.rpartition(".")
    kept = f"{stem[:80]}.{suffix[:20]}" if dot and stem else last[:100]
    return f"{number}/{kept}", f"upload:{'/'.join(parts)}"


def _stored(upload: UploadFile, path: Path) -> str:
    """Store an uploaded file; returns its hash."""
    with stored_at(path.parent):
        files.make_folder(path.parent)
        with files.write_bytes(path) as out:
            shutil.copyfileobj(upload.file, out, 1 << 20)
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


# All of them.

ANSWER: Final = _called(
    "POST /corpora/{corpus}/answer",
    "answer",
    "Answer a question with citations: as JSON, or as server-sent events (plan, evidence, text, sentence, citation, done).",
    tag="questions",
    content=(JSON, EVENTS),
)
INGEST: Final = _called(
    "POST /corpora/{corpus}/ingest",
    "ingests.start",
    "Ingest documents, uploaded files, or paths of the server. The job is stored before it is answered.",
    tag="sources",
    is_write=True,
    status=202,
)
JOB_EVENTS: Final = _called(
    "GET /jobs/{job}/events",
    "ingests.find",
    "The progress of a job as server-sent events: progress, then done, failed, cancelled or interrupted.",
    tag="jobs",
    content=(EVENTS,),
)
_PROBES: Final = {
    name: Route(method="GET", path=f"/{name}", about=about, gives=shapes.Health, tag="probes", content=(content,))
    for name, about, content in (
        ("health", "Whether the process answers.", JSON),
        ("ready", "Whether the stores can be used.", JSON),
        ("metrics", "Metrics for Prometheus.", "text/plain"),
    )
}


def add_routes(
    app: FastAPI, server: Server, *, more: Sequence[Route] = (), examples: Mapping[str, Struct] | None = None
) -> None:
    """Add every route to an application, and the document of all.

    Parameters
    ----------
    app : the application
    server : what the routes work with
    more, examples : routes that others add, and examples of what they take and give, for the document
    """
    for route in ROUTES:
        add(app, route, endpoint=_endpoint(server, route))
    add(app, ANSWER, endpoint=_answer_endpoint(server))
    add(app, INGEST, endpoint=_ingest_endpoint(server))
    add(app, JOB_EVENTS, endpoint=_job_events_endpoint(server))
    for name, endpoint in _probes(server).items():
        add(app, _PROBES[name], endpoint=endpoint)
    every = (*ROUTES, ANSWER, INGEST, JOB_EVENTS, *_PROBES.values(), *more)
    document = encoded(described(every, {**shapes.EXAMPLES, **(examples or {})}))

    async def openapi(_: Request) -> Response:
        return Response(document, 200, None, JSON)

    app.router.routes.append(StarletteRoute("/v1/openapi.json", openapi))


class _Known(StarletteRoute):
    """A route that its request names, for the metrics."""

    def matches(self, scope: MutableMapping[str, Any]) -> tuple[Match, MutableMapping[str, Any]]:
        match, inner = super().matches(scope)
        return match, inner if match is Match.NONE else {**inner, "route": self}


def add(app: FastAPI, route: Route, *, endpoint: Callable[[Request], Any]) -> None:
    """Add a route to an application.

    Parameters
    ----------
    app : the application
    route : the route
    endpoint : answers its requests
    """
    known = _Known(f"/v1{route.path}", endpoint, methods=[route.method])
    known.path_regex = re.compile(known.path_regex.pattern, re.DOTALL)  # a uri or a name may have a line break
    app.router.routes.append(known)


def _probes(server: Server) -> dict[str, Callable[[Request], Any]]:
    async def health(_: Request) -> Response:
        return answered(shapes.Health(status="ok", version=__version__))

    async def ready(request: Request) -> Response:
        has_key = "authorization" in request.headers or not server.service.needs_credentials
        who = await who_asks(server, request) if has_key else None
        state = await server.run(partial(server.service.ready, who))
        return answered(state, status=200 if state.status == "ok" else 503)

    async def metrics(request: Request) -> Response:
        (await who_asks(server, request)).check("operate")
        return Response(server.metrics.text(server.gate.calls), 200, None, "text/plain; version=0.0.4; charset=utf-8")

    return {"health": health, "ready": ready, "metrics": metrics}


# Their document.


def described(routes: Sequence[Route], examples: Mapping[str, Struct]) -> dict[str, Any]:
    """The OpenAPI document of routes.

    Parameters
    ----------
    routes : the routes
    examples : of what they take and give, by class
    """
    kinds: set[type[Struct]] = {shapes.IngestOptions, Problem}
    for route in routes:
        kinds.update(kind for kind in (route.takes, route.gives, route.query) if kind is not None)
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    shown = {name: msgspec.to_builtins(example, enc_hook=plain) for name, example in examples.items()}
    refs = {
        kind: {"schema": schema, "example": shown.get(kind.__name__, {})}
        for kind, schema in zip(ordered, schemas, strict=True)
    }
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(f"/v1{route.path}".replace(":path", ""), {})[route.method.lower()] = _operation(
            route, refs, components
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hlgraph",
            "version": __version__,
            "description": "Cited answers from a graph of your documents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}],
        "tags": [{"name": name} for name in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": "A key, or a token."}},
        },
    }


def _operation(route: Route, refs: Mapping[type, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """A route in the OpenAPI document."""
    name = re.sub(r"\W+", "_", f"{route.method.lower()}{route.path}").strip("_")
    named = {"type": "string", "minLength": 1, "maxLength": 200}
    parameters: list[dict[str, Any]] = [
        {"name": part, "in": "path", "required": True, "schema": named, "example": _NAMES.get(part, "1f0c2a")}
        for part in re.findall(r"{(\w+)", route.path)
    ]
    if route.query is not None:
        described_query = components[route.query.__name__]
        needed = described_query.get("required", ())
        for part, schema in described_query["properties"].items():
            parameters.append(
                {"name": part, "in": "query", "required": part in needed, "schema": schema, "example": _example(schema)}
            )
    if route.is_write:
        schema = {"type": "string", "pattern": "^[!-~]{1,200}$"}
        key = {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "schema": schema,
            "example": "load-2024-03-05",
        }
        parameters.append(key)
    tree: dict[str, Any] = {"operationId": name, "summary": route.about, "tags": [route.tag], "parameters": parameters}
    if route.takes is not None:
        content = {JSON: refs[route.takes]}
        if route is INGEST:
            content[FORM] = {"schema": _form(refs), "example": {"files": "a file", "options": "{}"}}
        tree["requestBody"] = {"required": True, "content": content}
    shapes: dict[str, Any] = {
        JSON: refs[route.gives],
        EVENTS: {"schema": {"type": "string"}, "example": "event: done\ndata: {}\n\n"},
        "text/plain": {"schema": {"type": "string"}, "example": "hlgraph_calls 0.0"},
    }
    headers = {"ETag": {"schema": {"type": "string"}, "description": "Changes with the corpus."}} if route.etag else {}
    done = {"description": "As asked.", "content": {name: shapes[name] for name in route.content}, "headers": headers}
    problem = refs[Problem]
    refusals: dict[str, Any] = {
        str(status): {"description": text, "content": {PROBLEM: problem}} for status, text in _REFUSALS.items()
    }
    if route.path == "/ready":
        refusals["503"] = {"description": "A store cannot be used.", "content": {JSON: shapes[JSON], PROBLEM: problem}}
    if route.etag:
        refusals["304"] = {"description": "If-None-Match names the present state."}
    tree["responses"] = {str(route.status): done, **refusals}
    return tree


def _example(schema: Mapping[str, Any]) -> object:
    """A value that a schema allows: its example, its default, or the first of its choices; of a choice with null the other.

    Examples
    --------
    >>> _example({"anyOf": [{"enum": ["open", "same"]}, {"type": "null"}], "default": None})
    'open'
    """
    inner = schema["anyOf"][0] if "anyOf" in schema else schema
    return next(iter((*inner.get("examples", ()), *inner.get("enum", ()))), schema.get("default"))


def _form(refs: Mapping[type, Any]) -> dict[str, Any]:
    files_of = {"type": "array", "items": {"type": "string", "format": "binary"}, "minItems": 1}
    options = {"type": "string", "contentMediaType": JSON, "contentSchema": refs[shapes.IngestOptions]["schema"]}
    return {"type": "object", "properties": {"files": files_of, "options": options}, "required": ["files"]}


_NAMES: Final = {"corpus": "default"}
