"""Verify that the graph store and the vector store hold the same data, as written, and repair differences.

Both are written through a journal, so they agree unless one was changed by hand or restored from a copy, or a disk lost or
altered data. Vectors and full text are rebuilt from the records. Missing records and altered links are extracted again from the
stored chunks, with the extractor of the corpus. If only a document can restore the data, such as the text of a chunk, its source
is named, to be ingested again.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hlgraph import ids, progress
from hlgraph.change import Change, Synonym
from hlgraph.errors import StoreConflictError
from hlgraph.extract.extractor import ChunkInput, Extractor
from hlgraph.extract.local import LocalExtractor
from hlgraph.index.embed import check_model, embed_records, embed_topics, indexed
from hlgraph.models.choose import ChosenModels
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import Extracted, assemble, links_about
from hlgraph.persist.compare import chunk_fingerprint, damaged, is_damaged, is_same_extraction, untrue
from hlgraph.persist.journal import persist, resume
from hlgraph.progress import OnProgress
from hlgraph.records import Chunk, Entity, Fact, Kind, Record, Relationship, Source, Statement, Topic
from hlgraph.resolve.candidates import least_synonym, synonyms
from hlgraph.stores.batches import batched
from hlgraph.stores.open import Opened
from hlgraph.stores.protocols import (
    AlteredRecord,
    PullShape,
    Row,
    Scope,
    Stores,
    VectorBatch,
    by_id,
    by_source,
    find_records,
    read_records,
)

KINDS_IN_BOTH = (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
"""The kinds that both stores hold; of sources the vector store holds descriptions."""
_BATCH = 1_000
_ATTEMPTS, _PAUSE = 3, 0.5
"""Maximum number of comparisons of a corpus that is being written, and seconds between two of them."""

Ids = Mapping[Kind, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences of one corpus between the two stores, and from the data as written: ids by kind.

    Attributes
    ----------
    without_vector : records without a row in the vector store; of sources it holds descriptions
    without_record : rows without a record
    sources_to_ingest : uris of sources that lost a chunk, or whose text or metadata was altered; only their documents can
        bring that back
    altered_vectors : rows whose vector is not the one that was written
    altered_texts : rows whose full text is missing, cannot be searched, or is not that of the record
    stray_texts : number of full-text entries without a row
    altered_records : records whose content does not match their id, or differs from what was written; also chunks with altered
        links, and entities with altered synonyms
    is_restored : whether the database of the store was damaged and its indexes were rebuilt
    """

    corpus: str
    without_vector: Ids = field(default_factory=dict)
    without_record: Ids = field(default_factory=dict)
    sources_to_ingest: tuple[str, ...] = ()
    altered_vectors: Ids = field(default_factory=dict)
    altered_texts: Ids = field(default_factory=dict)
    stray_texts: Mapping[Kind, int] = field(default_factory=dict)
    altered_records: Ids = field(default_factory=dict)
    is_restored: bool = False

    @property
    def is_none(self) -> bool:
        """Whether both stores hold the same data, as written."""
        altered = (self.altered_vectors, self.altered_texts, self.stray_texts, self.altered_records)
        return self.is_same and not any(altered) and not self.is_restored

    @property
    def is_same(self) -> bool:
        """Whether both stores hold the same ids."""
        return not (self.without_vector or self.without_record or self.sources_to_ingest)


def reconcile(
    corpus: str, *, opened: Opened, models: ChosenModels, repair: bool, on_progress: OnProgress | None = None
) -> tuple[Drift, Drift]:
    """The drift of a corpus before and after repair.

    Parameters
    ----------
    corpus : the corpus
    opened : the open stores; without ``repair``, ``opened.sample`` says how much content is compared
    models : the embedder, created at its first use
    repair : repair the drift; see :meth:`hlgraph.HLGraph.reconcile`
    on_progress : called with the :class:`hlgraph.Progress` of every step; default none

    Returns
    -------
    (found, left)
    """
    with progress.listening(on_progress), progress.step("compare", unit="kinds of records"):
        if not repair:
            drift = find_drift(corpus, stores=opened.stores, sample=opened.sample)
            return drift, drift
        embedder = models.embedder_of(opened.stores.graph.stats(corpus, has_counts=False))
        return mend(corpus, stores=opened.stores, extractor=LocalExtractor(), embedder=embedder)


