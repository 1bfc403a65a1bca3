"""Convert rows of CSV, JSON and JSON Lines to documents with a column mapping.

:func:`row_lines` returns the lines of a file and their encoding. :class:`RowMapping` assigns columns to the parts of a
document, and :func:`documents_of` applies it to all rows. :func:`metadata_value` converts the other columns to metadata.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import re
from abc import ABC
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard, runtime_checkable
from urllib.parse import quote

from hlgraph.errors import InputError, ReadError
from hlgraph.ids import checksum
from hlgraph.read.bounds import MOST_CELLS
from hlgraph.read.content import (
    NAME_ENCODING,
    PIECE,
    Origin,
    ReadFailure,
    clean,
    clean_title,
    decode,
    failure,
    found_encoding,
    guessed,
    markdown_rows,
    marked_encoding,
    read_bounded,
)
from hlgraph.read.tables import Cell, in_sections
from hlgraph.records import Document, MetadataValue, Scalar, plain_scalar
from hlgraph.text import ACL, canonical_time, groups_of

_MOST_VALUES = 10_000
_DEEPEST = 32
_MOST_NESTED = 100  # of a table of names and values
_INT64 = 1 << 63
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+>$")  # of an object that has no text
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,17}")


def leaves(tree: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of nested objects with their dotted paths, in order.

    Parameters
    ----------
    tree : the nested objects
    path : prefix of all paths, default none

    Raises
    ------
    ValueError
        There are more than 10,000 values or 32 levels. A few bytes of YAML aliases can expand without bound.

    Examples
    --------
    >>> list(leaves({"a": 1, "b": {"c": 2, "d": {"e": 3}}}))
    [('a', 1), ('b.c', 2), ('b.d.e', 3)]
    """
    stack = [(path, iter(tree.items()))]
    count = 0
    while stack:
        prefix, entries = stack[-1]
        for key, value in entries:
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
    """Convert a value to a metadata value, or return None if metadata cannot store it.

    Text, numbers and booleans keep their type. Dates become ISO text, and integers beyond 64 bits become text. Lists of these
    become tuples. Metadata cannot store None, NaN, infinities, empty lists, or lists of lists or objects.

    Examples
    --------
    >>> metadata_value([1, "a", None, True]), metadata_value(date(2024, 3, 5)), metadata_value([[1]])
    ((1, 'a', True), '2024-03-05', None)
    """
    if not isinstance(value, list | tuple):
        return _scalar(value)
    scalars = [_scalar(scalar) for scalar in value if scalar is not None]
    kept = tuple(scalar for scalar in scalars if scalar is not None)
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
        case date() | time():
            return str(canonical_time(value))
    return None


def cell_value(cell: object) -> MetadataValue | None:
    """Convert a CSV cell to an integer, a decimal or a boolean if it is unmistakably one, else to text.

    Numbers with leading zeros, plus signs, exponents or thousands separators stay text, and so do dates. An empty cell gives
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
    """Flatten nested objects to metadata by dotted path, without the values that metadata cannot store.

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
    metadata: dict[str, MetadataValue] = {}
    for name, leaf in leaves(tree, path):
        value = value_of(leaf)
        if value is not None:
            metadata.setdefault(clean(name), value)
    if not path and not isinstance(tree.get(ACL), str | float | None):
        metadata.setdefault(ACL, ())  # groups that cannot be read: the document is refused, not stored without groups
    return metadata


_TEXT = (("text",), ("body",), ("content",))
_TOLD = ("description", "summary")  # of an entry without a text; a title alone is text, too
_TITLE = ("title", "name")
_ID = ("id", "_id", "key")
IN_FRAGMENT = "/?:@!$&'()*+,;="  # characters that RFC 3986 allows in a fragment
_HASH_DIGITS = 16
_MOST_PENDING = 1_000  # failures held back while no row has the mapped columns


class _NoColumnError(ReadError):
    """A row lacks its text or id column. Possibly every row of the file does."""


@dataclass(frozen=True, slots=True)
class Row:
    """One parsed row.

    Attributes
    ----------
    number : line number, or position in the file, from 1
    columns : the values by column name
    """

    number: int
    columns: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Flaw:
    """A row that could not be parsed."""

    number: int
    reason: str
    mend: str = ""


class Table(NamedTuple):
    """The rows of a file, for a :class:`hlgraph.read.table_mapping.TableMapping`.

    Attributes
    ----------
    rows : the rows, parsed or not
    unit : word for a row in messages, ``line`` or ``row``
    value_of : converts a cell to a metadata value, or to None to leave it out
    warnings : warnings about the file
    """

    rows: Iterator[Row | Flaw]
    unit: str = "row"
    value_of: Callable[[object], MetadataValue | None] = metadata_value
    warnings: tuple[str, ...] = ()


