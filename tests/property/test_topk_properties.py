"""Top k and the fusions agree with slow plain references."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.algorithms.fusion import reciprocal_rank, top_k

FEW = [0.0, -0.0, 1.0, 0.5, float("inf"), float("-inf")]
scores = st.sampled_from(FEW) | st.floats(allow_nan=False, width=32)
items = st.sampled_from("abcdefgh")
rankings = st.lists(st.lists(items, max_size=8), max_size=5)


@given(rows=st.lists(st.tuples(scores, st.integers(0, 5)), max_size=40), k=st.integers(0, 45), is_text=st.booleans())
def test_top_k_is_the_head_of_a_full_sort(rows: list[tuple[float, int]], k: int, *, is_text: bool) -> None:
    keys = np.array([key for _, key in rows], dtype=np.int64)
    found = top_k(
        np.array([score for score, _ in rows], dtype=np.float32), k, tie_break=keys.astype(str) if is_text else keys
    )
    assert found.tolist() == sorted(range(len(rows)), key=lambda at: (-rows[at][0], rows[at][1], at))[:k]


@given(rows=st.lists(scores, min_size=1, max_size=40), k=st.integers(0, 45), seed=st.integers(0, 2**32 - 1))
def test_top_k_does_not_depend_on_the_order_of_the_items(rows: list[float], k: int, seed: int) -> None:
    values = np.array(rows, dtype=np.float32)
    ids = np.array([f"{number:02}" for number in range(len(rows))])
    order = np.random.default_rng(seed).permutation(len(rows))
    shuffled = top_k(values[order], k, tie_break=ids[order])
    assert ids[order][shuffled].tolist() == ids[top_k(values, k, tie_break=ids)].tolist()


@given(rankings=rankings, k=st.integers(1, 100), data=st.data())
def test_reciprocal_rank_is_its_formula(rankings: list[list[str]], k: int, data: st.DataObject) -> None:
    size = len(rankings)
    weights = data.draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 2.0]), min_size=size, max_size=size))
    exact: dict[str, Fraction] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        unique = [item for at, item in enumerate(ranking) if item not in ranking[:at]]
        for rank, item in enumerate(unique, start=1):
            exact[item] = exact.get(item, Fraction(0)) + Fraction(weight) / (k + rank)
    fused = reciprocal_rank(rankings, k, weights=weights)
    assert dict(fused).keys() == exact.keys()
    assert all(abs(score - exact[item]) < 1e-12 for item, score in fused)
    places = list(exact)  # of a tie the first one of the first ranking
    assert fused == sorted(fused, key=lambda entry: (-entry[1], places.index(entry[0])))
    order = data.draw(st.permutations(range(size)))
    again = reciprocal_rank([rankings[at] for at in order], k, weights=[weights[at] for at in order])
    assert dict(again) == dict(fused)
