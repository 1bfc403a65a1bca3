"""Reading a store by queries of people's own: what such a reading gives, its limits, and what a store must do for it.

Not part of the two protocols: only a store that speaks Cypher has it, and no stage needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, Union

from hlgraph.errors import InputError
from hlgraph.stores.queries import Query
from hlgraph.stores.query_parameters import ParameterValue

Plain: TypeAlias = Union[bool, int, float, str, list["Plain"], dict[str, "Plain"], None]  # noqa: UP007 - refers to itself
"""What a cell holds: what JSON has. Dates are ISO texts; nodes are maps with ``labels`` and ``properties``, relationships
maps with ``type``, ``properties``, ``start`` and ``end``, paths maps with ``nodes`` and ``relationships``."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a query may run, in seconds, and how many rows of it are taken.

    Raises InputError for a value that is not above 0.
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
    """What a query gave.

    Attributes
    ----------
    columns : in the order of the query
    rows : one mapping of the columns each
    is_cut : whether there were more rows than :attr:`Limits.max_rows`
    milliseconds : from sending the query to its last row, names looked up before included
    params : what was sent: the values with defaults, names turned into ids
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Plain], ...]
    is_cut: bool
    milliseconds: float
    params: Mapping[str, ParameterValue]


class CypherReader(Protocol):
    """A store that runs Cypher and changes nothing by it."""

    def read(self, query: Query, params: Mapping[str, ParameterValue], *, corpus: str, limits: Limits) -> Table:
        """Run a query in a transaction that may only read, which ends after ``limits.timeout``.

        Parameters of the kinds ``entity`` and ``source`` are looked up in the corpus by name first. Every query that
        takes ``$corpus`` needs one that there is.

        Raises
        ------
        InputError
            For a query that writes or that the server cannot understand, and for a name that fits several records.
        UnknownNameError
            For a corpus, an entity or a source that there is not.
        StoreUnavailableError
            When the query took longer than it may, or the server does not answer.
        """
        ...