class RowMapping:
    """Assigns the columns of a row to the parts of a document.

    Parameters
    ----------
    mapping : column name by part of a document; see ``ReadOptions.mapping``
    value_of : converts the value of a column to a metadata value, or to None to leave it out
    """

    def __init__(
        self,
        mapping: Mapping[str, str],
        *,
        value_of: Callable[[object], MetadataValue | None] = metadata_value,
    ) -> None:
        text = mapping.get("text")
        # a column may itself be named "a+b", so the whole name is tried first
        self._text = ((text,), tuple(map(str.strip, text.split("+")))) if text else _TEXT
        self._title = (mapping["title"],) if "title" in mapping else _TITLE
        self._id = (mapping["id"],) if "id" in mapping else _ID
        self._must_have_id = "id" in mapping
        self._metadata = {
            name.removeprefix("metadata."): path
            for name, path in mapping.items()
            if name not in ("text", "title", "id")
        }
        self._value_of = value_of
        self._missing = {name: path for name, path in mapping.items() if name != "text"}

    @property
    def unused(self) -> tuple[str, ...]:
        """The mapped columns that no row has had so far, such as ``title=headline``."""
        return tuple(f"{name}={path}" for name, path in self._missing.items())

    def has_text(self, columns: Mapping[str, object]) -> bool:
        """Return whether a text column is present and holds a string, even an empty one."""
        return any(isinstance(column_of(columns, path), str) for paths in self._text for path in paths)

    def is_table(self, head: Sequence[str]) -> bool:
        """Whether no column is the text, or holds the groups of a row by the mapping, so that each row is a statement."""
        return (
            self._text is _TEXT
            and ACL not in self._metadata
            and not any(path in head for paths in _TEXT for path in paths)
        )

    def document(self, origin: Origin, columns: Mapping[str, object]) -> Document:
        """Convert a row to a document.

        Parameters
        ----------
        origin : the file; the URI of the row starts with its URI
        columns : the values by column name

        Raises
        ------
        ReadError
            The row has no text, or it has no id although an id column is mapped. The error carries the URI of the row if the
            row has an id.
        ValueError, RecursionError
            The row holds more than 10,000 values, or nests them too deeply.
        """
        for name in [name for name, path in self._missing.items() if column_of(columns, path) is not None]:
            del self._missing[name]
        id_path, key = _first_scalar(columns, self._id)
        if not key and self._must_have_id:
            raise _NoColumnError(origin.uri, f"has no id in the column {self._id[0]!r}", "correct --map id=COLUMN")
        uri = f"{origin.uri}#{quote(key or hash_of(columns), safe=IN_FRAGMENT)}"
        text_paths, text = self._text_of(uri if key else origin.uri, columns)
        title_path, title = _first_scalar(columns, self._title)
        return Document(
            uri=uri,
            text=text,
            title=clean_title(title),
            metadata=self._metadata_of(columns, {id_path, title_path, *text_paths}),
            key=key or None,
        )

    def _text_of(self, blame: str, columns: Mapping[str, object]) -> tuple[tuple[str, ...], str]:
        for paths in self._text:
            parts = [_text_value(blame, path, columns) for path in paths]
            text = "\n\n".join(part for part in parts if part.strip())
            if text:
                return paths, text
        for name in (*_TOLD, *self._title) if self._text is _TEXT else ():
            value = column_of(columns, name)
            if isinstance(value, str) and value.strip():
                return (name,), clean(value)
        if self.has_text(columns):
            raise ReadError(blame, "its text is empty")
        wanted = " or ".join(dict.fromkeys("+".join(paths) for paths in self._text))
        there = ", ".join(list(columns)[:20]) or "none"
        raise _NoColumnError(blame, f"has no column {wanted} for the text; its columns: {there}", _map_text(columns))

    def _metadata_of(self, columns: Mapping[str, object], used: set[str]) -> dict[str, MetadataValue]:
        metadata: dict[str, MetadataValue] = {}
        for name, path in self._metadata.items():
            metadata |= metadata_of({name: column_of(columns, path)}, value_of=self._value_of)
        mapped = tuple(self._metadata.values())
        below = tuple(f"{path}." for path in mapped)
        rest = {name: value for name, value in columns.items() if name and name not in used and name not in mapped}
        for name, value in metadata_of(rest, value_of=self._value_of).items():
            if name not in used and name not in mapped and not name.startswith(below):
                metadata.setdefault(name, value)
        return metadata


def _first_scalar(columns: Mapping[str, object], paths: Iterable[str]) -> tuple[str, str]:
    """Return the first column that holds non-empty text or a number, and its value as text; else two empty strings."""
    for path in paths:
        value = column_of(columns, path)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            text = clean(str(value))
            if text.strip():
                return path, text
    return "", ""


def _text_value(blame: str, path: str, columns: Mapping[str, object]) -> str:
    value = column_of(columns, path)
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        reason = f"its column {path!r} is not text but {type(value).__name__}"
        raise _NoColumnError(blame, reason, _map_text(columns))
    return "" if value is None else clean(str(value))


def _map_text(columns: Mapping[str, object]) -> str:
    """Suggest a mapping for a row without a text. Its longest column is the most likely to hold the text."""
    texts = {name: value for name, value in columns.items() if isinstance(value, str) and name}
    likely = max(texts, key=lambda name: len(texts[name]), default="COLUMN")
    return f"name the column that holds the text, for example --map text={likely}"


def column_of(columns: Mapping[str, object], path: str) -> object:
    """Return the value of a column by name or dotted path, or None if there is no such column.

    Parameters
    ----------
    columns : the values of a row; nested objects are mappings
    path : a column name, or names joined by dots; a name that contains dots is tried first

    Examples
    --------
    >>> column_of({"a": {"b": 1}, "c.d": 2}, "a.b"), column_of({"a": {"b": 1}, "c.d": 2}, "c.d"), column_of({}, "a.b")
    (1, 2, None)
    """
    if path in columns:
        return columns[path]
    head, dot, rest = path.partition(".")
    inner = columns.get(head) if dot else None
    return column_of(inner, rest) if isinstance(inner, Mapping) else None


