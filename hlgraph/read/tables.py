"""Finds tables in plain text and PDF pages, and writes tables as Markdown.

:func:`aligned_table` finds tables whose columns are aligned with spaces. Values of two rows belong to one column if they
overlap or touch. A label above belongs to the columns that it covers or is centred over. If that is uncertain, the columns
have no labels, because a wrong label is worse than none. :class:`RuledTables` finds the tables of a PDF that have ruled
lines. :class:`Grid` fills spans, finds the
header and the sections of a table of any format, and writes it as Markdown.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.content import clean, clean_title, tolerated

if TYPE_CHECKING:
    from pdfplumber import PDF
    from pdfplumber.page import Page
    from pdfplumber.table import Table

    from hlgraph.read.bounds import Produced


_Span: TypeAlias = tuple[int, int]

_FIELD = re.compile(r"\S+(?: \S+)*")  # words separated by single spaces
_HAS_DIGIT = re.compile(r"\d")
# A value, not a name with a number in it: only digits, separators, signs, currency and short units.
_VALUE = re.compile(
    r"\W*\d[\d.,\s]*(?:\W*|\s?[^\W\d_]{1,3}|(?:thousand|million|billion|percent|per cent|(?:year|day|hour|metre)s?))\W*"
)
_LONGEST_LABEL = 80
_LONGEST_LINE = 400
_MOST_HEADS = 4
_MOST_COLUMNS = 30  # whose labels may span
_NEAR = 3  # largest distance between the centre of a label and the centre of its columns, characters
_ENDS_WITH_VALUE = re.compile(r"[^\W\d_]\S*\s+[$€£¥₹(]*\s?\d[\d.,]*[)%]*\Z")
_GAP = re.compile(r"\w\S* {4,}\S*\w")  # between columns of text
_MOST_IN_COLUMNS = 0.2  # of the lines outside tables
_LEAST_VALUES = 4
_UNIT = re.compile(r"\(.*\b(?:in|except)\b", re.IGNORECASE)
_RULE = re.compile(r"[\s\-=_]+")
_SIGNS_BEFORE = frozenset("$€£¥₹(") | {"$(", "US$"}
_SIGNS_BEHIND = frozenset(")%") | {")%"}
_NOTHING = frozenset("-–—") | {"--", "n/a", "N/A"}


class AlignedTable(NamedTuple):
    """A table of aligned columns.

    Attributes
    ----------
    first, size : its first line, heads included, and its number of lines
    head : label of each column, the column of row labels first; empty labels if they are uncertain
    rows : line number and cells of each row; a row with only a label names a section
    """

    first: int
    size: int
    head: list[str]
    rows: list[tuple[int, list[str]]]


class _Field(NamedTuple):
    start: int
    end: int
    text: str

    @property
    def centre(self) -> float:
        return (self.start + self.end) / 2


def is_value(part: str) -> bool:
    """Whether the text of a cell is a number, possibly with signs, a currency or a short unit.

    Examples
    --------
    >>> [is_value(part) for part in ("$ 5,234", "(12)%", "120 m", "Route 66 north")]
    [True, True, True, False]
    """
    return len(part) <= _LONGEST_LABEL and _HAS_DIGIT.search(part) is not None and _VALUE.fullmatch(part) is not None


def is_year(part: str) -> bool:
    """Whether the text of a cell is a year from 1500 to 2099.

    Examples
    --------
    >>> is_year("1953"), is_year("1,953")
    (True, False)
    """
    return re.fullmatch(r"(?:1[5-9]|20)\d\d", part) is not None


def aligned_table(lines: Sequence[str], at: int) -> AlignedTable | None:
    """The table whose first row with values is line ``at``; None if no table begins there.

    A table has at least two rows of a label and values. It ends before a line that has words after its values, that has
    neither values nor a label, or whose values do not fit into the columns. Time and memory are linear in the length of
    the table.

    Parameters
    ----------
    lines : the lines of a text with their leading spaces, without blank lines
    at : index of a line

    Returns
    -------
    AlignedTable or None

    Examples
    --------
    >>> table = aligned_table(["            2023   2022", "Revenue    5,234  4,900", "Costs         12     10"], 1)
    >>> table.head, table.rows
    (['', '2023', '2022'], [(1, ['Revenue', '5,234', '4,900']), (2, ['Costs', '12', '10'])])
    """
    if _row_of(lines[at]) is None:
        return None
    columns: list[_Span] = []
    body: list[tuple[int, list[_Field]]] = []
    left = 0  # the rightmost start of a label
    for number in range(at, len(lines)):
        row = _row_of(lines[number])
        if row is not None:
            wider = _with(columns, row[1:], label_end=row[0].end)
            if wider is None:
                break
            columns, left = wider, max(left, row[0].start)
        elif _is_section(lines[number], columns, left):
            row = _fields(lines[number])
        elif not _is_rule(lines[number]):
            break
        body.append((number, row or []))
    while body and len(body[-1][1]) < 2:  # a section without rows does not belong to the table
        body.pop()
    if sum(len(row) > 1 for _, row in body) < 2 or (len(columns) == 1 and not _is_flush(body)):
        return None
    if at and _is_section(lines[at - 1], columns, left):
        body.insert(0, (at - 1, _fields(lines[at - 1])))
    first, head = _heads(lines, body[0][0], columns, left)
    rows = [(number, _cells(row, columns)) for number, row in body if row]
    return AlignedTable(first, body[-1][0] + 1 - first, head, rows)


def may_have_table(text: str) -> bool:
    """Whether a text has at least four lines that are a value or end with one, the minimum of a table of numbers.

    Parameters
    ----------
    text : the text of a page, with its lines in any order

    Returns
    -------
    bool
    """
    matching = (
        line for line in text.splitlines() if is_value(line.strip()) or _ENDS_WITH_VALUE.search(line[-_LONGEST_LABEL:])
    )
    return len(list(islice(matching, _LEAST_VALUES))) == _LEAST_VALUES


def with_markdown(text: str) -> str:
    r"""The text of a page that is laid out with spaces: tables become Markdown, other lines get single spaces.

    Parameters
    ----------
    text : lines as they are laid out, with spaces for the distances between words

    Returns
    -------
    str
        Empty if the page has no table, or has text in columns, whose lines belong to different sentences.

    Examples
    --------
    >>> print(with_markdown("Sales  of  us\n            2023   2022\nRevenue    5,234  4,900\nCosts         12     10"))
    Sales of us
    <BLANKLINE>
    |  | 2023 | 2022 |
    | --- | --- | --- |
    | Revenue | 5,234 | 4,900 |
    | Costs | 12 | 10 |
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    tables: list[AlignedTable] = []
    at = 0
    while at < len(lines):
        table = aligned_table(lines, at)
        if table is not None and tables and table.first < tables[-1].first + tables[-1].size:
            table = None
        tables += [table] if table else []
        at = table.first + table.size if table else at + 1
    inside = {number for table in tables for number in range(table.first, table.first + table.size)}
    prose = [line.strip() for number, line in enumerate(lines) if number not in inside]
    in_columns = sum(_GAP.search(line) is not None for line in prose)
    if not tables or in_columns > max(2, len(prose) * _MOST_IN_COLUMNS):
        return ""
    parts: list[str] = []
    at = 0
    for table in tables:
        parts.append("\n".join(" ".join(line.split()) for line in lines[at : table.first]))
        parts.append(_markdown(table))
        at = table.first + table.size
    parts.append("\n".join(" ".join(line.split()) for line in lines[at:]))
    return "\n\n".join(part for part in parts if part)


