"""Asks every question of a set with every strategy, and keeps what came back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from hlgraph.errors import InputError
from hlgraph.evaluate.datasets import Dataset, Question
from hlgraph.evaluate.metrics import ALL_GOLD_CUTOFF, RECALL_CUTOFFS, Scores, grouped, percentile, score


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a search gives: corpus ids, best first, and how often it went to the stores for them."""

    ids: tuple[str, ...]
    round_trips: int


Search = Callable[[str], Ranked]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question as one strategy answered it; ``milliseconds`` is wall-clock time of the call."""

    question_id: str
    ids: tuple[str, ...]
    milliseconds: float
    round_trips: int


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """One strategy: the outcomes in the order of the questions (for paired tests), and their measures.

    Attributes
    ----------
    outcomes
        One a question.
    scores
        Of all questions; ``by_hops`` and ``by_type`` hold those of the groups, 0 and "" where the set does not say.
    p50_ms, p95_ms
        Percentiles of the time of a call, interpolated as in `hlgraph.evaluate.metrics.percentile`.
    round_trips
        To the stores, the mean over questions.
    """

    outcomes: tuple[Outcome, ...]
    scores: Scores
    by_hops: Mapping[int, Scores]
    by_type: Mapping[str, Scores]
    p50_ms: float
    p95_ms: float
    round_trips: float


class ReportJson(TypedDict):
    """An `EvalReport` as JSON data."""

    dataset: str
    questions: int
    strategies: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class EvalReport:
    """What an evaluation found, by strategy."""

    dataset: str
    questions: int
    strategies: Mapping[str, StrategyResult]

    def to_json(self) -> ReportJson:
        """The figures as JSON data: recall and all_gold in per cent, two decimals; times in milliseconds, three.

        Each strategy has ``recall@2``, ``recall@5``, ``recall@10``, ``recall@20``, ``all_gold@5``, ``p50_ms``, ``p95_ms``
        and ``round_trips`` (mean a question, two decimals).
        """
        strategies = {name: _figures(result) for name, result in self.strategies.items()}
        return {"dataset": self.dataset, "questions": self.questions, "strategies": strategies}


def _figures(result: StrategyResult) -> dict[str, float]:
    return {
        **{f"recall@{k}": round(100 * result.scores.recall[k], 2) for k in RECALL_CUTOFFS},
        f"all_gold@{ALL_GOLD_CUTOFF}": round(100 * result.scores.all_gold, 2),
        "p50_ms": round(result.p50_ms, 3),
        "p95_ms": round(result.p95_ms, 3),
        "round_trips": round(result.round_trips, 2),
    }


def evaluate(
    dataset: Dataset, search: Mapping[str, Search], *, progress: Callable[[str, int, int], None] | None = None
) -> EvalReport:
    """Ask all questions, one after another, with one strategy after another.

    What a search caches for a question it still has for the next strategy: to compare times, give searches that share
    no cache.

    Parameters
    ----------
    dataset
        The questions and their gold; a search sees the text of a question and nothing else of it.
    search
        Strategies by name. Each should give 20 ids or more, else recall@20 is low for want of them.
    progress
        Called after each question with the strategy, how many are done, and how many there are.

    Raises
    ------
    InputError
        There is no strategy or no question. What a search raises goes through.
    """
    if not search:
        raise InputError("no strategy to evaluate; name one at least")
    total = len(dataset.questions)
    strategies: dict[str, StrategyResult] = {}
    for name, ask in search.items():
        outcomes: list[Outcome] = []
        for question in dataset.questions:
            outcomes.append(_ask(question, ask))
            if progress is not None:
                progress(name, len(outcomes), total)
        strategies[name] = _result(dataset.questions, outcomes)
    return EvalReport(dataset.name, total, strategies)


def _ask(question: Question, search: Search) -> Outcome:
    start = time.perf_counter()
    ranked = search(question.text)
    milliseconds = 1000 * (time.perf_counter() - start)
    return Outcome(question.id, ranked.ids, milliseconds, ranked.round_trips)


def _result(questions: Sequence[Question], outcomes: Sequence[Outcome]) -> StrategyResult:
    pairs = list(zip(questions, outcomes, strict=True))

    def scores(group: Sequence[tuple[Question, Outcome]]) -> Scores:
        return score([(outcome.ids, question.gold) for question, outcome in group])

    times = [outcome.milliseconds for outcome in outcomes]
    return StrategyResult(
        tuple(outcomes),
        scores(pairs),
        by_hops={hops: scores(group) for hops, group in sorted(grouped(pairs, lambda pair: pair[0].hops).items())},
        by_type={kind: scores(group) for kind, group in sorted(grouped(pairs, lambda pair: pair[0].type).items())},
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        round_trips=sum(outcome.round_trips for outcome in outcomes) / len(outcomes),
    )
