"""Summaries of communities and long sources: by a chat model, or made of the statements closest to the centre."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import ModelAnswerError
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.seams import ChatModel
from hlgraph.records import Chunk, Kind, Statement
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.text import count_tokens, sentences

_PROMPT = Path(__file__).parent / "prompts" / "summary.md"
_SAME = 0.95
"""The cosine from which two sentences say the same."""
_INPUT_TOKENS = 8_000
"""Tokens of passages that a chat model is shown of one community."""
_PASSAGE_TOKENS = 60
"""Tokens that a passage of a long source is shown with at least; of a source with more passages some are left out."""
_GROUPS = 200
_CHUNKS = 4_000
"""Groups, and their chunks, whose statements are in memory together; one group in any case."""


class Group(NamedTuple):
    """What one summary is made of.

    Attributes
    ----------
    chunk_ids : the chunks, ascending; of a group of summaries those that the summaries are about; of a source all its
        chunks, in their order
    centre : the mean of the vectors of what is summarised, of length 1; shape (d,)
    texts : of a group of summaries their texts, else nothing
    parts : of a group of summaries the statements and chunks that their words are from, else nothing
    beside : the chunks that stand beside ``texts``, where a group holds chunks and summaries of sources
    is_source : the chunks are those of one long source
    """

    chunk_ids: tuple[str, ...]
    centre: NDArray[np.float32]
    texts: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_source: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The chunks that a model reads: all where there are no texts; of a very long source some, evenly spread."""
        wanted = self.beside if self.texts else self.chunk_ids
        most = _INPUT_TOKENS // _PASSAGE_TOKENS
        if not self.is_source or len(wanted) <= most:
            return wanted
        return tuple(wanted[at * (len(wanted) - 1) // (most - 1)] for at in range(most))


class Written(NamedTuple):
    """The text of a summary, and the statements or chunks that its words are from, where they are not the writer's own."""

    text: str
    parts: tuple[str, ...] = ()


class Summariser(Protocol):
    """Writes summaries."""

    @property
    def fingerprint(self) -> str:
        """All that a summary depends on beside its group."""

    def summarise(self, groups: Sequence[Group], corpus: str, *, stores: Stores) -> list[Written]:
        """One summary a group, in order. Reads the stores in batches."""


class _Sentence(NamedTuple):
    """A statement, or the first sentence of a chunk that has none: its place in the corpus, its vector."""

    id: str
    text: str
    place: tuple[str, int]
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ExtractiveSummariser:
    """The statements closest to the centre, in the order of the text, up to ``max_tokens``; none that another one says.

    No model is asked. A chunk without statements stands with its first sentence. GraphMPA summarises with a model; this
    filling is ours: centroid sentences.
    """

    max_tokens: int = 256

    @property
    def fingerprint(self) -> str:
        """The rule and its limit."""
        return f"extractive/1/{self.max_tokens}"

    def summarise(self, groups: Sequence[Group], corpus: str, *, stores: Stores) -> list[Written]:
        """See the protocol."""
        found: list[Written] = []
        for part in _batched(groups):
            by_id = _read(part, corpus, stores=stores)
            found += [self._write(group, by_id) for group in part]
        return found

    def _write(self, group: Group, by_id: dict[str, list[_Sentence]]) -> Written:
        wanted = group.parts or group.chunk_ids
        candidates = {item.id: item for name in wanted for item in by_id.get(name, ())}
        chosen: list[_Sentence] = []
        left = self.max_tokens
        order = sorted(candidates.values(), key=lambda item: (-float(item.vector @ group.centre), item.id))
        for item in order:
            size = count_tokens(item.text)
            is_said = any(float(item.vector @ other.vector) >= _SAME for other in chosen)
            if not is_said and (size <= left or not chosen):
                chosen.append(item)
                left -= size
            if left <= 0:
                break
        chosen.sort(key=lambda item: (item.place, item.id))
        return Written(" ".join(item.text for item in chosen), tuple(sorted(item.id for item in chosen)))


def _batched(groups: Sequence[Group]) -> Iterator[Sequence[Group]]:
    """The groups in their order, some at a time."""
    start = held = 0
    for at, group in enumerate(groups):
        if at > start and (at - start == _GROUPS or held + len(group.chunk_ids) > _CHUNKS):
            yield groups[start:at]
            start, held = at, 0
        held += len(group.chunk_ids)
    if start < len(groups):
        yield groups[start:]


def _read(groups: Sequence[Group], corpus: str, *, stores: Stores) -> dict[str, list[_Sentence]]:
    """What each chunk (and each part) says, by its id."""
    chunk_ids = sorted({name for group in groups for name in group.chunk_ids})
    chunks = {item.id: item for item in stores.graph.records(Kind.CHUNK, chunk_ids) if isinstance(item, Chunk)}
    sources = tuple(sorted({item.source_id for item in chunks.values()}))
    said: dict[str, list[Statement]] = {}
    for record in stores.graph.find(Kind.STATEMENT, Scope(corpus, sources=sources)):
        if isinstance(record, Statement) and record.chunk_id in chunks:
            said.setdefault(record.chunk_id, []).append(record)
    statements = [item for some in said.values() for item in some]
    vectors = _vectors(stores, Kind.STATEMENT, corpus, ids=[item.id for item in statements])
    silent = sorted(chunks.keys() - said.keys())
    own = _vectors(stores, Kind.CHUNK, corpus, ids=silent)
    found: dict[str, list[_Sentence]] = {}
    for item in statements:
        if item.id in vectors:
            sentence = _Sentence(item.id, item.text, (item.source_id, item.start), vectors[item.id])
            found.setdefault(item.chunk_id, []).append(sentence)
            found[item.id] = [sentence]
    for name in silent:
        chunk = chunks[name]
        spans = sentences(chunk.text)
        text = chunk.text[slice(*spans[0])] if spans else chunk.text
        if name in own:
            found[name] = [_Sentence(name, text.strip(), (chunk.source_id, chunk.start), own[name])]
    return found


def _vectors(stores: Stores, kind: Kind, corpus: str, *, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    names, matrix = stores.vectors.vectors(kind, corpus, ids=ids)
    return dict(zip(names, matrix, strict=True))


@dataclass(frozen=True, slots=True)
class ChatSummariser:
    """Summaries by a chat model, of the texts of the chunks or of the summaries below.

    Attributes
    ----------
    model : an executor brings its ledger, its kept replies and its budget
    max_tokens : the longest reply
    concurrency : calls at a time, for a model that is no executor

    References
    ----------
    GraphMPA, section 3.1, Algorithm 1, line 25; Eq. 4.
    """

    model: ChatModel
    max_tokens: int = 256
    concurrency: int = 4

    @property
    def fingerprint(self) -> str:
        """Prompt, model and limit."""
        return f"chat/{read_prompt(_PROMPT).version}/{self.model.fingerprint}/{self.max_tokens}"

    def summarise(self, groups: Sequence[Group], corpus: str, *, stores: Stores) -> list[Written]:  # noqa: ARG002
        """See the protocol. Raises ModelError (and its kinds) as the model does."""
        calls = self.model if isinstance(self.model, Executor) else Executor(self.model, most=self.concurrency).begin()
        asked = calls.about(
            Purpose(stage="hierarchy", prompt=read_prompt(_PROMPT).version), accept=lambda reply: bool(reply.strip())
        )
        found: list[Written] = []
        for part in _batched(groups):
            names = sorted({name for group in part for name in group.shown})
            chunks = stores.graph.records(Kind.CHUNK, names)
            texts = {item.id: item.text for item in chunks if isinstance(item, Chunk)}
            passages = [(*(texts[name] for name in group.shown if name in texts), *group.texts) for group in part]
            found += [Written(text) for text in calls.run(functools.partial(self._ask, asked), passages)]
        return found

    def _ask(self, asked: Asking, passages: Sequence[str]) -> str:
        prompt = read_prompt(_PROMPT)
        share = _INPUT_TOKENS // max(len(passages), 1)
        shown = "\n\n".join(delimited("passage", _cut(text, share)) for text in passages)
        reply = asked.complete(prompt.system, prompt.filled({"passages": shown}), max_tokens=self.max_tokens)
        text = " ".join(reply.text.split())
        if not text:
            raise ModelAnswerError(
                f"{self.model.fingerprint} gave an empty summary; run the same command again, or choose another model"
            )
        return text


def _cut(text: str, tokens: int) -> str:
    """The whole sentences from the beginning that fit; the first one in any case."""
    end = 0
    for _, stop in sentences(text):
        if end and count_tokens(text[:stop]) > tokens:
            break
        end = stop
    return text[:end] if end else text
