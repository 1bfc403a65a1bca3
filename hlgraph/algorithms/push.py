"""Approximate personalised PageRank around the seeds, in time independent of the size of the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.ppr import Walk, dot, own_shares, seed_shares
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


@dataclass(slots=True)
class Space:
    """Work space of :func:`local_pagerank`: arrays of size n, allocated once per walk. It serves one call at a time.

    Attributes
    ----------
    walk : the prepared graph
    rest : shape (n,), mass of each class that is not yet distributed; all 0 between calls
    given : shape (n,), scores during a call; all 0 between calls
    place : shape (n,), scratch of :meth:`distinct`
    is_there : shape (c,), whether each class of ``walk.steps`` is still there; None: all are
    """

    walk: Walk
    rest: NDArray[np.float64] = field(init=False)
    given: NDArray[np.float64] = field(init=False)
    place: NDArray[np.intp] = field(init=False)
    is_there: NDArray[np.bool_] | None = field(init=False)

    def __post_init__(self) -> None:
        """Allocate the arrays, in time linear in the number of nodes."""
        size = max(len(self.walk), len(self.walk.degrees))
        self.rest = np.zeros(size)
        self.given = np.zeros(size)
        self.place = np.zeros(size, dtype=np.intp)
        self.is_there = None
        if self.walk.over is not None:
            self.is_there = np.ones(self.walk.steps.shape[0], dtype=bool)
            self.is_there[self.walk.over.gone] = False

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
        to, given = _along(self.walk.steps, nodes[is_old], mass[is_old])
        stays = self.is_there[to]
        across = _along(over.columns, nodes[is_old], mass[is_old])
        new = _along(over.rows, nodes[~is_old] - size, mass[~is_old])
        return np.concatenate([to[stays], size + across[0], new[0]]), np.concatenate([given[stays], across[1], new[1]])

    def distinct(self, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Each of these nodes once, in time linear in ``nodes``."""
        order = np.arange(len(nodes))
        self.place[nodes] = order
        found: NDArray[np.intp] = nodes[self.place[nodes] == order]
        return found


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

    Error bound, undirected: ``0 <= exact - score <= epsilon * degree`` for every node. Directed: ``0 <= exact - score``, and
    the differences sum to ``left``.

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
    shares = seed_shares(walk, seeds, weights=weights, damping=damping)
    check.positive("epsilon", epsilon)
    space = space or Space(walk)
    if space.walk is not walk:
        raise InputError("the work space belongs to another walk; pass Space(walk) of this one")
    classes = walk.twins.of[seeds]
    alone = float(shares[walk.degrees[classes] == 0].sum())
    found = _push(walk, classes, shares, damping, (epsilon * (1 - damping * alone), space))
    return _spread(walk, found, space, (seeds.astype(np.intp), own_shares(walk, seeds, shares=shares, damping=damping)))


def _spread(walk: Walk, found: _Pushed, space: Space, own: tuple[NDArray[np.intp], NDArray[np.float64]]) -> Local:
    """Scores of nodes from those of classes, as :meth:`Walk.spread`, in time linear in the nodes of these classes."""
    seeds, given = own
    twins, of = walk.twins, walk.twins.of
    nodes = twins.nodes(found.classes)
    held = space.given  # indexed by class first, by node afterwards
    held[found.classes] = found.scores
    np.subtract.at(held, of[seeds], given)
    scores = held[of[nodes]] / twins.sizes[of[nodes]]
    held[found.classes] = 0
    held[nodes] = scores
    np.add.at(held, seeds, given)
    scores = np.maximum(held[nodes], 0)
    held[nodes] = 0
    order = np.argsort(nodes)
    return Local(nodes[order], scores[order] / found.kept, found.left / found.kept)


class _Pushed(NamedTuple):
    """Visited classes, their scores, the missing mass, and the sum of all scores and the missing mass."""

    classes: NDArray[np.intp]
    scores: NDArray[np.float64]
    left: float
    kept: float


def _push(
    walk: Walk,
    seeds: NDArray[np.intp],
    shares: NDArray[np.float64],
    damping: float,
    bounds: tuple[float, Space],
) -> _Pushed:
    # Undirected: rest and score are kept divided by the root of the degree, so that the symmetric matrix can be used.
    epsilon, space = bounds
    rest, given = space.rest, space.given
    roots = walk.roots
    np.add.at(rest, seeds, shares if walk.is_directed else shares / _above_zero(roots[seeds]))
    first = space.distinct(seeds)
    touched, gave, kept = [first], [first[:0]], [rest[:0]]
    frontier = first[_is_over(walk, rest, first, epsilon)]
    ended = 0.0
    while len(frontier):
        held = rest[frontier]
        rest[frontier] = 0
        gave.append(frontier)
        kept.append((1 - damping) * held)
        held *= damping
        if len(touched) == 1 or walk.is_directed:  # undirected: no edge leads to a node without edges
            ended += float(held[walk.degrees[frontier] == 0].sum())
        to, mass = space.pushed(frontier, held)
        np.add.at(rest, to, mass)
        reached = space.distinct(to)
        touched.append(reached)
        frontier = reached[_is_over(walk, rest, reached, epsilon)]
    np.add.at(given, np.concatenate(gave), np.concatenate(kept))
    nodes = space.distinct(np.concatenate(touched))
    scale = _above_zero(roots[nodes]).astype(np.float64)
    # Of the rest that was not pushed, a node keeps the share 1 - d in any case, so that share is not missing.
    scores = (given[nodes] + (1 - damping) * rest[nodes]) * scale
    left = damping * float(dot(rest[nodes], scale))
    rest[nodes] = given[nodes] = 0
    # `ended` leaves out the rests at nodes without edges, so the scores stay below the exact ones.
    return _Pushed(nodes, scores, left, 1 - ended)


def _along(
    steps: Csr, nodes: NDArray[np.intp], mass: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The ends of the edges of some rows, and the mass times the weight of each edge."""
    first = steps.indptr[nodes].astype(np.intp)
    count = steps.indptr[nodes + 1] - first
    ends = np.cumsum(count)
    at = np.arange(ends[-1] if len(ends) else 0)
    at += np.repeat(first - ends + count, count)
    return steps.indices[at].astype(np.intp), np.repeat(mass, count) * steps.data[at]


def _above_zero(roots: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.where(roots > 0, roots, 1)


def _is_over(walk: Walk, rest: NDArray[np.float64], nodes: NDArray[np.intp], epsilon: float) -> NDArray[np.bool_]:
    bounds = walk.degrees[nodes] if walk.is_directed else walk.roots[nodes]
    found: NDArray[np.bool_] = rest[nodes] > epsilon * bounds
    return found
