"""Answer every question of a set with every strategy, from evidence to text, and measure the answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.answer.answering import AnswerMode, AnswerRequest, AnswerStyle
from hlgraph.answer.citations import CONTEXT_TOKENS, check_context_tokens, fitted, is_refusal
from hlgraph.answer.extractive import NOT_FOUND, Expected, expected
from hlgraph.errors import BudgetError, HLGraphError, InputError
from hlgraph.evaluate.metrics import (
    chosen_option,
    exact_match,
    f1,
    has_answer,
    normalised,
    rouge_l,
    rouge_n,
    sentence_bleu,
    token_recall,
)
from hlgraph.evaluate.statistics import Interval, Resamples, Row, Section
from hlgraph.extract.wording import objection
from hlgraph.models.accounts.ledger import Spent, total
from hlgraph.records import ANSWER_K, Entity, Fact, Kind, Relationship, Scalar
from hlgraph.retrieve.request import MAX_K, UNITS, Unit, check_diversity
from hlgraph.stores.protocols import PullShape, Scope, read_records
from hlgraph.text import STOP_WORDS, content_words, fold, sentences

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Dataset, Question
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.records import Answer, Evidence
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph

# Entities and facts of the graph that belong to pieces of evidence.


_OF_STATEMENTS = frozenset({Relationship.MENTIONS, Relationship.SUPPORTS})
_FOUND = (Kind.ENTITY, Kind.FACT)
_ENTERED = frozenset({Kind.CHUNK, Kind.STATEMENT, *_FOUND})
_FAN_OUT, _NODE_CAP = 100, 2_000

Knower = Callable[[Sequence["Evidence"]], "Known"]


def knower(graph: HLGraph) -> Knower:
    """A function that looks up the entities and facts of pieces of evidence, with three reads of the graph store.

    Parameters
    ----------
    graph : the corpus
    """
    stores, scope = graph.facts.stores, Scope(graph.corpus)

    def know(evidence: Sequence[Evidence]) -> Known:
        statements = sorted({item.statement_id for item in evidence if item.statement_id})
        chunks = sorted({item.chunk_id for item in evidence if not item.statement_id})
        among = _OF_STATEMENTS | ({Relationship.IN_CHUNK} if chunks else set())
        shape = PullShape(among, _ENTERED, hops=2 if chunks else 1, fan_out=_FAN_OUT, node_cap=_NODE_CAP)
        if not statements and not chunks:
            return Known()
        pulled = stores.graph.pull([*statements, *chunks], shape, scope=scope)
        ids_of = {kind: [str(pulled.ids[at]) for at in pulled.nodes(kind)] for kind in _FOUND}
        facts = read_records(stores.graph, Fact, ids=ids_of[Kind.FACT], scope=scope).values()
        ends = {end for item in facts for end in (item.subject_id, item.object_id) if end}
        ids = sorted(ends | set(ids_of[Kind.ENTITY]))
        entities = read_records(stores.graph, Entity, ids=ids, scope=scope)
        names = (name for item in entities.values() for name in (item.name, *item.aliases))
        return Known(tuple(dict.fromkeys(names)), tuple(_triple(item, entities) for item in facts))

    return know


def _triple(fact: Fact, entities: dict[str, Entity]) -> tuple[str, str, str]:
    """Subject, predicate and object; a literal object is what follows the predicate in the text of the fact."""
    subject = entities[fact.subject_id].name if fact.subject_id in entities else ""
    entity = entities.get(fact.object_id or "")
    literal = fact.text.rpartition(f" {fact.predicate} ")[2]
    return subject, fact.predicate, entity.name if entity else literal


CLOSED_BOOK = "closed_book"
"""Name of the answers that a chat model gives without any evidence."""
MEASURES = ("EM", "F1", "sentence_F1", "answer_in_text", "answer_recall")
"""Names of the measures of an answer, in the order of :func:`measured`."""
_MARK = re.compile(r"\s*\[\d+(?:, ?\d+)*\]")
_FAILURES = (HLGraphError, ArithmeticError, LookupError, TypeError, ValueError)
_LABEL = re.compile(r"(?:(?:^|\n)[#* ]*|###\s*)Answer\s*:\**\s*", re.IGNORECASE)


class ReaderOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the reader of an evaluation is given, and how it answers. None leaves an option to its default.

    Attributes
    ----------
    k : number of pieces of evidence (1 to 10,000; default 20)
    unit : of the evidence: ``statement``, or ``chunk`` for whole passages; default: as for :meth:`hlgraph.HLGraph.answer`
    diversity : near-duplicates dropped by the search, also where only passages are measured; see
        :class:`hlgraph.SearchRequest`. Default: that of the strategy
    style : ``reason`` asks a chat model for its reason before the answer (chain of thought), ``plain`` for the answer alone,
        ``aligned`` for both by the prompt that ``hlgraph align`` trains on. Default: ``reason`` with a chat model
    context_tokens : tokens of evidence that the reader gets (at least 200; default 8,000)
    mode : ``report`` combines many pieces, as for :meth:`hlgraph.HLGraph.answer`; default: ``short``

    Raises
    ------
    InputError : a value that cannot be used
    """

    k: int | None = None
    unit: Unit | None = None
    diversity: float | None = None
    style: AnswerStyle | None = None
    context_tokens: int | None = None
    mode: AnswerMode | None = None

    def __post_init__(self) -> None:
        """Refuse values that cannot be used, before anything is asked."""
        for name, kinds in (("k", int), ("context_tokens", int), ("diversity", int | float)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
                raise InputError(f"{name} is {value!r}; give a number")
        if self.k is not None and not 1 <= self.k <= MAX_K:
            raise InputError(f"k is {self.k}; choose a number from 1 to {MAX_K}")
        words = {"unit": UNITS, "style": get_args(AnswerStyle), "mode": get_args(AnswerMode)}
        for name, known in words.items():
            value = getattr(self, name)
            if value is not None and value not in known:
                raise InputError(f"{name} is {value!r}; choose {' or '.join(map(repr, known))}")
        if self.mode == "report" and self.style not in (None, "plain"):
            raise InputError(f"style is {self.style!r}, which does not apply to a report; leave it out")
        check_diversity(self.diversity)
        if self.context_tokens is not None:
            check_context_tokens(self.context_tokens)

    @property
    def given(self) -> dict[str, Scalar]:
        """The options that are not left to their defaults."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}

    def over(self, other: ReaderOptions) -> ReaderOptions:
        """These options; what they leave open is as in ``other``."""
        return msgspec.structs.replace(other, **self.given)


Readers: TypeAlias = ReaderOptions | Mapping[str, ReaderOptions]
"""Options of all readers, or of each by the name of its strategy; a strategy that is not named has the defaults."""


def reader_of(readers: Readers | None, name: str) -> ReaderOptions:
    """The options of the reader of a strategy.

    Parameters
    ----------
    readers : options of all readers, or of each by name; None: the defaults
    name : of the strategy
    """
    return readers if isinstance(readers, ReaderOptions) else (readers or {}).get(name, ReaderOptions())


@dataclass(frozen=True, slots=True)
class RetrievedText:
    """A piece of evidence that a reader was given: the id of its statement, chunk or summary, and its text."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of one question.

    Attributes
    ----------
    question_id : the question
    short : the short answer that exact match and F1 measure
    text : the whole answer, without citation marks
    evidence : texts of the cited evidence
    is_refused : whether there is no answer: it failed, or says that nothing in the corpus answers. A chat model's answer that cites
        nothing is an answer
    milliseconds : wall-clock time
    error : why there is no answer, else empty
    by_chat : whether a chat model wrote it
    sentence : the first sentence that a chat model wrote; without one, the sentence of the span
    made_by : prompt and model that wrote it; empty without a model
    retrieved : what was retrieved for the reader and fits its context, best first
    """

    question_id: str
    short: str
    text: str
    evidence: tuple[str, ...]
    is_refused: bool
    milliseconds: float
    error: str = ""
    by_chat: bool = False
    sentence: str = ""
    made_by: str = ""
    retrieved: tuple[RetrievedText, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of one strategy.

    Attributes
    ----------
    outcomes : one per question with gold answers
    spent : calls, tokens and money of the chat model for these answers, zero without one
    """

    outcomes: tuple[AnswerOutcome, ...]
    spent: Spent

    @property
    def failed(self) -> int:
        """The number of questions that failed."""
        return sum(bool(outcome.error) for outcome in self.outcomes)


class AnswerReport(NamedTuple):
    """The answers of an evaluation.

    Attributes
    ----------
    by_chat : whether a chat model wrote them; else they are extractive, and ``short`` is the best span
    questions : the questions that were answered: those with gold answers, or all if they are abstract
    strategies : answers by strategy
    intervals : means and intervals by strategy and measure; without measures if there are no gold answers
    """

    by_chat: bool
    questions: tuple[Question, ...]
    strategies: Mapping[str, Answered]
    intervals: Mapping[str, Mapping[str, Interval]]


def planned_tokens(
    graph: HLGraph, questions: Sequence[Question], *, retriever: Retriever, reader: ReaderOptions
) -> tuple[float, float]:
    """Input and output tokens of an answer by a chat model, the mean of the questions, as planned: no model is called.

    Parameters
    ----------
    graph : the corpus
    questions : at least one
    retriever : finds the evidence
    reader : what the reader would be given, and how it would answer
    """
    mode = reader.mode or "short"
    style = reader.style or ("plain" if mode == "report" else "reason")
    tokens = reader.context_tokens or CONTEXT_TOKENS
    spent = np.zeros((len(questions), 2))
    for at, question in enumerate(questions):
        request = AnswerRequest(question=question.text, mode=mode, k=reader.k, context_tokens=tokens, style=style)
        of_search = {"unit": reader.unit, "diversity": reader.diversity}
        plan = graph.answers.plan(request, strategy=retriever, **of_search, model=UNNAMED)  # type: ignore[arg-type]
        spent[at] = plan.input_tokens, plan.output_tokens
    sent, replied = spent.mean(axis=0).tolist()
    return sent, replied


UNNAMED = "unnamed"
"""The name of the chat model of a plan where none is configured."""


class Answering:
    """Answers the questions that have gold answers, one after another; a failed question counts as a wrong answer.

    In a set of abstract questions, without gold answers and supporting passages, all are answered, and no answer is measured.

    With a chat model, the short answer is what it writes (with the styles ``reason`` and ``aligned``, what it writes after the
    label of the answer). Without one, it is the best span of the cited sentences (:func:`hlgraph.evaluate.answering.best_span`).
    When the budget is spent, the remaining questions count as failed.

    Parameters
    ----------
    graph : the corpus
    dataset : the questions
    readers : what the readers are given, and how they answer; None: the defaults
    budget : for all calls together; None: without limit

    Raises
    ------
    InputError
        No question has a gold answer.
    """

    def __init__(
        self, graph: HLGraph, dataset: Dataset, *, readers: Readers | None = None, budget: Budget | None = None
    ) -> None:
        abstract = not any(question.gold or question.answers for question in dataset.questions)
        self._questions = tuple(question for question in dataset.questions if question.answers or abstract)
        if not self._questions:
            raise InputError(
                f"no question of {dataset.name} has answers; give the questions a list answers, or leave out --answers"
            )
        self._graph, self._readers, self._budget = graph, readers, budget
        self._usual: AnswerStyle = "reason" if graph.answers.model else "plain"
        self._know, self._start = knower(graph), total(graph.ledger())
        self._answered: dict[str, Answered] = {}

    def ask(self, retrievers: Mapping[str, Retriever]) -> None:
        """Answer with each of these retrievers, by strategy name."""
        for name, retriever in retrievers.items():
            self._ask_all(name, partial(self._answer, retriever=retriever, reader=reader_of(self._readers, name)))

    def ask_closed_book(self) -> None:
        """Answer by the chat model without any evidence, as ``CLOSED_BOOK``."""
        self._ask_all(CLOSED_BOOK, lambda text: self._graph.answers.closed_book(text, budget=self._left()))

    def report(self, order: Sequence[str] = ()) -> AnswerReport:
        """The answers so far, those of the strategies in ``order`` first."""
        names = dict.fromkeys((*order, *self._answered))
        answered = {name: self._answered[name] for name in names if name in self._answered}
        by_chat = any(outcome.by_chat for item in answered.values() for outcome in item.outcomes)
        return AnswerReport(by_chat, self._questions, answered, _intervals(self._questions, answered))

    def _left(self) -> Budget | None:
        return self._budget and _left(self._budget, _difference(total(self._graph.ledger()), self._start))

    def _answer(self, text: str, *, retriever: Retriever, reader: ReaderOptions) -> Answer:
        is_report = reader.mode == "report"
        return self._graph.answer(
            text,
            strategy=retriever,
            k=reader.k or (None if is_report else ANSWER_K),
            mode=reader.mode or "short",
            unit=reader.unit,
            diversity=reader.diversity,
            style=reader.style or ("plain" if is_report else self._usual),
            context_tokens=reader.context_tokens or CONTEXT_TOKENS,
            budget=self._left(),
        )

    def _ask_all(self, name: str, ask: Callable[[str], Answer]) -> None:
        tokens = reader_of(self._readers, name).context_tokens or CONTEXT_TOKENS
        before = total(self._graph.ledger())
        outcomes = []
        ended = ""
        with progress.step(f"answer {name}", len(self._questions), unit="questions"):
            for question in self._questions:
                outcome = (
                    AnswerOutcome(question.id, "", "", (), is_refused=True, milliseconds=0.0, error=ended)
                    if ended
                    else _answered(question, ask, know=self._know, tokens=tokens)
                )
                ended = outcome.error if outcome.error.startswith(BudgetError.__name__) else ended
                outcomes.append(outcome)
                progress.advance(f"answer {name}")
        self._answered[name] = Answered(tuple(outcomes), _difference(total(self._graph.ledger()), before))


def section(questions: Sequence[Question], outcomes: Mapping[str, Sequence[AnswerOutcome]], *, title: str) -> Section:
    """The measures of answers as a section of a report.

    Parameters
    ----------
    questions : the questions with gold answers
    outcomes : answers by strategy, one per question in their order
    title : title of the section
    """
    return Section(
        title=title,
        questions=tuple(question.id for question in questions),
        measures=MEASURES,
        values={
            name: tuple(measured(outcome, question.answers) for question, outcome in zip(questions, items, strict=True))
            for name, items in outcomes.items()
        },
    )


def measured(outcome: AnswerOutcome, golds: Sequence[str]) -> Row:
    """The measures of one answer, in the order of ``MEASURES``, each from 0 to 1; None without gold answers.

    Exact match and F1 measure the short answer, ``sentence_F1`` its sentence. ``answer_in_text`` is 1 if the text contains a
    gold answer, ``answer_recall`` if the cited evidence does. An empty answer is wrong, even if the gold answer is only an
    article or a mark, which normalisation removes.

    Parameters
    ----------
    outcome : the answer
    golds : accepted answers
    """
    if not golds:
        return (None,) * len(MEASURES)
    has_short = bool(outcome.short.strip())
    return (
        has_short * exact_match(outcome.short, golds),
        has_short * f1(outcome.short, golds),
        bool(outcome.sentence.strip()) * f1(outcome.sentence, golds),
        has_answer([outcome.text], golds),
        has_answer(outcome.evidence, golds),
    )


def _answered(question: Question, ask: Callable[[str], Answer], *, know: Knower, tokens: int) -> AnswerOutcome:
    start = time.perf_counter()
    try:
        answer = ask(question.asked)
    except _FAILURES as failure:
        milliseconds = 1000 * (time.perf_counter() - start)
        error = f"{type(failure).__name__}: {failure}"
        return AnswerOutcome(question.id, "", "", (), is_refused=True, milliseconds=milliseconds, error=error)
    milliseconds = 1000 * (time.perf_counter() - start)
    parts = [answer.text] if answer.made_by else [item.text for item in answer.sentences] or [answer.text]
    text = "\n\n".join(_MARK.sub("", part) for part in parts)  # pieces of evidence need not end with a full stop
    evidence = tuple(citation.evidence.text for citation in answer.citations)
    by_chat = bool(answer.made_by)
    pieces = [citation.evidence for citation in answer.citations]
    span = _said(text) if by_chat else best_span(question.text, evidence, known=know(pieces))
    return AnswerOutcome(
        question.id,
        span.text,
        text,
        evidence,
        not answer.citations and (not by_chat or answer.text == NOT_FOUND or is_refusal(text)),
        milliseconds,
        by_chat=by_chat,
        made_by=answer.made_by,
        sentence=span.sentence,
        retrieved=tuple(
            RetrievedText(piece.id, piece.text)
            for piece in (answer.evidence[at] for at in fitted(answer.evidence, tokens).places)
        ),
    )


def _said(text: str) -> Span:
    """The text after the answer label in the reply of a chat model, and its first sentence."""
    short = _LABEL.split(text)[-1].strip()
    start, end = next(iter(sentences(short)), (0, 0))
    return Span(short, short[start:end])


def _intervals(questions: Sequence[Question], answered: Mapping[str, Answered]) -> dict[str, dict[str, Interval]]:
    intervals: dict[str, dict[str, Interval]] = {}
    for name, item in answered.items():
        if not questions[0].answers:
            intervals[name] = {}
            continue
        rows = [measured(outcome, question.answers) for question, outcome in zip(questions, item.outcomes, strict=True)]
        values: NDArray[np.float64] = np.array(rows, dtype=np.float64)
        drawn = Resamples(values)
        intervals[name] = {measure: drawn.interval(place) for place, measure in enumerate(MEASURES)}
    return intervals


def _left(budget: Budget, spent: Spent) -> Budget:
    """The rest of a budget. Raises BudgetError if nothing is left."""
    tokens = None if budget.max_tokens is None else budget.max_tokens - spent.input_tokens - spent.output_tokens
    usd = None if budget.max_usd is None else budget.max_usd - (spent.usd or 0.0)
    if any(left is not None and left <= 0 for left in (tokens, usd)):
        used = spent.input_tokens + spent.output_tokens
        raise BudgetError(
            f"the budget is spent: {used:,} tokens in {spent.calls:,} calls; raise it, or repeat the command to resume it",
            tokens=used,
            usd=spent.usd,
        )
    return replace(budget, max_tokens=tokens, max_usd=usd)


def _difference(now: Spent, before: Spent) -> Spent:
    usd = None if now.usd is None else now.usd - (before.usd or 0.0)
    return Spent(
        name="answers",
        calls=now.calls - before.calls,
        input_tokens=now.input_tokens - before.input_tokens,
        output_tokens=now.output_tokens - before.output_tokens,
        usd=usd,
    )


# Measures of answer texts, chosen by name: ROUGE, BLEU, token recall, and accuracy of multiple choice.


_OF_TEXTS: Mapping[str, Callable[[str, Sequence[str]], float]] = {
    "ROUGE-1": lambda text, golds: max(rouge_n(text, gold, n=1).f1 for gold in golds),
    "ROUGE-1-P": lambda text, golds: max(rouge_n(text, gold, n=1).precision for gold in golds),
    "ROUGE-1-R": lambda text, golds: max(rouge_n(text, gold, n=1).recall for gold in golds),
    "ROUGE-2": lambda text, golds: max(rouge_n(text, gold, n=2).f1 for gold in golds),
    "ROUGE-L": lambda text, golds: max(rouge_l(text, gold).f1 for gold in golds),
    "BLEU": sentence_bleu,
    "BLEU-1": partial(sentence_bleu, n=1),
}
NAMES = (*_OF_TEXTS, "token_recall", "accuracy")
"""Names of the measures. ``METEOR`` is not among them: it needs the data of WordNet, which no package of Python brings."""


def check_texts(names: Sequence[str]) -> None:
    """Check that the measures can be computed. Raises MissingExtraError for BLEU without sacrebleu.

    Parameters
    ----------
    names : some of ``NAMES``
    """
    if any(name.startswith("BLEU") for name in names):
        sentence_bleu("", ("",))


def text_section(found: AnswerReport, names: Sequence[str]) -> Section:
    """The named measures of all answers as a section of a report.

    ROUGE (F1; ``-P`` precision, ``-R`` recall) and BLEU measure the answer that a chat model writes, or without one the
    sentence of the best span.
    ``token_recall`` measures the whole text. ``accuracy`` is 1 if the answer names the right option and no other; a question
    without options has none.

    Parameters
    ----------
    found : the answers
    names : some of ``NAMES``
    """
    notes = []
    if "accuracy" in names:
        count = sum(bool(question.options) for question in found.questions)
        notes = [f"accuracy: {count} of {len(found.questions)} questions have options"]
    return Section(
        title=f"texts of answers ({'chat model' if found.by_chat else 'extractive'})",
        questions=tuple(question.id for question in found.questions),
        measures=tuple(names),
        values={
            strategy: tuple(
                text_measures(outcome, question, names=names)
                for question, outcome in zip(found.questions, item.outcomes, strict=True)
            )
            for strategy, item in found.strategies.items()
        },
        notes=tuple(notes),
    )


def text_measures(outcome: AnswerOutcome, question: Question, *, names: Sequence[str]) -> Row:
    """The named measures of one answer, each from 0 to 1; None without gold answers, and for accuracy without options.

    Parameters
    ----------
    outcome : the answer
    question : its question
    names : some of ``NAMES``
    """
    if not question.answers:
        return (None,) * len(names)
    answer = outcome.short if outcome.by_chat else outcome.sentence
    return tuple(_measured(name, outcome, question=question, answer=answer) for name in names)


def _measured(name: str, outcome: AnswerOutcome, *, question: Question, answer: str) -> float | None:
    if name == "token_recall":
        return token_recall(outcome.text, question.answers)
    if name == "accuracy":
        return _accuracy(answer, question) if question.options else None
    return _OF_TEXTS[name](answer, question.answers)


def _accuracy(answer: str, question: Question) -> float:
    letter = chosen_option(answer, question.lettered)
    return float(letter is not None and question.lettered[letter] in question.answers)


# Short answers without a model: the span of the evidence that fits the question best, by its kind and the words around it. They are
# a baseline for exact match and F1, not answers for users.

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?:,? \d{{4}})?\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b{_MONTH} \d{{4}}\b|\b(?:1\d|20)\d{{2}}s?\b"
)
_YEAR = re.compile(r"\b(?:1\d|20)\d{2}\b")
_NUMBER = re.compile(r"[$€£]?\b\d[\d.,]*(?<![.,])(?: (?:million|billion|thousand|%))?")
_NAME = re.compile(
    r"[^\W\d_a-zß-öø-ÿ][\w'’.-]*(?:(?: (?:of|the|de|da|von|van|and|for|in))* [^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\.(?= \w))?)*"
)
_FULL_NAME = re.compile(
    r"[^\W\d_a-zß-öø-ÿ][\w'’.-]*(?:(?: (?:de|da|von|van))* [^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\.(?= \w))?)*"
)
_TRADE = re.compile(r"\b(?:is|was|are|were) (?:an?|the) ([^.;(]+)")
_TRADE_END = re.compile(r"\b(?:who|born|from|in|of|for|at|with|known|best|active|that|which)\b")
_BEFORE_PLACE = re.compile(r"\b(?:in|at|near|from|of|to|into|on|outside|around) (?:the )?$")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_POLAR = frozenset(
    ["is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would"]
)
_CHOICES = (
    re.compile(r"[,:?]\s+(?:the )?([^,:?]+?),? or ([^,?]+?)\s*\?*\s*$"),
    re.compile(r"\b(?:[Bb]etween|out of) (?:the )?([^,?]+?) and ([^,?]+?)(?:\s*\?*\s*$|, | (?=who\b|which\b|what\b))"),
)
_EARLY = frozenset(["first", "earlier", "older", "earliest", "oldest", "before"])
_LATE = frozenset(["later", "younger", "latest", "youngest", "newer", "last", "more", "recently", "recent", "after"])
_REACH = 6.0  # number of words between a span and a question word at which that word counts half
_STEM = 5
_TRADES = frozenset(["occupation", "profession", "job", "career"])


