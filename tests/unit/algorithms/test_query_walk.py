"""The walk that follows a question, against the dense matrices of the paper; the sampled walk against the exact one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from plain_pagerank import solved
from thoroughness import cases

from hlgraph.algorithms.ppr import local_pagerank, prepare
from hlgraph.algorithms.query_walk import Bipartite, QueryWalk, bipartite, query_pagerank, visit_shares
from hlgraph.errors import InputError

Dense = NDArray[np.float64]

# Statements by entities. "fork": the middle statement shares one entity with each of three others.
LINE = np.array([[1, 0], [1, 1], [0, 1]], dtype=float)
FORK = np.array([[1, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1]], dtype=float)
APART = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)


def _normalised(matrix: Dense) -> Dense:
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


def transition(across: Dense, cosines: Dense, walk: QueryWalk) -> Dense:
    """Eq. 4 to 7 as they stand, dense."""
    structure = _normalised(across) @ _normalised(across.T)
    np.fill_diagonal(structure, 0)
    # A diagonal of 1 leaves only rounding behind.
    structure = _normalised(np.where(structure > 1e-12, structure, 0))
    temperature, threshold = walk.attraction()
    close = np.where(cosines >= threshold, np.exp(cosines / temperature), 0)
    meaning = _normalised(np.where(structure > 0, close[np.newaxis, :], 0))
    return walk.structure_weight * structure + (1 - walk.structure_weight) * meaning


def dense_pagerank(across: Dense, cosines: Dense, *, seeds: Dense, walk: QueryWalk) -> Dense:
    """One walker: what the transition does not hand on goes back to the seeds."""
    seeds = seeds / seeds.sum()
    matrix = transition(across, cosines, walk)
    matrix += (1 - matrix.sum(axis=1, keepdims=True)) * seeds
    size = len(seeds)
    return np.linalg.solve(np.eye(size) - walk.damping * matrix.T, (1 - walk.damping) * seeds)


def _graph(across: Dense) -> Bipartite:
    return bipartite(sp.csr_array(across))


def test_structure_weight_one_is_the_plain_walk() -> None:
    """The line a - b - c by hand: p = (7/12, 4/12, 1/12) at damping 1/2."""
    walk = QueryWalk(structure_weight=1, damping=0.5)
    found = query_pagerank(_graph(LINE), np.zeros((1, 3)), seed_weights=np.array([[1.0, 0, 0]]), walk=walk)
    assert found.scores[0] == pytest.approx([7 / 12, 4 / 12, 1 / 12], abs=1e-6)
    assert found.has_converged


def test_meaning_alone_goes_to_the_close_neighbour_only() -> None:
    """From the middle of the fork all goes to the third, which has no close neighbour: so it goes back to the seed."""
    walk = QueryWalk(structure_weight=0, damping=0.5)
    cosines = np.array([[0.1, 0.2, 0.9, 0.3]])
    found = query_pagerank(_graph(FORK), cosines, seed_weights=np.array([[0, 1.0, 0, 0]]), walk=walk)
    # p1 = 1/2 + 1/2 p2 and p2 = 1/2 p1.
    assert found.scores[0] == pytest.approx([0, 2 / 3, 1 / 3, 0], abs=1e-6)


def test_isolated_statement_keeps_its_mass() -> None:
    found = query_pagerank(_graph(APART), np.full((1, 4), 0.9), seed_weights=np.array([[0, 0, 1.0, 1.0]]))
    assert found.scores[0] == pytest.approx([0, 0, 0.5, 0.5], abs=1e-6)


def test_a_walker_has_its_own_question_and_seeds() -> None:
    rng = np.random.default_rng(3)
    across = (rng.random((30, 20)) < 0.12).astype(float)
    cosines, seeds = rng.random((5, 30)), rng.random((5, 30)) * (rng.random((5, 30)) < 0.2) + np.eye(5, 30)
    together = query_pagerank(_graph(across), cosines, seed_weights=seeds, tolerance=1e-10).scores
    for row, cosine, weights in zip(together, cosines, seeds, strict=True):
        alone = query_pagerank(_graph(across), cosine[None], seed_weights=weights[None], tolerance=1e-10).scores[0]
        assert row == pytest.approx(alone, abs=1e-9)


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Dense, Dense, Dense, QueryWalk]:
    size, joints = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    cells = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0]), min_size=size * joints, max_size=size * joints))
    cosines = draw(st.lists(st.sampled_from([-0.2, 0.0, 0.39, 0.4, 0.55, 0.9]), min_size=size, max_size=size))
    seeds = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=size, max_size=size).filter(any))
    walk = QueryWalk(
        draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])),
        draw(st.sampled_from([0.0, 0.5, 0.85])),
        draw(st.sampled_from([0.05, 0.1, 1.0])),
        draw(st.sampled_from([-1.0, 0.4, 0.8])),
    )
    return np.array(cells).reshape(size, joints), np.array(cosines), np.array(seeds), walk


@settings(max_examples=cases(40, 150))
@given(case=_cases())
def test_walk_matches_dense_matrices(case: tuple[Dense, Dense, Dense, QueryWalk]) -> None:
    across, cosines, seeds, walk = case
    found = query_pagerank(_graph(across), cosines[None], seed_weights=seeds[None], walk=walk, tolerance=1e-10)
    assert found.has_converged
    assert found.scores[0] == pytest.approx(dense_pagerank(across, cosines, seeds=seeds, walk=walk), abs=1e-8)
    assert found.scores.sum() == pytest.approx(1)
    # Several walkers are taken another way than one.
    two = query_pagerank(
        _graph(across), np.stack([cosines] * 2), seed_weights=np.stack([seeds] * 2), walk=walk, tolerance=1e-10
    )
    assert two.scores == pytest.approx(np.concatenate([found.scores] * 2), abs=1e-12)
    assert (found.scores >= 0).all()


@settings(max_examples=60)
@given(case=_cases(), weight=st.integers(2, 5))
def test_parallel_edges_and_the_scale_of_the_seeds_change_nothing(
    case: tuple[Dense, Dense, Dense, QueryWalk], weight: int
) -> None:
    across, cosines, seeds, walk = case
    once = query_pagerank(_graph(across), cosines[None], seed_weights=seeds[None], walk=walk).scores
    scaled = query_pagerank(_graph(weight * across), cosines[None], seed_weights=weight * seeds[None], walk=walk).scores
    assert scaled == pytest.approx(once, abs=1e-9)


def test_the_ranking_is_that_of_the_dense_form_on_a_graph_with_hubs() -> None:
    rng = np.random.default_rng(7)
    across = np.zeros((200, 150))
    across[rng.integers(0, 200, 700), (150 ** rng.random(700)).astype(int) - 1] = 1
    cosines, seeds = rng.normal(0.3, 0.15, 200), np.zeros(200)
    seeds[rng.choice(200, 5)] = 1
    found = query_pagerank(_graph(across), cosines[None], seed_weights=seeds[None], tolerance=1e-9).scores[0]
    plain = dense_pagerank(across, cosines, seeds=seeds, walk=QueryWalk())
    assert (
        np.argsort(-found.round(8), kind="stable")[:50].tolist()
        == np.argsort(-plain.round(8), kind="stable")[:50].tolist()
    )


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"structure_weight": 1.5}, "structure_weight is 1.5"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"threshold": 2.0}, "threshold is 2.0"),
    ],
)
def test_parameters_out_of_their_bounds_are_refused(options: dict[str, float], word: str) -> None:
    with pytest.raises(InputError, match=word):
        QueryWalk(**options)


@pytest.mark.parametrize(
    ("cosines", "seeds", "word"),
    [
        (np.zeros((1, 2)), np.ones((1, 2)), "one row per walker"),
        (np.zeros(3), np.ones(3), "one row per walker"),
        (np.array([[np.nan, 0, 0]]), np.ones((1, 3)), "cosines"),
        (np.zeros((2, 3)), np.array([[1.0, 0, 0], [0, 0, 0]]), "each walker needs at least one above 0"),
        (np.zeros((1, 3)), np.array([[1.0, -1, 0]]), "must not be negative"),
    ],
)
def test_arrays_that_cannot_be_walked_with_are_refused(cosines: Dense, seeds: Dense, word: str) -> None:
    with pytest.raises(InputError, match=word):
        query_pagerank(_graph(LINE), cosines, seed_weights=seeds)


def test_not_converging_is_said() -> None:
    found = query_pagerank(_graph(FORK), np.ones((1, 4)), seed_weights=np.eye(1, 4), tolerance=1e-12, max_iterations=3)
    assert (found.iterations, found.has_converged) == (3, False)


# GExtract


@st.composite
def _symmetric(draw: st.DrawFn) -> tuple[Dense, list[int]]:
    size = draw(st.integers(1, 7))
    cells = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0]), min_size=size * size, max_size=size * size))
    matrix = np.triu(np.array(cells).reshape(size, size), 1)
    return matrix + matrix.T, draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True))


@settings(max_examples=40)
@given(case=_symmetric(), damping=st.sampled_from([0.3, 0.85]), seed=st.integers(0, 1_000))
def test_random_walks_push_and_the_exact_walk_agree(case: tuple[Dense, list[int]], damping: float, seed: int) -> None:
    """Walks from a seed without neighbours end there; the exact walk goes back to the seeds: as the paper restarts."""
    dense, seeds = case
    walked = visit_shares(
        sp.csr_array(dense), np.array(seeds), rng=np.random.default_rng(seed), damping=damping, steps=60_000
    )
    plain = solved(dense, np.isin(np.arange(len(dense)), seeds).astype(float), damping)
    assert np.abs(walked - plain).sum() < 0.05
    found = local_pagerank(
        prepare(sp.csr_array(dense)), np.array(seeds), weights=np.ones(len(seeds)), damping=damping, epsilon=1e-6
    )
    pushed = np.zeros(len(dense))
    pushed[found.nodes] = found.scores
    assert np.abs(pushed - plain).sum() < 1e-4
    assert np.abs(walked - pushed).sum() < 0.05


def test_the_same_state_of_chance_walks_the_same_way() -> None:
    graph = sp.csr_array(FORK @ FORK.T - np.diag(np.diag(FORK @ FORK.T)))
    one, same, other = (
        visit_shares(graph, np.array([0]), rng=np.random.default_rng(at), steps=500) for at in (1, 1, 2)
    )
    assert (one == same).all()
    assert (one != other).any()
    assert one.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("seeds", "options", "word"),
    [
        ([], {}, "at least one index"),
        ([9], {}, "to below 3"),
        ([0], {"damping": 1.0}, "damping"),
        ([0], {"steps": 0}, "steps"),
    ],
)
def test_walks_that_cannot_begin_are_refused(seeds: list[int], options: dict[str, float], word: str) -> None:
    graph = sp.csr_array(np.ones((3, 3)))
    with pytest.raises(InputError, match=word):
        visit_shares(graph, np.array(seeds, dtype=int), rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]


@settings(max_examples=20)
@given(seed=st.integers(0, 1_000))
@example(seed=44)
def test_push_extraction_is_at_least_as_good_as_walks(seed: int) -> None:
    """Of the exact score the best twenty by push hold no less than the best twenty by visits."""
    rng = np.random.default_rng(seed)
    size = 120
    half = rng.random((size, size)) < 2.5 / size
    dense = np.triu(half, 1).astype(float)
    dense += dense.T
    seeds = rng.choice(size, 3, replace=False)
    exact = solved(dense, np.isin(np.arange(size), seeds).astype(float), 0.85)
    found = local_pagerank(prepare(sp.csr_array(dense)), seeds, weights=np.ones(3), damping=0.85, epsilon=5e-5)
    pushed = np.zeros(size)
    pushed[found.nodes] = found.scores
    walked = visit_shares(sp.csr_array(dense), seeds, rng=rng)
    by_push, by_walk = (np.argsort(-scores, kind="stable")[:20] for scores in (pushed, walked))
    assert exact[by_push].sum() >= exact[by_walk].sum() - 2e-4
