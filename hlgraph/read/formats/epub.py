"""Reader of EPUB books: the chapters in reading order, each read as an HTML page."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced, check_package
from hlgraph.read.content import Origin, clean, clean_title
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats.html import main_text
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")
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
    try:
        import trafilatura  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("epub", "reading EPUB") from error
    produced = Produced(origin, len(data), options.max_bytes)
    check_package(origin, data, limit=options.max_bytes)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        place = _package_file(package)
        tree = _parsed(package.read(place))
        names = list(_spine(tree, posixpath.dirname(place)))
        if _is_locked(package, names):
            raise ReadError(origin.uri, "is encrypted against copying (DRM)", "export it without the encryption")
        chapters = [_chapter(origin, package, name, produced=produced) for name in names]
    text = "\n\n".join(filter(None, chapters))
    if not text:
        raise ReadError(origin.uri, "is empty: its chapters hold no text")
    values = {
        each: clean(str(tree.xpath(f"string(//*[local-name()='{each}'][1])"))).strip() for each in ("title", *_FIELDS)
    }
    metadata: dict[str, MetadataValue] = {ours: values[name] for name, ours in _FIELDS.items() if values[name]}
    return Document(origin.uri, text, clean_title(values["title"]) or clean_title(origin.stem), metadata)


def _parsed(data: bytes) -> Element:
    from lxml import etree

    # No entities and no network: a book may come from anywhere.
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def _package_file(package: zipfile.ZipFile) -> str:
    paths = _parsed(package.read(_CONTAINER)).xpath("//*[local-name()='rootfile']/@full-path")
    if not paths:
        raise ValueError("its container names no package file")
    return str(paths[0])


def _spine(tree: Element, folder: str) -> Iterator[str]:
    """The names of the chapters in reading order."""
    hrefs = {
        str(entry.get("id")): str(entry.get("href", ""))
        for entry in tree.xpath("//*[local-name()='manifest']/*[local-name()='item']")
        if entry.get("media-type") in _PAGES and "nav" not in str(entry.get("properties", "")).split()
    }
    for reference in tree.xpath("//*[local-name()='spine']/*[local-name()='itemref']/@idref"):
        href = hrefs.pop(str(reference), "")  # a chapter is read once
        if href:
            yield posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _is_locked(package: zipfile.ZipFile, names: list[str]) -> bool:
    """Whether chapters are encrypted; many books encrypt their fonts only."""
    if _ENCRYPTION not in package.namelist():
        return False
    references = _parsed(package.read(_ENCRYPTION)).xpath("//*[local-name()='CipherReference']/@URI")
    return not set(names).isdisjoint(unquote(str(each)) for each in references)


def _chapter(origin: Origin, package: zipfile.ZipFile, name: str, *, produced: Produced) -> str:
    """The text of a chapter; empty if it is only a picture or is missing from the file."""
    if name not in package.NameToInfo:
        return ""
    page = main_text(origin, package.read(name), encoding=None, produced=produced)
    if not page.text:
        return ""
    first = page.text.partition("\n")[0].lstrip("# ")
    if first == page.title:  # the main text of a short chapter loses its heading mark
        return f"# {first}{page.text.partition(first)[2]}"
    return page.text if page.text.startswith("#") or not page.title else f"# {page.title}\n\n{page.text}"


FORMAT = FileFormat("epub", suffixes=(".epub",), read=read_epub, mend="check it with epubcheck")
