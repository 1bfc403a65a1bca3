"""Vectors that were read from the server, so that a search need not fetch them with every hit.

The server numbers the writes to an index (``_seq_no``), and a search returns the number of each row that it found: a kept
vector with the same number is that of the row. Where vectors are asked for by id, those count that were seen in the state of
the corpus that the caller reads. Serverless does not number its writes, so nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores.kept import Kept
from hlgraph.stores.opensearch.wire import Meta, Row

KEPT_BYTES = 64 << 20
"""Target for the memory of all kept vectors: some 36,000 vectors of 384 numbers; at most twice as much is used."""
_OVERHEAD = 400

Vector: TypeAlias = NDArray[np.float32]


class _Seen(NamedTuple):
    number: int
    state: str
    vector: Vector


class KeptVectors:
    """The kept vectors of one server. Thread-safe."""

    def __init__(self) -> None:
        self._kept = Kept[tuple[str, str, str], _Seen](
            most=KEPT_BYTES, size=lambda seen: seen.vector.nbytes + _OVERHEAD
        )
        self._known: dict[str, bool] = {}

    def of_index(self, alias: str, *, meta: Meta, state: str) -> IndexVectors:
        """Those of one index, for a reader.

        Parameters
        ----------
        alias : alias of the index
        meta : metadata of the index
        state : state of the corpus that the reader found; empty: unknown
        """
        return IndexVectors(self, alias, meta.made, meta.dimensions, state)

    def drop(self, alias: str, ids: Iterable[str] | None = None) -> None:
        """Forgets vectors of an index.

        Parameters
        ----------
        alias : alias of the index
        ids : ids of rows that are written or deleted; None: all, because the index is dropped
        """
        names = None if ids is None else frozenset(ids)
        self._kept.drop(lambda key, _: key[0] == alias and (names is None or key[2] in names))

    def knows(self, alias: str) -> bool:
        """Whether most vectors of the last search of an index were kept."""
        return self._known.get(alias, False)

    def note(self, alias: str, *, is_known: bool) -> None:
        """Notes whether most vectors of a search were kept.

        Parameters
        ----------
        alias : alias of the index
        is_known : whether they were
        """
        self._known[alias] = is_known

    def get(self, keys: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], _Seen]:
        """What is kept under some keys."""
        return self._kept.get(keys)

    def keep(self, seen: Mapping[tuple[str, str, str], _Seen]) -> None:
        """Keeps vectors."""
        self._kept.keep(seen)


@dataclass(frozen=True, slots=True)
class IndexVectors:
    """The kept vectors of one index, as one reader sees them.

    Attributes
    ----------
    kept : the kept vectors of the server
    alias, made : alias of the index, and what tells it from earlier ones of that name
    dimensions : length of the vectors
    state : state of the corpus that the reader found
    """

    kept: KeptVectors
    alias: str
    made: str
    dimensions: int
    state: str

    def wants_data(self) -> bool:
        """Whether a search should return the vectors of its hits: most of those of the last search were not kept."""
        return not self.kept.knows(self.alias)

    def of_rows(self, rows: Sequence[Row]) -> dict[str, Vector]:
        """The vectors that are kept of rows that a search found, by id."""
        keys = {self._key(row.text("id")): row for row in rows}
        found = {key: seen for key, seen in self.kept.get(keys).items() if seen.number == keys[key].number_of_write}
        self.kept.note(self.alias, is_known=2 * len(found) >= len(rows))
        # They are those of this state, too.
        moved = {key: seen._replace(state=self.state) for key, seen in found.items() if seen.state != self.state}
        if moved and self.state:
            self.kept.keep(moved)
        return {key[2]: seen.vector for key, seen in found.items()}

    def of_ids(self, ids: Iterable[str]) -> dict[str, Vector]:
        """The vectors that were seen in the state of the corpus that the reader found, by id."""
        if not self.state:
            return {}
        found = self.kept.get(map(self._key, ids))
        return {key[2]: seen.vector for key, seen in found.items() if seen.state == self.state}

    def keep(self, rows: Sequence[Row], vectors: Vector) -> None:
        """Keeps the vectors of rows.

        Parameters
        ----------
        rows : rows that were read with their vectors
        vectors : shape (n, d), one a row
        """
        seen = {
            self._key(row.text("id")): _Seen(
                row.number_of_write, self.state, vector.copy()
            )  # not a view of all of them
            for row, vector in zip(rows, vectors, strict=True)
            if row.number_of_write >= 0
        }
        self.kept.keep(seen)

    def _key(self, name: str) -> tuple[str, str, str]:
        return self.alias, self.made, name
