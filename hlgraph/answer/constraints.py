"""The constraints of a question (its names, numbers and telling words), which of them a text meets, and whether it asserts them.

A word is met by itself, by a form of it, by the verb or the noun of its action, or by a word that states the same thing
(``words.txt``: "wrote" by "novel", "killed" by "died"). Words that tell little ("get", "part", "year") are never unmet.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, combinations
from typing import NamedTuple

from hlgraph.algorithms.calibration import usual_cosine
from hlgraph.extract.wording import MONTH_PATTERN, MONTHS, Wording, denies, telling_words, word_lists
from hlgraph.models.protocols import Embedder
from hlgraph.records import Calibration, Kind
from hlgraph.text import STOP_WORDS, cached_by_text, content_words, fold, sentences, word_set, words

LISTS = word_lists("hlgraph.answer", "words.txt")
"""The word lists of answers."""


def words_of(*names: str) -> frozenset[str]:
    """The words of lists."""
    return word_set(" ".join(line for name in names for line in LISTS[name]))


LIGHT = frozenset(f"{word}{ending}" for word in words_of("light") for ending in ("", "s" * (len(word) > len("use"))))
"""Words of questions that tell little: an answer need not have them."""

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LEAST_ALIKE = 0.975  # of a question to the same without slight words
LIGHT_WEIGHT = 0.3  # of a word that tells little beside one that tells much
_PHRASE = re.compile(
    r"(?<![\w.])((?![a-z])[^\W\d_][\w'’-]{0,60}|part|chapter|section|article|episode|season|week|game|round|act|volume|level|phase|stage|step"
    r"|room|gate|platform|line|route|class|version|figure|table|item|grade|page|unit)\s+(\d{1,3}|[IVXL]{1,5})(?![\w%]|[.,]\d)"
)
_OPTION = re.compile(r"(?<!\S)--[a-zA-Z][\w-]*")
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")
_DIGIT = re.compile(r"\d")
_WITH_UNIT = re.compile(
    r"(?<![\w.,])(\d[\d.,]*)([mμu]?s|min|h|d|[KkMGT]i?B|[kcm]?m|k?g|mg|m?l|k?W|k?Wh|m?A|k?V|[kMG]?Hz|°C|bar|dB)(?!\w)"
)
_CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][\w’']*(?: [A-Z][\w’']*)+")
_FUNCTION_WORDS = STOP_WORDS.difference(MONTHS)  # May is a month as a name
_ARTICLES = frozenset(("The", "A", "An", "I"))
_OFFICE = re.compile(r"(?<![\w.])((?![a-z])[^\W\d_]\w+) of (?![a-z])[^\W\d_][\w'’-]*")
_CJK_WORD = re.compile(r"[\u3400-\u9fff]+|[\u30a1-\u30fa\u30fc]{2,}")
_CJK_ASKING = re.compile("|".join(LISTS["asking_cjk"]))
_GERMAN, _FOREIGN = words_of("german"), words_of("german", "romance")
_SLIGHT_ELSEWHERE = _FOREIGN | words_of("elsewhere")
_SHARED = word_set("was is in an am as a do has he me no so on or we of over had her")  # also words of other languages
_LIFE = re.compile(r"\([^()]{0,60}\b(?:1\d{3}|20\d\d)\b[^()]{0,40}[–-][^()]{0,40}\b(?:1\d{3}|20\d\d)\b")
MONEY = (
    r"[$€£¥] ?\d|\d ?[€£$¥]|\b(?:AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|TRY|USD|ZAR) ?\d"
    r"|\d (?:(?:thousand|million|billion) )?(?:euros?|dollars?|pounds?|crowns?|francs?|cents?|pence|yen)\b"
)
"""A sum of money."""
_PHRASES = {
    verb: re.compile(rf"\b(?:{pattern})", re.IGNORECASE)
    for verb, _, pattern in (line.partition(": ") for line in LISTS["phrases"])
}
IN_MONEY = re.compile(
    r"\((?:in )?(?:[$€£¥]|eur(?:os?)?|gbp|usd|chf|pounds?|dollars?|crowns?|francs?|cents?|yen)\)", re.IGNORECASE
)
"""The end of a label of prices: "Double room (crowns)"."""
_SIGNS = {
    word: re.compile(pattern)
    for line in LISTS["signs"]
    for words_of, _, pattern in [line.partition(": ")]
    for word in words_of.split()
} | dict.fromkeys(word_set("pay pays cost costs charge charges money"), re.compile(MONEY))
_SIGNS = _PHRASES | _SIGNS
_SHORT_STEM = 5
_ALIKE_FROM = 3  # letters: "payment" and "paid" are one word
_KEPT = 2_048  # texts that are in memory with their words
_ENDING = re.compile(rf"(?:{'|'.join(LISTS['endings'])})?")
_DEFINES = re.compile(r"\b(?:is|was)\s+an?\s")
_ENDINGS = ("s", "es", "d", "ed", "ing")


# Where a person with a name was born or died is said right after the word for it, or beside the dates of the life.
_PLACE_ASKED = r"\b(?i:what|which)(?: [a-z]+)? (?:place|city|town|village|country|state|county|region|province)\b"
_LIFE_CAPITAL = rf"(?!(?:{MONTH_PATTERN})\b)[^\W\d_a-z]"
_PLACE_NAME = rf"(?:the )?(?:[a-z]+ (?:of )?){{0,2}}{_LIFE_CAPITAL}"
_LIFE_PLACE = rf"(?:\b(?:in|at|near|outside|on)|[:,](?: \d[\d .]*,)?) {_PLACE_NAME}"
_LIFE_PLACES = tuple(
    (
        re.compile(
            rf"{where}\b(?=.* [^\W\d_a-z]).*\b(?:{asked})(?: in)?(?: \d{{4}})?\W*$|{_PLACE_ASKED}.*\b(?:{noun})\b"
            rf"|\b[Pp]lace of {noun}\b"
        ),
        re.compile(
            rf"\b(?i:{said})\b[^.;()–]{{0,90}}?(?:{at_place})|{others}"
            rf"|\A(?=[^A-Z]*\Z).*\b(?:{said})\b(?:[^.,;()–]|, ?\d){{0,90}}?\b(?:in|at|near) [a-z]"  # all in small letters
        ),
        re.compile(rf"\b(?i:{said}): \d[\d\w ]*, {_PLACE_NAME}|{others}"),
    )
    for asked, noun, said, others in (
        (
            "born",
            "birth",
            "born|birthplace|birth|grew up",
            rf"\b(?i:native of|hail(?:s|ed) from) {_PLACE_NAME}|\([^()]{{0,80}}\d{{4}},? (?:in |at )?(?:[a-z]+ )?"
            rf"{_LIFE_CAPITAL}[^()–-]{{0,80}}[–-][^()]{{0,80}}\d{{4}}|\({_LIFE_CAPITAL}[^()]{{0,80}}, [^()]{{0,80}}\d{{4}} ?[–-]",
        ),
        (
            "die|dies|died",
            "death",
            "die[sd]?|death|dead|killed|shot|murdered|drowned|executed|assassinated|hanged|perished|succumbed|passed away",
            rf"\([^()]{{0,80}}\d{{4}}[^()–-]{{0,80}}[–-](?: ?[^()]{{0,80}}?\d{{4}},?(?: in| at)?)? ?{_PLACE_NAME}",
        ),
    )
    for where, at_place in (
        ("^Where", rf"{_LIFE_PLACE}|{'|'.join(LISTS['places_of_life'])}"),
        (_PLACE_ASKED, _LIFE_PLACE),
    )
)
OF_LIFE_AT = [(asked, said) for asked, said, _ in _LIFE_PLACES]
BESIDE_DATES = [(asked, said) for asked, _, said in _LIFE_PLACES]
"""Pairs of the pattern of a question where a person was born or died, and of what a text must or may have to say it."""


class Constraints(NamedTuple):
    """What a text must have to answer a question.

    Attributes
    ----------
    names : words with a capital
    phrases : a word and the number after it, as in "Part 150" or "Ip Man 4", which must stand together
    numbers : numbers, dates, codes such as P60, and options such as --force
    words : its other content words
    is_english : whether two words, or the first, are English function words, and function words of other languages are not more
    is_known : whether it is English or another language whose function words are known; only then its words are constraints
    """

    names: tuple[str, ...]
    phrases: tuple[str, ...]
    numbers: tuple[str, ...]
    words: tuple[str, ...]
    is_english: bool = True
    is_known: bool = True

    @property
    def all(self) -> tuple[str, ...]:
        """All of them: names, phrases, numbers, words."""
        return (*self.names, *self.phrases, *self.numbers, *self.words)

    @property
    def telling(self) -> list[str]:
        """The words that tell much."""
        return [word for word in self.words if word not in LIGHT]


@cached_by_text(_KEPT)
def rephrased(question: str) -> str:
    """A question with one verb in place of each phrase of ``words.txt`` that means the same.

    Examples
    --------
    >>> [rephrased(text) for text in ("How do I get rid of paint?", "Was the match called off?", "When does it go up to 5?")]
    ['How do I dispose paint?', 'Was the match cancelled?', 'When does it go up to 5?']
    """
    is_claim = not words_of("auxiliaries").isdisjoint(words(question)[:1])
    for verb, phrase in _PHRASES.items():
        if phrase.search(question) and not (is_claim and denies(phrase.pattern)):
            question = phrase.sub(verb, question)
    return question


@cached_by_text(_KEPT)
def constraints_of(question: str) -> Constraints:
    """The constraints of a question, each once, in order.

    Examples
    --------
    >>> constraints_of("Who directed Ip Man 4 in 2019?").all
    ('Ip', 'Man', 'Man 4', '2019', 'directed')
    """
    names, others = telling_words(question)
    names = [name for name in names if len(name) > 1 and fold(name).removesuffix("'s") not in _FUNCTION_WORDS]
    apart = STOP_WORDS.union(MONTHS)
    phrases = tuple(f"{word} {number}" for word, number in _PHRASE.findall(question) if fold(word) not in apart)
    offices = tuple(match[0] for match in _OFFICE.finditer(question) if fold(match[1]) not in apart)
    titles = (match[0].removeprefix("The ").removeprefix("A ") for match in _CAPITALISED.finditer(question))
    offices += tuple(  # "Out Here" is a name made of function words
        title for title in titles if any(fold(word) in STOP_WORDS for word in title.split() if word not in _ARTICLES)
    )
    joined = {phrase.rpartition(" ")[2] for phrase in phrases}
    numbers = tuple(word for word in others if _DIGIT.search(word) and word not in joined)
    numbers += tuple(dict.fromkeys(_OPTION.findall(question)))
    rest = (word for word in others if not _DIGIT.search(word) and word.removesuffix("'s") not in STOP_WORDS)
    asked = words(question)
    common = [word in STOP_WORDS and word not in _FOREIGN for word in asked]
    is_sure = any(common[:1]) and asked[0] not in _SHARED  # names may have foreign words: "El Paso de la Reina"
    has_english = any(common[:1]) or sum(common) > 1
    is_english = is_sure or (has_english and sum(word in _FOREIGN for word in asked) <= sum(common))
    if not is_english:
        if parts := _CJK_WORD.findall(_CJK_ASKING.sub(" ", question)):
            pairs = tuple(dict.fromkeys(each for part in parts for each in _pairs(part)))
            return Constraints((), (), numbers, pairs, is_english=False)
        # the first word has a capital in any case, and in German every noun has
        names = [] if _GERMAN & {*asked} else [name for name in names if fold(name) != asked[0]]
        taken = {part for name in names for part in words(name)} | _SLIGHT_ELSEWHERE
        others = [word for word in dict.fromkeys(asked) if len(word) > 2 and word not in taken]
        rest = (word for word in others if not _DIGIT.search(word))
        names = [name for name in names if fold(name) not in _SLIGHT_ELSEWHERE]
    is_known = is_english or not _SLIGHT_ELSEWHERE.isdisjoint(asked)
    named = tuple(name for name in names if name not in joined)
    return Constraints(named, phrases + offices, numbers, tuple(rest), is_english, is_known)


def _pairs(run: str) -> Iterator[str]:
    """The neighbouring characters of a word without spaces, two by two; all of a short word and of one in katakana."""
    yield from ([run] if len(run) < 3 or run[0] < "\u3400" else (run[at : at + 2] for at in range(len(run) - 1)))


class Statements:
    """Texts in which constraints are looked up.

    Parameters
    ----------
    texts : all their words count
    places : titles, headings and the like; only their names and numbers count

    Examples
    --------
    >>> said = Statements(["Pride of Lions is a novel by Morgan Llywelyn."])
    >>> [said.has(word) for word in ("Llywelyn", "wrote", "directed")], said.unmet(constraints_of("Who directed Pride of Lions 2?"))
    ([True, True, False], ('Lions 2', 'directed'))
    """

    def __init__(self, texts: Iterable[str], *, places: Iterable[str] = ()) -> None:
        texts, places = tuple(texts), tuple(places)
        texts += tuple(text.replace("_", " ") for text in texts if "_" in text)  # labels of settings
        texts += tuple(_WITH_UNIT.sub(r"\1 \2", text) for text in texts if _WITH_UNIT.search(text))
        self._texts = (*texts, *places)
        self._wording = Wording(texts, places=places)
        self._own = texts
        self._split = [words(text) for text in self._texts]
        self._words = set[str]().union(*self._split)

    @cached_property
    def _meanings(self) -> set[int]:
        stated = {meaning for word in self._words for meaning in _meanings(word)}
        if any(_LIFE.search(text) for text in self._own):
            stated |= _meanings("born") | _meanings("died")
        if any(_DEFINES.search(text) for text in self._own):
            stated |= _meanings("occupation")
        return stated

    @cached_property
    def _derived(self) -> Wording:
        """The verbs of the nouns and adjectives of the texts."""
        return Wording([" ".join(map(_verb_of, self._words))])

    def has(self, constraint: str) -> bool:
        """Whether the texts meet a constraint."""
        if constraint[0] >= "\u3041" and _CJK_WORD.fullmatch(constraint):
            return any(constraint in text for text in self._texts)
        if " " in constraint:
            parts = words(constraint)
            orders = {" ".join(parts), f"{parts[-1]} {parts[0]}"} if len(parts) > 2 else {" ".join(parts)}
            whole = " | ".join(map(" ".join, self._split))
            return any(re.search(rf"\b{re.escape(order)}\b", whole) for order in orders)
        if number := _WITH_UNIT.fullmatch(constraint):  # "512MB" is 512 MB
            constraint = number[1]
        if constraint.startswith("--"):
            return any(constraint in _OPTION.findall(text) for text in self._own)
        asked = _asked(constraint)
        return (
            (bool(asked.day) and not self._words.isdisjoint(asked.day))
            or (asked.pattern is not None and any(map(asked.pattern.search, self._texts)))
            or self._has_word(asked.folded, constraint)
            or (bool(asked.meanings) and not self._meanings.isdisjoint(asked.meanings))
            or self._has_derived(asked.folded)
        )

    def _has_derived(self, word: str) -> bool:
        """Whether the texts have the verb of a noun or of an adjective, or the reverse: "refundable" for "refunded"."""
        if verb := _verb_of(word):
            return self.has(verb)
        return not word.endswith(_NO_VERB_OF) and self._derived.has(word)

    def _has_word(self, folded: str, word: str) -> bool:
        """Whether the texts have a word or a form of it; "wind" is no form of "windows", "Chrome" none of "chrony"."""
        if not self._wording.has(word):
            return False
        own = folded.removesuffix("'s")
        forms = set() if own in self._words or _DIGIT.search(word) else self._wording.forms(own)
        return not forms or any(_is_inflected(own, other) for other in forms)

    def unmet(self, constraints: Constraints) -> tuple[str, ...]:
        """The constraints that the texts do not meet, without words that tell little."""
        needed = constraints.all if constraints.is_known else constraints._replace(words=()).all
        return tuple(one for one in needed if one not in LIGHT and not self.has(one))

    def denies(self, text: str) -> bool:
        """Whether the texts deny something that ``text`` affirms, or affirm something that it denies."""
        has_denial = self._wording.denied or statement(text)._wording.denied
        return bool(has_denial) and self._wording.contradicts(_TOKEN.sub(self._as_here, text))

    def _as_here(self, token: re.Match[str]) -> str:
        """A word, or what the texts have in its place: the form of an irregular verb ("lent" for "lend"), or a synonym."""
        word = fold(token[0])
        if word in self._words or word in STOP_WORDS or self._wording.has(word):
            return token[0]
        forms, meanings = _IRREGULAR.get(word, ()), _meanings(word, is_asked=True)
        alike = (other for other in sorted(self._words) if meanings and not meanings.isdisjoint(_meanings(other)))
        return next((form for form in chain(forms, alike) if form in self._words), token[0])


_DERIVED = re.compile(
    r"(?<=\w{4})(?:[ai]tions?|isons?|(?<=[aeilnrsu])sions?|ness)$|(?<=\w{3})(?:ments?|ab(?:le|ility))$"
)
_NO_VERB_OF = ("al", "ar", "ary", "ic")  # "general" has nothing to do with a generation


@lru_cache(_KEPT)
def _verb_of(word: str) -> str:
    """The beginning of the verb of a noun of an action or of an adjective of what can be done; else empty.

    Examples
    --------
    >>> [_verb_of(word) for word in ("installation", "decision", "payment", "readable", "availability", "station", "table")]
    ['install', 'deci', 'pay', 'read', 'avail', '', '']
    """
    root = _DERIVED.sub("", word)
    return root if root != word else ""


class _Asked(NamedTuple):
    """A constraint of one word: folded, the short names of a day, what texts may say in its place, and its meanings."""

    folded: str
    day: tuple[str, ...]
    pattern: re.Pattern[str] | None
    meanings: frozenset[int]


@lru_cache(_KEPT)
def _asked(word: str) -> _Asked:
    folded = fold(word)
    is_day = (day := folded.removesuffix("s")) in DAYS
    is_version = _VERSION.fullmatch(word) is not None  # 3.2.0 of 3.2
    pattern = re.compile(rf"\b{re.escape(word)}\.\d") if is_version else _SIGNS.get(word)
    return _Asked(folded, (day[:3], day[:4]) if is_day else (), pattern, _meanings(folded, is_asked=True))


@cached_by_text(_KEPT)
def statement(text: str, *places: str) -> Statements:
    """One text, and its places, in which constraints are looked up; an answer looks at each of its pieces several times."""
    return Statements([text], places=places)


def _is_inflected(one: str, other: str) -> bool:
    """Whether two words that share only four or five letters differ in endings of inflection or derivation.

    Examples
    --------
    >>> [_is_inflected("windows", other) for other in ("wind", "window")], _is_inflected("driving", "driver")
    ([False, True], True)
    """
    size = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    alike = one[:size]
    if len(alike) > _SHORT_STEM:
        return True
    endings = (word[len(alike) :] for word in (one, other))
    return all(_ENDING.fullmatch(ending.removeprefix(alike[-1:])) for ending in endings)


def has_itself(text: str, constraints: Constraints, *, besides: Collection[str] = ()) -> bool:
    """Whether a text has one of the telling words of a question, or a form of it.

    Parameters
    ----------
    text : text of a piece of evidence
    constraints : those of the question
    besides : words that do not count
    """
    wording = statement(text)._wording
    telling = (word for word in constraints.telling if word not in besides)
    return any(wording.has(form) for word in telling for form in (word, *_IRREGULAR.get(word, ())))


def weight(word: str) -> float:
    """The weight of a word of a question: 1, or 0.3 if it tells little."""
    return LIGHT_WEIGHT if fold(word) in LIGHT else 1.0


def is_slight(question: str, unmet: Sequence[str], *, embedder: Embedder, calibration: Calibration | None) -> bool:
    """Whether a question means the same without some of its words: its cosine to the rest of it is at least 0.975.

    Names, numbers and the last word after "when was" are never slight, nor are words of other languages than English. Embeds two
    texts at once.

    Parameters
    ----------
    question : text of the question
    unmet : the words, folded
    embedder : the embedder of the corpus
    calibration : the scale of its cosines; None: that of the shipped embedder
    """
    is_named = any(sign.isupper() or sign.isdigit() for word in unmet for sign in word)
    is_last = _OF_EVENT.match(question) is not None and words(question)[-1:] == [*unmet[-1:]]
    if not unmet or is_named or is_last or not constraints_of(question).is_english:
        return False
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, unmet))})(?!\w)"
    rest = " ".join(re.sub(pattern, "", question, flags=re.IGNORECASE).split())
    whole, part = embedder.embed([question, rest])
    return usual_cosine(float(whole @ part), Kind.STATEMENT, calibration=calibration) >= _LEAST_ALIKE


def is_met_twice(text: str, constraints: Constraints) -> bool:
    """Whether one word alone of a text meets two words of a question that state the same: "won" for "win a prize".

    Parameters
    ----------
    text : text of a piece of evidence, with its places
    constraints : those of the question
    """
    met = [(word, {one for one in words(text) if statement(one).has(word)}) for word in constraints.telling]
    pairs = combinations([(word, by) for word, by in met if len(by) == 1], 2)
    return any(one == other and word[:_ALIKE_FROM] != same[:_ALIKE_FROM] for (word, one), (same, other) in pairs)


def lacking(unmet: Sequence[str], *, of: str = "No statement") -> str:
    """One sentence that says which constraints no statement meets, or one does not; names and numbers apart from words.

    Parameters
    ----------
    unmet : the constraints
    of : the statements; those that begin with "No" meet none

    Examples
    --------
    >>> lacking(["Boston", "1988", "season"])
    'No statement names *Boston*, *1988* or says *season*.'
    >>> lacking(["1988", "season"], of="The first statement")
    'The first statement does not name *1988* or say *season*.'
    """
    named = [f"*{word}*" for word in unmet if any(sign.isupper() or sign.isdigit() for sign in word)]
    said = [f"*{word}*" for word in unmet if f"*{word}*" not in named]
    ending, negation = ("s", "") if of.startswith("No ") else ("", "does not ")
    parts = [f"{verb}{ending} {', '.join(those)}" for verb, those in (("name", named), ("say", said)) if those]
    return f"{of} {negation}{' or '.join(parts)}."


_VERBS = [  # "undo" as "do"
    " ".join(f"{prefix}{form}" for form in line.split())
    for prefix in ("", "un", "re", "over", "mis")
    for line in LISTS["irregular"]
]


@cache
def _groups() -> tuple[Mapping[str, frozenset[int]], Mapping[str, frozenset[int]]]:
    """For each word of ``words.txt`` the numbers of the groups that it states, and of those that it asks for.

    What asks is also stated by any other form of its verb or noun: "departed" by "departs".
    """
    lines = chain(LISTS["groups"], _VERBS, LISTS["units"])
    stated: defaultdict[str, set[int]] = defaultdict(set)
    asked: defaultdict[str, set[int]] = defaultdict(set)
    for number, line in enumerate(lines):
        asking, _, stating = line.partition(":")
        for word in asking.split():
            asked[word].add(number)
            stated[_root(word)].add(number)
        for word in (*asking.split(), *stating.split()):
            stated[word].add(number)
    one, other = ({word: frozenset(numbers) for word, numbers in each.items()} for each in (stated, asked))
    return one, other


_INFLECTION = re.compile(r"(?<=\w{2})(?:(?<!e)ed|ing|es|(?<!s)s|e)$")


def _root(word: str) -> str:
    """A word without the ending of its plural or tense, marked, so that it equals no word.

    Examples
    --------
    >>> [_root(word) for word in ("departs", "departed", "leave", "leaving", "studies", "study", "presidential")]
    ['depart-', 'depart-', 'leav-', 'leav-', 'study-', 'study-', 'presidential-']
    """
    if len(word) > len("dies") and word.endswith(("ies", "ied")):
        return f"{word[:-3]}y-"
    return f"{_INFLECTION.sub('', word)}-"


_IRREGULAR = {form: tuple(line.split()) for line in _VERBS for form in line.split()}
"""The forms of each irregular verb, by each of them."""


@lru_cache(1 << 16)
def _meanings(word: str, *, is_asked: bool = False) -> frozenset[int]:
    groups = _groups()[is_asked]
    forms = (word, *(word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)))
    own = next((groups[form] for form in forms if form in groups), frozenset[int]())
    return own | groups.get(_root(word), frozenset())


# Whether a statement asserts what is asked, with the same roles: who did what to whom, and whose thing it is about.

_DOUBT = re.compile(rf"\b(?:{'|'.join(LISTS['doubts'])})\b", re.IGNORECASE)
# What a text need not mean as a fact of today: "may approve", "failed to win", "daily except Mondays", "mayor until 1990".
_RESERVE = re.compile(rf"(?:^|: )otherwise\b|\b(?:{'|'.join(LISTS['reserves'])})\b", re.IGNORECASE)
# "only on the terrace", "if it rains"; not "the only one", "not only", "only 200 m", "only in 1931", "even if".
_LIMIT = re.compile(
    r"\b(?:(?P<only>(?<!not )(?<!the )(?<!an )only(?! (?:in )?\d))|(?<!even )(?:(?P<when>when|while|once)"
    r"|if|unless|provided (?:that|the|you|it|they)|as long as))\b",
    re.IGNORECASE,
)
_PART = re.compile(r",? (?:and (?=[a-z]+ )|but |whereas )|; |, (?=(?:and )?(?:the )?[A-Z][\w’'-]* (?:only|not)\b)")
_PAST_VERB = re.compile(r"(?:was|were|did|had)\b", re.IGNORECASE)
_ADJUNCT = re.compile(r"\b(?:in|on|at|by|during|after|before|inside|outside|between|alone)\b[^,;.]*", re.IGNORECASE)
_AND_WILL = re.compile(
    r"(?<=\w),? and (?:will|shall|would|(?<!\d )may(?! \d)|might|could|should|plans to|hopes to|intends to) [^.;,]*"
)
_FEWEST_ECHOED = 3  # words of a question after "who"
_PRONOUNS = word_set("he she it they who that which we i you and or not to")
_STEM = 5  # of a cue: "escap" of "escaped"
# What follows is only planned, tried, or nearly so.
_UNREAL = re.compile(rf"\b(?:{'|'.join(LISTS['unreal'])}|(?P<plan>{'|'.join(LISTS['plans'])}))\b", re.IGNORECASE)
_PAST_ASKED = re.compile(
    r"\b(?:was|were|did|had|has|have)\b(?! to\b)"
    r"|^(?:who|which|what)\b(?!.*\b(?:is|are|must|may|can|will|shall|should)\b)(?: [\w’'-]+){0,4}? [a-z]+ed\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,;:!?]|\b(?:and|but|although|while|because|so)\b", re.IGNORECASE)
# A negation of what is known or said of something does not deny the thing itself.
_NOT_KNOWN = re.compile(
    rf"(?:\b(?:not|never|nobody|no one|neither)|n['’]t)(?: \w+){{0,2}}? (?:{'|'.join(LISTS['known'])})\b", re.IGNORECASE
)

_CAPITAL = r"(?:[^\W\d_a-zß-öø-ÿ][\w’'-]*|[^\W\d]*\d\w*)"
_PARTICLE = "of|de|del|di|da|du|van|von|der|den|the|mac|ibn|bin|al|el|la|le"
_NAMED = rf"(?:[Tt]he )?{_CAPITAL}(?: (?:(?:{_PARTICLE}) ){{0,2}}{_CAPITAL})*"
_AUXILIARY = "did|does|do|has|have|had|will|can|could|would"
_THING_NAMED = rf"(?:{_NAMED}|(?:the|an?|its|his|her|their|our) [a-z-]+(?: [a-z-]+){{0,2}}?)"
_ACTIVE = re.compile(rf"(?i:{_AUXILIARY}) (?P<agent>{_NAMED}) (?P<verb>[a-z]+)(?: and [a-z]+)? (?P<patient>{_NAMED})")
_PASSIVE = re.compile(rf"(?i:was|were|is|are) (?P<patient>{_NAMED}) (?P<verb>[a-z]+) by (?P<agent>{_NAMED})")
_WHO_BY = re.compile(rf"(?:[Ww]ho|[Ww]hat|[Ww]hich [a-z]+) (?:was|were|is|are) (?P<verb>[a-z]+) by (?P<agent>{_NAMED})")
_WHO = re.compile(
    rf"(?:[Ww]ho|[Ww]hat|[Ww]hich [a-z]+) (?!(?:{_AUXILIARY}|is|was|are|were) )(?P<verb>[a-z]+) "
    rf"(?P<patient>{_NAMED}|{_THING_NAMED}(?=\W*$))"
)
_WHOM = re.compile(rf"(?:[Ww]hom?|[Ww]hat) (?:{_AUXILIARY}) (?P<agent>{_THING_NAMED}) (?P<verb>[a-z]+)")
_WHO_DID = re.compile(r"who ([a-z]+ed) ", re.IGNORECASE)
_BY_SOMEBODY = re.compile(rf"\bby\b|\b(?:of|for|from) {_CAPITAL}")
_WITHOUT_OBJECT = re.compile(
    r"(?<!was )(?<!were )(?<!is )(?<!are )(?<!been )\b([a-z]+) (?=(?:on|in|at|from|with|until)\b)"
)
_SECOND_VERB = re.compile(r"\b(?:was|were|is|are|been) [^;.]*?\band (?:then |later |first )?([a-z]+)\b([^;.]*)")
_OF_EVENT = re.compile(r"(?:when|where) (?:is|are|was|were|did)\b", re.IGNORECASE)
_CLOSES = re.compile(r"when (?:does|do) .*\bclose\b", re.IGNORECASE)
_PARTICIPLE = re.compile(r"\b([\w’'-]{1,60}) (?:(?:\w+ly|first|later|then) )?([a-z]+ed)\b(?=([^;.]*))")
_OBJECT = re.compile(
    r"([a-z]+) (?:the )?(?!(?:about|after|and|before|from|over|since|than|under|until|with)\b)([a-z]{3,}) (\d[\w-]*)"
)
_NOUN_OF_ACT = re.compile(r"\w+(?:ion|ment|ing|ure|al)s?")
_MUTUAL = words_of("mutual")
_NO_VERB = ("er", "ers", "or", "ors", "ion", "ions", "ment", "ments", "ing", "ings", "ship", "ure", "al", "ory")
_BE = word_set("is are was were be been being")
_BETWEEN = word_set("has have had did also then later first once finally soon the")
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*|[^\w\s]")
_SUBJECT = re.compile(rf"\b(?i:{_AUXILIARY}|is|was|are|were) ({_NAMED})")
_VERB_BEHIND = re.compile(r"^ ([a-z]+)\b")
_SAID_OF = re.compile(
    rf"(?:(?:[Ii]t|[Hh]e|[Ss]he|[Tt]hey) \[([^\]]+)\]|^({_NAMED})) (?:was|were|is|are) (?:\w+ly )?([a-z]+)"
)
_THING = rf"(?P<thing>(?: (?!(?:{_AUXILIARY}|is|was|are|were|and|in|of)\b)[a-z][\w-]*){{1,2}})"
_OWNER = re.compile(
    rf"(?:\b(?:[Hh]is|[Hh]er|[Ii]ts|[Tt]heir) \[(?P<bracket>[^\]]+?)['’]s?\]|(?P<name>{_NAMED})['’]s?){_THING}"
)
_OWN = re.compile(rf"(?:His|Her|Its|Their){_THING}")
_UNTIL, _SINCE = "until till before to within", "from since after"
_AT_NUMBER = re.compile(
    r"\b(until|till|before|to|from|since|after|within) (?:[A-Z][a-z]+ )?(\d{3,4}|\d{1,2}(?= [a-z]{3,}))\b",
    re.IGNORECASE,
)
# "retired in 2019" for "since 2019"
_ENDED = re.compile(
    r"\b(?:retired|resigned|left|died|ended|closed|ceased|dissolved|stepped down)\b[^.;,]{0,30}?"
    r" (?:in|on|by) (?:[A-Z][a-z]+ )?(\d{4})\b"
)
_IN_ORDER = re.compile(rf"\b(before|after) ({_NAMED})")
_STATED_ORDER = {
    "before": "followed|follows|succeeded|succeeds|replaced|replaces|after",
    "after": "preceded|precedes|before",
}
_ORDER_WORD = re.compile(rf"\b(?:{'|'.join(LISTS['order_words'])})\b", re.IGNORECASE)
_AT_NAME = re.compile(rf"([a-z]+) (of|in|at|on|from|to|for|with|near|by) ({_NAMED})")
_AT_THING = re.compile(r"([a-z]{3,}) (?:from|in|at) (?:the |an? )?(?!the\b)([a-z]{3,})\b")
_REFERS = re.compile(r"\b(?:it|them|there|here)\b")  # "stops in front of it" may be at the museum
_NO_TIME = rf"(?!(?i:{'|'.join((*MONTHS, *DAYS))})|\w*\d)"
_BEGINS_AT = re.compile(rf"(?:In|At) (?:the )?{_NO_TIME}{_CAPITAL}")
_AT_PLACE = re.compile(rf"\b(?:in|at) (?:the )?(?P<name>{_NO_TIME}{_NAMED})")
_FOR_OR_AGAINST = re.compile(r"([a-z]{3,}) (for|against|with|without|above|below|over|under)\b")
_OPPOSITE = {"for": "against", "with": "without", "above": "below", "over": "under"}
_OPPOSITE |= {other: one for one, other in _OPPOSITE.items()}
_RATES = "year month week day hour night mile kilometre metre litre gallon kilogram"
_RATE = re.compile(
    rf"\b(?:(?:per|an?|each|every) ({_RATES.replace(' ', '|')})\b|(year|month|week|hour)ly\b|(dai)ly\b|(annual)(?:ly)?\b)"
)
_SAME_RATE = {"dai": "day", "annual": "year"}
_BELOW_RANK = re.compile(rf"\b((?:{'|'.join(LISTS['lower_ranks'])}))[ -]([^\W\d_]+)", re.IGNORECASE)
# Who, what and when in German, French, Spanish, Italian, Portuguese and Dutch; their negations; who acts in the passive.
_ASKS_ELSEWHERE = re.compile(rf"\W*(?:{'|'.join(LISTS['asking_elsewhere'])})\b", re.IGNORECASE)
_WHO_ELSEWHERE = re.compile(
    r"\W*(?:wer|qui|quién|chi|quem|wie) (?!ist|war|sind|waren|est|sont|était|es|son|era|fue|è|sono|é|são|is|was|zijn|waren)\w",
    re.IGNORECASE,
)
_NOT_ELSEWHERE = re.compile(
    rf"\b(?:{'|'.join(LISTS['not_elsewhere'])})\b(?! (?:{'|'.join(LISTS['denying_nothing'])})\b)", re.IGNORECASE
)
_LAST_PART = re.compile(r", [^,;]{1,30}$")
_BY_ELSEWHERE = re.compile(r"\b(?:von|vom|durch|par|por|pelo|pela|da|dal(?:la)?|door)\b", re.IGNORECASE)
_NOW_ASKED = re.compile(r"(?:who|what|which|where)\b(?: [a-z]+){0,2}? (?:is|are)\b", re.IGNORECASE)
_GONE = re.compile(r"\b(?:was|were)\b[^.;]*\b(?:until|till|to) (?:[A-Z][a-z]+ )?(?:1\d{3}|20\d\d)\b")
_THAN = re.compile(rf"(?i:who|what|which)\b.* than (?:the )?(?!\d)({_NAMED}|\w+)")
_TAKES = re.compile(r"\btak(?:es?|en|ing)\b[^.;]*?\bto ([a-z]+)")
_NEW_CLAUSE = re.compile(r"; (?!(?:he|she|it|they|his|her|its|their)\b)")
# "Sarn 5 euros for a key, Brask 7 euros for a lock"
_LISTED = re.compile(rf"(?:, (?:and )?| and )(?={_CAPITAL} [$€£]?\d[\d.,]* ?[€$£%a-z])")
_NEXT_PART = re.compile(r"[.;]|, (?=[a-z])|\b(?:and|but|or)\b (?=[a-z])")


def is_doubted(question: str, text: str) -> bool:
    """Whether a text denies or doubts what it tells of ("Brask denied that it acquired Sarn"), and no such word is asked for.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence

    Examples
    --------
    >>> denial = "Brask denied that it acquired Sarn."
    >>> [is_doubted(question, denial) for question in ("Who acquired Sarn?", "What did Brask deny?")]
    [True, False]
    """
    return _DOUBT.search(text) is not None and _DOUBT.search(question) is None


def names_only(question: str, text: str) -> bool:
    """Whether a text only names what a question asks who did it: "a package for the creation of graphs" for "Who created it?".

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    """
    did = _WHO_DID.match(question)
    if did is None or _BY_SOMEBODY.search(text):
        return False
    acts = Wording([text]).forms(fold(did[1]))
    plain = did[1][:-1], did[1][:-2]  # "create a copy" asks the reader to do it
    return bool(acts) and all(word in plain or _NOUN_OF_ACT.fullmatch(word) for word in acts)


def is_unknown(question: str, text: str) -> bool:
    """Whether a text denies only that something is known, said or sure, and no such word is asked for.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence

    Examples
    --------
    >>> is_unknown("Will the mill be sold?", "The owner has not confirmed that the mill will be sold.")
    True
    """
    return any(not _is_asked(match[0].rsplit(" ", 1)[-1], question) for match in _NOT_KNOWN.finditer(text))


def has_reserve(question: str, text: str) -> bool:
    """Whether a text has a word that takes back or leaves open what it says, and the question has no such word.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    """
    asked, cues = question.lower(), (match[0].lower() for match in _RESERVE.finditer(text))
    return any((cue if " " in cue else cue[:_STEM]) not in asked for cue in cues)


def is_limited(question: str, text: str, *, known: Sequence[str] | None) -> bool:
    """Whether what a text says of a question holds only under a condition, or of a part, that the question does not name.

    Parameters
    ----------
    question : text of the question
    text : the clause of a piece of evidence that says it
    known : for what is forbidden, texts that say what it is about: there a place or a time is a condition, too; else None

    Examples
    --------
    >>> said = "Dogs are allowed only on the terrace."
    >>> [is_limited(asked, said, known=None) for asked in ("Are dogs allowed?", "Are dogs allowed on the terrace?")]
    [True, False]
    >>> is_limited("Can I pay by card?", "You cannot pay by card on Sundays.", known=[])
    True
    """
    if _LIMIT.search(question):
        return False
    asked, constraints = statement(question), constraints_of(question)
    parts = _PART.split(text)
    own = [part for part in parts if _has_all(part, (*constraints.names, *constraints.numbers))] or parts
    about = [part for part in own if any(map(statement(part).has, constraints.telling))]
    for part in [*about, *filter(_LIMIT.match, parts)] if about else [text]:
        for cue in _LIMIT.finditer(part):
            end = _CLAUSE_END.search(part, cue.end())
            behind = part[cue.end() : end.start() if end else len(part)]
            under = content_words(behind) or (content_words(part) if cue["only"] else [])
            if not all(map(asked.has, under)) and not (cue["when"] and _PAST_VERB.match(question)):
                return True
    adjuncts = [each for part in about for each in _ADJUNCT.findall(part)] if known is not None else []
    around = Statements([question], places=known or ())
    return any(not around.has(word) for adjunct in adjuncts for word in content_words(adjunct))


def without_plans(text: str) -> str:
    """A text without further predicates with a modal verb.

    Examples
    --------
    >>> without_plans("Sarn bought the yard and will open it in May.")
    'Sarn bought the yard.'
    """
    return _AND_WILL.sub("", text)


def is_unreal(question: str, text: str, *, constraints: Constraints) -> bool:
    """Whether a text has what is asked only as a plan, an attempt or a near miss, and the question has no such word.

    A plan counts only if the question is in the past tense.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    constraints : those of the question

    Examples
    --------
    >>> from hlgraph.answer.constraints import constraints_of
    >>> question, texts = "When was the yard closed?", ("Sarn plans to close the yard.", "Sarn closed the yard.")
    >>> [is_unreal(question, text, constraints=constraints_of(question)) for text in texts]
    [True, False]
    """
    is_past = _PAST_ASKED.search(question) is not None
    for cue in _UNREAL.finditer(text):
        if _is_asked(cue[0].split()[0], question) or (cue["plan"] and not is_past):
            continue
        end = _CLAUSE_END.search(text, cue.end())
        planned = Statements([text[cue.end() : end.start() if end else len(text)]])
        rest = Statements([text[: cue.start()], text[end.start() :] if end else ""])
        only_planned = [word for word in constraints.telling if planned.has(word) and not rest.has(word)]
        if only_planned and all(word in only_planned or not word.endswith("ed") for word in constraints.telling):
            return True
    return False


def _is_asked(word: str, question: str) -> bool:
    """Whether a question has a word that begins with the same letters."""
    return re.search(rf"\b{re.escape(word[:4])}", question, re.IGNORECASE) is not None


def is_misplaced(question: str, text: str, *, constraints: Constraints, places: Sequence[str]) -> bool:
    """Whether a text says what is asked of something else: with exchanged roles, at another place, or of a thing of what is asked.

    - "Sarn sued Brask" for "Did Brask sue Sarn?": a name right before or after the verb has the other role.
    - "born in Tolk and died in Sarn" for "Was she born in Sarn?": the last verb and preposition have another name.
    - "the motion of Carla Voss" for "the motion of Ben Moro", "voted against it" for "voted for it", "from 1990" for "until 1990".
    - "Red Sky was printed in Cork" for "Who printed Red Sky?".
    - "closed on Mondays" for "When does it close?".
    - "the deputy chair" for "the chair", "was the chair until 2019" for "is the chair", "per month" for "per year".
    - "Her [Ada Falk’s] driver was arrested" for "When was Ada Falk arrested?": the text is about a thing that is not asked for.
    - "It [Solis 2] was made" for "When was the Solis 1 made?", "Ada was born" for "Where was Ben born?".
    - "work in the office" for "work from home".
    - "Parking costs 3 euros" for "What does the trip cost?".
    - "Ada Falk was born in Sarn" for "Where was Ada Falk's father born?".

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence, without its title and heading in front
    constraints : those of the question
    places : the title and the headings of the piece
    """
    return (
        _is_state(question, text)
        or _is_reversed(question, text)
        or _is_elsewhere(question, text)
        or _is_after_not_before(question, text)
        or _has_no_agent(question, text)
        or _is_another_role(question, text)
        or _is_of_another_thing(question, text)
        or _is_of_their_kin(question, text)
        or _is_of_another_clause(text, constraints)
        or (not constraints.is_english and _is_misplaced_elsewhere(question, text, constraints))
        or _is_of_another(question, text, constraints, places)
    )


def _is_of_another(question: str, text: str, constraints: Constraints, places: Sequence[str]) -> bool:
    subject = _SUBJECT.search(question)
    if subject is None or question.startswith(("'s", "’s"), subject.end()):
        return False
    name = subject[1]
    own_words = words(name.removeprefix("the "))
    verb = _VERB_BEHIND.match(question[subject.end() :])
    for known, other, act in _SAID_OF.findall(text) if verb else ():
        has = [statement(known or other).has(word) for word in own_words]
        is_name = not (other.isupper() or name.isupper() or _may_be_of_it(other, own_words, places))
        if (not all(has) if known else is_name and not any(has)) and verb and _is_form(act, verb[1]):
            return True
    names = [word for word in constraints.names if word in name]
    owners = [match for match in _OWNER.finditer(text) if _has_all(match["bracket"] or match["name"], names)]
    own = _OWN.match(text)
    if own and not own["thing"].startswith(" own ") and _has_all(" ".join(places), names):
        owners.append(own)
    if not owners or not names:
        return False
    rest = text
    for owner in owners:
        thing = statement(owner["thing"])
        if any(thing.has(word) for word in constraints.words):
            return False
        rest = rest.replace(owner[0], " ")
    return not any(map(statement(rest).has, names))


def _may_be_of_it(other: str, own_words: Sequence[str], places: Sequence[str]) -> bool:
    """Whether the subject of a text is no name, but "this" or "work", or it may be of what the title names: "The Duke"."""
    head = fold(other)
    is_common = head in STOP_WORDS or head in LIGHT or _NOUN_OF_ACT.fullmatch(head) is not None
    return is_common or (other.startswith("The ") and _has_all(" ".join(places), own_words))


def _has_all(text: str, names: Sequence[str]) -> bool:
    return all(map(statement(text).has, names))


def _is_state(question: str, text: str) -> bool:
    """Whether a question asks when something closes, and a text says only that it is closed."""
    is_closed = _CLOSES.match(question) is not None and re.search(r"\bclosed\b", text) is not None
    return is_closed and re.search(r"\bclos(?:es|e|ing)\b|\d\D*$", text) is None


def _is_reversed(question: str, text: str) -> bool:
    roles = [role for role in _roles(question) if role[1] not in _MUTUAL]
    return any(_role(text, name, verb) is (not is_agent) for name, verb, is_agent in roles)


def _has_no_agent(question: str, text: str) -> bool:
    """Whether a question asks who did something, and a text has it in the passive without "by".

    In "built by Ada Falk and renovated in 2016" only the first verb has an agent.
    """
    if did := _WHO_DID.match(question):
        second = [match for match in _SECOND_VERB.finditer(text) if _is_form(match[1], did[1])]
        if second and not any(re.search(r"\bby\b", match[2]) for match in second):
            return True
        asked = statement(question)
        acts = [match for match in _PARTICIPLE.finditer(text) if _is_form(match[2], did[1])]
        if acts and all((match[1] in _BE or asked.has(match[1])) and " by " not in match[3] for match in acts):
            return True
    match = _WHO.search(question)
    if match is None or re.search(r"\bby\b", text):
        return False
    thing = words(match["patient"])[-1]
    if not statement(text).has(thing):  # "The Kittiwake runs on batteries" for "Who runs the ferry?"
        return any(_is_form(each[1], match["verb"]) for each in _WITHOUT_OBJECT.finditer(text))
    passive = re.search(rf"{re.escape(match['patient'])}\W+(?:was|were|is|are|has been) (?:\w+ly )?([a-z]+)\b", text)
    return passive is not None and _is_form(passive[1], match["verb"])


def echoes(question: str, text: str) -> bool:
    """Whether a text has the words of a question after "who" in their order, and a noun before them: "The insurer was ordered".

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    """
    asked, said = words(question), words(text)
    tail = asked[1:]
    if len(tail) < _FEWEST_ECHOED or asked[0] != "who":
        return False
    parted = (at for at in range(_FEWEST_ECHOED, len(tail)) if tail[at] in ("of", "in", "on", "at", "for", "from"))
    of = next(parted, len(tail))
    starts = (at for at in range(1, len(said) - of + 1) if said[at + 1 : at + of] == tail[1:of])
    return any(
        said[at - 1] not in _PRONOUNS and (said[at] == tail[0] or statement(said[at]).has(tail[0])) for at in starts
    )


_DOES = r"(?P<thing>(?:[a-z-]+ ){1,4})"
_TAKEN_BY = re.compile(
    r"(?i:how (?:much|long|many|heavy)|what)(?: [a-z]+)? (?:do|does|did) (?:(?:the|an?|my|our|your|its) )?"
    rf"{_DOES}(?P<verb>cost|take|last|weigh|hold)\b"
)
_TAKER = re.compile(
    r"(?:(?:The|An?|Each|Every|This|Your|Our) )?(?P<thing>[A-Za-z-]+ (?:[a-z-]+ ){0,3}?)"
    r"(?P<verb>costs?|takes?|lasts?|weighs?|holds?) "
)


def _is_of_another_thing(question: str, text: str) -> bool:
    """Whether a text says of another common noun what a question asks: "Parking costs 3" for "How much does the trip cost?"."""
    asked, said = _TAKEN_BY.match(question), _TAKER.match(text)
    if not asked or not said or not said["verb"].startswith(asked["verb"]):
        return False
    if fold(said["thing"].split()[-1]) in STOP_WORDS | LIGHT:
        return False
    of = statement(said["thing"])
    return not any(of.has(word) for word in words(asked["thing"]) if word not in STOP_WORDS)


_WHO_ACTS = re.compile(r"who (?:(?:has|have|is) to |must |can |may |should |shall |will )?([a-z]+)\b", re.IGNORECASE)
_NOUN_ACTS = re.compile(r"\b(?i:the|an?|our|your|its|their|his|her)(?= ([a-z-]+(?: [a-z-]+){1,5}))")


def has_noun_that_acts(question: str, text: str) -> bool:
    """Whether a common noun of a text does what a question asks who does: "the insurer pays" for "Who pays after six weeks?".

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    """
    asked = _WHO_ACTS.match(question)
    if asked is None or asked[1] in _BE or asked[1] in _AUXILIARY.split("|"):
        return False
    after = (match[1].split() for match in _NOUN_ACTS.finditer(text))
    of = statement(question)
    for head, *rest in after:
        at = next((at for at, word in enumerate(rest) if _is_form(word, asked[1])), -1)
        if at >= 0 and all(map(_may_stand_before, rest[:at])) and not any(map(of.has, (head, *rest[:at]))):
            return True
    return False


_KIN = "|".join(LISTS["kin"])
_OF_KIN = re.compile(rf"({_NAMED})['’]s? (?:[a-z-]+ )?(?:{_KIN})\b|\b(?:{_KIN}) of (?:the )?(?:[a-z]+ )?({_NAMED})")
_OF_LIFE = re.compile(r"(?:What|When|Where|Which|In) .*\b(?:nationality|born|birth|die|death|buried|burial|graduate)\b")
_HIS_KIN = re.compile(rf"\b(?:[Hh]is|[Hh]er|[Tt]heir|[Ww]hose) (?:[a-z-]+ )?(?:{_KIN})\b")


def _is_of_their_kin(question: str, text: str) -> bool:
    """Whether a question is about the life of a relative, and a text about the one whose relative it is: "Ada Falk was born"."""
    asked = _OF_KIN.search(question) if _OF_LIFE.match(question) else None
    name = (asked[1] or asked[2] if asked else "").removeprefix("the ")
    begins = bool(name) and re.match(rf"(?:\w+ \[)?{re.escape(name)}\b(?!['’]s)", text, re.IGNORECASE) is not None
    return begins and _HIS_KIN.search(text) is None


def _may_stand_before(word: str) -> bool:
    """Whether a word may stand between a noun and its verb: no "of" or "is"."""
    return word not in STOP_WORDS or word in ("can", "must", "may", "will", "should", "has", "to", "then", "also")


def _is_another_role(question: str, text: str) -> bool:
    """Whether a text has the words of a question with another rank, tense, rate or side of a comparison."""
    asked, said = (
        {_SAME_RATE.get(one, one) for each in _RATE.findall(part) for one in each if one} for part in (question, text)
    )
    if asked and said and asked.isdisjoint(said):
        return True
    for rank, role in {*_BELOW_RANK.findall(text)}:
        is_bare = re.search(rf"(?<!{rank}[ -])\b{role}\b", text, re.IGNORECASE) is not None
        if not is_bare and re.search(rf"\b{role}\b", question) and not _is_asked(rank, question):
            return True
    if _NOW_ASKED.match(question) and _GONE.search(text) and not _GONE.search(question):
        return True
    than = _THAN.match(question) if " than " in text else None
    if than and re.search(rf"\bthan (?:the )?{re.escape(than[1])}", text) is None:
        return True
    takes = _TAKES.search(text) if re.search(r"\bhow long\b", question, re.IGNORECASE) else None
    return takes is not None and "take" not in question and not statement(question).has(takes[1])


def _is_of_another_clause(text: str, constraints: Constraints) -> bool:
    """Whether a clause with the names of a question lacks all words of it, or a part of a list those that follow another number.

    "I am on holiday; Greta stands in for me" is not of Greta's holiday, nor "Sarn asked 5 euros for a key and Brask 7 euros for a
    lock" of Brask's key.
    """
    telling = constraints.telling
    if not constraints.names or not telling:
        return False
    clauses, listed = _NEW_CLAUSE.split(text), _LISTED.split(text)
    named = [clause for clause in listed if _has_all(clause, constraints.names)]
    own, others = Statements(named), Statements(_DIGIT.split(clause)[-1] for clause in listed if clause not in named)
    if named and any(others.has(word) and not own.has(word) for word in telling):
        return True
    own_clauses = [clause for clause in clauses if _has_all(clause, constraints.names)]
    is_apart = len(clauses) > 1 and bool(own_clauses) and ": " not in text
    return is_apart and not any(statement(clause).has(word) for clause in own_clauses for word in telling)


def _is_misplaced_elsewhere(question: str, text: str, constraints: Constraints) -> bool:
    """Whether a text of another language denies what is asked or the reverse, or begins with the name of whom it is done to."""
    body = _LAST_PART.sub("", text)  # "opens at 10, not on Mondays"
    is_denied, is_negative = (_NOT_ELSEWHERE.search(part) is not None for part in (body, question))
    if _ASKS_ELSEWHERE.match(question) and is_denied is not is_negative:
        return True
    begins = fold(text).startswith(tuple(map(fold, constraints.names)))
    return begins and _WHO_ELSEWHERE.match(question) is not None and _BY_ELSEWHERE.search(text) is None


def _is_after_not_before(question: str, text: str) -> bool:
    """Whether a text has the opposite order: "from 1990" for "until 1990", "followed Ada Falk" for "before Ada Falk"."""
    for word, number in _AT_NUMBER.findall(question):
        others = (_UNTIL if word.lower() in _SINCE.split() else _SINCE).split()
        said = [own.lower() for own, other in _AT_NUMBER.findall(text) if other == number]
        is_over = word.lower() in ("from", "since") and number in _ENDED.findall(text)
        if is_over or (said and all(own in others for own in said)):
            return True
    for order, name in _IN_ORDER.findall(question):
        is_silent = order == "before" and question.startswith("Who ") and _ORDER_WORD.search(text) is None
        if is_silent or re.search(rf"\b(?:{_STATED_ORDER[order]}) {re.escape(name)}", text):
            return True
    return False


def _is_elsewhere(question: str, text: str) -> bool:
    """Whether a text has another name, or the opposite preposition, after each word of the question that has a name after it."""
    for verb, noun, number in _OBJECT.findall(question):
        others = {other for word, own, other in _OBJECT.findall(text) if own == noun and statement(word).has(verb)}
        if others and number not in others:
            return True
    for verb, preposition in _FOR_OR_AGAINST.findall(question):
        if preposition == "against" and "against" not in text and not statement(text).has("opposed"):
            return True
        said = {own for word, own in _FOR_OR_AGAINST.findall(text) if statement(word).has(verb)}
        if _OPPOSITE[preposition] in said and preposition not in said:
            return True
    for verb, noun in _AT_THING.findall(question):
        is_said = any(statement(word).has(verb) for word, _ in _AT_THING.findall(text))
        if is_said and not statement(text).has(noun) and not _REFERS.search(text):
            return True
    begins = _BEGINS_AT.match(text)
    asked = [] if begins is None else [match["name"] for match in _AT_PLACE.finditer(question)]
    if any(statement(text).has(part) for name in asked for part in name.split()):
        asked = []
    return bool(asked) or any(_has_another(text, *match.groups()) for match in _AT_NAME.finditer(question))


_WHOSE = re.compile(rf"({_CAPITAL})['’]s? ([a-z]+)")
_ALIKE = {"in": "in|at", "at": "in|at"}


def _has_another(text: str, word: str, preposition: str, name: str) -> bool:
    if f"not {preposition} {name}" in text:  # "born in Tolk, not in Sarn" answers
        return False
    whose = _WHOSE.finditer(text) if preposition == "of" else ()
    owners = [match[1] for match in whose if statement(match[2]).has(word)]
    stated = rf"([^\W\d_]+) (?:{_ALIKE.get(preposition, preposition)}) (?=(?:the )?[^\W\d_a-z])"
    places = [place for place in re.finditer(stated, text) if statement(place[1].lower()).has(word)]
    parts = owners + [_NEXT_PART.split(text[place.end() :], maxsplit=1)[0] for place in places]
    return bool(parts) and not any(statement(part).has(own) for part in parts for own in name.split())


@cached_by_text(_KEPT)
def _roles(question: str) -> list[tuple[str, str, bool]]:
    """The names of a question beside its verb, and whether each does what the verb says."""
    for pattern in (_PASSIVE, _ACTIVE, _WHO_BY, _WHO, _WHOM):
        if match := pattern.search(question):
            roles = match.groupdict()
            sides = [role for role in ("agent", "patient") if roles.get(role)]
            return [(roles[role], roles["verb"], role == "agent") for role in sides]
    return []


def _role(text: str, name: str, verb: str) -> bool | None:
    """Whether a name does what a verb says in a text; None if the name is not right beside the verb."""
    tokens = _TOKEN.findall(text)
    words = [fold(token) for token in tokens]
    own = fold(name).removeprefix("the ").split()
    places = [at for at in range(len(words)) if words[at : at + len(own)] == own]
    roles: set[bool] = set()
    for at, token in enumerate(tokens):
        if not _is_form(token, verb):
            continue
        before, after = at, at + 1
        while before and (words[before - 1] in _BETWEEN or words[before - 1].endswith("ly")):
            before -= 1
        is_passive = before > 0 and words[before - 1] in _BE
        while before and words[before - 1] in _BE | _BETWEEN:
            before -= 1
        if words[after : after + 1] == ["and"] and "".join(words[after + 1 : after + 2]).endswith("ed"):
            after += 2  # "defeated and killed Ben Moro"
        is_by = words[after : after + 1] == ["by"]
        after += is_by
        after += words[after : after + 1] == ["the"]
        if before - len(own) in places:
            roles.add(not is_passive and not is_by)
        if after in places and (is_by or not is_passive):
            roles.add(is_by)
    return roles.pop() if len(roles) == 1 else None


def _is_form(token: str, verb: str) -> bool:
    """Whether a word of a text is a form of a verb, or of one that means the same and begins alike, such as "bought" for "buy"."""
    is_verb = token.islower() and token[0] == verb[0] and not token.endswith(_NO_VERB)
    return is_verb and statement(token).has(verb)


# What a question leaves to what was said before it.

_LONGEST_OPEN = 300  # characters; a longer question names what it is about
_MESSAGES, _MESSAGE = 10, 1_000  # messages that are read, and characters of each
_PRONOUN = re.compile(r"(?<![\w’'-])(?:[Hh]e|[Ss]he|[Hh]im|[Hh]is|[Hh]ers?|[Ii]ts?)(?![\w-])")
_FINITE = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|may|might|must|shall|should"
_ASKS = re.compile(
    rf"(?:\w+,? ){{0,2}}(?:who|whom|whose|what|which|when|where|why|how)\b(?: [\w'’-]+)*? (?={_FINITE}\b)", re.I
)
_DETERMINED = re.compile(r"\b(?:the|an?|this|that|these|my|your|our|each|every|any|some|no) [a-z]|\w\W+[A-Z]|\w['’]s\b")
_IMPERSONAL = re.compile(
    r"\bit\b.* (?:to|that|if|when|where|who|from)\b|\b(?:cold|dark|hot|late|rain|snow|time|warm)\w*\b.*\bit\b"
    r"|\bit (?:rain|snow|freez)",
    re.IGNORECASE,
)

_FULL_NAME = re.compile(r"(?!(?:The|An?|My|Our|New)\b)[A-Z][a-z'’-]+(?: [A-Z][\w'’.-]*| v[ao]n| d[aei]| der| den){1,3}")


def unbound(question: str) -> re.Match[str] | None:
    """The first "he", "she" or "it" of a short question, or a form of it, if nothing in the question may be meant; else None.

    Examples
    --------
    >>> unbound("When was it built?")[0]
    'it'
    >>> unbound("Is it allowed to swim?"), unbound("Where did the designer of the bridge spend his youth?")
    (None, None)
    """
    question = _in_small(question) if len(question) <= _LONGEST_OPEN else ""
    pronoun = _PRONOUN.search(question)
    if pronoun is None or (pronoun[0] in ("it", "It") and _IMPERSONAL.search(question)):
        return None
    before, after = question[: pronoun.start()], question[pronoun.end() :]
    asks = _ASKS.match(before)
    said = before[asks.end() :] if asks else before
    is_own = not asks and _is_own(pronoun)  # "Who lost his hat?"
    has_noun = bool(_DETERMINED.search(said) or _DETERMINED.search(after.partition(",")[2]))
    if asks or not re.match(r"\W*(?:who|what|which)\b", said, re.IGNORECASE):
        has_noun |= any(telling_words(said))
    return None if is_own or has_noun else pronoun


def _in_small(question: str) -> str:
    """A question, in small letters if it has no other ones: "WHEN WAS IT BUILT?"."""
    return question.lower() if question.isupper() else question


def in_conversation(question: str, before: Sequence[tuple[str, str]]) -> str:
    """A question with the name of whom or what its pronoun means, by the messages before it; as it is, if that is not certain.

    "He" is the only name of a person in the last message that names one; "it" is the only name of anything else in the last
    question that names one. Of the last ten messages the first sentences are read.

    Parameters
    ----------
    question : the question
    before : role and text of the messages before it, oldest first; those of the role ``user`` are questions

    Examples
    --------
    >>> said = [("user", "Who designed the Halfmoon Bridge?"), ("assistant", "Jonas Querl designed the bridge. [1]")]
    >>> in_conversation("Where was he born?", said), in_conversation("What is its length?", said)
    ('Where was Jonas Querl born?', "What is the Halfmoon Bridge's length?")
    >>> in_conversation("When was it built?", [("user", "Who designed the bridge?")])
    'When was it built?'
    """
    pronoun = unbound(question)
    if pronoun is None:
        return question
    is_person = pronoun[0].lower() not in ("it", "its")
    texts = (
        text for role, text in reversed(before[-_MESSAGES:]) if role == "user" or (is_person and role == "assistant")
    )
    named = next(filter(None, (_named(text, is_person=is_person) for text in texts)), [])
    if len(named) != 1:
        return question
    asked, name = pronoun.string, named[0] + "'s" * _is_own(pronoun)
    return f"{asked[: pronoun.start()]}{name}{asked[pronoun.end() :]}"


def _is_own(pronoun: re.Match[str]) -> bool:
    """Whether a pronoun stands for an owner: "her house", not "her" or "her in 1871"."""
    is_followed = re.match(
        r" (?!in\b|at\b|on\b|to\b|for\b|by\b|from\b|and\b|as\b)[a-z]", pronoun.string[pronoun.end() :]
    )
    return pronoun[0].lower() in ("his", "its") or (pronoun[0].lower() == "her" and is_followed is not None)


def _named(text: str, *, is_person: bool) -> list[str]:
    """The names of persons, or of anything else, in the first sentence of a text; of the label before it only who acts in it."""
    from hlgraph.extract.extractor import ChunkInput
    from hlgraph.extract.local import KIND_OF_NOUN, read_chunk

    start, end = next(iter(sentences(text[:_MESSAGE])), (0, 0))
    reading = read_chunk(ChunkInput(text[start:end]))
    shown = dict[str, str]()
    for unit, mentions in zip(reading.units, reading.mentions, strict=True):
        for mention in mentions:
            before, after, last = unit.text[: mention.start], unit.text[mention.end :], mention.name.split()[-1]
            is_determined = before.lower().endswith("the ")
            kind = (
                mention.kind
                or KIND_OF_NOUN.get(last.lower())
                or ("" if is_determined else _of_shape(mention.name, before, after))
            )
            is_label = ": " in after and last not in after
            if kind != "date" and mention.name[0].isalpha() and (kind == "person") == is_person and not is_label:
                shown[mention.name] = f"{'the ' * is_determined}{mention.name}"
    return list(shown.values())


# A team or a program by its last word; what stands before the name of what is no person: "Who wrote Moby Dick?".
_NO_SURNAME = re.compile(
    r"united|rovers|athletic|wanderers|software|systems|solutions|technolog(?:y|ies)|cloud|pro", re.I
)
_MAKES = frozenset(
    meaning
    for verb in words("made wrote composed founded designed invented sang played published sold owns directed led")
    for meaning in _meanings(verb, is_asked=True)
)
_OF_WHAT = re.compile(r"(?P<is>wh(?:at|ich) (?:is|are|was|were) )$|.*\b(?:at|for|(?P<role>[a-z]+) of) $", re.IGNORECASE)


def _of_shape(name: str, before: str, after: str) -> str:
    """The kind of a name by its words and those beside it: a full name is that of a person, any other is not known."""
    from hlgraph.extract.local import KIND_OF_NOUN, NOT_A_FIRST_NAME

    first, last = fold(name.split(maxsplit=1)[0]), fold(name.rsplit(maxsplit=1)[-1])
    of, verb = _OF_WHAT.match(before), fold("".join(before.split()[-1:]))
    role = fold(of["role"] or "") if of else ""
    is_thing = first in NOT_A_FIRST_NAME or _NO_SURNAME.fullmatch(last) is not None
    is_thing |= any(not _MAKES.isdisjoint(_meanings(word, is_asked=True)) for word in (verb, role))
    if of and not (of["is"] and after.startswith(("'", "’"))):
        is_thing |= not role or (KIND_OF_NOUN.get(role) == "person" and not re.fullmatch(_KIN, role))
    return "person" if _FULL_NAME.fullmatch(name) and not is_thing else ""
