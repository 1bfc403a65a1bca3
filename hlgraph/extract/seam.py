"""What hlgraph asks of an extractor. Three fillings: local (rules), precomputed (files), chat (a model)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hlgraph.ids import checksum
from hlgraph.models.accounts.usage import Usage
from hlgraph.records import Extraction


@dataclass(frozen=True, slots=True)
class ChunkInput:
    """One chunk with the context that it may be understood by.

    ``key`` is the identifier that the document's row carried (or None), ``position`` the index of the chunk in its
    source, ``chunk_count`` how many chunks the source has.
    """

    text: str
    title: str = ""
    headings: tuple[str, ...] = ()
    uri: str = ""
    key: str | None = None
    position: int = 0
    chunk_count: int = 1


def shown_fingerprint(extractor: str, chunk: ChunkInput) -> str:
    """A hash of an extractor's fingerprint and of all of a chunk that a chat model is shown: text, title, headings."""
    return checksum(extractor, chunk.text, chunk.title, *chunk.headings)


class Extractor(Protocol):
    """Finds propositions, topics, mentions and triples in chunks."""

    @property
    def fingerprint(self) -> str:
        """Name, version and everything that changes what is extracted; a new fingerprint means extracting again."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What of the extractor's own input (files of records, say) cannot be used; reported once an ingest."""

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction a chunk, in order. Never raises for what a chunk contains: ``Extraction.problem`` says it."""

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A hash of all that this extractor looks at for this chunk (its context, and for files the record itself)."""


@runtime_checkable
class Metered(Protocol):
    """An extractor whose calls cost something."""

    usage: Usage
