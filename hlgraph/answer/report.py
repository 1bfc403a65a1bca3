"""Reports on broad questions: points from each community of the evidence, scored, then written up with citations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, TypeVar

from hlgraph.algorithms import check
from hlgraph.answer.citations import (
    CITED,
    CONTEXT_TOKENS,
    CUT,
    best_at_the_ends,
    joined,
    named_numbers,
    place_of,
    said,
    summary_place,
)
from hlgraph.answer.extractive import NOT_FOUND, is_about, relevance_of
from hlgraph.answer.writer import MAX_TOKENS, Telling, Writer, made_by, outcome, telling_reply
from hlgraph.errors import ModelAnswerError
from hlgraph.extract.wording import content_set
from hlgraph.models.accounts.budget import Usage
from hlgraph.models.prompts import delimited, estimated_tokens
from hlgraph.models.protocols import ChatModel
from hlgraph.records import Answer, Calibration, Evidence, ReportFigures
from hlgraph.retrieve.request import CommunityEvidence
from hlgraph.text import count_tokens

# The input of the calls for points: the communities of the evidence, divided by a budget in tokens.

_Piece = TypeVar("_Piece")
_FRAME = 40  # tokens of the marks around a part
_PLACE = 80  # characters of a title and heading
_ENTITIES_SHARE, _PASSAGES_SHARE = 8, 4  # of a small budget entities take at most an eighth, passages a quarter


@dataclass(frozen=True, slots=True)
class Section:
    """Evidence that belongs together: a community, or the pieces of a source.

    Attributes
    ----------
    places : of its pieces in all evidence, from 0
    lines : one per piece, as the model reads it
    head : a line before them; may be empty
    is_community : a blank line stands before and after a community that shares a call
    anchors : number of collected statements
    cut : number of pieces whose lines were shortened
    """

    places: tuple[int, ...]
    lines: tuple[str, ...]
    head: str = ""
    is_community: bool = True
    anchors: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """The input of one call.

    Attributes
    ----------
    places : of the pieces, from 0
    lines : the lines that are shown
    cut : number of pieces that did not fit as a whole
    """

    places: tuple[int, ...]
    lines: tuple[str, ...]
    cut: int = 0

    @property
    def text(self) -> str:
        """The lines between markers that they cannot forge."""
        return delimited("evidence", "\n".join(self.lines))


class Parts(NamedTuple):
    """The calls of a report, and the number of communities that take several calls."""

    parts: list[Part]
    divided: int


class Reading(NamedTuple):
    """The evidence of a report by communities, and the places of each community in it."""

    evidence: tuple[Evidence, ...]
    sections: tuple[Section, ...]


def line(piece: Evidence, number: int) -> str:
    """A piece of evidence on one line: its number, its source, its text, the labels of its table.

    Line breaks of the text become spaces, so that no text can look like another piece.

    Parameters
    ----------
    piece : the piece
    number : from 1

    Returns
    -------
    str
    """
    if piece.summary_id:
        kind, place = "", summary_place(piece)
    else:
        kind = "" if piece.statement_id else "passage of "
        place = place_of(piece)[:_PLACE]
    labels = "".join(f"; in its table: {label}" for label in piece.labels)
    return " ".join(f"[{number}] {f'({kind}{place}) ' if place or kind else ''}{piece.text}{labels}".split())


def cost(text: str) -> int:
    """Estimated number of tokens of a line, its line break included."""
    return estimated_tokens(f"\n{text}")


def shortened(text: str, tokens: int) -> str:
    """The line, or as many of its first words as fit, with a note that the rest is left out.

    Parameters
    ----------
    text : of the line
    tokens : the budget; the number of the piece and the note are kept even if they exceed it

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
    more = bisect_right(range(2, len(words) + 1), tokens, key=lambda count: cost(f"{' '.join(words[:count])} {CUT}"))
    return f"{' '.join(words[: 1 + more])} {CUT}"


def best_passages(passages: Sequence[Evidence], tokens: int) -> list[Evidence]:
    """The passages of a community that fit, in their order; one that does not fit is skipped, but the best is cut to fit.

    Parameters
    ----------
    passages : best first
    tokens : budget for all of them (paper: passage_token_limit, 500)

    Returns
    -------
    list
        Only the best passage if it is too long; empty if the budget is 0.
    """
    if passages and 0 < tokens < cost(line(passages[0], 1)):
        return [passages[0]]
    return list(_fitting(passages, tokens, lambda piece: cost(line(piece, 1))))


def _fitting(pieces: Iterable[_Piece], tokens: int, cost_of: Callable[[_Piece], int]) -> Iterator[_Piece]:
    """The pieces that fit a budget, greedily; one that does not fit is skipped."""
    for piece in pieces:
        if (needed := cost_of(piece)) <= tokens:
            tokens -= needed
            yield piece


