"""The forms of answers without a model: "Yes: ...", "Gannow Light, 1821; Halfmoon Bridge, 1868", "3: ...".

A form is used where the evidence has the facts for it; otherwise the answer says what is missing, or keeps its plain form.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from hlgraph.answer.citations import headed, joined
from hlgraph.answer.constraints import (
    DAYS,
    IN_MONEY,
    LISTS,
    Constraints,
    Statements,
    constraints_of,
    has_itself,
    has_reserve,
    is_doubted,
    is_limited,
    is_met_twice,
    is_misplaced,
    is_unknown,
    statement,
    without_plans,
    words_of,
)
from hlgraph.answer.table_rules import MEASURES, Range, is_row, measured_by, range_has, ranges
from hlgraph.answer.tables import key, plain_cell
from hlgraph.extract.wording import MONTHS, NUMERALS, Wording, content_set, denies
from hlgraph.records import Answer, AnswerSentence, Evidence
from hlgraph.retrieve.question.keywords import named
from hlgraph.text import (
    CURRENCIES,
    STOP_WORDS,
    cached_by_text,
    content_words,
    fold,
    numbers,
    word_set,
    words,
)

# Yes or no.

_AUXILIARIES = words_of("auxiliaries")
_LEAD_IN = re.compile(
    r"\b(?:according to|in|on|at|as of|under|during|for|after|before|since|by)\b[^,?]*,\s*", re.IGNORECASE
)
_AFTER_HYPHEN = re.compile(r"(?<=\w)-\w+")  # the third-most is not the most
_NOT = re.compile(r"(?<=\w)n['’]t\b")  # "Wasn't it ...?" asks what "Was it ...?" asks
_REPLY = re.compile(r"\W*(?:(?:A|Answer)\s?\d{0,3}\s?[:.)]\W*)?(yes|no)\b", re.IGNORECASE)
_CONTRAST = re.compile(r";|,? \b(?i:but|whereas)\b|,(?= (?:and )?(?:the )?[A-Z][\w’'-]* (?:only|not)\b)")
_DO = r"(?:is|are|was|were|does|do|did|has|have|can|may|will|must)"
_ELLIPSIS = re.compile(
    rf"(?<![^,;.:])(?P<whole>[^,;.:]+? {_DO} (?P<said>[^,;.:]+))[,;] (?:but |and |while )?(?P<other>[^,;.:]+? {_DO} not)(?=\W*$)"
)
_HAS_ONE = re.compile(r"\b(?:have|has|need|needs|use|uses|there|include|includes|offer|offers) (an? [\w -]+)$")
_KEPT = 2_048  # texts whose form is in memory
_ONE = re.compile(r"\bone\b(?=[,.;]|$)")
_CLAUSE_END = re.compile(r"[,;:]|\b(?:and|but|although|while|because)\b|(?=\bwithout\b)", re.IGNORECASE)
# A condition; it does not deny what holds under it.
_WITHOUT = re.compile(
    r"\bwithout\b(?:(?!\b(?:is|are|was|were|can|may|will|must|do|does|did|has|have|had|not)\b)[^,;.?])*", re.IGNORECASE
)
_SO = re.compile(r", (?:so|because|which is why)\b.*", re.DOTALL)
_WITH = re.compile(r"\bwith (?:an? |the |any )?([a-z]{3,})")
_NEEDS = re.compile(
    r"\b(?:with|needs?|needed|requir\w+|necessary|must|only|mandatory|compulsory|(?:has|have) to)\b", re.I
)
_NEEDED = re.compile(r"(?:do|does) (?:[\w’'-]+ ){1,4}?(?:need|require) (.*)", re.IGNORECASE)
_GOES_WITHOUT = re.compile(
    r"\b(?:works?|runs?|used|possible|done|opens?|starts?|goe?s?) (?:[a-z]+ ){0,2}?(without(?: (?!(?:with|by|in|at)\b)[\w’'-]+)+)"
)
_IS_PART = re.compile(r"\b(?:is|are) (?:also )?(?:not )?(?:included|supplied|provided|covered)\b")
_PERMISSION = re.compile(r"(?:can|could|may)\b|.*\b(?:allowed|permitted)\b", re.IGNORECASE)
_AND = re.compile(r",? and (?=[a-z]+ )|; ")
_CONDITION = re.compile(r"\b(?:without|unless)\b", re.IGNORECASE)
_STATEMENT_END = re.compile(r";|, (?:because|since) |(?<=[.!])\s+(?=[^\W\d_a-zß-öø-ÿ])")
_YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b")
_NEAR = 20  # characters between a word and its number
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d")
_NUMBERING = re.compile(r"^[, ]*\d+(?:\.\d+)*\.?\s")
_DATE = re.compile(r"(?<![\d.])\d{1,4}([/.-])\d{1,2}\1\d{1,4}(?![\d.])")
_EXCEPTION = re.compile(
    r",? \b(?:with the exception of|except|excluding|apart from|other than)\b(?: for)? ", re.IGNORECASE
)
_TAKEN_OUT = re.compile(rf"{_EXCEPTION.pattern}|,? but not |, not |,? unless ", re.IGNORECASE)
_SIGNS = frozenset(map(key, f"{CURRENCIES}%"))
_AGED_ASKED = re.compile(r"\b(\w+)[- ]years?[- ]olds?\b|\baged? (\d+)", re.IGNORECASE)
_GAP = 8  # most characters between two neighbouring sentences: the indented reply of a list of questions


def body_of(piece: Evidence) -> str:
    """The text of a piece without its title and heading in front; a heading that denies, or has a number, stays with its text."""
    return _body(piece.text, *places_of(piece))


@cached_by_text(_KEPT)
def _body(text: str, title: str, *headings: str) -> str:
    at = len(title) if title and text.startswith((f"{title}: ", f"{title}, ")) else 0
    head, _, rest = text[at:].partition(": ")
    place = {word for part in (title, *headings) for word in content_words(part)}
    has_own = denies(head) or (at and _NUMBER.search(_NUMBERING.sub("", head)))
    is_place = at or head.endswith("?") or content_set(head) <= place
    return rest if rest and is_place and not has_own else text[at:].lstrip(",: ")


def places_of(piece: Evidence) -> list[str]:
    """The title and the headings of a piece."""
    return [piece.source.title, *piece.headings]


_HEAD, _HEAD_WORDS = 100, 12  # characters before the line that names what a text is about, and words of it
_PRONOUN = re.compile(
    r"(?:It|He|She|They|This|These|Nobody|No one|None|Nothing)\b|(?:Never |Do not |Please )?\w+ (?:it|them)\b"
)
_BACK = re.compile(rf"(?:{_PRONOUN.pattern})(?! \[[^\]]*[^\W\d_a-zß-öø-ÿ])|(?:The [a-z]|We\b|Our\b|There\b)")
_NO_SUBJECT = re.compile(r"\?$|\[\d")  # a question, or a line of a chat with its time
_OF_PERSON = re.compile(r"(?:It|He|She|They)\b")
_NAME_RUN = re.compile(r"(?<=[a-z,] )[^\W\d_a-zß-öø-ÿ][\w'’-]*(?:(?: of| de| von)? [^\W\d_a-zß-öø-ÿ][\w'’-]*)*")
_NAMED = re.compile(r"\b(?:[^\W\d_a-zß-öø-ÿ]|\d)[\w'’-]*")
_YOU = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
_MOST_BACK = 3  # sentences
_FEWEST_OWN = 2  # words of a question in a denial, if its first one stands only in the title


def heads_of(piece: Evidence, evidence: Sequence[Evidence]) -> list[str]:
    """The first lines of the source of a piece that name its subject: the title of a plain text, the salutation of a letter.

    The first sentence counts, too, if the source has no title but the name of its file.

    Parameters
    ----------
    piece : the piece
    evidence : pieces among which they may be
    """
    own = [one for one in evidence if one.source.id == piece.source.id and one.start < _HEAD and one is not piece]
    has_title = not {*words(piece.source.title)} <= {*words(_spaced(piece.source.uri))}
    texts = (one.text.strip() for one in own)
    return [text for text in texts if _is_line(text) or (not has_title and not _NO_SUBJECT.search(text))]


def _is_line(text: str) -> bool:
    return not text.endswith((".", "!", "?")) and len(text.split()) <= _HEAD_WORDS


def _spaced(uri: str) -> str:
    return re.sub(r"[\W_]+", " ", uri)


def context_of(piece: Evidence, evidence: Sequence[Evidence], *, constraints: Constraints) -> list[str]:
    """Texts beside a piece that have names and numbers which it may be about.

    They are its title and headings, names of the question that its source has for a surname or an abbreviation of the piece,
    and the names and numbers of the first lines of its source (:func:`heads_of`), of the sentences before it to which it refers
    back, of the sender of a message, and of its recipients for "you".

    Parameters
    ----------
    piece : the piece
    evidence : pieces among which the others may be
    constraints : those of the question; without a telling word of it in the piece, only the title and headings count. If the piece
        begins with a name of its own, only these and the first lines that are no sentences count.
    """
    body, texts = body_of(piece), [one.text for one in evidence if one.source.id == piece.source.id]
    around = [*places_of(piece), *_other_names(body, texts, constraints.names)]
    if not has_itself(body, constraints):
        return around
    about, heads = piece.source.metadata, heads_of(piece, evidence)
    around += filter(_is_line, heads)
    if _has_subject(body, texts):
        return around
    sender = about.get("from", "") if " wrote:" not in piece.text else ""
    recipients = about.get("to", "") if _YOU.search(body) else ""
    beside = (*heads, *_lead_up(piece, evidence), str(sender), str(recipients))
    return [*around, *(" ".join(_NAMED.findall(text)) for text in beside)]


_SUBJECT = re.compile(
    r"(?:\w+ \[[^\]]*[^\W\d_a-zß-öø-ÿ]|(?:[^\W\d_a-zß-öø-ÿ][\w'’-]+ ){2})|([^\W\d_a-zß-öø-ÿ][\w'’-]+)\b"
)


def _has_subject(body: str, texts: Sequence[str]) -> bool:
    """Whether a text begins with a name: "She [Ada Falk]", two words with capitals, or one that others have within a sentence."""
    match = _SUBJECT.match(body)
    if match is None or match[1] is None:
        return match is not None
    is_name = fold(match[1]) not in STOP_WORDS
    return is_name and any(re.search(rf"[a-z,] {re.escape(match[1])}\b", text) for text in texts)


_HONORIFICS = word_set("Mr Mrs Ms Miss Mx Dr Prof Professor Sir Lady")
_SHORT_NAME = re.compile(r"((?:[A-Z][\w-]*[ -]){1,5}[A-Z][\w-]*) \(([A-Z]{2,6})\)")


@cached_by_text(_KEPT)
def _short_names(text: str) -> list[tuple[str, str]]:
    return _SHORT_NAME.findall(text)


def _other_names(body: str, texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names of a question that texts of a source have for a name of one: "Ingrid Moe" for "Ms Moe", both forms of "(FSS)".

    A surname counts if the texts have it behind one first name only.
    """
    own: list[str] = []
    for first, last in pairwise(re.sub(r"['’]s$", "", name) for name in names):
        behind = re.compile(rf"(?:([\w'’-]+)\.? )?\b{re.escape(last)}\b")
        if last not in body or not behind.search(body):
            continue
        said = (
            {word for word in behind.findall(text) if word.istitle() and fold(word) not in STOP_WORDS} - _HONORIFICS
            for text in (body, " ".join(texts))
        )
        if not next(said) and next(said) == {first}:
            own.append(first)
    for whole, short in {pair for text in texts for pair in _short_names(text)}:
        own += [other for one, other in ((whole, short), (short, whole)) if re.search(rf"\b{one}\b", body)]
    return own


