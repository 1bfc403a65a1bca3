"""Judge the answers of an evaluation: correctness, assertions, pairs in both positions, and the judge itself."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations, islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, cast

import numpy as np

from hlgraph import progress
from hlgraph.answer.plan import Rehearsal
from hlgraph.errors import (
    BudgetError,
    InputError,
    ModelAccessError,
    ModelAnswerError,
    ModelUnavailableError,
    needs_extra,
)
from hlgraph.evaluate.judges.report import (
    CRITERIA,
    Calibration,
    Candidate,
    JudgedAnswers,
    JudgeOptions,
    JudgeReport,
    Label,
    PairwiseWins,
    Readings,
    agreements,
    calibration_of,
    check_candidates,
    load_labels,
    rounds,
    wins_of,
    wrote_itself,
)
from hlgraph.evaluate.statistics import Resamples, holm
from hlgraph.models import choose
from hlgraph.models.accounts.budget import Budget, ExpectedCost, Purse, price_of
from hlgraph.models.accounts.ledger import Purpose, Spent
from hlgraph.models.choose import executor_of
from hlgraph.models.executor import Executor, Request
from hlgraph.models.prompts import Prompt, delimited, prompts_of, read_prompt
from hlgraph.records import group_by
from hlgraph.settings import Settings

with needs_extra("chat", "a judge of answers"):
    from pydantic import create_model

    from hlgraph.extract.chat.messages import Messages, ReplyError, ReplyPart, Words, ask_twice

# Calls of a judge. A reply that cannot be read is requested once more.


STAGE = "judge"
"""The stage of these calls in the ledger."""
_PROMPTS = Path(__file__).with_name("prompts")
_Reply = TypeVar("_Reply", bound=ReplyPart)
Why = Literal["unreadable", "refused", "unavailable", "budget"]


class Missing(NamedTuple):
    """A missing verdict.

    Attributes
    ----------
    why : ``unreadable`` (two replies), ``refused`` by the provider or its filter, ``unavailable`` (no answer, a time-out, no
        access), or ``budget``: spent before this call
    reason : the error
    """

    why: Why
    reason: str


def prompt(name: str) -> Prompt:
    """The prompt with this name."""
    return read_prompt(_PROMPTS / f"{name}.md")


class Judge:
    """Asks a chat model for verdicts. Thread-safe.

    Parameters
    ----------
    executor : of the model, with its ledger (stage ``judge``), stored replies and the budget of the command
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._lock = threading.Lock()
        self._missing: list[Missing] = []

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""
        return self.executor.fingerprint

    def reasons(self) -> dict[str, tuple[int, str]]:
        """For each kind of missing verdict, the number so far and one of the errors."""
        with self._lock:
            missing = sorted(self._missing)
        return {
            why: (len(errors), errors[0])
            for why in dict.fromkeys(item.why for item in missing)
            if (errors := [item.reason for item in missing if item.why == why])
        }

    def ask(
        self,
        name: str,
        values: Mapping[str, str],
        *,
        form: type[_Reply],
        strategy: str = "",
        check: Callable[[_Reply], None] = lambda _: None,
    ) -> _Reply | Missing:
        """The parsed reply to a prompt, or Missing.

        Parameters
        ----------
        name : name of the prompt
        values : values of its placeholders
        form : schema of the reply
        strategy : whose answer is judged, for the ledger
        check : raises ReplyError for a well-formed reply that cannot be used; default: accept every one
        """
        chosen = prompt(name)
        messages = Messages(chosen.system, chosen.filled(values))
        purpose = Purpose(stage=STAGE, strategy=strategy, prompt=chosen.version)
        try:
            return ask_twice(self.executor, messages, form=form, purpose=purpose, check=check)
        except (ReplyError, ModelAnswerError, ModelUnavailableError, ModelAccessError, BudgetError) as error:
            missing = Missing(_why(error), str(error))
            with self._lock:
                self._missing.append(missing)
            return missing


def _why(error: Exception) -> Why:
    if isinstance(error, ReplyError):
        return "unreadable"
    if isinstance(error, BudgetError):
        return "budget"
    return "refused" if isinstance(error, ModelAnswerError) else "unavailable"