def find_drift(corpus: str, *, stores: Stores, sample: int | None = None) -> Drift:
    """Compare the ids of a corpus in both stores, and their content with what was written.

    Reads all records, takes no lock and changes nothing. If the corpus is being written, the comparison is repeated a few times.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores
    sample : records of each kind whose content is compared; None: all

    Returns
    -------
    Drift

    Raises
    ------
    StoreConflictError
        Differences may belong to an unfinished change of an active writer or of an interrupted run.
    """
    for left in reversed(range(_ATTEMPTS)):
        before = _state(corpus, stores)
        drift = _drift(corpus, stores, sample=sample)
        if drift.is_none or (not before.changes and _state(corpus, stores) == before):
            return drift
        time.sleep(_PAUSE if left else 0)
    raise StoreConflictError(
        f"corpus {corpus!r} is being written, or an interrupted run left a change (see: hlgraph journal), so differences "
        "mean nothing yet; run the same command again later, or with --repair, which waits for the writer and finishes "
        "what was left"
    )


class _State(NamedTuple):
    """The state of a corpus, to detect changes: its version, and its unfinished changes with their progress."""

    version: int
    changes: tuple[tuple[str, str], ...]


def _state(corpus: str, stores: Stores) -> _State:
    changes = tuple((item.change.id, item.state.value) for item in stores.graph.unfinished(corpus))
    stats = stores.graph.stats(corpus, has_counts=False)
    return _State(stats[0].version if stats else 0, changes)


def _drift(corpus: str, stores: Stores, *, sample: int | None = None) -> Drift:
    differences: list[dict[Kind, tuple[str, ...]]] = [{}, {}, {}, {}]  # those of Drift, in the order below
    strays: dict[Kind, int] = {}
    length = _dimensions(corpus, stores)
    for kind in KINDS_IN_BOTH:
        records = list(stores.graph.find(kind, Scope(corpus)))
        here, there = {item.id for item in records}, stores.vectors.ids(kind, corpus)
        rows = rows_of(records[:sample], corpus, stores=stores)
        damage = stores.vectors.examine(kind, corpus, rows=rows, dimensions=length)
        lists = (here - there, there - here, damage.vectors, damage.texts - damage.vectors)
        for ids_of, wrong in zip(differences, lists, strict=True):
            if wrong:
                ids_of[kind] = tuple(sorted(wrong))
        if damage.strays:
            strays[kind] = damage.strays
        progress.advance("compare")
    sources = tuple(item.uri for item in _damaged(corpus, stores))
    altered: dict[Kind, tuple[str, ...]] = {}
    for item in altered_records(corpus, stores=stores, sample=sample):
        altered[item.kind] = tuple(sorted({*altered.get(item.kind, ()), item.id}))
    without_vector, without_record, vectors, texts = differences
    return Drift(corpus, without_vector, without_record, sources, vectors, texts, strays, altered)


def _dimensions(corpus: str, stores: Stores) -> int:
    """Length of the vectors of a corpus, as it was declared; 0 if it has none."""
    return next((item.dimensions for item in stores.graph.stats(corpus, has_counts=False)), 0)


