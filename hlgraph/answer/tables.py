"""The tables that pieces of evidence come from, whole: Markdown tables of documents, and rows that a mapping describes.

:func:`tables_of` finds them in the text of chunks. :class:`TableReader` reads the chunks of a file, and rows as evidence.
:class:`Columns` reads cells as numbers of one unit, and as dates.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple, TypeVar

from hlgraph.answer.constraints import LISTS, words_of
from hlgraph.extract.wording import MONTHS
from hlgraph.ids import shown
from hlgraph.read.table_mapping import number
from hlgraph.records import Chunk, Evidence, Kind, Source, Statement
from hlgraph.retrieve.question.keywords import named
from hlgraph.retrieve.session import evidence_of
from hlgraph.stores.protocols import GraphStore, Scope
from hlgraph.stores.terms import stem
from hlgraph.text import STOP_WORDS, Block, BlockKind, blocks, fold, is_separator, numbers, plain, spelled, word_set
from hlgraph.where import And, Compare, Op, Or, Where

_R = TypeVar("_R", Source, Chunk, Statement)


MOST_ROWS = 20_000
"""Maximum number of rows, and of the chunks with them, that a rule reads."""
_BAR = re.compile(r"(?<!\\)\|")
TOTAL = re.compile(
    r"(?:grand |sub-?)?totals?(?:\W.*)?|(?:.*\W)?(?:grand |sub-?)?total\W?"
    r"|(?:average|mean|sum|overall|Σ|(?:gesamt|zwischen)?summe|(?:ins)?gesamt|somme|suma|totale|totaal|summa)\W?",
    re.IGNORECASE,
)
_LONGEST_LINE = 160  # of a line above a table that names it
_MAPPED = "rows/"  # in the fingerprint of a chunk that a mapping of rows describes


class Row(NamedTuple):
    """A row of a table.

    Attributes
    ----------
    cells : its values by the label of their column, without empty ones; several values if a label repeats
    section : text of its cells without a label, such as the section that it stands in
    chunk : its chunk
    start : offset of its first character in the text of the source
    text : the row as it is written
    typed : the numbers among the metadata of its source, if a mapping of rows wrote them
    """

    cells: Mapping[str, tuple[str, ...]]
    section: str
    chunk: Chunk
    start: int
    text: str
    typed: tuple[Decimal, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A whole table.

    Attributes
    ----------
    name : its heading, or the title of its source, or the name of its file
    context : the name of its file, the title, the headings and the line above it
    labels : labels of its columns, in order
    rows : its rows, in order
    """

    name: str
    context: tuple[str, ...]
    labels: dict[str, None] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


def tables_of(chunks: Iterable[Chunk], sources: Mapping[str, Source]) -> list[Table]:
    """The tables with a header in the texts of sources.

    Parts of one file with equal headings and headers are one table, and so are the rows of a file that one mapping describes.

    Parameters
    ----------
    chunks : all chunks of the sources, in any order
    sources : the sources, by id
    """
    texts: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.source_id in sources:
            texts[chunk.source_id].append(chunk)
    whole: dict[tuple[str, ...], Table] = {}
    for source in sorted((sources[each] for each in texts), key=lambda source: _place(source.uri)):
        own = sorted(texts[source.id], key=lambda chunk: (chunk.start, chunk.id))
        _, mark, mapping = own[0].fingerprint.partition(_MAPPED)
        base = base_of(source.uri)
        file = re.sub(r"[\W_]+", " ", base.rpartition("/")[2].partition(".")[0]).strip()
        if mark:
            table = whole.setdefault((base, mapping), Table(file, (file,)))
            row = _mapped_row(own[0], source)
            table.labels.update(dict.fromkeys(row.cells))
            table.rows.append(row)
            continue
        for labels, headings, above, rows in _written(own):
            context = tuple(part for part in (file, source.title, *headings, above) if part)
            name = headings[-1] if headings else above or source.title or file
            table = whole.setdefault((base, *headings, above, "|", *labels), Table(name, context))
            table.labels.update(dict.fromkeys(filter(None, labels)))
            table.rows.extend(rows)
    return list(whole.values())


