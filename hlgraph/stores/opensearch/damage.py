"""Rows of an OpenSearch index that do not hold what was written: their text beside that of the record, and their norm."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.ids import content_id
from hlgraph.records import Kind
from hlgraph.stores.opensearch.analysis import terms
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.query_bodies import one_of, vector_of
from hlgraph.stores.opensearch.rounds import find
from hlgraph.stores.opensearch.wire import Json
from hlgraph.stores.opensearch.wire import Row as Found
from hlgraph.stores.protocols import Damage, Row, VectorBatch

_BATCH = 500
_COPIES = 4  # maximum number of copies of one row while a write on serverless is unfinished
_TOLERANCE = 1e-3


class _Written(msgspec.Struct):
    words: str = ""
    source: str = ""


def examine(connection: Connection, alias: str, *, dimensions: int, rows: Iterable[Row]) -> Damage:
    """The stored rows whose text or source is not that of the record, or whose vector is not of length 1.

    Lucene checks the bytes of its files itself; this finds what was written over them.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    dimensions : length of a vector
    rows : what the rows should hold
    """
    vectors: set[str] = set()
    texts: set[str] = set()
    for batch in _batches(rows):
        wanted = {item.id: item for item in batch}
        for row in _read(connection, alias, list(wanted)):
            name = row.text("id")
            if not _is_whole(row, dimensions):
                vectors.add(name)
            item, written = wanted[name], msgspec.convert(row.source, _Written)
            if (written.words, written.source) != (" ".join(terms(item.text)), item.source_id):
                texts.add(name)
    return Damage(frozenset(vectors), frozenset(texts))


def rewritten(kind: Kind, corpus: str, *, rows: Sequence[Row], matrix: NDArray[np.float32]) -> VectorBatch:
    """The change that writes the texts and sources of rows again, with the vectors that are stored.

    Parameters
    ----------
    kind : kind of the rows
    corpus : name of the corpus
    rows : what the rows should hold, at least one
    matrix : their vectors
    """
    ids, texts, sources = zip(*rows, strict=True)
    block = VectorBlock(kind, ids, texts, sources, matrix.shape[1], matrix.tobytes())
    return VectorBatch(corpus, content_id("repair", corpus, kind, *ids), (), (block,))


def _read(connection: Connection, alias: str, ids: list[str]) -> list[Found]:
    body: dict[str, Json] = {
        "size": len(ids) * (_COPIES if connection.is_serverless else 1),
        "query": {"bool": {"filter": one_of("id", ids)}},
        "docvalue_fields": ["id", "data"],
        "_source": ["words", "source"],
        "stored_fields": [],
    }
    return find(connection, alias, body=body).hits.hits


def _is_whole(row: Found, dimensions: int) -> bool:
    vector = vector_of(row)
    return len(vector) == dimensions and bool(abs(np.linalg.norm(vector.astype(np.float64)) - 1) <= _TOLERANCE)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    left = iter(rows)
    while batch := list(itertools.islice(left, _BATCH)):
        yield batch
