"""Which chunks stand for a corpus when its domain is inferred."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from hlgraph.chunk import Chunker
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum, source_id
from hlgraph.read import ReadFailure, inadmissible
from hlgraph.records import Document

SAMPLES = 5
"""Chunks that a domain is inferred from (HLG, section 6.2, step 2)."""
_Item = TypeVar("_Item")


class Sampler(Generic[_Item]):
    """Keeps the five chunks of all that it is shown whose texts have the smallest hashes: a sample that looks random, is the
    same for the same texts in any order, and holds no text twice. O(1) memory.

    Examples
    --------
    >>> sampler = Sampler[int]()
    >>> for number in [*range(100), *range(100)]:
    ...     sampler.add(f"Text {number}.", ("", number), item=number)
    >>> len(sampler.chosen()), len(set(sampler.chosen()))
    (5, 5)
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[tuple[str, int], _Item]] = {}

    def add(self, text: str, place: tuple[str, int], *, item: _Item) -> None:
        """Show one chunk; of several with one text the one of the smallest place (source and position) counts."""
        if not text.strip():
            return
        key = checksum(text)
        held = self._held.get(key)
        if held is None or place < held[0]:
            self._held[key] = place, item
        if len(self._held) > SAMPLES:
            del self._held[max(self._held)]

    def chosen(self) -> list[_Item]:
        """The sample, in the order of the hashes."""
        return [self._held[key][1] for key in sorted(self._held)]


def sampled(items: Iterable[Document | ReadFailure], chunker: Chunker, *, corpus: str) -> list[ChunkInput]:
    """A sample of the chunks of documents, see :class:`Sampler`; what cannot be ingested is left out.

    The texts are read and cut once; nothing is kept but the sample. O(text).
    """
    sampler, seen = Sampler[ChunkInput](), set[str]()
    for document in items:
        if isinstance(document, ReadFailure) or document.uri in seen or inadmissible(document) is not None:
            continue
        seen.add(document.uri)
        source = source_id(corpus, document.uri)
        for position, span in enumerate(chunker.chunk(document)):
            text = document.text[span.start : span.end]
            chunk = ChunkInput(text, document.title, span.headings, document.uri, position=position)
            sampler.add(text, (source, position), item=chunk)
    return sampler.chosen()
