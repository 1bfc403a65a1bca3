"""Cuts values into batches, as :func:`itertools.batched` of Python 3.12 does."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of ``size``; the last list may be shorter.

    Parameters
    ----------
    items : values; read only as far as the lists are taken
    size : maximum length of a list

    Examples
    --------
    >>> list(batched("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    left = iter(items)
    while batch := list(itertools.islice(left, size)):
        yield batch
