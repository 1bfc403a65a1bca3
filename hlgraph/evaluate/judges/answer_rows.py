"""The answers that are judged: from an evaluation, or from the file ``answers.jsonl`` of an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.json_lines import json_lines
from hlgraph.ids import checksum

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerReport

_MEND = "give the file answers.jsonl that hlgraph eval --answers --out wrote"
_ID = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer to judge.

    Attributes
    ----------
    strategy : who answered; the judge never reads it
    question_id, question : the question
    answers : accepted answers
    text : the answer; empty: there is none
    assertions : what an answer has to say, by the author of the question; empty: made from the accepted answers
    made_by : prompt and model that wrote it; empty without a model
    error : why there is no answer; read from files only
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
        """A hash of the text, by which a label is known to be about this answer."""
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
    rows = json_lines(path, Candidate, mend=_MEND, what="no saved answer: ")
    candidates = [replace(row, text="" if row.error else row.text.strip(), error="") for _, row in rows]
    if not candidates:
        raise ReadError(str(path), "it holds no answer", _MEND)
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
