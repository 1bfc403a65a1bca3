"""Twenty tables from one description each, written in every format that has tables, and how many cells a reader labels right."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import docx
import openpyxl
import pptx
from docx.oxml import OxmlElement
from pptx.util import Inches
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer
from reportlab.platypus import Table as PdfTable

from hlgraph.extract.local._units import units
from hlgraph.text import BlockKind

BEFORE = "The pumps of Orne are described in the text before the table, which goes on for a while."
AFTER = "The text after the table says that all of them were made in Sarn by the same people."


class Place(NamedTuple):
    """A cell with its place and its span."""

    row: int
    column: int
    text: str
    width: int
    height: int


@dataclass(frozen=True)
class Description:
    """A table. Rows are lines with bars between cells; ``text>2`` spans two columns, ``text^2`` two rows.

    ``heads`` rows are the header. A row that begins with ``#`` names a section, one with ``=`` is a note; both span all columns.
    ``has_names`` says that the first cell of each row is a label.
    """

    name: str
    rows: tuple[str, ...]
    heads: int = 1
    caption: str = ""
    has_names: bool = False

    @cached_property
    def places(self) -> list[Place]:
        """The cells in the order of their rows."""
        taken: set[tuple[int, int]] = set()
        places: list[Place] = []
        for row, line in enumerate(self.rows):
            if line[:1] in "#=":
                places.append(Place(row, 0, line[1:].strip(), self.width, 1))
                continue
            column = 0
            for part in line.split("|"):
                text, _, width = part.strip().partition(">")
                text, _, height = text.partition("^")
                while (row, column) in taken:
                    column += 1
                place = Place(row, column, text.strip(), int(width or 1), int(height or 1))
                places.append(place)
                taken |= {(r, c) for r in range(row, row + place.height) for c in range(column, column + place.width)}
                column += place.width
        return places

    @cached_property
    def width(self) -> int:
        """Number of columns."""
        return sum(int(part.partition(">")[2] or 1) for part in self.rows[0].split("|"))

    @cached_property
    def full(self) -> list[list[str]]:
        """The text of each place, with spans filled."""
        full = [[""] * self.width for _ in self.rows]
        for place in self.places:
            for row in range(place.row, place.row + place.height):
                for column in range(place.column, place.column + place.width):
                    full[row][column] = place.text
        return full

    @cached_property
    def labels(self) -> list[str]:
        """The label of each column."""
        return [
            " ".join(dict.fromkeys(filter(None, column))) for column in zip(*self.full[: self.heads], strict=True)
        ] or [""] * self.width

    @cached_property
    def statements(self) -> list[list[str]]:
        """The parts of the statement of each row: ``label: value``, and the section without a label."""
        section = ""
        statements = []
        for row, line in enumerate(self.rows):
            if row < self.heads or line[:1] == "=":
                continue
            if line[:1] == "#":
                section = line[1:].strip()
                continue
            values = self.full[row]
            if self.has_names:
                parts = [f"{values[0]}: {values[1]}"]
            else:
                parts = [
                    f"{label}: {value}" if label else value
                    for label, value in zip(self.labels, values, strict=True)
                    if value
                ]
            statements.append([section, *parts] if section else parts)
            section = "" if values[0].lower().startswith(("total", "grand total")) else section
        return statements


TABLES = (
    Description("plain", ("Part | Price | Count", "Seal | 3.50 | 12", "Rotor | 120.00 | 3", "Hub | 45.25 | 40")),
    Description("rows spanned", ("Region | Product | Units", "North^2 | Hub | 7", "Rim | 9", "South^2 | Hub | 2", "Seal | 41"),
                caption="Table 2. Sales by region"),
    Description("last column spanned", ("Part | Count | Price", "Seal | 12 | 3.50^2", "Ring | 40", "Hub | 7 | 45.25")),
    Description("two headers", ("Region^2 | Units>2 | Sales>2", "2022 | 2023 | 2022 | 2023",
                                "North | 7 | 9 | 70 | 95", "South | 2 | 41 | 18 | 390"), heads=2,
                caption="Table 4. Units and sales"),
    Description("three headers", ("Site^3 | Output>4", "Day>2 | Night>2", "Min | Max | Min | Max",
                                  "Sarn | 1 | 20 | 3 | 40", "Tolk | 5 | 60 | 7 | 80"), heads=3),
    Description("title", ("Model | Power (kW) | Mass (kg)", "P-100 | 40 | 310", "P-200 | 75 | 522"), caption="Table 6. Pumps"),
    Description("sections", ("Product | Units", "# Zone NA", "Hub | 7", "Rim | 9", "Total | 16",
                             "# Zone EU", "Hub | 3", "Seal | 8", "Total | 11")),
    Description("sections of three columns", ("Item | 2023 | 2022", "# Current assets", "Cash | 5,234 | 4,900", "Stock | 120 | 98",
                "# Fixed assets", "Land | 700 | 700", "Plant | 1,450 | 1,610"), caption="Balance sheet (in thousands)"),
    Description("currency", ("Item | Price | Tax", "Seal | $3.50 | $0.70", "Rotor | $120.00 | $24.00", "Hub | $45.25 | $9.05")),
    Description("percent", ("Town | Share | Change", "Sarn | 12.5% | 3%", "Tolk | 40% | -2%", "Orne | 47.5% | 1%")),
    Description("empty cells", ("Part | May | June | July", "Seal | 12 |  | 40", "Rotor |  | 7 | 9", "Hub | 3 | 5 | ")),
    Description("long names", ("Part of the pump | Number of parts | Place",
                "Seal of the inner ring | 12 | Sarn", "Rotor with its shaft | 3 | Tolk",
                "Hub of the front wheel | 40 | Orne"), caption="Table 12. Parts and places"),
    Description("note", ("Product | Units | Returns", "Hub | 7 | 1", "Rim | 9 | 2", "= Figures without the shop in Tolk.")),
    Description("years", ("Item | 2021 | 2022 | 2023", "Hub | 7 | 9 | 11", "Rim | 2 | 41 | 60")),
    Description("words", ("Name | Role | Town", "Ada Falk | Engineer | Sarn", "Ben Moro | Clerk | Tolk",
                          "Ilse Tarn | Chair | Orne")),
    Description("names and values", ("Price | 5 EUR", "Weight | 3 kg", "Colour | red"), heads=0, has_names=True),
    Description("wide", ("Site | Jan | Feb | Mar | Apr | May | Jun | Jul", "Sarn | 11 | 12 | 13 | 14 | 15 | 16 | 17",
                "Tolk | 21 | 22 | 23 | 24 | 25 | 26 | 27", "Orne | 31 | 32 | 33 | 34 | 35 | 36 | 37")),
    Description("long", ("Part | Count", *(f"Part {number} | {3 * number}" for number in range(1, 81)))),
    Description("spanned in the body", ("Region | Hub | Rim", "North | 7 | 9", "South | 12>2", "West | 4 | 5")),
    Description("brackets", ("Item | Profit | Margin", "Hub | 1,234 | 4.5", "Rim | (567) | (2.1)", "Seal | 12,345,678 | 0.3")),
)  # fmt: skip


def _html(table: Description) -> str:
    lines: dict[int, list[str]] = {row: [] for row in range(len(table.rows))}
    for place in table.places:
        tag = "th" if place.row < table.heads or (table.has_names and not place.column) else "td"
        spans = (f" colspan={place.width}" if place.width > 1 else "") + (
            f" rowspan={place.height}" if place.height > 1 else ""
        )
        lines[place.row].append(f"<{tag}{spans}>{place.text}</{tag}>")
    caption = f"<caption>{table.caption}</caption>" if table.caption else ""
    rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in lines.values())
    return f"<table>{caption}{rows}</table>"


def html(table: Description) -> bytes:
    """A page."""
    return f"<html><body><main><p>{BEFORE}</p>{_html(table)}<p>{AFTER}</p></main></body></html>".encode()


def epub(table: Description) -> bytes:
    """A book of one chapter."""
    container = "<container><rootfiles><rootfile full-path='b.opf'/></rootfiles></container>"
    package = (
        "<package><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/></manifest>"
        "<spine><itemref idref='a'/></spine></package>"
    )
    quoted = re.sub(r"span=(\d+)", r"span='\1'", _html(table))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr("META-INF/container.xml", container)
        book.writestr("b.opf", package)
        book.writestr(
            "a.xhtml", f"<html><head><title/></head><body><p>{BEFORE}</p>{quoted}<p>{AFTER}</p></body></html>"
        )
    return out.getvalue()


def docx_file(table: Description) -> bytes:
    """A Word document."""
    word = docx.Document()
    word.add_paragraph(BEFORE)
    if table.caption:
        word.add_paragraph(table.caption)
    grid = word.add_table(rows=len(table.rows), cols=table.width)
    for place in table.places:
        first = grid.cell(place.row, place.column)
        first.merge(grid.cell(place.row + place.height - 1, place.column + place.width - 1))
        first.text = place.text
    for row in range(table.heads if len(table.name) % 2 else 0):  # many tables do not mark their header
        grid.rows[row]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    word.add_paragraph(AFTER)
    return _saved(word)


def pptx_file(table: Description) -> bytes:
    """A presentation of one slide."""
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, Inches(5), Inches(1)).text_frame.text = table.caption or BEFORE
    grid = slide.shapes.add_table(len(table.rows), table.width, 0, 0, Inches(8), Inches(4)).table
    grid.first_row = table.heads > 0
    for place in table.places:
        first = grid.cell(place.row, place.column)
        if place.width > 1 or place.height > 1:
            first.merge(grid.cell(place.row + place.height - 1, place.column + place.width - 1))
        first.text = place.text
    return _saved(show)


def xlsx(table: Description) -> bytes:
    """A workbook; its numbers are numbers, shown in the format that gives their text."""
    book = openpyxl.Workbook()
    sheet = book.active
    first = 1
    if table.caption:
        sheet.cell(1, 1, table.caption)
        first = 2 if len(table.caption) % 2 else 3
    for place in table.places:
        cell = sheet.cell(first + place.row, place.column + 1)
        if re.fullmatch(r"\d+(\.\d+)?", place.text) and place.row >= table.heads:
            decimals = len(place.text.partition(".")[2])
            cell.value, cell.number_format = float(place.text), f"#,##0.{'0' * decimals}" if decimals else "General"
        elif match := re.fullmatch(r"(-?[\d.]+)%", place.text):
            cell.value, cell.number_format = float(match[1]) / 100, "0.0%"
        elif match := re.fullmatch(r"\$([\d.]+)", place.text):
            cell.value, cell.number_format = float(match[1]), '"$"#,##0.00'
        else:
            cell.value = place.text or None
        if place.width > 1 or place.height > 1:
            sheet.merge_cells(
                start_row=first + place.row,
                end_row=first + place.row + place.height - 1,
                start_column=place.column + 1,
                end_column=place.column + place.width,
            )
    return _saved(book)


_SPACES = " ".join(
    f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("office", "table", "text")
)
_ODS = "application/vnd.oasis.opendocument.spreadsheet"
_MANIFEST = (
    "<m:manifest xmlns:m='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'>"
    f"<m:file-entry m:full-path='/' m:media-type='{_ODS}'/><m:file-entry m:full-path='content.xml' m:media-type='text/xml'/>"
    "</m:manifest>"
)


def ods(table: Description) -> bytes:
    """A sheet; covered cells stand in the places that a span takes."""
    lines: list[list[str]] = [[""] * table.width for _ in table.rows]
    for place in table.places:
        covered = "<table:covered-table-cell/>"
        for row in range(place.row, place.row + place.height):
            lines[row][place.column : place.column + place.width] = [covered] * place.width
        spans = f" table:number-columns-spanned='{place.width}' table:number-rows-spanned='{place.height}'"
        text = f"<text:p>{place.text}</text:p>" if place.text else ""
        kind = " office:value-type='string'" if text else ""
        lines[place.row][place.column] = f"<table:table-cell{kind}{spans}>{text}</table:table-cell>"
    above = f"<table:table-cell office:value-type='string'><text:p>{table.caption}</text:p></table:table-cell>"
    rows = [[above], *lines] if table.caption else lines
    body = "".join(f"<table:table-row>{''.join(cells)}</table:table-row>" for cells in rows)
    sheet = f"<office:spreadsheet><table:table table:name='Sheet1'>{body}</table:table></office:spreadsheet>"
    body = f"<office:body>{sheet}</office:body>"
    content = f"<office:document-content {_SPACES} office:version='1.3'>{body}</office:document-content>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, text in (("mimetype", _ODS), ("META-INF/manifest.xml", _MANIFEST), ("content.xml", content)):
            package.writestr(name, text)
    return out.getvalue()


def tsv(table: Description) -> bytes:
    """Lines of values between tabs."""
    return "\n".join("\t".join(cells) for cells in _flat(table)).encode()


def _saved(document: Any) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _pdf(table: Description, styles: list[tuple[Any, ...]]) -> bytes:
    full = [[""] * table.width for _ in table.rows]
    for place in table.places:
        full[place.row][place.column] = place.text
        end = (place.column + place.width - 1, place.row + place.height - 1)
        if (place.column, place.row) != end:
            styles = [
                *styles,
                ("SPAN", (place.column, place.row), end),
                ("VALIGN", (place.column, place.row), end, "TOP"),
            ]
            if place.width > 1 and place.width < table.width:
                styles = [*styles, ("ALIGN", (place.column, place.row), end, "CENTER")]
    drawn = PdfTable(full, style=styles, hAlign="LEFT", repeatRows=table.heads)
    out = io.BytesIO()
    parts = [Paragraph(BEFORE), Spacer(1, 12), drawn, Spacer(1, 12), Paragraph(AFTER)]
    if table.caption:
        parts.insert(2, Paragraph(table.caption))
    SimpleDocTemplate(out, pagesize=A4, invariant=1).build(parts)
    return out.getvalue()


_NUMBERS_RIGHT = ("ALIGN", (1, 0), (-1, -1), "RIGHT")


def pdf_ruled(table: Description) -> bytes:
    """A page with lines between all cells."""
    return _pdf(table, [("GRID", (0, 0), (-1, -1), 0.5, colors.black)])


def pdf_booktabs(table: Description) -> bytes:
    """A page with three horizontal lines."""
    lines = [("LINEABOVE", (0, 0), (-1, 0), 1, colors.black), ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black)]
    if table.heads:
        lines.append(("LINEBELOW", (0, table.heads - 1), (-1, table.heads - 1), 0.5, colors.black))
    return _pdf(table, [*lines, _NUMBERS_RIGHT])


def pdf_spaces(table: Description) -> bytes:
    """A page without lines."""
    return _pdf(table, [_NUMBERS_RIGHT])


def _flat(table: Description) -> Iterator[list[str]]:
    """The rows of formats without spans: one header, spans filled."""
    if table.heads:
        yield table.labels
    for row in range(table.heads, len(table.rows)):
        is_line = table.rows[row][:1] in "#="
        yield [table.full[row][0], *[""] * (table.width - 1)] if is_line else table.full[row]


def markdown(table: Description) -> bytes:
    """A Markdown file."""
    head, *rows = list(_flat(table)) if table.heads else [[""] * table.width, *_flat(table)]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * table.width, *rows)]
    return "\n\n".join(filter(None, (BEFORE, table.caption, "\n".join(lines), AFTER))).encode()


WRITERS: dict[str, tuple[str, Callable[[Description], bytes]]] = {
    "HTML": (".html", html),
    "DOCX": (".docx", docx_file),
    "PPTX": (".pptx", pptx_file),
    "XLSX": (".xlsx", xlsx),
    "ODS": (".ods", ods),
    "EPUB": (".epub", epub),
    "TSV": (".tsv", tsv),
    "Markdown": (".md", markdown),
    "PDF ruled": (".pdf", pdf_ruled),
    "PDF booktabs": (".pdf", pdf_booktabs),
    "PDF spaces": (".pdf", pdf_spaces),
}
"""By format, the suffix of its files and how a table is written."""


class Score(NamedTuple):
    """How many cells are in a statement with their label, with another label, and without one or missing."""

    right: int
    wrong: int
    bare: int

    @property
    def share(self) -> float:
        """The share of the cells that are right."""
        return self.right / max(1, sum(self))


def score(table: Description, text: str) -> Score:
    """Compare the statements of the rows of a text with those of a table.

    A label is wrong if it has a word that is neither in the right label nor in another cell of the row.
    """
    rows = [unit.text.split("; ") for unit in units(text, ()) if unit.kind is BlockKind.ROW]
    counts = [0, 0, 0]
    for expected in table.statements:
        row = max(rows, key=lambda parts: len({*map(_value, parts)} & {*map(_value, expected)}), default=[])
        cells = {word for part in expected for word in _value(part).split()}
        for part in expected:
            allowed = cells | {*part.rpartition(": ")[0].split()}
            same = [other for other in row if _value(other) == _value(part)]
            is_wrong = bool(same) and not any({*other.rpartition(": ")[0].split()} <= allowed for other in same)
            counts[0 if part in row else 1 if is_wrong else 2] += 1
    return Score(*counts)


def _value(part: str) -> str:
    return part.rpartition(": ")[2]
