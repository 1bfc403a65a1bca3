"""Reader of XLSX workbooks: each sheet a heading and its tables as Markdown, with openpyxl.

A blank row ends a table, so a title above a table is not one of its rows. A formula gives the value stored in the file.
"""

from __future__ import annotations

import io
import posixpath
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from html import unescape
from itertools import chain
from typing import TYPE_CHECKING, Any

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import Produced, check_package, refused
from hlgraph.read.content import Origin, clean, clean_title, given_properties, given_title, read_bounded, tolerated
from hlgraph.read.formats._blocks import hidden_sheet, sheet_markdown
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.notation import attribute, chart_titles, literals, local_name, shown_number, words_of
from hlgraph.read.options import ReadOptions
from hlgraph.read.print_order import is_page_word
from hlgraph.read.rows import Flaw, Row, Table, groups_of_rows, shown
from hlgraph.read.tables import Cell as GridCell
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell.cell import Cell, MergedCell

_MOST_ELEMENTS = 10_000_000  # a sheet is parsed row by row
_MOST_PLACES = 20_000_000  # rows and cells, including empty ones, which cost time but give no text
_MOST_SHOWN = 5
_EPOCH_1904 = date(1904, 1, 1)
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]{1,3}\d{1,7}):([A-Z]{1,3}\d{1,7})"')
_NO_VALUE = re.compile(
    rb'<(?:\w+:)?c r="([A-Z]{1,3}\d{1,7})"[^<>]*>\s*<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<>]*</(?:\w+:)?f>)\s*(?:<(?:\w+:)?v\s*/>|'
    rb"<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_HEADER = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)\b[^<>]*>([^<]*)<")
_CODE = re.compile(r'&(?:[LCRPNDTZFAGSXYBIUEOH]|"[^"]*"|\d{1,3}|K[0-9A-Fa-f+-]{5,6})')
_HIDDEN_ROW = re.compile(rb"<(?:\w+:)?row\b[^<>]*\bhidden=[\"'](?:1|true)")
_CORE = "docProps/core.xml"
_STRINGS = "xl/sharedStrings.xml"
_NO_STRINGS = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'
_STYLES = "xl/styles.xml"
_EMPTY_FILL = re.compile(rb"<fill\s*/>|<fill>\s*</fill>")
_PROPERTIES = {
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "category": "category",
    "created": "created",
}


