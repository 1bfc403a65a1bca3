"""Embeds the new records of a change, and measures the scale of the cosines of a corpus.

:func:`embed_change` adds vectors, synonyms and a calibration to a change. :func:`precomputed_vectors` computes the vectors
before the lock is taken. :func:`calibrating` measures a whole corpus at the end of an ingest. :func:`embed_records` and
:func:`embed_topics` embed stored records again.
"""

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
from hlgraph.errors import ModelMismatchError
from hlgraph.ids import checksum, content_id, normalise_name
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import links_about, topic_rows
from hlgraph.records import Calibration, Chunk, Entity, Kind, Record, Source, Statement, Topic
from hlgraph.resolve.candidates import least_synonym, synonyms
from hlgraph.stores.protocols import CorpusStats, Row, Scope, Stores

_GROWTH = 2
"""A corpus is measured again when its number of names has grown by this factor."""


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
    embedder : the model in use; asking for its vector length may cost a call to a provider

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
    """Check that a corpus has no vectors of another model, only by the name of the model, without a model call.

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


def precomputed_vectors(
    change: Change, known_chunks: frozenset[str], *, embedder: Embedder, stores: Stores
) -> PrecomputedVectors:
    """The vectors of the texts that :func:`embed_change` embeds, unless another change is published first; needs no lock.

    Parameters
    ----------
    change, known_chunks, stores : see :func:`embed_change`
    embedder : the model in use; it also embeds any other texts that :func:`embed_change` needs later

    Returns
    -------
    PrecomputedVectors
    """
    rows = _missing(change, known_chunks, stores)
    texts = list(dict.fromkeys(text for _, items in rows for _, text, _ in items))
    with progress.step("embed", len(texts), unit="texts"):
        matrix = embedder.embed(texts)
    return PrecomputedVectors(texts, matrix, fingerprint=embedder.fingerprint, rest=embedder)


def embed_change(
    change: Change,
    known_chunks: frozenset[str],
    *,
    embedder: Embedder,
    stores: Stores,
    names: Callable[[CorpusStats], int] | None = None,
) -> Change:
    """The change with a vector block per kind, synonyms, and a calibration if one is due; one call of the embedder.

    The result is valid until another change is published, so the caller must hold the lock of the corpus.

    New topics get the vectors of :func:`hlgraph.persist.assemble.topic_rows`. The rows of stored topics follow once the change is
    published, because their statements are known only then. The names of topics that the change may touch are embedded here.

    The scale of the cosines is measured before the synonyms are computed, once the corpus has 128 names. Up to 1,024 names
    every change that adds rows measures it, so that it does not depend on how the corpus grew. After that it is measured
    whenever the number of names has doubled.

    Parameters
    ----------
    change : the change, without vectors
    known_chunks : ids of the chunks in ``change.chunks`` that are already stored; their rows are replaced, not added
    embedder : the model in use
    stores : where stored vectors and entities are looked up
    names : gives the number of names in the corpus from its statistics without counts; None counts them in the store

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
        blocks.append(VectorBlock.of(kind, items, matrix=matrix[start : start + len(items)]) if items else None)
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
    pairs = synonyms(
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
        synonyms=tuple(pairs),
        vectors=vectors,
        replacements=() if again is None else (again,),
        topic_names=stored_names,
        calibration=calibration,
    )


def _missing(change: Change, known_chunks: frozenset[str], stores: Stores) -> _Rows:
    """The rows of :func:`_rows` that the store lacks, then those of stored topics."""
    known = {
        kind: stores.vectors.ids(kind, change.corpus, among=among)
        for kind, among in (
            (Kind.STATEMENT, [record.id for record in change.statements]),
            (Kind.TOPIC, [record.id for record in change.topics]),
            (Kind.ENTITY, list(change.entities)),
        )
    }
    stored = _stored_topics(change, known_chunks, known[Kind.TOPIC], stores)
    known[Kind.TOPIC] |= {record.id for record in stored}
    return [*_rows(change, known_chunks, known), (Kind.TOPIC, list(indexed(stored, {})))]


def is_due(calibration: Calibration | None, names: int) -> bool:
    """Whether a corpus must be measured: it never was, or its number of names has doubled since.

    Parameters
    ----------
    calibration : its calibration; None if it has none
    names : number of names in it
    """
    return names >= (BLOCK if calibration is None else _GROWTH * calibration.names)


