"""Reader of XLSX workbooks: each sheet a heading and its tables as Markdown, with openpyxl.

A blank row ends a table, so a title above a table is not one of its rows. A formula gives the value stored in the file.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced, check_package, refused
from hlgraph.read.content import Origin, clean, clean_title
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import grid
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell, MergedCell

_MOST_ELEMENTS = 10_000_000  # a sheet is parsed row by row
_MOST_PLACES = 20_000_000  # rows and cells, including empty ones, which cost time but give no text
_CORE = "docProps/core.xml"
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
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("xlsx", "reading XLSX") from error
    produced = Produced(origin, len(data), options.max_bytes)
    blocks: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns about parts that it drops; none of them is text
        check_package(origin, data, limit=options.max_bytes, most=_MOST_ELEMENTS)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # the stored dimensions may be wrong
            tables = [produced.add(clean(text)) for text in _tables(sheet.iter_rows(), produced) if text]
            blocks += [f"## {clean_title(clean(sheet.title))}", *tables] if tables else []
        book.close()
        title, metadata = _properties(data)
    if not blocks:
        raise ReadError(origin.uri, "is empty: its sheets hold no text")
    return Document(origin.uri, "\n\n".join(blocks), title or clean_title(origin.stem), metadata)


def _tables(rows: Iterable[Iterable[Cell | MergedCell]], produced: Produced) -> Iterator[str]:
    """The text of each group of rows without a blank row between them."""
    group: list[dict[int, str]] = []
    places = 0
    for row in rows:
        places += 1  # a row numbered one billion has as many empty rows before it
        cells: dict[int, str] = {}
        for at, cell in enumerate(row):
            places += 1
            if cell.value is not None and (text := _shown(cell)):
                cells[at] = text
        if places > _MOST_PLACES:
            raise refused(produced.origin, "empty cells", limit=_MOST_PLACES)
        if cells:
            group.append(cells)
        elif group:
            yield _block(group, produced)
            group = []
    if group:
        yield _block(group, produced)


def _block(rows: list[dict[int, str]], produced: Produced) -> str:
    """A Markdown table, or plain lines if no row has two cells."""
    if all(len(cells) == 1 for cells in rows):
        return "\n".join(text for cells in rows for text in cells.values())
    first = min(min(cells) for cells in rows)
    moved = [{at - first: text for at, text in cells.items()} for cells in rows]
    return grid(moved, 1 + max(max(cells) for cells in moved), produced=produced)


def _shown(cell: Cell | MergedCell) -> str:
    value = cell.value
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            if "%" in str(cell.number_format):
                return f"{value * 100:.12g}%"
            return (
                str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
            )
        case datetime():
            return (value.date() if value.time() == time() else value).isoformat()
        case date() | time():
            return value.isoformat()
    return clean_title(str(value))


def _properties(data: bytes) -> tuple[str, dict[str, MetadataValue]]:
    """The title and the core properties that the file itself holds; openpyxl invents missing ones."""
    from openpyxl.xml.functions import fromstring

    with zipfile.ZipFile(io.BytesIO(data)) as package:
        if _CORE not in package.namelist():
            return "", {}
        tree = fromstring(package.read(_CORE))
    values = {str(each.tag).rpartition("}")[2]: clean(each.text or "").strip() for each in tree}
    metadata: dict[str, MetadataValue] = {ours: values[name] for name, ours in _PROPERTIES.items() if values.get(name)}
    return clean_title(values.get("title", "")), metadata


FORMAT = FileFormat(
    "xlsx", suffixes=(".xlsm", ".xlsx"), read=read_xlsx, mend="open it in a spreadsheet program and save it again"
)
