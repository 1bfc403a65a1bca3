"""Find the mentions of a chunk, sentence by sentence: title, values, quoted works, names, antecedents; expand shorter forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from hlgraph.extract.local import _lexicon as lexicon
from hlgraph.extract.local._clauses import may_be_person, tag_of
from hlgraph.extract.local._lexicon import KIND_OF_NOUN, LISTS, SYNONYMS
from hlgraph.extract.local._names import (
    Shape,
    Token,
    headline_tokens,
    is_title_case,
    names,
    row_tokens,
    shape,
    tokens,
)
from hlgraph.extract.local._topics import Title, head_noun, is_acronym, occurrences
from hlgraph.extract.local._units import MentionSpan, Unit, quoted, values, without_overlaps
from hlgraph.ids import normalise_name
from hlgraph.text import BlockKind, word_set

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff]")
_UNSPACED_NAME = re.compile(
    r"[ァ-ヴー]{3,}(?:[・＝][ァ-ヴー]+)*|(?<![A-Za-z0-9])[A-Z][A-Za-z0-9+#.-]*[A-Za-z0-9](?:\s[A-Z][A-Za-z0-9]+)*"
)
_PERSONAL = re.compile(r"\b(?:he|she|his|her|him|He|She|His|Her|born|directed by|written by|starring)\b")
_BORN = re.compile(r"\s?\((?:[^()]{0,60}[;,] ?)?(?:born|b\.) ")
_BRACKET = re.compile(r"\s?\(")
_NO_PERSON = re.compile(r"[&\d]|\b(?:of|the|and|for)\b")
_SURNAME = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORD = re.compile(r"[^\W_]+")
_PART_OF_TITLE = re.compile(r"\s[-–—|]\s|\s\(")
_RELATIVE = re.compile(r"\b(?:father|mother|brother|sister|wife|husband|son|daughter),? $")


def find_mentions(text: str, units: Sequence[Unit], title: Title) -> tuple[list[list[MentionSpan]], Shape]:
    """The mentions of every unit of a chunk, in the order of the text, and the evidence of the chunk about capitals.

    Mentions do not overlap, except for the name inside a title of office ("Kent" in "Duke of Kent"). An acronym that the
    chunk explains, and a surname with exactly one full name in the chunk, get the full name.

    Parameters
    ----------
    text : text of the chunk
    units : its units; code has no mentions, but for those of the sentence above it
    title : the title of the document

    Returns
    -------
    tuple
        One list of mentions per unit, and the evidence.
    """
    words = [_tokens_of(unit) for unit in units]
    evidence = shape(text, words, known=(*title.forms, title.head) if title.is_name else ())
    said = zip(map(_said, units), words, strict=True)
    per_unit = [list(_in_sentence(text_of, title, own, evidence)) for text_of, own in said]
    acronyms: dict[str, tuple[str, int]] = {}
    for i, (unit, mentions) in enumerate(zip(units, per_unit, strict=True)):
        for short, full in _explained(unit.text, mentions):
            acronyms.setdefault(short, (full, i))
    surnames = _surnames(units, per_unit, title) if _PERSONAL.search(text) else {}
    expanded = [[_full(mention, i, acronyms, surnames) for mention in own] for i, own in enumerate(per_unit)]
    return expanded, evidence


def _said(unit: Unit) -> str:
    """The text of a unit; of code the sentence above it."""
    return unit.text[: unit.own] if unit.kind is BlockKind.CODE else unit.text


def _tokens_of(unit: Unit) -> list[Token]:
    text = _said(unit)
    if unit.kind is BlockKind.ROW:
        return row_tokens(text)
    return headline_tokens(text) if is_title_case(text) else tokens(text)


def _in_sentence(text: str, title: Title, words: Sequence[Token], evidence: Shape) -> Iterator[MentionSpan]:
    """Mentions in the order of the text. The title has precedence, then quoted works, values, and names in the rest."""
    taken: list[MentionSpan] = []
    if title.is_name:
        taken = [mention for mention in occurrences(text, title) if not _is_part_of_name(text, mention)]
    taken = without_overlaps(taken, quoted(text))
    taken = without_overlaps(taken, values(text))
    if _UNSPACED.search(text) and len(_UNSPACED.findall(text)) * 3 > len(text):
        words = ()  # capitals do not mark word boundaries in these scripts
        latin = [MentionSpan(match.start(), match.end(), match.group(), "") for match in _UNSPACED_NAME.finditer(text)]
        taken = without_overlaps(taken, latin)
    runs = names(text, words, evidence, taken=taken) if words else []
    inside = [run for before, run in pairwise(runs) if run.start < before.end]  # "Kent" of "Duke of Kent"
    outside = [run for run in runs if run not in inside] if inside else runs
    for mention in sorted([*without_overlaps(outside, taken), *inside]):
        is_own = mention.name in (*title.forms, title.head) or _introduces(text, mention, title)
        if title.is_name and is_own:
            yield mention._replace(name=title.bare)
        elif mention.kind == "" and _BORN.match(text, mention.end):
            yield mention._replace(kind="person")
        else:
            yield mention


def _introduces(text: str, mention: MentionSpan, title: Title) -> bool:
    """Whether a name at the beginning is the title in full: "Rita Louise Tower (born 1971)" for "Rita Tower"."""
    if mention.start or not _BRACKET.match(text, mention.end):
        return False
    long, short = mention.name.split(), title.bare.split()
    return len(long) > len(short) > 1 and (long[0], long[-1]) == (short[0], short[-1])


def _is_part_of_name(text: str, mention: MentionSpan) -> bool:
    """Whether an occurrence of the title is left to the search for names: one word, or part of a longer name."""
    words = text[mention.start : mention.end]
    if _WORD.fullmatch(words) and words.lower() != words.upper():
        return True
    follower = text[mention.end + 1 : mention.end + 2]
    return text[mention.end : mention.end + 1] == " " and (follower.isupper() or follower.isdigit())


def _explained(text: str, mentions: Sequence[MentionSpan]) -> Iterator[tuple[str, str]]:
    """Acronyms that a sentence explains, with matching initials: "World Health Organization (WHO)"."""
    for full, short in pairwise(mentions):
        is_bracketed = text[full.end : short.start] == " (" and text[short.end : short.end + 1] == ")"
        if is_bracketed and is_acronym(short.name, full.name):
            yield short.name, full.name


def _surnames(units: Sequence[Unit], per_unit: Sequence[Sequence[MentionSpan]], title: Title) -> dict[str, str]:
    """The full name for each surname that has exactly one in the chunk, and no relative: "her father, Ben Moro"."""
    relatives = {
        mention.name.rsplit(" ", 1)[-1]
        for unit, mentions in zip(units, per_unit, strict=True)
        for mention in mentions
        if " " in mention.name and _RELATIVE.search(unit.text, max(0, mention.start - 16), mention.start)
    }
    full: dict[str, set[str]] = {}
    own = {(title.bare, ""), (_PART_OF_TITLE.split(title.bare)[0], "")}
    for name, kind in own.union((mention.name, mention.kind) for mentions in per_unit for mention in mentions):
        if kind in ("", "person") and (last := _surname(name)):
            full.setdefault(last, set()).add(name)
    apart = relatives | {title.bare}
    return {last: names_.pop() for last, names_ in full.items() if len(names_) == 1 and last not in apart}


def _surname(name: str) -> str:
    """The last word of a likely personal name (two to four words, no word of places or organizations); else empty."""
    parts = name.split()
    if not 2 <= len(parts) <= 4 or not parts[0][0].isupper() or _NO_PERSON.search(name):
        return ""
    first, last = parts[0].lower(), parts[-1].lower()
    is_acronym_first = len(parts[0]) > 2 and parts[0].isupper()
    if is_acronym_first or first in lexicon.NOT_A_FIRST_NAME or not lexicon.ORDINARY.isdisjoint((first, last)):
        return ""
    if last in lexicon.GENERIC or last in lexicon.DEMONYMS:
        return ""
    is_surname = _SURNAME.fullmatch(parts[-1]) and parts[-1][0].isupper() and not parts[-1].isupper()
    return parts[-1] if is_surname and len(last) > 2 else ""


def _full(
    mention: MentionSpan, unit: int, acronyms: dict[str, tuple[str, int]], surnames: dict[str, str]
) -> MentionSpan:
    """The mention with its full name. In the unit that explains it, an acronym keeps its own name, since both are mentions."""
    if mention.name in acronyms and acronyms[mention.name][1] != unit:
        return mention._replace(name=acronyms[mention.name][0])
    if mention.kind in ("", "person") and mention.name in surnames:
        return mention._replace(name=surnames[mention.name])
    return mention


# Antecedents: what "he", "its" and "the company" at the beginning of a sentence refer to, under one heading.

_WHEN = rf"(?:[a-z\d-]+|{'|'.join(lexicon.MONTHS)})"
_OPENER = (
    r"(?:(?:But|And|So|Yet|Also|Then|Later|Today|Now|However|Instead|Eventually|Finally|Initially|Afterwards?|Meanwhile"
    r"|Still|Previously|Originally|Subsequently),? "
    rf"|(?:In|On|At|By|From|Since|After|Before|During|Until|As of)(?: {_WHEN}){{1,5}}, (?:\d{{4}}, )?"
    r"|(?:Born|Raised|Educated|Trained|Elected|Appointed|Known) [^,.;]{1,60}, "
    rf"|(?:In|By|From|Since|After|Before|During|Until)(?: (?:{'|'.join(lexicon.MONTHS)}))? \d{{4}} )?"
)
_ANAPHOR = re.compile(
    rf"{_OPENER}(?P<word>[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Tt]h(?:e|is) (?P<noun>[a-z]{{3,}}))"
    r"(?P<follower>['’](?:s|re|d|ll|ve)(?= [a-z])| (?=[^\W_]))"
)
_QUOTER = re.compile(r"[,?!][”\"] (?P<word>he|she)(?P<noun>)(?P<follower> )(?=[a-z])")
_OWN = frozenset(("his", "her", "its", "their"))
_GENDERS = {"he": "he", "his": "he", "she": "she", "her": "she"}
_GENDERED = {
    "he": re.compile(r"\b(?:[Hh]e|[Hh]im|[Hh]is)\b"),
    "she": re.compile(r"\b(?:[Ss]he|[Hh]ers?)\b"),
}
# An object that is another person than the subject: "Ada Roe sold it to her".
_OBJECT = {
    "he": re.compile(r"\bhim\b"),
    "she": re.compile(r"\bher(?=[.,;:!?]| (?:to|in|on|at|for|with|from|and|as)\b)"),
}
_OTHER = {"he": "she", "she": "he"}
# "It" that refers to nothing: "It is clear that", "It was she who", "It takes time".
_EXPLETIVE = re.compile(
    r"[Ii]t (?:also )?(?:seem|appear|turn|take|took|happen|follow|snow|rain|(?:(?:is|was|will|would|has|had|may|might|can"
    r"|could|should|does|did) (?:not |be |been )*)(?:said|thought|clear|likely|true|possible|(?:[\w-]+ ){1,3}?"
    r"(?:that|who|whether|if|how|why|when)\b))"
)
_AFTER_NOUN = rf"(?:{'|'.join(LISTS['after_noun'])})"
_IS_A = re.compile(
    r"['’\"”]{0,2}(?:,? ?\([^()]{0,200}\))?(?P<link>,? (?:is|was|are|were|remains)(?: (?:also|now|currently|still))?)?"
    rf"(?(link) (?:an?|the|one of the)|, an?) (?P<words>(?:(?!{_AFTER_NOUN} )[^\s.;:()]+ ){{0,9}}?[^\s,.;:()]+)"
    rf"(?=[.;:()]|,? {_AFTER_NOUN}\b|,? ?$)"
)
_APPOSED = re.compile(r"(\w+), $")  # "their union, Harbour Voice"
_IS_MADE = re.compile(rf" (?:is|was|are|were) (?:first |originally )?(?:{'|'.join(LISTS['is_made'])})\b")
_IS_NAMED = re.compile(r"(?:The|An?|Its|Their|His|Her)(?: \[[^\]]*\])?(?: [^\W\d_A-Z][\w-]*){1,5} (?:is|was) ")
_HEAD_NOUN = re.compile(r"([\w’'-]+)(?=,|$| and\b| or\b)")
_PARTICIPLES = re.compile(r"(?: [a-z]+ed)+$")  # "a radio station licensed to"
_OF_SOMEBODY = re.compile(r"\b(?:is|was|are|were) (?:his|her|their)\b")
_LOWER_WORD = re.compile(r"(?<![^\W_])[a-z]+(?![\w’'-])")
_NO_PERSON_BEFORE = re.compile(r"\b(?:the|an?|in|at|near|outside|around|on|his|her|its|their|our)\s$", re.IGNORECASE)
_PLACED = re.compile(r"\b(?:in|at|near|from)\s(?:the\s)?$")
_SPEAKS = re.compile(rf"(?:,? who| (?:also |later )?(?:{'|'.join(LISTS['speaks'])}))\b|, \d\d,")
_SUBORDINATE = re.compile(r"(?:Although|Though|While|When|After|Before|Because|As|Since|If|Once|Despite) .*, ")
_NOUNS_OF = {
    "he": word_set("husband father brother son king prince duke earl baron businessman nobleman actor man monk priest"),
    "she": word_set("wife mother sister daughter queen princess businesswoman noblewoman actress woman"),
}
_SPOKEN = re.compile(r"\b(?:said|says|told|wrote|recalled|explained|asked)\s$")
_HEAD = re.compile(
    r"[“\"]?(?:The |An? |But |And |However, |Later, |(?:In|On|By|After|Since)(?: [a-z\d]+){1,4}, )?[“\"]?"
)
_SAYS = (BlockKind.PROSE, BlockKind.ITEM)
_OFFICE = re.compile(r", [^.;:]{1,60}")
# What a sentence without a name is about: "the van" of "The van is late.", or of "It [the van] is late."
_COMMON = "noun"
_DETERMINERS = word_set("the this that our my your")
_ONLY_THING = re.compile("([dnmk]n{1,3})(?:ba?n(?!n)|[bxyvz])")  # of tags: the old van is late
_OTHER_THING = frozenset("ndhk")  # tags of nouns, determiners and pronouns
_WHENS = word_set("monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday now") | {
    month.lower() for month in lexicon.MONTHS
}
_NO_THING = word_set("answer day fact idea point problem question reason result rest thing time truth way weather year")
# "It is cold", "It depends on the road": it refers to no thing.
_MAY_BE_NOTHING = re.compile(
    r"[Ii]t(?: \w+ly)? (?:depends?|matter(?:s|ed)?|means?|meant|helps?|hurts?|costs?|looks?|looked|feels?|felt|sounds?|gets?|got"
    r"|becomes?|became|(?:is|was|will be|has been|had been|may be|can be)(?! (?:[a-z]+ed|built|sold|made|held|found|kept|lost|left"
    r"|sent|shut)\b))\b"
)
_LONGEST_HEAD = 48
_VERBS = frozenset("bxyva")
_NEAR = 2  # sentences before the anaphor in which its antecedent may stand


class _Sentence(NamedTuple):
    """A sentence before an anaphor; ``subject`` is the name that it is about, ``defines`` whether it says what that is."""

    unit: Unit
    mentions: Sequence[MentionSpan]
    subject: str
    defines: bool


class _Section:
    """What a chunk says before an anaphor: what its names are, and the last sentences under the same heading."""

    def __init__(self, title: Title, units: Sequence[Unit]) -> None:
        self._title = title.bare if title.is_name else ""
        self._may_be_person = bool(self._title) and may_be_person(title)
        self._units = units
        self._names: dict[str, set[str]] = {}
        self._kinds: dict[str, str] = {}
        self._things: set[str] = set()
        self._before: list[_Sentence] = []
        self._waiting: list[tuple[Unit, Sequence[MentionSpan], int | None]] = []
        for noun in title.nouns if self._title else ():
            if noun in KIND_OF_NOUN:
                self._describe(self._title, noun)

    def _describe(self, name: str, words: str) -> None:
        """Note what a name is: the last word of each part of a noun phrase, "a film director and writer"."""
        words = _PARTICIPLES.sub("", words.lower())
        for noun in _HEAD_NOUN.findall(words):
            kind = KIND_OF_NOUN.get(noun) or KIND_OF_NOUN.get(noun.removesuffix("s"), "")
            if kind or words.endswith(noun):
                self._names.setdefault(noun, set()).add(name)
            if kind:
                self._kinds.setdefault(name, kind)

    def add(self, unit: Unit, mentions: Sequence[MentionSpan], head: int | None) -> None:
        """Note a sentence; ``head`` is the offset of its anaphor, if that got an antecedent. It is read when one is asked for."""
        self._waiting.append((unit, mentions, head))

    def _read(self) -> None:
        for unit, mentions, head in self._waiting:
            if not self.has_before(unit):
                self._before.clear()
            if unit.kind in _SAYS:
                self._read_sentence(unit, mentions, head)
        self._waiting.clear()

    def _read_sentence(self, unit: Unit, mentions: Sequence[MentionSpan], head: int | None) -> None:
        text, subject, defines = unit.text, "", False
        for mention in mentions:
            if mention.kind in ("date", "number") or mention.start < unit.own:
                continue
            may_head = head is None and mention.start - unit.own < _LONGEST_HEAD
            opens = may_head and _HEAD.fullmatch(text, unit.own, mention.start) is not None
            is_head = (opens or mention.start == head) and not text.startswith(("'s", "’s"), mention.end)
            name = self._title if self._is_title(mention.name) else mention.name
            subject = name if is_head and not subject else subject
            match = _IS_A.match(text, mention.end)
            if name == self._title and not subject and (match["link"] if match else _is_clause(text, mention)):
                is_head, subject = True, name
            if match and (is_head or not match["link"]):
                self._describe(name, match["words"])
                defines = defines or bool(match["link"])
            if mention.kind:
                self._kinds.setdefault(name, mention.kind)
            noun = _APPOSED.search(text, max(0, mention.start - 30), mention.start)
            if noun and (kind := KIND_OF_NOUN.get(noun[1].lower())):
                self._kinds.setdefault(name, kind)
            if _IS_MADE.match(text, mention.end):
                self._things.add(name)
            if KIND_OF_NOUN.get(head_noun(mention.name)) in ("place", "organization"):
                self._describe(mention.name, mention.name)
        self._before = [*self._before[1 - _NEAR :], _Sentence(unit, mentions, subject, defines)]

    def _is_title(self, name: str) -> bool:
        """Whether a name is a form of the title, if that may be a person: "Henry Roe" or "Roe" for "Henry Roe Jr"."""
        kind = self._kinds.get(self._title, "person" if self._may_be_person else "")
        if name == self._title or kind != "person":
            return name == self._title
        own, words = ({word.strip(".,") for word in each.split()} for each in (self._title, name))
        return self._kinds.get(name, "person") == "person" and (words <= own or (len(own) > 1 and own <= words))

    def antecedent(self, unit: Unit, anaphor: re.Match[str]) -> MentionSpan | None:
        """The name that an anaphor refers to, without a span; None if it is not certain."""
        self._read()
        word = anaphor["word"].lower()
        before = self._before if self.has_before(unit) else []
        may_be_common = word in ("it", "its") and bool(before) and not self._title
        if gender := _GENDERS.get(word):
            name, kind = self._person(gender, before), "person"
        elif unit.kind is BlockKind.ITEM:
            return None
        elif may_be_common and (thing := _common_thing(unit, anaphor, before[-1].unit)):
            return MentionSpan(0, 0, thing, _COMMON)
        elif anaphor["noun"]:
            name = self._named_by(anaphor["noun"], before) if _follows(unit.text, anaphor) else ""
            kind = KIND_OF_NOUN.get(anaphor["noun"], "")
        elif _EXPLETIVE.match(unit.text, anaphor.start("word")):
            return None
        else:
            is_speaker = bool(_SPEAKS.match(unit.text, anaphor.end("word")))
            name = self._thing(before, is_plural=word.startswith("the"), is_speaker=is_speaker)
            kind = self._kinds.get(name, "")
        return MentionSpan(0, 0, name, self._kinds.get(name, kind)) if name else None

    def has_before(self, unit: Unit) -> bool:
        """Whether a sentence stands before this one under the same heading, in the same list if it is an item."""
        if not self._before or unit.kind not in _SAYS:
            return False
        last = self._before[-1].unit
        is_beside = unit.text[: unit.own] == last.text[: last.own]
        return last.heading == unit.heading and last.kind is unit.kind and is_beside

    def is_open(self, noun: str) -> bool:
        """Whether an anaphor without an antecedent is not the title either: a pronoun, or "the company" after another name."""
        has_other = any(self._may_be_organization(each, self._title) for each in self._before)
        return not noun or (noun in SYNONYMS["company"] and has_other)

    # Persons

    def _person(self, gender: str, before: Sequence[_Sentence]) -> str:
        if self._is_titled_person(gender):
            return self._title if self._is_about_title(before, gender) else ""
        first = next((at for at, sentence in enumerate(before) if any(self._persons(sentence))), len(before))
        window = before[first:]
        names = dict.fromkeys(name for sentence in window for name in self._persons(sentence))
        others = (_GENDERED[_OTHER[gender]], _OBJECT[gender], _OF_SOMEBODY)
        if len(names) != 1 or any(pattern.search(each.unit.text) for pattern in others for each in window):
            return ""
        text = " ".join(each.unit.text for each in window)
        is_inside = text[0] in '“"' and not any(mark in text[1:] for mark in '“”"')  # of one quotation that goes on
        if _is_quoting(window) and not is_inside:
            return ""
        [name] = names
        is_sure = self._shows_person(name, window, gender) and not _others(name, window, gender)
        return name if is_sure and not _HAS_CAPITALS.search(name) else ""

    def _is_about_title(self, before: Sequence[_Sentence], gender: str) -> bool:
        """Whether the last sentence with a person as its subject has the title as that, or none has one."""
        for sentence in reversed(before):
            if sentence.subject == self._title:
                return True
            text = sentence.unit.text
            is_own = text.partition(" ")[0] in self._title.split()
            if not sentence.subject and not is_own and any(name != self._title for name in self._persons(sentence)):
                return False
            if self._could_be_person(sentence.subject) if sentence.subject else _has_person(text, gender):
                return False
        return True

    def _is_titled_person(self, gender: str) -> bool:
        """Whether the title is a person of this gender, by what the chunk says of it and by its pronouns."""
        kind = self._kinds.get(self._title)
        if not self._title or kind not in (None, "person") or self._title in self._things:
            return False
        own, other = self._pronouns[gender], self._pronouns[_OTHER[gender]]
        if kind or (self._may_be_person and _is_full_name(self._title)):
            return own > other
        return self._may_be_person and own >= max(2, len(self._units) // 3) and own > 3 * other

    @cached_property
    def _pronouns(self) -> dict[str, int]:
        """The number of pronouns of each gender in the chunk."""
        text = "\n".join(unit.text for unit in self._units)
        return {gender: len(pattern.findall(text)) for gender, pattern in _GENDERED.items()}

    def _could_be_person(self, name: str) -> bool:
        is_person = self._kinds.get(name, "person") == "person" and name not in self._things
        return is_person and not _NO_NAME.search(name)

    def _persons(self, sentence: _Sentence) -> Iterator[str]:
        """The names of a sentence that may be those of persons."""
        text = sentence.unit.text
        for mention in sentence.mentions:
            name = mention.name
            if mention.kind not in ("", "person") or not self._could_be_person(name):
                continue
            before = _NO_PERSON_BEFORE.search(text, max(0, mention.start - 9), mention.start)
            if mention.kind or not (before or text[mention.start] in '“"‘'):
                yield name

    def _shows_person(self, name: str, window: Sequence[_Sentence], gender: str) -> bool:
        """Whether something shows that a name is a person's: an office, a verb of saying, a pronoun in the same sentence."""
        if self._kinds.get(name) == "person":
            return True
        for sentence in window:
            text = sentence.unit.text
            for mention in (each for each in sentence.mentions if each.name == name):
                is_subject = sentence.subject == name or _SUBORDINATE.fullmatch(text, 0, mention.start) is not None
                if (is_subject and _is_full_name(name)) or _SPEAKS.match(text, mention.end):
                    return True
                before = text[max(0, mention.start - 40) : mention.start].split() or [""]  # "prosecutor Ada Roe"
                is_spoken = _SPOKEN.search(text, max(0, mention.start - 12), mention.start)
                if is_spoken or KIND_OF_NOUN.get(before[-1]) == "person":
                    return True
                match = _IS_NAMED.fullmatch(text, 0, mention.start)
                if match and any(KIND_OF_NOUN.get(word) == "person" for word in match[0].split()):
                    return True
                if _is_verb_or_own(text, mention.end) and _GENDERED[gender].search(text, mention.end):
                    return True
        return False

    # Things

    def _named_by(self, noun: str, before: Sequence[_Sentence]) -> str:
        """The only name in the chunk that is such a thing: "the company"."""
        kind = KIND_OF_NOUN.get(noun, "")
        names = set().union(*(self._names.get(each, ()) for each in SYNONYMS.get(noun, [noun])))
        mentions = [mention for sentence in before for mention in sentence.mentions]
        near = {mention.name for mention in mentions if mention.kind == kind or not kind}
        if noun in SYNONYMS["company"]:
            names |= {name for name in near if self._kinds.get(name) == "organization"}
        if len(names) != 1:
            return ""
        [name] = names
        subject = before[-1].subject if before else ""
        is_rivalled = bool(subject) and subject != name and self._kinds.get(subject, kind) == kind
        is_near = name == self._title or any(name == mention.name for mention in mentions)
        if kind == "organization" and any(self._may_be_organization(each, name) for each in before):
            return ""
        return name if is_near and not is_rivalled else ""

    def _may_be_organization(self, sentence: _Sentence, other: str) -> bool:
        """Whether a sentence has a name, beside another one, that may be an organization's: no place after "in", no full name."""
        return any(
            mention.name != other
            and self._kinds.get(mention.name, mention.kind) in ("", "organization")
            and not _PLACED.search(sentence.unit.text, max(0, mention.start - 8), mention.start)
            and not _is_full_name(mention.name)
            and mention.name not in other
            for mention in sentence.mentions
        )

    def _thing(self, before: Sequence[_Sentence], *, is_plural: bool, is_speaker: bool) -> str:
        """What the last sentence is about: a thing that it defines, or the title; a speaker may be its only name."""
        if not before or _is_quoting(before):
            return ""
        last = before[-1]
        names = {mention.name for mention in last.mentions if mention.kind not in ("date", "number")}
        if is_speaker and len(names) == 1 and not self._title and self._kinds.get(min(names)) in (None, "organization"):
            return names.pop()
        name = last.subject
        if not name or self._kinds.get(name) == "person" or not (last.defines or name == self._title):
            return ""
        if not last.defines and name not in self._kinds and name not in self._things and _is_full_name(name):
            return ""  # it may be a person
        if is_plural:
            return name if self._kinds.get(name) == "organization" else ""
        return "" if name == self._title and any(map(self._is_titled_person, _GENDERED)) else name