def _lead_up(piece: Evidence, evidence: Sequence[Evidence]) -> list[str]:
    """The sentences before a piece to which it refers back; none if "it" or "he" may be one of several names."""
    texts: list[str] = []
    while len(texts) < _MOST_BACK and _BACK.match(body := body_of(piece)):
        last = next((one for one in evidence if is_before(one, piece)), None)
        if last is None or (_OF_PERSON.match(body) and len({*_NAME_RUN.findall(last.text)}) > 1):
            break
        texts.append(last.text)
        piece = last
    return texts


def topics_of(piece: Evidence, evidence: Sequence[Evidence]) -> list[str]:
    """What the source of a piece is about: its title, its headings, the name of its file, its first lines, and who writes to whom.

    Parameters
    ----------
    piece : the piece
    evidence : pieces among which the lines may be
    """
    heads = filter(_is_line, heads_of(piece, evidence))
    people = (str(piece.source.metadata.get(name, "")) for name in ("from", "to"))
    return [*places_of(piece), _spaced(piece.source.uri.rpartition("/")[2]), *heads, *people]


def is_before(one: Evidence, other: Evidence) -> bool:
    """Whether a piece is the sentence right before another one.

    Parameters
    ----------
    one, other : pieces of evidence
    """
    return one.chunk_id == other.chunk_id and 0 <= other.start - one.end <= _GAP


def before(piece: Evidence, evidence: Sequence[Evidence]) -> str:
    """The text of the sentence before a piece; empty if it is not among the evidence.

    Parameters
    ----------
    piece : a piece of evidence
    evidence : pieces of any sources
    """
    return next((each.text for each in evidence if is_before(each, piece)), "")


def question_of(piece: Evidence, evidence: Sequence[Evidence]) -> str:
    """The question to which a piece is the reply: its last heading, or the sentence before it; empty if that asks nothing.

    Parameters
    ----------
    piece : a piece of evidence
    evidence : pieces of any sources
    """
    last = next((body_of(each) for each in evidence if is_before(each, piece)), "")
    asked = (last, *piece.headings[-1:])
    return next((each for each in asked if each.endswith("?") and not piece.text.endswith("?")), "")


@cached_by_text(_KEPT)
def is_yes_no(question: str) -> bool:
    """Whether a question asks for yes or no: it begins with an auxiliary, or has one after a lead-in, and offers no alternatives.

    Examples
    --------
    >>> [is_yes_no(text) for text in ("Was it built in 1931?", "In 1931, was it built?", "Is A or B older?", "Who was it?")]
    [True, True, False, False]
    """
    first = words(_LEAD_IN.sub("", question))[:1]
    wanted = compared(question)
    is_choice = wanted is None and "or" in (asked := words(question)) and not _ANY_COMPARING.isdisjoint(asked)
    return bool(first) and first[0] in _AUXILIARIES and not is_choice and (wanted is None or wanted.is_claim)


class Verdict(NamedTuple):
    """What a piece says on a question of yes or no, "Yes", "No" or "Within limits" (of a condition), and the place of the piece."""

    head: str
    at: int


def verdict(question: str, evidence: Sequence[Evidence], *, beside: Sequence[Evidence] = ()) -> Verdict | None:
    """The first piece of evidence that affirms or denies what a question asks; None if none does.

    A piece affirms if it meets every constraint, without a reserve ("may", "except", "until") that the question lacks, and
    outside clauses that deny something. It denies if it meets every constraint but numbers and denies a word of the question, has
    the opposite of one ("elder" for "younger", "third" for "most"), or meets all constraints but a year or a number, in whose
    place it has another, or a day or a month, which its range lacks. A bound ("more than 50 kg", "before 1900") is compared with
    the one value of its unit that the piece states. It does neither if it is in doubt, about a thing of what is
    asked about, or has the roles exchanged (:mod:`hlgraph.answer.constraints`). The words of the sentence before it count if it
    begins with a pronoun; those of a heading that is a question do not.

    Parameters
    ----------
    question : a question of yes or no
    evidence : best first
    beside : pieces among which those of the same sections are; empty (default): the evidence
    """
    whole = _NOT.sub("", question, count=1)
    for at, own in enumerate(evidence):
        context = context_of(own, evidence, constraints=constraints_of(whole))
        around = [part for part in context if not part.endswith("?")]
        about = [
            re.escape(word)
            for word in of_source(own, evidence, constraints=constraints_of(whole))
            if not statement(own.text).has(word)  # as a heading has it that asks
        ]
        about += map(re.escape, _whole_of(own, beside or evidence, constraints=constraints_of(whole)))
        question = re.sub(rf"\b(?:{'|'.join(about)})\b", "", whole, flags=re.IGNORECASE) if about else whole
        asked = question_of(own, evidence)
        piece = own if asked in own.text else replace(own, text=f"{asked} {body_of(own)}")
        around += [before(own, evidence)] if _PRONOUN.match(body_of(own)) else []
        is_affirmed = _ticked(question, piece, around)
        if is_affirmed is None and _is_without(question, piece, around):
            is_affirmed = False
        bound = _bound_of(question)
        if bound is None or fold(bound.text) in fold(piece.text):
            if is_affirmed is None and not _is_aside(whole, piece, around):
                is_out = takes_out(question, piece.text, places=around, constraints=constraints_of(question))
                is_affirmed = False if is_out else _says(question, piece, around, is_first=not at)
        elif is_affirmed is None and not _is_aside(bound.rest, piece, around):
            is_affirmed = meets_bound(question, piece, around=around)
        if is_affirmed is not None:
            is_bound = _is_limited(question, body_of(own), around, is_affirmed=is_affirmed)
            return Verdict("Within limits" if is_bound else "Yes" if is_affirmed else "No", at)
    return None


