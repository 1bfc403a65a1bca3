"""Tables and numbers in texts: find the tables of a chunk, and label the numbers of a statement from them.

The readers convert tables of HTML, DOCX and PDF to Markdown. In plain text, tables appear as delimited rows, as columns aligned
with spaces, or as lines such as ``Total assets: 5,234``. Every function is linear in the length of its text.

The parts, in order: tables (:func:`cells`), whether a number of a statement is the
value of a cell (:func:`is_meant`), labels (:func:`labels`), and terms for near-duplicate detection (:func:`terms`).
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property, lru_cache, partial, reduce
from importlib.util import find_spec
from itertools import combinations, takewhile
from typing import NamedTuple, TypeAlias

from hlgraph.extract.wording import NUMERALS
from hlgraph.read.tables import aligned_table, is_value, is_year
from hlgraph.text import SCALES, Number, content_words, is_separator, numbers, spelled, words


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


_Line: TypeAlias = re.Match[str]
"""A line of a text, without its line break."""
_LINE = re.compile(r"[^\n\r]+")
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
       :func:`hlgraph.read.tables.aligned_table`. Columns whose labels are ambiguous have none.
    4. At least two consecutive lines of keys and values, one of them a number.

    The label of a row consists of its leading cells that are not values; if all are values, of its first cell with the head of
    that column. It is preceded by the label of its section. A section begins with a row of one cell and ends with its total. A
    column that contains only signs is dropped, and the label above it goes to the next column. A row that is shorter than its
    head fills the first columns (Markdown), keeps its positions (aligned columns), or ends the table (delimited). The caption is
    the line above the table if it names a unit or the table, plus the head of the label column if that is in brackets.

    Examples
    --------
    >>> values = cells("| (in millions) | 2023 |\n| --- | --- |\n| Revenue | 5,234 |")
    >>> [(cell.row, cell.column, cell.caption, cell.value) for cell in values]
    [('Revenue', '2023', '(in millions)', '5,234')]
    """
    lines = list(_LINE.finditer(text))
    kinds = (_markdown, _delimited, partial(_aligned, texts=[line[0] for line in lines]), _keyed)
    values: list[Cell] = []
    at = 0
    while at < len(lines):
        size, block = next((each for each in (kind(lines, at) for kind in kinds) if each[0]), (0, []))
        values.extend(block)
        at += max(size, 1)
    return values


def _markdown(lines: Sequence[_Line], at: int) -> tuple[int, list[Cell]]:
    has_head = (
        at + 1 < len(lines)
        and "|" in lines[at][0]
        and _is_next(lines, at + 1)
        and is_separator(lines[at + 1][0].strip())
    )
    if not has_head and not _BARRED.match(lines[at][0]):
        return 0, []
    size = 2 if has_head else 1
    while at + size < len(lines) and _is_next(lines, at + size):
        line = lines[at + size][0]
        if "|" not in line or not (has_head or _BARRED.match(line)):
            break
        size += 1
    block = lines[at + 2 if has_head else at : at + size]
    rows = [(line, _bars(line[0])) for line in block if not is_separator(line[0].strip())]
    return size, _cells_of(_bars(lines[at][0]) if has_head else [], rows, _caption(lines, at))


def _delimited(lines: Sequence[_Line], at: int) -> tuple[int, list[Cell]]:
    for delimiter in _DELIMITERS:
        head = _split(lines[at][0], delimiter)
        least = 3 if delimiter == "," else 2
        if not _is_head(head):
            continue
        rows: list[tuple[_Line, list[str]]] = []
        while at + 1 + len(rows) < len(lines) and _is_next(lines, at + 1 + len(rows)):
            parts = _split(lines[at + 1 + len(rows)][0], delimiter)
            if len(parts) != len(head) or not any(map(is_value, parts)):
                break
            rows.append((lines[at + 1 + len(rows)], parts))
        if 1 + len(rows) >= least:
            return 1 + len(rows), _cells_of(head, rows, _caption(lines, at))
    return 0, []


