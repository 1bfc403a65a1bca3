"""Office files from XML: what no library writes, such as notes, text boxes, charts and numbered lists."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from functools import cache

import docx
import pptx

NAMES = " ".join(
    f'xmlns:{prefix}="{name}"'
    for prefix, name in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "v": "urn:schemas-microsoft-com:vml",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    }.items()
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ROOTS = {
    "numbering": "w:numbering",
    "footnotes": "w:footnotes",
    "endnotes": "w:endnotes",
    "comments": "w:comments",
    "header": "w:hdr",
    "footer": "w:ftr",
    "chart": "c:chartSpace",
    "diagramData": "dgm:dataModel",
}


def with_parts(whole: bytes, place: str, replaced: Mapping[str, str], parts: Mapping[str, str]) -> bytes:
    """A package with members replaced, and with parts by kind (``header1``), to which ``place`` refers as ``rIdheader1``."""
    folder, _, name = place.rpartition("/")
    relations = f"{folder}/_rels/{name}.rels"
    added = "".join(
        f'<Relationship Id="rId{kind}" Type="{_OFFICE}/{kind.rstrip("0123456789")}" Target="/{folder}/own{kind}.xml"/>'
        for kind in parts
    )
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for member in before.namelist():
            text = before.read(member)
            if member in replaced:
                text = replaced[member].encode()
            elif member == relations:
                text = text.replace(b"</Relationships>", f"{added}</Relationships>".encode())
            after.writestr(member, text)
        for kind, xml in parts.items():
            root = _ROOTS[kind.rstrip("0123456789")]
            after.writestr(f"{folder}/own{kind}.xml", f"<{root} {NAMES}>{xml}</{root}>")
    return out.getvalue()


def word_file(body: str, *, settings: str = "", **parts: str) -> bytes:
    """A DOCX file with this body; ``parts`` are the contents of other parts by kind, such as ``footnotes``."""
    document = f"<w:document {NAMES}><w:body>{body}</w:body></w:document>"
    replaced = {"word/document.xml": document}
    if settings:
        replaced["word/settings.xml"] = f"<w:settings {NAMES}>{settings}</w:settings>"
    return with_parts(_blank_word_file(), "word/document.xml", replaced, parts)


@cache
def _blank_word_file() -> bytes:
    out = io.BytesIO()
    docx.Document().save(out)
    return _without(out.getvalue(), "numbering")


def _without(whole: bytes, kind: str) -> bytes:
    """A package whose main part does not refer to a part of this kind."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for member in before.namelist():
            text = before.read(member)
            if member == "word/_rels/document.xml.rels":
                text = re.sub(rb'<Relationship [^>]*/%s"[^>]*/>' % kind.encode(), b"", text)
            after.writestr(member, text)
    return out.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    """A paragraph of DOCX; ``text`` may hold markup of runs, such as ``<w:footnoteReference w:id='1'/>``."""
    runs = text if text.startswith("<") else f"<w:r><w:t>{text}</w:t></w:r>"
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{runs}</w:p>"


def run(text: str, properties: str = "") -> str:
    """A run of DOCX."""
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def slide_file(*shapes: str, **parts: str) -> bytes:
    """A PPTX file with one slide for each text of XML; ``parts`` belong to the first slide."""
    show = pptx.Presentation()
    for _ in shapes:
        show.slides.add_slide(show.slide_layouts[6])
    out = io.BytesIO()
    show.save(out)
    tree = "<p:nvGrpSpPr><p:cNvPr id='1' name=''/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>"
    replaced = {
        f"ppt/slides/slide{number}.xml": f"<p:sld {NAMES}><p:cSld><p:spTree>{tree}{shape}</p:spTree></p:cSld></p:sld>"
        for number, shape in enumerate(shapes, 1)
    }
    return with_parts(out.getvalue(), "ppt/slides/slide1.xml", replaced, parts)


def shape(*paragraphs: str, kind: str = "", number: int = 2) -> str:
    """A shape of a slide; ``kind`` is the kind of its placeholder. A paragraph is text, or markup of runs."""
    place = f"<p:nvPr><p:ph type='{kind}' idx='{number}'/></p:nvPr>" if kind else "<p:nvPr/>"
    inner = "".join(
        f"<a:p>{text}</a:p>" if text.startswith("<") else f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
        for text in paragraphs
    )
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr id='{number}' name='s'/><p:cNvSpPr/>{place}</p:nvSpPr><p:spPr/>"
        f"<p:txBody><a:bodyPr/>{inner}</p:txBody></p:sp>"
    )
