"""Make preference pairs from questions with gold answers: contexts, reasons by chat models, rejected answers (GraphMPA, 4)."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from hlgraph import progress
from hlgraph.align.pairs import (
    NEGATIVES,
    PROMPTS_FILE,
    TEST_FILE,
    TRAIN_FILE,
    Negative,
    Pair,
    Parts,
    Piece,
    Prompt,
    Split,
    check_negatives,
    given_split,
    parts_of,
    preferred,
    split_by_source,
    write_lines,
)
from hlgraph.answer.citations import CITED, MARK, cited_sentences, in_lines, line_of, named_numbers, said
from hlgraph.answer.writer import ALIGNED, aligned_values, prompt_named
from hlgraph.errors import BudgetError, InputError, ModelAnswerError
from hlgraph.evaluate.datasets import Dataset, Question, load
from hlgraph.evaluate.figures import Table, Tabled
from hlgraph.evaluate.metrics import exact_match, has_answer, normalised
from hlgraph.evaluate.runner import PREFIX, ingest_set, prepare
from hlgraph.extract.wording import objection
from hlgraph.ids import checksum
from hlgraph.models import choose
from hlgraph.models.accounts.budget import MEASURED_FROM, Budget, ExpectedCost, guessed_seconds
from hlgraph.models.accounts.ledger import Experience, Purpose
from hlgraph.models.choose import executor_of
from hlgraph.models.executor import Executor, Request
from hlgraph.models.prompts import Prompt as Template
from hlgraph.models.prompts import delimited, read_prompt, request_tokens
from hlgraph.records import group_by
from hlgraph.retrieve.search import retriever
from hlgraph.sdk.batches import planning_executor
from hlgraph.stores.files import write_bytes

if TYPE_CHECKING:
    from hlgraph.records import Evidence
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings


# Reasons. A chat model reads a question and its gold answer and writes why the answer is right. Reasons that fail a check are
# left out.


_PROMPTS = Path(__file__).parent / "prompts"
STAGE = "align"
Fault = Literal[
    "unreadable",
    "refused",
    "no_reason",
    "other_answer",
    "no_lead",
    "tells",
    "uncited",
    "unknown_citation",
    "unsupported",
]
FAULTS: dict[Fault, str] = {
    "unreadable": "the reply does not have the two parts, or was cut off",
    "refused": "the provider refused the request",
    "no_reason": "the model says that the evidence does not lead to the answer",
    "other_answer": "the reply does not end with the gold answer",
    "no_lead": "the reason does not name the gold answer",
    "tells": "the reason says that the answer was given",
    "uncited": "a sentence of the reason has no citation",
    "unknown_citation": "the reason cites a piece that does not exist",
    "unsupported": "a cited piece does not support its sentence",
}
"""Why a reason is left out."""
_DECLINED = "NO REASON"
_VERDICTS = frozenset({"yes", "no", "maybe", "true", "false"})
_TELLS = re.compile(
    r"\b(?:given|provided|supplied|stated|correct|gold)\s+answer\b|\banswer (?:was|is) given\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Context:
    """A numbered piece of context: its text with the title of its source, and the record it comes from."""

    text: str
    piece: Piece


@dataclass(frozen=True, slots=True)
class Task:
    """One question with its k best contexts, C_k of GraphMPA, section 3.2; k may be 0."""

    question: Question
    contexts: tuple[Context, ...]

    @property
    def gold(self) -> str:
        """The answer to train."""
        return self.question.answers[0]


class Outcome(NamedTuple):
    """The result of a task: a reason, or why there is none."""

    task: Task
    reason: str
    fault: Fault | None


def reason_prompt(*, is_literal: bool = False) -> Template:
    """The prompt that asks for a reason: one that rests on the contexts, or, if ``is_literal``, the prompt of the paper."""
    return read_prompt(_PROMPTS / ("reason-literal.md" if is_literal else "reason.md"))


def context_of(evidence: Evidence) -> Context:
    """A piece of evidence as context."""
    sources = tuple(sorted({part.source.uri for part in (evidence, *evidence.rests_on)}))
    return Context(line_of(evidence), Piece(evidence.id, evidence.kind.value, sources))


def tasks_of(question: Question, contexts: Sequence[Context], *, most: int) -> list[Task]:
    """The tasks of a question: no context, the best one, the two best, and so on up to ``most``.

    Parameters
    ----------
    question : the question, with answers
    contexts : its contexts, best first
    most : maximum number of contexts in a task
    """
    return [Task(question, tuple(contexts[:k])) for k in range(min(most, len(contexts)) + 1)]


def prompt_of(task: Task) -> Prompt:
    """The prompt of the trained model for a task, which ``graph.answer`` sends with the style ``aligned``."""
    question = task.question
    values = aligned_values(question.asked, in_lines([context.text for context in task.contexts]))
    return Prompt(
        prompt=f"{prompt_named(ALIGNED).filled(values)}\n",
        question_id=question.id,
        question=question.text,
        answers=question.answers,
        k=len(task.contexts),
        pieces=tuple(context.piece for context in task.contexts),
        gold_sources=tuple(sorted(f"{PREFIX}{gold}" for gold in question.gold)),
        type=question.type,
        hops=question.hops,
    )


def messages(task: Task, *, is_literal: bool = False) -> tuple[str, str, str]:
    """System message, user message and version of the prompt that asks for the reason of a task.

    Parameters
    ----------
    task : the question, its gold answer and its contexts
    is_literal : as in the paper: the reason need not rest on the contexts
    """
    prompt = reason_prompt(is_literal=is_literal)
    pieces = "\n".join(
        f"[{number}]\n{delimited('evidence', context.text)}" for number, context in enumerate(task.contexts, 1)
    )
    values = {
        "evidence": pieces or "(none)",
        "question": delimited("question", task.question.asked),
        "answer": delimited("answer", task.gold),
    }
    return prompt.system, prompt.filled(values), prompt.version


def is_readable(reply: str) -> bool:
    """Whether a reply has the two parts, or says that there is no reason. Such replies are stored."""
    return _is_declined(said(reply)) or parts_of(said(reply)) is not None


def written(task: Task, executor: Executor, *, max_tokens: int, is_literal: bool = False) -> Outcome:
    """The reason that a chat model writes for a task, or why it is left out.

    Parameters
    ----------
    task : the question, its gold answer and its contexts
    executor : executor of the chat model
    max_tokens : limit of the reply, in tokens
    is_literal : as in the paper: only the answer is checked, not what the reason rests on

    Raises
    ------
    ModelError
        The model cannot be called. A request that it refuses is an outcome, not an error.
    """
    system, user, version = messages(task, is_literal=is_literal)
    asking = executor.about(Purpose(stage=STAGE, prompt=version), accept=is_readable)
    try:
        completion = asking.complete(system, user, max_tokens=max_tokens)
    except ModelAnswerError:
        return Outcome(task, "", "refused")
    if completion.is_cut:
        return Outcome(task, "", "unreadable")
    text = said(completion.text)
    if _is_declined(text):
        return Outcome(task, "", "no_reason")
    parts = parts_of(text)
    if parts is None:
        return Outcome(task, "", "unreadable")
    tidy = Parts(with_single_marks(parts.reason), parts.answer)
    fault = fault_of(task, tidy, is_literal=is_literal)
    return Outcome(task, "" if fault else tidy.reason, fault)


def fault_of(task: Task, parts: Parts, *, is_literal: bool = False) -> Fault | None:
    """Why a reason is rejected; None if it leads to the gold answer and cites what it uses.

    The reply must end with the gold answer, and the reason must name it, unless it is a verdict such as yes. If the task has
    contexts, each sentence must cite at least one, and they must support it (:func:`hlgraph.extract.wording.objection`). The last
    sentence may draw the conclusion, so it is checked against everything that the reason cites. If the task has no contexts, the
    reason must cite nothing.

    Parameters
    ----------
    task : the question, its gold answer and its contexts
    parts : the reply
    is_literal : as in the paper: the reply must end with the gold answer, and nothing else is checked
    """
    reason = parts.reason
    if not exact_match(parts.answer, task.question.answers):
        return "other_answer"
    if is_literal:
        return None
    if normalised(task.gold) not in _VERDICTS and not has_answer([CITED.sub("", reason)], task.question.answers):
        return "no_lead"
    if _TELLS.search(reason):
        return "tells"
    return _fault_of_citations(task, reason)


def _fault_of_citations(task: Task, reason: str) -> Fault | None:
    spans = cited_sentences(reason)
    numbers = {number for span in spans for number in span.numbers}
    if any(not 1 <= number <= len(task.contexts) for number in numbers):
        return "unknown_citation"
    if not task.contexts:
        return None
    if not spans or not all(span.numbers for span in spans):
        return "uncited"
    for span in spans:
        cited = numbers if span is spans[-1] else span.numbers
        texts = [task.contexts[number - 1].text for number in sorted(cited)]
        if objection(reason[span.start : span.end], texts):
            return "unsupported"
    return None


def with_single_marks(reason: str) -> str:
    r"""The reason on one line, with one mark per cited piece.

    Examples
    --------
    >>> with_single_marks("It is old [1, 3].\nIt is wide [2-3].")
    'It is old [1][3]. It is wide [2][3].'
    """
    return CITED.sub(
        lambda mark: " " + "".join(f"[{number}]" for number in named_numbers(mark[1])), " ".join(reason.split())
    )


def _is_declined(text: str) -> bool:
    return text.strip(" .").upper() == _DECLINED


# Rejected answers. GraphMPA rejects only the bare gold answer, which is always shorter than the preferred one, so a model can
# lower the loss just by writing more. The two further kinds here are as long as the preferred answer.


# Maximum difference in length between a preferred and a rejected answer, as a share of the preferred one.
_LENGTHS = 0.25


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A task with an accepted reason, the chat model that wrote it, and the version of the prompt that asked for it."""

    task: Task
    reason: str
    model: str
    asked_by: str = ""

    @property
    def text(self) -> str:
        """The preferred answer."""
        return preferred(self.reason, self.task.gold)


