"""The terms of a text for finding near-duplicates: numbers in one spelling, no function words, lemmas."""

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


# Fewer than text.STOP_WORDS has: what turns a meaning around ("not", "before", "from", "by", "or", "may") stays a term.
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
# Digits of these would be joined to a number in front of them: 10² would become 102, and 1½ 11/2.
_JOINED = re.compile("[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u218b\u2460-\u249b]")
_WORD = re.compile(r"[^\W\d_]\w*")
_MARK = "#"


class Terms(NamedTuple):
    """The terms of one text in order, and those of them that stand with a capital inside a sentence.

    A term that begins with ``#`` is a number.
    """

    words: tuple[str, ...]
    names: frozenset[str]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers in order, in one spelling."""
        return tuple(term for term in self.words if term.startswith(_MARK))


def terms(text: str) -> Terms:
    """The terms of a text (HLG 4.3.1, step 1).

    Numbers are written one way (:func:`hlgraph.retrieve.evidence.numbers.numbers`), never dropped; those in words count too, to
    twenty. English lemmas, but not of names. A text of function words alone has them as its terms.

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
    """Whether two texts have the same numbers in the same order, and share the order of names.

    TF-IDF knows no order: "Ada beat Ben 3 to 2" and "Ben beat Ada 3 to 2" are equal to it, and among many words it
    hardly sees a changed number.

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
    waiting: Decimal | None = None  # a number in words: what comes next may belong to it
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
        return word  # units and symbols: "m" is no form of "be"
    try:
        from simplemma import lemmatize  # here, as it loads its dictionary
    except ImportError:
        return word
    return lemmatize(word, lang="en").casefold()


def has_lemmas() -> bool:
    """Whether words are brought to their lemmas: the extra ``local`` is installed. Without it a word is its own."""
    return find_spec("simplemma") is not None
