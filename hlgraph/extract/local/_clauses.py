"""Facts from clauses: a subject, its verb, and the names, dates and noun phrases after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hlgraph.extract.local._grammar import SAYING
from hlgraph.extract.local._tags import Tagged
from hlgraph.records import Triple

# A verb group: "was founded", "has been", "will play", "became", "attempted to regain".
VERB = re.compile(
    r"a*(?:ya*(?:xa*)?(?:ea*)*[vgnzb]?|xa*(?:ea*)*[vgb]?|ba*(?:ea*)*(?:v|g(?!n))?|v|z(?![bxyv]))(?:t(?:ev?|[nzx](?![,.])))*"
)
_PARTICIPLE = re.compile(r",?c?(?=v[ito]|g)")
# What may stand between a verb and a name that it is about: a noun phrase, and prepositions.
_DIRECT = re.compile(r"[dka]*[nz#]*")
_PHRASE = re.compile(
    r"(?P<noun>(?:[dka]*[nzvg#D]*[nzg#])?(?:o[dka]*[nzvg#D]*[nz#])?)(?P<inner>(?:[iot][dka]*[nz#]+)?)"
    r"(?P<preposition>a?(?:v?[iot]|it|i[io]))[dka]*[nz#]{0,2}"
)
_NOUN = re.compile(r"(?:[dk]a*)?(?:[#D]?[nzvg]*[nz])")
_COUNT = re.compile(r"a*#(?=[iotcr.,()]|$)")
_OF = re.compile(r"o(?:[dk]?[nz#D]*[Mnz]|a*#(?![nz]))")
_ITEM = re.compile(r"(?:,c?|[cr])[dk]?n?(?=M)")
_NEXT_VERB = re.compile(r"[^.,cuwhM]{0,8}(?:,?c(?=a*(?:[bxyv]|z[dkM#]))|,(?=a*(?:[bx]|v[dkM#n])))")
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
    part : what of them, if not they: "population" in "the population of Kempele is"
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
    is_saying : what it says is a clause
    is_participle : a participle after a complement, which further ones may follow: "directed by A, starring B"
    """

    text: str
    end: int
    is_copula: bool
    is_saying: bool
    is_participle: bool = False


def read_verb(sentence: Tagged, at: int) -> Verb | None:
    """The verb group at an index; None if there is none, or if it is negated.

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
    words = sentence.phrase(at, match.end())
    is_copula = "b" in tags and not {"v", "g", "t"}.intersection(tags)
    return Verb(words, match.end(), is_copula or tags.endswith("e"), words.split()[-1] in SAYING if words else True)


def clause(sentence: Tagged, subject: Subject) -> Iterator[Triple]:
    """The facts that a clause states about its subjects, and those of the verbs that follow in it ("founded A and led B").

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
    while verb is not None:
        objects = _Objects(sentence, verb)
        for predicate, name, is_literal in objects.read():
            for about in subject.names:
                yield Triple(about, f"{subject.part} {predicate}".strip(), name, is_literal=is_literal)
        verb = objects.next_verb()


class _Objects:
    """Reads what follows a verb; ``at`` is how far it came."""

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
            self._skip()
            if tags[self.at : self.at + 1] not in ("i", "t", "a") or (tags[end] == "#"):
                return

    def _next_object(self) -> int | None:
        """Index of the next name or value, if only a noun phrase and prepositions stand before it."""
        tags, found = self._sentence.tags, self._sentence.found
        for at in range(self.at, len(tags)):
            if tags[at] in "MD#" and found[at] is not None:
                is_part = tags[at] != "M" and tags[at + 1 : at + 2] in ("n", "z", "v")  # "a 2003 film"
                if not is_part:
                    return at
            elif tags[at] not in "dkanzvgotis#":
                return None
        return None

    def _predicate(self, end: int) -> str:
        """The predicate that the words before an object make with the verb; empty if they make none."""
        between = self._sentence.tags[self.at : end]
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

    def _skip(self) -> None:
        """Pass over a parenthesis, and over "of Paris" after a name."""
        tags = self._sentence.tags
        while match := _BRACKETS.match(tags, self.at) or _OF_NAME.match(tags, self.at):
            self.at = match.end()

    def _literal(self, at: int, base: str) -> tuple[tuple[str, str, bool], int] | None:
        """The noun phrase at an index, after a preposition or none, unless it only introduces a name; and its end."""
        tags = self._sentence.tags
        preposition = ""
        if self._verb.is_saying:
            return None
        if tags[at : at + 1] in ("i", "t") and not self._verb.is_copula:
            preposition, at = f" {self._sentence.words[at]}", at + 1
            if tags[at : at + 1] == "o":  # "out of service"
                preposition, at = f"{preposition} of", at + 1
        match = _NOUN.match(tags, at) or _COUNT.match(tags, at)
        if not match or tags[match.end() : match.end() + 1] in ("s", "M"):
            return None
        end = match.end()
        following = _OF.match(tags, end)
        if following and tags[following.end() : following.end() + 1] != "s":
            end = following.end()
        elif following:
            return None
        words = self._sentence.phrase(at, end).split()
        is_bare = self._verb.is_copula and len(words) == 1 and tags[at] not in "z#"
        if not words or is_bare or len(words) > _LONGEST_LITERAL or tags[end - 1] not in "nzM#":
            return None
        return (f"{base}{preposition}", " ".join(words), True), end

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
