"""Reader of RTF: paragraphs, headings, lists, tables and notes.

It has its own parser, because the library striprtf drops footnotes and the structure of tables, and takes cubic time for fields
that are never closed.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from hlgraph.errors import ReadError
from hlgraph.read.bounds import MOST_ELEMENTS, Produced, refused
from hlgraph.read.content import Origin, clean, clean_title, given_properties, given_title
from hlgraph.read.formats._blocks import (
    Unread,
    document_of,
    heading,
    is_title_line,
    joined_items,
    only_title,
    title_line,
)
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.notation import list_item
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import WIDEST, Cell, Grid
from hlgraph.records import Document, MetadataValue
from hlgraph.text import ITEM


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\"
)
_SIGNS = {
    "line": "\n", "tab": "\t", "emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "qmspace": " ", "bullet": "•",
    "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "~": " ", "-": "", "_": "-", "{": "{", "}": "}", "\\": "\\",
}  # fmt: skip
_CHARSETS = {
    0: "cp1252", 2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
_DROPPED = _names(
    "colortbl listtable listoverridetable rsidtbl generator themedata colorschememapping datastore "
    "latentstyles xmlnstbl filetbl "
    "revtbl fldinst bkmkstart bkmkend pgdsctbl pntxta pntxtb operator wgrffmtfilter docvar template datafield "
    "formfield pnseclvl mmathPr userprops protusertbl nonesttables panose falt sn sv nonshppict"
)
_COUNTED = {"pict": "image", "object": "embedded object", "annotation": "comment", "atnid": "", "atnauthor": ""}
_HEADERS = _names("header headerl headerr headerf footer footerl footerr footerf")
_INFO = {
    "title": "title",
    "author": "author",
    "subject": "subject",
    "keywords": "keywords",
    "company": "company",
    "doccomm": "description",
}
_DEEPEST = 1_000
_NEAR = 30  # in twips: edges of cells are rounded down to multiples of this, so that those that nearly align are equal
_NUMBER = re.compile(r"\(?\w{1,5}[.)]")
_STYLE = re.compile(r"heading (\d)|(title)", re.IGNORECASE)
_OF_TITLE = -1  # level of the style of the title of the file


_CREATED = re.compile(rb"\\creatim\s*\\yr(\d{4})\s*\\mo(\d\d?)\s*\\dy(\d\d?)(?:\s*\\hr(\d\d?))?(?:\s*\\min(\d\d?))?")
_LONGEST_HEAD = 1 << 20  # bytes in which the properties stand


@dataclass(frozen=True, slots=True)
class _Group:
    """The formatting state of a group in braces; the state of the enclosing group returns at its end.

    Attributes
    ----------
    target : where text goes: ``body``, ``note``, the name of a property or another destination; empty: nowhere
    """

    target: str = "body"
    font: int = 0
    style: int = 0
    skip: int = 1
    is_hidden: bool = False
    is_table: bool = False
    level: int = 0
    depth: int = 0  # of an item of a list
    is_item: bool = False
    is_bold: bool = False
    indent: int = 0  # in twips


@dataclass(slots=True)
class _State:
    """What the parser has collected so far.

    Attributes
    ----------
    bold : the blocks that are lines in bold, each with the level of the heading above it
    is_bold : whether the paragraph has no other words
    indents : of the last item whose mark is typed, and of those it stands under
    """

    unread: Unread = field(default_factory=Unread)
    blocks: list[str] = field(default_factory=list)
    bold: dict[int, int] = field(default_factory=dict)
    is_bold: bool = True
    level: int = 1
    texts: dict[str, list[str]] = field(default_factory=dict)
    rows: list[tuple[list[str], list[tuple[int, bool]]]] = field(default_factory=list)
    edges: list[tuple[int, bool]] = field(default_factory=list)
    is_merged: bool = False
    cells: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)
    levels: dict[int, int] = field(default_factory=dict)
    indents: list[int] = field(default_factory=list)
    charsets: dict[int, str] = field(default_factory=dict)
    encoding: str = "cp1252"
    raw: bytearray = field(default_factory=bytearray)


def read_rtf(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """Read a file as a document: headings by style or outline level, list items, tables, and footnotes where they are cited.

    Parameters
    ----------
    origin : the file; its stem is the title if neither its properties nor the only heading of level 1 name one
    data : its bytes
    options : options with the size limit

    Raises
    ------
    ReadError
        The file is not RTF, nests groups too deeply, exceeds a limit of :mod:`hlgraph.read.bounds`, or contains no text.

    References
    ----------
    Microsoft, Rich Text Format Specification 1.9.1.
    """
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ReadError(
            origin.uri, "is not RTF" if data.strip() else "is empty", "add --format text to read it as text"
        )
    if data.count(b"{") > MOST_ELEMENTS:
        raise refused(origin, "groups", limit=MOST_ELEMENTS)
    produced = Produced(origin, len(data), options.max_bytes)
    reader = _Reader(produced)
    reader.run(data)
    metadata: dict[str, MetadataValue] = {ours: reader.value(name) for name, ours in _INFO.items() if name != "title"}
    if match := _CREATED.search(data[:_LONGEST_HEAD]):
        year, month, day, hour, minute = (int(part or 0) for part in match.groups())
        metadata["created"] = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00"
    blocks, unread = reader.state.blocks, reader.state.unread
    for at, level in reader.state.bold.items():
        if at + 1 < len(blocks) and at + 1 not in reader.state.bold:
            blocks[at] = title_line(blocks[at], level)
    return document_of(
        produced,
        joined_items(blocks),
        title=given_title(reader.value("title")) or reader.value("named") or only_title("\n".join(blocks)),
        metadata=given_properties(metadata),
        warnings=unread.warnings(),
    )


class _Reader:
    """Reads the tokens of a file in one pass."""

    def __init__(self, produced: Produced) -> None:
        self.state = _State()
        self._produced = produced
        self._group = _Group()
        self._stack: list[_Group] = []
        self._skip = 0  # fallback characters to skip after a Unicode character
        self._is_optional = False  # after \*

    def value(self, name: str) -> str:
        """The text of a property."""
        return clean_title(clean("".join(self.state.texts.get(name, []))))

    def run(self, data: bytes) -> None:
        """Read the whole file."""
        at = 0
        while at < len(data):
            token = _TOKEN.match(data, at)
            if token is None:
                at += 1
                continue
            at = token.end()
            word, number, code, sign, brace, text = token.groups()
            if code is None and text is None and (word or sign or brace):
                self._flush()
            if brace:
                self._brace(brace)
            elif word:
                value = int(number) if number else None
                if word == b"bin":
                    at += max(0, value or 0)
                else:
                    self._word(word.decode(), value)
            elif code is not None:
                self._bytes(bytes.fromhex(code.decode()))
            elif sign is not None:
                self._sign(sign.decode("latin-1"))
            elif text is not None:
                self._bytes(text)
        self._flush()
        self._paragraph()
        self._end_table()

    def _brace(self, brace: bytes) -> None:
        self._is_optional = False
        self._skip = 0
        if brace == b"{":
            if len(self._stack) > _DEEPEST:
                raise refused(self._produced.origin, "nested groups", limit=_DEEPEST)
            self._stack.append(self._group)
            return
        ended = self._group
        self._group = self._stack.pop() if self._stack else _Group(target="")
        if ended.target != self._group.target and ended.target == "note":
            text = " ".join("".join(self.state.texts.pop("note", [])).split())
            self._add(f" [{text}]" if text else "")
        elif ended.target != self._group.target and ended.target == "style":
            self._style(ended)

    def _style(self, ended: _Group) -> None:
        """Store the heading level of a style that is a heading or a title."""
        named = _STYLE.match("".join(self.state.texts.pop("style", [])).strip().rstrip(";"))
        if named:
            self.state.levels[ended.style] = (
                int(named[1] or 1) if named[1] or named.end() < len(named.string) else _OF_TITLE
            )

    def _sign(self, sign: str) -> None:
        if sign == "*":
            self._is_optional = True
        elif sign in "\r\n":
            self._paragraph()
        else:
            self._add(_SIGNS.get(sign, ""))

    def _bytes(self, data: bytes) -> None:
        if self._skip:
            cut = min(self._skip, len(data))
            self._skip -= cut
            data = data[cut:]
        self.state.raw += data

    def _flush(self) -> None:
        """Decode the bytes since the last command, all at once, because a character may consist of two."""
        if self.state.raw:
            encoding = self.state.charsets.get(self._group.font) or self.state.encoding
            text = bytes(self.state.raw).decode(encoding, "replace")
            self.state.raw.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        target = self._group.target
        if self._group.is_hidden or not target or not text:
            return
        if target == "body":
            self.state.cell.append(text)
            self.state.is_bold &= self._group.is_bold or not text.strip()
        else:
            self.state.texts.setdefault(target, []).append(text)

    def _word(self, word: str, value: int | None) -> None:
        is_optional, self._is_optional = self._is_optional, False
        if word in _SIGNS:
            self._add(_SIGNS[word])
        elif word == "u":
            number = (value or 0) % 0x10000
            self._add(chr(number))
            self._skip = self._group.skip
        elif word in ("par", "sect", "page", "column"):
            self._paragraph()
        elif word in ("cell", "nestcell", "row", "nestrow"):
            self._table(word)
        elif self._edge(word, value or 0) or self._change(word, value) or self._destination(word):
            return
        elif is_optional:
            self._group = replace(self._group, target="")

    def _destination(self, word: str) -> bool:
        """Set where the text of the group goes; False if the word names no destination."""
        target = self._group.target
        if word in _DROPPED or word in _COUNTED or word in _HEADERS:
            if target == "":
                pass  # inside a group that is left out
            elif word in _HEADERS:
                self.state.unread["header or footer"] += 1
            elif _COUNTED.get(word):
                self.state.unread[_COUNTED[word]] += 1
            target = ""
        elif word in ("footnote", "endnote"):
            target = "note" if target == "body" else target
        elif word == "info":
            target = "info"
        elif word in _INFO and target in ("info", *_INFO):
            target = word
        elif word in ("listtext", "pntext"):
            target = "marker" if target == "body" else ""
        elif word in ("fonttbl", "stylesheet"):
            target = "font" if word == "fonttbl" else "styles"
        elif word in ("fldrslt", "shptxt", "field", "shp", "shpinst", "listname", "ud", "upr"):
            target = "" if word == "listname" else target
        else:
            return False
        self._group = replace(self._group, target=target)
        return True

    def _change(self, word: str, value: int | None) -> bool:
        """Apply a command that changes the formatting state; False if the word is another command."""
        group = self._group
        number = value or 0
        if word == "pard":
            group = replace(group, level=0, depth=0, is_item=False, is_table=False, indent=0)
        elif word == "s":
            is_named = group.target in ("styles", "style")
            group = (
                replace(group, target="style", style=number)
                if is_named
                else replace(group, level=self.state.levels.get(number, 0))
            )
        elif word == "outlinelevel":
            group = replace(group, level=number + 1 if number < 9 else 0)
        elif word in ("ilvl", "li"):
            number = max(0, number)
            group = replace(group, depth=number) if word == "ilvl" else replace(group, indent=number)
        elif word in ("ls", "pn"):
            group = replace(group, is_item=True)
        elif word == "intbl":
            group = replace(group, is_table=True)
        elif word == "f":
            group = replace(group, font=number)
        elif word == "uc":
            group = replace(group, skip=max(0, min(number, 8)))
        elif word in ("b", "deleted", "plain", "v"):
            is_on = value != 0 and word != "plain"
            is_hidden = group.is_hidden if word == "b" else is_on
            group = replace(group, is_hidden=is_hidden, is_bold=is_on and (word == "b" or group.is_bold))
        elif word == "fcharset" and group.target == "font":
            self.state.charsets[group.font] = _CHARSETS.get(number, "")
        elif word in ("ansicpg", "mac"):
            self.state.encoding = _codec(f"cp{number}" if word == "ansicpg" else "mac_roman")
        else:
            return False
        self._group = group
        return True

    def _paragraph(self) -> None:
        """End a paragraph; inside a table, only start a new line in the cell."""
        if self._group.target != "body":
            self._add("\n")
            return
        if self._group.is_table or self.state.cells:
            self.state.cell.append("\n")
            return
        self._end_table()
        lines = (" ".join(line.split()) for line in clean("".join(self.state.cell)).split("\n"))
        text = "\n".join(filter(None, lines))
        self.state.cell.clear()
        marker, depth = "".join(self.state.texts.pop("marker", [])).strip(), self._group.depth
        typed = None if marker or not self._group.indent else ITEM.match(text)
        above = [each for each in self.state.indents if each < self._group.indent]
        self.state.indents = [*above, self._group.indent] if typed else self.state.indents if not text else []
        if typed:
            marker, text, depth = typed[0].strip(), text[typed.end() :], len(above)
        if self._group.level:
            if text and self._group.level == _OF_TITLE:
                self.state.texts.setdefault("named", [text])
            text = heading(f"{marker} {text}", self._group.level)
        elif text and (self._group.is_item or marker):
            text = list_item(text, marker if _NUMBER.fullmatch(marker) else "", level=depth)
        if text and self._group.level:
            self.state.level = abs(self._group.level)
        elif text and self.state.is_bold and is_title_line(text):
            self.state.bold[len(self.state.blocks)] = self.state.level
        if text:
            self.state.blocks.append(text)
            self.state.is_bold = True

    def _edge(self, word: str, number: int) -> bool:
        """Store the right edge of a cell and whether the cell is merged; False if the word is another command."""
        if word == "trowd":
            self.state.edges = []
        elif word in ("clvmrg", "clmrg"):
            self.state.is_merged = True
        elif word == "cellx":
            self.state.edges.append((number // _NEAR, self.state.is_merged))
            self.state.is_merged = False
        else:
            return False
        return True

    def _table(self, word: str) -> None:
        if self._group.target != "body":
            return
        if word in ("cell", "nestcell"):
            self.state.cells.append(clean_title(clean("".join(self.state.cell))))
            self.state.cell.clear()
        elif self.state.cells:
            self._produced.add_cells(len(self.state.cells))
            edges = self.state.edges[: len(self.state.cells)]
            self.state.rows.append((self.state.cells, edges if len(edges) == len(self.state.cells) else []))
            self.state.cells = []

    def _end_table(self) -> None:
        if self.state.cells:
            self._table("row")
        if self.state.rows:
            self.state.blocks.append(Grid(_spanned(self.state.rows), produced=self._produced).markdown())
            self.state.rows = []


def _spanned(rows: list[tuple[list[str], list[tuple[int, bool]]]]) -> list[list[Cell]]:
    """The cells of the rows with their spans: each cell covers the columns up to its right edge."""
    places = {edge: at for at, edge in enumerate(sorted({edge for _, edges in rows for edge, _ in edges}))}
    table: list[list[Cell]] = []
    above: dict[
        int, tuple[int, int]
    ] = {}  # by column, the last cell that begins there: its row and its place in the row
    for number, (texts, edges) in enumerate(rows):
        cells: list[Cell] = []
        at = 0
        for text, (edge, is_merged) in zip(texts, edges or [(-1, False)] * len(texts), strict=True):
            end = places.get(edge, at) + 1
            if is_merged and not text and at in above:
                first, place = above[at]
                table[first][place] = table[first][place]._replace(height=number - first + 1)
            elif is_merged and not text and cells:
                cells[-1] = cells[-1]._replace(width=end - (cells[-1].column or 0))
            else:
                above[at] = (number, len(cells))
                cells.append(Cell(text, max(1, min(end - at, WIDEST)), column=at))
            at = max(end, at + 1)
        table.append(cells)
    return table


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


FORMAT = FileFormat("rtf", suffixes=(".rtf",), read=read_rtf, mend="open it in LibreOffice and save it as DOCX")
