"""An OpenSearch server as a migration target. Its history is one document, which only the holder of the lock changes."""

from __future__ import annotations

import contextlib
import itertools
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import numpy as np

from hlgraph import progress
from hlgraph.errors import MigrationError, StoreError, StoreLockedError, StoreUnavailableError
from hlgraph.records import Kind
from hlgraph.stores.batches import batched
from hlgraph.stores.concurrency import Retry
from hlgraph.stores.migrate import Applied, Difference, Migration, MigrationTarget, discover
from hlgraph.stores.opensearch import indexes, writes
from hlgraph.stores.opensearch.connection import Answer, Connection, cause_of, refusal
from hlgraph.stores.opensearch.indexes import (
    REMEMBERED_SECONDS,
    SHARED_SINCE,
    TRIAL,
    Home,
    Index,
    Indexes,
    index_body,
    key_of,
)
from hlgraph.stores.opensearch.query_bodies import EXACT_BELOW, count, find, matrix, of_ids, one_of
from hlgraph.stores.opensearch.wire import Anything, Cause, Document, Json, Mapped, Meta
from hlgraph.stores.opensearch.writes import item, vector_fields

# Re-indexing behind aliases, while searches continue.
#
# For each corpus and kind whose index differs from the settings and the newest migration:
#
# 1. The new index is created, and the old one is marked as moving.
# 2. Rows are copied, page by page by id: those that the new index lacks or has from another change. Rows that the old index no
#    longer has are removed from the new one. A copy that was interrupted is therefore continued, not begun again.
# 3. Writes to the old index are blocked; writers wait. What was written during the copy is copied, by the same comparison.
# 4. The alias of the corpus is switched in one step, which also deletes an old index of that corpus alone.
#
# A search sees the old index or the new one, each complete. The server's own ``_reindex`` cannot do this: it copies ``_source``,
# which lacks the vectors. After a kill, the same steps continue from the state of the server.


