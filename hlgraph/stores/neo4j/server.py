"""One Neo4j database: the driver, its sessions, and a count of what goes over the wire."""

from __future__ import annotations

import contextlib
import re
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import neo4j

from hlgraph.errors import SettingsError
from hlgraph.stores import queries
from hlgraph.stores.neo4j.foreign_errors import mapped
from hlgraph.stores.trace import traced

if TYPE_CHECKING:
    from hlgraph.settings import Neo4jSettings

T = TypeVar("T")
Value: TypeAlias = object
Row: TypeAlias = dict[str, Value]
BATCH = 5_000
"""Rows of one UNWIND."""
LONGEST = 600.0
"""Seconds that a writing transaction may last: the server ends that of a machine which went away without a word."""

_URL = re.compile(r"(?:neo4j|bolt)(?:\+s|\+ssc)?://[^/@?#]+/?")
_SECRET = re.compile(r"//[^@/]*@")


def size(rows: Iterable[Row]) -> int:
    """How many rows these are, where each record of one that holds many (column ``records``) counts as a row.

    Examples
    --------
    >>> size([{"id": "a"}, {"records": [["b"], ["c"]]}])
    3
    """
    held = (row.get("records") for row in rows)
    return sum(len(records) if isinstance(records, list) else 1 for records in held)


class Transaction:
    """A running transaction: sends queries of the library by name, in batches, and counts."""

    def __init__(self, inner: neo4j.ManagedTransaction, server: Server) -> None:
        self._inner = inner
        self._server = server

    def rows(self, name: str, /, **params: Value) -> list[Row]:
        """All rows that a query gives, as mappings of its columns."""
        text = queries.load(name).text
        with traced("neo4j", name, text=text, language="cypher", params=params) as call:
            result = self._inner.run(text, params)
            found = [dict(zip(result.keys(), record.values(), strict=True)) for record in result]
            call.rows = size(found)
        self._server.count(1, call.rows)
        return found

    def write(self, name: str, rows: Sequence[Value], /, *, key: str = "rows", **params: Value) -> int:
        """Run a writing query over rows, batch by batch; returns how many nodes it made."""
        created = 0
        for start in range(0, len(rows), BATCH):
            result = self._inner.run(queries.load(name).text, {key: rows[start : start + BATCH], **params})
            created += result.consume().counters.nodes_created
            self._server.count(1, 0)
        return created

    def collect(self, name: str, items: Sequence[str], /, *, key: str = "ids", **params: Value) -> list[Row]:
        """Rows of a query over many values, batch by batch."""
        found: list[Row] = []
        for start in range(0, len(items), BATCH):
            found += self.rows(name, **{key: list(items[start : start + BATCH])}, **params)
        return found


