"""Finds tables in plain text, and writes tables as Markdown.

:func:`aligned_table` finds tables whose columns are aligned with spaces. Values of two rows belong to one column if they
overlap or touch. A label above belongs to the columns that it covers or is centred over. If that is uncertain, the columns
have no labels, because a wrong label is worse than none. :class:`Grid` fills spans, finds the header and the sections of a
table of any format, and writes it as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hlgraph.read.content import barred
from hlgraph.read.print_order import CONTENTS

if TYPE_CHECKING:
    from hlgraph.read.bounds import Produced


Span: TypeAlias = tuple[float, float]
"""Where a column begins and ends, in characters or points."""
Range: TypeAlias = tuple[int, int]
"""The first column and the one after the last."""

_FIELD = re.compile(r"\S+(?: \S+)*")  # words separated by single spaces
_HAS_DIGIT = re.compile(r"\d")
_BEGINS_WITH_DIGIT = re.compile(r"\W*\d")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
# A value, not a name with a number in it: only digits, separators, signs, currency and short units.
_VALUE = re.compile(
    r"\W*\d[\d.,\s]*(?:\W*|\s?[^\W\d_]{1,3}|(?:thousand|million|billion|percent|per cent|(?:year|day|hour|metre)s?))\W*"
)
_NO_LABEL = re.compile(rf"{_VALUE.pattern}|\d{{1,2}}[:.]\d\d|\W+")  # a value, a time, a sign
_LONGEST_LABEL = 80
_LONGEST_LINE = 400
_MOST_HEADS, _MOST_NOTES = 4, 8  # rows above those of a table
_MOST_COLUMNS = 30  # whose labels may span
_CLEAR = 2  # least difference in distance, in characters, between the best and the second best columns for labels
_FEWEST_COLUMNS = 3  # of a table of words; text in columns has fewer
_LONGEST_CELL, _MEAN_CELL = 40, 18  # characters of a table of words; lines of text in columns are longer
_SHORT = 30  # characters of a first cell; text in columns has longer ones
_NEAR = 3  # largest distance between the centre of a label and the centre of its columns, characters
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

    @property
    def is_certain(self) -> bool:
        """Whether all columns have labels, all rows values, and two rows several: it is no text in columns."""
        counts = [sum(map(is_value, cells[1:])) for _, cells in self.rows if any(cells[1:])]
        return all(self.head[1:]) and all(counts) and sum(count > 1 for count in counts) > 1


class Field(NamedTuple):
    """Words that stand together in a line, and where, in characters or points."""

    start: float
    end: float
    text: str

    @property
    def centre(self) -> float:
        """The middle between start and end."""
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
    columns: list[Span] = []
    body: list[tuple[int, list[Field]]] = []
    left = 0.0  # the rightmost start of a label
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
    if len(columns) == 1 and not any(head):
        body = _with_pairs(lines, body, columns[0][0])
        first = body[0][0]
        if any(len(row) == 1 for _, row in body) and first and _is_section(lines[first - 1], columns, left):
            first -= 1
            body.insert(0, (first, _fields(lines[first])))
    rows = [(number, _cells(row, columns)) for number, row in body if row]
    if len(columns) == 1 and _are_contents([cells for _, cells in rows if cells[1]]):
        return None
    return AlignedTable(first, body[-1][0] + 1 - first, head, rows)


def _with_pairs(
    lines: Sequence[str], body: list[tuple[int, list[Field]]], start: float
) -> list[tuple[int, list[Field]]]:
    """The rows of names and values with those right above and below whose values begin at the same place: "12 V DC"."""
    if any(abs(row[1].start - start) > 1 for _, row in body if len(row) > 1):
        return body
    names = [row[0].start for _, row in body if row]
    for step in (-1, 1):
        number = body[0][0] - 1 if step < 0 else body[-1][0] + 1
        while 0 <= number < len(lines) and len(lines[number]) <= _LONGEST_LINE:
            fields = _fields(lines[number])
            if (
                len(fields) != 2
                or abs(fields[1].start - start) > 1
                or not min(names) - 1 <= fields[0].start <= max(names) + 1
            ):
                break
            body.insert(0 if step < 0 else len(body), (number, fields))
            number += step
    return body


def _are_contents(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows are those of a table of contents: numbered parts, and those with dots, with pages that follow each other."""
    pages = [int(page) for _, page in rows if page.isdecimal() and len(page) < 5]
    are_parts = sum(_PART.match(name) is not None for name, _ in rows) * 2 > len(rows) >= _FEWEST_COLUMNS
    return are_parts and len(pages) == len(rows) and all(one <= other for one, other in pairwise(pages))


_LISTED = re.compile(r"\s(?:\d{1,4}|[ivxlc]{1,7})\Z")
_PART = re.compile(r"(?:[^\W\d_]+ )?\d+(?:\.\d+)*\.? \S|.*(?:\. ?){4}")


def tables_in(
    lines: Sequence[str],
    *,
    has_numbers: bool = True,
    unit: float = 1,
    gaps: Sequence[float] = (),
    is_marked: Callable[[str], bool] = lambda _: False,
) -> list[AlignedTable]:
    """The tables of a page that is laid out with spaces, from top to bottom.

    Parameters
    ----------
    lines : lines that are not blank, with spaces for the distances between words
    has_numbers : whether to look for tables of numbers, and not only for tables of words with a header, default True
    unit : width of a character, in places of the layout, default 1
    gaps : the distance of each line from the one above, default unknown
    is_marked : whether a line is printed as the header of a table is, in bold; default never
    """
    tables: list[AlignedTable] = []
    at = 0
    while at < len(lines):
        if CONTENTS.fullmatch(lines[at].strip()):
            at = next((below for below in range(at + 1, len(lines)) if not _LISTED.search(lines[below])), len(lines))
            continue
        table = _marked_table(lines, at, is_marked, unit, gaps)
        table = table or _gap_table(lines, at, gaps)
        table = table or (aligned_table(lines, at) if has_numbers else None)
        table = _with_stacked_heads(lines, table, unit) if table else None
        if table is not None and tables and table.first < tables[-1].first + tables[-1].size:
            table = None
        tables += [table] if table else []
        at = table.first + table.size if table else at + 1
    return tables


