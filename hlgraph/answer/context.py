"""The context of an answer: as much evidence as fits a token budget, in the order that models use best."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from hlgraph.errors import InputError
from hlgraph.models.prompts import delimited, estimated_tokens
from hlgraph.records import Evidence
from hlgraph.text import sentences

CONTEXT_TOKENS = 8_000
LEAST_CONTEXT_TOKENS = 200
CUT = "(The rest of this piece is left out.)"
_TITLES = 5  # titles of sources that a summary is shown with
_PLACE = 80  # characters of title and heading that a cut piece keeps
_Item = TypeVar("_Item")


class Fit(NamedTuple):
    """The evidence that fits a token budget.

    Attributes
    ----------
    places : places of its pieces in all evidence, from 0, best first
    pieces : the pieces, in that order; a cut one has the beginning of its text, and a note that the rest is left out
    left_out : number of pieces that did not fit
    cut : number of pieces that were cut, 0 or 1
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
    """Raise InputError for a context that is too small to hold a piece of evidence."""
    if tokens < LEAST_CONTEXT_TOKENS:
        raise InputError(
            f"context_tokens is {tokens}; give at least {LEAST_CONTEXT_TOKENS}; the default is {CONTEXT_TOKENS:,}"
        )


def best_at_the_ends(items: Sequence[_Item]) -> list[_Item]:
    """Reorder items that come best first: the best stand at both ends, the worst in the middle.

    The first stays first, the second becomes the last, the third becomes the second, and so on inward. Models use the ends of a
    long context better than its middle.

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
    """Evidence as delimited data for a prompt.

    Parameters
    ----------
    evidence : the pieces
    numbers : one per piece; default: from 1

    Returns
    -------
    str
        One block per piece, with its number, source, text and table labels. A summary is marked as one, with the titles of the
        sources that it rests on; a stale summary is also marked as older than its sources.
    """
    pairs = zip(numbers or range(1, len(evidence) + 1), evidence, strict=True)
    return "\n".join(_block(piece, number) for number, piece in pairs)


def cost(piece: Evidence, *, number: int = 1) -> int:
    """Estimated number of tokens that a piece takes in a context, including its number, delimiters and source.

    Parameters
    ----------
    piece : the piece
    number : the number that it has in the context

    Returns
    -------
    int
        See :func:`hlgraph.models.prompts.estimated_tokens`.
    """
    return estimated_tokens(f"\n{_block(piece, number)}")


def fitted(evidence: Sequence[Evidence], tokens: int) -> Fit:
    """As many pieces as fit ``tokens``, greedily by rank; a piece that does not fit is skipped and counted.

    If even the best piece is too long, it is cut to as many of its first sentences as fit, or to its first words if the first
    sentence alone is too long, with a note that the rest is left out. No other piece is ever cut. A budget below about 100
    tokens may hold nothing at all.

    Parameters
    ----------
    evidence : best first
    tokens : budget for all pieces as the prompt shows them, by :func:`hlgraph.models.prompts.estimated_tokens`

    Returns
    -------
    Fit
        The kept pieces, and what was left out or cut.
    """
    kept: list[int] = []
    pieces: list[Evidence] = []
    left, cut = tokens, 0
    for place, piece in enumerate(evidence):
        needed, chosen = cost(piece, number=place + 1), piece
        if needed > left and not kept:
            chosen, cut = _beginning(piece, left, number=place + 1), 1
            needed = cost(chosen, number=place + 1)
        if needed <= left:
            kept.append(place)
            pieces.append(chosen)
            left -= needed
    return Fit(tuple(kept), tuple(pieces), len(evidence) - len(kept), cut)


def _block(piece: Evidence, number: int) -> str:
    place = summary_place(piece) if piece.summary_id else place_of(piece)
    body = f"From: {' '.join(place.split())}\n{piece.text}" if place else piece.text
    body = "\n".join((body, *(f"In its table: {label}" for label in piece.labels)))
    return f"[{number}]\n{delimited('evidence', body)}"


def in_lines(texts: Sequence[str], *, numbers: Sequence[int] = ()) -> str:
    """Texts as numbered lines, as a model reads its contexts in training; ``(none)`` without any.

    Parameters
    ----------
    texts : each on one line, see :func:`line_of`
    numbers : one per text; default: from 1
    """
    pairs = zip(numbers or range(1, len(texts) + 1), texts, strict=True)
    return "\n".join(f"[{number}] {text}" for number, text in pairs) or "(none)"


def line_of(piece: Evidence) -> str:
    """A piece of evidence on one line, after the title of its source; a summary has no title."""
    title = "" if piece.summary_id else " ".join(piece.source.title.split())
    text = " ".join(piece.text.split())
    return f"{title}: {text}" if title else text


def place_of(piece: Evidence) -> str:
    """The title of a piece's source, and its closest heading."""
    return ", ".join(part for part in (piece.source.title, *piece.headings[-1:]) if part)


def summary_place(piece: Evidence) -> str:
    """What a summary rests on, with the titles of the closest sources, and whether it is older than they are."""
    titles = list(dict.fromkeys(part.source.title or part.source.uri for part in piece.opened))
    rest = f" and {len(titles) - _TITLES} more" if len(titles) > _TITLES else ""
    older = ", written before one of them last changed" if piece.is_stale else ""
    return f"a summary of {len(piece.opened)} passages from {'; '.join(titles[:_TITLES])}{rest}{older}"


def _beginning(piece: Evidence, tokens: int, *, number: int) -> Evidence:
    """A piece with as much of its text as fits, and a note that the rest is left out."""
    title = piece.source.title[:_PLACE]
    short = replace(piece, source=replace(piece.source, title=title), headings=(), labels=())

    def until(end: int) -> Evidence:
        return replace(short, text=f"{piece.text[:end].rstrip()} {CUT}")

    def longest(ends: Sequence[int]) -> int:
        """The last of these ends that fits, by binary search; 0 if none does."""
        count = bisect_right(ends, tokens, key=lambda end: cost(until(end), number=number))
        return ends[count - 1] if count else 0

    ends = [end for _, end in sentences(piece.text)]
    spaces = [at for at, sign in enumerate(piece.text) if sign.isspace()]
    return until(longest(ends) or longest(spaces) or longest(range(1, len(piece.text) + 1)))
