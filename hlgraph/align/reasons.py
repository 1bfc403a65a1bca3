"""Reasons: a chat model writes why an answer is right, from the question and the gold answer; what does not hold is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from hlgraph.align.pairs import Parts, Piece, Prompt, parts_of
from hlgraph.answer.citations import CITED, cited_sentences, named_numbers, said
from hlgraph.answer.support import objection
from hlgraph.errors import ModelAnswerError
from hlgraph.evaluate.asking import PREFIX
from hlgraph.evaluate.metrics.exactness import exact_match, has_answer, normalised
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.prompts import delimited, read_prompt

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Question
    from hlgraph.models.executor import Executor
    from hlgraph.records import Evidence

_PROMPTS = Path(__file__).parent / "prompts"
STAGE = "align"
Fault = Literal[
    "unreadable",
    "refused",
    "no_reason",
    "other_answer",
    "no_lead",
    "tells",
    "uncited",
    "unknown_citation",
    "unsupported",
]
FAULTS: dict[Fault, str] = {
    "unreadable": "the reply does not have the two parts, or was cut off",
    "refused": "the provider refused the request",
    "no_reason": "the model says that the evidence does not lead to the answer",
    "other_answer": "the reply ends with another answer than the gold",
    "no_lead": "the reason does not name the gold answer",
    "tells": "the reason says that the answer was given",
    "uncited": "a sentence of the reason cites nothing",
    "unknown_citation": "the reason cites a piece that is not there",
    "unsupported": "a cited piece does not support its sentence",
}
"""Why a reason is left out."""
_DECLINED = "NO REASON"
_VERDICTS = frozenset({"yes", "no", "maybe", "true", "false"})
_TOLD = re.compile(
    r"\b(?:given|provided|supplied|stated|correct|gold)\s+answer\b|\banswer (?:was|is) given\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Context:
    """A numbered piece of context: its text with the title of its source, and what it rests on."""

    text: str
    piece: Piece


@dataclass(frozen=True, slots=True)
class Task:
    """One question with one prefix of its contexts: C_k of GraphMPA, section 3.2; without any for k = 0."""

    question: Question
    contexts: tuple[Context, ...]

    @property
    def gold(self) -> str:
        """The answer that is trained."""
        return self.question.answers[0]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What the contexts are."""
        return tuple(context.piece for context in self.contexts)

    @property
    def gold_sources(self) -> tuple[str, ...]:
        """Uris of the sources that the answer rests on, ascending."""
        return tuple(sorted(f"{PREFIX}{gold}" for gold in self.question.gold))

    @property
    def prompt(self) -> str:
        """The prompt of the trained model."""
        wanted = read_prompt(_PROMPTS / "answer.md")
        shown = "\n".join(f"[{number}] {item.text}" for number, item in enumerate(self.contexts, 1)) or "(none)"
        return f"{wanted.system}\n\n{wanted.filled({'context': shown, 'question': self.question.text})}\n"


class Outcome(NamedTuple):
    """What came of a task: a reason, or why there is none."""

    task: Task
    reason: str
    fault: Fault | None


def versions() -> tuple[str, ...]:
    """The versions of the prompts, as pairs keep them."""
    return tuple(read_prompt(_PROMPTS / name).version for name in ("answer.md", "reason.md"))


def context_of(item: Evidence) -> Context:
    """A piece of evidence as context."""
    sources = tuple(sorted({part.source.uri for part in (item, *item.rests_on)}))
    title = "" if item.summary_id else " ".join(item.source.title.split())
    text = " ".join(item.text.split())
    return Context(f"{title}: {text}" if title else text, Piece(item.id, item.kind.value, sources))


def tasks_of(question: Question, contexts: Sequence[Context], *, most: int) -> list[Task]:
    """The tasks of a question: no context, the best one, the two best, and so on up to ``most``.

    Parameters
    ----------
    question : the question, with answers
    contexts : best first
    most : most contexts of a task
    """
    return [Task(question, tuple(contexts[:k])) for k in range(min(most, len(contexts)) + 1)]


