"""Statements by keywords against a plain reference: all statements of the scope, sorted by mentions, cosine and id."""

from __future__ import annotations

import tempfile
from unittest import mock

import numpy as np
from extractors import known, sentence_extractor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.chunk import WholeChunker
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Kind, Statement
from hlgraph.retrieve import SearchRequest
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps import beam_walk
from hlgraph.retrieve.steps.region import Region
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Scope
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder()
_NAMES = ("Mara", "Ivo", "Orne", "Tessing")


_SENTENCES = st.builds(
    lambda names, word: " ".join([*sorted(names), word]),
    st.sets(st.sampled_from(_NAMES), max_size=4),
    st.sampled_from(["met", "left", "saw", "wrote", "slept"]),
)
_TEXTS = st.lists(_SENTENCES, min_size=1, max_size=12, unique=True).map(". ".join)


@settings(max_examples=cases(12, 60), suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.tuples(_TEXTS, st.booleans()), min_size=1, max_size=5),
    asked=st.lists(st.sampled_from([*_NAMES, "met", "slept"]), min_size=1, max_size=5, unique=True),
    bounds=st.tuples(st.sampled_from([1, 2, 20]), st.sampled_from([1, 3, 1_000]), st.sampled_from([1, 4, 50])),
    is_filtered=st.booleans(),
)
def test_the_best_of_all_statements(
    texts: list[tuple[str, bool]], asked: list[str], bounds: tuple[int, int, int], is_filtered: bool
) -> None:
    fan_out, tied, k = bounds
    documents = [Document(f"doc:{at}", text, "", {"open": flag}) for at, (text, flag) in enumerate(texts)]
    where = parse("open = true") if is_filtered else None
    with tempfile.TemporaryDirectory() as folder:
        opened = open_stores(f"hlgraph://{folder}/s")
        with opened.closing, mock.patch.object(beam_walk, "_TIED", tied):
            steps = pipeline.Steps(WholeChunker(), sentence_extractor(known(_NAMES)), _EMBEDDER)
            pipeline.ingest(documents, "c", stores=opened.stores, steps=steps)
            request = SearchRequest(" and ".join(asked), "c", where=where)
            corpus = opened.stores.graph.stats("c", has_counts=False)[0]
            session = Session(request, opened.stores, embedder=_EMBEDDER, reranker=LexicalReranker(), corpus=corpus)
            held = list(opened.stores.graph.find(Kind.STATEMENT, Scope("c", where)))
            counts = {
                item.id: sum(name in asked and name in item.text for name in _NAMES)
                for item in held
                if isinstance(item, Statement)
            }
            cosines = session.similarities(Kind.STATEMENT, list(counts))
            keywords = beam_walk.question_keywords(session)
            region = Region(session, fan_out=fan_out, neighbours=5)
            region.pull(sorted(set(keywords.values())), hops=1)
            nothing = np.empty(0, dtype=np.intp)
            found = beam_walk.keyword_statements(session, region, keywords=keywords, k=k, beside=nothing)
    wanted = sorted((item for item in counts if counts[item]), key=lambda item: (-counts[item], -cosines[item], item))
    assert [region.ids[node] for node in found.tolist()] == wanted[:k]
