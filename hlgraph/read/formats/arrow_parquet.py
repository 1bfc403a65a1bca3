"""Readers of Parquet and Arrow (Feather) files with pyarrow: one document per row, or a table if no column holds the text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import largest, overgrown
from hlgraph.read.content import Origin, ReadFailure, read_bounded
from hlgraph.read.formats._blocks import Unread
from hlgraph.read.formats._format import RowsFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import Flaw, Row, RowMapping, Table, documents_of, plain_value, table_documents
from hlgraph.records import Document
from hlgraph.text import ACL

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

_BATCH = 1_000  # rows


def read_columns(
    origin: Origin, stream: io.BufferedReader, *, options: ReadOptions, kind: str
) -> Iterator[Document | ReadFailure]:
    """One document per row, or tables of 1,000 rows if no column of text is named or mapped as the text.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its bytes; a file is read batch by batch, everything else is held in memory
    options : the column mapping, and the size limit of what is held in memory
    kind : ``parquet`` or ``arrow``

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each row without a text, unless no column has one.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    ReadError
        It is damaged, or holds more than 100 times its size; raised while iterating.
    """
    with _arrow_errors(origin, kind):
        schema, batches = _columns(origin, stream, limit=options.max_bytes, kind=kind)
        yield from _documents(origin, schema, batches, options=options)


def columns_table(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions, kind: str) -> Table:
    """The rows of a file with their typed values.

    Parameters
    ----------
    origin, stream, options, kind : see :func:`read_columns`
    """
    return Table(_typed_rows(origin, stream, limit=options.max_bytes, kind=kind))


def _typed_rows(origin: Origin, stream: io.BufferedReader, *, limit: int, kind: str) -> Iterator[Row | Flaw]:
    with _arrow_errors(origin, kind):
        schema, batches = _columns(origin, stream, limit=limit, kind=kind)
        yield from _rows(batches, _distinct(origin, schema), value_of=_typed)


@contextmanager
def _arrow_errors(origin: Origin, kind: str) -> Iterator[None]:
    with needs_extra("parquet", f"reading {kind.title()}"):
        import pyarrow as pa
    try:
        yield
    except (pa.ArrowException, MemoryError) as error:
        said = " ".join(str(error).split())[:200]
        raise ReadError(origin.uri, f"cannot be read as {kind} ({said})", "write it again") from error


def _columns(
    origin: Origin, stream: io.BufferedReader, *, limit: int, kind: str
) -> tuple[Schema, Iterator[RecordBatch]]:
    source: BinaryIO = stream if stream.seekable() else io.BytesIO(read_bounded(origin, stream, limit=limit))
    size = source.seek(0, io.SEEK_END)
    source.seek(0)
    if not size:
        raise ReadError(origin.uri, "is empty")
    schema, batches = _parquet(origin, source, size) if kind == "parquet" else _arrow(source)
    return schema, _bounded(origin, batches, size)


def _distinct(origin: Origin, schema: Schema) -> list[str]:
    names = list(schema.names)
    if twice := {name for name in names if names.count(name) > 1}:
        raise ReadError(origin.uri, f"two columns are called {min(twice)!r}", "rename one of them")
    if ACL in names and "binary" in str(schema.field(ACL).type):
        raise ReadError(origin.uri, "its column 'acl' is binary, so it names no groups", "store it as text")
    return names


def _parquet(origin: Origin, source: BinaryIO, size: int) -> tuple[Schema, Iterator[RecordBatch]]:
    from pyarrow import parquet

    file = parquet.ParquetFile(source)
    about = file.metadata
    groups = (about.row_group(number) for number in range(about.num_row_groups))
    unpacked = sum(group.column(at).total_uncompressed_size for group in groups for at in range(group.num_columns))
    if unpacked > largest(size):
        raise overgrown(origin, size)
    return file.schema_arrow, file.iter_batches(batch_size=_BATCH, use_threads=False)


def _arrow(source: BinaryIO) -> tuple[Schema, Iterator[RecordBatch]]:
    from pyarrow import ipc

    is_file = source.read(6) == b"ARROW1"
    source.seek(0)
    if is_file:
        file = ipc.open_file(source)
        return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))
    stream = ipc.open_stream(source)
    return stream.schema, iter(stream)


def _bounded(origin: Origin, batches: Iterator[RecordBatch], size: int) -> Iterator[RecordBatch]:
    """The batches, checked: a damaged one may point outside of its memory, and a small file may repeat one value forever."""
    unpacked = 0
    for batch in batches:
        batch.validate(full=True)
        unpacked += batch.nbytes
        if unpacked > largest(size):
            raise overgrown(origin, size)
        for start in range(0, batch.num_rows, _BATCH):
            yield batch.slice(start, _BATCH)


def _documents(
    origin: Origin, schema: Schema, batches: Iterator[RecordBatch], *, options: ReadOptions
) -> Iterator[Document | ReadFailure]:
    from pyarrow import types

    names = _distinct(origin, schema)
    kinds = {name: schema.field(name).type for name in names}
    binary = [name for name, kind in kinds.items() if types.is_binary(kind) or types.is_large_binary(kind)]
    kept = [name for name in names if name not in binary]
    texts = [name for name in kept if types.is_string(kinds[name]) or types.is_large_string(kinds[name])]
    mapping = RowMapping(options.mapping)
    warnings = Unread({f"binary column {name!r}": 1 for name in binary}).warnings()
    is_table = mapping.is_table(texts) and bool(kept)
    rows = _rows(batches, kept, value_of=_shown if is_table else plain_value)
    if is_table:
        unused = tuple(f"no column is the text, so --map {name} had no effect" for name in mapping.unused)
        return table_documents(origin, rows, head=kept, unit="row", warnings=warnings + unused)
    return documents_of(origin, rows, mapping=mapping, unit="row", warnings=warnings)


def _rows(
    batches: Iterator[RecordBatch], names: list[str], *, value_of: Callable[[object], object]
) -> Iterator[Row | Flaw]:
    number = 0
    for batch in batches:
        for values in batch.select(names).to_pylist():
            number += 1
            yield Row(number, {name: value_of(value) for name, value in values.items()})


def _shown(value: object) -> object:
    """A value for a cell of a table; decimals keep their places."""
    return f"{value:f}" if isinstance(value, Decimal) and value.is_finite() else plain_value(value)


def _typed(value: object) -> object:
    return value if isinstance(value, date | time) else plain_value(value)


FORMATS = tuple(
    RowsFormat(kind, suffixes, partial(read_columns, kind=kind), table=partial(columns_table, kind=kind))
    for kind, suffixes in (("arrow", (".arrow", ".arrows", ".feather")), ("parquet", (".parquet",)))
)
