"""From paths to documents: finds the files, opens them, and hands each to the reader of its format."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import BinaryIO, Protocol, cast

from hlgraph.errors import InputError, MissingExtraError, ReadError
from hlgraph.read.content import ByteStream, Origin, plain_bytes, read_bounded
from hlgraph.read.discover import STDIN_URI, Found, discover
from hlgraph.read.docx import read_docx
from hlgraph.read.failure import ReadFailure, failure
from hlgraph.read.formats import FORMATS
from hlgraph.read.html import read_html
from hlgraph.read.markdown import read_markdown
from hlgraph.read.options import ReadOptions
from hlgraph.read.pdf import read_pdf
from hlgraph.read.rows import read_csv, read_json, read_json_lines
from hlgraph.read.text import read_text
from hlgraph.records import Document


class FileReader(Protocol):
    """Makes one document of the bytes of a file, or raises ReadError or MissingExtraError."""

    def __call__(self, origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
        """The document."""


class RowsReader(Protocol):
    """Makes a document or a failure of each row of a stream; a ReadError ends it."""

    def __call__(self, origin: Origin, stream: ByteStream, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
        """The documents and failures."""


FILE_READERS: Mapping[str, FileReader] = MappingProxyType(
    {"docx": read_docx, "html": read_html, "markdown": read_markdown, "pdf": read_pdf, "text": read_text}
)
ROWS_READERS: Mapping[str, RowsReader] = MappingProxyType(
    {"csv": read_csv, "json": read_json, "jsonl": read_json_lines}
)


def read(
    paths: Sequence[str], options: ReadOptions | None = None, *, stdin: BinaryIO | None = None
) -> Iterator[Document | ReadFailure]:
    r"""Read files, folders, globs and standard input (``-``), one document or failure at a time.

    A source is named by the ``file://`` uri of its absolute path, or by its ``s3://`` uri; a row by that, ``#`` and its id,
    percent-encoded, or, when it has none, the first 16 digits of a hash of its columns (so an edited row is another
    source: give rows ids). Standard input is ``stdin:`` and a hash of its content, its rows ``stdin:#<id>``. Texts, titles
    and metadata are as in the source, but lines end in ``\n``, and NUL characters and lone surrogates are taken out; offsets
    refer to that. The metadata of a file holds its ``filename`` and what its content declares; that of a row its other
    columns.

    Parameters
    ----------
    paths
        What to read, in this order; see ``hlgraph.read.discover``.
    options
        How to read; the defaults without.
    stdin
        What ``-`` reads, by default the standard input of the process.

    Returns
    -------
    Iterator[Document | ReadFailure]
        A document for each source, and a failure for each that cannot be read; nothing is raised for what paths hold.

    Raises
    ------
    InputError
        ``paths`` is one text instead of a sequence.

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
        raise InputError(f"paths is the text {paths!r}; give a list, [{paths!r}]")
    return _read(tuple(paths), options or ReadOptions(), stdin)


def _read(paths: Sequence[str], options: ReadOptions, stdin: BinaryIO | None) -> Iterator[Document | ReadFailure]:
    for found in discover(paths, options.format):
        if isinstance(found, ReadFailure):
            yield found
        else:
            yield from _read_one(found, options, stdin)


def _read_one(found: Found, options: ReadOptions, stdin: BinaryIO | None) -> Iterator[Document | ReadFailure]:
    origin = found.origin
    try:
        with (
            _opened(found, stdin) as raw,
            plain_bytes(origin, raw, is_gzip=origin.name.lower().endswith(".gz")) as data,
        ):
            if found.format is not None and found.format in ROWS_READERS:
                yield from ROWS_READERS[found.format](origin, data, options=options)
            else:
                yield _document(found, read_bounded(origin, data, limit=options.max_bytes), options)
    except ReadError as error:
        yield ReadFailure(error.uri, error)
    except MissingExtraError as error:
        yield failure(origin.uri, str(error))
    except OSError as error:
        yield failure(origin.uri, f"cannot be read: {error.strerror or error}")


def _document(found: Found, data: bytes, options: ReadOptions) -> Document:
    origin = found.origin
    if origin.uri == STDIN_URI:
        origin = Origin(STDIN_URI + hashlib.sha256(data).hexdigest()[:16])
    try:
        document = FILE_READERS[found.format or "text"](origin, data, options=options)
    except ReadError as error:
        if found.format is None:
            mend = f"name its format with --format, one of {', '.join(FORMATS)}"
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
        wrapped.detach()  # else its end would close what the caller gave