def table_markdown(table: AlignedTable) -> str:
    """A table of aligned columns as Markdown."""
    rows, _ = in_sections([[Cell(text) for text in texts] for _, texts in table.rows])
    rows = rows if any(table.head) else _with_sections(rows, len(table.head))
    head = ["", *table.head] if rows and len(rows[0]) > len(table.head) else table.head
    return "\n".join((barred(head), "|" + " --- |" * len(head), *map(barred, rows)))


def _fields(line: str) -> list[Field]:
    """The fields of a line. A separate sign belongs to the adjacent value."""
    merged: list[Field] = []
    for match in _FIELD.finditer(line.expandtabs()):
        field = Field(match.start(), match.end(), match[0])
        if merged and (merged[-1].text in _SIGNS_BEFORE or field.text in _SIGNS_BEHIND):
            last = merged.pop()
            field = Field(last.start, field.end, f"{last.text} {field.text}")
        merged.append(field)
    return merged


def _row_of(line: str) -> list[Field] | None:
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
    return [Field(fields[0].start, fields[names - 1].end, label), *values]


def _is_section(line: str, columns: Sequence[Span], left: float) -> bool:
    """Whether a line has only a label, which begins where the row labels begin."""
    fields = _fields(line) if len(line) <= _LONGEST_LINE else []
    return (
        len(fields) == 1
        and fields[0].start <= left + _NEAR
        and fields[0].start < columns[0][0] - _NEAR
        and fields[0].end <= columns[-1][1]
        and len(fields[0].text) <= _LONGEST_LABEL
        and not fields[0].text.endswith((".", "!", "?"))
        and not _is_rule(line)
    )


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None


def _with(columns: Sequence[Span], values: Sequence[Field], *, label_end: float) -> list[Span] | None:
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


def _touches(field: Field, span: Span) -> bool:
    """Whether a field overlaps a span or is at most one character away, as in the layout of proportional fonts."""
    return field.start <= span[1] + 1 and span[0] <= field.end + 1


def _is_flush(body: Sequence[tuple[int, list[Field]]]) -> bool:
    """Whether the values of a single column begin or end at the same place, within one character for a sign."""
    values = [row[1] for _, row in body if len(row) > 1]
    places = ([value.start for value in values], [value.end for value in values])
    return any(max(each) - min(each) <= 1 for each in places)


def _cells(row: Sequence[Field], columns: Sequence[Span]) -> list[str]:
    parts = [row[0].text, *[""] * len(columns)]
    for value in row[1:]:
        at = next(at for at, span in enumerate(columns) if _touches(value, span))
        parts[at + 1] = "" if value.text in _NOTHING else value.text
    return parts


def _heads(lines: Sequence[str], at: int, columns: Sequence[Span], left: float) -> tuple[int, list[str]]:
    """The first line of the table and its labels, from up to four lines above the first row. All labels or none."""
    head = [""] * (len(columns) + 1)
    first = at
    for line in range(at - 1, max(-1, at - 2 - 2 * _MOST_HEADS), -1):
        text = lines[line] if len(lines[line]) <= _LONGEST_LINE else "."
        if _is_rule(text):
            first = line
            continue
        fields = _fields(text)
        over = [at for at, span in enumerate(columns, 1) if len(fields) == 1 and _touches(fields[0], span)]
        if len(over) == 1 and any(head[1:]) and not head[over[0]]:  # the only column without a label so far
            head[over[0]], first = fields[0].text, line
            continue
        label, above = _parted(fields, columns, left)
        if label is None or not above or _row_of(text) is not None:
            break
        if len(columns) == 1 and label and _BEGINS_WITH_DIGIT.match(above[0].text) and not _YEAR.search(above[0].text):
            break  # the row above, such as "Voltage  12 V DC"
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


def _parted(fields: Sequence[Field], columns: Sequence[Span], left: float) -> tuple[str | None, list[Field]]:
    """From a line of the head, the label of the row labels and the column labels; None if it does not belong to a head."""
    begin = columns[0][0]
    # The row labels may be of several columns, such as a date and what was paid, each with a label.
    count = max(1, len(fields) - len(columns))
    beside = [field for field in fields[:count] if fields[0].start <= left + _NEAR and field.end <= begin]
    above = fields[len(beside) :]
    # A title begins far left of the values or where the row labels do, or names the unit of all values.
    is_left = bool(above) and (above[0].start < begin - 4 * _NEAR or (above[0].start <= left and len(columns) > 1))
    is_title = len(above) == 1 and (is_left or _UNIT.search(above[0].text) is not None)
    is_text = any(len(field.text) > _LONGEST_LABEL or field.text.endswith(("!", "?", ";")) for field in fields)
    if is_text or is_title:
        return None, []
    return " ".join(field.text for field in beside), list(above)


def _assigned(labels: Sequence[Field], columns: Sequence[Span]) -> list[str] | None:
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
    ranges = _flush(labels, columns) or _ranges(labels, columns)
    if ranges is None:
        return None
    head = [""] * len(columns)
    for label, (begin, end) in zip(labels, ranges, strict=True):
        head[begin:end] = [label.text] * (end - begin)
    return head


def _flush(labels: Sequence[Field], columns: Sequence[Span]) -> list[Range]:
    """The columns of years and units that end where their columns do; none if one is no such label, or ends elsewhere."""
    ends = [[at for at, (_, end) in enumerate(columns) if abs(end - label.end) <= 1] for label in labels]
    are_short = all(is_year(label.text) or _SHORT_UNIT.fullmatch(label.text) for label in labels)
    return [(at[0], at[0] + 1) for at in ends] if are_short and all(len(at) == 1 for at in ends) else []


