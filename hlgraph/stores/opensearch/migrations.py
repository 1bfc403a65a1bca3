"""An OpenSearch server as a migration target: its history is one document, which only the holder of the lock changes."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from hlgraph.errors import MigrationError, StoreError, StoreLockedError, StoreUnavailableError
from hlgraph.records import Kind
from hlgraph.stores.migrate import Applied, Difference, Migration, discover, running_version
from hlgraph.stores.opensearch import drift
from hlgraph.stores.opensearch.connection import Answer, Connection, cause_of
from hlgraph.stores.opensearch.foreign_errors import refusal
from hlgraph.stores.opensearch.forms import index_body
from hlgraph.stores.opensearch.indexes import TRIAL
from hlgraph.stores.opensearch.reindex import Mover
from hlgraph.stores.opensearch.wire import Anything, Cause, Document, Json, Mapped, Meta

_LEASE_SECONDS = 60.0
_RENEW_SECONDS = 15.0
_BODY: dict[str, Json] = {
    "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}},
    "mappings": {"dynamic": "strict", "properties": {"json": {"type": "object", "enabled": False}}},
}
_CONFLICT = 409
_EXISTS = "resource_already_exists_exception"


class _Run(msgspec.Struct):
    version: int
    name: str
    checksum: str
    applied_at: str
    hlgraph_version: str


class _History(msgspec.Struct):
    json: list[_Run] = []


class _Hit(msgspec.Struct):
    source: _History = msgspec.field(name="_source", default_factory=_History)


class _Hits(msgspec.Struct):
    hits: list[_Hit] = []


class _Runs(msgspec.Struct):
    hits: _Hits


class _Lease(msgspec.Struct):
    owner: str = ""
    until: float = 0.0


class _Lock(msgspec.Struct):
    json: _Lease = msgspec.field(default_factory=_Lease)


class OpenSearchTarget:
    """The indexes of one prefix on one server.

    A migration defines how indexes are created. :meth:`apply` of the newest one creates one index of each form and removes it
    again, so that an unsuitable server fails here. Then it moves the rows of existing indexes, see :class:`Mover`. The lock
    is a document that expires: a process that dies holds it for at most one minute.

    Parameters
    ----------
    connection : connection to the server
    clock : returns the time for the history
    lock_seconds : maximum time to wait for another process, in seconds
    """

    kind = "opensearch"

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        lock_seconds: float = 90.0,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._lock_seconds = lock_seconds
        self._index = f"{connection.settings.prefix}-migrations"
        self._is_locked = False
        self._owner = ""
        self._renewed = 0.0

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the lock document; waits until another process releases it or its lock expires."""
        body = _BODY if not self._connection.is_serverless else {"mappings": _BODY["mappings"]}
        made = self._connection.send("PUT", f"/{self._index}", body=body)
        if made.status >= 400 and _EXISTS not in made.body:
            raise refusal(self._connection.url, made.status, cause=cause_of(made.body))
        if self._connection.is_serverless:  # it has no conditional writes, and a migration may safely run twice
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked = False
            return
        owner = uuid.uuid4().hex
        until = time.monotonic() + self._lock_seconds
        while not self._taken(owner):
            if time.monotonic() > until:
                raise StoreLockedError(
                    f"{self._connection.url}: another process is migrating this store; try again when it has finished"
                )
            time.sleep(0.5)
        self._is_locked, self._owner, self._renewed = True, owner, time.monotonic()
        try:
            yield
        finally:
            self._is_locked = False
            held = self._document("lock")
            if held.found and msgspec.json.decode(held.source, type=_Lock).json.owner == owner:
                self._put("lock", {"json": {"owner": "", "until": 0.0}}, held)

    def history(self) -> list[Applied]:
        """The migrations that ran on this server for this prefix, by ascending version."""
        if self._connection.is_serverless:
            runs = self._searched()
        else:
            found = self._document("history")
            runs = msgspec.json.decode(found.source, type=_History).json if found.found else []
        runs = sorted(runs, key=lambda run: run.version)
        return [Applied(run.version, run.name, run.checksum, run.applied_at, run.hlgraph_version) for run in runs]

    def apply(self, migration: Migration) -> None:
        """Tests the bodies of the newest migration, moves rows to indexes that it makes, records it. Needs :meth:`lock`."""
        if not self._is_locked:
            raise MigrationError(
                f"{self._connection.url}: {migration.label} needs the lock; use hlgraph.stores.migrate.apply"
            )
        if migration.version == discover(self.kind)[-1].version:
            self._clear()
            for kind in (Kind.SOURCE, Kind.STATEMENT):
                self._try(migration, kind)
            Mover(self._connection, migration, renew=self._renew).bring()
        applied_at = self._clock().astimezone(UTC).isoformat(timespec="seconds")
        run = _Run(migration.version, migration.name, migration.checksum, applied_at, running_version())
        if self._connection.is_serverless:
            self._append(run)
            return
        held = self._document("history")
        runs = msgspec.json.decode(held.source, type=_History).json if held.found else []
        if run.version in {seen.version for seen in runs}:
            return  # this process slept until its lock expired, and another one has run the migration
        if self._put("history", {"json": msgspec.to_builtins([*runs, run])}, held).status == _CONFLICT:
            raise StoreLockedError(
                f"{self._connection.url}: another process has written the history of migrations; run the same command again"
            )

    def differences(self, ran: Sequence[Migration]) -> list[Difference]:
        """Form, settings, layout and aliases of all indexes of the prefix that are not as migrations and settings make them."""
        return drift.differences(self._connection, ran[-1])

    def mend(self, found: Sequence[Difference], ran: Sequence[Migration]) -> None:
        """See :class:`MigrationTarget`. Gives indexes their settings and aliases back, and re-indexes where that takes one."""
        if found:
            Mover(self._connection, ran[-1], renew=self._renew).bring()

    def _renew(self) -> None:
        """Renews the lock, which a long re-index holds for longer than it lasts."""
        if self._connection.is_serverless or time.monotonic() - self._renewed < _RENEW_SECONDS:
            return
        held = self._document("lock")
        lease = msgspec.json.decode(held.source, type=_Lock).json
        fresh: Json = {"json": {"owner": self._owner, "until": time.time() + _LEASE_SECONDS}}
        if lease.owner != self._owner or self._put("lock", fresh, held).status == _CONFLICT:
            raise StoreLockedError(
                f"{self._connection.url}: another process has taken the lock of the migration; run the same command again"
            )
        self._renewed = time.monotonic()

    def _searched(self) -> list[_Run]:
        """The history on serverless: one document per run, possibly with duplicates."""
        found = self._connection.send("POST", f"/{self._index}/_search", body={"size": 1_000})
        if found.status == 404:
            return []
        answer = self._connection.accepted(found, _Runs)
        return list({run.version: run for hit in answer.hits.hits for run in hit.source.json}.values())

    def _append(self, run: _Run) -> None:
        """Records a run on serverless, and waits until it is searchable."""
        body: Json = {"json": [msgspec.to_builtins(run)]}
        self._connection.ask("POST", f"/{self._index}/_doc", answer=Anything, body=body)
        until = time.monotonic() + self._connection.settings.patience
        while run.version not in {seen.version for seen in self._searched()}:
            if time.monotonic() > until:
                raise StoreUnavailableError(
                    f"{self._connection.url}: the history of migrations is not searchable after "
                    f"{self._connection.settings.patience:.0f} s; raise opensearch.patience, and try again"
                )
            time.sleep(0.5)

    def _clear(self) -> None:
        """Removes the indexes of killed tests; not on serverless, where another process may be using them."""
        if self._connection.is_serverless:
            return
        found = self._connection.send("GET", f"/{self._index}{TRIAL}*/_mapping")
        if found.status == 404:
            return
        for name in self._connection.accepted(found, dict[str, Mapped]):
            self._connection.send("DELETE", f"/{name}")

    def _try(self, migration: Migration, kind: Kind) -> None:
        name = f"{self._index}{TRIAL}{uuid.uuid4().hex[:12]}"
        corpus = "" if self._connection.settings.layout == "shared" and not self._connection.is_serverless else "trial"
        meta = Meta(corpus, "source" if kind is Kind.SOURCE else "row", 2, migration.version, "english")
        serverless = self._connection.is_serverless
        body = index_body(migration.text, meta, settings=self._connection.settings, is_serverless=serverless)
        made = self._connection.send("PUT", f"/{name}", body=dict(body))
        # The name is new: an index that exists was made by a request whose answer did not come in time, and was sent again.
        if made.status >= 400 and _EXISTS not in made.body:
            cause = cause_of(made.body)
            error = refusal(self._connection.url, made.status, cause=cause)
            if type(error) is StoreError and made.status == 400 and "k-NN" not in str(error):
                words = cause.words() if isinstance(cause, Cause) else cause
                raise MigrationError(
                    f"{self._connection.url}: {migration.label}, the index of {meta.kind}s: {words}; nothing was changed, "
                    "use OpenSearch 2.19 or newer"
                ) from error
            raise error
        self._connection.ask("DELETE", f"/{name}", answer=Anything)

    def _document(self, name: str) -> Document:
        found = self._connection.send("GET", f"/{self._index}/_doc/{name}")
        if found.status == 404:
            return Document()
        if found.status >= 400:
            raise refusal(self._connection.url, found.status, cause=cause_of(found.body))
        return self._connection.decoded(found.body, Document)

    def _taken(self, owner: str) -> bool:
        held = self._document("lock")
        lease = msgspec.json.decode(held.source, type=_Lock).json if held.found else _Lease()
        if lease.owner and lease.until > time.time():
            return False
        fresh: Json = {"json": {"owner": owner, "until": time.time() + _LEASE_SECONDS}}
        return self._put("lock", fresh, held).status != _CONFLICT

    def _put(self, name: str, body: Json, held: Document) -> Answer:
        """Writes a document if it has not changed since it was read; otherwise the answer has status 409."""
        condition = (
            {"if_seq_no": str(held.seq_no), "if_primary_term": str(held.primary_term)}
            if held.found
            else {"op_type": "create"}
        )
        found = self._connection.send("PUT", f"/{self._index}/_doc/{name}", body=body, parameters=condition)
        if found.status >= 400 and found.status != _CONFLICT:
            raise refusal(self._connection.url, found.status, cause=cause_of(found.body))
        return found
