"""A first pass over many vectors with 8-bit codes: a superset of the k best rows, guaranteed to be complete.

A search over 10^5 rows and more is bound by memory bandwidth, and 8-bit codes are a quarter of the data. The rounding error
is bounded row by row, so the remaining rows include all that a float32 product ranks among the k best. Only these are then
multiplied in float32, and the result is identical to the last bit. Needs ``simsimd`` (extra ``local``); without it,
every row is multiplied in float32.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LEAST_ROWS = 20_000
"""Minimum number of rows before the first pass saves more time than it costs."""

BLOCK = 8_192
"""Number of rows encoded at once."""
_LEVELS: Final = 127
# Twice the unit roundoff: once for the product, once for the arithmetic of the bounds.
_ROUNDING: Final = float(np.finfo(np.float32).eps)


def is_wanted(rows: int) -> bool:
    """Whether this number of rows is worth a first pass, and simsimd is available."""
    return rows >= LEAST_ROWS and _has_exact_products()


@functools.cache
def _has_exact_products() -> bool:
    """Whether simsimd is installed and multiplies codes exactly on this processor, as the bounds assume."""
    if importlib.util.find_spec("simsimd") is None:
        return False
    from simsimd import inner

    codes = np.random.default_rng(0).integers(-_LEVELS, _LEVELS + 1, size=(64, 1_003)).astype(np.int8)
    codes[:2] = [[_LEVELS], [-_LEVELS]]
    wanted = codes.astype(np.int64) @ codes[0].astype(np.int64)
    return bool((np.asarray(inner(codes[0], codes)).reshape(-1) == wanted).all())


@dataclass(frozen=True, slots=True, eq=False)
class CoarseRows:
    """Rows as 8-bit codes: ``row = scale * code + rest``. Immutable: a search may use it while another thread adds rows.

    Attributes
    ----------
    codes : shape (n, d)
    scales : shape (n,)
    lengths : shape (n,), Euclidean length of ``scale * code``, rounded up
    rests : shape (n,), Euclidean length of ``rest``, rounded up

    Examples
    --------
    >>> rows = np.eye(4, dtype=np.float32)
    >>> coarse = CoarseRows.of(4).grown(rows)
    >>> coarse.candidates(rows[2], 1)
    array([2])
    """

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    lengths: NDArray[np.float32]
    rests: NDArray[np.float32]

    @classmethod
    def of(cls, dimensions: int) -> CoarseRows:
        """Codes of no rows."""
        none = np.empty(0, dtype=np.float32)
        return cls(np.empty((0, dimensions), dtype=np.int8), none, none, none)

    def __len__(self) -> int:
        return len(self.codes)

    def part(self, start: int, end: int) -> tuple[NDArray[Any], ...]:
        """The fields of some of these rows.

        Parameters
        ----------
        start, end : first row, and the row after the last one
        """
        return self.codes[start:end], self.scales[start:end], self.lengths[start:end], self.rests[start:end]

    def grown(self, rows: NDArray[np.float32]) -> CoarseRows:
        """The codes of all rows of a matrix, whose first ``len(self)`` rows have codes already (or were zeroed since).

        O(n d) for n new rows.
        """
        blocks = range(len(self), len(rows), BLOCK)
        if not blocks:
            return self
        parts = [encoded(np.asarray(rows[start : start + BLOCK])) for start in blocks]
        codes, scales, lengths, rests = zip(*parts, strict=True)
        return CoarseRows(
            np.concatenate([self.codes, *codes]),
            np.concatenate([self.scales, *scales]),
            np.concatenate([self.lengths, *lengths]),
            np.concatenate([self.rests, *rests]),
        )

    def candidates(
        self, vector: NDArray[np.float32], k: int, *, slots: NDArray[np.int64] | None = None
    ) -> NDArray[np.intp]:
        """See :func:`candidates`, here for one part."""
        return candidates([self], vector, k=k, slots=slots)

    def bounds(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """An estimate of the product of each row with a vector, and a bound on its error; see :func:`candidates`."""
        from simsimd import inner

        codes, scales, lengths, rests = encoded(vector[np.newaxis].astype(np.float32))
        products = np.asarray(inner(codes[0], self.codes)).reshape(-1).astype(np.float32)
        reach = float(lengths[0] + rests[0])
        rounding = (len(vector) + 8) * _ROUNDING * reach
        with np.errstate(invalid="ignore", over="ignore"):  # a NaN bound keeps its row
            estimates = products * (self.scales * scales[0])
            errors = self.rests * np.float32(reach + rounding) + self.lengths * np.float32(float(rests[0]) + rounding)
        return estimates, errors


def candidates(
    parts: Sequence[CoarseRows],
    vector: NDArray[np.float32],
    *,
    k: int,
    slots: NDArray[np.int64] | None = None,
    without: NDArray[np.int64] | None = None,
) -> NDArray[np.intp]:
    """The positions of the rows that can be among the k highest products with a vector, ascending.

    With ``x = s c + r`` and ``q = t d + u`` the product differs from ``s t c.d`` by ``s c.u + r.q``, which is at most
    ``|s c| |u| + |r| |q|`` (Cauchy and Schwarz); the float32 product also differs by its rounding. The result has the rows
    whose upper bound reaches the k-th highest lower bound. At least k rows are above any other row, whatever the rounding.

    Parameters
    ----------
    parts : the rows, one part after the other
    vector : shape (d,)
    k : number of rows wanted
    slots : rows to look at, and the result counts positions in ``slots``; None: all rows
    without : rows that are left out; without effect if ``slots`` are given
    """
    found = [part.bounds(vector) for part in parts if len(part)]
    if not found:
        return np.empty(0, dtype=np.intp)
    estimates, errors = (np.concatenate(item) if len(item) > 1 else item[0] for item in zip(*found, strict=True))
    with np.errstate(invalid="ignore", over="ignore"):
        if slots is not None:
            estimates, errors = estimates[slots], errors[slots]
        elif without is not None and len(without):
            estimates[without], errors[without] = -np.inf, 0.0
            if k >= len(estimates) - len(without):
                return np.setdiff1d(np.arange(len(estimates)), without, assume_unique=True)
        if k >= len(estimates):
            return np.arange(len(estimates))
        lowest = np.fmax(estimates - errors, -np.inf)  # NaN: not known to be above any row
        least = np.partition(lowest, len(lowest) - k)[len(lowest) - k]
        is_left = ~(estimates + errors < least)
        if slots is None and without is not None:
            is_left[without] = False
        return np.flatnonzero(is_left)


def encoded(
    rows: NDArray[np.float32],
) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Codes, scales, lengths of the coded part and lengths of the rest; lengths are rounded up."""
    with np.errstate(invalid="ignore", over="ignore"):  # a value that is not finite gives NaN bounds
        scales = np.abs(rows).max(axis=1, initial=0.0) / _LEVELS
        scales[scales < np.finfo(np.float32).tiny] = 0.0
        divisors = np.where(scales == 0.0, 1.0, scales)[:, np.newaxis].astype(np.float32)
        codes = np.nan_to_num(np.rint(rows / divisors)).clip(-_LEVELS, _LEVELS).astype(np.int8)
        coded = codes * scales[:, np.newaxis]
        return codes, scales, _length(coded), _length(rows - coded)


def _length(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of each row, rounded up; an upper bound even where squares underflow in float32."""
    least = np.float32(np.sqrt(np.finfo(np.float32).tiny) * 2 * rows.shape[1])
    found: NDArray[np.float32] = np.sqrt(np.vecdot(rows, rows)) * np.float32(1 + rows.shape[1] * _ROUNDING) + least
    return found
