import io
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

import matplotlib as mpl
import pytest
from growth import assert_linear
from office_files import shape, slide_file
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, StreamObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table

from hlgraph import connect
from hlgraph.errors import ReadError
from hlgraph.read import ReadFailure, ReadOptions, read
from hlgraph.read.pdf_tables import PageTexts
from hlgraph.read.print_order import (
    PrintedLine,
    in_reading_order,
    rejoined,
    with_bullets,
    with_headings,
    without_running_lines,
)
from hlgraph.read.tables import tables_in
from hlgraph.records import Document
from hlgraph.retrieve.evidence.tables import cells
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.text import BlockKind, blocks


def pdf(pages: Sequence[str], title: str = "", author: str = "") -> bytes:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1, pageCompression=1)
    canvas.setTitle(title)
    canvas.setAuthor(author)
    for page in pages:
        for number, line in enumerate(page.splitlines()):
            canvas.drawString(72, 760 - 16 * number, line)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def placed(*lines: Sequence[tuple[float, str]]) -> bytes:
    """A page whose words stand at places: a place is where a number ends, or where other words begin."""
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.setFont("Helvetica", 9)
    for number, line in enumerate(lines):
        for x, words in line:
            draw = canvas.drawRightString if words[-1].isdigit() else canvas.drawString
            draw(x, 760 - 14 * number, words)
    canvas.save()
    return data.getvalue()


def locked(data: bytes, password: str, algorithm: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(user_password=password, owner_password="owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def only(path: Path, data: bytes, options: ReadOptions | None = None) -> Document | ReadError:
    path.write_bytes(data)
    [item] = read([str(path)], options)
    return item.error if isinstance(item, ReadFailure) else item


def test_pages_are_joined_and_their_starts_are_known(tmp_path: Path) -> None:
    data = pdf(["First page\nof words", "", "Third page"], title="A  Title", author="Jane Doe")
    found = only(tmp_path / "a.pdf", data)
    assert isinstance(found, Document)
    assert found.text == "First page\nof words\n\f\n\n\f\nThird page"
    assert [found.text[start:].split("\n\f")[0] for start in found.page_starts] == [
        "First page\nof words",
        "",
        "Third page",
    ]
    assert found.title == "A Title"
    assert found.metadata == {
        "filename": "a.pdf",
        "author": "Jane Doe",
        "created": "2000-01-01T00:00:00+00:00",
        "pages": 3,
    }


def test_title_is_the_file_name_when_the_file_has_none(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(["words"]))))
    writer.metadata = None
    out = io.BytesIO()
    writer.write(out)
    found = only(tmp_path / "report 7.pdf", out.getvalue())
    assert isinstance(found, Document)
    assert (found.title, dict(found.metadata)) == ("report 7", {"filename": "report 7.pdf", "pages": 1})


def test_a_creation_date_that_is_none_does_not_lose_the_text(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(["words"]))))
    writer.add_metadata({"/CreationDate": "last Tuesday", "/Author": "Jo"})
    out = io.BytesIO()
    writer.write(out)
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    assert found.metadata == {"filename": "a.pdf", "author": "Jo", "pages": 1}


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_a_password_is_needed_or_not(tmp_path: Path, algorithm: str) -> None:
    data = pdf(["secret words"])
    found = only(tmp_path / "a.pdf", locked(data, "open sesame", algorithm))
    assert isinstance(found, ReadError)
    assert found.reason == "is protected by a password"
    assert "qpdf --decrypt" in found.mend
    found = only(tmp_path / "a.pdf", locked(data, "", algorithm))
    assert isinstance(found, Document)
    assert found.text == "secret words"


def test_no_text_layer_is_a_failure_that_names_ocr(tmp_path: Path) -> None:
    found = only(tmp_path / "a.pdf", pdf(["", ""]))
    assert isinstance(found, ReadError)
    assert "no text layer" in found.reason
    assert "OCR" in found.mend


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
def test_a_cut_off_file_is_a_failure_or_whole(tmp_path: Path, cut: float) -> None:
    whole = pdf(["some words of a page"] * 3)
    found = only(tmp_path / "a.pdf", whole[: int(len(whole) * cut)])
    assert isinstance(found, ReadError) or found.text.count("some words") == 3
    assert isinstance(only(tmp_path / "b.pdf", b""), ReadError)
    assert isinstance(only(tmp_path / "c.pdf", b"no pdf at all"), ReadError)


def test_a_damaged_page_is_named(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(["one", "two"]))))
    contents = writer.pages[1]["/Contents"].get_object()
    contents[NameObject("/Filter")] = NameObject("/Unheard")
    out = io.BytesIO()
    writer.write(out)
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, ReadError)
    assert found.reason.startswith("page 2 cannot be read as PDF")
    assert "qpdf" in found.mend


def test_the_limit_holds_for_the_file_and_for_its_text(tmp_path: Path) -> None:
    data = pdf(["\n".join(["x" * 100] * 40)] * 20)
    assert len(data) < 40_000
    found = only(tmp_path / "a.pdf", data, ReadOptions(max_bytes=1000))
    assert isinstance(found, ReadError)
    assert found.reason == "is larger than 1,000 bytes"
    found = only(tmp_path / "b.pdf", data, ReadOptions(max_bytes=40_000))
    assert isinstance(found, ReadError)
    assert found.reason == "holds more than 40,000 characters"
    assert isinstance(only(tmp_path / "c.pdf", data, ReadOptions(max_bytes=100_000)), Document)


TABLE = (
    [(200.0, "Sales (in millions)")],
    [(300.0, "2023"), (380.0, "2022")],
    [(60.0, "Revenue:")],
    [(60.0, "Goods"), (300.0, "5,234"), (380.0, "4,900")],
    [(60.0, "Services"), (300.0, "12"), (380.0, "9")],
)


def test_a_table_of_numbers_becomes_markdown_and_spans_stay_exact(tmp_path: Path) -> None:
    writer = PdfWriter()
    for data in (pdf(["The first page."]), placed([(60.0, "Words above.")], *TABLE, [(60.0, "Words below.")])):
        writer.append(io.BytesIO(data))
    out = io.BytesIO()
    writer.write(out)
    document = only(tmp_path / "x.pdf", out.getvalue())
    assert isinstance(document, Document)
    assert document.text[document.page_starts[1] :] == (
        "Words above.\nSales (in millions)\n\n|  |  | 2023 | 2022 |\n| --- | --- | --- | --- |\n"
        "| Revenue | Goods | 5,234 | 4,900 |\n| Revenue | Services | 12 | 9 |\n\nWords below."
    )
    [first, *_] = cells(document.text)
    assert (first.row, first.column, first.caption) == ("Revenue, Goods", "2023", "Sales (in millions)")
    assert document.text[first.start : first.end] == "| Revenue | Goods | 5,234 | 4,900 |"


def test_a_page_of_text_in_columns_is_read_in_its_own_order(tmp_path: Path) -> None:
    prose = [[(60.0, f"left words {number} go on"), (330.0, f"right words {number} go on")] for number in range(8)]
    plain = only(tmp_path / "a.pdf", placed(*prose, *TABLE))
    assert isinstance(plain, Document)
    assert plain.text.index("left words 0") < plain.text.index("right words 0") < plain.text.index("| Goods | 5,234 |")


