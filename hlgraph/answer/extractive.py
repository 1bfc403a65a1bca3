"""Answers without a chat model: the pieces of evidence that cover the question, each with its citation.

The parts, in order: the kind of answer that a question asks for (:func:`expected`), the choice of the fewest pieces that cover
it (:func:`chosen`), and the answer made of them (:func:`extractive_answer`). All of them work by words and cosines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import replace
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.calibration import usual_cosine
from hlgraph.algorithms.word_counts import rarity
from hlgraph.answer.citations import headed, joined
from hlgraph.answer.constraints import (
    BESIDE_DATES,
    DAYS,
    LIGHT,
    LISTS,
    MONEY,
    OF_LIFE_AT,
    Constraints,
    Statements,
    constraints_of,
    echoes,
    has_itself,
    has_noun_that_acts,
    is_doubted,
    is_misplaced,
    is_slight,
    is_unreal,
    lacking,
    names_only,
    rephrased,
    statement,
    weight,
    words_of,
)
from hlgraph.answer.forms import (
    affirmed,
    body_of,
    compared,
    comparison,
    context_of,
    counted,
    has_opposite,
    is_before,
    is_within,
    is_yes_no,
    meets_bound,
    of_source,
    places_of,
    question_of,
    takes_out,
    ticked,
    verdict,
    within_range,
)
from hlgraph.answer.table_rules import is_row, measured_by
from hlgraph.extract.wording import MONTHS, NUMERALS, content_set, denies
from hlgraph.models.protocols import Embedder
from hlgraph.records import Answer, Calibration, Evidence, Kind
from hlgraph.text import STOP_WORDS, cached_by_text, content_words, fold, word_set, words

# The kind of answer that a question asks for.

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NEAR = 3  # number of words after "what" or "which" in which the noun is looked up that names the kind of answer
_VERBS = word_set("is was are were do does did has have had can could will")
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
    REASON = "reason"
    CAUSE = "cause"
    FREQUENCY = "frequency"
    PURPOSE = "purpose"
    NAME = "name"
    ANY = "any"


def _kinds_of(name: str) -> dict[str, Expected]:
    """The kind of answer that each word of a list asks for."""
    lines = (line.partition(": ") for line in LISTS[name])
    return {word: Expected(kind) for kind, _, words in lines for word in words.split()}


_BY_WORD = _kinds_of("question_words")
_BY_HOW = _kinds_of("after_how")
_BY_QUESTION = [
    (re.compile(pattern, re.IGNORECASE), Expected(kind))
    for kind, _, pattern in (line.partition(": ") for line in LISTS["questions"])
]
_BY_NOUN = _kinds_of("nouns_asked")
_NAME = re.compile(r"(?<![\w])[^\W\d_a-zß-öø-ÿ][\w'’.-]*")
_AFTER_PREPOSITION = re.compile(
    r"\b(?:(?:in|at|near|from|of|to|into|on|outside|around)\s+(?:the\s+)?(?:[a-zß-öø-ÿ]+\s+of\s+)?"
    r"(?!(?:English|French|German|Spanish|Italian|Portuguese|Dutch|Russian|Latin|Greek|Arabic|Hebrew|Chinese|Japanese)\b(?! [A-Z]))"
    r"|(?i:place|city|town|seat|location|venue|address|headquarters)\b[^.;:]{0,20}?(?:\s(?:is|was)|:)\s+)([^\W\d_a-zß-öø-ÿ][\w'’-]*)"
)
_NUMERALS = "|".join((*NUMERALS, "dozen", "thousand", "million", "billion", "half"))
_A_YEAR = r"(?:1\d{3}|20\d\d)\b"  # a number only where no word such as "in" or "since" stands before it
_NUMBER = re.compile(rf"(?<![a-z] )\b{_A_YEAR}|(?!{_A_YEAR})\b\d[\d.,]*|\b(?:{_NUMERALS})\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:1\d{3}|20\d{2})s?\b|\bthe \d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?(?:to|–|-) ?\d{1,2}\b"
    r"|\b\d{1,2}\s?(?:[ap]\.?m\b|o['’]clock)"
    r"|\b\d+(?:st|nd|rd|th)?\s+(?:seconds?|minutes?|hours?|days?|weeks?|months?|"
    rf"years?|century)\b|\b(?:{'|'.join(name.capitalize() for name in (*MONTHS, *DAYS))})s?\b"
    rf"|\b(?:{'|'.join(LISTS['times'])})\b"
)
# A place without a capital counts right after a word of the question: "assemble at the north gate".
_LOWER_PLACE = re.compile(
    r"([^\W\d_]+)\s+(?:(?:on|off|up|down|out)\s+)?(?:(?:is|are|was|were)\s+(?:only\s+)?(?:allowed|permitted|possible|available)\s+(?:only\s+)?)?"
    r"(?:in|at|near|on|under|behind|beside|between|inside|outside|above|below|to|into|from)\s+"
    r"(?:(?:the|an?|its|his|her|their)\s+)?(?!(?:the|an?|its|his|her|their|time|times|once|first|last|least|most|all|any|order"
    r"|addition|general|fact|case|which|what|that|this)\b)[a-zß-öø-ÿ]{3,}"
)
_AT = r"\s(?:in|at|on|under|behind|beside|between|inside|outside|above|below|near)\s(?:the|an?|its|his|her|their)\s[a-z]{3,}"
_PATH = re.compile(
    r"(?:^|[\s`(])(?:~|\.{1,2})?/[\w.~-]+|\b[A-Z]:\\\w|\b[\w-]+\.(?:cfg|conf|ini|json|list|toml|txt|ya?ml)\b"
)
_IS_PUT = re.compile(rf"\b(?:{'|'.join(LISTS['put'])})(?:{_AT}|\sto\sthe\s[a-z]{{3,}})")
_STANDS = re.compile(
    rf"\b(?:sits?|stands?|lies?|hangs?|kept|located|placed|mounted|stored|found|situated|hidden|parked){_AT}"
    r"|\b(?:moved|relocated|transferred) (?:in)?to (?!be\b)\w"
)
_BY_NOUN_PHRASE = re.compile(
    r"([a-z]+)(?: (?:out|up|off|down))?(?: (?:in|on|at|from) [\w .,]{1,24}?)? by "
    r"(?:(?:the|an?|its|his|her|their) [a-z]{3,}|(?:[a-z]+ |\d+ )?(?!means\b)(?:[a-z]{3,}[^\Wsiu]s|children|people|men|women)\b)"
)
_HOW_MANY = re.compile(r"\bhow (?:many|much)\s+(\w+)(?:\s+of\s+(\w+))?", re.IGNORECASE)
_PURPOSE = re.compile(
    r"\bfor\b|\b(?:to|can|helps?|lets?|allows?) (?!(?:the|an?|his|her|its|their)\b)[a-z]{3,}|\b(?:that|which) ",
    re.IGNORECASE,
)
_BY_PATTERN = {
    Expected.REASON: re.compile(rf"\b(?:{'|'.join(LISTS['reasons'])})\b", re.IGNORECASE),
    Expected.CAUSE: re.compile(rf"\b(?:{'|'.join(LISTS['causes'])})\b", re.IGNORECASE),
    Expected.FREQUENCY: re.compile(
        rf"\b(?:{'|'.join(LISTS['frequencies'])}|on (?:{'|'.join(DAYS)})s)\b", re.IGNORECASE
    ),
    Expected.PURPOSE: _PURPOSE,
}
_QUOTED = re.compile(r"[\"“„«]\w[^\"“”«»]{0,60}[\"”“»]|`\w[^`]{0,60}`")
_NAMED_KINDS = (Expected.PERSON, Expected.PLACE, Expected.NAME)
_NOT_NAMES = frozenset((*MONTHS, *DAYS))


def expected(question: str) -> Expected:
    """The kind of answer that a question asks for.

    The first question word decides: "who", "where" or "when"; "how many" and similar words ask for a number. After "what" and
    "which", a noun such as "year", "city" or "author" among the next three words decides.

    Parameters
    ----------
    question : text of the question

    Examples
    --------
    >>> [expected(text).value for text in ("Who built it?", "In which year did it open?", "How many spans?", "What is marl?")]
    ['person', 'time', 'number', 'any']
    """
    words = [fold(word) for word in _WORD.findall(question)]
    if whole := [kind for pattern, kind in _BY_QUESTION if pattern.match(question)]:
        return whole[0]
    for at, word in enumerate(words):
        if word in _BY_WORD:
            return _BY_WORD[word]
        following = words[at + 1 : at + 1 + _NEAR]
        if word == "how":
            return _BY_HOW.get(following[0] if following else "", Expected.ANY)
        if word in ("what", "which"):
            named = next((each for each in following if each in _BY_NOUN or each in _VERBS), "")
            return _BY_NOUN.get(named, Expected.ANY)
    return Expected.ANY


def _pairs(name: str) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """The pattern of questions and that of texts of each line of a list; ``<colours>`` is any pattern of that list."""
    parts = {"numerals": _NUMERALS, "stop_words": "|".join(sorted(STOP_WORDS))}
    lines = list(LISTS[name])
    for _ in range(2):  # a list may name another one
        lines = [re.sub("<([a-z_]+)>", lambda of: parts.get(of[1]) or "|".join(LISTS[of[1]]), line) for line in lines]
    pairs = (line.split(" => ") for line in lines)
    return [(re.compile(asked, re.IGNORECASE), re.compile(said, re.IGNORECASE)) for asked, said in pairs]


_EXTENT_ASKED = re.compile(
    r"\bhow\s+(long|tall|high|deep|wide|old|heavy|loud)\s+(?:is|are|was|were)\b(?![^?]*\b(?:period|duration)\b)",
    re.IGNORECASE,
)
_EXTENTS = {word: pattern for word, _, pattern in (line.partition(": ") for line in LISTS["extents"])}
_IS_OF = r"(?:is|was) an?\s+\d[\d.,]*[\s-]?(?:k?m|(?:kilo)?met\w+|miles?|f(?:ee|oo)?t)"


_SUM = re.compile(rf"{MONEY}|\d ?(?:%|per ?cent\b)")
_MEASURED = re.compile(
    r"\d ?(?:[kcm]?[lmg]|kWh|tons?|tonnes?|[a-z]*(?:lit|met)(?:re|er)s?|[a-z]*grams?|gallons?|pints?|cups?|hours?)\b"
)


_TIME_COUNTED = re.compile(r"\bhow many (second|minute|hour|day|week|month)s\b", re.IGNORECASE)
_UNIT_OF_LABEL = re.compile(r"\(((?:second|minute|hour|day|week|month|year)s?)\): (\d[^;]*)")
_COST_ASKED = re.compile(
    r"\b(?:how much|what)\b[^?]*\b(?:costs?|pay|pays|paid|charged?|worth)\b"
    r"|how much (?:is|are|was|were) (?:(?:the|an?|one) )?(?-i:[A-Z])[\w-]*\W*$",
    re.IGNORECASE,
)
_REQUIRED = (*_pairs("required"), *OF_LIFE_AT)
_SUFFICIENT = (*_pairs("sufficient"), *BESIDE_DATES)
"""What a text must have, or may have alone, that answers a question."""


@cached_by_text(1_024)
def _beside(question: str, *, is_required: bool = False) -> tuple[re.Pattern[str], ...]:
    """What a text must have, or may have alone, to answer a question."""
    return tuple(said for asking, said in (_REQUIRED if is_required else _SUFFICIENT) if asking.search(question))


_CHANGED_BY = re.compile(r"\bby (?:[a-z]+ ){0,2}[\d.,]+ ?(?:%|per ?cent)")  # "raised by at most 3 percent"
# No number but of days and the like.
_ONLY_DAYS = re.compile(
    r"^(?=.*\d)(?:\D|\d+(?:\.\d+)*\.? (?=[A-Z])|\b\d+ (?:second|minute|hour|day|week|month|year)s?\b)*$"
)
_TIME_OF = re.compile(r"[\w.,-]+ (?:second|minute|hour|day|week|month|year)s? of ([a-z]+)")  # "two years of work"
_BARE_CELL = re.compile(r": [\d.,]+(?:;|$)")
_COST = re.compile(
    r"\b(?:cost|price|fee|fare|rent|pay|paid|worth|charge|free)\w*\b|\d (?:\w+ )?(?:crowns?|francs?|cents?|yen)\b"
)


def _has_extent(question: str, text: str) -> bool:
    """Whether a text has the measure that a question asks for: a length, a cost, days; a number alone does not answer."""
    unit = _TIME_COUNTED.search(question)
    if unit and not re.search(rf"\b{unit[1]}s?\b", text, re.IGNORECASE):
        return False
    if _COST_ASKED.search(question):
        is_sum = _SUM.search(text) or _COST.search(fold(text)) or _BARE_CELL.search(text)
        is_change = _CHANGED_BY.search(text) is not None and " by " not in question.lower()
        is_of_days = _ONLY_DAYS.search(text) is not None and not {*_NUMBER.findall(text)} <= {
            *_NUMBER.findall(question)
        }
        if not is_sum or is_change or is_of_days:
            return False
    if not all(said.search(text) for said in _beside(question, is_required=True)):
        return False
    lasting = _TIME_OF.match(text)
    if lasting and not statement(question).has(fold(lasting[1])):
        return False
    asked = _EXTENT_ASKED.search(question)
    if asked is None or (fold(asked[1]) == "high" and _SUM.search(text)):  # "how high is the fee?"
        return True
    return re.search(rf"\b(?:{_EXTENTS[fold(asked[1])]}|{_IS_OF})\b", text, re.IGNORECASE) is not None


def asks_for_several(question: str) -> bool:
    """Whether a question asks for more than one thing: "which bridges", "what are", "who were", "list", "name all".

    Examples
    --------
    >>> [asks_for_several(text) for text in ("Which bridges did she design?", "Who were its engineers?", "Which bus goes there?")]
    [True, True, False]
    """
    return _SEVERAL.search(question) is not None


def has_expected(kind: Expected, text: str, *, asked: Collection[str]) -> bool:
    """Whether a text contains something of a kind that the question does not contain.

    A person is a name (any word with a capital but the first); a place is a name after a preposition such as "in"; a time is a
    date, a duration, or a word such as "daily" or "before"; a number is in digits or a word; a reason follows a word such as
    "because" or "to", a frequency is "once", "every" or "a week". This is a heuristic.

    Parameters
    ----------
    kind : the expected kind of answer
    text : a text of the evidence
    asked : folded words of the question

    Returns
    -------
    bool
        True for every text if the question asks for no particular kind, or for a name and the text has no capitals.

    Examples
    --------
    >>> asked = {"bridge", "1931"}
    >>> [has_expected(Expected.TIME, text, asked=asked) for text in ("The bridge opened in 1931.", "The bridge fell in 1953.")]
    [False, True]
    """
    if kind in _BY_PATTERN:
        return _BY_PATTERN[kind].search(text) is not None
    if kind is Expected.ANY or (kind in _NAMED_KINDS and text == text.lower()):
        return True
    if kind is Expected.NAME and _QUOTED.search(text):
        return True
    if kind in (Expected.PERSON, Expected.NAME):
        names = [match[0] for match in _NAME.finditer(text) if not _begins_clause(text, match.start(), match.end())]
    else:
        pattern = {Expected.PLACE: _AFTER_PREPOSITION, Expected.TIME: _TIME, Expected.NUMBER: _NUMBER}[kind]
        names = [match[match.re.groups] for match in pattern.finditer(text)]
    folded = (fold(name).strip(".,").removesuffix("'s") for name in names)
    return any(word not in asked and not (kind in _NAMED_KINDS and word in _NOT_NAMES) for word in folded)


def _has_answer(question: str, kind: Expected, text: str, constraints: Constraints) -> bool:
    """Whether a text has something of the expected kind in the place where the question asks for it.

    Beside :func:`has_expected`, a person may be any noun right before the words of the question or after "by", and a place any
    noun after a preposition right after a word of it. A number must count what the question counts.
    """
    asked = {*map(fold, constraints.all), *content_set(question)}
    if (name := _defined(question)) is not None:  # "Ada Falk (1821-1868) was ...", "Marl: ..."
        head = _DEFINED.match(text)
        own = {*words(head[1])} if head else set[str]()
        is_defined = name == own or (head is not None and head[0][-1] != ":" and name < own)
        return is_defined and not (_OF_ROLE.match(question) and _IS_SO.match(text))
    if kind is Expected.TIME and not _OF_LIFE.search(question):
        text = _LIFE.sub("", text)
    match = _HOW_MANY.search(question)
    plain = _NO_COUNT.sub("", _IN_BRACKETS.sub("", text)) if match else text
    if is_row(text) and kind in _NAMED_KINDS:  # the label "price (EUR)" is no name
        plain = "; ".join(cell.partition(": ")[2] for cell in text.split("; "))
    if has_expected(kind, plain, asked=asked):
        counted_of = match.groups()[: 1 if is_row(text) else 2] if match else ()  # the heading of a row has the rest
        nouns = [noun for noun in counted_of if noun and fold(noun) not in LIGHT | STOP_WORDS]
        return _measured_noun(question, text, constraints) is not None or all(map(statement(plain).has, nouns))
    if kind is Expected.PERSON:
        by = Statements(match[1] for match in _BY_NOUN_PHRASE.finditer(text))
        is_done = echoes(question, text) or has_noun_that_acts(question, text)
        return is_done or any(map(by.has, constraints.words))
    if is_row(text):  # the cell under the label that is asked for
        cells = [cell.partition(": ")[::2] for cell in text.split("; ")]
        is_counted = kind in (Expected.NUMBER, Expected.TIME)
        labels = Statements(label for label, value in cells if not is_counted or any(map(str.isdigit, value)))
        return kind in _BY_NOUN.values() and any(map(labels.has, content_words(question)))
    if kind is Expected.PLACE:
        place = _WHERE.fullmatch(question.strip())
        before = Statements(match[1] for match in _LOWER_PLACE.finditer(text))
        is_there = place and (f": {fold(place[1])}: " in f": {fold(text)}" or _is_put(place[1], text))
        return bool(is_there or _STANDS.search(text) or _PATH.search(text)) or any(map(before.has, constraints.words))
    return False


def _is_put(thing: str, text: str) -> bool:
    """Whether a text says where a thing, or what a pronoun stands for, is put: "The key is kept in the office"."""
    put = _IS_PUT.search(text)
    before = content_set(text[: put.start()]) if put else frozenset()
    own = content_words(re.split(r" (?:of|on|in|for|at) ", thing, maxsplit=1)[0])
    return put is not None and (not before or all(map(Statements([" ".join(before)]).has, own)))


_TRADE_ASKED = re.compile(r"^what\b.*\b(?:occupation|profession|trade|job)(?: of (?-i:[A-Z])[^?]*)?\W*$", re.IGNORECASE)
_TRADE_SAID = re.compile(
    r"\b(?:occupation|profession|trade|job)s?(?: \([^()]*\))?(?::| (?:is|was|of|as)\b)|\bby (?:profession|trade)\b",
    re.IGNORECASE,
)
_TRADE = re.compile(
    r"(?!(?i:the|an?|his|her|their|its) )((?:[^;:,()\[\]]|(?>, [A-Z]{2,5}\b(?!,)|, [^,;:]*,(?= ))|\([^()]*\)|\[[^\[\]]*\])*?),?"
    r" (?:(?:is|was) (?:also )?an? |work(?:s|ed) as )"
    rf"(?!(?:[\w-]+ ){{0,2}}(?:{'|'.join(LISTS['no_trades'])})\b)"
    r"|([^,.;:]+), (?!(?:an?|the|who|which|and|or|is|was) )(?:[A-Za-z]+ ){0,3}[a-z]+(?: and [a-z]+)?(?= \(|[.;]|$)"
)


def _lacks_trade(question: str, text: str, constraints: Constraints) -> bool:
    """Whether a question asks what a person is by trade, and a text is not as "Ada Falk (born 1950) was a miller"."""
    if not _TRADE_ASKED.search(question) or _TRADE_SAID.search(text):
        return False
    match = _TRADE.match(text)
    subject = statement((match[1] or match[2] or "") if match else "")
    return not any(map(subject.has, constraints.names[-1:]))


_OF_MONEY = words_of("money") | {"money", "rent", "deposit", "interest"}
_HOW_MUCH = re.compile(r"\bhow much ([a-z]{3,})\b", re.IGNORECASE)


def _measured_noun(question: str, text: str, constraints: Constraints) -> str | None:
    """The noun after "how much" if a text with another word of the question has a quantity: "holds 4 litres" for "water"."""
    asked = _HOW_MUCH.search(question)
    unit = re.compile(MONEY) if asked and fold(asked[1]) in _OF_MONEY else _MEASURED
    is_measured = asked and unit.search(text) and has_itself(text, constraints, besides=(fold(asked[1]),))
    return fold(asked[1]) if asked and is_measured else None


# Port LAN 1, 192.168.7.1, the number of a clause, 18:00.
_NO_COUNT = re.compile(r"\b[A-Z]{2,} \d{1,2}\b|\b\d+(?:\.\d+){2,}|^\d+(?:\.\d+)*\.? (?=[A-Z])|\b\d{1,2}:\d{2}\b")
_VERSION_HEADING = re.compile(r"\bv?\d+(?:\.\d+)+\b")
_VERSION_ASKED = re.compile(r"\b(?:which|what|latest|current|newest) version\b(?! of the )", re.IGNORECASE)
_WHERE = re.compile(r"where(?:['’]s| is| are| (?:can|do) (?:I|we|you) find) (?:the )?([^?]{2,60})\?", re.IGNORECASE)
_OF_LIFE = re.compile(r"\b(?:born|birth\w*|di(?:e|ed)|dead|death|liv\w+|alive)\b", re.IGNORECASE)
# Of a person, which does not say when something else was.
_LIFE = re.compile(
    r"\((?:(?:born|b\.) [^()]{1,60}|[^()]{0,60}\b(?:1\d{3}|20\d\d)\b[^()]{0,20}[–-][^()]{0,60}\b(?:1\d{3}|20\d\d)\b[^()]{0,20})\)"
)
_NO_PART = r"(?!(?:of|in|on|at|by|for|from|to|with|that|which|and|or|the)\b)"
_DEFINITION_ASKED = re.compile(
    rf"(?i:(?P<asked>what|who)(?:['’]s| is| are| was| were)) (?P<the>the )?(?:an? )?"
    rf"(?P<name>[\w.'’-]+(?: {_NO_PART}[\w.'’-]+){{0,3}})\?"
)
_NO_NAME = re.compile(r"(?:ing|ed|est|first|last|most)$")
_SAYS_WHAT = (
    r"(?:\s?\([^()]*\)| \[[^\[\]]*\]|, (?!who|which|that)[^,.;:()]{1,60},(?= (?:is|are|was|were)\b))?"
    r"(?:,? (?:is|are|was|were|means|stands for|refers to)\b(?! not\b)|:|, (?:an?|the) |\s[–—-]\s)"
)
_OF_ROLE = re.compile(r"who (?:is|are|was|were) the ", re.IGNORECASE)
_IS_SO = re.compile(
    r"(?:[\d.]+ )?[^.;:,(]*? (?:is|are|was|were) (?!(?:an?|the|one|its|his|her|their|our)\b)[a-z]"  # "the client is liable"
)
_DEFINED = re.compile(rf"(?:(?:the|an?) )?([\w.'’-]+(?: [\w.'’-]+){{0,5}}?){_SAYS_WHAT}", re.IGNORECASE)


def _defined(question: str) -> set[str] | None:
    """The words of the one name of which a question asks what or who it is; None for other questions.

    Examples
    --------
    >>> _defined("What is marl?"), _defined("Who was the mayor?"), _defined("What is Ada Falk's trade?")
    ({'marl'}, None, None)
    """
    asked = _DEFINITION_ASKED.fullmatch(question.strip())
    if asked is None or re.search(r"['’]s? ", asked["name"]):  # what one has is no name
        return None
    parts = asked["name"].split()
    is_name = all(part[0].isupper() for part in parts)
    is_open = asked["the"] or asked["asked"].lower() == "who"
    known = {*words(asked["name"])}
    is_bare = known.isdisjoint(STOP_WORDS) and not any(map(_NO_NAME.search, parts))
    return known if is_bare and (is_name or not is_open) else None


def _begins_clause(text: str, start: int, end: int) -> bool:
    """Whether a word has a capital only since it is the first of a text, or of a clause after a colon, and begins no name."""
    is_first = not start or (text[:start].endswith(": ") and text[end + 1 : end + 2].islower())
    return is_first and not text[end + 1 : end + 2].isupper()


# The choice of the fewest pieces that cover a question.

MOST = 5
"""Maximum number of pieces of an answer without a model."""

# Parts of the score of a piece, beside its relevance of 0 to 1. Chosen by hand on questions of six public sets.
_KIND, _RANK, _JOINT, _OWN = 0.4, 0.5, 1.0, 0.5
_NAMED = 0.3  # taken off for the names of the question: they say what a piece is about, not that it answers
_FITS, _LACKS = 0.4, 0.6  # where a piece answers alone; chosen by hand
_CLOSE = 1.0  # for the cosine of such a piece
_GAP = 0.15  # what its cosine may be below the highest one
_SHORT = 3
_OTHER = 1.0  # taken off for what says something else with the words of the question
_WHICH = re.compile(r"\b(?:[Ww]hich|[Ww]hat) ([a-z]+)")
_DEFINITE = re.compile(
    r"\b(?i:the|its|his|her|their|this|that) "
    r"(?=([a-z]{3,})\b(?! (?:of|for|in|on|at|by|near|behind|under|with|that|which|called|named|is|was|are|were|[a-z]+ [A-Z]+-?\d"
    r"|[A-Z\d\"“‘'`-])))"
)
_OF_CAUSE = word_set("cause causes caused reason reasons")
_OFFERS = word_set("offer offers include includes provide provides serve serves")
_QUANTITIES = words_of("quantities")
_REFERS_BACK = re.compile(r"(?:It|Its|They|Their|These|This)\b(?! \[)")
_FIRST_NOUN = re.compile(
    r"(?:The|An?|Our|Your) ((?:[a-z-]+ (?=[a-z-]+ (?:is|are|was|were|has|have|will|can|must|may)\b))?[a-z-]{3,})"
)
_CONTENTS = re.compile(r"what\b(?! (?:is|are|was|were) (?:the|an?)\b)", re.IGNORECASE)
_FRAGMENT = 2.0  # taken off for what can't answer alone: a lead-in, or a fragment of three words
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_NAME_RUN = re.compile(rf"{_NAME.pattern}(?: {_NAME.pattern})*")
_ADJECTIVE = re.compile(r"(?:ary|al|ic|ive|ous|ful|less|able|ible|ed|est|ish|ant|ent)$")
_HE_OR_SHE = re.compile(r"(?:He|She)\b(?! \[)")
_CLOSE_COVER = 0.6  # a question about several things is also answered by pieces with this share of the best score
_PARAGRAPH_GAP = 2  # characters between the last sentence of a paragraph and the next one
_FIRSTS = 5  # of the best pieces, one becomes the first: by its score, less this for all that its chain leaves unmet
_SAME = 0.8
_COMPOUND = re.compile(r"\band\s+(?:who|whom|whose|what|where|when|which|how|why)\b|\?.*\?", re.IGNORECASE | re.DOTALL)
# A question that names its subject by way of another thing: the designer of the Halfmoon Bridge, the person who built it.
_JOINS = re.compile(
    r"['’]s\b|(?<=\w )(?:that|who|whom|whose|which|where|when)\b"
    rf"|[a-zß-öø-ÿ]\s+(?:of|by|from|for|in|at|on)\s+(?:the\s+)?(?:[a-zß-öø-ÿ]+\s+)?"
    rf"(?!(?i:{'|'.join((*MONTHS, *DAYS))})s?\b)[^\W\d_a-zß-öø-ÿ\s]"
    r"|\b(?:of|by|from)\s+(?:the|an?|what|which)\s+[a-zß-öø-ÿ]"
)
# "Who is the mayor of Tarn?" names one thing only.
_ONE_STEP = re.compile(
    r"(?:who|what)\s+(?:is|was|are|were)\s+(?:the\s+)?(?:(?!of|by|from|that|who|which|in|for)[\w’-]+\s+){1,3}of\s+(?:the\s+)?"
    r"(?-i:[^\W\d_a-zß-öø-ÿ][\w’-]*)(?:\s+(?-i:[^\W\d_a-zß-öø-ÿ\s][\w’-]*))*\W*",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\W*(?:\S+\s+){2,}?(?=(?:that|who|whom|whose|which|where|when)\b)")
# What a name identifies: "director of the film Atomised", "Herzog's documentary".
_BESIDE_NAME = re.compile(
    r"[a-zß-öø-ÿ]+\s+(?:of|by|from|for|in|at|on)\s+(?:the\s+)?(?:[a-zß-öø-ÿ]+\s+){0,3}(?:[^\W\d_a-zß-öø-ÿ][\w'’-]*\s*)+"
    r"|[^\W\d_a-zß-öø-ÿ][\w-]*['’]s?(?:\s+[a-zß-öø-ÿ]+)?"
)
_DEFINES = re.compile(r"(?:\S+\s+){1,8}?(?:\([^)]*\)\s+)?(?:is|was|are|were)\s+(?:an?|the|one)\b")
_ASIDE = re.compile(r"\(.*?\)|\s[-–—|]\s.*")


class Chosen(NamedTuple):
    """The pieces of an answer.

    Attributes
    ----------
    places : their places in the evidence, the answering one first
    uncovered : constraints of the question that none of them meets (:class:`hlgraph.answer.constraints.Constraints`)
    has_kind : the first has what the question asks for: a time, a number, a name or a place
    lacking : words of the question that the first has neither itself nor in its context (:meth:`_Pool.selection`), though
        another one may; none if the question asks for several things
    is_named : the question has names or numbers, and the first has all of them
    """

    places: tuple[int, ...]
    uncovered: tuple[str, ...]
    has_kind: bool
    lacking: tuple[str, ...] = ()
    is_named: bool = False

    @property
    def is_covered(self) -> bool:
        """Whether they meet all constraints, and the first is of the expected kind and about what the question names."""
        return bool(self.places) and not self.uncovered and self.has_kind and not self.lacking


def chosen(
    question: str,
    evidence: Sequence[Evidence],
    *,
    relevance: Sequence[float | None],
    cosines: Sequence[float] = (),
    most: int = MOST,
) -> Chosen:
    """The fewest pieces that cover what is asked: the one that answers, and what connects it with the rest of the question.

    With the constraints ``w`` of the question and the pieces ``p``, ``idf(w) = ln(1 + (n - df(w) + 0.5) / (df(w) + 0.5))`` over
    the ``n`` pieces weighs the constraints: one that all pieces meet does not tell them apart. A piece is *led to* by another
    that names its title, which the question does not. The score of a piece is its relevance, minus 1 if it says something else
    with the words of the question (:mod:`hlgraph.answer.constraints`), and minus 2 for a lead-in that ends in a colon, or a
    fragment of at most three words. If the question names its subject without another thing, add its cosine to the question, 0.4 if
    it has the expected kind of answer (:func:`hlgraph.answer.extractive.expected`) and a cosine of at most 0.15 below the highest
    one, 0.4 if it has the noun after "which" or "what", and subtract 0.6 times the share of the constraints that it does not meet.
    Otherwise add

    - 0.4 for the kind, 0.4 for the noun, and ``0.5 / (1 + rank)``,
    - 0.5 times the share of the constraints that it meets,
    - the share of the constraints that it meets together with the best piece that leads to it,

    and subtract 0.3 times the share of the names in its text and title.

    1. Each of the five best pieces begins a chain; the one with the best beginning is taken: of those that cover the question, if
       any do. If the question names its subject by way of another thing, the share of the constraints that a chain leaves unmet is
       taken off; and the first of the answer is the piece of the chain with the highest score once the words that are no names
       count fully, and the other constraints not at all, or one that has all that is asked, if that is a time or a number, or the
       chain is of one source. Pieces that add nothing to the first are left out.
    2. A chain grows while constraints are unmet: the connected piece that meets most of their weight follows, one of the same
       source, or one that leads to a piece of the chain or is led to by it; any piece if the question is made of two.
    3. If the question asks for several things, pieces with at least 60 % of the best score are added.

    Takes time quadratic in the number of pieces, linear in their length.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    relevance : of each piece to the question, from 0 to 1; None: the share of the question's words that it has
    cosines : of each piece to the question; empty (default): none is known
    most : maximum number of pieces (default 5)

    Returns
    -------
    Chosen
        No places without evidence. Ties go to the better rank.
    """
    constraints = constraints_of(question)
    if not evidence:
        return Chosen((), constraints.all, has_kind=False)
    pool = _Pool(question, evidence, constraints=constraints, relevance=relevance, cosines=cosines)
    selections = (pool.selection(places, constraints) for places in pool.ranked(most))
    best = next(selections)
    covering = (other for other in selections if other.is_covered and pool.is_named[other.places[0]])
    return best if best.is_covered else next(covering, best)


class _Pool:
    """The pieces with their scores and connections."""

    def __init__(
        self,
        question: str,
        evidence: Sequence[Evidence],
        *,
        constraints: Constraints,
        relevance: Sequence[float | None],
        cosines: Sequence[float],
    ) -> None:
        bodies = [body_of(piece) for piece in evidence]
        self.is_row = [is_row(text) for text in bodies]
        self.defines = [_DEFINES.match(text) is not None for text in bodies]
        self.said = [content_set(piece.text) for piece in evidence]
        self.titles = [content_set(_ASIDE.sub("", piece.source.title)) for piece in evidence]
        self.sources = [piece.source.id for piece in evidence]
        self.asked = {*map(fold, constraints.all), *content_words(question)}
        self.kind, self.is_plural = expected(question), asks_for_several(question)
        self.question, self.evidence, self.is_compound = question, evidence, _COMPOUND.search(question) is not None
        self.may_join = _JOINS.search(question) is not None or self.is_compound
        whole = [self._with_subject(at, text) for at, text in enumerate(bodies)]
        self.has_kind = np.array([self._answers(text, constraints) for text in whole])
        has_noun, unnamed = self._nouns(bodies)
        self.has_kind &= ~np.array(unnamed)
        questions = [question_of(piece, evidence) for piece in evidence]
        self.replies = [
            bool(asked) and not statement(asked, *places_of(piece)).unmet(constraints)
            for asked, piece in zip(questions, evidence, strict=True)
        ]
        own = _met(constraints.all, [statement(text) for text in bodies])
        own[self.replies] = True
        # The title alone asserts nothing; a heading may be the label of what is below it, as in "Guarantee: Three years".
        joint = np.array([" and " in "".join(one.headings[-1:]) * len(constraints.telling) for one in evidence], bool)
        labels = _met(constraints.words, [statement(" ".join(piece.headings[-1:])) for piece in evidence])
        labels &= ~(joint[:, None] | _met(constraints.words, [statement(piece.source.title) for piece in evidence]))
        tell = own[:, [one not in _OF_CAUSE for one in constraints.all]].any(axis=1)
        tell &= ~joint | own[:, [one in constraints.telling for one in constraints.all]].any(axis=1)
        self.has_kind &= tell | labels.any(axis=1) | np.array(has_noun, bool) | (not constraints.all)
        self.around = [context_of(piece, evidence, constraints=constraints) for piece in evidence]
        said = [statement(piece.text, *places) for piece, places in zip(evidence, self.around, strict=True)]
        in_range = [within_range(question, text) for text in bodies]
        alone = {number for number, times in Counter(each for own in in_range for each in own).items() if times == 1}
        self.in_range = [own & alone for own in in_range]
        self.has = _met(constraints.all, said) | np.array(self.replies)[:, None]
        beside = [own.union(self._subject_before(at)) for at, own in enumerate(self.in_range)]
        inside = [[one in own for one in constraints.all] for own in beside]
        self.has |= np.array(inside, bool).reshape(self.has.shape)
        is_name = self._are_names(constraints)
        self.has_names, self.is_named = any(is_name), [bool(row.all()) for row in self.has[:, is_name]]
        self.is_foreign = [self.has_names and not row.any() for row in self.has[:, is_name]]
        self.is_other = [not is_yes_no(question) and _is_other(question, piece) for piece in evidence]
        self.telling = np.array([weight(one) for one in constraints.all])
        self.weights = _shares(self.has, self.telling)
        known = np.array([np.nan if each is None else each for each in relevance])
        relevant = np.where(np.isnan(known), own.mean(axis=1) if len(constraints.all) else 0.0, known)
        is_bare = [_is_fragment(text, constraints) and not counted(question, text) for text in bodies]
        relevant = relevant - _FRAGMENT * np.array(is_bare) - _OTHER * np.array(self.is_other)
        if not self.may_join and cosines:
            relevant = relevant + _CLOSE * np.array(cosines)
            self.has_kind &= np.array(cosines) >= max(cosines) - _GAP
        self.scores, self.asking = self._scores(relevant, own, has_noun, constraints)

    def _scores(
        self, relevant: NDArray[np.float64], own: NDArray[np.bool_], has_noun: Sequence[bool], constraints: Constraints
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The score of each piece, and its score once the words that are no names count fully (:func:`chosen`)."""
        if not self.may_join:
            total = self.telling.sum() or 1.0
            lacks = ~self.has @ self.telling / total
            scores = (relevant + _FITS * (self.has_kind + np.array(has_noun, float)) - _LACKS * lacks).round(9)
            return scores, scores
        names, others = len(constraints.names), own.shape[1] - len(constraints.words)
        met = _OWN * own @ _shares(own, self.telling)
        features = (
            (_KIND, self.has_kind & (self.kind is not Expected.ANY)),
            (_KIND, has_noun),
            (_RANK, 1 / (1 + np.arange(len(own)))),
            (_JOINT, self._joint()),
            (-_NAMED, self.has[:, :names].mean(axis=1) if names else np.zeros(len(own))),
        )
        scores = relevant + met + sum(factor * np.asarray(values, np.float64) for factor, values in features)
        asked_for = own[:, others:] @ _shares(own[:, others:], self.telling[others:])
        return scores.round(9), (scores + asked_for - met).round(9)

    def _with_subject(self, at: int, text: str) -> str:
        """A text after the sentence to which its first word, "he" or "she", refers, if a question asks who did something."""
        if self.kind is not Expected.PERSON or not _HE_OR_SHE.match(text):
            return text
        last = next((body_of(one) for one in self.evidence if is_before(one, self.evidence[at])), "")
        runs = set(_NAME_RUN.findall(_IN_BRACKETS.sub("", last)))
        names = [run for run in runs if not {*words(run)} <= self.asked | STOP_WORDS]
        return f"{last} {text}" if len(names) == 1 else text

    def _nouns(self, bodies: Sequence[str]) -> tuple[list[bool], list[bool]]:
        """Which texts have the noun after "which" or the measure that is asked for, and which have it without a name."""
        noun = _WHICH.search(self.question)
        unnamed = [noun is not None and self._is_unnamed(noun[1], text) for text in bodies]
        if measured := _EXTENT_ASKED.search(self.question):
            measures = {fold(measured[1]), *measured_by(fold(measured[1]))}
            return [not measures.isdisjoint(words(text)) for text in bodies], unnamed
        has = [
            noun is not None and noun[1] not in LIGHT | _OF_CAUSE and statement(text).has(noun[1]) for text in bodies
        ]
        return [has_it and not bare for has_it, bare in zip(has, unnamed, strict=True)], unnamed  # "the river flows"

    def _is_unnamed(self, noun: str, text: str) -> bool:
        """Whether a text has a noun only with an article and without a name; a quantity is told by its number."""
        if (of := re.search(rf"\b{noun} ([a-z]{{3,}})\b", self.question)) and f"{noun} {of[1]}" in fold(text):
            return False
        is_told = noun in _QUANTITIES and has_expected(Expected.NUMBER, text, asked=self.asked)
        if re.search(rf": .*\bthis {noun}\b", text):  # the label in front names it
            return False
        is_bare = re.search(rf"\ban? {noun}(?=[.,;]|$| (?:out|away|off|back|and|or|was|is)\b)", text) is not None
        return (is_bare or noun in _DEFINITE.findall(text)) and text.count(noun) == 1 and not is_told

    def _answers(self, text: str, constraints: Constraints) -> bool:
        """Whether a text has what the question asks for."""
        text = _UNIT_OF_LABEL.sub(r"\2 \1", text)
        if not _has_extent(self.question, text) or names_only(self.question, text):
            return False
        if _lacks_trade(self.question, text, constraints):
            return False
        if _VERSION_ASKED.search(self.question) and not has_expected(Expected.NUMBER, text, asked=self.asked):
            return False
        is_sufficient = any(said.search(text) for said in _beside(self.question))
        is_none = counted(self.question, text) == "none"
        return is_sufficient or is_none or _has_answer(self.question, self.kind, text, constraints)

    def _are_names(self, constraints: Constraints) -> list[bool]:
        """Which constraints are names or numbers; if none, the words of titles: people write names in small letters."""
        subjects = () if constraints.all != constraints.words else set[str]().union(*self.titles) - LIGHT
        return [word not in constraints.words or word in subjects for word in constraints.all]

    def ranked(self, most: int) -> list[tuple[int, ...]]:
        """The places of the pieces of each chain, the answering one first; the best chain first."""
        best = sorted(range(len(self.scores)), key=lambda at: -self.scores[at])
        chains = [self._chain(at, most) for at in best[:_FIRSTS]]
        if self.may_join:
            chains.sort(
                key=lambda chain: -(self.scores[chain[0]] - float(self.weights @ ~self.has[chain].any(axis=0))).round(9)
            )
        return [self._filled(chain, best, most) for chain in chains]

    def _filled(self, chain: Sequence[int], best: Sequence[int], most: int) -> tuple[int, ...]:
        """A chain with the answering piece first, and if several things are asked for, with further pieces."""
        is_sure = self.kind in (Expected.TIME, Expected.NUMBER) or len({self.sources[at] for at in chain}) == 1
        is_whole = self.has.all(axis=1) & self.has_kind & ~np.array(self.is_other)
        first = chain[0]
        if self.may_join:
            first = max(chain, key=lambda at: (is_sure and is_whole[at], self.asking[at], -at))
        is_enough = not self.is_compound and bool((self.has[first] >= self.has[chain].any(axis=0)).all())
        others = [] if is_enough else [at for at in chain if at != first]
        if not self.may_join and self.is_named[first]:
            others = [at for at in others if not self.is_foreign[at]]
        places = [first, *others]
        if self._with_subject(first, text := body_of(self.evidence[first])) != text:
            before = [at for at, one in enumerate(self.evidence) if is_before(one, self.evidence[first])]
            places += [at for at in before if at not in places]
        if items := self._items_beside(first):
            return tuple(items)
        while self.is_plural and len(places) < most:
            close = [at for at in best if self.scores[at] >= _CLOSE_COVER * self.scores[first]]
            free = [at for at in close if at not in places and not self._repeats(at, places)]
            free = [at for at in free if not self.is_row[at] or bool((self.has[at] >= self.has[first]).all())]
            free = [at for at in free if self.may_join or not self.is_foreign[at] or not self.is_named[first]]
            if not free:
                break
            places.append(free[0])
        return tuple(places)

    def _items_beside(self, at: int) -> list[int]:
        """The items of a list in their order, if what is asked stands in their lead-in or heading alone; else empty."""
        asks = self.is_plural or _CONTENTS.match(self.question) is not None
        lead = _lead_of(self.evidence[at], constraints_of(self.question)) if asks and not self.is_row[at] else ""
        same = [one for one, source in enumerate(self.sources) if lead and source == self.sources[at]]
        texts = {one: self.evidence[one].text for one in same}
        items = [one for one, text in texts.items() if text.startswith(f"{lead}: ") and not text.endswith(".")]
        return sorted(items, key=lambda one: self.evidence[one].start)

    def selection(self, places: tuple[int, ...], constraints: Constraints) -> Chosen:
        """What a chain of pieces leaves unmet, and whether it has what is asked."""
        around = [part for at in places for part in self.around[at]]
        said = Statements((self.evidence[at].text for at in places), places=around)
        excused = self._excused(places[0], constraints)
        uncovered = tuple(one for one in said.unmet(constraints) if one not in excused)
        lacking = self._lacking(constraints, places, excused.union(uncovered))
        is_named = self.has_names and self.is_named[places[0]]
        return Chosen(places, uncovered, bool(self.has_kind[places[0]]), tuple(sorted(lacking)), is_named)

    def _lacking(self, constraints: Constraints, places: Sequence[int], excused: Collection[str]) -> Collection[str]:
        """What the first of an answer, in its context, lacks of a question, but for what identifies its subject.

        Its context is the sentence before it, the first line of its source, and the definition of the subject of its source. Other
        pieces may have what stands in a relative clause and, if one of them leads to it, what stands beside a name ("the director
        of Atomised").
        """
        if self.is_plural or self.is_compound:
            return ()
        first, question = places[0], self.question
        context = [first, *(at for at in range(len(self.evidence)) if self._is_context(at, first))]
        said = Statements((self.evidence[at].text for at in context), places=self.around[first])
        lacks = {*said.unmet(constraints)}.difference(excused)
        relative = _RELATIVE.match(question)
        asked = question[: relative.end()] if relative else question
        noun = _WHICH.search(question)
        is_led = self._is_led_to(first, places[1:], {*lacks} & {*constraints.names})
        if is_led and not _ONE_STEP.fullmatch(question.strip()):
            core = content_set(_BESIDE_NAME.sub(" ", asked)) & {*constraints.telling} - {noun[1] if noun else ""}
            return core if core <= lacks else ()
        if not relative and not lacks.issubset(constraints.words):
            return lacks
        return lacks & {*content_words(asked), *_WORD.findall(asked)}

    def _excused(self, at: int, constraints: Constraints) -> set[str]:
        """What a piece need not have of a question.

        - The words that its source is about, if it has another word of the question itself.
        - A month or a day in a range that it states, a number in one that no other piece states.
        - The noun of "how much" beside a quantity.
        - The first word of a compound that another piece of its source has in full: "the unit" for "the mast unit".
        - One word beside the label of a row that is asked for: "At which berth does Selkie lie?"
        """
        piece = self.evidence[at]
        body, noun = body_of(piece), _WHICH.search(self.question)
        excused = of_source(piece, self.evidence, constraints=constraints)
        excused |= {*constraints.all} if self.replies[at] else set[str]()
        excused |= {_measured_noun(self.question, body, constraints) or ""}
        excused |= {name for name in constraints.names if is_within([name], body)}
        excused |= {*self._bare_compounds(at), *self.in_range[at], *self._subject_before(at)}
        excused |= _OFFERS if ticked(self.question, body) else set[str]()
        extents = [word for word in constraints.words if f"how {word} " in self.question.lower()]  # "loud" of a noise
        excused |= {word for word in extents if not {*measured_by(word)}.isdisjoint(words(body))}
        rest = [word for word in constraints.telling if word not in excused and not statement(body).has(word)]
        asked = noun[1] if noun and noun[1] not in STOP_WORDS else ""
        is_dated = asked == "version" or self.question.startswith("When ")
        if is_dated and any(map(_VERSION_HEADING.search, piece.headings)):
            excused |= {"version", "released", "release"} & {*constraints.words}
        labels = [re.escape(asked)] if asked else [re.escape(number) for number in constraints.numbers if is_row(body)]
        is_labelled = any(re.search(rf"\b{label}\b[^;:]*: ", fold(body)) for label in labels)
        said = [word for word in constraints.telling if word not in rest]
        is_sure = self.is_named[at] if self.has_names else len(said) >= FEWEST_MET
        if len(rest) == 1 and is_labelled and is_sure:
            excused |= {*rest}
        return excused

    def _subject_before(self, at: int) -> list[str]:
        """The words of the question in the common noun with which the sentence before begins, if a pronoun refers to it."""
        if not _REFERS_BACK.match(body_of(self.evidence[at])):
            return []
        last = next((body_of(one) for one in self.evidence if is_before(one, self.evidence[at])), "")
        noun = _FIRST_NOUN.match(last)
        return [word for word in content_words(self.question) if noun and statement(noun[1]).has(word)]

    def _bare_compounds(self, at: int) -> Iterator[str]:
        """The first words of compounds of the question of which a piece has only the second, after an article."""
        body = fold(body_of(self.evidence[at]))
        own = [piece for piece in self.evidence if piece.source.id == self.sources[at]]
        for one, other in pairwise(words(self.question)):
            is_bare = re.search(rf"\b(?:the|an?|this|your|its) {re.escape(other)}\b", body) is not None
            if is_bare and one not in STOP_WORDS and not _ADJECTIVE.search(one):
                yield from (one for piece in own if f"{one} {other}" in fold(piece.text))

    def _is_led_to(self, first: int, places: Sequence[int], names: Collection[str]) -> bool:
        """Whether pieces lead to the first one, by way of others or not, and they have the names that the first lacks."""
        reached, leading = [first], list[int]()
        while reached:
            target = reached.pop()
            nearer = [at for at in places if at not in leading and self._leads(at, target)]
            leading += nearer
            reached += nearer
        around = [part for at in leading for part in places_of(self.evidence[at])]
        said = Statements([self.evidence[at].text for at in leading], places=around)
        return bool(leading) and all(map(said.has, names))

    def _is_context(self, at: int, first: int) -> bool:
        """Whether a piece is the sentence before the first one in its paragraph, or defines the subject of its source."""
        one, other = self.evidence[at], self.evidence[first]
        if self.sources[at] != self.sources[first] or self.is_other[at]:
            return False
        return (is_before(one, other) and other.start - one.end < _PARAGRAPH_GAP) or (
            self.kind is not Expected.TIME and self.defines[at] and self.titles[at] <= content_set(body_of(one))
        )

    def _chain(self, first: int, most: int) -> list[int]:
        """A piece and the connected pieces that meet what it leaves unmet."""
        chain = [first]
        while len(chain) < most:
            gains = (self.has @ (self.weights * ~self.has[chain].any(axis=0))).round(9)
            gaining = [at for at in np.flatnonzero(gains).tolist() if not self._repeats(at, chain)]
            adding = [at for at in gaining if self.is_compound or any(self._are_connected(at, one) for one in chain)]
            if not adding:
                break
            chain.append(max(adding, key=lambda at: (gains[at], self.scores[at], -at)))
        return chain

    def _joint(self) -> NDArray[np.float64]:
        """For each piece the greatest share of the constraints that it meets together with a piece that leads to it."""
        joint = np.zeros(len(self.titles))
        for other in range(len(joint)):
            leading = [one for one in range(len(joint)) if one != other and self._leads(one, other)]
            if leading:
                joint[other] = ((self.has[leading] | self.has[other]) @ self.weights).max()
        return joint

    def _repeats(self, at: int, places: Sequence[int]) -> bool:
        words = self.said[at]
        share = 1.0 if self.is_row[at] else _SAME  # rows are alike
        return any(len(words & self.said[one]) >= share * min(len(words), len(self.said[one])) for one in places)

    def _are_connected(self, one: int, other: int) -> bool:
        return self.sources[one] == self.sources[other] or self._leads(one, other) or self._leads(other, one)

    def _leads(self, one: int, other: int) -> bool:
        """Whether ``other`` is about something that ``one`` names, and the question does not."""
        title = self.titles[other]
        if not title or not title <= self.said[one] or title <= self.asked or title <= self.titles[one]:
            return False
        written = _ASIDE.sub("", self.evidence[other].source.title).strip()
        return len(title) > 1 or (not written.islower() and written in self.evidence[one].text)  # no minutes.txt