class Known(NamedTuple):
    """Entities and facts of the graph that belong to the evidence of one question.

    Attributes
    ----------
    names : names of the entities that the evidence mentions
    facts : subject, predicate and object of the facts that the evidence supports
    """

    names: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, str], ...] = ()


class Span(NamedTuple):
    """A short answer, and the sentence that it stands in; both empty without evidence."""

    text: str
    sentence: str


class _Asked(NamedTuple):
    """What a question asks for: the kind, the noun after "which" or "what", and the stems of the question's words."""

    kind: Expected
    is_trade: bool
    noun: str
    words: frozenset[str]
    stems: frozenset[str]


class _Candidate(NamedTuple):
    text: str
    sentence: str
    start: int


def best_span(question: str, texts: Sequence[str], *, known: Known | None = None) -> Span:
    """The span of the requested kind that has the most of the question's words around it.

    Questions that begin with a verb ask for yes or no: the answer is yes if the words give no objection
    (:func:`hlgraph.extract.wording.objection`). Questions that end with two alternatives ask for one of them: if the question
    compares times, the year nearest to each decides, otherwise the words of the question around it. All other questions ask for
    something that they do not name: times are dates or years, numbers are in digits, persons and places are names, anything
    else is a name or an entity of the graph. For an occupation the span is what follows "is a". A question word in the sentence
    of a span counts more the nearer it is, and twice if it begins with a capital. A fact that joins the span to question words
    counts as much as those words. A span with the noun of the question ("which river") counts more.

    Parameters
    ----------
    question : text of the question
    texts : the evidence, the most relevant first
    known : what the graph knows of the evidence; default: nothing

    Returns
    -------
    Span
        The whole first sentence if nothing fits.

    Examples
    --------
    >>> best_span("When was the Halfmoon Bridge opened?", ["It fell in 1953. The bridge was opened in May 1868."]).text
    'May 1868'
    >>> best_span("Who opened the Halfmoon Bridge?", ["The Halfmoon Bridge was opened by Ida Orme."]).text
    'Ida Orme'
    >>> best_span("Which bridge is older, Orne Bridge or Aldane Bridge?", ["Orne Bridge: 1931.", "Aldane Bridge: 1868."]).text
    'Aldane Bridge'
    """
    parts = [text[start:end] for text in texts for start, end in sentences(text)]
    if not parts:
        return Span("", "")
    known = known or Known()
    asked = _asked(question)
    first = next(iter(_WORD.findall(question)), "")
    choice = _choice(question)
    if choice is not None:
        return _chosen(question, choice, parts)
    if fold(first) in _POLAR:
        return Span("no" if objection(question[len(first) :], texts) else "yes", parts[0])
    best: tuple[float, Span] | None = None
    for place, part in enumerate(parts):
        for candidate in _candidates(asked, part, known):
            score = _score(asked, candidate, known) - 0.25 * place
            if best is None or score > best[0]:
                best = score, Span(candidate.text, part)
    return best[1] if best else Span(parts[0], parts[0])


