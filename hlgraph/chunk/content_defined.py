"""Chunks whose boundaries hang on the text around them only."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlgraph.chunk._cuts import cut
from hlgraph.chunk._units import Rank, Units, units_of
from hlgraph.errors import SettingsError
from hlgraph.records import Document, Span
from hlgraph.text import Block, count_tokens

_VERSION = 1  # goes up whenever a boundary may move, be it by a change of hlgraph.text


@dataclass(frozen=True, slots=True)
class ContentDefinedChunker:
    """Cuts a document into chunks of whole sentences, at places that an edit elsewhere does not move.

    A chunk is a *core* and, in front of it, an *overlap*: the last whole sentences of the core before. The cores follow
    each other without a gap. A boundary is chosen by the text near it (see :mod:`hlgraph.chunk._cuts`), never by counting
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
