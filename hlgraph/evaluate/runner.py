"""Asks every question of a set with every strategy, and measures the outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hlgraph import progress
from hlgraph.errors import HLGraphError, InputError, UnknownNameError
from hlgraph.evaluate.counting import Cost
from hlgraph.evaluate.datasets import Dataset, Question, read_passages
from hlgraph.evaluate.metrics.retrieval import Scores, grouped, score
from hlgraph.evaluate.metrics.trec import read_run
from hlgraph.records import Document, Scalar
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.strategies.chunk import ChunkRetriever

if TYPE_CHECKING:
    from hlgraph.ingest.report import Report
    from hlgraph.retrieve.request import Mode
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph


WARMING = 3
"""Number of questions asked before timing starts, since stores load data during the first few."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result of a search.

    Attributes
    ----------
    ids : passage ids, best first
    round_trips : round trips to the stores
    """

    ids: tuple[str, ...]
    round_trips: int


Search = Callable[[str], Ranked]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one question with one strategy.

    Attributes
    ----------
    question_id : the question
    ids : passage ids found, best first
    milliseconds : wall-clock time of the call
    round_trips : round trips to the stores
    rows, bytes : read from the stores, see :class:`hlgraph.evaluate.counting.Cost`; 0 if not counted
    error : why the search failed, else empty. A failed question finds nothing, so its recall is 0
    cpu_milliseconds : CPU time of this process on all cores, without that of servers; other load on the machine hardly
        changes it
    """

    question_id: str
    ids: tuple[str, ...]
    milliseconds: float
    round_trips: int
    rows: int = 0
    bytes: int = 0
    error: str = ""
    cpu_milliseconds: float = 0.0


class Figures(NamedTuple):
    """The cost of a strategy per question; None if no question was answered.

    Attributes
    ----------
    p50_ms, p95_ms, p99_ms : percentiles of the wall-clock time, interpolated linearly
    round_trips, rows, bytes : means over the questions that were answered
    failed : number of questions that failed; the other figures exclude them
    cpu_ms : median CPU time of this process
    """

    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    round_trips: float | None
    rows: float | None
    bytes: float | None
    failed: int
    cpu_ms: float | None = None


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """The outcomes of one strategy and their measures.

    Attributes
    ----------
    outcomes : one per question, in the order of the questions, for paired tests
    scores : measures over all questions; a failed question counts as nothing found
    by_hops, by_type, by_subset : measures by group; the key is 0 or "" where the set does not tell
    figures : latency and data read
    """

    outcomes: tuple[Outcome, ...]
    scores: Scores
    by_hops: Mapping[int, Scores]
    by_type: Mapping[str, Scores]
    by_subset: Mapping[str, Scores]
    figures: Figures

    @property
    def errors(self) -> dict[str, int]:
        """Error messages with their counts."""
        failed = grouped((item.error for item in self.outcomes if item.error), str)
        return {error: len(items) for error, items in failed.items()}


@dataclass(frozen=True, slots=True)
class EvalReport:
    """The results of an evaluation, by strategy."""

    dataset: str
    questions: tuple[Question, ...]
    strategies: Mapping[str, StrategyResult]

    @property
    def failed(self) -> int:
        """The number of failed questions over all strategies."""
        return sum(result.figures.failed for result in self.strategies.values())


def evaluate(
    dataset: Dataset, search: Mapping[str, Search], *, cost: Callable[[], Cost] = lambda: Cost(0, 0, 0)
) -> EvalReport:
    """The outcomes of all questions with all strategies, asked one after another.

    Each strategy first asks three questions untimed, so that one-time loading in the stores is not measured. A cache
    filled by one strategy is still there for the next: to compare times, give searches that share no cache. If a search
    fails, the error is kept with its question and the evaluation continues; that includes bugs in a strategy, such as a
    ``ValueError``, so that one strategy cannot spoil the results of the others.

    Parameters
    ----------
    dataset : the questions and their gold; a search sees only the text of a question
    search : searches by name of strategy; each should return at least 20 ids, since fewer lower recall@20
    cost : returns the cost since its last call, called when the clock of a question has stopped; default none

    Raises
    ------
    InputError
        There is no strategy or no question.
    """
    if not search:
        raise InputError("no strategy to evaluate; name at least one")
    if not dataset.questions:
        raise InputError(f"no question in {dataset.name} to evaluate; give at least one")
    strategies: dict[str, StrategyResult] = {}
    for name, ask in search.items():
        outcomes: list[Outcome] = []
        for question in dataset.questions[:WARMING]:
            timed(question, ask, cost=cost)
        with progress.step(f"ask {name}", len(dataset.questions), unit="questions"):
            for question in dataset.questions:
                outcomes.append(timed(question, ask, cost=cost))
                progress.advance(f"ask {name}")
        strategies[name] = result_of(dataset.questions, outcomes)
    return EvalReport(dataset.name, dataset.questions, strategies)


