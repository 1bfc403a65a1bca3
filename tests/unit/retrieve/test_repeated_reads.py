"""What one question sends to the stores, counted: a repeat of a search or of a count of words comes back as a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from hlgraph.algorithms import word_counts
from hlgraph.algorithms.word_counts import WordCounts
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Chunk, Kind, Statement
from hlgraph.retrieve import SearchRequest, search
from hlgraph.retrieve.strategies.auto import AutoRetriever
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.corpus import CORPUS, fill
from hlgraph.testing.embedder import WordEmbedder

QUESTION = "Which architect repaired the bridge?"  # `auto` searches first, then asks `fused`
LONG = f"{QUESTION} {'The ferry was old, and the lamp of the tower was lit by Ada. ' * 4}"


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    fill(module_stores)
    return module_stores


# The first search of `auto` serves the paths, too.
SENT = {
    "search statement by vector": 1,
    "search statement by text": 1,
    "search chunk by vector": 1,
    "search topic by vector": 1,
    "search chunk by text": 0,
    "pull": 5,
}


def test_each_search_is_sent_once(stores: Stores) -> None:
    request = SearchRequest(QUESTION, CORPUS, 4, "chunk", explain=True)
    found = search(request, AutoRetriever(), stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    assert [step.details["strategy"] for step in found.explain.steps if step.name == "choose"] == ["fused"]
    counts = Counter(call.name for call in found.explain.calls)
    assert {name: counts[name] for name in SENT} == SENT


@pytest.mark.parametrize("question", [QUESTION, LONG])
def test_no_store_call_is_repeated_with_equal_parameters(stores: Stores, question: str) -> None:
    """Beside the versions of the corpus, which every step checks."""
    request = SearchRequest(question, CORPUS, 4, "chunk", explain=True)
    found = search(request, AutoRetriever(), stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    calls = Counter(
        (call.name, call.text, str(call.params))
        for call in found.explain.calls
        if "vector" not in call.params and call.params
    )
    assert [call for call, count in calls.items() if count > 1] == []


def test_a_text_is_counted_once_and_a_path_not_at_all(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Counter[str] = Counter()

    def counting(terms: Sequence[str], texts: Sequence[str]) -> WordCounts:
        counted.update(texts)
        return plain(terms, texts)

    plain = word_counts.count_words
    monkeypatch.setattr(word_counts, "count_words", counting)
    request = SearchRequest(QUESTION, CORPUS, 4, "chunk")
    search(request, AutoRetriever(), stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())
    records = [item for kind in (Kind.STATEMENT, Kind.CHUNK) for item in stores.graph.find(kind, Scope(CORPUS))]
    texts = {item.text for item in records if isinstance(item, Statement | Chunk)}
    assert set(counted.values()) == {1}
    assert all(any(text.endswith(known) for known in texts) and text.count("\n") <= 1 for text in counted)
    assert len(counted) <= len(records)
