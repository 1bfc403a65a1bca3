"""The share of a question's words that a set of statements covers together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.word_counts import WordCounts, rarity


class Coverage:
    """The share of a question's content words that texts cover together; rare words count more.

    ``c(T) = sum_(w in q and some t in T) idf(w) / sum_(w in q) idf(w)`` with ``idf(w) = ln(1 + (n - df(w) + 0.5) / (df(w) +
    0.5))`` over the ``n`` texts. This is the coverage of :class:`hlgraph.models.local.reranker.LexicalReranker`, with the texts
    of a path taken as one. 0 for a question without content words.

    Parameters
    ----------
    counted : counts of the question's content words in all texts that sets are made of

    Examples
    --------
    >>> from hlgraph.algorithms.word_counts import count_words
    >>> terms = ["ferry", "crosses", "arrel"]  # of "Which ferry crosses the Arrel?"
    >>> coverage = Coverage(count_words(terms, ["The ferry is old.", "The Arrel is a river."]))
    >>> coverage.of(np.array([[0, 1]])) > coverage.of(np.array([[0, 0]]))
    array([ True])
    """

    def __init__(self, counted: WordCounts) -> None:
        self._has = counted.counts > 0
        self._idf = rarity(self._has)

    def of(self, paths: NDArray[np.intp]) -> NDArray[np.float64]:
        """Shape (m,), coverage from 0 to 1 of paths of shape (m, l), which are indices into the texts."""
        if not len(self._idf):
            return np.zeros(len(paths))
        together = self._has[paths].any(axis=1)
        return np.asarray(together @ self._idf / self._idf.sum(), dtype=np.float64)
