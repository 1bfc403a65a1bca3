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
from docx.shared import Inches
from growth import assert_linear
from office_files import paragraph, run, word_file

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


def read_body(path: Path, body: str, **parts: str) -> tuple[list[str], tuple[str, ...]]:
    """The lines of a file with this body that are not empty, and its warnings."""
    document = only(path / "a.docx", word_file(body, **parts))
    assert isinstance(document, Document), document
    return [line for line in document.text.splitlines() if line.strip()], document.warnings


def levels(*each: tuple[str, str], more: str = "") -> str:
    """An abstract list, and list 1 that uses it, from the format and the text of each level."""
    texts = "".join(
        f"<w:lvl w:ilvl='{at}'><w:start w:val='1'/><w:numFmt w:val='{form}'/><w:lvlText w:val='{text}'/></w:lvl>"
        for at, (form, text) in enumerate(each)
    )
    return (
        f"<w:abstractNum w:abstractNumId='7'>{texts}</w:abstractNum>"
        f"<w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num>{more}"
    )


def item(text: str, level: int = 0, number: int = 1) -> str:
    return paragraph(text, f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>")


@pytest.mark.parametrize(
    ("form", "text", "labels"),
    [
        ("decimal", "%1.", ["1.", "2.", "3."]),
        ("lowerLetter", "(%1)", ["(a)", "(b)", "(c)"]),
        ("upperRoman", "%1)", ["I)", "II)", "III)"]),
        ("lowerLetter", "%1.", ["- a.", "- b.", "- c."]),
        ("decimalZero", "%1", ["- 01", "- 02", "- 03"]),
        ("bullet", "\uf0b7", ["-", "-", "-"]),
        ("none", "", ["-", "-", "-"]),
        ("decimal", "Article %1:", ["- Article 1:", "- Article 2:", "- Article 3:"]),
    ],
)
def test_numbers_of_lists_are_text_of_their_items(tmp_path: Path, form: str, text: str, labels: list[str]) -> None:
    body = "".join(map(item, ("Open the valve.", "Close it.", "Wait.")))
    lines, _ = read_body(tmp_path, body, numbering=levels((form, text)))
    assert lines == [
        f"{label} {words}" for label, words in zip(labels, ("Open the valve.", "Close it.", "Wait."), strict=True)
    ]


def test_numbers_of_deeper_levels_name_those_above_and_restart_below_them(tmp_path: Path) -> None:
    body = item("Scope") + item("Parts", 1) + item("Ends", 1) + item("Cover") + item("Parts", 1) + item("Last", 2)
    lines, _ = read_body(
        tmp_path, body, numbering=levels(("decimal", "%1."), ("decimal", "%1.%2"), ("lowerRoman", "(%3)"))
    )
    assert lines == ["1. Scope", "    - 1.1 Parts", "    - 1.2 Ends", "2. Cover", "    - 2.1 Parts", "        (i) Last"]


def test_a_list_goes_on_after_text_and_another_list_of_its_kind_starts_where_it_says(tmp_path: Path) -> None:
    again = (
        "<w:num w:numId='2'><w:abstractNumId w:val='7'/>"
        "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/></w:lvlOverride></w:num>"
    )
    body = (
        item("One")
        + paragraph("Between.")
        + item("Two")
        + item("Five", number=2)
        + item("Six", number=2)
        + item("No", number=0)
    )
    lines, _ = read_body(tmp_path, body, numbering=levels(("decimal", "%1."), more=again))
    assert lines == ["1. One", "Between.", "2. Two", "5. Five", "6. Six", "No"]


def test_a_heading_has_the_number_of_its_style(tmp_path: Path) -> None:
    word = docx.Document()
    style = word.styles["Heading 1"].element.get_or_add_pPr()
    style.append(parse_xml(f"<w:numPr {nsdecls('w')}><w:numId w:val='90'/></w:numPr>"))
    numbering = word.part.numbering_part.element
    for xml in (
        "<w:abstractNum {} w:abstractNumId='90'><w:lvl w:ilvl='0'><w:start w:val='4'/><w:numFmt w:val='decimal'/>"
        "<w:lvlText w:val='%1'/></w:lvl></w:abstractNum>",
        "<w:num {} w:numId='90'><w:abstractNumId w:val='90'/></w:num>",
    ):
        numbering.append(parse_xml(xml.format(nsdecls("w"))))
    word.add_heading("Liability", 1)
    word.add_heading("Term", 1)
    word.add_paragraph("First", style="List Bullet")
    assert text_of(tmp_path / "a.docx", word) == "# 4 Liability\n\n# 5 Term\n\n- First"


def test_entries_of_a_table_of_contents_have_dots_and_so_are_no_statements(tmp_path: Path) -> None:
    word = docx.Document()
    word.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    word.add_paragraph("1\tLiability\t4", style="toc 1")
    word.add_paragraph("Seal\t4")
    assert text_of(tmp_path / "a.docx", word) == "1\tLiability ...... 4\n\nSeal\t4"


def test_the_lead_in_of_a_list_stays_with_an_item_that_has_a_note(tmp_path: Path) -> None:
    note = "<w:footnote w:id='1'><w:p><w:r><w:footnoteRef/><w:t> Made by Orne.</w:t></w:r></w:p></w:footnote>"
    marked = "<w:r><w:t>Open the red valve.</w:t></w:r><w:r><w:footnoteReference w:id='1'/></w:r>"
    body = paragraph("Never do this:") + item(marked) + item("Touch the belt.") + paragraph("After.")
    lines, _ = read_body(tmp_path, body, numbering=levels(("bullet", "o")), footnotes=note)
    assert lines == ["Never do this:", "- Open the red valve.[1]", "- Touch the belt.", "[1] Made by Orne.", "After."]


def test_notes_stand_after_the_paragraph_that_refers_to_them(tmp_path: Path) -> None:
    notes = (
        "<w:footnote w:type='separator' w:id='0'><w:p/></w:footnote>"
        f"<w:footnote w:id='2'>{paragraph('Without oil.')}{paragraph('Or with it.')}</w:footnote>"
        "<w:footnote w:id='3'><w:p><w:r><w:t>In May.</w:t></w:r></w:p></w:footnote>"
    )
    ends = "<w:endnote w:id='1'><w:p><w:r><w:t>See the annex.</w:t></w:r></w:p></w:endnote>"
    refer = "<w:r><w:{}noteReference w:id='{}'/></w:r>".format
    body = (
        paragraph(run("It runs dry.") + refer("foot", 2) + run(" It stops.") + refer("end", 1))
        + f"<w:tbl><w:tr><w:tc>{paragraph('Part')}</w:tc><w:tc>{paragraph('Price')}</w:tc></w:tr>"
        + f"<w:tr><w:tc>{paragraph('Seal')}</w:tc><w:tc>{paragraph(run('3.50') + refer('foot', 3))}</w:tc></w:tr></w:tbl>"
        + paragraph(run("Once more.") + refer("foot", 2) + refer("foot", 9))
    )
    lines, _ = read_body(tmp_path, body, footnotes=notes, endnotes=ends)
    assert lines == [
        "It runs dry.[1] It stops.[i]",
        "[1] Without oil.",
        "Or with it.",
        "[i] See the annex.",
        "| Part | Price |",
        "| --- | --- |",
        "| Seal | 3.50[2] |",
        "[2] In May.",
        "Once more.[1]",
    ]


BOX = "<w:txbxContent><w:p><w:r><w:t>Mind the belt.</w:t></w:r></w:p></w:txbxContent>"


@pytest.mark.parametrize(
    "drawing",
    [
        f"<mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx>{BOX}</wps:txbx></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{BOX}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>",
        f"<w:pict><v:group><v:textbox>{BOX}</v:textbox></v:group></w:pict>",
        "<w:pict><v:shape><v:textpath string='Mind the belt.'/></v:shape></w:pict>",
    ],
)
def test_a_text_box_is_read_once_after_its_paragraph(tmp_path: Path, drawing: str) -> None:
    body = paragraph(f"<w:r><w:t>The pump </w:t>{drawing}<w:t>runs.</w:t></w:r>") + paragraph("After.")
    assert read_body(tmp_path, body)[0] == ["The pump runs.", "Mind the belt.", "After."]


def math(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        (f"<m:f><m:num>{math('a+b')}</m:num><m:den>{math('2')}</m:den></m:f>", "(a+b)/2"),
        (f"<m:f><m:fPr><m:type m:val='noBar'/></m:fPr><m:num>{math('n')}</m:num><m:den>{math('k')}</m:den></m:f>", "n¦k"),
        (f"<m:sSup><m:e>{math('x')}</m:e><m:sup>{math('2')}</m:sup></m:sSup>", "x²"),
        (f"<m:sSup><m:e>{math('e')}</m:e><m:sup>{math('-x/2')}</m:sup></m:sSup>", "e^(-x/2)"),
        (f"<m:sSub><m:e>{math('x')}</m:e><m:sub>{math('i')}</m:sub></m:sSub>", "x_i"),
        (f"<m:sSubSup><m:e>{math('x')}</m:e><m:sub>{math('1')}</m:sub><m:sup>{math('n')}</m:sup></m:sSubSup>", "x₁ⁿ"),
        (f"<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{math('x+1')}</m:e></m:rad>", "√(x+1)"),
        (f"<m:rad><m:deg>{math('3')}</m:deg><m:e>{math('x')}</m:e></m:rad>", "∛(x)"),
        (f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{math('i=1')}</m:sub><m:sup>{math('n')}</m:sup>"
         f"<m:e>{math('i')}</m:e></m:nary>", "∑_(i=1)^n i"),
        (f"<m:nary><m:sub/><m:sup/><m:e>{math('f dx')}</m:e></m:nary>", "∫ f dx"),
        (f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e>{math('a')}</m:e><m:e>{math('b')}</m:e></m:d>",
         "[a|b]"),
        (f"<m:func><m:fName>{math('sin')}</m:fName><m:e>{math('x')}</m:e></m:func>", "sin x"),
        (f"<m:limLow><m:e>{math('lim')}</m:e><m:lim>{math('x→0')}</m:lim></m:limLow>", "lim_(x→0)"),
        (f"<m:m><m:mr><m:e>{math('a')}</m:e><m:e>{math('b')}</m:e></m:mr><m:mr><m:e>{math('c')}</m:e></m:mr></m:m>", "a, b; c"),
        (f"<m:borderBox><m:e>{math('y')}</m:e></m:borderBox>", "y"),
    ],
)  # fmt: skip
def test_equations_are_linear_text(tmp_path: Path, xml: str, text: str) -> None:
    body = paragraph(f"{run('It is ')}<m:oMath>{xml}</m:oMath>{run(' here.')}")
    assert read_body(tmp_path, body)[0] == [f"It is {text} here."]
    assert read_body(tmp_path, paragraph(f"<m:oMathPara><m:oMath>{xml}</m:oMath></m:oMathPara>"))[0] == [text]


