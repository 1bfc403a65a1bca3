"""Vectors and text in OpenSearch: k-NN and BM25 with filters inside the search, and the ranking of the embedded store."""

from __future__ import annotations

import base64
import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.change import VectorBlock
from hlgraph.errors import InputError, MigrationError, ModelMismatchError
from hlgraph.ids import content_id
from hlgraph.records import Hit, Kind, Source
from hlgraph.stores import migrate
from hlgraph.stores.opensearch import bulk, damage, serverless
from hlgraph.stores.opensearch.analysis import phrases, terms
from hlgraph.stores.opensearch.connection import Connection, ServerSettings
from hlgraph.stores.opensearch.doctor import check
from hlgraph.stores.opensearch.indexes import Indexes
from hlgraph.stores.opensearch.migrations import OpenSearchTarget
from hlgraph.stores.opensearch.purge import begin_purge, deleted_share, purge
from hlgraph.stores.opensearch.query_bodies import (
    PAGE,
    Inside,
    Sizes,
    by_text,
    by_vector,
    find,
    matrix,
    one_of,
    pages,
    state,
)
from hlgraph.stores.opensearch.replica import Replica
from hlgraph.stores.opensearch.where_query import conditions, to_query
from hlgraph.stores.opensearch.wire import Anything, Json, Meta
from hlgraph.stores.protocols import Damage, Neighbours, Row, VectorBatch, VectorQuery
from hlgraph.where import Where

PURGE_BELOW = 2_000
"""Maximum number of rows of an index for which every delete rewrites the segments, which takes one or two seconds."""

_FUSE = 100  # minimum length of the two rankings of a hybrid search
_VECTORS = 1_000  # vectors read by one request
_MASKS = 64  # cached filters
_COPIES = 4  # maximum number of copies of one row while a write on serverless is unfinished
_DELETED_SHARE = 0.1  # share of deleted rows at which the segments of a larger index are rewritten

Value = TypeVar("Value")


