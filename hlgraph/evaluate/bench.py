"""Generate synthetic corpora of several sizes, and measure how the cost of a search grows with them, one process per strategy."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.chunk import WholeChunker
from hlgraph.errors import HLGraphError, InputError
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.figures import Table
from hlgraph.evaluate.plots import Axis, Point, Series, chart
from hlgraph.evaluate.runner import WARMING, Figures, Tally, counted, figures_of, prepare, searches, timed
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import checksum
from hlgraph.ingest import pipeline
from hlgraph.records import Document, Extraction, Kind, Mention, Proposition, Triple, group_by
from hlgraph.retrieve.search import retriever
from hlgraph.settings import Settings
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import SeededEmbedder

if TYPE_CHECKING:
    from hlgraph.models.protocols import Embedder


# Synthetic corpora of any size with a realistic degree distribution, including hubs; the text is meaningless.
#
# A source is one chunk of ten statements. It is about one entity, which is the subject of most of its statements; each statement
# names three entities and has one fact. Entities and words follow the Zipf-Mandelbrot law, so that a few are everywhere and most
# are rare: in a corpus of 100,000 statements, the hub occurs in thousands. Seed and size determine everything. Blocks of sources
# are drawn independently, so that only a few blocks are in memory.

STATEMENTS_A_SOURCE = 10
_BLOCK = 500  # sources drawn together
_ENTITIES_A_STATEMENT = 0.25
_FIRST, _LAST = 3001, 2003  # primes, so that no two entities share the same pair of words
_NAMES = _FIRST + _LAST  # words of names are not used elsewhere
_VERBS, _WORDS, _THEMES = 300, 20_000, 5_000
_ABOUT_ITSELF = 0.6
_SHIFT = 2.7
_ONSETS = ("b", "br", "d", "dr", "f", "g", "gl", "h", "k", "kr", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v")
_NUCLEI = ("a", "e", "i", "o", "u", "ai", "ei", "ou")
_URI = "made-up:"


class Skew(NamedTuple):
    """How unevenly statements use entities.

    Attributes
    ----------
    entities : number of entities that occur
    most : statements that name the most frequent entity
    median : statements that name the median entity
    """

    entities: int
    most: int
    median: int


class _Drawn(NamedTuple):
    """The numbers from which a block is made.

    Attributes
    ----------
    about : the main entity of each source, shape (sources,)
    entities : entities of each statement, shape (sources, 10, 3)
    verbs, themes : of each statement, shape (sources, 10)
    words : further words of each statement, shape (sources, 10, 5)
    """

    about: NDArray[np.int64]
    entities: NDArray[np.int64]
    verbs: NDArray[np.int64]
    words: NDArray[np.int64]
    themes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MadeUpCorpus:
    """A synthetic corpus of a given size.

    Parameters
    ----------
    statements : number of statements, a positive multiple of 10
    seed : seed of all draws, default 1

    Raises
    ------
    InputError
        The number is not a positive multiple of 10, or needs more names than can be formed.

    Examples
    --------
    >>> corpus = MadeUpCorpus(20)
    >>> [document.uri for document in corpus.documents()]
    ['made-up:0', 'made-up:1']
    """

    statements: int
    seed: int = 1

    def __post_init__(self) -> None:
        """Check the size."""
        if self.statements < STATEMENTS_A_SOURCE or self.statements % STATEMENTS_A_SOURCE:
            raise InputError(
                f"{self.statements} statements are not possible; choose a positive multiple of {STATEMENTS_A_SOURCE}"
            )
        if self.entities > _FIRST * _LAST:
            raise InputError(f"{self.statements} statements need more entity names than can be formed; choose fewer")

    @property
    def sources(self) -> int:
        """The number of sources."""
        return self.statements // STATEMENTS_A_SOURCE

    @property
    def entities(self) -> int:
        """The number of entities to draw from; the rarest may never be drawn."""
        return max(20, int(self.statements * _ENTITIES_A_STATEMENT))

    def documents(self) -> Iterator[Document]:
        """One document per source, in order."""
        for number in range(self.sources):
            yield _made(self, number // _BLOCK)[number % _BLOCK][0]

    def extraction(self, number: int) -> Extraction:
        """The extraction of the source with this number."""
        return _made(self, number // _BLOCK)[number % _BLOCK][1]

    def questions(self, count: int) -> list[str]:
        """Questions over two entities: alternately those of one statement, hence often hubs, and two random ones.

        The same seed and size give the same questions; a larger ``count`` appends to them.
        """
        rng = np.random.default_rng([self.seed, self.statements, 1 << 40])
        asked: list[str] = []
        for at in range(count):
            number, place = int(rng.integers(self.sources)), int(rng.integers(STATEMENTS_A_SOURCE))
            anyone, verb = rng.integers(self.entities, size=2), _verb(int(rng.integers(_VERBS)))
            triple = self.extraction(number).propositions[place].triples[0]
            pair = (triple.subject, triple.object) if at % 2 == 0 else (_name(int(anyone[0])), _name(int(anyone[1])))
            asked.append(f"Who {verb} {pair[0]} before {pair[1]} {triple.predicate}?")
        _made.cache_clear()  # else the garbage collector visits its 150,000 objects while searches are measured
        return asked

    def skew(self) -> Skew:
        """How unevenly statements use entities."""
        used = np.zeros(self.entities, dtype=np.int64)
        for block in range(-(-self.sources // _BLOCK)):
            named = np.sort(_draw(self, block).entities.reshape(-1, 3), axis=1)
            is_first = np.ones(named.shape, dtype=bool)
            is_first[:, 1:] = named[:, 1:] != named[:, :-1]
            used += np.bincount(named[is_first], minlength=self.entities)
        counts = used[used > 0]
        return Skew(len(counts), int(counts.max()), int(np.median(counts)))


class MadeUpExtractor:
    """An extractor that returns the known extraction of each chunk of a synthetic corpus."""

    def __init__(self, corpus: MadeUpCorpus) -> None:
        self._corpus = corpus

    @property
    def fingerprint(self) -> str:
        """Seed and size, which determine everything."""
        return f"made-up/{self._corpus.seed}/{self._corpus.statements}"

    @property
    def problems(self) -> tuple[str, ...]:
        """Always empty."""
        return ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, found by the number in its key."""
        return [self._corpus.extraction(int(chunk.key or 0)) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A fingerprint of the corpus, the chunk's key and its text."""
        return checksum(self.fingerprint, chunk.key or "", chunk.text)


@lru_cache(maxsize=4)
def _made(corpus: MadeUpCorpus, block: int) -> list[tuple[Document, Extraction]]:
    drawn = _draw(corpus, block)
    return [_source(block * _BLOCK + at, drawn, at) for at in range(len(drawn.about))]


def _draw(corpus: MadeUpCorpus, block: int) -> _Drawn:
    rng = np.random.default_rng([corpus.seed, corpus.statements, block])
    count = min(_BLOCK, corpus.sources - block * _BLOCK)
    shape = (count, STATEMENTS_A_SOURCE)
    about = _zipf(rng, corpus.entities, (count,))
    entities = _zipf(rng, corpus.entities, (*shape, 3))
    is_about = rng.random(shape) < _ABOUT_ITSELF
    entities[:, :, 0] = np.where(is_about, about[:, None], entities[:, :, 0])
    return _Drawn(
        about, entities, rng.integers(_VERBS, size=shape), _zipf(rng, _WORDS, (*shape, 5)), _zipf(rng, _THEMES, shape)
    )


def _zipf(rng: np.random.Generator, count: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Numbers below ``count``, with weight 1 / (r + shift) for rank r, drawn by inverse transform sampling."""
    return np.searchsorted(_cumulated(count), rng.random(shape), side="right").astype(np.int64)


@lru_cache(maxsize=8)
def _cumulated(count: int) -> NDArray[np.float64]:
    total: NDArray[np.float64] = np.cumsum(1.0 / (np.arange(count) + 1 + _SHIFT))
    shares: NDArray[np.float64] = total[:-1] / total[-1]
    return shares


def _source(number: int, drawn: _Drawn, at: int) -> tuple[Document, Extraction]:
    title = _name(int(drawn.about[at]))
    propositions: list[Proposition] = []
    parts: list[str] = []
    start = 0
    for place, (named, words) in enumerate(zip(drawn.entities[at].tolist(), drawn.words[at].tolist(), strict=True)):
        a, b, c = map(_name, named)
        verb = _verb(int(drawn.verbs[at, place]))
        spelt = [_word(_NAMES + word) for word in words]
        text = f"{a} {verb} {b} {spelt[0]} {spelt[1]} {spelt[2]} {c} {spelt[3]} {spelt[4]}."
        theme = f"{_word(_NAMES + _WORDS + int(drawn.themes[at, place % 2]))} theme"
        mentions = tuple(Mention(name) for name in dict.fromkeys((a, b, c)))
        propositions.append(Proposition(text, start, start + len(text), (theme,), mentions, (Triple(a, verb, b),)))
        parts.append(text)
        start += len(text) + 1
    topics = tuple(dict.fromkeys(topic for item in propositions for topic in item.topics))
    return Document(f"{_URI}{number}", " ".join(parts), title, key=str(number)), Extraction(tuple(propositions), topics)


@lru_cache(maxsize=200_000)
def _name(number: int) -> str:
    row, column = number % _FIRST, (number // _FIRST + 7 * number) % _LAST
    return f"{_word(row).capitalize()} {_word(_FIRST + column).capitalize()}"


@lru_cache(maxsize=_VERBS)
def _verb(number: int) -> str:
    return f"{_word(number)}ed"


@lru_cache(maxsize=50_000)
def _word(number: int) -> str:
    """A word of at least two syllables, different for each number."""
    parts: list[str] = []
    rest = number + len(_ONSETS) * len(_NUCLEI)
    while rest:
        rest, place = divmod(rest, len(_ONSETS) * len(_NUCLEI))
        parts.append(_ONSETS[place % len(_ONSETS)] + _NUCLEI[place // len(_ONSETS)])
    return "".join(parts)


# Growth of a cost with the size of the corpus. Pure functions.


class Growth(NamedTuple):
    """A power law ``cost = scale * size ** exponent``.

    Attributes
    ----------
    exponent : below 1, the cost grows more slowly than the size
    scale : the cost at size 1
    error : standard error of the exponent; None for two data points, which fit exactly
    """

    exponent: float
    scale: float
    error: float | None


def growth(sizes: Sequence[float], costs: Sequence[float]) -> Growth:
    """The power law that fits costs best, by least squares of log cost over log size.

    Parameters
    ----------
    sizes : above 0, at least two different ones
    costs : one per size, above 0

    Raises
    ------
    InputError
        There are fewer than two different sizes, the lengths differ, or a value is not above 0.

    Examples
    --------
    >>> round(growth([10, 100, 1000], [2, 20, 200]).exponent, 6)
    1.0
    >>> round(growth([10, 1000], [3, 30]).exponent, 6)
    0.5
    """
    if len(sizes) != len(costs):
        raise InputError(f"{len(sizes)} sizes have {len(costs)} costs; give one cost per size")
    if len(set(sizes)) < 2:
        raise InputError("growth needs at least two different sizes")
    if min(*sizes, *costs) <= 0:
        raise InputError("growth needs sizes and costs above 0")
    x, y = np.log(sizes), np.log(costs)
    if len(sizes) == 2:
        exponent, offset = np.polyfit(x, y, 1)
        return Growth(float(exponent), float(np.exp(offset)), None)
    (exponent, offset), covariance = np.polyfit(x, y, 1, cov=True)
    return Growth(float(exponent), float(np.exp(offset)), float(np.sqrt(covariance[0, 0])))


# Memory of this process.


_STATUS = Path("/proc/self/status")
_MEGABYTE = 1 << 20


class Memory(NamedTuple):
    """Memory in MB of 2 ** 20 bytes; None where the system does not report it.

    Attributes
    ----------
    peak : largest resident size so far, including mapped files
    own : current resident size without mapped files, which the system can reclaim at any moment
    """

    peak: float | None
    own: float | None


def memory() -> Memory:
    """The memory of this process: from ``/proc`` on Linux, elsewhere only the peak, from ``getrusage``."""
    if _STATUS.exists():
        fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if ":" in line)
        return Memory(*(int(fields[name].split()[0]) / 1024 for name in ("VmHWM", "RssAnon")))
    try:
        import resource
    except ImportError:
        return Memory(None, None)
    # Not used on Linux, where a new process inherits the peak of its parent.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Memory(peak / _MEGABYTE if sys.platform == "darwin" else peak / 1024, None)


EmbedderName = Literal["made-up", "model"]
K = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """The work of one process of the benchmark.

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


Growths = Mapping[str, Mapping[str, Growth | None]]
"""How costs grow with the number of statements, by strategy and cost (see ``COSTS``); None if a figure is missing."""
COSTS: Mapping[str, Callable[[Cell], float | None]] = {
    "p50": lambda cell: cell.figures.p50_ms,
    "p95": lambda cell: cell.figures.p95_ms,
    "cpu": lambda cell: cell.figures.cpu_ms,
    "own": lambda cell: cell.own_mb,
}
"""The costs whose growth is fitted: percentiles of latency, CPU time per question, memory without mapped files."""


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
        stats = opened.stores.graph.stats(chosen.corpus, has_relationships=False)
        start = time.perf_counter()
        steps: Mapping[str, float] = {}
        if (
            not stats
            or stats[0].records.get(Kind.SOURCE, 0) < corpus.sources
            or stats[0].embedding != model.fingerprint
        ):
            report = pipeline.ingest(
                corpus.documents(),
                chosen.corpus,
                stores=opened.stores,
                steps=pipeline.Steps(WholeChunker(), MadeUpExtractor(corpus), model),
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
        errors=Counter(outcome.error for outcome in outcomes if outcome.error),
    )


def growths(cells: Sequence[Cell]) -> Growths:
    """The growth of each cost of each strategy."""
    by_strategy = group_by(cells, lambda cell: cell.strategy)
    return {name: {key: _fit(own, cost) for key, cost in COSTS.items()} for name, own in by_strategy.items()}


def _fit(cells: Sequence[Cell], cost: Callable[[Cell], float | None]) -> Growth | None:
    known = [(cell.size, value) for cell in cells if (value := cost(cell)) is not None and value > 0]
    sizes, costs = [size for size, _ in known], [value for _, value in known]
    return growth(sizes, costs) if len(set(sizes)) > 1 else None


def _embedder(settings: Settings, name: EmbedderName) -> Embedder:
    if name == "made-up":
        return SeededEmbedder()
    from hlgraph.models.choose import chosen_embedder

    return chosen_embedder(settings.models.embedder, settings.models)[0]


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


# Formats the measurements of :mod:`hlgraph.evaluate.bench` as tables, JSON data and a plot. Pure functions.


_MISSING = "-"
_READ_DIGITS = {"first_ms": 0, "round_trips": 1, "rows": 0, "bytes": 1, "own_mb": 1, "peak_mb": 1}
_DIGITS = dict.fromkeys(("p50_ms", "p95_ms", "p99_ms", "cpu_ms"), 2) | _READ_DIGITS
"""The costs in the table, with their decimals; ``bytes`` is shown in kB."""


def tables(sizes: Sequence[Size], cells: Sequence[Cell]) -> list[Table]:
    """All tables: sizes, costs and, with several sizes, growth.

    Parameters
    ----------
    sizes : the corpora
    cells : the measurements
    """
    grown = [growth_table(growths(cells))] if len(sizes) > 1 else []
    return [sizes_table(sizes), cells_table(cells), *grown]


def notes(cells: Sequence[Cell], embedder: str) -> list[str]:
    """Lines that say what made the vectors, and which strategies failed.

    Parameters
    ----------
    cells : the measurements
    embedder : ``made-up`` or ``model``
    """
    failed = [
        f"{cell.strategy}, {cell.size:,} statements: failed {count} times: {error}"
        for cell in cells
        for error, count in cell.errors.items()
    ]
    return [embedder_line(embedder), *failed]


def cells_table(cells: Sequence[Cell]) -> Table:
    """The cost of each strategy for each size."""
    head = (
        *("strategy", "statements", "p50_ms", "p95_ms", "p99_ms", "cpu_ms", "first_ms", "round_trips", "rows", "kB"),
        *("own_MB", "peak_MB", "failed"),
    )
    rows = []
    for cell in sorted(cells, key=lambda cell: (cell.strategy, cell.size)):
        costs = _costs(cell)
        costs["bytes"] = costs["bytes"] and costs["bytes"] / 1000
        shown = [_number(costs[name], digits) for name, digits in _DIGITS.items()]
        rows.append((cell.strategy, f"{cell.size:,}", *shown, str(cell.figures.failed)))
    return Table("cost of a question; MB: memory that the process of a strategy took", head, tuple(rows))


def growth_table(grown: Growths) -> Table:
    """The growth exponents: 1 is linear in the number of statements, 0 is constant."""
    head = ("strategy", "p50", "p95", "processor", "own memory", "p95 is")
    rows = tuple((name, *map(_exponent, fits.values()), _verdict(fits["p95"])) for name, fits in grown.items())
    return Table("growth exponents (least squares of the logarithms, with standard error)", head, rows)


def sizes_table(sizes: Sequence[Size]) -> Table:
    """The sizes, the skew and the ingest times of the corpora."""
    head = ("corpus", "entities", "statements of the hub", "of the median entity", "ingest s", "statements/s")
    rows = tuple(
        (
            f"{size.statements:,} statements",
            f"{size.skew.entities:,}",
            f"{size.skew.most:,}",
            f"{size.skew.median:,}",
            f"{size.seconds:.1f}" if size.steps else "already stored",
            f"{size.statements / size.seconds:,.0f}" if size.steps and size.seconds else _MISSING,
        )
        for size in sizes
    )
    return Table("made-up corpora", head, rows)


def embedder_line(embedder: str) -> str:
    """A line that says what made the vectors, so that made-up times are not mistaken for those of a model."""
    if embedder == "made-up":
        return (
            "vectors: made up by a seeded embedder without a model: times exclude the embedding of questions, and the "
            "evidence found is meaningless"
        )
    return "vectors: computed by the model; questions are embedded before timing starts"


def as_tree(sizes: Sequence[Size], cells: Sequence[Cell]) -> dict[str, object]:
    """All measurements as JSON data: times in milliseconds, memory in MB; null if the system does not report it.

    Parameters
    ----------
    sizes : the corpora
    cells : the measurements
    """
    return {
        "sizes": [
            {
                "statements": size.statements,
                "entities": size.skew.entities,
                "hub": size.skew.most,
                "median": size.skew.median,
                "ingest_seconds": round(size.seconds, 3),
                "seconds": {step: round(value, 3) for step, value in size.steps.items()},
            }
            for size in sizes
        ],
        "cells": [
            {"statements": cell.size, "strategy": cell.strategy}
            | {name: _rounded(value) for name, value in _costs(cell).items()}
            | {"failed": cell.figures.failed, "errors": dict(cell.errors)}
            for cell in cells
        ],
        "growth": {
            strategy: {
                name: fit and {"exponent": _rounded(fit.exponent), "error": _rounded(fit.error)}
                for name, fit in fits.items()
            }
            for strategy, fits in growths(cells).items()
        },
    }


def _costs(cell: Cell) -> dict[str, float | None]:
    figures = cell.figures
    return {
        **{name: getattr(figures, name) for name in ("p50_ms", "p95_ms", "p99_ms", "cpu_ms")},
        "first_ms": cell.first_ms,
        **{name: getattr(figures, name) for name in ("round_trips", "rows", "bytes")},
        "own_mb": cell.own_mb,
        "peak_mb": cell.grown_mb,
        "process_peak_mb": cell.after.peak,
    }


def plot(cells: Sequence[Cell]) -> str:
    """An SVG plot of the 95th percentile of latency over the number of statements, one line per strategy."""
    series = [
        Series(
            name,
            tuple(
                Point(cell.size, cell.figures.p95_ms)
                for cell in sorted(cells, key=lambda cell: cell.size)
                if cell.strategy == name and cell.figures.p95_ms is not None
            ),
        )
        for name in sorted({cell.strategy for cell in cells})
    ]
    x, y = Axis("statements", is_log=True), Axis("milliseconds per question, 95th percentile", is_log=True)
    return chart(series, "p95 over the size of a made-up corpus", x=x, y=y)


def _exponent(fit: Growth | None) -> str:
    if fit is None:
        return _MISSING
    return f"{fit.exponent:.2f}" if fit.error is None else f"{fit.exponent:.2f} ± {fit.error:.2f}"


def _verdict(fit: Growth | None) -> str:
    if fit is None:
        return ""
    return "less than linear" if fit.exponent < 1 else "LINEAR OR MORE"


def _number(value: float | None, digits: int) -> str:
    return _MISSING if value is None else f"{value:,.{digits}f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
