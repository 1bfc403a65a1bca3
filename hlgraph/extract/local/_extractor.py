"""The rule-based extractor: no model, no download, one pass over the text.

:func:`find_triples` and :func:`row_triples` find the facts of a sentence or a table row, :func:`kinds_in` the kinds of
entities, :func:`read_chunk` the units, mentions and topics of a chunk. :class:`LocalExtractor` puts them together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hlgraph.extract.extractor import ChunkInput, Extractor, advancing
from hlgraph.extract.local._clauses import (
    LEADING,
    Tagged,
    clause,
    details,
    is_subject,
    may_be_person,
    open_spans,
    read_verb,
    statements,
    subjects,
    tagged,
)
from hlgraph.extract.local._lexicon import KIND_OF_NOUN, keys_of
from hlgraph.extract.local._mentions import as_written, find_mentions, with_antecedents
from hlgraph.extract.local._names import Shape
from hlgraph.extract.local._topics import Title, chunk_topics, is_named, read_title, unit_topics
from hlgraph.extract.local._units import MentionSpan, Unit, units
from hlgraph.ids import normalise_name
from hlgraph.records import Extraction, Mention, Proposition, Triple
from hlgraph.text import BlockKind

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
_PROSE = frozenset((BlockKind.PROSE, BlockKind.ITEM, BlockKind.HEADING))
_LONGEST_SENTENCE = 300  # words; longer ones are lists, and the rules are not linear
_LONGEST_LABEL, _LONGEST_CELL = 40, 60
_MOST = 12
_STATING = re.compile(r"[^uwbxy.]*[nMz#D)hv][^uwbxy.]?[bxy](?!.*\.$)")  # a noun or pronoun, then "is", "has" or "will"
_IS = frozenset(("is", "was", "are", "were", "became"))
_TAIL = re.compile(r" (?:of|in|from|for|by|at|on|with|to)\b.*")
_DISAMBIGUATION = re.compile(r"\(([^()]+)\)$")
_SUBJECT_KINDS, _OBJECT_KINDS = (keys_of(name, " | ") for name in ("subject_kinds", "object_kinds"))


def find_triples(text: str, mentions: Sequence[MentionSpan], title: Title) -> list[Triple]:
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
    asserted = _asserted(text, sentence, mentions)
    triples = [*_life(text, mentions), *_clauses(asserted, title), *_beside(sentence, title)]
    known = dict.fromkeys(triple for triple in triples if triple.subject != triple.object and triple.object)
    return list(known)[:_MOST]


def _asserted(text: str, sentence: Tagged, mentions: Sequence[MentionSpan]) -> Tagged:
    """The sentence with its verbs marked as negated where it does not assert them."""
    spans = open_spans(text)
    if not spans:
        return sentence
    tags = list(sentence.tags)
    for start, end in spans:
        first = len(tagged(text[:start], [each for each in mentions if each.end <= start]).tags)
        last = len(tagged(text[:end], [each for each in mentions if each.end <= end]).tags)
        tags[first:last] = "N" * (last - first)
    return sentence._replace(tags="".join(tags))


def row_triples(unit: Unit, mentions: Sequence[MentionSpan], title: Title) -> list[Triple]:
    """The facts of a row: the cell under each label, about the first cell if it is a name, else about the title.

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
    names = {unit.text[mention.start : mention.end]: mention for mention in mentions}
    label, _, head = cells[0]
    subject = names.get(head)
    raw_triples: list[tuple[str, str, str]] = []
    if title.is_name and label.lower() in _KEYS and len(cells) == 2:
        raw_triples = [(title.bare, head, cells[1][2])]
    elif subject and subject.kind not in ("date", "number"):
        raw_triples = [(subject.name, name, cell) for name, _, cell in cells[1:]]
    elif title.is_name:
        raw_triples = [
            (title.bare, label, head),
            *((title.bare, f"{name} ({head})", cell) for name, _, cell in cells[1:]),
        ]
    triples = []
    for about, predicate, cell in raw_triples:
        named = names.get(cell)
        is_literal = named is None or named.kind in ("date", "number")
        triples.append(Triple(about, predicate, named.name if named else cell, is_literal=is_literal))
    return list(dict.fromkeys(triples))[:_MOST]


def _life(text: str, mentions: Sequence[MentionSpan]) -> Iterator[Triple]:
    """Birth and death dates in "(born 1 March 1952)" or "(1 May 1769 – 14 September 1852)" after a name."""
    if "(" not in text:
        return
    for at, (name, date) in enumerate(pairwise(mentions), 1):
        if date.kind != "date" or name.kind in ("date", "number"):
            continue
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
    """The facts of all clauses with a subject. A leading phrase belongs to the first clause: "In 1955, ..."."""
    leading = LEADING.match(sentence.tags)
    for subject in subjects(sentence, title):
        yield from clause(sentence, subject)
        if leading and leading.end() <= subject.verb_at:
            verb, preposition = read_verb(sentence, subject.verb_at), sentence.words[0].lower()
            if verb and not verb.is_copula and preposition in _LEADING_WORDS:
                predicate = f"{subject.part} {verb.text} {preposition}".strip()
                last = leading.lastindex or 0
                name = sentence.name(leading.start(last))
                for about in subject.names:
                    yield Triple(about, predicate, name, is_literal=leading[last] == "D")
        leading = None


