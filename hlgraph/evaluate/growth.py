"""Fits how a cost grows with the size of the corpus. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hlgraph.errors import InputError


class Growth(NamedTuple):
    """A power law ``cost = scale * size ** exponent``.

    Attributes
    ----------
    exponent : below 1, the cost grows more slowly than the size
    scale : the cost at size 1
    error : standard error of the exponent; None for two data points, which fit exactly
    """

    exponent: float
    scale: float
    error: float | None


def growth(sizes: Sequence[float], costs: Sequence[float]) -> Growth:
    """The power law that fits costs best, by least squares of log cost over log size.

    Parameters
    ----------
    sizes : above 0, at least two different ones
    costs : one per size, above 0

    Raises
    ------
    InputError
        There are fewer than two different sizes, the lengths differ, or a value is not above 0.

    Examples
    --------
    >>> round(growth([10, 100, 1000], [2, 20, 200]).exponent, 6)
    1.0
    >>> round(growth([10, 1000], [3, 30]).exponent, 6)
    0.5
    """
    if len(sizes) != len(costs):
        raise InputError(f"{len(sizes)} sizes have {len(costs)} costs; give one cost per size")
    if len(set(sizes)) < 2:
        raise InputError("growth needs at least two different sizes")
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
