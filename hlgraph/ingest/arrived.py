"""Compares what a bulk load sent with what the servers hold: counts, ids, and the content of a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hlgraph.index import indexed
from hlgraph.records import Kind, Source
from hlgraph.stores.bulk_copies import Manifest
from hlgraph.stores.protocols import Scope, Stores

_IN_BOTH = (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
_SAMPLE = 200


def differences(
    sent: Stores, arrived: Stores, *, manifest: Manifest, counts: Iterable[Mapping[str, int]]
) -> Iterator[str]:
    """What differs, in words.

    Parameters
    ----------
    sent : the stores that the corpus was made in
    arrived : the servers
    manifest : what was sent
    counts : number of records and of relationships in the graph, by kind
    """
    for wanted, found in zip((manifest.records, manifest.relationships), counts, strict=True):
        for name, number in wanted.items():
            if found.get(name, 0) != number:
                yield f"the graph has {found.get(name, 0):,} {name}, sent were {number:,}"
    for kind in _IN_BOTH:
        ours, theirs = (stores.vectors.ids(kind, manifest.corpus) for stores in (sent, arrived))
        if ours != theirs:
            yield (
                f"of {kind} rows the vector store lacks {len(ours - theirs):,} and has {len(theirs - ours):,} that were not sent"
            )
        else:
            yield from _of_sample(kind, sorted(ours)[:_SAMPLE], sent=sent, arrived=arrived, corpus=manifest.corpus)


def _of_sample(kind: Kind, ids: list[str], *, sent: Stores, arrived: Stores, corpus: str) -> Iterator[str]:
    """The ids are hashes, so the lowest are a fair sample."""
    scope = Scope(corpus)
    records, found = (stores.graph.records(kind, ids, scope=scope) for stores in (sent, arrived))
    if records != found:
        yield f"{kind} records of the graph are not those that were sent"
    if kind is Kind.SOURCE:
        return
    owners = sorted({str(getattr(item, "source_id", "")) for item in records} - {""})
    sources = sent.graph.records(Kind.SOURCE, owners, scope=scope)
    titles = {item.id: item.title for item in sources if isinstance(item, Source)}
    if not arrived.vectors.examine(kind, corpus, rows=indexed(records, titles)).is_none:
        yield f"{kind} rows of the vector store are not those that were sent"