def _ranges(
    labels: Sequence[Field], columns: Sequence[Span], *, below: Sequence[Range] | None = None, is_exact: bool = False
) -> list[Range] | None:
    """The columns that each label stands over, in order; None if there is more than one way.

    Parameters
    ----------
    labels : one line of a header, with places in characters
    columns : where the columns of the body are, at most 30
    below : the ranges of the next line of the header, which a label covers as a whole; default: any
    is_exact : whether places are exact, so that the way in which labels are centred is the right one; default False
    """
    if len(columns) > _MOST_COLUMNS:
        return None
    inside = {
        at for begin, end in below or () for at in range(begin + 1, end)
    }  # places between columns where no range ends

    miss = _misalignment if is_exact else _distance

    @cache
    def best(number: int, begin: int) -> list[tuple[float, list[Range]]]:
        """Up to two assignments of the labels from a number on, the best first, with the sum of the distances."""
        if number == len(labels):
            return [(0.0, [])]
        ranges = (
            (first, end)
            for first in range(begin, len(columns))
            for end in range(first + 1, len(columns) + 1)
            if first not in inside and end not in inside
        )
        fitting = (each for each in ranges if _may_stand_over(labels[number], columns, each))
        return sorted(
            (distance + miss(labels[number], columns, each), [each, *rest])
            for each in fitting
            for distance, rest in best(number + 1, each[1])
        )[:2]

    ways = best(0, 0)
    is_clear = len(ways) == 1 or (is_exact and len(ways) == 2 and _is_better(ways[0][0], ways[1][0], len(labels)))
    return ways[0][1] if is_clear else None


def _is_better(best: float, second: float, count: int) -> bool:
    return best <= count and second - best >= _CLEAR


def _distance(label: Field, columns: Sequence[Span], ours: Range) -> float:
    """The distance between the centre of a label and that of the columns that it may stand over."""
    first, end = ours
    return abs(label.centre - (columns[first][0] + columns[end - 1][1]) / 2)


def _misalignment(label: Field, columns: Sequence[Span], ours: Range) -> float:
    """The distance of a label over one column from being centred or flush, or over several from being centred."""
    distance = _distance(label, columns, ours)
    first, end = ours
    if end > first + 1:
        return distance
    return min(distance, abs(label.start - columns[first][0]), abs(label.end - columns[first][1]))


def _is_near(label: Field, columns: Sequence[Span], at: int) -> bool:
    """Whether a label overlaps a column, or begins, ends or has its centre near those of the column."""
    start, end = columns[at]
    is_over = label.start < end and start < label.end
    is_aligned = min(abs(label.start - start), abs(label.end - end)) <= _NEAR
    return is_over or is_aligned or abs(label.centre - (start + end) / 2) <= max(_NEAR, _pitch(columns) / 2)


def _pitch(columns: Sequence[Span]) -> float:
    """The largest distance between the centres of neighbouring columns; 0 for one."""
    return max(((sum(right) - sum(left)) / 2 for left, right in pairwise(columns)), default=0.0)


def _may_stand_over(label: Field, columns: Sequence[Span], ours: Range) -> bool:
    """Whether a label is roughly centred over these columns and overlaps no other column."""
    first, end = ours
    others = (*columns[:first], *columns[end:])
    return _distance(label, columns, ours) <= max(_NEAR, _pitch(columns) / 2) and not any(
        label.start < right and left < label.end for left, right in others
    )


def cells_between_gaps(
    head: Sequence[Sequence[Field]], body: Sequence[Sequence[Field]], *, unit: float = 1
) -> list[list[Cell]]:
    """The cells of a table, header included; none if a field does not belong to one column or to several neighbours.

    The rows with the most fields show where the columns are. A row with one field at the left is a section. A row without a
    name in the first column, but with one in the second, has the name above it.

    Parameters
    ----------
    head : fields of each line of the header
    body : fields of each row
    unit : width of a character, default 1
    """
    width = max(map(len, body), default=0)
    whole = [row for row in body if len(row) == width]
    columns = [
        (min(each.start for each in column), max(each.end for each in column)) for column in zip(*whole, strict=True)
    ]
    if width < 2 or any(left[1] + unit / 3 > right[0] for left, right in pairwise(columns)):
        return []
    rows: list[list[Cell]] = []
    below: list[Range] | None = None
    for fields in reversed(head):
        spans = _head_spans(fields, columns, below=below, unit=unit)
        if spans is None:
            return []
        columns = _widened(columns, fields, spans)
        cells = [
            Cell(field.text, end - begin, is_head=True, column=begin)
            for field, (begin, end) in zip(fields, spans, strict=True)
        ]
        rows.insert(0, cells)
        below = spans
    for fields in body:
        if len(fields) == 1 and len(body) > 1 and fields[0].start <= columns[0][0] + unit / 3:
            rows.append([Cell(fields[0].text, column=0)])
            continue
        places = [_columns_of(field, columns) for field in fields]
        if any(left[1] > right[0] for left, right in pairwise(places)) or any(begin == end for begin, end in places):
            return []
        rows.append(
            [Cell(field.text, end - begin, column=begin) for field, (begin, end) in zip(fields, places, strict=True)]
        )
    for row in reversed(rows[len(head) :]):
        is_sum = len(row) == 2 and row[1].column == width - 1 and _SUM.match(row[0].text) and is_value(row[1].text)
        if not is_sum:
            break
        row[0] = Cell(row[0].text, column=0)
    return _with_names(rows, len(head))


_SUM = re.compile(
    r"(?:(?:grand|sub|net)[ -]?)?total|sum\b|vat\b|.{0,9}tax\b|(?:zwischen|end)?summe|gesamt|mwst", re.IGNORECASE
)


