"""A report on a broad question: points from each community of the evidence, scored, then written up with citations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from hlgraph.answer.chat import checked, named_numbers, numbered
from hlgraph.answer.extractive import NOT_FOUND, is_about
from hlgraph.errors import InputError, ModelAnswerError
from hlgraph.models.executor import asking_about
from hlgraph.models.ledger import Purpose
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.seams import ChatModel
from hlgraph.models.usage import Usage
from hlgraph.read.content import clean
from hlgraph.records import Answer, Citation, Evidence
from hlgraph.text import content_words, count_tokens, words

_PROMPTS = Path(__file__).parent / "prompts"
_STEPS = ("points", "report")
_NOT_THERE = "NOT IN THE CORPUS"
_MAX_TOKENS = 4096
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_POINT = re.compile(r"^[\s*•-]*\(?(?P<score>\d{1,3})(?:\s*/\s*100)?\)?\s*\|\s*(?P<text>.*\S)\s*$")
_CITED = re.compile(r"\s*\[(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)\]")
_SAME = 0.8


@dataclass(frozen=True, slots=True)
class ReportBounds:
    """How much is read and written; the defaults are the paper's.

    Attributes
    ----------
    batch_tokens : of evidence for one intermediate answer (paper: max_tokens_community_chunks 8,000)
    report_tokens : of points that the report is written from (paper: max_tokens_report 8,000)
    points : of one community, without a model (default 3)
    paragraphs : of a report without a model (default 8)
    max_tokens : of one reply of the model
    """

    batch_tokens: int = 8_000
    report_tokens: int = 8_000
    points: int = 3
    paragraphs: int = 8
    max_tokens: int = _MAX_TOKENS

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("batch_tokens", "report_tokens", "points", "paragraphs", "max_tokens"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")


class Point(NamedTuple):
    """An intermediate answer.

    Attributes
    ----------
    score : how much it helps, from 0 to 100
    evidence : which pieces it rests on, as places in the evidence, from 0
    batch : the number of the batch, or of the community, that it is from, from 0
    """

    score: float
    text: str
    evidence: tuple[int, ...]
    batch: int


def communities(evidence: Sequence[Evidence]) -> list[list[int]]:
    """Places in the evidence by community (``why["community"]``), in the order of the best piece of each.

    Pieces that name no community share the one of their source.
    """
    groups: dict[str, list[int]] = {}
    for at, item in enumerate(evidence):
        community = item.why.get("community")
        groups.setdefault(f"source {item.source.id}" if community is None else f"community {community}", []).append(at)
    return list(groups.values())


def batches(evidence: Sequence[Evidence], *, tokens: int) -> list[list[int]]:
    """Communities one behind the other, as many in a batch as fit; one that fits in no batch is divided.

    A batch holds at most ``tokens``, or one piece.
    """
    found: list[list[int]] = [[]]
    left = tokens
    for members in communities(evidence):
        costs = [count_tokens(evidence[at].text) for at in members]
        if sum(costs) > left and found[-1]:
            found.append([])
            left = tokens
        for at, cost in zip(members, costs, strict=True):
            if cost > left and found[-1]:
                found.append([])
                left = tokens
            found[-1].append(at)
            left -= cost
    return [batch for batch in found if batch]


def best_points(points: Sequence[Point], tokens: int) -> list[Point]:
    """The points above 0 by score, as many as fit; ties in their order. One that does not fit is passed over.

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


def best_at_the_ends(points: Sequence[Point]) -> list[Point]:
    """Points that come best first, so ordered that the best stand first and last and the worst in the middle.

    References
    ----------
    ToPG, section 2.3.3, steps 6-7. Liu et al., Lost in the Middle, 2024.

    Examples
    --------
    >>> [point.text for point in best_at_the_ends([Point(9 - at, str(at), (), 0) for at in range(5)])]
    ['0', '2', '4', '3', '1']
    """
    return [*points[::2], *reversed(points[1::2])]


