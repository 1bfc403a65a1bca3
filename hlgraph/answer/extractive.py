"""Answers without a chat model: the pieces of evidence that cover the question, each with its citation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hlgraph.algorithms.calibration import usual_cosine
from hlgraph.answer.covering import MOST, chosen
from hlgraph.records import Answer, AnswerSentence, Calibration, Citation, Evidence, Kind
from hlgraph.text import content_words

NOT_FOUND = "Nothing in the corpus answers this."
_LEAST_COSINE = 0.25
_CLOSE, _FAR = 0.55, 0.45


def extractive_answer(
    question: str,
    evidence: Sequence[Evidence],
    *,
    sentences: int = MOST,
    calibration: Calibration | None = None,
    refuse: bool = True,
) -> Answer:
    """The fewest pieces of evidence that cover the question, as sentences with ``[n]``, the answering one first.

    A piece is considered when it shares a content word with the question, or its cosine to the question is at least 0.25, fitted
    to the scale of the corpus; :func:`hlgraph.answer.covering.chosen` chooses among them. The answer is supported where its pieces
    cover the question (all its names, and at least 60 % of its words; a time or a number where one is asked for), or where the
    cosine of one is at least 0.55. It is refused where they do not cover the question and no piece has a cosine of at least 0.45;
    without cosines nothing is refused for this.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    sentences : maximum number of pieces (default 5)
    calibration : the scale of the cosines of the corpus; None: that of the shipped embedder
    refuse : whether a question that is neither covered nor close to any piece is refused (default True)

    Returns
    -------
    Answer
        ``NOT_FOUND`` where no piece is about the question. ``uncovered`` names the words of the question that no piece has.
    """
    asked = set(content_words(question))
    about = [item for item in evidence if content_words(item.text) and is_about(asked, item, calibration=calibration)]
    cosines = [cosine_of(item, calibration) for item in about]
    relevance = [_relevance(item, cosine) for item, cosine in zip(about, cosines, strict=True)]
    found = chosen(question, about, relevance=relevance, most=sentences)
    known = [cosine for cosine in cosines if cosine is not None]
    is_far = bool(known) and max(known) < _FAR
    if not about or (refuse and is_far and not found.is_covered):
        return Answer(question, NOT_FOUND, (), is_supported=False, uncovered=found.uncovered if about else ())
    is_close = found.has_kind and max(cosines[at] or 0.0 for at in found.places) >= _CLOSE
    answer = joined(question, [[about[at] for at in found.places]])
    return replace(answer, is_supported=found.is_covered or is_close, uncovered=found.uncovered)


def _relevance(item: Evidence, cosine: float | None) -> float | None:
    """How relevant the search found a piece, from 0 to 1: by the reranker, else by its cosine; None where neither is known."""
    reranked = item.why.get("rerank")
    found = reranked if isinstance(reranked, float) else cosine
    return None if found is None else min(1.0, max(0.0, found))


def joined(question: str, paragraphs: Sequence[Sequence[Evidence]]) -> Answer:
    """An answer made of pieces of evidence as sentences with ``[n]``, numbered in their order.

    Parameters
    ----------
    question : text of the question
    paragraphs : the pieces of each paragraph

    Returns
    -------
    Answer
        ``NOT_FOUND`` without paragraphs.
    """
    if not paragraphs:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    flat = [item for paragraph in paragraphs for item in paragraph]
    citations = tuple(Citation(number, item) for number, item in enumerate(flat, 1))
    said = tuple(
        AnswerSentence(f"{' '.join(item.evidence.text.split())} [{item.number}]", (item.number,), is_supported=True)
        for item in citations
    )
    parts = iter(said)
    text = "\n\n".join(" ".join(next(parts).text for _ in paragraph) for paragraph in paragraphs)
    return Answer(question, text, citations, is_supported=True, sentences=said)


def is_about(asked: set[str], item: Evidence, *, calibration: Calibration | None = None) -> bool:
    """Whether a piece of evidence is about a question.

    Parameters
    ----------
    asked : content words of the question
    item : the piece
    calibration : see :func:`cosine_of`

    Returns
    -------
    bool
        True where it shares a content word with the question, or its :func:`cosine_of` is at least 0.25.
    """
    return bool(asked & set(content_words(item.text))) or (cosine_of(item, calibration) or 0.0) >= _LEAST_COSINE


def cosine_of(item: Evidence, calibration: Calibration | None = None) -> float | None:
    """The cosine of a piece to the question, as the shipped embedder usually has it; None where the search did not report it.

    Parameters
    ----------
    item : the piece
    calibration : the scale of the cosines of the corpus; None: the cosine is returned as it is
    """
    found = item.why.get("cosine", item.why.get("vector"))
    kind = Kind.STATEMENT if item.statement_id else Kind.CHUNK
    return usual_cosine(found, kind, calibration=calibration) if isinstance(found, float) else None
