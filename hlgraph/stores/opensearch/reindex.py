"""Moves rows to indexes of another form, behind their aliases, while searches go on.

For each corpus and kind whose index is not what the settings and the newest migration make:

1. The new index is created, and the old one is marked as moving.
2. Rows are copied, page by page by id: those that the new index lacks or has from another change. Rows that the old index no
   longer has are removed from the new one. A copy that was interrupted is therefore continued, not begun again.
3. Writes to the old index are blocked; writers wait. What was written during the copy is copied, by the same comparison.
4. The alias of the corpus is switched in one step, which also deletes an old index of that corpus alone.

A search sees the old index or the new one, each of them whole. The server's own ``_reindex`` cannot do this: it copies what
``_source`` holds, and that is all but the vectors. After a kill the same steps follow from what is on the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from hlgraph import progress
from hlgraph.errors import StoreError
from hlgraph.records import Kind
from hlgraph.stores.migrate import Migration
from hlgraph.stores.opensearch import bulk, drift
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.drift import Index
from hlgraph.stores.opensearch.forms import SHARED_SINCE
from hlgraph.stores.opensearch.indexes import REMEMBERED_SECONDS, Home, Indexes, key_of
from hlgraph.stores.opensearch.query_bodies import EXACT_BELOW, matrix, one_of
from hlgraph.stores.opensearch.rounds import find
from hlgraph.stores.opensearch.row_documents import item, vector_fields
from hlgraph.stores.opensearch.wire import Anything, Json, Meta

_PAGE = 5_000
_SOURCES = 1_000
_BLOCK = 500  # rows copied by one request
_ROUNDS = 3
_WHOLE: dict[str, Json] = {"docvalue_fields": ["id"], "_source": True, "stored_fields": []}
_FEW = 1_000  # so few changed rows are left to the last round, which blocks writes


@dataclass(frozen=True, slots=True)
class _Place:
    """Where rows of one corpus are read from: an index or alias, the routing to them, and the query that admits them."""

    name: str
    parameters: dict[str, str]
    query: Json


class Mover:
    """Moves the rows of all corpora of a server to the indexes that the settings ask for.

    Parameters
    ----------
    connection : connection to the server
    migration : the migration that defines the new indexes
    renew : called now and then; renews the lock of the caller, or raises
    """

    def __init__(self, connection: Connection, migration: Migration, *, renew: Callable[[], None]) -> None:
        self._connection = connection
        self._indexes = Indexes(connection)
        self._migration = migration
        self._renew = renew
        self._marked: dict[str, float] = {}

    def bring(self) -> None:
        """Mends what can be mended in place, moves what must be moved, and removes what is left over."""
        drift.mend(self._connection, drift.look(self._connection, self._migration), migration=self._migration)
        if self._connection.is_serverless or self._migration.version < SHARED_SINCE:
            return
        looked = drift.look(self._connection, self._migration)
        homes = drift.homes_of(looked)
        moved = [index for index in looked if index.needs_move and index.is_readable and self._is_ours(index)]
        total = sum(self._count(_Place(index.name, {}, {"match_all": {}})) for index in moved)
        with progress.step("re-index", total, unit="rows"):
            for index in moved:
                for alias, corpus in index.corpora.items():
                    if homes.get(alias) == index.name:
                        self._move(index, alias, corpus, taken=[each.name for each in moved])
        self._clear(moved)

    def _is_ours(self, index: Index) -> bool:
        return index.meta.schema <= self._migration.version

    def _clear(self, moved: list[Index]) -> None:
        """Deletes indexes that nothing is found in any more, and rows of corpora that are in another index."""
        looked = drift.look(self._connection, self._migration)
        homes, names = drift.homes_of(looked), {index.name for index in moved}
        for index in looked:
            strays = [corpus for alias, corpus in index.corpora.items() if homes.get(alias, index.name) != index.name]
            if (index.name in names and index.name not in homes.values()) or (strays and index.meta.corpus):
                self._indexes.remove(index.name)
            else:
                self._sweep(index.name, strays)

    def _sweep(self, name: str, strays: list[str]) -> None:
        for corpus in strays:
            parameters = {"conflicts": "proceed", "refresh": "true", "routing": key_of(corpus)}
            body: Json = {"query": {"term": {"corpus": corpus}}}
            self._connection.ask("POST", f"/{name}/_delete_by_query", answer=Anything, body=body, parameters=parameters)

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
        self._connection.ask("PUT", f"/{index.name}/_block/write", answer=Anything)
        self._refresh(index.name, target.name)
        self._copy(old, new, target)
        self._refresh(target.name)
        self._check(old, new, corpus)
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
        found = self._indexes.behind(name)[name].mappings.meta
        return Home(alias, name, corpus, key_of(corpus), found)

    def _mark(self, index: Index) -> None:
        """Tells readers that the index behind the alias is about to change."""
        if index.name not in self._marked:
            meta = msgspec.to_builtins(msgspec.structs.replace(index.meta, moving=True))
            self._connection.ask("PUT", f"/{index.name}/_mapping", answer=Anything, body={"_meta": meta})
            self._marked[index.name] = time.monotonic()

    def _copy(self, old: _Place, new: _Place, target: Home) -> int:
        """Makes the rows of a corpus in the new index those of the old one; returns how many were not."""
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
            self._write(target, self._documents(old, lacking, target))
            self._write(target, (item(name, None, home=target) for name in extra))
            changed += len(lacking) + len(extra)
            progress.advance("re-index", len(lacking))
        return changed

    def _pages(self, place: _Place, *, is_source: bool) -> Iterator[tuple[str | None, str | None, dict[str, str]]]:
        """For each page of rows, by id: the id before it, its last id (None: it is the last page), and a mark of each row.

        Rows of one id with one mark are the same: the mark is the change that wrote a row, or all that a source has.
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

    def _documents(self, old: _Place, names: list[str], target: Home) -> Iterator[bulk.Item]:
        dimensions = target.meta.dimensions
        for at in range(0, len(names), _BLOCK):
            part = names[at : at + _BLOCK]
            body: dict[str, Json] = {"size": len(part), "query": {"bool": {"filter": [old.query, one_of("id", part)]}}}
            body |= _WHOLE | ({"docvalue_fields": ["id", "data"]} if dimensions else {})
            rows = find(self._connection, old.name, body=body, parameters=old.parameters).hits.hits
            vectors = matrix(rows, dimensions) if dimensions and rows else np.empty((len(rows), 0), dtype=np.float32)
            for row, vector in zip(rows, vectors, strict=True):
                document = {name: value for name, value in row.source.items() if name != "corpus"}
                yield item(row.text("id"), {**document, **(vector_fields(vector) if dimensions else {})}, home=target)
            self._renew()

    def _write(self, target: Home, items: Iterable[bulk.Item]) -> None:
        bulk.write(self._connection, target.name, items=items, is_alias=False)

    def _refresh(self, *names: str) -> None:
        self._connection.ask("POST", f"/{','.join(names)}/_refresh", answer=Anything)

    def _count(self, place: _Place) -> int:
        body: dict[str, Json] = {"size": 0, "query": place.query, "track_total_hits": True}
        return find(self._connection, place.name, body=body, parameters=place.parameters).count

    def _check(self, old: _Place, new: _Place, corpus: str) -> None:
        wanted, copied = self._count(old), self._count(new)
        if wanted != copied:
            raise StoreError(
                f"{self._connection.url}: {old.name} has {wanted:,} rows of corpus {corpus!r}, its copy {new.name} has "
                f"{copied:,}; nothing was switched, run the same command again"
            )

    def _switch(self, index: Index, target: Home) -> None:
        """Points the alias to the new index, and lets the writers of other corpora in the old one go on."""
        view = self._indexes.view(target.corpus) if target.meta.is_shared else {}
        add: Json = {"add": {"index": target.name, "alias": target.alias, **view}}
        if not index.meta.is_shared:
            self._indexes.act(add, {"remove_index": {"index": index.name}})
            return
        self._indexes.act(add, {"remove": {"index": index.name, "alias": target.alias}})
        self._connection.ask("PUT", f"/{index.name}/_settings", answer=Anything, body={"index.blocks.write": None})


def _mark_of(source: Mapping[str, object]) -> str:
    kept = {name: value for name, value in source.items() if name != "corpus"}
    return msgspec.json.encode(kept, order="sorted").decode()