def altered_records(corpus: str, *, stores: Stores, sample: int | None = None) -> list[AlteredRecord]:
    """The altered records of a corpus, by their ids and, if the store has them, by its seals.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores
    sample : records of each kind whose content is compared with their ids; None: all
    """
    altered = set(() if stores.graph.seals is None else stores.graph.seals.altered(corpus))
    known = {(record.kind, record.id) for record in altered if not record.is_links}
    for kind in (*KINDS_IN_BOTH, Kind.FACT):
        _, wrong = untrue_records(kind, corpus, stores=stores, sample=sample)
        altered |= {AlteredRecord(kind, name, corpus, "", False) for name in wrong if (kind, name) not in known}
    return sorted(altered, key=lambda record: (record.kind, record.id, record.is_links))


def untrue_records(
    kind: Kind, corpus: str, *, stores: Stores, sample: int | None, step: str = ""
) -> tuple[int, list[str]]:
    """The number of records read of a kind, and the ids of those whose content does not match their id.

    Parameters
    ----------
    kind : kind of the records
    corpus : the corpus
    stores : the open stores
    sample : maximum number of records to read; None: all
    step : the step of :mod:`hlgraph.progress` in which records are counted; empty: none
    """
    count = 0
    wrong: list[str] = []
    for batch in batched(itertools.islice(stores.graph.find(kind, Scope(corpus)), sample), _BATCH):
        count += len(batch)
        wrong += [item.id for item in untrue(batch, corpus, names=_names_of_facts(batch, corpus, stores))]
        progress.advance(step, len(batch))
    return count, wrong


def _names_of_facts(records: Sequence[Record], corpus: str, stores: Stores) -> dict[str, str]:
    facts = [item for item in records if isinstance(item, Fact)]
    wanted = {name for item in facts for name in (item.subject_id, item.object_id) if name}
    entities = read_records(stores.graph, Entity, ids=sorted(wanted), scope=Scope(corpus))
    return {name: entity.name for name, entity in entities.items()}


def rows_of(records: Sequence[Record], corpus: str, *, stores: Stores, step: str = "") -> Iterator[Row]:
    """The rows that the vector store should hold for records, without their vectors.

    Parameters
    ----------
    records : records of one kind
    corpus : their corpus
    stores : hold their sources, whose titles belong to the text of a chunk
    step : the step of :mod:`hlgraph.progress` in which records are counted; empty: none
    """
    for part in batched(records, _BATCH):
        yield from indexed(part, _titles(part, corpus, stores=stores))
        progress.advance(step, len(part))


def _damaged(corpus: str, stores: Stores) -> list[Source]:
    """Sources that are marked, or whose chunks are not numbered without a gap: a chunk was lost."""
    places: dict[str, set[int]] = {}
    for chunk in find_records(stores.graph, Chunk, scope=Scope(corpus)):
        places.setdefault(chunk.source_id, set()).add(chunk.position)
    lost = {source for source, positions in places.items() if positions != set(range(len(positions)))}
    sources = find_records(stores.graph, Source, scope=Scope(corpus))
    return [source for source in sources if source.id in lost or is_damaged(source.checksum)]


