"""Bootstrap intervals, permutation tests, Cohen's kappa, and comparisons of strategies and of runs. Pure functions.

``scipy.stats.bootstrap`` and ``permutation_test`` are not used: they resample one statistic at a time, which takes 6 s instead of
0.7 s for 48 columns of 500 questions, and the permutations draw other signs, so that p values of a seed would change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.evaluate.metrics import MEASURES, Judged, measured, ranked_measures

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Question
    from hlgraph.evaluate.runner import EvalReport, Outcome


MEASURE = "recall@5"
"""The measure by which strategies are compared by default."""
RESAMPLES = 10_000
CONFIDENCE = 0.95
FEWEST = 6
"""Minimum number of questions of a difference beyond noise: with fewer, no permutation test has a p below 0.05."""
_BLOCK = 1_000_000  # number of draws in memory at a time
_DIGITS = 12  # decimals that are compared, so that the order of a sum does not matter
Values = NDArray[np.float64]
"""One value per question, from 0 to 1; NaN if there is none, for example an unreadable judgement."""


class Interval(NamedTuple):
    """A mean and the bounds of its confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two means with its confidence interval and p value.

    Attributes
    ----------
    mean : mean of the first minus mean of the second
    low, high : bounds of the confidence interval
    p : two-sided p value, from 2 / (resamples + 1) to 1
    questions : number of questions
    """

    mean: float
    low: float
    high: float
    p: float
    questions: int = field(default=FEWEST, compare=False)

    @property
    def is_noise(self) -> bool:
        """Whether the interval contains 0 or the questions are fewer than 6: they do not tell which of the two is better."""
        return self.low <= 0 <= self.high or self.questions < FEWEST


class Resamples:
    """Means of columns of values over questions drawn with replacement, with the same draws for every column.

    Each resample draws as many questions as there are. Because all columns share the draws, the difference of two columns
    in a resample is a difference over the same questions, which makes the test a paired one.

    Parameters
    ----------
    values : array of shape (questions, columns)
    resamples : number of resamples, at least 100, default 10,000
    seed : seed of the draws, default 0; the same seed and number of questions give the same draws

    Raises
    ------
    InputError
        There is no question or no column, or fewer than 100 resamples.

    Notes
    -----
    Time is O(resamples * questions), drawn in blocks; memory is O(resamples * columns).

    Examples
    --------
    >>> drawn = Resamples(np.array([[1.0, 0.0], [1.0, 1.0]] * 8))
    >>> drawn.interval(0)
    Interval(mean=1.0, low=1.0, high=1.0)
    >>> drawn.difference(0, 1).is_noise
    False

    References
    ----------
    Efron, Tibshirani: An Introduction to the Bootstrap (1993), chapters 13 (percentile interval) and 16 (tests).
    """

    def __init__(self, values: NDArray[np.float64], *, resamples: int = RESAMPLES, seed: int = 0) -> None:
        if values.ndim != 2 or not values.size:
            raise InputError(f"the bootstrap needs questions and measures; the values have the shape {values.shape}")
        if resamples < 100:
            raise InputError(f"{resamples} resamples are too few; use at least 100")
        self._questions = len(values)
        self._means = values.mean(axis=0)
        self._drawn = _drawn_means(values, resamples, seed=seed)

    def interval(self, column: int) -> Interval:
        """The mean of a column with its 95 % percentile interval.

        Parameters
        ----------
        column : index of the column
        """
        low, high = _bounds(self._drawn[:, column])
        return Interval(float(self._means[column]), low, high)

    def difference(self, a: int, b: int) -> Difference:
        """Column ``a`` minus column ``b``: the mean, its 95 % percentile interval and its p value.

        With B resamples and d the difference in one of them, p is twice the smaller of (#(d <= 0) + 1) / (B + 1) and
        (#(d >= 0) + 1) / (B + 1), at most 1. One minus p is the confidence at which the interval begins to contain 0.

        Parameters
        ----------
        a : index of the first column
        b : index of the second column
        """
        drawn = np.round(self._drawn[:, a] - self._drawn[:, b], _DIGITS)
        low, high = _bounds(drawn)
        fewer = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
        p = min(1.0, 2 * (fewer + 1) / (len(drawn) + 1))
        return Difference(float(np.round(self._means[a] - self._means[b], _DIGITS)), low, high, p, self._questions)


def _drawn_means(values: NDArray[np.float64], resamples: int, *, seed: int) -> NDArray[np.float64]:
    count = len(values)
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, values.shape[1]))
    size = max(1, _BLOCK // count)
    for start in range(0, resamples, size):
        rows = min(size, resamples - start)
        chosen = rng.integers(count, size=(rows, count))
        places = (chosen + count * np.arange(rows)[:, None]).ravel()
        times = np.bincount(places, minlength=rows * count).reshape(rows, count)
        means[start : start + rows] = times @ values / count
    return means


def _bounds(drawn: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


# Agreement of two raters: Cohen's kappa with a bootstrap interval.
#
# References
# ----------
# Cohen: A Coefficient of Agreement for Nominal Scales. Educational and Psychological Measurement 20 (1960).


class Kappa(NamedTuple):
    """The agreement of two raters.

    Attributes
    ----------
    kappa : 1 for full agreement, 0 for agreement by chance; None if both gave only one label, so that chance always agrees
    low, high : bounds of the 95 % interval; None with ``kappa``
    observed : share of equal labels
    labels : number of things that both labelled
    """

    kappa: float | None
    low: float | None
    high: float | None
    observed: float
    labels: int


def cohen_kappa(a: Sequence[str], b: Sequence[str]) -> Kappa:
    """Cohen's kappa ``(o - c) / (1 - c)`` of the labels that two raters gave to the same things.

    o is the share of equal labels, and c the share that is expected by chance: the sum over labels of the product of both
    raters' shares. The interval is the percentile interval of the bootstrap over things; resamples in which kappa is not
    defined are left out.

    Parameters
    ----------
    a : labels of one rater
    b : labels of the other, in the same order

    Raises
    ------
    InputError
        There is no label, or the numbers of labels differ.

    Examples
    --------
    >>> found = cohen_kappa(["yes"] * 25 + ["no"] * 25, ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15)
    >>> round(found.kappa, 2), found.observed
    (0.4, 0.7)
    """
    if not a or len(a) != len(b):
        raise InputError(f"{len(a)} labels of one rater and {len(b)} of the other; give one of each for every thing")
    names, codes = np.unique([a, b], return_inverse=True)
    size, (first, second) = len(names), codes.reshape(2, len(a))
    cells = np.eye(size * size)[first * size + second]  # one row per thing, with a 1 for its pair of labels
    kappa = float(_kappas(cells.mean(axis=0, keepdims=True), size)[0])
    observed = float(np.mean(first == second))
    if np.isnan(kappa):
        return Kappa(None, None, None, observed, len(a))
    drawn = _kappas(_drawn_means(cells, RESAMPLES, seed=0), size)
    return Kappa(kappa, *_bounds(drawn[~np.isnan(drawn)]), observed, len(a))


def _kappas(tables: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Kappa of each flattened table of shares; NaN if chance alone always agrees."""
    shares = tables.reshape(-1, size, size)
    observed = np.trace(shares, axis1=1, axis2=2)
    chance = np.einsum("ni,ni->n", shares.sum(axis=2), shares.sum(axis=1))
    left = 1 - chance
    is_defined = left > 1e-12
    return np.where(is_defined, (observed - chance) / np.where(is_defined, left, 1.0), np.nan)


# Paired tests of two systems on the same questions: permutation test, Holm's correction, and power.
#
# References
# ----------
# Smucker, Allan, Carterette: A Comparison of Statistical Significance Tests for Information Retrieval Evaluation. CIKM (2007).
# Holm: A Simple Sequentially Rejective Multiple Test Procedure. Scandinavian Journal of Statistics 6 (1979).


PERMUTATIONS = 10_000
_SIGNIFICANCE, _POWER = 0.05, 0.8
_EXACT = 13  # maximum number of questions that differ for which all assignments of signs are tried


def permutation_test(differences: NDArray[np.float64]) -> float:
    """The two-sided p value of the paired permutation test (Fisher's randomisation test) for a mean difference of 0.

    If the two systems were equal, each difference could equally well have the opposite sign. p is the share of sign assignments
    whose mean is at least as far from 0: among all of them for up to 13 questions that differ, otherwise among 10,000 random
    ones plus the observed one.

    Parameters
    ----------
    differences : value of one system minus that of the other, one per question

    Raises
    ------
    InputError
        There is no difference, or one is not finite.

    Examples
    --------
    >>> permutation_test(np.array([1.0, 1.0, 1.0, 0.0]))
    0.25
    """
    if differences.ndim != 1 or not len(differences) or not np.isfinite(differences).all():
        raise InputError(f"a test needs one finite difference a question; got the shape {differences.shape}")
    some = differences[differences != 0].astype(np.float64)
    if not len(some):
        return 1.0
    observed = np.round(abs(some.sum()), _DIGITS)
    if len(some) <= _EXACT:
        signs = 1 - 2.0 * ((np.arange(2 ** len(some))[:, None] >> np.arange(len(some))) & 1)
        return float(np.mean(np.round(np.abs(signs @ some), _DIGITS) >= observed))
    rng = np.random.default_rng(0)
    as_far, size = 0, max(1, _BLOCK // len(some))
    for start in range(0, PERMUTATIONS, size):
        rows = min(size, PERMUTATIONS - start)
        signs = 1 - 2.0 * rng.integers(2, size=(rows, len(some)))
        as_far += int((np.round(np.abs(signs @ some), _DIGITS) >= observed).sum())
    return (as_far + 1) / (PERMUTATIONS + 1)


def holm(values: Sequence[float]) -> tuple[float, ...]:
    """p values of several tests, corrected (Holm) so that any false finding among them is as rare as in a single test.

    Parameters
    ----------
    values : p values, each from 0 to 1

    Returns
    -------
    tuple of float
        In the same order, at most 1.

    Raises
    ------
    InputError
        A value is not from 0 to 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    if not all(0 <= value <= 1 for value in values):
        raise InputError("p values are from 0 to 1")
    order = np.argsort(values, kind="stable")
    scaled = np.arange(len(values), 0, -1) * np.asarray(values, dtype=np.float64)[order]
    corrected = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return tuple(corrected[np.argsort(order)].tolist())


class Significance(NamedTuple):
    """A paired permutation test of one strategy against another.

    Attributes
    ----------
    p : two-sided p value
    corrected : the same, corrected by Holm for all strategies that were tested together
    deviation : standard deviation of the differences of single questions
    """

    p: float
    corrected: float
    deviation: float


def significances(differences: Mapping[str, Values]) -> dict[str, Significance]:
    """Permutation tests of the differences per question, by strategy, corrected for all of them."""
    p_values = {name: permutation_test(difference) for name, difference in differences.items()}
    return {
        name: Significance(p_values[name], corrected, float(np.std(differences[name])))
        for name, corrected in zip(p_values, holm(list(p_values.values())), strict=True)
    }


def needed_questions(difference: float, deviation: float) -> int:
    """Number of questions with which a two-sided paired test at level 0.05 detects a mean difference with probability 0.8.

    Uses the normal approximation.

    Parameters
    ----------
    difference : the mean difference to detect, not 0
    deviation : standard deviation of the differences of single questions, in the same unit

    Raises
    ------
    InputError
        The difference is 0, or the deviation is negative.

    Examples
    --------
    >>> needed_questions(0.02, 0.3)
    1766
    """
    if not difference or deviation < 0:
        raise InputError(
            f"difference {difference}, deviation {deviation}: give a difference other than 0, and a deviation of at least 0"
        )
    reach = NormalDist().inv_cdf(1 - _SIGNIFICANCE / 2) + NormalDist().inv_cdf(_POWER)
    return max(1, math.ceil((reach * deviation / difference) ** 2))


# Paired comparison of strategies in any measure per question.


@dataclass(frozen=True, slots=True)
class Paired:
    """One strategy in one measure, and its difference from the strategy that it is compared with.

    Attributes
    ----------
    questions : number of questions with a value
    own : mean and interval; None without a value
    difference : this strategy minus the other, over the questions for which both have a value; None for the other itself, and
        if there is no such question
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
) -> dict[str, Paired]:
    """Compare each strategy with one of them in one measure: bootstrap intervals, permutation tests, and Holm's correction.

    Parameters
    ----------
    values : values of the same questions in the same order, by strategy
    against : the strategy to compare with; None or a strategy without values: nothing is compared
    is_tested : run the permutation tests; without them p is 1

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
    shared = Resamples(np.stack(list(values.values()), axis=1)) if is_whole else None
    comparisons: dict[str, Paired] = {}
    differences: dict[str, Values] = {}
    for at, (name, own) in enumerate(values.items()):
        base = None if name == against or against is None else values.get(against)
        if shared is None:
            comparisons[name] = _with_gaps(own, base)
        else:
            other = None if base is None else shared.difference(at, list(values).index(str(against)))
            comparisons[name] = Paired(len(own), shared.interval(at), other)
        if is_tested and base is not None and comparisons[name].difference is not None:
            differences[name] = (own - base)[np.isfinite(own - base)]
    return comparisons | {
        name: replace(comparisons[name], **test._asdict()) for name, test in significances(differences).items()
    }


def _with_gaps(own: Values, base: Values | None) -> Paired:
    """The mean over the questions with a value, and the difference over those for which both have one."""
    has_value = np.isfinite(own)
    if not has_value.any():
        return Paired(0, None)
    has_both = has_value & np.isfinite(base) if base is not None else np.zeros_like(has_value)
    other = None
    if base is not None and has_both.any():
        other = Resamples(np.stack([own[has_both], base[has_both]], axis=1)).difference(0, 1)
    return Paired(int(has_value.sum()), Resamples(own[has_value][:, None]).interval(0), other)


# Further parts of a report, such as judgements and claims: values of single questions by strategy, notes, and tables.


Row = tuple[float | None, ...]
"""The values of one question, one per measure; None for a missing value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Measures per question, such as those of answers, judgements or claims.

    Every strategy has one row per question, in the order of ``questions``, and every row one value per measure.

    Attributes
    ----------
    title : what was measured and by whom, such as "correctness, judged by openai/gpt-5-mini"
    questions : ids of the questions
    measures : names of the measures, such as ``correctness``
    values : rows by strategy; a value is from 0 to 1, or None if it is missing, for example because a reply could not be parsed
    notes : lines about the figures, such as the number of replies that could not be parsed
    """

    title: str
    questions: tuple[str, ...]
    measures: tuple[str, ...]
    values: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise InputError if the rows do not match the questions and measures."""
        for name, rows in self.values.items():
            if len(rows) != len(self.questions) or any(len(row) != len(self.measures) for row in rows):
                raise InputError(
                    f"{self.title}: {name} has {len(rows)} rows; give one for each of {len(self.questions)} questions, with "
                    f"one value for each of {len(self.measures)} measures"
                )

    def columns(self, measure: str) -> dict[str, Values]:
        """The values of one measure by strategy; NaN for a missing value."""
        place = self.measures.index(measure)
        return {
            name: np.array([np.nan if row[place] is None else row[place] for row in rows], dtype=np.float64)
            for name, rows in self.values.items()
        }

    @property
    def main(self) -> str:
        """The measure that is shown by groups of questions: F1 of answers, else the first."""
        return "F1" if "F1" in self.measures else self.measures[0]


class PairedSection(NamedTuple):
    """A section, and the comparison of its strategies by measure."""

    section: Section
    found: Mapping[str, Mapping[str, Paired]]


def in_pairs(section: Section, against: str | None) -> PairedSection:
    """Compare the strategies of a section with one of them, in every measure.

    Parameters
    ----------
    section : the section
    against : the strategy to compare with; nothing is compared if it is None, or not in the section
    """
    against = against if against in section.values else None
    return PairedSection(
        section, {measure: paired(section.columns(measure), against=against) for measure in section.measures}
    )


# Comparisons of strategies, or of two runs of the same strategies.


class Comparison(NamedTuple):
    """The difference of two strategies in one measure.

    Attributes
    ----------
    measure : name of the measure
    a, b : names of the strategies; equal when two runs are compared
    difference : ``a`` minus ``b``
    tested : the permutation test of two runs, corrected for the strategies of both; None if strategies are compared
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
    intervals : confidence intervals by strategy and measure; without measures if the questions have no gold
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
                return replace(turned, mean=-turned.mean, low=-turned.high, high=-turned.low)
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
    if not any(question.gold for question in report.questions):
        return Uncertainty({name: {} for name in names}, ())
    width = len(MEASURES)
    values = np.concatenate([np.array(rows, dtype=np.float64) for rows in _retrieval(report).values.values()], axis=1)
    drawn = Resamples(values, resamples=resamples, seed=seed)
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
    values = values_of(report, measure)
    if not np.isfinite(values[against]).any():
        return {}
    return significances({name: own - values[against] for name, own in values.items() if name != against})


def run_differences(report: EvalReport, earlier: EvalReport) -> list[Comparison]:
    """The differences between two runs, now (``a``) minus before (``b``), for each strategy in both and each measure.

    The questions must be the same (see :func:`hlgraph.evaluate.runner.check_comparable`), in any order.

    Parameters
    ----------
    report : the run now
    earlier : the run before

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
    comparisons = section_differences(_retrieval(report), _retrieval(earlier))
    return sorted(comparisons, key=lambda item: names.index(item.a))


def section_differences(now: Section, earlier: Section) -> list[Comparison]:
    """The differences between two runs in a section, now (``a``) minus before (``b``), over questions that have both values.

    Parameters
    ----------
    now : the section of the run now
    earlier : that of the run before, with the same questions in any order
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
            Comparison(measure, name, name, Resamples(values).difference(0, 1), tests[name])
            for name, values in both.items()
        ]
    return comparisons


def ranked_section(report: EvalReport, names: Sequence[str]) -> Section:
    """Measures by ir-measures of every question, as a section of a report.

    Parameters
    ----------
    report : the evaluation
    names : names of measures, see :func:`hlgraph.evaluate.metrics.ranked_measures`

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
            name: tuple(
                tuple(row) if question.gold else (None,) * len(names)
                for question, row in zip(
                    report.questions, ranked_measures(names, _judged(report, name)).tolist(), strict=True
                )
            )
            for name in report.strategies
        },
    )


