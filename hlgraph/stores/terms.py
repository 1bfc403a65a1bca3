"""Terms of a text for full-text search, the same in every store: words are split, accents removed, and English words stemmed.

The stemmer is that of Porter (1980) with the author's two later changes (``bli``, ``logi``), letter for letter as in the token
filter ``porter_stem`` of OpenSearch, so that both stores have the same terms.

References
----------
M. F. Porter: An algorithm for suffix stripping. Program 14 (1980), 130-137.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ASCII = re.compile(r"[a-z0-9]+")
# The combining marks that are part of the preceding letter; other marks separate words.
_ACCENTS = frozenset(
    {*range(0x300, 0x305), *range(0x306, 0x30D), 0x30F, 0x311, 0x31B, *range(0x323, 0x329), 0x32D, 0x32E, 0x330, 0x331}
)
_VOWELS = frozenset("aeiou")
_STEP_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("logi", "log")),
)
_STEP_3 = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")),
)
_STEP_4 = (
    *(
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ible",
        "ant",
        "ement",
        "ment",
        "ent",
        "sion",
        "tion",
        "ou",
        "ism",
        "ate",
    ),
    *("iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=4_096)
def parts(word: str) -> tuple[str, ...]:
    """The terms of a word, not stemmed: split at every character that is neither a letter nor a digit, without single accents.

    Examples
    --------
    >>> parts("u.s."), parts("café")
    (('u', 's'), ('cafe',))
    """
    if word.isascii():
        return tuple(_ASCII.findall(word))
    split: list[str] = []
    part = ""
    for char in word:
        code = ord(char)
        if code in _ACCENTS:
            continue
        if unicodedata.category(char)[0] in "LN" or unicodedata.category(char) == "Co":
            part += _plain(char)
        elif part:
            split.append(part)
            part = ""
    return (*split, part) if part else tuple(split)


def _plain(char: str) -> str:
    """A Latin letter without its single accent; any other character unchanged."""
    taken_apart = unicodedata.normalize("NFD", char)
    is_accented = len(taken_apart) == 2 and taken_apart[0].isascii() and unicodedata.combining(taken_apart[1])
    return taken_apart[0] if is_accented else char


def stem(term: str) -> str:
    """The stem of an English word in lower case; a term of two characters or fewer is its own stem.

    Examples
    --------
    >>> [stem(word) for word in ("ties", "ies", "hopping", "generalizations", "seyyed", "μs")]
    ['ti', 'i', 'hop', 'gener', 'seyi', 'μs']
    """
    if not term.isascii() and max(term) > "\uffff":  # OpenSearch counts UTF-16 code units
        units = "".join(map(chr, memoryview(term.encode("utf-16-le", "surrogatepass")).cast("H")))
        return _stem(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _stem(term)


def _stem(term: str) -> str:
    if len(term) < 3:
        return term
    term = _inflected(term)
    if term[-1] == "y" and "v" in _form(term[:-1]):
        term = f"{term[:-1]}i"
    if len(term) > 1:
        term = _replaced(term, _STEP_2)
    term = _replaced(term, _STEP_3)
    if len(term) > 1:
        term = _stripped(term)
    count = _measure(term)
    if term[-1] == "e" and (count > 1 or (count == 1 and not _is_short(term[:-1]))):
        term = term[:-1]
    if term[-1] == "l" and count > 1 and _is_doubled(term):
        term = term[:-1]
    return term


def _inflected(term: str) -> str:
    """Step 1: without the endings of plurals, -ed and -ing."""
    if term[-1] == "s":
        if term.endswith(("sses", "ies")):
            term = term[:-2]
        elif term[-2] != "s":
            term = term[:-1]
    if term.endswith("eed"):
        return term[:-1] if _measure(term[:-3]) else term
    ending = 2 if term.endswith("ed") else 3 if term.endswith("ing") else 0
    if not ending or "v" not in _form(term[:-ending]):
        return term
    term = term[:-ending]
    if term.endswith(("at", "bl", "iz")):
        return f"{term}e"
    if _is_doubled(term):
        return term if term[-1] in "lsz" else term[:-1]
    return f"{term}e" if _measure(term) == 1 and _is_short(term) else term


def _replaced(term: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, other in endings:
        if term.endswith(ending):
            start = term[: -len(ending)]
            return f"{start}{other}" if _measure(start) else term
    return term


def _stripped(term: str) -> str:
    for ending in _STEP_4:
        if term.endswith(ending):
            start = term.removesuffix("ion" if ending in ("sion", "tion") else ending)
            return start if _measure(start) > 1 else term
    return term


def _form(term: str) -> str:
    """The letters of a term as consonants, ``c``, and vowels, ``v``; y is a vowel after a consonant."""
    form, last = [], "v"
    for letter in term:
        last = "v" if letter in _VOWELS or (letter == "y" and last == "c") else "c"
        form.append(last)
    return "".join(form)


def _measure(term: str) -> int:
    """How often a consonant follows a vowel."""
    return _form(term).count("vc")


def _is_doubled(term: str) -> bool:
    return len(term) > 1 and term[-1] == term[-2] and _form(term)[-1] == "c"


def _is_short(term: str) -> bool:
    """Whether a term ends in consonant, vowel and consonant, of which the last is not w, x or y."""
    return _form(term)[-3:] == "cvc" and term[-1] not in "wxy"
