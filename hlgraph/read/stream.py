"""Turns paths into documents and failures: opens each source and passes it to the reader of its format."""

from __future__ import annotations

import hashlib
import io
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import BinaryIO, cast

import msgspec

from hlgraph import progress
from hlgraph.errors import InputError, MissingExtraError, ReadError
from hlgraph.read import formats
from hlgraph.read.bounds import Growth, plain_bytes
from hlgraph.read.content import (
    Origin,
    ReadFailure,
    bounded_row,
    failure,
    is_query,
    not_installed,
    parser_errors,
    read_bounded,
    without_runs,
)
from hlgraph.read.discover import HEAD, STDIN, STDIN_URI, Input, discover, settled_format, size_of, title_in_folder
from hlgraph.read.formats import FileFormat, Format, RowsFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.outcomes import Files
from hlgraph.read.rows import Flaw, Row, Table, documents_of
from hlgraph.read.table_mapping import TableDocuments, TableMapping, check_table, infer_mapping, is_list, query_of
from hlgraph.records import Document
from hlgraph.text import ACL

_logger = logging.getLogger(__name__)


def read(
    paths: Sequence[str],
    options: ReadOptions | None = None,
    *,
    stdin: BinaryIO | None = None,
    files: Files | None = None,
) -> Iterator[Document | ReadFailure]:
    r"""Read files, folders, globs, S3 objects and standard input (``-``), one document or failure at a time.

    A file has the ``file://`` URI of its absolute path, an S3 object its ``s3://`` URI, the result of a query
    ``sql:NAME``. A row appends ``#`` and its percent-encoded id or, without an id, the first 16 hex digits of a hash of its
    columns. An edited row without an id is therefore a new source, so give rows ids. Standard input is ``stdin:`` and a hash
    of its content, its rows are ``stdin:#<id>``. Texts, titles and metadata are as in the source, except that lines end in
    ``\n`` and that NUL characters and lone surrogates are removed. Offsets refer to the cleaned text. The metadata of a file
    holds its ``filename`` and what its content declares; the metadata of a row holds its other columns.

    Parameters
    ----------
    paths : what to read, in this order; see :func:`discover`
    options : format, mapping, encoding and size limit; default ``ReadOptions()``
    stdin : the stream that ``-`` reads; default the standard input of the process
    files : receives what is found, left out and failed. Default None: a log warning counts what was left out

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
    >>> for row in read(["-"], ReadOptions(format="jsonl"), stdin=rows):
    ...     print(row.error if isinstance(row, ReadFailure) else (row.uri, row.text))
    ('stdin:#7', 'one')
    stdin:: line 2 is not JSON (Input data was truncated)
    """
    if isinstance(paths, str):
        raise InputError(f"paths is the string {paths!r}; give a list, [{paths!r}]")
    if files is not None:
        return _read(tuple(paths), options or ReadOptions(), stdin, files=files)
    return _warned(tuple(paths), options or ReadOptions(), stdin)


def _warned(paths: Sequence[str], options: ReadOptions, stdin: BinaryIO | None) -> Iterator[Document | ReadFailure]:
    files = Files()
    yield from _read(paths, options, stdin, files=files)
    if files.left_out:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in files.reasons[:10])
        _logger.warning("%d files were left out: %s", len(files.left_out), reasons)


def _read(
    paths: Sequence[str], options: ReadOptions, stdin: BinaryIO | None, *, files: Files
) -> Iterator[Document | ReadFailure]:
    growth = Growth()
    for source in discover(paths, options.format, follow_links=options.follow_links, files=files):
        if isinstance(source, ReadFailure):
            yield source
            continue
        end = files.size + size_of(source)
        results = _read_one(source, options, stdin, files=files, growth=growth)
        for result in _in_groups(source, results, tag=options.acl_tag):
            if isinstance(result, ReadFailure):
                files.fail(result.uri)
            yield result
        files.size = end
        progress.advance("read")


