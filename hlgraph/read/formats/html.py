"""Reader of HTML pages: the main text as Markdown, without navigation and other boilerplate, with trafilatura."""

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
            favor_recall=True,  # keeping a menu costs less than losing a section
            include_comments=False,
            include_formatting=True,  # headings, lists and tables as Markdown
            with_metadata=True,
            # only what the page declares: an extensive search guesses from the prose, relative to today's date
            date_extraction_params={"original_date": True, "extensive_search": False},
        )
    except PARSER_ERRORS as error:
        raise ReadError(origin.uri, f"cannot be parsed as HTML ({error})") from error
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
