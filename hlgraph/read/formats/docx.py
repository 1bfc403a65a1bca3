"""Reader of DOCX files as Markdown, with python-docx: body, lists, notes, text boxes, equations, headers and footers."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import Produced, check_package
from hlgraph.read.content import Origin, clean, clean_title, given_properties, given_title
from hlgraph.read.formats._blocks import is_title_line, only_title, title_line, with_turns
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.notation import (
    ListNumbers,
    alternative,
    attribute,
    chart_text,
    child,
    children,
    diagram_text,
    equation,
    is_on,
    left_indent,
    list_item,
    local_name,
    numeral,
    shifted,
    struck,
    symbol,
)
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.opc.part import Part
    from docx.styles.style import BaseStyle
    from lxml.etree import _Element as Element

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_DEEPER = re.compile(r"List (?:Bullet|Number|Continue) ([2-5])")
_DEEPEST = 6
_ATX = re.compile(r"(#{1,6}) ")
_ITEM = "\u2063"  # behind each item of a list in a cell
_ITEMS = re.compile(rf"(?<![,;:.!?]){_ITEM} (?=[^{_ITEM}]*{_ITEM})")
_WIDEST = 64  # columns that one cell may span
_PROPERTIES = ("author", "category", "keywords", "language", "subject")


def read_docx(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a DOCX file: its text with ``# `` headings and Markdown tables, and its core properties.

    Headers and footers stand once, at the start. Footnotes and endnotes are paragraphs after the one that refers to them, with
    the same mark: ``[1]`` for a footnote, ``[i]`` for an endnote. A text box stands after the paragraph that it is anchored to.
    A note or text box of an item stands after its list, one of a table after the table. Tracked changes are read as accepted.
    Warnings count hidden text, embedded documents and comments, which are not read; comments are if the options ask for them.

    Parameters
    ----------
    origin : the file; its stem is the title if neither the properties nor the style Title nor the only heading of level 1 names one
    data : the bytes of the file
    options : ``max_bytes`` limits the unpacked size, and the text in characters

    Raises
    ------
    MissingExtraError
        python-docx is not installed.
    ReadError
        The file is damaged, needs a password, exceeds a limit of :mod:`hlgraph.read.bounds`, or holds no text.
    """
    with needs_extra("docx", "reading DOCX"):
        import docx
    check_package(origin, data, limit=options.max_bytes)
    word = docx.Document(io.BytesIO(data))
    produced = Produced(origin, len(data), options.max_bytes)
    reader = _Reader(word, produced, has_comments=options.comments)
    text, warnings = reader.text()
    if not text:
        raise ReadError(origin.uri, "is empty: its body holds no text")
    title, metadata = _properties(word)
    return Document(
        origin.uri,
        with_turns(text),
        title or reader.title or only_title(text) or clean_title(origin.stem),
        metadata,
        warnings=warnings,
    )


class _Style(NamedTuple):
    level: int = 0  # of a heading
    number: str = ""  # id of its list
    list_level: int | None = None
    depth: int = 0  # of its items, though each level may have a list of its own
    is_hidden: bool = False
    is_title: bool = False
    is_entry: bool = False  # of the table of contents
    indent: int = 0  # on the left, in twentieths of a point
    is_definition: bool = False  # of the term above it


_NO_STYLE = _Style()


def _styles(word: WordDocument) -> dict[str, _Style]:
    """What the text depends on, by the id of the style; files hold the names of built-in styles in English."""
    styles: dict[str, _Style] = {}
    for style in word.styles:
        ancestor: BaseStyle | None = style
        level, number, list_level, depth, is_hidden, indent = 0, "", None, 0, False, -1
        is_title = style.name == "Title"
        is_entry = _ENTRY.fullmatch(str(style.name or "")) is not None
        for _ in range(10):  # in a damaged file a style may be its own ancestor
            if ancestor is None:
                break
            name = str(ancestor.name or "")
            match = _HEADING.fullmatch(name)
            if not level and (match or name == "Title"):
                level = min(int(match.group(1)), _DEEPEST) if match else 1
            deeper = _DEEPER.fullmatch(name)
            depth = depth or (int(deeper[1]) - 1 if deeper else 0)
            in_list = child(ancestor.element, "pPr", "numPr")
            if not number and in_list is not None:
                number = attribute(child(in_list, "numId"), "val")
                place = attribute(child(in_list, "ilvl"), "val")
                list_level = int(place) if place in _LIST_LEVELS else None
            is_hidden = is_hidden or is_on(child(ancestor.element, "rPr", "vanish"))
            indent = left_indent(ancestor.element, default=-1) if indent < 0 else indent
            ancestor = getattr(ancestor, "base_style", None)
        is_definition = _DEFINITION.fullmatch(str(style.name or "")) is not None
        styles[style.style_id] = _Style(
            level, number, list_level, depth, is_hidden, is_title, is_entry, max(indent, 0), is_definition
        )
    return styles


