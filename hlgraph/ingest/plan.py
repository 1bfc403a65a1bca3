"""Plans an ingest with a chat model: calls, tokens, money and time, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hlgraph.errors import InputError
from hlgraph.extract import Quarantine
from hlgraph.extract.chat import ChatExtractor, expected_calls, expected_domain, prompt
from hlgraph.ingest import pipeline
from hlgraph.ingest.report import Failure, Report
from hlgraph.models.accounts.budget import MEASURED_FROM, ExpectedCost, guessed_seconds
from hlgraph.models.accounts.ledger import Experience, Purpose
from hlgraph.models.executor import Executor, Request

if TYPE_CHECKING:
    from hlgraph.chunk import Chunker
    from hlgraph.extract import ChunkInput
    from hlgraph.extract.chat import ExpectedCall
    from hlgraph.extract.chat.messages import Messages
    from hlgraph.read import ReadFailure
    from hlgraph.records import Document, Domain
    from hlgraph.stores.protocols import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(ExpectedCost):
    """The work and the cost of an ingest with a chat model. Without measured calls the figures come from other models.

    Attributes
    ----------
    sources : number of new or changed sources
    unchanged : number of sources that did not change and cost nothing
    failed : sources that cannot be read
    chunks : number of chunks to extract
    given_up : number of chunks that failed too often and are left out; see ``hlgraph failures``
    """

    sources: int
    unchanged: int
    failed: list[Failure] = field(default_factory=list)
    chunks: int
    given_up: int = 0


class NamedChat:
    """A chat model that is only a name: enough for a plan, which makes no calls and needs no key.

    Parameters
    ----------
    fingerprint : name of the model
    """

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    def complete(self, system: str, user: str, *, max_tokens: int) -> NoReturn:  # noqa: ARG002 - the protocol has them
        """See :class:`hlgraph.models.protocols.ChatModel`. Raises InputError: a name cannot be asked."""
        raise InputError(f"{self.fingerprint} stands for a plan only; give a chat model to ask")


def looking(executor: Executor, *, domain: Domain | None, quarantine: Quarantine | None) -> ChatExtractor:
    """The extractor of an ingest, to determine what it would send.

    Parameters
    ----------
    executor : executor of the chat model
    domain : domain of the corpus; None if there is none
    quarantine : quarantine of the corpus; None for no failures

    Returns
    -------
    ChatExtractor
    """
    nowhere = Quarantine(Path(), store="", corpus="")
    return ChatExtractor(executor, quarantine=quarantine or nowhere, domain=domain)


def stored_replies(executor: Executor, *, max_tokens: int) -> Callable[[str, Messages], str | None]:
    """A function of the version of a prompt and messages that looks up the stored reply; None if the call must be paid.

    Parameters
    ----------
    executor : has the stored replies
    max_tokens : limit of one reply
    """

    def stored_reply(prompt: str, messages: Messages) -> str | None:
        reply = executor.held(Request(messages.system, messages.user, max_tokens, Purpose(prompt=prompt), bool))
        return reply.text if reply is not None else None

    return stored_reply


class Planner:
    """Plans an ingest with the chunker, prompts, stored replies and ledger that the ingest would use.

    Tokens are estimated from the messages themselves (:func:`hlgraph.models.prompts.estimated_tokens`). Once ten calls of a prompt
    were paid, the ledger's measured tokens per call correct the estimate.

    Parameters
    ----------
    executor : executor of the chat model
    max_tokens : limit of one reply
    domain : domain of the corpus; None if none is stored
    quarantine : quarantine of the corpus, with the chunks that failed too often; None for no failures
    """

    def __init__(
        self,
        executor: Executor,
        *,
        max_tokens: int,
        domain: Domain | None = None,
        quarantine: Quarantine | None = None,
    ) -> None:
        self.domain = domain
        self._quarantine = quarantine
        self._executor = executor
        self._max_tokens = max_tokens
        self._reply = stored_replies(executor, max_tokens=max_tokens)
        self._known: dict[str, Experience] = {}
        self._calls: list[tuple[float, float, float]] = []
        self._kept = 0
        self._measured_share = 1.0

    def adapt(self, samples: Sequence[ChunkInput]) -> None:
        """Plan the call that infers the domain from these chunks, and the longer prompts after it."""
        if not samples:
            return
        call, self.domain = expected_domain(
            samples, model=self._executor.fingerprint, max_tokens=self._max_tokens, kept=self._reply
        )
        self._count_unmeasured(call)  # one call is too few for a measurement

    def plan(self, items: Iterable[Document | ReadFailure], *, stores: Stores, chunker: Chunker) -> Plan:
        """The plan for these documents. Reads the store, writes nothing and calls no model.

        Parameters
        ----------
        items : documents and read failures
        stores : the open stores
        chunker : chunks the documents

        Returns
        -------
        Plan
        """
        report = Report()
        sources = chunks = given_up = 0
        extractor = looking(self._executor, domain=self.domain, quarantine=self._quarantine)
        corpus = self._executor.accounts.corpus
        steps = pipeline.LookSteps(chunker, extractor)
        for source in pipeline.look(items, corpus, report=report, stores=stores, steps=steps):
            sources += 1
            for _, chunk in source.plan.to_extract:
                if extractor.gives_up(chunk):
                    given_up += 1
                    continue
                chunks += 1
                for call in expected_calls(chunk, max_tokens=self._max_tokens, kept=self._reply, domain=self.domain):
                    self._count(call)
        return self._summed(report, sources, chunks=chunks, given_up=given_up)

    def _count_unmeasured(self, call: ExpectedCall) -> None:
        if call.is_kept:
            self._kept += 1
        else:
            self._calls.append((call.input_tokens, call.output_tokens, guessed_seconds(call.output_tokens)))

    def _count(self, call: ExpectedCall) -> None:
        if call.is_kept or (known := self._experience(call.prompt)).calls < MEASURED_FROM:
            self._count_unmeasured(call)
            return
        # If replies to the first call are shorter than expected, the second request is shorter, too.
        expected = call.input_tokens - call.guessed_tokens * (1 - self._measured_share)
        # The length of a reply depends on the text, not on the prompt around it.
        text = max(1, known.expected_tokens - known.calls * call.frame_tokens)
        replied = known.output_tokens / text * max(0.0, expected - call.frame_tokens)
        sent = expected * known.input_tokens / max(1, known.expected_tokens)
        if not call.guessed_tokens:
            self._measured_share = replied / max(1, call.output_tokens)
        self._calls.append((sent, min(float(self._max_tokens), replied), known.seconds / known.calls))

    def _experience(self, prompt: str) -> Experience:
        ledger = self._executor.accounts.ledger
        if prompt not in self._known:
            none = Experience(0, 0, 0, 0, 0.0)
            self._known[prompt] = ledger.experience(self._executor.fingerprint, prompt) if ledger else none
        return self._known[prompt]

    def _count_repairs(self) -> None:
        """Add repair calls at the rate and size that the ledger measured."""
        first = sum(known.calls for known in self._known.values())
        known = self._experience(prompt("repair").version)
        if known.calls:
            each = known.input_tokens / known.calls, known.output_tokens / known.calls, known.seconds / known.calls
            self._calls += [each] * round(len(self._calls) * known.calls / first)

    def _summed(self, report: Report, sources: int, *, chunks: int, given_up: int) -> Plan:
        measured = [known.calls for known in self._known.values()]
        is_measured = bool(measured) and min(measured) >= MEASURED_FROM
        if is_measured:
            self._count_repairs()
        sent, replied = round(sum(each[0] for each in self._calls)), round(sum(each[1] for each in self._calls))
        price = self._executor.accounts.price
        return Plan(
            sources=sources,
            unchanged=report.sources_unchanged,
            failed=report.failed,
            chunks=chunks,
            given_up=given_up,
            calls=len(self._calls),
            kept_calls=self._kept,
            input_tokens=sent,
            output_tokens=replied,
            usd=None if price is None else price.cost(sent, replied),
            seconds=sum(each[2] for each in self._calls) / self._executor.most,
            model=self._executor.fingerprint,
            measured_calls=sum(measured) if is_measured else 0,
        )