def test_headers_and_footers_stand_once_at_the_start_and_only_if_shown(tmp_path: Path) -> None:
    page = (
        "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText> PAGE </w:instrText><w:fldChar w:fldCharType='separate'/>"
    )
    page += "<w:t>3</w:t><w:fldChar w:fldCharType='end'/></w:r>"
    refer = "".join(
        f"<w:{kind}Reference w:type='{use}' r:id='rId{kind}{number}'/>"
        for kind, use, number in (
            ("header", "default", 1),
            ("header", "first", 2),
            ("header", "even", 3),
            ("footer", "default", 1),
        )
    )
    parts = {
        "header1": paragraph("ACME report"),
        "header2": paragraph("For the board only"),
        "header3": paragraph("Not in use"),
        "footer1": paragraph(run("Page ") + page) + paragraph(run("Issue 7, page ") + page),
    }
    section = f"<w:sectPr>{refer}<w:titlePg/></w:sectPr>"
    body = paragraph("First.", section) + paragraph("Second.", section) + f"<w:sectPr>{refer}</w:sectPr>"
    lines, _ = read_body(tmp_path, body, **parts)
    assert lines == ["ACME report", "For the board only", "Issue 7, page", "First.", "Second."]
    lines, _ = read_body(tmp_path, body, settings="<w:evenAndOddHeaders/>", **parts)
    assert lines[2] == "Not in use"


