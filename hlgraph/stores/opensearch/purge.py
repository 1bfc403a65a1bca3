"""Removes deleted rows from disk: a row that Lucene marks as deleted stays in its segment until the segment is rewritten.

Three things keep a deleted row: its segment, the log of writes (until a flush), and the history that a replica of the shard
needs to catch up. A lease keeps this history; the server advances it every 30 seconds, and no setting changes that. The
steps are therefore: flush, wait for the leases, and rewrite the segments with deleted rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

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

    @property
    def is_held(self) -> bool:
        """Whether a part of the history is still kept for a replica."""
        return any(lease.retaining_seq_no <= self.seq_no.max_seq_no for lease in self.retention_leases.leases)


class _Index(msgspec.Struct):
    shards: dict[str, list[_Copy]] = {}


class _Stats(msgspec.Struct):
    indices: dict[str, _Index] = {}


def purge(connection: Connection, aliases: Sequence[str]) -> None:
    """Rewrites all segments with deleted rows; returns when nothing of these is on disk, after up to a minute.

    Parameters
    ----------
    connection : connection to the server
    aliases : aliases of the indexes

    Raises
    ------
    StoreUnavailableError
        The server still keeps their history, for a replica that is behind.
    """
    if not aliases:
        return
    names = ",".join(aliases)
    connection.ask("POST", f"/{names}/_flush", answer=Anything)
    until = time.monotonic() + _LEASE_SECONDS
    while any(copy.is_held for copy in _copies(connection, names)):
        if time.monotonic() > until:
            raise StoreUnavailableError(
                f"{connection.url}: the server keeps deleted rows of {names} for a replica that is behind; wait until the "
                "indexes are green (hlgraph doctor), and try again"
            )
        time.sleep(_POLL_SECONDS)
    _merge(connection, names, is_waiting=True)
    connection.ask("POST", f"/{names}/_refresh", answer=Anything)  # releases the replaced segments


def begin_purge(connection: Connection, aliases: Sequence[str]) -> None:
    """Starts to rewrite the segments with deleted rows; rows deleted within the last 30 s may stay for now.

    Parameters
    ----------
    connection : connection to the server
    aliases : aliases of the indexes
    """
    if aliases:
        _merge(connection, ",".join(aliases), is_waiting=False)


def _merge(connection: Connection, names: str, *, is_waiting: bool) -> None:
    parameters = {"only_expunge_deletes": "true", "wait_for_completion": str(is_waiting).lower()}
    connection.ask("POST", f"/{names}/_forcemerge", answer=Anything, parameters=parameters)


def deleted_share(connection: Connection, alias: str) -> float:
    """The share of deleted rows among the rows on disk, from 0 to 1.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    """
    copies = _copies(connection, alias)
    rows = sum(copy.docs.count + copy.docs.deleted for copy in copies)
    return sum(copy.docs.deleted for copy in copies) / rows if rows else 0.0


def _copies(connection: Connection, names: str) -> list[_Copy]:
    stats = connection.ask("GET", f"/{names}/_stats/docs", answer=_Stats, parameters={"level": "shards"})
    return [copy for index in stats.indices.values() for copies in index.shards.values() for copy in copies]
