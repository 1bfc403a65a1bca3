"""Paired comparison of strategies in a measure of single questions, whatever it measures: passages, answers, judgements, claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError
from hlgraph.evaluate.bootstrap import RESAMPLES, Difference, Interval, Resamples
from hlgraph.evaluate.metrics.significance import holm, permutation_test

Values = NDArray[np.float64]
"""One value a question, from 0 to 1; NaN where there is none, such as a judgement that could not be read."""


@dataclass(frozen=True, slots=True)
class Paired:
    """One strategy in one measure, and its difference from the strategy that it is compared with.

    Attributes
    ----------
    questions : number of questions with a value
    own : mean and interval; None without a value
    difference : this strategy minus the other, over the questions where both have a value; None for the other itself, and
        where no question has both
    p : of the paired permutation test; 1 without a difference
    corrected : the same, corrected by Holm for all strategies of the comparison
    deviation : standard deviation of the differences of single questions
    """

    questions: int
    own: Interval | None
    difference: Difference | None = None
    p: float = 1.0
    corrected: float = 1.0
    deviation: float = 0.0


def paired(
    values: Mapping[str, Values],
    *,
    against: str | None,
    is_tested: bool = True,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Paired]:
    """Each strategy in one measure, beside one of them: bootstrap intervals, permutation tests, and Holm's correction.

    Parameters
    ----------
    values : values of the same questions in the same order, by strategy
    against : the strategy to compare with; None or a strategy without values: nothing is compared
    is_tested : run the permutation tests; without them p is 1
    resamples : number of resamples, default 10,000
    seed : seed of the resampling, default 0

    Raises
    ------
    InputError
        The strategies have different numbers of questions.

    Examples
    --------
    >>> found = paired({"a": np.array([1.0, 1.0, 1.0, 0.0]), "b": np.zeros(4)}, against="b")
    >>> found["a"].difference.mean, found["a"].p, found["b"].difference
    (0.75, 0.25, None)
    """
    if len({len(item) for item in values.values()}) > 1:
        raise InputError("strategies are compared on the same questions; these have different numbers of values")
    if not values:
        return {}
    is_whole = all(np.isfinite(item).all() for item in values.values())
    shared = Resamples(np.stack(list(values.values()), axis=1), resamples=resamples, seed=seed) if is_whole else None
    found = {}
    for at, (name, own) in enumerate(values.items()):
        base = None if name == against or against is None else values.get(against)
        if shared is None:
            found[name] = _with_gaps(own, base, resamples=resamples, seed=seed)
        else:
            other = None if base is None else shared.difference(at, list(values).index(str(against)))
            found[name] = Paired(len(own), shared.interval(at), other)
        if is_tested and base is not None and found[name].difference is not None:
            differences = (own - base)[np.isfinite(own - base)]
            found[name] = replace(found[name], p=permutation_test(differences), deviation=float(np.std(differences)))
    tested = [name for name, item in found.items() if item.difference is not None]
    corrected = holm([found[name].p for name in tested])
    return found | {name: replace(found[name], corrected=p) for name, p in zip(tested, corrected, strict=True)}


def _with_gaps(own: Values, base: Values | None, *, resamples: int, seed: int) -> Paired:
    """The mean over the questions with a value, and the difference over those where both have one."""

    def drawn(*columns: Values) -> Resamples:
        return Resamples(np.stack(columns, axis=1), resamples=resamples, seed=seed)

    has_value = np.isfinite(own)
    if not has_value.any():
        return Paired(0, None)
    has_both = has_value & np.isfinite(base) if base is not None else np.zeros_like(has_value)
    other = drawn(own[has_both], base[has_both]).difference(0, 1) if base is not None and has_both.any() else None
    return Paired(int(has_value.sum()), drawn(own[has_value]).interval(0), other)
