"""Searches by vector (exact or HNSW), by text (BM25) and by filter: build the request bodies, and interpret the answers."""

from __future__ import annotations

import base64
import contextlib
import math
import os
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.fusion import top_k
from hlgraph.algorithms.similarity import ThresholdIndex, pairs_between
from hlgraph.errors import InputError, ModelMismatchError, StoreError, StoreUnavailableError
from hlgraph.records import Hit
from hlgraph.stores.batches import batched
from hlgraph.stores.cache import Kept
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.indexes import Home
from hlgraph.stores.opensearch.wire import Cause, Found, Json, Meta, Parts, Row
from hlgraph.stores.protocols import Neighbours
from hlgraph.stores.trace import count_rows

# A cache of vectors. The server numbers the writes to an index (``_seq_no``), and a search returns the number of each row: a cached
# vector with the same number belongs to the row. By id, a cached vector is valid in the state of the corpus in which it was read.
# Serverless does not number its writes, so its vectors are not cached.


KEPT_BYTES = 64 << 20
"""Target for the memory of all cached vectors: about 36,000 vectors of 384 numbers; at most twice as much is used."""
_OVERHEAD = 400

Vector: TypeAlias = NDArray[np.float32]


class _Seen(NamedTuple):
    number: int
    state: str
    vector: Vector


class KeptVectors:
    """A cache of the vectors of one server. Thread-safe.

    Attributes
    ----------
    seen : vectors by alias, mark of the index and id
    is_known : whether most vectors of the last search were cached, by alias
    """

    def __init__(self) -> None:
        self.seen = Kept[tuple[str, str, str], _Seen](most=KEPT_BYTES, size=lambda seen: seen.vector.nbytes + _OVERHEAD)
        self.is_known: dict[str, bool] = {}

    def of_index(self, alias: str, *, meta: Meta, state: str) -> IndexVectors:
        """The cached vectors of one index, for a reader.

        Parameters
        ----------
        alias : alias of the index
        meta : metadata of the index
        state : state of the corpus that the reader sees; empty: unknown
        """
        return IndexVectors(self, alias, meta.made, meta.dimensions, state)

    def drop(self, alias: str, ids: Iterable[str] | None = None) -> None:
        """Remove vectors of an index from the cache.

        Parameters
        ----------
        alias : alias of the index
        ids : ids of rows that are written or deleted; None: all, because the index is dropped
        """
        names = None if ids is None else frozenset(ids)
        self.seen.drop(lambda key, _: key[0] == alias and (names is None or key[2] in names))


@dataclass(frozen=True, slots=True)
class IndexVectors:
    """The cached vectors of one index, as one reader sees them.

    Attributes
    ----------
    kept : the cache of the server
    alias, made : alias of the index, and the mark that distinguishes it from earlier indexes with that name
    dimensions : length of the vectors
    state : state of the corpus that the reader sees
    """

    kept: KeptVectors
    alias: str
    made: str
    dimensions: int
    state: str

    def wants_data(self) -> bool:
        """Whether a search should return the vectors of its hits: most vectors of the last search were not cached."""
        return not self.kept.is_known.get(self.alias, False)

    def of_rows(self, rows: Sequence[Row]) -> dict[str, Vector]:
        """The cached vectors of the rows that a search returned, by id."""
        keys = {self._key(row.text("id")): row for row in rows}
        cached = {
            key: seen for key, seen in self.kept.seen.get(keys).items() if seen.number == keys[key].number_of_write
        }
        self.kept.is_known[self.alias] = 2 * len(cached) >= len(rows)
        # They belong to this state, too.
        moved = {key: seen._replace(state=self.state) for key, seen in cached.items() if seen.state != self.state}
        if moved and self.state:
            self.kept.seen.keep(moved)
        return {key[2]: seen.vector for key, seen in cached.items()}

    def of_ids(self, ids: Iterable[str]) -> dict[str, Vector]:
        """The vectors cached in the state of the corpus that the reader sees, by id."""
        if not self.state:
            return {}
        cached = self.kept.seen.get(map(self._key, ids))
        return {key[2]: seen.vector for key, seen in cached.items() if seen.state == self.state}

    def keep(self, rows: Sequence[Row], vectors: Vector) -> None:
        """Add the vectors of rows to the cache.

        Parameters
        ----------
        rows : rows that were read with their vectors
        vectors : shape (n, d), one a row
        """
        numbered = [(row, vector) for row, vector in zip(rows, vectors, strict=True) if row.number_of_write >= 0]
        # Copies, not views of all of them.
        seen = {
            self._key(row.text("id")): _Seen(row.number_of_write, self.state, vector.copy()) for row, vector in numbered
        }
        self.kept.seen.keep(seen)

    def _key(self, name: str) -> tuple[str, str, str]:
        return self.alias, self.made, name


