"""Merged entities: groups of equal ids, conflicts between decisions, and a graph in which a group shares its edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hlgraph.records import Kind, Relationship
from hlgraph.subgraph import Csr, Subgraph

Pair = tuple[str, str]


class Groups:
    """Disjoint sets of ids, joined pair by pair (union by size, path halving).

    Parameters
    ----------
    pairs : ids to join, in this order

    Examples
    --------
    >>> groups = Groups([("a", "b"), ("b", "c")])
    >>> groups.is_one("a", "c"), groups.is_one("a", "d"), groups.members("b")
    (True, False, ('a', 'b', 'c'))
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._above: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}
        for a, b in pairs:
            self.join(a, b)

    def root(self, name: str) -> str:
        """The representative of the group of a name; the name itself if it is in no group."""
        above = self._above
        while above.get(name, name) != name:
            above[name] = above.get(above[name], above[name])
            name = above[name]
        return name

    def is_one(self, a: str, b: str) -> bool:
        """Whether two names are in the same group.

        Parameters
        ----------
        a : an id
        b : an id

        Returns
        -------
        bool
            True for equal names too.
        """
        return self.root(a) == self.root(b)

    def join(self, a: str, b: str) -> None:
        """Unite the groups of two names.

        Parameters
        ----------
        a : an id, in a group or not
        b : an id, in a group or not
        """
        one, other = self.root(a), self.root(b)
        if one == other:
            return
        size = len(self._members.get(one, ())), len(self._members.get(other, ()))
        if size[0] < size[1]:
            one, other = other, one
        self._above[one] = self._above[other] = one
        self._members.setdefault(one, [one]).extend(self._members.pop(other, [other]))

    def members(self, name: str) -> tuple[str, ...]:
        """The group of a name, ascending; the name alone if it is in no group."""
        return tuple(sorted(self._members.get(self.root(name), [name])))

    def all(self) -> tuple[tuple[str, ...], ...]:
        """All groups of two or more, each ascending, ordered by their first member."""
        return tuple(sorted(tuple(sorted(some)) for some in self._members.values()))


class Conflict(NamedTuple):
    """A pair that cannot be joined because it would unite two ids that must stay apart.

    Attributes
    ----------
    pair : the refused pair
    apart : the two ids that it would unite
    """

    pair: Pair
    apart: Pair


class Settled(NamedTuple):
    """The result of :func:`settle`, each part in the order of the given pairs.

    Attributes
    ----------
    joined : pairs that can be joined
    known : pairs whose ids are in one group already
    conflicts : pairs that were refused
    """

    joined: tuple[Pair, ...]
    known: tuple[Pair, ...]
    conflicts: tuple[Conflict, ...]


def settle(pairs: Sequence[Pair], *, same: Iterable[Pair] = (), apart: Iterable[Pair] = ()) -> Settled:
    """Join pairs one after the other, and refuse each pair that would unite ids which must stay apart.

    A refused pair is in ``conflicts``, with the first pair of ``apart`` that it would unite. The joined pairs contain no
    cycle: a pair that earlier pairs have united already is in ``known``.

    Parameters
    ----------
    pairs : ids to join, the most certain first
    same : pairs that are united already
    apart : pairs that must not be united

    Returns
    -------
    Settled
        Each of ``pairs`` in exactly one of its parts.

    Notes
    -----
    O((n + m) a(n)) time for n pairs and m pairs in ``apart`` (a: the inverse Ackermann function), times the number of
    ``apart`` pairs of the two groups that a pair joins.

    Examples
    --------
    >>> settled = settle([("a", "b"), ("b", "c"), ("b", "a")], apart=[("a", "c")])
    >>> settled.joined, settled.known, settled.conflicts
    ((('a', 'b'),), (('b', 'a'),), (Conflict(pair=('b', 'c'), apart=('a', 'c')),))
    """
    groups = Groups(same)
    foes: dict[str, list[tuple[int, Pair]]] = {}
    for place, pair in enumerate(apart):
        for name in {groups.root(name) for name in pair}:
            foes.setdefault(name, []).append((place, pair))
    joined: list[Pair] = []
    known: list[Pair] = []
    conflicts: list[Conflict] = []
    for a, b in pairs:
        one, other = groups.root(a), groups.root(b)
        if one == other:
            known.append((a, b))
            continue
        hit = min(
            (foe for foe in foes.get(one, ()) if {groups.root(name) for name in foe[1]} == {one, other}),
            default=None,
        )
        if hit is not None:
            conflicts.append(Conflict((a, b), hit[1]))
            continue
        groups.join(a, b)
        joined.append((a, b))
        foes_left = [*foes.pop(one, ()), *foes.pop(other, ())]
        if foes_left:
            foes[groups.root(a)] = foes_left
    return Settled(tuple(joined), tuple(known), tuple(conflicts))


