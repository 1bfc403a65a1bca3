"""Communities on Neo4j with Graph Data Science beside those of the embedded store: the same nodes, partitions of one quality."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from live_stores import empty, neo4j_of
from modularity import modularity

from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Document
from hlgraph.sdk import cypher as analyst
from hlgraph.sdk.communities import Communities
from hlgraph.settings import Settings
from hlgraph.stores.derived import Clustered, ClusterQuery, Made
from hlgraph.stores.in_process import ProcessClusterer, pulled
from hlgraph.stores.neo4j.derived import Neo4jDerivedStore
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import Row, Server
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import PullShape, Scope
from hlgraph.testing.embedder import WordEmbedder

CORPUS = "clusters"
_GROUPS = (
    ("Mara Quill", "Tessing", "Aldane Bridge", "Otto Brann"),
    ("Ivo Brandt", "Orne", "Lena Foss", "Rusk"),
    ("Hanna Voss", "Orle Mill", "Piet Marn", "Lund"),
)


def _documents(count: int, *, seed: int) -> list[Document]:
    """Sentences that join two names of one group, now and then of two."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        group = _GROUPS[number % len(_GROUPS)]
        pairs = [rng.sample(group, 2) for _ in range(3)]
        if number % 7 == 0:
            pairs.append([rng.choice(_GROUPS[0]), rng.choice(_GROUPS[1])])
        found.append(
            Document(f"doc:{number}", " ".join(f"{a} met {b} in {1900 + number}." for a, b in pairs), f"Note {number}")
        )
    return found


class Both(NamedTuple):
    """The two stores with the same corpus, and the server."""

    embedded: Opened
    live: Opened
    server: Server
    corpus: str

    def tiers(self) -> tuple[Communities, Communities]:
        return Communities(self.corpus, self.embedded.stores), Communities(self.corpus, self.live.stores)


@pytest.fixture(scope="module")
def both(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """For the tests that leave the documents as they are; they come first, for the others empty the server."""
    with _filled(servers, tmp_path_factory.mktemp("communities"), CORPUS) as found:
        yield found


@pytest.fixture
def own(servers: Any, tmp_path: Path) -> Iterator[Both]:
    """For a test that deletes documents, or leaves a build half done: another corpus, since projections of the first stay."""
    with _filled(servers, tmp_path, "own") as found:
        yield found


@contextlib.contextmanager
def _filled(servers: Any, folder: Path, corpus: str) -> Iterator[Both]:
    empty(servers)
    embedded = open_stores(f"hlgraph://{folder}/store")
    live = open_stores(
        Settings(store=servers.neo4j.url, vectors=f"hlgraph://{folder}/vectors", neo4j=neo4j_of(servers))
    )
    server = Server(servers.neo4j.url, neo4j_of(servers))
    with embedded.closing, live.closing:
        for opened in (embedded, live):
            steps = pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), WordEmbedder(48))
            pipeline.ingest(_documents(30, seed=5), corpus, stores=opened.stores, steps=steps)
        yield Both(embedded, live, server, corpus)
    server.close()


def _quality(both: Both, found: Clustered, shape: ProjectionShape) -> float:
    relationships, kinds = INGREDIENTS[shape]
    graph = pulled(both.embedded.stores.graph)(PullShape(relationships, kinds), Scope(CORPUS))
    made = project(graph, shape)
    places = np.searchsorted(graph.ids[made.nodes], np.array(found.ids))
    labels = np.arange(len(made.nodes))
    labels[places] = places[found.communities.levels[0]]
    return modularity(made.adjacency, labels)


@pytest.mark.parametrize("resolution", [100.0, 1e6])
def test_a_resolution_at_which_nobody_joins_leaves_every_node_alone(both: Both, resolution: float) -> None:
    query = ClusterQuery(ProjectionShape.ENTITY_ENTITY, resolution=resolution)
    here, there = both.embedded.stores.graph, both.live.stores.graph
    ours, theirs = here.cluster(query, corpus=CORPUS), there.cluster(query, corpus=CORPUS)
    assert theirs.by.startswith("process: the server's Leiden joins no two nodes at resolution ")
    assert theirs.ids == ours.ids
    assert theirs.communities.levels.tolist() == ours.communities.levels.tolist() == [list(range(len(ours.ids)))]


@pytest.mark.parametrize("shape", list(ProjectionShape))
def test_the_same_nodes_and_partitions_of_one_quality(both: Both, shape: ProjectionShape) -> None:
    query = ClusterQuery(shape, max_size=60)
    here, there = both.embedded.stores.graph, both.live.stores.graph
    ours, theirs = here.cluster(query, corpus=CORPUS), there.cluster(query, corpus=CORPUS)
    assert (ours.by, theirs.by) == ("process", "server")
    assert ours.ids == theirs.ids
    assert _quality(both, theirs, shape) == pytest.approx(_quality(both, ours, shape), abs=0.02)
    by_pull = ProcessClusterer(pulled(both.live.stores.graph)).cluster(query, corpus=CORPUS)
    assert by_pull.ids == ours.ids
    assert by_pull.communities.levels.tolist() == ours.communities.levels.tolist()