def timed(question: Question, search: Search, *, cost: Callable[[], Cost]) -> Outcome:
    """The outcome of one question with one search: ids or error, time, and data read.

    Parameters
    ----------
    question : the question
    search : the search
    cost : returns the cost since its last call
    """
    error = ""
    ranked = Ranked((), 0)
    cost()  # discards what was read before
    start, cpu_start = time.perf_counter(), time.process_time()
    try:
        ranked = search(question.text)
    except (HLGraphError, ArithmeticError, LookupError, TypeError, ValueError) as failure:
        error = f"{type(failure).__name__}: {failure}"
    milliseconds, cpu = 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu_start)
    read = cost()
    return Outcome(
        question.id,
        ranked.ids,
        milliseconds,
        ranked.round_trips,
        rows=read.rows,
        bytes=read.bytes,
        error=error,
        cpu_milliseconds=cpu,
    )


def result_of(questions: Sequence[Question], outcomes: Sequence[Outcome]) -> StrategyResult:
    """The measures of the outcomes of one strategy.

    Parameters
    ----------
    questions : the questions
    outcomes : one per question, in the same order
    """
    pairs = list(zip(questions, outcomes, strict=True))

    def scores(group: Sequence[tuple[Question, Outcome]]) -> Scores:
        return score([(outcome.ids, question.gold) for question, outcome in group])

    return StrategyResult(
        tuple(outcomes),
        scores(pairs),
        by_hops={hops: scores(group) for hops, group in sorted(grouped(pairs, lambda pair: pair[0].hops).items())},
        by_type={kind: scores(group) for kind, group in sorted(grouped(pairs, lambda pair: pair[0].type).items())},
        by_subset={part: scores(group) for part, group in sorted(grouped(pairs, lambda pair: pair[0].subset).items())},
        figures=figures_of(outcomes),
    )


def figures_of(outcomes: Sequence[Outcome]) -> Figures:
    """Percentiles and means over the questions that were answered."""
    answered = [outcome for outcome in outcomes if not outcome.error]
    failed = len(outcomes) - len(answered)
    if not answered:
        return Figures(None, None, None, None, None, None, failed)
    times = [outcome.milliseconds for outcome in answered]
    p50, p95, p99 = map(float, np.quantile(times, (0.5, 0.95, 0.99)))
    reads = [(outcome.round_trips, outcome.rows, outcome.bytes) for outcome in answered]
    round_trips, rows, read_bytes = map(float, np.mean(reads, axis=0))
    cpu = float(np.median([outcome.cpu_milliseconds for outcome in answered]))
    return Figures(p50, p95, p99, round_trips, rows, read_bytes, failed, cpu)


# Turns strategy names into retrievers, and retrievers into searches over an open corpus.


PREFIX = "passage:"
"""Prefix of the URI of a passage's source; the passage id follows."""
ALL = "all"
BASELINES: Mapping[str, Mode] = {"bm25": "text", "dense": "vector", "rrf": "hybrid"}
"""Plain searches over chunks that every table has beside the strategies: BM25, dense vectors, and their rank fusion."""


def chosen(names: str, preset: str) -> dict[str, Retriever]:
    """The retrievers of the named strategies, with the parameters of a preset.

    Parameters
    ----------
    names : names of strategies and of ``BASELINES`` separated by commas, or ``all``: every strategy that runs without a chat
        model, that is, whose retriever does not list ``"chat"`` in ``needs``
    preset : name of the parameters; see :mod:`hlgraph.retrieve.strategies`

    Returns
    -------
    dict[str, Retriever]
        Retrievers by strategy name, sorted for ``all``, else in the order given.

    Raises
    ------
    UnknownNameError
        No strategy is named, or a strategy or the preset does not exist.
    """
    if names.strip() == ALL:
        wanted = sorted(name for name, strategy in STRATEGIES.items() if "chat" not in getattr(strategy, "needs", ()))
    else:
        wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise UnknownNameError(
            f"no strategy is named; give all, or some of: {', '.join((*sorted(STRATEGIES), *BASELINES))}"
        )
    return {name: _baseline(name) if name in BASELINES else retriever(name, preset) for name in wanted}


