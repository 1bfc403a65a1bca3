"""Readers of AsciiDoc and Org: line by line to Markdown. There is no library under a permissive licence that reads all of them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean_title, decode
from hlgraph.read.formats._blocks import Unread, code, document_of, heading, item, joined_items
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import WIDEST, Cell, Grid
from hlgraph.records import Document, MetadataValue

_ABOUT = (
    "author",
    "authors",
    "date",
    "description",
    "email",
    "keywords",
    "language",
    "revdate",
    "revnumber",
    "subtitle",
    "title",
    "filetags",
)


class _Lines:
    """The lines of a file, with what its blocks need to know.

    Attributes
    ----------
    about : the attributes that are metadata
    known : all attributes
    unread : what was left out
    """

    def __init__(self, text: str, produced: Produced) -> None:
        self.about: dict[str, str] = {}
        self.known: dict[str, str] = {}
        self.unread = Unread()
        self.produced = produced
        self._lines = text.split("\n")
        self._at = 0
        self._last: int | None = None  # of the lines that has_more looks for

    def next(self) -> str | None:
        """The next line; None at the end."""
        if self._at >= len(self._lines):
            return None
        self._at += 1
        return self._lines[self._at - 1]

    def has_more(self, pattern: re.Pattern[str]) -> bool:
        """Whether a line that is still to come matches; the same pattern in every call."""
        if self._last is None:
            self._last = max((at for at, line in enumerate(self._lines) if pattern.fullmatch(line)), default=-1)
        return self._last >= self._at

    def back(self) -> None:
        """Give the last line again."""
        self._at -= 1

    def until(self, end: re.Pattern[str]) -> list[str]:
        """The lines up to one that matches, which is taken too, or the end of the file."""
        lines: list[str] = []
        while (line := self.next()) is not None and not end.fullmatch(line.rstrip()):
            lines.append(line)
        return lines


def _document(origin: Origin, data: bytes, options: ReadOptions, *, reader: type[_AsciiDoc | _Org]) -> Document:
    text, warnings = decode(origin, data, encoding=options.encoding)
    produced = Produced(origin, len(data), options.max_bytes)
    lines = _Lines(text, produced)
    blocks = joined_items(reader(lines).blocks())
    title = clean_title(lines.about.pop("title", ""))
    metadata: dict[str, MetadataValue] = {**lines.about}
    authors = tuple(filter(None, map(str.strip, lines.about.get("author", "").split("; "))))
    metadata |= {"author": authors} if len(authors) > 1 else {}
    return document_of(produced, blocks, title=title, metadata=metadata, warnings=(*warnings, *lines.unread.warnings()))


# AsciiDoc

_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?")
_NAMED = re.compile(r"(?<!\\)\{([\w-]{1,100})\}")
_LONGEST_VALUE = 1_000  # characters of an attribute that is replaced
_REVISION = re.compile(r"v([\w.-]+),\s*([^:]*[^:\s])(?::.*)?")
_TITLE = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
_UNDERLINES = "=-~^+"  # of titles, by level
_NEARLY = 2  # characters by which an underline may be longer or shorter
_ANCHOR = re.compile(r"\[\[[^\[\]\n]{1,100}\]\]")
_BULLET = re.compile(r"\s*(\*{1,6}|-|\.{1,6}|<?\d*\.?>?)\s+(\S.*)")
_TERM = re.compile(r"(\S.*?)(?:::|;;)(?:\s+(.*))?")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|\*{4,}|={4,}|_{4,}|\+{4,}|/{4,}|--|```\w*)")
_TABLE_END = re.compile(r"[|,:!]={3,}")
_LIST_ATTRIBUTES = re.compile(r"\[[^\[\]]*\]|\[\[[^\[\]]*\]\]")
_MACRO = re.compile(r"(include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::([^\[\]]*)\[(.*)\]")
_SET = ("asciidoctor", "backend-html", "basebackend-html")  # attributes of a page
_INLINE_MACRO = re.compile(
    r"\b(?:link:|xref:|mailto:|https?://|footnote:|kbd:|btn:|menu:|pass:|image:|stem:|latexmath:)[^\s\[\]]{0,300}\[[^\[\]]*\]"
)
_REFERENCE = re.compile(r"<<([^<>,]*)(?:,([^<>]*))?>>")
_LITERAL = re.compile(r"`\+([^`\n]{1,500})\+`")
_FONT = re.compile(r"(?<![\w*_`#+])(\*\*|__|\*|_|#|\+)(?=\S)([^*_#+\n]{1,500}?)(?<=\S)\1(?!\w)")
_CELL = re.compile(r"(?:(?:(?<=\s)|^)(?:(\d{1,4})?(?:\.(\d{1,4}))?([+*]))?[<^>.]{0,4}[aehlmsdv]?)?(?<!\\)\|")


class _AsciiDoc:
    """The blocks of AsciiDoc."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self._style = ""
        self._numbers: dict[int, int] = {}  # of the last items of the list, by level
        self._is_attached = False  # to the item above
        self._depth = 0  # of the last item
        self._mark = ""  # of the terms of the list; empty outside of lists

    def blocks(self) -> Iterator[str]:
        """All blocks up to the end of the file or of the block that encloses them."""
        prose: list[str] = []
        while (line := self._lines.next()) is not None:
            bare = line.strip()
            if bare and not prose and (level := self._underline(bare)):
                yield from self._block(f"{'=' * level} {bare}")
                continue
            if bare and not self._begins(bare):
                self._numbers, self._mark = (self._numbers, self._mark) if self._is_attached else ({}, "")
                prose.append(f"{'  ' * (self._depth + 1) if self._is_attached and not prose else ''}{self._line(bare)}")
                continue
            yield " ".join(prose)
            self._is_attached = self._is_attached and not prose
            prose = []
            if bare:
                yield from self._block(bare)
        yield " ".join(prose)

    def _underline(self, bare: str) -> int:
        """The level of a title that the next line underlines over its length, and that line is taken; else 0."""
        line = self._lines.next() if bare[0].isalnum() else None
        if line is None:
            return 0
        rule = line.rstrip()
        is_near = len(rule) > 1 and abs(len(rule) - len(bare)) <= _NEARLY
        level = 1 + _UNDERLINES.find(rule[0]) if is_near and not rule.strip(rule[0]) else 0
        if not level:
            self._lines.back()
        return level

    def _begins(self, bare: str) -> bool:
        """Whether a line is no part of a paragraph."""
        if bare.startswith(("//", "|===", "!===", ",===", ":===", "[")) or bare in ("'''", "<<<", "+"):
            return not bare.startswith("[") or _LIST_ATTRIBUTES.fullmatch(bare) is not None
        kinds = (_TITLE, _DELIMITER, _BULLET, _MACRO, _ATTRIBUTE, _TERM)
        return any(kind.fullmatch(bare) for kind in kinds) or (bare[0] == "." and len(bare) > 1 and bare[1] not in ". ")

    def _block(self, bare: str) -> Iterator[str]:
        style, self._style = self._style, ""
        self._leave_list(bare)
        if title := _TITLE.fullmatch(bare):
            text = self._line(title[2])
            if len(title[1]) == 1 and "title" not in self._lines.about:
                self._lines.about["title"] = text
                self._byline()
            yield heading(text, len(title[1]))
        elif _TABLE_END.fullmatch(bare):
            yield from self._table(bare, style)
        elif delimiter := _DELIMITER.fullmatch(bare):
            yield from self._delimited(delimiter[1], style)
        elif attribute := _ATTRIBUTE.fullmatch(bare):
            self._attribute(attribute[1], attribute[2] or "")
        elif _LIST_ATTRIBUTES.fullmatch(bare):
            self._style = bare
            if bare.startswith("[quote") and "," in bare:
                yield bare[1:-1].partition(",")[2].strip()
        elif bare.startswith("//"):
            self._lines.unread["comment"] += 1
        elif macro := _MACRO.fullmatch(bare):
            yield from self._macro(*macro.groups())
        elif bullet := _BULLET.fullmatch(bare):
            yield self._item(bullet[1], bullet[2])
        elif term := _TERM.fullmatch(bare):
            yield from self._entry(term[1], term[2] or "")
        elif bare not in ("'''", "<<<", "+"):  # a title of a block
            self._style = f"{style}{self._line(bare[1:])}" * self._is_above_box(style)
            yield "" if self._style else self._line(bare[1:])

    def _is_above_box(self, style: str) -> bool:
        """Whether a style is that of a box, and the next line begins this."""
        below = self._lines.next() if _label(style) else None
        if below is not None:
            self._lines.back()
        return below is not None and _DELIMITER.fullmatch(below.strip()) is not None

    def _leave_list(self, bare: str) -> None:
        """Number anew after a block that is no part of the list and not attached to its last item."""
        is_in_list = _BULLET.fullmatch(bare) or _LIST_ATTRIBUTES.fullmatch(bare) or bare.startswith("//") or bare == "+"
        if not is_in_list and not self._is_attached:
            self._numbers = {}
        self._is_attached = bare == "+"
        # Terms below a list with bullets are another list; bullets below a term are part of its list.
        if _BULLET.fullmatch(bare) and bare[0] in "*-":
            self._mark = self._mark or "*"
        elif _TERM.fullmatch(bare):
            self._mark = self._mark or "-"
        elif not is_in_list:
            self._mark = ""

    def _byline(self) -> None:
        """Take the lines of authors and of the revision below the title of the document."""
        for name in ("author", "revdate"):
            line = self._lines.next()
            if line is None:
                return
            if not line.strip() or self._begins(line.strip()):
                self._lines.back()
                return
            revision = _REVISION.fullmatch(line.strip()) if name == "revdate" else None
            self._lines.about[name] = revision[2] if revision else line.strip()
            if revision:
                self._lines.about["revnumber"] = revision[1]

    def _item(self, mark: str, text: str) -> str:
        depth = self._depth = len(mark) - 1 if mark[0] in "*." else 0
        text = self._line(self._whole(text))
        if mark[0] not in ".<" and not mark[0].isdigit():
            return item(text, depth=depth)
        digits = mark.strip("<>.")
        number = int(digits) if digits.isdecimal() and len(digits) < 6 else self._numbers.get(depth, 0) + 1
        self._numbers = {level: last for level, last in self._numbers.items() if level < depth} | {depth: number}
        return item(text, marker=f"{number}.", depth=depth)

    def _whole(self, text: str) -> str:
        """The text of an item with the lines that go on below it."""
        lines = [text]
        while (line := self._lines.next()) is not None:
            if not line.strip() or self._begins(line.strip()):
                self._lines.back()
                break
            lines.append(line.strip())
        return " ".join(lines)

    def _attribute(self, name: str, value: str) -> None:
        value = self._known(value)
        if name in _ABOUT and value:
            self._lines.about[name] = value
        elif value:
            self._lines.unread[f"attribute {name}"] += 1
        if value and len(value) <= _LONGEST_VALUE:
            self._lines.known[name] = value

    def _known(self, text: str) -> str:
        """A line with the values of the attributes that the document has set so far."""
        if "{" not in text:
            return text
        names = {name for name in _NAMED.findall(text) if name in self._lines.known}
        for name in names:
            self._lines.unread.pop(f"attribute {name}", None)
        return _NAMED.sub(lambda match: self._lines.known.get(match[1], match[0]), text)

    def _entry(self, term: str, definition: str) -> Iterator[str]:
        """A term with its definition, which may begin on the next line."""
        while not definition and (line := self._lines.next()) is not None:
            definition = line.strip()
            if definition and self._begins(definition):
                self._lines.back()
                definition = ""
                break
        definition = self._whole(definition) if definition else ""
        self._depth = 0
        yield item(f"{self._line(term)}: {self._line(definition)}".rstrip(), marker=self._mark)

    def _delimited(self, mark: str, style: str) -> Iterator[str]:
        inner = self._lines.until(re.compile(re.escape("```" if mark.startswith("```") else mark)))
        text = "\n".join(inner)
        if mark[0] == "/":
            self._lines.unread["comment"] += 1
        elif (mark[0] in "-.`+" and mark != "--") or style.startswith(("[source", "[listing", "[stem")):
            names = style.strip("[]").split(",")
            yield code(
                text,
                names[1].strip()
                if style.startswith("[source") and len(names) > 1
                else mark[3:]
                if mark[0] == "`"
                else "",
            )
        else:
            nested = _AsciiDoc(_Lines(text, self._lines.produced))
            nested._lines.unread, nested._lines.about = self._lines.unread, self._lines.about
            nested._lines.known = self._lines.known
            first, *rest = [*filter(None, nested.blocks()), ""]
            yield f"{_label(style)}{first}"
            yield from rest

    def _macro(self, name: str, target: str, text: str) -> Iterator[str]:
        if name in ("ifdef", "ifndef"):
            is_set = [each in self._lines.known or each.startswith(_SET) for each in re.split(r"[,+]", target)]
            if (all(is_set) if "+" in target else any(is_set)) == (name == "ifdef"):
                yield self._line(text)
                return
            self._lines.unread[f"{name} {target}"] += 1
            depth = 0 if text else 1
            while depth and (line := self._lines.next()) is not None:
                inner = _MACRO.fullmatch(line.strip())
                kind = inner[1] if inner and (inner[1] == "endif" or not inner[3] or inner[1] == "ifeval") else ""
                depth += kind.startswith("if") - (kind == "endif")
        elif name == "include":
            self._lines.unread[f"file {target}"] += 1
        elif name in ("image", "video", "audio"):
            self._lines.unread[f"{name} {target}"] += 1
            yield text.partition(",")[0].strip('"')

    def _table(self, end: str, style: str) -> Iterator[str]:
        """A table with a cell after each bar. A blank line after the first line, or ``header``, marks the header."""
        inner = self._lines.until(re.compile(re.escape(end)))
        first = next((at for at, line in enumerate(inner) if line.strip()), 0)
        has_head = "header" in style or (
            len(inner) > first + 1 and not inner[first + 1].strip() and "noheader" not in style
        )
        if end[0] in ",:" or "format=" in style:
            name = re.search(r"format=\"?(\w+)", style)
            sign = {":": ":", "dsv": ":", "tsv": "\t"}.get(name[1] if name else end[0], ",")
            cells = csv.reader(filter(str.strip, inner), delimiter=sign, skipinitialspace=True)
            rows = [
                [Cell(self._line(part.strip()), is_head=has_head and not at) for part in row]
                for at, row in enumerate(cells)
            ]
            yield Grid(rows, produced=self._lines.produced).markdown()
            return
        parts: list[tuple[re.Match[str], list[str]]] = []
        columns = _columns(style)
        for line in inner:
            marks = list(_CELL.finditer(line))
            if parts:
                parts[-1][1].append(line[: marks[0].start()] if marks else line)
            ends = [mark.start() for mark in marks[1:]] + [len(line)]
            parts += [(mark, [line[mark.end() : stop]]) for mark, stop in zip(marks, ends, strict=False)]
            columns = columns or sum(cell.width for mark, texts in parts for cell in self._cells(mark, texts))
        rows = _placed((cell for mark, texts in parts for cell in self._cells(mark, texts)), columns)
        yield Grid(
            [[cell._replace(is_head=has_head and not at) for cell in row] for at, row in enumerate(rows)],
            produced=self._lines.produced,
        ).markdown()

    def _cells(self, mark: re.Match[str], texts: list[str]) -> list[Cell]:
        text = " ".join(self._line(part.strip()) for part in texts if part.strip()).replace("\\|", "|")
        wide, tall = (min(int(count), WIDEST) if count else 1 for count in (mark[1], mark[2]))
        if mark[3] == "*":
            return [Cell(text)] * wide
        return [Cell(text, wide if mark[3] else 1, tall if mark[3] else 1)]

    def _line(self, text: str) -> str:
        """A line without fonts and macros."""
        text = _INLINE_MACRO.sub(_called, self._known(text.removesuffix(" +")))
        text = _ANCHOR.sub("", text) if "[[" in text else text
        text = _REFERENCE.sub(lambda match: (match[2] or match[1]).strip(), _LITERAL.sub(r"`\1`", text))
        return _FONT.sub(lambda match: match[2], _FONT.sub(lambda match: match[2], text))


