"""An answer as a stream of events: its evidence, its text as it arrives, and last the checked answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeAlias

from hlgraph.answer.choosing import chosen_by_model, chosen_by_words
from hlgraph.answer.context import fitted
from hlgraph.answer.extractive import NOT_FOUND, extractive_answer, is_missing
from hlgraph.answer.report import Reading, ReportBounds, extractive_report, read, telling_report
from hlgraph.answer.request import AnswerRequest
from hlgraph.answer.verify import by_judge, by_words, verified
from hlgraph.answer.writer import MAX_TOKENS, Telling, Writer, telling_answer
from hlgraph.errors import InputError
from hlgraph.index.hierarchy import RUN
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.protocols import ChatModel
from hlgraph.records import Answer, Calibration, Evidence
from hlgraph.retrieve import Explanation, SearchRequest, SearchResult
from hlgraph.retrieve.retriever import Retriever, units_of
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.retrieve.strategies.auto import for_report
from hlgraph.retrieve.strategies.hierarchy import HierarchyRetriever
from hlgraph.stores.derived import run_named
from hlgraph.stores.one_state import ATTEMPTS
from hlgraph.stores.protocols import Stores


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """The first event of an answer: the evidence that the search found, best first, and how it was found."""

    evidence: tuple[Evidence, ...]
    explain: Explanation


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of the text. Its citations are checked and renumbered as in the answer; its sentences are not verified yet."""

    text: str


AnswerEvent: TypeAlias = AnswerEvidence | AnswerPiece | Answer
"""The last event is the answer itself."""

Find: TypeAlias = Callable[[str], SearchResult]
"""Searches for a text."""


def answering(
    request: AnswerRequest,
    *,
    find: Find,
    chat: ChatModel | None,
    max_tokens: int = MAX_TOKENS,
    is_streamed: bool = False,
) -> Iterator[AnswerEvent]:
    """The events of an answer: the evidence, the text in one piece or as it arrives, and the checked answer.

    The pieces together are the text of the answer, unless unsupported sentences are removed from it.

    Parameters
    ----------
    request : the question, and how to answer it
    find : runs a search for a text
    chat : the chat model; None: the answer is made of the evidence itself
    max_tokens : maximum length of one reply of the model, in tokens (default 4,096)
    is_streamed : the text arrives in pieces, where the model can stream

    Returns
    -------
    Iterator
        The last event is the answer.

    Raises
    ------
    HLGraphError : from the search or the model
    """
    found = find(request.question)
    reading = _read(request, found)
    evidence = reading.evidence
    yield AnswerEvidence(evidence, found.explain)
    writer: Writer | None = None
    if chat is not None:
        model = asking_about(chat, Purpose(stage="answer", strategy=found.explain.strategy))
        writer = Writer(model=model, max_tokens=max_tokens, is_streamed=is_streamed)
    if request.choices is not None:
        answer = replace(_chosen(request, found, find=find, writer=writer), search=found.explain.chat)
        yield AnswerPiece(answer.text)
        yield answer
        return
    is_told = False
    with closing(_telling(request, reading, writer=writer, calibration=found.calibration)) as telling:
        while True:
            try:
                piece = next(telling)
            except StopIteration as end:
                answer = end.value
                break
            yield AnswerPiece(piece)
            is_told = True
    if not is_told:
        yield AnswerPiece(answer.text)
    is_judged = request.verify == "chat" and writer is not None
    check = by_judge(writer, context_tokens=request.context_tokens) if is_judged and writer else by_words
    yield replace(verified(answer, check=check, unsupported=request.unsupported), search=found.explain.chat)


def last(events: Iterator[AnswerEvent]) -> Answer:
    """The answer, which is the last of its events."""
    found = [event for event in events if isinstance(event, Answer)]
    return found[-1]


def _read(request: AnswerRequest, found: SearchResult) -> Reading:
    """The evidence that an answer is made of: for a report the communities of the search, whole, where it gives them."""
    if request.mode != "report" or not found.communities:
        return Reading(found.evidence, ())
    bounds, among = _bounds(request), None
    if request.k is not None:
        among = frozenset(item.statement_id for item in found.evidence)
    summaries = [item for item in found.evidence if item.summary_id]
    tokens, most = bounds.batch_tokens, bounds.passage_tokens
    return read(found.communities, tokens=tokens, passage_tokens=most, among=among, summaries=summaries)


def _bounds(request: AnswerRequest) -> ReportBounds:
    return ReportBounds(batch_tokens=request.context_tokens, report_tokens=request.context_tokens)