def mend(corpus: str, *, stores: Stores, extractor: Extractor, embedder: Embedder) -> tuple[Drift, Drift]:
    """Repair the drift of a corpus.

    Sources that lost a chunk are marked, so that the next ingest of their documents reads them again.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores
    extractor : used only if the graph lost statements, topics or entities, or if links of chunks were altered
    embedder : used if vectors are lost or altered

    Returns
    -------
    (found, left)
        The drift before and after the repair.

    Raises
    ------
    ModelMismatchError : there is drift, and the corpus was embedded by another model
    """
    locked = corpus if stores.graph.seals is None else None  # seals restore the database of all corpora
    with stores.graph.lock(locked) as pending:
        is_restored = stores.graph.seals is not None and stores.graph.seals.restore()
        resume(pending, stores, corpus=locked)
        before = replace(_drift(corpus, stores), is_restored=is_restored)
        if before.is_none:
            return before, before
        if not before.is_same or before.altered_vectors or before.altered_records:
            check_model(stores.graph.stats(corpus, has_counts=False), embedder)
            embedder.embed([corpus])  # rejects a model with unusable replies before anything is removed
        lost = {name for kind, names in before.without_record.items() if kind is not Kind.SOURCE for name in names}
        is_known = _mend_records(corpus, lost, stores=stores, extractor=extractor)
        for kind in KINDS_IN_BOTH:  # rows removed here are embedded again below
            rows = rows_of(list(stores.graph.find(kind, Scope(corpus))), corpus, stores=stores)
            stores.vectors.examine(kind, corpus, rows=rows, dimensions=_dimensions(corpus, stores), repair=True)
        after = _drift(corpus, stores)
        _embed_again(after, stores=stores, embedder=embedder)
        statements = lost.union(after.without_vector.get(Kind.STATEMENT, ()))
        topics = _topics_about(statements, corpus, stores).union(after.without_vector.get(Kind.TOPIC, ()))
        _embed_topics_again(sorted(topics), corpus, stores=stores, embedder=embedder)
        # If other extractors took part, a row without a record may be the last trace of lost data: it is kept and reported.
        garbage = {kind.value: names for kind, names in after.without_record.items() if is_known or kind is Kind.SOURCE}
        if garbage:
            stores.vectors.delete(corpus, garbage)
        _link_again(before.altered_records.get(Kind.ENTITY, ()), corpus, stores)
        return before, _drift(corpus, stores)


def _mend_records(corpus: str, lost: set[str], *, stores: Stores, extractor: Extractor) -> bool:
    """Restore what can be restored from the records and the text of the chunks; mark the sources of the rest.

    Returns whether all chunks that were extracted again, or searched for lost records, were made by this extractor.
    """
    altered = altered_records(corpus, stores=stores)
    wrong = {kind: {item.id for item in altered if item.kind is kind} for kind in Kind}
    named = sorted(wrong[Kind.ENTITY] | wrong[Kind.TOPIC])
    if named:  # names are restored from the mentions
        name = ids.content_id("renamed", corpus, *named)
        persist(Change(name, corpus, recounted=tuple(named)), stores)
        # Facts consist of names.
        wrong[Kind.FACT] = set(untrue_records(Kind.FACT, corpus, stores=stores, sample=None)[1])
    chunks = {item.id: item for item in _chunks(sorted(wrong[Kind.CHUNK]), corpus, stores)}
    false = {item.id for item in untrue(list(chunks.values()), corpus, names={})}
    unsure = {item.id for item in altered if item.kind is Kind.CHUNK and not item.is_links}
    if wrong[Kind.SOURCE]:  # the title of a source is in the text of its chunks
        scope = Scope(corpus, sources=tuple(sorted(wrong[Kind.SOURCE])))
        unsure |= {item.id for item in stores.graph.find(Kind.CHUNK, scope)}
    again = (wrong[Kind.CHUNK] | _chunks_saying(wrong[Kind.STATEMENT], wrong[Kind.FACT], corpus, stores)) - unsure
    done, is_known = _extract_again(corpus, lost, again=again, stores=stores, extractor=extractor)
    doubted = (unsure | (again - done)) - false
    of_chunks = {item.source_id for item in _chunks(sorted(doubted | false), corpus, stores)}
    _mark(
        corpus,
        stores,
        of_chunks | wrong[Kind.SOURCE],
        change=Change("", corpus, removed_chunks=tuple(sorted(false)), doubted=tuple(sorted(doubted))),
    )
    if stores.graph.seals is not None:
        stores.graph.seals.accept(corpus, altered)
    return is_known


def _chunks(names: Sequence[str], corpus: str, stores: Stores) -> list[Chunk]:
    return list(read_records(stores.graph, Chunk, ids=names, scope=Scope(corpus)).values())


