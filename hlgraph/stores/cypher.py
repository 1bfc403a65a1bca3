"""Cypher queries of users: their result and their limits; see :meth:`hlgraph.stores.protocols.GraphStore.cypher`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

from hlgraph.errors import InputError
from hlgraph.stores.queries import ParameterValue

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
