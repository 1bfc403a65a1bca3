"""Personalised PageRank on a graph that is made ready once: exactly, or around the seeds only.

The definition is that of :func:`hlgraph.algorithms.ppr.personalised_pagerank`. What a walk does at a node without edges is
put in another way here, with the same result: it ends there, and in the end all scores are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.ppr import Ranking
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr

Precision = Literal["single", "double"]
_DENSE = 128
"""Graphs of so many nodes are solved directly: one factorisation takes less time than the calls of the iterations."""
_SINGLE_ERROR = 1e-7
"""What rounding to float32 adds to the error, before it is multiplied by 1 / (1 - damping)."""
_DTYPES: Mapping[Precision, type[np.float32] | type[np.float64]] = {"single": np.float32, "double": np.float64}


@dataclass(frozen=True, slots=True)
class Walk:
    """A graph with what every ranking on it needs; made by :func:`prepare`, never changed.

    Attributes
    ----------
    steps : CSR of shape (n, n). Undirected: ``A[i, j] / sqrt(degree[i] degree[j])``. Directed: ``A[i, j] / degree[i]``
    degrees : shape (n,), float64, the sum of the weights of a node's edges (directed: of those that leave it)
    roots : shape (n,), the square roots of ``degrees`` in the precision of ``steps`` (directed: ones)
    is_directed : whether edges lead one way only
    """

    steps: Csr
    degrees: NDArray[np.float64]
    roots: NDArray[np.floating]
    is_directed: bool

    def __len__(self) -> int:
        return len(self.degrees)

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
    degrees = np.asarray(held.sum(axis=1), dtype=np.float64).ravel()
    rows = np.repeat(np.arange(len(degrees)), np.diff(held.indptr))
    roots = np.ones(len(degrees)) if is_directed else np.sqrt(degrees)
    shares = held.data / (degrees[rows] if is_directed else roots[rows] * roots[held.indices])
    dtype = _DTYPES[precision]
    index = np.int32 if held.nnz < np.iinfo(np.int32).max else np.int64  # half the memory to go through
    steps = sp.csr_array(
        (shares.astype(dtype), held.indices.astype(index), held.indptr.astype(index)), shape=held.shape
    )
    return Walk(steps, degrees, roots.astype(dtype), is_directed)


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
    shares = _shares(walk, seeds, weights, damping)
    check.positive("tolerance", tolerance)
    if not walk.bears(tolerance, damping):
        raise InputError(
            f"tolerance {tolerance} at damping {damping} is finer than single precision; prepare the walk with double"
        )
    restart = np.bincount(seeds, shares, minlength=len(walk)).astype(np.float64)
    if len(walk) <= _DENSE:
        found = Ranking(_solve(walk, restart, damping), 1, has_converged=True)
    elif walk.is_directed:
        found = _iterate(walk, restart, damping, goal=tolerance / 2, most=max_iterations)
    else:
        found = _conjugate(walk, restart, damping, goal=tolerance, most=max_iterations)
    return found._replace(scores=found.scores / found.scores.sum())


def _solve(walk: Walk, restart: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    system = np.eye(len(walk)) - damping * walk.steps.toarray().T.astype(np.float64)
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
    scaled = np.divide(restart, roots, out=np.zeros(len(walk)), where=~is_alone)
    rest = ((1 - damping) * scaled).astype(roots.dtype)
    found = np.zeros_like(rest)
    along = rest.copy()
    size = rest @ rest
    iteration = 0
    has_converged = float(np.abs(rest) @ roots) <= goal
    while not has_converged and iteration < most:
        iteration += 1
        ahead = walk.steps @ along
        ahead *= number(-damping)
        ahead += along
        step = size / (along @ ahead)
        found += step * along
        rest -= step * ahead
        has_converged = float(np.abs(rest) @ roots) <= goal
        following = rest @ rest
        along *= following / size if size else number(0)
        along += rest
        size = following
    # A score is above 0 wherever a seed reaches; rounding may have it a little below.
    scores = np.maximum(found * roots, 0).astype(np.float64)
    scores[is_alone] = (1 - damping) * restart[is_alone]
    return Ranking(scores, iteration, has_converged)


@dataclass(slots=True)
class Space:
    """Work space of :func:`local_pagerank` for one graph, so that no ranking clears arrays of its size; one call at a time."""

    size: int
    rest: NDArray[np.float64] = field(init=False)
    given: NDArray[np.float64] = field(init=False)
    place: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        """Three arrays of shape (size,); the first two are all 0 between calls."""
        self.rest = np.zeros(self.size)
        self.given = np.zeros(self.size)
        self.place = np.zeros(self.size, dtype=np.intp)

    def distinct(self, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Each node once, in time linear in ``nodes``."""
        order = np.arange(len(nodes))
        self.place[nodes] = order
        found: NDArray[np.intp] = nodes[self.place[nodes] == order]
        return found


