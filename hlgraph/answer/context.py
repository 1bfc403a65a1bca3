"""The context of an answer: as much evidence as a budget of tokens holds, in the order that models read best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from hlgraph.errors import InputError
from hlgraph.models.prompts import delimited
from hlgraph.models.tokens import estimated_tokens
from hlgraph.records import Evidence
from hlgraph.text import sentences

CONTEXT_TOKENS = 8_000
LEAST_CONTEXT_TOKENS = 200
CUT = "(The rest of this piece is left out.)"
_PLACE = 80  # characters of title and heading that a cut piece keeps
_Item = TypeVar("_Item")


class Fit(NamedTuple):
    """The evidence that fits.

    Attributes
    ----------
    places : of its pieces in all evidence, from 0, best first
    pieces : themselves, in that order; a cut one has the text that is left of it, and says so
    left_out : how many pieces had no room
    cut : how many were cut, 0 or 1
    """

    places: tuple[int, ...]
    pieces: tuple[Evidence, ...]
    left_out: int
    cut: int

    @property
    def text(self) -> str:
        """The pieces for a prompt, numbered by their places from 1, the best ones first and last."""
        order = best_at_the_ends(range(len(self.places)))
        return numbered([self.pieces[at] for at in order], numbers=[self.places[at] + 1 for at in order])


def check_context_tokens(tokens: int) -> None:
    """Raise InputError for a context that holds no piece of evidence."""
    if tokens < LEAST_CONTEXT_TOKENS:
        raise InputError(
            f"context_tokens is {tokens}; a context needs at least {LEAST_CONTEXT_TOKENS}, {CONTEXT_TOKENS:,} by default"
        )


def best_at_the_ends(items: Sequence[_Item]) -> list[_Item]:
    """Items that come best first, so ordered that the best stand first and last and the worst in the middle.

    The first stays first, the second becomes the last, the third the second, and so on inward: models use what stands at
    the ends of a long context better than what stands in its middle.

    References
    ----------
    ToPG, section 2.3.3, steps 6-7. Liu et al., Lost in the Middle, TACL 12, 2024.

    Examples
    --------
    >>> best_at_the_ends([1, 2, 3, 4, 5])
    [1, 3, 5, 4, 2]
    """
    return [*items[::2], *reversed(items[1::2])]


def numbered(evidence: Sequence[Evidence], *, numbers: Sequence[int] = ()) -> str:
    """Evidence as data between marks, numbered from 1, or with these numbers."""
    pairs = zip(numbers or range(1, len(evidence) + 1), evidence, strict=True)
    return "\n".join(_block(item, number) for number, item in pairs)


def cost(item: Evidence, *, number: int = 1) -> int:
    """About how many tokens a piece takes in a context, with its number, its marks and where it is from."""
    return estimated_tokens(f"\n{_block(item, number)}")


def fitted(evidence: Sequence[Evidence], tokens: int, *, places: Sequence[int] = ()) -> Fit:
    """As many pieces as so many tokens hold, greedily by rank; a piece that does not fit is passed over and counted.

    Where even the best piece is too long its first sentences are kept, as many as fit (where the first alone is too long,
    its first words), and the piece says that the rest is left out. No other piece is ever cut. What holds less than some 100
    tokens may hold nothing at all.

    Parameters
    ----------
    evidence : best first
    tokens : of all pieces as the prompt shows them, by :func:`hlgraph.models.tokens.estimated_tokens`
    places : of the pieces in all evidence, where these are some of it; default: from 0
    """
    kept: list[int] = []
    pieces: list[Evidence] = []
    left, cut = tokens, 0
    for place, item in zip(places or range(len(evidence)), evidence, strict=True):
        needed, chosen = cost(item, number=place + 1), item
        if needed > left and not kept:
            chosen, cut = _beginning(item, left, number=place + 1), 1
            needed = cost(chosen, number=place + 1)
        if needed <= left:
            kept.append(place)
            pieces.append(chosen)
            left -= needed
    return Fit(tuple(kept), tuple(pieces), len(evidence) - len(kept), cut)


def _block(item: Evidence, number: int) -> str:
    place = ", ".join(part for part in (item.source.title, *item.headings[-1:]) if part)
    body = f"From: {' '.join(place.split())}\n{item.text}" if place else item.text
    body = "\n".join((body, *(f"In its table: {label}" for label in item.labels)))
    return f"[{number}]\n{delimited('evidence', body)}"


def _beginning(item: Evidence, tokens: int, *, number: int) -> Evidence:
    """A piece with as much of its text as fits, and the word that the rest is left out."""
    title = item.source.title[:_PLACE]
    short = replace(item, source=replace(item.source, title=title), headings=(), labels=())

    def until(end: int) -> Evidence:
        return replace(short, text=f"{item.text[:end].rstrip()} {CUT}")

    def longest(ends: Sequence[int]) -> int:
        """The last of these ends that fits, by halving; 0 where none does."""
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if cost(until(ends[middle]), number=number) <= tokens:
                low = middle + 1
            else:
                high = middle
        return ends[low - 1] if low else 0

    ends = [end for _, end in sentences(item.text)]
    spaces = [at for at, sign in enumerate(item.text) if sign.isspace()]
    return until(longest(ends) or longest(spaces) or longest(range(1, len(item.text) + 1)))
