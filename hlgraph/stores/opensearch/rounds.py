"""Several searches side by side: what they ask for in one round travels in one request.

A search is a generator. It yields what it asks the server for next, one or more requests, receives what each of them found, and
returns its result.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.wire import Cause, Found, Hits, Json, Part, Parts
from hlgraph.stores.trace import count_rows

T = TypeVar("T")

_MOST_NAMES = 1_000  # a server accepts 1,024 clauses in a query
_MOST_ROWS = 10_000
NAMED: Mapping[str, str] = {"include_named_queries_score": "true"}
"""The parameter by which the answer has the score of each query with a name in each row: here the frequency of a word."""
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
"""A search that asks in steps."""


def ask(one: Asked) -> Steps[Found]:
    """A step that asks for one thing."""
    (found,) = yield (one,)
    return found


def find(
    connection: Connection, alias: str, *, body: Mapping[str, Json], parameters: Mapping[str, str] | None = None
) -> Found:
    """Searches an index; an answer that lacks the results of some shards is an error. A removed index holds nothing.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    body : body of the search
    parameters : more query parameters
    """
    found = connection.send(
        "POST",
        f"/{alias}/_search",
        body={**_BASE, **body},
        parameters={"allow_partial_search_results": "false", **(parameters or {})},
    )
    if found.status == 404 and "index_not_found_exception" in found.body:
        return Found(Hits())
    decoded = connection.accepted(found, Found)
    count_rows(len(decoded.hits.hits))
    return decoded


def together(connection: Connection, searches: Sequence[Steps[T]]) -> list[T]:
    """The results of searches, in their order. Each round of what they ask for is one request.

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
        found = iter(_find_all(connection, [one for some in asked.values() for one in some]))
        answers = {number: [next(found) for _ in some] for number, some in asked.items()}
    return [results[number] for number in range(len(searches))]


def _find_all(connection: Connection, asked: Sequence[Asked]) -> list[Found]:
    """What each search finds: all of them in one request, and in a second one the frequencies of the words of several.

    The server tells frequencies (:data:`NAMED`) to a search of its own alone, so those of several are asked for together, of the
    rows that they found.
    """
    if connection.is_serverless or len(asked) < 2:
        return [_find(connection, one) for one in asked]
    named = [at for at, one in enumerate(asked) if one.parameters]
    if len(named) > 1 and sum(_names(asked[at].body) for at in named) <= _MOST_NAMES:
        found = _in_one(connection, asked)
        _tell(connection, [(asked[at], found[at]) for at in named])
        return found
    rest = [at for at in range(len(asked)) if at not in named]
    held = {at: _find(connection, asked[at]) for at in (named if len(rest) > 1 else range(len(asked)))}
    if len(rest) > 1:
        held |= dict(zip(rest, _in_one(connection, [asked[at] for at in rest]), strict=True))
    return [held[at] for at in range(len(asked))]


def _names(body: Mapping[str, Json]) -> int:
    return len(_named(body.get("query"), ""))


def _named(query: Json, prefix: str) -> list[Json]:
    """The queries with a name inside another one, with a prefix before their names."""
    if isinstance(query, list):
        return [found for item in query for found in _named(item, prefix)]
    if not isinstance(query, dict):
        return []
    for kind in ("match", "match_phrase"):
        words = query.get(kind)
        field = words.get("words") if isinstance(words, dict) else None
        if isinstance(field, dict) and "_name" in field:
            return [{kind: {"words": {**field, "_name": f"{prefix}{field['_name']}"}}}]
    return [found for item in query.values() for found in _named(item, prefix)]


def _tell(connection: Connection, searches: Sequence[tuple[Asked, Found]]) -> None:
    """Gives the rows of searches the frequencies of their words; a row that is gone meanwhile is left out."""
    ids = sorted({row.text("id") for _, found in searches for row in found.hits.hits})
    if not ids:
        return
    names = [_named(one.body["query"], f"{number}:") for number, (one, _) in enumerate(searches)]
    query: Json = {
        "bool": {
            "filter": [{"terms": {"id": list[Json](ids)}}],
            "should": [item for some in names for item in some],
        }
    }
    aliases = ",".join(dict.fromkeys(one.alias for one, _ in searches))
    body: dict[str, Json] = {"size": min(2 * len(ids), _MOST_ROWS), "query": query, "docvalue_fields": ["id"]}
    told = find(connection, aliases, body=body, parameters=searches[0][0].parameters).hits.hits
    by_id = {row.text("id"): row.matched_queries for row in told if isinstance(row.matched_queries, dict)}
    for number, (_, found) in enumerate(searches):
        found.hits.hits = [row for row in found.hits.hits if row.text("id") in by_id]
        for row in found.hits.hits:
            told_of = ((name.partition(":"), value) for name, value in by_id[row.text("id")].items())
            row.matched_queries = {name: value for (of, _, name), value in told_of if of == str(number)}


def _find(connection: Connection, one: Asked) -> Found:
    return find(connection, one.alias, body=one.body, parameters=one.parameters)


def _in_one(connection: Connection, asked: Sequence[Asked]) -> list[Found]:
    lines: list[Json] = []
    for one in asked:
        lines += [{"index": one.alias, "allow_partial_search_results": False}, {**_BASE, **one.body}]
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    answer = connection.send("POST", "/_msearch", body=body, told={"searches": lines})
    parts = connection.accepted(answer, Parts).responses
    count_rows(sum(len(part.hits.hits) for part in parts))
    # What was refused is sent by itself: that waits for a busy server, and says what is wrong.
    return [_found(part) or _find(connection, one) for part, one in zip(parts, asked, strict=True)]


def _found(part: Part) -> Found | None:
    """What one search of several found; None where it was refused."""
    if part.status < 400:
        return Found(part.hits, part.aggregations)
    is_gone = isinstance(part.error, Cause) and part.error.type == "index_not_found_exception"
    return Found(Hits()) if is_gone else None