def _chunks_saying(statements: set[str], facts: set[str], corpus: str, stores: Stores) -> set[str]:
    """The chunks that assert these statements and facts."""
    if not statements and not facts:
        return set()
    followed = (Relationship.SUPPORTS, Relationship.IN_CHUNK)
    shape = PullShape.along(*followed, hops=2, fan_out=_BATCH, node_cap=_BATCH * _BATCH)
    pulled = stores.graph.pull(sorted(statements | facts), shape, scope=Scope(corpus))
    return {item.id for item in _chunks(pulled.ids.tolist(), corpus, stores)}


def _link_again(entities: Sequence[str], corpus: str, stores: Stores) -> None:
    """Write the SYNONYM links of entities with altered links again, from the vectors."""
    records = read_records(stores.graph, Entity, ids=entities, scope=Scope(corpus))
    names = {name: ids.normalise_name(entity.name) for name, entity in records.items()}
    links = _synonyms(names, corpus, stores)
    if links:
        persist(Change(ids.content_id("linked", corpus, *sorted(names)), corpus, synonyms=links), stores)


def _extract_again(
    corpus: str, lost: set[str], *, again: Collection[str], stores: Stores, extractor: Extractor
) -> tuple[set[str], bool]:
    """Write chunks again if their extraction gives a record that the graph lost, and recount dependent records.

    Only chunks of this extractor are written: the results of another one, such as a chat model, would be lost. Returns the
    chunks that were written, and whether all chunks were made by this extractor.

    Parameters
    ----------
    corpus : the corpus
    lost : ids of lost records
    again : chunks to write again in any case
    stores : the open stores
    extractor : extracts the chunks
    """
    written: set[str] = set()
    is_known = True
    if not lost and not again:
        return written, is_known
    sources = by_id(stores.graph.find(Kind.SOURCE, Scope(corpus)), Source)
    chunks = by_source(stores.graph.find(Kind.CHUNK, Scope(corpus)), Chunk)
    names = sorted(
        sources.keys()
        & (chunks if lost else {item.source_id for item in _chunks(sorted(again), corpus, stores)} & chunks.keys())
    )
    for batch in batched(names, _BATCH):
        part = [_extracted(sources[name], chunks[name], extractor) for name in batch]
        is_known = is_known and all(len(item.extractions) == len(chunks[item.comparison.source.id]) for item in part)
        affected = [item for item in (_only(item, lost, again, corpus) for item in part) if item.extractions]
        if affected:
            change = assemble(corpus, affected)
            fresh = {
                item.entity_id: ids.normalise_name(item.surface) for item in change.mentions if item.entity_id in lost
            }
            persist(replace(change, recounted=change.entities, synonyms=_synonyms(fresh, corpus, stores)), stores)
            written |= {chunk.id for item in affected for chunk, _ in item.plan.to_extract}
    return written, is_known


def _synonyms(names: Mapping[str, str], corpus: str, stores: Stores) -> tuple[Synonym, ...]:
    """SYNONYM links of entities, by id and normalised name, from the vectors that are stored."""
    known, matrix = stores.vectors.vectors(Kind.ENTITY, corpus, ids=sorted(names))
    if not known:
        return ()
    least = least_synonym(stores.graph.stats(corpus, has_counts=False)[0].calibration)
    return tuple(synonyms(names, known, matrix=matrix, corpus=corpus, stores=stores, least=least))


def _extracted(source: Source, chunks: Sequence[Chunk], extractor: Extractor) -> Extracted:
    in_order = sorted(chunks, key=lambda item: item.position)
    contexts = [
        ChunkInput(item.text, source.title, item.headings, source.uri, None, item.position, len(in_order), source.id)
        for item in in_order
    ]
    own = [
        (item, context)
        for item, context in zip(in_order, contexts, strict=True)
        if is_same_extraction(item.fingerprint, chunk_fingerprint(context, extractor))
    ]
    extractions = extractor.extract([context for _, context in own])
    return Extracted.again(source, own, extractions=extractions, checksum=source.checksum)