def values_of(report: EvalReport, measure: str) -> dict[str, Values]:
    """The values of one of ``MEASURES`` by strategy, one per question.

    Parameters
    ----------
    report : the evaluation
    measure : name of the measure
    """
    return _retrieval(report).columns(measure)


def best(report: EvalReport, measure: str) -> str:
    """The strategy with the highest value of a measure; ties break by name.

    Parameters
    ----------
    report : the evaluation
    measure : name of the measure
    """
    return min(report.strategies, key=lambda name: (-report.strategies[name].scores.by_name()[measure], name))


def _retrieval(report: EvalReport) -> Section:
    """``MEASURES`` of every question, by strategy; None for a question without gold."""
    return Section(
        title="retrieval",
        questions=tuple(question.id for question in report.questions),
        measures=MEASURES,
        values={
            name: tuple(measured(*item) if item[1] else (None,) * len(MEASURES) for item in _judged(report, name))
            for name in report.strategies
        },
    )


def _judged(report: EvalReport, name: str) -> list[Judged]:
    """What one strategy found for each question, and its gold ids."""
    return [
        (outcome.ids, question.gold)
        for question, outcome in zip(report.questions, report.strategies[name].outcomes, strict=True)
    ]


def default_against(report: EvalReport, against: str | None) -> str:
    """The strategy to compare with: the one requested, else the best one.

    Parameters
    ----------
    report : the evaluation
    against : name of a strategy, or None for the best

    Raises
    ------
    InputError
        The evaluation did not ask that strategy.
    """
    if against is None:
        return best(report, MEASURE)
    if against not in report.strategies:
        raise InputError(
            f"{against!r} is not among the strategies asked; compare with one of: {', '.join(report.strategies)}"
        )
    return against


