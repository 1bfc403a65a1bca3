"""One chunk per document, for passages that were cut elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from hlgraph.records import Document, Span
from hlgraph.text import count_tokens


@dataclass(frozen=True, slots=True)
class WholeChunker:
    """Turns each document into one chunk, without its outer white space; white space alone gives no chunk.

    Examples
    --------
    >>> WholeChunker().chunk(Document("a.txt", "  One passage. "))
    [Span(start=2, end=14, tokens=3, headings=())]
    """

    @property
    def fingerprint(self) -> str:
        """See :class:`hlgraph.chunk.Chunker`."""
        return "whole/1"

    def chunk(self, document: Document) -> list[Span]:
        """See :class:`hlgraph.chunk.Chunker`."""
        text = document.text.strip()
        if not text:
            return []
        start = len(document.text) - len(document.text.lstrip())
        return [Span(start, start + len(text), count_tokens(text))]