def _markdown(table: AlignedTable) -> str:
    return "\n".join((_barred(table.head), "|" + " --- |" * len(table.head), *(_barred(row) for _, row in table.rows)))


def _fields(line: str) -> list[_Field]:
    """The fields of a line. A separate sign belongs to the adjacent value."""
    merged: list[_Field] = []
    for match in _FIELD.finditer(line.expandtabs()):
        field = _Field(match.start(), match.end(), match[0])
        if merged and (merged[-1].text in _SIGNS_BEFORE or field.text in _SIGNS_BEHIND):
            last = merged.pop()
            field = _Field(last.start, field.end, f"{last.text} {field.text}")
        merged.append(field)
    return merged


def _row_of(line: str) -> list[_Field] | None:
    """The label and the values of a line; None if it is not such a row."""
    if len(line) > _LONGEST_LINE or "|" in line or not _HAS_DIGIT.search(line):
        return None
    fields = _fields(line)
    is_number = [is_value(field.text) for field in fields]
    names = next((at for at in range(1, len(fields)) if is_number[at] or fields[at].text in _NOTHING), len(fields))
    values = fields[names:]
    label = " ".join(field.text for field in fields[:names])
    is_row = all(is_number[at] or fields[at].text in _NOTHING for at in range(names, len(fields)))
    if not is_row or not any(is_number[names:]):
        return None
    # A row of years is the head of this table or of the next one. A year can be the label of a row of other values.
    if all(is_year(field.text) for field in values):
        return None
    if len(label) > _LONGEST_LABEL or (is_value(label) and not is_year(label)) or not any(map(str.isalnum, label)):
        return None
    return [_Field(fields[0].start, fields[names - 1].end, label), *values]


