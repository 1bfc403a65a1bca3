"""Personalised PageRank of all nodes, over a sparse adjacency or over a prepared walk.

:func:`exact_pagerank` is what retrieval uses: :func:`prepare` makes a :class:`Walk` of a graph once, and every ranking
reuses it. :func:`personalised_pagerank` is plain power iteration on an adjacency: simple, slower, without preparation.
:func:`local_pagerank` gives approximate scores around the seeds, in time independent of the size of the graph.
:func:`replaced` patches a prepared walk after some rows of the graph changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.projection import Twins, find_twins
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr, spans

Precision = Literal["single", "double"]
_BLOCK = 8_192  # elements that one step of a dot product multiplies
_DENSE = 128
"""Graphs of at most this many classes are solved directly: one factorisation is faster than the calls of an iteration."""
_SINGLE_ERROR = 1e-7
"""Error that rounding to float32 adds, before the factor 1 / (1 - damping)."""
_DTYPES: Mapping[Precision, type[np.float32] | type[np.float64]] = {"single": np.float32, "double": np.float64}


class Ranking(NamedTuple):
    """Scores of all nodes, which sum to 1.

    Attributes
    ----------
    scores : shape (n,)
    iterations : number of iterations that ran
    has_converged : False when ``max_iterations`` was reached before the tolerance
    """

    scores: NDArray[np.float64]
    iterations: int
    has_converged: bool


class Over(NamedTuple):
    """A patch of a walk: classes that were removed, and new ones, which :func:`replaced` appends.

    Attributes
    ----------
    gone : classes of the older walk that were removed, ascending
    rows : CSR of shape (t, c + t), the steps of the t appended classes
    columns : CSR of shape (c, t), the steps of the c older classes to the appended ones
    pairs : shape (2, m), the entries of ``rows``: an appended class, and its neighbour
    weights : shape (m,), float64, the weight of each of ``pairs``
    """

    gone: NDArray[np.intp]
    rows: Csr
    columns: Csr
    pairs: NDArray[np.intp]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Walk:
    """A graph prepared for many rankings; :func:`prepare` makes it and nothing changes it.

    The walk runs over classes of twins, which are nodes with the same neighbours. Entities that only one statement mentions
    are twins; they are about a third of the nodes of a graph of entities and chunks.

    Attributes
    ----------
    steps : CSR of shape (c, c), ``A[i, j] / sqrt(degree[i] degree[j])``, classes with the most neighbours first
    degrees : shape (c,), float64, the sum of the weights of a class's edges
    roots : shape (c,), the square roots of ``degrees`` in the precision of ``steps``
    twins : the classes
    over : the patch of ``steps``, which then belong to an older graph; None: no patch
    """

    steps: Csr
    degrees: NDArray[np.float64]
    roots: NDArray[np.floating]
    twins: Twins
    over: Over | None = None

    def __len__(self) -> int:
        return len(self.twins.of)

    def times(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """The product of the steps and a vector, in time linear in the edges.

        Parameters
        ----------
        values : shape (c,), 0 for classes that were removed
        """
        over = self.over
        if over is None:
            product: NDArray[np.floating] = self.steps @ values
            return product
        size = self.steps.shape[0]
        old = self.steps @ values[:size]
        old += over.columns @ values[size:]
        old[over.gone] = 0
        return np.concatenate([old, over.rows @ values])

    def dense(self) -> NDArray[np.float64]:
        """The steps as one array of shape (c, c)."""
        matrix = np.zeros((len(self.degrees),) * 2)
        size = self.steps.shape[0]
        matrix[:size, :size] = self.steps.toarray()
        if self.over is not None:
            matrix[self.over.gone] = matrix[:, self.over.gone] = 0
            matrix[size:] = self.over.rows.toarray()
            matrix[:size, size:] = self.over.columns.toarray()
        return matrix

    def spread(
        self, scores: NDArray[np.float64], seeds: NDArray[np.integer], *, own: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Scores of nodes from the scores of their classes, in time linear in the number of nodes.

        Twins share the score of their class equally, except for the restart mass that each one receives as a seed. The
        deviations from the mean sum to 0 in a class, so they never leave it. The walk inside the class damps them to
        ``1 / (1 + d w / degree)`` of their size, where ``w`` is the weight between two twins.

        Parameters
        ----------
        scores : shape (c,), of the classes
        seeds : shape (m,), indices of nodes
        own : shape (m,), the mass that each seed receives beyond its twins

        Returns
        -------
        NDArray
            Shape (n,), not negative.
        """
        seed_mass = np.bincount(self.twins.of[seeds], own, minlength=len(scores))
        node_scores: NDArray[np.float64] = ((scores - seed_mass) / self.twins.sizes)[self.twins.of]
        np.add.at(node_scores, seeds, own)
        return np.maximum(node_scores, 0, out=node_scores)


