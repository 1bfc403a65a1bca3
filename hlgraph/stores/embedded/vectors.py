"""Vectors in memory-mapped matrices and text in lists of rows by word: the VectorStore of the embedded store."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.algorithms.similarity import ThresholdIndex, pairs_between
from hlgraph.algorithms.topk import top_k
from hlgraph.errors import InputError, ModelMismatchError, StoreCorruptError
from hlgraph.records import Hit, Kind
from hlgraph.stores.embedded import coarse, sqlite
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.rows import Recent, metadata_json, script
from hlgraph.stores.embedded.sqlite import mapped, reading
from hlgraph.stores.embedded.text_rows import best_first, query_words, ranked
from hlgraph.stores.embedded.vector_rows import clean_files, free_rows, write_block
from hlgraph.stores.embedded.view import View, Views
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.protocols import Damage, Neighbours, Row, VectorBatch, VectorQuery
from hlgraph.text import content_words, words
from hlgraph.where import Where

_Read = TypeVar("_Read")

_SLOTS = "SELECT id, slot FROM vector WHERE file = :file AND id IN (SELECT value FROM json_each(:ids))"
_FUSE = 100  # minimum length of the two rankings of a hybrid search
_PLACES = 100_000  # slots of recently read vectors that are cached, for each kind
_GATHER = 20  # rows are gathered if they are fewer than one in this many
_THREADED = 50_000  # minimum number of rows before a product uses threads
_FEW = 100  # maximum number of vectors for which products with all rows are faster than an index of the rows


class EmbeddedVectorStore:
    """Vectors and text of the store in one directory; see :class:`hlgraph.stores.protocols.VectorStore`.

    A search by vector multiplies the memory-mapped matrix with the query vector, applies the filter and takes the k best.
    With many rows, :mod:`coarse` first excludes most of them, without changing the result.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        database.at_end.append(functools.partial(clean_files, database))
        self._views = Views(database)
        self._masks: dict[tuple[str, Where, int], frozenset[str]] = {}
        self._slots: dict[int, Recent[str, int]] = {}
        self._searched: set[tuple[str, Kind]] = set()
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._views.clear()
        self._database.close()

    # Writing

    def upsert(self, batch: VectorBatch) -> None:
        """See :meth:`VectorStore.upsert`."""
        with self._database.lock(), self._database.transaction() as connection:
            if batch.sources:
                connection.executemany(
                    "INSERT OR REPLACE INTO vector_source VALUES (?, ?, ?, ?, ?)",
                    ((s.id, batch.corpus, s.uri, s.title, metadata_json(s)) for s in batch.sources),
                )
                connection.execute("UPDATE vector_source_version SET version = version + 1")
            for block in batch.blocks:
                write_block(self._database, block, batch=batch)

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        """See :meth:`VectorStore.delete`."""
        count = 0
        with self._database.lock(), self._database.transaction() as connection:
            for name, items in ids.items():
                wanted = json.dumps(list(items))
                if name == Kind.SOURCE:
                    count += connection.execute(
                        "DELETE FROM vector_source WHERE id IN (SELECT value FROM json_each(?)) AND corpus = ?",
                        (wanted, corpus),
                    ).rowcount
                    connection.execute("UPDATE vector_source_version SET version = version + 1")
                    continue
                row = connection.execute(
                    "SELECT file FROM vector_file WHERE corpus = ? AND kind = ?", (corpus, name)
                ).fetchone()
                if row is not None:
                    count += free_rows(self._database, row[0], wanted=wanted)
        return count

    # Reading

    def search_many(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """See :meth:`VectorStore.search_many`."""
        return [self.search(query) for query in queries]

    def search(self, query: VectorQuery) -> list[Hit]:
        """See :meth:`VectorStore.search`."""
        if query.k < 1:
            raise InputError(f"k is {query.k}; it must be at least 1")
        if not self._database.exists():
            return []
        if query.vector is not None and query.text is not None:
            depth = max(query.k, _FUSE)
            rankings = [
                [hit.id for hit in self._by_vector(query, depth)],
                [hit.id for hit in self._by_text(query, depth)],
            ]
            return [Hit(item, score) for item, score in reciprocal_rank(rankings)[: query.k]]
        if query.vector is not None:
            return self._by_vector(query, query.k)
        if query.text is not None:
            return self._by_text(query, query.k)
        raise InputError("a search needs a vector, a text, or both")

    def _by_vector(self, query: VectorQuery, k: int) -> list[Hit]:
        with sqlite.searching(query, k) as call:
            with reading(self._database.path):
                found = self._nearest(query, k)
            call.rows = len(found)
        return found

    def _nearest(self, query: VectorQuery, k: int) -> list[Hit]:
        return self._read(query.kind, query.corpus, lambda view: self._nearest_in(view, query, k)) or []

    def _read(self, kind: Kind, corpus: str, read: Callable[[View], _Read]) -> _Read | None:
        """What a function reads of the present rows; None if there are none."""
        while True:
            view = self._views.view(kind, corpus) if self._database.exists() else None
            if view is None:
                return None
            try:
                return read(view)
            except StoreCorruptError:  # unless the writer has wiped a row since the view was made
                if self._views.view(kind, corpus) is view:
                    raise

    def _nearest_in(self, view: View, query: VectorQuery, k: int) -> list[Hit]:
        if query.vector is None or not len(view):
            return []
        if len(query.vector) != view.dimensions:
            self._verify(view, np.flatnonzero(view.is_there())[:1])  # as rows of another length, all would be altered
            raise ModelMismatchError(
                f"the vector of the question has {len(query.vector)} dimensions, those of corpus {query.corpus!r} have "
                f"{view.dimensions}; use the embedding model of the corpus"
            )
        keep = self._mask(view, query)
        question = query.vector.astype(np.float32)
        rows = self._narrowed(view, query, k, rows=None if keep is None else np.flatnonzero(keep))
        scores = _scores(view, question, rows)
        ids = view.ids(rows)
        unusable = np.flatnonzero(~np.isfinite(scores))
        self._verify(view, unusable if rows is None else rows[unusable])
        best = top_k(scores, k, tie_break=ids)
        self._verify(view, best if rows is None else rows[best])
        return list(map(Hit, ids[best].astype(np.str_).tolist(), scores[best].tolist()))

    def _verify(self, view: View, rows: NDArray[np.intp]) -> None:
        """Raises StoreCorruptError if one of some rows does not hold what was written."""
        altered = rows[view.altered(rows)]
        if len(altered):
            name = str(view.ids(altered[:1])[0], "ascii")
            raise sqlite.corrupt(self._database.path, f"the vector of {name} is not the one that was written")

    def _narrowed(
        self, view: View, query: VectorQuery, k: int, *, rows: NDArray[np.intp] | None
    ) -> NDArray[np.intp] | None:
        """The rows to score (None: all slots): those given, or fewer that include the ``k`` best, where that is faster.

        The first search of a process, often its only one, does not use the codes.
        """
        count = len(view) if rows is None else len(rows)
        every = np.flatnonzero(view.is_there()) if rows is None and len(view.gone) else rows
        if count < coarse.LEAST_ROWS or query.vector is None or not coarse.is_wanted(len(view.matrix)):
            return every
        with self._guard:  # the codes grow
            if not view.coarse and (query.corpus, query.kind) not in self._searched:
                self._searched.add((query.corpus, query.kind))
                return every
            codes = self._views.codes(view)
        found = coarse.candidates(codes, query.vector, k=k, slots=rows, without=view.gone)
        return found if rows is None else rows[found]

    def _mask(self, view: View, query: VectorQuery) -> NDArray[np.bool_] | None:
        """Which rows a query may see; None: all."""
        keep: NDArray[np.bool_] | None = None
        if query.hidden:
            keep = ~view.is_from(query.hidden)
        if query.where is not None:
            is_allowed = view.is_of(self._allowed(query.corpus, query.where))
            keep = is_allowed if keep is None else keep & is_allowed
        if keep is not None:
            keep[view.gone] = False
        return keep

    def _allowed(self, corpus: str, where: Where) -> frozenset[str]:
        connection = self._database.reader()
        with mapped(self._database.path):
            version = connection.execute("SELECT version FROM vector_source_version").fetchone()[0]
            key = (corpus, where, version)
            found = self._masks.get(key)
            if found is None:
                condition, values = to_sql(where)
                statement = f"SELECT id FROM vector_source AS source WHERE corpus = :corpus AND {condition}"
                values = {**values, "corpus": corpus}
                with sqlite.sql("read admitted sources", statement, values=values) as call:
                    found = frozenset(item for (item,) in connection.execute(statement, values))
                    call.rows = len(found)
                if len(self._masks) >= 64:
                    self._masks.clear()
                self._masks[key] = found
        return found

    def _by_text(self, query: VectorQuery, k: int) -> list[Hit]:
        text = query.text or ""
        terms = list(dict.fromkeys(content_words(text) or words(text)))
        if not terms:
            return []
        inside = "true"
        values: dict[str, str | int | float] = {}
        if query.where is not None:
            condition, values = to_sql(query.where)
            inside = f"v.source IN (SELECT id FROM vector_source AS source WHERE corpus = :corpus AND {condition})"
        wanted = query_words(terms)
        lists, admitted = script("search_text")
        # The totals, the lists and the rows are of one state.
        with reading(self._database.path), self._database.snapshot():
            connection = self._database.reader()
            row = connection.execute(
                "SELECT file, texts, length FROM vector_file WHERE corpus = ? AND kind = ?",
                (query.corpus, query.kind),
            ).fetchone()
            if row is None:
                return []
            of = {"file": row[0], "words": json.dumps(list(dict.fromkeys(wanted)))}
            with sqlite.sql(f"search {query.kind} by text", lists, values=of) as call:
                blocks = connection.execute(lists, of).fetchall()
                rows, scores = ranked(wanted, blocks, texts=row[1], length=row[2])
                call.rows = len(rows)
            values |= {"file": row[0], "corpus": query.corpus, "hidden": json.dumps(query.hidden)}
            found: list[Hit] = []
            for part in best_first(scores, 2 * k):
                values["rows"] = json.dumps(rows[part].tolist())
                names = dict(connection.execute(admitted.format(inside=inside), values))
                pairs = zip(rows[part].tolist(), scores[part].tolist(), strict=True)
                found += sorted((Hit(names[n], score) for n, score in pairs if n in names), key=_best)
                if len(found) >= k:
                    break
        return found[:k]

    def neighbours(self, kind: Kind, corpus: str, *, vectors: NDArray[np.float32], threshold: float) -> Neighbours:
        """See :meth:`VectorStore.neighbours`."""
        view = self._views.view(kind, corpus) if self._database.exists() else None
        if view is None or not len(view):
            return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
        with reading(self._database.path), self._guard:  # the index grows
            if not view.index and len(vectors) <= _FEW:
                pairs = pairs_between(vectors, view.matrix, threshold=threshold)
            else:
                if not view.index:
                    view.index.append(ThresholdIndex(np.asarray(view.matrix[:4096])))
                view.index[0].attach(view.matrix)
                pairs = view.index[0].query(vectors, threshold=threshold)
        keep = view.is_there()[pairs.base]
        names = [str(item, "ascii") for item in view.ids(pairs.base[keep])]
        return Neighbours(pairs.queries[keep], names, pairs.similarities[keep])

    def vectors(
        self,
        kind: Kind,
        corpus: str,
        *,
        ids: Sequence[str],
        state: str = "",  # noqa: ARG002 - the database tells by itself that it was changed
    ) -> tuple[list[str], NDArray[np.float32]]:
        """See :meth:`VectorStore.vectors`."""
        found = self._read(kind, corpus, lambda view: self._vectors_in(view, kind, ids))
        return ([], np.empty((0, 0), dtype=np.float32)) if found is None else found

    def vectors_many(
        self, corpus: str, ids: Mapping[Kind, Sequence[str]], *, state: str = ""
    ) -> dict[Kind, tuple[list[str], NDArray[np.float32]]]:
        """See :meth:`VectorStore.vectors_many`."""
        return {kind: self.vectors(kind, corpus, ids=names, state=state) for kind, names in ids.items()}

    def _vectors_in(self, view: View, kind: Kind, ids: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
        if not ids:
            return [], np.empty((0, view.dimensions), dtype=np.float32)
        file = view.state.file

        def read(missing: list[str]) -> dict[str, int]:
            values = {"file": file, "ids": json.dumps(missing)}
            return dict(self._database.reader().execute(_SLOTS, values))

        with self._guard:
            held = self._slots.setdefault(file, Recent(self._database, most=_PLACES, size=lambda _: 1))
        with (
            reading(self._database.path),
            sqlite.sql(f"read vectors {kind}", _SLOTS, values={"file": file, "ids": json.dumps(list(ids))}) as call,
        ):
            slots = held.read(ids, read)
            call.rows = len(slots)
            found = np.asarray(view.matrix[list(slots.values())], dtype=np.float32)
            # All of them have a checksum, but a search reads thousands: what it cannot calculate with, and one more.
            suspects = np.append(np.flatnonzero(~np.isfinite(found).all(axis=1)), np.arange(min(len(found), 1)))
            self._verify(view, np.array(list(slots.values()), dtype=np.int64)[suspects])
            return list(slots), found

    def examine(
        self, kind: Kind, corpus: str, *, rows: Iterable[Row], dimensions: int = 0, repair: bool = False
    ) -> Damage:
        """See :meth:`VectorStore.examine`."""
        from hlgraph.stores.embedded import damage

        if not self._database.exists():
            return Damage()
        with self._database.lock() if repair else contextlib.nullcontext(), mapped(self._database.path):
            for name, of, state in damage.states(self._database.reader()):
                if (name, of) == (corpus, kind):
                    return damage.examine(self._database, state, rows=rows, dimensions=dimensions, repair=repair)
        return Damage()

    def ids(self, kind: Kind, corpus: str, *, among: Sequence[str] | None = None) -> set[str]:
        """See :meth:`VectorStore.ids`."""
        if not self._database.exists():
            return set()
        if kind is Kind.SOURCE:
            query = "SELECT id FROM vector_source WHERE corpus = :corpus"
        else:
            query = "SELECT v.id FROM vector AS v JOIN vector_file USING (file) WHERE corpus = :corpus AND kind = :kind"
        values: dict[str, str] = {"corpus": corpus, "kind": kind}
        if among is not None:
            query += " AND id IN (SELECT value FROM json_each(:among))"
            values["among"] = json.dumps(list(among))
        with mapped(self._database.path):
            return {item for (item,) in self._database.reader().execute(query, values)}


def _best(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.id


def _scores(view: View, vector: NDArray[np.float32], rows: NDArray[np.intp] | None) -> NDArray[np.float32]:
    """Cosines of the rows (None: all slots). Few rows are gathered; many are taken from one product with the whole matrix."""
    if rows is not None and len(rows) * _GATHER < len(view.matrix):
        gathered: NDArray[np.float32] = np.vecdot(view.matrix[rows], vector)
        return gathered
    # Use threads for many rows only: waking them costs time, and far more on a busy machine. They add in another order, so
    # they must not score rows that another search may find by their codes and score one by one.
    is_threaded = len(view.matrix) >= _THREADED and not coarse.is_wanted(len(view.matrix))
    found: NDArray[np.float32] = view.matrix @ vector if is_threaded else np.vecdot(view.matrix, vector)
    return found if rows is None else found[rows]
