"""The rankers that work in process: the same nodes from the whole graph and from a pull that reaches all of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from extractors import TINY_STEPS as _STEPS
from plain_pagerank import solved

from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape
from hlgraph.errors import InputError
from hlgraph.ids import entity_id, source_id
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Kind, Relationship
from hlgraph.retrieve.request import SearchRequest
from hlgraph.retrieve.session import Session
from hlgraph.stores.image import ranker as image_ranker
from hlgraph.stores.image.ranker import ImageRanker
from hlgraph.stores.in_process import PulledRanker, WalkedGraph
from hlgraph.stores.protocols import GraphStore, PullShape, RankQuery, Scope, Stores
from hlgraph.subgraph import KINDS, Subgraph
from hlgraph.testing.corpus import CORPUS, DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_BRIDGE, _ORNE, _MARA = (entity_id(CORPUS, name) for name in ("aldane bridge", "orne", "mara quill"))
_SHAPES = tuple(ProjectionShape)


@pytest.fixture
def stores(tiny_stores: Stores) -> Stores:
    return tiny_stores


def _with_new_ranker(stores: Stores, **limits: int) -> Any:
    """The graph store with a new ranker."""
    graph: Any = stores.graph
    graph.ranker = ImageRanker(graph, **limits)
    return graph


def rankers(stores: Stores) -> list[GraphStore | PulledRanker]:
    return [stores.graph, PulledRanker(stores.graph, hops=20)]


def _pairs(graph: Subgraph, shape: ProjectionShape) -> Iterator[tuple[int, int, float]]:
    """The edges of a shape, one by one; a pair may come more than once."""
    edges = {
        item: [(int(a), int(b), float(matrix[a, b])) for a, b in zip(*matrix.nonzero(), strict=True)]
        for item, matrix in graph.edges.items()
    }
    if shape is ProjectionShape.ENTITY_ENTITY:
        yield from edges[Relationship.RELATES] + edges[Relationship.CO_OCCURS]
        return
    statements = np.flatnonzero(graph.kinds == KINDS.index(Kind.STATEMENT))
    placed = [(a, b, 1.0) for a, b, _ in edges[Relationship.IN_CHUNK] if a in statements]
    if shape is ProjectionShape.STATEMENT_ENTITY_CHUNK:
        yield from edges[Relationship.MENTIONS] + placed
        return
    yield from edges[Relationship.SYNONYM]
    contained = set()
    for statement in statements:
        entities = [b for a, b, _ in edges[Relationship.MENTIONS] if a == statement]
        yield from ((a, b, 2.0) for a, b in itertools.combinations(entities, 2))
        contained |= {(chunk, entity) for a, chunk, _ in placed if a == statement for entity in entities}
    yield from ((chunk, entity, 1.0) for chunk, entity in contained)


def plain(stores: Stores, query: RankQuery, scope: Scope) -> dict[str, float]:
    """The shapes edge by edge, then a dense system."""
    relationships, kinds = INGREDIENTS[query.shape]
    everything = [record.id for kind in kinds for record in stores.graph.find(kind, Scope(scope.corpus))]
    graph = stores.graph.pull(everything, PullShape(relationships, kinds), scope=scope)
    found = np.zeros((len(graph), len(graph)))
    for a, b, weight in _pairs(graph, query.shape):
        found[a, b] += weight if a != b else 0
        found[b, a] += weight if a != b else 0
    is_node = np.ones(len(graph), dtype=bool)
    if query.shape is ProjectionShape.ENTITY_PASSAGE:
        is_node = graph.kinds != KINDS.index(Kind.STATEMENT)
    seeds = np.array([query.seed_weights.get(str(key), 0.0) for key in graph.ids[is_node]])
    if not seeds.any():
        return {}
    scores = solved(found[np.ix_(is_node, is_node)], seeds, query.damping)
    return {str(key): score for key, score in zip(graph.ids[is_node], scores, strict=True) if score > 0}


@pytest.mark.parametrize("where", [None, "category = 'person'", "year > 1900", "category = 'none'"])
@pytest.mark.parametrize("shape", _SHAPES)
def test_all_give_the_scores_of_the_plain_shapes(stores: Stores, shape: ProjectionShape, where: str | None) -> None:
    scope = Scope(CORPUS, parse(where) if where else None)
    query = RankQuery(shape, {_BRIDGE: 1.0, _ORNE: 0.5, "nowhere": 9.0}, damping=0.75)
    expected = plain(stores, query, scope)
    order = sorted(expected, key=lambda key: (-round(expected[key], 9), key))
    for ranker in rankers(stores):
        hits = ranker.rank(query, scope=scope)
        assert {hit.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-6)
        assert [hit.id for hit in ranker.rank(query, scope=scope)] == [hit.id for hit in hits]
        assert len(hits) == len(order)


def test_only_what_the_filter_admits_is_walked_on(stores: Stores) -> None:
    everything = RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0})
    outside = source_id(CORPUS, "doc:bridge")
    for ranker in rankers(stores):
        found = {hit.id for hit in ranker.rank(everything, scope=Scope(CORPUS, parse("category = 'person'")))}
        assert _MARA in found
        assert _BRIDGE not in found
        inside = {hit.id for hit in ranker.rank(everything, scope=Scope(CORPUS, sources=(outside,)))}
        assert _BRIDGE in inside
        assert _ORNE not in inside


def test_k_and_kinds_choose_among_the_same_scores(stores: Stores) -> None:
    query = RankQuery(ProjectionShape.STATEMENT_ENTITY_CHUNK, {_MARA: 2.0})
    narrow = RankQuery(ProjectionShape.STATEMENT_ENTITY_CHUNK, {_MARA: 2.0}, k=2, kinds=frozenset({Kind.STATEMENT}))
    statements = {record.id for record in stores.graph.find(Kind.STATEMENT, Scope(CORPUS))}
    for ranker in rankers(stores):
        whole = [hit for hit in ranker.rank(query, scope=Scope(CORPUS)) if hit.id in statements]
        assert ranker.rank(narrow, scope=Scope(CORPUS)) == whole[:2]


def test_local_scores_are_within_their_bound_and_near_the_exact_ones(stores: Stores) -> None:
    exact = RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0})
    near = RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0}, epsilon=1e-7)
    far = RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0}, epsilon=10.0)
    for ranker in rankers(stores):
        scores = {hit.id: hit.score for hit in ranker.rank(exact, scope=Scope(CORPUS))}
        assert {hit.id: hit.score for hit in ranker.rank(near, scope=Scope(CORPUS))} == pytest.approx(scores, abs=1e-5)
        assert [hit.id for hit in ranker.rank(far, scope=Scope(CORPUS))] == [_MARA]


def test_a_fine_tolerance_is_kept(stores: Stores) -> None:
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0}, tolerance=1e-12)
    expected = plain(stores, query, Scope(CORPUS))
    for ranker in rankers(stores):
        assert {hit.id: hit.score for hit in ranker.rank(query, scope=Scope(CORPUS))} == pytest.approx(
            expected, abs=1e-12
        )


@pytest.mark.parametrize("seeds", [{}, {"nowhere": 1.0}])
def test_no_seed_in_the_graph_gives_nothing(stores: Stores, seeds: dict[str, float]) -> None:
    for ranker in rankers(stores):
        for corpus in (CORPUS, "nowhere"):
            assert ranker.rank(RankQuery(ProjectionShape.ENTITY_PASSAGE, seeds), scope=Scope(corpus)) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed_weights": {_MARA: -1.0}}, "seed_weights"),
        ({"seed_weights": {_MARA: 0.0}}, "seed_weights"),
        ({"seed_weights": {_MARA: float("nan")}}, "seed_weights"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"k": -1}, "k is -1"),
    ],
)
def test_bad_queries(stores: Stores, options: dict[str, object], message: str) -> None:
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, **{"seed_weights": {_MARA: 1.0}, **options})  # type: ignore[arg-type]
    for ranker in rankers(stores):
        with pytest.raises(InputError, match=message):
            ranker.rank(query, scope=Scope(CORPUS))


def test_a_graph_is_prepared_once_and_then_patched(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = _with_new_ranker(stores)
    made: list[object] = []
    of = WalkedGraph.of
    monkeypatch.setattr(WalkedGraph, "of", lambda *args, **options: made.append(args) or of(*args, **options))
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0})
    before = ranker.rank(query, scope=Scope(CORPUS))
    with ThreadPoolExecutor(8) as pool:
        again = list(pool.map(lambda _: ranker.rank(query, scope=Scope(CORPUS, state="of another read")), range(40)))
    assert all(hits == before for hits in again)
    assert len(made) == 1
    new = Document("doc:new", "Mara Quill was born in Tessing. Ivo Brandt wrote about the Orne.", "Mara Quill")
    pipeline.ingest([*DOCUMENTS, new], CORPUS, stores=stores, steps=_STEPS)
    after = ranker.rank(query, scope=Scope(CORPUS))
    assert after != before
    assert len(made) == 1
    fresh = _with_new_ranker(stores).rank(query, scope=Scope(CORPUS))
    assert {hit.id: hit.score for hit in after} == pytest.approx({hit.id: hit.score for hit in fresh}, abs=1e-6)


def test_a_walk_of_many_replaced_rows_is_prepared_anew(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_ranker, "LEAST", 0)
    monkeypatch.setattr(image_ranker, "SHARE", 0.0)
    ranker = _with_new_ranker(stores)
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0})
    ranker.rank(query, scope=Scope(CORPUS))
    new = Document("doc:new", "Mara Quill was born in Tessing. Ivo Brandt wrote about the Orne.", "Mara Quill")
    pipeline.ingest([*DOCUMENTS, new], CORPUS, stores=stores, steps=_STEPS)
    after = ranker.rank(query, scope=Scope(CORPUS))
    assert all(walked.walk.over is None for walked in ranker.ranker._walks.values())
    assert after == _with_new_ranker(stores).rank(query, scope=Scope(CORPUS))


def test_local_rankings_of_many_threads_do_not_mix(stores: Stores) -> None:
    ranker = _with_new_ranker(stores)
    queries = [RankQuery(ProjectionShape.ENTITY_PASSAGE, {key: 1.0}, epsilon=1e-6) for key in (_MARA, _ORNE, _BRIDGE)]
    expected = [ranker.rank(query, scope=Scope(CORPUS)) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda at: ranker.rank(queries[at % 3], scope=Scope(CORPUS)), range(120)))
    assert all(hits == expected[at % 3] for at, hits in enumerate(found))


def test_memory_is_bounded_by_edges(stores: Stores) -> None:
    ranker = _with_new_ranker(stores, edges=1)
    for shape in _SHAPES:
        assert ranker.rank(RankQuery(shape, {_MARA: 1.0}), scope=Scope(CORPUS))
        assert len(ranker.ranker._walks) == 1


@pytest.mark.parametrize("where", ["", "category = 'person'"])
@pytest.mark.parametrize("shape", _SHAPES)
def test_a_graph_of_too_many_links_is_pulled_around_the_seeds(
    stores: Stores, shape: ProjectionShape, where: str
) -> None:
    scope = Scope(CORPUS, parse(where) if where else None)
    query = RankQuery(shape, {_MARA: 1.0, _ORNE: 2.0})
    graph: Any = stores.graph
    image, _ = graph._image(PullShape(*INGREDIENTS[shape]), Scope(CORPUS))
    count = image.count(INGREDIENTS[shape].relationships)
    assert count > 1
    small = _with_new_ranker(stores, links=count)
    assert small.rank(query, scope=scope)
    assert (len(small.ranker._walks), small.ranked_by(scope, shape=shape)) == (1, "process")
    large = _with_new_ranker(stores, links=count - 1)
    assert large.rank(query, scope=scope) == PulledRanker(stores.graph).rank(query, scope=scope)
    assert not large.ranker._walks
    assert large.ranked_by(scope, shape=shape) == (
        f"process: around the seeds, since the graph has over {count - 1} links"
    )
    assert large.rank(query, scope=Scope("nowhere")) == []


def test_an_explanation_names_who_ranked(stores: Stores) -> None:
    session = Session(
        SearchRequest("Who?", CORPUS),
        stores,
        embedder=WordEmbedder(),
        reranker=LexicalReranker(),
        corpus=stores.graph.stats(CORPUS, has_counts=False)[0],
    )
    assert session.rank(RankQuery(ProjectionShape.ENTITY_PASSAGE, {_MARA: 1.0}))
    assert session.steps[-1].details["by"] == "process"
