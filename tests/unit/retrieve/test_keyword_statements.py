"""The statements that mention most keywords, among hubs whose statements are too many to pull (HLG, Eq. 2 and 3)."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from extractors import sentence_extractor

from hlgraph.chunk import WholeChunker
from hlgraph.ids import entity_id, source_id, statement_id
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Kind, Statement
from hlgraph.retrieve import SearchRequest
from hlgraph.retrieve.request import Mode
from hlgraph.retrieve.search import search
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps import beam_walk
from hlgraph.retrieve.steps.beam_walk import keyword_statements, question_keywords
from hlgraph.retrieve.steps.region import Region
from hlgraph.stores.protocols import GraphStore, Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder()
_CORPUS = "hubs"
_PAIRS = 15
_STATEMENTS = 155  # of each hub
_FAN_OUT = 25  # the default of the strategies


class _Hubs(NamedTuple):
    """The store, and the statement with both names of each pair."""

    stores: Stores
    both: list[str]


def _uri(at: int) -> str:
    return f"doc:{at}"


def _id(uri: str, text: str) -> str:
    return statement_id(source_id(_CORPUS, uri), text)


def _document(at: int) -> tuple[Document, str]:
    """Two hubs, and the one statement that mentions both, whose id comes after all others of the two."""
    own = [f"{name}{at} has number {n}." for name in ("WEST", "EAST") for n in range(_STATEMENTS - 1)]
    last = max(_id(_uri(at), text) for text in own)
    both = next(text for n in range(100_000) if _id(_uri(at), text := f"WEST{at} met EAST{at} at {n}.") > last)
    return Document(_uri(at), " ".join([*own, both]), f"Pair {at}"), _id(_uri(at), both)


@pytest.fixture(scope="module")
def hubs(module_stores: Stores) -> _Hubs:
    documents = [_document(at) for at in range(_PAIRS)]
    names = sentence_extractor(re.compile(r"\b[A-Z][A-Z0-9]+\b").findall)
    steps = pipeline.Steps(WholeChunker(), names, _EMBEDDER)
    pipeline.ingest([document for document, _ in documents], _CORPUS, stores=module_stores, steps=steps)
    return _Hubs(module_stores, [both for _, both in documents])


def _session(stores: Stores, question: str, *, mode: Mode = "vector") -> Session:
    stats = stores.graph.stats(_CORPUS, has_counts=False)[0]
    request = SearchRequest(question, _CORPUS, mode=mode)
    return Session(request, stores, embedder=_EMBEDDER, reranker=LexicalReranker(), corpus=stats)


def _found(session: Session, *, k: int) -> list[str]:
    keywords = question_keywords(session)
    region = Region(session, fan_out=_FAN_OUT, neighbours=10)
    region.pull(sorted(set(keywords.values())), hops=1)
    best = keyword_statements(session, region, keywords=keywords, k=k, beside=np.empty(0, dtype=np.intp))
    return [region.ids[node] for node in best.tolist()]


def test_the_keyword_figure(hubs: _Hubs, capsys: pytest.CaptureFixture[str]) -> None:
    """Both names of a question are hubs: the statement that mentions both is first, wherever its id comes."""
    firsts = [
        _found(_session(hubs.stores, f"Where did WEST{at} meet EAST{at}?"), k=100)[0] == hubs.both[at]
        for at in range(_PAIRS)
    ]
    with capsys.disabled():
        print(f"\nkeyword figure: the statement with both keywords is found in {sum(firsts)} of {_PAIRS} questions")  # noqa: T201 - the figure is what it is for
    assert all(firsts)


@pytest.mark.parametrize("mode", ["vector", "text"])
@pytest.mark.parametrize("strategy", ["statement_graph", "topic_graph"])
def test_a_search_ranks_it(hubs: _Hubs, strategy: str, mode: Mode) -> None:
    request = SearchRequest("Where did WEST3 meet EAST3?", _CORPUS, 400, mode=mode, explain=True)
    found = search(request, strategy, stores=hubs.stores, embedder=_EMBEDDER, reranker=LexicalReranker())
    assert hubs.both[3] in {item.statement_id for item in found.evidence}
    [seeds] = [each for each in found.explain.seeds if each.origin == "keywords"]
    assert (seeds.best[0].id, seeds.best[0].score) == (hubs.both[3], 2.0)


@pytest.mark.parametrize("tied", [1_000, 7, 1])
@pytest.mark.parametrize("k", [1, 5, 100, 400])
def test_ties_are_broken_by_cosine_then_by_id(hubs: _Hubs, k: int, tied: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where the statements that tie are too many to read their embeddings, and a search takes their place."""
    monkeypatch.setattr(beam_walk, "_TIED", tied)
    session = _session(hubs.stores, "Has WEST2 or EAST2 number 17?")
    names = {entity_id(_CORPUS, "WEST2"), entity_id(_CORPUS, "EAST2")}
    held = hubs.stores.graph.records(Kind.STATEMENT, _every(hubs), scope=Scope(_CORPUS))
    statements = [item for item in held if isinstance(item, Statement)]
    counts = {item.id: len(names & {entity_id(_CORPUS, word) for word in item.text.split()}) for item in statements}
    cosines = session.similarities(Kind.STATEMENT, list(counts))
    wanted = sorted((item for item in counts if counts[item]), key=lambda item: (-counts[item], -cosines[item], item))
    assert _found(_session(hubs.stores, "Has WEST2 or EAST2 number 17?"), k=k) == wanted[:k]


def _every(hubs: _Hubs) -> list[str]:
    return [item.id for item in hubs.stores.graph.find(Kind.STATEMENT, Scope(_CORPUS))]


def test_a_store_without_its_own_match_counts_on_a_pull(hubs: _Hubs, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "Where did WEST2 meet EAST2?"
    expected = _found(_session(hubs.stores, question), k=400)
    monkeypatch.setattr(hubs.stores.graph, "match", partial(GraphStore.match, hubs.stores.graph))
    assert _found(_session(hubs.stores, question), k=400) == expected


def test_only_a_hub_takes_a_round_trip_more(hubs: _Hubs) -> None:
    for question, trips in (("Where did WEST2 meet EAST2?", 1), ("Where is WEST2?", 1), ("Where is nothing?", 0)):
        session = _session(hubs.stores, question)
        _found(session, k=5)
        assert [step.name for step in session.steps].count("match statements") == trips


def test_statements_beyond_the_deepest_search_are_dropped(hubs: _Hubs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam_walk, "_TIED", 10)
    monkeypatch.setattr(beam_walk, "_DEEPEST", 20)
    session = _session(hubs.stores, "Has WEST2 or EAST2 number 17?")
    found = _found(session, k=400)
    assert found[0] == hubs.both[2]
    assert 1 < len(found) <= 21
