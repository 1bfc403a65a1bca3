"""Expands paths into the sources to read: files, folders, globs, S3 paths, results of queries and standard input (``-``).

:func:`discover` expands paths into :class:`Input` sources. :func:`covered` and :func:`source_uri` give the URIs under which
they are stored. :func:`format_by_content` tells the format of a file without a known suffix by its first bytes.
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import quote

from hlgraph import progress
from hlgraph.errors import InputError, MissingExtraError, ReadError
from hlgraph.read import formats
from hlgraph.read.content import (
    Origin,
    ReadFailure,
    failure,
    found_encoding,
    is_query,
    marked_encoding,
    not_installed,
    without_gz,
)
from hlgraph.read.outcomes import EMPTY, HIDDEN, HIDDEN_FOLDER, SETTINGS, STORE, WALKED, Files
from hlgraph.read.s3 import SCHEME, S3Object, objects, place_of

STDIN = "-"
STDIN_URI = "stdin:"
ADDRESS = re.compile(r"(?i)(?:https?|ftp|file|gs|az|abfss?)://")
DOWNLOAD = "download it, and name the file"
"""What helps against an address in place of a path."""
_DATABASE = "hlgraph.db"  # in the folder of an embedded store
_SETTINGS = "hlgraph.yaml"
_HIDDEN = (".", "~$")  # "~$" begins the names of Office lock files


@dataclass(frozen=True, slots=True)
class Input:
    """One source to read: a file, an S3 object, the result of a query, or standard input.

    Attributes
    ----------
    path : the file, else None
    origin : URI and file name
    format : one of ``FORMATS``, None for an unknown suffix
    s3_object : the S3 object, else None; the result of a query and standard input have neither
    """

    path: Path | None
    origin: Origin
    format: str | None
    s3_object: S3Object | None = None


def discover(
    paths: Sequence[str], format_name: str | None = None, *, follow_links: bool = False, files: Files | None = None
) -> Iterator[Input | ReadFailure]:
    """The sources that paths stand for, in the order of the paths, sorted by name within a folder or glob.

    A folder is walked recursively. A link that leads out of the folder is refused. Otherwise anybody who may write into the
    folder could have any file ingested that the caller may read. A path that is itself a link is followed, because the caller
    named it. Hidden files and folders, empty files, ``hlgraph.yaml`` and the folders of embedded stores are skipped. So are
    files in folders that have no reader, unless ``format_name`` is
    given; ``files`` lists what was left out. A file without a suffix, or named like a README or a manual page, has a reader
    if its content is text, HTML or a known packed format. A glob matches files only. ``s3://bucket/key`` is one object,
    ``s3://bucket/folder/`` a folder. ``sql:NAME`` is the result of the query of
    a mapping of rows. A source that several paths reach is yielded once.

    Parameters
    ----------
    paths : files, folders, globs, S3 paths, ``sql:NAME``, or ``-`` for standard input
    format_name : one of ``FORMATS`` for every source; default None, by suffix
    follow_links : follow links out of the folder, or out of the folder before the first wildcard; default False
    files : receives what is found and what is left out; default None, no list is made

    Returns
    -------
    Iterator[Input | ReadFailure]
        A failure for each path that does not exist, cannot be listed, or yields nothing to read, and for each refused link.
    """
    seen: set[str] = set()
    noted = Files() if files is None else files
    for path in paths:
        for source in _expand(path, format_name, noted, follow_links=follow_links):
            uri = source.uri if isinstance(source, ReadFailure) else source.origin.uri
            if uri in seen:
                continue
            seen.add(uri)
            noted.find(uri)
            if isinstance(source, ReadFailure):
                noted.fail(uri)
            yield source


def expected(
    paths: Sequence[str], format_name: str | None = None, *, follow_links: bool = False
) -> tuple[int, int] | None:
    """Number and total size in bytes of the files that paths stand for, to estimate how long an ingest takes.

    Parameters
    ----------
    paths, format_name, follow_links : as for :func:`discover`

    Returns
    -------
    tuple[int, int] | None
        None if the paths include standard input, the result of a query, or S3, whose listing costs requests.
    """
    if any(path == STDIN or is_s3(path) or is_query(path) for path in paths):
        return None
    count = size = 0
    with progress.step("look", unit="files") if paths else contextlib.nullcontext():
        for source in discover(paths, format_name, follow_links=follow_links):
            if isinstance(source, Input):
                count += 1
                size += size_of(source)
                progress.advance("look")
    return count, size


def is_missing(path: str) -> bool:
    """Whether a path is the name of a file or folder that does not exist; not a glob, an address, a query or standard input."""
    if path == STDIN or is_s3(path) or is_query(path) or path.startswith("s3:/") or glob.has_magic(path):
        return False
    try:
        return bool(path) and _is_nameable(path) and not os.path.lexists(path)
    except (OSError, ValueError):
        return False


def size_of(source: Input) -> int:
    """Size of a file, bytes; 0 if the source is not a file. A file that is gone counts as 0, and reading it reports that."""
    try:
        return 0 if source.path is None else source.path.stat().st_size
    except OSError:
        return 0


def covered(paths: Sequence[str]) -> tuple[str, ...]:
    """The URIs that cover the stored sources of these paths, for finding sources that are gone; see ``is_covered``.

    A folder gives its URI ending in ``/``. A file gives its URI, and the same ending in ``#`` for its rows. In S3 the path
    itself tells a folder from an object. Standard input, globs and paths that do not exist give nothing, since they do
    not say which sources they no longer hold. A stored source is gone if it is covered, was not read again and is not
    protected by a failure. That includes a file that its folder now skips.
    """
    names: dict[str, None] = {}
    for path in paths:
        if path in ("", STDIN) or not _is_nameable(path):
            continue
        if is_query(path):
            names |= dict.fromkeys((path, f"{path}#"))
            continue
        if is_s3(path):
            place = place_of(path)
            names |= dict.fromkeys((place.uri,) if place.is_folder else (place.uri, f"{place.uri}#"))
            continue
        absolute = _absolute(path)
        try:
            mode = absolute.stat().st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            names[_folder_uri(absolute)] = None
        else:
            names |= dict.fromkeys((absolute.as_uri(), f"{absolute.as_uri()}#"))
    return tuple(names)


def source_uri(path: str) -> str:
    """The URI under which the file at a path is stored; a ``file:``, ``stdin:`` or ``sql:`` URI is returned unchanged.

    Raises
    ------
    InputError
        No file can have this path.

    Examples
    --------
    >>> source_uri("stdin:#7")
    'stdin:#7'
    """
    if path.startswith(("file:", STDIN_URI)) or is_query(path):
        return path
    if not path or not _is_nameable(path):
        raise InputError(f"{path!r} is not a path; give a path or a uri")
    if is_s3(path):
        return place_of(path).uri
    return _absolute(path).as_uri()


def _expand(path: str, format_name: str | None, files: Files, *, follow_links: bool) -> Iterator[Input | ReadFailure]:
    if path == STDIN:
        yield Input(None, Origin(STDIN_URI), format_name or "text")
        return
    if not path or not _is_nameable(path):
        yield failure(quote(path, errors="replace"), "is not a path")
        return
    if is_query(path):
        yield Input(None, Origin(path), "jsonl")
        return
    if is_s3(path):
        yield from _in_s3(path, format_name, files)
        return
    if path.startswith("s3:/"):  # Path("s3://...") collapses the slashes
        yield failure(path, "has lost a slash", mend="give s3://bucket/key as text, not as a Path")
        return
    if ADDRESS.match(path):
        yield failure(path, "is an address, and no address is fetched", mend=DOWNLOAD)
        return
    absolute = _absolute(path)
    try:
        is_folder = absolute.is_dir()
    except OSError:  # for example a name that is too long: opening it reports that
        is_folder = False
    if is_folder:
        yield from _walk(absolute, format_name, files, follow_links=follow_links)
    elif glob.has_magic(path) and not os.path.lexists(absolute):
        matches = [Path(match) for match in sorted(glob.glob(str(absolute), recursive=True))]  # noqa: PTH207 - pathlib's shows hidden files
        root = _plain_part(absolute)
        sources = [
            _input_of(match, format_name) if follow_links or not _leads_out(match, root) else _refused(match, root)
            for match in matches
            if not match.is_dir()
        ]
        yield from sources or [
            failure(absolute.as_uri(), "no file matches", mend="quote the pattern, or check it with ls")
        ]
    else:
        yield _input_of(absolute, format_name)


def _input_of(path: Path, format_name: str | None) -> Input | ReadFailure:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        is_link = path.is_symlink()
        return failure(path.as_uri(), "is a link to a file that does not exist" if is_link else "does not exist")
    except OSError as error:
        return failure(path.as_uri(), error.strerror or str(error))
    if not stat.S_ISREG(mode):  # reading a pipe or a device may never end
        return failure(path.as_uri(), "is not a regular file", mend="pipe it in, with - as the path")
    name = os.fsencode(path.name).decode("utf-8", "replace")
    return Input(path, Origin(path.as_uri(), name), format_name or format_of(name))


def _in_s3(path: str, format_name: str | None, files: Files) -> Iterator[Input | ReadFailure]:
    place = place_of(path)
    is_empty = True
    try:
        for s3_object in objects(path):
            inner = s3_object.place.key.removeprefix(place.key) if place.is_folder else ""
            name = s3_object.place.key.rpartition("/")[2]
            reason = "" if all(map(_is_shown, inner.split("/"))) else HIDDEN
            if place.is_folder and not reason:
                reason = _unreadable(name, s3_object, format_name)
            if reason:
                files.leave_out(s3_object.place.uri, reason)
                continue
            is_empty = False
            yield Input(None, Origin(s3_object.place.uri, name), format_name or format_of(name), s3_object)
    except ReadError as error:
        yield ReadFailure(error.uri, error)
        return
    except MissingExtraError as error:
        yield not_installed(place.uri, error)
        return
    if is_empty:
        yield failure(place.uri, "holds no object that can be read", mend="check the path, or give a --format")


def _unreadable(name: str, file: Path | S3Object, format_name: str | None) -> str:
    """Why a file in a folder is left out, by its name, else by its content; empty if it is read."""
    if format_name is not None or _is_readable(name, file):
        return ""
    if isinstance(file, Path) and not file.exists():
        return "link to a file that does not exist"
    return f"no reader for {Path(name).suffix.lower() or 'files without a suffix'}"


def _walk(root: Path, format_name: str | None, files: Files, *, follow_links: bool) -> Iterator[Input | ReadFailure]:
    is_empty = True
    errors: list[OSError] = []
    entered = {root.resolve()}
    for folder, folders, names in os.walk(root, onerror=errors.append, followlinks=True):
        here = Path(folder)
        entering: list[str] = []
        for name in sorted(folders):
            if not _is_shown(name):
                files.leave_out(_folder_uri(here / name), HIDDEN_FOLDER)
            elif (here / name / _DATABASE).is_file():
                files.leave_out(_folder_uri(here / name), STORE)
            elif not follow_links and _is_link_out(here / name, root):
                is_empty = False
                yield _refused(here / name, root)
            elif _enters(here / name, root, entered):
                entering.append(name)
            else:
                files.leave_out(_folder_uri(here / name), WALKED)
        folders[:] = entering
        for name in sorted(names):
            reason = _unreadable(name, here / name, format_name) if _is_shown(name) else HIDDEN
            reason = reason or (SETTINGS if name == _SETTINGS and format_name is None else "")
            reason = reason or (EMPTY if _is_empty(here / name) else "")
            if reason:
                files.leave_out((here / name).as_uri(), reason)
            else:
                is_empty = False
                is_refused = not follow_links and _is_link_out(here / name, root)
                yield _refused(here / name, root) if is_refused else _input_of(here / name, format_name)
    for error in errors:
        is_empty = False
        yield failure(_folder_uri(Path(str(error.filename))), f"cannot be listed: {error.strerror}")
    if is_empty:
        yield failure(_folder_uri(root), "holds no file that can be read", mend="check the path, or give a --format")


def _is_empty(path: Path) -> bool:
    """Whether a file holds nothing; reading reports one that cannot be examined, and anything but a regular file."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def _leads_out(path: Path, root: Path) -> bool:
    """Whether a path in a folder leads out of it by a link."""
    try:
        return not path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # circular links: opening the path reports that
        return False


