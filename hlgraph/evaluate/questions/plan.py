"""Plans questions by a chat model: the pipeline runs with made-up replies, and the calls that it would make are counted."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING

from hlgraph.ids import checksum
from hlgraph.models.accounts.budget import MEASURED_FROM, ExpectedCost, guessed_seconds
from hlgraph.models.accounts.ledger import Experience
from hlgraph.models.executor import Executor, Request
from hlgraph.models.prompts import estimated_tokens, request_tokens
from hlgraph.models.protocols import Completion

if TYPE_CHECKING:
    from collections.abc import Mapping


KEPT = 0.57
"""Share of drafts that are kept: 674 of 1,173 in HLG, section 5.3."""
_WORDS = "word " * 20
_COUNT = re.compile(r"(?:Number of users|Number of questions): (\d+)")
_SNIPPET = re.compile(r"^\[(\d+)\]$", re.MULTILINE)


class ForecastExecutor(Executor):
    """An executor that asks no model and writes nothing: it gives stored replies, else made-up ones, and counts what is asked.

    Of the made-up critiques 57 % keep the question, as in HLG. Lengths of replies are the means of the ledger once ten calls of
    a prompt were paid, else guesses.

    Parameters
    ----------
    executor : of the chat model, with its ledger and stored replies
    """

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor.model, accounts=executor.accounts, most=executor.most)
        self._calls: list[tuple[int, int, float]] = []
        self._kept = 0
        self._known: dict[str, Experience] = {}
        self._counting = threading.Lock()

    def ask(self, request: Request) -> Completion:
        """See :meth:`hlgraph.models.executor.Executor.ask`; raises nothing, because nothing is asked."""
        cached = self.held(request)
        with self._counting:
            if cached is not None:
                self._kept += 1
                return cached
            text, sent = _made_up(request), request_tokens(request.system, request.user)
            replied, known = estimated_tokens(text), self._experience(request.purpose.prompt)
            seconds = guessed_seconds(replied)
            if known.calls:
                sent = round(sent * known.input_tokens / max(1, known.expected_tokens))
                replied, seconds = round(known.output_tokens / known.calls), known.seconds / known.calls
            self._calls.append((sent, replied, seconds))
            return Completion(text, sent, replied)

    def cost(self) -> ExpectedCost:
        """The cost of the calls that would be paid."""
        sent, replied = sum(each[0] for each in self._calls), sum(each[1] for each in self._calls)
        price = self.accounts.price
        return ExpectedCost(
            calls=len(self._calls),
            kept_calls=self._kept,
            input_tokens=sent,
            output_tokens=replied,
            usd=None if price is None else price.cost(sent, replied),
            seconds=sum(each[2] for each in self._calls) / self.most,
            model=self.fingerprint,
            measured_calls=sum(known.calls for known in self._known.values()),
        )

    def _experience(self, prompt: str) -> Experience:
        if prompt not in self._known:
            ledger, none = self.accounts.ledger, Experience(0, 0, 0, 0, 0.0)
            known = ledger.experience(self.fingerprint, prompt) if ledger else none
            self._known[prompt] = known if known.calls >= MEASURED_FROM else none
        return self._known[prompt]


def _made_up(request: Request) -> str:
    """A reply in the form that the prompt asks for, different for different requests."""
    name = request.purpose.prompt.partition("/")[0]
    mark = checksum(request.key("forecast"))
    shown = len(_SNIPPET.findall(request.user))
    count = int(match[1]) if (match := _COUNT.search(request.user)) else 1
    different = [_distinct(mark, at) for at in range(count)]
    draft: Mapping[str, object] = {
        "question": f"Who {different[0]}?",
        "answer": f"{_WORDS}{_WORDS}",
        "snippets": [*range(1, shown + 1)],
    }
    replies: dict[str, object] = {
        "synthesis": draft,
        "critique": {**draft, "is_usable": int(mark[:4], 16) < KEPT * 16**4, "reason": ""},
        "question_answer": {"answer": _WORDS if shown > 1 else None},
        "agree": {"agrees": True},
        "unanswerable": {"question": f"Who {different[0]}?"},
        "users": {
            "users": [{"user": f"user {at}", "tasks": [f"task {at} {n}" for n in range(count)]} for at in range(count)]
        },
        "abstract": {"questions": [f"Why {each}?" for each in different]},
    }
    return json.dumps(replies[name])


def _distinct(mark: str, number: int) -> str:
    """Words that no other reply has, so that no made-up question is taken for a duplicate."""
    digest = checksum(mark, str(number))
    return " ".join(digest[at : at + 8] for at in range(0, len(digest), 8))
