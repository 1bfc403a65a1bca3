"""Caches of bounded size that drop what was not read recently: of any values, and of the records of corpora that change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from hlgraph.records import Chunk, Kind, Record, Source, Statement, Topic

Key = TypeVar("Key")
Value = TypeVar("Value")
KEPT_CHARACTERS = 1 << 22
"""Target for the size of the kept records of each kind."""
_OVERHEAD = 300  # characters that a record takes beside its text
_MOST_ALTERED = 20_000  # ids of a corpus that are listed, before all of its records are forgotten
State = TypeVar("State")


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
            cached = {key: self._young[key] for key in wanted if key in self._young}
            if len(cached) == len(wanted) or not self._old:
                return cached
            again = {key: self._old[key] for key in wanted if key in self._old and key not in cached}
            self._keep(again)
        cached |= again
        return {key: cached[key] for key in wanted if key in cached}

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

    def forget(self, keys: Iterable[Key]) -> None:
        """Forgets the values of these keys, as far as they are there."""
        with self._guard:
            for key in keys:
                self._young.pop(key, None)
                self._old.pop(key, None)

    def _keep(self, values: Mapping[Key, Value]) -> None:
        for key, value in values.items():
            size = self._size(value)
            if size > self._room:
                self._old, self._young, self._room = self._young, {}, self._most
            self._young[key] = value
            self._room -= size


class _Read(NamedTuple):
    """A record, and the number of the state in which it was read."""

    number: int
    record: Record


class _Corpus(NamedTuple):
    """The state of a corpus, its number, and those of the states in which sources were last altered."""

    state: Any
    number: int
    altered: dict[str, int]

    def has(self, read: _Read) -> bool:
        """Whether a record is still as it was read. One of no single source may be altered by every change."""
        owner = _owner(read.record)
        return read.number >= self.altered.get(owner, 0) if owner else read.number == self.number


class KeptRecords(Generic[State]):
    """Records by id, in one state of each corpus. Thread-safe.

    When a reader names a later state, the lists of the changes between both say which sources were altered, and what vanished.
    What vanished is forgotten. Records of altered sources, and those of no single source, such as entities, are no longer
    returned. Where no lists lead from one state to the other, all are forgotten. No reader sees the text of a source that was
    deleted before the read began. Thousands of records may be kept, so a listed change looks only at what it altered.

    Parameters
    ----------
    kinds : kinds of the records
    altered : given a corpus and two states, the ids of the sources whose records are not the same in both, and of all records
        that vanished; None: it is not known
    is_older : whether the first of two states of a corpus came before the second. A reader of an older state than the one that
        is kept finds nothing, and changes nothing
    """

    def __init__(
        self,
        kinds: Iterable[Kind],
        *,
        altered: Callable[[str, State, State], frozenset[str] | None],
        is_older: Callable[[State, State], bool],
    ) -> None:
        self._altered = altered
        self._is_older = is_older
        self._kept = {kind: Kept[tuple[str, str], _Read](most=KEPT_CHARACTERS, size=_size) for kind in kinds}
        self._corpora: dict[str, _Corpus] = {}
        self._guard = threading.Lock()

    def get(self, kind: Kind, ids: Sequence[str], *, corpus: str, state: State) -> dict[str, Record]:
        """What is kept of these records in a state, which becomes that of the corpus, in the order of the ids.

        Parameters
        ----------
        kind : kind of the records
        ids : ids of the records
        corpus : name of the corpus
        state : the state
        """
        before = self._corpora.get(corpus)
        altered = None
        if before is not None and before.state != state:
            if self._is_older(state, before.state):
                return {}
            altered = self._altered(corpus, before.state, state)
        with self._guard:
            current = self._corpora.get(corpus)
            if current is not None and self._is_older(state, current.state):
                return {}
            if current is None or current.state != state:
                current = self._moved(corpus, current, to=state, altered=altered if current is before else None)
            kept = self._kept[kind].get((corpus, item) for item in ids)
        return {name: read.record for (_, name), read in kept.items() if current.has(read)}

    def keep(self, kind: Kind, found: Mapping[str, Record], *, corpus: str, state: State) -> None:
        """Keeps records, unless the corpus is no longer in the state in which they were read.

        Parameters
        ----------
        kind : kind of the records
        found : the records by id
        corpus : name of the corpus
        state : the state
        """
        with self._guard:
            current = self._corpora.get(corpus)
            if current is not None and current.state == state:
                self._kept[kind].keep({(corpus, item): _Read(current.number, record) for item, record in found.items()})

    def _moved(self, corpus: str, held: _Corpus | None, *, to: State, altered: frozenset[str] | None) -> _Corpus:
        """Takes a corpus to another state."""
        number = 0 if held is None else held.number + 1
        if held is None or altered is None or len(held.altered) > _MOST_ALTERED:
            for kept in self._kept.values():
                kept.drop(lambda key, _: key[0] == corpus)
            result = _Corpus(to, number, {})
        else:
            for kept in self._kept.values():
                kept.forget((corpus, item) for item in altered)
            result = _Corpus(to, number, held.altered | dict.fromkeys(altered, number))
        self._corpora[corpus] = result
        return result


def _owner(record: Record) -> str:
    """The only source that a change must name to alter this record; empty: others can alter it."""
    if isinstance(record, Source):
        return record.id
    return record.source_id if isinstance(record, Chunk | Topic | Statement) else ""


def _size(read: _Read) -> int:
    record = read.record
    metadata = len(str(record.metadata)) if isinstance(record, Source) else 0
    return _OVERHEAD + metadata + len(getattr(record, "text", ""))
