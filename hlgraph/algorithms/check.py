"""Argument checks: each returns None, or raises an `InputError` that names the argument, its value and the bound."""

from __future__ import annotations

import math
from collections.abc import Sized

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError
from hlgraph.subgraph import Csr


def same_length(**values: Sized) -> None:
    """Check that all values have the same length.

    Raises
    ------
    InputError
        Two lengths differ.

    Examples
    --------
    >>> same_length(ids=["a"], scores=[0.5, 0.7])
    Traceback (most recent call last):
        ...
    hlgraph.errors.InputError: these must have the same length: ids (1), scores (2)
    """
    if len({len(value) for value in values.values()}) > 1:
        lengths = ", ".join(f"{name} ({len(value)})" for name, value in values.items())
        raise InputError(f"these must have the same length: {lengths}")


def square(adjacency: Csr) -> None:
    """Check that an adjacency has as many columns as rows; raises InputError."""
    rows, columns = adjacency.shape
    if rows != columns:
        raise InputError(f"the adjacency has the shape {adjacency.shape}; it must be square, (n, n)")


def not_nan(name: str, values: NDArray[np.floating]) -> None:
    """Check that no element is NaN, which cannot be ordered; infinities pass.

    Parameters
    ----------
    name : the argument, for the message
    values : of any shape

    Raises
    ------
    InputError
        An element is NaN.
    """
    _no_element(name, np.isnan(values))


def finite(name: str, values: NDArray[np.floating]) -> None:
    """Check that no element is NaN or infinite.

    Parameters
    ----------
    name : the argument, for the message
    values : of any shape

    Raises
    ------
    InputError
        An element is NaN or infinite.
    """
    _no_element(name, ~np.isfinite(values))


def _no_element(name: str, is_wrong: NDArray[np.bool_]) -> None:
    places = np.flatnonzero(is_wrong)
    if len(places):
        what = "element is" if len(places) == 1 else "elements are"
        raise InputError(f"{name}: {len(places)} {what} not a usable number, the first at index {places[0]}")


def positive(name: str, value: float) -> None:
    """Check that a number is finite and above 0.

    Parameters
    ----------
    name : the argument, for the message
    value : the number

    Raises
    ------
    InputError
        The number is 0, negative, infinite or NaN.
    """
    if not 0 < value < math.inf:
        raise InputError(f"{name} is {value}; it must be a finite number above 0")


def not_negative(name: str, value: float) -> None:
    """Check that a number is finite and not negative.

    Parameters
    ----------
    name : the argument, for the message
    value : the number

    Raises
    ------
    InputError
        The number is negative, infinite or NaN.
    """
    if not 0 <= value < math.inf:
        raise InputError(f"{name} is {value}; it must be a finite number, 0 or above")


def at_least(least: int, /, **values: float) -> None:
    """Check that no value is below a bound; raises InputError."""
    for name, value in values.items():
        if value < least:
            raise InputError(f"{name} is {value}; it must be at least {least}")


def below_one(name: str, value: float) -> None:
    """Check that a number, such as a damping, is from 0 to below 1; raises InputError.

    Parameters
    ----------
    name : the argument, for the message
    value : the number
    """
    if not 0 <= value < 1:
        raise InputError(f"{name} is {value}; it must be from 0 to below 1")


def probability(name: str, value: float) -> None:
    """Check that a number is from 0 to 1.

    Parameters
    ----------
    name : the argument, for the message
    value : the number

    Raises
    ------
    InputError
        The number is below 0, above 1 or NaN.

    Examples
    --------
    >>> probability("damping", 1.5)
    Traceback (most recent call last):
        ...
    hlgraph.errors.InputError: damping is 1.5; it must be a number from 0 to 1
    """
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {value}; it must be a number from 0 to 1")
