"""Vectors of topics: a topic is embedded with its statements (HLG, sections 3.2 and 4.1), from vectors that exist already."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.similarity import named_centroids
from hlgraph.change import Change, Outcome, VectorBlock
from hlgraph.records import Kind, Relationship
from hlgraph.stores.protocols import GraphStore, PullShape, Scope, VectorStore

_EVERY = 1_000_000_000


def topic_rows(
    names: VectorBlock,
    about: Mapping[str, Collection[str]],
    *,
    corpus: str,
    vectors: VectorStore,
    added: VectorBlock | None = None,
) -> VectorBlock:
    """The rows of topics: between their name and the mean of their statements, see :func:`named_centroids`.

    Parameters
    ----------
    names : the topics, with the vectors of their names
    about : for each topic the ids of its statements; a statement without a vector is left out
    corpus : the corpus
    vectors : holds the vectors of statements
    added : statements that are not stored yet

    Returns
    -------
    VectorBlock
        The topics of ``names``, in order.
    """
    wanted = sorted({item for name in names.ids for item in about.get(name, ())})
    ids, matrix = _statements(wanted, corpus, vectors=vectors, added=added)
    at = {name: place for place, name in enumerate(ids)}
    pairs = [
        (place, at[item])
        for place, name in enumerate(names.ids)
        for item in sorted(set(about.get(name, ())))
        if item in at
    ]
    group, member = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    found = named_centroids(names.matrix(), matrix, group=group, member=member)
    return replace(names, data=np.ascontiguousarray(found).tobytes())


def _statements(
    wanted: Sequence[str], corpus: str, *, vectors: VectorStore, added: VectorBlock | None
) -> tuple[list[str], NDArray[np.float32]]:
    """Those statements that have vectors, by ascending id."""
    fresh = {} if added is None else {name: place for place, name in enumerate(added.ids)}
    stored = [item for item in wanted if item not in fresh]
    held, rows = vectors.vectors(Kind.STATEMENT, corpus, ids=stored) if stored else ([], None)
    places = {name: place for place, name in enumerate(held)}
    if added is None or not fresh:
        return held, np.empty((0, 0), dtype=np.float32) if rows is None else rows
    ids = [item for item in wanted if item in fresh or item in places]
    found = np.empty((len(ids), added.dimensions), dtype=np.float32)
    matrix = added.matrix()
    for place, name in enumerate(ids):
        found[place] = matrix[fresh[name]] if name in fresh or rows is None else rows[places[name]]
    return ids, found


def renewed_topics(change: Change, outcome: Outcome, *, vectors: VectorStore) -> tuple[VectorBlock, ...]:
    """The new rows of stored topics whose statements a published change may have changed: one block, or none.

    Parameters
    ----------
    change : the change
    outcome : what the graph store returned for it
    vectors : holds the vectors of stored statements, and those of the change where the change itself does not
    """
    if change.topic_names is None or not outcome.about:
        return ()
    names = chosen_rows(change.topic_names, outcome.about)
    fresh = next((block for block in change.vectors if block.kind is Kind.STATEMENT and not block.is_hollow), None)
    found = topic_rows(names, outcome.about, corpus=change.corpus, vectors=vectors, added=fresh) if names.ids else None
    return () if found is None else (found,)


def chosen_rows(block: VectorBlock, ids: Collection[str]) -> VectorBlock:
    """The rows of a block that have one of these ids, in its order.

    Parameters
    ----------
    block : the rows
    ids : the ids to keep
    """
    places = [place for place, name in enumerate(block.ids) if name in ids]
    return replace(
        block,
        ids=tuple(block.ids[place] for place in places),
        texts=tuple(block.texts[place] for place in places),
        source_ids=tuple(block.source_ids[place] for place in places),
        data=np.ascontiguousarray(block.matrix()[places]).tobytes(),
    )


def links_about(ids: Sequence[str], corpus: str, *, graph: GraphStore) -> dict[str, set[str]]:
    """For each topic the ids of the visible statements that are about it; a topic without any is left out.

    Reads the graph of the whole corpus where the store keeps one in memory: for repairs, not for each change.

    Parameters
    ----------
    ids : of topics, or of statements whose topics are wanted
    corpus : the corpus
    graph : the graph store
    """
    found: dict[str, set[str]] = {}
    kinds = frozenset({Kind.TOPIC, Kind.STATEMENT})
    shape = PullShape(frozenset({Relationship.ABOUT}), kinds, hops=1, fan_out=_EVERY, node_cap=_EVERY)
    pulled = graph.pull(ids, shape, scope=Scope(corpus))
    links = pulled.edges[Relationship.ABOUT].tocoo()
    for statement, topic in zip(pulled.ids[links.row].tolist(), pulled.ids[links.col].tolist(), strict=True):
        found.setdefault(topic, set()).add(statement)
    return found
