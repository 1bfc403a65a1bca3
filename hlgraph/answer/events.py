"""An answer as a stream of events: its evidence, its text as it arrives, and last the checked answer.

:func:`answering` yields the events. :func:`finding` makes the search that supplies the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from hlgraph.answer.choosing import chosen_by_model, chosen_by_words
from hlgraph.answer.context import fitted
from hlgraph.answer.extractive import NOT_FOUND, extractive_answer, is_missing
from hlgraph.answer.report import Reading, ReportBounds, extractive_report, read, telling_report
from hlgraph.answer.request import AnswerRequest
from hlgraph.answer.table_rules import table_answer
from hlgraph.answer.tables import TableReader
from hlgraph.answer.verify import by_judge, by_words, verified
from hlgraph.answer.writer import ALIGNED, MAX_TOKENS, Telling, Writer, telling_answer
from hlgraph.errors import InputError
from hlgraph.index.hierarchy import RUN
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.protocols import ChatModel, Embedder
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


class Beside(NamedTuple):
    """What an answer reads beside its evidence.

    Attributes
    ----------
    reader : reads the tables of the evidence for numbers over their rows (:mod:`hlgraph.answer.table_rules`), which a chat model
        reads as a piece of evidence
    embedder : the embedder of the corpus, for an answer without a chat model
    """

    reader: TableReader
    embedder: Embedder | None = None


def answering(
    request: AnswerRequest,
    *,
    find: Find,
    chat: ChatModel | None,
    beside: Beside | None = None,
    max_tokens: int = MAX_TOKENS,
    is_streamed: bool = False,
) -> Iterator[AnswerEvent]:
    """The events of an answer: the evidence, the text in one piece or as it arrives, and the checked answer.

    The pieces together are the text of the answer, unless unsupported sentences are removed from it.

    Parameters
    ----------
    request : the question, and how to answer it
    find : runs a search for a text
    chat : the chat model; None: the answer consists of sentences of the evidence
    beside : what is read beside the evidence; None (default): nothing
    max_tokens : maximum length of one reply of the model, in tokens (default 4,096)
    is_streamed : the text arrives in pieces, if the model can stream

    Returns
    -------
    Iterator
        The last event is the answer.

    Raises
    ------
    HLGraphError : from the search or the model
    """
    result = find(request.question)
    reading = _read(request, result)
    is_short = request.mode == "short" and request.choices is None
    table = table_answer(request.question, reading.evidence, reader=beside.reader) if beside and is_short else ""
    if isinstance(table, Answer) and chat is not None:
        reading = reading._replace(evidence=(*_with_number(table), *reading.evidence))
    yield AnswerEvidence(reading.evidence, result.explain)
    writer: Writer | None = None
    if chat is not None:
        model = asking_about(chat, Purpose(stage="answer", strategy=result.explain.strategy))
        writer = Writer(model=model, max_tokens=max_tokens, is_streamed=is_streamed)
    if request.choices is not None:
        answer = _chosen(request, result, find=find, writer=writer)
        answer = replace(answer, search=result.explain.chat, evidence=reading.evidence)
        yield AnswerPiece(answer.text)
        yield answer
        return
    has_text = False
    embedder = beside.embedder if beside else None
    parts = _telling(request, reading, writer=writer, calibration=result.calibration, table=table, embedder=embedder)
    with closing(parts) as telling:
        while True:
            try:
                piece = next(telling)
            except StopIteration as end:
                answer = end.value
                break
            yield AnswerPiece(piece)
            has_text = True
    if not has_text:
        yield AnswerPiece(answer.text)
    is_judged = request.verify == "chat" and writer is not None
    check = by_judge(writer, context_tokens=request.context_tokens) if is_judged and writer else by_words
    answer = verified(answer, check=check, unsupported=request.unsupported)
    yield replace(answer, search=result.explain.chat, evidence=reading.evidence)


def last(events: Iterator[AnswerEvent]) -> Answer:
    """The answer, which is the last of its events."""
    answers = [event for event in events if isinstance(event, Answer)]
    return answers[-1]


def _read(request: AnswerRequest, result: SearchResult) -> Reading:
    """The evidence to read: for a report whole communities, if the search returned any; else the evidence of the search."""
    if request.mode != "report" or not result.communities:
        return Reading(result.evidence, ())
    bounds, among = _bounds(request), None
    if request.k is not None:
        among = frozenset(piece.statement_id for piece in result.evidence)
    summaries = [piece for piece in result.evidence if piece.summary_id]
    tokens, most = bounds.batch_tokens, bounds.passage_tokens
    return read(result.communities, tokens=tokens, passage_tokens=most, among=among, summaries=summaries)


def _bounds(request: AnswerRequest) -> ReportBounds:
    return ReportBounds(batch_tokens=request.context_tokens, report_tokens=request.context_tokens)


def _telling(
    request: AnswerRequest,
    reading: Reading,
    *,
    writer: Writer | None,
    calibration: Calibration | None,
    table: Answer | str,
    embedder: Embedder | None,
) -> Telling[Answer]:
    """The answer of a mode, written by the chat model if there is one; else made of evidence, without yielding pieces."""
    evidence = reading.evidence
    if isinstance(table, Answer) and writer is None:
        return table
    # A model that reads the evidence recognises more reliably than this rule that it holds no answer.
    least = 0.0 if request.least_support is None and writer is not None else request.least_support
    if is_missing(request.question, evidence, least=least, calibration=calibration):
        return _without_number(Answer(request.question, NOT_FOUND, (), is_supported=False), table)
    bounds = _bounds(request)
    if writer is not None and request.mode == "report":
        return (yield from telling_report(request.question, reading, writer=writer, bounds=bounds))
    if writer is not None:
        prompt = {"plain": "answer", "reason": "reason", "aligned": ALIGNED}[request.style]
        tokens = request.context_tokens
        return (
            yield from telling_answer(request.question, evidence, writer=writer, context_tokens=tokens, prompt=prompt)
        )
    if request.mode == "report":
        said = [piece for piece in evidence if piece.statement_id] if reading.sections else evidence
        answer = extractive_report(request.question, said, bounds=bounds, calibration=calibration)
    else:
        fit = fitted(evidence, request.context_tokens)
        fitting = [evidence[at] for at in fit.places]
        answer = extractive_answer(
            request.question, fitting, calibration=calibration, refuse=least != 0, embedder=embedder
        )
        answer = _without_number(replace(answer, left_out=fit.left_out), table)
    return answer


def _with_number(table: Answer) -> tuple[Evidence, ...]:
    """The first row of a number over a table, labelled with the number."""
    labels = (table.text,)
    return tuple(replace(citation.evidence, labels=labels) for citation in table.citations[:1])


def _without_number(answer: Answer, reason: Answer | str) -> Answer:
    """An answer that says why the number that was asked for is not computed; unsupported, since it is another one."""
    if not reason or isinstance(reason, Answer):
        return answer
    return replace(answer, text=f"{answer.text} No number over the table: {reason}.", is_supported=False)


def _chosen(request: AnswerRequest, result: SearchResult, *, find: Find, writer: Writer | None) -> Answer:
    choices = request.choices or ()
    if writer is not None:
        return chosen_by_model(
            request.question, choices, evidence=result.evidence, writer=writer, context_tokens=request.context_tokens
        )
    for _ in range(ATTEMPTS):
        others = [find(f"{request.question} {choice}") for choice in choices]
        if {other.explain.version for other in others} <= {result.explain.version}:  # all are of one state
            break
        result = find(request.question)
    every = [(*result.evidence, *other.evidence) for other in others]
    return chosen_by_words(request.question, choices, evidence=every)


def check_has_chat(request: AnswerRequest, chat: object | None) -> None:
    """Raise InputError if the answer needs a chat model, to verify it or to give its reason, and none is configured.

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


