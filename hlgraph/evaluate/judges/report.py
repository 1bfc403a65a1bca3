"""Results of judges: verdicts on answers, pairwise wins, calibration of the judge, and warnings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.evaluate.datasets import json_lines
from hlgraph.evaluate.figures import Table, Tabled, as_csv, interval_cells
from hlgraph.evaluate.statistics import (
    Interval,
    Kappa,
    Resamples,
    Section,
    Share,
    cohen_kappa,
    permutation_test,
    wilson,
)
from hlgraph.ids import checksum
from hlgraph.models.accounts.ledger import Spent

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerReport


# The answers that are judged: from an evaluation, or from the file ``answers.jsonl`` of an earlier one.

_MEND_ANSWERS = "give the file answers.jsonl that hlgraph eval --answers --out wrote"
_ID = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer to judge.

    Attributes
    ----------
    strategy : who answered; not shown to the judge
    question_id, question : the question
    answers : accepted answers
    text : the answer; empty: there is none
    assertions : what an answer has to say, by the author of the question; empty: made from the accepted answers
    made_by : prompt and model that wrote it; empty without a model
    error : why there is no answer; only set for answers from files
    """

    strategy: str
    question_id: str
    question: str
    answers: tuple[str, ...]
    text: str
    assertions: tuple[str, ...] = ()
    made_by: str = ""
    error: str = ""

    @property
    def answer_id(self) -> str:
        """A hash of the text, which shows that a label is about this answer."""
        return checksum(self.text)[:_ID]


def candidates_of(report: AnswerReport) -> list[Candidate]:
    """The answers of an evaluation, by strategy, then by question; a failed one is empty."""
    return [
        Candidate(
            strategy=name,
            question_id=question.id,
            question=question.text,
            answers=question.answers,
            text="" if outcome.error else outcome.text.strip(),
            assertions=question.assertions,
            made_by=outcome.made_by,
        )
        for name, answered in report.strategies.items()
        for question, outcome in zip(report.questions, answered.outcomes, strict=True)
    ]


def load_candidates(path: str | Path) -> list[Candidate]:
    """The answers in a file ``answers.jsonl``.

    Parameters
    ----------
    path : the file

    Raises
    ------
    ReadError
        The file cannot be read, a line is no answer (the message has its number), or there is none.
    """
    rows = json_lines(path, Candidate, mend=_MEND_ANSWERS, what="no saved answer: ")
    candidates = [replace(row, text="" if row.error else row.text.strip(), error="") for _, row in rows]
    if not candidates:
        raise ReadError(str(path), "it holds no answer", _MEND_ANSWERS)
    return candidates


def check_candidates(candidates: Sequence[Candidate]) -> None:
    """Check that there are answers, and one for each strategy and question. Raises InputError."""
    if not any(item.text for item in candidates):
        raise InputError("no answer has a text, so there is nothing to judge; answer the questions first")
    counts = Counter((item.strategy, item.question_id) for item in candidates)
    twice = next((key for key, count in counts.items() if count > 1), None)
    if twice is not None:
        raise InputError(
            f"the strategy {twice[0]} answered the question {twice[1]!r} more than once; give the answers of one run"
        )


# Position bias of a judge of pairs: an answer against itself, and the first place against the second.
#
# If the judge is fair, the first place wins half of the readings of an answer against itself; a tie counts as half a win. In
# pairs that are read in both positions, the first place wins half of the readings, whatever the quality of the answers. Both
# shares have a Wilson interval over questions. A judge whose interval does not contain 50 % is biased, and the report names no
# winners.


LEAST = 4
"""Minimum number of readings; with fewer, even a judge that always picks the first answer looks fair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The position bias of a judge by one criterion.

    Attributes
    ----------
    criterion : its name
    same, same_count : share of wins of the first place against the same answer, and the number of questions
    first, first_count : share of wins of the first place in pairs read in both positions, and the number of questions
    """

    criterion: str
    same: Share
    same_count: int
    first: Share
    first_count: int

    @property
    def reason(self) -> str:
        """Why the report names no winners; empty if it does."""
        if self.same_count < LEAST:
            return (
                f"{self.same_count} readings of an answer against itself are too few to tell whether the judge is biased; "
                f"judge at least {LEAST} questions"
            )
        if not self.same.low <= 0.5 <= self.same.high:
            return (
                f"an answer against itself wins {_shown(self.same)} of {self.same_count} in the first place, not 50 %"
            )
        if self.first_count and not self.first.low <= 0.5 <= self.first.high:
            return f"the first place wins {_shown(self.first)} of {self.first_count} questions read in both positions, not 50 %"
        return ""

    def to_json(self) -> dict[str, object]:
        """The calibration as JSON data; shares from 0 to 1."""
        return {
            "criterion": self.criterion,
            "same": {"questions": self.same_count, **self.same._asdict()},
            "first_place": {"questions": self.first_count, **self.first._asdict()},
            "refused": self.reason,
        }