def precision_for(tolerance: float, damping: float) -> Precision:
    """The lowest precision in which scores can be exact to ``tolerance``.

    Parameters
    ----------
    tolerance : largest sum of absolute errors, above 0
    damping : probability to go on, from 0 to below 1

    Returns
    -------
    Precision
        ``single`` or ``double``.

    Examples
    --------
    >>> precision_for(1e-6, 0.85), precision_for(1e-9, 0.85)
    ('single', 'double')
    """
    return "single" if tolerance * (1 - damping) >= _SINGLE_ERROR else "double"


def prepare(adjacency: Csr, *, precision: Precision = "single") -> Walk:
    """A graph prepared for many rankings, in time linear in its edges; duplicate entries are summed.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric, weights not negative
    precision : ``single`` (default: float32, half the memory) suits tolerances down to about 1e-6; ``double`` suits any

    Returns
    -------
    Walk
        Its scores refer to the n nodes of the adjacency.

    Raises
    ------
    InputError
        The adjacency is not square and symmetric, or has a negative or non-finite weight.
    """
    check.square(adjacency)
    _check_weights(adjacency)
    matrix = sp.csr_array(adjacency, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz and abs(matrix - matrix.T).max() > 1e-6 * matrix.data.max():
        raise InputError("the adjacency is not symmetric; add its transpose")
    twins = find_twins(matrix)
    matrix = twins.merged(matrix)
    # Rows of equal length are adjacent: a product takes half the time, because the processor predicts where they end.
    order = np.argsort(-np.diff(matrix.indptr), kind="stable")
    twins, matrix = twins.ordered(order), sp.csr_array(matrix[order][:, order])
    matrix.sort_indices()
    degrees = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    rows = np.repeat(np.arange(len(degrees)), np.diff(matrix.indptr))
    roots = np.sqrt(degrees)
    shares = matrix.data / (roots[rows] * roots[matrix.indices])
    dtype = _DTYPES[precision]
    index = np.int32 if matrix.nnz < np.iinfo(np.int32).max else np.int64  # int32 halves the memory traffic
    steps = sp.csr_array(
        (shares.astype(dtype), matrix.indices.astype(index), matrix.indptr.astype(index)), shape=matrix.shape
    )
    return Walk(steps, degrees, roots.astype(dtype), twins)


def personalised_pagerank(
    adjacency: Csr,
    seed_weights: NDArray[np.floating],
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    max_iterations: int = 100,
) -> Ranking:
    """Personalised PageRank by power iteration: the stationary distribution of a walk that restarts at the seeds.

    ``p = (1 - d) s + d (W' p + m s)``: ``s`` is the seed weights over their sum, ``W`` the adjacency with rows that sum to 1,
    ``m`` the mass on nodes without edges, which also goes back to the seeds. The iteration starts from ``p = s`` and stops
    when the sum of absolute changes is at most ``tolerance``. Each iteration takes time linear in the number of edges.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), weights not negative; row to column is the direction of the walk
    seed_weights : shape (n,), not negative, not all zero
    damping : probability to go on, from 0 to below 1, default 0.85
    tolerance : largest sum of absolute changes in the last iteration, above 0, default 1e-8
    max_iterations : default 100

    Returns
    -------
    Ranking
        ``has_converged`` is False when ``max_iterations`` was reached first.

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
    if adjacency.shape != seed_weights.shape * 2:
        raise InputError(
            f"the adjacency has the shape {adjacency.shape} and seed_weights {seed_weights.shape}; "
            "they must be (n, n) and (n,)"
        )
    _check_weights(adjacency)
    _check_seeds("seed_weights", seed_weights, damping)
    check.positive("tolerance", tolerance)
    seeds = np.asarray(seed_weights, dtype=np.float64)
    seeds = seeds / seeds.sum()
    sums = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    is_dangling = sums == 0
    weights = np.repeat(1 / np.where(is_dangling, 1, sums), np.diff(adjacency.indptr)) * adjacency.data
    # The CSR arrays of a matrix, read as CSC, are its transpose: nothing is copied.
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


def _check_weights(adjacency: Csr) -> None:
    check.finite("adjacency", adjacency.data)
    if (adjacency.data < 0).any():
        raise InputError("the adjacency has negative weights; a walk cannot follow them")


def _check_seeds(name: str, weights: NDArray[np.floating], damping: float) -> None:
    check.finite(name, weights)
    if (weights < 0).any() or not weights.sum() > 0:
        raise InputError(f"{name} must not be negative, and at least one must be above 0")
    check.below_one("damping", damping)


def exact_pagerank(
    walk: Walk,
    seeds: NDArray[np.integer],
    *,
    weights: NDArray[np.floating],
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> Ranking:
    """Personalised PageRank of all nodes, with a sum of absolute errors of at most ``tolerance``.

    With ``S = D^-1/2 A D^-1/2`` the system ``(I - d S) y = (1 - d) D^-1/2 s`` is symmetric and positive definite, and
    ``p = D^1/2 y``. Conjugate gradients solve it in ``O(sqrt(1 / (1 - d)))`` matrix products per digit. A product takes time
    linear in the number of edges. Graphs of up to 128 classes are solved directly.

    The stopping rule is a bound on the error by the residual ``r``: the error is at most ``|r| / (1 - d)``, so without
    isolated seeds ``|r|`` is compared with ``tolerance (1 - d)``.

    Parameters
    ----------
    walk : the prepared graph of n nodes, from :func:`prepare`
    seeds : shape (m,), indices of nodes; a node may occur more than once
    weights : shape (m,), not negative, not all zero
    damping : probability to go on, from 0 to below 1, default 0.85
    tolerance : largest sum of absolute errors, above 0, default 1e-6
    max_iterations : default 10,000

    Returns
    -------
    Ranking
        Scores of shape (n,); ``has_converged`` is False when ``max_iterations`` was reached first.

    Raises
    ------
    InputError
        A seed, a weight or a parameter is out of its bounds, or the walk is not precise enough for the tolerance.

    References
    ----------
    Haveliwala, Topic-Sensitive PageRank, 2002. Hestenes and Stiefel, Methods of Conjugate Gradients, 1952.

    Examples
    --------
    >>> line = prepare(sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32)))
    >>> exact_pagerank(line, np.array([0]), weights=np.array([1.0]), damping=0.5).scores.round(3)
    array([0.583, 0.333, 0.083])
    """
    shares = _seed_shares(walk, seeds, weights=weights, damping=damping)
    check.positive("tolerance", tolerance)
    if walk.steps.dtype != np.float64 and precision_for(tolerance, damping) == "double":
        raise InputError(
            f"tolerance {tolerance} at damping {damping} is finer than single precision; "
            'prepare the walk with precision="double"'
        )
    restart = np.bincount(walk.twins.of[seeds], shares, minlength=len(walk.degrees)).astype(np.float64)
    if len(walk.degrees) <= _DENSE:
        ranking = Ranking(_solve(walk, restart, damping), 1, has_converged=True)
    else:
        ranking = _conjugate(walk, restart, damping, goal=tolerance, most=max_iterations)
    scores = walk.spread(ranking.scores, seeds, own=_own_shares(walk, seeds, shares=shares, damping=damping))
    return ranking._replace(scores=scores / scores.sum())


def _solve(walk: Walk, restart: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    system = np.eye(len(walk.degrees)) - damping * walk.dense().T
    roots = walk.roots.astype(np.float64)
    scaled = np.divide(restart, roots, out=restart.copy(), where=roots > 0)
    solution = np.linalg.solve(system, (1 - damping) * scaled)
    scores: NDArray[np.float64] = np.maximum(solution * np.where(roots > 0, roots, 1), 0)
    return scores


def _conjugate(walk: Walk, restart: NDArray[np.float64], damping: float, *, goal: float, most: int) -> Ranking:
    roots = walk.roots
    is_alone = roots == 0
    alone = float(restart[is_alone].sum())
    # Isolated seeds have empty rows: their scores are known beforehand, and so is the sum of all scores.
    goal *= (1 - damping) * (1 - damping * alone)
    number = roots.dtype.type
    scaled = np.divide(restart, roots, out=np.zeros(len(roots)), where=~is_alone)
    rest = ((1 - damping) * scaled).astype(roots.dtype)
    solution = np.zeros_like(rest)
    along = rest.copy()
    size = dot(rest, rest)
    iteration = 0
    has_converged = float(dot(np.abs(rest), roots)) <= goal
    while not has_converged and iteration < most:
        iteration += 1
        ahead = walk.times(along)
        ahead *= number(-damping)
        ahead += along
        step = size / dot(along, ahead)
        solution += step * along
        rest -= step * ahead
        has_converged = float(dot(np.abs(rest), roots)) <= goal
        following = dot(rest, rest)
        along *= following / size if size else number(0)
        along += rest
        size = following
    # Exact scores are never negative; rounding may push one slightly below 0.
    scores = np.maximum(solution * roots, 0).astype(np.float64)
    scores[is_alone] = (1 - damping) * restart[is_alone]
    return Ranking(scores, iteration, has_converged)


def _seed_shares(
    walk: Walk, seeds: NDArray[np.integer], *, weights: NDArray[np.floating], damping: float
) -> NDArray[np.float64]:
    """The seed weights over their sum, after a check of all arguments."""
    check.same_length(seeds=seeds, weights=weights)
    if len(seeds) and (seeds.min() < 0 or seeds.max() >= len(walk)):
        raise InputError(f"seeds has an index outside the {len(walk)} nodes of the graph; indices start at 0")
    _check_seeds("weights", weights, damping)
    return np.asarray(weights, dtype=np.float64) / float(weights.sum())


def _own_shares(
    walk: Walk, seeds: NDArray[np.integer], *, shares: NDArray[np.float64], damping: float
) -> NDArray[np.float64]:
    """The mass that each seed receives beyond its twins; see :meth:`Walk.spread`."""
    own: NDArray[np.float64] = (1 - damping) * shares / (1 + damping * walk.twins.loops[walk.twins.of[seeds]])
    return own


def dot(one: NDArray[np.floating], other: NDArray[np.floating]) -> np.floating:
    """The dot product of two vectors on one thread.

    From about 10,000 elements on BLAS starts its thread pool, whose threads keep spinning long after the product is done.
    Products of blocks of 8,192 elements stay below that.

    Parameters
    ----------
    one : shape (n,)
    other : shape (n,)

    Returns
    -------
    np.floating
        In the precision of the vectors.

    Examples
    --------
    >>> float(dot(np.arange(10_000.0), np.ones(10_000)))
    49995000.0
    """
    whole = len(one) - len(one) % _BLOCK
    parts = np.vecdot(one[:whole].reshape(-1, _BLOCK), other[:whole].reshape(-1, _BLOCK))
    total: np.floating = parts.sum() + one[whole:] @ other[whole:]
    return total


# Approximate PageRank around the seeds.


class Space:
    """Work space of :func:`local_pagerank`: arrays of size n, allocated once per walk. It serves one call at a time.

    Parameters
    ----------
    walk : the prepared graph

    Attributes
    ----------
    rest : shape (n,), mass of each class that is not yet distributed; all 0 between calls
    scores : shape (n,), scores during a call; all 0 between calls
    place : shape (n,), scratch of :meth:`distinct`
    is_there : shape (c,), False for classes of ``walk.steps`` that were removed; None: none were
    """

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        size = max(len(walk), len(walk.degrees))
        self.rest = np.zeros(size)
        self.scores = np.zeros(size)
        self.place = np.zeros(size, dtype=np.intp)
        self.is_there: NDArray[np.bool_] | None = None
        if walk.over is not None:
            self.is_there = np.ones(walk.steps.shape[0], dtype=bool)
            self.is_there[walk.over.gone] = False

    def pushed(
        self, nodes: NDArray[np.intp], mass: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The classes at the other ends of the edges of some classes, and the mass that goes along each edge.

        Parameters
        ----------
        nodes : classes, distinct
        mass : shape of ``nodes``, the mass that each pushes
        """
        over, size = self.walk.over, self.walk.steps.shape[0]
        if over is None or self.is_there is None:
            return _along(self.walk.steps, nodes, mass)
        is_old = nodes < size
        to, pushed_mass = _along(self.walk.steps, nodes[is_old], mass[is_old])
        stays = self.is_there[to]
        across = _along(over.columns, nodes[is_old], mass[is_old])
        new = _along(over.rows, nodes[~is_old] - size, mass[~is_old])
        return np.concatenate([to[stays], size + across[0], new[0]]), np.concatenate(
            [pushed_mass[stays], across[1], new[1]]
        )

    def distinct(self, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Each of these nodes once, in time linear in ``nodes``."""
        order = np.arange(len(nodes))
        self.place[nodes] = order
        unique: NDArray[np.intp] = nodes[self.place[nodes] == order]
        return unique


class Local(NamedTuple):
    """Scores of the visited nodes; all other nodes score 0.

    Attributes
    ----------
    nodes : shape (m,), ascending
    scores : shape (m,), each at most the exact score
    left : total missing mass: the exact scores sum to 1, these to ``1 - left``
    """

    nodes: NDArray[np.intp]
    scores: NDArray[np.float64]
    left: float


def local_pagerank(
    walk: Walk,
    seeds: NDArray[np.integer],
    *,
    weights: NDArray[np.floating],
    damping: float = 0.85,
    epsilon: float = 1e-5,
    space: Space | None = None,
) -> Local:
    """Approximate personalised PageRank around the seeds, in time independent of the size of the graph.

    Every node has a score and a rest, the mass that it has not distributed yet. A node whose rest is above ``epsilon`` times
    its degree adds the share ``1 - d`` of the rest to its score and pushes the share ``d`` along its edges. All such nodes
    push at once, until none is left. The degrees of all pushes sum to at most ``1 / (epsilon (1 - d))``, which bounds the
    time.

    Error bound: ``0 <= exact - score <= epsilon * degree`` for every node, and the differences sum to ``left``.

    Parameters
    ----------
    walk : the prepared graph of n nodes, from :func:`hlgraph.algorithms.ppr.prepare`
    seeds : shape (m,), indices of nodes; a node may occur more than once
    weights : shape (m,), not negative, not all zero
    damping : probability to go on, from 0 to below 1, default 0.85
    epsilon : largest error per unit of degree, above 0, in the reciprocal unit of the edge weights, default 1e-5
    space : work space of this walk for reuse; None: a new one, in time linear in the number of nodes

    Returns
    -------
    Local
        Scores of the visited nodes.

    Raises
    ------
    InputError
        A seed, a weight or a parameter is out of its bounds, or the work space belongs to another walk.

    References
    ----------
    Andersen, Chung and Lang, Local Graph Partitioning using PageRank Vectors, 2006; here with edge weights, and with many
    nodes per step.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from hlgraph.algorithms.ppr import prepare
    >>> line = prepare(sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32)))
    >>> local_pagerank(line, np.array([0]), weights=np.array([1.0]), damping=0.5, epsilon=1e-4).scores.round(3)
    array([0.583, 0.333, 0.083])
    """
    shares = _seed_shares(walk, seeds, weights=weights, damping=damping)
    check.positive("epsilon", epsilon)
    space = space or Space(walk)
    if space.walk is not walk:
        raise InputError("the work space belongs to another walk; pass Space(walk) of this one")
    classes = walk.twins.of[seeds]
    alone = float(shares[walk.degrees[classes] == 0].sum())
    pushed = _push(space, classes, shares, damping=damping, epsilon=epsilon * (1 - damping * alone))
    # Scores of nodes from those of classes, as in `Walk.spread`, in time linear in the nodes of these classes.
    own = _own_shares(walk, seeds, shares=shares, damping=damping)
    twins, of = walk.twins, walk.twins.of
    nodes = twins.nodes(pushed.classes)
    buffer = space.scores  # indexed by class first, by node afterwards
    buffer[pushed.classes] = pushed.scores
    np.subtract.at(buffer, classes, own)
    scores = buffer[of[nodes]] / twins.sizes[of[nodes]]
    buffer[pushed.classes] = 0
    buffer[nodes] = scores
    np.add.at(buffer, seeds, own)
    scores = np.maximum(buffer[nodes], 0)
    buffer[nodes] = 0
    order = np.argsort(nodes)
    return Local(nodes[order], scores[order] / pushed.kept, pushed.left / pushed.kept)


class _Pushed(NamedTuple):
    """Visited classes, their scores, the missing mass, and the sum of all scores and the missing mass."""

    classes: NDArray[np.intp]
    scores: NDArray[np.float64]
    left: float
    kept: float


def _push(
    space: Space, seeds: NDArray[np.intp], shares: NDArray[np.float64], *, damping: float, epsilon: float
) -> _Pushed:
    # Rest and score are kept divided by the root of the degree, so that the symmetric matrix can be used.
    rest, pushed_scores = space.rest, space.scores
    walk, roots = space.walk, space.walk.roots
    np.add.at(rest, seeds, shares / _above_zero(roots[seeds]))
    first = space.distinct(seeds)
    touched, pushed, kept = [first], [first[:0]], [rest[:0]]
    frontier = first[rest[first] > epsilon * roots[first]]
    ended = 0.0
    while len(frontier):
        pushing = rest[frontier]
        rest[frontier] = 0
        pushed.append(frontier)
        kept.append((1 - damping) * pushing)
        pushing *= damping
        if len(touched) == 1:  # no edge leads to a node without edges
            ended += float(pushing[walk.degrees[frontier] == 0].sum())
        to, mass = space.pushed(frontier, pushing)
        np.add.at(rest, to, mass)
        reached = space.distinct(to)
        touched.append(reached)
        frontier = reached[rest[reached] > epsilon * roots[reached]]
    np.add.at(pushed_scores, np.concatenate(pushed), np.concatenate(kept))
    nodes = space.distinct(np.concatenate(touched))
    scale = _above_zero(roots[nodes]).astype(np.float64)
    # Of the rest that was not pushed, a node keeps the share 1 - d in any case, so that share is not missing.
    scores = (pushed_scores[nodes] + (1 - damping) * rest[nodes]) * scale
    left = damping * float(dot(rest[nodes], scale))
    rest[nodes] = pushed_scores[nodes] = 0
    # `ended` leaves out the rests at nodes without edges, so the scores stay below the exact ones.
    return _Pushed(nodes, scores, left, 1 - ended)


def _along(
    steps: Csr, nodes: NDArray[np.intp], mass: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The ends of the edges of some rows, and the mass times the weight of each edge."""
    first = steps.indptr[nodes].astype(np.intp)
    count = steps.indptr[nodes + 1] - first
    at = spans(first, count)
    return steps.indices[at].astype(np.intp), np.repeat(mass, count) * steps.data[at]


