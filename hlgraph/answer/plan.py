"""Plan an answer with a dry run: estimate its calls, tokens and price without calling a model."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from hlgraph.answer.answering import AnswerRequest
from hlgraph.models.accounts.budget import MEASURED_FROM, ExpectedCost, guessed_seconds
from hlgraph.models.accounts.ledger import Experience
from hlgraph.models.executor import Executor, Request
from hlgraph.models.prompts import estimated_tokens, request_tokens
from hlgraph.models.protocols import Completion
from hlgraph.records import Answer
from hlgraph.retrieve.question.subqueries import FacetSplitter, names

# Guesses for points per community, words per point and sentences per report. After ten paid calls, ledger means replace them.
_POINTS, _WORDS, _SENTENCES = 6, 20, 24
_POINT_TOKENS = 30
_SUMMARY = 200  # tokens
_SHOWN = re.compile(r"^\[(\d+)\]", re.MULTILINE)
_CITED = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan(ExpectedCost):
    """The calls and the cost of an answer. For a prompt with fewer than ten paid calls, the reply length is a guess.

    Attributes
    ----------
    strategy : name of the search strategy
    mode : ``short`` or ``report``
    by : what makes the decisions of the strategy, ``rules`` or ``chat``; empty if it makes none
    communities, anchors : numbers that a report by communities would read; 0 for other answers
    statements, passages : numbers of statements and passages that would be read as evidence
    retrieve_calls : number of paid calls of the search; 0 with rules. With a chat model, the number depends on what the model
        selects. The plan assumes that it selects half of what it is shown and always asks for more
    answer_calls : number of paid calls for the answer: one per community, and one to write the report
    """

    strategy: str
    mode: str
    by: str
    communities: int
    anchors: int
    statements: int
    passages: int
    retrieve_calls: int
    answer_calls: int


class _Call(NamedTuple):
    """A call that would be paid for."""

    prompt: str
    stage: str
    input_tokens: int
    output_tokens: int
    seconds: float


class Rehearsal(Executor):
    """An executor for dry runs that counts requests. It calls no model, writes nothing, and returns stored or made-up replies.

    A made-up reply has the format that its prompt asks for. Its length is a guess until the ledger has ten paid calls of the
    prompt, then their mean. Input tokens are estimated from the messages. Once there are ten paid calls, the estimate is scaled
    by their ratio of reported to estimated tokens.

    Parameters
    ----------
    executor : executor of the chat model, with its ledger and stored replies
    """

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor.model, accounts=executor.accounts, most=executor.most)
        self._calls: list[_Call] = []
        self._kept = 0
        self._known: dict[str, Experience] = {}
        self._asked: set[str] = set()
        self._counting = threading.Lock()

    def ask(self, request: Request) -> Completion:
        """See :meth:`hlgraph.models.executor.Executor.ask`. Raises nothing, because no model is called."""
        stored = self.held(request)
        with self._counting:
            if stored is not None:
                self._kept += 1
                return stored
            prompt = request.purpose.prompt
            known = self._experience(prompt)
            sent = request_tokens(request.system, request.user)
            text = self.made_up(request, length=round(known.output_tokens / known.calls) if known.calls else None)
            replied = estimated_tokens(text)
            seconds = guessed_seconds(replied)
            if known.calls:
                sent = round(sent * known.input_tokens / max(1, known.expected_tokens))
                replied, seconds = round(known.output_tokens / known.calls), known.seconds / known.calls
            key = request.key(self.fingerprint)
            # A real run would have stored the first reply.
            is_again = self.accounts.replies is not None and key in self._asked
            self._asked.add(key)
            if is_again:
                self._kept += 1
            else:
                self._calls.append(_Call(prompt, request.purpose.stage, sent, replied, seconds))
            return Completion(text, sent, replied, is_kept=is_again)

    def made_up(self, request: Request, *, length: int | None) -> str:
        """Make up a reply in the format that the prompt of the request asks for.

        Parameters
        ----------
        request : the request
        length : length of the reply in tokens; None: unknown
        """
        name, user = request.purpose.prompt.partition("/")[0], request.user
        question = " ".join(user.rsplit("\n", 2)[-2].split())  # the last line between the delimiters
        shown = _SHOWN.findall(user) or _CITED.findall(user) or ["1"]
        many = "word " * _WORDS
        if name == "points":
            count = max(1, length // _POINT_TOKENS) if length else _POINTS * max(1, user.count("\nEntities: "))
            return "\n".join(f"50 | {many}[{shown[at % len(shown)]}]" for at in range(count))
        if name == "report":
            cited = list(dict.fromkeys(_CITED.findall(user)))
            count = max(1, length // _POINT_TOKENS) if length else min(_SENTENCES, len(cited))
            return " ".join(f"Some {many}[{cited[at % len(cited)]}]." for at in range(count))
        if name == "decompose":
            most = int(re.findall(r"\d+", user)[0])
            sides = FacetSplitter(most).split(question)
            return "\n".join([*sides, *(f"{question} {number}" for number in range(len(sides) + 1, most + 1))])
        known = {
            "enough": "NO",
            "keywords": f"keywords: {'^'.join(names(question)) or question}",
            "select": f"1-{math.ceil(int(shown[-1]) / 2)}",
            "summary": "word " * (length or _SUMMARY),
            "next_questions": "\n".join((question, *names(question)[:2])),
            "subqueries": "\n".join((question, *names(question))),
        }
        return known.get(name, f"Some {many * 3}[{shown[0]}].")

    def expected(self) -> ExpectedCost:
        """Return the cost of the calls so far, assuming that they run concurrently."""
        price = self.accounts.price
        sent = sum(each.input_tokens for each in self._calls)
        replied = sum(each.output_tokens for each in self._calls)
        return ExpectedCost(
            calls=len(self._calls),
            kept_calls=self._kept,
            input_tokens=sent,
            output_tokens=replied,
            usd=None if price is None else price.cost(sent, replied),
            seconds=math.fsum(each.seconds for each in self._calls) / self.most,
            model=self.fingerprint,
            measured_calls=sum(known.calls for known in self._known.values()),
        )

    def plan(self, request: AnswerRequest, answer: Answer, *, strategy: str) -> AnswerPlan:
        """Build the plan of an answer.

        Parameters
        ----------
        request : the rehearsed request
        answer : the result of the rehearsal
        strategy : name of the search strategy

        Returns
        -------
        AnswerPlan
        """
        report, cost = answer.report, self.expected()
        at_once = math.fsum(each.seconds for each in self._calls if each.prompt.startswith("points/"))
        alone = math.fsum(each.seconds for each in self._calls if not each.prompt.startswith("points/"))
        searching = sum(each.stage == "retrieve" for each in self._calls)
        return AnswerPlan(
            strategy=strategy,
            mode=request.mode,
            by=answer.search.by,
            communities=report.communities if report else 0,
            anchors=report.anchors if report else 0,
            statements=report.statements if report else len(answer.citations) + answer.left_out,
            passages=report.passages if report else 0,
            retrieve_calls=searching,
            answer_calls=len(self._calls) - searching,
            **asdict(replace(cost, seconds=alone + at_once / self.most)),
        )

    def _experience(self, prompt: str) -> Experience:
        """Return the totals of the paid calls of a prompt; all 0 if there are too few calls."""
        if prompt not in self._known:
            ledger, none = self.accounts.ledger, Experience(0, 0, 0, 0, 0.0)
            known = ledger.experience(self.fingerprint, prompt) if ledger else none
            self._known[prompt] = known if known.calls >= MEASURED_FROM else none
        return self._known[prompt]
