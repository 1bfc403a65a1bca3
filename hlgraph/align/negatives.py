"""Rejected answers: the bare gold, and two that are as long as the preferred one, so that length does not tell them apart.

GraphMPA rejects the bare gold answer alone. Then the preferred answer is always the longer one, and a model can lower the loss by
writing more, whatever it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hlgraph.align.pairs import Negative, Pair, preferred
from hlgraph.align.reasons import Task, versions
from hlgraph.answer.citations import MARK, cited_sentences
from hlgraph.answer.support import objection
from hlgraph.evaluate.metrics.exactness import normalised
from hlgraph.ids import checksum

_LENGTHS = 0.25  # most difference of the lengths of a preferred and a rejected answer of the same length


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A task with a reason that holds, and the chat model that wrote it."""

    task: Task
    reason: str
    model: str

    @property
    def text(self) -> str:
        """The preferred answer."""
        return preferred(self.reason, self.task.gold)


def pairs_of(found: Sequence[Reasoned], *, negatives: Sequence[Negative]) -> list[Pair]:
    """The pairs of all reasons of one side of a split; equal pairs once.

    Parameters
    ----------
    found : reasons that hold
    negatives : kinds of rejected answers; a reason for which a kind cannot be made has no pair of it

    Returns
    -------
    list[Pair]
        In the order of ``found``, and of ``negatives`` for each.
    """
    by_size: dict[int, list[Reasoned]] = {}
    for item in found:
        by_size.setdefault(len(item.task.contexts), []).append(item)
    pairs: dict[tuple[str, str, str], Pair] = {}
    for item in found:
        made: Mapping[Negative, str] = {
            "bare": item.task.gold,
            "citation": wrong_citations(item),
            "other": other_answer(item, by_size[len(item.task.contexts)]),
        }
        for kind in negatives:
            if made[kind]:
                pair = _pair(item, kind, made[kind])
                pairs.setdefault((pair.prompt, normalised(pair.chosen), normalised(pair.rejected)), pair)
    return list(pairs.values())


def wrong_citations(item: Reasoned) -> str:
    """The preferred answer with every citation moved to a piece that does not support its sentence.

    Empty where some sentence has no such piece: with fewer than two contexts, or where all of them support it.

    Parameters
    ----------
    item : a reason that holds
    """
    contexts = item.task.contexts
    spans = cited_sentences(item.reason)
    if not spans or not contexts:
        return ""
    text, at = "", 0
    for span in spans:
        sentence = item.reason[span.start : span.end]
        wrong = [
            number
            for number, context in enumerate(contexts, 1)
            if number not in span.numbers and objection(sentence, [context.text])
        ]
        if not wrong:
            return ""
        text += item.reason[at : span.start] + _moved(sentence, wrong)
        at = span.end
    return preferred(text + item.reason[at:], item.task.gold)


def other_answer(item: Reasoned, others: Iterable[Reasoned]) -> str:
    """The preferred answer to another question with as many contexts, the closest in length; empty where none is close.

    The other question has another gold answer and no gold source of this one. The lengths differ by a quarter at most; ties by
    id of the question, then by text.

    Parameters
    ----------
    item : a reason that holds
    others : reasons with the same number of contexts
    """
    mine, golds = item.task.question, {normalised(answer) for answer in item.task.question.answers}
    length = len(item.text)
    close = [
        (abs(len(each.text) - length), each.task.question.id, each.text)
        for each in others
        if not mine.gold & each.task.question.gold
        and not golds & {normalised(answer) for answer in each.task.question.answers}
        and abs(len(each.text) - length) <= _LENGTHS * length
    ]
    return min(close)[2] if close else ""


def _moved(sentence: str, wrong: Sequence[int]) -> str:
    """A sentence whose marks name the wrong pieces, as many as it has if there are enough."""
    numbers = list(dict.fromkeys(int(number) for number in MARK.findall(sentence)))
    new = {number: wrong[place % len(wrong)] for place, number in enumerate(numbers)}
    return MARK.sub(lambda mark: f"[{new[int(mark[1])]}]", sentence)


def _pair(item: Reasoned, kind: Negative, rejected: str) -> Pair:
    task, question = item.task, item.task.question
    return Pair(
        id=checksum("pair", task.prompt, item.text, rejected)[:32],
        prompt=task.prompt,
        chosen=item.text,
        rejected=rejected,
        negative=kind,
        question_id=question.id,
        question=question.text,
        answers=question.answers,
        k=len(task.contexts),
        pieces=task.pieces,
        gold_sources=task.gold_sources,
        type=question.type,
        hops=question.hops,
        model=item.model,
        made_with=versions(),
    )