def _is_limited(question: str, text: str, places: Sequence[str], *, is_affirmed: bool) -> bool:
    """Whether a text that is no row says only of a part or under a condition what is asked, or what is not permitted."""
    clause = _own_clause(text, text, places, constraints_of(question))[1]
    is_forbidden = not is_affirmed and denies(text) and _PERMISSION.match(question) is not None
    return not is_row(text) and is_limited(question, clause, known=places if is_forbidden else None)


def _whole_of(piece: Evidence, evidence: Sequence[Evidence], *, constraints: Constraints) -> list[str]:
    """The first word of a question of which a text has a part: "the flat" of "A parking space is not included"."""
    subjects = constraints.telling[:1] if _IS_PART.search(body_of(piece)) else []
    place = (piece.source.id, piece.headings)
    said = Statements(body_of(one) for one in evidence if (one.source.id, one.headings) == place and one is not piece)
    return [word for word in subjects if said.has(word) and not statement(piece.text).has(word)]


def of_source(piece: Evidence, evidence: Sequence[Evidence], *, constraints: Constraints) -> set[str]:
    """The words of a question that a piece lacks and its source is about, if the piece has another word of it itself.

    Parameters
    ----------
    piece : the piece
    evidence : pieces among which the first lines of its source may be
    constraints : those of the question
    """
    topics = Statements(topics_of(piece, evidence))
    about = {word for word in constraints.words if topics.has(word) and not statement(body_of(piece)).has(word)}
    return about if has_itself(body_of(piece), constraints, besides=about) else set()


def _is_without(question: str, piece: Evidence, around: Sequence[str]) -> bool:
    """Whether a piece says what is asked with its opposite: "made without sugar" for "Is it made with sugar?".

    So does "works without a network" for "Do I need a network?".
    """
    asked, needed, lacked = _WITH.search(question), _NEEDED.match(question), _GOES_WITHOUT.search(piece.text)
    opposite = asked is not None and re.search(rf"\bwithout (?:\w+ )?{re.escape(asked[1])}\b", piece.text) is not None
    if needed and lacked and not denies(_WITHOUT.sub("", piece.text)):
        opposite = any(map(statement(lacked[1]).has, constraints_of(needed[1]).telling[:1]))
    is_met = not Statements([piece.text], places=around).unmet(constraints_of(question))
    return opposite and is_met and not denies(question)


def _is_aside(question: str, piece: Evidence, around: Sequence[str]) -> bool:
    """Whether a piece is in doubt, does not compare what is to be compared, or says what is asked of something else."""
    constraints, body = constraints_of(question), body_of(piece)
    comparing = _ANY_COMPARING.intersection(words(question)) if compared(question) else ()
    return (
        bool(comparing and comparing.isdisjoint(words(body)))
        or is_doubted(question, piece.text)
        or is_unknown(question, piece.text)
        or is_misplaced(question, body, constraints=constraints, places=around)
    )


def _says(question: str, piece: Evidence, around: Sequence[str], *, is_first: bool) -> bool | None:
    """Whether a piece affirms a question; None if it neither affirms nor denies it."""
    constraints, first, body = constraints_of(question), piece.text, body_of(piece)
    asked, mark, rest = first.rpartition("?")
    if mark:  # what a text asks affirms nothing: only its reply does
        reply = _REPLY.match(rest)
        if reply and not Statements([asked], places=around).unmet(constraints):
            return reply[1].lower() == "yes"
        thing = _HAS_ONE.search(asked)
        first = body = _ONE.sub(thing[1], rest.lstrip(": ")) if thing else rest.lstrip(": ")
    first, body = _own_clause(first, body, around, constraints)
    said = Statements([first], places=around)
    unmet = said.unmet(constraints)
    is_out = _LEFT_OUT_SAID.match(body) is not None or any(map(_LEFT_OUT.match, piece.headings[-1:]))
    if is_out and not _LEFT_OUT_ASKED.search(question):
        return None if unmet else False
    lead, colon, item = body.partition(":")
    is_negative = denies(_WITHOUT.sub("", question))  # "without the lid" is what is asked about
    is_without, is_shared = _WITHOUT.search(question) is not None, _WITHOUT.search(body) is not None
    is_beside = is_without and not (is_shared or _NEEDS.search(body) or denies(body))  # "mows while it has power"
    if is_beside or (
        colon and not mark and item.strip() and denies(lead) and not is_negative
    ):  # "does not include: flood"
        return None if unmet or is_beside else False
    bare, bare_body = (_WITHOUT.sub("", each) if is_without and is_shared else each for each in (question, body))
    clause = _clause_of_subject(body, constraints)
    if Statements([bare_body]).denies(bare) and (not clause or denies(clause)):
        codes = tuple(each for each in constraints.numbers if re.search(r"[^\W\d_]", each))  # S3 is a name
        is_bound = _CONDITION.search(body) is not None and _CONDITION.search(question) is None
        is_open = is_bound or _has_age(question, body) is False or said.unmet(constraints._replace(numbers=codes))
        exception = _EXCEPTION.split(body, maxsplit=1)[1:]  # "Pets are not allowed, except one cat"
        return None if is_open else bool(exception) and any(map(Wording(exception).has, constraints.words))
    is_beyond = any(range_has(body, number) is False for number in constraints.numbers if number in unmet)
    if not is_beyond and (opposed := _opposed(question, first)):
        lacks = [word for word in unmet if word not in opposed and word not in constraints.numbers]
        is_of = not lacks or (is_first and {*lacks} <= {*constraints.words} and _is_beside(question, opposed, lacks))
        return False if is_of or is_within(lacks, first) else None
    return _in_its_range(question, body, unmet) if unmet else _affirms(question, first, body, around)


# Headings of what is gone, or does not belong: "Removed" of a changelog, "What is not covered".
_LEFT_OUT = re.compile(
    r"\W*(?:\w+ )?(?:removed|removals?|dropped|discontinued|exclusions?|excluded|fixed|(?:bug )?fixes|resolved)\W*$"
    r"|.*\b(?:not|never) (?:be )?(?:included|covered|supported|allowed|permitted|insured)\b",
    re.IGNORECASE,
)
_LEFT_OUT_SAID = re.compile(
    r"(?:^|.*: )\W?(?:removed|dropped|discontinued|ended) (?:the )?(?:support|[a-z-]*)\b", re.IGNORECASE
)
_LEFT_OUT_ASKED = re.compile(r"\b(?:remov|drop|discontinu|exclu|fix|resolv)|\bnot\b|n['’]t\b", re.IGNORECASE)


