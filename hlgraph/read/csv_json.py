"""Readers of row files (CSV, JSON, JSON lines): one document per row.

CSV and JSON lines are streamed, so a file of any length needs the memory of its largest row. A JSON file is held in
memory whole.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from itertools import chain

import msgspec

from hlgraph.errors import ReadError
from hlgraph.read.content import (
    NAME_ENCODING,
    ByteStream,
    Origin,
    bounded_lines,
    decode,
    marked_encoding,
    read_bounded,
)
from hlgraph.read.failure import ReadFailure
from hlgraph.read.mapping import Flaw, Row, RowMapping, documents_of
from hlgraph.read.metadata import cell_value
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document

_DELIMITERS = ",;\t|"
_LARGEST_FIELD = 2**31 - 1  # the largest C long on Windows


def read_json_lines(origin: Origin, stream: ByteStream, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """One document per line that holds a JSON object; blank lines are skipped.

    Parameters
    ----------
    origin : the file, named in uris and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of a line

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each line that is too long, not text, not a JSON object, or has no text column.

    Raises
    ------
    ReadError
        The file is binary; raised while iterating.
    """
    return documents_of(origin, _json_lines(origin, stream, options), mapping=RowMapping(options.mapping), unit="line")


def _json_lines(origin: Origin, stream: ByteStream, options: ReadOptions) -> Iterator[Row | Flaw]:
    lines, encoding = _lines(origin, stream, options)
    for number, line in enumerate(lines, 1):
        if line is None:
            yield Flaw(number, *_too_long(options.max_bytes))
        elif line.strip():
            try:
                value: object = msgspec.json.decode(line if encoding == "utf-8" else line.decode(encoding))
            except UnicodeError:
                yield Flaw(number, *_not_text(line, encoding))
            except (msgspec.DecodeError, RecursionError) as error:
                yield Flaw(number, f"is not JSON ({error})")
            else:
                yield _row(number, value)


def _row(number: int, value: object) -> Row | Flaw:
    return (
        Row(number, value) if isinstance(value, dict) else Flaw(number, f"is not an object but {type(value).__name__}")
    )


def read_json(origin: Origin, stream: ByteStream, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """One document per object of a JSON array.

    A top-level object is one row, unless it has no text column and exactly one of its values is an array of objects:
    then that array holds the rows.

    Parameters
    ----------
    origin : the file, named in uris and errors
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
    text = decode(origin, read_bounded(origin, stream, limit=options.max_bytes), encoding=options.encoding)
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        mend = "if it holds one object per line, use --format jsonl"
        raise ReadError(origin.uri, f"is not JSON ({error})", mend) from error
    mapping = RowMapping(options.mapping)
    rows = (_row(number, item) for number, item in enumerate(_items(value, mapping), 1))
    return documents_of(origin, rows, mapping=mapping, unit="row")


def _items(value: object, mapping: RowMapping) -> list[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and not mapping.has_text(value):
        lists = [item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)]
        if len(lists) == 1:
            return lists[0]
    return [value]


def read_csv(origin: Origin, stream: ByteStream, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """One document per row of a CSV file with a header.

    The delimiter is the one of ``, ; tab |`` that occurs most often in the header.

    Parameters
    ----------
    origin : the file, named in uris and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of a row

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each row that is too long, not text, not CSV, of the wrong length, or without a text.

    Raises
    ------
    ReadError
        The header cannot be parsed, names a column twice, or lacks the text column; raised while iterating.
    """
    mapping = RowMapping(options.mapping, value_of=cell_value)
    return documents_of(origin, _csv_rows(origin, stream, options, mapping), mapping=mapping, unit="line")


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
            raise _RowError(*_too_long(self._limit, hint=" (an unclosed quote?)"))
        try:
            return line.decode(self._encoding)
        except UnicodeError as error:
            raise _RowError(*_not_text(line, self._encoding)) from error


def _csv_rows(origin: Origin, stream: ByteStream, options: ReadOptions, mapping: RowMapping) -> Iterator[Row | Flaw]:
    # csv has one field limit per process, 128 KiB by default; texts are longer. It is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), min(options.max_bytes, _LARGEST_FIELD)))
    raw_lines, encoding = _lines(origin, stream, options)
    lines = _CsvLines(raw_lines, encoding=encoding, limit=options.max_bytes)
    try:
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            return
        reader = csv.reader(chain([first], lines), delimiter=max(_DELIMITERS, key=first.count), strict=True)
        header = [name.strip() for name in next(reader)]
    except _RowError as error:
        raise ReadError(origin.uri, f"its header {error}", error.mend) from error
    except csv.Error as error:
        raise ReadError(origin.uri, f"its header is not CSV ({error})") from error
    named = [name for name in header if name]
    if twice := {name for name in named if named.count(name) > 1}:
        raise ReadError(origin.uri, f"two columns are called {min(twice)!r}", "rename one of them")
    mapping.check_header(origin, named)
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
                yield Row(number, dict(zip(header, cells, strict=True)))
            elif any(cells):
                reason = f"has {len(cells)} cells, the header has {len(header)}"
                yield Flaw(number, reason, "quote the cells that hold a delimiter")


def _lines(origin: Origin, stream: ByteStream, options: ReadOptions) -> tuple[Iterator[bytes | None], str]:
    """The lines of a file as bytes, and their encoding.

    A file whose encoding does not spell a line break as the byte 10 (UTF-16) is held whole and converted to UTF-8.
    """
    head = stream.peek(4096)
    encoding = options.encoding or marked_encoding(head) or "utf-8"
    if codecs.lookup(encoding).name == "utf-8-sig":
        encoding = "utf-8"
    if "\n{".encode(encoding) != b"\n{":
        text = decode(origin, read_bounded(origin, stream, limit=options.max_bytes), encoding=encoding)
        return bounded_lines(io.BytesIO(text.encode()), options.max_bytes), "utf-8"
    if b"\0" in head:
        raise ReadError(origin.uri, "is binary, not text", "give its --encoding, for example utf-16-le")
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    return bounded_lines(stream, options.max_bytes), encoding


def _too_long(limit: int, hint: str = "") -> tuple[str, str]:
    return f"is longer than {limit:,} bytes{hint}", "split it, or raise --max-bytes"


def _not_text(line: bytes, encoding: str) -> tuple[str, str]:
    try:
        line.decode(encoding)
    except UnicodeDecodeError as error:
        return f"is not {encoding} text (byte {error.start} of the line)", NAME_ENCODING
    except UnicodeError:  # some codecs raise an error without a position
        pass
    return f"is not {encoding} text", NAME_ENCODING
