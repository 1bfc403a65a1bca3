"""Finds the subjects of the clauses of a sentence: names, parts of names, and words that stand for the title."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hlgraph.extract.local._clauses import VERB, Subject, read_verb
from hlgraph.extract.local._lexicon import ORGANIZATIONS, PLACES, SELF_NOUNS
from hlgraph.extract.local._tags import Tagged
from hlgraph.extract.local._topics import Title

# "In 1955," or "On the night of 4 May," before the subject.
LEADING = re.compile(r"i[dk]?[nz#]{0,2}(?:([DM]),|(D)(?=[hMdk]|$))")
_LEADING_PHRASE = re.compile(r"(?:[ai][^,.hM]{0,6})?(?:[DM](?=[,h]))?,?")
_INSERTION = re.compile(r"(?:\([^()]*\))?(?:,[^,.wu]{1,14},(?=a*[bxyv]))?")
_INNER = re.compile(r"[io][dk]?(?:[nz]*M|[nz]+)(?=a*(?:[bxyv]|z[dkM#]))")
_RELATIVE = re.compile(r",?w(?=a*[bxyvz])")
_NOUNS = r"(?:[nz#vg]*[nz])"
_FINITE = r"(?=a*(?:[bxyv]|z[dkM#])|a+z)"
_OF = rf"(?:o[dk]?{_NOUNS})*"
_PART = re.compile(rf"[dk]?a*(?P<part>{_NOUNS}{_OF})o[dk]?(?P<name>M){_FINITE}")
_OWN_PART = re.compile(rf"s(?P<part>{_NOUNS}{_OF}){_FINITE}")
_PHRASE = re.compile(rf"[dk]?a*(?P<part>{_NOUNS}{_OF})(?:[iot][dk]?{_NOUNS}|[it]d?M|iD){{0,2}}{_FINITE}")
_LONGEST_PART = 6


def subjects(sentence: Tagged, title: Title) -> Iterator[Subject]:
    """The subjects of a sentence, in order: those that stand for the title first.

    Parameters
    ----------
    sentence : the sentence
    title : the title of the document; words such as "he" and "the film" stand for it if it is a name that fits

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
    if match := _INNER.match(tags, at):
        at = match.end()
    if (match := _RELATIVE.match(tags, at)) and (tags[at] == "," or words[at] == "who"):
        at = match.end()
    return at if VERB.match(tags, at) else 0


def _part(sentence: Tagged, match: re.Match[str], names: tuple[str, ...]) -> Iterator[Subject]:
    part = sentence.phrase(*match.span("part"))
    if part.count(" ") < _LONGEST_PART:
        yield Subject(names, part, match.end())


def _part_before(tags: str, at: int) -> re.Match[str] | None:
    """The noun phrase that ends with a name as its part: "the population of Kempele", where a subject may stand."""
    if tags[at - 1 : at] not in ("o", "d", "k"):
        return None
    start = at - 1
    while start >= 0 and tags[start] in "dkonzvg#a":
        start -= 1
    if start >= 0 and tags[start] not in ",.cuw(":
        return None
    return _PART.match(tags, start + 1)


def _of_title(sentence: Tagged, title: Title) -> Iterator[Subject]:
    """The subjects that stand for the title, or for a part of it: "it", "the film", "his father", "the roof"."""
    tags, words = sentence.tags, sentence.words
    leading = _LEADING_PHRASE.match(tags)
    start = leading.end() if leading else 0
    is_person = may_be_person(title)
    for at in (0, start) if start else (0,):
        word = words[at].lower() if at < len(words) else ""
        if tags[at : at + 1] == "h":
            if word == "it" or (word in ("he", "she") and is_person):
                yield from _named(sentence, title, at + 1)
        elif word == "the" and tags.startswith("dn", at) and words[at + 1] in SELF_NOUNS and VERB.match(tags, at + 2):
            yield from _named(sentence, title, at + 2)
        elif match := _PHRASE.match(tags, at):
            yield from _part(sentence, match, (title.bare,))
    if not is_person:
        return
    for at in range(start + 1, len(tags)):
        if tags[at] == "h" and tags[at - 1] in ",cuw#D" and words[at] in ("he", "she"):
            if any(tags[i] == "M" and sentence.name(i) != title.bare and is_subject(tags, i) for i in range(at)):
                return
            yield from _named(sentence, title, at + 1)


def _named(sentence: Tagged, title: Title, at: int) -> Iterator[Subject]:
    if VERB.match(sentence.tags, at) and read_verb(sentence, at):
        yield Subject((title.bare,), "", at)


def may_be_person(title: Title) -> bool:
    """Whether a title may be the name of a person: a few words, none of them of places and organizations."""
    parts = [part for part in title.bare.replace(",", " ").split() if part[0].isalpha()]
    if not 0 < len(parts) <= 5 or not parts[0][0].isupper():
        return False
    lowered = {part.lower() for part in parts}
    return (
        lowered.isdisjoint(ORGANIZATIONS) and lowered.isdisjoint(PLACES) and parts[0].lower() not in ("the", "a", "an")
    )


def is_subject(tags: str, at: int) -> bool:
    """Whether a name stands where a subject may stand: not after a verb, a preposition or another name.

    Parameters
    ----------
    tags : of the sentence
    at : index of the name

    Returns
    -------
    bool
        Says nothing about a verb after it.
    """
    before = at - 1
    while before >= 0 and tags[before] in "nzd#k":
        before -= 1
    if before < 0:
        return True
    if tags[before] == ",":
        leading = LEADING.match(tags)
        return tags[before - 1 : before] != "M" or bool(leading and leading.end() == before + 1)
    return tags[before] in ".cuw(" or (tags[before] == "D" and LEADING.match(tags, 0, at) is not None)


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
