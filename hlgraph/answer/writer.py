"""Asks a chat model for an answer: whole, or in pieces as the model streams them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from hlgraph.answer.citations import (
    CONTEXT_TOKENS,
    Arriving,
    Fit,
    Pieces,
    checked,
    fitted,
    in_lines,
    is_refusal,
    line_of,
    said,
)
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.errors import ModelAnswerError
from hlgraph.models.accounts.budget import Usage
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor, asking_about
from hlgraph.models.prompts import Prompt, delimited, read_prompt
from hlgraph.models.protocols import ChatModel, Completion
from hlgraph.records import Answer, Evidence

_PROMPTS = Path(__file__).parent / "prompts"
MAX_TOKENS = 4096  # reasoning models spend part of it on thoughts
ALIGNED = "align-answer"
"""The prompt that ``hlgraph align`` trains models on; a single user message, as in training."""
_Result = TypeVar("_Result")
Telling: TypeAlias = Generator[str, None, _Result]
"""Yields text as it arrives, and returns the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A chat model, and how it is asked.

    Attributes
    ----------
    model : the chat model
    max_tokens : maximum length of one reply, in tokens (default 4,096)
    is_streamed : text arrives in pieces, if the model can stream
    usage : counts the tokens and the cost of the calls
    """

    model: ChatModel
    max_tokens: int = MAX_TOKENS
    is_streamed: bool = False
    usage: Usage | None = None

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model."""
        return self.model.fingerprint

    def ask(
        self, name: str, values: Mapping[str, str], *, accept: Callable[[str], bool] = lambda reply: bool(said(reply))
    ) -> Completion:
        """The whole reply to a prompt.

        Parameters
        ----------
        name : name of the prompt
        values : its values
        accept : which replies are worth keeping (default: those that are not empty)

        Returns
        -------
        Completion
            It raises what the model raises.
        """
        asked, prompt = self._asked(name, accept)
        completion = asked.complete(prompt.system, prompt.filled(values), max_tokens=self.max_tokens)
        return self._counted(completion)

    def ask_each(self, name: str, values: Sequence[Mapping[str, str]]) -> list[Completion]:
        """The whole replies to a prompt with each of these values, in their order.

        An executor runs the calls concurrently, within its limit, and the first that fails cancels the others. Any other model
        is called for one value after another.

        Parameters
        ----------
        name : name of the prompt
        values : the values of each call

        Returns
        -------
        list
            One completion per call.
        """

        def ask(one: Mapping[str, str]) -> Completion:
            return self.ask(name, one)

        if isinstance(self.model, Executor | Asking):
            return self.model.run(ask, values)
        return [ask(one) for one in values]

    def ask_strictly(
        self, name: str, values: Mapping[str, str], *, parse: Callable[[str], _Result | None]
    ) -> _Result | None:
        """A parsed reply; after a reply that cannot be parsed the prompt ``<name>_again`` asks once more.

        Parameters
        ----------
        name : name of the prompt
        values : its values
        parse : maps a reply, without thoughts, to its meaning; None if it is not valid

        Returns
        -------
        The result of ``parse``; None if the second reply is rejected too.
        """

        def is_taken(reply: str) -> bool:
            return parse(said(reply)) is not None

        completion = self.ask(name, values, accept=is_taken)
        if completion.is_cut or not is_taken(completion.text):
            completion = self.ask(f"{name}_again", values, accept=is_taken)
            if completion.is_cut or not is_taken(completion.text):
                return None
            asked, prompt = self._asked(name, is_taken)
            # So that the same question is not paid for twice.
            asked.settle(prompt.system, prompt.filled(values), max_tokens=self.max_tokens, completion=completion)
        return parse(said(completion.text))

    def tell(self, name: str, values: Mapping[str, str]) -> Telling[Completion]:
        """:meth:`ask` as a generator: yields the pieces of the raw reply; no pieces without streaming.

        Parameters
        ----------
        name : name of the prompt
        values : its values

        Returns
        -------
        Generator
            Its return value is the completion.
        """
        asked, prompt = self._asked(name, lambda reply: bool(said(reply)))
        if not self.is_streamed:
            return self.ask(name, values)
        pieces = asked.stream(prompt.system, prompt.filled(values), max_tokens=self.max_tokens)
        try:
            for piece in pieces:
                if isinstance(piece, Completion):
                    return self._counted(piece)
                yield piece
        finally:
            if isinstance(pieces, Generator):
                pieces.close()
        return Completion("")

    def _asked(self, name: str, accept: Callable[[str], bool]) -> tuple[Asking, Prompt]:
        prompt = prompt_named(name)
        return asking_about(self.model, Purpose(stage="answer", prompt=prompt.version), accept=accept), prompt

    def _counted(self, completion: Completion) -> Completion:
        if self.usage is not None:
            self.usage.add(completion)
        return completion


def prompt_named(name: str) -> Prompt:
    """A prompt of this stage, by name."""
    return read_prompt(_PROMPTS / f"{name}.md")


def made_by(model: ChatModel | Writer, *names: str) -> str:
    """The fingerprint of an answer: the versions of its prompts, and the model.

    Parameters
    ----------
    model : the chat model, or a writer with it
    names : names of the prompts

    Returns
    -------
    str
        Joined by ``+``.
    """
    return "+".join((*(prompt_named(name).version for name in names), model.fingerprint))