_LIST_LEVELS = tuple("012345678")
_ENTRY = re.compile(r"toc \d|table of figures", re.IGNORECASE)
_DEFINITION = re.compile(r"definition(?! ?term)[\w ]*|list contents", re.IGNORECASE)
_NEAR = 60  # twentieths of a point between indents that are meant to be equal
_TAB = re.compile(r"\t(?=[^\t]*\Z)")
_WRAPPERS = ("customXml", "ins", "moveTo", "sdt", "sdtContent", "smartTag")
_NOTES = ("footnote", "endnote")
_BLOCKS = ("p", "tbl", "altChunk")


def _is_bold(element: Element) -> bool:
    """Whether all words of a paragraph or a cell are bold."""
    runs = [each for each in element.iter() if local_name(each) == "r"]
    texts = [(run, "".join(each.text or "" for each in run if local_name(each) == "t")) for run in runs]
    shown = [run for run, text in texts if text.strip()]
    heads = [each for each in element.iter() if attribute(child(each, "pPr", "pStyle"), "val") == "TableHeading"]
    in_heads = {run for each in heads for run in each.iter()}
    return bool(shown) and all(run in in_heads or is_on(child(run, "rPr", "b")) for run in shown)


class _Reader:
    """Reads one Word document.

    Parameters
    ----------
    word : the document
    produced : counts the text and the cells
    has_comments : whether comments are read

    Attributes
    ----------
    title : the first paragraph of the style Title; empty if there is none
    """

    def __init__(self, word: WordDocument, produced: Produced, *, has_comments: bool = False) -> None:
        self._word = word
        self.produced = produced
        self.title = ""
        self.styles = _styles(word)
        self._parts = {
            relation.reltype.rpartition("/")[2]: relation.target_part
            for relation in word.part.rels.values()
            if not relation.is_external
        }
        lists = {key: style.number for key, style in self.styles.items() if style.number}
        self._numbers = ListNumbers(self._root("numbering"), lists)
        self._notes = {
            (kind, attribute(each, "id")): each
            for kind in _NOTES
            for each in children(self._root(f"{kind}s"))
            if attribute(each, "type", default="normal") == "normal"
        }
        comments = [each for each in children(self._root("comments")) if local_name(each) == "comment"]
        self._comments = {attribute(each, "id"): each for each in comments} if has_comments else {}
        self._left_out = 0 if has_comments else len(comments)
        self._marks: dict[tuple[str, str], str] = {}
        self._counts: Counter[str] = Counter()
        self._is_in_note = False
        self.hidden = self.placeholders = self._embedded = 0

    def text(self) -> tuple[str, tuple[str, ...]]:
        """The text of the document, and warnings about what was not read."""
        lines: list[str] = []
        was_item = False
        for text, is_item in chain(self._headers(), self.blocks(self._word.element.body), self._rest()):
            block = clean(text)
            if block.strip():
                lines.append("\n" if was_item and is_item else "\n\n")
                lines.append(self.produced.add(block))
                was_item = is_item
        return "".join(lines[1:]), tuple(self._warnings())

    def _warnings(self) -> Iterator[str]:
        for count, what in (
            (self._left_out, "comments"),
            (self.hidden, "words of hidden text"),
            (self.placeholders, "words of empty form fields"),
            (self._embedded, "embedded documents"),
        ):
            if count:
                yield f"{count:,} {what} were not read"

    def _root(self, kind: str) -> Element | None:
        """The root of the part of a kind; None if there is none."""
        part = self._parts.get(kind)
        return None if part is None else _root_of(part)

    def related(self, identifier: str) -> tuple[str, Element] | None:
        """The kind and the root of a part that the body refers to; None if it is missing or no XML."""
        relation = self._word.part.rels.get(identifier)
        if relation is None or relation.is_external or not str(relation.target_part.partname).endswith(".xml"):
            return None
        return relation.reltype.rpartition("/")[2], _root_of(relation.target_part)

    def _headers(self) -> Iterator[tuple[str, bool]]:
        """The different headers, then the different footers, of all sections and kinds of pages in use."""
        has_even = self._word.settings.odd_and_even_pages_header_footer
        sections = self._word.element.body.xpath(".//w:sectPr")
        for kind in ("headerReference", "footerReference"):
            seen: set[str] = set()  # relationships and texts
            for section in sections:
                kinds = {"default": True, "first": is_on(child(section, "titlePg")), "even": has_even}
                for each in section:
                    if local_name(each) != kind or not kinds.get(attribute(each, "type", default="default")):
                        continue
                    identifier = attribute(each, "id")
                    part = None if identifier in seen else self.related(identifier)
                    seen.add(identifier)
                    for text, _ in self.blocks(part[1]) if part else ():
                        bare = text.lstrip("# ")
                        if bare and bare not in seen:
                            seen.add(bare)
                            yield bare, False

    def blocks(self, container: Element) -> Iterator[tuple[str, bool]]:
        """The paragraphs and tables, each with whether it is an item of a list. What stands beside a list follows it."""
        waiting: list[tuple[str, bool]] = []
        level = 1  # of the last heading
        opened: dict[int, int] = {}  # indents of the texts of the items that are open, by level
        outside = 0  # indent of the last paragraph beside lists
        elements = [each for each in self._unwrapped(container) if local_name(each) in _BLOCKS]
        for element, following in zip(elements, [*elements, None][1:], strict=True):
            kind = local_name(element)
            beside: list[tuple[str, bool]] = []
            is_item = False
            if kind == "p":
                text, is_item = self._paragraph(element, beside)
                place, indent = self._place(element)
                under = [each for each, left in opened.items() if outside < left <= indent + _NEAR]
                if is_item:
                    opened = {each: left for each, left in opened.items() if each < place} | {place: indent}
                elif text and under:
                    text, is_item = f"\n{' ' * (4 * max(under) + 2)}{text}", True  # it goes on with the item
                elif text:
                    opened, outside = {}, indent
                if mark := _ATX.match(text):
                    level = mark.end(1)
                elif following is not None and _is_bold(element) and not _is_bold(following) and is_title_line(text):
                    text, is_item = title_line(text, level), False
            elif kind == "tbl":
                frame = self._frame_of(element)
                if frame:
                    yield from chain(waiting, *map(self._framed, frame))
                    waiting = []
                text = "" if frame else self._table(element, beside)
            else:
                self._embedded += kind == "altChunk"
                continue
            if not is_item:
                yield from waiting
                waiting = []
            yield text, is_item
            waiting += beside
            if not is_item:
                yield from waiting
                waiting = []
        yield from waiting

    def _unwrapped(self, container: Element) -> Iterator[Element]:
        """The children, with those of content controls, insertions and custom markup in their place."""
        for element in container:
            if self.is_placeholder(element):
                continue
            if local_name(element) in _WRAPPERS:
                yield from self._unwrapped(element)
            elif local_name(element) == "AlternateContent":
                yield from self._unwrapped(alternative(element))
            else:
                yield element

    def is_placeholder(self, element: Element) -> bool:
        """Whether an element is a content control that shows what to enter; counts its words."""
        if local_name(element) != "sdt" or not is_on(child(element, "sdtPr", "showingPlcHdr")):
            return False
        texts = (each.text or "" for each in element.iter() if local_name(each) == "t")
        self.placeholders += sum(len(text.split()) for text in texts)
        return True

    def _paragraph(self, element: Element, beside: list[tuple[str, bool]]) -> tuple[str, bool]:
        line = _Line(self)
        properties = child(element, "pPr")
        identifier = attribute(child(properties, "pStyle"), "val")
        style = self.styles.get(identifier, _NO_STYLE)
        line.read(element, is_hidden=style.is_hidden)
        text = line.text()
        for part in line.parts:
            beside += part
        is_deleted = child(properties, "rPr", "del") is not None
        number, level = self._list_of(properties, identifier)
        label = None
        if number and not (is_deleted and not text):
            label = self._numbers.label(number, level)
        if not text:
            return "", False
        if style.is_entry:  # with its tab as dots, as it is drawn, it is no statement
            text = _TAB.sub(" ...... ", text)
        if style.level:
            title = clean_title(f"{label} {text}" if label else text)
            self.title = self.title or (clean(title) if style.is_title else "")
            return f"{'#' * style.level} {title}", False
        if label is None:
            return (f"  {text}" if style.is_definition else text), False
        return list_item(text, label, level=max(level, style.depth)), True

    def _list_of(self, properties: Element | None, identifier: str) -> tuple[str, int]:
        """The list of a paragraph, empty if it is in none, and its level there."""
        style = self.styles.get(identifier, _NO_STYLE)
        in_list = child(properties, "numPr")
        number = attribute(child(in_list, "numId"), "val") or style.number
        place = attribute(child(in_list, "ilvl"), "val")
        if place in _LIST_LEVELS:
            return number, int(place)
        level = style.list_level
        return number, level if level is not None else self._numbers.level_of(number, identifier) if number else 0

    def _place(self, element: Element) -> tuple[int, int]:
        """The level of a paragraph in its list, and the left indent of its text, in twentieths of a point."""
        identifier = attribute(child(element, "pPr", "pStyle"), "val")
        style = self.styles.get(identifier, _NO_STYLE)
        number, level = self._list_of(child(element, "pPr"), identifier)
        indent = left_indent(element, default=self._numbers.indent_of(number, level))
        return max(level, style.depth), indent if indent >= 0 else style.indent

    def note(self, kind: str, reference: Element) -> tuple[str, list[tuple[str, bool]]]:
        """The mark of a note, and its paragraphs at the first reference to it."""
        key = (kind, attribute(reference, "id"))
        if key not in self._notes or self._is_in_note:
            return "", []
        if key in self._marks:
            return self._marks[key], []
        mark = ""
        if attribute(reference, "customMarkFollows", default="0") in ("0", "false", "off"):
            self._counts[kind] += 1
            mark = f"[{numeral(self._counts[kind], 'decimal' if kind == 'footnote' else 'lowerRoman')}]"
        self._marks[key] = mark
        self._is_in_note = True
        texts = [(text, False) for text, _ in self.blocks(self._notes[key]) if text]
        self._is_in_note = False
        if texts:
            texts[0] = (f"{mark} {texts[0][0]}".lstrip(), False)
        return mark, texts

    def comment(self, identifier: str) -> list[tuple[str, bool]]:
        """A comment with its author, once, as a paragraph; nothing if comments are not read."""
        element = self._comments.pop(identifier, None)
        if element is None:
            return []
        texts = " ".join(text.lstrip("# ") for text, _ in self.blocks(element) if text)
        author = clean_title(attribute(element, "author"))
        return [(f"Comment{f' by {author}' if author else ''}: {texts}", False)] if texts else []

    def _rest(self) -> Iterator[tuple[str, bool]]:
        """The comments that no paragraph refers to."""
        for identifier in list(self._comments):
            yield from self.comment(identifier)

    def _frame_of(self, table: Element) -> list[Element]:
        """The cells of a table that only places what is in it: one row, several paragraphs in a cell, no name before them."""
        rows = [row for row in self._unwrapped(table) if local_name(row) == "tr"]
        cells = [cell for cell in self._unwrapped(rows[0]) if local_name(cell) == "tc"] if len(rows) == 1 else []
        texts = [
            ["".join(part.text or "" for part in block.iter() if local_name(part) == "t") for block in cell]
            for cell in cells
        ]
        shown = [[text for text in each if any(map(str.isalnum, text))] for each in texts]
        return cells if any(len(each) > 1 for each in shown) and (len(cells) == 1 or len(shown[0]) != 1) else []

    def _framed(self, cell: Element) -> Iterator[tuple[str, bool]]:
        """The blocks of a cell. A heading is a label: what stands below the table is not its part."""
        for text, is_item in self.blocks(cell):
            yield (f"{text.lstrip('# ').rstrip(':')}:" if _ATX.match(text) else text), is_item

    def _table(self, element: Element, beside: list[tuple[str, bool]]) -> str:
        """A table as Markdown. A cell that continues the one above it has no text of its own."""
        rows: list[list[Cell]] = []
        above: dict[int, tuple[int, int]] = {}  # the row and the place in it of the cell at each column
        for row in self._unwrapped(element):
            properties = child(row, "trPr")
            if local_name(row) != "tr":
                continue
            number = len(rows)
            cells: list[Cell] = []
            is_head = is_on(child(properties, "tblHeader"))
            at = _number_of(child(properties, "gridBefore"), 0)
            for cell in self._unwrapped(row):
                if local_name(cell) != "tc":
                    continue
                width = max(1, min(_number_of(child(cell, "tcPr", "gridSpan"), 1), _WIDEST))
                merge = child(cell, "tcPr", "vMerge")
                if merge is not None and attribute(merge, "val", default="continue") == "continue" and at in above:
                    first, place = above[at]
                    rows[first][place] = rows[first][place]._replace(height=number - first + 1)
                else:
                    above[at] = (number, len(cells))
                    text = clean_title(_ITEMS.sub(", ", " ".join(self._cell_texts(cell, beside))).replace(_ITEM, ""))
                    cells.append(Cell(clean(text), width, is_head=is_head or _is_bold(cell), column=at))
                at += width
            rows.append(cells)
        return Grid(rows, produced=self.produced).markdown()

    def _cell_texts(self, container: Element, beside: list[tuple[str, bool]]) -> Iterator[str]:
        for element in self._unwrapped(container):
            kind = local_name(element)
            if kind == "p":
                text, is_item = self._paragraph(element, beside)
                if text:
                    yield f"{text.lstrip('# ').removeprefix('- ')}{_ITEM if is_item else ''}"
            elif kind in ("tbl", "tr", "tc"):
                yield from self._cell_texts(element, beside)


