"""The request of an answer, and the answer as a stream of events: its evidence, its text as it arrives, and the checked answer.

:func:`answering` yields the events. :func:`finding` makes the search that supplies the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from string import ascii_uppercase
from typing import Literal, NamedTuple, TypeAlias, get_args

from hlgraph.answer.citations import CONTEXT_TOKENS, Pieces, check_context_tokens, checked, fitted, is_refusal
from hlgraph.answer.constraints import unbound
from hlgraph.answer.contradictions import Contradicting
from hlgraph.answer.extractive import NOT_FOUND, extractive_answer
from hlgraph.answer.report import Reading, ReportBounds, extractive_report, read, telling_report
from hlgraph.answer.table_rules import OneOfRows, is_row, table_answer, unlike_rows
from hlgraph.answer.tables import TableReader
from hlgraph.answer.verify import Unsupported, Verify, by_judge, by_words, is_missing, verified
from hlgraph.answer.writer import ALIGNED, MAX_TOKENS, Telling, Writer, made_by, telling_answer
from hlgraph.errors import InputError, ModelAnswerError
from hlgraph.extract.wording import Wording, telling_words
from hlgraph.index.hierarchy import RUN
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.prompts import delimited
from hlgraph.models.protocols import ChatModel, Embedder
from hlgraph.records import ANSWER_K, REPORT_K, Answer, Calibration, Choice, Citation, Evidence
from hlgraph.retrieve import Explanation, SearchRequest, SearchResult
from hlgraph.retrieve.retriever import Retriever, units_of
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.retrieve.strategies.auto import for_report
from hlgraph.retrieve.strategies.hierarchy import HierarchyRetriever
from hlgraph.stores.derived import run_named
from hlgraph.stores.one_state import ATTEMPTS
from hlgraph.stores.protocols import Stores
from hlgraph.text import fold

AnswerMode = Literal["short", "report"]
AnswerStyle = Literal["plain", "reason", "aligned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """One question, and how to answer it.

    Attributes
    ----------
    question : text of the question
    mode : ``short`` or ``report``
    k : number of pieces of evidence to retrieve; None: 20, for a report 200, and for a report by communities (``global``) all
        statements of the communities
    context_tokens : evidence that one call of the chat model reads, in estimated tokens (default 8,000, at least 200; ToPG's
        max_tokens_community_chunks and max_tokens_report: a community that is larger takes several calls); without a model, the
        evidence that an answer is chosen from
    unsupported : what happens to sentences that their evidence does not support: ``flag`` marks them (default), ``drop`` removes
        them
    verify : who checks the sentences: ``lexical`` looks up their words (default), ``chat`` asks the chat model in an extra call
    least_support : minimum support of the question by the evidence, from 0 to 1; below it the answer is refused, see
        :func:`hlgraph.answer.verify.support`. None (default): 0.5 if there is no chat model and cosines are known, else 0,
        because a model recognises missing evidence itself
    choices : answers to choose one from, 2 to 26
    style : ``plain`` asks the chat model for the answer (default), ``reason`` for its reason and then the answer, each behind its
        label (GraphMPA, section 3.2 and appendix L), ``aligned`` for the same by the prompt that ``hlgraph align`` trains models
        on, of which such a model must not be asked another one; for short answers with a chat model

    Raises
    ------
    InputError : a value is invalid
    """

    question: str
    mode: AnswerMode = "short"
    k: int | None = None
    context_tokens: int = CONTEXT_TOKENS
    unsupported: Unsupported = "flag"
    verify: Verify = "lexical"
    least_support: float | None = None
    choices: Sequence[str] | None = None
    style: AnswerStyle = "plain"

    def __post_init__(self) -> None:
        """Reject invalid values before any work is done."""
        check_mode(self.mode)
        if isinstance(self.choices, str):
            raise InputError(f"choices is the text {self.choices!r}; give a list of texts")
        check_context_tokens(self.context_tokens)
        choices_of = {"unsupported": get_args(Unsupported), "verify": get_args(Verify), "style": get_args(AnswerStyle)}
        for name, choices in choices_of.items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name} is {getattr(self, name)!r}; choose {' or '.join(map(repr, choices))}")
        if self.least_support is not None and not 0 <= self.least_support <= 1:
            raise InputError(f"least_support is {self.least_support}; choose a number from 0 (never refuse) to 1")
        if self.style != "plain" and self.mode == "report":
            raise InputError(f"style is {self.style!r}, which does not apply to a report; leave it out")
        if self.choices is not None:
            check_choices(self.choices)
            for option in fields(self):
                value = getattr(self, option.name)
                if option.name in ("mode", "unsupported", "verify", "style") and value != option.default:
                    raise InputError(f"{option.name} is {value!r}, which does not apply to choices; leave it out")

    @property
    def evidence_count(self) -> int:
        """Number of pieces of evidence to retrieve: ``k``, or the default of the mode."""
        return self.k if self.k is not None else REPORT_K if self.mode == "report" else ANSWER_K


def check_mode(mode: str) -> None:
    """Raise InputError for a mode other than ``short`` or ``report``."""
    if mode in ("vector", "text", "hybrid"):
        raise InputError(f"mode is {mode!r}, which is a search mode; write search_mode={mode!r}")
    if mode not in ("short", "report"):
        raise InputError(f"mode is {mode!r}; choose 'short' or 'report'")


# The events of an answer.


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
    contradicting : finds sources that contradict an answer without a chat model
    """

    reader: TableReader
    embedder: Embedder | None = None
    contradicting: Contradicting | None = None


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
        # The first row of the number over the table, labelled with the number.
        first = (replace(citation.evidence, labels=(table.text,)) for citation in table.citations[:1])
        reading = reading._replace(evidence=(*first, *reading.evidence))
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
    pieces = Pieces(parts)
    with closing(iter(pieces)) as telling:
        for piece in telling:
            yield AnswerPiece(piece)
            has_text = True
    answer = pieces.result
    if not has_text:
        yield AnswerPiece(answer.text)
    is_judged = request.verify == "chat" and writer is not None
    check = by_judge(writer, context_tokens=request.context_tokens) if is_judged and writer else by_words
    answer = verified(answer, check=check, unsupported=request.unsupported)
    more = beside.contradicting.added(answer) if is_short and chat is None and beside and beside.contradicting else None
    if more is not None:
        yield AnswerPiece(more.text.removeprefix(answer.text))
        answer = more
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
    question, evidence, tokens = request.question, reading.evidence, request.context_tokens
    if isinstance(table, Answer) and writer is None:
        return table
    # A model that reads the evidence recognises more reliably than this rule that it holds no answer.
    least = 0.0 if request.least_support is None and writer is not None else request.least_support
    if is_missing(question, evidence, least=least, calibration=calibration):
        return _without_number(Answer(question, NOT_FOUND, (), is_supported=False), table)
    if writer is not None and request.mode == "report":
        return (yield from telling_report(question, reading, writer=writer, bounds=_bounds(request)))
    if writer is not None:
        prompt = {"plain": "answer", "reason": "reason", "aligned": ALIGNED}[request.style]
        return (yield from telling_answer(question, evidence, writer=writer, context_tokens=tokens, prompt=prompt))
    if request.mode == "report":
        said = [piece for piece in evidence if piece.statement_id] if reading.sections else evidence
        answer = extractive_report(question, said, bounds=_bounds(request), calibration=calibration)
    else:
        fit = fitted(evidence, tokens)
        fitting = [evidence[at] for at in fit.places]
        answering_by = partial(
            extractive_answer, question, calibration=calibration, refuse=least != 0, embedder=embedder
        )
        answer = replace(_of_someone(answering_by(fitting), fitting, answering_by), left_out=fit.left_out)
        answer = _without_number(answer, table)
    return answer


