"""Readers of OpenDocument files (ODT, ODS, ODP), packed or flat: text, sheets and slides, with tables as Markdown.

The XML is read with lxml. Comments, deleted text and embedded objects are left out; a warning counts them.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from hlgraph.errors import ReadError
from hlgraph.read.bounds import Produced, check_package, refused
from hlgraph.read.content import Origin, clean, clean_title, given_properties, given_title
from hlgraph.read.formats._blocks import (
    Unread,
    document_of,
    heading,
    hidden_sheet,
    is_title_line,
    sheet_markdown,
    slides,
)
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats._xml import Block, Flow, Inline, attribute, below, children, formula, listed, parsed, tag_of
from hlgraph.read.notation import list_marks, struck
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import groups_of_rows
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_EXTRA = "odf"
_KINDS = {"odt": "text", "ods": "spreadsheet", "odp": "presentation"}
_FIELDS = {
    "creator": "author",
    "date": "date",
    "language": "language",
    "subject": "subject",
    "description": "description",
}
_BREAK = "\n\n"
_DIGITS = re.compile(r"[\d./-]+")  # a date as a sheet shows it, which may be read in two ways
_MOST_ROWS = 20_000_000  # including empty ones, which cost nothing here
_GONE = ("tracked-changes", "annotation", "forms", "sequence-decls", "variable-decls", "index-source")


def read_open_document(origin: Origin, data: bytes, *, options: ReadOptions, kind: str) -> Document:
    """The document of a file: headings, paragraphs, lists, notes in their places and tables; each slide is a page.

    Parameters
    ----------
    origin : the file; its stem is the title if its properties name none
    data : its bytes
    options : ``max_bytes`` limits the unpacked size, and the text in characters
    kind : ``odt``, ``ods`` or ``odp``

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is damaged, needs a password, is of another kind, exceeds a limit of :mod:`hlgraph.read.bounds`, or holds no text.

    References
    ----------
    OASIS, Open Document Format for Office Applications 1.3.
    """
    unread = Unread()
    content, about, styles = _trees(origin, data, options, unread=unread)
    body = next((part for parent in below(content, "body") for part in children(parent, *_KINDS.values())), None)
    if body is None or tag_of(body) != _KINDS[kind]:
        actual = next((name for name, tag in _KINDS.items() if body is not None and tag_of(body) == tag), "")
        reason = f"holds {actual}, not {kind}" if actual else f"holds no {_KINDS[kind]}"
        raise ReadError(
            origin.uri, reason, f"rename it, or add --format {actual}" if actual else "save it as ODT, ODS or ODP"
        )
    produced = Produced(origin, len(data), options.max_bytes)
    _strike(content, body)
    named = _mark_headings(body, content, styles) if kind == "odt" else ""
    flow = Flow(body, produced, blocks={**_BLOCKS, "list": _Lists(content, styles).read}, inlines=_INLINES)
    title, metadata = _properties(flow, about)
    title = title or named
    if kind == "odp":
        pages = [produced.add(clean(_BREAK.join(filter(None, _slide(flow, page))))) for page in below(body, "page")]
        metadata["slides"] = len(pages)
        first, pages = slides(pages) if any(pages) else ("", [])
        starts = tuple(accumulate((len(page) + len(_BREAK) for page in pages[:-1]), initial=0)) if pages else ()
        if not any(pages):
            raise ReadError(origin.uri, "is empty: its slides hold no text")
        warnings = Unread({**unread, **flow.unread}).warnings()
        return Document(
            origin.uri,
            _BREAK.join(pages),
            title or first or clean_title(origin.stem),
            metadata,
            page_starts=starts,
            warnings=warnings,
        )
    blocks = list(
        _sheets(flow, body)
        if kind == "ods"
        else chain(_headers(flow, content if styles is None else styles), flow.inside(body))
    )
    metadata |= groups_of_rows(origin, produced.groups)
    warnings = (*Unread({**unread, **flow.unread}).warnings(), *_hidden(content, body))
    return document_of(produced, blocks, title=title, metadata=metadata, warnings=warnings, part="its body")


def _trees(
    origin: Origin, data: bytes, options: ReadOptions, *, unread: Unread
) -> tuple[Element, Element | None, Element | None]:
    """The roots of the content, of the properties and of the styles. Formulas stand in the content where they are shown."""
    if not data.startswith((b"PK", b"\xd0\xcf")):  # flat
        root = parsed(origin, data, extra=_EXTRA)
        return root, root, root
    check_package(origin, data, limit=options.max_bytes)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = package.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise ReadError(origin.uri, "is protected by a password", "save it without a password")
        if "content.xml" not in names:
            raise ReadError(origin.uri, "is no OpenDocument file: it has no content.xml", "save it again")
        content = parsed(origin, package.read("content.xml"), extra=_EXTRA)
        shown = {attribute(each, "href").removeprefix("./").rstrip("/"): each for each in below(content, "object")}
        for name in names:
            folder, _, member = name.rpartition("/")
            if not folder or member != "content.xml":
                continue
            root = parsed(origin, package.read(name), extra=_EXTRA) if folder in shown else None
            parts = [] if root is None else [root] if tag_of(root) == "math" else below(root, "chart")
            if parts:
                shown[folder].append(parts[-1])
            else:
                unread[f"embedded object {folder}"] += 1
        about, styles = (
            parsed(origin, package.read(name), extra=_EXTRA) if name in names else None
            for name in ("meta.xml", "styles.xml")
        )
        return content, about, styles


def _headers(flow: Flow, styles: Element) -> Iterator[str]:
    """The different headers, then the different footers, of the pages of a text."""
    seen: set[str] = set()
    names = [f"{place}{of}" for place in ("header", "footer") for of in ("", "-first", "-left")]
    for part in (part for name in names for part in below(styles, name)):
        for text in flow.inside(part):
            bare = text.lstrip("# ")
            if bare.strip() and bare not in seen:
                seen.add(bare)
                yield bare


def _properties(flow: Flow, root: Element | None) -> tuple[str, dict[str, MetadataValue]]:
    meta = None if root is None else next(iter(below(root, "meta")), None)
    if meta is None:
        return "", {}
    values = {
        name: clean(flow.text(next(iter(children(meta, name)), None)))
        for name in ("title", *_FIELDS, "initial-creator", "creation-date")
    }
    values["creator"] = values["initial-creator"] or values["creator"]
    metadata: dict[str, MetadataValue] = {ours: values[name] for name, ours in _FIELDS.items() if values[name]}
    if values["creation-date"]:
        metadata["created"] = values["creation-date"]
    if keywords := tuple(filter(None, (clean(flow.text(each)) for each in children(meta, "keyword")))):
        metadata["keywords"] = keywords
    return given_title(clean_title(values["title"])), given_properties(metadata)


_HEAD = "bold"  # the mark of a cell in bold


def _mark_headings(body: Element, *roots: Element | None) -> str:
    """Mark the paragraphs that are headings, of the style Title or in bold above other text, and definitions; the first title."""
    styles = {attribute(each, "name"): each for root in roots if root is not None for each in below(root, "style")}
    title, level = "", 1
    for cell in below(body, "table-cell"):
        if {*_weights(cell, styles, is_bold=False)} == {True}:
            cell.set(_HEAD, "")
    for parent in (body, *below(body, "section")):
        elements = [each for each in parent if tag_of(each) in ("h", "list", "p", "section", "table")]
        is_bold = [{*_weights(each, styles, is_bold=False)} == {True} for each in elements]
        for at, element in enumerate(elements):
            text = "".join(map(str, element.itertext())).strip()
            named = {name for name, _ in _parents(element, styles)}
            is_title = not title and "Title" in named
            if tag_of(element) == "h":
                level = int(attribute(element, "outline-level") or 1)
            elif (
                tag_of(element) == "p"
                and text
                and (is_title or (is_bold[at] and is_title_line(text) and not all(is_bold[at : at + 2])))
            ):
                element.tag = str(element.tag)[:-1] + "h"
                element.set("outline-level", "1" if is_title else str(level + 1))
                title = clean_title(text) if is_title else title
            elif tag_of(element) == "p" and "List_20_Contents" in named:  # what a term above it means
                element.tag = str(element.tag)[:-1] + _DEFINITION
    return title


_DEFINITION = "definition"


def _definition(flow: Flow, element: Element) -> Iterator[str]:
    yield from (f"  {block}" for block in _paragraph(flow, element) if block)


def _parents(element: Element, styles: Mapping[str, Element]) -> Iterator[tuple[str, Element]]:
    """The style of an element and those that it is based on, with their names."""
    name, seen = attribute(element, "style-name"), set[str]()
    while name in styles and name not in seen:
        seen.add(name)
        yield name, styles[name]
        name = attribute(styles[name], "parent-style-name")


def _weights(element: Element, styles: Mapping[str, Element], *, is_bold: bool) -> Iterator[bool]:
    """Whether each text of an element is bold."""
    properties = (each for _, style in _parents(element, styles) for each in children(style, "text-properties"))
    weight = next(filter(None, (attribute(each, "font-weight") for each in properties)), "")
    is_bold = weight == "bold" if weight else is_bold
    if (element.text or "").strip():
        yield is_bold
    for child in element:
        yield from _weights(child, styles, is_bold=is_bold)
        if (child.tail or "").strip():
            yield is_bold


def _heading(flow: Flow, element: Element) -> Iterator[str]:
    level = attribute(element, "outline-level")
    yield heading(flow.text(element), int(level) if level.isdecimal() else 1)
    yield from _boxes(flow, element)


def _paragraph(flow: Flow, element: Element) -> Iterator[str]:
    yield flow.text(element)
    yield from _boxes(flow, element)


def _boxes(flow: Flow, element: Element) -> Iterator[str]:
    """The text boxes and charts that are anchored in a paragraph, and the tables in them."""
    for box in below(element, "text-box", "chart"):
        yield from _chart(flow, box) if tag_of(box) == "chart" else flow.inside(box)


def _chart(flow: Flow, element: Element) -> Iterator[str]:
    """The titles of a chart, and its values unless they stand on the sheets of the file."""
    yield from map(flow.text, children(element, "title", "subtitle"))
    for values in children(element, "table") if not any(map(tag_of, element.iterancestors("{*}spreadsheet"))) else ():
        yield from _table(flow, values)


def _gone(flow: Flow, element: Element) -> Iterator[str]:
    _count(flow, element)
    return iter(())


def _count(flow: Flow, element: Element) -> str:
    names = {"tracked-changes": "deleted text", "annotation": "comment", "forms": "form"}
    if flow.text(next(iter(element), None)) and tag_of(element) in names:
        flow.unread[names[tag_of(element)]] += 1
    return ""


def _note(flow: Flow, element: Element) -> str:
    """A footnote or endnote in its place, in brackets."""
    text = " ".join(flow.text(each).replace("\n", " ") for each in children(element, "note-body"))
    return f" [{text}]" if text else ""


def _space(_flow: Flow, _element: Element) -> str:
    return " "


def _table(flow: Flow, element: Element) -> Iterator[str]:
    for rows in _groups(flow, element):
        yield Grid(rows, produced=flow.produced).markdown()


def _sheets(flow: Flow, body: Element) -> Iterator[str]:
    """The sheets of a workbook, each a heading and the groups of rows between blank ones."""
    for sheet in children(body, "table"):
        groups = ([[cell for cell in row if cell.text] for row in rows] for rows in _groups(flow, sheet, is_sheet=True))
        flow.produced.acl_columns = [], -1
        blocks = [sheet_markdown(rows, flow.produced) for rows in groups]
        if blocks:
            yield heading(attribute(sheet, "name"), 2)
        yield from blocks
        for shapes in children(sheet, "shapes"):
            yield from flow.inside(shapes)


def _hidden(content: Element, body: Element) -> Iterator[str]:
    """A warning for each hidden sheet that holds text, all of which are read."""
    gone = {
        attribute(style, "name")
        for style in below(content, "style")
        if any(attribute(each, "display") == "false" for each in children(style, "table-properties"))
    }
    for sheet in children(body, "table"):
        if attribute(sheet, "style-name") in gone and "".join(sheet.itertext()).strip():
            yield hidden_sheet(attribute(sheet, "name"))


def _groups(flow: Flow, table: Element, *, is_sheet: bool = False) -> Iterator[list[list[Cell]]]:
    """The rows of a table with the places of their cells; of a sheet, blank rows separate groups."""
    group: list[list[Cell]] = []
    covered = place = 0
    for row, is_head in _rows(table):
        cells = list(_cells(flow, row, is_head=is_head))
        repeated = _repeated(row, "number-rows-repeated")
        place += repeated
        if place > _MOST_ROWS:
            raise refused(flow.produced.origin, "rows", limit=_MOST_ROWS)
        if any(cell.text for cell in cells):
            flow.produced.add_cells(len(cells) * (repeated - 1))
            group += [cells] * repeated
            covered = max(covered, *(place + cell.height - 1 for cell in cells))
        elif group and place <= covered:
            group.append(cells)
        elif is_sheet and group:
            yield group
            group = []
    if group:
        yield group


def _rows(table: Element, *, is_head: bool = False) -> Iterator[tuple[Element, bool]]:
    for child in table:
        if tag_of(child) == "table-row":
            yield child, is_head
        elif tag_of(child) in ("table-header-rows", "table-row-group", "table-rows"):
            yield from _rows(child, is_head=is_head or tag_of(child) == "table-header-rows")


def _strike(content: Element, body: Element) -> None:
    """Mark the spans that a style of the file strikes out as Markdown does, in place."""
    names = {
        attribute(style, "name")
        for style in below(content, "style")
        for properties in children(style, "text-properties")
        if attribute(properties, "text-line-through-style") not in ("", "none")
    }
    for span in below(body, "span") if names else ():
        if attribute(span, "style-name") in names and len(span) == 0:
            span.text = struck(span.text or "")


def _cells(flow: Flow, row: Element, *, is_head: bool) -> Iterator[Cell]:
    """The cells with text or a span, at their columns. Empty cells may be repeated up to the last column of a sheet."""
    at = 0
    for cell in children(row, "table-cell", "covered-table-cell"):
        repeated = _repeated(cell, "number-columns-repeated")
        if tag_of(cell) == "table-cell":
            text = _cell_text(flow, cell)
            width, height = (_repeated(cell, f"number-{name}-spanned") for name in ("columns", "rows"))
            if text:
                flow.produced.add_cells(repeated - 1)
                for number in range(repeated):
                    yield Cell(text, width, height, is_head=is_head or _HEAD in cell.attrib, column=at + number)
        at += repeated


def _cell_text(flow: Flow, cell: Element) -> str:
    """What a cell shows, on one line; the stored value of one that shows nothing."""
    shown = " ".join(filter(None, (" ".join(block.split()) for block in flow.inside(cell))))
    value = attribute(cell, "date-value") or attribute(cell, "value") or attribute(cell, "string-value")
    if attribute(cell, "formula") and not shown and not value:
        flow.unread["formula without a stored value"] += 1
    is_day = attribute(cell, "value-type") == "date" and _DIGITS.fullmatch(shown)
    return clean_title(clean(value.removesuffix("T00:00:00") if is_day and value else shown or value))


def _repeated(element: Element, name: str) -> int:
    value = attribute(element, name)[:9]
    return max(1, int(value)) if value.isdecimal() else 1


def _slide(flow: Flow, page: Element) -> Iterator[str]:
    """The title of a slide, its other texts and tables in the order of the file, and its notes."""
    frames = [frame for frame in page if tag_of(frame) not in ("notes", "forms", "")]
    titles = [frame for frame in frames if attribute(frame, "class") == "title"]
    yield heading(" ".join(" ".join(flow.inside(frame)) for frame in titles), 2)
    for frame in frames:
        if frame not in titles:
            yield from flow.inside(frame)
    for notes in children(page, "notes"):
        frames = [frame for frame in children(notes, "frame") if attribute(frame, "class") == "notes"]
        yield from (f"Notes: {block}" for frame in frames for block in flow.inside(frame) if block)


class _Lists:
    """Reads lists with the numbers that their styles give.

    Parameters
    ----------
    roots : where the styles are
    """

    def __init__(self, *roots: Element | None) -> None:
        self._levels = {
            attribute(style, "name"): {
                attribute(level, "level"): level for level in children(style, "list-level-style-number")
            }
            for root in roots
            if root is not None
            for style in below(root, "list-style")
        }
        self._last: dict[str, int] = {}  # number of the last item of each style, at the outermost level

    def read(self, flow: Flow, element: Element) -> Iterator[str]:
        """The items of a list, each with a dash or its number; a numbered heading is an item of a list."""
        around = [each for each in (element, *element.iterancestors()) if tag_of(each) == "list"]
        style = next(filter(None, (attribute(each, "style-name") for each in around)), "")
        level = self._levels.get(style, {}).get(str(len(around)))
        form, start = (attribute(level, name) if level is not None else "" for name in ("num-format", "start-value"))
        form = _FORMS.get(form, "")
        first = int(start) if start.isdecimal() and len(start) < _LONGEST_NUMBER else 1
        if form and len(around) == 1:
            if attribute(element, "continue-numbering") == "true":
                first = self._last.get(style, first - 1) + 1
            self._last[style] = first - 1 + sum(1 for _ in children(element, *_ITEMS))
        for block in listed(flow, element, entries=_ITEMS, marks=list_marks(form, first)):
            yield re.sub(r"^(?:-|\w+[.)]) #", "#", block)


_ITEMS = ("list-header", "list-item")
_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_LONGEST_NUMBER = 6  # digits


_BLOCKS: Mapping[str, Block] = {
    "h": _heading,
    _DEFINITION: _definition,
    "p": _paragraph,
    "chart": _chart,
    "table": _table,
    **dict.fromkeys(_GONE, _gone),
}
_INLINES: Mapping[str, Inline] = {
    "note": _note,
    "annotation": _count,
    "s": _space,
    "tab": _space,
    "line-break": lambda _flow, _element: "\n",
    **dict.fromkeys(("chart", "text-box"), lambda _flow, _element: ""),
    "math": formula,
    **dict.fromkeys(("title", "desc"), lambda _flow, _element: ""),
}
_MEND = "open it in LibreOffice and save it again"
_SUFFIXES = {"odt": (".fodt", ".odt", ".ott"), "ods": (".fods", ".ods", ".ots"), "odp": (".fodp", ".odp", ".otp")}
FORMATS = tuple(
    FileFormat(kind, suffixes=suffixes, read=partial(read_open_document, kind=kind), mend=_MEND)
    for kind, suffixes in _SUFFIXES.items()
)
