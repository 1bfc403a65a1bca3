"""What the matchers of the stores share: checks of a query, and counts of mentions grouped as a result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.records import Kind, Relationship
from hlgraph.stores.protocols import Matched, MatchQuery, PullShape

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
