"""Cuts values into batches: of a number, as :func:`itertools.batched` of Python 3.12 does, or of a size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
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


def filled(items: Iterable[T], size: int, *, measured: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in lists, each of which ends with the item that brings its sum to ``size``; the last list may have less.

    Parameters
    ----------
    items : values; read only as far as the lists are taken
    size : sum at which a list ends
    measured : what an item adds to the sum

    Examples
    --------
    >>> list(filled(["ab", "c", "def", "g"], 3, measured=len))
    [['ab', 'c'], ['def'], ['g']]
    """
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += measured(item)
        if total >= size:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
