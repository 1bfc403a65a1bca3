"""Replaces the rows of some nodes in a prepared walk, in time linear in these rows and in the number of nodes.

The arrays of the older walk stay as they are. The nodes whose rows changed leave their classes of twins and become classes of
their own, which are appended. So the scores are those of a walk that is prepared from nothing, up to rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.ppr import Over, Walk
from hlgraph.errors import InputError


class Rows(NamedTuple):
    """The rows of some nodes, as they are now.

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
    """The walk of the graph in which some nodes have other rows. The given one stays as it is.

    Parameters
    ----------
    walk : an undirected walk, also one that was patched before
    rows : the new rows of every node whose row changed, and of all twins that such a node had; the row of a neighbour of
        theirs may lack, if no other weight of it changed

    Returns
    -------
    Walk
        Its scores are those of :func:`hlgraph.algorithms.ppr.prepare` on the new graph, up to rounding. Removed nodes keep
        their indices and score 0.

    Raises
    ------
    InputError
        The walk is directed.

    Examples
    --------
    A line of three nodes becomes a triangle.

    >>> from hlgraph.algorithms.ppr import exact_pagerank, prepare
    >>> line = prepare(sp.csr_array(np.array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 1.0, 0]])))
    >>> rows = Rows(np.array([0, 2]), np.array([True, True]), np.array([0, 0, 1, 1]), np.array([1, 2, 0, 1]), np.ones(4))
    >>> exact_pagerank(replaced(line, rows), np.array([1]), weights=np.array([1.0]), damping=0.5).scores.round(3)
    array([0.2, 0.6, 0.2])
    """
    if walk.is_directed:
        raise InputError("the walk is directed; only an undirected one can be patched")
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
    made = sp.csr_array((steps.astype(dtype), (pairs[0] - base, pairs[1])), shape=(size, len(degrees)))
    held = walk.over.gone if walk.over is not None else gone[:0]
    over = Over(np.union1d(held, gone[gone < base]), made, sp.csr_array(sp.csr_array(made[:, :base]).T), pairs, weights)
    starts = np.concatenate([twins.starts[:-1], len(twins.members) + np.arange(len(alive) + 1)])
    made_twins = twins._replace(
        of=of,
        sizes=np.concatenate([twins.sizes, np.ones(len(alive))]),
        loops=np.concatenate([twins.loops, np.zeros(len(alive))]),
        members=np.concatenate([twins.members, alive]),
        starts=starts,
    )
    return replace(walk, degrees=degrees, roots=roots.astype(dtype), twins=made_twins, over=over)


def _entries(
    walk: Walk, gone: NDArray[np.intp], pairs: NDArray[np.intp], weights: NDArray[np.floating]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The entries of all appended classes: those of before that stay, the new ones, and these seen from the other end."""
    base, number = walk.steps.shape[0], len(walk.degrees)
    is_gone = np.zeros(number, dtype=bool)
    is_gone[gone] = True
    is_back = (pairs[1] >= base) & (pairs[1] < number)
    found, parts = [pairs, pairs[::-1, is_back]], [weights, weights[is_back]]
    if walk.over is not None:
        stays = ~is_gone[walk.over.pairs].any(axis=0)
        found.append(walk.over.pairs[:, stays])
        parts.append(walk.over.weights[stays])
    return np.concatenate(found, axis=1), np.concatenate(parts).astype(np.float64)
