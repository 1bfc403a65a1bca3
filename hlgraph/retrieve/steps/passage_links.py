"""Links between ranked passages: which mention the titles of others, and which words of the question each contains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.linked_passages import Passages
from hlgraph.algorithms.word_counts import rarity
from hlgraph.ids import entity_id, normalise_name
from hlgraph.index.embed import chunk_text
from hlgraph.records import Chunk, Hit, Kind, Relationship, Source
from hlgraph.retrieve.session import Session
from hlgraph.stores.protocols import PullShape
from hlgraph.subgraph import block
from hlgraph.text import words

_MENTIONS = PullShape(
    frozenset({Relationship.IN_CHUNK, Relationship.MENTIONS}),
    frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY}),
    hops=2,
    fan_out=1_000,
)
_APART = re.compile(r"\s*\([^()]*\)\s*$")  # the words that distinguish equal titles: "Rome (film)"


def linked_passages(session: Session, hits: Sequence[Hit]) -> Passages:
    """The input features of ranked passages; one pull, and reads of records that are not cached.

    A passage mentions a title if one of its statements mentions the entity of that name, with or without the words in
    parentheses at its end.

    Parameters
    ----------
    session : with the question
    hits : passages, best first, with scores above 0

    Returns
    -------
    Passages
    """
    ids = [hit.id for hit in hits]
    chunks = session.records(Kind.CHUNK, ids, record_type=Chunk)
    sources = session.records(Kind.SOURCE, sorted({chunk.source_id for chunk in chunks.values()}), record_type=Source)
    title_of = {item: sources[chunk.source_id].title for item, chunk in chunks.items() if chunk.source_id in sources}
    titles = [title_of.get(item, "") for item in ids]
    texts = [
        chunk_text(title, chunks[item].text) if item in chunks else "" for item, title in zip(ids, titles, strict=True)
    ]
    question = session.request.question
    covers = session.words.of(texts).counts > 0
    names = [_names(title) for title in titles]
    is_named = np.array([any(_is_said(name, question) for name in own_names) for own_names in names], dtype=np.bool_)
    scores = np.array([hit.score for hit in hits], dtype=np.float64)
    return Passages(scores, covers, rarity(covers), is_named, _mentions(session, ids, names=names))


def _mentions(session: Session, ids: list[str], *, names: Sequence[tuple[str, ...]]) -> NDArray[np.bool_]:
    """Shape (n, n): whether passage i mentions one of the names of the title of passage j."""
    graph = session.pull(ids, _MENTIONS)
    of_name = partial(entity_id, session.request.corpus, scheme=session.scheme)
    named = [(j, of_name(name)) for j, own_names in enumerate(names) for name in own_names]
    entities = graph.index([item for _, item in named])
    there = np.flatnonzero(entities >= 0)
    chunks = graph.index(ids)
    mentions = np.zeros((len(ids), len(ids)), dtype=np.bool_)
    if len(there):
        statements = graph.nodes(Kind.STATEMENT)
        columns, place = np.unique(entities[there], return_inverse=True)
        holding = block(graph.edges[Relationship.IN_CHUNK], statements, columns=graph.nodes(Kind.CHUNK))
        naming = block(graph.edges[Relationship.MENTIONS], statements, columns=columns)
        of_chunk = np.zeros((len(graph) + 1, len(columns)), dtype=np.bool_)  # the last row: missing chunks
        of_chunk[graph.nodes(Kind.CHUNK)] = (holding.T @ naming).toarray() > 0
        for at, column in zip(there.tolist(), place.tolist(), strict=True):
            mentions[:, named[at][0]] |= of_chunk[chunks, column]
    return mentions


def _names(title: str) -> tuple[str, ...]:
    """The title, and the title without the words in parentheses at its end, as names of entities; empty for no title."""
    names = (normalise_name(title), normalise_name(_APART.sub("", title)) if "(" in title else "")
    return tuple(name for name in dict.fromkeys(names) if name)


def _is_said(name: str, question: str) -> bool:
    """Whether a question contains the words of a name in sequence."""
    if name not in normalise_name(question):
        return False
    return f" {' '.join(words(name))} " in f" {' '.join(words(question))} "
