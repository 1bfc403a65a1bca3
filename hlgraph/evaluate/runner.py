"""Ask every question of a set with every strategy, measure the outcomes and their cost, and save and load runs."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import msgspec
import numpy as np
from scipy import sparse

from hlgraph import progress
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import HLGraphError, InputError, MissingExtraError, ReadError, UnknownNameError
from hlgraph.evaluate.datasets import Dataset, Question, read_passages
from hlgraph.evaluate.metrics import UNDEFINED, Scores, read_run, score
from hlgraph.evaluate.statistics import Section
from hlgraph.records import Document, Kind, Scalar, Source, Statement
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.steps.feedback import Selector
from hlgraph.retrieve.steps.suggest import Suggestion
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.stores.protocols import GraphStore, Scope, Stores, VectorStore, find_records
from hlgraph.subgraph import Subgraph

if TYPE_CHECKING:
    from hlgraph.index.hierarchy import HierarchyQuery
    from hlgraph.ingest.report import Report
    from hlgraph.retrieve.request import Mode
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph


# What a search reads from the stores, counted by wrapping them.

_READS = frozenset({"records", "find", "pull", "search", "neighbours", "vectors", "ids", "rank", "match"})
_NUMBER = 8  # bytes of a score or another single number


_Value = TypeVar("_Value", int, str)


class Cost(NamedTuple):
    """The amount of data read from the stores.

    Attributes
    ----------
    calls : reading calls, without the check of the corpus version
    rows : hits, records, vectors, and the nodes and edges of subgraphs
    bytes : size of arrays, of texts in UTF-8, and 8 bytes for each single number
    """

    calls: int
    rows: int
    bytes: int


class Tally:
    """Collects the results of store calls until :meth:`take` counts them.

    Counting is deferred, so that it does not slow the search.
    """

    def __init__(self) -> None:
        self._seen: list[object] = []

    def see(self, answer: object) -> None:
        """Keep one result."""
        self._seen.append(answer)

    def take(self) -> Cost:
        """The cost of all calls since the last ``take``."""
        seen, self._seen = self._seen, []
        sizes = [_size(answer) for answer in seen]
        return Cost(len(seen), sum(rows for rows, _ in sizes), sum(count for _, count in sizes))


def counted(stores: Stores, tally: Tally) -> Stores:
    """The same stores, wrapped so that the tally sees their results.

    Parameters
    ----------
    stores : graph and vectors
    tally : collects the results
    """
    return stores._replace(
        graph=cast("GraphStore", _Watched(stores.graph, tally)),
        vectors=cast("VectorStore", _Watched(stores.vectors, tally)),
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """A proxy that passes the results of reading methods to a tally, and leaves other attributes unchanged."""

    inner: object
    tally: Tally

    def __getattr__(self, name: str) -> object:
        attribute = getattr(self.inner, name)
        if name not in _READS:
            return attribute
        method = cast("Callable[..., object]", attribute)

        def call(*arguments: object, **named: object) -> object:
            answer = method(*arguments, **named)
            if isinstance(answer, Iterator):
                rows = list(answer)
                self.tally.see(rows)
                return iter(rows)
            self.tally.see(answer)
            return answer

        return call


def _size(answer: object) -> tuple[int, int]:
    """Rows and bytes of a result; a tuple of columns, such as ids and vectors, has as many rows as its longest column."""
    if isinstance(answer, Subgraph):
        edges = [sparse.csr_array(matrix) for matrix in answer.edges.values()]
        size = answer.ids.nbytes + answer.kinds.nbytes
        size += sum(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes for matrix in edges)
        return len(answer) + sum(int(matrix.nnz) for matrix in edges), size
    if isinstance(answer, np.ndarray):
        return len(answer), answer.nbytes
    if isinstance(answer, tuple):
        columns = [_size(column) for column in answer]
        return max((rows for rows, _ in columns), default=0), sum(count for _, count in columns)
    if isinstance(answer, Sequence | Set) and not isinstance(answer, str):
        return len(answer), sum(_bytes(item) for item in answer)
    return 1, _bytes(answer)


def _bytes(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    kind: Any = type(value)  # hashable, which mypy does not see
    parts = _parts_of(kind)
    return sum(map(_bytes, parts(value))) if parts else _NUMBER


@functools.cache
def _parts_of(kind: type) -> Callable[[Any], Iterable[object]] | None:
    """Gives what a value of this type consists of; None: a number, which has no parts."""
    if issubclass(kind, Mapping):
        return lambda value: (*value, *value.values())
    if is_dataclass(kind):
        names = [item.name for item in fields(kind)]
        return lambda value: [getattr(value, name) for name in names]
    return iter if issubclass(kind, Sequence | Set) else None


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
    rows, bytes : read from the stores, see :class:`hlgraph.evaluate.runner.Cost`; 0 if not counted
    error : why the search failed, else empty. A failed question finds nothing, so its recall is 0
    cpu_milliseconds : CPU time of this process on all cores, without that of servers; hardly affected by other load on the
        machine
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
    scores : measures over all questions; a failed question counts as nothing found. Not numbers if the questions have no gold
    by_hops, by_type, by_subset : measures by group; the key is 0 or "" if the set does not say
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
        return dict(Counter(outcome.error for outcome in self.outcomes if outcome.error))


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

    Each strategy first asks three questions untimed, so that one-time loading in the stores is not measured. A cache filled by
    one strategy is still filled for the next one, so compare times only between searches that share no cache. If a search
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
    cost()  # discard what was read before
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
        judged = [(outcome.ids, question.gold) for question, outcome in group if question.gold]
        return score(judged) if judged else UNDEFINED

    def scores_by(value_of: Callable[[Question], _Value]) -> dict[_Value, Scores]:
        values = sorted({value_of(question) for question in questions})
        return {value: scores([pair for pair in pairs if value_of(pair[0]) == value]) for value in values}

    return StrategyResult(
        tuple(outcomes),
        scores(pairs),
        by_hops=scores_by(lambda question: question.hops),
        by_type=scores_by(lambda question: question.type),
        by_subset=scores_by(lambda question: question.subset),
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


class Coverage(NamedTuple):
    """What a strategy retrieves, which needs no gold.

    Attributes
    ----------
    passages : mean number of different passages, or sources, for a question
    topics : mean number of different topics of their chunks
    sources : share of all sources of the corpus that were retrieved for any question, from 0 to 1
    """

    passages: float
    topics: float
    sources: float


def coverage(graph: HLGraph, report: EvalReport) -> dict[str, Coverage]:
    """What each strategy retrieves of the corpus, read after all questions were asked.

    Parameters
    ----------
    graph : the corpus
    report : the outcomes
    """
    records = graph.facts.records(Kind.SOURCE, graph.facts.sources()).values()
    ids = {source.uri.removeprefix(PREFIX): source.id for source in records if isinstance(source, Source)}
    retrieved = {
        name: [{ids[key] for key in outcome.ids if key in ids} for outcome in result.outcomes]
        for name, result in report.strategies.items()
    }
    wanted = sorted(set().union(*(some for questions in retrieved.values() for some in questions)))
    source_of = {chunk.id: chunk.source_id for some in graph.facts.chunks(wanted) for chunk in some}
    topics: dict[str, set[str]] = {source: set() for source in wanted}
    for chunk, names in graph.facts.topics(list(source_of)).items():
        topics[source_of[chunk]].update(names)
    return {
        name: Coverage(
            float(np.mean([len(some) for some in questions])),
            float(np.mean([len(set().union(*(topics[source] for source in some))) for some in questions])),
            len(set().union(*questions)) / len(ids),
        )
        for name, questions in retrieved.items()
    }


# Turns strategy names into retrievers, and retrievers into searches over an open corpus.


PREFIX = "passage:"
"""Prefix of the URI of a passage's source; the passage id follows."""
ALL = "all"
BASELINES: Mapping[str, Mode] = {"bm25": "text", "dense": "vector", "rrf": "hybrid"}
"""Plain searches over chunks that every table shows besides the strategies: BM25, dense vectors, and their rank fusion."""


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
    """The retrievers, followed by the baselines that are not among them; ``chunk`` is the dense one.

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


def prepare(graph: HLGraph, retrievers: Iterable[Retriever], *, query: HierarchyQuery | None = None) -> str:
    """Build the communities of statements, or the hierarchy, if a retriever needs them and they are missing or stale.

    A retriever names what it needs in ``needs``: ``communities``, which it does without if their extra is not installed, or
    ``hierarchy``, which is also built if other parameters are asked for. Summaries are extractive, unless the stored ones were
    made by a chat model.

    Parameters
    ----------
    graph : the corpus
    retrievers : those that will be asked
    query : parameters of the hierarchy; None: those of the stored one, otherwise the defaults

    Returns
    -------
    str
        The parameters of the hierarchy in one line; empty if none is needed.

    Raises
    ------
    MissingExtraError
        The extra ``communities`` is not installed.
    """
    retrievers = list(retrievers)
    if any("communities" in getattr(retriever, "needs", ()) for retriever in retrievers):
        shape = ProjectionShape.STATEMENT_ENTITY_CHUNK.value
        communities = graph.communities.find(shape, k=0, names=0).run
        if communities is None or communities.is_stale:
            with contextlib.suppress(MissingExtraError):
                graph.communities.build(shape, max_size=50)
    if not any(needs_hierarchy(item) for item in retrievers):
        return ""
    run = graph.hierarchy.find().run
    if run is None or run.is_stale or query is not None:
        is_by_chat = run is not None and run.by.startswith("chat/")
        run = graph.hierarchy.build(query, summaries="auto" if is_by_chat else "extractive").run
    return run.parameters


def needs_hierarchy(retriever: Retriever) -> bool:
    """Whether a retriever searches the summaries of the hierarchy."""
    return "hierarchy" in getattr(retriever, "needs", ())


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
    documents = documents_of(dataset)
    return graph.ingest(
        documents, extract="precomputed" if files else "local", extractions=files, missing="local", is_chunked=True
    )


def documents_of(dataset: Dataset) -> Iterator[Document]:
    """The passages of an evaluation set as they are ingested."""
    for passage in read_passages(dataset.passages_path):
        yield Document(f"{PREFIX}{passage.id}", passage.text, passage.title, passage.metadata, key=passage.id)


def searches(
    graph: HLGraph,
    retrievers: Mapping[str, Retriever],
    *,
    k: int,
    diversity: Mapping[str, float | None] = MappingProxyType({}),
    of_sources: bool = False,
) -> dict[str, Search]:
    """A search for each retriever: a function from a question to the ids of the k best passages.

    Parameters
    ----------
    graph : the corpus to search
    retrievers : retrievers by strategy name
    k : number of passages
    diversity : that of the search, by strategy name; default: that of the strategy
    of_sources : return the uris of the sources of the k best chunks, each once
    """

    def ask(question: str, *, name: str) -> Ranked:
        selector = getattr(retrievers[name], "selector", None)
        if isinstance(selector, GoldSelector):
            selector.asked = question
        result = graph.search(question, strategy=retrievers[name], k=k, unit="chunk", diversity=diversity.get(name))
        uris = [item.source.uri for item in result.evidence]
        ids = dict.fromkeys(uris) if of_sources else (uri.removeprefix(PREFIX) for uri in uris)
        return Ranked(tuple(ids), result.explain.round_trips)

    return {name: partial(ask, name=name) for name in retrievers}


@dataclass(slots=True)
class GoldSelector(Selector):
    """A perfect Select: keeps exactly the statements of the supporting passages, which shows what the one in use loses.

    Attributes
    ----------
    statements : ids of the statements of the supporting passages, by text of the question
    asked : text of the question that is searched now
    """

    statements: Mapping[str, Set[str]] = field(default_factory=dict, repr=False)
    asked: str = field(default="", repr=False)
    fingerprint: str = "gold/1"
    is_trusted: bool = True

    def select(self, question: str, suggestions: Sequence[Suggestion], *, collected: Sequence[str]) -> list[str]:  # noqa: ARG002
        """See :class:`hlgraph.retrieve.steps.feedback.Selector`."""
        gold = self.statements.get(self.asked, frozenset())
        return [suggestion.id for suggestion in suggestions if suggestion.id in gold]


def gold_statements(graph: HLGraph, dataset: Dataset) -> dict[str, frozenset[str]]:
    """The ids of the statements of the supporting passages, by text of the question.

    Parameters
    ----------
    graph : the corpus
    dataset : the questions and their gold: passages of a set, or uris of sources
    """
    records = graph.facts.records(Kind.SOURCE, graph.facts.sources()).values()
    ids = {source.uri.removeprefix(PREFIX): source.id for source in records if isinstance(source, Source)}
    golds = {question.text: [ids[key] for key in question.gold if key in ids] for question in dataset.questions}
    wanted = sorted({source for sources in golds.values() for source in sources})
    source_of = {chunk.id: chunk.source_id for some in graph.facts.chunks(wanted) for chunk in some}
    statements: dict[str, set[str]] = {source: set() for source in wanted}
    for statement in find_records(
        graph.facts.stores.graph, Statement, scope=Scope(graph.corpus, sources=tuple(wanted))
    ):
        if statement.chunk_id in source_of:
            statements[source_of[statement.chunk_id]].add(statement.id)
    return {text: frozenset().union(*(statements[source] for source in sources)) for text, sources in golds.items()}


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
    """The first k passages of every question in every run; for a question that a run lacks, nothing is found.

    The latency and cost of these systems are unknown.

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
        A run belongs to another set: it ranks passages that the corpus does not have, or has none of the questions.
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
            f"{path}: it ranks passages for {first_ids(list(ranked))}, and for no question of {dataset.name} "
            f"({first_ids(asked)}); give a run of these questions"
        )
    strange = [key for question in asked for key in ranked.get(question, ()) if key not in passages]
    if strange:
        raise InputError(
            f"{path}: it ranks {first_ids(list(dict.fromkeys(strange)))}, which {dataset.passages_path} does not have; give a run "
            "over this corpus"
        )
    result = result_of(
        dataset.questions, [Outcome(question, ranked.get(question, ())[:k], 0.0, 0) for question in asked]
    )
    return replace(result, figures=_UNKNOWN_COST)