def _above_zero(roots: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.where(roots > 0, roots, 1)


# Patches of a prepared walk, in time linear in the changed rows and in the number of nodes. The arrays of the older walk stay as
# they are. Nodes whose rows changed leave their classes of twins; each becomes a class of its own, appended at the end. The scores
# equal those of a walk prepared from scratch, up to rounding.


class Rows(NamedTuple):
    """The new rows of some nodes.

    Attributes
    ----------
    nodes : shape (k,), indices of the nodes, ascending; those from ``len(walk)`` on are new, without a gap
    is_there : shape (k,), False for a node that was removed
    owners : shape (m,), places in ``nodes``
    targets : shape (m,), indices of nodes
    weights : shape (m,), above 0; those of a pair that occurs more than once are summed
    """

    nodes: NDArray[np.intp]
    is_there: NDArray[np.bool_]
    owners: NDArray[np.intp]
    targets: NDArray[np.intp]
    weights: NDArray[np.floating]


def with_twins(walk: Walk, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Some nodes and all of their twins, ascending; nodes that the walk lacks are left out.

    Parameters
    ----------
    walk : the prepared graph
    nodes : indices of nodes
    """
    known = nodes[nodes < len(walk)]
    return np.unique(np.concatenate([known, walk.twins.nodes(np.unique(walk.twins.of[known]))]))


def replaced(walk: Walk, rows: Rows) -> Walk:
    """The walk of the graph after the rows of some nodes changed. The given walk stays as it is.

    Parameters
    ----------
    walk : a walk, also one that was patched before
    rows : the new rows of every node whose row changed, and of all its twins; the row of a neighbour may be missing if no
        other weight in it changed

    Returns
    -------
    Walk
        Its scores are those of :func:`hlgraph.algorithms.ppr.prepare` on the new graph, up to rounding. Removed nodes keep
        their indices and score 0.

    Examples
    --------
    A line of three nodes becomes a triangle.

    >>> from hlgraph.algorithms.ppr import exact_pagerank, prepare
    >>> line = prepare(sp.csr_array(np.array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 1.0, 0]])))
    >>> rows = Rows(np.array([0, 2]), np.array([True, True]), np.array([0, 0, 1, 1]), np.array([1, 2, 0, 1]), np.ones(4))
    >>> exact_pagerank(replaced(line, rows), np.array([1]), weights=np.array([1.0]), damping=0.5).scores.round(3)
    array([0.2, 0.6, 0.2])
    """
    number, base = len(walk.degrees), walk.steps.shape[0]
    alive = rows.nodes[rows.is_there]
    gone = np.unique(walk.twins.of[rows.nodes[rows.nodes < len(walk)]])
    twins = walk.twins
    new = number + np.arange(len(alive))
    of = np.concatenate([twins.of, np.zeros(int((rows.nodes >= len(walk)).sum()), dtype=np.intp)])
    of[alive] = new
    places = np.cumsum(rows.is_there) - 1
    pairs, weights = _entries(walk, gone, np.stack([number + places[rows.owners], of[rows.targets]]), rows.weights)
    degrees = np.concatenate([walk.degrees, np.zeros(len(alive))])
    degrees[gone] = 0
    is_new = pairs[0] >= number
    degrees[number:] = np.bincount(pairs[0][is_new] - number, weights[is_new], minlength=len(alive))
    roots = np.sqrt(degrees)
    steps = weights / (roots[pairs[0]] * roots[pairs[1]])
    size = len(degrees) - base
    dtype = walk.steps.dtype
    new_rows = sp.csr_array((steps.astype(dtype), (pairs[0] - base, pairs[1])), shape=(size, len(degrees)))
    gone_before = walk.over.gone if walk.over is not None else gone[:0]
    over = Over(
        np.union1d(gone_before, gone[gone < base]),
        new_rows,
        sp.csr_array(sp.csr_array(new_rows[:, :base]).T),
        pairs,
        weights,
    )
    starts = np.concatenate([twins.starts[:-1], len(twins.members) + np.arange(len(alive) + 1)])
    new_twins = twins._replace(
        of=of,
        sizes=np.concatenate([twins.sizes, np.ones(len(alive))]),
        loops=np.concatenate([twins.loops, np.zeros(len(alive))]),
        members=np.concatenate([twins.members, alive]),
        starts=starts,
    )
    return replace(walk, degrees=degrees, roots=roots.astype(dtype), twins=new_twins, over=over)


def _entries(
    walk: Walk, gone: NDArray[np.intp], pairs: NDArray[np.intp], weights: NDArray[np.floating]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The entries of all appended classes: earlier ones that stay, new ones, and the new ones in the reverse direction."""
    base, number = walk.steps.shape[0], len(walk.degrees)
    is_gone = np.zeros(number, dtype=bool)
    is_gone[gone] = True
    is_back = (pairs[1] >= base) & (pairs[1] < number)
    entries, parts = [pairs, pairs[::-1, is_back]], [weights, weights[is_back]]
    if walk.over is not None:
        stays = ~is_gone[walk.over.pairs].any(axis=0)
        entries.append(walk.over.pairs[:, stays])
        parts.append(walk.over.weights[stays])
    return np.concatenate(entries, axis=1), np.concatenate(parts).astype(np.float64)
