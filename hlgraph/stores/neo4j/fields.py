"""The metadata fields of the sources of a corpus, with the types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hlgraph.stores.neo4j.server import Row
from hlgraph.where.filter import BUILT_IN_FIELDS

_TYPES = {"STRING": "text", "INTEGER": "number", "FLOAT": "number", "BOOLEAN": "truth"}


class Fields(Mapping[str, frozenset[str]]):
    """The fields as a filter names them; read when they are looked at first, since that takes a look at every source.

    Parameters
    ----------
    read : reads rows of ``admin/list_fields``
    """

    def __init__(self, read: Callable[[], Sequence[Row]]) -> None:
        self._read = read
        self._found: dict[str, frozenset[str]] | None = None

    @property
    def _held(self) -> dict[str, frozenset[str]]:
        # Not cached_property: before Python 3.12 its lock is that of all objects, so that corpora would wait for each other.
        if self._found is None:
            built_in = {key: frozenset({"text"}) for key in sorted(BUILT_IN_FIELDS)}
            self._found = built_in | {str(row["field"]): _types(row["types"]) for row in self._read()}
        return self._found

    def __getitem__(self, name: str) -> frozenset[str]:
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def _types(found: object) -> frozenset[str]:
    """The types of a field as a filter names them; none where a value is not a property of its source, and so unknown."""
    names = map(str, found) if isinstance(found, list) else ()
    kinds = [re.sub(r"LIST<|>| NOT NULL", "", name).strip() for name in names]
    return frozenset(_TYPES[kind] for kind in kinds) if all(kind in _TYPES for kind in kinds) else frozenset()
