"""One Neo4j database: the driver, its sessions and transactions, and counters of round trips and rows."""

from __future__ import annotations

import contextlib
import logging
import re
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import neo4j
import neo4j.exceptions
from neo4j import exceptions as foreign

from hlgraph import telemetry
from hlgraph.errors import SettingsError, StoreConflictError, StoreCorruptError, StoreError, StoreUnavailableError
from hlgraph.stores import closing, queries
from hlgraph.stores.batches import batched
from hlgraph.stores.closing import closed, mapped_if_closed, unanswered
from hlgraph.stores.concurrency import Retry, read_in_time
from hlgraph.stores.trace import is_hasty, traced

if TYPE_CHECKING:
    from hlgraph.settings import Neo4jSettings


# Mapping of errors of the driver and the server to errors of hlgraph.


_RESUME = "run the same command again; it continues where it stopped"
TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"
"""Error code of a transaction that exceeded the time limit of the client."""
LOCK_STOPPED = "Neo.ClientError.Transaction.LockClientStopped"
"""Error code of a transaction that was terminated, by its time limit or otherwise, while it waited for a lock."""

_OR_DROP = "or drop a change that is too large: hlgraph journal drop"
_READ_ONLY = f"the database is read-only; make it writable, then {_RESUME}"
_ENDED = f"the server ended the transaction, because it shuts down or a user ended it; {_RESUME}"
_GDS = "Neo.ClientError.Procedure.ProcedureNotFound"
_REMEDIES: dict[type[StoreError], dict[str, str]] = {
    StoreError: {
        "Neo.ClientError.Security.Unauthorized": "the server refused the user or the password, or the token; set neo4j.user and "
        "HLGRAPH_NEO4J_PASSWORD, or neo4j.auth and HLGRAPH_NEO4J_TOKEN",
        "Neo.ClientError.Security.CredentialsExpired": "the password must be changed first; run: ALTER CURRENT USER SET PASSWORD",
        "Neo.ClientError.Security.Forbidden": "the user lacks a privilege; grant it the role publisher and schema rights",
        "Neo.ClientError.Database.DatabaseNotFound": "there is no such database on the server; set neo4j.database and "
        "neo4j.databases to names that SHOW DATABASES lists, or create it (CREATE DATABASE; the Community edition has one "
        "database alone)",
        _GDS: "a procedure is missing; install the Graph Data Science plugin (GDS) on the server, or rank in process",
    },
    StoreCorruptError: {
        "Neo.ClientError.Schema.ConstraintValidationFailed": "nodes or a constraint of another program forbid what hlgraph "
        "writes; remove them (SHOW CONSTRAINTS lists those whose name does not start with hlgraph_), or use another database, "
        f"then {_RESUME}",
        "Neo.DatabaseError.Schema.ConstraintCreationFailed": "nodes of another program have a label of hlgraph and the same key "
        "twice; remove them, or use another database",
    },
    StoreUnavailableError: {
        "Neo.ClientError.Security.AuthenticationRateLimit": "too many wrong passwords; wait a few seconds, and set "
        "HLGRAPH_NEO4J_PASSWORD",
        "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase": _READ_ONLY,
        "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase": _READ_ONLY,
        "Neo.TransientError.General.MemoryPoolOutOfMemoryError": "the server has too little memory for this transaction; raise "
        f"dbms.memory.transaction.total.max or the heap, then {_RESUME}, {_OR_DROP}",
        "Neo.ClientError.General.TransactionOutOfMemoryError": "the transaction needs more memory than this server allows; raise "
        f"db.memory.transaction.max, then {_RESUME}, {_OR_DROP}",
        "Neo.ClientError.Transaction.TransactionTimedOut": "the server ended the transaction by its time limit; raise "
        f"db.transaction.timeout, then {_RESUME}, {_OR_DROP}",
        LOCK_STOPPED: _ENDED,
        "Neo.ClientError.Transaction.Terminated": _ENDED,
        "Neo.ClientError.Transaction.TransactionTerminated": _ENDED,
        TIMED_OUT: f"the transaction took longer than hlgraph waits for one; {_RESUME}, {_OR_DROP}",
    },
}
"""The remedy for each error code, by the error class that is raised."""
_FULL = ("no space left", "disk full")


LOST = (
    OSError,
    getattr(foreign, "ConnectionAcquisitionTimeoutError", OSError),  # from version 6 of the driver on
    foreign.IncompleteCommit,
    foreign.ServiceUnavailable,
    foreign.SessionExpired,
    foreign.TransientError,
)
"""Errors of a read from a server that is, or briefly was, unavailable."""
CLOSING: tuple[type[Exception], ...] = (*closing.CLOSING, foreign.DriverError, foreign.Neo4jError)
"""Errors of a call whose connection another thread has closed."""


