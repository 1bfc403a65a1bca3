"""Turns paths into documents and failures: finds the sources, opens each, and passes it to the reader of its format.

:func:`discover` expands files, folders, globs, S3 paths and standard input (``-``) into :class:`Found` sources;
:func:`read` streams their documents; :func:`covered` and :func:`source_uri` give the names under which they are stored.
"""

from __future__ import annotations

import glob
import hashlib
import io
import logging
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import quote

from hlgraph.errors import InputError, MissingExtraError, ReadError
from hlgraph.read.bounds import Growth
from hlgraph.read.content import Origin, read_bounded, without_gz
from hlgraph.read.failure import ReadFailure, failure
from hlgraph.read.formats import FORMATS, SUFFIXES, FileFormat, RowsFormat
from hlgraph.read.gz import plain_bytes
from hlgraph.read.options import ReadOptions
from hlgraph.read.s3 import SCHEME, S3Object, objects, place_of
from hlgraph.read.sniffing import HEAD, format_by_content, may_be_text
from hlgraph.read.unspaced import bounded_row, without_runs
from hlgraph.records import Document

STDIN = "-"
STDIN_URI = "stdin:"
_HIDDEN = (".", "~$")  # "~$" begins the names of Office lock files

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """One source to read: a file, an S3 object, or standard input.

    Attributes
    ----------
    path : the file, else None
    origin : URI and file name
    format : one of ``FORMATS``, None for an unknown suffix
    item : the S3 object, else None; standard input has neither path nor item
    """

    path: Path | None
    origin: Origin
    format: str | None
    item: S3Object | None = None


def discover(paths: Sequence[str], format_name: str | None = None) -> Iterator[Found | ReadFailure]:
    """The sources that paths stand for, in the order of the paths, sorted by name within a folder or glob.

    A folder is walked recursively, following links to folders outside it. Hidden files and folders are skipped, and so
    are files in folders that have no reader, unless ``format_name`` is given; a log warning counts the latter. A file without
    a suffix, named like a README or like a page of a manual has one if its content is text, HTML or a known packed format. A
    glob matches files only. ``s3://bucket/key`` is one object, ``s3://bucket/folder/`` a folder. A source that several
    paths reach is yielded once.

    Parameters
    ----------
    paths : files, folders, globs, S3 paths, or ``-`` for standard input
    format_name : one of ``FORMATS`` for every source; default None, by suffix

    Returns
    -------
    Iterator[Found | ReadFailure]
        A failure for each path that does not exist, cannot be listed, or yields nothing to read.
    """
    seen: set[str] = set()
    for path in paths:
        for found in _expand(path, format_name):
            uri = found.uri if isinstance(found, ReadFailure) else found.origin.uri
            if uri not in seen:
                seen.add(uri)
                yield found


def covered(paths: Sequence[str]) -> tuple[str, ...]:
    """The URIs that cover the stored sources of these paths, for finding sources that are gone; see ``is_covered``.

    A folder gives its URI ending in ``/``; a file gives its URI, and the same ending in ``#`` for its rows. In S3 the path
    itself tells a folder from an object. Standard input, globs and paths that do not exist give nothing, since they do
    not tell which sources they no longer hold. A stored source that is covered, was not read again and is not protected
    by a failure is gone; that includes a file that its folder now skips.
    """
    names: dict[str, None] = {}
    for path in paths:
        if path in ("", STDIN) or not _is_nameable(path):
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
    """The URI under which the file at a path is stored; a ``file:`` or ``stdin:`` URI is returned unchanged.

    Raises
    ------
    InputError
        No file can have this path.

    Examples
    --------
    >>> source_uri("stdin:#7")
    'stdin:#7'
    """
    if path.startswith(("file:", STDIN_URI)):
        return path
    if not path or not _is_nameable(path):
        raise InputError(f"{path!r} is not a path; give a path or a uri")
    if is_s3(path):
        return place_of(path).uri
    return _absolute(path).as_uri()


