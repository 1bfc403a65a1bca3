"""Leiden communities: known partitions of tiny graphs, nesting, repeatability, and modularity against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from modularity import modularity
from numpy.typing import NDArray

from hlgraph.algorithms.communities import at_most, by_smallest_node, capped, extended, leiden
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
    assert leiden(cliques([4, 3, 5])).levels[0].tolist() == [0] * 4 + [4] * 3 + [7] * 5 + [12]


def test_levels_are_nested_and_the_finest_keep_the_size() -> None:
    rng = np.random.default_rng(3)
    upper = sp.triu(sp.random_array((300, 300), density=0.03, random_state=rng), k=1)
    found = leiden(sp.csr_array(upper + upper.T), max_size=12)
    assert len(found.levels) > 1
    for coarse, fine in zip(found.levels, found.levels[1:], strict=False):
        assert all(len(set(coarse[fine == name])) == 1 for name in np.unique(fine))
    again = leiden(sp.csr_array(upper + upper.T), max_size=12)
    assert np.array_equal(found.levels, again.levels)


def test_the_cap_holds_where_nothing_is_to_divide() -> None:
    found = leiden(cliques([6, 6]), max_size=4)
    assert found.levels[0].tolist() == [0] * 6 + [6] * 6 + [12]
    assert sorted(np.unique(found.finest, return_counts=True)[1]) == [1, 3, 3, 3, 3]
    star = np.zeros((8, 8))
    star[0, 1:] = star[1:, 0] = 1
    assert max(np.unique(leiden(sp.csr_array(star), max_size=3).finest, return_counts=True)[1]) <= 3


def plain_capped(levels: list[list[int]], max_size: int) -> list[list[int]]:
    """Community by community: a large one is divided as the next row divides it."""
    found = [[row.index(label) for label in row] for row in levels[:1]]
    for row in levels[1:]:
        last = found[-1]
        names = [
            (label, row[place]) if last.count(label) > max_size else (label, -1) for place, label in enumerate(last)
        ]
        finer = [names.index(name) for name in names]
        if finer != last:
            found.append(finer)
    return found


@given(
    st.integers(1, 9).flatmap(
        lambda size: st.lists(st.lists(st.integers(0, 4), min_size=size, max_size=size), min_size=1, max_size=4)
    ),
    st.integers(1, 5),
)
def test_levels_under_a_cap_are_those_of_the_definition(levels: list[list[int]], max_size: int) -> None:
    found = capped(np.array(levels), max_size)
    assert found.tolist() == plain_capped(levels, max_size)
    for coarse, fine in itertools.pairwise(found):
        assert len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == len(set(fine.tolist()))


@pytest.mark.parametrize(
    ("count", "kept"), [(1, [3]), (2, [0, 3]), (3, [0, 1, 3]), (4, [0, 1, 2, 3]), (9, [0, 1, 2, 3])]
)
def test_the_coarsest_and_the_finest_level_stay(count: int, kept: list[int]) -> None:
    assert at_most(np.array([[0], [1], [2], [3]]), count)[:, 0].tolist() == kept


def plain_extended(matrix: NDArray[np.float64], labels: list[int], max_size: int) -> list[int]:
    """New nodes one by one, each to the community that its edges weigh most to; -1 where there is none."""
    found = list(labels)
    for node in range(len(found)):
        if found[node] >= 0:
            continue
        weights: dict[int, float] = {}
        for other in range(len(found)):
            if found[other] >= 0 and matrix[node, other] and found.count(found[other]) < 2 * max_size:
                weights[found[other]] = weights.get(found[other], 0.0) + matrix[node, other]
        if weights:
            found[node] = min(weights, key=lambda name: (-weights[name], name))
    return found


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 3))
def test_old_nodes_stay_and_new_nodes_join_nearest_community(seed: int, size: int, max_size: int) -> None:
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(0, 3, size=(size, size)), 1).astype(float)
    labels = rng.integers(-1, 3, size=size)
    matrix = half + half.T
    found = extended(sp.csr_array(matrix), labels, max_size=max_size)
    assert found[labels >= 0].tolist() == labels[labels >= 0].tolist()
    expected = np.array(plain_extended(matrix, labels.tolist(), max_size))
    assert found[expected >= 0].tolist() == expected[expected >= 0].tolist()
    rest = found[expected < 0]
    assert (rest > labels.max(initial=-1)).all()
    assert not len(rest) or np.unique(rest, return_counts=True)[1].max() <= max_size


def test_a_graph_without_edges_and_one_without_nodes() -> None:
    assert leiden(sp.csr_array((3, 3))).levels[0].tolist() == [0, 1, 2]
    assert leiden(sp.csr_array((0, 0))).levels[0].tolist() == []


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