def _is_section(line: str, columns: Sequence[_Span], left: int) -> bool:
    """Whether a line has only a label, which begins where the row labels begin."""
    fields = _fields(line) if len(line) <= _LONGEST_LINE else []
    return (
        len(fields) == 1
        and fields[0].start <= left + _NEAR
        and fields[0].start < columns[0][0] - _NEAR
        and fields[0].end <= columns[-1][1]
        and len(fields[0].text) <= _LONGEST_LABEL
        and not fields[0].text.endswith((".", "!", "?"))
    )


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None


def _with(columns: Sequence[_Span], values: Sequence[_Field], *, label_end: int) -> list[_Span] | None:
    """The columns widened by the values of one more row; None if two columns would merge or the label overlaps them."""
    spans = [*columns]
    taken: set[int] = set()
    for value in values:
        over = [at for at, span in enumerate(spans) if _touches(value, span)]
        if len(over) > 1 or taken & set(over):
            return None
        if over:
            start, end = spans[over[0]]
            spans[over[0]] = (min(start, value.start), max(end, value.end))
            taken.add(over[0])
        else:
            spans.append((value.start, value.end))
            taken.add(len(spans) - 1)
    spans.sort()
    if any(left[1] + 1 >= right[0] for left, right in pairwise(spans)) or spans[0][0] <= label_end:
        return None
    return spans


def _touches(field: _Field, span: _Span) -> bool:
    """Whether a field overlaps a span or is at most one character away, as in the layout of proportional fonts."""
    return field.start <= span[1] + 1 and span[0] <= field.end + 1


def _is_flush(body: Sequence[tuple[int, list[_Field]]]) -> bool:
    """Whether the values of a single column begin or end at the same place, within one character for a sign."""
    values = [row[1] for _, row in body if len(row) > 1]
    places = ([value.start for value in values], [value.end for value in values])
    return any(max(each) - min(each) <= 1 for each in places)


def _cells(row: Sequence[_Field], columns: Sequence[_Span]) -> list[str]:
    parts = [row[0].text, *[""] * len(columns)]
    for value in row[1:]:
        at = next(at for at, span in enumerate(columns) if _touches(value, span))
        parts[at + 1] = "" if value.text in _NOTHING else value.text
    return parts


