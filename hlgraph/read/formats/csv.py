"""Reader of CSV and TSV files: one document per row, or a table if no column holds the text.

Rows are streamed, so a file of any length needs the memory of its largest row, or of 1,000 rows of a table.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise

from hlgraph.errors import ReadError
from hlgraph.read.content import Origin, ReadFailure, without_gz
from hlgraph.read.formats._blocks import Unread
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
from hlgraph.read.tables import DATUM, Cell, are_units, has_values, is_value, is_year
from hlgraph.records import Document

_DELIMITERS = ",;\t|"
_MOST_ABOVE = 20  # lines above a header
_FEWEST_NAMES = 3  # numbers that may be the names of columns
_SEPARATOR = re.compile(r"sep=([,;\t|])", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"?')
_LARGEST_FIELD = 2**31 - 1  # the largest C long on Windows


def read_csv(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """One document per row of a CSV file with a header, or one table of all rows if no column is named or mapped as the text.

    The delimiter is the one of ``, ; tab |`` that occurs most often in the header; of a ``.tsv`` file it is the tab. Above the
    header may stand comments (``#``), ``sep=;`` of Excel, and a title: lines of one cell, up to a blank line if they have no
    delimiter, and names with their values, such as the account of a statement. These lines stand above a table.

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
    above, head, rows = _csv_rows(origin, lines, limit=options.max_bytes, mapping=mapping)
    if mapping.is_table(head) and head:
        unused = (f"no column is the text, so --map {name} had no effect" for name in mapping.unused)
        warnings = (*lines.warnings, *unused)
        return table_documents(origin, rows, head=head, unit="line", warnings=warnings, above=above)
    warnings = (*lines.warnings, *Unread({"line above the header": len(above)} if above else {}).warnings())
    return documents_of(origin, rows, mapping=mapping, unit="line", warnings=warnings)


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
    _, head, rows = _csv_rows(origin, lines, limit=options.max_bytes, mapping=RowMapping({"text": "text"}))
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
        self._again: list[str | _RowError] = []
        self.number = 0

    def start_row(self) -> int:
        """Restart the byte count of the row; returns the number of the next line."""
        self._row_bytes = 0
        return self.number + 1

    def ahead(self, count: int) -> list[str]:
        """The next lines up to a number of them, which will be read again."""
        lines: list[str | _RowError] = []
        first = self.number
        while len(lines) < count:
            self._row_bytes = 0
            try:
                lines.append(next(self))
            except StopIteration:
                break
            except _RowError as error:
                lines.append(error)
                break
        self._again, self.number, self._row_bytes = [*lines, *self._again], first, 0
        return [line for line in lines if isinstance(line, str)]

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        if self._again:
            self.number += 1
            again = self._again.pop(0)
            self._row_bytes += len(again) if isinstance(again, str) else 0
            if isinstance(again, str):
                return again
            raise again
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
) -> tuple[list[str], list[str], Iterator[Row | Flaw]]:
    """The lines above the header of a file, the header, empty for an empty file, and its rows."""
    # csv has one field limit per process, 128 KiB by default; texts are longer. It is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), min(limit, _LARGEST_FIELD)))
    lines = _CsvLines(source.lines, encoding=source.encoding, limit=limit)
    try:
        above, delimiter = _above(lines)
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            return [], [], iter(())
        is_tsv = without_gz(origin.name).lower().endswith(".tsv") and "\t" in first
        delimiter = "\t" if is_tsv else delimiter or _delimiter(first, lines.ahead(_MOST_ABOVE))
        has_blanks = any(f'{delimiter} "' in line for line in (first, *lines.ahead(_MOST_ABOVE)))
        reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True, skipinitialspace=has_blanks)
        header = [name.strip() for name in next(reader)]
        while len(above) < _MOST_ABOVE and mapping.is_table(header) and _is_above(header, lines, delimiter):
            above += [": ".join(name.rstrip(":") for name in header if name)] if any(header) else []
            lines.start_row()
            header = [name.strip() for name in next(reader, ["", ""])]
    except _RowError as error:
        raise ReadError(origin.uri, f"its header {error}", error.mend) from error
    except csv.Error as error:
        raise ReadError(origin.uri, f"its header is not CSV ({error})") from error
    is_table = mapping.is_table(header)
    below = [*csv.reader(lines.ahead(_MOST_ABOVE), delimiter=delimiter)] if is_table else []
    whole = _whole_headers(header, below)
    header, below = [header, *whole][-1], below[len(whole) :]
    for _ in whole:
        next(reader)
    named = [name for name in header if name]
    if not is_table and (twice := {name for name in named if named.count(name) > 1}):
        raise ReadError(origin.uri, f"two columns are called {min(twice)!r}", "rename one of them")
    if is_table and _are_data(header, below):
        blank = [""] * len(header)
        return (
            above,
            blank,
            chain([Row(lines.number, _named(blank, header))], _rows_below(blank, reader, lines, is_table=True)),
        )
    return above, header, _rows_below(header, reader, lines, is_table=is_table)