def _is_link_out(path: Path, root: Path) -> bool:
    return path.is_symlink() and _leads_out(path, root)


def _refused(link: Path, root: Path) -> ReadFailure:
    uri = _folder_uri(link) if link.is_dir() else link.as_uri()
    mend = "name what it leads to as a path, or add --follow-links"
    return failure(uri, f"leads out of {root} by a link", mend=mend)


def _plain_part(pattern: Path) -> Path:
    """The folder before the first wildcard of a pattern."""
    parts = list(itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts))
    return Path(*parts)


def _is_readable(name: str, file: Path | S3Object) -> bool:
    """Whether a file of a folder has a reader: by its suffix, else by its content."""
    if format_of(name) is not None or not may_be_text(name):
        return format_of(name) is not None
    if isinstance(file, Path) and not file.is_file():  # opening a pipe would block until it has a writer
        return False
    try:
        with file.opened() if isinstance(file, S3Object) else file.open("rb") as stream:
            suffix = PurePath(without_gz(name)).suffix.lower()
            kind = format_by_content(stream.read(HEAD), is_xml=suffix == ".xml", is_conf=suffix == ".conf")
            return kind is not None and not (kind == "text" and suffix in (".xml", ".conf"))
    except (OSError, ReadError):  # reading it reports the error
        return True