def pairs_of(reasons: Sequence[Reasoned], *, negatives: Sequence[Negative]) -> list[Pair]:
    """The pairs from the reasons of one side of a split, without duplicates.

    Parameters
    ----------
    reasons : accepted reasons
    negatives : kinds of rejected answers; a kind that cannot be made from a reason is left out

    Returns
    -------
    list[Pair]
        In the order of ``reasons``; for each reason, in the order of ``negatives``.
    """
    by_size = group_by(reasons, lambda reasoned: len(reasoned.task.contexts))
    pairs: dict[tuple[str, str, str], Pair] = {}
    for reasoned in reasons:
        rejected: Mapping[Negative, str] = {
            "bare": reasoned.task.gold,
            "citation": wrong_citations(reasoned),
            "other": other_answer(reasoned, by_size[len(reasoned.task.contexts)]),
        }
        for kind in negatives:
            if rejected[kind]:
                pair = _pair(reasoned, kind, rejected[kind])
                pairs.setdefault((pair.prompt, normalised(pair.chosen), normalised(pair.rejected)), pair)
    return list(pairs.values())


def wrong_citations(reasoned: Reasoned) -> str:
    """The preferred answer with every citation moved to a piece that does not support its sentence.

    Empty if a sentence has no such piece: there are fewer than two contexts, or all of them support it.

    Parameters
    ----------
    reasoned : an accepted reason
    """
    contexts = reasoned.task.contexts
    spans = cited_sentences(reasoned.reason)
    if not spans or not contexts:
        return ""
    text, at = "", 0
    for span in spans:
        sentence = reasoned.reason[span.start : span.end]
        others = ((number, each) for number, each in enumerate(contexts, 1) if number not in span.numbers)
        wrong = [number for number, context in others if objection(sentence, [context.text])]
        if not wrong:
            return ""
        text += reasoned.reason[at : span.start] + _moved(sentence, wrong)
        at = span.end
    return preferred(text + reasoned.reason[at:], reasoned.task.gold)