def _columns_of(field: Field, columns: Sequence[Span]) -> Range:
    """The columns that a field overlaps, or the two between which it is centred; an empty range if neither."""
    over = [at for at, (start, end) in enumerate(columns) if field.start < end and start < field.end]
    if over:
        return over[0], over[-1] + 1
    for at, (left, right) in enumerate(pairwise(columns)):
        if abs(field.centre - (left[0] + right[1]) / 2) < (right[0] - left[1]) / 4:
            return at, at + 2
    return 0, 0


def _head_spans(
    fields: Sequence[Field], columns: Sequence[Span], *, below: Sequence[Range] | None, unit: float
) -> list[Range] | None:
    """The columns of each label of a line of the header; None if that is uncertain."""
    if len(fields) == len(columns):
        return [(at, at + 1) for at in range(len(columns))]
    scaled = [(start / unit, end / unit) for start, end in columns]
    labels = [Field(field.start / unit, field.end / unit, field.text) for field in fields]
    return _ranges(labels, scaled, below=below, is_exact=True)


def _widened(columns: Sequence[Span], fields: Sequence[Field], spans: Sequence[Range]) -> list[Span]:
    """The columns with the width of their labels."""
    wider = [*columns]
    for field, (begin, end) in zip(fields, spans, strict=True):
        if end == begin + 1:
            wider[begin] = (min(field.start, wider[begin][0]), max(field.end, wider[begin][1]))
    return wider


def _with_names(rows: list[list[Cell]], heads: int) -> list[list[Cell]]:
    """The rows, where one without a name in the first column, but with one in the second, has the name above it."""
    name = ""
    for row in rows[heads:]:
        if row and row[0].column == 0:
            name = row[0].text if len(row) > 1 else ""
        elif name and row and row[0].column == 1 and not is_value(row[0].text):
            row.insert(0, Cell(name, column=0))
    return rows


def _gap_table(lines: Sequence[str], at: int, gaps: Sequence[float]) -> AlignedTable | None:
    """The table of words in at least three columns whose header is line ``at``; None if there is none.

    A line with one cell goes on with that of the row that it is nearer to.
    """
    head = _fields(lines[at]) if len(lines[at]) <= _LONGEST_LINE else []
    if len(head) < _FEWEST_COLUMNS or any(map(_is_no_label, head)):
        return None
    body, numbers, ends = _rows_below(lines, at, gaps)
    texts = [field.text for fields in (head, *body) for field in fields]
    is_prose = sum(map(len, texts)) > _MEAN_CELL * len(texts)
    over = _fields(lines[at - 1]) if at and len({field.text for field in head}) < len(head) else []
    heads = [over, head] if len(over) > 1 else [head]  # equal labels stand under others
    rows = cells_between_gaps(heads, body) if len(body) >= 2 and not is_prose else []
    for _ in range(_MOST_SUMS):  # below, with names over several columns
        if not rows and len(body) > 2 and len(body[-1]) < len(head) and not is_prose:
            body.pop()
            rows = cells_between_gaps(heads, body)
    if not rows or len(head) != max(map(len, body)):
        return None
    full = [[""] * len(head) for _ in rows]
    for row, cells in zip(full, rows, strict=True):
        for cell in cells:
            begin = cell.column or 0
            row[begin : begin + cell.width] = [cell.text] * cell.width
    labels = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*full[: len(heads)], strict=True)]
    has_twins = len({*labels}) < len(labels)
    if has_twins and (
        2 * len({*labels}) <= len(labels) or any(is_value(text) for row in full[len(heads) :] for text in row[1:])
    ):
        return None  # another line of the header was not understood; services of a timetable may have the same label
    first = at + 1 - len(heads)
    return AlignedTable(first, ends[len(body) - 1] - first, labels, [*zip(numbers, full[len(heads) :], strict=False)])


def _is_no_label(field: Field) -> bool:
    """Whether a text is a value, a date, a time or a sign, which names no column."""
    return not is_year(field.text) and any(each.fullmatch(field.text) for each in (_NO_LABEL, DATUM))


_LONGEST_SIGN = 3  # characters
_MOST_SUMS = 4  # rows below those of a table
_NEARER = 0.85  # of the distance to the row that a line does not belong to


def _rows_below(lines: Sequence[str], at: int, gaps: Sequence[float]) -> tuple[list[list[Field]], list[int], list[int]]:
    """The fields of the rows below a header, the line of each, and the one after its last."""
    body: list[list[Field]] = []
    numbers, ends = list[int](), list[int]()
    above: list[Field] = []
    pitch = float("inf")  # the least distance between a row and the line above it
    for number, line in enumerate(lines[at + 1 :], at + 1):
        fields = _fields(line) if len(line) <= _LONGEST_LINE else []
        is_part = len(fields) == 1 and bool(body) and number + 1 < len(gaps)
        if not fields or any(len(field.text) > _LONGEST_CELL for field in fields) or (len(fields) == 1 and not is_part):
            break
        if is_part and gaps[number + 1] < _NEARER * (pitch if above else gaps[number]):
            above += fields
        elif is_part:
            if above or gaps[number] >= _NEARER * max(pitch, gaps[number + 1]) or not _goes_on(body[-1], fields[0]):
                break
            ends[-1] = number + 1
        else:
            parts, above = above, []
            if not all(_goes_on(fields, part, is_above=True) for part in reversed(parts)):
                break
            body.append(fields)
            pitch = min(pitch, gaps[number]) if number < len(gaps) else pitch
            numbers.append(number)
            ends.append(number + 1)
    return body, numbers, ends


