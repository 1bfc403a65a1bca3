"""Requests to one OpenSearch server: signed, patient with a busy server, typed. Nothing else touches opensearch-py."""

from __future__ import annotations

import email.utils
import logging
import random
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from hlgraph.errors import MissingExtraError, SettingsError, StoreError
from hlgraph.stores.opensearch.foreign_errors import mapped, refusal
from hlgraph.stores.opensearch.wire import Cause, Json, Refusal
from hlgraph.stores.trace import is_listening, request_text, traced

_LOG = logging.getLogger(__name__)

BUSY = frozenset({429, 500, 502, 503, 504})
"""Statuses that are worth trying again: everything that hlgraph sends may be sent twice."""

_BROKEN = 3  # how often a connection that breaks is tried; a server that is down must not cost the whole patience
_LONGEST_WAIT = 15.0
_CONNECTIONS = 8

T = TypeVar("T")


class ServerSettings(Protocol):
    """How to reach the server: ``hlgraph.settings.OpenSearchSettings``, which lies above the stores."""

    @property
    def user(self) -> str:
        """Name for basic authentication; empty for none."""

    @property
    def password(self) -> str:
        """Never shown or logged."""

    @property
    def ca(self) -> str | None:
        """File of the certificates to trust; None: the system's."""

    @property
    def service(self) -> str:
        """``es`` or ``aoss`` to sign requests for Amazon's services."""

    @property
    def region(self) -> str:
        """Region to sign for."""

    @property
    def prefix(self) -> str:
        """Start of the names of all indexes."""

    @property
    def language(self) -> str:
        """Stemmer of new indexes."""

    @property
    def replicas(self) -> int:
        """Copies of each index beside the first."""

    @property
    def timeout(self) -> float:
        """Seconds for one request."""

    @property
    def patience(self) -> float:
        """Seconds that refused requests are repeated."""


class Answer(msgspec.Struct, frozen=True):
    """Status, headers with lower-case names, and body."""

    status: int
    headers: Mapping[str, str]
    body: str


class _Sender(Protocol):
    """A connection of opensearch-py, as far as it is used here."""

    def perform_request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None,
        body: bytes | None,
        timeout: float,
        ignore: range,
    ) -> tuple[int, Mapping[str, str], str]: ...

    def close(self) -> None: ...


