"""The forms of answers without a model: "Yes: ...", "Gannow Light, 1821; Halfmoon Bridge, 1868", "3: ...".

A form is used where the evidence has the facts for it; otherwise the answer says what is missing, or keeps its plain form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hlgraph.answer.assertion import has_reserve, is_doubted, is_misplaced, is_unknown, without_plans
from hlgraph.answer.constraints import DAYS, Constraints, Statements, constraints_of
from hlgraph.extract.wording import Wording, denies
from hlgraph.records import Answer, AnswerSentence, Citation, Evidence
from hlgraph.retrieve.question.keywords import MONTHS
from hlgraph.text import content_words, fold, words


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Yes or no.

_AUXILIARY = """is was are were do does did has have had can could may might must shall will would should
    isn't wasn't aren't weren't don't doesn't didn't hasn't haven't hadn't can't couldn't won't wouldn't"""
_AUXILIARIES = frozenset(_AUXILIARY.split())
_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("younger", "older elder"),
        ("first", "second third fourth last"),
        (
            "most largest biggest highest longest tallest oldest",
            "second third fourth least smallest",
        ),
        ("before early earlier", "after late later"),
        ("old former previous", "new"),
        ("open opened", "closed shut"),
        ("alive living live", "died dead"),
        ("win won", "lost lose defeated"),
        ("buy bought", "sold"),
        ("north northern", "south southern"),
        ("east eastern", "west western"),
        ("increase increased rose grew", "decreased fell declined"),
        ("male man", "female woman"),
        ("full", "half"),
        ("same", "different"),
        ("good", "bad poor"),
        ("allowed permitted", "forbidden prohibited banned"),
        ("included covered", "excluded"),
        ("approved accepted", "rejected refused"),
    )
)
_LEAD_IN = re.compile(
    r"\W*(?:according to|in|on|at|as of|under|during|for|after|before|since|by)\b[^,?]*,\s*", re.IGNORECASE
)
_AFTER_HYPHEN = re.compile(r"(?<=\w)-\w+")  # the third-most is not the most
_NOT = re.compile(r"(?<=\w)n['’]t\b")  # "Wasn't it ...?" asks what "Was it ...?" asks
_LIMIT = re.compile(r"\b(before|after|since)\s+(\d{4})\b", re.IGNORECASE)
_REPLY = re.compile(r"\W*(?:(?:A|Answer)\s?\d{0,3}\s?[:.)]\W*)?(yes|no)\b", re.IGNORECASE)
_CONTRAST = re.compile(r";|,? \b(?i:but|whereas)\b|,(?= (?:and )?(?:the )?[A-Z][\w’'-]* (?:only|not)\b)")
_BE_OR_DO = r"(?:is|are|was|were|does|do|did|has|have|can|may|will|must)"
_ELLIPSIS = re.compile(
    rf"(?P<whole>[^,;.:]+? {_BE_OR_DO} (?P<said>[^,;.:]+)), (?:but |and |while )?(?P<other>[^,;.:]+? {_BE_OR_DO} not)(?=\W*$)"
)
_CLAUSE_END = re.compile(r"[,;:]|\b(?:and|but|although|while|because)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b")
_NEAR = 20  # characters between a word and its number
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d")
_CYCLES = (DAYS, MONTHS)
_SPAN = re.compile(r"\bfrom (\d{4}) (?:to|until|till) (\d{4})\b|\b(\d{4})\s?[–-]\s?(\d{4})\b")


def body_of(piece: Evidence) -> str:
    """The text of a piece without its title and heading in front."""
    head, _, rest = piece.text.partition(": ")
    place = {word for part in places_of(piece) for word in content_words(part)}
    return rest if rest and set(content_words(head)) <= place else piece.text


def places_of(piece: Evidence) -> list[str]:
    """The title and the headings of a piece."""
    return [piece.source.title, *piece.headings]


def is_yes_no(question: str) -> bool:
    """Whether a question asks for yes or no: it begins with an auxiliary, or has one after a lead-in, and offers no alternatives.

    Examples
    --------
    >>> [is_yes_no(text) for text in ("Was it built in 1931?", "In 1931, was it built?", "Is A or B older?", "Who was it?")]
    [True, True, False, False]
    """
    first = words(_LEAD_IN.sub("", question))[:1]
    return bool(first) and first[0] in _AUXILIARIES and compared(question) is None


def verdict(question: str, pieces: Sequence[Evidence], *, uncovered: Sequence[str]) -> bool | None:
    """Whether the evidence affirms a question; None if it does neither affirm nor deny it.

    It affirms if it meets every constraint, without a reserve ("may", "except", "until") that the question lacks, and outside
    clauses that deny something. It denies if it meets every constraint but numbers and denies a word of the question, has the
    opposite of one ("elder" for "younger", "third" for "most"), or meets all constraints but a year or a number, in whose place
    it has another, or a day or a month, which its range lacks. It does neither if it is in doubt, about a thing of what is asked
    about, or has the roles exchanged (:mod:`hlgraph.answer.assertion`).

    Parameters
    ----------
    question : a question of yes or no
    pieces : the pieces of the answer, the answering one first
    uncovered : the constraints that they do not meet
    """
    question = _NOT.sub("", question, count=1)
    first, around = pieces[0].text, places_of(pieces[0])
    is_affirmed: bool | None = None
    constraints = constraints_of(question)
    body = body_of(pieces[0])
    if (
        is_doubted(question, first)
        or is_unknown(question, first)
        or is_misplaced(question, body, constraints=constraints, places=around)
    ):
        return None
    asked, mark, rest = first.rpartition("?")
    if mark:  # what a text asks affirms nothing: only its reply does
        reply = _REPLY.match(rest)
        if reply and not Statements([asked], places=around).unmet(constraints):
            return reply[1].lower() == "yes"
        first = body = rest
    first, body = _own_clause(first, body, around, constraints)
    said = Statements([first], places=around)
    lead, colon, item = body.partition(":")
    if (
        colon and not mark and item.strip() and denies(lead) and not denies(question)
    ):  # "The cover does not include: flood"
        return None if said.unmet(constraints) else False
    if Statements([body]).denies(question):
        asked_too = Statements([question])
        is_other = any(
            not asked_too.has(word) for word in Wording([first]).denied
        )  # "does not cover batteries", not theft
        needed = constraints._replace(numbers=(), words=constraints.words[-1:] if is_other else ())
        is_affirmed = None if said.unmet(needed) else False
    elif has_opposite(question, first):
        unmet = said.unmet(constraints._replace(numbers=(), words=()))
        is_affirmed = False if not unmet or _within(unmet, first) else None
    elif not said.unmet(constraints):
        own = without_plans(first)
        is_own = not has_reserve(question, own) and not Statements([own], places=around).unmet(constraints)
        is_sure = (is_own or not has_reserve(question, first)) and not _is_denied_part(
            question, first, around, constraints
        )
        is_affirmed = True if is_sure else None
    elif (within := _within(said.unmet(constraints), first)) is not None:
        is_affirmed = within
    elif (limit := _LIMIT.search(question)) and len(years := set(_YEAR.findall(first))) == 1:
        is_affirmed = (min(years) < limit[2]) is (limit[1].lower() == "before")
    elif uncovered and all(_YEAR.fullmatch(word) for word in uncovered):
        spans = [(int(a or c), int(b or d)) for a, b, c, d in _SPAN.findall(first)]
        is_within = any(low <= int(word) <= high for word in uncovered for low, high in spans)
        is_affirmed = True if is_within else False if _YEAR.search(first) else None
    elif uncovered and all(_NUMBER.fullmatch(word) for word in uncovered):
        is_affirmed = False if set(_NUMBER.findall(first)) - set(_NUMBER.findall(question)) else None
    return is_affirmed


def _own_clause(text: str, body: str, places: Sequence[str], constraints: Constraints) -> tuple[str, str]:
    """A text and its body, or the one clause that has what is asked alone; "fees are paid, tips are not" is two clauses."""
    for clause in _ELLIPSIS.sub(r"\g<other> \g<said>; \g<whole>", body).split(";"):
        own = f"{text.removesuffix(body)}{clause.strip()}"
        if clause != body and not Statements([own], places=places).unmet(constraints):
            return own, clause.strip()
    return text, body


def _within(unmet: Sequence[str], text: str) -> bool | None:
    """Whether days or months, and nothing else, are unmet and lie in a range of the text: Friday in "from Monday to Thursday"."""
    for cycle in _CYCLES:
        asked = [fold(word).removesuffix("s") for word in unmet]
        names = "|".join(cycle)
        ranges = re.findall(rf"\b({names})s? (?:to|until|till|through|–|-) ({names})s?\b", fold(text))
        if ranges and asked and {*asked} <= {*cycle}:
            spans = [(cycle.index(one), cycle.index(other)) for one, other in ranges]
            days = {
                cycle[at % len(cycle)] for low, high in spans for at in range(low, low + (high - low) % len(cycle) + 1)
            }
            return {*asked} <= days
    return None


def _is_denied_part(question: str, text: str, places: Sequence[str], constraints: Constraints) -> bool:
    """Whether a text has what is asked only together with clauses that deny something or are about something else."""
    parts = _CONTRAST.split(text)
    if len(parts) > 1 and all(Statements([part], places=places).unmet(constraints) for part in parts):
        return True
    if denies(question) or not denies(text):
        return False
    affirmed = [clause for clause in _CLAUSE_END.split(text) if not denies(clause)]
    return bool(Statements(affirmed, places=places).unmet(constraints))


def has_opposite(question: str, text: str) -> bool:
    """Whether a text has the opposite of a word of a question ("elder" for "younger"), and not the word itself.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    """
    asked, said = (set(words(_AFTER_HYPHEN.sub("", each))) for each in (question, text))
    pairs = [pair for one, other in _OPPOSITES for pair in ((one, other), (other, one))]
    return any(asked & mine and said & theirs and not said & mine and not asked & theirs for mine, theirs in pairs)


# Comparisons of two things.

_EARLIER = _names("older oldest earlier earliest first before sooner")
_LATER = _names("younger youngest newer newest later latest last recently")
_MORE = _names(
    "larger largest bigger biggest more most higher highest taller tallest longer longest heavier deeper greater"
)
_LESS = _names("smaller smallest fewer fewest less least lower lowest shorter shortest lighter")
_MEASURES = {
    "longer": "long",
    "shorter": "long",
    "taller": "tall",
    "higher": "high",
    "deeper": "deep",
    "heavier": "heavy",
    "larger": "area",
    "bigger": "area",
}
_NAME = r"(?:the\s+)?(?:(?<=the\s)[a-z]|[^\W\d_a-zß-öø-ÿ\"“]|[\"“][^\"”]+[\"”])[^,;?]*?"
_PAIR = re.compile(
    rf"(?:,|:|\bbetween|\bof|\bthan|^\w+|\w)\s+({_NAME}),?\s+(?:or|and)\s+({_NAME})\s*(?:\?|,|\bwho\b|\bwhich\b|$)"
)
_BORN = re.compile(r"\bborn\b|\bolder\b|\byounger\b|\boldest\b|\byoungest\b", re.IGNORECASE)
_BIRTH = re.compile(r"\bborn\b[^.;()]{0,40}?\b(1\d{3}|20\d\d)\b|\(\s*[^()]{0,40}?\b(1\d{3}|20\d\d)\b")
_DIED = re.compile(r"\b(?:die|died|dies|death)\b", re.IGNORECASE)
_DEATH = re.compile(r"\bdied\b[^.;()]{0,40}?\b(1\d{3}|20\d\d)\b|[–-]\s*[^()–-]{0,30}?\b(1\d{3}|20\d\d)\b")
_BEGINS = re.compile(
    r"\(|\b(?:open(?:s|ed)|built|constructed|erected|founded|established|formed|created|made|began|begun|started|completed|finished"
    r"|launched|released|published|premiered|introduced|recorded|written|invented|first|born|died|inaugurated|since|dates)\b"
)


class Compared(NamedTuple):
    """Two things that a question compares: their names, and whether the greater value or year wins."""

    names: tuple[str, str]
    is_greatest: bool
    is_time: bool


def compared(question: str) -> Compared | None:
    """The comparison that a question asks for; None if it asks for none.

    Examples
    --------
    >>> compared("Which opened first, Gannow Light or Halfmoon Bridge?")
    Compared(names=('Gannow Light', 'Halfmoon Bridge'), is_greatest=False, is_time=True)
    """
    asked = set(words(question))
    by_time, by_size = asked & (_EARLIER | _LATER), asked & (_MORE | _LESS)
    match = _PAIR.search(question) if by_time or by_size else None
    if match is None:
        return None
    one, other = (name.strip(' "“”').removeprefix("the ").removeprefix("The ") for name in match.groups())
    is_time = bool(by_time) and not by_size
    return Compared((one, other), bool(asked & (_MORE if by_size else _LATER)), is_time)


def _value(question: str, name: str, piece: Evidence, *, is_time: bool, wanted: Constraints) -> float | None:
    """The year or the quantity that a piece states for what a question compares."""
    title, text = piece.source.title, piece.text
    known = set(content_words(name))
    if not known <= {*content_words(title), *content_words(text)}:
        return None
    if is_time:
        pattern = _DEATH if _DIED.search(question) else _BIRTH if _BORN.search(question) else _YEAR
        match = pattern.search(text.replace(name, ""))
        return float(next(filter(None, match.groups()), match[0])) if match else None
    numbers = [each for each in _NUMBER.finditer(text) if not _YEAR.fullmatch(each[0]) and each[0].count(".") < 2]
    for place in re.finditer(r"[^\W\d_]+", text):
        said = Statements([place[0]]) if numbers else None
        if said is not None and any(said.has(word) for word in wanted.words):
            near = {min(abs(each.start() - place.end()), abs(place.start() - each.end())): each[0] for each in numbers}
            if near and min(near) <= _NEAR:
                return float(near[min(near)].replace(",", ""))
    return None


def _tells(piece: Evidence, asked: Sequence[str]) -> bool:
    """Whether a piece tells of what is asked ("opened"), or else of the beginning or the end of something."""
    said = Statements([piece.text])
    return any(map(said.has, asked)) or _BEGINS.search(piece.text) is not None


def _is_about_other(piece: Evidence, name: str, other: str) -> bool:
    """Whether the text of a piece names only the other of two things."""
    said = set(content_words(body_of(piece)))
    return set(content_words(other)) <= said and not set(content_words(name)) <= said


def _stated(question: str, wanted: Compared, evidence: Sequence[Evidence]) -> Answer | None:
    """The answer of a piece that compares both things in the words of the question: "Lake Sarn is deeper than Lake Tarn"."""
    asked = [word for word in words(question) if word in _MORE | _LESS | _EARLIER | _LATER]
    one, other = wanted.names
    for piece in evidence:
        body = body_of(piece)
        for winner, loser in ((one, other), (other, one)):
            pattern = rf"\b{re.escape(winner)}\b[^.;,]*\b(?:{'|'.join(asked)})\b(?:\s\w+)?\sthan\s(?:the\s)?{re.escape(loser)}\b"
            if re.search(pattern, body, re.IGNORECASE) and not denies(body) and not has_reserve(question, body):
                first = AnswerSentence(f"{winner}: {' '.join(piece.text.split())} [1]", (1,), is_supported=True)
                return Answer(question, first.text, (Citation(1, piece),), is_supported=True, sentences=(first,))
    return None


def comparison(question: str, evidence: Sequence[Evidence]) -> Answer | None:
    """Both things with their values, the one that is asked for first; None if the evidence lacks a value.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    """
    wanted = compared(question)
    if wanted is None:
        return None
    constraints = constraints_of(question)
    names = {word for name in wanted.names for word in content_words(name)}
    telling = tuple(
        word for word in constraints.words if word not in names and word not in _MORE | _LESS | _EARLIER | _LATER
    )
    measures = tuple(_MEASURES[word] for word in words(question) if word in _MEASURES)
    measured = constraints._replace(words=(*telling, *measures))
    if stated := _stated(question, wanted, evidence):
        return stated
    rows: list[tuple[float, str, Evidence]] = []
    for name, other in zip(wanted.names, reversed(wanted.names), strict=True):
        about = sorted(
            evidence, key=lambda piece: not set(content_words(name)) <= set(content_words(piece.source.title))
        )
        about = [piece for piece in about if not _is_about_other(piece, name, other)]
        if wanted.is_time:
            about = [piece for piece in about if _tells(piece, telling)]
        values = ((_value(question, name, piece, is_time=wanted.is_time, wanted=measured), piece) for piece in about)
        row = next(((value, name, piece) for value, piece in values if value is not None), None)
        if row is None:
            return None
        rows.append(row)
    if rows[0][0] == rows[1][0]:
        return None
    rows.sort(key=lambda row: row[0], reverse=wanted.is_greatest)
    head = "; ".join(f"{name}, {value:g}" if value < 10_000 else f"{name}, {value:,.0f}" for value, name, _ in rows)
    citations = tuple(Citation(number, piece) for number, (_, _, piece) in enumerate(rows, 1))
    first = AnswerSentence(f"{head} [1] [2]", (1, 2), is_supported=True)
    rest = (
        AnswerSentence(f"{' '.join(cited.evidence.text.split())} [{cited.number}]", (cited.number,), is_supported=True)
        for cited in citations
    )
    sentences = (first, *rest)
    return Answer(
        question, " ".join(each.text for each in sentences), citations, is_supported=True, sentences=sentences
    )


# Counts.

_HOW_MANY = re.compile(r"\bhow many\s+(?:\w+\s+){0,2}?(\w+)", re.IGNORECASE)
_NUMERALS = "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty hundred"
_COUNT = rf"(\d[\d,.]*(?:\s(?:thousand|million|billion))?|{'|'.join(_NUMERALS.split())})"


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
    stated = re.search(rf"\b{_COUNT}\s+(?:[\w'’-]+\s+){{0,2}}?{re.escape(noun)}\w{{0,3}}\b", text, re.IGNORECASE)
    return stated[1].rstrip(".,") if stated else ""
