"""A small corpus by hand: sentences, each with the names that it mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from extractors import RuleExtractor

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


def ingest(stores: Stores, sayings: Mapping[str, Said] = SAYINGS, *, corpus: str = CORPUS) -> None:
    """Ingest the documents: each line is a statement with the names of ``sayings``, the title is the topic."""
    names = {text: found for said in sayings.values() for text, found in said.items()}

    def extract(chunk: ChunkInput) -> Extraction:
        propositions, start = [], 0
        for line in chunk.text.splitlines():
            mentions = tuple(Mention(name, "thing") for name in names[line])
            propositions.append(Proposition(line, start, start + len(line), (chunk.title,), mentions))
            start += len(line) + 1
        return Extraction(tuple(propositions), (chunk.title,))

    steps = pipeline.Steps(WholeChunker(), RuleExtractor(extract), WordEmbedder())
    documents = [Document(uri, "\n".join(said), uri.partition(":")[2], {"file": uri}) for uri, said in sayings.items()]
    report = pipeline.ingest(documents, corpus, stores=stores, steps=steps)
    assert (report.failed, report.problems) == ([], [])


def key(name: str, *, corpus: str = CORPUS) -> str:
    """The id of an entity."""
    return entity_id(corpus, name)
