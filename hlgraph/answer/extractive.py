"""Answers without a chat model: the best evidence itself, each sentence with its citation."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.algorithms.calibration import usual_cosine
from hlgraph.records import Answer, AnswerSentence, Calibration, Citation, Evidence, Kind
from hlgraph.text import content_words

NOT_FOUND = "Nothing in the corpus answers this."
_LEAST_COSINE = 0.25
_SAME = 0.8


def extractive_answer(
    question: str, evidence: Sequence[Evidence], *, sentences: int = 5, calibration: Calibration | None = None
) -> Answer:
    """The best pieces of evidence as sentences with ``[n]``, without near-duplicates.

    A piece is used when it shares a content word with the question, or its cosine to the question is at least 0.25, fitted to
    the scale of the corpus. Without such a piece the answer says that the corpus holds none.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    sentences : maximum number of pieces (default 5)
    calibration : the scale of the cosines of the corpus; None: that of the shipped embedder

    Returns
    -------
    Answer
        ``NOT_FOUND`` where no piece is about the question.
    """
    asked = set(content_words(question))
    chosen: list[Evidence] = []
    seen: list[set[str]] = []
    for item in evidence:
        held = set(content_words(item.text))
        if not held or not is_about(asked, item, calibration=calibration):
            continue
        if any(len(held & other) >= _SAME * min(len(held), len(other)) for other in seen):
            continue
        chosen.append(item)
        seen.append(held)
        if len(chosen) == sentences:
            break
    return joined(question, [chosen] if chosen else [])


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