def test_what_is_stored_is_what_analysts_see(both: Both) -> None:
    _, tier = both.tiers()
    built = tier.build("entity_entity", max_size=10)
    assert sum(built.communities) > len(_GROUPS)
    found = tier.find("entity_entity", names=100)
    query = analyst.load("list_communities")
    tier.build("entity_passage", max_size=10)
    params = {"k": 1000, "run": "entity_entity"}
    table = analyst.run(query, params, graph=Neo4jGraphStore(both.server), corpus=CORPUS)
    seen = {str(row["community_id"]): (row["level"], row["members"], row["parent_id"]) for row in table.rows}
    assert seen == {item.id: (item.level, item.size, item.parent_id) for item in found.communities}
    assert all(len(found.names[item.id]) == item.size for item in found.communities)
    assert all(item.is_fine for item in both.live.check())


def test_a_cap_that_the_server_does_not_keep_is_kept_in_process(both: Both, caplog: pytest.LogCaptureFixture) -> None:
    tiers = both.tiers()
    built = tiers[1].build("entity_entity", max_size=2)
    assert built.run.by.startswith("process: the levels of the server's Leiden leave communities above 2")
    assert "clustering in process" in caplog.text
    assert built.communities == tiers[0].build("entity_entity", max_size=2).communities


def test_without_the_plugin_it_clusters_in_process(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Server.ask

    def ask(server: Server, name: str, /, **params: object) -> list[Row]:
        return [] if name == "admin/find_plugin_functions" else real(server, name, **params)

    monkeypatch.setattr(Server, "ask", ask)
    built = both.tiers()[1].build("entity_entity")
    assert built.run.by == "process: the server has no Graph Data Science plugin (GDS)"
    assert built.communities == both.tiers()[0].build("entity_entity").communities


def test_deleting_sources_leaves_the_same_members(own: Both) -> None:
    tiers = own.tiers()
    run = tiers[0].build("entity_passage", max_size=10).run
    derived = own.live.stores.graph.derived
    kept = own.embedded.stores.graph.derived
    assert derived
    assert kept
    communities = kept.communities(own.corpus, run.name)
    members = {
        name: [item.id for item in some] for name, some in kept.members([item.id for item in communities]).items()
    }
    with own.live.stores.graph.lock():
        derived.save(run, Made(communities, members))
    for opened in (own.embedded, own.live):
        gone = [source_id(own.corpus, f"doc:{number}") for number in range(0, 30, 2)]
        delete_sources(gone, own.corpus, stores=opened.stores)
        assert all(item.is_fine for item in opened.check())
    left = kept.communities(own.corpus, run.name)
    assert left == derived.communities(own.corpus, run.name)
    assert sum(item.size for item in left) < sum(item.size for item in communities)
    ids = [item.id for item in left]
    assert kept.members(ids) == derived.members(ids)
    assert [item.is_stale for item in derived.runs(own.corpus)] == [True]


@pytest.mark.parametrize("moment", ["before it is shown", "after it is shown"])
def test_a_build_that_is_killed_is_seen_whole_or_not_at_all(
    own: Both, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    _, tier = own.tiers()
    tier.build("entity_entity", max_size=50)
    before = tier.find("entity_entity")
    drops: list[str] = []
    real_write, real_drop = Neo4jDerivedStore._write, Neo4jDerivedStore._drop_hidden

    def write(store: Neo4jDerivedStore, name: str, *args: Any, **params: Any) -> None:
        real_write(store, name, *args, **params)
        if moment == "before it is shown" and name == "index/link_members":
            raise KeyboardInterrupt

    def drop(store: Neo4jDerivedStore, corpus: str) -> None:
        drops.append(corpus)
        if len(drops) == 2:
            raise KeyboardInterrupt
        real_drop(store, corpus)

    monkeypatch.setattr(Neo4jDerivedStore, "_write", write)
    monkeypatch.setattr(Neo4jDerivedStore, "_drop_hidden", drop)
    with pytest.raises(KeyboardInterrupt):
        tier.build("entity_entity", max_size=4)
    monkeypatch.undo()
    seen = tier.find("entity_entity")
    if moment == "before it is shown":
        assert seen == before
    else:
        assert seen.run
        assert "max_size=4" in seen.run.parameters
    assert [item.check for item in own.live.check() if not item.is_fine] == ["unfinished communities"]
    again = tier.build("entity_entity", max_size=4)
    assert again.is_unchanged == (moment == "after it is shown")
    tier.build("entity_entity", max_size=6)
    assert all(item.is_fine for item in own.live.check())
    delete_sources([source_id(own.corpus, f"doc:{n}") for n in range(30)], own.corpus, stores=own.live.stores)
    assert tier.find("entity_entity").run is None
    left = own.server.driver().execute_query(
        "MATCH (n) RETURN DISTINCT labels(n) AS labels", database_=own.server.settings.database
    )
    assert {label for row in left.records for label in row["labels"]} <= {"Corpus", "ImageChange", "Migration", "Lease"}
