"""Makes pairs of answers from questions with gold answers: contexts, reasons by chat models, rejected answers (GraphMPA, 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from hlgraph import progress
from hlgraph.align.negatives import Reasoned, pairs_of
from hlgraph.align.pairs import NEGATIVES, PROMPTS_FILE, TEST_FILE, TRAIN_FILE, Negative, Pair, Prompt, write_lines
from hlgraph.align.reasons import FAULTS, Context, Task, context_of, messages, prompt_of, tasks_of, written
from hlgraph.align.split import Split
from hlgraph.errors import BudgetError, InputError
from hlgraph.evaluate.asking import PREFIX
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.expected import MEASURED_FROM, ExpectedCost, guessed_seconds
from hlgraph.models.accounts.ledger import Experience, Purpose
from hlgraph.models.executor import Executor, Request
from hlgraph.models.tokens import request_tokens
from hlgraph.stores.files import write_bytes

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Question
    from hlgraph.records import Evidence

CONTEXTS = 3
"""Most pieces of context; with 0 to 3 of them, the 5,000 questions of a training set of the paper give its 20,000 samples."""
REPORT_FILE = "report.json"
_SPARE = 2  # times the contexts that are searched, since those of the other side of the split are left out
_GUESSED = 120  # tokens of a reason, before ten were paid
Find: TypeAlias = Callable[[str, int], Sequence["Evidence"]]
"""From a question and a number to the best pieces of evidence over all layers (Eq. 5 and 6), best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeOptions:
    """How pairs are made.

    Attributes
    ----------
    contexts : most pieces of context, from 0; a question gives one task for each number from 0 to this one (default 3)
    negatives : kinds of rejected answers (default: all)
    max_tokens : limit of one reply, in tokens

    Raises
    ------
    InputError
        ``contexts`` is below 0.
    """

    contexts: int = CONTEXTS
    negatives: tuple[Negative, ...] = NEGATIVES
    max_tokens: int = 4096

    def __post_init__(self) -> None:
        """Refuse what cannot be used."""
        if self.contexts < 0:
            raise InputError(f"contexts is {self.contexts}; give 0 (no context alone) or more")


