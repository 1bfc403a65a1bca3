"""Whether there is evidence for a question at all, by words alone: the rule by which an answer without a model is refused."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.answer.support import Wording, telling_words
from hlgraph.records import Evidence

LEAST_SUPPORT = 0.45


def support(question: str, evidence: Sequence[Evidence]) -> float:
    """How far evidence speaks of what a question is about, from 0 to 1.

    The mean of two shares: of the names of the question that stand in any piece, its title, its headings or the metadata of
    its source; and of its content words, names among them, that the one best piece has. A question without a name counts by
    its content words in all pieces instead of its names. 0 without evidence.

    Measured with 20 statements by the strategy ``statement``. Questions of MultiHop-RAG to 70 of its articles: below 0.45 are
    5 % of those that the articles answer, 68 % of those whose articles are not among the 70, 51 % of the first ones where
    their own articles are hidden, and 91 % of questions of another set (HotpotQA). Questions of MuSiQue to its passages: 5 %
    of the answerable ones, but only 25 % where the passages that answer them are hidden: what speaks of all the right names
    and does not say what was asked is no gap that words show. A question in another language than the corpus finds its words
    nowhere: there set ``least_support`` to 0.

    Parameters
    ----------
    evidence : what the search found; it need not have any order
    """
    names, others = telling_words(question)
    if not evidence:
        return 0.0
    everything = Wording((item.text for item in evidence), places=(part for item in evidence for part in _places(item)))
    best = max(Wording([item.text], places=_places(item)).share([*names, *others]) for item in evidence)
    return (everything.share(names or others) + best) / 2


def _places(item: Evidence) -> list[str]:
    return [item.source.title, *item.headings, *map(str, item.source.metadata.values())]