def _affirms(question: str, text: str, body: str, around: Sequence[str]) -> bool | None:
    """Whether a text with all words of a question affirms it: False if it is over, None if it has a reserve or denies a part."""
    constraints = constraints_of(question)
    if clause := _clause_of_subject(body, constraints):
        return False if _opposed(question, clause) else None
    asked = f"{question} may" if _PERMISSION.match(question) else question
    own = without_plans(_SO.sub("", text))
    is_own = not has_reserve(asked, own) and not Statements([own], places=around).unmet(constraints)
    has_verb = all(map(statement(text).has, _LIGHT_VERBS.intersection(content_words(question))))
    if has_verb and _STILL.search(question) and _OVER.search(text):
        return False
    is_sure = has_verb and (is_own or not has_reserve(asked, text))
    is_sure = is_sure and not is_met_twice(" ".join((text, *around)), constraints)
    return True if is_sure and not _is_denied_part(question, text, around, constraints) else None


def _clause_of_subject(text: str, constraints: Constraints) -> str:
    """The clause with the first word of a question, if another word stands only in a clause before it; else empty.

    Examples
    --------
    >>> asked = constraints_of("Do children pay?")
    >>> [_clause_of_subject(text, asked) for text in ("Adults pay 7 pounds and children enter free.", "Children help and pay.")]
    ['children enter free.', '']
    """
    subject, *others = constraints.telling or [""]
    parts = _AND.split(text)
    at = next((at for at, part in enumerate(parts) if subject and statement(part).has(subject)), 0)
    later = [word for word in others if not Statements(parts[at:]).has(word) and Statements(parts[:at]).has(word)]
    return parts[at] if later else ""


def takes_out(question: str, text: str, *, places: Sequence[str], constraints: Constraints) -> bool:
    """Whether a text takes out what is asked: "open daily except on Mondays", "supports TOML but not INI".

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    places : its title and headings
    constraints : those of the question, or some of them
    """
    before, *rest = _TAKEN_OUT.split(text, maxsplit=1)
    if not rest or denies(before) or denies(question) or _TAKEN_OUT.search(question):
        return False
    lacks = Statements([before], places=places).unmet(constraints)
    return bool(lacks) and all(map(statement(_STATEMENT_END.split(rest[0])[0]).has, lacks))


_TICKS = dict.fromkeys(word_set("yes true ✓ ✔ ☒"), True) | dict.fromkeys(word_set("no false ✗ ✘"), False)


def _ticked(question: str, piece: Evidence, around: Sequence[str]) -> bool | None:
    """What a row says under the label that a question asks for: "admin: false" for "Is Otto an admin?"; None if nothing."""
    row = body_of(piece)
    alone = fold(row.rpartition(": ")[2])
    if not (is_row(row) or alone in _TICKS) or Statements([piece.text], places=around).unmet(constraints_of(question)):
        return None
    return ticked(question, row) if is_row(row) else _TICKS[alone] is not denies(question)


def ticked(question: str, row: str) -> bool | None:
    """Whether a row says yes under a label that a question has: "Breakfast: no" for "Which hotels offer breakfast?".

    Parameters
    ----------
    question : text of the question
    row : text of a row, without its title and heading in front

    Returns
    -------
    bool | None
        None if it says neither yes nor no.
    """
    asked = statement(question)
    cells = (cell.partition(": ")[::2] for cell in row.split("; ")) if is_row(row) else ()
    ticks = ((content_words(label), _TICKS[fold(value)]) for label, value in cells if fold(value) in _TICKS)
    own = next((tick for label, tick in ticks if label and all(map(asked.has, label))), None)
    return None if own is None else own is not denies(question)


_LIGHT_VERBS = word_set("taken given kept gone put end ends begin begins")  # of a question of yes or no they tell much
_STILL = re.compile(r"\b(?:still|today|nowadays|currently|any more)\b", re.IGNORECASE)
_OVER = re.compile(r"\b(?:until|till) (?:[A-Z][a-z]+ )?(?:1\d{3}|20\d\d)\b")


def _is_beside(question: str, opposed: Collection[str], lacks: Sequence[str]) -> bool:
    """Whether the content words right beside the opposed one are met, and half of all: "accept the proposal to mend the bridge"."""
    asked = content_words(question)
    at = next((at for at, word in enumerate(asked) if word in opposed), -1)
    beside = {*asked[max(0, at - 1) : at + 2]} - {*opposed}
    return at >= 0 and beside.isdisjoint(map(fold, lacks)) and 2 * len(lacks) <= len(asked)


def _in_its_range(question: str, text: str, unmet: Sequence[str]) -> bool | None:
    """Whether the days, months, years or numbers that alone are unmet lie in what a text has in their place."""
    if (has := is_within(unmet, text)) is not None:
        return has
    years = {*_YEAR.findall(text)}
    if all(_YEAR.fullmatch(word) and word in question for word in unmet):  # 1,300 is no year
        spans = [each for each in ranges(text) if each.low and each.high]
        has = any(each.has(Decimal(word)) for word in unmet for each in spans)
        return True if has else False if years else None
    is_number = all(map(_NUMBER.fullmatch, unmet))
    if is_number and (after := _BOUND.search(question)) and {*words(after[0])} & _ORDERS:  # "after 6 pm"
        return None
    if is_number and _AGED_ASKED.search(question):
        return _has_age(question, text)
    is_of_name = any(re.search(rf"\s[A-Z][\w-]* {re.escape(word)}(?!\w)", question) for word in unmet)  # Python 3.8
    inside = range_has(_in_digits(text), unmet[0]) if is_number and not is_of_name and len(unmet) == 1 else None
    others = {*_NUMBER.findall(_DATE.sub("", text))} - {*_NUMBER.findall(question)} - years
    if inside is None and is_number and _HOLDS.match(question) and _has_more(text, unmet[0]):
        return None  # what lasts 12 hours lasts 10, too
    return inside if inside is not None else False if others and not is_of_name and is_number else None


# Bounds: "over 5 kg", "no older than 70", "before 1900", as a question of yes or no asks whether a value meets them.

_BOUND = re.compile(
    rf"\b(?:(?P<no>no|not|any)\s)?(?:(?P<least>at least|a minimum of|since)|(?P<most>at most|a maximum of|by)"
    r"|(?P<within>within)|(?P<more>over|above|beyond|exceed(?:s|ed)?|in excess of|after|(?:more|greater|later) than)"
    r"|(?P<less>under|below|before|prior to|(?:less|fewer|earlier) than)|(?P<word>\w+er) than)"
    rf"\s(?:[{CURRENCIES}] ?|[-−])?(?P<number>\d[\d.,]*|(?:{'|'.join(NUMERALS)})\b)",
    re.IGNORECASE,
)
_ORDERS = word_set("before after since prior later earlier")
_OF_YEARS = _ORDERS | {"by"}
_OF_SUBJECT = ("under", "over", "above", "below", "older", "younger", "heavier", "larger", "smaller", "up to")
_LASTS = re.compile(r"\b(?:been (?!\w+(?:ed|en)\b)|lived|worked|had)", re.IGNORECASE)  # the chair since 2012
_NO_MORE = re.compile(
    r"\b(?:no|not) (?:(more|longer|older|higher|greater|heavier)|less|fewer|younger|shorter|lower) than\b"
)
# "after 14 days" is no duration.
_AFTER_TIME = re.compile(r"\b(?:after|before) \d+ (?:second|minute|hour|day|week|month|year)")
_ALLOWS = re.compile(
    rf"{_PERMISSION.pattern}|.*\b(?:(?:allow|support|accept|include|hold|seat|withstand|fit)s?|carry|carries)\b",
    re.IGNORECASE,
)
_HOLDS = re.compile(rf"{_ALLOWS.pattern}|.*\b(?:lasts?|reach(?:es)?)\b", re.IGNORECASE)
_AGED_SAID = re.compile(r"\baged? |\byears?[- ]old\b|\bat \d{1,3}(?=[,;.]|$)", re.IGNORECASE)
_BEHIND = re.compile(r"[\s-]?(°?[^\W\d_]+(?:/[^\W\d_]+)?)")
_NO_UNIT = re.compile(r"(?:\w{2,}ed|free|pays?|eligible|exempt|enter|need|ride|travel|apply|vote|drive|drink)$")
_NUMERAL = re.compile(rf"\b(?:{'|'.join(NUMERALS)})\b", re.IGNORECASE)
_MEASURED = frozenset(noun for nouns, _ in MEASURES.values() for noun in nouns.split())
_SPEED = MEASURES["faster"][0]  # "faster than 5 days" is fewer days