T = TypeVar("T")
_PAGE = 5_000
_SOURCES = 1_000
_BLOCK = 500  # rows copied by one request
_ROUNDS = 3
_WHOLE: dict[str, Json] = {"docvalue_fields": ["id"], "_source": True, "stored_fields": []}
_FEW = 1_000  # so few changed rows are left to the last round, which blocks writes


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of the rows of one corpus: an index or alias, their routing, and the query that matches them."""

    name: str
    parameters: dict[str, str]
    query: Json


class Mover:
    """Moves the rows of all corpora of a server to the indexes that the settings require.

    Parameters
    ----------
    connection : connection to the server
    migration : the migration that defines the new indexes
    renew : called regularly; renews the lock of the caller, or raises
    """

    def __init__(self, connection: Connection, migration: Migration, *, renew: Callable[[], None]) -> None:
        self._connection = connection
        self._indexes = Indexes(connection)
        self._migration = migration
        self._renew = renew
        self._marked: dict[str, float] = {}

    def bring(self) -> None:
        """Correct live indexes, move rows that need another index, and remove obsolete indexes and rows."""
        indexes.mend(self._connection, indexes.look(self._connection, self._migration), migration=self._migration)
        if self._connection.is_serverless or self._migration.version < SHARED_SINCE:
            return
        looked = indexes.look(self._connection, self._migration)
        homes = indexes.homes_of(looked)
        ours = [index for index in looked if index.meta.schema <= self._migration.version]
        moved = [index for index in ours if index.needs_move and index.is_readable]
        total = sum(self._count(_Place(index.name, {}, {"match_all": {}})) for index in moved)
        with progress.step("re-index", total, unit="rows"):
            for index in moved:
                for alias, corpus in index.corpora.items():
                    if homes.get(alias) == index.name:
                        self._move(index, alias, corpus, taken=[each.name for each in moved])
        self._clear(moved)

    def _clear(self, moved: list[Index]) -> None:
        """Delete indexes that no alias points to, and rows of corpora that were moved to another index."""
        looked = indexes.look(self._connection, self._migration)
        homes, names = indexes.homes_of(looked), {index.name for index in moved}
        for index in looked:
            strays = [corpus for alias, corpus in index.corpora.items() if homes.get(alias, index.name) != index.name]
            if (index.name in names and index.name not in homes.values()) or (strays and index.meta.corpus):
                self._indexes.remove(index.name)
                continue
            for corpus in strays:
                parameters = {"conflicts": "proceed", "refresh": "true", "routing": key_of(corpus)}
                body: Json = {"query": {"term": {"corpus": corpus}}}
                path = f"/{index.name}/_delete_by_query"
                self._connection.command("POST", path, body=body, parameters=parameters)

    # One corpus and kind

    def _move(self, index: Index, alias: str, corpus: str, *, taken: list[str]) -> None:
        target = self._target(corpus, index.meta, alias, taken=taken)
        old = _Place(alias, {}, {"match_all": {}})
        new = _Place(target.name, {}, {"match_all": {}})
        if target.meta.is_shared:
            new = _Place(target.name, {"routing": target.key}, {"term": {"corpus": corpus}})
        self._mark(index)
        for _ in range(_ROUNDS):
            self._refresh(index.name, target.name)
            if self._copy(old, new, target) <= _FEW:
                break
        if self._count(old) > EXACT_BELOW:  # processes may search the new index by what they know of the old one
            time.sleep(max(0.0, self._marked[index.name] + REMEMBERED_SECONDS + 1.0 - time.monotonic()))
        self._connection.command("PUT", f"/{index.name}/_block/write")
        self._refresh(index.name, target.name)
        self._copy(old, new, target)
        self._refresh(target.name)
        wanted, copied = self._count(old), self._count(new)
        if wanted != copied:
            raise StoreError(
                f"{self._connection.url}: {old.name} has {wanted:,} rows of corpus {corpus!r}, its copy {new.name} has "
                f"{copied:,}; nothing was switched, run the same command again"
            )
        self._switch(index, target)

    def _target(self, corpus: str, meta: Meta, alias: str, *, taken: list[str]) -> Home:
        """The new index, created if it does not exist."""
        kind, shares = Kind(meta.kind), self._indexes.is_sharing
        name, body = self._indexes.wanted(
            "" if shares else corpus, kind, dimensions=meta.dimensions, migration=self._migration, taken=taken
        )
        base = self._indexes.shared(kind, meta.dimensions)
        if shares:
            there = self._indexes.behind(base)
            fits = sorted(each for each in there if each not in taken)
            name = fits[0] if fits else name
        self._indexes.make(name, body, aliases={})
        if shares and name not in there:
            others: list[Json] = [{"remove": {"index": each, "alias": base}} for each in sorted(there)]
            self._indexes.act({"add": {"index": name, "alias": base}}, *others)
        target_meta = self._indexes.behind(name)[name].mappings.meta
        return Home(alias, name, corpus, key_of(corpus), target_meta)

    def _mark(self, index: Index) -> None:
        """Tell readers that the index behind the alias is about to change."""
        if index.name not in self._marked:
            meta = msgspec.to_builtins(msgspec.structs.replace(index.meta, moving=True))
            self._connection.command("PUT", f"/{index.name}/_mapping", body={"_meta": meta})
            self._marked[index.name] = time.monotonic()

    def _copy(self, old: _Place, new: _Place, target: Home) -> int:
        """Synchronise the rows of a corpus in the new index with the old one; return the number of differences."""
        changed = 0
        is_source = target.meta.kind == Kind.SOURCE
        for after, last, there in self._pages(old, is_source=is_source):
            self._renew()
            bounds: dict[str, Json] = {} if after is None else {"gt": after}
            bounds |= {} if last is None else {"lte": last}
            query: Json = {"bool": {"filter": [new.query, {"range": {"id": bounds}}]}}
            place = _Place(new.name, new.parameters, query)
            here: dict[str, str] = {}
            for _, _, part in self._pages(place, is_source=is_source):
                here |= part
            lacking = [name for name, mark in there.items() if here.get(name) != mark]
            extra = sorted(here.keys() - there.keys())
            deletions = (item(name, None, home=target) for name in extra)
            items = itertools.chain(self._documents(old, lacking, target), deletions)
            writes.write(self._connection, target.name, items=items, is_alias=False)
            changed += len(lacking) + len(extra)
            progress.advance("re-index", len(lacking))
        return changed

    def _pages(self, place: _Place, *, is_source: bool) -> Iterator[tuple[str | None, str | None, dict[str, str]]]:
        """For each page of rows, by id: the id before it, its last id (None for the last page), and a mark of each row.

        Rows with the same id and mark are equal: the mark is the change that wrote the row, or all data of a source.
        """
        after: str | None = None
        size = _SOURCES if is_source else _PAGE
        while True:
            body: dict[str, Json] = {"size": size, "query": place.query, "sort": [{"id": "asc"}]}
            body |= _WHOLE if is_source else {"docvalue_fields": ["id", "change"]}
            if after is not None:
                body["search_after"] = [after]
            rows = find(self._connection, place.name, body=body, parameters=place.parameters).hits.hits
            marks = {row.text("id"): _mark_of(row.source) if is_source else row.text("change") for row in rows}
            last = rows[-1].text("id") if len(rows) == size else None
            yield after, last, marks
            if last is None:
                return
            after = last

    def _documents(self, old: _Place, names: list[str], target: Home) -> Iterator[writes.Item]:
        dimensions = target.meta.dimensions
        for part in batched(names, _BLOCK):
            body = _WHOLE | of_ids(part, *(("id", "data") if dimensions else ("id",)))
            body["query"] = {"bool": {"filter": [old.query, one_of("id", part)]}}
            rows = find(self._connection, old.name, body=body, parameters=old.parameters).hits.hits
            vectors = matrix(rows, dimensions) if dimensions and rows else np.empty((len(rows), 0), dtype=np.float32)
            for row, vector in zip(rows, vectors, strict=True):
                document = {name: value for name, value in row.source.items() if name != "corpus"}
                yield item(row.text("id"), {**document, **(vector_fields(vector) if dimensions else {})}, home=target)
            self._renew()

    def _refresh(self, *names: str) -> None:
        self._connection.command("POST", f"/{','.join(names)}/_refresh")

    def _count(self, place: _Place) -> int:
        return count(self._connection, place.name, query=place.query, parameters=place.parameters)

    def _switch(self, index: Index, target: Home) -> None:
        """Point the alias to the new index, and unblock writes of other corpora to the old one."""
        view = self._indexes.view(target.corpus) if target.meta.is_shared else {}
        add: Json = {"add": {"index": target.name, "alias": target.alias, **view}}
        if not index.meta.is_shared:
            self._indexes.act(add, {"remove_index": {"index": index.name}})
            return
        self._indexes.act(add, {"remove": {"index": index.name, "alias": target.alias}})
        self._connection.command("PUT", f"/{index.name}/_settings", body={"index.blocks.write": None})


def _mark_of(source: Mapping[str, object]) -> str:
    kept = {name: value for name, value in source.items() if name != "corpus"}
    return msgspec.json.encode(kept, order="sorted").decode()


_LEASE_SECONDS = 60.0
_RENEW_SECONDS = 15.0
_BODY: dict[str, Json] = {
    "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}},
    "mappings": {"dynamic": "strict", "properties": {"json": {"type": "object", "enabled": False}}},
}
_CONFLICT = 409
_EXISTS = "resource_already_exists_exception"


class _Lease(msgspec.Struct):
    owner: str = ""
    until: float = 0.0


class OpenSearchTarget(MigrationTarget):
    """The indexes of one prefix on one server.

    A migration defines how indexes are created. :meth:`apply` of the newest one creates one index of each kind and removes it
    again, so that an unsuitable server fails here. Then it moves the rows of existing indexes, see :class:`Mover`. The lock
    is a document that expires: a dead process holds it for at most one minute.

    Parameters
    ----------
    connection : connection to the server
    lock_seconds : maximum time to wait for another process, in seconds
    """

    kind = "opensearch"

    def __init__(self, connection: Connection, *, lock_seconds: float = 90.0) -> None:
        self._connection = connection
        self._lock_seconds = lock_seconds
        self._index = f"{connection.settings.prefix}-migrations"
        self._is_locked = False
        self._owner = ""
        self._renewed = 0.0

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock document; wait until another process releases it or its lock expires."""
        body = _BODY if not self._connection.is_serverless else {"mappings": _BODY["mappings"]}
        reply = self._connection.send("PUT", f"/{self._index}", body=body)
        if _EXISTS not in reply.body:
            self._connection.accepted(reply, Anything)
        if self._connection.is_serverless:  # it has no conditional writes, and a migration may safely run twice
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked = False
            return
        owner = uuid.uuid4().hex
        retry = Retry(self._lock_seconds, first=0.5)
        while not self._taken(owner, lambda lease: not lease.owner or lease.until <= time.time()):
            if not retry.goes_on():
                raise StoreLockedError(
                    f"{self._connection.url}: another process is migrating this store; try again when it has finished"
                )
        self._is_locked, self._owner, self._renewed = True, owner, time.monotonic()
        try:
            yield
        finally:
            self._is_locked = False
            document = self._document("lock", _Lease)
            if document.json is not None and document.json.owner == owner:
                self._put("lock", {"json": {"owner": "", "until": 0.0}}, document)

    def history(self) -> list[Applied]:
        """The migrations that ran on this server for this prefix, by ascending version."""
        runs = self._searched() if self._connection.is_serverless else self._document("history", list[Applied]).json
        return sorted(runs or [], key=lambda run: run.version)

    def apply(self, migration: Migration) -> None:
        """Test the index bodies of the newest migration, move rows to its indexes, and record it. Needs :meth:`lock`."""
        if not self._is_locked:
            raise MigrationError(
                f"{self._connection.url}: {migration.label} needs the lock; use hlgraph.stores.migrate.apply"
            )
        if migration.version == discover(self.kind)[-1].version:
            self._clear()
            for kind in (Kind.SOURCE, Kind.STATEMENT):
                self._try(migration, kind)
            Mover(self._connection, migration, renew=self._renew).bring()
        run = Applied.now(migration)
        if self._connection.is_serverless:
            self._append(run)
            return
        document = self._document("history", list[Applied])
        runs = document.json or []
        if run.version in {seen.version for seen in runs}:
            return  # this process slept until its lock expired, and another one has run the migration
        if self._put("history", {"json": msgspec.to_builtins([*runs, run])}, document).status == _CONFLICT:
            raise StoreLockedError(
                f"{self._connection.url}: another process has written the history of migrations; run the same command again"
            )

    def differences(self, ran: Sequence[Migration]) -> list[Difference]:
        """Form, settings, layout and aliases of all indexes of the prefix that are not as migrations and settings make them."""
        return indexes.differences(self._connection, ran[-1])

    def mend(self, found: Sequence[Difference], ran: Sequence[Migration]) -> None:
        """See :class:`MigrationTarget`. Gives indexes their settings and aliases back, and re-indexes if they need it."""
        if found:
            Mover(self._connection, ran[-1], renew=self._renew).bring()

    def _renew(self) -> None:
        """Renew the lock during a re-index that takes longer than its expiry time."""
        if self._connection.is_serverless or time.monotonic() - self._renewed < _RENEW_SECONDS:
            return
        if not self._taken(self._owner, lambda lease: lease.owner == self._owner):
            raise StoreLockedError(
                f"{self._connection.url}: another process has taken the lock of the migration; run the same command again"
            )
        self._renewed = time.monotonic()

    def _searched(self) -> list[Applied]:
        """The history on serverless: one document per run, possibly with duplicates."""
        body: dict[str, Json] = {"size": 1_000, "_source": True, "stored_fields": []}
        rows = find(self._connection, self._index, body=body).hits.hits
        runs = [run for row in rows for run in msgspec.convert(row.source["json"], list[Applied])]
        return list({run.version: run for run in runs}.values())

    def _append(self, run: Applied) -> None:
        """Record a run on serverless, and wait until it is searchable."""
        body: Json = {"json": [msgspec.to_builtins(run)]}
        self._connection.command("POST", f"/{self._index}/_doc", body=body)
        retry = Retry(self._connection.settings.patience, first=0.5)
        while run.version not in {seen.version for seen in self._searched()}:
            if not retry.goes_on():
                raise StoreUnavailableError(
                    f"{self._connection.url}: the history of migrations is not searchable after "
                    f"{self._connection.settings.patience:.0f} s; raise opensearch.patience, and try again"
                )

    def _clear(self) -> None:
        """Remove the indexes of killed tests; not on serverless, where another process may be using them."""
        if self._connection.is_serverless:
            return
        reply = self._connection.send("GET", f"/{self._index}{TRIAL}*/_mapping")
        if reply.status == 404:
            return
        for name in self._connection.accepted(reply, dict[str, Mapped]):
            self._connection.send("DELETE", f"/{name}")

    def _try(self, migration: Migration, kind: Kind) -> None:
        name = f"{self._index}{TRIAL}{uuid.uuid4().hex[:12]}"
        corpus = "" if Indexes(self._connection).is_sharing else "trial"
        meta = Meta(corpus, "source" if kind is Kind.SOURCE else "row", 2, migration.version, "english")
        body = index_body(migration.text, meta, settings=self._connection.settings)
        reply = self._connection.send("PUT", f"/{name}", body=dict(body))
        # The name is new: an index that exists was made by a request whose answer did not come in time, and was sent again.
        if reply.status >= 400 and _EXISTS not in reply.body:
            cause = cause_of(reply.body)
            error = refusal(self._connection.url, reply.status, cause=cause, request=reply.request)
            if type(error) is StoreError and reply.status == 400 and "k-NN" not in str(error):
                words = cause.words() if isinstance(cause, Cause) else cause
                raise MigrationError(
                    f"{self._connection.url}: {migration.label}, the index of {meta.kind}s: {words}; nothing was changed, "
                    "use OpenSearch 2.19 or newer"
                ) from error
            raise error
        self._connection.command("DELETE", f"/{name}")

    def _document(self, name: str, kind: type[T]) -> Document[T]:
        reply = self._connection.send("GET", f"/{self._index}/_doc/{name}")
        return Document() if reply.status == 404 else self._connection.accepted(reply, Document[kind])  # type: ignore[valid-type]

    def _taken(self, owner: str, may_take: Callable[[_Lease], bool]) -> bool:
        """Write the lock for an owner if ``may_take`` accepts the present lock; return whether it was written."""
        document = self._document("lock", _Lease)
        if not may_take(document.json or _Lease()):
            return False
        lease: Json = {"json": {"owner": owner, "until": time.time() + _LEASE_SECONDS}}
        return self._put("lock", lease, document).status != _CONFLICT

    def _put(self, name: str, body: Json, read: Document[T]) -> Answer:
        """Write a document unless it has changed since it was read, in which case the answer has status 409."""
        condition = {"op_type": "create"}
        if read.source is not None:
            condition = {"if_seq_no": str(read.seq_no), "if_primary_term": str(read.primary_term)}
        reply = self._connection.send("PUT", f"/{self._index}/_doc/{name}", body=body, parameters=condition)
        if reply.status != _CONFLICT:
            self._connection.accepted(reply, Anything)
        return reply