def _expand(path: str, format_name: str | None) -> Iterator[Found | ReadFailure]:
    if path == STDIN:
        yield Found(None, Origin(STDIN_URI), format_name or "text")
        return
    if not path or not _is_nameable(path):
        yield failure(quote(path, errors="replace"), "is not a path")
        return
    if is_s3(path):
        yield from _in_s3(path, format_name)
        return
    if path.startswith("s3:/"):  # Path("s3://...") collapses the slashes
        yield failure(path, "has lost a slash", mend="give s3://bucket/key as text, not as a Path")
        return
    absolute = _absolute(path)
    try:
        is_folder = absolute.is_dir()
    except OSError:  # for example a name that is too long; opening it reports that
        is_folder = False
    if is_folder:
        yield from _walk(absolute, format_name)
    elif glob.has_magic(path) and not os.path.lexists(absolute):
        matches = [Path(match) for match in sorted(glob.glob(str(absolute), recursive=True))]  # noqa: PTH207 - pathlib's shows hidden files
        files = [_found(match, format_name) for match in matches if not match.is_dir()]
        yield from files or [
            failure(absolute.as_uri(), "no file matches", mend="quote the pattern, or check it with ls")
        ]
    else:
        yield _found(absolute, format_name)


def _found(path: Path, format_name: str | None) -> Found | ReadFailure:
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
    return Found(path, Origin(path.as_uri(), name), format_name or format_of(name))


def _in_s3(path: str, format_name: str | None) -> Iterator[Found | ReadFailure]:
    place = place_of(path)
    is_empty = True
    left_out: Counter[str] = Counter()
    try:
        for item in objects(path):
            inner = item.place.key.removeprefix(place.key) if place.is_folder else ""
            name = item.place.key.rpartition("/")[2]
            if not all(map(_is_shown, inner.split("/"))):
                continue
            if place.is_folder and format_name is None and not _is_readable(name, item):
                left_out[Path(name).suffix.lower() or name] += 1
                continue
            is_empty = False
            yield Found(None, Origin(item.place.uri, name), format_name or format_of(name), item)
    except ReadError as error:
        yield ReadFailure(error.uri, error)
        return
    except MissingExtraError as error:
        yield failure(place.uri, str(error))
        return
    _warn_left_out(place.uri, left_out)
    if is_empty:
        yield failure(place.uri, "holds no object that can be read", mend="check the path, or give a --format")


def _warn_left_out(uri: str, left_out: Counter[str]) -> None:
    if left_out:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in left_out.most_common(10))
        _logger.warning("%s: skipped %d files whose suffix has no reader: %s", uri, left_out.total(), kinds)


def _walk(root: Path, format_name: str | None) -> Iterator[Found | ReadFailure]:
    is_empty = True
    left_out: Counter[str] = Counter()
    errors: list[OSError] = []
    entered = {root.resolve()}
    for folder, folders, files in os.walk(root, onerror=errors.append, followlinks=True):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if _is_shown(name) and _enters(here / name, root, entered))
        for name in sorted(filter(_is_shown, files)):
            if format_name is None and not _is_readable(name, (here / name)):
                left_out[Path(name).suffix.lower() or name] += 1
            else:
                is_empty = False
                yield _found(here / name, format_name)
    for error in errors:
        is_empty = False
        yield failure(_folder_uri(Path(str(error.filename))), f"cannot be listed: {error.strerror}")
    _warn_left_out(root.as_uri(), left_out)
    if is_empty:
        yield failure(_folder_uri(root), "holds no file that can be read", mend="check the path, or give a --format")


def _is_readable(name: str, file: Path | S3Object) -> bool:
    """Whether a file of a folder has a reader: by its suffix, else by its content."""
    if format_of(name) is not None or not may_be_text(name):
        return format_of(name) is not None
    try:
        with file.opened() if isinstance(file, S3Object) else file.open("rb") as stream:
            return format_by_content(stream.read(HEAD)) is not None
    except (OSError, ReadError):  # reading it says why
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


