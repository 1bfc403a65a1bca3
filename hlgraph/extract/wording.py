"""Compare texts by their words alone: names, numbers, other words, and what a text denies.

:func:`objection` checks whether evidence supports a sentence; :class:`Wording` indexes the words of texts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources

from hlgraph.text import STOP_WORDS, cached_by_text, content_words, fold, folded_words, numbers, sentences, word_set

# Lexical support: whether evidence supports a sentence by words alone, without a model.
#
# The rule is a proxy: it detects what the evidence lacks or contradicts, not whether the sentence follows. Measured on facts
# that a large model had extracted from 1,500 encyclopaedic passages, written as sentences: 93 % of the true sentences are
# supported by their passage, and none by another passage; 6 % of those with an added ``never``; 13 % of those with the object of
# a fact from another passage; but 94 % of those with the object of another fact of the same passage, which only a model can
# tell apart.


_MONTHS = "january february march april may june july august september october november december"
MONTHS = tuple(_MONTHS.split())
"""The English names of the months."""
MONTH_PATTERN = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?"
)
"""A pattern of them, and of what abbreviates them."""
_TO_TWENTY = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty"""
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
NUMERALS = {word: number for number, word in enumerate(_TO_TWENTY.split(), 1)}
NUMERALS |= {word: 10 * number for number, word in enumerate(_TENS.split(), 3)}
"""The English numerals of one word, up to a hundred."""

LEAST_SHARE = 0.5
"""Minimum share of the ordinary words of a sentence that the evidence must have."""

