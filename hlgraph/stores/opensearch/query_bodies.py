"""The bodies of searches, and what their answers mean: by vector (exact or HNSW), by text (BM25), by filter."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.topk import top_k
from hlgraph.errors import InputError, ModelMismatchError
from hlgraph.records import Hit
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.wire import Found, Hits, Json, Row
from hlgraph.stores.trace import count_rows

EXACT_BELOW = 10_000
"""Up to so many rows that a filter admits, every one is scored; beyond, HNSW proposes.

Brute force over this many costs about what HNSW does, and it is exact: small corpora and narrow filters rank as the
embedded store does, to the last tie. Beyond, HNSW gives more candidates than asked for and they are scored again from
the stored float32 vectors, so scores are exact everywhere and only recall is approximate.
"""

MOST_TERMS = 50_000
"""Ids in one ``terms`` clause; a server takes 65,536 by default. More ids are more clauses."""

MOST_TERMS_ASKED = 1_000
"""Terms of one question that the corpus has: a server takes 1,024 clauses in a query."""

PAGE = 10_000

_ALL = "all"  # the aggregation that counts every row of an index
_SPARE = 64  # more rows than asked for: their order by the server's rounded scores may differ from the exact one
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
    """Which rows a search may see: of these sources (None: any), of no change of these."""

    sources: Sequence[str] | None = None
    hidden: Sequence[str] = ()

    def query(self, *, without: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """As a query that gives no scores."""
        inside: dict[str, Json] = dict(without or {})
        if self.sources is not None:
            inside["filter"] = [one_of("source", self.sources)]
        if self.hidden:
            inside["must_not"] = [one_of("change", self.hidden)]
        return {"bool": inside} if inside else {"match_all": {}}

    @property
    def is_all(self) -> bool:
        """Whether it is every row."""
        return self.sources is None and not self.hidden


@dataclass(slots=True)
class Sizes:
    """How many rows an index had when all of them were last scored: too old a number costs time, never a result."""

    rows: dict[str, int] = field(default_factory=dict)


def one_of(name: str, values: Sequence[str]) -> Json:
    """A clause: the field has one of the values."""
    parts: list[Json] = [
        {"terms": {name: list[Json](values[at : at + MOST_TERMS])}} for at in range(0, len(values), MOST_TERMS)
    ] or [{"match_none": {}}]
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}


def find(
    connection: Connection, alias: str, *, body: Mapping[str, Json], parameters: Mapping[str, str] | None = None
) -> Found:
    """A whole answer or an error: never the results of some shards only. An index that was removed holds nothing."""
    found = connection.send(
        "POST",
        f"/{alias}/_search",
        body={"_source": False, "stored_fields": "_none_", "track_total_hits": False, **body},
        parameters={"allow_partial_search_results": "false", **(parameters or {})},
    )
    if found.status == 404 and "index_not_found_exception" in found.body:
        return Found(Hits())
    decoded = connection.accepted(found, Found)
    count_rows(len(decoded.hits.hits))
    return decoded


def by_vector(
    connection: Connection, alias: str, *, vector: NDArray[np.float32], k: int, inside: Inside, sizes: Sizes
) -> list[Hit]:
    """The ``k`` rows of the highest inner product, exactly scored; for unit vectors this is the cosine."""
    question = np.asarray(vector, dtype=np.float32)
    numbers: list[Json] = list(question.astype(np.float64).tolist())
    total = sizes.rows.get(alias, EXACT_BELOW + 1)
    is_known = inside.is_all and alias in sizes.rows
    if total > EXACT_BELOW and not is_known:
        body: dict[str, Json] = {"size": 0, "query": inside.query(), "track_total_hits": EXACT_BELOW + 1}
        total = find(connection, alias, body=body).count
        if inside.is_all:
            sizes.rows[alias] = total
    ask: dict[str, Json] = {"docvalue_fields": ["id", "data"]}
    if total > EXACT_BELOW and k <= _MOST_CANDIDATES:
        depth = min(max(2 * k, _CANDIDATES), _MOST_CANDIDATES)
        knn: dict[str, Json] = {"vector": numbers, "k": depth}
        if not inside.is_all:
            knn["filter"] = inside.query()
        ask |= {"size": k + _SPARE, "query": {"knn": {"vector": knn}}}
        if is_known:  # the rows of the whole index are counted beside: it may have become small
            ask["aggs"] = {_ALL: {"global": {}}}
    else:
        parameters: Json = {"field": "vector", "query_value": numbers, "space_type": "innerproduct"}
        script: Json = {"source": "knn_score", "lang": "knn", "params": parameters}
        ask |= {
            "size": k + _SPARE,
            "query": {"script_score": {"query": inside.query(), "script": script}},
            "sort": [{"_score": "desc"}, {"id": "asc"}],
            "track_total_hits": True,
        }
    found = find(connection, alias, body=ask)
    if inside.is_all and found.hits.total is not None:
        sizes.rows[alias] = found.count
    if _ALL in found.aggregations and found.aggregations[_ALL].doc_count <= EXACT_BELOW:
        sizes.rows[alias] = found.aggregations[_ALL].doc_count
        return by_vector(connection, alias, vector=vector, k=k, inside=inside, sizes=sizes)
    rows = found.hits.hits
    if not rows:
        return []
    rows = _once(connection, rows)
    ids = np.array([row.text("id") for row in rows])
    scores = np.vecdot(matrix(rows, len(question)), question)
    return [Hit(str(ids[at]), float(scores[at])) for at in top_k(scores, k, tie_break=ids)]


def by_text(
    connection: Connection, alias: str, *, phrases: Sequence[tuple[str, ...]], k: int, inside: Inside
) -> list[Hit]:
    """The ``k`` best rows by BM25 (k1 1.2, b 0.75) over the exact lengths of the rows and the exact counts of live rows.

    The formula is that of SQLite's FTS5, with ``log((N - n + 0.5) / (n + 0.5))``, at least 1e-6, as the weight of a term:
    the embedded store ranks by it. Lucene's own keeps lengths in one byte and counts deleted rows, so it would order
    rows differently from one merge to the next. The server ranks in float32 and says how often each phrase is in a row;
    the best are scored again here in float64, term by term in the order of the question, as SQLite does.
    """
    counted = _counted(connection, alias, phrases)
    weights = [
        max(math.log((counted.total - rows + 0.5) / (rows + 0.5)), _LEAST_IDF) if rows else 0.0 for rows in counted.rows
    ]
    asked = sum(len(parts) for parts, weight in zip(phrases, weights, strict=True) if weight)
    if asked > MOST_TERMS_ASKED:
        raise InputError(
            f"the question has {asked:,} different words that the corpus has, at most {MOST_TERMS_ASKED:,}; shorten it"
        )
    average = counted.length / counted.total if counted.total else 0.0
    clauses: list[Json] = []
    for number, (parts, weight) in enumerate(zip(phrases, weights, strict=True)):
        if not weight:
            continue  # in no row: it adds nothing to any score
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
    rows = find(connection, alias, body=body, parameters={"include_named_queries_score": "true"}).hits.hits
    if not rows:
        return []
    rows = _once(connection, rows)
    ids = np.array([row.text("id") for row in rows])
    scores = np.array([_bm25(row, phrases, weights=weights, average=average) for row in rows])
    return [Hit(str(ids[at]), float(scores[at])) for at in top_k(scores, k, tie_break=ids)]


def _once(connection: Connection, rows: list[Row]) -> list[Row]:
    """Rows without second copies of one: only serverless can hold some, for as long as a write is not finished."""
    return list({row.text("id"): row for row in rows}.values()) if connection.is_serverless else rows


def _bm25(row: Row, phrases: Sequence[tuple[str, ...]], *, weights: Sequence[float], average: float) -> float:
    """The score of one row from how often it has each phrase: the similarity of the field counts each part of a phrase."""
    matched = row.matched_queries if isinstance(row.matched_queries, dict) else {}
    length, score = row.number("length"), 0.0
    for number, (parts, weight) in enumerate(zip(phrases, weights, strict=True)):
        found = matched.get(str(number), 0.0) / len(parts)
        if found:
            score += weight * ((found * (_K1 + 1.0)) / (found + _K1 * (1 - _B + _B * length / average)))
    return score


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many rows there are, how many terms in all of them, and how many rows have each phrase."""

    total: int
    length: float
    rows: list[int]


