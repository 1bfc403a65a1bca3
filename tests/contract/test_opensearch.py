"""The contract suite of vector stores on a real OpenSearch server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from opensearch_fixture import opened
from opensearch_proxy import Forward, Reply, Request, proxied
from topic_contract import TopicContract

from hlgraph.settings import OpenSearchSettings
from hlgraph.stores.open import open_stores
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.protocols import Stores
from hlgraph.testing.vector_contract import VectorStoreContract, fill


@pytest.fixture
def stores(servers: SimpleNamespace, tmp_path: Path) -> Iterator[Stores]:
    embedded = open_stores(f"hlgraph://{tmp_path}/store")
    with embedded.closing, opened(servers.opensearch) as store:
        yield Stores(embedded.stores.graph, store)


class TestOpenSearchVectorStore(VectorStoreContract):
    pass


_ALLOWED = re.compile(r"/[\w,*-]+(/(_mapping|_bulk|_search|_doc)(\?.*)?)?")
_SETTINGS = (
    "number_of_shards",
    "number_of_replicas",
    "refresh_interval",
    "max_result_window",
    "merge_on_flush.enabled",
)


def _refusal(request: Request) -> tuple[int, str] | None:
    """The status and the reason of a refusal by Amazon OpenSearch Serverless.

    Its vector collections refuse document ids, conditional writes and everything about nodes, shards and refreshes.
    """
    path, body = request.path.partition("?")[0], request.body
    if "aoss" not in request.headers.get("authorization", ""):
        return 403, "not signed for aoss"
    if not _ALLOWED.fullmatch(path) or "if_seq_no" in request.path or "op_type" in request.path:
        return 404, f"{request.method} {path} is not supported"
    if _creates_index(request) and any(f'"{name}"'.encode() in body for name in (*_SETTINGS, "lucene")):
        return 400, "a setting or an engine that serverless does not have"
    if path.endswith("/_bulk") and re.search(rb'^{"index":.*_id', body, re.MULTILINE):
        return 400, "Document ID is not supported in create/index operation request"
    return (400, "_seq_no is not supported") if b"_seq_no" in body else None


def _creates_index(request: Request) -> bool:
    return request.method == "PUT" and request.path.partition("?")[0].count("/") == 1


def _serverless(request: Request, forward: Forward) -> Reply | None:
    """Refuse what serverless refuses and leave the rest to the server, where writes become visible later.

    The engine becomes lucene on the way: the server lacks the native libraries of faiss, which serverless has alone.
    """
    if refusal := _refusal(request):
        status, reason = refusal
        error = {"error": {"type": "illegal_argument_exception", "reason": reason}, "status": status}
        return Reply(status, json.dumps(error).encode(), {"content-type": "application/json"})
    if not _creates_index(request):
        return None
    body = json.loads(request.body.replace(b'"faiss"', b'"lucene"'))
    body.setdefault("settings", {}).setdefault("index", {})["refresh_interval"] = "50ms"
    return forward(json.dumps(body).encode())


class TestServerlessVectorStore(VectorStoreContract):
    """The same under the rules of Amazon's serverless form, signed."""

    @pytest.fixture
    def stores(self, servers: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        real = servers.opensearch
        embedded = open_stores(f"hlgraph://{tmp_path}/store")
        with embedded.closing, opened(real) as direct, proxied(real, as_user=True) as proxy:
            proxy.behaviour = _serverless
            prefix = direct.connection.settings.prefix
            settings = OpenSearchSettings(service="aoss", region="eu-west-1", prefix=prefix, patience=30.0)
            with OpenSearchVectorStore(proxy.url, settings) as store:
                yield Stores(embedded.stores.graph, store)

    def test_doctor_asks_only_what_serverless_answers(self, stores: Stores) -> None:
        fill(stores)
        assert isinstance(stores.vectors, OpenSearchVectorStore)
        assert {name: seen for name, is_fine, seen in stores.vectors.check() if not is_fine} == {}
        stores.vectors.purge("c")


class TestOpenSearchTopics(TopicContract):
    pass
