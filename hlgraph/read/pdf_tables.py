"""Reads the text of PDF pages with pdfium, finds their tables with pdfplumber, and writes these as Markdown in place.

A table has lines between its cells, or three horizontal lines: above it, below its header and below it. The text around tables
keeps the order of its lines. If the page does not allow that (text in columns, text beside a table), the page is left unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_float, c_int, create_string_buffer
from functools import cached_property
from importlib.util import find_spec
from itertools import compress, groupby, islice, pairwise, repeat
from operator import add
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from hlgraph.errors import MissingExtraError, needs_extra
from hlgraph.read.content import clean, clean_title, tolerated
from hlgraph.read.print_order import CELL_BREAK, PrintedLine, in_reading_order, is_page_number, is_rtl
from hlgraph.read.tables import AlignedTable, Cell, Field, Grid, cells_between_gaps, is_value, table_markdown, tables_in
from hlgraph.records import PAGE_BREAK

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pdfplumber.table import Table
    from pypdfium2 import PdfMatrix, PdfPage, PdfTextPage

    from hlgraph.read.bounds import Produced

_MOST_EDGES = 2_000  # the time to find tables grows with their square
_MOST_SEGMENTS = 100_000  # of the paths of a page
_DEEPEST = 14  # form in a form
_MOST_LOST = 0.005  # of the characters of the page
_LEAST_KEPT = 0.8  # share of the lines around tables that the plain text of the page also has
_LEAST_FILLED = 0.4  # of the cells of a table
_SHORTEST = 60  # points of a line of a table
_STRIPE = 0.6  # least width of the white between two columns, of the height of the text
_HYPHEN = "\x02\ufffe"  # the signs with which pdfium marks a hyphen at the end of a line
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_TEX = {
    0x0E: "ffi",
    0x0F: "ffl",
    0x10: "“",
    0x11: "”",
    0x15: "–",
    0x16: "—",
    0x1B: "ff",
    0x1C: "fi",
    0x1D: "fl",
    0x1E: "ffi",
    0x1F: "ffl",
    0x88: "•",
}
"""What the codes of TeX's fonts mean, of which a PDF with bitmaps says nothing; no text has such signs."""
_POINTS = 5.0  # width of a character
FINE = 0.7  # width of a place of laid-out text, of the width of a character
_STRAIGHT = 1.0  # points by which a horizontal or vertical line may lean
_SLOPE = 0.1  # sine of the angle of text that counts as horizontal
_SAME = 1.5  # points by which lines of a table may be apart
_DIVIDED = re.compile(r"(?<=\w)([-\u2010\u2011\u00ad])\n(?=\w)")
_LEAST_SPACED = 0.25  # of the gaps between close words, on a page that draws spaces
_MARKER = re.compile(r"[^\w\s]|\(?\w{1,4}[.)]")  # of an item of a list
_LINES = 3  # of a table without vertical lines: above it, below its header, below it
_SIDES = ("x0", "top", "x1", "bottom")
_NEAR = 3.0  # points between the characters of a word, and between the tops of those of a line