def read(
    communities: Sequence[CommunityEvidence],
    *,
    tokens: int,
    passage_tokens: int,
    among: Collection[str] | None = None,
    summaries: Sequence[Evidence] = (),
) -> Reading:
    """The evidence of communities: the entities, statements and best passages of each, then summaries.

    Parameters
    ----------
    communities : in the order in which they are read
    tokens : budget of one call; entities take at most an eighth of it, passages a quarter
    passage_tokens : maximum number of tokens of passages of one community
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
        said = [piece for piece in each.statements if among is None or piece.statement_id in among]
        if not said:
            continue
        passages = best_passages(each.passages, room)
        first = len(evidence)
        evidence += [*said, *passages]
        places = range(first, len(evidence))
        whole = [line(evidence[at], at + 1) for at in places]
        lines = [*whole[: len(said)], *(shortened(text, room) for text in whole[len(said) :])]
        cut = sum(a != b for a, b in zip(lines, whole, strict=True))
        head = _head(each.entities, tokens // _ENTITIES_SHARE)
        sections.append(Section(tuple(places), tuple(lines), head, bool(each.number), each.anchors, cut))
    if summaries:
        places = range(len(evidence), len(evidence) + len(summaries))
        lines = [line(piece, at + 1) for at, piece in zip(places, summaries, strict=True)]
        evidence += summaries
        sections.append(Section(tuple(places), tuple(lines), is_community=False))
    return Reading(tuple(evidence), tuple(sections))


def sections_of(evidence: Sequence[Evidence]) -> list[Section]:
    """Evidence by community (``why["community"]``), else by group of a hierarchy (``why["group"]``), else by source.

    Sections are in the order of their best pieces. Summaries without a group form one section.

    Parameters
    ----------
    evidence : best first

    Returns
    -------
    list
    """
    groups: dict[tuple[bool, str], list[int]] = {}
    for at, piece in enumerate(evidence):
        community = piece.why.get("community")
        alone = piece.why.get("group", "summaries" if piece.summary_id else piece.source.id)
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
    """The calls for sections: as many sections in a call as fit; one that does not fit alone takes several.

    A section that is divided keeps its order. A line that exceeds the budget alone is cut.

    Parameters
    ----------
    sections : in the order in which they are read
    tokens : budget of one call (paper: max_tokens_community_chunks, 8,000); below about 100 a call may exceed it

    Returns
    -------
    Parts

    References
    ----------
    ToPG, section 2.3.3, step 6: intermediate answers by batches of communities.
    """
    budget = max(tokens - _FRAME, 1)
    parts: list[Part] = []
    left, divided, was_community = 0, 0, False
    for section in sections:
        head = (section.head,) if section.head else ()
        apart = ("", *head) if section.is_community or was_community else head
        needed = sum(map(cost, head))
        lines = [shortened(text, budget - needed) for text in section.lines]
        if parts and sum(map(cost, (*apart, *lines))) <= left:
            last = parts[-1]
            parts[-1] = Part(last.places, (*last.lines, *apart), last.cut + section.cut)
            left -= sum(map(cost, apart))
        else:
            parts.append(Part((), head, section.cut))
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
        was_community = section.is_community
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


_POINT = re.compile(r"^[\s*•-]*\(?(?P<score>\d{1,3})(?:\s*/\s*100)?\)?\s*\|\s*(?P<text>.*\S)\s*$")
_SAME = 0.8


@dataclass(frozen=True, slots=True)
class ReportBounds:
    """Limits on what a report reads and writes; the defaults are the paper's.

    Attributes
    ----------
    batch_tokens : evidence for one intermediate answer, in estimated tokens (paper: max_tokens_community_chunks 8,000)
    passage_tokens : passages of one community, in estimated tokens, at most a quarter of ``batch_tokens`` (paper:
        passage_token_limit 500; 0: none)
    report_tokens : points that the report is written from, in tokens (paper: max_tokens_report 8,000)
    points : maximum number of points of one community, without a model (default 3)
    paragraphs : maximum number of paragraphs of a report without a model (default 8)
    max_tokens : maximum length of one reply of the model, in tokens (default 4,096)
    """

    batch_tokens: int = CONTEXT_TOKENS
    passage_tokens: int = 500
    report_tokens: int = CONTEXT_TOKENS
    points: int = 3
    paragraphs: int = 8
    max_tokens: int = MAX_TOKENS

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.at_least(0, passage_tokens=self.passage_tokens)
        check.at_least(1, **{name: value for name, value in asdict(self).items() if name != "passage_tokens"})


class Point(NamedTuple):
    """A point: one line of an intermediate answer.

    Attributes
    ----------
    score : how much it helps to answer the question, from 0 to 100
    text : the statement, without citations
    evidence : the pieces that it rests on, as places in the evidence, from 0
    batch : index, from 0, of the part or community that it comes from
    """

    score: float
    text: str
    evidence: tuple[int, ...]
    batch: int


def best_points(points: Sequence[Point], tokens: int) -> list[Point]:
    """The points with a score above 0, highest first, as many as fit; a point that does not fit is skipped.

    Parameters
    ----------
    points : equal scores keep their order
    tokens : budget for the texts of all points

    Returns
    -------
    list
        Highest score first.

    Examples
    --------
    >>> [point.text for point in best_points([Point(1, "b", (), 0), Point(9, "a", (), 0), Point(0, "c", (), 0)], 10)]
    ['a', 'b']
    """
    ranked = sorted((point for point in points if point.score > 0), key=lambda point: -point.score)
    return list(_fitting(ranked, tokens, lambda point: count_tokens(point.text)))


def extractive_report(
    question: str,
    evidence: Sequence[Evidence],
    *,
    bounds: ReportBounds | None = None,
    calibration: Calibration | None = None,
) -> Answer:
    """A report without a chat model: the best statements of each community as a paragraph, each with its citation.

    A piece is used when it shares a content word with the question, or its cosine to the question is at least 0.25, fitted to
    the scale of the corpus. Its score is 100 times that of the reranker (from 0 to 1); without a reranker score, 100 times the
    share of the question's content words that it has. Paragraphs are in the order of their best points. Near-duplicates are left
    out.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    bounds : limits; default: :class:`ReportBounds`
    calibration : the scale of the cosines of the corpus; None: that of the shipped embedder

    Returns
    -------
    Answer
        ``NOT_FOUND`` if no piece is about the question.
    """
    bounds = bounds or ReportBounds()
    asked = content_set(question)
    points: list[Point] = []
    seen: list[Set[str]] = []
    for number, section in enumerate(sections_of(evidence)):
        mine: list[Point] = []
        for at in section.places:
            words = content_set(evidence[at].text)
            is_new = not any(len(words & other) >= _SAME * min(len(words), len(other)) for other in seen)
            if words and is_new and is_about(asked, evidence[at], calibration=calibration):
                seen.append(words)
                score = relevance_of(evidence[at], len(asked & words) / max(len(asked), 1)) or 0.0
                mine.append(Point(100 * score, evidence[at].text, (at,), number))
        points += sorted(mine, key=lambda point: (-point.score, point.evidence))[: bounds.points]
    chosen = best_points(points, bounds.report_tokens)
    paragraphs: dict[int, list[Point]] = {}
    for point in chosen:
        paragraphs.setdefault(point.batch, []).append(point)
    shown = list(paragraphs.values())[: bounds.paragraphs]
    left_out = sum(point.score > 0 for point in points) - len(chosen)
    answer = Answer(question, NOT_FOUND, (), is_supported=False)
    if shown:
        answer = joined(question, [[evidence[point.evidence[0]] for point in paragraph] for paragraph in shown])
    return replace(answer, left_out=left_out)


def chat_report(
    question: str,
    evidence: Sequence[Evidence],
    *,
    model: ChatModel,
    bounds: ReportBounds | None = None,
    usage: Usage | None = None,
) -> Answer:
    """A report by a chat model: calls for batches of communities extract points, then one call writes the report.

    An executor makes the calls for points concurrently, within its limit. The report does not depend on the order of the replies.

    The points are sorted by score, cut at ``report_tokens``, and arranged with the best first and last. Citations are checked and
    renumbered as in :func:`hlgraph.answer.writer.chat_answer`. Without evidence, or without a point above 0, the answer says that
    the corpus holds none. ``Answer.report`` counts what was read, and the errors of the replies.

    Parameters
    ----------
    question : text of the question
    evidence : best first; it is read by community, as the strategy ``global`` names it, other pieces by source; several in one
        call if they fit
    model : the chat model
    bounds : limits; default: :class:`ReportBounds`
    usage : counts the tokens and the cost of the calls

    Returns
    -------
    Answer
        The report with its citations.

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : from the model
    ModelAnswerError : the last reply is empty, or all points cite only evidence that their call did not show

    References
    ----------
    ToPG, section 2.3.3, steps 6 and 7.
    """
    bounds = bounds or ReportBounds()
    writer = Writer(model=model, max_tokens=bounds.max_tokens, usage=usage)
    return outcome(telling_report(question, Reading(tuple(evidence), ()), writer=writer, bounds=bounds))


def telling_report(question: str, reading: Reading, *, writer: Writer, bounds: ReportBounds) -> Telling[Answer]:
    """:func:`chat_report` as a generator: yields the text as it arrives if the writer streams; points are not yielded.

    Parameters
    ----------
    question : text of the question
    reading : the evidence; without sections it is divided by its communities and sources
    writer : the chat model and how it is asked
    bounds : limits

    Returns
    -------
    Generator
        Its return value is the answer.
    """
    evidence = reading.evidence
    sections = reading.sections or tuple(sections_of(evidence))
    calls = packed(sections, bounds.batch_tokens)
    usage = Usage()
    asked = replace(writer, usage=usage)
    values = [{"evidence": part.text, "question": delimited("question", question)} for part in calls.parts]
    replies = asked.ask_each("points", values)
    noted = [
        points_in(said(reply.text), part.places, number=number)
        for number, (part, reply) in enumerate(zip(calls.parts, replies, strict=True))
    ]
    points = [point for each in noted for point in each.points]
    rejected = sum(each.rejected for each in noted)
    if rejected and not points:
        raise ModelAnswerError(
            f"{writer.fingerprint}: the replies have {rejected} points for the report, and none cites a piece of the evidence that "
            "its call showed; use another model"
        )
    chosen = best_at_the_ends(best_points(points, bounds.report_tokens))
    answer = Answer(question, NOT_FOUND, (), is_supported=False)
    known = {at for point in chosen for at in point.evidence}
    if chosen:
        lines = "\n".join(f"{point.text} {''.join(f'[{at + 1}]' for at in point.evidence)}" for point in chosen)
        filled = {"points": delimited("points", lines), "question": delimited("question", question)}
        reply = telling_reply(question, evidence, writer=asked, prompt="report", values=filled, known=known)
        answer = yield from reply
        left_out = len({at for point in points if point.score > 0 for at in point.evidence} - known)
        by = made_by(writer, "points", "report")
        answer = replace(answer, made_by=by, left_out=left_out, cut=sum(part.cut for part in calls.parts))
    if writer.usage is not None:
        writer.usage.include(usage)
    figures = ReportFigures(
        communities=sum(section.is_community for section in sections),
        anchors=sum(section.anchors for section in sections),
        shown_anchors=sum("cycle" in piece.why for piece in evidence),
        statements=sum(bool(piece.statement_id) for piece in evidence),
        passages=sum(not piece.statement_id and not piece.summary_id for piece in evidence),
        summaries=sum(bool(piece.summary_id) for piece in evidence),
        divided=calls.divided,
        calls=usage.calls,
        kept_calls=usage.kept,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        points=len(points),
        used_points=len(chosen),
        rejected_points=rejected,
        foreign_citations=sum(each.foreign for each in noted),
    )
    is_truncated = answer.is_truncated or any(reply.is_cut for reply in replies)
    return replace(answer, report=figures, is_truncated=is_truncated)


class Noted(NamedTuple):
    """The points of one reply.

    Attributes
    ----------
    points : those with a citation of the evidence that the call showed
    rejected : number of points without one
    foreign : number of citations of other evidence; they are removed
    """

    points: list[Point]
    rejected: int = 0
    foreign: int = 0


def points_in(reply: str, batch: Sequence[int], *, number: int) -> Noted:
    r"""The points of a reply: lines with a score, a bar, a text and a citation of the part; other lines are ignored.

    Parameters
    ----------
    reply : text of the model, without thoughts
    batch : places in the evidence that may be cited, from 0
    number : index of the part

    Returns
    -------
    Noted
        The points in the order of the lines; scores above 100 become 100.

    Examples
    --------
    >>> noted = points_in("80 | Marl holds water. [1][9]\nSo it is.\n250 | Much. [2]\n5 | No source.", [0, 1], number=0)
    >>> noted.points
    [Point(score=80.0, text='Marl holds water.', evidence=(0,), batch=0), Point(score=100.0, text='Much.', evidence=(1,), batch=0)]
    >>> noted.rejected, noted.foreign
    (1, 1)
    """
    points: list[Point] = []
    rejected = foreign = 0
    places = set(batch)
    for line in reply.splitlines():
        match = _POINT.match(line)
        text = CITED.sub("", match["text"]).strip() if match is not None else ""
        if match is None or not text:
            continue
        cited = [each - 1 for mark in CITED.finditer(match["text"]) for each in named_numbers(mark[1])]
        there = tuple(dict.fromkeys(at for at in cited if at in places))
        foreign += sum(at not in places for at in cited)
        if there:
            points.append(Point(min(float(match["score"]), 100.0), text, there, number))
        else:
            rejected += 1
    return Noted(points, rejected, foreign)