def read_xlsx(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a workbook: its sheets in order, with ``## `` headings and Markdown tables, and its core properties.

    Dates become ISO text. Numbers that are shown as percentages become percentages.

    Parameters
    ----------
    origin : the file; its stem is the title if the properties name none
    data : the bytes of the file
    options : ``max_bytes`` limits the unpacked size, and the text in characters

    Raises
    ------
    MissingExtraError
        openpyxl is not installed.
    ReadError
        The file is damaged, needs a password, exceeds a limit of :mod:`hlgraph.read.bounds`, or holds no text.
    """
    _openpyxl()
    produced = Produced(origin, len(data), options.max_bytes)
    blocks: list[str] = []
    lacking: list[str] = []
    hidden: list[str] = []
    comments = 0
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns about parts that it drops; none of them is text
        check_package(origin, data, limit=options.max_bytes, most=_MOST_ELEMENTS)
        book = _book(data)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # the stored dimensions may be wrong
            stored = _Stored(data, sheet)
            produced.acl_columns = [], -1
            tables = [produced.add(clean(text)) for text in _tables(sheet.iter_rows(), stored, produced) if text]
            beside, count = _beside(data, stored.path, seen=seen)
            tables = [*stored.headers, *tables, *map(produced.add, beside)]
            comments += count
            blocks += [f"## {clean_title(clean(sheet.title))}", *tables] if tables else []
            hidden += [_hidden(sheet, stored.hidden_rows)] if tables else []
            lacking += [f"{sheet.title}!{place}" for place in stored.without_value]
        book.close()
        title, metadata = _properties(data)
    if not blocks:
        raise ReadError(origin.uri, "is empty: its sheets hold no text")
    unread = (f"{comments:,} comments were not read",) if comments else ()
    return Document(
        origin.uri,
        "\n\n".join(blocks),
        title or clean_title(origin.stem),
        {**metadata, **groups_of_rows(origin, produced.groups)},
        warnings=(*_without_value(lacking), *unread, *filter(None, hidden)),
    )


def xlsx_table(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Table:
    """The rows of one sheet of a workbook, below a header in its first row with two cells, and in the next one below merged cells.

    Parameters
    ----------
    origin : the file
    stream : its bytes
    options : ``rows.sheet`` names the sheet, default the first with a header; ``max_bytes`` limits the unpacked size

    Raises
    ------
    MissingExtraError
        openpyxl is not installed.
    ReadError
        The file cannot be read, has no such sheet, or its header names a column twice.
    """
    _openpyxl()
    data = read_bounded(origin, stream, limit=options.max_bytes)
    check_package(origin, data, limit=options.max_bytes, most=_MOST_ELEMENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = _book(data)
    wanted = options.rows.sheet if options.rows else ""
    if wanted and wanted not in book.sheetnames:
        there = ", ".join(map(repr, book.sheetnames))
        raise ReadError(origin.uri, f"has no sheet {wanted!r}; its sheets: {there}", "correct the mapping")
    for name in [wanted] if wanted else book.sheetnames:
        sheet: Any = book[name]
        sheet.reset_dimensions()
        rows = enumerate(sheet.iter_rows(values_only=True), 1)
        header = next(
            ((number, _names(cells)) for number, cells in rows if sum(cell is not None for cell in cells) > 1), None
        )
        if header:
            spans = _Stored(data, sheet).spans
            names, below = _joined(*header, spans, next(rows, None))
            return Table(_sheet_rows(origin, names, _filled(chain(below, rows), spans)))
    return Table(iter(()))


def _names(cells: Iterable[object]) -> list[str]:
    return ["" if cell is None else clean_title(clean(str(cell))) for cell in cells]


def _joined(
    number: int,
    header: Sequence[str],
    spans: Mapping[tuple[int, int], tuple[int, int]],
    below: tuple[int, Sequence[object]] | None,
) -> tuple[list[str], list[tuple[int, Sequence[object]]]]:
    """The names of the columns, and the row below the header if it is no part of it.

    It is, if all its cells stand below merged cells, one of them above several words: "Gas" over "Use" and "Cost" gives
    "Gas Use" and "Gas Cost".
    """
    names, rows = list(header), [below] if below else []
    wide = [(column, width) for (row, column), (width, _) in spans.items() if row == number and width > 1]
    under = {column - 1 + at: column - 1 for column, width in wide for at in range(min(width, len(names)))}
    filled = {at for at, cell in enumerate(below[1]) if cell is not None} if below else set[int]()
    has_several = len({under[at] for at in filled & under.keys()}) < len(filled)
    if below and has_several and filled <= under.keys() and any(isinstance(below[1][at], str) for at in filled):
        lower = _names(below[1])
        names = [f"{names[under[at]]} {lower[at]}" if at in filled else name for at, name in enumerate(names)]
        rows = []
    return names, rows


def _filled(
    rows: Iterable[tuple[int, Sequence[object]]], spans: Mapping[tuple[int, int], tuple[int, int]]
) -> Iterator[tuple[int, Sequence[object]]]:
    """The rows, with the value of a merged cell in each row that it covers."""
    tall = {place: height for place, (_, height) in spans.items() if height > 1}
    covering: dict[int, tuple[int, object]] = {}
    for number, cells in rows:
        own = dict(enumerate(cells))
        begun = {at: (number + tall[number, at + 1], cell) for at, cell in own.items() if (number, at + 1) in tall}
        covering = {at: each for at, each in (covering | begun).items() if number < each[0]}
        own |= {at: cell for at, (_, cell) in covering.items() if own.get(at) is None}
        yield number, [own.get(at) for at in range(max(own, default=-1) + 1)] if covering else cells


def _sheet_rows(
    origin: Origin, header: Sequence[str], rows: Iterable[tuple[int, Sequence[object]]]
) -> Iterator[Row | Flaw]:
    named = [name for name in header if name]
    if twice := {name for name in named if named.count(name) > 1}:
        raise ReadError(origin.uri, f"two columns are called {min(twice)!r}", "rename one of them")
    for number, cells in rows:
        if number > _MOST_PLACES // len(header):
            raise refused(origin, "empty cells", limit=_MOST_PLACES)
        columns = {name: cell for name, cell in zip(header, cells, strict=False) if name and cell is not None}
        if columns:
            yield Row(number, dict.fromkeys(named) | columns)


def _hidden(sheet: Any, rows: int) -> str:
    """The warning that a hidden sheet, or hidden rows of a sheet, were read; empty if nothing is hidden."""
    if sheet.sheet_state != "visible":
        return hidden_sheet(sheet.title)
    return f"{rows:,} hidden rows of the sheet {sheet.title!r} were read, too" if rows else ""


def _without_value(places: Sequence[str]) -> tuple[str, ...]:
    if not places:
        return ()
    shown = ", ".join(places[:_MOST_SHOWN]) + (", ..." if len(places) > _MOST_SHOWN else "")
    reason = f"{len(places):,} formulas have no stored value and were not read ({shown})"
    return (f"{reason}; open the workbook in a spreadsheet program and save it",)


class _Stored:
    """What openpyxl leaves out when it streams a sheet: merged cells, and formulas without a value.

    Attributes
    ----------
    path : name of the part of the sheet
    spans : width and height of the merged cells, by row and column, both from 1
    without_value : places of formulas that no program has computed
    headers : texts of the headers and footers of printed pages, without numbers of pages
    hidden_rows : number of hidden rows, which are read
    """

    def __init__(self, data: bytes, sheet: Any) -> None:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            self.path = str(sheet._worksheet_path)
            source = package.read(self.path)
        self.spans: dict[tuple[int, int], tuple[int, int]] = {}
        for first, last in _MERGED.findall(source):
            (row, column), (below, right) = map(_place, (first, last))
            self.spans[row, column] = (right - column + 1, below - row + 1)
        marked = (unescape(match[1].decode("utf-8", "replace")) for match in _HEADER.finditer(source))
        texts = (clean_title(clean(_CODE.sub(" ", text).replace("&&", "&"))) for text in marked)
        self.headers = [text for text in dict.fromkeys(texts) if not is_page_word(text)]
        self.hidden_rows = len(_HIDDEN_ROW.findall(source))
        self.without_value = [match[1].decode() for match in _NO_VALUE.finditer(source)]


def _beside(data: bytes, sheet: str, *, seen: set[str]) -> tuple[list[str], int]:
    """The texts of the shapes and the titles of the charts on a sheet, and the number of its comments.

    Adds the names of the parts to ``seen``; a part is read once.
    """
    from openpyxl.xml.functions import fromstring

    texts: list[str] = []
    comments = 0
    with zipfile.ZipFile(io.BytesIO(data)) as package, tolerated():
        for kind, name in _related(package, sheet, seen=seen):
            if kind == "comments":
                comments += sum(local_name(each) == "comment" for each in fromstring(package.read(name)).iter())
            elif kind == "drawing":
                shapes = (each for each in fromstring(package.read(name)).iter() if local_name(each) == "txBody")
                texts += map(words_of, shapes)
                charts = (chart for of, chart in _related(package, name, seen=seen) if of == "chart")
                texts += (chart_titles(fromstring(package.read(chart))) for chart in charts)
    return [text for text in texts if text], comments


def _related(package: zipfile.ZipFile, name: str, *, seen: set[str]) -> list[tuple[str, str]]:
    """The kinds and the names of the parts that a part refers to and that were not seen before."""
    from openpyxl.xml.functions import fromstring

    folder, file = posixpath.split(name)
    relations = f"{folder}/_rels/{file}.rels"
    if relations not in package.NameToInfo:
        return []
    parts = (
        (
            attribute(each, "Type").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, attribute(each, "Target")))[1:],
        )
        for each in fromstring(package.read(relations))
    )
    related = [(kind, part) for kind, part in parts if part in package.NameToInfo and part not in seen]
    seen.update(part for _, part in related)
    return related


def _place(name: bytes) -> tuple[int, int]:
    from openpyxl.utils.cell import coordinate_to_tuple

    return coordinate_to_tuple(name.decode())


def _tables(rows: Iterable[Iterable[Cell | MergedCell]], stored: _Stored, produced: Produced) -> Iterator[str]:
    """The text of each group of rows without a blank row between them."""
    group: list[list[GridCell]] = []
    indents: list[float] = []  # of the first cell of each row
    places = covered = 0
    for number, row in enumerate(rows, 1):
        places += 1  # a row numbered one billion has as many empty rows before it
        cells: list[GridCell] = []
        for at, cell in enumerate(row):
            places += 1
            if cell.value is not None and (text := _shown(cell)):
                width, height = stored.spans.get((number, at + 1), (1, 1))
                cells.append(GridCell(text, width, height, is_head=bool(cell.font.b), column=at))
                covered = max(covered, number + height - 1)
        if places > _MOST_PLACES:
            raise refused(produced.origin, "empty cells", limit=_MOST_PLACES)
        if cells or (group and number <= covered):
            group.append(cells)
            indents.append(next((_indent(cell) for cell in row if cell.value is not None), 0))
        elif group:
            yield sheet_markdown(_with_parents(group, indents), produced)
            group, indents = [], []
    if group:
        yield sheet_markdown(_with_parents(group, indents), produced)


def _indent(cell: Cell | MergedCell) -> float:
    text = str(cell.value)
    return float(cell.alignment.indent or 0) or len(text) - len(text.lstrip(" "))


def _with_parents(rows: list[list[GridCell]], indents: Sequence[float]) -> list[list[GridCell]]:
    """The rows, in which an indented name that stands several times begins with the names that it is indented under."""
    counts = Counter(row[0].text for row in rows if row)
    above: list[tuple[float, str]] = []
    for row, indent in zip(rows, indents, strict=True):
        above = [each for each in above if each[0] < indent]
        if row:
            above.append((indent, row[0].text))
        if len(above) > 1 and counts[row[0].text] > 1:
            row[0] = row[0]._replace(text=": ".join(name for _, name in above))
    return rows


def _shown(cell: Cell | MergedCell) -> str:
    """The value of a cell as a reader of the sheet sees it, numbers with all digits."""
    value, shape = cell.value, str(cell.number_format or "")
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return shown_number(value, shape)
    if isinstance(value, timedelta):  # a duration such as [h]:mm
        return shown(timedelta(seconds=round(value.total_seconds())))
    if isinstance(value, time) and "y" in literals(shape)[0].lower():  # day 0 of a workbook that counts from 1904
        value = datetime.combine(_EPOCH_1904, value)
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return value.isoformat() if isinstance(value, date | time) else clean_title(str(value))


def _openpyxl() -> Any:
    with needs_extra("xlsx", "reading XLSX"):
        import openpyxl
    return openpyxl


def _book(data: bytes) -> Workbook:
    """The workbook; a style without a pattern, of which openpyxl knows nothing, gets one, and a missing list of texts is empty."""
    openpyxl = _openpyxl()
    try:
        book: Workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except (TypeError, KeyError):
        mended = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(mended, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                part = old.read(name)
                new.writestr(name, _EMPTY_FILL.sub(b"<fill><patternFill/></fill>", part) if name == _STYLES else part)
            if _STRINGS not in old.namelist():
                new.writestr(_STRINGS, _NO_STRINGS)
        book = openpyxl.load_workbook(mended, read_only=True, data_only=True, keep_links=False)
    return book


def _properties(data: bytes) -> tuple[str, dict[str, MetadataValue]]:
    """The title and the core properties that the file itself holds; openpyxl invents missing ones."""
    from openpyxl.xml.functions import fromstring

    with zipfile.ZipFile(io.BytesIO(data)) as package:
        if _CORE not in package.namelist():
            return "", {}
        tree = fromstring(package.read(_CORE))
    values = {str(each.tag).rpartition("}")[2]: clean(each.text or "").strip() for each in tree}
    metadata: dict[str, MetadataValue] = {ours: values[name] for name, ours in _PROPERTIES.items() if values.get(name)}
    return given_title(clean_title(values.get("title", ""))), given_properties(metadata)


FORMAT = FileFormat(
    "xlsx",
    suffixes=(".xlsm", ".xlsx"),
    read=read_xlsx,
    mend="open it in a spreadsheet program and save it again",
    table=xlsx_table,
)
