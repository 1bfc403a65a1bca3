"""The walk of `local` and `global` crosses from an entity to its synonyms (ToPG, appendix A)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from synonym_graph import CORPUS, EMBEDDER, LTD, MILL, TEXTS, WORKS, fill, statement_of

from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, incidence, ingredients, project
from hlgraph.errors import InputError
from hlgraph.ids import entity_id
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Kind, Relationship
from hlgraph.retrieve import SearchRequest, search
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.suggest import Extraction as Taken
from hlgraph.retrieve.steps.suggest import horizons
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.stores.in_process import PulledRanker
from hlgraph.stores.protocols import PullShape, RankQuery, Scope, Stores
from hlgraph.subgraph import KINDS, Csr, Subgraph
from hlgraph.where import parse

_SHAPE = ProjectionShape.STATEMENT_ENTITY_CHUNK


def entity_of(name: str) -> str:
    """The id of an entity."""
    return entity_id(CORPUS, name)


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    fill(module_stores)
    return module_stores


def _session(stores: Stores, where: str = "") -> Session:
    [corpus] = stores.graph.stats(CORPUS)
    request = SearchRequest("Which works was begun early?", CORPUS, where=parse(where) if where else None)
    return Session(request, stores, embedder=EMBEDDER, reranker=LexicalReranker(), corpus=corpus)


def _graph(mentions: list[list[int]], pairs: dict[tuple[int, int], float]) -> Subgraph:
    """Statements, then entities; which entities each statement mentions, and synonyms of entities."""
    entities = 1 + max([0, *(entity for some in mentions for entity in some), *(max(pair) for pair in pairs)])
    first = len(mentions)
    size = first + entities
    kinds = np.array([KINDS.index(Kind.STATEMENT)] * first + [KINDS.index(Kind.ENTITY)] * entities, dtype=np.uint8)

    def matrix(edges: dict[tuple[int, int], float]) -> Csr:
        rows, columns = ([pair[side] for pair in edges] for side in (0, 1))
        return sp.csr_array((np.array(list(edges.values()), dtype=np.float32), (rows, columns)), shape=(size, size))

    edges = {
        Relationship.MENTIONS: matrix({(at, first + name): 1.0 for at, some in enumerate(mentions) for name in some}),
        Relationship.IN_CHUNK: matrix({}),
        Relationship.SYNONYM: matrix({(first + a, first + b): value for (a, b), value in pairs.items()}),
    }
    return Subgraph(np.array([f"n{at:03}" for at in range(size)]), kinds, edges)


CHAIN = _graph([[0], [1], [2]], {(0, 1): 0.95, (1, 2): 0.9, (0, 2): 0.85})
"""Three statements of one entity each; the entities are synonyms in a chain."""


@pytest.mark.parametrize(
    ("synonyms", "expected"),
    [
        (None, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        (1.1, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        (0.95, [[1, 0, 0], [1, 0, 0], [0, 0, 1]]),
        (0.9, [[1, 0, 0], [1, 0, 0], [1, 0, 0]]),  # inclusive, and along the chain
    ],
)
def test_synonyms_count_as_one_entity(synonyms: float | None, expected: list[list[int]]) -> None:
    assert incidence(CHAIN, synonyms=synonyms).mentions.toarray().tolist() == expected


def test_a_projection_joins_synonyms_by_1() -> None:
    made = project(CHAIN, _SHAPE, synonyms=0.9).adjacency.toarray()
    without = project(CHAIN, _SHAPE).adjacency.toarray()
    joined = np.zeros((6, 6))
    joined[[3, 4, 4, 5], [4, 3, 5, 4]] = 1
    assert (made - without).tolist() == joined.tolist()


@given(
    mentions=st.lists(st.lists(st.integers(0, 5), max_size=3, unique=True), min_size=1, max_size=6),
    pairs=st.dictionaries(
        st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] < pair[1]),
        st.sampled_from([0.8, 0.89, 0.9, 0.95]),
    ),
    least=st.sampled_from([0.85, 0.9, 0.95]),
)
def test_against_sets(mentions: list[list[int]], pairs: dict[tuple[int, int], float], least: float) -> None:
    graph = _graph(mentions, pairs)
    group = {name: {name} for name in range(6)}
    for (a, b), value in pairs.items():
        if value >= least:
            union = group[a] | group[b]
            group |= dict.fromkeys(union, union)
    expected = [{min(group[name]) for name in some} for some in mentions]
    found = incidence(graph, synonyms=least).mentions
    assert [set(found[[at]].indices.tolist()) for at in range(len(mentions))] == expected
    assert set(found.data.tolist()) <= {1.0}
    made = project(graph, _SHAPE, synonyms=least).adjacency
    assert (made - made.T).nnz == 0


def test_only_a_shape_with_synonyms_takes_the_parameter(stores: Stores) -> None:
    assert Relationship.SYNONYM not in INGREDIENTS[_SHAPE].relationships
    assert ingredients(_SHAPE, synonyms=0.9).relationships == INGREDIENTS[_SHAPE].relationships | {Relationship.SYNONYM}
    for shape, synonyms in ((ProjectionShape.ENTITY_PASSAGE, 0.9), (_SHAPE, 0.0)):
        with pytest.raises(InputError, match="synonyms is"):
            stores.graph.rank(RankQuery(shape, {"x": 1.0}, synonyms=synonyms), scope=Scope(CORPUS))
    for made in (LocalRetriever, GlobalRetriever):
        with pytest.raises(InputError, match="synonyms is 0"):
            made(synonyms=0.0)


def test_the_similarities_are_those_of_the_picture(stores: Stores) -> None:
    shape = PullShape(frozenset({Relationship.SYNONYM}), frozenset({Kind.ENTITY}))
    graph = stores.graph.pull([entity_of(name) for name in TEXTS], shape, scope=Scope(CORPUS))
    edges = graph.edges[Relationship.SYNONYM].tocoo()
    found = {
        frozenset((str(graph.ids[a]), str(graph.ids[b]))): value
        for a, b, value in zip(edges.row, edges.col, edges.data, strict=True)
    }
    assert found[frozenset((entity_of(WORKS), entity_of(LTD)))] == pytest.approx(0.94, abs=0.02)
    assert found[frozenset((entity_of(WORKS), entity_of(MILL)))] == pytest.approx(0.88, abs=0.01)


@pytest.mark.parametrize("by", ["push", "walk"])
@pytest.mark.parametrize(
    ("synonyms", "reached"), [(None, {WORKS}), (2.0, {WORKS}), (0.9, {WORKS, LTD}), (0.8, {WORKS, LTD, MILL})]
)
def test_the_part_around_a_statement_reaches_over_synonyms(
    stores: Stores, synonyms: float | None, reached: set[str], by: str
) -> None:
    taken = Taken(by=by)  # type: ignore[arg-type]
    seed = statement_of(WORKS)
    [around] = horizons(_session(stores), [[seed]], extraction=taken, synonyms=synonyms)
    assert set(around.ids.tolist()) == {statement_of(name) for name in reached}
    shares = around.shares([[seed]], _session(stores).vector()[np.newaxis], walk=LocalRetriever().walk)[0]
    assert (shares > 0).all()
    [alone] = horizons(_session(stores, "year = 0"), [[seed]], extraction=taken, synonyms=synonyms)
    assert alone.ids.tolist() == [seed]  # the filter holds on this hop too


def test_rankers_cross_the_same_synonyms(stores: Stores) -> None:
    for synonyms in (None, 0.9, 0.8):
        query = RankQuery(_SHAPE, {statement_of(WORKS): 1.0}, synonyms=synonyms)
        one = stores.graph.rank(query, scope=Scope(CORPUS))
        two = PulledRanker(stores.graph, hops=9).rank(query, scope=Scope(CORPUS))
        assert {hit.id: hit.score for hit in one} == pytest.approx({hit.id: hit.score for hit in two}, abs=1e-6)
        assert (statement_of(LTD) in {hit.id for hit in one}) == (synonyms is not None)


@pytest.mark.parametrize("made", [LocalRetriever, GlobalRetriever])
def test_search_crosses_synonym_edges(stores: Stores, made: type[LocalRetriever] | type[GlobalRetriever]) -> None:
    """One candidate: all else must come from the walk."""

    def found(synonyms: float | str | None) -> int:
        options = {"candidates": 1, "suggestions": 1, "cycles": 1, "synonyms": synonyms}
        options |= {"parts": "partition"} if made is GlobalRetriever else {}
        request = SearchRequest("Which works was begun early?", CORPUS, 1, explain=True)
        result = search(
            request,
            made(**options),
            stores=stores,
            embedder=EMBEDDER,
            reranker=LexicalReranker(),  # type: ignore[arg-type]
        )
        walks = [step for step in result.explain.steps if step.name == "walk"]
        return max(step.count for step in walks)

    assert made().synonyms == "fitted"
    assert (found(None), found(0.9), found("fitted")) == (1, 2, 2)
    with pytest.raises(InputError, match="synonyms is 'near'; choose a cosine above 0"):
        made(synonyms="near")  # type: ignore[arg-type]
