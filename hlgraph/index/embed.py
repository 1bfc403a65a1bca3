"""Embeds the new records of a change."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.algorithms.calibration import BLOCK, SAMPLE, measured
from hlgraph.change import Change, VectorBlock
from hlgraph.errors import InputError, ModelMismatchError
from hlgraph.ids import checksum, content_id, normalise_name
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import links_about, topic_rows
from hlgraph.records import Calibration, Chunk, Entity, Kind, Record, Source, Statement, Topic
from hlgraph.resolve.synonyms import least_synonym, synonyms
from hlgraph.stores.protocols import CorpusStats, Row, Scope, Stores

# Measures the scale of the cosines of a corpus while a change is prepared, from a sample that the texts choose.


_KINDS = (Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK)
_Key = tuple[str, str]  # the hash of an embedded text, and the id


def calibrated(
    blocks: Iterable[VectorBlock],
    corpus: str,
    *,
    names: int,
    stores: Stores,
    stored: Callable[[Kind], Iterable[Row]],
) -> Calibration | None:
    """The scale of the cosines of a corpus once the rows of a change are in it.

    Of each kind the 1,024 rows whose texts have the lowest hashes are measured, in that order. A hash says nothing about the
    meaning of a text, and nothing but the texts decides, so corpora of the same texts have the same scale, whatever their names
    are and in whatever order they grew. Reads the texts of all rows; a corpus is measured when it has doubled.

    Parameters
    ----------
    blocks : the rows that the change adds
    corpus : its corpus
    names : number of names in the corpus after the change
    stores : hold the other rows
    stored : the texts of the other rows of a kind, as they were embedded

    Returns
    -------
    Calibration
        None with fewer than 128 names.
    """
    added = {block.kind: block for block in blocks}
    rows = {
        kind: _sample(kind, added.get(kind), corpus, stores=stores, keys=map(_key, stored(kind))) for kind in _KINDS
    }
    return measured(rows, names=names)


def _sample(
    kind: Kind, added: VectorBlock | None, corpus: str, *, stores: Stores, keys: Iterable[_Key]
) -> NDArray[np.float32]:
    """The rows whose texts have the lowest hashes, in the order of these; rows of one text have one vector."""
    new = {} if added is None else dict(zip(added.ids, added.matrix(), strict=True))
    texts = () if added is None else zip(map(checksum, added.texts), added.ids, strict=True)
    chosen = heapq.nsmallest(SAMPLE, chain(texts, (key for key in keys if key[1] not in new)))
    held, matrix = stores.vectors.vectors(kind, corpus, ids=[item for _, item in chosen if item not in new])
    found = new | dict(zip(held, matrix, strict=True))
    sample = [found[item] for _, item in chosen if item in found]
    return np.stack(sample) if sample else np.empty((0, 0), dtype=np.float32)


def _key(row: Row) -> _Key:
    return checksum(row.text), row.id


_EMBEDDED = {Kind.CHUNK: Chunk, Kind.STATEMENT: Statement, Kind.ENTITY: Entity}
_GROWTH = 2
"""A corpus is measured again when it has this many times the names."""


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
    stats : statistics of the corpus; empty for a new corpus
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
    stats : statistics of the corpus; empty for a new corpus
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


def made_vectors(change: Change, known_chunks: frozenset[str], *, embedder: Embedder, stores: Stores) -> MadeVectors:
    """The vectors of the texts that :func:`embed_change` embeds, as long as no other change is published; needs no lock.

    Parameters
    ----------
    change, known_chunks, stores : see :func:`embed_change`
    embedder : the model in use; it also embeds what :func:`embed_change` needs beside these texts later

    Returns
    -------
    MadeVectors
    """
    rows = _missing(change, known_chunks, stores)
    texts = list(dict.fromkeys(text for _, items in rows for _, text, _ in items))
    with progress.step("embed", len(texts), unit="texts"):
        matrix = embedder.embed(texts)
    return MadeVectors(texts, matrix, fingerprint=embedder.fingerprint, rest=embedder)


def embed_change(
    change: Change,
    known_chunks: frozenset[str],
    *,
    embedder: Embedder,
    stores: Stores,
    names: Callable[[CorpusStats], int] | None = None,
) -> Change:
    """The change with a vector block per kind, synonyms, and a calibration where one is due; one call of the embedder.

    What it finds in the stores holds until another change is published, so the caller holds the lock of the corpus.

    New topics get the vectors of :func:`hlgraph.persist.topic_rows`. The rows of stored topics follow once the change is
    published, because only then their statements are known; the names of topics that the change may touch are embedded here.

    The scale of the cosines is measured before the synonyms are found, once the corpus has 128 names: at every change that adds
    rows up to 1,024 names, so that it does not depend on how the corpus grew, then whenever it has twice as many as before.

    Parameters
    ----------
    change : the change, without vectors
    known_chunks : ids of those of ``change.chunks`` that are stored already; their rows are replaced, not added
    embedder : the model in use
    stores : where stored vectors and entities are looked up
    names : gives the number of names in the corpus, from its statistics without counts; None: they are counted

    Returns
    -------
    Change
        A copy; the given change is not modified.
    """
    rows = _missing(change, known_chunks, stores)
    matrix = embedder.embed([text for _, items in rows for _, text, _ in items])
    blocks: list[VectorBlock | None] = []
    start = 0
    for kind, items in rows:
        blocks.append(_block(kind, items, matrix[start : start + len(items)]) if items else None)
        start += len(items)
    new, again, statements, topics, entities, stored_names = blocks
    if topics is not None:
        about = _about(change)
        topics = topic_rows(topics, about, corpus=change.corpus, vectors=stores.vectors, added=statements)
    vectors = tuple(block for block in (new, statements, topics, entities) if block is not None)
    stats = stores.graph.stats(change.corpus, has_counts=names is None, has_relationships=False)
    known = stats[0] if stats else CorpusStats(change.corpus)
    count = (known.records.get(Kind.ENTITY, 0) if names is None else names(known)) + (
        0 if entities is None else len(entities.ids)
    )
    is_measured = is_due(known.calibration, count) or (bool(vectors) and BLOCK <= count <= SAMPLE)
    calibration = _calibrated(vectors, change.corpus, names=count, stores=stores) if is_measured else None
    found = synonyms(
        _names(change),
        [] if entities is None else entities.ids,
        matrix=matrix[:0] if entities is None else entities.matrix(),
        corpus=change.corpus,
        stores=stores,
        least=least_synonym(calibration or known.calibration),
    )
    return replace(
        change,
        embedding=embedder.fingerprint,
        dimensions=embedder.dimensions,
        synonyms=tuple(found),
        vectors=vectors,
        replacements=() if again is None else (again,),
        topic_names=stored_names,
        calibration=calibration,
    )


def _missing(change: Change, known_chunks: frozenset[str], stores: Stores) -> _Rows:
    """Id, text and source of each record to embed: those of :func:`_rows` that the store lacks, then topics that it has."""
    held = {
        kind: stores.vectors.ids(kind, change.corpus, among=among)
        for kind, among in (
            (Kind.STATEMENT, [item.id for item in change.statements]),
            (Kind.TOPIC, [item.id for item in change.topics]),
            (Kind.ENTITY, list(change.entities)),
        )
    }
    stored = _stored_topics(change, known_chunks, held[Kind.TOPIC], stores)
    held[Kind.TOPIC] |= {item.id for item in stored}
    return [*_rows(change, known_chunks, held), (Kind.TOPIC, _topic_rows(stored))]


def is_due(held: Calibration | None, names: int) -> bool:
    """Whether a corpus must be measured: it never was, or the number of its names has doubled since.

    Parameters
    ----------
    held : its calibration; None: it has none
    names : number of names in it
    """
    return names >= (BLOCK if held is None else _GROWTH * held.names)


def calibrating(corpus: str, names: int, *, since: Calibration | None, stores: Stores) -> Change | None:
    """The change that ends an ingest: the scale of the cosines of the whole corpus, however its documents were divided.

    Parameters
    ----------
    corpus : the corpus
    names : number of names in the corpus
    since : its calibration before the ingest
    stores : both stores

    Returns
    -------
    Change
        None where the corpus has not grown enough, or the last change has measured all of it.
    """
    if not is_due(since, names):
        return None
    held = stores.graph.stats(corpus, has_counts=False)[0].calibration
    made = None if held is not None and held.names == names else _calibrated((), corpus, names=names, stores=stores)
    if made is None:
        return None
    return Change(content_id("calibration", corpus, *map(str, astuple(made))), corpus, calibration=made)


def _calibrated(blocks: Collection[VectorBlock], corpus: str, *, names: int, stores: Stores) -> Calibration | None:
    def stored(kind: Kind) -> Iterator[Row]:
        return indexed(stores.graph.find(kind, Scope(corpus)), titles)

    sources = stores.graph.find(Kind.SOURCE, Scope(corpus))
    titles = {item.id: item.title for item in sources if isinstance(item, Source)}
    return calibrated(blocks, corpus, names=names, stores=stores, stored=stored)


def _stored_topics(change: Change, known_chunks: frozenset[str], held: Collection[str], stores: Stores) -> list[Topic]:
    """The stored topics that lose or gain statements by a change, and possibly others of its sources, by ascending id.

    Only the graph store knows what the chunks that lose their links asserted, so all topics of their sources are included.
    """
    found = {item.id: item for item in change.topics if item.id in held}
    known = tuple(item.id for item, base in zip(change.sources, change.base_versions, strict=True) if base > 0)
    if known and (change.chunks or change.removed_chunks):
        is_all = bool(known_chunks or change.removed_chunks)
        named = {item.id for item in change.topics}
        for topic in stores.graph.find(Kind.TOPIC, Scope(change.corpus, sources=known)):
            if isinstance(topic, Topic) and (is_all or topic.id in named):
                found[topic.id] = topic
    return [found[name] for name in sorted(found)]


def _about(change: Change) -> dict[str, set[str]]:
    """For each topic the ids of its statements, as the chunks of a change have them."""
    found: dict[str, set[str]] = {}
    for item in change.abouts:
        if item.statement_id:
            found.setdefault(item.topic_id, set()).add(item.statement_id)
    return found


def texts_of(change: Change) -> list[str]:
    """The distinct texts that :func:`embed_change` may embed, except the names of stored topics of changed sources.

    It skips those of records that the store has already.
    """
    rows = _rows(change, frozenset(), {})
    return list(dict.fromkeys(text for _, items in rows for _, text, _ in items))


class MadeVectors:
    """An embedder that returns precomputed vectors, for a fixed set of texts.

    Parameters
    ----------
    texts : distinct texts
    matrix : one unit row per text, shape ``(len(texts), dimensions)``, float32
    fingerprint : fingerprint of the embedder that made the vectors
    rest : embeds other texts; None: they are refused
    """

    def __init__(
        self,
        texts: Sequence[str],
        matrix: NDArray[np.float32],
        *,
        fingerprint: str,
        rest: Embedder | None = None,
    ) -> None:
        self._at = {text: at for at, text in enumerate(texts)}
        self._matrix = matrix
        self._fingerprint = fingerprint
        self._rest = rest

    def with_rest(self, embedder: Embedder) -> MadeVectors:
        """The same vectors, with an embedder of the same model for all other texts."""
        return MadeVectors(list(self._at), self._matrix, fingerprint=self._fingerprint, rest=embedder)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the embedder that made the vectors."""
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return int(self._matrix.shape[1]) if self._rest is None else self._rest.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, shape ``(len(texts), dimensions)``. Raises KeyError for a text without a vector."""
        at, matrix = self._at, self._matrix
        others = [] if self._rest is None else list(dict.fromkeys(text for text in texts if text not in at))
        if others and self._rest is not None:
            at = {**at, **{text: len(at) + place for place, text in enumerate(others)}}
            made = self._rest.embed(others)
            matrix = np.concatenate([matrix, made]) if len(matrix) else made
        rows: NDArray[np.float32] = matrix[np.array([at[text] for text in texts], dtype=np.intp)]
        return rows

    def forget(self, texts: Sequence[str]) -> None:
        """Does nothing: there is no cache."""


def embed_topics(topics: Sequence[Topic], corpus: str, *, embedder: Embedder, stores: Stores) -> VectorBlock:
    """The rows of stored topics, as :func:`embed_change` makes them.

    Parameters
    ----------
    topics : at least one topic
    corpus : their corpus
    embedder : the model in use
    stores : hold the statements of the topics, and their vectors

    Returns
    -------
    VectorBlock
        One row per topic, in order.
    """
    rows = _topic_rows(topics)
    with progress.step("embed", len(rows), unit="texts"):
        names = _block(Kind.TOPIC, rows, embedder.embed([text for _, text, _ in rows]))
    about = links_about(names.ids, corpus, graph=stores.graph)
    return topic_rows(names, about, corpus=corpus, vectors=stores.vectors)


def embed_records(records: Sequence[Record], titles: Mapping[str, str], *, embedder: Embedder) -> VectorBlock:
    """The rows of stored records, as :func:`embed_change` makes them; :func:`embed_topics` makes those of topics.

    Parameters
    ----------
    records : chunks, statements or entities, of one kind
    titles : titles of sources, by id
    embedder : the model in use

    Returns
    -------
    VectorBlock
        One row per record, in order.

    Raises
    ------
    InputError
        The records are of several kinds, or of another one.
    """
    kinds = {kind for item in records for kind, of in _EMBEDDED.items() if isinstance(item, of)}
    rows = list(indexed(records, titles))
    if len(kinds) != 1 or len(rows) != len(records):
        raise InputError(f"records of {len(kinds)} kinds were given to embed; give chunks, statements or entities")
    with progress.step("embed", len(rows), unit="texts"):
        return _block(kinds.pop(), rows, embedder.embed([text for _, text, _ in rows]))


def indexed(records: Iterable[Record], titles: Mapping[str, str]) -> Iterator[Row]:
    """What the vector store holds of records beside their vectors: the text that was embedded and indexed, and the source.

    Parameters
    ----------
    records : chunks, statements, topics or entities; others are left out
    titles : titles of sources, by id
    """
    for item in records:
        if isinstance(item, Chunk):
            yield Row(item.id, chunk_text(titles.get(item.source_id, ""), item.text), item.source_id)
        elif isinstance(item, Statement):
            yield Row(item.id, item.text, item.source_id)
        elif isinstance(item, Topic):
            yield Row(item.id, normalise_name(item.name), item.source_id)
        elif isinstance(item, Entity):
            yield Row(item.id, normalise_name(item.name), "")


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
        (Kind.TOPIC, _topic_rows([item for item in change.topics if item.id not in without[Kind.TOPIC]])),
        (Kind.ENTITY, [(e, names[e], "") for e in change.entities if e not in without[Kind.ENTITY]]),
    ]


def _names(change: Change) -> dict[str, str]:
    return {link.entity_id: normalise_name(link.surface) for link in change.mentions}


def _topic_rows(topics: Sequence[Topic]) -> list[tuple[str, str, str]]:
    return [(item.id, normalise_name(item.name), item.source_id) for item in topics]


def _chunk_rows(chunks: list[Chunk], titles: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(chunk.id, chunk_text(titles[chunk.source_id], chunk.text), chunk.source_id) for chunk in chunks]


def _block(kind: Kind, items: Sequence[tuple[str, str, str]], matrix: NDArray[np.float32]) -> VectorBlock:
    ids, texts, sources = zip(*items, strict=True)
    data = np.ascontiguousarray(matrix, dtype=np.float32)
    return VectorBlock(kind, ids, texts, sources, data.shape[1], data.tobytes())
