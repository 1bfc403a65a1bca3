"""Chunks whose boundaries hang on the text around them only."""

from __future__ import annotations

import re
import zlib
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from hlgraph.errors import SettingsError
from hlgraph.records import Document, Span
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


# Shares of the largest chunk. The smaller the window, the rarer the long stretches, whose cuts may move together with
# those beside them: with 0.22 one edit in some 10,000 changes four chunks, with 0.25 one in 4,000.
_WINDOW = 0.22
_MARGIN = 0.2
_CONTEXTS = (1, 2, 4, 8)  # so many units on each side tell equal gaps apart, the nearest first


def cut(units: Units, max_tokens: int) -> list[int]:
    """Indices of the units that begin a core, in order; the first is 0 if there are any units.

    A core has at most ``max_tokens`` tokens, which no unit may exceed, and at least a fifth of that wherever the sizes
    of the units allow it. Time is linear in the number of units.
    """
    reaches = _reaches(units)
    window = int(max_tokens * _WINDOW)
    starts: list[int] = []
    begin = 0
    for end in range(1, len(units) + 1):
        if end < len(units) and (reaches[end] < window or units.ranks[end] == Rank.UNDER_HEADING):
            continue
        while units.before[end] - units.before[begin] > max_tokens:
            starts.append(begin)
            begin = _widest_reach(units, reaches, begin, end, max_tokens)
        starts.append(begin)
        begin = end
    return starts


class _Gaps:
    """The gaps of a row of units, comparable; gap ``i`` is the one before unit ``i``."""

    def __init__(self, units: Units) -> None:
        self._marks = memoryview(units.marks)
        self._keys = array("Q", [0] * len(units))
        for i, (mark, rank) in enumerate(zip(units.marks, units.ranks, strict=True)):
            self._keys[i] = rank << 32 | (mark * 0xC2B2AE3D27D4EB4F) >> 40 & 0xFFFFFFFF

    def is_better(self, gap: int, other: int) -> bool:
        """Whether ``gap`` is the better place to cut; neither is if all that is near them is equal."""
        key, other_key = self._keys[gap], self._keys[other]
        return key > other_key or (key == other_key and self._context(gap) > self._context(other))

    def _context(self, gap: int) -> tuple[int, ...]:
        return tuple(zlib.crc32(self._marks[max(0, gap - reach) : gap + reach]) for reach in _CONTEXTS)


def _reaches(units: Units) -> array[int]:
    """For each gap the distance to the nearest that is better, or the end; to the left also to one that is as good."""
    gaps = _Gaps(units)
    before, count = units.before, len(units)
    reaches = array("q", [0] * count)
    falling: list[int] = []  # gaps than which no other to their right, up to here, is better
    for gap in range(1, count):
        here = before[gap]
        while falling and gaps.is_better(gap, falling[-1]):
            last = falling.pop()
            reaches[last] = min(reaches[last], here - before[last])
        reaches[gap] = here - (before[falling[-1]] if falling else 0)
        falling.append(gap)
    for last in falling:
        reaches[last] = min(reaches[last], before[count] - before[last])
    return reaches


def _widest_reach(units: Units, reaches: array[int], begin: int, end: int, max_tokens: int) -> int:
    """Where to end a core that begins at ``begin``, in a stretch up to ``end`` that is too long.

    Preferably not under a heading, and not near either end. Of equals the last, so that lines that repeat make chunks
    that repeat.
    """
    before, ranks = units.before, units.ranks
    margin = int(max_tokens * _MARGIN)
    low = before[begin] + margin
    high = min(before[begin] + max_tokens - margin, before[end] - margin)
    fitting = bisect_right(before, before[begin] + max_tokens, begin + 1, end)
    return max(
        range(begin + 1, fitting),
        key=lambda gap: (ranks[gap] != Rank.UNDER_HEADING, low <= before[gap] <= high, reaches[gap], gap),
    )


_VERSION = 1  # goes up whenever a boundary may move, be it by a change of hlgraph.text


