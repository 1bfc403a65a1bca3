"""HTML: the main text of a page as Markdown, without navigation and other boilerplate, by trafilatura."""

from __future__ import annotations

import codecs
import re

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.content import Origin, clean, clean_title, decode, marked_encoding
from hlgraph.read.failure import PARSER_ERRORS
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document

_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,99}encoding=["']([\w.:-]+)""", re.I
)
_FIELDS = ("author", "date", "url", "description")


def read_html(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The one document of a page: main text, title, and what it says of author, date, url and description.

    Raises
    ------
    MissingExtraError
        trafilatura is not installed.
    ReadError
        The page cannot be decoded, or has no main text.
    """
    try:
        from trafilatura import bare_extraction
    except ImportError as error:
        raise MissingExtraError("html", "reading HTML") from error
    page = decode(origin, data, encoding=options.encoding or marked_encoding(data) or declared_encoding(data))
    if not re.search("<html", page, re.IGNORECASE):
        page = f"<html><body>{page}</body></html>"  # trafilatura takes whole pages only
    try:
        found = bare_extraction(
            page,
            favor_recall=True,  # a menu too many costs less than a section lost
            include_comments=False,
            include_formatting=True,  # headings, lists and tables as Markdown
            with_metadata=True,
            # from what the page declares; a wider search guesses from the prose, and by today's date
            date_extraction_params={"original_date": True, "extensive_search": False},
        )
    except PARSER_ERRORS as error:
        raise ReadError(origin.uri, f"is not HTML that can be parsed ({error})") from error
    text = clean(str(found.text or "")).strip() if found else ""
    if not text:
        raise ReadError(
            origin.uri, "no main text was found in the page", "read it with --format text to keep all of it"
        )
    values = {name: clean(str(getattr(found, name) or "")) for name in _FIELDS}
    return Document(
        uri=origin.uri,
        text=text,
        title=clean_title(clean(str(found.title or ""))) or clean_title(origin.stem),
        metadata={name: value for name, value in values.items() if value},
    )


def declared_encoding(data: bytes) -> str | None:
    """The encoding that the head of a page declares, as browsers take it, or None.

    ``latin-1`` and ASCII stand for Windows-1252 and a 16-bit encoding for UTF-8 (it could not have been read).

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
