"""Embeds the new records of a change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hlgraph.change import Change, VectorBlock
from hlgraph.errors import InputError, ModelMismatchError
from hlgraph.ids import normalise_name
from hlgraph.models.seams import Embedder
from hlgraph.records import Chunk, Entity, Kind, Record, Statement, Topic
from hlgraph.resolve.synonyms import synonyms
from hlgraph.stores.protocols import CorpusStats, Stores


def chunk_text(title: str, text: str) -> str:
    """The text that is embedded and indexed for a chunk: the title of its source, then the text of the chunk.

    Parameters
    ----------
    title : title of the source; may be empty
    text : text of the chunk

    Returns
    -------
    str
        ``title`` and ``text`` on separate lines; ``text`` alone without a title.
    """
    return f"{title}\n{text}" if title else text


def check_model(stats: Sequence[CorpusStats], embedder: Embedder) -> None:
    """Check that a corpus has no vectors of another model.

    Parameters
    ----------
    stats : statistics of the corpus; empty if there is none yet
    embedder : the model in use; its vector length may cost a call to a provider

    Raises
    ------
    ModelMismatchError
        The corpus has vectors of another model or of another length.
    """
    check_fingerprint(stats, embedder)
    for corpus in stats:
        if corpus.embedding and corpus.dimensions != embedder.dimensions:
            raise _mismatch(corpus, embedder)


def check_fingerprint(stats: Sequence[CorpusStats], embedder: Embedder) -> None:
    """Check that a corpus has no vectors of another model, by the name of the model alone, without a model call.

    Parameters
    ----------
    stats : statistics of the corpus; empty if there is none yet
    embedder : the model in use

    Raises
    ------
    ModelMismatchError
        The corpus has vectors of another model.
    """
    for corpus in stats:
        if corpus.embedding and corpus.embedding != embedder.fingerprint:
            raise _mismatch(corpus, embedder)


def _mismatch(corpus: CorpusStats, embedder: Embedder) -> ModelMismatchError:
    return ModelMismatchError(
        f"corpus {corpus.corpus!r} has vectors of {corpus.embedding} ({corpus.dimensions} dimensions), but the model "
        f"in use is {embedder.fingerprint} ({embedder.dimensions}); use the model of the corpus, or another corpus"
    )


def embed_change(change: Change, known_chunks: frozenset[str], *, embedder: Embedder, stores: Stores) -> Change:
    """The change with one vector block per kind and with synonyms; one call of the embedder for everything new.

    Parameters
    ----------
    change : the change, without vectors
    known_chunks : ids of those of ``change.chunks`` that are stored already; their rows are replaced, not added
    embedder : the model in use
    stores : where stored vectors and entities are looked up

    Returns
    -------
    Change
        A copy; the given change is not modified.
    """
    held = {
        kind: stores.vectors.ids(kind, change.corpus, among=among)
        for kind, among in (
            (Kind.STATEMENT, [item.id for item in change.statements]),
            (Kind.TOPIC, [item.id for item in change.topics]),
            (Kind.ENTITY, list(change.entities)),
        )
    }
    rows = _rows(change, known_chunks, held)
    matrix = embedder.embed([text for _, items in rows for _, text, _ in items])
    blocks: list[VectorBlock | None] = []
    start = 0
    for kind, items in rows:
        blocks.append(_block(kind, items, matrix[start : start + len(items)]) if items else None)
        start += len(items)
    entities = [item[0] for item in rows[4][1]]
    found = synonyms(
        _names(change), entities, matrix=matrix[start - len(entities) :], corpus=change.corpus, stores=stores
    )
    return replace(
        change,
        embedding=embedder.fingerprint,
        dimensions=embedder.dimensions,
        synonyms=tuple(found),
        vectors=tuple(block for at, block in enumerate(blocks) if block is not None and at != 1),
        replacements=() if blocks[1] is None else (blocks[1],),
    )


def texts_of(change: Change) -> list[str]:
    """The distinct texts that :func:`embed_change` may embed; it skips those of records that the store has already."""
    rows = _rows(change, frozenset(), {})
    return list(dict.fromkeys(text for _, items in rows for _, text, _ in items))


class MadeVectors:
    """An embedder that returns precomputed vectors, for a fixed set of texts.

    Parameters
    ----------
    texts : distinct texts
    matrix : one unit row per text, shape ``(len(texts), dimensions)``, float32
    fingerprint : fingerprint of the embedder that made the vectors
    """

    def __init__(self, texts: Sequence[str], matrix: NDArray[np.float32], *, fingerprint: str) -> None:
        self._at = {text: at for at, text in enumerate(texts)}
        self._matrix = matrix
        self._fingerprint = fingerprint

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the embedder that made the vectors."""
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return int(self._matrix.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, shape ``(len(texts), dimensions)``. Raises KeyError for a text without a vector."""
        rows: NDArray[np.float32] = self._matrix[np.array([self._at[text] for text in texts], dtype=np.intp)]
        return rows

    def forget(self, texts: Sequence[str]) -> None:
        """Does nothing: there is no cache."""


def embed_records(records: Sequence[Record], titles: Mapping[str, str], *, embedder: Embedder) -> VectorBlock:
    """The rows of stored records, as :func:`embed_change` makes them.

    Parameters
    ----------
    records : records of one kind that has vectors
    titles : titles of sources, by id
    embedder : the model in use

    Returns
    -------
    VectorBlock
        One row per record, in order.

    Raises
    ------
    InputError
        The records are of several kinds, or of none that has vectors.
    """
    rows: list[tuple[str, str, str]] = []
    kinds: set[Kind] = set()
    for item in records:
        if isinstance(item, Chunk):
            rows.append((item.id, chunk_text(titles.get(item.source_id, ""), item.text), item.source_id))
            kinds.add(Kind.CHUNK)
        elif isinstance(item, Statement):
            rows.append((item.id, item.text, item.source_id))
            kinds.add(Kind.STATEMENT)
        elif isinstance(item, Topic):
            rows.append((item.id, normalise_name(item.name), item.source_id))
            kinds.add(Kind.TOPIC)
        elif isinstance(item, Entity):
            rows.append((item.id, normalise_name(item.name), ""))
            kinds.add(Kind.ENTITY)
    if len(kinds) != 1:
        raise InputError(
            f"records of {len(kinds)} kinds with vectors were given to embed; give records of one such kind"
        )
    return _block(kinds.pop(), rows, embedder.embed([text for _, text, _ in rows]))


_Rows = list[tuple[Kind, list[tuple[str, str, str]]]]


def _rows(change: Change, known_chunks: frozenset[str], held: Mapping[Kind, Collection[str]]) -> _Rows:
    """Id, text and source of each record to embed, by kind: new chunks, known chunks, then the other kinds."""
    titles = {source.id: source.title for source in change.sources}
    added = [chunk for chunk in change.chunks if chunk.id not in known_chunks]
    again = [chunk for chunk in change.chunks if chunk.id in known_chunks]
    names = _names(change)
    without = {kind: held.get(kind, frozenset()) for kind in (Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)}
    return [
        (Kind.CHUNK, _chunk_rows(added, titles)),
        (Kind.CHUNK, _chunk_rows(again, titles)),
        (
            Kind.STATEMENT,
            [(s.id, s.text, s.source_id) for s in change.statements if s.id not in without[Kind.STATEMENT]],
        ),
        (
            Kind.TOPIC,
            [(t.id, normalise_name(t.name), t.source_id) for t in change.topics if t.id not in without[Kind.TOPIC]],
        ),
        (Kind.ENTITY, [(e, names[e], "") for e in change.entities if e not in without[Kind.ENTITY]]),
    ]


def _names(change: Change) -> dict[str, str]:
    return {link.entity_id: normalise_name(link.surface) for link in change.mentions}


def _chunk_rows(chunks: list[Chunk], titles: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(chunk.id, chunk_text(titles[chunk.source_id], chunk.text), chunk.source_id) for chunk in chunks]


def _block(kind: Kind, items: list[tuple[str, str, str]], matrix: NDArray[np.float32]) -> VectorBlock:
    ids, texts, sources = zip(*items, strict=True)
    data = np.ascontiguousarray(matrix, dtype=np.float32)
    return VectorBlock(kind, ids, texts, sources, data.shape[1], data.tobytes())
