"""Saves evaluation runs to files and loads them: questions, configuration and every outcome, for later comparison."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import msgspec

from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.runner import EvalReport, Outcome, result_of
from hlgraph.evaluate.statistics import Section
from hlgraph.records import Scalar

_FORMAT = 1
_MOST_IDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The configuration of a run. Runs with different configurations can be compared; the differences are reported.

    Attributes
    ----------
    version : version of hlgraph
    preset : name of the parameters
    extraction : where the statements came from
    store : kind of store, without its address
    embedder, reranker : fingerprints of the models
    k : number of passages retrieved
    parameters : parameters of the retriever, by strategy
    chat : the chat model that answered, empty for none
    """

    version: str
    preset: str
    extraction: str
    store: str
    embedder: str
    reranker: str
    k: int
    parameters: Mapping[str, Mapping[str, Scalar | None]] = field(default_factory=dict)
    chat: str = ""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question without its text; ``answers`` are its gold answers."""

    id: str
    gold: tuple[str, ...]
    type: str = ""
    hops: int = 0
    subset: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The content of a run file.

    Attributes
    ----------
    dataset : name of the evaluation set
    corpus, asked : fingerprints of the passages and of the questions
    setting : the configuration
    questions : the questions without their texts
    outcomes : by strategy, one per question in their order
    sections : measures of answers, judgements and claims, by question
    format : version of the file format
    """

    dataset: str
    corpus: str
    asked: str
    setting: Setting
    questions: tuple[AskedQuestion, ...]
    outcomes: Mapping[str, tuple[Outcome, ...]]
    sections: tuple[Section, ...] = ()
    format: int = _FORMAT

    def report(self) -> EvalReport:
        """The measures of the run, computed from its outcomes; the texts of the questions are empty."""
        questions = tuple(
            Question(item.id, "", frozenset(item.gold), item.type, item.hops, item.answers, item.subset)
            for item in self.questions
        )
        strategies = {name: result_of(questions, outcomes) for name, outcomes in self.outcomes.items()}
        return EvalReport(self.dataset, questions, strategies)


def run_of(report: EvalReport, setting: Setting, *, corpus: str, asked: str, sections: Sequence[Section] = ()) -> Run:
    """The run of a report, ready to be saved.

    Parameters
    ----------
    report : the evaluation
    setting : its configuration
    corpus : fingerprint of the passages
    asked : fingerprint of the questions
    sections : measures beside retrieval
    """
    return Run(
        dataset=report.dataset,
        corpus=corpus,
        asked=asked,
        setting=setting,
        questions=tuple(
            AskedQuestion(item.id, tuple(sorted(item.gold)), item.type, item.hops, item.subset, item.answers)
            for item in report.questions
        ),
        outcomes={name: result.outcomes for name, result in report.strategies.items()},
        sections=tuple(sections),
    )


def save(run: Run, path: str | Path) -> None:
    """Write a run to a JSON file, atomically.

    Parameters
    ----------
    run : the run
    path : the file; an existing one is replaced

    Raises
    ------
    InputError
        The file cannot be written.
    """
    place = Path(path)
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        part.write_bytes(msgspec.json.encode(run))
        part.replace(place)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"{place}: the run cannot be saved: {error.strerror}; give a file in an existing folder"
        ) from error


def load_run(path: str | Path) -> Run:
    """The run in a file that :func:`save` wrote.

    Raises
    ------
    ReadError
        The file cannot be read, is not a run, has another format, or holds outcomes that do not match its questions.
    """
    mend = "give a file that hlgraph eval --save wrote"
    try:
        run = msgspec.json.decode(Path(path).read_bytes(), type=Run)
    except OSError as error:
        raise ReadError(str(path), f"it cannot be read: {error.strerror}", mend) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError(str(path), f"it is not a saved run: {error}", mend) from error
    if run.format != _FORMAT:
        raise ReadError(
            str(path),
            f"it has format {run.format}, but this version of hlgraph reads format {_FORMAT}",
            "run the evaluation again",
        )
    ids = [question.id for question in run.questions]
    for name, outcomes in run.outcomes.items():
        if [outcome.question_id for outcome in outcomes] != ids or not ids:
            raise ReadError(str(path), f"the outcomes of {name} do not match its questions", mend)
    for section in run.sections:
        if not set(section.questions) <= set(ids):
            raise ReadError(str(path), f"the part {section.title!r} is about other questions", mend)
    if not all(question.gold for question in run.questions):
        raise ReadError(str(path), "a question has no gold passages", mend)
    return run


def check_comparable(run: Run, earlier: Run) -> None:
    """Check that two runs have the same corpus and questions, so that a difference is one of the strategies.

    Parameters
    ----------
    run : the run now
    earlier : the run before

    Raises
    ------
    InputError
        The corpus, the questions, or gold answers that were used differ; the message says how.
    """
    if run.corpus != earlier.corpus:
        raise InputError(
            f"the earlier run used another corpus ({earlier.dataset}, {earlier.corpus[:8]}; now {run.dataset}, "
            f"{run.corpus[:8]}); compare runs over the same passages"
        )
    if run.asked == earlier.asked:
        _check_answers(run, earlier)
        return
    now, before = ({item.id for item in each.questions} for each in (run, earlier))
    other = sorted(now ^ before)
    how = (
        f"{len(other)} of them are in only one run: {_named(other)}"
        if other
        else "the same ids with other texts or gold"
    )
    raise InputError(
        f"the earlier run asked {len(before)} questions and this one {len(now)}, {how}; "
        "compare runs with the same --questions, --limit and --subset"
    )


def _check_answers(run: Run, earlier: Run) -> None:
    """Refuse an earlier run whose answers were measured against other gold answers."""
    if not earlier.sections:
        return
    golds = {item.id: item.answers for item in earlier.questions}
    other = sorted(item.id for item in run.questions if set(item.answers) != set(golds[item.id]))
    if other:
        raise InputError(
            f"the earlier run measured {len(other)} answers against other gold answers: {_named(other)}; compare runs with the "
            "same gold answers"
        )


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_MOST_IDS]) + (", ..." if len(ids) > _MOST_IDS else "")


def changed(setting: Setting, earlier: Setting) -> list[str]:
    """The differences between two configurations, one line each: name, value before, value now.

    Parameters
    ----------
    setting : the configuration now
    earlier : the configuration before

    Examples
    --------
    >>> one = Setting(version="1", preset="paper", extraction="local", store="hlgraph", embedder="e", reranker="r", k=20)
    >>> changed(one, one)
    []
    """
    lines = [
        f"{item.name}: {getattr(earlier, item.name)} before, {getattr(setting, item.name)} now"
        for item in fields(Setting)
        if item.name != "parameters" and getattr(setting, item.name) != getattr(earlier, item.name)
    ]
    for name in sorted(set(setting.parameters) & set(earlier.parameters)):
        before, now = earlier.parameters[name], setting.parameters[name]
        lines.extend(
            f"{name}.{key}: {before.get(key)} before, {now.get(key)} now"
            for key in sorted(set(before) | set(now))
            if before.get(key) != now.get(key)
        )
    return lines
