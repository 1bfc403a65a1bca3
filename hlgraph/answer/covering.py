"""Chooses the fewest pieces of evidence that cover a question, the one that answers it first; pure, by words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.answer.answer_kind import Expected, asks_for_several, expected, has_expected
from hlgraph.answer.support import Wording, telling_words
from hlgraph.records import Evidence
from hlgraph.text import content_words, fold

MOST = 5
"""Maximum number of pieces of an answer without a model."""

LEAST_GAIN = 0.2
"""Share of the question's weight that a further piece must cover anew. A piece with the expected kind of answer scores as much."""

_HOP = 0.3  # score of a piece about something that another chosen piece names
_FAVOUR = 0.1  # score of the first rank, and of a sentence that says what its subject is
_CLOSE = 0.8  # a piece that covers nothing new is an alternative where its score is at least this share of the best
_OPEN = 3  # and the answer has fewer pieces than this
_SAME = 0.8
_LEAST_SHARE = 0.6
_DEFINES = re.compile(r"(?:\S+\s+){1,8}?(?:\([^)]*\)\s+)?(?:is|was|are|were)\s+(?:an?|the|one)\b")
_ASIDE = re.compile(r"\(.*?\)|\s[-–—|]\s.*")


class Chosen(NamedTuple):
    """The pieces of an answer.

    Attributes
    ----------
    places : their places in the evidence, the answering one first
    uncovered : words of the question that none of them has, in order
    is_covered : they have all names of the question and at least 60 % of its content words, and, for a question for a time or a
        number, one that the question does not have
    has_kind : one of them has the kind of answer that the question asks for
    """

    places: tuple[int, ...]
    uncovered: tuple[str, ...]
    is_covered: bool
    has_kind: bool


def chosen(
    question: str, evidence: Sequence[Evidence], *, relevance: Sequence[float | None], most: int = MOST
) -> Chosen:
    """The fewest pieces that cover what is asked, greedily.

    With the words ``w`` of the question and the pieces ``p``, ``idf(w) = ln(1 + (n - df(w) + 0.5) / (df(w) + 0.5))`` over the
    ``n`` pieces weighs the words: what all pieces have tells none of them apart. A piece scores its relevance, plus 0.2 where it
    has the expected kind of answer (:func:`hlgraph.answer.answer_kind.expected`), plus 0.1 where it says what its subject is ("X is
    a ..."), plus ``0.1 / (1 + rank)``.

    1. The piece with the highest score is chosen.
    2. The next one is that with the highest sum of score and gain: the weight of the words that it covers first, and 0.2 where it
       is the first one about something that a chosen piece names and the question does not (or the first to name what a chosen
       piece is about): the second hop of a question. A gain below 0.2 adds nothing.
    3. Where nothing adds anything, the next piece whose score is at least 80 % of the best is added as an alternative: up to three
       pieces where words of the question are still uncovered, up to ``most`` where it asks for several things.
    4. Of the chosen pieces the one with the highest score comes first, where a piece of the expected kind at the end of a hop
       scores 0.3 more.

    Takes time quadratic in the number of pieces, linear in their length.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    relevance : of each piece to the question, from 0 to 1; None: the share of the question's words that it has
    most : maximum number of pieces (default 5)

    Returns
    -------
    Chosen
        No places without evidence. Ties go to the better rank.
    """
    names, others = telling_words(question)
    words = [*names, *others]
    if not evidence:
        return Chosen((), tuple(words), is_covered=False, has_kind=False)
    pool = _Pool(question, evidence, words=words, relevance=relevance)
    places = pool.fewest(most)
    around = [_places_of(evidence[at]) for at in places]
    wording = Wording((evidence[at].text for at in places), places=(part for parts in around for part in parts))
    uncovered = tuple(word for word in words if not wording.has(word))
    share = 1 - len(uncovered) / len(words) if words else 1.0
    has_kind = bool(pool.has_kind[list(places)].any())
    must_have = pool.kind in (Expected.TIME, Expected.NUMBER)
    is_covered = not set(uncovered) & set(names) and share >= _LEAST_SHARE and (has_kind or not must_have)
    return Chosen(places, uncovered, is_covered, has_kind or not must_have)