def _common_thing(unit: Unit, anaphor: re.Match[str], last: Unit) -> str:
    """The thing that the sentence right before this one is about, if that has no name and no other noun; else empty."""
    is_next = unit.start - last.end == 1 and not anaphor.start("word")
    if not is_next or last.own or _MAY_BE_NOTHING.match(unit.text) or any(mark in last.text for mark in '“”"'):
        return ""
    words = [word.strip(",;:.!?()[]") or "," for word in last.text.removeprefix("It [").split()]
    tags = "".join(map(tag_of, words))
    thing = _ONLY_THING.match(tags)
    if thing is None or words[0].lower() not in _DETERMINERS or not all(map(str.islower, words[1 : thing.end()])):
        return ""
    noun = words[thing.end(1) - 1]
    if noun.endswith("s") or noun in _NO_THING or KIND_OF_NOUN.get(noun) in ("person", "organization"):
        return ""
    rest = zip(words[thing.end() :], tags[thing.end() :], strict=True)
    if any(tag in _OTHER_THING and word.lower() not in _WHENS for word, tag in rest):
        return ""
    return " ".join([words[0].lower(), *words[1 : thing.end(1)]])


def _is_quoting(sentences: Sequence[_Sentence]) -> bool:
    """Whether a quotation begins or ends in these sentences without its other end."""
    text = " ".join(each.unit.text for each in sentences)
    return text.count("“") != text.count("”") or text.count('"') % 2 == 1


