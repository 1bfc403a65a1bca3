"""The judge of entity resolution: a chat model decides whether pairs of entities are the same, several pairs per call.

If a reply cannot be parsed, or does not judge every pair exactly once, the model is asked once more and told the reason. If
that fails too, the pairs of the call stay undecided with the reason. The model answers with one word per pair, so no text
from a document can get into a stored decision.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from hlgraph import progress
from hlgraph.errors import BudgetError, ModelAccessError, ModelAnswerError, ModelError, ModelUnavailableError
from hlgraph.extract.chat.messages import Messages, ask_again
from hlgraph.extract.chat.messages import prompt as extraction_prompt
from hlgraph.extract.chat.reply_schema import ReplyError, parse, schema
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Executor
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.seams import Completion

_PROMPT = Path(__file__).parent / "prompts" / "same_entity.md"
_MAX_TOKENS = 2_048  # of a reply, with room for models that reason before they answer
_LONGEST = 400  # characters of a statement that the model is shown


class Side(NamedTuple):
    """One entity of a pair, as the model is shown it."""

    name: str
    kind: str
    statements: tuple[str, ...]


class _Verdict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    pair: int
    verdict: Literal["same", "different", "unsure"]


class Verdicts(BaseModel):
    """The reply: one verdict a pair."""  # part of the schema that providers are sent

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    verdicts: list[_Verdict]


class Judged(NamedTuple):
    """The verdict on a pair.

    Attributes
    ----------
    is_same : True: same entity; False: different entities; None: undecided
    reason : why the pair is undecided; otherwise empty
    """

    is_same: bool | None
    reason: str = ""


class ChatJudge:
    """Judges pairs of entities with a chat model.

    Parameters
    ----------
    calls : executor of the model, with its ledger (stage ``resolve``), cached replies and budget
    pairs : number of pairs per call, default 8

    Attributes
    ----------
    end : the error that ended the calls early, such as a spent budget; None if there was none
    """

    def __init__(self, calls: Executor, *, pairs: int = 8) -> None:
        self._calls = calls
        self._pairs = pairs
        self._lock = threading.Lock()
        self.end: ModelError | None = None

    @property
    def fingerprint(self) -> str:
        """Versions of the prompts, and the model."""
        versions = f"{read_prompt(_PROMPT).version}+{extraction_prompt('repair').version}"
        return f"{versions}/{self._calls.fingerprint}"

    def judge(self, pairs: Sequence[tuple[Side, Side]]) -> list[Judged]:
        """One verdict per pair, in order. Errors of the model are not raised: see ``end``."""
        size = self._pairs
        groups = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        with progress.step("judge", len(groups), unit="calls"):
            return [item for some in self._calls.run(self._judge, groups, step="judge") for item in some]

    def _judge(self, pairs: Sequence[tuple[Side, Side]]) -> list[Judged]:
        if self.end is not None:
            return [Judged(None, f"no model was asked: {self.end}")] * len(pairs)
        try:
            found = self._ask(pairs)
        except (ModelUnavailableError, ModelAccessError, BudgetError) as error:
            with self._lock:
                self.end = self.end or error
            return [Judged(None, str(error))] * len(pairs)
        except (ModelAnswerError, ReplyError) as error:
            return [Judged(None, str(error))] * len(pairs)
        said = {item.pair: item.verdict for item in found.verdicts}
        return [
            Judged(None, "the model is unsure") if said[number] == "unsure" else Judged(said[number] == "same")
            for number in range(1, len(pairs) + 1)
        ]

    def _ask(self, pairs: Sequence[tuple[Side, Side]]) -> Verdicts:
        """The verdicts of the first reply, or of the repaired one."""
        chosen = read_prompt(_PROMPT)
        messages = Messages(chosen.system, chosen.filled({"pairs": _shown(pairs)}))
        read = functools.partial(_read, count=len(pairs))
        first = self._complete(messages, chosen.version, count=len(pairs))
        try:
            return read(first.text)
        except ReplyError as error:
            again = ask_again(messages, first.text, reason=str(error))
        second = self._complete(again, extraction_prompt("repair").version, count=len(pairs))
        found = read(second.text)
        # Cache the repaired reply under the first request, so that a repeated run pays for neither of the two calls.
        asked = self._calls.about(Purpose(stage="resolve", prompt=chosen.version), accept=_accept(len(pairs)))
        asked.settle(*messages, max_tokens=_MAX_TOKENS, completion=second)
        return found

    def _complete(self, messages: Messages, version: str, *, count: int) -> Completion:
        purpose = Purpose(stage="resolve", prompt=version)
        asked = self._calls.about(purpose, accept=_accept(count), form=schema(Verdicts))
        return asked.complete(messages.system, messages.user, max_tokens=_MAX_TOKENS)


def _shown(pairs: Sequence[tuple[Side, Side]]) -> str:
    parts = []
    for number, pair in enumerate(pairs, 1):
        lines = [line for name, side in zip("AB", pair, strict=True) for line in _lines(name, side)]
        shown = delimited("pair", "\n".join(lines))
        parts.append(f"[{number}]\n{shown}")
    return "\n\n".join(parts)


def _lines(letter: str, side: Side) -> list[str]:
    kind = f" ({side.kind})" if side.kind else ""
    return [f"{letter}: {side.name}{kind}", *(f"  - {' '.join(text.split())[:_LONGEST]}" for text in side.statements)]


def _read(reply: str, *, count: int) -> Verdicts:
    """The parsed reply. Raises ReplyError if it has another form, or does not have one verdict for each pair."""
    found = parse(reply, Verdicts)
    numbers = sorted(item.pair for item in found.verdicts)
    if numbers != list(range(1, count + 1)):
        raise ReplyError(f"there must be one verdict for each pair from 1 to {count}; there are some for {numbers}")
    return found


def _accept(count: int) -> functools.partial[bool]:
    return functools.partial(_is_readable, count=count)


def _is_readable(reply: str, *, count: int) -> bool:
    try:
        _read(reply, count=count)
    except ReplyError:
        return False
    return True
