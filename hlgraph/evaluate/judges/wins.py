"""Wins of pairs of answers by criterion, from readings in both positions.

References
----------
ToPG (A Navigational Approach for Comprehensive RAG via Traversal over Proposition Graphs), section 3.1 and appendix C:
comprehensiveness, diversity and empowerment, after LightRAG (Guo et al., 2025), and an overall winner (appendix F, table 6).
HLG, section 7.3.2 and table 5: wins, losses and ties of one overall verdict, the answers in random order. *Relevance* stands
for what HLG says of the winners ("more relevant"); no paper defines it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.evaluate.bootstrap import Interval, Resamples
from hlgraph.evaluate.metrics.significance import permutation_test

OVERALL = "overall"
CRITERIA: Mapping[str, str] = MappingProxyType(
    {
        "comprehensiveness": "how much of what the question asks for the answer covers, in all its aspects and details",
        "diversity": "how varied and rich the perspectives and insights of the answer are",
        "empowerment": "how well the answer helps a reader to understand the topic and to judge for themselves",
        "relevance": "how closely what the answer says bears on the question, without what was not asked",
        OVERALL: "which answer is better, all of this considered",
    }
)
"""What each criterion asks; ``overall`` is always asked."""
_LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseWins:
    """The wins of one strategy against another by one criterion.

    Attributes
    ----------
    a, b : the strategies
    criterion : its name
    question_ids : questions that both answered
    scores : of ``a``, for each question: 1 if it won in all readings, 0 if ``b`` did, and the mean of wins (1), ties (0.5) and
        losses (0) else; None where a reply is missing in every round
    missing : number of readings without a reply
    interval : mean of the scores that there are, with its 95 % bootstrap interval; None without any
    p : of the paired permutation test against 0.5, corrected by Holm for the pairs of the report; None without any
    """

    a: str
    b: str
    criterion: str
    question_ids: tuple[str, ...]
    scores: tuple[float | None, ...]
    missing: int
    interval: Interval | None
    p: float | None

    @property
    def wins(self) -> int:
        """Number of questions that ``a`` won."""
        return sum(score is not None and score > 0.5 for score in self.scores)

    @property
    def losses(self) -> int:
        """Number of questions that ``b`` won."""
        return sum(score is not None and score < 0.5 for score in self.scores)

    @property
    def ties(self) -> int:
        """Number of questions that neither won."""
        return sum(score == 0.5 for score in self.scores)

    @property
    def finding(self) -> str:
        """The name of the better strategy; empty if p is 0.05 or more, or the interval holds 0.5."""
        if self.interval is None or self.p is None or self.p >= _LEVEL:
            return ""
        if self.interval.low <= 0.5 <= self.interval.high:
            return ""
        return self.a if self.interval.mean > 0.5 else self.b

    def swapped(self) -> PairwiseWins:
        """The same of ``b`` against ``a``; both means sum to 1."""
        own = self.interval
        return replace(
            self,
            a=self.b,
            b=self.a,
            scores=tuple(None if score is None else 1 - score for score in self.scores),
            interval=None if own is None else Interval(1 - own.mean, 1 - own.high, 1 - own.low),
        )

    def to_json(self) -> dict[str, object]:
        """The wins as JSON data; shares from 0 to 1."""
        return {
            "a": self.a,
            "b": self.b,
            "criterion": self.criterion,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "missing": self.missing,
            "share": None if self.interval is None else self.interval.mean,
            "interval": None if self.interval is None else [self.interval.low, self.interval.high],
            "p": self.p,
            "scores": dict(zip(self.question_ids, self.scores, strict=True)),
        }


def check_criteria(names: Sequence[str], *, trials: int) -> tuple[str, ...]:
    """The criteria with ``overall`` last, once each.

    Parameters
    ----------
    names : names of criteria
    trials : number of readings of a pair

    Raises
    ------
    UnknownNameError
        There is no criterion of such a name.
    InputError
        The number of trials is odd or below 2, so that positions would not be balanced.
    """
    unknown = next((name for name in names if name not in CRITERIA), None)
    if unknown is not None:
        raise UnknownNameError(f"there is no criterion {unknown!r}; choose of: {', '.join(CRITERIA)}")
    if trials < 2 or trials % 2:
        raise InputError(f"trials is {trials}; give an even number from 2, so that each answer is as often the first")
    return (*dict.fromkeys(name for name in names if name != OVERALL), OVERALL)


Readings = tuple[dict[str, float] | None, ...]
"""The readings of one pair on one question: those with ``a`` first, then those with ``b`` first; each scores the
first one by criterion, and None is a missing reply."""


def rounds(readings: Readings, criterion: str) -> list[tuple[float, float]]:
    """The score of ``a`` and of the first place, for each round that has both replies.

    A round is one reading in each position. One without the other would not be balanced, so it is left out.

    Parameters
    ----------
    readings : of one pair on one question
    criterion : name
    """
    half = len(readings) // 2
    found = []
    for a_first, b_first in zip(readings[:half], readings[half:], strict=True):
        if a_first is not None and b_first is not None:
            one, other = a_first[criterion], b_first[criterion]
            found.append(((one + 1 - other) / 2, (one + other) / 2))
    return found


def wins_of(
    names: tuple[str, str], question_ids: Sequence[str], *, readings: Sequence[Readings], criterion: str
) -> PairwiseWins:
    """The wins of a pair by one criterion; p is not yet corrected.

    Parameters
    ----------
    names : ``a`` and ``b``
    question_ids : the questions
    readings : those of each question
    criterion : name
    """
    held = [rounds(each, criterion) for each in readings]
    scores = [sum(score for score, _ in each) / len(each) if each else None for each in held]
    known = np.array([score for score in scores if score is not None], dtype=np.float64)
    return PairwiseWins(
        a=names[0],
        b=names[1],
        criterion=criterion,
        question_ids=tuple(question_ids),
        scores=tuple(scores),
        missing=sum(item is None for each in readings for item in each),
        interval=Resamples(known[:, None]).interval(0) if len(known) else None,
        p=permutation_test(known - 0.5) if len(known) else None,
    )
