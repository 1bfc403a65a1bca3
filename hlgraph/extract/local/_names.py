"""Names in a sentence: runs of capitalised words, joined over the small words that stand inside names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlgraph.extract.local import _lexicon as lexicon
from hlgraph.extract.local._values import Found


class Token(NamedTuple):
    """A word that may be part of a name; ``word`` is without the possessive; ``is_first``: a capital means nothing here."""

    start: int
    end: int
    word: str
    is_first: bool
    is_possessive: bool


# A word from its first letter that is not known to be lower case, or a number. That it is a capital, and where the word
# really begins, is asked afterwards: a pattern that begins with a plain set of characters is searched several times faster.
_TOKEN = re.compile(
    r"[^\W\da-zß-öø-ÿ_][^\W_]*(?:(?:['’.&‐‑–-]|\.-)[^\W_]+)*"
    r"|\d(?<![^\W_].)(?:\d{0,3}(?![\w.,%-])|0th(?= Century [A-Z]))"
)
_FIRST = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W\d_]+")
_BREAK = re.compile(r"(?:[:.?!…•|]|[“\"«„(\[—–-])\s*$")
_BREAKS = ':.?!…•|"“«„([—–-'
_DETERMINER = re.compile(r"\b(?:the|a|an|his|her|its|their|our|this|that|each|every|The)\s$")
_LOWER_TAIL = re.compile(r"[-‐‑](?:based|born|owned|led|winning|nominated|area|backed|controlled|occupied)$")
_INITIAL = re.compile(r"(?<!\w)[A-Z]\. ")
_ROMAN = re.compile(r"[IVXLC]+$")
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|mit|auf|von|den|dem|zu|wurde|sich|auch|werden)\b")
_ENGLISH = re.compile(r"\b(?:the|and|is|of|to|was|in|for|with|that)\b")
_GERMAN_PLACE = re.compile(r"\b(?:in|aus|nach|bei|von)\s$")
_BE = re.compile(
    r"(?:['’]s)?\s(?:is|was|has|had|became|won|said|says|announced|wrote|began|died|lives|joined|released)\b"
)
_LONGEST_NAME = 8  # longer runs are lines in Title Case, not names


class Shape(NamedTuple):
    """What the words of a chunk look like: the evidence for and against a capital being that of a name."""

    lower: frozenset[str]
    capital: frozenset[str]
    is_german: bool


def tokens(text: str) -> list[Token]:
    """The words of a sentence that begin with a capital (or are written like "iPhone"), and the numbers, in order."""
    found = []
    head = _FIRST.search(text)
    head_end = head.start() if head else 0
    for match in _TOKEN.finditer(text):
        word, start = match.group(), match.start()
        if not (word[0].isupper() or word[0].isdigit()):
            continue
        before = text[start - 1] if start else " "
        if before.isalnum():
            if not before.islower() or (start > 1 and text[start - 2].isalnum()):
                continue  # inside a word
            start, word = start - 1, before + word
        elif before == "-" and text[start - 2].islower():
            continue  # "non-English"
        is_first = start <= head_end or (
            (before != " " or text[start - 2] in _BREAKS) and _BREAK.search(text, max(0, start - 4), start) is not None
        )
        end = match.end()
        is_possessive = word[-2:-1] in ("'", "’") and word[-1] in "sS"
        if is_possessive:
            word = word[:-2]
        elif "-" in word and (tail := _LOWER_TAIL.search(word)):
            word = word[: tail.start()]  # "Chicago-based"
            end = start + len(word)
        found.append(Token(start, end, word, is_first, is_possessive))
    return found


def shape(text: str, sentences: Sequence[Sequence[Token]], *, known: Sequence[str]) -> Shape:
    """The evidence that a chunk gives about its own words; ``known`` are names, whatever the chunk says."""
    lower = {word for word in set(_WORD.findall(text)) if word.islower()}.difference(name.lower() for name in known)
    capital = {token.word for sentence in sentences for token in sentence if not token.is_first}
    is_german = len(_GERMAN.findall(text)) > 2 + len(_ENGLISH.findall(text))
    return Shape(frozenset(lower), frozenset(capital.union(known)), is_german)


def names(text: str, words: Sequence[Token], evidence: Shape, *, taken: Sequence[Found]) -> list[Found]:
    """The names in a sentence, in order, outside of what is ``taken`` (except years, which a name may hold).

    Parameters
    ----------
    text:
        The sentence.
    words:
        Its :func:`tokens`.
    evidence:
        What the chunk says about capitals.
    taken:
        Mentions found otherwise; sorted, not overlapping.
    """
    if _is_shouted(text):
        return []
    free = _free(words, [found for found in taken if not (found.kind == "date" and found.end - found.start == 4)])
    found: list[Found] = []
    first = 0
    while first < len(free):
        last = first
        while last + 1 < len(free) and _joins(text, free, first, last):
            last += 1
        if last - first < _LONGEST_NAME:
            found.extend(_name(text, free[first : last + 1], evidence))
        first = last + 1
    return found


def _is_shouted(text: str) -> bool:
    """Whether a line is written in capitals throughout, so that they tell nothing."""
    return len(text) > 12 and text.isupper() and " " in text


def _free(words: Sequence[Token], taken: Sequence[Found]) -> list[Token]:
    free = []
    position = 0
    for token in words:
        while position < len(taken) and taken[position].end <= token.start:
            position += 1
        if position == len(taken) or taken[position].start >= token.end:
            free.append(token)
    return free


def _joins(text: str, free: Sequence[Token], first: int, last: int) -> bool:
    """Whether the name that runs from token ``first`` to ``last`` goes on to the next token."""
    left, right = free[last], free[last + 1]
    gap = text[left.end : right.start]
    if len(gap) > 9:
        return False
    is_number = right.word[0].isdigit()
    if gap == " ":
        if left.word[0].isdigit():
            return not is_number and (last > first or _opens_name(text, left, right))
        if left.is_possessive:
            return _keeps_possessive(free, first, last)
        if is_number:
            return last > first or len(right.word) < 4
        return not right.is_first
    if is_number or left.word[0].isdigit():
        return False
    if gap == ". ":
        return len(left.word) == 1 or "." in left.word or left.word.lower() in lexicon.DOTTED
    if gap in (", ", " ") and right.word in ("Jr", "Sr", "Inc", "Ltd", "LLC"):
        return True
    if gap == ", ":
        return right.word in lexicon.NOBILITY and text.startswith(" of ", right.end)
    if left.is_possessive or right.is_first:
        return False
    if gap in lexicon.PARTICLES:
        return gap != " the " or first == last
    if gap in lexicon.ORGANIZATION_PARTICLES:
        return _joins_organization(text, free, first, last)
    return gap == "/" and len(left.word) > 3


def _opens_name(text: str, year: Token, right: Token) -> bool:
    """ "the 1948 Summer Olympics", "20th Century Fox", but not "In 1948 Warner" nor "a 1948 American film"."""
    if year.word.endswith("th"):
        return True
    if right.word.lower() in lexicon.DEMONYMS or right.is_first:
        return False
    return len(year.word) == 4 and _DETERMINER.search(text, max(0, year.start - 7), year.start) is not None


def _keeps_possessive(free: Sequence[Token], first: int, last: int) -> bool:
    """ "King's College", "St. Mary's Cathedral", "People's Republic", but "Disney's Frozen" are two."""
    word = free[last].word
    if word in ("King", "Queen", "People", "Women", "Men", "Children", "Master", "Bachelor", "World", "Nation"):
        return True
    if free[first].word in ("St", "Saint", "Our"):
        return True
    following = free[last + 1].word.lower()
    return (
        first == last and following in lexicon.ORGANIZATIONS | lexicon.PLACES and word.lower() not in lexicon.ORDINARY
    )


def _joins_organization(text: str, free: Sequence[Token], first: int, last: int) -> bool:
    """ "Center for Disease Control and Prevention", "Food and Drug Administration", "Bosnia and Herzegovina"."""
    left, right = free[last], free[last + 1]
    if text[left.start : right.end] in lexicon.PAIRS_WITH_AND:
        return True
    gap = text[left.end : right.start]
    held = any(free[i].word.lower() in lexicon.ORGANIZATIONS for i in range(first, last + 1))
    if gap == " at ":
        return held and free[first].word == "University"
    if held:
        if "and" not in gap:
            return free[last].word.lower() not in lexicon.DEMONYMS
        opened = text[free[first].start : left.start]
        return " of " in opened or " for " in opened or opened.endswith("of the ")
    if gap != " and " or first != last:
        return False
    follower = free[last + 2] if last + 2 < len(free) else None
    return (
        follower is not None
        and text[right.end : follower.start] == " "
        and follower.word.lower() in lexicon.ORGANIZATIONS
        and not right.is_possessive
        and left.word.lower() not in lexicon.DEMONYMS
    )


def _name(text: str, run: Sequence[Token], evidence: Shape) -> Iterator[Found]:
    """The mention that a run of tokens makes, if any, and the name inside it: "Kent" of "Duke of Kent"."""
    run, kind = _trimmed(text, run)
    if not run or (len(run) == 1 and not _is_single_name(text, run[0], evidence)):
        return
    lowered = [token.word.lower() for token in run]
    if all(_is_adjective(word) for word in lowered) or " ".join(lowered) in lexicon.GENERIC:
        return
    start = run[0].start
    end = run[-1].end - (2 if run[-1].is_possessive else 0)
    if text[end : end + 1] == "." and (
        run[-1].word.count(".") or run[-1].word in ("Jr", "Sr", "Inc", "Ltd", "Co", "Corp")
    ):
        end += 1
    name = text[start:end]
    yield Found(start, end, name, kind or _kind(name, run, lowered))
    if lowered[0] in lexicon.TITLES_OF and len(run) > 1:
        head = text[run[0].end : run[1].start]
        if head in (" of ", " of the ") and len(run[1].word) > 2 and lowered[1] not in lexicon.DEMONYMS:
            yield Found(run[1].start, end, text[run[1].start : end], "")


def _trimmed(text: str, run: Sequence[Token]) -> tuple[Sequence[Token], str]:
    """A run without the words around the name: openers of the sentence, forms of address, offices."""
    kind = ""
    while run:
        lower = run[0].word.lower()
        is_alone = len(run) == 1 or text[run[0].end : run[1].start] not in (" ", ". ")
        if run[0].is_first and (lower in lexicon.OPENERS or (is_alone and len(run) > 1 and lower in lexicon.ORDINARY)):
            run = run[1:]
        elif len(run) > 1 and lower in lexicon.HONORIFICS and text[run[0].end : run[1].start] in (" ", ". "):
            run, kind = run[1:], "person"
        elif len(run) > 2 and not is_alone and lower in lexicon.ROLES and not _has_body(text, run):
            run, kind = run[1:], "person"
        else:
            break
    while run and (run[-1].word.lower() in lexicon.STOP_WORDS or (run[-1].word[0].isdigit() and len(run) == 1)):
        if len(run) > 1 and len(run[-1].word) > 1 and run[-1].word.isupper():
            break  # "WHO", "IT"
        if len(run) > 1 and run[-1].word == "I":
            break  # "Constantine I"
        run = run[:-1]
    return run, kind


def _is_adjective(word: str) -> bool:
    """Whether a word tells where or when and names nothing: "American", "Anglo-Irish", "North", "June", "1969"."""
    if "-" in word or "–" in word:
        return all(_is_adjective(part) for part in word.replace("–", "-").split("-"))
    return word in lexicon.ADJECTIVES or word.isdigit()


def _has_body(text: str, run: Sequence[Token]) -> bool:
    """Whether a run is the name of an office or a body and not a role with a name: "Governor of Texas", "Judge Advocate Board"."""
    return any(" of" in text[a.end : b.start] for a, b in zip(run, run[1:], strict=False)) or any(
        token.word.lower() in lexicon.ORGANIZATIONS | lexicon.PLACES for token in run[1:]
    )


def _is_single_name(text: str, token: Token, evidence: Shape) -> bool:
    """Whether one capitalised word is a name."""
    word, lower = token.word, token.word.lower()
    if len(word) == 1 or lower in lexicon.GENERIC or _is_adjective(lower) or _ROMAN.match(word):
        return False
    if "-" in word and word[word.rindex("-") + 1 :].islower():
        return False  # "Oscar-worthy"
    if word[1:] != lower[1:] and not token.is_first:
        return True  # an acronym, or "McDonald"
    if lower in lexicon.STOP_WORDS or lower in evidence.lower:
        return False
    if evidence.is_german and not _GERMAN_PLACE.search(text, max(0, token.start - 5), token.start):
        return word in evidence.capital and not token.is_first and word.isupper()
    if not token.is_first:
        return lower not in lexicon.ORDINARY
    if lower in lexicon.ORDINARY:
        return False
    if word in evidence.capital or (len(word) > 1 and any(map(str.isupper, word[1:]))):
        return True
    return _BE.match(text, token.end - (2 if token.is_possessive else 0)) is not None and not lower.endswith(
        lexicon.COMMON_ENDINGS
    )


def _kind(name: str, run: Sequence[Token], lowered: Sequence[str]) -> str:
    """A guess from cheap cues; mostly none."""
    if lowered[-1] in lexicon.ORGANIZATIONS or (
        lowered[0] in lexicon.ORGANIZATIONS and name.split()[1:2] in (["of"], ["for"])
    ):
        return "organization"
    if len(run) > 1 and (lowered[-1] in lexicon.PLACES or lowered[0] in ("lake", "mount", "river", "cape", "fort")):
        return "place"
    if len(run) > 1 and (lowered[-1] in ("jr", "sr") or _INITIAL.search(name)):
        return "person"
    return ""