# The questions with the largest losses of a strategy.


SHOWN = 5
"""Number of found passages that are shown of a question, as many as ``MEASURE`` counts."""


class Loss(NamedTuple):
    """A question on which a strategy finds less than the other.

    Attributes
    ----------
    question : the question
    difference : the value of the strategy minus that of the other, below 0
    own, other : what the two found
    """

    question: Question
    difference: float
    own: Outcome
    other: Outcome


def losses(report: EvalReport, against: str, *, most: int = 5) -> dict[str, list[Loss]]:
    """The largest losses of each strategy in recall@5, the largest first; ties break by question id.

    Parameters
    ----------
    report : the evaluation
    against : the strategy to compare with
    most : maximum number of questions for each strategy
    """
    values = values_of(report, MEASURE)
    base, others = values[against], report.strategies[against].outcomes
    by_strategy = {}
    for name, own in values.items():
        rows = zip(report.questions, (own - base).tolist(), report.strategies[name].outcomes, others, strict=True)
        lost = sorted((Loss(*row) for row in rows if row[1] < 0), key=lambda item: (item.difference, item.question.id))
        if lost:
            by_strategy[name] = lost[:most]
    return by_strategy


def passages_of(found: Iterable[Loss]) -> set[str]:
    """The ids of all passages that are shown with these questions: gold ones and found ones."""
    return {name for item in found for name in (*item.question.gold, *item.own.ids[:SHOWN], *item.other.ids[:SHOWN])}


