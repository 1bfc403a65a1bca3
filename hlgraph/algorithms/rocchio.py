"""Queries refined by relevance feedback: what was kept attracts, what was pruned repels (Rocchio, as used by ToPG)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError


@dataclass(frozen=True, slots=True)
class RocchioWeights:
    """Weights of the three parts of a refined query. The paper's "Simple-feedback" is ``RocchioWeights(1, 0, 0)``.

    Attributes
    ----------
    origin : alpha, weight of the queries that led to the node, 0 or above, default 1.0
    positive : beta, weight of the node itself, 0 or above, default 0.7
    negative : gamma, weight of what was pruned, 0 or above, default 0.15

    Raises
    ------
    InputError
        A weight is negative.
    """

    origin: float = 1.0
    positive: float = 0.7
    negative: float = 0.15

    def __post_init__(self) -> None:
        """Check the weights."""
        for name in ("origin", "positive", "negative"):
            check.not_negative(name, getattr(self, name))


def refined_query(
    origins: NDArray[np.floating],
    node: NDArray[np.floating],
    *,
    pruned: NDArray[np.floating],
    weights: RocchioWeights | None = None,
) -> NDArray[np.float64]:
    """The refined query of a node u: ``q = alpha mean(origins) + beta h(u) - gamma mean(pruned)``, scaled to length 1.

    The means are over the c partitions in which the node was found. The paper compares queries by cosine, so their length
    does not matter; it is 1 here so that a dot product equals the cosine. A sum of zeros stays zero. O(c d) time.

    Parameters
    ----------
    origins : shape (c, d), c at least 1; for each partition the query of the walker that most likely led to the node
    node : shape (d,), the embedding of the node
    pruned : shape (c, d), for each partition the mean embedding of what Select left out; zeros where it left out nothing
    weights : weights of the parts; None: the paper's

    Returns
    -------
    NDArray
        Shape (d,), float64.

    Raises
    ------
    InputError
        The shapes do not agree, or a number is NaN or infinite.

    References
    ----------
    ToPG, Eq. 9 and 11. Rocchio, Relevance Feedback in Information Retrieval, 1971.

    Examples
    --------
    >>> refined_query(np.array([[1.0, 0]]), np.array([0, 1.0]), pruned=np.array([[0, 0.0]])).round(3)
    array([0.819, 0.573])
    """
    weights = weights or RocchioWeights()
    if origins.ndim != 2 or not len(origins) or origins.shape != pruned.shape or origins.shape[1:] != node.shape:
        raise InputError(
            f"origins has the shape {origins.shape}, pruned {pruned.shape} and node {node.shape}; they must be (c, d), (c, d) "
            "and (d,), with c at least 1"
        )
    for name, values in (("origins", origins), ("node", node), ("pruned", pruned)):
        check.finite(name, values)
    found: NDArray[np.float64] = (
        weights.origin * origins.mean(axis=0, dtype=np.float64)
        + weights.positive * node.astype(np.float64)
        - weights.negative * pruned.mean(axis=0, dtype=np.float64)
    )
    length = float(np.linalg.norm(found))
    return found / length if length > 0 else found
