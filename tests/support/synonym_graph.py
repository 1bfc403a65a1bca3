"""Four statements of four sources that share no entity and no chunk; only synonyms join three of them.

::

    "Works was begun early."  -.94-  "Works Ltd was sold."        reconciled at .9
    "Works was begun early."  -.88-  "Works Old Mill Tessing closed."   not reconciled
    "Orne is far."                                                joined to nothing

where Works stands for the name ``WORKS``.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.chunk import WholeChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import entity_id, source_id, statement_id
from hlgraph.ingest import pipeline
from hlgraph.records import Document, Extraction, Mention, Proposition
from hlgraph.stores.protocols import Stores
from hlgraph.testing.embedder import WordEmbedder

CORPUS = "synonyms"
EMBEDDER = WordEmbedder(512)
WORKS = "Royal North Aldane Grand River Canal Bridge Works"
LTD = f"{WORKS} Ltd"
MILL = f"{WORKS} Old Mill Tessing"
TEXTS = {WORKS: f"{WORKS} was begun early.", LTD: f"{LTD} was sold.", MILL: f"{MILL} closed.", "Orne": "Orne is far."}


class SynonymExtractor:
    """One proposition a chunk, whose one mention is the longest known name in it."""

    fingerprint = "synonyms/1"
    problems: tuple[str, ...] = ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """See :class:`Extractor`."""
        return [self._one(chunk.text) for chunk in chunks]

    def _one(self, text: str) -> Extraction:
        name = max((name for name in TEXTS if name in text), key=len)
        return Extraction((Proposition(text, 0, len(text), (), (Mention(name),)),))

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """See :class:`Extractor`."""
        return chunk.text


def fill(stores: Stores) -> None:
    """Ingest the corpus."""
    documents = [Document(f"doc:{at}", text, "", {"year": at}) for at, text in enumerate(TEXTS.values())]
    steps = pipeline.Steps(WholeChunker(), SynonymExtractor(), EMBEDDER)
    pipeline.ingest(documents, CORPUS, stores=stores, steps=steps)


def statement_of(name: str) -> str:
    """The id of the statement that mentions a name."""
    at = list(TEXTS).index(name)
    return statement_id(source_id(CORPUS, f"doc:{at}"), TEXTS[name])


def entity_of(name: str) -> str:
    """The id of an entity."""
    return entity_id(CORPUS, name)