def _met(constraints: Sequence[str], statements: Sequence[Statements]) -> NDArray[np.bool_]:
    """Which statements (rows) meet which constraints (columns)."""
    met = [[said.has(one) for one in constraints] for said in statements]
    return np.array(met, dtype=bool).reshape(len(statements), len(constraints))


def _shares(met: NDArray[np.bool_], telling: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of each constraint: its rarity among the pieces, times how much it tells; together 1."""
    idf = rarity(met) * telling
    return idf / idf.sum() if len(idf) else idf


def _lead_of(piece: Evidence, constraints: Constraints) -> str:
    """The lead-in or heading before an item of a list, if it has what is asked and the item has not; else empty."""
    lead, colon, rest = piece.text.rpartition(": ")
    own, around = statement(rest), statement(" ".join((lead.removeprefix(piece.source.title), *piece.headings[-1:])))
    is_apart = colon and not rest.endswith(".") and not any(map(own.has, constraints.words))
    return lead if is_apart and any(map(around.has, constraints.telling or constraints.words)) else ""


def _is_fragment(text: str, constraints: Constraints) -> bool:
    """Whether a text can't answer alone: a lead-in, or at most three words without a label that is asked for ("language: Go")."""
    if text.rstrip().endswith((":", "：")):
        return True
    if len(text.split()) > _SHORT:
        return False
    label = text.rpartition(": ")[0]
    measures = {measure for word in constraints.words for measure in measured_by(word)}
    return not has_itself(label, constraints) and measures.isdisjoint(words(label))


NOT_FOUND = "Nothing in the corpus answers this."
_LEAST_COSINE = 0.25
_FAR = 0.45
_FEW, _SHORT_QUESTION = 2, 16
FEWEST_MET = 2  # constraints that are met: such a question is not refused for want of a close piece


def extractive_answer(
    question: str,
    evidence: Sequence[Evidence],
    *,
    sentences: int = MOST,
    calibration: Calibration | None = None,
    refuse: bool = True,
    embedder: Embedder | None = None,
) -> Answer:
    """The fewest pieces of evidence that answer the question, as sentences with ``[n]``, the answering one first.

    A piece is considered when it shares a content word with the question, or its cosine to the question is at least 0.25,
    fitted to the scale of the corpus; :func:`chosen` chooses among them. The answer is supported if its pieces meet every
    constraint of the question (names, numbers, telling words), and the first has the kind of answer that it asks for. The first
    has them itself, or in the sentence before it or the definition of the subject of its source, but for what stands in a
    relative clause, or beside a name in another source that leads to it ("the designer of the bridge"). Names may stand in what
    it refers back to, and in the first lines or the headers of its source (:func:`hlgraph.answer.forms.context_of`); what its
    source is about, or its units and labels state, it need not repeat. Otherwise the text says
    why: which constraints no statement meets (first if they are one or two names or numbers of a short question, else last), or
    what the first piece does not say. Words
    without which the question means the same to the embedder (:func:`hlgraph.answer.constraints.is_slight`) need not be met. The
    answer is refused if it is not supported, no piece has a cosine of at least 0.45, and the first lacks a name or a number of the
    question, or the question has none; without cosines nothing is refused for
    this reason. Questions of yes or no (by a piece with a cosine of at most
    0.15 below the highest one), comparisons and counts get their form (:mod:`hlgraph.answer.forms`).

    Parameters
    ----------
    question : text of the question
    evidence : best first
    sentences : maximum number of pieces (default 5)
    calibration : the scale of the cosines of the corpus; None: that of the shipped embedder
    refuse : whether a question that is neither covered nor close to any piece is refused (default True)
    embedder : the embedder of the corpus, for words that may be unmet; called at most once, and only if cosines are known; None
        (default): all must be met

    Returns
    -------
    Answer
        ``NOT_FOUND`` if no piece is about the question. ``uncovered`` names the constraints that no piece meets.
    """
    plain = rephrased(question)
    answer = _extracted(plain, evidence, most=sentences, calibration=calibration, refuse=refuse, embedder=embedder)
    return answer if plain == question else replace(answer, question=question)


def _extracted(
    question: str,
    evidence: Sequence[Evidence],
    *,
    most: int,
    calibration: Calibration | None,
    refuse: bool,
    embedder: Embedder | None,
) -> Answer:
    """The answer to a question without phrases, see :func:`extractive_answer`."""
    asked = content_set(question)
    about = [
        piece
        for piece in evidence
        if (content_set(piece.text) and is_about(asked, piece, calibration=calibration))
        or not asked.isdisjoint(content_set(question_of(piece, evidence)))
    ]
    cosines = [cosine_of(piece, calibration) for piece in about]
    relevance = [relevance_of(piece, cosine) for piece, cosine in zip(about, cosines, strict=True)]
    by_value = comparison(question, about)
    if by_value is not None:
        return by_value
    known = [cosine for cosine in cosines if cosine is not None]
    least = max(known, default=0.0) - _GAP
    close = [least if cosine is None else cosine for cosine in cosines]
    selection = chosen(question, about, relevance=relevance, cosines=close, most=most)
    wanted = compared(question)
    if not about:
        return Answer(question, NOT_FOUND, (), is_supported=False)
    if wanted is not None and not wanted.is_claim:
        selection = selection._replace(has_kind=False)
    pieces = [about[at] for at in selection.places]
    answer = joined(question, [pieces])
    if is_yes_no(question):
        near = [piece for piece, cosine in zip(about, close, strict=True) if cosine >= least]
        if decided := _decided(question, pieces, near, about=about, uncovered=selection.uncovered):
            return decided
        selection = selection._replace(has_kind=False)
    is_far = bool(known) and max(known) < _FAR
    is_met = not selection.uncovered and len(constraints_of(question).all) >= FEWEST_MET
    is_far = is_far and not selection.is_named and not is_met
    if refuse and is_far and (selection.uncovered or not selection.has_kind):
        return Answer(question, NOT_FOUND, (), is_supported=False, uncovered=selection.uncovered)
    unmet = (*selection.uncovered, *selection.lacking)
    if known and embedder and is_slight(question, unmet, embedder=embedder, calibration=calibration):
        selection = selection._replace(uncovered=(), lacking=())
    is_denied = _is_other(question, pieces[0])
    count = counted(question, body_of(pieces[0]))
    if count and selection.is_covered and not is_denied:
        return headed(answer, count)
    is_supported = selection.is_covered and not is_denied
    return replace(answer, is_supported=True) if is_supported else _unsupported(answer, selection, about)


def _unsupported(answer: Answer, selection: Chosen, about: Sequence[Evidence]) -> Answer:
    """An answer with the reason why it is not supported: first if it is one or two names or numbers of a short question."""
    question, unmet = answer.question, selection.uncovered
    is_elsewhere = any(statement(piece.text).has(one) for piece in about for one in unmet)
    named = lacking(unmet, of="No cited statement" if is_elsewhere else "No statement") if unmet else ""
    reason = named or _reason(question, selection)
    parts = (reason, answer.text)
    text = " ".join(parts if _comes_first(question, unmet) else reversed(parts))
    return replace(answer, text=text, is_supported=False, uncovered=unmet, reason=reason)


_UNSAID = {Expected(kind): said for kind, _, said in (line.partition(": ") for line in LISTS["unsaid"])}
_HOW = re.compile(r"\bhow [a-z]+", re.IGNORECASE)


def _reason(question: str, selection: Chosen) -> str:
    """One sentence that says why the first statement of an answer does not support it, although all words are met."""
    if is_yes_no(question):
        return "No statement says yes or no."
    if selection.lacking:
        return lacking(selection.lacking, of="The first statement")
    if compared(question):
        return "No statement compares them."
    if selection.has_kind:
        return "The first statement says something else."
    asked = _HOW.search(question)
    unsaid = _UNSAID.get(expected(question), fold(asked[0]) if asked else "what is asked")
    return f"The first statement does not say {unsaid}."


def _decided(
    question: str,
    pieces: Sequence[Evidence],
    near: Sequence[Evidence],
    *,
    about: Sequence[Evidence],
    uncovered: tuple[str, ...],
) -> Answer | None:
    """The answer to a question of yes or no by a piece close to it, those of the answer first; None if none decides."""
    ordered = [piece for piece in pieces if piece in near] + [piece for piece in near if piece not in pieces]
    said = verdict(question, ordered, beside=about)
    if said is None:
        return None
    deciding = ordered[said.at]
    others = [piece for piece in pieces if piece is not deciding] if deciding in pieces else []
    answer = headed(joined(question, [[deciding, *others]]), said.head)
    return replace(answer, uncovered=uncovered if said.at == 0 else ())


_ANOTHER = re.compile(r"(?:Another|Other|A (?:different|second|third)) [a-z]")  # than what is asked about
_AT_MOST = re.compile(
    r"\b(?:(?:do(?:es)?|must|may|can|should) ?not|no|not)(?: [a-z]+)? (?:more|longer|later) than\b", re.IGNORECASE
)
_WHY_NOT = re.compile(r"why\b.*(?:\bnot\b|n['’]t\b)", re.IGNORECASE)
_ADVERSE = re.compile(rf"\b(?:{'|'.join(LISTS['adverse'])})\b", re.IGNORECASE)  # "dangerous" for "why not"
_BECAUSE = re.compile(r"\b(?:because|since|as)\b", re.IGNORECASE)
_WHY_PAST = re.compile(r"why (?:was|were|did|had)", re.IGNORECASE)
_ANOTHER_ASKED = re.compile(r"\b(?:an)?other|different|second|third|further|more|also|else\b", re.IGNORECASE)


def _is_other(question: str, piece: Evidence) -> bool:
    """Whether a piece says something else than what is asked with the same words."""
    body, constraints = body_of(piece), constraints_of(question)
    is_none = _HOW_MANY.search(question) is not None and counted(question, body) == "none"
    is_adverse = _WHY_NOT.match(question) is not None and _is_adverse(question, body, constraints)
    return (
        (_ANOTHER.match(body) is not None and _ANOTHER_ASKED.search(question) is None)
        or (body.endswith("?") and not is_yes_no(question))
        or (
            not (is_none or is_adverse)
            and statement(_AT_MOST.sub("up to", piece.text)).denies(question)
            and _is_denied(question, body)
        )
        or takes_out(question, body, places=places_of(piece), constraints=constraints._replace(words=()))
        or is_doubted(question, piece.text)
        or ticked(question, body) is False
        or has_opposite(question, body)
        or meets_bound(question, piece, around=places_of(piece)) is False
        or (not is_adverse and is_unreal(question, body, constraints=constraints))
        or is_misplaced(question, body, constraints=constraints, places=places_of(piece))
        or _is_of_another_year(body, constraints)
    )


_OF_YEAR = re.compile(rf"\b(?:in|for|of) {_A_YEAR}", re.IGNORECASE)


def _is_of_another_year(text: str, constraints: Constraints) -> bool:
    """Whether a text is of another year: "Accounts 2023: In 2022 it was 5", or each label of a row that is asked for."""
    years = {number for number in constraints.numbers if re.fullmatch(_A_YEAR, number)}
    if not years or not is_row(text):
        said = text.rpartition(": ")[2]
        return bool(years) and _OF_YEAR.search(said) is not None and years.isdisjoint(words(said))
    labels = [cell.partition(": ")[0] for cell in text.split("; ")]
    named = [label for label in labels if any(map(statement(label).has, constraints.words))]
    return bool(named) and all(re.search(_A_YEAR, label) and years.isdisjoint(words(label)) for label in named)


def _is_adverse(question: str, text: str, constraints: Constraints) -> bool:
    """Whether a text says what hinders what is asked, before its cause: not "married because he was too rich"."""
    claim = _BECAUSE.split(text, maxsplit=1)[0]
    hinders = _ADVERSE.search(claim)
    if hinders is None or any(map(statement(hinders[0]).has, constraints.telling)):
        return False
    done = statement(claim[: hinders.start()])  # "was built to avoid floods"
    return _WHY_PAST.match(question) is None or not any(map(done.has, constraints.telling[-1:]))


def _is_denied(question: str, text: str) -> bool:
    """Whether a question denies something, or a text has its verbs in no clause that does not: "not sold, and so rented as B"."""
    acts = [word for word in constraints_of(question).words if word.endswith("ed")]
    return denies(question) or not acts or not all(map(affirmed(text).has, acts))


def _comes_first(question: str, uncovered: Sequence[str]) -> bool:
    """Whether what is unmet comes before the evidence: one or two names or numbers of a question of at most 16 words.

    In a longer question more is paraphrased, and the evidence may answer it although it does not name everything.
    """
    is_named = any(sign.isupper() or sign.isdigit() for word in uncovered for sign in word)
    return is_named and len(uncovered) <= _FEW and len(question.split()) <= _SHORT_QUESTION


def relevance_of(piece: Evidence, otherwise: float | None) -> float | None:
    """How relevant the search found a piece, from 0 to 1: by the reranker, else by another score; None if neither is known.

    Parameters
    ----------
    piece : the piece
    otherwise : the other score
    """
    reranked = piece.why.get("rerank")
    score = reranked if isinstance(reranked, float) else otherwise
    return None if score is None else min(1.0, max(0.0, score))


def is_about(asked: Set[str], piece: Evidence, *, calibration: Calibration | None = None) -> bool:
    """Whether a piece of evidence is about a question.

    Parameters
    ----------
    asked : content words of the question
    piece : the piece
    calibration : see :func:`cosine_of`

    Returns
    -------
    bool
        True if it shares a content word with the question, or its :func:`cosine_of` is at least 0.25.
    """
    return bool(asked & content_set(piece.text)) or (cosine_of(piece, calibration) or 0.0) >= _LEAST_COSINE


def cosine_of(piece: Evidence, calibration: Calibration | None = None) -> float | None:
    """The cosine of a piece to the question, as the shipped embedder usually has it; None if the search did not report it.

    Parameters
    ----------
    piece : the piece
    calibration : the scale of the cosines of the corpus; None: the cosine is returned as it is
    """
    cosine = piece.why.get("cosine", piece.why.get("vector"))
    kind = Kind.STATEMENT if piece.statement_id else Kind.CHUNK
    return usual_cosine(cosine, kind, calibration=calibration) if isinstance(cosine, float) else None
