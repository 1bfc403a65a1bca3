"""Decide which entities a question can ask for, which names count as an answer, and how a question refers to an entity."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlgraph.records import Entity, Fact, Source, Statement, group_by
from hlgraph.text import content_words, words

if TYPE_CHECKING:
    from hlgraph.sdk.facts import StoredFacts

# Closed word lists of the question templates: function words, words that point outside a clause, and forms of verbs.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AUXILIARIES = _words("is are was were has have had will would can could may might must should did does do")
_PRONOUNS = _words(
    """he she it they him her them hers theirs i we you me us my our your this that these those itself himself
    herself themselves someone somebody something everyone everybody everything nobody nothing there here who which whom
    whose what where when how why one ones others such both each"""
)
DEIXIS = _PRONOUNS | _words(
    """it's it’s today yesterday tomorrow tonight now currently recently earlier later ago soon then last next previous latter
    former above below again instead too however therefore not never no nor neither another other same so yet once if than
    perhaps probably possibly maybe"""
)
"""Pronouns, adverbs and negations that make a clause depend on its context; a question must not contain them."""

UNSURE = _words("may might could would should will can")
DOUBTS = _words(
    """if whether unless would could may might that suggests suggested how why rumours claims hopes than until nor not
    never"""
)
"""Words that, before a clause, mean that the sentence does not assert the clause."""

BOUNDARIES = _words(
    """and but or while as because when where which who whom whose that if so though although until unless since whereas
    whether than yet nor"""
)
"""Conjunctions that start a new clause."""

PREPOSITIONS = _words(
    """of to in on at from by for with into near under against between within about after before during through over across
    along among around behind beyond above toward towards upon via outside inside onto despite like versus per off out up
    down"""
)
FUNCTION_WORDS = _AUXILIARIES | _PRONOUNS | BOUNDARIES | PREPOSITIONS | _words("a an the not never no its his their")
CALENDAR = _words(
    """january february march april may june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday week year month day"""
)
ADVERBS = _words("also then still already just now even once later soon again since first often has had have")
SAYING = _words(
    """said says say told tells tell added adds explained explains noted notes argued argues claimed claims thought thinks
    believed believes knew knows felt feels hoped hopes wanted wants expected expects seemed seems suggested suggests
    tweeted asked asks wrote writes insisted insists announced announces confirmed confirms revealed reveals"""
)
"""Verbs whose object is a clause, which a question cannot cut in half."""

_IRREGULAR = _words(
    """beat became began bet bit blew bought broke broadcast brought built burst came caught chose cost cut dealt did drank
    drew drove ate fed fell felt fled flew forecast forgot fought found froze gave went got grew heard held hid hit hurt kept
    knew laid lay led left lent let lit lost made meant met paid proved put quit ran rang rebuilt rode rose said sang sank
    sat saw sent set shook shone shot shut slept slid sold sought spent spoke split spread sprang stole stood struck stuck
    sued swam swept swore swung taught thought threw took tore told underwent understood undertook upheld withdrew woke won
    wore wove wrote"""
)
_NOT_VERBS = _words(
    """red need speed united indeed bed hundred seed deed odds news highlights updates props apps sports series users employees
    workers layoffs talks shares devices games players fans sources results officials details deals tools products services
    executives investors sales teams leaders articles stories ads points yards runs assets funds tickets"""
)
_BEFORE_OBJECT = _words(
    """the a an its his her their some another one two three four five to in into through on off out over up down with as past
    back"""
)
AGENTIVE = _words(
    """said says told announced agreed sued launched acquired bought sold hired fired signed won lost beat met wrote founded
    co-founded joined left led released unveiled invested raised owns owned plans planned argued claimed asked paid fined
    warned married dated played plays pitched caught scored threw hit picked invited accused denied testified pleaded
    admitted appointed named offered offers started created built made shared posted called helped spent visited defeated
    outplayed purchased settled filed recalled"""
)
"""Verbs whose subject is a person or an organization, so that a question can ask "who"."""


def is_finite_verb(word: str, following: str = "the") -> bool:
    """Whether a word has the form of a finite verb.

    Parameters
    ----------
    word : the word
    following : the next word, which distinguishes a verb in -s from a plural noun

    Examples
    --------
    >>> [is_finite_verb(*pair) for pair in (("sued", ""), ("has", ""), ("offers", "the"), ("apps", "like"))]
    [True, True, True, False]
    """
    lower = word.lower()
    if lower in _NOT_VERBS or word[:1].isupper():
        return False
    if lower in _AUXILIARIES or lower in _IRREGULAR or (lower.endswith("ed") and len(lower) > len("bed")):
        return True
    is_form_in_s = lower.endswith("s") and not lower.endswith(("ss", "us", "is")) and len(lower) > len("was")
    return is_form_in_s and (following.lower() in _BEFORE_OBJECT or following[:1].isupper() or following[:1].isdigit())


SINGULAR = {"have": "has", "are": "is", "were": "was", "do": "does"}
SHORT_ROLES = _words("QB RB WR LB TE CB HC GM OC DC TV PC AI VP CEO CFO CTO COO FG TD PM AM Dr Mr Mrs Ms")
"""Abbreviations of roles and things that look like names at the start of a sentence."""


_MOST_WORDS = 5
_HUB_SHARE, _HUB_SOURCES = 0.25, 20
_NO_NAMES = frozenset({"number", "date", "time", "money", "percent", "quantity", "ordinal"})
_NO_BEGINNING = DEIXIS | {"one", "two", "three", "four", "five", "six", "cut", "plus", "no"}
_PLAIN = re.compile(r"[\w’'.&+-]+(?: [\w’'.&+-]+)*")
_ACTS, _FEW_ACTS = 0.25, 0.1
_ASKED = {"organization": "Which organization", "work": "Which work", "place": "Which place"}
_REFERRED = {
    "person": "the person who",
    "organization": "the organization that",
    "work": "the work that",
    "place": "the place that",
}
AGENT = "the person or organization that"
THING = "the thing that"
"""How a question refers to an entity of unknown kind: if it acts like a person or organization, and otherwise."""


class Askable:
    """The entities of a corpus, grouped by shared names, with the words that questions use for them.

    Short and long forms of a name are one group: "Altman" and "Sam Altman" if no other name ends with Altman, "FTC" and
    "Federal Trade Commission" if no other name has these initials.

    Parameters
    ----------
    stored : the facts, their entities, and their statements, whose spelling distinguishes a name from a capitalised common word
    """

    def __init__(self, stored: StoredFacts) -> None:
        self._entities = entities = stored.entities
        self._titles = {" ".join(words(item.title)) for item in stored.sources.values()}
        self._lower: Counter[str] = Counter()
        self._upper: Counter[str] = Counter()
        for statement in stored.statements.values():
            for word in re.findall(r"[^\W\d_]+", statement.text):
                (self._upper if word[0].isupper() else self._lower)[word.lower()] += 1
        self._counts = Counter(fact.subject_id for fact, _ in stored.facts)
        acts = Counter(
            fact.subject_id for fact, _ in stored.facts if AGENTIVE.intersection(fact.predicate.lower().split()[:3])
        )
        plain = {name: item for name, item in entities.items() if not _is_no_plain_name(item.name)}
        self._groups = {name: name for name in entities} | _grouped(plain, self._counts)
        self._members = group_by(self._groups, self._groups.__getitem__)
        self._agents = {
            group
            for group, names in self._members.items()
            if _acts(sum(acts[name] for name in names), sum(self._counts[name] for name in names))
            or _has_short_form([entities[name].name for name in names])
        }
        self._shared = _shared_last_words(entities)

    def group(self, entity: str) -> str:
        """The id of the entity that represents the group of an entity."""
        return self._groups[entity]

    def answers(self, entity: str) -> tuple[str, ...]:
        """All names and aliases of an entity's group: the main name first, the others by descending length."""
        members = [self._entities[name] for name in self._members[self.group(entity)]]
        main = self._entities[self.group(entity)].name
        rest = {name for item in members for name in (item.name, *item.aliases)} - {main, ""}
        return (main, *sorted(rest, key=lambda name: (-len(name), name)))

    def refusal(self, entity: str) -> str:
        """Why no question can ask for an entity; empty if one can."""
        item = self._entities[entity]
        name, parts = item.name, item.name.split()
        if item.kind in _NO_NAMES or not any(letter.isalpha() for letter in name):
            return "it is a number or a date"
        if _is_no_plain_name(name):
            return "it is no plain name"
        if name in SHORT_ROLES or self._is_common(parts):
            return "it is a common word"
        if (
            len(parts) >= _MOST_WORDS
            and (said := " ".join(words(name)))
            and any(said in title for title in self._titles)
        ):
            return "it is a title"
        if len(parts) == 1 and name.lower() in self._shared and self.group(entity) == entity:
            return "several entities have its name"
        return ""

    def asked(self, entity: str, *clauses: str) -> str:
        """The interrogative for an entity with these clauses: "Who", "Which organization", or "Who or what"."""
        kind = self._entities[entity].kind
        if kind != "organization" and (kind == "person" or self._is_agent(entity, clauses)):
            return "Who"
        return _ASKED.get(kind, "Who or what")

    def referred(self, entity: str, *clauses: str) -> str:
        """The noun phrase that replaces an entity's name before these clauses, such as "the organization that"."""
        kind, is_agent = self._entities[entity].kind, self._is_agent(entity, clauses)
        if kind in ("place", "person") and is_agent:
            return AGENT
        return _REFERRED.get(kind) or (AGENT if is_agent else THING)

    def _is_agent(self, entity: str, clauses: tuple[str, ...]) -> bool:
        """Whether the facts of an entity, or these clauses, use verbs of persons and organizations."""
        firsts = {text.split()[0] for text in clauses if text}
        has_owner = any({"his", "her"} & {*text.split()} for text in clauses)
        return self.group(entity) in self._agents or has_owner or bool(firsts & AGENTIVE)

    def _is_common(self, parts: list[str]) -> bool:
        """Whether the texts also write a one-word name in lower case, at least a third as often."""
        if len(parts) > 1:
            return False
        word = parts[0].lower()
        return 3 * self._lower[word] >= self._upper[word] > 0