_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SKIPPED = ("del", "moveFrom", "delText", "delInstrText")
_PAGE_NUMBERS = ("PAGE", "NUMPAGES", "SECTIONPAGES")
_SHIFTED = ("superscript", "subscript")
_FEWEST_WITH_PAGE = 3  # words beside the number of a page: "Page 3 of 9" goes


class _Line:
    """The text of one paragraph, and the blocks that belong after it.

    Parameters
    ----------
    reader : reads notes and text boxes

    Attributes
    ----------
    parts : the blocks of each note and drawing
    """

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._texts: list[str] = []
        self._fields: list[tuple[str, bool]] = []  # instruction of the open fields, and whether the result has begun
        self._has_page_number = False
        self.parts: list[list[tuple[str, bool]]] = []

    def text(self) -> str:
        """The text; empty if it is only the number of the page."""
        text = "".join(self._texts).strip()
        return "" if self._has_page_number and len(text.split()) < _FEWEST_WITH_PAGE else text

    def read(self, parent: Iterable[Element], *, is_hidden: bool = False, shift: str = "") -> None:
        """Read the children of an element.

        Parameters
        ----------
        parent : a paragraph, a run, or what stands in them
        is_hidden : whether its text is hidden, default False
        shift : ``superscript`` or ``subscript``, default neither
        """
        for element in parent:
            kind = local_name(element)
            if not kind or kind in _SKIPPED or kind.endswith("Pr") or self._reader.is_placeholder(element):
                continue
            if kind == "r":
                self._read_run(element, is_hidden=is_hidden)
            elif kind == "t":
                self._add(element.text or "", is_hidden=is_hidden, shift=shift)
            elif kind in _CHARACTERS:
                self._add(_CHARACTERS[kind], is_hidden=is_hidden)
            elif kind == "AlternateContent":
                self.read(alternative(element), is_hidden=is_hidden, shift=shift)
            elif kind in _OTHERS:
                self._add(_OTHERS[kind](self, element), is_hidden=is_hidden)
            else:
                self.read(element, is_hidden=is_hidden, shift=shift)

    def _read_run(self, run: Element, *, is_hidden: bool) -> None:
        properties = child(run, "rPr")
        style = self._reader.styles.get(attribute(child(properties, "rStyle"), "val"), _NO_STYLE)
        vanish = child(properties, "vanish")
        is_hidden = is_on(vanish) if vanish is not None else is_hidden or style.is_hidden
        shift = attribute(child(properties, "vertAlign"), "val")
        begin = len(self._texts)
        self.read(run, is_hidden=is_hidden, shift=shift if shift in _SHIFTED else "")
        if is_on(child(properties, "strike")) or is_on(child(properties, "dstrike")):
            self._texts[begin:] = [struck("".join(self._texts[begin:]))]

    def _add(self, text: str, *, is_hidden: bool, shift: str = "") -> None:
        if is_hidden:
            self._reader.hidden += len(text.split())
        elif not any(has_result and _is_page_number(instruction) for instruction, has_result in self._fields):
            self._texts.append(shifted(text, is_raised=shift == "superscript") if shift else text)

    def _field(self, element: Element) -> str:
        """Follow the fields. A form field without a result, such as a box to tick, has its value in its definition."""
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            self._fields.append(("", False))
        elif kind == "separate" and self._fields:
            self._fields[-1] = (self._fields[-1][0], True)
            self._has_page_number = self._has_page_number or _is_page_number(self._fields[-1][0])
        elif kind == "end" and self._fields:
            self._fields.pop()
        return _form_value(child(element, "ffData"))

    def _instruction(self, element: Element) -> str:
        if self._fields:
            instruction, has_result = self._fields[-1]
            self._fields[-1] = (instruction + (element.text or ""), has_result)
        return ""

    def _simple_field(self, element: Element) -> str:
        if _is_page_number(attribute(element, "instr")):
            self._has_page_number = True
        else:
            self.read(element)
        return ""

    def _note(self, element: Element) -> str:
        mark, texts = self._reader.note(local_name(element).removesuffix("Reference"), element)
        self.parts.append(texts)
        return mark

    def _comment(self, element: Element) -> str:
        self.parts.append(self._reader.comment(attribute(element, "id")))
        return ""

    def _ruby(self, element: Element) -> str:
        base, above = _Line(self._reader), _Line(self._reader)
        base.read(children(child(element, "rubyBase")))
        above.read(children(child(element, "rt")))
        return f"{base.text()}({above.text()})"

    def _drawing(self, element: Element) -> str:
        for each in element:
            kind = local_name(each)
            if kind == "txbxContent":
                self.parts.append(list(self._reader.blocks(each)))
            elif kind == "AlternateContent":
                self._drawing(alternative(each))
            elif kind == "textpath":
                self.parts.append([(attribute(each, "string"), False)])
            elif kind in ("chart", "relIds"):
                part = self._reader.related(attribute(each, "id") or attribute(each, "dm"))
                if part is not None:
                    is_chart = part[0] == "chart"
                    text = chart_text(part[1], self._reader.produced) if is_chart else diagram_text(part[1])
                    self.parts.append([(text, False)])
            else:
                self._drawing(each)
        return ""


