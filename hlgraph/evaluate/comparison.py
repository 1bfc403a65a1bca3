"""Which of two strategies, or of two runs of one strategy, is better, and whether the questions can tell."""

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
    """``a`` minus ``b`` in one measure."""

    measure: str
    a: str
    b: str
    difference: Difference


class Uncertainty(NamedTuple):
    """Intervals by strategy and measure, and the differences of all pairs of strategies, each pair once."""

    intervals: Mapping[str, Mapping[str, Interval]]
    pairs: tuple[Comparison, ...]

    def between(self, measure: str, a: str, *, b: str) -> Difference | None:
        """``a`` minus ``b``; None for a strategy and itself."""
        for item in self.pairs:
            if item.measure == measure and (item.a, item.b) == (a, b):
                return item.difference
            if item.measure == measure and (item.a, item.b) == (b, a):
                turned = item.difference
                return Difference(-turned.mean, -turned.high, -turned.low, turned.p)
        return None


def uncertainty(report: EvalReport, *, resamples: int = RESAMPLES, seed: int = 0) -> Uncertainty:
    """Intervals of all measures and differences of all pairs of strategies, by the paired bootstrap over questions.

    The p of many pairs are not corrected for being many.
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
    """Each strategy that both runs asked: now (``a``) minus before (``b``), in every measure.

    The questions must be the same (see `hlgraph.evaluate.runs.check_comparable`); their order need not be.

    Raises
    ------
    UnknownNameError
        The runs have no strategy in common.
    """
    names = [name for name in report.strategies if name in earlier.strategies]
    if not names:
        raise UnknownNameError(
            f"the earlier run asked {', '.join(earlier.strategies)}, this one {', '.join(report.strategies)}; "
            "ask one of the same strategies to compare"
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
    """The strategy with the highest value of a measure; ties by name."""
    return min(report.strategies, key=lambda name: (-report.strategies[name].scores.by_name()[measure], name))


def _values(report: EvalReport, names: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Shape (questions, strategies * measures)."""
    chosen = report.strategies if names is None else names
    rows = [
        [
            measured(outcome.ids, question.gold)
            for question, outcome in zip(report.questions, report.strategies[name].outcomes, strict=True)
        ]
        for name in chosen
    ]
    return np.concatenate([np.array(each, dtype=np.float64) for each in rows], axis=1)
