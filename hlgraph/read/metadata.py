"""Converts values of rows and front matter to metadata: scalars and tuples of scalars, with their types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time

from hlgraph.read.content import clean
from hlgraph.records import MetadataValue, Scalar

_MOST_VALUES = 10_000
_DEEPEST = 32
_INT64 = 1 << 63
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,17}")


def leaves(tree: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """The values of nested objects with their dotted paths, in order.

    Parameters
    ----------
    tree : the nested objects
    path : prefix of all paths, default none

    Raises
    ------
    ValueError
        There are more than 10,000 values or 32 levels: YAML aliases expand without end from a few bytes.

    Examples
    --------
    >>> list(leaves({"a": 1, "b": {"c": 2, "d": {"e": 3}}}))
    [('a', 1), ('b.c', 2), ('b.d.e', 3)]
    """
    stack = [(path, iter(tree.items()))]
    count = 0
    while stack:
        prefix, items = stack[-1]
        for key, value in items:
            count += 1
            name = f"{prefix}.{key}" if prefix else str(key)
            if count > _MOST_VALUES or len(stack) > _DEEPEST:
                raise ValueError(f"has more than {_MOST_VALUES:,} metadata values or more than {_DEEPEST} levels")
            if isinstance(value, Mapping):
                stack.append((name, iter(value.items())))
                break
            yield name, value
        else:
            stack.pop()


def metadata_value(value: object) -> MetadataValue | None:
    """A value as metadata stores it, or None for a value that is left out.

    Text, numbers and booleans keep their type; dates become ISO text; integers beyond 64 bits become text; lists of
    these become tuples. None, NaN, infinities, empty lists and lists of lists or objects are left out.

    Examples
    --------
    >>> metadata_value([1, "a", None, True]), metadata_value(date(2024, 3, 5)), metadata_value([[1]])
    ((1, 'a', True), '2024-03-05', None)
    """
    if not isinstance(value, list | tuple):
        return _scalar(value)
    scalars = [_scalar(item) for item in value if item is not None]
    kept = tuple(item for item in scalars if item is not None)
    return kept if kept and len(kept) == len(scalars) else None


def _scalar(value: object) -> Scalar | None:
    match value:
        case bool():
            return value
        case int():
            return value if -_INT64 <= value < _INT64 else str(value)
        case float():
            return value if math.isfinite(value) else None
        case str():
            return clean(value)
        case datetime() | date() | time():
            return value.isoformat()
    return None


def cell_value(cell: object) -> MetadataValue | None:
    """The value of a CSV cell: an integer, a decimal or a boolean if it is unmistakably one, else text.

    Numbers with leading zeros, plus signs, exponents or thousands separators stay text, and so do dates. An empty cell is
    None.

    Examples
    --------
    >>> [cell_value(cell) for cell in ("7", "007", "3.50", "1e5", "True", "2024-03-05", "")]
    [7, '007', 3.5, '1e5', True, '2024-03-05', None]
    """
    if not isinstance(cell, str) or not cell.strip():
        return None
    if _WHOLE.fullmatch(cell):
        return int(cell)
    if _DECIMAL.fullmatch(cell):
        return float(cell)
    lowered = cell.lower()
    return lowered == "true" if lowered in ("true", "false") else clean(cell)


def metadata_of(
    tree: Mapping[str, object],
    path: str = "",
    *,
    value_of: Callable[[object], MetadataValue | None] = metadata_value,
) -> dict[str, MetadataValue]:
    """The metadata of nested objects, by dotted path; values that metadata cannot store are left out.

    Parameters
    ----------
    tree : the nested objects
    path : prefix of all paths, default none
    value_of : converts a value, or returns None to leave it out; default :func:`metadata_value`

    Raises
    ------
    ValueError
        There are more than 10,000 values or 32 levels; see :func:`leaves`.
    """
    found: dict[str, MetadataValue] = {}
    for name, leaf in leaves(tree, path):
        value = value_of(leaf)
        if value is not None:
            found.setdefault(clean(name), value)
    return found
