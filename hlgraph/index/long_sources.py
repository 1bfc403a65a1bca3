"""Long sources, which get a summary of their own, and the place of these summaries among the chunks (GraphMPA, layer 0)."""

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
"""The level of a summary of a source: below that of the communities that it may be in."""


class LongSource(NamedTuple):
    """A source that gets a summary of its own.

    Attributes
    ----------
    id : of the source
    chunk_ids : its chunks, in their order
    """

    id: str
    chunk_ids: tuple[str, ...]


def long_sources(chunks: Sequence[Chunk], tokens: int) -> list[LongSource]:
    """The sources whose chunks have more than so many tokens together, by id; none where ``tokens`` is 0.

    Where chunks overlap, what they share counts in each. A source of one chunk is none: its chunk says it all.

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
    """What writes summaries."""

    @property
    def summariser(self) -> Summariser:
        """By which they are written."""

    def write(self, groups: Sequence[Group]) -> list[tuple[Written, NDArray[np.float32]]]:
        """A summary of each group, and the vector of its text; shape (d,)."""


def summary_of_source(source: LongSource, summariser: Summariser) -> tuple[str, str]:
    """The id of the summary, and the hash of what it is made from: its chunks, and how it is written."""
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
    """A summary of each source, in order: a known one where its inputs are the same, else one that is written.

    It rests on all chunks of the source, and on the statements that its words are from.

    Parameters
    ----------
    vectors : of all their chunks, by id; each of shape (d,)
    known : the summaries that there are, by id
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
    """The statements (of a community also chunks) that the words of a summary are from; nothing where none is known."""
    return tuple(sorted(set(item.parts) - set(item.chunk_ids))) if item.source_id else item.parts


def centre_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of vectors, of length 1; shape (d,)."""
    mean = np.mean(vectors, axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)