def _read_one(
    source: Input, options: ReadOptions, stdin: BinaryIO | None, *, files: Files, growth: Growth
) -> Iterator[Document | ReadFailure]:
    origin, before = source.origin, files.size
    try:
        with (
            _opened(source, stdin, options) as raw,
            plain_bytes(origin, raw, is_gzip=origin.name.lower().endswith(".gz")) as data,
        ):
            name, notes = source.format or "text", tuple[str, ...]()
            if options.format is None and origin.name:
                name, notes = settled_format(origin, data.peek(HEAD)[:HEAD], named=source.format)
            reader = formats.FORMATS[name]
            if options.rows is not None or isinstance(reader, RowsFormat):
                with parser_errors(origin.uri, reader.name.upper(), mend=reader.mend):
                    for row in _row_documents(origin, data, reader=reader, options=options):
                        if source.path is not None:
                            files.size = before + raw.tell()  # compressed bytes, like the size of the file
                        yield bounded_row(row)
            else:
                files.size = before + size_of(source)
                whole = read_bounded(origin, data, limit=options.max_bytes)
                document = _document(source, whole, reader=reader, options=options)
                growth.check(origin, size=len(whole), text=len(document.text))
                yield replace(document, warnings=(*notes, *document.warnings)) if notes else document
    except ReadError as error:
        yield ReadFailure(error.uri, error)
    except MissingExtraError as error:
        yield not_installed(origin.uri, error)
    except OSError as error:
        yield failure(origin.uri, f"cannot be read: {error.strerror or error}")


def _in_groups(
    source: Input, results: Iterator[Document | ReadFailure], *, tag: str | None
) -> Iterator[Document | ReadFailure]:
    """Documents with the groups in the tag of their S3 object, in place of those that they name. Without it nothing is read."""
    groups = None
    if tag is not None and source.s3_object is not None:
        try:
            groups = source.s3_object.groups(tag)
        except ReadError as error:
            yield ReadFailure(error.uri, error)
            return
    for result in results:
        if groups is None or isinstance(result, ReadFailure):
            yield result
        else:
            yield replace(result, metadata={**result.metadata, ACL: groups})


def _row_documents(
    origin: Origin, data: io.BufferedReader, *, reader: Format, options: ReadOptions
) -> Iterator[Document | ReadFailure]:
    if options.rows is None:
        return cast("Iterator[Document | ReadFailure]", reader.read(origin, data, options=options))
    table = _table(origin, data, reader=reader, options=options)
    if is_query(origin.uri):  # the query runs once, so its result is checked here and not by check_tables
        check_table(origin, table.rows, mapping=options.rows, value_of=table.value_of, unit="row")
        data.seek(0)
        table = _table(origin, data, reader=reader, options=options)._replace(unit="row")
    mapping = TableDocuments(options.rows, table.value_of)
    return documents_of(origin, table.rows, mapping=mapping, unit=table.unit, warnings=table.warnings)


def _table(origin: Origin, data: io.BufferedReader, *, reader: Format, options: ReadOptions) -> Table:
    if reader.table is None:
        tables = ", ".join(name for name, each in formats.FORMATS.items() if each.table is not None)
        raise ReadError(origin.uri, f"is {reader.name}, which has no rows", f"give a table: {tables}")
    return reader.table(origin, data, options=options)


def tables(paths: Sequence[str], options: ReadOptions) -> Iterator[tuple[Origin, Table]]:
    """The tables that paths stand for; each can be read until the next one. A file that cannot be read is left out.

    Parameters
    ----------
    paths : see :func:`hlgraph.read.discover.discover`
    options : format, encoding and size limit, and the sheet of workbooks

    Raises
    ------
    InputError
        The paths include standard input, which can be read only once, or a query fails.
    """
    if STDIN in paths:
        raise InputError("rows are checked before they are stored, and standard input can be read once; give a file")
    for source in discover(paths, options.format, follow_links=options.follow_links):
        if isinstance(source, ReadFailure):
            continue
        origin = source.origin
        with (
            suppress(*(() if is_query(origin.uri) else (ReadError, MissingExtraError, OSError))),
            _opened(source, None, options) as raw,
            plain_bytes(origin, raw, is_gzip=origin.name.lower().endswith(".gz")) as data,
        ):
            name = source.format or "text"
            if options.format is None and origin.name:
                name, _ = settled_format(origin, data.peek(HEAD)[:HEAD], named=source.format)
            reader = formats.FORMATS[name]
            with parser_errors(origin.uri, reader.name.upper()):
                table = _table(origin, data, reader=reader, options=options)
            yield origin, table._replace(rows=_readable(origin, table.rows))


