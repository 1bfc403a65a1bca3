"""Fusing strategies: by hand, in both units, and what cannot be fused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hlgraph
from hlgraph.errors import InputError
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Chunk, Document, Hit, Kind, Source, Statement
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.retrieve.question.subqueries import clauses
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.facets import ByClause
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.fused import FusedRetriever, linked_passages
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import CORPUS, fill
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.text import content_words

QUESTION = "Where was the designer of the Aldane Bridge born?"


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    fill(module_stores)
    return module_stores


def _ask(stores: Stores, chosen: Retriever, unit: Unit) -> SearchResult:
    request = SearchRequest(QUESTION, CORPUS, 4, unit)
    return search(request, chosen, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())


def test_chunks_have_the_weighted_sum_of_their_reciprocal_ranks(stores: Stores) -> None:
    parts = (ChunkRetriever(), StatementRetriever())
    fused = _ask(stores, FusedRetriever(parts, (1.0, 2.0), rank_constant=10), "chunk")
    by_chunk = [item.chunk_id for item in _ask(stores, parts[0], "chunk").evidence]
    by_statement = [item.chunk_id for item in _ask(stores, parts[1], "chunk").evidence]
    expected: dict[str, float] = {}
    for weight, ranking in ((1.0, by_chunk), (2.0, by_statement)):
        for rank, item in enumerate(ranking, 1):
            expected[item] = expected.get(item, 0.0) + weight / (10 + rank) / (3.0 / 11)  # both first: 1
    assert {item.chunk_id: item.score for item in fused.evidence} == pytest.approx(expected)
    first = fused.evidence[0]
    assert first.why == {
        "rank 1 Chunk": by_chunk.index(first.chunk_id) + 1,
        "rank 2 Statement": by_statement.index(first.chunk_id) + 1,
    }


def test_statements_are_fused_where_statements_are_wanted(stores: Stores) -> None:
    found = _ask(
        stores, FusedRetriever((StatementRetriever(), StatementRetriever(has_rerank=False)), (1, 1)), "statement"
    )
    known = {item.id for item in stores.graph.find(Kind.STATEMENT, Scope(CORPUS)) if isinstance(item, Statement)}
    assert {item.statement_id for item in found.evidence} <= known
    assert all(set(item.why) == {"rank 1 Statement", "rank 2 Statement", "rerank", "cosine"} for item in found.evidence)


def test_strategies_of_chunks_alone_still_give_statements(stores: Stores) -> None:
    found = _ask(stores, FusedRetriever((ChunkRetriever(),), (1.0,)), "statement")
    assert all(item.statement_id for item in found.evidence)
    assert len(found.evidence) == 4


def test_the_default_finds_both_ends_of_the_bridge(stores: Stores) -> None:
    found = _ask(stores, FusedRetriever(), "chunk")
    assert {item.source.uri for item in found.evidence[:2]} == {"doc:bridge", "doc:engineer"}


def test_long_questions_weight_words_and_short_ones_the_graph() -> None:
    short, half, long = (FusedRetriever().weights_for("word " * number) for number in (4, 28, 60))
    assert short == pytest.approx(FusedRetriever().weights, rel=0.02)
    assert long == pytest.approx((0.7, 0.5, 1.2, 2.5, 1.6), rel=0.02)
    ends = zip((6, 2.5, 0.05, 0.05, 0.05), (0.7, 0.5, 1.2, 2.5, 1.6), strict=True)
    assert half == pytest.approx([math.sqrt(a * b) for a, b in ends])


def test_weights_of_ones_own_are_the_same_for_every_length_unless_long_ones_are_given() -> None:
    parts = (ChunkRetriever(), ChunkRetriever(mode="text"))
    assert FusedRetriever(parts, (1.0, 2.0)).weights_for("word " * 60) == pytest.approx((1.0, 2.0))
    given = FusedRetriever(parts, (1.0, 0.0), long_weights=(0.0, 3.0))
    assert given.weights_for("word " * 28) == (0.0, 0.0)
    with pytest.raises(InputError, match="2 strategies and 1 long_weights"):
        FusedRetriever(parts, (1.0, 2.0), long_weights=(1.0,))


def test_the_explanation_has_the_weights_and_names_the_parts(stores: Stores) -> None:
    found = _ask(stores, FusedRetriever(), "chunk")
    (step,) = (step for step in found.explain.steps if step.name == "fuse")
    assert list(step.details) == ["parts", "weight 1 Path", "weight 2 TopicGraph"]
    request = SearchRequest(f"{QUESTION} {'And why? ' * 20}", CORPUS, 4, "chunk")
    found = search(request, FusedRetriever(), stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    (step,) = (step for step in found.explain.steps if step.name == "fuse")
    assert [name for name in step.details if " by " in name] == [
        "weight 3 Chunk by text",
        "weight 4 Statement by clause",
        "weight 5 Chunk by text by clause",
    ]


@pytest.mark.parametrize("unit", ["chunk", "statement"])
def test_scores_are_from_0_to_1_and_no_step_asks_a_model(stores: Stores, unit: Unit) -> None:
    request = SearchRequest(QUESTION, CORPUS, 10, unit)
    chat = ScriptedChat([])
    found = search(
        request, FusedRetriever(), stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker(), chat=chat
    )
    assert all(0 < item.score <= 1 for item in found.evidence)
    assert chat.asked == []


def test_text_hits_contribute_their_best_statement(stores: Stores) -> None:
    parts = (ChunkRetriever(mode="text"), StatementRetriever())
    found = _ask(stores, FusedRetriever(parts, (1.0, 0.1)), "statement")
    by_text = [item.chunk_id for item in _ask(stores, ChunkRetriever(mode="text"), "chunk").evidence]
    ranked = [item for item in found.evidence if "rank 1 Chunk by text" in item.why]
    assert [item.chunk_id for item in ranked] == by_text[: len(ranked)]
    assert len(ranked) == len({item.chunk_id for item in ranked}) > 1


def test_named_field_boosts_sources_without_filtering(tmp_path: Path) -> None:
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(
            Document(f"doc:{paper}", f"The bridge at Ombry was closed, wrote a {kind}.", metadata=metadata)
            for paper, kind, metadata in (
                ("a", "reader", {"publisher": "Haldrey Post", "printed": "1931-05-03"}),
                ("b", "clerk", {"publisher": "Courier", "printed": "1931-05-03T08:00:00"}),
                ("c", "baker", {"publisher": "Courier", "printed": "1932-01-01"}),
            )
        )
        question = "What did the Courier of May 3, 1931 write about the bridge at Ombry?"
        plain = graph.search(question, strategy=FusedRetriever(field_boost=0))
        boosted = graph.search(question, strategy=FusedRetriever())
        assert next(item.source.uri for item in boosted.evidence) == "doc:b"
        assert boosted.evidence[0].why["fields"] == "printed, publisher"
        assert {item.source.uri for item in boosted.evidence} == {item.source.uri for item in plain.evidence}
        assert all(0 < item.score <= 1 for item in boosted.evidence)


def test_each_clause_is_ranked_by_itself_and_the_rankings_are_fused(stores: Stores) -> None:
    question = (
        "Does the report on the Aldane Bridge say that it was designed by an engineer from a small town, while the other "
        "report says that the poet was born there too?"
    )
    expected: dict[str, float] = {}
    for clause in clauses(question):
        for rank, item in enumerate(_best(stores, ChunkRetriever(), clause), 1):
            expected[item] = expected.get(item, 0.0) + 1 / (6 + rank)
    assert len(clauses(question)) == 2
    found = _best(stores, ByClause(ChunkRetriever()), question)
    assert sorted(found) == sorted(expected)
    assert [expected[item] for item in found] == sorted(expected.values(), reverse=True)
    assert _best(stores, ByClause(ChunkRetriever()), QUESTION) == _best(stores, ChunkRetriever(), QUESTION)


def _best(stores: Stores, chosen: Retriever, question: str) -> list[str]:
    request = SearchRequest(question, CORPUS, 4, "chunk")
    found = search(request, chosen, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    return [item.chunk_id for item in found.evidence]


def test_links_are_names_of_titles_that_the_statements_of_a_passage_mention(stores: Stores) -> None:
    [corpus] = stores.graph.stats(CORPUS, has_counts=False)
    request = SearchRequest(QUESTION, CORPUS)
    session = Session(request, stores, embedder=WordEmbedder(), reranker=LexicalReranker(), corpus=corpus)
    source_of = {
        item.id: item.uri for item in stores.graph.find(Kind.SOURCE, Scope(CORPUS)) if isinstance(item, Source)
    }
    chunks = {
        source_of[item.source_id]: item.id
        for item in stores.graph.find(Kind.CHUNK, Scope(CORPUS))
        if isinstance(item, Chunk)
    }
    order = ("doc:bridge", "doc:engineer", "doc:town", "doc:poet")
    found = linked_passages(session, [*(Hit(chunks[name], 1.0) for name in order), Hit("gone", 0.5)])
    assert found.is_named.tolist() == [True, False, False, False, False]
    assert [np.flatnonzero(row).tolist() for row in found.mentions] == [[0, 1], [1, 2], [2], [3], []]
    words = content_words(QUESTION)  # designer, aldane, bridge, born
    assert [[word for word, has in zip(words, row, strict=True) if has] for row in found.covers] == [
        ["aldane", "bridge"],
        ["born"],
        [],
        [],
        [],
    ]


@pytest.mark.parametrize("unit", ["chunk", "statement"])
def test_links_boost_passages_mentioned_by_good_ones(stores: Stores, unit: Unit) -> None:
    request = SearchRequest(QUESTION, CORPUS, 10, unit)
    linked, plain = (
        search(request, FusedRetriever(linked=most), stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
        for most in (None, 0)
    )
    town = {name: _score(found, "doc:town") for name, found in (("linked", linked), ("plain", plain))}
    poet = {name: _score(found, "doc:poet") for name, found in (("linked", linked), ("plain", plain))}
    assert town["linked"] / poet["linked"] > town["plain"] / poet["plain"]
    assert max(item.score for item in linked.evidence) <= 1
    assert any(isinstance(item.why["links"], float) and item.why["links"] > 1 for item in linked.evidence)
    assert all("links" not in item.why for item in plain.evidence)


def test_links_are_off_for_long_questions_and_custom_parts(stores: Stores) -> None:
    for question, chosen in ((f"{QUESTION} {'And why? ' * 20}", FusedRetriever()), (QUESTION, _TWO)):
        request = SearchRequest(question, CORPUS, 4, "chunk")
        found = search(request, chosen, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
        assert "links" not in [step.name for step in found.explain.steps]
    asked = replace(_TWO, linked=2)
    assert [step.count for step in _ask(stores, asked, "chunk").explain.steps if step.name == "links"] == [2]
    with pytest.raises(InputError, match="linked is -1"):
        FusedRetriever(linked=-1)


_TWO = FusedRetriever((ChunkRetriever(), StatementRetriever()), (1.0, 1.0))


def _score(found: SearchResult, uri: str) -> float:
    return max(item.score for item in found.evidence if item.source.uri == uri)


def test_a_mode_of_its_own_goes_before_that_of_the_request(stores: Stores) -> None:
    by_text = search(
        SearchRequest(QUESTION, CORPUS, 4, "chunk", mode="text"),
        ChunkRetriever(),
        stores=stores,
        embedder=WordEmbedder(),
        reranker=LexicalReranker(),
    )
    own = _ask(stores, ChunkRetriever(mode="text"), "chunk")
    assert [(item.chunk_id, item.why) for item in own.evidence] == [
        (item.chunk_id, item.why) for item in by_text.evidence
    ]
    with pytest.raises(InputError, match="mode is 'words'; choose one of: "):
        ChunkRetriever(mode="words")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "weights", "message"),
    [
        ((), (), "there are 0 strategies and 0 weights; give at least one, and one each"),
        ((ChunkRetriever(),), (1.0, 1.0), "there are 1 strategies and 2 weights"),
        ((ChunkRetriever(),), (-1.0,), "a weight is -1.0"),
    ],
)
def test_invalid_fusion_arguments_are_rejected(
    parts: tuple[Retriever, ...], weights: tuple[float, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        FusedRetriever(parts, weights)
