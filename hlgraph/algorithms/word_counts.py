"""Counts of a question's words in texts, as keyword scores need them, without listing every word of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain, filterfalse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.text import STOP_WORDS, fold, folded_words

_PART = 1 << 20
"""Characters that are processed together, which bounds the memory; a longer text is processed alone."""
_BITS = 15  # of an index into the hash table of stop words
_HALF = 8  # characters per number: a word is compared by its first eight and its next eight characters
_ALNUM = np.array([chr(code).isalnum() and code < 128 for code in range(256)])
_JOINS = np.array([chr(code) in ".,'" for code in range(256)])
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_HALF + 1)], dtype=np.uint64)


class WordCounts(NamedTuple):
    """Term counts and lengths of n texts.

    Attributes
    ----------
    counts : shape (n, t), how often text ``i`` contains term ``j``
    lengths : shape (n,), the number of content words of each text
    """

    counts: NDArray[np.float64]
    lengths: NDArray[np.float64]

    def joined(self, groups: Sequence[Sequence[int]]) -> WordCounts:
        """The counts of texts that are joined by spaces: no word crosses a space, so counts and lengths add up.

        Parameters
        ----------
        groups : indices of the texts that are joined, at least one each

        Returns
        -------
        WordCounts
            One row per group.

        Examples
        --------
        >>> count_words(["ferry"], ["The ferry.", "A ferry house."]).joined([(0, 1), (1,)])
        WordCounts(counts=array([[2.],
               [1.]]), lengths=array([3., 2.]))
        """
        if not groups:
            return WordCounts(self.counts[:0], self.lengths[:0])
        texts = np.fromiter(chain.from_iterable(groups), dtype=np.intp)
        starts = np.cumsum([0, *map(len, groups[:-1])])
        return WordCounts(np.add.reduceat(self.counts[texts], starts), np.add.reduceat(self.lengths[texts], starts))


class CountedTexts:
    """Counts of the same terms in recurring texts: every distinct text is counted once.

    It keeps all texts that it has seen, so it should not outlive one search: each search has one for its question.

    Parameters
    ----------
    terms : t distinct content words, as from :func:`hlgraph.text.content_words`
    """

    def __init__(self, terms: Sequence[str]) -> None:
        self._terms = terms
        self._rows: dict[str, int] = {}
        self._counts = WordCounts(np.zeros((0, len(terms))), np.zeros(0))

    def of(self, texts: Sequence[str]) -> WordCounts:
        """The counts of these texts, as from :func:`count_words`."""
        new = list(dict.fromkeys(text for text in texts if text not in self._rows))
        if new:
            self._rows.update(zip(new, range(len(self._rows), len(self._rows) + len(new)), strict=True))
            pairs = zip(self._counts, count_words(self._terms, new), strict=True)
            self._counts = WordCounts(*(np.concatenate(pair) for pair in pairs))
        rows = np.array([self._rows[text] for text in texts], dtype=np.intp)
        return WordCounts(self._counts.counts[rows], self._counts.lengths[rows])

    def narrowed(self, terms: Sequence[str]) -> CountedTexts | None:
        """The counts of some of the terms, such as those of a part of the question; None if it has others."""
        columns = {term: at for at, term in enumerate(self._terms)}
        if not columns.keys() >= set(terms):
            return None
        return _NarrowedTexts(self, np.array([columns[term] for term in terms], dtype=np.intp))


class _NarrowedTexts(CountedTexts):
    """Counts of some terms of other counted texts, which count a text once for all of them."""

    def __init__(self, whole: CountedTexts, columns: NDArray[np.intp]) -> None:
        self._whole, self._columns = whole, columns

    def of(self, texts: Sequence[str]) -> WordCounts:
        """See :meth:`CountedTexts.of`."""
        counted = self._whole.of(texts)
        return counted._replace(counts=counted.counts[np.ix_(np.arange(len(texts)), self._columns)])

    def narrowed(self, terms: Sequence[str]) -> CountedTexts | None:  # noqa: ARG002
        """None: only the texts of a whole question are narrowed."""
        return None


def count_words(terms: Sequence[str], texts: Sequence[str]) -> WordCounts:
    """How often each text contains each term; time and memory linear in the length of the texts.

    Words of ASCII letters and digits alone, which are nearly all, are found and compared for all texts at once. Other words
    are listed one by one.

    Parameters
    ----------
    terms : t distinct content words, as from :func:`hlgraph.text.content_words`
    texts : n texts in any script

    Returns
    -------
    WordCounts
        Counts of shape (n, t) and lengths of shape (n,).

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


