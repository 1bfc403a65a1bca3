"""Asks every question of a set with every strategy, and measures the outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hlgraph import progress
from hlgraph.errors import HLGraphError, InputError
from hlgraph.evaluate.counting import Cost
from hlgraph.evaluate.datasets import Dataset, Question
from hlgraph.evaluate.metrics.retrieval import Scores, grouped, percentile, score

WARMING = 3
"""Number of questions asked before timing starts, since stores load data during the first few."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result of a search.

    Attributes
    ----------
    ids : passage ids, best first
    round_trips : round trips to the stores
    """

    ids: tuple[str, ...]
    round_trips: int


Search = Callable[[str], Ranked]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one question with one strategy.

    Attributes
    ----------
    question_id : the question
    ids : passage ids found, best first
    milliseconds : wall-clock time of the call
    round_trips : round trips to the stores
    rows, bytes : read from the stores, see :class:`hlgraph.evaluate.counting.Cost`; 0 if not counted
    error : why the search failed, else empty. A failed question finds nothing, so its recall is 0
    cpu_milliseconds : CPU time of this process on all cores, without that of servers; other load on the machine hardly
        changes it
    """

    question_id: str
    ids: tuple[str, ...]
    milliseconds: float
    round_trips: int
    rows: int = 0
    bytes: int = 0
    error: str = ""
    cpu_milliseconds: float = 0.0


class Figures(NamedTuple):
    """The cost of a strategy per question; None if no question was answered.

    Attributes
    ----------
    p50_ms, p95_ms, p99_ms : percentiles of the wall-clock time, see :func:`hlgraph.evaluate.metrics.retrieval.percentile`
    round_trips, rows, bytes : means over the questions that were answered
    failed : number of questions that failed; the other figures exclude them
    cpu_ms : median CPU time of this process
    """

    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    round_trips: float | None
    rows: float | None
    bytes: float | None
    failed: int
    cpu_ms: float | None = None


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """The outcomes of one strategy and their measures.

    Attributes
    ----------
    outcomes : one per question, in the order of the questions, for paired tests
    scores : measures over all questions; a failed question counts as nothing found
    by_hops, by_type, by_subset : measures by group; the key is 0 or "" where the set does not tell
    figures : latency and data read
    """

    outcomes: tuple[Outcome, ...]
    scores: Scores
    by_hops: Mapping[int, Scores]
    by_type: Mapping[str, Scores]
    by_subset: Mapping[str, Scores]
    figures: Figures

    @property
    def errors(self) -> dict[str, int]:
        """Error messages with their counts."""
        failed = grouped((item.error for item in self.outcomes if item.error), str)
        return {error: len(items) for error, items in failed.items()}


@dataclass(frozen=True, slots=True)
class EvalReport:
    """The results of an evaluation, by strategy."""

    dataset: str
    questions: tuple[Question, ...]
    strategies: Mapping[str, StrategyResult]

    @property
    def failed(self) -> int:
        """The number of failed questions over all strategies."""
        return sum(result.figures.failed for result in self.strategies.values())


def evaluate(
    dataset: Dataset,
    search: Mapping[str, Search],
    *,
    cost: Callable[[], Cost] | None = None,
) -> EvalReport:
    """The outcomes of all questions with all strategies, asked one after another.

    Each strategy first asks three questions untimed, so that one-time loading in the stores is not measured. A cache
    filled by one strategy is still there for the next: to compare times, give searches that share no cache. If a search
    fails, the error is kept with its question and the evaluation continues; that includes bugs in a strategy, such as a
    ``ValueError``, so that one strategy cannot spoil the results of the others.

    Parameters
    ----------
    dataset : the questions and their gold; a search sees only the text of a question
    search : searches by name of strategy; each should return at least 20 ids, since fewer lower recall@20
    cost : returns the cost since its last call, called when the clock of a question has stopped; default none

    Raises
    ------
    InputError
        There is no strategy or no question.
    """
    if not search:
        raise InputError("no strategy to evaluate; name at least one")
    if not dataset.questions:
        raise InputError(f"no question in {dataset.name} to evaluate; give at least one")
    strategies: dict[str, StrategyResult] = {}
    for name, ask in search.items():
        outcomes: list[Outcome] = []
        for question in dataset.questions[:WARMING]:
            timed(question, ask, cost=cost or _no_cost)
        with progress.step(f"ask {name}", len(dataset.questions), unit="questions"):
            for question in dataset.questions:
                outcomes.append(timed(question, ask, cost=cost or _no_cost))
                progress.advance(f"ask {name}")
        strategies[name] = result_of(dataset.questions, outcomes)
    return EvalReport(dataset.name, dataset.questions, strategies)


def _no_cost() -> Cost:
    return Cost(0, 0, 0)


def timed(question: Question, search: Search, *, cost: Callable[[], Cost]) -> Outcome:
    """The outcome of one question with one search: ids or error, time, and data read.

    Parameters
    ----------
    question : the question
    search : the search
    cost : returns the cost since its last call
    """
    error = ""
    ranked = Ranked((), 0)
    cost()  # discards what was read before
    start, cpu_start = time.perf_counter(), time.process_time()
    try:
        ranked = search(question.text)
    except (HLGraphError, ArithmeticError, LookupError, TypeError, ValueError) as failure:
        error = f"{type(failure).__name__}: {failure}"
    milliseconds, cpu = 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu_start)
    read = cost()
    return Outcome(
        question.id,
        ranked.ids,
        milliseconds,
        ranked.round_trips,
        rows=read.rows,
        bytes=read.bytes,
        error=error,
        cpu_milliseconds=cpu,
    )


def result_of(questions: Sequence[Question], outcomes: Sequence[Outcome]) -> StrategyResult:
    """The measures of the outcomes of one strategy.

    Parameters
    ----------
    questions : the questions
    outcomes : one per question, in the same order
    """
    pairs = list(zip(questions, outcomes, strict=True))

    def scores(group: Sequence[tuple[Question, Outcome]]) -> Scores:
        return score([(outcome.ids, question.gold) for question, outcome in group])

    return StrategyResult(
        tuple(outcomes),
        scores(pairs),
        by_hops={hops: scores(group) for hops, group in sorted(grouped(pairs, lambda pair: pair[0].hops).items())},
        by_type={kind: scores(group) for kind, group in sorted(grouped(pairs, lambda pair: pair[0].type).items())},
        by_subset={part: scores(group) for part, group in sorted(grouped(pairs, lambda pair: pair[0].subset).items())},
        figures=figures_of(outcomes),
    )


def figures_of(outcomes: Sequence[Outcome]) -> Figures:
    """Percentiles and means over the questions that were answered."""
    answered = [outcome for outcome in outcomes if not outcome.error]
    failed = len(outcomes) - len(answered)
    if not answered:
        return Figures(None, None, None, None, None, None, failed)
    times = [outcome.milliseconds for outcome in answered]
    return Figures(
        percentile(times, 0.5),
        percentile(times, 0.95),
        percentile(times, 0.99),
        sum(outcome.round_trips for outcome in answered) / len(answered),
        sum(outcome.rows for outcome in answered) / len(answered),
        sum(outcome.bytes for outcome in answered) / len(answered),
        failed,
        percentile([outcome.cpu_milliseconds for outcome in answered], 0.5),
    )