# Concurrent searches, whose requests are batched in rounds. A search is a generator: it yields its next requests, receives
# their results, and returns its own.


T = TypeVar("T")

_MOST_NAMES = 1_000  # a server accepts 1,024 clauses in a query
_MOST_ROWS = 10_000
NAMED: Mapping[str, str] = {"include_named_queries_score": "true"}
"""The parameter that adds the score of each named query to each row of the answer; here it is the frequency of a word."""
_BASE: Mapping[str, Json] = {"_source": False, "stored_fields": "_none_", "track_total_hits": False}


class Asked(NamedTuple):
    """One search of an index.

    Attributes
    ----------
    alias : alias of the index
    body : body of the search
    parameters : :data:`NAMED`, or none
    """

    alias: str
    body: Mapping[str, Json]
    parameters: Mapping[str, str] = {}


Steps: TypeAlias = Generator[Sequence[Asked], list[Found], T]
"""A search that runs in several requests."""


def ask(one: Asked) -> Steps[Found]:
    """Send a single request in one step."""
    (result,) = yield (one,)
    return result


def find(
    connection: Connection, alias: str, *, body: Mapping[str, Json], parameters: Mapping[str, str] | None = None
) -> Found:
    """Search an index. Missing results of some shards are an error; a removed index has no rows.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    body : body of the search
    parameters : more query parameters
    """
    options = {"allow_partial_search_results": "false", **(parameters or {})}
    reply = connection.send("POST", f"/{alias}/_search", body={**_BASE, **body}, parameters=options)
    if reply.status == 404 and "index_not_found_exception" in reply.body:
        return Found()
    decoded = connection.accepted(reply, Found)
    count_rows(len(decoded.hits.hits))
    return decoded


def count(
    connection: Connection, alias: str, *, query: Json = None, parameters: Mapping[str, str] | None = None
) -> int:
    """The number of rows that a query matches; without one, of all rows.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    query : query without scores
    parameters : more query parameters
    """
    body: dict[str, Json] = {"size": 0, "track_total_hits": True, **({"query": query} if query else {})}
    return find(connection, alias, body=body, parameters=parameters).count


def of_ids(ids: Sequence[str], *fields: str, copies: int = 1) -> dict[str, Json]:
    """The body of a search for rows by id.

    Parameters
    ----------
    ids : ids of the rows
    fields : fields to return
    copies : maximum number of copies of a row
    """
    query: Json = {"bool": {"filter": one_of("id", ids)}}
    return {"size": len(ids) * copies, "query": query, "docvalue_fields": list[Json](fields)}


def together(connection: Connection, searches: Sequence[Steps[T]]) -> list[T]:
    """Run searches concurrently, one request per round, and return their results in order.

    Parameters
    ----------
    connection : connection to the server
    searches : the searches
    """
    results: dict[int, T] = {}
    answers: dict[int, list[Found] | None] = dict.fromkeys(range(len(searches)))
    while answers:
        asked: dict[int, Sequence[Asked]] = {}
        for number, answer in answers.items():
            try:
                asked[number] = next(searches[number]) if answer is None else searches[number].send(answer)
            except StopIteration as end:
                results[number] = end.value
        replies = iter(_find_all(connection, [one for some in asked.values() for one in some]))
        answers = {number: [next(replies) for _ in some] for number, some in asked.items()}
    return [results[number] for number in range(len(searches))]


def _find_all(connection: Connection, asked: Sequence[Asked]) -> list[Found]:
    """Run all searches in one request; read the word frequencies of several searches in a second one.

    The server returns frequencies (:data:`NAMED`) only to a separate search, so the frequencies for the rows of several searches
    are read together.
    """
    if connection.is_serverless or len(asked) < 2:
        return [_find(connection, one) for one in asked]
    named = [at for at, one in enumerate(asked) if one.parameters]
    if len(named) > 1 and sum(len(_named(asked[at].body.get("query"), "")) for at in named) <= _MOST_NAMES:
        batch_results = _in_one(connection, asked)
        _tell(connection, [(asked[at], batch_results[at]) for at in named])
        return batch_results
    rest = [at for at in range(len(asked)) if at not in named]
    by_position = {at: _find(connection, asked[at]) for at in (named if len(rest) > 1 else range(len(asked)))}
    if len(rest) > 1:
        by_position |= dict(zip(rest, _in_one(connection, [asked[at] for at in rest]), strict=True))
    return [by_position[at] for at in range(len(asked))]


