"""Names that may be of one thing by their letters alone: the same words, initials, a name in a longer one, one letter.

Only names that share a block are compared, never all pairs: blocks are made of folded names, initials, rare words and
halves of names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from hlgraph.index.synonyms import is_eligible

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
_LEAST = 6  # letters of names that may differ in one


def fold(name: str) -> str:
    """A normalised name without accents on Latin letters, dots, other marks, and a leading "the"; "&" is "and".

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
    """Pairs of ids whose names may be of one thing, each once, ascending, with the kinds of evidence in alphabetical order.

    Names with digits are paired only when the digits are the same; names that cannot have synonyms are left out.

    Parameters
    ----------
    names : normalised name by id
    block : names that share no more than a block of more names are not compared

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
    found: dict[Pair, set[str]] = defaultdict(set)
    for held in _blocks(folded, most=block):
        for a, b in combinations(held, 2):
            if _DIGITS.findall(folded[a]) == _DIGITS.findall(folded[b]):
                found[min(a, b), max(a, b)].update(evidence(folded[a], folded[b]))
    return {pair: tuple(sorted(some)) for pair, some in sorted(found.items()) if some}


def evidence(one: str, other: str) -> Iterator[str]:
    """What speaks for one thing in two folded names.

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


def _blocks(folded: Mapping[str, str], *, most: int) -> Iterator[Sequence[str]]:
    """Ids of names that share a key."""
    counts = Counter(word for name in folded.values() for word in set(name.split()))
    blocks: dict[tuple[str, str], list[str]] = defaultdict(list)
    holders: dict[str, list[str]] = defaultdict(list)
    for key, name in folded.items():
        for each in set(_keys(name)):
            blocks[each].append(key)
        for word in set(name.split()) - _SMALL:
            if counts[word] <= most:
                holders[word].append(key)
    yield from (held for held in blocks.values() if 1 < len(held) <= most)
    for key, name in folded.items():
        rare = min(set(name.split()) - _SMALL, key=lambda word: (counts[word], word), default="")
        for other in holders.get(rare, ()):
            if other != key:
                yield key, other


def _keys(name: str) -> Iterator[tuple[str, str]]:
    words = name.split()
    yield "words", name.replace(" ", "")
    if len(words) == 1:
        yield "initials", name
    else:
        yield from (("initials", letters) for letters in _initials(words))
        yield "last", f"{words[-1]} {words[0][0]}"
    for size in {len(name) // 2, (len(name) - 1) // 2}:
        if len(name) >= _LEAST:
            yield "beginning", name[:size]
            yield "end", name[-size:]


def _initials(words: Sequence[str]) -> set[str]:
    """The initials of several words, with and without the small ones."""
    if len(words) < 2:
        return set()
    ways: Iterable[Sequence[str]] = (words, [word for word in words if word not in _SMALL])
    return {letters for way in ways if len(letters := "".join(word[0] for word in way)) > 2}


def _is_shortened(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the names end alike and some of the words before are initials of those of the other: ``m quill``."""
    if len(words) != len(others) or len(words) < 2 or words[-1] != others[-1]:
        return False
    pairs = list(zip(words[:-1], others[:-1], strict=True))
    return all(a == b or (1 in (len(a), len(b)) and a[0] == b[0]) for a, b in pairs) and any(a != b for a, b in pairs)


def _differ_in_one(one: str, other: str) -> bool:
    """Whether one letter too many, too few or another makes one of the other."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest = short[at + 1 :] if len(short) == len(long) else short[at:]
    return rest == long[at + 1 :]