def _asked(question: str) -> _Asked:
    words = [fold(word) for word in _WORD.findall(question)]
    at = next((place for place, word in enumerate(words) if word in ("which", "what")), None)
    noun = ""
    if at is not None:
        noun = next((word for word in words[at + 1 : at + 3] if word not in STOP_WORDS), "")
    content = frozenset(content_words(question))
    return _Asked(expected(question), bool(_TRADES & content), _stem(noun), content, frozenset(map(_stem, content)))


def _stem(word: str) -> str:
    return word[:_STEM]


def _choice(question: str) -> tuple[str, str] | None:
    for pattern in _CHOICES:
        match = pattern.search(question)
        if match is not None:
            one, other = (part.removeprefix("the ").strip(" '\"“”‘’") for part in match.groups())
            if not (one[:1] + other[:1]).islower() and one and other:
                return one, other
    return None


def _chosen(question: str, choice: tuple[str, str], parts: Sequence[str]) -> Span:
    """One of two alternatives: by year if times are compared, otherwise the one whose sentences have more of the question."""
    words = {fold(word) for word in _WORD.findall(question)}
    about = {name: [part for part in parts if _mentions(part, name)] for name in choice}
    years = {name: [int(year) for part in about[name] for year in _YEAR.findall(part)] for name in choice}
    if all(years.values()) and words & (_EARLY | _LATE):
        order = sorted(choice, key=lambda name: years[name][0])
        text = order[-1] if words & _LATE and not words & _EARLY else order[0]
    else:
        stems = set(map(_stem, content_words(question)))
        shared = {name: {_stem(w) for part in about[name] for w in content_words(part)} & stems for name in choice}
        text = max(choice, key=lambda name: len(shared[name]))
    return Span(text, (about[text] or list(parts))[0])


