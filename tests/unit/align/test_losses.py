"""The losses of preference training against figures by hand, slow sums and differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

from hlgraph.align.losses import dpo, margin, mode_seeking
from hlgraph.errors import InputError

LARGE = (-1e6, -800.0, -40.0, 0.0, 40.0, 800.0, 1e6)


def test_the_loss_of_two_answers_has_the_values_of_its_formula() -> None:
    assert np.round(mode_seeking([0.0, 1.0, -1.0]).loss, 6).tolist() == [2.761231, 1.276310, 4.468040]
    at_best = mode_seeking(math.log(999))
    assert at_best.loss == pytest.approx(0, abs=1e-15)
    assert at_best.slope == pytest.approx(0, abs=1e-15)
    grid = np.linspace(-20, 20, 40_001)
    assert grid[np.argmin(mode_seeking(grid).loss)] == pytest.approx(math.log(999), abs=1e-3)
    assert mode_seeking(grid).loss.min() >= 0


@pytest.mark.parametrize("loss", [mode_seeking, dpo, lambda h: dpo(h, smoothing=0.1)])
def test_a_slope_is_the_difference_of_the_loss(loss: object) -> None:
    assert callable(loss)
    at, step = np.linspace(-12, 12, 97), 1e-5
    by_difference = (loss(at + step).loss - loss(at - step).loss) / (2 * step)
    assert np.allclose(loss(at).slope, by_difference, atol=1e-8)


def test_large_margins_stay_finite() -> None:
    for found in (mode_seeking(LARGE), dpo(LARGE)):
        assert np.all(np.isfinite(found.loss))
        assert np.all(np.isfinite(found.slope))
    assert mode_seeking(-1e6).loss == pytest.approx(-math.log(1e-3))
    # The wrong answer preferred by far: DPO pulls with its full strength, mode-seeking hardly at all.
    assert dpo(-800.0).slope == pytest.approx(-1)
    assert abs(mode_seeking(-800.0).slope) < 1e-300


def test_the_loss_of_two_answers_is_the_reverse_divergence_of_k_answers() -> None:
    scores, preferences = np.array([1.5, -0.5]), np.array([0.999, 0.001])
    policy = np.exp(scores) / np.exp(scores).sum()
    assert mode_seeking(2.0).loss == pytest.approx((policy * np.log(policy / preferences)).sum())


def test_reverse_divergence_fits_one_mode_and_forward_divergence_covers_both() -> None:
    """Eq. 12 and 13: normal distributions fitted to a mixture of two equal modes at -3 and 3, over a grid of centres and widths."""
    from scipy.stats import norm  # takes a third of a second, and each process of a run collects this file

    points = np.linspace(-7, 7, 801)
    mixture = (norm.pdf(points, -3, 0.5) + norm.pdf(points, 3, 0.5)) / 2
    fits = [(centre, width) for centre in np.linspace(-4, 4, 41) for width in np.linspace(0.5, 3.5, 26)]
    densities = [norm.pdf(points, *fit) for fit in fits]
    reverse = [scipy.special.rel_entr(density, mixture).sum() for density in densities]
    forward = [scipy.special.rel_entr(mixture, density).sum() for density in densities]
    assert np.abs(fits[np.argmin(reverse)]) == pytest.approx((3.0, 0.5))
    assert fits[np.argmin(forward)] == pytest.approx((0.0, math.sqrt(3.0**2 + 0.5**2)), abs=0.07)


def test_a_margin_is_the_gain_over_the_reference() -> None:
    assert margin([[-2.0, -5.0], [-1.0, -1.0]], [[-3.0, -4.0], [-1.0, -2.0]]).tolist() == pytest.approx([0.2, -0.1])


def test_what_cannot_be_a_loss_is_refused() -> None:
    for bad in (0, 0.5, -0.1, math.nan):
        with pytest.raises(InputError, match="smoothing is"):
            mode_seeking(0.0, smoothing=bad)
    with pytest.raises(InputError, match="infinite or not a number"):
        dpo([math.inf])
    with pytest.raises(InputError, match="beta is 0"):
        margin([[0, 0]], [[0, 0]], beta=0)
    with pytest.raises(InputError, match="of shape"):
        margin([0, 0], [0, 0])