def _named(query: Json, prefix: str) -> list[Json]:
    """The named queries inside a query, with a prefix before their names."""
    if isinstance(query, list):
        return [inner for item in query for inner in _named(item, prefix)]
    if not isinstance(query, dict):
        return []
    for kind in ("match", "match_phrase"):
        words = query.get(kind)
        field = words.get("words") if isinstance(words, dict) else None
        if isinstance(field, dict) and "_name" in field:
            return [{kind: {"words": {**field, "_name": f"{prefix}{field['_name']}"}}}]
    return [inner for item in query.values() for inner in _named(item, prefix)]


def _tell(connection: Connection, searches: Sequence[tuple[Asked, Found]]) -> None:
    """Add word frequencies to the rows of searches; a row that was removed in the meantime is left out."""
    ids = sorted({row.text("id") for _, result in searches for row in result.hits.hits})
    if not ids:
        return
    names = [_named(one.body["query"], f"{number}:") for number, (one, _) in enumerate(searches)]
    should: list[Json] = [item for some in names for item in some]
    query: Json = {"bool": {"filter": [{"terms": {"id": list[Json](ids)}}], "should": should}}
    aliases = ",".join(dict.fromkeys(one.alias for one, _ in searches))
    body: dict[str, Json] = {"size": min(2 * len(ids), _MOST_ROWS), "query": query, "docvalue_fields": ["id"]}
    rows = find(connection, aliases, body=body, parameters=searches[0][0].parameters).hits.hits
    by_id = {row.text("id"): row.matched_queries for row in rows if isinstance(row.matched_queries, dict)}
    for number, (_, result) in enumerate(searches):
        result.hits.hits = [row for row in result.hits.hits if row.text("id") in by_id]
        for row in result.hits.hits:
            frequencies = ((name.partition(":"), value) for name, value in by_id[row.text("id")].items())
            row.matched_queries = {name: value for (of, _, name), value in frequencies if of == str(number)}


def _find(connection: Connection, one: Asked) -> Found:
    return find(connection, one.alias, body=one.body, parameters=one.parameters)


def _in_one(connection: Connection, asked: Sequence[Asked]) -> list[Found]:
    lines: list[Json] = []
    for one in asked:
        lines += [{"index": one.alias, "allow_partial_search_results": False}, {**_BASE, **one.body}]
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    answer = connection.send("POST", "/_msearch", body=body, recorded={"searches": lines})
    parts = connection.accepted(answer, Parts).responses
    count_rows(sum(len(part.hits.hits) for part in parts))
    # A refused search is sent again by itself, with retries for a busy server; this raises its error.
    return [_accepted(part) or _find(connection, one) for part, one in zip(parts, asked, strict=True)]


def _accepted(part: Found) -> Found | None:
    """The result of one of several searches; None if it was refused."""
    if part.status < 400:
        return part
    is_gone = isinstance(part.error, Cause) and part.error.type == "index_not_found_exception"
    return Found() if is_gone else None


EXACT_BELOW = 10_000
"""Maximum number of admitted rows for exact search; beyond it, HNSW selects candidates.

Brute force over this many rows costs about as much as HNSW, and it is exact: small corpora and narrow filters rank like the
embedded store, including ties. Beyond it, HNSW returns more candidates than needed, and they are scored again from the
stored float32 vectors, so that scores are always exact and only recall is approximate.
"""

MOST_TERMS = 50_000
"""Maximum number of ids in one ``terms`` clause (a server accepts 65,536 by default); more ids take more clauses."""

MOST_TERMS_ASKED = 1_000
"""Maximum number of question terms that occur in the corpus; a server accepts 1,024 clauses in a query."""

PAGE = 10_000
"""Number of rows per page."""

