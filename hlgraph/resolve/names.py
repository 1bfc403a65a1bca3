"""Lexical evidence that two names mean the same: equal words, initials, a name contained in another, one letter changed.

Only names in a common block are compared, never all pairs. Blocks are keyed by letters, initials, rare words and halves of
names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from hlgraph.resolve.synonyms import is_eligible

Pair = tuple[str, str]

SAME_WORDS = "same words"
INITIALS = "initials"
CONTAINED = "contained"
ONE_LETTER = "one letter"

_SMALL = frozenset(
    (
        *("a", "an", "and", "at", "for", "in", "of", "on", "the", "to"),
        *("da", "de", "del", "der", "des", "di", "die", "du", "el", "et", "la", "le", "und", "van", "von", "y"),
    )
)
_DOTS = re.compile(r"(?<!\d)[.'’]|[.'’](?!\d)")
_OTHER = re.compile(r"[^\w\s]|_")
_DIGITS = re.compile(r"\d+")
_LEAST = 6  # characters of the shortest names that are compared for one changed letter


def fold(name: str) -> str:
    """A normalised name without accents on Latin letters, punctuation and a leading "the"; "&" becomes "and".

    Examples
    --------
    >>> fold("the u.s.a."), fold("saint-étienne"), fold("marks & spencer"), fold("windows 3.11")
    ('usa', 'saint etienne', 'marks and spencer', 'windows 3 11')
    """
    plain = "".join(_bare(letter) for letter in name)
    words = _OTHER.sub(" ", _DOTS.sub("", plain.replace("&", " and "))).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def _bare(letter: str) -> str:
    parts = unicodedata.normalize("NFKD", letter)
    return parts[0] if len(parts) > 1 and "a" <= parts[0] <= "z" else letter


def lexical_pairs(names: Mapping[str, str], *, block: int = 50) -> dict[Pair, tuple[str, ...]]:
    """Pairs of ids whose names may mean the same, with the kinds of evidence.

    Names with digits are paired only if the digits are equal. Names that cannot have synonyms are left out.

    Parameters
    ----------
    names : normalised name by id
    block : largest number of names in a block, default 50; the names of a larger block are not compared

    Returns
    -------
    dict
        Each pair once and ascending, with its kinds of evidence in alphabetical order.

    Notes
    -----
    O(n block) comparisons for n names.

    Examples
    --------
    >>> found = lexical_pairs({"1": "world health organization", "2": "who", "3": "mara quill", "4": "m. quill"})
    >>> sorted(found.items())
    [(('1', '2'), ('initials',)), (('3', '4'), ('initials',))]
    """
    folded = {key: fold(name) for key, name in sorted(names.items()) if is_eligible(name)}
    found: dict[Pair, tuple[str, ...]] = {}
    for a, b in _near(folded, most=block):
        pair = min(a, b), max(a, b)
        if pair not in found and _DIGITS.findall(folded[a]) == _DIGITS.findall(folded[b]):
            found[pair] = tuple(sorted(evidence(folded[a], folded[b])))
    return {pair: some for pair, some in sorted(found.items()) if some}


def evidence(one: str, other: str) -> Iterator[str]:
    """Kinds of evidence that two names mean the same.

    Parameters
    ----------
    one : a name, folded by :func:`fold`
    other : a name, folded by :func:`fold`

    Returns
    -------
    Iterator
        Any of ``SAME_WORDS``, ``INITIALS``, ``CONTAINED`` and ``ONE_LETTER``; equal words exclude the others.

    Examples
    --------
    >>> list(evidence("quill", "mara quill")), list(evidence("tessing", "tesing")), list(evidence("orne", "tessing"))
    (['contained'], ['one letter'], [])
    """
    if one == other or one.replace(" ", "") == other.replace(" ", ""):
        yield SAME_WORDS
        return
    words, others = one.split(), other.split()
    if one in _initials(others) or other in _initials(words) or _is_shortened(words, others):
        yield INITIALS
    few, many = sorted((frozenset(words) - _SMALL, frozenset(others) - _SMALL), key=len)
    if few < many and any(len(word) > 2 for word in few):
        yield CONTAINED
    if min(len(one), len(other)) >= _LEAST and _differ_in_one(one, other):
        yield ONE_LETTER


def _near(folded: Mapping[str, str], *, most: int) -> Iterator[Pair]:
    """Pairs with some evidence, by a separate set of blocks for each kind; a pair may occur more than once."""
    words = {key: name.split() for key, name in folded.items()}
    yield from _alike(folded, words, most=most)
    yield from _shortened(words, most=most)
    yield from _contained(words, most=most)
    yield from _one_letter(folded, most=most)


def _blocks(keyed: Iterable[tuple[object, str]], *, most: int) -> Iterator[Sequence[str]]:
    """The ids of each key, for keys of at least two and at most ``most`` ids."""
    blocks: dict[object, list[str]] = defaultdict(list)
    for key, name in keyed:
        blocks[key].append(name)
    return (held for held in blocks.values() if 1 < len(held) <= most)


def _alike(folded: Mapping[str, str], words: Mapping[str, Sequence[str]], *, most: int) -> Iterator[Pair]:
    """Pairs with the same letters, or where one name is the initials of the other."""
    for held in _blocks(((name.replace(" ", ""), key) for key, name in folded.items()), most=most):
        yield from combinations(held, 2)
    initials = [(letters, key) for key, some in words.items() for letters in sorted(_initials(some))]
    short = [(name, key) for key, name in folded.items() if " " not in name]
    known = {key for _, key in short}
    for held in _blocks(sorted(set(initials + short)), most=most):
        yield from ((a, b) for a, b in combinations(held, 2) if (a in known) is not (b in known))


def _shortened(words: Mapping[str, Sequence[str]], *, most: int) -> Iterator[Pair]:
    """Pairs with equally many words and the same last word, where one has an initial among the other words."""
    long = {key: some for key, some in words.items() if len(some) > 1}
    has_initial = {key for key, some in long.items() if any(len(word) == 1 for word in some[:-1])}
    for held in _blocks((((some[-1], some[0][0], len(some)), key) for key, some in long.items()), most=most):
        if not has_initial.isdisjoint(held):
            yield from ((a, b) for a, b in combinations(held, 2) if a in has_initial or b in has_initial)


def _contained(words: Mapping[str, Sequence[str]], *, most: int) -> Iterator[Pair]:
    """Pairs where one name contains all words of the other; the block is its rarest word."""
    sets = {key: frozenset(some) - _SMALL for key, some in words.items()}
    holders: dict[str, list[str]] = defaultdict(list)
    for key, some in sets.items():
        for word in some:
            holders[word].append(key)
    for key, some in sets.items():
        rare = min((holders[word] for word in some), key=len, default=[])
        if len(rare) <= most:
            yield from ((key, other) for other in rare if some < sets[other])


def _one_letter(folded: Mapping[str, str], *, most: int) -> Iterator[Pair]:
    """Pairs that differ in one letter. Such names share the first or the last half of the shorter one's length."""
    long = [(key, name) for key, name in folded.items() if len(name) >= _LEAST]
    for is_end in (False, True):
        keyed = (
            ((size, name[-(size // 2) :] if is_end else name[: size // 2]), key)
            for key, name in long
            for size in (len(name), len(name) - 1)
            if size >= _LEAST
        )
        for held in _blocks(keyed, most=most):
            yield from ((a, b) for a, b in combinations(held, 2) if _differ_in_one(folded[a], folded[b]))


def _initials(words: Sequence[str]) -> set[str]:
    """The initials of two or more words, with and without function words, if they are more than two letters."""
    if len(words) < 2:
        return set()
    ways: Iterable[Sequence[str]] = (words, [word for word in words if word not in _SMALL])
    return {letters for way in ways if len(letters := "".join(word[0] for word in way)) > 2}


def _is_shortened(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two names have the same last word and some other words of one are initials of the other's: ``m quill``."""
    if len(words) != len(others) or len(words) < 2 or words[-1] != others[-1]:
        return False
    pairs = list(zip(words[:-1], others[:-1], strict=True))
    return all(a == b or (1 in (len(a), len(b)) and a[0] == b[0]) for a, b in pairs) and any(a != b for a, b in pairs)


def _differ_in_one(one: str, other: str) -> bool:
    """Whether inserting, removing or replacing one letter turns one name into the other."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest = short[at + 1 :] if len(short) == len(long) else short[at:]
    return rest == long[at + 1 :]
