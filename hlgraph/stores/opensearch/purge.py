"""Removes deleted rows from disk: a row that Lucene marks as deleted stays in its segment until the segment is rewritten.

Three things keep a deleted row: its segment, the log of writes (until a flush), and the history that a replica of the shard
needs to catch up. A lease keeps this history; the server advances it every 30 seconds, and no setting changes that. The
steps are therefore: flush, wait for the leases, and rewrite the segments with deleted rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import msgspec

from hlgraph.errors import StoreUnavailableError
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.wire import Anything

_LEASE_SECONDS = 90.0
_POLL_SECONDS = 0.5


class _Lease(msgspec.Struct):
    retaining_seq_no: int = 0


class _Leases(msgspec.Struct):
    leases: list[_Lease] = []


class _Numbers(msgspec.Struct):
    max_seq_no: int = -1


class _Docs(msgspec.Struct):
    count: int = 0
    deleted: int = 0


class _Copy(msgspec.Struct):
    docs: _Docs = msgspec.field(default_factory=_Docs)
    seq_no: _Numbers = msgspec.field(default_factory=_Numbers)
    retention_leases: _Leases = msgspec.field(default_factory=_Leases)

    def holds(self, write: int) -> bool:
        """Whether the history up to the write of this number is still kept for a replica."""
        return any(lease.retaining_seq_no <= write for lease in self.retention_leases.leases)


class _Index(msgspec.Struct):
    shards: dict[str, list[_Copy]] = {}


class _Stats(msgspec.Struct):
    indices: dict[str, _Index] = {}


def purge(connection: Connection, names: Sequence[str]) -> None:
    """Rewrites all segments with deleted rows; returns when nothing of these is on disk, after up to a minute.

    Parameters
    ----------
    connection : connection to the server
    names : names of the indexes

    Raises
    ------
    StoreUnavailableError
        The server still keeps their history, for a replica that is behind.
    """
    if not names:
        return
    joined = ",".join(names)
    connection.ask("POST", f"/{joined}/_flush", answer=Anything)
    until = time.monotonic() + _LEASE_SECONDS
    # What is written from now on, in a shared index by other corpora, too, is not waited for.
    last = {shard: max(copy.seq_no.max_seq_no for copy in copies) for shard, copies in _shards(connection, joined)}
    while any(copy.holds(last.get(shard, -1)) for shard, copies in _shards(connection, joined) for copy in copies):
        if time.monotonic() > until:
            raise StoreUnavailableError(
                f"{connection.url}: the server keeps deleted rows of {joined} for a replica that is behind; wait until the "
                "indexes are green (hlgraph doctor), and try again"
            )
        time.sleep(_POLL_SECONDS)
    _merge(connection, joined, is_waiting=True)
    connection.ask("POST", f"/{joined}/_refresh", answer=Anything)  # releases the replaced segments


def begin_purge(connection: Connection, names: Sequence[str], *, always_below: int, share: float) -> None:
    """Starts to rewrite the segments with deleted rows; rows deleted within the last 30 s may stay for now.

    Parameters
    ----------
    connection : connection to the server
    names : names of the indexes
    always_below : maximum number of rows of an index whose segments are rewritten in any case
    share : share of deleted rows, from 0 to 1, beyond which the segments of a larger index are rewritten
    """
    due = []
    for name, index in sorted(_stats(connection, ",".join(names)).items()):
        copies = [copy.docs for copies in index.shards.values() for copy in copies]
        live, deleted = sum(docs.count for docs in copies), sum(docs.deleted for docs in copies)
        if live <= always_below or deleted > share * (live + deleted):
            due.append(name)
    if due:
        _merge(connection, ",".join(due), is_waiting=False)


def _merge(connection: Connection, names: str, *, is_waiting: bool) -> None:
    parameters = {
        "only_expunge_deletes": "true",
        "ignore_unavailable": "true",
        "wait_for_completion": str(is_waiting).lower(),
    }
    connection.ask("POST", f"/{names}/_forcemerge", answer=Anything, parameters=parameters)


def _shards(connection: Connection, names: str) -> Iterator[tuple[tuple[str, str], list[_Copy]]]:
    for name, index in _stats(connection, names).items():
        for shard, copies in index.shards.items():
            yield (name, shard), copies


def _stats(connection: Connection, names: str) -> dict[str, _Index]:
    parameters = {"level": "shards", "ignore_unavailable": "true"}
    return connection.ask("GET", f"/{names}/_stats/docs", answer=_Stats, parameters=parameters).indices
