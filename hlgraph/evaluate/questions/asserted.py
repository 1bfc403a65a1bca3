"""Takes facts back to the words of their statements: what a sentence says about its subject, as a clause of a question.

A question is made of clauses that want a subject: "sued Amazon in September" goes on after "who" and after "the company that".
So a clause keeps the words of the sentence, and no word has to be inflected. A clause that does not stand alone (it has a
pronoun, a word such as "yesterday", or it hangs on "if") is refused, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hlgraph.evaluate.questions.word_lists import (
    ADVERBS,
    BOUNDARIES,
    CALENDAR,
    DEIXIS,
    DOUBTS,
    FUNCTION_WORDS,
    PREPOSITIONS,
    SAYING,
    UNSURE,
    is_finite_verb,
)
from hlgraph.records import Entity, Fact, Source, Statement
from hlgraph.text import content_words

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
_PLAIN = re.compile(r"[\w’'.,&$£€%/+-]+(?: [\w’'.,&$£€%/+-]+)*")


@dataclass(frozen=True, slots=True)
class Clause:
    """What a statement says about its subject, in the words of the statement.

    Attributes
    ----------
    fact : the fact
    statement : the statement that holds it
    subject_id : the subject
    text : the words after the subject: "sued Amazon in September"
    has_article : whether "the" precedes the subject in the sentence
    ahead : the words of ``text`` before the object, if the clause can end with the object; else empty, as for a literal
    """

    fact: Fact
    statement: Statement
    subject_id: str
    text: str
    has_article: bool = False
    ahead: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """The content words of the text: clauses with the same key say the same."""
        return tuple(content_words(self.text))


def sentence_of(statement: Statement, source: Source) -> str:
    """The text of a statement with single spaces, without the title of its source that an extractor puts before it.

    Parameters
    ----------
    statement : the statement
    source : its source
    """
    text, title = " ".join(statement.text.split()), " ".join(source.title.split())
    return text.removeprefix(f"{title}: ") if title else text


def clause_of(fact: Fact, statement: Statement, *, source: Source, entities: Mapping[str, Entity]) -> Clause | str:
    """The clause of a fact in the words of its statement, or why there is none.

    Parameters
    ----------
    fact, statement, source : the fact, a statement that supports it, and the source of that
    entities : the entities by id; both ends of the fact are among them

    Returns
    -------
    Clause or str
        The reason, in words, where the sentence gives no clause that stands alone.
    """
    subject = entities[fact.subject_id]
    sentence = sentence_of(statement, source)
    around = _around_subject(sentence, _spoken(subject))
    if around is None:
        return "the subject does not begin its clause"
    before, found = around
    apposition = _APPOSITION.match(found) if fact.predicate == "is" else None
    if apposition is not None:  # "Kea, a bank in Orne, sued ..."
        found = f"is {found[apposition.end() :]}"
    start = _verb_at(found, fact.predicate)
    if start is None:
        return "no finite verb follows the subject"
    rest = found[start:]
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
    """The names of an entity, the longest first, then in the order of letters."""
    return sorted({entity.name, *entity.aliases} - {""}, key=lambda name: (-len(name), name))


def _around_subject(sentence: str, names: Iterable[str]) -> tuple[str, str] | None:
    """What precedes and what follows the subject; None unless the subject begins a clause that the sentence asserts."""
    for name in names:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?=\s|, )", sentence):
            if _begins_clause(sentence[: match.start()]):
                return sentence[: match.start()], sentence[match.end() :].lstrip()
    return None


def _spoken(entity: Entity) -> list[str]:
    """The names of an entity, and their last words alone: "Grupe" for Blake Grupe."""
    whole = surfaces(entity)
    return [*whole, *dict.fromkeys(name.split()[-1] for name in whole if " " in name and name.split()[-1][0].isupper())]


def _begins_clause(before: str) -> bool:
    """Whether a clause can begin behind these words: nothing doubts it, and only words such as "head coach" precede it."""
    words = [word.lower().strip("“”\"'‘’(,;:—") for word in before.split()]
    if any(word in DOUBTS or word in SAYING or word.endswith(("n't", "n’t")) for word in words):
        return False
    own = _OPENING.split(_LEADING.sub("", before, count=1))[-1].split()
    plain = [word for word in own if word.lower() not in ("the", "a", "an")]
    return len(plain) <= _MOST_BEFORE and not any(
        word.lower() in FUNCTION_WORDS or not word.replace("-", "").isalnum() or is_finite_verb(word) for word in plain
    )


def _verb_at(rest: str, predicate: str) -> int | None:
    """Where the first word of the predicate stands, if it is a finite verb of the subject; None if not.

    Only adverbs precede it, or words between commas, or "who", or another verb of the subject and "and".
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
    """Start and end of the object in the clause; None if a break stands between verb and object."""
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
    """The end of the clause: the next mark or conjunction behind the object."""
    stop = _BREAK.search(rest, least)
    end = stop.start() if stop else len(rest)
    words = [*_WORD.finditer(rest, least, end)]
    texts = [*(word[0] for word in words), "", ""]
    for place, word in enumerate(words):
        lower = word[0].lower()
        near = range(place + 1, min(place + 4, len(words)))
        # "hired Altman and Brockman" goes on; "hired Altman and left" and "hired Altman and Yearwood became" end.
        if lower in ("and", "or") and near and not any(is_finite_verb(texts[at], texts[at + 1]) for at in near):
            continue
        if lower in BOUNDARIES:
            return word.start()
    return end


