"""Cypher queries of users: their result, their limits, and the protocol of a store that runs them.

Not part of the two storage protocols: only a store that speaks Cypher implements it, and no stage needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, Union

from hlgraph.errors import InputError
from hlgraph.stores.queries import ParameterValue, Query

Plain: TypeAlias = Union[bool, int, float, str, list["Plain"], dict[str, "Plain"], None]  # noqa: UP007 - refers to itself
"""A cell of a result, as a JSON value. A date is an ISO 8601 text, a node a map of ``labels`` and ``properties``, a
relationship a map of ``type``, ``properties``, ``start`` and ``end``, a path a map of ``nodes`` and ``relationships``."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one query. Raises InputError for a value out of range.

    Attributes
    ----------
    timeout : maximum running time in seconds, above 0 and at most 86,400
    max_rows : maximum number of rows to return, at least 1
    """

    timeout: float = 30.0
    max_rows: int = 1_000

    def __post_init__(self) -> None:
        """Check the values."""
        if not 0 < self.timeout <= 86_400:
            raise InputError(f"timeout is {self.timeout}; choose seconds above 0, up to a day")
        if self.max_rows < 1:
            raise InputError(f"max_rows is {self.max_rows}; choose 1 or more")


@dataclass(frozen=True, slots=True)
class Table:
    """The result of a query.

    Attributes
    ----------
    columns : in the order of the query
    rows : one mapping of column to value per row
    is_cut : whether the query had more rows than :attr:`Limits.max_rows`
    milliseconds : from sending the query to its last row, including the lookup of names
    params : the parameters sent: defaults filled in, names replaced by ids
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Plain], ...]
    is_cut: bool
    milliseconds: float
    params: Mapping[str, ParameterValue]


class CypherReader(Protocol):
    """A store that runs read-only Cypher."""

    def read(self, query: Query, params: Mapping[str, ParameterValue], *, corpus: str, limits: Limits) -> Table:
        """Runs a query in a read-only transaction that ends after ``limits.timeout``.

        Parameters
        ----------
        query : statement and the description of its parameters
        params : values by name; those of the kinds ``entity`` and ``source`` are looked up in the corpus by name first
        corpus : name of the corpus; it must exist if the query takes ``$corpus``
        limits : maximum time and rows

        Raises
        ------
        InputError
            The query writes, the server does not understand it, or a name fits several records.
        UnknownNameError
            The corpus, an entity or a source does not exist.
        StoreUnavailableError
            The query exceeded its time, or the server does not answer.
        """
        ...
