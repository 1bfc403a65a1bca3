"""Summaries of long sources, which join the chunks in layer 0 of the hierarchy (GraphMPA)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.ids import checksum, content_id
from hlgraph.index.summaries import Group, Summariser, Written
from hlgraph.records import Chunk, Kind, Summary
from hlgraph.stores.derived import Summarised

LEVEL = -1
"""The level of a summary of a source, below that of all communities."""


class LongSource(NamedTuple):
    """A source that gets a summary of its own.

    Attributes
    ----------
    id : id of the source
    chunk_ids : its chunks, in the order of the text
    """

    id: str
    chunk_ids: tuple[str, ...]


def long_sources(chunks: Sequence[Chunk], tokens: int) -> list[LongSource]:
    """The sources whose chunks have more than ``tokens`` tokens in total, ordered by id.

    Overlaps of chunks count in each chunk. A source of one chunk is never long: its chunk is all of it.

    Parameters
    ----------
    chunks : chunks of any number of sources
    tokens : number of tokens above which a source is long; 0: no source is

    Returns
    -------
    list
        Long sources, ordered by id.

    Examples
    --------
    >>> chunks = [Chunk(name, name[0], "", 0, 0, at, 60) for at, name in enumerate(["b2", "b1", "a1"])]
    >>> long_sources(chunks, 100)
    [LongSource(id='b', chunk_ids=('b2', 'b1'))]
    """
    inside: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        inside[chunk.source_id].append(chunk)
    return [
        LongSource(name, tuple(item.id for item in sorted(some, key=lambda item: (item.position, item.id))))
        for name, some in sorted(inside.items())
        if tokens and len(some) > 1 and sum(item.tokens for item in some) > tokens
    ]


class SourceWriter(Protocol):
    """Writes and embeds summaries."""

    @property
    def summariser(self) -> Summariser:
        """The summariser in use."""

    def write(self, groups: Sequence[Group]) -> list[tuple[Written, NDArray[np.float32]]]:
        """The summary of each group with the vector of its text, shape (d,)."""


def summary_of_source(source: LongSource, summariser: Summariser) -> tuple[str, str]:
    """The id of the summary of a source, and the hash of its inputs: the chunks and the summariser.

    Parameters
    ----------
    source : the long source
    summariser : the summariser in use

    Returns
    -------
    tuple
        The id and the hash.
    """
    hashed = checksum(summariser.fingerprint, *sorted(source.chunk_ids))
    return content_id(Kind.SUMMARY, source.id, hashed), hashed


def summaries_of_sources(
    sources: Sequence[LongSource],
    corpus: str,
    *,
    vectors: Mapping[str, NDArray[np.float32]],
    known: Mapping[str, Summarised],
    writer: SourceWriter,
) -> list[Summarised]:
    """One summary per source, in order; a known summary is reused if its inputs are the same.

    Its parts are all chunks of the source and the statements that its words are from.

    Parameters
    ----------
    sources : long sources
    corpus : the corpus of the sources
    vectors : vectors of all their chunks, by id; each of shape (d,)
    known : existing summaries, by id
    writer : writes the missing summaries

    Returns
    -------
    list
        One summary per source, with its vector and parts.
    """
    names = [summary_of_source(source, writer.summariser) for source in sources]
    missing = [at for at, (name, _) in enumerate(names) if name not in known]
    groups = [
        Group(source.chunk_ids, centre_of(np.stack([vectors[name] for name in source.chunk_ids])), is_source=True)
        for source in (sources[at] for at in missing)
    ]
    made: dict[str, Summarised] = {}
    for at, (written, vector) in zip(missing, writer.write(groups), strict=True):
        name, hashed = names[at]
        chunk_ids = tuple(sorted(sources[at].chunk_ids))
        parts = tuple(sorted({*chunk_ids, *written.parts}))
        summary = Summary(name, corpus, written.text, LEVEL, hashed)
        made[name] = Summarised(summary, "", vector, parts, sources[at].id, chunk_ids)
    return [made.get(name) or known[name] for name, _ in names]


def words_from(item: Summarised) -> tuple[str, ...]:
    """Ids of the statements (for a community also chunks) that the words of a summary are from; empty if unknown."""
    return tuple(sorted(set(item.parts) - set(item.chunk_ids))) if item.source_id else item.parts


def centre_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of vectors of shape (n, d), scaled to length 1; shape (d,)."""
    mean = np.mean(vectors, axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)
