"""Facts of a sentence: those of its clauses, of its names beside each other, and of the rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hlgraph.extract.local._clauses import clause, read_verb
from hlgraph.extract.local._grammar import KIND_OF_NOUN
from hlgraph.extract.local._subjects import LEADING, is_subject, may_be_person, subjects
from hlgraph.extract.local._tags import Tagged, tagged
from hlgraph.extract.local._topics import Title
from hlgraph.extract.local._units import Found, Unit
from hlgraph.records import Triple

_LIFE = re.compile(r"\s?\((?:[^()]*[;,\s])??(?P<born>born|b\.)?\s*$")
_DASH = re.compile(r"\s?[–—-]+\s?")
_LEADING_WORDS = frozenset(("in", "on", "at", "during", "since", "from", "after", "before", "by"))
_APPOSITION = re.compile(r",([da]*[ngvz#]*[nz](?:o[dk]?[nzg#]*[nzM])?)(?=[,.iw)]|$)")
_APPOSED = re.compile(r",(da*[ngvz#]*[nz])([io])[dk]?n?M")
_POSSESSION = re.compile(r"s([nz]{1,3}),?M(?![snz])")
_POSSESSED = re.compile(r"k([nz]{1,3})(?:(ba*)d?|,?)M(?![sn])")
_CHAIN = re.compile(r"[iot]d?(?=M,M)")
_PLACE_WORDS = frozenset(("in", "at", "near", "from", "to", "around", "outside"))
_DIGIT = re.compile(r"\d")
_KEYS = frozenset(("field", "item", "property", "attribute", "key", "particular"))
_LONGEST_SENTENCE = 300  # words; longer ones are lists, and the rules are not linear
_LONGEST_LABEL, _LONGEST_CELL = 40, 60
_MOST = 12


def find_triples(text: str, mentions: Sequence[Found], title: Title) -> list[Triple]:
    """The facts that a sentence states, at most twelve.

    A subject is a name before a verb, or the title for "He", "She", "It" and "The film" at the beginning if the title is a
    name and the word fits. An object is a name, a date or a number after the verb, alone, after a noun phrase or after
    prepositions, and each member of a list; or else the noun phrase itself, as a literal. Facts without a verb come from
    birth and death dates in parentheses, appositions, "A of B", possessives and "Paris, France". Nothing after a negation
    is used.

    Parameters
    ----------
    text : the sentence
    mentions : its mentions, in order
    title : the title of the document

    Returns
    -------
    list
        Distinct triples, in order.
    """
    sentence = tagged(text, mentions)
    if len(sentence.tags) > _LONGEST_SENTENCE:
        return []
    triples = [
        *_life(text, mentions),
        *_clauses(sentence, title),
        *_beside(sentence, title),
    ]
    known = dict.fromkeys(triple for triple in triples if triple.subject != triple.object and triple.object)
    return list(known)[:_MOST]


def row_triples(unit: Unit, mentions: Sequence[Found], title: Title) -> list[Triple]:
    """The facts of a row: what stands under each label, said of the first cell if it is a name, else of the title.

    Parameters
    ----------
    unit : a row of a table, "Label: cell; Label: cell"
    mentions : its mentions, in order
    title : the title of the document

    Returns
    -------
    list
        Distinct triples, in order.
    """
    cells = [cell.partition(": ") for cell in unit.text.split("; ")]
    if len(cells) == 2 and not any(cell for _, _, cell in cells) and not _DIGIT.search(cells[0][0]):
        cells = [("field", "", cells[0][0]), ("value", "", cells[1][0])]
    if not all(label and len(label) <= _LONGEST_LABEL and 0 < len(cell) <= _LONGEST_CELL for label, _, cell in cells):
        return []
    names = {unit.text[found.start : found.end]: found for found in mentions}
    label, _, head = cells[0]
    subject = names.get(head)
    said: list[tuple[str, str, str]] = []
    if title.is_name and label.lower() in _KEYS and len(cells) == 2:
        said = [(title.bare, head, cells[1][2])]
    elif subject and subject.kind not in ("date", "number"):
        said = [(subject.name, name, cell) for name, _, cell in cells[1:]]
    elif title.is_name:
        said = [(title.bare, label, head), *((title.bare, f"{name} ({head})", cell) for name, _, cell in cells[1:])]
    found = []
    for about, predicate, cell in said:
        named = names.get(cell)
        is_literal = named is None or named.kind in ("date", "number")
        found.append(Triple(about, predicate, named.name if named else cell, is_literal=is_literal))
    return list(dict.fromkeys(found))[:_MOST]


def _life(text: str, mentions: Sequence[Found]) -> Iterator[Triple]:
    """Birth and death dates in "(born 1 March 1952)" or "(1 May 1769 – 14 September 1852)" after a name."""
    if "(" not in text:
        return
    for at, date in enumerate(mentions):
        if date.kind != "date" or not at or mentions[at - 1].kind in ("date", "number"):
            continue
        name = mentions[at - 1]
        match = _LIFE.fullmatch(text, name.end, date.start)
        if match and match["born"]:
            yield Triple(name.name, "born", date.name, is_literal=True)
        elif match and at + 1 < len(mentions) and mentions[at + 1].kind == "date":
            after = mentions[at + 1]
            is_life = text[after.end : after.end + 1] == ")" and " " in date.name  # not "(1990 – 1995)"
            if is_life and _DASH.fullmatch(text, date.end, after.start):
                yield Triple(name.name, "born", date.name, is_literal=True)
                yield Triple(name.name, "died", after.name, is_literal=True)


def _clauses(sentence: Tagged, title: Title) -> Iterator[Triple]:
    """The facts of all clauses with a subject; what stands before the first one belongs to it: "In 1955, ..."."""
    leading = LEADING.match(sentence.tags)
    for subject in subjects(sentence, title):
        yield from clause(sentence, subject)
        if leading and leading.end() <= subject.verb_at:
            verb, preposition = read_verb(sentence, subject.verb_at), sentence.words[0].lower()
            if verb and not verb.is_copula and preposition in _LEADING_WORDS:
                predicate = f"{subject.part} {verb.text} {preposition}".strip()
                name, is_literal = (
                    sentence.name(leading.start(leading.lastindex or 0)),
                    leading[leading.lastindex or 0] == "D",
                )
                for about in subject.names:
                    yield Triple(about, predicate, name, is_literal=is_literal)
        leading = None


def _beside(sentence: Tagged, title: Title) -> Iterator[Triple]:
    """The facts of names that stand beside each other or beside a noun phrase, without a verb."""
    tags = sentence.tags
    for at, tag in enumerate(tags):
        if tag == "M":
            yield from _after_name(sentence, at)
        elif tag == "k" and title.is_name and sentence.words[at].lower() in ("his", "her", "its"):
            match = _POSSESSED.match(tags, at)
            if match and (sentence.words[at].lower() == "its" or may_be_person(title)):
                noun = sentence.phrase(*match.span(1))
                yield Triple(title.bare, noun, sentence.name(match.end() - 1))
        elif match := _CHAIN.match(tags, at):
            yield from _chain(sentence, match.end())


def _after_name(sentence: Tagged, at: int) -> Iterator[Triple]:
    tags, name = sentence.tags, sentence.name(at)
    if tags.startswith("o", at + 1):
        end = at + 3 if tags[at + 2 : at + 3] in ("d", "k") else at + 2
        if tags[end : end + 1] == "M" and tags[end + 1 : end + 2] not in ("s", "n"):
            yield Triple(name, "of", sentence.name(end))
    elif match := _POSSESSION.match(tags, at + 1):
        yield Triple(name, sentence.phrase(*match.span(1)), sentence.name(match.end() - 1))
    elif is_subject(tags, at) or (at > 1 and tags[at - 1] in "ivn"):
        if match := _APPOSED.match(tags, at + 1):
            phrase = sentence.phrase(match.start(1), match.end(2))
            yield Triple(name, f"is {phrase}", sentence.name(match.end() - 1))
        if (match := _APPOSITION.match(tags, at + 1)) and "d" in match[1][:2]:
            yield Triple(name, "is", sentence.phrase(*match.span(1)), is_literal=True)
    if tags[at - 1 : at] in ("n",) and at > 0 and (word := sentence.words[at - 1]) in KIND_OF_NOUN:
        yield Triple(name, "is", word, is_literal=True)


def _chain(sentence: Tagged, at: int) -> Iterator[Triple]:
    """Places that contain one another, after a preposition: "in Paris, Texas"; not the members of a list."""
    tags = sentence.tags
    if sentence.words[at - 1].lower() not in _PLACE_WORDS and sentence.words[at - 2].lower() not in _PLACE_WORDS:
        return
    end = at
    while tags.startswith(",M", end + 1):
        end += 2
    if tags[end + 1 : end + 2] not in ("", ".", ",", ")", "i", "w") or tags[end + 1 : end + 3] == ",c" or end - at > 4:
        return
    for inner in range(at, end, 2):
        yield Triple(sentence.name(inner), "in", sentence.name(inner + 2))