def other_answer(reasoned: Reasoned, others: Iterable[Reasoned]) -> str:
    """The preferred answer to another question with as many contexts that is closest in length; empty if none is close.

    The other question has a different gold answer and shares no gold source. The lengths differ by at most a quarter. Ties
    break by question id, then by text.

    Parameters
    ----------
    reasoned : an accepted reason
    others : reasons with the same number of contexts
    """
    mine, golds = reasoned.task.question, {normalised(answer) for answer in reasoned.task.question.answers}
    length = len(reasoned.text)
    close = [
        (abs(len(each.text) - length), each.task.question.id, each.text)
        for each in others
        if not mine.gold & each.task.question.gold
        and not golds & {normalised(answer) for answer in each.task.question.answers}
        and abs(len(each.text) - length) <= _LENGTHS * length
    ]
    return min(close)[2] if close else ""


def _moved(sentence: str, wrong: Sequence[int]) -> str:
    """The sentence with its marks moved to the wrong pieces: as many different ones as it has marks, if there are enough."""
    numbers = list(dict.fromkeys(int(number) for number in MARK.findall(sentence)))
    new = {number: wrong[place % len(wrong)] for place, number in enumerate(numbers)}
    return MARK.sub(lambda mark: f"[{new[int(mark[1])]}]", sentence)


