"""Rescores passages by their links to the best ones: titles that other passages mention, and words that complete the question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError

FITTED_WEIGHTS = (1.2, 0.85, 0.85, 1.15, -0.85, 0.95)
"""The weight of each feature; ``tests/benchmarks/bench_links.py`` fits them to the gold passages of the evaluation sets."""
TOPS = 8
"""Number of best passages whose links count."""


class Passages(NamedTuple):
    """n passages, best first, and their features.

    Attributes
    ----------
    scores : shape (n,), above 0, descending
    covers : shape (n, w), whether a passage has a word of the question
    words : shape (w,), weight of each word, 0 or more, such as its idf
    is_named : shape (n,), whether the question names the title of a passage
    mentions : shape (n, n), whether passage i mentions the title of passage j
    """

    scores: NDArray[np.float64]
    covers: NDArray[np.bool_]
    words: NDArray[np.float64]
    is_named: NDArray[np.bool_]
    mentions: NDArray[np.bool_]


def link_features(passages: Passages) -> NDArray[np.float64]:
    r"""Six features of each passage, each from 0 to 1.

    :math:`b_t = s_t / s_1` is the relative score, and :math:`c(T)` the weighted share of the question's words that the passages
    ``T`` contain together. Of the best eight passages without ``i`` itself, ``M`` are those that mention the title of ``i``, and
    ``O`` those whose titles ``i`` mentions. The features are:

    0. 1 if the question names the title of ``i``
    1. the words that ``i`` has and none of the best three (without ``i``) has: :math:`c(B \cup i) - c(B)`
    2. :math:`\max_{t \in M} b_t`, and 0 if the question names the title: a bridge that the question leaves out
    3. :math:`\max_{t \in M} b_t c(\{t, i\})`
    4. :math:`\max_{t \in O} b_t`
    5. :math:`\max_{t \in O} b_t c(\{t, i\})`

    O(n (w + tops)) time, and O(n tops w) for what pairs cover together.

    Parameters
    ----------
    passages : the passages, at least one

    Returns
    -------
    NDArray
        Shape (n, 6).

    Raises
    ------
    InputError
        There is no passage, or the scores are not above 0 and descending.
    """
    scores = passages.scores
    if not len(scores) or scores[-1] <= 0 or np.any(np.diff(scores) > 0):
        raise InputError("the scores of passages must be above 0 and descending, and there must be one at least")
    count = len(scores)
    tops = np.arange(min(TOPS, count))
    standing = scores[tops] / scores[0]
    total = passages.words.sum()
    weights = passages.words / total if total > 0 else passages.words
    covers = passages.covers.astype(np.float64)
    weighted = covers * weights
    covered = weighted.sum(axis=1)
    together = covered[:, np.newaxis] + covered[tops] - weighted @ covers[tops].T
    is_other = tops != np.arange(count)[:, np.newaxis]
    is_mentioned = (passages.mentions[tops].T & is_other) * standing
    is_mentioning = (passages.mentions[:, tops] & is_other) * standing
    return np.stack(
        [
            passages.is_named.astype(np.float64),
            _beyond_the_best(covers, weighted, most=3),
            is_mentioned.max(axis=1) * ~passages.is_named,
            (is_mentioned * together).max(axis=1),
            is_mentioning.max(axis=1),
            (is_mentioning * together).max(axis=1),
        ],
        axis=1,
    )


def link_factors(
    passages: Passages, weights: tuple[float, ...] = FITTED_WEIGHTS, *, strength: float = 1.0
) -> NDArray[np.float64]:
    r"""The factor for the score of each passage: :math:`\exp(\lambda \sum_k w_k f_k)` with the features of :func:`link_features`.

    The factors are rounded to six decimals, so that their order does not depend on the last bits of a sum.

    Parameters
    ----------
    passages : the passages, at least one
    weights : one per feature
    strength : :math:`\lambda`, 0 or more; 0: all factors are 1

    Returns
    -------
    NDArray
        Shape (n,), above 0.

    Raises
    ------
    InputError
        The passages cannot be used, see :func:`link_features`, or there are not six weights.

    Examples
    --------
    >>> mentions = np.array([[False, False, True], [False, False, False], [False, False, False]])
    >>> covers = np.array([[True, False], [True, False], [False, True]])
    >>> passages = Passages(np.array([1.0, 0.9, 0.8]), covers, np.ones(2), np.array([True, False, False]), mentions)
    >>> (passages.scores * link_factors(passages)).argsort().tolist()  # the second one has no link
    [1, 0, 2]
    """
    features = link_features(passages)
    if len(weights) != features.shape[1]:
        raise InputError(f"there are {len(weights)} weights; give {features.shape[1]}, one for each feature")
    factors: NDArray[np.float64] = np.round(np.exp(strength * (features * np.array(weights)).sum(axis=1)), 6)
    return factors


def _beyond_the_best(covers: NDArray[np.float64], weighted: NDArray[np.float64], *, most: int) -> NDArray[np.float64]:
    """The weight of the words that each passage has and none of the best ``most`` others has."""
    first = covers[: most + 1]
    others = np.repeat(covers[:most].sum(axis=0)[np.newaxis], len(covers), axis=0)
    others[: most + 1] = first.sum(axis=0) - first
    result: NDArray[np.float64] = (weighted * (others == 0)).sum(axis=1)
    return result