def _only(item: Extracted, lost: set[str], again: Collection[str], corpus: str) -> Extracted:
    """The chunks in ``again``, and those whose extraction gives a lost record; the others stay as they are."""
    kept = []
    for pair, extraction in zip(item.plan.to_extract, item.extractions, strict=True):
        plan = replace(item.plan, to_extract=(pair,))
        change = assemble(corpus, [Extracted(item.comparison, plan, (extraction,))])
        extracted = {*change.entities, *(one.id for one in change.statements), *(one.id for one in change.topics)}
        if (extracted & lost or pair[0].id in again) and not extraction.is_failed:
            kept.append((pair, extraction))
    plan = replace(item.plan, to_extract=tuple(pair for pair, _ in kept))
    return Extracted(item.comparison, plan, tuple(extraction for _, extraction in kept))


def _mark(corpus: str, stores: Stores, sources: Collection[str], *, change: Change) -> None:
    """Give damaged sources a checksum that no document has, so that the next ingest treats them as changed.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores
    sources : ids of sources to mark besides those that lost a chunk
    change : a change to write together with the marks
    """
    doubted = read_records(stores.graph, Source, ids=sorted(sources), scope=Scope(corpus))
    doubted |= {source.id: source for source in _damaged(corpus, stores)}
    wrong = [doubted[name] for name in sorted(doubted) if not is_damaged(doubted[name].checksum)]
    if not wrong and not change.removed_chunks and not change.doubted:
        return
    marked = tuple(replace(source, checksum=damaged(source.checksum), version=source.version + 1) for source in wrong)
    states = (f"{source.id}:{source.version}" for source in wrong)
    name = ids.content_id("damaged", corpus, *states, *change.removed_chunks, *change.doubted)
    persist(replace(change, id=name, sources=marked, base_versions=tuple(source.version for source in wrong)), stores)


def _embed_again(drift: Drift, *, stores: Stores, embedder: Embedder) -> None:
    """Embed records, except topics, and describe sources, if they have no row in the vector store."""
    for kind, names in drift.without_vector.items():
        if kind is Kind.TOPIC:
            continue
        for part in batched(names, _BATCH):
            records = stores.graph.records(kind, part, scope=Scope(drift.corpus))
            described = tuple(item for item in records if isinstance(item, Source))
            batch = VectorBatch(drift.corpus, ids.content_id("repair", drift.corpus, kind, *part), described)
            if kind is not Kind.SOURCE:
                titles = _titles(records, drift.corpus, stores=stores)
                batch = replace(batch, blocks=(embed_records(kind, records, titles=titles, embedder=embedder),))
            stores.vectors.upsert(batch)


def _topics_about(lost: set[str], corpus: str, stores: Stores) -> set[str]:
    """The topics of lost statements: a change may have embedded the topics without them."""
    statements = [item.id for item in stores.graph.records(Kind.STATEMENT, sorted(lost), scope=Scope(corpus))]
    return set(links_about(statements, corpus, graph=stores.graph)) if statements else set()


def _embed_topics_again(names: Sequence[str], corpus: str, *, stores: Stores, embedder: Embedder) -> None:
    """Write the rows of topics, after those of all statements."""
    for part in batched(names, _BATCH):
        topics = read_records(stores.graph, Topic, ids=part, scope=Scope(corpus))
        if topics:
            change = ids.content_id("repair", corpus, Kind.TOPIC, *part)
            block = embed_topics(list(topics.values()), corpus, embedder=embedder, stores=stores)
            stores.vectors.upsert(VectorBatch(corpus, change, (), (block,)))


def _titles(records: Sequence[Record], corpus: str, *, stores: Stores) -> dict[str, str]:
    wanted = sorted({item.source_id for item in records if isinstance(item, Chunk | Statement | Topic)})
    sources = read_records(stores.graph, Source, ids=wanted, scope=Scope(corpus))
    return {name: source.title for name, source in sources.items()}
