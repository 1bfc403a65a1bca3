import io
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import docx
import pytest
from docx.document import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from hlgraph.errors import ReadError
from hlgraph.read import ReadFailure, ReadOptions, read
from hlgraph.records import Document


def saved(word: WordDocument) -> bytes:
    out = io.BytesIO()
    word.save(out)
    return out.getvalue()


def only(path: Path, data: bytes, options: ReadOptions | None = None) -> Document | ReadError:
    path.write_bytes(data)
    [item] = read([str(path)], options)
    return item.error if isinstance(item, ReadFailure) else item


def text_of(path: Path, word: WordDocument) -> str:
    found = only(path, saved(word))
    assert isinstance(found, Document), found
    return found.text


def test_headings_paragraphs_and_properties(tmp_path: Path) -> None:
    word = docx.Document()
    properties = word.core_properties
    properties.title, properties.author, properties.subject = "The Title", "Jane Doe", ""
    properties.created = datetime(2024, 3, 5, 10, tzinfo=UTC)
    properties.keywords = "pump, oil"
    word.add_heading("Manual", 0)
    word.add_heading("Service", 1)
    word.add_paragraph("Oil it\tweekly.\nThen wait.")
    word.add_paragraph("")
    word.add_heading("Deep\ndown", 8)
    found = only(tmp_path / "a.docx", saved(word))
    assert isinstance(found, Document)
    assert found.text == "# Manual\n\n# Service\n\nOil it\tweekly.\nThen wait.\n\n###### Deep down"
    assert found.title == "The Title"
    metadata = {key: value for key, value in found.metadata.items() if key in ("filename", "author", "keywords")}
    assert metadata == {"filename": "a.docx", "author": "Jane Doe", "keywords": "pump, oil"}
    assert str(found.metadata["created"]).startswith("2024-03-05T10:00:00")
    assert "subject" not in found.metadata


def test_styles_made_from_headings_are_headings(tmp_path: Path) -> None:
    word = docx.Document()
    style = word.styles.add_style("Chapter", WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = word.styles["Heading 2"]
    word.add_paragraph("Ours", style="Chapter")
    assert text_of(tmp_path / "a.docx", word) == "## Ours"


def test_a_cell_over_several_rows_is_in_each_of_them(tmp_path: Path) -> None:
    word = docx.Document()
    table = word.add_table(rows=4, cols=3)
    for row, cells in enumerate(
        (("Region", "Product", "Units"), ("North", "Hub", "7"), ("", "Rim", "9"), ("South", "Hub", "2"))
    ):
        for column, cell in enumerate(cells):
            table.cell(row, column).text = cell
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(2, 2).merge(table.cell(3, 2))
    assert text_of(tmp_path / "a.docx", word).splitlines()[2:] == [
        "| North | Hub | 7 |",
        "| North | Rim | 9 2 |",
        "| South | Hub | 9 2 |",
    ]


def test_tables_become_markdown_where_they_stand(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_paragraph("before")
    table = word.add_table(rows=3, cols=3)
    for row, cells in enumerate((("Part", "Price", "a|b"), ("Seal\nring", "3.50", ""), ("merged", "", "z"))):
        for column, cell in enumerate(cells):
            table.cell(row, column).text = cell
    table.cell(2, 0).merge(table.cell(2, 1))
    table.cell(1, 2).add_table(rows=1, cols=1).cell(0, 0).text = "inner"
    word.add_paragraph("after")
    assert text_of(tmp_path / "a.docx", word) == (
        "before\n\n"
        "| Part | Price | a\\|b |\n"
        "| --- | --- | --- |\n"
        "| Seal ring | 3.50 | inner |\n"
        "| merged | merged | z |\n\n"
        "after"
    )


def test_controls_links_and_tracked_changes_are_read_as_accepted(tmp_path: Path) -> None:
    word = docx.Document()
    body = word.element.body
    for xml in (
        "<w:sdt {}><w:sdtContent><w:p><w:r><w:t>in a control</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        "<w:p {}><w:r><w:t>kept </w:t></w:r><w:ins w:id='1' w:author='a'><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:del w:id='2' w:author='a'><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        "<w:moveFrom w:id='3' w:author='a'><w:r><w:t>moved away</w:t></w:r></w:moveFrom></w:p>",
        "<w:p {}><w:hyperlink w:anchor='x'><w:r><w:t>a link</w:t></w:r></w:hyperlink>"
        "<w:sdt><w:sdtContent><w:r><w:t> and a field</w:t></w:r></w:sdtContent></w:sdt></w:p>",
    ):
        body.insert(len(body) - 1, parse_xml(xml.format(nsdecls("w"))))
    assert text_of(tmp_path / "a.docx", word) == "in a control\n\nkept inserted\n\na link and a field"


def test_a_file_without_properties_makes_none_up(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_paragraph("words")
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(word))) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "_rels/.rels":
                start = data.index(b"<Relationship ", data.index(b"core-properties") - 200)
                start = data.rindex(b"<Relationship ", 0, data.index(b"core-properties"))
                data = data[:start] + data[data.index(b"/>", start) + 2 :]
            if not name.startswith("docProps/core"):
                after.writestr(name, data)
    found = only(tmp_path / "plain.docx", out.getvalue())
    assert isinstance(found, Document)
    assert (found.title, dict(found.metadata)) == ("plain", {"filename": "plain.docx"})


def test_what_is_no_docx_says_why(tmp_path: Path) -> None:
    cases = {
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600: "is protected by a password, or is a file of Office 2003",
        b"": "cannot be read as DOCX (File is not a zip file)",
        b"just words": "cannot be read as DOCX (File is not a zip file)",
        saved(docx.Document())[:9000]: "cannot be read as DOCX",
        saved(docx.Document()): "is empty: its body holds no text",
    }
    empty_zip = io.BytesIO()
    with zipfile.ZipFile(empty_zip, "w") as package:
        package.writestr("hello.txt", "words")
    cases[empty_zip.getvalue()] = "cannot be read as DOCX"
    for data, reason in cases.items():
        found = only(tmp_path / "a.docx", data)
        assert isinstance(found, ReadError)
        assert found.reason.startswith(reason)
        assert found.mend or found.reason.startswith("is empty")


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_paragraph("x" * 3_000_000)
    data = saved(word)
    assert len(data) < 1_000_000
    found = only(tmp_path / "a.docx", data, ReadOptions(max_bytes=1_000_000))
    assert isinstance(found, ReadError)
    assert "more than 1,000,000" in found.reason
    assert "--max-bytes" in found.mend


@pytest.mark.parametrize("size", [1, 40])
def test_wide_tables_and_ragged_rows_are_even(tmp_path: Path, size: int) -> None:
    word = docx.Document()
    table = word.add_table(rows=2, cols=size)
    table.cell(0, 0).text = "head"
    table.cell(0, size - 1).text = "end"
    last = table.rows[1]._tr
    for cell in list(last.tc_lst)[1:]:
        last.remove(cell)
    lines = text_of(tmp_path / "a.docx", word).splitlines()
    assert {line.count("|") for line in lines} == {size + 1}