def extractive_report(question: str, evidence: Sequence[Evidence], *, bounds: ReportBounds | None = None) -> Answer:
    """A report without a chat model: the best statements of each community as a paragraph, each with its citation.

    A piece counts when it shares a content word with the question, or its cosine to it is at least 0.25; its score is that
    of the reranker, from 0 to 1, times 100, else the share of the question's content words that it has. Paragraphs are in
    the order of their best point; near-duplicates are left out.

    Parameters
    ----------
    evidence : best first
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
            if held and is_new and is_about(asked, evidence[at]):
                seen.append(held)
                mine.append(Point(_score(asked, held, evidence[at]), evidence[at].text, (at,), number))
        points += sorted(mine, key=lambda point: (-point.score, point.evidence))[: bounds.points]
    chosen = best_points(points, bounds.report_tokens)
    paragraphs: dict[int, list[Point]] = {}
    for point in chosen:
        paragraphs.setdefault(point.batch, []).append(point)
    shown = list(paragraphs.values())[: bounds.paragraphs]
    if not shown:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    flat = [point for paragraph in shown for point in paragraph]
    citations = tuple(Citation(number, evidence[point.evidence[0]]) for number, point in enumerate(flat, 1))
    places = {point.evidence: number for number, point in enumerate(flat, 1)}
    text = "\n\n".join(
        " ".join(f"{' '.join(point.text.split())} [{places[point.evidence]}]" for point in paragraph)
        for paragraph in shown
    )
    return Answer(question, text, citations, is_supported=True)


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
    """A report by a chat model: points from each batch of evidence, one call each, then one call that writes it up.

    The points are ordered by their scores and cut at ``report_tokens``, and the best stand first and last. Citations are
    checked and numbered anew as :func:`hlgraph.answer.chat.chat_answer` does. Without evidence, or without a point above 0,
    the answer says that the corpus holds none.

    Parameters
    ----------
    evidence : best first; those of one community, as the strategy ``global`` names it, are read together, with
        others where they fit
    usage : counts what the calls cost

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : as the model does
    ModelAnswerError : the last reply says nothing

    References
    ----------
    ToPG, section 2.3.3, steps 6 and 7.
    """
    bounds = bounds or ReportBounds()
    points: list[Point] = []
    for number, batch in enumerate(batches(evidence, tokens=bounds.batch_tokens)):
        values = {
            "evidence": numbered([evidence[at] for at in batch], numbers=[at + 1 for at in batch]),
            "question": delimited("question", question),
        }
        points += points_in(_ask(model, "points", values, bounds.max_tokens, usage), batch, number=number)
    chosen = best_at_the_ends(best_points(points, bounds.report_tokens))
    if not chosen:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    told = "\n".join(f"{point.text} {''.join(f'[{at + 1}]' for at in point.evidence)}" for point in chosen)
    values = {"points": delimited("points", told), "question": delimited("question", question)}
    text = clean(_ask(model, "report", values, bounds.max_tokens, usage)).strip()
    if not text:
        raise ModelAnswerError(f"{model.fingerprint}: the report is empty; ask it another way, or another model")
    made_by = f"{read_prompt(_PROMPTS / 'report.md').version}+{model.fingerprint}"
    known = {at for point in chosen for at in point.evidence}
    made_by = "+".join((*(read_prompt(_PROMPTS / f"{name}.md").version for name in _STEPS), model.fingerprint))
    answer = checked(question, text, evidence=evidence, known=known)
    if not answer.citations and " ".join(words(text)).upper().startswith(_NOT_THERE):
        return Answer(question, NOT_FOUND, (), is_supported=False, made_by=made_by)
    return replace(answer, made_by=made_by)


def points_in(reply: str, batch: Sequence[int], *, number: int) -> list[Point]:
    """The points of a reply: lines with a score, a bar, a text and a citation of the batch; all else is left out.

    Examples
    --------
    >>> points_in("80 | Marl holds water. [1][9]\\nSo it is.\\n250 | Much. [2]\\n5 | No source.", [0, 1], number=0)
    [Point(score=80.0, text='Marl holds water.', evidence=(0,), batch=0), Point(score=100.0, text='Much.', evidence=(1,), batch=0)]
    """
    found: list[Point] = []
    for line in reply.splitlines():
        match = _POINT.match(line)
        if match is None:
            continue
        cited = [each - 1 for mark in _CITED.finditer(match["text"]) for each in named_numbers(mark[1])]
        there = tuple(dict.fromkeys(at for at in cited if at in set(batch)))
        text = _CITED.sub("", match["text"]).strip()
        if there and text:
            found.append(Point(min(float(match["score"]), 100.0), text, there, number))
    return found


def _ask(model: ChatModel, name: str, values: dict[str, str], max_tokens: int, usage: Usage | None) -> str:
    prompt = read_prompt(_PROMPTS / f"{name}.md")
    asked = asking_about(model, Purpose(stage="answer", prompt=prompt.version))
    completion = asked.complete(prompt.system, prompt.filled(values), max_tokens=max_tokens)
    if usage is not None:
        usage.add(completion)
    return _THOUGHTS.sub("", completion.text)