def _goes_on(row: list[Field], part: Field, *, is_above: bool = False) -> bool:
    """Make a line a part of the cell of a row that begins where it does, in place; whether there is one."""
    at = next((at for at, field in enumerate(row) if abs(field.start - part.start) <= 1), None)
    if at is None:
        return False
    texts = (part.text, row[at].text) if is_above else (row[at].text, part.text)
    row[at] = Field(row[at].start, max(row[at].end, part.end), " ".join(texts))
    return True


def _marked_table(
    lines: Sequence[str], at: int, is_marked: Callable[[str], bool], unit: float, gaps: Sequence[float]
) -> AlignedTable | None:
    """The table whose marked header is line ``at``, and whose cells stand below its labels; None if there is none.

    A line without a first cell goes on with the row above it, unless it has values. A line with nothing but a first cell that is
    nearer to the row below begins that, if this goes on in lower case. A marked line of one text is a section.
    """
    head = _fields(lines[at]) if len(lines[at]) <= _LONGEST_LINE else []
    if len(head) < 2 or is_value(head[0].text) or not is_marked(lines[at]):
        return None
    are_numbers = any(is_value(field.text) for field in head)  # names only above words or times
    rows: list[tuple[int, list[str]]] = []
    at += 1
    while at < len(lines) and len(lines[at]) <= _LONGEST_LINE:
        cells = _cells_below(head, _fields(lines[at]), unit)
        is_section = len(head) > 2 and is_marked(lines[at]) and bool(cells[:1]) and not any(cells[1:])
        is_total = any(map(is_value, cells))
        if cells[:1] and not (any(cells[1:]) or is_section or are_numbers) and at + 1 < len(gaps):
            below = _cells_below(head, _fields(lines[at + 1]), unit) if gaps[at + 1] < _NEARER * gaps[at] else []
            if below[:1] and below[0][:1].islower() and any(below[1:]):
                rows.append((at, [f"{cells[0]} {below[0]}".strip(), *below[1:]]))
                at += 2
                continue
        if not is_section and (not any(cells[1:]) or (cells[0] and is_marked(lines[at]) and not is_total)):
            break
        if is_total and are_numbers:
            return None
        if cells[0] or is_total:
            rows.append((at, cells))
        elif rows and any(rows[-1][1][1:]):
            joined = [f"{above} {cell}".strip() for above, cell in zip(rows[-1][1], cells, strict=True)]
            rows[-1] = (rows[-1][0], joined)
        else:
            break
        at += 1
    while rows and not any(rows[-1][1][1:]):  # a heading below
        at = rows.pop()[0]
    lasts = [next(cell for cell in reversed(cells) if cell) for _, cells in rows]
    is_wrapped = (
        len(head) == 2 and any(cell[0].islower() for cell in lasts) and not all(cell[0].islower() for cell in lasts)
    )
    is_prose = sum(len(cells[0]) for _, cells in rows) > _SHORT * len(rows)  # in columns
    if not rows or is_wrapped or is_prose:
        return None
    first = rows[0][0] - 1
    return AlignedTable(first, at - first, [field.text for field in head], rows)


def _cells_below(head: Sequence[Field], fields: Sequence[Field], unit: float) -> list[str]:
    """The cells of a line: words begin where their label does, numbers may end or be centred there. Empty if one fits nowhere.

    Up to three characters between two columns belong to the cell before them, such as a sign of what is too high.
    """
    cells, last = [""] * len(head), 0
    for field in fields:
        is_short = len(field.text) <= _LONGEST_SIGN
        shares = (0.5, 1) if is_short or _BEGINS_WITH_DIGIT.match(field.text) else ()
        misses = [
            min(abs(field.start - label.start), *(_miss(field, label, share * unit) for share in shares), 99)
            for label in head
        ]
        column = misses.index(min(misses))
        if misses[column] <= 1 and not cells[column]:
            cells[column], last = field.text, column
        elif is_short and cells[last] and misses[column] > 1:
            cells[last] += f" {field.text}"
        else:
            return []
    return cells


def _miss(field: Field, label: Field, width: float) -> float:
    """The distance between the ends of two texts in characters, half of it; ``width`` is that of a character, in places."""
    return abs(field.start - label.start + width * (len(field.text) - len(label.text))) / (2 * width)