class Server:
    """A database of a server; connects at first use. Counters are of this object: ``round_trips`` and ``rows``."""

    def __init__(self, url: str, settings: Neo4jSettings) -> None:
        if not _URL.fullmatch(url):
            shown = _SECRET.sub("//...@", url)
            raise SettingsError(
                f"{shown}: not the url of a Neo4j server; write neo4j://host:port (neo4j+s:// with encryption), and give user "
                "and password as HLGRAPH_NEO4J_USER and HLGRAPH_NEO4J_PASSWORD"
            )
        self.url = url.rstrip("/")
        self.settings = settings
        self.round_trips = 0
        self.row_count = 0
        self._driver: neo4j.Driver | None = None
        # In a cluster a read goes to a member that has what was written here before.
        self._bookmarks = neo4j.GraphDatabase.bookmark_manager()
        self._guard = threading.Lock()

    def count(self, round_trips: int, rows: int) -> None:
        """Add to the counters."""
        with self._guard:
            self.round_trips += round_trips
            self.row_count += rows

    def driver(self) -> neo4j.Driver:
        """The driver, made at first use.

        A server that does not answer then is told at once; one that goes away later is waited for, transaction by
        transaction, up to ``settings.timeout``.
        """
        with self._guard:
            if self._driver is None:
                self._driver = _driver(self.url, self.settings)
            return self._driver

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run a function in one reading transaction, again after errors that pass."""
        with mapped(self.url), self._session(neo4j.READ_ACCESS) as session:
            return session.execute_read(lambda inner: work(Transaction(inner, self)))

    def ask(self, name: str, /, **params: Value) -> list[Row]:
        """All rows of one reading query, again after errors that pass; fewer messages than :meth:`read` takes for it."""
        text = queries.load(name).text
        with mapped(self.url), traced("neo4j", name, text=text, language="cypher", params=params) as call:
            records, _, keys = self.driver().execute_query(
                text,
                parameters_=params,
                routing_=neo4j.RoutingControl.READ,
                database_=self.settings.database,
                bookmark_manager_=self._bookmarks,
            )
            found = [dict(zip(keys, record.values(), strict=True)) for record in records]
            call.rows = size(found)
        self.count(1, call.rows)
        return found

    @contextlib.contextmanager
    def reading(self, *, timeout: float, fetch_size: int) -> Iterator[neo4j.Transaction]:
        """One transaction in which the server refuses to write, and which it ends after ``timeout`` seconds.

        Rows arrive ``fetch_size`` at a time, and nothing is tried again. Errors come out as the driver raises them.
        """
        with (
            self._session(neo4j.READ_ACCESS, fetch_size=fetch_size) as session,
            session.begin_transaction(timeout=timeout) as transaction,
        ):
            yield transaction

    def write(self, work: Callable[[Transaction], T], *, longest: float = LONGEST) -> T:
        """Run a function in one writing transaction, again after errors that pass: it must not depend on being run once.

        The server ends a transaction that lasts more than ``longest`` seconds, waiting for locks included.
        """

        def attempt(inner: neo4j.ManagedTransaction) -> T:
            return work(Transaction(inner, self))

        with mapped(self.url), self._session(neo4j.WRITE_ACCESS) as session:
            return session.execute_write(neo4j.unit_of_work(timeout=longest)(attempt))

    def schema(self, statements: Iterable[str]) -> None:
        """Run statements that change the schema, each in a transaction of its own."""
        with mapped(self.url), self._session(neo4j.WRITE_ACCESS) as session:
            for statement in statements:
                session.run(statement).consume()
                self.count(1, 0)

    @contextlib.contextmanager
    def _session(self, access: str, *, fetch_size: int = 1_000) -> Iterator[neo4j.Session]:
        with self.driver().session(
            database=self.settings.database,
            default_access_mode=access,
            bookmark_manager=self._bookmarks,
            fetch_size=fetch_size,
        ) as session:
            yield session

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        with self._guard:
            if self._driver is not None:
                self._driver.close()
                self._driver = None


def _driver(url: str, settings: Neo4jSettings) -> neo4j.Driver:
    from hlgraph.stores.migrate import running_version

    options: dict[str, Any] = {
        "connection_timeout": settings.timeout,
        "connection_acquisition_timeout": settings.timeout,
        "max_transaction_retry_time": settings.timeout,
        "notifications_min_severity": "OFF",
        "user_agent": f"hlgraph/{running_version()}",
        "telemetry_disabled": True,
    }
    if settings.ca:
        if "+ssc" in url:
            raise SettingsError(
                f"{url}: +ssc trusts every certificate, neo4j.ca only some; write +s, or leave neo4j.ca out"
            )
        try:
            options["ssl_context"] = ssl.create_default_context(cafile=settings.ca)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(f"{settings.ca}: not a file of certificates ({error}); mend neo4j.ca") from error
        options["encrypted"] = True
    auth = neo4j.basic_auth(settings.user, settings.password) if settings.password else None
    # The driver takes certificates of our own with the plain schemes alone.
    target = url.replace("+s://", "://", 1) if settings.ca else url
    with mapped(url):
        driver = neo4j.GraphDatabase.driver(target, auth=auth, **options)
        try:
            driver.verify_connectivity()
        except BaseException:
            driver.close()
            raise
        return driver
