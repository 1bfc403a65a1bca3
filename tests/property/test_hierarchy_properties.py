"""Whatever is ingested, edited and deleted: the hierarchy holds every chunk once and rests on nothing that is gone."""

from __future__ import annotations

import tempfile
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.index.hierarchy import RUN, HierarchyQuery, build_hierarchy
from hlgraph.index.summaries import ExtractiveSummariser
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Chunk, Document, Kind, Statement
from hlgraph.retrieve import SearchRequest, search
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder(16)
_STEPS = pipeline.Steps(ContentDefinedChunker(32, 0.0), LocalExtractor(), _EMBEDDER)  # two chunks for the longest
_LONG = 34
_WORDS = ("bridge", "mill", "comet", "river", "rye")
_TEXTS = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=9).map(
    lambda some: " ".join(f"The {word} of Ombry is old." for word in some)
)
# A text for a source, or nothing: it is deleted.
_STEP = st.dictionaries(st.integers(0, 7), st.none() | _TEXTS, min_size=1, max_size=8)


def _documents(state: dict[int, str]) -> list[Document]:
    return [
        Document(f"doc:{at}", f"{text} Note {at}.", f"T{at}", {"half": at % 2}) for at, text in sorted(state.items())
    ]


def _sources(chunks: dict[str, Chunk]) -> set[str]:
    return {item.source_id for item in chunks.values()}


def _check(stores: Stores, *, is_built: bool) -> None:
    derived = stores.graph.derived
    assert derived
    chunks = {item.id: item for item in stores.graph.find(Kind.CHUNK, Scope("c")) if isinstance(item, Chunk)}
    statements = {item.id for item in stores.graph.find(Kind.STATEMENT, Scope("c")) if isinstance(item, Statement)}
    communities = {item.id: item for item in derived.communities("c", RUN)}
    members = {name: {item.id for item in some} for name, some in derived.members(list(communities)).items()}
    finest = [name for item in communities.values() if item.level == 0 for name in members[item.id]]
    assert len(finest) == len(set(finest))
    items = derived.summaries("c", RUN).items
    of_source = {item.summary.id: item for item in items if item.source_id}
    assert set(finest) <= set(chunks) | set(of_source)
    for item in communities.values():
        assert item.size == len(members[item.id])
        assert item.parent_id is None or members[item.id] <= members[item.parent_id]
    for about in of_source.values():
        assert set(about.chunk_ids) == {item.id for item in chunks.values() if item.source_id == about.source_id}
    found = [item for item in items if not item.source_id]
    assert all(set(item.parts) <= statements | set(chunks) for item in found)
    assert all(item.community_id in communities for item in found)
    if is_built:
        assert set(finest) == set(chunks) | set(of_source)
        sizes = {
            name: [chunk.tokens for chunk in chunks.values() if chunk.source_id == name] for name in _sources(chunks)
        }
        long = {name for name, some in sizes.items() if len(some) > 1 and sum(some) > _LONG}
        assert {item.source_id for item in of_source.values()} == long
        large = {item.id for item in communities.values() if item.level == 0 and item.size > 1}
        assert {item.community_id for item in found if item.summary.level == 0} == large


@settings(max_examples=cases(6, 25), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_STEP, min_size=1, max_size=4), st.sampled_from(_WORDS))
def test_a_history_leaves_a_hierarchy_of_what_is_there(history: list[dict[int, str | None]], word: str) -> None:
    state: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        opened = open_stores(f"hlgraph://{folder}/s")
        with opened.closing:
            stores = opened.stores
            for step in history:
                gone = [at for at, text in step.items() if text is None and at in state]
                state = {at: text for at, text in {**state, **step}.items() if text is not None}
                pipeline.ingest(_documents(state), "c", stores=stores, steps=_STEPS)
                delete_sources([source_id("c", f"doc:{at}") for at in gone], "c", stores=stores)
                if not stores.graph.stats("c"):
                    continue
                _check(stores, is_built=False)
                summariser = ExtractiveSummariser(max_tokens=40)
                query = HierarchyQuery(threshold=0.3, max_size=3, long_source=_LONG)
                build_hierarchy("c", query, stores=stores, embedder=_EMBEDDER, summariser=summariser)
                _check(stores, is_built=True)
                for half in (0, 1):
                    request = SearchRequest(f"What of the {word}?", "c", 3, "chunk", "vector", parse(f"half = {half}"))
                    if not any(at % 2 == half for at in state):
                        continue
                    result = search(request, "hierarchy", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
                    assert result.evidence
                    assert {item.source.metadata["half"] for item in result.evidence} == {half}
                    for unit in ("mixed", "summary"):
                        asked = replace(request, unit=unit, k=20)
                        found = search(
                            asked, "hierarchy", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker()
                        )
                        opened_to = [part for item in found.evidence for part in (item, *item.rests_on)]
                        assert {part.source.metadata["half"] for part in opened_to} <= {half}
                        for part in (part for item in found.evidence for part in item.opened):
                            at = int(part.source.uri.partition(":")[2])
                            assert f"{state[at]} Note {at}."[part.start : part.end] == part.text
            assert all(item.is_fine for item in opened.check())
