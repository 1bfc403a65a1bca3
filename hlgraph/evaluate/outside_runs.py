"""Rankings of other systems, read from TREC run files, as strategies of an evaluation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.evaluate.datasets import read_passages
from hlgraph.evaluate.metrics.trec import read_run
from hlgraph.evaluate.runner import EvalReport, Figures, Outcome, StrategyResult, result_of

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Dataset

_MOST_IDS = 3
_UNKNOWN_COST = Figures(None, None, None, None, None, None, 0)


def named_files(given: Sequence[str], *, strategies: Collection[str]) -> dict[str, str]:
    """The files of runs by name, from texts such as ``colbert=run.trec``.

    Parameters
    ----------
    given : the texts
    strategies : names that are taken

    Raises
    ------
    InputError
        A text has another form, or a name is taken.
    """
    found: dict[str, str] = {}
    for text in given:
        name, _, path = (part.strip() for part in text.partition("="))
        if not name or not path:
            raise InputError(f"--run {text!r} names no system and file; give NAME=FILE, such as colbert=run.trec")
        if name in found or name in strategies:
            raise InputError(f"--run {text!r}: the name {name!r} is taken; give the run another one")
        found[name] = path
    return found


def read_runs(files: Mapping[str, str], dataset: Dataset, *, k: int) -> dict[str, StrategyResult]:
    """The first k passages of every question in every run; a question that a run lacks found nothing.

    Nothing is known of the time and cost of these systems.

    Parameters
    ----------
    files : TREC run files by name of the system
    dataset : the questions and passages
    k : number of passages

    Raises
    ------
    ReadError
        A file cannot be read, or a line has another form.
    InputError
        A run is one of another set: it ranks passages that the corpus does not have, or has none of the questions.
    """
    passages = {passage.id for passage in read_passages(dataset.passages_path)} if files else set()
    return {name: _result(path, dataset, passages=passages, k=k) for name, path in files.items()}


def with_runs(report: EvalReport, runs: Mapping[str, StrategyResult]) -> EvalReport:
    """The report with the runs of other systems behind its strategies.

    Parameters
    ----------
    report : the evaluation
    runs : results by name, see :func:`read_runs`
    """
    return replace(report, strategies={**report.strategies, **runs})


def lacking(dataset: Dataset, runs: Mapping[str, StrategyResult]) -> list[str]:
    """A line for every run that lacks questions.

    Parameters
    ----------
    dataset : the questions
    runs : results by name
    """
    counts = {name: sum(not outcome.ids for outcome in result.outcomes) for name, result in runs.items()}
    return [
        f"the run {name} has no passage for {count} of {len(dataset.questions)} questions; they count as nothing found"
        for name, count in counts.items()
        if count
    ]


def _result(path: str, dataset: Dataset, *, passages: Collection[str], k: int) -> StrategyResult:
    ranked = read_run(path)
    asked = [question.id for question in dataset.questions]
    if not ranked.keys() & set(asked):
        raise InputError(
            f"{path}: it ranks passages for {_named(list(ranked))}, and for no question of {dataset.name} ({_named(asked)}); give "
            "a run of these questions"
        )
    strange = [key for question in asked for key in ranked.get(question, ()) if key not in passages]
    if strange:
        raise InputError(
            f"{path}: it ranks {_named(list(dict.fromkeys(strange)))}, which {dataset.passages_path} does not have; give a run "
            "over this corpus"
        )
    found = result_of(
        dataset.questions, [Outcome(question, ranked.get(question, ())[:k], 0.0, 0) for question in asked]
    )
    return replace(found, figures=_UNKNOWN_COST)


def _named(ids: Sequence[str]) -> str:
    return (", ".join(ids[:_MOST_IDS]) or "nothing") + (", ..." if len(ids) > _MOST_IDS else "")
