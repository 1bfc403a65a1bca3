"""A small corpus by hand: sentences, each with the names that it mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlgraph.chunk import WholeChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import entity_id
from hlgraph.ingest import pipeline
from hlgraph.records import Document, Extraction, Mention, Proposition
from hlgraph.stores.protocols import Stores
from hlgraph.testing.embedder import WordEmbedder

CORPUS = "named"
Said = Mapping[str, Sequence[str]]
"""The names of each sentence."""

SAYINGS: Mapping[str, Said] = {
    "doc:abbey": {
        "Saint-Orne Abbey was founded by Mara Quill.": ("Saint-Orne Abbey", "Mara Quill"),
        "M. Quill drew the cloister.": ("M. Quill", "cloister"),
    },
    "doc:guide": {
        "The Saint Orne Abbey burned in 1931.": ("Saint Orne Abbey",),
        "The World Water Bureau pays for the cloister.": ("World Water Bureau", "cloister"),
    },
    "doc:paper": {
        "WWB was founded in Tessing.": ("WWB", "Tessing"),
        "Ivo Quill lived in Tesing.": ("Ivo Quill", "Tesing"),
    },
}


class NamedExtractor:
    """The sentences of a document, one a line, with the names of ``sayings``; the title is the topic."""

    fingerprint = "named/1"
    problems: tuple[str, ...] = ()

    def __init__(self, sayings: Mapping[str, Said]) -> None:
        self._names = {text: names for said in sayings.values() for text, names in said.items()}

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction a chunk."""
        return [self._one(chunk.text, chunk.title) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """All that is looked at."""
        return f"{self.fingerprint}|{chunk.text}"

    def _one(self, text: str, title: str) -> Extraction:
        found, start = [], 0
        for line in text.splitlines():
            mentions = tuple(Mention(name, "thing") for name in self._names[line])
            found.append(Proposition(line, start, start + len(line), (title,), mentions))
            start += len(line) + 1
        return Extraction(tuple(found), (title,))


def ingest(stores: Stores, sayings: Mapping[str, Said] = SAYINGS, *, corpus: str = CORPUS) -> None:
    """Bring the documents into a corpus."""
    steps = pipeline.Steps(WholeChunker(), NamedExtractor(sayings), WordEmbedder())
    documents = [Document(uri, "\n".join(said), uri.partition(":")[2], {"file": uri}) for uri, said in sayings.items()]
    report = pipeline.ingest(documents, corpus, stores=stores, steps=steps)
    assert not report.failed
    assert not report.problems


def key(name: str, *, corpus: str = CORPUS) -> str:
    """The id of an entity."""
    return entity_id(corpus, name)
