"""Summaries of long sources and of large chunks, which join the chunks in layer 0 of the hierarchy (GraphMPA)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.ids import summary_id
from hlgraph.index.summaries import Group, Summariser, Written
from hlgraph.records import Chunk, Summary
from hlgraph.stores.derived import Summarised

WHOLE, LARGE = -1, -2
"""The levels of the summaries of a whole source and of a large chunk, below those of all communities."""
_LEAST = 4
"""A large chunk has at least a fourth of the wanted size, where the chunks allow it."""


class LongSource(NamedTuple):
    """A source, or a large chunk of one, that gets a summary of its own.

    Attributes
    ----------
    id : id of the source
    chunk_ids : the chunks, in the order of the text
    level : ``WHOLE`` if they are all chunks of the source, else ``LARGE``
    """

    id: str
    chunk_ids: tuple[str, ...]
    level: int = WHOLE


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
    [LongSource(id='b', chunk_ids=('b2', 'b1'), level=-1)]
    """
    return [
        LongSource(name, tuple(item.id for item in some))
        for name, some in _by_source(chunks)
        if tokens and len(some) > 1 and sum(item.tokens for item in some) > tokens
    ]


def large_chunks(chunks: Sequence[Chunk], tokens: int) -> list[LongSource]:
    """The large chunks of all sources: runs of chunks of up to ``tokens`` tokens, by source, in the order of the text.

    The paper splits a text first into large chunks, each with a summary, and these into small ones. Here the small chunks are
    given, and a large one is a run of them. A source of more tokens is divided where the id of the chunk behind the boundary is
    the least, in the part where both sides keep a fourth of ``tokens``, and each side again: so an edit changes the large chunks
    around it alone. A run of one chunk needs no summary, because the chunk is all of it.

    Parameters
    ----------
    chunks : chunks of any number of sources
    tokens : largest size of a large chunk; 0: there are none

    Returns
    -------
    list
        Large chunks of two or more chunks.

    Examples
    --------
    >>> chunks = [Chunk(name, "source", "", 0, 0, at, 60) for at, name in enumerate("dcab")]
    >>> [item.chunk_ids for item in large_chunks(chunks, 120)]
    [('d', 'c'), ('a', 'b')]

    References
    ----------
    GraphMPA, section 3.1 (S_D), Algorithm 1, lines 2 to 5.
    """
    found: list[LongSource] = []
    for name, some in _by_source(chunks) if tokens else ():
        runs = _runs(some, tokens)
        level = WHOLE if len(runs) == 1 else LARGE
        found += [LongSource(name, tuple(item.id for item in run), level) for run in runs if len(run) > 1]
    return found


def _by_source(chunks: Sequence[Chunk]) -> list[tuple[str, list[Chunk]]]:
    inside: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in sorted(chunks, key=lambda item: (item.position, item.id)):
        inside[chunk.source_id].append(chunk)
    return sorted(inside.items())


def _runs(chunks: list[Chunk], tokens: int) -> list[list[Chunk]]:
    """Consecutive chunks of up to ``tokens`` tokens together."""
    done: list[list[Chunk]] = []
    left = [chunks]
    while left:
        run = left.pop()
        sizes = np.cumsum([item.tokens for item in run])
        if sizes[-1] <= tokens or len(run) == 1:
            done.append(run)
            continue
        ends = range(1, len(run))
        wide = [at for at in ends if min(sizes[at - 1], sizes[-1] - sizes[at - 1]) * _LEAST >= tokens] or ends
        cut = min(wide, key=lambda at: run[at].id)
        left += [run[cut:], run[:cut]]
    return done


class SourceWriter(Protocol):
    """Writes and embeds summaries."""

    @property
    def summariser(self) -> Summariser:
        """The summariser in use."""

    @property
    def scheme(self) -> int:
        """The scheme of the ids of the corpus."""

    def write(self, groups: Sequence[Group]) -> list[tuple[Written, NDArray[np.float32]]]:
        """The summary of each group with the vector of its text, shape (d,)."""


def summary_of_source(source: LongSource, summariser: Summariser, *, scheme: int) -> tuple[str, str]:
    """The id of the summary of a source, and the hash of its inputs: the chunks and the summariser.

    Parameters
    ----------
    source : the long source
    summariser : the summariser in use
    scheme : scheme of the ids of the corpus

    Returns
    -------
    tuple
        The id and the hash.
    """
    return summary_id(source.id, summariser.fingerprint, sorted(source.chunk_ids), scheme=scheme)


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
    names = [summary_of_source(source, writer.summariser, scheme=writer.scheme) for source in sources]
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
        summary = Summary(name, corpus, written.text, sources[at].level, hashed)
        made[name] = Summarised(summary, "", vector, parts, sources[at].id, chunk_ids)
    return [made.get(name) or known[name] for name, _ in names]


def words_from(item: Summarised) -> tuple[str, ...]:
    """Ids of the statements (for a community also chunks) that the words of a summary are from; empty if unknown."""
    return tuple(sorted(set(item.parts) - set(item.chunk_ids))) if item.source_id else item.parts


def centre_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of vectors of shape (n, d), scaled to length 1; shape (d,)."""
    mean = np.mean(vectors, axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)
