"""Measures what a search costs as the corpus grows: made-up corpora of several sizes, every strategy in its own process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """What is asked in one process.

    Attributes
    ----------
    settings : store, corpus and models
    strategy, preset : what is measured
    questions : asked in this order
    embedder : ``made-up`` (a seeded one without a model) or ``model`` (that of the settings)
    """

    settings: Settings
    strategy: str
    preset: str
    questions: tuple[str, ...]
    embedder: EmbedderName


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One strategy over one size.

    Attributes
    ----------
    figures : of the questions after the first few, at which stores load what searches share
    first_ms : the first question of the process
    before, after : memory before the store was opened, and after the last question
    errors : what went wrong, and how often
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
        """Megabytes that opening the store and asking added to the peak of the process."""
        return _less(self.after.peak, self.before.peak)

    @property
    def own_mb(self) -> float | None:
        """Megabytes, without mapped files, that are held after the last question and were not before."""
        return _less(self.after.own, self.before.own)


class Size(NamedTuple):
    """One made-up corpus: how unevenly it uses entities, and what ingesting it took (0 s where it was there)."""

    statements: int
    skew: Skew
    seconds: float
    steps: Mapping[str, float]


class StrategyGrowth(NamedTuple):
    """How a strategy grows with the number of statements; None where a figure is missing."""

    strategy: str
    p50: Growth | None
    p95: Growth | None
    cpu: Growth | None
    own: Growth | None


def ingest_size(
    statements: int, settings: Settings, *, embedder: EmbedderName, show: Callable[[str], None]
) -> tuple[Settings, Size]:
    """Bring a made-up corpus into the store, through the pipeline; nothing is done where it is there already.

    Returns
    -------
    tuple
        The settings with the name of its corpus, and what it is.

    Raises
    ------
    InputError
        The number of statements cannot be made up.
    """
    corpus = MadeUpCorpus(statements)
    chosen = replace(settings, corpus=corpus_name(statements))
    opened = open_stores(chosen)
    with opened.closing:
        model = _embedder(chosen, embedder)
        held = opened.stores.graph.stats(chosen.corpus, has_relationships=False)
        start = time.perf_counter()
        steps: Mapping[str, float] = {}
        if not held or held[0].records.get(Kind.SOURCE, 0) != corpus.sources or held[0].embedding != model.fingerprint:
            report = pipeline.ingest(
                corpus.documents(),
                chosen.corpus,
                stores=opened.stores,
                steps=pipeline.Steps(
                    WholeChunker(),
                    MadeUpExtractor(corpus),
                    model,
                    batch_characters=opened.batch_characters,
                    on_progress=lambda at: show(f"{statements:,}: {at.statements:,} statements"),
                ),
            )
            if report.failed:
                raise HLGraphError(f"{report.failed[0].uri}: {report.failed[0].error}")
            steps = report.seconds
        seconds = time.perf_counter() - start if steps else 0.0
    return chosen, Size(statements, corpus.skew(), seconds, steps)


def prepare_size(settings: Settings, strategies: Iterable[str], *, embedder: EmbedderName) -> None:
    """Build what the strategies need beside the corpus, before any of them is measured."""
    from hlgraph.sdk.client import connect

    with connect(settings, embedder=_embedder(settings, embedder)) as graph:
        prepare(graph, [retriever(name, "paper") for name in strategies])


def corpus_name(statements: int) -> str:
    """The corpus that holds so many made-up statements."""
    return f"bench-{statements}"


def questions_for(statements: int, count: int) -> tuple[str, ...]:
    """So many questions, after a few that are asked first and are not among the percentiles."""
    if count < 1:
        raise InputError(f"{count} questions say nothing; ask at least one")
    return tuple(MadeUpCorpus(statements).questions(count + WARMING))


def measure(plan: BenchPlan, *, size: int) -> Cell:
    """Ask in a fresh process, so that memory and first question are those of this strategy alone.

    Raises
    ------
    HLGraphError
        The store cannot be opened there, or the process ended (for want of memory, say).
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(ask, plan, size).result()
        except BrokenProcessPool as error:
            raise HLGraphError(
                f"the process that asked {plan.strategy} over {size:,} statements ended; it may have wanted more memory "
                "than there is: ask fewer statements"
            ) from error


def ask(plan: BenchPlan, size: int) -> Cell:
    """Ask in this process; memory counts what the process held before, too."""
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
    """The exponents of each strategy; none where there are fewer than two sizes."""
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