def hash_of(columns: Mapping[str, object]) -> str:
    """The id of a row without one: a hash of its columns."""
    return checksum(json.dumps(columns, sort_keys=True, default=str))[:_HASH_DIGITS]


class RowDocuments(Protocol):
    """Converts rows to documents."""

    @property
    def unused(self) -> tuple[str, ...]:
        """The mapped columns that no row has had so far."""

    def document(self, origin: Origin, columns: Mapping[str, object]) -> Document:
        """Convert a row to a document.

        Parameters
        ----------
        origin : the file
        columns : the values by column name

        Raises
        ------
        ReadError
            The row cannot be converted.
        """


def documents_of(
    origin: Origin, rows: Iterable[Row | Flaw], *, mapping: RowDocuments, unit: str, warnings: tuple[str, ...] = ()
) -> Iterator[Document | ReadFailure]:
    """Yield a document or a failure for each row.

    A second row with the same URI is a failure: it has the same id or, without ids, the same content. All URIs of a file are
    kept in memory to detect this.

    Parameters
    ----------
    origin : the file
    rows : the rows of the file, parsed or not
    mapping : assigns columns to the parts of a document
    unit : word for a row in messages, ``line`` or ``row``
    warnings : warnings about the file; the last document carries them, and one for each mapped column that no row has
    """
    pending: list[Document | ReadFailure] = []  # the last document, and the failures after it
    for result in _read_rows(origin, rows, mapping=mapping, unit=unit):
        if isinstance(result, Document):
            yield from pending
            pending = []
        pending.append(result)
    if pending and isinstance(pending[0], Document):
        unused = (f"no row has the column of --map {name}; it had no effect" for name in mapping.unused)
        pending[0] = replace(pending[0], warnings=(*warnings, *unused))
    yield from pending


def _read_rows(
    origin: Origin, rows: Iterable[Row | Flaw], *, mapping: RowDocuments, unit: str
) -> Iterator[Document | ReadFailure]:
    seen: dict[str, int] = {}
    lacking = _Lacking(origin, unit)
    is_empty = True
    for row in rows:
        is_empty = False
        place = f"{unit} {row.number}"
        if isinstance(row, Flaw):
            yield failure(origin.uri, f"{place} {row.reason}", mend=row.mend)
            continue
        try:
            document = mapping.document(origin, row.columns)
        except _NoColumnError as error:
            yield from lacking.add(row.number, error, has_others=bool(seen))
            continue
        except ReadError as error:
            yield failure(error.uri, f"{place}: {error.reason}", mend=error.mend)
            continue
        except (ValueError, RecursionError) as error:
            yield failure(origin.uri, f"{place}: {error}")
            continue
        yield from lacking.one_by_one()
        first = seen.setdefault(document.uri, row.number)
        if first == row.number:
            yield document
        elif document.key is None:
            reason = f"{place} is the same as {unit} {first}"
            yield failure(document.uri, reason, mend="give the rows ids to keep both")
        else:
            reason = f"duplicate id {document.key!r} in {unit} {row.number}, first in {unit} {first}"
            yield failure(document.uri, reason, mend="make the ids unique")
    yield from lacking.together()
    if is_empty:
        yield failure(origin.uri, "is empty: it holds no rows")


class _Lacking:
    """Collects the failures of rows without a text or id column. If no row of the file has it, they become one failure."""

    def __init__(self, origin: Origin, unit: str) -> None:
        self._origin, self._unit = origin, unit
        self._pending: list[ReadFailure] = []
        self._count = 0

    def add(self, number: int, error: _NoColumnError, *, has_others: bool) -> Iterator[ReadFailure]:
        """Add a row without the column. Yield its failure at once if another row has the column."""
        failed = failure(error.uri, f"{self._unit} {number}: {error.reason}", mend=error.mend)
        if has_others:
            yield failed
            return
        self._count += 1
        if len(self._pending) < _MOST_PENDING:
            self._pending.append(failed)

    def one_by_one(self) -> Iterator[ReadFailure]:
        """Yield the failures collected so far, once another row has the column."""
        yield from self._pending
        more = self._count - len(self._pending)
        if more:
            last = self._pending[-1].error
            yield failure(self._origin.uri, f"{more:,} rows after these lack the same: {last.reason}", mend=last.mend)
        self._pending, self._count = [], 0

    def together(self) -> Iterator[ReadFailure]:
        """Yield one failure for the whole file if no row has the column."""
        if self._count == 1:
            yield from self._pending
        elif self._pending:
            first = self._pending[0].error
            yield failure(
                self._origin.uri, f"none of its {self._count:,} rows can be read: {first.reason}", mend=first.mend
            )


_MOST_ROWS = 1_000  # of a part of a table
_MAY_BE_NOTE = re.compile(r"[^\s#|]\S*(?:\s+\S+){4}")  # at least five words, and neither a heading nor a table
_NOTE = re.compile(r"[^\w\s]|.*[.:!](?:\s|$)")  # "* without tax", "Source: ..."
_LONG_CELLS = 200  # characters on average
_MOST_TEXT = 1 << 18  # characters of a part, unless one row is longer


