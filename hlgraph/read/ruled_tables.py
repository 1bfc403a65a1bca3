"""Finds the tables of a PDF page that have ruled lines, and writes them as Markdown where they stand, with pdfplumber.

The text around them stays in the order of its lines. Where that cannot be told from the page (text in columns, text beside a
table), the page is left as it is.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.content import clean, clean_title
from hlgraph.read.failure import tolerated
from hlgraph.read.grid import grid

if TYPE_CHECKING:
    from pdfplumber import PDF
    from pdfplumber.page import Page
    from pdfplumber.table import Table

    from hlgraph.read.bounds import Produced

_MOST_CONTENT = 4 << 20  # bytes of the drawing operators of a page
_MOST_EDGES = 2_000  # the time of finding tables grows with their square
_MOST_LOST = 0.005  # of the characters of the page
_LEAST_KEPT = 0.8  # of the lines around tables, which the plain text of the page has too
_LEAST_FILLED = 0.4  # of the cells of a table
_RECTANGLE = re.compile(rb"\sre\s")
_VERTICAL = re.compile(rb"(-?[\d.]+) -?[\d.]+ m\s+\1 -?[\d.]+ l\s")


def may_be_ruled(content: bytes) -> bool:
    """Whether a page draws what tables have: four rectangles, or two vertical lines.

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
    return len(_RECTANGLE.findall(padded)) >= 4 or len(_VERTICAL.findall(padded)) >= 2


class RuledTables:
    """The ruled tables of a PDF, page by page; the file is opened for the first page that may have one.

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
        text : its text without tables, which the result is checked against

        Returns
        -------
        str
            Empty where the page has no such table, or where text would be lost or change its order.

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
        with tolerated():  # the text is there without it
            self._file = self._file or pdfplumber.open(io.BytesIO(self._data))
            page = self._page(self._file, index)
            parts = list(_parts(page, self._produced))
            page.close()
        found = "\n\n".join(part for part, _ in parts if part)
        if not any(is_table for _, is_table in parts) or not _is_faithful(parts, found, text):
            return ""
        return found

    def _page(self, file: PDF, index: int) -> Page:
        from pdfplumber.utils.exceptions import MalformedPDFException

        try:
            return file.pages[index]
        except MalformedPDFException as error:
            reason = f"page {index + 1} cannot be read as PDF ({error})"
            raise ReadError(self._produced.origin.uri, reason, "repair it, e.g. with qpdf") from None


def _parts(page: Page, produced: Produced) -> Iterator[tuple[str, bool]]:
    """The text above, between and below the tables, and the tables; whether each is a table."""
    if len(page.edges) > _MOST_EDGES:
        return
    top = page.bbox[1]
    for table in sorted(page.find_tables(), key=lambda each: (each.bbox[1], each.bbox[0])):
        markdown = _markdown(table, produced)
        if not markdown or table.bbox[1] < top:
            continue
        yield _band(page, top, table.bbox[1]), False
        yield markdown, True
        top = table.bbox[3]
    yield _band(page, top, page.bbox[3]), False


def _band(page: Page, top: float, bottom: float) -> str:
    left, _, right, _ = page.bbox
    if bottom - top < 1:
        return ""
    return clean(page.within_bbox((left, top, right, bottom)).extract_text()).strip()


def _markdown(table: Table, produced: Produced) -> str:
    rows = [{at: clean_title(clean(text)) for at, text in enumerate(row) if text} for row in table.extract()]
    width = max((max(row, default=-1) + 1 for row in rows), default=0)
    filled = sum(bool(text) for row in rows for text in row.values())
    is_table = width > 1 and sum(map(bool, rows)) > 1 and filled >= _LEAST_FILLED * width * len(rows)
    return grid([row for row in rows if row], width, produced=produced) if is_table else ""


def _is_faithful(parts: list[tuple[str, bool]], found: str, text: str) -> bool:
    """Whether nothing is lost, and the lines around the tables are lines of the plain text, not parts of two columns."""
    lost = Counter("".join(text.split())) - Counter("".join(found.split()))
    if lost.total() > len(text) * _MOST_LOST:
        return False
    plain = "".join(text.split())
    lines = ["".join(line.split()) for part, is_table in parts if not is_table for line in part.splitlines()]
    return sum(line in plain for line in lines) >= _LEAST_KEPT * len(lines)
