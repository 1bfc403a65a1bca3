"""Changes for the embedded store made of random words, names and unit vectors: no model, no extraction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hlgraph import ids
from hlgraph.change import About, Change, FactRow, MentionLink, Placement, Support, VectorBlock
from hlgraph.records import Chunk, Kind, Source, Statement, Topic

CORPUS = "made-up"
DIMENSIONS = 384
_MODEL = "random/1"
_SENTENCE, _MENTIONS, _STATEMENTS = 15, 3, 10
_VOCABULARY, _SOURCES_A_CHANGE = 20_000, 1_000


@dataclass(slots=True)
class MadeUpGraph:
    """A corpus of so many statements: ten a source, fifteen words and three entities each, one fact and one topic.

    Words and entities are drawn by Zipf's law, so that some are everywhere and most are rare. ``statements`` (ids),
    ``texts`` and ``matrix`` (their vectors) hold what the changes made so far contain.
    """

    size: int
    rng: np.random.Generator
    sources_a_change: int = _SOURCES_A_CHANGE
    statements: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    blocks: list[NDArray[np.float32]] = field(default_factory=list)
    entities: set[str] = field(default_factory=set)

    def changes(self) -> Iterator[Change]:
        """The corpus, ``sources_a_change`` at a time."""
        count = self.size // _STATEMENTS
        for first in range(0, count, self.sources_a_change):
            yield self._change(range(first, min(first + self.sources_a_change, count)))

    def matrix(self) -> NDArray[np.float32]:
        """The vectors of all statements, in their order."""
        return np.concatenate(self.blocks)

    def _change(self, numbers: range) -> Change:
        sources = tuple(self._source(number) for number in numbers)
        topics = tuple(Topic(ids.topic_id(source.id, "theme"), source.id, "theme") for source in sources)
        texts = [self._texts() for _ in sources]
        chunks = tuple(self._chunk(source, " ".join(parts)) for source, parts in zip(sources, texts, strict=True))
        statements = tuple(
            Statement(ids.statement_id(source.id, text), source.id, text)
            for source, parts in zip(sources, texts, strict=True)
            for text in parts
        )
        chunk_of = [chunk.id for chunk in chunks for _ in range(_STATEMENTS)]
        named = self._drawn(self.size // 3, (len(statements), _MENTIONS))
        names = [[f"name {number}" for number in row] for row in named.tolist()]
        entities = [[ids.entity_id(CORPUS, name) for name in row] for row in names]
        facts = [_fact(*row[:2]) for row in names]
        fresh = sorted({item for row in entities for item in row} - self.entities)
        self.entities.update(fresh)
        placed = list(zip(chunk_of, statements, strict=True))
        change = Change(
            id=ids.content_id("change", CORPUS, str(numbers.start)),
            corpus=CORPUS,
            embedding=_MODEL,
            dimensions=DIMENSIONS,
            sources=sources,
            base_versions=(0,) * len(sources),
            chunks=chunks,
            topics=topics,
            statements=statements,
            entities=tuple(sorted({item for row in entities for item in row})),
            facts=tuple({fact.fact_id: fact for fact in facts}.values()),
            placements=tuple(Placement(chunk, s.id, at % _STATEMENTS, 0, 9) for at, (chunk, s) in enumerate(placed)),
            abouts=tuple(About(chunk, s.id, topics[at // _STATEMENTS].id) for at, (chunk, s) in enumerate(placed)),
            mentions=tuple(
                MentionLink(chunk, s.id, entity, name, "name")
                for (chunk, s), held, words in zip(placed, entities, names, strict=True)
                for entity, name in dict(zip(held, words, strict=True)).items()
            ),
            supports=tuple(Support(chunk, s.id, fact.fact_id) for (chunk, s), fact in zip(placed, facts, strict=True)),
            vectors=(
                self._block(Kind.CHUNK, [(chunk.id, chunk.text, chunk.source_id) for chunk in chunks]),
                statement_block := self._block(Kind.STATEMENT, [(s.id, s.text, s.source_id) for s in statements]),
                self._block(Kind.ENTITY, [(item, "name", "") for item in fresh]),
            ),
        )
        self.statements.extend(item.id for item in statements)
        self.texts.extend(item.text for item in statements)
        self.blocks.append(statement_block.matrix())
        return change

    def _source(self, number: int) -> Source:
        uri = f"made-up:{number}"
        return Source(
            ids.source_id(CORPUS, uri), CORPUS, uri, f"Title {number}", f"{number:x}", {"year": 1900 + number % 99}
        )

    def _chunk(self, source: Source, text: str) -> Chunk:
        return Chunk(ids.chunk_id(source.id, text, 0), source.id, text, 0, len(text), 0, _SENTENCE * _STATEMENTS)

    def _texts(self) -> list[str]:
        drawn = self._drawn(_VOCABULARY, (_STATEMENTS, _SENTENCE))
        return [" ".join(f"word{number:x}" for number in row) for row in drawn.tolist()]

    def _drawn(self, count: int, shape: tuple[int, int]) -> NDArray[np.int64]:
        """Numbers below ``count``, number n with a probability of about 1 / n."""
        drawn: NDArray[np.int64] = np.exp(self.rng.random(shape) * np.log(count)).astype(np.int64)
        return drawn

    def _block(self, kind: Kind, rows: list[tuple[str, str, str]]) -> VectorBlock:
        names, texts, sources = zip(*rows, strict=True)
        matrix = self.rng.standard_normal((len(rows), DIMENSIONS), dtype=np.float32)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        return VectorBlock(kind, names, texts, sources, DIMENSIONS, matrix.tobytes())


def _fact(subject: str, object_: str) -> FactRow:
    fact = ids.fact_id(CORPUS, subject, "knows", object_, is_literal=False)
    return FactRow(fact, ids.entity_id(CORPUS, subject), "knows", ids.entity_id(CORPUS, object_), "")