def first_ids(ids: Sequence[str]) -> str:
    """The first three ids, for a message."""
    return (", ".join(ids[:_MOST_IDS]) or "nothing") + (", ..." if len(ids) > _MOST_IDS else "")


# Saved runs: questions, configuration and every outcome, for later comparison.

_FORMAT = 1


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
    readers : options of the readers of answers that differ from the defaults, by strategy
    layers : parameters of the hierarchy that a strategy searched, by strategy
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
    readers: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    layers: Mapping[str, str] = field(default_factory=dict)


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
    if len({bool(question.gold) for question in run.questions}) > 1:
        raise ReadError(str(path), "some of its questions have no gold passages", mend)
    return run


def check_comparable(run: Run, earlier: Run) -> None:
    """Check that two runs have the same corpus and questions, so that differences come from the strategies.

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
        f"{len(other)} of them are in only one run: {first_ids(other)}"
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
            f"the earlier run measured {len(other)} answers against other gold answers: {first_ids(other)}; compare runs with the "
            "same gold answers"
        )


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
        if item.name not in ("parameters", "readers", "layers")
        and getattr(setting, item.name) != getattr(earlier, item.name)
    ]
    for name in sorted(set(setting.parameters) & set(earlier.parameters)):
        before, now = (
            {
                **each.parameters[name],
                **{f"reader.{key}": value for key, value in each.readers.get(name, {}).items()},
                **({"built": each.layers[name]} if name in each.layers else {}),
            }
            for each in (earlier, setting)
        )
        lines.extend(
            f"{name}.{key}: {before.get(key)} before, {now.get(key)} now"
            for key in sorted(set(before) | set(now))
            if before.get(key) != now.get(key)
        )
    return lines
