"""What kind of answer a question asks for, by its question word: a person, a place, a time, a number, or anything."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from hlgraph.text import fold

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NEAR = 3  # words after "what" or "which" among which the noun is looked for that says what is asked
_VERBS = frozenset(("is", "was", "are", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will"))
_AMOUNTS = frozenset(
    ("many", "much", "long", "old", "far", "tall", "high", "large", "big", "often", "deep", "fast", "heavy", "wide")
)
_SEVERAL = re.compile(
    r"\b(?:(?:which|what)\s+(?:(?:\d+|two|three|four|five)\s+)?(?!(?:is|was|does|has|its|his|this|serves|makes)\b)\w{2,}(?<![siu])s\b"
    r"|(?:what|which|who)\s+(?:are|were)\b|list\b|name\s+(?:all|the)\s+\w+s\b)",
    re.IGNORECASE,
)


class Expected(Enum):
    """A kind of answer."""

    PERSON = "person"
    PLACE = "place"
    TIME = "time"
    NUMBER = "number"
    ANY = "any"


_BY_WORD = {
    "who": Expected.PERSON,
    "whom": Expected.PERSON,
    "whose": Expected.PERSON,
    "where": Expected.PLACE,
    "when": Expected.TIME,
}
_BY_NOUN = {
    noun: kind
    for kind, nouns in {
        Expected.PERSON: "person individual man woman author writer poet actor actress singer composer director founder inventor "
        "engineer president minister king queen father mother wife husband son daughter",
        Expected.PLACE: "city town village country place state county region province district island continent",
        Expected.TIME: "year date month day century decade time",
        Expected.NUMBER: "number amount percentage share population",
    }.items()
    for noun in nouns.split()
}
_NAME = re.compile(r"(?<![\w])[^\W\d_a-zß-öø-ÿ][\w'’.-]*")
_AFTER_PREPOSITION = re.compile(
    r"\b(?:in|at|near|from|of|to|into|on|outside|around)\s+(?:the\s+)?(?:[a-zß-öø-ÿ]+\s+of\s+)?([^\W\d_a-zß-öø-ÿ][\w'’-]*)"
)
_NUMBER = re.compile(
    r"\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half)\b",
    re.IGNORECASE,
)
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIME = re.compile(
    r"\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,2}[:.]\d{2}\b|\b\d+(?:st|nd|rd|th)?\s+(?:seconds?|minutes?|hours?|days?|weeks?|months?|"
    rf"years?|century)\b|\b(?:{'|'.join((*(item.capitalize() for item in _MONTHS), *(item.capitalize() for item in _DAYS)))})s?\b"
    r"|\b(?:daily|weekly|monthly|yearly|annually|spring|summer|autumn|winter|morning|noon|evening|night|midnight|today|yesterday|"
    r"tomorrow|before|after|during|until|since|once|when|every)\b"
)
_NOT_NAMES = frozenset((*_MONTHS, *_DAYS))


def expected(question: str) -> Expected:
    """The kind of answer that a question asks for.

    The first question word decides: who, where, when; "how many" and the like ask for a number. After "what" and "which" a noun
    such as year, city or author among the next three words decides.

    Parameters
    ----------
    question : text of the question

    Examples
    --------
    >>> [expected(text).value for text in ("Who built it?", "In which year did it open?", "How many spans?", "What is marl?")]
    ['person', 'time', 'number', 'any']
    """
    words = [fold(word) for word in _WORD.findall(question)]
    for at, word in enumerate(words):
        if word in _BY_WORD:
            return _BY_WORD[word]
        following = words[at + 1 : at + 1 + _NEAR]
        if word == "how":
            return Expected.NUMBER if following and following[0] in _AMOUNTS else Expected.ANY
        if word in ("what", "which"):
            named = next((each for each in following if each in _BY_NOUN or each in _VERBS), "")
            return _BY_NOUN.get(named, Expected.ANY)
    return Expected.ANY


def asks_for_several(question: str) -> bool:
    """Whether a question asks for more than one thing: "which bridges", "what are", "who were", "list", "name all".

    Examples
    --------
    >>> [asks_for_several(text) for text in ("Which bridges did she design?", "Who were its engineers?", "Which bus goes there?")]
    [True, True, False]
    """
    return _SEVERAL.search(question) is not None


def has_expected(kind: Expected, text: str, *, asked: Collection[str]) -> bool:
    """Whether a text has something of a kind that the question does not have.

    A person is a name (any word with a capital but the first); a place is a name after a preposition such as "in"; a time is a
    date, a duration, or a word such as "daily" or "before"; a number is in digits or a word. This is a sign, not a proof.

    Parameters
    ----------
    kind : what is asked for
    text : a text of the evidence
    asked : folded words of the question

    Returns
    -------
    bool
        True for every text where anything is asked for.

    Examples
    --------
    >>> asked = {"bridge", "1931"}
    >>> [has_expected(Expected.TIME, text, asked=asked) for text in ("The bridge opened in 1931.", "The bridge fell in 1953.")]
    [False, True]
    """
    if kind is Expected.ANY:
        return True
    if kind is Expected.PERSON:
        found = [match[0] for match in _NAME.finditer(text) if match.start() or _has_name_after(text, match.end())]
    else:
        pattern = {Expected.PLACE: _AFTER_PREPOSITION, Expected.TIME: _TIME, Expected.NUMBER: _NUMBER}[kind]
        found = [match[match.re.groups] for match in pattern.finditer(text)]
    folded = (fold(item).strip(".,").removesuffix("'s") for item in found)
    return any(
        word not in asked and not (kind in (Expected.PERSON, Expected.PLACE) and word in _NOT_NAMES) for word in folded
    )


def _has_name_after(text: str, at: int) -> bool:
    """Whether a word with a capital follows, so that the first word of a text begins a name."""
    return text[at + 1 : at + 2].isupper()