def _without_number(answer: Answer, reason: Answer | str) -> Answer:
    """An answer that says why the number that was asked for is not computed; unsupported, since it is another one, or one row."""
    first = answer.citations[0].evidence.text if answer.is_supported and answer.citations else ""
    reason = "" if isinstance(reason, OneOfRows) and not is_row(first) else reason
    reason = reason or unlike_rows(answer.question, first)
    if not reason or isinstance(reason, Answer):
        return answer
    return replace(answer, text=f"{answer.text} No number over the table: {reason}.", is_supported=False)


def _of_someone(
    answer: Answer, evidence: Sequence[Evidence], answering_by: Callable[[Sequence[Evidence]], Answer]
) -> Answer:
    """An answer that says that its question does not say who "he" is; unsupported, if other sources support one, too."""
    pronoun = unbound(answer.question) if answer.is_supported else None
    cited = {citation.evidence.source.id for citation in answer.citations}
    others = [piece for piece in evidence if piece.source.id not in cited] if pronoun else []
    if pronoun is None or not answering_by(others).is_supported:
        return answer
    reason = f"The question does not say {'what' if pronoun[0].lower().startswith('it') else 'who'} *{pronoun[0]}* is."
    return replace(answer, text=f"{reason} {answer.text}", is_supported=False, reason=reason)