def records_of(
    origin: Origin,
    table: Table,
    *,
    mapping: RowMapping,
    beside: Mapping[str, object] = MappingProxyType({}),
    name: str = "",
) -> Iterator[Document | ReadFailure]:
    """Yield a document for each row of JSON, or tables if none of the first 1,000 rows has a text and no column is mapped as it.

    The columns of a table are the values of a row by their paths, in the order in which they first occur.

    Parameters
    ----------
    origin : the file
    table : its rows, whose values may be nested
    mapping : assigns columns to the parts of a document
    beside : values of the file beside the rows, which stand above their table; a warning names them if the rows have texts
    name : name of the rows, the heading of their table; default none
    """
    rows = iter(table.rows)
    ahead: list[Row | Flaw] = []
    size = 0
    is_table = mapping.is_table(())
    while is_table and size < _MOST_TEXT and len(ahead) < _MOST_PENDING and (row := next(rows, None)):
        ahead.append(row)
        if isinstance(row, Row):
            is_table = not mapping.has_text(row.columns)
            size += len(str(row.columns))
    rows = chain(ahead, rows)
    if not is_table or not size:
        left = tuple(f"not read: {name!r} beside the rows" for name in beside)
        yield from documents_of(origin, rows, mapping=mapping, unit=table.unit, warnings=(*table.warnings, *left))
        return
    unused = (f"no column is the text, so --map {name} had no effect" for name in mapping.unused)
    warnings = (*table.warnings, *unused)
    pairs = [*pairs_of(beside)]
    warnings += tuple(f"not read beside the rows: {each.reason}" for each in pairs if isinstance(each, Flaw))
    shown = [each.columns for each in pairs if isinstance(each, Row) and each.columns]
    above = [f"{each['name']}: {cell_text(each['value'])}" for each in shown]
    above += [f"## {name}"] if name else []
    yield from table_documents(origin, map(_flat, rows), head=None, unit=table.unit, warnings=warnings, above=above)


def pairs_of(value: Mapping[str, object]) -> Iterator[Row | Flaw]:
    """The values of nested objects with their paths, one a row.

    Parameters
    ----------
    value : an object
    """
    try:
        for number, (name, leaf) in enumerate(numbered_leaves(value), 1):
            yield Row(number, {"name": name, "value": leaf} if cell_text(leaf) else {})
    except ValueError as error:
        yield Flaw(1, str(error))