# Wilson score interval of a share that was counted on a sample.

_Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution


class Share(NamedTuple):
    """A share from 0 to 1, and the bounds of its 95 % confidence interval."""

    share: float
    low: float
    high: float


def wilson(successes: float, trials: int) -> Share:
    """The share of successes with its 95 % Wilson score interval; O(1).

    With n trials, p = successes / n and z = 1.96 the interval is centered at ``(p + z²/2n) / (1 + z²/n)`` and its half width
    is ``z / (1 + z²/n) · sqrt(p (1 - p) / n + z²/4n²)``. It stays inside [0, 1] even if p is 0 or 1. Without trials the result
    is ``(0, 0, 1)``.

    Parameters
    ----------
    successes : number of successes, from 0 to ``trials``; a tie may count as half of one, which widens the interval
    trials : number of trials, 0 or more

    Returns
    -------
    Share
        The share and its bounds, all from 0 to 1.

    Raises
    ------
    InputError
        A count is negative, or there are more successes than trials.

    Examples
    --------
    >>> [round(each, 3) for each in wilson(193, 200)]
    [0.965, 0.93, 0.983]

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if not 0 <= successes <= trials:
        raise InputError(
            f"there are {successes} successes in {trials} trials; give counts with 0 <= successes <= trials"
        )
    if not trials:
        return Share(0.0, 0.0, 1.0)
    share, z2 = successes / trials, _Z95**2 / trials
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z95 / (1 + z2) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials))
    # In exact arithmetic the interval contains the share; rounding may break that if the share is 0 or 1.
    return Share(share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)))