def _chosen(request: AnswerRequest, result: SearchResult, *, find: Find, writer: Writer | None) -> Answer:
    choices = request.choices or ()
    if writer is not None:
        return chosen_by_model(
            request.question, choices, evidence=result.evidence, writer=writer, context_tokens=request.context_tokens
        )
    for _ in range(ATTEMPTS):
        others = [find(f"{request.question} {choice}") for choice in choices]
        if {other.version for other in others} <= {result.version}:  # all are of one state
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
        derived = stores.graph.derived if is_wide else None
        if derived is None or run_named(derived, search.corpus, name=RUN) is None:
            return run(asked, chosen)
        summaries = replace(asked, unit="summary", k=SUMMARIES, explain=False, tabular=False, communities=False)
        with stores.snapshot():
            for _ in range(ATTEMPTS):
                result, more = run(asked, chosen), run(summaries, HierarchyRetriever())
                if result.version == more.version:
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


# An answer that is one of given choices.

_MOST = len(ascii_uppercase)
_MOST_CITED = 3
_REPLY = re.compile(r"\W*(?P<letter>[A-Z])\W{0,3}?(?P<marks>(?:\s*\[[\d\s,;–-]+\])*)\W*")


def check_choices(choices: Sequence[str]) -> None:
    """Raise InputError for unusable choices: fewer than 2, more than 26, an empty one, or two equal ones."""
    if len(choices) < 2:
        raise InputError(f"the number of choices is {len(choices)}; give at least 2")
    if len(choices) > _MOST:
        raise InputError(f"the number of choices is {len(choices)}; give at most {_MOST}, one for each letter")
    seen: dict[str, int] = {}
    for at, choice in enumerate(choices, 1):
        known = " ".join(fold(choice).split())
        if not known:
            raise InputError(f"choice {at} is empty; give it a text, or remove it")
        if known in seen:
            raise InputError(f"choices {seen[known]} and {at} are the same ({choice.strip()!r}); remove one")
        seen[known] = at


class Chosen(NamedTuple):
    """A reply that names a choice.

    Attributes
    ----------
    place : index of the choice, from 0; None if the model says that the corpus holds no answer
    marks : the citations of the reply, as it writes them
    """

    place: int | None
    marks: str = ""


def choice_in(reply: str, count: int) -> Chosen | None:
    """The choice that a reply names: one letter, then citations, and nothing else.

    Parameters
    ----------
    reply : text of the model, without thoughts
    count : number of choices

    Returns
    -------
    Chosen | None
        None if the reply is anything else.

    Examples
    --------
    >>> choice_in("B [2][4]", 3), choice_in("(b)", 3), choice_in("D", 3), choice_in("NOT IN THE CORPUS", 3)
    (Chosen(place=1, marks=' [2][4]'), None, None, Chosen(place=None, marks=''))
    """
    if is_refusal(reply):
        return Chosen(None)
    match = _REPLY.fullmatch(reply.strip())
    index = ascii_uppercase.index(match["letter"]) if match else count
    return Chosen(index, match["marks"]) if match and index < count else None


