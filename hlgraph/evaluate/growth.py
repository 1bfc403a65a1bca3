"""How a cost grows with the size of what is searched. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hlgraph.errors import InputError


class Growth(NamedTuple):
    """``cost = scale * size ** exponent``: below 1 it grows less than the size does.

    ``error`` is the standard error of the exponent; None for two sizes, which fit exactly.
    """

    exponent: float
    scale: float
    error: float | None


def growth(sizes: Sequence[float], costs: Sequence[float]) -> Growth:
    """The power law nearest to some costs: least squares of log cost over log size.

    Parameters
    ----------
    sizes
        Above 0, two different ones at least.
    costs
        One a size, above 0.

    Raises
    ------
    InputError
        There are too few sizes, or a value is not above 0.

    Examples
    --------
    >>> round(growth([10, 100, 1000], [2, 20, 200]).exponent, 6)
    1.0
    >>> round(growth([10, 1000], [3, 30]).exponent, 6)
    0.5
    """
    if len(sizes) != len(costs):
        raise InputError(f"{len(sizes)} sizes have {len(costs)} costs; give one cost a size")
    if len(set(sizes)) < 2:
        raise InputError("growth needs two different sizes at least")
    if min(*sizes, *costs) <= 0:
        raise InputError("growth needs sizes and costs above 0")
    x, y = np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(costs, dtype=np.float64))
    centred = x - x.mean()
    exponent = float(centred @ (y - y.mean()) / (centred @ centred))
    offset = float(y.mean() - exponent * x.mean())
    error = None
    if len(sizes) > 2:
        rest = y - offset - exponent * x
        error = float(np.sqrt(rest @ rest / (len(sizes) - 2) / (centred @ centred)))
    return Growth(exponent, float(np.exp(offset)), error)
