"""The vectors of one index on this machine, kept up with what is written: for questions that need all of them.

A search for all rows above a threshold has no exact form on the server: its radial search walks the HNSW graph, and brute
force there costs as much for each question as reading every row once. So the rows are read once, as float32 into an
unnamed temporary file that is mapped into memory, and from then on only those that were written since: the server numbers
its writes (``_seq_no``). How many rows there are tells whether some were deleted.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.similarity import ThresholdIndex
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.query_bodies import matrix, pages
from hlgraph.stores.opensearch.query_bodies import state as current
from hlgraph.stores.opensearch.wire import Json, Meta, Row
from hlgraph.stores.protocols import Neighbours

_ALL: Json = {"match_all": {}}
_BLOCK = 2_000
_SAMPLE = 4_096


class Replica:
    """A copy of the vectors behind one alias. Safe for threads."""

    def __init__(self, connection: Connection, alias: str, *, meta: Meta) -> None:
        self.meta = meta
        self._connection = connection
        self._alias = alias
        self._guard = threading.Lock()
        self._file: IO[bytes] | None = None
        self._clear()

    def neighbours(self, vectors: NDArray[np.float32], *, threshold: float) -> Neighbours:
        """All rows whose cosine to a given vector is at or above the threshold, as the server holds them now."""
        with self._guard:
            self._follow()
            if self._index is None:
                return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
            pairs = self._index.query(vectors, threshold=threshold)
            keep = np.isin(pairs.base, np.fromiter(self._slots.values(), dtype=np.intp, count=len(self._slots)))
            return Neighbours(pairs.queries[keep], [self._ids[at] for at in pairs.base[keep]], pairs.similarities[keep])

    def close(self) -> None:
        """Give the file back."""
        with self._guard:
            self._clear()

    def _clear(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None
        self._ids: list[str] = []
        self._slots: dict[str, int] = {}
        self._index: ThresholdIndex | None = None
        self._last = -1
        self._state: tuple[int, float | None] = (0, None)

    def _follow(self) -> None:
        """Read what was written since the last time, and forget what was deleted."""
        if self._connection.is_serverless:  # does not number its writes
            self._clear()
            self._read(_blocks(self._connection, self._alias, _ALL))
            return
        state = current(self._connection, self._alias)
        count, last = state
        if state == self._state:
            return
        if last is None or last < self._last:  # empty, or another index than before
            self._clear()
        if last is not None and last > self._last:
            self._read(_blocks(self._connection, self._alias, {"range": {"_seq_no": {"gt": self._last}}}))
            self._last = int(last)
        if len(self._slots) > count:
            held = {row.text("id") for row in pages(self._connection, self._alias, query=_ALL, fields=["id"])}
            self._slots = {name: at for name, at in self._slots.items() if name in held}
        # A write that became visible after one with a higher number was missed; a file of mostly gaps wastes its place.
        if len(self._slots) < max(count, len(self._ids) // 2):
            self._clear()
            self._read(_blocks(self._connection, self._alias, _ALL))
            self._last = -1 if last is None else int(last)
        self._state = state

    def _read(self, blocks: Iterable[list[Row]]) -> None:
        for rows in blocks:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="hlgraph-")  # noqa: SIM115 - lives as long as the replica
            self._file.write(matrix(rows, self.meta.dimensions).tobytes())
            for row in rows:
                name = row.text("id")
                self._slots[name] = len(self._ids)  # a row written again leaves a gap where it was
                self._ids.append(name)
        if self._file is None or not self._ids:
            return
        self._file.flush()
        held = np.memmap(self._file, dtype="<f4", mode="r", shape=(len(self._ids), self.meta.dimensions))
        if self._index is None:
            self._index = ThresholdIndex(np.asarray(held[:_SAMPLE]))
        self._index.attach(held)


def _blocks(connection: Connection, alias: str, query: Json) -> Iterator[list[Row]]:
    """Rows with their vectors, some thousands at a time: what a reader holds in memory."""
    rows = pages(connection, alias, query=query, fields=["id", "data"], size=_BLOCK)
    while block := list(itertools.islice(rows, _BLOCK)):
        yield block
