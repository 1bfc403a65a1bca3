"""What readers of XML share: a parser that expands nothing, and a walk that turns mixed content into blocks of Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import MOST_ELEMENTS, Produced, refused
from hlgraph.read.content import Origin
from hlgraph.read.formats._blocks import Unread, item, lowered, raised, unsaid, unsaid_warning
from hlgraph.read.notation import mathml
from hlgraph.read.tables import WIDEST, Cell, Grid
from hlgraph.records import Document

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_SPACE = re.compile(r"\s+")
_MOST_ATTRIBUTES = 1_000
_NOTES = ("authorialNote", "footnote")  # in the middle of a sentence
_LONG_TAG = re.compile(rb"<[^<>]{65536,}")

Block = Callable[["Flow", "Element"], Iterator[str]]
"""Turns an element into blocks."""
Inline = Callable[["Flow", "Element"], str]
"""Turns an element into a part of a line."""


def parsed(origin: Origin, data: bytes, *, extra: str) -> Element:
    """The root of an XML file. No entity is expanded, nothing is fetched, and no DTD is loaded.

    Parameters
    ----------
    origin : the file
    data : its bytes
    extra : the extra that brings lxml

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is empty or damaged, has more than a million elements, or nests them more than 255 levels deep.
    """
    with needs_extra(extra, "reading XML"):
        from lxml import etree
    if not data.strip():
        raise ReadError(origin.uri, "is empty")
    if data.count(b"<") - data.count(b"</") > MOST_ELEMENTS:
        raise refused(origin, "elements", limit=MOST_ELEMENTS)
    if any(match[0].count(b"=") > _MOST_ATTRIBUTES for match in _LONG_TAG.finditer(data)):
        raise refused(origin, "attributes in one element", limit=_MOST_ATTRIBUTES)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True)
    try:
        root: Element = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ReadError(origin.uri, f"is not XML ({error.msg})", "check it with xmllint") from error
    return root


def tag_of(element: Element) -> str:
    """The local name of an element; empty for a comment or an entity."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """The value of an attribute; empty if there is none.

    Parameters
    ----------
    element : the element
    name : the local name of the attribute
    """
    value = element.get(name)
    if value is None:
        value = next((value for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), "")
    return str(value)


def children(element: Element, *tags: str) -> list[Element]:
    """The children of these names, in order."""
    return [child for child in element if tag_of(child) in tags]


def below(element: Element, *tags: str) -> list[Element]:
    """All elements of these names inside of an element, in order."""
    return [inner for inner in element.iter("{*}*") if inner is not element and tag_of(inner) in tags]


class Flow:
    """Walks an element with mixed content and yields paragraphs, headings, items and tables.

    Parameters
    ----------
    root : the element whose blocks will be asked for
    produced : counts the cells of tables
    blocks : how elements that stand between paragraphs become blocks, by local name
    inlines : how elements inside of a line become text; others give the text that they hold

    Attributes
    ----------
    level : level of the heading of the section that is walked
    depth : number of lists around the item that is walked
    unread : what was left out
    """

    def __init__(
        self, root: Element, produced: Produced, *, blocks: Mapping[str, Block], inlines: Mapping[str, Inline]
    ) -> None:
        self.produced = produced
        self.level = 1
        self.depth = 0
        self.unread = Unread()
        self._block_of = blocks
        self._inline_of = {**_INLINES, **inlines}
        self._holders: set[Element] = set()  # elements with a block inside
        for element in root.iter("{*}*"):
            parent = element.getparent() if tag_of(element) in blocks else None
            while parent is not None and parent not in self._holders and tag_of(parent) not in _NOTES:
                self._holders.add(parent)
                parent = parent.getparent()

    def inside(self, element: Element) -> Iterator[str]:
        """The blocks of the content of an element."""
        line = [self._text(element.text)]
        for child in element:
            block = self._block_of.get(tag_of(child))
            if block is not None or child in self._holders:
                yield self._line(line)
                line = []
                yield from block(self, child) if block is not None else self.inside(child)
            else:
                line.append(self._inline(child))
            line.append(self._text(child.tail))
        yield self._line(line)

    def text(self, element: Element | None) -> str:
        """All text of an element on one line; empty for None."""
        return "" if element is None else self._line([self.raw(element)])

    def raw(self, element: Element) -> str:
        """All text of an element, with the white space at its ends."""
        parts = [self._text(element.text)]
        for child in element:
            is_block = tag_of(child) in self._block_of
            parts += [" " if is_block else "", self._inline(child), " " if is_block else "", self._text(child.tail)]
        return "".join(parts)

    def _inline(self, element: Element) -> str:
        if not isinstance(element.tag, str):  # a comment, or an entity such as &eacute;
            source = str(element.text or "")
            return html.unescape(source) if source.startswith("&") else ""
        inline = self._inline_of.get(tag_of(element))
        return inline(self, element) if inline is not None else self.raw(element)

    @staticmethod
    def _text(text: str | None) -> str:
        return _SPACE.sub(" ", text) if text else ""

    @staticmethod
    def _line(parts: Sequence[str]) -> str:
        """One line; a break within it stays."""
        lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
        return "\n".join(filter(None, lines))


def formula(flow: Flow, element: Element) -> str:
    """The TeX source of a formula if it has that, else its symbols.

    Parameters
    ----------
    flow : the walk
    element : the formula
    """
    source = next(iter(below(element, "tex-math", "annotation")), None)
    if source is None:
        return mathml(element) if tag_of(element) == "math" else flow.text(element)
    lines = " ".join("".join(map(str, source.itertext())).split())
    body = re.search(r"\\begin\{document\}(.*?)\\end\{document\}", lines)
    return f" {(body[1] if body else lines).strip()} "


_INLINES: Mapping[str, Inline] = {
    "sup": lambda flow, element: raised(flow.text(element)),
    "sub": lambda flow, element: lowered(flow.text(element)),
    "math": formula,
}


def table(flow: Flow, element: Element) -> Iterator[str]:
    """A table of rows and cells as HTML, CALS (OASIS) and TEI write them.

    Parameters
    ----------
    flow : the walk
    element : the table
    """
    columns = {attribute(spec, "colname"): at for at, spec in enumerate(below(element, "colspec"))}
    rows: list[list[Cell]] = []
    for row in _rows(element):
        is_head = tag_of(row.getparent()) == "thead" or attribute(row, "role") == "label"
        cells = children(row, "td", "th", "entry", "cell")
        rows.append([_cell(flow, cell, columns, is_head=is_head) for cell in cells])
    yield Grid(rows, produced=flow.produced).markdown()


def _rows(element: Element) -> Iterator[Element]:
    """The rows of a table, without those of tables in its cells."""
    for child in element:
        if tag_of(child) in ("tr", "row"):
            yield child
        elif tag_of(child) in ("thead", "tbody", "tfoot", "tgroup"):
            yield from _rows(child)


def _cell(flow: Flow, cell: Element, columns: Mapping[str, int], *, is_head: bool) -> Cell:
    first, last = (columns.get(attribute(cell, name)) for name in ("namest", "nameend"))
    width = last - first + 1 if first is not None and last is not None else _number(cell, "colspan", "cols")
    height = _number(cell, "rowspan", "rows") + (_number(cell, "morerows") if attribute(cell, "morerows") else 0)
    is_label = is_head or tag_of(cell) == "th" or attribute(cell, "role") == "label"
    return Cell(flow.text(cell).replace("\n", " "), max(1, min(width, WIDEST)), height, is_head=is_label)


def _number(element: Element, *names: str) -> int:
    value = next(filter(None, (attribute(element, name) for name in names)), "1")[:6]
    return int(value) if value.isdecimal() else 1


def listed(
    flow: Flow, element: Element, *, entries: Sequence[str], marks: Iterable[str] | None = None
) -> Iterator[str]:
    """A list as one block of lines; tables and code inside of its items are blocks between them.

    Parameters
    ----------
    flow : the walk
    element : the list
    entries : local names of its items
    marks : the marker of each item, default dashes
    """
    lines: list[str] = []
    for mark, entry in zip(marks or repeat("-"), children(element, *entries), strict=False):
        label = " ".join(map(flow.text, children(entry, "label")))
        flow.depth += 1
        first, *rest = [*filter(None, flow.inside(entry)), ""]
        flow.depth -= 1
        is_inner = not label and _LISTED.match(first) is not None  # a list in an item without words of its own
        line = item(f"{label} {_LINES.sub(' ', first)}".strip(), marker=mark, depth=flow.depth)
        lines.append(first if is_inner else line)
        for block in filter(None, rest):
            if block.startswith(("|", "```")):
                yield "\n".join(filter(None, lines))
                yield block
                lines = []
            else:
                lines.append(block if _LISTED.match(block) else f"\n{'  ' * (flow.depth + 1)}{_LINES.sub(' ', block)}")
    yield "\n".join(filter(None, lines))


_LINES = re.compile(r"\s*\n\s*")
_LISTED = re.compile(r"\s*(?:-|\d+\.|\w{1,5}\)) ")


def lost(root: Element, document: Document, *, ignored: Collection[str]) -> Document:
    """The document, with a warning that shows the texts of the file that neither its text nor its metadata hold.

    Parameters
    ----------
    root : the file
    document : what was read of it
    ignored : local names of elements about the file or the journal, whose text is not part of the document
    """
    said = " ".join([document.text, document.title, *map(str, document.metadata.values())])
    missed = unsaid(_texts(root, ignored), said)  # one word may be part of another: H<sub>2</sub>O
    return replace(document, warnings=(*document.warnings, *unsaid_warning([part for part in missed if " " in part])))


def _texts(root: Element, ignored: Collection[str]) -> Iterator[str]:
    """The texts of a file, each on one line, in order of their elements."""
    waiting: list[Element] = [root]
    while waiting:
        element = waiting.pop()
        if tag_of(element) not in ignored:
            texts = (element.text or "", *(child.tail or "" for child in element))
            yield from (" ".join(text.split()) for text in texts if text.strip())
            waiting += [child for child in reversed(element) if tag_of(child)]
