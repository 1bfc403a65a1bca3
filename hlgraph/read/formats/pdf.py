"""Reader of PDF files: the text layer, page by page, with pdfium; ruled tables and tables of numbers as Markdown."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from hlgraph.errors import MissingExtraError, ReadError, needs_extra
from hlgraph.read.bounds import Produced, refused
from hlgraph.read.content import Origin, clean, clean_title, given_properties, given_title, parser_errors, tolerated
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.pdf_tables import PageTexts, may_have_table
from hlgraph.read.print_order import (
    PrintedLine,
    has_rtl,
    rejoined,
    with_bullets,
    with_headings,
    with_own_numbers,
    without_running_lines,
)
from hlgraph.records import PAGE_BREAK, Document, MetadataValue

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader
    from pypdf.generic import DictionaryObject

_BREAK = f"\n{PAGE_BREAK}\n"
_MOST_LOST = 0.005  # of the characters of a page
_MOST_PARENTS = 32
_MOST_FORMS = 10_000  # drawn on a page, with those in forms: bounds the time that it takes
_DRAWS = re.compile(rb"/([^\s/\[\]<>(){}%]{1,127})\s+Do\b")
_PRINTED_FROM = re.compile(
    r"^((?:https?|file)://\S+) \d{1,3}/\d{1,3}$", re.MULTILINE
)  # below a page that a browser printed
_PRINTED_AT = re.compile(r"^\d{1,4}[-/.]\d\d?[-/.]\d{2,4}, \d\d?:\d\d(?: [AP]M)?(?: .*)?$\n?", re.MULTILINE)  # above it
_NO_HEADING = re.compile(r"^(?=#{1,6}[ \t])", re.MULTILINE)
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_NO_COMMENTS = ("/Link", "/Popup")
_PASSWORD = 1 << 13
_MOST_SHORT, _SHORT = 3, 30  # lines below each other that may be rows of a table; characters of such a line
_MEND = "repair it, e.g. with qpdf"


def read_pdf(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a PDF: the text of its pages, separated by blank lines, and the offset at which each page begins.

    A table with ruled lines becomes Markdown, see :mod:`hlgraph.read.pdf_tables`. A page with another table of numbers is
    read line by line as it is laid out, and the table becomes Markdown, see
    :func:`hlgraph.read.tables.tables_in`. Pages with text in columns, and pages whose layout lacks some of the text,
    keep the order in which they are drawn.

    Parameters
    ----------
    origin : the file; its stem is the title if the PDF names none
    data : its bytes
    options : ``max_bytes`` also limits the text, in characters; a PDF may hold 100 characters per byte, at least 8 MiB

    Raises
    ------
    MissingExtraError
        A library of the extra ``pdf`` is not installed.
    ReadError
        The file is damaged, needs a password, has no text layer, draws more than 10,000 forms on a page, or its text is too large.
    """
    with needs_extra("pdf", "reading PDF"):
        from pypdf import PdfReader
    with _locked_errors(origin):
        reader = PdfReader(io.BytesIO(data))
        # many files are encrypted with an empty password, only to forbid printing
        if reader.is_encrypted and not reader.decrypt(""):
            raise _locked(origin)
        count = len(reader.pages)
    produced = Produced(origin, len(data), options.max_bytes)
    pages, comments = _pages(reader, data, count=count, produced=produced)
    if not any(pages):
        raise ReadError(origin.uri, "has no text layer; it may be a scan", "run OCR on it first, e.g. ocrmypdf")
    with _locked_errors(origin):
        title, metadata = _properties(reader)
    return Document(
        uri=origin.uri,
        text=_BREAK.join(pages),
        title=title or _only_title(pages) or clean_title(origin.stem),
        metadata={**metadata, "pages": count},
        page_starts=tuple(accumulate((len(page) + len(_BREAK) for page in pages[:-1]), initial=0)),
        warnings=(f"{comments:,} comments were not read",) if comments else (),
    )


def _pages(reader: PdfReader, data: bytes, *, count: int, produced: Produced) -> tuple[list[str], int]:
    """The texts of the pages, and the number of comments on them."""
    pages: list[str] = []
    printed: list[list[PrintedLine]] = []
    comments = 0
    texts: PageTexts | None = None
    with tolerated():  # pypdf opens some files that pdfium refuses
        texts = PageTexts(data, produced)
    forms: dict[int, int] = {}
    for index in range(count):
        with (
            parser_errors(produced.origin.uri, "PDF", part=f"page {index + 1}", mend=_MEND),
            _locked_errors(produced.origin),
        ):
            page = reader.pages[index]
            if _xobjects(page) and _count_forms(page, _content(page), forms) > _MOST_FORMS:
                raise refused(produced.origin, f"drawn forms on page {index + 1}", limit=_MOST_FORMS)
            text = _page(texts, index) if texts else _without_breaks(page.extract_text())
            if _PRINTED_FROM.search(text):
                text = _PRINTED_AT.sub("", _PRINTED_FROM.sub("" if index else r"\n\1", text)).strip()
            if not text:
                _content(page)  # raises an error if it is damaged, of which pdfium says nothing
            lines, count_here = _entries(page) if texts is None or texts.has_notes(index) else ([], 0)
            comments += count_here
        printed.append([])
        with tolerated():
            printed[-1] = texts.printed(index) if texts and text and not has_rtl(text) else []
        pages.append("\n\n".join(filter(None, (text, *lines))))
        produced.add(pages[-1])  # a small file can repeat one long page a thousand times
    # a line of a page that begins with "# " is code, no heading of Markdown
    plain = [
        _NO_HEADING.sub("    ", page) for page in rejoined(without_running_lines(with_own_numbers(pages, printed)))
    ]
    return [with_bullets(page) for page in with_headings(plain, printed)], comments