@contextlib.contextmanager
def mapped(url: str, *, is_closed: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Raise errors of Neo4j in a block as hlgraph errors that name the server and the remedy, never a value of a query.

    Parameters
    ----------
    url : URL of the server
    is_closed : whether the connection was closed: then every error is a StoreClosedError
    """
    with mapped_if_closed(url, is_closed, errors=CLOSING):
        try:
            yield
        except foreign.Neo4jError as error:
            raise _server_error(url, error) from error
        except foreign.ConfigurationError as error:
            raise StoreError(f"{url}: {error}; check the URL of the store and neo4j.ca") from error
        except (foreign.DriverError, OSError) as error:
            raise _connection_error(url, error) from error


def _server_error(url: str, error: foreign.Neo4jError) -> StoreError:
    code, message = error.code or "", error.message or ""
    if any(word in message.lower() for word in _FULL):
        return StoreUnavailableError(f"{url}: the disk of the server is full; free some space, then {_RESUME}")
    if "Unknown function 'gds." in message:
        code = _GDS
    for kind, remedies in _REMEDIES.items():
        if code in remedies:
            return kind(f"{url}: {remedies[code]}")
    said = _line(message) or code
    if isinstance(error, foreign.TransientError):
        if "DeadlockDetected" in code:
            return StoreConflictError(
                f"{url}: another process writes the same nodes ({code}); run the same command again"
            )
        return StoreUnavailableError(f"{url}: {said} ({code}); {_RESUME}")
    return StoreError(f"{url}: {said} ({code}); run: hlgraph doctor")


def _connection_error(url: str, error: Exception) -> StoreError:
    # Its subclass IncompleteCommit means that the server did answer.
    if not isinstance(error, foreign.ServiceUnavailable) or isinstance(error, foreign.IncompleteCommit):
        return StoreUnavailableError(f"{url}: the connection was lost ({_reason(error)}); {_RESUME}")
    text = " ".join(str(item) for item in _chain(error))
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        return StoreError(
            f"{url}: the certificate of the server is not trusted; set neo4j.ca to the file of its authority's certificate"
        )
    return StoreUnavailableError(
        f"{url}: no Neo4j server answers ({_reason(error)}); start it, or correct the URL of the store (+s only if the server "
        "uses TLS)"
    )


def _reason(error: BaseException) -> str:
    """The root cause of an error; the outer errors of the driver only say that a connection failed."""
    *_, root = _chain(error)
    return _line(str(root)) or type(root).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        # A group has one error per server that was tried; the first represents all.
        inner = current.exceptions[0] if isinstance(current, BaseExceptionGroup) else None
        current = inner or current.__cause__ or current.__context__


def _line(text: str) -> str:
    """The first line of a message, shortened, because messages of a server can contain data."""
    return (text.splitlines() or [""])[0][:200]


_LOG = logging.getLogger(__name__)
S = TypeVar("S")
T = TypeVar("T")
Value: TypeAlias = object
Row: TypeAlias = dict[str, Any]
"""A row as a mapping from column to value, with values as the driver converts them."""
BATCH = 5_000
"""Maximum number of rows of one UNWIND."""
LONGEST = 600.0
"""Time limit of a writing transaction in seconds, after which the server terminates that of a vanished client."""

_OVERTAKEN = "Neo.TransientError.Transaction."
"""Errors of a transaction that conflicts with another one, such as deadlocks."""
_SILENCE: ContextVar[float | None] = ContextVar("hlgraph_silence", default=None)
"""Seconds within which a connection from the pool must answer; None: no limit."""
_URL = re.compile(r"(?:neo4j|bolt)(?:\+s|\+ssc)?://[^/@?#]+/?")
_SECRET = re.compile(r"//[^@/]*@")


def size(rows: Iterable[Row]) -> int:
    """The number of rows; a row with many records (column ``records``) counts as that many.

    Examples
    --------
    >>> size([{"id": "a"}, {"records": [["b"], ["c"]]}])
    3
    """
    lists = (row.get("records") for row in rows)
    return sum(len(records) if isinstance(records, list) else 1 for records in lists)


class Transaction:
    """A running transaction: runs library queries by name, in batches, and counts round trips and rows."""

    def __init__(self, inner: neo4j.ManagedTransaction, server: Server) -> None:
        self._inner = inner
        self._server = server

    def rows(self, name: str, /, **params: Value) -> list[Row]:
        """All rows of a query, as mappings from column to value."""
        return self._run(name, self._server.text(name), params)[0]

    def union(self, names: Sequence[str], /, **params: Value) -> list[Row]:
        """All rows of several queries with the same columns, in their order and in one round trip.

        Parameters
        ----------
        names : names of the queries, at least one
        params : their parameters; those that no query has are not sent
        """
        taken = frozenset[str]().union(*(queries.load(item).params for item in names))
        text = "\nUNION ALL\n".join(self._server.text(item).rstrip() for item in names)
        name = " + ".join([names[0], *(item.rpartition("/")[2] for item in names[1:])])
        return self._run(name, text, {key: value for key, value in params.items() if key in taken})[0]

    def _run(self, name: str, text: str, params: Row) -> tuple[list[Row], int]:
        """The rows of a statement, and how many nodes it created."""
        with traced("neo4j", name, text=text, language="cypher", params=params) as call:
            result = self._inner.run(text, params)
            rows = _rows(result)
            call.rows = size(rows)
        self._server.count(1, call.rows)
        return rows, result.consume().counters.nodes_created

    def write(self, name: str, rows: Sequence[Value], /, *, key: str = "rows", **params: Value) -> int:
        """Run a writing query over rows, batch by batch; return how many nodes it created.

        Parameters
        ----------
        name : name of the query
        rows : rows to write
        key : name of the parameter that takes the rows
        params : its other parameters
        """
        text = self._server.text(name)
        return sum(self._run(name, text, {key: batch, **params})[1] for batch in batched(rows, BATCH))

    def collect(self, name: str, items: Sequence[Value], /, *, key: str = "ids", **params: Value) -> list[Row]:
        """All rows of a query over many values, batch by batch.

        Parameters
        ----------
        name : name of the query
        items : values to look up or to write
        key : name of the parameter that takes the values
        params : its other parameters
        """
        return [row for batch in batched(items, BATCH) for row in self.rows(name, **{key: batch}, **params)]


class Server:
    """One database of a server; connects at first use.

    Attributes
    ----------
    url : URL of the server
    settings : settings of the connection
    round_trips, row_count : counters of this object
    """

    def __init__(self, url: str, settings: Neo4jSettings) -> None:
        if not _URL.fullmatch(url):
            shown = _SECRET.sub("//...@", url)
            raise SettingsError(
                f"{shown}: not the URL of a Neo4j server; write neo4j://host:port (neo4j+s:// with encryption), and set "
                "HLGRAPH_NEO4J_USER and HLGRAPH_NEO4J_PASSWORD"
            )
        self.url = url.rstrip("/")
        self.settings = settings
        self.round_trips = 0
        self.row_count = 0
        self._driver: neo4j.Driver | None = None
        self._is_closed = False
        self._guard = threading.Lock()
        self._making = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Forget the bookmarks of this object, because the database was replaced."""
        # In a cluster, a read goes to a member that has the earlier writes of this object.
        self._bookmarks = neo4j.GraphDatabase.bookmark_manager()

    def text(self, name: str) -> str:
        """The text of a library query for this database, with its prefix of labels."""
        return queries.text_of(name, self.settings.label_prefix)

    def count(self, round_trips: int, rows: int) -> None:
        """Add to the counters.

        Parameters
        ----------
        round_trips : exchanges with the server
        rows : rows received
        """
        with self._guard:
            self.round_trips += round_trips
            self.row_count += rows

    def driver(self) -> neo4j.Driver:
        """The driver, created at first use.

        Raises at once if the server does not answer at that time. If the server becomes unavailable later, each transaction
        waits up to ``settings.retry_seconds`` for it.
        """
        if (driver := self._driver) is not None:
            return driver
        with self._making:  # not under the guard, which closing takes: a server that never answers takes a while
            created = None if self._is_closed else self._driver or _driver(self.url, self.settings)
            with self._guard:
                if created is not None and not self._is_closed:
                    self._driver = created
                    return created
        if created is not None:
            created.close()
        raise closed(self.url)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run a function in one reading transaction; repeat it after transient errors."""

        def run(session: neo4j.Session) -> T:
            return session.execute_read(lambda inner: work(Transaction(inner, self)))

        with self._mapped():
            return self._read(run, managed=run)

    def ask(self, name: str, /, **params: Value) -> list[Row]:
        """All rows of one reading query; repeats it after transient errors. Needs fewer messages than :meth:`read`."""
        text = self.text(name)
        with self._mapped(), traced("neo4j", name, text=text, language="cypher", params=params) as call:
            rows = self._read(
                lambda session: _rows(session.run(text, params)),
                managed=lambda session: session.execute_read(lambda inner: _rows(inner.run(text, params))),
            )
            call.rows = size(rows)
        self.count(1, call.rows)
        return rows

    def pages(self, name: str, /, *, size: int, **params: Value) -> Iterator[list[Row]]:
        """Run a query with the parameters ``after`` and ``size`` page by page; rows come by ascending ``id``.

        Parameters
        ----------
        name : name of the query
        size : maximum number of rows of a page
        params : its other parameters
        """
        after = ""
        while rows := self.ask(name, after=after, size=size, **params):
            yield rows
            if len(rows) < size:
                return
            after = rows[-1]["id"]

    def _mapped(self) -> contextlib.AbstractContextManager[None]:
        return mapped(self.url, is_closed=lambda: self._is_closed)

    def _read(self, run: Callable[[neo4j.Session], T], *, managed: Callable[[neo4j.Session], T]) -> T:
        """Run a function in a reading session and return its result; in a hasty context see :func:`read_in_time`.

        Parameters
        ----------
        run : the function, which the driver does not repeat
        managed : the same, which the driver repeats after transient errors
        """
        if not is_hasty():
            with self._session(neo4j.READ_ACCESS) as session:
                return self._connected(lambda: managed(session), is_repeatable=True)
        seconds = self.settings.read_seconds

        def within(limit: float, work: Callable[[neo4j.Session], S]) -> S:
            with telemetry.within(_SILENCE, limit), self._session(neo4j.READ_ACCESS, patience=limit) as session:
                return work(session)

        def read(limit: float | None) -> T:
            if limit is not None:
                return within(limit, run)
            with self._session(neo4j.READ_ACCESS, patience=seconds) as session:
                return managed(session)

        return read_in_time(
            read,
            ping=lambda limit: within(limit, lambda session: session.run("RETURN 1").consume()),
            retry=Retry(seconds),
            lost=LOST,
            unanswered=lambda error: unanswered(self.url, "Neo4j", seconds=seconds, reason=_reason(error)),
        )

    @contextlib.contextmanager
    def reading(self, *, timeout: float, fetch_size: int) -> Iterator[neo4j.Transaction]:
        """Run a block in one read-only transaction with a time limit. Only its start is retried; errors are those of the driver.

        Parameters
        ----------
        timeout : seconds after which the server ends the transaction
        fetch_size : number of rows that arrive at a time
        """
        with (
            self._session(neo4j.READ_ACCESS, fetch_size=fetch_size) as session,
            self._connected(lambda: session.begin_transaction(timeout=timeout)) as transaction,
        ):
            yield transaction

    def write(self, work: Callable[[Transaction], T], *, longest: float = LONGEST, is_repeatable: bool = False) -> T:
        """Run a function in one writing transaction; repeat it after transient errors.

        Parameters
        ----------
        work : function of the transaction; it may run more than once
        longest : seconds, including the wait for locks, after which the server ends the transaction
        is_repeatable : whether a second commit of the same work changes nothing: it is repeated if the connection breaks during
            the commit, when it is unknown whether the commit took place
        """

        def attempt(inner: neo4j.ManagedTransaction) -> T:
            return work(Transaction(inner, self))

        timed = neo4j.unit_of_work(timeout=longest)(attempt)
        with self._mapped(), self._session(neo4j.WRITE_ACCESS) as session:
            return self._connected(lambda: session.execute_write(timed), is_repeatable=is_repeatable)

    def _connected(self, run: Callable[[], T], *, is_repeatable: bool = False) -> T:
        """Run a function of the driver; retry it after the connection losses that the driver does not retry.

        The driver retries a transaction whose connection is lost, with two exceptions. While a connection is opened, it raises
        a bare OSError; nothing of the transaction has reached the server. While a transaction is committed, even a reading one,
        it raises IncompleteCommit.

        Parameters
        ----------
        run : the function
        is_repeatable : whether it may be run again after a commit that may have succeeded
        """
        retry = Retry(self.settings.retry_seconds)
        while True:
            try:
                return run()
            except (OSError, neo4j.exceptions.IncompleteCommit) as error:
                if not (isinstance(error, OSError) or is_repeatable) or not retry.goes_on():
                    raise

    def schema(self, statements: Iterable[str]) -> None:
        """Run statements that change the schema, each in its own transaction.

        A statement that the server rolls back, because another process changes the schema at the same time, is retried for up
        to ``settings.retry_seconds``. The driver does not retry such transactions by itself.
        """
        retry = Retry(self.settings.retry_seconds)
        with self._mapped(), self._session(neo4j.WRITE_ACCESS) as session:
            for statement in statements:
                while True:
                    self.count(1, 0)
                    try:
                        self._connected(lambda text=statement: session.run(text).consume())  # type: ignore[misc]
                    except neo4j.exceptions.TransientError as error:
                        if not (error.code or "").startswith(_OVERTAKEN) or not retry.goes_on():
                            raise
                    else:
                        break

    @contextlib.contextmanager
    def _session(
        self, access: str, *, fetch_size: int = 1_000, patience: float | None = None
    ) -> Iterator[neo4j.Session]:
        """Open a session; with ``patience``, the connection timeout in seconds, the driver does not retry."""
        options: dict[str, Any] = (
            {} if patience is None else {"connection_acquisition_timeout": patience, "max_transaction_retry_time": 0}
        )
        with self.driver().session(
            database=self.settings.database,
            default_access_mode=access,
            bookmark_manager=self._bookmarks,
            fetch_size=fetch_size,
            **options,
        ) as session:
            yield session

    def close(self) -> None:
        """Close the connections; running and later calls raise StoreClosedError."""
        with self._guard:
            self._is_closed = True
            driver, self._driver = self._driver, None
        if driver is not None:
            try:
                driver.close()
            except CLOSING as error:  # a call of another thread uses a connection
                _LOG.debug("%s: a connection in use was closed: %s", self.url, error)


def _rows(result: neo4j.Result) -> list[Row]:
    return [dict(zip(result.keys(), record.values(), strict=True)) for record in result]


def _limit(driver: neo4j.Driver) -> None:
    """Close connections that do not answer within :data:`_SILENCE`; the driver itself waits without limit."""
    pool: Any = driver._pool
    acquire = pool._acquire

    def limited(*args: Any, **options: Any) -> Any:
        connection = acquire(*args, **options)
        if connection is not None:
            to = connection.socket
            # Drivers before 6 have one deadline for both directions.
            (to.set_read_deadline if hasattr(to, "set_read_deadline") else to.set_deadline)(_SILENCE.get())
        return connection

    pool._acquire = limited


def auth_of(settings: Neo4jSettings) -> neo4j.Auth | None:
    """The credentials for the driver; None for no authentication."""
    if settings.auth == "bearer":
        return neo4j.bearer_auth(settings.token)
    if settings.auth == "kerberos":
        return neo4j.kerberos_auth(settings.token)
    if settings.auth == "custom":
        return neo4j.custom_auth(settings.user, settings.password, settings.realm, settings.scheme)
    if settings.auth == "basic" and settings.password:
        return neo4j.basic_auth(settings.user, settings.password)
    return None


def _driver(url: str, settings: Neo4jSettings) -> neo4j.Driver:
    from hlgraph.stores.migrate import running_version

    options: dict[str, Any] = {
        "connection_timeout": settings.timeout,
        "connection_acquisition_timeout": settings.timeout,
        "max_connection_lifetime": settings.max_connection_lifetime,
        "max_connection_pool_size": settings.pool_size,
        "max_transaction_retry_time": settings.retry_seconds,
        "notifications_min_severity": "OFF",
        "user_agent": f"hlgraph/{running_version()}",
        "telemetry_disabled": True,
    }
    if settings.ca:
        if "+ssc" in url:
            raise SettingsError(
                f"{url}: +ssc trusts every certificate, which contradicts neo4j.ca; write +s, or leave neo4j.ca out"
            )
        try:
            options["ssl_context"] = ssl.create_default_context(cafile=settings.ca)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(f"{settings.ca}: not a file of certificates ({error}); correct neo4j.ca") from error
        options["encrypted"] = True
    # The driver accepts a custom SSL context only with the plain schemes.
    target = url.replace("+s://", "://", 1) if settings.ca else url
    with mapped(url):
        driver = neo4j.GraphDatabase.driver(target, auth=auth_of(settings), **options)
        _limit(driver)
        try:
            if is_hasty():
                seconds = settings.read_seconds
                with (
                    telemetry.within(_SILENCE, seconds),
                    driver.session(connection_acquisition_timeout=seconds) as session,
                ):
                    session.run("RETURN 1").consume()
            else:
                driver.verify_connectivity()
        except BaseException:
            driver.close()
            raise
        return driver
