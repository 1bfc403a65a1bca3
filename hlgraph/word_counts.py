"""How often texts have the words of a question: what scores by words are made of, counted without listing every word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import filterfalse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.text import STOP_WORDS, fold, folded_words


class WordCounts(NamedTuple):
    """The words of texts.

    Attributes
    ----------
    counts : shape (n, t), how often text ``i`` has term ``j``
    lengths : shape (n,), how many content words each text has
    """

    counts: NDArray[np.float64]
    lengths: NDArray[np.float64]


def count_words(terms: Sequence[str], texts: Sequence[str]) -> WordCounts:
    """Counts of terms, which are content words as :func:`hlgraph.text.content_words` gives them, in each text.

    Takes time linear in the length of the texts.

    Examples
    --------
    >>> count_words(["ferry"], ["The ferry to the ferry house.", "Ferries"])
    WordCounts(counts=array([[2.],
           [0.]]), lengths=array([3., 1.]))
    """
    counts = np.zeros((len(texts), len(terms)))
    lengths = np.empty(len(texts))
    for row, text in enumerate(texts):
        folded = fold(text)
        words = _words(folded)
        lengths[row] = len(words) - sum(map(STOP_WORDS.__contains__, words))
        for at, term in enumerate(terms):
            if term in folded:  # a text has few of the terms: looking for the characters first takes less time
                counts[row, at] = words.count(term)
    return WordCounts(counts, lengths)


def has_words(terms: Sequence[str], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Shape (n, t): whether text ``i`` has term ``j``; see :func:`count_words`.

    Examples
    --------
    >>> has_words(["ferry", "house"], ["The ferry house.", "A ferryman"])
    array([[ True,  True],
           [False, False]])
    """
    found = np.zeros((len(texts), len(terms)), dtype=bool)
    for row, text in enumerate(texts):
        folded = fold(text)
        maybe = [at for at, term in enumerate(terms) if term in folded]
        if maybe:
            words = set(_words(folded))
            for at in maybe:
                found[row, at] = terms[at] in words
    return found


def _words(folded: str) -> list[str]:
    """The words of a folded text in any order.

    White space is in no word, and parts between it that have only letters and digits are words, if they are ASCII.
    """
    parts = folded.split()
    others: list[str] = []
    if not folded.isascii():
        others = [part for part in parts if not part.isascii()]
        parts = [part for part in parts if part.isascii()]
    found = [*filter(str.isalnum, parts), *folded_words(" ".join(filterfalse(str.isalnum, parts)))]
    if others:
        found += folded_words(" ".join(others))
    return found
