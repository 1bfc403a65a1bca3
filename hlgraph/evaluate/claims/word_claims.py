"""Claims by words alone: a sentence is a claim, and a claim follows from a text where one place of the text says its words.

It is a proxy with more misses than a chat model has: it knows no synonyms, and takes no two steps. It is built to be seldom wrong
where it says that a claim follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from hlgraph import progress
from hlgraph.answer.support import Wording, objection, telling_words
from hlgraph.text import content_words, fold, sentences

SHARE = 2 / 3
"""Minimum share of the ordinary words of a claim that a place of the text must have."""

_TOKEN = re.compile(r"\d[\d.,:/-]*\d|\d|[^\W\d_][\w'’-]*")
_BY = re.compile(r"\bby\b", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their|this|these)\b", re.IGNORECASE)
_DATE_GAP = 2
_MARK = re.compile(r"\s*\[\d+\]")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class WordClaims:
    """Splits texts into sentences, and checks by :func:`objection` and the order of names and numbers.

    Examples
    --------
    >>> words = WordClaims()
    >>> words.claims("Mara Quill built the mill [1]. It fell in 1953.")
    ('Mara Quill built the mill.', 'It fell in 1953.')
    >>> told = "The mill of Tessing was built by Mara Quill in 1931, and the bridge in 1932."
    >>> claims = ["Mara Quill built the mill.", "Mara Quill built the mill in 1932.", "Mara Quill never built the mill."]
    >>> words.entailed(claims, told)
    [True, False, False]
    """

    by = "words/1"

    def claims(self, text: str, *, question: str = "") -> tuple[str, ...]:
        """The sentences of a text that have a name, a number or an ordinary word, without citation marks and the question.

        Parameters
        ----------
        text : the text
        question : what it answers, which it may repeat; default: not known
        """
        bare = _MARK.sub("", text)
        found = (bare[start:end] for start, end in sentences(bare))
        return tuple(part for part in found if any(telling_words(part)) and part != question)

    def entailed(self, claims: Sequence[str], text: str) -> list[bool]:
        """For each claim whether a sentence of the text, or two that follow each other, say it.

        Two sentences count as one place where the second begins with a pronoun. A place says a claim if it has all numbers and
        names of the claim and two thirds of its other content words, and denies nothing that the claim asserts, nor the other
        way round. The names must follow each other as in the claim, unless one of both is in the passive (has "by"). No number
        that the claim lacks may stand nearer to its words than those that it has. What contains a claim word for word says it.

        Parameters
        ----------
        claims : the claims
        text : the text
        """
        parts = [text[start:end] for start, end in sentences(text)]
        places = [*parts, *(f"{one} {other}" for one, other in pairwise(parts) if _PRONOUN.match(other))]
        return [any(_says(place, claim) for place in places) for claim in claims]

    def told(self, question: str, answer: str) -> str:
        """See :class:`hlgraph.evaluate.claims.ClaimWay`: two sentences, the answer first, and the answer last."""
        asked = " ".join(question.split()).rstrip("?. ")
        return f"{answer}: {asked}\n\n{asked}: {answer}"

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str) -> list[_Result]:
        """See :class:`hlgraph.evaluate.claims.ClaimWay`; one item after the other."""
        found = []
        for item in items:
            found.append(action(item))
            progress.advance(step)
        return found


def _says(place: str, claim: str) -> bool:
    if " ".join(_tokens(claim)) in " ".join(_tokens(place)):
        return True
    if objection(claim, [place]):
        return False
    held = Wording([place])
    names = [word for word in _TOKEN.findall(claim) if word[0].isupper() and len(word) > 1 and content_words(word)]
    plain = [word for word in telling_words(claim)[1] if not word[0].isdigit()]
    if not all(map(held.has, names)) or held.share(plain) < SHARE:
        return False
    return _has_order(place, claim, names) and _has_numbers(place, claim)


def _has_order(place: str, claim: str, names: Sequence[str]) -> bool:
    """Whether the names of a claim follow each other in a place as in the claim, or one of both is in the passive."""
    if bool(_BY.search(place)) != bool(_BY.search(claim)):
        return True
    held = _tokens(" ".join(word for word in _TOKEN.findall(place) if word[0].isupper()))
    rest = iter(held)
    return all(name in rest for name in _tokens(" ".join(names)) if name in held)


def _has_numbers(place: str, claim: str) -> bool:
    """Whether no number of a place that the claim lacks stands nearer to the words of the claim than each number that it has."""
    asked, held = _tokens(claim), _tokens(place)
    numbers = {word for word in asked if word[0].isdigit()}
    content = {word for word in asked if word not in numbers and content_words(word)}
    spots = [spot for spot, word in enumerate(held) if word in content]
    groups = _groups(held)
    others = [_distance(spots, group) for group in groups if not numbers & {held[at] for at in group}]
    for number in numbers & set(held):  # the objection compares other spellings
        own = [_distance(spots, group) for group in groups if number in {held[at] for at in group}]
        if min(own) > min(others, default=len(held)):
            return False
    return True


def _groups(words: Sequence[str]) -> list[list[int]]:
    """Places of the numbers, those with at most one word between them together: a date is one group."""
    found: list[list[int]] = []
    for at in (at for at, word in enumerate(words) if word[0].isdigit()):
        if found and at - found[-1][-1] <= _DATE_GAP:
            found[-1].append(at)
        else:
            found.append([at])
    return found


def _distance(spots: Sequence[int], group: Sequence[int]) -> int:
    return min((abs(spot - at) for spot in spots for at in group), default=0)


def _tokens(text: str) -> list[str]:
    return [fold(word).removesuffix("'s") for word in _TOKEN.findall(text)]