def hubs(facts: Iterable[tuple[str, str]], *, source_count: int) -> frozenset[str]:
    """Entities that occur in too many sources to identify an answer.

    Parameters
    ----------
    facts : an entity and a source that has a fact about it, for every such pair
    source_count : number of sources of the corpus

    Returns
    -------
    frozenset of str
        Entities of more than a quarter of the sources, and of more than 20.
    """
    counts = Counter(entity for entity, _ in set(facts))
    most = max(_HUB_SOURCES, _HUB_SHARE * source_count)
    return frozenset(entity for entity, count in counts.items() if count > most)


def singular(clause: str) -> str:
    """A clause to follow "who" or "that": its first verb in the singular ("have won" becomes "has won"), without "also"."""
    first, _, rest = clause.replace(" also ", " ").partition(" ")
    return f"{SINGULAR.get(first, first)} {rest}".strip()


def _is_no_plain_name(name: str) -> bool:
    parts = name.split()
    return (
        not parts
        or name[:1].islower()
        or len(parts) > _MOST_WORDS
        or any(part.isdigit() and len(part) > 1 for part in parts)
        or parts[0].lower() in _NO_BEGINNING
        or (parts[0].lower().endswith("ing") and len(parts) > 1)
        or not _PLAIN.fullmatch(name)
    )


