"""Vectors and text in OpenSearch: k-NN and BM25 with filters inside the search, and the ranking of the embedded store."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.change import VectorBlock
from hlgraph.errors import InputError, MigrationError, ModelMismatchError, StoreCorruptError
from hlgraph.ids import content_id
from hlgraph.records import Hit, Kind
from hlgraph.settings import OpenSearchSettings
from hlgraph.stores import migrate
from hlgraph.stores.batches import batched
from hlgraph.stores.concurrency import at_once
from hlgraph.stores.opensearch import doctor, serverless, writes
from hlgraph.stores.opensearch.connection import Connection, FormRefusedError, IndexMovedError, retry_of
from hlgraph.stores.opensearch.doctor import check
from hlgraph.stores.opensearch.indexes import Home, Indexes
from hlgraph.stores.opensearch.migrations import OpenSearchTarget
from hlgraph.stores.opensearch.query_bodies import (
    PAGE,
    VECTORS,
    Inside,
    KeptVectors,
    Replica,
    Sizes,
    State,
    Steps,
    by_text,
    by_vector,
    count,
    index_state,
    one_of,
    pages,
    read_vectors,
    together,
)
from hlgraph.stores.opensearch.where_query import to_query
from hlgraph.stores.opensearch.wire import Json
from hlgraph.stores.opensearch.writes import begin_purge, deleted_rows, item, phrases, purge, row_items, source_items
from hlgraph.stores.protocols import (
    Damage,
    Finding,
    Neighbours,
    Remnants,
    Row,
    VectorBatch,
    VectorQuery,
    VectorStore,
    base_of,
)
from hlgraph.where import Where

_LOG = logging.getLogger(__name__)

PURGE_BELOW = 2_000
"""Maximum size of an index, in rows, at which every delete rewrites the segments, which takes one or two seconds."""

_WITH_VECTORS = (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
_FUSE = 100  # minimum length of the two rankings of a hybrid search
_MASKS = 64  # cached filters
_COPIES = 4  # maximum number of copies of one row while a write on serverless is unfinished
_DELETED_SHARE = 0.1  # share of deleted rows at which the segments of a larger index are rewritten


class OpenSearchVectorStore(VectorStore):
    """Vectors and text on one server; see :class:`hlgraph.stores.protocols.VectorStore`.

    A row is written once and never updated in place. The metadata of sources is in a separate index with one document per
    source, in which a filter is first resolved to ids of sources. New metadata of a source is therefore one write, which
    later searches see completely, however many rows the source has. With a copy on every row, searches would see a partial
    update, and the update would race with the writing of rows.

    Connects at the first call. Thread-safe.

    Attributes
    ----------
    connection : connection to the server
    indexes : its indexes
    target : the store as a migration target
    """

    def __init__(self, url: str, settings: OpenSearchSettings) -> None:
        self.connection = Connection(url, settings)
        self.indexes = Indexes(self.connection)
        self.target = OpenSearchTarget(self.connection)
        self._sizes = Sizes()
        self._kept = KeptVectors()
        self._masks: dict[tuple[str, Where, str, State], tuple[str, ...]] = {}
        self._replicas: dict[str, Replica] = {}
        self._guard = threading.Lock()
        self._newest = migrate.discover(self.target.kind)[-1].version
        self._is_checked = False
        self._loading: set[str] = set()

    def close(self) -> None:
        """Close the connections."""
        for replica in self._replicas.values():
            replica.close()
        self.connection.close()

    def check(self) -> Iterator[Finding]:
        """Run the checks of ``hlgraph doctor``; yield their findings."""
        return check(self.connection, self.indexes)

    # Writing

    def upsert(self, batch: VectorBatch) -> None:
        """See :meth:`VectorStore.upsert`. Writes sources, then rows; both are searchable when it returns."""
        _check(batch.blocks)
        place = self.place_of(batch.corpus)
        self.indexes.look(place.name)
        self._is_checked &= self.indexes.are_of(place.name, schema=self._newest)
        self._check_schema(is_writing=True)
        ensure = partial(self.indexes.ensure, place.name, is_fresh=False)
        homes = [ensure(block.kind, dimensions=block.dimensions) for block in batch.blocks]
        written = [home.alias for home in homes]
        if batch.sources:
            home = ensure(Kind.SOURCE)
            self._write(home, lambda now: source_items(batch.sources, home=now))
            written.append(home.alias)
        pairs = zip(homes, batch.blocks, strict=True)
        at_once([partial(self._write_rows, home, block, batch.change_id) for home, block in pairs])
        if batch.corpus not in self._loading:
            self._refresh(written)
        for other in place.others:
            self._delete(other, {block.kind: block.ids for block in batch.blocks})

    def _write_rows(self, home: Home, block: VectorBlock, change_id: str) -> None:
        self._write(home, lambda now: row_items(block, change_id, home=now, is_smile=self.connection.reads_smile))
        self._kept.drop(home.alias, block.ids)

    def _write(self, home: Home, items: Callable[[Home], Iterable[writes.Item]]) -> writes.Outcome:
        """Write to the index of a corpus. If it is being moved, wait, and write everything to the new index."""
        retry = retry_of(self.connection.settings)
        now: Home | None = home
        while now is not None:
            try:
                if self.connection.is_serverless:
                    serverless.replace(self.connection, home.alias, items=items(now))
                    return writes.Outcome(0, 0)
                return writes.write(self.connection, home.alias, items=items(now))
            except FormRefusedError as error:
                _LOG.info("%s; writing JSON from now on", error)
                self.connection.reads_smile = False
            except IndexMovedError:
                if not retry.goes_on():
                    raise
                now = self.indexes.find(home.corpus, Kind(home.meta.kind), is_fresh=True)
        return writes.Outcome(0, 0)

    @contextlib.contextmanager
    def loading(self, corpus: str, *, dimensions: int) -> Iterator[None]:
        """See :meth:`VectorStore.loading`."""
        self._check_schema(is_writing=True)
        if self.connection.is_serverless:
            yield
            return
        name = self.place_of(corpus).name
        homes = [self.indexes.ensure(name, Kind.SOURCE)]
        homes += [self.indexes.ensure(name, kind, dimensions=dimensions) for kind in _WITH_VECTORS if dimensions]
        kept = writes.begin(self.connection, homes)
        self._loading.add(corpus)
        try:
            yield
        finally:
            self._loading.discard(corpus)
            writes.end(self.connection, kept)

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        """See :meth:`VectorStore.delete`.

        From then on no search finds a deleted row. Lucene removes it from disk when it rewrites its segment. This method
        starts the rewriting, without waiting for it, if that is cheap (the index has up to ``PURGE_BELOW`` rows) or due (a
        tenth of them is deleted). :meth:`purge` waits until nothing of any deleted row is left.
        """
        self._check_schema(is_writing=True)
        place = self.place_of(corpus)
        wanted = {Kind(kind): list(dict.fromkeys(some)) for kind, some in ids.items()}
        deleted = self._delete(place.name, wanted)
        for other in place.others:
            self._delete(other, {kind: some for kind, some in wanted.items() if kind is not Kind.SOURCE})
        return deleted

    def _delete(self, corpus: str, ids: Mapping[Kind, Sequence[str]]) -> int:
        """Delete rows that are stored under a name; returns their number."""
        deleted = 0
        touched: list[str] = []
        for kind, names in ids.items():
            home = self.indexes.find(corpus, kind, is_fresh=True)
            if home is None:
                continue
            if self.connection.is_serverless:
                deleted += serverless.remove(self.connection, home.alias, ids=names)
            else:
                deleted += self._remove(home, names)
                self._refresh([home.alias])
            self._kept.drop(home.alias, names)
            is_empty = not count(self.connection, home.alias)
            if is_empty:
                # Another model may use it next. The caller holds the lock of the graph store, so no other process writes to it.
                self._drop(home)
            if home.meta.is_shared or not is_empty:
                touched.append(home.name)
        if touched and not self.connection.is_serverless:  # serverless merges by itself
            begin_purge(self.connection, touched, always_below=PURGE_BELOW, share=_DELETED_SHARE)
        return deleted

    def _remove(self, home: Home, names: Sequence[str]) -> int:
        """Delete rows; check for a move afterwards, since a dedicated index that replaced a shared one accepts the deletion."""
        deleted = self._write(home, lambda now: (item(name, None, home=now) for name in names)).deleted
        if home.meta.is_shared:
            now = self.indexes.find(home.corpus, Kind(home.meta.kind), is_fresh=True)
            if now is not None and now.name != home.name:
                deleted += self._remove(now, names)
        return deleted

    def purge(self, corpus: str) -> None:
        """Remove every deleted row of a corpus from disk; takes up to a minute, and longer for large corpora.

        Corpora that share an index are purged together.
        """
        if not self.connection.is_serverless:
            purge(self.connection, self.indexes.with_deleted(self.place_of(corpus)))

    def remnants(self, corpus: str) -> Remnants:
        """See :meth:`VectorStore.remnants`. An index that is shared counts the deleted rows of all its corpora."""
        if self.connection.is_serverless:
            return Remnants("opensearch serverless")
        names = self.indexes.with_deleted(self.place_of(corpus))
        return Remnants("opensearch", awaiting=deleted_rows(self.connection, names))

    def _drop(self, home: Home) -> None:
        self.indexes.drop(home)
        self._kept.drop(home.alias)
        with self._guard:
            replica = self._replicas.pop(home.alias, None)
            self._sizes.forget(home.alias)
        if replica is not None:
            replica.close()

    def _refresh(self, aliases: Sequence[str]) -> None:
        """Refresh the indexes of a batch once; waiting for the periodic refresh would take up to 30 s."""
        if aliases and not self.connection.is_serverless:
            self.connection.command("POST", f"/{','.join(dict.fromkeys(aliases))}/_refresh")

    # Reading

    def search(self, query: VectorQuery) -> list[Hit]:
        """See :meth:`VectorStore.search`."""
        return self.search_many([query])[0]

    def search_many(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """See :meth:`VectorStore.search_many`. One request for each step that the searches take."""
        allowed: dict[tuple[str, Where], tuple[str, ...]] = {}
        # If statements are searched by vector and by words, the vectors of the hits by words are needed next.
        of_statements = [at for at, query in enumerate(queries) if query.kind is Kind.STATEMENT]
        by_words = [at for at in of_statements if queries[at].vector is None]
        compared = set(by_words) if len(by_words) < len(of_statements) else set()
        rankings = [self._rankings(query, allowed, needs_vectors=at in compared) for at, query in enumerate(queries)]
        hit_lists = iter(together(self.connection, [each for some in rankings for each in some]))
        results: list[list[Hit]] = []
        for query, some in zip(queries, rankings, strict=True):
            ranked = [next(hit_lists) for _ in some]
            if query.vector is not None and query.text is not None and ranked:
                fused = reciprocal_rank([[hit.id for hit in hits] for hits in ranked])
                ranked = [[Hit(item, score) for item, score in fused[: query.k]]]
            results.append(ranked[0] if ranked else [])
        return results

    def _rankings(
        self, query: VectorQuery, allowed: dict[tuple[str, Where], tuple[str, ...]], *, needs_vectors: bool
    ) -> list[Steps[list[Hit]]]:
        """The rankings that a query needs: by vector, by text, or both; empty if no row can match."""
        if query.k < 1:
            raise InputError(f"k is {query.k}; it must be at least 1")
        home = self._opened(query.kind, query.corpus)
        if home is None:
            return []
        if query.vector is None and query.text is None:
            raise InputError("a search needs a vector, a text, or both")
        _check_length(query, home)
        sources = None
        if query.where is not None:
            key = (base_of(query.corpus), query.where)
            sources = allowed[key] = allowed[key] if key in allowed else self._allowed(*key, read=query.state)
            if not sources:
                return []
        inside = Inside(sources, query.hidden, home.clause, self.connection.settings.hnsw_ef_search, query.among)
        rankings: list[Steps[list[Hit]]] = []
        k = max(query.k, _FUSE) if query.vector is not None and query.text is not None else query.k
        kept = self._kept.of_index(home.alias, meta=home.meta, state=query.state)
        if query.vector is not None:
            rankings.append(by_vector(kept, vector=query.vector, k=k, inside=inside, sizes=self._sizes))
        if query.text is not None:
            words, among = phrases(query.text), inside if query.is_alone else Inside()
            read = kept if needs_vectors else None
            rankings.append(by_text(home.alias, phrases=words, k=k, inside=inside, counted=among, kept=read))
        return rankings

    def _allowed(self, corpus: str, where: Where, *, read: str) -> tuple[str, ...]:
        """The ids of the sources that a filter admits; cached until a source is written or deleted, or an index is restored."""
        home = self.indexes.find(corpus, Kind.SOURCE)
        if home is None:  # though there are rows
            raise StoreCorruptError(
                f"{self.connection.url}: the index of the sources of corpus {corpus!r} is missing, and filters need it; run: "
                f"hlgraph reconcile --repair --corpus {corpus}"
            )
        alias = home.alias
        key = None if self.connection.is_serverless else (corpus, where, read, index_state(self.connection, home))
        with self._guard:
            known = None if key is None else self._masks.get(key)
        if known is not None:
            return known
        ids = tuple(row.text("id") for row in pages(self.connection, alias, query=to_query(where), fields=["id"]))
        if key is not None:
            with self._guard:
                if len(self._masks) >= _MASKS:
                    self._masks.clear()
                self._masks[key] = ids
        return ids

    def neighbours(self, kind: Kind, corpus: str, *, vectors: NDArray[np.float32], threshold: float) -> Neighbours:
        """See :meth:`VectorStore.neighbours`. Uses a local copy of the vectors, see :class:`Replica`."""
        home = self._opened(kind, corpus)
        if home is None:
            return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
        with self._guard:
            replica = self._replicas.get(home.alias)
            if replica is None or replica.home.meta.made != home.meta.made:
                if replica is not None:
                    replica.close()
                replica = self._replicas[home.alias] = Replica(self.connection, home)
        return replica.neighbours(vectors, threshold=threshold)

    def vectors(
        self, kind: Kind, corpus: str, *, ids: Sequence[str], state: str = ""
    ) -> tuple[list[str], NDArray[np.float32]]:
        """See :meth:`VectorStore.vectors`."""
        return self.vectors_many(corpus, {kind: ids}, state=state)[kind]

    def vectors_many(
        self, corpus: str, ids: Mapping[Kind, Sequence[str]], *, state: str = ""
    ) -> dict[Kind, tuple[list[str], NDArray[np.float32]]]:
        """See :meth:`VectorStore.vectors_many`."""
        homes = {kind: self._opened(kind, corpus) for kind in ids}
        copies = _COPIES if self.connection.is_serverless else 1
        readings: dict[Kind, Steps[dict[str, NDArray[np.float32]]]] = {}
        for kind, home in homes.items():
            if home is not None and ids[kind]:
                kept = self._kept.of_index(home.alias, meta=home.meta, state=state)
                readings[kind] = read_vectors(kept, ids[kind], copies=copies, is_kept=bool(state))
        read = dict(zip(readings, together(self.connection, list(readings.values())), strict=True))
        results: dict[Kind, tuple[list[str], NDArray[np.float32]]] = {}
        for kind, home in homes.items():
            rows = read.get(kind, {})
            empty = np.empty((0, 0 if home is None else home.meta.dimensions), dtype=np.float32)
            results[kind] = list(rows), np.stack(list(rows.values())) if rows else empty
        return results

    def ids(self, kind: Kind, corpus: str, *, among: Sequence[str] | None = None) -> set[str]:
        """See :meth:`VectorStore.ids`."""
        if self._opened(kind, corpus) is None:
            return set()
        alias = self.indexes.alias(self.place_of(corpus).name, kind)
        everything: Json = {"match_all": {}}
        queries: list[Json] = [everything]
        if among is not None:
            queries = [{"bool": {"filter": one_of("id", part)}} for part in batched(among, PAGE)]
        batches = (pages(self.connection, alias, query=query, fields=["id"]) for query in queries)
        return {row.text("id") for row in itertools.chain.from_iterable(batches)}

    def examine(
        self, kind: Kind, corpus: str, *, rows: Iterable[Row], dimensions: int = 0, repair: bool = False
    ) -> Damage:
        """See :meth:`VectorStore.examine`."""
        home = self._opened(kind, corpus)
        if home is None:
            return Damage()
        length = dimensions or home.meta.dimensions
        all_rows = list(rows) if repair else rows
        damage = doctor.examine(self.connection, home.alias, dimensions=length, rows=all_rows)
        if not repair or damage.is_none:
            return damage
        _repair(self, kind, corpus, rows=all_rows, damage=damage)
        return damage

    def _opened(self, kind: Kind, corpus: str) -> Home | None:
        home = self.indexes.find(self.place_of(corpus).name, kind)
        if home is None or home.meta.schema != self._newest:  # else the present schema made it: nothing to ask for
            self._is_checked &= home is None or home.meta.schema < self._newest
            self._check_schema(is_writing=False)
        return home

    def _check_schema(self, *, is_writing: bool) -> None:
        """Check the migrations of the server; apply all of them before the first write to an empty one.

        A server without an index is empty, too, if some migrations ran: their first run was interrupted. Reads continue while a
        migration is pending or running, because it re-indexes behind the aliases.
        """
        plan = None if self._is_checked else migrate.plan(self.target)
        if plan is None or not (is_writing or plan.applied):
            return
        if not plan.applied or (is_writing and plan.pending and not self.indexes.all()):
            migrate.apply(self.target)
        elif plan.pending:
            if not is_writing:
                return
            names = ", ".join(item.label for item in plan.pending)
            raise MigrationError(
                f"{self.connection.url}: the vector store needs migration {names}; run: hlgraph migrate apply"
            )
        self._is_checked = True


def _repair(store: VectorStore, kind: Kind, corpus: str, *, rows: Iterable[Row], damage: Damage) -> None:
    """Write altered texts again, with the stored vectors, and remove rows whose vectors are damaged."""
    written = {row.id: row for row in rows if row.id in damage.texts - damage.vectors}
    for part in batched(sorted(written), VECTORS):
        stored, matrix = store.vectors(kind, corpus, ids=part)
        ids, texts, sources = zip(*(written[name] for name in stored), strict=True)
        block = VectorBlock(kind, ids, texts, sources, matrix.shape[1], matrix.tobytes())
        store.upsert(VectorBatch(corpus, content_id("repair", corpus, kind, *ids), (), (block,)))
    if damage.vectors:
        store.delete(corpus, {kind: sorted(damage.vectors)})


def _check_length(query: VectorQuery, home: Home) -> None:
    if query.vector is not None and len(query.vector) != home.meta.dimensions:
        raise ModelMismatchError(
            f"the vector of the question has {len(query.vector)} dimensions, those of corpus {base_of(query.corpus)!r} have "
            f"{home.meta.dimensions}; use the embedding model of the corpus"
        )


def _check(blocks: Iterable[VectorBlock]) -> None:
    """Reject vectors that no server can store, before anything is written."""
    for block in blocks:
        values = block.matrix()
        if not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise InputError(
                f"the vector of {block.kind} {block.ids[at]} holds a number that is not finite; embed its text again"
            )