def base_of(uri: str) -> str:
    """The URI of a file, without the part that names a row, or a thousand rows, of it."""
    return uri.partition("#")[0]


def _place(uri: str) -> tuple[str, int, str]:
    base, _, part = uri.partition("#")
    digits = re.findall(r"\d{1,18}", part)
    return base, int(digits[-1]) if digits else 0, part


def _mapped_row(chunk: Chunk, source: Source) -> Row:
    """The row of a source that a mapping of rows wrote: a line for each value."""
    cells: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for line in chunk.text.split("\n"):
        label, _, value = line.partition(": ")
        cells[label] += (value,)
    values = (value for value in source.metadata.values() if isinstance(value, int | float))
    typed = tuple(Decimal(str(value)) for value in values if not isinstance(value, bool))
    return Row(cells, "", chunk, chunk.start, chunk.text, typed)


def _written(chunks: Sequence[Chunk]) -> Iterator[tuple[list[str], list[str], str, list[Row]]]:
    """The Markdown tables of a source, whose chunks may divide them or overlap: labels, headings, line above, rows."""
    parts: list[str] = []
    size = 0
    for chunk in chunks:
        parts += ["\n" * (chunk.start - size), chunk.text[max(0, size - chunk.start) :]]
        size = max(size, chunk.end)
    text = "".join(parts)
    headings: dict[int, str] = {}
    lines: list[Block] = []
    above = ""
    for block in (*blocks(text), None):
        is_rule = block is not None and bool(lines) and is_separator(text[block.start : block.end])
        is_row = block is not None and (block.kind is BlockKind.ROW or is_rule)
        if lines and not (is_row and block is not None and not block.is_loose):
            if len(lines) > 2 and is_separator(text[lines[1].start : lines[1].end]):
                labels = _bars(text[lines[0].start : lines[0].end])
                rows = list(_rows(text, lines, labels=labels, chunks=chunks))
                yield labels, list(headings.values()), above, rows
            lines, above = [], ""
        if block is None:
            break
        if is_row:
            lines.append(block)
        elif block.kind is BlockKind.HEADING:
            headings = {level: title for level, title in headings.items() if level < block.level}
            headings[block.level], above = " ".join(block.title.split()), ""
        else:
            line = text[block.start : block.end]
            above = " ".join(line.split()) if len(line) <= _LONGEST_LINE and block.kind is BlockKind.PROSE else ""


def _rows(text: str, lines: Sequence[Block], *, labels: Sequence[str], chunks: Sequence[Chunk]) -> Iterator[Row]:
    """The rows below the header, each with the section that a row of one cell above it names."""
    starts = [chunk.start for chunk in chunks]
    section = ""
    for at, block in enumerate(lines[2:], 3):
        line = text[block.start : block.end]
        texts = _bars(line)
        if is_separator(line) or not any(texts):
            continue
        if at < len(lines) and len(texts) > 1 and texts[0] and not any(texts[1:]):
            section = texts[0].rstrip(":")
            continue
        cells: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
        rest = [section] if section else []
        for number_of_cell, cell in enumerate(texts):
            label = labels[number_of_cell] if number_of_cell < len(labels) else ""
            if cell and label:
                cells[label] += (cell,)
            elif cell:
                rest.append(cell)
        chunk = chunks[max(0, bisect_right(starts, block.start) - 1)]
        yield Row(cells, " ".join(rest), chunk, block.start, line)
        section = "" if TOTAL.fullmatch(texts[0]) else section