def numbered_leaves(tree: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the values of nested objects, and of those in lists, with the names and numbers that lead to them, in order.

    Parameters
    ----------
    tree : the nested objects

    Raises
    ------
    ValueError
        There are more than 1,000,000 values or 100 levels.

    Examples
    --------
    >>> list(numbered_leaves({"a.b": 1, "jobs": [{"run": "make"}, {"run": "test"}], "tags": ["x", "y"]}))
    [('a b', 1), ('jobs 1 run', 'make'), ('jobs 2 run', 'test'), ('tags', ['x', 'y'])]
    """
    stack: list[tuple[str, Iterator[tuple[object, object]]]] = [("", iter(tree.items()))]
    number = 0
    while stack:
        prefix, entries = stack[-1]
        for key, value in entries:
            number += 1
            name = f"{prefix} {str(key).replace('.', ' ')}".strip()
            if number > MOST_CELLS or len(stack) > _MOST_NESTED:
                raise ValueError(f"has more than {MOST_CELLS:,} values or more than {_MOST_NESTED} levels")
            if isinstance(value, Mapping) and value:
                stack.append((name, iter(value.items())))
                break
            if isinstance(value, list) and any(isinstance(entry, Mapping) and entry for entry in value):
                stack.append((name, iter(enumerate(value, 1))))
                break
            yield name, value
        else:
            stack.pop()


def _flat(row: Row | Flaw) -> Row | Flaw:
    """A row whose columns are the values of nested objects, named by their paths with spaces."""
    if isinstance(row, Flaw):
        return row
    try:
        flat = {path.replace(".", " ").strip(): value for path, value in leaves(row.columns)}
    except ValueError as error:
        return Flaw(row.number, str(error))
    return Row(row.number, {**flat, ACL: groups} if isinstance(groups := row.columns.get(ACL), Mapping) else flat)


def table_documents(
    origin: Origin,
    rows: Iterable[Row | Flaw],
    *,
    head: Sequence[str] | None,
    unit: str,
    warnings: tuple[str, ...] = (),
    above: Sequence[str] = (),
) -> Iterator[Document | ReadFailure]:
    """Yield the tables of a file whose columns name no text: each row becomes a statement with the labels of its columns.

    A table of up to 1,000 rows is one document with the URI of the file. A longer one is cut into parts of 1,000 rows, with the
    URIs ``<file>#rows-1``, ``<file>#rows-1001`` and so on, so that a file of any length needs the memory of one part. A column
    ``acl`` names the groups of the document.

    Parameters
    ----------
    origin : the file
    rows : its rows, whose columns are in the order of ``head``
    head : the label of each column; None: the names of the columns of the rows, which may differ
    unit : word for a row in messages, ``line`` or ``row``
    warnings : warnings about the file; the first document carries them
    above : lines above the table

    Raises
    ------
    ReadError
        Two columns are called ``acl``, a row has an ``acl`` that names no groups, or the rows of a document name different ones;
        raised while iterating.
    """
    if head is not None and [*head].count(ACL) > 1:
        raise ReadError(origin.uri, "two columns are called 'acl'", "rename one of them")
    title = clean_title(origin.stem)
    waiting: Document | None = None
    for first, metadata, text in _tables(origin, rows, head=head, unit=unit):
        if isinstance(text, ReadFailure):
            yield text
            continue
        if waiting is not None:
            yield replace(waiting, uri=f"{origin.uri}#rows-1") if waiting.uri == origin.uri else waiting
        if origin.name:
            metadata["filename"] = origin.name
        uri = f"{origin.uri}#rows-{first}" if first > 1 else origin.uri
        notes = (*warnings, *_long_column(text)) if first == 1 else ()
        parts = [*map(cell_text, above), text] if first == 1 else [text]
        waiting = Document(uri, "\n\n".join(parts), title, metadata, warnings=notes)
    if waiting is None:
        yield failure(origin.uri, "is empty: it holds no rows")
    elif origin.name or waiting.uri != origin.uri:
        yield waiting
    else:  # standard input
        yield replace(waiting, uri=f"{origin.uri}#{checksum(waiting.text)[:_HASH_DIGITS]}")


def _long_column(table: str) -> tuple[str, ...]:
    """A warning that names the column of a table whose cells are paragraphs rather than values."""
    name, mean = "", 0.0
    for part in filter(lambda part: part.startswith("| "), table.split("\n\n")):
        head, _, *rows = (line[2:-2].split(" | ") for line in part.split("\n"))
        means = [sum(map(len, column)) / len(rows) for column in zip(*rows, strict=False)]
        name, mean = max([(name, mean), *zip(head, means, strict=False)], key=lambda pair: pair[1])
    if mean < _LONG_CELLS or not name:
        return ()
    return (
        f"each row is one statement; if the column {name!r} is a text, --map text={name} makes each row a document",
    )


def _tables(
    origin: Origin, rows: Iterable[Row | Flaw], *, head: Sequence[str] | None, unit: str
) -> Iterator[tuple[int, dict[str, MetadataValue], str | ReadFailure]]:
    """Yield the number of the first row, the metadata and the text of each part, and the failures of rows."""
    names: dict[str, None] = {}
    part: list[dict[str, str]] = []
    named = set[str]()
    first, length = 1, 0

    def metadata() -> dict[str, MetadataValue]:
        return {"rows": len(part), **groups_of_rows(origin, named)}

    def markdown() -> str:
        labels = map(cell_text, names if head is None else head)
        rows = [[cells.get(name, "") for name in names] for cells in part]
        alone = takewhile(lambda row: _MAY_BE_NOTE.match(row[0]) and not any(row[1:]), reversed(rows[1:]))
        notes = [row[0] for row in alone] if len(names) > 2 else []  # below the rows, the last first
        if not any(map(_NOTE.match, notes)):  # tasks without an owner
            notes = []
        shown, kept = list(labels), rows[: len(rows) - len(notes)]
        alone_names = {row[0].strip().lower() for row in kept if not any(row[1:])}
        totals = {f"total {word}{name}" for name in alone_names for word in ("", "for ")}
        is_report = any(row[0].strip().lower() in totals for row in kept)
        if len(shown) > 2 and not shown[0] and is_report:  # a row with a name alone is a section
            kept, below = in_sections([[*map(Cell, row)] for row in kept])
            notes = [*notes, *reversed(below)]
            shown = ["", *shown] if kept and len(kept[0]) > len(shown) else shown
        return "\n\n".join([markdown_rows(shown, kept), *reversed(notes)])

    for row in rows:
        if isinstance(row, Flaw):
            yield 0, {}, failure(origin.uri, f"{unit} {row.number} {row.reason}", mend=row.mend)
            continue
        cells = {name: cell_text(value) for name, value in row.columns.items()}
        if not any(cells.values()):
            continue
        size = sum(map(len, cells.values())) + len(cells)
        is_wide = head is None and len(names.keys() | cells.keys()) * (len(part) + 1) > _MOST_TEXT
        if part and (len(part) >= _MOST_ROWS or length + size > _MOST_TEXT or is_wide):
            yield first, metadata(), markdown()
            first, length, part, names = first + len(part), 0, [], {}
            named.clear()
        part.append(cells)
        named.add(groups_of_cell(origin, row.columns.get(ACL)))
        names.update(dict.fromkeys(cells))
        length += size
    if part:
        yield first, metadata(), markdown()


def groups_of_cell(origin: Origin, value: object) -> str:
    """The groups of a cell of a column ``acl`` as one text; empty for a blank cell.

    Parameters
    ----------
    origin : the source, named in the error
    value : the cell

    Raises
    ------
    ReadError
        The cell holds something that names no groups, such as an object.

    Examples
    --------
    >>> origin = Origin("file:///a.jsonl", "a.jsonl")
    >>> groups_of_cell(origin, "hr; board"), groups_of_cell(origin, ["hr", 7]), groups_of_cell(origin, " ")
    ('board;hr', '7;hr', '')
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    try:
        return ";".join(groups_of(() if (groups := metadata_value(value)) is None else groups))
    except InputError as error:
        reason, _, mend = str(error).partition("; ")
        raise ReadError(origin.uri, f"a row of its table is refused: {reason}", mend) from error


def groups_of_rows(origin: Origin, named: Collection[str]) -> dict[str, MetadataValue]:
    """The metadata field ``acl`` of a source with these groups in its rows; empty if they name none.

    Parameters
    ----------
    origin : the source, named in the error
    named : the groups of its rows, as :func:`groups_of_cell` returns them

    Raises
    ------
    ReadError
        The rows name different groups, or some name none.
    """
    if len(named) > 1:
        mend = "hlgraph ingest --rows or --map text=COLUMN makes each row a source"
        raise ReadError(origin.uri, "its rows name different groups as acl, and a table is one source", mend)
    groups = next(iter(named), "")
    return {ACL: groups} if groups else {}


def groups_of_object(value: object) -> dict[str, MetadataValue]:
    """The metadata field ``acl`` of what is made of an object; ``()``, which is refused, if its groups cannot be read.

    Parameters
    ----------
    value : a parsed value; empty if it is no object or has no ``acl``
    """
    groups = value.get(ACL) if isinstance(value, dict) else None
    if groups is None:
        return {}
    readable = metadata_value(groups)
    return {ACL: () if readable is None else readable}


def groups_of_lists(origin: Origin, lists: Iterable[Sequence[Mapping[str, object]]]) -> dict[str, MetadataValue]:
    """The metadata field ``acl`` of a source with these lists of objects; empty if they name no groups.

    Parameters
    ----------
    origin : the source, named in the error
    lists : the lists; one without ``acl`` says nothing

    Raises
    ------
    ReadError
        The objects name different groups, or something else than groups.
    """
    named = [entries for entries in lists if any(entry.get(ACL) is not None for entry in entries)]
    return groups_of_rows(origin, {groups_of_cell(origin, entry.get(ACL)) for entries in named for entry in entries})


def in_groups(
    groups: Mapping[str, MetadataValue], results: Iterable[Document | ReadFailure]
) -> Iterator[Document | ReadFailure]:
    """Yield the results; a document without groups has these.

    Parameters
    ----------
    groups : the metadata field ``acl``; empty: none
    results : documents and failures
    """
    for result in results:
        yield replace(result, metadata={**groups, **result.metadata}) if isinstance(result, Document) else result


def cell_text(value: object) -> str:
    """The value of a cell as text on one line.

    Examples
    --------
    >>> [cell_text(value) for value in (None, True, 2.0, date(2024, 3, 5), [1, None, "a"], {"x": 1})]
    ['', 'true', '2.0', '2024-03-05', '1, a', 'x: 1']
    >>> cell_text([{"run": "a", "with": {"x": 1, "y": 2}}, {"run": "b"}])
    '(run: a, with: (x: 1, y: 2)), (run: b)'
    """
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case date() | time():
            return value.isoformat()
        case list() | tuple():
            return ", ".join(filter(None, map(_part_text if len(value) > 1 else cell_text, value)))
        case Mapping():
            pairs = ((cell_text(name), _part_text(each)) for name, each in value.items())
            return ", ".join(f"{name}: {text}" for name, text in pairs if text)
    return clean_title(clean(str(value)))


def _part_text(value: object) -> str:
    """The text of a value inside of another one: an object is in brackets."""
    text = cell_text(value)
    return f"({text})" if text and isinstance(value, Mapping) else text


def plain_value(value: object) -> object:
    """A value of a database as JSON would have it, for metadata and hashes; None for bytes.

    Decimals are those of :func:`hlgraph.records.plain_scalar`. Integers beyond 64 bits, dates, durations and values of other types
    are texts.
    """
    if value is None or isinstance(value, str | float) or (isinstance(value, int) and -_INT64 <= value < _INT64):
        return value
    if isinstance(value, Mapping):
        return {cell_text(name): plain_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, Decimal):
        return plain_scalar(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return None
    return value.isoformat() if isinstance(value, date | time) else _duration(value) or str(value)


def named_value(name: object, value: object) -> object:
    """The value of a column. Bytes as ``acl`` are no groups, ``[]``, so that their row is refused and not read without groups.

    Parameters
    ----------
    name : the column
    value : its value
    """
    return [] if name == ACL and isinstance(value, bytes | bytearray | memoryview) else value


def one_line(text: str) -> str:
    """Clean text with each run of white space replaced by one space."""
    return " ".join((text.replace("\0", "") if text.isascii() else clean(text)).split())


def shown(cell: object) -> str:
    """A cell as text on one line; empty for a cell that is not a scalar.

    Dates are in ISO 8601, whole floats are integers, and durations are hours, minutes and seconds.

    Examples
    --------
    >>> shown(450.0), shown(" a\\n b "), shown(True), shown(None)
    ('450', 'a b', 'true', '')
    >>> shown(timedelta(hours=34, minutes=5)), shown(-timedelta(seconds=1.5))
    ('34:05:00', '-0:00:01.500000')
    """
    if isinstance(cell, str):
        return one_line(cell)
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, int | float) else _duration(cell)


def _duration(cell: object) -> str:
    """A duration as hours, minutes and seconds; empty for any other value."""
    if not isinstance(cell, timedelta):
        return ""
    span = timedelta(cell.days, cell.seconds, cell.microseconds)  # that of pandas is written otherwise
    hours, rest = divmod(abs(span), timedelta(hours=1))
    return f"{'-' if span < timedelta() else ''}{hours}{str(rest)[1:]}"


def object_row(number: int, value: object) -> Row | Flaw:
    """Convert a JSON object to a row, or any other value to a flaw.

    Parameters
    ----------
    number : line number, or position in the file, from 1
    value : the parsed JSON value
    """
    return (
        Row(number, value) if isinstance(value, dict) else Flaw(number, f"is not an object but {type(value).__name__}")
    )


# The lines of a file, bounded in length, with their encoding.


class Lines(NamedTuple):
    """The lines of a file of rows.

    Attributes
    ----------
    lines : the lines as bytes, with None in place of one that is too long
    encoding : encoding of the bytes
    warnings : a warning if the encoding was guessed from the bytes
    """

    lines: Iterator[bytes | None]
    encoding: str
    warnings: tuple[str, ...] = ()


def bounded_lines(stream: io.BufferedIOBase, limit: int) -> Iterator[bytes | None]:
    """Yield the lines of a stream, with None in place of a line longer than ``limit``.

    At most ``limit`` plus one piece (1 MiB) of a long line is held in memory; the rest is skipped.

    Parameters
    ----------
    stream : the stream to read
    limit : maximum line length in bytes, without the line break
    """
    while line := stream.readline(PIECE):
        if line.endswith(b"\n") and len(line) <= limit:
            yield line
        else:
            yield _long_line(stream, line, limit)


def _long_line(stream: io.BufferedIOBase, line: bytes, limit: int) -> bytes | None:
    pieces = [line]
    size = len(line)
    while not line.endswith(b"\n") and (line := stream.readline(PIECE)):
        size += len(line)
        if size <= limit + 1:  # + 1 for the line break, which does not count
            pieces.append(line)
        else:
            pieces.clear()
    return b"".join(pieces) if size - line.endswith(b"\n") <= limit else None


def row_lines(origin: Origin, stream: io.BufferedReader, *, limit: int, encoding: str | None) -> Lines:
    """Return the lines of a file of rows as bytes, and their encoding.

    A file whose encoding does not write a line break as the single byte 10, such as UTF-16, is read into memory and converted
    to UTF-8.

    Parameters
    ----------
    origin : the file, named in errors
    stream : its decompressed bytes
    limit : maximum line length in bytes; for a converted file, also the maximum file size
    encoding : name of the encoding; None detects it from the first megabyte, see :func:`hlgraph.read.content.decode`

    Returns
    -------
    Lines

    Raises
    ------
    ReadError
        The file is binary, or a file that must be converted is too large or is not text.
    """
    head = stream.peek(PIECE)
    given = encoding or marked_encoding(head)
    codec = given or found_encoding(head, is_cut=True) or "utf-8"
    if codecs.lookup(codec).name == "utf-8-sig":
        codec = "utf-8"
    warnings = (guessed(codec),) if given is None and codec != "utf-8" else ()
    if "\n{".encode(codec) != b"\n{":
        text = decode(origin, read_bounded(origin, stream, limit=limit), encoding=codec).text
        return Lines(bounded_lines(io.BytesIO(text.encode()), limit), "utf-8", warnings)
    if b"\0" in head:
        raise ReadError(origin.uri, "is binary, not text", "give its --encoding, for example utf-16-le")
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    return Lines(bounded_lines(stream, limit), codec, warnings)


def too_long(limit: int, hint: str = "") -> tuple[str, str]:
    """Return the reason and the remedy for a row above the size limit.

    Parameters
    ----------
    limit : maximum row size in bytes
    hint : a likely cause, appended to the reason; default none
    """
    return f"is longer than {limit:,} bytes{hint}", "split it, or raise --max-bytes"


def not_text(line: bytes, encoding: str) -> tuple[str, str]:
    """Return the reason and the remedy for a line that cannot be decoded.

    Parameters
    ----------
    line : the bytes of the line
    encoding : name of the encoding
    """
    try:
        line.decode(encoding)
    except UnicodeDecodeError as error:
        return f"is not {encoding} text (byte {error.start} of the line)", NAME_ENCODING
    except UnicodeError:  # some codecs raise an error without a position
        pass
    return f"is not {encoding} text", NAME_ENCODING


# Rows that a program gives: mappings, data frames and Arrow tables.

GIVEN = "rows:"
"""The uri of rows without a file; a row without a ``uri`` of its own has it, with ``#`` and its id or hash."""


if TYPE_CHECKING:

    @runtime_checkable
    class DataFrame(Protocol):
        """What all kinds of tables have, for type checkers, which do not see the hook below."""

        @property
        def columns(self) -> Any:
            """The columns, or their names."""

        @property
        def shape(self) -> Any:
            """The numbers of rows and columns."""

else:

    class DataFrame(ABC):  # noqa: B024 - a kind of what is given, by its methods
        """A table of a program: a data frame of pandas or polars, or a table or record batch of Arrow."""

        @classmethod
        def __subclasshook__(cls, other: type) -> bool:
            """Whether a class has the method by which rows are read."""
            return cls is DataFrame and any(hasattr(other, name) for name in ("to_pylist", "iter_rows", "itertuples"))


def frame_rows(frame: Any) -> Iterator[dict[str, object]]:
    """The rows of a table, each as a mapping of its columns.

    Raises
    ------
    InputError
        Two columns have one name.
    """
    if hasattr(frame, "to_batches"):
        yield from (row for batch in frame.to_batches(_MOST_ROWS) for row in batch.to_pylist())
    elif hasattr(frame, "to_pylist"):
        yield from frame.to_pylist()
    elif hasattr(frame, "iter_rows"):
        yield from frame.iter_rows(named=True)
    else:
        names = [str(name) for name in frame.columns]
        if twice := {name for name in names if names.count(name) > 1}:
            raise InputError(f"two columns of the data frame are called {min(twice)!r}; rename one of them")
        yield from (dict(zip(names, row, strict=True)) for row in frame.itertuples(index=False, name=None))


def given_value(value: object) -> object:
    """A value of a program as a row holds it: dates stay, values of numpy are plain. What is missing or has no text is None.

    Missing are None, NaN and the like. Bytes, and objects that print as their address, have no text.

    Examples
    --------
    >>> given_value({"day": date(2024, 3, 5), "cost": Decimal("1.50"), "none": float("nan"), "photo": b"\\x89PNG"})
    {'day': datetime.date(2024, 3, 5), 'cost': 1.5, 'none': None, 'photo': None}
    """
    value = plain_scalar(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): given_value(named_value(name, each)) for name, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(given_value, value), key=str)
    if _is_list(value):
        return [given_value(each) for each in value]
    if _has_no_text(value):
        return None
    return value if isinstance(value, date | time) else plain_value(value)


