"""The measures of RAGChecker for the answers of an evaluation, by strategy and question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import BudgetError, ModelAccessError, ModelAnswerError, ModelUnavailableError
from hlgraph.evaluate.metrics.claims import Checked, ClaimChecker, ClaimScores, claim_scores, mean_scores
from hlgraph.evaluate.metrics.exactness import f1

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerOutcome, AnswerReport
    from hlgraph.evaluate.datasets import Question

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_STEP = "claims"


class ClaimWay(ClaimChecker, Protocol):
    """Splits and checks: :class:`WordClaims` or :class:`ChatClaims`."""

    @property
    def by(self) -> str:
        """Who splits and checks, for the report."""

    def claims(self, text: str, *, question: str = "") -> tuple[str, ...]:
        """The claims of a text.

        Parameters
        ----------
        text : the text
        question : what it answers; default: not known
        """

    def told(self, question: str, answer: str) -> str:
        """A question and its short answer as a text from which claims can follow.

        Parameters
        ----------
        question : the question
        answer : the answer
        """

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str) -> list[_Result]:
        """The results of an action for each item, in order; advances the step.

        Parameters
        ----------
        action : called once per item
        items : the items
        step : name of the step whose progress the items are
        """


class MissingScores(NamedTuple):
    """Why a question has no measures: the answer failed, or a reply could not be read, or none came."""

    reason: str


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """The measures of claims.

    Attributes
    ----------
    by : who split and checked: ``words/1``, or the prompts and the model
    questions : ids of the questions, in the order of the scores
    scores : by strategy, one a question; a question without measures counts nowhere, neither as right nor as wrong
    """

    by: str
    questions: tuple[str, ...]
    scores: Mapping[str, tuple[ClaimScores | MissingScores, ...]]

    def means(self) -> dict[str, ClaimScores]:
        """The mean of each measure over the questions that have it, by strategy."""
        return {
            name: mean_scores([item for item in items if isinstance(item, ClaimScores)])
            for name, items in self.scores.items()
        }

    def missing(self) -> dict[str, int]:
        """The number of questions without measures, by strategy."""
        return {name: sum(isinstance(item, MissingScores) for item in items) for name, items in self.scores.items()}

    def notes(self) -> list[str]:
        """A line for each reason why questions have no measures."""
        return [
            f"{name}: no claims of {count} questions: {reason}"
            for name, items in self.scores.items()
            for reason, count in Counter(item.reason for item in items if isinstance(item, MissingScores)).items()
        ]


def check_answers(found: AnswerReport, way: ClaimWay) -> ClaimReport:
    """Split the answers and their gold answers into claims, and check each against the other and against the cited evidence.

    Of several gold answers the one with the best F1 counts. A gold answer is read with its question, since it may be a name
    alone. The chunks of the measures are the pieces of evidence that the answer cites. When the model stops answering, or its
    budget ends, the questions that remain have no measures.

    Parameters
    ----------
    found : the answers
    way : who splits and checks
    """
    scores: dict[str, tuple[ClaimScores | MissingScores, ...]] = {}
    for name, answered in found.strategies.items():
        pairs = list(zip(found.questions, answered.outcomes, strict=True))
        with progress.step(f"{_STEP} {name}", len(pairs), unit="questions"):
            scores[name] = tuple(way.run(_Checking(way), pairs, step=f"{_STEP} {name}"))
    return ClaimReport(way.by, tuple(question.id for question in found.questions), scores)


class _Checking:
    """Checks one question after another, until a permanent error of the model; the error is the reason for the rest."""

    def __init__(self, way: ClaimWay) -> None:
        self._way = way
        self._ended = ""

    def __call__(self, pair: tuple[Question, AnswerOutcome]) -> ClaimScores | MissingScores:
        question, outcome = pair
        if outcome.error:
            return MissingScores("it was not answered")
        if self._ended:
            return MissingScores(self._ended)
        gold = max(question.answers, key=lambda text: f1(outcome.short, [text]))
        try:
            return claim_scores(_checked(question.text, outcome, gold=gold, way=self._way))
        except ModelAnswerError as error:
            return MissingScores(str(error))
        except (BudgetError, ModelAccessError, ModelUnavailableError) as error:
            self._ended = f"{type(error).__name__}: {error}"
            return MissingScores(self._ended)


def _checked(question: str, outcome: AnswerOutcome, *, gold: str, way: ClaimWay) -> Checked:
    of_answer = () if outcome.is_refused else way.claims(outcome.text, question=question)
    of_gold = way.claims(gold, question=question)
    in_chunks = [_flags(way, (*of_answer, *of_gold), text) for text in outcome.evidence]
    joint = np.array(in_chunks, dtype=np.bool_).reshape(len(in_chunks), len(of_answer) + len(of_gold)).T
    return Checked(
        _flags(way, of_answer, way.told(question, gold)),
        _flags(way, of_gold, f"{outcome.text}\n\n{way.told(question, outcome.short)}" if of_answer else ""),
        joint[: len(of_answer)],
        joint[len(of_answer) :],
    )


def _flags(way: ClaimWay, claims: Sequence[str], text: str) -> NDArray[np.bool_]:
    found = way.entailed(claims, text) if claims else []
    return np.array(found, dtype=np.bool_)
