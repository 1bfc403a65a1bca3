"""Queries that learn from what was kept and what was pruned (Rocchio's relevance feedback, as ToPG has it)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError


@dataclass(frozen=True, slots=True)
class RocchioWeights:
    """How much each part counts; not negative. The paper's "Simple-feedback" is ``RocchioWeights(1, 0, 0)``.

    Attributes
    ----------
    origin : alpha, of the queries that led to the node
    positive : beta, of the node itself
    negative : gamma, of what was pruned beside it
    """

    origin: float = 1.0
    positive: float = 0.7
    negative: float = 0.15

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("origin", "positive", "negative"):
            check.not_negative(name, getattr(self, name))


def refined_query(
    origins: NDArray[np.floating],
    node: NDArray[np.floating],
    *,
    pruned: NDArray[np.floating],
    weights: RocchioWeights | None = None,
) -> NDArray[np.float64]:
    """``q = alpha mean(origins) + beta h(u) - gamma mean(pruned)``, of length 1, for one node u.

    The mean is over the partitions in which the node was found. The paper compares queries by cosine, to which their length
    is nothing; it is 1 here so that a dot product is that cosine. A sum of 0 stays 0: a query that is close to nothing.

    Parameters
    ----------
    origins : shape (c, d), c at least 1: of each partition the query of the walker that most likely led to the node
    node : shape (d,), the embedding of the node
    pruned : shape (c, d): of each partition the mean embedding of what Select left out; zeros where it left out nothing

    Raises
    ------
    InputError
        The shapes do not agree, or a number is not usable.

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
            f"origins have the shape {origins.shape}, pruned {pruned.shape} and the node {node.shape}; (c, d), (c, d) and "
            "(d,) are needed, c at least 1"
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
