"""Scores of paths, from the embeddings of their nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.beam import Candidates

_ROWS = 4_096  # paths per block, which bounds the memory


def attention_scores(
    candidates: Candidates, *, vectors: NDArray[np.float32], question: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Cosine between a question and the attention-weighted embedding of each path.

    ``e(P) = sum_i a_i e_i`` with ``a_i = exp(cos(q, e_i)) / sum_j exp(cos(q, e_j))``, and the score is ``cos(q, e(P))``. The
    denominator is the same for all nodes of a path and does not change the cosine, so it is not computed. The order of the
    nodes does not matter. What the children of one path share is computed once; O(m d + b l d) time for m children and b
    parents of length l.

    Parameters
    ----------
    candidates : m paths
    vectors : shape (n, d), the embedding of each node in the row of its number, of any length
    question : shape (d,), the embedding of the question, of any length

    Returns
    -------
    NDArray
        Shape (m,), float64, from -1 to 1; 0 where the embedding of the path or the question is zero.

    References
    ----------
    HLG, Eq. 6 and 7.

    Examples
    --------
    >>> pair = Candidates(np.array([[0]]), np.array([0]), np.array([1]))
    >>> attention_scores(pair, vectors=np.eye(2, dtype=np.float32), question=np.array([1, 0], dtype=np.float32)).round(3)
    array([0.939])
    """
    return _scores(candidates, vectors, question, has_attention=True)


def mean_scores(
    candidates: Candidates, *, vectors: NDArray[np.float32], question: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Cosine between a question and the mean embedding of each path.

    ``e(P)`` is the mean of the ``e_i``, and the score is ``cos(q, e(P))``; time as for :func:`attention_scores`.

    Parameters
    ----------
    candidates : m paths
    vectors : shape (n, d), the embedding of each node in the row of its number, of any length
    question : shape (d,), the embedding of the question, of any length

    Returns
    -------
    NDArray
        Shape (m,), float64, from -1 to 1; 0 where the embedding of the path or the question is zero.

    References
    ----------
    PropRAG, section 5.3 (the first score of a path).

    Examples
    --------
    >>> pair = Candidates(np.array([[0]]), np.array([0]), np.array([1]))
    >>> mean_scores(pair, vectors=np.eye(2, dtype=np.float32), question=np.array([1, 0], dtype=np.float32)).round(3)
    array([0.707])
    """
    return _scores(candidates, vectors, question, has_attention=False)


def _scores(
    candidates: Candidates, vectors: NDArray[np.float32], question: NDArray[np.float32], *, has_attention: bool
) -> NDArray[np.float64]:
    used, at = np.unique(np.concatenate((candidates.prefixes.ravel(), candidates.nodes)), return_inverse=True)
    if not len(used):
        return np.empty(0)
    matrix = vectors[used]
    asked = question / (np.linalg.norm(question) or np.float32(1.0))
    # Row-wise products: a matrix product would start the BLAS threads, which costs more than it saves here, and many times
    # more on a busy machine.
    dots = np.vecdot(matrix, asked).astype(np.float64)
    squares = np.vecdot(matrix, matrix).astype(np.float64)
    lengths = np.sqrt(squares)
    weights = np.exp(dots / np.where(lengths > 0, lengths, 1.0)) if has_attention else np.ones(len(used))
    prefixes = at[: candidates.prefixes.size].reshape(candidates.prefixes.shape)
    last = at[candidates.prefixes.size :]
    # |u + w e|^2 = |u|^2 + 2 w u.e + w^2 |e|^2 for the weighted sum u of a parent and the last node e.
    parents = np.einsum("bl,bld->bd", weights[prefixes].astype(np.float32), matrix[prefixes])
    owner = candidates.owner
    parts = [slice(start, start + _ROWS) for start in range(0, len(owner), _ROWS)]
    across = np.concatenate(
        [np.vecdot(parents[owner[part]], matrix[last[part]]).astype(np.float64) for part in parts] or [np.empty(0)]
    )
    w = weights[last]
    square = np.vecdot(parents, parents).astype(np.float64)[owner] + 2 * w * across + w**2 * squares[last]
    length = np.sqrt(np.maximum(square, 0.0))
    along = np.vecdot(parents, asked).astype(np.float64)[owner] + w * dots[last]
    scores: NDArray[np.float64] = np.clip(
        np.divide(along, length, out=np.zeros_like(along), where=length > 1e-6), -1, 1
    )
    return scores
