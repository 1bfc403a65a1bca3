"""A local copy of the vectors of one index, for searches that need all of them; it follows the writes to the index.

The server has no exact search for all rows above a threshold: its radial search walks the HNSW graph, and brute force there
costs as much for each question as reading every row once. The rows are therefore read once, as float32 into an unnamed
memory-mapped temporary file, and afterwards only the new ones, because the server numbers its writes (``_seq_no``). The
number of rows shows whether some were deleted.
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
    """A copy of the vectors of one index. Thread-safe.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    meta : metadata of the index
    """

    def __init__(self, connection: Connection, alias: str, *, meta: Meta) -> None:
        self.meta = meta
        self._connection = connection
        self._alias = alias
        self._guard = threading.Lock()
        self._file: IO[bytes] | None = None
        self._clear()

    def neighbours(self, vectors: NDArray[np.float32], *, threshold: float) -> Neighbours:
        """All rows on the server whose cosine to one of the given vectors reaches a threshold.

        Parameters
        ----------
        vectors : shape (n, d)
        threshold : lowest cosine, inclusive
        """
        with self._guard:
            self._follow()
            if self._index is None:
                return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
            pairs = self._index.query(vectors, threshold=threshold)
            keep = np.isin(pairs.base, np.fromiter(self._slots.values(), dtype=np.intp, count=len(self._slots)))
            return Neighbours(pairs.queries[keep], [self._ids[at] for at in pairs.base[keep]], pairs.similarities[keep])

    def close(self) -> None:
        """Removes the temporary file."""
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
        """Reads the rows written since the last call, and drops deleted ones."""
        if self._connection.is_serverless:  # serverless does not number its writes
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
        # Read all again if a write became visible after one with a higher number, or if the file is mostly gaps.
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
                self._slots[name] = len(self._ids)  # a rewritten row leaves a gap at its old slot
                self._ids.append(name)
        if self._file is None or not self._ids:
            return
        self._file.flush()
        held = np.memmap(self._file, dtype="<f4", mode="r", shape=(len(self._ids), self.meta.dimensions))
        if self._index is None:
            self._index = ThresholdIndex(np.asarray(held[:_SAMPLE]))
        self._index.attach(held)


def _blocks(connection: Connection, alias: str, query: Json) -> Iterator[list[Row]]:
    """Rows with their vectors, in blocks of 2,000, which bounds the memory."""
    rows = pages(connection, alias, query=query, fields=["id", "data"], size=_BLOCK)
    while block := list(itertools.islice(rows, _BLOCK)):
        yield block