def calibrating(corpus: str, names: int, *, since: Calibration | None, stores: Stores) -> Change | None:
    """The change that ends an ingest: the scale of the cosines of the whole corpus, independent of its batches.

    Parameters
    ----------
    corpus : the corpus
    names : number of names in the corpus
    since : its calibration before the ingest
    stores : both stores

    Returns
    -------
    Change
        None if the corpus has not grown enough, or the last change has already measured all of it.
    """
    if not is_due(since, names):
        return None
    current = stores.graph.stats(corpus, has_counts=False)[0].calibration
    if current is not None and current.names == names:
        return None
    calibration = _calibrated((), corpus, names=names, stores=stores)
    if calibration is None:
        return None
    return Change(content_id("calibration", corpus, *map(str, astuple(calibration))), corpus, calibration=calibration)


_KINDS = (Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK)


def _calibrated(blocks: Iterable[VectorBlock], corpus: str, *, names: int, stores: Stores) -> Calibration | None:
    """The scale of the cosines of a corpus including the rows of a change.

    Measures, per kind, the 1,024 rows whose texts have the lowest hashes, in that order. A hash says nothing about the
    meaning of a text, and the sample depends only on the texts. So corpora of the same texts have the same scale, whatever
    their names and their order of growth. Reads the texts of all rows, so a corpus is measured only when it has doubled.

    Parameters
    ----------
    blocks : the rows that the change adds
    corpus : its corpus
    names : number of names in the corpus after the change
    stores : hold the other rows

    Returns
    -------
    Calibration
        None with fewer than 128 names.
    """
    sources = stores.graph.find(Kind.SOURCE, Scope(corpus))
    titles = {source.id: source.title for source in sources if isinstance(source, Source)}
    added = {block.kind: block for block in blocks}
    samples = {kind: _sample(kind, added.get(kind), corpus, titles=titles, stores=stores) for kind in _KINDS}
    return measured(samples, names=names)


def _sample(
    kind: Kind, added: VectorBlock | None, corpus: str, *, titles: Mapping[str, str], stores: Stores
) -> NDArray[np.float32]:
    """The rows whose texts have the lowest hashes, in the order of the hashes. Rows of equal texts have equal vectors."""
    new = {} if added is None else dict(zip(added.ids, added.matrix(), strict=True))
    texts = () if added is None else zip(map(checksum, added.texts), added.ids, strict=True)
    rows_stored = indexed(stores.graph.find(kind, Scope(corpus)), titles)
    others = ((checksum(row.text), row.id) for row in rows_stored if row.id not in new)
    chosen = heapq.nsmallest(SAMPLE, chain(texts, others))
    stored, matrix = stores.vectors.vectors(kind, corpus, ids=[name for _, name in chosen if name not in new])
    rows = new | dict(zip(stored, matrix, strict=True))
    sample = [rows[name] for _, name in chosen if name in rows]
    return np.stack(sample) if sample else np.empty((0, 0), dtype=np.float32)


def _stored_topics(
    change: Change, known_chunks: frozenset[str], stored_ids: Collection[str], stores: Stores
) -> list[Topic]:
    """The stored topics that lose or gain statements by a change, and possibly others of its sources, by ascending id.

    Only the graph store knows what the chunks that lose their links asserted, so this includes all topics of their sources.
    """
    topics = {record.id: record for record in change.topics if record.id in stored_ids}
    known = tuple(record.id for record, base in zip(change.sources, change.base_versions, strict=True) if base > 0)
    if known and (change.chunks or change.removed_chunks):
        is_all = bool(known_chunks or change.removed_chunks)
        named = {record.id for record in change.topics}
        for topic in stores.graph.find(Kind.TOPIC, Scope(change.corpus, sources=known)):
            if isinstance(topic, Topic) and (is_all or topic.id in named):
                topics[topic.id] = topic
    return [topics[name] for name in sorted(topics)]


def _about(change: Change) -> dict[str, set[str]]:
    """For each topic the ids of its statements, according to the chunks of a change."""
    statements: dict[str, set[str]] = {}
    for link in change.abouts:
        if link.statement_id:
            statements.setdefault(link.topic_id, set()).add(link.statement_id)
    return statements


