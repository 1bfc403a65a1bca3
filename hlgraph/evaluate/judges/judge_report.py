"""What judges said: verdicts on answers, wins of pairs, the calibration of the judge, and what is to be doubted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlgraph.errors import UnknownNameError
from hlgraph.evaluate.bootstrap import Interval
from hlgraph.evaluate.judges.fairness import Calibration
from hlgraph.evaluate.judges.labels import Agreement
from hlgraph.evaluate.judges.wins import CRITERIA, PairwiseWins, check_criteria
from hlgraph.models.accounts.ledger import Spent

JUDGES = ("correctness", "pairwise", "assertions")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """What is judged, and how.

    Attributes
    ----------
    judges : names of ``JUDGES``, at least one
    criteria : of pairs; ``overall`` is always one of them
    trials : number of readings of a pair, half of them in each position; even, default 2
    against : the strategy that the others are compared with; empty: every strategy with every other one
    calibration : number of questions for which an answer is read against itself, default 30

    Raises
    ------
    UnknownNameError
        There is no judge or criterion of such a name.
    InputError
        No judge is named, or the number of trials is odd.
    """

    judges: tuple[str, ...] = JUDGES
    criteria: tuple[str, ...] = tuple(CRITERIA)
    trials: int = 2
    against: str = ""
    calibration: int = 30

    def __post_init__(self) -> None:
        """Check the names and the number of trials."""
        unknown = next((name for name in self.judges if name not in JUDGES), None)
        if unknown is not None or not self.judges:
            raise UnknownNameError(f"there is no judge {unknown or ''!r}; choose of: {', '.join(JUDGES)}")
        object.__setattr__(self, "criteria", check_criteria(self.criteria, trials=self.trials))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswers:
    """What one judge says of the answers of one strategy.

    Attributes
    ----------
    judge : ``correctness`` or ``assertions``
    strategy : who answered
    question_ids : the questions
    values : for each question 1 (correct) or 0, or the share of assertions; None where the verdict is missing
    unanswered : number of questions without an answer; they count as 0, and no model is asked
    missing : number of missing verdicts by why (:class:`hlgraph.evaluate.judges.verdict_calls.Missing`)
    interval : mean of the values that there are, with its 95 % bootstrap interval; None without any
    """

    judge: str
    strategy: str
    question_ids: tuple[str, ...]
    values: tuple[float | None, ...]
    unanswered: int
    missing: Mapping[str, int]
    interval: Interval | None

    def to_json(self) -> dict[str, object]:
        """The verdicts as JSON data; shares from 0 to 1."""
        return {
            "judge": self.judge,
            "strategy": self.strategy,
            "mean": None if self.interval is None else self.interval.mean,
            "interval": None if self.interval is None else [self.interval.low, self.interval.high],
            "unanswered": self.unanswered,
            "missing": dict(self.missing),
            "values": dict(zip(self.question_ids, self.values, strict=True)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """All that was judged.

    Attributes
    ----------
    model : name of the judge
    options : what was judged
    answers : verdicts on single answers
    pairs : wins of pairs, by criterion
    calibration : of the judge of pairs, by criterion
    agreement : with people; empty without labels
    assertions : what an answer has to say, by question; empty where they are missing
    reasons : number of missing replies by kind (:class:`hlgraph.evaluate.judges.verdict_calls.Missing`), and one error of each
    writers : prompts and models that wrote the answers
    spent : calls, tokens and money of this run
    """

    model: str
    options: JudgeOptions
    answers: tuple[JudgedAnswers, ...]
    pairs: tuple[PairwiseWins, ...]
    calibration: tuple[Calibration, ...]
    agreement: tuple[Agreement, ...]
    assertions: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, tuple[int, str]]
    writers: tuple[str, ...]
    spent: Spent

    @property
    def missing(self) -> int:
        """The number of replies that are missing."""
        return sum(count for count, _ in self.reasons.values())

    @property
    def is_out_of_budget(self) -> bool:
        """Whether the budget ended before the calls did."""
        return "budget" in self.reasons

    def warnings(self) -> list[str]:
        """Why the verdicts are to be doubted: the judge wrote the answers, or is biased; replies that are missing."""
        lines = []
        if wrote_itself(self.model, self.writers):
            lines.append(
                f"the judge {self.model} wrote answers that it judges; models prefer what they write, so "
                "name another judge"
            )
        lines.extend(
            f"no winner by {item.criterion} is named: {item.reason}" for item in self.calibration if item.reason
        )
        lines.extend(
            f"{count} replies are missing ({why}), such as: {error}" for why, (count, error) in self.reasons.items()
        )
        return lines

    def finding(self, pair: PairwiseWins) -> str:
        """What is said of a pair: who is better, that no difference was found, or that the judge is biased."""
        reason = next((item.reason for item in self.calibration if item.criterion == pair.criterion), "")
        if reason:
            return "refused: the judge is biased or not calibrated"
        if pair.interval is None:
            return "no verdict"
        return f"{pair.finding} is better" if pair.finding else "no difference found"

    def to_json(self) -> dict[str, object]:
        """The report as JSON data; shares from 0 to 1."""
        return {
            "model": self.model,
            "writers": list(self.writers),
            "judges": list(self.options.judges),
            "trials": self.options.trials,
            "answers": [item.to_json() for item in self.answers],
            "pairs": [{**item.to_json(), "finding": self.finding(item)} for item in self.pairs],
            "calibration": [item.to_json() for item in self.calibration],
            "agreement": [item.to_json() for item in self.agreement],
            "assertions": {question: list(found) for question, found in self.assertions.items()},
            "missing": {why: count for why, (count, _) in self.reasons.items()},
            "warnings": self.warnings(),
            **{name: getattr(self.spent, name) for name in ("calls", "input_tokens", "output_tokens", "usd")},
        }


def wrote_itself(model: str, writers: Sequence[str]) -> bool:
    """Whether the judge is one of the models that wrote the answers.

    Parameters
    ----------
    model : name of the judge
    writers : prompts and models that wrote answers, as in ``Answer.made_by``

    Examples
    --------
    >>> wrote_itself("openai:gpt-4o", ["answer/5/openai:gpt-4o"]), wrote_itself("openai:gpt-4o", ["answer/5/openai:gpt-4"])
    (True, False)
    """
    return any(writer == model or writer.endswith(f"/{model}") for writer in writers)