def _pair(reasoned: Reasoned, kind: Negative, rejected: str) -> Pair:
    prompt = prompt_of(reasoned.task)
    return Pair(
        id=checksum("pair", prompt.prompt, reasoned.text, rejected)[:32],
        chosen=reasoned.text,
        rejected=rejected,
        negative=kind,
        model=reasoned.model,
        made_with=(prompt_named(ALIGNED).version, reasoned.asked_by),
        **{each.name: getattr(prompt, each.name) for each in fields(prompt)},
    )


CONTEXTS = 3
"""Maximum number of pieces of context. With 0 to 3 of them, 5,000 training questions give the paper's 20,000 samples."""
REPORT_FILE = "report.json"
_SPARE = 2  # how many times as many contexts to search for, because those of the other side of the split are left out
_GUESSED = 120  # assumed tokens of a reason, until ten have been paid for
Find: TypeAlias = Callable[[str, int], Sequence["Evidence"]]
"""A search: takes a question and a number, and returns that many pieces of evidence from all layers (Eq. 5 and 6), best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSet(Tabled):
    """The pairs of an evaluation set. A notebook shows the counts.

    Attributes
    ----------
    train, test : pairs for training and held-out pairs
    prompts : prompts of the held-out questions, one per number of contexts
    questions, held_out : number of questions for training and held-out questions
    tasks : number of reasons that were asked for
    faults : number of rejected reasons, by fault
    by_model : number of pairs, by the model that wrote the reason
    """

    train: Sequence[Pair] = ()
    test: Sequence[Pair] = ()
    prompts: Sequence[Prompt] = ()
    questions: int = 0
    held_out: int = 0
    tasks: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)
    by_model: Mapping[str, int] = field(default_factory=dict)

    def write(self, folder: str | Path) -> None:
        """Write the pairs, the prompts and the counts to a folder, which is created if it is missing. Raises InputError."""
        place = Path(folder)
        write_lines(place / TRAIN_FILE, self.train)
        write_lines(place / TEST_FILE, self.test)
        write_lines(place / PROMPTS_FILE, self.prompts)
        with write_bytes(place / REPORT_FILE) as file:
            file.write(msgspec.json.format(msgspec.json.encode(self.to_json())) + b"\n")

    def to_json(self) -> dict[str, object]:
        """The counts as JSON data."""
        pairs = (*self.train, *self.test)
        by_k = Counter(pair.k for pair in pairs)
        return {
            "questions": {"train": self.questions, "held_out": self.held_out},
            "reasons": {"asked": self.tasks, "left_out": sum(self.faults.values()), "faults": self.faults},
            "pairs": {
                "train": len(self.train),
                "held_out": len(self.test),
                "by_negative": {kind: sum(pair.negative == kind for pair in pairs) for kind in NEGATIVES},
                "by_k": {str(k): by_k[k] for k in sorted(by_k)},
                "by_model": self.by_model,
            },
            "prompts": len(self.prompts),
        }

    def tables(self) -> list[Table]:
        """The numbers of questions and pairs."""
        rows = (
            ("questions", f"{self.questions:,}", f"{self.held_out:,}"),
            ("pairs", f"{len(self.train):,}", f"{len(self.test):,}"),
        )
        title = f"{self.tasks:,} reasons asked for, {sum(self.faults.values()):,} left out"
        return [Table(title, ("", "for training", "held out"), rows)]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of both sides of a split."""

    train: tuple[Task, ...]
    test: tuple[Task, ...]
    split: Split


