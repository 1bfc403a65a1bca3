"""Reader of JSON lines: one document per line. Lines are streamed, so a file of any length needs the memory of its longest."""

from __future__ import annotations

import io
from collections.abc import Iterator

import msgspec

from hlgraph.read.content import Origin, ReadFailure
from hlgraph.read.formats._format import RowsFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import (
    Flaw,
    Lines,
    Row,
    RowMapping,
    Table,
    not_text,
    object_row,
    records_of,
    row_lines,
    too_long,
)
from hlgraph.records import Document


def read_json_lines(
    origin: Origin, stream: io.BufferedReader, *, options: ReadOptions
) -> Iterator[Document | ReadFailure]:
    """One document per line that holds a JSON object, or tables if none of the first 1,000 has a text; blank lines are skipped.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of a line

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each line that is too long, not text, not a JSON object, or has no text column while others have one.

    Raises
    ------
    ReadError
        The file is binary.
    """
    table = json_lines_table(origin, stream, options=options)
    return records_of(origin, table, mapping=RowMapping(options.mapping))


def json_lines_table(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Table:
    """The objects of JSON lines.

    Parameters
    ----------
    origin : the file, named in errors
    stream : its decompressed bytes
    options : the encoding and the size limit of a row

    Raises
    ------
    ReadError
        The file cannot be read.
    """
    lines = row_lines(origin, stream, limit=options.max_bytes, encoding=options.encoding)
    return Table(_json_lines(lines, options.max_bytes), "line", warnings=lines.warnings)


def _json_lines(source: Lines, limit: int) -> Iterator[Row | Flaw]:
    encoding = source.encoding
    for number, line in enumerate(source.lines, 1):
        if line is None:
            yield Flaw(number, *too_long(limit))
        elif line.strip():
            try:
                value: object = msgspec.json.decode(line.decode(encoding))
            except UnicodeError:
                yield Flaw(number, *not_text(line, encoding))
            except (msgspec.DecodeError, RecursionError) as error:
                yield Flaw(number, f"is not JSON ({error})")
            else:
                yield object_row(number, value)


FORMAT = RowsFormat("jsonl", suffixes=(".jsonl", ".ndjson"), read=read_json_lines, table=json_lines_table)