def chosen_by_model(
    question: str,
    choices: Sequence[str],
    *,
    evidence: Sequence[Evidence],
    writer: Writer,
    context_tokens: int = CONTEXT_TOKENS,
) -> Answer:
    """The choice that the chat model makes from the evidence; it replies with the letter of the choice.

    A reply that is not one of the letters, with or without citations, is rejected, and the model is asked once more. The answer
    is supported if the model cites existing evidence. Without evidence the model is not called.

    Parameters
    ----------
    question : text of the question
    choices : 2 to 26 texts
    evidence : best first
    writer : the chat model and how it is asked
    context_tokens : size of the evidence that the model reads, in estimated tokens (default 8,000)

    Returns
    -------
    Answer
        Its text is the choice with citations; ``NOT_FOUND`` without evidence, or if the model says that nothing helps.

    Raises
    ------
    ModelAnswerError : the second reply names no choice either
    ModelUnavailableError, ModelAccessError : from the model
    """
    fit = fitted(evidence, context_tokens)
    if not evidence:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    shown = "\n".join(
        f"{letter}\n{delimited('choice', text)}" for letter, text in zip(ascii_uppercase, choices, strict=False)
    )
    values = {"evidence": fit.text, "question": delimited("question", question), "choices": shown}
    chosen = writer.ask_strictly("choice", values, parse=lambda text: choice_in(text, len(choices)))
    if chosen is None:
        raise ModelAnswerError(
            f"{writer.fingerprint}: the reply names none of the {len(choices)} choices by its letter, even when asked again; "
            "use another model"
        )
    by = made_by(writer, "choice")
    if chosen.place is None:
        return Answer(question, NOT_FOUND, (), is_supported=False, made_by=by, left_out=fit.left_out, cut=fit.cut)
    text = f"{choices[chosen.place]} {chosen.marks.strip()}"
    answer = checked(question, text, evidence=evidence, known=fit.places)
    choice = Choice(chosen.place, choices[chosen.place])
    return replace(answer, uncited=(), made_by=by, left_out=fit.left_out, cut=fit.cut, choice=choice)


def chosen_by_words(question: str, choices: Sequence[str], *, evidence: Sequence[Sequence[Evidence]]) -> Answer:
    """The choice that the words of the evidence support most.

    The own words of a choice are those that not all choices share. A piece supports a choice by the squared share of the
    choice's own words that it has, times the share of the other words of the question that it has. A piece that contradicts the
    choice scores 0. The score of a choice is the mean over its three best pieces. If no evidence has an own word of any
    choice (as between yes and no), nothing is chosen. With equal scores the choice that was given first wins, with a margin of 0.

    Measured on 60 questions of MuSiQue, each with its answer and those of three other questions: 85 % right (chance: 25 %; the
    cosine of the best piece alone: 46 %).

    Parameters
    ----------
    question : text of the question
    choices : at least 2 texts
    evidence : one sequence per choice: the results of a search for the question and the choice together

    Returns
    -------
    Answer
        Its text is the choice with citations; ``NOT_FOUND`` if nothing is chosen.
    """
    words_of = [[word for part in telling_words(choice) for word in part] for choice in choices]
    shared = set(words_of[0]).intersection(*words_of[1:])
    about = [word for part in telling_words(question) for word in part]
    scores: list[float] = []
    cited: list[list[Evidence]] = []
    for choice, words, pieces in zip(choices, words_of, evidence, strict=True):
        own = [word for word in words if word not in shared]
        asked = [word for word in about if word not in own]
        ranked = _speaking(choice, own, asked=asked, evidence=pieces) if own else []
        best = ranked[:_MOST_CITED]
        scores.append(sum(score for score, _ in best) / _MOST_CITED)
        cited.append([piece for _, piece in best])
    index = max(range(len(choices)), key=lambda at: scores[at])
    if not scores[index]:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    margin = scores[index] - max(score for at, score in enumerate(scores) if at != index)
    citations = tuple(Citation(number, piece) for number, piece in enumerate(cited[index], 1))
    text = f"{choices[index]} {' '.join(f'[{citation.number}]' for citation in citations)}"
    choice_made = Choice(index, choices[index], margin, tuple(scores))
    return Answer(question, text, citations, is_supported=True, choice=choice_made)


def _speaking(
    choice: str, own: Sequence[str], *, asked: Sequence[str], evidence: Sequence[Evidence]
) -> list[tuple[float, Evidence]]:
    """The pieces that support a choice, with their scores, best first; each text once."""
    by_text: dict[str, tuple[float, Evidence]] = {}
    for piece in evidence:
        wording = Wording([piece.text, *piece.labels], places=[piece.source.title, *piece.headings])
        score = wording.share(own) ** 2 * wording.share(asked)
        if score and piece.text not in by_text and not wording.contradicts(choice):
            by_text[piece.text] = (score, piece)
    return sorted(by_text.values(), key=lambda pair: -pair[0])
