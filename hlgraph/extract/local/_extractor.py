"""The rule-based extractor: no model, no download, one pass over the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlgraph.extract.local._lexicon import AUXILIARIES, IRREGULAR, OPENERS, PREPOSITIONS, SELF_NOUNS
from hlgraph.extract.local._mentions import find_mentions
from hlgraph.extract.local._names import Shape
from hlgraph.extract.local._topics import Title, chunk_topics, is_named, read_title, unit_topics
from hlgraph.extract.local._units import Found, Unit, units
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum, normalise_name
from hlgraph.records import Extraction, Mention, Proposition, Triple
from hlgraph.text import STOP_WORDS

_HEAD = re.compile(r"(?:(?:The|the|Sir|Dame|Mr\.?|Mrs\.?|Dr\.?) )?[\"“`«]{0,2}\s?$")
_PRONOUN = re.compile(r"(?:It|He|She)(?= [a-z])|The (?P<noun>[a-z]+)(?= [a-z])")
_BRACKETS = re.compile(r"['’\"”]{0,2}\s?\([^()]{0,200}\)")
_APPOSITION = re.compile(r", [^,;:()]{2,80},(?= [a-z])")
_LIFE = re.compile(r"\s?\((?:[^()]*[;,\s])??(?P<born>born|b\.)?\s*$")
_DASH = re.compile(r"\s?[–—-]+\s?")
_VERB_PHRASE = re.compile(r"[\"”']{0,2},? ((?:[a-z][a-z'-]*(?: |$)){1,6})[\"“`]{0,2}\s?$")
_COMPLEMENT = re.compile(r"[\"”']{0,2} (is|was|are|were|became) ((?:an?|the|one of the) [^,;:()]{2,120})")
_COMPLEMENT_END = re.compile(r" (?:who|which|that|where|when|whose|while|but|and (?:is|was|has|had|the|an?))\b|\.$")
_PARTICIPLE = re.compile(
    r"(?:^| )(?:and |, )?([a-z]+(?:ed|en|un|wn|lt|ung) by|starring|featuring) (?:the )?[\"“`]{0,2}\s?$"
)
_NEGATION = re.compile(r"\b(?:not|never|no|nor|without|neither)\b")
_LIST = frozenset((", ", " and ", ", and ", ", the ", " and the ", ", and the ", " & "))
_ADVERBS = frozenset(
    (
        "also",
        "later",
        "then",
        "first",
        "originally",
        "currently",
        "officially",
        "now",
        "once",
        "formerly",
        "briefly",
        "soon",
    )
)
_ARTICLES = frozenset(("a", "an", "the", "his", "her", "its", "their"))
_TRAILING = re.compile(r"\s(?:the|an?|his|her|its|their)$")
_VERB_ENDING = re.compile(r"[a-z]{2,}(?:ed|[a-rt-z]s)$")
_DEPENDENT = re.compile(r"[\"”]?['’](?:s\b|\s)|-[a-z]")
_FOLLOWER = re.compile(r"[\"”]? ([a-z]+(?:-[a-z]+)?)\b")
_MOST = 8
_LONGEST_COMPLEMENT = 14


def find_triples(text: str, mentions: Sequence[Found], title: Title) -> list[Triple]:
    """The facts that a sentence states about its subject, at most eight.

    The subject is the mention at the beginning of the sentence, or the title for "It", "He", "She" and "The film" if the
    title is a name and the pronoun fits. The rules find the complement of "is a"; a verb phrase of lower-case words between
    the subject and a mention, its further prepositions and the members of its list ("stars A and B"); "directed by" and
    "starring" after a complement; birth and death dates in parentheses. Nothing after a negation is used.

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
    subject = _subject(text, mentions, title)
    if subject is None:
        return []
    others = [mention for mention in mentions if mention.start >= subject.end]
    triples = [*_life(text, subject, others), *_complement(text, subject), *_verbs(text, subject, others)]
    return list(dict.fromkeys(triple for triple in triples if triple.subject != triple.object))[:_MOST]


def _subject(text: str, mentions: Sequence[Found], title: Title) -> Found | None:
    """The subject of a sentence; its ``end`` is where the words about it begin."""
    first = mentions[0] if mentions else None
    subject = None
    if first and first.kind not in ("date", "number") and _HEAD.fullmatch(text, 0, first.start):
        subject = first
    elif title.is_name and (match := _PRONOUN.match(text)):
        is_person = match.group() in ("He", "She")
        fits = _may_be_person(title) if is_person else match["noun"] is None or match["noun"] in SELF_NOUNS
        subject = Found(0, match.end(), title.bare, "") if fits else None
    return subject