def test_what_is_not_read_is_counted(tmp_path: Path) -> None:
    body = (
        paragraph(run("Seen. ") + run("two secrets", "<w:vanish/>") + run("Also.", "<w:vanish w:val='0'/>"))
        + f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{paragraph('Click here.')}</w:sdtContent></w:sdt>"
        + "<w:altChunk r:id='rId99'/>"
    )
    note = "<w:comment w:id='1'><w:p><w:r><w:t>Really?</w:t></w:r></w:p></w:comment>"
    lines, warnings = read_body(tmp_path, body, comments=note)
    assert lines == ["Seen. Also."]
    assert warnings == (
        "1 comments were not read",
        "2 words of hidden text were not read",
        "2 words of empty form fields were not read",
        "1 embedded documents were not read",
    )


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (run("10") + run("6", "<w:vertAlign w:val='superscript'/>") + run(" m"), "10⁶ m"),
        (run("H") + run("2", "<w:vertAlign w:val='subscript'/>") + run("O"), "H₂O"),
        ("<w:smartTag><w:r><w:t>Sarn</w:t></w:r></w:smartTag>", "Sarn"),
        ("<w:fldSimple w:instr=' REF x '><w:r><w:t>Table 3</w:t></w:r></w:fldSimple>", "Table 3"),
        ("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t><w:softHyphen/><w:t>c</w:t><w:tab/><w:t>d</w:t></w:r>", "a-bc\td"),
        ("<w:r><w:sym w:font='Symbol' w:char='F061'/><w:sym w:font='Wingdings' w:char='F0FE'/></w:r>", "α☑"),
        ("<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData></w:fldChar>"
         "<w:instrText>FORMCHECKBOX</w:instrText><w:fldChar w:fldCharType='end'/><w:t> yes</w:t></w:r>", "☒ yes"),
        ("<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:ddList><w:result w:val='1'/><w:listEntry w:val='Hub'/>"
         "<w:listEntry w:val='Rim'/></w:ddList></w:ffData></w:fldChar><w:fldChar w:fldCharType='end'/></w:r>", "Rim"),
        ("<w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r>",
         "漢(kan)"),
        ("<w:bdo w:val='rtl'><w:r><w:t>abc</w:t></w:r></w:bdo>", "abc"),
    ],
)  # fmt: skip
def test_text_of_every_inline_element_is_kept(tmp_path: Path, runs: str, text: str) -> None:
    assert read_body(tmp_path, paragraph(runs)) == ([text], ())