class Local(NamedTuple):
    """Scores of the nodes that were looked at; those of all others are 0.

    Attributes
    ----------
    nodes : shape (m,), ascending
    scores : shape (m,), each at most the exact score
    left : how much is missing in all: the exact scores sum to 1, these to ``1 - left``
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
    """Approximate personalised PageRank around the seeds, in time that does not grow with the graph.

    Every node holds what it has given to its own score and a rest. A node whose rest is above ``epsilon`` times its degree
    keeps the share ``1 - d`` of it and hands the share ``d`` on along its edges; all such nodes do so at once, until none is
    left. At most ``1 / (epsilon (1 - d))`` of degree is handed on in all.

    Error bound, undirected: ``0 <= exact - score <= epsilon * degree`` for every node. Directed: ``0 <= exact - score``, and
    the differences sum to ``left``.

    Parameters
    ----------
    seeds : shape (m,), indices of nodes; one may occur more than once
    weights : shape (m,), not negative, not all 0
    epsilon : above 0, in the reciprocal unit of the edge weights
    space : work space to use again; None: made anew, in time linear in the number of nodes

    Raises
    ------
    InputError
        A seed, a weight or a parameter is out of its bounds.

    References
    ----------
    Andersen, Chung and Lang, Local Graph Partitioning using PageRank Vectors, 2006, with weights and many nodes at once.

    Examples
    --------
    >>> line = prepare(sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32)))
    >>> local_pagerank(line, np.array([0]), weights=np.array([1.0]), damping=0.5, epsilon=1e-4).scores.round(3)
    array([0.583, 0.333, 0.083])
    """
    shares = _shares(walk, seeds, weights, damping)
    check.positive("epsilon", epsilon)
    space = space or Space(len(walk))
    if space.size != len(walk):
        raise InputError(f"the work space is for {space.size} nodes, the graph has {len(walk)}; make one of its size")
    alone = float(shares[walk.degrees[seeds] == 0].sum())
    found = _push(walk, seeds.astype(np.intp), shares, damping, (epsilon * (1 - damping * alone), space))
    order = np.argsort(found.nodes)
    return Local(found.nodes[order], found.scores[order], found.left)


def _push(
    walk: Walk,
    seeds: NDArray[np.intp],
    shares: NDArray[np.float64],
    damping: float,
    bounds: tuple[float, Space],
) -> Local:
    # Undirected, rest and score are held over the root of the degree: so the symmetric matrix serves here too.
    epsilon, space = bounds
    rest, given = space.rest, space.given
    steps, roots = walk.steps, walk.roots
    starts = steps.indptr
    np.add.at(rest, seeds, shares if walk.is_directed else shares / _above_zero(roots[seeds]))
    first = space.distinct(seeds)
    touched = [first]
    frontier = first[_is_over(walk, rest, first, epsilon)]
    ended = 0.0
    while len(frontier):
        held = rest[frontier]
        rest[frontier] = 0
        given[frontier] += (1 - damping) * held
        start, count = starts[frontier].astype(np.intp), (starts[frontier + 1] - starts[frontier]).astype(np.intp)
        ended += damping * float(held[count == 0].sum())
        ends = np.cumsum(count)
        at = np.arange(ends[-1]) + np.repeat(start - ends + count, count)
        to = steps.indices[at].astype(np.intp)
        np.add.at(rest, to, np.repeat(damping * held, count) * steps.data[at])
        touched.append(to)
        frontier = space.distinct(to[_is_over(walk, rest, to, epsilon)])
    nodes = space.distinct(np.concatenate(touched))
    scale = _above_zero(roots[nodes]).astype(np.float64)
    # Of what was not handed on, a node would keep its share in any case; so that share is no longer missing.
    scores = (given[nodes] + (1 - damping) * rest[nodes]) * scale
    left = damping * float(rest[nodes] @ scale)
    rest[nodes] = given[nodes] = 0
    # What a rest at a node without edges would end is missing in `ended`: the scores stay below the exact ones.
    return Local(nodes, scores / (1 - ended), left / (1 - ended))


def _above_zero(roots: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.where(roots > 0, roots, 1)


def _is_over(walk: Walk, rest: NDArray[np.float64], nodes: NDArray[np.intp], epsilon: float) -> NDArray[np.bool_]:
    bounds = walk.degrees[nodes] if walk.is_directed else walk.roots[nodes]
    found: NDArray[np.bool_] = rest[nodes] > epsilon * bounds
    return found


def _shares(
    walk: Walk, seeds: NDArray[np.integer], weights: NDArray[np.floating], damping: float
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