def _heads(lines: Sequence[str], at: int, columns: Sequence[_Span], left: int) -> tuple[int, list[str]]:
    """The first line of the table and its labels, from up to four lines above the first row. All labels or none."""
    head = [""] * (len(columns) + 1)
    first = at
    for line in range(at - 1, max(-1, at - 2 - 2 * _MOST_HEADS), -1):
        text = lines[line] if len(lines[line]) <= _LONGEST_LINE else "."
        if _is_rule(text):
            first = line
            continue
        label, above = _parted(_fields(text), columns, left)
        if label is None or not above or _row_of(text) is not None:
            break
        labels = _assigned(above, columns)
        if labels is None:
            # The meaning of this line is uncertain. The labels below it suffice if they distinguish all columns.
            is_enough = all(head[1:]) and len(set(head[1:])) == len(columns)
            return (first, head) if is_enough else (at, [""] * len(head))
        head = [f"{new} {old}".strip() for new, old in zip([label, *labels], head, strict=True)]
        if len(above) == len(columns):  # they show how wide the columns are
            columns = [
                (min(each.start, start), max(each.end, end)) for each, (start, end) in zip(above, columns, strict=True)
            ]
        first = line
    named = [label for label in head[1:] if label]
    # Equal labels do not distinguish columns: another line of the head was not understood.
    return (first, head) if len(set(named)) == len(named) else (at, [""] * len(head))


def _parted(fields: Sequence[_Field], columns: Sequence[_Span], left: int) -> tuple[str | None, list[_Field]]:
    """From a line of the head, the label of the row labels and the column labels; None if it does not belong to a head."""
    begin = columns[0][0]
    beside = [field for field in fields[:1] if field.start <= left + _NEAR and field.end <= begin]
    above = fields[len(beside) :]
    # A title is centred over the page and begins far left of the values, or names the unit of all of them.
    is_title = len(above) == 1 and (above[0].start < begin - 4 * _NEAR or _UNIT.search(above[0].text) is not None)
    is_text = any(len(field.text) > _LONGEST_LABEL or field.text.endswith(("!", "?", ";")) for field in fields)
    if is_text or is_title:
        return None, []
    return (beside[0].text if beside else ""), list(above)


def _assigned(labels: Sequence[_Field], columns: Sequence[_Span]) -> list[str] | None:
    """The label of each column from one line of a head; None if it is uncertain to which columns a label belongs."""
    if len(labels) == len(columns):
        each = enumerate(labels)
        edges = [float("-inf"), *((left[1] + right[0]) / 2 for left, right in pairwise(columns)), float("inf")]
        is_clear = all(
            edges[at] <= label.centre <= edges[at + 1] and _is_near(label, columns, at) for at, label in each
        )
        return [label.text for label in labels] if is_clear else None
    if len(labels) > len(columns):
        return None
    ways = _ways(labels, columns) if len(columns) <= _MOST_COLUMNS else []
    if len(ways) != 1:
        return None
    head = [""] * len(columns)
    for label, (begin, end) in zip(labels, ways[0], strict=True):
        head[begin:end] = [label.text] * (end - begin)
    return head


def _ways(labels: Sequence[_Field], columns: Sequence[_Span]) -> list[list[_Span]]:
    """Up to two assignments of labels to column ranges, in order; two mean that the assignment is ambiguous."""

    @cache
    def ways(number: int, begin: int) -> list[list[_Span]]:
        if number == len(labels):
            return [[]]
        ranges = ((first, end) for first in range(begin, len(columns)) for end in range(first + 1, len(columns) + 1))
        fitting = (each for each in ranges if _may_stand_over(labels[number], columns, each))
        return list(islice(([each, *rest] for each in fitting for rest in ways(number + 1, each[1])), 2))

    return ways(0, 0)


def _is_near(label: _Field, columns: Sequence[_Span], at: int) -> bool:
    """Whether a label overlaps a column, or its centre is near the centre of the column."""
    start, end = columns[at]
    is_over = label.start < end and start < label.end
    return is_over or abs(label.centre - (start + end) / 2) <= max(_NEAR, _pitch(columns) / 2)


def _pitch(columns: Sequence[_Span]) -> float:
    """The largest distance between the centres of neighbouring columns; 0 for one."""
    return max(((sum(right) - sum(left)) / 2 for left, right in pairwise(columns)), default=0.0)


