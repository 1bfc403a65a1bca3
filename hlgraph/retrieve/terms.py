"""The terms of a text for finding near-duplicates: numbers in one spelling, no function words, lemmas."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

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
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_GAPS = "\u00a0\u2009\u202f"  # spaces that hold the groups of one number together
_CURRENCIES = "$€£¥₹"
_NUMBER = re.compile(
    rf"(?P<first>[{_CURRENCIES}](?=[-\u2212]))?(?:(?<![^\s({_CURRENCIES}])(?P<sign>[-\u2212]))?"
    rf"(?P<before>[{_CURRENCIES}]\s?)?(?<!\w)"
    rf"(?:(?P<digits>\.?\d(?:[\d.,{_GAPS}]*\d)?)|(?P<word>{'|'.join(_NUMBER_WORDS)})\b)"
    rf"(?:\s(?P<scale>{'|'.join(_SCALES)})\b)?"
    rf"(?:\s?(?P<percent>%|(?:percent|per\ cent|pct)\b)|\s?(?P<after>[{_CURRENCIES}])(?!\d))?",
    re.IGNORECASE,
)
_COMMA_GROUPS = re.compile(rf"\d{{1,3}}(?:[,{_GAPS}]\d{{3}})+(?:\.\d+)?")
_DOT_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?")
_COMMA_DECIMAL = re.compile(r"\d+,(?:\d{1,2}|\d{4,})")
_PLAIN = re.compile(r"\d+|\d*\.\d+")
_THREE_DECIMALS = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # thousands in one language, decimals in another
_MOST_DIGITS = 25  # as many as Decimal keeps
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

    Numbers are written one way, never dropped: ``1,000`` as ``1000``, ``3.50`` as ``3.5``, ``three million`` as
    ``3000000``; sign, currency and percent are part of them. Digits that are no quantity (``007``, ``1.2.3``) and what
    could be read two ways (``1.000``) stay as they are. English lemmas, but not of names. A text of function words alone
    has them as its terms.

    Examples
    --------
    >>> terms("The ship carried 1,000 crates.").words == terms("Ships carried 1000 crates").words
    True
    >>> terms("It rose by 5 percent to $3.50, not 12.").words
    ('rose', 'by', '#5%', '#$3.5', 'not', '#12')
    """
    # 10² and 1½ would become 102 and 11/2 by compatibility.
    parted = "".join(f" {each}" if unicodedata.category(each) == "No" else each for each in text)
    capitals = [match[0] for at, match in enumerate(_WORD.finditer(parted)) if at and match[0][0].isupper()]
    names = frozenset(word for capital in capitals for word in words(capital))
    found: list[str] = []
    at = 0
    for match in _NUMBER.finditer(parted):
        found.extend(_words(parted[at : match.start()], names))
        found.append(_MARK + _number(match))
        at = match.end()
    found.extend(_words(parted[at:], names))
    return Terms(tuple(found or words(text)), names)


def quantities(text: str) -> list[str]:
    """The numbers of a text in order, in one spelling, without sign, unit, scale and currency.

    Examples
    --------
    >>> quantities("It rose from 1,000 to $3.50 million.")
    ['1000', '3.5']
    """
    values = (_value(match["digits"]) for match in _NUMBER.finditer(text) if match["digits"])
    return [f"{value.normalize():f}" if isinstance(value, Decimal) else value for value in values]


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
    for word in words(text):
        if word in _CONTRACTIONS:
            yield from _CONTRACTIONS[word]
        elif word.endswith("n't"):
            yield "not"  # the rest of it is an auxiliary verb
        elif word not in _FUNCTION_WORDS:
            yield word if word in names else _lemma(word)


@lru_cache(maxsize=50_000)
def _lemma(word: str) -> str:
    if len(word) < 3 or word.isdigit():
        return word  # units and symbols: "m" is no form of "be"
    from simplemma import lemmatize  # here, as it loads its dictionary

    return lemmatize(word, lang="en").casefold()


def _number(match: re.Match[str]) -> str:
    """One spelling of a number that was found."""
    word = match["word"]
    value = _NUMBER_WORDS[word.lower()] if word else _value(match["digits"])
    if match["scale"] and isinstance(value, Decimal):
        value = value.scaleb(_SCALES[match["scale"].lower()])
    spelled = f"{value.normalize():f}" if isinstance(value, Decimal) else value
    if match["scale"] and not isinstance(value, Decimal):
        spelled += match["scale"].lower()
    currency = (match["first"] or match["before"] or match["after"] or "").strip()
    return f"{'-' if match['sign'] else ''}{currency}{spelled}{'%' if match['percent'] else ''}"


def _value(digits: str) -> Decimal | str:
    """The quantity that digits with separators mean, or they themselves where that is not certain."""
    plain = "".join(str(unicodedata.digit(each)) if each.isdigit() else each for each in digits)
    whole = re.split(r"[.,]", plain, maxsplit=1)[0]
    if (len(whole) > 1 and whole[0] == "0") or len(plain) > _MOST_DIGITS:
        return plain
    if _COMMA_GROUPS.fullmatch(plain):
        return Decimal(re.sub(rf"[,{_GAPS}]", "", plain))
    if _DOT_GROUPS.fullmatch(plain):
        return Decimal(plain.replace(".", "").replace(",", "."))
    if _COMMA_DECIMAL.fullmatch(plain):
        return Decimal(plain.replace(",", "."))
    if _PLAIN.fullmatch(plain) and not _THREE_DECIMALS.fullmatch(plain):
        return Decimal(plain)
    return plain
