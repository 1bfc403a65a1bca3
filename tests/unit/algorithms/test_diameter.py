"""Search under a bound on the diameter: small graphs worked by hand, one for each thing that the paper says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.diameter import (
    DiameterBounds,
    Distance,
    Selection,
    best_ball,
    guided_traversal,
    in_filter,
    post_filter,
    prune_by_radius,
)
from hlgraph.algorithms.distances import hops_from, hops_to_any
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


def graph(size: int, *edges: tuple[int, int]) -> Csr:
    dense = np.zeros((size, size), dtype=np.float32)
    for a, b in edges:
        dense[a, b] = dense[b, a] = 2.0
    return sp.csr_array(dense)


def scores(*values: float) -> NDArray[np.float64]:
    return np.array(values)


PATH = graph(5, (0, 1), (1, 2), (2, 3), (3, 4))
STAR = graph(5, (0, 1), (0, 2), (0, 3), (0, 4))
RING = graph(6, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0))
TWO = graph(6, (0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5))
"""Two triangles."""
ALL = np.arange(6)


def nodes(found: Selection) -> list[int]:
    return found.nodes.tolist()


# What the bound is on


def test_star_leaves_are_near_in_graph_but_not_in_induced_subgraph() -> None:
    """Lemma 1 certifies the leaves without the hub; ``G[S]`` of Eq. 1 then has no edge at all."""
    similarities = scores(0.0, 0.9, 0.8, 0.7, 0.1)
    bounds = DiameterBounds(k=3, max_diameter=2, centers=0)
    in_graph = DiameterBounds(k=3, max_diameter=2, centers=0, distance=Distance.GRAPH)
    inside = in_filter(STAR, similarities, entries=ALL[:5], bounds=bounds)
    anywhere = in_filter(STAR, similarities, entries=ALL[:5], bounds=in_graph)
    assert (nodes(inside), inside.diameter, inside.is_complete) == ([1, 2, 0], 2, True)
    assert (nodes(anywhere), anywhere.diameter, anywhere.is_complete) == ([1, 2, 3], 2, True)
    # Algorithm 1 takes the hub first, which is nearer to the start than the leaves are.
    assert nodes(post_filter(STAR, similarities, candidates=ALL[:5], bounds=in_graph)) == [1, 2, 0]
    assert nodes(post_filter(STAR, similarities, candidates=ALL[1:5], bounds=in_graph)) == [1, 2, 3]
    assert nodes(post_filter(STAR, similarities, candidates=ALL[1:5], bounds=bounds)) == [1]


def test_half_the_ring_keeps_the_bound_by_its_own_paths_only() -> None:
    found = in_filter(RING, scores(9, 5, 1, 0, 1, 5), entries=ALL[:1], bounds=DiameterBounds(k=6, max_diameter=2))
    assert (nodes(found), found.diameter, found.is_complete) == ([0, 1, 5], 2, False)
    whole = in_filter(RING, scores(9, 5, 1, 0, 1, 5), entries=ALL[:1], bounds=DiameterBounds(k=6, max_diameter=3))
    assert (len(whole.nodes), whole.diameter, whole.is_complete) == (4, 3, False)


# Algorithm 1


def test_post_filter_prefers_smallest_diameter_over_similarity() -> None:
    # 0 is the start; 1 and 2 form a triangle with it, 3 is more similar, but two hops away.
    found = post_filter(
        graph(4, (0, 1), (0, 2), (1, 2), (1, 3)), scores(1.0, 0.2, 0.1, 0.9), candidates=ALL[:4],
        bounds=DiameterBounds(k=3),
    )  # fmt: skip
    assert (nodes(found), found.diameter) == ([0, 1, 2], 1)


def test_post_filter_needs_the_nodes_between() -> None:
    """What the paper says against it: nodes that were not among the nearest cannot join those that were."""
    similarities = scores(0.9, 0.1, 0.8, 0.0, 0.0)
    assert nodes(post_filter(PATH, similarities, candidates=np.array([0, 2]), bounds=DiameterBounds(k=2))) == [0]
    assert nodes(in_filter(PATH, similarities, entries=np.array([0, 2]), bounds=DiameterBounds(k=3))) == [0, 2, 1]


def test_a_component_that_is_too_small_gives_a_part_and_says_so() -> None:
    for found in (
        post_filter(TWO, scores(6, 5, 4, 3, 2, 1), candidates=ALL, bounds=DiameterBounds(k=4)),
        in_filter(TWO, scores(6, 5, 4, 3, 2, 1), entries=ALL, bounds=DiameterBounds(k=4)),
    ):
        assert (nodes(found), found.diameter, found.is_complete) == ([0, 1, 2], 1, False)


# In-filter


def test_traversal_visits_best_seen_node_next() -> None:
    tree = graph(6, (0, 1), (0, 2), (1, 3), (2, 4), (4, 5))
    order = guided_traversal(tree, scores(0, 0.5, 0.4, 0.1, 0.9, 0.8), entries=ALL[:1], limit=5)
    assert order.tolist() == [0, 1, 2, 4, 5]
    assert guided_traversal(tree, np.zeros(6), entries=np.array([3, 1]), limit=9).tolist() == [1, 0, 2, 3, 4, 5]
    assert guided_traversal(tree, np.zeros(6), entries=ALL[:0], limit=9).tolist() == []


def test_pruning_keeps_nodes_near_all_centers() -> None:
    line = graph(7, *((at, at + 1) for at in range(6)))
    one = prune_by_radius(line, np.array([3, 2, 4, 1, 5, 0]), max_diameter=4, centers=1)
    assert (one.nodes.tolist(), one.centers.tolist()) == ([3, 2, 4, 1, 5], [3])
    two = prune_by_radius(line, np.array([3, 2, 4, 1, 5, 0]), max_diameter=4, centers=2)
    assert (two.nodes.tolist(), two.centers.tolist()) == ([3, 2, 4, 1], [3, 2])
    odd = prune_by_radius(line, np.array([3, 2, 4, 1, 5, 0]), max_diameter=3, centers=1)
    assert odd.nodes.tolist() == [3, 2, 4]
    assert prune_by_radius(line, np.array([3, 0]), max_diameter=1, centers=5).nodes.tolist() == [3]


def test_more_similar_node_replaces_a_non_articulation_node() -> None:
    # From 0 (the center) come 1 and 2 at distance 1; 4 is more similar than both, joined through 1.
    net = graph(5, (0, 1), (0, 2), (1, 4), (2, 3))
    similarities = scores(0.9, 0.3, 0.2, 0.1, 0.8)
    found = in_filter(net, similarities, entries=ALL[:1], bounds=DiameterBounds(k=3))
    assert (nodes(found), found.diameter, found.pruned, found.replaced) == ([0, 4, 1], 2, 2, 1)


def test_articulation_node_is_not_replaced() -> None:
    # 1 is the least similar and holds the path together: 2 would go first, and nothing else fits.
    net = graph(4, (0, 1), (1, 2), (2, 3))
    found = in_filter(net, scores(0.9, 0.1, 0.5, 0.8), entries=ALL[:1], bounds=DiameterBounds(k=3))
    assert nodes(found) == [0, 2, 1]
    assert found.replaced == 0


def test_distant_candidates_are_rejected_early() -> None:
    net = graph(8, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7))
    similarities = scores(0.9, 0.1, 0.1, 0.1, 0.2, 0.8, 0.85, 0.2)
    found = in_filter(net, similarities, entries=np.array([0, 6]), bounds=DiameterBounds(k=3))
    assert (nodes(found), found.rejected) == ([0, 1, 2], 3)  # 6, 5 and 7; 4 is near 2, and too far from 0


def test_another_start_may_find_more() -> None:
    net = graph(6, (1, 2), (2, 3), (1, 3), (3, 4))
    similarities = scores(0.9, 0.8, 0.7, 0.6, 0.1, 0.0)
    assert nodes(in_filter(net, similarities, entries=ALL, bounds=DiameterBounds(k=3))) == [0]
    several = DiameterBounds(k=3, starts=2)
    for found in (
        in_filter(net, similarities, entries=ALL, bounds=several),
        post_filter(net, similarities, candidates=ALL, bounds=several),
    ):
        assert (nodes(found), found.is_complete) == ([1, 2, 3], True)


def test_ties_break_by_index() -> None:
    full = graph(6, *((a, b) for a in range(6) for b in range(a)))
    for found in (
        in_filter(full, np.ones(6), entries=np.array([5, 4]), bounds=DiameterBounds(k=3)),
        post_filter(full, np.ones(6), candidates=np.array([5, 3, 1, 0, 2, 4]), bounds=DiameterBounds(k=3)),
    ):
        assert nodes(found) == [0, 1, 2]


def test_nothing_gives_nothing() -> None:
    empty = sp.csr_array((0, 0), dtype=np.float32)
    for found in (
        in_filter(empty, np.empty(0), entries=ALL[:0], bounds=DiameterBounds()),
        post_filter(PATH, np.ones(5), candidates=ALL[:0], bounds=DiameterBounds()),
    ):
        assert (nodes(found), found.diameter, found.is_complete) == ([], 0, False)


# Distances


def test_hops_stop_at_the_bound_and_ignore_weights() -> None:
    assert hops_from(PATH, np.array([0, 4]), max_hops=2).tolist() == [[0, 1, 2, 3, 3], [3, 3, 2, 1, 0]]
    assert hops_to_any(TWO, np.array([0]), max_hops=5).tolist() == [0, 1, 1, 6, 6, 6]
    assert hops_from(PATH, np.array([2]), max_hops=0).tolist() == [[1, 1, 0, 1, 1]]
    signed = sp.csr_array(np.array([[0, 1, -1], [1, 0, 0], [-1, 0, 0]], dtype=np.float64))
    assert hops_from(signed, np.array([1]), max_hops=2).tolist() == [[1, 0, 2]]
    assert hops_from(PATH, np.tile(np.arange(5), 30), max_hops=4).shape == (150, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"max_diameter": 0}, "max_diameter is 0"),
        ({"candidates": -1}, "candidates is -1"),
        ({"starts": 0}, "starts is 0"),
        ({"centers": -1}, "centers is -1"),
    ],
)
def test_bounds_are_checked(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DiameterBounds(**options)  # type: ignore[arg-type]


def test_bad_input() -> None:
    bounds = DiameterBounds()
    with pytest.raises(InputError, match=r"similarities have the shape \(4,\), but the graph has 5 nodes"):
        in_filter(PATH, np.ones(4), entries=ALL[:1], bounds=bounds)
    with pytest.raises(InputError, match="similarities: 1 element is not a usable number"):
        post_filter(PATH, scores(1, 1, np.nan, 1, 1), candidates=ALL[:1], bounds=bounds)
    with pytest.raises(InputError, match="entries: 7 is not a node of a graph of 5"):
        in_filter(PATH, np.ones(5), entries=np.array([7]), bounds=bounds)
    with pytest.raises(InputError, match="candidates: -1 is not a node"):
        post_filter(PATH, np.ones(5), candidates=np.array([-1]), bounds=bounds)
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        hops_from(sp.csr_array((2, 3)), ALL[:1], max_hops=1)
    with pytest.raises(InputError, match="max_hops is -1"):
        hops_to_any(PATH, ALL[:1], max_hops=-1)
    with pytest.raises(InputError, match="centers is 0"):
        prune_by_radius(PATH, ALL[:1], max_diameter=2, centers=0)


# What a search is measured by


def test_the_best_ball_has_its_own_center_and_is_within_two_hops() -> None:
    near = scores(0.125, 1.0, 0.75, 0.5, 0.25)
    assert best_ball(STAR, near, k=3) == 0.125 + 1.0 + 0.75  # three leaves alone would not be joined
    assert best_ball(STAR, near, k=1) == 1.0
    assert best_ball(PATH, scores(-1.0, -1.0, -2.0, -1.0, -3.0), k=5) == -2.0  # a ball of fewer
    assert best_ball(sp.csr_array((0, 0)), scores(), k=2) == 0
    with pytest.raises(InputError, match="k is 0"):
        best_ball(STAR, near, k=0)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_ball_is_that_of_every_node_looked_at(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    dense = np.triu(drawn.random((30, 30)) < 0.2)
    dense |= dense.T
    cosines = drawn.normal(size=30)
    balls = [
        cosines[at] + np.sort(cosines[np.flatnonzero(dense[at] & (np.arange(30) != at))])[::-1][:4].sum()
        for at in range(30)
    ]
    assert best_ball(sp.csr_array(dense), cosines, k=5) == pytest.approx(max(balls))