@pytest.mark.parametrize(
    "places", [(0, 12, 24, 44, 64), (0, 20, 40, 52, 64)]
)  # the words of a cell stand below or above its row
def test_a_cell_of_several_lines_belongs_to_the_row_that_it_is_nearer_to(places: Sequence[int], tmp_path: Path) -> None:
    below = places[1] == 12
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4)
    columns = (60.0, 100.0, 300.0, 400.0, 500.0)

    def draw(y: float, *texts: str) -> None:
        for x, text in zip(columns, texts, strict=False):
            (canvas.drawRightString if text[-1:].isdigit() and x > 200 else canvas.drawString)(x, y, text)

    draw(760, "Pos", "Description", "Qty", "Price", "Sum")
    row, others = ("1", "Paint, white", "46", "12.50", "575.00"), ["silk gloss", "washable"]
    last = ("2", "Scaffold", "2", "80.00", "160.00")
    drawn = [row, *(("", each) for each in others), last, ("3", "Tape", "5", "1.00", "5.00")]
    if not below:
        drawn = [
            last,
            ("1", "Tape", "5", "1.00", "5.00"),
            ("", "Paint, white"),
            ("", "silk gloss"),
            ("3", "washable", *row[2:]),
        ]
    for place, texts in zip(places, drawn, strict=True):
        draw(740 - place, *texts)
    canvas.drawString(60, 640, "Payable within 14 days.")
    canvas.save()
    found = only(tmp_path / "a.pdf", data.getvalue())
    assert "| Paint, white silk gloss washable | 46 | 12.50 | 575.00 |" in found.text


@pytest.mark.parametrize(
    ("line", "is_heading"),
    [
        ("Opening hours", True),
        ("Notes on the method", True),
        ("Table of fees", True),
        ("Note", False),
        ("WARNING", False),
        ("Figure 3.2. The lock", False),
        ("Table 1: Fees in euros", False),
        ("Abb. 4 Die Schleuse", False),
        ("Part 2: from 1990 on", True),
        ("Facture : 01/01/2026", False),
        ("Date: 3 May Place: Sarn", False),
    ],
)
def test_captions_and_the_words_above_a_box_head_no_text(line: str, is_heading: bool) -> None:
    printed = [PrintedLine(line, 12, True, 700), *(PrintedLine("It is open.", 10, False, 680 - at) for at in (0, 12))]
    [page] = with_headings([f"{line}\nIt is open.\nIt is open."], [printed])
    assert page.startswith("# ") == is_heading


def test_the_header_of_a_table_that_stands_on_several_pages_heads_no_text() -> None:
    printed = [[PrintedLine("Item Use", 12, True, 700, (), True), PrintedLine("A pump", 10, False, 680)]] * 2
    assert with_headings(["Item Use\nA pump"] * 2, printed) == ["Item Use\n\nA pump"] * 2


def test_a_title_above_numbered_parts_of_its_size_is_the_title_of_the_file(tmp_path: Path) -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4)
    for place, (size, text) in enumerate(
        [(18, "Annual Report"), (18, "1 Summary"), *[(10, "The trust planted trees.")] * 5]
    ):
        canvas.setFont("Helvetica", size)
        canvas.drawString(60, 760 - 30 * place, text)
    canvas.save()
    assert only(tmp_path / "a.pdf", data.getvalue()).title == "Annual Report"


def test_a_table_of_contents_is_no_table(tmp_path: Path) -> None:
    parts = [("1", "Scope", "2"), ("1.1", "Terms", "2"), ("2", "Use of it", "5")]
    rows = [list(zip((60.0, 90.0, 400.0), part, strict=True)) for part in parts]
    document = only(tmp_path / "a.pdf", placed([(60.0, "Contents")], *rows, [(60.0, "It begins here.")]))
    assert "|" not in document.text
    assert "1.1 Terms" in document.text


def test_the_two_sides_of_a_letterhead_do_not_cost_the_items_their_labels(tmp_path: Path) -> None:
    sides = [("Malerei Huber", "Invoice no.: 2024-117"), ("Ringstrasse 5", "Date: 12 March"), ("4020 Linz", "Page 1")]
    letterhead = [[(60.0, left), (400.0, right)] for left, right in sides]
    items = [("Pos", "Description", "Qty", "Price"), ("1", "Painting", "46", "12.50"), ("2", "Scaffold", "2", "80.00")]
    rows = [list(zip((60.0, 100.0, 300.0, 400.0), row, strict=True)) for row in items]
    document = only(tmp_path / "a.pdf", placed(*letterhead, *rows, [(60.0, "Payable within 14 days.")]))
    assert (
        "| Pos | Description | Qty | Price |\n| --- | --- | --- | --- |\n| 1 | Painting | 46 | 12.50 |" in document.text
    )


@pytest.mark.parametrize("layout", ["", "2023 2022", RuntimeError("broken")])
def test_a_layout_that_loses_text_is_not_used(
    layout: str | Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def laid_out(_texts: PageTexts, _index: int) -> str:
        if isinstance(layout, Exception):
            raise layout
        return layout

    monkeypatch.setattr(PageTexts, "laid_out", laid_out)
    document = only(tmp_path / "x.pdf", placed(*TABLE))
    assert isinstance(document, Document)
    assert document.text.split() == [
        "Sales",
        "(in",
        "millions)",
        "2023",
        "2022",
        "Revenue:",
        "Goods",
        "5,234",
        "4,900",
        "Services",
        "12",
        "9",
    ]


def ruled(rows: Sequence[Sequence[str]], *, beside: str = "") -> bytes:
    """A page with a table of ruled lines between two paragraphs."""
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.setFont("Helvetica", 9)
    canvas.drawString(72, 780, "The pumps of ACME are listed below.")
    places, bottom = [72.0, 172.0, 272.0, 372.0][: len(rows[0]) + 1], 760 - 18 * len(rows)
    canvas.grid(places, [760 - 18.0 * number for number in range(len(rows) + 1)])
    for number, cells_of_row in enumerate(rows):
        for at, words in enumerate(cells_of_row):
            canvas.drawString(places[at] + 4, 760 - 18 * number - 13, words)
    canvas.drawString(400, 750, beside)
    canvas.drawString(72, bottom - 30, "All of them need oil every week.")
    canvas.save()
    return data.getvalue()


PUMPS = [["Pump", "Made by", "Bar"], ["P-100", "ACME", "40"], ["P-200", "Orne", "25"]]


def test_a_ruled_table_becomes_rows_with_labels_and_spans_stay_exact(tmp_path: Path) -> None:
    found = only(tmp_path / "a.pdf", ruled(PUMPS))
    assert isinstance(found, Document)
    assert found.text == (
        "The pumps of ACME are listed below.\n\n"
        "| Pump | Made by | Bar |\n| --- | --- | --- |\n| P-100 | ACME | 40 |\n| P-200 | Orne | 25 |\n\n"
        "All of them need oil every week."
    )
    first, _ = cells(found.text)
    assert (first.row, first.column) == ("P-100, ACME", "Bar")
    assert found.text[first.start : first.end] == "| P-100 | ACME | 40 |"


def test_a_table_in_one_of_two_columns_of_text_stays_in_that_column(tmp_path: Path) -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4)
    for x, side in ((60, "left"), (320, "right")):
        for at in range(20):
            if side == "right" or at not in range(6, 12):
                canvas.drawString(x, 760 - 14 * at, f"The {side} column has line {at}")
            elif at == 6:
                table = Table(PUMPS[:2], style=[("GRID", (0, 0), (-1, -1), 1, "black")])
                table.wrapOn(canvas, 200, 200)
                table.drawOn(canvas, 60, 610)
    canvas.save()
    found = only(tmp_path / "a.pdf", data.getvalue())
    order = ["left column has line 5", "| Pump |", "left column has line 12", "right column has line 0"]
    assert sorted(order, key=found.text.index) == order


def test_text_beside_a_ruled_table_is_not_lost(tmp_path: Path) -> None:
    found = only(tmp_path / "a.pdf", ruled(PUMPS, beside="Text beside the table."))
    assert isinstance(found, Document)
    assert "\n\nText beside the table.\n\n" in found.text
    assert "| P-100 | ACME | 40 |" in found.text


