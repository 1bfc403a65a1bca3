"""Reader of EPUB books: the chapters in reading order, each read as an HTML page."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import Produced, check_package
from hlgraph.read.content import Origin, clean, clean_title, given_title
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats.html import Page, main_text
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")
_NAVIGATION = "application/x-dtbncx+xml"
_MOST_SHOWN = 5
_FIELDS = {
    "creator": "author",
    "date": "date",
    "language": "language",
    "publisher": "publisher",
    "description": "description",
}


def read_epub(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a book: the main text of its chapters as Markdown, and the metadata of its package file.

    Parameters
    ----------
    origin : the file; its stem is the title if the book names none
    data : the bytes of the file
    options : ``max_bytes`` limits the unpacked size, and the text in characters

    Raises
    ------
    MissingExtraError
        trafilatura is not installed.
    ReadError
        The file is damaged or encrypted, exceeds a limit of :mod:`hlgraph.read.bounds`, or holds no text.

    References
    ----------
    W3C, EPUB 3.3, "Package document" and "Open Container Format".
    """
    with needs_extra("epub", "reading EPUB"):
        import trafilatura  # noqa: F401
    produced = Produced(origin, len(data), options.max_bytes)
    check_package(origin, data, limit=options.max_bytes)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        place = _package_file(package)
        tree = _parsed(package.read(place))
        names, missing = _spine(tree, posixpath.dirname(place))
        if _is_locked(package, names):
            raise ReadError(origin.uri, "is encrypted against copying (DRM)", "export it without the encryption")
        missing += [name for name in names if name not in package.NameToInfo]
        pages = [(name, _page(origin, package, name, produced=produced)) for name in names if name not in missing]
    text = "\n\n".join(filter(None, (_chapter(page) for _, page in pages)))
    if not text:
        raise ReadError(origin.uri, "is empty: its chapters hold no text")
    title, metadata = _properties(tree)
    warnings = [f"{posixpath.basename(name)}: {warning}" for name, page in pages for warning in page.warnings]
    return Document(
        origin.uri,
        text,
        clean_title(title) or clean_title(origin.stem),
        metadata,
        warnings=(*_unread(missing), *_shortened(warnings)),
    )


def _unread(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = ", ".join(names[:_MOST_SHOWN]) + (", ..." if len(names) > _MOST_SHOWN else "")
    return (f"{len(names):,} chapters are missing or no text and were not read ({shown})",)


def _shortened(warnings: Sequence[str]) -> tuple[str, ...]:
    more = len(warnings) - _MOST_SHOWN
    return (*warnings[:_MOST_SHOWN], *((f"{more:,} more chapters have such warnings",) if more > 0 else ()))


def _properties(tree: Element) -> tuple[str, dict[str, MetadataValue]]:
    """The main title, and the metadata; a field that occurs several times, such as the author, has a list."""
    metadata: dict[str, MetadataValue] = {}
    for name, ours in _FIELDS.items():
        texts = tuple(dict.fromkeys(_texts(tree, name)))
        if texts:
            metadata[ours] = texts if len(texts) > 1 and name == "creator" else texts[0]
    kinds = {
        str(each.get("refines", "")).lstrip("#"): clean_title(str(each.text or ""))
        for each in tree.xpath("//*[local-name()='meta'][@property='title-type']")
    }
    titles = [
        (kinds.get(str(each.get("id", "")), ""), text)
        for each in tree.xpath("//*[local-name()='metadata']//*[local-name()='title']")
        if (text := clean_title(clean("".join(each.itertext()))))
    ]
    main = next(
        (text for kind, text in titles if kind == "main"), next((text for kind, text in titles if not kind), "")
    )
    main = main or (titles[0][1] if titles else "")
    if subtitle := next((text for kind, text in titles if kind == "subtitle" and text != main), ""):
        metadata["subtitle"] = subtitle
    return main if main.isdecimal() else given_title(main), metadata  # "1984"


def _texts(tree: Element, name: str) -> Iterator[str]:
    for each in tree.xpath(f"//*[local-name()='metadata']//*[local-name()='{name}']"):
        if text := clean("".join(each.itertext())).strip():
            yield text


def _parsed(data: bytes) -> Element:
    from lxml import etree

    # No entities and no network: a book may come from anywhere.
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def _package_file(package: zipfile.ZipFile) -> str:
    paths = _parsed(package.read(_CONTAINER)).xpath("//*[local-name()='rootfile']/@full-path")
    if not paths:
        raise ValueError("its container names no package file")
    return str(paths[0])


def _spine(tree: Element, folder: str) -> tuple[list[str], list[str]]:
    """The names of the chapters in reading order, and those that the package file does not list or that are no text."""
    entries = {
        str(entry.get("id")): entry for entry in tree.xpath("//*[local-name()='manifest']/*[local-name()='item']")
    }
    names: list[str] = []
    missing: list[str] = []
    references = tree.xpath("//*[local-name()='spine']/*[local-name()='itemref']/@idref")
    for reference in dict.fromkeys(map(str, references)):  # a chapter is read once
        entry = entries.get(reference)
        if entry is None:
            missing.append(reference)
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(str(entry.get("href", "")).partition("#")[0])))
        if entry.get("media-type") not in _PAGES:
            missing += [name] if entry.get("media-type") != _NAVIGATION else []
        elif "nav" not in str(entry.get("properties", "")).split():
            names.append(name)
    return names, missing


def _is_locked(package: zipfile.ZipFile, names: list[str]) -> bool:
    """Whether chapters are encrypted; many books encrypt their fonts only."""
    if _ENCRYPTION not in package.namelist():
        return False
    references = _parsed(package.read(_ENCRYPTION)).xpath("//*[local-name()='CipherReference']/@URI")
    return not set(names).isdisjoint(unquote(str(each)) for each in references)


def _page(origin: Origin, package: zipfile.ZipFile, name: str, *, produced: Produced) -> Page:
    data = package.read(name)
    if not data.strip() or _is_contents(data.partition(b"<body")[2].decode(errors="replace")):
        return Page("", "", {}, ())
    return main_text(origin, data, encoding=None, produced=produced, is_whole=True)


def _is_contents(body: str) -> bool:
    """Whether a page holds little else than links to other parts of the book."""
    links = _LINK.findall(body)
    shown, linked = (sum(map(str.isalpha, _TAG.sub("", text))) for text in (body, "".join(links)))
    return len(links) > 1 and shown <= linked + _HEADING


_LINK = re.compile(r"<a\b[^<>]*?\shref=[\"'](?![a-z]+:)[^\"'<>]*[\"'][^<>]*>(.{1,500}?)</a>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_HEADING = 40  # letters above the links


def _chapter(page: Page) -> str:
    """The text of a chapter; empty if it is only a picture."""
    if not page.text:
        return ""
    first = page.text.partition("\n")[0].lstrip("# ")
    if first == page.title:  # the main text of a short chapter loses its heading mark
        return f"# {first}{page.text.partition(first)[2]}"
    return page.text if page.text.startswith("#") or not page.title else f"# {page.title}\n\n{page.text}"


FORMAT = FileFormat("epub", suffixes=(".epub",), read=read_epub, mend="check it with epubcheck")
