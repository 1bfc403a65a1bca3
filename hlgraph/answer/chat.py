"""An answer by a chat model: from numbered evidence, every citation checked, or the admission that there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from hlgraph.answer.citations import Arriving, checked, is_refusal, said
from hlgraph.answer.context import CONTEXT_TOKENS, fitted
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.writer import MAX_TOKENS, Telling, Writer, made_by, outcome
from hlgraph.errors import ModelAnswerError
from hlgraph.models.prompts import delimited
from hlgraph.models.seams import ChatModel, Completion
from hlgraph.models.usage import Usage
from hlgraph.records import Answer, Evidence


class Asked(NamedTuple):
    """A prompt of this stage, the question, and the values of the prompt."""

    prompt: str
    question: str
    values: Mapping[str, str]


def chat_answer(
    question: str,
    evidence: Sequence[Evidence],
    *,
    model: ChatModel,
    max_tokens: int = MAX_TOKENS,
    context_tokens: int = CONTEXT_TOKENS,
    usage: Usage | None = None,
) -> Answer:
    """What the model says to the question from the evidence, with its citations.

    The model reads as much evidence as ``context_tokens`` hold, the best first and last, numbered by rank. In the answer
    citations are numbered anew, in the order in which the text has them. A number that no piece of evidence has, or none
    that was shown, is taken out of the text and counted; a sentence that is left without a citation is named in ``uncited``.
    An answer without any citation, or the model's word that nothing supports one, is not supported. Without evidence the
    model is not asked.

    Parameters
    ----------
    evidence : best first
    max_tokens : of the answer
    context_tokens : of the evidence that the model reads (default 8,000; see :func:`hlgraph.answer.context.fitted`)
    usage : counts what the call cost

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : as the model does
    ModelAnswerError : the reply says nothing
    InputError : ``context_tokens`` is below 200
    """
    writer = Writer(model=model, max_tokens=max_tokens, usage=usage)
    return outcome(telling_answer(question, evidence, writer=writer, context_tokens=context_tokens))


def telling_answer(
    question: str, evidence: Sequence[Evidence], *, writer: Writer, context_tokens: int = CONTEXT_TOKENS
) -> Telling[Answer]:
    """The same as :func:`chat_answer`, yielding the text as it arrives where the writer streams."""
    fit = fitted(evidence, context_tokens)
    if not evidence:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    values = {"evidence": fit.text, "question": delimited("question", question)}
    asked = Asked("answer", question, values)
    answer = yield from telling_reply(asked, evidence, writer=writer, known=fit.places)
    return replace(answer, made_by=made_by(writer, "answer"), left_out=fit.left_out, cut=fit.cut)


def telling_reply(
    asked: Asked, evidence: Sequence[Evidence], *, writer: Writer, known: Collection[int]
) -> Telling[Answer]:
    """The reply to a prompt as an answer: citations checked, ``NOT_FOUND`` where the model says that nothing helps.

    Parameters
    ----------
    evidence : that the numbers of citations mean, from 1
    known : places of the evidence that may be cited, from 0

    Raises ModelAnswerError where the reply says nothing, and what the model raises.
    """
    arriving = Arriving(known)
    with closing(writer.tell(asked.prompt, asked.values)) as telling:  # who stops reading ends the call
        while True:
            try:
                piece = arriving.add(next(telling))
            except StopIteration as end:
                completion: Completion = end.value
                break
            if piece:
                yield piece
    text = said(completion.text)
    if not text:
        mend = "raise models.max_tokens" if completion.is_cut else "ask it another way, or another model"
        raise ModelAnswerError(f"{writer.fingerprint}: the reply ends before it says anything; {mend}")
    answer = checked(asked.question, text, evidence=evidence, known=known)
    if not answer.citations and is_refusal(text):
        answer = Answer(asked.question, NOT_FOUND, (), is_supported=False)
    if writer.is_streamed and (rest := arriving.rest(answer.text)):
        yield rest
    return answer
