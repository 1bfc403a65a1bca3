"""Reader of HTML pages: the main text as Markdown, without navigation and other boilerplate, with trafilatura."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import MOST_ELEMENTS, Produced, refused
from hlgraph.read.content import Origin, clean, clean_title, decode, marked_encoding
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from trafilatura.settings import Document as ExtractedPage

_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,99}encoding=["']([\w.:-]+)""", re.I
)
_FIELDS = ("author", "date", "url", "description")
_LONG_TAG = re.compile(r"<[a-zA-Z][^<]{65536,}")
_ATTRIBUTE = re.compile(r"[\s/\"'][^\s\"'<>/=]+=")
_MOST_ATTRIBUTES = 1000  # per element; parsing time grows with their square
_WIDEST = 100  # columns that one cell may span: more than any page shows


def read_html(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a page: its main text, its title, and the author, date, url and description that it declares.

    Parameters
    ----------
    origin : the file; its stem is the title if the page has none
    data : the bytes of the page
    options : ``encoding`` overrides the byte order mark and the declared encoding

    Raises
    ------
    MissingExtraError
        trafilatura is not installed.
    ReadError
        The page cannot be decoded, has no main text, or holds more than a million elements or cells of tables.
    """
    try:
        import trafilatura  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("html", "reading HTML") from error
    page = main_text(origin, data, encoding=options.encoding, produced=Produced(origin, len(data), options.max_bytes))
    if not page.text:
        raise ReadError(
            origin.uri, "no main text was found in the page", "read it with --format text to keep all of it"
        )
    return Document(
        uri=origin.uri,
        text=page.text,
        title=page.title or clean_title(origin.stem),
        metadata=page.metadata,
        warnings=page.warnings,
    )


class Page(NamedTuple):
    """The main text and metadata of a page.

    Attributes
    ----------
    text : its main text, empty if it has none
    title : its title, empty if it declares none
    metadata : the fields that it declares
    warnings : about its encoding
    """

    text: str
    title: str
    metadata: dict[str, MetadataValue]
    warnings: tuple[str, ...]


def main_text(origin: Origin, data: bytes, *, encoding: str | None, produced: Produced) -> Page:
    """The main text of a page as Markdown.

    Parameters
    ----------
    origin : the file, named in errors
    data : the bytes of the page
    encoding : overrides the byte order mark and the declared encoding; None uses these, else a guess from the bytes
    produced : counts the text, and the cells of tables before they are built

    Returns
    -------
    Page

    Raises
    ------
    ReadError
        The page cannot be decoded, or exceeds a limit of :mod:`hlgraph.read.bounds`.
    """
    from trafilatura import load_html

    declared = marked_encoding(data) or declared_encoding(data)
    page, warnings = decode(origin, data, encoding=encoding or declared)
    _check_markup(origin, page)
    if not re.search("<html", page, re.IGNORECASE):
        page = f"<html><body>{page}</body></html>"  # trafilatura accepts whole pages only
    extracted = None
    tree = load_html(page)
    if tree is not None:
        _check_tables(tree, produced)
        extracted = _extracted(tree)
    text = produced.add(clean(str(extracted.text or "")).strip()) if extracted else ""
    values = {name: clean(str(getattr(extracted, name, None) or "")) for name in _FIELDS}
    title = clean_title(clean(str(extracted.title or ""))) if extracted else ""
    return Page(text, title, {name: value for name, value in values.items() if value}, warnings)


def _extracted(tree: HtmlElement) -> ExtractedPage | None:
    from trafilatura import bare_extraction

    extracted: ExtractedPage | None = bare_extraction(
        tree,
        favor_recall=True,  # keeping a menu costs less than losing a section
        include_comments=False,
        include_formatting=True,  # headings, lists and tables as Markdown
        with_metadata=True,
        # only what the page declares: an extensive search guesses from the prose, relative to today's date
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    return extracted


def _check_markup(origin: Origin, page: str) -> None:
    """Refuse a page with more than a million elements, or more than 1,000 attributes in one element, before it is parsed.

    The parser itself stops at 255 nested elements.
    """
    if page.count("<") - page.count("</") > MOST_ELEMENTS:
        raise refused(origin, "elements", limit=MOST_ELEMENTS)
    for match in _LONG_TAG.finditer(page):
        if len(_ATTRIBUTE.findall(match[0])) > _MOST_ATTRIBUTES:
            raise refused(origin, "attributes in one element", limit=_MOST_ATTRIBUTES)


def _check_tables(tree: HtmlElement, produced: Produced) -> None:
    """Count the cells of the tables, whose rows are as wide as the widest, and limit every colspan to 100 columns."""
    for table in tree.iter("table"):
        rows = widest = 0
        for row in table.xpath("./tr | ./*[not(self::tr)]/tr"):
            rows += 1
            widest = max(widest, sum(map(_narrowed, row.iterchildren("td", "th"))))
        produced.add_cells(rows * widest)


def _narrowed(cell: HtmlElement) -> int:
    """Number of columns that a cell spans, at most 100. Removes its rowspan, which no reader uses."""
    cell.attrib.pop("rowspan", None)
    given = str(cell.get("colspan", "1")).strip()
    span = int(given[:9]) if given[:9].isdecimal() else 1
    if span > _WIDEST:
        cell.set("colspan", str(_WIDEST))
    return max(1, min(span, _WIDEST))


def declared_encoding(data: bytes) -> str | None:
    """The encoding that the head of a page declares, interpreted as browsers do, or None.

    ``latin-1`` and ASCII mean Windows-1252. UTF-16 and UTF-32 mean UTF-8: the declaration itself would be unreadable
    otherwise.

    References
    ----------
    WHATWG, HTML, "prescan a byte stream to determine its encoding"; WHATWG, Encoding, "names and labels".

    Examples
    --------
    >>> declared_encoding(b'<html><head><meta charset="iso-8859-1">')
    'cp1252'
    """
    match = _DECLARED.search(data[:4096])
    if match is None:
        return None
    try:
        name = codecs.lookup((match.group(1) or match.group(2)).decode("ascii")).name
        "a".encode(name)
    except (LookupError, ValueError):
        return None
    if name.startswith(("utf-16", "utf-32")):
        return "utf-8"
    return "cp1252" if name in ("ascii", "iso8859-1") else name


FORMAT = FileFormat("html", suffixes=(".htm", ".html", ".xhtml"), read=read_html)
