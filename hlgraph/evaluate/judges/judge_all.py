"""Judges the answers of an evaluation: correctness, assertions, pairs in both positions, and the judge itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np

from hlgraph import progress
from hlgraph.errors import InputError, MissingExtraError

try:
    import pydantic  # noqa: F401 - imported here, so that its absence gives one clear error
except ImportError as error:
    raise MissingExtraError("chat", "a judge of answers") from error

from hlgraph.evaluate.bootstrap import Resamples
from hlgraph.evaluate.judges.answer_rows import Candidate, check_candidates
from hlgraph.evaluate.judges.fairness import Calibration, calibration_of
from hlgraph.evaluate.judges.judge_report import JudgedAnswers, JudgeOptions, JudgeReport
from hlgraph.evaluate.judges.labels import Label, agreements
from hlgraph.evaluate.judges.pairwise import read_pair
from hlgraph.evaluate.judges.singles import judge_assertions, judge_correctness, make_assertions
from hlgraph.evaluate.judges.verdict_calls import Judge, Missing
from hlgraph.evaluate.judges.wins import PairwiseWins, Readings, rounds, wins_of
from hlgraph.evaluate.metrics.significance import holm
from hlgraph.models.accounts.ledger import Spent

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Key = tuple[str, str]
_Reading = dict[str, float] | None


def judge_all(
    candidates: Sequence[Candidate], judge: Judge, *, options: JudgeOptions, labels: Sequence[Label] = ()
) -> JudgeReport:
    """Judge answers; a verdict that cannot be had is missing, and neither wrong nor a loss.

    A question without an answer counts as 0 in correctness and assertions, and is in no pair. When the budget ends, or the
    model cannot be reached, the verdicts that remain are missing; stored replies make the next run continue.

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
    made: dict[str, tuple[str, ...] | Missing] = {}
    correct: dict[_Key, float | Missing] = {}
    if "correctness" in options.judges:
        items = [item for item in candidates if item.golds]
        _check_golds(items, "correctness")
        correct = _verdicts(judge, items, "judge correctness", partial(judge_correctness, judge))
        answers += _judged("correctness", items, correct)
    if "assertions" in options.judges:
        items = [item for item in candidates if item.golds or item.assertions]
        _check_golds(items, "assertions")
        made = _assertions(judge, items)
        answers += _judged(
            "assertions", items, _verdicts(judge, items, "judge assertions", partial(_supported, judge, made=made))
        )
    pairs, calibration = _judged_pairs(judge, pairs_of, candidates, options=options)
    calls, sent, replied = purse.calls - before[0], purse.input_tokens - before[1], purse.output_tokens - before[2]
    usd = None if price is None else purse.usd - before[3]
    return JudgeReport(
        model=judge.fingerprint,
        options=options,
        answers=tuple(answers),
        pairs=pairs,
        calibration=calibration,
        agreement=agreements(labels, _known(correct), pairs=pairs) if labels else (),
        assertions={question: () if isinstance(found, Missing) else found for question, found in made.items()},
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


def _known(found: Mapping[_Key, float | Missing]) -> dict[_Key, float | None]:
    return {key: None if isinstance(value, Missing) else value for key, value in found.items()}


def _verdicts(
    judge: Judge, items: Sequence[Candidate], step: str, action: Callable[[Candidate], float | Missing]
) -> dict[_Key, float | Missing]:
    """The verdict on each answer; 0 where there is none, without a call."""
    some = [item for item in items if item.text]
    found = _run(judge, some, step=step, action=action)
    asked = {(item.strategy, item.question_id): value for item, value in zip(some, found, strict=True)}
    return {key: asked.get(key, 0.0) for key in ((item.strategy, item.question_id) for item in items)}


def _judged(name: str, items: Sequence[Candidate], found: Mapping[_Key, float | Missing]) -> list[JudgedAnswers]:
    """The verdicts of each strategy with their mean."""
    judged = []
    for strategy in dict.fromkeys(item.strategy for item in items):
        own = [item for item in items if item.strategy == strategy]
        values = [found[strategy, item.question_id] for item in own]
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
    """What an answer to each question has to say; made once, however many strategies answered it."""
    firsts = {item.question_id: item for item in reversed([item for item in items if item.text])}
    found = _run(judge, list(firsts.values()), step="judge gold answers", action=partial(make_assertions, judge))
    return dict(zip(firsts, found, strict=True))


def _supported(judge: Judge, item: Candidate, *, made: Mapping[str, tuple[str, ...] | Missing]) -> float | Missing:
    found = made[item.question_id]
    return found if isinstance(found, Missing) else judge_assertions(judge, item, assertions=found)


class _Task(NamedTuple):
    """One reading: the answer in the first place, the one in the second, and which reading of these places it is."""

    first: Candidate
    second: Candidate
    reading: int


class _Pair(NamedTuple):
    """Two strategies, and the questions that both answered."""

    names: tuple[str, str]
    answers: list[tuple[Candidate, Candidate]]


def _pairs_of(candidates: Sequence[Candidate], options: JudgeOptions) -> list[_Pair]:
    held: dict[str, dict[str, Candidate]] = {}
    for item in candidates:
        held.setdefault(item.strategy, {})[item.question_id] = item
    names = list(held)
    if len(names) < 2:
        raise InputError(
            f"{names[0]} alone answered, and pairs need two strategies; name two or more, or leave out pairwise"
        )
    if options.against and options.against not in held:
        raise InputError(f"against is {options.against!r}, which answered nothing; choose of: {', '.join(names)}")
    chosen = (
        [(name, options.against) for name in names if name != options.against]
        if options.against
        else list(combinations(names, 2))
    )
    found = []
    for a, b in chosen:
        shared = [(own, held[b][key]) for key, own in held[a].items() if key in held[b]]
        both = [(own, other) for own, other in shared if own.text and other.text]
        if both:
            found.append(_Pair((a, b), both))
    if not found:
        raise InputError("no question was answered by two strategies, so there is no pair; answer the same questions")
    return found


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
        found = read_pair(judge, task.first, second=task.second, criteria=options.criteria, reading=task.reading)
        return None if isinstance(found, Missing) else found

    found = _run(judge, tasks, step="judge pairs", action=read)
    ours, rest = found[: len(same)], found[len(same) :]
    readings: dict[tuple[str, str], list[Readings]] = {}
    at = 0
    for pair in pairs:
        readings[pair.names] = []
        for _ in pair.answers:
            readings[pair.names].append(tuple(rest[at : at + options.trials]))
            at += options.trials
    wins = [won for name in options.criteria for won in _wins(pairs, readings, name)]
    return tuple(wins), tuple(_calibrations(pairs, ours, readings=readings, options=options))


def _wins(
    pairs: Sequence[_Pair], readings: Mapping[tuple[str, str], list[Readings]], criterion: str
) -> list[PairwiseWins]:
    """The wins of all pairs by one criterion, their p corrected by Holm."""
    found = [
        wins_of(
            pair.names,
            [own.question_id for own, _ in pair.answers],
            readings=readings[pair.names],
            criterion=criterion,
        )
        for pair in pairs
    ]
    tested = [item for item in found if item.p is not None]
    corrected = dict(zip((id(item) for item in tested), holm([item.p or 0.0 for item in tested]), strict=True))
    return [replace(item, p=corrected.get(id(item))) for item in found]


def _calibrations(
    pairs: Sequence[_Pair],
    same: Sequence[_Reading],
    *,
    readings: Mapping[tuple[str, str], list[Readings]],
    options: JudgeOptions,
) -> list[Calibration]:
    found = []
    for criterion in options.criteria:
        first: dict[str, list[float]] = {}
        for pair in pairs:
            for (own, _), each in zip(pair.answers, readings[pair.names], strict=True):
                first.setdefault(own.question_id, []).extend(score for _, score in rounds(each, criterion))
        found.append(
            calibration_of(
                criterion,
                same=[item[criterion] for item in same if item is not None],
                first=[sum(scores) / len(scores) for scores in first.values() if scores],
            )
        )
    return found


def _same(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """One answer of each of up to ``most`` questions, of the strategies in turn, spread over the questions."""
    held: dict[str, list[Candidate]] = {}
    for item in candidates:
        if item.text:
            held.setdefault(item.question_id, []).append(item)
    groups = list(held.values())
    count = min(most, len(groups))
    places = [at * len(groups) // count for at in range(count)]
    return [groups[place][number % len(groups[place])] for number, place in enumerate(places)]