class Connection:
    """One server. Made without connecting; safe for threads.

    A busy server (429, 5xx) is asked again until ``settings.patience`` seconds are over: after the time that it asks for
    (Retry-After), else after growing, random waits. So is one that answered before and is away now (it restarts); one that
    never answered is tried three times.

    Raises
    ------
    SettingsError : the url is none, holds a password, or the ``ca`` file cannot be read
    """

    def __init__(self, url: str, settings: ServerSettings) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"{_shown(url)!r} is no url of an OpenSearch server; write one such as https://localhost:9200"
            )
        if parts.username or parts.password:
            raise SettingsError(
                f"{_shown(url)}: the url holds a user or a password, which would show up in logs; set opensearch.user and "
                "opensearch.password instead"
            )
        self.url = url.rstrip("/")
        self.settings = settings
        self._parts = parts
        self._guard = threading.Lock()
        self._sender: _Sender | None = None
        self._has_answered = False

    @property
    def is_serverless(self) -> bool:
        """Whether this is Amazon OpenSearch Serverless, which lacks a part of the operations."""
        return self.settings.service == "aoss"

    def close(self) -> None:
        """Close the sockets."""
        with self._guard:
            if self._sender is not None:
                self._sender.close()
                self._sender = None

    def ask(
        self,
        method: str,
        path: str,
        *,
        answer: type[T],
        body: Json | bytes = None,
        parameters: Mapping[str, str] | None = None,
    ) -> T:
        """Send a request and decode what comes back.

        Raises
        ------
        StoreUnavailableError : the server is away, or busy for longer than the patience
        StoreError : the server refused
        """
        return self.accepted(self.send(method, path, body=body, parameters=parameters), answer)

    def accepted(self, found: Answer, answer: type[T]) -> T:
        """The decoded body of an answer, unless it is a refusal: that is raised."""
        if found.status >= 400:
            raise refusal(self.url, found.status, cause=cause_of(found.body))
        return self.decoded(found.body, answer)

    def decoded(self, body: str, answer: type[T]) -> T:
        """A body as the type that it must have."""
        try:
            return msgspec.json.decode(body or "{}", type=answer)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise StoreError(
                f"{self.url}: the answer is not one of OpenSearch ({error}); check the url, and any proxy in between"
            ) from error

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Json | bytes = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request, again while the server is busy; the answer may be a refusal."""
        data = body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        line = request_text(method, path, parameters=parameters)
        with traced("opensearch", f"{method} {path}", text=line, language="json", params=lambda: _told(body)) as call:
            found, call.round_trips = self._patiently(method, path, data=data, parameters=parameters)
            call.bytes = len(found.body.encode()) if is_listening() else None
            return found

    def _patiently(
        self, method: str, path: str, *, data: bytes | None, parameters: Mapping[str, str] | None
    ) -> tuple[Answer, int]:
        """The answer, and how often it was asked for."""
        waiting = Patience(self.settings.patience)
        attempt = 0
        while True:
            attempt += 1
            found = self._once(method, path, data=data, parameters=parameters, waiting=waiting)
            if found.status == 500 and attempt == _BROKEN:  # a fault of the server, or of the request: it will not pass
                return found, attempt
            if found.status not in BUSY or _is_blocked(found) or not waiting.goes_on(found.headers.get("retry-after")):
                return found, attempt
            _LOG.debug("%s %s: status %d, trying again", method, path, found.status)

    def _once(
        self,
        method: str,
        path: str,
        *,
        data: bytes | None,
        parameters: Mapping[str, str] | None,
        waiting: Patience,
    ) -> Answer:
        with mapped(self.url):
            from opensearchpy import exceptions

            attempt = 0
            while True:
                attempt += 1
                try:
                    status, names, text = self._connected().perform_request(
                        method,
                        path,
                        params=parameters,
                        body=data,
                        timeout=self.settings.timeout,
                        ignore=range(300, 600),
                    )
                except exceptions.SSLError:
                    raise
                except exceptions.ConnectionError:
                    if attempt >= _BROKEN and not (self._has_answered and waiting.goes_on()):
                        raise
                    if attempt < _BROKEN:
                        time.sleep(0.2 * attempt)
                else:
                    self._has_answered = True
                    return Answer(status, {name.lower(): value for name, value in names.items()}, text)

    def _connected(self) -> _Sender:
        with self._guard:
            if self._sender is None:
                self._sender = self._make()
            return self._sender

    def _make(self) -> _Sender:
        from opensearchpy import Urllib3HttpConnection

        class Quiet(Urllib3HttpConnection):
            """Says nothing of what fails, with a traceback, into the log: the error that is raised says it once."""

            def log_request_fail(self, *_: object, **__: object) -> None: ...

        is_encrypted = self._parts.scheme == "https"
        auth = self._authentication()
        sender: _Sender = Quiet(
            host=self._parts.hostname or "",
            port=self._parts.port or (443 if is_encrypted else 80),
            url_prefix=self._parts.path.rstrip("/"),
            http_auth=auth,
            use_ssl=is_encrypted,
            ssl_context=self._trust() if is_encrypted else None,
            timeout=self.settings.timeout,
            pool_maxsize=_CONNECTIONS,
        )
        return sender

    def _trust(self) -> ssl.SSLContext:
        ca = self.settings.ca
        try:
            return ssl.create_default_context(cafile=str(Path(ca).expanduser()) if ca else None)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"opensearch.ca: {ca} cannot be read as certificates ({error}); name a PEM file of the authority"
            ) from error

    def _authentication(self) -> object:
        settings = self.settings
        if not settings.service:
            return (settings.user, settings.password) if settings.user else None
        try:
            import boto3
            from opensearchpy import Urllib3AWSV4SignerAuth
        except ImportError as error:
            raise MissingExtraError("aws", "signing requests to the Amazon service") from error
        credentials = boto3.Session().get_credentials()
        if credentials is None:
            raise SettingsError(
                f"opensearch.service is {settings.service}, but boto3 finds no credentials; run: aws configure, or set "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        return Urllib3AWSV4SignerAuth(credentials, settings.region, settings.service)


class Patience:
    """How long to go on with a busy server: growing, random waits until the seconds are over."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._attempt = 0

    def goes_on(self, retry_after: str | None = None) -> bool:
        """Wait for the next try; False when the time is over."""
        self._attempt += 1
        wait = min(0.1 * 2.0**self._attempt, _LONGEST_WAIT)
        # Random, so that many workers do not come back all at once.
        wait = _seconds(retry_after) or random.uniform(wait / 2, wait)  # noqa: S311 - no secret
        left = self._until - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(wait, left))
        return True


def cause_of(body: str) -> Cause | str:
    """The reason that the body of a refusal gives; the start of the text when it is not one of OpenSearch (a proxy)."""
    try:
        found = msgspec.json.decode(body, type=Refusal)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return " ".join(body.split())[:200]
    return found.error or found.message


def _told(body: Json | bytes) -> Mapping[str, object]:
    """A body as a trace keeps it."""
    return body if isinstance(body, dict) else {} if body is None else {"body": body}


def _is_blocked(found: Answer) -> bool:
    """Whether the index is read-only, which waiting does not mend; a server that starts blocks everything with a 503."""
    return found.status < 500 and "cluster_block_exception" in found.body


def _seconds(retry_after: str | None) -> float:
    """What a Retry-After header asks for: seconds, or a date; 0 without one, and never more than a minute."""
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
    """A url without what stands before its host."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