def prompt_of(task: Task) -> Prompt:
    """What a model is asked in a comparison."""
    question = task.question
    return Prompt(
        prompt=task.prompt,
        question_id=question.id,
        question=question.text,
        answers=question.answers,
        k=len(task.contexts),
        pieces=task.pieces,
        gold_sources=task.gold_sources,
        type=question.type,
        hops=question.hops,
    )


def messages(task: Task) -> tuple[str, str, str]:
    """System message, user message and version of the prompt that asks for the reason of a task."""
    prompt = read_prompt(_PROMPTS / "reason.md")
    pieces = "\n".join(
        f"[{number}]\n{delimited('evidence', item.text)}" for number, item in enumerate(task.contexts, 1)
    )
    values = {
        "evidence": pieces or "(none)",
        "question": delimited("question", task.question.text),
        "answer": delimited("answer", task.gold),
    }
    return prompt.system, prompt.filled(values), prompt.version


def is_readable(reply: str) -> bool:
    """Whether a reply has the two parts, or says that there is no reason: such replies are kept."""
    return _is_declined(said(reply)) or parts_of(said(reply)) is not None


def written(task: Task, executor: Executor, *, max_tokens: int) -> Outcome:
    """The reason that a chat model writes for a task, or why it is left out.

    Parameters
    ----------
    task : the question, its gold answer and its contexts
    executor : of the chat model
    max_tokens : limit of the reply, in tokens

    Raises
    ------
    ModelError
        The model cannot be called; a request that it refuses is an outcome.
    """
    system, user, version = messages(task)
    asking = executor.about(Purpose(stage=STAGE, prompt=version), accept=is_readable)
    try:
        completion = asking.complete(system, user, max_tokens=max_tokens)
    except ModelAnswerError:
        return Outcome(task, "", "refused")
    if completion.is_cut:
        return Outcome(task, "", "unreadable")
    text = said(completion.text)
    if _is_declined(text):
        return Outcome(task, "", "no_reason")
    parts = parts_of(text)
    if parts is None:
        return Outcome(task, "", "unreadable")
    tidy = Parts(with_single_marks(parts.reason), parts.answer)
    fault = fault_of(task, tidy)
    return Outcome(task, "" if fault else tidy.reason, fault)


def fault_of(task: Task, parts: Parts) -> Fault | None:
    """Why a reason is left out; None where it leads to the gold answer and cites what it uses.

    The reply must end with the gold answer, and the reason must name it, unless it is a verdict such as yes. With contexts each
    sentence cites at least one, and what it cites supports it (:func:`hlgraph.answer.support.objection`); the last sentence,
    which may draw the conclusion, is looked up in all that the reason cites. Without contexts it cites nothing.

    Parameters
    ----------
    task : the question, its gold answer and its contexts
    parts : the reply
    """
    reason = parts.reason
    if not exact_match(parts.answer, task.question.answers):
        return "other_answer"
    if normalised(task.gold) not in _VERDICTS and not has_answer([CITED.sub("", reason)], task.question.answers):
        return "no_lead"
    if _TOLD.search(reason):
        return "tells"
    return _fault_of_citations(task, reason)


def _fault_of_citations(task: Task, reason: str) -> Fault | None:
    spans = cited_sentences(reason)
    numbers = {number for span in spans for number in span.numbers}
    if any(not 1 <= number <= len(task.contexts) for number in numbers):
        return "unknown_citation"
    if not task.contexts:
        return None
    if not spans or not all(span.numbers for span in spans):
        return "uncited"
    for span in spans:
        cited = numbers if span is spans[-1] else span.numbers
        texts = [task.contexts[number - 1].text for number in sorted(cited)]
        if objection(reason[span.start : span.end], texts):
            return "unsupported"
    return None


def with_single_marks(reason: str) -> str:
    r"""A reason on one line, with one mark for each cited piece.

    Examples
    --------
    >>> with_single_marks("It is old [1, 3].\nIt is wide [2-3].")
    'It is old [1][3]. It is wide [2][3].'
    """
    return CITED.sub(
        lambda mark: " " + "".join(f"[{number}]" for number in named_numbers(mark[1])), " ".join(reason.split())
    )


def _is_declined(text: str) -> bool:
    return text.strip(" .").upper() == _DECLINED