# The search for the evidence of an answer.


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
    """The search of an answer: chooses the unit of its evidence, and adds summaries for a report.

    If the search names no unit and a chat model reads the evidence, the evidence includes summaries. A strategy that finds
    summaries ranks them together with chunks. In a report by any other strategy, the 20 summaries of the hierarchy that are
    closest to the question follow the statements, if there is a hierarchy. Without a model the evidence is statements, because
    the answer consists of sentences of the sources.

    Parameters
    ----------
    request : the question, and how to answer it
    search : options of the search
    strategy : a name, or a retriever
    run : searches
    stores : read to see whether the corpus has a hierarchy
    chat : writes the answer; None: the answer consists of sentences of the evidence

    Returns
    -------
    Find
        Maps a text to the result of a search.

    Raises
    ------
    InputError : the answer needs a chat model, and there is none
    """
    check_has_chat(request, chat)
    is_report = request.mode == "report"
    chosen = for_report(strategy) if is_report else strategy
    retriever = STRATEGIES.get(chosen) if isinstance(chosen, str) else chosen
    has_layers = retriever is not None and "mixed" in units_of(retriever)
    unit = search.unit or ("mixed" if chat is not None and has_layers else "statement")
    usual = replace(search, unit=unit, communities=is_report)
    is_wide = is_report and chat is not None and not has_layers and search.unit is None

    def find(text: str) -> SearchResult:
        asked = replace(usual, question=text)
        if (
            not is_wide
            or stores.graph.derived is None
            or run_named(stores.graph.derived, search.corpus, name=RUN) is None
        ):
            return run(asked, chosen)
        summaries = replace(asked, unit="summary", k=SUMMARIES, explain=False, tabular=False, communities=False)
        with stores.snapshot():
            for _ in range(ATTEMPTS):
                result, more = run(asked, chosen), run(summaries, HierarchyRetriever())
                if result.explain.version == more.explain.version:
                    return _both(result, more)
        return result

    return find


def _both(result: SearchResult, more: SearchResult) -> SearchResult:
    """The evidence of both searches; the explanation of the first, with the steps and the round trips of both."""
    # Both searches number their groups from 0, so the summaries of the second become a separate group.
    summaries = [
        replace(piece, why={name: value for name, value in piece.why.items() if name != "group"})
        for piece in more.evidence
    ]
    one, two = result.explain, more.explain
    explain = replace(
        one,
        steps=(*one.steps, *two.steps),
        round_trips=one.round_trips + two.round_trips,
        milliseconds=one.milliseconds + two.milliseconds,
    )
    return replace(result, evidence=(*result.evidence, *summaries), explain=explain)