def texts_of(change: Change) -> list[str]:
    """The distinct texts that :func:`embed_change` may embed, except the names of stored topics of changed sources.

    It skips those of records that the store has already.
    """
    rows = _rows(change, frozenset(), {})
    return list(dict.fromkeys(text for _, items in rows for _, text, _ in items))


class PrecomputedVectors:
    """An embedder that returns precomputed vectors, for a fixed set of texts.

    Parameters
    ----------
    texts : distinct texts
    matrix : one unit row per text, shape ``(len(texts), dimensions)``, float32
    fingerprint : fingerprint of the embedder that made the vectors
    rest : embeds other texts; None refuses them
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
        self.fingerprint = fingerprint
        self._rest = rest

    def with_rest(self, embedder: Embedder) -> PrecomputedVectors:
        """The same vectors, with an embedder of the same model for all other texts."""
        return PrecomputedVectors(list(self._at), self._matrix, fingerprint=self.fingerprint, rest=embedder)

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
            added = self._rest.embed(others)
            matrix = np.concatenate([matrix, added]) if len(matrix) else added
        rows: NDArray[np.float32] = matrix[np.array([at[text] for text in texts], dtype=np.intp)]
        return rows

    def forget(self, texts: Sequence[str]) -> None:
        """Do nothing, because there is no cache."""


def embed_topics(topics: Sequence[Topic], corpus: str, *, embedder: Embedder, stores: Stores) -> VectorBlock:
    """The rows of stored topics, like those of :func:`embed_change`.

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
    names = embed_records(Kind.TOPIC, topics, titles={}, embedder=embedder)
    about = links_about(names.ids, corpus, graph=stores.graph)
    return topic_rows(names, about, corpus=corpus, vectors=stores.vectors)


def embed_records(
    kind: Kind, records: Sequence[Record], *, titles: Mapping[str, str], embedder: Embedder
) -> VectorBlock:
    """The rows of stored records, like those of :func:`embed_change`. For topics use :func:`embed_topics`.

    Parameters
    ----------
    kind : chunk, statement or entity
    records : records of this kind
    titles : titles of sources, by id
    embedder : the model in use

    Returns
    -------
    VectorBlock
        One row per record, in order.
    """
    rows = list(indexed(records, titles))
    with progress.step("embed", len(rows), unit="texts"):
        return VectorBlock.of(kind, rows, matrix=embedder.embed([row.text for row in rows]))


def indexed(records: Iterable[Record], titles: Mapping[str, str]) -> Iterator[Row]:
    """The rows of the vector store without their vectors: id, the text that was embedded and indexed, and source.

    Parameters
    ----------
    records : chunks, statements, topics or entities; others are skipped
    titles : titles of sources, by id
    """
    for record in records:
        if isinstance(record, Chunk):
            yield Row(record.id, chunk_text(titles.get(record.source_id, ""), record.text), record.source_id)
        elif isinstance(record, Statement):
            yield Row(record.id, record.text, record.source_id)
        elif isinstance(record, Topic):
            yield Row(record.id, normalise_name(record.name), record.source_id)
        elif isinstance(record, Entity):
            yield Row(record.id, normalise_name(record.name), "")


_Rows = list[tuple[Kind, list[Row]]]


def _rows(change: Change, known_chunks: frozenset[str], stored: Mapping[Kind, Collection[str]]) -> _Rows:
    """The rows of records to embed, by kind: new chunks, known chunks, then the other kinds."""
    titles = {source.id: source.title for source in change.sources}
    names = _names(change)

    def missing(kind: Kind, records: Iterable[Record]) -> list[Row]:
        present = stored.get(kind, frozenset())
        return list(indexed((record for record in records if record.id not in present), titles))

    again = [chunk for chunk in change.chunks if chunk.id in known_chunks]
    present = stored.get(Kind.ENTITY, frozenset())
    return [
        (Kind.CHUNK, list(indexed((chunk for chunk in change.chunks if chunk.id not in known_chunks), titles))),
        (Kind.CHUNK, list(indexed(again, titles))),
        (Kind.STATEMENT, missing(Kind.STATEMENT, change.statements)),
        (Kind.TOPIC, missing(Kind.TOPIC, change.topics)),
        (Kind.ENTITY, [Row(entity, names[entity], "") for entity in change.entities if entity not in present]),
    ]


def _names(change: Change) -> dict[str, str]:
    return {link.entity_id: normalise_name(link.surface) for link in change.mentions}
