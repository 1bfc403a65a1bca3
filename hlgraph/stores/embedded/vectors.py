"""Vectors in memory-mapped matrices and text in lists of rows by word: the VectorStore of the embedded store."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.fusion import reciprocal_rank, top_k
from hlgraph.algorithms.similarity import ThresholdIndex, pairs_between
from hlgraph.errors import InputError, ModelMismatchError, StoreCorruptError
from hlgraph.records import Hit, Kind
from hlgraph.stores.embedded import sqlite, vector_files
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.rows import metadata_json, script
from hlgraph.stores.embedded.sqlite import mapped, reading
from hlgraph.stores.embedded.text_rows import best_first, query_words, ranked
from hlgraph.stores.embedded.vector_files import (
    NO_ROW,
    CoarseRows,
    Columns,
    RowFiles,
    State,
    clean_files,
    free_rows,
    matrix_path,
    no_rows,
    read_columns,
    read_rows,
    states,
    write_block,
)
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.image.graph_files import log_level
from hlgraph.stores.protocols import Damage, Neighbours, Remnants, Row, VectorBatch, VectorQuery, VectorStore, base_of
from hlgraph.stores.trace import traced
from hlgraph.text import content_words, words
from hlgraph.where import Where, to_text

_log = logging.getLogger(__name__)
_PLACES = 32_000  # slots that a view caches, before it begins again


@dataclass(frozen=True, slots=True)
class View:
    """The rows of one kind of one corpus, as one state of the matrix has them. A row is named by its slot.

    A view is refreshed with the rows that were written and deleted since. Up to ``vector_files.LEAST_ROWS`` rows are in
    memory; beyond that, the first rows are in mapped files, and only later ones in memory.
    ``index`` and ``coarse`` only grow, and the next view takes them over. A slot is used only once in a generation, so they
    stay valid after deletions.

    Attributes
    ----------
    state : state of the matrix
    matrix : shape (slots, d), memory-mapped
    first : rows of the first slots, in mapped files
    rest : rows of the other slots, in memory
    names : position of each source and change of ``rest``, counted from the end of the names of ``first``
    gone : slots without a row, ascending
    index : at most one index, for neighbours
    coarse : 8-bit codes for the first pass of a search, part by part
    slots : slots by id, of vectors that searches read
    """

    state: State
    matrix: NDArray[np.float32]
    first: Columns
    rest: Columns
    names: dict[str, int]
    gone: NDArray[np.int64]
    index: list[ThresholdIndex]
    coarse: list[CoarseRows]
    slots: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.matrix) - len(self.gone)

    def is_there(self) -> NDArray[np.bool_]:
        """Which slots have a row."""
        mask = np.ones(len(self.matrix), dtype=bool)
        mask[self.gone] = False
        return mask

    def altered(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of some rows do not hold the vector that was written: one checksum per row.

        Parameters
        ----------
        rows : slots
        """
        wanted = self.column("checksums", rows).tolist()
        pairs = zip(np.ascontiguousarray(self.matrix[rows]), wanted, strict=True)
        return np.array([zlib.crc32(vector.data) != checksum for vector, checksum in pairs], dtype=bool)

    def is_of(self, column: Literal["sources", "changes"], names: Collection[str]) -> NDArray[np.bool_]:
        """Which rows belong to one of these sources, or were written by one of these changes.

        Parameters
        ----------
        column : which of both
        names : ids of the sources or changes
        """
        wanted = np.array([name.encode() for name in names] or [b""], dtype=np.bytes_)
        first = np.isin(self.first.names, wanted) & (len(names) > 0)
        rest = np.fromiter((name in names for name in self.names), dtype=bool, count=len(self.names))
        # By position of the name; the last element is for slots without a row.
        mask: NDArray[np.bool_] = np.concatenate([first, rest, [False]])[self.column(column)]
        return mask

    def column(self, name: str, rows: NDArray[np.integer] | None = None) -> NDArray[Any]:
        """A column of some rows.

        Parameters
        ----------
        name : see :class:`Columns`
        rows : slots; None: all
        """
        first: NDArray[Any] = getattr(self.first, name)
        rest: NDArray[Any] = getattr(self.rest, name)
        if not len(rest) or not len(first):
            every = rest if len(rest) else first
            return every if rows is None else every[rows]
        if rows is None:
            return np.concatenate([first, rest])
        values = np.empty(len(rows), dtype=rest.dtype)
        is_first = rows < len(first)
        values[is_first] = first[rows[is_first]]
        values[~is_first] = rest[rows[~is_first] - len(first)]
        return values


