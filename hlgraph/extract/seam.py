"""The extractor protocol. Implementations: local (rules), spacy (rules and a parser), precomputed (files), chat (a model)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hlgraph.ids import checksum
from hlgraph.models.accounts.usage import Usage
from hlgraph.records import Extraction


@dataclass(frozen=True, slots=True)
class ChunkInput:
    """One chunk with its context.

    Attributes
    ----------
    text : text of the chunk
    title : title of the document
    headings : headings above the chunk, outermost first
    uri : uri of the source
    key : identifier in the document's row; None if it has none
    position : index of the chunk in its source, from 0
    chunk_count : number of chunks of the source
    source : id of the source; empty: it is in no corpus
    """

    text: str
    title: str = ""
    headings: tuple[str, ...] = ()
    uri: str = ""
    key: str | None = None
    position: int = 0
    chunk_count: int = 1
    source: str = ""


def shown_fingerprint(extractor: str, chunk: ChunkInput) -> str:
    """Hash of an extractor's fingerprint and of everything in a chunk that a chat model gets: text, title, headings.

    Parameters
    ----------
    extractor : fingerprint of the extractor
    chunk : the chunk

    Returns
    -------
    str
        The hash.
    """
    return checksum(extractor, chunk.text, chunk.title, *chunk.headings)


class Extractor(Protocol):
    """Finds propositions, topics, mentions and triples in chunks."""

    @property
    def fingerprint(self) -> str:
        """Name, version and everything else that affects the result; a new fingerprint triggers a new extraction."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems in the extractor's own input, such as record files; reported once per ingest."""

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order. Never raises because of a chunk's content: see ``Extraction.problem``."""

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """Hash of everything that this extractor reads for this chunk (text and context, and records in files)."""


@runtime_checkable
class Metered(Protocol):
    """An extractor whose calls cost money."""

    usage: Usage