class PageTexts:
    """The texts of the pages of a PDF, with pdfium.

    Parameters
    ----------
    data : the PDF
    produced : counts the cells

    Raises
    ------
    MissingExtraError
        pypdfium2 or pdfplumber is not installed.
    """

    def __init__(self, data: bytes, produced: Produced) -> None:
        with needs_extra("pdf", "reading PDF"):
            from pypdfium2 import PdfDocument
        if find_spec("pdfplumber") is None:
            raise MissingExtraError("pdf", "reading PDF")
        self._produced = produced
        self._open: tuple[int, PdfPage, PdfTextPage] | None = None
        self._above: _Ended | None = None
        self._aligned: _Aligned | None = None
        self._read: tuple[int, _Page] | None = None
        with _PDFIUM:
            self._file = PdfDocument(data)

    def plain(self, index: int) -> str:
        """The text of a page in the order in which it is drawn.

        Parameters
        ----------
        index : number of the page, from 0
        """
        with _PDFIUM:
            return _cleaned(self._opened(index)[1].get_text_range())

    def printed(self, index: int) -> list[PrintedLine]:
        """How the lines of a page look, in the order in which they are drawn.

        Parameters
        ----------
        index : number of the page, from 0
        """
        with _PDFIUM:
            page = self._opened(index)[1]
            return [*_printed(page, "".join(_code_units(page)))]

    def is_vertical(self, index: int) -> bool:
        """Whether most characters of a page stand below the one before, as in books of Japan.

        Parameters
        ----------
        index : number of the page, from 0
        """
        chars = self._page(index).chars
        shown = ~chars.is_blank
        middles, tops = (chars.left[shown] + chars.right[shown]) / 2, chars.top[shown]
        is_below = (np.abs(np.diff(middles)) < (chars.right - chars.left)[shown][1:] / 2) & (np.diff(tops) > 0)
        return 2 * int(is_below.sum()) > len(is_below)

    def has_notes(self, index: int) -> bool:
        """Whether a page has fields of a form, comments or other notes, apart from links.

        Parameters
        ----------
        index : number of the page, from 0
        """
        from pypdfium2 import raw

        with _PDFIUM:
            page = self._opened(index)[0].raw
            for at in range(raw.FPDFPage_GetAnnotCount(page)):
                note = raw.FPDFPage_GetAnnot(page, at)
                kind = raw.FPDFAnnot_GetSubtype(note)
                raw.FPDFPage_CloseAnnot(note)
                if kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP):
                    return True
        return False

    def with_ruled_tables(self, index: int, text: str) -> str:
        """The text of a page with its ruled tables as Markdown.

        Parameters
        ----------
        index : number of the page, from 0
        text : its plain text, against which the result is checked

        Returns
        -------
        str
            Empty if the page has no such table, or if text would be lost or change its order.
        """
        parts: list[tuple[str, bool]] = []
        above, self._above = self._above, None
        ended: _Ended | None = None
        with tolerated():  # the page has its plain text
            above = above if above is not None and above.page == index - 1 else None
            with _PDFIUM:
                edges = _edges(self._opened(index)[0])
            if _may_be_ruled(edges):
                page = self._page(index)
                page.edges = edges
                page.bold = {"".join(line.text.split()) for line in self.printed(index) if line.is_bold}
                parts, ended = _parts(page, self._produced, above=above)
        markdown = "\n\n".join(part for part, _ in parts if part)
        if not any(is_table for _, is_table in parts) or not _is_faithful(parts, markdown, text):
            return ""
        self._above = ended and ended._replace(page=index)
        return markdown

    def in_reading_order(self, index: int, text: str) -> str:
        """The text of a page with right-to-left text, in the order of its lines and of reading.

        Parameters
        ----------
        index : number of the page, from 0
        text : its plain text, which is returned if some of it would be lost
        """
        ordered = ""
        with tolerated():
            lines = self._page(index).lines
            ordered = in_reading_order(clean("\n".join(" ".join(word.text for word in line) for line in lines)))
        lost = Counter("".join(text.split())) - Counter("".join(ordered.split()))
        return text if lost.total() > len(text) * _MOST_LOST else ordered

    def laid_out_tables(self, index: int, laid_out: str, *, has_numbers: bool) -> str:
        """The text of a page with its tables of aligned columns as Markdown; empty if it has none.

        A table that goes on from the page before has the header of that, if it has none of its own.

        Parameters
        ----------
        index : number of the page, from 0
        laid_out : its lines
        has_numbers : whether it may have tables of numbers
        """
        lines = [line.rstrip() for line in laid_out.splitlines() if line.strip()]
        marked = {"".join(line.text.split()) for line in self.printed(index) if line.is_bold}
        words = self._page(index).lines
        centres = [line[0].centre for line in words] if len(words) == len(lines) else []
        tables = tables_in(
            lines,
            has_numbers=has_numbers,
            unit=1 / FINE,
            gaps=[0.0, *(below - above for above, below in pairwise(centres))] if centres else (),
            is_marked=lambda line: "".join(line.split()) in marked,
        )
        running = [*map(_numberless, lines)]
        above, self._aligned = self._aligned, None
        if above is not None and above.page == index - 1 and above.below <= {*running}:
            at = next((at for at, line in enumerate(running) if line not in above.lines), len(lines))
            has_own = any(table.first <= at and any(table.head) for table in tables)
            wider = [] if has_own else self.laid_out(index, head=above.words, at=at).splitlines()
            joined = tables_in(wider, has_numbers=has_numbers, unit=1 / FINE)
            if joined and joined[0].first == at and joined[0].head == above.labels:
                lines, tables, words = wider, joined, [*words[:at], *above.words, *words[at:]]
        if tables and any(tables[-1].head) and len(words) == len(lines):
            last = tables[-1]
            below = frozenset(map(_numberless, lines[last.first + last.size :]))
            head = words[last.first : last.rows[0][0]]
            around = frozenset(map(_numberless, [*lines[: tables[0].first], *lines[last.first + last.size :]]))
            self._aligned = _Aligned(index, head, last.head, around, below)
        if not _has_columns(lines, tables):
            return woven(lines, tables)
        parts = self._page(index).drawn(
            (
                _box_of([word for line in words[each.first : each.first + each.size] for word in line]),
                table_markdown(each),
            )
            for each in tables
            if len(words) == len(lines) and each.is_certain
        )
        return "\n\n".join(text for text, _ in parts if text) if len(parts) > 1 else ""

    def laid_out(self, index: int, *, head: Sequence[list[_Word]] = (), at: int = 0) -> str:
        """The lines of a page with spaces for the distances between words.

        Parameters
        ----------
        index : number of the page, from 0
        head : the words of lines of another page that are laid out with it, default none
        at : before which line they stand, default the first
        """
        page = self._page(index)
        return _laid_out(page, [*page.lines[:at], *head, *page.lines[at:]])

    def _opened(self, index: int) -> tuple[PdfPage, PdfTextPage]:
        """A page and its text; the last one stays open."""
        if self._open is None or self._open[0] != index:
            page = self._file[index]
            self._open = (index, page, page.get_textpage())
        return self._open[1:]

    def _page(self, index: int) -> _Page:
        if self._read is None or self._read[0] != index:
            with _PDFIUM:
                page, texts = self._opened(index)
                self._read = (index, _Page(_chars(texts, float(page.get_height()))))
        return self._read[1]


_GAP = re.compile(r"\w\S* {4,}\S*\w")  # between columns of text
_MOST_IN_COLUMNS = 0.2  # of the lines outside tables


_LEAST_VALUES, _LONGEST_LABEL = 2, 80
_ENDS_WITH_VALUE = re.compile(r"[^\W\d_]\S*(?:\s+[-–$€£¥₹(]*\s?\d[\d.,]*[)%]*)+\Z")


def may_have_table(text: str) -> bool:
    """Whether a text has at least two lines that are a value or end with one, the minimum of a table of numbers.

    Parameters
    ----------
    text : of a page or a part of it
    """
    matching = (
        line for line in text.splitlines() if is_value(line.strip()) or _ENDS_WITH_VALUE.search(line[-_LONGEST_LABEL:])
    )
    return len(list(islice(matching, _LEAST_VALUES))) == _LEAST_VALUES


