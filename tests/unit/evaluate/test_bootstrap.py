"""The paired bootstrap by hand, against a slow reference with the same draws, and by what must hold of it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.errors import InputError
from hlgraph.evaluate.statistics import Difference, Interval, Resamples, permutation_test

columns = st.lists(
    st.tuples(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), st.sampled_from([0.0, 1 / 3, 0.5, 1.0])), min_size=1, max_size=12
)


def slow_difference(a: list[float], b: list[float], *, resamples: int, seed: int) -> tuple[float, float, float]:
    """Bounds and p, one resample and one question after another."""
    count = len(a)
    draws = np.random.default_rng(seed).integers(count, size=(resamples, count)).tolist()
    drawn = [round(math.fsum(a[at] - b[at] for at in row) / count, 12) for row in draws]
    below, above = sum(d <= 0 for d in drawn), sum(d >= 0 for d in drawn)
    p = min(1.0, 2 * (min(below, above) + 1) / (resamples + 1))
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return low, high, p


def array(*given: list[float]) -> NDArray[np.float64]:
    return np.array(given, dtype=np.float64).T


@settings(max_examples=40)
@given(pairs=columns, seed=st.integers(0, 5))
def test_it_is_the_slow_reference(pairs: list[tuple[float, float]], seed: int) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = Resamples(array(a, b), resamples=200, seed=seed).difference(0, 1)
    low, high, p = slow_difference(a, b, resamples=200, seed=seed)
    assert (found.low, found.high, found.p) == (pytest.approx(low), pytest.approx(high), pytest.approx(p))
    assert found.mean == pytest.approx(sum(a) / len(a) - sum(b) / len(b))


@settings(max_examples=40)
@given(pairs=columns)
def test_turned_around_it_is_the_same_difference(pairs: list[tuple[float, float]]) -> None:
    drawn = Resamples(array([pair[0] for pair in pairs], [pair[1] for pair in pairs]), resamples=200)
    there, back = drawn.difference(0, 1), drawn.difference(1, 0)
    assert (back.mean, back.low, back.high) == (
        pytest.approx(-there.mean),
        pytest.approx(-there.high),
        pytest.approx(-there.low),
    )
    assert (back.p, back.is_noise) == (there.p, there.is_noise)


def test_two_questions_by_hand() -> None:
    """Of the four ways to draw two questions one gives the mean 0, two .5 and one 1: the interval is all of it."""
    drawn = Resamples(array([1.0, 0.0], [0.0, 0.0]))
    assert drawn.interval(0) == Interval(0.5, 0.0, 1.0)
    found = drawn.difference(0, 1)
    assert (found.low, found.high) == (0, 1)
    assert found.is_noise
    assert found.p == pytest.approx(2 / 4, abs=0.02)  # a quarter of the resamples is 0


def test_a_difference_that_every_question_has_is_none_of_chance() -> None:
    drawn = Resamples(array([0.75] * 30, [0.5] * 30), resamples=1_000)
    assert drawn.difference(0, 1) == Difference(0.25, 0.25, 0.25, 2 / 1001)
    assert not drawn.difference(0, 1).is_noise
    same = Resamples(array(*[[0.1, 0.7, 0.3] * 50] * 2)).difference(0, 1)
    assert same == Difference(0.0, 0.0, 0.0, 1.0)
    assert same.is_noise


def test_fewer_than_six_questions_prove_nothing() -> None:
    """The permutation test of five questions has no p below 2 / 2 ** 5, however narrow the interval is."""
    for count, is_noise in ((5, True), (6, False)):
        drawn = Resamples(array([1.0] * count, [0.0] * count))
        assert (drawn.difference(0, 1).low, drawn.difference(0, 1).is_noise) == (1.0, is_noise)
        assert (permutation_test(np.ones(count)) >= 0.05) == is_noise


def test_pairing_sees_what_two_intervals_do_not() -> None:
    """Hard and easy questions make both means uncertain; that one is always a little better is certain all the same."""
    rng = random.Random(1)
    hard = [rng.choice([0.0, 0.9]) for _ in range(100)]
    drawn = Resamples(array([value + rng.choice([0, 0.1]) for value in hard], hard))
    better, worse = drawn.interval(0), drawn.interval(1)
    assert better.low < worse.mean < better.mean < worse.high
    assert not drawn.difference(0, 1).is_noise


def test_of_many_questions_it_is_the_normal_interval() -> None:
    values = np.random.default_rng(5).random(400)
    found = Resamples(values[:, None]).interval(0)
    half = 1.96 * values.std() / 20
    assert found.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.1 * half)
    assert found.mean == pytest.approx(values.mean())


def test_the_seed_decides_and_blocks_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).random((50, 2))
    first = Resamples(values, seed=7).difference(0, 1)
    assert Resamples(values, seed=7).difference(0, 1) == first
    assert Resamples(values, seed=8).difference(0, 1) != first
    monkeypatch.setattr("hlgraph.evaluate.statistics._BLOCK", 120)
    assert Resamples(values, seed=7).difference(0, 1) == first


def test_what_says_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(0, 2\)"):
        Resamples(np.empty((0, 2)))
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        Resamples(np.ones(3))
    with pytest.raises(InputError, match="5 resamples"):
        Resamples(np.ones((2, 1)), resamples=5)