# Pairwise judgements by criterion. ToPG and HLG do not publish their prompts. Ours hides the strategies and is used in both
# positions, where HLG draws a random order.


_PLACES = {"1": 1.0, "2": 0.0, "tie": 0.5}


class _Winners(ReplyPart):
    """Which answer is better, by criterion."""

    reason: str = ""


def read_pair(
    judge: Judge, first: Candidate, *, second: Candidate, criteria: Sequence[str], reading: int = 1
) -> dict[str, float] | Missing:
    """The scores of the answer that is shown first, by criterion: 1, 0.5 or 0.

    Parameters
    ----------
    judge : makes the call
    first, second : two answers to one question; the judge is not told whose they are
    criteria : names
    reading : number of the reading in these positions; each is a call of its own
    """
    form = _form(tuple(criteria))
    shown: dict[str, str] = {"reason": "...", **dict.fromkeys(criteria, "1, 2 or tie")}
    values = {
        "criteria": "\n".join(f"- {name}: {CRITERIA[name]}" for name in criteria),
        "form": json.dumps(shown),
        "question": delimited("question", first.question),
        "first": delimited("answer", first.text),
        "second": delimited("answer", second.text),
        "reading": str(reading),
    }
    reply = judge.ask("pairwise", values, form=form)
    if isinstance(reply, Missing):
        return reply
    return {name: _PLACES[str(getattr(reply, name))] for name in criteria}


@cache
def _form(criteria: tuple[str, ...]) -> type[_Winners]:
    """The schema of the reply; a field for each criterion, so that a server with a grammar can offer no other."""
    fields = dict.fromkeys(criteria, (Literal["1", "2", "tie"], ...))
    return create_model("Winners", __base__=_Winners, __doc__=_Winners.__doc__, **fields)  # type: ignore[call-overload,no-any-return]


# Judges of single answers: correctness, and the share of assertions that an answer makes.
#
# References
# ----------
# Hierarchical Lexical Graph for Enhanced Multi-Hop Retrieval (HLG), section 6.5. *Correctness*: the answer holds, in any words,
# all necessary information of the gold answer; it has two values and no scale between them. *Answer recall*: the share of the
# facts of the gold answer that the answer holds; four of five steps are not correct, and 80 % of recall. The paper gives no
# prompts; these are our own. A fact is an assertion here.


_MOST = 50


class CorrectnessVerdict(ReplyPart):
    """Whether the answer is correct."""

    reason: str = ""
    verdict: Literal["correct", "incorrect"]


class Assertions(ReplyPart):
    """What an answer has to say."""

    assertions: list[Words]


class _Supported(ReplyPart):
    number: int
    is_supported: Literal["yes", "no"]


class SupportVerdicts(ReplyPart):
    """One verdict for each assertion."""

    verdicts: list[_Supported]


def judge_correctness(judge: Judge, item: Candidate) -> float | Missing:
    """1 for a correct answer, 0 for another one (HLG, section 6.5).

    Parameters
    ----------
    judge : makes the calls
    item : the answer
    """
    values = {**_asked(item), "answer": delimited("answer", item.text)}
    reply = judge.ask("correctness", values, form=CorrectnessVerdict, strategy=item.strategy)
    return reply if isinstance(reply, Missing) else float(reply.verdict == "correct")


def make_assertions(judge: Judge, item: Candidate) -> tuple[str, ...] | Missing:
    """What an answer has to say: the assertions of the question's author, or else those that the model finds in the gold.

    Parameters
    ----------
    judge : makes the calls
    item : any answer to the question
    """
    if item.assertions:
        return item.assertions
    reply = judge.ask("assertions", _asked(item), form=Assertions, check=_check_some)
    return reply if isinstance(reply, Missing) else tuple(dict.fromkeys(reply.assertions))