_NO_NAME = re.compile(r"\d|^[A-Z.& -]+$")
_HAS_CAPITALS = re.compile(r"\b[A-Z]{3,}\b")


def _has_person(text: str, gender: str) -> bool:
    """Whether a word is a noun for a person of this or any gender, so that a pronoun after it may mean another one."""
    nouns = [word for word in _LOWER_WORD.findall(text) if KIND_OF_NOUN.get(word) == "person"]
    return not _NOUNS_OF[_OTHER[gender]].issuperset(nouns)


def _others(name: str, window: Sequence[_Sentence], gender: str) -> bool:
    """Whether the sentences have a noun or a pronoun for one more person than the named one, or quote the name."""
    for sentence in window:
        text = sentence.unit.text
        mentions = [each for each in sentence.mentions if each.name == name]
        own = [(max(0, each.start - 40), each.start) for each in mentions]
        defining = (_IS_A, _OFFICE) if sentence.unit.kind is BlockKind.ITEM else (_IS_A,)  # Ada Roe, chair
        own += [match.span() for each in mentions for rule in defining if (match := rule.match(text, each.end))]
        own += [(0, each.start) for each in mentions if _IS_NAMED.fullmatch(text, 0, each.start) is not None]
        for noun in _LOWER_WORD.finditer(text, sentence.unit.own):
            if KIND_OF_NOUN.get(noun.group()) != "person":
                continue
            if noun.group() in _NOUNS_OF[_OTHER[gender]] or not any(a <= noun.start() < b for a, b in own):
                return True
        first = mentions[0].start if mentions else len(text)
        if first and _begins_unknown(text):
            return True
        if _GENDERED[gender].search(text, 0, first) and not (mentions and _SUBORDINATE.fullmatch(text, 0, first)):
            return True
        if mentions and text.count("“", 0, first) > text.count("”", 0, first) and "”" in text[first:]:
            return True
        if mentions and text.count('"', 0, first) % 2 and '"' in text[first:]:
            return True
    return False


