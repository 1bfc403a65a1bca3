"""Proves that the graph store and the vector store hold the same ids, and repairs what differs.

Both are written through a journal, so they agree unless one was changed by hand or restored from a copy, or a disk lost
data. A missing vector is embedded again from its record. A missing record is extracted again from the stored chunks, with the
extractor that the corpus was made with. A lost chunk can only come from its document: its source is named, to be ingested
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlgraph import ids, progress
from hlgraph.change import Change, Synonym
from hlgraph.extract import LocalExtractor
from hlgraph.extract.seam import ChunkInput, Extractor
from hlgraph.index import check_model, embed_records, embed_topics
from hlgraph.models.choose import ChosenModels
from hlgraph.models.seams import Embedder
from hlgraph.persist import (
    ChunkPlan,
    Comparison,
    Extracted,
    assemble,
    chunk_fingerprint,
    is_same_extraction,
    links_about,
    persist,
    resume,
)
from hlgraph.progress import OnProgress
from hlgraph.records import Chunk, Document, Kind, Record, Source, Statement, Topic
from hlgraph.resolve.synonyms import least_synonym, synonyms
from hlgraph.stores.protocols import Scope, Stores, VectorBatch

_IN_BOTH = (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences between the two stores in one corpus: ids by kind. For sources the vector store holds descriptions.

    Attributes
    ----------
    sources_to_ingest : uris of sources that lost a chunk, which only their documents can bring back
    """

    corpus: str
    without_vector: Mapping[Kind, tuple[str, ...]] = field(default_factory=dict)
    without_record: Mapping[Kind, tuple[str, ...]] = field(default_factory=dict)
    sources_to_ingest: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether both stores hold the same."""
        return not (self.without_vector or self.without_record or self.sources_to_ingest)


def reconcile(
    corpus: str, *, stores: Stores, models: ChosenModels, repair: bool, told: OnProgress | None = None
) -> tuple[Drift, Drift]:
    """The drift of a corpus before and after mending.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores
    models : the embedder, made when it is first used
    repair : repair the drift; see :meth:`hlgraph.HLGraph.reconcile`
    told : called with the :class:`hlgraph.Progress` of every step; default none

    Returns
    -------
    (found, left)
    """
    with progress.listening(told), progress.step("compare", unit="kinds of records"):
        if not repair:
            found = find_drift(corpus, stores=stores)
            return found, found
        return mend(corpus, stores=stores, extractor=LocalExtractor(), embedder=models.embedder)


def find_drift(corpus: str, *, stores: Stores) -> Drift:
    """Compare the ids of a corpus in both stores.

    Reads all records. Completes changes of interrupted runs, and changes nothing else.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores

    Returns
    -------
    Drift
    """
    with stores.graph.lock() as pending:
        resume(pending, stores)
        return _drift(corpus, stores)


def _drift(corpus: str, stores: Stores) -> Drift:
    without_vector: dict[Kind, tuple[str, ...]] = {}
    without_record: dict[Kind, tuple[str, ...]] = {}
    for kind in _IN_BOTH:
        records = {item.id for item in stores.graph.find(kind, Scope(corpus))}
        vectors = stores.vectors.ids(kind, corpus)
        if records - vectors:
            without_vector[kind] = tuple(sorted(records - vectors))
        if vectors - records:
            without_record[kind] = tuple(sorted(vectors - records))
        progress.advance("compare")
    damaged = _damaged(corpus, stores)
    return Drift(corpus, without_vector, without_record, tuple(item.uri for item in damaged))


def _damaged(corpus: str, stores: Stores) -> list[Source]:
    """Sources whose chunks are not numbered without a gap: a chunk was lost."""
    places: dict[str, set[int]] = {}
    for record in stores.graph.find(Kind.CHUNK, Scope(corpus)):
        if isinstance(record, Chunk):
            places.setdefault(record.source_id, set()).add(record.position)
    names = sorted(source for source, found in places.items() if found != set(range(len(found))))
    found_sources = stores.graph.records(Kind.SOURCE, names, scope=Scope(corpus))
    return [item for item in found_sources if isinstance(item, Source)]


def mend(corpus: str, *, stores: Stores, extractor: Extractor, embedder: Embedder) -> tuple[Drift, Drift]:
    """Mend the drift of a corpus.

    Sources that lost a chunk are marked, so that the next ingest of their documents reads them anew.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores
    extractor : used only where the graph lost statements, topics or entities
    embedder : used where there is drift

    Returns
    -------
    (found, left)
        The drift before, and what is left.

    Raises
    ------
    ModelMismatchError : there is drift, and the corpus was embedded by another model
    """
    with stores.graph.lock() as pending:
        resume(pending, stores)
        before = _drift(corpus, stores)
        if before.is_none:
            return before, before
        check_model(stores.graph.stats(corpus, has_counts=False), embedder)
        lost = {name for kind, names in before.without_record.items() if kind is not Kind.SOURCE for name in names}
        is_known = not lost or _extract_again(corpus, lost, stores=stores, extractor=extractor)
        _mark(corpus, stores)
        after = _drift(corpus, stores)
        _embed_again(after, stores=stores, embedder=embedder)
        statements = lost.union(after.without_vector.get(Kind.STATEMENT, ()))
        topics = _topics_about(statements, corpus, stores).union(after.without_vector.get(Kind.TOPIC, ()))
        _embed_topics_again(sorted(topics), corpus, stores=stores, embedder=embedder)
        # Where other extractors took part, a row without a record may be all that is left of something: it is reported.
        garbage = {kind.value: names for kind, names in after.without_record.items() if is_known or kind is Kind.SOURCE}
        if garbage:
            stores.vectors.delete(corpus, garbage)
        return before, _drift(corpus, stores)


def _extract_again(corpus: str, lost: set[str], *, stores: Stores, extractor: Extractor) -> bool:
    """Write the chunks again whose extraction gives something that the graph lost, and recount what depends on it.

    Only chunks of this extractor are touched: what another one extracted, a chat model say, would be lost. Returns whether all
    chunks are its own.
    """
    is_known = True
    sources = {item.id: item for item in stores.graph.find(Kind.SOURCE, Scope(corpus)) if isinstance(item, Source)}
    chunks: dict[str, list[Chunk]] = {}
    for record in stores.graph.find(Kind.CHUNK, Scope(corpus)):
        if isinstance(record, Chunk) and record.source_id in sources:
            chunks.setdefault(record.source_id, []).append(record)
    names = sorted(chunks)
    for start in range(0, len(names), _BATCH):
        part = [_extracted(sources[name], chunks[name], extractor) for name in names[start : start + _BATCH]]
        is_known = is_known and all(len(item.extractions) == len(chunks[item.comparison.source.id]) for item in part)
        affected = [item for item in (_only(item, lost, corpus) for item in part) if item.extractions]
        if affected:
            change = assemble(corpus, affected)
            again = _synonyms_again(change, lost, stores)
            persist(replace(change, recounted=change.entities, synonyms=again), stores)
    return is_known


def _synonyms_again(change: Change, lost: set[str], stores: Stores) -> tuple[Synonym, ...]:
    """SYNONYM links of the entities that come back, by the vectors that stayed."""
    names = {item.entity_id: ids.normalise_name(item.surface) for item in change.mentions}
    held, matrix = stores.vectors.vectors(
        Kind.ENTITY, change.corpus, ids=[item for item in change.entities if item in lost]
    )
    if not held:
        return ()
    least = least_synonym(stores.graph.stats(change.corpus, has_counts=False)[0].calibration)
    return tuple(synonyms(names, held, matrix=matrix, corpus=change.corpus, stores=stores, least=least))


def _extracted(source: Source, chunks: Sequence[Chunk], extractor: Extractor) -> Extracted:
    in_order = sorted(chunks, key=lambda item: item.position)
    contexts = [
        ChunkInput(item.text, source.title, item.headings, source.uri, None, item.position, len(in_order))
        for item in in_order
    ]
    own = [
        (item, context)
        for item, context in zip(in_order, contexts, strict=True)
        if is_same_extraction(item.fingerprint, chunk_fingerprint(context, extractor))
    ]
    document = Document(source.uri, "", source.title, source.metadata)
    state = Comparison(document, replace(source, version=source.version + 1), source.version, has_new_text=True)
    plan = ChunkPlan(tuple(own), frozenset(item.id for item, _ in own))
    return Extracted(state, plan, tuple(extractor.extract([context for _, context in own])))


def _only(item: Extracted, lost: set[str], corpus: str) -> Extracted:
    """The chunks whose extraction gives something that was lost; the others are left as they are."""
    kept = []
    for pair, extraction in zip(item.plan.to_extract, item.extractions, strict=True):
        plan = replace(item.plan, to_extract=(pair,))
        found = assemble(corpus, [Extracted(item.comparison, plan, (extraction,))])
        made = {*found.entities, *(one.id for one in found.statements), *(one.id for one in found.topics)}
        if made & lost and not extraction.is_failed:
            kept.append((pair, extraction))
    plan = replace(item.plan, to_extract=tuple(pair for pair, _ in kept))
    return Extracted(item.comparison, plan, tuple(extraction for _, extraction in kept))


def _mark(corpus: str, stores: Stores) -> None:
    """Give damaged sources a checksum that no document has, so that the next ingest takes them as changed."""
    damaged = _damaged(corpus, stores)
    if not damaged:
        return
    marked = tuple(
        replace(item, checksum=ids.checksum("damaged", item.checksum), version=item.version + 1) for item in damaged
    )
    name = ids.content_id("damaged", corpus, *(f"{item.id}:{item.version}" for item in damaged))
    versions = tuple(item.version for item in damaged)
    persist(Change(name, corpus, sources=marked, base_versions=versions), stores)


def _embed_again(drift: Drift, *, stores: Stores, embedder: Embedder) -> None:
    """Embed the records, but for topics, and descriptions of sources that have no row in the vector store."""
    for kind, names in drift.without_vector.items():
        if kind is Kind.TOPIC:
            continue
        for start in range(0, len(names), _BATCH):
            records = stores.graph.records(kind, names[start : start + _BATCH], scope=Scope(drift.corpus))
            change = ids.content_id("repair", drift.corpus, kind, *names[start : start + _BATCH])
            described = tuple(item for item in records if isinstance(item, Source))
            batch = VectorBatch(drift.corpus, change, described)
            if kind is not Kind.SOURCE:
                titles = dict(_titles(records, drift.corpus, stores=stores))
                batch = replace(batch, blocks=(embed_records(records, titles, embedder=embedder),))
            stores.vectors.upsert(batch)


def _topics_about(lost: set[str], corpus: str, stores: Stores) -> set[str]:
    """The topics of statements that were lost: a change may have renewed the topics without them."""
    found = [item.id for item in stores.graph.records(Kind.STATEMENT, sorted(lost), scope=Scope(corpus))]
    return set(links_about(found, corpus, graph=stores.graph)) if found else set()


def _embed_topics_again(names: Sequence[str], corpus: str, *, stores: Stores, embedder: Embedder) -> None:
    """Write the rows of topics, after those of all statements."""
    for start in range(0, len(names), _BATCH):
        found = stores.graph.records(Kind.TOPIC, names[start : start + _BATCH], scope=Scope(corpus))
        topics = [item for item in found if isinstance(item, Topic)]
        if topics:
            change = ids.content_id("repair", corpus, Kind.TOPIC, *names[start : start + _BATCH])
            block = embed_topics(topics, corpus, embedder=embedder, stores=stores)
            stores.vectors.upsert(VectorBatch(corpus, change, (), (block,)))


def _titles(records: Sequence[Record], corpus: str, *, stores: Stores) -> Iterator[tuple[str, str]]:
    wanted = sorted({item.source_id for item in records if isinstance(item, Chunk | Statement | Topic)})
    for source in stores.graph.records(Kind.SOURCE, wanted, scope=Scope(corpus)):
        if isinstance(source, Source):
            yield source.id, source.title
