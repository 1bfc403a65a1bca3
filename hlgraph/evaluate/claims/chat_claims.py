"""Claims by a chat model: one call splits a text, and one call checks up to 20 claims against a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from hlgraph.errors import ModelAnswerError
from hlgraph.extract.chat.messages import Messages, ask_again
from hlgraph.extract.chat.messages import prompt as extraction_prompt
from hlgraph.extract.chat.reply_schema import ReplyError, Words, parse, schema
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.prompts import delimited, read_prompt

STAGE = "claims"
"""The stage of these calls in the ledger."""
AT_ONCE = 20
_PROMPTS = Path(__file__).with_name("prompts")
_MAX_TOKENS = 2_048  # of a reply, with room for models that reason before they answer
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Reply = TypeVar("_Reply", bound=BaseModel)


class FoundClaims(BaseModel):
    """The claims of one text."""  # part of the schema that providers are sent

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    claims: list[Words]


class _Verdict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    number: int
    follows: bool


class FoundEntailments(BaseModel):
    """For each claim whether it follows from the text."""  # part of the schema that providers are sent

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    verdicts: list[_Verdict]


class ChatClaims:
    """Splits texts into claims and checks claims with a chat model. Thread-safe.

    A reply that cannot be read is asked for once more, with the reason; if that fails too, ModelAnswerError is raised: what
    it would have said is missing, and neither true nor false.

    Parameters
    ----------
    calls : executor of the model, with its ledger (stage ``claims``), stored replies and budget
    max_tokens : maximum length of a reply, in tokens (default 2,048)
    """

    def __init__(self, calls: Executor, *, max_tokens: int = _MAX_TOKENS) -> None:
        self._calls = calls
        self._max_tokens = max_tokens

    @property
    def by(self) -> str:
        """Versions of the prompts, and the model."""
        versions = "+".join(read_prompt(_PROMPTS / f"{name}.md").version for name in ("claims", "entailed"))
        return f"{versions}+{self._calls.fingerprint}"

    def claims(self, text: str, *, question: str = "") -> tuple[str, ...]:
        """The claims of a text.

        Parameters
        ----------
        text : the text
        question : what it answers, so that a word or a name alone makes a claim; default: not known
        """
        if not text.strip():
            return ()
        values = {"question": delimited("question", question), "text": delimited("text", text)}
        return tuple(self._ask("claims", values, FoundClaims).claims)

    def entailed(self, claims: Sequence[str], text: str) -> list[bool]:
        """For each claim whether it follows from the text, with one call for every 20 claims.

        Parameters
        ----------
        claims : the claims
        text : the text
        """
        found: list[bool] = []
        for start in range(0, len(claims) if text.strip() else 0, AT_ONCE):
            batch = claims[start : start + AT_ONCE]
            listed = "\n".join(f"[{number}]\n{delimited('claim', claim)}" for number, claim in enumerate(batch, 1))
            values = {"text": delimited("text", text), "claims": listed}
            said = self._ask("entailed", values, FoundEntailments, check=partial(_check_numbers, count=len(batch)))
            verdicts = {item.number: item.follows for item in said.verdicts}
            found += [verdicts[number] for number in range(1, len(batch) + 1)]
        return found or [False] * len(claims)

    def told(self, question: str, answer: str) -> str:
        """See :class:`hlgraph.evaluate.claims.ClaimWay`: a question and its answer as a text."""
        return f"Question: {question}\nAnswer: {answer}"

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str) -> list[_Result]:
        """See :class:`hlgraph.evaluate.claims.ClaimWay`; several at a time, as the executor runs them."""
        return self._calls.run(action, items, step=step)

    def _ask(
        self,
        name: str,
        values: Mapping[str, str],
        form: type[_Reply],
        *,
        check: Callable[[_Reply], None] | None = None,
    ) -> _Reply:
        """The reply in its form; raises ModelAnswerError where the second one cannot be read either."""
        chosen = read_prompt(_PROMPTS / f"{name}.md")
        first_asked = Messages(chosen.system, chosen.filled(values))

        def read(text: str) -> _Reply:
            found = parse(text, form)
            if check is not None:
                check(found)
            return found

        def about(version: str) -> Asking:
            return self._calls.about(
                Purpose(stage=STAGE, prompt=version), accept=lambda text: _is_read(read, text), form=schema(form)
            )

        first = about(chosen.version).complete(*first_asked, max_tokens=self._max_tokens)
        try:
            return read(first.text)
        except ReplyError as error:
            again = ask_again(first_asked, first.text, reason=str(error))
        second = about(extraction_prompt("repair").version).complete(*again, max_tokens=self._max_tokens)
        try:
            found = read(second.text)
        except ReplyError as error:
            raise ModelAnswerError(f"{self._calls.fingerprint}: the reply cannot be read: {error}") from error
        # Kept as the reply to the first request, so that a repeated run pays for neither of the two calls.
        about(chosen.version).settle(*first_asked, max_tokens=self._max_tokens, completion=second)
        return found


def _check_numbers(reply: FoundEntailments, *, count: int) -> None:
    """Raises ReplyError unless there is one verdict for each claim."""
    if sorted(item.number for item in reply.verdicts) != list(range(1, count + 1)):
        raise ReplyError(f"there must be one verdict for each of the numbers from 1 to {count}")


def _is_read(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ReplyError:
        return False
    return True
