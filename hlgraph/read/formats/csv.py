"""Reader of CSV and TSV files: one document per row, or a table if no column holds the text.

Rows are streamed, so a file of any length needs the memory of its largest row, or of 1,000 rows of a table.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain

from hlgraph.errors import ReadError
from hlgraph.read.content import Origin, ReadFailure, without_gz
from hlgraph.read.formats._format import RowsFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import (
    Flaw,
    Lines,
    Row,
    RowMapping,
    Table,
    cell_value,
    documents_of,
    not_text,
    row_lines,
    table_documents,
    too_long,
)
from hlgraph.records import Document

_DELIMITERS = ",;\t|"
_LARGEST_FIELD = 2**31 - 1  # the largest C long on Windows


def read_csv(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """One document per row of a CSV file with a header, or one table of all rows if no column is named or mapped as the text.

    The delimiter is the one of ``, ; tab |`` that occurs most often in the header; of a ``.tsv`` file it is the tab.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of a row

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each row that is too long, not text, not CSV, of the wrong length, or without a text. Of a table, each row
        becomes a statement; see :func:`~hlgraph.read.rows.table_documents`.

    Raises
    ------
    ReadError
        The file is binary; or its header cannot be parsed or names a column twice, raised while iterating.
    """
    mapping = RowMapping(options.mapping, value_of=cell_value)
    lines = row_lines(origin, stream, limit=options.max_bytes, encoding=options.encoding)
    head, rows = _csv_rows(origin, lines, limit=options.max_bytes, mapping=mapping)
    if mapping.is_table(head) and head:
        unused = (f"no column is the text, so --map {name} had no effect" for name in mapping.unused)
        return table_documents(origin, rows, head=head, unit="line", warnings=(*lines.warnings, *unused))
    return documents_of(origin, rows, mapping=mapping, unit="line", warnings=lines.warnings)


def csv_table(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Table:
    """The rows of a CSV file with a header.

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
    head, rows = _csv_rows(origin, lines, limit=options.max_bytes, mapping=RowMapping({"text": "text"}))
    return Table(rows if head else iter(()), "line", cell_value, lines.warnings)


class _RowError(ValueError):
    """A line that makes its row unreadable: too long, or not text."""

    def __init__(self, reason: str, mend: str = "") -> None:
        super().__init__(reason)
        self.mend = mend


class _CsvLines:
    """Feeds csv.reader with decoded lines; counts them, and stops a row that exceeds the limit."""

    def __init__(self, lines: Iterator[bytes | None], *, encoding: str, limit: int) -> None:
        self._lines = lines
        self._encoding = encoding
        self._limit = limit
        self._row_bytes = 0
        self.number = 0

    def start_row(self) -> int:
        """Restart the byte count of the row; returns the number of the next line."""
        self._row_bytes = 0
        return self.number + 1

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        self._row_bytes += len(line or b"")
        if line is None or self._row_bytes > self._limit + 1:
            raise _RowError(*too_long(self._limit, hint=" (an unclosed quote?)"))
        try:
            return line.decode(self._encoding)
        except UnicodeError as error:
            raise _RowError(*not_text(line, self._encoding)) from error


def _csv_rows(
    origin: Origin, source: Lines, *, limit: int, mapping: RowMapping
) -> tuple[list[str], Iterator[Row | Flaw]]:
    """The header of a file, empty for an empty file, and its rows."""
    # csv has one field limit per process, 128 KiB by default; texts are longer. It is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), min(limit, _LARGEST_FIELD)))
    lines = _CsvLines(source.lines, encoding=source.encoding, limit=limit)
    try:
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            return [], iter(())
        is_tsv = without_gz(origin.name).lower().endswith(".tsv") and "\t" in first
        delimiter = "\t" if is_tsv else max(_DELIMITERS, key=first.count)
        reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
        header = [name.strip() for name in next(reader)]
    except _RowError as error:
        raise ReadError(origin.uri, f"its header {error}", error.mend) from error
    except csv.Error as error:
        raise ReadError(origin.uri, f"its header is not CSV ({error})") from error
    named = [name for name in header if name]
    if twice := {name for name in named if named.count(name) > 1}:
        raise ReadError(origin.uri, f"two columns are called {min(twice)!r}", "rename one of them")
    return header, _rows_below(header, reader, lines, is_table=mapping.is_table(header))


def _rows_below(
    header: list[str], reader: Iterator[list[str]], lines: _CsvLines, *, is_table: bool
) -> Iterator[Row | Flaw]:
    names = (
        [name or f"\0{at}" for at, name in enumerate(header)] if is_table else header
    )  # a table keeps unnamed columns
    while True:
        number = lines.start_row()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except _RowError as error:
            yield Flaw(number, str(error), error.mend)
        except csv.Error as error:
            yield Flaw(number, f"is not CSV ({error})")
        else:
            if len(cells) == len(header) and any(cells):
                yield Row(number, dict(zip(names, cells, strict=True)))
            elif any(cells):
                reason = f"has {len(cells)} cells, the header has {len(header)}"
                yield Flaw(number, reason, "quote the cells that hold a delimiter")


FORMAT = RowsFormat("csv", suffixes=(".csv", ".tsv"), read=read_csv, table=csv_table)
