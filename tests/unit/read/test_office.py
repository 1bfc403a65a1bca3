"""XLSX, PPTX and EPUB as documents."""

from __future__ import annotations

import io
import sys
import zipfile
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import openpyxl
import pptx
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from pptx.util import Inches

from hlgraph.errors import ReadError
from hlgraph.read import ReadFailure, read
from hlgraph.records import Document


def only(path: Path, data: bytes) -> Document | ReadError:
    path.write_bytes(data)
    [item] = read([str(path)])
    return item.error if isinstance(item, ReadFailure) else item


def workbook() -> bytes:
    book = openpyxl.Workbook()
    book.properties.title, book.properties.creator = "Pump Data", "Jane Doe"
    book.properties.created = datetime(2024, 3, 5, 10, tzinfo=UTC).replace(tzinfo=None)
    sheet = book.active
    sheet.title = "Prices"
    for row in (
        ["Prices of 2024"],
        [],
        [None, "Part", "Price", "Share", "Since"],
        [None, "Seal|ring", 3.5, 0.25, date(2024, 3, 5)],
        [None, "Rotor", 12.0, 0.75, datetime(2024, 3, 5, 10, 30, tzinfo=UTC).replace(tzinfo=None)],
    ):
        sheet.append(row)
    for cell in ("D4", "D5"):
        sheet[cell].number_format = "0.00%"
    book.create_sheet("Empty")
    book.create_sheet("Notes")["B3"] = "Oil it\nweekly."
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_workbook_is_its_sheets_with_their_tables(tmp_path: Path) -> None:
    found = only(tmp_path / "a.xlsx", workbook())
    assert isinstance(found, Document), found
    assert found.text == (
        "## Prices\n\nPrices of 2024\n\n"
        "| Part | Price | Share | Since |\n"
        "| --- | --- | --- | --- |\n"
        "| Seal\\|ring | 3.5 | 25% | 2024-03-05 |\n"
        "| Rotor | 12 | 75% | 2024-03-05T10:30:00 |\n\n"
        "## Notes\n\nOil it weekly."
    )
    assert found.title == "Pump Data"
    assert found.metadata == {"filename": "a.xlsx", "author": "Jane Doe", "created": "2024-03-05T10:00:00Z"}


