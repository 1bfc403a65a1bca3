"""Extractors without a model: a function says what is in a chunk. And the ingest of the tiny corpus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from hlgraph.chunk import WholeChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ingest import pipeline
from hlgraph.records import Extraction, Mention, Proposition
from hlgraph.stores.protocols import Stores
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor
from hlgraph.testing.embedder import WordEmbedder

TINY_STEPS = pipeline.Steps(WholeChunker(), TinyExtractor(), WordEmbedder())
"""How the tests ingest the tiny corpus."""


def ingest_tiny(stores: Stores) -> None:
    """Ingest the tiny corpus."""
    pipeline.ingest(DOCUMENTS, CORPUS, stores=stores, steps=TINY_STEPS)


class RuleExtractor:
    """What a function finds in a chunk; ``name`` tells extractors apart."""

    problems: tuple[str, ...] = ()

    def __init__(self, rule: Callable[[ChunkInput], Extraction], *, name: str = "rule") -> None:
        self._rule = rule
        self.fingerprint = f"{name}/1"

    def extract(self, chunks: Iterable[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk."""
        return [self._rule(chunk) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """The title, the headings and the text."""
        return f"{self.fingerprint}|{chunk.title}|{chunk.headings}|{chunk.text}"


def sentence_extractor(
    names: Callable[[str], Iterable[str]],
    *,
    topics: Callable[[ChunkInput], tuple[str, ...]] = lambda chunk: (),
    pattern: str = r"[^\s.][^.]*\.",
) -> RuleExtractor:
    """Sentences as propositions.

    Parameters
    ----------
    names : the mentions in a sentence, such as ``re.compile("[A-Z]+").findall``
    topics : the topics of a chunk and of each of its propositions
    pattern : matches a sentence
    """

    def rule(chunk: ChunkInput) -> Extraction:
        own = topics(chunk)
        sentences = re.finditer(pattern, chunk.text)
        return Extraction(
            tuple(Proposition(m[0], *m.span(), own, tuple(map(Mention, names(m[0])))) for m in sentences), own
        )

    return RuleExtractor(rule, name="sentences")


def title_of(chunk: ChunkInput) -> tuple[str, ...]:
    """The title as the only topic."""
    return (chunk.title,)


def known(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Finds these names in a text."""
    return lambda text: [name for name in names if name in text]
