"""Score texts against a question by vector similarity and by words; needs no download."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.word_counts import WordCounts, count_words
from hlgraph.errors import InputError
from hlgraph.models.protocols import Embedder
from hlgraph.text import content_words

_SEMANTIC, _BM25, _COVERAGE = 0.4, 0.3, 0.3
_SATURATION, _LENGTH_NORM = 1.2, 0.75  # k1 and b of BM25


class LexicalReranker:
    """A reranker whose score is the weighted mean of cosine similarity, BM25 and question coverage, each from 0 to 1.

    ``score = 0.4 s + 0.3 b + 0.3 c`` for a text ``t``, a question ``q`` with content words ``w`` and ``n`` candidates:

    - ``s = max(0, cosine(q, t))``
    - ``b = sum_w idf(w) tf(w, t) (k1 + 1) / (tf(w, t) + k1 (1 - b' + b' |t| / mean |t|)) / sum_w idf(w) (k1 + 1)``: BM25
      with k1 = 1.2 and b' = 0.75, divided by its upper bound
    - ``c = sum_(w in t) idf(w) / sum_w idf(w)``: the share of the question that the text covers
    - ``idf(w) = ln(1 + (n - df(w) + 0.5) / (df(w) + 0.5))`` over the candidates: a word that occurs in all of them has little
      weight, and a word that occurs in none lowers every score

    If a part is unknown (no cosines, or a question without content words), the mean is over the others. If no part is
    known, all scores are 0. The time is linear in the length of the texts.

    Parameters
    ----------
    embedder : computes cosines for callers that pass none; default: scores without cosines

    References
    ----------
    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.

    Examples
    --------
    >>> reranker = LexicalReranker()
    >>> scores = reranker.rerank("Who built the old bridge?", ["The bridge is old.", "A ferry crosses the river."])
    >>> bool(scores[0] > scores[1])
    True
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        """Name and version of the formula, and the fingerprint of the embedder if there is one."""
        return f"lexical-2+{self._embedder.fingerprint}" if self._embedder else "lexical-2"

    def rerank(
        self, question: str, texts: Sequence[str], *, similarities: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """One score per text, from 0 to 1.

        Parameters
        ----------
        question : the question, plain text
        texts : the candidates; the idf is computed over them
        similarities : cosine similarity of each text to the question; default: from the embedder, if there is one

        Returns
        -------
        NDArray
            Scores of shape ``(len(texts),)``, float32.

        Raises
        ------
        InputError
            The number of similarities is not the number of texts.
        """
        if similarities is None and self._embedder is not None and texts:
            question_vector, *text_vectors = self._embedder.embed([question, *texts])
            similarities = np.stack(text_vectors) @ question_vector
        if similarities is not None and np.shape(similarities) != (len(texts),):
            raise InputError(
                f"similarities has the shape {np.shape(similarities)} for {len(texts)} texts; give one for each text"
            )
        return lexical_scores(
            count_words(list(dict.fromkeys(content_words(question))), texts), similarities=similarities
        )


def lexical_scores(counted: WordCounts, *, similarities: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """The scores of :class:`LexicalReranker`, from the counts of the question's words in the texts.

    Parameters
    ----------
    counted : counts and lengths of n texts
    similarities : shape (n,), cosine similarity of each text to the question; None: not known

    Returns
    -------
    NDArray
        Shape (n,), float32, from 0 to 1.
    """
    total, weight = np.zeros(len(counted.lengths)), 0.0
    if similarities is not None:
        total += _SEMANTIC * np.clip(np.nan_to_num(similarities.astype(np.float64)), 0, 1)
        weight += _SEMANTIC
    if counted.counts.size:
        bm25, coverage = _lexical_scores(counted)
        total += _BM25 * bm25 + _COVERAGE * coverage
        weight += _BM25 + _COVERAGE
    return np.clip(total / (weight or 1.0), 0, 1).astype(np.float32)


def _lexical_scores(counted: WordCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """BM25 divided by its upper bound, and the coverage of the question, for each text."""
    counts, lengths = counted
    text_counts = np.count_nonzero(counts, axis=0)
    idf = np.log1p((len(lengths) - text_counts + 0.5) / (text_counts + 0.5))
    norm = _SATURATION * (1 - _LENGTH_NORM + _LENGTH_NORM * lengths / max(1.0, float(lengths.mean())))
    # A text without words has no counts, and its norm is still above 0.
    saturated = counts * (_SATURATION + 1) / (counts + norm[:, np.newaxis])
    return saturated @ idf / (idf.sum() * (_SATURATION + 1)), (counts > 0) @ idf / idf.sum()