def _is_head(names: list[str]) -> bool:
    """Whether these are column labels: words, or distinct years; a row of values is not a head."""
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
    return table.first + table.size - at, _cells_of(table.head, rows, _caption(lines, table.first))


def _keyed(lines: Sequence[_Line], at: int) -> tuple[int, list[Cell]]:
    pairs: list[tuple[_Line, str, str]] = []
    while at + len(pairs) < len(lines) and (not pairs or _is_next(lines, at + len(pairs))):
        line = lines[at + len(pairs)]
        match = _KEY_VALUE.fullmatch(line[0].rstrip()) if len(line[0]) <= _LONGEST_CAPTION else None
        if match is None:
            break
        pairs.append((line, _bare(match["key"]), _bare(match["value"])))
    values = [pair for pair in pairs if is_value(pair[2])]
    if len(pairs) < 2:
        return 0, []
    caption = _caption(lines, at)
    return len(pairs), [Cell(*line.span(), key, "", caption, value) for line, key, value in values]


def _cells_of(head: list[str], rows: Sequence[tuple[_Line, list[str]]], caption: str) -> list[Cell]:
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
    cells: list[Cell] = []
    for line, parts in rows:
        filled = [part for part in parts if part]
        if len(filled) == 1 and not is_value(filled[0]) and len(parts) > 1:
            section = filled[0].rstrip(":")
            continue
        label, begin = _row_label(parts, head)
        row = ", ".join(part for part in (section, label) if part)
        cells.extend(
            Cell(*line.span(), row, head[at] if at < len(head) else "", caption, part)
            for at, part in enumerate(parts)
            if at >= begin and is_value(part)
        )
        if _TOTAL.match(label):
            section = ""
    return cells


def _sign_columns(heads: Sequence[list[str]], rows: Sequence[list[str]], width: int) -> set[int]:
    """Columns that contain only signs, such as a currency or a bracket, or nothing: filings give signs cells of their own."""

    def texts_in(lines: Sequence[list[str]], at: int) -> set[str]:
        return {parts[at] for parts in lines if at < len(parts) and parts[at]}

    return {
        at
        for at in range(width)
        if all(map(_is_sign, texts_in(rows, at))) and (texts_in(rows, at) or not texts_in(heads, at))
    }


def _moved(labels: list[str], signs: set[int]) -> list[str]:
    """The labels without the columns of signs; a label above such a column goes to the next one if that has none."""
    moved: list[str] = []
    waiting = ""
    for at, label in enumerate(labels):
        if at in signs:
            waiting = label or waiting
        else:
            moved.append(label or waiting)
            waiting = ""
    return moved


def _goes_on_with_head(parts: list[str]) -> bool:
    """Whether a row is a second line of the head: it has no label in front, and years or words above the values."""
    has_values = any(is_value(part) and not is_year(part) for part in parts)
    return len(parts) > 1 and not parts[0] and any(parts) and not has_values


def _joined(head: list[str], below: list[str]) -> list[str]:
    """Two lines of a head as one; a label that spans columns applies to all of them."""
    above: list[str] = []
    for at, name in enumerate(head):
        spans = not name and at > 1 and at < len(below) and below[at]
        above.append(above[-1] if spans else name)
    return [" ".join(part for part in pair if part) for pair in zip(above, [*below, *[""] * len(head)], strict=False)]


def _row_label(parts: list[str], head: list[str]) -> tuple[str, int]:
    """The label of a row, and the index of its first value."""
    names = list(takewhile(lambda part: not is_value(part), parts))
    label = ", ".join(name for name in names if name and not _is_sign(name))
    if label or len(parts) < 2:
        return label, len(names)
    if names:  # blank cells and signs only
        return "", len(names)
    name = head[0] if head else ""
    return f"{name} {parts[0]}".strip(), 1


