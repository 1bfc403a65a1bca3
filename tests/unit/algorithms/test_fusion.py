"""Fusing rankings and scores: figures by hand, ties, refusals. The formulas are in test_topk_properties.py."""

from __future__ import annotations

import itertools

import pytest

from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.errors import InputError


def test_reciprocal_rank_by_hand() -> None:
    assert reciprocal_rank([["a", "b"], ["b"]]) == [("b", 1 / 62 + 1 / 61), ("a", 1 / 61)]
    assert reciprocal_rank([["a", "b"], ["b"]], k=1, weights=[3, 1]) == [("a", 1.5), ("b", 1.5)]
    assert reciprocal_rank([["a", "a", "b"]], k=1) == [("a", 1 / 2), ("b", 1 / 3)]
    assert reciprocal_rank([[], []]) == []


def test_equal_ranks_in_another_order_are_a_tie() -> None:
    # Summed from left to right, b would be ahead by a rounding error.
    lists = [["b", "x", "a", "y"], ["z", "a", "y", "b"], ["p", "q", "r", "s", "b", "u", "a"]]
    lists += [["p", "q", "r", "s", "a", "u", "b"], ["z", "b", "y", "a"], ["a", "x", "b", "y"]]
    scores = dict(reciprocal_rank(lists))
    assert scores["a"] == scores["b"]


def test_a_tie_goes_to_the_first_ranking_whatever_the_ids_are() -> None:
    for one, two, other in itertools.permutations("abc"):
        fused = reciprocal_rank([[one, two], [two, one], [other]])
        assert [name for name, _ in fused] == [one, two, other]
        assert [name for name, _ in reciprocal_rank([[one], [two], [other]])] == [one, two, other]


def test_invalid_fusion_arguments_are_rejected() -> None:
    with pytest.raises(InputError, match="k is 0"):
        reciprocal_rank([["a"]], k=0)
    with pytest.raises(InputError, match="1 weights for 2 rankings"):
        reciprocal_rank([["a"], ["b"]], weights=[1])
    with pytest.raises(InputError, match="a weight is -1"):
        reciprocal_rank([["a"]], weights=[-1])
