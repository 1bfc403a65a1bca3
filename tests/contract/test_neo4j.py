"""The graph contract suite on a live Neo4j server, paired with the embedded vector store."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deletion_page import deletion_queries
from topic_contract import TopicContract

from hlgraph.errors import StoreLockedError
from hlgraph.ids import entity_id, source_id
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Kind, Relationship
from hlgraph.settings import Neo4jSettings, Settings
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, Scope, Stores, Verdict, grouped
from hlgraph.stores.trace import listening
from hlgraph.testing.corpus import CORPUS, fill
from hlgraph.testing.derived_contract import DerivedStoreContract, DomainStoreContract, RetentionStoreContract
from hlgraph.testing.graph_contract import GraphStoreContract
from hlgraph.testing.merge_contract import MergeStoreContract, decision, merges, save
from hlgraph.testing.writers_contract import WritersContract


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
    def test_a_deletion_runs_the_queries_of_the_documentation_in_their_order(self, stores: Stores) -> None:
        fill(stores)
        with listening() as heard:
            delete_sources([source_id(CORPUS, "doc:bridge")], CORPUS, stores=stores)
        ran = [call.name for call in heard.calls if call.store == "neo4j"]
        listed, later = deletion_queries(), iter(ran)
        assert {name for name in ran if name.startswith("persist/")} <= set(listed)
        listed.remove("persist/list_links")  # no other chunk asserts a statement of this source
        assert [name for name in listed if name not in later] == []  # each runs after the one before


class TestNeo4jDerivedStore(DerivedStoreContract):
    pass


class TestNeo4jDomainStore(DomainStoreContract):
    pass


class TestNeo4jRetentionStore(RetentionStoreContract):
    pass


class TestNeo4jMergeStore(MergeStoreContract):
    def test_an_image_in_memory_tells_what_is_merged(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Aldane Bridge", "Ivo Brandt"))
        save(stores, decision("Mara Quill", "Orne", verdict=Verdict.DIFFERENT))
        shape = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}), hops=1)
        stores.graph.pull([entity_id(CORPUS, "Aldane Bridge")], shape, scope=Scope(CORPUS))
        (stats,) = stores.graph.stats()
        with listening() as heard:
            found = merges(stores).aliases(CORPUS, version=stats.version)
        assert heard.calls == []
        (group,) = grouped(merges(stores).decisions(CORPUS)).all()
        assert found == dict.fromkeys(group, group)


class TestNeo4jTopics(TopicContract):
    pass


class TestNeo4jWriters(WritersContract):
    @pytest.fixture
    def place(self, tmp_path: Path, servers: Any, neo4j_settings: Neo4jSettings, graph_server: Any) -> Settings:
        return Settings(store=servers.neo4j.url, vectors=f"hlgraph://{tmp_path}/vectors", neo4j=neo4j_settings)

    def test_two_corpora_are_written_side_by_side_and_one_thread_holds_one(self, place: Settings) -> None:
        with (first := open_stores(place)).closing, (second := open_stores(replace(place, wait=0))).closing:
            with first.stores.graph.lock("a"), second.stores.graph.lock("b"):
                with (
                    second.stores.graph.lock("b"),
                    pytest.raises(StoreLockedError, match="another corpus") as error,
                    second.stores.graph.lock("c"),
                ):
                    pass
                assert not error.value.retryable
            with first.stores.graph.lock(), first.stores.graph.lock("a"):
                pass
