"""A cache of bounded size that drops what was not read recently."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values by key, in two generations: a full young one becomes the old one, and what is read of that moves back. Thread-safe.

    Parameters
    ----------
    most : target for the total size of the values; the cache holds at most twice as much
    size : size of one value, in the unit of ``most``

    Examples
    --------
    >>> kept = Kept[str, str](most=2, size=len)
    >>> for key in "abcdef":
    ...     kept.keep({key: key.upper()})
    >>> kept.get(["a", "f", "e"])
    {'f': 'F', 'e': 'E'}
    """

    def __init__(self, *, most: int, size: Callable[[Value], int]) -> None:
        self._most = most
        self._size = size
        self._guard = threading.Lock()
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}
        self._room = most

    def get(self, keys: Iterable[Key]) -> dict[Key, Value]:
        """The values of these keys, as far as they are there, in the order of the keys."""
        wanted = dict.fromkeys(keys)
        with self._guard:
            found = {key: self._young[key] for key in wanted if key in self._young}
            if len(found) == len(wanted) or not self._old:
                return found
            again = {key: self._old[key] for key in wanted if key in self._old and key not in found}
            self._keep(again)
        found |= again
        return {key: found[key] for key in wanted if key in found}

    def keep(self, values: Mapping[Key, Value]) -> None:
        """Keeps values, in the place of those that were there."""
        with self._guard:
            self._keep(values)

    def drop(self, is_dropped: Callable[[Key, Value], bool] | None = None) -> None:
        """Forgets some values; None: all."""
        with self._guard:
            if is_dropped is None:
                self._young, self._old, self._room = {}, {}, self._most
                return
            self._young = {key: value for key, value in self._young.items() if not is_dropped(key, value)}
            self._old = {key: value for key, value in self._old.items() if not is_dropped(key, value)}

    def _keep(self, values: Mapping[Key, Value]) -> None:
        for key, value in values.items():
            size = self._size(value)
            if size > self._room:
                self._old, self._young, self._room = self._young, {}, self._most
            self._young[key] = value
            self._room -= size
