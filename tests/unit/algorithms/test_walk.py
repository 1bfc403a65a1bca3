"""Exact and local PageRank on a prepared graph against a dense system, power iteration and igraph."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from plain_pagerank import graphs, solved

from hlgraph.algorithms import ppr as walk_module
from hlgraph.algorithms.ppr import Space, Walk, dot, exact_pagerank, local_pagerank, personalised_pagerank, prepare
from hlgraph.errors import InputError

Dense = tuple[NDArray[np.float64], NDArray[np.float64]]
_DAMPINGS = st.sampled_from([0.0, 0.45, 0.75, 0.95])


@pytest.fixture
def iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs take the way of large ones."""
    monkeypatch.setattr(walk_module, "_DENSE", 0)


def skewed(size: int = 3_000, *, seed: int = 3) -> sp.csr_array:
    """An undirected graph with hubs, weights of many sizes, some nodes alone."""
    rng = np.random.default_rng(seed)
    ends = (rng.random((2, 4 * size)) ** 3 * (size - 20)).astype(np.int64)
    half = sp.csr_array((rng.uniform(0.2, 5, 4 * size), (ends[0], ends[1])), shape=(size, size))
    return sp.csr_array(half + half.T)


def local_scores(made: Walk, seeds: NDArray[np.float64], damping: float, epsilon: float) -> NDArray[np.float64]:
    found = local_pagerank(made, np.arange(len(seeds)), weights=seeds, damping=damping, epsilon=epsilon)
    scores = np.zeros(len(seeds))
    scores[found.nodes] = found.scores
    assert found.nodes.tolist() == sorted(set(found.nodes.tolist()))
    assert scores.sum() + found.left == pytest.approx(1.0)
    return scores


@given(graphs(is_directed=False), _DAMPINGS, st.booleans())
def test_exact_is_the_solution_of_the_linear_system(graph: Dense, damping: float, is_solved: bool) -> None:
    adjacency, seeds = graph
    made = prepare(sp.csr_array(adjacency), precision="double")
    expected = solved(adjacency, seeds, damping)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk_module, "_DENSE", 128 if is_solved else 0)
        found = exact_pagerank(made, np.arange(len(seeds)), weights=seeds, damping=damping, tolerance=1e-10)
    assert found.has_converged
    assert np.abs(found.scores - expected).sum() <= 1e-9
    assert found.scores.sum() == pytest.approx(1.0)
    assert (found.scores >= 0).all()


@given(graphs(is_directed=False), _DAMPINGS, st.sampled_from([0.1, 1e-2, 1e-4]))
def test_the_error_of_local_is_at_most_epsilon_times_the_degree(graph: Dense, damping: float, epsilon: float) -> None:
    adjacency, seeds = graph
    scores = local_scores(prepare(sp.csr_array(adjacency), precision="double"), seeds, damping, epsilon)
    missing = solved(adjacency, seeds, damping) - scores
    assert (missing >= -1e-12).all()
    assert (missing <= epsilon * adjacency.sum(axis=1) + 1e-12).all()


@given(graphs(is_directed=False), st.sampled_from([0.45, 0.85]))
def test_the_way_there_and_the_way_back_are_alike(graph: Dense, damping: float) -> None:
    """``degree[i] p_i(j) = degree[j] p_j(i)`` in an undirected graph."""
    adjacency, _ = graph
    made = prepare(sp.csr_array(adjacency), precision="double")
    one = np.ones(1)
    rows = [
        exact_pagerank(made, np.array([at]), weights=one, damping=damping, tolerance=1e-10).scores
        for at in range(len(made))
    ]
    flow = adjacency.sum(axis=1)[:, None] * np.array(rows)
    assert flow == pytest.approx(flow.T, abs=1e-8)


@pytest.mark.parametrize("damping", [0.5, 0.75, 0.85, 0.89])
def test_single_precision_keeps_the_tolerance_on_a_graph_with_hubs(damping: float) -> None:
    adjacency = skewed()
    seeds = np.array([7, 500, 2_995])  # the last is alone
    weights = np.array([1.0, 0.01, 0.3])
    dense = np.bincount(seeds, weights, minlength=adjacency.shape[0])
    expected = personalised_pagerank(adjacency, dense, damping=damping, tolerance=1e-13, max_iterations=10_000).scores
    found = exact_pagerank(prepare(adjacency), seeds, weights=weights, damping=damping, tolerance=1e-6)
    assert found.has_converged
    assert np.abs(found.scores - expected).sum() <= 1e-6
    fewer = personalised_pagerank(adjacency, dense, damping=damping, tolerance=1e-6 * (1 - damping)).iterations
    assert found.iterations < fewer


@pytest.mark.usefixtures("iterated")
@pytest.mark.parametrize("damping", [0.45, 0.85])
def test_igraph_gives_the_same(damping: float) -> None:
    import igraph

    adjacency = skewed()
    upper = sp.triu(adjacency).tocoo()
    # igraph counts a loop of an undirected graph twice, as the sum of the row of a symmetric matrix counts it once.
    weights = np.where(upper.row == upper.col, upper.data / 2, upper.data)
    graph = igraph.Graph(adjacency.shape[0], list(zip(upper.row.tolist(), upper.col.tolist(), strict=True)))
    seeds = np.zeros(adjacency.shape[0])
    seeds[[1, 40, 999]] = [1, 2, 0.5]
    theirs = graph.personalized_pagerank(reset=seeds.tolist(), damping=damping, weights=weights.tolist())
    ours = exact_pagerank(
        prepare(adjacency, precision="double"),
        np.flatnonzero(seeds),
        weights=seeds[seeds > 0],
        damping=damping,
        tolerance=1e-9,
    ).scores
    assert np.abs(ours - theirs).sum() <= 1e-6
    assert (
        np.lexsort((np.arange(len(ours)), -ours))[:50].tolist()
        == np.argsort(-np.array(theirs), kind="stable")[:50].tolist()
    )


