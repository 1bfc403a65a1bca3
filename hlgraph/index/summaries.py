"""Summaries of communities, long sources and large chunks.

A :class:`Summariser` writes them: with a chat model, or without one by selecting the most central statements.
:func:`long_sources` and :func:`large_chunks` find the parts of a corpus that get a summary of their own, and
:func:`summaries_of_sources` writes these or reuses them.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import ModelAnswerError
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.protocols import ChatModel
from hlgraph.records import Chunk, Kind, Statement, Summary
from hlgraph.stores.derived import Summarised
from hlgraph.stores.protocols import Scope, Stores, by_source, find_records, read_records
from hlgraph.text import count_tokens, sentences

_PROMPT = Path(__file__).parent / "prompts" / "summary.md"
_SAME = 0.95
"""Lowest cosine at which two sentences count as the same."""
_INPUT_TOKENS = 8_000
"""Tokens of passages per group that a chat model gets."""
_PASSAGE_TOKENS = 60
"""Lowest number of tokens per passage of a long source. If a source has too many passages, some are left out."""
_GROUPS = 200
_CHUNKS = 4_000
"""Largest numbers of groups and of their chunks in memory at once. A single group may exceed them."""


class Group(NamedTuple):
    """The input of one summary: a group of chunks, a group of summaries, or a long source.

    Attributes
    ----------
    chunk_ids : the chunks, ascending; for summaries the chunks below them; for a source all its chunks in their order
    centre : mean of the vectors of the members, scaled to length 1; shape (d,)
    texts : for summaries their texts, otherwise empty
    parts : for summaries the statements and chunks that their words come from, otherwise empty
    beside : the chunks of a group that contains both chunks and summaries of sources, otherwise empty
    is_source : whether the group is one long source
    """

    chunk_ids: tuple[str, ...]
    centre: NDArray[np.float32]
    texts: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_source: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The chunks that a model reads: all, only ``beside`` if there are texts, or an even sample of a very long source."""
        wanted = self.beside if self.texts else self.chunk_ids
        most = _INPUT_TOKENS // _PASSAGE_TOKENS
        if not self.is_source or len(wanted) <= most:
            return wanted
        return tuple(wanted[at * (len(wanted) - 1) // (most - 1)] for at in range(most))


class Written(NamedTuple):
    """A written summary.

    Attributes
    ----------
    text : the text of the summary
    parts : ids of the statements or chunks that its sentences are copied from; empty if a model wrote them
    """

    text: str
    parts: tuple[str, ...] = ()


class Summariser(ABC):
    """Writes summaries."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Everything that a summary depends on besides its group."""

    @abstractmethod
    def summarise(self, groups: Sequence[Group], corpus: str, *, stores: Stores) -> list[Written]:
        """One summary per group, in order. The stores are read in batches.

        Parameters
        ----------
        groups : what to summarise
        corpus : the corpus of the groups
        stores : where chunks, statements and vectors are read

        Returns
        -------
        list
            One summary per group.
        """


class _Sentence(NamedTuple):
    """A statement, or the first sentence of a chunk without statements, with its position in the corpus and its vector."""

    id: str
    text: str
    place: tuple[str, int]
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ExtractiveSummariser(Summariser):
    """Summaries selected without a model: the statements closest to the centre, in the order of the text.

    A statement with a cosine of at least 0.95 to a chosen one is skipped. A chunk without statements is represented by its
    first sentence. GraphMPA summarises with a model; this method (centroid sentences) is ours.

    Attributes
    ----------
    max_tokens : largest number of tokens of a summary, default 256; the first statement may exceed it
    """

    max_tokens: int = 256

    @property
    def fingerprint(self) -> str:
        """The rule and its limit."""
        return f"extractive/1/{self.max_tokens}"

    def summarise(self, groups: Sequence[Group], corpus: str, *, stores: Stores) -> list[Written]:
        """See :class:`Summariser`."""
        written: list[Written] = []
        for part in _batched(groups):
            by_id = _read(part, corpus, stores=stores)
            for group in part:
                written.append(self._write(group, by_id))
                progress.advance("summarise")
        return written

    def _write(self, group: Group, by_id: dict[str, list[_Sentence]]) -> Written:
        wanted = group.parts or group.chunk_ids
        candidates = {sentence.id: sentence for name in wanted for sentence in by_id.get(name, ())}
        chosen: list[_Sentence] = []
        left = self.max_tokens
        order = sorted(candidates.values(), key=lambda sentence: (-float(sentence.vector @ group.centre), sentence.id))
        for sentence in order:
            size = count_tokens(sentence.text)
            is_said = any(float(sentence.vector @ other.vector) >= _SAME for other in chosen)
            if not is_said and (size <= left or not chosen):
                chosen.append(sentence)
                left -= size
            if left <= 0:
                break
        chosen.sort(key=lambda sentence: (sentence.place, sentence.id))
        return Written(
            " ".join(sentence.text for sentence in chosen), tuple(sorted(sentence.id for sentence in chosen))
        )


def _batched(groups: Sequence[Group]) -> Iterator[Sequence[Group]]:
    """Batches of consecutive groups that fit into memory."""
    start = size = 0
    for at, group in enumerate(groups):
        if at > start and (at - start == _GROUPS or size + len(group.chunk_ids) > _CHUNKS):
            yield groups[start:at]
            start, size = at, 0
        size += len(group.chunk_ids)
    if start < len(groups):
        yield groups[start:]


def _read(groups: Sequence[Group], corpus: str, *, stores: Stores) -> dict[str, list[_Sentence]]:
    """The sentences of each chunk, and each statement by itself, by id."""
    chunk_ids = sorted({name for group in groups for name in group.chunk_ids})
    chunks = read_records(stores.graph, Chunk, ids=chunk_ids, scope=Scope(corpus))
    sources = tuple(sorted({chunk.source_id for chunk in chunks.values()}))
    by_chunk: dict[str, list[Statement]] = {}
    for statement in find_records(stores.graph, Statement, scope=Scope(corpus, sources=sources)):
        if statement.chunk_id in chunks:
            by_chunk.setdefault(statement.chunk_id, []).append(statement)
    statements = [statement for some in by_chunk.values() for statement in some]
    vectors = _vectors(stores, Kind.STATEMENT, corpus, ids=[statement.id for statement in statements])
    silent = sorted(chunks.keys() - by_chunk.keys())
    own = _vectors(stores, Kind.CHUNK, corpus, ids=silent)
    result: dict[str, list[_Sentence]] = {}
    for statement in statements:
        if statement.id in vectors:
            sentence = _Sentence(
                statement.id, statement.text, (statement.source_id, statement.start), vectors[statement.id]
            )
            result.setdefault(statement.chunk_id, []).append(sentence)
            result[statement.id] = [sentence]
    for name in silent:
        chunk = chunks[name]
        spans = sentences(chunk.text)
        text = chunk.text[slice(*spans[0])] if spans else chunk.text
        if name in own:
            result[name] = [_Sentence(name, text.strip(), (chunk.source_id, chunk.start), own[name])]
    return result


def _vectors(stores: Stores, kind: Kind, corpus: str, *, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    names, matrix = stores.vectors.vectors(kind, corpus, ids=ids)
    return dict(zip(names, matrix, strict=True))


@dataclass(frozen=True, slots=True)
class ChatSummariser(Summariser):
    """Summaries written by a chat model from the texts of the chunks or of the summaries below.

    Attributes
    ----------
    model : the chat model; an executor brings its ledger, cached replies and budget
    max_tokens : largest number of tokens of a reply, default 256
    concurrency : largest number of concurrent calls if the model is not an executor, default 4

    References
    ----------
    GraphMPA, section 3.1, Algorithm 1, line 25; Eq. 4.
    """

    model: ChatModel
    max_tokens: int = 256
    concurrency: int = 4

    @property
    def fingerprint(self) -> str:
        """Version of the prompt, the model and the limit."""
        return f"chat/{read_prompt(_PROMPT).version}/{self.model.fingerprint}/{self.max_tokens}"

    def summarise(self, groups: Sequence[Group], corpus: str, *, stores: Stores) -> list[Written]:
        """See :class:`Summariser`. Raises ModelError and its subclasses as the model does."""
        calls = self.model if isinstance(self.model, Executor) else Executor(self.model, most=self.concurrency).begin()
        asked = calls.about(
            Purpose(stage="hierarchy", prompt=read_prompt(_PROMPT).version), accept=lambda reply: bool(reply.strip())
        )
        written: list[Written] = []
        for part in _batched(groups):
            names = sorted({name for group in part for name in group.shown})
            chunks = read_records(stores.graph, Chunk, ids=names, scope=Scope(corpus))
            passages = [
                (*(chunks[name].text for name in group.shown if name in chunks), *group.texts) for group in part
            ]
            written += [
                Written(text) for text in calls.run(functools.partial(self._ask, asked), passages, step="summarise")
            ]
        return written

    def _ask(self, asked: Asking, passages: Sequence[str]) -> str:
        prompt = read_prompt(_PROMPT)
        share = _INPUT_TOKENS // max(len(passages), 1)
        shown = "\n\n".join(delimited("passage", _cut(text, share)) for text in passages)
        reply = asked.complete(prompt.system, prompt.filled({"passages": shown}), max_tokens=self.max_tokens)
        text = " ".join(reply.text.split())
        if reply.is_cut:  # cut off at twice the limit, too: keep the sentences before the last one
            ends = [end for _, end in sentences(text)]
            text = text[: ends[-2]] if len(ends) > 1 else ""
            if not text:
                raise ModelAnswerError(
                    f"{self.model.fingerprint} did not end the first sentence of a summary within {self.max_tokens} tokens, nor "
                    "within twice as many; choose another model"
                )
        if not text:
            raise ModelAnswerError(
                f"{self.model.fingerprint} returned an empty summary; run the same command again, or choose another model"
            )
        return text


def _cut(text: str, tokens: int) -> str:
    """The leading whole sentences that fit into ``tokens``, at least the first one."""
    end = 0
    for _, stop in sentences(text):
        if end and count_tokens(text[:stop]) > tokens:
            break
        end = stop
    return text[:end] if end else text


# Summaries of long sources and large chunks, which join the chunks in layer 0 of the hierarchy (GraphMPA).


WHOLE, LARGE = -1, -2
"""The levels of the summaries of a whole source and of a large chunk, below the levels of communities."""
_LEAST = 4
"""A large chunk has at least a fourth of the requested size, if the chunks allow it."""


class LongSource(NamedTuple):
    """A source, or a large chunk of one, that gets a summary of its own.

    Attributes
    ----------
    id : id of the source
    chunk_ids : the chunks, in the order of the text
    level : ``WHOLE`` if the chunks are the whole source, else ``LARGE``
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
    tokens : number of tokens above which a source is long; 0 for no long sources

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
        LongSource(name, tuple(chunk.id for chunk in some))
        for name, some in _by_source(chunks)
        if tokens and len(some) > 1 and sum(chunk.tokens for chunk in some) > tokens
    ]


def large_chunks(chunks: Sequence[Chunk], tokens: int) -> list[LongSource]:
    """The large chunks of all sources: runs of chunks of up to ``tokens`` tokens, by source, in the order of the text.

    The paper splits a text first into large chunks, each with a summary, and these into small ones. Here the small chunks are
    given, and a large one is a run of them. A source of more tokens is divided recursively. The boundary is before the chunk
    with the lowest id, among the chunks that leave at least a fourth of ``tokens`` on both sides. So an edit changes only the
    large chunks around it. A run of one chunk needs no summary of its own.

    Parameters
    ----------
    chunks : chunks of any number of sources
    tokens : largest size of a large chunk; 0 for none

    Returns
    -------
    list
        Large chunks of two or more chunks.

    Examples
    --------
    >>> chunks = [Chunk(name, "source", "", 0, 0, at, 60) for at, name in enumerate("dcab")]
    >>> [large.chunk_ids for large in large_chunks(chunks, 120)]
    [('d', 'c'), ('a', 'b')]

    References
    ----------
    GraphMPA, section 3.1 (S_D), Algorithm 1, lines 2 to 5.
    """
    large: list[LongSource] = []
    for name, some in _by_source(chunks) if tokens else ():
        runs = _runs(some, tokens)
        level = WHOLE if len(runs) == 1 else LARGE
        large += [LongSource(name, tuple(chunk.id for chunk in run), level) for run in runs if len(run) > 1]
    return large


def _by_source(chunks: Sequence[Chunk]) -> list[tuple[str, list[Chunk]]]:
    in_order = sorted(chunks, key=lambda chunk: (chunk.position, chunk.id))
    return sorted(by_source(in_order, Chunk).items())


def _runs(chunks: list[Chunk], tokens: int) -> list[list[Chunk]]:
    """Consecutive chunks of up to ``tokens`` tokens together."""
    done: list[list[Chunk]] = []
    left = [chunks]
    while left:
        run = left.pop()
        sizes = np.cumsum([chunk.tokens for chunk in run])
        if sizes[-1] <= tokens or len(run) == 1:
            done.append(run)
            continue
        ends = range(1, len(run))
        wide = [at for at in ends if min(sizes[at - 1], sizes[-1] - sizes[at - 1]) * _LEAST >= tokens] or ends
        cut = min(wide, key=lambda at: run[at].id)
        left += [run[cut:], run[:cut]]
    return done


def summaries_of_sources(
    sources: Sequence[LongSource],
    corpus: str,
    *,
    vectors: Mapping[str, NDArray[np.float32]],
    known: Mapping[str, Summarised],
    names: Sequence[tuple[str, str]],
    write: Callable[[Sequence[Group]], list[tuple[Written, NDArray[np.float32]]]],
) -> list[Summarised]:
    """One summary per source, in order. A known summary is reused if its inputs are the same.

    Its parts are all chunks of the source and the statements that its words come from.

    Parameters
    ----------
    sources : long sources
    corpus : the corpus of the sources
    vectors : vectors of all their chunks, by id; each of shape (d,)
    known : existing summaries, by id
    names : for each source the id of its summary, and the hash of its inputs
    write : writes the missing summaries: one per group, with the vector of its text, shape (d,)

    Returns
    -------
    list
        One summary per source, with its vector and parts.
    """
    missing = [at for at, (name, _) in enumerate(names) if name not in known]
    groups = [
        Group(source.chunk_ids, centre_of(np.stack([vectors[name] for name in source.chunk_ids])), is_source=True)
        for source in (sources[at] for at in missing)
    ]
    fresh: dict[str, Summarised] = {}
    for at, (written, vector) in zip(missing, write(groups), strict=True):
        name, hashed = names[at]
        chunk_ids = tuple(sorted(sources[at].chunk_ids))
        parts = tuple(sorted({*chunk_ids, *written.parts}))
        summary = Summary(name, corpus, written.text, sources[at].level, hashed)
        fresh[name] = Summarised(summary, "", vector, parts, sources[at].id, chunk_ids)
    return [fresh.get(name) or known[name] for name, _ in names]


def words_from(summarised: Summarised) -> tuple[str, ...]:
    """Ids of the statements (for a community also chunks) that the words of a summary come from; empty if unknown."""
    parts = summarised.parts
    return tuple(sorted(set(parts) - set(summarised.chunk_ids))) if summarised.source_id else parts


def centre_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of vectors of shape (n, d), scaled to length 1; shape (d,)."""
    mean = np.mean(vectors, axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)
