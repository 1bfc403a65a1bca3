"""Measures of the texts of answers that are asked for by name: ROUGE, BLEU, token recall, and accuracy of multiple choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hlgraph.evaluate.metrics.exactness import chosen_option, token_recall
from hlgraph.evaluate.metrics.overlap import rouge_l, rouge_n, sentence_bleu
from hlgraph.evaluate.sections import Row, Section

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerOutcome, AnswerReport
    from hlgraph.evaluate.datasets import Question


def _rouge_1(text: str, golds: Sequence[str]) -> float:
    return max(rouge_n(text, gold, n=1).f1 for gold in golds)


def _rouge_2(text: str, golds: Sequence[str]) -> float:
    return max(rouge_n(text, gold, n=2).f1 for gold in golds)


def _rouge_l(text: str, golds: Sequence[str]) -> float:
    return max(rouge_l(text, gold).f1 for gold in golds)


def _bleu_1(text: str, golds: Sequence[str]) -> float:
    return sentence_bleu(text, golds, n=1)


_OF_TEXTS: Mapping[str, Callable[[str, Sequence[str]], float]] = {
    "ROUGE-1": _rouge_1,
    "ROUGE-2": _rouge_2,
    "ROUGE-L": _rouge_l,
    "BLEU": sentence_bleu,
    "BLEU-1": _bleu_1,
}
NAMES = (*_OF_TEXTS, "token_recall", "accuracy")
"""Names of the measures. ``METEOR`` is none of them: it needs WordNet, which no package brings."""


def check_texts(names: Sequence[str]) -> None:
    """Check that the measures can be computed. Raises MissingExtraError for BLEU without sacrebleu.

    Parameters
    ----------
    names : some of ``NAMES``
    """
    if any(name.startswith("BLEU") for name in names):
        sentence_bleu("", ("",))


def text_section(found: AnswerReport, names: Sequence[str]) -> Section:
    """The named measures of all answers as a section of a report.

    ROUGE (F1) and BLEU measure what a chat model writes as its answer, else the sentence of the best span. ``token_recall``
    measures the whole text. ``accuracy`` is 1 where the answer names the right option and no other; a question without options
    has none.

    Parameters
    ----------
    found : the answers
    names : some of ``NAMES``
    """
    notes = []
    if "accuracy" in names:
        count = sum(bool(question.options) for question in found.questions)
        notes = [f"accuracy: {count} of {len(found.questions)} questions have options"]
    return Section(
        title=f"texts of answers ({'chat model' if found.by_chat else 'extractive'})",
        questions=tuple(question.id for question in found.questions),
        measures=tuple(names),
        values={
            strategy: tuple(
                text_measures(outcome, question, names=names)
                for question, outcome in zip(found.questions, item.outcomes, strict=True)
            )
            for strategy, item in found.strategies.items()
        },
        notes=tuple(notes),
    )


def text_measures(outcome: AnswerOutcome, question: Question, *, names: Sequence[str]) -> Row:
    """The named measures of one answer, each from 0 to 1; None for accuracy of a question without options.

    Parameters
    ----------
    outcome : the answer
    question : its question, with gold answers
    names : some of ``NAMES``
    """
    answer = outcome.short if outcome.by_chat else outcome.sentence
    return tuple(_measured(name, outcome, question=question, answer=answer) for name in names)


def _measured(name: str, outcome: AnswerOutcome, *, question: Question, answer: str) -> float | None:
    if name == "token_recall":
        return token_recall(outcome.text, question.answers)
    if name == "accuracy":
        return _accuracy(answer, question) if question.options else None
    return _OF_TEXTS[name](answer, question.answers)


def _accuracy(answer: str, question: Question) -> float:
    letter = chosen_option(answer, question.lettered)
    return float(letter is not None and question.lettered[letter] in question.answers)