VECTORS = 2_000
"""Number of vectors per reading request."""

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
    """The rows that a search may see.

    Attributes
    ----------
    sources : ids of the sources of the rows; None: all
    hidden : ids of changes whose rows are left out
    corpus : clause that admits the rows of one corpus in a k-NN search, to which the filter of an alias does not apply; None:
        the index has no other corpora
    visited : minimum number of candidates that HNSW visits; 0: as many as it returns
    among : ids of the only rows that may be seen; None: all
    """

    sources: Sequence[str] | None = None
    hidden: Sequence[str] = ()
    corpus: Json = None
    visited: int = 0
    among: Sequence[str] | None = None

    def query(self, *, without: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """The restriction as a query without scores; ``without`` adds clauses to its ``bool``."""
        inside: dict[str, Json] = dict(without or {})
        lists = {"source": self.sources, "id": self.among}
        if filters := [one_of(name, values) for name, values in lists.items() if values is not None]:
            inside["filter"] = filters
        if self.hidden:
            inside["must_not"] = [one_of("change", self.hidden)]
        return {"bool": inside} if inside else {"match_all": {}}

    @property
    def is_all(self) -> bool:
        """Whether all rows of the corpus may be seen."""
        return self.sources is None and self.among is None and not self.hidden


@dataclass(slots=True)
class Sizes:
    """Cached sizes of the indexes.

    Attributes
    ----------
    rows : number of rows of each index at the last search over all of them, capped at ``EXACT_BELOW`` + 1; the number for a
        small index may be stale, which costs time but does not change results
    states : state of the corpus in which the rows of each large index were counted
    """

    rows: dict[str, int] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)

    def forget(self, alias: str) -> None:
        """Forget the size of a dropped index."""
        self.rows.pop(alias, None)
        self.states.pop(alias, None)


def one_of(name: str, values: Sequence[str]) -> Json:
    """A clause that matches rows whose field has one of these values.

    Parameters
    ----------
    name : name of the field
    values : the values; an empty list matches no row
    """
    parts: list[Json] = [{"terms": {name: list[Json](part)}} for part in batched(values, MOST_TERMS)]
    parts = parts or [{"match_none": {}}]
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}