def _enters(folder: Path, root: Path, entered: set[Path]) -> bool:
    """Whether to enter a folder: links into the folder being walked are not followed, and no folder is entered twice."""
    if not folder.is_symlink():
        return True
    target = folder.resolve()
    if target in entered or target.is_relative_to(root.resolve()):
        return False
    entered.add(target)
    return True


def _is_shown(name: str) -> bool:
    return not name.startswith(_HIDDEN)


def _is_nameable(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _absolute(path: str) -> Path:
    # Links keep their own names: a link such as "current" may point elsewhere later and still be the same source.
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links, absolute() keeps ".."


def _folder_uri(folder: Path) -> str:
    uri = folder.as_uri()
    return uri if uri.endswith("/") else f"{uri}/"


def is_s3(path: str) -> bool:
    """Whether a path is an S3 path."""
    return path.startswith(SCHEME)


def format_of(name: str) -> str | None:
    """The format that the suffix of a file name stands for; None for an unknown suffix.

    Case does not matter, and a trailing ``.gz`` is ignored.

    Examples
    --------
    >>> format_of("Rows.JSONL.gz"), format_of("picture.png")
    ('jsonl', None)
    """
    plain = without_gz(name)
    dot = plain.rfind(".")
    return formats.SUFFIXES.get(plain[dot:].lower()) if dot > 0 else None


# Files without a known suffix: README, LICENSE, a PDF without a suffix, a manual page.


HEAD = 4096  # bytes that are examined
_NAMES = re.compile(
    r"(?:authors|changelog|changes|contribut\w*|copying|copyright|credits|faq|history|install|licen[cs]e\w*|maintainers|news|notice"
    r"|patents|readme|release|security|thanks|todo)\b",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(rf"(?:{_NAMES.pattern[:-2]}|index|overview)(?:[._ -]\w+)?", re.IGNORECASE)
_ZIP = rb"(?s)PK\x03\x04.{0,4000}?"
_ODF = _ZIP + rb"mimetypeapplication/vnd\.oasis\.opendocument\."
_FLAT = rb"(?s)(?:\xef\xbb\xbf)?\s*<.{0,3000}?<office:document\s.{0,3000}?office:mimetype=.application/vnd\.oasis\.opendocument\."
_TITLE = re.compile(rb"^\.[ \t]*(?:TH|Dd|SH)[ \t]", re.MULTILINE)
_MACRO = re.compile(rb"\.[ \t]*(?:\\\"|(?:so|de)\b)")
_LINES = 40  # at the beginning of a manual page; at least half of them are macros
_OPEN_DOCUMENTS = ((rb"text", "odt"), (rb"spreadsheet", "ods"), (rb"presentation", "odp"))
_KNOWN = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (rb"%PDF-", "pdf"),
        (
            rb"(?:\xef\xbb\xbf)?\s*(?:<!doctype html|<html|<\?xml[^>]*>\s*(?:<!--.{0,500}?-->\s*)*(?:<!doctype html|<html))",
            "html",
        ),
        (rb"\{\\rtf", "rtf"),
        (_ZIP + rb"application/epub\+zip", "epub"),
        *((pattern + name, kind) for pattern in (_ODF, _FLAT) for name, kind in _OPEN_DOCUMENTS),
        (rb"PAR1", "parquet"),
        (rb"ARROW1", "arrow"),
        (_ZIP + rb"word/", "docx"),
        (_ZIP + rb"xl/", "xlsx"),
        (_ZIP + rb"ppt/", "pptx"),
    )
)
_OLE = b"\xd0\xcf\x11\xe0"
_PACKED = frozenset({"docx", "epub", "odp", "ods", "odt", "pptx", "xlsx"})
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?(?:[^?]|\?(?!>))*+\?>\s*+|<!--(?:[^-]|-(?!->))*+-->\s*+|<!DOCTYPE(?:[^\[>]|\[[^\]]*+\])*+>\s*+)*+"
    rb"<(?:[\w.-]+:)?([\w.-]+)([^>]*+)"
)
_ROOTS = {
    b"article": "jats",
    b"pmc-articleset": "jats",
    b"TEI": "tei",
    b"TEI.2": "tei",
    b"teiCorpus": "tei",
    b"gpx": "gpx",
    b"kml": "kml",
    **dict.fromkeys((b"chapter", b"sect1", b"refentry"), "docbook"),
    **dict.fromkeys((b"concept", b"task", b"dita"), "dita"),
    b"FictionBook": "fb2",
    b"feed": "xml",
    b"opml": "xml",
    b"rss": "xml",
}
_PROGRAMS = {b"article", b"schema", b"stylesheet", b"svg", b"transform"}
# The first lines of a mail, as a Maildir or MH folder holds it, and of a mailbox.
_MAILBOX = re.compile(rb"From \S{1,200} +[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d[^\r\n]{0,40}\r?\n[A-Za-z-]+:")
_HEADERS = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]{1,60}:[^\r\n]*+(?:\r?\n[ \t][^\r\n]*+)*+(?:\r?\n|\Z))+")
_HEADER = re.compile(
    rb"^(From|Date|Message-ID|Received|Return-Path|Subject|To|MIME-Version):", re.MULTILINE | re.IGNORECASE
)
_PAGE_OF_PARTS = re.compile(
    rb"^Content-Type:\s*multipart/related", re.MULTILINE | re.IGNORECASE
)  # as Confluence writes .doc
_LEAST_HEADERS = 3
_MAILDIR = re.compile(r"\d{9,11}\.[\w=-]{1,80}\.[\w.=-]{1,80}(?:[,:][\w.,:=-]{0,80})?")
_CONVERSIONS = {
    suffix: mend
    for suffixes, mend in (
        (".doc .dot .wpd .wps .pages", "save it as DOCX, for example with soffice --headless --convert-to docx"),
        (".xls .xlsb .numbers", "save it as XLSX, for example with soffice --headless --convert-to xlsx"),
        (".ppt .pps .key", "save it as PPTX, for example with soffice --headless --convert-to pptx"),
        (".pst .ost", "convert it to mbox, for example with readpst"),
        (".mobi .azw .azw3 .lit", "convert it to EPUB, for example with ebook-convert"),
        (".djvu .ps .eps .xps", "convert it to PDF, for example with ddjvu or ps2pdf"),
        (".7z .bz2 .rar .tar .tgz .xz .zip .zst", "unpack it and give the folder"),
        (".bmp .gif .jpeg .jpg .png .tif .tiff .webp .heic", "make a PDF with a text layer, for example with ocrmypdf"),
        (".aac .avi .flac .m4a .mkv .mov .mp3 .mp4 .ogg .wav .webm", "transcribe it to VTT, for example with whisper"),
        (".db .sqlite .sqlite3 .mdb .accdb .dbf .dta .sav .sas7bdat .orc .avro", "export its tables as CSV or Parquet"),
        (".ofx .qfx .qif .mt940 .sta", "export the account as CSV"),
        (".sql", "load it into a database, and name queries with --rows"),
        (".po .pot", "convert it to XLIFF, for example with po2xliff"),
        (".n3 .nt .owl .rdf .ttl", "convert it to CSV or JSON, for example with a SPARQL query"),
        (".odg .vsd .vsdx .drawio .pub .one .mpp .dwg .fig .notebook .sketch", "export it as PDF"),
        (".gdoc .gsheet .gslides", "it is a link: download the document as DOCX, XLSX or PPTX"),
        (".mm .mmap .xmind", "export it as OPML or Markdown"),
        (".webarchive", "save the page as HTML or MHTML"),
        (".xml", "convert it to HTML, Markdown or JSON lines, for example with xsltproc or pandoc"),
        (".fodg .textile .typ", "convert it to Markdown, for example with pandoc"),
    )
    for suffix in suffixes.split()
}
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def may_be_text(name: str) -> bool:
    """Whether the content of a file of this name is examined: no suffix, XML, settings, a manual page, README, or of a Maildir.

    Examples
    --------
    >>> [may_be_text(name) for name in ("LICENSE", "README.Debian.gz", "ls.1", "COPYING.LESSER", "a.png", "b.py")]
    [True, True, True, True, False, False]
    """
    plain = without_gz(name)
    suffix = plain.rpartition(".")[2] if plain.rfind(".") > 0 else ""
    return (
        not suffix
        or suffix.lower() in ("xml", "conf")
        or _NAMES.match(plain) is not None
        or _MAILDIR.fullmatch(plain) is not None
        or re.fullmatch(r"[1-9](?:p|pm|perl|ssl|x|type|posix)?", suffix) is not None
    )