def _may_stand_over(label: _Field, columns: Sequence[_Span], ours: _Span) -> bool:
    """Whether a label is roughly centred over these columns and overlaps no other column."""
    first, end = ours
    middle = (columns[first][0] + columns[end - 1][1]) / 2
    others = (*columns[:first], *columns[end:])
    return abs(label.centre - middle) <= max(_NEAR, _pitch(columns) / 2) and not any(
        label.start < right and left < label.end for left, right in others
    )


# Cells with spans.


class Cell(NamedTuple):
    """A cell as its format stores it.

    Attributes
    ----------
    text : its text on one line
    width, height : how many columns and rows it spans; a height of 0: all rows below
    is_head : whether the format marks it as a label
    column : its column, from 0; None: the next free one
    """

    text: str
    width: int = 1
    height: int = 1
    is_head: bool = False
    column: int | None = None


class Grid:
    """A table with one text per row and column: spans are filled in both directions.

    Rows above the header with one text are captions. Leading rows of labels are one header, read from top to bottom. Without
    marked labels the first row is the header, unless it has values or only its first cell is marked. A row with one text names
    a section; each row below has that as its first cell, until the next section or a total. After the last row it is a note.

    Parameters
    ----------
    rows : the cells of each row, from left to right
    produced : counts the cells before they are built

    Attributes
    ----------
    captions : lines above the table
    head : label of each column; empty if the table has no header
    rows : texts of each row, as many as there are labels
    notes : lines below the table

    Raises
    ------
    ReadError
        The document has more than a million cells.

    Examples
    --------
    >>> from hlgraph.read.bounds import Produced
    >>> from hlgraph.read.content import Origin
    >>> rows = [[Cell("Region"), Cell("Hub")], [Cell("North", height=2), Cell("7")], [Cell("9")]]
    >>> Grid(rows, produced=Produced(Origin("file:///a"), 1, 100)).rows
    [['North', '7'], ['North', '9']]
    """

    def __init__(self, rows: Sequence[Sequence[Cell]], *, produced: Produced) -> None:
        table = [row for row in _placed(rows, produced) if any(cell.text for cell in row.values())]
        width = max((at + 1 for row in table for at, cell in row.items() if cell.text), default=0)
        produced.add_cells(len(table) * width)
        full = [[row.get(at, _NO_CELL) for at in range(width)] for row in table]
        first = 0
        while first < len(full) - 1 and width > 1 and _is_line(full[first]):
            first += 1
        self.captions = [_line(row) for row in full[:first]]
        size = _head_size(full[first:])
        self.head = [_joined(column) for column in zip(*full[first : first + size], strict=True)] or [""] * width
        self.rows, self.notes = _in_sections(full[first + size :])
        if self.rows and len(self.rows[0]) > width:
            self.head.insert(0, "")

    def markdown(self) -> str:
        """The captions, the table and the notes, with empty lines between; empty without text."""
        if not self.rows and any(self.head):  # a header alone
            return "\n\n".join([*self.captions, _barred(self.head), *self.notes])
        lines = [_barred(self.head), "|" + " --- |" * len(self.head), *map(_barred, self.rows)] if self.rows else []
        return "\n\n".join([*self.captions, *(["\n".join(lines)] if lines else []), *self.notes])


_NO_CELL = Cell("")
WIDEST = 100
"""Columns that one cell may span: more than any page shows."""
_MOST_SPANNED = 10_000  # places of a table whose cells span
_MOST_REPEATED = 20  # places per cell; beyond both, spans are not filled
_END_OF_SECTION = re.compile(r"(?:grand )?total\b", re.IGNORECASE)


def _placed(rows: Sequence[Sequence[Cell]], produced: Produced) -> list[dict[int, Cell]]:
    """The cell at each place. A cell that overlaps another one has the places that are free."""
    table: list[dict[int, Cell]] = [{} for _ in rows]
    spanned = sum(max(1, cell.width) * max(1, cell.height) for row in rows for cell in row)
    if spanned > _MOST_SPANNED and spanned > _MOST_REPEATED * sum(map(len, rows)):
        rows = [[cell._replace(width=1, height=1) for cell in row] for row in rows]
    for number, row in enumerate(rows):
        at = 0
        for cell in row:
            at = at if cell.column is None else cell.column
            while at in table[number]:
                at += 1
            width = max(1, min(cell.width, WIDEST))
            below = table[number : number + cell.height if cell.height > 0 else None]
            produced.add_cells(width * len(below) - 1)
            for places in below:
                for column in range(at, at + width):
                    places.setdefault(column, cell)
            at += width
    return table