def preview(paths: Sequence[str], options: ReadOptions) -> TableMapping:
    """The mapping of :func:`hlgraph.read.table_mapping.infer_mapping` for the first table of some paths.

    Parameters
    ----------
    paths : see :func:`hlgraph.read.discover.discover`; a YAML file without a list holds the query of a mapping, whose result is
        the table
    options : how the table is read

    Raises
    ------
    InputError
        There is no table, no mapping fits it, or the query fails.
    """
    query = None
    if len(paths) == 1 and paths[0].lower().endswith((".yaml", ".yml")) and not is_list(paths[0]):
        query = query_of(paths[0])
        options, paths = replace(options, rows=TableMapping(name="name", sql=query)), ["sql:query"]
    for origin, table in tables(paths, options):
        return msgspec.structs.replace(infer_mapping(origin, table.rows), sql=query)
    raise InputError(
        f"there is no table among {', '.join(paths) or 'no paths'}; give CSV, XLSX, Parquet, JSON, JSON lines, YAML or TOML"
    )


def _readable(origin: Origin, rows: Iterator[Row | Flaw]) -> Iterator[Row | Flaw]:
    """The rows up to the first error, which the ingest reports."""
    with suppress(ReadError), parser_errors(origin.uri, "a table"):
        yield from rows


def check_tables(paths: Sequence[str], options: ReadOptions) -> None:
    """Compare the mapping of rows with all files, before anything is stored. :func:`read` compares it with the result of a query.

    Parameters
    ----------
    paths : see :func:`tables`
    options : ``rows`` is the mapping

    Raises
    ------
    InputError
        The mapping does not fit, see :func:`hlgraph.read.table_mapping.check_table`, or it names a query and a path is a file.
    """
    if options.rows is None:
        return
    others = [path for path in paths if not is_query(path)]
    if options.rows.sql is not None and (others or len(paths) > 1):
        raise InputError(f"the mapping of rows names a query, so its only source is sql:NAME, not {', '.join(paths)}")
    for origin, table in tables(others, options):
        check_table(origin, table.rows, mapping=options.rows, value_of=table.value_of, unit=table.unit)


def _document(source: Input, data: bytes, *, reader: FileFormat, options: ReadOptions) -> Document:
    origin = source.origin
    if origin.uri == STDIN_URI:
        origin = Origin(STDIN_URI + hashlib.sha256(data).hexdigest()[:16])
    try:
        with parser_errors(origin.uri, reader.name.upper(), mend=reader.mend):
            document = without_runs(reader.read(origin, data, options=options))
    except ReadError as error:
        if source.format is None and reader is formats.FORMATS["text"]:
            mend = f"give its format with --format, one of {', '.join(formats.FORMATS)}"
            raise ReadError(error.uri, f"its name tells no format, and as text it {error.reason}", mend) from error
        raise
    if not origin.name:
        return document
    title = title_in_folder(document.title, source)
    return replace(document, title=title, metadata={"filename": origin.name, **document.metadata})


@contextmanager
def _opened(source: Input, stdin: BinaryIO | None, options: ReadOptions) -> Iterator[io.BufferedReader]:
    if source.path is not None:
        with source.path.open("rb") as raw:
            yield raw
        return
    if source.s3_object is not None:
        with source.s3_object.opened() as raw:
            yield raw
        return
    if is_query(source.origin.uri):
        from hlgraph.read import sql

        with sql.opened(source.origin.uri, options.rows.sql if options.rows else None) as raw:
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
