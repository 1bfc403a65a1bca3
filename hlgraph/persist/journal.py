"""The journal: intent first, then vectors, then one flip of the graph, then what the change removed.

A crash between any two steps leaves the store consistent: before the flip nothing of the change is visible, after it
everything is; :func:`finish` goes on from whichever step was reached, with what the journal recorded, without asking a
model again.
"""

from __future__ import annotations

import logging

from hlgraph.change import Change, ChangeState, Outcome, Pending
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
