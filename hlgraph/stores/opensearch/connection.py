"""Signed and typed requests to one OpenSearch server, retried while it is busy. The only module that uses opensearch-py."""

from __future__ import annotations

import contextlib
import email.utils
import itertools
import logging
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from hlgraph.errors import (
    HLGraphError,
    ModelMismatchError,
    SettingsError,
    StoreError,
    StoreUnavailableError,
    needs_extra,
)
from hlgraph.settings import OpenSearchSettings
from hlgraph.stores.closing import closed, mapped_if_closed, unanswered
from hlgraph.stores.concurrency import Retry, read_in_time
from hlgraph.stores.opensearch import wire
from hlgraph.stores.opensearch.wire import Anything, Cause, Json, Refusal
from hlgraph.stores.trace import is_hasty, is_listening, request_text, traced

if TYPE_CHECKING:
    from opensearchpy import Urllib3HttpConnection

# Mapping of refusals of OpenSearch and errors of its client to errors of hlgraph.


class IndexMovedError(StoreUnavailableError):
    """The rows of a corpus are being moved, or were moved, to another index: look it up and repeat the write."""


class FormRefusedError(StoreError):
    """The server refused a Smile body; send it as JSON."""


@contextlib.contextmanager
def mapped(url: str, *, is_closed: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Raise errors of opensearch-py in a block as hlgraph errors that name the server and the remedy.

    Parameters
    ----------
    url : URL of the server
    is_closed : whether the connection was closed: then every error is a StoreClosedError
    """
    with needs_extra("opensearch", "a vector store in OpenSearch"):
        from opensearchpy import exceptions
    with mapped_if_closed(url, is_closed):
        try:
            yield
        except exceptions.ConnectionTimeout as error:
            raise StoreUnavailableError(
                f"{url}: no answer in time; check the load of the server, or raise opensearch.timeout, and run the same "
                "command again; it continues where it stopped"
            ) from error
        except exceptions.ConnectionError as error:
            if not is_lost(error):
                raise StoreError(
                    f"{url}: the certificate of the server is not trusted or the connection is not encrypted "
                    f"({reason_of(error)}); set opensearch.ca to the file of the certificate authority, or correct https:// in "
                    "the URL"
                ) from error
            raise StoreUnavailableError(
                f"{url}: the server cannot be reached ({reason_of(error)}); start it, or correct the URL, and run the same "
                "command again; it continues where it stopped"
            ) from error
        except exceptions.TransportError as error:
            raise StoreError(f"{url}: {error.error}") from error


def is_lost(error: Exception) -> bool:
    """Whether an error means a lost connection, also during a TLS exchange; False for a wrong certificate or TLS setting."""
    cause: BaseException | None = getattr(error, "info", error)
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause is None or isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError)


def reason_of(error: Exception) -> str:
    """The message of a network error, without the address of a Python object."""
    inner = getattr(error, "info", None)
    text = str(inner if isinstance(inner, Exception) else error)
    return text.rpartition(">: ")[2] or text


def refusal(url: str, status: int, *, cause: Cause | str, request: str = "the request") -> HLGraphError:
    """The hlgraph error for a refusal.

    A blocked index is reported as 403 or 429, depending on the version, so it is recognised by its type.

    Parameters
    ----------
    url : URL of the server
    status : HTTP status
    cause : reason that the server gave
    request : method and path of the request
    """
    words = cause.words() if isinstance(cause, Cause) else cause
    words = words[:2_000] or f"status {status}"
    for is_it, kind, meaning in _MEANINGS:
        if is_it(status, words):
            return kind(f"{url}: {meaning.format(status=status, words=words, request=request)}")
    return StoreError(f"{url}: the server refused ({status}: {words}); run: hlgraph doctor")


def _says(*parts: str) -> Callable[[int, str], bool]:
    return lambda _, words: any(part in words for part in parts)


_MEANINGS: tuple[tuple[Callable[[int, str], bool], type[HLGraphError], str], ...] = (
    (
        lambda status, _: status == 401,
        StoreError,
        "user or password is wrong (401); set opensearch.user and opensearch.password, or HLGRAPH_OPENSEARCH_USER and "
        "HLGRAPH_OPENSEARCH_PASSWORD",
    ),
    (
        _says("FORBIDDEN/8/"),
        IndexMovedError,
        "the index takes no writes ({words}); it is being re-indexed, or was when a migration was killed: wait for the "
        "migration, or run hlgraph migrate apply and hlgraph migrate repair, and run the same command again; it continues "
        "where it stopped",
    ),
    (
        lambda status, words: status < 500 and "cluster_block_exception" in words,
        StoreUnavailableError,
        "the index is read-only ({words}); free some disk space on the server (it sets this block at the flood stage), "
        "lift index.blocks.read_only_allow_delete, and run the same command again; it continues where it stopped",
    ),
    (
        lambda status, _: status == 403,
        StoreError,
        "{request:.120} is not allowed (403: {words}); add the permission to a role of the user: to its cluster_permissions if "
        "it begins with cluster: or is indices:data/write/bulk or indices:data/read/msearch, else for the indexes that start "
        "with opensearch.prefix",
    ),
    (
        _says(
            "unknown setting [index.knn]",
            "No handler for type [knn",
            "unknown query [knn]",
            "script_lang not supported [knn]",
        ),
        StoreError,
        "the k-NN plugin is missing ({words}); install it on every node (opensearch-plugin install opensearch-knn) and "
        "restart, or use a distribution of OpenSearch that has it",
    ),
    (
        _says("Vector dimension mismatch", "invalid dimension", "does not match the expected length"),
        ModelMismatchError,
        "the vectors have other dimensions than those of the index ({words}); use the embedding model of the corpus, or "
        "another corpus",
    ),
    (
        _says("routing_missing_exception", "dynamic introduction of [corpus]"),
        IndexMovedError,
        "the index was re-indexed meanwhile ({words}); run the same command again; it continues where it stopped",
    ),
    (
        _says("maximum shards open"),
        StoreError,
        "no index can be created ({words}); set opensearch.layout to shared and run hlgraph migrate repair, so that corpora "
        "share indexes, delete unneeded corpora, add a node, or raise cluster.max_shards_per_node",
    ),
    (
        lambda status, _: status == 429 or status >= 500,
        StoreUnavailableError,
        "the server is overloaded or not ready ({status}: {words}); wait, or give it more memory, and run the same command "
        "again; it continues where it stopped",
    ),
)


_LOG = logging.getLogger(__name__)

BUSY = frozenset({429, 500, 502, 503, 504})
"""Statuses after which a request is retried; every request of hlgraph is idempotent."""

_BROKEN = 3  # attempts on a broken connection if the server never answered, and after a fault
# A search began on an index that was removed meanwhile; its alias names the next one.
_CLOSING = "already_closed_exception"
_CONNECTIONS = 8
_SMILE = {"content-type": "application/smile", "accept": "application/json"}

T = TypeVar("T")


class Answer(msgspec.Struct, frozen=True):
    """An HTTP response: status, headers with lower-case names, body, and method and path of the request."""

    status: int
    headers: Mapping[str, str]
    body: str
    request: str = ""


class Connection:
    """A connection to one server, opened at the first request. Thread-safe.

    Requests to a busy server (429, 5xx) are retried for up to ``settings.patience`` seconds, after the time given in
    Retry-After, or else with random exponential backoff. The same applies to a server that has answered before and is now
    unavailable, because it may be restarting. A server that never answered is tried three times.

    Parameters
    ----------
    url : URL of the server
    settings : authentication, names and time limits

    Attributes
    ----------
    reads_smile : whether the server accepts bodies in Smile, as far as is known

    Raises
    ------
    SettingsError
        The URL is malformed or holds a password, or the ``ca`` file cannot be read.
    """

    def __init__(self, url: str, settings: OpenSearchSettings) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"{_shown(url)!r} is not the URL of an OpenSearch server; write one such as https://localhost:9200"
            )
        if parts.username or parts.password:
            raise SettingsError(
                f"{_shown(url)}: the URL holds a user or a password, which would appear in logs; set opensearch.user and "
                "opensearch.password instead"
            )
        self.url = url.rstrip("/")
        self.settings = settings
        self._parts = parts
        self._guard = threading.Lock()
        self._sender: Urllib3HttpConnection | None = None
        self._is_closed = False
        self._has_answered = False
        self.reads_smile = not self.is_serverless

    @property
    def is_serverless(self) -> bool:
        """Whether this is Amazon OpenSearch Serverless, which lacks some operations."""
        return self.settings.is_serverless

    def close(self) -> None:
        """Close the sockets; running and later calls raise StoreClosedError."""
        with self._guard:
            self._is_closed = True
            sender, self._sender = self._sender, None
        if sender is not None:
            sender.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        answer: type[T],
        body: Json | bytes = None,
        parameters: Mapping[str, str] | None = None,
    ) -> T:
        """Send a request and decode the answer.

        Parameters
        ----------
        method : HTTP method
        path : path of the request
        answer : type of the answer
        body : JSON value or encoded body; None: no body
        parameters : query parameters

        Raises
        ------
        StoreUnavailableError
            The server is unavailable or busy for longer than the patience.
        StoreError
            The server refused the request, or the answer has another type.
        """
        return self.accepted(self.send(method, path, body=body, parameters=parameters), answer)

    def command(
        self, method: str, path: str, *, body: Json = None, parameters: Mapping[str, str] | None = None
    ) -> None:
        """Send a request and ignore the answer, unless it is a refusal.

        Parameters
        ----------
        method, path, body, parameters : see :meth:`ask`
        """
        self.ask(method, path, answer=Anything, body=body, parameters=parameters)

    def accepted(self, reply: Answer, answer: type[T]) -> T:
        """The decoded body of an answer.

        Parameters
        ----------
        reply : answer of the server
        answer : type of its body

        Raises
        ------
        StoreError
            The answer is a refusal or the failure of a shard, or its body has another type.
        """
        if reply.status >= 400:
            raise refusal(self.url, reply.status, cause=cause_of(reply.body), request=reply.request)
        try:
            decoded = msgspec.json.decode(reply.body or "{}", type=answer)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise StoreError(
                f"{self.url}: the answer is not from OpenSearch ({error}); check the URL, and any proxy in between"
            ) from error
        failures = decoded.shards.failures if isinstance(decoded, Anything) else []
        for failure in failures:
            if failure.primary:
                status = getattr(HTTPStatus, failure.status, HTTPStatus.INTERNAL_SERVER_ERROR)
                raise refusal(self.url, status, cause=failure.reason or failure.status, request=reply.request)
        return decoded

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Json | bytes = None,
        parameters: Mapping[str, str] | None = None,
        recorded: Mapping[str, object] | None = None,
    ) -> Answer:
        """Send a request, with retries while the server is busy; the answer may be a refusal.

        Parameters
        ----------
        method : HTTP method
        path : path of the request
        body : JSON value or encoded body; None: no body
        parameters : query parameters
        recorded : what a trace records of the body; None: the body

        Raises
        ------
        StoreUnavailableError
            The server cannot be reached.
        """
        data = body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        line = request_text(method, path, parameters=parameters)
        request = partial(self._sent, method, path, data=data, parameters=parameters)
        is_read = method == "GET" or path.endswith(("/_search", "/_msearch"))
        with (
            traced(
                "opensearch", f"{method} {path}", text=line, language="json", params=lambda: recorded or _recorded(body)
            ) as call,
            mapped(self.url, is_closed=lambda: self._is_closed),
        ):
            is_limited = is_read and is_hasty()
            attempt = self._within_deadline if is_limited else self._unbroken
            retry = Retry(self.settings.read_seconds) if is_limited else retry_of(self.settings)
            for number in itertools.count(1):
                reply = attempt(request, retry)
                is_closing = reply.status == 400 and _CLOSING in reply.body
                is_final = (reply.status not in BUSY and not is_closing) or _is_blocked(reply)
                is_final = is_final or (number == _BROKEN and (reply.status == 500 or is_closing))  # a permanent fault
                if is_final or not retry.goes_on(_seconds(reply.headers.get("retry-after"))):
                    break
                _LOG.debug("%s: status %d, trying again", line, reply.status)
            call.round_trips = number
            call.bytes = len(reply.body.encode()) if is_listening() else None
            return reply

    def _unbroken(self, request: Callable[..., Answer], retry: Retry) -> Answer:
        """Retry a request whose connection breaks: three times, or until the patience is over if the server has answered before."""
        from opensearchpy import exceptions

        number = 0
        while True:
            try:
                return request()
            except exceptions.ConnectionError as error:
                number += 1
                is_over = number == _BROKEN and not self._has_answered
                if not is_lost(error) or is_over or not retry.goes_on():
                    raise

    def _within_deadline(self, request: Callable[..., Answer], retry: Retry) -> Answer:
        """Send a reading request, with a deadline in case the server is unavailable; see :func:`read_in_time`."""
        from opensearchpy import exceptions

        seconds, check = retry.seconds, "the network and its load"

        def is_away(error: Exception) -> bool:
            return is_lost(error) and (self._has_answered or isinstance(error, exceptions.ConnectionTimeout))

        return read_in_time(
            lambda limit: request(timeout=limit),
            ping=lambda limit: self._sent("GET", "/", timeout=limit),
            retry=retry,
            lost=(exceptions.ConnectionError,),
            is_away=is_away,
            unanswered=lambda error: unanswered(
                self.url, "OpenSearch", seconds=seconds, reason=reason_of(error), check=check
            ),
        )

    def _sent(
        self,
        method: str,
        path: str,
        *,
        data: bytes | None = None,
        parameters: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Send a request once and return the answer; raises the errors of the client."""
        status, names, text = self._connected().perform_request(
            method,
            path,
            params=parameters,
            body=data,
            timeout=timeout,
            headers=_SMILE if data is not None and data.startswith(wire.HEAD) else None,
            ignore=range(300, 600),
        )
        self._has_answered = True
        return Answer(status, {name.lower(): value for name, value in names.items()}, text, f"{method} {path}")

    def _connected(self) -> Urllib3HttpConnection:
        with self._guard:
            if self._is_closed:
                raise closed(self.url)
            if self._sender is None:
                self._sender = self._make()
            return self._sender

    def _make(self) -> Urllib3HttpConnection:
        from opensearchpy import Urllib3HttpConnection

        class Quiet(Urllib3HttpConnection):
            """A connection class that does not log failures with a traceback, because the raised error reports them."""

            def log_request_fail(self, *_: object, **__: object) -> None: ...

        is_encrypted = self._parts.scheme == "https"
        auth = self._authentication()
        return Quiet(
            host=self._parts.hostname or "",
            port=self._parts.port or (443 if is_encrypted else 80),
            url_prefix=self._parts.path.rstrip("/"),
            http_auth=auth,
            use_ssl=is_encrypted,
            ssl_context=self._trust() if is_encrypted else None,
            timeout=self.settings.timeout,
            pool_maxsize=_CONNECTIONS,
        )

    def _trust(self) -> ssl.SSLContext:
        ca = self.settings.ca
        try:
            return ssl.create_default_context(cafile=str(Path(ca).expanduser()) if ca else None)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"opensearch.ca: {ca} holds no readable certificates ({error}); name a PEM file of the authority"
            ) from error

    def _authentication(self) -> object:
        settings = self.settings
        if not settings.service:
            return (settings.user, settings.password) if settings.user else None
        with needs_extra("aws", "signing requests to the Amazon service"):
            import boto3
            from opensearchpy import Urllib3AWSV4SignerAuth
        credentials = boto3.Session().get_credentials()
        if credentials is None:
            raise SettingsError(
                f"opensearch.service is {settings.service}, but boto3 finds no credentials; run: aws configure, or set "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        return Urllib3AWSV4SignerAuth(credentials, settings.region, settings.service)


def retry_of(settings: OpenSearchSettings) -> Retry:
    """The retry policy for a busy server."""
    return Retry(settings.patience, first=0.2, longest=15.0)


def cause_of(body: str) -> Cause | str:
    """The reason in the body of a refusal; the start of the text if it does not come from OpenSearch (a proxy)."""
    try:
        decoded = msgspec.json.decode(body, type=Refusal)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return " ".join(body.split())[:200]
    reasons = (failure.reason for failure in decoded.shards.failures if failure.reason)
    return decoded.error or decoded.message or next(reasons, "")


def _recorded(body: Json | bytes) -> Mapping[str, object]:
    """A body in the form that a trace records."""
    return body if isinstance(body, dict) else {} if body is None else {"body": body}


def _is_blocked(reply: Answer) -> bool:
    """Whether the index is read-only, so that retries are useless; a starting server instead blocks everything with a 503."""
    return reply.status < 500 and "cluster_block_exception" in reply.body


def _seconds(retry_after: str | None) -> float:
    """The wait in seconds from a Retry-After header (seconds or a date), at most 60; 0 without one."""
    if not retry_after:
        return 0.0
    try:
        wait = float(retry_after)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
        except ValueError:
            return 0.0
    return min(max(wait, 0.0), 60.0)


def _shown(url: str) -> str:
    """A URL without user and password."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
