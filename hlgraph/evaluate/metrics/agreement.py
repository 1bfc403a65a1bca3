"""Agreement of two raters: Cohen's kappa with a bootstrap interval.

References
----------
Cohen: A Coefficient of Agreement for Nominal Scales. Educational and Psychological Measurement 20 (1960).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError

RESAMPLES = 10_000
_BLOCK = 1_000_000  # draws held in memory at once


class Kappa(NamedTuple):
    """The agreement of two raters.

    Attributes
    ----------
    kappa : 1 for full agreement, 0 for that of chance; None where chance alone agrees always, since both gave one label
    low, high : bounds of the 95 % interval; None with ``kappa``
    observed : share of equal labels
    labels : number of things that both labelled
    """

    kappa: float | None
    low: float | None
    high: float | None
    observed: float
    labels: int


def cohen_kappa(a: Sequence[str], b: Sequence[str], *, resamples: int = RESAMPLES, seed: int = 0) -> Kappa:
    """Cohen's kappa ``(o - c) / (1 - c)`` of the labels that two raters gave to the same things.

    o is the share of equal labels, and c the share that is expected by chance: the sum over labels of the product of both
    raters' shares. The interval is the percentile interval of the bootstrap over things; resamples in which kappa is not
    defined are left out.

    Parameters
    ----------
    a : labels of one rater
    b : labels of the other, in the same order
    resamples : number of resamples, at least 100, default 10,000
    seed : seed of the resampling, default 0

    Raises
    ------
    InputError
        There is no label, the numbers of labels differ, or there are fewer than 100 resamples.

    Examples
    --------
    >>> found = cohen_kappa(["yes"] * 25 + ["no"] * 25, ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15)
    >>> round(found.kappa, 2), found.observed
    (0.4, 0.7)
    """
    if not a or len(a) != len(b):
        raise InputError(f"{len(a)} labels of one rater and {len(b)} of the other; give one of each for every thing")
    if resamples < 100:
        raise InputError(f"{resamples} resamples are too few; use at least 100")
    names = {name: at for at, name in enumerate(sorted({*a, *b}))}
    size, count = len(names), len(a)
    cells = np.array([names[one] * size + names[other] for one, other in zip(a, b, strict=True)], dtype=np.int64)
    table = np.bincount(cells, minlength=size * size)[None, :]
    kappa = float(_kappas(table, size)[0])
    observed = float(np.mean([one == other for one, other in zip(a, b, strict=True)]))
    if np.isnan(kappa):
        return Kappa(None, None, None, observed, count)
    drawn = _drawn(cells, size, resamples=resamples, seed=seed)
    low, high = np.quantile(drawn[~np.isnan(drawn)], [0.025, 0.975])
    return Kappa(kappa, float(low), float(high), observed, count)


def _drawn(cells: NDArray[np.int64], size: int, *, resamples: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    found: list[NDArray[np.float64]] = []
    rows, width = max(1, _BLOCK // len(cells)), size * size
    for start in range(0, resamples, rows):
        some = min(rows, resamples - start)
        chosen = cells[rng.integers(len(cells), size=(some, len(cells)))]
        places = (chosen + width * np.arange(some)[:, None]).ravel()
        found.append(_kappas(np.bincount(places, minlength=some * width).reshape(some, width), size))
    return np.concatenate(found)


def _kappas(tables: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Kappa of each table of counts, flattened; NaN where chance alone agrees always."""
    shares = tables.reshape(-1, size, size) / tables.sum(axis=1)[:, None, None]
    observed = np.trace(shares, axis1=1, axis2=2)
    chance = np.einsum("ni,ni->n", shares.sum(axis=2), shares.sum(axis=1))
    left = 1 - chance
    is_defined = left > 1e-12
    kappas: NDArray[np.float64] = np.where(is_defined, (observed - chance) / np.where(is_defined, left, 1.0), np.nan)
    return kappas
