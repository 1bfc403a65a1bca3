"""Migrations of Neo4j: applied once, safe to run twice, refused on a store that a newer hlgraph wrote."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_stores import EMPTY, FORGET_SCHEMA
from schemas import verify
from thoroughness import cases

import hlgraph
from hlgraph.errors import MigrationError, SettingsError, StoreLockedError
from hlgraph.settings import Settings
from hlgraph.stores import migrate
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.lease import Leases
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import Stores
from hlgraph.testing.corpus import SeededEmbedder, fill
from hlgraph.text import ACL

_LABELS = [
    "V001__create_constraints",
    "V002__add_communities",
    "V003__add_summaries",
    "V004__add_decisions",
    "V005__add_domains",
    "V006__mark_old_topics",
    "V007__index_names_of_topics",
    "V008__drop_co_occurs",
    "V009__add_schemes_of_ids",
    "V010__holds_and_receipts",
    "V011__sets_of_vectors",
    "V012__index_sources_with_groups",
]


@pytest.fixture
def target(graph_server: Server) -> Iterator[Neo4jTarget]:
    graph_server.schema(FORGET_SCHEMA)
    yield Neo4jTarget(graph_server)
    graph_server.schema(FORGET_SCHEMA)


def test_apply_records_what_ran_and_twice_is_as_once(graph_server: Server, target: Neo4jTarget) -> None:
    assert [item.version for item in migrate.plan(target).pending] == list(range(1, len(_LABELS) + 1))
    first = migrate.apply(target)
    assert [item.label for item in first.applied] == _LABELS
    assert migrate.apply(target).applied == ()
    verify(target)
    rows = graph_server.read(lambda transaction: transaction.rows("admin/list_indexes", beginnings=["hlgraph_"]))
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


def test_corpora_of_an_older_version_are_marked_and_lose_what_is_stored_no_more(
    graph_server: Server, target: Neo4jTarget
) -> None:
    migrate.apply(target)
    graph_server.schema(
        [
            "CREATE (:Corpus {name: 'c', version: 3, embedding: '', dimensions: 0})",
            "CREATE (:Source {id: 's', corpus: 'c', metadata_keys: ['acl', 'year']}), (:Source {id: 't', corpus: 'c'})",
            "CREATE (:Entity {id: 'a'})-[:CO_OCCURS {chunks: 1}]->(b:Entity {id: 'b'})-[:RELATES {facts: 1}]->(b)",
        ]
    )
    store = Neo4jGraphStore(graph_server)
    assert [item.renewed_to for item in store.stats("c", has_counts=False)] == [None]
    graph_server.schema(["MATCH (m:Migration) WHERE m.version >= 6 DELETE m"])
    assert [item.label for item in migrate.apply(target).applied] == _LABELS[5:]
    assert [item.renewed_to for item in store.stats("c", has_counts=False)] == [""]
    assert [ACL in item.fields for item in Neo4jGraphStore(graph_server).stats("c", has_counts=False)] == [True]
    with graph_server.driver().session(database=graph_server.settings.database) as session:
        assert session.run("MATCH (:Entity)-[r]->() RETURN collect(type(r)) AS left").single(strict=True)["left"] == [
            "RELATES"
        ]
    graph_server.schema(["MATCH (n:Entity|Source) DETACH DELETE n", "MATCH (c:Corpus {name: 'c'}) DELETE c"])


def test_a_changed_migration_is_refused(graph_server: Server, target: Neo4jTarget) -> None:
    migrate.apply(target)
    graph_server.schema(["MATCH (m:Migration {version: 1}) SET m.checksum = 'other'"])
    with pytest.raises(MigrationError, match="restore the file"):
        migrate.plan(target)


def test_two_processes_do_not_migrate_at_once(graph_server: Server, target: Neo4jTarget) -> None:
    hasty = Neo4jTarget(graph_server, leases=Leases(graph_server, wait=0))
    for corpus in (None, "c"):  # nor while a corpus is written
        with Leases(graph_server).held(corpus), pytest.raises(StoreLockedError, match="process"):
            migrate.apply(hasty)
    assert migrate.apply(target).version == len(_LABELS)


def test_processes_that_begin_with_an_empty_database_make_the_schema_once(
    servers: Any, graph_server: Server, target: Neo4jTarget
) -> None:
    for name, form in schema_names(graph_server):
        graph_server.schema([f"DROP {form} {name}"])
    started = threading.Barrier(4)

    def begin(_: int) -> list[str]:
        with contextlib.closing(Server(servers.neo4j.url, graph_server.settings)) as server:
            server.driver()
            started.wait()
            return [item.label for item in migrate.apply(Neo4jTarget(server)).applied]

    for _ in range(cases(1, 20)):
        with ThreadPoolExecutor(4) as pool:
            applied = list(pool.map(begin, range(4)))
        assert sorted(applied) == [[], [], [], _LABELS]
        assert migrate.differences(target) == ()
        graph_server.schema([*FORGET_SCHEMA, "MATCH (l:Lease) DELETE l"])
        for name, form in schema_names(graph_server):
            graph_server.schema([f"DROP {form} {name}"])


def test_a_first_run_that_was_interrupted_is_completed_by_the_first_write(
    graph_server: Server, target: Neo4jTarget, tmp_path: Path
) -> None:
    with target.lock():
        target.apply(migrate.discover("neo4j")[0])
    fill(Stores(Neo4jGraphStore(graph_server), EmbeddedVectorStore(Database(tmp_path / "v"))))
    assert [item.label for item in migrate.plan(target).applied] == _LABELS
    graph_server.schema(EMPTY)


def schema_names(server: Server) -> list[tuple[str, str]]:
    """The constraints and indexes of hlgraph in a database: name, and the word that drops it."""
    rows = server.read(lambda transaction: transaction.rows("admin/list_indexes", beginnings=["hlgraph_"]))
    return [(str(row["name"]), "CONSTRAINT" if row["constraint"] else "INDEX") for row in rows]


def test_every_constraint_and_index_that_is_dropped_is_named_and_made_again(
    graph_server: Server, target: Neo4jTarget
) -> None:
    migrate.apply(target)
    rows = graph_server.read(lambda transaction: transaction.rows("admin/list_indexes", beginnings=["hlgraph_"]))
    dropped: list[str] = []
    for row in rows:
        name = str(row["name"])
        form = "CONSTRAINT" if row["constraint"] else "INDEX"
        graph_server.schema([f"DROP {form} {name}"])
        dropped.append(name)
        assert [item.name for item in migrate.differences(target)] == dropped
    assert len(dropped) == 42
    with pytest.raises(
        MigrationError, match=r"hlgraph_chunk_id: missing: constraint on Chunk\(id\).*hlgraph migrate repair"
    ):
        verify(target)
    assert [item.name for item in migrate.repair(target)] == dropped
    verify(target)
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
    verify(target)
    assert graph_server.ask("admin/list_indexes", beginnings=["theirs"]) != []
    graph_server.schema(["DROP INDEX theirs"])  # it is still there: nobody else's is touched


def test_a_constraint_that_the_data_break_is_said_with_the_mend(graph_server: Server, target: Neo4jTarget) -> None:
    migrate.apply(target)
    graph_server.schema(["DROP CONSTRAINT hlgraph_source_id", "CREATE (:Source {id: 'x'}), (:Source {id: 'x'})"])
    with pytest.raises(MigrationError, match=r"the same key twice.*then run: hlgraph migrate repair"):
        migrate.repair(target)
    graph_server.schema(["MATCH (n:Source {id: 'x'}) DELETE n"])
    assert [item.name for item in migrate.repair(target)] == ["hlgraph_source_id"]
    verify(target)


# Prefixes of labels

_COUNT = (
    "MATCH (n) WHERE none(label IN labels(n) WHERE label STARTS WITH 'Acme_') AND NOT n:Lease RETURN count(n) AS number"
)


def _settings(server: Server, folder: Path, prefix: str) -> Settings:
    ours = replace(server.settings, label_prefix=prefix, images=str(folder / "images"))
    return Settings(store=server.url, vectors=f"hlgraph://{folder}/vectors{prefix}", neo4j=ours)


@contextlib.contextmanager
def _opened(server: Server, folder: Path, prefix: str) -> Iterator[hlgraph.HLGraph]:
    with hlgraph.HLGraph(_settings(server, folder, prefix), embedder=SeededEmbedder()) as graph:
        yield graph


def _theirs(server: Server) -> int:
    with server.driver().session(database=server.settings.database) as session:
        return int(session.run(_COUNT).single(strict=True)["number"])


@pytest.fixture
def acme(graph_server: Server) -> Iterator[Server]:
    """The database, in which graphs under the prefix Acme_ may be made; their schema is removed."""
    yield graph_server
    rows = graph_server.ask("admin/list_indexes", beginnings=["Acme_hlgraph_"])
    for row in rows:
        form = "CONSTRAINT" if row["constraint"] else "INDEX"
        graph_server.schema([f"DROP {form} {row['name']}"])
    graph_server.schema(["MATCH (n:Acme_Migration) DELETE n", *EMPTY])


def test_two_prefixes_live_side_by_side_and_beside_nodes_of_others(acme: Server, tmp_path: Path) -> None:
    """One corpus, by one name, under two prefixes, among nodes of another program with the same labels and properties."""
    acme.schema(
        [
            "CREATE (:Source {id: 'u1', uri: 'theirs', corpus: 'default'})-[:FROM]->(:Topic {id: 'u2', corpus: 'default'})",
            "CREATE (:Chunk {id: 'u3'})-[:MENTIONS]->(:Entity {id: 'u4', name: 'Jonas Querl', corpus: 'default'})",
        ]
    )
    theirs, ours = tmp_path / "theirs.md", tmp_path / "ours.md"
    theirs.write_text("Mara Quill built a mill in Orne.\n", encoding="utf-8")
    ours.write_text("Jonas Querl was born in Wendlecote. He built a bridge.\n", encoding="utf-8")
    with _opened(acme, tmp_path, "") as graph:
        graph.ingest([str(theirs)])
    before = _theirs(acme)
    with (
        _opened(acme, tmp_path, "Acme_") as graph,
        pytest.raises(SettingsError, match=r"holds corpora under neo4j\.label_prefix '', and the setting is 'Acme_'"),
    ):
        graph.ingest([str(ours)])  # the setting may have been changed by mistake
    assert acme.ask("admin/list_indexes", beginnings=["Acme_hlgraph_"]) == []
    second = replace(acme.settings, label_prefix="Acme_")
    with contextlib.closing(Server(acme.url, second)) as server:
        migrate.apply(Neo4jTarget(server))
        verify(Neo4jTarget(server))
    verify(Neo4jTarget(acme))
    with _opened(acme, tmp_path, "Acme_") as graph:
        graph.ingest([str(ours)])
        found = graph.search("Where was Jonas Querl born?", strategy="path")
        assert {item.source.uri for item in found.evidence} == {ours.as_uri()}
        assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 1
        assert [item for item in graph.check() if not item.is_fine] == []
        rows = graph.cypher("find_entities", name="Querl").rows
        assert [row["name"] for row in rows] == ["Jonas Querl"]
        health = graph.health()
        assert health.is_ready
        assert health.image is not None
        assert health.image.behind == 0
        graph.delete(everything=True)
        assert set(graph.stats()[0].records.values()) == {0}
    assert _theirs(acme) == before
    with _opened(acme, tmp_path, "") as graph:
        assert graph.search("Who built a mill?", strategy="path").evidence