class _Quantity(NamedTuple):
    """A value or range of a text; the stem of its unit, of its sign or of the noun behind it, or empty; where the unit ends."""

    range: Range
    unit: str
    end: int


class _Bound(NamedTuple):
    """What a question asks a value to be.

    Attributes
    ----------
    text, rest : the words of the bound, and the question without them and without the unit
    quantity : the bound itself; None if it cannot be compared
    is_beyond : whether a greater value is asked for, not a smaller one
    is_strict : whether the bound itself is not beyond
    measure : nouns of what is measured, such as "height"; empty if any
    is_year : whether it is a year
    is_of_subject : whether it limits what is asked about, not a value of it: "dogs over 10 kg" for "Are dogs over 10 kg allowed?"
    """

    text: str
    rest: str
    quantity: _Quantity | None
    is_beyond: bool
    is_strict: bool
    measure: str
    is_year: bool
    is_of_subject: bool


@cached_by_text(_KEPT)
def _bound_of(question: str) -> _Bound | None:
    """The bound of a question; None if it has none."""
    match = _BOUND.search(question)
    is_of_time = match is not None and not _OF_YEARS.isdisjoint(words(match[0]))
    is_year = match is not None and is_of_time and _YEAR.fullmatch(match["number"]) is not None
    if match is None or (is_of_time and not is_year):  # "after four years" is no bound of a number
        return None
    at = match.start("number")
    values = _values(question, has_one=True)
    quantity = next((each for each in values if match.start() <= each.range.start <= at < each.range.end), None)
    measure, is_greater = MEASURES.get((match["word"] or "").lower(), ("", bool(match["more"])))
    if measure == _SPEED or (match["word"] and not measure):
        quantity = None
    is_least = match["least"] or (match["within"] and _PERMISSION.match(question))
    is_smaller = match["less"] or (match["word"] and not is_greater)
    is_beyond = (bool(is_least) or is_greater) is ((match["no"] or "any").lower() == "any")
    before, behind = question[: match.start()], question[quantity.end if quantity else match.end() :]
    said, predicate = words(before), next(iter(words(behind)), "the")
    has_noun = len(said) > 1 and said[-1] not in STOP_WORDS and match[0].lower().startswith(_OF_SUBJECT)
    # "must children under 10 be", "for people under 26"
    is_part = predicate == "be" or re.search(r"\bfor \w+ $", before) is not None
    is_of_subject = has_noun and (is_part or (predicate not in STOP_WORDS and predicate not in MEASURES))
    is_strict = not (is_least or is_smaller)
    return _Bound(match[0], before + behind, quantity, is_beyond, is_strict, measure, is_year, is_of_subject)


def _values(text: str, *, has_one: bool = False) -> list[_Quantity]:
    """The single values of a text, in digits or in words; not dates, and "one", which is mostly a pronoun, only if asked for."""
    plain = _DATE.sub(lambda date: " " * len(date[0]), text)
    written = [(each.start, each.end, each.text) for each in numbers(plain)]
    written += [
        (each.start(), each.end(), str(NUMERALS[each[0].lower()]))
        for each in _NUMERAL.finditer(text)
        if has_one or each[0].lower() != "one"
    ]
    values: list[_Quantity] = []
    for start, end, value in written:
        digits = re.sub(rf"[{CURRENCIES}%]", "", value)
        if re.fullmatch(r"-?\d+(?:\.\d+)?", digits):
            of = Range(Decimal(digits), Decimal(digits), is_open=False, start=start, end=end)
            values.append(_quantified(text, of, value))
    return values


def _quantities(text: str) -> list[_Quantity]:
    """The ranges of a text, and the single values beside them."""
    text = _in_digits(text)
    spans = [_quantified(text, each, text[each.start : each.end + 1]) for each in ranges(text)]
    inside = [range(each.range.start, each.range.end) for each in spans]
    return [*spans, *(each for each in _values(text) if not any(each.range.start in span for span in inside))]


def _in_digits(text: str) -> str:
    """A text with its numerals in digits, but for "one"."""
    return _NUMERAL.sub(lambda word: word[0] if word[0].lower() == "one" else str(NUMERALS[word[0].lower()]), text)


def _quantified(text: str, of: Range, written: str) -> _Quantity:
    sign = re.search(rf"[{CURRENCIES}%]", written)
    behind = _BEHIND.match(text, of.end) if sign is None else None
    word = fold(behind[1]) if behind else ""
    if not behind or word in STOP_WORDS or _NO_UNIT.match(word):
        return _Quantity(of, key(sign[0]) if sign else "", of.end)
    return _Quantity(of, "%" if word in ("percent", "per") else key(word), behind.end())


@cached_by_text(_KEPT)
def _single_values(question: str) -> list[_Quantity]:
    """The values of a question without a bound."""
    return [] if _BOUND.search(question) else _values(question)


_PERSON_ASKED = re.compile(r"(?:who|which|where|under whom)\b", re.IGNORECASE)


def within_range(question: str, text: str) -> set[str]:
    """The numbers of a question that lie in a range of a text with the same unit, as 500 euros in "up to 1,000 euros".

    A year counts if the question asks who, which or where: what holds for a range of years is not the amount of one year.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence

    Examples
    --------
    >>> within_range("Who approves an order of 500 euros?", "Orders up to 1,000 euros are approved by the team lead.")
    {'500'}
    >>> within_range("Who was the chair in 2015?", "Ada Falk was the chair from 2010 to 2019.")
    {'2015'}
    """
    asked = _single_values(question)
    stated = _quantities(text) if asked else ()
    spans = [(each.range, each.unit) for each in stated if each.range.low != each.range.high]
    inside = set()
    for value in asked if spans else ():
        number, is_year = value.range.low or Decimal(), _YEAR.fullmatch(f"{value.range.low}") is not None
        is_asked = _PERSON_ASKED.match(question) is not None if is_year else bool(value.unit)
        own = [each.has(number) for each, unit in spans if unit == value.unit or (is_year and not unit)]
        if is_asked and own == [True]:
            inside.add(f"{number}")
    return inside


def _has_more(text: str, number: str) -> bool:
    """Whether a text states a greater value than a number."""
    least = next((each.range.low for each in _values(number)), None)
    return least is not None and any((each.range.low or least) > least for each in _values(text))


def meets_bound(question: str, piece: Evidence, *, around: Sequence[str]) -> bool | None:
    """Whether the value that a piece states of what is asked meets the bound of a question ("more than 5 kg", "after 2019").

    Parameters
    ----------
    question : text of the question
    piece : a piece of evidence
    around : its title, headings and the like

    Returns
    -------
    bool | None
        None if the question has no bound, or the piece states no value, or several.
    """
    bound = _bound_of(question)
    if bound is None or fold(bound.text) in fold(piece.text):
        return None
    body = _NO_MORE.sub(lambda said: "at most" if said[1] else "at least", body_of(piece))
    if _AFTER_TIME.search(body):
        return None
    is_met = not Statements([piece.text], places=around).unmet(constraints_of(bound.rest))
    is_denied = denies(body)
    is_plain = not (denies(bound.rest) or (is_denied and not bound.is_of_subject) or has_reserve(question, body))
    values = _comparable(body, bound, bound.quantity) if is_met and is_plain and bound.quantity else set()
    if len(values) != 1 or bound.quantity is None or bound.quantity.range.low is None:
        return None
    (stated,) = values
    if bound.is_of_subject:
        inside = _is_inside(bound, bound.quantity.range.low, stated)
        return inside if not is_denied else False if inside else None
    if _ALLOWS.match(question) and None in (stated.low, stated.high):  # up to 23 kg are allowed: 23 are
        limit = stated.low if stated.high is None else stated.high
        stated = stated._replace(low=limit, high=limit, is_open=False)
    is_beyond = stated.is_beyond(bound.quantity.range.low, is_strict=bound.is_strict)
    return None if is_beyond is None else is_beyond is bound.is_beyond