def test_rows_and_cells_in_content_controls_are_read(tmp_path: Path) -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>".format
    count = f"<w:sdt><w:sdtContent>{cell('7')}</w:sdtContent></w:sdt>"
    row = f"<w:sdt><w:sdtContent><w:tr>{cell('Seal')}{count}</w:tr></w:sdtContent></w:sdt>"
    lines, _ = read_body(tmp_path, f"<w:tbl><w:tr>{cell('Part')}{cell('Count')}</w:tr>{row}</w:tbl>")
    assert lines == ["| Part | Count |", "| --- | --- |", "| Seal | 7 |"]


@pytest.mark.parametrize(
    "xml",
    [
        "<w:numbering/>",
        "<w:num w:numId='1'><w:abstractNumId w:val='8'/></w:num>",
        "<w:abstractNum w:abstractNumId='7'><w:numStyleLink w:val='Loop'/></w:abstractNum>"
        "<w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num>",
    ],
)
def test_damaged_lists_keep_their_text(tmp_path: Path, xml: str) -> None:
    assert read_body(tmp_path, item("One") + item("Two", 8), numbering=xml)[0] == ["One", "Two"]


def test_equations_as_deep_as_a_file_may_nest_are_read(tmp_path: Path) -> None:
    deep = "<m:f><m:num>" * 120 + math("x") + "</m:num></m:f>" * 120
    assert "(x/)" in read_body(tmp_path, paragraph(f"<m:oMath>{deep}</m:oMath>"))[0][0]


@pytest.mark.parametrize(
    "unit", [item("One"), paragraph("<w:r><w:footnoteReference w:id='1'/></w:r>"), paragraph(run("word"))]
)
def test_time_is_linear_in_the_paragraphs(tmp_path: Path, unit: str) -> None:
    notes = "<w:footnote w:id='1'><w:p><w:r><w:t>Note.</w:t></w:r></w:p></w:footnote>"
    files = {
        size: word_file(unit * size + paragraph("End."), numbering=levels(("decimal", "%1.")), footnotes=notes)
        for size in (200, 1_600)
    }
    assert_linear(lambda size: only(tmp_path / "a.docx", files[size]), 200, times=8, slack=3)


