"""XLSX, PPTX and EPUB as documents."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import openpyxl
import pptx
import pytest
from office_files import paragraph, shape, slide_file, word_file
from openpyxl.styles import Alignment, Font
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from pptx.util import Inches

from hlgraph.errors import ReadError
from hlgraph.extract.local._units import units
from hlgraph.read import ReadFailure, read
from hlgraph.read.formats._blocks import slides as named_slides
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
    one = "## Service\n\n- Oil it weekly.\n- Then wait.\n\nNotes: Say it slowly."
    two = "## Slide 2\n\n| Part | Price |\n| --- | --- |\n| Seal | 3.50 |\n\nin a group"
    assert found.text == f"{one}\n\f\n{two}"
    assert found.page_starts == (0, len(one) + 3)
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
        members = {
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": PACKAGE,
            "OEBPS/one 1.xhtml": PAGE.format("One", MADE),
            "OEBPS/two.xhtml": PAGE.format("Two", OIL),
            "OEBPS/nav.xhtml": PAGE.format("Contents", "One. Two."),
            **{name.replace("__", "/"): text for name, text in more.items()},
        }
        for name, text in members.items():
            package.writestr(name, text)
    return out.getvalue()


def test_paragraphs_and_lists_of_links_and_a_last_heading_stay_in_a_chapter(tmp_path: Path) -> None:
    links = "".join(f"<p><a href='#{at}'>The story of pump {at}</a></p>" for at in range(4))
    items = "".join(f"<li><a href='#{at}'>See part {at}</a></li>" for at in range(4))
    chapter = PAGE.format("Two", f"{OIL}</p>{links}<ul>{items}</ul><h2>It was sold in 1999</h2><p>")
    found = only(tmp_path / "a.epub", book(**{"OEBPS__two.xhtml": chapter}))
    assert isinstance(found, Document), found
    lines = [line for line in found.text.splitlines() if line]
    stories, parts = ([f"{mark} {at}" for at in range(4)] for mark in ("The story of pump", "- See part"))
    assert lines[4:] == [*stories, *parts, "## It was sold in 1999"]
    assert found.warnings == ()


def test_a_page_that_only_links_to_the_chapters_of_a_book_is_no_text(tmp_path: Path) -> None:
    links = "".join(f"<p><a href='one%201.xhtml#{at}'>{at}. The story of a pump</a></p>" for at in range(4))
    found = only(tmp_path / "a.epub", book(**{"OEBPS__two.xhtml": PAGE.format("Contents", f"</p>{links}<p>")}))
    assert isinstance(found, Document), found
    assert found.text.startswith("# One")
    assert "story" not in found.text


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
    for cell, form in (formats or {}).items():
        sheet[cell].number_format = form
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
        (12.5, "[$€-407] #,##0.00", "€ 12.50"),
        (3, r"0\ \k\g", "3 kg"),
        (3, '_-* #,##0_-;-* #,##0_-;_-* "-"??_-', "3"),
        (7, "General", "7"),
        (timedelta(hours=30), "[h]:mm:ss", "30:00:00"),
        (-timedelta(minutes=90), "[h]:mm:ss", "-1:30:00"),
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


def test_a_name_beside_others_is_no_title_of_a_slide() -> None:
    pages = ["## Works\n\nIn May.", "Plan\n\n2024: permits\n\nBuild\n\n2025: piles", "Costs\n\nIt is dear."]
    assert [each.partition("\n")[0] for each in named_slides(pages)[1]] == ["## Works", "## Slide 2", "## Costs"]
    team = ["## Works\n\nIn May.", "Team\n\nAda Falk\n\nBen Moro\n\nThey build it."]
    assert named_slides(team)[1][1].startswith("## Team")


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


def read_slides(path: Path, *shapes: str, **parts: str) -> list[str]:
    """The lines of the slides with these shapes that are not empty."""
    document = only(path / "a.pptx", slide_file(*shapes, **parts))
    assert isinstance(document, Document), document
    return [line for line in document.text.splitlines() if line.strip()]


def frame(uri: str, inner: str) -> str:
    return (
        "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id='5' name='f'/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>"
        f"<p:xfrm/><a:graphic><a:graphicData uri='{uri}'>{inner}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def points(*values: object, kind: str = "num", shape: str = "") -> str:
    inner = "".join(f"<c:pt idx='{at}'><c:v>{value}</c:v></c:pt>" for at, value in enumerate(values))
    code = f"<c:formatCode>{shape}</c:formatCode>" if shape else ""
    return f"<c:{kind}Ref><c:f>A1</c:f><c:{kind}Cache>{code}{inner}</c:{kind}Cache></c:{kind}Ref>"


def series(name: str, values: str, categories: str = "") -> str:
    tx = f"<c:tx>{points(name, kind='str')}</c:tx>" if name else ""
    cat = f"<c:cat>{categories}</c:cat>" if categories else ""
    return f"<c:ser>{tx}{cat}<c:val>{values}</c:val></c:ser>"


def words(text: str) -> str:
    return f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{text}</a:t></a:r></a:p></c:rich></c:tx></c:title>"


YEARS = points("2023", "2024", kind="str")
CHART = frame("chart", "<c:chart r:id='rIdchart'/>")


@pytest.mark.parametrize(
    ("plots", "lines"),
    [
        (f"<c:barChart>{series('Hub', points(7, 9), YEARS)}{series('Rim', points(1.5, 2), YEARS)}</c:barChart>"
         f"<c:catAx>{words('Year')}</c:catAx><c:valAx>{words('EUR million')}</c:valAx>",
         ["Sales", "EUR million", "| Year | Hub | Rim |", "| --- | --- | --- |", "| 2023 | 7 | 1.5 |", "| 2024 | 9 | 2 |"]),
        (f"<c:pieChart>{series('Share', points(0.25, 0.75, shape='0%'), points('Hub', 'Rim', kind='str'))}</c:pieChart>",
         ["Sales", "|  | Share |", "| --- | --- |", "| Hub | 25% |", "| Rim | 75% |"]),
        (f"<c:lineChart>{series('Hub', points(7, 9), points(45292, 45658, shape='yyyy-mm-dd'))}</c:lineChart>",
         ["Sales", "|  | Hub |", "| --- | --- |", "| 2024-01-01 | 7 |", "| 2025-01-01 | 9 |"]),
        (f"<c:scatterChart><c:ser><c:tx><c:v>Run</c:v></c:tx><c:xVal>{points(1, 2)}</c:xVal><c:yVal>{points(3, 4)}</c:yVal></c:ser>"
         f"<c:ser><c:xVal>{points(5)}</c:xVal><c:yVal>{points(6)}</c:yVal></c:ser></c:scatterChart>",
         ["Sales", "|  | Run |", "| --- | --- |", "| 1 | 3 |", "| 2 | 4 |", "|  | Series 2 |", "| --- | --- |", "| 5 | 6 |"]),
        ("<c:barChart><c:ser><c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:lvl><c:pt idx='0'><c:v>May</c:v></c:pt>"
         "<c:pt idx='1'><c:v>June</c:v></c:pt></c:lvl><c:lvl><c:pt idx='0'><c:v>2024</c:v></c:pt></c:lvl></c:multiLvlStrCache>"
         f"</c:multiLvlStrRef></c:cat><c:val>{points(1, 2)}</c:val></c:ser></c:barChart>",
         ["Sales", "|  | Series 1 |", "| --- | --- |", "| 2024 May | 1 |", "| 2024 June | 2 |"]),
        ("", ["Sales"]),
    ],
)  # fmt: skip
def test_a_chart_is_a_table_of_its_categories_and_series(tmp_path: Path, plots: str, lines: list[str]) -> None:
    chart = f"<c:chart>{words('Sales')}<c:plotArea>{plots}</c:plotArea></c:chart>"
    assert read_slides(tmp_path, CHART, chart=chart) == lines
    drawing = "<w:drawing><a:graphic><a:graphicData><c:chart r:id='rIdchart'/></a:graphicData></a:graphic></w:drawing>"
    document = only(tmp_path / "a.docx", word_file(paragraph(f"<w:r>{drawing}</w:r>"), chart=chart))
    assert isinstance(document, Document), document
    assert [line for line in document.text.splitlines() if line] == lines


def test_smart_art_is_a_nested_list(tmp_path: Path) -> None:
    nodes = "".join(
        f"<dgm:pt modelId='{key}' type='{kind}'><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>"
        for key, kind, text in (
            ("0", "doc", ""),
            ("1", "node", "Plan"),
            ("2", "node", "Build"),
            ("3", "asst", "Test"),
            ("9", "pres", "x"),
        )
    )
    links = "".join(
        f"<dgm:cxn modelId='{number}' srcId='{above}' destId='{below}' srcOrd='{order}'/>"
        for number, (above, below, order) in enumerate((("0", "2", 1), ("0", "1", 0), ("1", "3", 0), ("3", "1", 0)))
    )
    data = f"<dgm:ptLst>{nodes}</dgm:ptLst><dgm:cxnLst>{links}</dgm:cxnLst>"
    shapes = frame("diagram", "<dgm:relIds r:dm='rIddiagramData' r:lo='x'/>")
    assert read_slides(tmp_path, shapes, diagramData=data) == ["- Plan", "    - Test", "- Build"]
    lines = read_slides(tmp_path, f"{shape('Words of another box')}{shapes}", diagramData=data)
    assert [each.text for each in units("\n\n".join(lines), ())] == [
        "Words of another box",
        "Plan",
        "Plan: Test",
        "Build",
    ]


def numbered(text: str, kind: str = "arabicPeriod", more: str = "") -> str:
    return f"<a:pPr {more}><a:buAutoNum type='{kind}'/></a:pPr><a:r><a:t>{text}</a:t></a:r>"


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        (shape("Never do this:", "<a:pPr lvl='1'/><a:r><a:t>Open it.</a:t></a:r>", kind="body"),
         ["- Never do this:", "    - Open it."]),
        (shape("Only one.", kind="body"), ["Only one."]),
        (shape("First.", "Second."), ["First.", "Second."]),
        (shape(numbered("Open"), numbered("Close"), "Then:", numbered("Wait")), ["1. Open", "2. Close", "Then:", "1. Wait"]),
        (shape(numbered("Open", "alphaLcParenR"), numbered("Deep", "romanUcParenBoth", "lvl='1'"),
               numbered("Close", "alphaLcParenR")),
         ["a) Open", "    (I) Deep", "b) Close"]),
        (shape("Page 1 of it", kind="sldNum"), []),
        (shape("<a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline='30000'/><a:t>6</a:t></a:r><a:br/>"
               "<a:r><a:t>m</a:t></a:r>"), ["10⁶", "m"]),
        (shape("<a:r><a:t>At </a:t></a:r><mc:AlternateContent><mc:Choice Requires='a14'><a14:m><m:oMath><m:r><m:t>x=1</m:t></m:r>"
               "</m:oMath></a14:m></mc:Choice><mc:Fallback><a:r><a:t>picture</a:t></a:r></mc:Fallback></mc:AlternateContent>"),
         ["At x=1"]),
        (f"<mc:AlternateContent><mc:Choice Requires='a14'>{shape('In a choice.')}</mc:Choice>"
         f"<mc:Fallback>{shape('In a fallback.')}</mc:Fallback></mc:AlternateContent>", ["In a choice."]),
        (f"<p:grpSp>{shape('Outer.')}<p:grpSp>{shape('Inner.')}</p:grpSp></p:grpSp>", ["Outer.", "Inner."]),
    ],
)  # fmt: skip
def test_text_of_every_shape_is_kept(tmp_path: Path, markup: str, lines: list[str]) -> None:
    assert read_slides(tmp_path, markup + shape("End.")) == [*lines, "End."]


def test_a_footer_of_all_slides_stands_once(tmp_path: Path) -> None:
    footer = shape("ACME, secret", kind="ftr", number=9)
    assert read_slides(tmp_path, shape("One.") + footer, shape("Two.") + footer) == ["One.", "ACME, secret", "Two."]


TITLES = (
    "<dc:title id='s'>A Manual</dc:title><meta refines='#s' property='title-type'>subtitle</meta>"
    "<dc:title id='t'>Pumps</dc:title><meta refines='#t' property='title-type'>main</meta>"
)


@pytest.mark.parametrize(
    ("metadata", "title", "expected"),
    [
        (
            "<dc:creator>Jane Doe</dc:creator><dc:creator>Ada Falk</dc:creator>",
            "a",
            {"author": ("Jane Doe", "Ada Falk")},
        ),
        (TITLES, "Pumps", {"subtitle": "A Manual"}),
        ("<dc:title>Pumps</dc:title><dc:title>Other</dc:title>", "Pumps", {}),
        ("<dc:creator>Jane <i>Doe</i></dc:creator><dc:creator>Jane Doe</dc:creator>", "a", {"author": "Jane Doe"}),
        ("<dc:title> </dc:title>", "a", {}),
    ],
)
def test_authors_and_titles_of_a_book(tmp_path: Path, metadata: str, title: str, expected: dict[str, object]) -> None:
    start, end = PACKAGE.index("<dc:title>"), PACKAGE.index("</metadata>")
    document = only(tmp_path / "a.epub", book(**{"OEBPS__book.opf": PACKAGE[:start] + metadata + PACKAGE[end:]}))
    assert isinstance(document, Document), document
    assert (document.title, document.metadata) == (title, {"filename": "a.epub", **expected})


def test_chapters_that_are_not_read_are_named(tmp_path: Path) -> None:
    package = PACKAGE.replace(
        "</spine>", "<itemref idref='gone'/><itemref idref='p'/><itemref idref='c'/></spine>"
    ).replace(
        "</manifest>",
        "<item id='p' href='cover.svg' media-type='image/svg+xml'/>"
        "<item id='c' href='three.xhtml' media-type='application/xhtml+xml'/></manifest>",
    )
    document = only(tmp_path / "a.epub", book(**{"OEBPS__book.opf": package}))
    assert isinstance(document, Document), document
    assert document.warnings == (
        "3 chapters are missing or no text and were not read (gone, OEBPS/cover.svg, OEBPS/three.xhtml)",
    )


def test_a_note_of_a_book_follows_its_paragraph_and_lost_text_is_named(tmp_path: Path) -> None:
    body = (
        f"{MADE}<a epub:type='noteref' href='#n'>1</a></p><p>{OIL}</p><aside epub:type='footnote' id='n'>In Sarn.</aside>"
        "<div class='sidebar'><p>Recall of the pump in 2001.</p></div><p>"
    )
    page = PAGE.format("One", body).replace("<html", "<html xmlns:epub='http://www.idpf.org/2007/ops'")
    document = only(tmp_path / "a.epub", book(**{"OEBPS__one 1.xhtml": page}))
    assert isinstance(document, Document), document
    assert f"{MADE}[1]\n\n[1] In Sarn.\n\n{OIL}" in "\n\n".join(line for line in document.text.splitlines() if line)
    assert all("Recall" in document.text or "Recall" in warning for warning in document.warnings or [document.text])


def test_a_style_without_a_pattern_is_no_reason_to_refuse_a_workbook(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            part = before.read(name)
            after.writestr(
                name, part.replace(b'<fills count="2"><fill><patternFill/></fill>', b'<fills count="2"><fill/>')
            )
    assert b"<fill/>" in zipfile.ZipFile(out).read("xl/styles.xml")
    found = only(tmp_path / "a.xlsx", out.getvalue())
    whole = only(tmp_path / "b.xlsx", workbook())
    assert isinstance(found, Document)
    assert isinstance(whole, Document)
    assert found.text == whole.text


def test_texts_in_their_cells_need_no_list_of_texts(tmp_path: Path) -> None:
    """As some programs write workbooks: the list that they declare is missing."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            part = before.read(name)
            is_sheet = name == "xl/worksheets/sheet1.xml"
            row = b'<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Rope</t></is></c></row></sheetData>'
            part = re.sub(rb"(?s)<sheetData>.*</sheetData>", row, part) if is_sheet else part
            if name != "xl/sharedStrings.xml":
                after.writestr(name, part)
    found = only(tmp_path / "a.xlsx", out.getvalue())
    assert isinstance(found, Document)
    assert "Rope" in found.text


