"""Query-aware personalised PageRank: a walk over statements that share entities or chunks, drawn to the question (ToPG).

Also here: :func:`visit_shares`, PageRank sampled by random walks, and :func:`refined_query`, the relevance feedback (Rocchio)
that moves a query between two walks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.calibration import fitted_cosine, stretch
from hlgraph.errors import InputError
from hlgraph.records import Calibration, Kind
from hlgraph.subgraph import Csr

_LEAST_TEMPERATURE = 0.01
_TAU = 0.1
_THETA = 0.4
_SINGLE = 1e-4


@dataclass(frozen=True, slots=True)
class QueryWalk:
    """Parameters of the transition; the defaults are the paper's.

    Attributes
    ----------
    structure_weight : lambda, from 0 (only similarity to the question counts) to 1 (only shared entities and chunks count),
        default 0.5
    damping : probability to go on, from 0 to below 1, default 0.85
    temperature : tau, at least 0.01; the lower, the more the most similar statement attracts. None (default): 0.1, fitted to the
        corpus
    threshold : theta, a cosine from -1 to 1; statements below it do not attract the walk. None (default): 0.4, fitted to the
        corpus

    Raises
    ------
    InputError
        A parameter is out of its bounds.
    """

    structure_weight: float = 0.5
    damping: float = 0.85
    temperature: float | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.probability("structure_weight", self.structure_weight)
        check.below_one("damping", self.damping)
        if self.temperature is not None and not self.temperature >= _LEAST_TEMPERATURE:
            raise InputError(f"temperature is {self.temperature}; it must be at least {_LEAST_TEMPERATURE}")
        if self.threshold is not None and not -1 <= self.threshold <= 1:
            raise InputError(f"threshold is {self.threshold}; it must be from -1 to 1")

    def attraction(self, calibration: Calibration | None = None) -> Attraction:
        """The parameters of the attraction: those given, else the paper's, fitted to the scale of a corpus.

        Parameters
        ----------
        calibration : of the corpus; None: the numbers of the paper
        """
        temperature, threshold = self.temperature, self.threshold
        if temperature is None:
            temperature = max(round(_TAU * stretch(calibration), 4), _LEAST_TEMPERATURE)
        if threshold is None:
            threshold = fitted_cosine(_THETA, Kind.STATEMENT, calibration=calibration)
        return Attraction(temperature, threshold)


class Attraction(NamedTuple):
    """How the question draws a walk.

    Attributes
    ----------
    temperature : tau
    threshold : theta
    """

    temperature: float
    threshold: float


@dataclass(frozen=True, slots=True)
class Bipartite:
    """A bipartite graph of statements, prepared for many walks; :func:`bipartite` makes it and nothing changes it.

    Attributes
    ----------
    shared : CSR of shape (n, m), 0 or 1, statements by the entities and chunks that at least two of them have
    down : CSR of shape (m, n), the transpose of ``shared``
    up : CSR of shape (n, m), ``shared`` with columns that sum to 1
    outward : shape (n,), factor of a statement's score that makes its row of the transition sum to 1; 0 if it shares nothing
    back : shape (n,), the part of a statement's mass that would return to itself, which is cancelled
    """

    shared: Csr
    down: Csr
    up: Csr
    outward: NDArray[np.float64]
    back: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.outward)


class QueryRanking(NamedTuple):
    """Scores of all statements for each walker.

    Attributes
    ----------
    scores : shape (w, n), each row sums to 1
    iterations : number of iterations that ran
    has_converged : False when ``max_iterations`` was reached before the tolerance
    """

    scores: NDArray[np.float64]
    iterations: int
    has_converged: bool


def bipartite(across: Csr) -> Bipartite:
    """The prepared bipartite graph of statements; time linear in the number of entries.

    Parameters
    ----------
    across : CSR of shape (n, m), statements by entities and chunks; every non-zero entry is an edge of weight 1

    References
    ----------
    ToPG, Eq. 5.
    """
    incidence = sp.csr_array(across, dtype=np.float64, copy=True)
    incidence.sum_duplicates()
    incidence.eliminate_zeros()
    incidence.data[:] = 1
    count = incidence.shape[0]
    rows = np.repeat(np.arange(count), np.diff(incidence.indptr))
    degrees = np.diff(incidence.indptr).astype(np.float64)
    having = np.bincount(incidence.indices, minlength=incidence.shape[1])
    # An entity or chunk of only one statement joins nothing: all mass that goes there would return to this statement.
    is_shared = having > 1
    kept = is_shared[incidence.indices]
    inner, joints = rows[kept], (np.cumsum(is_shared) - 1)[incidence.indices[kept]]
    ends = np.zeros(count + 1, dtype=np.intp)
    np.cumsum(np.bincount(inner, minlength=count), out=ends[1:])
    sizes = having[is_shared].astype(np.float64)
    shared = sp.csr_array((incidence.data[kept], joints, ends), shape=(count, len(sizes)))
    back = np.bincount(inner, 1 / sizes[joints], minlength=count).astype(np.float64)
    own = np.bincount(rows, 1 / having[incidence.indices], minlength=count)
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

    ``Ts = D^-1 A H^-1 A'``, where ``A`` is statements by entities and chunks, and ``D`` and ``H`` are its row and column
    sums; the diagonal is cancelled and the rows are scaled to sum to 1 again.
    ``Tn(i, j) = c_j [Ts(i, j) > 0] / sum_k c_k [Ts(i, k) > 0]`` with ``c_j = exp(cosine_j / tau)`` where the cosine is at
    least theta, else 0. The scores solve ``p = (1 - d) s + d (M' p + m s)``. ``m`` is the mass that M does not pass on: that
    of statements that share nothing, and the part ``1 - lambda`` of those without a neighbour at or above theta, for which
    Eq. 7 divides 0 by 0. A walk that meets nothing similar to the question therefore returns to its seeds.

    No n x n matrix is made. ``Ts`` is applied as its factors, in time linear in the edges of A. ``Tn`` has entries only in
    the columns of the t statements at or above theta. Its pattern is A times the transposed rows of these statements: at
    most n t entries, exactly the non-zero ones of Eq. 7. Each iteration takes time linear in both.

    Parameters
    ----------
    graph : n statements, from :func:`bipartite`
    cosines : shape (w, n), of each statement to the question of each walker
    seed_weights : shape (w, n), not negative, each row with a weight above 0
    walk : parameters of the transition; None: the paper's, which also replace single parameters that are None
    tolerance : largest sum of absolute changes of any walker in the last iteration, above 0, default 1e-6; from 1e-4 on the walks
        are computed in single precision
    max_iterations : default 1,000

    Returns
    -------
    QueryRanking
        ``has_converged`` is False when ``max_iterations`` was reached first.

    Raises
    ------
    InputError
        A shape, a weight or a parameter is out of its bounds.

    References
    ----------
    ToPG, Eq. 3-8 and 10.

    Examples
    --------
    Three statements in a row; the last one is similar to the question.

    >>> line = bipartite(sp.csr_array(np.array([[1, 0], [1, 1], [0, 1]])))
    >>> ranking = query_pagerank(line, np.array([[0.1, 0.1, 0.9]]), seed_weights=np.array([[1.0, 0, 0]]))
    >>> ranking.scores.round(3)
    array([[0.512, 0.298, 0.19 ]])
    """
    walk = walk or QueryWalk()
    seeds: NDArray[np.floating] = _checked(graph, cosines, seed_weights)
    check.positive("tolerance", tolerance)
    attraction = _attraction(graph, np.asarray(cosines, dtype=np.float64).T, walk)
    is_one = len(cosines) == 1
    seeds = seeds[:, 0].copy() if is_one else seeds
    seeds = seeds.astype(np.float32) if tolerance >= _SINGLE else seeds
    follow = _one_step(graph, attraction, walk) if is_one else _many_steps(graph, attraction, walk, like=seeds)
    scores: NDArray[np.floating] = seeds
    starts = np.nonzero(seeds)
    weights = seeds[starts]
    for iteration in range(1, max_iterations + 1):
        following = follow(scores)
        missing = 1 - following.sum(axis=0)
        following[starts] += (missing if is_one else missing[starts[1]]) * weights
        change = float(np.abs(following - scores).sum(axis=0).max(initial=0.0))
        scores = following
        if change <= tolerance:
            return QueryRanking(_rows_of(scores), iteration, has_converged=True)
    return QueryRanking(_rows_of(scores), max_iterations, has_converged=False)


