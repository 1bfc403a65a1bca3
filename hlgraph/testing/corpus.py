"""A tiny hand-made corpus: four passages about a bridge, an engineer, a town and a poet, with their extraction.

::

    bridge:   s1 "The Aldane Bridge was designed by Mara Quill."   Aldane Bridge, Mara Quill
              s2 "The Aldane Bridge opened in 1931."               Aldane Bridge
    engineer: s3 "Mara Quill was born in Tessing."                 Mara Quill, Tessing
    town:     s4 "Tessing lies on the river Orne."                 Tessing, Orne
    poet:     s5 "Ivo Brandt wrote about the Orne."                Ivo Brandt, Orne
"""

from __future__ import annotations

from collections.abc import Iterable

from hlgraph.change import Change
from hlgraph.chunk import WholeChunker
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import WITHOUT_NAME
from hlgraph.index import embed_change
from hlgraph.models.seams import Embedder
from hlgraph.persist import Extracted, assemble, compare, persist, plan_chunks
from hlgraph.records import Chunk, Document, Extraction, Kind, Mention, Proposition, Source, Triple
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

CORPUS = "tiny"
_TRIPLES = {
    "The Aldane Bridge was designed by Mara Quill.": Triple("Aldane Bridge", "designed by", "Mara Quill"),
    "The Aldane Bridge opened in 1931.": Triple("Aldane Bridge", "opened in", "1931", is_literal=True),
    "Mara Quill was born in Tessing.": Triple("Mara Quill", "born in", "Tessing"),
    "Tessing lies on the river Orne.": Triple("Tessing", "lies on", "Orne"),
    "Ivo Brandt wrote about the Orne.": Triple("Ivo Brandt", "wrote about", "Orne"),
}
_NAMES = ("Aldane Bridge", "Mara Quill", "Tessing", "Orne", "Ivo Brandt")

DOCUMENTS = (
    Document(
        "doc:bridge",
        "The Aldane Bridge was designed by Mara Quill. The Aldane Bridge opened in 1931.",
        "Aldane Bridge",
        {"category": "structure", "year": 1931, "tags": ("bridge", "steel"), "is_open": True},
    ),
    Document("doc:engineer", "Mara Quill was born in Tessing.", "Mara Quill", {"category": "person", "year": 1889}),
    Document("doc:town", "Tessing lies on the river Orne.", "Tessing", {"category": "place"}),
    Document("doc:poet", "Ivo Brandt wrote about the Orne.", "Ivo Brandt", {"category": "person", "height": 1.75}),
)


class TinyExtractor:
    """An extractor for the tiny corpus: sentences are propositions, with the known names and triples; the title is the topic."""

    fingerprint = "tiny/1"
    problems: tuple[str, ...] = ()

    def extract(self, chunks: Iterable[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk."""
        return [self._one(chunk) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A fingerprint of everything that the extraction depends on."""
        return f"{self.fingerprint}|{chunk.title}|{chunk.text}"

    def _one(self, chunk: ChunkInput) -> Extraction:
        found: list[Proposition] = []
        start = 0
        for part in chunk.text.split(". "):
            text = part if part.endswith(".") else f"{part}."
            end = start + len(text)
            names = tuple(Mention(name, "name") for name in _NAMES if name in text)
            triples = (_TRIPLES[text],) if text in _TRIPLES else ()
            found.append(Proposition(text, start, min(end, len(chunk.text)), (chunk.title,), names, triples))
            start = end + 1
        return Extraction(tuple(found), (chunk.title,))


def change_for(
    documents: Iterable[Document],
    stores: Stores,
    *,
    embedder: Embedder,
    corpus: str = CORPUS,
    scheme: int = WITHOUT_NAME,
) -> Change | None:
    """The change that adds documents to a corpus in its current state; None if nothing is new.

    Parameters
    ----------
    documents : the documents
    stores : the stores that hold the corpus
    embedder : embeds the new texts
    corpus : name of the corpus, default ``tiny``
    scheme : scheme of the ids of new sources
    """
    items: list[Extracted] = []
    extractor = TinyExtractor()
    for document in documents:
        held = {item.uri: item for item in stores.graph.find(Kind.SOURCE, Scope(corpus)) if isinstance(item, Source)}
        processing = ("whole", extractor.fingerprint)
        compared = compare(document, corpus, stored=held.get(document.uri), processing=processing, scheme=scheme)
        if compared is None:
            continue
        scope = Scope(corpus, sources=(compared.source.id,))
        chunks = {item.id: item for item in stores.graph.find(Kind.CHUNK, scope) if isinstance(item, Chunk)}
        plan = plan_chunks(compared, WholeChunker().chunk(document), stored=chunks, extractor=extractor)
        extractions = extractor.extract(context for _, context in plan.to_extract)
        items.append(Extracted(compared, plan, tuple(extractions)))
    if not items:
        return None
    change = assemble(corpus, items)
    known = frozenset(name for item in items for name in item.plan.known)
    return embed_change(change, known, embedder=embedder, stores=stores)


def fill(stores: Stores, *documents: Document, corpus: str = CORPUS, scheme: int = WITHOUT_NAME) -> None:
    """Add documents to the stores.

    Parameters
    ----------
    stores : the stores
    documents : default all documents of the tiny corpus
    corpus : name of the corpus, default ``tiny``
    scheme : scheme of the ids of new sources
    """
    with stores.graph.lock():
        change = change_for(documents or DOCUMENTS, stores, embedder=WordEmbedder(), corpus=corpus, scheme=scheme)
        if change is not None:
            persist(change, stores)