def by_vector(
    kept: IndexVectors, *, vector: NDArray[np.float32], k: int, inside: Inside, sizes: Sizes
) -> Steps[list[Hit]]:
    """The ``k`` rows with the highest inner product, with exact scores; for unit vectors this is the cosine.

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
    results: list[Found] = []
    if total > EXACT_BELOW and not is_known:
        count = Asked(alias, {"size": 0, "query": inside.query(), "track_total_hits": EXACT_BELOW + 1})
        # A formerly large index is treated as large until it is counted again, in the same round.
        is_guessed = inside.is_all and alias in sizes.states and k <= _MOST_CANDIDATES
        counted, *results = yield ((count, near()) if is_guessed else (count,))
        total = counted.count
        if inside.is_all:
            sizes.rows[alias], sizes.states[alias] = total, kept.state
    is_exact = total <= EXACT_BELOW or k > _MOST_CANDIDATES
    if is_exact or not results:
        results = yield (scan() if is_exact else near(),)
    if inside.is_all and results[0].hits.total is not None:
        sizes.rows[alias] = results[0].count
    hits = yield from _scored_hits(kept, results[0].hits.hits, question=question, has_data=has_data)
    if is_exact and len(results[0].hits.hits) == k + _SPARE and _is_cut(hits, k):
        # Rows beyond the last one may have the same score, and lower ids. The order by id costs the server a third more time.
        results = yield (scan(sort=[{"_score": "desc"}, {"id": "asc"}]),)
        hits = yield from _scored_hits(kept, results[0].hits.hits, question=question, has_data=has_data)
    return hits[:k]


def _near(question: NDArray[np.float32], *, k: int, inside: Inside) -> Json:
    """An HNSW query for many more than ``k`` candidates."""
    depth = min(max(2 * k, _CANDIDATES), _MOST_CANDIDATES)
    numbers: list[Json] = list(question.astype(np.float64).tolist())
    knn: dict[str, Json] = {"vector": numbers, "k": depth}
    clauses: list[Json] = [None if inside.is_all else inside.query(), inside.corpus]
    filters: list[Json] = [clause for clause in clauses if clause is not None]
    if filters:
        knn["filter"] = filters[0] if len(filters) == 1 else {"bool": {"filter": filters}}
    if inside.visited:
        knn["method_parameters"] = {"ef_search": max(inside.visited, depth)}
    return {"knn": {"vector": knn}}


def _scored_hits(
    kept: IndexVectors, rows: Sequence[Row], *, question: NDArray[np.float32], has_data: bool
) -> Steps[list[Hit]]:
    """All rows that a search returned, with exact scores, best first."""
    vectors = yield from _vectors_of(kept, rows, has_data=has_data)
    if not vectors:
        return []
    ids = np.array(list(vectors))
    scores = np.vecdot(np.stack(list(vectors.values())), question)
    return [Hit(str(ids[at]), float(scores[at])) for at in top_k(scores, len(ids), tie_break=ids)]


def _is_cut(hits: Sequence[Hit], k: int) -> bool:
    """Whether the last hit ties with the k-th one within the precision of the server, so that more rows may tie."""
    return len(hits) >= k and hits[-1].score >= hits[k - 1].score - _EQUAL * max(1.0, abs(hits[k - 1].score))


def scored(query: Json, vector: NDArray[np.float32]) -> Json:
    """A query that scores each row matched by another query by the inner product with its vector.

    Parameters
    ----------
    query : matches the rows
    vector : shape (d,)
    """
    numbers: list[Json] = list(vector.astype(np.float64).tolist())
    parameters: Json = {"field": "vector", "query_value": numbers, "space_type": "innerproduct"}
    script: Json = {"source": "knn_score", "lang": "knn", "params": parameters}
    return {"script_score": {"query": query, "script": script}}


def _vectors_of(kept: IndexVectors, rows: Sequence[Row], *, has_data: bool) -> Steps[dict[str, NDArray[np.float32]]]:
    """The vectors of the rows that a search returned, by id, in their order; rows removed in the meantime are left out."""
    by_id = kept.of_rows(rows)
    if not has_data:
        missing = [name for row in rows if (name := row.text("id")) not in by_id]
        return (yield from read_vectors(kept, [row.text("id") for row in rows], known=by_id)) if missing else by_id
    if rows:
        vectors = matrix(rows, kept.dimensions)
        kept.keep(rows, vectors)
        # By id: serverless can hold a row twice while a write is unfinished.
        by_id = dict(zip((row.text("id") for row in rows), vectors, strict=True))
    return by_id


def read_vectors(
    kept: IndexVectors,
    ids: Sequence[str],
    *,
    known: Mapping[str, NDArray[np.float32]] | None = None,
    copies: int = 1,
    is_kept: bool = True,
) -> Steps[dict[str, NDArray[np.float32]]]:
    """The vectors of rows by id, in the given order; vectors that are not cached are read. Unknown ids are left out.

    Parameters
    ----------
    kept : vectors of the index; updated
    ids : ids of the rows
    known : vectors that need not be read; None: those that are cached
    copies : maximum number of copies of a row
    is_kept : whether what is read is cached; not for a whole corpus, as an export reads it
    """
    by_id = dict(kept.of_ids(ids) if known is None else known)
    missing = [name for name in dict.fromkeys(ids) if name not in by_id]
    for part in batched(missing, VECTORS):
        body = of_ids(part, "id", "data", copies=copies) | {"seq_no_primary_term": True}
        rows = (yield from ask(Asked(kept.alias, body))).hits.hits
        if rows:
            vectors = matrix(rows, kept.dimensions)
            if is_kept:
                kept.keep(rows, vectors)
            by_id.update(zip((row.text("id") for row in rows), vectors, strict=True))
    return {name: by_id[name] for name in dict.fromkeys(ids) if name in by_id}


def by_text(
    alias: str,
    *,
    phrases: Sequence[tuple[str, ...]],
    k: int,
    inside: Inside,
    counted: Inside,
    kept: IndexVectors | None = None,
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
    counted : rows in which words are counted; unless these are all, the mean length is that of rows with a word of the question
    kept : cached vectors of the index; the vectors of the rows are needed next and returned with them if they are not cached;
        None: vectors are not needed

    Raises
    ------
    InputError
        The question has too many words that occur in the corpus.
    StoreError
        The answer has no word frequencies.
    """
    if not phrases:
        return []
    counts = yield from _counted(alias, phrases, counted)
    weights = [
        max(math.log((counts.total - rows + 0.5) / (rows + 0.5)), _LEAST_IDF) if rows else 0.0 for rows in counts.rows
    ]
    asked = sum(len(parts) for parts, weight in zip(phrases, weights, strict=True) if weight)
    if asked > MOST_TERMS_ASKED:
        raise InputError(
            f"the question has {asked:,} different words of the corpus, more than {MOST_TERMS_ASKED:,}; shorten it"
        )
    average = counts.average
    clauses: list[Json] = []
    for number, (parts, weight) in enumerate(zip(phrases, weights, strict=True)):
        if not weight:
            continue  # in no row, so it changes no score
        parameters: Json = {"parts": len(parts), "weight": weight * (_K1 + 1), "average": average, "k1": _K1, "b": _B}
        script: Json = {"source": _BM25, "params": parameters}
        clauses.append({"script_score": {"query": _phrase(parts, name=str(number)), "script": script}})
    if not clauses:
        return []
    query = inside.query(without={"should": clauses, "minimum_should_match": 1})
    body: dict[str, Json] = {"size": k + _SPARE, "query": query, "sort": [{"_score": "desc"}, {"id": "asc"}]}
    has_data = kept is not None and kept.wants_data()
    body["docvalue_fields"] = ["id", "length", "data"] if has_data else ["id", "length"]
    if kept is not None:
        body["seq_no_primary_term"] = True
    result = yield from ask(Asked(alias, body, NAMED))
    rows = list({row.text("id"): row for row in result.hits.hits}.values())  # serverless can hold a row twice
    if not rows:
        return []
    with_data = [row for row in rows if "data" in row.fields] if has_data else []
    if kept is not None and with_data:
        kept.keep(with_data, matrix(with_data, kept.dimensions))
    elif kept is not None and not has_data:
        kept.of_rows(rows)  # notes which of the vectors that are kept are theirs
    if not any(row.matched_queries for row in rows):
        raise StoreError(
            f"{alias}: the server does not say how often words occur in the rows that it found, so these cannot be ranked; "
            "roles with document-level security (dls) suppress that: use an account whose roles have none, since hlgraph "
            "itself filters by groups"
        )
    ids = np.array([row.text("id") for row in rows])
    scores = np.array([_bm25(row, phrases, weights=weights, average=average) for row in rows])
    return [Hit(str(ids[at]), float(scores[at])) for at in top_k(scores, k, tie_break=ids)]