def _with_stacked_heads(lines: Sequence[str], table: AlignedTable, unit: float) -> AlignedTable:
    """The table with the lines above it as its header, if it has none and their labels span columns that are clear."""
    body = [_fields(lines[at]) for at in range(table.first, table.first + table.size) if not _is_rule(lines[at])]
    if any(table.head) or any(len(row) < 2 for row in body):
        return table
    for size in range(min(_MOST_HEADS, table.first), 1, -1):
        head = [_fields(lines[at]) for at in range(table.first - size, table.first)]
        rows = cells_between_gaps(head, body, unit=unit) if all(len(row) > 1 for row in head) else []
        labels = [""] * len(table.head)
        for cell in (cell for row in rows[:size] for cell in row):
            begin = cell.column or 0
            for at in range(begin, min(begin + cell.width, len(labels))):
                labels[at] = f"{labels[at]} {cell.text}".strip()
        if all(labels) and len({*labels}) == len(labels):
            return table._replace(first=table.first - size, size=table.size + size, head=labels)
    return table


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
    marked labels the first row is the header, unless it has values or only its first cell is marked. Names with one value each
    above a wider header are captions, too, and the first is a cell of each row. A row with one text names a section; each row
    below has that as its first cell, until the next section or a total. After the last row it is a note. If sentences stand
    below most rows, each is the last cell of the row above it.

    Parameters
    ----------
    rows : the cells of each row, from left to right
    produced : counts the cells before they are built

    Attributes
    ----------
    captions : lines above the table
    head : label of each column; empty if the table has no header
    labels : the same without that of the sections
    rows : texts of each row, as many as there are labels in ``head``
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
        columns: list[list[Cell]] = []
        for at in range(width):
            column = [row.get(at, _NO_CELL) for row in table]
            if columns and _are_one(columns[-1], column):
                columns[-1] = [one if one.text else other for one, other in zip(columns[-1], column, strict=True)]
            else:
                columns.append(column)
        full, width = [list(row) for row in zip(*columns, strict=True)], len(columns)
        first = 0
        while first < len(full) - 1 and width > 1 and _is_line(full[first]):
            first += 1
        has_section = first > 0 and _is_first_section(full[first - 1 :])
        first -= has_section
        pairs = _pairs_above(full[first:])
        about = _line(full[first]) if pairs else ""
        notes = 0 if pairs else _notes_above(full[first:])
        captions = [_line(row) for row in full[: first + pairs]]
        first += pairs + notes
        captions += [cell.text for row in full[first - notes : first] for cell in _texts(row)]
        self.captions = [*dict.fromkeys(captions)]
        filled = [at for at in range(width) if any(row[at].text for row in full)]
        form = [[row[at] for at in filled] for row in full[first:]]
        is_form = _is_form(form) and not any(cell.is_head for row in form for cell in row[1::2])
        if is_form:
            full[first:] = [row[at : at + 2] for row in form for at in range(0, len(row), 2) if row[at].text]
            width = 2
        size = 0 if is_form or has_section else _head_size(full[first:])
        if size and are_units(full[first + size :]):
            units = full[first + size]
            full[first + size] = [
                cell._replace(text=f"({cell.text.strip('()[]')})" if cell.text else "") for cell in units
            ]
            size += 1
        self.head = [_joined(column) for column in zip(*full[first : first + size], strict=True)] or [""] * width
        self.labels = tuple(self.head)
        body, remarks = _with_remarks([*map(_named_once, full[first + size :])])
        body = _with_groups(body) if size and width >= _FEWEST_COLUMNS else body
        self.rows, self.notes = in_sections(body, about)
        if not any(self.head):
            self.rows = _with_sections(self.rows, width)
        if self.rows and len(self.rows[0]) > width:
            self.head.insert(0, "")
        if remarks:
            self.head.append("")
            self.rows = [[*row, remark] for row, remark in zip(self.rows, remarks, strict=True)]

    def markdown(self) -> str:
        """The captions, the table and the notes, with empty lines between; empty without text."""
        if not self.rows and any(self.head):  # a header alone
            return "\n\n".join([*self.captions, barred(self.head), *self.notes])
        if len(self.rows) == 1 and not any(self.head) and _are_notes(self.rows[0]):
            return "\n\n".join([*self.captions, *filter(None, self.rows[0]), *self.notes])
        lines = [barred(self.head), "|" + " --- |" * len(self.head), *map(barred, self.rows)] if self.rows else []
        return "\n\n".join([*self.captions, *(["\n".join(lines)] if lines else []), *self.notes])


_NO_CELL = Cell("")
WIDEST = 100
"""Columns that one cell may span: more than any page shows."""
_MOST_SPANNED = 10_000  # places of a table whose cells span
_MOST_REPEATED = 20  # places per cell; beyond both, spans are not filled
_END_OF_SECTION = re.compile(
    r"(?:(?:grand|net|overall|sub)[ -]?)?total\b|(?:zwischen|gesamt|end)?summe\b", re.IGNORECASE
)
_SUM_OF_ALL = re.compile(r"(?:grand|overall)[ -]|gesamt", re.IGNORECASE)


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


def _are_one(left: Sequence[Cell], right: Sequence[Cell]) -> bool:
    """Whether two columns are one that other rows divide, by a line or by a box around words: cells span both or one is empty."""
    pairs = [*zip(left, right, strict=True)]
    is_spanned = any(one is other and one.text for one, other in pairs)
    return is_spanned and all(one is other or not (one.text and other.text) for one, other in pairs)


def _named_once(row: Sequence[Cell]) -> Sequence[Cell]:
    """The row with a name that spans its first columns in the first of them only, if values alone follow, as in a total."""
    values = [cell._replace(text=_CURRENCY.sub("", cell.text)) for cell in row if cell is not row[0] and cell.text]
    if not values or is_datum(row[0]) or not all(map(is_datum, values)):
        return row
    return [row[0], *(_NO_CELL if cell is row[0] else cell for cell in row[1:])]


_CURRENCY = re.compile(r"^[A-Z]{3} ")


def _texts(row: Sequence[Cell]) -> list[Cell]:
    """The different cells of a row that have text, in order."""
    return list({id(cell): cell for cell in row if cell.text}.values())


def _is_line(row: Sequence[Cell]) -> bool:
    """Whether a row is one text over the whole width, or alone in the first column."""
    return len(_texts(row)) == 1 and bool(row[0].text) and not is_value(row[0].text)


def _is_first_section(table: Sequence[Sequence[Cell]]) -> bool:
    """Whether the first row names the section of the pairs below it, as later marked lines over the whole width do."""
    lines = [row for row in table if _is_line(row) and row[0].is_head]
    return len(lines) > 1 and lines[0] is table[0] and not _head_size(table[1:])


def _line(row: Sequence[Cell]) -> str:
    """The text of a caption: a title, or a name and its value."""
    name, *values = [cell.text for cell in _texts(row)]
    return " ".join([f"{name.rstrip(':')}:" if values else name, *values])


def _pairs_above(table: Sequence[Sequence[Cell]]) -> int:
    """How many rows of a name and its value, as in statements of accounts, stand above a header of at least three labels."""
    is_pair = [bool(row[0].text) and sum(bool(cell.text) for cell in row) == 2 for row in table]
    size = is_pair.index(False) if False in is_pair else 0
    head, *rows = [_texts(row) for row in table[size:]] or [[]]
    has_labels = len(head) >= _FEWEST_COLUMNS and not any(map(is_datum, head))
    has_values = any(map(is_datum, chain.from_iterable(rows)))
    are_named = all(row[0].text.endswith(":") for row in table[:size])
    return size if rows and has_labels and (are_named or (has_values and size > 1)) else 0


