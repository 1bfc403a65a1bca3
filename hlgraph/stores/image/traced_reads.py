"""Traces reads of an image, for explanations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from hlgraph.stores.protocols import PullShape, Scope
from hlgraph.stores.trace import Running, traced
from hlgraph.where import to_text

_READS = {
    "pull": "breadth-first over the graph of corpus {corpus} in memory: {hops} hops from {seeds} seeds, "
    "at most {fan_out:,} neighbours of a node and {cap:,} nodes",
    "match": "the statements of corpus {corpus} in memory that mention any of {seeds} entities, by the number of names",
    "whole": "the whole graph of corpus {corpus} in memory",
}


def pulling(
    store: str, name: str, *, seeds: Sequence[str], shape: PullShape, scope: Scope
) -> AbstractContextManager[Running]:
    """Traces a pull from an image, a match, or a read of all of it.

    Parameters
    ----------
    store : name of the store in the trace
    name : ``pull``, ``match`` or ``whole``
    seeds : ids of the seeds
    shape : bounds of the pull
    scope : corpus and sources that may be seen
    """
    return traced(
        store,
        name,
        text=lambda: _READS[name].format(
            corpus=repr(scope.corpus), seeds=len(seeds), hops=shape.hops, fan_out=shape.fan_out, cap=shape.node_cap
        ),
        params=lambda: {
            "seeds": list(seeds),
            "relationships": sorted(shape.relationships),
            "kinds": sorted(shape.kinds),
            **({} if scope.where is None else {"where": to_text(scope.where)}),
            **({} if scope.sources is None else {"sources": list(scope.sources)}),
        },
    )