def _rows_of(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.atleast_2d(np.maximum(scores.T, 0)).astype(np.float64)


_Step: TypeAlias = Callable[[NDArray[np.floating]], NDArray[np.floating]]
"""Maps the scores of the walkers, shape (n, w), or (n,) for one walker, to ``d M' p`` of the same shape."""


class _Structure(NamedTuple):
    """The factors of ``d lambda Ts'``, in which each statement's row sums to 1: ``up @ down @ p - own p``."""

    down: Csr
    up: Csr
    own: NDArray[np.float64]


def _structure(graph: Bipartite, walk: QueryWalk) -> _Structure:
    down, up, share = graph.down, graph.up, walk.damping * walk.structure_weight
    leaving = sp.csr_array((down.data * graph.outward[down.indices], down.indices, down.indptr), shape=down.shape)
    arriving = sp.csr_array((share * up.data, up.indices, up.indptr), shape=up.shape)
    return _Structure(leaving, arriving, share * graph.back * graph.outward)


def _many_steps(graph: Bipartite, attraction: _Drawn, walk: QueryWalk, *, like: NDArray[np.floating]) -> _Step:
    """The function that computes ``d M' p`` for several walkers, whose attractions differ, in the precision of ``like``."""
    structure = _structure(graph, walk)
    down, up, towards = (matrix.astype(like.dtype) for matrix in (structure.down, structure.up, attraction.towards))
    own = structure.own.astype(like.dtype)[:, np.newaxis]
    weights = (walk.damping * (1 - walk.structure_weight) * attraction.weights).astype(like.dtype)
    outward = attraction.outward.astype(like.dtype)

    def follow(scores: NDArray[np.floating]) -> NDArray[np.floating]:
        following: NDArray[np.floating] = up @ (down @ scores)
        following -= own * scores
        if len(attraction.nodes):
            following[attraction.nodes] += weights * (towards @ (scores * outward))
        return following

    return follow


def _one_step(graph: Bipartite, attraction: _Drawn, walk: QueryWalk) -> _Step:
    """The same for one walker, as two matrix products: on a few hundred statements the calls dominate an iteration."""
    down, up, own = _structure(graph, walk)
    by_meaning = walk.damping * (1 - walk.structure_weight)
    count, joints, drawn = len(graph), graph.shared.shape[1], len(attraction.nodes)
    towards = attraction.towards
    data = np.concatenate([down.data, towards.data * attraction.outward[:, 0][towards.indices]])
    starts = np.concatenate([down.indptr, down.indptr[-1] + towards.indptr[1:]])
    indices = np.concatenate([down.indices, towards.indices])
    first = sp.csr_array((data, indices, starts), shape=(joints + drawn, count))
    # Each attracting statement has one additional entry, at the end of its row.
    ends = up.indptr[attraction.nodes + 1]
    values = np.insert(up.data, ends, by_meaning * attraction.weights[:, 0])
    columns = np.insert(up.indices, ends, joints + np.arange(drawn))
    more = np.zeros(count + 1, dtype=up.indptr.dtype)
    more[attraction.nodes + 1] = 1
    second = sp.csr_array((values, columns, up.indptr + np.cumsum(more)), shape=(count, joints + drawn))

    def follow(scores: NDArray[np.floating]) -> NDArray[np.floating]:
        following: NDArray[np.floating] = second @ (first @ scores)
        following -= own * scores
        return following

    return follow


class _Drawn(NamedTuple):
    """The semantic transition as factors.

    Attributes
    ----------
    nodes : shape (t,), the statements that attract at least one walker
    towards : CSR of shape (t, n), 1 if a step leads from a statement to an attracting one
    weights : shape (t, w), how strongly each attracts each walker
    outward : shape (n, w), 1 over the sum of the weights that attract a walker from a statement; 0 if that sum is 0
    """

    nodes: NDArray[np.intp]
    towards: Csr
    weights: NDArray[np.float64]
    outward: NDArray[np.float64]


def _attraction(graph: Bipartite, cosines: NDArray[np.float64], walk: QueryWalk) -> _Drawn:
    temperature, threshold = walk.attraction()
    nodes = np.flatnonzero((cosines >= threshold).any(axis=1))
    close = cosines[nodes]
    # Relative to the highest cosine of each walker, so that nothing overflows; the quotients do not change.
    scaled = np.exp((close - close.max(axis=0, initial=-1.0)) / temperature)
    weights = np.where(close >= threshold, scaled, 0.0)
    towards = sp.csr_array(graph.shared[nodes] @ graph.down)
    towards.data[:] = 1
    owner = np.repeat(nodes, np.diff(towards.indptr))
    towards.data[towards.indices == owner] = 0
    sums = towards.T @ weights
    outward = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return _Drawn(nodes, towards, weights, outward)


def _checked(
    graph: Bipartite, cosines: NDArray[np.floating], seed_weights: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The seed weights of each walker over their sum, shape (n, w)."""
    if cosines.ndim != 2 or cosines.shape != seed_weights.shape or cosines.shape[1] != len(graph):
        raise InputError(
            f"cosines has the shape {cosines.shape} and seed_weights {seed_weights.shape}; both need one row per walker and "
            f"one column for each of the {len(graph)} statements"
        )
    check.finite("cosines", cosines)
    check.finite("seed_weights", seed_weights)
    sums = seed_weights.sum(axis=1, keepdims=True)
    if (seed_weights < 0).any() or not (sums > 0).all():
        raise InputError("seed_weights must not be negative, and each walker needs at least one above 0")
    return np.asarray((seed_weights / sums).T, dtype=np.float64)


def visit_shares(
    adjacency: Csr,
    seeds: NDArray[np.integer],
    *,
    rng: np.random.Generator,
    damping: float = 0.85,
    steps: int = 20_000,
) -> NDArray[np.float64]:
    """Shares of visits of random walks with restart to each node; they sum to 1.

    A walk starts at a seed drawn uniformly. With probability ``damping`` it moves to a neighbour drawn uniformly; otherwise,
    and at a node without neighbours, it ends. ``steps (1 - damping)`` walks run side by side, so they make about ``steps``
    visits in all. The expectation is the personalised PageRank of :func:`hlgraph.algorithms.ppr.exact_pagerank` with equal
    weights, and the error falls with the square root of ``steps``. :func:`hlgraph.algorithms.ppr.local_pagerank` computes
    the same without randomness in less time. Time linear in ``steps``.

    Parameters
    ----------
    adjacency : CSR of shape (n, n); every stored entry is an edge, weights are ignored
    seeds : shape (m,), indices of nodes, at least one
    rng : random number generator; the same state gives the same shares
    damping : from 0 to below 1, default 0.85; the paper's restart probability is ``1 - damping``, 0.15 in its authors' code
    steps : expected number of visits, above 0, default 20,000

    Returns
    -------
    NDArray
        Shape (n,), float64.

    Raises
    ------
    InputError
        There is no seed, or a seed, the damping or the steps are out of their bounds.

    References
    ----------
    ToPG, section 2.2, "Subgraph Extraction" (GExtract).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> visit_shares(line, np.array([0]), rng=np.random.default_rng(5), damping=0.5, steps=100_000).round(2)
    array([0.58, 0.33, 0.08])
    """
    size = adjacency.shape[0]
    check.square(adjacency)
    if not len(seeds) or seeds.min() < 0 or seeds.max() >= size:
        raise InputError(f"seeds must be at least one index from 0 to below {size}")
    check.below_one("damping", damping)
    check.positive("steps", steps)
    visits = np.zeros(size, dtype=np.int64)
    starts, degrees = adjacency.indptr[:-1].astype(np.intp), np.diff(adjacency.indptr)
    here = np.asarray(seeds, dtype=np.intp)[rng.integers(len(seeds), size=max(1, round(steps * (1 - damping))))]
    while len(here):
        visits += np.bincount(here, minlength=size)
        here = here[(rng.random(len(here)) < damping) & (degrees[here] > 0)]
        place = (rng.random(len(here)) * degrees[here]).astype(np.intp)
        here = adjacency.indices[starts[here] + place].astype(np.intp)
    shares: NDArray[np.float64] = visits / visits.sum()
    return shares


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
    pruned : shape (c, d), for each partition the mean embedding of the statements that Select left out; zeros if there are none
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
    count = len(origins)
    query: NDArray[np.float64] = (
        weights.origin * (np.add.reduce(origins, axis=0, dtype=np.float64) / count)
        + weights.positive * node.astype(np.float64)
        - weights.negative * (np.add.reduce(pruned, axis=0, dtype=np.float64) / count)
    )
    length = math.sqrt(query.dot(query))
    if not math.isfinite(length):
        for name, values in (("origins", origins), ("node", node), ("pruned", pruned)):
            check.finite(name, values)
    return query / length if length > 0 else query
