"""Reader of PDF files: the text layer, page by page, with pypdf; ruled tables and tables of numbers as Markdown."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean, clean_title, parser_errors, tolerated
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import RuledTables, may_be_ruled, may_have_table, with_markdown
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_PAGE_BREAK = "\n\n"
_MOST_LOST = 0.005  # of the characters of a page
_MEND = "repair it, e.g. with qpdf"


def read_pdf(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a PDF: the text of its pages, separated by blank lines, and the offset at which each page begins.

    A table with ruled lines becomes Markdown, see :mod:`hlgraph.read.tables`. A page with another table of numbers is
    read line by line as it is laid out, and the table becomes Markdown, see
    :func:`hlgraph.read.tables.with_markdown`. Pages with text in columns, and pages whose layout lacks some of the text,
    keep the order of pypdf.

    Parameters
    ----------
    origin : the file; its stem is the title if the PDF names none
    data : its bytes
    options : ``max_bytes`` also limits the text, in characters; a PDF may hold 100 characters per byte, at least 8 MiB

    Raises
    ------
    MissingExtraError
        pypdf is not installed, or pdfplumber for a page with ruled lines, or the decryption library for an encrypted file.
    ReadError
        The file is damaged, needs a password, has no text layer, or its text is too large.
    """
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtraError("pdf", "reading PDF") from error
    with _locked_errors(origin):
        reader = PdfReader(io.BytesIO(data))
        # many files are encrypted with an empty password, only to forbid printing
        if reader.is_encrypted and not reader.decrypt(""):
            raise _locked(origin)
        count = len(reader.pages)
    pages = _pages(reader, data, count=count, produced=Produced(origin, len(data), options.max_bytes))
    if not any(pages):
        raise ReadError(origin.uri, "has no text layer; it may be a scan", "run OCR on it first, e.g. ocrmypdf")
    with _locked_errors(origin):
        title, metadata = _properties(reader)
    return Document(
        uri=origin.uri,
        text=_PAGE_BREAK.join(pages),
        title=title or clean_title(origin.stem),
        metadata={**metadata, "pages": count},
        page_starts=tuple(accumulate((len(page) + len(_PAGE_BREAK) for page in pages[:-1]), initial=0)),
    )


def _pages(reader: PdfReader, data: bytes, *, count: int, produced: Produced) -> list[str]:
    pages: list[str] = []
    tables = RuledTables(data, produced)
    for index in range(count):
        with (
            parser_errors(produced.origin.uri, "PDF", part=f"page {index + 1}", mend=_MEND),
            _locked_errors(produced.origin),
        ):
            page = reader.pages[index]
            pages.append(_ruled(tables, index, page) or _page(page))
        produced.add(pages[-1])  # a small file can repeat one long page a thousand times
    return pages


def _ruled(tables: RuledTables, index: int, page: PageObject) -> str:
    """The text of a page with ruled tables, as Markdown; empty for other pages."""
    content = page.get_contents()
    if content is None or not may_be_ruled(content.get_data()):
        return ""
    return tables.text_of(index, clean(page.extract_text()).strip())


def _page(page: PageObject) -> str:
    text = clean(page.extract_text()).strip()
    if not may_have_table(text):
        return text
    laid_out = ""
    with tolerated():
        laid_out = clean(page.extract_text(extraction_mode="layout", layout_mode_space_vertically=False))
    # The layout mode leaves out some text, such as the text of forms.
    lost = Counter("".join(text.split())) - Counter(laid_out)
    return (with_markdown(laid_out) if lost.total() <= len(text) * _MOST_LOST else "") or text


def _properties(reader: PdfReader) -> tuple[str, dict[str, MetadataValue]]:
    info = reader.metadata
    if info is None:
        return "", {}
    try:
        created = info.creation_date.isoformat() if info.creation_date else ""
    except ValueError:  # an invalid date is no reason to lose the text
        created = ""
    values = {"author": clean(str(info.author or "")).strip(), "created": created}
    return clean_title(clean(str(info.title or ""))), {name: value for name, value in values.items() if value}


def _locked(origin: Origin) -> ReadError:
    return ReadError(origin.uri, "is protected by a password", "decrypt it, e.g. qpdf --decrypt --password=...")


@contextmanager
def _locked_errors(origin: Origin) -> Iterator[None]:
    from pypdf.errors import DependencyError, FileNotDecryptedError

    try:
        yield
    except DependencyError as error:
        raise MissingExtraError("pdf", "reading encrypted PDF") from error
    except FileNotDecryptedError as error:
        raise _locked(origin) from error


FORMAT = FileFormat("pdf", suffixes=(".pdf",), read=read_pdf, mend=_MEND)
