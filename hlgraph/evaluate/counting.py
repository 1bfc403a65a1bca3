"""Counts what a search reads from the stores: the stores themselves, with every answer they give kept for a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from typing import NamedTuple, cast

import numpy as np
from scipy import sparse

from hlgraph.stores.protocols import GraphStore, Ranker, Stores, VectorStore
from hlgraph.subgraph import Subgraph

_READS = frozenset({"records", "find", "pull", "search", "neighbours", "vectors", "ids", "rank"})
_NUMBER = 8  # bytes of a score or another single number


class Cost(NamedTuple):
    """What was read from the stores.

    Attributes
    ----------
    calls : calls that read; the look at the version of a corpus is none
    rows : hits, records, vectors; nodes and edges of subgraphs
    bytes : of vectors and other arrays, of texts in UTF-8, 8 for each other number
    """

    calls: int
    rows: int
    bytes: int


class Tally:
    """Keeps what stores answered, until it is taken.

    Nothing is counted while a search runs, so that counting costs the search no time.
    """

    def __init__(self) -> None:
        self._seen: list[object] = []

    def see(self, answer: object) -> None:
        """Keep one answer."""
        self._seen.append(answer)

    def take(self) -> Cost:
        """What was read since it was last taken."""
        seen, self._seen = self._seen, []
        sizes = [_size(answer) for answer in seen]
        return Cost(len(seen), sum(rows for rows, _ in sizes), sum(count for _, count in sizes))


def counted(stores: Stores, tally: Tally) -> Stores:
    """The same stores; the tally sees all that they answer."""
    watched = stores._replace(
        graph=cast("GraphStore", _Watched(stores.graph, tally)),
        vectors=cast("VectorStore", _Watched(stores.vectors, tally)),
    )
    return watched if stores.ranker is None else watched._replace(ranker=cast("Ranker", _Watched(stores.ranker, tally)))


@dataclass(frozen=True, slots=True)
class _Watched:
    """Another object, whose reading methods are watched; all else of it is as it was."""

    inner: object
    tally: Tally

    def __getattr__(self, name: str) -> object:
        found = getattr(self.inner, name)
        if name not in _READS:
            return found
        method = cast("Callable[..., object]", found)

        def call(*arguments: object, **named: object) -> object:
            answer = method(*arguments, **named)
            if isinstance(answer, Iterator):
                rows = list(answer)
                self.tally.see(rows)
                return iter(rows)
            self.tally.see(answer)
            return answer

        return call


def _size(answer: object) -> tuple[int, int]:
    """Rows and bytes of an answer; a group of columns, such as ids and their vectors, has as many rows as the longest."""
    if isinstance(answer, Subgraph):
        edges = [sparse.csr_array(matrix) for matrix in answer.edges.values()]
        held = answer.ids.nbytes + answer.kinds.nbytes
        held += sum(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes for matrix in edges)
        return len(answer) + sum(int(matrix.nnz) for matrix in edges), held
    if isinstance(answer, np.ndarray):
        return len(answer), answer.nbytes
    if isinstance(answer, tuple):
        columns = [_size(column) for column in answer]
        return max((rows for rows, _ in columns), default=0), sum(count for _, count in columns)
    if isinstance(answer, Sequence | Set) and not isinstance(answer, str):
        return len(answer), sum(_bytes(item) for item in answer)
    return 1, _bytes(answer)


def _bytes(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    parts = _parts(value)
    return _NUMBER if parts is None else sum(map(_bytes, parts))


def _parts(value: object) -> list[object] | None:
    """What a value is made of; None for a single number."""
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, Sequence | Set):
        return list(value)
    if is_dataclass(value):
        return [getattr(value, item.name) for item in fields(value)]
    return None