def with_baselines(retrievers: Mapping[str, Retriever]) -> dict[str, Retriever]:
    """The retrievers, and behind them the baselines that are not among them; ``chunk`` is the dense one.

    Parameters
    ----------
    retrievers : retrievers by strategy name

    Examples
    --------
    >>> list(with_baselines(chosen("chunk,path", "paper")))
    ['chunk', 'path', 'bm25', 'rrf']
    """
    is_dense = any(
        isinstance(strategy, ChunkRetriever) and strategy.mode in (None, "vector") for strategy in retrievers.values()
    )
    missing = [name for name in BASELINES if name not in retrievers and not (name == "dense" and is_dense)]
    return {**retrievers, **{name: _baseline(name) for name in missing}}


def _baseline(name: str) -> Retriever:
    return ChunkRetriever(mode=BASELINES[name])


def prepare(graph: HLGraph, retrievers: Iterable[Retriever]) -> None:
    """Build the hierarchy if a retriever needs it and it is missing or stale.

    A retriever needs it if it lists ``"hierarchy"`` in ``needs``. Summaries are extractive, unless a chat model made the stored
    ones.

    Parameters
    ----------
    graph : the corpus
    retrievers : those that will be asked

    Raises
    ------
    MissingExtraError
        The extra ``communities`` is not installed.
    """
    if not any("hierarchy" in getattr(item, "needs", ()) for item in retrievers):
        return
    run = graph.hierarchy.find().run
    if run is None or run.is_stale:
        is_by_chat = run is not None and run.by.startswith("chat/")
        graph.hierarchy.build(summaries="auto" if is_by_chat else "extractive")


def parameters(retrievers: Mapping[str, Retriever]) -> dict[str, dict[str, Scalar | None]]:
    """The parameters of retrievers, by strategy; a value that is not a scalar is given as text."""
    return {
        name: {item.name: _scalar(getattr(strategy, item.name)) for item in fields(strategy)}
        for name, strategy in retrievers.items()
    }


def _scalar(value: object) -> Scalar | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def ingest_set(graph: HLGraph, dataset: Dataset) -> Report:
    """Ingest the passages of an evaluation set, one chunk each, with their extractions; unchanged passages are reused.

    Parameters
    ----------
    graph : the corpus
    dataset : the set
    """
    files = tuple(str(path) for path in dataset.extractions)
    documents = (
        Document(f"{PREFIX}{passage.id}", passage.text, passage.title, passage.metadata, key=passage.id)
        for passage in read_passages(dataset.passages_path)
    )
    return graph.ingest(
        documents, extract="precomputed" if files else "local", extractions=files, missing="local", is_chunked=True
    )


def searches(
    graph: HLGraph, retrievers: Mapping[str, Retriever], *, k: int, of_sources: bool = False
) -> dict[str, Search]:
    """A search for each retriever: a function from a question to the ids of the k best passages.

    Parameters
    ----------
    graph : the corpus to search
    retrievers : retrievers by strategy name
    k : number of passages
    of_sources : the ids are the uris of the sources of the k best chunks, each once
    """

    def ask(question: str, *, strategy: Retriever) -> Ranked:
        result = graph.search(question, strategy=strategy, k=k, unit="chunk")
        uris = [item.source.uri for item in result.evidence]
        ids = dict.fromkeys(uris) if of_sources else (uri.removeprefix(PREFIX) for uri in uris)
        return Ranked(tuple(ids), result.explain.round_trips)

    return {name: partial(ask, strategy=strategy) for name, strategy in retrievers.items()}


# Rankings of other systems, read from TREC run files, as strategies of an evaluation.


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
    files: dict[str, str] = {}
    for text in given:
        name, _, path = (part.strip() for part in text.partition("="))
        if not name or not path:
            raise InputError(f"--run {text!r} names no system and file; give NAME=FILE, such as colbert=run.trec")
        if name in files or name in strategies:
            raise InputError(f"--run {text!r}: the name {name!r} is taken; give the run another one")
        files[name] = path
    return files


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
    result = result_of(
        dataset.questions, [Outcome(question, ranked.get(question, ())[:k], 0.0, 0) for question in asked]
    )
    return replace(result, figures=_UNKNOWN_COST)


def _named(ids: Sequence[str]) -> str:
    return (", ".join(ids[:_MOST_IDS]) or "nothing") + (", ..." if len(ids) > _MOST_IDS else "")
