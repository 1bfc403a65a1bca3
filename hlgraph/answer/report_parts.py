"""What the calls for the points of a report read: the communities of the evidence, divided by a budget in tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hlgraph.answer.context import CUT, summary_place
from hlgraph.models.prompts import delimited
from hlgraph.models.tokens import estimated_tokens
from hlgraph.records import Evidence
from hlgraph.retrieve.request import CommunityEvidence

_FRAME = 40  # tokens of the marks around a part
_PLACE = 80  # characters of a title and heading
_ENTITIES_SHARE, _PASSAGES_SHARE = 8, 4  # of a small budget entities take at most an eighth, passages a quarter


@dataclass(frozen=True, slots=True)
class Section:
    """Evidence that belongs together: a community, or the pieces of a source.

    Attributes
    ----------
    places : of its pieces in all evidence, from 0
    lines : one for each piece, as the model reads it
    head : a line before them; may be empty
    is_community : a community shares no call with other sections
    anchors : number of collected statements
    cut : number of pieces of which the line has only the beginning
    """

    places: tuple[int, ...]
    lines: tuple[str, ...]
    head: str = ""
    is_community: bool = True
    anchors: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """What one call reads.

    Attributes
    ----------
    places : of the pieces, from 0
    lines : what is shown
    cut : number of pieces that did not fit as a whole
    """

    places: tuple[int, ...]
    lines: tuple[str, ...]
    cut: int = 0

    @property
    def text(self) -> str:
        """The lines between marks that they cannot forge."""
        return delimited("evidence", "\n".join(self.lines))


class Parts(NamedTuple):
    """The calls of a report, and the number of communities that take several of them."""

    parts: list[Part]
    divided: int


class Reading(NamedTuple):
    """The evidence of a report by communities, and where each community is in it."""

    evidence: tuple[Evidence, ...]
    sections: tuple[Section, ...]


def line(item: Evidence, number: int) -> str:
    """A piece of evidence on one line: its number, its source, its text, the labels of its table.

    Line breaks of the text become spaces, so that no text can look like another piece.

    Parameters
    ----------
    item : the piece
    number : from 1

    Returns
    -------
    str
    """
    if item.summary_id:
        kind, place = "", summary_place(item)
    else:
        kind = "" if item.statement_id else "passage of "
        place = ", ".join(part for part in (item.source.title, *item.headings[-1:]) if part)[:_PLACE]
    labels = "".join(f"; in its table: {label}" for label in item.labels)
    return " ".join(f"[{number}] {f'({kind}{place}) ' if place or kind else ''}{item.text}{labels}".split())


def cost(text: str) -> int:
    """Estimated number of tokens of a line, its line break included."""
    return estimated_tokens(f"\n{text}")


def shortened(text: str, tokens: int) -> str:
    """The line, or as many of its first words as fit, with a note that the rest is left out.

    Parameters
    ----------
    text : of the line
    tokens : the budget; the number of the piece and the note are kept even where it is smaller

    Returns
    -------
    str

    Examples
    --------
    >>> shortened("[1] The mill of the valley is old, and it grinds the grain of all the farms around it.", 18)
    '[1] The mill of the (The rest of this piece is left out.)'
    """
    if cost(text) <= tokens:
        return text
    words = text.split()
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        if cost(f"{' '.join(words[:middle])} {CUT}") <= tokens:
            low = middle
        else:
            high = middle - 1
    return f"{' '.join(words[:low])} {CUT}"


def best_passages(passages: Sequence[Evidence], tokens: int) -> list[Evidence]:
    """The passages of a community that fit, in their order; one that does not fit is skipped, but the best is cut to fit.

    Parameters
    ----------
    passages : best first
    tokens : budget for all of them (paper: passage_token_limit, 500)

    Returns
    -------
    list
        The best alone where it is too long; empty where the budget is 0.
    """
    kept: list[Evidence] = []
    left = tokens
    for item in passages:
        needed = cost(line(item, 1))
        if needed <= left:
            kept.append(item)
            left -= needed
        elif not kept and tokens > 0:
            return [item]
    return kept


def read(
    communities: Sequence[CommunityEvidence],
    *,
    tokens: int,
    passage_tokens: int,
    among: Collection[str] | None = None,
    summaries: Sequence[Evidence] = (),
) -> Reading:
    """The evidence of communities: of each its entities, its statements, and its best passages; behind them summaries.

    Parameters
    ----------
    communities : in the order in which they are read
    tokens : budget of one call; entities take at most an eighth of it, passages a quarter
    passage_tokens : most tokens of passages of one community
    among : ids of the statements that may be shown; None: all
    summaries : shown beside the communities, best first

    Returns
    -------
    Reading
        A community without a statement that may be shown is left out.
    """
    evidence: list[Evidence] = []
    sections: list[Section] = []
    room = min(passage_tokens, tokens // _PASSAGES_SHARE)
    for each in communities:
        said = [item for item in each.statements if among is None or item.statement_id in among]
        if not said:
            continue
        passages = best_passages(each.passages, room)
        first = len(evidence)
        evidence += [*said, *passages]
        places = range(first, len(evidence))
        lines = [line(evidence[at], at + 1) for at in places]
        whole = list(lines)
        lines[len(said) :] = [shortened(text, room) for text in lines[len(said) :]]
        cut = sum(a != b for a, b in zip(lines, whole, strict=True))
        head = _head(each.entities, tokens // _ENTITIES_SHARE)
        sections.append(Section(tuple(places), tuple(lines), head, bool(each.number), each.anchors, cut))
    if summaries:
        places = range(len(evidence), len(evidence) + len(summaries))
        lines = [line(item, at + 1) for at, item in zip(places, summaries, strict=True)]
        evidence += summaries
        sections.append(Section(tuple(places), tuple(lines), is_community=False))
    return Reading(tuple(evidence), tuple(sections))


def sections_of(evidence: Sequence[Evidence]) -> list[Section]:
    """Evidence by community (``why["community"]``), else by group of a hierarchy (``why["group"]``), else by source.

    Sections are in the order of their best pieces. Summaries without a group are one section. Only communities get a call each:
    groups and sources share calls.

    Parameters
    ----------
    evidence : best first

    Returns
    -------
    list
    """
    groups: dict[tuple[bool, str], list[int]] = {}
    for at, item in enumerate(evidence):
        community = item.why.get("community")
        alone = item.why.get("group", "summaries" if item.summary_id else item.source.id)
        key = (False, str(alone)) if community is None else (True, str(community))
        groups.setdefault(key, []).append(at)
    return [
        Section(
            tuple(places),
            tuple(line(evidence[at], at + 1) for at in places),
            is_community=is_community,
            anchors=sum("cycle" in evidence[at].why for at in places),
        )
        for (is_community, _), places in groups.items()
    ]


def packed(sections: Sequence[Section], tokens: int) -> Parts:
    """The calls for sections: one for each community, several where it does not fit; sources share calls as far as they fit.

    A section that is divided keeps its order. A line that exceeds the budget alone is cut.

    Parameters
    ----------
    sections : in the order in which they are read
    tokens : budget of one call (paper: max_tokens_community_chunks, 8,000); below about 100 a call may exceed it

    Returns
    -------
    Parts
    """
    budget = max(tokens - _FRAME, 1)
    parts: list[Part] = []
    left, is_open, divided = 0, False, 0
    for section in sections:
        needed = cost(section.head) if section.head else 0
        lines = [shortened(text, budget - needed) for text in section.lines]
        whole = needed + sum(map(cost, lines))
        shares = is_open and not section.is_community and whole <= left
        if not shares:
            parts.append(Part((), (section.head,) if section.head else (), section.cut))
            left = budget - needed
        first = len(parts)
        for place, text, was in zip(section.places, lines, section.lines, strict=True):
            if cost(text) > left and parts[-1].places:
                parts.append(Part((), ()))
                left = budget
            last = parts[-1]
            parts[-1] = Part((*last.places, place), (*last.lines, text), last.cut + (text != was))
            left -= cost(text)
        divided += section.is_community and len(parts) > first
        is_open = not section.is_community
    return Parts(parts, divided)


def _head(entities: Sequence[str], tokens: int) -> str:
    """The names of a community's entities, as many as fit, on one line."""
    kept: list[str] = []
    left = tokens - cost("Entities: ")
    for name in (" ".join(entity.split()) for entity in entities):
        needed = estimated_tokens(f"; {name}")
        if needed > left:
            break
        kept.append(name)
        left -= needed
    return f"Entities: {'; '.join(kept)}" if kept else ""
