"""Synthetic corpora of any size with a realistic degree distribution, including hubs; the text is meaningless.

A source is one chunk of ten statements. It is about one entity, which is the subject of most of its statements; each
statement names three entities and holds one fact. Entities and words follow the Zipf-Mandelbrot law, so that a few are
everywhere and most are rare: in a corpus of 100,000 statements, the hub occurs in thousands. Seed and size determine
everything. Blocks of sources are drawn independently, so that only a few blocks are held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import checksum
from hlgraph.records import Document, Extraction, Mention, Proposition, Triple

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
