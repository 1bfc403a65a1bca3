"""Nodes that are similar to a question and close to each other: search under a diameter bound (TopoRAG).

Two distances. TopoRAG's Eq. 1 asks for ``diam(G[S]) <= D`` in the subgraph ``G[S]`` induced by the chosen nodes. Its Lemmas 1
and 2 are proved with the distance ``d_G`` in the whole graph. The two differ: a path of G may leave S, so
``d_G(u, w) <= d_G[S](u, w)``, and the nodes of S may lie within D of each other in G while G[S] is not even connected. The
guarantees are:

- Lemma 1 (if all of C is within D/2 of a center, ``d_G <= D`` between any two) guarantees the bound in G, not in G[S].
- Lemma 2 (reject a node farther than D in G from every chosen node) holds for both: distances in G[S] are never shorter.
- Algorithm 1 and the check after a replacement guarantee the bound for the distance that they measure.

``Distance.INDUCED`` (the default) enforces Eq. 1 as written, by an explicit check of every chosen node; it implies the bound
in G. ``Distance.GRAPH`` enforces the bound of the lemmas. If the given graph is part of a larger one, its distances are at
least those of the larger graph, so both bounds hold there too.

The module has, in this order: the candidates of a search (:func:`guided_traversal`, :func:`prune_by_radius`), the two measures
of diameters (:class:`Induced`, :class:`InGraph`), the searches (:func:`post_filter`, :func:`in_filter`), and what they are
measured by (:func:`best_ball`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.distances import (
    articulation_nodes,
    checked_edges,
    checked_nodes,
    hops_from,
    hops_to_any,
    hops_within,
)
from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


class Pruned(NamedTuple):
    """The candidates within the radius of all centers, in their given order, and the centers in the order of their use."""

    nodes: NDArray[np.intp]
    centers: NDArray[np.intp]


def guided_traversal(
    adjacency: Csr, similarities: NDArray[np.floating], *, entries: NDArray[np.integer], limit: int
) -> NDArray[np.intp]:
    """Nodes in best-first order: the next node is always the most similar one seen so far, ties by index.

    O(limit (n + degree)) time.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    similarities : shape (n,), finite
    entries : nodes at which the traversal begins
    limit : largest number of visited nodes, 1 or more

    Returns
    -------
    NDArray
        Distinct nodes in the order of their visits, at most ``limit``.

    Raises
    ------
    InputError
        The adjacency is not square, an entry is not a node of the graph, or the limit is below 1.

    References
    ----------
    TopoRAG, appendix B (the traversal that gives the candidates).
    """
    check.positive("limit", limit)
    edges = checked_edges(adjacency)
    seen = np.full(edges.shape[0], -np.inf)
    is_open = np.ones(edges.shape[0], dtype=bool)
    first = checked_nodes("entries", entries, size=edges.shape[0])
    seen[first] = similarities[first]
    order: list[int] = []
    while len(order) < limit and len(seen):
        node = int(seen.argmax())
        if seen[node] == -np.inf:
            break
        order.append(node)
        is_open[node] = False
        seen[node] = -np.inf
        others = edges.indices[edges.indptr[node] : edges.indptr[node + 1]]
        others = others[is_open[others]]
        seen[others] = similarities[others]
    return np.array(order, dtype=np.intp)


def prune_by_radius(
    adjacency: Csr,
    candidates: NDArray[np.integer],
    *,
    max_diameter: int,
    centers: int,
) -> Pruned:
    """Algorithm 2: for each center, remove the candidates farther than D/2 from it, in hops of the whole graph.

    Each center is the first of the candidates that the earlier ones left; the paper draws one of them. The remaining candidates,
    centers included, are within D/2 of every center and so within D of each other in the whole graph (Lemma 1). For odd D the
    radius is (D - 1) / 2. O(R m D) time for m edges.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    candidates : shape (c,), nodes, the preferred centers first
    max_diameter : D, in hops, 1 or more
    centers : R, 1 or more

    Returns
    -------
    Pruned
        The remaining candidates and the centers, which are fewer than R when no unused candidate is left.

    Raises
    ------
    InputError
        The adjacency is not square, a candidate is not a node of the graph, or a number is below 1.

    References
    ----------
    TopoRAG, Algorithm 2 and Lemma 1.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> prune_by_radius(line, np.array([1, 4, 0, 2]), max_diameter=2, centers=1).nodes
    array([1, 0, 2])
    """
    check.positive("max_diameter", max_diameter)
    check.positive("centers", centers)
    left = checked_nodes("candidates", candidates, size=adjacency.shape[0])
    used: list[int] = []
    for _ in range(centers):
        fresh = left[~np.isin(left, used)]
        if not len(fresh):
            break
        center = int(fresh[0])
        used.append(center)
        radius = max_diameter // 2
        left = left[hops_from(adjacency, np.array([center]), max_hops=radius)[0, left] <= radius]
    return Pruned(left, np.array(used, dtype=np.intp))


class Induced:
    """Diameters of sets of candidates along paths inside the set: ``diam(G[S])``, TopoRAG's Eq. 1.

    Members and candidates are indices into a pool of c candidates. A set of at most one member has the diameter 0.
    ``max_diameter + 1`` stands for every larger diameter, and for that of a disconnected set.

    Parameters
    ----------
    inside : shape (c, c), symmetric, without loops; the edges between the candidates
    max_diameter : D, in hops
    """

    def __init__(self, inside: NDArray[np.bool_], max_diameter: int) -> None:
        self.max_diameter = max_diameter
        self._inside = inside

    def edges_of(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """The edges between the members as a dense matrix."""
        return self._inside[np.ix_(members, members)]

    def of(self, members: Sequence[int]) -> int:
        """The diameter of the set, in hops."""
        return int(hops_within(self.edges_of(members), max_hops=self.max_diameter).max(initial=0))

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """The diameter of the set with each single candidate added, in hops. O(c s^2 D) time for c candidates and s members.

        Parameters
        ----------
        members : a set within the bound, or an empty one
        candidates : indices into the pool, each added alone

        Returns
        -------
        NDArray
            One diameter per candidate.
        """
        if not members:
            return np.zeros(len(candidates), dtype=np.int16)
        far = self.max_diameter + 1
        hops = hops_within(self.edges_of(members), max_hops=self.max_diameter)
        touching = self._inside[np.ix_(candidates, np.array(members, dtype=np.intp))].astype(np.float32)
        near = np.full(touching.shape, far, dtype=np.int16)
        for count in range(self.max_diameter, 0, -1):  # from far to near, so that the smallest distance is written last
            near[touching @ (hops < count).astype(np.float32) > 0] = count
        widths: NDArray[np.int16] = near.max(axis=1)
        # A new node cannot shorten a path of at most two hops.
        left, right = np.nonzero(np.triu(hops > 2))
        between = np.minimum(hops[left, right], near[:, left] + near[:, right]).max(axis=1, initial=0)
        kept = int(np.minimum(hops, 2).max())
        diameters: NDArray[np.int16] = np.minimum(np.maximum(np.maximum(widths, between), kept), far).astype(np.int16)
        return diameters


class InGraph(Induced):
    """Diameters along any path of the graph: ``max d_G(u, w)``, the distance of TopoRAG's Lemmas 1 and 2.

    Parameters
    ----------
    inside, max_diameter : see :class:`Induced`
    hops : shape (c, c), distances in the graph; ``max_diameter + 1`` stands for every larger one
    """

    def __init__(self, inside: NDArray[np.bool_], max_diameter: int, *, hops: NDArray[np.int16]) -> None:
        super().__init__(inside, max_diameter)
        self._hops = hops

    def of(self, members: Sequence[int]) -> int:
        """The diameter of the set, in hops."""
        return int(self._hops[np.ix_(members, members)].max(initial=0))

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """See :meth:`Induced.with_each`. O(c s) time for c candidates and s members."""
        farthest = self._hops[np.ix_(candidates, np.array(members, dtype=np.intp))].max(axis=1, initial=0)
        diameters: NDArray[np.int16] = np.maximum(farthest, self.of(members)).astype(np.int16)
        return diameters


class Distance(StrEnum):
    """How the distance between chosen nodes is measured.

    ``INDUCED``: along paths inside the chosen set (Eq. 1). ``GRAPH``: along any path of the graph (Lemmas 1 and 2).
    """

    INDUCED = "induced"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True)
class DiameterBounds:
    """Size and diameter of the wanted set, and the width of the search.

    Attributes
    ----------
    k : number of nodes, default 20 (the paper varies it and names no default)
    max_diameter : D, in hops, default 2 (the paper: 2 to 3)
    candidates : number of nodes that the guided traversal visits, default 200 (the paper gives none)
    centers : R, number of centers that prune the candidates, default 1 (the paper gives none); 0: no pruning
    starts : number of searches, from the most similar nodes; the best set is kept, default 1 (as in the paper)
    distance : how distances are measured, default ``Distance.INDUCED``

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
    """A set of nodes within the diameter bound.

    Attributes
    ----------
    nodes : shape (at most k,), the most similar first, ties by index
    diameter : diameter of the set in hops, in the requested distance
    is_complete : False when fewer than k nodes within the bound were found; the bound holds in any case
    visited : number of candidates
    pruned : candidates outside the radius of a center (Algorithm 2)
    rejected : candidates farther than D from all chosen nodes (Lemma 2)
    replaced : chosen nodes that were replaced by more similar ones
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
    """Algorithm 1: repeatedly adds the candidate that increases the diameter least, within the bound.

    ``v* = argmin_v diam(G[S + v])``, ties by similarity, then by index. If ``v*`` breaks the bound, every other candidate
    does too, so the search ends where the paper removes one candidate after another. O(k^2 c (k + D)) time for c candidates.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    similarities : shape (n,), the similarity of each node to the question, finite
    candidates : nodes that a vector search returned (the paper's k'), in any order
    bounds : number of nodes, diameter and number of starts

    Returns
    -------
    Selection
        At most ``bounds.k`` nodes; ``visited`` is the number of candidates.

    Raises
    ------
    InputError
        The shapes differ, a similarity is not finite, or a candidate is not a node of the graph.

    References
    ----------
    TopoRAG, section 3.3, Algorithm 1.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> chosen = post_filter(line, np.array([.9, .1, .2, .3, .8]), candidates=np.arange(5), bounds=DiameterBounds(k=3))
    >>> chosen.nodes.tolist(), chosen.diameter, chosen.is_complete
    ([0, 2, 1], 2, True)
    """
    edges, scores = _checked(adjacency, similarities)
    pool = _by_similarity(np.unique(checked_nodes("candidates", candidates, size=edges.shape[0])), scores)
    measure = _measure(edges, pool, bounds)
    selections: list[Selection] = []
    for start in range(min(bounds.starts, len(pool))):
        members = _grown(measure, [start], list(range(len(pool))), bounds=bounds, is_widening_least=True)
        selections.append(_selection(members, pool, measure, bounds))
    return _best(selections, scores, len(pool))


def in_filter(
    adjacency: Csr,
    similarities: NDArray[np.floating],
    *,
    entries: NDArray[np.integer],
    bounds: DiameterBounds,
) -> Selection:
    """Search with the bound inside: traverse, prune by radius, select, replace.

    1. :func:`~hlgraph.algorithms.diameter.guided_traversal` from the entries gives the candidates.
    2. :func:`~hlgraph.algorithms.diameter.prune_by_radius` keeps those near the centers.
    3. From the first center on, take the most similar of these that keep the bound, until there are k. If they are too few,
       continue with the pruned ones: the radius is a sufficient condition, not a necessary one.
    4. Go through the remaining candidates, the most similar first. Reject a candidate that is farther than D from all chosen
       nodes (Lemma 2). Otherwise let it replace the least similar chosen node that is not an articulation node, if the
       candidate is more similar and an explicit check shows that the bound still holds. If there are then fewer than k
       nodes, take further candidates that fit.

    Time for c candidates and m edges: O(c (n + degree)) for 1, O(R m D) for 2, O(k^2 c D) for 3 and at worst
    O(c (k^3 + m) D) for 4.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    similarities : shape (n,), the similarity of each node to the question, finite
    entries : nodes at which the traversal begins
    bounds : number of nodes, diameter and width of the search

    Returns
    -------
    Selection
        At most ``bounds.k`` nodes, with the counts of the search.

    Raises
    ------
    InputError
        The shapes differ, a similarity is not finite, or an entry is not a node of the graph.

    References
    ----------
    TopoRAG, section 3.3 and appendix B.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> chosen = in_filter(line, np.array([.1, .3, .2, .9, .8]), entries=np.array([0]), bounds=DiameterBounds(k=3))
    >>> chosen.nodes.tolist(), chosen.diameter, chosen.visited
    ([3, 4, 2], 2, 5)
    """
    edges, scores = _checked(adjacency, similarities)
    visited = guided_traversal(edges, scores, entries=entries, limit=bounds.candidates)
    pool = _by_similarity(visited, scores)
    measure = _measure(edges, pool, bounds)
    selections: list[Selection] = []
    everywhere = list(range(len(pool)))
    for start in range(min(bounds.starts, len(pool))):
        first, near = start, everywhere
        if bounds.centers:
            ordered = np.roll(pool, -start)
            left = prune_by_radius(edges, ordered, max_diameter=bounds.max_diameter, centers=bounds.centers)
            first = int(np.flatnonzero(pool == left.centers[0])[0])
            near = np.flatnonzero(np.isin(pool, left.nodes)).tolist()
        members = _grown(measure, [first], near, bounds=bounds)
        members = _grown(measure, members, everywhere, bounds=bounds)
        members, rejected, replaced = _replaced(edges, scores[pool], members, pool=pool, measure=measure)
        members = _grown(measure, members, everywhere, bounds=bounds)
        selection = _selection(members, pool, measure, bounds)
        selections.append(selection._replace(pruned=len(pool) - len(near), rejected=rejected, replaced=replaced))
    return _best(selections, scores, len(pool))


def best_ball(adjacency: Csr, similarities: NDArray[np.floating], *, k: int) -> float:
    """The highest sum of similarities of a node and its k - 1 most similar neighbours, over all nodes.

    Any two of them are joined or share the node, so the set has a diameter of at most 2, and its sum is a lower bound of the
    optimum of Eq. 1 for D of 2 or more. What a search is short of it is at least its gap to Eq. 1. O(m log m) time.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric; weights are ignored
    similarities : shape (n,), the similarity of each node to the question, finite
    k : number of nodes; a ball of fewer counts with those that it has

    Returns
    -------
    float
        0 without nodes.

    Raises
    ------
    InputError
        The shapes differ, a similarity is not finite, or k is below 1.

    References
    ----------
    TopoRAG, Eq. 1.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> line = sp.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    >>> best_ball(line, np.array([.5, 0, .25, 1, .125]), k=2)
    1.25
    """
    check.positive("k", k)
    edges, scores = _checked(adjacency, similarities)
    rows, columns = edges.nonzero()
    rows, columns = rows[rows != columns], columns[rows != columns]
    order = np.lexsort((-scores[columns], rows))
    rows, columns = rows[order], columns[order]
    is_near = np.arange(len(rows)) - np.searchsorted(rows, rows) < k - 1
    sums = scores + np.bincount(rows[is_near], weights=scores[columns[is_near]], minlength=len(scores))
    return float(sums.max()) if len(sums) else 0.0


def _grown(
    measure: Induced,
    members: list[int],
    allowed: list[int],
    *,
    bounds: DiameterBounds,
    is_widening_least: bool = False,
) -> list[int]:
    """The set, extended to k nodes while candidates fit: by the most similar, or by those that widen it least."""
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
    edges: Csr, scores: NDArray[np.float64], members: list[int], *, pool: NDArray[np.intp], measure: Induced
) -> tuple[list[int], int, int]:
    """Members after one pass of replacements, the most similar candidates first; numbers of rejections and replacements."""
    taken = list(members)
    rejected = replaced = 0
    following = 0
    while following < len(pool):
        worst = _least_needed(measure, taken, scores)
        if worst < 0:
            break
        # The pool is ordered by similarity: candidates after the worst replaceable member are not better than it.
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


def _first_that_fits(measure: Induced, members: list[int], candidates: NDArray[np.intp]) -> int:
    """The first candidate that keeps the bound together with the remaining members; -1 if there is none."""
    if measure.of(members) <= measure.max_diameter:
        fitting = np.flatnonzero(measure.with_each(members, candidates) <= measure.max_diameter)
        return int(candidates[fitting[0]]) if len(fitting) else -1
    # Without the removed member the remaining ones break the bound, but a candidate may shorten their paths again.
    each = (int(place) for place in candidates)
    return next((place for place in each if measure.of([*members, place]) <= measure.max_diameter), -1)


def _least_needed(measure: Induced, members: list[int], scores: NDArray[np.float64]) -> int:
    """Index in ``members`` of the least similar one that is not an articulation node; -1 for fewer than two members."""
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
            f"similarities have the shape {scores.shape}, but the graph has {edges.shape[0]} nodes; give one per node"
        )
    check.finite("similarities", scores)
    return edges, scores


def _by_similarity(nodes: NDArray[np.intp], scores: NDArray[np.float64]) -> NDArray[np.intp]:
    return nodes[np.lexsort((nodes, -scores[nodes]))]


def _measure(edges: Csr, pool: NDArray[np.intp], bounds: DiameterBounds) -> Induced:
    inside = np.asarray(edges[pool][:, pool].todense()) > 0
    np.fill_diagonal(inside, val=False)
    if bounds.distance is Distance.INDUCED:
        return Induced(inside, bounds.max_diameter)
    return InGraph(inside, bounds.max_diameter, hops=hops_from(edges, pool, max_hops=bounds.max_diameter)[:, pool])


def _selection(members: list[int], pool: NDArray[np.intp], measure: Induced, bounds: DiameterBounds) -> Selection:
    places = sorted(members)  # the pool is ordered by similarity
    return Selection(pool[places], measure.of(places), len(places) == bounds.k)


def _best(selections: list[Selection], scores: NDArray[np.float64], visited: int) -> Selection:
    """The largest set; ties go to the highest sum of similarities, then to the set found first."""
    if not selections:
        return Selection(np.empty(0, dtype=np.intp), 0, is_complete=False, visited=visited)
    order = sorted(
        range(len(selections)),
        key=lambda at: (-len(selections[at].nodes), -float(scores[selections[at].nodes].sum()), at),
    )
    return selections[order[0]]._replace(visited=visited)
