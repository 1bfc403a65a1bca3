"""A vector server that is busy, away, misconfigured or full: a completed retry, or one clear error with its mend."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from opensearch_fixture import opened, settings_of
from opensearch_proxy import Forward, Proxy, Reply, Request, proxied, times

from hlgraph.change import VectorBlock
from hlgraph.errors import (
    InputError,
    MigrationError,
    ModelMismatchError,
    SettingsError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)
from hlgraph.records import Kind
from hlgraph.settings import OpenSearchSettings
from hlgraph.stores.migrate import apply, discover
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.migrations import TRIAL, OpenSearchTarget
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.opensearch.wire import Anything, Mapped
from hlgraph.stores.protocols import VectorBatch, VectorQuery
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder(8)
_JSON = {"content-type": "application/json"}
_BUSY = Reply(429, b'{"error":{"type":"es_rejected_execution_exception","reason":"queue is full"},"status":429}', _JSON)


def batch(texts: tuple[str, ...] = ("a bridge", "a river", "a poet"), *, change: str = "one") -> VectorBatch:
    ids = tuple(f"{at:032x}" for at in range(len(texts)))
    return VectorBatch(
        "c", change, (), (VectorBlock(Kind.STATEMENT, ids, texts, ids, 8, _EMBEDDER.embed(texts).tobytes()),)
    )


@pytest.fixture
def server(servers: SimpleNamespace) -> SimpleNamespace:
    found: SimpleNamespace = servers.opensearch
    return found


@pytest.fixture
def proxy(server: SimpleNamespace) -> Iterator[Proxy]:
    with proxied(server) as found:
        yield found


def through(proxy: Proxy, server: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(url=proxy.url, user=server.user, password=server.password, ca=None)


def test_a_busy_server_is_asked_again_after_the_time_that_it_asks_for(
    proxy: Proxy, server: SimpleNamespace, slept: list[float]
) -> None:
    with opened(through(proxy, server)) as store:
        store.upsert(batch())
        proxy.behaviour = times(2, _BUSY._replace(headers={**_JSON, "Retry-After": "0.6"}), path="_bulk")
        store.upsert(batch(change="two"))
        assert slept == [0.6, 0.6]
        assert len(store.ids(Kind.STATEMENT, "c")) == 3


def test_items_that_the_server_is_too_busy_for_are_sent_again_alone(proxy: Proxy, server: SimpleNamespace) -> None:
    sent: list[list[str]] = []

    def every_other(request: Request, forward: Forward) -> Reply | None:
        if "_bulk" not in request.path:
            return None
        parts = [part + b"\xff" for part in request.body.split(b"\xff")[:-1]]
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        sent.append([re.findall(rb"-([0-9a-f]{32})", action)[0].decode() for action, _ in pairs])
        if len(sent) > 1:
            return None
        reply = forward(b"".join(part for pair in pairs[::2] for part in pair))
        answer = json.loads(reply.body)
        items = iter(answer["items"])
        busy = {"index": {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "full"}}}
        answer |= {"errors": True, "items": [busy if at % 2 else next(items) for at in range(len(pairs))]}
        return Reply(200, json.dumps(answer).encode(), _JSON)

    with opened(through(proxy, server)) as store:
        proxy.behaviour = every_other
        store.upsert(batch(tuple(f"text {at}" for at in range(7))))
        assert sent == [[f"{at:032x}" for at in range(7)], [f"{at:032x}" for at in (1, 3, 5)]]
        assert len(store.ids(Kind.STATEMENT, "c")) == 7


@pytest.mark.parametrize("status", [403, 415])
def test_a_way_that_lets_json_alone_pass_gets_json(status: int, proxy: Proxy, server: SimpleNamespace) -> None:
    forms: list[bytes] = []

    def json_alone(request: Request, _: Forward) -> Reply | None:
        if "_bulk" in request.path:
            forms.append(request.body[:1])
        return Reply(status, b"not JSON", {}) if request.body.startswith(b":)") else None

    with opened(through(proxy, server)) as store:
        proxy.behaviour = json_alone
        store.upsert(batch())
        store.upsert(batch(("another text",), change="two"))
        assert forms == [b":", b"{", b"{"]
        assert len(store.ids(Kind.STATEMENT, "c")) == 3


def test_a_server_that_stays_busy_is_an_error_that_says_go_on_later(proxy: Proxy, server: SimpleNamespace) -> None:
    with opened(through(proxy, server), patience=0.5) as store:
        proxy.behaviour = times(1_000, Reply(503, b"<html>upstream is away</html>", {}), path="_bulk")
        with pytest.raises(
            StoreUnavailableError, match=r"not ready \(503: <html>upstream is away.*same command again"
        ) as found:
            store.upsert(batch())
        assert found.value.retryable
        proxy.behaviour = None
        store.upsert(batch())
        assert len(store.ids(Kind.STATEMENT, "c")) == 3


def test_a_fault_of_the_server_is_not_waited_out(proxy: Proxy, server: SimpleNamespace, slept: list[float]) -> None:
    with opened(through(proxy, server), patience=60.0) as store:
        store.upsert(batch())
        proxy.behaviour = times(1_000, Reply(500, b'{"error":{"type":"null_pointer_exception"},"status":500}', _JSON))
        with pytest.raises(StoreUnavailableError, match="500: null_pointer_exception"):
            store.search(VectorQuery(Kind.STATEMENT, "c", 1, text="bridge"))
        assert sum(slept) < 5
        proxy.behaviour = times(2, Reply(500, b"{}", _JSON))
        assert store.search(VectorQuery(Kind.STATEMENT, "c", 1, text="bridge"))
        proxy.behaviour = None


def test_a_search_in_an_index_that_is_removed_meanwhile_is_sent_again(proxy: Proxy, server: SimpleNamespace) -> None:
    cause = {"type": "query_shard_exception", "caused_by": {"type": "already_closed_exception", "reason": "closed"}}
    removed = Reply(400, json.dumps({"error": cause, "status": 400}).encode(), _JSON)
    query = VectorQuery(Kind.STATEMENT, "c", 1, text="text")
    with opened(through(proxy, server)) as store:
        store.upsert(batch(("a text",)))
        proxy.behaviour = times(2, removed, path="search")
        assert len(store.search(query)) == 1
        proxy.behaviour = times(1_000, removed, path="search")
        with pytest.raises(StoreError, match="400: query_shard_exception"):
            store.search(query)


def test_a_server_that_does_not_answer_in_time(proxy: Proxy, server: SimpleNamespace) -> None:
    def slow(request: Request, _: Forward) -> None:
        if "_search" in request.path:
            time.sleep(1.5)

    with opened(through(proxy, server), timeout=1.0, patience=2.0) as store:
        store.upsert(batch())
        proxy.behaviour = slow
        with pytest.raises(StoreUnavailableError, match="no answer in time"):
            store.search(VectorQuery(Kind.STATEMENT, "c", 1, text="bridge"))


def test_a_server_that_is_down_is_told_at_once_and_once(caplog: pytest.LogCaptureFixture, slept: list[float]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StoreUnavailableError, match=r"cannot be reached.*Connection refused.*start it"):
            OpenSearchVectorStore(url, OpenSearchSettings(password="secret-word")).upsert(batch())
    assert sum(slept) < 2
    assert [record for record in caplog.records if record.levelname != "DEBUG"] == []


def test_a_connection_that_breaks_is_made_anew(server: SimpleNamespace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        url = f"http://127.0.0.1:{first.getsockname()[1]}"
        seen: list[int] = []

        def hang_up() -> None:
            for _ in range(2):
                connection, _ = first.accept()
                seen.append(1)
                connection.close()
            connection, _ = first.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")

        thread = threading.Thread(target=hang_up)
        thread.start()
        assert Connection(url, OpenSearchSettings()).send("GET", "/x").status == 404
        thread.join()
    assert len(seen) == 2


def test_a_server_that_restarts_is_waited_for(proxy: Proxy, server: SimpleNamespace) -> None:
    starts = b'{"error":{"type":"cluster_block_exception","reason":"blocked by: [state not recovered]"},"status":503}'
    back = time.monotonic() + 3

    def restart(_: Request, __: Forward) -> Reply | None:
        if time.monotonic() < back - 1:
            return Reply(0, b"", {})
        return Reply(503, starts, _JSON) if time.monotonic() < back else None

    with opened(through(proxy, server), patience=20.0) as store:
        store.upsert(batch())
        proxy.behaviour = restart
        store.upsert(batch(change="two"))
        assert time.monotonic() > back
        proxy.behaviour = None
        assert len(store.ids(Kind.STATEMENT, "c")) == 3


def test_a_wrong_password(server: SimpleNamespace) -> None:
    settings = settings_of(server, password="wrong-secret")
    with (
        OpenSearchVectorStore(server.url, settings) as store,
        pytest.raises(StoreError, match=r"user or password is wrong") as found,
    ):
        store.search(VectorQuery(Kind.STATEMENT, "c", 1, text="bridge"))
    assert "wrong-secret" not in str(found.value) + repr(settings)
    assert not found.value.retryable


def test_a_certificate_that_is_not_trusted(server: SimpleNamespace) -> None:
    assert server.url.startswith("https://")
    with (
        OpenSearchVectorStore(server.url, settings_of(server, ca=None)) as store,
        pytest.raises(StoreError, match=r"certificate of the server is not trusted.*set opensearch\.ca"),
    ):
        store.ids(Kind.CHUNK, "c")


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_file_that_holds_no_certificates(tmp_path: object, text: str | None, server: SimpleNamespace) -> None:
    path = f"{tmp_path}/ca.pem"
    if text:
        with open(path, "w") as file:  # noqa: PTH123
            file.write(text)
    with (
        OpenSearchVectorStore(server.url, settings_of(server, ca=path)) as store,
        pytest.raises(SettingsError, match=r"opensearch\.ca: .*ca\.pem holds no readable certificates"),
    ):
        store.ids(Kind.CHUNK, "c")


def test_a_read_only_index_is_told_at_once_and_writing_goes_on_when_the_block_is_lifted(
    server: SimpleNamespace, slept: list[float]
) -> None:
    with opened(server, patience=60.0) as store:
        store.upsert(batch())
        alias = store.indexes.alias("c", Kind.STATEMENT)

        def block(value: bool | None) -> None:
            body = {"index.blocks.read_only_allow_delete": value}
            store.connection.ask("PUT", f"/{alias}/_settings", answer=Anything, body=body)

        block(True)
        with pytest.raises(StoreUnavailableError, match=r"read-only.*read_only_allow_delete.*same command again"):
            store.upsert(batch(("a new text", "another"), change="two"))
        assert slept == []
        assert [row[0] for row in store.check() if not row[1]] == ["vector index blocks"]
        assert store.search(VectorQuery(Kind.STATEMENT, "c", 1, text="bridge"))
        block(None)
        store.upsert(batch(("a new text", "another"), change="two"))
        assert store.search(VectorQuery(Kind.STATEMENT, "c", 9, text="new text"))


def test_a_document_that_the_server_refuses_is_named_and_the_others_are_written(server: SimpleNamespace) -> None:
    good = batch().blocks[0]
    bad = VectorBlock(good.kind, good.ids, good.texts, ("a", "x" * 40_000, "b"), 8, good.data)
    with opened(server) as store:
        with pytest.raises(StoreError, match="immense term"):
            store.upsert(VectorBatch("c", "one", (), (bad,)))
        store.connection.ask("POST", f"/{store.indexes.alias('c', Kind.STATEMENT)}/_refresh", answer=Anything)
        assert store.ids(Kind.STATEMENT, "c") == {good.ids[0], good.ids[2]}
        worse = VectorBlock(good.kind, good.ids, good.texts, ("a" * 40_000, "x" * 40_000, "b"), 8, good.data)
        with pytest.raises(StoreError, match=rf"2 documents of \S+ were refused: {good.ids[0]}: .*{good.ids[1]}: "):
            store.upsert(VectorBatch("c", "one", (), (worse,)))


_FORBIDDEN = {"type": "security_exception", "reason": "no permissions for [indices:x[s]] and User [name=ada]"}


@pytest.mark.parametrize(("path", "status"), [("_flush", 200), ("_refresh", 403), ("_stats", 200)])
def test_a_shard_that_refuses_is_an_error_whatever_the_status_of_the_answer(
    path: str, status: int, proxy: Proxy, server: SimpleNamespace
) -> None:
    """The bodies are those that the security plugin of 2.19.1 gave: see tests/roles."""
    failure: dict[str, object] = {"shard": 0, "index": "i", "status": "FORBIDDEN", "reason": _FORBIDDEN}
    body = {"_shards": {"total": 2, "successful": 0, "failed": 2, "failures": [failure]}, "indices": {}}
    with opened(through(proxy, server)) as store:
        store.upsert(batch())
        proxy.behaviour = times(1_000, Reply(status, json.dumps(body).encode(), _JSON), path=path)
        with pytest.raises(StoreError, match=rf"{path}.* is not allowed \(403: .*indices:x\[s\].*add the permission"):
            store.upsert(batch(change="two")) if path == "_refresh" else store.purge("c")
        failure["primary"] = False  # a copy that missed a write, which the server replaces itself
        proxy.behaviour = times(1_000, Reply(200, json.dumps(body).encode(), _JSON), path="_refresh")
        store.upsert(batch(change="two"))


def test_items_that_a_role_may_not_write_are_told_like_a_request(proxy: Proxy, server: SimpleNamespace) -> None:
    def forbidden(request: Request, forward: Forward) -> Reply | None:
        if "_bulk" not in request.path:
            return None
        answer = json.loads(forward(request.body).body)
        for one in answer["items"]:
            one["index"] = {"status": 403, "error": _FORBIDDEN}
        return Reply(200, json.dumps(answer).encode(), _JSON)

    with opened(through(proxy, server)) as store:
        proxy.behaviour = forbidden
        with pytest.raises(
            StoreError, match=r"POST /\S+/_bulk is not allowed \(403: .*indices:x\[s\].*add the permission"
        ):
            store.upsert(batch())


def test_rows_found_by_words_that_cannot_be_ranked_are_an_error(proxy: Proxy, server: SimpleNamespace) -> None:
    def without_names(request: Request, forward: Forward) -> Reply | None:
        if "_search" not in request.path:
            return None
        answer = json.loads(forward(request.body).body)
        for row in answer["hits"]["hits"]:
            row.pop("matched_queries", None)
        return Reply(200, json.dumps(answer).encode(), _JSON)

    with opened(through(proxy, server)) as store:
        store.upsert(batch())
        asked = VectorQuery(Kind.STATEMENT, "c", 1, text="bridge")
        assert [hit.id for hit in store.search(asked)] == [f"{0:032x}"]
        proxy.behaviour = without_names
        with pytest.raises(StoreError, match="document-level security"):
            store.search(asked)


def test_a_vector_that_is_not_finite_is_refused_before_anything_is_written(server: SimpleNamespace) -> None:
    values = np.ones((2, 8), dtype=np.float32)
    values[1, 3] = np.nan
    wrong = VectorBlock(Kind.CHUNK, ("a", "b"), ("x", "y"), ("", ""), 8, values.tobytes())
    with opened(server) as store:
        with pytest.raises(InputError, match="vector of chunk b holds a number that is not finite"):
            store.upsert(VectorBatch("c", "one", (), (wrong,)))
        assert store.ids(Kind.CHUNK, "c") == set()


def test_an_index_that_another_process_made_anew_in_other_dimensions(server: SimpleNamespace) -> None:
    with opened(server) as store, OpenSearchVectorStore(server.url, store.connection.settings) as other:
        store.upsert(batch())
        question = VectorQuery(Kind.STATEMENT, "c", 1, _EMBEDDER.embed(["bridge"])[0])
        assert store.search(question)
        other.delete("c", {"statement": batch().blocks[0].ids})
        assert store.search(question) == []
        assert store.vectors(Kind.STATEMENT, "c", ids=["x"])[0] == []
        four = VectorBlock(Kind.STATEMENT, ("y",), ("z",), ("",), 4, np.ones((1, 4), dtype=np.float32).tobytes())
        other.upsert(VectorBatch("c", "two", (), (four,)))
        for call in (
            lambda: store.search(question),
            lambda: store.vectors(Kind.STATEMENT, "c", ids=["y"]),
            lambda: store.upsert(batch()),
        ):
            with pytest.raises(ModelMismatchError, match="dimension"):
                call()


def test_a_trial_index_whose_answer_was_lost_is_asked_for_again_and_removed(
    proxy: Proxy, server: SimpleNamespace
) -> None:
    made: list[int] = []

    def lose_the_first_answer(request: Request, forward: Forward) -> Reply | None:
        if made or request.method != "PUT" or TRIAL not in request.path:
            return None
        made.append(forward(request.body).status)
        return Reply(0, b"", {})

    with opened(through(proxy, server)) as store:
        proxy.behaviour = lose_the_first_answer
        assert apply(store.target).version == len(discover("opensearch"))
        asked = [item.path for item in proxy.requests if item.method == "PUT" and TRIAL in item.path]
        assert made == [200]
        assert asked[0] == asked[1]
        left = store.connection.ask("GET", f"/{store.connection.settings.prefix}-*/_mapping", answer=dict[str, Mapped])
        assert not [name for name in left if TRIAL in name]


def test_an_index_of_somebody_else_is_left_alone(server: SimpleNamespace) -> None:
    with opened(server) as store:
        apply(store.target)
        store.connection.ask("PUT", f"/{store.indexes.alias('c', Kind.STATEMENT)}", answer=Anything, body={})
        with pytest.raises(StoreCorruptError, match="belongs to another program"):
            store.upsert(batch())


def test_a_server_without_the_plugin() -> None:
    error = b'{"error":{"type":"illegal_argument_exception","reason":"unknown setting [index.knn] please check"},"status":400}'

    def plain(request: Request, _: Forward) -> Reply | None:
        if request.method == "GET":
            return Reply(404, b"{}", _JSON)
        return Reply(400, error, _JSON) if b"index" in request.body and b"knn" in request.body else None

    with proxied() as proxy:
        proxy.behaviour = plain
        with (
            OpenSearchVectorStore(proxy.url, OpenSearchSettings()) as store,
            pytest.raises(StoreError, match="k-NN plugin is missing"),
        ):
            store.upsert(batch())


def test_something_that_is_no_opensearch() -> None:
    with proxied() as proxy:
        proxy.behaviour = lambda _, __: Reply(200, b"<html>welcome</html>", {"content-type": "text/html"})
        with (
            OpenSearchVectorStore(proxy.url, OpenSearchSettings()) as store,
            pytest.raises(StoreError, match="not from OpenSearch"),
        ):
            store.ids(Kind.CHUNK, "c")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://admin:secret-word@localhost:9200", "holds a user or a password"),
        ("localhost:9200", "not the URL of an OpenSearch server"),
        ("neo4j://localhost", "not the URL of an OpenSearch server"),
    ],
)
def test_a_url_that_cannot_be_used(url: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as found:
        OpenSearchVectorStore(url, OpenSearchSettings())
    assert "secret-word" not in str(found.value)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (OpenSearchSettings(prefix="Wrong*"), "opensearch.prefix"),
        (OpenSearchSettings(language="klingon"), "opensearch.language is 'klingon'; choose one of any, danish"),
    ],
)
def test_settings_that_cannot_be_used(settings: OpenSearchSettings, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        OpenSearchVectorStore("http://localhost:9200", settings)


# Migrations


def test_a_server_that_a_newer_hlgraph_wrote_is_refused(server: SimpleNamespace) -> None:
    with opened(server) as store:
        store.upsert(batch())
        index = f"{store.connection.settings.prefix}-migrations"
        runs = [
            {
                "version": item.version,
                "name": item.name,
                "checksum": item.checksum,
                "applied_at": "2030-01-01",
                "hlgraph_version": "9",
            }
            for item in store.target.history()
        ]
        runs.append({**runs[-1], "version": len(runs) + 1, "name": "more"})
        store.connection.ask("PUT", f"/{index}/_doc/history", answer=Anything, body={"json": runs})
        with OpenSearchVectorStore(server.url, store.connection.settings) as other:
            assert other.ids(Kind.STATEMENT, "c")  # the rows are as this hlgraph reads them
            with pytest.raises(MigrationError, match="written by a newer hlgraph"):
                other.upsert(batch())
            assert "vector migrations" in [row[0] for row in other.check() if not row[1]]

        home = store.indexes.find("c", Kind.STATEMENT)
        assert home is not None
        meta = {**msgspec.to_builtins(home.meta), "schema": len(runs)}  # as it makes indexes
        store.connection.ask("PUT", f"/{home.name}/_mapping", answer=Anything, body={"_meta": meta})
        with (
            OpenSearchVectorStore(server.url, store.connection.settings) as other,
            pytest.raises(MigrationError, match="written by a newer hlgraph"),
        ):
            other.ids(Kind.STATEMENT, "c")


def test_one_process_migrates_at_a_time_and_a_dead_one_gives_the_right_back(server: SimpleNamespace) -> None:
    with opened(server) as store:
        other = OpenSearchTarget(store.connection, lock_seconds=0.1)
        with store.target.lock(), pytest.raises(StoreLockedError, match="another process is migrating"), other.lock():
            pass
        index = f"{store.connection.settings.prefix}-migrations"
        dead = {"json": {"owner": "dead", "until": time.time() - 1}}
        store.connection.ask("PUT", f"/{index}/_doc/lock", answer=Anything, body=dead)
        assert apply(other).version == len(discover("opensearch"))
        assert [item.version for item in other.history()] == [1, 2]
        assert apply(other).applied == ()


def test_a_process_that_slept_longer_than_its_lock_lasts_records_no_run_twice(server: SimpleNamespace) -> None:
    with opened(server) as store:
        sleeper, other = store.target, OpenSearchTarget(store.connection)
        migrations = discover("opensearch")
        index = f"{store.connection.settings.prefix}-migrations"
        with sleeper.lock():
            late = {"json": {"owner": "the sleeper", "until": 0.0}}
            store.connection.ask("PUT", f"/{index}/_doc/lock", answer=Anything, body=late)
            assert apply(other).version == len(migrations)
            sleeper.apply(migrations[-1])
        assert [run.version for run in sleeper.history()] == [1, 2]


def test_a_connection_is_made_without_connecting() -> None:
    connection = Connection("https://nowhere.invalid:1", OpenSearchSettings())
    assert (connection.url, connection.settings) == ("https://nowhere.invalid:1", OpenSearchSettings())
    connection.close()


def test_a_store_that_is_away_is_one_finding() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        store = OpenSearchVectorStore(f"http://127.0.0.1:{taken.getsockname()[1]}", OpenSearchSettings())
        [(name, is_fine, seen)] = store.check()
    assert (name, is_fine) == ("vector server", False)
    assert "cannot be reached" in seen
