"""Diameters of sets of candidates, measured inside the set or in the whole graph (TopoRAG)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.distances import hops_within


class Measure(Protocol):
    """Measures the diameters of subsets of a pool of c candidates, in hops.

    Members and candidates are indices into the pool. A set of at most one member has the diameter 0. ``max_diameter + 1``
    stands for every larger diameter.

    Attributes
    ----------
    max_diameter : D, the bound, in hops
    """

    max_diameter: int

    def of(self, members: Sequence[int]) -> int:
        """The diameter of the set."""

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """The diameter of the set with each single candidate added.

        Parameters
        ----------
        members : a set within the bound, or an empty one
        candidates : indices into the pool, each added alone

        Returns
        -------
        NDArray
            One diameter per candidate, in hops.
        """

    def edges_of(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """The edges between the members as a dense matrix."""


class Induced:
    """Diameters along paths inside the set: ``diam(G[S])``, TopoRAG's Eq. 1. A disconnected set exceeds every bound.

    Parameters
    ----------
    inside : shape (c, c), symmetric, without loops; the edges between the candidates
    max_diameter : D, in hops
    """

    def __init__(self, inside: NDArray[np.bool_], max_diameter: int) -> None:
        self.max_diameter = max_diameter
        self._inside = inside

    def edges_of(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """See :class:`Measure`."""
        return self._inside[np.ix_(members, members)]

    def of(self, members: Sequence[int]) -> int:
        """See :class:`Measure`."""
        return _widest(hops_within(self.edges_of(members), max_hops=self.max_diameter))

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """See :class:`Measure`. O(c s^2 D) time for c candidates and s members."""
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
        found: NDArray[np.int16] = np.minimum(np.maximum(np.maximum(widths, between), kept), far).astype(np.int16)
        return found


class InGraph:
    """Diameters along any path of the graph: ``max d_G(u, w)``, the distance of TopoRAG's Lemmas 1 and 2.

    Parameters
    ----------
    inside : shape (c, c), the edges between the candidates
    max_diameter : D, in hops
    hops : shape (c, c), distances in the graph; ``max_diameter + 1`` stands for every larger one
    """

    def __init__(self, inside: NDArray[np.bool_], max_diameter: int, *, hops: NDArray[np.int16]) -> None:
        self.max_diameter = max_diameter
        self._inside = inside
        self._hops = hops

    def edges_of(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """See :class:`Measure`."""
        return self._inside[np.ix_(members, members)]

    def of(self, members: Sequence[int]) -> int:
        """See :class:`Measure`."""
        return _widest(self._hops[np.ix_(members, members)])

    def with_each(self, members: Sequence[int], candidates: NDArray[np.intp]) -> NDArray[np.int16]:
        """See :class:`Measure`. O(c s) time for c candidates and s members."""
        farthest = self._hops[np.ix_(candidates, np.array(members, dtype=np.intp))].max(axis=1, initial=0)
        found: NDArray[np.int16] = np.maximum(farthest, self.of(members)).astype(np.int16)
        return found


def _widest(hops: NDArray[np.int16]) -> int:
    return int(hops.max(initial=0))
