"""Content-defined chunking: a boundary depends only on the text around it, so an edit elsewhere does not move it.

A document is cut in two steps. :func:`units_of` divides it into units: sentences, headings, rows, and pieces of sentences
that are too long for a chunk. The gap before each unit has a :class:`Rank`. :func:`cut` chooses the gaps that begin a core:
the gaps that are the best place to cut within a window on both sides, by rank, then by hashes of the nearest units. The
:class:`ContentDefinedChunker` puts an overlap in front of each core and attaches the headings above it. Every
:class:`Chunker` has the same interface; :class:`PackedChunker` fills chunks from the top, :class:`WholeChunker` makes one
chunk per document.
"""

from __future__ import annotations

import re
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Protocol

from hlgraph.errors import SettingsError
from hlgraph.records import Document, Span
from hlgraph.text import Block, BlockKind, Context, block_sentences, blocks, count_tokens, plain

_VERSION = 12  # raised whenever a boundary or a heading may change, also by a change of hlgraph.text
_ATOM = 64  # largest number of characters without white space that stay together
_ONE_IN = 16  # a sentence too long for a chunk may be cut before one word in 16, chosen by hash
# Shares of `max_tokens`. The cuts of a long stretch may move when a neighbouring cut moves. A smaller window makes long
# stretches rarer: with 0.22 about one edit in 10,000 changes four chunks, with 0.25 one in 4,000.
_WINDOW = 0.22
_MARGIN = 0.2
_CONTEXTS = (1, 2, 4, 8)  # numbers of units on each side that break ties between equal gaps, the nearest first


class Chunker(Protocol):
    """Cuts documents into the spans that become chunks."""

    @property
    def fingerprint(self) -> str:
        """Name, version and every parameter that affects boundaries; a new fingerprint causes sources to be chunked again."""

    def chunk(self, document: Document) -> list[Span]:
        """The spans of a document, in the order of their start.

        ``document.text[span.start:span.end]`` is never empty and has no outer white space. Every character that is not white
        space lies in a span, so a document of white space alone has no spans.
        """


@dataclass(frozen=True, slots=True)
class ContentDefinedChunker:
    """Cuts a document into chunks of whole sentences, at boundaries that an edit elsewhere does not move.

    A chunk consists of a *core* and an *overlap* in front of it: the last whole sentences of the previous core. The cores
    follow each other without gaps. Each boundary is chosen by the text near it (see
    :mod:`hlgraph.chunk.chunker`), never by counting from the top. Inserting, removing or replacing a sentence
    therefore changes at most three chunks (four in about one edit in 10,000, and in long stretches of repeated lines).

    Headings open chunks and stay with the text under them if sizes allow; paragraphs are kept whole if possible. No overlap
    crosses a heading, so that no sentence comes under another one. A sentence larger than a chunk is cut between words.

    With the defaults a core of a news text has 122 tokens on average and a chunk 163. A core has at least a fifth of
    ``max_tokens``, unless the document is smaller or an adjacent sentence is too large.

    Parameters
    ----------
    max_tokens : largest number of tokens of a chunk, overlap included, by :func:`hlgraph.text.count_tokens`; 32 or more,
        default 300
    overlap : largest share of ``max_tokens`` for the overlap, 0 to 0.5, default 0.2; a large core leaves less room for it

    Raises
    ------
    SettingsError
        A parameter is out of its bounds.

    Examples
    --------
    >>> text = "# Ada\\n\\nAda Lovelace wrote the first program. She died in 1852."
    >>> [span] = ContentDefinedChunker().chunk(Document("ada.md", text))
    >>> span.headings, span.tokens, text[span.start : span.end] == text
    (('Ada',), 14, True)

    References
    ----------
    HLG, section 6.2, gives the sizes: 300 tokens with an overlap of 20 %.
    """

    max_tokens: int = 300
    overlap: float = 0.2

    def __post_init__(self) -> None:
        _check_sizes(self.max_tokens, self.overlap)

    @property
    def fingerprint(self) -> str:
        """See :class:`hlgraph.chunk.Chunker`."""
        return f"content-defined/{_VERSION}:max_tokens={self.max_tokens}:overlap={float(self.overlap)}"

    def chunk(self, document: Document) -> list[Span]:
        """See :class:`hlgraph.chunk.Chunker`. Time is linear in the length of the text."""
        units = units_of(document.text, self.max_tokens)
        begins = cut(units, self.max_tokens)
        ends = [*begins[1:], len(units)]
        cores = zip([0, *begins], begins, ends, strict=False)
        firsts = [self._first_unit(units, previous, begin, end) for previous, begin, end in cores]
        return _spans(document.text, units, begins=begins, firsts=firsts)

    def _first_unit(self, units: Units, previous: int, begin: int, end: int) -> int:
        """The first unit of the chunk whose core is ``begin`` to ``end``; the previous core begins at ``previous``.

        An overlap is never the whole previous core, so no chunk contains another.
        """
        before = units.before
        room = min(int(self.max_tokens * self.overlap), self.max_tokens - (before[end] - before[begin]))
        first = begin
        while (
            units.ranks[first] < Rank.MINOR_HEADING
            and first - 1 > previous
            and before[begin] - before[first - 1] <= room
        ):
            first -= 1
        return first


