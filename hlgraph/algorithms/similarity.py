"""All pairs of vectors at or above a cosine threshold, exact, in bounded memory; and the centroids of groups with names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_HEAD = 96  # components of the head
_BLOCK, _COLUMNS = 512, 4096  # one block of bounds is 8 MB, so it is still in the cache when it is compared
_DENSE = 1 / 64  # share of candidates in a block from which one product of the block costs less than one product each
_SLACK = 1e-4  # how far a bound may be below the threshold, against rounding
_ROUNDING = 4e-6  # allowance for rounding of a squared length in float32; at most 1e-6 was seen up to 4,096 dimensions


class Pairs(NamedTuple):
    """Pairs ordered by query, then base.

    Attributes
    ----------
    queries : shape (p,), rows of the queries
    base : shape (p,), rows of the base
    similarities : shape (p,), their cosines
    """

    queries: NDArray[np.intp]
    base: NDArray[np.intp]
    similarities: NDArray[np.float32]


class ThresholdIndex:
    """Index that finds exactly the rows with a cosine of at least a threshold to a vector.

    Vectors are rotated to the principal directions of a sample, so that their first components hold most of their variance.
    For unit vectors x, y split into head and tail the Cauchy-Schwarz inequality gives
    ``x.y <= x_head.y_head + |x_tail| |y_tail|``. A product of 97 columns (the head and the length of the tail) thus bounds
    the cosine from above, and only pairs whose bound reaches the threshold are computed in full. The pruning never loses a
    pair. The full cosine is summed pair by pair, so it does not depend on the division into blocks. If the bounds leave many
    pairs of a block, as for vectors without principal directions, the full product of the block is computed instead.

    Parameters
    ----------
    sample : shape (m, d), vectors that give the principal directions; any vectors are correct, typical ones prune better

    Notes
    -----
    O(n m d') time for n queries and m rows, with d' = 97 instead of d; O(block x columns) memory besides the rows.

    Examples
    --------
    >>> rows = np.eye(3, 4, dtype=np.float32)
    >>> index = ThresholdIndex(rows)
    >>> index.add(rows)
    >>> index.query(rows[:1], threshold=0.9).base.tolist()
    [0]
    """

    def __init__(self, sample: NDArray[np.float32]) -> None:
        dimensions = sample.shape[1]
        self._head = min(_HEAD, dimensions)
        moments = sample.T.astype(np.float64) @ sample.astype(np.float64)
        _, directions = np.linalg.eigh(moments)
        self._basis = np.ascontiguousarray(directions[:, ::-1][:, : self._head], dtype=np.float32)
        self._bounds: NDArray[np.float32] = np.empty((0, self._head + 1), dtype=np.float32)
        self._rows: NDArray[np.float32] = np.empty((0, dimensions), dtype=np.float32)
        self._places: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self._bounds)

    def add(self, rows: NDArray[np.float32]) -> None:
        """Append unit rows of shape (n, d)."""
        self.attach(np.concatenate([self._rows, rows]) if len(self._rows) else rows)

    def attach(self, rows: NDArray[np.float32], *, places: NDArray[np.intp] | None = None) -> None:
        """Use unit rows, for example of a memory map, as the base; the first ``len(self)`` must be the present ones.

        Parameters
        ----------
        rows : shape (m, d)
        places : the rows of the base, in order; None: all
        """
        known = len(self._bounds)
        new = rows[known:] if places is None else rows[places[known:]]
        if len(new):
            self._bounds = np.concatenate([self._bounds, self._bound(new)])
        self._rows, self._places = rows, places

    def query(self, vectors: NDArray[np.float32], *, threshold: float) -> Pairs:
        """All pairs of a vector and a row with a cosine of at least ``threshold``.

        Parameters
        ----------
        vectors : unit rows of shape (n, d)
        threshold : lowest cosine of a pair

        Returns
        -------
        Pairs
            Indices into ``vectors`` and into the rows of the index, or into ``places``.
        """
        bounds = self._bound(vectors), self._bounds
        return _above(bounds, (vectors, self._rows), threshold=threshold, places=self._places)

    def _bound(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        head = rows @ self._basis
        length = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", head, head)
        tail = np.sqrt(np.maximum(length, 0.0) + _ROUNDING)  # a tail rounded to nothing would lose pairs
        return np.concatenate([head, tail[:, None]], axis=1).astype(np.float32)


def pairs_between(vectors: NDArray[np.float32], rows: NDArray[np.float32], *, threshold: float) -> Pairs:
    """All pairs of a vector and a row with a cosine of at least ``threshold``, without an index.

    For a few vectors this is cheaper than building a :class:`ThresholdIndex`. O(n m d) time for n vectors and m rows, bounded
    memory besides them.

    Parameters
    ----------
    vectors : unit rows of shape (n, d)
    rows : unit rows of shape (m, d)
    threshold : lowest cosine of a pair

    Returns
    -------
    Pairs
        Indices into ``vectors`` and ``rows``.

    Examples
    --------
    >>> rows = np.eye(3, 4, dtype=np.float32)
    >>> pairs_between(rows[:1], rows, threshold=0.9).base.tolist()
    [0]
    """
    return _above((vectors, rows), (vectors, rows), threshold=threshold)


def pairs_within(rows: NDArray[np.float32], *, threshold: float) -> Pairs:
    """All pairs of different rows with a cosine of at least ``threshold``, each once, the lower row first.

    O(n^2 d) time, bounded memory besides the rows.

    Parameters
    ----------
    rows : unit rows of shape (n, d)
    threshold : lowest cosine of a pair

    Returns
    -------
    Pairs
        ``queries`` holds the lower row of each pair, ``base`` the higher one.

    Examples
    --------
    >>> pairs_within(np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32), threshold=0.9).base.tolist()
    [2]
    """
    return _above((rows, rows), (rows, rows), threshold=threshold, is_within=True)


def _above(
    bounds: tuple[NDArray[np.float32], NDArray[np.float32]],
    exact: tuple[NDArray[np.float32], NDArray[np.float32]],
    *,
    threshold: float,
    places: NDArray[np.intp] | None = None,
    is_within: bool = False,
) -> Pairs:
    """Pairs at or above the threshold, from those whose bound ``upper @ base.T`` comes near it, block by block.

    ``places``: the rows of ``exact[1]`` that are the base; None: all. ``is_within``: both sides are the same rows, and each pair
    of different rows is returned once.
    """
    (upper, base), (left, right) = bounds, exact
    none = np.empty(0, dtype=np.intp)
    parts = [Pairs(none, none, np.empty(0, dtype=np.float32))]
    for start in range(0, len(upper), _BLOCK):
        is_exact = upper is left
        for column in range(start if is_within else 0, len(base), _COLUMNS):
            span = slice(column, column + _COLUMNS)
            if not is_exact:
                products = upper[start : start + _BLOCK] @ base[span].T
                flat = np.flatnonzero(products >= threshold - _SLACK)
                is_exact = len(flat) > _DENSE * products.size  # the bounds of these rows tell little: see the cosines
            if is_exact:
                rows = right[span] if places is None else right[places[span]]
                products = left[start : start + _BLOCK] @ rows.T
                flat = np.flatnonzero(products >= threshold - _SLACK)
            if not len(flat):
                continue
            q, b = np.divmod(flat, products.shape[1])
            q, b = q + start, b + column
            if is_within:
                q, b = q[q < b], b[q < b]
            exact_cosines = _dot(left, right, q, b if places is None else places[b])
            keep = exact_cosines >= threshold
            parts.append(Pairs(q[keep], b[keep], exact_cosines[keep]))
    q, b, c = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((b, q))
    return Pairs(q[order], b[order], c[order])


def _dot(
    left: NDArray[np.float32], right: NDArray[np.float32], rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Row-wise dot products, 4,096 at a time."""
    products = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), 4096):
        part = slice(start, start + 4096)
        products[part] = np.einsum("ij,ij->i", left[rows[part]], right[columns[part]])
    return products


