"""Finds tables on PDF pages with pdfplumber, and writes them as Markdown in place.

A table has lines between its cells, or three horizontal lines: above it, below its header and below it. The text around tables
keeps the order of its lines. If the page does not allow that (text in columns, text beside a table), the page is left unchanged.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.content import clean, clean_title, tolerated
from hlgraph.read.print_order import CELL_BREAK, in_reading_order, is_rtl
from hlgraph.read.tables import Cell, Field, Grid, cells_between_gaps

if TYPE_CHECKING:
    from pdfplumber import PDF
    from pdfplumber.page import Page
    from pdfplumber.table import Table

    from hlgraph.read.bounds import Produced

_MOST_CONTENT = 4 << 20  # bytes of the drawing operators of a page
_MOST_EDGES = 2_000  # the time to find tables grows with their square
_MOST_LOST = 0.005  # of the characters of the page
_LEAST_KEPT = 0.8  # share of the lines around tables that the plain text of the page also has
_LEAST_FILLED = 0.4  # of the cells of a table
_SHORTEST = 60  # points of a line of a table
_STRIPE = 0.6  # least width of the white between two columns, of the height of the text
_POINTS = 5.0  # width of a character
_SAME = 1.5  # points by which lines of a table may be apart
_RECTANGLE = re.compile(rb"\s(-?[\d.]{1,20})\s(-?[\d.]{1,20})\sre\s")
_UNDERSCORE = 8.0  # TeX draws underscores as lines and rectangles that are shorter
_DIVIDED = re.compile(r"(?<=\w)([-\u2010\u2011\u00ad])\n(?=\w)")
_LINES = 3  # of a table without vertical lines: above it, below its header, below it
_HORIZONTAL = re.compile(rb"(-?[\d.]{1,20}) (-?[\d.]{1,20}) m\s+(-?[\d.]{1,20}) \2 l\s")
_VERTICAL = re.compile(rb"(-?[\d.]+) -?[\d.]+ m\s+\1 -?[\d.]+ l\s")


def may_be_ruled(content: bytes) -> bool:
    """Whether a page may draw a table: four rectangles, two vertical lines, or three horizontal ones of the same extent.

    Parameters
    ----------
    content : its drawing operators

    Examples
    --------
    >>> may_be_ruled(b"n 5 5 m 5 90 l S\\nn 9 5 m 9 90 l S\\n"), may_be_ruled(b"BT (words) Tj ET")
    (True, False)
    """
    if len(content) > _MOST_CONTENT:
        return False
    padded = b"\n" + content + b"\n"
    horizontal = Counter((left, right) for left, _, right in _HORIZONTAL.findall(padded) if _is_long(left, right))
    return (
        sum(_is_long(b"0", width) or _is_long(b"0", height) for width, height in _RECTANGLE.findall(padded)) >= 4
        or len(_VERTICAL.findall(padded)) >= 2
        or max(horizontal.values(), default=0) >= _LINES
    )


def _is_long(start: bytes, end: bytes) -> bool:
    try:
        return abs(float(end) - float(start)) >= _UNDERSCORE
    except ValueError:  # "1.2.3"
        return True


class RuledTables:
    """The ruled tables of a PDF, page by page. The file is opened at the first page that may have one.

    Parameters
    ----------
    data : the PDF
    produced : counts the cells
    """

    def __init__(self, data: bytes, produced: Produced) -> None:
        self._data = data
        self._produced = produced
        self._file: PDF | None = None

    def text_of(self, index: int, text: str) -> str:
        """The text of a page with its ruled tables as Markdown.

        Parameters
        ----------
        index : number of the page, from 0
        text : its plain text, against which the result is checked

        Returns
        -------
        str
            Empty if the page has no such table, or if text would be lost or change its order.

        Raises
        ------
        MissingExtraError
            pdfplumber is not installed.
        ReadError
            The box of the page holds no numbers.
        """
        try:
            import pdfplumber
        except ImportError as error:
            raise MissingExtraError("pdf", "reading tables of PDF") from error
        parts: list[tuple[str, bool]] = []
        with tolerated():  # the page has its plain text
            self._file = self._file or pdfplumber.open(io.BytesIO(self._data))
            page = self._page(self._file, index)
            parts = list(_parts(page, self._produced))
            page.close()
        markdown = "\n\n".join(part for part, _ in parts if part)
        if not any(is_table for _, is_table in parts) or not _is_faithful(parts, markdown, text):
            return ""
        return markdown

    def in_reading_order(self, index: int, text: str) -> str:
        """The text of a page with right-to-left text, in the order of its lines and of reading.

        Parameters
        ----------
        index : number of the page, from 0
        text : its plain text, which is returned if some of it would be lost
        """
        import pdfplumber

        ordered = ""
        with tolerated():
            self._file = self._file or pdfplumber.open(io.BytesIO(self._data))
            page = self._page(self._file, index)
            ordered = in_reading_order(clean(page.extract_text()).strip())
            page.close()
        lost = Counter("".join(text.split())) - Counter("".join(ordered.split()))
        return text if lost.total() > len(text) * _MOST_LOST else ordered

    def _page(self, file: PDF, index: int) -> Page:
        from pdfplumber.utils.exceptions import MalformedPDFException

        try:
            return file.pages[index]
        except MalformedPDFException as error:
            reason = f"page {index + 1} cannot be read as PDF ({error})"
            raise ReadError(self._produced.origin.uri, reason, "repair it, e.g. with qpdf") from None


def _parts(page: Page, produced: Produced) -> Iterator[tuple[str, bool]]:
    """The text above, between and below the tables, and the tables, each with whether it is a table."""
    if len(page.edges) > _MOST_EDGES:
        return
    top = page.bbox[1]
    tables = [(each.bbox[1], each.bbox[3], _ruled_markdown(each, produced)) for each in page.find_tables()]
    tables += _lined_tables(page, produced)
    for start, end, markdown in sorted(tables):
        if not markdown or start < top:
            continue
        yield _band(page, top, start), False
        yield markdown, True
        top = end
    yield _band(page, top, page.bbox[3]), False


def _band(page: Page, top: float, bottom: float) -> str:
    if bottom - top < 1:
        return ""

    def is_within(glyph: dict[str, Any]) -> bool:
        return glyph["object_type"] == "char" and bool(top <= (glyph["top"] + glyph["bottom"]) / 2 < bottom)

    return in_reading_order(clean(page.filter(is_within).extract_text()).strip())


def _ruled_markdown(table: Table, produced: Produced) -> str:
    rows = _ruled_cells(table)
    if is_rtl(" ".join(cell.text for row in rows for cell in row)):
        width = max((cell.column or 0) + cell.width for row in rows for cell in row)
        turned = [[cell._replace(column=width - (cell.column or 0) - cell.width) for cell in row] for row in rows]
        rows = [sorted(row, key=lambda cell: cell.column or 0) for row in turned]
    width = max(map(len, rows), default=0)
    filled = sum(bool(cell.text) for row in rows for cell in row)
    has_rows = sum(any(cell.text for cell in row) for row in rows) > 1
    is_table = width > 1 and has_rows and filled >= _LEAST_FILLED * width * len(rows)
    return Grid(rows, produced=produced).markdown() if is_table else ""


def _ruled_cells(table: Table) -> list[list[Cell]]:
    """The cells of each row with the rows and columns that they span, from their boxes."""
    boxes = [box for row in table.rows for box in row.cells if box is not None]
    lefts, tops = (_apart(box[at] for box in boxes) for at in (0, 1))
    rows: list[list[Cell]] = []
    for row, texts in zip(table.rows, table.extract(), strict=True):
        cells: list[Cell] = []
        for box, text in zip(row.cells, texts, strict=True):
            if box is not None:
                column = bisect_right(lefts, box[0] + _SAME) - 1
                width = bisect_left(lefts, box[2] - _SAME) - column
                height = bisect_left(tops, box[3] - _SAME) - bisect_right(tops, box[1] + _SAME) + 1
                cells.append(Cell(_cell_text(text or ""), max(1, width), max(1, height), column=column))
        rows.append(cells)
    return rows


def _apart(places: Iterable[float]) -> list[float]:
    """The places in order, without those that are the same but for rounding."""
    apart: list[float] = []
    for place in sorted(places):
        if not apart or place - apart[-1] > 2 * _SAME:
            apart.append(place)
    return apart


def _cell_text(text: str) -> str:
    lines = in_reading_order(clean(text))
    return clean_title(_DIVIDED.sub(rf"\1{CELL_BREAK}", lines))


# Tables with three horizontal lines: columns are what stands between the white stripes of the body.


def _lined_tables(page: Page, produced: Produced) -> Iterator[tuple[float, float, str]]:
    """The tables between three horizontal lines of the same extent: their top, their bottom, and their Markdown."""
    lines: dict[tuple[int, int], list[float]] = {}
    for edge in page.edges:
        if edge["orientation"] == "h" and edge["x1"] - edge["x0"] > _SHORTEST:
            lines.setdefault((round(edge["x0"] / _SAME), round(edge["x1"] / _SAME)), []).append(edge["top"])
    if any(edge["orientation"] == "v" for edge in page.edges):
        return
    for extent, places in lines.items():
        tops = _apart(places)
        for top, middle, bottom in zip(tops[::3], tops[1::3], tops[2::3], strict=False):
            left, right = extent[0] * _SAME, extent[1] * _SAME
            box = (max(left - 4, page.bbox[0]), top, min(right + 4, page.bbox[2]), bottom)
            markdown = _lined_markdown(page, box, middle, produced) if len(tops) % _LINES == 0 else ""
            yield top, bottom, markdown


def _lined_markdown(page: Page, box: tuple[float, float, float, float], middle: float, produced: Produced) -> str:
    left, top, right, bottom = box
    head: list[list[Field]] = []
    body: list[list[Field]] = []
    last = float("-inf")
    for word in _words_within(page, top, bottom):
        centre = (word["top"] + word["bottom"]) / 2
        if word["x1"] < left or word["x0"] > right:
            return ""  # text beside the table
        part = head if centre < middle else body
        if not part or centre - last > (word["bottom"] - word["top"]) / 2:
            part.append([])
        last = centre
        row, space = part[-1], (word["bottom"] - word["top"]) * _STRIPE
        field = Field(word["x0"], word["x1"], clean_title(in_reading_order(clean(word["text"]))))
        if row and field.start - row[-1].end < space:
            field = Field(row[-1].start, field.end, f"{row.pop().text} {field.text}")
        row.append(field)
    rows = cells_between_gaps(head, body, unit=_POINTS)
    return Grid(rows, produced=produced).markdown() if rows else ""


def _words_within(page: Page, top: float, bottom: float) -> list[dict[str, Any]]:
    """The words between two heights, line by line."""
    words = [each for each in page.extract_words() if top <= (each["top"] + each["bottom"]) / 2 < bottom]
    lines: list[list[dict[str, Any]]] = []
    for word in sorted(words, key=lambda each: (each["top"] + each["bottom"]) / 2):
        centre = (word["top"] + word["bottom"]) / 2
        if (
            not lines
            or centre - (lines[-1][0]["top"] + lines[-1][0]["bottom"]) / 2 > (word["bottom"] - word["top"]) / 2
        ):
            lines.append([])
        lines[-1].append(word)
    return [word for line in lines for word in sorted(line, key=lambda each: each["x0"])]


def _is_faithful(parts: list[tuple[str, bool]], markdown: str, text: str) -> bool:
    """Whether no text is lost and the lines around the tables are lines of the plain text, not parts of two columns."""
    lost = Counter("".join(text.split())) - Counter("".join(markdown.split()))
    if lost.total() > len(text) * _MOST_LOST:
        return False
    plain = "".join(text.split())
    lines = ["".join(line.split()) for part, is_table in parts if not is_table for line in part.splitlines()]
    return sum(line in plain for line in lines) >= _LEAST_KEPT * len(lines)
