"""The calls of a chat model that writes and checks questions, each with its prompt, its form and its purpose."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from hlgraph.errors import ModelAnswerError
from hlgraph.evaluate.questions.reply_forms import Agreement, Answered
from hlgraph.extract.chat.reply_schema import ReplyError, parse, schema
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.accounts.usage import Usage
from hlgraph.models.executor import Executor
from hlgraph.models.prompts import Prompt, delimited, read_prompt

STAGE = "questions"
_PROMPTS = Path(__file__).parent / "prompts"
_Reply = TypeVar("_Reply", bound=BaseModel)


class DropError(Exception):
    """A question is dropped; the message says why, in words that are counted."""


def prompt(name: str) -> Prompt:
    """The prompt of this name."""
    return read_prompt(_PROMPTS / f"{name}.md")


class QuestionCalls:
    """Asks a chat model for one reply of a form. Thread-safe.

    Every reply is stored, one that cannot be read too, so that a repeated run gives the same questions and pays for nothing twice.

    Parameters
    ----------
    model : executor of the chat model, with its ledger, stored replies and budget
    max_tokens : maximum length of a reply, in tokens

    Attributes
    ----------
    usage : calls and tokens so far
    unreadable : number of replies that could not be read, by prompt
    """

    def __init__(self, model: Executor, *, max_tokens: int) -> None:
        self.model = model
        self.usage = Usage()
        self.unreadable: Counter[str] = Counter()
        self._max_tokens = max_tokens
        self._lock = threading.Lock()

    def ask(self, name: str, form: type[_Reply], *, values: Mapping[str, str]) -> _Reply:
        """The reply to a prompt.

        Parameters
        ----------
        name : name of the prompt
        form : form of the reply
        values : of the placeholders

        Raises
        ------
        DropError
            The reply cannot be read, or the provider refused the request; both are counted.
        ModelError
            The model answers no more calls, or the budget ended.
        """
        chosen = prompt(name)
        asking = self.model.about(Purpose(stage=STAGE, prompt=chosen.version), form=schema(form))
        try:
            reply = asking.complete(chosen.system, chosen.filled(values), max_tokens=self._max_tokens)
            self.usage.add(reply)
            return parse(reply.text, form)
        except (ReplyError, ModelAnswerError) as error:
            with self._lock:
                self.unreadable[name] += 1
            raise DropError(f"the reply to the prompt {name} cannot be read") from error

    def answered(self, question: str, snippets: Sequence[str]) -> str:
        """The answer of the model from snippets alone; empty if they give none.

        Parameters
        ----------
        question : the question
        snippets : texts
        """
        values = {"question": delimited("question", question), "snippets": listed(snippets)}
        return (self.ask("answer", Answered, values=values).answer or "").strip()

    def agrees(self, question: str, gold: str, *, found: str) -> bool:
        """Whether an answer says what the gold answer says.

        Parameters
        ----------
        question, gold : the question and its answer
        found : the other answer; an empty one agrees with nothing, and costs no call
        """
        if not found:
            return False
        values = {
            name: delimited(name, text)
            for name, text in zip(("question", "gold", "found"), (question, gold, found), strict=True)
        }
        return self.ask("agree", Agreement, values=values).agrees


def listed(snippets: Sequence[str]) -> str:
    """Snippets between marks, numbered from 1."""
    return "\n".join(f"[{number}]\n{delimited('snippet', text)}" for number, text in enumerate(snippets, 1))
