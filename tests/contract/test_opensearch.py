"""The contract suite of vector stores on a real OpenSearch server."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from opensearch_fixture import opened
from opensearch_proxy import proxied
from opensearch_serverless import serverless

from hlgraph.settings import OpenSearchSettings
from hlgraph.stores.open import open_stores
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.protocols import Stores
from hlgraph.testing.derived_contract import TopicContract
from hlgraph.testing.vector_contract import VectorStoreContract, fill


@pytest.fixture
def stores(servers: SimpleNamespace, tmp_path: Path) -> Iterator[Stores]:
    embedded = open_stores(f"hlgraph://{tmp_path}/store")
    with embedded.closing, opened(servers.opensearch) as store:
        yield Stores(embedded.stores.graph, store)


class TestOpenSearchVectorStore(VectorStoreContract):
    pass


class TestServerlessVectorStore(VectorStoreContract):
    """The same under the rules of Amazon's serverless form, signed: see ``tests/opensearch_serverless.py``."""

    @pytest.fixture
    def stores(self, servers: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        real = servers.opensearch
        embedded = open_stores(f"hlgraph://{tmp_path}/store")
        with embedded.closing, opened(real) as direct, proxied(real, as_user=True) as proxy:
            proxy.behaviour = serverless
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
