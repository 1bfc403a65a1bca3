"""The k highest scores: order, ties, edges, refusals. The invariants are in test_topk_properties.py."""

from __future__ import annotations

import numpy as np
import pytest

from hlgraph.algorithms import check
from hlgraph.algorithms.fusion import top_k
from hlgraph.errors import InputError

IDS = np.array(["d", "b", "c", "a"])


def test_ties_at_the_boundary_go_to_the_lower_id() -> None:
    scores = np.array([0.5, 0.5, 0.9, 0.5], dtype=np.float32)
    assert IDS[top_k(scores, 2, tie_break=IDS)].tolist() == ["c", "a"]
    assert IDS[top_k(scores, 3, tie_break=IDS)].tolist() == ["c", "a", "b"]


def test_without_keys_the_lower_index_wins() -> None:
    assert top_k(np.ones(4, dtype=np.float32), 2).tolist() == [0, 1]
    assert top_k(np.ones(4, dtype=np.float32), 2, tie_break=np.zeros(4, dtype=np.int64)).tolist() == [0, 1]


def test_infinities_have_a_place_and_the_zeros_are_one() -> None:
    scores = np.array([0.0, -np.inf, np.inf, -0.0], dtype=np.float32)
    assert IDS[top_k(scores, 4, tie_break=IDS)].tolist() == ["c", "a", "d", "b"]


@pytest.mark.parametrize(("count", "k"), [(0, 0), (0, 3), (4, 0), (4, 4), (4, 9)])
def test_edges(count: int, k: int) -> None:
    found = top_k(np.zeros(count, dtype=np.float32), k)
    assert found.tolist() == list(range(min(count, k)))
    assert found.dtype == np.intp


def test_invalid_ranking_arguments_are_rejected() -> None:
    with pytest.raises(InputError, match=r"scores: 1 element .* index 2"):
        top_k(np.array([1.0, 2.0, np.nan]), 1)
    with pytest.raises(InputError, match=r"same length: scores \(1\), tie_break \(4\)"):
        top_k(np.array([1.0]), 1, tie_break=IDS)
    with pytest.raises(InputError, match="k is -1"):
        top_k(np.array([1.0]), -1)


def test_checks_enforce_their_bounds() -> None:
    check.finite("x", np.array([0.0, -1.0]))
    check.positive("x", 1e-300)
    check.not_negative("x", 0)
    check.probability("x", 1)
    for refused in (
        lambda: check.finite("x", np.array([0.0, np.inf])),
        lambda: check.positive("x", 0),
        lambda: check.positive("x", float("inf")),
        lambda: check.not_negative("x", float("nan")),
        lambda: check.probability("x", float("nan")),
        lambda: check.probability("x", -0.1),
    ):
        with pytest.raises(InputError, match=r"^x"):
            refused()