def _laid_out(page: _Page, words: Iterable[Sequence[_Word]]) -> str:
    """Lines of words with spaces for the distances between them."""
    left, unit = page.places
    lines: list[str] = []
    for row in words:
        line = ""
        for last, word in zip([None, *row], row, strict=False):
            is_near = last is not None and page.is_near(last, word)
            at = len(line) + 1 if is_near else max(len(line) + 2 * bool(line), round((word.left - left) / unit))
            line = f"{line:<{at}}{word.text}"
        lines.append(line)
    return clean("\n".join(lines))


def _between(page: _Page, top: float, bottom: float) -> list[tuple[str, bool]]:
    """The text between two heights, with its tables of aligned columns, and whether each part is one."""
    plain = page.text_between(top, bottom)
    words = [row for row in page.lines if top <= row[0].centre < bottom] if may_have_table(plain) else []
    lines = _laid_out(page, words).split("\n")
    gaps = [0.0, *(below[0].centre - above[0].centre for above, below in pairwise(words))]
    tables = (
        tables_in(lines, unit=1 / FINE, gaps=gaps, is_marked=lambda line: "".join(line.split()) in page.bold)
        if words
        else []
    )
    tables = [each for each in tables if each.is_certain] if _has_columns(lines, tables) else tables
    parts: list[tuple[str, bool]] = []
    for table in tables:
        box = _box_of([word for row in words[table.first : table.first + table.size] for word in row])
        parts += [(page.text_between(top, box[1]), False), (table_markdown(table), True)]
        top = box[3]
    return [*parts, (page.text_between(top, bottom), False)]


def _has_columns(lines: Sequence[str], tables: Sequence[AlignedTable]) -> bool:
    """Whether the lines around the tables of a page are those of text in columns, which belong to different sentences."""
    inside = {number for table in tables for number in range(table.first, table.first + table.size)}
    prose = [line.strip() for number, line in enumerate(lines) if number not in inside]
    return sum(_GAP.search(line) is not None for line in prose) > max(2, len(prose) * _MOST_IN_COLUMNS)


def woven(lines: Sequence[str], tables: Sequence[AlignedTable]) -> str:
    """The lines of a page, with single spaces, and its tables as Markdown between them; empty without a table.

    Parameters
    ----------
    lines : lines that are not blank
    tables : what :func:`~hlgraph.read.tables.tables_in` finds in them

    Examples
    --------
    >>> lines = ["Sales  of  us", "            2023   2022", "Revenue    5,234  4,900", "Costs         12     10"]
    >>> print(woven(lines, tables_in(lines)))
    Sales of us
    <BLANKLINE>
    |  | 2023 | 2022 |
    | --- | --- | --- |
    | Revenue | 5,234 | 4,900 |
    | Costs | 12 | 10 |
    """
    if not tables:
        return ""
    parts: list[str] = []
    at = 0
    for table in tables:
        parts.append("\n".join(" ".join(line.split()) for line in lines[at : table.first]))
        parts.append(table_markdown(table))
        at = table.first + table.size
    parts.append("\n".join(" ".join(line.split()) for line in lines[at:]))
    return "\n\n".join(part for part in parts if part)


_SHOWN = re.compile(
    rf"([^\r\n{_HYPHEN}]+)(?:[{_HYPHEN}](?:\r?\n)?([^\s{_HYPHEN}]+))?"
)  # and the rest of a divided word
_BOLD = re.compile(rb"bold|black|heavy|demi", re.IGNORECASE)
_LEAST_BOLD = 600
_WIDE = 0.75  # width of a character, of its height, on average in a line that has a gap
_LEAST_GAP = 2.0  # heights of a character
_LABELLED = re.compile(r"[^\W\d_][^:]{1,30}:(?: |\Z)")


def _printed(page: PdfTextPage, text: str) -> Iterator[PrintedLine]:
    for match in _SHOWN.finditer(text):
        shown = match[1].strip()
        if not shown:
            continue
        first = match.start() + match[0].index(shown[0])
        last = first + len(shown) - 1
        (left, top, _, bottom), (_, other_top, right, other_bottom) = (_box(page, at) for at in (first, last))
        height = min(abs(top - bottom), abs(other_top - other_bottom)) or 1.0
        is_wide = right - left > _WIDE * height * len(shown) and len(shown) > 1
        sides = _sides_of_line(page, shown, first, height) if is_wide else ()
        is_labelled = bool(sides) and _LABELLED.match(sides[1]) is not None and not is_value(sides[0])
        parts = sides if is_labelled or any(map(is_page_number, sides)) else ()
        is_bold = len(shown) <= _LONGEST_BOLD and _is_bold(page, first) and _is_bold(page, last)
        whole = clean(_CONTROL.sub("", shown + (match[2] or "")))
        yield PrintedLine(" ".join(_spelled(whole).split()), height, is_bold, top, parts, bool(sides))


_LONGEST_BOLD = 100