def _may_be_person(title: Title) -> bool:
    parts = [part for part in title.bare.replace(",", " ").split() if part[0].isalpha()]
    return 0 < len(parts) <= 7 and parts[0][0].isupper() and parts[0].lower() not in ("the", "a", "an")


def _after_insertions(text: str, end: int) -> int:
    """Where the words about a subject begin, after a parenthesis and an apposition."""
    if match := _BRACKETS.match(text, end):
        end = match.end()
    if match := _APPOSITION.match(text, end):
        end = match.end()
    return end


def _life(text: str, subject: Found, others: Sequence[Found]) -> Iterator[Triple]:
    """Birth and death dates in "(born 1 March 1952)" or "(1 May 1769 – 14 September 1852)" after a name."""
    if not others or others[0].kind != "date" or "(" not in text[subject.end : others[0].start]:
        return
    match = _LIFE.fullmatch(text, subject.end, others[0].start)
    if not match:
        return
    if match["born"]:
        yield Triple(subject.name, "born", others[0].name, is_literal=True)
    elif len(others) > 1 and others[1].kind == "date" and _DASH.fullmatch(text, others[0].end, others[1].start):
        is_life = text[others[1].end : others[1].end + 1] == ")" and " " in others[0].name  # not "(1990 – 1995)"
        ends = (("born", others[0]), ("died", others[1])) if is_life else ()
        for predicate, date in ends:
            yield Triple(subject.name, predicate, date.name, is_literal=True)


def _complement(text: str, subject: Found) -> Iterator[Triple]:
    """The complement of "is a writer of comics": a literal."""
    match = _COMPLEMENT.match(text, _after_insertions(text, subject.end))
    if not match:
        return
    words = match[2]
    if end := _COMPLEMENT_END.search(words):
        words = words[: end.start()]
    parts = words.rstrip(".").split()[:_LONGEST_COMPLEMENT]
    while parts and parts[-1] in STOP_WORDS:
        parts.pop()  # left over where a comma or the length limit cut a phrase
    if len(parts) > 1 and not _NEGATION.search(words):
        yield Triple(subject.name, match[1], " ".join(parts), is_literal=True)


def _verbs(text: str, subject: Found, others: Sequence[Found]) -> Iterator[Triple]:
    """Facts from verb phrases between the subject and later mentions, one mention after the other within a clause."""
    position = _after_insertions(text, subject.end)
    clause = _Clause("", "")
    for mention in others:
        if mention.start < position:
            continue
        gap = text[position : mention.start]
        is_value = mention.kind in ("date", "number")
        following = None if _NEGATION.search(gap) else _next_clause(gap, clause)
        if following is not None:
            clause = following
            if _DEPENDENT.match(text, mention.end) or _is_adjunct(text, mention.end):
                return
            yield Triple(subject.name, clause.predicate, mention.name, is_literal=is_value)
            if mention.kind == "number":
                return  # "57 percent of ..."
        elif not is_value or clause.predicate:
            return  # another name comes between, and the rest may be about that
        position = mention.end


def _is_adjunct(text: str, end: int) -> bool:
    """Whether a mention only qualifies the noun after it: "starred in Indian TV serials"."""
    match = _FOLLOWER.match(text, end)
    word = match[1] if match else "and"
    return not (word in OPENERS or word in PREPOSITIONS or word.endswith(("ed", "ing")))


class _Clause(NamedTuple):
    """The predicate before the last mention, and its verb if a further preposition may follow (else empty)."""

    verb: str
    predicate: str


def _next_clause(gap: str, before: _Clause) -> _Clause | None:
    """The clause that the words before a mention begin or continue; None if they do neither."""
    if match := _PARTICIPLE.search(gap):
        return _Clause("", match[1]) if not before.predicate or match.start() == 0 else None
    if before.predicate:
        preposition = _TRAILING.sub("", gap.strip().rstrip('"“`').strip())
        if before.verb and preposition in PREPOSITIONS and gap.startswith(" "):
            return _Clause(before.verb, f"{before.verb} {preposition}")
        return before if gap in _LIST else None
    match = _VERB_PHRASE.match(gap)
    phrase = _TRAILING.sub("", match[1].strip()).split() if match else []
    if not phrase or not _is_verb_phrase(phrase):
        return None
    if phrase[-1] not in PREPOSITIONS:
        return _Clause(" ".join(phrase), " ".join(phrase))
    return _Clause(" ".join(phrase[:-1]) if _ARTICLES.isdisjoint(phrase) else "", " ".join(phrase))


