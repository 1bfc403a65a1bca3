"""How a chat model is asked for an answer: whole, or in pieces as the model gives them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from hlgraph.answer.citations import said
from hlgraph.models.executor import Asking, Executor, asking_about
from hlgraph.models.ledger import Purpose
from hlgraph.models.prompts import Prompt, read_prompt
from hlgraph.models.seams import ChatModel, Completion, StreamingChat
from hlgraph.models.usage import Usage

_PROMPTS = Path(__file__).parent / "prompts"
MAX_TOKENS = 4096  # models that think first need room for that too
_Result = TypeVar("_Result")
Telling: TypeAlias = Generator[str, None, _Result]
"""Yields text as it arrives, and returns what it came to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A chat model, and how it is asked.

    Attributes
    ----------
    max_tokens : of one reply
    is_streamed : text arrives in pieces, where the model can
    usage : counts what the calls cost
    """

    model: ChatModel
    max_tokens: int = MAX_TOKENS
    is_streamed: bool = False
    usage: Usage | None = None

    @property
    def fingerprint(self) -> str:
        """That of the model."""
        return self.model.fingerprint

    def ask(
        self, name: str, values: Mapping[str, str], *, accept: Callable[[str], bool] = lambda reply: bool(said(reply))
    ) -> Completion:
        """The whole reply to a prompt; ``accept`` says which replies are worth keeping. Raises as the model does."""
        asked, prompt = self._asked(name, accept)
        completion = asked.complete(prompt.system, prompt.filled(values), max_tokens=self.max_tokens)
        return self._counted(completion)

    def ask_each(self, name: str, values: Sequence[Mapping[str, str]]) -> list[Completion]:
        """The whole reply to a prompt with each of these values, in their order.

        Through an executor so many at once as it lets through, and the first that fails ends the others; another model is
        asked one after another. Raises as the model does.
        """

        def ask(one: Mapping[str, str]) -> Completion:
            return self.ask(name, one)

        if isinstance(self.model, Executor | Asking):
            return self.model.run(ask, values)
        return [ask(one) for one in values]

    def ask_strictly(self, name: str, values: Mapping[str, str], *, accept: Callable[[str], bool]) -> str | None:
        """A reply without thoughts that ``accept`` takes; asked for once more by the prompt ``<name>_again``, else None."""

        def is_taken(reply: str) -> bool:
            return accept(said(reply))

        completion = self.ask(name, values, accept=is_taken)
        if not is_taken(completion.text):
            completion = self.ask(f"{name}_again", values, accept=is_taken)
            if not is_taken(completion.text):
                return None
            asked, prompt = self._asked(name, is_taken)
            if isinstance(asked, Asking):  # so that the same question again is not paid twice
                asked.settle(prompt.system, prompt.filled(values), max_tokens=self.max_tokens, completion=completion)
        return said(completion.text)

    def tell(self, name: str, values: Mapping[str, str]) -> Telling[Completion]:
        """The same, yielding the pieces of the raw reply; none where it is not streamed, or the model cannot."""
        asked, prompt = self._asked(name, lambda reply: bool(said(reply)))
        if not self.is_streamed or not isinstance(asked, StreamingChat):
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

    def _asked(self, name: str, accept: Callable[[str], bool]) -> tuple[ChatModel, Prompt]:
        prompt = prompt_named(name)
        return asking_about(self.model, Purpose(stage="answer", prompt=prompt.version), accept=accept), prompt

    def _counted(self, completion: Completion) -> Completion:
        if self.usage is not None:
            self.usage.add(completion)
        return completion


def prompt_named(name: str) -> Prompt:
    """A prompt of this stage."""
    return read_prompt(_PROMPTS / f"{name}.md")


def made_by(model: ChatModel | Writer, *names: str) -> str:
    """The versions of these prompts, and the model."""
    return "+".join((*(prompt_named(name).version for name in names), model.fingerprint))


def outcome(telling: Telling[_Result]) -> _Result:
    """What a telling comes to, its text passed over."""
    while True:
        try:
            next(telling)
        except StopIteration as end:
            result: _Result = end.value
            return result