def _beside(sentence: Tagged, title: Title) -> Iterator[Triple]:
    """The facts without a verb: names next to each other or next to a noun phrase."""
    tags = sentence.tags
    for at, tag in enumerate(tags):
        if tag == "M":
            yield from _after_name(sentence, at)
        elif tag == "k" and title.is_name and sentence.words[at].lower() in ("his", "her", "its"):
            match = _POSSESSED.match(tags, at)
            if match and (sentence.words[at].lower() == "its" or may_be_person(title)):
                noun = sentence.phrase(*match.span(1))
                yield Triple(title.bare, noun, sentence.name(match.end() - 1))
        elif tag in "iot" and (match := _CHAIN.match(tags, at)):
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
    if at and tags[at - 1] == "n" and (word := sentence.words[at - 1]) in KIND_OF_NOUN:
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


# Kinds


def kinds_in(triples: Iterable[Triple], title: Title) -> dict[str, str]:
    """The kinds of entities that facts and the title reveal, by name; the first one counts.

    Parameters
    ----------
    triples : the facts of a chunk
    title : the title of the document; "(film)" after a name gives its kind

    Returns
    -------
    dict
        Kinds by the name of the entity, for names without a known kind.

    Examples
    --------
    >>> from hlgraph.extract.local._topics import read_title
    >>> kinds_in([Triple("Acme", "is", "a small company in Ohio", is_literal=True)], read_title("The Beach (film)"))
    {'The Beach': 'work', 'Acme': 'organization'}
    """
    kinds: dict[str, str] = {}
    if (match := _DISAMBIGUATION.search(title.full)) and (kind := _kind_of(match[1].partition(",")[0])):
        kinds[title.bare] = kind
    for triple in triples:
        predicate = triple.predicate.removeprefix("is ").removeprefix("was ")
        if triple.is_literal:
            kind = _kind_of(_TAIL.sub("", triple.object)) if triple.predicate in _IS else ""
        else:
            kind = ""
            if of_object := _OBJECT_KINDS.get(predicate):
                kinds.setdefault(triple.object, of_object)
            if predicate == "in":
                kind = "place"
        if kind := kind or _SUBJECT_KINDS.get(predicate, ""):
            kinds.setdefault(triple.subject, kind)
    return kinds


def _kind_of(phrase: str) -> str:
    """The kind that the last word of a noun phrase names; empty if it names none."""
    word = phrase.rsplit(" ", 1)[-1].lower()
    return KIND_OF_NOUN.get(word) or KIND_OF_NOUN.get(word.removesuffix("s"), "")


# Extraction


