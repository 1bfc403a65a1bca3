"""Reports on broad questions: points from each community of the evidence, scored, then written up with citations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hlgraph.answer.citations import CITED, named_numbers, said
from hlgraph.answer.context import CONTEXT_TOKENS, best_at_the_ends, cost, fitted
from hlgraph.answer.extractive import NOT_FOUND, is_about, joined
from hlgraph.answer.writer import MAX_TOKENS, Asked, Telling, Writer, made_by, outcome, telling_reply
from hlgraph.errors import InputError
from hlgraph.models.accounts.usage import Usage
from hlgraph.models.prompts import delimited
from hlgraph.models.seams import ChatModel
from hlgraph.records import Answer, Calibration, Evidence
from hlgraph.text import content_words, count_tokens

_POINT = re.compile(r"^[\s*•-]*\(?(?P<score>\d{1,3})(?:\s*/\s*100)?\)?\s*\|\s*(?P<text>.*\S)\s*$")
_SAME = 0.8


@dataclass(frozen=True, slots=True)
class ReportBounds:
    """Limits on what a report reads and writes; the defaults are the paper's.

    Attributes
    ----------
    batch_tokens : evidence for one intermediate answer, in estimated tokens (paper: max_tokens_community_chunks 8,000)
    report_tokens : points that the report is written from, in tokens (paper: max_tokens_report 8,000)
    points : maximum number of points of one community, without a model (default 3)
    paragraphs : maximum number of paragraphs of a report without a model (default 8)
    max_tokens : maximum length of one reply of the model, in tokens (default 4,096)
    """

    batch_tokens: int = CONTEXT_TOKENS
    report_tokens: int = CONTEXT_TOKENS
    points: int = 3
    paragraphs: int = 8
    max_tokens: int = MAX_TOKENS

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("batch_tokens", "report_tokens", "points", "paragraphs", "max_tokens"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")


class Point(NamedTuple):
    """A point: one line of an intermediate answer.

    Attributes
    ----------
    score : how much it helps to answer the question, from 0 to 100
    text : the statement, without citations
    evidence : the pieces that it rests on, as places in the evidence, from 0
    batch : index, from 0, of the batch or community that it comes from
    """

    score: float
    text: str
    evidence: tuple[int, ...]
    batch: int


def communities(evidence: Sequence[Evidence]) -> list[list[int]]:
    """Places in the evidence, grouped by community (``why["community"]``); groups are in the order of their best pieces.

    Of the pieces without a community, those of one source are a group, and the summaries are one.
    """
    groups: dict[str, list[int]] = {}
    for at, item in enumerate(evidence):
        community = item.why.get("community")
        alone = "summaries" if item.summary_id else f"source {item.source.id}"
        groups.setdefault(alone if community is None else f"community {community}", []).append(at)
    return list(groups.values())


def batches(evidence: Sequence[Evidence], *, tokens: int) -> list[list[int]]:
    """Communities in sequence, as many in a batch as fit; one that fits no batch is split.

    Parameters
    ----------
    evidence : best first
    tokens : maximum size of a batch as the prompt shows it, in estimated tokens; a single piece may exceed it

    Returns
    -------
    list
        Places in the evidence, one list for each batch.
    """
    found: list[list[int]] = [[]]
    left = tokens
    for members in communities(evidence):
        costs = [cost(evidence[at], number=at + 1) for at in members]
        if sum(costs) > left and found[-1]:
            found.append([])
            left = tokens
        for at, needed in zip(members, costs, strict=True):
            if needed > left and found[-1]:
                found.append([])
                left = tokens
            found[-1].append(at)
            left -= needed
    return [batch for batch in found if batch]


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
    kept: list[Point] = []
    left = tokens
    for point in sorted(points, key=lambda item: -item.score):
        cost = count_tokens(point.text)
        if point.score > 0 and cost <= left:
            kept.append(point)
            left -= cost
    return kept


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
        ``NOT_FOUND`` where no piece is about the question.
    """
    bounds = bounds or ReportBounds()
    asked = set(content_words(question))
    points: list[Point] = []
    seen: list[set[str]] = []
    for number, batch in enumerate(communities(evidence)):
        mine: list[Point] = []
        for at in batch:
            held = set(content_words(evidence[at].text))
            is_new = not any(len(held & other) >= _SAME * min(len(held), len(other)) for other in seen)
            if held and is_new and is_about(asked, evidence[at], calibration=calibration):
                seen.append(held)
                mine.append(Point(_score(asked, held, evidence[at]), evidence[at].text, (at,), number))
        points += sorted(mine, key=lambda point: (-point.score, point.evidence))[: bounds.points]
    chosen = best_points(points, bounds.report_tokens)
    paragraphs: dict[int, list[Point]] = {}
    for point in chosen:
        paragraphs.setdefault(point.batch, []).append(point)
    shown = list(paragraphs.values())[: bounds.paragraphs]
    left_out = sum(point.score > 0 for point in points) - len(chosen)
    answer = joined(question, [[evidence[point.evidence[0]] for point in paragraph] for paragraph in shown])
    return replace(answer, left_out=left_out)


