"""Counts what a search reads from the stores, by wrapping them and keeping their results until they are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from typing import NamedTuple, cast

import numpy as np
from scipy import sparse

from hlgraph.stores.protocols import GraphStore, Stores, VectorStore
from hlgraph.subgraph import Subgraph

_READS = frozenset({"records", "find", "pull", "search", "neighbours", "vectors", "ids", "rank", "match"})
_NUMBER = 8  # bytes of a score or another single number


class Cost(NamedTuple):
    """The amount of data read from the stores.

    Attributes
    ----------
    calls : reading calls, without the check of the corpus version
    rows : hits, records, vectors, and the nodes and edges of subgraphs
    bytes : size of arrays, of texts in UTF-8, and 8 bytes for each single number
    """

    calls: int
    rows: int
    bytes: int


class Tally:
    """Collects the results of store calls until :meth:`take` counts them.

    Counting happens only then, so that it costs a running search no time.
    """

    def __init__(self) -> None:
        self._seen: list[object] = []

    def see(self, answer: object) -> None:
        """Keep one result."""
        self._seen.append(answer)

    def take(self) -> Cost:
        """The cost of all calls since the last ``take``."""
        seen, self._seen = self._seen, []
        sizes = [_size(answer) for answer in seen]
        return Cost(len(seen), sum(rows for rows, _ in sizes), sum(count for _, count in sizes))


def counted(stores: Stores, tally: Tally) -> Stores:
    """The same stores, wrapped so that the tally sees their results.

    Parameters
    ----------
    stores : graph and vectors
    tally : collects the results
    """
    return stores._replace(
        graph=cast("GraphStore", _Watched(stores.graph, tally)),
        vectors=cast("VectorStore", _Watched(stores.vectors, tally)),
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """A proxy that passes the results of reading methods to a tally, and leaves other attributes unchanged."""

    inner: object
    tally: Tally

    def __getattr__(self, name: str) -> object:
        attribute = getattr(self.inner, name)
        if name not in _READS:
            return attribute
        method = cast("Callable[..., object]", attribute)

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
    """Rows and bytes of a result; a tuple of columns, such as ids and vectors, has as many rows as its longest column."""
    if isinstance(answer, Subgraph):
        edges = [sparse.csr_array(matrix) for matrix in answer.edges.values()]
        size = answer.ids.nbytes + answer.kinds.nbytes
        size += sum(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes for matrix in edges)
        return len(answer) + sum(int(matrix.nnz) for matrix in edges), size
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
    """The parts of a composite value; None for a single number."""
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, Sequence | Set):
        return list(value)
    if is_dataclass(value):
        return [getattr(value, item.name) for item in fields(value)]
    return None