def _notes_above(table: Sequence[Sequence[Cell]]) -> int:
    """How many rows with gaps, such as notes, stand above a full row of different labels, below which are columns of data."""
    first = table[0] if table else ()
    is_spanned = any(left is right and left.text for left, right in pairwise(first))
    if is_spanned or all(cell.text for cell in first[1:]) or any(cell.is_head for cell in first):
        return 0
    for at, row in enumerate(table[: _MOST_NOTES + 1]):
        if any(map(is_datum, row)):
            return 0
        if len({cell.text for cell in _texts(row)}) == len(row):
            columns = zip(*table[at + 1 :], strict=True)
            count = sum(2 * sum(map(is_datum, column)) > len(column) for column in columns)
            return at if len(row) >= _FEWEST_COLUMNS and count > 1 else 0
    return 0


def _are_notes(row: Sequence[str]) -> bool:
    """Whether the texts of a row that stands alone are no name and its values."""
    name, *others = [*filter(None, row)] or [""]
    return len(name.split()) > _MOST_NAME_WORDS and not name.endswith(":") and not any(map(is_datum, map(Cell, others)))


_MOST_NAME_WORDS = 4


def _joined(column: Iterable[Cell]) -> str:
    """The label of a column from the rows of its header, without repetitions."""
    return " ".join(dict.fromkeys(cell.text for cell in column if cell.text))


_MOST_LABEL_WORDS = 7  # of a cell that may be a label without being marked as one
DATUM = re.compile(  # a date, an address, a phone number, a box to tick
    r"\D{0,12}\d{1,4}[./ -]{1,2}(?:\d{1,2}|[^\W\d_]{3,9})[./ ,-]{1,2}\d{2,4}(?:\b|T\d).{0,12}|\S+@\S+|https?:.*"
    r"|\+?\d[\d ()/-]{5,}|.*[☐☑☒□✓✔].*"
)


def is_datum(cell: Cell) -> bool:
    """Whether a cell holds a value or a date, an address, a phone number or a box to tick, and so is no label."""
    return (is_value(cell.text) and not is_year(cell.text)) or DATUM.fullmatch(cell.text) is not None


def _head_size(table: Sequence[Sequence[Cell]]) -> int:
    """How many rows are the header."""
    if len(table) < 2:
        return 0
    size = min(next((at for at, row in enumerate(table) if not _is_header(row, is_first=not at)), 1), len(table) - 1)
    first = table[0]
    if not size and (
        first[0].is_head
        or first[0].text.endswith(":")
        or any(map(is_datum, first))
        or all(is_year(row[0].text) for row in table)
        or (any(len(cell.text.split()) > _MOST_LABEL_WORDS for cell in first) and not has_values(table[1:]))
        or _are_pairs(table)
    ):
        return 0
    size = size or 1
    while size < len(table) - 1 and len(_texts(table[size - 1])) < sum(bool(cell.text) for cell in table[size - 1]):
        if any(is_value(cell.text) and not is_year(cell.text) for cell in table[size]):
            break
        size += 1  # a label over several columns stands above further labels
    while size < len(table) - 1 and _goes_on_below(table[size - 1], table[size]):
        size += 1
    return size


def _goes_on_below(head: Sequence[Cell], row: Sequence[Cell]) -> bool:
    """Whether at least two labels of a header, or that of its first column if all are marked, are cells of the next row, too.

    The other cells of that row are no values.
    """
    pairs = [(above, cell) for above, cell in zip(head, row, strict=True) if above.text]
    going = {id(cell) for above, cell in pairs if above is cell}
    others = [cell for above, cell in pairs if above is not cell]
    is_corner = head[0] is row[0] is not _NO_CELL and all(cell.is_head for cell in _texts(head))
    is_corner = is_corner and len({cell.text for cell in others}) == len(others)
    return (is_corner or len(going) > 1) and not any(map(is_datum, others))


def are_units(table: Sequence[Sequence[Cell]]) -> bool:
    """Whether the first of the rows below a header has nothing but units of the columns below, at least two: m, l/s, %.

    Above data the first cell may say anything that is no value, such as a time zone.
    """
    columns = [column for column in zip(*table, strict=True) if column[0].text] if len(table) > 1 else []
    if columns and table[0][0].text:
        name, *cells = columns.pop(0)
        if is_datum(name) or not all(map(is_datum, cells)):
            return False
    data = [[cell for cell in column[1:] if cell.text] for column in columns]
    is_whole = sum(map(bool, data)) > 1 and all(all(map(is_datum, column)) for column in data)
    return is_whole and all(_SHORT_UNIT.fullmatch(column[0].text) for column in columns)


_NO_UNIT = r"(?!(?i:000|n/?a|nan|nil|none|null|yes|no|true|ja|nein|oui|non)\Z)"  # a value, or that there is none
_SHORT_UNIT = re.compile(_NO_UNIT + r"[\[(]?[^\W\d_]{0,4}[%‰°€$£¥/·²³]{0,2}(?:['’]?000|[^\W\d_]{0,4})[\])]?")


