"""The journal writes a change in steps: intent, vectors, one flip of the graph, removal of what is obsolete.

A crash between any two steps leaves the stores consistent: before the flip nothing of the change is visible, after it
everything is. :func:`finish` continues from the step that was reached, with the recorded change, without calling a model
again.
"""

from __future__ import annotations

import logging

from hlgraph.change import Change, ChangeState, Outcome, Pending
from hlgraph.errors import StoreError
from hlgraph.persist.topics import renewed_topics
from hlgraph.records import Kind
from hlgraph.stores.protocols import Stores, VectorBatch

_LOG = logging.getLogger(__name__)
_WITH_VECTORS = (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY, Kind.SOURCE)


def persist(change: Change, stores: Stores) -> Outcome:
    """Write a change to both stores; the caller holds the lock of the graph store.

    Parameters
    ----------
    change : the change, with its vectors
    stores : both stores

    Returns
    -------
    Outcome
        What was added and what vanished.
    """
    stores.graph.stage(change)
    return finish(Pending(change, ChangeState.STAGED, Outcome()), stores)


def finish(pending: Pending, stores: Stores) -> Outcome:
    """Finish a recorded change from the step that it has reached; repeating this changes nothing.

    Parameters
    ----------
    pending : the recorded change and its state
    stores : both stores

    Returns
    -------
    Outcome
        What was added and what vanished.
    """
    change, outcome = pending.change, pending.outcome
    if pending.state is ChangeState.STAGED:
        _before(change, stores)
        outcome = stores.graph.advance(change.id, ChangeState.PUBLISHED)
    _after(change, outcome, stores)
    stores.graph.advance(change.id, ChangeState.DONE)
    _LOG.debug("change %s is done", change.id)
    return outcome


def abandon(pending: Pending, stores: Stores) -> None:
    """Discard a change that never became visible: delete its hidden rows, then its journal entry. May be repeated.

    This is the remedy for a change that the graph store repeatedly fails to publish. The caller holds the lock.

    Parameters
    ----------
    pending : the recorded change and its state
    stores : both stores

    Raises
    ------
    StoreError
        The change is visible already and can only be finished.
    """
    change = pending.change
    if pending.state is not ChangeState.STAGED:
        raise StoreError(f"change {change.id} is visible already; run any ingest or delete to finish it")
    written: dict[Kind, list[str]] = {
        Kind.SOURCE: [source.id for source, base in zip(change.sources, change.base_versions, strict=True) if base == 0]
    }
    for block in change.vectors:
        written.setdefault(block.kind, []).extend(block.ids)
    hidden: dict[str, list[str]] = {}
    for kind, ids in written.items():
        visible = {record.id for record in stores.graph.records(kind, ids)}
        hidden[kind.value] = [name for name in ids if name not in visible]
    stores.vectors.delete(change.corpus, {kind: ids for kind, ids in hidden.items() if ids})
    stores.graph.advance(change.id, ChangeState.DONE)
    _LOG.info("discarded change %s", change.id)


def _before(change: Change, stores: Stores) -> None:
    """Write what must exist before the flip: descriptions of new sources and rows of new records, hidden until then."""
    added = tuple(source for source, base in zip(change.sources, change.base_versions, strict=True) if base == 0)
    if added or change.vectors:
        stores.vectors.upsert(VectorBatch(change.corpus, change.id, added, change.vectors))


def _after(change: Change, outcome: Outcome, stores: Stores) -> None:
    """Write what may only follow the flip: new descriptions and rows of visible records, and deletions of vanished ones."""
    known = tuple(source for source, base in zip(change.sources, change.base_versions, strict=True) if base > 0)
    blocks = (*change.replacements, *renewed_topics(change, outcome, vectors=stores.vectors))
    if known or blocks:
        stores.vectors.upsert(VectorBatch(change.corpus, change.id, known, blocks))
    gone = {kind.value: outcome.vanished[kind] for kind in _WITH_VECTORS if outcome.vanished.get(kind)}
    if gone:
        stores.vectors.delete(change.corpus, gone)