def outcome(telling: Telling[_Result]) -> _Result:
    """The return value of the generator; its text is discarded."""
    pieces = Pieces(telling)
    deque(pieces, maxlen=0)
    return pieces.result


def chat_answer(
    question: str,
    evidence: Sequence[Evidence],
    *,
    model: ChatModel,
    max_tokens: int = MAX_TOKENS,
    context_tokens: int = CONTEXT_TOKENS,
    usage: Usage | None = None,
) -> Answer:
    """The chat model's answer to the question from the evidence, with its citations.

    The model reads as much evidence as fits ``context_tokens``, numbered by rank, the best first and last. The citations of the
    answer are renumbered in the order in which the text has them. Numbers of pieces that do not exist, or were not shown, are
    removed from the text and counted; sentences left without a citation are listed in ``uncited``. An answer without any citation
    is not supported, nor is one where the model says that the evidence holds no answer. Without evidence the model is not called.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    model : the chat model
    max_tokens : maximum length of the answer, in tokens (default 4,096)
    context_tokens : size of the evidence that the model reads, in estimated tokens (default 8,000; see
        :func:`hlgraph.answer.citations.fitted`)
    usage : counts the tokens and the cost of the call

    Returns
    -------
    Answer
        Its sentences are not verified yet; see :func:`hlgraph.answer.verify.verified`.

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : from the model
    ModelAnswerError : the reply is empty
    """
    writer = Writer(model=model, max_tokens=max_tokens, usage=usage)
    return outcome(telling_answer(question, evidence, writer=writer, context_tokens=context_tokens))


def telling_answer(
    question: str,
    evidence: Sequence[Evidence],
    *,
    writer: Writer,
    context_tokens: int = CONTEXT_TOKENS,
    prompt: str = "answer",
) -> Telling[Answer]:
    """:func:`chat_answer` as a generator: yields the text as it arrives if the writer streams.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    writer : the chat model and how it is asked
    context_tokens : size of the evidence that the model reads, in estimated tokens (default 8,000)
    prompt : name of the prompt: ``answer`` (default), ``reason``, or ``align-answer``

    Returns
    -------
    Generator
        Its return value is the answer.
    """
    fit = fitted(evidence, context_tokens)
    if not evidence:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    reply = telling_reply(
        question, evidence, writer=writer, prompt=prompt, values=_values(prompt, question, fit), known=fit.places
    )
    answer = yield from reply
    return replace(answer, made_by=made_by(writer, prompt), left_out=fit.left_out, cut=fit.cut)


def _values(prompt: str, question: str, fit: Fit) -> dict[str, str]:
    if prompt != ALIGNED:
        return {"evidence": fit.text, "question": delimited("question", question)}
    numbers = [place + 1 for place in fit.places]
    return aligned_values(question, in_lines([line_of(piece) for piece in fit.pieces], numbers=numbers))


def aligned_values(question: str, context: str) -> dict[str, str]:
    """The values of the prompt that models are trained on.

    Parameters
    ----------
    question : text of the question
    context : the contexts, see :func:`hlgraph.answer.citations.in_lines`
    """
    return {"context": context, "question": question}


def closed_book_answer(question: str, *, writer: Writer) -> Answer:
    """The chat model's answer from what it knows, without any evidence and so without citations (GraphMPA, Table 7).

    The prompt is that of training without a context.

    Parameters
    ----------
    question : text of the question
    writer : the chat model and how it is asked

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : from the model
    """
    completion = writer.ask(ALIGNED, aligned_values(question, in_lines(())))
    return Answer(
        question,
        said(completion.text),
        (),
        is_supported=False,
        made_by=made_by(writer, ALIGNED),
        is_truncated=completion.is_cut,
    )


def telling_reply(
    question: str,
    evidence: Sequence[Evidence],
    *,
    writer: Writer,
    prompt: str,
    values: Mapping[str, str],
    known: Collection[int],
) -> Telling[Answer]:
    """The reply to a prompt as an answer with checked citations; ``NOT_FOUND`` if the model says that nothing helps.

    Parameters
    ----------
    question : text of the question
    evidence : the pieces that citation numbers mean, from 1
    writer : the chat model and how it is asked
    prompt : name of the prompt
    values : its values
    known : places of the evidence that may be cited, from 0

    Returns
    -------
    Generator
        Yields the text as it arrives if the writer streams; its return value is the answer.

    Raises
    ------
    ModelAnswerError : the reply is empty
    ModelUnavailableError, ModelAccessError : from the model
    """
    arriving, pieces = Arriving(known), Pieces(writer.tell(prompt, values))
    with closing(iter(pieces)) as telling:  # closing the generator ends the call
        yield from filter(None, map(arriving.add, telling))
    completion = pieces.result
    text = said(completion.text)
    if not text:
        mend = "raise models.max_tokens" if completion.is_cut else "rephrase the question, or use another model"
        raise ModelAnswerError(f"{writer.fingerprint}: the reply is empty; {mend}")
    answer = checked(question, text, evidence=evidence, known=known)
    if not answer.citations and is_refusal(text):
        answer = Answer(question, NOT_FOUND, (), is_supported=False)
    answer = replace(answer, is_truncated=completion.is_cut)
    if writer.is_streamed and (rest := arriving.rest(answer.text)):
        yield rest
    return answer