def _is_inside(bound: _Bound, limit: Decimal, stated: Range) -> bool | None:
    """Whether a range has all values that meet a bound, as "under 14" has "under 12"; None if only some, or if it is one value."""
    is_open, sign = bound.is_strict is bound.is_beyond, 1 if bound.is_beyond else -1
    start, end = (stated.low, stated.high) if bound.is_beyond else (stated.high, stated.low)
    last = start if end is None else end
    if start == end or last is None:
        return None
    gap = sign * (limit - last)
    is_clear = gap > 0 or (gap == 0 and (is_open or stated.is_open is (end is not None)))
    return (end is None) if is_clear else None


def _comparable(text: str, bound: _Bound, asked: _Quantity) -> set[Range]:
    """The different values of a text that have the unit of a bound and may be of its measure."""
    if bound.is_year:
        if "since" in words(bound.text) and (_LASTS.search(bound.rest) or "since" in words(text)):
            return set()
        return {Range(Decimal(year), Decimal(year), is_open=False, start=0, end=0) for year in _YEAR.findall(text)}
    said = words(text)
    nouns = {noun for word in said for noun in (word, *MEASURES.get(word, ("", True))[0].split())} & _MEASURED
    is_age = bound.measure == "age" or not (asked.unit or bound.measure or constraints_of(bound.rest).words)
    if (is_age and not _AGED_SAID.search(text)) or (
        bound.measure and nouns and nouns.isdisjoint(bound.measure.split())
    ):
        return set()
    known = {*map(key, said)}
    if is_row(text) and asked.unit:  # "price (EUR): 249"
        cells = (cell for cell in text.split("; ") if asked.unit in map(key, words(cell.partition(": ")[0])))
        text = "; ".join(cells) or text
    text = _in_digits(text)
    values = _quantities(text)
    if asked.unit:
        own = [each for each in values if each.unit == asked.unit or (not each.unit and asked.unit in known)]
    else:
        own = [each for each in values if each.unit or not _YEAR.fullmatch(text[each.range.start : each.range.end])]
    return {each.range._replace(start=0, end=0) for each in own}


def _own_clause(text: str, body: str, places: Sequence[str], constraints: Constraints) -> tuple[str, str]:
    """A text and its body, or the one clause that has what is asked alone; "fees are paid, tips are not" is two clauses."""
    for clause in () if is_row(body) else _STATEMENT_END.split(_ELLIPSIS.sub(r"\g<other> \g<said>; \g<whole>", body)):
        own = f"{text.removesuffix(body)}{clause.strip()}"
        if clause != body and not Statements([own], places=places).unmet(constraints):
            return own, clause.strip()
    return text, body


def _has_age(question: str, text: str) -> bool | None:
    """Whether the limits of age of a text include that of a question; None if either has none."""
    aged = _AGED_ASKED.search(question)
    ages = [each.range.low for each in _values(aged[1] or aged[2], has_one=True)] if aged else []
    limits = [each.range for each in _quantities(text) if each.range.low != each.range.high and each.unit not in _SIGNS]
    return all(limit.has(age) for limit in limits for age in ages if age) if ages and limits else None


def is_within(unmet: Sequence[str], text: str) -> bool | None:
    """Whether days or months, and nothing else, are unmet and lie in a range of the text: Friday in "from Monday to Thursday".

    Parameters
    ----------
    unmet : words of a question
    text : text of a piece of evidence

    Returns
    -------
    bool | None
        None if other words are unmet, or the text has no range.
    """
    for cycle in (DAYS, MONTHS):
        asked = [fold(word).removesuffix("s") for word in unmet]
        names = "|".join(cycle)
        ranges = re.findall(rf"\b({names})s? (?:to|until|till|through|–|-) ({names})s?\b", fold(text))
        if ranges and asked and {*asked} <= {*cycle}:
            spans = [(cycle.index(one), cycle.index(other)) for one, other in ranges]
            size = len(cycle)
            days = {cycle[at % size] for low, high in spans for at in range(low, low + (high - low) % size + 1)}
            return {*asked} <= days
    return None


def _is_denied_part(question: str, text: str, places: Sequence[str], constraints: Constraints) -> bool:
    """Whether a text has what is asked only together with clauses that deny something or are about something else."""
    parts = _CONTRAST.split(text)
    if len(parts) > 1 and all(Statements([part], places=places).unmet(constraints) for part in parts):
        return True
    if denies(question) or not denies(text):
        return False
    return bool(affirmed(text, *places).unmet(constraints))


def affirmed(text: str, *places: str) -> Statements:
    """The clauses of a text that deny nothing.

    Parameters
    ----------
    text : text of a piece of evidence
    places : its title and headings
    """
    return Statements((clause for clause in _CLAUSE_END.split(text) if not denies(clause)), places=places)


_QUALITY = re.compile(rf"(?:{'|'.join(LISTS['qualities'])})$")


def has_opposite(question: str, text: str) -> bool:
    """Whether a text has the opposite of a word of a question ("elder" for "younger"), and not the word itself.

    The ranges of a text are opposite if they have no value within a bound of the question: "under 14" for "over 14".

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    """
    bound = _bound_of(question)
    limit = bound.quantity.range.low if bound and bound.quantity else None
    if bound and bound.quantity and limit is not None:
        unit, spans = bound.quantity.unit, ((each.range, each.unit) for each in _quantities(text))
        own = [each for each, of in spans if each.low != each.high and (of == unit or not unit)]
        if own and all(_is_inside(bound, limit, each) is False for each in own):
            return True
    return bool(_opposed(question, text))


_OPPOSITES = [
    pair
    for one, _, other in (line.partition(":") for line in LISTS["opposites"])
    for pair in ((word_set(one), word_set(other)), (word_set(other), word_set(one)))
]
"""The pairs of sets of words that are opposite, both ways."""


def _opposed(question: str, text: str) -> set[str]:
    """The words of a question in whose place a text has their opposite."""
    # What may not be done is no opposite of what is forbidden.
    said = set(words(_AFTER_HYPHEN.sub("", text))).difference(("may", "can"))
    opposites, qualities = _opposites_of(question)
    opposed = {word for own, mine, theirs in opposites if said & theirs and not said & mine for word in own}
    return opposed.union(word for word in qualities - said if said & {f"in{word}", f"un{word}", f"im{word}"})


@cached_by_text(_KEPT)
def _opposites_of(question: str) -> tuple[list[tuple[Set[str], ...]], Set[str]]:
    """The words of a question that have opposites, with the words like them and their opposites, and its qualities."""
    asked = set(words(_AFTER_HYPHEN.sub("", question)))
    asked -= word_set("may can").difference(words(question)[:1])  # in the month of May
    pairs: list[tuple[Set[str], ...]] = [
        (asked & mine, mine, theirs) for mine, theirs in _OPPOSITES if asked & mine and not asked & theirs
    ]
    return pairs, {word for word in asked if _QUALITY.search(word)}


# Comparisons of two things.

