"""What hlgraph asks of a chunker. Two fillings: content-defined boundaries, and the whole document as one chunk."""

from __future__ import annotations

from typing import Protocol

from hlgraph.records import Document, Span


class Chunker(Protocol):
    """Cuts documents into the spans that become chunks."""

    @property
    def fingerprint(self) -> str:
        """Name, version and every parameter that moves a boundary; a new fingerprint means chunking again."""

    def chunk(self, document: Document) -> list[Span]:
        """Spans in order of their start. ``document.text[span.start:span.end]`` has no outer white space and is never
        empty; every character that is not white space lies in a span; a document without any gives none."""
