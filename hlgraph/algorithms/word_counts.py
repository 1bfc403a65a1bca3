"""How often texts have the words of a question: what scores by words are made of, counted without listing every word."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import filterfalse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.text import STOP_WORDS, fold, folded_words

_PART = 1 << 20
"""Characters that are looked at together, for memory; a longer text is looked at alone."""
_BITS = 15
_HALF = 8  # a word is known by its first eight characters and its next eight, each as one number
_ALNUM = np.array([chr(code).isalnum() and code < 128 for code in range(256)])
_JOINS = np.array([chr(code) in ".,'" for code in range(256)])
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_HALF + 1)], dtype=np.uint64)


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

    Words of ASCII letters and digits alone, nearly all, are found and told apart for all texts at once; what else is a word
    is listed. Takes time and memory linear in the length of the texts.

    Parameters
    ----------
    terms : none of them twice
    texts : of any script

    Examples
    --------
    >>> count_words(["ferry"], ["The ferry to the ferry house.", "Ferries"])
    WordCounts(counts=array([[2.],
           [0.]]), lengths=array([3., 1.]))
    """
    counts, lengths = np.zeros((len(texts), len(terms))), np.zeros(len(texts))
    folded = [fold(text) for text in texts]
    start = 0
    while start < len(folded):
        stop, size = start, 0
        while stop < len(folded) and (stop == start or size + len(folded[stop]) <= _PART):
            size += len(folded[stop])
            stop += 1
        _count(terms, folded[start:stop], counts=counts[start:stop], lengths=lengths[start:stop])
        start = stop
    return WordCounts(counts, lengths)


def has_words(terms: Sequence[str], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Shape (n, t): whether text ``i`` has term ``j``; see :func:`count_words`.

    Examples
    --------
    >>> has_words(["ferry", "house"], ["The ferry house.", "A ferryman"])
    array([[ True,  True],
           [False, False]])
    """
    return count_words(terms, texts).counts > 0


class _Runs(NamedTuple):
    """Runs of letters and digits: where each begins and ends, and whether a mark inside joins two of them (``1,000``)."""

    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    is_joined: NDArray[np.bool_]


def _count(
    terms: Sequence[str], folded: Sequence[str], *, counts: NDArray[np.float64], lengths: NDArray[np.float64]
) -> None:
    """Fill in the counts of folded texts."""
    listed: list[list[str]] = []
    parts = []
    for text in folded:
        plain, others = _parted(text)
        parts.append(plain)
        listed.append(others)
    # A line before each text and room behind the last: eight characters may be read from any place.
    joined = "\n" + "\n".join(parts) + "\n" * (2 * _HALF)
    runs = _runs(joined)
    begins = np.cumsum([1, *(len(part) + 1 for part in parts)])
    begin, end = runs.starts[runs.is_joined], runs.ends[runs.is_joined]
    rows = (np.searchsorted(begins, begin, side="right") - 1).tolist()
    for row, first, last in zip(rows, begin.tolist(), end.tolist(), strict=True):
        listed[row].extend(folded_words(joined[first:last]))
    starts = runs.starts[~runs.is_joined]
    codes = _codes(joined, starts, runs.ends[~runs.is_joined])
    content = np.concatenate([[0], np.cumsum(~_are_stop_words(codes))])
    firsts = np.searchsorted(starts, begins)
    lengths += np.diff(content[firsts])
    for at, term in enumerate(terms):
        found = starts[_like(term, codes)]
        if len(term) > 2 * _HALF:
            found = np.array([begin for begin in found.tolist() if joined.startswith(term, begin)], dtype=np.intp)
        counts[:, at] = np.bincount(np.searchsorted(begins, found, side="right") - 1, minlength=len(folded))
    column = {term: at for at, term in enumerate(terms)}
    for row, words in enumerate(listed):
        for word in words:
            lengths[row] += word not in STOP_WORDS
            if word in column:
                counts[row, column[word]] += 1


def _parted(folded: str) -> tuple[str, list[str]]:
    """A folded text without the parts between white space that are not ASCII, and the words of these."""
    if "_" in folded:  # it parts words, but changes what may stand before it
        return "", folded_words(folded)
    if folded.isascii():
        return folded, []
    parts = folded.split()
    return " ".join(filter(str.isascii, parts)), folded_words(" ".join(filterfalse(str.isascii, parts)))


def _runs(joined: str) -> _Runs:
    characters = np.frombuffer(joined.encode("ascii"), dtype=np.uint8)
    inside = _ALNUM[characters]
    marks = np.flatnonzero(_JOINS[characters])
    marks = marks[inside[marks - 1] & inside[marks + 1]]
    inside[marks] = True
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]
    is_joined = np.zeros(len(starts), dtype=bool)
    is_joined[np.searchsorted(starts, marks, side="right") - 1] = True
    return _Runs(starts, ends, is_joined)


def _codes(joined: str, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Shape (3, m): the first eight characters of each run as a number, the next eight, and how many it has."""
    characters = joined.encode("ascii")
    eights = np.ndarray((len(characters) - _HALF + 1,), dtype="<u8", buffer=characters, strides=(1,))
    sizes = ends - starts
    first = eights[starts] & _MASKS[np.minimum(sizes, _HALF)]
    second = np.zeros_like(first)
    long = np.flatnonzero(sizes > _HALF)
    second[long] = eights[starts[long] + _HALF] & _MASKS[np.minimum(sizes[long] - _HALF, _HALF)]
    return np.stack([first, second, sizes.astype(np.uint64)])


def _code(word: str) -> tuple[int, int]:
    characters = word.encode("ascii")
    return int.from_bytes(characters[:_HALF], "little"), int.from_bytes(characters[_HALF : 2 * _HALF], "little")


def _like(term: str, codes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Which runs are a term, or as long as it and equal in their first sixteen characters."""
    if not (term.isascii() and term.isalnum()):
        return np.empty(0, dtype=np.intp)
    first, second = _code(term)
    found = np.flatnonzero(codes[0] == np.uint64(first))
    is_equal = (codes[1, found] == np.uint64(second)) & (codes[2, found] == np.uint64(len(term)))
    same: NDArray[np.intp] = found[is_equal]
    return same


def _are_stop_words(codes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    factor, table, longer = _stop_words()
    place = (codes[0] * factor) >> np.uint64(64 - _BITS)
    found: NDArray[np.bool_] = (table[place] == codes[0]) & (codes[2] <= _HALF)
    for word in longer:
        found[_like(word, codes)] = True
    return found


@cache
def _stop_words() -> tuple[np.uint64, NDArray[np.uint64], tuple[str, ...]]:
    """A factor that gives each stop word of up to eight characters a place of its own, the table, and the longer ones."""
    plain = sorted(word for word in STOP_WORDS if word.isascii() and word.isalnum())
    codes = np.array([_code(word)[0] for word in plain if len(word) <= _HALF], dtype=np.uint64)
    state = 1
    while True:  # factors of a linear congruential generator (Knuth's MMIX), until one gives no two words one place
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        factor = np.uint64(state | 1)
        places = (codes * factor) >> np.uint64(64 - _BITS)
        if len(np.unique(places)) == len(places):
            table = np.zeros(1 << _BITS, dtype=np.uint64)
            table[places] = codes
            return factor, table, tuple(word for word in plain if len(word) > _HALF)
