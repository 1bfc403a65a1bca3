"""Approximate personalised PageRank around the seeds, in time that does not grow with the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.ppr import Walk, dot, own_shares, seed_shares
from hlgraph.errors import InputError


@dataclass(slots=True)
class Space:
    """Work space of :func:`local_pagerank` for one graph, so that no ranking clears arrays of its size; one call at a time."""

    walk: Walk
    rest: NDArray[np.float64] = field(init=False)
    given: NDArray[np.float64] = field(init=False)
    place: NDArray[np.intp] = field(init=False)
    starts: NDArray[np.intp] = field(init=False)
    counts: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        """Arrays as long as there are nodes; the first two are all 0 between calls.

        The last two say where the edges of each class begin and how many there are.
        """
        self.starts = self.walk.steps.indptr[:-1].astype(np.intp)
        self.counts = np.diff(self.walk.steps.indptr).astype(np.intp)
        self.rest = np.zeros(len(self.walk))
        self.given = np.zeros(len(self.walk))
        self.place = np.zeros(len(self.walk), dtype=np.intp)

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
        raise InputError("the work space is that of another graph; make one for this walk")
    classes = walk.twins.of[seeds]
    alone = float(shares[walk.degrees[classes] == 0].sum())
    found = _push(walk, classes, shares, damping, (epsilon * (1 - damping * alone), space))
    return _spread(walk, found, space, (seeds.astype(np.intp), own_shares(walk, seeds, shares=shares, damping=damping)))


def _spread(walk: Walk, found: _Pushed, space: Space, own: tuple[NDArray[np.intp], NDArray[np.float64]]) -> Local:
    """From classes to nodes, as :meth:`Walk.spread` does for all, in time linear in the nodes of these classes."""
    seeds, given = own
    twins, of = walk.twins, walk.twins.of
    nodes = twins.nodes(found.classes)
    held = space.given  # of the classes first, then of the nodes
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
    """Classes that were looked at, their scores, what is missing, and the sum of scores and missing."""

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
    # Undirected, rest and score are held over the root of the degree: so the symmetric matrix serves here too.
    epsilon, space = bounds
    rest, given = space.rest, space.given
    steps, roots = walk.steps, walk.roots
    neighbours, weights = steps.indices, steps.data
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
        count = space.counts[frontier]
        if len(touched) == 1 or walk.is_directed:  # undirected, nothing leads to a node without edges
            ended += float(held[count == 0].sum())
        ends = np.cumsum(count)
        at = np.arange(ends[-1])
        at += np.repeat(space.starts[frontier] - ends + count, count)
        to = neighbours[at].astype(np.intp)
        np.add.at(rest, to, np.repeat(held, count) * weights[at])
        reached = space.distinct(to)
        touched.append(reached)
        frontier = reached[_is_over(walk, rest, reached, epsilon)]
    np.add.at(given, np.concatenate(gave), np.concatenate(kept))
    nodes = space.distinct(np.concatenate(touched))
    scale = _above_zero(roots[nodes]).astype(np.float64)
    # Of what was not handed on, a node would keep its share in any case; so that share is no longer missing.
    scores = (given[nodes] + (1 - damping) * rest[nodes]) * scale
    left = damping * float(dot(rest[nodes], scale))
    rest[nodes] = given[nodes] = 0
    # What a rest at a node without edges would end is missing in `ended`: the scores stay below the exact ones.
    return _Pushed(nodes, scores, left, 1 - ended)


def _above_zero(roots: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.where(roots > 0, roots, 1)


def _is_over(walk: Walk, rest: NDArray[np.float64], nodes: NDArray[np.intp], epsilon: float) -> NDArray[np.bool_]:
    bounds = walk.degrees[nodes] if walk.is_directed else walk.roots[nodes]
    found: NDArray[np.bool_] = rest[nodes] > epsilon * bounds
    return found