def _acts(count: int, total: int) -> bool:
    """Whether the share of acts among the facts of an entity is typical of a person or an organization."""
    return count >= _ACTS * total > 0 or (count > 1 and count >= _FEW_ACTS * total)


def _has_short_form(names: list[str]) -> bool:
    """Whether one name is the last word of another, as a surname is."""
    return any(" " not in one and other.endswith(f" {one}") for one in names for other in names)


def _grouped(entities: Mapping[str, Entity], counts: Mapping[str, int]) -> dict[str, str]:
    """Map each entity to the representative of its group; names are grouped by last words or by initials.

    "Altman" and "CEO Sam Altman" are grouped with "Sam Altman" if all longer names that end with Altman end with Sam Altman.
    The representative has the most facts, then the longest name.
    """
    keys: dict[str, set[str]] = {}
    for item in entities.values():
        parts = item.name.split()
        if len(parts) > 1:
            pair = " ".join(parts[-2:])
            initials = "".join(part[0] for part in item.name.replace("-", " ").split() if part[0].isupper())
            for short in {parts[-1], initials, pair} - {item.name}:
                keys.setdefault(short, set()).add(pair)
    joined: dict[str, list[str]] = {}
    for item in entities.values():
        parts = item.name.split()
        pairs = keys.get(item.name, set())
        is_short = len(parts) == 1 and (len(item.name) > 2 or item.name.isupper())
        own = " ".join(parts[-2:]) if len(parts) > 1 else next(iter(pairs)) if is_short and len(pairs) == 1 else ""
        joined.setdefault(own or item.id, []).append(item.id)
    groups: dict[str, str] = {}
    for names in joined.values():
        main = min(names, key=lambda name: (-counts.get(name, 0), -len(entities[name].name), name))
        groups.update(dict.fromkeys(names, main))
    return groups


