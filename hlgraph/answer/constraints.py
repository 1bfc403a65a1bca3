"""The constraints of a question (its names, numbers and telling words), and which of them a text meets.

A word is met by itself, by a form of it, or by a word that states the same thing (``synonyms.txt``: "wrote" by "novel",
"killed" by "died"). Words that tell little ("get", "part", "year") are never unmet.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from hlgraph.algorithms.calibration import usual_cosine
from hlgraph.extract.wording import Wording, telling_words
from hlgraph.models.protocols import Embedder
from hlgraph.records import Calibration, Kind
from hlgraph.retrieve.question.keywords import MONTHS
from hlgraph.text import STOP_WORDS, fold, words

_LIGHT = """many much people person persons man woman men women one ones thing things kind sort type way year years day days date
    month time times town city place places part country name names first called go goes going went gone get gets getting got
    take takes took taken make makes made come comes came put puts give gave use used set work works turn turns do does did say
    says said let keep kept become becomes became various total exact exactly good whole really actually ever still according
    currently today now early earlier late later new old far long tall high big large great end ends begin happen happened
    know known mean means stand stands also always usually often reach reached number amount list tell show find long-running
    word words together up out over back off away behind along who's where's what's how's when's why's older
    elder younger oldest youngest soon quickly bigger larger smaller taller higher longer shorter earliest latest sooner
    company firm organisation organization colour color shape size anybody anyone anything somebody someone something everybody
    everyone"""
LIGHT = frozenset(_LIGHT.split())
"""Words of questions that tell little: an answer need not have them."""

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LEAST_ALIKE = 0.975  # of a question to the same without slight words
LIGHT_WEIGHT = 0.3  # of a word that tells little beside one that tells much
_PHRASE = re.compile(
    r"(?<![\w.])((?![a-z])[^\W\d_][\w'’-]*|part|chapter|section|article|episode|season|week|game|round|act|volume|level|phase|stage|step"
    r"|room|gate|platform|line|route|class|version|figure|table|item|grade|page|unit)\s+(\d{1,3}|[IVXL]{1,5})(?![\w%]|[.,]\d)"
)
_OPTION = re.compile(r"(?<!\S)--[a-zA-Z][\w-]*")
_DIGIT = re.compile(r"\d")
_CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][\w’']*(?: [A-Z][\w’']*)+")
_FUNCTION_WORDS = STOP_WORDS.difference(MONTHS)  # May is a month as a name
_ARTICLES = frozenset(("The", "A", "An", "I"))
_OFFICE = re.compile(r"(?<![\w.])((?![a-z])[^\W\d_]\w+) of (?![a-z])[^\W\d_][\w'’-]*")
# Function words of German, French, Spanish, Italian, Portuguese and Dutch that are rare in English.
_OF_GERMAN = """der das dem des ein eine einer wer wo wann wie welche welcher welches wurde wurden ist sind und von zu mit für im
    zur zum"""
_OF_OTHERS = """le la les una une du de est qui que quoi quand où combien quel quelle quels dans pour par sur et el los las del
    es son quién qué cuándo dónde cuántos cuántas cuál cómo en con por il gli della delle di è chi che dove quanti quante quale
    come nel os um uma da em foi quem onde quantos qual como na het een van waar wanneer hoe welke werd"""
_GERMAN, _OTHER = frozenset(_OF_GERMAN.split()), frozenset((*_OF_GERMAN.split(), *_OF_OTHERS.split()))
_ALSO_OTHER = "was is in an am as a do has he me no so on or we of over had her"
_SHARED = frozenset(_ALSO_OTHER.split())  # words of English that are words of these languages, too
_LIFE = re.compile(r"\([^()]{0,60}\b(?:1\d{3}|20\d\d)\b[^()]{0,40}[–-][^()]{0,40}\b(?:1\d{3}|20\d\d)\b")
# Words that a value states by its form: "3.1.0" is a version, "3.1.0 (2024-02-19)" says when it was released.
_SIGNS = {
    word: re.compile(pattern)
    for words_of, pattern in {
        "version": r"\bv?\d+\.\d+\.\d+\b|\bv\d",
        "released release": r"\b\d+\.\d+\S* [(–-]+ ?\d{4}-\d\d-\d\d\b",
        "phone telephone": r"(?<![\d.,])(?:\+\d|0\d|\(0?\d{2,4}\))[\d ()/-]{5,}\d",
        "email e-mail": r"\w@\w[\w-]*\.",
        "website url": r"\bhttps?://|\bwww\.",
    }.items()
    for word in words_of.split()
}
_DEFINES = re.compile(r"\b(?:is|was)\s+an?\s")
_ENDINGS = ("s", "es", "d", "ed", "ing")


class Constraints(NamedTuple):
    """What a text must have to answer a question.

    Attributes
    ----------
    names : words with a capital
    phrases : a word and the number after it, as in "Part 150" or "Ip Man 4", which must stand together
    numbers : numbers, dates, codes such as P60, and options such as --force
    words : its other content words
    is_english : whether two words, or the first, are English function words, and function words of other languages are not more;
        only then its words are constraints
    """

    names: tuple[str, ...]
    phrases: tuple[str, ...]
    numbers: tuple[str, ...]
    words: tuple[str, ...]
    is_english: bool = True

    @property
    def all(self) -> tuple[str, ...]:
        """All of them: names, phrases, numbers, words."""
        return (*self.names, *self.phrases, *self.numbers, *self.words)


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
    common = [word in STOP_WORDS and word not in _OTHER for word in asked]
    is_sure = (
        any(common[:1]) and asked[0] not in _SHARED
    )  # names may have words of other languages: "El Paso de la Reina"
    is_english = is_sure or (
        (any(common[:1]) or sum(common) > 1) and sum(word in _OTHER for word in asked) <= sum(common)
    )
    if not is_english:  # the first word has a capital in any case, and in German every noun has
        names = [] if _GERMAN & {*asked} else [name for name in names if fold(name) != asked[0]]
    named = tuple(name for name in names if name not in joined)
    return Constraints(named, phrases + offices, numbers, tuple(rest), is_english)


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
        self._wording = Wording(texts, places=places)
        self._meanings = {meaning for text in (*texts, *places) for word in words(text) for meaning in _meanings(word)}
        if any(_LIFE.search(text) for text in texts):
            self._meanings |= _meanings("born") | _meanings("died")
        if any(_DEFINES.search(text) for text in texts):
            self._meanings |= _meanings("occupation")
        self._options = {option for text in texts for option in _OPTION.findall(text)}
        self._signs = {word for word, sign in _SIGNS.items() if any(map(sign.search, (*texts, *places)))}
        self._whole = " ".join(word for text in (*texts, *places) for word in (*words(text), "|"))

    def has(self, constraint: str) -> bool:
        """Whether the texts meet a constraint."""
        if " " in constraint:
            parts = words(constraint)
            orders = {" ".join(parts), f"{parts[-1]} {parts[0]}"} if len(parts) > 2 else {" ".join(parts)}
            return any(re.search(rf"\b{re.escape(order)}\b", self._whole) for order in orders)
        if constraint.startswith("--"):
            return constraint in self._options
        meanings = _meanings(fold(constraint), is_asked=True)
        return self._wording.has(constraint) or constraint in self._signs or not self._meanings.isdisjoint(meanings)

    def unmet(self, constraints: Constraints) -> tuple[str, ...]:
        """The constraints that the texts do not meet, without words that tell little."""
        words = constraints.words if constraints.is_english else ()
        needed = (*constraints.names, *constraints.phrases, *constraints.numbers, *words)
        return tuple(one for one in needed if one not in LIGHT and not self.has(one))

    def denies(self, text: str) -> bool:
        """Whether the texts deny something that ``text`` affirms, or affirm something that it denies."""
        return self._wording.contradicts(text)


def weight(word: str) -> float:
    """The weight of a word of a question: 1, or 0.3 if it tells little."""
    return LIGHT_WEIGHT if fold(word) in LIGHT else 1.0


def is_slight(question: str, unmet: Sequence[str], *, embedder: Embedder, calibration: Calibration | None) -> bool:
    """Whether a question means the same without some of its words: its cosine to the rest of it is at least 0.975.

    Names and numbers are never slight. Embeds two texts at once.

    Parameters
    ----------
    question : text of the question
    unmet : the words, folded
    embedder : the embedder of the corpus
    calibration : the scale of its cosines; None: that of the shipped embedder
    """
    if not unmet or any(sign.isupper() or sign.isdigit() for word in unmet for sign in word):
        return False
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, unmet))})(?!\w)"
    rest = " ".join(re.sub(pattern, "", question, flags=re.IGNORECASE).split())
    whole, part = embedder.embed([question, rest])
    return usual_cosine(float(whole @ part), Kind.STATEMENT, calibration=calibration) >= _LEAST_ALIKE


def lacking(unmet: Sequence[str]) -> str:
    """One sentence that says which constraints no statement meets; names and numbers apart from words.

    Examples
    --------
    >>> lacking(["Boston", "1988", "season"])
    'No statement names *Boston*, *1988* or says *season*.'
    """
    named = [f"*{word}*" for word in unmet if any(sign.isupper() or sign.isdigit() for sign in word)]
    said = [f"*{word}*" for word in unmet if f"*{word}*" not in named]
    parts = [f"{verb} {', '.join(those)}" for verb, those in (("names", named), ("says", said)) if those]
    return f"No statement {' or '.join(parts)}."


@cache
def _groups() -> tuple[Mapping[str, frozenset[int]], Mapping[str, frozenset[int]]]:
    """For each word of ``synonyms.txt`` the numbers of the groups that it states, and of those that it asks for."""
    lines = resources.files(__package__).joinpath("synonyms.txt").read_text("utf-8").splitlines()
    stated: defaultdict[str, set[int]] = defaultdict(set)
    asked: defaultdict[str, set[int]] = defaultdict(set)
    for number, line in enumerate(lines):
        asking, _, stating = line.partition("#")[0].partition(":")
        for word in asking.split():
            asked[word].add(number)
        for word in (*asking.split(), *stating.split()):
            stated[word].add(number)
    one, other = ({word: frozenset(numbers) for word, numbers in each.items()} for each in (stated, asked))
    return one, other


@lru_cache(1 << 16)
def _meanings(word: str, *, is_asked: bool = False) -> frozenset[int]:
    groups = _groups()[is_asked]
    forms = (word, *(word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)))
    return next((groups[form] for form in forms if form in groups), frozenset())
