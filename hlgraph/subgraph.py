"""Subgraph: the only graph that an algorithm sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Kind, Relationship

KINDS: tuple[Kind, ...] = tuple(Kind)
"""The kind of a node is stored as its index here."""

Csr: TypeAlias = sp.csr_array


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes in ascending order of id, and one weighted adjacency a relationship.

    Attributes
    ----------
    ids : array of shape (n,), dtype ``<U32``
    kinds : array of shape (n,), uint8, indices into ``KINDS``
    edges : relationship -> CSR of shape (n, n), float32; directed as in the model (from row to column)
    version : the version of the corpus that it was pulled from
    is_cut : True when a cap left something out
    """

    ids: NDArray[np.str_]
    kinds: NDArray[np.uint8]
    edges: Mapping[Relationship, Csr]
    version: int = 0
    is_cut: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def nodes(self, kind: Kind) -> NDArray[np.intp]:
        """Indices of the nodes of one kind."""
        return np.flatnonzero(self.kinds == KINDS.index(kind))

    def index(self, ids: list[str]) -> NDArray[np.intp]:
        """Indices of these ids; -1 where the subgraph does not hold one."""
        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.intp)
        wanted = np.asarray(ids, dtype=np.str_)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[at] == wanted, at, -1)

    def within(self, nodes: NDArray[np.intp]) -> Subgraph:
        """Only these nodes, ascending, each once, and the edges between them."""
        if len(nodes) == len(self.ids):
            return self
        edges = {relationship: block(matrix, nodes, columns=nodes) for relationship, matrix in self.edges.items()}
        return Subgraph(self.ids[nodes], self.kinds[nodes], edges, self.version, self.is_cut)

    def adjacency(self, weights: Mapping[Relationship, float] | None = None) -> Csr:
        """One undirected adjacency: the sum of both directions of the relationships, each times its weight (default 1)."""
        n = len(self.ids)
        total = sp.csr_array((n, n), dtype=np.float32)
        for relationship, edges in self.edges.items():
            factor = 1.0 if weights is None else weights.get(relationship, 0.0)
            if factor:
                total = total + factor * (edges + edges.T)
        return sp.csr_array(total, dtype=np.float32)


class Entries(NamedTuple):
    """The entries of some rows of a matrix: which of the rows (an index into those asked for), the column, the value."""

    owner: NDArray[np.intp]
    columns: NDArray[np.integer]
    values: NDArray[np.float32]


def entries(matrix: Csr, rows: NDArray[np.integer]) -> Entries:
    """The entries of rows, in their order. Linear in their number, however large the matrix is.

    Examples
    --------
    >>> entries(Csr(np.array([[0, 2], [3, 0]])), np.array([1, 0])).columns.tolist()
    [0, 1]
    """
    starts = matrix.indptr[rows]
    counts = matrix.indptr[rows + 1] - starts
    ends = np.cumsum(counts)
    at = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - ends + counts, counts)
    return Entries(np.repeat(np.arange(len(rows)), counts), matrix.indices[at], matrix.data[at])


def block(matrix: Csr, rows: NDArray[np.integer], *, columns: NDArray[np.integer]) -> Csr:
    """``matrix[rows][:, columns]`` for ascending columns, at a fraction of the cost where these are few of many.

    Examples
    --------
    >>> block(Csr(np.array([[1, 2, 3], [4, 5, 6]])), np.array([1]), columns=np.array([0, 2])).toarray()
    array([[4, 6]])
    """
    place = np.full(matrix.shape[1], -1, dtype=np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    found = entries(matrix, rows)
    to = place[found.columns]
    inside = to >= 0
    ends = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum(np.bincount(found.owner[inside], minlength=len(rows)), out=ends[1:])
    return sp.csr_array((found.values[inside], to[inside], ends), shape=(len(rows), len(columns)))
