"""GDS on the server against the same algorithms here: the same scores, and partitions of the same quality."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from live_stores import drop_projections
from modularity import modularity
from thoroughness import cases

from hlgraph.algorithms.communities import leiden
from hlgraph.algorithms.ppr import personalised_pagerank
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import UnknownNameError
from hlgraph.ids import entity_id
from hlgraph.records import Hit
from hlgraph.stores.neo4j.gds import GdsRanker, GraphDataScience, ShapeProjection
from hlgraph.stores.neo4j.server import Server, Transaction
from hlgraph.stores.protocols import RankQuery, Scope

CORPUS = "graph"
_RELATE = """
    UNWIND $rows AS row MATCH (a:Entity {id: row.a}) MATCH (b:Entity {id: row.b})
    CREATE (a)-[:RELATES {predicate: 'knows', facts: row.facts}]->(b)"""


@pytest.fixture
def server(graph_server: Server) -> Server:
    return graph_server


def write(server: Server, names: list[str], edges: np.ndarray) -> None:
    """Entities of these ids, and RELATES between some of them; ``edges``: places of two nodes, number of facts."""
    rows = [{"a": names[int(a)], "b": names[int(b)], "facts": int(w)} for a, b, w in edges]

    def work(transaction: Transaction) -> None:
        transaction.rows("persist/merge_corpus", name=CORPUS, ids=2, embedding="", dimensions=0)
        transaction.write("persist/merge_entities", [{"id": name} for name in names], corpus=CORPUS)

    server.write(work)
    with server.driver().session(database=server.settings.database) as session:
        for start in range(0, len(rows), 20_000):
            session.run(_RELATE, rows=rows[start : start + 20_000]).consume()


def adjacency(size: int, edges: np.ndarray) -> sp.csr_array:
    half = sp.csr_array((edges[:, 2].astype(float), (edges[:, 0], edges[:, 1])), shape=(size, size))
    return sp.csr_array(half + half.T)


class Refuses:
    """Instead of the ranker in process, where it must not be asked."""

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        pytest.fail(f"the server did not rank {query} in {scope}")


# Two triangles joined by one edge, a pair apart, and a node alone.
_TINY = np.array([[0, 1, 2], [1, 2, 1], [0, 2, 3], [2, 3, 1], [3, 4, 2], [4, 5, 2], [3, 5, 1], [6, 7, 4]])


@pytest.fixture
def tiny(server: Server) -> Iterator[tuple[GraphDataScience, list[str], sp.csr_array]]:
    names = sorted(entity_id(CORPUS, f"n{index}") for index in range(9))
    write(server, names, _TINY)
    with closing(GraphDataScience(server)) as gds:
        yield gds, names, adjacency(9, _TINY)


@pytest.mark.parametrize("damping", [0.5, 0.85])
@pytest.mark.parametrize("seeds", [{0: 1.0}, {0: 1.0, 6: 3.0}, {2: 1.0, 8: 1.0}, {8: 1.0}])
def test_pagerank_is_the_same_on_a_tiny_graph(
    server: Server, tiny: tuple[GraphDataScience, list[str], sp.csr_array], seeds: dict[int, float], damping: float
) -> None:
    _, names, matrix = tiny
    weights = np.zeros(9)
    weights[list(seeds)] = list(seeds.values())
    expected = personalised_pagerank(matrix, weights, damping=damping, tolerance=1e-12, max_iterations=1_000)
    assert expected.has_converged
    with closing(GdsRanker(server, fallback=Refuses())) as ranker:
        found = ranker.rank(
            RankQuery(
                ProjectionShape.ENTITY_ENTITY,
                {names[place]: weight for place, weight in seeds.items()},
                damping=damping,
                tolerance=1e-9,
            ),
            scope=Scope(CORPUS),
        )
    scores = {hit.id: hit.score for hit in found}
    assert set(scores) == {names[place] for place in np.flatnonzero(expected.scores > 0)}
    for name, score in zip(names, expected.scores, strict=True):
        assert scores.get(name, 0.0) == pytest.approx(score, abs=1e-6)
    assert [hit.id for hit in found] == sorted(scores, key=lambda name: (-scores[name], name))


def test_leiden_finds_the_same_communities_on_a_tiny_graph(
    tiny: tuple[GraphDataScience, list[str], sp.csr_array],
) -> None:
    gds, names, matrix = tiny
    found = gds.cluster(ShapeProjection(CORPUS, ProjectionShape.ENTITY_ENTITY))
    assert found.ids == names[:8]  # the node alone is not projected
    expected = leiden(matrix).levels[0][:8]
    assert found.communities.levels[0].tolist() == expected.tolist() == [0, 0, 0, 3, 3, 3, 6, 6]
    again = gds.cluster(ShapeProjection(CORPUS, ProjectionShape.ENTITY_ENTITY))
    assert np.array_equal(found.communities.levels, again.communities.levels)


def test_a_projection_is_made_once_a_version_and_dropped_after(server: Server) -> None:
    names = sorted(entity_id(CORPUS, f"n{index}") for index in range(9))
    write(server, names, _TINY)
    projection = ShapeProjection(CORPUS, ProjectionShape.ENTITY_ENTITY)
    with closing(GraphDataScience(server)) as gds:
        first = gds.project(projection)
        assert gds.project(projection) == first
        other = gds.project(ShapeProjection(CORPUS, ProjectionShape.ENTITY_ENTITY, synonyms=0.5))
        assert other != first
        estimate = gds.estimate(projection)
        assert min(estimate) > 0
        server.write(
            lambda transaction: transaction.rows("persist/merge_corpus", name=CORPUS, ids=2, embedding="", dimensions=0)
        )
        second = gds.project(projection)
        held = server.read(lambda transaction: transaction.rows("admin/list_projections", prefix="hlgraph-"))
        assert [row["name"] for row in held] == [second]
    assert server.read(lambda transaction: transaction.rows("admin/list_projections", prefix="hlgraph-")) == []


def test_projections_that_are_kept_are_there_for_the_next_process(server: Server) -> None:
    names = sorted(entity_id(CORPUS, f"n{index}") for index in range(9))
    write(server, names, _TINY)
    projection = ShapeProjection(CORPUS, ProjectionShape.ENTITY_ENTITY)
    keeping = Server(server.url, replace(server.settings, keep_projections=True))
    try:
        with closing(GraphDataScience(keeping)) as gds:
            kept = gds.project(projection)
        assert held(server) == [kept]
        # The next one, which keeps nothing, finds it: it did not make it, so it does not drop it either.
        with closing(GraphDataScience(server)) as gds:
            before = server.round_trips
            assert gds.project(projection) == kept
            assert server.round_trips - before == 3  # the version before and after, and what is there
        assert held(server) == [kept]
        server.write(
            lambda transaction: transaction.rows("persist/merge_corpus", name=CORPUS, ids=2, embedding="", dimensions=0)
        )
        with closing(GraphDataScience(keeping)) as gds:
            newer = gds.project(projection)
            assert newer != kept
        assert held(server) == [newer]
        assert drop_projections(server) == [newer]
    finally:
        keeping.close()
    assert held(server) == []


def held(server: Server) -> list[str]:
    """The names of all projections of hlgraph that are there."""
    rows = server.read(lambda transaction: transaction.rows("admin/list_projections", prefix="hlgraph-"))
    return [str(row["name"]) for row in rows]


def test_bad_input_is_told_before_anything_is_projected(server: Server) -> None:
    names = sorted(entity_id(CORPUS, f"n{index}") for index in range(9))
    write(server, names, _TINY)
    with closing(GraphDataScience(server)) as gds, pytest.raises(UnknownNameError, match="no corpus 'none'"):
        gds.cluster(ShapeProjection("none", ProjectionShape.ENTITY_ENTITY))


def test_a_graph_of_many_edges(server: Server) -> None:
    rng = np.random.default_rng(7)
    size, communities = cases(4_000, 20_000), 100
    inside = rng.integers(0, size, size=size * 9 // 2)
    partner = (inside // communities) * communities + rng.integers(0, communities, size=size * 9 // 2)
    pairs = np.concatenate([np.stack([inside, partner], 1), rng.integers(0, size, size=(size, 2))])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    edges = np.concatenate([pairs, rng.integers(1, 5, size=(len(pairs), 1))], axis=1)
    names = sorted(entity_id(CORPUS, f"n{index}") for index in range(size))
    write(server, names, edges)
    matrix = adjacency(size, edges)
    weights = np.zeros(size)
    weights[[5, size // 4, size // 2]] = [1.0, 2.0, 3.0]
    expected = personalised_pagerank(matrix, weights, tolerance=1e-12, max_iterations=1_000)
    seeds = {names[5]: 1.0, names[size // 4]: 2.0, names[size // 2]: 3.0}
    with closing(GdsRanker(server, fallback=Refuses())) as ranker:
        query = RankQuery(ProjectionShape.ENTITY_ENTITY, seeds, k=100, tolerance=1e-9)
        found = ranker.rank(query, scope=Scope(CORPUS))
    best = np.lexsort((np.arange(size), -expected.scores))[:100]
    assert {hit.id for hit in found} == {names[place] for place in best}
    # Nearly equal scores may change places: float arithmetic in another order. The scores themselves agree.
    assert np.allclose(np.sort([hit.score for hit in found]), np.sort(expected.scores[best]), rtol=1e-4, atol=1e-9)
    with closing(GraphDataScience(server)) as gds:
        clustered = gds.cluster(ShapeProjection(CORPUS, ProjectionShape.ENTITY_ENTITY))
    places = np.searchsorted(np.array(names), np.array(clustered.ids))
    labels = np.arange(size)
    labels[places] = places[clustered.communities.levels[0]]
    here, there = modularity(matrix, leiden(matrix).levels[0]), modularity(matrix, labels)
    assert there == pytest.approx(here, abs=0.02)
    assert here > 0.5
