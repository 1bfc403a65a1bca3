"""An explanation names nothing that a filter does not admit, whatever the corpus."""

from __future__ import annotations

import itertools
import json
import tempfile
from dataclasses import asdict

from hierarchies import with_hierarchy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.chunk import WholeChunker
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document
from hlgraph.retrieve import STRATEGIES, SearchRequest, search
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import TinyExtractor
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder()
_NAMES = ("Aldane Bridge", "Mara Quill", "Tessing", "Orne", "Ivo Brandt")
_SENTENCES = st.builds("{} saw {}".format, st.sampled_from(_NAMES), st.sampled_from(_NAMES))


@settings(max_examples=cases(3, 20), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(_SENTENCES, st.booleans()), min_size=1, max_size=8))
def test_an_explanation_names_nothing_that_the_filter_does_not_admit(sources: list[tuple[str, bool]]) -> None:
    documents = [
        Document(f"doc:{at}", f"{text} {'open' if is_open else 'hidden'}{at}.", f"Title{at}", {"is_open": is_open})
        for at, (text, is_open) in enumerate(sources)
    ]
    hidden = [f"{word}{at}" for at, (_, is_open) in enumerate(sources) if not is_open for word in ("hidden", "Title")]
    with tempfile.TemporaryDirectory() as folder:
        opened = open_stores(f"hlgraph://{folder}/s")
        with opened.closing:
            steps = pipeline.Steps(WholeChunker(), TinyExtractor(), _EMBEDDER)
            pipeline.ingest(documents, "c", stores=opened.stores, steps=steps)
            with_hierarchy(opened.stores, "c", embedder=_EMBEDDER)
            for strategy, unit in itertools.product(sorted(STRATEGIES), ("statement", "chunk")):
                where = parse("is_open = true")
                request = SearchRequest("Who saw Mara Quill in Tessing?", "c", 5, unit, "vector", where, explain=True)  # type: ignore[arg-type]
                result = search(request, strategy, stores=opened.stores, embedder=_EMBEDDER, reranker=LexicalReranker())
                told = json.dumps(asdict(result.explain)) + result.explain.to_html()
                assert not [word for word in hidden if word in told]
