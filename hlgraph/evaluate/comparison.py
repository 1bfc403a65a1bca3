"""Compares strategies, or two runs of the same strategies, with confidence intervals and p values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import UnknownNameError
from hlgraph.evaluate.bootstrap import RESAMPLES, Difference, Interval, Resamples
from hlgraph.evaluate.metrics import MEASURES, measured
from hlgraph.evaluate.runner import EvalReport


class Comparison(NamedTuple):
    """The difference of two strategies in one measure.

    Attributes
    ----------
    measure : name of the measure
    a, b : names of the strategies; equal when two runs are compared
    difference : ``a`` minus ``b``
    """

    measure: str
    a: str
    b: str
    difference: Difference


class Uncertainty(NamedTuple):
    """The uncertainty of an evaluation.

    Attributes
    ----------
    intervals : confidence intervals by strategy and measure
    pairs : differences of all pairs of strategies in each measure, each pair once
    """

    intervals: Mapping[str, Mapping[str, Interval]]
    pairs: tuple[Comparison, ...]

    def between(self, measure: str, a: str, *, b: str) -> Difference | None:
        """The difference ``a`` minus ``b`` of two strategies in a measure; None for a strategy and itself.

        Parameters
        ----------
        measure : name of the measure
        a : name of the first strategy
        b : name of the second strategy
        """
        for item in self.pairs:
            if item.measure == measure and (item.a, item.b) == (a, b):
                return item.difference
            if item.measure == measure and (item.a, item.b) == (b, a):
                turned = item.difference
                return Difference(-turned.mean, -turned.high, -turned.low, turned.p)
        return None


def uncertainty(report: EvalReport, *, resamples: int = RESAMPLES, seed: int = 0) -> Uncertainty:
    """Confidence intervals of all measures and differences of all pairs of strategies, by the paired bootstrap over questions.

    The p values are not corrected for multiple comparisons.

    Parameters
    ----------
    report : the evaluation
    resamples : number of resamples, default 10,000
    seed : seed of the resampling, default 0
    """
    names = list(report.strategies)
    width = len(MEASURES)
    drawn = Resamples(_values(report), resamples=resamples, seed=seed)
    intervals = {
        name: {measure: drawn.interval(width * at + place) for place, measure in enumerate(MEASURES)}
        for at, name in enumerate(names)
    }
    pairs = tuple(
        Comparison(measure, names[a], names[b], drawn.difference(width * a + place, width * b + place))
        for a, b in combinations(range(len(names)), 2)
        for place, measure in enumerate(MEASURES)
    )
    return Uncertainty(intervals, pairs)


def run_differences(
    report: EvalReport, earlier: EvalReport, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[Comparison]:
    """The differences between two runs, now (``a``) minus before (``b``), for each strategy in both and each measure.

    The questions must be the same (see :func:`hlgraph.evaluate.runs.check_comparable`), in any order.

    Parameters
    ----------
    report : the run now
    earlier : the run before
    resamples : number of resamples, default 10,000
    seed : seed of the resampling, default 0

    Raises
    ------
    UnknownNameError
        The runs have no strategy in common.
    """
    names = [name for name in report.strategies if name in earlier.strategies]
    if not names:
        raise UnknownNameError(
            f"the earlier run asked {', '.join(earlier.strategies)}, this one asked {', '.join(report.strategies)}; "
            "ask at least one strategy of the earlier run"
        )
    place = {question.id: at for at, question in enumerate(earlier.questions)}
    order = [place[question.id] for question in report.questions]
    now, before = _values(report, names), _values(earlier, names)[order]
    drawn = Resamples(np.concatenate([now, before], axis=1), resamples=resamples, seed=seed)
    width = now.shape[1]
    return [
        Comparison(measure, name, name, drawn.difference(column, width + column))
        for column, (name, measure) in enumerate((name, measure) for name in names for measure in MEASURES)
    ]


def best(report: EvalReport, measure: str) -> str:
    """The strategy with the highest value of a measure; ties break by name.

    Parameters
    ----------
    report : the evaluation
    measure : name of the measure
    """
    return min(report.strategies, key=lambda name: (-report.strategies[name].scores.by_name()[measure], name))


def _values(report: EvalReport, names: Sequence[str] | None = None) -> NDArray[np.float64]:
    """The measures of each question, an array of shape (questions, strategies * measures)."""
    chosen = report.strategies if names is None else names
    rows = [
        [
            measured(outcome.ids, question.gold)
            for question, outcome in zip(report.questions, report.strategies[name].outcomes, strict=True)
        ]
        for name in chosen
    ]
    return np.concatenate([np.array(each, dtype=np.float64) for each in rows], axis=1)
