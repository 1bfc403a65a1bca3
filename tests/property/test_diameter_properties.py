"""The bound on the diameter holds for whatever is returned, and nothing returned is better than the best there is.

The references are slow and plain: all distances by repeated relaxation, Algorithm 1 as it is printed, the optimum by trying
every set.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.algorithms.diameter import (
    DiameterBounds,
    Distance,
    Selection,
    guided_traversal,
    in_filter,
    post_filter,
    prune_by_radius,
)
from hlgraph.algorithms.distances import articulation_nodes, hops_from, hops_to_any, hops_within

Dense = NDArray[np.bool_]
_LIMITS = st.integers(1, 4)


@st.composite
def graphs(draw: st.DrawFn, most: int = 9) -> Dense:
    size = draw(st.integers(1, most))
    pairs = list(itertools.combinations(range(size), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=2 * size, unique=True)) if pairs else []
    found = np.zeros((size, size), dtype=bool)
    for a, b in chosen:
        found[a, b] = found[b, a] = True
    return found


def scores_of(size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 0.75, 1.0]), min_size=size, max_size=size)


@st.composite
def bounds_of(draw: st.DrawFn) -> DiameterBounds:
    return DiameterBounds(
        k=draw(st.integers(1, 6)),
        max_diameter=draw(_LIMITS),
        candidates=draw(st.integers(1, 10)),
        centers=draw(st.integers(0, 3)),
        starts=draw(st.integers(1, 3)),
        distance=draw(st.sampled_from(Distance)),
    )


def distances(dense: Dense) -> NDArray[np.float64]:
    """All pairs, by relaxing every edge as often as there are nodes."""
    size = len(dense)
    found = np.where(dense, 1.0, math.inf)
    np.fill_diagonal(found, 0.0)
    for middle in range(size):
        found = np.minimum(found, found[:, [middle]] + found[[middle], :])
    return found


def diameter(dense: Dense, members: tuple[int, ...] | list[int], distance: Distance) -> float:
    inside = np.ix_(members, members)
    held = distances(dense[inside]) if distance is Distance.INDUCED else distances(dense)[inside]
    return float(held.max(initial=0.0))


def printed_algorithm_1(dense: Dense, scores: list[float], candidates: list[int], bounds: DiameterBounds) -> list[int]:
    """Line for line; equal diameters are parted by similarity, then by index."""
    pool = set(candidates)
    chosen: list[int] = []
    while len(chosen) < bounds.k and pool - set(chosen):
        width, _, node = min(
            (diameter(dense, [*chosen, node], bounds.distance), -scores[node], node) for node in pool - set(chosen)
        )
        if width <= bounds.max_diameter:
            chosen.append(node)
        else:
            pool.remove(node)
    return chosen


def optimum(dense: Dense, scores: list[float], bounds: DiameterBounds) -> tuple[int, float]:
    """The most nodes, at most k, that keep the bound, and the highest sum of similarities of so many."""
    for size in range(min(bounds.k, len(dense)), 0, -1):
        sums = [
            sum(scores[node] for node in members)
            for members in itertools.combinations(range(len(dense)), size)
            if diameter(dense, members, bounds.distance) <= bounds.max_diameter
        ]
        if sums:
            return size, max(sums)
    return 0, 0.0


def check(found: Selection, dense: Dense, scores: list[float], bounds: DiameterBounds) -> None:
    members = found.nodes.tolist()
    assert len(set(members)) == len(members) <= bounds.k
    assert members == sorted(members, key=lambda node: (-scores[node], node))
    assert found.diameter == diameter(dense, members, bounds.distance) <= bounds.max_diameter
    # By paths inside the set is the stricter of the two: the other holds with it.
    assert diameter(dense, members, Distance.GRAPH) <= bounds.max_diameter
    assert found.is_complete == (len(members) == bounds.k)
    size, total = optimum(dense, scores, bounds)
    assert len(members) <= size
    if len(members) == size:
        assert sum(scores[node] for node in members) <= total + 1e-9


@given(data=st.data(), dense=graphs(), bounds=bounds_of())
def test_what_in_filter_returns_keeps_the_bound(data: st.DataObject, dense: Dense, bounds: DiameterBounds) -> None:
    scores = data.draw(scores_of(len(dense)))
    entries = data.draw(st.lists(st.integers(0, len(dense) - 1), min_size=1, max_size=3))
    found = in_filter(sp.csr_array(dense), np.array(scores), entries=np.array(entries), bounds=bounds)
    check(found, dense, scores, bounds)
    assert len(found.nodes) >= 1
    reached = set(guided_traversal(sp.csr_array(dense), np.array(scores), entries=np.array(entries), limit=10).tolist())
    assert set(found.nodes.tolist()) <= reached


@given(data=st.data(), dense=graphs(), bounds=bounds_of())
def test_post_filter_is_the_printed_algorithm(data: st.DataObject, dense: Dense, bounds: DiameterBounds) -> None:
    scores = data.draw(scores_of(len(dense)))
    candidates = data.draw(st.lists(st.integers(0, len(dense) - 1), max_size=9))
    found = post_filter(
        sp.csr_array(dense), np.array(scores), candidates=np.array(candidates, dtype=int), bounds=bounds
    )
    check(found, dense, scores, bounds)
    if bounds.starts == 1:
        assert set(found.nodes.tolist()) == set(printed_algorithm_1(dense, scores, candidates, bounds))


@given(data=st.data(), dense=graphs(), bounds=bounds_of())
def test_more_starts_are_never_worse(data: st.DataObject, dense: Dense, bounds: DiameterBounds) -> None:
    scores = np.array(data.draw(scores_of(len(dense))))
    everywhere = np.arange(len(dense))
    one, many = (
        in_filter(
            sp.csr_array(dense), scores, entries=everywhere,
            bounds=DiameterBounds(bounds.k, bounds.max_diameter, 10, bounds.centers, starts, bounds.distance),
        ).nodes
        for starts in (1, len(dense))
    )  # fmt: skip
    assert (len(many), scores[many].sum()) >= (len(one), scores[one].sum() - 1e-9)


@given(data=st.data(), dense=graphs(), limit=_LIMITS, centers=st.integers(1, 3))
def test_lemma_1_holds_in_the_graph(data: st.DataObject, dense: Dense, limit: int, centers: int) -> None:
    candidates = data.draw(st.lists(st.integers(0, len(dense) - 1), min_size=1, unique=True))
    left = prune_by_radius(sp.csr_array(dense), np.array(candidates), max_diameter=limit, centers=centers)
    hops = distances(dense)
    kept = [node for node in candidates if all(hops[center, node] <= limit / 2 for center in left.centers)]
    assert left.nodes.tolist() == kept
    assert set(left.centers.tolist()) <= set(kept)
    assert diameter(dense, kept, Distance.GRAPH) <= limit


@given(data=st.data(), dense=graphs(), limit=_LIMITS)
def test_lemma_2_holds_by_either_distance(data: st.DataObject, dense: Dense, limit: int) -> None:
    members = data.draw(st.lists(st.integers(0, len(dense) - 1), min_size=1, unique=True))
    near = hops_to_any(sp.csr_array(dense), np.array(members), max_hops=limit)
    for node in np.flatnonzero(near > limit).tolist():
        assert all(diameter(dense, [*members, node], distance) > limit for distance in Distance)


@given(data=st.data(), dense=graphs(), limit=st.integers(0, 4))
def test_hops_are_distances_up_to_the_bound(data: st.DataObject, dense: Dense, limit: int) -> None:
    expected = np.minimum(distances(dense), limit + 1)
    starts = np.array(data.draw(st.lists(st.integers(0, len(dense) - 1), max_size=4)), dtype=int)
    adjacency = sp.csr_array(dense)
    assert hops_from(adjacency, starts, max_hops=limit).tolist() == expected[starts].tolist()
    assert hops_within(dense, max_hops=limit).tolist() == expected.tolist()
    nearest = expected[starts].min(axis=0, initial=limit + 1)
    assert hops_to_any(adjacency, starts, max_hops=limit).tolist() == nearest.tolist()


@given(dense=graphs(most=8))
def test_an_articulation_node_is_one_whose_removal_parts_the_graph(dense: Dense) -> None:
    def parts(members: list[int]) -> int:
        hops = distances(dense[np.ix_(members, members)])
        return len({tuple(np.isfinite(row).tolist()) for row in hops})

    everyone = list(range(len(dense)))
    expected = [parts([node for node in everyone if node != out]) > parts(everyone) for out in everyone]
    assert articulation_nodes(dense).tolist() == expected


@given(data=st.data(), dense=graphs(), limit=st.integers(1, 9))
def test_the_traversal_is_best_first(data: st.DataObject, dense: Dense, limit: int) -> None:
    scores = data.draw(scores_of(len(dense)))
    entries = data.draw(st.lists(st.integers(0, len(dense) - 1), max_size=3))
    seen, order = set(entries), list[int]()
    while seen - set(order) and len(order) < limit:
        node = min(seen - set(order), key=lambda item: (-scores[item], item))
        order.append(node)
        seen |= set(np.flatnonzero(dense[node]).tolist())
    found = guided_traversal(sp.csr_array(dense), np.array(scores), entries=np.array(entries, dtype=int), limit=limit)
    assert found.tolist() == order


@pytest.mark.parametrize("distance", list(Distance))
def test_the_gap_to_the_optimum_is_small_on_small_graphs(distance: Distance) -> None:
    """A greedy search of an NP-hard problem: on average it must stay near the best, and more starts must bring it nearer."""
    rng = np.random.default_rng(7)
    shares: dict[int, list[float]] = {1: [], 10: []}
    for _ in range(40):
        dense = np.triu(rng.random((10, 10)) < 0.3, 1)
        dense |= dense.T
        scores = rng.random(10)
        for starts, found in shares.items():
            bounds = DiameterBounds(k=4, max_diameter=2, starts=starts, distance=distance)
            chosen = in_filter(sp.csr_array(dense), scores, entries=np.arange(10), bounds=bounds).nodes
            found.append(float(scores[chosen].sum()) / optimum(dense, scores.tolist(), bounds)[1])
    assert np.mean(shares[1]) > 0.8
    assert np.mean(shares[10]) > 0.95
