"""How wide a set of candidates is, and would be with one more: the two ways to measure a diameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.distances import hops_within


class Measure(Protocol):
    """Diameters of subsets of a pool of candidates, in hops; ``max_diameter + 1`` stands for all that is wider.

    Members and candidates are places in the pool. A set of one or none has the diameter 0.
    """

    max_diameter: int

    def of(self, members: Sequence[int]) -> int:
        """The diameter of a set."""

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """The diameter of the set and one candidate, for each candidate; the set keeps the bound, or is empty."""

    def edges_of(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """The edges between the members, dense."""


class Induced:
    """By paths inside the set: ``diam(G[S])``, TopoRAG's Eq. 1. A set that is not connected is wider than any bound.

    Parameters
    ----------
    inside : shape (c, c), symmetric, without loops: the edges between the candidates
    max_diameter : D
    """

    def __init__(self, inside: NDArray[np.bool_], max_diameter: int) -> None:
        self.max_diameter = max_diameter
        self._inside = inside

    def edges_of(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """See the protocol."""
        return self._inside[np.ix_(members, members)]

    def of(self, members: Sequence[int]) -> int:
        """See the protocol."""
        return _widest(hops_within(self.edges_of(members), max_hops=self.max_diameter))

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """See the protocol. O(c s^2 D) time for c candidates and s members."""
        if not members:
            return np.zeros(len(candidates), dtype=np.int16)
        far = self.max_diameter + 1
        hops = hops_within(self.edges_of(members), max_hops=self.max_diameter)
        touching = self._inside[np.ix_(candidates, np.array(members, dtype=np.intp))].astype(np.float32)
        near = np.full(touching.shape, far, dtype=np.int16)
        for count in range(self.max_diameter, 0, -1):  # from far to near, so that the nearest is what stays
            near[touching @ (hops < count).astype(np.float32) > 0] = count
        widths: NDArray[np.int16] = near.max(axis=1)
        # A new node shortens no way of two hops or fewer.
        left, right = np.nonzero(np.triu(hops > 2))
        between = np.minimum(hops[left, right], near[:, left] + near[:, right]).max(axis=1, initial=0)
        kept = int(np.minimum(hops, 2).max())
        found: NDArray[np.int16] = np.minimum(np.maximum(np.maximum(widths, between), kept), far).astype(np.int16)
        return found


class InGraph:
    """By any path of the graph: ``max d_G(u, w)``, the distance of TopoRAG's Lemmas 1 and 2.

    Parameters
    ----------
    inside : shape (c, c): the edges between the candidates
    max_diameter : D
    hops : shape (c, c): distances in the graph, ``max_diameter + 1`` for all that is farther
    """

    def __init__(self, inside: NDArray[np.bool_], max_diameter: int, *, hops: NDArray[np.int16]) -> None:
        self.max_diameter = max_diameter
        self._inside = inside
        self._hops = hops

    def edges_of(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """See the protocol."""
        return self._inside[np.ix_(members, members)]

    def of(self, members: Sequence[int]) -> int:
        """See the protocol."""
        return _widest(self._hops[np.ix_(members, members)])

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """See the protocol. O(c s) time for c candidates and s members."""
        farthest = self._hops[np.ix_(candidates, np.array(members, dtype=np.intp))].max(axis=1, initial=0)
        found: NDArray[np.int16] = np.maximum(farthest, self.of(members)).astype(np.int16)
        return found


def _widest(hops: NDArray[np.int16]) -> int:
    return int(hops.max(initial=0))