def read(
    paths: Sequence[str], options: ReadOptions | None = None, *, stdin: BinaryIO | None = None
) -> Iterator[Document | ReadFailure]:
    r"""Read files, folders, globs, S3 objects and standard input (``-``), one document or failure at a time.

    The URI of a file is the ``file://`` URI of its absolute path, that of an S3 object its ``s3://`` URI. A row appends
    ``#`` and its percent-encoded id or, without an id, the first 16 hex digits of a hash of its columns; an edited row
    without an id is therefore a new source, so give rows ids. Standard input is ``stdin:`` and a hash of its content, its
    rows are ``stdin:#<id>``. Texts, titles and metadata are as in the source, except that lines end in ``\n`` and that
    NUL characters and lone surrogates are removed; offsets refer to the cleaned text. The metadata of a file holds its
    ``filename`` and what its content declares; the metadata of a row holds its other columns.

    Parameters
    ----------
    paths : what to read, in this order; see :func:`discover`
    options : format, mapping, encoding and size limit; default ``ReadOptions()``
    stdin : the stream that ``-`` reads; default the standard input of the process

    Returns
    -------
    Iterator[Document | ReadFailure]
        A document per source, or a failure for each that cannot be read; bad content never raises.

    Raises
    ------
    InputError
        ``paths`` is a string instead of a sequence of strings.

    Examples
    --------
    >>> import io
    >>> rows = io.BytesIO(b'{"id": 7, "text": "one"}\n{"id": 8')
    >>> for item in read(["-"], ReadOptions(format="jsonl"), stdin=rows):
    ...     print(item.error if isinstance(item, ReadFailure) else (item.uri, item.text))
    ('stdin:#7', 'one')
    stdin:: line 2 is not JSON (Input data was truncated)
    """
    if isinstance(paths, str):
        raise InputError(f"paths is the string {paths!r}; give a list, [{paths!r}]")
    return _read(tuple(paths), options or ReadOptions(), stdin)


def _read(paths: Sequence[str], options: ReadOptions, stdin: BinaryIO | None) -> Iterator[Document | ReadFailure]:
    growth = Growth()
    for found in discover(paths, options.format):
        if isinstance(found, ReadFailure):
            yield found
        else:
            yield from _read_one(found, options, stdin, growth=growth)


def _read_one(
    found: Found, options: ReadOptions, stdin: BinaryIO | None, *, growth: Growth
) -> Iterator[Document | ReadFailure]:
    origin = found.origin
    try:
        with (
            _opened(found, stdin) as raw,
            plain_bytes(origin, raw, is_gzip=origin.name.lower().endswith(".gz")) as data,
        ):
            reader = FORMATS[found.format or format_by_content(data.peek(HEAD)[:HEAD]) or "text"]
            if isinstance(reader, RowsFormat):
                yield from map(bounded_row, reader.read(origin, data, options=options))
            else:
                whole = read_bounded(origin, data, limit=options.max_bytes)
                document = _document(found, whole, reader=reader, options=options)
                growth.check(origin, size=len(whole), text=len(document.text))
                yield document
    except ReadError as error:
        yield ReadFailure(error.uri, error)
    except MissingExtraError as error:
        yield failure(origin.uri, str(error))
    except OSError as error:
        yield failure(origin.uri, f"cannot be read: {error.strerror or error}")


def _document(found: Found, data: bytes, *, reader: FileFormat, options: ReadOptions) -> Document:
    origin = found.origin
    if origin.uri == STDIN_URI:
        origin = Origin(STDIN_URI + hashlib.sha256(data).hexdigest()[:16])
    try:
        document = without_runs(reader.read(origin, data, options=options))
    except ReadError as error:
        if found.format is None and reader is FORMATS["text"]:
            mend = f"give its format with --format, one of {', '.join(FORMATS)}"
            raise ReadError(error.uri, f"its suffix has no reader, and as text it {error.reason}", mend) from error
        raise
    return replace(document, metadata={"filename": origin.name, **document.metadata}) if origin.name else document


@contextmanager
def _opened(found: Found, stdin: BinaryIO | None) -> Iterator[io.BufferedReader]:
    if found.path is not None:
        with found.path.open("rb") as raw:
            yield raw
        return
    if found.item is not None:
        with found.item.opened() as raw:
            yield raw
        return
    given = sys.stdin.buffer if stdin is None else stdin
    if isinstance(given, io.BufferedReader):
        yield given
        return
    wrapped: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", given))
    try:
        yield wrapped
    finally:
        wrapped.detach()  # otherwise closing the wrapper would close the caller's stream


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
    return SUFFIXES.get(plain[dot:].lower()) if dot > 0 else None