def _bm25(row: Row, phrases: Sequence[tuple[str, ...]], *, weights: Sequence[float], average: float) -> float:
    """The score of a row from the frequencies of the phrases; the similarity of the field counts each term of a phrase."""
    matched = row.matched_queries if isinstance(row.matched_queries, dict) else {}
    length, score = row.number("length"), 0.0
    for number, (parts, weight) in enumerate(zip(phrases, weights, strict=True)):
        frequency = matched.get(str(number), 0.0) / len(parts)
        if frequency:
            score += weight * ((frequency * (_K1 + 1.0)) / (frequency + _K1 * (1 - _B + _B * length / average)))
    return score


class _Counted(NamedTuple):
    """The number of rows, the mean number of their terms, and the number of rows with each phrase."""

    total: int
    average: float
    rows: list[int]


def _counted(alias: str, phrases: Sequence[tuple[str, ...]], counted: Inside) -> Steps[_Counted]:
    total, average, rows = 0, 0.0, list[int]()
    length: Json = {"length": {"sum": {"field": "length"}}}
    for part in batched(phrases, _CLAUSES):
        filters: Json = {str(number): _phrase(parts) for number, parts in enumerate(part)}
        some: Json = {"match_all": {}} if counted.is_all else {"bool": {"should": [*map(_phrase, part)]}}
        counts: Json = {"lengths": {"filter": some, "aggs": length}, "phrases": {"filters": {"filters": filters}}}
        body: dict[str, Json] = {"size": 0, "track_total_hits": True, "aggs": counts}
        if not counted.is_all:
            body["query"] = counted.query()
        result = yield from ask(Asked(alias, body))
        if not result.count:
            return _Counted(0, 0.0, [0] * len(phrases))
        lengths = result.aggregations["lengths"]
        whole = lengths.length.value if lengths.length is not None and lengths.length.value else 0.0
        total, average = result.count, whole / lengths.doc_count if lengths.doc_count else 0.0
        rows += [result.aggregations["phrases"].buckets[str(number)].doc_count for number in range(len(part))]
    return _Counted(total, average, rows)


def _phrase(parts: Sequence[str], *, name: str | None = None) -> Json:
    """A query for rows with these adjacent terms; with a ``name``, the answer has the frequency in each row."""
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
    return np.frombuffer(parts, dtype="<f4").reshape(len(rows), dimensions)


def vector_of(row: Row) -> NDArray[np.float32]:
    """The stored vector of one row, of any length; empty if the row has none, or if its bytes are invalid."""
    data = _bytes(row.text("data")) if "data" in row.fields else b""
    return np.frombuffer(data if len(data) % 4 == 0 else b"", dtype="<f4")


def _bytes(text: str) -> bytes:
    """Decode base64 text, from which the server removes the padding."""
    return base64.b64decode(text + "=" * (-len(text) % 4))


