"""What a search that grows paths asks, what it is told, and who answers.

A search is a generator: it yields one request a batch and is sent the reply. So it reads no store and computes no embedding
itself, and walks an adjacency in memory as well as a store that is asked once a depth.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.subgraph import Csr

Nodes: TypeAlias = NDArray[np.intp]
Scores: TypeAlias = NDArray[np.float64]
Keys: TypeAlias = NDArray[np.str_] | NDArray[np.integer]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Paths that differ from others in their last node only.

    Attributes
    ----------
    prefixes : shape (b, l - 1): the paths that are continued; (1, 0) for paths of one node
    owner : shape (m,): the row of ``prefixes`` that a path continues
    nodes : shape (m,): its last node
    """

    prefixes: Nodes
    owner: Nodes
    nodes: Nodes

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def paths(self) -> Nodes:
        """Shape (m, l): all nodes of each path, in order."""
        return np.column_stack((self.prefixes[self.owner], self.nodes))

    def take(self, at: Nodes) -> Candidates:
        """Some of them."""
        return Candidates(self.prefixes, self.owner[at], self.nodes[at])


class Expand(NamedTuple):
    """Which nodes may follow each of these (ascending, no node twice)? The reply: :class:`Children`."""

    nodes: Nodes


class Score(NamedTuple):
    """What does each path score? The reply: shape (m,), higher is better."""

    candidates: Candidates


class Rescore(NamedTuple):
    """What does each path score exactly? The reply: shape (m,), comparable to the score of a path of one node."""

    candidates: Candidates


class Children(NamedTuple):
    """What may follow the nodes of an :class:`Expand`.

    Attributes
    ----------
    owner : shape (m,): index into ``Expand.nodes``
    nodes : shape (m,): a node that may follow it
    keys : shape (m,): the id of that node, by which ties break; None: by its number
    """

    owner: Nodes
    nodes: Nodes
    keys: Keys | None = None


Request: TypeAlias = Expand | Score | Rescore
Reply: TypeAlias = Children | NDArray[np.floating]


class Frontier(Protocol):
    """What answers the requests of a search."""

    def expand(self, nodes: Nodes) -> Children:
        """See :class:`Expand`."""

    def score(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Score`."""

    def rescore(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Rescore`; never called without ``BeamOptions.rescored``."""


def run(search: Generator[Request, Reply, _T], frontier: Frontier) -> _T:
    """Answer every request of a search from a frontier."""
    try:
        request = next(search)
        while True:
            if isinstance(request, Expand):
                request = search.send(frontier.expand(request.nodes))
            elif isinstance(request, Score):
                request = search.send(frontier.score(request.candidates))
            else:
                request = search.send(frontier.rescore(request.candidates))
    except StopIteration as stop:
        result: _T = stop.value
        return result


def children_of(adjacency: Csr, nodes: Nodes) -> Children:
    """What may follow each of these nodes, from the rows of an adjacency of shape (n, n); weights do not matter.

    Examples
    --------
    >>> children_of(Csr(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])), np.array([0, 2])).nodes
    array([1, 2, 0])
    """
    rows = adjacency[nodes]
    return Children(np.repeat(np.arange(len(nodes)), np.diff(rows.indptr)), rows.indices.astype(np.intp))
