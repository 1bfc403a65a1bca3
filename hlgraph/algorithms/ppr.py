"""Personalised PageRank by power iteration on a sparse adjacency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.projection import Twins, find_twins
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


class Ranking(NamedTuple):
    """Scores of nodes that sum to 1; ``has_converged`` is False when the iterations ran out first."""

    scores: NDArray[np.float64]
    iterations: int
    has_converged: bool


def personalised_pagerank(
    adjacency: Csr,
    seed_weights: NDArray[np.floating],
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    max_iterations: int = 100,
) -> Ranking:
    """The stationary distribution of a walk that follows edges by weight and goes back to the seeds.

    ``p = (1 - d) s + d (W' p + m s)``: ``s`` the seed weights over their sum, ``W`` the adjacency with rows that sum to 1,
    ``m`` the mass on nodes without edges, which goes back to the seeds too. Iterated from ``p = s`` until the sum of
    absolute changes is at most ``tolerance``. Each iteration takes time linear in the number of edges.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), weights not negative; row to column is the direction of the walk
    seed_weights : shape (n,), not negative, not all zero
    damping : the probability to go on, from 0 to below 1

    Raises
    ------
    InputError
        A shape, weight or parameter is out of its bounds.

    References
    ----------
    Haveliwala, Topic-Sensitive PageRank, 2002. PropRAG (stage 1), ToPG (Eq. 4) and HippoRAG walk on the same chain.

    Examples
    --------
    >>> line = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32))
    >>> personalised_pagerank(line, np.array([1.0, 0, 0]), damping=0.5).scores.round(3)
    array([0.583, 0.333, 0.083])
    """
    _check(adjacency, seed_weights, damping)
    check.positive("tolerance", tolerance)
    seeds = np.asarray(seed_weights, dtype=np.float64)
    seeds = seeds / seeds.sum()
    sums = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    is_dangling = sums == 0
    weights = np.repeat(1 / np.where(is_dangling, 1, sums), np.diff(adjacency.indptr)) * adjacency.data
    # Rows of the one are columns of the other: nothing is moved.
    backwards = sp.csc_array((weights, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    scores = seeds
    for iteration in range(1, max_iterations + 1):
        back = 1 - damping + damping * scores[is_dangling].sum()
        following = back * seeds + damping * (backwards @ scores)
        change = float(np.abs(following - scores).sum())
        scores = following
        if change <= tolerance:
            return Ranking(scores, iteration, has_converged=True)
    return Ranking(scores, max_iterations, has_converged=False)


def _check(adjacency: Csr, seed_weights: NDArray[np.floating], damping: float) -> None:
    rows, columns = adjacency.shape
    if rows != columns or seed_weights.shape != (rows,):
        raise InputError(
            f"the adjacency has the shape {adjacency.shape} and seed_weights {seed_weights.shape}; (n, n) and (n,) are needed"
        )
    check.finite("seed_weights", seed_weights)
    check.finite("adjacency", adjacency.data)
    if (adjacency.data < 0).any():
        raise InputError("the adjacency has negative weights; a walk cannot follow them")
    if (seed_weights < 0).any() or not seed_weights.sum() > 0:
        raise InputError("seed_weights must not be negative, and at least one must be above 0")
    if not 0 <= damping < 1:
        raise InputError(f"damping is {damping}; it must be from 0 to below 1")


Precision = Literal["single", "double"]
_BLOCK = 8_192  # numbers of a product of vectors at once
_DENSE = 128
"""Graphs of so many nodes are solved directly: one factorisation takes less time than the calls of the iterations."""
_SINGLE_ERROR = 1e-7
"""What rounding to float32 adds to the error, before it is multiplied by 1 / (1 - damping)."""
_DTYPES: Mapping[Precision, type[np.float32] | type[np.float64]] = {"single": np.float32, "double": np.float64}


@dataclass(frozen=True, slots=True)
class Walk:
    """A graph with what every ranking on it needs; made by :func:`prepare`, never changed.

    The walk goes over classes of twins, nodes with the same neighbours: names that one statement alone mentions are such,
    some third of the nodes of a graph of entities and chunks. Directed: every node is a class.

    Attributes
    ----------
    steps : CSR of shape (c, c). Undirected: ``A[i, j] / sqrt(degree[i] degree[j])``, classes with the most neighbours first.
        Directed: ``A[i, j] / degree[i]``
    degrees : shape (c,), float64, the sum of the weights of a class's edges (directed: of those that leave it)
    roots : shape (c,), the square roots of ``degrees`` in the precision of ``steps`` (directed: ones)
    twins : the classes
    is_directed : whether edges lead one way only
    """

    steps: Csr
    degrees: NDArray[np.float64]
    roots: NDArray[np.floating]
    twins: Twins
    is_directed: bool

    def __len__(self) -> int:
        return len(self.twins.of)

    def spread(
        self, scores: NDArray[np.float64], seeds: NDArray[np.integer], *, own: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """From the scores of classes to those of nodes; ``own`` is what each seed gets from nowhere else.

        Twins share the score of their class but for what they were given themselves. That difference sums to 0 in a class,
        so it never leaves it: of it stays ``1 / (1 + d w / degree)``, where ``w`` is the weight between two twins.
        """
        held = np.bincount(self.twins.of[seeds], own, minlength=len(scores))
        found: NDArray[np.float64] = ((scores - held) / self.twins.sizes)[self.twins.of]
        np.add.at(found, seeds, own)
        return np.maximum(found, 0, out=found)

    def bears(self, tolerance: float, damping: float) -> bool:
        """Whether the precision is fine enough for scores that are exact to ``tolerance``."""
        return self.steps.dtype == np.float64 or precision_for(tolerance, damping) == "single"


def precision_for(tolerance: float, damping: float) -> Precision:
    """The precision that scores need which are to be exact to ``tolerance``.

    Examples
    --------
    >>> precision_for(1e-6, 0.85), precision_for(1e-9, 0.85)
    ('single', 'double')
    """
    return "single" if tolerance * (1 - damping) >= _SINGLE_ERROR else "double"


def prepare(adjacency: Csr, *, is_directed: bool = False, precision: Precision = "single") -> Walk:
    """A graph made ready for many rankings, in time linear in its edges; parallel entries are added up.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), weights not negative; row to column is the direction of the walk
    precision : ``single`` (float32, half the memory) is good for errors down to about 1e-6; ``double`` for any

    Raises
    ------
    InputError
        The shape or a weight is out of its bounds, or the matrix is not symmetric although the graph is undirected.
    """
    if adjacency.shape[0] != adjacency.shape[1]:
        raise InputError(f"the adjacency has the shape {adjacency.shape}; (n, n) is needed")
    check.finite("adjacency", adjacency.data)
    if (adjacency.data < 0).any():
        raise InputError("the adjacency has negative weights; a walk cannot follow them")
    held = sp.csr_array(adjacency, dtype=np.float64, copy=True)
    held.sum_duplicates()
    held.eliminate_zeros()
    if not is_directed and held.nnz and abs(held - held.T).max() > 1e-6 * held.data.max():
        raise InputError("the adjacency is not symmetric; add its transpose, or set is_directed")
    twins = _each_alone(held.shape[0]) if is_directed else find_twins(held)
    if not is_directed:
        # Rows of one length follow one another: a product takes half the time, since the processor foresees where they end.
        held = twins.merged(held)
        order = np.argsort(-np.diff(held.indptr), kind="stable")
        twins, held = twins.ordered(order), sp.csr_array(held[order][:, order])
        held.sort_indices()
    degrees = np.asarray(held.sum(axis=1), dtype=np.float64).ravel()
    rows = np.repeat(np.arange(len(degrees)), np.diff(held.indptr))
    roots = np.ones(len(degrees)) if is_directed else np.sqrt(degrees)
    shares = held.data / (degrees[rows] if is_directed else roots[rows] * roots[held.indices])
    dtype = _DTYPES[precision]
    index = np.int32 if held.nnz < np.iinfo(np.int32).max else np.int64  # half the memory to go through
    steps = sp.csr_array(
        (shares.astype(dtype), held.indices.astype(index), held.indptr.astype(index)), shape=held.shape
    )
    return Walk(steps, degrees, roots.astype(dtype), twins, is_directed)


def _each_alone(size: int) -> Twins:
    nodes = np.arange(size)
    return Twins(nodes, np.ones(size), np.zeros(size), nodes, np.arange(size + 1))


def exact_pagerank(
    walk: Walk,
    seeds: NDArray[np.integer],
    *,
    weights: NDArray[np.floating],
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> Ranking:
    """Personalised PageRank of all nodes; the sum of absolute errors is at most ``tolerance``.

    Undirected: with ``S = D^-1/2 A D^-1/2`` the system ``(I - d S) y = (1 - d) D^-1/2 s`` is symmetric and positive
    definite, and ``p = D^1/2 y``: conjugate gradients, ``O(sqrt(1 / (1 - d)))`` products with the matrix for each digit.
    Directed: ``p = (1 - d) s + d W' p`` iterated, ``O(1 / (1 - d))`` products for each digit. A product takes time linear in
    the edges. Up to 128 nodes: solved directly. The residual ``r`` tells when to stop: the error is at most
    ``|r| / (1 - d)``, and without isolated seeds ``tolerance (1 - d)`` is what it is compared with.

    Parameters
    ----------
    seeds : shape (m,), indices of nodes; one may occur more than once
    weights : shape (m,), not negative, not all 0

    Returns
    -------
    Ranking
        Scores of shape (n,); ``has_converged`` is False when the iterations ran out first.

    Raises
    ------
    InputError
        A seed, a weight or a parameter is out of its bounds, or the precision of the walk does not bear the tolerance.

    References
    ----------
    Haveliwala, Topic-Sensitive PageRank, 2002. Hestenes and Stiefel, Methods of Conjugate Gradients, 1952.

    Examples
    --------
    >>> line = prepare(sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32)))
    >>> exact_pagerank(line, np.array([0]), weights=np.array([1.0]), damping=0.5).scores.round(3)
    array([0.583, 0.333, 0.083])
    """
    shares = seed_shares(walk, seeds, weights=weights, damping=damping)
    check.positive("tolerance", tolerance)
    if not walk.bears(tolerance, damping):
        raise InputError(
            f"tolerance {tolerance} at damping {damping} is finer than single precision; prepare the walk with double"
        )
    restart = np.bincount(walk.twins.of[seeds], shares, minlength=len(walk.degrees)).astype(np.float64)
    if len(walk.degrees) <= _DENSE:
        found = Ranking(_solve(walk, restart, damping), 1, has_converged=True)
    elif walk.is_directed:
        found = _iterate(walk, restart, damping, goal=tolerance / 2, most=max_iterations)
    else:
        found = _conjugate(walk, restart, damping, goal=tolerance, most=max_iterations)
    scores = walk.spread(found.scores, seeds, own=own_shares(walk, seeds, shares=shares, damping=damping))
    return found._replace(scores=scores / scores.sum())


def _solve(walk: Walk, restart: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    system = np.eye(len(walk.degrees)) - damping * walk.steps.toarray().T.astype(np.float64)
    roots = walk.roots.astype(np.float64)
    scaled = np.divide(restart, roots, out=restart.copy(), where=roots > 0)
    found = np.linalg.solve(system, (1 - damping) * scaled)
    scores: NDArray[np.float64] = np.maximum(found * np.where(roots > 0, roots, 1), 0)
    return scores


def _iterate(walk: Walk, restart: NDArray[np.float64], damping: float, *, goal: float, most: int) -> Ranking:
    # Mass that ends at nodes without edges makes the sum smaller, by a factor of 1 - d at most: the error grows by as much.
    back = sp.csr_array(walk.steps.astype(np.float64).T.tocsr())
    goal *= (1 - damping) ** 2 / damping if damping else 1
    scores = (1 - damping) * restart
    for iteration in range(1, most + 1):
        following = (1 - damping) * restart + damping * (back @ scores)
        change = float(np.abs(following - scores).sum())
        scores = following
        if change <= goal:
            return Ranking(scores, iteration, has_converged=True)
    return Ranking(scores, most, has_converged=False)


def _conjugate(walk: Walk, restart: NDArray[np.float64], damping: float, *, goal: float, most: int) -> Ranking:
    roots = walk.roots
    is_alone = roots == 0
    alone = float(restart[is_alone].sum())
    # Isolated seeds are known, and the sum of all scores with them; their rows of the matrix are empty.
    goal *= (1 - damping) * (1 - damping * alone)
    number = roots.dtype.type
    scaled = np.divide(restart, roots, out=np.zeros(len(roots)), where=~is_alone)
    rest = ((1 - damping) * scaled).astype(roots.dtype)
    found = np.zeros_like(rest)
    along = rest.copy()
    size = dot(rest, rest)
    iteration = 0
    has_converged = float(dot(np.abs(rest), roots)) <= goal
    while not has_converged and iteration < most:
        iteration += 1
        ahead = walk.steps @ along
        ahead *= number(-damping)
        ahead += along
        step = size / dot(along, ahead)
        found += step * along
        rest -= step * ahead
        has_converged = float(dot(np.abs(rest), roots)) <= goal
        following = dot(rest, rest)
        along *= following / size if size else number(0)
        along += rest
        size = following
    # A score is above 0 wherever a seed reaches; rounding may have it a little below.
    scores = np.maximum(found * roots, 0).astype(np.float64)
    scores[is_alone] = (1 - damping) * restart[is_alone]
    return Ranking(scores, iteration, has_converged)


def dot(one: NDArray[np.floating], other: NDArray[np.floating]) -> np.floating:
    """The product of two vectors, by one thread: BLAS wakes its threads for 10,000 numbers, and they spin long afterwards.

    Examples
    --------
    >>> float(dot(np.arange(10_000.0), np.ones(10_000)))
    49995000.0
    """
    whole = len(one) - len(one) % _BLOCK
    parts = np.vecdot(one[:whole].reshape(-1, _BLOCK), other[:whole].reshape(-1, _BLOCK))
    total: np.floating = parts.sum() + one[whole:] @ other[whole:]
    return total


def own_shares(
    walk: Walk, seeds: NDArray[np.integer], *, shares: NDArray[np.float64], damping: float
) -> NDArray[np.float64]:
    """What each seed gets from nowhere else; see :meth:`Walk.spread`."""
    own: NDArray[np.float64] = (1 - damping) * shares / (1 + damping * walk.twins.loops[walk.twins.of[seeds]])
    return own


def seed_shares(
    walk: Walk, seeds: NDArray[np.integer], *, weights: NDArray[np.floating], damping: float
) -> NDArray[np.float64]:
    """The weights over their sum, checked."""
    check.same_length(seeds=seeds, weights=weights)
    check.finite("weights", weights)
    if len(seeds) and (seeds.min() < 0 or seeds.max() >= len(walk)):
        raise InputError(f"seeds has an index outside the {len(walk)} nodes of the graph; give indices from 0")
    if (weights < 0).any() or not weights.sum() > 0:
        raise InputError("weights must not be negative, and at least one must be above 0")
    if not 0 <= damping < 1:
        raise InputError(f"damping is {damping}; it must be from 0 to below 1")
    found: NDArray[np.float64] = np.asarray(weights, dtype=np.float64) / float(weights.sum())
    return found