def _texts(row: Sequence[Cell]) -> list[Cell]:
    """The different cells of a row that have text, in order."""
    return list({id(cell): cell for cell in row if cell.text}.values())


def _is_line(row: Sequence[Cell]) -> bool:
    """Whether a row is one text over the whole width, or alone in the first column."""
    return len(_texts(row)) == 1 and bool(row[0].text) and not is_value(row[0].text)


def _line(row: Sequence[Cell]) -> str:
    return " ".join(cell.text for cell in _texts(row))


def _joined(column: Iterable[Cell]) -> str:
    """The label of a column from the rows of its header, without repetitions."""
    return " ".join(dict.fromkeys(cell.text for cell in column if cell.text))


def _head_size(table: Sequence[Sequence[Cell]]) -> int:
    """How many rows are the header."""
    if len(table) < 2:
        return 0
    marked = next((at for at, row in enumerate(table) if not all(cell.is_head for cell in _texts(row))), 1)
    if marked:
        return min(marked, len(table) - 1)
    first = table[0]
    if (
        first[0].is_head
        or first[0].text.endswith(":")
        or any(is_value(cell.text) and not is_year(cell.text) for cell in first)
    ):
        return 0
    size = 1
    while size < len(table) - 1 and len(_texts(table[size - 1])) < sum(bool(cell.text) for cell in table[size - 1]):
        if any(is_value(cell.text) and not is_year(cell.text) for cell in table[size]):
            break
        size += 1  # a label over several columns stands above further labels
    return size


def _in_sections(table: Sequence[Sequence[Cell]]) -> tuple[list[list[str]], list[str]]:
    """The texts of the rows, each after that of its section if there are sections, and the sections without rows."""
    rows: list[tuple[str, list[str]]] = []
    names: list[str] = []
    is_new = False
    for row in table:
        if len(row) > 1 and _is_line(row):
            names = [*names, _line(row)] if is_new else [_line(row)]
            is_new = True
        else:
            rows.append((": ".join(names), [cell.text for cell in row]))
            names = [] if _END_OF_SECTION.match(row[0].text) else names
            is_new = False
    has_sections = any(name for name, _ in rows)
    return [[name, *texts] if has_sections else texts for name, texts in rows], names if is_new else []