def pages(
    connection: Connection,
    alias: str,
    *,
    query: Json,
    fields: Sequence[str],
    size: int = PAGE,
    shard: int | None = None,
) -> Iterator[Row]:
    """All rows of a query by ascending id, read page by page.

    The id of a row never changes, so a row that exists throughout is seen exactly once, despite concurrent writes. No open
    context on the server is needed; serverless does not offer one.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    query : query without scores
    fields : fields to return
    size : rows of a page
    shard : number of a shard to read; None: all
    """
    after: str | None = None
    while True:
        body: dict[str, Json] = {"size": size, "query": query, "sort": [{"id": "asc"}]}
        body["docvalue_fields"] = list[Json](fields)
        if after is not None:
            body["search_after"] = [after]
        rows = find(connection, alias, body=body, parameters=_only(shard)).hits.hits
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1].text("id")


State: TypeAlias = tuple[tuple[int, float | None], ...]
"""For each shard with rows of a corpus: the number of rows and the sequence number of the last write."""


def index_state(connection: Connection, home: Home) -> State:
    """The state of the rows of a corpus; writes of another corpus to the same index do not change it.

    Each shard numbers its writes separately. The rows of a corpus in a shared index are in one shard.

    Parameters
    ----------
    connection : connection to the server
    home : index of the corpus
    """
    counts: Json = {"last": {"max": {"field": "_seq_no"}}}
    body: dict[str, Json] = {"size": 0, "track_total_hits": True, "aggs": counts}
    shards = range(home.meta.spread) if home.meta.spread > 1 else (None,)
    seen = (find(connection, home.alias, body=body, parameters=_only(shard)) for shard in shards)
    return tuple((result.count, result.aggregations["last"].value if result.count else None) for result in seen)


def _only(shard: int | None) -> dict[str, str]:
    return {} if shard is None else {"preference": f"_shards:{shard}"}


# All rows of one index above a threshold: computed by the server for a few vectors, else on a local copy of all vectors.
#
# The server has no exact index for this: its radial search walks the HNSW graph, and brute force over 206,000 rows takes 15 ms per
# vector, while reading all rows takes 6 s and 457 MB. So a process asks the server for the first vectors, as in the edit of a
# document. For more, it reads the rows once, as float32 into an unnamed memory-mapped temporary file, and then only new rows, by
# the numbers of their writes (``_seq_no``). The number of rows shows whether any were deleted.


_ALL: Json = {"match_all": {}}
_BLOCK = 2_000
_SAMPLE = 4_096
_ASKED = 100
"""Maximum number of vectors that a process sends to the server before it reads all rows."""
_MOST = 1_000
"""Maximum number of rows requested from the server per vector."""
_SLACK = 1e-4
"""Tolerance for the rounding of scores by the server, below the threshold."""