def _is_list(value: object) -> TypeGuard[Iterable[object]]:
    return isinstance(value, list | tuple) or (hasattr(value, "dtype") and isinstance(value, Iterable))


def _has_no_text(value: object) -> bool:
    if value is None or isinstance(value, str | int | float | date | time | timedelta):
        return False
    return isinstance(value, bytes | bytearray | memoryview) or _ADDRESS.search(str(value)) is not None


def _without_text(name: str, value: object) -> Iterator[tuple[str, str]]:
    """The path and the type of each value in a row that has no text."""
    value = plain_scalar(value)
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _without_text(f"{name}.{key}" if name else str(key), each)
    elif isinstance(value, set | frozenset) or _is_list(value):
        for each in value:
            yield from _without_text(name, each)
    elif _has_no_text(value):
        yield name, type(value).__name__


class GivenRows(RowMapping):
    """Assigns the columns of the rows of a program: ``uri`` names the document, and a mapping ``metadata`` is its metadata.

    Parameters
    ----------
    mapping : see :class:`RowMapping`
    lost : receives how many values metadata cannot store, by their column and their kind
    """

    def __init__(self, mapping: Mapping[str, str], *, lost: Counter[tuple[str, str]]) -> None:
        super().__init__(mapping)
        self._lost = lost

    def document(self, origin: Origin, columns: Mapping[str, object]) -> Document:
        """See :meth:`RowMapping.document`."""
        rest = {name: value for name, value in columns.items() if name != "uri"}
        for name in self._id:  # a data frame with a missing id has floats, a database may have decimals
            if isinstance(key := rest.get(name), float) and key.is_integer():
                rest[name] = int(key)
        if isinstance(inner := rest.get("metadata"), Mapping):
            rest = {**inner, **{name: value for name, value in rest.items() if name != "metadata"}}
        document = super().document(origin, rest)
        for name, value in leaves(rest):
            if metadata_value(value) is None and value is not None:
                if isinstance(value, float):
                    self._lost[name, "infinities"] += 1
                elif isinstance(value, list) and any(isinstance(each, list | Mapping) for each in value):
                    self._lost[name, "lists of lists or objects"] += 1
        uri = columns.get("uri")
        return document if uri is None else replace(document, uri=clean(str(uri)))