_AGED = word_set("older oldest elder eldest younger youngest")
_EARLIER = word_set("older oldest elder eldest earlier earliest first before sooner")
_LATER = word_set("younger youngest newer newest later latest last recent recently")
_MORE_RECENT = re.compile(r"\b(?:more|most)\s(?=recent(?:ly)?\b)", re.IGNORECASE)
_COMPARING = {word: is_more for word, (_, is_more) in MEASURES.items() if word.endswith(("er", "est"))}
_MORE = frozenset(("more", "most", *(word for word, is_more in _COMPARING.items() if is_more))) - _EARLIER
_LESS = word_set("fewer fewest less least") | {word for word, is_more in _COMPARING.items() if not is_more} - _LATER
_ANY_COMPARING = _MORE | _LESS | _EARLIER | _LATER
_NAME = r"(?:(?:at|in|on|from|for|by)\s+)?(?:(?:[Tt]he|[Aa]n?)\s+(?=[a-z\d])|(?:[Tt]he\s+)?(?=[^\W\da-zß-öø-ÿ]|[\"“]))[^,;?]*?"
_NOUN = r"[\w’'-]+(?:\s(?:from|of|for|in|at|with|to)\s(?:the\s)?[\w’'-]+)?"
_ENDS = r"\s*(?:\?|,|\bwho\b|\bwhich\b|$)"
_PAIRS = (
    re.compile(rf"(?:,|:|\bbetween|\bof|\bthan|^\w+|\w)\s+({_NAME}),?\s+(?:or|and)\s+({_NAME}){_ENDS}"),
    re.compile(rf"^\w+\s+({_NOUN}|{_NAME})\s+or\s+({_NOUN}|{_NAME})\s+(?=[a-z])"),
)
_THAN = re.compile(
    rf"^(?:[Ii]s|[Aa]re|[Ww]as|[Ww]ere|[Dd]oes|[Dd]o|[Dd]id|[Hh]as|[Hh]ave)\s+({_NAME})\s+(?:[a-z]+\s+){{0,3}}?"
    rf"(?:{'|'.join(sorted(_ANY_COMPARING))})\s(?:[a-z]+\s+){{0,3}}?than\s+({_NAME}){_ENDS}"
)
# "Was the mill opened before the bridge?"
_ORDER = re.compile(
    rf"^(?:[Ww]as|[Ww]ere|[Dd]id|[Ii]s) ({_NAME}) ((?:[a-z]+ ){{1,3}})(before|after) ({_NAME})"
    rf"(?: (?:was|were|did|died|had))?{_ENDS}"
)
_PEOPLE = ("inhabitants", "population")
_OF_ITS = re.compile(r"\b(?:who|whose)\b", re.IGNORECASE)  # the film whose director is older may be the newer one
_BORN = re.compile(r"\bborn\b", re.IGNORECASE)
_BIRTH = re.compile(r"\bborn\b[^.;()]{0,40}?\b(1\d{3}|20\d\d)\b|\(\s*[^()]{0,40}?\b(1\d{3}|20\d\d)\b")
_DIED = re.compile(r"\b(?:die|died|dies|death)\b", re.IGNORECASE)
_DEATH = re.compile(r"\bdied\b[^.;()]{0,40}?\b(1\d{3}|20\d\d)\b|[–-]\s*[^()–-]{0,30}?\b(1\d{3}|20\d\d)\b")
_BEGINS = re.compile(rf"\(|\b(?:{'|'.join(LISTS['beginnings'])})\b")
_AGE = re.compile(r"\W*(?:is |was |aged? )?(\d{1,3})(?: years old)?\W*")
_PART_END = re.compile(r"[;:]|,(?!\d)|\s(?:and|but|while|whereas)\s")
_NO_DATE = "".join(rf"(?<!\b{month} )" for month in MONTHS)
# "one" is mostly a pronoun.
_DECIMAL = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_AMOUNT = re.compile(
    rf"(?<![\w.]){_NO_DATE}(?!one\b)(?:\d[\d.,]*\d|\d|(?:{'|'.join(NUMERALS)})\b)(?!\d| (?:{'|'.join(MONTHS)})\b)",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"[\s-]?([kcm]?m|k?g|t|[KMGT]B|miles?|f(?:ee|oo)?t|tonnes?|second|minute|hour|day|week|month|year|[a-z]*(?:met|lit)re)s?\b"
)


class Compared(NamedTuple):
    """Two things that a question compares: their names, and whether the greater value or year wins.

    Attributes
    ----------
    names : the two names
    is_greatest : whether the greater value wins
    is_time : whether dates are compared
    is_claim : whether the question asks if the first one wins: "Is A older than B?"
    """

    names: tuple[str, str]
    is_greatest: bool
    is_time: bool
    is_claim: bool = False


class _Value(NamedTuple):
    """A quantity, or year, month and day of a date as far as they are known; as it is written, and its unit."""

    value: tuple[float, ...]
    text: str
    unit: str = ""


class _Row(NamedTuple):
    value: _Value
    name: str
    piece: Evidence


def compared(question: str) -> Compared | None:
    """The comparison that a question asks for; None if it asks for none.

    Examples
    --------
    >>> compared("Which opened first, Gannow Light or Halfmoon Bridge?")
    Compared(names=('Gannow Light', 'Halfmoon Bridge'), is_greatest=False, is_time=True, is_claim=False)
    >>> compared("Is the oak taller than the elm?")
    Compared(names=('oak', 'elm'), is_greatest=True, is_time=False, is_claim=True)
    """
    asked = set(words(_MORE_RECENT.sub("", question)))
    by_time, by_size = asked & (_EARLIER | _LATER), asked & (_MORE | _LESS)
    if order := _ORDER.search(question):
        names = (re.sub(r"^(?:the|an?) ", "", each, flags=re.IGNORECASE) for each in (order[1], order[4]))
        return Compared((next(names), next(names)), order[3] == "after", is_time=True, is_claim=True)
    claim = _THAN.search(question)
    pairs = (pattern.search(question) for pattern in _PAIRS)
    match = claim or next(filter(None, pairs), None) if by_time or by_size else None
    if match is None:
        return None
    one, other = (
        re.sub(r"^(?:(?:at|in|on|from|for|by) )?(?:the |an? )?|['’]s$", "", name.strip(' "“”'), flags=re.I)
        for name in match.groups()
    )
    is_time = bool(by_time) and not by_size
    return Compared((one, other), bool(asked & (_MORE if by_size else _LATER)), is_time, claim is not None)


def _date(question: str, name: str, text: str) -> _Value | None:
    """The date that a text states of what a question compares."""
    text = text.replace(name, "")
    if _DIED.search(question):
        match = _DEATH.search(text)
    elif _BORN.search(question):
        match = _BIRTH.search(text)
    else:
        is_aged = not _AGED.isdisjoint(words(question))
        match = _BIRTH.search(text) if is_aged else None
        if not is_aged or not _OF_ITS.search(question):
            match = match or _YEAR.search(text)
    if match is None:
        return None
    year = next(filter(None, match.groups()), match[0])
    dates = [date for date in named(text).dates if date.startswith(year)]
    date = dates[0] if len(dates) == 1 else year
    return _Value(tuple(map(float, date.split("-"))), date)


def _quantity(text: str, match: re.Match[str]) -> _Value | None:
    """The quantity that digits or a numeral mean; None for other digits, such as "1,2,3"."""
    digits, unit = match[0], _UNIT.match(text, match.end())
    numeral = NUMERALS.get(digits.lower())
    written = next((each.value for each in numbers(text) if each.start == match.start()), digits.replace(",", ""))
    written = plain_cell(written, "") if numeral is None else str(numeral)
    if not _DECIMAL.fullmatch(written):
        return None
    value = float(written)
    shown = digits if numeral else f"{value:g}" if value < 10_000 else f"{value:,.0f}"
    sign = text[: match.start()].rstrip()[-1:]
    return _Value((value,), shown, unit[1] if unit else sign if sign and sign in CURRENCIES else "")


def _amounts(text: str) -> list[tuple[int, int, _Value]]:
    """The quantities of a text with their spans, without years and versions."""
    matches = (each for each in _AMOUNT.finditer(text) if not _YEAR.fullmatch(each[0]) and each[0].count(".") < 2)
    return [(each.start(), each.end(), value) for each in matches if (value := _quantity(text, each)) is not None]


def _size(text: str, wanted: Sequence[str]) -> _Value | None:
    """The quantity that a text states of one of some words: in the cell of a row that they label, or beside the word."""
    if is_row(text):
        cells = (cell.partition(": ") for cell in text.split("; "))
        of = (
            _amounts(cell)
            for label, _, cell in cells
            if any(map(Statements([label]).has, wanted)) or ("price" in wanted and IN_MONEY.search(label))
        )
        return next((amounts[0][2] for amounts in of if len(amounts) == 1), None)
    amounts = _amounts(text)
    places = [*re.finditer(r"[^\W\d_]+", text)] if amounts else []
    for index in (Wording, Statements):  # a word itself goes before what states the same
        for place in (each for each in places if any(map(index([each[0]]).has, wanted))):
            near = {min(abs(start - place.end()), abs(place.start() - end)): value for start, end, value in amounts}
            if min(near) <= _NEAR:
                return near[min(near)]
    return None