_OTHERS: dict[str, Callable[[_Line, Element], str]] = {
    "fldChar": _Line._field,
    "instrText": _Line._instruction,
    "fldSimple": _Line._simple_field,
    "footnoteReference": _Line._note,
    "endnoteReference": _Line._note,
    "commentReference": _Line._comment,
    "ruby": _Line._ruby,
    **dict.fromkeys(("drawing", "object", "pict"), _Line._drawing),
    **dict.fromkeys(("oMath", "oMathPara"), lambda _, element: equation(element)),
    "sym": lambda _, element: symbol(attribute(element, "font"), attribute(element, "char")),
}


def _is_page_number(instruction: str) -> bool:
    return instruction.split(maxsplit=1)[:1] != [] and instruction.split(maxsplit=1)[0].upper() in _PAGE_NUMBERS


def _form_value(field: Element | None) -> str:
    """The state of a box to tick, or the chosen entry of a list."""
    box, choice = child(field, "checkBox"), child(field, "ddList")
    if box is not None:
        state = child(box, "checked")
        return "☒" if is_on(child(box, "default") if state is None else state) else "☐"
    if choice is None:
        return ""
    entries = [attribute(each, "val") for each in choice if local_name(each) == "listEntry"]
    chosen = child(choice, "result")
    at = _number_of(child(choice, "default") if chosen is None else chosen, 0)
    return entries[at] if at < len(entries) else ""


def _root_of(part: Part) -> Element:
    from docx.oxml import parse_xml

    element = getattr(part, "element", None)
    return parse_xml(part.blob) if element is None else element


def _number_of(element: Element | None, default: int) -> int:
    value = attribute(element, "val")
    return int(value) if value.isdecimal() and len(value) < 6 else default


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
    return given_title(clean_title(clean(str(properties.title or "")))), given_properties(metadata)


FORMAT = FileFormat("docx", suffixes=(".docx",), read=read_docx, mend="open it in Word and save it again")
