"""Tests of the vectors of topics in both stores: subclass :class:`TopicContract` and define a fixture ``stores``.

A document is paragraphs ``TOPIC: Sentence. Sentence.``, one chunk each; its statements are the sentences, about that topic. A
paragraph without sentences names its topic alone.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from hlgraph.change import Change, ChangeState, Renewal, VectorBlock
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import normalise_name, statement_id, topic_id
from hlgraph.ingest import pipeline
from hlgraph.persist.journal import persist, resume
from hlgraph.records import Document, Extraction, Kind, Proposition, Source, Span, Topic
from hlgraph.stores.protocols import Scope, Stores, VectorBatch
from hlgraph.testing.corpus import DOCUMENTS, ChunkwiseExtractor, fill, new_change, snapshot
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder()
_OLD = "rivers: The Orne is long. It is deep.\nbridges: It is deep. It opened late.\nrivers: The Orne froze.\nhills:"


class Paragraphs:
    """One chunk per line."""

    fingerprint = "paragraphs/1"

    def chunk(self, document: Document) -> list[Span]:
        """The lines of a document."""
        return [Span(match.start(), match.end(), 1) for match in re.finditer(r"[^\n]+", document.text)]


class TopicExtractor(ChunkwiseExtractor):
    """Reads ``TOPIC: Sentence. Sentence.``"""

    fingerprint = "topics/1"

    def _one(self, chunk: ChunkInput) -> Extraction:
        topic = chunk.text.partition(":")[0]
        sentences = re.finditer(r"[A-Z][^.]*\.", chunk.text)
        return Extraction(tuple(Proposition(item[0], *item.span(), (topic,)) for item in sentences), (topic,))


def ingest_text(stores: Stores, text: str, *, corpus: str) -> None:
    """Bring the one document of a corpus to a text.

    Parameters
    ----------
    stores : the stores
    text : paragraphs
    corpus : name of the corpus
    """
    steps = pipeline.Steps(Paragraphs(), TopicExtractor(), _EMBEDDER)
    pipeline.ingest([Document("doc:1", text)], corpus, stores=stores, steps=steps)


def topic_vectors(stores: Stores, corpus: str) -> dict[str, list[float]]:
    """The vector of each topic of a corpus by its name, to 5 decimals.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus
    """
    names = {item.id: item.name for item in stores.graph.find(Kind.TOPIC, Scope(corpus)) if isinstance(item, Topic)}
    stored, matrix = stores.vectors.vectors(Kind.TOPIC, corpus, ids=list(names))
    return {names[name]: row.round(5).tolist() for name, row in zip(stored, matrix, strict=True)}


def make_older(stores: Stores, corpus: str, *, renewed: int = 0) -> None:
    """Bring the topics of a corpus to the state of version 0.1: embedded by their names.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus
    renewed : number of topics that were renewed before the renewal was interrupted
    """
    topics = [item for item in stores.graph.find(Kind.TOPIC, Scope(corpus)) if isinstance(item, Topic)]
    old = topics[renewed:]
    names = tuple(normalise_name(item.name) for item in old)
    data = _EMBEDDER.embed(names).tobytes()
    ids, sources = tuple(item.id for item in old), tuple(item.source_id for item in old)
    rows = VectorBlock(Kind.TOPIC, ids, names, sources, _EMBEDDER.dimensions, data)
    with stores.graph.lock():
        stores.vectors.upsert(VectorBatch(corpus, f"old {renewed}", (), (rows,)))
        mark = Renewal(topics[renewed - 1].id if renewed else "")
        persist(Change(f"mark {renewed}", corpus, renewal=mark), stores)


class TopicContract:
    """Tests that every pair of stores must pass."""

    def test_a_topic_lies_between_its_name_and_its_statements(self, stores: Stores) -> None:
        ingest_text(stores, _OLD, corpus="c")
        texts = ["The Orne is long.", "It is deep.", "The Orne froze."]
        mean = _EMBEDDER.embed(texts).sum(axis=0)
        vector = 0.4 * _EMBEDDER.embed(["rivers"])[0] + 0.6 * mean / np.linalg.norm(mean)
        vectors = topic_vectors(stores, "c")
        assert np.allclose(vectors["rivers"], vector / np.linalg.norm(vector), atol=1e-5)
        assert np.allclose(vectors["hills"], _EMBEDDER.embed(["hills"])[0], atol=1e-5)

    def test_a_changed_document_has_the_topics_of_a_fresh_ingest(self, stores: Stores) -> None:
        states = (
            _OLD,
            _OLD.replace(" It is deep.", "", 1),  # a statement that another chunk asserts about another topic
            _OLD.replace("\nrivers: The Orne froze.", ""),
            _OLD + "\nhills: The hill is high.",
            _OLD.replace("rivers: The Orne froze.", "bridges: The Orne froze.\nroads: It is deep."),
            _OLD.replace("The Orne is long. It is deep.", "").replace("The Orne froze.", ""),
            "hills:",
        )
        fresh: dict[str, dict[str, list[float]]] = {}
        for at, text in enumerate(states):
            ingest_text(stores, text, corpus=f"fresh{at}")
            fresh[text] = topic_vectors(stores, f"fresh{at}")
        for text in (*states, *states[-2::-2]):
            ingest_text(stores, text, corpus="changed")
            assert topic_vectors(stores, "changed") == fresh[text]

    def test_publishing_tells_the_statements_of_the_stored_topics_that_are_touched(self, stores: Stores) -> None:
        fill(stores)
        new = Document("doc:bridge", "The Aldane Bridge opened in 1931. It fell.", "Aldane Bridge")
        with stores.graph.lock():
            change = new_change(stores, new)
            stores.graph.stage(change)
            outcome = stores.graph.advance(change.id, ChangeState.PUBLISHED)
            source = next(item.id for item in change.sources if isinstance(item, Source))
            texts = ("The Aldane Bridge opened in 1931.", "It fell.")
            said = tuple(sorted(statement_id(source, text) for text in texts))
            assert outcome.about == {topic_id(source, "Aldane Bridge"): said}
            assert stores.graph.advance(change.id, ChangeState.PUBLISHED) == outcome
            stores.graph.advance(change.id, ChangeState.DONE)

    @pytest.mark.parametrize("renewed", [0, 2, len(DOCUMENTS)])
    def test_the_next_writer_renews_topics_of_an_older_version(self, stores: Stores, renewed: int) -> None:
        fill(stores)
        fill(stores, corpus="other")
        before = [snapshot(stores, corpus) for corpus in ("tiny", "other")]
        make_older(stores, "tiny", renewed=renewed)
        assert (snapshot(stores, "tiny") == before[0]) == (renewed == len(DOCUMENTS))
        marks = {item.corpus: item.renewed_to for item in stores.graph.stats(has_counts=False)}
        assert (marks["other"], marks["tiny"] is None, bool(marks["tiny"])) == (None, False, renewed > 0)
        with stores.graph.lock() as pending:
            assert resume(pending, stores) == 0
        assert [snapshot(stores, corpus) for corpus in ("tiny", "other")] == before
        assert [item.renewed_to for item in stores.graph.stats(has_counts=False)] == [None, None]
