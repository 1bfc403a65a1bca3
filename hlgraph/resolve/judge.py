"""The judge of entity resolution: a chat model says of pairs of entities whether they are one; several pairs a call.

A reply that cannot be read, or does not judge every pair once, is asked for once more with the reason; when that does not
help the pairs of the call stay undecided, and the reason is given. The model is asked for a word a pair: no text of its own
comes back, so nothing that a document says is stored with a verdict.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from hlgraph.errors import BudgetError, ModelAccessError, ModelAnswerError, ModelError, ModelUnavailableError
from hlgraph.extract.chat.messages import Messages, ask_again
from hlgraph.extract.chat.messages import prompt as extraction_prompt
from hlgraph.extract.chat.reply_schema import ReplyError, parse, schema
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Executor
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.seams import Completion

_PROMPT = Path(__file__).parent / "prompts" / "same_entity.md"
_MAX_TOKENS = 2_048  # models that think first need room for that too
_LONGEST = 400


class Side(NamedTuple):
    """One entity of a pair as the model is shown it."""

    name: str
    kind: str
    statements: tuple[str, ...]


class _Verdict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    pair: int
    verdict: Literal["same", "different", "unsure"]


class Verdicts(BaseModel):
    """The reply: one verdict a pair."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    verdicts: list[_Verdict]


class Judged(NamedTuple):
    """What was said of a pair: True (one), False (two) or None, and why not, where nothing was settled."""

    is_same: bool | None
    reason: str = ""


class ChatJudge:
    """Judges pairs by a chat model.

    Parameters
    ----------
    calls : brings its ledger (stage ``resolve``), its kept replies and its budget
    pairs : so many a call

    Attributes
    ----------
    end : what ended the judging, such as a spent budget; pairs that were not judged say so. None: nothing did
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
        """One result a pair, in order. Raises nothing of the model's: see ``end``."""
        size = self._pairs
        groups = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        return [item for some in self._calls.run(self._judge, groups) for item in some]

    def _judge(self, pairs: Sequence[tuple[Side, Side]]) -> list[Judged]:
        if self.end is not None:
            return [Judged(None, f"not asked for: {self.end}")] * len(pairs)
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
        """The verdicts, at the second try if it must be."""
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
        # Asked the first time again, nobody should pay for the way there again.
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
    """The reply in its form. Raises ReplyError when it has another one, or not one verdict a pair."""
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
