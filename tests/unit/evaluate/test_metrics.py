"""Measures by hand, against plain references, and at their edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import InputError
from hlgraph.evaluate.metrics import MEASURES, measured, recall_at, score

ids = st.lists(st.sampled_from("abcdefghij"), max_size=12)
gold = st.sets(st.sampled_from("abcdefghij"), min_size=1, max_size=4)


def test_recall_by_hand() -> None:
    ranked = ["x", "a", "a", "b", "y"]
    assert recall_at(ranked, {"a", "b"}, k=2) == 0.5
    assert recall_at(ranked, {"a", "b"}, k=3) == 0.5
    assert recall_at(ranked, {"a", "b", "c"}, k=20) == pytest.approx(2 / 3)
    assert recall_at([], {"a"}, k=5) == 0


@given(ranked=ids, gold=gold, k=st.integers(1, 12))
def test_recall_grows_with_k_and_is_its_definition(ranked: list[str], gold: set[str], k: int) -> None:
    assert recall_at(ranked, gold, k=k) == sum(item in ranked[:k] for item in gold) / len(gold)
    assert recall_at(ranked, gold, k=k) <= recall_at(ranked, gold, k=k + 1)


def test_scores_are_means_over_questions_not_over_gold() -> None:
    found = score([(["a", "b"], {"a"}), (["a", "b"], {"x", "y", "b"}), ([], {"z"})])
    assert found.questions == 3
    assert found.recall == {k: pytest.approx((1 + 1 / 3) / 3) for k in (2, 5, 10, 20)}
    assert found.all_gold == {k: pytest.approx(1 / 3) for k in (2, 5, 10, 20)}
    assert list(found.by_name()) == list(MEASURES)


def test_all_measures_of_one_question() -> None:
    ranked = ["a", "x", "x", "b", "x", "x", "c"]
    found = dict(zip(MEASURES, measured(ranked, {"a", "b", "c"}), strict=True))
    assert [found[f"recall@{k}"] for k in (2, 5, 10, 20)] == [pytest.approx(1 / 3), pytest.approx(2 / 3), 1, 1]
    assert [found[f"all_gold@{k}"] for k in (2, 5, 10, 20)] == [0, 0, 1, 1]


def test_what_has_no_measure_is_refused() -> None:
    with pytest.raises(InputError, match="no id is gold"):
        recall_at(["a"], set(), k=2)
    with pytest.raises(InputError, match="no question"):
        score([])