def test_a_box_inside_a_cell_is_no_cell(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    page.grid([60, 160, 400], [600, 640, 660, 680])
    texts = ((70, 667, "Part"), (170, 667, "Use"), (70, 647, "Seal"), (170, 647, "Shuts it."), (70, 620, "Rotor"))
    for left, top, text in (*texts, (170, 626, "Turns it."), (180, 610, "As we think?")):
        page.drawString(left, top, text)
    page.rect(160, 600, 140, 22)  # in its corner
    page.save()
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    assert found.text.split("\n")[2:] == [
        "| Part | Use |",
        "| Seal | Shuts it. |",
        "| Rotor | Turns it. As we think? |",
    ]


def test_a_page_that_pdfplumber_cannot_read_keeps_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr("pdfplumber.table.TableFinder", broken)
    found = only(tmp_path / "a.pdf", ruled(PUMPS))
    assert isinstance(found, Document)
    assert "P-200" in found.text


BROKEN = "The pump has many capa-\nbilities and a price-\ndetermining part."


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("Its capa-\nbilities grow.", "Its capabilities\ngrow."),
        ("Its capa-\nbilities.", "Its capabilities."),
        ("Call 75\u00ad\n724 or 7\u00adfold.", "Call 75-724\nor 7fold."),
        ("Its capabilities grow. The capa-\nbilities stay.", "Its capabilities grow. The capabilities\nstay."),
        (
            "A price-\ndetermining part. Its price is determining.",
            "A price-determining\npart. Its price is determining.",
        ),
        ("Well-known. It is a well-\nknown pump.", "Well-known. It is a well-known\npump."),
        ("From 2019-\n2020 it ran.", "From 2019-2020\nit ran."),
        ("The Anglo-\nSaxon pump.", "The Anglo-Saxon\npump."),
        ("The UNITED CAPA-\nBILITIES of it.", "The UNITED CAPABILITIES\nof it."),
        ("In pre-\nand post-war pumps.", "In pre-\nand post-war pumps."),
        ("A long-\nstand-\ning rule.", "A longstanding\nrule."),
        ("It runs -\nand stops.", "It runs -\nand stops."),
        ("Its capa-\n\nbilities.", "Its capa-\n\nbilities."),
        ("The soft\u00adly \u00adrun ca\u00ad\npa.", "The softly run capa."),
        ("Die Stromver-\nsorgung läuft.", "Die Stromversorgung\nläuft."),
    ],
)
def test_words_divided_at_the_end_of_a_line_are_whole_again(lines: str, text: str) -> None:
    assert rejoined([lines]) == [text]


def test_the_lexicon_is_the_whole_document(tmp_path: Path) -> None:
    document = only(tmp_path / "a.pdf", pdf([BROKEN, "A determining price."]))
    assert isinstance(document, Document)
    assert "capabilities\nand a price-determining\npart." in document.text


def test_a_page_in_bold_is_searched_for_tables_in_linear_time() -> None:
    lines = [f"Row           5,0{number % 10}0      words" for number in range(800)]
    assert_linear(lambda size: tables_in(lines[:size], is_marked=lambda _: True), 100, times=8, slack=3)


def test_rejoining_is_linear() -> None:
    for unit in ("capa-\nbilities ", "a-\n", "-\n", "\u00ad", "a-\ue000b", "a"):
        texts = {size: unit * size for size in (5_000, 40_000)}
        assert_linear(lambda size, texts=texts: rejoined([texts[size]]), 5_000, times=8, slack=3)


@pytest.mark.parametrize(
    "title",
    ["untitled", "Untitled 1", "(anonymous)", "Microsoft Word - report.docx", "report final (2).doc", "x.pdf",
     "PowerPoint Presentation", "Slide 1", "12", "Microsoft PowerPoint – a"],
)  # fmt: skip
def test_a_useless_title_is_ignored(tmp_path: Path, title: str) -> None:
    document = only(tmp_path / "a.pdf", pdf(["words"], title=title))
    assert isinstance(document, Document)
    assert document.title == "a"


@pytest.mark.parametrize(
    "title", ["Untitled works of Orne", "The title", "Node.js", "Microsoft Word - a history", "Report 12"]
)
def test_other_titles_stay(tmp_path: Path, title: str) -> None:
    document = only(tmp_path / "a.pdf", pdf(["words"], title=title))
    assert isinstance(document, Document)
    assert document.title == ("a" if title.startswith("Microsoft") else title)


def test_values_of_forms_and_written_texts_are_read(tmp_path: Path) -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.drawString(72, 760, "Please fill in.")
    form = canvas.acroForm
    form.textfield(name="town", tooltip="Town", value="Sarn", x=72, y=700)
    form.textfield(name="empty", tooltip="Empty", value="", x=72, y=660)
    form.textfield(name="word", tooltip="Secret", value="hush", fieldFlags="password", x=72, y=620)
    form.checkbox(name="oil", tooltip="Oiled", checked=True, x=72, y=580)
    form.checkbox(name="dry", tooltip="Dry", checked=False, x=72, y=540)
    form.choice(name="part", tooltip="Part", value="Rim", options=["Hub", "Rim"], x=72, y=500)
    canvas.textAnnotation("Really?", Rect=[1, 1, 20, 20])
    canvas.freeTextAnnotation("Seen in May.", Rect=[72, 300, 200, 320], DA="/Helv 12 Tf")
    canvas.save()
    document = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(document, Document)
    lines = [line for line in document.text.splitlines() if line]
    assert sorted(lines[1:]) == ["Oiled: Yes", "Part: Rim", "Seen in May.", "Town: Sarn"]
    assert document.warnings == ("1 comments were not read",)


@pytest.mark.parametrize(
    ("seen", "read_as"),
    [
        ("ריעב ACME ידי לע 1953 תנשב התנבנ הבאשמה", "המשאבה נבנתה בשנת 1953 על ידי ACME בעיר"),
        ("The pump ריעב is old.", "The pump בעיר is old."),
        (".1,234.50 הלע", "עלה 1,234.50."),
        ("12/05/2020 םויב", "ביום 12/05/2020"),
        ("(השדח) הבאשמ", "משאבה (חדשה)"),
        ("2020 2019 תנש", "שנת 2019 2020"),
        ("ACME Corp Ltd תרבח\nהליעפו הלודג", "חברת ACME Corp Ltd\nגדולה ופעילה"),
        ("$5 לש ריחמ", "מחיר של $5"),
        ("\ufef3\ufe91\ufefb", "\u0644\u0627\u0628\u064a"),
        ("١٩٥٣ ةنس", "سنة ١٩٥٣"),
        ("plain words 12", "plain words 12"),
    ],
)
def test_right_to_left_lines_are_in_the_order_of_reading(seen: str, read_as: str) -> None:
    assert in_reading_order(seen) == read_as


def test_a_page_from_right_to_left_has_its_digits_in_order(tmp_path: Path) -> None:
    pdfmetrics.registerFont(TTFont("Sans", str(Path(mpl.get_data_path()) / "fonts/ttf/DejaVuSans.ttf")))
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.setFont("Sans", 12)
    canvas.drawRightString(500, 700, "ריעב ACME ידי לע 1953 תנשב התנבנ הבאשמה")
    canvas.drawRightString(500, 680, "40 bar ץחל")
    canvas.save()
    document = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(document, Document)
    assert document.text == "המשאבה נבנתה בשנת 1953 על ידי ACME בעיר\nלחץ 40 bar"


