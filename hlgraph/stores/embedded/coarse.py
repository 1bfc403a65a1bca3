"""A first pass over very many vectors in eight bits a number: which rows can be among the k best, and surely all of them.

A search over some 10^5 rows waits for memory, not for arithmetic: in eight bits there is a quarter to read. What the
rounding can change is bounded row by row, so the rows left over hold every one that a product in float32 puts among the k
best, and that product is then taken of them alone: the result is the same to the last bit. Needs ``simsimd`` (extras
``ann`` and ``local``); without it every row is multiplied in float32.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_ROWS = 20_000
"""From so many rows on the first pass saves more than it costs."""

MOST_ROWS = 1_000_000
"""Beyond it the codes would take too much memory (384 MB at 384 dimensions): see :mod:`ann`."""

BLOCK = 8_192
_LEVELS: Final = 127
_ROUNDING: Final = float(
    np.finfo(np.float32).eps
)  # twice the unit roundoff: for the product, and for what is computed here


def is_wanted(rows: int) -> bool:
    """Whether so many rows are worth a first pass, and simsimd is there to make it."""
    return LEAST_ROWS <= rows <= MOST_ROWS and _has_exact_products()


@functools.cache
def _has_exact_products() -> bool:
    """Whether simsimd is there and its products of codes are whole numbers on this processor, as the bounds suppose."""
    if importlib.util.find_spec("simsimd") is None:
        return False
    from simsimd import inner

    codes = np.random.default_rng(0).integers(-_LEVELS, _LEVELS + 1, size=(64, 1_003)).astype(np.int8)
    codes[:2] = [[_LEVELS], [-_LEVELS]]
    wanted = codes.astype(np.int64) @ codes[0].astype(np.int64)
    return bool((np.asarray(inner(codes[0], codes)).reshape(-1) == wanted).all())


@dataclass(frozen=True, slots=True, eq=False)
class CoarseRows:
    """Rows as codes of eight bits: ``row = scale * code + rest``, with the lengths of both parts. Never changed: a search
    may go on with it while another thread follows new rows.

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
        """No rows yet."""
        none = np.empty(0, dtype=np.float32)
        return cls(np.empty((0, dimensions), dtype=np.int8), none, none, none)

    def __len__(self) -> int:
        return len(self.codes)

    def grown(self, rows: NDArray[np.float32]) -> CoarseRows:
        """With the rows of a matrix whose first ``len(self)`` rows are those that are there already (or zeros since).

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
        """See :func:`candidates`."""
        return candidates([self], vector, k=k, slots=slots)

    def bounds(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """For each row an estimate of its product with a vector, and by how much it can be off; see :func:`candidates`."""
        from simsimd import inner

        codes, scales, lengths, rests = encoded(vector[np.newaxis].astype(np.float32))
        products = np.asarray(inner(codes[0], self.codes)).reshape(-1).astype(np.float32)
        reach = float(lengths[0] + rests[0])
        rounding = (len(vector) + 8) * _ROUNDING * reach
        with np.errstate(invalid="ignore", over="ignore"):  # a bound that is no number leaves its row in
            estimates = products * (self.scales * scales[0])
            errors = self.rests * np.float32(reach + rounding) + self.lengths * np.float32(float(rests[0]) + rounding)
        return estimates, errors


def candidates(
    parts: Sequence[CoarseRows], vector: NDArray[np.float32], *, k: int, slots: NDArray[np.int64] | None = None
) -> NDArray[np.intp]:
    """Where the rows are that can be among the k highest products with a vector, ascending.

    With ``x = s c + r`` and ``q = t d + u`` the product differs from ``s t c.d`` by ``s c.u + r.q``, which is at most
    ``|s c| |u| + |r| |q|`` (Cauchy and Schwarz), and the one that float32 gives by its rounding besides. Rows whose
    upper bound reaches the k-th highest lower bound are left: all others have k rows above them, whatever the
    rounding did.

    Parameters
    ----------
    parts : the rows, one part after the other
    slots : the rows to look at (all, when None); the result then counts places in ``slots``
    """
    found = [part.bounds(vector) for part in parts if len(part)]
    if not found:
        return np.empty(0, dtype=np.intp)
    estimates, errors = (np.concatenate(item) if len(item) > 1 else item[0] for item in zip(*found, strict=True))
    with np.errstate(invalid="ignore", over="ignore"):
        if slots is not None:
            estimates, errors = estimates[slots], errors[slots]
        if k >= len(estimates):
            return np.arange(len(estimates))
        lowest = np.fmax(estimates - errors, -np.inf)  # no number: not surely above anything
        least = np.partition(lowest, len(lowest) - k)[len(lowest) - k]
        return np.flatnonzero(~(estimates + errors < least))


def encoded(
    rows: NDArray[np.float32],
) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Codes, scales, lengths of the coded part, lengths of the rest; lengths are rounded up."""
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite gives bounds that are no numbers
        scales = np.abs(rows).max(axis=1, initial=0.0) / _LEVELS
        scales[scales < np.finfo(np.float32).tiny] = 0.0
        divisors = np.where(scales == 0.0, 1.0, scales)[:, np.newaxis].astype(np.float32)
        codes = np.nan_to_num(np.rint(rows / divisors)).clip(-_LEVELS, _LEVELS).astype(np.int8)
        coded = codes * scales[:, np.newaxis]
        return codes, scales, _length(coded), _length(rows - coded)


def _length(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of each row, rounded up: more than it is even where squares were too small for float32."""
    least = np.float32(np.sqrt(np.finfo(np.float32).tiny) * 2 * rows.shape[1])
    found: NDArray[np.float32] = np.sqrt(np.vecdot(rows, rows)) * np.float32(1 + rows.shape[1] * _ROUNDING) + least
    return found