def _label(style: str) -> str:
    """The kind of a box with its title: "Warning: " of "[WARNING]", "Warning: Shock: " of "[WARNING]Shock"."""
    kind, _, title = style.strip("[").partition("]")
    kind = kind.partition("#")[0].partition(",")[0]
    return f"{kind.capitalize()}: {title and f'{title}: '}" if kind in _BOXES else ""


_BOXES = frozenset(("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"))


def _called(match: re.Match[str]) -> str:
    target, _, text = match[0][:-1].partition("[")
    kind, _, name = target.partition(":")
    if kind == "footnote":
        return f" [{text}]"
    shown = (
        text.partition(",")[0].removesuffix("^").strip('"')
        if kind in ("link", "xref", "mailto", "http", "https")
        else text
    )
    return shown or (target if kind.startswith("http") else name)


def _columns(style: str) -> int:
    """The number of columns that ``cols=`` states; 0 without it."""
    stated = re.search(r"cols\s*=\s*(?:\"([^\"]*)\"|([^,\]]*))", style)
    if not stated:
        return 0
    parts = re.split(r"[,;]", stated[1] or stated[2] or "")
    return sum(int(many[1]) if (many := re.match(r"\s*(\d{1,4})\*", part)) else 1 for part in parts)


def _placed(cells: Iterator[Cell], columns: int) -> list[list[Cell]]:
    """The cells in rows of a number of columns; a cell over several rows takes its columns in each of them."""
    rows: list[list[Cell]] = []
    taken: dict[int, int] = {}  # columns that cells of rows above cover, by row
    width = columns
    for cell in cells:
        while width >= columns:
            rows.append([])
            width = taken.pop(len(rows), 0)
        rows[-1].append(cell)
        width += cell.width
        for below in range(1, min(cell.height, 100)):
            taken[len(rows) + below] = taken.get(len(rows) + below, 0) + cell.width
    return rows