def _score(asked: set[str], held: set[str], item: Evidence) -> float:
    reranked = item.why.get("rerank")
    share = reranked if isinstance(reranked, float) else len(asked & held) / max(len(asked), 1)
    return 100 * min(max(share, 0.0), 1.0)


def chat_report(
    question: str,
    evidence: Sequence[Evidence],
    *,
    model: ChatModel,
    bounds: ReportBounds | None = None,
    usage: Usage | None = None,
) -> Answer:
    """A report by a chat model: one call for each batch of evidence extracts points, then one call writes the report.

    An executor makes the calls for points concurrently, within its limit. The report does not depend on the order of the replies.

    The points are sorted by score, cut at ``report_tokens``, and arranged with the best first and last. Citations are checked and
    renumbered as in :func:`hlgraph.answer.writer.chat_answer`. Without evidence, or without a point above 0, the answer says that
    the corpus holds none.

    Parameters
    ----------
    question : text of the question
    evidence : best first; the pieces of one community, as the strategy ``global`` names it, are read together, with other
        communities where they fit
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
    ModelAnswerError : the last reply is empty

    References
    ----------
    ToPG, section 2.3.3, steps 6 and 7.
    """
    bounds = bounds or ReportBounds()
    writer = Writer(model=model, max_tokens=bounds.max_tokens, usage=usage)
    return outcome(telling_report(question, evidence, writer=writer, bounds=bounds))


def telling_report(
    question: str, evidence: Sequence[Evidence], *, writer: Writer, bounds: ReportBounds
) -> Telling[Answer]:
    """:func:`chat_report` as a generator: yields the text as it arrives where the writer streams; points are not yielded.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    writer : the chat model and how it is asked
    bounds : limits

    Returns
    -------
    Generator
        Its return value is the answer.
    """
    shown = batches(evidence, tokens=bounds.batch_tokens)
    fits = [fitted([evidence[at] for at in batch], bounds.batch_tokens, places=batch) for batch in shown]
    cut = sum(fit.cut for fit in fits)
    replies = writer.ask_each(
        "points", [{"evidence": fit.text, "question": delimited("question", question)} for fit in fits]
    )
    points: list[Point] = []
    for number, (batch, reply) in enumerate(zip(shown, replies, strict=True)):
        points += points_in(said(reply.text), batch, number=number)
    chosen = best_at_the_ends(best_points(points, bounds.report_tokens))
    if not chosen:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    told = "\n".join(f"{point.text} {''.join(f'[{at + 1}]' for at in point.evidence)}" for point in chosen)
    values = {"points": delimited("points", told), "question": delimited("question", question)}
    known = {at for point in chosen for at in point.evidence}
    answer = yield from telling_reply(Asked("report", question, values), evidence, writer=writer, known=known)
    left_out = len({at for point in points if point.score > 0 for at in point.evidence} - known)
    return replace(answer, made_by=made_by(writer, "points", "report"), left_out=left_out, cut=cut)


def points_in(reply: str, batch: Sequence[int], *, number: int) -> list[Point]:
    r"""The points of a reply: lines with a score, a bar, a text and a citation of the batch; other lines are ignored.

    Parameters
    ----------
    reply : text of the model, without thoughts
    batch : places in the evidence that may be cited, from 0
    number : index of the batch

    Returns
    -------
    list
        In the order of the lines; scores above 100 become 100.

    Examples
    --------
    >>> points_in("80 | Marl holds water. [1][9]\nSo it is.\n250 | Much. [2]\n5 | No source.", [0, 1], number=0)
    [Point(score=80.0, text='Marl holds water.', evidence=(0,), batch=0), Point(score=100.0, text='Much.', evidence=(1,), batch=0)]
    """
    found: list[Point] = []
    for line in reply.splitlines():
        match = _POINT.match(line)
        if match is None:
            continue
        cited = [each - 1 for mark in CITED.finditer(match["text"]) for each in named_numbers(mark[1])]
        there = tuple(dict.fromkeys(at for at in cited if at in set(batch)))
        text = CITED.sub("", match["text"]).strip()
        if there and text:
            found.append(Point(min(float(match["score"]), 100.0), text, there, number))
    return found
