"""Decides whether the evidence covers a question at all; if not, an answer without a model is refused."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.answer.extractive import cosine_of
from hlgraph.answer.support import Wording, telling_words
from hlgraph.records import Calibration, Evidence

LEAST_SUPPORT = 0.5


def is_missing(
    question: str,
    evidence: Sequence[Evidence],
    *,
    least: float | None = None,
    calibration: Calibration | None = None,
) -> bool:
    """Whether evidence supports an answer less than ``least``.

    Measured with 20 statements by the strategy ``statement`` and the local embedder (all-MiniLM-L6-v2):

    - 70 articles of MultiHop-RAG: 1 % of the questions that they answer are refused, and 20 % of these once their own articles
      are hidden; 55 % of the questions whose articles are not among the 70; 92 % of the questions of another set (HotpotQA).
    - Passages of MuSiQue: 2 % of its questions are refused, 20 % once their own passages are hidden, and 44 % of the questions
      of another set.

    So a refused question is mostly one without an answer in the corpus. Evidence that has all the right names but does not say
    what was asked is not detected; that takes a model.

    The scale of cosines depends on the embedder, so they are counted as the shipped embedder usually has them. Without a
    calibration they are not: where those of all texts lie above 0.5, nothing is refused until ``least`` is raised.

    Parameters
    ----------
    question : text of the question
    evidence : in any order
    least : minimum :func:`support`, from 0 (never refuse) to 1; None: 0.5 where cosines to the question are known, else 0
    calibration : the scale of the cosines of the corpus; None: that of the shipped embedder

    Returns
    -------
    bool
        True where the answer is to be refused.
    """
    if least is None:
        least = LEAST_SUPPORT if any(cosine_of(item) is not None for item in evidence) else 0.0
    return bool(least) and support(question, evidence, calibration=calibration) < least


def support(question: str, evidence: Sequence[Evidence], *, calibration: Calibration | None = None) -> float:
    """How far evidence covers what a question is about, from 0 to 1: by words or by meaning, whichever is higher.

    By words it is the mean of two shares: the share of the question's names that occur in any piece, its title, its headings or
    the metadata of its source; and the share of the question's content words, names included, that the single best piece has. For
    a question without a name, its content words replace the names in the first share. By meaning it is the cosine of the closest
    piece, where the search reports it.

    Parameters
    ----------
    question : text of the question
    evidence : in any order
    calibration : see :func:`is_missing`

    Returns
    -------
    float
        0 without evidence.
    """
    if not evidence:
        return 0.0
    closest = max(cosine_of(item, calibration) or 0.0 for item in evidence)
    return min(1.0, max(by_words(question, evidence), closest))


def by_words(question: str, evidence: Sequence[Evidence]) -> float:
    """The part of :func:`support` that comes from words.

    Parameters
    ----------
    question : text of the question
    evidence : at least one piece

    Returns
    -------
    float
        From 0 to 1.
    """
    names, others = telling_words(question)
    everything = Wording((item.text for item in evidence), places=(part for item in evidence for part in _places(item)))
    best = max(Wording([item.text], places=_places(item)).share([*names, *others]) for item in evidence)
    return (everything.share(names or others) + best) / 2


def _places(item: Evidence) -> list[str]:
    return [item.source.title, *item.headings, *map(str, item.source.metadata.values())]
