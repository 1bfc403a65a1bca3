"""Whether there is evidence for a question at all: the rule by which an answer without a model is refused."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.answer.extractive import cosine_of
from hlgraph.answer.support import Wording, telling_words
from hlgraph.records import Evidence

LEAST_SUPPORT = 0.5


def is_missing(question: str, evidence: Sequence[Evidence], *, least: float | None = None) -> bool:
    """Whether evidence supports an answer less than this; None: less than 0.5, where its cosines to the question are known.

    Measured with 20 statements by the strategy ``statement`` and the local embedder (all-MiniLM-L6-v2). Questions of
    MultiHop-RAG to 70 of its articles: refused are 1 % of those that the articles answer, 55 % of those whose articles are
    not among the 70, 20 % of the first ones where their own articles are hidden, and 92 % of questions of another set
    (HotpotQA). Questions of MuSiQue to its passages: 2 %, 20 % where their own passages are hidden, and 44 % of another set.
    So what is refused is mostly missing, and what speaks of all the right names without saying what was asked is not seen:
    for that it takes a model that reads.

    Embedders differ in their cosines: where those of all texts lie above 0.5 nothing is refused until ``least`` is raised.

    Parameters
    ----------
    least : from 0 (never) to 1
    """
    if least is None:
        least = LEAST_SUPPORT if any(cosine_of(item) is not None for item in evidence) else 0.0
    return bool(least) and support(question, evidence) < least


def support(question: str, evidence: Sequence[Evidence]) -> float:
    """How far evidence speaks of what a question is about, from 0 to 1: in words, or in meaning, whichever is more.

    In words it is the mean of two shares: of the names of the question that stand in any piece, its title, its headings or
    the metadata of its source; and of its content words, names among them, that the one best piece has. A question without
    a name counts by its content words in all pieces instead of its names. In meaning it is the cosine of the closest piece,
    where the search says it. 0 without evidence.

    Parameters
    ----------
    evidence : what the search found; it need not have any order
    """
    if not evidence:
        return 0.0
    closest = max(cosine_of(item) or 0.0 for item in evidence)
    return min(1.0, max(by_words(question, evidence), closest))


def by_words(question: str, evidence: Sequence[Evidence]) -> float:
    """The part of :func:`support` that words make."""
    names, others = telling_words(question)
    everything = Wording((item.text for item in evidence), places=(part for item in evidence for part in _places(item)))
    best = max(Wording([item.text], places=_places(item)).share([*names, *others]) for item in evidence)
    return (everything.share(names or others) + best) / 2


def _places(item: Evidence) -> list[str]:
    return [item.source.title, *item.headings, *map(str, item.source.metadata.values())]