NAME_WEIGHT = 0.4
"""Share of the name in the vector of a group: more of it helps ``topic_graph``, less of it ``topic``."""


def named_centroids(
    names: NDArray[np.float32],
    members: NDArray[np.float32],
    *,
    group: NDArray[np.intp],
    member: NDArray[np.intp],
    order: NDArray[np.intp] | None = None,
    name_weight: float = NAME_WEIGHT,
) -> NDArray[np.float32]:
    """The unit vector of each group: its name and the mean direction of its members, weighted.

    For a group with name ``n`` and members ``v``: ``unit(w * n + (1 - w) * unit(sum(v)))``. A group without members, or with
    members that cancel out, has the vector of its name. Sums are of double precision and in the order of the members,
    so the order of the pairs does not matter, nor do the other groups.

    Parameters
    ----------
    names : shape (n, d), unit rows
    members : shape (m, d), unit rows
    group, member : pairs of a row of ``names`` and a member; a pair that comes twice counts once
    order : the row of ``members`` of each member; None: member k is row k
    name_weight : share of the name, from 0 to 1

    Returns
    -------
    numpy.ndarray
        Shape (n, d), float32.

    Notes
    -----
    O(p d) time for p pairs, and bounded memory besides the rows, which may be mapped from a file.

    Examples
    --------
    >>> east, north = np.eye(2, dtype=np.float32)
    >>> pairs = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
    >>> named_centroids(np.stack([east, north]), north[None], group=pairs[0], member=pairs[1], name_weight=0.5).round(3)
    array([[0.707, 0.707],
           [0.   , 1.   ]], dtype=float32)
    """
    wide = names.astype(np.float64)
    if len(members) and len(group):
        sums = np.zeros_like(wide)
        at = np.argsort(member, kind="stable")
        group, member = group[at], member[at]
        for start in range(0, int(member[-1]) + 1, _COLUMNS):
            part = slice(*np.searchsorted(member, [start, start + _COLUMNS]))
            rows = slice(start, start + _COLUMNS)
            sums = _added(sums, members[rows if order is None else order[rows]], group[part], member[part] - start)
        is_grouped = np.linalg.norm(sums, axis=1) > _CANCELLED
        wide[is_grouped] = name_weight * wide[is_grouped] + (1 - name_weight) * _unit(sums[is_grouped])
    return _unit(wide).astype(np.float32)


def _added(
    sums: NDArray[np.float64], rows: NDArray[np.float32], group: NDArray[np.intp], member: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Sums of groups with some rows added, one after the other: as if all rows were summed at once."""
    if not len(group):
        return sums
    count = len(sums)
    columns = np.concatenate([np.arange(count), count + member])
    every = np.concatenate([np.arange(count), group])
    links = sp.csr_array((np.ones(len(every)), (every, columns)), shape=(count, count + len(rows)))
    links.sum_duplicates()
    links.data[:] = 1.0
    total: NDArray[np.float64] = links @ np.concatenate([sums, rows.astype(np.float64)])
    return total


_CANCELLED = 1e-6  # sums below this are rounding errors of members that cancel out


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
