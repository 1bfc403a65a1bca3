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
from hlgraph.change import AddedRows, Change, LargeChange, Parts, VectorBlock
from hlgraph.errors import ModelMismatchError, StoreConflictError
from hlgraph.ids import checksum, content_id, normalise_name
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import links_about, topic_rows
from hlgraph.progress import Work
from hlgraph.records import Calibration, Chunk, Entity, Kind, Record, Source, Statement, Topic
from hlgraph.resolve.candidates import SynonymFinder, least_synonym, synonyms
from hlgraph.stores.protocols import CorpusStats, Row, Scope, Stores, find_records

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


def _check_switched(known: CorpusStats, embedder: Embedder) -> None:
    """Refuse vectors that were computed before the model of the corpus was switched; none of them may meet the present ones."""
    past = known.sets.past if known.sets is not None and known.embedding else ()
    if known.embedding != embedder.fingerprint and embedder.fingerprint in past:
        raise StoreConflictError(
            f"corpus {known.corpus!r}: its embedding model was switched from {embedder.fingerprint} to {known.embedding} "
            "meanwhile; run the same command again"
        )


def _mismatch(corpus: CorpusStats, embedder: Embedder) -> ModelMismatchError:
    return ModelMismatchError(
        f"corpus {corpus.corpus!r} has vectors of {corpus.embedding} ({corpus.dimensions} dimensions), but the model "
        f"in use is {embedder.fingerprint} ({embedder.dimensions}); use the model of the corpus, or another corpus, or change its "
        f"model while searches go on: hlgraph embeddings build MODEL --corpus {corpus.corpus}"
    )


