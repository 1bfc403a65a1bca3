"""Answers every question of a set with every strategy, from evidence to text, and measures the answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import BudgetError, HLGraphError, InputError
from hlgraph.evaluate.bootstrap import Interval, Resamples
from hlgraph.evaluate.known import Knower, knower
from hlgraph.evaluate.metrics.exactness import exact_match, f1, has_answer
from hlgraph.evaluate.sections import Section
from hlgraph.evaluate.spans import Span, best_span
from hlgraph.models.accounts.ledger import Spent, total
from hlgraph.text import sentences

if TYPE_CHECKING:
    from hlgraph.answer.request import AnswerStyle
    from hlgraph.evaluate.datasets import Dataset, Question
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.records import Answer
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph

MEASURES = ("EM", "F1", "sentence_F1", "answer_in_text", "answer_recall")
"""Names of the measures of an answer, in the order of :func:`measured`."""
_MARK = re.compile(r"\s*\[\d+(?:, ?\d+)*\]")
_FAILURES = (HLGraphError, ArithmeticError, LookupError, TypeError, ValueError)
_LABEL = re.compile(r"(?:^|\n)[#* ]*Answer:\**\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of one question.

    Attributes
    ----------
    question_id : the question
    short : the short answer that exact match and F1 measure
    text : the whole answer, without citation marks
    evidence : texts of the cited evidence
    is_refused : nothing is cited
    milliseconds : wall-clock time
    error : why there is no answer, else empty
    by_chat : a chat model wrote it
    sentence : the first sentence of what a chat model wrote; without one, the sentence of the span
    made_by : prompt and model that wrote it; empty without a model
    """

    question_id: str
    short: str
    text: str
    evidence: tuple[str, ...]
    is_refused: bool
    milliseconds: float
    error: str = ""
    by_chat: bool = False
    sentence: str = ""
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of one strategy.

    Attributes
    ----------
    outcomes : one per question with gold answers
    spent : calls, tokens and money of the chat model for these answers, zero without one
    """

    outcomes: tuple[AnswerOutcome, ...]
    spent: Spent

    @property
    def failed(self) -> int:
        """The number of questions that failed."""
        return sum(bool(outcome.error) for outcome in self.outcomes)


class AnswerReport(NamedTuple):
    """The answers of an evaluation.

    Attributes
    ----------
    by_chat : whether a chat model wrote them; else they are extractive, and ``short`` is the best span
    questions : the questions with gold answers
    strategies : answers by strategy
    intervals : means and intervals by strategy and measure
    """

    by_chat: bool
    questions: tuple[Question, ...]
    strategies: Mapping[str, Answered]
    intervals: Mapping[str, Mapping[str, Interval]]


def answer_all(
    graph: HLGraph,
    dataset: Dataset,
    *,
    retrievers: Mapping[str, Retriever],
    k: int,
    style: AnswerStyle = "plain",
    budget: Budget | None = None,
) -> AnswerReport:
    """Answer the questions that have gold answers, one after another; a failed question counts as a wrong answer.

    With a chat model the short answer is what it writes, with the style ``reason`` what it writes behind the label of the
    answer; else the best span of the cited sentences (:func:`hlgraph.evaluate.spans.best_span`). When the budget ends, so do
    the answers: the questions that remain count as failed.

    Parameters
    ----------
    graph : the corpus
    dataset : the questions
    retrievers : retrievers by strategy name
    k : number of pieces of evidence
    style : see :class:`hlgraph.answer.AnswerRequest`; ``reason`` needs a chat model
    budget : for all calls together; None: without limit

    Raises
    ------
    InputError
        No question has a gold answer.
    """
    questions = tuple(question for question in dataset.questions if question.answers)
    if not questions:
        raise InputError(
            f"no question of {dataset.name} has answers; give the questions a list answers, or leave out --answers"
        )
    found: dict[str, Answered] = {}
    know, start = knower(graph), total(graph.ledger())

    def ask(text: str, *, made: Retriever) -> Answer:
        left = budget and _left(budget, _difference(total(graph.ledger()), start))
        return graph.answer(text, strategy=made, k=k, style=style, budget=left)

    for name, made in retrievers.items():
        asked = partial(ask, made=made)
        before = total(graph.ledger())
        outcomes = []
        ended = ""
        with progress.step(f"answer {name}", len(questions), unit="questions"):
            for question in questions:
                outcome = (
                    AnswerOutcome(question.id, "", "", (), is_refused=True, milliseconds=0.0, error=ended)
                    if ended
                    else _answered(question, asked, know=know)
                )
                ended = outcome.error if outcome.error.startswith(BudgetError.__name__) else ended
                outcomes.append(outcome)
                progress.advance(f"answer {name}")
        found[name] = Answered(tuple(outcomes), _difference(total(graph.ledger()), before))
    by_chat = any(outcome.by_chat for item in found.values() for outcome in item.outcomes)
    return AnswerReport(by_chat, questions, found, _intervals(questions, found))


def section(questions: Sequence[Question], outcomes: Mapping[str, Sequence[AnswerOutcome]], *, title: str) -> Section:
    """The measures of answers as a section of a report.

    Parameters
    ----------
    questions : the questions with gold answers
    outcomes : answers by strategy, one a question in their order
    title : title of the section
    """
    return Section(
        title=title,
        questions=tuple(question.id for question in questions),
        measures=MEASURES,
        values={
            name: tuple(measured(outcome, question.answers) for question, outcome in zip(questions, items, strict=True))
            for name, items in outcomes.items()
        },
    )


def measured(outcome: AnswerOutcome, golds: Sequence[str]) -> tuple[float, ...]:
    """The measures of one answer, in the order of ``MEASURES``, each from 0 to 1.

    Exact match and F1 measure the short answer, ``sentence_F1`` its sentence. ``answer_in_text`` is 1 where the text has a gold
    answer, and ``answer_recall`` where the cited evidence has. An empty answer is wrong, even where the gold answer is an article
    or a mark, of which normalisation leaves nothing.

    Parameters
    ----------
    outcome : the answer
    golds : accepted answers, at least one
    """
    has_short = bool(outcome.short.strip())
    return (
        has_short * exact_match(outcome.short, golds),
        has_short * f1(outcome.short, golds),
        bool(outcome.sentence.strip()) * f1(outcome.sentence, golds),
        has_answer([outcome.text], golds),
        has_answer(outcome.evidence, golds),
    )


def _answered(question: Question, ask: Callable[[str], Answer], *, know: Knower) -> AnswerOutcome:
    start = time.perf_counter()
    try:
        answer = ask(question.asked)
    except _FAILURES as failure:
        milliseconds = 1000 * (time.perf_counter() - start)
        error = f"{type(failure).__name__}: {failure}"
        return AnswerOutcome(question.id, "", "", (), is_refused=True, milliseconds=milliseconds, error=error)
    milliseconds = 1000 * (time.perf_counter() - start)
    parts = [answer.text] if answer.made_by else [item.text for item in answer.sentences] or [answer.text]
    text = "\n\n".join(_MARK.sub("", part) for part in parts)  # pieces of evidence need not end with a full stop
    evidence = tuple(citation.evidence.text for citation in answer.citations)
    by_chat = bool(answer.made_by)
    pieces = [citation.evidence for citation in answer.citations]
    span = _said(text) if by_chat else best_span(question.text, evidence, known=know(pieces))
    return AnswerOutcome(
        question.id,
        span.text,
        text,
        evidence,
        not answer.citations,
        milliseconds,
        by_chat=by_chat,
        made_by=answer.made_by,
        sentence=span.sentence,
    )


def _said(text: str) -> Span:
    """What a chat model wrote behind the label of its answer, and its first sentence."""
    short = _LABEL.split(text)[-1].strip()
    start, end = next(iter(sentences(short)), (0, 0))
    return Span(short, short[start:end])


def _intervals(questions: Sequence[Question], found: Mapping[str, Answered]) -> dict[str, dict[str, Interval]]:
    intervals = {}
    for name, item in found.items():
        rows = [measured(outcome, question.answers) for question, outcome in zip(questions, item.outcomes, strict=True)]
        values: NDArray[np.float64] = np.array(rows, dtype=np.float64)
        drawn = Resamples(values)
        intervals[name] = {measure: drawn.interval(place) for place, measure in enumerate(MEASURES)}
    return intervals


def _left(budget: Budget, spent: Spent) -> Budget:
    """The part of a budget that is not spent. Raises BudgetError where nothing is left."""
    tokens = None if budget.max_tokens is None else budget.max_tokens - spent.input_tokens - spent.output_tokens
    usd = None if budget.max_usd is None else budget.max_usd - (spent.usd or 0.0)
    if any(left is not None and left <= 0 for left in (tokens, usd)):
        used = spent.input_tokens + spent.output_tokens
        raise BudgetError(
            f"the budget is spent: {used:,} tokens in {spent.calls:,} calls; raise it, or repeat the command to resume it",
            tokens=used,
            usd=spent.usd,
        )
    return replace(budget, max_tokens=tokens, max_usd=usd)


def _difference(now: Spent, before: Spent) -> Spent:
    usd = None if now.usd is None else now.usd - (before.usd or 0.0)
    return Spent(
        name="answers",
        calls=now.calls - before.calls,
        input_tokens=now.input_tokens - before.input_tokens,
        output_tokens=now.output_tokens - before.output_tokens,
        usd=usd,
    )