def judge_assertions(judge: Judge, item: Candidate, *, assertions: Sequence[str]) -> float | Missing:
    """The share of assertions that the answer makes (HLG, answer recall, section 6.5).

    Parameters
    ----------
    judge : makes the calls
    item : the answer
    assertions : at least one
    """
    count = len(assertions)

    def check(support: SupportVerdicts) -> None:
        numbers = sorted(verdict.number for verdict in support.verdicts)
        if numbers != list(range(1, count + 1)):
            raise ReplyError(
                f"there must be one verdict for each assertion from 1 to {count}; there are some for {numbers}"
            )

    listed = "\n".join(f"[{number}] {' '.join(text.split())}" for number, text in enumerate(assertions, 1))
    values = {
        "count": str(count),
        "question": delimited("question", item.question),
        "answer": delimited("answer", item.text),
        "assertions": delimited("assertions", listed),
    }
    reply = judge.ask("supported", values, form=SupportVerdicts, strategy=item.strategy, check=check)
    if isinstance(reply, Missing):
        return reply
    return sum(verdict.is_supported == "yes" for verdict in reply.verdicts) / count


def _asked(item: Candidate) -> dict[str, str]:
    golds = "\n".join(f"- {' '.join(gold.split())}" for gold in item.answers)
    return {"question": delimited("question", item.question), "golds": delimited("accepted", golds)}


def _check_some(reply: Assertions) -> None:
    if not 0 < len(reply.assertions) <= _MOST:
        raise ReplyError(f"there must be from 1 to {_MOST} assertions; there are {len(reply.assertions)}")


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Key = tuple[str, str]
_Reading = dict[str, float] | None


def judge_all(
    candidates: Sequence[Candidate], judge: Judge, *, options: JudgeOptions, labels: Sequence[Label] = ()
) -> JudgeReport:
    """Judge answers. A verdict that cannot be obtained is missing; it counts neither as wrong nor as a loss.

    A question without an answer counts as 0 in correctness and assertions, and is in no pair. When the budget is spent or the
    model cannot be reached, the remaining verdicts are missing; thanks to stored replies, the next run resumes there.

    Parameters
    ----------
    candidates : the answers, one for each strategy and question
    judge : makes the calls
    options : what is judged
    labels : labels of people on these answers

    Raises
    ------
    InputError
        There is nothing to judge: no answer, no gold for correctness or assertions, one strategy alone for pairs, or
        ``against`` answered nothing.
    """
    check_candidates(candidates)
    pairs_of = _pairs_of(candidates, options) if "pairwise" in options.judges else []
    purse, price = judge.executor.purse, judge.executor.accounts.price
    before = purse.calls, purse.input_tokens, purse.output_tokens, purse.usd
    answers: list[JudgedAnswers] = []
    assertions_of: dict[str, tuple[str, ...] | Missing] = {}
    correct: dict[_Key, float | Missing] = {}
    if "correctness" in options.judges:
        items = [item for item in candidates if item.answers]
        _check_golds(items, "correctness")
        correct = _verdicts(judge, items, "judge correctness", partial(judge_correctness, judge))
        answers += _judged("correctness", items, correct)
    if "assertions" in options.judges:
        items = [item for item in candidates if item.answers or item.assertions]
        _check_golds(items, "assertions")
        assertions_of = _assertions(judge, items)
        answers += _judged(
            "assertions",
            items,
            _verdicts(judge, items, "judge assertions", partial(_supported, judge, assertions_of=assertions_of)),
        )
    pairs, calibration = _judged_pairs(judge, pairs_of, candidates, options=options)
    known = {key: None if isinstance(value, Missing) else value for key, value in correct.items()}
    calls, sent, replied = purse.calls - before[0], purse.input_tokens - before[1], purse.output_tokens - before[2]
    usd = None if price is None else purse.usd - before[3]
    return JudgeReport(
        model=judge.fingerprint,
        options=options,
        answers=tuple(answers),
        pairs=pairs,
        calibration=calibration,
        agreement=agreements(labels, known, pairs=pairs) if labels else (),
        assertions={
            question: () if isinstance(assertions, Missing) else assertions
            for question, assertions in assertions_of.items()
        },
        reasons=judge.reasons(),
        writers=tuple(sorted({item.made_by for item in candidates if item.made_by})),
        spent=Spent(name="judge", calls=calls, input_tokens=sent, output_tokens=replied, usd=usd),
    )


