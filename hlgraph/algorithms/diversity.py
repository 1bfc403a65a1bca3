"""Removal of near-duplicates among scored texts, by TF-IDF. Ties break by id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hlgraph.algorithms import check

PAPER_TAU = 0.005
"""HLG's threshold: texts with a cosine above 1 - 0.005 are near-duplicates."""
_BLOCK = 256  # rows that are compared with all others at a time, which bounds the memory


def tf_idf(texts: Sequence[Sequence[str]]) -> csr_array:
    r"""TF-IDF vectors of texts: :math:`tf(t, d) \cdot (1 + \ln\frac{1 + n}{1 + df(t)})`, scaled to unit length.

    tf is the count of a term in a text, df the number of texts that contain it, n the number of texts. The paper does not
    name its weighting. This one gives no term the weight 0, so texts with different terms never get equal vectors.
    O(m log m) time for m terms in all.

    Parameters
    ----------
    texts : the terms of each text, repeated as often as they occur; their order does not matter

    Returns
    -------
    csr_array
        float64, one row per text, one column per term in sorted order. A text without terms is a row of zeros.

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
) -> NDArray[np.intp]:
    r"""Keep the best text of every group of near-duplicates.

    .. math:: \text{Retain } S_i \Leftrightarrow \forall S_j: Sim(S_i, S_j) > 1 - \tau \Rightarrow Score(S_i) > Score(S_j)

    Of texts with equal scores the one with the lower id counts as better; otherwise both would be removed. A text is removed
    for any better near-duplicate, even for one that is removed itself. Hence the best text always remains, no two remaining
    texts are near-duplicates, the result for a text depends on better texts alone, and filtering a second time changes
    nothing.

    At worst O(n m) time for n texts and m terms in all; O(n) memory.

    Parameters
    ----------
    vectors : shape (n, terms), rows of unit length, as from :func:`tf_idf`; a row of zeros is similar to no other
    scores : shape (n,), higher is better
    ids : n distinct ids of the texts
    tau : from 0 (nothing is removed, since no cosine is above 1) to 1 (texts that share a term are duplicates), default 0.005
    agrees : symmetric predicate on the indices of two texts above the threshold; only pairs for which it is True count.
        None (default): all of them count

    Returns
    -------
    NDArray
        Indices of the remaining texts, best first.

    Raises
    ------
    InputError
        ``tau`` is not from 0 to 1, a score is NaN, or the lengths differ.

    Examples
    --------
    >>> rows = tf_idf([["flood", "town"], ["flood", "town"], ["bridge"]])
    >>> retain(rows, np.array([0.5, 0.9, 0.1]), ids=["a", "b", "c"]).tolist()
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
    is_kept = np.ones(len(order), dtype=bool)
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
            if is_kept[at] and (agrees is None or agrees(at, other)):
                is_kept[at] = False
    return order[is_kept[order]]
