"""What the stores share: checks of a match, counts of mentions grouped as a result, and which records a scope admits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import StoreError
from hlgraph.records import Chunk, Kind, Record, Relationship, Source, Statement, Topic
from hlgraph.stores.protocols import Matched, MatchQuery, PullShape, Scope
from hlgraph.where import matches, source_values

MENTIONED = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}))
"""The relationship and the kinds that a match reads."""


def check_match(query: MatchQuery) -> None:
    """Checks a query before anything is read. Raises InputError for a negative ``k`` or a bound below 1."""
    check.not_negative("k", query.k)
    check.positive("most", query.most)


def matched(
    ids: NDArray[np.str_] | NDArray[np.bytes_], counts: NDArray[np.integer], *, query: MatchQuery
) -> list[Matched]:
    """Statements grouped by their counts, as :meth:`Matcher.match` returns them.

    Parameters
    ----------
    ids : shape (n,), of all statements that mention a name, ascending
    counts : shape (n,), number of names that each mentions
    query : bounds

    Returns
    -------
    list of Matched
        Highest count first.

    Examples
    --------
    >>> matched(np.array(["a", "b", "c"]), np.array([1, 2, 1]), query=MatchQuery((), k=2, most=1))
    [Matched(count=2, size=1, ids=('b',)), Matched(count=1, size=2, ids=())]
    """
    found: list[Matched] = []
    wanted = query.k
    for count in np.unique(counts)[::-1].tolist():
        if wanted <= 0:
            break
        some = ids[counts == count]
        held = tuple(some.astype(np.str_).tolist()) if len(some) <= query.most else ()
        found.append(Matched(int(count), len(some), held))
        wanted -= len(some)
    return found


def admitted(found: list[Record], scope: Scope, *, read: Callable[[list[str]], list[Record]]) -> list[Record]:
    """The records that the filter and the sources of a scope admit, in their order.

    Parameters
    ----------
    found : records of one kind of the corpus of the scope
    scope : a filter, sources, or both
    read : reads sources of the corpus by id

    Raises
    ------
    StoreError
        Facts and entities, which belong to the whole corpus, are to be filtered.
    """
    owners = [_owner(item) for item in found]
    names = set(owners) if scope.sources is None else set(owners).intersection(scope.sources)
    if scope.where is not None:
        held = [item for item in read(sorted(names)) if isinstance(item, Source)]
        names = {item.id for item in held if matches(scope.where, source_values(item))}
    return [item for item, owner in zip(found, owners, strict=True) if owner in names]


def _owner(record: Record) -> str:
    """The id of the source that a record belongs to."""
    if isinstance(record, Source):
        return record.id
    if isinstance(record, Chunk | Statement | Topic):
        return record.source_id
    raise StoreError("facts and entities belong to the whole corpus; read them without a filter or sources")