def given_documents(
    rows: Iterable[Mapping[str, object]], mapping: Mapping[str, str], *, warnings: list[str]
) -> Iterator[Document | ReadFailure]:
    """A document or a failure for each row; tables if none of the first 1,000 rows has a text.

    Parameters
    ----------
    rows : mappings of columns to values
    mapping : column name by part of a document; see ``ReadOptions.mapping``
    warnings : receives, at the end, a line for each column with values that cannot be stored
    """
    lost = Counter[tuple[str, str]]()
    table = Table(_given_row(number, row, lost) for number, row in enumerate(rows, 1))
    yield from records_of(Origin(GIVEN), table, mapping=GivenRows(mapping, lost=lost))
    warnings += [
        f"column {name!r:.100}: left out {count:,} value{'s' * (count > 1)} ({kind}), which metadata cannot hold; give text, "
        "numbers, booleans, dates, or lists of these"
        for (name, kind), count in sorted(lost.items())
    ]


def _given_row(number: int, row: Mapping[str, object], lost: Counter[tuple[str, str]]) -> Row | Flaw:
    try:
        columns = {str(name): given_value(named_value(name, value)) for name, value in row.items()}
    except RecursionError:
        return Flaw(number, "nests values too deeply, or in themselves")
    lost.update(_without_text("", row))
    return Row(number, columns)