def _begins_unknown(text: str) -> bool:
    """Whether a verb follows a first word that may be a name and is no mention."""
    word, _, rest = text.partition(" ")
    lower = word.lower()
    is_common = lower in lexicon.ORDINARY or lower.endswith((*lexicon.COMMON_ENDINGS, "s")) or not word.isalpha()
    return not is_common and tag_of(rest.partition(" ")[0] or ".") in "bxyv"


def _is_clause(text: str, mention: MentionSpan) -> bool:
    """Whether a clause begins with a mention, after a phrase in front: "Born in Cork, Ada Roe moved"."""
    is_after = text.endswith(", ", 0, mention.start) and not text.startswith(("'s", "’s"), mention.end)
    return is_after and _is_verb_or_own(text, mention.end)


def _is_verb_or_own(text: str, end: int) -> bool:
    """Whether a verb or a possessive follows, so that a name before it is a subject or an owner."""
    words = text[end : end + 30].split()
    return text.startswith(("'s", "’s"), end) or (bool(words) and tag_of(words[0]) in "bxyvza")


def _follows(text: str, anaphor: re.Match[str]) -> bool:
    """Whether a verb or a possessive follows "the film", so that it is no part of "the film industry"."""
    if anaphor["follower"] != " ":
        return True
    words = text[anaphor.end() : anaphor.end() + 60].split()
    tags = [tag_of(word.strip(",;:")) for word in words[:2] if word.strip(",;:")]
    return bool(tags) and (tags[0] in _VERBS or (tags[0] == "z" and tags[1:2] not in (["b"], ["x"], ["y"], ["v"])))


