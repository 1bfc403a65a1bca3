"""Taking deleted rows off the disk: what Lucene marks as deleted stays in its segment until that is written anew.

Three things hold on to a deleted row: the segment it lies in, the log of writes (until a flush), and the history that a
copy of the shard would need to catch up, which is kept by a lease that the server moves forward every 30 seconds (no
setting changes that). So: flush, wait for the leases, then have the segments with deleted rows written anew.
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
        """Whether something of the history is still kept for another copy."""
        return any(lease.retaining_seq_no <= self.seq_no.max_seq_no for lease in self.retention_leases.leases)


class _Index(msgspec.Struct):
    shards: dict[str, list[_Copy]] = {}


class _Stats(msgspec.Struct):
    indices: dict[str, _Index] = {}


def purge(connection: Connection, aliases: Sequence[str]) -> None:
    """Write every segment anew that has deleted rows, and return when nothing of them is on the disk: up to a minute.

    Raises
    ------
    StoreUnavailableError : the server still keeps their history, for a copy that is behind
    """
    if not aliases:
        return
    names = ",".join(aliases)
    connection.ask("POST", f"/{names}/_flush", answer=Anything)
    until = time.monotonic() + _LEASE_SECONDS
    while any(copy.is_held for copy in _copies(connection, names)):
        if time.monotonic() > until:
            raise StoreUnavailableError(
                f"{connection.url}: deleted rows of {names} are kept for a copy that is behind; wait until the indexes are "
                "green (hlgraph doctor), and try again"
            )
        time.sleep(_POLL_SECONDS)
    _merge(connection, names, is_waiting=True)
    connection.ask("POST", f"/{names}/_refresh", answer=Anything)  # lets go of the segments that were replaced


def begin_purge(connection: Connection, aliases: Sequence[str]) -> None:
    """Begin to write segments with deleted rows anew: those deleted within the last 30 seconds may stay for now."""
    if aliases:
        _merge(connection, ",".join(aliases), is_waiting=False)


def _merge(connection: Connection, names: str, *, is_waiting: bool) -> None:
    parameters = {"only_expunge_deletes": "true", "wait_for_completion": str(is_waiting).lower()}
    connection.ask("POST", f"/{names}/_forcemerge", answer=Anything, parameters=parameters)


def deleted_share(connection: Connection, alias: str) -> float:
    """How many of the rows that lie on the disk are deleted, 0 to 1."""
    copies = _copies(connection, alias)
    rows = sum(copy.docs.count + copy.docs.deleted for copy in copies)
    return sum(copy.docs.deleted for copy in copies) / rows if rows else 0.0


def _copies(connection: Connection, names: str) -> list[_Copy]:
    stats = connection.ask("GET", f"/{names}/_stats/docs", answer=_Stats, parameters={"level": "shards"})
    return [copy for index in stats.indices.values() for copies in index.shards.values() for copy in copies]
