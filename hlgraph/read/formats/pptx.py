"""Reader of PPTX slides as Markdown, with python-pptx: titles as headings, text, tables, charts, SmartArt and notes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import Produced, check_package
from hlgraph.read.content import Origin, clean, clean_title, given_properties, given_title
from hlgraph.read.formats._blocks import slides
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.notation import (
    alternative,
    attribute,
    chart_text,
    child,
    children,
    diagram_text,
    equation,
    list_item,
    local_name,
    numeral,
    shifted,
    struck,
)
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import PAGE_BREAK, Document, MetadataValue

if TYPE_CHECKING:
    from lxml.etree import _Element as Element
    from pptx.opc.package import Part
    from pptx.presentation import Presentation
    from pptx.slide import Slide

_PROPERTIES = ("author", "category", "keywords", "language", "subject")
_BREAK = f"\n{PAGE_BREAK}\n"
_TITLES = ("ctrTitle", "title")
_LISTS = ("", "body", "obj")  # kinds of placeholders whose paragraphs have bullets
_REPEATED = ("dt", "ftr", "hdr")  # kinds of placeholders that are the same on all slides


def read_pptx(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a presentation: its slides in order, each a page, and its core properties.

    Charts are tables of their categories and series, SmartArt is a nested list. A footer that is the same on several slides
    stands on the first of them, numbers of slides are left out. A warning counts comments, which are not read.

    Parameters
    ----------
    origin : the file; its stem is the title if neither the properties nor the first slide names one
    data : the bytes of the file
    options : ``max_bytes`` limits the unpacked size, and the text in characters

    Raises
    ------
    MissingExtraError
        python-pptx is not installed.
    ReadError
        The file is damaged, needs a password, exceeds a limit of :mod:`hlgraph.read.bounds`, or holds no text.
    """
    with needs_extra("pptx", "reading PPTX"):
        import pptx
    produced = Produced(origin, len(data), options.max_bytes)
    check_package(origin, data, limit=options.max_bytes)
    show = pptx.Presentation(io.BytesIO(data))
    reader = _Reader(produced)
    pages = [produced.add(clean(reader.page(slide)).replace(PAGE_BREAK, "\n")) for slide in show.slides]
    title, metadata = _properties(show)
    if not any(pages):
        raise ReadError(origin.uri, "is empty: its slides hold no text")
    first, pages = slides(pages)
    return Document(
        uri=origin.uri,
        text=_BREAK.join(pages),
        title=title or first or clean_title(origin.stem),
        metadata={**metadata, "slides": len(pages)},
        page_starts=tuple(accumulate((len(page) + len(_BREAK) for page in pages[:-1]), initial=0)),
        warnings=(f"{reader.comments:,} comments were not read",) if reader.comments else (),
    )


class _Reader:
    """Reads the slides of one presentation.

    Parameters
    ----------
    produced : counts the cells

    Attributes
    ----------
    comments : number of comments so far
    """

    def __init__(self, produced: Produced) -> None:
        self._produced = produced
        self._seen: set[str] = set()  # footers
        self.comments = 0

    def page(self, slide: Slide) -> str:
        """The title of a slide, its other texts in the order of the file, and its notes."""
        shapes = list(_shapes(slide.shapes._spTree))
        titles = [each for each in shapes if _placeholder(each) in _TITLES]
        blocks = [f"## {clean_title(text)}" for each in titles if (text := " ".join(_texts(each)))]
        for each in (each for each in shapes if each not in titles):
            is_diagram = blocks[-1:] not in ([], [""]) and child(each, "graphic", "graphicData", "relIds") is not None
            blocks += ["---"] if is_diagram else []  # the text of another shape does not lead its list
            blocks.append(self._shape(each, slide.part))
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            texts = [text for each in children(notes._txBody) if (text := _paragraph(each).strip())]
            blocks += [f"Notes: {text}" for text in texts]
        for relation in slide.part.rels.values():
            if not relation.is_external and relation.reltype.rpartition("/")[2] == "comments":
                self.comments += sum(local_name(each) == "cm" for each in _root_of(relation.target_part).iter())
        return "\n\n".join(filter(None, blocks))

    def _shape(self, shape: Element, part: Part) -> str:
        if local_name(shape) == "graphicFrame":
            return self._graphic(shape, part)
        kind = _placeholder(shape)
        if kind == "sldNum":
            return ""
        lines = [] if kind in _LISTS else _texts(shape)
        is_label = kind is None and len(lines) in (2, 3) and all(map(_LABEL.fullmatch, lines))  # a name, and its role
        text = _list(shape) if kind in _LISTS else (", " if is_label else "\n\n").join(lines)
        if kind in _REPEATED:
            is_new = text not in self._seen
            self._seen.add(text)
            return text if is_new else ""
        return text

    def _graphic(self, frame: Element, part: Part) -> str:
        inner = next((each for each in children(child(frame, "graphic", "graphicData"))), None)
        if inner is None:
            return ""
        if local_name(inner) == "tbl":
            return self._table(inner)
        identifier = attribute(inner, "id") or attribute(inner, "dm")
        relation = part.rels.get(identifier)
        if local_name(inner) not in ("chart", "relIds") or relation is None or relation.is_external:
            return ""
        root = _root_of(relation.target_part)
        return chart_text(root, self._produced) if local_name(inner) == "chart" else diagram_text(root)

    def _table(self, table: Element) -> str:
        has_head = attribute(child(table, "tblPr"), "firstRow") in ("1", "true")
        rows = [
            [
                Cell(
                    clean_title(clean(" ".join(_texts(cell)))),
                    _number(cell, "gridSpan"),
                    _number(cell, "rowSpan"),
                    is_head=has_head and not number,
                    column=at,
                )
                for at, cell in enumerate(each for each in row if local_name(each) == "tc")
                if not {attribute(cell, "hMerge"), attribute(cell, "vMerge")} & {"1", "true"}
            ]
            for number, row in enumerate(each for each in table if local_name(each) == "tr")
        ]
        return Grid(rows, produced=self._produced).markdown()


