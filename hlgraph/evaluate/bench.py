"""Measures how the cost of a search grows with the corpus: synthetic corpora of several sizes, one process per strategy."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Literal, NamedTuple

from hlgraph.chunk import WholeChunker
from hlgraph.errors import HLGraphError, InputError
from hlgraph.evaluate.asking import prepare, searches
from hlgraph.evaluate.counting import Tally, counted
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.growth import Growth, growth
from hlgraph.evaluate.made_up import MadeUpCorpus, MadeUpExtractor, Skew
from hlgraph.evaluate.memory import Memory, memory
from hlgraph.evaluate.runner import WARMING, Figures, Outcome, figures_of, timed
from hlgraph.ingest import pipeline
from hlgraph.records import Kind
from hlgraph.retrieve.search import retriever
from hlgraph.settings import Settings
from hlgraph.stores.open import open_stores
from hlgraph.testing.seeded import SeededEmbedder

if TYPE_CHECKING:
    from hlgraph.models.seams import Embedder

EmbedderName = Literal["made-up", "model"]
K = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """What one process of the benchmark asks.

    Attributes
    ----------
    settings : store, corpus and models
    strategy, preset : the retriever that is measured
    questions : asked in this order
    embedder : ``made-up`` (seeded vectors without a model) or ``model`` (the embedder of the settings)
    """

    settings: Settings
    strategy: str
    preset: str
    questions: tuple[str, ...]
    embedder: EmbedderName


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The measurements of one strategy on one size of corpus.

    Attributes
    ----------
    size : statements of the corpus
    strategy : name of the strategy
    figures : of all questions but the first few, during which stores load what later searches share
    first_ms : time of the first question of the process, milliseconds
    before, after : memory before the store was opened, and after the last question
    errors : error messages with their counts
    """

    size: int
    strategy: str
    figures: Figures
    first_ms: float
    before: Memory
    after: Memory
    errors: Mapping[str, int]

    @property
    def grown_mb(self) -> float | None:
        """Growth of the peak memory of the process by opening the store and asking, MB of 2 ** 20 bytes."""
        return _less(self.after.peak, self.before.peak)

    @property
    def own_mb(self) -> float | None:
        """Growth of the memory without mapped files from before the store was opened to after the last question, MB."""
        return _less(self.after.own, self.before.own)


class Size(NamedTuple):
    """One synthetic corpus.

    Attributes
    ----------
    statements : number of statements
    skew : how unevenly it uses entities
    seconds : time to ingest it, 0 if it was already stored
    steps : seconds by step of the ingest, empty if it was already stored
    """

    statements: int
    skew: Skew
    seconds: float
    steps: Mapping[str, float]


class StrategyGrowth(NamedTuple):
    """How the cost of a strategy grows with the number of statements; None where a figure is missing.

    Attributes
    ----------
    strategy : name of the strategy
    p50, p95 : growth of the percentiles of latency
    cpu : growth of the CPU time per question
    own : growth of the memory without mapped files
    """

    strategy: str
    p50: Growth | None
    p95: Growth | None
    cpu: Growth | None
    own: Growth | None


def ingest_size(statements: int, settings: Settings, *, embedder: EmbedderName) -> tuple[Settings, Size]:
    """Ingest a synthetic corpus through the pipeline, unless it is already stored.

    Parameters
    ----------
    statements : size of the corpus, a multiple of 10
    settings : the store
    embedder : ``made-up`` or ``model``

    Returns
    -------
    tuple[Settings, Size]
        The settings with the name of the corpus, and its measurements.

    Raises
    ------
    InputError
        The number of statements is not a positive multiple of 10, or too large.
    HLGraphError
        A source failed to be ingested.
    """
    corpus = MadeUpCorpus(statements)
    chosen = replace(settings, corpus=corpus_name(statements))
    opened = open_stores(chosen)
    with opened.closing:
        model = _embedder(chosen, embedder)
        held = opened.stores.graph.stats(chosen.corpus, has_relationships=False)
        start = time.perf_counter()
        steps: Mapping[str, float] = {}
        if not held or held[0].records.get(Kind.SOURCE, 0) < corpus.sources or held[0].embedding != model.fingerprint:
            report = pipeline.ingest(
                corpus.documents(),
                chosen.corpus,
                stores=opened.stores,
                steps=pipeline.Steps(
                    WholeChunker(),
                    MadeUpExtractor(corpus),
                    model,
                ),
            )
            if report.failed:
                raise HLGraphError(f"{report.failed[0].uri}: {report.failed[0].error}")
            steps = report.seconds
        seconds = time.perf_counter() - start if steps else 0.0
    return chosen, Size(statements, corpus.skew(), seconds, steps)