def test_a_header_of_many_sections_is_read_once(tmp_path: Path) -> None:
    section = paragraph("Part.", "<w:sectPr><w:headerReference r:id='rIdheader'/></w:sectPr>")
    files = {size: word_file(section * size, header=paragraph("ACME") * size) for size in (100, 800)}
    assert_linear(lambda size: only(tmp_path / "a.docx", files[size]), 100, times=8, slack=3)


def test_comments_stand_after_what_they_are_about_if_the_options_ask_for_them(tmp_path: Path) -> None:
    mark = "<w:r><w:commentReference w:id='{}'/></w:r>".format
    table = f"<w:tbl><w:tr><w:tc>{paragraph(run('cell') + mark(2))}</w:tc></w:tr></w:tbl>"
    body = paragraph(run("The price is 12.") + mark(1)) + paragraph(run("End.")) + table
    note = "<w:comment w:id='{}' w:author='{}'><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:comment>".format
    comments = note(1, "Ane Vik", "Without tax?") + note(2, "", "Why?") + note(3, "Bo", "Of nothing.")
    lines, warnings = read_body(tmp_path, body, comments=comments)
    assert (lines[:2], warnings) == (["The price is 12.", "End."], ("3 comments were not read",))
    document = only(tmp_path / "a.docx", word_file(body, comments=comments), ReadOptions(comments=True))
    assert isinstance(document, Document)
    assert document.warnings == ()
    lines = [line for line in document.text.splitlines() if line]
    assert lines[:3] == ["The price is 12.", "Comment by Ane Vik: Without tax?", "End."]
    assert lines[-2:] == ["Comment: Why?", "Comment by Bo: Of nothing."]


def test_the_items_of_a_style_for_a_deeper_list_are_under_the_item_above(tmp_path: Path) -> None:
    word = docx.Document()
    for text, style in (
        ("Not let are:", "List Number"),
        ("the office", "List Bullet 2"),
        ("one desk", "List Bullet 3"),
    ):
        word.add_paragraph(text, style=style)
    assert text_of(tmp_path / "a.docx", word) == "1. Not let are:\n    - the office\n        - one desk"


def test_struck_out_runs_are_marked_so(tmp_path: Path) -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("Dogs are ")
    paragraph.add_run("allowed ").font.strike = True
    paragraph.add_run("not allowed.").font.double_strike = False
    assert text_of(tmp_path / "a.docx", word) == "Dogs are ~~allowed~~ not allowed."


