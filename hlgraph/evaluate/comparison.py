"""Compares strategies, or two runs of the same strategies, with confidence intervals and p values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import UnknownNameError
from hlgraph.evaluate.metrics.retrieval import MEASURES, Judged, measured, ranked_measures
from hlgraph.evaluate.runner import EvalReport
from hlgraph.evaluate.statistics import (
    RESAMPLES,
    Difference,
    Interval,
    Resamples,
    Section,
    Significance,
    Values,
    significances,
)


class Comparison(NamedTuple):
    """The difference of two strategies in one measure.

    Attributes
    ----------
    measure : name of the measure
    a, b : names of the strategies; equal when two runs are compared
    difference : ``a`` minus ``b``
    tested : the permutation test of two runs, corrected for the strategies that both asked; None where strategies are compared
    """

    measure: str
    a: str
    b: str
    difference: Difference
    tested: Significance | None = None


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

    The p values are not corrected for multiple comparisons; see :func:`significance`.

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


def significance(report: EvalReport, measure: str, *, against: str) -> dict[str, Significance]:
    """Permutation tests of every other strategy against one of them, in one of ``MEASURES``.

    Parameters
    ----------
    report : the evaluation
    measure : name of the measure
    against : the strategy to compare with
    """
    place = MEASURES.index(measure)
    base = _values(report, [against])[:, place]
    differences = {name: _values(report, [name])[:, place] - base for name in report.strategies if name != against}
    return significances(differences)


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
    columns = {(name, measure): at for at, (name, measure) in enumerate(product(names, MEASURES))}
    tests = {
        measure: significances({name: (now - before)[:, columns[name, measure]] for name in names})
        for measure in MEASURES
    }
    return [
        Comparison(measure, name, name, drawn.difference(column, width + column), tests[measure][name])
        for (name, measure), column in columns.items()
    ]


def section_differences(now: Section, earlier: Section, *, seed: int = 0) -> list[Comparison]:
    """The differences between two runs in a section, now (``a``) minus before (``b``), over questions that have both values.

    Parameters
    ----------
    now : the section of the run now
    earlier : that of the run before, with the same questions in any order
    seed : seed of the resampling, default 0
    """
    place = {name: at for at, name in enumerate(earlier.questions)}
    order = [place[name] for name in now.questions]
    comparisons = []
    for measure in (name for name in now.measures if name in earlier.measures):
        after, before = now.columns(measure), earlier.columns(measure)
        pairs = {name: (after[name], before[name][order]) for name in after if name in before}
        both = {
            name: np.stack([own[kept], other[kept]], axis=1)
            for name, (own, other) in pairs.items()
            if (kept := np.isfinite(own - other)).any()
        }
        tests = significances({name: values[:, 0] - values[:, 1] for name, values in both.items()})
        comparisons += [
            Comparison(measure, name, name, Resamples(values, seed=seed).difference(0, 1), tests[name])
            for name, values in both.items()
        ]
    return comparisons


def ranked_section(report: EvalReport, names: Sequence[str]) -> Section:
    """Measures by ir-measures of every question, as a section of a report.

    Parameters
    ----------
    report : the evaluation
    names : names of measures, see :func:`hlgraph.evaluate.metrics.retrieval.ranked_measures`

    Raises
    ------
    UnknownNameError
        There is no such measure.
    MissingExtraError
        ir-measures is not installed.
    """
    return Section(
        title="further measures, by ir-measures",
        questions=tuple(question.id for question in report.questions),
        measures=tuple(names),
        values={
            name: tuple(map(tuple, ranked_measures(names, _judged(report, name)).tolist()))
            for name in report.strategies
        },
    )


def values_of(report: EvalReport, measure: str) -> dict[str, Values]:
    """The values of one of ``MEASURES`` by strategy, one a question.

    Parameters
    ----------
    report : the evaluation
    measure : name of the measure
    """
    place = MEASURES.index(measure)
    return {name: _values(report, [name])[:, place] for name in report.strategies}


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
    columns = [
        np.array([measured(*item) for item in _judged(report, name)], dtype=np.float64)
        for name in (report.strategies if names is None else names)
    ]
    return np.concatenate(columns, axis=1)


def _judged(report: EvalReport, name: str) -> list[Judged]:
    """What one strategy found for each question, and its gold ids."""
    return [
        (outcome.ids, question.gold)
        for question, outcome in zip(report.questions, report.strategies[name].outcomes, strict=True)
    ]
