"""The terms of a text for near-duplicate detection: normalised numbers, no function words, lemmas."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from importlib.util import find_spec
from itertools import combinations

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
_UNUSUAL = _CONTRACTIONS.keys() | _NUMBER_WORDS.keys()
_PERCENT = ("percent", "pct")
# Folding would join these digits to the number before them: 10² would become 102, and 1½ would become 11/2.
_JOINED = re.compile("[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u218b\u2460-\u249b]")
_WORD = re.compile(r"[^\W\d_]\w*")
_ASCII_WORD = re.compile(r"[a-zA-Z]\w*", re.ASCII)  # finds what _WORD finds in ASCII text, faster
_MARK = "#"
_MOST_COMPARED = 1_000  # twice the number of pairs of texts that are compared one by one


@dataclass(frozen=True)
class Terms:
    """The terms of one text. A term that begins with ``#`` is a number.

    Attributes
    ----------
    spelled : all terms in order, before words are reduced to lemmas
    names : the terms that are capitalised after the first word of the text
    has_function_words_only : the terms are all words of the text, and stay as they are
    """

    spelled: tuple[str, ...]
    names: frozenset[str]
    has_function_words_only: bool = False

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All terms, in order; computed when they are first needed, since lemmas take most of the time."""
        if self.has_function_words_only:
            return self.spelled
        return tuple(word if word in self.names or word[0] == _MARK else _lemma(word) for word in self.spelled)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The normalised numbers, in order."""
        return tuple(term for term in self.spelled if term[0] == _MARK)


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
    is_ascii = text.isascii()
    parted = text if is_ascii else _JOINED.sub(r" \g<0>", text)
    found_words = (_ASCII_WORD if is_ascii else _WORD).findall(parted)[1:]
    names = frozenset(words(" ".join({word for word in found_words if word[0].isupper()})))
    found: list[str] = []
    at = 0
    for number in numbers(parted):
        found.extend(_words(parted[at : number.start]))
        found.append(_MARK + number.text)
        at = number.end
    found.extend(_words(parted[at:]))
    return Terms(tuple(found or words(text)), names, has_function_words_only=not found)


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


def may_repeat(found: Sequence[Terms]) -> bool:
    """Whether any two texts have the same numbers and names in the same order, as near-duplicates do.

    Most evidence has no such pair, and this takes a fraction of the time of cosines. With many texts of equal numbers, where
    comparing all pairs would take longer, the result is True.

    Parameters
    ----------
    found : the terms of the texts

    Returns
    -------
    bool
        False: no text is a near-duplicate of another.
    """
    alike: defaultdict[tuple[str, ...], list[Terms]] = defaultdict(list)
    for item in found:
        alike[item.numbers].append(item)
    if sum(len(items) ** 2 for items in alike.values()) > _MOST_COMPARED:
        return True
    return any(says_the_same_order(*pair) for items in alike.values() for pair in combinations(items, 2))


def _only(found: tuple[str, ...], names: frozenset[str]) -> list[str]:
    return [word for word in found if word in names]


def _words(text: str) -> Iterator[str]:
    waiting: Decimal | None = None  # a number word: the next word may be its scale
    for word in words(text):
        if waiting is None and word in _FUNCTION_WORDS:  # the most frequent cases first
            continue
        if waiting is None and word not in _UNUSUAL and not word.endswith("n't"):
            yield word
            continue
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
            yield word
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