_MARK = re.compile(r"\s*\[\d+\]")
_TOKEN = re.compile(r"[^\W_]+(?:[.,'’:/-][^\W_]+)*|[.!?;:,]")
_INSIDE = re.compile(r"(?<!\d)[.,]|[.,](?!\d)|['’:/-]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NO_DIGIT = re.compile(r"[^\d.]")
_BREAKS = frozenset(".!?;:,") | {"but", "although", "though", "however", "and", "while"}
_NEGATIONS = word_set("not no never none nobody nothing neither nor without cannot hardly lack lacks lacked lacking")
_NOT_ALONE = frozenset({"only", "just", "merely"})  # "not only" denies nothing that follows
_EMPTY = _NOT_ALONE | {"longer", "yes"}
_UNTIL = 6  # number of words after "not" before an "until": "was not opened until 1937" says that it was opened
_KEPT = 4_096  # texts whose content is in memory: an answer reads each piece of its evidence several times
_REACH = 3  # number of content words after a negation that it denies
_STEM, _ENDING = 4, 3
_ACTION = re.compile(r"(?<=\w{5})(?:ments?|[ae]nces?|hood)$")
_IN_E = re.compile(r"[^aeiou][aeiou][^aeiouwxy](?:e|ed|(?<![sz])es|ing)")  # bake, baked, baking
_IN_Y, _SIBILANT = re.compile(r"[^aeiou]y$"), re.compile(r"(?:[aious]s|[xz]|ch|sh)$")
_COUNTED = {word: str(number) for word, number in NUMERALS.items() if 1 < number <= 20}  # "one" is mostly a pronoun
_BEFORE_UNIT = re.compile(rf"\b(\d+|{'|'.join(_COUNTED)})-(?=[a-z]{{2}})", re.IGNORECASE)  # a three-year term


@dataclass(slots=True)
class _Words:
    """The content of a text: its names and numbers, its ordinary words, and which words it affirms or denies.

    Attributes
    ----------
    said, denied : words that occur affirmed, and words that occur denied
    negated : for each word, whether the sentences with it have a negation anywhere
    """

    names: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    negated: dict[str, set[bool]] = field(default_factory=dict)


def objection(sentence: str, evidence: Sequence[str], *, places: Iterable[str] = ()) -> str:
    """The reason why evidence does not support a sentence; empty if its words give none.

    A sentence is supported if three conditions hold:

    1. The evidence has all its numbers and all its names.
    2. The evidence has at least half of its other content words. Two words are the same when they share their beginning and
       differ in an ending of at most three letters; a word of three letters has only its regular forms.
    3. The evidence does not deny what the sentence affirms, or affirm what it denies. A word is denied when it is one of the
       first three content words after a negation in the same clause. Two sentences that both have a negation never contradict
       each other.

    Names are words with a capital letter; the first word of a sentence is one only if another capitalised word follows. A
    sentence without content words has nothing to look up and is supported.

    Parameters
    ----------
    sentence : the sentence; marks such as ``[1]`` in it are ignored
    evidence : the texts of all pieces that it cites
    places : titles and headings of these pieces, in which names and numbers may occur too

    Returns
    -------
    str
        One sentence without a full stop.

    Examples
    --------
    >>> texts = ["The Aldane Bridge was designed by Mara Quill in 1931."]
    >>> objection("Mara Quill designed it. [1]", texts)
    ''
    >>> objection("It was designed in 1932 [1].", texts)
    'the evidence has no 1932'
    >>> objection("Ivo Brandt designed the bridge.", texts)
    'the evidence has no Ivo, Brandt'
    >>> objection("Mara Quill never designed the bridge.", texts)
    'the sentence denies what the evidence says: designed, bridge'
    >>> objection("The bridge collapsed during a storm.", texts)
    'the evidence has too few of its words: no collapsed, storm'
    """
    asked = _read(_MARK.sub(" | ", sentence))
    wording = Wording(evidence, places=places)
    lacking = wording.lacking(sentence)
    if lacking:
        return f"the evidence has no {', '.join(lacking)}"
    missing = [word for word in asked.plain if not wording.forms(word)]
    if len(missing) > (1 - LEAST_SHARE) * len(asked.plain):
        return f"the evidence has too few of its words: no {', '.join(dict.fromkeys(missing))}"
    return _contradiction(asked, wording)


@cache
def word_lists(package: str, file: str) -> Mapping[str, tuple[str, ...]]:
    """The lines of a file of word lists below each heading, by the first word of the heading: ``# months: of the year``.

    Further lines with ``#`` right below a heading are comments. Lines of a list of patterns are alternatives, which the code joins
    by ``|``; a line ``key: words`` gives the words of a key.

    Parameters
    ----------
    package : name of the package that has the file
    file : its name
    """
    text = resources.files(package).joinpath(file).read_text("utf-8")
    _, *parts = re.split(r"^# (\w+)\b.*\n(?:#.*\n)*", text, flags=re.MULTILINE)
    return {name: tuple(lines.splitlines()) for name, lines in zip(parts[::2], parts[1::2], strict=True)}


def telling_words(text: str) -> tuple[list[str], list[str]]:
    """Two lists: the names of a text, and its numbers and ordinary content words; each once, in order.

    Examples
    --------
    >>> telling_words("Which book did the engineer of the Halfmoon Bridge publish in 1875?")
    (['Halfmoon', 'Bridge'], ['1875', 'book', 'engineer', 'publish'])
    """
    read = _read(text)
    return list(dict.fromkeys(read.names)), list(dict.fromkeys((*read.numbers, *read.plain)))


class Wording:
    """An index of the words of texts.

    Parameters
    ----------
    texts : all their words are indexed
    places : titles, headings and the like; only their names and numbers are looked up
    """

    def __init__(self, texts: Iterable[str], *, places: Iterable[str] = ()) -> None:
        texts, places = tuple(texts), tuple(places)
        own, around = _read(*texts), _read(*places)
        self.said, self.denied, self.negated = own.said, own.denied, own.negated
        self._by_stem: defaultdict[str, set[str]] = defaultdict(set)
        for word in own.said | own.denied:
            self._by_stem[word[:_STEM]].add(word)
        self._numbers = {*own.numbers, *around.numbers}
        self._known = {*own.said, *own.denied, *around.said, *around.denied}
        self._texts = (*texts, *places)

    def has(self, word: str) -> bool:
        """Whether the texts have a word: a name whole or in all its parts, a number, or a form of an ordinary word."""
        number, bare, parts = _parts_of(word)
        if number in self._numbers or (bare and (bare in self._known or self.forms(bare))):
            return True
        return len(parts) > 1 and all(part in self._known or part in self._numbers for part in parts)

    def forms(self, word: str) -> set[str]:
        """The ordinary words of the texts that are forms of this one."""
        alike = self._by_stem.get(word[:_STEM], ())
        same = {other for other in alike if other == word or (len(word) >= _STEM and _is_form(word, other))}
        return same.union(short for short in _spelled_forms(word) if short in self._by_stem.get(short[:_STEM], ()))

    def numbers_of_value(self, text: str) -> set[str]:
        """The numbers of ``text`` whose values occur here in another spelling: 3,500,000 for 3.5 million."""
        written = numbers(text)
        if not written:
            return set()
        quantities = {_NO_DIGIT.sub("", number.text) for own in self._texts for number in numbers(own)}
        return {number.value for number in written if _NO_DIGIT.sub("", number.text) in quantities}

    def lacking(self, sentence: str) -> list[str]:
        """The numbers and the names of a sentence that do not occur here, each once."""
        asked, same_value = _read(_MARK.sub(" | ", sentence)), self.numbers_of_value(sentence)
        words = dict.fromkeys((*asked.numbers, *asked.names))
        return [word for word in words if not self.has(word) and word not in same_value]

    def contradiction(self, sentence: str) -> str:
        """The reason why a sentence contradicts the texts; empty if it does not."""
        return _contradiction(_read(sentence), self)

    def share(self, words: Sequence[str]) -> float:
        """The share of these words that occur here; 1 for an empty sequence."""
        return sum(map(self.has, words)) / len(words) if words else 1.0

    def contradicts(self, text: str) -> bool:
        """Whether the texts deny something that ``text`` affirms, or affirm something that it denies."""
        return bool(self.contradiction(text))


def _contradiction(asked: _Words, wording: Wording) -> str:
    """The reason why sentence and evidence contradict each other; empty if they do not."""

    def against(mine: set[str], theirs: set[str], others: set[str]) -> list[str]:
        opposed = []
        for word in (named for named in (*asked.plain, *map(_bare, asked.names)) if named in mine):
            same = wording.forms(word)
            # "The flood did not destroy the mill" and "the mill was not destroyed" deny different words, and say the same.
            agrees = any(asked.negated[word] & wording.negated[other] for other in same)
            if same & theirs and not same & others and not agrees:
                opposed.append(word)
        return list(dict.fromkeys(opposed))

    wrong = against(asked.denied - asked.said, wording.said, wording.denied)
    if wrong:
        return f"the sentence denies what the evidence says: {', '.join(wrong)}"
    wrong = against(asked.said - asked.denied, wording.denied, wording.said)
    return f"the evidence denies it: {', '.join(wrong)}" if wrong else ""


def _is_form(one: str, other: str) -> bool:
    """Whether two words share their first letters, at least four, and differ in an ending of at most three.

    The doubled letter before an ending does not count. A noun of an action ("payment") is a form of what it is made from.

    Examples
    --------
    >>> [_is_form("designed", other) for other in ("designer", "designs", "design", "designated")]
    [True, True, True, False]
    >>> _is_form("sublet", "subletting"), _is_form("attended", "attendance"), _is_form("experience", "experiment")
    (True, True, False)
    """
    if one == other:
        return True
    root, derived = _ACTION.sub("", one), _ACTION.sub("", other)
    if (root == one) is not (derived == other):
        one, other = root, derived
    alike = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    longer = max(one, other, key=len)
    is_doubled = alike == min(len(one), len(other)) and longer[alike : alike + 1] == longer[alike - 1]
    return alike >= _STEM and len(longer) - alike - is_doubled <= _ENDING


@lru_cache(_KEPT)
def _spelled_forms(word: str) -> tuple[str, ...]:
    """The forms of a word that do not begin with its first four letters, and what it is a form of.

    Those are the forms of words of three letters, and those of words in "-y", "-s", "-x", "-z", "-ch" and "-sh".

    Examples
    --------
    >>> [" ".join(_spelled_forms(word)) for word in ("add", "adds", "seed", "city", "cities", "bus", "buses")]
    ['adds added adding', 'add', '', 'cities citied', 'city', 'buss bused busing buses', 'bus']
    """
    return tuple(_spelled(word))


def _spelled(word: str) -> Iterator[str]:
    if len(word) == _STEM - 1:
        yield from (word + ending for ending in (("s", "d") if word.endswith("e") else ("s", "ed", "ing")))
    elif len(word) <= _STEM + 2:
        for ending in ("s", "d", "ed", "ing"):
            root = word.removesuffix(ending)
            if len(root) == _STEM - 1 != len(word) and (ending != "d" or (root[-1] == "e" and root[-2] != "e")):
                yield root
    if _IN_E.fullmatch(word):
        yield from (f"{word[:3]}{ending}" for ending in ("e", "ed", "es", "ing"))
    if _IN_Y.search(word):
        yield from (word[:-1] + ending for ending in ("ies", "ied"))
    elif len(word) > _STEM and word.endswith(("ies", "ied")):
        yield f"{word[:-3]}y"
    if _SIBILANT.search(word):
        yield f"{word}es"
    elif word.endswith("es") and _SIBILANT.search(word[:-2]):
        yield word[:-2]


@lru_cache(_KEPT)
def _bare(word: str) -> str:
    """A name as it is compared: folded, without its possessive and inner dots."""
    return fold(word).removesuffix("'s").replace(".", "")


@lru_cache(_KEPT)
def _parts_of(word: str) -> tuple[str | None, str, tuple[str, ...]]:
    """A word as a number and as a name or ordinary word, one of which is empty, and the parts of a name."""
    is_number = any(map(str.isdigit, word))
    return fold(word) if is_number else None, "" if is_number else _bare(word), tuple(_words_of(word, is_name=True)[1:])


def _read(*texts: str) -> _Words:
    """The content of texts together. It is not to be changed: that of one text is in the cache."""
    if len(texts) == 1:
        return _read_text(texts[0])
    content = _Words()
    for one in map(_read_text, texts):
        content.names += one.names
        content.numbers += one.numbers
        content.plain += one.plain
        content.said |= one.said
        content.denied |= one.denied
        for word, negated in one.negated.items():
            content.negated.setdefault(word, set()).update(negated)
    return content


@cached_by_text(_KEPT)
def _read_text(text: str) -> _Words:
    content = _Words()
    for start, end in sentences(text):
        _read_sentence(text[start:end], content)
    return content


def _read_sentence(text: str, words: _Words) -> None:
    tokens = _TOKEN.findall(_BEFORE_UNIT.sub(r"\1 ", _THOUSANDS.sub("", text)))
    folded = list(map(str.lower if text.isascii() else fold, tokens))
    denying = [at for at in range(len(tokens)) if _is_negation(folded, at)]
    reach, is_first, has_denial = 0, True, bool(denying)
    for at, (token, word) in enumerate(zip(tokens, folded, strict=True)):
        following = tokens[at + 1] if at + 1 < len(tokens) else "."
        is_may = tokens[at] == "May" and (not is_first or following[0].isdigit())
        if word in _BREAKS:
            reach = 0
            continue
        if word in _NEGATIONS or word.endswith("n't"):
            reach = _REACH if at in denying else 0
        elif any(map(str.isdigit, _COUNTED.get(word, word))):
            words.numbers.append(_COUNTED.get(word, word).removesuffix("'s"))
        elif is_may or (word not in STOP_WORDS and word not in _EMPTY):
            is_label = len(token) == 1 and following == ":"  # Q: and A:
            # The first word of a sentence begins a name of several words if the next one has a capital, too.
            is_inner = not is_first or len(token) == 1 or following[0].isupper()
            is_name = token[0].isupper() and not is_label and is_inner
            if is_name:
                words.names.append(token)
            for part in _words_of(token, is_name=is_name):
                if not is_name:
                    words.plain.append(part)
                (words.denied if reach else words.said).add(part)
                words.negated.setdefault(part, set()).add(has_denial)
            reach = max(0, reach - 1)
        is_first = False


@cached_by_text(_KEPT)
def content_set(text: str) -> frozenset[str]:
    """The :func:`hlgraph.text.content_words` of a text, each once: an answer compares its evidence with many texts."""
    return frozenset(content_words(text))


def denies(text: str) -> bool:
    """Whether a text has a negation."""
    words = [fold(token) for token in _TOKEN.findall(text)]
    return any(_is_negation(words, at) for at in range(len(words)))


def _is_negation(words: list[str], at: int) -> bool:
    """Whether a word denies what follows; "not only" and "not ... until" do not."""
    if words[at] not in _NEGATIONS and not words[at].endswith("n't"):
        return False
    following = words[at + 1 : at + 1 + _UNTIL]
    is_until = words[at] not in ("no", "without") and not {"until", "till"}.isdisjoint(following)
    return not is_until and not _NOT_ALONE.issuperset(following[:1] or ("",))


def _words_of(token: str, *, is_name: bool) -> list[str]:
    """The words of a token: a name as one word and in its parts, any other token in its parts."""
    if token.isascii() and token.isalnum():
        return [token.lower()] if is_name or len(token) > 1 else []
    parts = [word for word in folded_words(fold(_INSIDE.sub(" ", token) if not is_name else token)) if len(word) > 1]
    return list(dict.fromkeys((_bare(token), *parts))) if is_name else parts