# Org

_LONGEST_TITLE = 1_000
_HEADLINE = re.compile(r"(\*{1,20})\s+(\S.*)")
_STATES = ("TODO", "DONE", "NEXT", "WAITING", "CANCELLED")
_TODO = re.compile(rf"(?:(?:{'|'.join(_STATES)})\s+)?(?:\[#\w\]\s+)?(.*?)(?:\s+(:[\w@:]+:))?\s*")
_KEYWORD = re.compile(r"#\+(\w+)(?:\[[^\]]*\])?:\s*(.*)", re.IGNORECASE)
_BEGIN = re.compile(r"\s*#\+begin_(\w+)(?:\s+(.*))?", re.IGNORECASE)
_OF_PROGRAM = re.compile(r"(?:CUSTOM_)?ID:", re.IGNORECASE)  # of links
_DRAWER = re.compile(r"\s*:(\w+):\s*")
_END = re.compile(r"\s*:END:\s*", re.IGNORECASE)
_ORG_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]+)\])?\]")
_STAMP = re.compile(r"[<\[](\d{4}-\d\d-\d\d)(?: [^<>\[\]\d]*)?[>\]]")  # a date without a time
_ORG_NOTE = re.compile(r"\[fn:([^\[\]:]*)(?::([^\[\]]*))?\]")
_ORG_FONT = re.compile(r"(?<![\w*/_=~+])([*/_=~+])(?=\S)([^\n*/_=~+]{1,500}?)(?<=\S)\1(?!\w)")
_ORG_ITEM = re.compile(r"(\s*)([-+]|\d+[.)])\s+(?:\[@\d+\]\s*)?(\S.*)")
_PLANNING = re.compile(r"\s*(?:SCHEDULED|DEADLINE|CLOSED):.*")
_CLOCK = re.compile(r"CLOCK: ?\[.*")  # the time spent


