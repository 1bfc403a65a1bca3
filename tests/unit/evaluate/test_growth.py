"""Growth exponents on exact power laws, by hand, and at their edges."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import InputError
from hlgraph.evaluate.bench import growth

SIZES = [1e4, 1e5, 1e6]


@given(exponent=st.floats(-2, 2), scale=st.floats(1e-3, 1e3))
def test_an_exact_power_law_is_found(exponent: float, scale: float) -> None:
    found = growth(SIZES, [scale * size**exponent for size in SIZES])
    assert found.exponent == pytest.approx(exponent, abs=1e-9)
    assert found.scale == pytest.approx(scale, rel=1e-6)
    assert found.error == pytest.approx(0, abs=1e-7)


def test_three_sizes_by_hand() -> None:
    """Logarithms to base 10: x = -1, 0, 1 around the mean, y = 0, 0, 3: slope 3 / 2, rest 0.5, -1, 0.5."""
    found = growth([10, 100, 1000], [1, 1, 1000])
    assert found.exponent == pytest.approx(1.5)
    assert found.error == pytest.approx(math.sqrt(1.5 / 1 / 2))


def test_two_sizes_have_no_error_and_a_constant_does_not_grow() -> None:
    assert growth([10, 1000], [5, 5]) == (pytest.approx(0), pytest.approx(5), None)


@pytest.mark.parametrize(
    ("sizes", "costs", "says"),
    [
        ([10], [1], "two different sizes"),
        ([10, 10], [1, 2], "two different sizes"),
        ([10, 20], [1], "2 sizes have 1 costs"),
        ([10, 20], [1, 0], "above 0"),
        ([0, 20], [1, 1], "above 0"),
    ],
)
def test_what_has_no_exponent_is_refused(sizes: list[float], costs: list[float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        growth(sizes, costs)