def title_in_folder(title: str, source: Input) -> str:
    """The title of a document, after the name of its folder if it is a file name that every project has, such as README.

    Parameters
    ----------
    title : the title that its reader gives
    source : the file or S3 object

    Examples
    --------
    >>> path = Path("/usr/share/doc/git/copyright")
    >>> title_in_folder("copyright", Input(path, Origin(path.as_uri(), path.name), "text"))
    'git copyright'
    """
    place = str(source.path or "") if source.s3_object is None else source.s3_object.place.key
    folder = PurePath(place).parent.name
    says_nothing = title == source.origin.stem and _SAYS_NOTHING.fullmatch(title) is not None
    return f"{folder} {title}" if folder and says_nothing else title


_SECTIONS = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:[#;][^\n]*)?\r?\n)*+\[[^\[\]\r\n]{1,80}\][ \t]*\r?\n")
"""The beginning of settings in sections, which programs write into files of any suffix."""


def format_by_content(head: bytes, *, is_xml: bool = False, is_conf: bool = False) -> str | None:
    """The format of a file by its first bytes; None for a program or for binary data.

    Parameters
    ----------
    head : the first 4,096 bytes, or all of them; those of a gzip file are unpacked
    is_xml, is_conf : whether its name ends in ``.xml`` or ``.conf``, default False

    Examples
    --------
    >>> format_by_content(b"%PDF-1.7"), format_by_content(b"All rights reserved."), format_by_content(b"#!/bin/sh")
    ('pdf', 'text', None)
    """
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(31).decompress(head, HEAD)
        except zlib.error:
            return None
    if signed := _signature(head):
        return signed
    if root := _root(head, is_xml=is_xml):
        return root
    if _is_manual(head):
        return "man"
    if kind := "ini" if is_conf and _SECTIONS.match(head) else _mail(head):
        return kind
    is_program = head.startswith((b"#!", b"PK\x03\x04", b"\x7fELF")) or not head.strip()
    return "text" if not is_program and not head.lstrip().startswith(b"<?xml") and _is_text(head) else None


def _signature(head: bytes) -> str | None:
    """The format whose magic number a file begins with."""
    return next((name for pattern, name in _KNOWN if pattern.match(head)), None)


def _root(head: bytes, *, is_xml: bool) -> str | None:
    """The format of XML by its first element, "xml" for one of data; ``is_xml``: its name says that it is XML."""
    match = _ROOT.match(head)
    if match is None:
        return None
    opening = head[: match.end()].lower()
    if b"docbook" in opening or b"//dtd dita" in opening:
        return "docbook" if b"docbook" in opening else "dita"
    is_data = is_xml or head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<?xml")
    return _ROOTS.get(match[1], "xml" if is_data and match[1] not in _PROGRAMS else None)


def _mail(head: bytes) -> str | None:
    """The format of mail, by its headers: those of the sender and of two other things; or of a page with its pictures."""
    if _MAILBOX.match(head):
        return "mbox"
    headers = _HEADERS.match(head)
    if headers and _PAGE_OF_PARTS.search(head, 0, headers.end()):
        return "mhtml"
    names = {name.lower() for name in _HEADER.findall(head, 0, headers.end())} if headers else set()
    return "eml" if b"from" in names and len(names) >= _LEAST_HEADERS else None


def settled_format(origin: Origin, head: bytes, *, named: str | None) -> tuple[str, tuple[str, ...]]:
    """The format of a file, by its suffix and the content that must agree with it.

    Parameters
    ----------
    origin : the file
    head : its first bytes, unpacked
    named : the format that its suffix stands for; None for an unknown suffix

    Returns
    -------
    tuple
        The format, and a warning if the suffix did not tell it.

    Raises
    ------
    ReadError
        The content contradicts the suffix, or the suffix is unknown and the content is not of a format that can be told.

    Examples
    --------
    >>> settled_format(Origin("file:///a.dat", "a.dat"), b"%PDF-1.7", named=None)
    ('pdf', ('its suffix .dat has no reader; read as pdf by its content',))
    """
    suffix = PurePath(without_gz(origin.name)).suffix.lower()
    if head.startswith(_OLE) and named not in (*_PACKED, "msg"):
        mend = _CONVERSIONS.get(suffix, "save it as DOCX, XLSX, PPTX or EML")
        raise ReadError(origin.uri, "holds a file of Office or Outlook 97 to 2003", mend)
    if named is not None:
        kind = _signature(head)
        if kind and kind != named and not {kind, named} <= _PACKED:
            reason = f"holds {kind}, but its suffix {suffix} stands for {named}"
            raise ReadError(origin.uri, reason, f"rename it, or add --format {kind}")
        return named, ()
    kind = format_by_content(head, is_xml=suffix == ".xml", is_conf=suffix == ".conf")
    if may_be_text(origin.name) and (suffix not in (".xml", ".conf") or kind not in (None, "text")):
        return kind or "text", ()
    if kind not in (None, "text"):
        return kind, (f"its suffix {suffix} has no reader; read as {kind} by its content",)
    if suffix == ".xml" and (root := _ROOT.match(head)):
        reason = f"is XML whose first element {root[1].decode(errors='replace')!r} has no reader"
        raise ReadError(origin.uri, reason, _CONVERSIONS[suffix])
    mend = _CONVERSIONS.get(suffix, "if it is plain text, add --format text; else convert it to one that has a reader")
    raise ReadError(origin.uri, f"its suffix {suffix} has no reader", mend)


def _is_manual(head: bytes) -> bool:
    if _TITLE.search(head):
        return True
    lines = [line for line in head.splitlines()[:_LINES] if line.strip()]
    macros = sum(line.startswith((b".", b"'")) for line in lines)
    return 2 * macros > len(lines) and any(map(_MACRO.match, lines))


def _is_text(head: bytes) -> bool:
    if marked_encoding(head):
        return True
    return found_encoding(head, is_cut=True) is not None and (b"\0" in head or not _CONTROLS.search(head))
