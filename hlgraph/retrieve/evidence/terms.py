"""The terms of a text for near-duplicate detection: normalised numbers, no function words, lemmas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

from hlgraph.retrieve.evidence.numbers import SCALES, numbers, spelled
from hlgraph.text import words


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Fewer than text.STOP_WORDS: words that change the meaning ("not", "before", "from", "by", "or", "may") stay terms.
_FUNCTION_WORDS = frozenset(
    _listed("""a an the this that these those it its itself there here is are was were be been being am has have had having do
    does did doing done to of in on at for with and as than then so such also very just too which who whom whose what
    when where how""")
)
_CONTRACTIONS = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
}
_NUMBER_WORDS = {
    word: Decimal(value)
    for value, word in enumerate(
        _listed("""zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty""")
    )
}
_PERCENT = ("percent", "pct")
# Folding would join these digits to the number before them: 10² would become 102, and 1½ would become 11/2.
_JOINED = re.compile("[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u218b\u2460-\u249b]")
_WORD = re.compile(r"[^\W\d_]\w*")
_MARK = "#"


class Terms(NamedTuple):
    """The terms of one text. A term that begins with ``#`` is a number.

    Attributes
    ----------
    words : all terms, in order
    names : the terms that are capitalised after the first word of the text
    """

    words: tuple[str, ...]
    names: frozenset[str]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The normalised numbers, in order."""
        return tuple(term for term in self.words if term.startswith(_MARK))


def terms(text: str) -> Terms:
    """The terms of a text (HLG 4.3.1, step 1).

    Numbers are normalised (:func:`hlgraph.retrieve.evidence.numbers.numbers`) and never dropped; number words up to twenty count
    as numbers. Words are reduced to English lemmas, except names. A text that consists of function words keeps them as its terms.

    Examples
    --------
    >>> terms("The ship carried 1,000 crates.").words == terms("Ships carried 1000 crates").words
    True
    >>> terms("It rose by 5 percent to $3.50, not 12.").words
    ('rose', 'by', '#5%', '#$3.5', 'not', '#12')
    """
    parted = text if text.isascii() else _JOINED.sub(r" \g<0>", text)
    capitals = {word for word in _WORD.findall(parted)[1:] if word[0].isupper()}
    names = frozenset(words(" ".join(capitals)))
    found: list[str] = []
    at = 0
    for number in numbers(parted):
        found.extend(_words(parted[at : number.start], names))
        found.append(_MARK + number.text)
        at = number.end
    found.extend(_words(parted[at:], names))
    return Terms(tuple(found or words(text)), names)


def says_the_same_order(one: Terms, other: Terms) -> bool:
    """Whether two texts have the same numbers in the same order, and the same names in the same order.

    TF-IDF ignores order: "Ada beat Ben 3 to 2" and "Ben beat Ada 3 to 2" are equal to it. In a long text a changed number hardly
    changes the cosine.

    Parameters
    ----------
    one, other : the terms of the two texts; a word that is a name in either counts as a name in both

    Returns
    -------
    bool
        True where both orders agree.

    Examples
    --------
    >>> says_the_same_order(terms("Ada beat Ben."), terms("Ben beat Ada."))
    False
    >>> says_the_same_order(terms("In 1953 a flood hit Ombry."), terms("A flood hit Ombry in 1953."))
    True
    """
    names = one.names | other.names
    return one.numbers == other.numbers and _only(one.words, names) == _only(other.words, names)


def _only(found: tuple[str, ...], names: frozenset[str]) -> list[str]:
    return [word for word in found if word in names]


def _words(text: str, names: frozenset[str]) -> Iterator[str]:
    waiting: Decimal | None = None  # a number word: the next word may be its scale
    for word in words(text):
        if waiting is not None:
            yield _MARK + spelled(waiting.scaleb(SCALES.get(word, 0))) + ("%" if word in _PERCENT else "")
            waiting = None
            if word in SCALES or word in _PERCENT:
                continue
        if word in _NUMBER_WORDS:
            waiting = _NUMBER_WORDS[word]
        elif word in _CONTRACTIONS:
            yield from _CONTRACTIONS[word]
        elif word.endswith("n't"):
            yield "not"  # the rest of it is an auxiliary verb
        elif word not in _FUNCTION_WORDS:
            yield word if word in names else _lemma(word)
    if waiting is not None:
        yield _MARK + spelled(waiting)


@lru_cache(maxsize=50_000)
def _lemma(word: str) -> str:
    if len(word) < 3 or word.isdigit():
        return word  # units and symbols: "m" is not a form of "be"
    try:
        from simplemma import lemmatize  # imported here because it loads its dictionary
    except ImportError:
        return word
    return lemmatize(word, lang="en").casefold()


def has_lemmas() -> bool:
    """Whether words are lemmatised: the extra ``local`` is installed. Without it, every word is its own lemma."""
    return find_spec("simplemma") is not None