def rarity(has: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The idf of terms over n texts, ``ln(1 + (n - df + 0.5) / (df + 0.5))``.

    Parameters
    ----------
    has : shape (n, t), whether text ``i`` contains term ``j``

    Returns
    -------
    NDArray
        Shape (t,), above 0.
    """
    having = np.count_nonzero(has, axis=0)
    return np.asarray(np.log1p((len(has) - having + 0.5) / (having + 0.5)), dtype=np.float64)


class _Runs(NamedTuple):
    """Runs of letters and digits: where each begins and ends, and whether a mark inside joins two parts (``1,000``)."""

    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    is_joined: NDArray[np.bool_]


def _count(
    terms: Sequence[str], folded: Sequence[str], *, counts: NDArray[np.float64], lengths: NDArray[np.float64]
) -> None:
    """Add the counts and lengths of folded texts to ``counts`` and ``lengths``."""
    listed: list[list[str]] = []
    parts = []
    for text in folded:
        plain, others = _parted(text)
        parts.append(plain)
        listed.append(others)
    # A line break before each text and padding after the last, so that eight characters can be read from any position.
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
        positions = starts[_runs_like(term, codes)]
        if len(term) > 2 * _HALF:
            positions = np.array(
                [begin for begin in positions.tolist() if joined.startswith(term, begin)], dtype=np.intp
            )
        counts[:, at] = np.bincount(np.searchsorted(begins, positions, side="right") - 1, minlength=len(folded))
    column = {term: at for at, term in enumerate(terms)}
    for row, words in enumerate(listed):
        for word in words:
            lengths[row] += word not in STOP_WORDS
            if word in column:
                counts[row, column[word]] += 1


def _parted(folded: str) -> tuple[str, list[str]]:
    """A folded text divided at white space: its ASCII parts, joined again, and the words of its other parts."""
    if "_" in folded:  # it separates words, but changes what may precede it
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
    """The first eight characters of each run as a number, the next eight, and its length; shape (3, m)."""
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


def _runs_like(term: str, codes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Indices of the runs that have the length of a term and its first sixteen characters."""
    if not (term.isascii() and term.isalnum()):
        return np.empty(0, dtype=np.intp)
    first, second = _code(term)
    candidates = np.flatnonzero(codes[0] == np.uint64(first))
    is_equal = (codes[1, candidates] == np.uint64(second)) & (codes[2, candidates] == np.uint64(len(term)))
    same: NDArray[np.intp] = candidates[is_equal]
    return same


def _are_stop_words(codes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    factor, table, longer = _stop_words()
    place = (codes[0] * factor) >> np.uint64(64 - _BITS)
    is_stop: NDArray[np.bool_] = (table[place] == codes[0]) & (codes[2] <= _HALF)
    for word in longer:
        is_stop[_runs_like(word, codes)] = True
    return is_stop


@cache
def _stop_words() -> tuple[np.uint64, NDArray[np.uint64], tuple[str, ...]]:
    """A perfect hash of the stop words of up to eight characters (its factor and its table), and the longer stop words."""
    plain = sorted(word for word in STOP_WORDS if word.isascii() and word.isalnum())
    codes = np.array([_code(word)[0] for word in plain if len(word) <= _HALF], dtype=np.uint64)
    state = 1
    while True:  # factors of a linear congruential generator (Knuth's MMIX), until one causes no collision
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        factor = np.uint64(state | 1)
        places = (codes * factor) >> np.uint64(64 - _BITS)
        if len(np.unique(places)) == len(places):
            table = np.zeros(1 << _BITS, dtype=np.uint64)
            table[places] = codes
            return factor, table, tuple(word for word in plain if len(word) > _HALF)