def _check_golds(items: Sequence[Candidate], name: str) -> None:
    if not items:
        raise InputError(
            f"no answer has an accepted answer beside it, which the judge {name} needs; judge pairwise alone"
        )


def _run(judge: Judge, items: Sequence[_Item], *, step: str, action: Callable[[_Item], _Result]) -> list[_Result]:
    with progress.step(step, len(items), unit="calls"):
        return judge.executor.run(action, items, step=step)


def _verdicts(
    judge: Judge, items: Sequence[Candidate], step: str, action: Callable[[Candidate], float | Missing]
) -> dict[_Key, float | Missing]:
    """The verdict on each answer; an empty answer gets 0 without a call."""
    some = [item for item in items if item.text]
    values = _run(judge, some, step=step, action=action)
    asked = {(item.strategy, item.question_id): value for item, value in zip(some, values, strict=True)}
    return {key: asked.get(key, 0.0) for key in ((item.strategy, item.question_id) for item in items)}


def _judged(name: str, items: Sequence[Candidate], verdicts: Mapping[_Key, float | Missing]) -> list[JudgedAnswers]:
    """The verdicts of each strategy with their mean."""
    judged = []
    for strategy in dict.fromkeys(item.strategy for item in items):
        own = [item for item in items if item.strategy == strategy]
        values = [verdicts[strategy, item.question_id] for item in own]
        known = np.array([value for value in values if not isinstance(value, Missing)], dtype=np.float64)
        judged.append(
            JudgedAnswers(
                judge=name,
                strategy=strategy,
                question_ids=tuple(item.question_id for item in own),
                values=tuple(None if isinstance(value, Missing) else value for value in values),
                unanswered=sum(not item.text for item in own),
                missing=dict(sorted(Counter(value.why for value in values if isinstance(value, Missing)).items())),
                interval=Resamples(known[:, None]).interval(0) if len(known) else None,
            )
        )
    return judged


def _assertions(judge: Judge, items: Sequence[Candidate]) -> dict[str, tuple[str, ...] | Missing]:
    """The assertions of each question, derived once for all strategies."""
    firsts = {item.question_id: item for item in reversed([item for item in items if item.text])}
    assertions = _run(judge, list(firsts.values()), step="judge gold answers", action=partial(make_assertions, judge))
    return dict(zip(firsts, assertions, strict=True))


def _supported(
    judge: Judge, item: Candidate, *, assertions_of: Mapping[str, tuple[str, ...] | Missing]
) -> float | Missing:
    assertions = assertions_of[item.question_id]
    return assertions if isinstance(assertions, Missing) else judge_assertions(judge, item, assertions=assertions)


class _Task(NamedTuple):
    """One reading: the answer in the first place, the answer in the second, and the number of the reading."""

    first: Candidate
    second: Candidate
    reading: int


class _Pair(NamedTuple):
    """Two strategies, and the questions that both answered."""

    names: tuple[str, str]
    answers: list[tuple[Candidate, Candidate]]


def _pairs_of(candidates: Sequence[Candidate], options: JudgeOptions) -> list[_Pair]:
    answers: dict[str, dict[str, Candidate]] = {}
    for item in candidates:
        answers.setdefault(item.strategy, {})[item.question_id] = item
    names = list(answers)
    if len(names) < 2:
        raise InputError(
            f"{names[0]} alone answered, and pairs need two strategies; name two or more, or leave out pairwise"
        )
    if options.against and options.against not in answers:
        raise InputError(f"against is {options.against!r}, which answered nothing; choose of: {', '.join(names)}")
    chosen = (
        [(name, options.against) for name in names if name != options.against]
        if options.against
        else list(combinations(names, 2))
    )
    pairs = []
    for a, b in chosen:
        shared = [(own, answers[b][key]) for key, own in answers[a].items() if key in answers[b]]
        both = [(own, other) for own, other in shared if own.text and other.text]
        if both:
            pairs.append(_Pair((a, b), both))
    if not pairs:
        raise InputError("no question was answered by two strategies, so there is no pair; answer the same questions")
    return pairs