class _Org:
    """The blocks of Org."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self._indent: int | None = None  # of the last item of an open list
        self._under = ""  # before a paragraph of that item

    def blocks(self) -> Iterator[str]:
        """All blocks."""
        prose: list[str] = []
        while (line := self._lines.next()) is not None:
            bare = line.strip()
            own = self._block(line, bare) if bare else iter(())
            if bare and own is None:
                is_inside = self._indent is not None and len(line) - len(line.lstrip()) > self._indent
                self._indent = self._indent if is_inside or prose else None
                prose.append(f"{self._under if is_inside and not prose else ''}{self._line(bare)}")
                continue
            yield " ".join(prose)
            prose = []
            yield from own or ()
        yield " ".join(prose)

    def _block(self, line: str, bare: str) -> Iterator[str] | None:
        """The blocks that a line begins; None for a line of a paragraph."""
        if headline := _HEADLINE.fullmatch(line):
            self._indent = None
            return self._headline(headline)
        if begin := _BEGIN.fullmatch(line):
            return self._enclosed(begin[1], begin[2] or "")
        if bare.startswith("|"):
            self._lines.back()
            return self._table()
        if (entry := _ORG_ITEM.fullmatch(line)) is not None:
            text = self._line(self._whole(entry[3], len(entry[1]))).replace(" :: ", ": ", 1)
            marker = "-" if entry[2] in "-+" else f"{entry[2][:-1]}."
            depth = min(len(entry[1]) // 2, 10)
            self._indent, self._under = len(entry[1]), "  " * (depth + 1)
            return iter([item(text, marker=marker, depth=depth)])
        return self._keyword(line, bare)

    def _whole(self, text: str, indent: int) -> str:
        """The text of an item with the deeper lines that go on below it."""
        lines = [text]
        while (line := self._lines.next()) is not None:
            bare = line.strip()
            is_other = any(each.fullmatch(line) for each in (_HEADLINE, _BEGIN, _ORG_ITEM, _KEYWORD, _DRAWER))
            if not bare or is_other or len(line) - len(line.lstrip()) <= indent or bare[0] in "|#:":
                self._lines.back()
                break
            lines.append(bare)
        return " ".join(lines)

    def _keyword(self, line: str, bare: str) -> Iterator[str] | None:
        if keyword := _KEYWORD.fullmatch(bare):
            name, value = keyword[1].lower(), keyword[2]
            if name in _ABOUT:
                stamp = _STAMP.fullmatch(value.strip())
                self._lines.about[name] = stamp[1] if stamp else value
            elif name == "include":
                self._lines.unread[f"file {value}"] += 1
            elif value and name not in ("caption", "name"):
                self._lines.unread[f"keyword {name}"] += 1
            return iter([self._line(value)] if name in ("caption", "name") else [])
        if bare.startswith("# ") or bare == "#" or _CLOCK.fullmatch(bare):
            self._lines.unread["CLOCK" if bare[0] == "C" else "comment"] += 1
            return iter(())
        if (drawer := _DRAWER.fullmatch(line)) and self._lines.has_more(_END):
            inner = self._lines.until(_END)
            if drawer[1].upper() == "PROPERTIES":
                named = (each.strip().lstrip(":") for each in inner if each.strip())
                return iter([item(each) for each in named if not _OF_PROGRAM.match(each)])
            self._lines.unread[f"drawer {drawer[1]}"] += bool(inner)
            return iter(())
        if bare.startswith(": "):
            return iter([code(bare[2:])])
        return iter([bare]) if _PLANNING.fullmatch(line) else None

    def _headline(self, match: re.Match[str]) -> Iterator[str]:
        parts = _TODO.fullmatch(match[2]) if len(match[2]) < _LONGEST_TITLE else None
        yield heading(self._line(parts[1] if parts else match[2]), len(match[1]))
        if parts and (state := match[2].partition(" ")[0]) in _STATES:
            yield item(f"State: {state}")
        if parts and parts[2]:
            self._lines.unread["tag"] += parts[2].count(":") - 1

    def _enclosed(self, kind: str, options: str) -> Iterator[str]:
        inner = self._lines.until(re.compile(rf"\s*#\+end_{re.escape(kind)}", re.IGNORECASE))
        if kind.lower() in ("src", "example", "export"):
            yield code("\n".join(inner), options.split(maxsplit=1)[0] if options and kind.lower() == "src" else "")
        elif kind.lower() == "comment":
            self._lines.unread["comment"] += 1
        else:
            nested = _Org(_Lines("\n".join(inner), self._lines.produced))
            nested._lines.unread, nested._lines.about = self._lines.unread, self._lines.about
            yield from nested.blocks()

    def _table(self) -> Iterator[str]:
        """A table; the rows above the first rule are its header if rows follow."""
        rows: list[list[Cell]] = []
        rule = 0
        while (line := self._lines.next()) is not None:
            bare = line.strip()
            if not bare.startswith("|"):
                self._lines.back()
                break
            if bare.startswith("|-"):
                rule = rule or len(rows)
            else:
                rows.append([Cell(self._line(part.strip())) for part in bare.strip("|").split("|")])
        head = rule if rule < len(rows) else 0
        yield Grid(
            [[cell._replace(is_head=at < head) for cell in row] for at, row in enumerate(rows)],
            produced=self._lines.produced,
        ).markdown()

    def _line(self, text: str) -> str:
        text = _ORG_LINK.sub(lambda match: match[2] or match[1].partition(":")[2] or match[1], text)
        text = _ORG_NOTE.sub(lambda match: f"[{match[2] or match[1]}]", text)
        return _ORG_FONT.sub(lambda match: match[2], text)


def read_asciidoc(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of an AsciiDoc file: headings, lists, tables, code, notes; nothing is included.

    Parameters
    ----------
    origin : the file; its stem is the title if it has none
    data : its bytes
    options : the encoding and the size limit

    Raises
    ------
    ReadError
        It is not text, holds no text, or exceeds a limit of :mod:`hlgraph.read.bounds`.
    """
    return _document(origin, data, options, reader=_AsciiDoc)


def read_org(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of an Org file: headlines, lists, tables, blocks of code; keywords as metadata; nothing is included.

    Parameters
    ----------
    origin, data, options : as for :func:`read_asciidoc`

    Raises
    ------
    ReadError
        As :func:`read_asciidoc`.
    """
    return _document(origin, data, options, reader=_Org)


FORMATS = (
    FileFormat("asciidoc", suffixes=(".adoc", ".asc", ".asciidoc"), read=read_asciidoc),
    FileFormat("org", suffixes=(".org",), read=read_org),
)
