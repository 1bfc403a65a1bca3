"""A search on servers that are away, never answer, die or come back: one clear error within a deadline of its own, or the result.

``close()`` works on such servers, too, and while other threads search.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from live_stores import opened, settings_for
from opensearch_proxy import Reply, proxied, times
from tcp_proxy import TcpProxy, passed_on
from thoroughness import cases

from hlgraph.chunk import WholeChunker
from hlgraph.errors import StoreClosedError, StoreUnavailableError
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document
from hlgraph.retrieve import SearchRequest, search
from hlgraph.settings import Settings
from hlgraph.stores.neo4j.gds import GraphDataScience
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import Stores
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor
from hlgraph.testing.embedder import WordEmbedder

# The driver forgets a connection that ends while it is opened.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
_STEPS = pipeline.Steps(WholeChunker(), TinyExtractor(), WordEmbedder())
_SERVERS = ("Neo4j", "OpenSearch")


class _Rig(NamedTuple):
    """The settings of both servers behind proxies, and the proxies by server."""

    settings: Settings
    proxies: dict[str, TcpProxy]

    def open(self, *, read_seconds: float, **options: Any) -> Opened:
        """The stores, with other settings of the servers."""
        neo4j = replace(self.settings.neo4j, read_seconds=read_seconds, **options)
        index = replace(self.settings.opensearch, read_seconds=read_seconds)
        return open_stores(replace(self.settings, neo4j=neo4j, opensearch=index))


@pytest.fixture(scope="module")
def whole(servers: Any) -> Iterator[Settings]:
    """Settings of both servers, which hold a corpus."""
    settings = settings_for(servers)
    with opened(servers, settings) as found:
        pipeline.ingest(DOCUMENTS, CORPUS, stores=found.stores, steps=_STEPS)
        yield settings


@pytest.fixture
def rig(whole: Settings) -> Iterator[_Rig]:
    with passed_on(whole.store) as graph, passed_on(whole.vectors) as index:
        yield _Rig(replace(whole, store=graph.url, vectors=index.url), {"Neo4j": graph, "OpenSearch": index})


def _search(stores: Stores, strategy: str = "chunk") -> list[str]:
    request = SearchRequest("Who designed the Aldane Bridge?", CORPUS)
    found = search(request, strategy, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    return [item.text for item in found.evidence]


def _cut(proxy: TcpProxy) -> None:
    proxy.cut()


def _hush(proxy: TcpProxy) -> None:
    proxy.hush()


def _leave(proxy: TcpProxy) -> None:
    proxy.close()


@pytest.mark.parametrize("server", _SERVERS)
@pytest.mark.parametrize("trouble", [_cut, _hush, _leave])
@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
def test_a_search_ends_within_its_deadline(
    rig: _Rig, server: str, trouble: Callable[[TcpProxy], None], *, is_warm: bool
) -> None:
    """Not after ``retry_seconds`` and ``patience``, which are 120 s here; the store closes without an error."""
    found = rig.open(read_seconds=2.0, retry_seconds=120.0, timeout=30.0)
    with found.closing:
        if is_warm:
            assert _search(found.stores)
        proxy = rig.proxies[server]
        trouble(proxy)
        with pytest.raises(StoreUnavailableError) as error:
            _search(found.stores)
        said = str(error.value)
        assert f"127.0.0.1:{proxy.port}: " in said
        assert "start " in said
        if is_warm:
            setting = "neo4j" if server == "Neo4j" else "opensearch"
            assert f"no answer from {server} within 2 s (" in said
            assert f"{setting}.read_seconds" in said
        assert error.value.retryable


@pytest.mark.parametrize("server", _SERVERS)
def test_a_search_ends_within_its_deadline_on_a_server_that_dies_in_the_middle(rig: _Rig, server: str) -> None:
    ended = 0
    for after in cases((60,), (1, 60, 150, 400)):
        found = rig.open(read_seconds=2.0, retry_seconds=120.0)
        with found.closing:
            assert _search(found.stores, "chunk_entity")
            rig.proxies[server].cut(after=after)
            try:
                assert _search(found.stores, "chunk_entity")
            except StoreUnavailableError as error:
                assert f"no answer from {server} within 2 s" in str(error)  # noqa: PT017 - it may also succeed
                ended += 1
        rig.proxies[server].mend()
    assert ended


@pytest.mark.parametrize("server", _SERVERS)
@pytest.mark.parametrize("trouble", [_cut, _hush])
def test_a_search_succeeds_on_a_server_that_comes_back(
    rig: _Rig, server: str, trouble: Callable[[TcpProxy], None]
) -> None:
    found = rig.open(read_seconds=6.0)
    with found.closing:
        before = _search(found.stores)
        trouble(rig.proxies[server])
        back = threading.Timer(0.5, rig.proxies[server].mend)
        back.start()
        assert _search(found.stores) == before
        back.join()


@pytest.mark.parametrize("server", _SERVERS)
def test_an_ingest_outlives_the_deadline_of_searches(rig: _Rig, server: str) -> None:
    found = rig.open(read_seconds=1.0, retry_seconds=60.0)
    documents = [Document("doc:more", f"Sela Orne painted the abbey of {server}.", "More")]
    with found.closing:
        assert _search(found.stores)
        rig.proxies[server].cut()
        back = threading.Timer(2.5, rig.proxies[server].mend)
        back.start()
        assert pipeline.ingest(documents, f"more {server}", stores=found.stores, steps=_STEPS).sources_added == 1
        back.join()


def test_closing_leaves_the_projections_of_a_dead_server(rig: _Rig, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(rig.settings.store, replace(rig.settings.neo4j, read_seconds=0.5, retry_seconds=120.0))
    with contextlib.closing(server):
        assert server.ask("retrieve/read_state", corpus=CORPUS)
        projections = GraphDataScience(server)
        projections._made.add("a projection")
        rig.proxies["Neo4j"].cut()
        projections.close()
    assert "the projections could not be dropped: " in caplog.text


def test_a_fault_of_the_server_is_reported_after_three_attempts(servers: Any, whole: Settings) -> None:
    """A busy one is asked again, after growing waits."""
    with proxied(servers.opensearch) as proxy:
        index = replace(whole.opensearch, ca=None, read_seconds=2.0)
        found = open_stores(replace(whole, vectors=proxy.url, opensearch=index))
        with found.closing:
            assert _search(found.stores)
            for status, most in ((500, 3), (503, 9)):
                proxy.requests.clear()
                proxy.behaviour = times(100, Reply(status, b"{}", {}), path="/_search")
                with pytest.raises(StoreUnavailableError, match=rf"overloaded or not ready \({status}"):
                    _search(found.stores)
                assert 3 <= sum("/_search" in request.path for request in proxy.requests) <= most


def test_closing_while_threads_search_ends_them_by_one_error(rig: _Rig) -> None:
    for strategy in cases(("chunk", "chunk_entity"), ("chunk", "chunk_entity", "auto") * 4):
        found = rig.open(read_seconds=5.0)
        expected = _search(found.stores, strategy)
        is_running = threading.Barrier(5)

        def ask(stores: Stores, name: str, wanted: list[str], begin: threading.Barrier) -> None:
            begin.wait(30)
            with contextlib.suppress(StoreClosedError):
                while True:
                    assert _search(stores, name) == wanted

        with ThreadPoolExecutor(4) as threads:
            running = [threads.submit(ask, found.stores, strategy, expected, is_running) for _ in range(4)]
            is_running.wait(30)
            threading.Event().wait(0.05)
            found.closing.close()
            for one in running:
                one.result(60)
        with pytest.raises(StoreClosedError):
            _search(found.stores, strategy)
