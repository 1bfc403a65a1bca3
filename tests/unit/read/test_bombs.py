"""What a small file may ask for is refused by what it makes, in every format, with one clear error."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest

from hlgraph.errors import ReadError
from hlgraph.read import ReadFailure, ReadOptions, bounds, read
from hlgraph.read.formats import xlsx
from hlgraph.records import Document

PARAGRAPH = "<p>Ada Lovelace wrote the first program for the machine of Charles Babbage in 1843.</p>"


def only(path: Path, data: bytes, options: ReadOptions | None = None) -> Document | ReadError:
    path.write_bytes(data)
    [item] = read([str(path)], options)
    return item.error if isinstance(item, ReadFailure) else item


def reason(path: Path, data: bytes) -> str:
    found = only(path, data)
    assert isinstance(found, ReadError), len(found.text)
    assert found.mend
    return found.reason


def page(*, rows: int = 0, bold: int = 0, attributes: int = 0) -> bytes:
    names = " ".join(f"a{number}=1" for number in range(attributes))
    table = "<tr><td colspan=1000 rowspan=65534>x</td></tr>" * rows
    return f"<body {names}>{PARAGRAPH}<table>{table}</table>{'<b>' * bold}".encode()


def packed(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in members.items():
            package.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def with_part(whole: bytes, name: str, data: bytes) -> bytes:
    """A package with one of its parts replaced."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(whole)) as before,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for part in before.namelist():
            after.writestr(part, data if part == name else before.read(part))
    return out.getvalue()


def deep(levels: int) -> bytes:
    return b"<a x='/>'>/>" * levels + b"</a>" * levels


def word(body: str) -> bytes:
    out = io.BytesIO()
    docx.Document().save(out)
    names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    return with_part(
        out.getvalue(), "word/document.xml", f"<w:document {names}><w:body>{body}</w:body></w:document>".encode()
    )


def workbook() -> bytes:
    out = io.BytesIO()
    book = openpyxl.Workbook()
    book.active["A1"] = "words"
    book.save(out)
    return out.getvalue()


def slides() -> bytes:
    out = io.BytesIO()
    pptx.Presentation().save(out)
    return out.getvalue()


SPAN = "<w:tr><w:tc><w:tcPr><w:gridSpan w:val='64'/></w:tcPr><w:p/></w:tc><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr>"
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
LAST = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 4))


@pytest.mark.parametrize(
    ("name", "make", "expected"),
    [
        ("cells.docx", lambda: word(f"<w:tbl>{SPAN * 300}</w:tbl>"), "holds more than 10,000 cells"),
        ("elements.docx", lambda: word("<w:p/>" * 1_000_001), "holds more than 1,000,000 elements"),
        ("text.docx", lambda: word(f"<w:p><w:r><w:t>{'x ' * 10_000_000}</w:t></w:r></w:p>"), "is a packed file of"),
        ("members.docx", lambda: packed(**{f"a{n}": b"" for n in range(101)}), "holds more than 100 members"),
        ("bomb.xlsx", lambda: with_part(workbook(), "xl/styles.xml", b" " * 20_000_000), "is a packed file of"),
        (
            "wide.xlsx",
            lambda: with_part(workbook(), "xl/worksheets/sheet1.xml", SHEET.format(LAST).encode()),
            "holds more than 10,000 cells",
        ),
        (
            "rows.xlsx",
            lambda: with_part(
                workbook(),
                "xl/worksheets/sheet1.xml",
                SHEET.format("<row r='99999'><c r='A99999'><v>1</v></c></row>").encode(),
            ),
            "holds more than 90,000 empty cells",
        ),
        ("bomb.pptx", lambda: with_part(slides(), "ppt/presentation.xml", b" " * 20_000_000), "is a packed file of"),
        (
            "deep.xlsx",
            lambda: with_part(workbook(), "xl/worksheets/sheet1.xml", deep(300)),
            "holds more than 255 elements inside",
        ),
        (
            "deep.pptx",
            lambda: with_part(slides(), "ppt/presentation.xml", deep(300)),
            "holds more than 255 elements inside",
        ),
        ("deep.docx", lambda: word("<w:p>" * 300), "holds more than 255 elements inside"),
        ("bomb.epub", lambda: packed(mimetype=b"application/epub+zip", a=b" " * 20_000_000), "is a packed file of"),
        ("bomb.txt.gz", lambda: gzip.compress(b"x " * 10_000_000), "is a packed file of"),
        ("blank.jsonl.gz", lambda: gzip.compress((b" " * 999 + b"\n") * 20_000), "is a packed file of"),
        ("cells.html", lambda: page(rows=101), "holds more than 10,000 cells"),
        ("elements.html", lambda: page(bold=1_000_001), "holds more than 1,000,000 elements"),
        ("attributes.html", lambda: page(attributes=20_000), "holds more than 1,000 attributes in one element"),
        ("x.txt", lambda: b"x" * 3_000_000, "holds nothing but 1 run without a space, 3,000,000 characters"),
    ],
)
def test_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, make: Callable[[], bytes], expected: str
) -> None:
    monkeypatch.setattr(bounds, "MOST_CELLS", 10_000)
    monkeypatch.setattr(bounds, "MOST_MEMBERS", 100)
    monkeypatch.setattr(xlsx, "_MOST_PLACES", 90_000)
    data = make()
    assert len(data) < 4_000_000
    assert reason(tmp_path / name, data).startswith(expected)