@dataclass(frozen=True, slots=True)
class Reading:
    """A chunk as the rules read it, without facts.

    Attributes
    ----------
    title : the title of the document
    units : the spans that become one proposition each
    mentions : mentions of each unit, in the order of the text
    topics : topics of the chunk
    evidence : evidence of the chunk about capitals
    """

    title: Title
    units: tuple[Unit, ...]
    mentions: tuple[tuple[MentionSpan, ...], ...]
    topics: tuple[str, ...]
    evidence: Shape

    def triples(self) -> list[tuple[Triple, ...]]:
        """The facts that the rules find in each unit. Code has none."""
        triples: list[tuple[Triple, ...]] = []
        for unit, mentions in zip(self.units, self.mentions, strict=True):
            if unit.kind is BlockKind.ROW:
                triples.append(tuple(row_triples(unit, mentions, self.title)))
            else:
                is_prose = unit.kind is not BlockKind.CODE
                triples.append(
                    tuple(find_triples(unit.text, mentions, title_for(unit, self.title))) if is_prose else ()
                )
        return triples

    def extraction(
        self,
        triples: Sequence[Sequence[Triple]],
        *,
        mentions: Sequence[Sequence[MentionSpan]] | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> Extraction:
        """The extraction of the chunk with these facts.

        Parameters
        ----------
        triples : the facts of each unit
        mentions : the mentions of each unit, in its words without the bracket; None for the mentions of the rules
        kinds : kinds of names whose mentions and facts give no kind

        Returns
        -------
        Extraction
            One proposition per distinct text, at its first position.
        """
        all_kinds = {**(kinds or {}), **kinds_in((triple for some in triples for triple in some), self.title)}
        propositions: dict[str, Proposition] = {}
        rows = zip(self.units, self.mentions, mentions or self.mentions, triples, strict=True)
        for unit, own_mentions, unit_mentions, facts in rows:
            text = _self_contained(unit, self.title)
            if text in propositions:
                continue
            names = [*_context(unit, self.title, self.evidence, is_first=not propositions), *unit_mentions]
            written = as_written(unit, own_mentions)
            stance = details(*written, tagged(unit.text, own_mentions)) if unit.kind in _PROSE else ()
            propositions[text] = Proposition(
                text=text,
                start=unit.start,
                end=unit.end,
                topics=unit_topics(unit, self.topics, self.title, mentions=own_mentions),
                mentions=_distinct(names, all_kinds),
                triples=tuple(facts),
                details=stance,
            )
        return Extraction(tuple(propositions.values()), self.topics)


def read_chunk(chunk: ChunkInput) -> Reading:
    """The units of a chunk with their mentions, and its topics, in time linear in the length of its text."""
    title = read_title(chunk.title)
    whole = units(chunk.text, chunk.headings, above=chunk.above)
    parts = statements([unit for unit in whole if _asserts(unit)], chunk.text)
    if not parts:
        return Reading(title, (), (), (), Shape(frozenset(), frozenset(), frozenset(), is_german=False))
    mentions, evidence = find_mentions(chunk.text, parts, title)
    resolved, named = with_antecedents(parts, mentions, title)
    topics = chunk_topics(resolved, named, title, headings=chunk.headings)
    return Reading(title, resolved, tuple(map(tuple, named)), topics, evidence)


def _asserts(unit: Unit) -> bool:
    """Whether a unit states something; of headings those with a finite verb: "The bridge was closed", not "Opening hours"."""
    return unit.kind is not BlockKind.HEADING or _STATING.match(tagged(unit.text, ()).tags) is not None


def title_for(unit: Unit, title: Title) -> Title:
    """The title that the pronouns of a unit may refer to; one that is no name if they may refer to something else.

    Parameters
    ----------
    unit : the unit
    title : the title of the document

    Returns
    -------
    Title
        The title itself, or a copy that is no name.
    """
    return title._replace(is_name=False) if unit.is_open else title


def _self_contained(unit: Unit, title: Title) -> str:
    """The sentence, preceded by the title, the edition and the heading if it does not name them."""
    context = []
    if title.full and not is_named(unit.text, title):
        context.append(title.full)
    if unit.edition not in (unit.heading, title.full) and unit.edition not in unit.text:
        context.append(unit.edition)
    if unit.heading and unit.heading != title.full and unit.heading.lower() not in unit.text.lower():
        context.append(unit.heading)
    return f"{', '.join(context).rstrip(' :')}: {unit.text}" if context else unit.text


def _context(unit: Unit, title: Title, evidence: Shape, *, is_first: bool) -> Iterator[MentionSpan]:
    """Mentions that come from the title and the heading of a sentence."""
    if title.is_name:
        yield MentionSpan(0, 0, title.bare, "")
        if is_first:
            for alias in title.aliases:
                yield MentionSpan(0, 0, alias, "")
    heading = unit.heading.split()
    capitals = [word for word in heading if word[0].isupper()]
    if 0 < len(heading) <= 6 and capitals and heading[0] in capitals and evidence.capital.issuperset(capitals):
        yield MentionSpan(0, 0, unit.heading, "")


def _distinct(spans: Sequence[MentionSpan], kinds: Mapping[str, str]) -> tuple[Mention, ...]:
    """One mention per name, in order, with the first known kind."""
    mentions: dict[str, Mention] = {}
    for _, _, name, own_kind in spans:
        key, kind = normalise_name(name), own_kind or kinds.get(name, "")
        if key and (key not in mentions or (kind and not mentions[key].kind)):
            mentions[key] = Mention(mentions[key].name if key in mentions else name, kind)
    return tuple(mentions.values())


class LocalExtractor(Extractor):
    """An extractor with rules over capitals, dates, quotes and verbs; needs no model.

    A proposition is a sentence (or a table row, or a block of code), preceded by the title and the deepest heading if the sentence
    does not name them: ``Title, Heading: sentence``. A heading above that is a version or a date stands before the deepest:
    ``Changes, 1.4.0, Fixed: sentence``. Its text depends on the sentence, the title and these headings only, so that a sentence in
    the overlap of two chunks is one statement. Acronyms are not expanded in the text, since that needs more context; mentions do
    take the full name from the chunk.

    If the title is a name, every proposition mentions it, without a disambiguation in parentheses ("The Beach" for "The
    Beach (film)"). The first proposition of a chunk also mentions the full title and the name without its article. Names in
    scripts without capitals are found if they are quoted, bracketed, written in katakana or Latin letters, or equal to the
    title. Entities in lower case ("reality television series") are not found.

    Examples
    --------
    >>> chunk = ChunkInput(text="It was released in 2007 by Orion Books.", title="The Bourne Betrayal")
    >>> proposition = LocalExtractor().extract([chunk])[0].propositions[0]
    >>> proposition.text
    'The Bourne Betrayal: It was released in 2007 by Orion Books.'
    >>> [mention.name for mention in proposition.mentions]
    ['The Bourne Betrayal', 'Bourne Betrayal', '2007', 'Orion Books']
    >>> [(triple.predicate, triple.object) for triple in proposition.triples]
    [('was released in', '2007'), ('was released by', 'Orion Books')]
    """

    @property
    def fingerprint(self) -> str:
        """Name and version of the rules."""
        return "local/20"

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order, in time linear in the length of the texts."""
        readings = map(read_chunk, chunks)
        return list(advancing(reading.extraction(reading.triples()) for reading in readings))
