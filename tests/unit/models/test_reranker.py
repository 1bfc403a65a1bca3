"""The lexical reranker: its formula against a plain one, and what must hold whatever the texts are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.errors import InputError
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.text import content_words

QUESTION = "Who built the stone bridge over the Alder?"
TEXTS = [
    "The stone bridge over the Alder was built by Mara Quill.",
    "The bridge is closed.",
    "A ferry crosses the river every hour.",
    "",
    "Bridge, bridge, bridge, bridge, bridge!",
]


class TwoTexts:
    """Knows the cosine of everything to the question by its first letter."""

    fingerprint = "letters"
    dimensions = 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = [0.0 if text[:1] == "W" else 1.5 if text[:1] == "T" else 3.0 for text in texts]
        return np.array([[math.cos(angle), math.sin(angle)] for angle in angles], np.float32)

    def forget(self, texts: Sequence[str]) -> None:
        """Nothing."""


def plain_score(question: str, texts: Sequence[str], row: int, cosine: float | None) -> float:
    """The docstring of the class, word for word."""
    terms, documents = set(content_words(question)), [content_words(text) for text in texts]
    mean = max(1.0, sum(len(words) for words in documents) / len(documents))
    words, bm25, covered, total = documents[row], 0.0, 0.0, 0.0
    for term in terms:
        having = sum(term in other for other in documents)
        idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        count = words.count(term)
        bm25 += idf * count * 2.2 / (count + 1.2 * (1 - 0.75 + 0.75 * len(words) / mean))
        covered += idf * (count > 0)
        total += idf
    parts = [(0.3, bm25 / (2.2 * total)), (0.3, covered / total)] if terms else []
    parts += [(0.4, max(0.0, cosine))] if cosine is not None else []
    return sum(weight * part for weight, part in parts) / (sum(weight for weight, _ in parts) or 1)


WORDS = st.sampled_from(["the", "a", "who", "bridge", "ferry", "stone", "keeper"])
SENTENCES = st.lists(st.lists(WORDS).map(" ".join), min_size=1)


@given(texts=SENTENCES, question=st.sampled_from([QUESTION, "who?", "stone stone ferry", ""]), data=st.data())
def test_scores_are_those_of_the_formula(texts: list[str], question: str, data: st.DataObject) -> None:
    cosines = st.lists(st.floats(-1, 1, width=32), min_size=len(texts), max_size=len(texts))
    given_cosines = data.draw(st.none() | cosines)
    similarities = None if given_cosines is None else np.array(given_cosines, np.float32)
    scores = LexicalReranker().rerank(question, texts, similarities=similarities)
    assert scores.dtype == np.float32
    for row in range(len(texts)):
        cosine = None if given_cosines is None else given_cosines[row]
        assert scores[row] == pytest.approx(plain_score(question, texts, row, cosine), abs=1e-6)


@given(texts=st.lists(st.text()), question=st.text())
def test_scores_are_bounded_and_do_not_depend_on_the_order(texts: list[str], question: str) -> None:
    reranker = LexicalReranker()
    scores = reranker.rerank(question, texts)
    assert scores.shape == (len(texts),)
    assert ((scores >= 0) & (scores <= 1)).all()
    np.testing.assert_array_equal(reranker.rerank(question, texts), scores)
    np.testing.assert_allclose(reranker.rerank(question, texts[::-1])[::-1], scores, atol=1e-6)


def test_the_text_that_answers_comes_first() -> None:
    scores = LexicalReranker().rerank(QUESTION, TEXTS)
    assert scores.argmax() == 0
    assert scores[2] == scores[3] == 0
    assert scores[0] > 2 * scores[4]  # saying one word often is not an answer


def test_similarity_counts_if_it_is_known() -> None:
    alike = ["The bridge is closed.", "The bridge is closed."]
    low, high = LexicalReranker().rerank(QUESTION, alike, similarities=np.array([-0.5, 0.9], np.float32))
    assert high - low == pytest.approx(0.4 * 0.9, abs=1e-6)
    without_words = LexicalReranker().rerank("Who?", alike, similarities=np.array([0.2, np.nan], np.float32))
    np.testing.assert_allclose(without_words, [0.2, 0], atol=1e-6)


def test_an_embedder_computes_the_cosines_that_the_caller_lacks() -> None:
    reranker = LexicalReranker(TwoTexts())
    cosines = np.array([math.cos(1.5), math.cos(1.5), math.cos(3), math.cos(3), math.cos(3)], np.float32)
    expected = LexicalReranker().rerank(QUESTION, TEXTS, similarities=cosines)
    np.testing.assert_allclose(reranker.rerank(QUESTION, TEXTS), expected, atol=1e-6)
    given = np.ones(5, np.float32)
    np.testing.assert_array_equal(
        reranker.rerank(QUESTION, TEXTS, similarities=given),
        LexicalReranker().rerank(QUESTION, TEXTS, similarities=given),
    )
    assert reranker.rerank(QUESTION, []).shape == (0,)
    assert reranker.fingerprint != LexicalReranker().fingerprint


def test_number_of_similarities_must_match_the_texts() -> None:
    with pytest.raises(InputError, match="one for each"):
        LexicalReranker().rerank(QUESTION, TEXTS, similarities=np.ones(2, np.float32))


def test_time_is_linear_in_the_candidates() -> None:
    texts = [f"{TEXTS[0]} It carried {number} carts a day before the flood." for number in range(5_000)]
    similarities = np.linspace(0, 1, len(texts), dtype=np.float32)
    reranker = LexicalReranker()
    assert_linear(
        lambda size: reranker.rerank(QUESTION, texts[:size], similarities=similarities[:size]), 500, times=10, slack=3
    )
