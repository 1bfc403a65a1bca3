"""Reader of JSON files: one document per object of an array. The whole file is held in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator

import msgspec

from hlgraph.errors import ReadError
from hlgraph.read.content import Origin, ReadFailure, decode, read_bounded
from hlgraph.read.formats._format import RowsFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import RowMapping, Table, object_row, pairs_of, records_of, table_documents
from hlgraph.records import Document


def read_json(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """One document per object of a JSON array, or one table of all of them if none has a text.

    A top-level object is one row. If it has no text column and exactly one of its values is an array of objects, that array
    holds the rows, and the other values with their names stand above the table of these; without such an array it is a table of
    its values and their names.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of the file

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each row that is not an object, or has no text column while others have one.

    Raises
    ------
    ReadError
        The file is too large, not text or not JSON.
    """
    mapping = RowMapping(options.mapping)
    value, warnings = _decoded(origin, stream, options)
    if (
        isinstance(value, dict)
        and mapping.is_table(())
        and _entries(value, mapping) == [value]
        and not mapping.has_text(value)
    ):
        return table_documents(origin, pairs_of(value), head=["", ""], unit="value", warnings=warnings)
    beside = _beside(value, mapping)
    return records_of(origin, _table(value, mapping, warnings=warnings), mapping=mapping, beside=beside)


def json_table(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Table:
    """The objects of a JSON array.

    Parameters
    ----------
    origin : the file, named in errors
    stream : its decompressed bytes
    options : the encoding and the size limit of the file

    Raises
    ------
    ReadError
        The file cannot be read.
    """
    value, warnings = _decoded(origin, stream, options)
    return _table(value, RowMapping(options.mapping), warnings=warnings)


def _decoded(origin: Origin, stream: io.BufferedReader, options: ReadOptions) -> tuple[object, tuple[str, ...]]:
    text, warnings = decode(origin, read_bounded(origin, stream, limit=options.max_bytes), encoding=options.encoding)
    try:
        return msgspec.json.decode(text), warnings
    except (msgspec.DecodeError, RecursionError) as error:
        mend = "if it holds one object per line, use --format jsonl"
        raise ReadError(origin.uri, f"is not JSON ({error})", mend) from error


def _table(value: object, mapping: RowMapping, *, warnings: tuple[str, ...]) -> Table:
    entries = _entries(value, mapping)
    return Table((object_row(number, entry) for number, entry in enumerate(entries, 1)), warnings=warnings)


def _beside(value: object, mapping: RowMapping) -> dict[str, object]:
    """The values of an object beside the array that holds its rows."""
    entries = _entries(value, mapping)
    if not isinstance(value, dict) or entries == [value]:
        return {}
    return {str(name): other for name, other in value.items() if other is not entries and other not in (None, "", [])}


def _entries(value: object, mapping: RowMapping) -> list[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and not mapping.has_text(value):
        lists = [entry for entry in value.values() if isinstance(entry, list) and entry and isinstance(entry[0], dict)]
        if len(lists) == 1:
            return lists[0]
    return [value]


FORMAT = RowsFormat("json", suffixes=(".json",), read=read_json, table=json_table)
