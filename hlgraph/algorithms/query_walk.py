"""The walk that follows a question: from statement to statement, by what they share and by what they say (ToPG)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr

_LEAST_TEMPERATURE = 0.01


@dataclass(frozen=True, slots=True)
class QueryWalk:
    """How a walk goes on; the defaults are the paper's.

    Attributes
    ----------
    structure_weight : lambda, from 0 (only what statements say counts) to 1 (only what they share counts)
    damping : the probability to go on, from 0 to below 1
    temperature : tau; the lower, the more the closest statement attracts; at least 0.01
    threshold : theta; statements with a cosine below it attract nothing by what they say
    """

    structure_weight: float = 0.5
    damping: float = 0.85
    temperature: float = 0.1
    threshold: float = 0.4

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.probability("structure_weight", self.structure_weight)
        if not 0 <= self.damping < 1:
            raise InputError(f"damping is {self.damping}; it must be from 0 to below 1")
        if not self.temperature >= _LEAST_TEMPERATURE:
            raise InputError(f"temperature is {self.temperature}; it must be at least {_LEAST_TEMPERATURE}")
        if not -1 <= self.threshold <= 1:
            raise InputError(f"threshold is {self.threshold}; it must be from -1 to 1")


@dataclass(frozen=True, slots=True)
class Bipartite:
    """Statements and what joins them, made ready for many walks by :func:`bipartite`; never changed.

    Attributes
    ----------
    shared : CSR of shape (n, m), 0 or 1: statements by the entities and chunks that at least two of them have
    down, up : the transpose of ``shared``, and ``shared`` with columns that sum to 1
    outward : shape (n,), what a statement's score is times, so that it is handed on in whole; 0 for one that shares nothing
    back : shape (n,), the share of a statement that would come back to itself over what it shares
    """

    shared: Csr
    down: Csr
    up: Csr
    outward: NDArray[np.float64]
    back: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.outward)


class QueryRanking(NamedTuple):
    """Scores of shape (w, n), each row sums to 1; ``has_converged`` is False when the iterations ran out first."""

    scores: NDArray[np.float64]
    iterations: int
    has_converged: bool


def bipartite(across: Csr) -> Bipartite:
    """Statements by what joins them, made ready; linear in the entries.

    Parameters
    ----------
    across : CSR of shape (n, m), statements by entities and chunks; entries that are not 0 are edges, all alike

    References
    ----------
    ToPG, Eq. 5.
    """
    held = sp.csr_array(across, dtype=np.float64, copy=True)
    held.sum_duplicates()
    held.eliminate_zeros()
    held.data[:] = 1
    count = held.shape[0]
    rows = np.repeat(np.arange(count), np.diff(held.indptr))
    degrees = np.diff(held.indptr).astype(np.float64)
    having = np.bincount(held.indices, minlength=held.shape[1])
    # Of what goes to an entity or chunk that only one statement has, all would come back to it: it joins nothing.
    is_shared = having > 1
    kept = is_shared[held.indices]
    inner, joints = rows[kept], (np.cumsum(is_shared) - 1)[held.indices[kept]]
    ends = np.zeros(count + 1, dtype=np.intp)
    np.cumsum(np.bincount(inner, minlength=count), out=ends[1:])
    sizes = having[is_shared].astype(np.float64)
    shared = sp.csr_array((held.data[kept], joints, ends), shape=(count, len(sizes)))
    back = np.bincount(inner, 1 / sizes[joints], minlength=count).astype(np.float64)
    own = np.bincount(rows, 1 / having[held.indices], minlength=count)
    joins = np.diff(ends) > 0
    outward = np.divide(1.0, degrees - own, out=np.zeros(count), where=joins)
    up = sp.csr_array((1 / sizes[shared.indices], shared.indices, shared.indptr), shape=shared.shape)
    return Bipartite(shared, sp.csr_array(shared.T), up, outward, back)


def query_pagerank(
    graph: Bipartite,
    cosines: NDArray[np.floating],
    *,
    seed_weights: NDArray[np.floating],
    walk: QueryWalk | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1_000,
) -> QueryRanking:
    """Personalised PageRank over the query-aware transition ``M = lambda Ts + (1 - lambda) Tn``, for w walkers at once.

    ``Ts = D^-1 A H^-1 A'`` with ``A`` the statements by entities and chunks, ``D`` and ``H`` its row and column sums; its
    diagonal is cancelled and its rows sum to 1 again. ``Tn(i, j) = c_j [Ts(i, j) > 0] / sum_k c_k [Ts(i, k) > 0]`` with
    ``c_j = exp(cosine_j / tau)`` where the cosine is at least theta, else 0. Then ``p = (1 - d) s + d (M' p + m s)``, ``m``
    the mass that M does not hand on: that of statements which share nothing, and the share ``1 - lambda`` of those without a
    neighbour at or above theta, for which Eq. 7 divides 0 by 0. So a walk that meets nothing like the question goes back.

    No n x n matrix is made. ``Ts`` is applied as its factors, in time linear in the edges of A. ``Tn`` has entries only in
    the columns of the t statements at or above theta, so its pattern is that of A times the transposed rows of these alone:
    at most n t entries, exactly the non-zero ones of Eq. 7. Each iteration takes time linear in both.

    Parameters
    ----------
    cosines : shape (w, n), of each statement to the question of each walker
    seed_weights : shape (w, n), not negative, each row with one above 0
    tolerance : iterated until no walker's sum of absolute changes is above this

    Raises
    ------
    InputError
        A shape or a weight is out of its bounds.

    References
    ----------
    ToPG, Eq. 3-8 and 10.

    Examples
    --------
    Three statements in a row; the last one is like the question.

    >>> line = bipartite(sp.csr_array(np.array([[1, 0], [1, 1], [0, 1]])))
    >>> found = query_pagerank(line, np.array([[0.1, 0.1, 0.9]]), seed_weights=np.array([[1.0, 0, 0]]))
    >>> found.scores.round(3)
    array([[0.512, 0.298, 0.19 ]])
    """
    walk = walk or QueryWalk()
    seeds = _checked(graph, cosines, seed_weights)
    check.positive("tolerance", tolerance)
    attraction = _attraction(graph, np.asarray(cosines, dtype=np.float64).T, walk)
    is_one = len(cosines) == 1
    seeds = seeds[:, 0].copy() if is_one else seeds
    follow = _one_step(graph, attraction, walk) if is_one else _many_steps(graph, attraction, walk)
    scores = seeds
    for iteration in range(1, max_iterations + 1):
        following = follow(scores)
        following += (1 - following.sum(axis=0)) * seeds
        change = float(np.abs(following - scores).sum(axis=0).max(initial=0.0))
        scores = following
        if change <= tolerance:
            return QueryRanking(np.atleast_2d(np.maximum(scores.T, 0)), iteration, has_converged=True)
    return QueryRanking(np.atleast_2d(np.maximum(scores.T, 0)), max_iterations, has_converged=False)


def _many_steps(graph: Bipartite, attraction: _Attraction, walk: QueryWalk) -> _Step:
    """``d M' p`` for several walkers, whose attractions differ."""
    by_structure, by_meaning = walk.damping * walk.structure_weight, walk.damping * (1 - walk.structure_weight)
    outward, back = graph.outward[:, np.newaxis], graph.back[:, np.newaxis]

    def follow(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        leaving = scores * outward
        following: NDArray[np.float64] = by_structure * (graph.up @ (graph.down @ leaving) - back * leaving)
        if len(attraction.nodes) and by_meaning:
            drawn = attraction.weights * (attraction.towards @ (scores * attraction.outward))
            following[attraction.nodes] += by_meaning * drawn
        return following

    return follow


def _one_step(graph: Bipartite, attraction: _Attraction, walk: QueryWalk) -> _Step:
    """The same for one walker as two matrices: on a few hundred statements an iteration takes its time for its calls."""
    by_structure, by_meaning = walk.damping * walk.structure_weight, walk.damping * (1 - walk.structure_weight)
    count, joints, drawn = len(graph), graph.shared.shape[1], len(attraction.nodes)
    down, towards = graph.down, attraction.towards
    data = np.concatenate(
        [down.data * graph.outward[down.indices], towards.data * attraction.outward[:, 0][towards.indices]]
    )
    starts = np.concatenate([down.indptr, down.indptr[-1] + towards.indptr[1:]])
    indices = np.concatenate([down.indices, towards.indices])
    first = sp.csr_array((data, indices, starts), shape=(joints + drawn, count))
    # Each statement that attracts has one entry more, at the end of its row.
    up, ends = graph.up, graph.up.indptr[attraction.nodes + 1]
    values = np.insert(by_structure * up.data, ends, by_meaning * attraction.weights[:, 0])
    columns = np.insert(up.indices, ends, joints + np.arange(drawn))
    more = np.zeros(count + 1, dtype=up.indptr.dtype)
    more[attraction.nodes + 1] = 1
    second = sp.csr_array((values, columns, up.indptr + np.cumsum(more)), shape=(count, joints + drawn))
    own = by_structure * graph.back * graph.outward

    def follow(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        following: NDArray[np.float64] = second @ (first @ scores)
        following -= own * scores
        return following

    return follow


class _Attraction(NamedTuple):
    """The semantic transition as factors.

    Attributes
    ----------
    nodes : shape (t,), the statements that attract some walker
    towards : CSR of shape (t, n), 1 where a statement can go to one that attracts
    weights : shape (t, w), how much they attract each walker
    outward : shape (n, w), 1 over what attracts a walker from a statement; 0 where nothing does
    """

    nodes: NDArray[np.intp]
    towards: Csr
    weights: NDArray[np.float64]
    outward: NDArray[np.float64]


_Step: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From the scores of the walkers, shape (n, w), or (n,) of one, to what the transition hands on of them, damped."""


def _attraction(graph: Bipartite, cosines: NDArray[np.float64], walk: QueryWalk) -> _Attraction:
    nodes = np.flatnonzero((cosines >= walk.threshold).any(axis=1))
    close = cosines[nodes]
    # Over the highest of a walker, so that nothing overflows; the quotient stays.
    scaled = np.exp((close - close.max(axis=0, initial=-1.0)) / walk.temperature)
    weights = np.where(close >= walk.threshold, scaled, 0.0)
    towards = sp.csr_array(graph.shared[nodes] @ graph.down)
    towards.data[:] = 1
    owner = np.repeat(nodes, np.diff(towards.indptr))
    towards.data[towards.indices == owner] = 0
    sums = towards.T @ weights
    outward = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return _Attraction(nodes, towards, weights, outward)


def _checked(
    graph: Bipartite, cosines: NDArray[np.floating], seed_weights: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The seeds as shares, shape (n, w)."""
    if cosines.ndim != 2 or cosines.shape != seed_weights.shape or cosines.shape[1] != len(graph):
        raise InputError(
            f"cosines have the shape {cosines.shape} and seed_weights {seed_weights.shape}; both need one row a walker and one "
            f"column for each of the {len(graph)} statements"
        )
    check.finite("cosines", cosines)
    check.finite("seed_weights", seed_weights)
    sums = seed_weights.sum(axis=1, keepdims=True)
    if (seed_weights < 0).any() or not (sums > 0).all():
        raise InputError("seed_weights must not be negative, and each walker needs one above 0")
    return np.asarray((seed_weights / sums).T, dtype=np.float64)