def _caption(lines: Sequence[_Line], at: int) -> str:
    """The line above a table if it names a unit or the table; else empty."""
    if not at:
        return ""
    above = _bare(lines[at - 1][0].strip().lstrip("#").strip())
    return above if len(above) <= _LONGEST_CAPTION and "|" not in above and _NAMES_TABLE.match(above) else ""


def _is_next(lines: Sequence[_Line], at: int) -> bool:
    """Whether a line follows the one above it without a blank line between them."""
    gap = lines[at].start() - lines[at - 1].end()
    return gap <= 2 and bool(lines[at][0].strip()) and len(lines[at][0]) <= _LONGEST_LINE


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


# The scale of a table ("in millions"), and whether a number of a statement is the value of a cell.

_WORDS = "|".join(SCALES)
_SCALE = re.compile(
    rf"(?:\(\s*|\bin\s+|[$€£¥₹]\s?|\b[A-Z]{{3}}\s)(?:[^\W\d]+\s)?(?P<word>{_WORDS})s?\b|(?<![\d,.])['’]?(?P<zeros>000)(?:'?s\b|\b)",
    re.IGNORECASE,
)
_EXCEPT = re.compile(r"\bexcept|\bunless", re.IGNORECASE)
_EXCEPTED = re.compile(r"\b(?:shares?|units?|number|employees)\b", re.IGNORECASE)
_RATIO = re.compile(r"%|\b(?:percent|per cent|percentage|per)\b", re.IGNORECASE)
_PERCENT = re.compile(r"%|\b(?:percent|per cent|percentage)\b", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?\s\Z",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Said(NamedTuple):
    """A number of a statement.

    Attributes
    ----------
    digits : without sign, currency and scale
    quantity : with the scale; None if the digits are not a plain quantity
    step : the unit of its last digit, as a quantity
    has_scale : it has a scale ("5.2 billion")
    is_percent : it is in per cent
    is_year : it may be a year: four digits without a comma
    """

    digits: str
    quantity: Decimal | None
    step: Decimal
    has_scale: bool
    is_percent: bool
    is_year: bool


def said(text: str) -> list[Said]:
    """The numbers of a statement, in order, without the days of dates.

    Examples
    --------
    >>> [(each.digits, each.has_scale) for each in said("On June 30, revenue was $5.2 billion, or 12 %.")]
    [('5.2', True), ('12', False)]
    """
    return [
        _said(text, each) for each in numbers(text) if not _MONTH.search(text[max(0, each.start - 12) : each.start])
    ]


def is_meant(number: Said, cell: Cell) -> bool:
    """Whether a number of a statement can be the value of a cell.

    If the number has no scale, the statement repeats the table, and the digits must be equal. If it has one, the quantities must
    be equal, or equal after the cell is rounded to the last digit of the number, if the number has at least two digits. A cell
    whose table states no scale is compared by its digits. A percentage never matches another quantity, and a year never matches
    a value with a comma.

    Parameters
    ----------
    number : of the statement
    cell : of a table

    Returns
    -------
    bool

    Examples
    --------
    >>> cell = Cell(0, 9, "Revenue", "2023", "(in millions)", "5,234")
    >>> [is_meant(said(text)[0], cell) for text in ("5,234", "$5.234 billion", "$5.2 billion", "5,234 thousand", "5.3 billion")]
    [True, True, True, False, False]
    """
    return any(_is_same(number, _said(cell.value, each), cell) for each in numbers(cell.value))


def _is_same(number: Said, value: Said, cell: Cell) -> bool:
    is_ratio = value.is_percent or _RATIO.search(f"{cell.column} {cell.row}") is not None
    if number.is_percent and not (is_ratio or _PERCENT.search(cell.caption)):
        return False
    if number.is_year and not value.is_year:
        return False
    power = 0 if value.has_scale or is_ratio else _power(cell)
    if number.has_scale and (power or value.has_scale or is_ratio):
        return _is_near(number, value, power or 0)
    if number.digits == value.digits:
        return True
    has_quantity = bool(power) and not number.has_scale and number.quantity is not None
    return has_quantity and number.quantity == _scaled(value, power or 0)


def _is_near(number: Said, value: Said, power: int) -> bool:
    quantity = _scaled(value, power)
    if number.quantity is None or quantity is None:
        return False
    if number.quantity == quantity:
        return True
    is_rough = len(number.digits.replace(".", "").lstrip("0")) >= 2 and number.step > Decimal(1).scaleb(power)
    return is_rough and (quantity / number.step).to_integral_value(ROUND_HALF_UP) * number.step == number.quantity


def _scaled(value: Said, power: int) -> Decimal | None:
    return None if value.quantity is None else value.quantity.scaleb(power)


def _power(cell: Cell) -> int | None:
    """The power of ten of a cell's table; None if none or several are stated, or if this row is an exception."""
    for part in (cell.row, cell.column, cell.caption):
        powers = {3 if match["zeros"] else SCALES[match["word"].lower()] for match in _SCALE.finditer(part)}
        if powers:
            is_exception = _EXCEPT.search(part) is not None and _EXCEPTED.search(cell.row) is not None
            return powers.pop() if len(powers) == 1 and not is_exception else None
    return None


def _said(text: str, number: Number) -> Said:
    written = text[number.start : number.end]
    word = re.search(rf"\b({_WORDS})\b", written, re.IGNORECASE)
    power = SCALES[word[1].lower()] if word else 0
    plain = re.fullmatch(r"\d+(?:\.(\d+))?", number.value)
    quantity = Decimal(number.value).scaleb(power) if plain else None
    # Trailing zeros count as digits: 5.20 is more exact than 5.2.
    decimals = re.search(r"[.](\d+)" if plain and "." in number.value else r"[.](0+)(?!\d)", written)
    step = Decimal(1).scaleb(power - (len(decimals[1]) if decimals else 0))
    is_year = _YEAR.fullmatch(written) is not None
    return Said(number.value, quantity, step, word is not None, number.text.endswith("%"), is_year)


# Labels of the numbers of a statement, from the tables of its chunk (HLG 4.3.2).


def labels(text: str, span: tuple[int, int], *, cells: Sequence[Cell]) -> tuple[str, ...]:
    r"""Row label, column label and caption for the numbers of a statement: ``Revenue, 2023 (in millions): 5,234``.

    A number belongs to a cell with the same number in a row that the span of the statement overlaps. If the span overlaps no
    row, it belongs to a cell whose row label shares a word with the statement. The scale of the table counts: 5,234 in millions
    is $5.234 billion, and rounded $5.2 billion, but not 5,234 thousand (:func:`hlgraph.retrieve.evidence.tables.is_meant`). Of
    several such cells, the one whose labels share most words with the statement is used. If that is ambiguous, the number gets
    no label, because a wrong label is worse than none. A number that occurs as often in the statement as in its only row gets
    all labels. Labels that add no word to the statement are left out.

    Parameters
    ----------
    text : of the statement
    span : start and end of the statement, in the text that the cells come from
    cells : from :func:`hlgraph.retrieve.evidence.tables.cells`

    Returns
    -------
    tuple
        In the order of the cells, each once; empty if the statement has no number.

    Examples
    --------
    >>> from hlgraph.retrieve.evidence.tables import cells
    >>> table = "| (in millions) | 2022 | 2023 |\n| --- | --- | --- |\n| Revenue | 4,900 | 5,234 |"
    >>> labels("Revenue was 5,234.", (52, 79), cells=cells(table))
    ('Revenue, 2023 (in millions): 5,234',)
    """
    asked = Counter(said(text))
    if not asked or not cells:
        return ()
    statement_words = set(content_words(text))
    start, end = span
    touched = [cell for cell in cells if cell.start < end and start < cell.end]
    near = touched or [cell for cell in cells if statement_words & set(content_words(cell.row))]
    candidates = {number: [cell for cell in near if is_meant(number, cell)] for number in asked}
    chosen = {
        cell for number, those in candidates.items() if those for cell in _meant(those, statement_words, asked[number])
    }
    new = (
        cell
        for cell in cells
        if cell in chosen and not statement_words.issuperset(content_words(f"{cell.row} {cell.column} {cell.caption}"))
    )
    return tuple(dict.fromkeys(map(_worded, new)))


def _meant(candidates: Sequence[Cell], statement_words: set[str], times: int) -> Sequence[Cell]:
    """The cell or cells that a number of the statement refers to; none if that is ambiguous."""
    shared = [len(statement_words & set(content_words(f"{cell.row} {cell.column}"))) for cell in candidates]
    most = max(shared)
    best = [cell for cell, count in zip(candidates, shared, strict=True) if count == most]
    is_one_row = len({(cell.start, cell.end) for cell in best}) == 1
    return best if len(best) == 1 or (is_one_row and len(best) <= times) else ()


def _worded(cell: Cell) -> str:
    caption = cell.caption.rstrip(":").strip()
    if caption.startswith("(") and caption.endswith(")"):
        caption = caption[1:-1]
    named = ", ".join(part for part in (cell.row, cell.column) if part)
    return f"{named} ({caption}): {cell.value}" if caption else f"{named}: {cell.value}"


# Terms of a text for near-duplicate detection: normalised numbers, no function words, lemmas.


# Fewer than text.STOP_WORDS: words that change the meaning ("not", "before", "from", "by", "or", "may") stay terms.
_FUNCTION = """a an the this that these those it its itself there here is are was were be been being am has have had having do
    does did doing done to of in on at for with and as than then so such also very just too which who whom whose what
    when where how"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())
_CONTRACTIONS = {"cannot": "can", "can't": "can", "won't": "will", "shan't": "shall"}  # before "not"
_NUMBER_WORDS = {"zero": Decimal(), **{word: Decimal(value) for word, value in NUMERALS.items() if value <= 20}}
_UNUSUAL = _CONTRACTIONS.keys() | _NUMBER_WORDS.keys()
_PERCENT_SIGN = ("percent", "pct")
# Folding would join these digits to the number before them: 10² would become 102, and 1½ would become 11/2.
_JOINED = re.compile("[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u218b\u2460-\u249b]")
_WORD = re.compile(r"[^\W\d_]\w*")
_ASCII_WORD = re.compile(r"[a-zA-Z]\w*", re.ASCII)  # finds what _WORD finds in ASCII text, faster
_MARK = "#"
_MOST_COMPARED = 1_000  # twice the number of pairs of texts that are compared one by one


@dataclass(frozen=True)
class Terms:
    """The terms of one text. A term that begins with ``#`` is a number.

    Attributes
    ----------
    spelled : all terms in order, before words are reduced to lemmas
    names : the terms that are capitalised after the first word of the text
    has_function_words_only : the terms are all words of the text, and stay as they are
    """

    spelled: tuple[str, ...]
    names: frozenset[str]
    has_function_words_only: bool = False

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All terms, in order; computed when they are first needed, since lemmas take most of the time."""
        if self.has_function_words_only:
            return self.spelled
        return tuple(word if word in self.names or word[0] == _MARK else _lemma(word) for word in self.spelled)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The normalised numbers, in order."""
        return tuple(term for term in self.spelled if term[0] == _MARK)


def terms(text: str) -> Terms:
    """The terms of a text (HLG 4.3.1, step 1).

    Numbers are normalised (:func:`hlgraph.text.numbers`) and never dropped; number words up to twenty count
    as numbers. Words are reduced to English lemmas, except names. A text that consists of function words keeps them as its terms.

    Examples
    --------
    >>> terms("The ship carried 1,000 crates.").words == terms("Ships carried 1000 crates").words
    True
    >>> terms("It rose by 5 percent to $3.50, not 12.").words
    ('rose', 'by', '#5%', '#$3.5', 'not', '#12')
    """
    is_ascii = text.isascii()
    parted = text if is_ascii else _JOINED.sub(r" \g<0>", text)
    cased_words = (_ASCII_WORD if is_ascii else _WORD).findall(parted)[1:]
    names = frozenset(words(" ".join({word for word in cased_words if word[0].isupper()})))
    spelled_terms: list[str] = []
    at = 0
    for number in numbers(parted):
        spelled_terms.extend(_words(parted[at : number.start]))
        spelled_terms.append(_MARK + number.text)
        at = number.end
    spelled_terms.extend(_words(parted[at:]))
    return Terms(tuple(spelled_terms or words(text)), names, has_function_words_only=not spelled_terms)


def says_the_same_order(one: Terms, other: Terms) -> bool:
    """Whether two texts have the same numbers in the same order, and the same names in the same order.

    TF-IDF ignores order: it does not distinguish "Ada beat Ben 3 to 2" from "Ben beat Ada 3 to 2". In a long text a changed
    number hardly changes the cosine.

    Parameters
    ----------
    one, other : the terms of the two texts; a word that is a name in either counts as a name in both

    Returns
    -------
    bool
        True if both orders agree.

    Examples
    --------
    >>> says_the_same_order(terms("Ada beat Ben."), terms("Ben beat Ada."))
    False
    >>> says_the_same_order(terms("In 1953 a flood hit Ombry."), terms("A flood hit Ombry in 1953."))
    True
    """
    names = one.names | other.names
    return one.numbers == other.numbers and _only(one.words, names) == _only(other.words, names)


def may_repeat(texts: Sequence[Terms]) -> bool:
    """Whether any two texts have the same numbers and names in the same order, as near-duplicates do.

    Most evidence has no such pair, and this takes a fraction of the time of cosines. With many texts of equal numbers, where
    comparing all pairs would take longer, the result is True.

    Parameters
    ----------
    texts : the terms of the texts

    Returns
    -------
    bool
        False: no text is a near-duplicate of another.
    """
    alike: defaultdict[tuple[str, ...], list[Terms]] = defaultdict(list)
    for text in texts:
        alike[text.numbers].append(text)
    if sum(len(items) ** 2 for items in alike.values()) > _MOST_COMPARED:
        return True
    return any(says_the_same_order(*pair) for items in alike.values() for pair in combinations(items, 2))


def _only(spelled: tuple[str, ...], names: frozenset[str]) -> list[str]:
    return [word for word in spelled if word in names]


def _words(text: str) -> Iterator[str]:
    waiting: Decimal | None = None  # a number word: the next word may be its scale
    for word in words(text):
        if waiting is None and word in _FUNCTION_WORDS:  # the most frequent cases first
            continue
        if waiting is None and word not in _UNUSUAL and not word.endswith("n't"):
            yield word
            continue
        if waiting is not None:
            yield _MARK + spelled(waiting.scaleb(SCALES.get(word, 0))) + ("%" if word in _PERCENT_SIGN else "")
            waiting = None
            if word in SCALES or word in _PERCENT_SIGN:
                continue
        if word in _NUMBER_WORDS:
            waiting = _NUMBER_WORDS[word]
        elif word in _CONTRACTIONS:
            yield _CONTRACTIONS[word]
            yield "not"
        elif word.endswith("n't"):
            yield "not"  # the rest of it is an auxiliary verb
        elif word not in _FUNCTION_WORDS:
            yield word
    if waiting is not None:
        yield _MARK + spelled(waiting)


@lru_cache(maxsize=50_000)
def _lemma(word: str) -> str:
    if len(word) < 3 or word.isdigit():
        return word  # units and symbols: "m" is not a form of "be"
    try:
        from simplemma import lemmatize  # imported here because it loads its dictionary
    except ImportError:
        return word
    return lemmatize(word, lang="en").casefold()


def has_lemmas() -> bool:
    """Whether words are lemmatised: the extra ``local`` is installed. Without it, every word is its own lemma."""
    return find_spec("simplemma") is not None
