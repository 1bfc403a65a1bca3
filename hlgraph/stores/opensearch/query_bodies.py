"""Searches by vector (exact or HNSW), by text (BM25) and by filter: their bodies, and the meaning of their answers."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.topk import top_k
from hlgraph.errors import InputError, ModelMismatchError
from hlgraph.records import Hit
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.indexes import Home
from hlgraph.stores.opensearch.kept_vectors import IndexVectors
from hlgraph.stores.opensearch.rounds import NAMED, Asked, Steps, ask, find
from hlgraph.stores.opensearch.wire import Found, Json, Row

EXACT_BELOW = 10_000
"""Maximum number of admitted rows that are all scored; beyond it, HNSW proposes candidates.

Brute force over this many rows costs about as much as HNSW, and it is exact: small corpora and narrow filters rank like the
embedded store, including ties. Beyond it, HNSW returns more candidates than needed, and they are scored again from the
stored float32 vectors, so that scores are always exact and only recall is approximate.
"""

MOST_TERMS = 50_000
"""Maximum number of ids in one ``terms`` clause (a server accepts 65,536 by default); more ids take more clauses."""

MOST_TERMS_ASKED = 1_000
"""Maximum number of terms of a question that the corpus has; a server accepts 1,024 clauses in a query."""

PAGE = 10_000
"""Number of rows of a page."""

VECTORS = 2_000
"""Number of vectors that one request reads."""

_SPARE = 64  # additional rows to fetch, because the order by the server's rounded scores may differ from the exact one
_EQUAL = 1e-5  # scores that differ by less may be in another order on the server, which rounds them
_CANDIDATES = 512
_MOST_CANDIDATES = 10_000
_CLAUSES = 1_000
_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6
_BM25 = (
    "double f = _score / params.parts;"
    " return params.weight * f / (f + params.k1 * (1 - params.b + params.b * doc['length'].value / params.average));"
)


@dataclass(frozen=True, slots=True)
class Inside:
    """Which rows a search may see.

    Attributes
    ----------
    sources : ids of the sources of the rows; None: all
    hidden : ids of changes whose rows are left out
    corpus : clause that admits the rows of one corpus in a k-NN search, into which the filter of an alias does not reach; None:
        the index has no others
    visited : least number of candidates that a search by HNSW visits; 0: as many as it asks for
    """

    sources: Sequence[str] | None = None
    hidden: Sequence[str] = ()
    corpus: Json = None
    visited: int = 0

    def query(self, *, without: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """The restriction as a query without scores; ``without`` holds more clauses of its ``bool``."""
        inside: dict[str, Json] = dict(without or {})
        if self.sources is not None:
            inside["filter"] = [one_of("source", self.sources)]
        if self.hidden:
            inside["must_not"] = [one_of("change", self.hidden)]
        return {"bool": inside} if inside else {"match_all": {}}

    @property
    def is_all(self) -> bool:
        """Whether all rows of the corpus may be seen."""
        return self.sources is None and not self.hidden


@dataclass(slots=True)
class Sizes:
    """How large the indexes are.

    Attributes
    ----------
    rows : number of rows of each index at the last search over all of them, or 1 more than ``EXACT_BELOW`` for more of them; that
        of a small index may be stale, which costs time, never a result
    states : state of the corpus in which the rows of each large index were counted
    """

    rows: dict[str, int] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)

    def forget(self, alias: str) -> None:
        """Forgets the size of an index that is dropped."""
        self.rows.pop(alias, None)
        self.states.pop(alias, None)


def one_of(name: str, values: Sequence[str]) -> Json:
    """A clause that matches rows with one of these values in a field.

    Parameters
    ----------
    name : name of the field
    values : values; none of them matches no row
    """
    parts: list[Json] = [
        {"terms": {name: list[Json](values[at : at + MOST_TERMS])}} for at in range(0, len(values), MOST_TERMS)
    ] or [{"match_none": {}}]
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}


def by_vector(
    kept: IndexVectors, *, vector: NDArray[np.float32], k: int, inside: Inside, sizes: Sizes
) -> Steps[list[Hit]]:
    """The ``k`` rows with the highest inner product, exactly scored; for unit vectors this is the cosine.

    Parameters
    ----------
    kept : vectors of the index that were read before; updated
    vector : shape (d,)
    k : number of rows
    inside : rows that may be seen
    sizes : cached numbers of rows; updated
    """
    alias = kept.alias
    question = np.asarray(vector, dtype=np.float32)
    has_data = kept.wants_data()
    fields: dict[str, Json] = {"docvalue_fields": ["id", "data"] if has_data else ["id"], "seq_no_primary_term": True}
    fields["size"] = k + _SPARE

    def near() -> Asked:
        return Asked(alias, {**fields, "query": _near(question, k=k, inside=inside)})

    def scan(**more: Json) -> Asked:
        return Asked(alias, {**fields, "query": scored(inside.query(), question), "track_total_hits": True, **more})

    total = sizes.rows.get(alias, EXACT_BELOW + 1)
    is_known = inside.is_all and bool(kept.state) and sizes.states.get(alias) == kept.state
    found: list[Found] = []
    if total > EXACT_BELOW and not is_known:
        count = Asked(alias, {"size": 0, "query": inside.query(), "track_total_hits": EXACT_BELOW + 1})
        # An index that was large is taken for large until it is counted again, in the same round.
        is_guessed = inside.is_all and alias in sizes.states and k <= _MOST_CANDIDATES
        counted, *found = yield ((count, near()) if is_guessed else (count,))
        total = counted.count
        if inside.is_all:
            sizes.rows[alias], sizes.states[alias] = total, kept.state
    is_exact = total <= EXACT_BELOW or k > _MOST_CANDIDATES
    if is_exact or not found:
        found = yield (scan() if is_exact else near(),)
    if inside.is_all and found[0].hits.total is not None:
        sizes.rows[alias] = found[0].count
    hits = yield from _scored_hits(kept, found[0].hits.hits, question=question, has_data=has_data)
    if is_exact and len(found[0].hits.hits) == k + _SPARE and _is_cut(hits, k):
        # Rows beyond the last one may have the same score, and lower ids. The order by id costs the server a third more time.
        found = yield (scan(sort=[{"_score": "desc"}, {"id": "asc"}]),)
        hits = yield from _scored_hits(kept, found[0].hits.hits, question=question, has_data=has_data)
    return hits[:k]


def _near(question: NDArray[np.float32], *, k: int, inside: Inside) -> Json:
    """A query by HNSW for many more than ``k`` candidates."""
    depth = min(max(2 * k, _CANDIDATES), _MOST_CANDIDATES)
    numbers: list[Json] = list(question.astype(np.float64).tolist())
    knn: dict[str, Json] = {"vector": numbers, "k": depth}
    filters: list[Json] = [
        *([] if inside.is_all else [inside.query()]),
        *([] if inside.corpus is None else [inside.corpus]),
    ]
    if filters:
        knn["filter"] = filters[0] if len(filters) == 1 else {"bool": {"filter": filters}}
    if inside.visited:
        knn["method_parameters"] = {"ef_search": max(inside.visited, depth)}
    return {"knn": {"vector": knn}}


def _scored_hits(
    kept: IndexVectors, rows: Sequence[Row], *, question: NDArray[np.float32], has_data: bool
) -> Steps[list[Hit]]:
    """All rows that a search found, best first, exactly scored."""
    vectors = yield from _vectors_of(kept, rows, has_data=has_data)
    if not vectors:
        return []
    ids = np.array(list(vectors))
    scores = np.vecdot(np.stack(list(vectors.values())), question)
    return [Hit(str(ids[at]), float(scores[at])) for at in top_k(scores, len(ids), tie_break=ids)]


def _is_cut(hits: Sequence[Hit], k: int) -> bool:
    """Whether the last hit is as good as the k-th one, as far as the server can tell."""
    return len(hits) >= k and hits[-1].score >= hits[k - 1].score - _EQUAL * max(1.0, abs(hits[k - 1].score))


def scored(query: Json, vector: NDArray[np.float32]) -> Json:
    """A query that scores each row that another one matches by the inner product of its vector.

    Parameters
    ----------
    query : which rows
    vector : shape (d,)
    """
    numbers: list[Json] = list(vector.astype(np.float64).tolist())
    parameters: Json = {"field": "vector", "query_value": numbers, "space_type": "innerproduct"}
    script: Json = {"source": "knn_score", "lang": "knn", "params": parameters}
    return {"script_score": {"query": query, "script": script}}


def _vectors_of(kept: IndexVectors, rows: Sequence[Row], *, has_data: bool) -> Steps[dict[str, NDArray[np.float32]]]:
    """The vectors of the rows that a search found, by id, in their order; a row that is gone by now is left out."""
    found = kept.of_rows(rows)
    if not has_data:
        missing = [name for row in rows if (name := row.text("id")) not in found]
        return (yield from read_vectors(kept, [row.text("id") for row in rows], known=found)) if missing else found
    if rows:
        vectors = matrix(rows, kept.dimensions)
        kept.keep(rows, vectors)
        # By id: serverless can hold a row twice while a write is unfinished.
        found = dict(zip((row.text("id") for row in rows), vectors, strict=True))
    return found


def read_vectors(
    kept: IndexVectors, ids: Sequence[str], *, known: Mapping[str, NDArray[np.float32]], copies: int = 1
) -> Steps[dict[str, NDArray[np.float32]]]:
    """The vectors of rows by id, in the order given; those that are not known are read. Unknown ids are left out.

    Parameters
    ----------
    kept : vectors of the index; updated
    ids : ids of the rows
    known : vectors that need not be read
    copies : maximum number of copies of a row
    """
    found = dict(known)
    missing = [name for name in dict.fromkeys(ids) if name not in found]
    for at in range(0, len(missing), VECTORS):
        part = missing[at : at + VECTORS]
        body: dict[str, Json] = {
            "size": len(part) * copies,
            "query": {"bool": {"filter": one_of("id", part)}},
            "docvalue_fields": ["id", "data"],
            "seq_no_primary_term": True,
        }
        rows = (yield from ask(Asked(kept.alias, body))).hits.hits
        if rows:
            vectors = matrix(rows, kept.dimensions)
            kept.keep(rows, vectors)
            found.update(zip((row.text("id") for row in rows), vectors, strict=True))
    return {name: found[name] for name in dict.fromkeys(ids) if name in found}


def by_text(
    alias: str, *, phrases: Sequence[tuple[str, ...]], k: int, inside: Inside, kept: IndexVectors | None = None
) -> Steps[list[Hit]]:
    """The ``k`` best rows by BM25 (k1 1.2, b 0.75), with exact lengths of rows and exact counts of live rows.

    The formula is that of SQLite's FTS5, by which the embedded store ranks: the weight of a term is
    ``log((N - n + 0.5) / (n + 0.5))``, at least 1e-6. Lucene's own BM25 rounds lengths to one byte and counts deleted rows,
    so a merge could change the order. The server ranks in float32 and returns the frequency of each phrase in a row. The
    best rows are then scored again in float64, term by term in the order of the question, as in SQLite.

    Parameters
    ----------
    alias : alias of the index
    phrases : words of the question, each as its terms
    k : number of rows
    inside : rows that may be seen
    kept : vectors of the index: those of the rows are needed next, and are sent with them if they are not known; None: they are
        not needed

    Raises
    ------
    InputError
        The question has too many words that the corpus has.
    """
    if not phrases:
        return []
    counted = yield from _counted(alias, phrases)
    weights = [
        max(math.log((counted.total - rows + 0.5) / (rows + 0.5)), _LEAST_IDF) if rows else 0.0 for rows in counted.rows
    ]
    asked = sum(len(parts) for parts, weight in zip(phrases, weights, strict=True) if weight)
    if asked > MOST_TERMS_ASKED:
        raise InputError(
            f"the question has {asked:,} different words of the corpus, more than {MOST_TERMS_ASKED:,}; shorten it"
        )
    average = counted.length / counted.total if counted.total else 0.0
    clauses: list[Json] = []
    for number, (parts, weight) in enumerate(zip(phrases, weights, strict=True)):
        if not weight:
            continue  # in no row, so it changes no score
        parameters: Json = {
            "parts": len(parts), "weight": weight * (_K1 + 1), "average": average, "k1": _K1, "b": _B
        }  # fmt: skip
        script: Json = {"source": _BM25, "params": parameters}
        clauses.append({"script_score": {"query": _phrase(parts, name=str(number)), "script": script}})
    if not clauses:
        return []
    query = inside.query(without={"should": clauses, "minimum_should_match": 1})
    body: dict[str, Json] = {
        "size": k + _SPARE,
        "query": query,
        "sort": [{"_score": "desc"}, {"id": "asc"}],
        "docvalue_fields": ["id", "length"],
    }
    has_data = kept is not None and kept.wants_data()
    if kept is not None:
        body |= {"docvalue_fields": ["id", "length", *(["data"] if has_data else [])], "seq_no_primary_term": True}
    search = Asked(alias, body, NAMED)
    found = yield from ask(search)
    rows = list({row.text("id"): row for row in found.hits.hits}.values())  # serverless can hold a row twice
    if kept is not None:
        _note(kept, rows, has_data=has_data)
    if not rows:
        return []
    ids = np.array([row.text("id") for row in rows])
    scores = np.array([_bm25(row, phrases, weights=weights, average=average) for row in rows])
    return [Hit(str(ids[at]), float(scores[at])) for at in top_k(scores, k, tie_break=ids)]


def _note(kept: IndexVectors, rows: Sequence[Row], *, has_data: bool) -> None:
    """Keeps the vectors that were sent with rows, or notes which of those that are kept are theirs."""
    some = [row for row in rows if "data" in row.fields] if has_data else []
    if some:
        kept.keep(some, matrix(some, kept.dimensions))
    elif not has_data and rows:
        kept.of_rows(rows)


def _bm25(row: Row, phrases: Sequence[tuple[str, ...]], *, weights: Sequence[float], average: float) -> float:
    """The score of a row from the frequencies of the phrases; the similarity of the field counts each term of a phrase."""
    matched = row.matched_queries if isinstance(row.matched_queries, dict) else {}
    length, score = row.number("length"), 0.0
    for number, (parts, weight) in enumerate(zip(phrases, weights, strict=True)):
        found = matched.get(str(number), 0.0) / len(parts)
        if found:
            score += weight * ((found * (_K1 + 1.0)) / (found + _K1 * (1 - _B + _B * length / average)))
    return score


@dataclass(frozen=True, slots=True)
class _Counted:
    """The number of rows, the number of terms in all of them, and the number of rows with each phrase."""

    total: int
    length: float
    rows: list[int]


def _counted(alias: str, phrases: Sequence[tuple[str, ...]]) -> Steps[_Counted]:
    total, length, rows = 0, 0.0, list[int]()
    for at in range(0, len(phrases), _CLAUSES):
        part = phrases[at : at + _CLAUSES]
        filters: Json = {str(number): _phrase(parts) for number, parts in enumerate(part)}
        counts: Json = {"length": {"sum": {"field": "length"}}, "phrases": {"filters": {"filters": filters}}}
        found = yield from ask(Asked(alias, {"size": 0, "track_total_hits": True, "aggs": counts}))
        if not found.count:
            return _Counted(0, 0.0, [0] * len(phrases))
        total, length = found.count, found.aggregations["length"].value or 0.0
        rows += [found.aggregations["phrases"].buckets[str(number)].doc_count for number in range(len(part))]
    return _Counted(total, length, rows)


def _phrase(parts: Sequence[str], *, name: str | None = None) -> Json:
    """Matches rows with these terms next to each other; with a ``name``, the answer has the frequency in each row."""
    kind = "match_phrase" if len(parts) > 1 else "match"
    query: dict[str, Json] = {"query": " ".join(parts)}
    return {kind: {"words": query if name is None else {**query, "_name": name}}}


def matrix(rows: Sequence[Row], dimensions: int) -> NDArray[np.float32]:
    """The stored vectors of rows, bit for bit as written: shape (n, dimensions).

    Parameters
    ----------
    rows : rows with their field ``data``
    dimensions : expected length of a vector

    Raises
    ------
    ModelMismatchError
        The vectors have another length.
    """
    parts = b"".join([_bytes(row.text("data")) for row in rows])
    if len(parts) != 4 * dimensions * len(rows):
        raise ModelMismatchError(
            f"the stored vectors have {len(parts) // (4 * len(rows))} dimensions, not {dimensions}; another process has "
            "embedded the corpus again, try again"
        )
    found: NDArray[np.float32] = np.frombuffer(parts, dtype="<f4").reshape(len(rows), dimensions)
    return found


def vector_of(row: Row) -> NDArray[np.float32]:
    """The stored vector of one row, of whatever length; empty if the row has none, or bytes that are no numbers."""
    data = _bytes(row.text("data")) if "data" in row.fields else b""
    return np.frombuffer(data if len(data) % 4 == 0 else b"", dtype="<f4")


def _bytes(text: str) -> bytes:
    """Decodes base64 text, from which the server removes the padding."""
    return base64.b64decode(text + "=" * (-len(text) % 4))


def pages(
    connection: Connection, alias: str, *, query: Json, fields: Sequence[str], size: int = 0, shard: int | None = None
) -> Iterator[Row]:
    """All rows of a query by ascending id, read page by page.

    The id of a row never changes, so a row that exists throughout is seen exactly once, whatever is written meanwhile. It
    needs no open context on the server, which serverless does not offer.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    query : query without scores
    fields : fields to return
    size : rows of a page; 0: ``PAGE``
    shard : number of a shard to read; None: all
    """
    size = size or PAGE
    after: str | None = None
    while True:
        body: dict[str, Json] = {
            "size": size,
            "query": query,
            "sort": [{"id": "asc"}],
            "docvalue_fields": list[Json](fields),
        }
        if after is not None:
            body["search_after"] = [after]
        rows = find(connection, alias, body=body, parameters=_only(shard)).hits.hits
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1].text("id")


State: TypeAlias = tuple[tuple[int, float | None], ...]
"""For each shard that holds rows of a corpus, their number and the number of the last write; changes with all of them."""


def index_state(connection: Connection, home: Home) -> State:
    """The state of the rows of a corpus; a write of another corpus to the same index leaves it as it is.

    A server numbers the writes of each shard by itself. Rows in a shared index are in one shard.

    Parameters
    ----------
    connection : connection to the server
    home : index of the corpus
    """
    counts: Json = {"last": {"max": {"field": "_seq_no"}}}
    body: dict[str, Json] = {"size": 0, "track_total_hits": True, "aggs": counts}
    shards = range(home.meta.spread) if home.meta.spread > 1 else (None,)
    seen = (find(connection, home.alias, body=body, parameters=_only(shard)) for shard in shards)
    return tuple((found.count, found.aggregations["last"].value if found.count else None) for found in seen)


def _only(shard: int | None) -> dict[str, str]:
    return {} if shard is None else {"preference": f"_shards:{shard}"}
