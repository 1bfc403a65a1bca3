"""Chunks whose boundaries hang on the text around them only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlgraph.chunk._cuts import cut
from hlgraph.chunk._units import Rank, Units, units_of
from hlgraph.errors import SettingsError
from hlgraph.records import Document, Span
from hlgraph.text import Block, count_tokens

_VERSION = 1  # goes up whenever a boundary may move, also by a change of hlgraph.text


@dataclass(frozen=True, slots=True)
class ContentDefinedChunker:
    """Cuts a document into chunks of whole sentences."""

    max_tokens: int = 300
    overlap: float = 0.2

    def __post_init__(self) -> None:
        if self.max_tokens < 32:
            raise SettingsError(f"max_tokens={self.max_tokens}: too few for a chunk; give 32 or more")
        if not 0 <= self.overlap <= 0.5:
            raise SettingsError(f"overlap={self.overlap}: not a share of a chunk; give 0 to 0.5")

    @property
    def fingerprint(self) -> str:
        """See :class:`hlgraph.chunk.Chunker`."""
        return f"content-defined/{_VERSION}:max_tokens={self.max_tokens}:overlap={self.overlap}"

    def chunk(self, document: Document) -> list[Span]:
        """See :class:`hlgraph.chunk.Chunker`."""
        text = document.text
        units = units_of(text, self.max_tokens)
        if not units:
            return []
        starts = cut(units, self.max_tokens)
        paths = _heading_paths(units.headings, starts)
        spans = []
        for begin, end, previous, headings in zip(
            starts, [*starts[1:], len(units)], [0, *starts[:-1]], paths, strict=True
        ):
            first = self._overlap(units, previous, begin, end)
            start, stop = units.starts[first], units.ends[end - 1]
            tokens = units.before[end] - units.before[first]
            if Rank.PIECE in units.ranks[first:end]:  # a word may be in two pieces and count more than it is
                tokens = count_tokens(text[start:stop])
            spans.append(Span(start, stop, tokens, headings))
        return spans

    def _overlap(self, units: Units, previous: int, begin: int, end: int) -> int:
        """The unit at which the chunk with the core ``begin`` to ``end`` starts."""
        if units.ranks[begin] == Rank.MAJOR_HEADING:
            return begin
        before = units.before
        room = min(int(self.max_tokens * self.overlap), self.max_tokens - (before[end] - before[begin]))
        first = begin
        while first > previous and before[begin] - before[first - 1] <= room:
            first -= 1
            if units.ranks[first] == Rank.MAJOR_HEADING:
                break
        return first


def _heading_paths(headings: dict[int, Block], starts: list[int]) -> Iterator[tuple[str, ...]]:
    """For each core the titles that it stands under, headings with which it opens included."""
    path: list[Block] = []
    waiting = iter(sorted(headings))
    following = next(waiting, None)
    for start in starts:
        opening = start
        while following is not None and following <= opening:
            block = headings[following]
            path = [above for above in path if above.level < block.level] + [block]
            if following == opening:
                opening += 1
            following = next(waiting, None)
        yield tuple(block.title for block in path if block.title)
