"""Asks every question of a set with every strategy, and keeps what came back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hlgraph.errors import HLGraphError, InputError
from hlgraph.evaluate.counting import Cost
from hlgraph.evaluate.datasets import Dataset, Question
from hlgraph.evaluate.metrics import Scores, grouped, percentile, score

WARMING = 3
"""Questions that are asked before anything is timed: a store loads some things at the first one, some at the second."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a search gives: corpus ids, best first, and how often it went to the stores for them."""

    ids: tuple[str, ...]
    round_trips: int


Search = Callable[[str], Ranked]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question as one strategy answered it.

    Attributes
    ----------
    milliseconds
        Wall-clock time of the call.
    rows, bytes
        Read from the stores, see `hlgraph.evaluate.counting.Cost`; 0 where nobody counted.
    error
        Why there is no answer; empty where there is one. A question without an answer finds nothing: its recall is 0.
    cpu_milliseconds
        What this process computed for it, on all its processors: that is the same on a machine that others use too. What
        servers compute is not in it.
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
    """What a strategy costs; ``None`` where no question was answered.

    Attributes
    ----------
    p50_ms, p95_ms, p99_ms
        Percentiles of the time of a call, interpolated as in `hlgraph.evaluate.metrics.percentile`.
    round_trips, rows, bytes
        The mean over the questions that were answered.
    failed
        How many questions were not answered; they are in none of the figures.
    cpu_ms
        The median of what this process computed for a question.
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
    """One strategy: the outcomes in the order of the questions (for paired tests), and their measures.

    Attributes
    ----------
    outcomes
        One a question.
    scores
        Of all questions; those that failed count as found nothing. ``by_hops``, ``by_type`` and ``by_subset`` hold those
        of the groups, 0 and "" where the set does not say.
    figures
        Time and what was read.
    """

    outcomes: tuple[Outcome, ...]
    scores: Scores
    by_hops: Mapping[int, Scores]
    by_type: Mapping[str, Scores]
    by_subset: Mapping[str, Scores]
    figures: Figures

    @property
    def errors(self) -> dict[str, int]:
        """What went wrong, and how often."""
        failed = grouped((item.error for item in self.outcomes if item.error), str)
        return {error: len(items) for error, items in failed.items()}


@dataclass(frozen=True, slots=True)
class EvalReport:
    """What an evaluation found, by strategy."""

    dataset: str
    questions: tuple[Question, ...]
    strategies: Mapping[str, StrategyResult]

    @property
    def failed(self) -> int:
        """How many questions were not answered, over all strategies."""
        return sum(result.figures.failed for result in self.strategies.values())


def evaluate(
    dataset: Dataset,
    search: Mapping[str, Search],
    *,
    progress: Callable[[str, int, int], None] | None = None,
    cost: Callable[[], Cost] | None = None,
) -> EvalReport:
    """Ask all questions, one after another, with one strategy after another.

    The first three questions are asked once before anything is timed, by each strategy: what stores load at the first
    questions is no cost of a question. What a search caches for a question it still has for the next strategy: to compare
    times, give searches that share no cache. An error of a search is kept with its question, and the rest is asked; so is
    a mistake in a strategy (a ``ValueError``, say): it must not take the figures of the others with it.

    Parameters
    ----------
    dataset
        The questions and their gold; a search sees the text of a question and nothing else of it.
    search
        Strategies by name. Each should give 20 ids or more, else recall@20 is low for want of them.
    progress
        Called after each question with the strategy, how many are done, and how many there are.
    cost
        Says what was read since it was last called; called after the clock of a question has stopped.

    Raises
    ------
    InputError
        There is no strategy or no question.
    """
    if not search:
        raise InputError("no strategy to evaluate; name one at least")
    if not dataset.questions:
        raise InputError(f"no question in {dataset.name} to evaluate; give one at least")
    total = len(dataset.questions)
    strategies: dict[str, StrategyResult] = {}
    for name, ask in search.items():
        outcomes: list[Outcome] = []
        for question in dataset.questions[:WARMING]:
            timed(question, ask, cost=cost or _nothing)
        for question in dataset.questions:
            outcomes.append(timed(question, ask, cost=cost or _nothing))
            if progress is not None:
                progress(name, len(outcomes), total)
        strategies[name] = result_of(dataset.questions, outcomes)
    return EvalReport(dataset.name, dataset.questions, strategies)


def _nothing() -> Cost:
    return Cost(0, 0, 0)


def timed(question: Question, search: Search, *, cost: Callable[[], Cost]) -> Outcome:
    """One question by one search: what came back, or the error, how long it took and what was read."""
    error = ""
    ranked = Ranked((), 0)
    cost()  # what others read before is none of this question's
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
    """The measures of the outcomes of one strategy, one a question and in the same order."""
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
