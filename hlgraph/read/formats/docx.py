"""Reader of DOCX files: paragraphs, headings and tables as Markdown, with python-docx.

Reads the body with its content controls, links and accepted insertions. Skips text boxes, headers, footers, footnotes,
endnotes and comments.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced, check_package
from hlgraph.read.content import Origin, clean, clean_title
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.oxml.xmlchemy import BaseOxmlElement
    from docx.styles.style import BaseStyle

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_DEEPEST = 6
_WIDEST = 64  # columns that one cell may span
_WRAPPERS = ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")
_RUNS = ".//w:r[not(ancestor::w:moveFrom) and not(ancestor::w:txbxContent)]"
_CELLS = "./w:tc | ./w:sdt/w:sdtContent/w:tc"
_PROPERTIES = ("author", "category", "keywords", "language", "subject")


def read_docx(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a DOCX file: its text with ``# `` headings and Markdown tables, and its core properties.

    Parameters
    ----------
    origin : the file; its stem is the title if the properties name none
    data : the bytes of the file
    options : ``max_bytes`` limits the unpacked size, and the text in characters

    Raises
    ------
    MissingExtraError
        python-docx is not installed.
    ReadError
        The file is damaged, needs a password, exceeds a limit of :mod:`hlgraph.read.bounds`, or holds no text.
    """
    try:
        import docx
    except ImportError as error:
        raise MissingExtraError("docx", "reading DOCX") from error
    check_package(origin, data, limit=options.max_bytes)
    word = docx.Document(io.BytesIO(data))
    levels = _heading_levels(word)
    produced = Produced(origin, len(data), options.max_bytes)
    texts = map(clean, _blocks(word.element.body, levels, produced))
    blocks = [produced.add(block) for block in texts if block.strip()]
    title, metadata = _properties(word)
    if not blocks:
        raise ReadError(origin.uri, "is empty: its body holds no text")
    return Document(
        uri=origin.uri,
        text="\n\n".join(blocks),
        title=title or clean_title(origin.stem),
        metadata=metadata,
    )


def _heading_levels(word: WordDocument) -> dict[str, int]:
    """The level of each style that is a heading or is based on one; files hold built-in style names in English."""
    levels: dict[str, int] = {}
    for style in word.styles:
        ancestor: BaseStyle | None = style
        for _ in range(10):  # in a damaged file a style may be its own ancestor
            if ancestor is None:
                break
            name = str(ancestor.name or "")
            match = _HEADING.fullmatch(name)
            if match or name == "Title":
                levels[style.style_id] = min(int(match.group(1)), _DEEPEST) if match else 1
                break
            ancestor = getattr(ancestor, "base_style", None)
    return levels


def _blocks(container: BaseOxmlElement, levels: dict[str, int], produced: Produced) -> Iterator[str]:
    for element in container:
        kind = str(element.tag).rpartition("}")[2]
        if kind == "p":
            text = _paragraph(element)
            level = levels.get(str(element.style or ""), 0)
            yield f"{'#' * level} {clean_title(text)}" if level and text else text
        elif kind == "tbl":
            yield _table(element, produced)
        elif kind in _WRAPPERS:
            yield from _blocks(element, levels, produced)


def _paragraph(element: BaseOxmlElement) -> str:
    return "".join(run.text for run in element.xpath(_RUNS)).strip()


def _table(element: BaseOxmlElement, produced: Produced) -> str:
    """A table as Markdown. A cell that continues the one above it has no text of its own."""
    rows: list[list[Cell]] = []
    above: dict[int, tuple[int, int]] = {}  # the row and the place in it of the cell at each column
    for number, row in enumerate(element.xpath("./w:tr")):
        cells: list[Cell] = []
        is_head = bool(row.xpath("./w:trPr/w:tblHeader"))
        at = sum(map(int, row.xpath("./w:trPr/w:gridBefore/@w:val")))
        for cell in row.xpath(_CELLS):
            width = max(1, min(cell.grid_span, _WIDEST))
            if cell.vMerge == "continue" and at in above:
                first, place = above[at]
                rows[first][place] = rows[first][place]._replace(height=number - first + 1)
            else:
                above[at] = (number, len(cells))
                text = " ".join(filter(None, map(_paragraph, cell.xpath(".//w:p"))))
                cells.append(Cell(clean_title(text), width, is_head=is_head, column=at))
            at += width
        rows.append(cells)
    return Grid(rows, produced=produced).markdown()


def _properties(word: WordDocument) -> tuple[str, dict[str, MetadataValue]]:
    from docx.opc.constants import RELATIONSHIP_TYPE

    try:
        properties = word.part.package.part_related_by(RELATIONSHIP_TYPE.CORE_PROPERTIES).core_properties
    except KeyError:  # word.core_properties would invent default values
        return "", {}
    values = {name: clean(str(getattr(properties, name) or "")).strip() for name in _PROPERTIES}
    metadata: dict[str, MetadataValue] = {name: value for name, value in values.items() if value}
    if properties.created:
        metadata["created"] = properties.created.isoformat()
    return clean_title(clean(str(properties.title or ""))), metadata


FORMAT = FileFormat("docx", suffixes=(".docx",), read=read_docx, mend="open it in Word and save it again")
