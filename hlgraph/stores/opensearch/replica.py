"""All rows of one index above a threshold: asked of the server for a few vectors, else found in a local copy of all of them.

The server has no exact index for that: its radial search walks the HNSW graph, and brute force costs it 15 ms a vector over
206,000 rows, where to read them all takes 6 s and 457 MB. So a process asks the server for the first vectors, as in the edit
of a document. For more, the rows are read once, as float32 into an unnamed memory-mapped temporary file, and afterwards only
the new ones, because the server numbers its writes (``_seq_no``). The number of rows shows whether some were deleted.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.similarity import ThresholdIndex, pairs_between
from hlgraph.errors import StoreUnavailableError
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.indexes import Home
from hlgraph.stores.opensearch.query_bodies import State, index_state, matrix, pages, scored
from hlgraph.stores.opensearch.rounds import Asked, Steps, ask, together
from hlgraph.stores.opensearch.wire import Json, Row
from hlgraph.stores.protocols import Neighbours

_ALL: Json = {"match_all": {}}
_BLOCK = 2_000
_SAMPLE = 4_096
_ASKED = 100
"""Maximum number of vectors for which a process asks the server, before it reads all rows."""
_MOST = 1_000
"""Maximum number of rows of one vector that the server is asked for."""
_SLACK = 1e-4
"""How far below the threshold the rounded score of the server may be."""


class Replica:
    """A copy of the vectors of one index. Thread-safe.

    Parameters
    ----------
    connection : connection to the server
    home : the index of the rows

    Attributes
    ----------
    home : the index of the rows
    """

    def __init__(self, connection: Connection, home: Home) -> None:
        self.home = home
        self._connection = connection
        self._alias = home.alias
        self._guard = threading.Lock()
        self._asked = 0
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
            found = self._ask(vectors, threshold=threshold)
            if found is not None:
                return found
            self._follow()
            if self._index is None:
                return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
            pairs = self._index.query(vectors, threshold=threshold)
            keep = np.isin(pairs.base, np.fromiter(self._slots.values(), dtype=np.intp, count=len(self._slots)))
            return Neighbours(pairs.queries[keep], [self._ids[at] for at in pairs.base[keep]], pairs.similarities[keep])

    def _ask(self, vectors: NDArray[np.float32], *, threshold: float) -> Neighbours | None:
        """What the server finds; None where a copy is there or is worth its price, or the server does not score exactly."""
        if self._ids or self._connection.is_serverless or self._asked + len(vectors) > _ASKED or threshold <= _SLACK:
            return None
        if self._connection.settings.quantisation != "none":
            return None
        self._asked += len(vectors)
        rows = together(self._connection, [_above(self.home, vector, threshold=threshold) for vector in vectors])
        if any(len(some) == _MOST for some in rows):
            return None
        found: list[tuple[int, str, float]] = []
        for at, some in enumerate(rows):
            if some:
                pairs = pairs_between(
                    vectors[at : at + 1], matrix(some, self.home.meta.dimensions), threshold=threshold
                )
                found += [
                    (at, some[row].text("id"), cosine)
                    for row, cosine in zip(pairs.base.tolist(), pairs.similarities.tolist(), strict=True)
                ]
        queries = np.array([at for at, _, _ in found], dtype=np.intp)
        cosines = np.array([cosine for _, _, cosine in found], dtype=np.float32)
        return Neighbours(queries, [name for _, name, _ in found], cosines)

    def close(self) -> None:
        """Removes the temporary file."""
        with self._guard:
            self._clear()

    def _clear(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # it writes what is still in memory
                self._file.close()
        self._file = None
        self._ids: list[str] = []
        self._slots: dict[str, int] = {}
        self._index: ThresholdIndex | None = None
        self._state: State = ()

    def _follow(self) -> None:
        """Reads the rows written since the last call, and drops deleted ones."""
        if self._connection.is_serverless:  # serverless does not number its writes
            self._clear()
            self._read(_blocks(self._connection, self._alias, _ALL))
            return
        state = index_state(self._connection, self.home)
        if state == self._state:
            return
        count = sum(rows for rows, _ in state)
        if not count or _is_behind(state, self._state):  # empty, or another index than before
            self._clear()
        before = self._state or ((0, None),) * len(state)
        for shard, ((_, last), (_, read)) in enumerate(zip(state, before, strict=True)):
            if last is not None and (read is None or last > read):
                newer: Json = {"range": {"_seq_no": {"gt": -1 if read is None else int(read)}}}
                self._read(_blocks(self._connection, self._alias, newer, shard=shard if len(state) > 1 else None))
        if len(self._slots) > count:
            held = {row.text("id") for row in pages(self._connection, self._alias, query=_ALL, fields=["id"])}
            self._slots = {name: at for name, at in self._slots.items() if name in held}
        # Read all again if a write became visible after one with a higher number, or if the file is mostly gaps.
        if len(self._slots) < max(count, len(self._ids) // 2):
            self._clear()
            self._read(_blocks(self._connection, self._alias, _ALL))
        self._state = state

    def _read(self, blocks: Iterable[list[Row]]) -> None:
        for rows in blocks:
            self._append(matrix(rows, self.home.meta.dimensions).tobytes())
            for row in rows:
                name = row.text("id")
                self._slots[name] = len(self._ids)  # a rewritten row leaves a gap at its old slot
                self._ids.append(name)
        if self._file is None or not self._ids:
            return
        held = np.memmap(self._file, dtype="<f4", mode="r", shape=(len(self._ids), self.home.meta.dimensions))
        if self._index is None:
            self._index = ThresholdIndex(np.asarray(held[:_SAMPLE]))
        self._index.attach(held)

    def _append(self, data: bytes) -> None:
        """Writes to the end of the file. After an error it is empty: a part of the data would displace all later rows."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="hlgraph-")  # noqa: SIM115 - lives as long as the replica
            self._file.write(data)
            self._file.flush()  # mapped below: what is not in the file yet cannot be read there
        except OSError as error:
            self._clear()
            raise StoreUnavailableError(
                f"{tempfile.gettempdir()}: cannot keep a temporary copy of the vectors of {self._alias} "
                f"({os.strerror(error.errno or 0)}); free some space, or set TMPDIR to another folder, then try again"
            ) from error


def _above(home: Home, vector: NDArray[np.float32], *, threshold: float) -> Steps[list[Row]]:
    """The rows with a cosine of about a threshold or more to a vector, with their own."""
    inside: Json = _ALL if home.clause is None else {"bool": {"filter": [home.clause]}}
    body: dict[str, Json] = {
        "size": _MOST,
        "min_score": 1 + threshold - _SLACK,  # the score of an inner product that is not negative is greater by one
        "query": scored(inside, vector),
        "docvalue_fields": ["id", "data"],
    }
    return (yield from ask(Asked(home.alias, body))).hits.hits


def _is_behind(state: State, read: State) -> bool:
    """Whether a shard is at an earlier write than when it was read, or there are other shards."""
    pairs = zip(state, read, strict=False)
    return len(state) != len(read) or any(
        was is not None and (last is None or last < was) for (_, last), (_, was) in pairs
    )


def _blocks(connection: Connection, alias: str, query: Json, *, shard: int | None = None) -> Iterator[list[Row]]:
    """Rows with their vectors, in blocks of 2,000, which bounds the memory."""
    rows = pages(connection, alias, query=query, fields=["id", "data"], size=_BLOCK, shard=shard)
    while block := list(itertools.islice(rows, _BLOCK)):
        yield block
