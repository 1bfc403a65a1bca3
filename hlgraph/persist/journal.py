"""Writes a change in journalled steps: intent, vectors, one flip of the graph, removal of obsolete rows.

A crash between any two steps leaves the stores consistent: before the flip nothing of the change is visible, after it
everything is. :func:`finish` continues from the last completed step with the recorded change, without calling a model again.

The journal of a server records the rows of new records without their vectors. If all rows of a change reached the vector
store before the crash, the change is finished. Otherwise nothing of it is visible, and it is undone: the same ingest makes it
again from cached vectors and replies. A change that was too large for memory (:class:`hlgraph.change.LargeChange`) is recorded
without its content, so it is undone as well if a crash comes before it is published.

Until version 0.2 the vector of a topic was the vector of its name. The migration of the graph store marks the corpora of
that time. :func:`resume`, which every write calls first, and ``hlgraph migrate apply`` renew their topics without a model, from
the stored vectors of the names and of the statements. Each batch is a change of the journal that holds the new vectors.
Publishing it moves the mark, so no vector is renewed twice.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from hlgraph import progress
from hlgraph.change import Change, ChangeState, LargeChange, Outcome, Pending, Renewal, VectorBlock
from hlgraph.errors import ModelMismatchError, StoreError
from hlgraph.ids import content_id, normalise_name
from hlgraph.persist.assemble import links_about, renewed_topics, topic_rows
from hlgraph.records import Kind, Source, Topic
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import Scope, Stores, VectorBatch, find_records

_LOG = logging.getLogger(__name__)
_PULLED = 10_000  # topics whose statements are looked up together
_BATCH = 1_000  # topics of one change
_WITH_VECTORS = (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY, Kind.SOURCE)


Noted: TypeAlias = Callable[[Change, Outcome], object]
"""Called with a published change before the journal forgets it; after a kill in between, it is called again."""


def _unnoted(_: Change, __: Outcome) -> None:
    return


def persist(change: Change, stores: Stores, *, noted: Noted = _unnoted) -> Outcome:
    """Write a change to both stores. The caller must hold the lock of the graph store.

    Parameters
    ----------
    change : the change, with its vectors
    stores : both stores
    noted : see :data:`Noted`; default nothing

    Returns
    -------
    Outcome
        The records that were added and removed.

    Raises
    ------
    ModelMismatchError
        The vectors differ in length from the change's declaration or from the corpus. The change is then undone.
    """
    wrong = _unfit(change)
    if wrong:
        raise ModelMismatchError(
            f"corpus {change.corpus!r}: {change.embedding} has {change.dimensions} dimensions, but its vectors of "
            f"{wrong[0].kind} have {wrong[0].dimensions}; correct the dimensions or the name of the model"
        )
    stores.graph.stage(change)
    return _finish(Pending(change, ChangeState.STAGED, Outcome()), stores, noted)


def finish(pending: Pending, stores: Stores, *, noted: Noted = _unnoted) -> Outcome | None:
    """Finish a change of the journal from its last completed step. Repeating this changes nothing.

    Parameters
    ----------
    pending : the recorded change and its state
    stores : both stores
    noted : see :data:`Noted`; default nothing

    Returns
    -------
    Outcome | None
        The records that were added and removed. None if the change was undone: it was not visible, and its vectors were
        lost or cannot be stored.
    """
    change = pending.change
    wrong = _unfit(change)
    if pending.state is ChangeState.STAGED and (wrong or change.part_count or _is_lost(change, stores)):
        abandon(pending, stores)
        return None
    wrong += [block for block in change.replacements if block.is_hollow]
    if wrong:
        # Published by an earlier version, or the rest of a large change. Delete the rows that cannot be written, so that a
        # repair embeds them again.
        fit = tuple(block for block in change.replacements if block not in wrong)
        stores.vectors.delete(change.corpus, _ids_by_kind(wrong))
        names = None if change.topic_names in wrong else change.topic_names
        pending = replace(pending, change=replace(change, replacements=fit, topic_names=names))
        _LOG.warning("corpus %s: vectors were lost; run: hlgraph reconcile --repair", change.corpus)
    try:
        return _finish(pending, stores, noted)
    except ModelMismatchError:
        if pending.state is not ChangeState.STAGED:
            raise
        return None


def _unfit(change: Change) -> list[VectorBlock]:
    """The blocks whose vectors differ in length from the change: the model returned another length than it declared."""
    names = () if change.topic_names is None else (change.topic_names,)
    blocks = (*change.vectors, *change.replacements, *names) if change.embedding else ()
    return [block for block in blocks if block.ids and block.dimensions != change.dimensions]


def _ids_by_kind(blocks: Iterable[VectorBlock]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for block in blocks:
        ids.setdefault(block.kind.value, []).extend(block.ids)
    return ids


def _is_lost(change: Change, stores: Stores) -> bool:
    """Whether a row is neither in the journal nor in the vector store."""
    hollow = (block for block in change.vectors if block.is_hollow)
    return any(set(block.ids) - stores.vectors.ids(block.kind, change.corpus, among=block.ids) for block in hollow)


def _finish(pending: Pending, stores: Stores, noted: Noted) -> Outcome:
    change, outcome = pending.change, pending.outcome
    is_staged = is_hidden = pending.state is ChangeState.STAGED
    try:
        with stores.together():
            if is_staged:
                rows = functools.partial(_before, change, stores)
                outcome = stores.graph.advance(change.id, ChangeState.PUBLISHED, beside=rows)
                is_hidden = stores.is_one  # if both stores are one, an error rolls it back
            _after(change, outcome, stores)
    except ModelMismatchError:
        if is_hidden:  # otherwise every later write would resume it and fail
            abandon(pending, stores)
        raise
    noted(change, outcome)
    stores.graph.advance(change.id, ChangeState.DONE)
    _LOG.debug("change %s is done", change.id)
    return outcome


def abandon(pending: Pending, stores: Stores) -> None:
    """Discard a change that never became visible: delete its hidden rows, then its journal entry. Safe to repeat.

    This is the remedy for a change that the graph store repeatedly fails to publish. The caller must hold the lock.

    Parameters
    ----------
    pending : the recorded change and its state
    stores : both stores

    Raises
    ------
    StoreError
        The change is already visible and can only be finished.
    """
    change = pending.change
    if pending.state is not ChangeState.STAGED:
        raise StoreError(f"change {change.id} is visible already; run any ingest or delete to finish it")
    if change.is_arrival:
        _undo_arrival(change.corpus, stores)
        stores.graph.advance(change.id, ChangeState.DONE)
        return
    written: dict[Kind, list[str]] = {
        Kind.SOURCE: [source.id for source, base in zip(change.sources, change.base_versions, strict=True) if base == 0]
    }
    for block in change.vectors:
        written.setdefault(block.kind, []).extend(block.ids)
    hidden: dict[str, list[str]] = {}
    for kind, ids in written.items():
        visible = {record.id for record in stores.graph.records(kind, ids, scope=Scope(pending.change.corpus))}
        hidden[kind.value] = [name for name in ids if name not in visible]
    stores.vectors.delete(change.corpus, {kind: ids for kind, ids in hidden.items() if ids})
    stores.graph.advance(change.id, ChangeState.DONE)
    _LOG.info("discarded change %s", change.id)


def _undo_arrival(corpus: str, stores: Stores) -> None:
    """Remove the hidden corpus of an import that did not end. Nothing else of the corpus exists."""
    rows = {kind.value: stores.vectors.ids(kind, corpus) for kind in _WITH_VECTORS}
    stores.vectors.delete(corpus, {kind: ids for kind, ids in rows.items() if ids})
    if stores.graph.copies is not None:
        stores.graph.copies.drop(corpus)
    _LOG.info("removed an import of corpus %s that did not end", corpus)


def _before(change: Change, stores: Stores) -> None:
    """Write what must exist before the flip: descriptions of new sources and rows of new records, still hidden."""
    added = tuple(source for source, base in zip(change.sources, change.base_versions, strict=True) if base == 0)
    _upsert(change, added, change.blocks(), stores=stores)


def _after(change: Change, outcome: Outcome, stores: Stores) -> None:
    """Write what may only follow the flip: new descriptions and rows of visible records, and deletions."""
    known = tuple(source for source, base in zip(change.sources, change.base_versions, strict=True) if base > 0)
    topics = (
        renewed_topics(change, outcome, vectors=stores.vectors) if outcome.about else ()
    )  # they have other statements now
    _upsert(change, known, itertools.chain(change.rewritten(), topics), stores=stores)
    gone = {kind.value: outcome.vanished[kind] for kind in _WITH_VECTORS if outcome.vanished.get(kind)}
    if gone:
        stores.vectors.delete(change.corpus, gone)


def _upsert(change: Change, sources: Sequence[Source], blocks: Iterator[VectorBlock], *, stores: Stores) -> None:
    """Write sources and rows; those of a change that fits into memory at once, those of a large one block by block."""
    for some in ([block] for block in blocks) if isinstance(change, LargeChange) else [list(blocks)]:
        if sources or some:
            stores.vectors.upsert(VectorBatch(change.corpus, change.id, tuple(sources), tuple(some)))
        if isinstance(change, LargeChange):
            progress.advance("persist")
        sources = ()
    if sources:
        stores.vectors.upsert(VectorBatch(change.corpus, change.id, tuple(sources), ()))


def check_left(corpus: str, stores: Stores) -> None:
    """Refuse a corpus that has rows in the vector store but is unknown to the graph store.

    New records of the same names would count as known and get no synonyms.

    Parameters
    ----------
    corpus : a corpus without statistics and without pending changes; the caller holds the lock
    stores : both stores

    Raises
    ------
    StoreError
        There are rows.
    """
    if stores.vectors.ids(Kind.ENTITY, corpus) or stores.vectors.ids(Kind.SOURCE, corpus):
        raise StoreError(
            f"corpus {corpus!r}: the vector store has rows of it, and the graph has nothing; the graph was emptied, or these "
            f"are rows of another graph. To delete them: hlgraph reconcile --repair --corpus {corpus}. To keep them: choose "
            "another corpus or opensearch.prefix"
        )


def resume(pending: Sequence[Pending], stores: Stores, *, corpus: str | None = None, noted: Noted = _unnoted) -> int:
    """Finish or undo the changes of interrupted runs, and renew topics of an older version. The caller must hold the lock.

    Parameters
    ----------
    pending : recorded changes, in their order
    stores : both stores
    corpus : the corpus whose lock the caller holds; None for all
    noted : see :data:`Noted`; default nothing

    Returns
    -------
    The number of finished changes, without those that were undone.
    """
    count = 0
    for interrupted in pending:
        _LOG.info("finishing change %s of an interrupted run", interrupted.change.id)
        if finish(interrupted, stores, noted=noted) is None:
            _LOG.warning(
                "change %s was undone: its vectors cannot be stored, or were lost; run the same ingest again",
                interrupted.change.id,
            )
        else:
            count += 1
    for stats in stores.graph.stats(corpus, has_counts=False):
        if stats.renewed_to is not None:
            _renew(stats.corpus, after=stats.renewed_to, stores=stores)
    return count


def _renew(corpus: str, *, after: str, stores: Stores) -> None:
    """Renew the topics whose ids are higher than ``after``."""
    _LOG.info("corpus %s: renewing the vectors of topics", corpus)
    topics = (topic for topic in find_records(stores.graph, Topic, scope=Scope(corpus)) if topic.id > after)
    with progress.step("renew", unit="topics"):
        for part in batched(topics, _PULLED):
            about = links_about([topic.id for topic in part], corpus, graph=stores.graph)
            for batch in batched(part, _BATCH):
                last = batch[-1].id
                names = _names(batch, corpus, stores)
                rows = (topic_rows(names, about, corpus=corpus, vectors=stores.vectors),) if names.ids else ()
                name = content_id("renewal", corpus, last)
                persist(Change(name, corpus, replacements=rows, renewal=Renewal(last)), stores)
                progress.advance("renew", len(batch))
    persist(Change(content_id("renewal", corpus), corpus, renewal=Renewal("", is_complete=True)), stores)


def _names(topics: Sequence[Topic], corpus: str, stores: Stores) -> VectorBlock:
    """The stored vectors of these topics, which are still the vectors of their names."""
    known = {topic.id: topic for topic in topics}
    ids, matrix = stores.vectors.vectors(Kind.TOPIC, corpus, ids=list(known))
    rows = [(name, normalise_name(known[name].name), known[name].source_id) for name in ids]
    return VectorBlock.of(Kind.TOPIC, rows, matrix=matrix)
