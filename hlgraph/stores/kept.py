"""Caches of bounded size that drop what was not read recently: of any values, and of the records of corpora that change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from hlgraph.records import Chunk, Kind, Record, Source, Statement, Topic

Key = TypeVar("Key")
Value = TypeVar("Value")
KEPT_CHARACTERS = 1 << 22
"""Target for the size of the kept records of each kind."""
_OVERHEAD = 300  # characters that a record takes beside its text
State = TypeVar("State")
_Key: TypeAlias = tuple[str, str]
"""A corpus, and the id of a record."""
_Owned: TypeAlias = tuple[str, Record]
"""A record after the source that it is of, or the corpus if it is of no single source."""


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

    def drop(self, rest: Callable[[Mapping[Key, Value]], dict[Key, Value]] | None = None) -> None:
        """Forgets some values.

        Parameters
        ----------
        rest : given some of the values, returns those that stay; None: none of them
        """
        with self._guard:
            if rest is None:
                self._young, self._old, self._room = {}, {}, self._most
            else:
                self._young, self._old = rest(self._young), rest(self._old)

    def _keep(self, values: Mapping[Key, Value]) -> None:
        for key, value in values.items():
            size = self._size(value)
            if size > self._room:
                self._old, self._young, self._room = self._young, {}, self._most
            self._young[key] = value
            self._room -= size


class KeptRecords(Generic[State]):
    """Records by id, in one state of each corpus. Thread-safe.

    When a reader names a later state, the lists of the changes between both say which sources were altered: their records are
    dropped, and so are those of no single source, such as entities. Where no lists lead from one state to the other, all are
    dropped. No reader sees the text of a source that was deleted before the read began.

    Parameters
    ----------
    kinds : kinds of the records
    altered : given a corpus and two states, the sources whose records are not the same in both; None: it is not known
    """

    def __init__(self, kinds: Iterable[Kind], *, altered: Callable[[str, State, State], frozenset[str] | None]) -> None:
        self._altered = altered
        self._kept = {kind: Kept[_Key, _Owned](most=KEPT_CHARACTERS, size=_size) for kind in kinds}
        self._states: dict[str, State] = {}
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
        before = self._states.get(corpus)
        altered = self._altered(corpus, before, state) if before is not None and before != state else None
        with self._guard:
            held = self._states.get(corpus)
            if held != state:
                self._drop(corpus, altered if held == before else None)
                self._states[corpus] = state
            kept = self._kept[kind].get((corpus, item) for item in ids)
        return {name: record for (_, name), (_, record) in kept.items()}

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
            if self._states.get(corpus) == state:
                owned = {(corpus, item): (_owner(record) or corpus, record) for item, record in found.items()}
                self._kept[kind].keep(owned)

    def _drop(self, corpus: str, altered: frozenset[str] | None) -> None:
        def rest(held: Mapping[_Key, _Owned]) -> dict[_Key, _Owned]:
            if altered is None:
                return {key: owned for key, owned in held.items() if key[0] != corpus}
            # Thousands are held, and the next search waits.
            return {key: owned for key, owned in held.items() if owned[0] not in owners}

        owners = {corpus, *(altered or ())}
        for kept in self._kept.values():
            kept.drop(rest)


def _owner(record: Record) -> str:
    """The only source that a change must name to alter this record; empty: others can alter it."""
    if isinstance(record, Source):
        return record.id
    return record.source_id if isinstance(record, Chunk | Topic | Statement) else ""


def _size(owned: _Owned) -> int:
    record = owned[1]
    metadata = len(str(record.metadata)) if isinstance(record, Source) else 0
    return _OVERHEAD + metadata + len(getattr(record, "text", ""))
