"""The interface of chunkers; implemented by content-defined chunking and by one chunk per document."""

from __future__ import annotations

from typing import Protocol

from hlgraph.records import Document, Span


class Chunker(Protocol):
    """Cuts documents into the spans that become chunks."""

    @property
    def fingerprint(self) -> str:
        """Name, version and every parameter that affects boundaries; a new fingerprint causes sources to be chunked again."""

    def chunk(self, document: Document) -> list[Span]:
        """The spans of a document, in the order of their start.

        ``document.text[span.start:span.end]`` is never empty and has no outer white space. Every character that is not white
        space lies in a span, so a document of white space alone has no spans.
        """