class Views:
    """The views of a store, one per kind and corpus, shared by all readers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._views: dict[tuple[Kind, str], View] = {}
        self._guard = threading.Lock()

    def clear(self) -> None:
        """Release the memory maps."""
        self._views.clear()

    def view(self, kind: Kind, corpus: str) -> View | None:
        """The present rows; None if the store has none. Reads only new rows, unless rows were deleted.

        Parameters
        ----------
        kind : kind of the rows
        corpus : name of the corpus
        """
        with self._guard, reading(self._database.path):
            for is_in_files in (True, False):
                with self._database.snapshot():
                    matrices = states(self._database.reader(), "WHERE corpus = ? AND kind = ?", values=(corpus, kind))
                    if not matrices:
                        return None
                    state = matrices[0][2]
                    cached = self._views.get((kind, corpus))
                    # This reader began before another one.
                    is_older = cached is not None and _is_older(state, cached.state)
                    view = self._begun(state, None if is_older else cached)
                    if view.state == state:
                        return view
                    if not is_in_files or state.slots - view.first.end < vector_files.LEAST_ROWS:
                        view = self._extended(view, state)
                        if not is_older:
                            self._views[kind, corpus] = view
                        return view
                self._make(state, lambda files: files.write_columns(self._database.reader()))
            return None

    def codes(self, view: View) -> list[CoarseRows]:
        """The codes of all slots: from files, and computed for later slots. The view keeps them."""
        count = len(view.matrix)
        files = RowFiles(self._database.path, view.state)
        none = CoarseRows.of(view.state.dimensions)
        first, rest = (*view.coarse, none, none)[:2]
        if not first.size or count - first.size >= vector_files.LEAST_ROWS:
            stored = files.codes(view.state.dimensions) or none
            if count - stored.size >= vector_files.LEAST_ROWS:
                with mapped(self._database.path):
                    self._make(view.state, lambda files: files.write_codes(view.matrix))
                stored = files.codes(view.state.dimensions) or none
            if first.size < stored.size <= count:
                first, rest = stored, none
        if first.size < vector_files.LEAST_ROWS:
            first, rest = first.grown(view.matrix), none
        elif first.size < count:
            rest = rest.grown(view.matrix[first.size :])
        view.coarse[:] = first, rest
        return view.coarse

    def _begun(self, state: State, cached: View | None) -> View:
        """The rows in files and those in memory that fit them; the cached view if nothing was written or deleted since."""
        if cached is not None and cached.state == state:
            return cached
        if cached is not None and cached.state[:2] != state[:2]:
            cached = None  # of another generation
        if cached is not None and len(cached.matrix) == state.slots:
            matrix = cached.matrix  # a deletion wipes rows in place, and to map a gigabyte again takes ten milliseconds
        else:
            path = matrix_path(self._database.path, state.file, generation=state.generation)
            matrix = read_rows(path, state.slots, dimensions=state.dimensions)  # before anything is made of that length
        first = RowFiles(self._database.path, state).columns()  # mapped again: another process may have made them again
        index, coarse = ([], []) if cached is None else (cached.index, cached.coarse)
        rest, names = no_rows(), dict[str, int]()
        if cached is not None and cached.first.end == first.end and len(cached.first.names) == len(first.names):
            rest, names = cached.rest, dict(cached.names)
        gone = np.empty(0, dtype=np.int64)
        return View(state._replace(writes=-1), matrix, first, rest, names, gone, index, coarse)

    def _extended(self, view: View, state: State) -> View:
        connection = self._database.reader()
        rest = read_columns(connection, view.rest, state=state, first=view.first, names=view.names)
        # The writer has wiped the other free slots in the files.
        query = "SELECT slot FROM vector_free WHERE file = ? AND (slot >= ? OR is_zeroed = 0) ORDER BY slot"
        freed = np.array([slot for (slot,) in connection.execute(query, (state.file, view.first.end))], dtype=np.int64)
        later = freed[(freed >= view.first.end) & (freed < state.slots)] - view.first.end
        rest.sources[later] = NO_ROW
        gone = [np.flatnonzero(part.sources == NO_ROW) for part in (view.first, rest)]
        gone = [np.union1d(gone[0], freed[(freed >= 0) & (freed < view.first.end)]), gone[1] + view.first.end]
        return replace(view, state=state, rest=rest, gone=np.concatenate(gone).astype(np.int64))

    def _make(self, state: State, make: Callable[[RowFiles], None]) -> None:
        """Write files for the present state of a generation, unless it is over; on failure the rows stay in memory."""
        try:
            # The lock before the state, see vector_files.
            with RowFiles(self._database.path, state).making(), self._database.snapshot():
                for _, _, present in states(
                    self._database.reader(), "WHERE (file, generation) = (?, ?)", values=state[:2]
                ):
                    make(RowFiles(self._database.path, present))
        except (OSError, ValueError) as error:
            _log.log(log_level(error), "the rows of vector file %d are held in memory: %s", state.file, error)


def _is_older(state: State, other: State) -> bool:
    """Whether a state of a matrix came before another one of the same matrix; all its numbers only grow."""
    return state.file == other.file and state != other and max(state, other) == other


_Read = TypeVar("_Read")
_Vectors = tuple[list[str], NDArray[np.float32]]
_Places = dict[str, int]

_SLOTS = "SELECT id, slot FROM vector WHERE file = :file AND key IN (SELECT hlgraph_key(value) FROM json_each(:ids))"
_FUSE = 100  # minimum length of the two rankings of a hybrid search
_GATHER = 20  # rows are gathered if they are fewer than one in this many
_SIGHTS = 64  # lists of rows of callers that are kept
_THREADED = 50_000  # minimum number of rows before a product uses threads
_FEW = 100  # maximum number of vectors for which products with all rows are faster than an index of the rows


class Sights:
    """The rows that callers may see, kept until a source or the rows of the matrix change."""

    def __init__(self) -> None:
        self._rows: dict[tuple[object, ...], NDArray[np.int64]] = {}

    def of(
        self, query: VectorQuery, connection: sqlite3.Connection, *, totals: tuple[int, ...], read: Callable[[], Any]
    ) -> NDArray[np.int64]:
        """The numbers of all rows that a query may see, ascending.

        Parameters
        ----------
        query : the query
        connection : connection to read with
        totals : file of the matrix, number of its texts and their length
        read : reads the numbers
        """
        version = connection.execute("SELECT version FROM vector_source_version").fetchone()[0]
        key = (*totals, query.where, version)
        is_shared = query.among is None and not query.hidden
        rows = self._rows.get(key) if is_shared else None
        if rows is None:
            rows = np.array([n for (n,) in read()], dtype=np.int64)
            if is_shared:
                if len(self._rows) >= _SIGHTS:
                    self._rows.clear()
                self._rows[key] = rows
        return rows


class EmbeddedVectorStore(VectorStore):
    """Vectors and text of the store in one directory; see :class:`hlgraph.stores.protocols.VectorStore`.

    A search by vector multiplies the memory-mapped matrix with the query vector, applies the filter and takes the k best.
    With many rows, 8-bit codes first exclude most of them, without changing the result.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        database.at_end.append(functools.partial(clean_files, database))
        self._views = Views(database)
        self._masks: dict[tuple[str, Where, int], frozenset[str]] = {}
        self._sights = Sights()
        self._searched: set[tuple[str, Kind]] = set()
        self._guard = threading.Lock()

    def close(self) -> None:
        """Close the files."""
        self._views.clear()
        self._database.close()

    def remnants(self, corpus: str) -> Remnants:  # noqa: ARG002
        """See :meth:`VectorStore.remnants`."""
        from hlgraph.stores.embedded.doctor import remnants

        return remnants(self._database)

    # Writing

    def upsert(self, batch: VectorBatch) -> None:
        """See :meth:`VectorStore.upsert`."""
        with self._database.lock(), self._database.transaction() as connection:
            place = self.place_of(batch.corpus)
            if batch.sources:
                connection.executemany(
                    "INSERT OR REPLACE INTO vector_source VALUES (?, ?, ?, ?, ?)",
                    ((s.id, place.base, s.uri, s.title, metadata_json(s)) for s in batch.sources),
                )
                connection.execute("UPDATE vector_source_version SET version = version + 1")
            for block in batch.blocks:
                write_block(self._database, block, batch=replace(batch, corpus=place.name))
                self._free(connection, place.others, kind=block.kind, wanted=json.dumps(block.ids))

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        """See :meth:`VectorStore.delete`."""
        count = 0
        with self._database.lock(), self._database.transaction() as connection:
            place = self.place_of(corpus)
            for name, items in ids.items():
                wanted = json.dumps(list(items))
                if name == Kind.SOURCE:
                    count += connection.execute(
                        "DELETE FROM vector_source WHERE id IN (SELECT value FROM json_each(?)) AND corpus = ?",
                        (wanted, place.base),
                    ).rowcount
                    connection.execute("UPDATE vector_source_version SET version = version + 1")
                    continue
                count += self._free(connection, [place.name], kind=name, wanted=wanted)
                self._free(connection, place.others, kind=name, wanted=wanted)
        return count

    def _free(self, connection: sqlite3.Connection, names: Iterable[str], *, kind: str, wanted: str) -> int:
        """Remove rows from sets that are stored under these names."""
        return sum(
            free_rows(self._database, state.file, wanted=wanted)
            for name in names
            for _, _, state in states(connection, "WHERE corpus = ? AND kind = ?", values=(name, kind))
        )

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
        text = f"the {k:,} highest products of the question and the vectors of every {query.kind} of the corpus"

        def params() -> dict[str, object]:
            where = {} if query.where is None else {"where": to_text(query.where)}
            return {"corpus": base_of(query.corpus), "k": k, "vector": query.vector, **where}

        with traced(sqlite.STORE, f"search {query.kind} by vector", text=text, params=params) as call:
            with reading(self._database.path):
                hits = self._read(query.kind, query.corpus, lambda view: self._nearest(view, query, k)) or []
            call.rows = len(hits)
        return hits

    def _read(self, kind: Kind, corpus: str, read: Callable[[View], _Read]) -> _Read | None:
        """The result of a function on the present rows; None if there are none."""
        name = self.place_of(corpus).name
        while True:
            view = self._views.view(kind, name) if self._database.exists() else None
            if view is None:
                return None
            try:
                return read(view)
            except StoreCorruptError:  # unless the writer has wiped a row since the view was made
                if self._views.view(kind, name) is view:
                    raise

    def _nearest(self, view: View, query: VectorQuery, k: int) -> list[Hit]:
        if query.vector is None or not len(view):
            return []
        if len(query.vector) != view.state.dimensions:
            self._verify(view, np.flatnonzero(view.is_there())[:1])  # as rows of another length, all would be altered
            raise ModelMismatchError(
                f"the vector of the question has {len(query.vector)} dimensions, those of corpus {base_of(query.corpus)!r} have "
                f"{view.state.dimensions}; use the embedding model of the corpus"
            )
        question = query.vector.astype(np.float32)
        rows = self._narrowed(view, query, k, rows=self._admitted(view, query))
        scores = _scores(view, question, rows)
        ids = view.column("ids", rows)
        unusable = np.flatnonzero(~np.isfinite(scores))
        self._verify(view, unusable if rows is None else rows[unusable])
        best = top_k(scores, k, tie_break=ids)
        self._verify(view, best if rows is None else rows[best])
        return list(map(Hit, ids[best].astype(np.str_).tolist(), scores[best].tolist()))

    def _verify(self, view: View, rows: NDArray[np.intp]) -> None:
        """Raise StoreCorruptError if one of some rows does not hold what was written."""
        altered = rows[view.altered(rows)]
        if len(altered):
            name = str(view.column("ids", altered[:1])[0], "ascii")
            raise sqlite.corrupt(self._database.path, f"the vector of {name} is not the one that was written")

    def _narrowed(
        self, view: View, query: VectorQuery, k: int, *, rows: NDArray[np.intp] | None
    ) -> NDArray[np.intp] | None:
        """The rows to score (None: all slots): those given, or fewer that include the ``k`` best, if that is faster.

        The first search of a process, often its only one, does not use the codes.
        """
        count = len(view) if rows is None else len(rows)
        every = np.flatnonzero(view.is_there()) if rows is None and len(view.gone) else rows
        if (
            count < vector_files.COARSE_LEAST_ROWS
            or query.vector is None
            or not vector_files.is_wanted(len(view.matrix))
        ):
            return every
        with self._guard:  # the codes grow
            if not view.coarse and (query.corpus, query.kind) not in self._searched:
                self._searched.add((query.corpus, query.kind))
                return every
            codes = self._views.codes(view)
        positions = vector_files.candidates(codes, query.vector, k=k, slots=rows, without=view.gone)
        return positions if rows is None else rows[positions]

    def _admitted(self, view: View, query: VectorQuery) -> NDArray[np.intp] | None:
        """The rows that a query may see; None: all."""
        if not query.hidden and query.where is None and query.among is None:
            return None
        keep = view.is_there()
        if query.among is not None:
            keep &= np.isin(view.column("ids"), np.array(query.among or [""], dtype="S32"))
        if query.hidden:
            keep &= ~view.is_of("changes", query.hidden)
        if query.where is not None:
            keep &= view.is_of("sources", self._allowed(base_of(query.corpus), query.where))
        return np.flatnonzero(keep)

    def _allowed(self, corpus: str, where: Where) -> frozenset[str]:
        connection = self._database.reader()
        with mapped(self._database.path):
            version = connection.execute("SELECT version FROM vector_source_version").fetchone()[0]
            key = (corpus, where, version)
            sources = self._masks.get(key)
            if sources is None:
                condition, values = to_sql(where)
                statement = f"SELECT id FROM vector_source AS source WHERE corpus = :corpus AND {condition}"
                rows = self._database.select("read admitted sources", statement, values={**values, "corpus": corpus})
                sources = frozenset(item for (item,) in rows)
                if len(self._masks) >= 64:
                    self._masks.clear()
                self._masks[key] = sources
        return sources

    def _by_text(self, query: VectorQuery, k: int) -> list[Hit]:
        text = query.text or ""
        terms = list(dict.fromkeys(content_words(text) or words(text)))
        if not terms:
            return []
        inside = "true"
        values: dict[str, str | int | float] = {}
        if query.where is not None:
            condition, values = to_sql(query.where)
            inside = f"o.source IN (SELECT id FROM vector_source AS source WHERE corpus = :corpus AND {condition})"
        if query.among is not None:
            inside += " AND v.id IN (SELECT value FROM json_each(:among))"
            values["among"] = json.dumps(query.among)
        wanted = query_words(terms)
        lists, admitted, every = script("search_text")
        # The totals, the lists and the rows are of one state.
        with reading(self._database.path), self._database.snapshot():
            connection = self._database.reader()
            row = connection.execute(
                "SELECT file, texts, length FROM vector_file WHERE corpus = ? AND kind = ?",
                (self.place_of(query.corpus).name, query.kind),
            ).fetchone()
            if row is None:
                return []
            of = {"file": row[0], "words": json.dumps(list(dict.fromkeys(wanted)))}
            values |= {"file": row[0], "corpus": base_of(query.corpus), "hidden": json.dumps(query.hidden)}

            def rows_in_sight() -> Any:
                return connection.execute(every.format(inside=inside), values)

            only = self._sights.of(query, connection, totals=row, read=rows_in_sight) if query.is_alone else None
            with sqlite.sql(f"search {query.kind} by text", lists, values=of) as call:
                blocks = connection.execute(lists, of).fetchall()
                rows, scores = ranked(wanted, blocks, texts=row[1], length=row[2], only=only)
                call.rows = len(rows)
            hits: list[Hit] = []
            for part in best_first(scores, 2 * k):
                values["rows"] = json.dumps(rows[part].tolist())
                names = dict(connection.execute(admitted.format(inside=inside), values))
                pairs = zip(rows[part].tolist(), scores[part].tolist(), strict=True)
                hits += sorted((Hit(names[n], score) for n, score in pairs if n in names), key=_best)
                if len(hits) >= k:
                    break
        return hits[:k]

    def neighbours(self, kind: Kind, corpus: str, *, vectors: NDArray[np.float32], threshold: float) -> Neighbours:
        """See :meth:`VectorStore.neighbours`."""
        view = self._views.view(kind, self.place_of(corpus).name) if self._database.exists() else None
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
        names = view.column("ids", pairs.base[keep]).astype(np.str_).tolist()
        return Neighbours(pairs.queries[keep], names, pairs.similarities[keep])

    def vectors(
        self,
        kind: Kind,
        corpus: str,
        *,
        ids: Sequence[str],
        state: str = "",  # noqa: ARG002 - the database tells by itself that it was changed
    ) -> _Vectors:
        """See :meth:`VectorStore.vectors`. Nothing is kept for those who read a whole corpus."""
        return self._vectors(kind, corpus, ids=ids, kept=lambda _: {})

    def vectors_many(
        self,
        corpus: str,
        ids: Mapping[Kind, Sequence[str]],
        *,
        state: str = "",  # noqa: ARG002
    ) -> dict[Kind, _Vectors]:
        """See :meth:`VectorStore.vectors_many`. Searches call it, again and again."""
        return {kind: self._vectors(kind, corpus, ids=some, kept=attrgetter("slots")) for kind, some in ids.items()}

    def _vectors(self, kind: Kind, corpus: str, *, ids: Sequence[str], kept: Callable[[View], _Places]) -> _Vectors:
        result = self._read(kind, corpus, lambda view: self._vectors_in(view, kind, ids=ids, known=kept(view)))
        return ([], np.empty((0, 0), dtype=np.float32)) if result is None else result

    def _vectors_in(self, view: View, kind: Kind, *, ids: Sequence[str], known: _Places) -> _Vectors:
        if not ids:
            return [], np.empty((0, view.state.dimensions), dtype=np.float32)
        with reading(self._database.path):
            slots = _slots(self._database.reader(), view, kind=kind, ids=ids, known=known)
            rows = np.array(list(slots.values()), dtype=np.int64)
            vectors = np.asarray(view.matrix[rows], dtype=np.float32)
            # Verify the vectors that cannot be calculated with, and one more: a search reads thousands.
            suspects = np.append(np.flatnonzero(~np.isfinite(vectors).all(axis=1)), np.arange(min(len(vectors), 1)))
            self._verify(view, rows[suspects])
        return list(slots), vectors

    def examine(
        self, kind: Kind, corpus: str, *, rows: Iterable[Row], dimensions: int = 0, repair: bool = False
    ) -> Damage:
        """See :meth:`VectorStore.examine`."""
        from hlgraph.stores.embedded import doctor

        if not self._database.exists():
            return Damage()
        values = (self.place_of(corpus).name, kind)
        with self._database.lock() if repair else contextlib.nullcontext(), mapped(self._database.path):
            for _, _, state in states(self._database.reader(), "WHERE corpus = ? AND kind = ?", values=values):
                return doctor.examine(self._database, state, rows=rows, dimensions=dimensions, repair=repair)
        return Damage()

    def ids(self, kind: Kind, corpus: str, *, among: Sequence[str] | None = None) -> set[str]:
        """See :meth:`VectorStore.ids`."""
        if not self._database.exists():
            return set()
        if kind is Kind.SOURCE:
            query = "SELECT id FROM vector_source WHERE corpus = :corpus"
        else:
            query = "SELECT v.id FROM vector AS v JOIN vector_file USING (file) WHERE corpus = :corpus AND kind = :kind"
        place = self.place_of(corpus)
        values: dict[str, str] = {"corpus": place.base if kind is Kind.SOURCE else place.name, "kind": kind}
        if among is not None:
            column = "id" if kind is Kind.SOURCE else "key"
            wanted = "value" if kind is Kind.SOURCE else "hlgraph_key(value)"
            query += f" AND {column} IN (SELECT {wanted} FROM json_each(:among))"
            values["among"] = json.dumps(list(among))
        with mapped(self._database.path):
            return {item for (item,) in self._database.reader().execute(query, values)}


