"""A Neo4j server that refuses, is away or goes away, or holds foreign data: one clear error, then the same state."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import gc
import json
import random
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import neo4j
import neo4j.exceptions
import pytest
import trustme
from live_stores import FORGET_SCHEMA, empty, neo4j_of, opened, settings_for
from opensearch_fixture import opened as opened_vectors
from tcp_proxy import TcpProxy, passed_on
from thoroughness import cases

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import (
    HLGraphError,
    MigrationError,
    SettingsError,
    StoreConflictError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.ingest.report import Report
from hlgraph.progress import Progress, listening
from hlgraph.read import read
from hlgraph.records import Kind
from hlgraph.settings import Neo4jSettings, Settings
from hlgraph.stores.neo4j.server import Server, mapped
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_SECRET = "a-secret-word"
# The driver forgets a connection that ends while it is opened: its socket, and what has no attributes yet.
FORGOTTEN = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
_PEOPLE = ("Mara Quill", "Ivo Brandt", "Sela Orne", "Tobin Arkwright")
_PLACES = ("Tessing", "Aldane", "Port Verrin", "Hallow Mere")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve documents."""
    rng = random.Random(3)
    rows = [
        {
            "id": f"r{number}",
            "title": f"Title {number % 5}",
            "text": " ".join(
                f"{rng.choice(_PEOPLE)} measured {rng.choice(_PLACES)} in {rng.randint(1850, 1950)}." for _ in range(6)
            ),
        }
        for number in range(12)
    ]
    found = tmp_path_factory.mktemp("documents") / "rows.jsonl"
    found.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return found


@pytest.fixture
def server(servers: Any) -> Iterator[Server]:
    """An empty database."""
    empty(servers)
    found = Server(servers.neo4j.url, neo4j_of(servers))
    yield found
    found.close()


def ingest(stores: Stores, path: Path, *, on_progress: Callable[[Progress], None] | None = None) -> Report:
    steps = pipeline.Steps(ContentDefinedChunker(80, 0.2), LocalExtractor(), WordEmbedder(), batch_sources=4)
    with listening(on_progress):
        return pipeline.ingest(read([str(path)]), "c", stores=stores, steps=steps)


def refused(url: str, settings: Neo4jSettings) -> HLGraphError:
    """The error of the first thing that is asked."""
    server = Server(url, settings)
    with pytest.raises(HLGraphError) as found:
        server.read(lambda transaction: transaction.rows("admin/read_version"))
    server.close()
    assert settings.password not in str(found.value) + repr(found.value) + repr(settings)
    return found.value


# The server refuses, or is not there


def test_a_wrong_password(servers: Any) -> None:
    error = refused(servers.neo4j.url, dataclasses.replace(neo4j_of(servers), password=_SECRET))
    assert "refused the user or the password, or the token; set neo4j.user and HLGRAPH_NEO4J_PASSWORD" in str(error)
    assert type(error) is StoreError
    assert not error.retryable