class _Pool:
    """The pieces with what the choice needs of each."""

    def __init__(
        self, question: str, evidence: Sequence[Evidence], *, words: Sequence[str], relevance: Sequence[float | None]
    ) -> None:
        bodies = [_body(item) for item in evidence]
        has = np.array(
            [[held.has(word) for word in words] for held in (Wording([text]) for text in bodies)], dtype=bool
        )
        self.has = has.reshape(len(evidence), len(words))
        having = self.has.sum(axis=0)
        idf = np.log1p((len(evidence) - having + 0.5) / (having + 0.5))
        self.weights = idf / idf.sum() if len(words) else idf
        self.asked = {*map(fold, words), *content_words(question)}
        self.kind, self.is_plural = expected(question), asks_for_several(question)
        self.has_kind = np.array([has_expected(self.kind, text, asked=self.asked) for text in bodies])
        self.said = [set(content_words(item.text)) for item in evidence]
        self.titles = [set(content_words(_ASIDE.sub("", item.source.title))) for item in evidence]
        defines = np.array([_DEFINES.match(text) is not None for text in bodies])
        known = np.array([np.nan if each is None else each for each in relevance])
        rank = 1 / (1 + np.arange(len(evidence)))
        relevant = np.where(np.isnan(known), self.has.mean(axis=1) if len(words) else 0.0, known)
        scores = relevant + LEAST_GAIN * self.has_kind + _FAVOUR * defines + _FAVOUR * rank
        self.scores: NDArray[np.float64] = scores.round(9)

    def fewest(self, most: int) -> tuple[int, ...]:
        """The places of the chosen pieces, the answering one first."""
        places = [self._best(range(len(self.scores)), self.scores)]
        while len(places) < most:
            free = [at for at in range(len(self.scores)) if at not in places and not self._repeats(at, places)]
            covered = self.has[places].any(axis=0)
            is_open = self.is_plural or not covered.all()
            gains = np.zeros(len(self.scores))
            for at in free:
                gains[at] = self.weights[self.has[at] & ~covered].sum()
                if is_open and self._is_new_hop(at, places):
                    gains[at] += LEAST_GAIN
            adding = [at for at in free if gains[at].round(9) >= LEAST_GAIN]
            close = [at for at in free if self.scores[at] >= _CLOSE * self.scores[places[0]]]
            if adding:
                places.append(self._best(adding, (self.scores + gains).round(9)))
            elif close and is_open and (self.is_plural or len(places) < _OPEN):
                places.append(self._best(close, self.scores))
            else:
                break
        ends = [self.has_kind[at] and any(self._leads(one, at) for one in places if one != at) for at in places]
        values = {at: self.scores[at] + _HOP * is_end for at, is_end in zip(places, ends, strict=True)}
        first = max(places, key=lambda at: (round(values[at], 9), -at))
        return (first, *(at for at in places if at != first))

    @staticmethod
    def _best(among: Sequence[int], values: NDArray[np.float64]) -> int:
        return max(among, key=lambda at: (values[at], -at))

    def _repeats(self, at: int, places: Sequence[int]) -> bool:
        held = self.said[at]
        return any(len(held & self.said[one]) >= _SAME * min(len(held), len(self.said[one])) for one in places)

    def _is_new_hop(self, at: int, places: Sequence[int]) -> bool:
        """Whether a piece is the first one about something that a chosen piece names, or the first to name what one is about."""
        if any(self._leads(one, at) for one in places):
            return not any(self.titles[at] == self.titles[one] for one in places)
        subjects = [one for one in places if self._leads(at, one)]
        return any(not any(self._leads(other, one) for other in places) for one in subjects)

    def _leads(self, one: int, other: int) -> bool:
        """Whether ``other`` is about something that ``one`` names, and the question does not."""
        title = self.titles[other]
        return bool(title) and title <= self.said[one] and not title <= self.asked and not title <= self.titles[one]


def _body(item: Evidence) -> str:
    """The text of a piece without its title and heading in front."""
    head, _, rest = item.text.partition(": ")
    place = {word for part in _places_of(item) for word in content_words(part)}
    return rest if rest and set(content_words(head)) <= place else item.text


def _places_of(item: Evidence) -> list[str]:
    return [item.source.title, *item.headings]
