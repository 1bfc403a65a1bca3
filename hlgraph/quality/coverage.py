"""Coverage: which sentences of a source are represented by its statements. Pure functions."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hlgraph.records import Chunk, Statement
from hlgraph.text import BlockKind, block_sentences, blocks, content_words

_NO_SENTENCES = (BlockKind.HEADING, BlockKind.RULE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a source that its statements do not cover.

    Attributes
    ----------
    text : the sentence
    chunk_id : the first chunk that contains it
    start : offset of its first character in the text of the source
    end : offset behind its last character
    share : largest share of its content words found in statements, from 0 to 1
    """

    text: str
    chunk_id: str
    start: int
    end: int
    share: float


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """How many sentences of a source its statements cover.

    Attributes
    ----------
    uri : of the source
    title : of the source
    sentences : number of sentences with a content word; headings and rules do not count
    covered : number of sentences that statements cover
    failed_chunks : number of chunks whose extraction failed; none of their sentences is covered
    uncovered : the uncovered sentences, in the order of the text
    """

    uri: str
    title: str
    sentences: int
    covered: int
    failed_chunks: int = 0
    uncovered: tuple[Sentence, ...] = ()

    @property
    def share(self) -> float:
        """Share of covered sentences, from 0 to 1; 1 if there are no sentences."""
        return self.covered / self.sentences if self.sentences else 1.0


def sentence_spans(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence in the text of a chunk, without headings and rules."""
    for block in blocks(chunk.text):
        if block.kind not in _NO_SENTENCES:
            yield from block_sentences(chunk.text, block)


@dataclass(slots=True)
class _Held:
    """A sentence, its content words and the chunks that contain it; overlapping chunks may share one."""

    start: int
    end: int
    text: str
    words: frozenset[str]
    chunk_ids: list[str]


def cover(
    chunks: Iterable[Chunk], statements: Sequence[Statement], *, share: float, title: str = ""
) -> tuple[int, list[Sentence]]:
    """The number of sentences of a source, and those that its statements do not cover.

    A sentence with the set S of content words is covered if one of these holds:

    - The statements made from it contain together at least ``share`` of S (a model may split a long sentence). A statement
      is made from the sentence that shares most words with it, words of the title aside, among those that its span meets.
    - One statement of a chunk that contains the sentence contains at least ``(1 + share) / 2`` of S (a model may join two
      sentences). This bound is higher because the names that a text is about occur in every statement.
    - One statement of the source contains all of S: the same words were stated elsewhere.

    Words are compared as :func:`hlgraph.text.content_words` returns them, so a paraphrase in quite different words counts as
    missing. A sentence that the boundary of a chunk divides counts as two. O(sentences x statements) time per chunk.

    Parameters
    ----------
    chunks : the chunks of the source
    statements : the statements of the source
    share : share of content words that covers a sentence, above 0 and at most 1
    title : title of the source

    Returns
    -------
    tuple
        The number of sentences, and the uncovered ones in the order of the text.
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
    """The sentences in the order of the source, each once; parts of a sentence that a chunk boundary divides are dropped."""
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
    """The words of each statement by chunk, and the words of all statements by the number of their sentence."""
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
