"""Subgraph: the graph type that all algorithms take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Kind, Relationship

KINDS: tuple[Kind, ...] = tuple(Kind)
"""All kinds; a subgraph stores the kind of a node as its index in this tuple."""

Csr: TypeAlias = sp.csr_array


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes in ascending order of id, and one weighted adjacency per relationship.

    Attributes
    ----------
    ids : shape (n,), dtype ``<U32``, ascending
    kinds : shape (n,), uint8, indices into ``KINDS``
    edges : CSR of shape (n, n), float32, per relationship; directed from row to column, as in the model
    version : version of the corpus that it was pulled from
    is_cut : True if a limit left nodes or edges out
    """

    ids: NDArray[np.str_]
    kinds: NDArray[np.uint8]
    edges: Mapping[Relationship, Csr]
    version: int = 0
    is_cut: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def nodes(self, kind: Kind) -> NDArray[np.intp]:
        """Indices of the nodes of one kind, ascending."""
        return np.flatnonzero(self.kinds == KINDS.index(kind))

    def index(self, ids: list[str]) -> NDArray[np.intp]:
        """Indices of these ids; -1 for an id that is not in the subgraph."""
        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.intp)
        wanted = np.asarray(ids, dtype=np.str_)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[at] == wanted, at, -1)

    def within(self, nodes: NDArray[np.intp]) -> Subgraph:
        """The subgraph of these nodes (ascending and distinct) and the edges between them."""
        if len(nodes) == len(self.ids):
            return self
        edges = {relationship: block(matrix, nodes, columns=nodes) for relationship, matrix in self.edges.items()}
        return Subgraph(self.ids[nodes], self.kinds[nodes], edges, self.version, self.is_cut)

    def adjacency(self, weights: Mapping[Relationship, float] | None = None) -> Csr:
        """One undirected adjacency, CSR of shape (n, n), float32: the weighted sum of the relationships in both directions.

        ``weights`` gives the factor of each relationship, 0 for relationships not in it; None for a factor of 1 each.
        """
        n = len(self.ids)
        total = sp.csr_array((n, n), dtype=np.float32)
        for relationship, edges in self.edges.items():
            factor = 1.0 if weights is None else weights.get(relationship, 0.0)
            if factor:
                total = total + factor * (edges + edges.T)
        return sp.csr_array(total, dtype=np.float32)


def spans(first: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Consecutive integers from each start, one range after the other.

    Parameters
    ----------
    first : start of each range
    counts : length of each range

    Examples
    --------
    >>> spans(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    ends = np.cumsum(counts)
    at = np.arange(ends[-1] if len(ends) else 0)
    at += np.repeat(first - ends + counts, counts)
    return at


class Entries(NamedTuple):
    """Entries of rows of a matrix.

    Attributes
    ----------
    owner : shape (m,), index into the requested rows
    columns : shape (m,), the column of each entry
    values : shape (m,), the value of each entry
    """

    owner: NDArray[np.intp]
    columns: NDArray[np.integer]
    values: NDArray[np.float32]


def entries(matrix: Csr, rows: NDArray[np.integer]) -> Entries:
    """The entries of some rows of a matrix, in the order of the rows; linear in their number, not in the size of the matrix.

    Parameters
    ----------
    matrix : CSR
    rows : indices of rows, in any order

    Returns
    -------
    Entries
        In the order of ``rows``, then as stored.

    Examples
    --------
    >>> entries(Csr(np.array([[0, 2], [3, 0]])), np.array([1, 0])).columns.tolist()
    [0, 1]
    """
    starts = matrix.indptr[rows]
    counts = matrix.indptr[rows + 1] - starts
    at = spans(starts, counts)
    return Entries(np.repeat(np.arange(len(rows)), counts), matrix.indices[at], matrix.data[at])


def block(matrix: Csr, rows: NDArray[np.integer], *, columns: NDArray[np.integer]) -> Csr:
    """``matrix[rows][:, columns]``, at a fraction of the cost if these are a small part of the matrix.

    Parameters
    ----------
    matrix : CSR
    rows : indices of rows, in any order
    columns : indices of columns, ascending

    Returns
    -------
    Csr
        Shape (rows, columns).

    Examples
    --------
    >>> block(Csr(np.array([[1, 2, 3], [4, 5, 6]])), np.array([1]), columns=np.array([0, 2])).toarray()
    array([[4, 6]])
    """
    place = np.full(matrix.shape[1], -1, dtype=np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    selected = entries(matrix, rows)
    to = place[selected.columns]
    inside = to >= 0
    ends = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum(np.bincount(selected.owner[inside], minlength=len(rows)), out=ends[1:])
    return sp.csr_array((selected.values[inside], to[inside], ends), shape=(len(rows), len(columns)))