def test_a_statement_has_the_page_of_its_first_character(tmp_path: Path) -> None:
    lines = [f"The pump number {page} was made in Sarn." for page in range(1, 13)]
    (tmp_path / "l.pdf").write_bytes(pdf(lines))
    (tmp_path / "l.pptx").write_bytes(slide_file(*map(shape, lines)))
    with connect(f"hlgraph://{tmp_path / 'kb'}", embedder=WordEmbedder(8)) as graph:
        graph.ingest([str(tmp_path / "l.pdf"), str(tmp_path / "l.pptx")])
        evidence = graph.search("pump number", unit="statement", k=50).evidence
        assert len({piece.chunk_id for piece in evidence}) < 24
    pages = {(PurePath(piece.source.uri).name, piece.text.removeprefix("l: ")): piece.page for piece in evidence}
    assert pages == {(name, line): page for name in ("l.pdf", "l.pptx") for page, line in enumerate(lines, 1)}


def test_text_in_three_columns_is_no_table(tmp_path: Path) -> None:
    prose = [
        [(60.0, f"the left words {at} go on"), (220.0, f"the words {at} between them"), (390.0, f"the right words {at} go on")]
        for at in range(12)
    ]  # fmt: skip
    document = only(tmp_path / "a.pdf", placed(*prose))
    assert isinstance(document, Document)
    assert "|" not in document.text


@pytest.mark.parametrize("lines", [2, 4])
def test_other_numbers_of_horizontal_lines_are_no_table_of_their_own(tmp_path: Path, lines: int) -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    for number in range(6):
        canvas.drawString(72, 700 - 20 * number, f"The pump number {number} runs, and so it goes on for a while.")
    for number in range(lines):
        canvas.line(72, 710 - 20 * number, 400, 710 - 20 * number)
    canvas.save()
    document = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(document, Document)
    assert "|" not in document.text
    assert document.text.count("The pump number") == 6


def test_three_lines_under_paragraphs_are_no_table(tmp_path: Path) -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    for number in range(3):
        canvas.drawString(72, 700 - 40 * number, f"Chapter {number}")
        canvas.line(72, 695 - 40 * number, 400, 695 - 40 * number)
        canvas.drawString(72, 680 - 40 * number, f"The pump number {number} runs, and so it goes on for a while.")
    canvas.save()
    document = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(document, Document)
    assert "|" not in document.text


@pytest.mark.parametrize(("most", "is_read"), [(1_110, True), (1_109, False)])
def test_forms_that_draw_forms_are_counted_before_they_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, is_read: bool
) -> None:
    monkeypatch.setattr("hlgraph.read.formats.pdf._MOST_FORMS", most)
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.drawString(72, 760, "Here.")
    for inner, outer in ("ab", "bc", "cd"):
        canvas.beginForm(outer)
        for _ in range(10):
            if inner != "a":
                canvas.doForm(inner)
            else:
                canvas.drawString(72, 700, "words")
        canvas.endForm()
    for _ in range(10):
        canvas.doForm("d")
    canvas.save()
    document = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(document, Document) is is_read
    assert is_read or (
        isinstance(document, ReadError) and f"more than {most:,} drawn forms on page 1" in document.reason
    )