def _telling(
    request: AnswerRequest, reading: Reading, *, writer: Writer | None, calibration: Calibration | None
) -> Telling[Answer]:
    """The answer of a mode, written by the chat model where there is one; else from the evidence itself, which yields no pieces."""
    evidence = reading.evidence
    # A model that reads the evidence recognises by itself, and more reliably, that it holds no answer.
    least = 0.0 if request.least_support is None and writer is not None else request.least_support
    if is_missing(request.question, evidence, least=least, calibration=calibration):
        return Answer(request.question, NOT_FOUND, (), is_supported=False)
    bounds = _bounds(request)
    if writer is not None and request.mode == "report":
        return (yield from telling_report(request.question, reading, writer=writer, bounds=bounds))
    if writer is not None:
        prompt = "reason" if request.style == "reason" else "answer"
        tokens = request.context_tokens
        return (
            yield from telling_answer(request.question, evidence, writer=writer, context_tokens=tokens, prompt=prompt)
        )
    if request.mode == "report":
        said = [item for item in evidence if item.statement_id] if reading.sections else evidence
        answer = extractive_report(request.question, said, bounds=bounds, calibration=calibration)
    else:
        fit = fitted(evidence, request.context_tokens)
        fitting = [evidence[at] for at in fit.places]
        answer = extractive_answer(request.question, fitting, calibration=calibration, refuse=least != 0)
        answer = replace(answer, left_out=fit.left_out)
    return answer


def _chosen(request: AnswerRequest, found: SearchResult, *, find: Find, writer: Writer | None) -> Answer:
    choices = request.choices or ()
    if writer is not None:
        return chosen_by_model(
            request.question, choices, evidence=found.evidence, writer=writer, context_tokens=request.context_tokens
        )
    for _ in range(ATTEMPTS):
        others = [find(f"{request.question} {choice}") for choice in choices]
        if {item.explain.version for item in others} <= {found.explain.version}:  # all are of one state
            break
        found = find(request.question)
    every = [(*found.evidence, *item.evidence) for item in others]
    return chosen_by_words(request.question, choices, evidence=every)


def check_has_chat(request: AnswerRequest, chat: object | None) -> None:
    """Raise InputError where a chat model is to verify the answer or to give its reason, and none is configured.

    Parameters
    ----------
    request : its ``verify`` and ``style`` are checked
    chat : the chat model, or None
    """
    for name, value, usual in (("verify", request.verify, "lexical"), ("style", request.style, "plain")):
        if chat is None and value != usual:
            raise InputError(
                f"{name} is {value!r}, and no chat model is configured; name one in HLGRAPH_CHAT or models.chat (such as "
                f"openai:gpt-4o-mini), or leave {name} at {usual!r}"
            )


# Searches the evidence of an answer: chooses its unit, and adds summaries for a report.


SUMMARIES = 20
"""Maximum number of summaries that a report reads beside its evidence."""

Search = Callable[[SearchRequest, str | Retriever], SearchResult]


def finding(
    request: AnswerRequest,
    search: SearchRequest,
    *,
    strategy: str | Retriever,
    run: Search,
    stores: Stores,
    chat: ChatModel | None,
) -> Find:
    """The search of an answer.

    Where the search names no unit and a chat model reads the evidence, it reads summaries too: of a strategy that finds summaries
    chunks and summaries in one ranking; in a report by any other strategy, behind its statements, the 20 summaries of the
    hierarchy that are closest to the question, if there is a hierarchy. Without a model the evidence is statements, because the
    answer is made of sentences of the sources.

    Parameters
    ----------
    request : the question, and how to answer it
    search : options of the search
    strategy : a name, or a retriever
    run : searches
    stores : tell whether the corpus has a hierarchy
    chat : writes the answer; None: the answer is sentences of the evidence

    Returns
    -------
    Find
        From a text to evidence.

    Raises
    ------
    InputError : the answer needs a chat model, and there is none
    """
    check_has_chat(request, chat)
    is_report = request.mode == "report"
    chosen = for_report(strategy) if is_report else strategy
    made = STRATEGIES.get(chosen) if isinstance(chosen, str) else chosen
    has_layers = made is not None and "mixed" in units_of(made)
    unit = search.unit or ("mixed" if chat is not None and has_layers else "statement")
    usual = replace(search, unit=unit, communities=is_report)
    is_wide = is_report and chat is not None and not has_layers and search.unit is None

    def find(text: str) -> SearchResult:
        asked = replace(usual, question=text)
        if not is_wide or stores.derived is None or run_named(stores.derived, search.corpus, name=RUN) is None:
            return run(asked, chosen)
        summaries = replace(asked, unit="summary", k=SUMMARIES, explain=False, tabular=False, communities=False)
        with stores.snapshot():
            for _ in range(ATTEMPTS):
                found, more = run(asked, chosen), run(summaries, HierarchyRetriever())
                if found.explain.version == more.explain.version:
                    return _both(found, more)
        return found

    return find


def _both(found: SearchResult, more: SearchResult) -> SearchResult:
    """The evidence of both searches; the explanation of the first, with the steps and the round trips of both."""
    # Both searches number their groups from 0, so the summaries of the second become a separate group.
    summaries = [
        replace(item, why={name: value for name, value in item.why.items() if name != "group"})
        for item in more.evidence
    ]
    one, two = found.explain, more.explain
    explain = replace(
        one,
        steps=(*one.steps, *two.steps),
        round_trips=one.round_trips + two.round_trips,
        milliseconds=one.milliseconds + two.milliseconds,
    )
    return replace(found, evidence=(*found.evidence, *summaries), explain=explain)