def calibration_of(criterion: str, *, same: Sequence[float], first: Sequence[float]) -> Calibration:
    """The calibration by one criterion.

    Parameters
    ----------
    criterion : its name
    same : scores of the first place against the same answer, one per question
    first : mean scores of the first place over both positions and all pairs, one per question
    """
    return Calibration(
        criterion=criterion,
        same=wilson(sum(same), len(same)),
        same_count=len(same),
        first=wilson(sum(first), len(first)),
        first_count=len(first),
    )


def _shown(share: Share) -> str:
    return f"{100 * share.share:.0f} % (95 %: {100 * share.low:.0f} to {100 * share.high:.0f})"


# Wins of pairs of answers by criterion, from readings in both positions.
#
# References
# ----------
# ToPG (A Navigational Approach for Comprehensive RAG via Traversal over Proposition Graphs), section 3.1 and appendix C:
# comprehensiveness, diversity and empowerment, after LightRAG (Guo et al., 2025), and an overall winner (appendix F, table 6).
# HLG, section 7.3.2 and table 5: wins, losses and ties of one overall verdict, the answers in random order. *Relevance* is
# taken from HLG's description of the winners ("more relevant"); no paper defines it.


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
    interval : mean of the available scores, with its 95 % bootstrap interval; None without any
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
        """The name of the better strategy; empty if p is 0.05 or more, or the interval contains 0.5."""
        if self.interval is None or self.p is None or self.p >= _LEVEL:
            return ""
        if self.interval.low <= 0.5 <= self.interval.high:
            return ""
        return self.a if self.interval.mean > 0.5 else self.b

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

    A round is one reading in each position. A single reading would be unbalanced, so it is left out.

    Parameters
    ----------
    readings : of one pair on one question
    criterion : name
    """
    half = len(readings) // 2
    scores = []
    for a_first, b_first in zip(readings[:half], readings[half:], strict=True):
        if a_first is not None and b_first is not None:
            one, other = a_first[criterion], b_first[criterion]
            scores.append(((one + 1 - other) / 2, (one + other) / 2))
    return scores


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
    by_question = [rounds(each, criterion) for each in readings]
    scores = [sum(score for score, _ in each) / len(each) if each else None for each in by_question]
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


# Human labels of the same answers, and the agreement of the judge with them.


CORRECTNESS = "correctness"
_MEND = (
    'give JSON lines with question_id, and strategy and label ("correct", "incorrect"), or a, b, criterion and label '
    '("a", "b", "tie")'
)
_ALLOWED = {True: ("correct", "incorrect"), False: ("a", "b", "tie")}
_TURNED = {"a": "b", "b": "a", "tie": "tie"}


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A label by a person.

    Attributes
    ----------
    question_id : the question
    label : ``correct`` or ``incorrect`` of one answer; ``a``, ``b`` or ``tie`` of two; empty: not labelled
    strategy : whose answer it is, of one answer
    a, b : whose answers they are, of two
    criterion : by which two answers were compared, default ``overall``
    answer_ids : hashes of the texts that the person read, as in ``to_label.jsonl``; empty: unknown
    """

    question_id: str
    label: str = ""
    strategy: str = ""
    a: str = ""
    b: str = ""
    criterion: str = OVERALL
    answer_ids: list[str] = []

    @property
    def strategies(self) -> tuple[str, ...]:
        """Whose answers are labelled."""
        return (self.strategy,) if self.strategy else (self.a, self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The agreement of the judge with human labels.

    Attributes
    ----------
    judge : ``correctness``, or the criterion of a comparison
    kappa : Cohen's kappa of the answers that both labelled; None if there are none
    missing : human labels on answers without a verdict of the judge
    """

    judge: str
    kappa: Kappa | None
    missing: int

    def to_json(self) -> dict[str, object]:
        """The agreement as JSON data."""
        return asdict(self) | {"kappa": None if self.kappa is None else self.kappa._asdict()}


def load_labels(path: str | Path, candidates: Sequence[Candidate]) -> list[Label]:
    """The labels in a file, without the lines whose label is empty.

    Parameters
    ----------
    path : a file of JSON lines
    candidates : the answers that are judged

    Raises
    ------
    ReadError
        A line is no label (the message has its number), or there is none.
    InputError
        A label is about an answer that is not judged here: another question or strategy, or another text.
    """
    candidate_of = {(item.strategy, item.question_id): item for item in candidates}
    labels = []
    for number, label in json_lines(path, Label, mend=_MEND):
        if label.label:
            _check(label, candidate_of, place=f"{path}, line {number}")
            labels.append(label)
    if not labels:
        raise ReadError(str(path), "it holds no label", _MEND)
    return labels


def _check(label: Label, candidate_of: Mapping[tuple[str, str], Candidate], *, place: str) -> None:
    allowed = _ALLOWED[bool(label.strategy)]
    if label.label not in allowed or label.criterion not in CRITERIA or not all(label.strategies):
        raise ReadError(place, f"the label {label.label!r} by {label.criterion!r} is none", _MEND)
    for at, name in enumerate(label.strategies):
        candidate = candidate_of.get((name, label.question_id))
        if candidate is None:
            raise InputError(
                f"{place}: the strategy {name} has no answer to the question {label.question_id!r} here, so the labels "
                "are of another run; give the labels of these answers"
            )
        if label.answer_ids and label.answer_ids[at : at + 1] != [candidate.answer_id]:
            raise InputError(
                f"{place}: the answer of {name} to {label.question_id!r} is not the one that was labelled; give the "
                "labels of these answers"
            )


def agreements(
    labels: Sequence[Label], correct: Mapping[tuple[str, str], float | None], *, pairs: Sequence[PairwiseWins]
) -> tuple[Agreement, ...]:
    """The agreement of the judge with people, on correctness and by criterion.

    Parameters
    ----------
    labels : labels of people
    correct : 1 or 0 by strategy and question; None where the verdict is missing
    pairs : wins of strategies
    """
    known = _verdicts(correct, pairs)
    rows: dict[str, list[tuple[str, str | None]]] = {}
    for label in labels:
        name = CORRECTNESS if label.strategy else label.criterion
        rows.setdefault(name, []).append((label.label, known.get((name, label.question_id, *label.strategies))))
    result = []
    for name in sorted(rows, key=lambda name: (name != CORRECTNESS, name)):
        both = [(person, verdict) for person, verdict in rows[name] if verdict is not None]
        kappa = cohen_kappa([one for one, _ in both], [other for _, other in both]) if both else None
        result.append(Agreement(judge=name, kappa=kappa, missing=len(rows[name]) - len(both)))
    return tuple(result)


def _verdicts(
    correct: Mapping[tuple[str, str], float | None], pairs: Sequence[PairwiseWins]
) -> dict[tuple[str, ...], str]:
    known: dict[tuple[str, ...], str] = {
        (CORRECTNESS, question, strategy): "correct" if value else "incorrect"
        for (strategy, question), value in correct.items()
        if value is not None
    }
    for pair in pairs:
        for question, score in zip(pair.question_ids, pair.scores, strict=True):
            if score is not None:
                winner = "tie" if score == 0.5 else "a" if score > 0.5 else "b"
                known[(pair.criterion, question, pair.a, pair.b)] = winner
                known[(pair.criterion, question, pair.b, pair.a)] = _TURNED[winner]
    return known


def to_label(candidates: Sequence[Candidate], pairs: Sequence[PairwiseWins]) -> list[dict[str, object]]:
    """Rows for people to fill in: each answer, and each pair of answers overall, with an empty label.

    Parameters
    ----------
    candidates : the answers
    pairs : wins of strategies, of which the names are used
    """
    rows: list[dict[str, object]] = []
    candidate_of = {(item.strategy, item.question_id): item for item in candidates if item.text}
    for (strategy, question), item in candidate_of.items():
        answer = {"question": item.question, "accepted": item.answers, "answer": item.text}
        ids = {"question_id": question, "strategy": strategy, "answer_ids": [item.answer_id]}
        rows.append({**ids, **answer, "label": ""})
    for pair in pairs:
        for question in pair.question_ids if pair.criterion == OVERALL else ():
            a, b = candidate_of[(pair.a, question)], candidate_of[(pair.b, question)]
            ids = {"question_id": question, "a": pair.a, "b": pair.b, "criterion": OVERALL}
            answers = {"answer_ids": [a.answer_id, b.answer_id], "question": a.question}
            rows.append({**ids, **answers, "answer_a": a.text, "answer_b": b.text, "label": ""})
    return rows


JUDGES = ("correctness", "pairwise", "assertions")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """Options of judging.

    Attributes
    ----------
    judges : names of ``JUDGES``, at least one
    criteria : of pairs; ``overall`` is always one of them
    trials : number of readings of a pair, half of them in each position; even, default 2
    against : the strategy that the others are compared with; empty: every strategy with every other one
    calibration : number of questions for which an answer is read against itself, default 30
    model : the chat model that judges; empty: ``models.judge`` of the settings, otherwise the chat model

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
    model: str = ""

    def __post_init__(self) -> None:
        """Check the names and the number of trials."""
        unknown = next((name for name in self.judges if name not in JUDGES), None)
        if unknown is not None or not self.judges:
            raise UnknownNameError(f"there is no judge {unknown or ''!r}; choose of: {', '.join(JUDGES)}")
        object.__setattr__(self, "criteria", check_criteria(self.criteria, trials=self.trials))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswers:
    """The verdicts of one judge on the answers of one strategy.

    Attributes
    ----------
    judge : ``correctness`` or ``assertions``
    strategy : who answered
    question_ids : the questions
    values : for each question 1 (correct) or 0, or the share of assertions; None if the verdict is missing
    unanswered : number of questions without an answer; they count as 0, and no model is asked
    missing : number of missing verdicts by reason (:class:`hlgraph.evaluate.judges.judging.Missing`)
    interval : mean of the available values, with its 95 % bootstrap interval; None without any
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
class JudgeReport(Tabled):
    """The results of all judges.

    Attributes
    ----------
    model : name of the judge
    options : what was judged
    answers : verdicts on single answers
    pairs : wins of pairs, by criterion
    calibration : of the judge of pairs, by criterion
    agreement : with human labels; empty without labels
    assertions : what an answer has to say, by question; empty where they are missing
    reasons : number of missing replies by kind (:class:`hlgraph.evaluate.judges.judging.Missing`), and one error of each
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

    def tables(self) -> list[Table]:
        """The tables that have rows, see :func:`judge_tables`."""
        return judge_tables(self)

    def __str__(self) -> str:
        """The tables and the notes, as the command prints them."""
        return "\n".join((*(f"{table}\n" for table in self.tables()), *judge_notes(self)))

    @property
    def missing(self) -> int:
        """The number of replies that are missing."""
        return sum(count for count, _ in self.reasons.values())

    @property
    def is_out_of_budget(self) -> bool:
        """Whether the budget was spent before all calls were made."""
        return "budget" in self.reasons

    def warnings(self) -> list[str]:
        """Reasons to doubt the verdicts: the judge wrote the answers, is biased, or replies are missing."""
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
        """The conclusion about a pair: the better strategy, no difference, or a biased judge."""
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
            "assertions": {question: list(assertions) for question, assertions in self.assertions.items()},
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


# Tables and files.


def judge_tables(report: JudgeReport) -> list[Table]:
    """The tables of a report that have rows: verdicts by strategy, pairs, the calibration, and the agreement with people."""
    tables = (answers_judged(report), pairs_judged(report), _calibration(report), _agreement(report))
    return [table for table in tables if table.rows]


def answers_judged(report: JudgeReport) -> Table:
    """The mean verdict on the answers of each strategy, in per cent."""
    rows = [
        (
            item.strategy,
            item.judge,
            *interval_cells(item.interval),
            str(len(item.values)),
            str(item.unanswered),
            str(sum(item.missing.values())),
        )
        for item in report.answers
    ]
    head = ("strategy", "judge", "mean", "95 % interval", "questions", "unanswered", "missing")
    return Table(f"answers judged by {report.model}", head, tuple(rows))


def pairs_judged(report: JudgeReport) -> Table:
    """The wins of each pair by each criterion; the share counts a tie as half a win, in per cent."""
    rows = []
    for item in report.pairs:
        p = "-" if item.p is None else f"{item.p:.4f}"
        counts = (str(item.wins), str(item.ties), str(item.losses))
        rows.append(
            (
                item.a,
                item.b,
                item.criterion,
                *counts,
                *interval_cells(item.interval),
                p,
                str(item.missing),
                report.finding(item),
            )
        )
    head = (
        "a",
        "b",
        "criterion",
        "a wins",
        "ties",
        "b wins",
        "share of a",
        "95 % interval",
        "p (Holm)",
        "missing",
        "finding",
    )
    title = f"pairs judged by {report.model}, {report.options.trials} readings each, half of them in each position"
    return Table(title, head, tuple(rows))


def _calibration(report: JudgeReport) -> Table:
    rows = [
        (
            item.criterion,
            *interval_cells(Interval(*item.same) if item.same_count else None),
            str(item.same_count),
            *interval_cells(Interval(*item.first) if item.first_count else None),
            str(item.first_count),
            "refused" if item.reason else "holds 50 %",
        )
        for item in report.calibration
    ]
    head = ("criterion", "A against A", "95 % interval", "questions", "first place", "95 % interval ", "questions ", "")
    return Table("is the judge of pairs fair? shares that the first place wins", head, tuple(rows))


def _agreement(report: JudgeReport) -> Table:
    rows = []
    for item in report.agreement:
        estimate = item.kappa
        kappa = "-" if estimate is None or estimate.kappa is None else f"{estimate.kappa:.2f}"
        bounds = "-" if estimate is None or estimate.low is None else f"{estimate.low:.2f} to {estimate.high:.2f}"
        equal, count = ("-", "0") if estimate is None else (f"{100 * estimate.observed:.2f}", str(estimate.labels))
        rows.append((item.judge, kappa, bounds, equal, count, str(item.missing)))
    head = ("judge", "kappa", "95 % interval", "equal", "labels", "missing")
    return Table("agreement with people: Cohen's kappa", head, tuple(rows))


def judge_notes(report: JudgeReport) -> list[str]:
    """Lines on the judge and its cost, and every warning."""
    spent = report.spent
    usd = "" if spent.usd is None else f", {spent.usd:.4f} USD"
    return [
        f"judge {report.model}: {spent.calls:,} calls, {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out{usd}",
        *(f"warning: {line}" for line in report.warnings()),
    ]


def judge_files(report: JudgeReport, candidates: Sequence[Candidate]) -> dict[str, str]:
    """The texts of ``judged.json``, ``judged.csv``, ``pairs.csv`` and ``to_label.jsonl``, by file name; none for tables without
    rows.

    Parameters
    ----------
    report : what was judged
    candidates : the answers
    """
    rows = to_label(candidates, report.pairs)
    return {
        "judged.json": f"{json.dumps(report.to_json(), ensure_ascii=False, indent=2)}\n",
        **({"judged.csv": as_csv(answers_judged(report))} if report.answers else {}),
        **({"pairs.csv": as_csv(pairs_judged(report))} if report.pairs else {}),
        "to_label.jsonl": "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows),
    }


# Verdicts on single answers as a section of a report.


def judged_title(report: JudgeReport) -> str:
    """The title of the part of a report that is about judges."""
    return f"judged by {report.model}"


def judged_section(report: JudgeReport) -> Section:
    """The verdicts on single answers by question; a missing verdict has no value."""
    questions = tuple(dict.fromkeys(name for item in report.answers for name in item.question_ids))
    judges = tuple(dict.fromkeys(item.judge for item in report.answers))
    by_strategy: dict[str, dict[str, Mapping[str, float | None]]] = {}
    for item in report.answers:
        values = dict(zip(item.question_ids, item.values, strict=True))
        by_strategy.setdefault(item.strategy, {})[item.judge] = values
    return Section(
        title=judged_title(report),
        questions=questions,
        measures=judges,
        values={
            strategy: tuple(tuple(by_judge.get(judge, {}).get(name) for judge in judges) for name in questions)
            for strategy, by_judge in by_strategy.items()
        },
    )