def find_contexts(split: Split, find: Find, *, most: int) -> Tasks:
    """The tasks of a split: each question with 0, 1, 2 and more of its best contexts.

    The contexts for training omit every piece that rests on a gold source of a held-out question, so that no training prompt
    shows the evidence of a held-out answer. Equal texts count once.

    Parameters
    ----------
    split : the questions
    find : the search
    most : maximum number of pieces of context
    """
    hidden = {f"{PREFIX}{gold}" for question in split.test for gold in question.gold}

    def side(questions: Sequence[Question], without: set[str]) -> tuple[Task, ...]:
        tasks: list[Task] = []
        for question in questions:
            evidence = find(question.text, _SPARE * most) if most else ()
            tasks += tasks_of(question, _usable(evidence, without), most=most)
            progress.advance("search")
        return tuple(tasks)

    with progress.step("search", len(split.train) + len(split.test), unit="questions"):
        return Tasks(side(split.train, hidden), side(split.test, set()), split)


def _usable(evidence: Iterable[Evidence], without: set[str]) -> list[Context]:
    pieces = (context_of(each) for each in evidence)
    return list({each.text: each for each in pieces if not without.intersection(each.piece.sources)}.values())


def make(
    tasks: Tasks,
    executors: Sequence[Executor],
    *,
    negatives: Sequence[Negative] = NEGATIVES,
    max_tokens: int = 4096,
    budget: Budget | None = None,
    is_literal: bool = False,
) -> PairSet:
    """Pairs for all tasks: every model writes a reason for each task, and the accepted reasons become pairs.

    Parameters
    ----------
    tasks : see :func:`find_contexts`
    executors : of the chat models; stored replies cost nothing, so a repeated call resumes
    negatives : kinds of rejected answers
    max_tokens : limit of one reply, in tokens
    budget : limit for all models together; None: no limit
    is_literal : reasons as in the paper, see :attr:`PairsOptions.literal`

    Raises
    ------
    BudgetError
        The budget is spent; the replies so far are stored.
    ModelError
        A model cannot be called.
    """
    faults: Counter[str] = Counter()
    sides: dict[str, list[Reasoned]] = {"train": [], "test": []}
    started: Executor | None = None
    version = reason_prompt(is_literal=is_literal).version
    for executor in executors:
        budget = budget if started is None else _rest(budget, started)
        started = executor.begin(budget)
        ask = partial(written, executor=started, max_tokens=max_tokens, is_literal=is_literal)
        for side, some in (("train", tasks.train), ("test", tasks.test)):
            with progress.step(f"reasons {side}", len(some), unit="reasons"):
                outcomes = started.run(ask, some, step=f"reasons {side}")
            faults.update(outcome.fault for outcome in outcomes if outcome.fault)
            usable = (each for each in outcomes if not each.fault)
            sides[side] += [Reasoned(each.task, each.reason, executor.fingerprint, version) for each in usable]
    train, test = (pairs_of(reasons, negatives=negatives) for reasons in sides.values())
    return PairSet(
        train=train,
        test=test,
        prompts=[prompt_of(task) for task in tasks.test],
        questions=len(tasks.split.train),
        held_out=len(tasks.split.test),
        tasks=len(executors) * (len(tasks.train) + len(tasks.test)),
        faults={fault: faults[fault] for fault in FAULTS if faults[fault]},
        by_model=dict(sorted(Counter(pair.model for pair in (*train, *test)).items())),
    )


