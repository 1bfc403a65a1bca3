"""Losses of preference training in numpy: mode-seeking (GraphMPA, Eq. 8) and DPO. Pure functions.

GraphMPA minimises the reverse KL divergence from the policy to the preferences. For K answers to one prompt, with strength
``beta``, a policy pi and a frozen reference,

    f_i = softmax_i(beta (ln pi(y_i) - ln ref(y_i)))        p, of the policy
    L   = sum_i f_i (ln f_i - ln r_i)                        r, the preferences over the same answers

For two answers r = (1 - e, e) and L depends on one number, h = beta (dlog pi - dlog ref), where d is the preferred answer
minus the other one:

    L(h) = s(h) [ln s(h) - ln(1 - e)] + s(-h) [ln s(-h) - ln e],    s the logistic function

TRL calls it ``exo_pair`` and e ``label_smoothing``. Two misprints of the paper are corrected here: Eq. 10 and 11 print arg max
although the divergence is minimised, and Eq. 13 takes the expectation over the policy instead of the preferences. The paper gives
neither beta nor e.

References
----------
GraphMPA, section 4, Eq. 8 to 14. Ji et al., Towards Efficient Exact Optimization of Language Model Alignment, ICML 2024
(EXO), Eq. 16. Rafailov et al., Direct Preference Optimization, NeurIPS 2023, Eq. 7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hlgraph.errors import InputError

Floats = NDArray[np.float64]
SMOOTHING = 1e-3
"""Share of the preference that the rejected answer keeps, e; the value that the authors of EXO recommend."""
BETA = 0.1
"""Strength of the reference, beta; TRL's default."""


class LossAndSlope(NamedTuple):
    """A loss for each h, and its derivative with respect to h, of the same shape."""

    loss: Floats
    slope: Floats


def margin(policy: ArrayLike, reference: ArrayLike, *, beta: float = BETA) -> Floats:
    """The h of each pair: beta times the gain of the preferred answer over the other, policy against reference.

    Parameters
    ----------
    policy : log-probabilities by the policy, shape (pairs, 2): the preferred answer first
    reference : the same by the frozen reference
    beta : strength of the reference, above 0; default 0.1

    Raises
    ------
    InputError
        The shapes differ or are not (pairs, 2), or ``beta`` is not above 0.

    Examples
    --------
    >>> margin([[-2.0, -5.0]], [[-3.0, -4.0]], beta=0.5).tolist()
    [1.0]
    """
    if not beta > 0:
        raise InputError(f"beta is {beta}; give a number above 0, such as {BETA}")
    trained, frozen = np.asarray(policy, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if trained.shape != frozen.shape or trained.ndim != 2 or trained.shape[1] != 2:
        raise InputError(
            f"log-probabilities have the shapes {trained.shape} and {frozen.shape}; give two arrays of shape (pairs, 2)"
        )
    ratios = trained - frozen
    return beta * (ratios[:, 0] - ratios[:, 1])


def mode_seeking(h: ArrayLike, *, smoothing: float = SMOOTHING) -> LossAndSlope:
    """The reverse KL divergence of two answers, L(h), and its derivative s(h) s(-h) (h - ln((1 - e) / e)).

    The minimum is 0, at h = ln((1 - e) / e). Far below 0 the derivative vanishes: a policy that strongly prefers the wrong
    answer learns little from that pair, whereas the slope of :func:`dpo` is steepest there.

    Parameters
    ----------
    h : margins of any shape, see :func:`margin`
    smoothing : e, above 0 and below 0.5; default 0.001

    Raises
    ------
    InputError
        ``smoothing`` is out of its bounds, or a margin is not finite.

    Examples
    --------
    >>> [round(float(each), 6) for each in mode_seeking([0.0, 1.0, -1.0]).loss]
    [2.761231, 1.27631, 4.46804]
    """
    _check_smoothing(smoothing)
    x = _finite(h)
    log_yes, log_no = -np.logaddexp(0.0, -x), -np.logaddexp(0.0, x)
    yes, no = np.exp(log_yes), np.exp(log_no)
    best = np.log1p(-smoothing) - np.log(smoothing)
    loss = yes * (log_yes - np.log1p(-smoothing)) + no * (log_no - np.log(smoothing))
    return LossAndSlope(loss, yes * no * (x - best))


def dpo(h: ArrayLike, *, smoothing: float = 0.0) -> LossAndSlope:
    """The loss of DPO, -(1 - e) ln s(h) - e ln s(-h), and its derivative s(h) - (1 - e).

    With e above 0 it is the forward KL divergence of the preferences, up to their entropy, and has the same minimum as
    :func:`mode_seeking`; with e = 0 it decreases without a minimum.

    Parameters
    ----------
    h : margins of any shape, see :func:`margin`
    smoothing : e, from 0 and below 0.5; default 0

    Raises
    ------
    InputError
        ``smoothing`` is out of its bounds, or a margin is not finite.

    Examples
    --------
    >>> [round(float(each), 6) for each in dpo([0.0, 1.0, -1.0]).loss]
    [0.693147, 0.313262, 1.313262]
    """
    if smoothing != 0:
        _check_smoothing(smoothing)
    x = _finite(h)
    log_yes, log_no = -np.logaddexp(0.0, -x), -np.logaddexp(0.0, x)
    loss = -(1 - smoothing) * log_yes - smoothing * log_no
    return LossAndSlope(loss, smoothing * np.exp(log_yes) - (1 - smoothing) * np.exp(log_no))


def _finite(h: ArrayLike) -> Floats:
    margins: Floats = np.asarray(h, dtype=np.float64)
    if not np.all(np.isfinite(margins)):
        raise InputError("a margin is infinite or not a number; give log-probabilities above minus infinity")
    return margins


def _check_smoothing(smoothing: float) -> None:
    if not 0 < smoothing < 0.5:
        raise InputError(f"smoothing is {smoothing}; give a number above 0 and below 0.5, such as {SMOOTHING}")
