"""Twins against a comparison of every two rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from plain_pagerank import graphs

from hlgraph.algorithms.projection import find_twins

Dense = tuple[NDArray[np.float64], NDArray[np.float64]]


def are_twins(adjacency: NDArray[np.float64], a: int, b: int) -> bool:
    """Equal rows; or joined, and equal but for each other."""
    others = [at for at in range(len(adjacency)) if at not in (a, b)]
    is_alike = np.array_equal(adjacency[a, others], adjacency[b, others])
    is_equal = np.array_equal(adjacency[a], adjacency[b])
    is_joined = adjacency[a, b] > 0 and adjacency[a, a] == adjacency[b, b] == 0
    return bool(adjacency[a].any() and is_alike and (is_equal or is_joined))


@given(graphs(is_directed=False))
def test_a_class_holds_the_twins_of_each_of_its_nodes(graph: Dense) -> None:
    adjacency, _ = graph
    found = find_twins(sp.csr_array(adjacency))
    for a in range(len(adjacency)):
        same = {b for b in range(len(adjacency)) if b == a or are_twins(adjacency, a, b)}
        assert set(np.flatnonzero(found.of == found.of[a]).tolist()) == same
        assert sorted(found.nodes(found.of[[a]]).tolist()) == sorted(same)
        assert found.sizes[found.of[a]] == len(same)
    merged = found.merged(sp.csr_array(adjacency))
    assert merged.sum() == adjacency.sum()
    assert abs(merged - merged.T).max() == 0


def test_clique_with_one_exit_has_two_classes() -> None:
    clique = np.ones((5, 5)) - np.eye(5)
    joined = np.zeros((6, 6))
    joined[:5, :5] = clique
    joined[4, 5] = joined[5, 4] = 2
    found = find_twins(sp.csr_array(joined))
    assert found.of.tolist() == [0, 0, 0, 0, 1, 2]
    assert found.loops.tolist() == [0.25, 0, 0]  # one of four


def test_nodes_without_edges_stay_by_themselves() -> None:
    assert find_twins(sp.csr_array((3, 3))).of.tolist() == [0, 1, 2]
    assert find_twins(sp.csr_array((0, 0))).of.tolist() == []


@given(graph=graphs(is_directed=False), seed=st.integers(0, 9))
def test_classes_in_another_order_are_the_same_classes(graph: Dense, seed: int) -> None:
    adjacency = sp.csr_array(graph[0])
    found = find_twins(adjacency)
    order = np.random.default_rng(seed).permutation(len(found.sizes))
    turned = found.ordered(order)
    assert order[turned.of].tolist() == found.of.tolist()
    for at, old in enumerate(order.tolist()):
        classes = np.array([at]), np.array([old])
        assert turned.nodes(classes[0]).tolist() == found.nodes(classes[1]).tolist()
    assert turned.loops.tolist() == found.loops[order].tolist()
    merged, before = turned.merged(adjacency).toarray(), found.merged(adjacency).toarray()
    assert np.array_equal(merged, before[np.ix_(order, order)])