def _is_full_name(name: str) -> bool:
    """Whether a name of unknown kind is two or three capitalised words, none of them of places and organizations."""
    words = name.split()
    return (
        1 < len(words) <= 3
        and all(word[0].isupper() and word[1:].islower() for word in name.replace("-", " ").split() if word)
        and lexicon.NOT_A_FIRST_NAME.isdisjoint(word.lower() for word in words)
    )


def with_antecedents(
    units: Sequence[Unit], mentions: Sequence[Sequence[MentionSpan]], title: Title
) -> tuple[tuple[Unit, ...], list[Sequence[MentionSpan]]]:
    """The units with the antecedent in brackets after their first anaphor, if it is certain: "He [Ben Moro] was born".

    An anaphor is "he", "she", "it", "they", their possessives, or "the" or "this" with a noun, at the beginning of a sentence,
    after an opener such as "In 1970,", or after a quotation. Its antecedent stands in the two sentences before it, under the
    same heading, or is the title.

    - A person: the title if the sentences are about it; else the only name of a person there, if no noun or pronoun may
      mean another one.
    - "The company": the only name in the chunk of which it says that it is one.
    - "It" and "they": what the last sentence is about and defines ("Acme is a company"), or the title.

    Where two names are possible, nothing changes, and ``is_open`` says that the anaphor is not the title either.

    Parameters
    ----------
    units : the units of a chunk
    mentions : mentions of each unit
    title : the title of the document

    Returns
    -------
    tuple
        The units, whose spans stay, and their mentions; the anaphor and the bracket mention the antecedent.
    """
    section = _Section(title, units)
    resolved: list[Unit] = []
    named: list[Sequence[MentionSpan]] = []
    for plain, own in zip(units, mentions, strict=True):
        unit, spans = plain, own
        anaphor = _anaphor(unit.text, unit.own) if unit.kind in _SAYS else None
        antecedent = section.antecedent(unit, anaphor) if anaphor else None
        is_other = antecedent and anaphor and normalise_name(anaphor["word"]) != normalise_name(antecedent.name)
        if anaphor and antecedent and is_other:  # not "The bridge" under the title "The bridge"
            unit, spans = _bracketed(unit, spans, anaphor, antecedent, title)
        elif anaphor and unit.kind is BlockKind.PROSE and section.has_before(unit) and section.is_open(anaphor["noun"]):
            unit = unit._replace(is_open=True)
        section.add(unit, spans, anaphor.start("word") if anaphor and antecedent else None)
        resolved.append(unit)
        named.append(spans)
    return tuple(resolved), named