def test_a_workbook_without_properties_makes_none_up(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            if not name.startswith("docProps"):
                after.writestr(name, before.read(name))
    found = only(tmp_path / "plain.xlsx", out.getvalue())
    assert isinstance(found, Document), found
    assert (found.title, dict(found.metadata)) == ("plain", {"filename": "plain.xlsx"})


def slides() -> bytes:
    show = pptx.Presentation()
    show.core_properties.title, show.core_properties.author = "Pumps", "Jane Doe"
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Service"
    first.placeholders[1].text = "Oil it weekly.\nThen wait."
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = show.slides.add_slide(show.slide_layouts[6])
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for row, cells in enumerate((("Part", "Price"), ("Seal", "3.50"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "in a group"
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def test_slides_are_pages_with_titles_tables_and_notes(tmp_path: Path) -> None:
    found = only(tmp_path / "a.pptx", slides())
    assert isinstance(found, Document), found
    one = "## Service\n\nOil it weekly.\nThen wait.\n\nNotes: Say it slowly."
    two = "| Part | Price |\n| --- | --- |\n| Seal | 3.50 |\n\nin a group"
    assert found.text == f"{one}\n\n{two}"
    assert found.page_starts == (0, len(one) + 2)
    assert (found.title, found.metadata["author"], found.metadata["slides"]) == ("Pumps", "Jane Doe", 2)


PAGE = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>{0}</title></head><body><h1>{0}</h1><p>{1}</p></body></html>"
CONTAINER = (
    "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
    "<rootfile full-path='OEBPS/book.opf' media-type='application/oebps-package+xml'/></rootfiles></container>"
)
PACKAGE = (
    "<package xmlns='http://www.idpf.org/2007/opf'><metadata xmlns:dc='http://purl.org/dc/elements/1.1/'>"
    "<dc:title>The Pump Book</dc:title><dc:creator>Jane Doe</dc:creator><dc:language>en</dc:language></metadata>"
    "<manifest><item id='b' href='two.xhtml' media-type='application/xhtml+xml'/>"
    "<item id='a' href='one%201.xhtml' media-type='application/xhtml+xml'/>"
    "<item id='n' href='nav.xhtml' properties='nav' media-type='application/xhtml+xml'/></manifest>"
    "<spine><itemref idref='n'/><itemref idref='a'/><itemref idref='b'/></spine></package>"
)


MADE = " ".join(f"The pump number {year} was made by ACME in {year} and runs at 40 bar." for year in range(1990, 1999))
OIL = " ".join(f"In {year} it needed oil every week, and a new seal every year." for year in range(1990, 1999))


def book(**more: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("mimetype", "application/epub+zip")
        package.writestr("META-INF/container.xml", CONTAINER)
        package.writestr("OEBPS/book.opf", PACKAGE)
        package.writestr("OEBPS/one 1.xhtml", PAGE.format("One", MADE))
        package.writestr("OEBPS/two.xhtml", PAGE.format("Two", OIL))
        package.writestr("OEBPS/nav.xhtml", PAGE.format("Contents", "One. Two."))
        for name, text in more.items():
            package.writestr(name.replace("__", "/"), text)
    return out.getvalue()


def test_a_book_is_its_chapters_in_reading_order(tmp_path: Path) -> None:
    found = only(tmp_path / "a.epub", book())
    assert isinstance(found, Document), found
    assert [line for line in found.text.splitlines() if line] == ["# One", MADE, "# Two", OIL]
    assert found.title == "The Pump Book"
    assert found.metadata == {"filename": "a.epub", "author": "Jane Doe", "language": "en"}


def test_an_encrypted_book_says_so_and_encrypted_fonts_do_not_matter(tmp_path: Path) -> None:
    locked = "<encryption><CipherReference URI='{}'/></encryption>"
    found = only(tmp_path / "a.epub", book(**{"META-INF__encryption.xml": locked.format("OEBPS/two.xhtml")}))
    assert isinstance(found, ReadError)
    assert found.reason == "is encrypted against copying (DRM)"
    fonts = only(tmp_path / "a.epub", book(**{"META-INF__encryption.xml": locked.format("OEBPS/font.otf")}))
    assert isinstance(fonts, Document)


@pytest.mark.parametrize("name", ["a.xlsx", "a.pptx", "a.epub"])
def test_what_is_no_such_file_says_why(tmp_path: Path, name: str) -> None:
    kind = name[2:].upper()
    whole = {"XLSX": workbook, "PPTX": slides, "EPUB": book}[kind]()
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as package:
        package.writestr("hello.txt", "words")
    for data in (b"", b"just words", whole[: len(whole) // 2], empty.getvalue()):
        found = only(tmp_path / name, data)
        assert isinstance(found, ReadError)
        assert found.reason.startswith(f"cannot be read as {kind} (")
        assert found.mend
    found = only(tmp_path / name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    assert isinstance(found, ReadError)
    assert found.reason == "is protected by a password, or is a file of Office 2003 or older"


@pytest.mark.parametrize(("name", "module"), [("a.xlsx", "openpyxl"), ("a.pptx", "pptx"), ("a.epub", "trafilatura")])
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    found = only(tmp_path / name, b"words")
    assert isinstance(found, ReadError)
    assert str(found).endswith(f"needs an optional dependency; run: pip install 'hlgraph[{name[2:]}]'")


def sheet_of(rows: list[list[object]], *, formats: dict[str, str] | None = None, merged: tuple[str, ...] = ()) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(row)
    for cell, shape in (formats or {}).items():
        sheet[cell].number_format = shape
    for place in merged:
        sheet.merge_cells(place)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "shape", "text"),
    [
        (12.5, '0.0"%"', "12.5%"),
        (0.125, "0.0%", "12.5%"),
        (12, '#,##0 "EUR"', "12 EUR"),
        (-12, '#,##0 "EUR";[Red]-#,##0 "EUR"', "-12 EUR"),
        (12.5, "[$€-407] #,##0.00", "€ 12.5"),
        (3, r"0\ \k\g", "3 kg"),
        (3, '_-* #,##0_-;-* #,##0_-;_-* "-"??_-', "3"),
        (7, "General", "7"),
        (timedelta(hours=30), "[h]:mm:ss", "30:00:00"),
        (date(2024, 3, 5), "dd.mm.yyyy", "2024-03-05"),
        (time(9, 30), "hh:mm", "09:30:00"),
    ],
)
def test_a_cell_reads_as_it_is_shown(tmp_path: Path, value: object, shape: str, text: str) -> None:
    found = only(tmp_path / "a.xlsx", sheet_of([["Part", "Value"], ["Seal", value]], formats={"B2": shape}))
    assert isinstance(found, Document), found
    assert found.text.splitlines()[-1] == f"| Seal | {text} |"


def test_the_first_day_of_a_workbook_that_counts_from_1904(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    for row in (["Part", "Since"], ["Seal", datetime(1904, 1, 1)], ["Rotor", datetime(1904, 1, 2)]):  # noqa: DTZ001
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    found = only(tmp_path / "a.xlsx", out.getvalue())
    assert isinstance(found, Document), found
    assert found.text.splitlines()[-2:] == ["| Seal | 1904-01-01 |", "| Rotor | 1904-01-02 |"]


def test_merged_cells_titles_and_sections_of_a_sheet(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["Units sold"],
        ["Region", "Product", "Units"],
        ["Zone NA"],
        ["North", "Hub", 7],
        [None, "Rim", 9],
        ["Total", None, 16],
    ]
    found = only(tmp_path / "a.xlsx", sheet_of(rows, merged=("A1:C1", "A3:C3", "A4:A5")))
    assert isinstance(found, Document), found
    assert found.text.splitlines()[2:] == [
        "Units sold",
        "",
        "|  | Region | Product | Units |",
        "| --- | --- | --- | --- |",
        "| Zone NA | North | Hub | 7 |",
        "| Zone NA | North | Rim | 9 |",
        "| Zone NA | Total |  | 16 |",
    ]


def test_formulas_without_a_stored_value_are_named(tmp_path: Path) -> None:
    found = only(tmp_path / "a.xlsx", sheet_of([["Part", "Price"], ["Seal", 3], ["Sum", "=SUM(B2:B2)"]]))
    assert isinstance(found, Document), found
    assert found.warnings == (
        "1 formulas have no stored value and were not read (Sheet!B3); open the workbook in a spreadsheet program and save it",
    )


def test_merged_cells_of_a_slide(tmp_path: Path) -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(1), Inches(4), Inches(2)).table
    for at, text in enumerate(("Region", "Product", "Units", "North", "Hub", "7", "", "Rim", "9")):
        table.cell(at // 3, at % 3).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    out = io.BytesIO()
    show.save(out)
    found = only(tmp_path / "a.pptx", out.getvalue())
    assert isinstance(found, Document), found
    assert found.text.splitlines()[-2:] == ["| North | Hub | 7 |", "| North | Rim | 9 |"]