def _judged_pairs(
    judge: Judge, pairs: Sequence[_Pair], candidates: Sequence[Candidate], *, options: JudgeOptions
) -> tuple[tuple[PairwiseWins, ...], tuple[Calibration, ...]]:
    """The wins of all pairs by all criteria, and the calibration of the judge."""
    if not pairs:
        return (), ()
    numbers = range(1, options.trials // 2 + 1)
    same = _same(candidates, options.calibration)
    tasks = [_Task(item, item, 1) for item in same]
    for pair in pairs:
        for a, b in pair.answers:
            tasks += [_Task(a, b, number) for number in numbers]
            tasks += [_Task(b, a, number) for number in numbers]

    def read(task: _Task) -> _Reading:
        scores = read_pair(judge, task.first, second=task.second, criteria=options.criteria, reading=task.reading)
        return None if isinstance(scores, Missing) else scores

    replies = _run(judge, tasks, step="judge pairs", action=read)
    ours, rest = replies[: len(same)], iter(replies[len(same) :])
    readings: dict[tuple[str, str], list[Readings]] = {
        pair.names: [tuple(islice(rest, options.trials)) for _ in pair.answers] for pair in pairs
    }
    wins = [won for name in options.criteria for won in _wins(pairs, readings, name)]
    return tuple(wins), tuple(_calibrations(pairs, ours, readings=readings, options=options))


def _wins(
    pairs: Sequence[_Pair], readings: Mapping[tuple[str, str], list[Readings]], criterion: str
) -> list[PairwiseWins]:
    """The wins of all pairs by one criterion, with p values corrected by Holm."""
    wins = [
        wins_of(
            pair.names, [own.question_id for own, _ in pair.answers], readings=readings[pair.names], criterion=criterion
        )
        for pair in pairs
    ]
    tested = [item for item in wins if item.p is not None]
    corrected = dict(zip((id(item) for item in tested), holm([item.p or 0.0 for item in tested]), strict=True))
    return [replace(item, p=corrected.get(id(item))) for item in wins]


def _calibrations(
    pairs: Sequence[_Pair],
    same: Sequence[_Reading],
    *,
    readings: Mapping[tuple[str, str], list[Readings]],
    options: JudgeOptions,
) -> list[Calibration]:
    calibrations = []
    for criterion in options.criteria:
        first: dict[str, list[float]] = {}
        for pair in pairs:
            for (own, _), each in zip(pair.answers, readings[pair.names], strict=True):
                first.setdefault(own.question_id, []).extend(score for _, score in rounds(each, criterion))
        calibrations.append(
            calibration_of(
                criterion,
                same=[item[criterion] for item in same if item is not None],
                first=[sum(scores) / len(scores) for scores in first.values() if scores],
            )
        )
    return calibrations


def _same(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """One answer for each of up to ``most`` questions, evenly spread, taken from the strategies in turn."""
    groups = list(group_by((item for item in candidates if item.text), lambda item: item.question_id).values())
    count = min(most, len(groups))
    places = [at * len(groups) // count for at in range(count)]
    return [groups[place][number % len(groups[place])] for number, place in enumerate(places)]


# Cost of judging, by a dry run.


# Guesses: words of a reason, assertions of a gold answer. The ledger replaces the lengths after ten calls.
_WORDS, _ASSERTIONS = 16, 2
_COUNT = re.compile(r"\AThere are (\d+) assertions")


class _JudgeRehearsal(Rehearsal):
    """Makes up verdicts in place of answers."""

    def made_up(self, request: Request, *, length: int | None) -> str:
        """A verdict in the form of the prompt, as long as in the ledger, or of a guessed length."""
        name, words = request.purpose.prompt.partition("/")[0], "word " * (length or _WORDS)
        if name == "judge_assertions":
            tree: dict[str, object] = {"assertions": [f"{words}{number}" for number in range(_ASSERTIONS)]}
        elif name == "judge_supported":
            match = _COUNT.match(request.user)
            count = int(match[1]) if match else 1
            tree = {"verdicts": [{"number": number, "is_supported": "yes"} for number in range(1, count + 1)]}
        elif name == "judge_pairwise":
            form = cast("Mapping[str, Mapping[str, object]]", request.form)
            tree = {**dict.fromkeys(form["properties"], "tie"), "reason": words}
        else:
            tree = {"reason": words, "verdict": "correct"}
        return json.dumps(tree)


def plan_judges(candidates: Sequence[Candidate], executor: Executor, *, options: JudgeOptions) -> ExpectedCost:
    """The expected cost of judging, without calling a model.

    The number of calls is exact, except for gold answers without stored assertions, for which two assertions are assumed. Repair
    calls are not included.

    Parameters
    ----------
    candidates : the answers
    executor : of the judge, with its ledger and stored replies
    options : what is judged

    Raises
    ------
    InputError
        As :func:`hlgraph.evaluate.judges.judging.judge_all`.
    """
    rehearsal = _JudgeRehearsal(executor)
    judge_all(candidates, Judge(rehearsal), options=options)
    return rehearsal.expected()


# Judging by the model of the settings.


_LOG = logging.getLogger(__name__)


def check_judge(settings: Settings, model: str = "", *, budget: Budget | None = None) -> None:
    """Check that a judge is named, and that its price is known if the budget is in dollars.

    Parameters
    ----------
    settings : all settings
    model : see :class:`hlgraph.evaluate.judges.report.JudgeOptions`
    budget : what it may spend

    Raises
    ------
    InputError
        No model is named, or its price is not known.
    """
    name, _ = _judge_of(settings, model)
    Purse(budget, price=price_of(name, settings.models.prices), model=name)


def judge_answers(
    candidates: Sequence[Candidate],
    options: JudgeOptions,
    *,
    settings: Settings,
    labels: str | Path | None = None,
    budget: Budget | None = None,
    before: Spent | None = None,
) -> JudgeReport:
    """The verdicts of the named model on answers; logs a warning if it wrote them itself.

    Parameters
    ----------
    candidates : the answers
    options : what is judged
    settings : all settings; the calls are entered in the ledger for their corpus
    labels : file of labels of people
    budget : what may be spent; None: no limit
    before : what was spent on the answers, which counts towards the budget

    Raises
    ------
    InputError
        No model is named, or what :func:`judge_all` raises.
    """
    people = load_labels(labels, candidates) if labels else []
    name, judge_settings = _judge_of(settings, options.model)
    executor = executor_of(choose.chosen_chat(name, judge_settings.models), judge_settings, corpus=settings.corpus)
    try:
        if wrote_itself(executor.fingerprint, sorted({item.made_by for item in candidates})):
            _LOG.warning(
                "%s judges answers that it wrote; models prefer what they write: name another model with --judge-model",
                executor.fingerprint,
            )
        calls = executor.begin(budget)
        if before is not None:
            calls.purse.carry(before.calls, before.input_tokens, output_tokens=before.output_tokens)
        with prompts_of(settings.models.prompts):
            return judge_all(candidates, Judge(calls), options=options, labels=people)
    finally:
        executor.close()


def planned(candidates: Sequence[Candidate], options: JudgeOptions, *, settings: Settings) -> ExpectedCost:
    """What :func:`judge_answers` would cost; no model is called, so no API key is needed.

    Parameters
    ----------
    candidates : the answers
    options : what is judged
    settings : all settings
    """
    from hlgraph.sdk.batches import planning_executor

    with planning_executor(*_judge_of(settings, options.model)) as executor, prompts_of(settings.models.prompts):
        return plan_judges(candidates, executor, options=options)


def _judge_of(settings: Settings, model: str) -> tuple[str, Settings]:
    """The name of the judge, and the settings with its server in place of that of the chat model."""
    models = settings.models
    name = model or models.judge or models.chat
    if not name:
        raise InputError(
            "a judge is a chat model, and none is named; give model='openai:gpt-4o' or another one, or set models.judge or "
            "HLGRAPH_JUDGE"
        )
    url = models.judge_url or (models.chat_url if name == models.chat else "")
    return name, replace(settings, models=replace(models, chat_url=url))