def _whole_headers(header: list[str], rows: list[list[str]]) -> list[list[str]]:
    """The header with each further line of it, as surveys have them: answers below their question, questions below ids, units."""
    first = rows[0] if rows and len(rows[0]) == len(header) else []
    blank = [cell.strip() for name, cell in zip(header, first, strict=False) if not name]
    if first and len(rows) > 1 and rows[1][:1] and rows[1][0].startswith('{"ImportId"'):
        return [first, first]
    names: list[str] = []
    cells = [[Cell(cell.strip()) for cell in row] for row in rows if len(row) == len(header)]
    if first and are_units(cells) and all(name or not cell for name, cell in zip(header, first, strict=True)):
        units = [cell.strip(" []()") for cell in first]
        return [[f"{name} ({unit})" if unit else name for name, unit in zip(header, units, strict=True)]]
    is_corner = bool(header[0]) is not bool(first and first[0]) and (
        bool(header[0]) or (all(first) and has_values(cells[1:]))
    )
    if blank and all(blank) and is_corner and not any(map(is_value, first)):
        group = ""
        for name, cell in zip(header, map(str.strip, first), strict=True):
            group = name or group
            names.append(name if name and cell.endswith("Response") else f"{group} {cell}".strip())
    return [names] if names else []


def _above(lines: _CsvLines) -> tuple[list[str], str]:
    """Take the lines without a delimiter above the header; and the delimiter that one of them names, else nothing."""
    ahead = lines.ahead(_MOST_ABOVE)
    delimiter = ""
    above: list[str] = []
    at = 0
    while at < len(ahead):
        line = ahead[at].strip()
        named = _SEPARATOR.fullmatch(line)
        below = next((other for other in ahead[at + 1 :] if other.strip() and other[0] != "#"), "")
        is_comment = line.startswith("#") and _width(line) < _width(below)
        if not (named or is_comment):
            break
        delimiter = named[1] if named else delimiter
        above += [] if named else [line.lstrip("# ")]
        at += 1
    blank = next((place for place in range(at, len(ahead)) if not ahead[place].strip()), at)
    below = next((other for other in ahead[blank:] if other.strip()), "")
    if blank > at and _width(below) > 1 and all(_width(line) == 1 and '"' not in line for line in ahead[at:blank]):
        above += [line.strip() for line in ahead[at:blank]]
        at = blank
    for _ in range(at):
        lines.start_row()
        next(lines)
    return list(filter(None, above)), delimiter


def _is_above(row: list[str], lines: _CsvLines, delimiter: str) -> bool:
    """Whether a row stands above the header: it is empty, or has one cell, or a name and a value while the rows below are wider."""
    filled = sum(map(bool, row))
    if len(row) == 1:
        return _usual_width(lines.ahead(_MOST_ABOVE), delimiter) > 2
    if filled < 2:
        return bool(lines.ahead(1))
    if filled > 2 or not all(row[:2]):
        return False
    below = [cells for cells in csv.reader(lines.ahead(_MOST_ABOVE), delimiter=delimiter) if sum(map(bool, cells)) > 2]
    return len(below) > 1 and len({len(cells) for cells in below[:-1]}) == 1


def _delimiter(first: str, below: list[str]) -> str:
    """The delimiter of a file: the one that occurs most often in a line, or, if it has none, divides most lines below it alike."""
    if _width(first) > 1:
        return max(_DELIMITERS, key=first.count)
    return max(_DELIMITERS, key=lambda each: _usual_width(below, each))


def _usual_width(lines: list[str], delimiter: str) -> int:
    """The number of cells of at least two lines, which are at least half of all; 1 if there is none."""
    widths = Counter(len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells)
    width, count = max(widths.items(), key=lambda each: each[1], default=(1, 0))
    return width if count > 1 and 2 * count >= widths.total() else 1


def _are_data(first: list[str], rows: list[list[str]]) -> bool:
    """Whether the first row is one of the data: with a date, address or number that no header has.

    Numbers above numbers may be names in a row (1, 2, 3), years may be names anywhere.
    """
    columns = [[cell for cell in column if cell] for column in zip(*rows, strict=False)]
    of_data = [(name, cells) for name, cells in zip(first, columns, strict=False) if name and cells]
    if any(all(map(DATUM.fullmatch, (name, *cells))) for name, cells in of_data):
        return True
    numbers = [(name, cells) for name, cells in of_data if all(map(is_value, cells))]
    names = [name for name, _ in numbers if is_value(name) and not is_year(name)]
    are_words = len(numbers) < len(of_data) or any(name in cells for name, cells in numbers)
    return 0 < len(names) == len(numbers) and are_words and (len(names) < _FEWEST_NAMES or not _ascend(names))


def _ascend(names: list[str]) -> bool:
    numbers = [float(name) if re.fullmatch(r"-?\d+(?:\.\d+)?", name) else 0.0 for name in names]
    return all(left < right for left, right in pairwise(numbers))


def _named(header: list[str], cells: list[str]) -> dict[str, str]:
    """The cells of a row of a table by the names of its columns; the unnamed ones and those with one name have a place, too."""
    counts = Counter(header)
    names = (name if name and counts[name] == 1 else f"{name}\0{at}" for at, name in enumerate(header))
    return dict(zip(names, cells, strict=True))


def _width(line: str) -> int:
    return 1 + max(map(_QUOTED.sub("", line).count, _DELIMITERS))


_FEWEST_LABELS = 3  # of a table in which a cell may stand alone


def _rows_below(
    header: list[str], reader: Iterator[list[str]], lines: _CsvLines, *, is_table: bool
) -> Iterator[Row | Flaw]:
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
            if (
                len(cells) == 1 and is_table and len(header) >= _FEWEST_LABELS
            ):  # a note below the rows, a section above some
                cells += [""] * (len(header) - 1)
            if len(cells) == len(header) and any(cells):
                yield Row(number, _named(header, cells) if is_table else dict(zip(header, cells, strict=True)))
            elif any(cells):
                reason = f"has {len(cells)} cells, the header has {len(header)}"
                yield Flaw(number, reason, "quote the cells that hold a delimiter")


FORMAT = RowsFormat("csv", suffixes=(".csv", ".tsv"), read=read_csv, table=csv_table)
