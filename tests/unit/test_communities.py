"""Leiden communities: known partitions of tiny graphs, nesting, repeatability, and modularity against its definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.algorithms.communities import by_smallest_node, leiden, modularity
from hlgraph.errors import InputError


def cliques(sizes: list[int], *, bridge: float = 0.1) -> sp.csr_array:
    """Cliques in a row, each joined to the next by one weak edge; the last node of all stands alone."""
    size = sum(sizes) + 1
    matrix = np.zeros((size, size))
    start = 0
    for count in sizes:
        matrix[start : start + count, start : start + count] = 1 - np.eye(count)
        if start:
            matrix[start - 1, start] = matrix[start, start - 1] = bridge
        start += count
    return sp.csr_array(matrix)


def test_cliques_are_communities_and_a_node_alone_is_one() -> None:
    assert leiden(cliques([4, 3, 5])).coarsest.tolist() == [0] * 4 + [4] * 3 + [7] * 5 + [12]


def test_levels_are_nested_and_the_finest_keep_the_size() -> None:
    rng = np.random.default_rng(3)
    upper = sp.triu(sp.random_array((300, 300), density=0.03, rng=rng), k=1)
    found = leiden(sp.csr_array(upper + upper.T), max_size=12)
    assert len(found.levels) > 1
    for coarse, fine in zip(found.levels, found.levels[1:], strict=False):
        assert all(len(set(coarse[fine == name])) == 1 for name in np.unique(fine))
    again = leiden(sp.csr_array(upper + upper.T), max_size=12)
    assert np.array_equal(found.levels, again.levels)


def test_a_graph_without_edges_and_one_without_nodes() -> None:
    assert leiden(sp.csr_array((3, 3))).coarsest.tolist() == [0, 1, 2]
    assert leiden(sp.csr_array((0, 0))).coarsest.tolist() == []


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "shape"),
        (np.array([[0.0, 1.0], [0.0, 0.0]]), "not symmetric"),
        (-np.ones((2, 2)), "negative"),
        (np.full((2, 2), np.inf), "adjacency"),
    ],
)
def test_bad_input(matrix: NDArray[np.float64], message: str) -> None:
    with pytest.raises(InputError, match=message):
        leiden(sp.csr_array(matrix))


def plain_modularity(matrix: NDArray[np.float64], labels: NDArray[np.int64], resolution: float) -> float:
    """The definition, pair by pair."""
    total = matrix.sum()
    degrees = matrix.sum(axis=1)
    found = 0.0
    for a in range(len(labels)):
        for b in range(len(labels)):
            if labels[a] == labels[b]:
                found += matrix[a, b] - resolution * degrees[a] * degrees[b] / total
    return found / total


@given(st.integers(0, 1_000), st.integers(2, 8), st.sampled_from([0.5, 1.0, 2.0]))
def test_modularity_is_that_of_its_definition(seed: int, size: int, resolution: float) -> None:
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(0, 3, size=(size, size)).astype(float), 1)
    half[0, 1] = 1.0
    labels = rng.integers(0, 3, size=size)
    found = modularity(sp.csr_array(half + half.T), labels, resolution=resolution)
    assert found == pytest.approx(plain_modularity(half + half.T, labels, resolution))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
def test_renamed_partitions_are_the_same_partition(labels: list[int]) -> None:
    given_labels = np.array(labels)
    found = by_smallest_node(given_labels)
    assert np.array_equal(by_smallest_node(given_labels * -3 + 7), found)
    for name in np.unique(found):
        members = np.flatnonzero(found == name)
        assert members[0] == name
        assert len(set(given_labels[members])) == 1
