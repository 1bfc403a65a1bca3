"""The questions that a strategy loses most on, against the strategy that it is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hlgraph.evaluate.comparison import values_of
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.figures import MEASURE
from hlgraph.evaluate.runner import EvalReport, Outcome

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
    most : maximum number of questions a strategy
    """
    values = values_of(report, MEASURE)
    base, others = values[against], report.strategies[against].outcomes
    found = {}
    for name, own in values.items():
        rows = zip(report.questions, (own - base).tolist(), report.strategies[name].outcomes, others, strict=True)
        lost = sorted((Loss(*row) for row in rows if row[1] < 0), key=lambda item: (item.difference, item.question.id))
        if lost:
            found[name] = lost[:most]
    return found


def passages_of(found: Iterable[Loss]) -> set[str]:
    """The ids of all passages that are shown with these questions: gold ones and found ones."""
    return {name for item in found for name in (*item.question.gold, *item.own.ids[:SHOWN], *item.other.ids[:SHOWN])}