def _anaphor(text: str, start: int) -> re.Match[str] | None:
    match = _ANAPHOR.match(text, start)
    return match if match or not ("” " in text or '" ' in text) else _QUOTER.search(text)


def _bracketed(
    unit: Unit, spans: Sequence[MentionSpan], anaphor: re.Match[str], antecedent: MentionSpan, title: Title
) -> tuple[Unit, list[MentionSpan]]:
    """The unit with the antecedent behind the anaphor, and its mentions, moved."""
    start, end = anaphor.span("word")
    is_own = anaphor["word"].lower() in _OWN
    shown = title.full if antecedent.name == title.bare else antecedent.name
    bracket = f" [{shown}{'’s' if is_own else ''}]"
    size = len(bracket)
    own = antecedent._replace(start=start, end=end + size - (len("’s]") if is_own else 0))
    before = [each for each in spans if each.end <= start]
    after = [each._replace(start=each.start + size, end=each.end + size) for each in spans if each.start >= end]
    text = f"{unit.text[:end]}{bracket}{unit.text[end:]}"
    is_open = antecedent.name != title.bare
    named = [] if antecedent.kind == _COMMON else [own]
    return unit._replace(text=text, bracket=(end, end + size), is_open=is_open), [*before, *named, *after]


def as_written(unit: Unit, mentions: Sequence[MentionSpan]) -> tuple[str, Sequence[MentionSpan]]:
    """The words of a unit without a bracket, and its mentions in them.

    Parameters
    ----------
    unit : the unit
    mentions : its mentions, in ``unit.text``

    Returns
    -------
    tuple
        The text and the mentions; the anaphor alone is the mention of its antecedent.
    """
    start, end = unit.bracket
    if start == end:
        return unit.text, mentions
    moved = [
        each._replace(start=each.start - end + start, end=each.end - end + start)
        if each.start >= end
        else each._replace(end=min(each.end, start))
        for each in mentions
    ]
    return unit.text[:start] + unit.text[end:], moved
