"""Calls of a judge: a structured reply, asked for once more if it cannot be read, else missing with a reason."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from hlgraph.errors import BudgetError, ModelAccessError, ModelAnswerError, ModelUnavailableError
from hlgraph.extract.chat.messages import Messages, ask_again
from hlgraph.extract.chat.messages import prompt as extraction_prompt
from hlgraph.extract.chat.reply_schema import ReplyError, parse, schema
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Executor
from hlgraph.models.prompts import Prompt, read_prompt
from hlgraph.models.seams import Completion

STAGE = "judge"
"""The stage of these calls in the ledger."""
_PROMPTS = Path(__file__).with_name("prompts")
_MAX_TOKENS = 2_048  # of a reply, with room for models that reason before they answer
_Reply = TypeVar("_Reply", bound=BaseModel)
Why = Literal["unreadable", "refused", "unavailable", "budget"]


class Missing(NamedTuple):
    """A verdict that there is not.

    Attributes
    ----------
    why : ``unreadable`` (twice), ``refused`` by the provider or its filter, ``unavailable`` (no answer, a time-out, no access),
        or ``budget``: the calls ended before this one
    reason : the error
    """

    why: Why
    reason: str


def prompt(name: str) -> Prompt:
    """The prompt with this name."""
    return read_prompt(_PROMPTS / f"{name}.md")


class Judge:
    """Asks a chat model for verdicts. Thread-safe.

    Parameters
    ----------
    executor : of the model, with its ledger (stage ``judge``), stored replies and the budget of the command
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._lock = threading.Lock()
        self._missing: list[Missing] = []

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""
        return self.executor.fingerprint

    def reasons(self) -> dict[str, tuple[int, str]]:
        """For each kind of missing verdict their number so far, and one of the errors."""
        with self._lock:
            missing = sorted(self._missing)
        return {
            why: (len(errors), errors[0])
            for why in dict.fromkeys(item.why for item in missing)
            if (errors := [item.reason for item in missing if item.why == why])
        }

    def ask(
        self,
        name: str,
        values: Mapping[str, str],
        *,
        form: type[_Reply],
        strategy: str = "",
        check: Callable[[_Reply], None] | None = None,
    ) -> _Reply | Missing:
        """The reply to a prompt; Missing if there is none that can be read.

        Parameters
        ----------
        name : name of the prompt
        values : values of its placeholders
        form : schema of the reply
        strategy : whose answer is judged, for the ledger
        check : raises ReplyError for a reply of the right form that is not usable; default: every one is
        """
        chosen = prompt(name)
        messages = Messages(chosen.system, chosen.filled(values))

        def read(text: str) -> _Reply:
            found = parse(text, form)
            if check is not None:
                check(found)
            return found

        def complete(asked: Messages, version: str) -> Completion:
            calls = self.executor.about(
                Purpose(stage=STAGE, strategy=strategy, prompt=version), accept=_accept(read), form=schema(form)
            )
            return calls.complete(asked.system, asked.user, max_tokens=_MAX_TOKENS)

        try:
            first = complete(messages, chosen.version)
            try:
                return read(first.text)
            except ReplyError as error:
                again = ask_again(messages, first.text, reason=str(error))
            second = complete(again, extraction_prompt("repair").version)
            found = read(second.text)
        except (ReplyError, ModelAnswerError, ModelUnavailableError, ModelAccessError, BudgetError) as error:
            missing = Missing(_why(error), str(error))
            with self._lock:
                self._missing.append(missing)
            return missing
        # Kept as the reply to the first request, so that a repeated run pays for neither of the two calls.
        self.executor.about(
            Purpose(stage=STAGE, strategy=strategy, prompt=chosen.version), accept=_accept(read)
        ).settle(*messages, max_tokens=_MAX_TOKENS, completion=second)
        return found


def _why(error: Exception) -> Why:
    if isinstance(error, ReplyError):
        return "unreadable"
    if isinstance(error, BudgetError):
        return "budget"
    return "refused" if isinstance(error, ModelAnswerError) else "unavailable"


def _accept(read: Callable[[str], object]) -> Callable[[str], bool]:
    def accept(text: str) -> bool:
        try:
            read(text)
        except ReplyError:
            return False
        return True

    return accept