def _only_title(pages: Sequence[str]) -> str:
    """The heading of the first page that is the only one of the highest level but for numbered parts; empty if there is none."""
    every = [(at, line[2:]) for at, page in enumerate(pages) for line in page.split("\n") if line.startswith("# ")]
    titles = [(at, title) for at, title in every if not title[:1].isdigit()]  # "1 Scope" is a part
    return clean_title(titles[0][1]) if len(titles) == 1 and titles[0] == every[0] and not titles[0][0] else ""


def _without_breaks(text: str) -> str:
    return clean(text).replace(PAGE_BREAK, "\n").strip()


def _content(page: PageObject) -> bytes:
    """The drawing operators of a page."""
    content = page.get_contents()
    return b"" if content is None else content.get_data()


def _xobjects(part: DictionaryObject) -> DictionaryObject | None:
    """The forms and images that a page or form can draw, by their names."""
    from pypdf.generic import DictionaryObject

    for name in ("/Resources", "/XObject"):
        inner = part.get(name)
        inner = None if inner is None else inner.get_object()
        if not isinstance(inner, DictionaryObject):
            return None
        part = inner
    return part


def _count_forms(part: DictionaryObject, content: bytes, seen: dict[int, int]) -> int:
    """Number of forms that the drawing operators of a page or form draw, with the forms in these.

    Parameters
    ----------
    part : the page or form
    content : its drawing operators
    seen : the numbers of the forms that are counted already, by the number of their object
    """
    count = 0
    for name, times in Counter(_DRAWS.findall(content)).items():
        forms, key = _xobjects(part), f"/{name.decode('latin-1')}"
        reference = forms.raw_get(key) if forms and key in forms else None
        form = None if reference is None else reference.get_object()
        if form is None or form.get("/Subtype") != "/Form":
            continue
        number = getattr(reference, "idnum", id(form))
        if number not in seen:
            seen[number] = 0  # a form that draws itself
            seen[number] = 1 + _count_forms(form, form.get_data(), seen)
        count += times * seen[number]
    return count


def _has_short_lines(text: str) -> bool:
    """Whether a text has three short lines below each other, which may be the rows of a table of words."""
    count = 0
    for line in text.splitlines():
        count = count + 1 if len(line) <= _SHORT else 0
        if count == _MOST_SHORT:
            return True
    return False


def _page(texts: PageTexts, index: int) -> str:
    """The text of a page, with its tables as Markdown."""
    text = texts.plain(index)
    if _EAST_ASIAN.search(text) and texts.is_vertical(index):
        return text  # its lines are no columns of a table
    if has_rtl(text):
        text = texts.in_reading_order(index, text)
    if markdown := texts.with_ruled_tables(index, text):
        return markdown
    has_numbers = may_have_table(text)
    if has_rtl(text) or not (has_numbers or _has_short_lines(text)):
        return text
    laid_out = ""
    with tolerated():
        laid_out = texts.laid_out(index)
    lost = Counter("".join(text.split())) - Counter(laid_out)
    if lost.total() > len(text) * _MOST_LOST:
        return text
    return texts.laid_out_tables(index, laid_out, has_numbers=has_numbers) or text


def _entries(page: PageObject) -> tuple[list[str], int]:
    """The values of the fields of a form, each with its name, the texts written on the page, and the number of comments."""
    lines: list[str] = []
    comments = 0
    with tolerated():
        for reference in page.get("/Annots") or ():
            note = reference.get_object()
            if note.get("/Subtype") == "/FreeText":
                lines.append(clean_title(clean(str(note.get("/Contents") or ""))))
            elif note.get("/Subtype") == "/Widget":
                lines.append(_entry(note))
            else:
                comments += bool(note.get("/Contents")) and note.get("/Subtype") not in _NO_COMMENTS
    return lines, comments


def _entry(field: DictionaryObject) -> str:
    """A line with the name and the value of a field; empty if it has none or is a password."""
    name, value, kind, flags = "", None, "", 0
    part: Any = field
    for _ in range(_MOST_PARENTS):  # in a damaged file a field may be its own parent
        if part is None:
            break
        part = part.get_object()
        name = name or str(part.get("/TU") or part.get("/T") or "")
        value = part.get("/V") if value is None else value
        kind = kind or str(part.get("/FT") or "")
        flags = flags or int(part.get("/Ff") or 0)
        part = part.get("/Parent")
    if kind == "/Btn":
        value = field.get("/AS", value)
        value = None if value == "/Off" else str(value or "").lstrip("/")
    if not value or flags & _PASSWORD:
        return ""
    values = value if isinstance(value, list) else [value]
    text = clean_title(
        clean(", ".join(str(each.get_object() if hasattr(each, "get_object") else each) for each in values))
    )
    return f"{clean_title(clean(name))}: {text}" if text and name else text


def _properties(reader: PdfReader) -> tuple[str, dict[str, MetadataValue]]:
    info = reader.metadata
    if info is None:
        return "", {}
    try:
        created = info.creation_date.isoformat() if info.creation_date else ""
    except ValueError:  # an invalid date is no reason to lose the text
        created = ""
    values = {"author": clean(str(info.author or "")).strip(), "created": created}
    title = clean_title(clean(str(info.title or "")))
    return given_title(title), given_properties({name: value for name, value in values.items() if value})


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
