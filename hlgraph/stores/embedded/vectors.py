"""VectorStore on SQLite, FTS5 and memory-mapped matrices."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.algorithms.similarity import ThresholdIndex
from hlgraph.algorithms.topk import top_k
from hlgraph.change import VectorBlock
from hlgraph.errors import InputError, ModelMismatchError
from hlgraph.records import Hit, Kind
from hlgraph.stores.embedded.database import Database, mapped
from hlgraph.stores.embedded.matrix import matrix_path, read_rows, write_rows, zero_rows
from hlgraph.stores.embedded.publish import metadata_json
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.stores.protocols import Neighbours, VectorBatch, VectorQuery
from hlgraph.text import words
from hlgraph.where import Where

_TEXT = {
    Kind.CHUNK: "text_chunk",
    Kind.STATEMENT: "text_statement",
    Kind.TOPIC: "text_topic",
    Kind.ENTITY: "text_entity",
}
_FUSE = 100
_COMPACT = 1_000


@dataclass(frozen=True, slots=True)
class _View:
    """One kind of one corpus in memory: row arrays in the order of their slots, over the memory-mapped matrix.

    ``names`` (codes of sources and changes) and ``index`` (at most one, for neighbours) only grow and are handed on.
    """

    file: int
    generation: int
    writes: int
    deletes: int
    last_n: int
    dimensions: int
    matrix: NDArray[np.float32]
    slots: NDArray[np.int64]
    ids: NDArray[np.str_]
    sources: NDArray[np.int64]
    changes: NDArray[np.int64]
    names: dict[str, int]
    index: list[ThresholdIndex]


class EmbeddedVectorStore:
    """Vectors and text of one directory; see :class:`hlgraph.stores.protocols.VectorStore`.

    Search is exact: one product over the memory-mapped matrix, then a filter mask, then the k best.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._views: dict[tuple[Kind, str], _View] = {}
        self._masks: dict[tuple[str, Where, int], frozenset[str]] = {}
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
        """See the protocol."""
        with self._database.lock(), self._database.transaction() as connection:
            if batch.sources:
                connection.executemany(
                    "INSERT OR REPLACE INTO vector_source VALUES (?, ?, ?, ?, ?)",
                    ((s.id, batch.corpus, s.uri, s.title, metadata_json(s)) for s in batch.sources),
                )
                connection.execute("UPDATE vector_source_version SET version = version + 1")
            for block in batch.blocks:
                self._write(block, batch)

    def _write(self, block: VectorBlock, batch: VectorBatch) -> None:
        connection = self._database.writer()
        connection.execute(
            "INSERT OR IGNORE INTO vector_file (corpus, kind, dimensions) VALUES (?, ?, ?)",
            (batch.corpus, block.kind, block.dimensions),
        )
        file, generation, dimensions, slots = connection.execute(
            "SELECT file, generation, dimensions, slots FROM vector_file WHERE corpus = ? AND kind = ?",
            (batch.corpus, block.kind),
        ).fetchone()
        if dimensions != block.dimensions:
            raise ModelMismatchError(
                f"corpus {batch.corpus!r} holds {block.kind} vectors of {dimensions} dimensions, these have "
                f"{block.dimensions}; use the model that the corpus was made with, or another corpus"
            )
        held = dict(
            connection.execute(
                "SELECT id, change FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))",
                (file, json.dumps(block.ids)),
            )
        )
        fresh = [at for at, item in enumerate(block.ids) if held.get(item) != batch.change_id]
        if not fresh:
            return
        replaced = [block.ids[at] for at in fresh if block.ids[at] in held]
        if replaced:
            self._free(file, block.kind, json.dumps(replaced))
        write_rows(matrix_path(self._database.path, file, generation), slots, block.matrix()[fresh])
        connection.executemany(
            "INSERT INTO vector (file, id, source, change, slot) VALUES (?, ?, ?, ?, ?)",
            (
                (file, block.ids[at], block.source_ids[at], batch.change_id, slots + place)
                for place, at in enumerate(fresh)
            ),
        )
        n = {
            item: row
            for item, row in connection.execute("SELECT id, n FROM vector WHERE file = ? AND slot >= ?", (file, slots))
        }
        connection.executemany(
            f"INSERT INTO {_TEXT[block.kind]} (rowid, words) VALUES (?, ?)",  # noqa: S608 - a closed table of names
            ((n[block.ids[at]], " ".join(words(block.texts[at]))) for at in fresh),
        )
        connection.execute(
            "UPDATE vector_file SET slots = slots + ?, writes = writes + 1 WHERE file = ?", (len(fresh), file)
        )

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        """See the protocol."""
        count = 0
        files: list[int] = []
        with self._database.lock():
            with self._database.transaction() as connection:
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
                        count += self._free(row[0], Kind(name), wanted)
                        files.append(row[0])
            for file in files:
                self._clean(file)
        return count

    def _free(self, file: int, kind: Kind, wanted: str) -> int:
        connection = self._database.writer()
        rows = connection.execute(
            "SELECT n, slot FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))", (file, wanted)
        ).fetchall()
        if not rows:
            return 0
        connection.executemany(f"DELETE FROM {_TEXT[kind]} WHERE rowid = ?", ((n,) for n, _ in rows))  # noqa: S608
        connection.executemany("DELETE FROM vector WHERE n = ?", ((n,) for n, _ in rows))
        connection.executemany("INSERT INTO vector_free (file, slot) VALUES (?, ?)", ((file, slot) for _, slot in rows))
        connection.execute("UPDATE vector_file SET deletes = deletes + 1 WHERE file = ?", (file,))
        # Merging the segments is what takes deleted words out of the index for good.
        connection.execute(f"INSERT INTO {_TEXT[kind]} ({_TEXT[kind]}) VALUES ('optimize')")  # noqa: S608
        return len(rows)

    def _clean(self, file: int) -> None:
        """Zero the freed rows on the disk; write the matrix anew when most of it is free."""
        connection = self._database.writer()
        generation, dimensions, slots = connection.execute(
            "SELECT generation, dimensions, slots FROM vector_file WHERE file = ?", (file,)
        ).fetchone()
        free = connection.execute("SELECT slot, is_zeroed FROM vector_free WHERE file = ?", (file,)).fetchall()
        path = matrix_path(self._database.path, file, generation)
        with mapped(self._database.path):
            zero_rows(path, np.array([slot for slot, done in free if not done], dtype=np.int64), dimensions)
        if len(free) < max(_COMPACT, slots // 2):
            with self._database.transaction():
                connection.execute("UPDATE vector_free SET is_zeroed = 1 WHERE file = ? AND is_zeroed = 0", (file,))
            return
        kept = connection.execute("SELECT n, slot FROM vector WHERE file = ? ORDER BY slot", (file,)).fetchall()
        with mapped(self._database.path):
            rows = read_rows(path, slots, dimensions)[[slot for _, slot in kept]] if kept else None
            fresh = matrix_path(self._database.path, file, generation + 1)
            fresh.unlink(missing_ok=True)
            write_rows(fresh, 0, np.empty((0, dimensions), dtype=np.float32) if rows is None else rows)
        with self._database.transaction():
            connection.executemany(
                "UPDATE vector SET slot = ? WHERE n = ?", ((place, n) for place, (n, _) in enumerate(kept))
            )
            connection.execute("DELETE FROM vector_free WHERE file = ?", (file,))
            connection.execute(
                "UPDATE vector_file SET generation = generation + 1, slots = ?, deletes = deletes + 1 WHERE file = ?",
                (len(kept), file),
            )
        with contextlib.suppress(OSError):  # a reader on Windows may hold it; the next generation removes it
            path.unlink(missing_ok=True)

    # Reading

    def search(self, query: VectorQuery) -> list[Hit]:
        """See the protocol."""
        if query.k < 1:
            raise InputError(f"k is {query.k}; ask for at least 1")
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
        view = self._view(query.kind, query.corpus)
        if view is None or not len(view.slots) or query.vector is None:
            return []
        if len(query.vector) != view.dimensions:
            raise ModelMismatchError(
                f"the question has a vector of {len(query.vector)} dimensions, corpus {query.corpus!r} holds "
                f"{view.dimensions}; use the model that the corpus was made with"
            )
        scores: NDArray[np.float32] = view.matrix @ query.vector.astype(np.float32)
        if len(scores) != len(view.slots):
            scores = scores[view.slots]
        keep = self._mask(view, query)
        if keep is not None:
            rows = np.flatnonzero(keep)
            best = rows[top_k(scores[rows], k, view.ids[rows])]
        else:
            best = top_k(scores, k, view.ids)
        return [Hit(str(view.ids[at]), float(scores[at])) for at in best]

    def _mask(self, view: _View, query: VectorQuery) -> NDArray[np.bool_] | None:
        """Which rows a query may see; None when all."""
        keep: NDArray[np.bool_] | None = None
        hidden = [view.names[item] for item in query.hidden if item in view.names]
        if hidden:
            keep = ~np.isin(view.changes, hidden)
        if query.where is not None:
            allowed = self._allowed(query.corpus, query.where)
            codes = [code for name, code in view.names.items() if name in allowed]
            inside = np.zeros(len(view.names), dtype=bool)
            inside[codes] = True
            keep = inside[view.sources] if keep is None else keep & inside[view.sources]
        return keep

    def _allowed(self, corpus: str, where: Where) -> frozenset[str]:
        connection = self._database.reader()
        with mapped(self._database.path):
            version = connection.execute("SELECT version FROM vector_source_version").fetchone()[0]
            key = (corpus, where, version)
            found = self._masks.get(key)
            if found is None:
                condition, values = to_sql(where)
                rows = connection.execute(
                    f"SELECT id FROM vector_source AS source WHERE corpus = :corpus AND {condition}",  # noqa: S608
                    {**values, "corpus": corpus},
                )
                found = frozenset(item for (item,) in rows)
                if len(self._masks) >= 64:
                    self._masks.clear()
                self._masks[key] = found
        return found

    def _by_text(self, query: VectorQuery, k: int) -> list[Hit]:
        terms = list(dict.fromkeys(words(query.text or "")))
        if not terms:
            return []
        table = _TEXT[query.kind]
        condition, values = to_sql(query.where) if query.where is not None else ("", {})
        inside = (
            f"AND v.source IN (SELECT id FROM vector_source AS source WHERE corpus = :corpus AND {condition})"  # noqa: S608
            if condition
            else ""
        )
        rows = self._database.reader()
        with mapped(self._database.path):
            found = rows.execute(
                f"""
                SELECT v.id, -bm25({table}) AS score FROM {table} JOIN vector AS v ON v.n = {table}.rowid
                JOIN vector_file AS f USING (file)
                WHERE {table} MATCH :terms AND f.corpus = :corpus AND f.kind = :kind
                AND v.change NOT IN (SELECT value FROM json_each(:hidden)) {inside}
                ORDER BY score DESC, v.id LIMIT :k""",  # noqa: S608 - names from a closed table, values as parameters
                {
                    **values,
                    "terms": " OR ".join(f'"{term}"' for term in terms),
                    "corpus": query.corpus,
                    "kind": query.kind,
                    "hidden": json.dumps(query.hidden),
                    "k": k,
                },
            ).fetchall()
        return [Hit(item, score) for item, score in found]

    def neighbours(self, kind: Kind, corpus: str, vectors: NDArray[np.float32], *, threshold: float) -> Neighbours:
        """See the protocol."""
        view = self._view(kind, corpus) if self._database.exists() else None
        if view is None or not len(view.slots):
            return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
        with self._guard:
            if not view.index:
                view.index.append(ThresholdIndex(np.asarray(view.matrix[:4096])))
            view.index[0].attach(view.matrix)
            pairs = view.index[0].query(vectors, threshold=threshold)
        row = np.full(len(view.matrix), -1, dtype=np.int64)
        row[view.slots] = np.arange(len(view.slots))
        at = row[pairs.base]
        keep = at >= 0
        return Neighbours(
            pairs.queries[keep], [str(item) for item in view.ids[at[keep]]], pairs.similarities[keep]
        )

    def vectors(self, kind: Kind, corpus: str, ids: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
        """See the protocol."""
        view = self._view(kind, corpus) if self._database.exists() else None
        if view is None or not ids:
            return [], np.empty((0, 0 if view is None else view.dimensions), dtype=np.float32)
        slots = dict(
            self._database.reader().execute(
                "SELECT id, slot FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))",
                (view.file, json.dumps(list(ids))),
            )
        )
        found = [item for item in dict.fromkeys(ids) if item in slots]
        return found, np.array(view.matrix[[slots[item] for item in found]], dtype=np.float32)

    def ids(self, kind: Kind, corpus: str, among: Sequence[str] | None = None) -> set[str]:
        """See the protocol."""
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

    def _view(self, kind: Kind, corpus: str) -> _View | None:
        """The present state in memory; only rows written since the last look are read, unless some were deleted."""
        connection = self._database.reader()
        with self._guard, mapped(self._database.path):
            connection.execute("BEGIN")
            try:
                row = connection.execute(
                    "SELECT file, generation, writes, deletes, dimensions, slots FROM vector_file WHERE corpus = ? AND kind = ?",
                    (corpus, kind),
                ).fetchone()
                if row is None:
                    return None
                file, generation, writes, deletes, dimensions, slots = row
                view = self._views.get((kind, corpus))
                if view is None or (view.file, view.generation, view.deletes) != (file, generation, deletes):
                    view = _empty(file, generation, deletes, dimensions)
                if view.writes != writes:
                    view = self._extended(view, slots, writes)
                    self._views[kind, corpus] = view
                return view
            finally:
                connection.execute("COMMIT")

    def _extended(self, view: _View, slots: int, writes: int) -> _View:
        rows = (
            self._database.reader()
            .execute(
                "SELECT n, slot, id, source, change FROM vector WHERE file = ? AND n > ? ORDER BY n",
                (view.file, view.last_n),
            )
            .fetchall()
        )
        codes = np.array(
            [[view.names.setdefault(name, len(view.names)) for name in row[3:5]] for row in rows], dtype=np.int64
        ).reshape(-1, 2)
        return replace(
            view,
            writes=writes,
            last_n=rows[-1][0] if rows else view.last_n,
            matrix=read_rows(matrix_path(self._database.path, view.file, view.generation), slots, view.dimensions),
            slots=np.concatenate([view.slots, np.array([row[1] for row in rows], dtype=np.int64)]),
            ids=np.concatenate([view.ids, np.array([row[2] for row in rows], dtype="<U32")]),
            sources=np.concatenate([view.sources, codes[:, 0]]),
            changes=np.concatenate([view.changes, codes[:, 1]]),
        )


def _empty(file: int, generation: int, deletes: int, dimensions: int) -> _View:
    none = np.empty(0, dtype=np.int64)
    matrix = np.empty((0, dimensions), dtype=np.float32)
    return _View(file, generation, -1, deletes, 0, dimensions, matrix, none, np.empty(0, "<U32"), none, none, {}, [])
