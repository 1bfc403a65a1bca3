"""Calibration: the scale of the cosines of a corpus, measured on its own vectors, so that thresholds fit any embedder."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hlgraph.records import Calibration, Kind

SAMPLE = 1_024
"""Largest number of rows of a kind that are measured."""
BLOCK = 128
"""Number of names that are compared with each other; a corpus with fewer names has no calibration."""
_LEAST_ROWS = 16  # minimum for a kind other than names
_NEAR = 0.25  # quantile of the cosines of each name and its nearest one
_LEAST_SPREAD = 1e-3
_DIGITS = 5
_ALIKE = 1 / 3
_BOUND = 1e-3  # minimum distance of a threshold from 0 and from 1

USUAL = Calibration(names=0, spread=0.22, entity=0.142, statement=0.056, chunk=0.053)
"""The reference: all-MiniLM-L6-v2, quantized to int8, mean of six sets of passages from Wikipedia and the news."""


def measured(rows: Mapping[Kind, NDArray[np.float32]], *, names: int) -> Calibration | None:
    """The scale of the cosines of a corpus; time linear in the number of rows, at most 1,024 of a kind.

    ``m`` of a kind is the median cosine of two random rows: 0.03 to 0.16 for the shipped embedder, about 0.75 for one of the E5
    family. The spread is ``n - m`` for names, where ``n`` is the 25 % quantile of the cosines of each name and the nearest of
    127 others. Blocks of one size make it comparable between corpora.

    Why names, and why these two: among statements and chunks the upper quantiles say more about the texts than about the
    embedder. On six sets with one embedder the 99 % quantile of random pairs of statements is 0.28 to 0.80, as titles
    inside statements and reports of one event repeat words; the spread of names is 0.21 to 0.24, and all medians differ by 0.1
    at most.

    Parameters
    ----------
    rows : unit rows of shape (n, d), by kind, a sample that does not depend on similarity; rows beyond 1,024 are ignored
    names : number of names in the corpus

    Returns
    -------
    Calibration
        None with fewer than 128 rows of names. A kind with fewer than 16 rows gets the median of the names plus the scaled
        difference of the two medians in :data:`USUAL`.
    """
    sample = rows.get(Kind.ENTITY)
    if sample is None or len(sample) < BLOCK:
        return None
    median, near = _measured(sample[:SAMPLE])
    spread = max(near - median, _LEAST_SPREAD)
    factor = spread / USUAL.spread
    medians: dict[Kind, float] = {}
    for kind in (Kind.STATEMENT, Kind.CHUNK):
        some = rows.get(kind)
        if some is None or len(some) < _LEAST_ROWS:
            medians[kind] = median + factor * (USUAL.median(kind) - USUAL.entity)
        else:
            medians[kind] = _measured(some[:SAMPLE])[0]
    values = (round(float(value), _DIGITS) for value in (spread, median, *medians.values()))
    return Calibration(names, *values)


def _measured(rows: NDArray[np.float32]) -> tuple[float, float]:
    """The median of the cosines of random pairs, and the cosine that 75 % of the rows have to their nearest row."""
    size = min(len(rows), BLOCK)
    starts = np.linspace(0, len(rows) - size, -(-len(rows) // size)).astype(np.intp)
    pairs, nearest = [], []
    upper = np.triu_indices(size, 1)
    for start in starts:
        cosines = rows[start : start + size] @ rows[start : start + size].T
        pairs.append(cosines[upper])
        np.fill_diagonal(cosines, -np.inf)
        nearest.append(cosines.max(axis=1))
    return float(np.median(np.concatenate(pairs))), float(np.quantile(np.concatenate(nearest), _NEAR))


def fitted_cosine(usual: float, kind: Kind, *, calibration: Calibration | None) -> float:
    """The cosine in a corpus that corresponds to ``usual`` for the shipped embedder.

    With ``z = (usual - m0) / s0``, for the median ``m0`` and the spread ``s0`` of :data:`USUAL`, it is ``m + z s``. Above
    ``z = 1`` it is not further towards 1 than ``usual`` is: at most ``n + (1 - n) (usual - n0) / (1 - n0)`` with ``n = m + s``,
    as the cosine of equal texts is 1 for every embedder.

    It is ``usual`` itself if ``s`` differs from ``s0``, and ``m`` from ``m0``, by less than a third of ``s0``. Corpora of one
    embedder differ by that much, so their thresholds stay equal, whatever the order in which a corpus grew.

    Parameters
    ----------
    usual : a threshold for the shipped embedder, such as one of a paper
    kind : of the rows that are compared
    calibration : of the corpus; None: ``usual`` itself

    Returns
    -------
    float
        From 0.001 to 0.999.

    Examples
    --------
    >>> crowded = Calibration(names=1_000, spread=0.05, entity=0.78, statement=0.72, chunk=0.72)
    >>> [fitted_cosine(0.8, Kind.ENTITY, calibration=scale) for scale in (None, USUAL, crowded)]
    [0.8, 0.8, 0.92955]
    """
    if calibration is None or _is_usual(kind, calibration):
        return usual
    far, near = USUAL.median(kind), USUAL.median(kind) + USUAL.spread
    low, high = calibration.median(kind), calibration.median(kind) + calibration.spread
    cosine = low + calibration.spread * (usual - far) / USUAL.spread
    if usual > near:
        cosine = min(cosine, high + (1 - high) * (usual - near) / (1 - near))
    return round(min(max(cosine, _BOUND), 1 - _BOUND), _DIGITS)


def usual_cosine(cosine: float, kind: Kind, *, calibration: Calibration | None) -> float:
    """The cosine for the shipped embedder that corresponds to ``cosine`` in a corpus: the inverse of :func:`fitted_cosine`.

    Parameters
    ----------
    cosine : of two texts of the corpus
    kind : of the rows that are compared
    calibration : of the corpus; None: ``cosine`` itself

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> crowded = Calibration(names=1_000, spread=0.05, entity=0.78, statement=0.72, chunk=0.72)
    >>> [round(usual_cosine(cosine, Kind.STATEMENT, calibration=crowded), 3) for cosine in (0.72, 0.8)]
    [0.056, 0.408]
    """
    if calibration is None or _is_usual(kind, calibration):
        return cosine
    far, near = USUAL.median(kind), USUAL.median(kind) + USUAL.spread
    low, high = calibration.median(kind), calibration.median(kind) + calibration.spread
    usual = far + USUAL.spread * (cosine - low) / calibration.spread
    if cosine > high:
        usual = max(usual, near + (1 - near) * (cosine - high) / (1 - high)) if high < 1 else 1.0
    return min(usual, 1.0)


def stretch(calibration: Calibration | None) -> float:
    """The spread of a corpus over that of the shipped embedder; 1 if they differ by less than a third, or without a calibration."""
    ratio = 1.0 if calibration is None else calibration.spread / USUAL.spread
    return 1.0 if abs(ratio - 1) < _ALIKE else ratio


def _is_usual(kind: Kind, calibration: Calibration) -> bool:
    """Whether the scale of a kind differs from the shipped embedder's by no more than corpora of one embedder do."""
    return stretch(calibration) == 1 and abs(calibration.median(kind) - USUAL.median(kind)) < _ALIKE * USUAL.spread