def _heading_paths(headings: Mapping[int, Block], begins: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """For each core the titles of the headings above it, including those that open it, without marks of Markdown."""
    waiting = deque(headings.items())
    path: list[Block] = []
    for begin in begins:
        opening = begin
        while waiting and waiting[0][0] <= opening:
            index, heading = waiting.popleft()
            path = [*(above for above in path if above.level < heading.level), heading]
            opening += index == opening
        yield tuple(title for heading in path if (title := " ".join(plain(heading.title).split())))


def _lines_above(text: str, starts: Set[int]) -> dict[int, str]:
    """By the start of a chunk, what its first block rests on, if it rests on anything."""
    context = Context(text)
    return {block.start: above for block in blocks(text) if (above := context.above(block)) and block.start in starts}


class Rank(IntEnum):
    """How good a place to cut the gap before a unit is; higher is better."""

    PIECE = 0  # inside a sentence that is too long for a chunk
    UNDER_HEADING = 1  # between a heading and the text under it
    SENTENCE = 2
    LINE = 3  # a list item, a table row, a line of code
    PARAGRAPH = 4
    MINOR_HEADING = 5  # levels 4 to 6
    HEADING = 6  # level 3
    MAJOR_HEADING = 7  # levels 1 and 2


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a document, column by column: sentences, headings, rows, and pieces of overlong sentences.

    The columns are arrays because a large document has millions of units.

    Attributes
    ----------
    starts : offset in characters at which each unit begins
    ends : offset in characters after each unit
    before : number of tokens before each unit, then the total number of tokens
    ranks : the :class:`Rank` of the gap before each unit
    marks : 32-bit hash of the text of each unit
    headings : the units that are headings, by index
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
    """The units of a text in order; together they contain every character that is not white space.

    Parameters
    ----------
    text : the text of a document
    max_tokens : largest number of tokens of a unit; a longer sentence is divided

    Returns
    -------
    Units
        None of more than ``max_tokens`` tokens.
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
    """Start, end and number of tokens of a sentence, or of its pieces if it has more than ``max_tokens`` tokens.

    A piece ends before a word that is chosen by its own hash and the hash of the preceding word, so that an edit moves only
    the cuts near it. Without such a word within ``max_tokens / 4`` tokens the piece ends there.
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


def cut(units: Units, max_tokens: int) -> list[int]:
    """Indices of the units that begin a core, in order; the first is 0 if there are any units.

    Time is linear in the number of units.

    Parameters
    ----------
    units : none of more than ``max_tokens`` tokens
    max_tokens : largest number of tokens of a core; a core has at least a fifth of it if the sizes of the units allow

    Returns
    -------
    list
        Ascending indices into ``units``.
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
    """Comparison of the gaps between units; gap ``i`` is the one before unit ``i``."""

    def __init__(self, units: Units) -> None:
        self._marks = memoryview(units.marks)
        self._keys = array("Q", [0] * len(units))
        for i, (mark, rank) in enumerate(zip(units.marks, units.ranks, strict=True)):
            self._keys[i] = rank << 32 | (mark * 0xC2B2AE3D27D4EB4F) >> 40 & 0xFFFFFFFF

    def is_better(self, gap: int, other: int) -> bool:
        """Whether ``gap`` is a better place to cut than ``other``; neither is better if all units near them are equal."""
        key, other_key = self._keys[gap], self._keys[other]
        return key > other_key or (key == other_key and self._context(gap) > self._context(other))

    def _context(self, gap: int) -> tuple[int, ...]:
        return tuple(zlib.crc32(self._marks[max(0, gap - reach) : gap + reach]) for reach in _CONTEXTS)


def _reaches(units: Units) -> array[int]:
    """For each gap the distance in tokens to the nearest better gap or end. On the left an equally good gap counts, too."""
    gaps = _Gaps(units)
    before, count = units.before, len(units)
    reaches = array("q", [0] * count)
    falling: list[int] = []  # gaps without a better one to their right so far
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
    """The gap that ends a core from ``begin``, in a stretch up to ``end`` that is too long for one core.

    Prefers gaps that are not under a heading and not near either end. Of equal gaps the last one wins, so that repeated
    lines make repeated chunks.
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


@dataclass(frozen=True, slots=True)
class PackedChunker:
    """Fills each chunk with whole sentences from the top, as the papers do; an edit moves every boundary below it.

    Each chunk takes as many sentences as fit. The next one begins with the last whole sentences of it, as an overlap. With the
    defaults a chunk of a news text has 272 tokens on average. A heading never ends a chunk, unless the document does. A sentence
    larger than a chunk is cut between words.

    Parameters
    ----------
    max_tokens : largest number of tokens of a chunk, overlap included, by :func:`hlgraph.text.count_tokens`; 32 or more,
        default 300
    overlap : largest share of ``max_tokens`` for the overlap, 0 to 0.5, default 0.2

    Raises
    ------
    SettingsError
        A parameter is out of its bounds.

    Examples
    --------
    >>> text = "One two three four five six seven. " * 12
    >>> [span.tokens for span in PackedChunker(32, 0.25).chunk(Document("a.txt", text))]
    [32, 32, 32, 24]

    References
    ----------
    HLG, section 6.2: 300 tokens with an overlap of 20 %.
    """

    max_tokens: int = 300
    overlap: float = 0.2

    def __post_init__(self) -> None:
        _check_sizes(self.max_tokens, self.overlap)

    @property
    def fingerprint(self) -> str:
        """See :class:`hlgraph.chunk.Chunker`."""
        return f"packed/{_VERSION}:max_tokens={self.max_tokens}:overlap={float(self.overlap)}"

    def chunk(self, document: Document) -> list[Span]:
        """See :class:`hlgraph.chunk.Chunker`. Time is linear in the length of the text."""
        units = units_of(document.text, self.max_tokens)
        before, count, room = units.before, len(units), int(self.max_tokens * self.overlap)
        begins: list[int] = []
        firsts: list[int] = []
        first = end = 0
        while end < count:
            begins.append(end)
            firsts.append(first)
            fitting = bisect_right(before, before[first] + self.max_tokens) - 1
            gaps = (gap for gap in range(fitting, end, -1) if gap == count or units.ranks[gap] != Rank.UNDER_HEADING)
            end = next(gaps, fitting)
            least = max(before[end] - room, before[min(end + 1, count)] - self.max_tokens)
            first = bisect_left(before, least, first + 1, end)
        return _spans(document.text, units, begins=begins, firsts=firsts)


def _check_sizes(max_tokens: int, overlap: float) -> None:
    if max_tokens < 32:
        raise SettingsError(f"max_tokens={max_tokens} is too small for a chunk; give 32 or more")
    if not 0 <= overlap <= 0.5:
        raise SettingsError(f"overlap={overlap} is out of its bounds; give a share from 0 to 0.5")


def _spans(text: str, units: Units, *, begins: Sequence[int], firsts: Sequence[int]) -> list[Span]:
    """The chunks whose cores begin at these units, and whose overlaps begin at ``firsts``."""
    spans: list[Span] = []
    ends = [*begins[1:], len(units)] if begins else []
    for first, end, headings in zip(firsts, ends, _heading_paths(units.headings, begins), strict=True):
        start, stop = units.starts[first], units.ends[end - 1]
        tokens = units.before[end] - units.before[first]
        if Rank.PIECE in units.ranks[first:end]:  # a divided word may count as more tokens than a whole one
            tokens = count_tokens(text[start:stop])
        spans.append(Span(start, stop, tokens, headings))
    lines = _lines_above(text, {span.start for span in spans})
    return [replace(span, above=lines[span.start]) if span.start in lines else span for span in spans]


@dataclass(frozen=True, slots=True)
class WholeChunker:
    """One chunk per document, without outer white space, for passages that were cut elsewhere.

    A document of white space alone has no chunk.

    Examples
    --------
    >>> WholeChunker().chunk(Document("a.txt", "  One passage. "))
    [Span(start=2, end=14, tokens=3, headings=(), above='')]
    """

    @property
    def fingerprint(self) -> str:
        """See :class:`hlgraph.chunk.Chunker`."""
        return "whole/1"

    def chunk(self, document: Document) -> list[Span]:
        """See :class:`hlgraph.chunk.Chunker`."""
        text = document.text.strip()
        if not text:
            return []
        start = len(document.text) - len(document.text.lstrip())
        return [Span(start, start + len(text), count_tokens(text))]