_SUMMED = (Relationship.RELATES, Relationship.CO_OCCURS)


def share_edges(graph: Subgraph, groups: Mapping[str, Sequence[str]]) -> Subgraph:
    """The same nodes, with the edges of each entity shared by its whole group, so that the group acts as one node.

    A statement that mentions one member mentions all of them. Weights of RELATES and CO_OCCURS are summed, of SYNONYM the
    largest counts, all others are 1. Between members of a group only SAME_AS edges remain.

    Parameters
    ----------
    graph : the subgraph whose entities share edges
    groups : for each merged entity the ids of its whole group; ids outside the graph are ignored

    Returns
    -------
    Subgraph
        The given one if it contains no two members of a group.

    Notes
    -----
    Time: O(edges of the graph), plus for each group its size times its edges.
    """
    names = graph.ids[graph.nodes(Kind.ENTITY)].tolist()
    place = dict(zip(names, graph.nodes(Kind.ENTITY).tolist(), strict=True))
    rows, columns = [], []
    for name in groups.keys() & place.keys():
        inside = [place[member] for member in groups[name] if member in place]
        if len(inside) > 1:
            rows += [place[name]] * len(inside)
            columns += inside
    if not rows:
        return graph
    spread = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(len(graph), len(graph)))
    alone = np.ones(len(graph), dtype=np.float32)
    alone[rows] = 0.0
    both = sp.csr_array(spread + sp.diags_array(alone, dtype=np.float32))
    edges = {member: _shared(member, matrix, both, inside=spread) for member, matrix in graph.edges.items()}
    return Subgraph(graph.ids, graph.kinds, edges, graph.version, graph.is_cut)


def _shared(relationship: Relationship, matrix: Csr, both: Csr, *, inside: Csr) -> Csr:
    if relationship is Relationship.SAME_AS:
        return matrix
    if relationship is Relationship.SYNONYM:
        # SYNONYM is symmetric, so the direction of an edge does not matter; of several edges the largest counts.
        shared = _largest(matrix, both)
    else:
        shared = sp.csr_array(both @ matrix @ both)
        if relationship not in _SUMMED:
            shared.data = np.minimum(shared.data, 1.0)
    shared = sp.csr_array(shared - shared.multiply(inside))
    shared.eliminate_zeros()
    return sp.csr_array(shared, dtype=np.float32)


def _largest(matrix: Csr, both: Csr) -> Csr:
    edges = matrix.tocoo()
    starts, stops = both[edges.row].tocoo(), both[edges.col].tocoo()
    ends: dict[int, list[int]] = {}
    for edge, node in zip(stops.row.tolist(), stops.col.tolist(), strict=True):
        ends.setdefault(edge, []).append(node)
    best: dict[tuple[int, int], float] = {}
    for edge, start in zip(starts.row.tolist(), starts.col.tolist(), strict=True):
        for stop in ends[edge]:
            best[start, stop] = max(best.get((start, stop), 0.0), float(edges.data[edge]))
    at = np.array(list(best), dtype=np.intp).reshape(-1, 2)
    values = np.array(list(best.values()), dtype=np.float32)
    return sp.csr_array((values, (at[:, 0], at[:, 1])), shape=matrix.shape)