def _mentions(part: str, name: str) -> bool:
    return bool(set(content_words(name))) and set(content_words(name)) <= set(content_words(part))


def _candidates(asked: _Asked, sentence: str, known: Known) -> Iterator[_Candidate]:
    """The spans of the requested kind in one sentence, without those that the question itself names."""
    for text, start in _found(asked, sentence, known):
        words = set(content_words(text)) or (set(normalised(text).split()) if text[:1].isdigit() else set())
        if words and not words <= asked.words:
            yield _Candidate(text, sentence, start)


def _found(asked: _Asked, sentence: str, known: Known) -> Iterator[tuple[str, int]]:
    """The spans of the requested kind in one sentence, with their offsets."""
    if asked.kind is Expected.TIME:
        yield from ((match[0], match.start()) for match in _DATE.finditer(sentence))
        return
    dates = {at for match in _DATE.finditer(sentence) for at in range(*match.span())}
    if asked.kind is Expected.NUMBER:
        yield from ((match[0], match.start()) for match in _NUMBER.finditer(sentence) if match.start() not in dates)
        return
    if asked.is_trade:
        yield from _trades(sentence)
        return
    pattern = _FULL_NAME if asked.kind is Expected.PERSON else _NAME
    for match in pattern.finditer(sentence):
        if match.start() not in dates:
            yield match[0].rstrip(".'’-"), match.start()
    for name in known.names:
        whole = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence) if name in sentence else None
        if whole and (asked.kind is Expected.ANY or name[:1].isupper()):
            yield name, whole.start()


