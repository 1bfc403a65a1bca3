"""A tiny hand-made corpus: four passages about a bridge, an engineer, a town and a poet, with their extraction.

::

    bridge:   s1 "The Aldane Bridge was designed by Mara Quill."   Aldane Bridge, Mara Quill
              s2 "The Aldane Bridge opened in 1931."               Aldane Bridge
    engineer: s3 "Mara Quill was born in Tessing."                 Mara Quill, Tessing
    town:     s4 "Tessing lies on the river Orne."                 Tessing, Orne
    poet:     s5 "Ivo Brandt wrote about the Orne."                Ivo Brandt, Orne
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hlgraph.change import Change, Outcome
from hlgraph.chunk import WholeChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import WITHOUT_NAME
from hlgraph.index.embed import embed_change
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import Extracted, assemble, removal
from hlgraph.persist.compare import compare, plan_chunks
from hlgraph.persist.journal import persist
from hlgraph.records import (
    Chunk,
    Document,
    Extraction,
    Kind,
    Mention,
    Proposition,
    Record,
    Relationship,
    Source,
    Triple,
)
from hlgraph.stores.image.image import FOLLOWED
from hlgraph.stores.protocols import PullShape, Scope, Stores, by_id, find_records
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.text import words

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


class ChunkwiseExtractor:
    """An extractor that reads each chunk on its own: a subclass has a ``fingerprint`` and :meth:`_one`."""

    fingerprint: str
    problems: tuple[str, ...] = ()

    def extract(self, chunks: Iterable[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk."""
        return [self._one(chunk) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A fingerprint of everything that the extraction depends on."""
        return f"{self.fingerprint}|{chunk.title}|{chunk.text}"

    def _one(self, chunk: ChunkInput) -> Extraction:
        raise NotImplementedError


class TinyExtractor(ChunkwiseExtractor):
    """An extractor for the tiny corpus: sentences are propositions, with the known names and triples; the title is the topic."""

    fingerprint = "tiny/1"

    def _one(self, chunk: ChunkInput) -> Extraction:
        propositions: list[Proposition] = []
        start = 0
        for part in chunk.text.split(". "):
            text = part if part.endswith(".") else f"{part}."
            end = start + len(text)
            names = tuple(Mention(name, "name") for name in _NAMES if name in text)
            triples = (_TRIPLES[text],) if text in _TRIPLES else ()
            propositions.append(Proposition(text, start, min(end, len(chunk.text)), (chunk.title,), names, triples))
            start = end + 1
        return Extraction(tuple(propositions), (chunk.title,))


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
    sources = {source.uri: source for source in find_records(stores.graph, Source, scope=Scope(corpus))}
    for document in documents:
        processing = ("whole", extractor.fingerprint)
        compared = compare(document, corpus, stored=sources.get(document.uri), processing=processing, scheme=scheme)
        if compared is None:
            continue
        scope = Scope(corpus, sources=(compared.source.id,))
        chunks = by_id(stores.graph.find(Kind.CHUNK, scope), Chunk)
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


def new_change(stores: Stores, *documents: Document) -> Change:
    """The change that adds documents to the tiny corpus, which has none of them as they are."""
    change = change_for(documents, stores, embedder=WordEmbedder())
    assert change is not None
    return change


def remove(stores: Stores, *uris: str) -> Outcome:
    """Remove sources of the tiny corpus, whatever their versions.

    Parameters
    ----------
    stores : the stores
    uris : URIs of the sources; none: of all
    """
    sources = find_records(stores.graph, Source, scope=Scope(CORPUS))
    chosen = [source for source in sources if not uris or source.uri in uris]
    with stores.graph.lock():
        change = removal(CORPUS, [source.id for source in chosen], versions=[source.version for source in chosen])
        return persist(change, stores)


_COMMON = 0.33  # length of what all vectors have in common: a cosine of 0.1
_DECAY = 96.0  # components after which the deviation falls to 1 / e


class SeededEmbedder:
    """Embeds a text as the normalised sum of one pseudo-random direction per word, drawn from the seed and the word alone.

    A text has the same vector in every process and in every batch. Texts that share words are close: two texts of n words that
    share m have a cosine of about 0.1 + 0.9 m / n, give or take 0.1. It knows no meanings. Directions are kept by word, so
    memory grows with the vocabulary by 4 d bytes per word.

    The cosines of unlike texts are about those of all-MiniLM-L6-v2: 0.1 at the median, because all vectors have a direction in
    common, and as far apart, because a hundred components have most of the variance. So names and statements have the
    thresholds of the shipped embedder (:mod:`hlgraph.algorithms.calibration`), and names have few synonyms.

    Parameters
    ----------
    dimensions : length of every vector, default 384, as for the local model
    seed : seed of the directions, default 0; another seed makes another model

    Examples
    --------
    >>> a, b, c = SeededEmbedder().embed(["the old mill", "the old mill", "a new harbour"])
    >>> round(float(a @ b), 3), float(a @ c) < 0.5
    (1.0, True)
    """

    def __init__(self, dimensions: int = 384, *, seed: int = 0) -> None:
        self._dimensions = dimensions
        self._seed = seed
        self._places: dict[str, int] = {}
        self._directions = np.empty((1024, dimensions), dtype=np.float32)
        self._scale = np.exp(-np.arange(dimensions) / _DECAY).astype(np.float32)
        self._common = np.full(dimensions, dimensions**-0.5, dtype=np.float32)

    @property
    def fingerprint(self) -> str:
        """``made-up-2``, the seed and the dimensions."""
        return f"made-up-2/{self._seed}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, shape (texts, dimensions)."""
        columns: list[int] = []
        starts = [0]
        for text in texts:
            columns.extend(self._place(word) for word in words(text) or [""])
            starts.append(len(columns))
        ones = np.ones(len(columns), dtype=np.float32)
        shape = (len(texts), len(self._places))
        counts = sparse.csr_array(
            (ones, np.array(columns, dtype=np.int64), np.array(starts, dtype=np.int64)), shape=shape
        )
        rows = np.asarray(counts @ self._directions[: len(self._places)], dtype=np.float32)
        return _unit(_unit(rows) + _COMMON * self._common)

    def forget(self, texts: Sequence[str]) -> None:
        """Do nothing, because no text is stored."""

    def _place(self, word: str) -> int:
        place = self._places.get(word)
        if place is None:
            place = self._places[word] = len(self._places)
            if place == len(self._directions):
                self._directions = np.concatenate([self._directions, np.empty_like(self._directions)])
            digest = hashlib.sha256(f"{self._seed}/".encode() + word.encode("utf-8", "surrogatepass")).digest()
            rng = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:8], "big")))
            drawn = self._scale * rng.standard_normal(self._dimensions, dtype=np.float32)
            self._directions[place] = drawn / np.linalg.norm(drawn)
        return place


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


