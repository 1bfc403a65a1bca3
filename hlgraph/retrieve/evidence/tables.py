"""Finds tables in the text of a chunk: Markdown, delimited rows, aligned columns, and lines of keys and values.

The readers convert tables of HTML, DOCX and PDF to Markdown. In plain text, tables appear as delimited rows, as columns aligned
with spaces, or as lines such as ``Total assets: 5,234``. Every function is linear in the length of its text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import partial, reduce
from typing import NamedTuple

from hlgraph.read.aligned_tables import aligned_table, is_value, is_year


class Cell(NamedTuple):
    """One value of a table.

    Attributes
    ----------
    start, end : span of its row in the text
    row, column, caption : labels of the row and the column, and the caption of the table; each may be empty
    value : text of the cell
    """

    start: int
    end: int
    row: str
    column: str
    caption: str
    value: str


class _Line(NamedTuple):
    start: int
    end: int
    text: str


_LINE = re.compile(r"[^\n\r]+")
_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_BARRED = re.compile(r"\s*\|.*\|\s*")
_BAR = re.compile(r"(?<!\\)\|")
_KEY_VALUE = re.compile(r"\s*(?:[-*+•]\s+)?(?P<key>[^\W\d_][^:=|\t]{0,58}?)\s*(?:[:=]|\.{3,})\s*(?P<value>\S.{0,80})")
_DELIMITERS = "\t;|,"
_UNIT = re.compile(r"\(.*\)$|in\s", re.IGNORECASE)
_NAMES_TABLE = re.compile(r"(?:table|tab\.)\s|.*:$|.*\(in\s[^()]{1,60}\)$", re.IGNORECASE)
_TOTAL = re.compile(r"(?:sub)?total\b", re.IGNORECASE)
_LONGEST_LINE = 2_000
_LONGEST_LABEL = 80
_LONGEST_CAPTION = 160


def cells(text: str) -> list[Cell]:
    r"""The values of all tables in a text, in order.

    Four kinds of tables are recognised:

    1. Markdown tables with a rule below the head; without a head their columns have no labels.
    2. Rows with a tab, semicolon, bar or comma, where consecutive lines have the same number of cells (three lines with commas,
       else two), the first holds labels or years, and each other line holds a value.
    3. At least two rows of a label and values in columns that are aligned with spaces, see
       :func:`hlgraph.read.aligned_tables.aligned_table`. Their columns have no labels where it is not certain which are theirs.
    4. At least two consecutive lines of keys and values, one of them a number.

    The label of a row consists of its leading cells that are no values; where all are values, of its first cell with the head of
    that column. It is preceded by the label of its section. A section is a row with one cell, and ends with its total. A column of
    signs alone is no column: what stands above it is the label of the next one. The cells of a row that is shorter than its head
    are those of the first columns (Markdown), or stand where they stand (aligned columns), or the row ends the table (delimited).
    The caption is the line above that names a unit or the table, plus the head of the label column where that is in brackets.

    Examples
    --------
    >>> made = cells("| (in millions) | 2023 |\n| --- | --- |\n| Revenue | 5,234 |")
    >>> [(cell.row, cell.column, cell.caption, cell.value) for cell in made]
    [('Revenue', '2023', '(in millions)', '5,234')]
    """
    lines = [_Line(match.start(), match.end(), match[0]) for match in _LINE.finditer(text)]
    kinds = (_markdown, _delimited, partial(_aligned, texts=[line.text for line in lines]), _keyed)
    found: list[Cell] = []
    at = 0
    while at < len(lines):
        size, made = next((each for each in (kind(lines, at) for kind in kinds) if each[0]), (0, []))
        found.extend(made)
        at += max(size, 1)
    return found


def _markdown(lines: Sequence[_Line], at: int) -> tuple[int, list[Cell]]:
    has_head = (
        at + 1 < len(lines) and "|" in lines[at].text and _is_next(lines, at + 1) and _is_rule(lines[at + 1].text)
    )
    if not has_head and not _BARRED.match(lines[at].text):
        return 0, []
    size = 2 if has_head else 1
    while at + size < len(lines) and _is_next(lines, at + size):
        line = lines[at + size].text
        if "|" not in line or not (has_head or _BARRED.match(line)):
            break
        size += 1
    block = lines[at + 2 if has_head else at : at + size]
    rows = [(line, _bars(line.text)) for line in block if not _is_rule(line.text)]
    return size, _made(_bars(lines[at].text) if has_head else [], rows, _caption(lines, at))


def _delimited(lines: Sequence[_Line], at: int) -> tuple[int, list[Cell]]:
    for delimiter in _DELIMITERS:
        head = _split(lines[at].text, delimiter)
        least = 3 if delimiter == "," else 2
        if not _is_head(head):
            continue
        rows: list[tuple[_Line, list[str]]] = []
        while at + 1 + len(rows) < len(lines) and _is_next(lines, at + 1 + len(rows)):
            parts = _split(lines[at + 1 + len(rows)].text, delimiter)
            if len(parts) != len(head) or not any(map(is_value, parts)):
                break
            rows.append((lines[at + 1 + len(rows)], parts))
        if 1 + len(rows) >= least:
            return 1 + len(rows), _made(head, rows, _caption(lines, at))
    return 0, []


def _is_head(names: list[str]) -> bool:
    """Whether these are column labels: words, or years that are all different; a row of values is no head."""
    labels = names[1:]
    if not labels or not all(0 < len(name) <= _LONGEST_LABEL for name in labels):
        return False
    if not any(map(is_value, labels)):
        return True
    return not is_value(names[0]) and all(map(is_year, labels)) and len(set(labels)) == len(labels)


def _aligned(lines: Sequence[_Line], at: int, *, texts: Sequence[str]) -> tuple[int, list[Cell]]:
    table = aligned_table(texts, at) if "  " in texts[at] else None
    if table is None:
        return 0, []
    rows = [(lines[number], parts) for number, parts in table.rows]
    return table.first + table.size - at, _made(table.head, rows, _caption(lines, table.first))


def _keyed(lines: Sequence[_Line], at: int) -> tuple[int, list[Cell]]:
    pairs: list[tuple[_Line, str, str]] = []
    while at + len(pairs) < len(lines) and (not pairs or _is_next(lines, at + len(pairs))):
        line = lines[at + len(pairs)]
        match = _KEY_VALUE.fullmatch(line.text.rstrip()) if len(line.text) <= _LONGEST_CAPTION else None
        if match is None:
            break
        pairs.append((line, _bare(match["key"]), _bare(match["value"])))
    values = [pair for pair in pairs if is_value(pair[2])]
    if len(pairs) < 2:
        return 0, []
    caption = _caption(lines, at)
    return len(pairs), [Cell(line.start, line.end, key, "", caption, value) for line, key, value in values]


def _made(head: list[str], rows: Sequence[tuple[_Line, list[str]]], caption: str) -> list[Cell]:
    """The cells of a table from its head, which may be empty, and its rows."""
    width = max((len(parts) for _, parts in rows), default=0)
    head = [*head, *[""] * (width - len(head))]
    first = 0
    while head and first < len(rows) - 1 and _goes_on_with_head(rows[first][1]):
        first += 1
    rows, heads = rows[first:], [head, *(parts for _, parts in rows[:first])]
    signs = _sign_columns(heads, [parts for _, parts in rows], width)
    if signs:
        heads = [_moved(parts, signs) for parts in heads]
        rows = [(line, [part for at, part in enumerate(parts) if at not in signs]) for line, parts in rows]
    head = reduce(_joined, heads)
    if head and _UNIT.match(head[0]) and head[0] not in caption:
        caption = f"{caption} {head[0]}".strip()
    section = ""
    found: list[Cell] = []
    for line, parts in rows:
        filled = [part for part in parts if part]
        if len(filled) == 1 and not is_value(filled[0]) and len(parts) > 1:
            section = filled[0].rstrip(":")
            continue
        label, begin = _row_label(parts, head)
        row = ", ".join(part for part in (section, label) if part)
        found.extend(
            Cell(line.start, line.end, row, head[at] if at < len(head) else "", caption, part)
            for at, part in enumerate(parts)
            if at >= begin and is_value(part)
        )
        if _TOTAL.match(label):
            section = ""
    return found


def _sign_columns(heads: Sequence[list[str]], rows: Sequence[list[str]], width: int) -> set[int]:
    """Columns that hold nothing but signs, such as a currency or a bracket, or nothing: filings give signs cells of their own."""

    def held(lines: Sequence[list[str]], at: int) -> set[str]:
        return {parts[at] for parts in lines if at < len(parts) and parts[at]}

    return {at for at in range(width) if all(map(_is_sign, held(rows, at))) and (held(rows, at) or not held(heads, at))}


def _moved(labels: list[str], signs: set[int]) -> list[str]:
    """The labels without the columns of signs; a label above such a column goes to the next one, where that has none."""
    found: list[str] = []
    waiting = ""
    for at, label in enumerate(labels):
        if at in signs:
            waiting = label or waiting
        else:
            found.append(label or waiting)
            waiting = ""
    return found


def _goes_on_with_head(parts: list[str]) -> bool:
    """Whether a row is a second line of the head: it has no label in front, and years or words above the values."""
    return (
        len(parts) > 1
        and not parts[0]
        and any(parts)
        and not any(is_value(part) and not is_year(part) for part in parts)
    )


def _joined(head: list[str], below: list[str]) -> list[str]:
    """Two lines of a head as one; a label that spans columns applies to all of them."""
    above: list[str] = []
    for at, name in enumerate(head):
        spans = not name and at > 1 and at < len(below) and below[at]
        above.append(above[-1] if spans else name)
    return [" ".join(part for part in pair if part) for pair in zip(above, [*below, *[""] * len(head)], strict=False)]


def _row_label(parts: list[str], head: list[str]) -> tuple[str, int]:
    """The label of a row, and the index of its first value."""
    names = []
    for part in parts:
        if is_value(part):
            break
        names.append(part)
    label = ", ".join(name for name in names if name and not _is_sign(name))
    if label or len(parts) < 2:
        return label, len(names)
    if names:  # blank cells and signs only
        return "", len(names)
    name = head[0] if head else ""
    return f"{name} {parts[0]}".strip(), 1


def _caption(lines: Sequence[_Line], at: int) -> str:
    """The line above a table, where it names a unit or the table; else empty."""
    if not at:
        return ""
    above = _bare(lines[at - 1].text.strip().lstrip("#").strip())
    return above if len(above) <= _LONGEST_CAPTION and "|" not in above and _NAMES_TABLE.match(above) else ""


def _is_next(lines: Sequence[_Line], at: int) -> bool:
    """Whether a line follows the one above it without a blank line between them."""
    gap = lines[at].start - lines[at - 1].end
    return gap <= 2 and bool(lines[at].text.strip()) and len(lines[at].text) <= _LONGEST_LINE


def _is_rule(line: str) -> bool:
    return "-" in line and len(line) <= _LONGEST_LINE and _RULE.fullmatch(line.strip()) is not None


def _bars(line: str) -> list[str]:
    parts = _BAR.split(line.strip())
    parts = parts[1:] if parts and not parts[0].strip() else parts
    parts = parts[:-1] if parts and not parts[-1].strip() else parts
    return [_bare(part.replace("\\|", "|")) for part in parts]


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter not in line or len(line) > _LONGEST_LINE:
        return []
    try:
        return [_bare(part) for part in next(csv.reader([line], delimiter=delimiter, strict=True))]
    except csv.Error:
        return []


def _bare(text: str) -> str:
    """The text of a cell without emphasis marks."""
    return " ".join(text.replace("**", "").replace("__", "").split())


def _is_sign(part: str) -> bool:
    return not any(each.isalnum() for each in part)