@dataclass(frozen=True, slots=True)
class ContentDefinedChunker:
    """Cuts a document into chunks of whole sentences, at places that an edit elsewhere does not move.

    A chunk is a *core* and, in front of it, an *overlap*: the last whole sentences of the core before. The cores follow
    each other without a gap. A boundary is chosen by the text near it (see :mod:`hlgraph.chunk.content_defined`), never by counting
    from the top: putting in, taking out or replacing a sentence leaves all chunks as they were but three at most (in
    one edit of some 10,000, and in long stretches of repeated lines, four).

    Headings open chunks and stay with what they head, where sizes allow; paragraphs are kept whole where they can be. No
    overlap reaches over a heading of level 1 or 2. A sentence larger than a chunk is cut between words.

    On news the mean core has 122 tokens and the mean chunk 163 with the defaults; a core has at least a fifth of
    ``max_tokens`` unless the document is smaller or a sentence beside it too large.

    Parameters
    ----------
    max_tokens
        What no chunk exceeds, overlap included, by :func:`hlgraph.text.count_tokens`; 32 or more.
    overlap
        The largest share of ``max_tokens`` that the overlap takes, 0 to 0.5; a large core leaves it less.

    Raises
    ------
    SettingsError
        A parameter is out of its range.

    Examples
    --------
    >>> text = "# Ada\\n\\nAda Lovelace wrote the first program. She died in 1852."
    >>> [span] = ContentDefinedChunker().chunk(Document("ada.md", text))
    >>> span.headings, span.tokens, text[span.start : span.end] == text
    (('Ada',), 14, True)

    References
    ----------
    HLG, section 6.2, for the sizes: 300 tokens, of which 20 % overlap.
    """

    max_tokens: int = 300
    overlap: float = 0.2

    def __post_init__(self) -> None:
        if self.max_tokens < 32:
            raise SettingsError(f"max_tokens={self.max_tokens} is too small for a chunk of text; give 32 or more")
        if not 0 <= self.overlap <= 0.5:
            raise SettingsError(f"overlap={self.overlap} is not a share that a chunk can spare; give 0 to 0.5")

    @property
    def fingerprint(self) -> str:
        """See :class:`hlgraph.chunk.Chunker`."""
        return f"content-defined/{_VERSION}:max_tokens={self.max_tokens}:overlap={float(self.overlap)}"

    def chunk(self, document: Document) -> list[Span]:
        """See :class:`hlgraph.chunk.Chunker`. Time is linear in the length of the text."""
        text = document.text
        units = units_of(text, self.max_tokens)
        begins = cut(units, self.max_tokens)
        if not begins:
            return []
        ends = [*begins[1:], len(units)]
        spans = []
        previous = 0
        for begin, end, headings in zip(begins, ends, _heading_paths(units.headings, begins), strict=True):
            first = self._first_unit(units, previous, begin, end)
            start, stop = units.starts[first], units.ends[end - 1]
            tokens = units.before[end] - units.before[first]
            if Rank.PIECE in units.ranks[first:end]:  # a word in two pieces may count for more than it is
                tokens = count_tokens(text[start:stop])
            spans.append(Span(start, stop, tokens, headings))
            previous = begin
        return spans

    def _first_unit(self, units: Units, previous: int, begin: int, end: int) -> int:
        """The unit with which the chunk of the core ``begin`` to ``end`` starts; the core before starts at ``previous``.

        An overlap is never all of the core before, so that no chunk holds another.
        """
        before = units.before
        room = min(int(self.max_tokens * self.overlap), self.max_tokens - (before[end] - before[begin]))
        first = begin
        while (
            units.ranks[first] != Rank.MAJOR_HEADING
            and first - 1 > previous
            and before[begin] - before[first - 1] <= room
        ):
            first -= 1
        return first


def _heading_paths(headings: Mapping[int, Block], begins: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """For each core the titles that it stands under, those of the headings with which it opens included."""
    waiting = deque(headings.items())
    path: list[Block] = []
    for begin in begins:
        opening = begin
        while waiting and waiting[0][0] <= opening:
            index, heading = waiting.popleft()
            path = [*(above for above in path if above.level < heading.level), heading]
            opening += index == opening
        yield tuple(heading.title for heading in path if heading.title)