def _shared_last_words(entities: Mapping[str, Entity]) -> frozenset[str]:
    """Last words that two or more names share."""
    last = Counter(item.name.split()[-1].lower() for item in entities.values() if " " in item.name)
    return frozenset(word for word, count in last.items() if count > 1)


# Extracts the clause of a fact from its statement: what the sentence says about its subject.
#
# A question is built from clauses without their subject: "sued Amazon in September" can follow "who" and "the company that".
# A clause keeps the words of the sentence, so no word has to be inflected. A clause that depends on its context (it has a
# pronoun, a word such as "yesterday", or a preceding "if") is rejected with the reason.


_INSERTED = re.compile(r", [^,;:.!?]{2,80}, ")
_LEADING = re.compile(r"(?:In|On|At|During|Since|By) [^,]{2,40}, ")
_JOINING = "and|but|while|when|because|after|although|where"
_OPENING = re.compile(rf"[,;:()—–“”\"…]\s*(?:(?:{_JOINING}|so|as)\b)?|\b(?:{_JOINING})\s", re.IGNORECASE)
_APPOSITION = re.compile(r",\s(?=(?:an?|the)\s)", re.IGNORECASE)
_SHORTENED = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Inc|Co|No|vs|[A-Z]\.[A-Z]|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec)\. "
)
_STOP = re.compile(r"\. ")
_WORD = re.compile(r"[^\s,.;:!?()\[\]—–…\"“”]+(?:[.,]\d+)*")
_BREAK = re.compile(r"[,;:!?()\[\]—–…\"“”]|\.$| - ")
_MOST_BEFORE, _MOST_SKIPPED = 4, 2
_WORDS = (3, 16)
_CONTENT = 2
_NAMELESS = 4
_PLAIN_CLAUSE = re.compile(r"[\w’'.,&$£€%/+-]+(?: [\w’'.,&$£€%/+-]+)*")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause about the subject of a fact, in the words of the statement, without the subject.

    Attributes
    ----------
    fact : the fact
    statement : the statement that supports it
    subject_id : the subject
    text : the words after the subject: "sued Amazon in September"
    has_article : whether "the" precedes the subject in the sentence
    ahead : the words of ``text`` before the object, if the clause can end with the object; empty otherwise, and for a literal
    """

    fact: Fact
    statement: Statement
    subject_id: str
    text: str
    has_article: bool = False
    ahead: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """The content words of the text; clauses with equal keys are duplicates."""
        return tuple(content_words(self.text))


def sentence_of(statement: Statement, source: Source) -> str:
    """The text of a statement with single spaces, without the source title that an extractor prepends.

    Parameters
    ----------
    statement : the statement
    source : its source
    """
    text, title = " ".join(statement.text.split()), " ".join(source.title.split())
    return text.removeprefix(f"{title}: ") if title else text


def clause_of(fact: Fact, statement: Statement, *, source: Source, entities: Mapping[str, Entity]) -> Clause | str:
    """The clause of a fact in the words of its statement, or the reason why it has none.

    Parameters
    ----------
    fact, statement, source : the fact, a statement that supports it, and the source of that
    entities : the entities by id; both ends of the fact are among them

    Returns
    -------
    Clause or str
        A text is the reason why the sentence gives no self-contained clause.
    """
    subject = entities[fact.subject_id]
    sentence = sentence_of(statement, source)
    around = _around_subject(sentence, _spoken(subject))
    if around is None:
        return "the subject does not begin its clause"
    before, after = around
    apposition = _APPOSITION.match(after) if fact.predicate == "is" else None
    if apposition is not None:  # "Kea, a bank in Orne, sued ..."
        after = f"is {after[apposition.end() :]}"
    start = _verb_at(after, fact.predicate)
    if start is None:
        return "no finite verb follows the subject"
    rest = after[start:]
    item = entities.get(fact.object_id or "")
    place = _object_in(rest, fact, subject=subject, item=item)
    if place is None:
        return "the object is not in the same clause"
    end = _end(rest, place[1])
    text = _with_last_dot(rest[:end].strip())
    is_whole = _can_end(rest[place[1] :])
    if fault := _fault(text):
        shorter = [_before_pointer(rest, place[1], end), *([rest[: place[1]].strip()] if is_whole else [])]
        fits = [each for each in shorter if not _fault(each)]
        if not fits:
            return fault
        text = fits[0]
    ahead = rest[: place[0]].strip() if item is not None and is_whole else ""
    has_article = before.lower().endswith("the ")
    return Clause(fact, statement, subject.id, text, has_article=has_article, ahead=_without_article(ahead))


def surfaces(entity: Entity) -> list[str]:
    """The names of an entity, the longest first, ties in alphabetical order."""
    return sorted({entity.name, *entity.aliases} - {""}, key=lambda name: (-len(name), name))


def _around_subject(sentence: str, names: Iterable[str]) -> tuple[str, str] | None:
    """The text before and after the subject; None unless the subject starts a clause that the sentence asserts."""
    for name in names:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?=\s|, )", sentence):
            if _begins_clause(sentence[: match.start()]):
                return sentence[: match.start()], sentence[match.end() :].lstrip()
    return None


def _spoken(entity: Entity) -> list[str]:
    """The names of an entity, followed by their last words alone, such as "Grupe" for Blake Grupe."""
    whole = surfaces(entity)
    return [*whole, *dict.fromkeys(name.split()[-1] for name in whole if " " in name and name.split()[-1][0].isupper())]


def _begins_clause(before: str) -> bool:
    """Whether a clause can start after these words: they express no doubt, and at most a title such as "head coach" precedes it."""
    words = [word.lower().strip("“”\"'‘’(,;:—") for word in before.split()]
    if any(word in DOUBTS or word in SAYING or word.endswith(("n't", "n’t")) for word in words):
        return False
    own = _OPENING.split(_LEADING.sub("", before, count=1))[-1].split()
    plain = [word for word in own if word.lower() not in ("the", "a", "an")]
    return len(plain) <= _MOST_BEFORE and not any(
        word.lower() in FUNCTION_WORDS or not word.replace("-", "").isalnum() or is_finite_verb(word) for word in plain
    )


def _verb_at(rest: str, predicate: str) -> int | None:
    """The offset of the predicate's first word if it is a finite verb of the subject; None otherwise.

    It may follow adverbs, a phrase between commas, "who", or another verb of the subject and "and".
    """
    wanted = predicate.split(maxsplit=1)[0].lower() if predicate.split() else ""
    inserted = _INSERTED.match(rest)
    if inserted is not None:
        at = _verb_at(rest[inserted.end() :], predicate)
        if at is not None:
            return inserted.end() + at
    words = list(_WORD.finditer(rest))
    for place, word in enumerate(words):
        lower = word[0].lower()
        before = words[place - 1] if place else None
        if lower != wanted:
            continue
        following = words[place + 1][0] if place + 1 < len(words) else ""
        if lower in SAYING or not is_finite_verb(lower, following):
            return None
        ahead = [each[0].lower() for each in words[:place]]
        is_next = not rest.startswith(",") and all(each in ADVERBS or each.endswith("ly") for each in ahead)
        is_relative = ahead in (["who"], ["which"]) and rest.startswith(",")
        is_second = (
            before is not None
            and ahead[-1] == "and"
            and is_finite_verb(words[0][0], words[1][0])
            and not any(each in BOUNDARIES for each in ahead[:-1])
            and not _BREAK.search(rest[: before.start()])
        )
        return word.start() if is_next or is_relative or is_second else None
    return None


def _object_in(rest: str, fact: Fact, *, subject: Entity, item: Entity | None) -> tuple[int, int] | None:
    """Start and end of the object in the clause; None if a clause boundary separates verb and object."""
    if item is not None:
        names = _spoken(item)
    else:
        spoken = fact.text.removeprefix(f"{subject.name} {fact.predicate} ")
        names = [spoken, *spoken.split()[-1:]]
    for name in names:
        match = re.search(rf"(?<!\w){re.escape(name)}(?![\w’'-])", rest, re.IGNORECASE if item is None else 0)
        if match is not None:
            between = rest[: match.start()]
            hangs = {word.lower() for word in between.split()} & BOUNDARIES
            return None if _BREAK.search(between) or hangs - {"and", "as"} else match.span()
    return None


def _end(rest: str, least: int) -> int:
    """The end of the clause: the next punctuation mark or conjunction after the object."""
    stop = _BREAK.search(rest, least)
    end = stop.start() if stop else len(rest)
    words = [*_WORD.finditer(rest, least, end)]
    texts = [*(word[0] for word in words), "", ""]
    for place, word in enumerate(words):
        lower = word[0].lower()
        near = range(place + 1, min(place + 4, len(words)))
        # "hired Altman and Brockman" continues; "hired Altman and left" and "hired Altman and Yearwood became" end at "and".
        if lower in ("and", "or") and near and not any(is_finite_verb(texts[at], texts[at + 1]) for at in near):
            continue
        if lower in BOUNDARIES:
            return word.start()
    return end


def _with_last_dot(text: str) -> str:
    """Restore the last dot of a text that ends with an abbreviation such as "U.S.", which the sentence end removed."""
    return f"{text}." if re.search(r"\b[A-Z]\.[A-Z]$", text) else text


def _before_pointer(rest: str, least: int, end: int) -> str:
    """The clause up to the phrase with the first context-dependent word; empty if the clause cannot end there.

    "settled with Amazon over two other cases" becomes "settled with Amazon".
    """
    words = list(_WORD.finditer(rest, least, end))
    pointer = next((word.start() for word in words if word[0].lower() in DEIXIS), None)
    if pointer is None:
        return ""
    starts = [word.start() for word in words if word.start() < pointer and word[0].lower() in PREPOSITIONS - {"of"}]
    return rest[: starts[-1]].strip() if starts else ""


def _can_end(rest: str) -> bool:
    """Whether a clause can end before these words: at punctuation, a conjunction or a preposition."""
    following = rest.split()
    if not following or _BREAK.match(rest.lstrip()):
        return True
    word = following[0].lower().strip(",.;:")
    return rest[:1].isspace() and (word in BOUNDARIES or word in PREPOSITIONS) and word not in ("of", "to", "that")


def _without_article(text: str) -> str:
    head, _, last = text.rpartition(" ")
    return head if last.lower() in ("the", "a", "an") else text


def _fault(text: str) -> str:
    """Why the words are not a self-contained clause; empty if they are."""
    words = [word.lower().strip(".'’") for word in text.split()]
    said = content_words(text)
    names = [word for word in text.split() if word[0].isupper() and word.lower() not in CALENDAR]
    faults = {
        "the clause is too short or too long": not _WORDS[0] <= len(words) <= _WORDS[1],
        "the clause does not stand alone": any(word in DEIXIS or word.endswith(("n't", "n’t")) for word in words),
        "the clause has signs that are no words": not _PLAIN_CLAUSE.fullmatch(text),
        "the clause goes over the end of a sentence": _STOP.search(_SHORTENED.sub("", text)) is not None,
        "the clause says too little": sum(word not in CALENDAR and not word[0].isdigit() for word in said) < _CONTENT,
        "the clause is cut off": {*words[-1:]} & FUNCTION_WORDS or {*words[-2:-1]} & {"its", "his", "their"},
        "the clause names nothing": not names and len(said) < _NAMELESS,
        "the clause is a guess": {*words[:1]} & UNSURE,
        "the clause needs a plural": {*words[:1]} & {"are", "were", "do"},
    }
    return next((reason for reason, is_so in faults.items() if is_so), "")
