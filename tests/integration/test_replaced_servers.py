"""An open handle of servers whose data were restored from a copy, dropped, or migrated: it reads and does what a new handle does.

A handle that has read everything, and so keeps what it can, is held through every case.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from edited_corpus import AFTER, BEFORE, OPERATIONS, documents, edit, search
from live_stores import opened, settings_for
from thoroughness import cases

import hlgraph
from hlgraph.errors import HLGraphError, MigrationError, StoreCorruptError, StoreError
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.wire import Anything, Json
from hlgraph.testing.embedder import WordEmbedder

READS = cases(["chunk", "statement", "path", "auto", "stats", "facts"], list(OPERATIONS))
WIPE = "MATCH (n) DETACH DELETE n"


class _Copies(NamedTuple):
    """What both servers held: the graph as rows, and a clone of each index with its aliases."""

    nodes: list[Any]
    edges: list[Any]
    clones: dict[str, dict[str, Any]]


class _Rig(NamedTuple):
    """Both servers, and what an operator does to them."""

    settings: Settings
    server: Server
    indices: Connection

    def connect(self) -> HLGraph:
        return hlgraph.connect(self.settings, embedder=WordEmbedder())

    def run(self, text: str, **params: Any) -> list[Any]:
        with self.server.driver().session() as session:
            return [record.data() for record in session.run(text, params)]

    def indexes(self) -> dict[str, Any]:
        return self.indices.ask("GET", f"/{self.settings.opensearch.prefix}-*", answer=dict[str, dict[str, Any]])

    def ask(self, method: str, path: str, body: Json = None) -> None:
        self.indices.ask(method, path, body=body, answer=Anything)

    def clone(self, name: str, to: str) -> None:
        self.ask("PUT", f"/{name}/_settings", {"index.blocks.write": True})
        self.ask(
            "PUT", f"/{name}/_clone/{to}", {"settings": {"index.blocks.write": None, "index.number_of_replicas": 0}}
        )
        self.ask("PUT", f"/{name}/_settings", {"index.blocks.write": None})

    def copy(self) -> _Copies:
        nodes = self.run("MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS held")
        edges = self.run(
            "MATCH (a)-[r]->(b) RETURN elementId(a) AS a, elementId(b) AS b, type(r) AS type, properties(r) AS held"
        )
        clones = dict[str, dict[str, Any]]()
        for name, item in self.indexes().items():
            self.clone(name, f"copy-{name}")
            clones[name] = item["aliases"]
        return _Copies(nodes, edges, clones)

    def drop_graph(self) -> None:
        self.run(WIPE)
        for row in self.run("SHOW CONSTRAINTS YIELD name"):
            self.run(f"DROP CONSTRAINT {row['name']}")
        for row in self.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'"):
            self.run(f"DROP INDEX {row['name']}")

    def drop_indexes(self) -> None:
        for name in self.indexes():
            self.ask("DELETE", f"/{name}")

    def restore(self, copies: _Copies) -> None:
        self.run(WIPE)
        self.run("UNWIND $rows AS row CREATE (n:$(row.labels)) SET n = row.held, n.at = row.id", rows=copies.nodes)
        self.run(
            "UNWIND $rows AS row MATCH (a {at: row.a}) MATCH (b {at: row.b}) "
            "CREATE (a)-[r:$(row.type)]->(b) SET r = row.held",
            rows=copies.edges,
        )
        self.run("MATCH (n) WHERE n.at IS NOT NULL SET n.at = NULL")
        self.drop_indexes()
        for name, aliases in copies.clones.items():
            self.clone(f"copy-{name}", name)
            actions: list[Json] = [{"add": {"index": name, "alias": alias, **body}} for alias, body in aliases.items()]
            if actions:
                self.ask("POST", "/_aliases", {"actions": actions})

    def forget(self, copies: _Copies) -> None:
        for name in copies.clones:
            self.ask("DELETE", f"/copy-{name}")


@pytest.fixture
def rig(servers: Any) -> Iterator[_Rig]:
    settings = settings_for(servers)
    with opened(servers, settings):
        server, index = Server(settings.store, settings.neo4j), Connection(settings.vectors, settings.opensearch)
        found = _Rig(settings, server, index)
        with found.connect() as graph:
            graph.ingest(documents(BEFORE))
            graph.hierarchy.build()
        with contextlib.closing(server), contextlib.closing(index):
            yield found
            with found.connect() as graph:  # the next test finds the schema
                graph.ingest(documents(BEFORE))


def outcome(read: Callable[[HLGraph], Any], graph: HLGraph) -> Any:
    """What a read finds, or the kind of its error."""
    try:
        return read(graph)
    except HLGraphError as error:
        return type(error)


def reads(graph: HLGraph) -> dict[str, Any]:
    return {name: outcome(OPERATIONS[name], graph) for name in READS}


def check(rig: _Rig, held: HLGraph) -> None:
    """The open handle reads what a new one reads; both find the stores fine."""
    with rig.connect() as new:
        assert reads(held) == reads(new)
        assert not [item for item in held.check() if not item.is_fine]


def test_a_copy_of_both_servers_is_restored(rig: _Rig) -> None:
    with rig.connect() as graph:
        before, copies = reads(graph), rig.copy()
        edit(graph)
        assert reads(graph)["chunk"] != before["chunk"]
        try:
            rig.restore(copies)
            assert reads(graph) == before
            check(rig, graph)
            report = graph.ingest(documents({name: item for name, item in AFTER.items() if name != "gone"}))
            assert (report.sources_added, report.sources_changed, report.sources_unchanged) == (1, 2, 1)
            check(rig, graph)
        finally:
            rig.forget(copies)


def test_a_version_is_used_twice(rig: _Rig) -> None:
    """After the copy was restored another handle makes another edit: the same versions and numbers, another content."""
    changes = [BEFORE["flood"][0], BEFORE["mill"][0]]
    with rig.connect() as graph:
        copies = rig.copy()
        graph.ingest(documents({"flood": (changes[0], {"year": 1860})}))
        assert {row[4] for row in search(graph, "chunk")} == {"doc:bridge", "doc:mill", "doc:flood"}
        try:
            rig.restore(copies)
            with rig.connect() as other:
                other.ingest(documents({"flood": (changes[0], {"year": 1700})}))
            assert {row[4] for row in search(graph, "chunk")} == {"doc:bridge", "doc:mill"}
            check(rig, graph)
        finally:
            rig.forget(copies)


@pytest.mark.parametrize(
    "dropped",
    [["graph"], ["indexes"], pytest.param(["graph", "indexes"], marks=pytest.mark.thorough)],
    ids="+".join,
)
def test_a_server_loses_everything(rig: _Rig, dropped: list[str]) -> None:
    with rig.connect() as graph:
        before = reads(graph)
        for name in dropped:
            getattr(rig, f"drop_{name}")()
        with rig.connect() as new:
            assert reads(graph) == reads(new)
        if dropped == ["graph"]:  # the rows could be those of another graph
            with pytest.raises(StoreError, match="has rows of it, and the graph has nothing"):
                graph.ingest(documents(BEFORE))
            rig.drop_indexes()
        report = graph.ingest(documents(BEFORE))
        assert report.sources_added == (4 if "graph" in dropped else 0)
        if dropped == ["indexes"]:
            assert reads(graph)["chunk"] is reads(graph)["path"] is StoreCorruptError
            assert report.sources_unchanged == 4
            graph.reconcile(repair=True)
        graph.hierarchy.build()
        assert reads(graph) == before
        check(rig, graph)
        assert {row["name"] for row in rig.run("SHOW CONSTRAINTS YIELD name")} >= {"hlgraph_source_id"}


def test_a_newer_hlgraph_migrates_the_database(rig: _Rig) -> None:
    with rig.connect() as graph:
        assert search(graph, "chunk")
        [row] = rig.run("MATCH (m:Migration) RETURN max(m.version) AS newest")
        rig.run(
            "CREATE (:Migration {version: $version, name: 'later', checksum: '', applied_at: '', hlgraph_version: '9.0'})",
            version=row["newest"] + 1,
        )
        try:
            for call in (lambda: search(graph, "chunk"), lambda: graph.ingest(documents(AFTER)), graph.stats):
                with pytest.raises(MigrationError, match="newer hlgraph"):
                    call()
        finally:
            rig.run("MATCH (m:Migration {name: 'later'}) DELETE m")
        assert search(graph, "chunk")
