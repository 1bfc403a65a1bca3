"""A document as a row of units: what the boundary of a chunk never cuts through."""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from hlgraph.text import Block, BlockKind, block_sentences, blocks, count_tokens

_ATOM = 64  # characters of an unspaced stretch that stay together
_ONE_IN = 16  # a sentence too long for a chunk may be cut before one word in so many, chosen by its hash


class Rank(IntEnum):
    """How good a place to cut the gap before a unit is."""

    PIECE = 0  # inside a sentence that is too long for a chunk
    UNDER_HEADING = 1  # between a heading and what it heads
    SENTENCE = 2
    LINE = 3  # a list item, a table row, a line of code
    PARAGRAPH = 4
    MINOR_HEADING = 5  # levels 4 to 6
    HEADING = 6  # level 3
    MAJOR_HEADING = 7  # levels 1 and 2


@dataclass(frozen=True, slots=True)
class Units:
    """Sentences, headings, rows, and pieces of sentences too long for a chunk, column by column.

    ``before[i]`` is the number of tokens in front of unit ``i``, and ``before[len(units)]`` that of all. ``marks`` are
    hashes of the texts. Arrays, because a large document has millions of units.
    """

    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    before: array[int] = field(default_factory=lambda: array("q", [0]))
    ranks: bytearray = field(default_factory=bytearray)
    marks: array[int] = field(default_factory=lambda: array("I"))
    headings: dict[int, Block] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.starts)


def units_of(text: str, max_tokens: int) -> Units:
    """The units of a text, in order, none of more than ``max_tokens`` tokens; together they hold all that is not
    white space.
    """
    units = Units()
    above: Block | None = None
    for block in blocks(text):
        rank = _rank(block, above)
        if block.kind is BlockKind.HEADING:
            units.headings[len(units)] = block
        for start, end in block_sentences(text, block):
            for piece_start, piece_end, tokens in _fitting(text, start, end, max_tokens):
                units.starts.append(piece_start)
                units.ends.append(piece_end)
                units.before.append(units.before[-1] + tokens)
                units.ranks.append(rank)
                units.marks.append(zlib.crc32(text[piece_start:piece_end].encode("utf-8", "surrogatepass")))
                rank = Rank.PIECE
            rank = Rank.SENTENCE
        above = block
    return units


def _rank(block: Block, above: Block | None) -> Rank:
    if above is not None and above.kind is BlockKind.HEADING:
        return Rank.UNDER_HEADING
    if block.kind is BlockKind.HEADING:
        return Rank.MAJOR_HEADING if block.level <= 2 else Rank.HEADING if block.level == 3 else Rank.MINOR_HEADING
    return Rank.PARAGRAPH if block.is_loose else Rank.LINE


def _fitting(text: str, start: int, end: int, max_tokens: int) -> Iterator[tuple[int, int, int]]:
    """The sentence with its size, or pieces of it if it is larger than ``max_tokens``.

    A piece ends before a word that is chosen by its hash and that of the word before it, so that an edit moves the cuts
    around itself only; or, where there is none for a quarter of ``max_tokens``, by size.
    """
    if end - start <= 16 * max_tokens:
        tokens = count_tokens(text[start:end])
        if tokens <= max_tokens:
            yield start, end, tokens
            return
    enough, limit = max_tokens // 32, max_tokens // 4
    piece_end, tokens, last_mark = start, 0, 0
    for atom in re.compile(rf"\S{{1,{min(_ATOM, max_tokens)}}}").finditer(text, start, end):
        count = count_tokens(atom[0])
        mark = zlib.crc32(atom[0].encode("utf-8", "surrogatepass"))
        is_chosen = (mark + 31 * last_mark >> 5) % _ONE_IN == 0 and atom.start() > piece_end and tokens >= enough
        if tokens and (is_chosen or tokens + count > limit):
            yield start, piece_end, tokens
            start, tokens = atom.start(), 0
        piece_end, tokens, last_mark = atom.end(), tokens + count, mark
    if tokens:
        yield start, piece_end, tokens