def _trades(sentence: str) -> Iterator[tuple[str, int]]:
    """What follows "is a" for a person: "printer", "journalist" and "poet" of "a Scottish printer, journalist and poet born in"."""
    for match in _TRADE.finditer(sentence):
        for part in re.split(r", | and ", _TRADE_END.split(match[1])[0]):
            words = [word for word in part.split() if word[0].islower()]
            if words:
                yield " ".join(words[-2:]), match.start(1)


def _score(asked: _Asked, candidate: _Candidate, known: Known) -> float:
    own = {_stem(word) for word in content_words(candidate.text)}
    before = len(_WORD.findall(candidate.sentence[: candidate.start]))
    behind = before + len(_WORD.findall(candidate.text))
    nearest: dict[str, float] = {}
    for place, word in enumerate(_WORD.findall(candidate.sentence)):
        stem = _stem(fold(word))
        if before <= place < behind or stem not in asked.stems or stem in own:
            continue
        distance = before - place if place < before else place - behind + 1
        weight = (2.0 if word[0].isupper() else 1.0) / (1 + distance / _REACH)
        nearest[stem] = max(nearest.get(stem, 0.0), weight)
    score = sum(nearest.values()) + _by_facts(asked, candidate.text, known)
    if asked.noun and asked.noun in own:
        score += 2.0
    score -= len(own & asked.stems) * 0.5
    if asked.kind is Expected.PERSON and " " in candidate.text:
        score += 0.5
    if asked.kind is Expected.PLACE and _BEFORE_PLACE.search(candidate.sentence[: candidate.start]):
        score += 1.0
    return score


def _by_facts(asked: _Asked, text: str, known: Known) -> float:
    """The largest number of question words in a fact that has the span as its subject or object."""
    most, folded = 0, normalised(text)
    for subject, predicate, complement in known.facts:
        for own, other in ((subject, complement), (complement, subject)):
            if normalised(own) == folded:
                beside = {_stem(word) for word in content_words(f"{predicate} {other}")}
                most = max(most, len(beside & asked.stems))
    return float(most)
