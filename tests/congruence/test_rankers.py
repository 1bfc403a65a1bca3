"""PageRank on the server, over the whole graph in memory, and over a pull that reaches all of it: the same nodes and scores."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import synonym_graph
from live_stores import drop_projections, empty, neo4j_of
from thoroughness import cases

from hlgraph.algorithms.projection import NODE_KINDS, ProjectionShape
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Hit, Kind
from hlgraph.retrieve import SearchRequest, search
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.settings import Settings
from hlgraph.stores.image.ranker import ImageRanker
from hlgraph.stores.in_process import PulledRanker
from hlgraph.stores.neo4j import gds as ranker_module
from hlgraph.stores.neo4j.gds import GdsRanker, GraphDataScience, ShapeProjection
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import RankQuery, Scope, Stores
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

CORPUS = "ranked"
_NAMES = ("Mara Quill", "Ivo Brandt", "Tessing", "Orne", "Aldane Bridge", "Gannow Light", "Emeric Vaude", "Loom Street")
_VERBS = ("designed", "visited", "was born in", "left", "wrote about", "repaired")
_SHAPES = tuple(ProjectionShape)
# Sums of float32 weights in another order.
_NEAR = {"rel": 1e-4, "abs": 2e-6}


def _documents(count: int, *, seed: int) -> list[Document]:
    rng = random.Random(seed)
    found = []
    for at in range(count):
        sentences = [
            f"{rng.choice(_NAMES)} {rng.choice(_VERBS)} {rng.choice(_NAMES)} in {rng.randint(1890, 1899)}."
            for _ in range(rng.randint(1, 9))
        ]
        found.append(Document(f"doc:{at}", " ".join(sentences), f"Title {at % 7}", {"year": rng.randint(1, 4)}))
    # Nothing joins it in the graph of entities.
    return [*found, Document("doc:alone", "Hedwig Molnard slept.", "", {"year": 9})]


class Rankers(NamedTuple):
    """The same corpus in both stores; ``servers`` rank by GDS, ``image`` is the same database with the image."""

    embedded: Stores
    servers: Stores
    image: Stores
    server: Server

    def pulled(self) -> PulledRanker:
        return PulledRanker(self.servers.graph, hops=30, fan_out=10_000, node_cap=100_000)


@pytest.fixture(scope="module")
def both(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rankers]:
    folder: Path = tmp_path_factory.mktemp("rankers")
    empty(servers)
    embedded = open_stores(f"hlgraph://{folder}/store")
    live, imaged = (
        open_stores(
            Settings(
                store=servers.neo4j.url,
                vectors=f"hlgraph://{folder}/vectors",
                neo4j=neo4j_of(servers, ranking=ranking),
            )
        )
        for ranking in ("server", "process")
    )
    server = Server(servers.neo4j.url, neo4j_of(servers))
    with embedded.closing, live.closing, imaged.closing:
        for stores in (embedded.stores, live.stores):
            steps = pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), WordEmbedder(48))
            pipeline.ingest(_documents(40, seed=5), CORPUS, stores=stores, steps=steps)
        yield Rankers(embedded.stores, live.stores, imaged.stores, server)
    server.close()


def _seeds(both: Rankers, shape: ProjectionShape, rng: random.Random) -> dict[str, float]:
    names = [
        record.id for kind in sorted(NODE_KINDS[shape]) for record in both.embedded.graph.find(kind, Scope(CORPUS))
    ]
    return {name: rng.choice([1.0, 0.25, 3.0]) for name in rng.sample(names, 6)} | {"nowhere": 1.0}


def _same(one: list[Hit], two: list[Hit]) -> None:
    """The same nodes with the same scores, and in the same order but for nearly equal scores."""
    assert {hit.id: hit.score for hit in two} == pytest.approx({hit.id: hit.score for hit in one}, **_NEAR)
    for first, second in zip(one, two, strict=True):
        assert second.score == pytest.approx(first.score, **_NEAR)
    assert [hit.id for hit in two] == [hit.id for hit in sorted(two, key=lambda hit: (-hit.score, hit.id))]


@pytest.mark.parametrize("damping", [0.45, 0.85])
@pytest.mark.parametrize("shape", _SHAPES)
def test_the_three_give_the_same(both: Rankers, shape: ProjectionShape, damping: float) -> None:
    rng = random.Random(f"{shape}{damping}")
    assert isinstance(both.embedded.graph.ranker, ImageRanker)
    assert isinstance(both.servers.graph.ranker, GdsRanker)
    for _ in range(cases(2, 4)):
        query = RankQuery(shape, _seeds(both, shape, rng), damping=damping)
        expected = both.embedded.graph.rank(query, scope=Scope(CORPUS))
        assert sum(hit.score for hit in expected) == pytest.approx(1.0)
        assert both.servers.graph.ranked_by(Scope(CORPUS)) == "server"
        _same(expected, both.servers.graph.rank(query, scope=Scope(CORPUS)))
        assert both.servers.graph.ranked_by(Scope(CORPUS)) == "server"
        assert both.image.graph.rank(query, scope=Scope(CORPUS)) == expected
        assert both.image.graph.ranked_by(Scope(CORPUS), shape=shape) == "process: on the image"
        _same(expected, both.pulled().rank(query, scope=Scope(CORPUS)))


def test_a_graph_too_large_to_rank_it_whole_is_ranked_on_its_image_around_the_seeds(
    both: Rankers, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, graph = ProjectionShape.ENTITY_PASSAGE, both.image.graph
    assert isinstance(graph, Neo4jGraphStore)
    monkeypatch.setattr(graph.image_ranker, "_links", 1)
    monkeypatch.setattr(graph.ranker, "rank", None)  # must not be asked
    query = RankQuery(shape, _seeds(both, shape, random.Random(4)), k=10)
    expected = PulledRanker(both.embedded.graph).rank(query, scope=Scope(CORPUS))
    assert expected
    _same(expected, graph.rank(query, scope=Scope(CORPUS)))
    said = "process: on the image, around the seeds, since the graph has over 1 links"
    assert graph.ranked_by(Scope(CORPUS), shape=shape) == said


def test_a_bound_on_the_error_of_a_node_is_kept(both: Rankers) -> None:
    shape = ProjectionShape.STATEMENT_ENTITY_CHUNK
    query = RankQuery(shape, _seeds(both, shape, random.Random(12)), k=10_000)
    exact = {hit.id: hit.score for hit in both.servers.graph.rank(query, scope=Scope(CORPUS))}
    near, far = (
        {hit.id: hit.score for hit in both.servers.graph.rank(replace(query, epsilon=epsilon), scope=Scope(CORPUS))}
        for epsilon in (1e-7, 1e-2)
    )
    assert near == pytest.approx(exact, abs=1e-4)
    assert far != pytest.approx(exact, abs=1e-4)  # it walks less far


@pytest.mark.parametrize("kinds", [frozenset({Kind.ENTITY}), frozenset({Kind.CHUNK}), frozenset({Kind.FACT})])
def test_k_and_kinds_are_those_of_the_query(both: Rankers, kinds: frozenset[Kind]) -> None:
    seeds = _seeds(both, ProjectionShape.ENTITY_PASSAGE, random.Random(2))
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, seeds, k=5, kinds=kinds)
    expected = both.embedded.graph.rank(query, scope=Scope(CORPUS))
    assert len(expected) == (0 if Kind.FACT in kinds else 5)
    _same(expected, both.servers.graph.rank(query, scope=Scope(CORPUS)))


def test_seeds_that_nothing_joins_keep_their_score(both: Rankers) -> None:
    graph = both.embedded.graph
    sources = (source_id(CORPUS, "doc:alone"),)
    shape = ProjectionShape.ENTITY_ENTITY
    joined = _seeds(both, shape, random.Random(3))
    entities = {record.id for record in graph.find(Kind.ENTITY, Scope(CORPUS))}
    everything = RankQuery(shape, dict.fromkeys(entities, 1.0))
    alone = {hit.id for hit in both.embedded.graph.rank(everything, scope=Scope(CORPUS, None, sources))}
    assert alone
    for seeds in (dict.fromkeys(alone, 1.0), dict.fromkeys(alone, 1.0) | joined):
        for kinds in (None, frozenset({Kind.ENTITY}), frozenset({Kind.CHUNK})):
            query = RankQuery(shape, seeds, kinds=kinds)
            expected = both.embedded.graph.rank(query, scope=Scope(CORPUS))
            assert bool(expected) == (kinds != frozenset({Kind.CHUNK}))
            _same(expected, both.servers.graph.rank(query, scope=Scope(CORPUS)))


@pytest.mark.parametrize("shape", _SHAPES)
def test_a_filter_holds_on_every_hop(both: Rankers, shape: ProjectionShape) -> None:
    rng = random.Random(f"filter{shape}")
    assert isinstance(both.servers.graph.ranker, GdsRanker)
    for at in range(cases(1, 4)):
        seeds = _seeds(both, shape, rng)
        where = parse(f"year = {at + 1}")
        sources = tuple(source_id(CORPUS, f"doc:{rng.randrange(40)}") for _ in range(9))
        for scope in (Scope(CORPUS, where), Scope(CORPUS, where, sources), Scope(CORPUS, None, sources)):
            assert both.servers.graph.ranked_by(scope).startswith("process: ")
            query = RankQuery(shape, seeds)
            expected = both.embedded.graph.rank(query, scope=scope)
            _same(expected, both.pulled().rank(query, scope=scope))
            assert both.image.graph.rank(query, scope=scope) == expected
            # The pull of the store itself is bounded: it may see less, never more.
            found = both.servers.graph.rank(query, scope=scope)
            assert {hit.id for hit in found} <= {hit.id for hit in expected}
            assert bool(found) == bool(expected)


def test_synonyms_are_crossed_alike(both: Rankers) -> None:
    """By the projection of the server, by the whole graph in memory, by a pull; and in the searches that walk."""
    for stores in (both.embedded, both.servers):
        synonym_graph.fill(stores)
    scope = Scope(synonym_graph.CORPUS)
    seed = synonym_graph.statement_of(synonym_graph.WORKS)
    sizes = []
    assert isinstance(both.servers.graph.ranker, GdsRanker)
    for synonyms in (None, 0.9, 0.8, 2.0):
        query = RankQuery(ProjectionShape.STATEMENT_ENTITY_CHUNK, {seed: 1.0}, synonyms=synonyms)
        expected = both.embedded.graph.rank(query, scope=scope)
        assert both.servers.graph.ranked_by(scope) == "server"
        _same(expected, both.servers.graph.rank(query, scope=scope))
        _same(expected, both.pulled().rank(query, scope=scope))
        sizes.append(len(expected))
    assert sizes[0] == sizes[3] < sizes[1] < sizes[2]
    for retriever in (LocalRetriever(candidates=1, suggestions=1), GlobalRetriever(candidates=1, suggestions=1)):
        for where in (None, parse("year < 2"), parse("year != 1")):
            request = SearchRequest("Which works was begun early?", synonym_graph.CORPUS, 4, where=where)
            one, two = (
                search(request, retriever, stores=stores, embedder=synonym_graph.EMBEDDER, reranker=LexicalReranker())
                for stores in (both.embedded, both.servers)
            )
            assert [item.statement_id for item in one.evidence] == [item.statement_id for item in two.evidence]
            assert [item.score for item in one.evidence] == pytest.approx(
                [item.score for item in two.evidence], rel=1e-3
            )
    assert drop_projections(both.server)


def test_one_weight_a_run_where_gds_knows_no_weights(both: Rankers, monkeypatch: pytest.MonkeyPatch) -> None:
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, _seeds(both, ProjectionShape.ENTITY_PASSAGE, random.Random(8)))
    expected = both.embedded.graph.rank(query, scope=Scope(CORPUS))
    with closing(GdsRanker(both.server, fallback=both.pulled())) as old:
        monkeypatch.setattr(old, "_takes_weights", False)
        _same(expected, old.rank(query, scope=Scope(CORPUS)))
        monkeypatch.setattr(ranker_module, "_RUNS", 1)  # so many weights are not worth it
        _same(expected, old.rank(query, scope=Scope(CORPUS)))


def test_a_projection_that_somebody_dropped_is_made_again(both: Rankers) -> None:
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, _seeds(both, ProjectionShape.ENTITY_PASSAGE, random.Random(9)))
    with closing(GdsRanker(both.server, fallback=both.pulled())) as ranker:
        expected = ranker.rank(query, scope=Scope(CORPUS))
        assert drop_projections(both.server)
        _same(ranker.rank(query, scope=Scope(CORPUS)), expected)


def test_processes_share_a_projection_and_a_ranking_asks_three_times(both: Rankers) -> None:
    projection = ShapeProjection(CORPUS, ProjectionShape.STATEMENT_ENTITY_CHUNK)
    shape = ProjectionShape.STATEMENT_ENTITY_CHUNK
    query = RankQuery(shape, dict.fromkeys(_seeds(both, shape, random.Random(9)), 1.0))
    with (
        closing(GraphDataScience(both.server)) as first,
        closing(GdsRanker(both.server, fallback=both.pulled())) as second,
    ):
        name = first.project(projection)
        second.rank(query, scope=Scope(CORPUS))
        before = both.server.round_trips
        second.rank(query, scope=Scope(CORPUS))
        assert both.server.round_trips - before == 3  # version, seeds, ranking
        assert name not in second.projections._made
        assert min(first.estimate(projection)) > 0


def test_a_corpus_that_is_not_there_gives_nothing(both: Rankers) -> None:
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, {"x": 1.0})
    assert both.servers.graph.rank(query, scope=Scope("nowhere")) == []
    assert both.servers.graph.rank(query, scope=Scope(CORPUS)) == []


@pytest.mark.parametrize("lack", ["plugin", "memory"])
def test_what_the_server_lacks_is_said_once_and_the_pull_takes_over(
    both: Rankers, lack: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, _seeds(both, ProjectionShape.ENTITY_PASSAGE, random.Random(4)))
    expected = both.embedded.graph.rank(query, scope=Scope(CORPUS))
    with closing(GdsRanker(both.server, fallback=both.pulled())) as ranker, caplog.at_level(logging.WARNING):
        drop_projections(both.server)
        if lack == "plugin":
            monkeypatch.setattr(ranker_module, "PLUGIN", "gds.no_such_function")
        else:
            monkeypatch.setattr("hlgraph.stores.neo4j.gds._SHARE", 1e-12)
        for _ in range(2):
            _same(expected, ranker.rank(query, scope=Scope(CORPUS)))
        before = both.server.round_trips
        ranker.rank(query, scope=Scope(CORPUS))
        assert both.server.round_trips - before <= 2  # what was refused once is not measured again
        by = ranker.ranked_by(Scope(CORPUS))
    assert by.startswith("process: ")
    assert ("GDS" if lack == "plugin" else "heap") in by
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert ("GDS" if lack == "plugin" else "heap") in said[0]


def test_an_ingest_is_seen_by_the_next_ranking(both: Rankers) -> None:
    shape = ProjectionShape.ENTITY_PASSAGE
    query = RankQuery(shape, _seeds(both, shape, random.Random(6)))
    before = both.servers.graph.rank(query, scope=Scope(CORPUS))
    for stores in (both.embedded, both.servers):
        steps = pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), WordEmbedder(48))
        pipeline.ingest(_documents(40, seed=77), CORPUS, stores=stores, steps=steps)
    after = both.servers.graph.rank(query, scope=Scope(CORPUS))
    assert after != before
    expected = both.embedded.graph.rank(query, scope=Scope(CORPUS))
    _same(expected, after)
    _same(expected, both.image.graph.rank(query, scope=Scope(CORPUS)))  # one may be patched, the other prepared anew
    held = both.server.ask("admin/list_projections", prefix="hlgraph-")
    assert len({str(row["name"]).split("-")[2] for row in held}) == 1  # none of the older version
    assert isinstance(both.servers.graph, Neo4jGraphStore)