def test_a_merged_cell_asks_for_no_more_columns_than_hold_text(tmp_path: Path) -> None:
    merged = SPAN.replace("<w:t>x</w:t>", "")
    found = only(tmp_path / "a.docx", word(f"<w:tbl>{merged * 500}</w:tbl><w:p><w:r><w:t>words</w:t></w:r></w:p>"))
    assert isinstance(found, Document)
    assert found.text == "words"


@pytest.mark.parametrize("element", ["div", "b", "table><tr><td", "ul><li"])
def test_deep_pages_are_read_up_to_the_depth_that_the_parser_takes(tmp_path: Path, element: str) -> None:
    found = only(tmp_path / "a.html", f"<html><body>{PARAGRAPH}{f'<{element}>' * 5_000}x".encode())
    assert isinstance(found, Document)
    assert found.text.startswith("Ada Lovelace")


def test_a_table_that_spans_too_much_costs_what_it_shows(tmp_path: Path) -> None:
    row = "<tr><td colspan=1000 rowspan=65534>x</td></tr>"
    found = only(tmp_path / "a.html", f"<html><body>{PARAGRAPH}<table>{row * 50}</table>".encode())
    assert isinstance(found, Document)
    assert len(found.text) < 20_000


def test_what_the_files_of_a_run_grow_by_is_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "RUN_GRACE", 1_000_000)
    for name in "abcd":
        text = "".join(f"{number} words " for number in range(50_000))
        (tmp_path / f"{name}.docx").write_bytes(b"")
        (tmp_path / f"{name}.docx").write_bytes(word(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"))
    monkeypatch.setattr(bounds, "TIMES", 1)
    items = list(read([str(tmp_path)]))
    assert [isinstance(item, Document) for item in items] == [True, True, False, False]
    assert isinstance(items[-1], ReadFailure)
    assert items[-1].error.reason.startswith("and others of this run hold 1,000,000 characters more than 1 times")


def test_a_run_without_a_space_is_left_out_with_one_warning(tmp_path: Path) -> None:
    found = only(tmp_path / "a.md", b"# Pump\n\n![](data:image/png;base64," + b"iVBOR" * 2000 + b")\n\nIt runs.\n")
    assert isinstance(found, Document)
    assert (found.text, found.title) == ("# Pump\n\n\n\nIt runs.\n", "Pump")
    assert found.warnings == ("left out 1 run without a space, 10,027 characters: encoded data is no text",)


def test_scripts_without_spaces_are_no_runs(tmp_path: Path) -> None:
    text = "東京は日本の首都です" * 1000
    found = only(tmp_path / "a.txt", text.encode())
    assert isinstance(found, Document)
    assert (found.text, found.warnings) == (text, ())


def test_a_drawing_that_shrinks_well_is_no_bomb(tmp_path: Path) -> None:
    whole = word("<w:p><w:r><w:t>It runs.</w:t></w:r></w:p>")
    out = io.BytesIO(whole)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/media/image1.emf", b" " * 11_000_000)
    found = only(tmp_path / "a.docx", out.getvalue())
    assert isinstance(found, Document)
    assert found.text == "It runs."