def precomputed_vectors(
    change: Change, known_chunks: frozenset[str], *, embedder: Embedder, stores: Stores, work: Work | None = None
) -> PrecomputedVectors:
    """The vectors of the texts that :func:`embed_change` embeds, unless another change is published first; needs no lock.

    Parameters
    ----------
    change, known_chunks, stores : see :func:`embed_change`
    embedder : the model in use; it also embeds any other texts that :func:`embed_change` needs later
    work : the share of the ingest that this is, for progress

    Returns
    -------
    PrecomputedVectors
    """
    rows = _missing(change, known_chunks, stores)
    texts = list(dict.fromkeys(text for _, items in rows for _, text, _ in items))
    with progress.step("embed", len(texts), unit="texts", work=work):
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
        A copy; the given change is not modified. A change in parts gets the ids of its rows in place of their vectors.
    """
    if isinstance(change, LargeChange):
        return _with_parts_embedded(change, known_chunks, embedder=embedder, stores=stores, names=names)
    known, count = _counted(change.corpus, names, stores)
    _check_switched(known, embedder)
    rows = _missing(change, known_chunks, stores)
    matrix = embedder.embed([text for _, items in rows for _, text, _ in items])
    blocks: list[VectorBlock | None] = []
    start = 0
    for kind, items in rows:
        blocks.append(VectorBlock.of(kind, items, matrix=matrix[start : start + len(items)]) if items else None)
        start += len(items)
    new, again, statements, topics, entities, stored_names = blocks
    if topics is not None:
        about = change.statements_about()
        added = None if statements is None else AddedRows.of(statements)
        topics = topic_rows(topics, about, corpus=change.corpus, vectors=stores.vectors, added=added)
    vectors = tuple(block for block in (new, statements, topics, entities) if block is not None)
    count += 0 if entities is None else len(entities.ids)
    is_measured = is_due(known.calibration, count) or (bool(vectors) and BLOCK <= count <= SAMPLE)
    calibration = None
    if is_measured:
        by_kind = {block.kind: block for block in vectors}
        added_rows = {kind: AddedRows.of(block) for kind, block in by_kind.items()}
        calibration = _calibrated(
            lambda kind: [by_kind[kind]] if kind in by_kind else [],
            change.corpus,
            names=count,
            stores=stores,
            rows=added_rows.get,
        )
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


def embed_part(
    part: Change,
    known_chunks: frozenset[str],
    *,
    parts: Parts,
    embedder: Embedder,
    stores: Stores,
    work: Work | None = None,
) -> None:
    """Add a part of a large change to the others, with the vectors of its texts; needs no lock.

    Parameters
    ----------
    part : a part, with its sources
    known_chunks : see :func:`embed_change`
    parts : the parts before it; receives the part
    embedder : the model in use
    stores : where stored vectors are looked up
    work : the share of the ingest that this is, for progress
    """
    known = _known(part, stores)
    for kind, ids in _ids(part).items():
        known[kind] |= parts.ids.get(kind, {}).keys() & set(ids)
    rows = _rows(part, known_chunks, known)
    texts = list(dict.fromkeys(text for _, items in rows for _, text, _ in items))
    with progress.step("embed", len(texts), unit="texts", work=work):
        matrix = embedder.embed(texts)
    at = {text: place for place, text in enumerate(texts)}
    blocks = [
        VectorBlock.of(kind, items, matrix=matrix[[at[row.text] for row in items]]) for kind, items in rows if items
    ]
    again = tuple(block for block in blocks if block.kind is Kind.CHUNK and block.ids[0] in known_chunks)
    new = tuple(block for block in blocks if block not in again)
    parts.append(replace(part, sources=(), base_versions=(), vectors=new, replacements=again))


def _with_parts_embedded(
    change: LargeChange,
    known_chunks: frozenset[str],
    *,
    embedder: Embedder,
    stores: Stores,
    names: Callable[[CorpusStats], int] | None,
) -> LargeChange:
    """See :func:`embed_change`. The content of the change, made by :func:`embed_part`, receives the synonyms."""
    parts, corpus = change.content, change.corpus
    known, count = _counted(corpus, names, stores)
    _check_switched(known, embedder)
    _update_entities(parts, corpus, embedder=embedder, stores=stores)
    topics = [topic for part in parts for topic in part.topics] if any(change.base_versions) else []
    stored = {topic.id for topic in topics}.difference(parts.ids.get(Kind.TOPIC, ()))
    again = _stored_topics(change, known_chunks, topics=topics, stored_ids=stored, stores=stores)
    stored_names = embed_records(Kind.TOPIC, again, titles={}, embedder=embedder) if again else None
    _place_topics(parts, corpus, stores=stores)
    count += len(parts.ids.get(Kind.ENTITY, ())) - len(parts.dropped)
    calibration = None
    if is_due(known.calibration, count) or (parts.ids and BLOCK <= count <= SAMPLE):
        calibration = _calibrated(parts.rows, corpus, names=count, stores=stores, rows=parts.added_rows)
    _link_synonyms(parts, corpus, stores=stores, least=least_synonym(calibration or known.calibration))
    return replace(
        change,
        embedding=embedder.fingerprint,
        dimensions=embedder.dimensions,
        vectors=tuple(block.hollow() for kind in parts.ids for block in parts.rows(kind)),
        topic_names=stored_names,
        calibration=calibration,
    )


def _update_entities(parts: Parts, corpus: str, *, embedder: Embedder, stores: Stores) -> None:
    """Leave out the rows of entities that another writer has stored meanwhile, and add those that one has removed."""
    for block in parts.rows(Kind.ENTITY):
        parts.dropped |= stores.vectors.ids(Kind.ENTITY, corpus, among=block.ids)
    known = parts.stored_entities.difference(parts.ids.get(Kind.ENTITY, ()))
    gone = known - stores.vectors.ids(Kind.ENTITY, corpus, among=list(known)) if known else known
    if gone:
        names = {name: text for part in parts for name, text in _names(part).items()}
        lacking = {name: names[name] for part in parts for name in part.entities if name in gone}
        matrix = embedder.embed(list(lacking.values()))
        block = VectorBlock.of(Kind.ENTITY, [(name, text, "") for name, text in lacking.items()], matrix=matrix)
        parts.append(Change("", corpus, vectors=(block,)))


def _place_topics(parts: Parts, corpus: str, *, stores: Stores) -> None:
    """Put the vectors of :func:`topic_rows` in the place of those of the names of topics."""
    matrix, start = parts.matrix(Kind.TOPIC), 0
    for block in parts.rows(Kind.TOPIC):
        place = slice(start, start + len(block.ids))
        names = replace(block, data=matrix[place].tobytes())
        added = parts.added_rows(Kind.STATEMENT)  # mapped anew, so that pages that were read count no more
        matrix[place] = topic_rows(names, parts.about, corpus=corpus, vectors=stores.vectors, added=added).matrix()
        start = place.stop
    parts.about.clear()


def _link_synonyms(parts: Parts, corpus: str, *, stores: Stores, least: float) -> None:
    """Add the synonyms of the new entities, a part at a time."""
    finder = SynonymFinder(corpus, stores, least=least)
    start = 0
    with progress.step("pair", parts.block_count(Kind.ENTITY), unit="parts"):
        for block in parts.rows(Kind.ENTITY):
            rows = parts.matrix(Kind.ENTITY)
            pairs = tuple(finder.pairs(block, rows[: start + len(block.ids)], without=parts.dropped))
            start += len(block.ids)
            if pairs:
                parts.append(Change("", corpus, synonyms=pairs))
            progress.advance("pair")


def _known(change: Change, stores: Stores) -> dict[Kind, set[str]]:
    """The ids of the records of a change that have rows in the store, except chunks."""
    return {kind: stores.vectors.ids(kind, change.corpus, among=among) for kind, among in _ids(change).items()}


def _ids(change: Change) -> dict[Kind, list[str]]:
    return {
        Kind.STATEMENT: [record.id for record in change.statements],
        Kind.TOPIC: [record.id for record in change.topics],
        Kind.ENTITY: list(change.entities),
    }


def _counted(corpus: str, names: Callable[[CorpusStats], int] | None, stores: Stores) -> tuple[CorpusStats, int]:
    """The statistics of a corpus, and its number of entity names."""
    stats = stores.graph.stats(corpus, has_counts=names is None, has_relationships=False)
    known = stats[0] if stats else CorpusStats(corpus)
    return known, known.records.get(Kind.ENTITY, 0) if names is None else names(known)


def _missing(change: Change, known_chunks: frozenset[str], stores: Stores) -> _Rows:
    """The rows of :func:`_rows` that the store lacks, then those of stored topics."""
    known = _known(change, stores)
    ids = known[Kind.TOPIC]
    stored = _stored_topics(change, known_chunks, topics=change.topics, stored_ids=ids, stores=stores)
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
    calibration = whole_calibration(corpus, names, stores=stores)
    if calibration is None:
        return None
    return Change(content_id("calibration", corpus, *map(str, astuple(calibration))), corpus, calibration=calibration)


def whole_calibration(corpus: str, names: int, *, stores: Stores) -> Calibration | None:
    """The scale of the cosines of a whole corpus, by its stored vectors; None with fewer than 128 names.

    Parameters
    ----------
    corpus : the corpus
    names : number of names in it
    stores : both stores
    """
    if not is_due(None, names):
        return None
    return _calibrated(lambda _: (), corpus, names=names, stores=stores, rows=lambda _: None)


_KINDS = (Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK)


def _calibrated(
    blocks: Callable[[Kind], Iterable[VectorBlock]],
    corpus: str,
    *,
    names: int,
    stores: Stores,
    rows: Callable[[Kind], AddedRows | None],
) -> Calibration | None:
    """The scale of the cosines of a corpus including the rows of a change.

    Measures, per kind, the 1,024 rows whose texts have the lowest hashes, in that order. A hash says nothing about the
    meaning of a text, and the sample depends only on the texts. So corpora of the same texts have the same scale, whatever
    their names and their order of growth. Reads the texts of all rows, so a corpus is measured only when it has doubled.

    Parameters
    ----------
    blocks : the ids and texts of the rows that the change adds, by kind
    corpus : its corpus
    names : number of names in the corpus after the change
    stores : hold the other rows
    rows : the vectors of the rows that the change adds, by kind

    Returns
    -------
    Calibration
        None with fewer than 128 names.
    """
    titles = {source.id: source.title for source in find_records(stores.graph, Source, scope=Scope(corpus))}
    samples: dict[Kind, NDArray[np.float32]] = {}
    for kind in _KINDS:
        added = (pair for block in blocks(kind) for pair in zip(block.texts, block.ids, strict=True))
        samples[kind] = _sample(kind, added, corpus, titles=titles, stores=stores, rows=rows(kind))
    return measured(samples, names=names)


def _sample(
    kind: Kind,
    added: Iterable[tuple[str, str]],
    corpus: str,
    *,
    titles: Mapping[str, str],
    stores: Stores,
    rows: AddedRows | None,
) -> NDArray[np.float32]:
    """The rows whose texts have the lowest hashes, in the order of the hashes. Rows of equal texts have equal vectors."""
    new: Mapping[str, int] = {} if rows is None else rows.rows
    texts = ((checksum(text), name) for text, name in added)
    rows_stored = indexed(stores.graph.find(kind, Scope(corpus)), titles)
    others = ((checksum(row.text), row.id) for row in rows_stored if row.id not in new)
    chosen = [name for _, name in heapq.nsmallest(SAMPLE, chain(texts, others))]
    names, matrix = stores.vectors.vectors(kind, corpus, ids=[name for name in chosen if name not in new])
    vectors = dict(zip(names, matrix, strict=True))
    if rows is not None:
        vectors |= {name: rows.matrix[new[name]] for name in chosen if name in new}
    sample = [vectors[name] for name in chosen if name in vectors]
    return np.stack(sample) if sample else np.empty((0, 0), dtype=np.float32)


def _stored_topics(
    change: Change,
    known_chunks: frozenset[str],
    *,
    topics: Sequence[Topic],
    stored_ids: Collection[str],
    stores: Stores,
) -> list[Topic]:
    """The stored topics that lose or gain statements by a change, and possibly others of its sources, by ascending id.

    Only the graph store knows what the chunks that lose their links asserted, so this includes all topics of their sources.
    """
    again = {topic.id: topic for topic in topics if topic.id in stored_ids}
    known = tuple(record.id for record, base in zip(change.sources, change.base_versions, strict=True) if base > 0)
    if known and (change.chunks or change.removed_chunks or isinstance(change, LargeChange)):
        is_all = bool(known_chunks or change.removed_chunks)
        named = {topic.id for topic in topics}
        for topic in find_records(stores.graph, Topic, scope=Scope(change.corpus, sources=known)):
            if is_all or topic.id in named:
                again[topic.id] = topic
    return [again[name] for name in sorted(again)]


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
        return matrix[np.array([at[text] for text in texts], dtype=np.intp)]

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
