"""Nodes that are close to a question and close to each other: search under a bound on the diameter (TopoRAG).

What the bound is on. TopoRAG's Eq. 1 asks for ``diam(G[S]) <= D`` with the subgraph ``G[S]`` that the chosen nodes
induce; its Lemmas 1 and 2 are proved with the distance ``d_G`` in the whole graph. The two differ: a path of G may leave
S, so ``d_G(u, w) <= d_G[S](u, w)``, and S may be within D of itself in G while G[S] is not even connected. What each step
guarantees:

- Lemma 1 (all of C within D/2 of a center: ``d_G <= D`` between any two) guarantees the bound in G, not in G[S].
- Lemma 2 (farther than D in G from every chosen node: reject) is right for both, since distances in G[S] are not shorter.
- Alg. 1 and the check after a replacement guarantee what they measure.

Here ``Distance.INDUCED`` (the default) enforces Eq. 1 as it is written, by an explicit check of every node that is taken;
it implies the bound in G. ``Distance.GRAPH`` enforces the bound of the lemmas. Where only a part of a graph is given,
distances in the part are not shorter than in the whole, so both bounds hold in the whole graph too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.diameter_candidates import guided_traversal, prune_by_radius
from hlgraph.algorithms.distances import articulation_nodes, checked_edges, checked_nodes, hops_from, hops_to_any
from hlgraph.algorithms.feasible import Induced, InGraph, Measure
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


class Distance(StrEnum):
    """Between chosen nodes: by paths inside the chosen set (Eq. 1), or by any path of the graph (Lemmas 1 and 2)."""

    INDUCED = "induced"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True)
class DiameterBounds:
    """What is searched for, and how widely.

    Attributes
    ----------
    k : how many nodes (default 20; the paper varies it and names no default)
    max_diameter : D, in hops (default 2; the paper: 2 to 3)
    candidates : how many nodes the guided traversal visits (default 200; the paper does not say)
    centers : R, how many centers prune the candidates (default 1, the paper does not say); 0: no pruning
    starts : begin anew from so many nodes, the most similar ones, and keep the best set (default 1, as in the paper)
    distance : what the bound is on

    Raises
    ------
    InputError
        A number is too small.
    """

    k: int = 20
    max_diameter: int = 2
    candidates: int = 200
    centers: int = 1
    starts: int = 1
    distance: Distance = Distance.INDUCED

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("k", "max_diameter", "candidates", "starts"):
            check.positive(name, getattr(self, name))
        check.not_negative("centers", self.centers)


class Selection(NamedTuple):
    """Nodes within the bound.

    Attributes
    ----------
    nodes : shape (at most k,), the most similar first, ties by index
    diameter : of the nodes, by the distance asked for
    is_complete : False when fewer than k nodes were found that keep the bound; what there is keeps it too
    visited : candidates that were looked at
    pruned : candidates that a center sorted out (Alg. 2)
    rejected : candidates farther than D from all chosen nodes (Lemma 2)
    replaced : chosen nodes that made room for a more similar one
    """

    nodes: NDArray[np.intp]
    diameter: int
    is_complete: bool
    visited: int = 0
    pruned: int = 0
    rejected: int = 0
    replaced: int = 0


def post_filter(
    adjacency: Csr, similarities: NDArray[np.floating], *, candidates: NDArray[np.integer], bounds: DiameterBounds
) -> Selection:
    """Algorithm 1: from the nearest nodes take those that widen the diameter least, as long as it keeps the bound.

    ``v* = argmin_v diam(G[S + v])``, ties by similarity, then by index; where ``v*`` breaks the bound every other node
    does, so the paper's removal of one after another ends the search. O(k^2 c (k + D)) time for c candidates.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights do not count
    similarities : shape (n,), of each node to the question
    candidates : nodes that a search gave (the paper's k'), in any order

    Raises
    ------
    InputError
        Shapes differ, a similarity is not finite, or a candidate is no node.

    References
    ----------
    TopoRAG, section 3.3, Algorithm 1.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> found = post_filter(line, np.array([.9, .1, .2, .3, .8]), candidates=np.arange(5), bounds=DiameterBounds(k=3))
    >>> found.nodes.tolist(), found.diameter, found.is_complete
    ([0, 2, 1], 2, True)
    """
    edges, scores = _checked(adjacency, similarities)
    pool = _by_similarity(np.unique(checked_nodes("candidates", candidates, size=edges.shape[0])), scores)
    measure = _measure(edges, pool, bounds)
    found: list[Selection] = []
    for start in range(min(bounds.starts, len(pool))):
        members = _grown(measure, [start], list(range(len(pool))), bounds=bounds, is_widening_least=True)
        found.append(_selection(members, pool, measure, bounds))
    return _best(found, scores, len(pool))


def in_filter(
    adjacency: Csr,
    similarities: NDArray[np.floating],
    *,
    entries: NDArray[np.integer],
    bounds: DiameterBounds,
    rng: np.random.Generator | None = None,
) -> Selection:
    """The bound as a part of the search: traverse, prune by radius, take, replace.

    1. :func:`~hlgraph.algorithms.diameter_candidates.guided_traversal` from the entries gives the candidates.
    2. :func:`~hlgraph.algorithms.diameter_candidates.prune_by_radius` leaves those near the centers.
    3. Take the most similar nodes of these that keep the bound, from the first center on, until there are k; go on with
       the pruned ones where they are too few: the radius is sufficient, not necessary.
    4. For each candidate that is left, the most similar first: leave it out if it is farther than D from all chosen nodes
       (Lemma 2); else put it in the place of the least similar node that is no articulation node, if it is more similar
       and the bound, checked explicitly, still holds. What then fits where there are fewer than k is taken.

    O(candidates (n + degree)) time for 1, O(centers m D) for 2 with m edges, and O(k^2 c D) for 3 and O(c (k^3 + m) D) at
    worst for 4.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights do not count
    similarities : shape (n,), of each node to the question
    entries : where the traversal begins
    rng : draws the centers; None: the most similar nodes are the centers, so equal input gives equal output

    Raises
    ------
    InputError
        Shapes differ, a similarity is not finite, or an entry is no node.

    References
    ----------
    TopoRAG, section 3.3 and appendix B.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> found = in_filter(line, np.array([.1, .3, .2, .9, .8]), entries=np.array([0]), bounds=DiameterBounds(k=3))
    >>> found.nodes.tolist(), found.diameter, found.visited
    ([3, 4, 2], 2, 5)
    """
    edges, scores = _checked(adjacency, similarities)
    visited = guided_traversal(edges, scores, entries=entries, limit=bounds.candidates)
    pool = _by_similarity(visited, scores)
    measure = _measure(edges, pool, bounds)
    found: list[Selection] = []
    everywhere = list(range(len(pool)))
    for start in range(min(bounds.starts, len(pool))):
        first, near = start, everywhere
        if bounds.centers:
            left = prune_by_radius(
                edges, np.roll(pool, -start), max_diameter=bounds.max_diameter, centers=bounds.centers, rng=rng
            )
            first = int(np.flatnonzero(pool == left.centers[0])[0])
            near = np.flatnonzero(np.isin(pool, left.nodes)).tolist()
        members = _grown(measure, [first], near, bounds=bounds)
        members = _grown(measure, members, everywhere, bounds=bounds)
        members, rejected, replaced = _replaced(edges, scores[pool], members, pool=pool, measure=measure)
        members = _grown(measure, members, everywhere, bounds=bounds)
        made = _selection(members, pool, measure, bounds)
        found.append(made._replace(pruned=len(pool) - len(near), rejected=rejected, replaced=replaced))
    return _best(found, scores, len(pool))


def _grown(
    measure: Measure,
    members: list[int],
    allowed: list[int],
    *,
    bounds: DiameterBounds,
    is_widening_least: bool = False,
) -> list[int]:
    """The set with nodes added until there are k or none fits: the most similar, or those that widen it least."""
    taken = list(members)
    rest = np.array([place for place in allowed if place not in set(taken)], dtype=np.intp)
    while len(taken) < bounds.k and len(rest):
        widths = measure.with_each(taken, rest)
        at = int(widths.argmin() if is_widening_least else (widths <= bounds.max_diameter).argmax())
        if widths[at] > bounds.max_diameter:
            break
        taken.append(int(rest[at]))
        rest = np.delete(rest, at)
    return taken


def _replaced(
    edges: Csr, scores: NDArray[np.float64], members: list[int], *, pool: NDArray[np.intp], measure: Measure
) -> tuple[list[int], int, int]:
    """One pass of replacements over the pool, the most similar candidates first; how many were rejected and replaced."""
    taken = list(members)
    rejected = replaced = 0
    following = 0
    while following < len(pool):
        worst = _least_needed(measure, taken, scores)
        if worst < 0:
            break
        # The pool is in the order of similarity: what follows the worst that may go is no better than it.
        others = [place for place in range(following, taken[worst]) if place not in taken]
        others = [place for place in others if scores[place] > scores[taken[worst]]]
        kept = [*taken[:worst], *taken[worst + 1 :]]
        near = hops_to_any(edges, pool[taken], max_hops=measure.max_diameter)[pool[others]] <= measure.max_diameter
        place = _first_that_fits(measure, kept, np.array(others, dtype=np.intp)[near])
        following = len(pool) if place < 0 else place + 1
        rejected += sum(1 for other, is_near in zip(others, near, strict=True) if not is_near and other < following)
        if place >= 0:
            taken = [*kept, place]
            replaced += 1
    return taken, rejected, replaced


def _first_that_fits(measure: Measure, members: list[int], candidates: NDArray[np.intp]) -> int:
    """The first candidate that the members, one of which has gone, take in within the bound; -1 if there is none."""
    if measure.of(members) <= measure.max_diameter:
        fitting = np.flatnonzero(measure.with_each(members, candidates) <= measure.max_diameter)
        return int(candidates[fitting[0]]) if len(fitting) else -1
    # Without the one that went the way between two others is too long, but a candidate may shorten it again.
    each = (int(place) for place in candidates)
    return next((place for place in each if measure.of([*members, place]) <= measure.max_diameter), -1)


def _least_needed(measure: Measure, members: list[int], scores: NDArray[np.float64]) -> int:
    """Where in the set the least similar node stands that is no articulation node of it; -1 for a single node."""
    if len(members) < 2:
        return -1
    is_free = ~articulation_nodes(measure.edges_of(members))
    order = sorted(np.flatnonzero(is_free).tolist(), key=lambda at: (scores[members[at]], -members[at]))
    return int(order[0])


def _checked(adjacency: Csr, similarities: NDArray[np.floating]) -> tuple[Csr, NDArray[np.float64]]:
    edges = checked_edges(adjacency)
    scores = np.asarray(similarities, dtype=np.float64)
    if scores.shape != (edges.shape[0],):
        raise InputError(
            f"similarities have the shape {scores.shape}, the graph has {edges.shape[0]} nodes; give one each"
        )
    check.finite("similarities", scores)
    return edges, scores


def _by_similarity(nodes: NDArray[np.intp], scores: NDArray[np.float64]) -> NDArray[np.intp]:
    return nodes[np.lexsort((nodes, -scores[nodes]))]


def _measure(edges: Csr, pool: NDArray[np.intp], bounds: DiameterBounds) -> Measure:
    inside = np.asarray(edges[pool][:, pool].todense()) > 0
    np.fill_diagonal(inside, val=False)
    if bounds.distance is Distance.INDUCED:
        return Induced(inside, bounds.max_diameter)
    return InGraph(inside, bounds.max_diameter, hops=hops_from(edges, pool, max_hops=bounds.max_diameter)[:, pool])


def _selection(members: list[int], pool: NDArray[np.intp], measure: Measure, bounds: DiameterBounds) -> Selection:
    places = sorted(members)  # the pool is in the order of similarity
    return Selection(pool[places], measure.of(places), len(places) == bounds.k)


def _best(found: list[Selection], scores: NDArray[np.float64], visited: int) -> Selection:
    """The largest set, then that of the highest sum of similarities, then the one found first."""
    if not found:
        return Selection(np.empty(0, dtype=np.intp), 0, is_complete=False, visited=visited)
    order = sorted(range(len(found)), key=lambda at: (-len(found[at].nodes), -float(scores[found[at].nodes].sum()), at))
    return found[order[0]]._replace(visited=visited)
