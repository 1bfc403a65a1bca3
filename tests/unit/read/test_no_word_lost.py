"""Each word of a file is in its document or named in a warning, for every element of its format that can hold text."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from office_files import paragraph, run, shape, slide_file, with_parts, word_file
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from hlgraph.read import read
from hlgraph.records import Document

LINES = " ".join(
    f"The pump number {year} was made by ACME in {year} and runs at forty bar." for year in range(1990, 1999)
)


def is_told(folder: Path, suffix: str, data: bytes, word: str, warning: str) -> bool:
    """Whether the word is in the document exactly once, or the warning is one of its warnings and the word is not there."""
    (folder / f"a{suffix}").write_bytes(data)
    [document] = read([str(folder / f"a{suffix}")])
    assert isinstance(document, Document), document
    count = len(re.findall(rf"\b{word}\b", document.text.replace("_", " ")))
    warned = any(warning in each for each in document.warnings) if warning else False
    return (count, warned) == ((0, True) if warning else (1, False))


RUN = "<w:r><w:t>zebra</w:t></w:r>"
BOX = f"<w:txbxContent><w:p>{RUN}</w:p></w:txbxContent>"
NOTE = f"<w:{{}} w:id='5'><w:p>{RUN}</w:p></w:{{}}>".format
TEXT = "<m:r><m:t>zebra</m:t></m:r>"


def sdt(content: str, properties: str = "") -> str:
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def row(content: str) -> str:
    return f"<w:tr><w:tc>{content}</w:tc></w:tr>"


EQUATIONS = (
    *(("f", "num"), ("f", "den"), ("rad", "deg"), ("rad", "e"), ("nary", "sub"), ("nary", "sup"), ("nary", "e")),
    *(
        ("sSup", "sup"),
        ("sSub", "sub"),
        ("sSubSup", "e"),
        ("sPre", "sup"),
        ("d", "e"),
        ("func", "fName"),
        ("func", "e"),
    ),
    *(
        ("limLow", "lim"),
        ("limUpp", "lim"),
        ("acc", "e"),
        ("bar", "e"),
        ("box", "e"),
        ("borderBox", "e"),
        ("phant", "e"),
    ),
    *(("groupChr", "e"), ("eqArr", "e")),
)
WRAPPERS = ("bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "smartTag")
INLINE = {
    "r": RUN,
    **{name: f"<w:{name}>{RUN}</w:{name}>" for name in WRAPPERS},
    "sdt": sdt(RUN),
    "sdt in sdt": sdt(sdt(RUN)),
    "fldSimple": f"<w:fldSimple w:instr='REF a'>{RUN}</w:fldSimple>",
    "field": "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText>REF a</w:instrText><w:fldChar w:fldCharType='separate'/></w:r>"
    f"{RUN}<w:r><w:fldChar w:fldCharType='end'/></w:r>",
    "wps": f"<w:r><w:drawing><wps:txbx>{BOX}</wps:txbx></w:drawing></w:r>",
    "vml": f"<w:r><w:pict><v:textbox>{BOX}</v:textbox></w:pict></w:r>",
    "object": f"<w:r><w:object><v:textbox>{BOX}</v:textbox></w:object></w:r>",
    "alternative": f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{BOX}</w:drawing></mc:Choice>"
    f"<mc:Fallback><w:pict>{BOX}</w:pict></mc:Fallback></mc:AlternateContent></w:r>",
    "ruby": f"<w:r><w:ruby><w:rt>{RUN}</w:rt><w:rubyBase><w:r><w:t>a</w:t></w:r></w:rubyBase></w:ruby></w:r>",
    **{
        f"{name} {part}": f"<m:oMath><m:{name}><m:{part}>{TEXT}</m:{part}></m:{name}></m:oMath>"
        for name, part in EQUATIONS
    },
}
PARTS = {
    "footnote": ("<w:r><w:footnoteReference w:id='5'/></w:r>", {"footnotes": NOTE("footnote", "footnote")}),
    "endnote": ("<w:r><w:endnoteReference w:id='5'/></w:r>", {"endnotes": NOTE("endnote", "endnote")}),
}
HEADER = "<w:sectPr><w:headerReference r:id='rIdheader'/></w:sectPr>"
FOOTER = "<w:sectPr><w:footerReference r:id='rIdfooter'/></w:sectPr>"
WORD = {
    **{name: (word_file(paragraph(run("Here ") + xml)), "") for name, xml in INLINE.items()},
    **{
        f"{name} in a cell": (word_file(f"<w:tbl>{row(paragraph(run('Here ') + xml))}</w:tbl>"), "")
        for name, xml in INLINE.items()
    },
    **{name: (word_file(paragraph(xml), **parts), "") for name, (xml, parts) in PARTS.items()},
    "header": (word_file(HEADER, header=paragraph("zebra")), ""),
    "footer": (word_file(FOOTER, footer=paragraph("zebra")), ""),
    "table in a table": (word_file(f"<w:tbl>{row(f'<w:tbl>{row(paragraph(RUN))}</w:tbl>')}</w:tbl>"), ""),
    "row in sdt": (word_file(f"<w:tbl>{sdt(row(paragraph(RUN)))}</w:tbl>"), ""),
    "customXml block": (word_file(f"<w:customXml>{paragraph(RUN)}</w:customXml>"), ""),
    "comment": (word_file(paragraph("Here."), comments=NOTE("comment", "comment")), "1 comments"),
    "hidden": (word_file(paragraph(run("Here") + run("zebra", "<w:vanish/>"))), "1 words of hidden text"),
    "placeholder": (
        word_file(paragraph("Here.") + sdt(paragraph(RUN), "<w:showingPlcHdr/>")),
        "1 words of empty form fields",
    ),
}


@pytest.mark.parametrize("name", WORD)
def test_words_of_a_docx_file(tmp_path: Path, name: str) -> None:
    data, warning = WORD[name]
    assert is_told(tmp_path, ".docx", data, "zebra", warning)


AR = "<a:r><a:t>zebra</a:t></a:r>"
CELL = f"<a:tc><a:txBody><a:p>{AR}</a:p></a:txBody></a:tc>"
FRAME = (
    "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id='5' name='f'/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm/>"
    "<a:graphic><a:graphicData>{}</a:graphicData></a:graphic></p:graphicFrame>"
).format
TITLE = f"<c:title><c:tx><c:rich><a:p>{AR}</a:p></c:rich></c:tx></c:title>"
SERIES = "<c:barChart><c:ser>{}<c:val><c:numLit><c:pt idx='0'><c:v>1</c:v></c:pt></c:numLit></c:val></c:ser></c:barChart>".format
CHARTS = {
    "title": f"<c:chart>{TITLE}<c:plotArea/></c:chart>",
    "category axis": f"<c:chart><c:plotArea>{SERIES('')}<c:catAx>{TITLE}</c:catAx></c:plotArea></c:chart>",
    "value axis": f"<c:chart><c:plotArea>{SERIES('')}<c:valAx>{TITLE}</c:valAx></c:plotArea></c:chart>",
    "series": f"<c:chart><c:plotArea>{SERIES('<c:tx><c:v>zebra</c:v></c:tx>')}</c:plotArea></c:chart>",
    "category": "<c:chart><c:plotArea>"
    + SERIES("<c:cat><c:strLit><c:pt idx='0'><c:v>zebra</c:v></c:pt></c:strLit></c:cat>")
    + "</c:plotArea></c:chart>",
}
KINDS = ("", "title", "ctrTitle", "subTitle", "body", "obj", "ftr", "hdr", "dt")
SLIDES = {
    **{kind or "box": (slide_file(shape("zebra", kind=kind)), "") for kind in KINDS},
    "field": (slide_file(shape("<a:fld type='datetime'><a:t>zebra</a:t></a:fld>")), ""),
    "table": (slide_file(FRAME(f"<a:tbl><a:tr>{CELL}</a:tr></a:tbl>")), ""),
    "group": (slide_file(f"<p:grpSp>{shape('zebra')}</p:grpSp>"), ""),
    "connector text": (slide_file(f"<mc:AlternateContent><mc:Choice>{shape('zebra')}</mc:Choice></mc:AlternateContent>"), ""),
    **{f"chart {name}": (slide_file(FRAME("<c:chart r:id='rIdchart'/>"), chart=xml), "") for name, xml in CHARTS.items()},
    "diagram": (slide_file(FRAME("<dgm:relIds r:dm='rIddiagramData'/>"),
                           diagramData=f"<dgm:ptLst><dgm:pt modelId='1'><dgm:t><a:p>{AR}</a:p></dgm:t></dgm:pt></dgm:ptLst>"), ""),
    "comment": (slide_file(shape("Here."), comments="<p:cm><p:text>zebra</p:text></p:cm>"), "1 comments"),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIDES)
def test_words_of_a_pptx_file(tmp_path: Path, name: str) -> None:
    data, warning = SLIDES[name]
    assert is_told(tmp_path, ".pptx", data, "zebra", warning)


def workbook(change: Callable[[openpyxl.Workbook], None]) -> bytes:
    book = openpyxl.Workbook()
    book.active["A1"] = "Here"
    change(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def comment(book: openpyxl.Workbook) -> None:
    book.active["A1"].comment = Comment("zebra", "Jane Doe")


def header(book: openpyxl.Workbook) -> None:
    book.active.oddHeader.center.text = "zebra"


def chart(book: openpyxl.Workbook) -> None:
    bars = BarChart()
    bars.title = "zebra"
    book.active["B2"] = 3
    bars.add_data(Reference(book.active, min_col=2, min_row=2))
    book.active.add_chart(bars, "D4")


def hidden_sheet(book: openpyxl.Workbook) -> None:
    book.create_sheet("Other")["A1"] = "zebra"
    book["Other"].sheet_state = "hidden"


def hidden_row(book: openpyxl.Workbook) -> None:
    book.active["A3"] = "zebra"
    book.active.row_dimensions[3].hidden = True


def rich_text(book: openpyxl.Workbook) -> None:
    book.active["A3"] = CellRichText("ze", TextBlock(InlineFont(b=True), "bra"))


def text_box() -> bytes:
    names = (
        "xmlns:xdr='http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing' "
        "xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'"
    )
    box = "<xdr:sp><xdr:txBody><a:p><a:r><a:t>zebra</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    drawing = f"<xdr:wsDr {names}><xdr:twoCellAnchor>{box}</xdr:twoCellAnchor></xdr:wsDr>"
    return with_parts(
        workbook(chart),
        "xl/worksheets/sheet1.xml",
        {"xl/drawings/drawing1.xml": drawing, "xl/drawings/_rels/drawing1.xml.rels": "<Relationships/>"},
        {},
    )


BOOKS = {
    "cell": (workbook(lambda book: book.active.__setitem__("B3", "zebra")), ""),
    "sheet name": (workbook(lambda book: setattr(book.active, "title", "zebra")), ""),
    "hidden sheet": (workbook(hidden_sheet), ""),
    "hidden row": (workbook(hidden_row), ""),
    "rich text": (workbook(rich_text), ""),
    "comment": (workbook(comment), "1 comments"),
    "header": (workbook(header), ""),
    "chart": (workbook(chart), ""),
    "text box": (text_box(), ""),
}


def test_a_warning_names_what_is_hidden_in_a_workbook(tmp_path: Path) -> None:
    for hide, warning in (
        (hidden_sheet, "the hidden sheet 'Other'"),
        (hidden_row, "1 hidden rows of the sheet 'Sheet'"),
    ):
        (tmp_path / "a.xlsx").write_bytes(workbook(hide))
        [document] = read([str(tmp_path / "a.xlsx")])
        assert isinstance(document, Document)
        assert [each.partition(" w")[0] for each in document.warnings] == [warning]


@pytest.mark.parametrize("name", BOOKS)
def test_words_of_an_xlsx_file(tmp_path: Path, name: str) -> None:
    data, warning = BOOKS[name]
    assert is_told(tmp_path, ".xlsx", data, "zebra", warning)


TAGS = [
    "a",
    "abbr",
    "address",
    "article",
    "aside",
    "b",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "center",
    "cite",
    "code",
    "data",
    "del",
    "details",
    "dfn",
    "div",
    "em",
    "figcaption",
    "figure",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "ins",
    "kbd",
    "label",
    "legend",
    "main",
    "mark",
    "meter",
    "nobr",
    "output",
    "p",
    "pre",
    "progress",
    "q",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "time",
    "tt",
    "u",
    "var",
    "x-word",
    "ix:nonnumeric",
]
BLOCKS = {
    **{tag: f"<{tag}>zebra</{tag}>" for tag in TAGS},
    "li": "<ul><li>zebra</li></ul>",
    "ol": "<ol><li>zebra</li></ol>",
    "dt": "<dl><dt>zebra</dt><dd>Here.</dd></dl>",
    "dd": "<dl><dt>Here</dt><dd>zebra</dd></dl>",
    "td": "<table><tr><td>zebra</td><td>a</td></tr><tr><td>1</td><td>2</td></tr></table>",
    "th": "<table><tr><th>zebra</th><th>a</th></tr><tr><td>1</td><td>2</td></tr></table>",
    "caption": "<table><caption>zebra</caption><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>",
    "layout": "<table><tr><td><table><tr><td>zebra</td></tr></table></td></tr></table>",
    "ruby": "<p><ruby>a<rt>zebra</rt></ruby></p>",
    "math": "<p><math><mtext>zebra</mtext></math></p>",
    "button": "<button>zebra</button>",
    "svg": "<svg><text>zebra</text></svg>",
    "noscript": "<noscript>zebra</noscript>",
    "fieldset": "<fieldset>zebra</fieldset>",
    "hgroup": "<hgroup><p>zebra</p></hgroup>",
    "menu": "<menu><li>zebra</li></menu>",
    "search": "<search>zebra</search>",
    "textarea": "<textarea>zebra</textarea>",
    "option": "<select><option>zebra</option></select>",
    "object": "<object>zebra</object>",
    "iframe": "<iframe>zebra</iframe>",
    "video": "<video>zebra</video>",
    "canvas": "<canvas>zebra</canvas>",
    "marquee": "<marquee>zebra</marquee>",
    "dialog": "<dialog open>zebra</dialog>",
}
NO_TEXT = {"noscript", "iframe", "video", "canvas", "object", "textarea", "option", "button", "svg"}
"""What a browser shows instead of something, or the controls and pictures of a page: no text of it."""


@pytest.mark.parametrize("name", BLOCKS)
def test_words_of_an_html_page(tmp_path: Path, name: str) -> None:
    inline = (
        f"<p>Here is {BLOCKS[name]} in all.</p>" if name in TAGS and name not in ("legend", "main") else BLOCKS[name]
    )
    for body in (inline, BLOCKS[name]):
        page = f"<html><body><main><p>{LINES}</p>{body}<p>{LINES}</p></main></body></html>"
        assert is_told(tmp_path, ".html", page.encode(), "zebra", "") or name in NO_TEXT, (
            tmp_path / "a.html"
        ).read_text()


def book(chapter: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        container = "<container><rootfiles><rootfile full-path='b.opf'/></rootfiles></container>"
        package.writestr("META-INF/container.xml", container)
        package.writestr(
            "b.opf",
            "<package><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/></manifest>"
            "<spine><itemref idref='a'/></spine></package>",
        )
        body = f"<body><p>{LINES}</p>{chapter}<p>{LINES}</p></body>"
        package.writestr("a.xhtml", f"<html xmlns:epub='http://www.idpf.org/2007/ops'>{body}</html>")
    return out.getvalue()


@pytest.mark.parametrize(
    "kind",
    ["footnote", "endnote", "rearnote", "epigraph", "sidebar", "pagebreak", "bridgehead"],
)
@pytest.mark.parametrize("tag", ["aside", "section", "div", "p", "header", "footer", "nav"])
def test_words_of_an_epub_chapter(tmp_path: Path, kind: str, tag: str) -> None:
    data = book(f"<{tag} epub:type='{kind}'>zebra</{tag}>")
    assert is_told(tmp_path, ".epub", data, "zebra", "") or tag == "nav"


def page(draw: Callable[[Canvas], None]) -> bytes:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4, invariant=1)
    canvas.drawString(72, 760, "Here.")
    draw(canvas)
    canvas.save()
    return data.getvalue()


def in_a_form(canvas: Canvas) -> None:
    canvas.beginForm("f")
    canvas.drawString(72, 700, "zebra")
    canvas.endForm()
    canvas.doForm("f")


def turned(canvas: Canvas) -> None:
    canvas.translate(300, 300)
    canvas.rotate(90)
    canvas.drawString(0, 0, "zebra")


PAGES: dict[str, tuple[Callable[[Canvas], None], str]] = {
    "line": (lambda canvas: canvas.drawString(72, 700, "zebra"), ""),
    "form": (in_a_form, ""),
    "turned": (turned, ""),
    "field": (lambda canvas: canvas.acroForm.textfield(name="n", value="zebra"), ""),
    "free text": (lambda canvas: canvas.freeTextAnnotation("zebra", Rect=[1, 1, 99, 20], DA="/Helv 12 Tf"), ""),
    "comment": (lambda canvas: canvas.textAnnotation("zebra", Rect=[1, 1, 20, 20]), "1 comments"),
}


@pytest.mark.parametrize("name", PAGES)
def test_words_of_a_pdf_page(tmp_path: Path, name: str) -> None:
    draw, warning = PAGES[name]
    assert is_told(tmp_path, ".pdf", page(draw), "zebra", warning)
