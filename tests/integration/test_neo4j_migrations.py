"""Migrations of Neo4j: applied once, safe to run twice, refused on a store that a newer hlgraph wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_stores import FORGET_SCHEMA

from hlgraph.errors import MigrationError, StoreLockedError
from hlgraph.stores import migrate
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.lease import Lease
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import Stores
from hlgraph.testing.graph_contract import fill


@pytest.fixture
def target(graph_server: Server) -> Iterator[Neo4jTarget]:
    graph_server.schema(FORGET_SCHEMA)
    yield Neo4jTarget(graph_server)
    graph_server.schema(FORGET_SCHEMA)


def test_apply_records_what_ran_and_twice_is_as_once(graph_server: Server, target: Neo4jTarget) -> None:
    assert [item.version for item in migrate.plan(target).pending] == [1, 2, 3, 4, 5, 6]
    first = migrate.apply(target)
    assert [item.label for item in first.applied] == [
        "V001__create_constraints",
        "V002__add_communities",
        "V003__add_summaries",
        "V004__add_decisions",
        "V005__add_domains",
        "V006__mark_old_topics",
    ]
    assert migrate.apply(target).applied == ()
    migrate.verify(target)
    rows = graph_server.read(lambda transaction: transaction.rows("admin/list_indexes"))
    assert len(rows) >= 20
    assert {row["state"] for row in rows} == {"ONLINE"}


def test_a_store_of_a_newer_hlgraph_is_refused_by_every_way_in(
    graph_server: Server, target: Neo4jTarget, tmp_path: Path
) -> None:
    version = migrate.apply(target).version + 1
    newer = {"name": "later", "checksum": "x", "applied_at": "2030-01-01T00:00:00+00:00", "hlgraph_version": "9.0"}
    graph_server.write(
        lambda transaction: transaction.rows("admin/record_migration", version=version, properties=newer)
    )
    with pytest.raises(MigrationError, match=r"newer hlgraph \(9\.0\)"):
        migrate.apply(target)
    store = Neo4jGraphStore(graph_server)
    with pytest.raises(MigrationError, match="upgrade hlgraph"):
        store.stats()
    with pytest.raises(MigrationError, match="upgrade hlgraph"):
        fill(Stores(store, EmbeddedVectorStore(Database(tmp_path / "v"))))


def test_corpora_of_an_older_version_are_marked(graph_server: Server, target: Neo4jTarget) -> None:
    migrate.apply(target)
    graph_server.schema(["CREATE (:Corpus {name: 'c', version: 3, embedding: '', dimensions: 0})"])
    store = Neo4jGraphStore(graph_server)
    assert [item.renewed_to for item in store.stats("c", has_counts=False)] == [None]
    graph_server.schema(["MATCH (m:Migration {version: 6}) DELETE m"])
    assert [item.label for item in migrate.apply(target).applied] == ["V006__mark_old_topics"]
    assert [item.renewed_to for item in store.stats("c", has_counts=False)] == [""]
    graph_server.schema(["MATCH (c:Corpus {name: 'c'}) DELETE c"])


def test_a_changed_migration_is_refused(graph_server: Server, target: Neo4jTarget) -> None:
    migrate.apply(target)
    graph_server.schema(["MATCH (m:Migration {version: 1}) SET m.checksum = 'other'"])
    with pytest.raises(MigrationError, match="restore the file"):
        migrate.plan(target)


def test_two_processes_do_not_migrate_at_once(graph_server: Server, target: Neo4jTarget) -> None:
    with Lease(graph_server, "migration").held(), pytest.raises(StoreLockedError, match="process"):
        migrate.apply(target)
    assert migrate.apply(target).version == 6


def test_every_constraint_and_index_that_is_dropped_is_named_and_made_again(
    graph_server: Server, target: Neo4jTarget
) -> None:
    migrate.apply(target)
    rows = graph_server.read(lambda transaction: transaction.rows("admin/list_indexes"))
    dropped: list[str] = []
    for row in rows:
        name = str(row["name"])
        form = "CONSTRAINT" if row["constraint"] else "INDEX"
        graph_server.schema([f"DROP {form} {name}"])
        dropped.append(name)
        assert [item.name for item in migrate.differences(target)] == dropped
    assert len(dropped) == 37
    with pytest.raises(
        MigrationError, match=r"hlgraph_chunk_id: missing: constraint on Chunk\(id\).*hlgraph migrate repair"
    ):
        migrate.verify(target)
    assert [item.name for item in migrate.repair(target)] == dropped
    migrate.verify(target)
    assert migrate.repair(target) == ()


def test_what_another_program_made_of_the_schema_is_named_and_made_again(
    graph_server: Server, target: Neo4jTarget
) -> None:
    migrate.apply(target)
    graph_server.schema(
        [
            "DROP INDEX hlgraph_chunk_source",
            "CREATE INDEX hlgraph_chunk_source FOR (n:Chunk) ON (n.id, n.source_id)",
            "DROP CONSTRAINT hlgraph_topic_id",
            "CREATE INDEX hlgraph_topic_id FOR (n:Topic) ON (n.id)",
            "CREATE INDEX hlgraph_of_somebody FOR (n:Chunk) ON (n.text)",
            "CREATE INDEX theirs FOR (n:Book) ON (n.title)",
        ]
    )
    assert [str(item) for item in migrate.differences(target)] == [
        "hlgraph_chunk_source: index on Chunk(id, source_id), in place of index on Chunk(source_id)",
        "hlgraph_of_somebody: index on Chunk(text), which no migration makes",
        "hlgraph_topic_id: index on Topic(id), in place of constraint on Topic(id)",
    ]
    assert len(migrate.repair(target)) == 3
    migrate.verify(target)
    assert graph_server.ask("admin/list_indexes") != []
    graph_server.schema(["DROP INDEX theirs"])  # it is still there: nobody else's is touched


def test_a_constraint_that_the_data_break_is_said_with_the_mend(graph_server: Server, target: Neo4jTarget) -> None:
    migrate.apply(target)
    graph_server.schema(["DROP CONSTRAINT hlgraph_source_id", "CREATE (:Source {id: 'x'}), (:Source {id: 'x'})"])
    with pytest.raises(MigrationError, match=r"the same key twice.*then run: hlgraph migrate repair"):
        migrate.repair(target)
    graph_server.schema(["MATCH (n:Source {id: 'x'}) DELETE n"])
    assert [item.name for item in migrate.repair(target)] == ["hlgraph_source_id"]
    migrate.verify(target)