def _rest(budget: Budget | None, begun: Executor) -> Budget | None:
    """The remaining budget for the next model."""
    if budget is None:
        return None
    purse = begun.purse
    tokens = None if budget.max_tokens is None else budget.max_tokens - purse.tokens
    usd = None if budget.max_usd is None else budget.max_usd - purse.usd
    if (tokens is not None and tokens <= 0) or (usd is not None and usd <= 0):
        raise BudgetError(
            f"the budget is spent after {purse.calls:,} calls of {begun.fingerprint}; finished work is kept, repeat the "
            "command to resume it",
            tokens=purse.tokens,
            usd=purse.usd,
        )
    return Budget(max_tokens=tokens, max_usd=usd)


def planned(tasks: Tasks, executor: Executor, *, max_tokens: int = 4096, is_literal: bool = False) -> ExpectedCost:
    """The expected cost of :func:`make` with one model. Calls no model and writes nothing.

    Token counts are guesses until ten reasons of the model have been paid for; from then on they are averages from the ledger.

    Parameters
    ----------
    tasks : see :func:`find_contexts`
    executor : of the chat model
    max_tokens : limit of one reply, in tokens
    is_literal : reasons as in the paper
    """
    calls = kept = sent = 0
    version = ""
    for task in (*tasks.train, *tasks.test):
        system, user, version = messages(task, is_literal=is_literal)
        if executor.held(Request(system, user, max_tokens, Purpose(prompt=version), bool)) is not None:
            kept += 1
        else:
            calls, sent = calls + 1, sent + request_tokens(system, user)
    ledger, none = executor.accounts.ledger, Experience(0, 0, 0, 0, 0.0)
    known = ledger.experience(executor.fingerprint, version) if ledger else none
    known = known if known.calls >= MEASURED_FROM else none
    replied, seconds = calls * _GUESSED, calls * guessed_seconds(_GUESSED)
    if known.calls:
        sent = round(sent * known.input_tokens / max(1, known.expected_tokens))
        replied, seconds = round(calls * known.output_tokens / known.calls), calls * known.seconds / known.calls
    price = executor.accounts.price
    return ExpectedCost(
        calls=calls,
        kept_calls=kept,
        input_tokens=sent,
        output_tokens=replied,
        usd=None if price is None else price.cost(sent, replied),
        seconds=seconds / executor.most,
        model=executor.fingerprint,
        measured_calls=known.calls,
    )


# The pairs of an evaluation set: its questions are split, and its passages are ingested and searched.


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsOptions:
    """Options of pairs; the parameters of :meth:`hlgraph.sdk.align.Alignment.make`.

    Attributes
    ----------
    questions : file of questions; None: that of the set
    test : file of held-out questions; None: a share of the questions
    subsets, limit : which questions are used
    contexts : maximum number of pieces of context
    held_out : share of the questions that is held out if ``test`` is None
    negatives : kinds of rejected answers; None: all, or only ``bare`` for literal data
    strategy : strategy that finds the contexts
    chats : names of the chat models that write reasons; empty: that of the settings
    literal : make the data of the paper: a reason need not cite the contexts or rest on them, so contexts that do not help stay
        in the prompts, and the only rejected answer is the bare gold answer

    Raises
    ------
    InputError
        ``contexts`` is below 0, or ``literal`` is combined with rejected answers other than ``bare``.
    """

    questions: str | Path | None = None
    test: str | Path | None = None
    subsets: tuple[str, ...] = ()
    limit: int | None = None
    contexts: int = CONTEXTS
    held_out: float = 0.1
    negatives: Sequence[str] | None = None
    strategy: str = "hierarchy"
    chats: tuple[str, ...] = ()
    literal: bool = False

    def __post_init__(self) -> None:
        """Check the number of contexts, and the rejected answers of literal data."""
        if self.literal and tuple(self.negatives or ("bare",)) != ("bare",):
            raise InputError(
                f"negatives are {', '.join(self.negatives or ())}; literal data has only bare ones: leave negatives out"
            )
        if self.contexts < 0:
            raise InputError(f"contexts is {self.contexts}; give 0 (questions without context) or more")


