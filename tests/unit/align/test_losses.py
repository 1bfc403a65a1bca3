"""The losses of preference training against figures by hand, slow sums and differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hlgraph.align.losses import dpo, margin, mode_seeking, mode_seeking_of_many, toy_of_two_modes
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


def test_many_answers_are_the_sum_of_their_formula() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5, 4)) * 3
    wanted = rng.dirichlet(np.ones(4), size=5)
    found = mode_seeking_of_many(scores, wanted)
    for row in range(5):
        share = [math.exp(x) / sum(map(math.exp, scores[row])) for x in scores[row]]
        by_hand = sum(f * (math.log(f) - math.log(r)) for f, r in zip(share, wanted[row], strict=True))
        assert found.loss[row] == pytest.approx(by_hand)
    step = np.zeros_like(scores)
    step[:, 2] = 1e-6
    ahead, behind = mode_seeking_of_many(scores + step, wanted), mode_seeking_of_many(scores - step, wanted)
    assert np.allclose(found.slope[:, 2], (ahead.loss - behind.loss) / 2e-6, atol=1e-7)
    assert np.allclose(found.slope.sum(axis=1), 0)
    two = np.array([[1.5, -0.5]])
    assert mode_seeking_of_many(two, [[0.999, 0.001]]).loss == pytest.approx(mode_seeking(2.0).loss)
    assert np.isfinite(mode_seeking_of_many([[900.0, -900.0]], [[0.5, 0.5]]).loss).all()


def test_reverse_divergence_takes_one_mode_and_forward_divergence_the_middle() -> None:
    toy = toy_of_two_modes()
    assert toy.reverse == (-3.0, 0.5)
    assert toy.forward[0] == 0.0
    assert toy.forward[1] == pytest.approx(math.sqrt(3.0**2 + 0.5**2), abs=0.07)


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
    with pytest.raises(InputError, match="have the sum 1"):
        mode_seeking_of_many([[0, 0]], [[1, 0]])
    with pytest.raises(InputError, match=r"shapes \(1, 2\) and \(1, 3\)"):
        mode_seeking_of_many([[0, 0]], [[0.5, 0.2, 0.3]])
    with pytest.raises(InputError, match="odd number"):
        toy_of_two_modes(steps=4)
