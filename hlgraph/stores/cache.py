"""Bounded caches that drop what was not read recently: one of any values, one of the records of changing corpora."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from hlgraph.records import Chunk, Kind, Record, Source, Statement, Topic
from hlgraph.text import forget_texts

Key = TypeVar("Key")
Value = TypeVar("Value")
KEPT_CHARACTERS = 1 << 22
"""Target size of the cached records of each kind, in characters."""
_OVERHEAD = 300  # size of a record without its text, in characters
_MOST_ALTERED = 20_000  # altered ids tracked per corpus before all of its records are dropped
State = TypeVar("State")


class Kept(Generic[Key, Value]):
    """Values by key, in two generations: a full young one becomes the old one, and values read there move back. Thread-safe.

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
        """The cached values of these keys, in the order of the keys."""
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
        """Cache values, replacing earlier ones of the same keys."""
        with self._guard:
            self._keep(values)

    def drop(self, is_dropped: Callable[[Key, Value], bool]) -> None:
        """Drop the values for which the function is true."""
        with self._guard:
            self._young = {key: value for key, value in self._young.items() if not is_dropped(key, value)}
            self._old = {key: value for key, value in self._old.items() if not is_dropped(key, value)}

    def forget(self, keys: Iterable[Key]) -> None:
        """Drop the values of these keys."""
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
    """A record, the number of the state in which it was read, and the source whose changes alter it; empty: any change may."""

    number: int
    record: Record
    owner: str


class _Corpus(NamedTuple):
    """The state of a corpus, its number, and those of the states in which sources were last altered."""

    state: Any
    number: int
    altered: dict[str, int]

    def has(self, read: _Read) -> bool:
        """Whether a record that was read in an earlier state is still as it was read."""
        return bool(read.owner) and read.number >= self.altered.get(read.owner, 0)


class KeptRecords(Generic[State]):
    """Records by id, in one state of each corpus. Thread-safe.

    When a reader names a later state, the lists of the changes in between tell which sources were altered and what vanished.
    Vanished records are dropped. Records of altered sources, and records of no single source, such as entities, are no longer
    returned. If no lists lead from one state to the other, all records are dropped. No reader sees the text of a source that
    was deleted before the read began. A listed change costs time in what it altered, not in the size of the cache.

    Parameters
    ----------
    kinds : kinds of the records
    altered : given a corpus and two states, the ids of the sources whose records are not the same in both, and of all records
        that vanished; None: it is not known
    is_older : whether the first of two states of a corpus came before the second. A reader of a state older than the cached
        one gets nothing, and changes nothing
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
        """The cached ones of these records, in the order of the ids; the cache of the corpus moves to this state.

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
        number = current.number
        return {name: read.record for (_, name), read in kept.items() if read.number == number or current.has(read)}

    def keep(self, kind: Kind, records: Mapping[str, Record], *, corpus: str, state: State) -> None:
        """Cache records, unless the corpus is no longer in the state in which they were read.

        Parameters
        ----------
        kind : kind of the records
        records : the records by id
        corpus : name of the corpus
        state : the state
        """
        with self._guard:
            current = self._corpora.get(corpus)
            if current is not None and current.state == state:
                self._kept[kind].keep(
                    {(corpus, item): _Read(current.number, record, _owner(record)) for item, record in records.items()}
                )

    def forget(self, ids: Iterable[str]) -> None:
        """Drop vanished records, and what is cached of texts; nothing if no record vanished.

        Parameters
        ----------
        ids : ids of the records
        """
        vanished = list(ids)
        for kept in self._kept.values():
            kept.forget(itertools.product(self._corpora, vanished))
        if vanished:
            forget_texts()

    def _moved(self, corpus: str, before: _Corpus | None, *, to: State, altered: frozenset[str] | None) -> _Corpus:
        """Move a corpus to another state."""
        number = 0 if before is None else before.number + 1
        if before is None or altered is None or len(before.altered) > _MOST_ALTERED:
            for kept in self._kept.values():
                kept.drop(lambda key, _: key[0] == corpus)
            result = _Corpus(to, number, {})
            if before is not None:
                forget_texts()
        else:
            self.forget(altered)
            result = _Corpus(to, number, before.altered | dict.fromkeys(altered, number))
        self._corpora[corpus] = result
        return result


def _owner(record: Record) -> str:
    """The id of the source whose changes alter this record; empty if any change may."""
    if isinstance(record, Source):
        return record.id
    return record.source_id if isinstance(record, Chunk | Topic | Statement) else ""


def _size(read: _Read) -> int:
    record = read.record
    metadata = len(str(record.metadata)) if isinstance(record, Source) else 0
    return _OVERHEAD + metadata + len(getattr(record, "text", ""))
