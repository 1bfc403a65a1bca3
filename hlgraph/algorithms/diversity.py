"""Near-duplicates among scored texts, by TF-IDF. Ties break by id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hlgraph.algorithms import check

PAPER_TAU = 0.005
"""The threshold of HLG: texts with a cosine above 1 - 0.005 say the same."""
_BLOCK = 256  # rows that are compared with all others at once: bounds the memory


class Retained(NamedTuple):
    """What is left of n texts.

    Attributes
    ----------
    kept : indices of the texts that stay, best first
    better : for each text the index of the best near-duplicate above it, or -1 for one that stays; shape (n,)
    """

    kept: NDArray[np.intp]
    better: NDArray[np.intp]


def tf_idf(texts: Sequence[Sequence[str]]) -> csr_array:
    r"""Texts as rows of unit length: :math:`tf(t, d) \cdot (1 + \ln\frac{1 + n}{1 + df(t)})`, divided by the norm.

    tf counts a term in a text, df the texts that have it, n the texts. The paper does not say which weighting it takes:
    this one gives no term the weight 0, so two texts that differ are never equal. O(m log m) in the number of terms.

    Parameters
    ----------
    texts
        The terms of each text, repeated as often as they occur; the order does not matter.

    Returns
    -------
    csr_array
        float64, one row a text, one column a term in sorted order. A text without terms is a row of zeros.

    Examples
    --------
    >>> rows = tf_idf([["flood", "town"], ["flood", "town"], ["bridge"]])
    >>> (rows @ rows.T).toarray().round(3).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    References
    ----------
    HLG, section 4.3.1, step 2.
    """
    columns = {term: at for at, term in enumerate(sorted({term for text in texts for term in text}))}
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=starts[1:])
    places = np.array([columns[term] for text in texts for term in text], dtype=np.int64)
    rows = csr_array((np.ones(len(places)), places, starts), shape=(len(texts), len(columns)))
    rows.sum_duplicates()
    frequency = np.bincount(rows.indices, minlength=len(columns))
    rows.data *= (1.0 + np.log((1 + len(texts)) / (1 + frequency)))[rows.indices]
    squares = np.asarray(rows.power(2).sum(axis=1)).ravel()
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    rows.data /= np.repeat(lengths, np.diff(rows.indptr))
    return rows


def retain(
    vectors: csr_array,
    scores: NDArray[np.floating],
    *,
    ids: Sequence[str],
    tau: float = PAPER_TAU,
    agrees: Callable[[int, int], bool] | None = None,
) -> Retained:
    r"""Keep the best of every group of near-duplicates.

    .. math:: \text{Retain } S_i \Leftrightarrow \forall S_j: Sim(S_i, S_j) > 1 - \tau \Rightarrow Score(S_i) > Score(S_j)

    Of equal scores the lower id counts as the higher one, as otherwise both would go. A text goes for any better
    near-duplicate, also for one that goes itself. So the best always stays, no two that stay are near-duplicates,
    the fate of a text hangs on better ones alone, and filtering the rows that stay again changes nothing.

    O(n m) in n texts and m terms in all at worst; memory O(n).

    Parameters
    ----------
    vectors
        One row of unit length (or of zeros, which is like nothing) a text, as :func:`tf_idf` makes them; shape (n, terms).
    scores
        Higher is better; shape (n,).
    ids
        Distinct names of the texts, n of them.
    tau
        From 0 (nothing is dropped, as no cosine is above 1) to 1 (whatever shares a term is a duplicate); default 0.005.
    agrees
        Asked for pairs above the threshold: only those count for which it is true. It must not hang on the order of
        the two. Without, all count.

    Raises
    ------
    InputError
        tau is not from 0 to 1, a score is not a number, or the lengths differ.

    Examples
    --------
    >>> rows = tf_idf([["flood", "town"], ["flood", "town"], ["bridge"]])
    >>> retain(rows, np.array([0.5, 0.9, 0.1]), ids=["a", "b", "c"]).kept.tolist()
    [1, 2]

    References
    ----------
    HLG, section 4.3.1, step 3.
    """
    check.probability("tau", tau)
    check.same_length(vectors=range(vectors.shape[0]), scores=scores, ids=ids)
    check.not_nan("scores", scores)
    order = np.lexsort((np.array(ids, dtype=str), -np.asarray(scores, dtype=np.float64)))
    ranked = vectors[order]
    better = np.full(len(order), -1, dtype=np.intp)
    for start in range(0, len(order), _BLOCK):
        stop = min(start + _BLOCK, len(order))
        cosines = (ranked[start:stop] @ ranked[:stop].T).tocoo()
        above = np.minimum(cosines.data, 1.0) > 1.0 - tau
        rows, columns = cosines.row[above] + start, cosines.col[above]
        is_better = columns < rows
        rows, columns = rows[is_better], columns[is_better]
        by_rank = np.lexsort((columns, rows))
        for row, column in zip(rows[by_rank].tolist(), columns[by_rank].tolist(), strict=True):
            at, other = int(order[row]), int(order[column])
            if better[at] < 0 and (agrees is None or agrees(at, other)):
                better[at] = other
    return Retained(order[better[order] < 0], better)