@dataclass(frozen=True, slots=True)
class PairsCost:
    """Expected cost of pairs: the tasks, and the cost per model."""

    tasks: Tasks
    models: tuple[ExpectedCost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsPlan:
    """A checked plan of pairs, with the questions already split.

    Attributes
    ----------
    dataset : the set
    split : its questions with answers
    options : how pairs are made, with the names of the chat models
    negatives : kinds of rejected answers
    """

    dataset: Dataset
    split: Split
    options: PairsOptions
    negatives: tuple[Negative, ...]

    def make(self, graph: HLGraph, *, budget: Budget | None = None) -> PairSet:
        """Make the pairs.

        Parameters
        ----------
        graph : the corpus of the set
        budget : limit for all models together; None: no limit
        """
        most = graph.settings.models.max_tokens
        with _executors(self.options.chats, graph.settings, is_planned=False) as executors:
            return make(
                self._tasks(graph),
                executors,
                negatives=self.negatives,
                max_tokens=most,
                budget=budget,
                is_literal=self.options.literal,
            )

    def cost(self, graph: HLGraph) -> PairsCost:
        """What :meth:`make` would cost. Ingests and searches the set, but calls no chat model."""
        most = graph.settings.models.max_tokens
        with _executors(self.options.chats, graph.settings, is_planned=True) as executors:
            tasks = self._tasks(graph)
            is_literal = self.options.literal
            costs = (planned(tasks, each, max_tokens=most, is_literal=is_literal) for each in executors)
            return PairsCost(tasks, tuple(costs))

    def _tasks(self, graph: HLGraph) -> Tasks:
        """Ingest the set, and return its questions with the contexts that the strategy finds."""
        chosen = retriever(self.options.strategy, "paper")
        for failure in ingest_set(graph, self.dataset).failed:
            _LOG.warning("not ingested: %s", failure.error)
        prepare(graph, [chosen])
        return find_contexts(
            self.split,
            lambda question, k: graph.search(question, strategy=chosen, k=k).evidence,
            most=self.options.contexts,
        )


def plan_pairs(folder: str | Path, options: PairsOptions, *, settings: Settings) -> PairsPlan:
    """Plan the pairs of an evaluation set. All checks that need no corpus run here.

    Parameters
    ----------
    folder : folder of the set
    options : the options
    settings : all settings

    Raises
    ------
    InputError
        An option is invalid, no question has answers, no chat model is named, or the given split leaks.
    ReadError
        A file cannot be read.
    """
    dataset = load(folder, questions=options.questions, limit=options.limit, subsets=options.subsets)
    negatives = check_negatives(options.negatives or (("bare",) if options.literal else NEGATIVES))
    split = _split(dataset, options.test, held_out=options.held_out)
    chats = tuple(dict.fromkeys(options.chats or ([settings.models.chat] if settings.models.chat else [])))
    if not chats:
        raise InputError(
            "the reasons are written by a chat model, and none is named; give chats=['ollama:llama3:8b'] or another one, or set "
            "HLGRAPH_CHAT or models.chat"
        )
    return PairsPlan(dataset=dataset, split=split, options=replace(options, chats=chats), negatives=negatives)


def _split(dataset: Dataset, test: str | Path | None, *, held_out: float) -> Split:
    """Split the questions that have answers: as the held-out file says if there is one, otherwise by source."""
    answered = [question for question in dataset.questions if question.answers]
    if not answered:
        raise InputError(f"no question of {dataset.name} has answers; add the field answers, a list, to the questions")
    if test is None:
        return split_by_source(answered, held_out=held_out)
    others = load(dataset.passages_path.parent, questions=test).questions
    return given_split(answered, [question for question in others if question.answers])


@contextmanager
def _executors(names: Sequence[str], settings: Settings, *, is_planned: bool) -> Iterator[list[Executor]]:
    """The executors of chat models, with the ledger and the replies of the store. No model is created for a plan."""
    with ExitStack() as closing:
        executors = []
        for name in names:
            if is_planned:
                executors.append(closing.enter_context(planning_executor(name, settings)))
            else:
                chat = choose.chosen_chat(name, settings.models)
                executors.append(executor_of(chat, settings, corpus=settings.corpus))
                closing.callback(executors[-1].close)
        yield executors
