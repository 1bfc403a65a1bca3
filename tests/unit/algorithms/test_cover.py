"""The greedy cover against brute force; queries that learn and partitions against plain references."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.algorithms.communities import partition
from hlgraph.algorithms.cover import Cover, CoverBounds, communities_of, greedy_cover
from hlgraph.algorithms.query_walk import RocchioWeights, refined_query
from hlgraph.errors import InputError

Sets = list[frozenset[int]]


def _arrays(sets: Sequence[frozenset[int]]) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    return [np.array(sorted(members), dtype=np.intp) for members in sets]


def plain_greedy(sets: Sets, wanted: frozenset[int], bounds: CoverBounds) -> list[int]:
    """Algorithm 3 by sets, a community that does not fit passed over."""
    left = {at for at, members in enumerate(sets) if bounds.least <= len(members) <= bounds.most}
    chosen: list[int] = []
    covered: frozenset[int] = frozenset()
    size = 0
    while True:
        fits = [at for at in left if size + len(sets[at]) <= bounds.budget and sets[at] & (wanted - covered)]
        if not fits:
            return chosen

        def rank(at: int, covered: frozenset[int] = covered) -> tuple[float, int, int]:
            gain = len(sets[at] & (wanted - covered))
            return -gain / len(sets[at]), -gain, at

        best = min(fits, key=rank)
        chosen.append(best)
        left.remove(best)
        covered |= sets[best]
        size += len(sets[best])


def optimum(sets: Sets, wanted: frozenset[int], bounds: CoverBounds) -> int:
    """The most wanted nodes that communities within the budget hold."""
    usable = [members for members in sets if bounds.least <= len(members) <= bounds.most]
    return max(
        len(frozenset().union(*some) & wanted)
        for count in range(len(usable) + 1)
        for some in itertools.combinations(usable, count)
        if sum(map(len, some)) <= bounds.budget
    )


_NODES = st.integers(0, 9)
_CASES = st.tuples(
    st.lists(st.frozensets(_NODES, min_size=1), max_size=6),
    st.frozensets(_NODES),
    st.builds(CoverBounds, st.integers(1, 20), st.integers(1, 3), st.integers(3, 10)),
)


@settings(max_examples=cases(60, 300))
@given(case=_CASES)
def test_the_cover_keeps_its_budget_and_is_within_its_bound(case: tuple[Sets, frozenset[int], CoverBounds]) -> None:
    sets, wanted, bounds = case
    found = greedy_cover(_arrays(sets), np.array(sorted(wanted), dtype=np.intp), bounds=bounds)
    held: frozenset[int] = frozenset().union(*(sets[at] for at in found.chosen))
    assert found.covered == len(held & wanted)
    assert found.size == sum(len(sets[at]) for at in found.chosen) <= bounds.budget
    assert len(set(found.chosen)) == len(found.chosen)
    some, sizes = [sorted(one & wanted) for one in sets], np.array([len(one) for one in sets], dtype=np.int64)
    assert greedy_cover(_arrays(some), np.array(sorted(wanted), dtype=np.intp), bounds=bounds, sizes=sizes) == found
    assert all(bounds.least <= len(sets[at]) <= bounds.most for at in found.chosen)
    best = optimum(sets, wanted, bounds)
    assert (1 - 1 / math.e) / 2 * best <= found.covered <= best


@settings(max_examples=cases(40, 200))
@given(case=_CASES)
def test_cover_is_greedy_or_a_better_single_community(
    case: tuple[Sets, frozenset[int], CoverBounds],
) -> None:
    sets, wanted, bounds = case
    found = greedy_cover(_arrays(sets), np.array(sorted(wanted), dtype=np.intp), bounds=bounds)
    plain = plain_greedy(sets, wanted, bounds)
    covered = len(frozenset().union(*(sets[at] for at in plain)) & wanted)
    if list(found.chosen) != plain:
        assert len(found.chosen) == 1
        assert found.covered > covered


# A town of twelve: two quarters of four and eight, and the mill inside the second; anchors 0, 1, 4 and 5.
TOWN = _arrays([frozenset(range(12)), frozenset(range(4)), frozenset(range(4, 12)), frozenset((4, 5))])
ANCHORS = np.array([0, 1, 4, 5])


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        # 2/2 for the mill, then 2/4 for the first quarter: all is covered.
        (12, Cover((3, 1), 4, 6)),
        # The first quarter does not fit beside the mill.
        (5, Cover((3,), 2, 2)),
        (1, Cover((), 0, 0)),
    ],
)
def test_algorithm_3_by_hand(budget: int, expected: Cover) -> None:
    assert greedy_cover(TOWN, ANCHORS, bounds=CoverBounds(budget, 1, 12)) == expected


def test_sizes_out_of_bounds_are_passed_over() -> None:
    assert greedy_cover(TOWN, ANCHORS, bounds=CoverBounds(20, 3, 8)) == Cover((1, 2), 4, 12)


def test_single_community_can_beat_the_greedy_cover() -> None:
    """Greed takes the pair that is all anchor, after which the big one does not fit."""
    sets = _arrays([frozenset((0,)), frozenset(range(1, 11))])
    found = greedy_cover(sets, np.arange(8), bounds=CoverBounds(10, 1, 10))
    assert found == Cover((1,), 7, 10)


def test_nothing_wanted_and_nothing_there() -> None:
    assert greedy_cover([], ANCHORS) == Cover((), 0, 0)
    assert greedy_cover(TOWN, np.empty(0, dtype=np.intp), bounds=CoverBounds(20, 1, 12)) == Cover((), 0, 0)


def test_the_default_bounds_are_those_of_the_paper() -> None:
    assert CoverBounds() == CoverBounds(8_000, 10, 150)


@settings(max_examples=60)
@given(labels=st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=3))
def test_every_community_of_every_level_is_there_once(labels: list[list[int]]) -> None:
    found = communities_of(np.array(labels))
    plain = {frozenset(np.flatnonzero(np.array(level) == name).tolist()) for level in labels for name in level}
    assert {frozenset(members.tolist()) for members in found} == plain
    assert len(found) == len(plain)


# Rocchio


def test_equation_11_by_hand() -> None:
    """Two partitions: mean query (0.5, 0.5), node (0, 1), mean of what was pruned (1, 0): (0.35, 1.2), of length 1.25."""
    found = refined_query(np.eye(2), np.array([0, 1.0]), pruned=np.array([[2.0, 0], [0, 0]]))
    assert found == pytest.approx([0.28, 0.96])


@settings(max_examples=60)
@given(
    values=st.lists(st.floats(-2, 2), min_size=14, max_size=14),
    weights=st.tuples(*[st.floats(0, 2) for _ in range(3)]),
)
def test_it_is_the_formula_with_length_1(values: list[float], weights: tuple[float, float, float]) -> None:
    origins, pruned = np.reshape(values[:6], (3, 2)), np.reshape(values[6:12], (3, 2))
    node = np.array(values[12:])
    a, b, c = weights
    plain = [
        a * sum(row[at] for row in origins) / 3 + b * node[at] - c * sum(row[at] for row in pruned) / 3 for at in (0, 1)
    ]
    length = math.hypot(*plain)
    found = refined_query(origins, node, pruned=pruned, weights=RocchioWeights(*weights))
    if length > 1e-6:
        assert found == pytest.approx(np.array(plain) / length, abs=1e-6)
    assert np.linalg.norm(found) == pytest.approx(1 if length > 1e-6 else np.linalg.norm(found))


def test_simple_feedback_is_the_query_that_was() -> None:
    found = refined_query(
        np.array([[0.6, 0.8]]), np.array([1.0, 0]), pruned=np.ones((1, 2)), weights=RocchioWeights(1, 0, 0)
    )
    assert found == pytest.approx([0.6, 0.8])
    assert RocchioWeights() == RocchioWeights(1, 0.7, 0.15)
    assert refined_query(np.zeros((1, 2)), np.zeros(2), pruned=np.zeros((1, 2))).tolist() == [0, 0]


# Partitions


def plain_partition(vectors: list[list[float]], groups: int) -> set[frozenset[int]]:
    """Join the two groups with the lowest mean distance, first come first, until so many are left."""
    unit = [np.array(each) / (np.linalg.norm(each) or 1) for each in vectors]
    held = [frozenset({at}) for at in range(len(vectors))]
    while len(held) > groups:
        _, one, other = min(
            (np.mean([1 - unit[a] @ unit[b] for a in held[i] for b in held[j]]), i, j)
            for i, j in itertools.combinations(range(len(held)), 2)
        )
        joined = held[one] | held[other]
        held = [each for at, each in enumerate(held) if at not in (one, other)] + [joined]
    return set(held)


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 9), groups=st.integers(1, 6))
def test_partitions_are_those_of_average_linkage(seed: int, count: int, groups: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, 4))
    found = partition(vectors, groups)
    assert len(found) == min(groups, count)
    assert sorted(int(at) for members in found for at in members) == list(range(count))
    assert {frozenset(members.tolist()) for members in found} == plain_partition(vectors.tolist(), groups)
    assert [int(members[0]) for members in found] == sorted(int(members[0]) for members in found)


def test_equal_and_empty_vectors_are_divided_too() -> None:
    assert len(partition(np.ones((5, 3)), 3)) == 3
    assert len(partition(np.zeros((5, 3)), 2)) == 2
    assert partition(np.empty((0, 3)), 2) == []


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda: CoverBounds(budget=0), "budget is 0"),
        (lambda: CoverBounds(least=20, most=10), "least is 20 and most is 10"),
        (lambda: RocchioWeights(positive=-1), "positive is -1"),
        (lambda: partition(np.ones((2, 2)), 0), "groups is 0"),
        (lambda: partition(np.ones(2), 1), r"must be \(n, d\)"),
        (lambda: partition(np.array([[np.nan]]), 1), "vectors"),
        (lambda: refined_query(np.ones((2, 2)), np.ones(2), pruned=np.ones((1, 2))), r"\(c, d\)"),
        (lambda: refined_query(np.ones((1, 2)), np.array([np.inf, 0]), pruned=np.ones((1, 2))), "node"),
    ],
)
def test_bad_input_is_refused(made, word: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=word):
        made()
