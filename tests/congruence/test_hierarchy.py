"""The hierarchy on Neo4j beside that of the embedded store: the same layers, edits and answers; a kill shows nothing by halves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hierarchies import with_hierarchy
from live_stores import empty, neo4j_of

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.index.hierarchy import RUN, HierarchyQuery
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document
from hlgraph.retrieve import SearchRequest, search
from hlgraph.settings import Settings
from hlgraph.stores.neo4j.derived import Neo4jDerivedStore
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import Stores
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder(48)
_STEPS = pipeline.Steps(ContentDefinedChunker(32, 0.0), LocalExtractor(), _EMBEDDER)
_QUERY = HierarchyQuery(long_source=40)
_WORDS = ("bridge arch mason pier stone toll", "mill sail rye flour miller baker", "comet lens dome orbit night tail")


def _chronicle(*more: str) -> Document:
    """A source that gets a summary of its own."""
    told = [
        f"The old {words.split()[0]} at Ombry is known, and its {words.split()[1]} is {n} of all that there are."
        for n, words in enumerate(_WORDS)
    ]
    return Document("doc:chronicle", " ".join([*told, *more]), "Chronicle", {"n": 9})


def _documents() -> list[Document]:
    notes = [
        Document(
            f"doc:{theme}:{word}",
            f"The old {words.split()[0]} at Ombry is known. The {word} is {n}.",
            f"T{n}",
            {"n": n},
        )
        for theme, words in enumerate(_WORDS)
        for n, word in enumerate(words.split())
    ]
    return [_chronicle(), *notes]


class Both(NamedTuple):
    """The two stores with the same corpus."""

    embedded: Opened
    live: Opened


@pytest.fixture
def both(servers: Any, tmp_path: Path) -> Iterator[Both]:
    empty(servers)
    embedded = open_stores(f"hlgraph://{tmp_path}/store")
    live = open_stores(
        Settings(store=servers.neo4j.url, vectors=f"hlgraph://{tmp_path}/vectors", neo4j=neo4j_of(servers))
    )
    with embedded.closing, live.closing:
        for opened in (embedded, live):
            pipeline.ingest(_documents(), "c", stores=opened.stores, steps=_STEPS)
        yield Both(embedded, live)


def _state(stores: Stores) -> tuple[object, ...]:
    derived = stores.graph.derived
    assert derived
    communities = derived.communities("c", RUN)
    found = derived.summaries("c", RUN)
    items = [
        (item.summary, item.community_id, item.source_id, item.chunk_ids, item.parts, item.vector.tolist())
        for item in found.items
    ]
    return communities, derived.members([item.id for item in communities]), items, found.matrix.tolist()


def _found(stores: Stores, question: str, where: str) -> list[tuple[str, float]]:
    request = SearchRequest(question, "c", 6, "chunk", "vector", parse(where) if where else None)
    result = search(request, "hierarchy", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
    return [(item.chunk_id, item.score) for item in result.evidence]


def test_both_hold_and_find_the_same_after_every_step(both: Both) -> None:
    old = _documents()[4]
    edited = Document(old.uri, f"{old.text} It was mended.", old.title, old.metadata)
    for step in range(7):
        for opened in both:
            if step == 1:
                pipeline.ingest([edited], "c", stores=opened.stores, steps=_STEPS)
            elif step == 2:
                delete_sources([source_id("c", _documents()[9].uri)], "c", stores=opened.stores)
            elif step == 4:
                pipeline.ingest([_chronicle("Nobody knows who built it all.")], "c", stores=opened.stores, steps=_STEPS)
            elif step == 6:
                delete_sources([source_id("c", "doc:chronicle")], "c", stores=opened.stores)
            if step in (0, 3, 5):
                with_hierarchy(opened.stores, "c", embedder=_EMBEDDER, query=_QUERY)
            assert all(item.is_fine for item in opened.check())
        one, two = (_state(opened.stores) for opened in both)
        assert one == two, step
        assert one[2]
        assert any(item[2] for item in one[2]) == (step in (0, 1, 2, 3, 5))  # type: ignore[attr-defined]
        for question, where in (("bridge arch pier toll", ""), ("mill rye", "n > 1"), ("comet", "n != 0")):
            here, there = (_found(opened.stores, question, where) for opened in both)
            assert [name for name, _ in here] == [name for name, _ in there]
            assert [score for _, score in there] == pytest.approx([score for _, score in here], abs=1e-6)


@pytest.mark.parametrize("moment", ["after the summaries of sources", "before it is shown", "after it is shown"])
def test_a_build_that_is_killed_is_seen_whole_or_not_at_all(
    both: Both, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    stores = both.live.stores
    with_hierarchy(stores, "c", embedder=_EMBEDDER, query=_QUERY)
    delete_sources([source_id("c", _documents()[1].uri)], "c", stores=stores)
    pipeline.ingest([_chronicle("Nobody knows who built it all.")], "c", stores=stores, steps=_STEPS)
    before = _state(stores)
    drops: list[str] = []
    stages: list[int] = []
    real_stage, real_drop = Neo4jDerivedStore._stage_summaries, Neo4jDerivedStore._drop_hidden

    def stage(store: Neo4jDerivedStore, *args: Any) -> None:
        real_stage(store, *args)
        stages.append(1)
        if moment == ("after the summaries of sources", "before it is shown")[len(stages) - 1]:
            raise KeyboardInterrupt

    def drop(store: Neo4jDerivedStore, corpus: str) -> None:
        drops.append(corpus)
        if len(drops) == 2:
            raise KeyboardInterrupt
        real_drop(store, corpus)

    monkeypatch.setattr(Neo4jDerivedStore, "_stage_summaries", stage)
    monkeypatch.setattr(Neo4jDerivedStore, "_drop_hidden", drop)
    with pytest.raises(KeyboardInterrupt):
        with_hierarchy(stores, "c", embedder=_EMBEDDER, query=_QUERY)
    monkeypatch.undo()
    assert (_state(stores) == before) == (moment != "after it is shown")
    wrong = {item.check for item in both.live.check() if not item.is_fine}
    assert ("unfinished summaries" if moment == "after the summaries of sources" else "unfinished communities") in wrong
    assert wrong <= {"unfinished communities", "unfinished summaries"}
    built = with_hierarchy(stores, "c", embedder=_EMBEDDER, query=_QUERY)[0]
    assert built.is_unchanged == (moment == "after it is shown")
    # What was left is gone with the next deletion at the latest, and with everything else when all is deleted.
    delete_sources([source_id("c", item.uri) for item in _documents()], "c", stores=stores)
    assert all(item.is_fine for item in both.live.check())
    assert stores.graph.derived
    assert stores.graph.derived.runs("c") == ()
