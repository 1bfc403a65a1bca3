"""What callers see on the servers is what they see on an embedded store that never held the rest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from live_stores import opened as opened_servers
from live_stores import settings_for
from thoroughness import cases

import hlgraph
from hlgraph.errors import AccessError
from hlgraph.records import Document, Entity, Fact, Kind
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.protocols import Scope
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.testing.leakage import CALLERS, History, every_call, leaks, listings, past_leaks, questions
from hlgraph.where import Caller

MODES = ("vector", "text", "hybrid")
STRATEGIES = cases(("auto", "diameter", "global", "topic_graph"), ())


@pytest.fixture
def embedded(tmp_path: Path) -> Callable[[], AbstractContextManager[HLGraph]]:
    numbers = itertools.count()

    @contextmanager
    def new() -> Iterator[HLGraph]:
        with hlgraph.connect(f"hlgraph://{tmp_path}/{next(numbers)}", embedder=WordEmbedder()) as graph:
            yield graph

    return new


@pytest.fixture
def graph(servers: Any) -> Iterator[HLGraph]:
    settings = settings_for(servers)
    with opened_servers(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        yield graph


@pytest.mark.parametrize("seed", range(4, 4 + cases(1, 10)))
def test_nothing_leaks_on_servers(
    graph: HLGraph, embedded: Callable[[], AbstractContextManager[HLGraph]], seed: int
) -> None:
    history = History.of(seed)
    moments = history.run(graph)
    parts = {
        "evidence",
        "communities",
        "map",
        "calibration",
        "seeds",
        "hops",
        "paths",
        "picture",
        "text",
        "citations",
        "error",
    }
    calls = every_call(strategies=STRATEGIES, modes=cases(("text",), MODES), seed=seed)
    found = list(leaks(graph, history, opened=embedded, calls=calls))
    calls = [*questions(strategies=("auto",), modes=("vector",), seed=seed), *listings()]
    found += past_leaks(graph, history, opened=embedded, moments=moments, calls=calls)
    assert [leak for leak in found if leak.part in parts] == []  # steps name where they ran


def test_entities_and_facts_are_named_as_the_sources_of_a_scope_name_them(
    graph: HLGraph, embedded: Callable[[], AbstractContextManager[HLGraph]]
) -> None:
    history = History.of(0)
    with embedded() as other:
        read = []
        for each in (graph, other):
            history.run(each)
            store = each.ingestion.opened.stores.graph
            facts = [record.id for record in store.find(Kind.FACT, Scope(each.corpus))]
            for groups in CALLERS:
                scope = Scope(each.corpus, Caller.of(groups).narrowed(None))
                names = store.entities(scope)
                entities = store.records(Kind.ENTITY, names, scope=scope)
                assert [record.id for record in entities] == list(names)
                read.append((entities, store.records(Kind.FACT, facts, scope=scope)))
        half = len(CALLERS)
        assert read[:half] == read[half:]
        assert all(entities and said for entities, said in read[:half])
        assert {type(record) for entities, said in read for record in (*entities, *said)} == {Entity, Fact}


def test_a_corpus_needs_a_caller_from_the_moment_that_a_source_names_a_group(graph: HLGraph) -> None:
    said = ("Mara Quill left Tessing.", "Ivo Brandt left Tessing.")
    graph.ingest([Document(f"file:///papers/{at}", text) for at, text in enumerate(said, 1)])
    assert len(graph.search("Who left Tessing?", strategy="statement").evidence) == 2
    graph.groups.set("works", uris="/papers/1")
    for ask in (graph.search, graph.answer):
        with pytest.raises(AccessError):
            ask("Who left Tessing?")
    view = graph.as_caller({"works"})
    assert [piece.source.uri for piece in view.search("Who left Tessing?", strategy="statement").evidence] == [
        "file:///papers/1"
    ]
    assert graph.groups.clear(uris="/papers") == 1
    assert len(graph.search("Who left Tessing?", strategy="statement").evidence) == 2
    assert view.search("Who left Tessing?", strategy="statement").evidence == ()


def test_an_unseen_source_does_not_change_scores_by_words(graph: HLGraph) -> None:
    papers = [Document(f"doc:{at}", f"Mara Quill left Tessing {at}.", metadata={"acl": "public"}) for at in range(3)]
    graph.ingest(papers)
    view = graph.as_caller({"public"})
    before = view.search("Who left Tessing 1?", strategy="statement", mode="text").evidence
    graph.ingest([Document("doc:more", "Tessing. Tessing 1 left. The mill left Tessing.", metadata={"acl": "works"})])
    after = view.search("Who left Tessing 1?", strategy="statement", mode="text").evidence
    assert [(piece.id, piece.score) for piece in after] == [(piece.id, piece.score) for piece in before]
    assert len(before) == 3