def _slots(connection: sqlite3.Connection, view: View, *, kind: Kind, ids: Sequence[str], known: _Places) -> _Places:
    """The slots of vectors by id, in the order of the ids; those that are read are added to the known ones."""
    values = {"file": view.state.file, "ids": json.dumps(list(ids))}
    with sqlite.sql(f"read vectors {kind}", _SLOTS, values=values) as call:
        slots = {item: slot for item in ids if (slot := known.get(item)) is not None}
        missing = [item for item in ids if item not in slots]
        if missing:
            fresh = dict(connection.execute(_SLOTS, {**values, "ids": json.dumps(missing)}).fetchall())
            if len(known) > _PLACES:
                known.clear()
            known.update(fresh)
            slots |= fresh
            slots = {item: slots[item] for item in ids if item in slots}
        call.rows = len(slots)
    return slots


def _best(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.id


def _scores(view: View, vector: NDArray[np.float32], rows: NDArray[np.intp] | None) -> NDArray[np.float32]:
    """Cosines of the rows (None: all slots). Few rows are gathered; many are taken from one product with the whole matrix."""
    if rows is not None and len(rows) * _GATHER < len(view.matrix):
        gathered: NDArray[np.float32] = np.vecdot(view.matrix[rows], vector)
        return gathered
    # Use threads for many rows only: waking them costs time, and far more on a busy machine. They add in another order, so
    # they must not score rows that another search may find by their codes and score one by one.
    is_threaded = len(view.matrix) >= _THREADED and not vector_files.is_wanted(len(view.matrix))
    scores: NDArray[np.float32] = view.matrix @ vector if is_threaded else np.vecdot(view.matrix, vector)
    return scores if rows is None else scores[rows]
