"""Which sentences of a source its statements stand for; pure."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hlgraph.records import Chunk, Statement
from hlgraph.text import BlockKind, block_sentences, blocks, content_words

_NO_SENTENCES = (BlockKind.HEADING, BlockKind.RULE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a source that too little was stated of.

    Attributes
    ----------
    start, end : its place in the text of the source
    share : the most of its content words that statements have, from 0 to 1
    """

    text: str
    chunk_id: str
    start: int
    end: int
    share: float


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """How much of one source its statements stand for.

    Attributes
    ----------
    sentences : with a content word; headings and rules are none
    covered : those that statements stand for
    failed_chunks : chunks that were never extracted, since their extraction failed; none of their sentences is covered
    uncovered : the other sentences, in the order of the text
    """

    uri: str
    title: str
    sentences: int
    covered: int
    failed_chunks: int = 0
    uncovered: tuple[Sentence, ...] = ()

    @property
    def share(self) -> float:
        """Covered sentences of all; 1 where there is none to cover."""
        return self.covered / self.sentences if self.sentences else 1.0


def sentence_spans(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Where the sentences of a chunk stand in its text; headings and rules are left out."""
    for block in blocks(chunk.text):
        if block.kind not in _NO_SENTENCES:
            yield from block_sentences(chunk.text, block)


@dataclass(slots=True)
class _Held:
    """A sentence with its words and the chunks that hold it; neighbouring chunks may share one."""

    start: int
    end: int
    text: str
    words: frozenset[str]
    chunk_ids: list[str]


def cover(
    chunks: Iterable[Chunk], statements: Sequence[Statement], *, share: float, title: str = ""
) -> tuple[int, list[Sentence]]:
    """How many sentences the chunks of one source have, and those of them that its statements do not stand for.

    A sentence with the set of content words S is covered when

    - at least ``share`` of S stands in the statements together that were made from it (a model makes several of a long
      one): of all sentences that their span meets it shares most words with them, those of the title aside;
    - or at least ``(1 + share) / 2`` of S stands in one statement of a chunk that holds it (a model makes one of two
      sentences): more, since the names that a text is about stand in every statement;
    - or all of S stands in one statement of the source: the same words said elsewhere in it.

    Words are compared as :func:`hlgraph.text.content_words` gives them, so a statement in quite other words counts as
    missing. A sentence that a chunk border cuts is two. O(sentences x statements) inside a chunk.
    """
    held = _sentences(chunks)
    of_chunk, made_from = _words_of(statements, held, frozenset(content_words(title)))
    elsewhere: dict[str, set[int]] = {}
    for number, words in enumerate(frozenset(content_words(item.text)) for item in statements):
        for word in words:
            elsewhere.setdefault(word, set()).add(number)
    uncovered: list[Sentence] = []
    for number, item in enumerate(held):
        own = len(item.words & made_from.get(number, frozenset())) / len(item.words)
        near = [words for name in item.chunk_ids for words in of_chunk.get(name, ())]
        one = max((len(item.words & words) for words in near), default=0) / len(item.words)
        is_covered = own >= share or one >= (1 + share) / 2
        if not is_covered and not set.intersection(*(elsewhere.get(word, set()) for word in item.words)):
            uncovered.append(Sentence(item.text, item.chunk_ids[0], item.start, item.end, max(own, one)))
    return len(held), uncovered


def _sentences(chunks: Iterable[Chunk]) -> list[_Held]:
    """The sentences by their place in the source, each once; what lies inside another one is a part that a border cut."""
    found: dict[tuple[int, int], _Held] = {}
    for chunk in chunks:
        for start, end in sentence_spans(chunk):
            text = chunk.text[start:end]
            words = frozenset(content_words(text))
            if words:
                place = (chunk.start + start, chunk.start + end)
                found.setdefault(place, _Held(*place, text, words, [])).chunk_ids.append(chunk.id)
    ordered = sorted(found.values(), key=lambda item: (item.start, -item.end))
    kept: list[_Held] = []
    for item in ordered:
        if not (kept and item.end <= kept[-1].end):
            kept.append(item)
    return kept


def _words_of(
    statements: Sequence[Statement], held: Sequence[_Held], title: frozenset[str]
) -> tuple[dict[str, list[frozenset[str]]], dict[int, frozenset[str]]]:
    """The words of the statements of each chunk; and, by the number of the sentence they were made from, together."""
    of_chunk: dict[str, list[frozenset[str]]] = {}
    made_from: dict[int, frozenset[str]] = {}
    ends = [item.end for item in held]  # ascending, as no sentence lies inside another
    for item in statements:
        words = frozenset(content_words(item.text))
        of_chunk.setdefault(item.chunk_id, []).append(words)
        first = bisect.bisect_right(ends, item.start)
        last = first
        while last < len(held) and held[last].start < item.end:
            last += 1
        own = (words - title) or words
        shared = [len(own & held[number].words) for number in range(first, last)]
        if max(shared, default=0) > 0:
            home = first + shared.index(max(shared))
            made_from[home] = made_from.get(home, frozenset()) | words
    return of_chunk, made_from