def _apart(text: str, names: tuple[str, str], *, is_age: bool) -> list[_Value | None]:
    """The quantities that one sentence states of two things, each in the part of the sentence that has its name alone.

    A part without a name goes on with the part before: "Ada, 25, and Ben, 22". Ages are negative, so that the oldest comes first.
    """
    own = [content_set(name) for name in names]
    telling = [mine - theirs or mine for mine, theirs in zip(own, reversed(own), strict=True)]
    for at, name in enumerate(names):  # a name with "and" is one word
        text = re.sub(rf"\b{re.escape(name)}\b", " ".join(telling[at]), text, flags=re.IGNORECASE)
    stated: list[set[_Value]] = [set(), set()]
    last: int | None = None
    for part in _PART_END.split(text):
        said = Statements([part])
        has = [at for at in (0, 1) if all(map(said.has, telling[at]))]
        bare = _AGE.fullmatch(part)
        last = has[0] if len(has) == 1 else None if has or not bare else last
        amounts = [value for _, _, value in _amounts(part)]
        if last is not None and amounts and (bare or not is_age):
            stated[last].update(each._replace(value=(-each.value[0],)) if is_age else each for each in amounts)
    return [each.pop() if len(each) == 1 else None for each in stated]


def _stated(question: str, wanted: Compared, evidence: Sequence[Evidence]) -> list[_Row]:
    """The piece that compares both things in the words of the question: "Lake Sarn is deeper than Lake Tarn"."""
    asked = [word for word in words(question) if word in _ANY_COMPARING]
    one, other = wanted.names
    for piece in evidence:
        body = body_of(piece)
        for winner, loser in ((one, other), (other, one)):
            pattern = rf"\b{re.escape(winner)}\b[^.;,]*\b(?:{'|'.join(asked)})\b(?:\s\w+)?\sthan\s(?:the\s)?{re.escape(loser)}\b"
            if re.search(pattern, body, re.IGNORECASE) and not denies(body) and not has_reserve(question, body):
                return [_Row(_Value((), ""), winner, piece)]
    return []


def _of_piece(
    question: str, name: str, piece: Evidence, *, is_time: bool, of: tuple[Sequence[str], Sequence[str]]
) -> _Value | None:
    """The date or the size that a piece states of one of two things."""
    if is_time:
        return _date(question, name, piece.text)
    body = body_of(piece).replace(name, "")  # "T-01" is no size of a trip
    return _size(body, of[0]) or _size(body, of[1])


def _rows(question: str, wanted: Compared, evidence: Sequence[Evidence]) -> list[_Row]:
    """Both things, each with its value and the piece that states it; empty if the evidence lacks a value."""
    names = {word for name in wanted.names for word in content_words(name)}
    telling = [word for word in constraints_of(question).words if word not in names and word not in _ANY_COMPARING]
    asked = words(question)
    measures = [each for word in asked for each in measured_by(word)] if not wanted.is_time else []
    measures += _PEOPLE if "size" in measures else ()
    is_age = not _AGED.isdisjoint(asked)
    for piece in evidence:
        body = body_of(piece)
        if is_row(body) or (wanted.is_time and not is_age) or not names <= content_set(body):
            continue
        said = Statements([body, before(piece, evidence)], places=places_of(piece))
        is_of = is_age or all(map(said.has, telling)) if telling or is_age else any(map(said.has, measures))
        one, other = _apart(body, wanted.names, is_age=is_age)
        if is_of and one and other and not has_reserve(question, body) and not denies(body):
            return [_Row(value, name, piece) for value, name in zip((one, other), wanted.names, strict=True)]
    rows: list[_Row] = []
    for name, other_name in zip(wanted.names, reversed(wanted.names), strict=True):
        known = content_set(name)
        about = sorted(evidence, key=lambda piece: not known <= content_set(piece.source.title))
        for piece in about:
            own = content_set(body_of(piece))
            is_other = content_set(other_name) <= own and not known <= own
            # It tells of what is asked ("opened"), or else of the beginning or the end of something.
            is_told = any(map(statement(piece.text).has, telling)) or _BEGINS.search(piece.text) is not None
            if is_other or (wanted.is_time and not is_told):
                continue
            if known <= {*content_words(piece.source.title), *content_words(piece.text)}:
                value = _of_piece(question, name, piece, is_time=wanted.is_time, of=(measures, telling))
                if value is not None:
                    rows_of = (each for each in about if is_row(body_of(each)) and known <= {*content_words(each.text)})
                    values = {
                        _of_piece(question, name, each, is_time=wanted.is_time, of=(measures, telling))
                        for each in rows_of
                    }
                    if is_row(body_of(piece)) and len(values - {None}) > 1:
                        return []  # one of several rows
                    rows.append(_Row(value, name, piece))
                    break
    return rows if len(rows) == len(wanted.names) else []


def comparison(question: str, evidence: Sequence[Evidence]) -> Answer | None:
    """Both things with their values, the one that is asked for first; None if the evidence lacks a value.

    The values stand in two pieces, or in one sentence, each in the part that has one of the names alone. Values of different
    units are not compared. "Is A longer than B?" is answered by yes or no.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    """
    wanted = compared(question)
    if wanted is None:
        return None
    rows = _stated(question, wanted, evidence) or _rows(question, wanted, evidence)
    if not rows:
        return None
    size = min(len(row.value.value) for row in rows)
    first, last = rows[0].value, rows[-1].value
    is_same = len(rows) == 2 and first.value[:size] == last.value[:size]
    if is_same or (first.unit and last.unit and key(fold(first.unit)) != key(fold(last.unit))):
        return None
    rows.sort(key=lambda row: row.value.value[:size], reverse=wanted.is_greatest)
    is_year = wanted.is_time and first.value[:1] != last.value[:1] and first.value[0] > 0
    parts = (row.value.text if not is_year else f"{row.value.value[0]:g}" for row in rows)
    head = "; ".join(f"{row.name}, {part}" if part else row.name for row, part in zip(rows, parts, strict=True))
    if wanted.is_claim:
        head = f"{'Yes' if rows[0].name == wanted.names[0] else 'No'}: {head}"
    return _cited(question, head, [row.piece for row in rows])


def _cited(question: str, head: str, pieces: Sequence[Evidence]) -> Answer:
    """A head and the pieces that it rests on; a single one goes on in its sentence."""
    answer = joined(question, [list({each.id: each for each in pieces}.values())])
    numbers = [each.number for each in answer.citations]
    if len(numbers) == 1:
        return headed(answer, head)
    first = AnswerSentence(f"{head} {' '.join(f'[{number}]' for number in numbers)}", tuple(numbers), is_supported=True)
    return replace(answer, text=f"{first.text} {answer.text}", sentences=(first, *answer.sentences))


# Counts.

_HOW_MANY = re.compile(r"\bhow many\s+(?:\w+\s+){0,2}?(\w+)", re.IGNORECASE)
_LISTED = re.compile(r"[\w.-]+(?:, [\w.-]+)+")  # the value of a setting that is a list
_COUNT = rf"(\d[\d,.]{{0,30}}(?:\s(?:thousand|million|billion))?|{'|'.join(NUMERALS)})"


def counted(question: str, text: str) -> str:
    """The number that a text states of what a question counts: "12" for "how many spans" and "has 12 arched spans"; else empty.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence

    Examples
    --------
    >>> counted("How many spans does it have?", "The bridge of 1931 has 12 arched spans.")
    '12'
    """
    match = _HOW_MANY.search(question)
    noun = fold(match[1]).rstrip("s") if match else ""
    if len(noun) < 3:
        return ""
    names = constraints_of(question).names
    own = (part for part in _CONTRAST.split(text) if names and all(map(statement(part).has, names)))
    text = next(own, text)
    label, colon, listed = text.rpartition(": ")
    if colon and _LISTED.fullmatch(listed) and statement(label.replace("_", " ")).has(words(question)[-1]):
        return str(listed.count(",") + 1)
    stated = re.search(rf"\b(?:{_COUNT}|no)\s+(?:[\w'’-]+\s+){{0,2}}?{re.escape(noun)}\w{{0,3}}\b", text, re.IGNORECASE)
    return (stated[1] or "none").rstrip(".,") if stated else ""