def _root_of(part: Part) -> Element:
    from pptx.oxml import parse_xml

    element = getattr(part, "_element", None)
    return parse_xml(part.blob) if element is None else element


def _number(element: Element, name: str) -> int:
    value = attribute(element, name)
    return int(value) if value.isdecimal() and len(value) < 6 else 1


def _shapes(tree: Element) -> Iterator[Element]:
    """The shapes, with groups expanded; the parser refuses files that nest more than 255 elements."""
    for element in tree:
        kind = local_name(element)
        if kind == "grpSp":
            yield from _shapes(element)
        elif kind == "AlternateContent":
            yield from _shapes(alternative(element))
        elif kind in ("graphicFrame", "sp"):
            yield element


_LABEL = re.compile(r"\w(?!\w{0,3}[.)] )[^\n|]{0,38}[\w%)]")


def _placeholder(shape: Element) -> str | None:
    """The kind of a placeholder, empty for one without a kind; None for other shapes."""
    place = child(shape, "nvSpPr", "nvPr", "ph")
    return None if place is None else attribute(place, "type")


def _texts(shape: Element) -> list[str]:
    """The paragraphs that have text; numbered ones as items."""
    return [line for line, _, _ in _lines(shape)]


def _list(shape: Element) -> str:
    """The text of a placeholder: its paragraphs are items, unless there is only one."""
    lines = _lines(shape)
    if len(lines) < 2:
        return "".join(line for line, _, _ in lines)
    return "\n".join(line if is_item else list_item(line, "", level=level) for line, level, is_item in lines)


def _lines(shape: Element) -> list[tuple[str, int, bool]]:
    """The text, the level, and whether it is an item, of the paragraphs that have text."""
    lines: list[tuple[str, int, bool]] = []
    counters: dict[int, tuple[str, int]] = {}  # by level, the kind of numbers and the last one
    for element in children(child(shape, "txBody")):
        text = _paragraph(element) if local_name(element) == "p" else ""
        if not text:
            continue
        properties = child(element, "pPr")
        level = min(_number(properties, "lvl"), 8) if properties is not None and attribute(properties, "lvl") else 0
        numbers = child(properties, "buAutoNum")
        counters = {at: counter for at, counter in counters.items() if at < level + (numbers is not None)}
        if numbers is not None:
            kind = attribute(numbers, "type")
            last = counters.get(level, ("", 0))
            value = last[1] + 1 if last[0] == kind else _number(numbers, "startAt")
            counters[level] = (kind, value)
            lines.append((list_item(text, _label(kind, value), level=level), level, True))
        elif level or child(properties, "buChar") is not None:
            lines.append((list_item(text, "", level=level), level, True))
        else:
            lines.append((text, level, False))
    return lines


def _label(kind: str, value: int) -> str:
    """The label of a numbered paragraph, such as ``b)`` for ``alphaLcParenR``."""
    forms = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
    text = numeral(value, next((form for start, form in forms.items() if kind.startswith(start)), "decimal"))
    if kind.endswith("ParenBoth"):
        return f"({text})"
    return text + (")" if kind.endswith("ParenR") else "." if kind.endswith("Period") else "")


def _paragraph(element: Element) -> str:
    return "".join(_runs(element)).strip()


def _runs(element: Element) -> Iterator[str]:
    for each in element:
        kind = local_name(each)
        if kind == "r" or (kind == "fld" and attribute(each, "type") != "slidenum"):
            text = "".join(part.text or "" for part in each if local_name(part) == "t")
            text = struck(text) if attribute(child(each, "rPr"), "strike") in ("sngStrike", "dblStrike") else text
            shift = attribute(child(each, "rPr"), "baseline", default="0")
            yield shifted(text, is_raised=not shift.startswith("-")) if shift.strip("-0%") else text
        elif kind == "br":
            yield "\n"
        elif kind == "AlternateContent":
            yield from _runs(alternative(each))
        elif kind == "m":
            yield from map(equation, each)  # a14:m, not the matrix of OMML


def _properties(show: Presentation) -> tuple[str, dict[str, MetadataValue]]:
    from pptx.opc.constants import RELATIONSHIP_TYPE

    try:
        properties = show.part.package.part_related_by(RELATIONSHIP_TYPE.CORE_PROPERTIES)
    except KeyError:  # show.core_properties would invent default values
        return "", {}
    values = {name: clean(str(getattr(properties, name) or "")).strip() for name in _PROPERTIES}
    metadata: dict[str, MetadataValue] = {name: value for name, value in values.items() if value}
    if properties.created:
        metadata["created"] = properties.created.isoformat()
    return given_title(clean_title(clean(str(properties.title or "")))), given_properties(metadata)


FORMAT = FileFormat(
    "pptx", suffixes=(".pptx",), read=read_pptx, mend="open it in a presentation program and save it again"
)
