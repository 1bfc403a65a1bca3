"""Writes to Amazon OpenSearch Serverless, in which clients can neither choose the id of a document nor refresh an index.

A vector collection assigns the ids of documents, and a write becomes searchable up to a minute later. A row is therefore
replaced in three steps: write it again, wait until it is searchable, and delete the previous copies by their assigned ids.
Searches count the copies of a row once. After a crash in between, repeating the write removes the extra copies. hlgraph
does without the other operations that serverless lacks: the lock of migrations, numbers of writes, merges, statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlgraph.errors import StoreUnavailableError
from hlgraph.stores.batches import batched
from hlgraph.stores.concurrency import Retry
from hlgraph.stores.opensearch import writes
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.query_bodies import count, find, of_ids, one_of
from hlgraph.stores.opensearch.wire import Json, Row

_CHUNK = 500
_COPIES = 10_000
_LONGEST_POLL = 5.0


def replace(connection: Connection, alias: str, *, items: Iterable[writes.Item]) -> None:
    """Write documents; return when they are searchable and their older copies are not.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    items : documents to write

    Raises
    ------
    StoreUnavailableError
        The documents are not searchable within the patience.
    """
    waiting: list[tuple[list[str], list[str]]] = []
    for chunk in batched(items, _CHUNK):
        ids = [item.id for item in chunk]
        waiting.append((ids, [row.key for row in _copies(connection, alias, ids)]))
        writes.write(connection, alias, items=(item._replace(is_named=False) for item in chunk))
    for ids, old in waiting:
        _wait(connection, alias, ids, at_least=len(set(ids)) + len(old))
    for ids, old in waiting:
        if old:
            writes.write(connection, alias, items=map(writes.Item, old))
            _wait(connection, alias, ids, at_most=len(ids))


def remove(connection: Connection, alias: str, *, ids: Sequence[str]) -> int:
    """Delete documents; return when none of them is searchable.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    ids : ids of the documents

    Returns
    -------
    int
        Number of documents that existed.

    Raises
    ------
    StoreUnavailableError
        Some documents are still searchable after the patience.
    """
    removed = 0
    for part in batched(ids, _CHUNK):
        copies = _copies(connection, alias, part)
        if copies:
            writes.write(connection, alias, items=(writes.Item(row.key) for row in copies))
            _wait(connection, alias, part, at_most=0)
        removed += len({row.text("id") for row in copies})
    return removed


def _copies(connection: Connection, alias: str, ids: Sequence[str]) -> list[Row]:
    """All documents with these ids, with the ids that the service assigned to them."""
    body = of_ids(ids, "id") | {"size": _COPIES, "stored_fields": []}
    return find(connection, alias, body=body).hits.hits


def _wait(
    connection: Connection, alias: str, ids: Sequence[str], *, at_least: int = 0, at_most: int | None = None
) -> None:
    """Wait until the number of searchable documents with these ids is within the bounds."""
    retry = Retry(connection.settings.patience, longest=_LONGEST_POLL)
    query: Json = {"bool": {"filter": [one_of("id", ids)]}}
    while True:
        number = count(connection, alias, query=query)
        if number >= at_least and (at_most is None or number <= at_most):
            return
        if not retry.goes_on():
            raise StoreUnavailableError(
                f"{connection.url}: writes to {alias} are not searchable after {connection.settings.patience:.0f} s; "
                "raise opensearch.patience, and run the same command again; it continues where it stopped"
            )
