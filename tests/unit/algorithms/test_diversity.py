"""The near-duplicate filter: TF-IDF by hand, the Retain formula against a slow reading of it, and what holds always."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.algorithms import diversity
from hlgraph.algorithms.diversity import retain, tf_idf
from hlgraph.errors import InputError

_TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=9)
_TAUS = st.sampled_from([0.0, 0.005, 0.05, 0.3, 0.7, 1.0])


def _slow_cosines(texts: Sequence[Sequence[str]]) -> list[list[float]]:
    """As the paper writes it, by dictionaries."""
    frequency = Counter(term for text in texts for term in set(text))
    rows = [
        {
            term: count * (1 + math.log((1 + len(texts)) / (1 + frequency[term])))
            for term, count in Counter(text).items()
        }
        for text in texts
    ]

    def cosine(a: dict[str, float], b: dict[str, float]) -> float:
        lengths = math.sqrt(sum(x * x for x in a.values())) * math.sqrt(sum(x * x for x in b.values()))
        return sum(weight * b.get(term, 0.0) for term, weight in a.items()) / lengths if lengths else 0.0

    return [[cosine(a, b) for b in rows] for a in rows]


def _slow_kept(cosines: list[list[float]], scores: Sequence[float], ids: Sequence[str], tau: float) -> set[str]:
    """Every text of which each near-duplicate has a lower score, or an equal one and a higher id."""
    places = range(len(ids))
    return {
        ids[i]
        for i in places
        if all(
            j == i or min(cosines[i][j], 1.0) <= 1 - tau or (-scores[i], ids[i]) < (-scores[j], ids[j]) for j in places
        )
    }


def _kept(texts: Sequence[Sequence[str]], scores: Sequence[float], ids: Sequence[str], tau: float) -> list[str]:
    result = retain(tf_idf(texts), np.array(scores, dtype=np.float64), ids=ids, tau=tau)
    return [ids[at] for at in result.tolist()]


def test_tf_idf_of_two_texts_by_hand() -> None:
    """n = 2; "a" is in both: idf 1; "b" and "c" in one: idf 1 + ln(3/2) = 1.405."""
    rows = tf_idf([["a", "a", "b"], ["a", "c"]]).toarray()
    idf = 1 + math.log(1.5)
    first, second = math.hypot(2, idf), math.hypot(1, idf)
    assert rows == pytest.approx(np.array([[2 / first, idf / first, 0], [1 / second, 0, idf / second]]))


def test_a_text_without_terms_is_like_nothing() -> None:
    assert _kept([[], [], ["a"]], [1, 2, 3], ["x", "y", "z"], tau=1.0) == ["z", "y", "x"]


def test_nothing_in_nothing_out() -> None:
    assert retain(tf_idf([]), np.empty(0), ids=[]).tolist() == []


def test_the_higher_score_stays() -> None:
    result = retain(tf_idf([["a"], ["a"], ["b"]]), np.array([0.1, 0.9, 0.5]), ids=["x", "y", "z"])
    assert result.tolist() == [1, 2]


def test_of_equal_scores_the_lower_id_stays() -> None:
    assert _kept([["a"]] * 3, [1, 1, 1], ["z", "x", "y"], tau=0.005) == ["x"]


def test_removed_text_still_removes_its_duplicates() -> None:
    """x ~ y and y ~ z, but not x ~ z: the formula looks at all better ones, kept or not."""
    texts = [["a", "a", "a", "b"], ["a", "a", "a", "b", "c"], ["a", "a", "c", "c"]]
    cosines = _slow_cosines(texts)
    tau = 1 - (cosines[0][2] + min(cosines[0][1], cosines[1][2])) / 2
    assert _kept(texts, [3, 2, 1], ["x", "y", "z"], tau=tau) == ["x"]


def test_tau_of_zero_drops_nothing_even_where_rounding_gives_more_than_one() -> None:
    texts = [["a", "b", "c"]] * 40
    assert len(_kept(texts, [1] * 40, [f"{at:02}" for at in range(40)], tau=0.0)) == 40


def test_who_disagrees_does_not_count() -> None:
    asked: list[tuple[int, int]] = []

    def agrees(one: int, other: int) -> bool:
        asked.append((one, other))
        return {one, other} == {0, 2}

    result = retain(tf_idf([["a"], ["a"], ["a"], ["b"]]), np.array([4.0, 3, 2, 1]), ids=list("wxyz"), agrees=agrees)
    assert result.tolist() == [0, 1, 3]
    assert set(asked) == {(1, 0), (2, 0)}


def test_more_texts_than_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[f"t{at % 7}"] for at in range(50)]
    ids = [f"{at:02}" for at in range(50)]
    expected = _kept(texts, range(50), ids, tau=0.005)
    monkeypatch.setattr(diversity, "_BLOCK", 4)
    assert _kept(texts, range(50), ids, tau=0.005) == expected == [f"{at}" for at in range(49, 42, -1)]


@pytest.mark.parametrize(
    ("scores", "ids", "tau", "message"),
    [
        ([1.0], ["a"], 1.5, "tau is 1.5; it must be a number from 0 to 1"),
        ([1.0], ["a"], -0.1, "tau is -0.1"),
        ([1.0, 2.0], ["a"], 0.1, "these must have the same length: vectors"),
        ([math.nan], ["a"], 0.1, "scores: 1 element is not a usable number"),
    ],
)
def test_what_cannot_be_filtered(scores: list[float], ids: list[str], tau: float, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        retain(tf_idf([["a"]]), np.array(scores), ids=ids, tau=tau)


@given(_TEXTS, _TAUS, st.data())
def test_the_same_as_the_slow_reading(texts: list[list[str]], tau: float, data: st.DataObject) -> None:
    scores = data.draw(st.lists(st.integers(0, 3), min_size=len(texts), max_size=len(texts)))
    ids = data.draw(st.permutations([f"n{at}" for at in range(len(texts))]))
    cosines = _slow_cosines(texts)
    assert (tf_idf(texts) @ tf_idf(texts).T).toarray() == pytest.approx(
        np.array(cosines).reshape(len(texts), len(texts))
    )
    near = [abs(each - (1 - tau)) < 1e-9 for row in cosines for each in row if each < 1 - 1e-9]
    if not any(near):  # on the threshold itself rounding decides
        assert set(_kept(texts, scores, ids, tau)) == _slow_kept(cosines, scores, ids, tau)


@given(_TEXTS, _TAUS, st.data())
def test_invariants(texts: list[list[str]], tau: float, data: st.DataObject) -> None:
    scores = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(texts), max_size=len(texts))), dtype=float)
    ids = data.draw(st.permutations([f"n{at}" for at in range(len(texts))]))
    rows = tf_idf(texts)
    kept = retain(rows, scores, ids=ids, tau=tau)

    order = sorted(range(len(texts)), key=lambda at: (-scores[at], ids[at]))
    assert [at for at in order if at in set(kept.tolist())] == kept.tolist()  # best first, ties by id
    assert kept.tolist()[:1] == order[:1]  # the best stays

    cosines = np.minimum((rows[kept] @ rows[kept].T).toarray(), 1.0)
    np.fill_diagonal(cosines, 0.0)
    assert not (cosines > 1 - tau).any()  # no two that stay are near-duplicates

    again = retain(rows[kept], scores[kept], ids=[ids[at] for at in kept], tau=tau)
    assert again.tolist() == list(range(len(kept)))  # idempotent

    shuffled = data.draw(st.permutations(range(len(texts))))
    moved = retain(tf_idf([texts[at] for at in shuffled]), scores[shuffled], ids=[ids[at] for at in shuffled], tau=tau)
    assert [shuffled[at] for at in moved] == kept.tolist()  # independent of the order given

    worst = order[:-1]
    fewer = retain(rows[worst], scores[worst], ids=[ids[at] for at in worst], tau=tau)
    assert [worst[at] for at in fewer] == [at for at in kept.tolist() if at in worst]  # better ones decide alone