def test_a_bold_row_is_the_header_of_two_columns_of_words(tmp_path: Path) -> None:
    sheets = {}
    for is_bold in (True, False):
        made = openpyxl.Workbook()
        for row in (["Code", "Meaning"], ["A", "accepted"], ["R", "rejected"]):
            made.active.append(row)
        for cell in made.active[1]:
            cell.font = Font(bold=is_bold)
        out = io.BytesIO()
        made.save(out)
        found = only(tmp_path / "a.xlsx", out.getvalue())
        assert isinstance(found, Document)
        sheets[is_bold] = found.text.splitlines()[2]
    assert sheets == {True: "| Code | Meaning |", False: "|  |  |"}


@pytest.mark.parametrize("by", ["alignment", "blanks"])
def test_an_indented_name_that_stands_twice_in_a_sheet_has_those_above_it(tmp_path: Path, by: str) -> None:
    made = openpyxl.Workbook()
    rows = (("Row", 0, 2023), ("Holm", 0, 120), ("Pipes", 1, 100), ("Valves", 1, 20), ("Elm", 0, 77), ("Pipes", 1, 77))
    for at, (name, indent, value) in enumerate(rows, 1):
        made.active.append([name if by == "alignment" else f"{'   ' * indent}{name}", value])
        made.active.cell(at, 1).alignment = Alignment(indent=indent if by == "alignment" else 0)
    out = io.BytesIO()
    made.save(out)
    found = only(tmp_path / "a.xlsx", out.getvalue())
    assert isinstance(found, Document)
    shown = [line for line in found.text.splitlines() if line.startswith("| ")][2:]
    assert shown == [
        "| Holm | 120 |",
        "| Holm: Pipes | 100 |",
        "| Valves | 20 |",
        "| Elm | 77 |",
        "| Elm: Pipes | 77 |",
    ]


def test_the_name_and_the_role_in_a_box_of_a_slide_are_one_line(tmp_path: Path) -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    for text in ("Ada Falk\nHead of maintenance", "It runs.\nIt is red.", "1. Open\n2. Close"):
        slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = text
    out = io.BytesIO()
    show.save(out)
    found = only(tmp_path / "a.pptx", out.getvalue())
    assert isinstance(found, Document)
    assert "Ada Falk, Head of maintenance\n\nIt runs.\n\nIt is red.\n\n1. Open\n\n2. Close" in found.text