def _is_verb_phrase(phrase: Sequence[str]) -> bool:
    """Whether lower-case words are exactly a verb, a verb with a preposition, or a phrase such as "is the capital of"."""
    first, last = phrase[0], phrase[-1]
    if first in _ADVERBS:
        return len(phrase) > 1 and _is_verb_phrase(phrase[1:])
    if first in AUXILIARIES:
        rest = [word for word in phrase[1:] if word not in _ADVERBS and word not in ("been", "be")]
        if not rest:
            return False
        if _is_participle(rest[0]):
            return len(rest) == 1 or (last in PREPOSITIONS and len(rest) < 4)
        return last == "of" or (rest[0] in _ARTICLES and last in PREPOSITIONS)
    if first in IRREGULAR or _VERB_ENDING.match(first):
        return len(phrase) == 1 or last in PREPOSITIONS
    return False


def _is_participle(word: str) -> bool:
    return word.endswith(("ed", "en", "wn", "rn", "un")) or word in IRREGULAR


_FINGERPRINT = "local/1"


class LocalExtractor:
    """An extractor with rules over capitals, dates, quotes and verbs; needs no model.

    A proposition is a sentence (or a table row, or a block of code), preceded by the title and the deepest heading if the
    sentence does not name them: ``Title, Heading: sentence``. Its text depends on the sentence, the title and the heading
    only, so that a sentence in the overlap of two chunks is one statement. So pronouns are not resolved and acronyms are not
    expanded in the text, since both need more context; mentions do take the full name from the chunk.

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
        return _FINGERPRINT

    @property
    def problems(self) -> tuple[str, ...]:
        """Always empty, since the rules read no files."""
        return ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order, in time linear in the length of the texts."""
        return [_extract(chunk) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """Hash of everything that the rules read: their version, the text, the title and the headings."""
        return checksum(_FINGERPRINT, chunk.text, chunk.title, *chunk.headings)


def _extract(chunk: ChunkInput) -> Extraction:
    title = read_title(chunk.title)
    parts = list(units(chunk.text, chunk.headings))
    if not parts:
        return Extraction()
    mentions, evidence = find_mentions(chunk.text, parts, title)
    topics = chunk_topics(parts, mentions, title, headings=chunk.headings)
    propositions: dict[str, Proposition] = {}
    for unit, found in zip(parts, mentions, strict=True):
        text = _self_contained(unit, title)
        if text in propositions:
            continue  # equal texts in a chunk are one statement, at the first place
        names = [*_context(unit, title, evidence, is_first=not propositions), *found]
        propositions[text] = Proposition(
            text=text,
            start=unit.start,
            end=unit.end,
            topics=unit_topics(unit, topics, title),
            mentions=_distinct(names),
            triples=tuple(find_triples(unit.text, found, title)),
        )
    return Extraction(tuple(propositions.values()), topics)


def _self_contained(unit: Unit, title: Title) -> str:
    """The sentence, preceded by the title and the heading if it does not name them."""
    context = []
    if title.full and not is_named(unit.text, title):
        context.append(title.full)
    if unit.heading and unit.heading != title.full and unit.heading.lower() not in unit.text.lower():
        context.append(unit.heading)
    return f"{', '.join(context)}: {unit.text}" if context else unit.text


def _context(unit: Unit, title: Title, evidence: Shape, *, is_first: bool) -> Iterator[Found]:
    """Mentions that come from the title and the heading of a sentence."""
    if title.is_name:
        yield Found(0, 0, title.bare, "")
        if is_first:
            for alias in title.aliases:
                yield Found(0, 0, alias, "")
    heading = unit.heading.split()
    capitals = [word for word in heading if word[0].isupper()]
    if 0 < len(heading) <= 6 and capitals and heading[0] in capitals and evidence.capital.issuperset(capitals):
        yield Found(0, 0, unit.heading, "")


def _distinct(found: Sequence[Found]) -> tuple[Mention, ...]:
    """One mention per name, in order, with the first known kind."""
    mentions: dict[str, Mention] = {}
    for _, _, name, kind in found:
        key = normalise_name(name)
        if key and (key not in mentions or (kind and not mentions[key].kind)):
            mentions[key] = Mention(mentions[key].name if key in mentions else name, kind)
    return tuple(mentions.values())
