"""Four statements of four sources that share no entity and no chunk; only synonyms join three of them.

::

    "Works was begun early."  -.94-  "Works Ltd was sold."        reconciled at .9
    "Works was begun early."  -.88-  "Works Old Mill Tessing closed."   not reconciled
    "Orne is far."                                                joined to nothing

where Works stands for the name ``WORKS``.
"""

from __future__ import annotations

from extractors import RuleExtractor

from hlgraph.chunk import WholeChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import source_id, statement_id
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


def _extract(chunk: ChunkInput) -> Extraction:
    """One proposition, whose one mention is the longest known name in it."""
    name = max((name for name in TEXTS if name in chunk.text), key=len)
    return Extraction((Proposition(chunk.text, 0, len(chunk.text), (), (Mention(name),)),))


def fill(stores: Stores) -> None:
    """Ingest the corpus."""
    documents = [Document(f"doc:{at}", text, "", {"year": at}) for at, text in enumerate(TEXTS.values())]
    steps = pipeline.Steps(WholeChunker(), RuleExtractor(_extract), EMBEDDER)
    pipeline.ingest(documents, CORPUS, stores=stores, steps=steps)


def statement_of(name: str) -> str:
    """The id of the statement that mentions a name."""
    return statement_id(source_id(CORPUS, f"doc:{list(TEXTS).index(name)}"), TEXTS[name])