def _counted(connection: Connection, alias: str, phrases: Sequence[tuple[str, ...]]) -> _Counted:
    total, length, rows = 0, 0.0, list[int]()
    for at in range(0, len(phrases), _CLAUSES):
        part = phrases[at : at + _CLAUSES]
        filters: Json = {str(number): _phrase(parts) for number, parts in enumerate(part)}
        counts: Json = {"length": {"sum": {"field": "length"}}, "phrases": {"filters": {"filters": filters}}}
        found = find(connection, alias, body={"size": 0, "track_total_hits": True, "aggs": counts})
        if not found.count:
            return _Counted(0, 0.0, [0] * len(phrases))
        total, length = found.count, found.aggregations["length"].value or 0.0
        rows += [found.aggregations["phrases"].buckets[str(number)].doc_count for number in range(len(part))]
    return _Counted(total, length, rows)


def _phrase(parts: Sequence[str], *, name: str | None = None) -> Json:
    """The rows that have these terms beside each other; ``name``: the answer says how often each row does."""
    kind = "match_phrase" if len(parts) > 1 else "match"
    query: dict[str, Json] = {"query": " ".join(parts)}
    return {kind: {"words": query if name is None else {**query, "_name": name}}}


def matrix(rows: Sequence[Row], dimensions: int) -> NDArray[np.float32]:
    """The stored vectors of rows, bit for bit as they were written; shape (n, dimensions)."""
    parts = b"".join([_bytes(row.text("data")) for row in rows])
    if len(parts) != 4 * dimensions * len(rows):
        raise ModelMismatchError(
            f"stored vectors have {len(parts) // (4 * len(rows))} dimensions and not {dimensions}; another process embedded "
            "the corpus anew, try again"
        )
    found: NDArray[np.float32] = np.frombuffer(parts, dtype="<f4").reshape(len(rows), dimensions)
    return found


def _bytes(text: str) -> bytes:
    """Base64, of which the server leaves the padding out."""
    return base64.b64decode(text + "=" * (-len(text) % 4))


def pages(connection: Connection, alias: str, *, query: Json, fields: Sequence[str], size: int = 0) -> Iterator[Row]:
    """All rows of a query by ascending id, a page (of ``size`` rows; 0: of ``PAGE``) at a time.

    The id of a row never changes, so a row that is there all the while is seen once, whatever is written meanwhile;
    there is no context on the server to hold open, which serverless has not.
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
        rows = find(connection, alias, body=body).hits.hits
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1].text("id")


def state(connection: Connection, alias: str) -> tuple[int, float | None]:
    """How many documents an index has and the number of its last write: changes with every write and every delete."""
    counts: Json = {"last": {"max": {"field": "_seq_no"}}}
    found = find(connection, alias, body={"size": 0, "track_total_hits": True, "aggs": counts})
    return found.count, found.aggregations["last"].value if found.count else None
