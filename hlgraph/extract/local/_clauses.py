"""Facts from the clauses of a sentence: a subject, its verb, and the names, values and noun phrases after it.

:func:`tagged` gives every word a one-letter tag from closed lists and endings, so that rules are patterns over letters.
:func:`subjects` finds the subjects with their verbs, and :func:`clause` reads the facts about one subject.
:func:`statements` drops the units of a chunk that state nothing, :func:`details` reads the stance of a sentence, and
:func:`open_spans` finds the words whose facts the sentence does not assert.
The letters: ``M`` a name, ``D`` a date, ``#`` a number; ``b`` a form of "be" or "become", ``x`` one of "have", ``y`` a
modal verb, ``e`` "be" and "been", ``v`` another verb form, ``z`` a verb or a plural, ``g`` a word in -ing; ``d`` an
article or another determiner, ``k`` "his", "her", "its", "their"; ``i`` a preposition, ``o`` "of", ``t`` "to"; ``a`` an
adverb, ``N`` a negation, ``c`` "and", ``r`` "or"; ``w`` a relative word, ``u`` a conjunction, ``h`` and ``m`` pronouns;
``s`` a possessive; ``,`` a comma, ``(`` and ``)``, ``.`` any other mark; ``n`` any other word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from hlgraph.extract.local._lexicon import (
    ADJECTIVES,
    BARE_NAMES,
    IRREGULAR,
    KIND_OF_NOUN,
    LISTS,
    ORGANIZATIONS,
    PLACES,
    PLAIN,
    SAYING,
    SELF_NOUNS,
    SYNONYMS,
    WORD_TAGS,
    words_of,
)
from hlgraph.extract.local._topics import Title
from hlgraph.extract.local._units import MentionSpan, Unit, goes_on, stands_alone
from hlgraph.records import Triple
from hlgraph.text import BlockKind, cached_by_text, word_set

# Before a number they are adverbs: "over 300 houses".
APPROXIMATELY = word_set("about over around under up some only")
# Before "of" they are prepositions: "west of Paris".
DIRECTIONS = word_set("west east north south northwest northeast southwest southeast outside inside ahead")

_PART = re.compile(r"['’]s\b|\d[\d.,:]*\d|[^\W_]+(?:[-'’.][^\W_]+)*|[^\w\s]")
_SILENT = frozenset("\"“”`«»„‘'’*_[]")
_MARKS = {",": ",", "(": "(", ")": ")", "&": "c", "%": "n", "$": "n", "£": "n", "€": "n", "/": "r"}
_LOWER = re.compile(r"[a-zß-öø-ÿ-]+")
_VERB_S = re.compile(r"[a-z]{2,}[a-rt-z]s")
_TAG_ENDINGS = (("ly", "a"), ("ed", "v"), ("ing", "g"))


class Tagged(NamedTuple):
    """A sentence as parallel sequences, one entry per word, mention or mark.

    Attributes
    ----------
    tags : one letter each
    words : as in the sentence; the full name for a mention
    mentions : the mention, or None
    """

    tags: str
    words: list[str]
    mentions: list[MentionSpan | None]

    def phrase(self, start: int, end: int) -> str:
        """The words from ``start`` up to ``end``, without adverbs.

        Parameters
        ----------
        start : index of the first word
        end : index after the last word

        Returns
        -------
        str
            The words with spaces.
        """
        remaining = [word for word, tag in zip(self.words[start:end], self.tags[start:end], strict=True) if tag != "a"]
        return " ".join(remaining).replace(" 's", "'s").replace(" ,", ",")

    def name(self, at: int) -> str:
        """The name of the mention at an index; empty if there is none."""
        mention = self.mentions[at]
        return mention.name if mention else ""


@lru_cache(maxsize=4_096)
def tag_of(word: str) -> str:
    """The letter of a word that is part of no mention.

    Examples
    --------
    >>> [tag_of(word) for word in ("was", "been", "founded", "starring", "the", "of", "quickly", "bridge", "plays")]
    ['b', 'e', 'v', 'g', 'd', 'o', 'a', 'n', 'z']
    """
    lower = word.lower()
    if known := WORD_TAGS.get(lower):
        return known
    if word[0].isdigit() and not word[-1].isalpha():
        return "#"
    if lower.endswith(("n't", "n’t")):
        return "N"
    if not _LOWER.fullmatch(word):
        return "n"
    if word in IRREGULAR:
        return "v"
    ended = next((tag for ending, tag in _TAG_ENDINGS if word.endswith(ending) and len(word) > len(ending) + 1), "")
    return ended or ("z" if word in PLAIN or _VERB_S.fullmatch(word) else "n")


def tagged(text: str, mentions: Sequence[MentionSpan]) -> Tagged:
    """The words of a sentence with their tags, without quotation marks and names inside other names.

    Parameters
    ----------
    text : the sentence
    mentions : its mentions, in order

    Returns
    -------
    Tagged
        The sentence.
    """
    return _tagged(text, tuple(mentions))


@cached_by_text(256)
def _tagged(text: str, mentions: tuple[MentionSpan, ...]) -> Tagged:
    tags: list[str] = []
    words: list[str] = []
    entries: list[MentionSpan | None] = []
    position = 0
    for mention in (*mentions, None):
        if mention is not None and mention.start < position:
            continue
        first = len(tags)
        parts = _PART.findall(text, position, len(text) if mention is None else mention.start)
        letters = list(map(_letter, parts))
        if "" in letters:
            parts = [word for word, letter in zip(parts, letters, strict=True) if letter]
            letters = list(filter(None, letters))
        tags += letters
        words += parts
        entries += [None] * len(parts)
        if not _CORRECTED.isdisjoint(letters):
            _correct(tags, words, first)
        if mention is not None:
            tags.append("D" if mention.kind == "date" else "#" if mention.kind == "number" else "M")
            words.append(mention.name)
            entries.append(mention)
            position = mention.end
    return Tagged("".join(tags), words, entries)


_CORRECTED = frozenset("o#k")


def _correct(tags: list[str], words: Sequence[str], first: int) -> None:
    """Give the word before "of" and before a number, and a "will", its tag: "west of Paris", "over 300", "by her will"."""
    for at in range(max(first, 1), len(tags)):
        if tags[at] == "o" and words[at - 1] in DIRECTIONS:
            tags[at - 1] = "i"
        elif words[at] == "will" and (tags[at - 1] == "k" or tags[at + 1 : at + 2] == [","]):
            tags[at] = "n"  # "by her will", "by her last will,"
        elif tags[at] == "#" and words[at - 1] in APPROXIMATELY:
            tags[at - 1] = "a"


@lru_cache(maxsize=16_384)
def _letter(word: str) -> str:
    """The letter of a word or a mark; empty for a mark without meaning."""
    if word in _SILENT:
        return ""
    return tag_of(word) if word[0].isalnum() else "s" if word[0] in "'’" else _MARKS.get(word, ".")


# Verbs and objects

# A verb group: "was founded", "has been", "will play", "became", "attempted to regain".
VERB = re.compile(
    r"a*(?:ya*(?:xa*)?(?:ea*)*[vgnzb]?|xa*(?:ea*)*[vgb]?|ba*(?:ea*)*(?:v|g(?!n))?|v|z(?![bxyv]))(?:t(?:ev?|[nzx](?![,.])))*"
)
_NOT_QUITE = frozenset(("almost", "nearly"))
_MODAL = re.compile(r"(?:will|would|can|could|may|might|shall|should|must)\b(?: be\b)?")
_PARTICIPLE = re.compile(r",?c?(?=v[ito]|g)")
# Words allowed between a verb and its object: a noun phrase, and prepositions.
_DIRECT = re.compile(r"[dka]*[nz#]*")
_PHRASE = re.compile(
    r"(?P<noun>[hm]?(?:[dka]*[nzvg#D]*[nzg#])?(?:o[dka]*[nzvg#D]*[nz#])?)(?P<inner>(?:[iot][dka]*[nz#]+)?)"
    r"(?P<preposition>a?(?:v?[iot]|it|i[io]))[dka]*[nz#]{0,2}"
)
_NOUN = re.compile(r"(?:[dk]a*)?(?:[#D]?[nzvg]*[nz])")
# A noun phrase continues: "the economic and military aid", "a top 5 hit".
_CUT = re.compile(r"[cr][nvg]")
_COUNT = re.compile(r"a*#(?=[iotcr.,()]|$)")
_OF = re.compile(r"o(?:[dk]?[nz#D]*[Mnz]|a*#(?![nz]))")
_ITEM = re.compile(r"(?:,c?|[cr])[dk]?n?(?=M)")
_NEXT_VERB = re.compile(
    r"(?:[^.,cuwhM]|c(?=[dk]?[nz]+[,ciot])){0,10}(?:,?c(?=a*(?:[bxyv]|z[dkM#]))|,(?=a*(?:[bx]|v[dkM#n])))"
)
_BRACKETS = re.compile(r"\([^()]*\)")
_OF_NAME = re.compile(r"o[dk]?[nz]*M")
_LONGEST_NOUN = 5
_LONGEST_LITERAL = 10
_MOST_OBJECTS = 12


class Subject(NamedTuple):
    """The subject of a clause.

    Attributes
    ----------
    names : the entities that the clause is about
    part : their property that the clause is about: "population" in "the population of Kempele is"; empty for themselves
    verb_at : index of the first word of the verb
    """

    names: tuple[str, ...]
    part: str
    verb_at: int


class Verb(NamedTuple):
    """The verb of a clause.

    Attributes
    ----------
    text : its words without adverbs
    end : index after its last word
    is_copula : a form of "be" or "become" without another verb
    is_saying : its object is a clause, as after "said"
    is_participle : a participle after a complement, possibly followed by others: "directed by A, starring B"
    """

    text: str
    end: int
    is_copula: bool
    is_saying: bool
    is_participle: bool = False


def read_verb(sentence: Tagged, at: int) -> Verb | None:
    """The verb group at an index; None if there is none, or if it is negated or "almost" so.

    Parameters
    ----------
    sentence : the sentence
    at : index of the first word, which may be an adverb

    Returns
    -------
    Verb or None
        The verb group.
    """
    match = VERB.match(sentence.tags, at)
    if not match or "N" in sentence.tags[match.end() - 1 : match.end() + 2]:
        return None
    tags = match.group()
    if not _NOT_QUITE.isdisjoint(sentence.words[at : match.end()]):
        return None
    words = sentence.phrase(at, match.end())
    is_copula = "b" in tags and not {"v", "g", "t"}.intersection(tags)
    return Verb(words, match.end(), is_copula or tags.endswith("e"), words.split()[-1] in SAYING if words else True)


def clause(sentence: Tagged, subject: Subject) -> Iterator[Triple]:
    """The facts that a clause states about its subjects, including further verbs ("founded A and led B").

    Parameters
    ----------
    sentence : the sentence
    subject : who or what the clause is about, and where its verb begins

    Returns
    -------
    Iterator
        The facts, in the order of the sentence.
    """
    verb = read_verb(sentence, subject.verb_at)
    modal = _MODAL.match(verb.text) if verb else None
    while verb is not None:
        objects = _Objects(sentence, verb)
        for predicate, name, is_literal in objects.read():
            for about in subject.names:
                yield Triple(about, f"{subject.part} {predicate}".strip(), name, is_literal=is_literal)
        verb = objects.next_verb()
        if verb and modal and not _MODAL.match(verb.text):
            verb = verb._replace(text=f"{modal.group()} {verb.text}")


class _Objects:
    """Reads the objects after a verb; ``at`` is the index of the next word."""

    def __init__(self, sentence: Tagged, verb: Verb) -> None:
        self._sentence = sentence
        self._verb = verb
        self._base = verb.text
        self.at = verb.end

    def read(self) -> Iterator[tuple[str, str, bool]]:
        """Predicate, object and whether it is a literal, in order."""
        tags = self._sentence.tags
        if literal := self._literal(self.at, self._base):
            yield literal[0]
            base = self._base if tags[self.at] in "it" else f"{self._base} {literal[0][1]}"
            further = None if self._verb.is_copula else self._literal(literal[1], base)
            if further and tags[literal[1]] in "it":
                yield further[0]
        for _ in range(_MOST_OBJECTS):
            end = self._next_object()
            predicate = self._predicate(end) if end is not None else ""
            if end is None or not predicate:
                return
            self.at = end + 1
            if tags[self.at : self.at + 1] in ("s", "n", "z"):  # "Tim Burton's sister", "Indian TV serials"
                return
            yield predicate, self._sentence.name(end), tags[end] != "M"
            yield from self._items(predicate)
            while match := _BRACKETS.match(tags, self.at) or _OF_NAME.match(tags, self.at):  # "of Paris" after a name
                self.at = match.end()
            if tags[self.at : self.at + 1] not in ("i", "t", "a") or (tags[end] == "#"):
                return

    def _next_object(self) -> int | None:
        """Index of the next name or value, if only a noun phrase and prepositions stand before it."""
        tags, mentions = self._sentence.tags, self._sentence.mentions
        for at in range(self.at, len(tags)):
            if tags[at] in "MD#" and mentions[at] is not None:
                is_part = tags[at] != "M" and tags[at + 1 : at + 2] in ("n", "z", "v", "M")  # "a 2003 film"
                if not is_part:
                    return at
            elif tags[at] not in "dkanzvgotis#" and not (tags[at] in "hm" and at == self.at):
                return None
        return None

    def _predicate(self, end: int) -> str:
        """The predicate that the verb and the words before an object form; empty if they form no predicate."""
        between = self._sentence.tags[self.at : end]
        before = self._sentence.words[end - 1].lower()
        if between[-1:] in ("n", "z") and before not in KIND_OF_NOUN and before not in ADJECTIVES:
            return ""  # "a peregrinatio Domini"
        if self._base and _DIRECT.fullmatch(between):
            return self._base if self.at == self._verb.end and not (self._verb.is_copula and "n" in between) else ""
        match = _PHRASE.fullmatch(between)
        if not match or (self._verb.is_saying and match["noun"]):
            return ""
        phrase, at = self._sentence.phrase, self.at
        noun = phrase(at, at + match.end("noun")).split()
        inner = phrase(at + match.end("noun"), at + match.end("inner")).split()
        preposition = phrase(at + match.start("preposition"), at + match.end("preposition"))
        if "v" in match["preposition"]:
            self._base = preposition.split()[0]
            return preposition if self._verb.is_copula and noun else ""
        if len(noun) > _LONGEST_NOUN:
            noun = noun[-1:]
        self._base = " ".join((self._base, *noun))
        return " ".join((self._base, *inner, preposition))

    def _items(self, predicate: str) -> Iterator[tuple[str, str, bool]]:
        """The further members of a list of names."""
        tags = self._sentence.tags
        while match := _ITEM.match(tags, self.at):
            end = match.end()
            if tags[end + 1 : end + 2] in ("s", "n", "z", "b", "x", "y", "v", "("):
                return
            yield predicate, self._sentence.name(end), False
            self.at = end + 1

    def _literal(self, at: int, base: str) -> tuple[tuple[str, str, bool], int] | None:
        """The noun phrase at an index, with an optional preposition, and its end; None if it only introduces a name."""
        tags = self._sentence.tags
        start = at
        if tags[at : at + 1] in ("i", "t") and not self._verb.is_copula:
            start += 2 if tags[at + 1 : at + 2] == "o" else 1  # "out of service"
        is_infinitive = start > at and tags[at] == "t" and tags[start : start + 1] not in ("d", "k", "#")
        match = None if is_infinitive or self._verb.is_saying else _NOUN.match(tags, start) or _COUNT.match(tags, start)
        if not match or tags[match.end() : match.end() + 1] in ("s", "M"):
            return None
        end = match.end()
        if following := _OF.match(tags, end):
            end = following.end()
            if tags[end : end + 1] == "s":
                return None
        words = self._sentence.phrase(start, end).split()
        is_continued = tags[start] == "d" and _CUT.match(tags, end)
        is_cut = is_continued or tags[end : end + 1] == "#" or self._sentence.words[end : end + 1] in (["-"], ["–"])
        is_bare = self._verb.is_copula and len(words) == 1 and tags[start] not in "z#"
        if is_cut or is_bare or not 0 < len(words) <= _LONGEST_LITERAL or tags[end - 1] not in "nzM#":
            return None
        preposition = self._sentence.words[at:start]
        return (" ".join((base, *preposition)), " ".join(words), True), end

    def next_verb(self) -> Verb | None:
        """The next verb about the same subject: after "and", and a participle after a complement."""
        tags = self._sentence.tags
        at = self.at
        while at < len(tags) and tags[at] in "dkanzo#M(" and not (at > self.at and tags[at] == "M"):
            match = _BRACKETS.match(tags, at)
            at = match.end() if match else at + 1
        is_open = self._verb.is_copula or self._verb.is_participle
        if is_open and (match := _PARTICIPLE.match(tags, at)):
            at = match.end()
            return Verb(self._sentence.words[at], at + 1, is_copula=False, is_saying=False, is_participle=True)
        if match := _NEXT_VERB.match(tags, self.at) or _NEXT_VERB.match(tags, at):
            return read_verb(self._sentence, match.end())
        return None


# Subjects

# "In 1955," or "On the night of 4 May," before the subject.
LEADING = re.compile(r"i[dk]?[nz#]{0,2}(?:([DM]),|(D)(?=[hMdknz]|$))")
_LEADING_DATE = re.compile(r"[ai][^,.bxyvzMh]*D")
_BEFORE_SUBJECT = re.compile(r"i[dk][nz]{1,2}(?=[dk][nz#])|(?:[ai][^,.hM]{0,6}?)?(?:D(?=[,hdknz])|M(?=[,h]))?,?")
_INSERTION = re.compile(r"(?:\([^()]*\))?(?:,[^,.wu]{1,14},(?=a*[bxyv]))?")
_PLACED = re.compile(r"[io][dk]?(?:[nz]*M|[nz]+)(?=a*(?:[bxyv]|z[dkM#]))")
_RELATIVE = re.compile(r",?w(?=a*[bxyvz])")
_NOUNS = r"(?:[nz#vg]*[nz])"
_FINITE = r"(?=a*(?:[bxyv]|z[dkM#])|a+z|z[it][^bxyvz]*$)"
_OF_PARTS = rf"(?:o[dk]?{_NOUNS})*"
_NAME_PART = re.compile(rf"[dk]?a*(?P<part>{_NOUNS}{_OF_PARTS})o[dk]?(?P<name>M){_FINITE}")
_OWN_PART = re.compile(rf"s(?P<part>{_NOUNS}{_OF_PARTS}){_FINITE}")
_BEHIND = rf"(?:[iot][dk]?{_NOUNS}|[it]d?M|iD){{0,2}}(?:,[^,.wu]{{1,14}},)?"
_TITLE_PART = re.compile(rf"[dk]?a*(?P<part>{_NOUNS}{_OF_PARTS}){_BEHIND}{_FINITE}")
_LONGEST_PART = 6
_BEFORE_TAIL = re.compile(r" (?:[-–—]|of|in|at|for|by|to|and|with|on|from) ")


def subjects(sentence: Tagged, title: Title) -> Iterator[Subject]:
    """The subjects of a sentence, in order: those that refer to the title first.

    Parameters
    ----------
    sentence : the sentence
    title : the title of the document; "he" and "the film" refer to it if it is a name of a fitting kind

    Returns
    -------
    Iterator
        The subjects that have a verb.
    """
    tags = sentence.tags
    if title.is_name:
        yield from _of_title(sentence, title)
    for at, tag in enumerate(tags):
        if tag != "M":
            continue
        if is_subject(tags, at):
            if match := _OWN_PART.match(tags, at + 1):
                yield from _part(sentence, match, (sentence.name(at),))
            elif verb_at := _verb_after(tags, sentence.words, at + 1):
                yield Subject(tuple(_coordinated(sentence, at)), "", verb_at)
        elif match := _part_before(tags, at):
            yield from _part(sentence, match, (sentence.name(at),))


def _verb_after(tags: str, words: Sequence[str], at: int) -> int:
    """Index of the verb after a subject that ends at ``at``, over brackets, appositions and "who"; 0 if there is none."""
    if match := _INSERTION.match(tags, at):
        at = match.end()
    if match := _PLACED.match(tags, at):
        at = match.end()
    if (match := _RELATIVE.match(tags, at)) and (tags[at] == "," or words[at] == "who"):
        at = match.end()
    return at if VERB.match(tags, at) else 0


def _part(sentence: Tagged, match: re.Match[str], names: tuple[str, ...]) -> Iterator[Subject]:
    part = sentence.phrase(*match.span("part"))
    if part.count(" ") < _LONGEST_PART:
        yield Subject(names, part, match.end())


def _part_before(tags: str, at: int) -> re.Match[str] | None:
    """The noun phrase of a possible subject that ends with a name: "the population of Kempele"."""
    if tags[at - 1 : at] not in ("o", "d", "k"):
        return None
    start = at - 1
    while start >= 0 and tags[start] in "dkonzvg#a":
        start -= 1
    if start >= 0 and tags[start] not in ",.cuw(":
        return None
    return _NAME_PART.match(tags, start + 1)


def _of_title(sentence: Tagged, title: Title) -> Iterator[Subject]:
    """The subjects that refer to the title or to a part of it: "it", "the film", "his father", "the roof"."""
    tags, words = sentence.tags, sentence.words
    leading = _BEFORE_SUBJECT.match(tags)
    start = leading.end() if leading else 0
    is_person = may_be_person(title)
    for at in (0, start) if start else (0,):
        word = words[at].lower() if at < len(words) else ""
        is_thing = word == "the" and tags.startswith("dn", at) and names_title(words[at + 1], title)
        if tags[at : at + 1] == "h":
            if word == "it" or (word in ("he", "she") and is_person):
                yield from _named(sentence, title, at + 1)
        elif is_thing and VERB.match(tags, at + 2):
            yield from _named(sentence, title, at + 2)
        elif match := _TITLE_PART.match(tags, at):
            bare = _bare_word(sentence, match)
            if bare and bare.lower() == _BEFORE_TAIL.split(title.bare, maxsplit=1)[0].rsplit(" ", 1)[-1].lower():
                yield Subject((title.bare,), "", match.end())
            elif not bare or (bare.lower() not in BARE_NAMES and tag_of(bare.lower()) != "v"):
                yield from _part(sentence, match, (title.bare,))
    if not is_person:
        return
    for at in range(start + 1, len(tags)):
        if tags[at] == "h" and tags[at - 1] in ",cuw#D" and words[at] in ("he", "she"):
            if any(tags[i] == "M" and sentence.name(i) != title.bare and is_subject(tags, i) for i in range(at)):
                return
            yield from _named(sentence, title, at + 1)


def _bare_word(sentence: Tagged, match: re.Match[str]) -> str:
    """The part if it is one word with a capital and without an article: "King" in "King was born"; else empty."""
    start, end = match.span("part")
    word = sentence.words[start]
    return word if start == match.start() and end == start + 1 and word[0].isupper() else ""


def names_title(noun: str, title: Title) -> bool:
    """Whether "the" with a noun may be the title: "the film", but not "the church" under the title "Bell tower".

    Parameters
    ----------
    noun : the noun, in lower case
    title : the title of the document
    """
    if noun not in SELF_NOUNS or KIND_OF_NOUN.get(noun) == "work":  # a film may have any title
        return noun in SELF_NOUNS
    if noun in title.bare.lower().split() and noun not in title.nouns:
        return False
    own = {noun for noun in title.nouns if KIND_OF_NOUN.get(noun) in ("place", "organization")}
    return not own or noun in own or not own.isdisjoint(SYNONYMS.get(noun, ()))


def _named(sentence: Tagged, title: Title, at: int) -> Iterator[Subject]:
    if VERB.match(sentence.tags, at) and read_verb(sentence, at):
        yield Subject((title.bare,), "", at)


def may_be_person(title: Title) -> bool:
    """Whether a title may be the name of a person: a few words, none of them of places and organizations."""
    parts = [part for part in title.bare.replace(",", " ").split() if part[0].isalpha()]
    if not 0 < len(parts) <= 5 or not parts[0][0].isupper():
        return False
    lowered = {part.lower() for part in parts}
    return lowered.isdisjoint(ORGANIZATIONS | PLACES) and parts[0].lower() not in ("the", "a", "an")


def is_subject(tags: str, at: int) -> bool:
    """Whether a name stands where a subject may stand: not after a verb, a preposition or another name.

    Parameters
    ----------
    tags : the tags of the sentence
    at : index of the name

    Returns
    -------
    bool
        Does not check that a verb follows.
    """
    before = at - 1
    while before >= 0 and tags[before] in "nzd#k":
        before -= 1
    if before < 0:
        return True
    if tags[before] == ",":
        leading = LEADING.match(tags)
        return tags[before - 1 : before] != "M" or bool(leading and leading.end() == before + 1)
    return tags[before] in ".cuw(" or (tags[before] == "D" and _LEADING_DATE.fullmatch(tags, 0, before + 1) is not None)


def _coordinated(sentence: Tagged, at: int) -> list[str]:
    """The names of a coordinated subject: "A, B and C"."""
    tags = sentence.tags
    names = [sentence.name(at)]
    while at > 1 and tags[at - 1] in "c," and "c" in tags[at - 1 : at + 2]:
        before = at - 2 if tags[at - 2] == "M" else at - 3 if tags[at - 3 : at - 1] == "M," else -1
        if before < 0 or not is_subject(tags, before):
            break
        names.insert(0, sentence.name(before))
        at = before
    return names


# What a sentence asserts: whether anything, and whether it is denied, reported, future or conditional. English only.

_ENGLISH = words_of("english")
_FOREIGN = words_of("foreign")
_OTHER_SCRIPT = re.compile(r"[¿¡\u0370-\u1fff\u2e80-\ud7ff]")


def is_english(text: str) -> bool:
    """Whether a text is not in another language, by its function words; a text without any counts as English.

    Examples
    --------
    >>> is_english("Acme bought it."), is_english("Acme hat das und mehr.")
    (True, False)
    """
    is_ascii = text.isascii()
    if is_ascii and _FOREIGN.isdisjoint(_words(text)):
        return True
    words = text.lower().split()
    foreign = sum(map(_FOREIGN.__contains__, words))
    if not is_ascii:
        foreign += len(_OTHER_SCRIPT.findall(text))
    return not foreign or foreign < sum(map(_ENGLISH.__contains__, words))


# Units that state nothing

_EDGE = " \t\"'“”‘’«»()[]–—-*"
_DEBRIS = re.compile(rf"(?:{'|'.join(LISTS['debris'])})[.!…:]*", re.IGNORECASE)
_FORM = re.compile(r"enter a valid email address|would like to be emailed about", re.IGNORECASE)
_INNER_END = re.compile(r"[.!?…][\"”’')\]]*\s")
_WORD = re.compile(r"[^\W\d_]+")
_DATA = re.compile(r"[\d:=/@|<>\\☐☒☑]|\A\S+ [-–—] ")  # also of a name and what it stands for: "ls - list files"
_PAIR = re.compile(r"\b[A-Z]\w* and [A-Z]")
_CONTRACTED = re.compile(r"['’](?:s|re|ll|ve|d|m|t)\b|cannot")
# The end of a sentence; columns or lines, as of a list of abbreviations.
_WHOLE = re.compile(r"[.!…;][\"”’')\]]*\s*$|\n|\s{2}")
_LONGEST_QUESTION = 300  # longer ones are several sentences without marks between them
_LONGEST_FRAGMENT = 12
# A verb, or a plural or -ing form that may be one; a pronoun or a name before a word; an instruction "Turn the valve".
_VERBAL = re.compile(r"[bexyvzghm]|^n[dk#a]")
_PLURALS = word_set("people children police men women you we i they let lets thanks")
_QUESTION_LABEL = re.compile(r"\W*(?:Q|Question)\s?\d{0,3}\s?[:.)]", re.IGNORECASE)
_ASKING = re.compile(rf"(?:{'|'.join(LISTS['asking'])})\b")
_REPLY = re.compile(r"(?:Yes|No)\b(?! (?:one|matter|longer|[a-z]+ (?:is|was|has)))")


def statements(units: Sequence[Unit], text: str) -> tuple[Unit, ...]:
    """The units without debris, fragments and bare questions; all units if nothing else remains.

    "Yes" and "No" right after a question begin with the question, and so does the paragraph after a question that is a paragraph.

    Parameters
    ----------
    units : the units of a chunk
    text : text of the chunk

    Returns
    -------
    tuple
        The units that state something.
    """
    return tuple(_stating(units, text, is_whole=not is_english(text))) or tuple(units)


def _stating(units: Sequence[Unit], text: str, *, is_whole: bool) -> Iterator[Unit]:
    question: Unit | None = None
    end, is_open = 0, False
    for unit in units:
        asked, question = question, None
        is_prose = unit.kind is BlockKind.PROSE
        own = text[unit.start : unit.end].lstrip("> ") if is_prose else ""  # without a lead-in
        is_answer = asked is not None and is_prose and not _is_question(own)
        if asked and is_answer and is_open:
            is_answer = _is_reply(text, asked, unit, is_any=is_whole)
        if asked and is_answer and (is_open or goes_on(text, end, unit)):
            yield unit._replace(start=asked.start if is_open else unit.start, text=f"{asked.text} {unit.text}")
            question = asked if _is_asking(text, asked, is_any=is_whole) else None
            end, is_open = unit.end, False
            continue
        if asked and is_open and not is_english(asked.text):
            yield asked
        if is_prose and _is_question(own):
            question, end, is_open = unit, unit.end, True
        elif is_whole or not is_prose or not _states_nothing(unit.text, text[unit.start : unit.end]):
            yield unit
    if question and is_open and not is_english(question.text):
        yield question


def _states_nothing(text: str, written: str) -> bool:
    return _is_debris(text) or (":" not in text and "? " not in text and _is_fragment(written))


def _is_reply(text: str, question: Unit, unit: Unit, *, is_any: bool) -> bool:
    is_next = not text[question.end : unit.start].strip("*_ \t\n\r")
    return is_next and (_REPLY.match(unit.text) is not None or _is_asking(text, question, is_any=is_any))


def _is_asking(text: str, question: Unit, *, is_any: bool) -> bool:
    """Whether a question is a paragraph and awaits an answer; "But why?" goes on with a thought."""
    return (is_any or _ASKING.match(question.text) is not None) and stands_alone(text, question)


def _is_question(text: str) -> bool:
    bare = text.rstrip(_EDGE)
    if len(bare) > _LONGEST_QUESTION or ": " in bare:  # what stands before a colon may state something
        return False
    return bare.endswith("?") and not _INNER_END.search(bare) and not _QUESTION_LABEL.match(text)


def _is_debris(text: str) -> bool:
    bare = text.strip(_EDGE)
    is_form = "mail" in text and _FORM.search(text) is not None
    return is_form or (len(bare) <= 400 and _DEBRIS.fullmatch(bare) is not None)


def _is_fragment(text: str) -> bool:
    """Whether a few words without a full stop have no verb, no value and no form that could be a verb, and are English."""
    if len(text) > 100 or _WHOLE.search(text) or _DATA.search(text) or _CONTRACTED.search(text):
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    if not 1 < len(words) <= _LONGEST_FRAGMENT or not _PLURALS.isdisjoint(words) or _PAIR.search(text):
        return False
    tags = tagged(text.lower(), ()).tags if is_english(text) else "v"
    return not _VERBAL.search(tags) and bool(set(tags) & set("doickN"))


# The stance of a sentence

# Words without which none of the patterns below can match: sets of words are much faster than patterns.
_NEGATION_CUES = words_of("negation_cues")
_FUTURE_CUES = words_of("future_cues")
_CONDITIONAL_CUES = words_of("conditional_cues")
_OPEN_CUES = words_of("open_cues")
_LOWER_WORD = re.compile(r"[a-z]+")
_UNTIL = r" (?:[\w’'-]+ ){0,4}until\b"  # "was not opened until 1950" says that it was opened
_NEGATION = re.compile(
    rf"\b(?:not(?! (?:only|to mention|least|so long ago)|{_UNTIL})|never|cannot|neither)\b|(?<=[a-z])n['’]t\b(?!{_UNTIL})"
    r"|\bno longer\b|^No (?!doubt|matter|wonder|longer)[a-z]+|\bthere['’]s no (?!doubt|way)"
    r"|\b(?!(?:with|of|in|at|for|by|to|on|from|and|or|but|there|say|said|says)\b)[a-z]+ no"
    r" (?!longer|doubt|matter|one|less|more than|fewer|sooner|way they)(?=[a-z])"
    r"|\b(?:denie[sd]|deny|denying)\b|\bno (?:evidence|proof|sign|indication)s? (?:that|of)\b"
    r"|\bnothing to (?:indicate|suggest|show|prove)\b|\b(?:nobody|no one|none of [a-z]+) (?:[a-z]+)\b"
    r"|\b[Nn]othing (?:is|was|has|had|can|could|will|would|may|happened|changed)\b",
    re.IGNORECASE,
)
_AFFIRMED = re.compile(
    r"(?:\bno way they|\bif|\bwhether or|\bimpossible|\b(?:did|does|do|was|is) not (?:deny|denie))\s$", re.IGNORECASE
)
_CLAUSE = re.compile(
    r"[.;:!?—–“”]|, (?:and|but|he|she|it|they|the|a)\b|\b(?:but|said|says|that|who|which|because|if|when|whose"
    r"|what|where|than|unless|whether|until)\b",
    re.IGNORECASE,
)
_SUBORDINATE = word_set("who which because if when whose what where than unless whether until")
_LEADING_CLAUSE = word_set("because if when unless until where")
_CLAUSE_WINDOW = 160
_REPORTED = "|".join(LISTS["reported"])
# "by her will"
_NO_NOUN = "".join(rf"(?<!\b{word} )" for word in ("his", "her", "their", "my", "the", "a", "free", "of"))
_FUTURE = re.compile(
    rf"\b(?:{_NO_NOUN}will(?! \w+ed\b|[,.;:)])"
    r"|(?:is|are|['’][sm]|['’]re) (?:not )?(?:going|set|due|about|poised|expected|scheduled) to"
    r"|(?:plan(?:s|ned)?|planning|intends?|aims?|hopes?|vow(?:s|ed)?|pledge[sd]?|promise[sd]?"
    r"|agree[sd]?) (?:not )?to)\b|(?<=\w)['’]ll\b|\bwon['’]t\b"
    rf"|\b(?:{_REPORTED}) (?:that )?(?:[\w’'-]+ ){{1,5}}would(?! (?:have|like)\b)",
)
_OF_THE_PAST = re.compile(r"(?:would|could)\b(?!(?: not| never)? have)")  # "bought it so that she could live there"
_CONDITION = re.compile(r"\b(?:if|unless)\b", re.IGNORECASE)
# "Would" about what is over: "She would later buy the mill".
_WOULD_LATER = re.compile(
    r"\bwould (?:later|eventually|soon|subsequently|then|again|go on to|become|prove|remain|often)\b(?! have)"
)
_CONDITIONAL = re.compile(
    r"\b(?:would(?! like\b)|could|might|may(?= [a-z])|(?<!out )(?<!know )(?<!see )(?<!asked )(?<!even )if|unless"
    r"|perhaps|maybe|possibly|allegedly|reportedly|supposedly"
    r"|If|Unless|Perhaps|Maybe|Possibly|Allegedly|Reportedly|Supposedly)\b"
)
_SAY = "|".join(LISTS["say"])
_SAYING_CUES = frozenset(_SAY.lower().replace("believes?", "believe|believes").split("|"))
_NAME = r"[A-Z][\w.’'&-]{0,30}(?: (?:(?:of|the|de|van|von) )?[A-Z][\w.’'&-]{0,30}){0,4}"
_COMMON = r"(?!(?:and|or|but|of|in|ha[sd]|have|also|first|later|then|who|that|was|were|is|are)\b)[a-z-]+"
_WHO = (
    rf"(?P<who>\b(?:[Hh]e|[Ss]he|[Tt]hey|[Ii]t|I|[Ww]e)|(?:\b(?:[Tt]he|[Aa]n?|[Oo]ne|[Ss]ome"
    rf"|[Mm]any) )?{_NAME}(?:['’]s [a-z]+)?"
    rf"|\b(?:[Tt]he|[Aa]n?|[Oo]ne|[Ss]ome|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Oo]ur) {_COMMON}(?: {_COMMON})?"
    r"|^[A-Z][a-z]+s(?= [a-z]+ that\b)|\b(?:workers|publishers|experts|officials|critics"
    r"|researchers|prosecutors|police|analysts))"
)
# A clause follows: "noted that", "says the mill is"; or the quotation stands before: "…," Ada Roe said.
_SAID = re.compile(
    rf"{_WHO}(?: \[[^\[\]]{{1,60}}\])?"
    rf"(?:, (?P<apposed>{_NAME}),|(?:, (?!and |but |[A-Z])[^,.“”\"]{{1,90}}){{1,2}},)?(?: (?:has|have|had|also|first|later"
    rf"|previously|then|specifically)){{0,2}}"
    rf" (?P<verb>{_SAY})\b(?P<after>,? that\b|[:,]? [“\"]|[.,](?=[ \"”]|$)|$"
    r"| (?:on|in|to|of) [^,.]{1,40} that\b| (?:\w+,? ){1,4}that\b| (?:(?:the|a|an|it|he|she|they|its|his|her"
    r"|their|I|we|there|this|[A-Z][\w’'-]+)"
    r" ){1,3}(?:[\w’'-]+ ){0,3}?(?:is|are|was|were|has|have|had|will|would|could|may|might|does|do|did"
    r"|[a-z]+(?:n['’]t|’ll|'ll))\b)?"
)
# Verbs of saying that need no clause after them, and those that need at least the end of a quotation.
_ALWAYS_SAY = word_set("said says say told tells testified believe believes thinks thought accuse accuses")
_SAY_THAT = words_of("say_that")
_PLAIN_SAY = _ALWAYS_SAY | word_set("wrote writes noted explained added recalled quipped")
_INVERTED = re.compile(rf"[”\"’],? (?:{_SAY}) (?P<who>(?:the )?{_NAME}|he|she|(?:the|a|an) [a-z-]+(?: [a-z-]+)?)")
_CONCEDED = re.compile(r"[\w,] (?:although|though|whereas|because|since|after|when|if) $")  # not the main clause
_ACCORDING = re.compile(
    rf"\b[Aa]ccording to (?P<who>(?:(?:the|an?) )?{_NAME}|(?:the|an?|his|her|its|their) [a-z-]+(?: (?!published|of"
    rf"|by|in|from|on|that|who)[a-z-]+)?)"
)


def details(text: str, mentions: Sequence[MentionSpan], sentence: Tagged) -> tuple[str, ...]:
    """The stance of a sentence: "denied", "said by NAME", "past", "future", "conditional"; none for a plain assertion.

    A negation in a relative or adverbial clause does not deny the sentence. The sayer has the name of its mention. The
    tense is that of the main clause, and of what is said if the sentence names a sayer.

    Parameters
    ----------
    text : the sentence
    mentions : its mentions
    sentence : its words with their tags

    Returns
    -------
    tuple
        The details that apply, in this order.
    """
    if not is_english(text):
        return ()
    words = _words(text)
    stance = []
    if not words.isdisjoint(_NEGATION_CUES) and any(_is_main(text, match) for match in _NEGATION.finditer(text)):
        stance.append("denied")
    if sayer := _sayer(text, mentions, words):
        stance.append(f"said by {sayer}")
    has_condition = _CONDITION.search(text) is not None
    is_past = _is_past(sentence)
    later = () if has_condition or "would" not in words else tuple(_WOULD_LATER.finditer(text))
    if is_past or later:
        stance.append("past")
    ahead = () if words.isdisjoint(_FUTURE_CUES) else tuple(_FUTURE.finditer(text))
    ahead = tuple(each for each in ahead if _is_main(text, each) and not (has_condition and each[0].endswith("would")))
    if ahead:
        stance.append("future")
    if not words.isdisjoint(_CONDITIONAL_CUES):
        over = {match.start() for match in later} | {match.end() - len("would") for match in ahead}
        is_over = is_past and not has_condition
        cues = [match for match in _CONDITIONAL.finditer(text) if match.start() not in over]
        cues = [match for match in cues if not (is_over and _OF_THE_PAST.match(text, match.start()))]
        if any(_is_main(text, match, even_if=True) for match in cues):
            stance.append("conditional")
    return tuple(stance)


@cached_by_text(256)
def _words(text: str) -> frozenset[str]:
    """The words of a text in lower case; an apostrophe ends a word."""
    return frozenset(_LOWER_WORD.findall(text.lower()))


_PAST = word_set("was were had did became remained wasn't weren't hadn't didn't wasn’t weren’t hadn’t didn’t")
_BESIDE_VERB = word_set("never not no neither nor hardly barely without")
_SAME_IN_PRESENT = words_of("same_in_present")
_CONTRACTED_VERB = re.compile(r"['’](?:ve|re|m|ll)$")
# A clause in front; what is passed over: parentheses, clauses between commas; what ends the main clause: "that", "and because".
_IN_FRONT = re.compile(r"\(|[uw][^,]*,|i[^,bxyvz]*[vg][^,]*,")
_DECIDES = re.compile(r"\([^()]*\)|,w[^,]*,|[bxyvzNuw]|[hd]s|t(?=n)|(?<=h)a*n")
_VERB_TAG = re.compile(r"[bxyv]")
_REDUCED = re.compile(r"v(?:[io]|td)[^uw]*[bxy]")  # "directed by Ada Roe, is"


def _is_past(sentence: Tagged) -> bool:
    """Whether the main verb of a sentence is in the past tense; the perfect "has been" is not."""
    tags, words = sentence.tags, sentence.words
    front = _IN_FRONT.match(tags)
    start = front.end() if front else 0
    for match in _DECIDES.finditer(tags, start):
        at, tag = match.start(), match.group()
        word = words[at].lower()
        if len(tag) > 2 or (tag == "w" and at == start) or (word in _SAYING_CUES and _VERB_TAG.search(tags, at + 1)):
            continue  # the tense is that of what is said
        if any(map(_CONTRACTED_VERB.search, words[start:at])):
            return False
        if (tag == "z" and _VERB_TAG.search(tags, at + 1)) or word in _BESIDE_VERB:
            continue  # probably a plural, or "never had"
        if tag == "v":
            if _REDUCED.match(tags, at) and tags[at - 1 : at] != "h":
                continue
            if word.endswith("ed") and _is_attribute(tags, words, start, at):
                continue
            return word not in _SAME_IN_PRESENT or (at > 0 and words[at - 1].lower() in ("he", "she", "it"))
        return word in _PAST
    return False


def _is_attribute(tags: str, words: Sequence[str], start: int, at: int) -> bool:
    """Whether a participle belongs to the noun after it: "the dashed line", "on supported systems", "closely related ones are"."""
    before, after = tags[at - 1 : at] if at else "", tags[at + 1 : at + 2]
    if after in ("n", "z") and (before in ("d", "k", "i") or (at and words[at - 1].lower() in ("my", "our", "your"))):
        return True
    front = zip(tags[start:at], words[start:at], strict=True)
    is_first = all(tag in "a,N" or word.endswith("ly") for tag, word in front)
    return is_first and _VERB_TAG.search(tags.replace("v", "n"), at + 1) is not None


def _is_main(text: str, cue: re.Match[str], *, even_if: bool = False) -> bool:
    """Whether a cue stands in a main or reported clause, not in a relative or adverbial one."""
    start = max(0, cue.start() - _CLAUSE_WINDOW)
    if _AFFIRMED.search(text, max(0, cue.start() - 20), cue.start()):
        return False
    last, end = "", start
    for border in _CLAUSE.finditer(text, start, cue.start()):
        last, end = border.group().lower(), border.end()
    if last in _LEADING_CLAUSE and "," in text[end : cue.start()]:
        return True
    return last not in _SUBORDINATE or (even_if and last in ("if", "unless"))


def _sayer(text: str, mentions: Sequence[MentionSpan], words: frozenset[str]) -> str:
    if "ccording to" in text and (match := _ACCORDING.search(text)):
        return _sayer_name(match, mentions)
    if words.isdisjoint(_SAYING_CUES):
        return ""
    if match := _INVERTED.search(text):
        return _sayer_name(match, mentions)
    for match in _SAID.finditer(text):
        if _CONCEDED.search(text, max(0, match.start() - 12), match.start()):
            continue
        after, verb = match["after"], match["verb"]
        ends = after is not None and after[:1] in (".", ",", "") and not after.endswith(("that", "“", '"'))
        if verb in _SAY_THAT and not (after or "").endswith("that"):
            continue
        if verb in _ALWAYS_SAY or (after is not None and (not ends or verb in _PLAIN_SAY)):
            return _sayer_name(match, mentions)
    return ""


def _sayer_name(match: re.Match[str], mentions: Sequence[MentionSpan]) -> str:
    who = "apposed" if match.groupdict().get("apposed") else "who"
    if WORD_TAGS.get(match[who].lower()) in ("u", "i"):  # "Unless stated otherwise"
        return ""
    start, end = match.span(who)
    names = (mention.name for mention in mentions if mention.start < end and start < mention.end)
    return next(names, match[who])


# Words whose facts are not asserted

_REFUSED = re.compile(rf"\b(?:{'|'.join(LISTS['refused'])})\b", re.IGNORECASE)
_IF = re.compile(r"\b(?:if|unless|in case|should [A-Z]\w+ \w+,)", re.IGNORECASE)
_UNSURE = re.compile(r"\b(?:allegedly|reportedly|supposedly|possibly|perhaps|maybe)\b", re.IGNORECASE)
_OPEN = re.compile(rf"{_REFUSED.pattern}|{_IF.pattern}|{_UNSURE.pattern}", re.IGNORECASE)
_MOST_OPEN = 8
_PAUSE = re.compile(r"[,;.]")


def open_spans(text: str) -> list[tuple[int, int]]:
    """Spans of a sentence whose verbs state no fact: after a denial, in an "if" clause, and beside "allegedly".

    Examples
    --------
    >>> open_spans("If it rains, Acme sells umbrellas.")
    [(0, 11)]
    """
    spans: list[tuple[int, int]] = []
    if _words(text).isdisjoint(_OPEN_CUES):
        return spans
    for cue in _OPEN.finditer(text):
        start, end = cue.start(), len(text)
        if _UNSURE.fullmatch(cue.group()):
            start = 0
        elif _IF.match(cue.group()) and (pause := _PAUSE.search(text, cue.end())):
            end = pause.start()
        spans.append((start, end))
    if len(spans) > _MOST_OPEN:
        spans = [(min(start for start, _ in spans), len(text))]
    return spans if spans and is_english(text) else []