def markdown_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of rows that are data, one line each: no row is taken for a title, a section or a total.

    Parameters
    ----------
    head : the label of each column
    rows : the texts of each row, without line breaks

    Examples
    --------
    >>> print(markdown_rows(["part", "count"], [["bolt", "3"]]))
    | part | count |
    | --- | --- |
    | bolt | 3 |
    """
    return "\n".join([_barred(head), "|" + " --- |" * len(head), *map(_barred, rows)])


def _barred(texts: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


# Ruled tables of a PDF page, found with pdfplumber and written as Markdown in place. The text around them keeps the order of
# its lines. If the page does not allow that (text in columns, text beside a table), the page is left unchanged.


_MOST_CONTENT = 4 << 20  # bytes of the drawing operators of a page
_MOST_EDGES = 2_000  # the time to find tables grows with their square
_MOST_LOST = 0.005  # of the characters of the page
_LEAST_KEPT = 0.8  # share of the lines around tables that the plain text of the page also has
_LEAST_FILLED = 0.4  # of the cells of a table
_RECTANGLE = re.compile(rb"\sre\s")
_VERTICAL = re.compile(rb"(-?[\d.]+) -?[\d.]+ m\s+\1 -?[\d.]+ l\s")


def may_be_ruled(content: bytes) -> bool:
    """Whether a page may draw a table: it has four rectangles or two vertical lines.

    Parameters
    ----------
    content : its drawing operators

    Examples
    --------
    >>> may_be_ruled(b"n 5 5 m 5 90 l S\\nn 9 5 m 9 90 l S\\n"), may_be_ruled(b"BT (words) Tj ET")
    (True, False)
    """
    if len(content) > _MOST_CONTENT:
        return False
    padded = b"\n" + content + b"\n"
    return len(_RECTANGLE.findall(padded)) >= 4 or len(_VERTICAL.findall(padded)) >= 2


class RuledTables:
    """The ruled tables of a PDF, page by page. The file is opened at the first page that may have one.

    Parameters
    ----------
    data : the PDF
    produced : counts the cells
    """

    def __init__(self, data: bytes, produced: Produced) -> None:
        self._data = data
        self._produced = produced
        self._file: PDF | None = None

    def text_of(self, index: int, text: str) -> str:
        """The text of a page with its ruled tables as Markdown.

        Parameters
        ----------
        index : number of the page, from 0
        text : its plain text, against which the result is checked

        Returns
        -------
        str
            Empty if the page has no such table, or if text would be lost or change its order.

        Raises
        ------
        MissingExtraError
            pdfplumber is not installed.
        ReadError
            The box of the page holds no numbers.
        """
        try:
            import pdfplumber
        except ImportError as error:
            raise MissingExtraError("pdf", "reading tables of PDF") from error
        parts: list[tuple[str, bool]] = []
        with tolerated():  # the page has its plain text
            self._file = self._file or pdfplumber.open(io.BytesIO(self._data))
            page = self._page(self._file, index)
            parts = list(_parts(page, self._produced))
            page.close()
        markdown = "\n\n".join(part for part, _ in parts if part)
        if not any(is_table for _, is_table in parts) or not _is_faithful(parts, markdown, text):
            return ""
        return markdown

    def _page(self, file: PDF, index: int) -> Page:
        from pdfplumber.utils.exceptions import MalformedPDFException

        try:
            return file.pages[index]
        except MalformedPDFException as error:
            reason = f"page {index + 1} cannot be read as PDF ({error})"
            raise ReadError(self._produced.origin.uri, reason, "repair it, e.g. with qpdf") from None


def _parts(page: Page, produced: Produced) -> Iterator[tuple[str, bool]]:
    """The text above, between and below the tables, and the tables, each with whether it is a table."""
    if len(page.edges) > _MOST_EDGES:
        return
    top = page.bbox[1]
    for table in sorted(page.find_tables(), key=lambda each: (each.bbox[1], each.bbox[0])):
        markdown = _ruled_markdown(table, produced)
        if not markdown or table.bbox[1] < top:
            continue
        yield _band(page, top, table.bbox[1]), False
        yield markdown, True
        top = table.bbox[3]
    yield _band(page, top, page.bbox[3]), False


def _band(page: Page, top: float, bottom: float) -> str:
    left, _, right, _ = page.bbox
    if bottom - top < 1:
        return ""
    return clean(page.within_bbox((left, top, right, bottom)).extract_text()).strip()


def _ruled_markdown(table: Table, produced: Produced) -> str:
    rows = [[Cell(clean_title(clean(text or ""))) for text in row] for row in table.extract()]
    width = max(map(len, rows), default=0)
    filled = sum(bool(cell.text) for row in rows for cell in row)
    has_rows = sum(any(cell.text for cell in row) for row in rows) > 1
    is_table = width > 1 and has_rows and filled >= _LEAST_FILLED * width * len(rows)
    return Grid(rows, produced=produced).markdown() if is_table else ""


def _is_faithful(parts: list[tuple[str, bool]], markdown: str, text: str) -> bool:
    """Whether no text is lost and the lines around the tables are lines of the plain text, not parts of two columns."""
    lost = Counter("".join(text.split())) - Counter("".join(markdown.split()))
    if lost.total() > len(text) * _MOST_LOST:
        return False
    plain = "".join(text.split())
    lines = ["".join(line.split()) for part, is_table in parts if not is_table for line in part.splitlines()]
    return sum(line in plain for line in lines) >= _LEAST_KEPT * len(lines)
