"""Samples chunks of a corpus, from which its domain is inferred."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from hlgraph.chunk import Chunker
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum, source_id
from hlgraph.read import ReadFailure, inadmissible
from hlgraph.records import Document

SAMPLES = 5
"""Number of chunks that a domain is inferred from (HLG, section 6.2, step 2)."""
_Item = TypeVar("_Item")


class Sampler(Generic[_Item]):
    """Keeps the five chunks whose texts have the smallest hashes, in O(1) memory.

    The sample is pseudo-random, does not depend on the order of the chunks, and holds no text twice.

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
        """Add one chunk to the candidates; of chunks with equal texts the one with the smallest place counts.

        Parameters
        ----------
        text : text of the chunk; blank texts are ignored
        place : source id and position of the chunk
        item : what :meth:`chosen` returns for the chunk
        """
        if not text.strip():
            return
        key = checksum(text)
        held = self._held.get(key)
        if held is None or place < held[0]:
            self._held[key] = place, item
        if len(self._held) > SAMPLES:
            del self._held[max(self._held)]

    def chosen(self) -> list[_Item]:
        """The items of the sample, in the order of the hashes of their texts."""
        return [self._held[key][1] for key in sorted(self._held)]


def sampled(items: Iterable[Document | ReadFailure], chunker: Chunker, *, corpus: str) -> list[ChunkInput]:
    """A sample of the chunks of documents, see :class:`Sampler`; documents that cannot be ingested are skipped.

    Each document is read and chunked once, and only the sample is held in memory. Takes time linear in the text.

    Parameters
    ----------
    items : documents and read failures; of documents with equal uris the first counts
    chunker : splits the documents
    corpus : the corpus, from which source ids are made

    Returns
    -------
    list
        At most five chunks.
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
