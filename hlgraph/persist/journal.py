"""The journal: intent first, then vectors, then one flip of the graph, then what the change removed.

A crash between any two steps leaves the store consistent: before the flip nothing of the change is visible, after it
everything is; :func:`finish` goes on from whichever step was reached, with what the journal recorded, without asking a
model again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from hlgraph.change import Change, ChangeState, Outcome, Pending
from hlgraph.errors import StoreError
from hlgraph.records import Kind
from hlgraph.stores.protocols import Stores, VectorBatch

_LOG = logging.getLogger(__name__)
_WITH_VECTORS = (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY, Kind.SOURCE)


def persist(change: Change, stores: Stores) -> Outcome:
    """Write the change to both stores; the caller holds the lock of the graph store."""
    stores.graph.stage(change)
    return finish(Pending(change, ChangeState.STAGED, Outcome()), stores)


def finish(pending: Pending, stores: Stores) -> Outcome:
    """Bring a recorded change to its end, from where it stands; doing so twice changes nothing."""
    change, outcome = pending.change, pending.outcome
    if pending.state is ChangeState.STAGED:
        _before(change, stores)
        outcome = stores.graph.advance(change.id, ChangeState.PUBLISHED)
    _after(change, outcome, stores)
    stores.graph.advance(change.id, ChangeState.DONE)
    _LOG.debug("change %s is done", change.id)
    return outcome


def abandon(pending: Pending, stores: Stores) -> None:
    """Give up a change that never became visible: its hidden rows go, then the journal forgets it; doing so twice is fine.

    The mend for a change that the graph store cannot publish, however often it is tried. Needs the lock.

    Raises StoreError for a change that is visible already: that one can only be finished.
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
    _LOG.info("change %s was given up", change.id)


def _before(change: Change, stores: Stores) -> None:
    """What must be there before the flip: descriptions of new sources and rows of new records, hidden until then."""
    added = tuple(source for source, base in zip(change.sources, change.base_versions, strict=True) if base == 0)
    if added or change.vectors:
        stores.vectors.upsert(VectorBatch(change.corpus, change.id, added, change.vectors))


def _after(change: Change, outcome: Outcome, stores: Stores) -> None:
    """What may only follow the flip: descriptions and rows of records that were visible before, and what vanished."""
    known = tuple(source for source, base in zip(change.sources, change.base_versions, strict=True) if base > 0)
    if known or change.replacements:
        stores.vectors.upsert(VectorBatch(change.corpus, change.id, known, change.replacements))
    gone = {kind.value: outcome.vanished[kind] for kind in _WITH_VECTORS if outcome.vanished.get(kind)}
    if gone:
        stores.vectors.delete(change.corpus, gone)


def resume(pending: Sequence[Pending], stores: Stores) -> int:
    """Finish what interrupted runs left; the caller holds the lock. Returns how many changes there were."""
    for item in pending:
        _LOG.info("finishing change %s of an interrupted run", item.change.id)
        finish(item, stores)
    return len(pending)