def _with_last_dot(text: str) -> str:
    """A text that ends with "U.S." got its last dot taken with the end of the sentence."""
    return f"{text}." if re.search(r"\b[A-Z]\.[A-Z]$", text) else text


def _before_pointer(rest: str, least: int, end: int) -> str:
    """The clause without the phrase that points outside it, and what follows; empty where it cannot end before the phrase.

    "settled with Amazon over two other cases" becomes "settled with Amazon".
    """
    words = list(_WORD.finditer(rest, least, end))
    pointer = next((word.start() for word in words if word[0].lower() in DEIXIS), None)
    if pointer is None:
        return ""
    starts = [word.start() for word in words if word.start() < pointer and word[0].lower() in PREPOSITIONS - {"of"}]
    return rest[: starts[-1]].strip() if starts else ""


def _can_end(rest: str) -> bool:
    """Whether a clause can end before these words: at a mark, a conjunction or a preposition."""
    following = rest.split()
    if not following or _BREAK.match(rest.lstrip()):
        return True
    word = following[0].lower().strip(",.;:")
    return rest[:1].isspace() and (word in BOUNDARIES or word in PREPOSITIONS) and word not in ("of", "to", "that")


def _without_article(text: str) -> str:
    head, _, last = text.rpartition(" ")
    return head if last.lower() in ("the", "a", "an") else text


def _fault(text: str) -> str:
    """Why words are no clause that stands alone; empty if they are."""
    words = [word.lower().strip(".'’") for word in text.split()]
    said = content_words(text)
    names = [word for word in text.split() if word[0].isupper() and word.lower() not in CALENDAR]
    faults = {
        "the clause is too short or too long": not _WORDS[0] <= len(words) <= _WORDS[1],
        "the clause does not stand alone": any(word in DEIXIS or word.endswith(("n't", "n’t")) for word in words),
        "the clause has signs that are no words": not _PLAIN.fullmatch(text),
        "the clause goes over the end of a sentence": _STOP.search(_SHORTENED.sub("", text)) is not None,
        "the clause says too little": sum(word not in CALENDAR and not word[0].isdigit() for word in said) < _CONTENT,
        "the clause is cut off": {*words[-1:]} & FUNCTION_WORDS or {*words[-2:-1]} & {"its", "his", "their"},
        "the clause names nothing": not names and len(said) < _NAMELESS,
        "the clause is a guess": {*words[:1]} & UNSURE,
        "the clause needs a plural": {*words[:1]} & {"are", "were", "do"},
    }
    return next((reason for reason, is_so in faults.items() if is_so), "")