def test_local_pagerank_visits_are_independent_of_graph_size() -> None:
    """A ring of triangles, with one seed: the same nodes and scores in a graph a hundred times as large."""

    def ring(triangles: int) -> sp.csr_array:
        size = 3 * triangles
        start = np.arange(size)
        ends = np.where(start % 3 == 2, start - 2, start + 1)
        bridge = np.arange(0, size, 3)
        a, b = np.concatenate([start, bridge]), np.concatenate([ends, (bridge + 4) % size])
        half = sp.csr_array((np.ones(len(a)), (a, b)), shape=(size, size))
        return sp.csr_array(half + half.T)

    small, large = (
        local_pagerank(prepare(ring(size)), np.array([300]), weights=np.ones(1), epsilon=1e-4) for size in (400, 40_000)
    )
    assert small.nodes.tolist() == large.nodes.tolist()
    assert small.scores.tolist() == large.scores.tolist()
    assert len(small.nodes) < 300


def test_a_work_space_is_as_good_as_new_after_use() -> None:
    made = prepare(skewed())
    space = Space(made)
    first = local_pagerank(made, np.array([3, 3, 9]), weights=np.array([1.0, 1.0, 2.0]), space=space)
    assert not space.rest.any()
    assert not space.scores.any()
    local_pagerank(made, np.array([77]), weights=np.ones(1), space=space)
    again = local_pagerank(made, np.array([3, 9]), weights=np.array([2.0, 2.0]), space=space)
    assert again.nodes.tolist() == first.nodes.tolist()
    assert again.scores == pytest.approx(first.scores)


@pytest.mark.usefixtures("iterated")
def test_duplicate_entries_are_summed_and_loops_walked() -> None:
    loop = np.array([[2.0, 1.0, 0], [1.0, 0, 3.0], [0, 3.0, 0]])
    twice = sp.coo_array(([1.0, 1, 1, 1, 3, 3], ([0, 0, 0, 1, 1, 2], [0, 0, 1, 0, 2, 1])), shape=(3, 3))
    made = prepare(sp.csr_array(twice), precision="double")
    found = exact_pagerank(made, np.array([0]), weights=np.ones(1), tolerance=1e-12)
    assert found.scores == pytest.approx(solved(loop, np.array([1.0, 0, 0]), 0.85))


@pytest.mark.usefixtures("iterated")
def test_running_out_of_iterations_is_reported() -> None:
    made = prepare(skewed())
    found = exact_pagerank(made, np.array([0]), weights=np.ones(1), max_iterations=2)
    assert (found.iterations, found.has_converged) == (2, False)
    assert found.scores.sum() == pytest.approx(1.0)


def test_a_finer_tolerance_than_the_precision_is_refused() -> None:
    single, double = (prepare(skewed(), precision=item) for item in ("single", "double"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="finer than single precision"):
        exact_pagerank(single, np.array([0]), weights=np.ones(1), tolerance=1e-9)
    assert exact_pagerank(double, np.array([0]), weights=np.ones(1), tolerance=1e-9).has_converged


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (np.zeros((2, 3)), "shape"),
        (-np.ones((2, 2)), "negative weights"),
        (np.full((2, 2), np.inf), "adjacency"),
        (np.array([[0, 1.0], [0, 0]]), "not symmetric"),
    ],
)
def test_bad_graphs(adjacency: NDArray[np.float64], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare(sp.csr_array(adjacency))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": np.array([0, 1])}, "same length"),
        ({"seeds": np.array([3])}, "outside the 3 nodes"),
        ({"seeds": np.array([-1])}, "outside the 3 nodes"),
        ({"seeds": np.array([], dtype=int), "weights": np.array([])}, "at least one"),
        ({"weights": np.array([0.0])}, "at least one"),
        ({"weights": np.array([-1.0])}, "negative"),
        ({"weights": np.array([np.nan])}, "weights"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"damping": -0.1}, "damping is -0.1"),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    made = prepare(sp.csr_array(np.ones((3, 3))))
    given_options = {"seeds": np.array([0]), "weights": np.ones(1), **options}
    seeds = given_options.pop("seeds")
    for rank in (exact_pagerank, local_pagerank):
        with pytest.raises(InputError, match=message):
            rank(made, seeds, **given_options)  # type: ignore[operator]
    with pytest.raises(InputError, match="tolerance"):
        exact_pagerank(made, np.array([0]), weights=np.ones(1), tolerance=0)
    with pytest.raises(InputError, match="epsilon"):
        local_pagerank(made, np.array([0]), weights=np.ones(1), epsilon=0)
    with pytest.raises(InputError, match="work space belongs to another walk"):
        local_pagerank(made, np.array([0]), weights=np.ones(1), space=Space(prepare(sp.csr_array(np.ones((3, 3))))))


@pytest.mark.parametrize("length", [0, 1, 8_191, 8_192, 20_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dot_product_uses_one_thread(length: int, dtype: type[np.float32] | type[np.float64]) -> None:
    one, other = np.random.default_rng(length).random((2, length)).astype(dtype)
    found = dot(one, other)
    assert found.dtype == dtype
    assert float(found) == pytest.approx(math.fsum((one.astype(np.float64) * other).tolist()), rel=1e-5)
