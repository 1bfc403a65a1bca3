import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import NameObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from hlgraph.errors import ReadError
from hlgraph.read import ReadFailure, ReadOptions, read
from hlgraph.records import Document
from hlgraph.retrieve.evidence.tables import cells


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
    assert found.text == "First page\nof words\n\n\n\nThird page"
    assert [found.text[start:].split("\n\n")[0] for start in found.page_starts] == [
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
        "Words above.\nSales (in millions)\n\n|  | 2023 | 2022 |\n| --- | --- | --- |\n| Revenue: |  |  |\n"
        "| Goods | 5,234 | 4,900 |\n| Services | 12 | 9 |\n\nWords below."
    )
    [first, *_] = cells(document.text)
    assert (first.row, first.column, first.caption) == ("Revenue, Goods", "2023", "Sales (in millions)")
    assert document.text[first.start : first.end] == "| Goods | 5,234 | 4,900 |"


def test_a_page_of_text_in_columns_is_read_in_its_own_order(tmp_path: Path) -> None:
    prose = [[(60.0, f"left words {number} go on"), (330.0, f"right words {number} go on")] for number in range(8)]
    plain = only(tmp_path / "a.pdf", placed(*prose, *TABLE))
    assert isinstance(plain, Document)
    assert "|" not in plain.text
    assert plain.text.index("left words 0") < plain.text.index("right words 0")


@pytest.mark.parametrize("layout", ["", "2023 2022", RuntimeError("broken")])
def test_a_layout_that_loses_text_is_not_used(
    layout: str | Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = PageObject.extract_text

    def extract(page: PageObject, **options: Any) -> str:
        if not options:
            return plain(page)
        if isinstance(layout, Exception):
            raise layout
        return layout

    monkeypatch.setattr(PageObject, "extract_text", extract)
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


def test_text_beside_a_ruled_table_is_not_lost(tmp_path: Path) -> None:
    found = only(tmp_path / "a.pdf", ruled(PUMPS, beside="Text beside the table."))
    assert isinstance(found, Document)
    assert "Text beside the table." in found.text
    assert "| P-100" not in found.text


def test_a_page_that_pdfplumber_cannot_read_keeps_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr("pdfplumber.open", broken)
    found = only(tmp_path / "a.pdf", ruled(PUMPS))
    assert isinstance(found, Document)
    assert "P-200" in found.text