_KINDS = (Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY)
_WITH_VECTORS = (Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.ENTITY)
_UNDIRECTED = (Relationship.CO_OCCURS, Relationship.SYNONYM)


def snapshot(stores: Stores, corpus: str) -> Mapping[str, list[object]]:
    """The records by kind, the edges by relationship and the vectors of a corpus, without times and versions.

    Weights and vectors are rounded to 4 decimals. The version of a source is replaced by 1, since it counts edits and says
    nothing about the current state.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus
    """
    scope = Scope(corpus)
    records: dict[Kind, list[Record]] = {kind: list(stores.graph.find(kind, scope)) for kind in _KINDS}
    result: dict[str, list[object]] = {
        kind.value: [replace(item, version=1) if isinstance(item, Source) else item for item in items]
        for kind, items in records.items()
    }
    nodes = [item.id for items in records.values() for item in items]
    shape = PullShape(FOLLOWED, frozenset(_KINDS), hops=0, node_cap=max(len(nodes), 1))
    graph = stores.graph.pull(nodes, shape, scope=scope)
    for relationship, matrix in graph.edges.items():
        edges = matrix.tocoo()
        rows: list[object] = []
        for a, b, weight in zip(edges.row, edges.col, edges.data, strict=True):
            ends = (str(graph.ids[a]), str(graph.ids[b]))
            ends = (min(ends), max(ends)) if relationship in _UNDIRECTED else ends
            rows.append((*ends, round(float(weight), 4)))
        result[relationship.value] = sorted(rows, key=str)
    for kind in _WITH_VECTORS:
        ids = sorted(stores.vectors.ids(kind, corpus))
        stored, vectors = stores.vectors.vectors(kind, corpus, ids=ids)
        result[f"vectors of {kind.value}"] = list(zip(stored, vectors.round(4).tolist(), strict=True))
    result["described sources"] = [*sorted(stores.vectors.ids(Kind.SOURCE, corpus))]
    return result