class OpenSearchVectorStore:
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

    def __init__(self, url: str, settings: ServerSettings) -> None:
        self.connection = Connection(url, settings)
        self.indexes = Indexes(self.connection)
        self.target = OpenSearchTarget(self.connection)
        self._sizes = Sizes()
        self._masks: dict[tuple[str, Where, tuple[int, float | None]], tuple[str, ...]] = {}
        self._replicas: dict[str, Replica] = {}
        self._guard = threading.Lock()
        self._is_checked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for replica in self._replicas.values():
            replica.close()
        self.connection.close()

    def check(self) -> Iterator[tuple[str, bool, str]]:
        """Runs the checks of ``hlgraph doctor``; yields the name of each, whether it passed, and what it saw."""
        return check(self.connection, self.indexes)

    # Writing

    def upsert(self, batch: VectorBatch) -> None:
        """See :meth:`VectorStore.upsert`. Writes sources, then rows; both are searchable when it returns."""
        self._check_schema(is_writing=True)
        for block in batch.blocks:
            _check(block)
        written: list[str] = []
        aliases = [self.indexes.ensure(batch.corpus, block.kind, dimensions=block.dimensions) for block in batch.blocks]
        if batch.sources:
            alias = self.indexes.ensure(batch.corpus, Kind.SOURCE)
            self._write(alias, map(_source_item, batch.sources))
            written.append(alias)
        for alias, block in zip(aliases, batch.blocks, strict=True):
            self._write(alias, _row_items(block, batch.change_id))
            written.append(alias)
        self._refresh(written)

    def _write(self, alias: str, items: Iterable[bulk.Item]) -> None:
        if self.connection.is_serverless:
            serverless.replace(self.connection, alias, items=items)
        else:
            bulk.write(self.connection, alias, items=items)

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        """See :meth:`VectorStore.delete`.

        From then on no search finds a deleted row. Lucene removes it from disk when it rewrites its segment. This method
        starts the rewriting, without waiting for it, if that is cheap (up to ``PURGE_BELOW`` rows) or due (a tenth of the
        rows is deleted). :meth:`purge` waits until nothing of any deleted row is left.
        """
        self._check_schema(is_writing=True)
        count = 0
        left: dict[str, int] = {}
        for name, wanted in ids.items():
            kind = Kind(name)
            if self.indexes.meta(corpus, kind, is_fresh=True) is None:
                continue
            alias = self.indexes.alias(corpus, kind)
            names = list(dict.fromkeys(wanted))
            if self.connection.is_serverless:
                count += serverless.remove(self.connection, alias, ids=names)
            else:
                count += bulk.write(self.connection, alias, items=map(bulk.Item, names)).deleted
                self._refresh([alias])
            left[alias] = self._count(alias)
        for alias in [alias for alias, rows in left.items() if not rows]:
            # Another model may fill it. The caller holds the lock of the graph store, so no other process writes to it.
            self._drop(alias)
        if not self.connection.is_serverless:  # serverless merges by itself
            self._tidy({alias: rows for alias, rows in left.items() if rows})
        return count

    def purge(self, corpus: str) -> None:
        """Removes every deleted row of a corpus from disk; takes up to a minute, and longer for large corpora."""
        if not self.connection.is_serverless:
            kinds = [kind for kind in Kind if self.indexes.meta(corpus, kind, is_fresh=True) is not None]
            purge(self.connection, [self.indexes.alias(corpus, kind) for kind in kinds])

    def _tidy(self, left: Mapping[str, int]) -> None:
        due = [
            alias
            for alias, rows in left.items()
            if rows <= PURGE_BELOW or deleted_share(self.connection, alias) > _DELETED_SHARE
        ]
        begin_purge(self.connection, due)

    def _drop(self, alias: str) -> None:
        self.indexes.drop(alias)
        with self._guard:
            replica = self._replicas.pop(alias, None)
            self._sizes.rows.pop(alias, None)
        if replica is not None:
            replica.close()

    def _refresh(self, aliases: Sequence[str]) -> None:
        """Refreshes the indexes of a batch once; waiting for the periodic refresh would take up to 30 s."""
        if aliases and not self.connection.is_serverless:
            self.connection.ask("POST", f"/{','.join(dict.fromkeys(aliases))}/_refresh", answer=Anything)

    # Reading

    def search(self, query: VectorQuery) -> list[Hit]:
        """See :meth:`VectorStore.search`."""
        if query.k < 1:
            raise InputError(f"k is {query.k}; it must be at least 1")
        meta = self._opened(query.kind, query.corpus)
        if meta is None:
            return []
        if query.vector is None and query.text is None:
            raise InputError("a search needs a vector, a text, or both")
        if query.vector is not None and len(query.vector) != meta.dimensions:
            raise ModelMismatchError(
                f"the vector of the question has {len(query.vector)} dimensions, those of corpus {query.corpus!r} have "
                f"{meta.dimensions}; use the embedding model of the corpus"
            )
        sources = None if query.where is None else self._allowed(query.corpus, query.where)
        if sources is not None and not sources:
            return []
        inside = Inside(sources, query.hidden)
        if query.vector is not None and query.text is not None:
            depth = max(query.k, _FUSE)
            rankings = [
                [hit.id for hit in self._by_vector(query, depth, inside)],
                [hit.id for hit in self._by_text(query, depth, inside)],
            ]
            return [Hit(item, score) for item, score in reciprocal_rank(rankings)[: query.k]]
        if query.vector is not None:
            return self._by_vector(query, query.k, inside)
        return self._by_text(query, query.k, inside)

    def _by_vector(self, query: VectorQuery, k: int, inside: Inside) -> list[Hit]:
        alias = self.indexes.alias(query.corpus, query.kind)
        vector = np.empty(0, dtype=np.float32) if query.vector is None else query.vector
        return by_vector(self.connection, alias, vector=vector, k=k, inside=inside, sizes=self._sizes)

    def _by_text(self, query: VectorQuery, k: int, inside: Inside) -> list[Hit]:
        wanted = phrases(query.text or "")
        alias = self.indexes.alias(query.corpus, query.kind)
        return by_text(self.connection, alias, phrases=wanted, k=k, inside=inside) if wanted else []

    def _allowed(self, corpus: str, where: Where) -> tuple[str, ...]:
        """The ids of the sources that a filter admits; cached until a source is written or deleted."""
        if self.indexes.meta(corpus, Kind.SOURCE) is None:
            return ()
        alias = self.indexes.alias(corpus, Kind.SOURCE)
        key = None if self.connection.is_serverless else (corpus, where, state(self.connection, alias))
        with self._guard:
            known = None if key is None else self._masks.get(key)
        if known is not None:
            return known
        found = tuple(row.text("id") for row in pages(self.connection, alias, query=to_query(where), fields=["id"]))
        if key is not None:
            with self._guard:
                if len(self._masks) >= _MASKS:
                    self._masks.clear()
                self._masks[key] = found
        return found

    def neighbours(self, kind: Kind, corpus: str, *, vectors: NDArray[np.float32], threshold: float) -> Neighbours:
        """See :meth:`VectorStore.neighbours`. Uses a local copy of the vectors, see :class:`Replica`."""
        meta = self._opened(kind, corpus)
        if meta is None:
            return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
        alias = self.indexes.alias(corpus, kind)
        with self._guard:
            replica = self._replicas.get(alias)
            if replica is None or replica.meta != meta:
                if replica is not None:
                    replica.close()
                replica = self._replicas[alias] = Replica(self.connection, alias, meta=meta)
        return replica.neighbours(vectors, threshold=threshold)

    def vectors(self, kind: Kind, corpus: str, *, ids: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
        """See :meth:`VectorStore.vectors`."""
        meta = self._opened(kind, corpus)
        if meta is None or not ids:
            return [], np.empty((0, 0 if meta is None else meta.dimensions), dtype=np.float32)
        alias = self.indexes.alias(corpus, kind)
        wanted = list(dict.fromkeys(ids))
        held: dict[str, int] = {}
        parts = [np.empty((0, meta.dimensions), dtype=np.float32)]
        for part in _cut(wanted, _VECTORS):
            body: dict[str, Json] = {
                "size": len(part) * (_COPIES if self.connection.is_serverless else 1),
                "query": {"bool": {"filter": one_of("id", part)}},
                "docvalue_fields": ["id", "data"],
            }
            rows = find(self.connection, alias, body=body).hits.hits
            held.update({row.text("id"): at for at, row in enumerate(rows, len(held))})
            parts.append(matrix(rows, meta.dimensions))
        found = [item for item in wanted if item in held]
        return found, np.concatenate(parts)[[held[item] for item in found]]

    def ids(self, kind: Kind, corpus: str, *, among: Sequence[str] | None = None) -> set[str]:
        """See :meth:`VectorStore.ids`."""
        if self._opened(kind, corpus) is None:
            return set()
        alias = self.indexes.alias(corpus, kind)
        everything: Json = {"match_all": {}}
        queries: list[Json] = [everything]
        if among is not None:
            queries = [{"bool": {"filter": one_of("id", part)}} for part in _cut(list(among), PAGE)]
        found = (pages(self.connection, alias, query=query, fields=["id"]) for query in queries)
        return {row.text("id") for row in itertools.chain.from_iterable(found)}

    def examine(self, kind: Kind, corpus: str, *, rows: Iterable[Row], repair: bool = False) -> Damage:
        """See :meth:`VectorStore.examine`."""
        meta = self._opened(kind, corpus)
        if meta is None:
            return Damage()
        held = list(rows) if repair else rows
        alias = self.indexes.alias(corpus, kind)
        found = damage.examine(self.connection, alias, dimensions=meta.dimensions, rows=held)
        if not repair or found.is_none:
            return found
        written = {item.id: item for item in held if item.id in found.texts - found.vectors}
        for part in _cut(sorted(written), _VECTORS):
            ids, matrix = self.vectors(kind, corpus, ids=part)
            texts, sources = zip(*(written[name][1:] for name in ids), strict=True)
            block = VectorBlock(kind, tuple(ids), texts, sources, meta.dimensions, matrix.tobytes())
            self.upsert(VectorBatch(corpus, content_id("repair", corpus, kind, *ids), (), (block,)))
        if found.vectors:
            self.delete(corpus, {kind: sorted(found.vectors)})
        return found

    def _opened(self, kind: Kind, corpus: str) -> Meta | None:
        self._check_schema(is_writing=False)
        return self.indexes.meta(corpus, kind)

    def _count(self, alias: str) -> int:
        return find(self.connection, alias, body={"size": 0, "track_total_hits": True}).count

    def _check_schema(self, *, is_writing: bool) -> None:
        """Checks the migrations of the server; applies all of them before the first write to an empty one."""
        if self._is_checked:
            return
        plan = migrate.plan(self.target)
        if not plan.applied:
            if not is_writing:
                return
            migrate.apply(self.target)
        elif plan.pending:
            names = ", ".join(item.label for item in plan.pending)
            raise MigrationError(
                f"{self.connection.url}: the vector store needs migration {names}; run: hlgraph migrate apply"
            )
        self._is_checked = True


def _check(block: VectorBlock) -> None:
    """Refuses vectors that no server can hold, before anything is written."""
    values = block.matrix()
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise InputError(
            f"the vector of {block.kind} {block.ids[at]} holds a number that is not finite; embed its text again"
        )


def _row_items(block: VectorBlock, change: str) -> Iterator[bulk.Item]:
    """Each row as a document with its vector twice: as numbers for the k-NN field, and as bytes to read back."""
    encoder = msgspec.json.Encoder()
    values = np.ascontiguousarray(block.matrix(), dtype="<f4")
    for at, name in enumerate(block.ids):
        row = values[at]
        words = terms(block.texts[at])
        document = {
            "id": name,
            "source": block.source_ids[at],
            "change": change,
            "length": len(words),
            "words": " ".join(words),
            # Nine decimals, from which HNSW is built; scores come from the bytes.
            "vector": np.round(row.astype(np.float64), 9).tolist(),
            "data": base64.b64encode(row.tobytes()).decode(),
        }
        yield bulk.Item(name, encoder.encode(document))


def _source_item(source: Source) -> bulk.Item:
    document: dict[str, Json] = {
        "id": source.id,
        "conditions": list[Json](conditions(source)),
        "described": {
            "uri": source.uri,
            "title": source.title,
            "metadata": msgspec.json.encode(source.metadata).decode(),
        },
    }
    return bulk.Item(source.id, msgspec.json.encode(document))


def _cut(items: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    return (items[at : at + size] for at in range(0, len(items), size))