def has_values(rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether at least two columns hold data alone, which a row of words above names."""
    columns = ([cell for cell in column if cell.text] for column in zip(*rows, strict=True))
    return sum(bool(column) and all(map(is_datum, column)) for column in columns) > 1


_LEVEL = re.compile(r"[A-C][12]\+?")  # of a language


def _are_pairs(table: Sequence[Sequence[Cell]]) -> bool:
    """Whether two columns of words without a marked header are names and what each is; a pair that is a header does no harm."""
    table = [row for row in table if not _is_line(row)]
    is_whole = all(len(row) == 2 and len(_texts(row)) == 2 for row in table)
    if not table or not is_whole:
        return False
    name, value = (cell.text for cell in table[0])
    has_label = is_year(value) or not _HAS_DIGIT.search(value) or _HAS_DIGIT.search(name) is not None
    texts = [row[1].text for row in table[1:]]
    if has_label and all(map(_HAS_DIGIT.search, texts)) and not (texts and all(map(_LEVEL.fullmatch, texts))):
        return False
    are_marked_alike = len({tuple(cell.is_head for cell in row) for row in table}) == 1  # a column in bold is no header
    return are_marked_alike and not any(is_value(cell.text) for row in table for cell in row)


def _is_form(table: Sequence[Sequence[Cell]]) -> bool:
    """Whether the columns are by turns names, all different, and values of several kinds: name, Ada, born, 4 May 1821."""
    width = len(table[0]) if table else 0
    names = [cell for row in table for cell in row[::2] if cell.text]
    values = [column[1:] for column in zip(*table, strict=True)][1::2]
    is_even = width >= _FEWEST_IN_FORM and not width % 2
    is_spanned = any(left is right and left.text for row in table for left, right in pairwise(row))
    if (
        not is_even
        or is_spanned
        or len(_texts(names)) != len({cell.text for cell in names})
        or any(is_datum(cell) or _MEASURED.search(cell.text) for cell in names)
    ):
        return False
    is_mixed = any(0 < sum(map(is_datum, column)) < sum(bool(cell.text) for cell in column) for column in values)
    return is_mixed or any(map(is_datum, table[0][1::2])) or all(cell.text.endswith(":") for cell in names)


_FEWEST_IN_FORM = 4  # columns
_MEASURED = re.compile(r"^\W*\d(?!\d?[.)] ?[^\W\d_])|\d[.,]\d|\d\s?[%‰°]")  # what no name holds


def _is_header(row: Sequence[Cell], *, is_first: bool) -> bool:
    """Whether all cells are marked as labels; a label over the whole width below others names a section."""
    return all(cell.is_head for cell in _texts(row)) and (is_first or not _is_line(row))


def _with_remarks(table: Sequence[Sequence[Cell]]) -> tuple[list[Sequence[Cell]], list[str]]:
    """The rows without the sentences below them, and the one of each row; none if they stand below less than half of the rows."""
    rows: list[Sequence[Cell]] = []
    remarks: list[str] = []
    for row in table:
        if rows and not _is_line(rows[-1]) and _is_remark(row) and not remarks[-1]:
            remarks[-1] = _line(row)
        else:
            rows.append(row)
            remarks.append("")
    remarks = [remark for row, remark in zip(rows, remarks, strict=True) if not _is_line(row)]
    count = sum(map(bool, remarks))
    return (rows, remarks) if count > 1 and 2 * count >= len(remarks) else ([*table], [])


def _with_groups(rows: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    """The rows, each with the names at its left that stand only in the first row of their group.

    A table has such groups if each row without a first cell is otherwise as the one above it: it has no gap, and has data, below
    data alone. They are at least a third of the rows, and one is above another group, unlike the charges below an invoice.
    """
    starts = [bool(row[0].text) for row in rows]
    filled: list[Sequence[Cell]] = []
    names = False  # whether the row above is one of a group
    for row in rows if 3 * sum(starts) <= 2 * len(starts) and (False, True) in pairwise(starts) else ():
        count = next((at for at, cell in enumerate(row) if cell.text), 0)
        if count:
            above = filled[-1] if names else ()
            alike = [is_datum(cell) is is_datum(one) and cell.text for cell, one in zip(row, above, strict=False)]
            if not above or not all(alike[count:]) or not any(map(is_datum, row)) or _SUM.match(row[count].text):
                return [*rows]
        filled.append([*above[:count], *row[count:]] if count else row)
        names = all(cell.text for cell in filled[-1]) and not is_datum(filled[-1][0])
    return filled or [*rows]


def _is_remark(row: Sequence[Cell]) -> bool:
    return (
        len(row) > 1
        and _is_line(row)
        and row[0].text.endswith((".", "!", "?"))
        and len(row[0].text.split()) > _MOST_LABEL_WORDS
    )


def in_sections(table: Sequence[Sequence[Cell]], about: str = "") -> tuple[list[list[str]], list[str]]:
    """The texts of the rows, each after that of its section if there are sections, and the sections without rows.

    Parameters
    ----------
    table : the cells of each row; one with a single text names a section, until the next one or a total
    about : the section of all rows, default none
    """
    rows: list[tuple[str, list[str]]] = []
    above = [about] if about else []
    names = above
    is_new = False
    sections = sums = 0
    for at, row in enumerate(table):
        if len(row) > 1 and _is_line(row):
            name = _line(row).rstrip(":")
            names = [*(names if is_new else above), name]
            sections += not is_new
            is_new = True
        else:
            total = next((cell.text for cell in row if cell.text), "")
            is_sum = _END_OF_SECTION.match(total) is not None
            is_only = is_sum and sections > 1 and not sums and not total.lower().startswith(("sub", "zwischen"))
            if is_sum and (_SUM_OF_ALL.match(total) or (is_only and not any(map(_is_line, table[at + 1 :])))):
                names = above
            rows.append((": ".join(names), [cell.text for cell in row]))
            names = above if is_sum else names
            sums += is_sum
            is_new = False
    has_sections = any(name for name, _ in rows)
    return [[name, *texts] if has_sections else texts for name, texts in rows], names if is_new else []


def _with_sections(rows: list[list[str]], width: int) -> list[list[str]]:
    """The rows of a table of pairs, with the section of each in its name: "Mechanical: Weight"."""
    are_pairs = width == 2 and bool(rows) and len(rows[0]) > width
    return [[": ".join(filter(None, row[:2])), row[2]] for row in rows] if are_pairs else rows