@dataclass(slots=True)
class Made:
    """What was made.

    Attributes
    ----------
    train, test : pairs for training, and held-out ones
    prompts : every held-out question with each number of contexts
    questions, held_out : number of questions on either side
    tasks : number of reasons that were asked for
    faults : number of reasons that were left out, by what is wrong with them
    by_model : number of pairs, by the model that wrote the reason
    """

    train: list[Pair] = field(default_factory=list)
    test: list[Pair] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    questions: int = 0
    held_out: int = 0
    tasks: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    by_model: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of both sides of a split."""

    train: tuple[Task, ...]
    test: tuple[Task, ...]
    split: Split


def find_contexts(split: Split, find: Find, *, most: int) -> Tasks:
    """The tasks of a split: every question with growing prefixes of what retrieval finds.

    A piece that rests on a gold source of a held-out question is left out of the contexts for training, so that no training
    prompt shows what a held-out answer rests on. Equal texts count once.

    Parameters
    ----------
    split : the questions
    find : the search
    most : most pieces of context
    """
    hidden = {f"{PREFIX}{gold}" for question in split.test for gold in question.gold}

    def side(questions: Sequence[Question], without: set[str]) -> tuple[Task, ...]:
        tasks: list[Task] = []
        for question in questions:
            found = find(question.text, _SPARE * most) if most else ()
            tasks += tasks_of(question, _usable(found, without), most=most)
            progress.advance("search")
        return tuple(tasks)

    with progress.step("search", len(split.train) + len(split.test), unit="questions"):
        return Tasks(side(split.train, hidden), side(split.test, set()), split)


def _usable(found: Iterable[Evidence], without: set[str]) -> list[Context]:
    pieces = (context_of(item) for item in found)
    return list({item.text: item for item in pieces if not without.intersection(item.piece.sources)}.values())


def make(tasks: Tasks, executors: Sequence[Executor], *, options: MakeOptions, budget: Budget | None = None) -> Made:
    """The pairs of all tasks: every model writes a reason for each task, and those that hold become pairs.

    Parameters
    ----------
    tasks : see :func:`find_contexts`
    executors : of the chat models; replies that are kept cost nothing, so that a repeated call resumes
    options : how pairs are made
    budget : for all models together; None: no limit

    Raises
    ------
    BudgetError
        The budget is spent; the replies so far are kept.
    ModelError
        A model cannot be called.
    """
    made = Made(questions=len(tasks.split.train), held_out=len(tasks.split.test))
    faults: Counter[str] = Counter()
    sides: dict[str, list[Reasoned]] = {"train": [], "test": []}
    begun: Executor | None = None
    for executor in executors:
        budget = budget if begun is None else _rest(budget, begun)
        begun = executor.begin(budget)
        ask = partial(written, executor=begun, max_tokens=options.max_tokens)
        for side, some in (("train", tasks.train), ("test", tasks.test)):
            with progress.step(f"reasons {side}", len(some), unit="reasons"):
                outcomes = begun.run(ask, some, step=f"reasons {side}")
            made.tasks += len(outcomes)
            faults.update(item.fault for item in outcomes if item.fault)
            sides[side] += [
                Reasoned(item.task, item.reason, executor.fingerprint) for item in outcomes if not item.fault
            ]
    made.prompts = [prompt_of(task) for task in tasks.test]
    made.train = pairs_of(sides["train"], negatives=options.negatives)
    made.test = pairs_of(sides["test"], negatives=options.negatives)
    made.faults = {fault: faults[fault] for fault in FAULTS if faults[fault]}
    made.by_model = dict(sorted(Counter(pair.model for pair in (*made.train, *made.test)).items()))
    return made


def planned(tasks: Tasks, executors: Sequence[Executor], *, options: MakeOptions) -> list[ExpectedCost]:
    """What :func:`make` would cost, for each model. Nothing is asked or written.

    Once ten reasons of a model were paid, the ledger's means replace the estimate.

    Parameters
    ----------
    tasks : see :func:`find_contexts`
    executors : of the chat models
    options : how pairs are made
    """
    return [_expected(executor, (*tasks.train, *tasks.test), options.max_tokens) for executor in executors]


def write(made: Made, folder: Path) -> None:
    """Write the pairs, and a report of how they came about, to a folder.

    Parameters
    ----------
    made : what was made
    folder : made where it is missing; the four files in it are replaced

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    write_lines(folder / TRAIN_FILE, made.train)
    write_lines(folder / TEST_FILE, made.test)
    write_lines(folder / PROMPTS_FILE, made.prompts)
    with write_bytes(folder / REPORT_FILE) as file:
        file.write(msgspec.json.format(msgspec.json.encode(report_tree(made))) + b"\n")


def report_tree(made: Made) -> Mapping[str, object]:
    """The counts of what was made."""
    return {
        "questions": {"train": made.questions, "held_out": made.held_out},
        "reasons": {"asked": made.tasks, "left_out": sum(made.faults.values()), "faults": made.faults},
        "pairs": {
            "train": len(made.train),
            "held_out": len(made.test),
            "by_negative": {
                kind: sum(pair.negative == kind for pair in (*made.train, *made.test)) for kind in NEGATIVES
            },
            "by_k": {
                str(k): sum(pair.k == k for pair in (*made.train, *made.test))
                for k in sorted({pair.k for pair in (*made.train, *made.test)})
            },
            "by_model": made.by_model,
        },
        "prompts": len(made.prompts),
    }


def _rest(budget: Budget | None, begun: Executor) -> Budget | None:
    """What is left of a budget for the next model."""
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


def _expected(executor: Executor, tasks: Iterable[Task], max_tokens: int) -> ExpectedCost:
    calls = kept = sent = 0
    version = ""
    for task in tasks:
        system, user, version = messages(task)
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
