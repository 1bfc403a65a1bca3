"""The graph contract suite on a live Neo4j server, paired with the embedded vector store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hlgraph.settings import Neo4jSettings, Settings
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores
from hlgraph.testing.derived_contract import DerivedStoreContract
from hlgraph.testing.domain_contract import DomainStoreContract
from hlgraph.testing.graph_contract import GraphStoreContract
from hlgraph.testing.merge_contract import MergeStoreContract
from hlgraph.testing.topic_contract import TopicContract


@pytest.fixture
def stores(tmp_path: Path, servers: Any, neo4j_settings: Neo4jSettings, graph_server: Any) -> Iterator[Stores]:
    opened = open_stores(
        Settings(store=servers.neo4j.url, vectors=f"hlgraph://{tmp_path}/vectors", neo4j=neo4j_settings)
    )
    with opened.closing:
        yield opened.stores
        findings = list(opened.check())
    wrong = [item for item in findings if not item.is_fine and item.check != "journal"]
    assert not wrong


class TestNeo4jGraphStore(GraphStoreContract):
    pass


class TestNeo4jDerivedStore(DerivedStoreContract):
    pass


class TestNeo4jDomainStore(DomainStoreContract):
    pass


class TestNeo4jMergeStore(MergeStoreContract):
    pass


class TestNeo4jTopics(TopicContract):
    pass