def _box(page: PdfTextPage, at: int) -> _Box:
    """Left, top, right and bottom of a character."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page.raw, at, box)
    return box.left, box.top, box.right, box.bottom


def _is_bold(page: PdfTextPage, at: int) -> bool:
    from pypdfium2 import raw

    name = create_string_buffer(128)
    raw.FPDFText_GetFontInfo(page.raw, at, name, len(name), c_int())
    return _BOLD.search(name.value) is not None or raw.FPDFText_GetFontWeight(page.raw, at) >= _LEAST_BOLD


def _sides_of_line(page: PdfTextPage, shown: str, first: int, height: float) -> tuple[str, ...]:
    """Two texts on one line with a wide gap between them; none without such a gap, or with several."""
    boxes = [_box(page, first + at) for at in range(len(shown))]
    ends = [at for at, sign in enumerate(shown) if not sign.isspace()]
    gaps = [right for left, right in pairwise(ends) if boxes[right][0] - boxes[left][2] > _LEAST_GAP * height]
    return (shown[: gaps[0]].strip(), shown[gaps[0] :].strip()) if len(gaps) == 1 else ()


_PDFIUM = Lock()  # pdfium is not made for threads
_HYPHENS = re.compile(f"[{_HYPHEN}](?:\r?\n)?")
_OWN_BREAK = re.compile(r"(?<!\r)\n[ \t]*\r\n")  # drawn by the page, before that of pdfium


def _cleaned(text: str) -> str:
    r"""Text of pdfium, which marks a hyphen at the end of a line.

    >>> _cleaned("Each deliv\ufffeery is\n \r\nweighed e\x1eciently.")
    'Each deliv-\nery is\nweighed efficiently.'
    """
    text = _OWN_BREAK.sub("\n", _HYPHENS.sub("-\n", text)).translate(_TEX)
    lines = clean(text).replace(PAGE_BREAK, "\n").split("\n")
    return "\n".join(map(str.rstrip, lines)).strip()


class _Word(NamedTuple):
    """A word and its box, in points from the left and the top of the page; whether the page draws a space before it."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    is_spaced: bool

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def centre(self) -> float:
        return (self.top + self.bottom) / 2


class _Chars(NamedTuple):
    """The characters of a page in the order of its text; a space that pdfium adds has no width.

    Attributes
    ----------
    texts, breaks : each character, and the line break after it, if there is one
    left, top, right, bottom : their boxes, in points from the left and the top of the page
    is_upright : which are horizontal
    is_blank : which are white space
    """

    texts: list[str]
    breaks: list[str]
    left: NDArray[np.float64]
    top: NDArray[np.float64]
    right: NDArray[np.float64]
    bottom: NDArray[np.float64]
    is_upright: NDArray[np.bool_]
    is_blank: NDArray[np.bool_]


_Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the left and the top of the page."""


class _Page:
    """The characters of a page, as lines and words.

    Attributes
    ----------
    chars : the characters
    edges : the horizontal and vertical lines that may be those of tables, as pdfplumber needs them
    bold : the lines in bold, without their spaces
    """

    def __init__(self, chars: _Chars) -> None:
        self.chars = chars
        self.edges: list[dict[str, Any]] = []
        self.bold: set[str] = set()
        self._broken = [*map(add, chars.texts, chars.breaks)]
        self._centres = (chars.top + chars.bottom) / 2
        self._middles = (chars.left + chars.right) / 2

    @property
    def box(self) -> _Box:
        """Left, top, right and bottom of the text and the lines, of which the page has some."""
        sides = zip((self.chars.left, self.chars.top, self.chars.right, self.chars.bottom), _SIDES, strict=True)
        left, top, right, bottom = (np.append(own, [edge[name] for edge in self.edges]) for own, name in sides)
        return float(left.min()), float(top.min()), float(right.max()), float(bottom.max())

    @cached_property
    def places(self) -> tuple[float, float]:
        """Where laid-out lines begin, and the width of one of their places."""
        chars = self.chars
        widths = np.sort((chars.right - chars.left)[~chars.is_blank & (chars.right > chars.left)])
        return float(min(chars.left, default=0.0)), FINE * float(widths[len(widths) // 2]) if len(widths) else 1.0

    @cached_property
    def _has_spaces(self) -> bool:
        """Whether the page draws spaces between words, as most programs do; TeX moves to the next word instead."""
        pairs = [word.is_spaced for line in self.lines for last, word in pairwise(line) if _is_close(last, word)]
        return sum(pairs) > _LEAST_SPACED * len(pairs)

    def is_near(self, last: _Word, word: _Word) -> bool:
        """Whether a word goes on with the text before it in its line, and does not begin a column.

        A page that draws spaces draws none between the cells of a row, however close they are.
        """
        is_spaced = word.is_spaced or not self._has_spaces or _MARKER.fullmatch(last.text) is not None
        return is_spaced and _is_close(last, word)

    def text_between(self, top: float, bottom: float, *, left: float = -np.inf, right: float = np.inf) -> str:
        """The text whose middle is between two heights and two sides, in the order of the page."""
        is_inside = (top <= self._centres) & (self._centres < bottom)
        is_inside &= (left <= self._middles) & (self._middles < right)
        return _cleaned("".join(compress(self._broken, is_inside.tolist())))

    def text_in(self, box: _Box) -> str:
        """The lines of the text whose middle is in a box: left, top, right and bottom."""
        left, top, right, bottom = box
        is_inside = (top <= self._centres) & (self._centres < bottom)
        is_inside &= (left <= self._middles) & (self._middles < right)
        words = _words(self.chars, np.flatnonzero(is_inside))
        lines = _near(np.array([word.top for word in words]))
        order = np.argsort(lines, kind="stable")
        rows = groupby(order, key=lambda at: lines[at])
        return "\n".join(" ".join(words[at].text for at in row) for _, row in rows)

    def drawn(self, tables: Iterable[tuple[_Box, str]]) -> list[tuple[str, bool]]:
        """The text in the order in which it is drawn, with tables in the places of their characters, and whether each part is one.

        A table whose characters are not drawn one after the other stays text.

        Parameters
        ----------
        tables : the box of each table, and its Markdown
        """
        shown = ~self.chars.is_blank
        counts = np.cumsum(shown)
        runs: list[tuple[int, int, str]] = []
        for (left, top, right, bottom), markdown in tables:
            is_inside = (top <= self._centres) & (self._centres < bottom) & shown
            inside = np.flatnonzero(is_inside & (left <= self._middles) & (self._middles < right))
            if len(inside) and counts[inside[-1]] - counts[inside[0]] + 1 == len(inside):
                runs.append((int(inside[0]), int(inside[-1]) + 1, markdown))
        parts: list[tuple[str, bool]] = []
        at = 0
        for first, end, markdown in sorted(runs):
            if first >= at:
                parts += [(_cleaned("".join(self._broken[at:first])), False), (markdown, True)]
                at = end
        return [*parts, (_cleaned("".join(self._broken[at:])), False)]

    @cached_property
    def lines(self) -> list[list[_Word]]:
        """The words of each line, from the top and from the left."""
        lines: list[list[_Word]] = []
        last = float("-inf")
        words = _words(self.chars, np.arange(len(self.chars.texts)))
        for word in sorted(words, key=lambda each: each.top + each.bottom):
            if not lines or word.centre - last > word.height / 2:
                lines.append([])
                last = word.centre
            lines[-1].append(word)
        return [sorted(line, key=lambda each: each.left) for line in lines]


def _box_of(words: Sequence[_Word]) -> _Box:
    """The whole width of the page, from the top to the bottom of some words."""
    return -np.inf, min(word.top for word in words), np.inf, max(word.bottom for word in words)


def _is_close(last: _Word, word: _Word) -> bool:
    return word.left - last.right < word.height * _STRIPE


def _code_units(page: PdfTextPage) -> Sequence[str]:
    """The characters of a page as pdfium counts them: with control characters, and with both halves of a surrogate pair."""
    from pypdfium2 import raw

    count = page.count_chars()
    text: str = page.get_text_range()
    return (
        text if len(text) == count else [*map(chr, map(raw.FPDFText_GetUnicode, repeat(page.raw, count), range(count)))]
    )


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _chars(page: PdfTextPage, height: float) -> _Chars:
    from pypdfium2 import raw

    texts = [*_code_units(page)]
    count = len(texts)
    rests = [at + 1 for at, sign in enumerate(texts[:-1]) if "\ud800" <= sign < "\udc00" <= texts[at + 1] < "\ue000"]
    for at in rests:
        texts[at - 1] = clean(texts[at - 1] + texts[at])
    is_blank = np.fromiter(map(str.isspace, texts), np.bool_, count)
    blanks = np.flatnonzero(is_blank)
    is_added = np.zeros(count, np.bool_)
    is_added[blanks] = [*map(raw.FPDFText_IsGenerated, repeat(page.raw, len(blanks)), blanks.tolist())]
    boxes = (raw.FS_RECTF * count)()
    is_own = [*map(raw.FPDFText_GetLooseCharBox, repeat(page.raw, count), range(count), boxes)] & ~is_added
    is_own[rests] = False
    is_break = np.fromiter((text in "\r\n" for text in texts), np.bool_, count) & is_added
    is_kept = is_own | (is_added & ~is_break & np.logical_or.accumulate(is_own))
    kept = np.flatnonzero(is_kept).tolist()
    breaks = ["\n" if texts[at] in _HYPHEN else "" for at in kept]
    before = np.cumsum(is_kept) - 1
    for at in np.flatnonzero(is_break & (before >= 0)).tolist():
        breaks[before[at]] += texts[at]
    source = np.maximum.accumulate(np.where(is_own, np.arange(count), 0))[kept]  # the neighbour of an added space
    corners = np.frombuffer(boxes, np.float32).reshape(-1, 4)[source].astype(np.float64)
    # text that goes on at the same height has the same angle
    turns = np.flatnonzero(np.diff(corners[:, 1::2], axis=0, prepend=np.nan).any(axis=1))
    angles = [raw.FPDFText_GetCharAngle(page.raw, at) for at in source[turns].tolist()]
    is_upright = np.abs(np.sin(np.array(angles))) < _SLOPE
    return _Chars(
        ["-" if texts[at] in _HYPHEN else texts[at] for at in kept],
        breaks,
        np.where(is_own[kept], corners[:, 0], corners[:, 2]),
        height - corners[:, 1],
        corners[:, 2],
        height - corners[:, 3],
        np.repeat(is_upright, np.diff(turns, append=len(kept))),
        is_blank[kept],
    )


def _words(chars: _Chars, places: NDArray[np.intp]) -> list[_Word]:
    """The words of some characters, line by line; a run of text that is not horizontal has vertical lines."""
    turns = np.flatnonzero(np.diff(chars.is_upright[places])) + 1
    return [word for run in np.split(places, turns) if len(run) for word in _words_of_run(chars, run)]


def _words_of_run(chars: _Chars, run: NDArray[np.intp]) -> Iterator[_Word]:
    boxes = (chars.left, chars.right, chars.top) if chars.is_upright[run[0]] else (chars.top, chars.bottom, chars.left)
    line = _near(boxes[2][run])
    order = np.lexsort((boxes[0][run], line))
    ordered, line = run[order], line[order]
    start, end, across = (box[ordered] for box in boxes)
    blank = chars.is_blank[ordered]
    begins = np.ones(len(run), np.bool_)
    begins[1:] = (line[1:] != line[:-1]) | blank[:-1] | (start[1:] > end[:-1] + _NEAR)
    begins[1:] |= np.abs(across[1:] - across[:-1]) > _NEAR
    is_space = blank & (chars.right[ordered] > chars.left[ordered])
    spaced = np.zeros(len(run), np.bool_)
    spaced[1:] = is_space[:-1] & (line[1:] == line[:-1])
    letters, firsts = ordered[~blank], np.flatnonzero(begins[~blank])
    if not len(firsts):
        return
    texts = [chars.texts[at] for at in letters]
    lefts, tops = (np.minimum.reduceat(side[letters], firsts).tolist() for side in (chars.left, chars.top))
    rights, bottoms = (np.maximum.reduceat(side[letters], firsts).tolist() for side in (chars.right, chars.bottom))
    bounds = pairwise([*firsts.tolist(), len(letters)])
    are_spaced = spaced[~blank][firsts].tolist()
    for (first, last), left, top, right, bottom, is_spaced in zip(
        bounds, lefts, tops, rights, bottoms, are_spaced, strict=True
    ):
        yield _Word(_spelled("".join(texts[first:last])), left, top, right, bottom, is_spaced)


def _spelled(word: str) -> str:
    word = word if word.isprintable() else word.translate(_TEX)
    return word if word.isascii() else _LIGATURES.sub(lambda match: unicodedata.normalize("NFKC", match[0]), word)


def _near(places: NDArray[np.float64]) -> NDArray[np.intp]:
    """For each place, the number of its group; between the groups are gaps."""
    order = np.argsort(places, kind="stable")
    groups = np.zeros(len(places), np.intp)
    groups[order[1:]] = np.cumsum(places[order[1:]] > places[order[:-1]] + _NEAR)
    return groups


def _paths(page: PdfPage) -> Iterator[tuple[Any, PdfMatrix]]:
    """The paths of a page and of the forms in it, each with the matrix to the page."""
    from pypdfium2 import PdfMatrix, raw

    values = raw.FS_MATRIX()
    parts = [(raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, page.raw, PdfMatrix(), 0)]
    while parts:
        count, pick, part, outer, level = parts.pop()
        for at in range(count(part)):
            each = pick(part, at)
            kind = raw.FPDFPageObj_GetType(each)
            if kind not in (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_FORM):
                continue
            raw.FPDFPageObj_GetMatrix(each, values)
            matrix = PdfMatrix.from_raw(values).multiply(outer)
            if kind == raw.FPDF_PAGEOBJ_PATH:
                yield each, matrix
            elif level < _DEEPEST:
                parts.append((raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, each, matrix, level + 1))


def _edges(page: PdfPage) -> list[dict[str, Any]]:
    """The horizontal and vertical parts of the paths of a page; none if there are too many to search for tables."""
    from pypdfium2 import raw

    height = float(page.get_height())
    edges: list[dict[str, Any]] = []
    count = 0
    x, y = c_float(), c_float()
    for path, matrix in _paths(page):
        points: list[tuple[float, float]] = []
        size = raw.FPDFPath_CountSegments(path)
        count += size
        if count > _MOST_SEGMENTS or len(edges) > _MOST_EDGES:
            return []
        for at in range(size):
            segment = raw.FPDFPath_GetPathSegment(path, at)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            point = matrix.on_point(x.value, y.value)
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_MOVETO:
                points = [point]
            elif kind == raw.FPDF_SEGMENT_LINETO and points:
                edges += _edge(points[-1], point, height)
                points.append(point)
                if raw.FPDFPathSegment_GetClose(segment):
                    edges += _edge(point, points[0], height)
            else:
                points.append(point)
    return edges if len(edges) <= _MOST_EDGES else []


def _may_be_ruled(edges: list[dict[str, Any]]) -> bool:
    """Whether the lines of a page may be those of a table: two of each direction, or three long horizontal ones."""
    flat = [edge for edge in edges if edge["orientation"] == "h"]
    is_crossed = len(edges) - len(flat) >= 2 and len(flat) >= 2
    return is_crossed or sum(edge["width"] > _SHORTEST for edge in flat) >= _LINES


def _edge(start: tuple[float, float], end: tuple[float, float], height: float) -> list[dict[str, Any]]:
    """A line if it is horizontal or vertical."""
    (x0, x1), (bottom, top) = sorted((start[0], end[0])), sorted((start[1], end[1]))
    is_flat = top - bottom < _STRAIGHT
    if is_flat == (x1 - x0 < _STRAIGHT):
        return []
    size = {
        "x0": x0,
        "x1": x1,
        "top": height - top,
        "bottom": height - bottom,
        "width": x1 - x0,
        "height": top - bottom,
    }
    return [{**size, "orientation": "h" if is_flat else "v", "object_type": "line", "doctop": height - top}]


class _Ruled(NamedTuple):
    """A table with lines between its cells, and where its columns begin."""

    rows: list[list[Cell]]
    places: tuple[float, ...]


class _Ended(NamedTuple):
    """The last table of a page, which may go on at the top of the next one.

    Attributes
    ----------
    places, labels : where its columns begin, and their labels
    are_values : which of them hold values
    lines, below : the lines of the page around its tables, and those below the last one
    page : number of the page
    """

    places: tuple[float, ...]
    labels: tuple[str, ...]
    are_values: tuple[bool, ...]
    lines: frozenset[str]
    below: frozenset[str] = frozenset()
    page: int = -1

    def goes_on(self, table: _Ruled, *, lines: frozenset[str], over: frozenset[str]) -> bool:
        """Whether a table without a header of its own is the rest of this one.

        It has the same columns. Between both are only lines that both pages have, such as the name of the document.

        Parameters
        ----------
        table : the first table of the next page
        lines, over : the lines of that page around its tables, and those over the first one
        """
        if len(table.places) != len(self.places) or not any(self.labels):
            return False
        are_near = (abs(one - other) < 2 * _SAME for one, other in zip(table.places, self.places, strict=True))
        if not (all(are_near) and self.below <= lines and over <= self.lines):
            return False
        first = {cell.column: cell.text for cell in table.rows[0]}
        texts = [first.get(at, "") for at in range(len(self.places))]
        of_values = [text for text, has_values in zip(texts, self.are_values, strict=True) if text and has_values]
        return texts != [*self.labels] and (not of_values or any(map(is_value, of_values)))


def _parts(page: _Page, produced: Produced, *, above: _Ended | None) -> tuple[list[tuple[str, bool]], _Ended | None]:
    """The text above, between and below the tables, and the tables, each with whether it is a table; and the last table."""
    from pdfplumber.table import TableFinder

    parts: list[tuple[str, bool]] = []
    if len(page.edges) > _MOST_EDGES:
        return parts, None
    top = page.box[1]
    tables: list[tuple[float, float, _Ruled | str, tuple[float, float]]] = [
        (each.bbox[1], each.bbox[3], _ruled(page, each), each.bbox[::2]) for each in TableFinder(page).tables
    ]
    tables += _lined_tables(page, produced)
    lines = _running(page.text_between(top, page.box[3] + 1))
    ended: _Ended | None = None
    boxes: list[tuple[_Box, str]] = []
    is_beside = False
    for start, end, table, (left, right) in sorted(tables, key=lambda each: each[:2]):
        if start < top:
            continue
        before = page.text_between(top, start)
        markdown, last = (table, None) if isinstance(table, str) else ("", None)
        if isinstance(table, _Ruled):
            rest_of = (
                above if above and not parts and above.goes_on(table, lines=lines, over=_running(before)) else None
            )
            markdown, last = _ruled_markdown(table, produced, rest_of=rest_of)
        if markdown:
            beside = [page.text_between(start, end, right=left), page.text_between(start, end, left=right)]
            parts += [*_between(page, top, start), (beside[0], False), (markdown, True), (beside[1], False)]
            boxes.append(((left, start, right, end), markdown))
            is_beside = is_beside or any(beside)
            ended = last and last._replace(lines=lines)
            top = end
    below = page.text_between(top, page.box[3] + 1)
    drawn = page.drawn(boxes) if is_beside else []  # in a column of text
    if len(drawn) > 2 * len(boxes):
        return drawn, None
    rest = _between(page, top, page.box[3] + 1) if boxes else [(below, False)]
    return [*parts, *rest], ended and ended._replace(below=_running(below))


class _Aligned(NamedTuple):
    """The header of the last table of aligned columns on a page, which may go on at the top of the next one.

    Attributes
    ----------
    page : number of the page
    words : the words of each line of the header
    labels : its labels
    lines, below : the lines of the page above and below its tables, and those below the last one
    """

    page: int
    words: list[list[_Word]]
    labels: list[str]
    lines: frozenset[str]
    below: frozenset[str]


def _numberless(line: str) -> str:
    return re.sub(r"\d+", "0", " ".join(line.split()))


def _running(text: str) -> frozenset[str]:
    """The lines of a text without their numbers, to compare what stands at the top and the bottom of pages."""
    return frozenset(_numberless(line) for line in text.splitlines() if line.strip())


def _ruled_markdown(table: _Ruled, produced: Produced, *, rest_of: _Ended | None) -> tuple[str, _Ended | None]:
    """The Markdown of a table, which may be the rest of one, and what its own rest needs; empty if it is no table."""
    rows = table.rows
    width = max(map(len, rows), default=0)
    filled = [sum(bool(cell.text) for cell in row) for row in rows]
    size = sum(len(row) for row, count in zip(rows, filled, strict=True) if count)
    has_rows = sum(map(bool, filled)) > (rest_of is None)
    if width < 2 or not has_rows or sum(filled) < _LEAST_FILLED * size:
        return "", None
    labels = rest_of.labels if rest_of else ()
    head = [[Cell(label, is_head=True, column=at) for at, label in enumerate(labels)]] if rest_of else []
    grid = Grid([*head, *rows], produced=produced)
    if len(grid.labels) != len(table.places):
        return grid.markdown(), None
    columns = zip(*(row[-len(grid.labels) :] for row in grid.rows), strict=True)
    are_values = tuple(any(column) and all(map(is_value, filter(None, column))) for column in columns)
    are_values = are_values or (False,) * len(grid.labels)
    return grid.markdown(), _Ended(
        table.places, grid.labels, rest_of.are_values if rest_of else are_values, frozenset()
    )


def _ruled(page: _Page, table: Table) -> _Ruled:
    rows = _ruled_cells(page, table)
    if is_rtl(" ".join(cell.text for row in rows for cell in row)):
        width = max((cell.column or 0) + cell.width for row in rows for cell in row)
        turned = [[cell._replace(column=width - (cell.column or 0) - cell.width) for cell in row] for row in rows]
        rows = [sorted(row, key=lambda cell: cell.column or 0) for row in turned]
    return _Ruled(
        rows,
        tuple(
            _apart(box[0] for box in _not_within([box for row in table.rows for box in row.cells if box is not None]))
        ),
    )


def _ruled_cells(page: _Page, table: Table) -> list[list[Cell]]:
    """The cells of each row with the rows and columns that they span, from their boxes."""
    every = [box for row in table.rows for box in row.cells if box is not None]
    boxes = _not_within(every)
    lefts, tops = (_apart(box[at] for box in boxes) for at in (0, 1))
    rows: list[list[Cell]] = []
    for row in table.rows:
        cells: list[Cell] = []
        for box in row.cells:
            if box in boxes:
                column = bisect_right(lefts, box[0] + _SAME) - 1
                width = bisect_left(lefts, box[2] - _SAME) - column
                height = bisect_left(tops, box[3] - _SAME) - bisect_right(tops, box[1] + _SAME) + 1
                cells.append(Cell(_cell_text(page.text_in(box)), max(1, width), max(1, height), column=column))
        shown = "".join("".join(cell.text.split()) for cell in cells)
        is_head = [shown in page.bold or "".join(cell.text.split()) in page.bold for cell in cells]
        rows += [[cell._replace(is_head=own) for cell, own in zip(cells, is_head, strict=True)]] if cells else []
    return rows


def _not_within(boxes: list[_Box]) -> dict[_Box, None]:
    """The boxes that are not inside another one, such as that of a remark in a cell."""
    corners = np.array(boxes).reshape(-1, 4)
    sizes = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    kept: dict[_Box, None] = {}
    for box, size in zip(boxes, sizes, strict=True):
        is_around = (corners[:, :2] <= np.array(box[:2]) + _SAME).all(axis=1) & (
            corners[:, 2:] >= np.array(box[2:]) - _SAME
        ).all(axis=1)
        if not (is_around & (sizes > size + 1)).any():
            kept[box] = None
    return kept


def _apart(places: Iterable[float]) -> list[float]:
    """The places in order, without those that are the same but for rounding."""
    apart: list[float] = []
    for place in sorted(places):
        if not apart or place - apart[-1] > 2 * _SAME:
            apart.append(place)
    return apart


def _cell_text(text: str) -> str:
    lines = in_reading_order(clean(text))
    if _BULLET.match(lines):
        lines = _BULLET.sub(", ", lines).removeprefix(", ")
    return clean_title(_DIVIDED.sub(rf"\1{CELL_BREAK}", lines))


_BULLETS = "\uf0b7\uf0a7\u2022\u25cf\u25aa"
_BULLET = re.compile(rf"\s*(?:^|(?<=\n))[{_BULLETS}] ?")  # of the items in a cell


# Tables with three horizontal lines: columns are what stands between the white stripes of the body.


def _lined_tables(page: _Page, produced: Produced) -> Iterator[tuple[float, float, str, tuple[float, float]]]:
    """The tables between horizontal lines of the same extent: their top, bottom, Markdown, and sides.

    A line stands above the header, one below it, and one below the last row; further ones may divide the rows.
    """
    lines: dict[tuple[int, int], list[float]] = {}
    for edge in page.edges:
        if edge["orientation"] == "h" and edge["x1"] - edge["x0"] > _SHORTEST:
            lines.setdefault((round(edge["x0"] / _SAME), round(edge["x1"] / _SAME)), []).append(edge["top"])
    if any(edge["orientation"] == "v" for edge in page.edges):
        return
    for extent, places in lines.items():
        tops = _apart(places)
        sides = max(extent[0] * _SAME - 4, page.box[0]), min(extent[1] * _SAME + 4, page.box[2])
        size = len(tops) if len(tops) in _DIVIDED_BY else _LINES
        gaps = [below - above for above, below in pairwise(tops)]
        if len(tops) > size and max(gaps) < _EVEN * min(gaps):
            continue  # a line below each row
        for at in range(0, len(tops) - size + 1, size):
            top, middle, *_, bottom = tops[at : at + size]
            box = (sides[0], top, sides[1], bottom)
            markdown = _lined_markdown(page, box, middle, produced) if len(tops) % size == 0 else ""
            yield top, bottom, markdown, sides if markdown else (-np.inf, np.inf)


_DIVIDED_BY = (4, 5)  # horizontal lines of one table
_FEWEST_ROWS = 2  # of a table beside a column of text
_EVEN = 1.3  # largest distance between them, of the least one, if each row has one


def _lined_markdown(page: _Page, box: _Box, middle: float, produced: Produced) -> str:
    left, top, right, bottom = box
    head: list[list[Field]] = []
    body: list[list[Field]] = []
    last = float("-inf")
    is_beside = False
    words = (word for line in page.lines for word in line if top <= word.centre < bottom)
    for word in words:
        if word.right < left or word.left > right:
            is_beside = True
            continue
        part = head if word.centre < middle else body
        if not part or word.centre - last > word.height / 2:
            part.append([])
        last = word.centre
        row, space = part[-1], word.height * _STRIPE
        field = Field(word.left, word.right, clean_title(in_reading_order(clean(word.text))))
        if row and field.start - row[-1].end < space:
            field = Field(row[-1].start, field.end, f"{row.pop().text} {field.text}")
        row.append(field)
    if is_beside and (len(body) < _FEWEST_ROWS or not head or min(map(len, (head[-1], body[0]))) < 2):
        return ""  # a remark in the margin
    rows = cells_between_gaps(head, body, unit=_POINTS)
    return Grid(rows, produced=produced).markdown() if rows else ""


def _is_faithful(parts: list[tuple[str, bool]], markdown: str, text: str) -> bool:
    """Whether no text is lost and the lines around the tables are lines of the plain text, not parts of two columns."""
    lost = Counter("".join(text.split())) - Counter("".join(markdown.split()))
    if sum(count for sign, count in lost.items() if sign not in _BULLETS) > len(text) * _MOST_LOST:
        return False
    plain = "".join(text.split())
    lines = ["".join(line.split()) for part, is_table in parts if not is_table for line in part.splitlines()]
    return sum(line in plain for line in lines) >= _LEAST_KEPT * len(lines)
