"""Reader of JSON files: one document per object of an array. The whole file is held in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator

import msgspec

from hlgraph.errors import ReadError
from hlgraph.read.content import Origin, ReadFailure, decode, read_bounded
from hlgraph.read.formats._format import RowsFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import RowMapping, Table, documents_of, object_row
from hlgraph.records import Document


def read_json(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """One document per object of a JSON array.

    A top-level object is one row. If it has no text column and exactly one of its values is an array of objects, that array
    holds the rows.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of the file

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each row that is not an object or has no text column.

    Raises
    ------
    ReadError
        The file is too large, not text or not JSON.
    """
    table = json_table(origin, stream, options=options)
    mapping = RowMapping(options.mapping)
    return documents_of(origin, table.rows, mapping=mapping, unit=table.unit, warnings=table.warnings)


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
    text, warnings = decode(origin, read_bounded(origin, stream, limit=options.max_bytes), encoding=options.encoding)
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        mend = "if it holds one object per line, use --format jsonl"
        raise ReadError(origin.uri, f"is not JSON ({error})", mend) from error
    entries = _entries(value, RowMapping(options.mapping))
    return Table((object_row(number, entry) for number, entry in enumerate(entries, 1)), warnings=warnings)


def _entries(value: object, mapping: RowMapping) -> list[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and not mapping.has_text(value):
        lists = [entry for entry in value.values() if isinstance(entry, list) and entry and isinstance(entry[0], dict)]
        if len(lists) == 1:
            return lists[0]
    return [value]


FORMAT = RowsFormat("json", suffixes=(".json",), read=read_json, table=json_table)