def _bars(line: str) -> list[str]:
    """The cells of a line, without marks of Markdown."""
    parts = _BAR.split(line.strip().removeprefix("|").removesuffix("|"))
    return [" ".join(plain(part.replace("\\|", "|")).split()) for part in parts]


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads all rows of the tables that pieces of evidence come from: three reads of the graph, whatever their number.

    Parameters
    ----------
    graph : the store
    corpus : name of the corpus
    where : the filter of the search; None: none
    """

    graph: GraphStore
    corpus: str
    where: Where | None = field(default=None, kw_only=True)

    def tables(self, uris: Sequence[str]) -> list[Table] | None:
        """The tables of files.

        Parameters
        ----------
        uris : URIs of the files

        Returns
        -------
        list | None
            None if they have more than 20,000 rows that are sources, or more than 20,000 chunks.
        """
        ranges: list[Where] = []
        for uri in uris:
            rows = And((Compare("uri", Op.GE, f"{uri}#"), Compare("uri", Op.LT, f"{uri}$")))  # "$" is next to "#"
            ranges.append(Or((Compare("uri", Op.EQ, uri), rows)))
        wanted: Where = ranges[0] if len(ranges) == 1 else Or(tuple(ranges))
        scope = Scope(self.corpus, wanted if self.where is None else And((self.where, wanted)))
        sources = self._read(Kind.SOURCE, scope, record_type=Source)
        chunks = self._read(Kind.CHUNK, scope, record_type=Chunk) if len(sources) <= MOST_ROWS else []
        if max(len(sources), len(chunks)) > MOST_ROWS:
            return None
        return tables_of(chunks, {source.id: shown(source) for source in sources})

    def evidence(self, rows: Sequence[Row]) -> list[Evidence]:
        """Rows as evidence: each its statement, or its part of a chunk if no statement is stored at its place."""
        ids = tuple(sorted({row.chunk.source_id for row in rows}))
        if not ids:
            return []
        scope = Scope(self.corpus, sources=ids)
        sources = {source.id: shown(source) for source in self._read(Kind.SOURCE, scope, record_type=Source)}
        places: dict[tuple[str, int], Statement] = {}
        texts: dict[tuple[str, str], Statement] = {}
        chunks = {row.chunk.id: row.chunk for row in rows}
        for statement in self._read(Kind.STATEMENT, scope, record_type=Statement):
            places.setdefault((statement.source_id, statement.start), statement)
            if statement.chunk_id in chunks:
                chunk = chunks[statement.chunk_id]
                written = chunk.text[statement.start - chunk.start : statement.end - chunk.start]
                texts.setdefault((statement.source_id, " ".join(written.split())), statement)
        evidence: list[Evidence] = []
        for row in rows:
            source, chunk = sources.get(row.chunk.source_id), row.chunk
            if source is None:
                continue
            # A row that repeats another one has its statement.
            written = " ".join(row.text.split())
            said = places.get((source.id, row.start)) or texts.get((source.id, written))
            text, end = said.text if said else written, row.start + len(row.text)
            record = replace(said or chunk, text=text, start=row.start, end=end)
            evidence.append(evidence_of(record, chunk, source=source, score=1.0))
        return evidence

    def _read(self, kind: Kind, scope: Scope, *, record_type: type[_R]) -> list[_R]:
        """At most one record more than the limit."""
        records = islice(self.graph.find(kind, scope), MOST_ROWS + 1)
        return [record for record in records if isinstance(record, record_type)]


# The labels and the values of columns

TOKEN = re.compile(r"[^\W\d_]\d{1,3}(?!\w)|\d(?:[\d.,]*\d)?|[^\W\d_]+(?:['’-][^\W\d_]+)*")
YEAR = re.compile(r"[12]\d{3}")
_CACHED = 1 << 16  # cells that are read once
_LABEL = re.compile(
    r"(.*?)(?:\s*[(\[]([^()\[\]]{1,20})[)\]]|,\s*([^\s,]{1,8})|\s+in\s+([^\s\d]\S{0,11})"
    r"|_(k?m|[cm]m|k?g|t|l|h|min|s|k?W|hp|eur|usd|gbp)|\s(AUD|CAD|CHF|CZK|DKK|EUR|GBP|JPY|NOK|PLN|SEK|USD|[$€£¥%]))?\s*"
)


_BESIDE = word_set(
    "currency ccy curr cur uom unit units indicator metric measure variable"
)  # labels of what tells the unit
_MONEY = words_of("money")
_NUMBERING = word_set("id no nr number code")
_OF_MONEY, _COUNTS = word_set("currency ccy curr cur"), words_of("counts")
YES, NO, CROSS = word_set("yes y true ✓ ✔ x"), word_set("no n false ✗ ✘ -"), word_set("x -")


def key(word: str) -> str:
    """The stem of a word; of a unit, that of its first name: "kilogram" of "kg".

    Parameters
    ----------
    word : a folded word
    """
    return UNIT_OF.get(word) or stem(word)


UNIT_OF = {name: line.split()[0] for line in LISTS["names_of_units"] for name in line.split()}
UNIT_OF |= {name: name[:3] for name in MONTHS} | {"sept": "sep"}


def tokens_of(text: str) -> list[str]:
    """The folded words and numbers of a text."""
    return [match[0].removesuffix("'s") for match in TOKEN.finditer(fold(text))]


def parted(label: str) -> tuple[str, str]:
    """The name and the unit in a label.

    Examples
    --------
    >>> parted("Length, m"), parted("Mass (kg)"), parted("width_m"), parted("Town")
    (('Length', 'm'), ('Mass', 'kg'), ('width', 'm'), ('Town', ''))
    """
    match = _LABEL.fullmatch(label)
    unit = next(filter(None, match.groups()[1:]), "") if match else ""
    return (match[1], unit) if match and match[1] else (label, "")


_MOST_LISTED = 5
MOSTLY = 0.5  # share of the cells of a column that makes it one of numbers, or of dates


def counted(count: int) -> str:
    """A number of rows in words."""
    return f"{count} row{'' if count == 1 else 's'}"


class ObstacleError(ValueError):
    """Why a rule does not apply.

    Parameters
    ----------
    reason : what an answer says
    most_rank : largest rank, from 0, of the best piece from this table for which an answer says so: any rank if the table
        prevents the rule, 0 if the words of the question do, and none (-1) if they may not mean this table
    """

    def __init__(self, reason: str, *, most_rank: float = math.inf) -> None:
        super().__init__(reason)
        self.most_rank = most_rank


Bound = Decimal | tuple[int, ...]
"""A limit of a column: a number, or a date as far as it is known."""


class Quantity(NamedTuple):
    """The number of a cell, with its unit; empty without one."""

    value: Decimal
    unit: str


_PLAIN = re.compile(r"(-?)([$€£¥₹]?)((?:0|[1-9]\d*)?(?:\.\d+)?)(%?)")
_SIGN = re.compile(r"[-\u2212$€£¥₹\s.]*|[A-Z]{3} -?")
_UNIT = re.compile(r"[^\d\W][^\d\s]{0,11}(?: [^\d\W]{1,11})?|[%°€$£¥₹′″'\"][^\d\s]{0,3}|")
_DIGITS = re.compile(r"\d[\d.,]*\d|\d")
_THREE_DECIMALS = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # thousands in some languages, decimals in others
_HAS_POINT = re.compile(r"(?<![\d.,])(?:0\.\d|\d+\.(?!\d{3}(?!\d))\d|\d{1,3}(?:,\d{3})+\.\d|\d{1,3}(?:,\d{3}){2})")
_HAS_COMMA = re.compile(r"(?<![\d.,])(?:0,\d|\d+,(?!\d{3}(?!\d))\d|\d{1,3}(?:\.\d{3})+,\d|\d{1,3}(?:\.\d{3}){2})")
_HAS_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2},\d{3}(?![\d,.])")
_DOTTED = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+,\d+(?![\d.,])")
_GAP = re.compile(r"(?<=\d)['’ \u00a0\u202f](?=\d{3}(?!\d))")
_SIGNED = re.compile(
    r"\((?P<inside>[^()]*\d[^()]*)\)|(?P<before>.*\d)\s?[-\u2212](?P<unit>\s*[^\d\s]{0,3})|\+(?P<plus>.*)"
)
_DATE = re.compile(
    r"(?:(?P<year>\d{4})[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)|(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<last>\d{4}))"
    r"(?:[T ,]+(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|\+00:00)?)?"
)


def plain_cell(cell: str, decimal: str) -> str:
    """A cell with its sign in front, without signs between thousands if they are clear: "1.234,50-", "(1'234.50)".

    Parameters
    ----------
    cell : text of the cell
    decimal : decimal sign of the column; empty if unknown
    """
    text = _GAP.sub("", cell.strip())
    if signed := _SIGNED.fullmatch(text):
        text = signed["plus"] or f"-{signed['inside'] or signed['before'] + signed['unit']}"
    pattern = _DIGITS if decimal == "," else _DOTTED
    return pattern.sub(lambda match: match[0].replace(".", "").replace(",", "."), text)


@lru_cache(_CACHED)
def _quantity(cell: str, *, typed: tuple[Decimal, ...], decimal: str) -> Quantity | None:
    """The one number of a cell, with its unit; None if it has none or several, or if its separator is ambiguous.

    Parameters
    ----------
    cell : text of the cell
    typed : numbers of the row that a mapping has read, of which one decides on an ambiguous separator
    decimal : the decimal sign that other cells of the column show; empty if none does
    """
    cell = plain_cell(cell, decimal)
    written = numbers(cell)
    if len(written) != 1:
        return None
    start, end, _, text = written[0]
    plain = _PLAIN.fullmatch(text)
    digits = re.match(r"[\d.,]*\d", cell[start:])
    unit = cell[end:].strip()
    if not _SIGN.fullmatch(cell[:start]) or not _UNIT.fullmatch(unit) or digits is None:
        return None
    value = None
    if plain and plain[3] and (decimal == "." or not _THREE_DECIMALS.fullmatch(digits[0])):
        value = Decimal(plain[1] + plain[3])
    if typed:
        bare = cell[:end].strip()
        others = (number(bare, decimal="."), number(bare, decimal=","))
        options = {value, *(Decimal(str(each)) for each in others if each is not None)} & {*typed}
        value = options.pop() if len(options) == 1 else value
    if value is None:
        return None
    currency = cell[:start].strip("-\u2212 .")
    return Quantity(value, unit or (plain[2] + plain[4] if plain else "") or currency)


def _is_real(year: int, month: int, day: int) -> bool:
    """Whether there is such a day."""
    return 1 <= month <= 12 and year > 0 and 1 <= day <= monthrange(year, month)[1]


@lru_cache(_CACHED)
def time_of(cell: str, order: str = "?") -> tuple[int, ...] | None:
    """Year, month, day, hour, minute and second of a cell that is a date, as far as it has them; None for any other text.

    Parameters
    ----------
    cell : text of the cell
    order : which comes first in 03/04/2024 in this column, ``day`` or ``month``; empty: unknown, so it is no date; ``?``: any
    """
    text = cell.strip()
    if YEAR.fullmatch(text):
        return (int(text),) if 1_400 <= int(text) < 2_200 else None
    if match := _DATE.fullmatch(text):
        day, month = match["day"] or match["first"], match["month"] or match["second"]
        if match["mark"] in ("/", "-") and int(max(day, month, key=int)) <= 12 and order == "":
            return None
        if match["mark"] in ("/", "-") and order == "month":
            day, month = month, day
        clock = [int(part) for part in match.groups()[-3:] if part]
        parts = (int(match["year"] or match["last"]), int(month), int(day), *clock)
        return parts if order == "?" or _is_real(*parts[:3]) else None
    dates = named(text).dates
    if len(dates) != 1 or len(text.split()) > 3 or len(text) > 20:
        return None
    return tuple(map(int, dates[0].split("-")))


class Columns:
    """The columns of a table as numbers and dates.

    Attributes
    ----------
    labels : their labels, in order
    totals, rows : the rows of totals, and the others
    """

    def __init__(self, table: Table) -> None:
        self.labels = list(table.labels)
        self.totals: list[Row] = []
        self.rows: list[Row] = []
        for at, row in enumerate(table.rows, 1):
            first = next(iter(row.cells.values()), ("",))[0]
            is_last = at == len(table.rows) > 2 and any(TOTAL.fullmatch(cells[0]) for cells in row.cells.values())
            (self.totals if is_last or TOTAL.fullmatch(first) else self.rows).append(row)
        begins = [self.labels[0] in row.cells for row in self.rows] if self.labels else []
        if len(begins) > 2 and not begins[-1] and all(begins[:-1]):  # sums below a table, without a word
            self.totals.append(self.rows.pop())
        self._shares: dict[tuple[str, bool], float] = {}
        self._signs: dict[str, tuple[bool, ...]] = {}
        self._orders: dict[str, str] = {}

    def share(self, label: str, *, is_time: bool = False) -> float:
        """The share of the cells of a column that are numbers, or dates.

        Parameters
        ----------
        label : the column
        is_time : whether dates are counted
        """
        if (label, is_time) not in self._shares:
            cells = [row.cells[label][0] for row in self.rows if label in row.cells]
            sign = self._decimal(label) or "."
            values = (time_of(cell) if is_time else _quantity(cell, typed=(), decimal=sign) for cell in cells)
            self._shares[label, is_time] = sum(value is not None for value in values) / max(1, len(cells))
        return self._shares[label, is_time]

    def flags(self, label: str) -> set[str]:
        """The folded cells of a column that says yes or no in each row; empty for another column."""
        cells = {fold(cell) for row in self.rows for cell in row.cells.get(label, ())}
        return cells if cells <= YES | NO else set()

    def numbers_rows(self, label: str) -> bool:
        """Whether a column only numbers the rows: different whole numbers in order, of one length, or below "No"."""
        cells = [row.cells.get(label, ("",))[0] for row in self.rows]
        if len({*cells}) < max(2, len(cells)) or not all(map(str.isdecimal, cells)):
            return False
        is_code = len({*map(len, cells)}) == 1 and len(cells[0]) > 3
        steps = {int(cell) < int(after) for cell, after in pairwise(cells)}
        return is_code or len(steps) == 1 or not _NUMBERING.isdisjoint(tokens_of(label))

    def cells(self, label: str, rows: Sequence[Row]) -> list[str]:
        """The one cell of each row in a column. Raises ObstacleError if a row has none or several.

        Parameters
        ----------
        label : the column
        rows : the rows
        """
        empty = sum(label not in row.cells for row in rows)
        if empty:
            raise ObstacleError(f"{counted(empty)} of {len(rows)} {'has' if empty == 1 else 'have'} no {label}")
        if any(len(row.cells[label]) > 1 for row in rows):
            raise ObstacleError(f"a row has several values of {label}")
        return [row.cells[label][0] for row in rows]

    def quantities(self, label: str, rows: Sequence[Row], *, group: str = "") -> list[Quantity]:
        """The numbers of a column. Raises ObstacleError if a cell is not one clear number, or their units differ.

        Parameters
        ----------
        label : the column
        rows : the rows
        group : column by which the rows are grouped, whose values may be the units
        """
        cells = self.cells(label, rows)
        decimal = self._decimal(label)
        if self._signs[label][1:] == (True, True) and not rows[0].typed:
            raise ObstacleError(
                f"a comma in {label} separates decimals in some cells, and may separate thousands in others"
            )
        values: list[Quantity] = []
        for row, cell in zip(rows, cells, strict=True):
            value = _quantity(cell, typed=row.typed, decimal=decimal)
            if value is None:
                raise ObstacleError(f"{cell!r} of {label} is not one clear number")
            values.append(value)
        units = {key(fold(value.unit or parted(label)[1])): value.unit for value in values}
        if len(units) > 1:
            units = {value.unit or parted(label)[1]: "" for value in values}
            raise ObstacleError(f"the units of {label} differ: {', '.join(sorted(unit or 'none' for unit in units))}")
        beside = self._unit_beside(label, rows, group=group)
        return [value._replace(unit=value.unit or beside) for value in values] if beside else values

    def _decimal(self, label: str) -> str:
        """The decimal sign that the cells of a column show; empty if they show none, or both."""
        if label not in self._signs:
            everywhere = [cell for row in self.rows for cell in row.cells.get(label, ())]
            patterns = (_HAS_POINT, _HAS_COMMA, _HAS_THOUSANDS)
            self._signs[label] = tuple(any(map(pattern.search, everywhere)) for pattern in patterns)
        has_point, has_comma, _ = self._signs[label]
        return "" if has_point == has_comma else "." if has_point else ","

    def _unit_beside(self, label: str, rows: Sequence[Row], *, group: str) -> str:
        """The unit of a column of numbers that another column has: "Currency", "Unit", "Indicator"; empty if none has.

        Raises ObstacleError if the rows differ in it.
        """
        said = ""
        own, has_unit = (
            {*tokens_of(parted(label)[0])},
            bool(parted(label)[1]) or not _COUNTS.isdisjoint(tokens_of(label)),
        )
        for other in self.labels:
            words = {*tokens_of(other)} - STOP_WORDS
            telling, rest = words & _BESIDE, words - _BESIDE
            # "Cost currency" is that of "Cost amount"; hours have none.
            is_apart = (rest and rest.isdisjoint(own)) or (has_unit and telling <= _OF_MONEY) or parted(label)[1]
            if not telling or other in (label, group) or is_apart or self.share(other) >= MOSTLY:
                continue
            values = dict.fromkeys(cell for row in rows for cell in row.cells.get(other, ("none",)))
            if telling <= {"unit", "units"} and not any(fold(cell) in UNIT_OF for cell in values):
                continue  # a part of an organisation
            if len(values) > 1:
                listed = ", ".join([*values][:_MOST_LISTED])
                raise ObstacleError(f"the rows of {label} differ in {other}: {listed}")
            is_unit = telling & {"unit", "units", "uom"} or (telling & _OF_MONEY and own & (_MONEY | rest))
            said = said or (next(iter(values)) if is_unit else "")
        return said

    def times(self, label: str, rows: Sequence[Row]) -> list[tuple[int, ...]]:
        """The dates of a column, all as exact as the least exact one. Raises ObstacleError if a cell is not a date.

        Parameters
        ----------
        label : the column
        rows : the rows
        """
        values: list[tuple[int, ...]] = []
        if label not in self._orders:
            dates = [_DATE.fullmatch(cell.strip()) for row in self.rows for cell in row.cells.get(label, ())]
            parts = [match for match in dates if match and match["mark"] in ("/", "-")]
            firsts, seconds = (any(int(match[name]) > 12 for match in parts) for name in ("first", "second"))
            self._orders[label] = "" if firsts == seconds else "day" if firsts else "month"
        for cell in self.cells(label, rows):
            value = time_of(cell, self._orders[label])
            if value is None and time_of(cell, "day") and time_of(cell, "month"):
                raise ObstacleError(f"{cell!r} of {label} does not show which is the day and which the month")
            if value is None:
                raise ObstacleError(f"{cell!r} of {label} is not a date")
            values.append(value)
        least = min(map(len, values), default=1)
        return [value[:least] for value in values]

    def over(self, name: str, target: str, *, rows: Sequence[Row]) -> str:
        """The result of a rule over rows, with the unit of their cells.

        Parameters
        ----------
        name : the rule: ``count``, ``distinct``, ``sum``, ``mean``, ``min`` or ``max``
        target : label of its column; empty to count
        rows : the rows
        """
        value = self.value(name, target, rows=rows)
        is_number = name not in ("count", "distinct")
        unit = max((each.unit for each in self.quantities(target, rows)), default="") if is_number else ""
        return _written_number(value, unit, of_label=parted(target)[1])

    def value(self, name: str, target: str, *, rows: Sequence[Row]) -> Decimal:
        """The result of a rule over rows.

        Parameters
        ----------
        name : see :meth:`over`
        target : its column
        rows : the rows
        """
        if name == "count":
            return Decimal(len(rows))
        if name == "distinct":
            return Decimal(len({fold(cell) for row in rows for cell in row.cells.get(target, ())}))
        values = [each.value for each in self.quantities(target, rows)]
        if name == "sum":
            return sum(values, Decimal())
        if name == "mean":
            mean = sum(values, Decimal()) / len(values)
            most = max(max(0, -int(value.as_tuple().exponent)) for value in values)
            return round(mean, most + 2)
        return max(values) if name == "max" else min(values)


def written(value: Bound) -> str:
    """A number, or a date, in words."""
    if not isinstance(value, tuple):
        return spelled(value)
    clock = f" {':'.join(f'{part:02d}' for part in value[3:])}" if len(value) > 3 else ""
    return "-".join(f"{part:02d}" for part in value[:3]) + clock


def _written_number(value: Decimal, unit: str, *, of_label: str) -> str:
    text = spelled(value) if value else "0"
    if unit in ("$", "€", "£", "¥", "₹"):
        return f"{unit}{text}"
    is_said = not unit or unit == of_label
    return text if is_said else f"{text}{unit}" if unit == "%" else f"{text} {unit}"