def test_a_database_that_is_not_there(servers: Any) -> None:
    error = refused(servers.neo4j.url, dataclasses.replace(neo4j_of(servers), database="nothing"))
    assert "no such database" in str(error)
    assert "set neo4j.database" in str(error)
    assert "the Community edition has one database alone" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_server_that_is_down_is_told_at_once(scheme: str, slept: list[float]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = refused(f"{scheme}://127.0.0.1:{taken.getsockname()[1]}", Neo4jSettings(password=_SECRET))
    assert slept == []
    assert isinstance(error, StoreUnavailableError)
    assert "no Neo4j server answers ([Errno 111] Connection refused); start it" in str(error)


def test_a_port_of_another_kind_of_server(servers: Any) -> None:
    port = servers.opensearch.url.rpartition(":")[2]
    error = refused(f"bolt://127.0.0.1:{port}", Neo4jSettings(password=_SECRET))
    assert "no Neo4j server answers" in str(error)
    assert "correct the URL" in str(error)


@pytest.mark.parametrize("url", [f"neo4j://neo4j:{_SECRET}@localhost:7687", f"bolt+s://:{_SECRET}@localhost"])
def test_a_password_in_the_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(SettingsError, match="HLGRAPH_NEO4J_PASSWORD") as found:
        open_stores(Settings(store=url, vectors="https://localhost:9200"))
    assert _SECRET not in str(found.value)


# Certificates


@pytest.fixture
def authority(tmp_path: Path) -> tuple[trustme.CA, ssl.SSLContext, str]:
    """An authority, a context with a certificate of it for this machine, and its file."""
    found = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.issue_cert("127.0.0.1").configure_cert(context)
    ca = tmp_path / "ca.pem"
    found.cert_pem.write_to_path(ca)
    return found, context, str(ca)


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_a_certificate_that_is_not_trusted(
    scheme: str, servers: Any, authority: tuple[trustme.CA, ssl.SSLContext, str]
) -> None:
    with passed_on(servers.neo4j.url, tls=authority[1]) as proxy:
        error = refused(f"{scheme}://127.0.0.1:{proxy.port}", neo4j_of(servers))
        assert "certificate of the server is not trusted; set neo4j.ca" in str(error)
        assert not error.retryable


@pytest.mark.parametrize("scheme", ["bolt+s", "bolt"])
def test_a_certificate_of_an_authority_that_the_settings_name(
    scheme: str, servers: Any, authority: tuple[trustme.CA, ssl.SSLContext, str]
) -> None:
    with passed_on(servers.neo4j.url, tls=authority[1]) as proxy:
        settings = dataclasses.replace(neo4j_of(servers), ca=authority[2])
        server = Server(f"{scheme}://127.0.0.1:{proxy.port}", settings)
        assert server.read(lambda transaction: transaction.rows("admin/read_version"))
        server.close()
        other = refused(f"bolt+s://localhost:{proxy.port}", settings)
        assert "not trusted" in str(other)  # the name in the certificate is another one


def test_a_file_that_holds_no_certificates(servers: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate", encoding="ascii")
    for ca in (str(wrong), str(tmp_path / "none.pem")):
        error = refused(servers.neo4j.url, dataclasses.replace(neo4j_of(servers), ca=ca))
        assert isinstance(error, SettingsError)
        assert f"{ca}: not a file of certificates" in str(error)
        assert "correct neo4j.ca" in str(error)


def test_an_authority_and_trust_in_everything_exclude_each_other(servers: Any) -> None:
    error = refused("bolt+ssc://127.0.0.1:7687", dataclasses.replace(neo4j_of(servers), ca="ca.pem"))
    assert "+ssc trusts every certificate" in str(error)


def test_an_encrypted_url_for_a_server_that_is_not(servers: Any) -> None:
    error = refused(servers.neo4j.url.replace("bolt://", "bolt+s://"), neo4j_of(servers))
    assert "SSL" in str(error)
    assert "+s only if the server uses TLS" in str(error)


# The server goes away


def visible(found: Opened) -> Mapping[str, list[Any]]:
    """What is visible; the doctor finds nothing but the journal to complain about."""
    assert not [item for item in found.check() if not item.is_fine and item.check != "journal"]
    return snapshot(found.stores, "c")


@contextlib.contextmanager
def through(
    proxy: TcpProxy, servers: Any, *, timeout: float = 1.0, retry_seconds: float = 5.0
) -> Iterator[tuple[Opened, Opened]]:
    """Both servers, empty: Neo4j by way of the proxy, and directly."""
    settings = settings_for(servers)
    neo4j = dataclasses.replace(settings.neo4j, timeout=timeout, retry_seconds=retry_seconds)
    with opened(servers, settings) as direct:
        found = open_stores(dataclasses.replace(settings, store=proxy.url, neo4j=neo4j))
        with found.closing:
            yield found, direct


@pytest.fixture(scope="module")
def uninterrupted(servers: Any, path: Path) -> tuple[Mapping[str, list[Any]], int]:
    """The state after an ingest, and how many bytes it sends to Neo4j."""
    with passed_on(servers.neo4j.url) as proxy, through(proxy, servers) as (found, direct):
        ingest(found.stores, path)
        return visible(direct), proxy.sent


def test_a_server_that_goes_away_in_the_middle_of_an_ingest(
    servers: Any, path: Path, uninterrupted: tuple[Mapping[str, list[Any]], int]
) -> None:
    whole, sent = uninterrupted
    for share in cases((0.6,), (0.3, 0.6, 0.95)):
        with passed_on(servers.neo4j.url) as proxy, through(proxy, servers) as (found, direct):
            proxy.cut(after=int(sent * share))
            with pytest.raises(StoreUnavailableError, match=r"same command again|start it") as error:
                ingest(found.stores, path)
            assert servers.neo4j.password not in str(error.value)
            half = visible(direct)
            assert {source.id for source in half["source"]} <= {source.id for source in whole["source"]}
            for source in half["source"]:  # all of a source, or nothing
                chunks = [[item for item in state["chunk"] if item.source_id == source.id] for state in (half, whole)]
                assert chunks[0] == chunks[1] != []
            proxy.mend()
            ingest(found.stores, path)
            assert visible(direct) == whole


@FORGOTTEN
def test_a_connection_that_breaks_is_made_anew_in_the_middle_of_an_ingest(
    servers: Any, path: Path, uninterrupted: tuple[Mapping[str, list[Any]], int]
) -> None:
    breaks = 0
    with (
        passed_on(servers.neo4j.url) as proxy,
        through(proxy, servers, timeout=20, retry_seconds=20) as (found, direct),
    ):

        def broken(at: Progress) -> None:
            nonlocal breaks
            if at.step not in ("compare", "extract", "embed", "persist") or at.done < (at.total or 0):
                return
            breaks += 1
            proxy.cut()
            proxy.mend()

        ingest(found.stores, path, on_progress=broken)
        assert breaks > 3
        assert visible(direct) == uninterrupted[0]


@FORGOTTEN
def test_a_connection_that_ends_while_it_is_opened_is_opened_again(
    servers: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver raises an OSError then, and repeats nothing."""
    left = 0

    def peer(of: socket.socket) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(errno.ENOTCONN, "not connected")
        return whole(of)

    whole = socket.socket.getpeername
    server.read(lambda transaction: transaction.rows("admin/read_migrations"))  # it is known that the server answers
    monkeypatch.setattr(socket.socket, "getpeername", peer)

    def read_one(found: Server) -> None:
        with found.reading(timeout=5.0, fetch_size=1) as transaction:
            assert transaction.run("RETURN 1 AS one").single(strict=True)["one"] == 1

    calls: list[Callable[[Server], object]] = [
        lambda found: found.ask("admin/read_migrations"),
        lambda found: found.read(lambda transaction: transaction.rows("admin/read_migrations")),
        lambda found: found.write(lambda transaction: transaction.rows("admin/read_migrations")),
        lambda found: found.schema(["CREATE INDEX opened_again IF NOT EXISTS FOR (n:Opened) ON (n.again)"]),
        lambda found: found.schema(["DROP INDEX opened_again IF EXISTS"]),
        read_one,
    ]
    for call in calls:
        server.driver()._pool.close()
        left = 2
        call(server)
        assert left < 0
    server.driver()._pool.close()
    server.settings = dataclasses.replace(server.settings, retry_seconds=0.2)
    left = 100
    with pytest.raises(StoreUnavailableError, match="the connection was lost"):
        calls[0](server)
    gc.collect()


def test_a_read_whose_connection_breaks_during_its_commit_is_repeated(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver repeats it at every other moment."""
    left = 0

    def broken(whole: Callable[..., Any]) -> Callable[..., Any]:
        def outer(*given: Any, **options: Any) -> Any:
            nonlocal left
            found = whole(*given, **options)
            left -= 1
            if left >= 0:
                raise neo4j.exceptions.IncompleteCommit("the connection broke")
            return found

        return outer

    monkeypatch.setattr(neo4j.Session, "execute_read", broken(neo4j.Session.execute_read))
    monkeypatch.setattr(neo4j.Driver, "execute_query", broken(neo4j.Driver.execute_query))
    monkeypatch.setattr(neo4j.Session, "execute_write", broken(neo4j.Session.execute_write))
    calls: list[Callable[[Server], object]] = [
        lambda found: found.read(lambda transaction: transaction.rows("admin/read_migrations")),
        lambda found: found.ask("admin/read_migrations"),
    ]
    for call in calls:
        left = 2
        call(server)
        assert left < 0
    left = 1
    with pytest.raises(StoreUnavailableError, match="the connection broke"):
        server.write(lambda transaction: transaction.rows("admin/read_migrations"))


def test_a_commit_whose_answer_is_lost_is_repeated(
    servers: Any, path: Path, uninterrupted: tuple[Mapping[str, list[Any]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unknown whether the commit took place; here it did. The driver does not repeat it."""
    whole, lost = neo4j.Session.execute_write, []

    def without_answer(session: neo4j.Session, work: Any) -> Any:
        found = whole(session, work)
        lost.append(not (lost and lost[-1]))
        if lost[-1]:
            raise neo4j.exceptions.IncompleteCommit("the answer was lost")
        return found

    with (
        passed_on(servers.neo4j.url) as proxy,
        through(proxy, servers, timeout=20, retry_seconds=20) as (found, direct),
    ):
        monkeypatch.setattr(neo4j.Session, "execute_write", without_answer)
        ingest(found.stores, path)
        monkeypatch.undo()
        assert lost.count(True) > 6
        assert visible(direct) == uninterrupted[0]


# Foreign data, and what a server has too little of


@pytest.fixture
def bare(servers: Any, server: Server) -> Iterator[Server]:
    """A database without the schema of hlgraph; what a test adds to the schema goes at the end."""
    _drop_schema(server)
    yield server
    empty(servers)
    _drop_schema(server)


def _drop_schema(server: Server) -> None:
    server.schema(FORGET_SCHEMA)
    with server.driver().session(database=server.settings.database) as session:
        names = [row["name"] for row in session.run("SHOW CONSTRAINTS YIELD name")]
        for name in names:
            session.run(f"DROP CONSTRAINT {name}").consume()
        for name in [row["name"] for row in session.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'")]:
            session.run(f"DROP INDEX {name}").consume()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            (
                "CREATE (:Source {id: 'a-secret-word'}), (:Source {id: 'a-secret-word'})",
                "MATCH (n:Source) DETACH DELETE n",
            ),
            r"the same key twice; remove them, or use another database.*hlgraph migrate apply",
        ),
        (
            ("CREATE INDEX theirs FOR (n:Source) ON (n.id)", "DROP INDEX theirs"),
            r"There already exists an index \(:Source \{id\}\).*fix the cause.*hlgraph migrate apply",
        ),
    ],
)
def test_foreign_data_that_stands_in_the_way_of_the_schema(
    servers: Any, bare: Server, path: Path, change: tuple[str, str], reason: str
) -> None:
    settings = settings_for(servers)
    bare.schema([change[0]])
    found = open_stores(settings)
    with found.closing:
        with pytest.raises(MigrationError, match=reason) as error:
            ingest(found.stores, path)
        assert _SECRET not in str(error.value)
        bare.schema([change[1]])
        assert ingest(found.stores, path).sources_added == 12
    with opened_vectors(servers.opensearch, prefix=settings.opensearch.prefix):
        pass


def test_a_constraint_of_another_program(servers: Any, bare: Server, path: Path) -> None:
    with opened(servers) as found:
        bare.schema(["CREATE CONSTRAINT theirs FOR (n:Source) REQUIRE n.title IS UNIQUE"])
        with pytest.raises(
            StoreCorruptError, match=r"another program forbid.*SHOW CONSTRAINTS.*another database"
        ) as error:
            ingest(found.stores, path)
        assert "Title" not in str(error.value)
        assert len(list(found.stores.graph.find(Kind.SOURCE, Scope("c")))) == 4  # the batch before
        bare.schema(["DROP CONSTRAINT theirs"])
        report = ingest(found.stores, path)
        assert report.resumed == 1
        assert len(visible(found)["source"]) == 12


def test_a_server_without_the_plugin(server: Server) -> None:
    for statement in ("CALL gds.not.there()", "RETURN gds.not_there()"):
        with pytest.raises(StoreError, match=r"install the Graph Data Science plugin \(GDS\)"):
            server.schema([statement])


def test_a_transaction_that_runs_out_of_memory(server: Server) -> None:
    quick = Server(server.url, dataclasses.replace(server.settings, timeout=0.1))
    with pytest.raises(StoreUnavailableError, match=r"too little memory.*raise .* or the heap.*hlgraph journal drop"):
        quick.schema(["UNWIND range(1, 60000000) AS i WITH collect(i) AS x RETURN size(x)"])
    quick.close()


def test_a_transaction_that_takes_too_long(server: Server) -> None:
    query = "UNWIND range(1, 100000000) AS a RETURN sum(a * a)"
    with pytest.raises(StoreUnavailableError, match="took longer than hlgraph waits"):
        server.write(lambda transaction: transaction._inner.run(query).consume(), longest=0.1)


@pytest.mark.parametrize(
    ("code", "message", "kind", "reason"),
    [
        (
            "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
            "no",
            StoreUnavailableError,
            "read-only; make it writable",
        ),
        (
            "Neo.ClientError.General.TransactionOutOfMemoryError",
            "no",
            StoreUnavailableError,
            "raise db.memory.transaction.max",
        ),
        (
            "Neo.ClientError.Transaction.TransactionTimedOut",
            "no",
            StoreUnavailableError,
            "raise db.transaction.timeout",
        ),
        ("Neo.DatabaseError.General.UnknownError", "No space left on device", StoreUnavailableError, "free some space"),
        ("Neo.TransientError.Transaction.DeadlockDetected", "no", StoreConflictError, "same command again"),
        (
            "Neo.TransientError.Database.DatabaseUnavailable",
            "shutting down",
            StoreUnavailableError,
            "same command again",
        ),
        ("Neo.ClientError.Transaction.LockClientStopped", "no", StoreUnavailableError, "ended the transaction"),
        ("Neo.ClientError.Transaction.TransactionTerminated", "no", StoreUnavailableError, "ended the transaction"),
        ("Neo.ClientError.Security.CredentialsExpired", "no", StoreError, "ALTER CURRENT USER"),
        ("Neo.ClientError.Security.AuthenticationRateLimit", "no", StoreUnavailableError, "wait a few seconds"),
    ],
)
def test_what_no_server_of_the_tests_says(code: str, message: str, kind: type[StoreError], reason: str) -> None:
    hydrate = neo4j.exceptions.Neo4jError._basic_hydrate
    with pytest.raises(kind, match=reason) as error, mapped("bolt://somewhere"):
        raise hydrate(neo4j_code=code, message=message)
    assert type(error.value) is kind
    assert str(error.value).startswith("bolt://somewhere: ")