def test_a_line_in_bold_above_text_is_a_heading_and_bold_cells_are_labels(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_heading("Rules", 1)
    for text in ("2. Fees", "The fee is £48.", "Do not pay twice.", "See also", "End"):
        word.add_paragraph().add_run(text).bold = text != "The fee is £48."
    table = word.add_table(rows=2, cols=2)
    for cell, text in zip((*table.rows[0].cells, *table.rows[1].cells), ("Task", "Who", "Pump", "Lena"), strict=True):
        cell.paragraphs[0].add_run(text).bold = text in ("Task", "Who")
    assert text_of(tmp_path / "a.docx", word).split("\n\n") == [
        *("# Rules", "## 2. Fees", "The fee is £48.", "Do not pay twice.", "See also", "## End"),
        "| Task | Who |\n| --- | --- |\n| Pump | Lena |",
    ]


def test_paragraphs_as_indented_as_an_item_belong_to_it_and_its_list_goes_on(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_paragraph("To start the pump:")
    word.add_paragraph("Open the valve.", style="List Number")
    word.add_paragraph("It is red.", style="List Continue")
    word.add_paragraph("Press the switch.", style="List Number")
    word.add_paragraph("Then it runs.")
    for indent, text in ((Inches(0.5), "Never stop:"), (Inches(0.5), "It is late.")):
        word.add_paragraph(text).paragraph_format.left_indent = indent
        word.add_paragraph("the belt", style="List Bullet")
    assert text_of(tmp_path / "a.docx", word) == (
        "To start the pump:\n\n1. Open the valve.\n\n  It is red.\n2. Press the switch.\n\nThen it runs.\n\n"
        "Never stop:\n\n- the belt\n\nIt is late.\n\n- the belt"
    )


def test_a_definition_rests_on_its_term(tmp_path: Path) -> None:
    word = docx.Document()
    for name in ("Definition Term", "Definition"):
        word.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    for term, text in (("Pump", "Moves water."), ("Valve", "Stops it.")):
        word.add_paragraph(term, style="Definition Term")
        word.add_paragraph(text, style="Definition")
    assert text_of(tmp_path / "a.docx", word) == "Pump\n\n  Moves water.\n\nValve\n\n  Stops it."


def test_a_transcript_has_who_speaks_in_the_line_of_the_words(tmp_path: Path) -> None:
    word = docx.Document()
    for name, time, says in (("Ada Bell", "0:03", "It runs."), ("Bo Lind", "0:11", "Good.")):
        paragraph = word.add_paragraph()
        paragraph.add_run(name).bold = True
        paragraph.add_run(f"   {time}").add_break()
        paragraph.add_run(says)
    assert text_of(tmp_path / "a.docx", word) == "[0:03] Ada Bell: It runs.\n\n[0:11] Bo Lind: Good."


def test_a_row_of_the_style_table_heading_is_a_header(tmp_path: Path) -> None:
    word = docx.Document()
    style = word.styles.add_style("Table Heading", WD_STYLE_TYPE.PARAGRAPH)
    table = word.add_table(0, 3)
    for row in (("Item", "1–99", "100+"), ("Brick", "3.40", "3.20"), ("Clay", "0.90", "0.80")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
            cell.paragraphs[0].style = style if row[0] == "Item" else None
    assert text_of(tmp_path / "a.docx", word).splitlines()[0] == "| Item | 1–99 | 100+ |"


def test_a_table_of_one_row_with_several_paragraphs_in_a_cell_places_them(tmp_path: Path) -> None:
    word = docx.Document()
    left, right = word.add_table(rows=1, cols=2).rows[0].cells
    left.paragraphs[0].add_run("Ingredients").bold = True
    left.add_paragraph("12 plums", style="List Bullet")
    left.add_paragraph("60 g butter", style="List Bullet")
    right.text = "Boil them."
    word.add_paragraph("They freeze well.")
    found = text_of(tmp_path / "a.docx", word)
    assert found == "Ingredients:\n\n- 12 plums\n- 60 g butter\n\nBoil them.\n\nThey freeze well."
    warning = docx.Document()
    sign, words = warning.add_table(rows=1, cols=2).rows[0].cells
    sign.text, words.text = "⚠", "WARNING"
    words.add_paragraph("It is hot.")
    assert text_of(tmp_path / "b.docx", warning) == "⚠\n\nWARNING\n\nIt is hot."


def test_a_table_of_one_row_with_short_cells_is_a_row(tmp_path: Path) -> None:
    word = docx.Document()
    table = word.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Weight", "12 kg"
    table.cell(0, 1).add_paragraph("without oil")
    assert text_of(tmp_path / "a.docx", word).endswith("| Weight | 12 kg without oil |")


def test_items_in_a_cell_stay_apart(tmp_path: Path) -> None:
    word = docx.Document()
    table = word.add_table(rows=2, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text, table.cell(1, 0).text = "Part", "Holds", "Box"
    for text in ("two keys", "one lamp;", "a rope"):
        table.cell(1, 1).add_paragraph(text, style="List Bullet")
    table.cell(1, 1).add_paragraph("Keep it dry.")
    assert "| Box | two keys, one lamp; a rope Keep it dry. |" in text_of(tmp_path / "a.docx", word)


@pytest.mark.parametrize(
    ("headings", "title"), [("1 2 2", "Part 1"), ("1 1", "a"), ("2 1", "a"), ("2 2", "a"), ("", "a")]
)
def test_the_only_heading_of_level_1_titles_a_file_without_another_title(
    headings: str, title: str, tmp_path: Path
) -> None:
    word = docx.Document()
    word.add_paragraph("It runs.")
    for number, level in enumerate(headings.split(), 1):
        word.add_heading(f"Part {number}", int(level))
        word.add_paragraph("It runs.")
    word.save(str(tmp_path / "a.docx"))
    [found] = read([str(tmp_path / "a.docx")])
    assert isinstance(found, Document)
    assert found.title == title