def prepare_size(settings: Settings, strategies: Iterable[str], *, embedder: EmbedderName) -> None:
    """Build the derived data that strategies need, before any of them is measured.

    Parameters
    ----------
    settings : store and corpus
    strategies : names of the strategies
    embedder : ``made-up`` or ``model``
    """
    from hlgraph.sdk.client import connect

    with connect(settings, embedder=_embedder(settings, embedder)) as graph:
        prepare(graph, [retriever(name, "paper") for name in strategies])


def corpus_name(statements: int) -> str:
    """The name of the synthetic corpus with this number of statements."""
    return f"bench-{statements}"


def questions_for(statements: int, count: int) -> tuple[str, ...]:
    """Questions for a synthetic corpus: ``count`` that are measured, preceded by a few for warming up.

    Parameters
    ----------
    statements : size of the corpus
    count : number of measured questions, at least 1

    Raises
    ------
    InputError
        ``count`` is below 1.
    """
    if count < 1:
        raise InputError(f"the number of questions is {count}; ask at least one")
    return tuple(MadeUpCorpus(statements).questions(count + WARMING))


def measure(plan: BenchPlan, *, size: int) -> Cell:
    """The measurements of a strategy in a new process, so that memory and first question are those of this strategy alone.

    Parameters
    ----------
    plan : what to ask
    size : statements of the corpus

    Raises
    ------
    HLGraphError
        The store cannot be opened there, or the process died, for example from lack of memory.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(ask, plan, size).result()
        except BrokenProcessPool as error:
            raise HLGraphError(
                f"the process that asked {plan.strategy} over {size:,} statements died, possibly for lack of memory; "
                "choose a smaller corpus"
            ) from error


def ask(plan: BenchPlan, size: int) -> Cell:
    """The measurements of a strategy in this process; peak memory includes what the process held before.

    Parameters
    ----------
    plan : what to ask
    size : statements of the corpus
    """
    from hlgraph.sdk.client import connect

    before = memory()
    tally = Tally()
    with connect(plan.settings, embedder=_embedder(plan.settings, plan.embedder)) as graph:
        watched = graph.watched(lambda stores: counted(stores, tally))
        search = searches(watched, {plan.strategy: retriever(plan.strategy, plan.preset)}, k=K)[plan.strategy]
        if plan.embedder == "model":  # a model embeds each question before the clock starts, as in `hlgraph eval`
            for question in plan.questions:
                search(question)
        outcomes = [
            timed(Question(str(at), text, frozenset()), search, cost=tally.take)
            for at, text in enumerate(plan.questions)
        ]
        after = memory()
    return Cell(
        size=size,
        strategy=plan.strategy,
        figures=figures_of(outcomes[WARMING:]),
        first_ms=outcomes[0].milliseconds,
        before=before,
        after=after,
        errors=_errors(outcomes),
    )


def growths(cells: Sequence[Cell]) -> list[StrategyGrowth]:
    """The growth exponents of each strategy; None with fewer than two sizes."""
    found = []
    for name in dict.fromkeys(cell.strategy for cell in cells):
        own = [cell for cell in cells if cell.strategy == name]
        sizes = [cell.size for cell in own]
        found.append(
            StrategyGrowth(
                name,
                _fit(sizes, [cell.figures.p50_ms for cell in own]),
                _fit(sizes, [cell.figures.p95_ms for cell in own]),
                _fit(sizes, [cell.figures.cpu_ms for cell in own]),
                _fit(sizes, [cell.own_mb for cell in own]),
            )
        )
    return found


def _fit(sizes: Sequence[int], costs: Sequence[float | None]) -> Growth | None:
    there = [(size, cost) for size, cost in zip(sizes, costs, strict=True) if cost is not None and cost > 0]
    if len({size for size, _ in there}) < 2:
        return None
    return growth([size for size, _ in there], [cost for _, cost in there])


def _embedder(settings: Settings, name: EmbedderName) -> Embedder:
    if name == "made-up":
        return SeededEmbedder()
    from hlgraph.models.choose import chosen_embedder

    return chosen_embedder(settings.models.embedder, settings.models)[0]


def _errors(outcomes: Sequence[Outcome]) -> dict[str, int]:
    found: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.error:
            found[outcome.error] = found.get(outcome.error, 0) + 1
    return found


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before
