import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from growth import assert_linear

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import ReadError
from hlgraph.extract import LocalExtractor
from hlgraph.extract.local._units import units
from hlgraph.persist.assemble import Extracted, assemble
from hlgraph.persist.compare import compare, plan_chunks
from hlgraph.read import ReadFailure, ReadOptions, read
from hlgraph.read.formats.html import declared_encoding
from hlgraph.records import Document

PARAGRAPH = "The P-100 was made by ACME in 1999 and runs at forty bar, which is more than any pump before it could do. "
PAGE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pumps | ACME</title>
<meta name="author" content="Jane Doe"><meta name="description" content="All about pümps">
<link rel="canonical" href="https://acme.example/pumps">
<meta property="article:published_time" content="2024-03-05T10:00:00Z"></head>
<body><nav><a href="/">Home</a> <a href="/x">Products</a></nav>
<main><article><h1>Pumps</h1><p>{PARAGRAPH * 2}</p><h2>Service &amp; care</h2><p>Oil it <b>weekly</b>. {PARAGRAPH}</p>
<ul><li>one seal</li><li>two rings</li></ul>
<table><tr><th>Part</th><th>Price</th></tr><tr><td>Seal</td><td>3.50</td></tr></table></article></main>
<script>var hidden = "secret";</script><footer>Copyright ACME</footer></body></html>"""


def only(path: Path, data: bytes | str, options: ReadOptions | None = None) -> Document | ReadError:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    [item] = read([str(path)], options)
    return item.error if isinstance(item, ReadFailure) else item


def test_main_text_comes_as_markdown_with_what_the_page_says_of_itself(tmp_path: Path) -> None:
    found = only(tmp_path / "p.html", PAGE)
    assert isinstance(found, Document)
    assert found.title == "Pumps"
    assert found.metadata == {
        "filename": "p.html",
        "author": "Jane Doe",
        "date": "2024-03-05",
        "url": "https://acme.example/pumps",
        "description": "All about pümps",
    }
    lines = [line.strip() for line in found.text.splitlines()]
    for line in ("# Pumps", "## Service & care", "- one seal", "| Part | Price |", "| Seal | 3.50 |"):
        assert line in lines
    assert "Oil it **weekly**." in found.text
    assert not any(word in found.text for word in ("Home", "secret", "Copyright"))


def test_same_page_gives_the_same_text_again(tmp_path: Path) -> None:
    assert only(tmp_path / "p.html", PAGE) == only(tmp_path / "p.html", PAGE)


@pytest.mark.parametrize(
    "page", ["<p>Only a short line.</p>", "<HTML><body><div>Only a short line.</div>", "Only a short line."]
)
def test_fragments_and_short_pages_are_read(tmp_path: Path, page: str) -> None:
    found = only(tmp_path / "short.htm", page)
    assert isinstance(found, Document)
    assert (found.text, found.title) == ("Only a short line.", "short")


@pytest.mark.parametrize(
    "page", ["<html><body></body></html>", "<html><script>var a = 1;</script></html>", "<!-- x -->"]
)
def test_a_page_without_main_text_is_a_failure(tmp_path: Path, page: str) -> None:
    found = only(tmp_path / "p.html", page)
    assert isinstance(found, ReadError)
    assert found.reason == "no main text was found in the page"
    assert "--format text" in found.mend


def test_declared_encodings_are_obeyed_and_others_are_found(tmp_path: Path) -> None:
    page = '<html><head><meta http-equiv="Content-Type" content="text/html; charset={}"></head><body><p>{}</p></body>'
    for declared, actual in (
        ("iso-8859-1", "cp1252"),
        ("koi8-r", "koi8-r"),
        ("utf-16", "utf-8"),
        ("nonsense", "utf-8"),
    ):
        text = "Мир и слово" if actual == "koi8-r" else "Größe “quoted”"
        found = only(tmp_path / "p.html", page.format(declared, text).encode(actual))
        assert isinstance(found, Document), found
        assert found.text == text
    found = only(tmp_path / "p.html", "<html><body><p>Größe</p></body></html>".encode("latin-1"))
    assert isinstance(found, Document)
    assert found.text == "Größe"
    assert "read as cp1252" in found.warnings[0]
    given = only(tmp_path / "p.html", page.format("utf-8", "Größe").encode("latin-1"), ReadOptions(encoding="latin-1"))
    assert isinstance(given, Document)
    assert given.text == "Größe"
    marked = only(tmp_path / "p.html", page.format("latin-1", "Größe").encode("utf-8-sig"))
    assert isinstance(marked, Document)
    assert marked.text == "Größe"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"<meta charset=utf-8>", "utf-8"),
        (b'<?xml version="1.0" encoding="Shift_JIS"?>', "shift_jis"),
        (b"<meta charset='ascii'>", "cp1252"),
        (b"<meta charset=rot13>", None),
        (b"<p>charset=utf-8</p>", None),
        (b"", None),
    ],
)
def test_declared_encoding(head: bytes, encoding: str | None) -> None:
    assert declared_encoding(head) == encoding


def test_xhtml_with_a_declaration_is_read(tmp_path: Path) -> None:
    page = (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
        f"<head><title>Tést</title></head><body><p>{PARAGRAPH}</p></body></html>"
    )
    found = only(tmp_path / "p.xhtml", page)
    assert isinstance(found, Document)
    assert (found.title, found.text) == ("Tést", PARAGRAPH.strip())


def test_a_missing_extra_fails_its_files_with_the_pip_line_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.html", "b.pdf", "c.docx", "d.txt"):
        (tmp_path / name).write_text("words")
    for name in ("trafilatura", "pypdf", "docx"):
        monkeypatch.setitem(sys.modules, name, None)
    html, pdf, docx, text = read([str(tmp_path)])
    assert isinstance(text, Document)
    for item, extra in ((html, "html"), (pdf, "pdf"), (docx, "docx")):
        assert isinstance(item, ReadFailure)
        assert str(item.error).endswith(f"needs an optional dependency; run: pip install 'hlgraph[{extra}]'")


def body_of(tmp_path: Path, body: str) -> str:
    """The text between two paragraphs of a page, without empty lines and outer spaces."""
    page = f"<html><body><main><h1>Pumps</h1><p>{PARAGRAPH}</p>{body}<p>{PARAGRAPH}</p></main></body></html>"
    found = only(tmp_path / "p.html", page)
    assert isinstance(found, Document), found
    assert found.warnings == ()
    return "\n".join(line.strip() for line in found.text.split(PARAGRAPH.strip())[1].splitlines() if line.strip())


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ('on <time datetime="1881-05-12">12 May 1881</time>, before a crowd', "on 12 May 1881, before a crowd"),
        ("a <label>label</label>, <output>5</output>, <abbr>WHO</abbr>", "a label, 5, WHO"),
        ('<data value="3">three</data> <dfn>pump</dfn> <kbd>Ctrl</kbd>', "three pump Ctrl"),
        ("<math><mi>x</mi><mo>=</mo><mn>2</mn></math> holds", "x=2 holds"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> is read", "漢(kan) is read"),
        ("he said <q>no</q> twice", "he said “no” twice"),
        ("10<sup>6</sup> m<sup>2</sup> of H<sub>2</sub>O", "10⁶ m² of H₂O"),
        ('a claim<sup><a href="#n1">1</a></sup> here', "a claim[1] here"),
        ("the 2<sup>nd</sup> and x<sup>a+b</sup>", "the 2nd and x^a+b"),
        ('<ix:nonFraction scale="6" name="x:Revenue">12.5</ix:nonFraction> million', "12.5 million"),
        ("<x-price>40 EUR</x-price> each", "40 EUR each"),
    ],
)
def test_text_of_every_inline_element_is_kept(tmp_path: Path, markup: str, text: str) -> None:
    assert body_of(tmp_path, f"<p>It is {markup} in all.</p>") == f"It is {text} in all."


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("<figure><img src=a><figcaption>The mill.</figcaption></figure>", ["The mill."]),
        ("<aside>Stop the pump first.</aside>", ["Stop the pump first."]),
        ("<details><summary>More</summary><p>It is hot.</p></details>", ["More: It is hot."]),
        ("<x-card><p>First.</p><p>Second.</p></x-card>", ["First.", "Second."]),
        ("<fieldset><legend>Sizes</legend><p>Two.</p></fieldset>", ["Sizes", "Two."]),
        ("<dl><dt>Hub</dt><dd>The middle.</dd><dt>Rim</dt><dt>Edge</dt><dd>The outside.</dd></dl>",
         ["- Hub: The middle.", "- Rim, Edge: The outside."]),
        ("<dl><div><dt>Hub</dt><dd>The middle.</dd><dd>The axis.</dd></div><dt>Spoke</dt></dl>",
         ["- Hub: The middle.", "- Hub: The axis.", "- Spoke"]),
    ],
)  # fmt: skip
def test_text_of_every_block_is_kept(tmp_path: Path, markup: str, lines: list[str]) -> None:
    assert body_of(tmp_path, markup).splitlines() == lines


def test_spans_and_captions_of_tables(tmp_path: Path) -> None:
    table = (
        "<table><caption>Table 3. Ships</caption><thead><tr><th>Region</th><th>Product</th><th>Units</th></tr></thead>"
        "<tfoot><tr><td>Total</td><td></td><td>16</td></tr></tfoot>"
        "<tbody><tr><td rowspan=2>North</td><td>Hub</td><td>7</td></tr><tr><td>Rim</td><td>9</td></tr></tbody></table>"
    )
    assert body_of(tmp_path, table).splitlines() == [
        "Table 3. Ships",
        "| Region | Product | Units |",
        "|---|---|---|",
        "| North | Hub | 7 |",
        "| North | Rim | 9 |",
        "| Total |  | 16 |",
    ]


@pytest.mark.parametrize("around", ["{}", "<div>{}</div>", '<div class="page">{}</div>', "<div><div>{}</div></div>"])
@pytest.mark.parametrize("size", [1, 3, 30])
def test_headings_of_a_page_without_a_main_part_are_kept(tmp_path: Path, around: str, size: int) -> None:
    """Short and long, since the extraction goes another way below some lengths."""
    sections = "".join(
        f"<h3>May part {n} be lent?</h3><p>Yes, for {n} days.</p><ul><li>a</li></ul>" for n in range(size)
    )
    body = f"<h1>Rules</h1><p>What the owner allows.</p><h2>Lending</h2>{sections}<aside>Closed in winter.</aside>"
    page = only(tmp_path / "p.html", f"<html><body><nav>Home</nav>{around.format(body)}</body></html>")
    assert isinstance(page, Document)
    lines = page.text.splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# Rules",
        "## Lending",
        *(f"### May part {n} be lent?" for n in range(size)),
    ]
    assert "Home" not in lines


@pytest.mark.parametrize("around", ["<main>{}</main>", "<article>{}</article>", "<div>{}</div>"])
@pytest.mark.parametrize("above", ["<h2>Guides</h2>", "<p>You may read:</p>"])
def test_a_list_of_links_that_a_heading_or_a_lead_in_names_is_text(around: str, above: str, tmp_path: Path) -> None:
    entries = "".join(f'<li><a href="{n}.html">Guide number {n}</a></li>' for n in range(5))
    part = f"<h1>Bridges</h1><p>A bridge is an important decision.</p>{above}<ul>{entries}</ul>"
    nav = '<nav><h2>Menu</h2><ul><li><a href="a">Home</a></li><li><a href="b">Shop</a></li></ul></nav>'
    text = _body(f"{nav if around != '<div>{}</div>' else ''}{around.format(part)}", tmp_path)
    assert text.endswith("\n".join(f"- Guide number {n}" for n in range(5)))
    assert "Home" not in text


@pytest.mark.parametrize("link", ['<a id="s{0}"></a>{1}', '<a name="s{0}">{1}</a>', '<a href="{0}.html">{1}</a>'])
@pytest.mark.parametrize("box", ["<div><div>{}</div></div>", "<header>{}</header>"])
@pytest.mark.parametrize("part", ["<div>{}</div>", "<article>{}</article>", "{}"])
def test_headings_that_are_links_or_their_targets_are_kept(link: str, box: str, part: str, tmp_path: Path) -> None:
    """As DocBook, blogs and shops write them, in boxes."""
    text = "".join(
        f"<p>Bridge {n} is an important decision for a town, which pays for it over years.</p>" for n in "abcde"
    )
    parts = [part.format(f"{box.format('<h2>' + link.format(n, f'Bridge {n}') + '</h2>')}{text}") for n in range(6)]
    lines = _body(f"<h1>Bridges</h1>{text}{''.join(parts)}", tmp_path).split("\n")
    assert [line for line in lines if line[:2] == "##"] == [f"## Bridge {n}" for n in range(6)]


@pytest.mark.parametrize(
    "beside",
    [
        "<nav>Home</nav>",
        "<header><a href=x>Home</a></header>",
        "<div class=sidebar>Home</div>",
        "<div class=menu><ul><li><a href=a>Home</a></li></ul></div>",
        "<footer>Home</footer>",
    ],
)
@pytest.mark.parametrize("around", ["{}", "<article>{}</article>", "<main>{}</main>", "<div class=content>{}</div>"])
def test_a_short_page_beside_a_menu_keeps_its_structure(tmp_path: Path, around: str, beside: str) -> None:
    body = "<h1>Rules</h1><p>What we allow.</p><h2>Lending</h2><p>Yes, for <b>two</b> days.</p><ul><li>a</li></ul>"
    page = only(tmp_path / "p.html", f"<html><body>{beside}{around.format(body)}</body></html>")
    assert isinstance(page, Document)
    assert page.text == "# Rules\n\nWhat we allow.\n\n## Lending\n\nYes, for **two** days.\n\n- a"


def test_text_that_counts_as_boilerplate_is_in_a_warning(tmp_path: Path) -> None:
    side = '<div class="sidebar"><p>Recall of the pump in 2001.</p></div>'
    found = only(tmp_path / "p.html", f"<html><body><main><p>{PARAGRAPH * 3}</p></main>{side}</body></html>")
    assert isinstance(found, Document)
    assert "Recall" not in found.text
    assert found.warnings == (
        "6 words beside the main text were not read, such as 'Recall of the pump in 2001.'; --format text reads them",
    )


PARTS = "".join(f"<section id='{{0}}-{at}'><h2>Part {at}</h2><p>It has number {at}.</p></section>" for at in range(5))
AROUND = (
    "<nav><a href='/'>Home</a></nav>{}<div class='sidebar'><p>Read about our other pumps and their makers.</p></div>"
)


@pytest.mark.parametrize(
    ("page", "is_kept"),
    [
        (AROUND.format(f"<main><p>{PARAGRAPH * 3}</p>{PARTS.format('menu')}</main>"), True),
        (AROUND.format(f"<div role='main'><p>{PARAGRAPH * 3}</p>{PARTS.format('menu')}</div>"), True),
        (f"<p>{PARAGRAPH * 3}</p>{PARTS.format('premium')}", True),
        (AROUND.format(f"<p>{PARAGRAPH * 3}</p>{PARTS.format('menu')}"), False),
        (f"<p>{PARAGRAPH * 3}</p>{PARTS.format('menu')}", False),
    ],
)
def test_the_part_that_a_page_declares_as_its_main_one_is_read_whole(tmp_path: Path, page: str, is_kept: bool) -> None:
    found = only(tmp_path / "p.html", f"<html><body>{page}</body></html>")
    assert isinstance(found, Document)
    assert PARAGRAPH.strip() in found.text
    assert [f"## Part {at}" in found.text and f"number {at}." in found.text for at in range(5)] == [is_kept] * 5
    assert "Home" not in found.text
    assert "other pumps" not in found.text


@pytest.mark.parametrize(
    "markup",
    [
        "<p>word{0} is in no other text</p>",
        "<span>word</span> ",
        "a<sup>2</sup> ",
        "<x-a>t</x-a> ",
        "<span><i>a</i><x-b>c</x-b></span>",
        "<dt>a</dt><dd>b</dd>",
        "<p>a<a href='#n{0}'>1</a></p><aside role='doc-footnote' id='n{0}'>word{0}</aside> and",
    ],
)
@pytest.mark.parametrize("around", ["<div>{}</div>", '<div class="sidebar"><p>{}</p></div>'])
def test_time_is_linear_in_the_elements(tmp_path: Path, markup: str, around: str) -> None:
    def work(size: int) -> None:
        body = around.format("".join(markup.format(at) for at in range(size)))
        only(tmp_path / "a.html", f"<html><body><p>{PARAGRAPH * 3}</p>{body}</body></html>")

    assert_linear(work, 700, times=8, slack=3)


FOOTNOTE = (
    "<aside epub:type='footnote' id='n{0}'><p><a href='#r{0}'>{0}</a> Of <b>H<sub>2</sub>O</b> in {1}.</p></aside>"
)


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        (f"<p>Dry.<a epub:type='noteref' href='#n1'>1</a></p><p>Next.</p>{FOOTNOTE.format(1, 'May')}",
         ["Dry.[1]", "[1] Of **H₂O** in May.", "Next."]),
        (f"<p>Dry<a href='#n1'>1</a> or wet<a href='#n2'>2</a>, dry<a href='#n1'>1</a>.</p>{FOOTNOTE.format(1, 'May')}"
         f"{FOOTNOTE.format(2, 'June')}<p>Next.</p>",
         ["Dry[1] or wet[2], dry[1].", "[1] Of **H₂O** in May.", "[2] Of **H₂O** in June.", "Next."]),
        ("<p>Dry.<sup><a href='#n1' id='r1'>1</a></sup></p><p>Next.</p><section role='doc-endnotes'><ol><li id='n1'><p>No oil. "
         "<a href='#r1'>back</a></p><p>None.</p></li></ol></section>", ["Dry.[1]", "[1] No oil.", "None.", "Next."]),
        ("<ul><li>Open it.<a href='#n1'>a</a></li><li>Close it.</li></ul>"
         "<div class='footnotes'><ul><li id='n1'>a. Slowly.</li></ul></div>",
         ["- Open it.[a]", "- Close it.", "[a] Slowly."]),
        (FOOTNOTE.format(1, "May"), ["1 Of **H₂O** in May."]),
        ("<p>See <a href='#n1'>the section</a>.</p><aside role='doc-footnote' id='n1'>No oil.</aside>",
         ["See the section.", "No oil."]),
        ("<p>See <a href='#x'>1</a>.</p><p id='x'>No oil.</p>", ["See 1.", "No oil."]),
    ],
)  # fmt: skip
def test_notes_stand_after_the_paragraph_that_refers_to_them(tmp_path: Path, markup: str, lines: list[str]) -> None:
    assert body_of(tmp_path, markup).splitlines() == lines


@pytest.mark.parametrize(
    ("declared", "heading", "title"),
    [
        ("Install | Tool manual", "Tool manual", "Install"),
        ("Configure | Tool manual", "Tool manual", "Configure"),
        ("Install the tool", "Menu", "Install the tool"),
        ("Install | Tool manual", "Install", "Install"),
        ("", "Install", "Install"),
        ("Domain | Tool v20 Documentation", "Tool v20 documentation", "Domain"),
        ("Index of symbols for libtool", "The tool library for GNOME", "Index of symbols for libtool"),
        ("Vec in std - Rust", "Struct Vec", "Vec in std - Rust"),
    ],
)
def test_pages_of_a_site_do_not_share_the_title_of_the_site(
    tmp_path: Path, declared: str, heading: str, title: str
) -> None:
    body = f"<body><article><h1>{heading}</h1><p>{PARAGRAPH}</p></article></body>"
    document = only(tmp_path / "page.html", f"<html><head><title>{declared}</title></head>{body}</html>")
    assert isinstance(document, Document)
    assert document.title == title


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("<h2>Islands<span class='mw-editsection'>[<a href='/e'>edit</a>]</span></h2>", ["## Islands"]),
        ("<h2>Install<a class='headerlink' href='#i'>¶</a></h2>", ["## Install"]),
        ("<h2>Struct <span>Vec</span><button>Copy path</button></h2>", ["## Struct Vec"]),
        ("<h2><button>Who pays?</button></h2>", ["## Who pays?"]),
        ("<h2><span>1</span><br>The<br><i>gate</i></h2>", ["## 1 The *gate*"]),
        ("<blockquote><p>It holds.</p><footer>— Rada Holm</footer></blockquote>", ["It holds.", "— Rada Holm"]),
        (
            "<table><tr><th>Lake</th><th>Rivers</th></tr><tr><td>Orva</td><td><ul><li>Sarn</li> <li>Tolk</li></ul></td></tr>"
            "<tr><td>Murn</td><td>no<br>river</td></tr></table>",
            ["| Lake | Rivers | ", "|---|---|", "| Orva | Sarn, Tolk | ", "| Murn | no river | "],
        ),
    ],
)
def test_links_for_editors_are_no_text_and_the_source_of_a_quote_and_the_items_of_a_cell_are(
    tmp_path: Path, markup: str, lines: list[str]
) -> None:
    assert body_of(tmp_path, markup).splitlines() == [line.strip() for line in lines]


FILING = """<html><body><div style="display:none"><ix:header><ix:hidden><ix:nonNumeric name="dei:Flag" contextRef="y">false
</ix:nonNumeric></ix:hidden><ix:resources><xbrli:context id="y"><xbrli:entity><xbrli:identifier>0001</xbrli:identifier>
<xbrli:segment>
<xbrldi:explicitMember dimension="d">t:PumpsMember</xbrldi:explicitMember></xbrli:segment></xbrli:entity><xbrli:period>
<xbrli:startDate>2025-01-01</xbrli:startDate><xbrli:endDate>2025-12-31</xbrli:endDate></xbrli:period></xbrli:context>
<xbrli:context id="i"><xbrli:period><xbrli:instant>2025-12-31</xbrli:instant></xbrli:period></xbrli:context>
<xbrli:unit id="u"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit><xbrli:unit id="p"><xbrli:divide>
<xbrli:unitNumerator><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unitNumerator><xbrli:unitDenominator>
<xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unitDenominator></xbrli:divide></xbrli:unit></ix:resources></ix:header></div>
<h1>Report of Tarn Pumps</h1><p>The net loss was
$(<ix:nonFraction name="t:Loss" contextRef="y" unitRef="u" scale="6" sign="-">1,245</ix:nonFraction>)
million, or
<ix:nonFraction name="t:Per" contextRef="y" unitRef="p" format="ixt:num-comma-decimal">1.000,50</ix:nonFraction> a share.
The share of women was <ix:nonFraction name="t:Women" contextRef="i" scale="-2">41.5</ix:nonFraction> %.</p>
<p>Debt: <ix:nonFraction name="t:Debt" contextRef="i" unitRef="u" format="ixt:fixed-zero">none</ix:nonFraction>.</p>
<table><tr><td>In millions</td><td>2025</td></tr><tr><td>Cash</td>
<td>$<ix:nonFraction name="t:Cash" contextRef="i" unitRef="u" scale="6">77</ix:nonFraction></td></tr></table></body></html>"""


def test_a_filing_keeps_what_inline_xbrl_says_of_its_numbers_as_details_of_their_statements(tmp_path: Path) -> None:
    found = only(tmp_path / "f.html", FILING)
    assert isinstance(found, Document)
    assert not any(word in found.text for word in ("false", "0001", "2025-01", "iso4217"))
    assert [(found.text[start:end], text) for start, end, text in found.details] == [
        ("1,245", "1,245 is t:Loss -1,245,000,000 USD, 2025-01-01 to 2025-12-31, t:PumpsMember"),
        ("1.000,50", "1.000,50 is t:Per 1,000.5 USD/shares, 2025-01-01 to 2025-12-31, t:PumpsMember"),
        ("41.5", "41.5 is t:Women 0.415, 2025-12-31"),
        ("none", "none is t:Debt 0 USD, 2025-12-31"),
        ("77", "77 is t:Cash 77,000,000 USD, 2025-12-31"),
    ]
    comparison = compare(found, "c", stored=None, processing=())
    assert comparison is not None
    plan = plan_chunks(comparison, ContentDefinedChunker().chunk(found), stored={}, extractor=LocalExtractor())
    extractions = LocalExtractor().extract([context for _, context in plan.to_extract])
    statements = assemble("c", [Extracted(comparison, plan, tuple(extractions))]).statements
    details = {statement.text.rpartition(": ")[2]: statement.details for statement in statements}
    assert details["$77"] == (found.details[-1].text,)
    assert details["The share of women was 41.5 %."] == ("past", found.details[2].text)
    other = replace(found, details=())
    assert compare(other, "c", stored=comparison.source, processing=()) is not None


@pytest.mark.parametrize("tag", ["em", "b", "a", "code", "strong"])
def test_marked_words_in_code_stay_in_their_place(tag: str, tmp_path: Path) -> None:
    page = f"<main><p>The <code>apt purge <{tag}>package</{tag}> -y</code> command removes it.</p><p>It asks first.</p></main>"
    (tmp_path / "a.html").write_text(page)
    [document] = read([str(tmp_path / "a.html")])
    assert isinstance(document, Document)
    assert "The apt purge package -y command removes it." in document.text.replace("`", "")


def _body(html: str, folder: Path) -> str:
    path = folder / "page.html"
    path.write_text(f"<html><head><title>Page</title></head><body>{html}</body></html>")
    [document] = read([str(path)])
    assert isinstance(document, Document)
    return document.text


@pytest.mark.parametrize(
    "struck",
    ["<del>{}</del>", "<s>{}</s>", "<strike>{}</strike>", "<span style='text-decoration: line-through'>{}</span>"],
)
def test_what_a_page_strikes_out_is_marked_so(struck: str, tmp_path: Path) -> None:
    assert (
        _body(f"<p>It costs {struck.format('49.90')} 39.90 euros.</p>", tmp_path) == "It costs ~~49.90~~ 39.90 euros."
    )


def test_the_heading_of_a_box_is_a_label_and_the_text_after_the_box_keeps_its_section(tmp_path: Path) -> None:
    box = "<div><h3>What to know</h3><ul><li>Walkers may cross.</li></ul></div>"
    text = _body(
        f"<article><h1>A bridge</h1><p>It is shut.</p><h2>Costs</h2><p>They rose.</p>{box}<p>Shops fear it.</p></article>",
        tmp_path,
    )
    assert text.endswith("## Costs\n\nThey rose.\n\nWhat to know:\n\n- Walkers may cross.\n\nShops fear it.")


@pytest.mark.parametrize(
    "html",
    [
        "<h1>A</h1><div><h2>B</h2><p>One.</p></div><div><h2>C</h2><p>Two.</p></div>",
        "<h1>A</h1><div><div><h2>B</h2></div><p>One.</p></div><h2>C</h2><p>Two.</p>",
        "<h1>A</h1><p>Zero.</p><div><h2>B</h2></div><p>One.</p><h2>C</h2><p>Two.</p>",
    ],
)
def test_the_headings_of_sections_stay_headings(html: str, tmp_path: Path) -> None:
    assert [line for line in _body(f"<main>{html}</main>", tmp_path).split("\n") if line[:1] == "#"] == [
        "# A",
        "## B",
        "## C",
    ]


def test_the_lists_and_notes_of_a_page_saved_by_a_word_processor(tmp_path: Path) -> None:
    def item(level: int, sign: str, text: str) -> str:
        return (
            f"<p class=MsoListParagraph style='mso-list:l0 level{level} lfo1'><![if !supportLists]><span>"
            "<span style='mso-list:Ignore'>"
            f"{sign}<span>&nbsp; </span></span></span><![endif]>{text}<o:p></o:p></p>"
        )

    mark = "<a style='mso-footnote-id:ftn1' href='#_ftn{0}' name='_ftnref{0}'><span>[{0}]</span></a>"
    note = "<div style='mso-element:footnote' id=ftn{0}><p><a href='#_ftnref{0}' name='_ftn{0}'>[{0}]</a> {1}</p></div>"
    text = _body(
        f"<p>Omar asked{mark.format(1)} and paid{mark.format(2)}.</p>{item(1, '·', 'Hoses off.')}{item(2, 'o', 'Plot 14 may.')}"
        f"{item(1, '·', 'No sprinklers.')}<p>Then:</p>{item(1, '1.', 'Go.')}"
        f"<div>{note.format(1, 'Twice.')}{note.format(2, 'In cash.')}</div>",
        tmp_path,
    )
    assert text == (
        "Omar asked[1] and paid[2].\n\n[1] Twice.\n\n[2] In cash.\n\n"
        "- Hoses off.\n  - Plot 14 may.\n- No sprinklers.\n\nThen:\n\n1. Go."
    )


def test_two_links_to_one_another_in_a_list_of_contents_are_no_note(tmp_path: Path) -> None:
    text = _body(
        "<p><a name='t1' href='#s1'>1</a> Costs</p><p>Words.</p><p><a name='s1' href='#t1'>1</a> Costs rose.</p>",
        tmp_path,
    )
    assert text == "1 Costs\n\nWords.\n\n1 Costs rose."


@pytest.mark.parametrize("item", ["<b>Sites</b>\n<p>{}</p>", "<p><strong>Sites</strong></p>\n<p>{}</p>"])
def test_the_name_of_an_item_stands_in_the_line_of_its_first_paragraph(tmp_path: Path, item: str) -> None:
    lists = (
        f"<ul><li>{item.format('It works well there. It <i>is</i> fast.')}<p>More of it.</p></li><li>one seal</li></ul>"
    )
    found = only(tmp_path / "p.html", PAGE.replace("<ul><li>one seal</li>", lists.removesuffix("</ul>")))
    assert isinstance(found, Document)
    assert "- **Sites**: It works well there. It *is* fast. More of it.\n- one seal" in found.text


def test_contents_signs_of_headings_and_lines_of_the_source_are_no_text(tmp_path: Path) -> None:
    links = "".join(f"<li><a href='p.html#{name}'>{name}</a></li>" for name in ("gates", "walls", "pumps"))
    parts = "".join(
        f"<h2 id='{name}'>{name} <a class='permalink' href='#{name}'>¶</a></h2><p>They are <code><a href='x'>old</a></code>\n"
        f"Gates of {name}, as\nwe <i>know</i>.</p>"
        for name in ("gates", "walls", "pumps")
    )
    contents = f"<div class='toc'><p>Contents</p><ul>{links}</ul></div>"
    body = f"<h1>Weir</h1>{contents}{parts}<pre>a = 1\nb = <b>2</b></pre><p>End of it.</p>"
    found = only(tmp_path / "p.html", f"<html><body>{body}</body></html>")
    assert isinstance(found, Document)
    lines = [f"## {name}\n\nThey are `old` Gates of {name}, as we *know*." for name in ("gates", "walls", "pumps")]
    assert found.text.replace("```\nEnd", "```\n\nEnd") == "\n\n".join(
        ["# Weir", *lines, "```\na = 1\nb = 2\n```", "End of it."]
    )


@pytest.mark.parametrize("cell", ["td", "th"])  # templates of newsletters place all in header cells
def test_what_a_newsletter_places_in_frames_keeps_its_headings_and_paragraphs(cell: str, tmp_path: Path) -> None:
    cells = "<td><h3>Dahlias</h3><p>Dig them up.</p></td><td><h3>Figs</h3><p>Cover the <b>pot</b>.</p></td>"
    data = (
        "<table><tr><td><b>Plant</b></td><td><b>Month</b></td></tr><tr><td>Olive</td><td>May or June</td></tr></table>"
    )
    inner = f"<table><tr>{cells}</tr></table>".replace("td>", f"{cell}>")
    outer = f"<table role='presentation'><tr><{cell}><h1>Frost</h1>{inner}{data}</{cell}></tr></table>"
    found = only(tmp_path / "p.html", f"<html><body>{outer}</body></html>")
    assert isinstance(found, Document)
    assert [line.rstrip() for line in found.text.splitlines() if line] == [
        *("# Frost", "### Dahlias", "Dig them up.", "### Figs", "Cover the **pot**."),
        *("| Plant | Month |", "|---|---|", "| Olive | May or June |"),
    ]


def test_lists_beside_each_other_whose_classes_name_levels_are_in_each_other(tmp_path: Path) -> None:
    levels = [("0", "Never while it runs:"), ("1", "open it"), ("2", "at all"), ("1", "touch it"), ("0", "Clean it.")]
    lists = "".join(f"<ul class='lst-kix_a1-{level}'><li><span>{text}</span></li></ul>" for level, text in levels)
    page = f"<style>.c1{{font-weight:700}}</style><p><span class='c1'>Pump</span></p><p>All of this.</p>{lists}"
    found = only(tmp_path / "p.html", f"<html><body>{page}<p><b>Do not run.</b></p><p>End.</p></body></html>")
    assert isinstance(found, Document)
    assert found.text == (
        "## Pump\n\nAll of this.\n\n- Never while it runs:\n  - open it\n    - at all\n  - touch it\n- Clean it.\n\n"
        "**Do not run.**\n\nEnd."
    )


def test_a_box_of_docbook_between_paragraphs_is_text(tmp_path: Path) -> None:
    box = "<div class='sidebar'><p class='title'>Many cores</p><p>Several processes may run in parallel.</p></div>"
    page = f"<h1>Tasks</h1><p>{PARAGRAPH}</p>{box}<p>{PARAGRAPH}</p><div class='sidebar'><p>Follow us today.</p></div>"
    found = only(tmp_path / "p.html", f"<html><body>{page}</body></html>")
    assert isinstance(found, Document)
    assert "Several processes may run in parallel." in found.text
    assert "Follow us" not in found.text


def test_names_with_paragraphs_beside_them_are_no_frame(tmp_path: Path) -> None:
    rows = "".join(
        f"<tr><td>{name}</td><td><p>It runs {name}.</p><p>Then it stops.</p></td></tr>" for name in ("query", "graph")
    )
    found = only(tmp_path / "p.html", f"<html><body><h1>Tools</h1><table>{rows}</table><p>End.</p></body></html>")
    assert isinstance(found, Document)
    assert "| query | It runs query. Then it stops. |" in found.text


def test_a_part_of_the_main_text_keeps_its_words_whatever_its_class_resembles(tmp_path: Path) -> None:
    parts = "".join(
        f"<div class='{name}'><p>The {name} of {at} pumps.</p></div>"
        for at, name in enumerate(
            ("meta", "rating-scale", "options", "expand-all", "message", "slide-one", "attachment", "barrel")
        )
    )
    page = PAGE.replace("<h2>Service", f"{parts}<div class='share-buttons'><p>Tell it on.</p></div><h2>Service")
    found = only(tmp_path / "p.html", page)
    assert isinstance(found, Document)
    assert [found.text.count(f" of {at} pumps.") for at in range(8)] == [1] * 8
    assert "Tell it on" not in found.text


def test_code_of_one_line_below_a_lead_in_is_code(tmp_path: Path) -> None:
    page = (
        "<body><main><h1>Manual</h1><p>The hall has many valves, and all of them are red. For example:</p>"
        "<pre>turn --valve 3</pre><p>It ends here, as all things do, and words go on.</p><pre>It was a line.</pre></main>"
    )
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    [found] = read([str(tmp_path / "a.html")])
    assert isinstance(found, Document)
    assert "For example:\n\n```\nturn --valve 3\n```\n" in found.text
    assert found.text.endswith("\n\nIt was a line.")


def test_lines_and_cells_that_name_a_format_or_a_service_are_read_and_pictures_alone_in_a_cell(tmp_path: Path) -> None:
    page = (
        f"<main><p>{PARAGRAPH}</p><ul><li>PDF</li><li>Print</li></ul><h2>Mail</h2><p>Write to us.</p><p>E-Mail</p><table>"
        "<tr><th>Kind</th><th>Sent as</th></tr><tr><td>Plan</td><td>PDF</td></tr><tr><td>Fax</td><td><img src=x alt=No></td></tr>"
        "<tr><td>Post</td><td><svg aria-label=Yes><path/></svg></td></tr></table>"
        "<table><tr><td><a href=x><img src=x alt=Back></a></td><td>It is shut.</td></tr>"
        "<tr><td><img alt=[!]></td><td>It is wet.</td></tr></table></main>"
    )
    found = only(tmp_path / "p.html", f"<html><body>{page}</body></html>")
    assert isinstance(found, Document)
    rows = ["| Plan | PDF |", "| Fax | No |", "| Post | Yes |"]
    lines = [line.strip() for line in found.text.splitlines()]
    assert [each for each in ("- PDF", "- Print", "## Mail", "E-Mail", *rows) if each not in lines] == []
    assert not {"Back", "[!]"} & set(re.split(r"[|\n ]", found.text))


LONG = f"<p>{PARAGRAPH}</p>"


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            "<ul><li><strong>Place</strong><br>Sarn</li><li><b>Call</b><br><a href=x>312</a></li><li>4 Quay<br>Holm</li></ul>",
            ["- **Place**: Sarn", "- **Call**: 312", "- 4 Quay Holm"],
        ),
        ("<dl><dt>Since:</dt><dd>2.0</dd><dd></dd><dt>Alone</dt><dd></dd></dl>", ["- Since: 2.0", "- Alone:"]),
        ("<ul><li><section><h2>Parts</h2><p>Two rings.</p></section></li></ul>", ["## Parts", "Two rings."]),
        (
            "<table><tr><th>By</th><td><span class='icon user-icon'>A</span>Ada</td></tr><tr><td>Due</td><td>May</td></tr></table>",
            ["| By | Ada |"],
        ),
        ("<div><label>Linux</label><label>Mac</label><p>It is free.</p></div>", ["Linux Mac", "It is free."]),
        (
            "<h2>Help</h2><p>Ask us.</p><div><button aria-expanded=false>Does it cost?</button>"
            "<div style='display:none'><p>Nothing at all.</p></div></div>",
            ["#### Does it cost?", "Nothing at all."],
        ),
        (
            "<h2>Help</h2><p>Ask us.</p><div><button class=q>Is it hot?</button><div><p>No.</p></div></div>"
            "<button class=accordion>Seals</button><div class=panel><p>They last.</p></div>",
            ["#### Is it hot?", "No.", "#### Seals", "They last."],
        ),
        (
            "<table><tr><th>Tags</th><td><span class='chip a'>red</span><span class='chip a'>wet</span></td></tr>"
            "<tr><th>Code</th><td><span class=k>ab</span><span class=k>cd</span></td></tr></table>",
            ["| Tags | red, wet |", "| Code | abcd |"],
        ),
        (
            "<p>It does not apply to:</p><table><tr><td>(a)</td><td><p>old pumps;</p></td></tr></table>"
            "<table><tbody><tr><td>(b)</td><td><p>pumps of:</p><table><tr><td>(i)</td><td>lead</td></tr></table></td></tr></tbody>"
            "</table><p>It begins in May.</p>",
            ["- (a) old pumps;", "- (b) pumps of:", "- (i) lead", "It begins in May."],
        ),
        (
            "<p>Wash:</p><table><tr><td>•</td><td>red pumps</td></tr><tr><td>•</td><td>rings</td></tr></table>",
            ["- red pumps", "- rings"],
        ),
        ("<table><tr><td>1</td><td>lead</td></tr><tr><td>2</td><td>tin</td></tr></table>", ["| 1 | lead |"]),
        (
            "<p>Forel<span class=ltx_note><sup class=ltx_note_mark>1</sup><span class=ltx_note_outer><span class=ltx_note_content>"
            "<sup class=ltx_note_mark>1</sup><span class=ltx_tag_note>1</span>In 1876.</span></span></span> said so.</p>",
            ["Forel [In 1876.] said so."],
        ),
        (
            "<p>It rains. <a href=/a>Read more »</a></p><p>See <a href=/b>more pumps</a>.</p>",
            ["It rains.", "See more pumps."],
        ),
        (
            "<p>Her book is called <a href=/a>More</a></p><p>Ask to <a href=/b>see more</a></p>",
            ["Her book is called More", "Ask to see more"],
        ),
        (
            "<table><tr><th>Pump</th><th>Site</th></tr><tr><td>P1</td><td><a href=/a>More</a></td></tr></table>",
            ["| P1 | More |"],
        ),
        (
            "<table><tr><td>(a)</td><td><i></i>red <b>pumps</b></td></tr><tr><td>(b)</td><td><p>rings</p></td></tr></table>",
            ["- (a) red **pumps**", "- (b) rings"],
        ),
    ],
)
def test_names_parts_and_answers_of_pages_keep_their_words_apart(tmp_path: Path, body: str, lines: list[str]) -> None:
    found = only(tmp_path / "p.html", f"<html><body><main><h1>Pumps</h1>{LONG}{body}</main></body></html>")
    assert isinstance(found, Document)
    shown = [line.strip() for line in found.text.splitlines()]
    assert [line for line in lines if line not in shown] == []


def test_an_empty_part_is_not_the_main_one(tmp_path: Path) -> None:
    """Doxygen writes it where a script puts the menu."""
    body = "<div><h2>Details</h2><div><p>Reads the level.</p></div><h2>level()</h2><p>The mean.</p></div>"
    found = only(tmp_path / "p.html", f"<html><body><div><div id='main-nav'></div></div>{body}</body></html>")
    assert isinstance(found, Document)
    assert found.text.split("\n\n") == ["## Details", "Reads the level.", "## level()", "The mean."]


def test_a_short_article_beside_menus_keeps_its_structure(tmp_path: Path) -> None:
    steps = "<p>You need:</p><ol><li>a key</li><li>a lamp</li></ol><p>Turn the wheel until no water runs.</p>"
    steps += "<table><tr><th>Part</th><th>Price</th></tr><tr><td>Seal</td>"
    links = "".join(f"<li><span>{name}</span></li>" for name in ("Pumps of home", "Seals and rings"))
    around = f"<ol class='breadcrumbs'>{links}</ol><aside class='article-sidebar'><h3>In this section</h3><ul>{links}</ul></aside>"
    article = f"<article><h1>How to close a pump</h1><div class='article-content'>{steps}<td>3.50</td></tr></table></div></article>"
    found = only(tmp_path / "p.html", f"<html><body><main>{around}{article}</main></body></html>")
    assert isinstance(found, Document)
    lines = [line.strip() for line in found.text.splitlines() if line.strip()]
    wanted = [
        "# How to close a pump",
        "You need:",
        "1. a key",
        "2. a lamp",
        "Turn the wheel until no water runs.",
        "| Part | Price |",
        "|---|---|",
        "| Seal | 3.50 |",
    ]
    assert [line for line in lines if line not in wanted] == []
    assert lines[-7:] == wanted[1:]


def test_bookmarks_stand_below_their_folders(tmp_path: Path) -> None:
    page = (
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>\n<DT><H3>Pumps</H3>\n<DL><p>\n"
        "<DT><A HREF='https://a.example'>How seals last</A>\n<DD>With figures.\n<DT><A HREF='https://b.example'>Rings</A>\n"
        "</DL><p>\n</DL><p>\n"
    )
    found = only(tmp_path / "b.html", page)
    assert isinstance(found, Document)
    assert " ".join(found.text.split()) == "# Bookmarks ### Pumps - How seals last: With figures. - Rings"


def test_a_published_sheet_has_its_own_header_and_no_letters_of_columns(tmp_path: Path) -> None:
    rows = (("Route", "Adult (€)"), ("Holm", "4.50"), ("Elm", "7.00"))
    head = "<thead><tr><th></th><th>A</th><th>B</th></tr></thead>"
    body = "".join(
        f"<tr><th><div>{at}</div></th><td>{one}</td><td>{two}</td></tr>" for at, (one, two) in enumerate(rows, 1)
    )
    sheet = f"<div id=0 style='display:none'><div><table class=waffle>{head}<tbody>{body}</tbody></table></div></div>"
    found = only(tmp_path / "s.html", f"<html><body>{sheet}<div id=footer>Report Abuse</div></body></html>")
    assert isinstance(found, Document)
    assert [line.strip() for line in found.text.splitlines()] == [
        "| Route | Adult (€) |",
        "|---|---|",
        "| Holm | 4.50 |",
        "| Elm | 7.00 |",
    ]


@pytest.mark.parametrize("name", ["title", "MsoTitle"])
def test_a_paragraph_of_the_style_title_is_the_title_of_a_page(tmp_path: Path, name: str) -> None:
    body = f"<p class='c1 {name}'>Moving the archive</p><h1>Dates</h1>{LONG}<p class='{name}'>No title</p>{LONG}"
    found = only(tmp_path / "p.html", f"<html><body>{body}</body></html>")
    assert isinstance(found, Document)
    assert found.title == "Moving the archive"
    assert [line for line in found.text.splitlines() if line.startswith("#")] == ["# Moving the archive", "# Dates"]


def test_lists_of_a_page_that_word_saved_filtered_have_marks(tmp_path: Path) -> None:
    mark = "<span style='font-family:Symbol'>·<span style='font:7.0pt \"Times New Roman\"'>&nbsp; </span></span>"
    items = "".join(f"<p class=MsoListParagraphCxSp{at}>{mark}{at} dog</p>" for at in ("First", "Last"))
    found = only(tmp_path / "p.html", f"<html><body>{LONG}{items}{LONG}</body></html>")
    assert isinstance(found, Document)
    assert "- First dog\n- Last dog\n" in found.text


def test_messages_of_telegram_and_discord_have_their_writers(tmp_path: Path) -> None:
    def message(time: str, name: str, text: str) -> str:
        who = f"<div class=from_name>{name} </div><div class='reply_to details'>In reply to this</div>" if name else ""
        date = f"<div class='pull_right date details' title='04.03.2025 {time}:00 UTC+01:00'>{time}</div>"
        picture = "<div class='pull_left userpic_wrap'><div class=initials>AB</div></div>" if name else ""
        return (
            f"<div class='message default'>{picture}<div class=body>{date}{who}<div class=text>{text}</div></div></div>"
        )

    told = (("09:15", "Ada Falk", "It runs.<br>Again."), ("09:16", "", "Good."), ("09:18", "Bo Lind", "I come."))
    found = only(tmp_path / "m.html", f"<html><body>{''.join(message(*each) for each in told)}</body></html>")
    assert isinstance(found, Document)
    assert found.text.split("\n\n") == [
        "[04.03.2025 09:15] Ada Falk: It runs.",
        "Again.",
        "[04.03.2025 09:16] Ada Falk: Good.",
        "[04.03.2025 09:18] Bo Lind: I come.",
    ]
    parts = "".join(
        f"<div><span>{name}</span> <span><a href='#1'>04/03/2025 09:15</a></span><div>{text}</div></div>"
        for name, text in (("Ada Falk", "It runs."), ("Bo Lind", "I come."))
    )
    found = only(tmp_path / "d.html", f"<html><body>{parts}</body></html>")
    assert isinstance(found, Document)
    assert found.text.split("\n\n") == [
        "[04/03/2025 09:15] Ada Falk: It runs.",
        "[04/03/2025 09:15] Bo Lind: I come.",
    ]


def test_what_stands_behind_the_name_of_an_author_is_no_part_of_it(tmp_path: Path) -> None:
    head = "<head><title>Soup</title><meta name=author content='Ada Bell · Updated'></head>"
    found = only(tmp_path / "p.html", f"<html>{head}<body><article><h1>Soup</h1>{LONG}</article></body></html>")
    assert isinstance(found, Document)
    assert found.metadata["author"] == "Ada Bell"


def test_messages_of_one_class_stand_in_their_order(tmp_path: Path) -> None:
    told = "".join(
        f"<div><div class=date><p>Ada at {at}</p></div><div class=text><p>The race {at} is in Sarn.</p></div></div>"
        for at in range(3)
    )
    found = only(tmp_path / "p.html", f"<html><body><p>Boat club of Sarn</p>{told}</body></html>")
    assert isinstance(found, Document)
    lines = [line for at in range(3) for line in (f"Ada at {at}", f"The race {at} is in Sarn.")]
    assert found.text.split("\n\n") == ["Boat club of Sarn", *lines]


def test_style_sheets_strike_out_words_and_mark_headers(tmp_path: Path) -> None:
    sheet = "<style>.c1{font-weight:700}.c3{text-decoration:line-through}.a .c4{text-decoration:line-through}</style>"
    rows = "".join(
        f"<tr>{''.join(f'<td><p><span class={kind}>{text}</span></p></td>' for text in row)}</tr>"
        for kind, row in (("c1", ("Task", "Owner")), ("c2", ("Order seals", "Ben")))
    )
    words = "<p>The pump is <span class='c2 c3'>sold</span> <span class=c4>kept</span> by the club.</p>"
    found = only(tmp_path / "a.html", f"<html><head>{sheet}</head><body>{words}<table>{rows}</table></body></html>")
    assert isinstance(found, Document)
    assert "The pump is ~~sold~~ kept by the club." in found.text
    assert "| Task | Owner | \n|---|---|\n| Order seals | Ben |" in found.text


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("<i class='fa fa-times'></i>", "✗"),
        ("<svg class='icon icon-check-circle'></svg>", "✓"),
        ("<span class='bi bi-x'></span>", "✗"),
        ("<svg><use href='#icon-check'></use></svg>", "✓"),
        ("<img src='/img/no.png' alt=''>", "✗"),
        ("<i class='fa fa-check'></i><i class='fa fa-times'></i>", ""),
        ("<span class='no-wrap checkered'></span>", ""),
        ("<i class='bi bi-x-circle-fill text-danger'></i>", "✗"),
        ("<img src='icons/icon_no_24px@2x.png'>", "✗"),
        ("<i class='fa-brands fa-x-twitter'></i>", ""),
        ("<i class='fa fa-x-ray'></i>", ""),
        ("<i class='fas fa-money-check'></i>", ""),
        ("<button><i class='fa fa-times'></i></button>", ""),
        ("<a href='/1'><i class='icon-remove'></i></a>", ""),
        ("<img src='cross-section.png'>", ""),
        ("<img src='check-valve.jpg'>", ""),
        ("<img src='close-up.jpg'>", ""),
        ("<img src='part-no-12.png'>", ""),
        ("<img src='logo@2x.png'>", ""),
        ("<i class='fa fa-times'></i> not yet", "not yet"),
        ("<input type=checkbox checked>", "[x]"),
        ("<input type='checkbox'>", "[ ]"),
    ],
)
def test_a_picture_alone_in_a_cell_says_yes_or_no(cell: str, text: str, tmp_path: Path) -> None:
    rows = f"<tr><th></th><th>Free</th></tr><tr><th>Backups</th><td>{cell}</td></tr><tr><th>Users</th><td>3</td></tr>"
    found = only(tmp_path / "a.html", f"<main><h1>Plans</h1><p>{PARAGRAPH}</p><table>{rows}</table></main>")
    assert isinstance(found, Document)
    assert f"| Backups | {text} |" in found.text or (not text and "Backups" in found.text)
    assert "| Users | 3 |" in found.text


def test_fields_of_a_form_say_what_is_chosen(tmp_path: Path) -> None:
    fields = (
        "<label for=n>Name</label><input id=n value='Ada Falk'><br><label>Boat <select><option>Sail<option selected>Motor</select>"
        "</label><br><label><input type=checkbox checked> Insured</label><br><label><input type=checkbox> Lives aboard</label><br>"
        "<label for=r>Remarks</label><textarea id=r>No mast.</textarea><input type=hidden value=t0ken><input value='Search'>"
        "<input class=menu-toggle type=checkbox id=m><label for=m>Menu</label>"
    )
    items = "<ul><li><input type=checkbox disabled checked> Order seals</li><li><input type=checkbox disabled> Pay</li></ul>"
    found = only(tmp_path / "a.html", f"<main><p>{PARAGRAPH}</p>{items}<form>{fields}</form></main>")
    assert isinstance(found, Document)
    for line in (
        "- [x] Order seals",
        "- [ ] Pay",
        "Name Ada Falk",
        "Boat Motor",
        "[x] Insured",
        "[ ] Lives aboard",
        "Remarks No mast.",
    ):
        assert line in " ".join(found.text.split())
    assert all(word not in found.text for word in ("Sail", "t0ken", "Search", "] Menu"))


def test_what_asks_readers_for_their_opinion_is_no_text(tmp_path: Path) -> None:
    votes = (
        "<footer><div class=votes><span>Was this article helpful?</span><div><button>Yes</button><button>No</button></div>"
        "<small>17 out of 44 found this helpful</small></div><p>Have more questions? <a href=/r>Submit a request</a></p></footer>"
        "<p>Please <a href=/s>sign in</a> to leave a comment.</p>"
    )
    rows = "<tr><th>Open</th><td>Yes</td></tr><tr><th>New</th><td>No</td></tr>"
    rows += "<tr><td><p>Was this page helpful?</p></td><td>78 %</td></tr>"
    kept = f"<p>Was this helpful? Ada asked Ben.</p><table>{rows}</table><p>Thank you for your feedback.</p><p>Yours, Ada</p>"
    found = only(tmp_path / "a.html", f"<main><h1>Pump</h1><p>{PARAGRAPH}</p>{kept}{votes}</main>")
    assert isinstance(found, Document)
    assert all(word not in found.text for word in ("article helpful", "17 out", "Submit", "sign in"))
    shown = ("Was this helpful? Ada asked Ben.", "| Open | Yes |", "| New | No |", "| Was this page helpful? | 78 % |")
    assert all(word in found.text for word in (*shown, "Thank you for your feedback."))


@pytest.mark.parametrize(
    ("declared", "first", "title"),
    [
        ("Install | Kolm Docs", "Install", "Install"),
        ("kiln - How do I stop the glaze? - Pottery", "How do I stop the glaze?", "How do I stop the glaze?"),
        ("L_2024077EN.01000101.xml", "Rules of lamps", "Rules of lamps"),
    ],
)
def test_the_only_heading_of_the_highest_level_is_the_title_if_the_declared_one_holds_it(
    declared: str, first: str, title: str, tmp_path: Path
) -> None:
    head = f"<head><title>{declared}</title><meta property='og:title' content='{declared}'></head>"
    found = only(
        tmp_path / "a.html", f"<html>{head}<body><main><h1>{first}</h1><p>{PARAGRAPH}</p></main></body></html>"
    )
    assert isinstance(found, Document)
    assert found.title == title


def test_the_name_of_a_site_above_its_pages_is_not_their_title(tmp_path: Path) -> None:
    head = "<head><title>Install | Kolm Docs | Kolm</title></head>"
    body = f"<body><header><h1>Kolm Docs</h1></header><main><h2>Install</h2><p>{PARAGRAPH}</p></main></body>"
    found = only(tmp_path / "a.html", f"<html>{head}{body}</html>")
    assert isinstance(found, Document)
    assert found.title == "Install"


def test_articles_of_a_law_of_the_european_union_have_their_names(tmp_path: Path) -> None:
    page = (
        "<p class='oj-doc-ti'>REGULATION (EU) 2024/77</p><p class='oj-doc-ti'>on lamps</p>"
        "<div><p class='oj-ti-art'>Article 1</p><div class='eli-title'><p class='oj-sti-art'>Scope</p></div>"
        f"<p class='oj-normal'>1.\xa0\xa0\xa0This Regulation applies to lamps.</p><p>{PARAGRAPH}</p></div>"
    )
    found = only(tmp_path / "a.html", f"<html><head><title>L_2024.xml</title></head><body>{page}</body></html>")
    assert isinstance(found, Document)
    assert found.title == "REGULATION (EU) 2024/77"
    assert "### Article 1: Scope\n\n1\\. This Regulation applies to lamps." in found.text
    assert "1. This Regulation applies to lamps." in [unit.text for unit in units(found.text, ())]


def test_a_page_whose_parts_the_extraction_joins_keeps_its_lines(tmp_path: Path) -> None:
    post = "<div class='{0}'><div class='js-post-body'><p>{1}</p></div><div><a href='/u'>Ada Falk</a></div></div>"
    posts = post.format("question", "My glaze runs off the vase.") + post.format("answer", "Do not hold at the top.")
    page = f"<div id=sidebar><a href='/'>Home</a></div><div id=content><h1>Why does it run?</h1>{posts}</div>"
    found = only(tmp_path / "a.html", f"<html><body>{page}</body></html>")
    assert isinstance(found, Document)
    assert {"My glaze runs off the vase.", "Do not hold at the top."} <= {*found.text.split("\n")}


@pytest.mark.parametrize(
    ("box", "text"),
    [
        (
            "<div class='admonition warning'><p class='admonition-title'>Warning</p><p>Stop it.</p></div>",
            "Warning: Stop it.",
        ),
        (
            "<div><div class='admonitionHeading_x'><i></i>warning</div><div><p>Stop it.</p></div></div>",
            "Warning: Stop it.",
        ),
        (
            "<div class='admonition'><p class='admonition-title'>Warning</p>Never <b>open</b> it.</div>",
            "Warning: Never **open** it.",
        ),
        (
            "<div><p class='admonition-title'>Note</p><p>Stop it.</p><p class='admonition-title'>Tip</p><p>Go.</p></div>",
            "Note: Stop it.\n\nTip\n\nGo.",
        ),
        ("<div><p class='markdown-alert-title'>Note</p><ul><li>Stop it.</li></ul></div>", "Note:\n\n- Stop it."),
        (
            "<div><p class='admonition-title'>Why does it stop?</p><p>It is old.</p></div>",
            "Why does it stop?\n\nIt is old.",
        ),
        (
            "<div><ul role=tablist><li role=tab>Debian</li><li role=tab>Fedora</li></ul><div>"
            "<div role=tabpanel><p>Use deb.</p></div>"
            "<div role=tabpanel hidden><p>Use rpm.</p></div></div></div>",
            "Debian: Use deb.\n\nFedora: Use rpm.",
        ),
        (
            "<div><ul role=tablist><li role=tab>Debian</li></ul><div role=tabpanel><p>Use deb.</p></div></div>",
            "- Debian\n\nUse deb.",
        ),
        (
            "<div class='confluence-information-macro'><p class=title>Freeze</p><span class=aui-icon></span>"
            "<div class=confluence-information-macro-body><p>Never on Fridays.</p></div></div>",
            "Freeze: Never on Fridays.",
        ),
        ("<div class=card><div class=card-header>Pay</div><ul><li>3 euro</li></ul></div>", "Pay:\n\n- 3 euro"),
        ("<details><summary>May it run?</summary><p>Not alone.</p></details>", "May it run?\n\nNot alone."),
        (
            "<p><span aria-hidden=true>!</span><strong><span class=sr-only>Warning</span>You are fined.</strong></p>",
            "**Warning: You are fined.**",
        ),
        (
            "<style>.done{text-decoration:line-through}</style><ul><li><div class='checkbox checkbox-on'></div>"
            "<span class=done>Oil it</span></li><li><div class='checkbox checkbox-off'></div><span>Stop it</span></li></ul>",
            "- [x] Oil it\n- [ ] Stop it",
        ),
        (
            "<table><tr><th>Wet</th><td><div class='checkbox checkbox-off'></div></td></tr>"
            "<tr><th>Hot</th><td><div class='checkbox checkbox-on'></div></td></tr></table>",
            "|  |  | \n|---|---|\n| Wet | ✗ | \n| Hot | ✓ | ",
        ),
        (
            "<div itemscope itemtype=https://schema.org/Review><span itemprop=author>Karo T.</span>"
            "<p itemprop=reviewBody>The zip broke.</p></div>",
            "Karo T.: The zip broke.",
        ),
        (
            "<div itemscope><p>By <a itemprop=author>Karo T.</a>, a tailor</p><p itemprop=reviewBody>The zip broke.</p></div>",
            "By Karo T., a tailor\n\nThe zip broke.",
        ),
        (
            "<div itemscope><b itemprop=author>Zips Ltd.</b><p itemprop=reviewBody>It is bad.</p>"
            "<p itemprop=reviewBody>It is ok.</p></div>",
            "**Zips Ltd.**\n\nIt is bad.\n\nIt is ok.",
        ),
        ("<ul class=inline-task-list><li class=unchecked>Oil it</li></ul>", "- [ ] Oil it"),
        ("<ul class=project-task-list><li>Oil it</li></ul>", "- Oil it"),
        ("<p><i class=checkbox-outline></i>Oil it <span class=not-sr-only>Or</span>Go.</p>", "Oil it OrGo."),
        (
            "<p>The time is 2<span aria-hidden=true>*</span>5 or <span aria-hidden=true>/</span> 7.</p>",
            "The time is 2\\*5 or / 7.",
        ),
        ("<div class=panel-heading>Pay</div><p>It is due.</p><p>It is late.</p>", "Pay\n\nIt is due.\n\nIt is late."),
    ],
)
def test_a_box_has_its_kind_and_the_part_of_a_tab_its_label_in_front(box: str, text: str, tmp_path: Path) -> None:
    found = only(tmp_path / "a.html", f"<main><h1>Pump</h1><p>{PARAGRAPH}</p>{box}<p>After it.</p></main>")
    assert isinstance(found, Document)
    assert found.text.endswith(f"\n\n{text}\n\nAfter it.")
