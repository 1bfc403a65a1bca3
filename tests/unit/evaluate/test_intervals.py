"""The interval of Wilson: against scipy, and what must hold of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import InputError
from hlgraph.evaluate.statistics import wilson


@given(st.integers(1, 5_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_it_is_that_of_scipy_and_holds_the_share(counts: tuple[int, int]) -> None:
    from scipy.stats import binomtest  # takes a third of a second, and each process of a run collects this file

    successes, trials = counts
    found = wilson(successes, trials)
    expected = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert found.share == successes / trials
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= found.low <= found.share <= found.high <= 1


@given(st.integers(1, 1_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_failures_mirror_successes(counts: tuple[int, int]) -> None:
    successes, trials = counts
    one, other = wilson(successes, trials), wilson(trials - successes, trials)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))


def test_without_a_trial_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, -1)])
def test_counts_that_are_none_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(InputError, match="0 <= successes <= trials"):
        wilson(successes, trials)