class Replica:
    """A local copy of the vectors of one index. Thread-safe.

    Parameters
    ----------
    connection : connection to the server
    home : the index of the rows

    Attributes
    ----------
    home : the index of the rows
    """

    def __init__(self, connection: Connection, home: Home) -> None:
        self.home = home
        self._connection = connection
        self._alias = home.alias
        self._guard = threading.Lock()
        self._asked = 0
        self._file: IO[bytes] | None = None
        self._clear()

    def neighbours(self, vectors: NDArray[np.float32], *, threshold: float) -> Neighbours:
        """All rows on the server whose cosine to one of the given vectors reaches a threshold.

        Parameters
        ----------
        vectors : shape (n, d)
        threshold : lowest cosine, inclusive
        """
        with self._guard:
            neighbours = self._ask(vectors, threshold=threshold)
            if neighbours is not None:
                return neighbours
            self._follow()
            if self._index is None:
                return Neighbours(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=np.float32))
            pairs = self._index.query(vectors, threshold=threshold)
            keep = np.isin(pairs.base, np.fromiter(self._slots.values(), dtype=np.intp, count=len(self._slots)))
            return Neighbours(pairs.queries[keep], [self._ids[at] for at in pairs.base[keep]], pairs.similarities[keep])

    def _ask(self, vectors: NDArray[np.float32], *, threshold: float) -> Neighbours | None:
        """The result from the server; None if a copy exists or is worthwhile, or if the server does not score exactly."""
        if self._ids or self._connection.is_serverless or self._asked + len(vectors) > _ASKED or threshold <= _SLACK:
            return None
        if self._connection.settings.quantisation != "none":
            return None
        self._asked += len(vectors)
        rows = together(self._connection, [_above(self.home, vector, threshold=threshold) for vector in vectors])
        if any(len(some) == _MOST for some in rows):
            return None
        queries, ids, cosines = list[int](), list[str](), list[float]()
        for at, some in enumerate(rows):
            if some:
                stored = matrix(some, self.home.meta.dimensions)
                pairs = pairs_between(vectors[at : at + 1], stored, threshold=threshold)
                queries += [at] * len(pairs.base)
                ids += [some[row].text("id") for row in pairs.base.tolist()]
                cosines += pairs.similarities.tolist()
        return Neighbours(np.array(queries, dtype=np.intp), ids, np.array(cosines, dtype=np.float32))

    def close(self) -> None:
        """Remove the temporary file."""
        with self._guard:
            self._clear()

    def _clear(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # closing flushes the buffer
                self._file.close()
        self._file = None
        self._ids: list[str] = []
        self._slots: dict[str, int] = {}
        self._index: ThresholdIndex | None = None
        self._state: State = ()

    def _follow(self) -> None:
        """Read the rows written since the last call, and drop deleted ones."""
        if self._connection.is_serverless:  # serverless does not number its writes
            self._clear()
            self._read(_blocks(self._connection, self._alias, _ALL))
            return
        state = index_state(self._connection, self.home)
        if state == self._state:
            return
        count = sum(rows for rows, _ in state)
        if not count or _is_behind(state, self._state):  # empty, or another index than before
            self._clear()
        before = self._state or ((0, None),) * len(state)
        for shard, ((_, last), (_, read)) in enumerate(zip(state, before, strict=True)):
            if last is not None and (read is None or last > read):
                newer: Json = {"range": {"_seq_no": {"gt": -1 if read is None else int(read)}}}
                self._read(_blocks(self._connection, self._alias, newer, shard=shard if len(state) > 1 else None))
        if len(self._slots) > count:
            stored = {row.text("id") for row in pages(self._connection, self._alias, query=_ALL, fields=["id"])}
            self._slots = {name: at for name, at in self._slots.items() if name in stored}
        # Read all again if a write became visible after one with a higher number, or if the file is mostly gaps.
        if len(self._slots) < max(count, len(self._ids) // 2):
            self._clear()
            self._read(_blocks(self._connection, self._alias, _ALL))
        self._state = state

    def _read(self, blocks: Iterable[list[Row]]) -> None:
        for rows in blocks:
            self._append(matrix(rows, self.home.meta.dimensions).tobytes())
            for row in rows:
                name = row.text("id")
                self._slots[name] = len(self._ids)  # a rewritten row leaves a gap at its old slot
                self._ids.append(name)
        if self._file is None or not self._ids:
            return
        vectors = np.memmap(self._file, dtype="<f4", mode="r", shape=(len(self._ids), self.home.meta.dimensions))
        if self._index is None:
            self._index = ThresholdIndex(np.asarray(vectors[:_SAMPLE]))
        self._index.attach(vectors)

    def _append(self, data: bytes) -> None:
        """Write to the end of the file. After an error it is empty: a part of the data would displace all later rows."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="hlgraph-")  # noqa: SIM115 - lives as long as the replica
            self._file.write(data)
            self._file.flush()  # mapped below: what is not in the file yet cannot be read there
        except OSError as error:
            self._clear()
            raise StoreUnavailableError(
                f"{tempfile.gettempdir()}: cannot keep a temporary copy of the vectors of {self._alias} "
                f"({os.strerror(error.errno or 0)}); free some space, or set TMPDIR to another folder, then try again"
            ) from error


def _above(home: Home, vector: NDArray[np.float32], *, threshold: float) -> Steps[list[Row]]:
    """The rows whose cosine to a vector reaches about the threshold, with their vectors."""
    inside: Json = _ALL if home.clause is None else {"bool": {"filter": [home.clause]}}
    body: dict[str, Json] = {
        "size": _MOST,
        "min_score": 1 + threshold - _SLACK,  # the score of an inner product that is not negative is greater by one
        "query": scored(inside, vector),
        "docvalue_fields": ["id", "data"],
    }
    return (yield from ask(Asked(home.alias, body))).hits.hits


def _is_behind(state: State, read: State) -> bool:
    """Whether a shard is at an earlier write than when it was read, or the shards have changed."""
    pairs = zip(state, read, strict=False)
    return len(state) != len(read) or any(
        was is not None and (last is None or last < was) for (_, last), (_, was) in pairs
    )


def _blocks(connection: Connection, alias: str, query: Json, *, shard: int | None = None) -> Iterator[list[Row]]:
    """Rows with their vectors, in blocks of 2,000, which bounds the memory."""
    return batched(pages(connection, alias, query=query, fields=["id", "data"], size=_BLOCK, shard=shard), _BLOCK)