def paged(
    parts: list[list[list[str]]],
    *,
    widths: list[list[int]],
    between: str = "",
    running: str = "",
    style: tuple[tuple[object, ...], ...] = (("GRID", (0, 0), (-1, -1), 0.5, "black"),),
) -> bytes:
    """A PDF with a table on each page, text over each but the first, and a running title and page number if asked."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4)
    for number, (rows, sizes) in enumerate(zip(parts, widths, strict=True), 1):
        top = 800
        if running:
            canvas.drawString(60, 820, running)
            canvas.drawString(300, 30, f"Page {number} of {len(parts)}")
        if between and number > 1:
            canvas.drawString(60, top, between)
            top -= 30
        table = Table(rows, colWidths=sizes, style=list(style))
        _, height = table.wrapOn(canvas, 400, 700)
        table.drawOn(canvas, 60, top - height)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


STAFF = [["Name", "Office", "Room"], ["Ida", "chair", "b"], ["Ben", "clerk", "c"]]
STOCK = [["Part", "Colour", "Count"], ["Bolt", "red", "12"], ["Nut", "blue", "7"]]
SIZES = [100, 100, 100]


@pytest.mark.parametrize(
    ("first", "second", "widths", "between", "row"),
    [
        (STOCK, [["Cap", "red", "5"]], SIZES, "", "| Cap | red | 5 |"),
        (STAFF, [["Una", "guard", "d"], ["Leo", "cook", "e"]], SIZES, "", "| Una | guard | d |"),
        (STOCK, [STOCK[0], ["Cap", "red", "5"]], SIZES, "", "| Cap | red | 5 |"),
        (STOCK, [["Cap", "red", "5"], ["Lid", "red", "6"]], [90, 110, 100], "", ""),  # other columns
        (STOCK, [["Cap", "red", "5"], ["Lid", "red", "6"]], SIZES, "Parts of hall 2", ""),  # another table
        (STOCK, STAFF, SIZES, "", ""),  # a header of its own over values
    ],
)
@pytest.mark.parametrize("running", ["", "Stock of Tarn"])
def test_a_ruled_table_goes_on_on_the_next_page_without_its_header(
    tmp_path: Path,
    first: list[list[str]],
    second: list[list[str]],
    *,
    widths: list[int],
    between: str,
    row: str,
    running: str,
) -> None:
    data = paged([first, second, second[-1:]], widths=[SIZES, widths, widths], between=between, running=running)
    (tmp_path / "a.pdf").write_bytes(data)
    [found] = read([str(tmp_path / "a.pdf")])
    assert isinstance(found, Document)
    head = f"| {' | '.join(first[0])} |\n| --- | --- | --- |\n"
    pages = [found.text[start:] for start in found.page_starts]
    assert head in pages[0]
    assert (f"{head}{row}" in pages[1]) == bool(row)
    assert (head in pages[1]) == bool(row)
    assert (head in pages[2]) == bool(row)


LONG = [[f"Bolt M{number}", "red" if number % 2 else "blue", f"{number * 37:,}"] for number in range(4, 9)]


@pytest.mark.parametrize(
    ("second", "between", "goes_on"),
    [
        (LONG, "", True),
        ([STOCK[0], *LONG], "", True),
        (LONG, "These are the parts of the other hall, which was counted in May.", False),
        ([["Town", "Region", "People"], *LONG], "", False),
    ],
)
@pytest.mark.parametrize("running", ["", "Stock of Tarn"])
def test_a_table_of_aligned_columns_goes_on_on_the_next_page_without_its_header(
    tmp_path: Path, second: list[list[str]], between: str, *, goes_on: bool, running: str
) -> None:
    data = paged([[STOCK[0], *LONG], second], widths=[SIZES, SIZES], between=between, running=running, style=())
    (tmp_path / "a.pdf").write_bytes(data)
    [found] = read([str(tmp_path / "a.pdf")])
    assert isinstance(found, Document)
    head = "| Part | Colour | Count |\n| --- | --- | --- |\n| Bolt M4 | blue | 148 |"
    first, rest = (
        found.text[start:end] for start, end in zip(found.page_starts, (found.page_starts[1], None), strict=True)
    )
    assert head in first
    assert (head in rest) == goes_on
    assert all(word in rest for row in second for cell in row for word in cell.split())


def test_a_comment_in_code_is_no_heading(tmp_path: Path) -> None:
    found = only(tmp_path / "a.pdf", placed([(60.0, "# unset the variable")], [(60.0, "make the pump run")]))
    assert isinstance(found, Document)
    assert [block.kind for block in blocks(found.text)] == [BlockKind.PROSE]
    assert "# unset the variable" in found.text


TOWNS = [
    ["Town", "Opened", "Opened by", "Visitors"],
    ["Haldrey", "12 May 1881", "Ada Falk", "1,204"],
    ["Stennick", "3 June 1902", "Ben Moro", "987"],
    ["Kestrin Old Town", "9 March 1961", "Ole Vik", "40"],
]


@pytest.mark.parametrize("gap", [3.3, 4.0, 8.0])
@pytest.mark.parametrize("are_spaces_drawn", [True, False])
def test_close_cells_are_apart_if_the_page_draws_spaces(*, gap: float, are_spaces_drawn: bool, tmp_path: Path) -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.setFont("Helvetica", 9)

    def draw(x: float, y: float, text: str) -> None:
        for part in [text] if are_spaces_drawn else text.split():
            canvas.drawString(x, y, part)
            x += canvas.stringWidth(part) + 3.2

    draw(60, 760, "The towns of the valley and their bridges are listed here.")
    x = 60.0
    for column in zip(*TOWNS, strict=True):
        for number, text in enumerate(column):
            draw(x, 740 - 14 * number, text)
        x += max(map(canvas.stringWidth, column)) + gap
    canvas.save()
    found = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(found, Document)
    is_table = "| Kestrin Old Town | 9 March 1961 | Ole Vik | 40 |" in found.text
    assert is_table is (are_spaces_drawn or gap > 6)
    assert is_table is ("| Town | Opened | Opened by | Visitors |" in found.text)
    assert "The towns of the valley and their bridges are listed here." in found.text


@pytest.mark.parametrize(
    ("pages", "kept"),
    [
        (
            ["Tolk Board\nIt was dry.\nPage 1 of 2", "Tolk Board\nIt was wet.\nPage 2 of 2"],
            ["Tolk Board\n\nIt was dry.", "It was wet."],
        ),
        (["It was dry.\n7", "It was wet.\n8", "It was hot.\n9"], ["It was dry.", "It was wet.", "It was hot."]),
        (
            ["Dry.\nTolk annual report 2024 – 1", "Wet.\nTolk annual report 2024 – 2"],
            ["Dry.\n\nTolk annual report 2024 – 1", "Wet."],
        ),
        (
            ["Words.\nTitle 7:24 PM\n| a | b |\nMore.", "Title 7:24 PM"],
            ["Words.\n\nTitle 7:24 PM\n\n| a | b |\nMore.", ""],
        ),
        (["Step 1\nOpen it.", "Step 2\nShut it."], None),
        (["The pump number 1 was made in Sarn.", "The pump number 2 was made in Sarn."], None),
        (["Item 12 4.50\nItem 13 4.50", "Item 14 4.50\nItem 15 4.80"], None),
        (["| Site 1 | 5 |", "| Site 2 | 5 |"], None),
        (["2024\nDry.", "2024\nWet."], None),
        (["Chair", *"abcdefgh", "Chair"], None),
    ],
)
def test_a_line_that_runs_over_the_pages_stands_once_and_no_other_line_goes(
    pages: list[str], kept: list[str] | None
) -> None:
    assert without_running_lines(pages) == (kept or pages)


def test_a_title_beside_the_number_of_its_page_runs_along_the_top() -> None:
    first, second = "The weir package\n\nIt holds\n1", "2 THE WEIR PACKAGE\nthe water.\n3 Gates\nThey open."
    assert without_running_lines([first, second]) == ["The weir package\n\nIt holds", "the water.\n3 Gates\nThey open."]
    assert without_running_lines([first, "2 Gates of it\nThey open."]) == [first, "2 Gates of it\nThey open."]


def test_a_heading_whose_number_is_that_of_its_page_stays_where_the_contents_list_it() -> None:
    pages = ["1 Summary ...... 1\n2 Damage ...... 2", "1 Summary\nIt rose.\n1", "2 Damage\nIt fell.\n2"]
    assert without_running_lines([f"{page}\n" for page in pages])[1:] == ["1 Summary\nIt rose.", "2 Damage\nIt fell."]


def test_headings_are_told_by_their_characters_and_paragraphs_by_the_gaps(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    lines = [
        *(("Helvetica-Bold", 18, 780, "Pump K7"), ("Helvetica-Bold", 14, 750, "1 Safety of all the people")),
        *(("Helvetica-Bold", 14, 733, "in the house"), ("Helvetica", 10, 715, "Never open it.")),
        *(("Helvetica", 10, 703, "Keep it dry."), ("Helvetica", 10, 680, "Mind the belt.")),
        *(("Helvetica-Bold", 10, 655, "1.2 Limits"), ("Helvetica", 10, 640, "It stops at 7 bar.")),
        ("Helvetica-Bold", 10, 620, "Do not touch the terminals."),
    ]
    for font, size, top, text in lines:
        page.setFont(font, size)
        page.drawString(60, top, text)
    page.setFont("Helvetica", 10)
    page.drawString(60, 600, "Torvik Tools AS")
    page.drawString(320, 600, "Due: 11 April 2024")
    page.save()
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    assert found.text == (
        "# Pump K7\n\n## 1 Safety of all the people in the house\n\nNever open it.\nKeep it dry.\n\nMind the belt.\n\n"
        "#### 1.2 Limits\n\nIt stops at 7 bar.\n\nDo not touch the terminals.\n\nTorvik Tools AS\n\nDue: 11 April 2024"
    )


def test_lines_from_top_to_bottom_are_no_columns_of_a_table(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    lines = ["".join(chr(97 + (7 * at + 5 * number) % 26) for at in range(20 - number)) for number in range(8)]
    for number, line in enumerate(lines):
        for at, sign in enumerate(line):
            page.drawString(400 - 30 * number, 700 - 14 * at, sign)
    page.save()
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(out.getvalue())))
    cmap = StreamObject()  # the letters are signs of Japan
    cmap.set_data(b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <61> <7a> <3042> endbfrange")
    font = writer.pages[0]["/Resources"]["/Font"]["/F1"]  # type: ignore[index]
    font[NameObject("/ToUnicode")] = writer._add_object(cmap)
    out = io.BytesIO()
    writer.write(out)
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    assert "".join(found.text.split()) == "".join(chr(ord(sign) - 97 + 0x3042) for line in lines for sign in line)


def test_a_sentence_goes_on_over_a_running_line_and_pages_have_roman_numbers() -> None:
    pages = [
        "On Vans\nThe town lends vans (al-",
        "Vans of Sarn\nthough not all) by day.\npage ii",
        "Vans of Sarn\nLists follow.\npage iii",
    ]
    pages += ["Vans of Sarn\nThe end.\npage iv", "Names\npage 1", "Places\npage 2", "Times\npage 3"]
    assert rejoined(without_running_lines(pages)) == [
        "Vans of Sarn\n\nOn Vans\nThe town lends vans (although",
        *("not all) by day.", "Lists follow.", "The end.", "Names", "Places", "Times"),
    ]


def test_bold_words_and_blocks_are_no_headings_and_divided_words_end_no_paragraph(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    lines = (
        *(("", 60, "Each owner sends the lists to the town until the end of the month of deliv-"),
          ("", 12, "ery, and those who send none pay for the hours that this takes the office."),
          ("", 20, "Lists of vans are sent by the workshop, which keeps a copy of the"), ("B", 12, "List of Vans and Carts"),
          ("", 12, "for a year, as the rules of the town ask of all who lend them."), ("B", 20, "Keeping Copies")),
        *(("", 16, "A copy is kept dry."), ("B", 20, "Orlen Tools AS"),
          ("B", 12, "Mill Lane 4"), ("B", 12, "Sarn"), ("B", 12, "Post box 7"),
          ("B", 12, "Fax (0611) 75-"), ("", 12, "724000, by day.")),
    )  # fmt: skip
    top = 780
    for weight, down, text in lines:
        top -= down
        page.setFont("Helvetica-Bold" if weight else "Helvetica", 10)
        page.drawString(60, top, text)
    page.save()
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    parts = [" ".join(part.split()) for part in found.text.split("\n\n")]
    assert re.fullmatch("Each owner .* of delivery, and .* the office.", parts[0])
    assert "the List of Vans and Carts for a year" in parts[1]
    assert parts[2] == "# Keeping Copies"
    assert parts[4:] == ["Orlen Tools AS Mill Lane 4 Sarn Post box 7 Fax (0611) 75-724000, by day."]


def test_the_number_of_a_page_at_the_other_side_of_a_running_word_goes(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    for number, text in enumerate(("It was dry.", "It was wet.", "Single room"), 1):
        page.drawString(60, 30, "Confidential")
        page.drawRightString(530, 30, str(number))
        page.drawString(60, 700, text)
        page.drawRightString(300, 700, "89" if number == 3 else "")
        page.drawString(60, 680, "Mind the gap.")
        page.drawString(60, 660, "And the belt.")
        page.drawString(60, 640, "And the hook.")
        page.showPage()
    page.save()
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    assert found.text.count("Confidential") == 1
    assert not re.search(r"^\d$", found.text, re.MULTILINE)
    assert "Single room 89" in found.text


def drawn(*pages: Sequence[tuple[float, float, str, str, float]]) -> bytes:
    """Pages of texts: each has its place, its text, its font and its size."""
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    for page in pages:
        for x, y, text, font, size in page:
            canvas.setFont(font, size)
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def test_a_bold_header_makes_columns_a_table_and_wrapped_cells_are_whole(tmp_path: Path) -> None:
    rows = [
        ("Directory", "Description"),
        ("opt", "Configuration of add-on packages that stand in"),
        ("", "/opt (optional)"),
        ("X11", "The window system"),
    ]
    pages = []
    for hall in ("Tarn", "Sarn", "Tolk", "Lisk"):
        lines = [
            f"{words} of {hall}."
            for words in ("It is the hall", "It has the pumps", "It has the valves", "It has the belts")
        ]
        lines += ["The following must be there if the system", "is installed:"]
        page = [(72.0, 790.0 - 12 * at, text, "Helvetica", 10.0) for at, text in enumerate(lines)]
        for at, row in enumerate(rows):
            font = "Helvetica" if at else "Helvetica-Bold"
            page += [(x, 700.0 - 12 * at, text, font, 10.0) for x, text in zip((76.0, 250.0), row, strict=True) if text]
        pages.append([*page, (72.0, 640.0, f"All of it is in {hall}.", "Helvetica", 10.0)])
    found = only(tmp_path / "a.pdf", drawn(*pages))
    assert isinstance(found, Document)
    for page in found.text.split("\n\f\n"):
        assert page.split("\n", 4)[-1].rpartition("\n")[0] == (
            "The following must be there if the system\nis installed:\n\n"
            "| Directory | Description |\n| --- | --- |\n"
            "| opt | Configuration of add-on packages that stand in /opt (optional) |\n| X11 | The window system |\n"
        )


@pytest.mark.parametrize("font", ["Helvetica", "Helvetica-Bold"])
def test_a_first_line_that_looks_as_the_others_is_no_header(font: str, tmp_path: Path) -> None:
    rows = [("Invoice number", "Alpha seven"), ("Order", "Beta nine"), ("Place", "Sarn")]
    page = [
        (x, 700.0 - 12 * at, text, font, 10.0)
        for at, row in enumerate(rows)
        for x, text in zip((76.0, 250.0), row, strict=True)
    ]
    found = only(tmp_path / "a.pdf", drawn(page))
    assert isinstance(found, Document)
    assert "---" not in found.text


def test_bullets_of_word_are_items_with_their_levels(tmp_path: Path) -> None:
    lines = "It has:\n\uf0b7 Two pumps:\no One in red\nand blue\no A spare\n\uf0a7 No valve\n\no Another\nThe rest is\no homem."
    assert (
        with_bullets(lines)
        == "It has:\n• Two pumps:\n  ◦ One in red\nand blue\n  ◦ A spare\n• No valve\n\n  ◦ Another\nThe rest is\n  ◦ homem."
    )
    assert with_bullets("\uf0b7\nTwo\n\uf0d8\nThree") == "• Two\n• Three"
    assert with_bullets("Ele viu\no homem. Depois\no Brasil") == "Ele viu\no homem. Depois\no Brasil"


def test_running_lines_of_five_are_gone_and_are_no_headings(tmp_path: Path) -> None:
    top = ("Deployment of Equipment", "Sensitive Information, see 3.104", "Updated in May")
    pages = []
    for at, words in enumerate(
        ("The pump stands in the old hall of the yard.", "The valve is red.", "Nobody leaves.", "It ends here.")
    ):
        lines = [*top, str(at + 1), top[1], "1.0 SCOPE" if not at else "", words]
        pages.append(
            [
                (72.0, 780.0 - 14 * y, text, "Helvetica-Bold" if y in (1, 5) else "Helvetica", 10.0)
                for y, text in enumerate(lines)
                if text
            ]
        )
    found = only(tmp_path / "a.pdf", drawn(*pages))
    assert isinstance(found, Document)
    first, *others = found.text.split("\n\f\n")
    assert others == ["The valve is red.", "Nobody leaves.", "It ends here."]
    assert [line for line in first.split("\n") if line.startswith("#")] == ["# 1.0 SCOPE"]
    assert all(line in first for line in top)


def test_a_title_of_four_lines_is_one_and_titles_the_file(tmp_path: Path) -> None:
    title = ("Scalability of Controlling", "Robots of Sarn", "through Common Signals and", "Hysteresis")
    page = [(72.0, 780.0 - 26 * at, text, "Helvetica", 22.0) for at, text in enumerate(title)]
    page += [
        (72.0, 640.0, "I. INTRODUCTION", "Helvetica", 10.0),
    ]
    words = "Robots have uses in the halls of the yard. They are old and blue, and they are not for sale, as they"
    page += [(72.0, 622.0 - 12 * at, words, "Helvetica", 10.0) for at in range(3)]
    found = only(tmp_path / "a.pdf", drawn(page))
    assert isinstance(found, Document)
    assert found.title == " ".join(title)
    assert [line for line in found.text.split("\n") if line.startswith("#")] == [
        f"# {found.title}",
        "## I. INTRODUCTION",
    ]


def test_a_heading_of_two_lines_with_a_number_is_one(tmp_path: Path) -> None:
    lines = [("3.4 The old command", 14.0), ("of all users", 14.0), (f"It is there{' as it was' * 9}.", 10.0)]
    page = [(72.0, 700.0 - 17 * at, text, "Helvetica", size) for at, (text, size) in enumerate(lines)]
    found = only(tmp_path / "a.pdf", drawn(page))
    assert isinstance(found, Document)
    assert found.text.split("\n")[0] == "## 3.4 The old command of all users"


def test_at_a_table_in_a_page_only_lines_with_the_number_of_the_page_run() -> None:
    def page(number: int) -> str:
        above = f"It is hall {'abc'[number]} of the yard\nwith all that is there and\nit has parts, which\nare red:\n| Axle | 4 |"
        below = f"are blue:\n| Bolt | 5 |\nThe {'xyz'[number]} is last."
        return f"{above}\nPlan, edition 2021, page {number + 5}\n{below}"

    pages = without_running_lines([page(number) for number in range(3)])
    assert [each.count("edition") for each in pages] == [1, 0, 0]
    assert all("are red:" in each and "are blue:" in each for each in pages)


def test_a_bold_header_above_numbers_that_are_flush_at_their_ends_names_all_rows(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    rows = [
        ("Date", "Description", "Debit", "Credit", "Balance"),
        ("01.03.", "Brought forward", "", "", "1,200.00"),
        ("03.03.", "Rent, Lindenweg 12", "640.00", "", "560.00"),
        ("15.03.", "Salary", "", "2,310.00", "2,870.00"),
    ]
    for number, row in enumerate(rows):
        page.setFont("Helvetica-Bold" if not number else "Helvetica", 10)
        for text, x in zip(row[:2], (50, 120), strict=True):
            page.drawString(x, 730 - 16 * number, text)
        for text, x in zip(row[2:], (370, 450, 540), strict=True):
            page.drawRightString(x, 730 - 16 * number, text)
    page.save()
    (tmp_path / "a.pdf").write_bytes(out.getvalue())
    [found] = read([str(tmp_path / "a.pdf")])
    assert isinstance(found, Document)
    assert found.text.splitlines()[0] == "| Date | Description | Debit | Credit | Balance |"
    assert found.text.splitlines()[-1] == "| 15.03. | Salary |  | 2,310.00 | 2,870.00 |"


def below_bold(path: Path, *lines: Sequence[tuple[float, str]], bold: Sequence[int] = (0,)) -> list[str]:
    """The lines of a page whose words begin at places, end there if they begin with ``>``, or are centred there if with ``^``."""
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    for number, line in enumerate(lines):
        page.setFont("Helvetica-Bold" if number in bold else "Helvetica", 10)
        for x, words in line:
            draw = {">": page.drawRightString, "^": page.drawCentredString}.get(words[0], page.drawString)
            draw(x, 730 - 16 * number, words.lstrip(">^"))
    page.save()
    found = only(path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    return [line for line in found.text.splitlines() if line and "---" not in line]


def test_rows_below_a_bold_header_have_sections_signs_and_lines_that_go_on(tmp_path: Path) -> None:
    rows = below_bold(
        tmp_path,
        ((50, "Test"), (190, "Result"), (270, "Unit"), (370, "Range")),
        ((50, "Salts"),),
        ((50, "Sodium"), (190, "139"), (270, "mmol/l"), (370, "135 - 145")),
        ((50, "Potassium,"), (190, "5.6"), (235, "H"), (270, "mmol/l"), (370, "3.5 - 5.1")),
        ((50, "HIV"), (190, "negative")),
        ((190, "(repeated)"),),
        ((50, "H = above the range"),),
        bold=(0, 1),
    )
    assert rows[0] == "|  | Test | Result | Unit | Range |"
    assert rows[1:3] == [
        "| Salts | Sodium | 139 | mmol/l | 135 - 145 |",
        "| Salts | Potassium, | 5.6 H | mmol/l | 3.5 - 5.1 |",
    ]
    assert rows[3:] == ["| Salts | HIV | negative (repeated) |  |  |", "H = above the range"]


def test_a_line_with_a_value_is_a_row_of_its_own(tmp_path: Path) -> None:
    rows = below_bold(
        tmp_path,
        ((50, "Date"), (120, "Details"), (370, ">Debit"), (540, ">Balance")),
        ((50, "01.03."), (120, "Rent"), (370, ">640.00"), (540, ">560.00")),
        ((120, "Lindenweg 12"),),
        ((120, "Closing balance"), (540, ">560.00")),
    )
    assert rows == [
        "| Date | Details | Debit | Balance |",
        "| 01.03. | Rent Lindenweg 12 | 640.00 | 560.00 |",
        "|  | Closing balance |  | 560.00 |",
    ]


def test_numbers_of_any_length_end_where_their_bold_label_does(tmp_path: Path) -> None:
    rows = below_bold(
        tmp_path,
        ((50, "Pos"), (85, "Description"), (370, ">Qty"), (450, ">Price"), (540, ">Amount")),
        ((50, "A1"), (85, "Roof tile, red and"), (370, ">1,200"), (450, ">0.95"), (540, ">1,140.00")),
        ((85, "glazed"),),
        ((50, "A2"), (85, "Ridge tile"), (370, ">4"), (450, ">4.10"), (540, ">16.40")),
    )
    assert rows[1:] == [
        "| A1 | Roof tile, red and glazed | 1,200 | 0.95 | 1,140.00 |",
        "| A2 | Ridge tile | 4 | 4.10 | 16.40 |",
    ]


def test_a_page_whose_rows_end_with_ranges_may_have_a_table(tmp_path: Path) -> None:
    rows = below_bold(
        tmp_path,
        ((50, "Analyte"), (250, ">Value of today"), (320, "Reference of adults")),
        ((50, "Leucocytes of blood"), (250, ">11.8"), (320, "4.0 – 10.0")),
        ((50, "Erythrocytes of blood"), (250, ">4.1"), (320, "4.0 – 5.2")),
    )
    assert rows[1:] == ["| Leucocytes of blood | 11.8 | 4.0 – 10.0 |", "| Erythrocytes of blood | 4.1 | 4.0 – 5.2 |"]


def test_numbers_in_bold_above_times_are_names_and_a_row_of_times_is_no_header(tmp_path: Path) -> None:
    times = (((50, "Oldmere"), (300, "^5:12"), (400, "^5:42")), ((50, "Sarn"), (300, "^5:31"), (400, "^5:58")))
    head = ((50, "Train"), (300, "^4401"), (400, "^4403"))
    notes = ((50, "Notes"), (300, "^A"))
    assert below_bold(tmp_path, head, notes, *times) == [
        "| Train | 4401 | 4403 |",
        "| Notes | A |  |",
        "| Oldmere | 5:12 | 5:42 |",
        "| Sarn | 5:31 | 5:58 |",
    ]
    assert "|" not in "".join(below_bold(tmp_path, *times, *times, bold=()))


def test_a_line_of_signs_or_dates_is_no_header(tmp_path: Path) -> None:
    signs = [((50, "v"), (70, f"Fire {at}"), (300, "x"), (320, f"Floods {at}")) for at in "abc"]
    ticks = [tuple((x, {"v": "+", "x": "-"}.get(text, text)) for x, text in line) for line in signs]
    assert "|" not in "".join(below_bold(tmp_path, *ticks, bold=()))
    form = [((50, "Name"), (130, "Vera Stahl"), (300, "Born"), (400, "12 Mar 1961"))]
    form += [
        ((50, "Ward"), (130, "B 4"), (300, "Order"), (400, "88-1204")),
        ((50, "Room"), (130, "12 left"), (300, "Bed"), (400, "2")),
    ]
    assert "| Name | Vera Stahl |" not in "\n".join(below_bold(tmp_path, *form, bold=()))


def test_items_with_bullets_are_no_headings() -> None:
    texts = [
        "• From 2.7 V to 12 V",
        "without a fan",
        "Use",
        "It runs for hours and hours.",
        "It runs for hours and hours.",
    ]
    places = [(12, 700), (12, 684), (12, 640), (9, 620), (9, 608)]
    lines = [PrintedLine(text, size, False, top) for text, (size, top) in zip(texts, places, strict=True)]
    [page] = with_headings(["\n".join(texts)], [lines])
    assert page.split("\n\n")[:2] == ["• From 2.7 V to 12 V\nwithout a fan", "# Use"]


def test_sums_below_the_items_of_an_invoice_are_no_items(tmp_path: Path) -> None:
    rows = (
        ((60, "Description"), (300, "Qty"), (380, "Unit price"), (460, "Amount")),
        ((60, "Fire bricks"), (300, "1200"), (380, "3.20 EUR"), (460, "3,840.00")),
        ((60, "Mortar"), (300, "40"), (380, "11.50 EUR"), (460, "460.00")),
        ((380, "Subtotal"), (460, "4,300.00")),
        ((330, "Total to pay"), (460, "4,300.00")),
    )
    (tmp_path / "a.pdf").write_bytes(placed(*rows))
    [found] = read([str(tmp_path / "a.pdf")])
    assert isinstance(found, Document)
    assert found.text.splitlines()[-2:] == ["| Subtotal |  |  | 4,300.00 |", "| Total to pay |  |  | 4,300.00 |"]


def test_a_table_of_aligned_columns_above_a_ruled_one_has_its_labels_and_whole_cells(tmp_path: Path) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    page.setFont("Helvetica-Bold", 10)
    places = (60, 300, 380, 460)
    for x, text in zip(places, ("Description", "Hours", "Rate", "Amount"), strict=True):
        page.drawString(x, 760, text)
    page.setFont("Helvetica", 10)
    rows = [(742, ("Rewiring", "12", "60.00", "720.00")), (724, ("Travel", "2", "", "60.00"))]
    rows += [(706, ("Socket, double", "", "", "")), (694, ("and white", "8", "9.50", "76.00"))]
    for y, texts in (*rows, (650, ("VAT rate", "VAT", "", "")), (632, ("25 %", "196.00", "", ""))):
        for x, text in zip(places, texts, strict=True):
            page.drawString(x, y, text)
    page.grid([50, 290, 370], [626, 644, 662])
    page.save()
    found = only(tmp_path / "a.pdf", out.getvalue())
    assert isinstance(found, Document)
    assert found.text.split("\n\n") == [
        "| Description | Hours | Rate | Amount |\n| --- | --- | --- | --- |\n| Rewiring | 12 | 60.00 | 720.00 |\n"
        "| Travel | 2 |  | 60.00 |\n| Socket, double and white | 8 | 9.50 | 76.00 |",
        "| VAT rate | VAT |\n| --- | --- |\n| 25 % | 196.00 |",
    ]


def test_a_section_that_is_nearer_to_the_row_below_it_is_no_part_of_its_first_cell(tmp_path: Path) -> None:
    bold = [(x, 760.0, text, "Helvetica-Bold", 10.0) for x, text in ((60, "Item"), (260, "Qty"), (360, "Price"))]
    rows = [(742, ("Bolt", "3", "5")), (718, ("Spare parts",)), (706, ("Nut", "1", "2")), (694, ("Cap", "4", "4"))]
    rows += [(670, ("Doors",)), (658, ("Rod", "9", "9"))]
    places = (60, 260, 360)
    cells = [(x, float(y), text, "Helvetica", 10.0) for y, row in rows for x, text in zip(places, row, strict=False)]
    found = only(tmp_path / "a.pdf", drawn([*bold, *cells]))
    assert isinstance(found, Document)
    assert "| Spare parts | Cap | 4 | 4 |" in found.text


@pytest.mark.parametrize("rows", [(("06:10", "–"), ("06:18", "09:08")), (("low", "high"), ("mid", "low"))])
def test_columns_of_times_or_words_may_have_the_same_label(rows: Sequence[Sequence[str]], tmp_path: Path) -> None:
    lines = [("Stop", "Mo–Fr", "Mo–Fr"), *((f"Stop {at}", *row) for at, row in zip("AB", rows, strict=True))]
    title = [(60, "Harbour to Airport")]
    (tmp_path / "a.pdf").write_bytes(placed(title, *([*zip((60, 160, 240), row, strict=True)] for row in lines)))
    [found] = read([str(tmp_path / "a.pdf")])
    assert isinstance(found, Document)
    assert [line for line in found.text.split("\n") if "---" not in line] == [
        *("Harbour to Airport", "", "| Stop | Mo–Fr | Mo–Fr |"),
        *(f"| {' | '.join(row)} |" for row in lines[1:]),
    ]


def test_a_bold_line_whose_number_a_wide_gap_parts_is_a_heading(tmp_path: Path) -> None:
    page: list[tuple[float, float, str, str, float]] = []
    for at, (number, title) in enumerate((("1", "Welcome"), ("24/052", "Footpath 9"), ("12", "Finance"))):
        page += [(60, 760 - 60 * at, number, "Helvetica-Bold", 10), (140, 760 - 60 * at, title, "Helvetica-Bold", 10)]
        page.append((60, 740 - 60 * at, f"The stile of {title} is broken, and it is not ours.", "Helvetica", 10))
    found = only(tmp_path / "a.pdf", drawn(page))
    assert isinstance(found, Document)
    assert [line for line in found.text.splitlines() if line.startswith("#")] == [
        "# 1 Welcome",
        "# 24/052 Footpath 9",
        "# 12 Finance",
    ]


def test_what_a_browser_prints_around_a_page_is_not_read(tmp_path: Path) -> None:
    pages = [
        f"11/30/26, 8:44 AM   Lease agreement\nThe shed is let to the {name} on 3/4/25, 8:00 AM.\nhttps://a.example/x {at}/2"
        for at, name in enumerate(("lessee", "lessor"), 1)
    ]
    (tmp_path / "a.pdf").write_bytes(pdf(pages))
    [found] = read([str(tmp_path / "a.pdf")])
    assert isinstance(found, Document)
    assert found.text.split("\n\n") == [
        "The shed is let to the lessee on 3/4/25, 8:00 AM.",
        "https://a.example/x\n\f\nThe shed is let to the lessor on 3/4/25, 8:00 AM.",
    ]


@pytest.mark.parametrize("lines", [3, 4])
@pytest.mark.parametrize("has_column", [True, False])
def test_a_table_between_lines_in_a_column_of_text_has_its_labels(
    lines: int, *, has_column: bool, tmp_path: Path
) -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.setFont("Times-Roman", 9)
    rows = [
        ("Wall", "Kiln", "Day", "Night"),
        ("Thin", "K1", "4.1", "4.4"),
        ("", "K2", "3.9", "4.0"),
        ("Thick", "K3", "2.2", "2.9"),
    ]
    for number, row in enumerate(rows):
        for x, text in zip((60, 120, 180, 240), row, strict=True):
            canvas.drawString(x, 700 - 14 * number, text)
    for y in (711, 696, 668, 654)[: lines - 1] if lines == 4 else (711, 696):
        canvas.line(58, y, 280, y)
    canvas.line(58, 654, 280, 654)
    for number in range(20):
        canvas.drawString(60, 630 - 12 * number, "Kilns lose heat through their thin walls.")
        canvas.drawString(310, 760 - 12 * number, "They lose it by day." if has_column else "")
    canvas.save()
    found = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(found, Document)
    assert (
        "| Wall | Kiln | Day | Night |\n| --- | --- | --- | --- |\n| Thin | K1 | 4.1 | 4.4 |\n| Thin | K2 | 3.9 | 4.0 |"
        in found.text
    )


def test_a_bold_row_of_a_ruled_table_is_its_header_and_bullets_in_its_cells_divide_items(tmp_path: Path) -> None:
    rows = [["Covered", "Not covered"], ["• Fire\n• Theft of the boat", "• Wear of the hull\n• Races"]]
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    table = Table(rows, style=[("GRID", (0, 0), (-1, -1), 1, "black"), ("FONT", (0, 0), (-1, 0), "Helvetica-Bold")])
    table.wrapOn(canvas, 400, 400)
    table.drawOn(canvas, 72, 600)
    canvas.save()
    found = only(tmp_path / "a.pdf", data.getvalue())
    assert isinstance(found, Document)
    assert found.text.strip().split("\n") == [
        "| Covered | Not covered |",
        "| --- | --- |",
        "| Fire, Theft of the boat | Wear of the hull, Races |",
    ]
